/* Operators that move elements: shapes, joins, cuts, pads, selections, resizing. Integers keep their grid. */
#include "frontend/tflite/quant.h"

#include "frontend/import/blocks.h"
#include "frontend/import/matrix.h"

#include <string.h>

/* ---- shapes ---- */

static void reshape(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints given = {0};
    bool attr = imp_attr_ints(c, "new_shape", &given);
    if (imp_has(c, 1)) {
        tn_value shape = imp_in(c, 1);
        if (imp_dynamic_reshape(c, x, shape, true))
            return;
        tn_dims d = imp_host_in(c, shape, "the shape");
        tn_reshape_attr a = {tn_dims_make(c->arena, d.n, d.at), true};
        imp_out(c, 0, imp_reshape_to(c, x, &a));
        return;
    }
    if (!attr)
        imp_refuse(c, IMP_ATTR_MISSING,
                   "neither operand 1 nor new_shape gives a shape; the model is damaged");
    tn_reshape_attr a = {tn_make_dims(c->g, given.n, given.at), true};
    imp_out(c, 0, imp_reshape_to(c, x, &a));
}

static void squeeze(imp_node *c)
{
    tn_squeeze_attr a = {{0}};
    tn_value x = imp_in(c, 0);
    (void)imp_attr_ints(c, "squeeze_dims", &a.axis);
    imp_out(c, 0, imp_call1(c, &tn_op_squeeze, &a, x));
}

static void expand_dims(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t axis = imp_int_in(c, imp_in(c, 1), "axis");
    imp_out(c, 0, imp_unsqueeze(c, x, imp_axis(c, axis, imp_rank(x) + 1)));
}

static void shape_of(imp_node *c)
{
    const tfl_tensor *y = tfl_out(c, 0);
    imp_attr_ignore(c, "out_type");
    tn_value v = imp_shape_of(c, imp_in(c, 0));
    imp_out(c, 0, imp_cast(c, v, y && y->known ? y->dtype : TN_I32));
}

static void rank_of(imp_node *c) { imp_out(c, 0, tfl_int(c, imp_rank(imp_in(c, 0)))); }

static void transpose(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints perm = imp_ints_in(c, imp_in(c, 1), "perm");
    tn_transpose_attr a = {perm};
    imp_out(c, 0, imp_call1(c, &tn_op_transpose, &a, x));
}

static void broadcast_to(imp_node *c)
{
    tn_value x = imp_in(c, 0), shape = imp_in(c, 1);
    if (imp_dynamic_expand(c, x, shape))
        return;
    tn_broadcast_to_attr a = {imp_host_in(c, shape, "the shape")};
    imp_out(c, 0, imp_call1(c, &tn_op_broadcast_to, &a, x));
}

static void bitcast(imp_node *c)
{
    const tfl_tensor *y = tfl_out(c, 0);
    tn_value x = imp_in(c, 0);
    if (!y || !y->known)
        imp_refuse(c, IMP_BAD_TENSOR, "the result is of a type that is not supported");
    else
        imp_out(c, 0, imp_bitcast(c, x, y->dtype));
}

static void broadcast_args(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    imp_out(c, 0, imp_broadcast_shape(c, a, b));
}

static void fill(imp_node *c)
{
    tn_value value = imp_in(c, 1);
    tn_dims shape = imp_extents_in(c, imp_in(c, 0), "the shape");
    tn_broadcast_to_attr a = {shape};
    imp_out(c, 0, shape.n ? imp_call1(c, &tn_op_broadcast_to, &a, value) : value);
}

static void range(imp_node *c)
{
    tn_value in[3];
    for (uint32_t i = 0; i < 3; i++) {
        in[i] = imp_in(c, i);
        in[i] = imp_rank(in[i]) ? imp_reshape(c, in[i], 0, NULL) : in[i];
    }
    imp_out(c, 0, imp_range(c, in));
}

/* ---- joins ---- */

/* uint8 tensors of other grids are brought to the result's, in float32 as the reference does. */
static tn_value on_grid_of_result(imp_node *c, uint32_t i)
{
    const tfl_tensor *x = tfl_in(c, i), *y = tfl_out(c, 0);
    tn_value v = imp_in(c, i);
    if (!tfl_is_quantised(x) || !tfl_is_quantised(y) ||
        (x->scale[0] == y->scale[0] && x->zero[0] == y->zero[0]))
        return v;
    float scale = x->scale[0] * (1.0f / y->scale[0]), bias = -(float)x->zero[0] * scale;
    v = tfl_with(c, &tn_op_multiply, imp_cast(c, v, TN_F32), (double)scale);
    v = tfl_rounded(c, imp_binary(c, &tn_op_add, v, imp_const(c, TN_F32, (double)bias)));
    v = imp_binary(c, &tn_op_add, v, imp_const(c, TN_F32, (double)y->zero[0]));
    return imp_cast(c, v, y->dtype);
}

static void concatenate(imp_node *c)
{
    uint32_t n = imp_n_in(c);
    tn_value *in = TN_NEW_N(c->arena, tn_value, n);
    int64_t axis = imp_attr_int(c, "axis", 0), function = imp_attr_int(c, "fused_activation_function", 0);
    for (uint32_t i = 0; i < n; i++)
        in[i] = on_grid_of_result(c, i);
    if (n == 0)
        imp_refuse(c, IMP_OPERANDS, "it has no operands; the model is damaged");
    tn_value v = c->bad ? (tn_value){0} : imp_concat(c, n, in, imp_axis(c, axis, imp_rank(in[0])));
    imp_out(c, 0, tfl_is_quantised(tfl_out(c, 0)) ? v : tfl_activate(c, v, function));
}

static void pack(imp_node *c)
{
    uint32_t n = imp_n_in(c);
    tn_value *in = TN_NEW_N(c->arena, tn_value, n);
    imp_attr_ignore(c, "values_count");
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(imp_in(c, 0)) + 1);
    for (uint32_t i = 0; i < n; i++)
        in[i] = imp_unsqueeze(c, imp_in(c, i), axis);
    imp_out(c, 0, imp_concat(c, n, in, axis));
}

static void unpack(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    imp_attr_ignore(c, "num");
    for (uint32_t i = 0; i < c->n_out && !c->bad; i++) {
        tn_value row = imp_slice(c, x, axis, i, (int64_t)i + 1);
        imp_out(c, i, imp_squeeze(c, row, axis));
    }
}

/* ---- cuts ---- */

static void split(imp_node *c)
{
    tn_value x = imp_in(c, 1);
    imp_attr_ignore(c, "num_splits");
    imp_split_equal(c, x, imp_axis(c, imp_int_in(c, imp_in(c, 0), "axis"), imp_rank(x)));
}

static void split_v(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints size = imp_ints_in(c, imp_in(c, 1), "size_splits");
    imp_attr_ignore(c, "num_splits");
    imp_split_sizes(c, x, imp_axis(c, imp_int_in(c, imp_in(c, 2), "axis"), imp_rank(x)), size);
}

static void slice(imp_node *c)
{
    static const int64_t ones[IMP_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    tn_value x = imp_in(c, 0), first = imp_in(c, 1), count = imp_in(c, 2);
    tn_dims begin = imp_extents_in(c, first, "begin");
    tn_ints size = {0};
    tn_dims open = {0};
    if (imp_is_known(c, count))
        open = imp_host_in(c, count, "size");
    else
        open = imp_extents_in(c, count, "size");
    (void)size;
    if (c->bad || begin.n != open.n || begin.n > IMP_MAX_RANK) {
        imp_refuse(c, IMP_BAD_VALUE, "begin and size have %u and %u entries", (unsigned)begin.n,
                   (unsigned)open.n);
        return;
    }
    const tn_expr *end[IMP_MAX_RANK];
    for (uint32_t i = 0; i < begin.n; i++)
        end[i] = tn_is_value(open.at[i], -1) ? tn_idx(c->pool, INT32_MAX)
                                             : imp_simplify(c, tn_add(c->pool, begin.at[i], open.at[i]));
    tn_slice_attr a = {.begin = begin,
                       .end = tn_dims_make(c->arena, begin.n, end),
                       .strides = tn_ints_make(c->arena, begin.n, ones)};
    imp_out(c, 0, imp_call1(c, &tn_op_strided_slice, &a, x));
}

typedef struct cut {
    uint32_t n; /* of the result's dimensions so far, those of extent 1 to be dropped among them */
    int dims;   /* of the data, used so far */
    const tn_expr *begin[IMP_MAX_RANK], *end[IMP_MAX_RANK];
    int64_t step[IMP_MAX_RANK];
    bool drop[IMP_MAX_RANK];      /* by dimension of the data */
    int before[IMP_MAX_RANK + 1]; /* new dimensions before this one of the data */
} cut;

static void cut_one(imp_node *c, cut *k, const tn_expr *begin, const tn_expr *end, int64_t step,
                    bool open_begin, bool open_end, bool shrink)
{
    int d = k->dims++;
    int64_t at;
    k->step[d] = shrink ? 1 : step;
    k->drop[d] = shrink;
    k->begin[d] = open_begin ? tn_idx(c->pool, step > 0 ? 0 : INT32_MAX) : begin;
    k->end[d] = open_end ? tn_idx(c->pool, step > 0 ? INT32_MAX : -INT32_MAX) : end;
    if (shrink) {
        k->begin[d] = begin;
        k->end[d] = tn_is_int(begin, &at) && at == -1 ? tn_idx(c->pool, INT32_MAX)
                                                      : tn_add(c->pool, begin, tn_idx(c->pool, 1));
    }
}

static void cut_rest(imp_node *c, cut *k, int to)
{
    while (k->dims < to)
        cut_one(c, k, NULL, NULL, 1, true, true, false);
}

/* The data cut, without the dimensions that are dropped, and with new ones. */
static tn_value cut_data(imp_node *c, tn_value x, const cut *k)
{
    int64_t axes[IMP_MAX_RANK];
    const tn_expr *dim[3 * IMP_MAX_RANK]; /* strided_slice adds 2 * IMP_MAX_RANK at most */
    uint32_t n = (uint32_t)imp_rank(x);
    int rank = 0;
    for (uint32_t i = 0; i < n; i++)
        axes[i] = i;
    tn_slice_attr a = {tn_dims_make(c->arena, n, k->begin), tn_dims_make(c->arena, n, k->end),
                       tn_ints_make(c->arena, n, k->step), tn_ints_make(c->arena, n, axes)};
    x = imp_call1(c, &tn_op_strided_slice, &a, x);
    for (uint32_t i = 0; i <= n && !c->bad; i++) {
        for (int b = 0; b < k->before[i]; b++)
            dim[rank++] = tn_idx(c->pool, 1);
        if (i < n && !k->drop[i])
            dim[rank++] = imp_type(x)->dim[i];
    }
    if (rank > IMP_MAX_RANK)
        imp_refuse(c, IMP_TOO_LARGE, "the result has %d dimensions; at most %d are supported", rank,
                   IMP_MAX_RANK);
    return c->bad || rank == (int)n ? x : imp_reshape(c, x, rank, dim);
}

static void strided_slice(imp_node *c)
{
    tn_value x = imp_in(c, 0), first = imp_in(c, 1), last = imp_in(c, 2);
    tn_dims begin = imp_extents_in(c, first, "begin"), end = imp_extents_in(c, last, "end");
    tn_ints step = imp_ints_in(c, imp_in(c, 3), "strides");
    int64_t b = imp_attr_int(c, "begin_mask", 0), e = imp_attr_int(c, "end_mask", 0),
            ellipsis = imp_attr_int(c, "ellipsis_mask", 0), fresh = imp_attr_int(c, "new_axis_mask", 0),
            shrink = imp_attr_int(c, "shrink_axis_mask", 0);
    int rank = imp_rank(x), used = 0;
    cut k = {0};
    imp_attr_ignore(c, "offset");
    if (c->bad || begin.n != end.n || begin.n != step.n || begin.n > 2 * IMP_MAX_RANK) {
        imp_refuse(c, IMP_BAD_VALUE, "begin, end and strides have different lengths");
        return;
    }
    for (uint32_t i = 0; i < begin.n; i++)
        used += !((fresh | ellipsis) >> i & 1);
    for (uint32_t i = 0; i < begin.n && !c->bad; i++) {
        if (ellipsis >> i & 1) {
            int rest = 0;
            for (uint32_t j = i + 1; j < begin.n; j++)
                rest += !(fresh >> j & 1);
            cut_rest(c, &k, rank - rest);
        } else if (fresh >> i & 1) {
            k.before[k.dims]++;
        } else if (k.dims >= rank || used > rank) {
            imp_refuse(c, IMP_BAD_VALUE, "it cuts more dimensions than %s has",
                       imp_type_text(c, imp_type(x)));
        } else {
            cut_one(c, &k, begin.at[i], end.at[i], step.at[i], b >> i & 1, e >> i & 1, shrink >> i & 1);
        }
    }
    cut_rest(c, &k, rank);
    if (!c->bad)
        imp_out(c, 0, cut_data(c, x, &k));
}

static void reverse(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints axes = imp_ints_in(c, imp_in(c, 1), "axis");
    int64_t step[IMP_MAX_RANK], at[IMP_MAX_RANK];
    const tn_expr *begin[IMP_MAX_RANK], *end[IMP_MAX_RANK];
    for (uint32_t i = 0; i < axes.n && i < IMP_MAX_RANK && !c->bad; i++) {
        at[i] = imp_axis(c, axes.at[i], imp_rank(x));
        step[i] = -1;
        begin[i] = tn_idx(c->pool, INT32_MAX);
        end[i] = tn_idx(c->pool, -INT32_MAX);
    }
    if (axes.n > IMP_MAX_RANK)
        imp_refuse(c, IMP_BAD_VALUE, "%u axes are reversed of %s", (unsigned)axes.n,
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    tn_slice_attr a = {tn_dims_make(c->arena, axes.n, begin), tn_dims_make(c->arena, axes.n, end),
                       tn_ints_make(c->arena, axes.n, step), tn_ints_make(c->arena, axes.n, at)};
    imp_out(c, 0, imp_call1(c, &tn_op_strided_slice, &a, x));
}

/* ---- pads ---- */

static tn_dims pad_widths(imp_node *c, tn_value x)
{
    tn_value widths = imp_in(c, 1);
    tn_value flat = imp_flat(c, widths);
    tn_dims d = imp_host_in(c, flat, "paddings");
    if (!c->bad && d.n != 2 * (uint32_t)imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "paddings has %u entries for %s", (unsigned)d.n,
                   imp_type_text(c, imp_type(x)));
    return d;
}

static void pad(imp_node *c)
{
    const tfl_tensor *t = tfl_out(c, 0);
    tn_value x = imp_in(c, 0), value = imp_opt(c, 2);
    tn_pad_attr a = {.pad_width = pad_widths(c, x), .pad_mode = "constant"};
    if (!imp_has(c, 2) && tfl_is_quantised(t))
        a.pad_value = (double)t->zero[0];
    imp_out(c, 0, value.def ? imp_call2(c, &tn_op_nn_pad, &a, x, value) : imp_call1(c, &tn_op_nn_pad, &a, x));
}

/* REFLECT leaves out the element at the end, SYMMETRIC repeats it. */
static void mirror_pad(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    bool symmetric = imp_attr_int(c, "mode", 0) == 1;
    tn_dims width = pad_widths(c, x);
    int64_t *at = TN_NEW_N(c->arena, int64_t, width.n);
    for (uint32_t i = 0; i < width.n && !c->bad; i++)
        if (!tn_is_int(width.at[i], &at[i]))
            imp_refuse(c, IMP_NOT_CONSTANT, "paddings must be constants");
    imp_out(c, 0, c->bad ? x : imp_mirror(c, x, tn_ints_make(c->arena, width.n, at), symmetric));
}

static void tile(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_tile_attr a = {imp_extents_in(c, imp_in(c, 1), "multiples")};
    imp_out(c, 0, imp_call1(c, &tn_op_tile, &a, x));
}

/* ---- selections ---- */

static void gather(imp_node *c)
{
    tn_value x = imp_in(c, 0), at = imp_in(c, 1);
    int64_t batch = imp_attr_int(c, "batch_dims", 0);
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    batch = batch < 0 ? batch + imp_rank(at) : batch;
    imp_out(c, 0, batch ? imp_take_of_each(c, x, at, axis, (int)batch) : imp_take(c, x, at, axis));
}

static void gather_nd(imp_node *c)
{
    tn_value x = imp_in(c, 0), at = imp_in(c, 1);
    tn_gather_nd_attr a = {0};
    imp_out(c, 0, imp_call2(c, &tn_op_gather_nd, &a, x, at));
}

static void embedding_lookup(imp_node *c)
{
    tn_value at = imp_in(c, 0), table = imp_in(c, 1);
    const tfl_tensor *t = tfl_in(c, 1), *y = tfl_out(c, 0);
    bool real = t && t->n_scale && y && !tfl_is_quantised(y);
    imp_out(c, 0, imp_take(c, real ? tfl_real(c, 1) : table, at, 0));
}

static void one_hot(imp_node *c)
{
    tn_value at = imp_in(c, 0), depth = imp_in(c, 1), on = imp_in(c, 2), off = imp_in(c, 3);
    tn_one_hot_attr a = {.axis = imp_attr_int(c, "axis", -1)};
    a.depth = imp_extents_in(c, depth, "the depth");
    at = imp_cast(c, at, TN_I64);
    tn_value below = imp_binary(c, &tn_op_less, at, imp_i64(c, 0));
    at = imp_choose(c, below, imp_i64(c, INT32_MAX), at);
    imp_out(c, 0, imp_call(c, &tn_op_one_hot, &a, 3, (const tn_value[]){at, on, off}));
}

static void topk(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_topk_attr a = {.axis = -1, .dtype = TN_I32};
    a.k = imp_extents_in(c, imp_in(c, 1), "k");
    tn_node *n = c->bad ? NULL : tn_make_call(c->g, c->im->r, NULL, &tn_op_topk, 1, &x, &a, c->loc);
    c->bad = c->bad || !n;
    if (c->bad)
        return;
    imp_out_any(c, 0, (tn_value){n, 0});
    imp_out_any(c, 1, (tn_value){n, 1});
}

static void reverse_sequence(imp_node *c)
{
    tn_value x = imp_in(c, 0), length = imp_in(c, 1);
    tn_reverse_sequence_attr a = {imp_attr_int(c, "seq_dim", 0), imp_attr_int(c, "batch_dim", 0)};
    imp_out(c, 0, imp_call2(c, &tn_op_reverse_sequence, &a, x, length));
}

/* Zeros of a given shape, to whose rows at the indices the updates are added. */
static void scatter_nd(imp_node *c)
{
    tn_value at = imp_in(c, 0), update = imp_in(c, 1);
    tn_dims shape = imp_extents_in(c, imp_in(c, 2), "the shape");
    tn_dtype t = imp_type(update)->dtype;
    tn_broadcast_to_attr to = {shape};
    tn_scatter_attr a = {.reduction = "add"};
    bool logic = tn_dtype_is_bool(t);
    tn_value zero = imp_call1(c, &tn_op_broadcast_to, &to, imp_const(c, logic ? TN_U8 : t, 0));
    update = logic ? imp_cast(c, update, TN_U8) : update;
    tn_value v = imp_call(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){zero, at, update});
    imp_out(c, 0, logic ? imp_cast(c, v, t) : v);
}

/* The coordinates of what is true: [n, rank]. */
static void where(imp_node *c)
{
    tn_value x = imp_in(c, 0), row[IMP_MAX_RANK];
    const tn_type *t = imp_type(x);
    if (c->bad || t->n < 1)
        return;
    tn_value at = imp_positions(c, imp_flat(c, imp_cast(c, x, TN_BOOL1)));
    for (int d = t->n - 1; d >= 0 && !c->bad; d--) {
        tn_value extent = imp_extent_of(c, x, d), above = d ? imp_binary(c, &tn_op_divide, at, extent) : at;
        tn_value whole = d ? imp_binary(c, &tn_op_multiply, above, extent) : at;
        row[d] = imp_unsqueeze(c, d ? imp_binary(c, &tn_op_subtract, at, whole) : at, 1);
        at = above;
    }
    imp_out(c, 0, imp_concat(c, (uint32_t)t->n, row, 1));
}

static void matrix_diag(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, imp_diagonal_matrix(c, x, 0, NULL, NULL, imp_const(c, imp_type(x)->dtype, 0)));
}

static void matrix_set_diag(imp_node *c)
{
    imp_out(c, 0, imp_with_diagonal(c, imp_in(c, 0), imp_in(c, 1), 0));
}

static void dynamic_update_slice(imp_node *c)
{
    tn_value x = imp_in(c, 0), update = imp_in(c, 1);
    tn_value start = imp_cast(c, imp_in(c, 2), TN_I64);
    int r = imp_rank(x);
    if (!c->bad && imp_rank(update) != r)
        imp_refuse(c, IMP_OPERANDS, "an update %s does not fit %s", imp_type_text(c, imp_type(update)),
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    tn_value inside = {0}, row[IMP_MAX_RANK];
    for (int d = 0; d < r && !c->bad; d++) { /* indices of each element, moved by where the update begins */
        const tn_expr *n = imp_type(update)->dim[d];
        tn_value all = imp_extent_of(c, x, d), part = imp_extent_of(c, update, d);
        tn_value room = imp_binary(c, &tn_op_subtract, all, part);
        tn_value at = imp_squeeze(c, imp_slice(c, start, 0, d, d + 1), 0);
        at = tfl_with(c, &tn_op_maximum, imp_binary(c, &tn_op_minimum, at, room), 0);
        row[d] = imp_binary(c, &tn_op_add, imp_count_up(c, n), at);
        tn_expand_dims_attr behind = {1, r - 1 - d};
        tn_broadcast_to_attr wide = {tn_dims_make(c->arena, (uint32_t)r, imp_type(update)->dim)};
        row[d] = behind.num_newaxis ? imp_call1(c, &tn_op_expand_dims, &behind, row[d]) : row[d];
        row[d] = imp_unsqueeze(c, imp_call1(c, &tn_op_broadcast_to, &wide, row[d]), r);
    }
    inside = imp_concat(c, (uint32_t)r, row, r);
    tn_scatter_attr a = {.reduction = "update"};
    imp_out(c, 0, imp_call(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){x, inside, update}));
}

/* ---- blocks ---- */

/* With the channels first, as convolutions around it are computed. */
static void depth(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_depth_attr a = {imp_attr_int(c, "block_size", 0), "NCHW", "DCR"};
    if (imp_rank(x) != 4 || a.block_size < 1 || c->bad) {
        imp_refuse(c, IMP_BAD_VALUE, "block_size %lld does not fit %s", (long long)a.block_size,
                   imp_type_text(c, imp_type(x)));
        return;
    }
    tn_value y = imp_call1(c, c->row->relay, &a, imp_channels_first(c, x));
    imp_out(c, 0, c->bad ? y : imp_channels_last(c, y));
}

static imp_blocks blocks_in(imp_node *c)
{
    const tfl_tensor *t = tfl_out(c, 0);
    tn_ints size = imp_ints_in(c, imp_in(c, 1), "block_shape");
    tn_dims edges = imp_host_in(c, imp_flat(c, imp_in(c, 2)), "the edges");
    return (imp_blocks){1, size, edges, tfl_is_quantised(t) ? (double)t->zero[0] : 0};
}

static void space_to_batch(imp_node *c)
{
    imp_blocks b = blocks_in(c);
    imp_out(c, 0, imp_space_to_batch(c, imp_in(c, 0), &b));
}

static void batch_to_space(imp_node *c)
{
    imp_blocks b = blocks_in(c);
    imp_out(c, 0, imp_batch_to_space(c, imp_in(c, 0), &b));
}

// clang-format off
const imp_row tfl_rows_shape[] = {
    {"RESHAPE",                 1, 0,  2,  1, reshape,          NULL},
    {"SQUEEZE",                 1, 0,  1,  1, squeeze,          NULL},
    {"EXPAND_DIMS",             1, 0,  2,  1, expand_dims,      NULL},
    {"SHAPE",                   1, 0,  1,  1, shape_of,         NULL},
    {"RANK",                    1, 0,  1,  1, rank_of,          NULL},
    {"TRANSPOSE",               1, 0,  2,  1, transpose,        NULL},
    {"BITCAST",                 1, 0,  1,  1, bitcast,          NULL},
    {"BROADCAST_TO",            1, 0,  2,  1, broadcast_to,     NULL},
    {"BROADCAST_ARGS",          1, 0,  2,  1, broadcast_args,   NULL},
    {"FILL",                    1, 0,  2,  1, fill,             NULL},
    {"RANGE",                   1, 0,  3,  1, range,            NULL},
    {"CONCATENATION",           1, 0, -1,  1, concatenate,      NULL},
    {"PACK",                    1, 0, -1,  1, pack,             NULL},
    {"UNPACK",                  1, 0,  1, -1, unpack,           NULL},
    {"SPLIT",                   1, 0,  2, -1, split,            NULL},
    {"SPLIT_V",                 1, 0,  3, -1, split_v,          NULL},
    {"SLICE",                   1, 0,  3,  1, slice,            NULL},
    {"STRIDED_SLICE",           1, 0,  4,  1, strided_slice,    NULL},
    {"REVERSE_V2",              1, 0,  2,  1, reverse,          NULL},
    {"PAD",                     1, 0,  2,  1, pad,              NULL},
    {"PADV2",                   1, 0,  3,  1, pad,              NULL},
    {"MIRROR_PAD",              1, 0,  2,  1, mirror_pad,       NULL},
    {"TILE",                    1, 0,  2,  1, tile,             NULL},
    {"GATHER",                  1, 0,  2,  1, gather,           NULL},
    {"GATHER_ND",               1, 0,  2,  1, gather_nd,        NULL},
    {"EMBEDDING_LOOKUP",        1, 0,  2,  1, embedding_lookup, NULL},
    {"ONE_HOT",                 1, 0,  4,  1, one_hot,          NULL},
    {"TOPK_V2",                 1, 0,  2,  2, topk,             NULL},
    {"REVERSE_SEQUENCE",        1, 0,  2,  1, reverse_sequence, NULL},
    {"SCATTER_ND",              1, 0,  3,  1, scatter_nd,       NULL},
    {"WHERE",                   1, 0,  1,  1, where,            NULL},
    {"MATRIX_DIAG",             1, 0,  1,  1, matrix_diag,      NULL},
    {"MATRIX_SET_DIAG",         1, 0,  2,  1, matrix_set_diag,  NULL},
    {"DYNAMIC_UPDATE_SLICE",    1, 0,  3,  1, dynamic_update_slice, NULL},
    {"SPACE_TO_DEPTH",          1, 0,  1,  1, depth,            &tn_op_nn_space_to_depth},
    {"DEPTH_TO_SPACE",          1, 0,  1,  1, depth,            &tn_op_nn_depth_to_space},
    {"SPACE_TO_BATCH_ND",       1, 0,  3,  1, space_to_batch,   NULL},
    {"BATCH_TO_SPACE_ND",       1, 0,  3,  1, batch_to_space,   NULL},
    {0},
};
// clang-format on
