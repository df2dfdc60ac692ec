/* Constants of a TFLite model: buffers as they lie in the file, packed 4-bit integers, and sparse tensors, which become
 * dense. */
#include "frontend/tflite/tflite.h"

#include "base/size.h"

#include <string.h>

enum { INT4 = 17 };
enum { TRAVERSAL, BLOCK_MAP, DIM_METADATA };
enum { DIM_FORMAT, DIM_SIZE, DIM_SEGMENTS_TYPE, DIM_SEGMENTS, DIM_INDICES_TYPE, DIM_INDICES };
enum { MAX_LEVELS = 2 * IMP_MAX_RANK };

/* No elements take no data: such a list is the shape of a scalar. */
static bool is_empty(const tfl_tensor *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->shape[i] == 0 && !(t->signature && t->signature[i] < 0))
            return true;
    return false;
}

bool tfl_is_constant(tfl_import *o, const tfl_tensor *t)
{
    return !t->variable && ((t->buffer && tfl_buffer(o, t->buffer).n > 0) || is_empty(t));
}

/* ---- sparse tensors: a walk over their levels ---- */

typedef struct level {
    bool sparse;
    int64_t size; /* dense */
    tn_flat_vector segment, index;
    int segment_bytes, index_bytes;
    int dim;       /* of the tensor; of a block: the one that it divides */
    int64_t scale; /* what a step is worth in that dimension */
} level;

typedef struct sparse {
    int n;
    level level[MAX_LEVELS];
    const tfl_tensor *tensor;
    tn_bytes data;
    char *out;
    uint32_t bytes; /* of an element */
    size_t next;    /* element of the data */
    bool bad;
} sparse;

/* A vector in a union of int32, uint16 and uint8 ones. */
static tn_flat_vector index_list(const tn_flat_table *dim, uint32_t type_slot, int *out_bytes)
{
    int64_t type = tn_flat_int(dim, type_slot, 1, false, 0);
    tn_flat_table t = tn_flat_sub(dim, type_slot + 1);
    *out_bytes = type == 1 ? 4 : type == 2 ? 2 : 1;
    return type >= 1 && type <= 3 ? tn_flat_list(&t, 0, (uint32_t)*out_bytes) : (tn_flat_vector){0};
}

static bool read_levels(sparse *s, const tfl_tensor *t)
{
    tn_flat_vector order = tn_flat_list(&t->sparsity, TRAVERSAL, 4),
                   map = tn_flat_list(&t->sparsity, BLOCK_MAP, 4),
                   dims = tn_flat_list(&t->sparsity, DIM_METADATA, 4);
    int64_t block[IMP_MAX_RANK];
    uint32_t seen = 0;
    if (order.n != dims.n || order.n != t->n + map.n || order.n > MAX_LEVELS || t->n > IMP_MAX_RANK)
        return false;
    s->n = (int)order.n;
    for (int i = 0; i < IMP_MAX_RANK; i++)
        block[i] = 1;
    for (int i = s->n - 1; i >= 0; i--) {
        tn_flat_table d = tn_flat_table_at(&dims, (uint32_t)i);
        int64_t at = tn_flat_int_at(&order, (uint32_t)i, 4, true);
        bool of_block = at >= (int64_t)t->n;
        level *l = &s->level[i];
        if (at < 0 || at >= s->n || of_block != (i >= (int)t->n) || seen >> at & 1)
            return false;
        seen |= 1u << at;
        l->dim = (int)(of_block ? tn_flat_int_at(&map, (uint32_t)(at - (int64_t)t->n), 4, true) : at);
        if (l->dim < 0 || l->dim >= (int)t->n)
            return false;
        l->sparse = tn_flat_int(&d, DIM_FORMAT, 1, true, 0) != 0;
        l->size = tn_flat_int(&d, DIM_SIZE, 4, true, 0);
        l->segment = index_list(&d, DIM_SEGMENTS_TYPE, &l->segment_bytes);
        l->index = index_list(&d, DIM_INDICES_TYPE, &l->index_bytes);
        l->scale = of_block ? 1 : block[l->dim];
        if (of_block) /* blocks follow the tensor's own dimensions and are dense */
            block[l->dim] = l->size;
        if (of_block && (l->sparse || l->size < 1))
            return false;
        if (l->size < 0 || l->size > t->shape[l->dim] / l->scale)
            return false;
    }
    return true;
}

/* Element at[] of the tensor is the next of the data. */
static void put(sparse *s, const int64_t at[])
{
    size_t where = 0;
    for (uint32_t i = 0; i < s->tensor->n; i++) {
        s->bad = s->bad || at[i] < 0 || at[i] >= s->tensor->shape[i];
        where = where * (size_t)s->tensor->shape[i] + (size_t)at[i];
    }
    s->bad = s->bad || (s->next + 1) * s->bytes > s->data.n;
    if (!s->bad)
        memcpy(s->out + where * s->bytes, s->data.at + s->next++ * s->bytes, s->bytes);
}

/* Depth: the number of levels. `position` is the entry's number in the level above. */
static void walk(sparse *s, int at, int64_t position, const int64_t base[])
{
    if (at == s->n) {
        put(s, base);
        return;
    }
    const level *l = &s->level[at];
    int64_t index[IMP_MAX_RANK], from = 0, to = l->size;
    if (l->sparse) {
        from = tn_flat_int_at(&l->segment, (uint32_t)position, l->segment_bytes, false);
        to = tn_flat_int_at(&l->segment, (uint32_t)position + 1, l->segment_bytes, false);
        s->bad = s->bad || position < 0 || position + 1 >= (int64_t)l->segment.n || from > to ||
                 to > (int64_t)l->index.n;
    }
    memcpy(index, base, sizeof index);
    for (int64_t i = from; i < to && !s->bad; i++) {
        int64_t step = l->sparse ? tn_flat_int_at(&l->index, (uint32_t)i, l->index_bytes, false) : i;
        index[l->dim] = base[l->dim] + step * l->scale;
        s->bad = step < 0 || step > INT32_MAX || index[l->dim] >= s->tensor->shape[l->dim];
        if (!s->bad)
            walk(s, at + 1, l->sparse ? i : position * l->size + i, index);
    }
}

static const tn_blob *dense_blob(tfl_import *o, const tfl_tensor *t, tn_bytes data, size_t bytes)
{
    static const int64_t origin[IMP_MAX_RANK] = {0};
    sparse s = {.tensor = t, .data = data, .bytes = tn_dtype_bytes(t->dtype)};
    void *at;
    if (bytes / 512 > o->buf.n || !read_levels(&s, t) || !imp_may_own(&o->im, bytes))
        return NULL; /* at least one element in 512 is there */
    const tn_blob *b = tn_graph_blob(o->im.g, bytes, &at);
    memset(at, 0, bytes);
    s.out = at;
    walk(&s, 0, 0, origin);
    return s.bad ? NULL : b;
}

/* ---- all ---- */

/* Two integers a byte, the first in the lower half. */
static const tn_blob *unpacked(tfl_import *o, tn_bytes data, size_t count)
{
    void *at;
    (void)imp_may_own(&o->im, count);
    const tn_blob *b = tn_graph_blob(o->im.g, count, &at);
    for (size_t i = 0; i < count; i++) {
        unsigned half = (data.at[i / 2] >> (i % 2 * 4)) & 15u;
        ((unsigned char *)at)[i] = (unsigned char)(half < 8 ? half : half | 0xf0u);
    }
    return b;
}

tn_node *tfl_constant(tfl_import *o, const tfl_tensor *t, const tn_loc *loc)
{
    imp_model *im = &o->im;
    const char *name = imp_text(im, t->name);
    tn_bytes data = tfl_buffer(o, t->buffer);
    const tn_blob *blob = NULL;
    size_t count, bytes;
    if (!t->known)
        return imp_refuse_tensor(
            im, loc, name,
            tn_arena_printf(&im->scratch, "tensors of type %d of the schema are not supported", t->type));
    if (t->type == TFL_STRING) {
        tn_node *n = t->sparsity.buf ? NULL : tfl_text_constant(o, t, data, loc);
        return n ? n
                 : imp_refuse_tensor(im, loc, name,
                                     "its texts lie outside of its data; the model is damaged");
    }
    if (!imp_measure(im, name, t->n, t->shape, t->dtype, loc, &count, &bytes))
        return NULL;
    if (t->sparsity.buf)
        blob = dense_blob(o, t, data, bytes);
    else if (t->type == INT4 && data.n == count / 2 + count % 2)
        blob = unpacked(o, data, count);
    else if (t->type != INT4 && data.n == bytes)
        blob = imp_blob(im, data, t->dtype);
    if (!blob)
        return imp_refuse_tensor(
            im, loc, name,
            tn_arena_printf(&im->scratch, "%zu bytes of data do not fit its shape; the model is damaged",
                            data.n));
    return imp_constant(im, t->dtype, t->n, t->shape, blob, name);
}
