/* Index maps against plain loops: reshape and its kin, transpose, slices, concatenation, padding, take,
 * broadcasts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "numeric/run.h"
#include "op/tensor/tensor.h"

/* Result of a node over x; count elements. */
static const float *result_of(env *e, tn_node *n, const float *x, int64_t count)
{
    float *out = floats(e, count, 99);
    REQUIRE(e, n);
    assert_int_equal(count_of(n->type[0]), count);
    run_node(e, n, (const void *[]){x}, out, NULL);
    return out;
}

/* ---- reshapes: the elements stay in order ---- */

static void reshapes_keep_the_order(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct { const tn_op *op; const char *type, *attrs, *want; } row[] = {
        {&tn_op_reshape, "float32 4 6", "newshape=[24]", "Tensor[(24), float32]"},
        {&tn_op_reshape, "float32 24", "newshape=[2, 3, 4]", "Tensor[(2, 3, 4), float32]"},
        {&tn_op_reshape, "float32 4 6", "newshape=[3, 8]", "Tensor[(3, 8), float32]"},
        {&tn_op_reshape, "float32 2 3 4 5", "newshape=[2, 12, 5]", "Tensor[(2, 12, 5), float32]"},
        {&tn_op_reshape, "float32 2 12 5", "newshape=[2, 3, 4, 5]", "Tensor[(2, 3, 4, 5), float32]"},
        {&tn_op_reshape, "float32 1 6 1 4", "newshape=[1, 3, 2, 1, 4]", "Tensor[(1, 3, 2, 1, 4), float32]"},
        {&tn_op_reshape, "float32 6 4 5", "newshape=[4, 6, 5]", "Tensor[(4, 6, 5), float32]"},
        {&tn_op_reshape, "float32 1 1", "newshape=[]", "float32"},
        {&tn_op_reshape, "float32", "newshape=[1, 1, 1]", "Tensor[(1, 1, 1), float32]"},
        {&tn_op_reshape, "float32 2 3 4", "newshape=[0, -1]", "Tensor[(2, 12), float32]"},
        {&tn_op_reshape, "float32 4 0 7", "newshape=[7, 0], allowzero=True", "Tensor[(7, 0), float32]"},
        {&tn_op_reshape, "float32 4 0 7", "newshape=[0, -1]", "Tensor[(4, 0), float32]"},
        {&tn_op_expand_dims, "float32 3 4", "axis=-1", "Tensor[(3, 4, 1), float32]"},
        {&tn_op_expand_dims, "float32 3 4", "axis=0, num_newaxis=2", "Tensor[(1, 1, 3, 4), float32]"},
        {&tn_op_squeeze, "float32 1 3 1 4", "", "Tensor[(3, 4), float32]"},
        {&tn_op_squeeze, "float32 1 3 1 4", "axis=[-2]", "Tensor[(1, 3, 4), float32]"},
        {&tn_op_nn_batch_flatten, "float32 3 4 5", "", "Tensor[(3, 20), float32]"},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        env e;
        env_init(&e);
        tn_node *n = node_of(&e, row[i].op, 1, &row[i].type, row[i].attrs);
        REQUIRE(&e, n);
        tn_buf b = {0};
        tn_type_print(n->type[0], &b);
        assert_string_equal(tn_buf_cstr(&b), row[i].want);
        tn_buf_deinit(&b);
        int64_t count = count_of(tn_in_type(n, 0));
        float *x = floats(&e, count, i);
        assert_memory_equal(result_of(&e, n, x, count), x, (size_t)count * sizeof *x);
        assert_true(n->op->flags & TN_OP_SHARES);
        env_deinit(&e);
    }
}

/* Symbols cancel, and untouched symbolic axes pass through as they are. */
static void reshapes_with_symbols(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct { const char *type, *attrs, *want; } row[] = {
        {"float32 n 4 6", "newshape=[-1, 24]", "Tensor[(n, 24), float32]"},
        {"float32 n 4 6", "newshape=[-1, 6]", "Tensor[(n*4, 6), float32]"},
        {"float32 n 4 h w", "newshape=[0, 0, -1]", "Tensor[(n, 4, h*w), float32]"},
        {"float32 n 4*h 6", "newshape=[0, -1]", "Tensor[(n, h*24), float32]"},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        env e;
        env_init(&e);
        tn_node *n = node_of(&e, &tn_op_reshape, 1, &row[i].type, row[i].attrs);
        REQUIRE(&e, n);
        tn_buf b = {0};
        tn_type_print(n->type[0], &b);
        assert_string_equal(tn_buf_cstr(&b), row[i].want);
        tn_buf_deinit(&b);
        tn_func *f = func_of(&e, n);
        int64_t sym[3] = {2, 3, 5}, count = 4 * 6 * 2 * 3 * 5; /* enough for all */
        float *x = floats(&e, count, i), *out = floats(&e, count, 77);
        REQUIRE(&e, tn_func_run(f, (void *[]){x, out}, sym) == TN_OK);
        assert_memory_equal(out, x, 2 * 4 * sizeof *x);
        env_deinit(&e);
    }
}

/* ---- transpose ---- */

static void transpose_permutes(void **state)
{
    (void)state;
    static const int perms[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int dim[3] = {2, 3, 4}, step[3] = {12, 4, 1};
    for (int p = 0; p < 7; p++) {
        const int *perm = perms[p == 6 ? 5 : p]; /* 6: no axes given, reversed */
        env e;
        env_init(&e);
        const char *type = "float32 2 3 4";
        tn_node *n = node_of(
            &e, &tn_op_transpose, 1, &type,
            p == 6 ? "" : tn_arena_printf(&e.arena, "axes=[%d, %d, %d]", perm[0] - 3, perm[1], perm[2]));
        float *x = floats(&e, 24, 1);
        const float *out = result_of(&e, n, x, 24);
        for (int i = 0; i < dim[perm[0]]; i++)
            for (int j = 0; j < dim[perm[1]]; j++)
                for (int k = 0; k < dim[perm[2]]; k++)
                    assert_true(*out++ == x[i * step[perm[0]] + j * step[perm[1]] + k * step[perm[2]]]);
        env_deinit(&e);
    }
}

/* ---- strided_slice ---- */

typedef struct slice {
    int64_t begin, end, step;
} slice;

/* numpy's slice.indices */
static int slice_reference(slice s, int n, int out[64])
{
    int64_t low = s.step > 0 ? 0 : -1, high = s.step > 0 ? n : n - 1, b = s.begin, e = s.end;
    int count = 0;
    b = b < 0 ? (b + n < low ? low : b + n) : b > high ? high : b;
    e = e < 0 ? (e + n < low ? low : e + n) : e > high ? high : e;
    for (int64_t i = b; s.step > 0 ? i < e : i > e; i += s.step)
        out[count++] = (int)i;
    return count;
}

static void slices_follow_numpy(void **state)
{
    (void)state;
    /* clang-format off */
    static const slice row[] = {
        {0, 9, 1}, {2, 7, 1}, {2, 7, 2}, {2, 8, 2}, {-3, 100, 1}, {-100, -1, 3}, {0, INT64_MAX, 4}, {8, 2,
            -1}, {8, 2, -4}, {100, -100, -1},
        {-1, INT64_MIN, -2}, {3, 3, 1}, {5, 2, 1}, {2, 5, -1}, {20, 30, 1}, {0, 0, -1}, {-1, -10, -1},
            {INT64_MIN, INT64_MAX, 1},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        env e;
        int at[64], count = slice_reference(row[i], 9, at);
        env_init(&e);
        tn_slice_attr a = {tn_make_dims(&e.g, 1, &row[i].begin), tn_make_dims(&e.g, 1, &row[i].end),
                           tn_ints_make(&e.arena, 1, &row[i].step),
                           tn_ints_make(&e.arena, 1, &(int64_t){-1})};
        tn_value in = operand(&e, "float32 2 9");
        tn_node *n = tn_make_call(&e.g, e.body, NULL, &tn_op_strided_slice, 1, &in, &a, NULL);
        float *x = floats(&e, 18, 1);
        const float *out = result_of(&e, n, x, 2 * count);
        for (int k = 0; k < 2 * count; k++)
            assert_true(out[k] == x[k / count * 9 + at[k % count]]);
        env_deinit(&e);
    }
}

/* A symbolic extent: whatever it turns out to be, the slice is numpy's. */
static void slices_of_symbolic_extents(void **state)
{
    (void)state;
    static const slice row[] = {
        {0, 4, 1},   {1, INT64_MAX, 1},   {-3, INT64_MAX, 1},  {0, -1, 1}, {2, -2, 3}, {5, 8, 1},
        {-4, -1, 2}, {-1, INT64_MIN, -1}, {-3, INT64_MIN, -2}, {5, 1, -1}, {4, -4, -3}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        env e;
        env_init(&e);
        tn_slice_attr a = {tn_make_dims(&e.g, 1, &row[i].begin),
                           tn_make_dims(&e.g, 1, &row[i].end),
                           tn_ints_make(&e.arena, 1, &row[i].step),
                           {0}};
        tn_value in = operand(&e, "float32 n");
        tn_node *n = tn_make_call(&e.g, e.body, NULL, &tn_op_strided_slice, 1, &in, &a, NULL);
        REQUIRE(&e, n);
        tn_func *f = func_of(&e, n);
        for (int64_t size = 1; size < 12; size++) {
            int at[64], count = slice_reference(row[i], (int)size, at);
            const tn_expr *from = tn_sym(&e.pool, "n"), *to = tn_idx(&e.pool, size);
            if (!tn_is_value(tn_subst(&e.pool, n->type[0]->dim[0], 1, &from, &to), count))
                fail_msg("slice %zu of %d elements", i, (int)size);
            float *x = floats(&e, size, 1), *out = floats(&e, 64, 2);
            REQUIRE(&e, tn_func_run(f, (void *[]){x, out}, &size) == TN_OK);
            for (int k = 0; k < count; k++)
                assert_true(out[k] == x[at[k]]);
        }
        env_deinit(&e);
    }
}

/* ---- concatenate ---- */

static void concatenate_joins(void **state)
{
    (void)state;
    static const int counts[] = {1, 2, 3, 8, 9, 20};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int axis = 0; axis < 3; axis++) {
            env e;
            env_init(&e);
            int n_in = counts[c], total = 0,
                before = axis == 0   ? 1
                         : axis == 1 ? 2
                                     : 6,
                after = axis == 0   ? 12
                        : axis == 1 ? 4
                                    : 1;
            const char *types[20];
            const void *in[20];
            const float *x[20];
            for (int i = 0; i < n_in; i++) {
                int d[3] = {2, 3, 4};
                d[axis] = 1 + i % 3;
                total += d[axis];
                types[i] = tn_arena_printf(&e.arena, "float32 %d %d %d", d[0], d[1], d[2]);
                in[i] = x[i] = floats(&e, d[0] * d[1] * d[2], (uint64_t)i);
            }
            tn_node *n =
                node_of(&e, &tn_op_concatenate, n_in, types, tn_arena_printf(&e.arena, "axis=%d", axis - 3));
            REQUIRE(&e, n);
            float *out = floats(&e, before * total * after, 50), *o = out;
            assert_int_equal(count_of(n->type[0]), before * total * after);
            run_node(&e, n, in, out, NULL);
            for (int b = 0; b < before; b++)
                for (int i = 0; i < n_in; i++)
                    for (int k = 0; k < (1 + i % 3) * after; k++)
                        assert_true(*o++ == x[i][b * (1 + i % 3) * after + k]);
            env_deinit(&e);
        }
}

/* ---- nn.pad ---- */

static void pad_surrounds_and_cuts(void **state)
{
    (void)state;
    static const int pads[][4] = {{0, 0, 0, 0}, {1, 2, 0, 3}, {0, 0, 2, 0}, {-1, 0, 1, -2}, {-1, -1, -2, -1}};
    for (size_t i = 0; i < sizeof pads / sizeof *pads; i++) {
        const int *p = pads[i], h = 4 + p[0] + p[1], w = 5 + p[2] + p[3];
        env e;
        env_init(&e);
        const char *type = "float32 4 5";
        tn_node *n = node_of(
            &e, &tn_op_nn_pad, 1, &type,
            tn_arena_printf(&e.arena, "pad_width=[%d, %d, %d, %d], pad_value=-2.5", p[0], p[1], p[2], p[3]));
        float *x = floats(&e, 20, 1);
        const float *out = result_of(&e, n, x, h * w);
        for (int y = 0; y < h; y++)
            for (int z = 0; z < w; z++) {
                int iy = y - p[0], iz = z - p[2];
                assert_true(out[y * w + z] ==
                            (iy >= 0 && iy < 4 && iz >= 0 && iz < 5 ? x[iy * 5 + iz] : -2.5f));
            }
        env_deinit(&e);
    }
}

/* ---- take ---- */

static void take_clips_or_wraps(void **state)
{
    (void)state;
    static const int64_t index[6] = {2, 0, -1, 3, 9, 1};
    static const int clipped[6] = {2, 0, 0, 3, 3, 1}, wrapped[6] = {2, 0, 3, 3, 1, 1};
    for (int wrap = 0; wrap < 2; wrap++) {
        env e;
        env_init(&e);
        tn_node *n = node_of(&e, &tn_op_take, 2, (const char *const[]){"float32 2 4 3", "int64 3 2"},
                             wrap ? "axis=-2, mode=\"wrap\"" : "axis=1");
        REQUIRE(&e, n);
        float *x = floats(&e, 24, 1), out[36];
        assert_int_equal(count_of(n->type[0]), 36);
        run_node(&e, n, (const void *[]){x, index}, out, NULL);
        for (int i = 0; i < 36; i++)
            assert_true(out[i] == x[i / 18 * 12 + (wrap ? wrapped : clipped)[i / 3 % 6] * 3 + i % 3]);
        env_deinit(&e);
    }
}

static void take_a_scalar_index_drops_the_axis(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    tn_node *n = node_of(&e, &tn_op_take, 2, (const char *const[]){"float32 4 3", "int32"}, "axis=0");
    REQUIRE(&e, n);
    float *x = floats(&e, 12, 1), out[3];
    run_node(&e, n, (const void *[]){x, &(int32_t){2}}, out, NULL);
    assert_memory_equal(out, x + 6, sizeof out);
    env_deinit(&e);
}

/* ---- broadcast_to, bias_add, shape_of, cast ---- */

static void broadcast_to_repeats(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    const char *type = "float32 4 1";
    float *x = floats(&e, 4, 1);
    const float *out = result_of(&e, node_of(&e, &tn_op_broadcast_to, 1, &type, "shape=[3, 4, 5]"), x, 60);
    for (int i = 0; i < 60; i++)
        assert_true(out[i] == x[i / 5 % 4]);
    env_deinit(&e);
}

static void bias_add_along_an_axis(void **state)
{
    (void)state;
    for (int axis = 0; axis < 3; axis++) {
        static const int dim[3] = {2, 3, 4}, step[3] = {12, 4, 1};
        env e;
        env_init(&e);
        const char *types[] = {"float32 2 3 4", tn_arena_printf(&e.arena, "float32 %d", dim[axis])};
        tn_node *n =
            node_of(&e, &tn_op_nn_bias_add, 2, types, tn_arena_printf(&e.arena, "axis=%d", axis - 3));
        REQUIRE(&e, n);
        float *x = floats(&e, 24, 1), *b = floats(&e, 4, 2), out[24];
        run_node(&e, n, (const void *[]){x, b}, out, NULL);
        for (int i = 0; i < 24; i++)
            assert_true(out[i] == x[i] + b[i / step[axis] % dim[axis]]);
        env_deinit(&e);
    }
}

static void shape_of_gives_extents(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    const char *type = "float32 7 n 5";
    tn_node *n = node_of(&e, &tn_op_shape_of, 1, &type, "dtype=\"int64\"");
    REQUIRE(&e, n);
    tn_func *f = func_of(&e, n);
    float x[7 * 3 * 5] = {0};
    int64_t out[3], three = 3;
    REQUIRE(&e, tn_func_run(f, (void *[]){x, out}, &three) == TN_OK);
    assert_true(out[0] == 7 && out[1] == 3 && out[2] == 5);
    env_deinit(&e);
}

static void cast_truncates_and_saturates(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    const char *type = "float32 6";
    tn_node *n = node_of(&e, &tn_op_cast, 1, &type, "dtype=\"int8\"");
    REQUIRE(&e, n);
    const float x[6] = {1.9f, -1.9f, 300, -300, NAN, 0.5f};
    static const int8_t want[6] = {1, -1, 127, -128, 0, 0};
    int8_t out[6];
    run_node(&e, n, (const void *[]){x}, out, NULL);
    assert_memory_equal(out, want, sizeof want);
    env_deinit(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reshapes_keep_the_order),
        cmocka_unit_test(reshapes_with_symbols),
        cmocka_unit_test(transpose_permutes),
        cmocka_unit_test(slices_follow_numpy),
        cmocka_unit_test(slices_of_symbolic_extents),
        cmocka_unit_test(concatenate_joins),
        cmocka_unit_test(pad_surrounds_and_cuts),
        cmocka_unit_test(take_clips_or_wraps),
        cmocka_unit_test(take_a_scalar_index_drops_the_axis),
        cmocka_unit_test(broadcast_to_repeats),
        cmocka_unit_test(bias_add_along_an_axis),
        cmocka_unit_test(shape_of_gives_extents),
        cmocka_unit_test(cast_truncates_and_saturates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
