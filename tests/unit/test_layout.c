/* ir/layout: text, interning, extents and indices; the map is injective and in bounds. */
#include "ir/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

typedef struct world {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
} world;

static int enter(void **state)
{
    static world w;
    memset(&w, 0, sizeof w);
    tn_ctx_init(&w.ctx);
    tn_arena_init(&w.arena);
    tn_pool_init(&w.pool, &w.ctx, &w.arena, NULL);
    *state = &w;
    return 0;
}

static int leave(void **state)
{
    world *w = *state;
    tn_arena_deinit(&w->arena);
    tn_ctx_deinit(&w->ctx);
    return 0;
}

static const tn_layout *read(world *w, const char *text)
{
    const tn_layout *l = NULL;
    assert_int_equal(tn_layout_parse(&w->ctx, text, NULL, &l), TN_OK);
    return l;
}

static void print_all(int n, const tn_expr *const e[], tn_buf *out)
{
    for (int i = 0; i < n; i++) {
        if (i > 0)
            tn_buf_str(out, ", ");
        tn_expr_print(e[i], NULL, out);
    }
}

static void extents_and_indices(void **state)
{
    /* logical dims are symbols a, b, c, d; indices v0, v1, v2, v3 */
    static const struct {
        const char *text;
        int ndim;
        const char *printed, *dims, *index;
    } rows[] = {
        {"NCHW16c", 4, "NCHW16c", "a, ceildiv(b, 16), c, d, 16", "v0, v1/16, v2, v3, v1%16"},
        {"NK32n", 2, "NK32n", "ceildiv(a, 32), b, 32", "v0/32, v1, v0%32"},
        {"NHWC:NCHW16c", 4, "NHWC:NCHW16c", "a, ceildiv(d, 16), b, c, 16", "v0, v3/16, v1, v2, v3%16"},
        {"NCHW:NCHW16c", 4, "NCHW16c", "a, ceildiv(b, 16), c, d, 16", "v0, v1/16, v2, v3, v1%16"},
        {"PRC:CPR32c", 3, "PRC:CPR32c", "ceildiv(c, 32), a, b, 32", "v2/32, v0, v1, v2%32"},
        {"OIHW4i16o4i", 4, "OIHW4i16o4i", "ceildiv(a, 16), ceildiv(b, 16), c, d, 4, 16, 4",
         "v0/16, v1/16, v2, v3, v1/4%4, v0%16, v1%4"},
        {"NHWC:NCHW", 4, "NHWC:NCHW", "a, d, b, c", "v0, v3, v1, v2"},
        {"8nN", 1, "8nN", "8, ceildiv(a, 8)", "v0%8, v0/8"},
        {"AB1a", 2, "AB1a", "a, b, 1", "v0, v1, 0"},
        {"NC16c{fill=0}", 2, "NC16c{fill=0}", "a, ceildiv(b, 16), 16", "v0, v1/16, v1%16"},
        {"NC16c{fill=-inf}", 2, "NC16c{fill=-inf}", "a, ceildiv(b, 16), 16", "v0, v1/16, v1%16"},
    };
    world *w = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static const char *const names[] = {"a", "b", "c", "d"};
        const tn_expr *dim[4], *at[4], *out[8];
        tn_buf b = {0};
        const tn_layout *l = read(w, rows[i].text);
        for (uint32_t k = 0; k < 4; k++) {
            dim[k] = tn_sym(&w->pool, names[k]);
            at[k] = tn_var(&w->pool, TN_IDX, k);
        }
        assert_non_null(l);
        assert_string_equal(l->text, rows[i].printed);
        tn_layout_dims(&w->pool, l, rows[i].ndim, dim, out);
        print_all(l->naxis, out, &b);
        assert_string_equal(b.at, rows[i].dims);
        tn_buf_clear(&b);
        tn_layout_index(&w->pool, l, rows[i].ndim, at, out);
        print_all(l->naxis, out, &b);
        assert_string_equal(b.at, rows[i].index);
        tn_buf_deinit(&b);
    }
}

static void only_a_fill_is_readable(void **state)
{
    static const struct {
        const char *text;
        int d;
        int64_t extent, readable;
    } rows[] = {
        {"NC16c", 1, 30, 30},          {"NC16c{fill=0}", 1, 30, 32}, {"NC16c{fill=0}", 0, 30, 30},
        {"NC4c4c{fill=1}", 1, 33, 48}, {"NC16c{fill=0}", 1, 32, 32},
    };
    world *w = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tn_expr *extent = tn_idx(&w->pool, rows[i].extent);
        int64_t n = 0;
        const tn_expr *e = tn_layout_readable(&w->pool, read(w, rows[i].text), rows[i].d, extent);
        assert_true(tn_is_int(e, &n));
        assert_int_equal(n, rows[i].readable);
    }
    const tn_expr *extent = tn_sym(&w->pool, "n");
    assert_ptr_equal(tn_layout_readable(&w->pool, NULL, 0, extent), extent);
}

static void dimensions_are_left_out(void **state)
{
    static const struct {
        const char *text;
        uint64_t drop;
        const char *left;
    } rows[] = {
        {"NCHW16c", 0xc, "NC16c"},      {"NCHW16c", 0x1, "CHW16c"},
        {"NHWC:NCHW16c", 0x6, "NC16c"}, {"NCHW:NHWC", 0x4, "NCW:NWC"},
        {"NCHW:NHWC", 0xc, NULL},       {"OIHW4i16o4i{fill=0}", 0x8, "OIH4i16o4i{fill=0}"},
    };
    world *w = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tn_layout *left = tn_layout_without(&w->ctx, read(w, rows[i].text), rows[i].drop);
        assert_ptr_equal(left, rows[i].left ? read(w, rows[i].left) : NULL);
        if (left)
            assert_string_equal(left->text, rows[i].left);
    }
}

static void constant_extents_round_up(void **state)
{
    world *w = *state;
    const tn_expr *dim[4] = {tn_idx(&w->pool, 1), tn_idx(&w->pool, 30), tn_idx(&w->pool, 7),
                             tn_idx(&w->pool, 5)},
                  *out[5];
    tn_buf b = {0};
    tn_layout_dims(&w->pool, read(w, "NCHW16c"), 4, dim, out);
    print_all(5, out, &b);
    assert_string_equal(b.at, "1, 2, 7, 5, 16");
    tn_buf_clear(&b);
    tn_layout_dims(&w->pool, NULL, 4, dim, out);
    print_all(4, out, &b);
    assert_string_equal(b.at, "1, 30, 7, 5");
    tn_buf_deinit(&b);
}

static void equal_layouts_are_one_pointer(void **state)
{
    world *w = *state;
    assert_null(read(w, "NCHW"));
    assert_null(read(w, "NCHW:NCHW"));
    assert_null(read(w, "NCHW{fill=0}")); /* nothing to fill */
    assert_ptr_equal(read(w, "NCHW16c"), read(w, "NCHW:NCHW16c"));
    assert_ptr_equal(read(w, "NK32n"), read(w, "AB32a")); /* letters are names only */
    assert_ptr_not_equal(read(w, "NCHW16c"), read(w, "NCHW8c"));
    assert_ptr_not_equal(read(w, "NCHW16c"), read(w, "NCHW16c{fill=0}"));
    assert_ptr_not_equal(read(w, "NCHW16c{fill=0}"), read(w, "NCHW16c{fill=1}"));
    assert_ptr_not_equal(read(w, "NC16c"), read(w, "NCW16c"));
    assert_int_equal(read(w, "NC16c{fill=0.5}")->fill, TN_FILL_VALUE);
    assert_true(read(w, "NC16c{fill=0.5}")->fill_value == 0.5);
    assert_int_equal(read(w, "NC16c")->fill, TN_FILL_ANY);
    for (int i = 0; i < 2; i++) /* printed text reads back */
        assert_ptr_equal(read(w, read(w, "NHWC:NCHW4c8n{fill=-1.5}")->text),
                         read(w, "NHWC:NCHW4c8n{fill=-1.5}"));
}

static int64_t value_at(world *w, const tn_expr *e, int n, const tn_expr *const var[], const int64_t v[])
{
    const tn_expr *to[4];
    int64_t r = -1;
    for (int i = 0; i < n; i++)
        to[i] = tn_idx(&w->pool, v[i]);
    assert_true(tn_is_int(tn_subst(&w->pool, e, n, var, to), &r));
    return r;
}

static void the_map_is_injective(void **state)
{
    static const char *const texts[] = {"ABC", "ABC:CAB", "ABC4b", "ABC:B2bCA3a2b", "3cABC2c", "ABC:2a2aABC"};
    static const int64_t extent[3] = {5, 7, 6};
    world *w = *state;
    const tn_expr *var[3], *dim[3], *index[8], *dims[8];
    for (uint32_t k = 0; k < 3; k++) {
        var[k] = tn_var(&w->pool, TN_IDX, k);
        dim[k] = tn_idx(&w->pool, extent[k]);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        static uint8_t seen[4096];
        const tn_layout *l = read(w, texts[i]);
        int naxis = tn_layout_naxis(l, 3);
        memset(seen, 0, sizeof seen);
        tn_layout_dims(&w->pool, l, 3, dim, dims);
        tn_layout_index(&w->pool, l, 3, var, index);
        for (int64_t cell = 0; cell < 5 * 7 * 6; cell++) {
            int64_t v[3] = {cell / 42, cell / 6 % 7, cell % 6}, flat = 0, size = 0;
            for (int a = 0; a < naxis; a++) {
                int64_t x = value_at(w, index[a], 3, var, v);
                assert_true(tn_is_int(dims[a], &size) && x >= 0 && x < size);
                flat = flat * size + x;
            }
            assert_true(flat < (int64_t)sizeof seen && !seen[flat]);
            seen[flat] = 1;
        }
    }
}

static void bad_text_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        ":",
        "16c",
        "NCHW16",
        "NCHW16C",
        "NCHWc",
        "NCHW0c",
        "NCHW16x",
        "NNHW",
        "NHWC:NCH",
        "NHWC:NCHWD",
        "NHWC:",
        "nHWC:NHWC",
        "NH:W:NHW",
        "NCHW99999999c",
        "NCHW4096c4097c",
        "NC 16c",
        "NC16c{",
        "NC16c{}",
        "NC16c{fill=}",
        "NC16c{fill=x}",
        "NC16c{fill=1",
        "NC16c{fill=nan}",
        "NC16c{fill=1}x",
        "NC16c{full=1}",
        "NC-16c",
        "4294967312cC",
        "NC16c{fill=0x1}",
    };
    world *w = *state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const tn_layout *l = (const tn_layout *)w;
        tn_diag_clear(&w->ctx);
        if (tn_layout_parse(&w->ctx, bad[i], &(tn_loc){.file = "f"}, &l) == TN_OK)
            fail_msg("\"%s\" was read", bad[i]);
        assert_null(l);
        assert_int_equal(w->ctx.n_diag, 1);
        assert_string_equal(w->ctx.diag[0].id, "ir-E010");
    }
    char many[2 * 70 + 3] = "C"; /* more axes than there may be */
    for (int k = 0; k < 70; k++)
        memcpy(many + 1 + 2 * k, "1c", 3);
    const tn_layout *l;
    assert_int_equal(tn_layout_parse(&w->ctx, many, NULL, &l), TN_FAIL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(extents_and_indices, enter, leave),
        cmocka_unit_test_setup_teardown(only_a_fill_is_readable, enter, leave),
        cmocka_unit_test_setup_teardown(dimensions_are_left_out, enter, leave),
        cmocka_unit_test_setup_teardown(constant_extents_round_up, enter, leave),
        cmocka_unit_test_setup_teardown(equal_layouts_are_one_pointer, enter, leave),
        cmocka_unit_test_setup_teardown(the_map_is_injective, enter, leave),
        cmocka_unit_test_setup_teardown(bad_text_is_refused, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
