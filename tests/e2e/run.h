#ifndef TENON_TESTS_E2E_RUN_H
#define TENON_TESTS_E2E_RUN_H
/* Whole-pipeline runs in tests, over the public headers alone: a model through an interpreter, or through a package and
 * an executor of the runtime. Functions return false and say why in `why` (at least RUN_TEXT bytes), so that a test can
 * name the case. Tensors are tenon_tensor; what a `values` holds is the heap's. */
#include "tenon/runtime.h"
#include "tenon/tenon.h"

#include "sanitized.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUN_TEXT = 1024, RUN_VALUES = 16 };

/* Largest |difference| over max(largest |expected|, RUN_FLOOR) that float32 results may have against other systems' and
 * against operator-by-operator evaluation: sums are taken in another order, and with fma. */
#define RUN_TOLERANCE 1e-4
#define RUN_FLOOR 0.01

typedef struct values {
    int n;
    tenon_tensor at[RUN_VALUES];
} values;

__attribute__((format(printf, 2, 3))) static inline bool run_fail(char *why, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(why, RUN_TEXT, format, list);
    va_end(list);
    return false;
}

static inline void values_free(values *v)
{
    for (int i = 0; i < v->n; i++)
        free(v->at[i].data);
    v->n = 0;
}

/* Appends a copy; only type, shape and data of t count. */
static inline void values_add(values *v, const tenon_tensor *t)
{
    tenon_tensor *to = &v->at[v->n++];
    *to = *t;
    to->name = NULL;
    to->data = aligned_alloc(64, (t->bytes + 127) / 64 * 64);
    if (t->bytes)
        memcpy(to->data, t->data, t->bytes);
}

static inline bool same_type(const tenon_tensor *a, const tenon_tensor *b)
{
    bool same = a->code == b->code && a->bits == b->bits && a->ndim == b->ndim && a->bytes == b->bytes;
    for (int d = 0; same && d < a->ndim; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

/* ---- comparing ---- */

static inline bool same_bits(const values *a, const values *b, char *why)
{
    if (a->n != b->n)
        return run_fail(why, "%d outputs against %d", a->n, b->n);
    for (int i = 0; i < a->n; i++) {
        const uint8_t *x = a->at[i].data, *y = b->at[i].data;
        size_t k = 0, width = a->at[i].bits < 8 ? 1u : a->at[i].bits / 8u;
        if (!same_type(&a->at[i], &b->at[i]))
            return run_fail(why, "output %d has another type or shape", i);
        while (k < a->at[i].bytes && x[k] == y[k])
            k++;
        if (k < a->at[i].bytes)
            return run_fail(why, "output %d: element %zu has other bits", i, k / width);
    }
    return true;
}

/* IEEE 754 binary16 */
static inline double value_of_half(uint16_t h)
{
    int e = h >> 10 & 31;
    double m = e == 0 ? ldexp(h & 1023, -24) : ldexp((h & 1023) | 1024, e - 25);
    if (e == 31)
        m = h & 1023 ? (double)NAN : (double)INFINITY;
    return h & 0x8000 ? -m : m;
}

static inline double value_at(const tenon_tensor *t, size_t i)
{
    const void *at = t->data;
    switch (t->code << 8 | t->bits) {
    case 0 << 8 | 8: return ((const int8_t *)at)[i];
    case 0 << 8 | 16: return ((const int16_t *)at)[i];
    case 0 << 8 | 32: return ((const int32_t *)at)[i];
    case 0 << 8 | 64: return (double)((const int64_t *)at)[i];
    case 1 << 8 | 16: return ((const uint16_t *)at)[i];
    case 1 << 8 | 32: return ((const uint32_t *)at)[i];
    case 1 << 8 | 64: return (double)((const uint64_t *)at)[i];
    case 2 << 8 | 16: return value_of_half(((const uint16_t *)at)[i]);
    case 2 << 8 | 32: return (double)((const float *)at)[i];
    case 2 << 8 | 64: return ((const double *)at)[i];
    case 4 << 8 | 16: {
        uint32_t bits = (uint32_t)((const uint16_t *)at)[i] << 16;
        float f;
        memcpy(&f, &bits, 4);
        return (double)f;
    }
    default: return ((const uint8_t *)at)[i];
    }
}

/* Half floats are given a unit in their last place or two. */
static inline double tolerance_of(const tenon_tensor *t)
{
    if (t->bits != 16 || (t->code != 2 && t->code != 4))
        return RUN_TOLERANCE;
    return t->code == 4 ? 1.6e-2 : 2e-3;
}

/* Complex numbers as the floats that their parts are; others as they are. */
static inline tenon_tensor parts_of(const tenon_tensor *t)
{
    tenon_tensor parts = *t;
    if (t->code == 5) {
        parts.code = 2;
        parts.bits = t->bits / 2;
    }
    return parts;
}

/* Is `have`, of which every `step`th element counts, `want` within RUN_TOLERANCE? */
static inline bool is_near(const tenon_tensor *have, const tenon_tensor *want, size_t step, char *why)
{
    const tenon_tensor x = parts_of(have), y = parts_of(want);
    size_t width = y.bits < 8 ? 1 : y.bits / 8u, n = y.bytes / width, worst = 0;
    double largest = RUN_FLOOR, off = 0;
    if (have->code != want->code || have->bits != want->bits)
        return run_fail(why, "type %d/%d, expected %d/%d", have->code, have->bits, want->code, want->bits);
    if (step == 1 ? !same_type(have, want) : (have->bytes / width + step - 1) / step != n)
        return run_fail(why, "%zu bytes or another shape; expected %zu bytes", have->bytes, want->bytes);
    for (size_t i = 0; i < n; i++) {
        double a = value_at(&x, i * step), b = value_at(&y, i);
        double d = a == b || (isnan(a) && isnan(b)) ? 0 : isfinite(a - b) ? fabs(a - b) : INFINITY;
        largest = isfinite(b) && fabs(b) > largest ? fabs(b) : largest;
        if (d > off) {
            off = d;
            worst = i;
        }
    }
    return off <= tolerance_of(&y) * largest
               ? true
               : run_fail(why, "element %zu is %.9g, not %.9g; largest expected %.9g", worst * step,
                          value_at(&x, worst * step), value_at(&y, worst), largest);
}

static inline bool all_near(const values *have, const values *want, size_t step, char *why)
{
    char text[RUN_TEXT];
    if (have->n != want->n)
        return run_fail(why, "%d outputs, expected %d", have->n, want->n);
    for (int i = 0; i < have->n; i++)
        if (!is_near(&have->at[i], &want->at[i], step, text))
            return run_fail(why, "output %d: %.900s", i, text);
    return true;
}

/* ---- running ---- */

/* The model at `path` in a session of its own; NULL: `why` says why. The caller frees *t either way. */
static inline tenon_module *run_read(tenon **t, const char *path, const tenon_options *o, char *why)
{
    *t = tenon_new();
    tenon_module *m = tenon_module_read(*t, path, o);
    if (!m)
        run_fail(why, "read: %.900s", tenon_messages(*t));
    return m;
}

static inline bool run_interpreter(const char *model, const tenon_options *o, const char *stage, int n_in,
                                   const tenon_tensor in[], values *out, char *why)
{
    tenon *t;
    tenon_module *m = run_read(&t, model, o, why);
    const tenon_tensor *result;
    int n = 0, failed = tenon_interpret(m, o, stage, n_in, in, &n, &result);
    out->n = 0;
    if (m && failed)
        run_fail(why, "%s: %.900s", stage, tenon_messages(t));
    for (int i = 0; !failed && i < n && i < RUN_VALUES; i++)
        values_add(out, &result[i]);
    tenon_free(t);
    return !failed;
}

/* Compiles to a file of the working folder, which is gone when the module is open. */
static inline bool run_package(tenon *t, tenon_module *m, const tenon_options *o, tnr_module **out, char *why)
{
    char path[64];
    tnr_error err;
    tenon_options quick = *o;
    if (o->target && strcmp(o->target, "c") == 0) /* of C the values count here, not the speed */
        quick.cross_compiler_options = "-O1";
    snprintf(path, sizeof path, "e2e-%d.tar", (int)getpid());
    bool ok = tenon_build(m, &quick, path, NULL) == 0 || run_fail(why, "compile: %.900s", tenon_messages(t));
    if (ok && tnr_module_open(path, NULL, out, &err))
        ok = run_fail(why, "open: %s", err.message);
    unlink(path);
    return ok;
}

/* ... of the model in a file */
static inline bool run_compile(const char *model, const tenon_options *o, tnr_module **out, char *why)
{
    tenon *t;
    tenon_module *m = run_read(&t, model, o, why);
    bool ok = m && run_package(t, m, o, out, why);
    tenon_free(t);
    return ok;
}

/* ... of an ONNX model in memory */
static inline bool run_compile_bytes(const void *at, size_t n, const tenon_options *o, tnr_module **out,
                                     char *why)
{
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_from_memory(t, "m.onnx", at, n, o);
    bool ok = m ? run_package(t, m, o, out, why) : run_fail(why, "read: %.900s", tenon_messages(t));
    tenon_free(t);
    return ok;
}

static inline DLTensor dl_tensor(const tenon_tensor *t)
{
    return (DLTensor){.data = t->data,
                      .device = {kDLCPU, 0},
                      .ndim = t->ndim,
                      .dtype = {t->code, t->bits, 1},
                      .shape = (int64_t *)(uintptr_t)t->shape};
}

/* An output whose rank only the run knows is a value, which holds the tensor. */
static inline bool take_output(tnr_instance *instance, uint32_t i, DLTensor *out, tnr_error *err)
{
    tnr_value *value;
    tnr_value_info info;
    if (!tnr_get_output_at(instance, i, out, err))
        return true;
    if (tnr_get_output_value(instance, i, &value, err))
        return false;
    tnr_value_get(value, &info);
    *out = info.tensor;
    return info.kind == TNR_VALUE_TENSOR;
}

static inline bool take_outputs(tnr_instance *instance, uint32_t n, values *out, tnr_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        DLTensor view;
        uint64_t bytes;
        if (!take_output(instance, i, &view, err) ||
            tnr_tensor_bytes(view.dtype, view.ndim, view.shape, &bytes, err))
            return false;
        tenon_tensor t = {
            .code = view.dtype.code, .bits = view.dtype.bits, .ndim = view.ndim, .bytes = bytes};
        for (int d = 0; d < view.ndim; d++)
            t.shape[d] = view.shape[d];
        t.data = view.data;
        values_add(out, &t);
    }
    return true;
}

/* One run by a new instance; inputs are taken by name. */
static inline bool run_options(tnr_module *m, const tnr_instance_options *o, int n_in,
                               const tenon_tensor in[], values *out, char *why)
{
    static const char *const names[] = {"aot", "graph"};
    tnr_instance *instance = NULL;
    tnr_error err = {0};
    out->n = 0;
    bool ok = !tnr_instance_new(m, o, &instance, &err);
    for (int i = 0; ok && i < n_in; i++) {
        DLTensor t = dl_tensor(&in[i]);
        ok = !tnr_set_input(instance, in[i].name, &t, &err);
    }
    ok = ok && !tnr_run(instance, &err) && take_outputs(instance, tnr_output_count(m), out, &err);
    tnr_instance_free(instance);
    return ok ? true : run_fail(why, "%s, %d threads: %s", names[o->executor], o->threads, err.message);
}

static inline bool run_module(tnr_module *m, int executor, int threads, int n_in, const tenon_tensor in[],
                              values *out, char *why)
{
    return run_options(m, &(tnr_instance_options){.executor = executor, .threads = threads}, n_in, in, out,
                       why);
}

#endif
