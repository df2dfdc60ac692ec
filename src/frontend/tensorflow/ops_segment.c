/* Sums over segments and by positions: segments, sparse matrices, histograms. */
#include "frontend/tensorflow/tf.h"

#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* Rows of v combined at the rows `at` of `base`, int64. */
static tn_value scattered(imp_node *c, tn_value base, tn_value at, tn_value v, const char *how)
{
    tn_scatter_attr a = {0, how};
    return imp_call(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){base, imp_unsqueeze(c, at, 1), v});
}

/* rows of the shape of x from dimension `from` on, all of them v. */
static tn_value rows_of(imp_node *c, const tn_expr *rows, tn_value x, int from, tn_value v)
{
    const tn_type *t = imp_type(x);
    const tn_expr *dim[IMP_MAX_RANK + 1] = {rows};
    for (int i = from; i < t->n; i++)
        dim[i - from + 1] = t->dim[i];
    return tf_full(c, v, (tn_dims){(uint32_t)(t->n - from + 1), dim});
}

/* An extent that is the one element of v, which only the run may know. */
static const tn_expr *extent_in(imp_node *c, tn_value v, const char *what)
{
    tn_dims d = imp_extents_in(c, imp_rank(v) || c->bad ? v : imp_unsqueeze(c, v, 0), what);
    return d.n ? d.at[0] : tn_idx(c->pool, 0);
}

/* How many segments a sorted list of their numbers has: one more than the last. */
static const tn_expr *segments_of(imp_node *c, tn_value ids)
{
    tn_value most = imp_cast(c, imp_reduce(c, &tn_op_max, ids, 0), TN_I64);
    return extent_in(c, imp_with(c, &tn_op_add, most, 1), "the number of segments");
}

enum kind { SUM, MEAN, ROOT, PROD, MAX, MIN };

static enum kind kind_of(const char *op)
{
    static const struct {
        const char *word;
        enum kind kind;
    } words[] = {{"Sum", SUM}, {"Mean", MEAN}, {"SqrtN", ROOT}, {"Prod", PROD}, {"Max", MAX}, {"Min", MIN}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(op, words[i].word))
            return words[i].kind;
    return SUM;
}

/* What a segment begins with. */
static tn_value least(imp_node *c, tn_dtype t, enum kind k)
{
    if (k != MAX && k != MIN)
        return imp_const(c, t, k == PROD);
    if (tn_dtype_is_float(t)) {
        tn_value far = imp_const(c, t,
                                 t.bits == 64   ? 1.7976931348623157e308
                                 : t.bits == 32 ? 3.4028234663852886e38
                                                : 65504);
        return k == MIN ? far : imp_unary(c, &tn_op_negative, far);
    }
    bool sign = t.code == TN_INT;
    int64_t high = sign ? INT64_MAX >> (64 - t.bits) : t.bits == 64 ? -1 : (INT64_C(1) << t.bits) - 1;
    int64_t v = k == MIN ? high : sign ? -high - 1 : 0;
    return imp_const_ints(c, t, 0, 1, &v);
}

/* x [n, ...] by the segments `ids` [n], of `rows` segments. An empty one is 0 unless it keeps what it began with. */
static tn_value segments(imp_node *c, tn_value x, tn_value ids, const tn_expr *rows, enum kind k, bool keep)
{
    static const char *const how[] = {"add", "add", "add", "mul", "max", "min"};
    if (!c->bad && imp_rank(ids) != 1)
        imp_refuse(c, IMP_OPERANDS, "the segments are %s, but must be a list; the model is damaged",
                   imp_type_text(c, imp_type(ids)));
    if (c->bad)
        return x;
    tn_dtype t = imp_type(x)->dtype;
    ids = imp_cast(c, ids, TN_I64);
    tn_value y = scattered(c, rows_of(c, rows, x, 1, least(c, t, k)), ids, x, how[k]);
    if (k == SUM || k == PROD || keep)
        return y;
    tn_value one = tf_full(c, imp_const(c, t, 1), (tn_dims){1, imp_type(ids)->dim});
    tn_value n = scattered(c, tf_full(c, imp_const(c, t, 0), (tn_dims){1, &rows}), ids, one, "add");
    for (int i = 1; i < imp_rank(x); i++)
        n = imp_unsqueeze(c, n, i);
    tn_value none = imp_binary(c, &tn_op_equal, n, tf_number(c, n, 0));
    tn_value count = imp_choose(c, none, tf_number(c, n, 1), n);
    if (k == MEAN || k == ROOT)
        return imp_binary(c, &tn_op_divide, y, k == ROOT ? imp_unary(c, &tn_op_sqrt, count) : count);
    return imp_choose(c, none, tf_number(c, y, 0), y);
}

/* data, segment_ids */
static void segment(imp_node *c)
{
    tn_value x = imp_in(c, 0), ids = imp_in(c, 1);
    imp_out(c, 0, c->bad ? x : segments(c, x, ids, segments_of(c, ids), kind_of(c->row->op), false));
}

/* data, segment_ids of any rank, num_segments: what has a number below 0 is left out. */
static void unsorted(imp_node *c)
{
    tn_value x = imp_in(c, 0), ids = imp_in(c, 1);
    const tn_expr *rows = extent_in(c, imp_in(c, 2), "the number of segments");
    const tn_type *t = imp_type(x), *i = imp_type(ids);
    const tn_expr *dim[IMP_MAX_RANK];
    if (!c->bad && (i->n < 1 || i->n > t->n))
        imp_refuse(c, IMP_OPERANDS, "there are segments %s for data %s; the model is damaged",
                   imp_type_text(c, i), imp_type_text(c, t));
    if (c->bad)
        return;
    dim[0] = imp_product(c, t, 0, i->n);
    for (int d = i->n; d < t->n; d++)
        dim[d - i->n + 1] = t->dim[d];
    x = imp_reshape(c, x, t->n - i->n + 1, dim);
    ids = imp_cast(c, imp_flat(c, ids), TN_I64);
    tn_value out = imp_with(c, &tn_op_less, ids, 0);
    const tn_expr *more = tn_add(c->pool, rows, tn_idx(c->pool, 1)); /* the last row takes what is left out */
    tn_value last =
        imp_reshape(c, imp_shape_of(c, tf_full(c, imp_const(c, TN_U8, 0), (tn_dims){1, &rows})), 0, NULL);
    ids = imp_choose(c, out, last, ids);
    tn_value y = segments(c, x, ids, more, kind_of(c->row->op), true);
    tn_value n = imp_count_up(c, rows);
    imp_out(c, 0, imp_take(c, y, n, 0));
}

/* data, indices, segment_ids(, num_segments) */
static void sparse_segment(imp_node *c)
{
    tn_value x = imp_in(c, 0), at = imp_in(c, 1), ids = imp_in(c, 2);
    imp_attr_ignore(c, "sparse_gradient");
    if (c->bad)
        return;
    const tn_expr *rows =
        imp_has(c, 3) ? extent_in(c, imp_in(c, 3), "the number of segments") : segments_of(c, ids);
    x = imp_take(c, x, at, 0);
    imp_out(c, 0, segments(c, x, ids, rows, kind_of(c->row->op), false));
}

/* ---- sparse tensors: indices [n, rank], values [n], shape [rank] ---- */

/* Column k of the indices. */
static tn_value column(imp_node *c, tn_value at, int64_t k)
{
    return imp_squeeze(c, imp_slice(c, at, 1, k, k + 1), 1);
}

/* a_indices, a_values, a_shape, b */
static void sparse_product(imp_node *c)
{
    tn_value at = imp_cast(c, imp_in(c, 0), TN_I64), v = imp_in(c, 1), b = imp_in(c, 3);
    bool turn_a = imp_attr_int(c, "adjoint_a", 0) != 0, turn_b = imp_attr_int(c, "adjoint_b", 0) != 0;
    tn_dims shape = imp_extents_in(c, imp_in(c, 2), "the shape");
    static const int64_t turned[] = {1, 0};
    if (!c->bad && (shape.n != 2 || imp_rank(b) != 2))
        imp_refuse(c, IMP_OPERANDS,
                   "it multiplies a sparse tensor of %u dimensions and %s, but matrices are wanted",
                   (unsigned)shape.n, imp_type_text(c, imp_type(b)));
    if (c->bad)
        return;
    b = turn_b ? imp_transpose(c, b, 2, turned) : b;
    tn_value rows = imp_take(c, b, column(c, at, !turn_a), 0);
    rows = imp_binary(c, &tn_op_multiply, rows, imp_unsqueeze(c, v, 1));
    tn_value zero = rows_of(c, shape.at[turn_a], b, 1, tf_number(c, b, 0));
    imp_out(c, 0, scattered(c, zero, column(c, at, turn_a), rows, "add"));
}

/* a_indices, a_values, a_shape, b */
static void sparse_add(imp_node *c)
{
    static const tn_scatter_attr add = {0, "add"};
    tn_value at = imp_cast(c, imp_in(c, 0), TN_I64), v = imp_in(c, 1), b = imp_in(c, 3);
    (void)imp_in(c, 2);
    imp_out(c, 0, imp_call(c, &tn_op_scatter_nd, &add, 3, (const tn_value[]){b, at, v}));
}

/* SparseReshape: indices [n, rank], shape, new shape of as many elements -> indices, shape. */
static void sparse_reshape(imp_node *c)
{
    tn_value at = imp_cast(c, imp_in(c, 0), TN_I64), place = {0}, part[IMP_MAX_RANK];
    tn_ints from = imp_ints_in(c, imp_in(c, 1), "the shape"),
            to = imp_ints_in(c, imp_in(c, 2), "the new shape");
    int64_t all = 1, rest = 1, open = -1, dim[IMP_MAX_RANK];
    bool good = from.n && from.n <= IMP_MAX_RANK && to.n && to.n <= IMP_MAX_RANK;
    for (uint32_t i = 0; good && i < from.n; i++)
        good = from.at[i] >= 0 && !__builtin_mul_overflow(all, from.at[i], &all);
    for (uint32_t i = 0; good && i < to.n; i++) {
        dim[i] = to.at[i];
        if (dim[i] == -1 && open < 0)
            open = i;
        else
            good = dim[i] > 0 && !__builtin_mul_overflow(rest, dim[i], &rest);
    }
    good = good && (open < 0 ? rest == all : all % rest == 0);
    if (!c->bad && !good)
        imp_refuse(c, IMP_BAD_VALUE, "a sparse tensor of %u dimensions cannot have that shape",
                   (unsigned)from.n);
    if (c->bad)
        return;
    if (open >= 0)
        dim[open] = all / rest;
    for (uint32_t i = 0; i < from.n; i++) { /* the number of the element */
        tn_value next = column(c, at, i);
        place = i ? imp_binary(c, &tn_op_add, imp_with(c, &tn_op_multiply, place, (double)from.at[i]), next)
                  : next;
    }
    for (int i = (int)to.n - 1; i >= 0; i--) {
        tn_value n = imp_i64(c, dim[i] ? dim[i] : 1);
        part[i] = imp_unsqueeze(c, i ? imp_binary(c, &tn_op_floor_mod, place, n) : place, 1);
        place = imp_binary(c, &tn_op_trunc_divide, place, n);
    }
    imp_out(c, 0, imp_concat(c, to.n, part, 1));
    imp_out_any(c, 1, imp_const_ints(c, TN_I64, 1, to.n, dim));
}

/* ---- histograms ---- */

/* Bincount: arr, size, weights; DenseBincount: input [n] or [rows, n]. Numbers from `size` on are left out. */
static void bincount(imp_node *c)
{
    tn_value x = imp_in(c, 0), size = imp_in(c, 1), w = imp_in(c, 2);
    bool dense = strcmp(c->row->op, "DenseBincount") == 0, binary = imp_attr_int(c, "binary_output", 0) != 0;
    bool matrix = dense && imp_rank(x) == 2;
    const tn_expr *bins = extent_in(c, size, "the number of bins");
    bool weighted = imp_rank(w) > 0 && !tn_is_value(imp_product(c, imp_type(w), 0, imp_rank(w)), 0);
    if (c->bad)
        return;
    tn_dtype t = imp_type(w)->dtype;
    tn_value last = imp_cast(c, imp_rank(size) ? imp_reshape(c, size, 0, NULL) : size, TN_I64);
    tn_value at = imp_cast(c, matrix ? x : imp_flat(c, x), TN_I64);
    at = imp_binary(c, &tn_op_minimum, at, last);
    const tn_expr *more = tn_add(c->pool, bins, tn_idx(c->pool, 1)),
                  *dim[2] = {matrix ? imp_type(x)->dim[0] : NULL, more};
    tn_value v =
        weighted ? w : tf_full(c, imp_const(c, t, 1), (tn_dims){(uint32_t)imp_rank(at), imp_type(at)->dim});
    tn_value zero = tf_full(c, imp_const(c, t, 0), matrix ? (tn_dims){2, dim} : (tn_dims){1, &more});
    tn_scatter_attr how = {matrix, binary ? "max" : "add"};
    tn_value y = imp_call(c, &tn_op_scatter_elements, &how, 3,
                          (const tn_value[]){zero, at, matrix ? v : imp_flat(c, v)});
    imp_out(c, 0, imp_take(c, y, imp_count_up(c, bins), matrix));
}

/* ---- positions ---- */

/* UnravelIndex: positions [n] or one, dims [rank] -> [rank, n] or [rank]. */
static void unravel(imp_node *c)
{
    tn_value at = imp_in(c, 0), part[IMP_MAX_RANK];
    tn_ints dims = imp_ints_in(c, imp_in(c, 1), "the shape");
    if (!c->bad && (dims.n < 1 || dims.n > IMP_MAX_RANK))
        imp_refuse(c, IMP_TOO_LARGE, "the shape has %u dimensions", (unsigned)dims.n);
    for (int i = (int)dims.n - 1; i >= 0 && !c->bad; i--) {
        tn_value n = tf_number(c, at, (double)dims.at[i]);
        part[i] = imp_unsqueeze(c, i ? imp_binary(c, &tn_op_floor_mod, at, n) : at, 0);
        at = imp_binary(c, &tn_op_trunc_divide, at, n);
    }
    imp_out(c, 0, c->bad ? at : imp_concat(c, dims.n, part, 0));
}

// clang-format off
const imp_row tf_rows_segment[] = {
    {"Bincount",                           1, 0, 3, 1, bincount,       NULL},
    {"DenseBincount",                      1, 0, 3, 1, bincount,       NULL},
    {"SegmentMax",                         1, 0, 2, 1, segment,        NULL},
    {"SegmentMean",                        1, 0, 2, 1, segment,        NULL},
    {"SegmentMin",                         1, 0, 2, 1, segment,        NULL},
    {"SegmentProd",                        1, 0, 2, 1, segment,        NULL},
    {"SegmentSum",                         1, 0, 2, 1, segment,        NULL},
    {"SparseReshape",                      1, 0, 3, 2, sparse_reshape, NULL},
    {"SparseSegmentMean",                  1, 0, 3, 1, sparse_segment, NULL},
    {"SparseSegmentMeanWithNumSegments",   1, 0, 4, 1, sparse_segment, NULL},
    {"SparseSegmentSqrtN",                 1, 0, 3, 1, sparse_segment, NULL},
    {"SparseSegmentSqrtNWithNumSegments",  1, 0, 4, 1, sparse_segment, NULL},
    {"SparseSegmentSum",                   1, 0, 3, 1, sparse_segment, NULL},
    {"SparseSegmentSumWithNumSegments",    1, 0, 4, 1, sparse_segment, NULL},
    {"SparseTensorDenseAdd",               1, 0, 4, 1, sparse_add,     NULL},
    {"SparseTensorDenseMatMul",            1, 0, 4, 1, sparse_product, NULL},
    {"UnravelIndex",                       1, 0, 2, 1, unravel,        NULL},
    {"UnsortedSegmentMax",                 1, 0, 3, 1, unsorted,       NULL},
    {"UnsortedSegmentMin",                 1, 0, 3, 1, unsorted,       NULL},
    {"UnsortedSegmentProd",                1, 0, 3, 1, unsorted,       NULL},
    {"UnsortedSegmentSum",                 1, 0, 3, 1, unsorted,       NULL},
    {0},
};
// clang-format on
