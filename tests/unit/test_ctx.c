/* base/ctx: interning, diagnostics, their text, repeats. */
#include "base/ctx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void interning(void **state)
{
    (void)state;
    tn_ctx c;
    tn_ctx_init(&c);
    char name[] = "conv1";
    const char *a = tn_intern(&c, name);
    assert_ptr_not_equal(a, name);
    assert_ptr_equal(a, tn_intern(&c, "conv1"));
    assert_ptr_equal(a, tn_intern_n(&c, "conv123", 5));
    assert_ptr_not_equal(a, tn_intern(&c, "conv2"));
    assert_string_equal(tn_intern_n(&c, "x", 0), "");
    assert_null(tn_intern(&c, NULL));
    for (int i = 0; i < 3000; i++) {
        char t[16];
        snprintf(t, sizeof t, "n%d", i);
        assert_string_equal(tn_intern(&c, t), t);
    }
    assert_ptr_equal(a, tn_intern(&c, "conv1"));
    tn_ctx_deinit(&c);
}

static void diagnostics_print(void **state)
{
    (void)state;
    static const struct {
        enum tn_severity s;
        tn_loc loc;
        const char *message, *line;
    } row[] = {
        {TN_ERROR,
         {"m.onnx", "Gemm_0", "Gemm", 0, 0},
         "no",
         "m.onnx: node Gemm_0 (Gemm): error: no [t-E001]\n"},
        {TN_WARNING, {"f.relay", NULL, NULL, 3, 7}, "hm", "f.relay:3:7: warning: hm [t-E001]\n"},
        {TN_NOTE, {NULL, NULL, NULL, 0, 0}, "by the way", "note: by the way [t-E001]\n"},
        {TN_ERROR, {NULL, NULL, "Conv", 0, 0}, "x", "node (unnamed) (Conv): error: x [t-E001]\n"},
        {TN_ERROR, {"m.onnx", "", "Conv", 0, 0}, "x", "m.onnx: node (unnamed) (Conv): error: x [t-E001]\n"},
        {TN_ERROR,
         {"a\nb", "\x1b[2J", NULL, 0, 0},
         "t\tu",
         "a\\x0ab: node \\x1b[2J: error: t\\x09u [t-E001]\n"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_ctx c;
        tn_ctx_init(&c);
        tn_status s = tn_report(&c, row[i].s, "t-E001", &row[i].loc, "%s", row[i].message);
        assert_int_equal(s, row[i].s == TN_ERROR ? TN_FAIL : TN_OK);
        assert_int_equal(c.n_error, row[i].s == TN_ERROR);
        tn_buf b = {0};
        tn_diag_print_all(&c, &b);
        assert_string_equal(tn_buf_cstr(&b), row[i].line);
        tn_buf_deinit(&b);
        tn_ctx_deinit(&c);
    }
}

static void repeats_are_recorded_once(void **state)
{
    (void)state;
    tn_ctx c;
    tn_ctx_init(&c);
    tn_loc a = {.file = "m", .node = "a"}, b = {.file = "m", .node = "b"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tn_error(&c, "t-E001", &a, "bad %d", 1), TN_FAIL);
        assert_int_equal(tn_error(&c, "t-E001", &b, "bad %d", 1), TN_FAIL);
        assert_int_equal(tn_error(&c, "t-E002", &b, "bad %d", 1), TN_FAIL);
        assert_int_equal(tn_error(&c, "t-E001", NULL, "bad %d", 2), TN_FAIL);
        assert_int_equal(tn_report(&c, TN_WARNING, "t-E001", &a, "bad 1"), TN_OK);
    }
    assert_int_equal(c.n_diag, 5);
    assert_int_equal(c.n_error, 4);
    assert_string_equal(c.diag[1].loc.node, "b");
    tn_diag_clear(&c);
    assert_int_equal(c.n_diag + c.n_error, 0);
    assert_int_equal(tn_error(&c, "t-E001", &a, "bad 1"), TN_FAIL);
    assert_int_equal(c.n_diag, 1);
    tn_ctx_deinit(&c);
}

static void locations_outlive_the_caller(void **state)
{
    (void)state;
    tn_ctx c;
    tn_ctx_init(&c);
    char file[] = "gone.onnx";
    tn_loc loc = {.file = file};
    assert_int_equal(tn_error(&c, "t-E001", &loc, "x"), TN_FAIL);
    memset(file, 'z', sizeof file - 1);
    assert_string_equal(c.diag[0].loc.file, "gone.onnx");
    tn_ctx_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interning),
        cmocka_unit_test(diagnostics_print),
        cmocka_unit_test(repeats_are_recorded_once),
        cmocka_unit_test(locations_outlive_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
