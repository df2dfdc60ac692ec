/* StableHLO's gather, scatter and convolution, whose options name the dimensions of their operands. */
#include "frontend/tflite/reduction.h"

#include "frontend/import/window.h"

#include <string.h>

/* ---- lists of dimensions ---- */

/* true: entries are in [0, rank), none of them twice. */
static bool are_dims(const tn_ints *v, int rank)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->at[i] < 0 || v->at[i] >= rank || seen >> v->at[i] & 1)
            return false;
        seen |= 1u << v->at[i];
    }
    return true;
}

static int find(const tn_ints *v, int64_t d)
{
    for (uint32_t i = 0; i < v->n; i++)
        if (v->at[i] == d)
            return (int)i;
    return -1;
}

/* The dimensions that a list does not name, in order. */
static tn_ints others(imp_node *c, const tn_ints *v, int rank)
{
    int64_t at[2 * IMP_MAX_RANK];
    uint32_t n = 0;
    for (int d = 0; d < rank; d++)
        if (find(v, d) < 0)
            at[n++] = d;
    return tn_ints_make(c->arena, n, at);
}

static tn_ints list(imp_node *c, const char *name)
{
    tn_ints v = {0};
    (void)imp_attr_ints(c, name, &v);
    return v;
}

/* ---- places: where windows of a tensor lie ---- */

typedef struct windows {
    int rank;        /* of the tensor */
    tn_ints dropped; /* its dimensions that the window does not show */
    tn_ints shown;   /* ... and those that it does */
    tn_ints map;     /* which dimension each number of an index is for */
    int64_t size[IMP_MAX_RANK];
    tn_value index;              /* int64 [batch.., numbers] */
    tn_value base[IMP_MAX_RANK]; /* of each dimension: [batch..]; absent: 0 */
} windows;

static bool read_windows(imp_node *c, tn_value x, tn_value index, const char *dropped, const char *map,
                         windows *w)
{
    int64_t at = imp_attr_int(c, "index_vector_dim", 0), perm[IMP_MAX_RANK + 1], numbers = 0;
    int r = imp_rank(index);
    w->rank = imp_rank(x);
    w->dropped = list(c, dropped);
    w->map = list(c, map);
    if (c->bad || w->rank < 1 || w->rank > IMP_MAX_RANK || at < 0 || at > r || r >= IMP_MAX_RANK ||
        !are_dims(&w->dropped, w->rank) || !are_dims(&w->map, w->rank)) {
        imp_refuse(c, IMP_BAD_VALUE, "its dimensions do not fit %s", imp_type_text(c, imp_type(x)));
        return false;
    }
    w->shown = others(c, &w->dropped, w->rank);
    index = imp_cast(c, at == r ? imp_unsqueeze(c, index, r) : index, TN_I64);
    r = at == r ? r + 1 : r;
    for (int d = 0; d < r; d++)
        perm[d] = d == r - 1 ? at : d < at ? d : d + 1;
    w->index = imp_transpose(c, index, r, perm);
    if (!c->bad && (!tn_is_int(imp_type(w->index)->dim[r - 1], &numbers) || numbers != w->map.n))
        imp_refuse(c, IMP_BAD_VALUE, "indices %s do not have %u numbers each",
                   imp_type_text(c, imp_type(index)), (unsigned)w->map.n);
    for (uint32_t k = 0; k < w->map.n && !c->bad; k++)
        w->base[w->map.at[k]] = imp_squeeze(c, imp_slice(c, w->index, r - 1, k, (int64_t)k + 1), r - 1);
    return !c->bad;
}

static tn_value limited(imp_node *c, tn_value v, tn_value least, tn_value most)
{
    v = imp_binary(c, &tn_op_minimum, v, most);
    return imp_binary(c, &tn_op_maximum, v, least);
}

/* How far a window can go along dimension d of x. */
static tn_value room_of(imp_node *c, tn_value x, const windows *w, int d)
{
    tn_value extent = imp_extent_of(c, x, d), size = imp_i64(c, w->size[d]);
    return imp_binary(c, &tn_op_subtract, extent, size);
}

/* Indices [batch.., shown.., rank] of the elements of all windows. */
static tn_value places(imp_node *c, const windows *w)
{
    const tn_expr *dim[2 * IMP_MAX_RANK];
    tn_value row[IMP_MAX_RANK];
    uint32_t n = 0, batch = (uint32_t)imp_rank(w->index) - 1;
    for (uint32_t i = 0; i < batch; i++)
        dim[n++] = imp_type(w->index)->dim[i];
    for (uint32_t i = 0; i < w->shown.n; i++)
        dim[n++] = tn_idx(c->pool, w->size[w->shown.at[i]]);
    if (n >= IMP_MAX_RANK) {
        imp_refuse(c, IMP_TOO_LARGE, "its result has more than %d dimensions", IMP_MAX_RANK - 1);
        return (tn_value){0};
    }
    tn_broadcast_to_attr all = {tn_dims_make(c->arena, n, dim)};
    for (int d = 0; d < w->rank && !c->bad; d++) {
        int at = find(&w->shown, d);
        tn_value v = w->base[d].def ? w->base[d] : imp_i64(c, 0);
        tn_expand_dims_attr behind = {w->base[d].def ? batch : 0, w->shown.n};
        v = w->base[d].def && w->shown.n ? imp_call1(c, &tn_op_expand_dims, &behind, v) : v;
        if (at >= 0) {
            tn_expand_dims_attr rest = {1, (int64_t)w->shown.n - 1 - at};
            tn_value i = imp_count_up(c, tn_idx(c->pool, w->size[d]));
            i = rest.num_newaxis ? imp_call1(c, &tn_op_expand_dims, &rest, i) : i;
            v = imp_binary(c, &tn_op_add, v, i);
        }
        row[d] = imp_unsqueeze(c, n ? imp_call1(c, &tn_op_broadcast_to, &all, v) : v, n);
    }
    return c->bad ? (tn_value){0} : imp_concat(c, (uint32_t)w->rank, row, n);
}

/* ---- gather ---- */

static void gather(imp_node *c)
{
    windows w = {0};
    tn_value x = imp_in(c, 0), index = imp_in(c, 1);
    tn_ints size = list(c, "slice_sizes"), offset = list(c, "offset_dims");
    imp_attr_ignore(c, "indices_are_sorted");
    if (!read_windows(c, x, index, "collapsed_slice_dims", "start_index_map", &w))
        return;
    int out = imp_rank(w.index) - 1 + (int)w.shown.n;
    if ((int)size.n != w.rank || offset.n != w.shown.n || !are_dims(&offset, out) || out > IMP_MAX_RANK) {
        imp_refuse(c, IMP_BAD_VALUE, "its dimensions do not fit %s", imp_type_text(c, imp_type(x)));
        return;
    }
    for (int d = 0; d < w.rank; d++) {
        w.size[d] = size.at[d];
        if (size.at[d] < 0 || size.at[d] > INT32_MAX || (size.at[d] != 1 && find(&w.dropped, d) >= 0))
            imp_refuse(c, IMP_BAD_VALUE, "slice_sizes does not fit %s", imp_type_text(c, imp_type(x)));
    }
    tn_value none = imp_i64(c, 0);
    for (int d = 0; d < w.rank && !c->bad; d++)
        if (w.base[d].def)
            w.base[d] = limited(c, w.base[d], none, room_of(c, x, &w, d));
    tn_gather_nd_attr a = {0};
    tn_value at = places(c, &w), y = imp_call2(c, &tn_op_gather_nd, &a, x, at);
    int64_t perm[2 * IMP_MAX_RANK], batch = 0;
    for (int d = 0; d < out; d++) {
        int i = find(&offset, d);
        perm[d] = i < 0 ? batch++ : imp_rank(w.index) - 1 + i;
    }
    imp_out(c, 0, out ? imp_transpose(c, y, out, perm) : y);
}

/* ---- scatter ---- */

/* bool [batch..]: the whole window is inside. */
static tn_value is_inside(imp_node *c, tn_value x, const windows *w)
{
    tn_value all = {0};
    for (int d = 0; d < w->rank && !c->bad; d++) {
        if (!w->base[d].def)
            continue;
        tn_value low = imp_with(c, &tn_op_greater_equal, w->base[d], 0), room = room_of(c, x, w, d);
        tn_value high = imp_binary(c, &tn_op_less_equal, w->base[d], room);
        tn_value one = imp_binary(c, &tn_op_logical_and, low, high);
        all = all.def ? imp_binary(c, &tn_op_logical_and, all, one) : one;
    }
    return all;
}

/* x with one more row, where windows go that are not inside: these change nothing of x. */
static tn_value scattered(imp_node *c, tn_value x, windows *w, tn_value update, const char *reduction)
{
    const tn_expr *width[2 * IMP_MAX_RANK], *n = imp_type(x)->dim[0];
    tn_value inside = is_inside(c, x, w), none = imp_i64(c, 0), last = imp_extent_of(c, x, 0);
    tn_scatter_attr a = {.reduction = reduction};
    int64_t rows = w->size[0];
    for (int i = 0; i < 2 * w->rank; i++)
        width[i] = tn_idx(c->pool, i == 1 ? rows : 0);
    tn_pad_attr more = {.pad_width = tn_dims_make(c->arena, 2 * (uint32_t)w->rank, width),
                        .pad_mode = "constant"};
    x = imp_call1(c, &tn_op_nn_pad, &more, x);
    for (int d = 0; d < w->rank && inside.def && !c->bad; d++)
        if (w->base[d].def || d == 0)
            w->base[d] = imp_choose(c, inside, w->base[d].def ? w->base[d] : none, d ? none : last);
    tn_value at = places(c, w), y = imp_call(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){x, at, update});
    tn_slice_attr cut = {tn_make_dims(c->g, 1, (const int64_t[]){0}), tn_dims_make(c->arena, 1, &n),
                         tn_ints_make(c->arena, 1, (const int64_t[]){1}),
                         tn_ints_make(c->arena, 1, (const int64_t[]){0})};
    return imp_call1(c, &tn_op_strided_slice, &cut, y);
}

static void scatter(imp_node *c)
{
    windows w = {0};
    tn_value x = imp_in(c, 0), index = imp_in(c, 1), update = imp_in(c, 2);
    tn_ints shown = list(c, "update_window_dims");
    const tfl_reduction *how = tfl_reduction_of(c, imp_attr_int(c, "update_computation_subgraph_index", 0));
    imp_attr_ignore(c, "indices_are_sorted");
    imp_attr_ignore(c, "unique_indices");
    if (!read_windows(c, x, index, "inserted_window_dims", "scatter_dims_to_operand_dims", &w))
        return;
    int r = imp_rank(update);
    tn_ints batch = others(c, &shown, r);
    if (shown.n != w.shown.n || !are_dims(&shown, r) || (int)batch.n != imp_rank(w.index) - 1) {
        imp_refuse(c, IMP_BAD_VALUE, "its dimensions do not fit %s", imp_type_text(c, imp_type(update)));
        return;
    }
    int64_t perm[IMP_MAX_RANK];
    for (int d = 0; d < r; d++)
        perm[d] = d < (int)batch.n ? batch.at[d] : shown.at[d - (int)batch.n];
    for (int d = 0; d < w.rank; d++)
        w.size[d] = 1;
    for (uint32_t i = 0; i < shown.n; i++)
        if (!tn_is_int(imp_type(update)->dim[shown.at[i]], &w.size[w.shown.at[i]]))
            imp_refuse(c, IMP_TOO_LARGE, "the updates must have fixed extents");
    bool logic = tn_dtype_is_bool(imp_type(x)->dtype);
    update = imp_transpose(c, logic ? imp_cast(c, update, TN_U8) : update, r, perm);
    if (c->bad)
        return;
    tn_value y = scattered(c, logic ? imp_cast(c, x, TN_U8) : x, &w, update, how->scatter);
    imp_out(c, 0, logic ? imp_cast(c, y, TN_BOOL1) : y);
}

/* ---- convolution ---- */

/* The permutation that brings batch (or results), features, spatial dimensions into this order. */
static bool order_of(imp_node *c, const char *const name[3], int rank, int64_t perm[])
{
    tn_ints at = list(c, name[2]);
    perm[0] = imp_attr_int(c, name[0], 0);
    perm[1] = imp_attr_int(c, name[1], 0);
    for (uint32_t i = 0; i < at.n && (int)i + 2 < rank; i++)
        perm[i + 2] = at.at[i];
    tn_ints all = {(uint32_t)rank, perm};
    if ((int)at.n + 2 != rank || !are_dims(&all, rank))
        imp_refuse(c, IMP_BAD_VALUE, "%s and its kin do not name the %d dimensions", name[0], rank);
    return !c->bad;
}

static void read_steps(imp_node *c, imp_window *w)
{
    tn_ints stride = list(c, "window_strides"), dilation = list(c, "rhs_dilation"), pad = list(c, "padding"),
            base = list(c, "lhs_dilation"), turned = list(c, "window_reversal");
    for (uint32_t i = 0; i < base.n + turned.n; i++)
        if (i < base.n ? base.at[i] != 1 : turned.at[i - base.n] != 0)
            imp_refuse(c, IMP_BAD_VALUE, "lhs_dilation and window_reversal are not supported");
    for (int i = 0; i < w->dims; i++) {
        w->stride[i] = (int)stride.n == w->dims ? stride.at[i] : 1;
        w->dilation[i] = (int)dilation.n == w->dims ? dilation.at[i] : 1;
        for (int k = 0; k < 2 && (int)pad.n == 2 * w->dims; k++)
            w->pad[i + k * w->dims] = tn_idx(c->pool, pad.at[2 * i + k]);
    }
}

static void convolution(imp_node *c)
{
    static const char *const in[] = {"input_batch_dimension", "input_feature_dimension",
                                     "input_spatial_dimensions"};
    static const char *const kernel[] = {"kernel_output_feature_dimension", "kernel_input_feature_dimension",
                                         "kernel_spatial_dimensions"};
    static const char *const out[] = {"output_batch_dimension", "output_feature_dimension",
                                      "output_spatial_dimensions"};
    tn_value x = imp_in(c, 0), k = imp_in(c, 1);
    int64_t perm[IMP_MAX_RANK], back[IMP_MAX_RANK], groups = imp_attr_int(c, "feature_group_count", 1);
    int r = imp_rank(x);
    imp_window w;
    imp_attr_ignore(c, "precision_config");
    if (imp_attr_int(c, "batch_group_count", 1) > 1)
        imp_refuse(c, IMP_BAD_VALUE, "batch_group_count is not supported");
    if (c->bad || r > IMP_MAX_RANK || imp_rank(k) != r || !order_of(c, in, r, perm))
        return;
    x = imp_transpose(c, x, r, perm);
    if (!order_of(c, kernel, r, perm))
        return;
    k = imp_transpose(c, k, r, perm);
    if (c->bad || !imp_window_init(c, x, false, &w) || !imp_window_of_weight(c, k, &w))
        return;
    imp_pad_none(c, &w);
    read_steps(c, &w);
    tn_value y = c->bad ? x : imp_conv(c, x, k, &w, groups > 0 ? groups : 1);
    if (!c->bad && order_of(c, out, r, perm)) {
        for (int d = 0; d < r; d++)
            back[perm[d]] = d;
        imp_out(c, 0, imp_transpose(c, y, r, back));
    }
}

// clang-format off
const imp_row tfl_rows_hlo_index[] = {
    {"STABLEHLO_GATHER",      1, 0, 2, 1, gather,      NULL},
    {"STABLEHLO_SCATTER",     1, 0, 3, 1, scatter,     NULL},
    {"STABLEHLO_CONVOLUTION", 1, 0, 2, 1, convolution, NULL},
    {0},
};
// clang-format on
