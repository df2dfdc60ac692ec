#ifndef TENON_TESTS_E2E_RUN_H
#define TENON_TESTS_E2E_RUN_H
/* A model through the whole compiler, over the public headers: interpreted at a stage, or compiled to a package and run. Include
 * cmocka.h first. Results are heap memory of the caller. */
#include "tenon/runtime.h"
#include "tenon/tenon.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { E2E_MAX = 16 };
typedef struct result { int n; void *at[E2E_MAX]; size_t bytes[E2E_MAX]; int ndim[E2E_MAX]; int64_t dim[E2E_MAX][8]; } result;
typedef struct way { const char *target; int executor, threads; } way; /* executor: enum tnr_executor */

static inline void result_free(result *r)
{
    for (int i = 0; i < r->n; i++)
        free(r->at[i]);
    r->n = 0;
}

static inline void result_add(result *r, const void *data, size_t bytes, int ndim, const int64_t *dim)
{
    assert_true(r->n < E2E_MAX && ndim <= 8);
    r->at[r->n] = malloc(bytes ? bytes : 1);
    assert_non_null(r->at[r->n]);
    memcpy(r->at[r->n], data, bytes);
    r->bytes[r->n] = bytes;
    r->ndim[r->n] = ndim;
    memcpy(r->dim[r->n++], dim, (size_t)ndim * sizeof *dim);
}

/* By the interpreter of a stage. NULL, or what went wrong. */
static inline const char *interpret(const char *model, const tenon_options *o, const char *stage, int n_in, const tenon_tensor in[], result *out)
{
    static char why[1024];
    tenon *t = tenon_new();
    int n = 0;
    const tenon_tensor *x;
    *why = 0;
    if (tenon_interpret(t, model, o, stage, n_in, in, &n, &x))
        snprintf(why, sizeof why, "%s: %s", stage, tenon_messages(t));
    for (int i = 0; i < n && !*why; i++)
        result_add(out, x[i].data, x[i].bytes, x[i].ndim, x[i].shape);
    tenon_free(t);
    return *why ? why : NULL;
}

static inline DLTensor as_dl(const tenon_tensor *t)
{
    return (DLTensor){.data = t->data, .device = {kDLCPU, 0}, .ndim = t->ndim, .dtype = {t->code, t->bits, 1}, .shape = (int64_t *)(uintptr_t)t->shape};
}

static inline int run_instance(tnr_module *m, const way *w, int n_in, const tenon_tensor in[], result *out, tnr_error *err)
{
    tnr_instance *i = NULL;
    tnr_instance_options o = {.executor = w->executor, .threads = w->threads};
    int bad = tnr_instance_new(m, &o, &i, err);
    for (int k = 0; k < n_in && !bad; k++) {
        DLTensor x = as_dl(&in[k]);
        bad = tnr_set_input(i, in[k].name, &x, err);
    }
    bad = bad || tnr_run(i, err);
    for (uint32_t k = 0; k < tnr_output_count(m) && !bad; k++) {
        DLTensor y;
        uint64_t bytes = 0;
        bad = tnr_get_output_at(i, k, &y, err) || tnr_tensor_bytes(y.dtype, y.ndim, y.shape, &bytes, err);
        if (!bad)
            result_add(out, y.data, bytes, y.ndim, y.shape);
    }
    tnr_instance_free(i);
    return bad;
}

/* Compiled once for w[0].target, run in each of the n ways; out has n results. */
static inline const char *run_package(const char *model, tenon_options o, int n, const way w[], int n_in, const tenon_tensor in[], result out[])
{
    static char why[1024];
    char path[64];
    tnr_error err = {0};
    tnr_module *m = NULL;
    tenon *t = tenon_new();
    *why = 0;
    snprintf(path, sizeof path, "e2e_%ld.tar", (long)getpid());
    o.target = w[0].target;
    if (tenon_compile(t, model, &o, path, NULL))
        snprintf(why, sizeof why, "%s: %s", o.target, tenon_messages(t));
    else if (tnr_module_open(path, NULL, &m, &err))
        snprintf(why, sizeof why, "%s: %s", o.target, err.message);
    for (int i = 0; i < n && !*why; i++)
        if (run_instance(m, &w[i], n_in, in, &out[i], &err))
            snprintf(why, sizeof why, "%s, executor %d: %s", o.target, w[i].executor, err.message);
    tnr_module_release(m);
    tenon_free(t);
    unlink(path);
    return *why ? why : NULL;
}

/* Largest difference over the largest expected value (at least 0.01): how a model is judged. */
static inline double worst(const float *have, const float *want, size_t n, size_t step)
{
    double diff = 0, top = 1e-2;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)have[i * step] - (double)want[i]);
        diff = !(d <= diff) ? d : diff;
        top = fabs((double)want[i]) > top ? fabs((double)want[i]) : top;
    }
    return diff / top;
}

static inline int same_bits(const result *a, const result *b)
{
    int same = a->n == b->n;
    for (int i = 0; i < a->n && same; i++)
        same = a->bytes[i] == b->bytes[i] && memcmp(a->at[i], b->at[i], a->bytes[i]) == 0;
    return same;
}

#endif
