#ifndef TENON_BENCH_MEASURE_H
#define TENON_BENCH_MEASURE_H
/* What benchmarks of searches share: functions from a file of TIR, likely sizes, a measurer of one worker. */
#include "base/file.h"
#include "driver/driver.h"
#include "run.h"
#include "tune/search.h"

enum { LEAST_SYMBOL = 16 };

static inline size_t read_functions(bench *x, const char *path, size_t most, tn_func *out[])
{
    tn_file f;
    size_t n;
    if (tn_file_map(&x->ctx, path, &f) != TN_OK ||
        tn_func_parse(&x->ctx, &x->arena, &x->pool, path, (const char *)f.at, f.n, out, most, &n) != TN_OK)
        bench_fail(x, path);
    return n;
}

/* Symbols have the smallest value that they may have, but at least 16. */
static inline tn_workload load_of(bench *x, const tn_func *f)
{
    int64_t *sym = TN_NEW_N(&x->arena, int64_t, f->n_symbol);
    for (uint32_t i = 0; i < f->n_symbol; i++)
        sym[i] = f->symbol[i].min > LEAST_SYMBOL ? f->symbol[i].min : LEAST_SYMBOL;
    return (tn_workload){.func = f, .sym = sym};
}

static inline tn_measurer *open_measurer(bench *x, uint32_t n, const tn_workload load[])
{
    int error;
    const tn_measure_options o = {.machine = &x->machine,
                                  .generator = &tn_generator_llvm,
                                  .pipeline = &tn_pipeline_cpu,
                                  .feature = x->machine.feature,
                                  .n_feature = (uint32_t)x->machine.n_feature,
                                  .workers = 1,
                                  .threads = 1,
                                  .least_seconds = 0.01,
                                  .most_seconds = 60};
    tn_measurer *m = tn_measurer_new(&o, n, load, &error);
    if (!m)
        bench_fail(x, "no process can be started");
    return m;
}

#endif
