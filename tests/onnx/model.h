#ifndef TENON_TESTS_ONNX_MODEL_H
#define TENON_TESTS_ONNX_MODEL_H
/* ONNX models in tests: opening files of the source tree, reading expected tensors (TensorProto and .npy), comparing.
 * Include cmocka.h first. */
#include "base/wire/pb.h"
#include "frontend/frontend.h"
#include "frontend/onnx/onnx_proto.h"
#include "ir/eval.h"
#include "relay/relay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct model {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_graph g;
    tn_file file;
} model;

static inline void model_init(model *m)
{
    memset(m, 0, sizeof *m);
    tn_ctx_init(&m->ctx);
    tn_arena_init(&m->arena);
    tn_pool_init(&m->pool, &m->ctx, &m->arena, NULL);
    tn_graph_init(&m->g, &m->ctx, &m->arena, &m->pool);
}

static inline void model_deinit(model *m)
{
    tn_graph_deinit(&m->g);
    if (m->file.mapping)
        tn_file_unmap(&m->file);
    tn_arena_deinit(&m->arena);
    tn_ctx_deinit(&m->ctx);
}

static inline const char *model_errors(model *m)
{
    tn_buf b = {0};
    tn_diag_print_all(&m->ctx, &b);
    const char *s = tn_arena_strdup(&m->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

/* A file of the source tree (TENON_SOURCE_DIR). */
static inline const char *source_path(model *m, const char *relative)
{
    const char *root = getenv("TENON_SOURCE_DIR");
    return tn_arena_printf(&m->arena, "%s/%s", root ? root : ".", relative);
}

/* Imports and verifies what is in memory. */
static inline tn_status model_import(model *m, const char *name, const tn_file *f, const tn_import_options *o)
{
    TN_TRY(tn_import(&m->g, name, f, NULL, o));
    return tn_relay_verify(&m->g);
}

static inline tn_status model_read(model *m, const char *path, const tn_import_options *o)
{
    TN_TRY(tn_file_map(&m->ctx, path, &m->file));
    return model_import(m, path, &m->file, o);
}

static inline const char *model_text(model *m)
{
    tn_buf b = {0};
    tn_relay_print(&m->g, &b);
    const char *s = tn_arena_strdup(&m->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

/* ---- expected tensors: memory is the model's arena ---- */

static inline tn_file model_map(model *m, const char *path)
{
    tn_file f;
    if (tn_file_map(&m->ctx, path, &f) != TN_OK)
        fail_msg("%s", model_errors(m));
    tn_file copy = {tn_arena_copy(&m->arena, f.at, f.n, 64), f.n, 0};
    tn_file_unmap(&f);
    return copy;
}

/* The dtype of a TensorProto.DataType. */
static inline tn_dtype model_dtype(uint64_t type)
{
    static const tn_dtype dtype[] = {
        [1] = {TN_FLOAT, 32, 1},   [2] = {TN_UINT, 8, 1},    [3] = {TN_INT, 8, 1},    [4] = {TN_UINT, 16, 1},
        [5] = {TN_INT, 16, 1},     [6] = {TN_INT, 32, 1},    [7] = {TN_INT, 64, 1},   [9] = {TN_BOOL, 8, 1},
        [10] = {TN_FLOAT, 16, 1},  [11] = {TN_FLOAT, 64, 1}, [12] = {TN_UINT, 32, 1}, [13] = {TN_UINT, 64, 1},
        [16] = {TN_BFLOAT, 16, 1},
    };
    assert_true(type < sizeof dtype / sizeof *dtype && dtype[type].bits != 0);
    return dtype[type];
}

/* The elements of a TensorProto that are not in its raw bytes, as v's. */
static inline void read_typed(model *m, const onnx_tensor *t, tn_tensor_value *v)
{
    const tn_pb_array *from[] = {&t->float_data, &t->int32_data, &t->int64_data, &t->double_data,
                                 &t->uint64_data};
    size_t width = tn_dtype_bytes(v->dtype);
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        if (from[k]->n == 0)
            continue;
        size_t each = k == 0 ? 4 : 8; /* integers are 64 bits wide here, least significant byte first */
        v->n = from[k]->n * width;
        v->at = tn_arena_alloc(&m->arena, v->n, 64);
        for (size_t i = 0; i < from[k]->n; i++)
            memcpy((char *)v->at + i * width, (const char *)from[k]->at + i * each, width);
        return;
    }
}

/* Of a TensorProto. */
static inline tn_tensor_value read_tensor(model *m, tn_file f)
{
    onnx_tensor t = {0};
    const char *where;
    if (tn_pb_read(&m->arena, &onnx_tensor_msg, f.at, f.n, NULL, &t, &where))
        fail_msg("%s", where);
    tn_tensor_value v = {.borrowed = true, .dtype = model_dtype((uint64_t)t.data_type)};
    assert_true(t.dims.n <= sizeof v.dim / sizeof *v.dim);
    for (; v.ndim < t.dims.n; v.ndim++)
        v.dim[v.ndim] = ((const int64_t *)t.dims.at)[v.ndim];
    v.n = t.raw_data.n;
    v.at = tn_arena_copy(&m->arena, v.n ? (const void *)t.raw_data.at : "", v.n ? v.n : 1, 64);
    if (v.n == 0)
        read_typed(m, &t, &v);
    return v;
}

/* float32, C order: what make_models.py writes. */
static inline tn_tensor_value read_npy(model *m, const char *path)
{
    tn_file f = model_map(m, path);
    assert_true(f.n > 128 && memcmp(f.at, "\x93NUMPY\x01", 7) == 0);
    size_t header = 10u + f.at[8] + 256u * f.at[9];
    char *text = tn_arena_strndup(&m->arena, (const char *)f.at + 10, header - 10);
    assert_non_null(strstr(text, "'descr': '<f4'"));
    assert_non_null(strstr(text, "'fortran_order': False"));
    const char *at = strstr(text, "'shape': (");
    tn_tensor_value v = {
        .dtype = TN_F32, .borrowed = true, .n = f.n - header, .at = (char *)(uintptr_t)f.at + header};
    assert_non_null(at);
    for (at += strlen("'shape': ("); *at && *at != ')'; at++)
        if (*at >= '0' && *at <= '9')
            v.dim[v.ndim++] = strtoll(at, (char **)(uintptr_t)&at, 10), at--;
    return v;
}

/* ---- comparing ---- */

static inline double element(const tn_tensor_value *v, size_t i)
{
    tn_scalar x = tn_scalar_read(v->dtype, (const char *)v->at + i * tn_dtype_bytes(v->dtype));
    if (tn_dtype_is_float(v->dtype))
        return x.f;
    return v->dtype.code == TN_UINT ? (double)(uint64_t)x.i : (double)x.i;
}

/* NULL if equal within |a - b| <= absolute + relative * |b|; else what differs. */
static inline const char *differs(model *m, const tn_tensor_value *have, const tn_tensor_value *want,
                                  double relative, double absolute)
{
    if (!tn_dtype_eq(have->dtype, want->dtype) || have->ndim != want->ndim || have->n != want->n)
        return tn_arena_printf(&m->arena, "rank %u, %zu bytes; expected rank %u, %zu bytes, or another dtype",
                               have->ndim, have->n, want->ndim, want->n);
    for (int i = 0; i < have->ndim; i++)
        if (have->dim[i] != want->dim[i])
            return tn_arena_printf(&m->arena, "dimension %d is %lld, not %lld", i, (long long)have->dim[i],
                                   (long long)want->dim[i]);
    for (size_t i = 0; i < have->n / tn_dtype_bytes(have->dtype); i++) {
        double a = element(have, i), b = element(want, i);
        if (!(fabs(a - b) <= absolute + relative * fabs(b)) && !(isnan(a) && isnan(b)) &&
            !(isinf(b) && a == b))
            return tn_arena_printf(&m->arena, "element %zu is %.9g, not %.9g", i, a, b);
    }
    return NULL;
}

#endif
