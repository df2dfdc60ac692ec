/* Reading and writing by positions, selection, order. The run fails where a position is outside. */
#include "frontend/paddle/paddle.h"

#include "op/tensor/tensor.h"

#include <string.h>

/* ---- positions ---- */

/* Are all of them known and inside? */
static bool inside(imp_node *c, tn_value at, const tn_expr *extent)
{
    tn_dims known;
    int64_t n, i;
    if (!imp_host(c, at, &known) || !tn_is_int(extent, &n))
        return false;
    for (uint32_t k = 0; k < known.n; k++)
        if (!tn_is_int(known.at[k], &i) || i < 0 || i >= n)
            return false;
    return true;
}

static tn_value checked(imp_node *c, tn_value at, const tn_expr *extent)
{
    tn_extent_attr a = {tn_dims_make(c->arena, 1, &extent)};
    return c->bad || inside(c, at, extent) ? at : imp_call1(c, &tn_op_checked_index, &a, at);
}

/* Rows of positions, which begin at the first dimension. */
static tn_value checked_rows(imp_node *c, tn_value at, tn_value x)
{
    int64_t n = 0;
    const tn_type *i = imp_type(at), *t = imp_type(x);
    if (c->bad || i->n < 1 || !tn_is_int(i->dim[i->n - 1], &n) || n < 1 || n > t->n)
        return at; /* the operator says what is wrong, or nothing is selected */
    tn_extent_attr a = {tn_dims_make(c->arena, (uint32_t)n, t->dim)};
    return imp_call1(c, &tn_op_checked_index, &a, at);
}

static tn_value taken(imp_node *c, tn_value x, tn_value at, int axis)
{
    if (!c->bad && axis >= imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "positions along dimension %d of %s", axis,
                   imp_type_text(c, imp_type(x)));
    return c->bad ? x : imp_take(c, x, checked(c, at, imp_type(x)->dim[axis]), axis);
}

static void gather(imp_node *c)
{
    tn_value x = pd_in(c, "X"), at = pd_in(c, "Index");
    bool select = strcmp(c->row->op, "index_select") == 0;
    int64_t where = pd_int(c, "Axis", select ? "dim" : "axis", 0);
    imp_attr_ignore(c, "overwrite");
    int axis = imp_axis(c, where, imp_rank(x));
    if (imp_rank(at) == 2 && tn_is_value(imp_type(at)->dim[1], 1))
        at = imp_squeeze(c, at, 1);
    pd_out(c, "Out", taken(c, x, at, axis));
}

static void gather_nd(imp_node *c)
{
    tn_value x = pd_in(c, "X"), at = pd_in(c, "Index");
    tn_gather_nd_attr a = {0};
    pd_out(c, "Out", imp_call2(c, &tn_op_gather_nd, &a, x, checked_rows(c, at, x)));
}

static void gather_along(imp_node *c, tn_value x, tn_value at, int64_t axis, const char *to)
{
    tn_axis_attr a = {imp_axis(c, axis, imp_rank(x))};
    if (!c->bad)
        at = checked(c, at, imp_type(x)->dim[a.axis]);
    pd_out(c, to, imp_call2(c, &tn_op_gather, &a, x, at));
}

static void index_sample(imp_node *c) { gather_along(c, pd_in(c, "X"), pd_in(c, "Index"), 1, "Out"); }

/* Dimensions beside the axis are broadcast. */
static tn_value widened(imp_node *c, tn_value v, tn_value like, int axis, bool keep)
{
    const tn_type *t = imp_type(v), *u = imp_type(like);
    const tn_expr *dim[IMP_MAX_RANK];
    bool same = true;
    if (c->bad || t->n != u->n)
        return v;
    for (int i = 0; i < t->n; i++) {
        dim[i] = (i == axis && keep) || !tn_is_value(t->dim[i], 1) ? t->dim[i] : u->dim[i];
        same = same && dim[i] == t->dim[i];
    }
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)t->n, dim)};
    return same ? v : imp_call1(c, &tn_op_broadcast_to, &a, v);
}

static void take_along_axis(imp_node *c)
{
    tn_value x = pd_in(c, "Input"), at = pd_in(c, "Index");
    int axis = imp_axis(c, imp_attr_int(c, "Axis", 0), imp_rank(x));
    gather_along(c, x, at, axis, "Result");
}

static void put_along_axis(imp_node *c)
{
    static const struct {
        const char *name, *how;
    } kinds[] = {{"assign", "update"}, {"add", "add"},  {"mul", "mul"},
                 {"multiply", "mul"},  {"amin", "min"}, {"amax", "max"}};
    tn_value x = pd_in(c, "Input"), at = pd_in(c, "Index"), v = pd_in(c, "Value");
    tn_scatter_attr a = {imp_axis(c, imp_attr_int(c, "Axis", 0), imp_rank(x)), NULL};
    const char *how = imp_attr_string(c, "Reduce", "assign");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        a.reduction = strcmp(how, kinds[i].name) == 0 ? kinds[i].how : a.reduction;
    if (!a.reduction || (strcmp(how, "assign") != 0 && !pd_bool(c, "Include_self", true)))
        imp_refuse(c, IMP_BAD_VALUE,
                   "Reduce is \"%s\"; assign, add, multiply, amin and amax are supported, with the "
                   "old values included",
                   how);
    imp_attr_ignore(c, "Include_self");
    if (c->bad)
        return;
    at = checked(c, at, imp_type(x)->dim[a.axis]);
    v = widened(c, v, at, -1, false);
    pd_out(c, "Result", imp_call(c, &tn_op_scatter_elements, &a, 3, (const tn_value[]){x, at, v}));
}

/* Rows for numbers; those for padding_idx are zeros. */
static void lookup(imp_node *c)
{
    tn_value table = pd_in(c, "W"), at = pd_in(c, "Ids");
    int64_t none = imp_attr_int(c, "padding_idx", -1);
    if (strcmp(c->row->op, "lookup_table") == 0 && imp_rank(at) > 1)
        at = imp_squeeze(c, at, imp_rank(at) - 1);
    tn_value rows = taken(c, table, at, 0);
    if (none >= 0 && !c->bad) {
        tn_value empty = imp_unsqueeze(c, imp_with(c, &tn_op_equal, at, (double)none), imp_rank(at));
        rows = imp_choose(c, empty, pd_number(c, rows, 0), rows);
    }
    pd_out(c, "Out", rows);
}

/* ---- writing ---- */

static tn_value scattered(imp_node *c, tn_value x, tn_value at, tn_value updates, const char *how)
{
    tn_scatter_attr a = {0, how};
    return imp_call(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){x, at, updates});
}

/* Whole rows; without overwriting, the sums of the new ones alone. */
static void scatter(imp_node *c)
{
    tn_value x = pd_in(c, "X"), at = pd_in(c, "Ids"), updates = pd_in(c, "Updates");
    bool overwrite = pd_bool(c, "overwrite", true);
    if (imp_rank(at) < 2 && !c->bad)
        at = imp_unsqueeze(c, at, imp_rank(at));
    at = checked_rows(c, at, x);
    if (!overwrite)
        x = scattered(c, x, at, imp_with(c, &tn_op_multiply, updates, 0), "update");
    pd_out(c, "Out", scattered(c, x, at, updates, overwrite ? "update" : "add"));
}

static void scatter_nd_add(imp_node *c)
{
    tn_value x = pd_in(c, "X"), at = checked_rows(c, pd_in(c, "Index"), x);
    pd_out(c, "Out", scattered(c, x, at, pd_in(c, "Updates"), "add"));
}

/* ---- choice ---- */

static void one_hot(imp_node *c)
{
    tn_value at = imp_cast(c, pd_in(c, "X"), TN_I64);
    tn_dtype t = pd_dtype(c, "dtype", TN_F32);
    tn_one_hot_attr a = {pd_extents(c, "depth_tensor", NULL, "depth"), -1};
    bool outside = pd_bool(c, "allow_out_of_range", false);
    if (!c->bad && a.depth.n == 1 && !outside)
        at = checked(c, at, a.depth.at[0]);
    if (strcmp(c->row->op, "one_hot") == 0 && imp_rank(at) > 1)
        at = imp_squeeze(c, at, imp_rank(at) - 1);
    tn_value in[3] = {at, imp_const(c, t, 1), imp_const(c, t, 0)};
    pd_out(c, "Out", imp_call(c, &tn_op_one_hot, &a, 3, in));
}

/* Positions where x is not 0, a row each. */
static void where_index(imp_node *c)
{
    tn_value x = pd_in(c, "Condition"), column[IMP_MAX_RANK];
    int rank = imp_rank(x);
    if (!c->bad && rank < 1)
        imp_refuse(c, IMP_TOO_LARGE, "a scalar has no positions");
    if (c->bad)
        return;
    tn_value at = imp_positions(c, imp_flat(c, imp_cast(c, x, TN_BOOL1)));
    for (int d = rank - 1; d > 0 && !c->bad; d--) { /* the last index runs fastest */
        tn_value extent = imp_extent_of(c, x, d), above = imp_binary(c, &tn_op_divide, at, extent);
        tn_value whole = imp_binary(c, &tn_op_multiply, above, extent);
        column[d] = imp_unsqueeze(c, imp_binary(c, &tn_op_subtract, at, whole), 1);
        at = above;
    }
    column[0] = imp_unsqueeze(c, at, 1);
    pd_out(c, "Out", c->bad ? x : imp_concat(c, (uint32_t)rank, column, 1));
}

static void masked_select(imp_node *c)
{
    tn_value x = pd_in(c, "X"), mask = pd_in(c, "Mask");
    if (c->bad)
        return;
    tn_value at = imp_positions(c, imp_flat(c, imp_cast(c, widened(c, mask, x, -1, false), TN_BOOL1)));
    pd_out(c, "Y", imp_take(c, imp_flat(c, x), at, 0));
}

/* ---- order ---- */

static void arg(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    bool flat = pd_bool(c, "flatten", false);
    tn_arg_attr a = {.axis = pd_int(c, "AxisTensor", "axis", -1), .keepdims = pd_bool(c, "keepdims", false)};
    a.dtype = pd_dtype(c, "dtype", TN_I64);
    int rank = imp_rank(x);
    const tn_expr *one[IMP_MAX_RANK];
    for (int i = 0; i < rank; i++)
        one[i] = tn_idx(c->pool, 1);
    if (flat || rank == 0) {
        bool keep = a.keepdims;
        a.axis = 0;
        a.keepdims = false;
        tn_value y = imp_call1(c, c->row->relay, &a,
                               c->bad ? x
                               : rank ? imp_flat(c, x)
                                      : imp_unsqueeze(c, x, 0));
        pd_out(c, "Out", keep && rank ? imp_reshape(c, y, rank, one) : y);
        return;
    }
    a.axis = imp_axis(c, a.axis, rank);
    pd_out(c, "Out", imp_call1(c, c->row->relay, &a, x));
}

static void topk(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    tn_topk_attr a = {.axis = imp_attr_int(c, "axis", -1), .dtype = TN_I64};
    a.is_ascend = !pd_bool(c, "largest", true);
    imp_attr_ignore(c, "sorted");
    a.k = pd_extents(c, "K", NULL, "k");
    if (imp_rank(x) == 0 && !c->bad) {
        pd_out(c, "Out", x);
        pd_out(c, "Indices", imp_i64(c, 0));
        return;
    }
    a.axis = imp_axis(c, a.axis, imp_rank(x));
    tn_value y = imp_call1(c, &tn_op_topk, &a, x);
    pd_out(c, "Out", y);
    pd_out(c, "Indices", (tn_value){y.def, 1});
}

static void argsort(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    tn_topk_attr a = {.axis = imp_axis(c, imp_attr_int(c, "axis", -1), imp_rank(x)), .dtype = TN_I64};
    a.is_ascend = !pd_bool(c, "descending", false);
    imp_attr_ignore(c, "stable");
    if (c->bad)
        return;
    a.k = tn_dims_make(c->arena, 1, &imp_type(x)->dim[a.axis]);
    tn_value y = imp_call1(c, &tn_op_topk, &a, x);
    pd_out(c, "Out", y);
    pd_out(c, "Indices", (tn_value){y.def, 1});
}

/* The k-th smallest along an axis. */
static void kthvalue(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    int64_t k = imp_attr_int(c, "k", 1);
    bool keep = pd_bool(c, "keepdim", false);
    tn_topk_attr a = {
        .axis = imp_axis(c, imp_attr_int(c, "axis", -1), imp_rank(x)), .dtype = TN_I64, .is_ascend = true};
    a.k = tn_make_dims(c->g, 1, &k);
    tn_value y = imp_call1(c, &tn_op_topk, &a, x);
    static const char *const to[] = {"Out", "Indices"};
    for (uint32_t i = 0; i < 2 && !c->bad; i++) {
        tn_value one = imp_slice(c, (tn_value){y.def, i}, a.axis, k - 1, k);
        pd_out(c, to[i], keep ? one : imp_squeeze(c, one, a.axis));
    }
}

static void repeat_interleave(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    int64_t times = imp_attr_int(c, "Repeats", 1);
    int rank = imp_rank(x), axis = imp_axis(c, imp_attr_int(c, "dim", 0), rank);
    const tn_expr *dim[IMP_MAX_RANK + 1], *to[IMP_MAX_RANK];
    imp_attr_ignore(c, "output_size");
    if (!c->bad && (times < 1 || times > INT32_MAX || rank >= IMP_MAX_RANK))
        imp_refuse(c, IMP_BAD_VALUE, "Repeats is %lld", (long long)times);
    if (c->bad)
        return;
    for (int i = 0; i <= rank; i++)
        dim[i] = i <= axis       ? imp_type(x)->dim[i]
                 : i == axis + 1 ? tn_idx(c->pool, times)
                                 : imp_type(x)->dim[i - 1];
    for (int i = 0; i < rank; i++)
        to[i] = i == axis ? imp_simplify(c, tn_mul(c->pool, dim[i], tn_idx(c->pool, times)))
                          : imp_type(x)->dim[i];
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)rank + 1, dim)};
    tn_value wide = imp_call1(c, &tn_op_broadcast_to, &a, imp_unsqueeze(c, x, axis + 1));
    pd_out(c, "Out", imp_reshape(c, wide, rank, to));
}

// clang-format off
const imp_row pd_rows_index[] = {
    {"arg_max",           1, 0, -1, -1, arg,               &tn_op_argmax},
    {"arg_min",           1, 0, -1, -1, arg,               &tn_op_argmin},
    {"argsort",           1, 0, -1, -1, argsort,           NULL},
    {"gather",            1, 0, -1, -1, gather,            NULL},
    {"gather_nd",         1, 0, -1, -1, gather_nd,         NULL},
    {"index_sample",      1, 0, -1, -1, index_sample,      NULL},
    {"index_select",      1, 0, -1, -1, gather,            NULL},
    {"kthvalue",          1, 0, -1, -1, kthvalue,          NULL},
    {"lookup_table",      1, 0, -1, -1, lookup,            NULL},
    {"lookup_table_v2",   1, 0, -1, -1, lookup,            NULL},
    {"masked_select",     1, 0, -1, -1, masked_select,     NULL},
    {"one_hot",           1, 0, -1, -1, one_hot,           NULL},
    {"one_hot_v2",        1, 0, -1, -1, one_hot,           NULL},
    {"put_along_axis",    1, 0, -1, -1, put_along_axis,    NULL},
    {"repeat_interleave", 1, 0, -1, -1, repeat_interleave, NULL},
    {"scatter",           1, 0, -1, -1, scatter,           NULL},
    {"scatter_nd_add",    1, 0, -1, -1, scatter_nd_add,    NULL},
    {"take_along_axis",   1, 0, -1, -1, take_along_axis,   NULL},
    {"top_k",             1, 0, -1, -1, topk,              NULL},
    {"top_k_v2",          1, 0, -1, -1, topk,              NULL},
    {"where_index",       1, 0, -1, -1, where_index,       NULL},
    {0},
};
// clang-format on
