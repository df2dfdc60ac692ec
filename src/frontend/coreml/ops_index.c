/* Elements at positions: gathering, scattering, sorting, one-hot, scans, triangles. */
#include "frontend/coreml/coreml.h"

#include <string.h>

static tn_value checked(imp_node *c, tn_value at, const tn_type *t, int first, int64_t n)
{
    tn_extent_attr a = {tn_dims_make(c->arena, (uint32_t)n, t->dim + first)};
    return imp_call1(c, &tn_op_checked_index, &a, at);
}

tn_value cm_positions(imp_node *c, tn_value at, tn_value x, int axis)
{
    at = imp_cast(c, at, TN_I64);
    return c->bad ? at : checked(c, at, imp_type(x), axis, 1);
}

/* Positions in the dimensions of x that follow the first `batch`, in the last dimension of `at`. */
static tn_value row_positions(imp_node *c, tn_value at, tn_value x, int64_t batch)
{
    const tn_type *t = imp_type(x), *i = imp_type(at);
    int64_t n = 1;
    at = imp_cast(c, at, TN_I64);
    if (!c->bad && (i->n < 1 || !tn_is_int(i->dim[i->n - 1], &n) || n < 1 || batch < 0 || n > t->n - batch))
        imp_refuse(c, IMP_OPERANDS, "positions %s do not fit %s", imp_type_text(c, i), imp_type_text(c, t));
    return c->bad ? at : checked(c, at, t, (int)batch, n);
}

/* What old programs have as a flag without a meaning here. */
static void ignore_checks(imp_node *c) { imp_attr_ignore(c, "validate_indices"); }

static void gather(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x"), at = cm_in(c, 1, "indices");
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    int64_t batch = imp_attr_int(c, "batch_dims", 0);
    ignore_checks(c);
    at = cm_positions(c, at, x, axis);
    if (batch < 0 || batch > IMP_MAX_RANK)
        imp_refuse(c, IMP_BAD_VALUE, "batch_dims is %lld", (long long)batch);
    else
        imp_out(c, 0, batch ? imp_take_of_each(c, x, at, axis, (int)batch) : imp_take(c, x, at, axis));
}

static void gather_along_axis(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x"), at = cm_in(c, 1, "indices");
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    tn_axis_attr a = {axis};
    ignore_checks(c);
    imp_out(c, 0, imp_call2(c, &tn_op_gather, &a, x, cm_positions(c, at, x, axis)));
}

static void gather_nd(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x"), at = cm_in(c, 1, "indices");
    tn_gather_nd_attr a = {imp_attr_int(c, "batch_dims", 0)};
    ignore_checks(c);
    imp_out(c, 0, imp_call2(c, &tn_op_gather_nd, &a, x, row_positions(c, at, x, a.batch_dims)));
}

/* How the updates are joined to the data, as the operators of scattering call it. What is subtracted is added with
 * another sign, what divides is multiplied as 1 / updates. */
static const char *scatter_mode(imp_node *c, tn_value *updates)
{
    enum { UPDATE, ADD, SUB, MUL, DIV, MAX, MIN, N };
    static const char *const names[] = {"update", "add", "sub", "mul", "div", "max", "min"};
    int64_t mode = 0;
    if (cm_is_layer(c)) {
        mode = imp_attr_int(c, "mode", 0);
    } else {
        const char *text = imp_attr_string(c, "mode", "add");
        while (mode < N && strcmp(text, names[mode]) != 0)
            mode++;
    }
    bool whole = updates->def && !tn_dtype_is_float(imp_type(*updates)->dtype);
    if (mode < 0 || mode >= N || (mode == DIV && whole))
        imp_refuse(c, IMP_BAD_VALUE, "this mode of scattering is not supported");
    if (c->bad)
        return names[UPDATE];
    if (mode == SUB)
        *updates = imp_unary(c, &tn_op_negative, *updates);
    else if (mode == DIV)
        *updates = cm_bin(c, &tn_op_divide, imp_const(c, imp_type(*updates)->dtype, 1), *updates);
    return names[mode == SUB ? ADD : mode == DIV ? MUL : mode];
}

static void scatter_along_axis(imp_node *c)
{
    tn_value x = cm_in(c, 0, "data"), at = cm_in(c, 1, "indices"), updates = cm_in(c, 2, "updates");
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    tn_scatter_attr a = {axis, scatter_mode(c, &updates)};
    ignore_checks(c);
    at = cm_positions(c, at, x, axis);
    imp_out(c, 0, imp_call(c, &tn_op_scatter_elements, &a, 3, (const tn_value[]){x, at, updates}));
}

/* Dimensions [from, from + n) of v to the front, or from there back to their place. */
static tn_value moved(imp_node *c, tn_value v, int from, int n, bool back)
{
    int rank = imp_rank(v);
    int64_t perm[IMP_MAX_RANK], other[IMP_MAX_RANK];
    for (int i = 0; i < rank && !c->bad; i++) {
        perm[i] = i < n ? from + i : i < n + from ? i - n : i;
        other[perm[i]] = i;
    }
    return c->bad ? v : imp_transpose(c, v, rank, back ? other : perm);
}

/* Slices of the data along an axis, which are set to slices of the updates: the positions' dimensions stand in the
 * place of the axis there. */
static void scatter(imp_node *c)
{
    tn_value x = cm_in(c, 0, "data"), at = cm_in(c, 1, "indices"), updates = cm_in(c, 2, "updates");
    int rank = imp_rank(x), n = imp_rank(at), axis = imp_axis(c, imp_attr_int(c, "axis", 0), rank);
    tn_scatter_attr a = {0, scatter_mode(c, &updates)};
    ignore_checks(c);
    if (!c->bad && (rank > IMP_MAX_RANK || imp_rank(updates) != rank - 1 + n || rank - 1 + n > IMP_MAX_RANK))
        imp_refuse(c, IMP_OPERANDS, "updates %s do not fit data %s and positions %s",
                   imp_type_text(c, imp_type(updates)), imp_type_text(c, imp_type(x)),
                   imp_type_text(c, imp_type(at)));
    at = imp_unsqueeze(c, cm_positions(c, at, x, axis), n);
    const tn_value in[] = {moved(c, x, axis, 1, false), at, moved(c, updates, axis, n, false)};
    imp_out(c, 0, moved(c, imp_call(c, &tn_op_scatter_nd, &a, 3, in), axis, 1, true));
}

static void scatter_nd(imp_node *c)
{
    tn_value x = cm_in(c, 0, "data"), at = cm_in(c, 1, "indices"), updates = cm_in(c, 2, "updates");
    tn_scatter_attr a = {0, scatter_mode(c, &updates)};
    ignore_checks(c);
    at = row_positions(c, at, x, 0);
    imp_out(c, 0, imp_call(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){x, at, updates}));
}

/* How many elements: an attribute, or an operand in its place. */
static tn_dims size_of(imp_node *c, const char *attr, const char *operand, int64_t otherwise)
{
    int64_t n = imp_attr_int(c, attr, otherwise);
    bool given = cm_is_layer(c) ? imp_has(c, 1) : cm_has(c, 1, operand) && !imp_has_attr(c, attr);
    if (given)
        return imp_sizes_in(c, imp_cast(c, cm_in(c, 1, operand), TN_I64), operand);
    if (n < 1)
        imp_refuse(c, IMP_BAD_VALUE, "%s is %lld, but must be at least 1", attr, (long long)n);
    return tn_make_dims(c->g, 1, &n);
}

static void top_k(imp_node *c)
{
    bool layer = cm_is_layer(c);
    tn_value x = cm_in(c, 0, "x");
    tn_topk_attr a = {.axis = imp_attr_int(c, "axis", layer ? 0 : -1),
                      .is_ascend = cm_flag(c, layer ? "useBottomK" : "ascending"),
                      .dtype = TN_I32,
                      .k = size_of(c, layer ? "K" : "k", "k", 1)};
    imp_attr_ignore(c, "sort");
    imp_attr_ignore(c, "return_indices");
    imp_attr_ignore(c, "output_indices_dtype");
    tn_value y = imp_call1(c, &tn_op_topk, &a, x);
    if (c->bad)
        return;
    imp_out(c, 0, y);
    tn_value at = {y.def, 1};
    imp_out_any(c, 1, layer ? imp_cast(c, at, TN_F32) : at);
}

static void arg_sort(imp_node *c)
{
    bool layer = cm_is_layer(c);
    tn_value x = cm_in(c, 0, "x");
    int axis = imp_axis(c, imp_attr_int(c, "axis", layer ? 0 : -1), imp_rank(x));
    bool up = layer ? !cm_flag(c, "descending") : cm_flag(c, "ascending");
    tn_topk_attr a = {.axis = axis, .is_ascend = up, .dtype = TN_I32};
    if (c->bad)
        return;
    a.k = tn_dims_make(c->arena, 1, &imp_type(x)->dim[axis]);
    tn_value at = {imp_call1(c, &tn_op_topk, &a, x).def, 1};
    if (!c->bad)
        imp_out(c, 0, layer ? imp_cast(c, at, TN_F32) : at);
}

static void one_hot(imp_node *c)
{
    bool layer = cm_is_layer(c);
    tn_value at = imp_cast(c, cm_in(c, 0, "indices"), TN_I64);
    tn_value below = imp_with(c, &tn_op_less, at, 0), outside = imp_i64(c, INT32_MAX);
    at = imp_choose(c, below, outside, at); /* below 0 there is no place */
    tn_dims n = size_of(c, layer ? "oneHotVectorSize" : "one_hot_vector_size", "one_hot_vector_size", 0);
    tn_one_hot_attr a = {n, imp_attr_int(c, "axis", layer ? 0 : -1)};
    tn_value on = {0}, off = {0};
    if (layer) {
        on = imp_const(c, TN_F32, imp_attr_float(c, "onValue", 0));
        off = imp_const(c, TN_F32, imp_attr_float(c, "offValue", 0));
    } else {
        on = cm_has(c, 9, "on_value") ? cm_in(c, 9, "on_value") : imp_const(c, TN_I32, 1);
        off = cm_has(c, 9, "off_value") ? cm_in(c, 9, "off_value") : imp_const(c, TN_I32, 0);
    }
    imp_out(c, 0, imp_call(c, &tn_op_one_hot, &a, 3, (const tn_value[]){at, on, off}));
}

/* Positions of what is not 0, a row each. */
static void non_zero(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x"), row[IMP_MAX_RANK];
    const tn_type *t = imp_type(x);
    if (!c->bad && (t->n < 1 || t->n > IMP_MAX_RANK))
        imp_refuse(c, IMP_OPERANDS, "%s has no positions", imp_type_text(c, t));
    tn_value at = imp_positions(c, imp_flat(c, imp_cast(c, x, TN_BOOL1)));
    for (int d = t->n - 1; d >= 0 && !c->bad; d--) { /* the last position runs fastest */
        tn_value n = imp_extent_of(c, x, d), above = d ? imp_binary(c, &tn_op_divide, at, n) : at;
        tn_value whole = d ? imp_binary(c, &tn_op_multiply, above, n) : at;
        row[d] = imp_unsqueeze(c, d ? imp_binary(c, &tn_op_subtract, at, whole) : at, 1);
        at = above;
    }
    if (!c->bad)
        imp_out(c, 0, imp_cast(c, imp_concat(c, (uint32_t)t->n, row, 1), cm_is_layer(c) ? TN_F32 : TN_I32));
}

static void cumsum(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    bool layer = cm_is_layer(c);
    int64_t axis = imp_attr_int(c, "axis", 0);
    if (layer && imp_has(c, 1))
        axis = imp_int_in(c, imp_cast(c, imp_in(c, 1), TN_I64), "the axis");
    tn_scan_attr a = {.axis = axis,
                      .exclusive = cm_flag(c, layer ? "excludeFinalSum" : "exclusive"),
                      .reverse = cm_flag(c, "reverse")};
    imp_out(c, 0, imp_call1(c, &tn_op_cumsum, &a, x));
}

static tn_value triangle(imp_node *c, tn_value x, bool upper, int64_t k)
{
    tn_trilu_attr a = {upper};
    return imp_call2(c, &tn_op_trilu, &a, x, imp_i64(c, k));
}

/* Diagonals from -lower to upper; below 0: all. */
static void band_part(imp_node *c)
{
    bool layer = cm_is_layer(c);
    tn_value x = cm_in(c, 0, "x");
    int64_t lower = imp_attr_int(c, layer ? "numLower" : "lower", layer ? 0 : -1),
            upper = imp_attr_int(c, layer ? "numUpper" : "upper", layer ? 0 : -1);
    x = lower < 0 ? x : triangle(c, x, true, -lower);
    imp_out(c, 0, upper < 0 ? x : triangle(c, x, false, upper));
}

static void triangular(imp_node *c)
{
    bool upper = c->row->op[0] == 'u';
    imp_out(c, 0, triangle(c, imp_in(c, 0), upper, imp_attr_int(c, "k", 0)));
}

static void reverse_seq(imp_node *c)
{
    bool layer = cm_is_layer(c);
    tn_value x = cm_in(c, 0, "x"), n = imp_cast(c, cm_in(c, 1, "lengths"), TN_I64);
    tn_reverse_sequence_attr a = {imp_attr_int(c, layer ? "sequenceAxis" : "seq_axis", 0),
                                  imp_attr_int(c, layer ? "batchAxis" : "batch_axis", 0)};
    imp_out(c, 0, imp_call2(c, &tn_op_reverse_sequence, &a, x, n));
}

// clang-format off
const imp_row cm_rows_index[] = {
    {"gather",             0, 0, -1, 1, gather,             NULL},
    {"gatherAlongAxis",    0, 0,  2, 1, gather_along_axis,  NULL},
    {"gather_along_axis",  0, 0, -1, 1, gather_along_axis,  NULL},
    {"gatherND",           0, 0,  2, 1, gather_nd,          NULL},
    {"gather_nd",          0, 0, -1, 1, gather_nd,          NULL},
    {"scatterAlongAxis",   0, 0,  3, 1, scatter_along_axis, NULL},
    {"scatter_along_axis", 0, 0, -1, 1, scatter_along_axis, NULL},
    {"scatter",            0, 0, -1, 1, scatter,            NULL},
    {"scatterND",          0, 0,  3, 1, scatter_nd,         NULL},
    {"scatter_nd",         0, 0, -1, 1, scatter_nd,         NULL},
    {"topK",               0, 0,  2, 2, top_k,              NULL},
    {"topk",               0, 0, -1, 2, top_k,              NULL},
    {"argSort",            0, 0,  1, 1, arg_sort,           NULL},
    {"argsort",            0, 0, -1, 1, arg_sort,           NULL},
    {"oneHot",             0, 0,  2, 1, one_hot,            NULL},
    {"one_hot",            0, 0, -1, 1, one_hot,            NULL},
    {"whereNonZero",       0, 0,  1, 1, non_zero,           NULL},
    {"non_zero",           0, 0, -1, 1, non_zero,           NULL},
    {"cumSum",             0, 0,  2, 1, cumsum,             NULL},
    {"cumsum",             0, 0, -1, 1, cumsum,             NULL},
    {"matrixBandPart",     0, 0,  1, 1, band_part,          NULL},
    {"band_part",          0, 0, -1, 1, band_part,          NULL},
    {"lowerTriangular",    0, 0,  1, 1, triangular,         NULL},
    {"upperTriangular",    0, 0,  1, 1, triangular,         NULL},
    {"reverseSeq",         0, 0,  2, 1, reverse_seq,        NULL},
    {"reverse_sequence",   0, 0, -1, 1, reverse_seq,        NULL},
    {0},
};
// clang-format on
