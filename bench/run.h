#ifndef TENON_BENCH_RUN_H
#define TENON_BENCH_RUN_H
/* What the benchmarks share: a function from TIR text, scheduled by its built-in rule or a trace, compiled in this
 * process and run by the runtime; the multiply-add peak of the same core at the same time; minimum and median. */
#include "codegen/codegen.h"
#include "target/target.h"
#include "launch/kernel.h"
#include "schedule/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct kernel {
    tn_jit *jit;
    const char *trace; /* text; NULL: not scheduled */
    const tn_func *f;  /* flat */
    tn_kernel_use use;
    tn_kernel_runner *runner;
} kernel;

typedef struct bench {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_machine machine;
    const tn_llvm_api *llvm;
} bench;

_Noreturn static inline void bench_fail(bench *x, const char *what)
{
    tn_buf b = {0};
    tn_diag_print_all(&x->ctx, &b);
    fprintf(stderr, "%s\n%s", what, tn_buf_cstr(&b));
    exit(1);
}

static inline void bench_init(bench *x)
{
    memset(x, 0, sizeof *x);
    tn_ctx_init(&x->ctx);
    tn_arena_init(&x->arena);
    tn_pool_init(&x->pool, &x->ctx, &x->arena, NULL);
    if (tn_machine_detect(&x->ctx, &x->machine) != TN_OK || tn_llvm_open(&x->ctx, &x->llvm) != TN_OK)
        bench_fail(x, "no machine or no code generator");
}

static inline double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void *aligned(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p)
        abort();
    memset(p, 0, bytes);
    return p;
}

static inline tn_func *parse(bench *x, const char *text)
{
    tn_func *f;
    size_t n;
    if (tn_func_parse(&x->ctx, &x->arena, &x->pool, "bench.tir", text, strlen(text), &f, 1, &n) != TN_OK ||
        n != 1)
        bench_fail(x, "not one TIR function");
    return f;
}

/* A copy of f by the trace (NULL: the built-in rule); *out_trace: all steps as text. */
static inline tn_func *schedule(bench *x, const tn_func *f, const char *trace, const char **out_trace)
{
    tn_sched s;
    if (trace) {
        tn_sched_init(&s, f, &x->arena, &x->pool);
        uint32_t line = 0;
        tn_verdict v = tn_trace_replay(&s, trace, strlen(trace), &line);
        if (v != TN_DONE)
            bench_fail(x, tn_arena_printf(&x->arena, "line %u of the trace: %s", line, tn_verdict_texts[v]));
    } else {
        tn_rule_apply(&s, f, &x->machine, NULL, &x->arena, &x->pool);
    }
    tn_buf b = {0};
    tn_trace_print(&s, &b);
    *out_trace = tn_arena_strdup(&x->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s.func;
}

/* Makes it ready for calls with these symbols on this many threads. */
static inline void kernel_open(bench *x, kernel *k, const int64_t *sym, uint32_t threads)
{
    uint64_t *bytes = TN_NEW_N(&x->arena, uint64_t, k->f->n_param);
    tnr_error err = {.message = "a parameter is too large"};
    k->use.bytes = bytes;
    k->use.sym = sym;
    k->use.threads = (int32_t)threads;
    k->runner = tn_func_parameter_bytes(k->f, sym, bytes) ? tn_kernel_open(&k->use, &err) : NULL;
    if (!k->runner)
        bench_fail(x, err.message);
}

/* Lowers f in place and makes its code. */
static inline kernel generate(bench *x, tn_func *f)
{
    tn_flat *flat = TN_NEW(&x->arena, tn_flat);
    if (tn_func_verify(f) != TN_OK || tn_lower(f, &x->machine, &tn_pipeline_cpu, flat) != TN_OK)
        bench_fail(x, "lowering failed");
    tn_kernel_ir *k = TN_NEW(&x->arena, tn_kernel_ir);
    *k = (tn_kernel_ir){.name = f->name, .source = "", .n_variant = 1, .variant = flat};
    for (uint32_t i = 0; i < f->n_param; i++)
        *(f->buffer[f->param[i]].written ? &k->n_out : &k->n_in) += 1;
    tn_unit u = {.ctx = &x->ctx,
                 .name = "bench",
                 .producer = "bench",
                 .target = "llvm",
                 .feature = x->machine.feature,
                 .n_feature = (uint32_t)x->machine.n_feature,
                 .n_kernel = 1,
                 .kernel = k};
    tn_code_options o = {.opt_level = 3};
    const tn_library *lib;
    kernel out = {0};
    if (getenv("BENCH_ASM")) {
        tn_buf code = {0};
        if (x->llvm->emit(&u, &o, TN_LLVM_ASM, &code) == TN_OK)
            fputs(tn_buf_cstr(&code), stdout);
        tn_buf_deinit(&code);
    }
    if (x->llvm->jit(&u, &o, &out.jit, &lib) != TN_OK)
        bench_fail(x, "code generation failed");
    out.f = f;
    out.use = (tn_kernel_use){.library = lib, .node = f->name};
    return out;
}

/* For calls without symbols on one thread; trace NULL: the built-in rule. */
static inline kernel compile(bench *x, const char *text, const char *trace)
{
    const char *steps;
    kernel k = generate(x, schedule(x, parse(x, text), trace, &steps));
    k.trace = steps;
    kernel_open(x, &k, NULL, 1);
    return k;
}

static inline void ended(tnr_status failed, const tnr_error *err)
{
    if (!failed)
        return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

/* One call. */
static inline void run(const kernel *k, void *const *arg)
{
    tnr_error err;
    ended(tn_kernel_run(k->runner, arg, &err), &err);
}

/* One more on the same arguments: what is timed. */
static inline void run_again(const kernel *k)
{
    tnr_error err;
    ended(tn_kernel_again(k->runner, &err), &err);
}

/* ---- the peak: independent multiply-adds on registers ---- */

enum { PEAK_STEPS = 20000, PEAK_CHAINS = 12 };
typedef struct peak {
    kernel k;
    void *arg[3];
    double flops;
} peak;

static inline peak peak_of(bench *x)
{
    int lanes = (int)(x->machine.vector_bits / 32);
    tn_buf t = {0};
    tn_buf_printf(&t,
                  "func @peak(x: f32[%d], y: f32[%d]) -> (out: f32[%d, %d]) {\n"
                  "  for i < %d, j < %d, k < %d:\n"
                  "    block out(i: spatial, j: spatial, k: reduce):\n"
                  "      init out[i, j] = 1\n"
                  "      out[i, j] = out[i, j] * x[j] + y[j]\n"
                  "}\n",
                  lanes, lanes, PEAK_CHAINS, lanes, PEAK_CHAINS, lanes, PEAK_STEPS);
    const char *steps = "cache_write \"out\" global\n"
                        "i j k = loops \"out\"\n"
                        "to ti = split i 12\n"
                        "reorder to k ti j\n"
                        "reverse_compute_at \"out.out\" to\n"
                        "_ ci cj = loops \"out.out\"\n"
                        "decompose_reduction \"out\" k\n"
                        "_ zi zj = loops \"out.init\"\n"
                        "set_scope \"out\" register\n"
                        "vectorize j cj zj\n"
                        "unroll ti ci zi\n"
                        "parallel to\n";
    peak p = {.k = compile(x, tn_buf_cstr(&t), steps), .flops = 2.0 * PEAK_STEPS * PEAK_CHAINS * lanes};
    tn_buf_deinit(&t);
    for (int i = 0; i < 3; i++)
        p.arg[i] = aligned((size_t)(i < 2 ? 1 : PEAK_CHAINS) * (size_t)lanes * sizeof(float));
    for (int i = 0; i < lanes; i++)
        ((float *)p.arg[0])[i] = 0.5f + 0.01f * (float)i, ((float *)p.arg[1])[i] = 0.3f;
    run(&p.k, p.arg);
    return p;
}

/* 10^9 operations/s, once. */
static inline double peak_run(const peak *p)
{
    double t = seconds();
    run_again(&p->k);
    return p->flops / (seconds() - t) * 1e-9;
}

/* ---- statistics ---- */

static inline int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct stats {
    double min, median;
} stats; /* seconds */

static inline stats stats_of(double *t, size_t n)
{
    qsort(t, n, sizeof *t, by_value);
    return (stats){t[0], t[n / 2]};
}

#endif
