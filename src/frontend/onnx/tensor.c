/* TensorProto -> constants. Raw data stays where it is, in the mapped file (and may be unaligned); typed data, of which
 * protobuf holds each element in its own way, is copied. Every length is checked against the dims before it is used. */
#include "frontend/onnx/onnx.h"

#include "ir/eval.h"

#include <string.h>

enum storage { IN_FLOATS, IN_INT32S, IN_INT64S, IN_DOUBLES, IN_UINT64S, IN_RAW };

typedef struct data_type {
    const char *name;
    tn_dtype dtype;
    enum storage storage; /* the typed field that holds it */
} data_type;

static const data_type types[] = {
    /* by TensorProto.DataType */
    [1] = {"FLOAT", {TN_FLOAT, 32, 1}, IN_FLOATS},
    [2] = {"UINT8", {TN_UINT, 8, 1}, IN_INT32S},
    [3] = {"INT8", {TN_INT, 8, 1}, IN_INT32S},
    [4] = {"UINT16", {TN_UINT, 16, 1}, IN_INT32S},
    [5] = {"INT16", {TN_INT, 16, 1}, IN_INT32S},
    [6] = {"INT32", {TN_INT, 32, 1}, IN_INT32S},
    [7] = {"INT64", {TN_INT, 64, 1}, IN_INT64S},
    [ONNX_STRING] = {"STRING", {TN_STRING, 64, 1}, IN_RAW},
    [9] = {"BOOL", {TN_BOOL, 8, 1}, IN_INT32S},
    [10] = {"FLOAT16", {TN_FLOAT, 16, 1}, IN_INT32S},
    [11] = {"DOUBLE", {TN_FLOAT, 64, 1}, IN_DOUBLES},
    [12] = {"UINT32", {TN_UINT, 32, 1}, IN_UINT64S},
    [13] = {"UINT64", {TN_UINT, 64, 1}, IN_UINT64S},
    [14] = {"COMPLEX64", {TN_COMPLEX, 64, 1}, IN_FLOATS},
    [15] = {"COMPLEX128", {TN_COMPLEX, 128, 1}, IN_DOUBLES},
    [16] = {"BFLOAT16", {TN_BFLOAT, 16, 1}, IN_INT32S},
    [17] = {"FLOAT8E4M3FN", {TN_FLOAT8_E4M3FN, 8, 1}, IN_INT32S},
    [18] = {"FLOAT8E4M3FNUZ", {TN_FLOAT8_E4M3FNUZ, 8, 1}, IN_INT32S},
    [19] = {"FLOAT8E5M2", {TN_FLOAT8_E5M2, 8, 1}, IN_INT32S},
    [20] = {"FLOAT8E5M2FNUZ", {TN_FLOAT8_E5M2FNUZ, 8, 1}, IN_INT32S},
    [21] = {"UINT4", {TN_UINT, 4, 1}, IN_INT32S},
    [22] = {"INT4", {TN_INT, 4, 1}, IN_INT32S},
    [23] = {"FLOAT4E2M1", {TN_FLOAT4_E2M1FN, 4, 1}, IN_INT32S},
    [24] = {"FLOAT8E8M0", {TN_FLOAT8_E8M0FNU, 8, 1}, IN_INT32S},
    [25] = {"UINT2", {TN_UINT, 2, 1}, IN_INT32S},
    [26] = {"INT2", {TN_INT, 2, 1}, IN_INT32S},
};
enum { N_TYPES = sizeof types / sizeof *types };

bool onnx_dtype(imp_model *im, int64_t type, const char *what, const tn_loc *loc, tn_dtype *out)
{
    bool known = type > 0 && type < N_TYPES;
    if (known && type != ONNX_STRING) {
        *out = types[type].dtype;
        return true;
    }
    if (known)
        (void)tn_error(im->g->ctx, "onnx-E011", loc,
                       "%s has type %s, which is not supported; convert it to a float or integer type", what,
                       types[type].name);
    else
        (void)tn_error(im->g->ctx, "onnx-E011", loc,
                       "%s has type %lld, which no known version of ONNX defines", what, (long long)type);
    return false;
}

bool onnx_any_dtype(imp_model *im, int64_t type, const char *what, const tn_loc *loc, tn_dtype *out)
{
    *out = TN_STR;
    return type == ONNX_STRING || onnx_dtype(im, type, what, loc, out);
}

bool onnx_dtype_by_name(const char *name, tn_dtype *out)
{
    for (int i = 1; i < N_TYPES; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *out = types[i].dtype;
            return true;
        }
    }
    return false;
}

/* Numbers in the typed field that holds this type; a complex number is two. */
static size_t typed_count(const onnx_tensor *t, enum storage s)
{
    switch (s) {
    case IN_FLOATS: return t->float_data.n;
    case IN_INT32S: return t->int32_data.n;
    case IN_INT64S: return t->int64_data.n;
    case IN_DOUBLES: return t->double_data.n;
    case IN_UINT64S: return t->uint64_data.n;
    case IN_RAW: break;
    }
    return 0;
}

static void store_ints(void *out, const tn_pb_array *from, uint32_t bytes, bool is_bool)
{
    const int64_t *v = from->at;
    unsigned char *at = out;
    for (size_t i = 0; i < from->n;
         i++, at += bytes) { /* 16-bit floats hold their bits; the low bytes come first */
        uint64_t bits = is_bool ? v[i] != 0 : (uint64_t)v[i];
        for (uint32_t b = 0; b < bytes; b++)
            at[b] = (unsigned char)(bits >> (8 * b));
    }
}

static const tn_blob *typed_blob(tn_graph *g, const onnx_tensor *t, const data_type *type, size_t bytes)
{
    void *at;
    const tn_blob *b = tn_graph_blob(g, bytes, &at);
    if (bytes == 0)
        return b;
    switch (type->storage) {
    case IN_FLOATS: memcpy(at, t->float_data.at, bytes); break;
    case IN_DOUBLES: memcpy(at, t->double_data.at, bytes); break;
    case IN_INT32S:
        store_ints(at, &t->int32_data, tn_dtype_bytes(type->dtype), tn_dtype_is_bool(type->dtype));
        break;
    case IN_INT64S: store_ints(at, &t->int64_data, 8, false); break;
    case IN_UINT64S: store_ints(at, &t->uint64_data, tn_dtype_bytes(type->dtype), false); break;
    case IN_RAW: break;
    }
    return b;
}

/* The data as the file holds it, a blob of `bytes` bytes; NULL: it has another length. */
static const tn_blob *data_of(imp_model *im, const onnx_tensor *t, const data_type *type, size_t bytes)
{
    if (t->raw_data.at && t->raw_data.n == bytes)
        return imp_blob(im, t->raw_data, type->dtype);
    if (t->raw_data.n == 0 &&
        typed_count(t, type->storage) == bytes / tn_dtype_bytes(tn_dtype_part(type->dtype)))
        return typed_blob(im->g, t, type, bytes);
    return NULL;
}

/* Elements of less than 8 bits share bytes in the file, the first in the lowest bits; here each has its own. */
static const tn_blob *unpacked(imp_model *im, const tn_blob *from, tn_dtype t, size_t count)
{
    const unsigned each = 8u / t.bits, mask = (1u << t.bits) - 1;
    const unsigned char *packed = from->at;
    void *at;
    const tn_blob *b = tn_graph_blob(im->g, count, &at);
    for (size_t i = 0; i < count; i++)
        ((unsigned char *)at)[i] = (unsigned char)(packed[i / each] >> (i % each * t.bits) & mask);
    return b;
}

/* ---- data in other files ---- */

static bool number(tn_bytes s, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] < '0' || s.at[i] > '9' || v > (UINT64_MAX - 9) / 10)
            return false;
        v = v * 10 + (uint64_t)(s.at[i] - '0');
    }
    *out = v;
    return s.n > 0;
}

static const tn_blob *external(imp_model *im, const onnx_tensor *t, const char *name, size_t bytes,
                               const tn_loc *loc)
{
    const onnx_string_pair *e = t->external_data.at;
    imp_external data = {.location = "", .length = bytes};
    for (size_t i = 0; i < t->external_data.n; i++) {
        bool ok = true;
        if (imp_is(e[i].key, "location"))
            data.location = imp_text(im, e[i].value);
        else if (imp_is(e[i].key, "offset"))
            ok = number(e[i].value, &data.offset);
        else if (imp_is(e[i].key, "length"))
            ok = number(e[i].value, &data.length);
        if (!ok)
            return imp_refuse_file(im, loc, name, "%s is not a number; the model is damaged",
                                   imp_text(im, e[i].key));
    }
    return imp_external_data(im, &data, bytes, name, loc);
}

/* ---- constants ---- */

/* The elements, each in bytes of its own; NULL: reported. */
static const tn_blob *elements(imp_model *im, const onnx_tensor *t, const char *name, const tn_loc *loc,
                               tn_dtype *out_dtype, size_t *out_n)
{
    tn_arena *a = im->g->arena;
    tn_dtype dtype;
    size_t count, bytes;
    bool outside = t->data_location == 1 || t->external_data.n;
    if (!onnx_dtype(im, t->data_type, tn_arena_printf(a, "tensor \"%s\"", name ? name : ""), loc, &dtype) ||
        !imp_measure(im, name, t->dims.n, t->dims.at, dtype, loc, &count, &bytes))
        return NULL;
    const data_type *type = &types[t->data_type];
    if (dtype.bits < 8)
        bytes = count / (8u / dtype.bits) + (count % (8u / dtype.bits) != 0);
    const tn_blob *blob = outside ? external(im, t, name, bytes, loc) : data_of(im, t, type, bytes);
    if (!blob && !outside)
        (void)imp_refuse_tensor(
            im, loc, name,
            tn_arena_printf(
                a, "its dimensions need %zu bytes (%zu of %s), but %zu bytes are given; the model is damaged",
                bytes, count, type->name,
                t->raw_data.n ? t->raw_data.n
                              : typed_count(t, type->storage) * tn_dtype_bytes(tn_dtype_part(dtype))));
    *out_dtype = dtype;
    *out_n = count;
    return blob && dtype.bits < 8 ? unpacked(im, blob, dtype, count) : blob;
}

tn_node *onnx_constant(imp_model *im, const onnx_tensor *t, const char *name, const tn_loc *loc)
{
    tn_dtype dtype;
    size_t n;
    const tn_blob *blob = elements(im, t, name, loc, &dtype, &n);
    return blob ? imp_constant(im, dtype, t->dims.n, t->dims.at, blob, name) : NULL;
}

tn_bytes onnx_sparse_name(const onnx_sparse *s) { return s->values ? s->values->name : (tn_bytes){0}; }

/* The position of value i, of which row i of the indices tells the coordinates, or the number in row-major order;
 * -1: it is outside. */
static int64_t position(const onnx_sparse *s, const uint8_t *at, size_t i, int64_t total)
{
    const int64_t *dim = s->dims.at;
    int64_t p = 0, v;
    if (s->indices->dims.n == 1) {
        memcpy(&v, at + i * sizeof v, sizeof v);
        return v >= 0 && v < total ? v : -1;
    }
    for (size_t d = 0; d < s->dims.n; d++) {
        memcpy(&v, at + (i * s->dims.n + d) * sizeof v, sizeof v);
        if (v < 0 || v >= dim[d])
            return -1;
        p = p * dim[d] + v;
    }
    return p;
}

/* A small file must not become much memory: FREE bytes may become dense, and TIMES those that the file has. */
static bool may_be_dense(imp_model *im, size_t bytes, size_t given, const char *name, const tn_loc *loc)
{
    enum { FREE = 64 << 20, TIMES = 16 };
    onnx_import *o = (onnx_import *)im;
    uint64_t most = FREE + (uint64_t)given * TIMES;
    if (bytes <= most && o->dense <= most - bytes) {
        o->dense += bytes;
        return true;
    }
    (void)tn_error(im->g->ctx, "onnx-E111", loc,
                   "sparse tensor \"%s\" has %zu bytes, but %llu at most become dense; store it densely",
                   name, bytes, (unsigned long long)most);
    return false;
}

tn_node *onnx_sparse_constant(imp_model *im, const onnx_sparse *s, const char *name, const tn_loc *loc)
{
    tn_dtype dtype, whole;
    size_t n, n_at, total, bytes, size;
    void *dense;
    const onnx_tensor *v = s->values, *at = s->indices;
    const int64_t *dim = at ? at->dims.at : NULL;
    if (!v || !at)
        return imp_refuse_tensor(im, loc, name,
                                 "a sparse tensor has no values or no indices; the model is damaged");
    const tn_blob *from = elements(im, v, name, loc, &dtype, &n),
                  *index = elements(im, at, name, loc, &whole, &n_at);
    if (!from || !index || !imp_measure(im, name, s->dims.n, s->dims.at, dtype, loc, &total, &bytes))
        return NULL;
    bool one = at->dims.n == 1 && n_at == n;
    bool each = at->dims.n == 2 && dim[0] == (int64_t)n && dim[1] == (int64_t)s->dims.n && s->dims.n;
    if (!tn_dtype_eq(whole, TN_I64) || (!one && !each))
        return imp_refuse_tensor(
            im, loc, name, "the indices of a sparse tensor do not fit its values; the model is damaged");
    size = tn_dtype_bytes(dtype);
    if (!may_be_dense(im, bytes, from->n + index->n, name, loc))
        return NULL;
    const tn_blob *blob = tn_graph_blob(im->g, bytes, &dense);
    for (size_t i = 0; i < n; i++) {
        int64_t p = position(s, index->at, i, (int64_t)total);
        if (p < 0)
            return imp_refuse_tensor(im, loc, name,
                                     "an index of a sparse tensor is outside of it; the model is damaged");
        memcpy((char *)dense + (size_t)p * size, (const char *)from->at + i * size, size);
    }
    return imp_constant(im, dtype, s->dims.n, s->dims.at, blob, name);
}

tn_node *onnx_any_constant(imp_model *im, const onnx_tensor *t, const char *name, const tn_loc *loc)
{
    size_t count, bytes;
    if (t->data_type != ONNX_STRING)
        return onnx_constant(im, t, name, loc);
    if (!imp_measure(im, name, t->dims.n, t->dims.at, TN_STR, loc, &count, &bytes))
        return NULL;
    if (count != t->string_data.n)
        return imp_refuse_tensor(
            im, loc, name,
            tn_arena_printf(im->g->arena,
                            "its dimensions need %zu strings, but %zu are given; the model is damaged", count,
                            t->string_data.n));
    return imp_texts(im, t->dims.n, t->dims.at, count, t->string_data.at, loc);
}

const onnx_tensor *onnx_attr_tensor(imp_node *c, const char *name)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_TENSOR);
    if (a && !a->tensor)
        imp_fail(c, "onnx-E006", "attribute %s does not hold a tensor; the model is damaged", name);
    return a ? a->tensor : NULL;
}
