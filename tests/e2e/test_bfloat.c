/* Products of bfloat16 that are summed in float32: those that nn.dense of float32 becomes, and those whose denormals
 * may count as 0. Errors against sums in double, within the bound of docs/numbers.md, for operands of every size,
 * infinities and NaN. As the alternative of a machine that multiplies tiles of bfloat16, by the
 * interpreters, where tiles add in their own order; its operators, and pairs, by code for this machine, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "e2e/run.h"

enum { ROWS = 120, K = 30, EACH = 32, N = 400, ODD = 29 };
enum kind { NORMAL, LARGE, LARGEST, TINY, DENORMAL, WIDE_ROWS, WIDE, SPECIAL, N_KINDS };

static const char *const kinds[] = {"normal",   "large",     "largest", "tiny",
                                    "denormal", "wide rows", "wide",    "special"};

static const char *const chosen = "def @main(%x: Tensor[(120, 30), float32]) {\n"
                                  "  %0 = reshape(arange(1f, 1f, count=12000), newshape=[400, 30]);\n"
                                  "  %1 = multiply(sin(%0), 0.05f);\n"
                                  "  %2 = nn.dense(%x, %1);\n"
                                  "  (%2, %1)\n"
                                  "}\n";
static const char *const written =
    "def @main(%x: Tensor[(120, 30), float32], %w: Tensor[(400, 96), bfloat16]) {\n"
    "  %0 = nn.bfloat_scale(%x);\n"
    "  %1 = nn.bfloat_parts(%x, %0);\n"
    "  %2 = nn.bfloat_dense(%1, %w);\n"
    "  multiply(%2, %0)\n"
    "}\n";

static const char *const paired = "def @main(%x: Tensor[(120, 29), float32]) {\n"
                                  "  %0 = cast(%x, dtype=\"bfloat16\");\n"
                                  "  %1 = reshape(arange(1f, 1f, count=11600), newshape=[400, 29]);\n"
                                  "  %2 = cast(multiply(sin(%1), 0.05f), dtype=\"bfloat16\");\n"
                                  "  %3 = nn.dense(%0, %2, out_dtype=\"float32\");\n"
                                  "  (%3, cast(%2, dtype=\"float32\"), cast(%0, dtype=\"float32\"))\n"
                                  "}\n";

static uint64_t seed = 20261129;

static double draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 40) * 0x1p-24 - 0.5;
}

static double normal(void) { return 2 * (draw() + draw() + draw()); }

static double power(void) { return ldexp(1, (int)(draw() * 250)); }

static void fill(enum kind kind, float x[ROWS * K])
{
    for (int i = 0; i < ROWS; i++) {
        double row = power();
        for (int k = 0; k < K; k++) {
            double v = normal(), sparse = draw() < -0.49 ? 3.4e38 : 0;
            double of[] = {v,           v * 1e30, v < 0 ? -sparse : sparse, v * 1e-38, v * 1e-43, v * row,
                           v * power(), v};
            x[i * K + k] = (float)of[kind];
        }
    }
    for (int i = 0; kind == SPECIAL && i < 9; i++)
        x[(7 + 12 * i) * K + 3 * i] = (float)(i % 3 == 0 ? INFINITY : i % 3 == 1 ? -INFINITY : NAN);
}

/* What the sum is in double, and the sum of sizes. */
static double sum_of(const float *x, const float *w, int terms, double *sizes)
{
    double sum = 0;
    *sizes = 0;
    for (int k = 0; k < terms; k++) {
        sum += (double)x[k] * (double)w[k];
        *sizes += fabs((double)x[k] * (double)w[k]);
    }
    return sum;
}

static bool is_right(double have, double want, double sizes)
{
    if (!isfinite(want) || !isfinite((double)(float)want))
        return isnan(want) ? isnan(have) : have == (double)(float)want;
    return fabs(have - want) <= (K + 3) * 0x1p-24 * sizes + 0x1p-149;
}

static void check(const float *x, const float *w, int terms, const tenon_tensor *y, const char *how,
                  enum kind kind)
{
    const float *have = y->data;
    assert_int_equal(y->bytes, ROWS * N * sizeof(float));
    for (int i = 0; i < ROWS * N; i++) {
        double sizes, want = sum_of(x + i / N * terms, w + i % N * terms, terms, &sizes);
        if (!is_right((double)have[i], want, sizes))
            fail_msg("%s, %s: element %d is %.9g, not %.9g", how, kinds[kind], i, (double)have[i], want);
    }
}

static char *write_text(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "e2e-bfloat-%d.relay", (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    return path;
}

static tenon_tensor input(float x[ROWS * K])
{
    return (tenon_tensor){
        .name = "x", .code = 2, .bits = 32, .ndim = 2, .shape = {ROWS, K}, .bytes = ROWS * K * 4, .data = x};
}

static void tiles_are_exact(void **state)
{
    static const struct {
        enum kind kind;
        const char *stage;
    } row[] = {{SPECIAL, "tir"}, {SPECIAL, "flat"}, {LARGEST, "flat"}, {DENORMAL, "flat"}, {WIDE, "flat"}};
    static float x[ROWS * K];
    char why[RUN_TEXT] = "", machine[1024];
    (void)state;
    snprintf(machine, sizeof machine, "%s/tests/machines/amx.json", getenv("TENON_SOURCE_DIR"));
    const tenon_options o = {.size = sizeof o, .machine_file = machine, .opt_level = 3};
    const char *path = write_text(chosen);
    for (size_t i = 0; i < sizeof row / sizeof *row; i += RUN_FEWER ? 4 : 1) {
        values out = {0};
        fill(row[i].kind, x);
        const tenon_tensor in = input(x);
        if (!run_interpreter(path, &o, row[i].stage, 1, &in, &out, why))
            fail_msg("%s", why);
        check(x, out.at[1].data, K, &out.at[0], row[i].stage, row[i].kind);
        values_free(&out);
    }
    unlink(path);
}

/* The three parts of w, each the nearest to what is left. */
static void split(const float w[N * K], uint16_t parts[N * 3 * EACH])
{
    for (int i = 0; i < N * K; i++) {
        float left = w[i];
        for (int p = 0; p < 3; p++) {
            uint32_t bits;
            memcpy(&bits, &left, 4);
            bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;         /* ties to even here */
            parts[(i / K * 3 + p) * EACH + i % K] = (uint16_t)(bits >> 16); /* K is below 32 */
            float part;
            memcpy(&part, &bits, 4);
            left -= part;
        }
        assert_true(left == 0);
    }
}

static void code_is_exact(void **state)
{
    static float x[ROWS * K], w[N * K];
    static uint16_t parts[N * 3 * EACH];
    char why[RUN_TEXT] = "";
    tnr_module *m = NULL;
    (void)state;
    for (int i = 0; i < N * K; i++)
        w[i] = (float)((normal() + 1e-6) * ldexp(1, i % 2 ? 0 : (int)(draw() * 20)));
    split(w, parts);
    const tenon_options o = {.size = sizeof o, .target = "llvm", .opt_level = 3};
    const char *path = write_text(written);
    if (!run_compile(path, &o, &m, why))
        fail_msg("%s", why);
    for (int kind = 0; kind < N_KINDS; kind++) {
        values out = {0}, flat = {0};
        fill((enum kind)kind, x);
        const tenon_tensor in[2] = {input(x),
                                    {.name = "w",
                                     .code = 4,
                                     .bits = 16,
                                     .ndim = 2,
                                     .shape = {N, 3 * EACH},
                                     .bytes = sizeof parts,
                                     .data = parts}};
        if (!run_module(m, TNR_EXECUTOR_AOT, 2, 2, in, &out, why))
            fail_msg("%s", why);
        check(x, w, K, &out.at[0], "llvm", (enum kind)kind);
        if (kind == NORMAL &&
            (!run_interpreter(path, &o, "flat", 2, in, &flat, why) || !same_bits(&out, &flat, why)))
            fail_msg("%s", why);
        values_free(&out);
        values_free(&flat);
    }
    tnr_module_release(m);
    unlink(path);
}

/* Rows have an odd number of terms: what follows the last one of a row, the first of the next, may be an infinity. */
static void pairs_are_exact(void **state)
{
    static const enum kind kind[] = {NORMAL, SPECIAL};
    static const char *const config[] = {"tenon.flush_denormals=1", NULL};
    static float x[ROWS * K];
    char why[RUN_TEXT] = "", machine[1024];
    tnr_module *m = NULL;
    (void)state;
    snprintf(machine, sizeof machine, "%s/tests/machines/avx512.json", getenv("TENON_SOURCE_DIR"));
    const tenon_options here = {.size = sizeof here, .target = "llvm", .opt_level = 3, .pass_config = config};
    tenon_options there = here;
    there.machine_file = machine;
    const char *path = write_text(paired);
    if (!run_compile(path, &here, &m, why))
        fail_msg("%s", why);
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        values out = {0}, flat = {0};
        fill(kind[i], x);
        for (int r = 0; kind[i] == SPECIAL && r < ROWS; r += 9)
            x[r * ODD] = r % 2 ? INFINITY : NAN;
        tenon_tensor in = input(x);
        in.shape[1] = ODD;
        in.bytes = ROWS * ODD * 4;
        if (!run_module(m, TNR_EXECUTOR_AOT, 2, 1, &in, &out, why) ||
            !run_interpreter(path, &there, "flat", 1, &in, &flat, why))
            fail_msg("%s", why);
        check(out.at[2].data, out.at[1].data, ODD, &out.at[0], "llvm", kind[i]);
        check(flat.at[2].data, flat.at[1].data, ODD, &flat.at[0], "flat", kind[i]);
        values_free(&out);
        values_free(&flat);
    }
    tnr_module_release(m);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_are_exact), cmocka_unit_test(code_is_exact),
                                       cmocka_unit_test(pairs_are_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
