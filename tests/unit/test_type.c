/* ir/type: text, equality with and without layouts, sizes. */
#include "ir/type.h"

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

static const tn_layout *layout(world *w, const char *text)
{
    const tn_layout *l = NULL;
    assert_int_equal(tn_layout_parse(&w->ctx, text, NULL, &l), TN_OK);
    return l;
}

static void assert_prints(const tn_type *t, const char *text)
{
    tn_buf b = {0};
    tn_type_print(t, &b);
    assert_string_equal(tn_buf_cstr(&b), text);
    tn_buf_deinit(&b);
}

static void text(void **state)
{
    world *w = *state;
    tn_pool *p = &w->pool;
    const tn_expr *dim[2] = {tn_sym(p, "n"), tn_idx(p, 64)};
    const tn_type *x = tn_type_tensor(p, TN_F32, 2, dim, NULL), *s = tn_type_tensor_i(p, TN_BOOL1, 0, NULL);
    const tn_type *y = tn_type_tensor(p, TN_F32, 2, dim, layout(w, "NK32n")),
                  *v = tn_type_tensor_i(p, TN_I64, 1, (int64_t[]){256});
    assert_prints(x, "Tensor[(n, 64), float32]");
    assert_prints(y, "Tensor[(n, 64), float32, NK32n]");
    assert_prints(s, "bool");
    assert_prints(v, "Tensor[(256), int64]");
    assert_prints(tn_type_tuple(p, 0, NULL), "()");
    assert_prints(tn_type_tuple(p, 1, &s), "(bool,)");
    const tn_type *pair = tn_type_tuple(p, 2, (const tn_type *const[]){x, s});
    assert_prints(pair, "(Tensor[(n, 64), float32], bool)");
    assert_prints(tn_type_func(p, 2, (const tn_type *const[]){pair, v}, s),
                  "fn ((Tensor[(n, 64), float32], bool), Tensor[(256), int64]) -> bool");
    assert_prints(tn_type_func(p, 0, NULL, pair), "fn () -> (Tensor[(n, 64), float32], bool)");
    dim[0] = tn_mul(p, dim[0], tn_idx(p, 4));
    assert_prints(tn_type_tensor(p, TN_F16, 2, dim, NULL), "Tensor[(n*4, 64), float16]");
}

static void equality(void **state)
{
    world *w = *state;
    tn_pool *p = &w->pool;
    const int64_t d[3] = {2, 3, 4};
    const tn_type *a = tn_type_tensor_i(p, TN_F32, 2, d), *b = tn_type_tensor_i(p, TN_F32, 2, d);
    const tn_type *l = tn_type_relayout(p, a, layout(w, "NK32n"));
    assert_true(tn_type_eq(a, b));
    assert_ptr_equal(tn_type_relayout(p, a, NULL), a);
    assert_false(tn_type_eq(a, l));
    assert_true(tn_type_eq_logical(a, l));
    assert_false(tn_type_eq_logical(a, tn_type_tensor_i(p, TN_F32, 3, d)));
    assert_false(tn_type_eq_logical(a, tn_type_tensor_i(p, TN_F32, 2, d + 1)));
    assert_false(tn_type_eq_logical(a, tn_type_tensor_i(p, TN_I32, 2, d)));
    const tn_type *t1 = tn_type_tuple(p, 2, (const tn_type *const[]){a, l}),
                  *t2 = tn_type_tuple(p, 2, (const tn_type *const[]){b, a});
    assert_false(tn_type_eq(t1, t2));
    assert_true(tn_type_eq_logical(t1, t2));
    assert_false(tn_type_eq_logical(t1, tn_type_tuple(p, 1, &a)));
    assert_false(tn_type_eq_logical(t1, tn_type_func(p, 1, &a, b)));
    for (int i = 0; i < 200000; i++) { /* deep */
        t1 = tn_type_tuple(p, 1, &t1);
        t2 = tn_type_tuple(p, 1, &t2);
    }
    assert_true(tn_type_eq_logical(t1, t2));
    assert_false(tn_type_eq(t1, t2));
}

static void sizes(void **state)
{
    world *w = *state;
    tn_pool *p = &w->pool;
    int64_t out[4] = {0};
    const tn_expr *dim[4] = {tn_sym(p, "n"), tn_idx(p, 30), tn_idx(p, 7), tn_sym(p, "m")};
    const tn_type *t = tn_type_tensor(p, TN_F16, 3, dim, NULL),
                  *c = tn_type_tensor(p, TN_F32, 2, dim + 1, layout(w, "NK32n"));
    assert_false(tn_type_dims_const(t, out));
    assert_true(tn_type_dims_const(c, out) && out[0] == 30 && out[1] == 7);
    assert_true(tn_type_dims_const(c, NULL));
    assert_ptr_equal(tn_type_count(p, t), tn_mul(p, dim[0], tn_idx(p, 210)));
    assert_ptr_equal(tn_type_bytes(p, t), tn_mul(p, dim[0], tn_idx(p, 420)));
    assert_true(tn_is_value(tn_type_count(p, c), 210));
    assert_true(tn_is_value(tn_type_bytes(p, c), 32 * 7 * 4)); /* one group of 32 */
    assert_true(tn_is_value(tn_type_bytes(p, tn_type_tensor_i(p, TN_F64, 0, NULL)), 8));
    const int64_t huge[3] = {INT64_C(1) << 32, INT64_C(1) << 31, 0};
    assert_null(tn_type_count(p, tn_type_tensor_i(p, TN_F32, 2, huge)));
    assert_true(tn_is_value(tn_type_count(p, tn_type_tensor_i(p, TN_F32, 3, huge)), 0));
    const int64_t large[1] = {INT64_C(1) << 61};
    assert_non_null(tn_type_count(p, tn_type_tensor_i(p, TN_F64, 1, large)));
    assert_null(tn_type_bytes(p, tn_type_tensor_i(p, TN_F64, 1, large)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text, enter, leave),
        cmocka_unit_test_setup_teardown(equality, enter, leave),
        cmocka_unit_test_setup_teardown(sizes, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
