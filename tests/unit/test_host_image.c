/* image.decode (src/host/image.c): which decoder takes what is for tests/fuzz/fuzz_picture.c and ONNX's own tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "host/run.h"

#include <sys/resource.h>

static void pixels_are_decoded(void **state)
{
    /* "P3 2 1 255 10 20 30 0 0 255", "P2 1 2 1 0 1": colours and grey */
#define COLOURS "80 51 32 50 32 49 32 50 53 53 32 49 48 32 50 48 32 51 48 32 48 32 48 32 50 53 53"
#define GREY "80 50 32 49 32 50 32 49 32 48 32 49"
    static const char *const rows[][2] = {
        {"uint8[27] " COLOURS "; json {\"pixel_format\": \"RGB\"}", "uint8[1,2,3] 10 20 30 0 0 255"},
        {"uint8[27] " COLOURS "; json {\"pixel_format\": \"BGR\"}", "uint8[1,2,3] 30 20 10 255 0 0"},
        {"uint8[27] " COLOURS "; json {\"pixel_format\": \"Grayscale\"}", "uint8[1,2,1] 18 29"},
        {"uint8[12] " GREY "; json {\"pixel_format\": \"RGB\"}", "uint8[2,1,3] 0 0 0 255 255 255"},
        {"uint8[12] " GREY "; json {\"pixel_format\": \"Grayscale\"}", "uint8[2,1,1] 0 255"},
        {"uint8[11] 80 50 32 49 32 50 32 49 32 48 32; json {\"pixel_format\": \"RGB\"}", "uint8[0,0,3]"},
        {"uint8[3] 255 216 255; json {\"pixel_format\": \"Grayscale\"}", "uint8[0,0,1]"},
        {"uint8[0]; json {\"pixel_format\": \"RGB\"}", "uint8[0,0,3]"},
        {"int64[1] 1; json {}", "fails: node: operand 0 of image.decode has another type than uint8"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(host_call("image.decode", 2, rows[i][0], 1), rows[i][1]);
}

/* The head of a JPEG 2000 of 65,535 tiles, for which OpenJPEG would take 370 MB. */
static void claimed_tiles_take_no_memory(void **state)
{
#define TILES \
    "255 79 255 81 0 41 0 0 0 0 0 255 0 0 1 1 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 1 0 0 0 0 0 0 0 0 0 1 7 1 1 " \
    "255 82 0"
    struct rusage before, after;
    (void)state;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    assert_string_equal(
        host_call("image.decode", 2, "uint8[48] " TILES "; json {\"pixel_format\": \"RGB\"}", 1),
        "uint8[0,0,3]");
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_maxrss - before.ru_maxrss < 64 << 10); /* KiB */
}

static void decoders_may_be_missing(void **state)
{
    (void)state;
    const char *folder = getenv("TENON_LIBDIR");
    char *kept = folder ? strdup(folder) : NULL;
    assert_int_equal(setenv("TENON_LIBDIR", "/nowhere", 1), 0);
    assert_string_equal(
        host_call("image.decode", 2, "uint8[0]; json {}", 1),
        "fails: node: the decoders of pictures, libtenon-image.so, are not installed in /nowhere");
    if (kept)
        assert_int_equal(setenv("TENON_LIBDIR", kept, 1), 0);
    free(kept);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_decoded),
        cmocka_unit_test(claimed_tiles_take_no_memory),
        cmocka_unit_test(decoders_may_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
