/* Selecting and ordering in MXNet: by positions (which may be floats), by lengths of sequences, by rank. */
#include "frontend/mxnet/mxnet.h"

#include <string.h>

/* ---- by positions ---- */

static tn_value positions(imp_node *c, uint32_t i) { return imp_cast(c, imp_in(c, i), TN_I64); }

static tn_value take_along(imp_node *c, tn_value x, tn_value at, int axis, int mode)
{
    enum { CLIP, WRAP, RAISE };
    tn_take_attr a = {axis, mode == WRAP ? "wrap" : "clip"};
    if (mode == RAISE && !c->bad) {
        tn_extent_attr e = {tn_dims_make(c->arena, 1, &imp_type(x)->dim[axis])};
        at = imp_call1(c, &tn_op_checked_index, &e, at);
    }
    return imp_call2(c, &tn_op_take, &a, x, at);
}

static const char *const modes[] = {"clip", "wrap", "raise", NULL};

static void take(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int axis = imp_axis(c, mx_int(c, "axis", 0), imp_rank(x)), mode = mx_choice(c, "mode", 0, modes);
    imp_out(c, 0, take_along(c, x, positions(c, 1), axis, mode));
}

static void embedding(imp_node *c)
{
    imp_attr_ignore(c, "input_dim");
    imp_attr_ignore(c, "output_dim");
    imp_attr_ignore(c, "dtype");
    imp_out(c, 0, take_along(c, imp_in(c, 1), positions(c, 0), 0, 0));
}

/* One element of each row: positions have the shape of x without the axis. */
static tn_value pick_from(imp_node *c, tn_value x, tn_value at, int axis, bool keep)
{
    const tn_expr *most = c->bad ? NULL : imp_type(x)->dim[axis];
    int64_t n = INT32_MAX;
    if (c->bad)
        return x;
    (void)tn_is_int(most, &n);
    tn_clip_attr inside = {0, (double)(n - 1)};
    at = imp_call1(c, &tn_op_clip, &inside, at);
    at = imp_rank(at) == imp_rank(x) ? at : imp_unsqueeze(c, at, axis);
    tn_axis_attr a = {axis};
    tn_value v = imp_call2(c, &tn_op_gather, &a, x, at);
    return keep ? v : imp_squeeze(c, v, axis);
}

static void pick(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int axis = imp_axis(c, mx_int(c, "axis", -1), imp_rank(x));
    if (mx_choice(c, "mode", 0, modes) != 0)
        imp_refuse(c, IMP_BAD_VALUE, "attribute mode must be clip");
    imp_out(c, 0, pick_from(c, x, positions(c, 1), axis, mx_bool(c, "keepdims", false)));
}

static void batch_take(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    if (!c->bad && imp_rank(x) != 2)
        imp_refuse(c, IMP_OPERANDS, "data %s must be a matrix", imp_type_text(c, imp_type(x)));
    imp_out(c, 0, pick_from(c, x, positions(c, 1), 1, false));
}

/* MXNet's indices have the entries of a place along their first axis, ours along the last. */
static tn_value places(imp_node *c, uint32_t i)
{
    int64_t perm[IMP_MAX_RANK];
    tn_value at = positions(c, i);
    int rank = imp_rank(at);
    for (int k = 0; k < rank; k++)
        perm[k] = (k + 1) % rank;
    return imp_transpose(c, at, rank, perm);
}

static void gather_nd(imp_node *c)
{
    tn_gather_nd_attr a = {0};
    imp_out(c, 0, imp_call2(c, &tn_op_gather_nd, &a, imp_in(c, 0), places(c, 1)));
}

static void scatter_nd(imp_node *c)
{
    tn_ints shape;
    tn_value x = imp_in(c, 0);
    imp_attr_need(c, "shape");
    (void)mx_ints(c, "shape", &shape);
    tn_broadcast_to_attr to = {tn_make_dims(c->g, shape.n, shape.at)};
    tn_scatter_attr a = {0, "update"};
    tn_value zeros = imp_call1(c, &tn_op_broadcast_to, &to, imp_const(c, imp_type(x)->dtype, 0));
    imp_out(c, 0, imp_call(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){zeros, places(c, 1), x}));
}

static void one_hot(imp_node *c)
{
    int64_t depth = mx_int(c, "depth", 0);
    double on = mx_float(c, "on_value", 1), off = mx_float(c, "off_value", 0);
    tn_dtype t = mx_dtype(c, "dtype", TN_F32);
    tn_value at = positions(c, 0);
    if (depth < 1 || depth > INT32_MAX)
        imp_refuse(c, IMP_BAD_VALUE, "attribute depth is %lld", (long long)depth);
    tn_value count = imp_count_up(c, tn_idx(c->pool, depth));
    tn_value here = imp_binary(c, &tn_op_equal, imp_unsqueeze(c, at, imp_rank(at)), count);
    tn_value yes = imp_const(c, t, on), no = imp_const(c, t, off);
    imp_out(c, 0, imp_choose(c, here, yes, no));
}

/* ---- by lengths: data [time, batch, ..], or [batch, time, ..] with axis 1 ---- */

/* The lengths [batch], int64; absent: all steps count. */
static tn_value lengths(imp_node *c)
{
    return mx_bool(c, "use_sequence_length", false) ? positions(c, 1) : (tn_value){0};
}

static int time_axis(imp_node *c, tn_value x)
{
    int64_t axis = mx_int(c, "axis", 0);
    if (!c->bad && (axis < 0 || axis > 1 || imp_rank(x) < 2))
        imp_refuse(c, IMP_BAD_VALUE, "axis is %lld for data %s; 0 and 1 are supported", (long long)axis,
                   imp_type_text(c, imp_type(x)));
    return c->bad ? 0 : (int)axis;
}

static void sequence_mask(imp_node *c)
{
    tn_value x = imp_in(c, 0), n = lengths(c);
    double value = mx_float(c, "value", 0);
    int axis = time_axis(c, x);
    if (c->bad || !n.def) {
        imp_out(c, 0, x);
        return;
    }
    tn_value step = imp_along(c, imp_count_up(c, imp_type(x)->dim[axis]), axis, imp_rank(x));
    tn_value inside = imp_binary(c, &tn_op_less, step, imp_along(c, n, 1 - axis, imp_rank(x)));
    imp_out(c, 0, imp_choose(c, inside, x, imp_const(c, imp_type(x)->dtype, value)));
}

static void sequence_last(imp_node *c)
{
    static const int64_t swap[] = {1, 0, 2, 3, 4, 5, 6, 7};
    tn_value x = imp_in(c, 0), n = lengths(c);
    int axis = time_axis(c, x);
    if (!n.def) {
        imp_out(c, 0, imp_squeeze(c, imp_slice(c, x, axis, -1, INT64_MAX), axis));
        return;
    }
    x = axis == 0 ? imp_transpose(c, x, imp_rank(x), swap) : x; /* batch first: row b, step n[b] - 1 */
    tn_gather_nd_attr a = {1};
    tn_value at = imp_unsqueeze(c, imp_with(c, &tn_op_subtract, n, 1), 1);
    imp_out(c, 0, imp_call2(c, &tn_op_gather_nd, &a, x, at));
}

static void sequence_reverse(imp_node *c)
{
    int64_t begin = -1, end = INT64_MIN, step = -1, axis = 0;
    tn_value x = imp_in(c, 0), n = lengths(c);
    tn_reverse_sequence_attr a = {0, 1};
    tn_slice_attr all = {tn_make_dims(c->g, 1, &begin), tn_make_dims(c->g, 1, &end),
                         tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &axis)};
    if (time_axis(c, x) != 0)
        imp_refuse(c, IMP_BAD_VALUE, "axis must be 0");
    imp_out(c, 0,
            n.def ? imp_call2(c, &tn_op_reverse_sequence, &a, x, n)
                  : imp_call1(c, &tn_op_strided_slice, &all, x));
}

/* ---- by rank ---- */

typedef struct ranking {
    tn_value value, index; /* of the first k, along `axis` */
    int axis;
    tn_value x; /* the operand, flat where no axis is given */
} ranking;

static bool rank_elements(imp_node *c, int64_t k, bool ascend, ranking *r)
{
    r->x = imp_in(c, 0);
    if (imp_has_attr(c, "axis") && strcmp(mx_text(c, "axis", "None"), "None") == 0 && !c->bad)
        r->x = imp_flat(c, r->x);
    r->axis = imp_axis(c, mx_int(c, "axis", -1), imp_rank(r->x));
    if (c->bad)
        return false;
    const tn_expr *count = k > 0 ? tn_idx(c->pool, k) : imp_type(r->x)->dim[r->axis];
    tn_topk_attr a = {tn_dims_make(c->arena, 1, &count), r->axis, ascend, TN_I64};
    r->value = imp_call1(c, &tn_op_topk, &a, r->x);
    r->index = (tn_value){r->value.def, 1};
    return !c->bad;
}

/* 1 for elements that are among them. */
static tn_value mask_of(imp_node *c, const ranking *r)
{
    const tn_type *t = imp_type(r->x);
    tn_broadcast_to_attr all = {{(uint32_t)t->n, t->dim}},
                         some = {{(uint32_t)imp_rank(r->index), imp_type(r->index)->dim}};
    tn_scatter_attr a = {r->axis, "update"};
    tn_value in[3] = {imp_call1(c, &tn_op_broadcast_to, &all, imp_const(c, t->dtype, 0)), r->index,
                      imp_call1(c, &tn_op_broadcast_to, &some, imp_const(c, t->dtype, 1))};
    return imp_call(c, &tn_op_scatter_elements, &a, 3, in);
}

static void topk(imp_node *c)
{
    static const char *const kinds[] = {"value", "indices", "mask", "both", NULL};
    enum { VALUE, INDICES, MASK, BOTH };
    ranking r;
    int kind = mx_choice(c, "ret_typ", INDICES, kinds);
    tn_dtype t = mx_dtype(c, "dtype", TN_F32);
    if (!rank_elements(c, mx_int(c, "k", 1), mx_bool(c, "is_ascend", false), &r))
        return;
    imp_out(c, 0, kind == INDICES ? imp_cast(c, r.index, t) : kind == MASK ? mask_of(c, &r) : r.value);
    if (kind == BOTH)
        imp_out_any(c, 1, imp_cast(c, r.index, t));
}

static void sort(imp_node *c)
{
    ranking r;
    bool where = c->row->op[0] == 'a' || strstr(c->row->op, "arg");
    tn_dtype t = where ? mx_dtype(c, "dtype", TN_F32) : TN_F32;
    if (rank_elements(c, 0, mx_bool(c, "is_ascend", true), &r))
        imp_out(c, 0, where ? imp_cast(c, r.index, t) : r.value);
}

// clang-format off
const imp_row mx_rows_index[] = {
    {"take",             0, 0, 2, 1, take,             NULL},
    {"_npi_take",        0, 0, 2, 1, take,             NULL},
    {"Embedding",        0, 0, 2, 1, embedding,        NULL},
    {"_npx_embedding",   0, 0, 2, 1, embedding,        NULL},
    {"_contrib_SparseEmbedding", 0, 0, 2, 1, embedding, NULL},
    {"pick",             0, 0, 2, 1, pick,             NULL},
    {"choose_element_0index", 0, 0, 2, 1, pick,        NULL},
    {"_npx_pick",        0, 0, 2, 1, pick,             NULL},
    {"batch_take",       0, 0, 2, 1, batch_take,       NULL},
    {"gather_nd",        0, 0, 2, 1, gather_nd,        NULL},
    {"scatter_nd",       0, 0, 2, 1, scatter_nd,       NULL},
    {"one_hot",          0, 0, 1, 1, one_hot,          NULL},
    {"_npx_one_hot",     0, 0, 1, 1, one_hot,          NULL},
    {"SequenceMask",     0, 0, 2, 1, sequence_mask,    NULL},
    {"_npx_sequence_mask", 0, 0, 2, 1, sequence_mask,  NULL},
    {"SequenceLast",     0, 0, 2, 1, sequence_last,    NULL},
    {"SequenceReverse",  0, 0, 2, 1, sequence_reverse, NULL},
    {"topk",             0, 0, 1, 2, topk,             NULL},
    {"_npx_topk",        0, 0, 1, 2, topk,             NULL},
    {"sort",             0, 0, 1, 1, sort,             NULL},
    {"argsort",          0, 0, 1, 1, sort,             NULL},
    {"_npi_argsort",     0, 0, 1, 1, sort,             NULL},
    {0},
};
// clang-format on
