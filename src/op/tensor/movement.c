/* Index maps: transpose, nn.pad, concatenate. Each element of the result is one element of an operand, or a
 * constant. */
#include "op/code.h"
#include "op/rule.h"

#include "op/gradient.h"
#include "op/tensor/tensor.h"

#include <string.h>

static const char *const data_in[] = {"data"};

/* ---- transpose ---- */

static tn_status transpose_infer(tn_graph *g, tn_node *n)
{
    tn_transpose_attr a = *(const tn_transpose_attr *)n->attr;
    const tn_type *t;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    int64_t axes[TN_RULE_MAX_RANK];
    bool seen[TN_RULE_MAX_RANK];
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_axes(g, n, a.axes, t->n, seen));
    if (a.axes.n && a.axes.n != t->n)
        return tn_rule_fail(g, n, "op-E007", "axes has %u entries, but data is %s", (unsigned)a.axes.n,
                            tn_rule_type_text(g, t));
    for (int i = 0; i < t->n; i++) {
        int64_t from = a.axes.n ? a.axes.at[i] : t->n - 1 - i;
        axes[i] = from < 0 ? from + t->n : from;
        dim[i] = t->dim[axes[i]];
    }
    a.axes = tn_ints_make(g->arena, t->n, axes);
    tn_rule_set_attr(g, n, &a);
    return tn_rule_result(g, n, 0, t->dtype, t->n, dim);
}

static void transpose_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_transpose_attr *a = n->attr;
    const tn_expr *index[TN_RULE_MAX_RANK];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "transpose", "injective", NULL);
    for (int i = 0; i < t->ndim; i++)
        index[a->axes.at[i]] = t->axis[i];
    tn_te_define(te, t, tn_at(te, in[0], t->ndim, index));
}

static void transpose_moves(tn_pool *p, const tn_node *n, const tn_expr *const from[], const tn_expr *to[])
{
    const tn_transpose_attr *a = n->attr;
    (void)p;
    for (int i = 0; i < n->type[0]->n; i++)
        to[i] = from[a->axes.at[i]];
}

/* Identity; two in a row; a move of dimensions of extent 1 only, which is a reshape. */
static tn_status transpose_simplify(tn_graph *g, tn_node *n, tn_value *out)
{
    const tn_transpose_attr *a = n->attr;
    tn_value v = tn_in(n, 0);
    const tn_type *t = tn_value_type(v);
    int64_t axes[TN_RULE_MAX_RANK], last = -1;
    bool identity = true, in_order = true;
    for (int i = 0; i < t->n; i++) {
        identity &= a->axes.at[i] == i;
        if (tn_is_value(t->dim[a->axes.at[i]], 1))
            continue;
        in_order &= a->axes.at[i] > last && !tn_is_value(t->dim[a->axes.at[i]], 0);
        last = a->axes.at[i];
    }
    if (identity) {
        *out = v;
    } else if (in_order) {
        tn_reshape_attr r = {.newshape = {n->type[0]->n, n->type[0]->dim}, .allowzero = true};
        *out = tn_val(tn_make_call(g, n->owner, n, &tn_op_reshape, 1, &v, &r, n->loc));
    } else if (v.def->op == n->op) {
        const tn_transpose_attr *b = v.def->attr;
        for (int i = 0; i < t->n; i++)
            axes[i] = b->axes.at[a->axes.at[i]];
        tn_transpose_attr both = {tn_ints_make(g->arena, t->n, axes)};
        v = tn_in(v.def, 0);
        *out = tn_val(tn_make_call(g, n->owner, n, n->op, 1, &v, &both, n->loc));
    } else {
        return TN_OK;
    }
    return out->def ? TN_OK : TN_FAIL;
}

/* clang-format off */
static const tn_attr_field transpose_fields[] = TN_ATTR_TABLE(tn_transpose_attr, TN_TRANSPOSE_ATTRS);

const tn_op tn_op_transpose = {
    .name = "transpose", .doc = "Permutes the dimensions.",
    .attr_size = sizeof(tn_transpose_attr), .attr = transpose_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_INJECTIVE, .in_name = data_in,
    .infer = transpose_infer, .compute = transpose_compute, .simplify = transpose_simplify,
    .gradient = tn_gradient_transpose, .moves_to = transpose_moves,
};
/* clang-format on */

/* ---- nn.pad ---- */

static const char *const pad_modes[] = {"constant", "edge", "reflect", "wrap"};

/* What a negative width cuts off. */
static const tn_expr *cut_off(tn_pool *p, const tn_expr *width)
{
    return tn_max(p, tn_sub(p, tn_idx(p, 0), width), tn_idx(p, 0));
}

static tn_status check_mode(tn_graph *g, const tn_node *n, const char *mode)
{
    for (int i = 0; i < 4; i++)
        if (mode && strcmp(mode, pad_modes[i]) == 0)
            return TN_OK;
    return tn_rule_fail(g, n, "op-E007", "unknown pad_mode \"%s\"; use constant, edge, reflect or wrap",
                        mode ? mode : "None");
}

/* Operand i, where it is given, is the padding value. */
static tn_status check_value(tn_graph *g, const tn_node *n, int i)
{
    const tn_type *value;
    if (n->nin <= i || !n->in[i].def)
        return TN_OK;
    TN_TRY(tn_rule_tensor(g, n, i, 0, &value));
    return tn_rule_same_dtype(g, n, i);
}

static tn_status pad_mode(tn_graph *g, const tn_node *n, const tn_type *t)
{
    const tn_pad_attr *a = n->attr;
    TN_TRY(check_mode(g, n, a->pad_mode));
    for (int i = 0; i < t->n && a->pad_mode[0] != 'c'; i++) {
        const tn_expr *before = a->pad_width.at[2 * i], *after = a->pad_width.at[2 * i + 1],
                      *left = t->dim[i];
        int64_t rest;
        if (a->pad_mode[0] == 'w')
            left = tn_sub(g->pool, left, tn_add(g->pool, cut_off(g->pool, before), cut_off(g->pool, after)));
        if (tn_is_int(left, &rest) && rest <= 0 && (tn_rule_may_pad(before) || tn_rule_may_pad(after)))
            return tn_rule_fail(g, n, "op-E009", "%s has no elements along axis %d to pad with",
                                tn_rule_type_text(g, t), i);
    }
    return TN_OK;
}

static tn_status pad_infer(tn_graph *g, tn_node *n)
{
    const tn_pad_attr *a = n->attr;
    const tn_type *t;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(check_value(g, n, 1));
    if (a->pad_width.n != 2u * t->n)
        return tn_rule_fail(g, n, "op-E007",
                            "pad_width has %u entries; two for each dimension of %s are expected",
                            (unsigned)a->pad_width.n, tn_rule_type_text(g, t));
    for (int i = 0; i < t->n; i++) {
        dim[i] = t->dim[i];
        for (int k = 0; k < 2; k++) {
            const tn_expr *width = a->pad_width.at[2 * i + k];
            int64_t v;
            if (tn_is_int(width, &v) && (v < -INT32_MAX || v > INT32_MAX))
                return tn_rule_fail(g, n, "op-E007", "pad_width of dimension %d is outside (-2^31, 2^31)", i);
            dim[i] = tn_add(g->pool, dim[i], width);
        }
    }
    TN_TRY(pad_mode(g, n, t));
    return tn_rule_result(g, n, 0, t->dtype, t->n, dim);
}

static const tn_expr *magnitude(tn_pool *p, const tn_expr *e)
{
    return tn_max(p, e, tn_sub(p, tn_idx(p, 0), e));
}

/* Position at (which may be outside of [0, extent), by a width of `w` at the most) of an axis that goes on beyond its
 * ends. */
static const tn_expr *continued(tn_pool *p, char mode, const tn_expr *at, const tn_expr *extent,
                                const tn_window *w)
{
    const tn_expr *zero = tn_idx(p, 0), *one = tn_idx(p, 1), *last = tn_sub(p, extent, one);
    int64_t n, before, after;
    bool known = tn_is_int(extent, &n) && tn_is_int(w->before, &before) && tn_is_int(w->after, &after);
    bool once = known && before < n && after < n; /* no position is passed twice */
    if (mode == 'e')
        return tn_min(p, tn_max(p, at, zero), last);
    if (mode == 'w')
        return once ? tn_select(p, tn_lt(p, at, zero), tn_add(p, at, extent),
                                tn_select(p, tn_lt(p, at, extent), at, tn_sub(p, at, extent)))
                    : tn_fmod(p, at, extent);
    if (once) /* mirrored at 0, then at the last one */
        return tn_sub(p, last, magnitude(p, tn_sub(p, last, magnitude(p, at))));
    const tn_expr *period = tn_max(p, tn_mul(p, tn_idx(p, 2), last), one), *turn = tn_fmod(p, at, period);
    return tn_min(p, turn, tn_sub(p, period, turn)); /* extent 1: turn is 0 */
}

/* An axis that is cut at one end goes on, at the other, with what is left of it. */
static const tn_expr *wrapped(tn_pool *p, const tn_expr *at, const tn_expr *extent, const tn_window *w)
{
    const tn_expr *first = cut_off(p, w->before),
                  *left = tn_sub(p, extent, tn_add(p, first, cut_off(p, w->after)));
    if (left->kind != TN_E_INT)
        left = tn_max(p, left, tn_idx(p, 1));
    at = tn_sub(p, at, first);
    return tn_add(p, continued(p, 'w', at, left, w), first);
}

/* The result as t, which moves w[i] over axis i of the data; value: what surrounds it. */
static void padded(tn_te *te, tn_tensor *t, const tn_tensor *data, const tn_window w[], char mode,
                   const tn_expr *value)
{
    tn_pool *p = te->pool;
    const tn_expr *index[TN_RULE_MAX_RANK], *inside = NULL;
    for (int i = 0; i < t->ndim; i++) {
        index[i] = tn_rule_window_index(p, t->axis[i], tn_idx(p, 0), &w[i]);
        const tn_expr *here = tn_rule_window_inside(p, index[i], data->dim[i], &w[i]);
        if (here && mode == 'w')
            index[i] = wrapped(p, index[i], data->dim[i], &w[i]);
        else if (here && mode != 'c')
            index[i] = continued(p, mode, index[i], data->dim[i], &w[i]);
        else
            inside = tn_rule_both(p, inside, here);
    }
    tn_te_define(
        te, t, inside ? tn_at_if(te, data, t->ndim, index, inside, value) : tn_at(te, data, t->ndim, index));
}

static const tn_expr *pad_value(tn_te *te, const tn_tensor *operand, tn_dtype t, double v)
{
    return operand               ? tn_at(te, operand, 0, NULL)
           : tn_dtype_is_bool(t) ? tn_bool(te->pool, v != 0)
                                 : tn_const(te->pool, t, v);
}

static void pad_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_pad_attr *a = n->attr;
    tn_window w[TN_RULE_MAX_RANK];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "pad", "injective", NULL);
    for (int i = 0; i < t->ndim; i++)
        w[i] = (tn_window){.stride = 1,
                           .dilation = 1,
                           .before = a->pad_width.at[2 * i],
                           .after = a->pad_width.at[2 * i + 1]};
    for (int i = 0; i < t->ndim && a->pad_mode[0] != 'c'; i++)
        if (tn_rule_may_pad(w[i].before) || tn_rule_may_pad(w[i].after))
            tn_rule_require_elements(te, in[0], i, t);
    padded(te, t, in[0], w, a->pad_mode[0], pad_value(te, n->nin > 1 ? in[1] : NULL, t->dtype, a->pad_value));
}

static void pad_layout(tn_layout_query *q)
{
    const tn_pad_attr *a = q->node->attr;
    bool moved[TN_RULE_MAX_RANK] = {false};
    for (uint32_t i = 0; i < a->pad_width.n; i++)
        moved[i / 2] |= !tn_is_value(a->pad_width.at[i], 0);
    tn_layout_unmoved(q, moved);
}

static tn_status pad_simplify(tn_graph *g, tn_node *n, tn_value *out)
{
    const tn_pad_attr *a = n->attr;
    for (uint32_t i = 0; i < a->pad_width.n; i++)
        if (!tn_is_value(a->pad_width.at[i], 0))
            return tn_sink_transpose(g, n, out);
    return tn_simplify_same_type(g, n, out);
}

/* A constant value to pad with is an attribute. */
static tn_status pad_to_static(tn_graph *g, tn_node *n, tn_value *out)
{
    tn_pad_attr a = *(const tn_pad_attr *)n->attr;
    tn_value v = tn_in(n, 0);
    if (n->nin < 2 || !n->in[1].def || !tn_rule_uniform(tn_in(n, 1), &a.pad_value))
        return TN_OK;
    *out = tn_val(tn_make_call(g, n->owner, n, n->op, 1, &v, &a, n->loc));
    return out->def ? TN_OK : TN_FAIL;
}

static bool pad_permute(tn_graph *g, const tn_node *n, const int64_t axes[], void *attr)
{
    tn_pad_attr *a = attr;
    const tn_expr *width[2 * TN_RULE_MAX_RANK];
    for (int i = 0; i < n->type[0]->n; i++) {
        width[2 * axes[i]] = a->pad_width.at[2 * i];
        width[2 * axes[i] + 1] = a->pad_width.at[2 * i + 1];
    }
    a->pad_width = tn_dims_make(g->arena, a->pad_width.n, width);
    return true;
}

/* clang-format off */
static const char *const pad_in[] = {"data", "pad_value"};
static const tn_attr_field pad_fields[] = TN_ATTR_TABLE(tn_pad_attr, TN_PAD_ATTRS);

const tn_op tn_op_nn_pad = {
    .name = "nn.pad", .doc = "Surrounds a tensor with a constant, or with its own elements.",
    .attr_size = sizeof(tn_pad_attr), .attr = pad_fields,
    .nin = 2, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_INJECTIVE, .in_name = pad_in,
    .infer = pad_infer, .layout = pad_layout, .compute = pad_compute, .simplify = pad_simplify, .permute = pad_permute,
    .to_static = pad_to_static,
    .gradient = tn_gradient_pad,
};
/* clang-format on */

/* ---- dyn.pad: widths before each dimension are data, extents of the result are bound. Modes other than constant need
 * elements to go on with, which was checked. ---- */

static tn_status dyn_pad_infer(tn_graph *g, tn_node *n)
{
    const tn_dyn_pad_attr *a = n->attr;
    const tn_type *t, *before;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_tensor(g, n, 1, 1, &before));
    TN_TRY(check_value(g, n, 2));
    TN_TRY(check_mode(g, n, a->pad_mode));
    if (!tn_dtype_is_int(before->dtype) || !tn_is_value(before->dim[0], t->n) || a->extent.n != t->n)
        return tn_rule_fail(g, n, "op-E007",
                            "before and extent must have an integer for each dimension of %s",
                            tn_rule_type_text(g, t));
    return tn_rule_result(g, n, 0, t->dtype, t->n, a->extent.at);
}

static void dyn_pad_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_dyn_pad_attr *a = n->attr;
    tn_pool *p = te->pool;
    tn_window w[TN_RULE_MAX_RANK];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "pad", "injective", NULL);
    for (int i = 0; i < t->ndim; i++) {
        const tn_expr *before = tn_cast(p, TN_IDX, tn_at1(te, in[1], tn_idx(p, i)));
        const tn_expr *more = tn_sub(p, t->dim[i], in[0]->dim[i]);
        w[i] = (tn_window){.stride = 1, .dilation = 1, .before = before, .after = tn_sub(p, more, before)};
        if (a->pad_mode[0] != 'c')
            tn_rule_require_elements(te, in[0], i, t);
    }
    padded(te, t, in[0], w, a->pad_mode[0], pad_value(te, n->nin > 2 ? in[2] : NULL, t->dtype, a->pad_value));
}

/* clang-format off */
static const char *const dyn_pad_in[] = {"data", "before", "pad_value"};
static const tn_attr_field dyn_pad_fields[] = TN_ATTR_TABLE(tn_dyn_pad_attr, TN_DYN_PAD_ATTRS);

const tn_op tn_op_dyn_pad = {
    .name = "dyn.pad", .doc = "nn.pad whose widths are data, the extents of its result bound.",
    .attr_size = sizeof(tn_dyn_pad_attr), .attr = dyn_pad_fields,
    .nin = 3, .min_in = 2, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = dyn_pad_in,
    .infer = dyn_pad_infer, .compute = dyn_pad_compute,
};
/* clang-format on */

/* ---- concatenate ---- */

static tn_status concatenate_infer(tn_graph *g, tn_node *n)
{
    const tn_type *first, *t;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    int axis;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &first));
    TN_TRY(tn_rule_axis(g, n, ((const tn_axis_attr *)n->attr)->axis, first->n, &axis));
    for (int i = 0; i < first->n; i++)
        dim[i] = first->dim[i];
    for (int k = 1; k < n->nin; k++) {
        TN_TRY(tn_rule_tensor(g, n, k, first->n, &t));
        TN_TRY(tn_rule_same_dtype(g, n, k));
        for (int i = 0; i < first->n; i++)
            if (i != axis && !tn_rule_agree(g, n, t->dim[i], first->dim[i]))
                return tn_rule_fail(
                    g, n, "op-E008",
                    "operands 0 and %d, %s and %s, differ in dimension %d, where only dimension %d may", k,
                    tn_rule_type_text(g, first), tn_rule_type_text(g, t), i, axis);
        dim[axis] = tn_add(g->pool, dim[axis], t->dim[axis]);
    }
    return tn_rule_result(g, n, 0, first->dtype, first->n, dim);
}

/* The joined tensors: offset[i] is where in[i] begins along axis, offset[n] the end. */
typedef struct joined {
    tn_te *te;
    const tn_tensor *out;
    tn_tensor *const *in;
    const tn_expr **offset;
    int axis;
} joined;

/* Element of operands [lo, hi); nothing else may be read. Many operands split in the middle, so the nesting
 * is O(log n); few are one chain of masked loads. */
static const tn_expr *piece(const joined *j, int lo, int hi)
{
    enum { CHAIN = 8 };
    tn_pool *p = j->te->pool;
    const tn_expr *at = j->out->axis[j->axis], *value = tn_const(p, j->out->dtype, 0),
                  *index[TN_RULE_MAX_RANK];
    if (hi - lo > CHAIN) {
        int mid = (lo + hi) / 2;
        return tn_select(p, tn_lt(p, at, j->offset[mid]), piece(j, lo, mid), piece(j, mid, hi));
    }
    for (int i = hi - 1; i >= lo; i--) {
        const tn_expr *above = i > 0 ? tn_le(p, j->offset[i], at) : NULL;
        const tn_expr *below = j->in[i + 1] ? tn_lt(p, at, j->offset[i + 1]) : NULL;
        const tn_expr *here = tn_rule_both(p, above, below);
        for (int d = 0; d < j->out->ndim; d++)
            index[d] = d == j->axis ? tn_sub(p, at, j->offset[i]) : j->out->axis[d];
        value = here ? tn_at_if(j->te, j->in[i], j->out->ndim, index, here, value)
                     : tn_at(j->te, j->in[i], j->out->ndim, index);
    }
    return value;
}

static void concatenate_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    int64_t a = ((const tn_axis_attr *)n->attr)->axis;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "concatenate", "injective", NULL);
    int axis = (int)(a < 0 ? a + t->ndim : a);
    tn_tensor **end = TN_NEW_N(te->arena, tn_tensor *, n->nin + 1u); /* NULL after the last */
    const tn_expr **offset = TN_NEW_N(te->arena, const tn_expr *, n->nin + 1u);
    offset[0] = tn_idx(te->pool, 0);
    for (int i = 0; i < n->nin; i++) {
        end[i] = in[i];
        offset[i + 1] = tn_add(te->pool, offset[i], in[i]->dim[axis]);
    }
    tn_te_define(te, t, piece(&(joined){te, t, end, offset, axis}, 0, n->nin));
}

/* Channel blocks stay whole if every operand but the last fills its own. */
static void concatenate_layout(tn_layout_query *q)
{
    const tn_node *n = q->node;
    int64_t a = ((const tn_axis_attr *)n->attr)->axis, c;
    const tn_layout *l = q->in[0];
    uint32_t block = tn_rule_channel_block(l);
    bool whole = tn_rule_permutes(l), keep = whole || (block && (a == 1 || a == -3));
    for (int i = 0; i < n->nin; i++)
        keep = keep && q->in[i] == l &&
               (whole || i == n->nin - 1 || (tn_is_int(tn_in_type(n, i)->dim[1], &c) && c % block == 0));
    for (int i = 0; i < n->nin; i++)
        q->in[i] = keep ? l : NULL;
    q->out[0] = keep ? l : NULL;
}

static bool concatenate_value(tn_graph *g, const tn_node *n, const tn_dims in[], tn_dims out[])
{
    const tn_type *t = tn_in_type(n, 0);
    int64_t axis = ((const tn_axis_attr *)n->attr)->axis, rows = 1, extent;
    uint32_t count = 0;
    for (int64_t d = 0; d < (axis < 0 ? axis + t->n : axis); d++) {
        if (!tn_is_int(t->dim[d], &extent) || extent < 1 || extent > UINT16_MAX)
            return false;
        rows *= extent;
    }
    for (int i = 0; i < n->nin; i++) {
        if (!in[i].at || in[i].n % rows)
            return false;
        count += in[i].n;
    }
    const tn_expr **value = TN_NEW_N(g->arena, const tn_expr *, count);
    count = 0;
    for (int64_t row = 0; row < rows; row++)
        for (int i = 0; i < n->nin; i++)
            for (int64_t each = in[i].n / rows, k = row * each; k < (row + 1) * each; k++)
                value[count++] = in[i].at[k];
    out[0] = (tn_dims){count, value};
    return true;
}

/* Is operand i itself joined along the axis of n, and read by n alone? */
static bool joins_too(const tn_node *n, int i)
{
    const tn_node *d = n->in[i].def;
    int64_t rank = n->type[0]->n, a = ((const tn_axis_attr *)n->attr)->axis, b;
    if (d->op != n->op || tn_value_n_uses(tn_in(n, i)) != 1)
        return false;
    b = ((const tn_axis_attr *)d->attr)->axis;
    return (a < 0 ? a + rank : a) == (b < 0 ? b + rank : b);
}

/* One operand; operands that are themselves joined along this axis. */
static tn_status concatenate_simplify(tn_graph *g, tn_node *n, tn_value *out)
{
    enum { MOST = 1024 };
    int total = 0;
    bool any = false;
    if (n->nin == 1)
        *out = tn_in(n, 0);
    for (int i = 0; i < n->nin && total <= MOST; i++) {
        any |= joins_too(n, i);
        total += joins_too(n, i) ? n->in[i].def->nin : 1;
    }
    if (out->def || !any || total > MOST)
        return out->def ? TN_OK : tn_sink_transpose(g, n, out);
    tn_value *in = TN_NEW_N(g->arena, tn_value, (size_t)total);
    for (int i = 0, k = 0; i < n->nin; i++) {
        const tn_node *from = joins_too(n, i) ? n->in[i].def : n;
        for (int j = from == n ? i : 0; j < (from == n ? i + 1 : from->nin); j++)
            in[k++] = tn_in(from, j);
    }
    *out = tn_val(tn_make_call(g, n->owner, n, n->op, total, in, n->attr, n->loc));
    return out->def ? TN_OK : TN_FAIL;
}

/* A border between operands that only the run knows cuts the loop over the result at a sum of extents, so a
 * compiler's work grows with the square of their number, and more. Beyond a few, each operand is copied by loops of
 * its own; and so are many thin ones, as the steps of a loop that was unrolled, whose borders cut every vector. */
static bool has_many_borders(const tn_node *n, const struct tn_machine *m)
{
    enum { MOST = 8, MANY = 24, THIN = 4 };
    int64_t axis = ((const tn_axis_attr *)n->attr)->axis, known, all = 0;
    int borders = 0;
    (void)m;
    for (int i = 0; i < n->nin; i++) {
        const tn_type *t = tn_in_type(n, i);
        bool is_known = tn_is_int(t->dim[axis < 0 ? axis + t->n : axis], &known);
        borders += i < n->nin - 1 && (borders > 0 || !is_known);
        all += is_known ? known : 0;
    }
    return borders > MOST || (n->nin > MANY && borders == 0 && all < THIN * n->nin);
}

static tn_status concatenate_by_copies(tn_graph *g, tn_node *n, tn_value out[])
{
    tn_value *in = TN_NEW_N(g->arena, tn_value, n->nin);
    for (int i = 0; i < n->nin; i++)
        in[i] = tn_in(n, i);
    out[0] = tn_val(tn_make_call(g, n->owner, n, &tn_op_dyn_concatenate, n->nin, in, n->attr, n->loc));
    return out[0].def ? TN_OK : TN_FAIL;
}

static void copies_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    int64_t a = ((const tn_axis_attr *)n->attr)->axis;
    tn_code c = tn_code_open(te, n, 0, "concatenate", &out[0]);
    tn_body *begin = c.at;
    const tn_tensor *t = out[0];
    int last = t->ndim - 1, axis = (int)(a < 0 ? a + t->ndim : a);
    const tn_expr *at[TN_RULE_MAX_RANK], *to[TN_RULE_MAX_RANK], *offset = tn_idx(c.p, 0);
    for (int i = 0; i < n->nin; i++) {
        c.at = begin;
        tn_code_each(&c, last, in[i]->dim, at);
        at[last] = tn_code_spread(&c, "k", in[i]->dim[last]);
        for (int d = 0; d <= last; d++)
            to[d] = d == axis ? tn_add(c.p, offset, at[d]) : at[d];
        tn_code_store(&c, t->buffer, t->ndim, to, tn_at(te, in[i], t->ndim, at));
        offset = tn_add(c.p, offset, in[i]->dim[axis]);
    }
}

/* clang-format off */
static const tn_attr_field concatenate_fields[] = TN_ATTR_TABLE(tn_axis_attr, TN_CONCATENATE_ATTRS);

static const tn_alternative concatenate_ways[] = {
    {"copies", "loops for each operand: where only the run knows where many of them begin, or many are thin",
     has_many_borders, NULL, concatenate_by_copies},
};

const tn_op tn_op_concatenate = {
    .name = "concatenate", .doc = "Concatenates tensors along one axis.",
    .attr_size = sizeof(tn_axis_attr), .attr = concatenate_fields,
    .nin = -1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP | TN_OP_HOST_INDEX, .fuse = TN_FUSE_INJECTIVE,
    .infer = concatenate_infer, .layout = concatenate_layout, .compute = concatenate_compute,
        .shape_value = concatenate_value, .simplify = concatenate_simplify, .permute = tn_permute_axis,
    .alternative = concatenate_ways, .n_alternative = 1, .gradient = tn_gradient_concatenate,
};

const tn_op tn_op_dyn_concatenate = {
    .name = "dyn.concatenate", .doc = "Concatenates many tensors along one axis, of extents that only the run knows.",
    .attr_size = sizeof(tn_axis_attr), .attr = concatenate_fields,
    .nin = -1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_OPAQUE,
    .infer = concatenate_infer, .body = copies_body,
};
/* clang-format on */
