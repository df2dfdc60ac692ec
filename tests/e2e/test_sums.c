/* Long sums: errors of products, convolutions, softmax and layer normalisation against sums in double, with shapes
 * known and symbolic, by LLVM and by the interpreter of flat TIR, which must agree bit for bit. The bounds are twice
 * what ONNX Runtime shows on such data; a single running sum is far beyond them. TENON_SLOW=1 adds the longest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "e2e/run.h"

enum { K = 16384, C = 512, ROW = 4096, LINES = 33, IMAGE = 240 * 240, LONG = 1000000, LARGE = 720 * 720 };

typedef struct operand {
    const char *name;
    int ndim;
    int64_t shape[4];
    double offset;
} operand;
typedef void want_fn(const float *const in[], double *out);
typedef struct row {
    const char *name, *text;
    operand in[3];
    int64_t n_out;
    want_fn *want;
    double bound; /* largest error over largest expected value */
} row;

static void want_dense(const float *const in[], double *out)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 16; j++) {
            out[i * 16 + j] = 0;
            for (int k = 0; k < K; k++)
                out[i * 16 + j] += (double)in[0][i * K + k] * (double)in[1][j * K + k];
        }
}

/* 3x3 without padding: 10x10 pixels give 8x8. */
static void want_conv(const float *const in[], double *out)
{
    for (int o = 0; o < 8 * 64; o++) {
        out[o] = 0;
        for (int c = 0; c < C; c++)
            for (int t = 0; t < 9; t++)
                out[o] += (double)in[0][c * 100 + (o / 8 % 8 + t / 3) * 10 + o % 8 + t % 3] *
                          (double)in[1][(o / 64 * C + c) * 9 + t];
    }
}

static void want_softmax(const float *const in[], double *out)
{
    for (int j = 0; j < LINES; j++) {
        double sum = 0;
        for (int i = 0; i < ROW; i++)
            sum += exp((double)in[0][i * LINES + j]);
        for (int i = 0; i < ROW; i++)
            out[i * LINES + j] = exp((double)in[0][i * LINES + j]) / sum;
    }
}

static void norm_rows(int rows, int n, const float *x, double *out)
{
    for (int i = 0; i < rows; i++, x += n, out += n) {
        double mean = 0, square = 0;
        for (int k = 0; k < n; k++)
            mean += (double)x[k] / n;
        for (int k = 0; k < n; k++)
            square += pow((double)x[k] - mean, 2) / n;
        for (int k = 0; k < n; k++)
            out[k] = ((double)x[k] - mean) / sqrt(square + 1e-5);
    }
}

static void want_norm(const float *const in[], double *out) { norm_rows(4, ROW, in[0], out); }
static void want_image(const float *const in[], double *out) { norm_rows(1, IMAGE, in[0], out); }

static void want_large(const float *const in[], double *out) { norm_rows(1, LARGE, in[0], out); }

static void add_up(int n, const float *x, double *out)
{
    *out = 0;
    for (int k = 0; k < n; k++)
        *out += (double)x[k];
}

static void want_sum(const float *const in[], double *out) { add_up(LONG, in[0], out); }
static void want_longer(const float *const in[], double *out) { add_up(10 * LONG, in[0], out); }

/* clang-format off */
#define DENSE(m, k, n) \
    "def @main(%x: Tensor[(" m ", " k "), float32], %w: Tensor[(" n ", " k "), float32]) {\n  nn.dense(%x, %w)\n}\n"
#define CONV(h, w) \
    "def @main(%x: Tensor[(1, 512, " h ", " w "), float32], %w: Tensor[(8, 512, 3, 3), float32]) {\n" \
    "  nn.conv2d(%x, %w)\n}\n"
#define SOFTMAX(n, m) "def @main(%x: Tensor[(1, " n ", " m "), float32]) {\n  nn.softmax(%x, axis=1)\n}\n"
#define NORM(n) \
    "def @main(%x: Tensor[(" n ", 4096), float32], %g: Tensor[(4096), float32], %b: Tensor[(4096), float32]) {\n" \
    "  nn.layer_norm(%x, %g, %b, center=False, scale=False)\n}\n"
#define PRODUCT {{"x", 2, {4, K}, 0}, {"w", 2, {16, K}, 0}}, 64, want_dense, 6.4e-7
#define PIXELS {{"x", 4, {1, C, 10, 10}, 0}, {"w", 4, {8, C, 3, 3}, 0}}, 512, want_conv, 5.8e-7
#define COLUMNS {{"x", 3, {1, ROW, LINES}, 0}}, ROW * LINES, want_softmax, 3.6e-7
#define LINE {{"x", 2, {4, ROW}, 1e4}, {"g", 1, {ROW}, 0}, {"b", 1, {ROW}, 0}}, 4 * ROW, want_norm, 1e-6
#define FAR {{"x", 2, {4, ROW}, 1e5}, {"g", 1, {ROW}, 0}, {"b", 1, {ROW}, 0}}, 4 * ROW, want_norm, 4e-7
#define PICTURE(h, w) \
    "def @main(%x: Tensor[(1, 1, " h ", " w "), float32], %g: Tensor[(1), float32], %b: Tensor[(1), float32]) {\n" \
    "  nn.instance_norm(%x, %g, %b, center=False, scale=False)\n}\n"
#define IMAGES {{"x", 4, {1, 1, 240, 240}, 1e5}, {"g", 1, {1}, 0}, {"b", 1, {1}, 0}}, IMAGE, want_image, 4e-7
#define LARGE_IMAGES(mean) \
    {{"x", 4, {1, 1, 720, 720}, mean}, {"g", 1, {1}, 0}, {"b", 1, {1}, 0}}, LARGE, want_large, 4e-7
#define SUM(n) "def @main(%x: Tensor[(" n "), float32]) {\n  sum(%x, axis=[0])\n}\n"
#define NUMBERS {{"x", 1, {LONG}, 1}}, 1, want_sum, 4e-7
#define MORE_NUMBERS(bound) {{"x", 1, {10 * LONG}, 1}}, 1, want_longer, bound
static const row rows[] = {
    {"dense", DENSE("4", "16384", "16"), PRODUCT},
    {"dense, symbolic", DENSE("m", "k", "n"), PRODUCT},
    {"convolution", CONV("10", "10"), PIXELS},
    {"convolution, symbolic", CONV("h", "w"), PIXELS},
    {"softmax", SOFTMAX("4096", "33"), COLUMNS},
    {"softmax, symbolic", SOFTMAX("n", "m"), COLUMNS},
    {"layer normalisation, far from 0", NORM("4"), FAR},
    {"instance normalisation, far from 0", PICTURE("240", "240"), IMAGES},
    {"instance normalisation, far from 0, symbolic", PICTURE("h", "240"), IMAGES},
    {"sum", SUM("1000000"), NUMBERS},
    {"sum, symbolic", SUM("n"), NUMBERS},
    {"layer normalisation", NORM("4"), LINE},
    {"layer normalisation, symbolic", NORM("n"), LINE},
};
static const row slow_rows[] = {
    {"instance normalisation, large", PICTURE("720", "720"), LARGE_IMAGES(0)},
    {"instance normalisation, large, symbolic", PICTURE("h", "w"), LARGE_IMAGES(0)},
    {"instance normalisation, large and far from 0", PICTURE("720", "720"), LARGE_IMAGES(1e5)},
    {"instance normalisation, large and far from 0, symbolic", PICTURE("h", "w"), LARGE_IMAGES(1e5)},
    {"sum of 10^7", SUM("10000000"), MORE_NUMBERS(4e-7)},
    {"sum of 10^7, symbolic", SUM("n"), MORE_NUMBERS(5e-7)},
};
/* clang-format on */

static tenon_tensor make_input(const operand *o, uint64_t seed)
{
    tenon_tensor t = {.name = o->name, .code = 2, .bits = 32, .ndim = o->ndim};
    size_t n = 1;
    for (int d = 0; d < o->ndim; d++)
        n *= (size_t)(t.shape[d] = o->shape[d]);
    t.bytes = n * sizeof(float);
    float *x = aligned_alloc(64, (t.bytes + 63) / 64 * 64);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        double sum = o->offset;
        for (int k = 0; k < 3; k++) /* about normal, deviation 1 */
            sum += ((double)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 40) * 0x1p-24 -
                    0.5) *
                   2;
        x[i] = (float)sum;
    }
    t.data = x;
    return t;
}

static double error_of(const values *have, const double *want, int64_t n)
{
    const float *y = have->at[0].data;
    double worst = 0, largest = 0;
    if (have->n != 1 || have->at[0].bytes != (size_t)n * sizeof(float))
        return INFINITY;
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)y[i] - want[i]));
        largest = fmax(largest, fabs(want[i]));
    }
    return worst / largest;
}

static bool run_both(const row *r, int n, const tenon_tensor in[], values *flat, values *llvm, char *why)
{
    char path[64];
    snprintf(path, sizeof path, "e2e-sums-%d.relay", (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(r->text, f);
    assert_int_equal(fclose(f), 0);
    tnr_module *m = NULL;
    tenon_options o = {.size = sizeof(tenon_options), .target = "llvm", .opt_level = 3};
    bool ok = run_interpreter(path, &(tenon_options){.size = sizeof(tenon_options), .opt_level = 3}, "flat",
                              n, in, flat, why) &&
              run_compile(path, &o, &m, why) && run_module(m, TNR_EXECUTOR_AOT, 2, n, in, llvm, why) &&
              same_bits(llvm, flat, why);
    tnr_module_release(m);
    unlink(path);
    return ok;
}

static void check(const row *r)
{
    tenon_tensor in[3];
    const float *data[3];
    values flat = {0}, llvm = {0};
    char why[RUN_TEXT] = "";
    int n = 0;
    for (; n < 3 && r->in[n].name; n++) {
        in[n] = make_input(&r->in[n], (uint64_t)n + 1);
        data[n] = in[n].data;
    }
    double *want = malloc((size_t)r->n_out * sizeof *want);
    assert_non_null(want);
    r->want(data, want);
    bool ok = run_both(r, n, in, &flat, &llvm, why);
    double error = ok ? error_of(&llvm, want, r->n_out) : 0;
    free(want);
    values_free(&flat);
    values_free(&llvm);
    while (n > 0)
        free(in[--n].data);
    print_message("%s: %.2e\n", r->name, error);
    if (!ok || !(error <= r->bound))
        fail_msg("%s: error %g, at most %g; %s", r->name, error, r->bound, why);
}

static void errors_stay_small(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        check(&rows[r]);
    for (size_t r = 0; getenv("TENON_SLOW") && r < sizeof slow_rows / sizeof *slow_rows; r++)
        check(&slow_rows[r]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors_stay_small)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
