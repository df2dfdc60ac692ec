/* Quantised operators against plain loops in exact integers: every signedness, zero points of every kind, padding,
 * groups; rounding to even and saturation. Products with packed weights of a few bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "test_relay.h"

enum { MOST = 1024 };

typedef struct tensor {
    bool is_signed;
    int n;
    uint8_t at[MOST];
} tensor;

static int get(const tensor *t, int i) { return t->is_signed ? (int8_t)t->at[i] : t->at[i]; }

static const char *dtype(const tensor *t) { return t->is_signed ? "int8" : "uint8"; }

static uint32_t seed = 1;

/* All values, the extremes often. */
static void fill(tensor *t, bool is_signed, int n)
{
    t->is_signed = is_signed;
    t->n = n;
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t r = seed >> 16;
        t->at[i] = (uint8_t)(r % 8 == 0 ? 0x80 : r % 8 == 1 ? 0x7f : r % 8 == 2 ? 0xff : r >> 4);
    }
}

/* Runs a text whose constants are the given tensors, and whose only parameter is x. */
static void run(const char *text, const tensor *x, int ndim, const int64_t dim[], int n_const,
                const tensor *const constant[], tn_tensor_value *out)
{
    module m;
    tn_blob blob[8];
    const tn_blob *all[8];
    for (int i = 0; i < n_const; i++) {
        blob[i] = (tn_blob){.at = constant[i]->at, .n = (size_t)constant[i]->n};
        all[i] = &blob[i];
    }
    module_open(&m);
    tn_tensor_value in = {.dtype = x->is_signed ? TN_I8 : TN_U8,
                          .ndim = (uint16_t)ndim,
                          .at = (void *)x->at,
                          .n = (size_t)x->n,
                          .borrowed = true};
    memcpy(in.dim, dim, (size_t)ndim * sizeof *dim);
    if (tn_relay_parse(&m.g, "t", text, strlen(text),
                       &(tn_relay_metadata){.constant = all, .n_constant = (size_t)n_const}) != TN_OK ||
        tn_relay_run(&m.g, 1, &in, 1, out, NULL, NULL) != TN_OK)
        fail_msg("%s\n%s", text, module_diag(&m));
    module_close(&m);
}

static void expect(tn_tensor_value *v, const int32_t want[], int n, const char *text)
{
    assert_true(tn_dtype_eq(v->dtype, TN_I32));
    assert_int_equal(v->n, (size_t)n * 4);
    for (int i = 0; i < n; i++)
        if (((const int32_t *)v->at)[i] != want[i])
            fail_msg("%s\nelement %d is %d, expected %d", text, i, ((const int32_t *)v->at)[i], want[i]);
    tn_tensor_value_deinit(v);
}

/* x [1, 4, 5, 6], w [6, 4/groups, 3, 3] */
static void conv_case(bool xs, bool ws, int groups, int pad, int zx_at, bool zw_vector)
{
    enum { C = 4, H = 5, W = 6, O = 6 };
    static const int zeros[] = {0, 0x80, 7};
    int ic = C / groups, oh = H + 2 * pad - 2, ow = (W + 2 * pad - 3) / 2 + 1, k = 0;
    tensor x, w, zx = {xs, 1, {0}}, zw;
    static int32_t want[MOST];
    char text[1024];
    fill(&x, xs, C * H * W);
    fill(&w, ws, O * ic * 9);
    fill(&zw, ws, zw_vector ? O : 1);
    if (!zw_vector)
        zw.at[0] = (uint8_t)zeros[zx_at];
    zx.at[0] = (uint8_t)zeros[zx_at];
    snprintf(text, sizeof text,
             "def @main(%%x: Tensor[(1, 4, 5, 6), %s]) {\n"
             "  qnn.conv2d(%%x, meta[relay.Constant][0] /* (6, %d, 3, 3) %s */, meta[relay.Constant][1] /* "
             "() %s */, "
             "meta[relay.Constant][2] /* %s %s */, 1f, 1f, strides=[1, 2], padding=[%d], groups=%d)\n}\n",
             dtype(&x), ic, dtype(&w), dtype(&x), zw_vector ? "(6)" : "()", dtype(&w), pad, groups);
    for (int o = 0; o < O; o++)
        for (int i = 0; i < oh; i++)
            for (int j = 0; j < ow; j++, k++) {
                want[k] = 0;
                for (int c = 0; c < ic; c++)
                    for (int t = 0; t < 9; t++) {
                        int r = i + t / 3 - pad, q = 2 * j + t % 3 - pad, channel = o / (O / groups) * ic + c;
                        bool inside = r >= 0 && r < H && q >= 0 && q < W;
                        int d = inside ? get(&x, (channel * H + r) * W + q) - get(&zx, 0) : 0;
                        want[k] += d * (get(&w, (o * ic + c) * 9 + t) - get(&zw, zw_vector ? o : 0));
                    }
            }
    const tensor *constant[] = {&w, &zx, &zw};
    tn_tensor_value out;
    run(text, &x, 4, (const int64_t[]){1, C, H, W}, 3, constant, &out);
    expect(&out, want, k, text);
}

static void convolutions_are_exact(void **state)
{
    (void)state;
    for (int signs = 0; signs < 4; signs++)
        for (int groups = 1; groups <= 2; groups++)
            for (int pad = 0; pad < 2; pad++)
                for (int zero = 0; zero < 3; zero++)
                    conv_case(signs & 1, signs & 2, groups, pad, zero, (zero + signs + pad) & 1);
}

/* x [3, 8], w [5, 8]; zero points of x: one number or one a row */
static void dense_case(bool xs, bool ws, bool rows, bool columns, bool batch)
{
    enum { M = 3, N = 5, K = 8 };
    tensor x, w, zx, zw;
    int32_t want[M * N];
    char text[1024];
    fill(&x, xs, M * K);
    fill(&w, ws, N * K);
    fill(&zx, xs, rows ? M : 1);
    fill(&zw, ws, columns ? N : 1);
    snprintf(text, sizeof text,
             "def @main(%%x: Tensor[(%s3, 8), %s]) {\n"
             "  qnn.%s(%%x, meta[relay.Constant][0] /* (%s5, 8) %s */, meta[relay.Constant][1] /* %s %s */, "
             "meta[relay.Constant][2] /* %s %s */, 1f, 1f%s)\n}\n",
             batch ? "1, " : "", dtype(&x), batch ? "batch_matmul" : "dense", batch ? "1, " : "", dtype(&w),
             rows ? "(3)" : "()", dtype(&x), columns ? "(5)" : "()", dtype(&w),
             batch ? ", transpose_b=True" : "");
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            want[i * N + j] = 0;
            for (int k = 0; k < K; k++)
                want[i * N + j] += (get(&x, i * K + k) - get(&zx, rows ? i : 0)) *
                                   (get(&w, j * K + k) - get(&zw, columns ? j : 0));
        }
    const tensor *constant[] = {&w, &zx, &zw};
    tn_tensor_value out;
    int64_t dim[] = {1, M, K};
    run(text, &x, batch ? 3 : 2, batch ? dim : dim + 1, 3, constant, &out);
    expect(&out, want, M * N, text);
}

static void products_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < 32; i++)
        dense_case(i & 1, i & 2, i & 4, i & 8, i & 16);
}

/* Ties go to even, what does not fit saturates. */
static void rounding_is_to_even(void **state)
{
    (void)state;
    static const struct {
        float x;
        int i8, u8;
    } rows[] = {
        {0.5f, 3, 3},  {1.5f, 5, 5},   {2.5f, 5, 5},     {-0.5f, 3, 3},    {-1.5f, 1, 1},
        {-3.0f, 0, 0}, {-3.6f, -1, 0}, {1e9f, 127, 255}, {-1e9f, -128, 0}, {130, 127, 133},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            char text[256];
            float x = rows[i].x * 0.25f;
            module m;
            tn_tensor_value in = {.dtype = TN_F32, .ndim = 1, .dim = {1}, .at = &x, .n = 4, .borrowed = true},
                            out;
            snprintf(text, sizeof text,
                     "def @main(%%x: Tensor[(1), float32]) { qnn.quantize(%%x, 0.25f, 3, rounding=None, "
                     "out_dtype=\"%s\") }",
                     is_signed ? "int8" : "uint8");
            module_read(&m, text);
            if (tn_relay_run(&m.g, 1, &in, 1, &out, NULL, NULL) != TN_OK)
                fail_msg("%s", module_diag(&m));
            int got = is_signed ? *(const int8_t *)out.at : *(const uint8_t *)out.at;
            assert_int_equal(got, is_signed ? rows[i].i8 : rows[i].u8);
            tn_tensor_value_deinit(&out);
            module_close(&m);
        }
}

/* Sum, product and a function of quantised numbers, against real arithmetic. */
static void real_operators_round_once(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        int kind;
    } rows[] = {
        {"qnn.add(%x, %x, 0.5f, 3, 0.5f, 3, 0.75f, 10)", 0},
        {"qnn.mul(%x, %x, 0.5f, 3, 0.25f, 1, 8f, 10)", 1},
        {"qnn.concatenate((%x, %x), (0.5f, 0.75f), (3, 10), 0.75f, 10)", 3},
        {"qnn.sigmoid(%x, 0.03125f, 3, 0.00390625f, 0)", 2},
        {"qnn.requantize(%x, 0.5f, 3, 0.75f, 10, rounding=None, out_dtype=\"uint8\")", 3},
    };
    tensor x = {.n = 256};
    for (int i = 0; i < 256; i++)
        x.at[i] = (uint8_t)i;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char text[256];
        tn_tensor_value out;
        snprintf(text, sizeof text, "def @main(%%x: Tensor[(256), uint8]) { %s }", rows[r].call);
        run(text, &x, 1, (const int64_t[]){256}, 0, NULL, &out);
        for (int i = 0; i < 256; i++) {
            double a = 0.5 * (i - 3), b = 0.25 * (i - 1), y;
            switch (rows[r].kind) {
            case 0: y = (a + a) / 0.75 + 10; break;
            case 1: y = a * b / 8 + 10; break;
            case 2: y = 256 / (1 + exp(-0.03125 * (i - 3))); break;
            default: y = a / 0.75 + 10; break;
            }
            y = y < 0 ? 0 : y > 255 ? 255 : y;
            assert_true(fabs(((const uint8_t *)out.at)[i] - y) < 0.501);
        }
        tn_tensor_value_deinit(&out);
    }
}

/* ---- weights of a few bits ---- */

enum { PACKED_K = 40, PACKED_N = 70, PACKED_PANELS = 2, PANEL = 64, MOST_ROWS = 20 };

typedef struct packed_operands {
    float x[MOST_ROWS * PACKED_K];
    uint8_t weight[PACKED_PANELS * PACKED_K * PANEL];
    float scale[PACKED_PANELS * PACKED_K * PANEL],
        shift[PACKED_PANELS * PACKED_K * PANEL]; /* blocks of 1 at least */
} packed_operands;

static uint32_t next_random(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 16;
}

/* Numbers whose products and sums are exact. */
static void fill_packed(packed_operands *p)
{
    for (int i = 0; i < MOST_ROWS * PACKED_K; i++)
        p->x[i] = (float)((int)(next_random() % 9) - 4);
    for (size_t i = 0; i < sizeof p->weight; i++)
        p->weight[i] = (uint8_t)next_random();
    for (size_t i = 0; i < sizeof p->scale / sizeof *p->scale; i++) {
        p->scale[i] = (float)(1 << next_random() % 4) / 8 * (next_random() % 2 ? 1 : -1);
        p->shift[i] = (float)((int)(next_random() % 15) - 7) / 4;
    }
}

/* Weight k of a column, by the bits of its plane in its byte. */
static int packed_weight(const packed_operands *p, int bits, int k, int column)
{
    int bytes = PANEL * bits / 8, in_panel = column % PANEL;
    int byte = p->weight[(column / PANEL * PACKED_K + k) * bytes + in_panel % bytes];
    int q = byte >> in_panel / bytes * bits & ((1 << bits) - 1);
    return q >= 1 << (bits - 1) ? q - (1 << bits) : q;
}

static double packed_result(const packed_operands *p, int bits, int block, bool shifts, int row, int column)
{
    int blocks = (PACKED_K + block - 1) / block;
    double y = 0;
    for (int k = 0; k < PACKED_K; k++) {
        int of = (column / PANEL * blocks + k / block) * PANEL + column % PANEL;
        double w = (double)packed_weight(p, bits, k, column) * p->scale[of] + (shifts ? p->shift[of] : 0);
        y += p->x[row * PACKED_K + k] * w;
    }
    return y;
}

static void packed_case(int rows, int bits, int block, bool shifts)
{
    module m;
    packed_operands p;
    int blocks = (PACKED_K + block - 1) / block, bytes = PANEL * bits / 8;
    size_t scales = (size_t)(PACKED_PANELS * blocks * PANEL) * sizeof(float);
    char text[512], shift[64] = "";
    fill_packed(&p);
    const tn_blob blob[] = {{.at = p.weight, .n = (size_t)(PACKED_PANELS * PACKED_K * bytes)},
                            {.at = p.scale, .n = scales},
                            {.at = p.shift, .n = scales}},
                  *all[] = {&blob[0], &blob[1], &blob[2]};
    if (shifts)
        snprintf(shift, sizeof shift, ", meta[relay.Constant][2] /* (2, %d, 64) float32 */", blocks);
    snprintf(text, sizeof text,
             "def @main(%%x: Tensor[(%d, 40), float32]) {\n"
             "  qnn.packed_dense(%%x, meta[relay.Constant][0] /* (2, 40, %d) int8 */, "
             "meta[relay.Constant][1] /* (2, %d, 64) float32 */%s, bits=%d, block=%d, units=70)\n}\n",
             rows, bytes, blocks, shift, bits, block);
    tn_tensor_value out, in = {.dtype = TN_F32,
                               .ndim = 2,
                               .dim = {rows, PACKED_K},
                               .at = p.x,
                               .n = (size_t)(rows * PACKED_K) * sizeof(float),
                               .borrowed = true};
    module_open(&m);
    if (tn_relay_parse(&m.g, "t", text, strlen(text),
                       &(tn_relay_metadata){.constant = all, .n_constant = shifts ? 3 : 2}) != TN_OK ||
        tn_relay_run(&m.g, 1, &in, 1, &out, NULL, NULL) != TN_OK)
        fail_msg("%s\n%s", text, module_diag(&m));
    module_close(&m);
    assert_int_equal(out.n, (size_t)(rows * PACKED_N) * sizeof(float));
    for (int i = 0; i < rows * PACKED_N; i++) {
        double want = packed_result(&p, bits, block, shifts, i / PACKED_N, i % PACKED_N),
               is = ((const float *)out.at)[i];
        if (is != want)
            fail_msg("%s\nelement %d is %g, expected %g", text, i, is, want);
    }
    tn_tensor_value_deinit(&out);
}

/* Few rows and many, whole blocks and a last one that is not, one block alone. */
static void packed_products_are_exact(void **state)
{
    static const int row_counts[] = {1, 2, 3, 4, 7, MOST_ROWS}, block_sizes[] = {8, 16, 40, 64};
    (void)state;
    for (int bits = 2; bits <= 8; bits *= 2)
        for (int r = 0; r < 6; r++)
            for (int b = 0; b < 4; b++)
                for (int shifts = 0; shifts < 2; shifts++)
                    packed_case(row_counts[r], bits, block_sizes[b], shifts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_are_exact),    cmocka_unit_test(products_are_exact),
        cmocka_unit_test(rounding_is_to_even),       cmocka_unit_test(real_operators_round_once),
        cmocka_unit_test(packed_products_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
