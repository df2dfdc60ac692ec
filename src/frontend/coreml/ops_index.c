/* Elements at positions: gathering, scattering, sorting, one-hot, scans, triangles. */
#include "frontend/coreml/coreml.h"

#include <string.h>

tn_value cm_positions(imp_node *c, tn_value at, tn_value x, int axis)
{
    const tn_type *t = imp_type(x), *i = imp_type(at);
    int64_t n = 1;
    at = imp_cast(c, at, TN_I64);
    if (c->bad)
        return at;
    if (axis < 0 && (i->n < 1 || !tn_is_int(i->dim[i->n - 1], &n) || n < 1 || n > t->n))
        imp_refuse(c, IMP_OPERANDS, "positions %s do not fit %s", imp_type_text(c, i), imp_type_text(c, t));
    tn_extent_attr a = {tn_dims_make(c->arena, c->bad ? 0 : (uint32_t)n, t->dim + (axis < 0 ? 0 : axis))};
    return imp_call1(c, &tn_op_checked_index, &a, at);
}

/* What old programs have as a flag without a meaning here. */
static void ignore_checks(imp_node *c) { imp_attr_ignore(c, "validate_indices"); }

static void gather(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x"), at = cm_in(c, 1, "indices");
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    ignore_checks(c);
    if (imp_attr_int(c, "batch_dims", 0))
        imp_refuse(c, IMP_BAD_VALUE, "batch_dims is not supported");
    imp_out(c, 0, imp_take(c, x, cm_positions(c, at, x, axis), axis));
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
    if (a.batch_dims)
        imp_refuse(c, IMP_BAD_VALUE, "batch_dims is not supported");
    imp_out(c, 0, imp_call2(c, &tn_op_gather_nd, &a, x, cm_positions(c, at, x, -1)));
}

static const char *scatter_mode(imp_node *c)
{
    static const char *const layers[] = {"update", "add", NULL, "mul", NULL, "max", "min"};
    int64_t mode = 0;
    const char *text = "add";
    if (cm_is_layer(c)) {
        mode = imp_attr_int(c, "mode", 0);
        text = mode >= 0 && mode < 7 ? layers[mode] : NULL;
    } else {
        text = imp_attr_string(c, "mode", "add");
        bool known = strcmp(text, "update") == 0 || strcmp(text, "add") == 0 || strcmp(text, "mul") == 0 ||
                     strcmp(text, "max") == 0 || strcmp(text, "min") == 0;
        text = known ? text : NULL;
    }
    if (!text)
        imp_refuse(c, IMP_BAD_VALUE, "this mode of scattering is not supported");
    return text;
}

static void scatter_along_axis(imp_node *c)
{
    tn_value x = cm_in(c, 0, "data"), at = cm_in(c, 1, "indices"), updates = cm_in(c, 2, "updates");
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    tn_scatter_attr a = {axis, scatter_mode(c)};
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
    tn_scatter_attr a = {0, scatter_mode(c)};
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
    tn_scatter_attr a = {0, scatter_mode(c)};
    ignore_checks(c);
    at = cm_positions(c, at, x, -1);
    imp_out(c, 0, imp_call(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){x, at, updates}));
}

static void top_k(imp_node *c)
{
    bool layer = cm_is_layer(c);
    tn_value x = cm_in(c, 0, "x");
    int64_t k = imp_attr_int(c, layer ? "K" : "k", 1), axis = imp_attr_int(c, "axis", layer ? 0 : -1);
    tn_topk_attr a = {
        .axis = axis, .is_ascend = cm_flag(c, layer ? "useBottomK" : "ascending"), .dtype = TN_I32};
    a.k = tn_make_dims(c->g, 1, &k);
    imp_attr_ignore(c, "sort");
    imp_attr_ignore(c, "return_indices");
    imp_attr_ignore(c, "output_indices_dtype");
    if ((layer && c->n_in > 1) || k < 1)
        imp_refuse(c, IMP_NOT_CONSTANT, "k must be known at compile time, and at least 1");
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
    int64_t n = imp_attr_int(c, layer ? "oneHotVectorSize" : "one_hot_vector_size", 0);
    tn_one_hot_attr a = {tn_make_dims(c->g, 1, &n), imp_attr_int(c, "axis", layer ? 0 : -1)};
    tn_value on = {0}, off = {0};
    if (layer) {
        on = imp_const(c, TN_F32, imp_attr_float(c, "onValue", 0));
        off = imp_const(c, TN_F32, imp_attr_float(c, "offValue", 0));
    } else {
        on = cm_has(c, 9, "on_value") ? cm_in(c, 9, "on_value") : imp_const(c, TN_I32, 1);
        off = cm_has(c, 9, "off_value") ? cm_in(c, 9, "off_value") : imp_const(c, TN_I32, 0);
    }
    if (n < 1)
        imp_refuse(c, IMP_BAD_VALUE, "the size of a one-hot vector must be a number above 0");
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
        tn_value n = imp_extent_of(c, x, d), above = d ? imp_call2(c, &tn_op_divide, NULL, at, n) : at;
        tn_value whole = d ? imp_call2(c, &tn_op_multiply, NULL, above, n) : at;
        row[d] = imp_unsqueeze(c, d ? imp_call2(c, &tn_op_subtract, NULL, at, whole) : at, 1);
        at = above;
    }
    if (!c->bad)
        imp_out(c, 0, imp_cast(c, imp_concat(c, (uint32_t)t->n, row, 1), cm_is_layer(c) ? TN_F32 : TN_I32));
}

static void cumsum(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    bool layer = cm_is_layer(c);
    tn_scan_attr a = {.axis = imp_attr_int(c, "axis", 0),
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
    {"oneHot",             0, 0,  1, 1, one_hot,            NULL},
    {"one_hot",            0, 0, -1, 1, one_hot,            NULL},
    {"whereNonZero",       0, 0,  1, 1, non_zero,           NULL},
    {"non_zero",           0, 0, -1, 1, non_zero,           NULL},
    {"cumSum",             0, 0,  1, 1, cumsum,             NULL},
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
