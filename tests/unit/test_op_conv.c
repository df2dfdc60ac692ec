/* nn.conv2d, nn.dense, nn.batch_matmul and pooling against plain loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "numeric/run.h"
#include "op/nn/nn.h"

/* ---- convolution ---- */

/* pad: top left bottom right */
typedef struct conv {
    int n, ic, h, w, oc, kh, kw, groups, stride[2], dil[2], pad[4];
} conv;

static int extent(int in, int k, int stride, int dil, int pads)
{
    return (in + pads - dil * (k - 1) - 1) / stride + 1;
}

static double *conv_reference(env *e, const conv *c, const float *x, const float *w, int oh, int ow)
{
    int icg = c->ic / c->groups, ocg = c->oc / c->groups;
    double *out = TN_NEW_N(&e->arena, double, (size_t)(c->n * c->oc * oh * ow)), *o = out;
    for (int n = 0; n < c->n; n++)
        for (int oc = 0; oc < c->oc; oc++)
            for (int y = 0; y < oh; y++)
                for (int z = 0; z < ow; z++, o++)
                    for (int ic = 0; ic < icg; ic++)
                        for (int r = 0; r < c->kh; r++)
                            for (int s = 0; s < c->kw; s++) {
                                int iy = y * c->stride[0] + r * c->dil[0] - c->pad[0],
                                    iz = z * c->stride[1] + s * c->dil[1] - c->pad[1];
                                int ch = oc / ocg * icg + ic;
                                if (iy < 0 || iy >= c->h || iz < 0 || iz >= c->w)
                                    continue;
                                *o += (double)x[((n * c->ic + ch) * c->h + iy) * c->w + iz] *
                                      w[((oc * icg + ic) * c->kh + r) * c->kw + s];
                            }
    return out;
}

/* clang-format off */
static const conv convs[] = {
    {1, 3, 7, 8, 5, 3, 3, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {2, 3, 7, 8, 5, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {1, 4, 9, 6, 6, 3, 2, 1, {2, 3}, {1, 1}, {2, 0, 1, 3}},
    {1, 4, 9, 11, 6, 3, 3, 2, {1, 2}, {2, 3}, {0, 2, 2, 1}},
    {1, 6, 8, 5, 6, 3, 3, 6, {2, 1}, {1, 1}, {1, 1, 1, 1}},
    {1, 3, 8, 5, 6, 2, 5, 3, {1, 1}, {1, 1}, {0, 4, 1, 0}},
    {3, 5, 4, 4, 7, 1, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {1, 2, 4, 4, 3, 1, 1, 1, {3, 2}, {1, 1}, {1, 1, 1, 1}},
    {1, 1, 28, 28, 8, 5, 5, 1, {1, 1}, {1, 1}, {2, 2, 2, 2}},
};
/* clang-format on */

static void conv2d_matches_loops(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
        const conv *c = &convs[i];
        env e;
        env_init(&e);
        const char *types[] = {
            tn_arena_printf(&e.arena, "float32 %d %d %d %d", c->n, c->ic, c->h, c->w),
            tn_arena_printf(&e.arena, "float32 %d %d %d %d", c->oc, c->ic / c->groups, c->kh, c->kw)};
        const char *attrs = tn_arena_printf(
            &e.arena, "strides=[%d, %d], dilation=[%d, %d], padding=[%d, %d, %d, %d], groups=%d",
            c->stride[0], c->stride[1], c->dil[0], c->dil[1], c->pad[0], c->pad[1], c->pad[2], c->pad[3],
            c->groups);
        tn_node *n = node_of(&e, &tn_op_nn_conv2d, 2, types, attrs);
        REQUIRE(&e, n);
        int oh = extent(c->h, c->kh, c->stride[0], c->dil[0], c->pad[0] + c->pad[2]);
        int ow = extent(c->w, c->kw, c->stride[1], c->dil[1], c->pad[1] + c->pad[3]);
        int64_t count = (int64_t)c->n * c->oc * oh * ow;
        assert_int_equal(count_of(n->type[0]), count);
        float *x = floats(&e, count_of(tn_in_type(n, 0)), 1), *w = floats(&e, count_of(tn_in_type(n, 1)), 2),
              *out = floats(&e, count, 3);
        run_node(&e, n, (const void *[]){x, w}, out, NULL);
        expect_close(out, conv_reference(&e, c, x, w, oh, ow), count, 1e-5);
        bool depthwise = c->groups > 1 && c->groups == c->ic;
        tn_func *f = func_of(&e, n);
        tn_stmt *block = tn_func_block(f, "out");
        assert_non_null(block);
        assert_string_equal(block->u.block.tag, depthwise ? "depthwise_conv2d" : "conv2d");
        env_deinit(&e);
    }
}

/* One compiled function, several batches and image sizes. */
static void conv2d_with_symbolic_batch_and_image(void **state)
{
    (void)state;
    static const int sizes[][3] = {{1, 5, 5}, {2, 8, 6}, {3, 3, 9}};
    env e;
    env_init(&e);
    tn_node *n = node_of(&e, &tn_op_nn_conv2d, 2, (const char *const[]){"float32 n 3 h w", "float32 4 3 3 3"},
                         "strides=[2, 1], padding=[1, 1]");
    REQUIRE(&e, n);
    tn_func *f = func_of(&e, n);
    assert_int_equal(f->n_symbol, 3);
    for (int i = 0; i < 3; i++) {
        conv c = {sizes[i][0], 3, sizes[i][1], sizes[i][2], 4, 3, 3, 1, {2, 1}, {1, 1}, {1, 1, 1, 1}};
        int oh = extent(c.h, 3, 2, 1, 2), ow = c.w;
        int64_t sym[3], count = (int64_t)c.n * 4 * oh * ow;
        for (int k = 0; k < 3; k++)
            sym[k] = sizes[i][f->symbol[k].name[0] == 'n' ? 0 : f->symbol[k].name[0] == 'h' ? 1 : 2];
        float *x = floats(&e, (int64_t)c.n * 3 * c.h * c.w, 4), *w = floats(&e, 108, 5),
              *out = floats(&e, count, 6);
        REQUIRE(&e, tn_func_run(f, (void *[]){x, w, out}, sym) == TN_OK);
        expect_close(out, conv_reference(&e, &c, x, w, oh, ow), count, 1e-5);
    }
    env_deinit(&e);
}

/* ---- padding in its three forms ---- */

static void padding_takes_1_2_or_4_values(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct { const char *text; int64_t want[4]; } row[] = {
        {"padding=[2]", {2, 2, 2, 2}}, {"padding=2", {2, 2, 2, 2}}, {"padding=[1, 2]", {1, 2, 1, 2}},
            {"padding=[1, 2, 3, 4]", {1, 2, 3, 4}}, {"", {0}},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        env e;
        env_init(&e);
        tn_node *n = node_of(&e, &tn_op_nn_conv2d, 2,
                             (const char *const[]){"float32 1 1 9 9", "float32 1 1 3 3"}, row[i].text);
        REQUIRE(&e, n);
        const tn_conv2d_attr *a = n->attr;
        assert_int_equal(a->padding.n, 4);
        for (int k = 0; k < 4; k++)
            assert_true(tn_is_value(a->padding.at[k], row[i].want[k]));
        env_deinit(&e);
    }
}

/* ---- dense, batch_matmul ---- */

static void dense_matches_loops(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    tn_node *n =
        node_of(&e, &tn_op_nn_dense, 2, (const char *const[]){"float32 2 3 7", "float32 5 7"}, "units=5");
    REQUIRE(&e, n);
    float *x = floats(&e, 42, 1), *w = floats(&e, 35, 2), out[30];
    double want[30] = {0};
    for (int i = 0; i < 30; i++)
        for (int k = 0; k < 7; k++)
            want[i] += (double)x[i / 5 * 7 + k] * w[i % 5 * 7 + k];
    run_node(&e, n, (const void *[]){x, w}, out, NULL);
    expect_close(out, want, 30, 1e-6);
    env_deinit(&e);
}

static void batch_matmul_matches_loops(void **state)
{
    (void)state;
    enum { B = 3, M = 4, N = 5, K = 6 };
    for (int form = 0; form < 8; form++) {
        bool ta = form & 1, tb = form & 2,
             one = form & 4; /* one: the first operand is broadcast over the batch */
        env e;
        env_init(&e);
        const char *types[] = {
            tn_arena_printf(&e.arena, ta ? "float32 %d 6 4" : "float32 %d 4 6", one ? 1 : B),
            tb ? "float32 3 5 6" : "float32 3 6 5"};
        tn_node *n = node_of(&e, &tn_op_nn_batch_matmul, 2, types,
                             tn_arena_printf(&e.arena, "transpose_a=%s, transpose_b=%s",
                                             ta ? "True" : "False", tb ? "True" : "False"));
        REQUIRE(&e, n);
        float *x = floats(&e, B * M * K, 1), *y = floats(&e, B * N * K, 2), out[B * M * N];
        double want[B * M * N] = {0};
        for (int i = 0; i < B * M * N; i++)
            for (int k = 0; k < K; k++) {
                int b = i / (M * N), r = i / N % M, c = i % N, bx = one ? 0 : b;
                want[i] += (double)x[ta ? (bx * K + k) * M + r : (bx * M + r) * K + k] *
                           y[tb ? (b * N + c) * K + k : (b * K + k) * N + c];
            }
        run_node(&e, n, (const void *[]){x, y}, out, NULL);
        expect_close(out, want, B * M * N, 1e-6);
        env_deinit(&e);
    }
}

/* ---- pooling ---- */

/* clang-format off */
/* oh, ow: expected */
typedef struct pool { int h, w, k[2], stride[2], dil[2], pad[4]; bool ceil, include; int oh, ow; } pool;

static const pool pools[] = {
    {8, 8, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, false, false, 4, 4},
    {9, 7, {3, 2}, {2, 1}, {1, 1}, {1, 0, 1, 1}, false, false, 5, 7},
    {9, 7, {3, 2}, {2, 1}, {1, 1}, {1, 0, 1, 1}, false, true, 5, 7},
    {8, 9, {3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}, true, false, 4, 4},
    {8, 9, {3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}, true, true, 4, 4},
    {10, 10, {3, 2}, {1, 2}, {2, 3}, {2, 1, 0, 3}, false, false, 8, 6},
    {5, 5, {2, 2}, {3, 3}, {1, 1}, {1, 1, 1, 1}, true, true, 2, 2},
        /* a third window would begin in the padding behind */
    {4, 4, {4, 4}, {1, 1}, {1, 1}, {3, 3, 3, 3}, false, false, 7, 7},
};
/* clang-format on */

/* Value at output (y, z) of one plane: maximum, or mean over the counted elements. */
static double pool_reference(const pool *p, const float *x, int y, int z, bool max)
{
    double sum = 0, top = -INFINITY;
    int count = 0;
    for (int r = 0; r < p->k[0]; r++)
        for (int s = 0; s < p->k[1]; s++) {
            int iy = y * p->stride[0] + r * p->dil[0] - p->pad[0],
                iz = z * p->stride[1] + s * p->dil[1] - p->pad[1];
            bool inside = iy >= 0 && iy < p->h && iz >= 0 && iz < p->w;
            bool padded =
                iy >= -p->pad[0] && iy < p->h + p->pad[2] && iz >= -p->pad[1] && iz < p->w + p->pad[3];
            count += p->include ? padded : inside;
            if (!inside)
                continue;
            sum += x[iy * p->w + iz];
            top = fmax(top, x[iy * p->w + iz]);
        }
    return max ? top : sum / count;
}

static void check_pool(const pool *p, bool max)
{
    enum { PLANES = 4 }; /* 2 images of 2 channels */
    env e;
    env_init(&e);
    const char *type = tn_arena_printf(&e.arena, "float32 2 2 %d %d", p->h, p->w);
    const char *attrs = tn_arena_printf(
        &e.arena,
        "pool_size=[%d, %d], strides=[%d, %d], dilation=[%d, %d], padding=[%d, %d, %d, %d], ceil_mode=%d%s",
        p->k[0], p->k[1], p->stride[0], p->stride[1], p->dil[0], p->dil[1], p->pad[0], p->pad[1], p->pad[2],
        p->pad[3], p->ceil, p->include && !max ? ", count_include_pad=True" : "");
    tn_node *n = node_of(&e, max ? &tn_op_nn_max_pool2d : &tn_op_nn_avg_pool2d, 1, &type, attrs);
    REQUIRE(&e, n);
    int64_t dim[4], plane = p->h * p->w, count = (int64_t)PLANES * p->oh * p->ow;
    assert_true(tn_type_dims_const(n->type[0], dim));
    assert_int_equal(dim[2], p->oh);
    assert_int_equal(dim[3], p->ow);
    float *x = floats(&e, PLANES * plane, 7), *out = floats(&e, count, 8);
    double *want = TN_NEW_N(&e.arena, double, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        want[i] = pool_reference(p, x + i / (p->oh * p->ow) * plane, (int)(i / p->ow % p->oh),
                                 (int)(i % p->ow), max);
    run_node(&e, n, (const void *[]){x}, out, NULL);
    expect_close(out, want, count, 1e-6);
    env_deinit(&e);
}

static void pools_match_loops(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        check_pool(&pools[i], true);
        check_pool(&pools[i], false);
    }
}

static void global_avg_pool_is_the_mean(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    const char *type = "float32 2 3 5 4";
    tn_node *n = node_of(&e, &tn_op_nn_global_avg_pool2d, 1, &type, "");
    REQUIRE(&e, n);
    float *x = floats(&e, 120, 1), out[6];
    double want[6] = {0};
    for (int i = 0; i < 120; i++)
        want[i / 20] += x[i] / 20.0;
    run_node(&e, n, (const void *[]){x}, out, NULL);
    expect_close(out, want, 6, 1e-6);
    env_deinit(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv2d_matches_loops),
        cmocka_unit_test(conv2d_with_symbolic_batch_and_image),
        cmocka_unit_test(padding_takes_1_2_or_4_values),
        cmocka_unit_test(dense_matches_loops),
        cmocka_unit_test(batch_matmul_matches_loops),
        cmocka_unit_test(pools_match_loops),
        cmocka_unit_test(global_avg_pool_is_the_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
