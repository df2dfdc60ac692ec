#ifndef TENON_TESTS_SCHEDULE_RUN_H
#define TENON_TESTS_SCHEDULE_RUN_H
/* Schedules in tests: functions from TIR text or from Relay text (through the graph passes, so with the
 * layouts a machine asks for), traces, and running two forms of one function on the same integer-valued data.
 * Include cmocka.h first. */
#include "base/rng.h"
#include "driver/driver.h"
#include "ir/eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_build build;
    bool built;
} bench;

static inline void bench_init(bench *x)
{
    memset(x, 0, sizeof *x);
    tn_ctx_init(&x->ctx);
    tn_arena_init(&x->arena);
    tn_pool_init(&x->pool, &x->ctx, &x->arena, NULL);
}

static inline void bench_deinit(bench *x)
{
    if (x->built)
        tn_build_deinit(&x->build);
    tn_arena_deinit(&x->arena);
    tn_ctx_deinit(&x->ctx);
}

/* Diagnostics so far, in the bench's arena. */
static inline const char *diags(bench *x)
{
    tn_buf b = {0};
    tn_diag_print_all(&x->ctx, &b);
    const char *s = tn_arena_strdup(&x->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

static inline tn_func *read_func(bench *x, const char *text)
{
    tn_func *f = NULL;
    size_t n;
    if (tn_func_parse(&x->ctx, &x->arena, &x->pool, "t.tir", text, strlen(text), &f, 1, &n) != TN_OK ||
        n != 1)
        fail_msg("%s\n%s", text, diags(x));
    if (tn_func_verify(f) != TN_OK)
        fail_msg("%s\n%s", text, diags(x));
    return f;
}

static inline const char *func_text(bench *x, const tn_func *f)
{
    tn_buf b = {0};
    tn_func_print(f, &b);
    const char *s = tn_arena_strdup(&x->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

static inline const char *trace_text(bench *x, const tn_sched *s)
{
    tn_buf b = {0};
    tn_trace_print(s, &b);
    const char *t = tn_arena_strdup(&x->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return t;
}

static inline void machine_named(bench *x, const char *name, tn_machine *out)
{
    const char *root = getenv("TENON_SOURCE_DIR");
    const char *path = tn_arena_printf(&x->arena, "%s/tests/machines/%s.json", root ? root : "../..", name);
    if (tn_machine_read(&x->ctx, path, out) != TN_OK)
        fail_msg("%s", diags(x));
}

/* Data for the float32 constants of a module's text, each written once, in order of k, as meta[relay.Constant][k] and a
 * comment with name and shape. */
static inline const tn_blob *const *constants(bench *x, const char *relay, size_t *out_n)
{
    enum { MAX = 16 };
    const tn_blob **blob = TN_NEW_N(&x->arena, const tn_blob *, MAX);
    tn_rng r = {11};
    *out_n = 0;
    for (const char *c = relay; (c = strstr(c, "meta[relay.Constant][")) != NULL;) {
        size_t n = 1;
        assert_true(*out_n < MAX);
        for (c = strchr(c, '(') + 1; c[-1] != ')'; c += strcspn(c, ",)") + 1)
            n *= (size_t)strtoul(c, NULL, 10);
        float *at = TN_NEW_N(&x->arena, float, n);
        for (size_t i = 0; i < n; i++)
            at[i] = (float)((int)(tn_rng_next(&r) >> 20 & 7) - 4);
        tn_blob *b = TN_NEW(&x->arena, tn_blob);
        *b = (tn_blob){.at = at, .n = n * sizeof *at};
        blob[(*out_n)++] = b;
    }
    return blob;
}

/* The groups of a Relay module after the graph passes for `machine`, as functions of blocks. */
static inline uint32_t read_groups(bench *x, const char *relay, const char *machine)
{
    tenon_options o = {.size = sizeof(tenon_options), .opt_level = 3};
    tn_build *b = &x->build;
    tn_build_init(b, &x->ctx, &o);
    x->built = true;
    machine_named(x, machine, &b->machine);
    size_t n;
    const tn_blob *const *blob = constants(x, relay, &n);
    if (tn_relay_parse(&b->graph, "t.relay", relay, strlen(relay),
                       &(tn_relay_metadata){.constant = blob, .n_constant = n}) != TN_OK ||
        tn_stage_graph(b) != TN_OK || tn_stage_tir(b) != TN_OK)
        fail_msg("%s\n%s", relay, diags(x));
    return (uint32_t)b->groups.n;
}

/* ---- running ---- */

static inline size_t buffer_bytes(const tn_func *f, uint32_t buffer, const int64_t *sym)
{
    const tn_buffer *b = &f->buffer[buffer];
    const tn_expr *dim[TN_LAYOUT_MAX_AXES], *from[16], *to[16];
    size_t n = tn_dtype_bytes(b->dtype);
    for (uint32_t i = 0; i < f->n_symbol; i++) {
        from[i] = tn_sym(f->pool, f->symbol[i].name);
        to[i] = tn_idx(f->pool, sym[i]);
    }
    tn_layout_dims(f->pool, b->layout, b->ndim, b->dim, dim);
    for (int d = 0; d < tn_layout_naxis(b->layout, b->ndim); d++) {
        int64_t v = 0;
        assert_true(
            tn_is_int(tn_simplify(f->pool, NULL, tn_subst(f->pool, dim[d], (int)f->n_symbol, from, to)), &v));
        n *= (size_t)v;
    }
    return n;
}

/* Integers in [-4, 4], so that sums do not depend on their order; outputs begin as a pattern that must not stay. */
static inline void fill(tn_dtype t, void *at, size_t bytes, bool output, tn_rng *r)
{
    size_t size = tn_dtype_bytes(t), n = bytes / size;
    for (size_t i = 0; i < n; i++) {
        double v = output ? 77 : (double)(int)(tn_rng_next(r) >> 20 & 7) - 4;
        tn_scalar s = tn_dtype_is_float(t) ? (tn_scalar){.f = v} : (tn_scalar){.i = (int64_t)v};
        if (tn_dtype_is_bool(t))
            s.i = v > 0;
        tn_scalar_write(t, (char *)at + i * size, s);
    }
}

static inline void **arguments(bench *x, const tn_func *f, const int64_t *sym, uint64_t seed)
{
    void **arg = TN_NEW_N(&x->arena, void *, f->n_param);
    tn_rng r = {seed};
    for (uint32_t i = 0; i < f->n_param; i++) {
        const tn_buffer *b = &f->buffer[f->param[i]];
        size_t n = buffer_bytes(f, f->param[i], sym);
        arg[i] = tn_arena_alloc(&x->arena, n + 64, 64);
        fill(b->dtype, arg[i], n, b->written, &r);
    }
    return arg;
}

/* Cells of outputs beyond the logical shape are nobody's: compared are logical cells, through the relayout to
 * row-major. */
static inline bool same_output(bench *x, const tn_func *f, uint32_t param, const int64_t *sym, void *a,
                               void *b, double tolerance)
{
    const tn_buffer *buf = &f->buffer[f->param[param]];
    const tn_expr *from[16], *to[16];
    for (uint32_t i = 0; i < f->n_symbol; i++) {
        from[i] = tn_sym(f->pool, f->symbol[i].name);
        to[i] = tn_idx(f->pool, sym[i]);
    }
    tn_tensor_value v[2] = {{.dtype = buf->dtype, .ndim = buf->ndim, .at = a, .borrowed = true},
                            {.dtype = buf->dtype, .ndim = buf->ndim, .at = b, .borrowed = true}},
                    row[2];
    for (int k = 0; k < 2; k++) {
        v[k].n = buffer_bytes(f, f->param[param], sym);
        for (int d = 0; d < buf->ndim; d++)
            assert_true(tn_is_int(
                tn_simplify(f->pool, NULL, tn_subst(f->pool, buf->dim[d], (int)f->n_symbol, from, to)),
                &v[k].dim[d]));
        assert_int_equal(tn_relay_relayout(&x->ctx, &v[k], buf->layout, NULL, &row[k]), TN_OK);
    }
    size_t size = tn_dtype_bytes(buf->dtype);
    bool same = true;
    for (size_t i = 0; same && i < row[0].n / size; i++) {
        tn_scalar p = tn_scalar_read(buf->dtype, (char *)row[0].at + i * size),
                  q = tn_scalar_read(buf->dtype, (char *)row[1].at + i * size);
        double want = tn_dtype_is_float(buf->dtype) ? p.f : (double)p.i,
               got = tn_dtype_is_float(buf->dtype) ? q.f : (double)q.i;
        same = got == want || fabs(got - want) <= tolerance * fabs(want) || (isnan(got) && isnan(want));
        if (!same)
            fprintf(stderr, "element %zu of %s is %.9g, expected %.9g\n", i, buf->name, got, want);
    }
    tn_tensor_value_deinit(&row[0]);
    tn_tensor_value_deinit(&row[1]);
    return same;
}

/* f and g (another form of it) give the same on the same data; tolerance: relative, 0 for sums of integers. */
static inline bool same_results(bench *x, const tn_func *f, const tn_func *g, const int64_t *sym,
                                uint64_t seed, double tolerance)
{
    void **a = arguments(x, f, sym, seed), **b = arguments(x, f, sym, seed);
    if (tn_func_run(f, a, sym) != TN_OK || tn_func_run(g, b, sym) != TN_OK) {
        fprintf(stderr, "%s", diags(x));
        return false;
    }
    bool same = true;
    for (uint32_t i = 0; i < f->n_param; i++)
        if (f->buffer[f->param[i]].written)
            same &= same_output(x, f, i, sym, a[i], b[i], tolerance);
    return same;
}

#endif
