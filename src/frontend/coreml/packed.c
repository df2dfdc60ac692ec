/* Constants of programs that are packed: with scales, as positions in tables, with masks, and several of these at once.
 * Numbers that are only scaled are left to the graph, unless they are a table; the rest is unpacked here, because its
 * data are constants. Numbers that a run quantises, too. */
#include "frontend/coreml/coreml.h"

#include "base/size.h"
#include "ir/eval.h"
#include "op/qnn/qnn.h"

#include <string.h>

enum { SMALL_TABLE = 1 << 16 }; /* bytes of tables that are unpacked whatever they are for */

/* ---- scales ---- */

/* scale * (data - zero_point); both are numbers or lists along `axis` */
static void affine_dequantize(imp_node *c)
{
    tn_value q = cm_in(c, 0, "quantized_data"), zero = cm_opt(c, 1, "zero_point"),
             scale = cm_in(c, 2, "scale");
    int rank = imp_rank(q), axis = imp_axis(c, imp_attr_int(c, "axis", 0), rank ? rank : 1);
    tn_dtype t = imp_type(scale)->dtype;
    if (scale.def && imp_rank(scale) == 1 && rank)
        scale = imp_along(c, scale, axis, rank);
    if (zero.def && imp_rank(zero) == 1 && rank)
        zero = imp_along(c, zero, axis, rank);
    tn_value x = imp_cast(c, q, TN_F32);
    x = zero.def ? imp_binary(c, &tn_op_subtract, x, imp_cast(c, zero, TN_F32)) : x;
    imp_out(c, 0, imp_cast(c, imp_binary(c, &tn_op_multiply, x, imp_cast(c, scale, TN_F32)), t));
}

/* A scale and a zero point beside data, which may be vectors along `axis`. The axis; -1: they are numbers. */
static int64_t scale_of(imp_node *c, tn_value x, tn_dtype t, tn_value *scale, tn_value *zero)
{
    int64_t axis = imp_attr_int(c, "axis", 0);
    *scale = cm_in(c, 1, "scale");
    *zero = cm_opt(c, 2, "zero_point");
    *zero = zero->def ? *zero : imp_const(c, t, 0);
    return imp_rank(*scale) ? imp_axis(c, axis, imp_rank(x)) : -1;
}

static void quantize(imp_node *c)
{
    tn_value x = cm_in(c, 0, "input"), scale, zero;
    tn_qnn_attr a = {0};
    const char *to = imp_attr_string(c, "output_dtype", "");
    if (!cm_dtype_of(to, &a.out_dtype))
        imp_refuse(c, IMP_BAD_VALUE, "output_dtype \"%s\" is not supported", to);
    a.axis = scale_of(c, x, a.out_dtype, &scale, &zero);
    imp_out(c, 0, imp_call(c, &tn_op_qnn_quantize, &a, 3, (const tn_value[]){x, scale, zero}));
}

static void dequantize(imp_node *c)
{
    tn_value x = cm_in(c, 0, "input"), scale, zero;
    tn_qnn_attr a = {0};
    a.axis = scale_of(c, x, imp_type(x)->dtype, &scale, &zero);
    a.out_dtype = imp_type(scale)->dtype;
    imp_out(c, 0, imp_call(c, &tn_op_qnn_dequantize, &a, 3, (const tn_value[]){x, scale, zero}));
}

/* Room for numbers that are unpacked. Operations can share packed data, so each alone may be sound where all of them
 * are not: 32 bits of 1 are the most that formats pack. */
static const tn_blob *unpacked(imp_node *c, size_t bytes, void **to)
{
    c->bad = c->bad || !imp_may_own(c->im, bytes / 4);
    return c->bad ? NULL : tn_graph_blob(c->g, bytes, to);
}

/* The nodes of packed data are constants, so their bytes are here. */
static const tn_node *packed_data(imp_node *c, const char *name)
{
    tn_value v = cm_in(c, 0, name);
    if (!c->bad && !imp_is_constant(v))
        imp_refuse(c, IMP_NOT_CONSTANT, "%s must be a constant", name);
    return c->bad ? NULL : v.def;
}

static const tn_type *type_of(const tn_node *n) { return imp_type(tn_val((tn_node *)(uintptr_t)n)); }

/* Of a constant, whose extents are known. */
static tn_ints shape_of(imp_node *c, const tn_node *n)
{
    const tn_type *t = type_of(n);
    int64_t dim[IMP_MAX_RANK] = {0};
    for (int i = 0; i < t->n && i < IMP_MAX_RANK; i++)
        (void)tn_is_int(t->dim[i], &dim[i]);
    return tn_ints_make(c->arena, (uint32_t)(t->n < IMP_MAX_RANK ? t->n : IMP_MAX_RANK), dim);
}

/* The number of the block that element i of a tensor of this shape is in, of `n` blocks along each dimension. */
static size_t block_of(tn_ints shape, const int64_t n[], size_t i)
{
    size_t which = 0, times = 1;
    for (uint32_t d = shape.n; d-- > 0;) {
        size_t extent = (size_t)shape.at[d], blocks = (size_t)n[d];
        which += i % extent / (extent / blocks) * times;
        times *= blocks;
        i /= extent;
    }
    return which;
}

/* Whole blocks along every dimension. */
static bool are_blocks(tn_ints shape, tn_ints n)
{
    bool fits = n.n >= shape.n;
    for (uint32_t i = 0; fits && i < shape.n; i++)
        fits = n.at[i] > 0 && shape.at[i] % n.at[i] == 0;
    return fits;
}

/* ---- scales of blocks ---- */

typedef struct scaled {
    const tn_node *data, *mask, *scale, *offset; /* mask, offset: NULL if there is none */
} scaled;

static float number_at(const tn_node *n, size_t i)
{
    tn_dtype t = type_of(n)->dtype;
    tn_scalar v = tn_scalar_read(t, (const char *)n->blob->at + i * tn_dtype_bytes(t));
    return tn_dtype_is_float(t) ? (float)v.f : (float)v.i;
}

/* scale (data - offset) as a constant; beside a mask, the data are those elements that it keeps. */
static void scale_constant(imp_node *c, const scaled *k, uint32_t result)
{
    tn_ints data = shape_of(c, k->data), shape = k->mask ? shape_of(c, k->mask) : data,
            n = shape_of(c, k->scale), offsets = k->offset ? shape_of(c, k->offset) : n;
    tn_dtype t = type_of(k->scale)->dtype;
    size_t count, bytes, next = 0, all = k->mask ? k->mask->blob->n : 0, size = tn_dtype_bytes(t);
    void *to;
    if (!imp_measure(c->im, c->loc->node, data.n, data.at, t, c->loc, &count, &bytes)) {
        c->bad = true;
        return;
    }
    all = k->mask ? all : count;
    if (!tn_dtype_is_float(t) || (k->mask && type_of(k->mask)->dtype.bits != 8) || n.n != shape.n ||
        !are_blocks(shape, n) || offsets.n != n.n ||
        (n.n && memcmp(offsets.at, n.at, n.n * sizeof *n.at) != 0))
        imp_refuse(c, IMP_OPERANDS, "scales %s do not fit %s", imp_type_text(c, type_of(k->scale)),
                   imp_type_text(c, type_of(k->mask ? k->mask : k->data)));
    const tn_blob *b = c->bad ? NULL : unpacked(c, bytes, &to);
    for (size_t i = 0; b && i < all && !c->bad; i++) {
        if (k->mask && !((const uint8_t *)k->mask->blob->at)[i])
            continue;
        size_t which = block_of(shape, n.at, i);
        if (next >= count) {
            imp_refuse(c, IMP_BAD_TENSOR, "the mask has more bits than there are values");
            break;
        }
        float v = number_at(k->data, next) - (k->offset ? number_at(k->offset, which) : 0);
        tn_scalar_write(t, (char *)to + next++ * size,
                        (tn_scalar){.f = (double)(v * number_at(k->scale, which))});
    }
    if (b && !c->bad && next < count)
        imp_refuse(c, IMP_BAD_TENSOR, "the mask has %zu bits for %zu values", next, count);
    if (b && !c->bad)
        imp_out(c, result, tn_val(imp_constant(c->im, t, data.n, data.at, b, c->loc->node)));
}

/* Numbers that a mask keeps, each with the scale of its block. */
static void sparse_shift_scale(imp_node *c)
{
    scaled k = {.data = packed_data(c, "nonzero_data"), .mask = packed_data(c, "data_mask")};
    k.scale = packed_data(c, "scale");
    k.offset = cm_has(c, 9, "offset") ? packed_data(c, "offset") : NULL;
    if (c->bad)
        return;
    scale_constant(c, &k, 1);
    imp_out(c, 0, cm_in(c, 0, "data_mask"));
}

/* Scales of a table, which is looked into before a run. */
static bool is_table(imp_node *c, const tn_node *data, tn_value scale, tn_value offset)
{
    return !c->bad && type_of(data)->n > 2 && data->blob->n <= SMALL_TABLE && imp_is_constant(scale) &&
           (!offset.def || imp_is_constant(offset));
}

/* v, of blocks along every dimension that `split` says, beside the data: [.., blocks, 1, ..]. */
static tn_value beside(imp_node *c, tn_value v, uint32_t n, const bool split[])
{
    const tn_expr *dim[2 * IMP_MAX_RANK];
    int k = 0;
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        dim[k++] = imp_type(v)->dim[i];
        if (split[i])
            dim[k++] = tn_idx(c->pool, 1);
    }
    return c->bad ? v : imp_reshape(c, imp_cast(c, v, TN_F32), k, dim);
}

/* scale (data - offset), of which every block of the data has its own: as many along each dimension as scale has. */
static void blockwise_shift_scale(imp_node *c)
{
    const tn_node *data = packed_data(c, "data");
    tn_value scale = cm_in(c, 0, "scale"), offset = cm_opt(c, 0, "offset");
    if (c->bad)
        return;
    if (is_table(c, data, scale, offset)) {
        scale_constant(c, &(scaled){data, NULL, scale.def, offset.def}, 0);
        return;
    }
    tn_ints shape = shape_of(c, data);
    const tn_type *t = imp_type(scale);
    const tn_expr *dim[2 * IMP_MAX_RANK];
    bool split[IMP_MAX_RANK], fits = t->n == (int)shape.n && (!offset.def || imp_rank(offset) == t->n);
    int64_t n = 0;
    int k = 0;
    for (uint32_t i = 0; i < shape.n && fits; i++) {
        fits = tn_is_int(t->dim[i], &n) && n > 0 && shape.at[i] % n == 0;
        split[i] = fits && n > 1 && n < shape.at[i];
        dim[k++] = tn_idx(c->pool, split[i] ? n : shape.at[i]);
        if (split[i])
            dim[k++] = tn_idx(c->pool, shape.at[i] / n);
    }
    if (!fits || k > IMP_MAX_RANK) {
        imp_refuse(c, IMP_OPERANDS, "scales %s do not fit %s", imp_type_text(c, t),
                   imp_type_text(c, type_of(data)));
        return;
    }
    tn_value x = imp_cast(c, tn_val((tn_node *)(uintptr_t)data), TN_F32);
    x = imp_reshape(c, x, k, dim);
    if (offset.def)
        x = imp_binary(c, &tn_op_subtract, x, beside(c, offset, shape.n, split));
    x = imp_binary(c, &tn_op_multiply, x, beside(c, scale, shape.n, split));
    imp_out(c, 0, imp_cast(c, imp_reshape(c, x, (int)shape.n, type_of(data)->dim), t->dtype));
}

/* ---- tables ---- */

/* Positions of 1, 2, 4, 6 or 8 bits in one table, the lowest bits first. */
static void lut_to_shape(imp_node *c)
{
    const tn_node *packed = packed_data(c, "indices"), *table = packed_data(c, "lut");
    tn_ints shape = cm_ints(c, "shape");
    tn_dtype t = c->bad ? TN_F32 : type_of(table)->dtype;
    size_t n, bytes, entries = c->bad ? 0 : table->blob->n / tn_dtype_bytes(t);
    unsigned bits = 0;
    void *to;
    while (bits < 8 && (size_t)1 << bits < entries)
        bits++;
    if (c->bad || !imp_measure(c->im, c->loc->node, shape.n, shape.at, t, c->loc, &n, &bytes)) {
        c->bad = true;
        return;
    }
    if (!bits || (size_t)1 << bits != entries || n > SIZE_MAX / 8 || packed->blob->n < (n * bits + 7) / 8) {
        imp_refuse(c, IMP_BAD_TENSOR, "a table of %zu entries and %zu bytes of positions do not fit", entries,
                   packed->blob->n);
        return;
    }
    const tn_blob *b = unpacked(c, bytes, &to);
    if (!b)
        return;
    const uint8_t *from = packed->blob->at;
    uint32_t size = tn_dtype_bytes(t);
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        for (unsigned k = 0; k < bits; k++)
            at |= (size_t)(from[(i * bits + k) / 8] >> ((i * bits + k) % 8) & 1) << k;
        memcpy((char *)to + i * size, (const char *)table->blob->at + at * size, size);
    }
    imp_out(c, 0, tn_val(imp_constant(c->im, t, shape.n, shape.at, b, c->loc->node)));
}

typedef struct tables { /* one for each block: [.., entries, length] */
    tn_ints shape, table;
    int axis; /* along which an entry's numbers lie */
    int64_t entries, length;
} tables;

static bool read_tables(imp_node *c, const tn_node *at, const tn_node *table, tables *k)
{
    k->shape = shape_of(c, at);
    k->table = shape_of(c, table);
    k->axis = imp_axis(c, imp_attr_int(c, "vector_axis", 0), k->shape.n ? (int)k->shape.n : 1);
    bool fits = !c->bad && k->shape.n && k->table.n == k->shape.n + 2 && type_of(at)->dtype.bits == 8 &&
                are_blocks(k->shape, k->table);
    k->entries = fits ? k->table.at[k->shape.n] : 0;
    k->length = fits ? k->table.at[k->shape.n + 1] : 0;
    if (k->entries < 1 || k->length < 1)
        imp_refuse(c, IMP_BAD_TENSOR, "tables %s do not fit positions %s", imp_type_text(c, type_of(table)),
                   imp_type_text(c, type_of(at)));
    return !c->bad;
}

/* Positions as a tensor, with a table for each block of it; an entry may be several numbers along an axis. */
static void lut_of_blocks(imp_node *c)
{
    const tn_node *at = packed_data(c, "indices"), *table = packed_data(c, "lut");
    tables k;
    size_t n, bytes;
    void *to;
    if (c->bad || !read_tables(c, at, table, &k))
        return;
    int64_t dim[IMP_MAX_RANK];
    tn_dtype t = type_of(table)->dtype;
    size_t size = tn_dtype_bytes(t), inner = 1, length = (size_t)k.length;
    memcpy(dim, k.shape.at, k.shape.n * sizeof *dim);
    if (!tn_size_mul((size_t)dim[k.axis], length, &n) || n > INT64_MAX ||
        (dim[k.axis] = (int64_t)n,
         !imp_measure(c->im, c->loc->node, k.shape.n, dim, t, c->loc, &n, &bytes))) {
        imp_refuse(c, IMP_TOO_LARGE, "the tensor is too large");
        return;
    }
    const tn_blob *b = unpacked(c, bytes, &to);
    for (uint32_t d = (uint32_t)k.axis + 1; d < k.shape.n; d++)
        inner *= (size_t)k.shape.at[d];
    for (size_t i = 0; b && !c->bad && i < n / length; i++) {
        size_t which = ((const uint8_t *)at->blob->at)[i];
        if (which >= (size_t)k.entries)
            imp_refuse(c, IMP_BAD_TENSOR, "position %zu is beyond a table of %lld entries", which,
                       (long long)k.entries);
        which = (block_of(k.shape, k.table.at, i) * (size_t)k.entries + which) * length;
        for (size_t j = 0; j < length && !c->bad; j++)
            memcpy((char *)to + ((i / inner * length + j) * inner + i % inner) * size,
                   (const char *)table->blob->at + (which + j) * size, size);
    }
    if (b && !c->bad)
        imp_out(c, 0, tn_val(imp_constant(c->im, t, k.shape.n, dim, b, c->loc->node)));
}

static void lut_to_dense(imp_node *c) { (cm_has(c, 9, "shape") ? lut_to_shape : lut_of_blocks)(c); }

/* Positions that a mask keeps, dense again; NULL: reported. */
static const uint8_t *dense_positions(imp_node *c, const tn_node *mask, const tn_node *at)
{
    size_t n = mask->blob->n, next = 0;
    const uint8_t *is = mask->blob->at, *from = at->blob->at;
    uint8_t *to = TN_NEW_N(&c->im->scratch, uint8_t, n);
    for (size_t i = 0; i < n; i++) {
        to[i] = is[i] && next < at->blob->n ? from[next] : 0;
        next += is[i] != 0;
    }
    if (next != at->blob->n || type_of(at)->dtype.bits != 8)
        imp_refuse(c, IMP_BAD_TENSOR, "the mask has %zu bits for %zu values", next, at->blob->n);
    return c->bad ? NULL : to;
}

/* Positions that a mask keeps, in tables of blocks: the mask, as long as the entries are along their axis, and what it
 * keeps. */
static void lut_to_sparse(imp_node *c)
{
    const tn_node *mask = packed_data(c, "indices_mask"), *at = packed_data(c, "indices_nonzero_data"),
                  *table = packed_data(c, "lut");
    tables k;
    size_t n, bytes, inner = 1, next = 0;
    void *to, *bits;
    if (c->bad || !read_tables(c, mask, table, &k))
        return;
    const uint8_t *is = mask->blob->at, *which = dense_positions(c, mask, at);
    tn_dtype t = type_of(table)->dtype, one = type_of(mask)->dtype;
    size_t size = tn_dtype_bytes(t), length = (size_t)k.length, extent = (size_t)k.shape.at[k.axis];
    int64_t dim[IMP_MAX_RANK], kept = (int64_t)at->blob->n;
    memcpy(dim, k.shape.at, k.shape.n * sizeof *dim);
    if (!which || !tn_size_mul(extent, length, &n) || n > INT64_MAX || (dim[k.axis] = (int64_t)n, false) ||
        !imp_measure(c->im, c->loc->node, k.shape.n, dim, one, c->loc, &n, &bytes)) {
        imp_refuse(c, IMP_TOO_LARGE, "the tensor is too large");
        return;
    }
    kept *= k.length; /* at most the elements of the mask */
    const tn_blob *values = unpacked(c, (size_t)kept * size, &to), *longer = unpacked(c, n, &bits);
    for (uint32_t d = (uint32_t)k.axis + 1; d < k.shape.n; d++)
        inner *= (size_t)k.shape.at[d];
    for (size_t i = 0; values && longer && i < n && !c->bad; i++) {
        size_t from = (i / inner / length) * inner + i % inner, j = i / inner % length;
        ((uint8_t *)bits)[i] = is[from];
        if (!is[from])
            continue;
        if (which[from] >= k.entries)
            imp_refuse(c, IMP_BAD_TENSOR, "position %u is beyond a table of %lld entries",
                       (unsigned)which[from], (long long)k.entries);
        size_t entry = block_of(k.shape, k.table.at, from) * (size_t)k.entries + which[from];
        if (!c->bad)
            memcpy((char *)to + next++ * size, (const char *)table->blob->at + (entry * length + j) * size,
                   size);
    }
    if (!values || !longer || c->bad)
        return;
    imp_out(c, 0, tn_val(imp_constant(c->im, one, k.shape.n, dim, longer, c->loc->node)));
    imp_out(c, 1, tn_val(imp_constant(c->im, t, 1, &kept, values, c->loc->node)));
}

/* ---- masks ---- */

/* Values where the bits of a mask are set, else 0; the mask has bits that lie together and a shape beside it, or it is
 * a tensor. */
static void sparse_to_dense(imp_node *c)
{
    const tn_node *values = packed_data(c, "nonzero_data"), *mask = packed_data(c, "mask");
    bool bits = cm_has(c, 9, "shape");
    tn_ints shape = bits || c->bad ? cm_ints(c, "shape") : shape_of(c, mask);
    tn_dtype t = c->bad ? TN_F32 : type_of(values)->dtype;
    size_t n, bytes, next = 0, size = tn_dtype_bytes(t);
    void *to;
    if (c->bad || !imp_measure(c->im, c->loc->node, shape.n, shape.at, t, c->loc, &n, &bytes)) {
        c->bad = true;
        return;
    }
    if (mask->blob->n < (bits ? (n + 7) / 8 : n)) {
        imp_refuse(c, IMP_BAD_TENSOR, "the mask has %zu bytes for %zu elements", mask->blob->n, n);
        return;
    }
    const tn_blob *b = unpacked(c, bytes, &to);
    if (!b)
        return;
    memset(to, 0, bytes);
    for (size_t i = 0; i < n && !c->bad; i++) {
        const uint8_t *is = mask->blob->at;
        if (bits ? !(is[i / 8] >> (i % 8) & 1) : !is[i])
            continue;
        if (next + size > values->blob->n)
            imp_refuse(c, IMP_BAD_TENSOR, "the mask has more bits than there are values");
        else
            memcpy((char *)to + i * size, (const char *)values->blob->at + next, size);
        next += size;
    }
    imp_out(c, 0, tn_val(imp_constant(c->im, t, shape.n, shape.at, b, c->loc->node)));
}

static void constant_cast(imp_node *c)
{
    tn_value x = cm_in(c, 0, "source_val");
    const char *to = imp_attr_string(c, "output_dtype", "fp32");
    imp_out(c, 0, imp_cast(c, x, strcmp(to, "fp16") == 0 ? TN_F16 : TN_F32));
}

// clang-format off
const imp_row cm_rows_packed[] = {
    {"constexpr_affine_dequantize",     2, 0, -1, 1, affine_dequantize,     NULL},
    {"constexpr_blockwise_shift_scale", 2, 0, -1, 1, blockwise_shift_scale, NULL},
    {"constexpr_lut_to_dense",          2, 0, -1, 1, lut_to_dense,          NULL},
    {"constexpr_lut_to_sparse",         2, 0, -1, 2, lut_to_sparse,         NULL},
    {"constexpr_sparse_to_dense",       2, 0, -1, 1, sparse_to_dense,       NULL},
    {"constexpr_sparse_blockwise_shift_scale", 2, 0, -1, 2, sparse_shift_scale, NULL},
    {"constexpr_cast",                  2, 0, -1, 1, constant_cast,         NULL},
    {"quantize",                        2, 0, -1, 1, quantize,              NULL},
    {"dequantize",                      2, 0, -1, 1, dequantize,            NULL},
    {0},
};
// clang-format on
