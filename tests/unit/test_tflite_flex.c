/* Operators of TensorFlow that a TFLite model holds: numbers worked out by hand, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tflite/run.h"

/* Their options as 32-bit integers: a FlexBuffer, a list of the operator's name and of a NodeDef. */
#define CUMSUM /* Cumsum, exclusive: true, reverse: false */ \
    "100663296 1936553283 721448309 309199114 1836401414 711816563 1695091215 1970037624 1702259059 " \
    "19399186 " \
    "118099242 1702258034 308638578 10242 338572546 19399700"
#define TO_NUMBER \
    "1393426432 1852404340 1315918951 1700949365 304087154 1920226062 1416064617 1836404335 " \
    "712140130 1862797838 1952412789 308637817 77826 337850882 19399700"
#define RESERVE \
    "1700008192 1919906670 1953720652 1702061394 6649458 1410404922 1869835877 1936280690 " \
    "1936020084 1702261349 168431658 1885431923 2037669733 34760048 321520432 1818561802 " \
    "1852140901 1952735092 308637817 77826 339562242 19399700"
#define SET_ITEM \
    "285212672 1936614740 1766617711 1699968115 1702119796 304611437 1852134417 1282568051 " \
    "1400140649 1950970981 321547621 1818561802 1852140901 1952735092 308637817 77826 338377986 " \
    "19399700"
#define STACK \
    "251658240 1936614740 1766617711 1951626355 7037793 1410273830 1869835877 1936280690 " \
    "1635013492 321547107 1818561802 1852140901 1952735092 308637817 77826 338245890 19399700"
#define FOO "1866859264 168296559 51539457 7302982 336269058 19399700"
#define FOO_TOO_LONG "1866859264 168296559 51539465 7302982 336269058 19399700" /* of its name */

static void operators_of_tensorflow_compute(void **state)
{
    (void)state;
    static const float x[] = {3, 4, 5};
    expect("tensor x float32 3\ntensor k int32 scalar data=0\ntensor y float32 3\n"
           "custom FlexCumsum " CUMSUM " : x k -> y\n" ARGS,
           x, sizeof x, 3, (const double[]){0, 3, 7});
}

/* A list of three elements, of which the second is set. */
#define LIST(shape) \
    "tensor x float32 2\ntensor k int32 1 data=" shape "\ntensor n int32 scalar data=3\n" \
    "tensor i int32 scalar data=1\ntensor a variant scalar\ntensor b variant scalar\ntensor y float32 3,2\n" \
    "custom FlexTensorListReserve " RESERVE " : k n -> a\n" \
    "custom FlexTensorListSetItem " SET_ITEM " : a i x -> b\n" \
    "custom FlexTensorListStack " STACK " : b k -> y\n" ARGS

static void lists_compute(void **state)
{
    (void)state;
    static const float x[] = {3, 4};
    expect(LIST("2"), x, sizeof x, 6, (const double[]){0, 0, 3, 4, 0, 0});
}

static void texts_become_numbers(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"tensor x string 2\ntensor y float32 2\ncustom FlexStringToNumber " TO_NUMBER " : x -> y\n" ARGS,
         "string.to_number(%x"},
        {"tensor x string 2\ntensor z string 2\ntensor y bool 2\nop EQUAL : x z -> y\nin x z\nout y\n",
         "string.equal(%x, %z)"},
        {"tensor x string 2\ntensor z string 2\ntensor y bool 2\nop NOT_EQUAL : x z -> y\nin x z\nout y\n",
         "logical_not("},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model m;
        tn_buf file;
        if (import_text(&m, rows[i].text, &file, NULL) != TN_OK || !strstr(model_text(&m), rows[i].want))
            fail_msg("%s\nno %s\n%s", rows[i].text, rows[i].want, model_errors(&m));
        model_deinit(&m);
        tn_buf_deinit(&file);
    }
}

#define XY "tensor x float32 1,2\ntensor y float32 1,2\n"

static const struct {
    const char *id, *text;
} refusals[] = {
    {"tflite-E004", XY "custom FlexFoo " FOO " : x -> y\n" ARGS},
    {"tflite-E001", XY "custom FlexFoo " FOO_TOO_LONG " : x -> y\n" ARGS},
    {"tflite-E001", XY "custom FlexFoo : x -> y\n" ARGS},
    {"tflite-E001", XY "custom FlexFoo a=1 : x -> y\n" ARGS},
    {"tflite-E016", LIST("-1")}, /* lists of which the elements' extents are not known */
    {"tflite-E010", "tensor x string 2\ntensor y string 2\nop NEG : x -> y\n" ARGS},
    {"tflite-E010", "tensor x int8 3 scale=0.5\ntensor k int32 scalar data=0\ntensor y int8 3 scale=0.5\n"
                    "custom FlexCumsum " CUMSUM " : x k -> y\n" ARGS},
};

static void others_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        model m;
        tn_buf file;
        assert_int_equal(import_text(&m, refusals[i].text, &file, NULL), TN_FAIL);
        if (!strstr(model_errors(&m), refusals[i].id))
            fail_msg("%s\n%s", refusals[i].text, model_errors(&m));
        model_deinit(&m);
        tn_buf_deinit(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_of_tensorflow_compute),
        cmocka_unit_test(lists_compute),
        cmocka_unit_test(texts_become_numbers),
        cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
