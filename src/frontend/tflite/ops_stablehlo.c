/* StableHLO's operators as TFLite's schema has them. Extents are those that the model gives its results. */
#include "frontend/tflite/reduction.h"
#include "frontend/tflite/quant.h"

#include <string.h>

/* ---- elementwise ---- */

static bool is_bool(tn_value v) { return tn_dtype_is_bool(imp_type(v)->dtype); }

static void unary(imp_node *c) { imp_out(c, 0, imp_unary(c, c->row->relay, imp_in(c, 0))); }

static void binary(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    imp_out(c, 0, imp_binary(c, c->row->relay, a, b));
}

/* Of bools logical, of integers bit by bit. */
static void bits(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    bool both = c->row->relay == &tn_op_bitwise_and;
    const tn_op *op = !is_bool(a) ? c->row->relay : both ? &tn_op_logical_and : &tn_op_logical_or;
    imp_out(c, 0, imp_binary(c, op, a, b));
}

static void divide(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    bool real = tn_dtype_is_float(imp_type(a)->dtype);
    imp_out(c, 0, imp_binary(c, real ? &tn_op_divide : &tn_op_trunc_divide, a, b));
}

/* a - trunc(a / b) b, of integers; of floats the sign is a's, too. */
static void remainder_of(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    imp_out(c, 0, imp_binary(c, &tn_op_mod, a, b));
}

static void cube_root(imp_node *c)
{
    tn_value x = imp_in(c, 0), size = imp_unary(c, &tn_op_abs, x);
    tn_value root = imp_with(c, &tn_op_power, size, 1.0 / 3.0);
    imp_out(c, 0, imp_binary(c, &tn_op_multiply, imp_unary(c, &tn_op_sign, x), root));
}

static void clamp(imp_node *c)
{
    tn_value low = imp_in(c, 0), x = imp_in(c, 1), high = imp_in(c, 2);
    x = imp_binary(c, &tn_op_maximum, x, low);
    imp_out(c, 0, imp_binary(c, &tn_op_minimum, x, high));
}

static void select_op(imp_node *c)
{
    tn_value in[] = {imp_in(c, 0), imp_in(c, 1), imp_in(c, 2)};
    imp_out(c, 0, imp_call(c, &tn_op_where, NULL, 3, in));
}

static void compare(imp_node *c)
{
    static const tn_op *const op[] = {&tn_op_equal,   &tn_op_not_equal,  &tn_op_greater_equal,
                                      &tn_op_greater, &tn_op_less_equal, &tn_op_less};
    int64_t direction = imp_attr_int(c, "comparison_direction", 0);
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    imp_attr_ignore(c, "compare_type");
    if (direction < 0 || direction > 5)
        imp_refuse(c, IMP_BAD_VALUE, "comparison_direction is %lld", (long long)direction);
    if (!c->bad)
        imp_out(c, 0, imp_binary(c, op[direction], a, b));
}

/* ---- shapes ---- */

/* The extents that the model gives its result. */
static tn_dims out_dims(imp_node *c)
{
    const tfl_tensor *y = tfl_out(c, 0);
    bool fixed = y && y->has_rank && y->n <= IMP_MAX_RANK;
    for (uint32_t i = 0; fixed && i < y->n; i++)
        fixed = y->signature[i] >= 0;
    if (!fixed)
        imp_refuse(c, IMP_TOO_LARGE, "its result must have fixed extents, and at most %d", IMP_MAX_RANK);
    return c->bad ? (tn_dims){0} : tn_make_dims(c->g, y->n, y->shape);
}

static tn_ints list(imp_node *c, const char *name)
{
    tn_ints v = {0};
    (void)imp_attr_ints(c, name, &v);
    return v;
}

/* Such a list, whose entries are distinct dimensions of a tensor of that rank. */
static tn_ints dims_list(imp_node *c, const char *name, int rank)
{
    tn_ints v = list(c, name);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < v.n && !c->bad; i++)
        if (v.at[i] < 0 || v.at[i] >= rank || seen >> v.at[i] & 1)
            imp_refuse(c, IMP_BAD_VALUE, "%s has entry %lld, twice or beyond %d dimensions", name,
                       (long long)v.at[i], rank);
        else
            seen |= 1u << v.at[i];
    return c->bad ? (tn_ints){0} : v;
}

static void reshape(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_dims d = out_dims(c);
    imp_out(c, 0, c->bad ? x : imp_reshape(c, x, (int)d.n, d.at));
}

static tn_value widened(imp_node *c, tn_value v, tn_dims d)
{
    tn_broadcast_to_attr a = {d};
    return d.n ? imp_call1(c, &tn_op_broadcast_to, &a, v) : v;
}

static void broadcast_in_dim(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_dims d = out_dims(c);
    tn_ints at = imp_has(c, 1) ? imp_ints_in(c, imp_in(c, 1), "broadcast_dimensions")
                               : dims_list(c, "broadcast_dimensions", (int)d.n);
    const tn_expr *dim[IMP_MAX_RANK];
    int64_t last = -1;
    for (uint32_t i = 0; i < d.n; i++)
        dim[i] = tn_idx(c->pool, 1);
    if ((int)at.n != imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "broadcast_dimensions does not fit %s", imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < at.n && !c->bad; last = at.at[i++])
        if (at.at[i] <= last || at.at[i] >= (int64_t)d.n)
            imp_refuse(c, IMP_BAD_VALUE, "broadcast_dimensions must ascend");
        else
            dim[at.at[i]] = imp_type(x)->dim[i];
    if (!c->bad)
        imp_out(c, 0, widened(c, imp_reshape(c, x, (int)d.n, dim), d));
}

static void concatenate(imp_node *c)
{
    uint32_t n = imp_n_in(c);
    tn_value *in = TN_NEW_N(c->arena, tn_value, n);
    for (uint32_t i = 0; i < n; i++)
        in[i] = imp_in(c, i);
    if (n == 0)
        imp_refuse(c, IMP_OPERANDS, "it has no operands; the model is damaged");
    int axis = c->bad ? 0 : imp_axis(c, imp_attr_int(c, "dimension", 0), imp_rank(in[0]));
    imp_out(c, 0, c->bad ? (tn_value){0} : imp_concat(c, n, in, axis));
}

static void slice(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints begin = list(c, "start_indices"), end = list(c, "limit_indices"), step = list(c, "strides");
    if (begin.n != end.n || begin.n != step.n || (int)begin.n != imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "its indices do not fit %s", imp_type_text(c, imp_type(x)));
    tn_slice_attr a = {tn_make_dims(c->g, begin.n, begin.at), tn_make_dims(c->g, end.n, end.at), step, {0}};
    imp_out(c, 0, c->bad || begin.n == 0 ? x : imp_call1(c, &tn_op_strided_slice, &a, x));
}

static void transpose(imp_node *c)
{
    tn_transpose_attr a = {list(c, "permutation")};
    imp_out(c, 0, imp_call1(c, &tn_op_transpose, &a, imp_in(c, 0)));
}

static void convert(imp_node *c)
{
    const tfl_tensor *y = tfl_out(c, 0);
    if (!y || !y->known)
        imp_refuse(c, IMP_BAD_TENSOR, "the result is of a type that is not supported");
    else
        imp_out(c, 0, imp_cast(c, imp_in(c, 0), y->dtype));
}

/* 0 1 2 ... along one dimension of a shape. */
static tn_value counted(imp_node *c, tn_dims d, uint32_t axis)
{
    tn_expand_dims_attr behind = {1, (int64_t)d.n - 1 - axis};
    tn_value v = imp_count_up(c, d.at[axis]);
    return widened(c, behind.num_newaxis ? imp_call1(c, &tn_op_expand_dims, &behind, v) : v, d);
}

static void iota(imp_node *c)
{
    tn_dims d = out_dims(c);
    int axis = imp_axis(c, imp_attr_int(c, "iota_dimension", 0), (int)d.n);
    if (!c->bad)
        imp_out(c, 0, imp_cast(c, counted(c, d, (uint32_t)axis), tfl_out(c, 0)->dtype));
}

/* Operand i, int64, rank 0, limited so that `size` elements fit into dimension d of x. */
static tn_value start_at(imp_node *c, uint32_t i, tn_value x, int d, int64_t size)
{
    tn_value at = imp_cast(c, imp_in(c, i), TN_I64), room = imp_extent_of(c, x, d);
    at = imp_rank(at) ? imp_reshape(c, at, 0, NULL) : at;
    room = imp_binary(c, &tn_op_subtract, room, imp_i64(c, size));
    return imp_with(c, &tn_op_maximum, imp_binary(c, &tn_op_minimum, at, room), 0);
}

static void dynamic_slice(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints size = list(c, "slice_sizes");
    int r = imp_rank(x);
    if ((int)size.n != r || (int)imp_n_in(c) != 1 + r)
        imp_refuse(c, IMP_BAD_VALUE, "slice_sizes does not fit %s", imp_type_text(c, imp_type(x)));
    tn_value y = x;
    for (int d = 0; d < r && !c->bad; d++) {
        tn_value from = start_at(c, (uint32_t)d + 1, x, d, size.at[d]);
        tn_value at = imp_binary(c, &tn_op_add, imp_count_up(c, tn_idx(c->pool, size.at[d])), from);
        y = imp_take(c, y, at, d);
    }
    imp_out(c, 0, y);
}

/* Indices of all elements of a shape, moved: [.., rank]; from[d] may be absent. */
static tn_value places(imp_node *c, tn_dims d, const tn_value from[])
{
    tn_value row[IMP_MAX_RANK];
    for (uint32_t i = 0; i < d.n && !c->bad; i++) {
        row[i] = counted(c, d, i);
        row[i] = from[i].def ? imp_binary(c, &tn_op_add, row[i], from[i]) : row[i];
        row[i] = imp_unsqueeze(c, row[i], (int64_t)d.n);
    }
    return c->bad ? (tn_value){0} : imp_concat(c, d.n, row, (int64_t)d.n);
}

static void dynamic_update(imp_node *c)
{
    tn_value x = imp_in(c, 0), update = imp_in(c, 1), from[IMP_MAX_RANK];
    tn_scatter_attr a = {.reduction = "update"};
    int r = imp_rank(x);
    if ((int)imp_n_in(c) != 2 + r || imp_rank(update) != r || r < 1)
        imp_refuse(c, IMP_OPERANDS, "its operands do not fit %s", imp_type_text(c, imp_type(x)));
    for (int d = 0; d < r && !c->bad; d++) {
        int64_t size = 0;
        if (!tn_is_int(imp_type(update)->dim[d], &size))
            imp_refuse(c, IMP_TOO_LARGE, "the update must have fixed extents");
        from[d] = start_at(c, (uint32_t)d + 2, x, d, size);
    }
    if (c->bad)
        return;
    tn_dims d = tn_dims_make(c->arena, (uint32_t)r, imp_type(update)->dim);
    tn_value at = places(c, d, from);
    imp_out(c, 0, imp_call(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){x, at, update}));
}

/* ---- products, reductions, order ---- */

static void dot_general(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    int ra = imp_rank(a), rb = imp_rank(b), n = 0;
    tn_ints ba = dims_list(c, "lhs_batching_dimensions", ra),
            bb = dims_list(c, "rhs_batching_dimensions", rb),
            ka = dims_list(c, "lhs_contracting_dimensions", ra),
            kb = dims_list(c, "rhs_contracting_dimensions", rb);
    char left[IMP_MAX_RANK + 1] = "", right[IMP_MAX_RANK + 1] = "", out[2 * IMP_MAX_RANK + 1] = "",
                             next = 'a';
    imp_attr_ignore(c, "precision_config");
    if (ba.n != bb.n || ka.n != kb.n || ra > IMP_MAX_RANK || rb > IMP_MAX_RANK)
        imp_refuse(c, IMP_BAD_VALUE, "its dimensions do not fit one another");
    if (c->bad)
        return;
    for (uint32_t i = 0; i < ba.n; i++)
        left[ba.at[i]] = right[bb.at[i]] = out[n++] = next++;
    for (uint32_t i = 0; i < ka.n; i++)
        left[ka.at[i]] = right[kb.at[i]] = next++;
    for (int d = 0; d < ra; d++)
        if (!left[d])
            left[d] = out[n++] = next++;
    for (int d = 0; d < rb; d++)
        if (!right[d])
            right[d] = out[n++] = next++;
    const char *equation = tn_arena_printf(c->arena, "%.*s,%.*s->%.*s", ra, left, rb, right, n, out);
    tn_einsum_attr e = {tn_intern(c->g->ctx, equation)};
    imp_out(c, 0, imp_call2(c, &tn_op_einsum, &e, a, b));
}

/* One tensor and its first value. */
static void reduce(imp_node *c)
{
    tn_value x = imp_in(c, 0), first = imp_in(c, 1);
    tn_axes_attr a = {.axis = dims_list(c, "dimensions", imp_rank(x))};
    const tfl_reduction *how = tfl_reduction_of(c, imp_attr_int(c, "body_subgraph_index", 0));
    if (c->n_out != 1 || imp_n_in(c) != 2 || (how && how->keeps_new))
        imp_refuse(c, IMP_BAD_VALUE, "only one tensor, joined by one operator, is supported");
    if (c->bad)
        return;
    first = imp_rank(first) ? imp_reshape(c, first, 0, NULL) : first;
    bool logic = is_bool(x);
    tn_value v = a.axis.n ? imp_call1(c, how->reduce, &a, logic ? imp_cast(c, x, TN_U8) : x) : x;
    imp_out(c, 0, imp_binary(c, how->binary, logic ? imp_cast(c, v, TN_BOOL1) : v, first));
}

/* true: the graph compares its first two operands, and says that the smaller one is first. */
static bool ascends(imp_node *c, int64_t which, bool *out_up)
{
    tfl_import *o = (tfl_import *)c->im;
    const tfl_graph *g =
        which > 0 && which < (int64_t)o->graphs.n ? tfl_read_graph(o, (uint32_t)which) : NULL;
    if (!g || g->n_in < 2 || g->n_out != 1 || g->operators.n != 1)
        return false;
    tn_flat_table op = tn_flat_table_at(&g->operators, 0);
    uint64_t code = (uint64_t)tn_flat_int(&op, 0, 4, false, 0);
    tn_flat_vector in = tn_flat_list(&op, 1, 4);
    size_t n = 0;
    const imp_attr *a = tfl_read_options(o, &op, &n);
    const char *name = op.buf && code < o->n_code ? o->code[code].name : "";
    bool compares = strcmp(name, "STABLEHLO_COMPARE") == 0;
    int64_t direction = compares && n && imp_is(a[0].name, "comparison_direction") ? a[0].i : 0;
    bool less = strcmp(name, "LESS") == 0 || (compares && (direction == 5 || direction == 4));
    bool more = strcmp(name, "GREATER") == 0 || (compares && (direction == 3 || direction == 2));
    bool turned = tn_flat_int_at(&in, 0, 4, true) == g->in[1];
    *out_up = less != turned;
    return in.n == 2 && (less || more) &&
           tn_flat_int_at(&in, 0, 4, true) + tn_flat_int_at(&in, 1, 4, true) == (int64_t)g->in[0] + g->in[1];
}

/* Tensors sorted along a dimension by the elements of the first one. */
static void sort(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    bool up = true;
    int axis = imp_axis(c, imp_attr_int(c, "dimension", 0), imp_rank(x));
    imp_attr_ignore(c, "is_stable");
    if (!c->bad && !ascends(c, imp_attr_int(c, "comparator_subgraph_index", 0), &up))
        imp_refuse(c, IMP_BAD_VALUE, "only orders of one comparison of the first tensor are supported");
    if (c->bad)
        return;
    tn_topk_attr a = {.k = tn_dims_make(c->arena, 1, &imp_type(x)->dim[axis]),
                      .axis = axis,
                      .is_ascend = up,
                      .dtype = TN_I64};
    tn_node *n = tn_make_call(c->g, c->im->r, NULL, &tn_op_topk, 1, &x, &a, c->loc);
    tn_axis_attr along = {axis};
    c->bad = c->bad || !n;
    for (uint32_t i = 0; i < imp_n_in(c) && !c->bad; i++)
        imp_out_any(c, i,
                    i == 0 ? (tn_value){n, 0}
                           : imp_call2(c, &tn_op_gather, &along, imp_in(c, i), (tn_value){n, 1}));
}

// clang-format off
const imp_row tfl_rows_stablehlo[] = {
    {"STABLEHLO_LOGISTIC",             1, 0,  1,  1, unary,            &tn_op_sigmoid},
    {"STABLEHLO_ABS",                  1, 0,  1,  1, unary,            &tn_op_abs},
    {"STABLEHLO_COSINE",               1, 0,  1,  1, unary,            &tn_op_cos},
    {"STABLEHLO_EXPONENTIAL",          1, 0,  1,  1, unary,            &tn_op_exp},
    {"STABLEHLO_FLOOR",                1, 0,  1,  1, unary,            &tn_op_floor},
    {"STABLEHLO_LOG",                  1, 0,  1,  1, unary,            &tn_op_log},
    {"STABLEHLO_NEGATE",               1, 0,  1,  1, unary,            &tn_op_negative},
    {"STABLEHLO_RSQRT",                1, 0,  1,  1, unary,            &tn_op_rsqrt},
    {"STABLEHLO_TANH",                 1, 0,  1,  1, unary,            &tn_op_tanh},
    {"STABLEHLO_CBRT",                 1, 0,  1,  1, cube_root,        NULL},
    {"STABLEHLO_ADD",                  1, 0,  2,  1, binary,           &tn_op_add},
    {"STABLEHLO_SUBTRACT",             1, 0,  2,  1, binary,           &tn_op_subtract},
    {"STABLEHLO_MULTIPLY",             1, 0,  2,  1, binary,           &tn_op_multiply},
    {"STABLEHLO_MAXIMUM",              1, 0,  2,  1, binary,           &tn_op_maximum},
    {"STABLEHLO_MINIMUM",              1, 0,  2,  1, binary,           &tn_op_minimum},
    {"STABLEHLO_POWER",                1, 0,  2,  1, binary,           &tn_op_power},
    {"STABLEHLO_SHIFT_LEFT",           1, 0,  2,  1, binary,           &tn_op_left_shift},
    {"STABLEHLO_DIVIDE",               1, 0,  2,  1, divide,           NULL},
    {"STABLEHLO_REMAINDER",            1, 0,  2,  1, remainder_of,     NULL},
    {"STABLEHLO_AND",                  1, 0,  2,  1, bits,             &tn_op_bitwise_and},
    {"STABLEHLO_OR",                   1, 0,  2,  1, bits,             &tn_op_bitwise_or},
    {"STABLEHLO_CLAMP",                1, 0,  3,  1, clamp,            NULL},
    {"STABLEHLO_SELECT",               1, 0,  3,  1, select_op,        NULL},
    {"STABLEHLO_COMPARE",              1, 0,  2,  1, compare,          NULL},
    {"STABLEHLO_CONVERT",              1, 0,  1,  1, convert,          NULL},
    {"STABLEHLO_RESHAPE",              1, 0,  1,  1, reshape,          NULL},
    {"STABLEHLO_BROADCAST_IN_DIM",     1, 0,  2,  1, broadcast_in_dim, NULL},
    {"STABLEHLO_CONCATENATE",          1, 0, -1,  1, concatenate,      NULL},
    {"STABLEHLO_SLICE",                1, 0,  1,  1, slice,            NULL},
    {"STABLEHLO_TRANSPOSE",            1, 0,  1,  1, transpose,        NULL},
    {"STABLEHLO_IOTA",                 1, 0,  0,  1, iota,             NULL},
    {"STABLEHLO_DYNAMIC_SLICE",        1, 0, -1,  1, dynamic_slice,    NULL},
    {"STABLEHLO_DYNAMIC_UPDATE_SLICE", 1, 0, -1,  1, dynamic_update,   NULL},
    {"STABLEHLO_DOT_GENERAL",          1, 0,  2,  1, dot_general,      NULL},
    {"STABLEHLO_REDUCE",               1, 0, -1, -1, reduce,           NULL},
    {"STABLEHLO_SORT",                 1, 0, -1, -1, sort,             NULL},
    {0},
};
// clang-format on
