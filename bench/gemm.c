/* bench_gemm: float32 products by the built-in rule, one thread, as a share of the multiply-add peak of this core.
 *
 *   bench_gemm [M N K [runs [trace]]]     default 512 512 512, 400 runs, the rule's trace; trace: a file
 *
 * The weight lies in panels of two vectors (layout NK32n on 512-bit machines), as in a compiled model. The
 * peak is measured between the runs, so both see the same clock; the best of each is compared. The result is
 * checked against plain loops.
 */
#include "base/file.h"
#include "run.h"

#include <math.h>

typedef struct {
    int64_t m, n, k;
    int panel;
    float *a, *w, *out;
} gemm;

static size_t weight_at(const gemm *g, int64_t n, int64_t k)
{
    return (size_t)((n / g->panel * g->k + k) * g->panel + n % g->panel);
}

static void fill(gemm *g)
{
    uint32_t s = 1;
    for (int64_t i = 0; i < g->m * g->k; i++)
        g->a[i] = (float)((s = s * 1664525 + 1013904223) >> 8) * 0x1p-24f - 0.5f;
    for (int64_t i = 0; i < g->n; i++)
        for (int64_t k = 0; k < g->k; k++)
            g->w[weight_at(g, i, k)] = (float)((s = s * 1664525 + 1013904223) >> 8) * 0x1p-24f - 0.5f;
}

/* Largest difference from loops in double. */
static double check(const gemm *g)
{
    double worst = 0;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < g->k; k++)
                sum += (double)g->a[i * g->k + k] * (double)g->w[weight_at(g, j, k)];
            worst = fmax(worst, fabs(sum - (double)g->out[i * g->n + j]));
        }
    return worst;
}

static const char *read_text(bench *x, const char *path)
{
    tn_file f;
    if (tn_file_map(&x->ctx, path, &f) != TN_OK)
        bench_fail(x, path);
    return tn_arena_strndup(&x->arena, (const char *)f.at, f.n);
}

int main(int argc, char **argv)
{
    bench x;
    bench_init(&x);
    gemm g = {.m = argc > 3 ? atoll(argv[1]) : 512,
              .n = argc > 3 ? atoll(argv[2]) : 512,
              .k = argc > 3 ? atoll(argv[3]) : 512,
              .panel = (int)(2 * x.machine.vector_bits / 32)};
    size_t runs = argc > 4 ? (size_t)atoll(argv[4]) : 400;
    int64_t padded = (g.n + g.panel - 1) / g.panel * g.panel;
    g.a = aligned((size_t)(g.m * g.k) * sizeof(float));
    g.w = aligned((size_t)(padded * g.k) * sizeof(float));
    g.out = aligned((size_t)(g.m * g.n) * sizeof(float));
    fill(&g);
    tn_buf t = {0};
    tn_buf_printf(&t,
                  "func @gemm(A: f32[%lld, %lld], W: f32[%lld, %lld, NK%dn]) -> (out: f32[%lld, %lld]) {\n"
                  "  for i < %lld, j < %lld, k < %lld:\n"
                  "    block out(i: spatial, j: spatial, k: reduce) tag \"dense\":\n"
                  "      init out[i, j] = 0\n"
                  "      out[i, j] = out[i, j] + A[i, k] * W[j, k]\n"
                  "}\n",
                  (long long)g.m, (long long)g.k, (long long)g.n, (long long)g.k, g.panel, (long long)g.m,
                  (long long)g.n, (long long)g.m, (long long)g.n, (long long)g.k);
    double start = seconds();
    kernel k = compile(&x, tn_buf_cstr(&t), argc > 5 ? read_text(&x, argv[5]) : NULL);
    double compiled = seconds() - start;
    peak p = peak_of(&x);
    void *arg[3] = {g.a, g.w, g.out};
    double *time = malloc(runs * sizeof *time), top = 0,
           flops = 2.0 * (double)g.m * (double)g.n * (double)g.k;
    run(&k, arg);
    for (size_t i = 0; i < runs; i++) {
        if (i % 8 == 0)
            top = fmax(top, peak_run(&p));
        double from = seconds();
        run_again(&k);
        time[i] = seconds() - from;
    }
    stats s = stats_of(time, runs);
    printf("%s", k.trace);
    printf("gemm %lldx%lldx%lld float32, 1 thread, %zu runs, %s: %d-bit vectors, compiled in %.1f ms\n",
           (long long)g.m, (long long)g.n, (long long)g.k, runs, x.machine.name, (int)x.machine.vector_bits,
           compiled * 1e3);
    printf("  min    %8.1f us  %6.1f GFLOP/s  %5.1f %% of the peak\n", s.min * 1e6, flops / s.min * 1e-9,
           flops / s.min * 1e-7 / top);
    printf("  median %8.1f us  %6.1f GFLOP/s  %5.1f %%\n", s.median * 1e6, flops / s.median * 1e-9,
           flops / s.median * 1e-7 / top);
    printf("  peak of multiply-adds, measured between the runs: %.1f GFLOP/s\n", top);
    double worst = check(&g), limit = 1e-6 * (double)g.k;
    printf("  largest error %.2g (limit %.2g)\n", worst, limit);
    return worst <= limit ? 0 : 1;
}
