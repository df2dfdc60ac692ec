/* TensorProto -> constants. Content in the order of memory stays where it is, in the mapped file; lists of values, of
 * which protobuf holds each in its own way, are copied. A list that is too short repeats its last value. */
#include "frontend/tensorflow/tf.h"

#include "ir/eval.h"

#include <string.h>

typedef struct data_type {
    const char *name;
    tn_dtype dtype;  /* bits 0: not supported */
    size_t at, size; /* the list of values that holds it, and the bytes of an entry; size 0: none */
} data_type;

#define LIST(field) offsetof(tf_tensor, field)

// clang-format off
static const data_type types[] = { /* by DataType */
    [1]  = {"float32",    {TN_FLOAT, 32, 1},  LIST(float_val),  4},
    [2]  = {"float64",    {TN_FLOAT, 64, 1},  LIST(double_val), 8},
    [3]  = {"int32",      {TN_INT, 32, 1},    LIST(int_val),    0},
    [4]  = {"uint8",      {TN_UINT, 8, 1},    LIST(int_val),    0},
    [5]  = {"int16",      {TN_INT, 16, 1},    LIST(int_val),    0},
    [6]  = {"int8",       {TN_INT, 8, 1},     LIST(int_val),    0},
    [7]  = {"string",     {0},                LIST(string_val), 0},
    [8]  = {"complex64",  {TN_COMPLEX, 64, 1},  LIST(scomplex_val), 8},
    [9]  = {"int64",      {TN_INT, 64, 1},    LIST(int64_val),  0},
    [10] = {"bool",       {TN_BOOL, 8, 1},    LIST(bool_val),   0},
    [11] = {"qint8",      {TN_INT, 8, 1},     LIST(int_val),    0},
    [12] = {"quint8",     {TN_UINT, 8, 1},    LIST(int_val),    0},
    [13] = {"qint32",     {TN_INT, 32, 1},    LIST(int_val),    0},
    [14] = {"bfloat16",   {TN_BFLOAT, 16, 1}, LIST(half_val),   0},
    [15] = {"qint16",     {TN_INT, 16, 1},    LIST(int_val),    0},
    [16] = {"quint16",    {TN_UINT, 16, 1},   LIST(int_val),    0},
    [17] = {"uint16",     {TN_UINT, 16, 1},   LIST(int_val),    0},
    [18] = {"complex128", {TN_COMPLEX, 128, 1}, LIST(dcomplex_val), 16},
    [19] = {"float16",    {TN_FLOAT, 16, 1},  LIST(half_val),   0},
    [20] = {"resource",   {0},                0,                0},
    [21] = {"variant",    {0},                0,                0},
    [22] = {"uint32",     {TN_UINT, 32, 1},   LIST(uint32_val), 0},
    [23] = {"uint64",     {TN_UINT, 64, 1},   LIST(uint64_val), 0},
};
// clang-format on
enum { N_TYPES = sizeof types / sizeof *types, STRING = 7, REFERENCE = 100 };

static const data_type *type_of(int64_t type)
{
    type = type > REFERENCE ? type - REFERENCE : type; /* to a variable */
    return type > 0 && type < N_TYPES ? &types[type] : NULL;
}

bool tf_dtype(imp_model *im, int64_t type, const char *what, const tn_loc *loc, tn_dtype *out)
{
    const data_type *t = type_of(type);
    if (t && t->dtype.bits) {
        *out = t->dtype;
        return true;
    }
    if (t)
        (void)tn_error(im->g->ctx, "tensorflow-E011", loc,
                       "%s has type %s, which is not supported; convert it to a float or integer type", what,
                       t->name);
    else
        (void)tn_error(im->g->ctx, "tensorflow-E011", loc,
                       "%s has type %lld, which no known version of TensorFlow defines", what,
                       (long long)type);
    return false;
}

bool tf_any_dtype(imp_model *im, int64_t type, const char *what, const tn_loc *loc, tn_dtype *out)
{
    *out = TN_STR;
    return type % REFERENCE == STRING || tf_dtype(im, type, what, loc, out);
}

static tn_dtype attr_dtype(imp_node *c, const char *name, tn_dtype def, bool any)
{
    tn_dtype t = def;
    const imp_attr *a = imp_attr_find(c, name, IMP_A_INT);
    const char *what = tn_arena_printf(c->arena, "attribute %s", name);
    if (a && !c->bad && !(any ? tf_any_dtype : tf_dtype)(c->im, a->i, what, c->loc, &t))
        c->bad = true;
    return t;
}

tn_dtype tf_attr_any_dtype(imp_node *c, const char *name, tn_dtype def)
{
    return attr_dtype(c, name, def, true);
}

tn_dtype tf_attr_dtype(imp_node *c, const char *name, tn_dtype def)
{
    return attr_dtype(c, name, def, false);
}

static bool dims_of(imp_model *im, const tf_tensor *t, const tn_loc *loc, size_t *out_n,
                    int64_t dim[IMP_MAX_RANK])
{
    const tf_shape *s = t->tensor_shape;
    const tf_dim *d = s ? s->dim.at : NULL;
    *out_n = s ? s->dim.n : 0;
    if (*out_n > IMP_MAX_RANK)
        return imp_error(im, IMP_TOO_LARGE, loc, "a constant has %zu dimensions; at most %d are supported",
                         *out_n, IMP_MAX_RANK) == TN_OK;
    for (size_t i = 0; i < *out_n; i++)
        dim[i] = d[i].size;
    return true;
}

/* The list of values that the type says; protobuf has the parts of complex numbers one after the other. */
static tn_pb_array list_of(const tf_tensor *t, const data_type *type)
{
    tn_pb_array list = *(const tn_pb_array *)(const void *)((const char *)t + type->at);
    list.n /= tn_dtype_is_complex(type->dtype) ? 2 : 1;
    return list;
}

/* Element i of a list of values, where a short list repeats its last one. */
static void store(const data_type *type, const tn_pb_array *list, size_t i, char *to)
{
    size_t k = i < list->n ? i : list->n - 1, bytes = tn_dtype_bytes(type->dtype);
    if (type->size) {
        memcpy(to, (const char *)list->at + k * type->size, type->size);
        return;
    }
    int64_t v = ((const int64_t *)list->at)[k];
    uint64_t bits = tn_dtype_is_bool(type->dtype) ? v != 0 : (uint64_t)v;
    for (size_t b = 0; b < bytes; b++) /* 16-bit floats hold their bits; the low bytes come first */
        to[b] = (char)(bits >> (8 * b));
}

static tn_value listed(imp_node *c, const tf_tensor *t, const data_type *type, size_t n, const int64_t dim[],
                       size_t count, size_t bytes)
{
    const tn_pb_array values = list_of(t, type), *list = &values;
    size_t each = tn_dtype_bytes(type->dtype);
    void *at;
    if (count > IMP_HOST_MAX && list->n <= 1) { /* one value for all */
        char one[16] = {0};
        if (list->n)
            store(type, list, 0, one);
        tn_value v = tn_val(tn_make_constant(c->g, c->im->r, NULL, type->dtype, 0, NULL, one, c->loc->node));
        return tf_full(c, v, tn_make_dims(c->g, (uint32_t)n, dim));
    }
    if (list->n < count && bytes > c->im->memory_limit / 2)
        imp_refuse(c, IMP_BAD_TENSOR, "its %zu elements are not in the file; the model is damaged", count);
    c->bad = c->bad || !imp_may_own(c->im, bytes);
    if (c->bad)
        return (tn_value){0};
    const tn_blob *b = tn_graph_blob(c->g, bytes, &at);
    for (size_t i = 0; i < count && list->n; i++)
        store(type, list, i, (char *)at + i * each);
    return tn_val(imp_constant(c->im, type->dtype, n, dim, b, c->loc->node));
}

/* As for numbers, a list that is too short repeats its last text. */
static tn_value texts(imp_node *c, const tf_tensor *t, size_t n, const int64_t dim[], size_t count)
{
    const tn_bytes *given = t->string_val.at;
    size_t have = t->string_val.n;
    if (count > have && count > IMP_HOST_MAX) {
        imp_refuse(c, IMP_BAD_TENSOR, "its %zu texts are not in the file; the model is damaged", count);
        return (tn_value){0};
    }
    tn_bytes *text = TN_NEW_N(&c->im->scratch, tn_bytes, count);
    for (size_t i = 0; i < count && have; i++)
        text[i] = given[i < have ? i : have - 1];
    return tn_val(imp_texts(c->im, n, dim, count, text, c->loc));
}

bool tf_has_values(const tf_tensor *t, size_t n)
{
    const data_type *type = type_of(t->dtype);
    return type && type->at && list_of(t, type).n == n && !t->tensor_content.n;
}

tn_value tf_constant(imp_node *c, const tf_tensor *t)
{
    tn_dtype dtype;
    size_t n, count, bytes;
    int64_t dim[IMP_MAX_RANK];
    if (c->bad || !tf_any_dtype(c->im, t->dtype, "the constant", c->loc, &dtype) ||
        !dims_of(c->im, t, c->loc, &n, dim) ||
        !imp_measure(c->im, c->loc->node, n, dim, dtype, c->loc, &count, &bytes)) {
        c->bad = true;
        return (tn_value){0};
    }
    if (tn_dtype_is_string(dtype))
        return texts(c, t, n, dim, count);
    if (t->tensor_content.n == 0)
        return listed(c, t, type_of(t->dtype), n, dim, count, bytes);
    if (t->tensor_content.n != bytes) {
        imp_refuse(c, IMP_BAD_TENSOR,
                   "its dimensions need %zu bytes, but %zu are given; the model is damaged", bytes,
                   t->tensor_content.n);
        return (tn_value){0};
    }
    const tn_blob *b = imp_blob(c->im, t->tensor_content, dtype);
    return tn_val(imp_constant(c->im, dtype, n, dim, b, c->loc->node));
}

bool tf_texts(const tf_tensor *t, size_t *out_n, const tn_bytes **out)
{
    *out_n = t->string_val.n;
    *out = t->string_val.at;
    return t->dtype == STRING;
}

const tf_shape *tf_attr_shape(imp_node *c, const char *name)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_TYPE);
    return a ? a->graph : NULL;
}

const tf_func *tf_attr_func(imp_node *c, const char *name)
{
    imp_attr_need(c, name);
    const imp_attr *a = imp_attr_find(c, name, IMP_A_GRAPH);
    if (a && !a->graph)
        imp_refuse(c, IMP_ATTR_TYPE, "attribute %s does not name a function; the model is damaged", name);
    return a && !c->bad ? a->graph : NULL;
}
