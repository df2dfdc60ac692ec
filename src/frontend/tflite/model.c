/* A TFLite file as structs: codes of operators, buffers, graphs with their tensors. */
#include "frontend/tflite/tflite.h"

#include "base/utf8.h"

#include <float.h>
#include <string.h>

/* Slots of the schema's tables. */
enum { MODEL_VERSION, MODEL_CODES, MODEL_GRAPHS, MODEL_DESCRIPTION, MODEL_BUFFERS };
enum { CODE_OLD, CODE_CUSTOM, CODE_VERSION, CODE_BUILTIN };
enum { GRAPH_TENSORS, GRAPH_INPUTS, GRAPH_OUTPUTS, GRAPH_OPERATORS };
enum {
    TENSOR_SHAPE,
    TENSOR_TYPE,
    TENSOR_BUFFER,
    TENSOR_NAME,
    TENSOR_QUANT,
    TENSOR_VARIABLE,
    TENSOR_SPARSITY,
    TENSOR_SIGNATURE,
    TENSOR_HAS_RANK
};
enum { QUANT_SCALE = 2, QUANT_ZERO = 3, QUANT_AXIS = 6 };
enum { BUFFER_DATA, BUFFER_OFFSET, BUFFER_SIZE };
enum { CUSTOM = 32 };

static tn_status damaged(tfl_import *o, const char *what)
{
    return tn_error(o->im.g->ctx, "tflite-E001", imp_make_loc(&o->im, NULL, NULL),
                    "this is not a TFLite model, or it is damaged: %s%s", what, imp_again(what));
}

/* ---- operators' codes ---- */

static const char *builtin_name(int64_t number)
{
#define OPERATOR(n, text) [n] = text,
    static const char *const names[] = {
#include "frontend/tflite/operators.def"
    };
    return number >= 0 && number < (int64_t)(sizeof names / sizeof *names) ? names[number] : NULL;
}

static tfl_code read_code(tfl_import *o, const tn_flat_table *t)
{
    int64_t old = tn_flat_int(t, CODE_OLD, 1, true, 0), number = tn_flat_int(t, CODE_BUILTIN, 4, true, 0);
    number = old > number ? old : number;
    tfl_code c = {.version = tn_flat_int(t, CODE_VERSION, 4, true, 1), .custom = number == CUSTOM};
    if (c.custom)
        c.name = imp_text(&o->im, tn_flat_text(t, CODE_CUSTOM));
    else
        c.name = builtin_name(number);
    if (!c.name)
        c.name = tn_arena_printf(&o->im.scratch, "operator number %lld", (long long)number);
    return c;
}

tn_status tfl_read_model(tfl_import *o, const tn_file *file)
{
    o->buf = (tn_flatbuf){file->at, file->n, false};
    if (file->n < 8 || memcmp(file->at + 4, "TFL3", 4) != 0)
        return damaged(o, "it does not begin as one of schema version 3 (\"TFL3\")");
    o->model = tn_flat_root(&o->buf);
    int64_t version = tn_flat_int(&o->model, MODEL_VERSION, 4, false, 0);
    if (version != 3)
        return damaged(
            o, tn_arena_printf(&o->im.scratch, "its schema has version %lld, not 3", (long long)version));
    tn_flat_vector codes = tn_flat_list(&o->model, MODEL_CODES, 4);
    o->graphs = tn_flat_list(&o->model, MODEL_GRAPHS, 4);
    o->buffers = tn_flat_list(&o->model, MODEL_BUFFERS, 4);
    tfl_code *code = TN_NEW_N(&o->im.scratch, tfl_code, codes.n);
    const tn_loc *loc = imp_make_loc(&o->im, NULL, NULL);
    for (uint32_t i = 0; i < codes.n; i++) { /* they may share a long name */
        if (imp_too_much(&o->im, loc))
            return TN_FAIL;
        tn_flat_table t = tn_flat_table_at(&codes, i);
        code[i] = read_code(o, &t);
    }
    o->n_code = codes.n;
    o->code = code;
    if (o->buf.damaged)
        return damaged(o, "a table lies outside of the file");
    return o->graphs.n ? TN_OK : damaged(o, "it has no graph");
}

tn_bytes tfl_buffer(tfl_import *o, uint32_t i)
{
    tn_flat_table b = tn_flat_table_at(&o->buffers, i);
    uint64_t at = (uint64_t)tn_flat_int(&b, BUFFER_OFFSET, 8, false, 0),
             n = (uint64_t)tn_flat_int(&b, BUFFER_SIZE, 8, false, 0);
    if (at <= 1 || n <= 1) { /* in the FlatBuffer */
        tn_flat_vector data = tn_flat_list(&b, BUFFER_DATA, 1);
        return tn_flat_bytes(&data, 1);
    }
    if (at <= o->buf.n && n <= o->buf.n - at)
        return (tn_bytes){o->buf.at + at, (size_t)n};
    o->buf.damaged = true;
    return (tn_bytes){0};
}

/* ---- tensors ---- */

/* By TensorType; bits 0: not supported. Packed 4-bit integers are read as int8. */
static bool dtype_of(int type, tn_dtype *out)
{
    static const tn_dtype rows[] = {
        {TN_FLOAT, 32, 1},  {TN_FLOAT, 16, 1}, {TN_INT, 32, 1},  {TN_UINT, 8, 1},   {TN_INT, 64, 1},
        {TN_STRING, 64, 1}, {TN_BOOL, 8, 1},   {TN_INT, 16, 1},  {0, 0, 0},         {TN_INT, 8, 1},
        {TN_FLOAT, 64, 1},  {0, 0, 0},         {TN_UINT, 64, 1}, {0, 0, 0},         {0, 0, 0},
        {TN_UINT, 32, 1},   {TN_UINT, 16, 1},  {TN_INT, 8, 1},   {TN_BFLOAT, 16, 1}};
    if (type < 0 || type >= (int)(sizeof rows / sizeof *rows))
        return false;
    *out = rows[type];
    return out->bits != 0;
}

static const int64_t *numbers(tfl_import *o, const tn_flat_vector *v, int bytes)
{
    int64_t *at = TN_NEW_N(&o->im.scratch, int64_t, v->n);
    for (uint32_t i = 0; i < v->n; i++)
        at[i] = tn_flat_int_at(v, i, bytes, true);
    return at;
}

/* Finite scales that are not negative, zero points of 32 bits; several of them along a dimension of that extent. */
static bool is_sound(const tfl_tensor *t)
{
    bool sound = t->n_scale <= 1 || (t->axis >= 0 && t->axis < (int)t->n && t->shape[t->axis] == t->n_scale);
    for (uint32_t i = 0; sound && i < t->n_scale; i++)
        sound =
            t->scale[i] >= 0 && t->scale[i] <= FLT_MAX && t->zero[i] >= INT32_MIN && t->zero[i] <= INT32_MAX;
    return sound;
}

static void read_quantisation(tfl_import *o, const tn_flat_table *q, tfl_tensor *t)
{
    tn_flat_vector scale = tn_flat_list(q, QUANT_SCALE, 4), zero = tn_flat_list(q, QUANT_ZERO, 8);
    float *s = TN_NEW_N(&o->im.scratch, float, scale.n);
    int64_t *z = TN_NEW_N(&o->im.scratch, int64_t, scale.n);
    for (uint32_t i = 0; i < scale.n; i++) {
        s[i] = tn_flat_float_at(&scale, i);
        z[i] = tn_flat_int_at(&zero, zero.n == 1 ? 0 : i, 8, true);
    }
    t->n_scale = scale.n;
    t->scale = s;
    t->zero = z;
    t->axis = (int)tn_flat_int(q, QUANT_AXIS, 4, true, 0);
    if (t->n == 1)
        t->axis = 0; /* old files give a bias the dimension of its weights */
    o->bad_scales = o->bad_scales || !is_sound(t);
}

static void read_tensor(tfl_import *o, const tn_flat_table *f, tfl_tensor *t)
{
    tn_flat_vector shape = tn_flat_list(f, TENSOR_SHAPE, 4), sig = tn_flat_list(f, TENSOR_SIGNATURE, 4);
    tn_flat_table q = tn_flat_sub(f, TENSOR_QUANT);
    *t = (tfl_tensor){.name = tn_flat_text(f, TENSOR_NAME),
                      .type = (int)tn_flat_int(f, TENSOR_TYPE, 1, true, 0),
                      .variable = tn_flat_int(f, TENSOR_VARIABLE, 1, false, 0) != 0,
                      .n = shape.n,
                      .shape = numbers(o, &shape, 4),
                      .buffer = (uint32_t)tn_flat_int(f, TENSOR_BUFFER, 4, false, 0),
                      .sparsity = tn_flat_sub(f, TENSOR_SPARSITY)};
    t->has_rank = shape.n > 0 || tn_flat_int(f, TENSOR_HAS_RANK, 1, false, 0) != 0;
    t->signature = sig.n == shape.n ? numbers(o, &sig, 4) : t->shape;
    t->known = dtype_of(t->type, &t->dtype);
    if (q.buf)
        read_quantisation(o, &q, t);
}

/* Names that are empty or not the first of theirs get the tensor's number; those of inner graphs a prefix. */
static tn_bytes unique_name(tfl_import *o, tn_strmap *names, const char *prefix, tn_bytes name, uint32_t i)
{
    uint64_t at;
    if (!prefix && name.n && !tn_strmap_get(names, (const char *)name.at, name.n, &at)) {
        tn_strmap_put(names, (const char *)name.at, name.n, i);
        return name;
    }
    const char *text =
        tn_arena_printf(&o->im.scratch, "%s%s#%u", prefix ? prefix : "", imp_text(&o->im, name), i);
    return (tn_bytes){(const uint8_t *)text, strlen(text)};
}

/* A list of tensors; NULL: one of them is none. */
static const int32_t *tensor_list(tfl_import *o, const tn_flat_table *t, uint32_t slot, uint32_t n_tensor,
                                  uint32_t *out_n)
{
    tn_flat_vector v = tn_flat_list(t, slot, 4);
    int32_t *at = TN_NEW_N(&o->im.scratch, int32_t, v.n);
    for (uint32_t i = 0; i < v.n; i++) {
        at[i] = (int32_t)tn_flat_int_at(&v, i, 4, true);
        if (at[i] < -1 || at[i] >= (int64_t)n_tensor) {
            (void)damaged(o, "it names a tensor that does not exist");
            return NULL;
        }
    }
    *out_n = v.n;
    return at;
}

const tfl_graph *tfl_read_graph(tfl_import *o, uint32_t i)
{
    tn_flat_table t = tn_flat_table_at(&o->graphs, i);
    tn_flat_vector tensors = tn_flat_list(&t, GRAPH_TENSORS, 4);
    tfl_graph *g = TN_NEW(&o->im.scratch, tfl_graph);
    tfl_tensor *at = TN_NEW_N(&o->im.scratch, tfl_tensor, tensors.n);
    tn_strmap names = {0};
    *g = (tfl_graph){.n_tensor = tensors.n, .tensor = at};
    g->prefix = o->n_used++ ? tn_arena_printf(&o->im.scratch, "graph%u/", o->n_used - 1) : NULL;
    for (uint32_t k = 0; k < tensors.n && !imp_too_much(&o->im, NULL); k++) {
        tn_flat_table f = tn_flat_table_at(&tensors, k);
        read_tensor(o, &f, &at[k]);
        at[k].name = unique_name(o, &names, g->prefix, at[k].name, k);
    }
    tn_strmap_deinit(&names);
    g->in = tensor_list(o, &t, GRAPH_INPUTS, tensors.n, &g->n_in);
    g->out = g->in ? tensor_list(o, &t, GRAPH_OUTPUTS, tensors.n, &g->n_out) : NULL;
    g->operators = tn_flat_list(&t, GRAPH_OPERATORS, 4);
    if (!g->out || o->im.stopped)
        return NULL;
    if (o->bad_scales)
        return (void)damaged(o, "a tensor has scales or zero points that cannot be"), NULL;
    if (o->buf.damaged)
        return (void)damaged(o, "a table lies outside of the file"), NULL;
    return g;
}
