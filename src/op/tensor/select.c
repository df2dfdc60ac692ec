/* Parts of a tensor: strided_slice, strided_set and take. */
#include "op/rule.h"

#include "op/gradient.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* ---- strided_slice ----
 * numpy's rules: negative positions count from the end, positions beyond an end stop there. Normalised
 * attributes have one entry a listed axis; where the extent is constant, begin and end are clipped (for a
 * negative step, an end before element 0 is -extent - 1, which stays what it is when normalised again). Positions may
 * be expressions of symbols, which mean what their values do.
 */

static int64_t clip(int64_t v, int64_t low, int64_t high) { return v < low ? low : v > high ? high : v; }

static int64_t clip_begin(int64_t v, int64_t extent, int64_t step)
{
    v = v < 0 ? clip(v, -extent - 1, 0) + extent : v;
    return step > 0 ? clip(v, 0, extent) : clip(v, -1, extent - 1);
}

/* Element count from begin (in [0, extent], or -1 for an empty slice backwards) to a clipped end. */
static int64_t slice_count(int64_t begin, int64_t end, int64_t step)
{
    int64_t way = step > 0 ? end - begin : begin - end, pace = step > 0 ? step : -step;
    return way <= 0 ? 0 : (way - 1) / pace + 1;
}

typedef struct part {
    const tn_expr *begin, *count;
} part; /* of one axis, index */

static part whole_part(tn_pool *p, const tn_expr *extent) { return (part){tn_idx(p, 0), extent}; }

/* A position along extent n, clipped to [low, high]; numbers of INT32_MAX and beyond mean an end. */
static const tn_expr *position(tn_pool *p, const tn_expr *at, const tn_expr *n, const tn_expr *low,
                               const tn_expr *high)
{
    int64_t v;
    if (!tn_is_int(at, &v)) {
        at = tn_select(p, tn_lt(p, at, tn_idx(p, 0)), tn_add(p, n, at), at);
        return tn_min(p, tn_max(p, at, low), high);
    }
    if (v <= -INT32_MAX || v >= INT32_MAX) /* no extent is larger, and index arithmetic stays in range */
        return v < 0 ? low : high;
    if (v >= 0)
        return tn_min(p, at, high);
    const tn_expr *from_end = tn_add(p, n, at);
    return from_end == high ? high : tn_max(p, from_end, low);
}

/* Begin and end stay inside [0, n], with a negative step inside [-1, n - 1]. */
static part symbolic_part(tn_pool *p, const tn_expr *n, const tn_expr *begin, const tn_expr *end,
                          int64_t step)
{
    const tn_expr *low = tn_idx(p, step > 0 ? 0 : -1), *high = step > 0 ? n : tn_add(p, n, tn_idx(p, -1));
    const tn_expr *b = position(p, begin, n, low, high), *e = position(p, end, n, low, high);
    const tn_expr *way = step > 0 ? tn_sub(p, e, b) : tn_sub(p, b, e);
    if (e != (step > 0 ? high : low)) /* else nothing is less than nothing */
        way = tn_max(p, way, tn_idx(p, 0));
    return (part){b, tn_ceildiv(p, way, step > 0 ? step : -step)};
}

static part slice_part(tn_pool *p, const tn_expr *extent, const tn_expr *begin, const tn_expr *end,
                       int64_t step)
{
    int64_t n, b, e;
    if (!tn_is_int(extent, &n) || !tn_is_int(begin, &b) || !tn_is_int(end, &e))
        return symbolic_part(p, extent, begin, end, step);
    b = clip_begin(b, n, step);
    e = clip_begin(e, n, step);
    return (part){tn_idx(p, b), tn_idx(p, slice_count(b, e, step))};
}

static tn_status slice_lengths(tn_graph *g, const tn_node *n, const tn_slice_attr *a, int rank)
{
    if (a->begin.n != a->end.n)
        return tn_rule_fail(g, n, "op-E007", "begin has %u entries, but end has %u", (unsigned)a->begin.n,
                            (unsigned)a->end.n);
    if (a->begin.n > (uint32_t)rank || (a->axes.n && a->axes.n != a->begin.n) || a->strides.n > a->begin.n)
        return tn_rule_fail(
            g, n, "op-E007",
            "begin, end, strides and axes have %u, %u, %u and %u entries, which does not match %s",
            (unsigned)a->begin.n, (unsigned)a->end.n, (unsigned)a->strides.n, (unsigned)a->axes.n,
            tn_rule_type_text(g, tn_in_type(n, 0)));
    return TN_OK;
}

static const tn_expr *clipped(tn_graph *g, const tn_expr *at, int64_t extent, int64_t step)
{
    int64_t v;
    if (!tn_is_int(at, &v))
        return at;
    v = clip_begin(v, extent, step);
    return tn_idx(g->pool, v < 0 ? -extent - 1 : v);
}

/* One entry for each listed axis in all four lists, positions clipped where the extent is known. */
static tn_status slice_normalise(tn_graph *g, tn_node *n, const tn_type *t)
{
    const tn_slice_attr *a = n->attr;
    const tn_expr *begin[TN_RULE_MAX_RANK], *end[TN_RULE_MAX_RANK];
    int64_t step[TN_RULE_MAX_RANK], axes[TN_RULE_MAX_RANK], extent;
    bool seen[TN_RULE_MAX_RANK];
    TN_TRY(slice_lengths(g, n, a, t->n));
    TN_TRY(tn_rule_axes(g, n, a->axes, t->n, seen));
    for (uint32_t i = 0; i < a->begin.n; i++) {
        axes[i] = a->axes.n ? (a->axes.at[i] + t->n) % t->n : (int64_t)i;
        step[i] = i < a->strides.n ? a->strides.at[i] : 1;
        begin[i] = tn_simplify_extent(g, a->begin.at[i]);
        end[i] = tn_simplify_extent(g, a->end.at[i]);
        if (step[i] == 0 || step[i] > INT32_MAX || step[i] < -INT32_MAX)
            return tn_rule_fail(g, n, "op-E007", "strides[%u] is %lld, but must not be 0 or beyond 2^31",
                                (unsigned)i, (long long)step[i]);
        if (tn_is_int(t->dim[axes[i]], &extent)) {
            begin[i] = clipped(g, begin[i], extent, step[i]);
            end[i] = clipped(g, end[i], extent, step[i]);
        }
    }
    tn_slice_attr b = {tn_dims_make(g->arena, a->begin.n, begin), tn_dims_make(g->arena, a->begin.n, end),
                       tn_ints_make(g->arena, a->begin.n, step), tn_ints_make(g->arena, a->begin.n, axes)};
    tn_rule_set_attr(g, n, &b);
    return TN_OK;
}

static void slice_parts(tn_pool *p, const tn_slice_attr *a, int rank, const tn_expr *const dim[], part out[],
                        int64_t step[])
{
    for (int i = 0; i < rank; i++) {
        out[i] = whole_part(p, dim[i]);
        step[i] = 1;
    }
    for (uint32_t i = 0; i < a->axes.n; i++) {
        int64_t axis = a->axes.at[i];
        step[axis] = a->strides.at[i];
        out[axis] = slice_part(p, dim[axis], a->begin.at[i], a->end.at[i], step[axis]);
    }
}

static tn_status slice_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    part parts[TN_RULE_MAX_RANK];
    int64_t step[TN_RULE_MAX_RANK];
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(slice_normalise(g, n, t));
    slice_parts(g->pool, n->attr, t->n, t->dim, parts, step);
    for (int i = 0; i < t->n; i++)
        dim[i] = parts[i].count;
    return tn_rule_result(g, n, 0, t->dtype, t->n, dim);
}

static void slice_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    const tn_expr *index[TN_RULE_MAX_RANK];
    part parts[TN_RULE_MAX_RANK];
    int64_t step[TN_RULE_MAX_RANK];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "strided_slice", "injective", NULL);
    slice_parts(p, n->attr, in[0]->ndim, in[0]->dim, parts, step);
    for (int i = 0; i < t->ndim; i++)
        index[i] = tn_add(p, tn_mul(p, t->axis[i], tn_idx(p, step[i])), parts[i].begin);
    tn_te_define(te, t, tn_at(te, in[0], t->ndim, index));
}

static bool slice_value(tn_graph *g, const tn_node *n, const tn_dims in[], tn_dims out[])
{
    const tn_type *t = tn_in_type(n, 0);
    int64_t begin[TN_RULE_MAX_RANK], count[TN_RULE_MAX_RANK], extent[TN_RULE_MAX_RANK],
        step[TN_RULE_MAX_RANK], all = 1, given = 1;
    part parts[TN_RULE_MAX_RANK];
    slice_parts(g->pool, n->attr, t->n, t->dim, parts, step);
    for (int d = 0; d < t->n; d++) {
        if (!tn_is_int(t->dim[d], &extent[d]) || !tn_is_int(parts[d].begin, &begin[d]) ||
            !tn_is_int(parts[d].count, &count[d]))
            return false;
        given *= extent[d];
        all *= count[d];
    }
    if (!in[0].at || t->n < 1 || given != in[0].n)
        return false;
    const tn_expr **value = TN_NEW_N(g->arena, const tn_expr *, (size_t)all);
    for (int64_t i = 0; i < all; i++) {
        int64_t at = 0, rest = i, apart = 1;
        for (int d = t->n - 1; d >= 0; d--) {
            at += (begin[d] + rest % count[d] * step[d]) * apart;
            rest /= count[d];
            apart *= extent[d];
        }
        value[i] = in[0].at[at];
    }
    out[0] = (tn_dims){(uint32_t)all, value};
    return true;
}

static void slice_layout(tn_layout_query *q)
{
    const tn_slice_attr *a = q->node->attr;
    const tn_type *in = tn_in_type(q->node, 0), *out = q->node->type[0];
    bool moved[TN_RULE_MAX_RANK] = {false};
    for (uint32_t i = 0; i < a->axes.n; i++) {
        int64_t axis = a->axes.at[i];
        moved[axis] = a->strides.at[i] != 1 || in->dim[axis] != out->dim[axis];
    }
    tn_layout_unmoved(q, moved);
}

/* All of it, in steps of 1. */
static tn_status slice_simplify(tn_graph *g, tn_node *n, tn_value *out)
{
    const tn_slice_attr *a = n->attr;
    bool whole = true;
    for (uint32_t i = 0; i < a->strides.n; i++)
        whole = whole && a->strides.at[i] == 1;
    if (whole)
        TN_TRY(tn_simplify_same_type(g, n, out));
    return out->def ? TN_OK : tn_sink_transpose(g, n, out);
}

static bool slice_permute(tn_graph *g, const tn_node *n, const int64_t axes[], void *attr)
{
    tn_slice_attr *a = attr;
    int64_t to[TN_RULE_MAX_RANK];
    (void)n;
    for (uint32_t i = 0; i < a->axes.n; i++)
        to[i] = axes[a->axes.at[i]];
    a->axes = tn_ints_make(g->arena, a->axes.n, to);
    return true;
}

/* clang-format off */
static const tn_attr_field slice_fields[] = TN_ATTR_TABLE(tn_slice_attr, TN_SLICE_ATTRS);
static const char *const data_in[] = {"data", "indices"};

const tn_op tn_op_strided_slice = {
    .name = "strided_slice", .doc = "A regular part of a tensor, from begin to end in steps.",
    .attr_size = sizeof(tn_slice_attr), .attr = slice_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP | TN_OP_HOST_INDEX, .fuse = TN_FUSE_INJECTIVE,
        .in_name = data_in,
    .infer = slice_infer, .layout = slice_layout, .compute = slice_compute, .shape_value = slice_value,
        .permute = slice_permute, .simplify = slice_simplify,
    .gradient = tn_gradient_slice,
};
/* clang-format on */

/* ---- strided_set: data with the part that a slice names replaced ---- */

static tn_status set_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t, *v;
    part parts[TN_RULE_MAX_RANK];
    int64_t step[TN_RULE_MAX_RANK];
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_tensor(g, n, 1, t->n, &v));
    TN_TRY(tn_rule_same_dtype(g, n, 1));
    TN_TRY(slice_normalise(g, n, t));
    slice_parts(g->pool, n->attr, t->n, t->dim, parts, step);
    for (int i = 0; i < t->n; i++) {
        if (!tn_rule_agree(g, n, parts[i].count, v->dim[i]))
            return tn_rule_fail(g, n, "op-E008", "the slice has %s elements along axis %d, but v is %s",
                                tn_rule_dim_text(g, parts[i].count), i, tn_rule_type_text(g, v));
        if (step[i] < 0)
            return tn_rule_fail(g, n, "op-E007", "the step along axis %d is negative", i);
    }
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

static void set_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    const tn_expr *index[TN_RULE_MAX_RANK], *inside = NULL;
    part parts[TN_RULE_MAX_RANK];
    int64_t step[TN_RULE_MAX_RANK];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "strided_set", "injective", NULL);
    slice_parts(p, n->attr, t->ndim, t->dim, parts, step);
    for (int i = 0; i < t->ndim; i++) {
        const tn_expr *pace = tn_idx(p, step[i]), *zero = tn_idx(p, 0);
        const tn_expr *from = tn_sub(p, t->axis[i], parts[i].begin), *low = tn_le(p, zero, from);
        index[i] = tn_fdiv(p, from, pace);
        if (parts[i].count == t->dim[i])
            continue;
        inside = tn_rule_both(p, inside, tn_and(p, low, tn_lt(p, index[i], parts[i].count)));
        if (step[i] > 1)
            inside = tn_and(p, inside, tn_eq(p, tn_fmod(p, from, pace), zero));
    }
    const tn_expr *old = tn_at(te, in[0], t->ndim, t->axis);
    tn_te_define(
        te, t, inside ? tn_at_if(te, in[1], t->ndim, index, inside, old) : tn_at(te, in[1], t->ndim, index));
}

/* clang-format off */
static const char *const set_in[] = {"data", "v"};

const tn_op tn_op_strided_set = {
    .name = "strided_set", .doc = "data with a regular part, from begin to end in steps, replaced by v.",
    .attr_size = sizeof(tn_slice_attr), .attr = slice_fields,
    .nin = 2, .min_in = 2, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_INJECTIVE, .in_name = set_in,
    .infer = set_infer, .compute = set_compute,
};
/* clang-format on */

/* ---- take: out[.., i.., ..] = data[.., indices[i..], ..] ---- */

static tn_status take_infer(tn_graph *g, tn_node *n)
{
    const tn_take_attr *a = n->attr;
    const tn_type *data, *indices;
    const tn_expr *dim[2 * TN_RULE_MAX_RANK];
    int axis, rank = 0;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &data));
    TN_TRY(tn_rule_tensor(g, n, 1, -1, &indices));
    TN_TRY(tn_rule_axis(g, n, a->axis, data->n, &axis));
    if (!tn_dtype_is_int(indices->dtype))
        return tn_rule_fail(g, n, "op-E011", "indices must be integers, but are %s; cast them",
                            tn_rule_dtype_text(g, indices->dtype));
    if (a->mode && strcmp(a->mode, "clip") != 0 && strcmp(a->mode, "fast") != 0 &&
        strcmp(a->mode, "wrap") != 0)
        return tn_rule_fail(g, n, "op-E007", "mode \"%s\" is not supported, only \"clip\" and \"wrap\"",
                            a->mode);
    for (int i = 0; i < data->n; i++) {
        for (int k = 0; i == axis && k < indices->n; k++)
            dim[rank++] = indices->dim[k];
        if (i != axis)
            dim[rank++] = data->dim[i];
    }
    TN_TRY(tn_rule_result(g, n, 0, data->dtype, rank, dim));
    return tn_rule_elements(g, n, data, axis);
}

static void take_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_take_attr *a = n->attr;
    tn_pool *p = te->pool;
    const tn_expr *where[TN_RULE_MAX_RANK], *index[TN_RULE_MAX_RANK];
    int axis = (int)(a->axis < 0 ? a->axis + in[0]->ndim : a->axis), rank = in[1]->ndim;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "take", "injective", NULL);
    tn_rule_require_elements(te, in[0], axis, t);
    for (int k = 0; k < rank; k++)
        where[k] = t->axis[axis + k];
    const tn_expr *at = tn_cast(p, TN_IDX, tn_at(te, in[1], rank, where)), *extent = in[0]->dim[axis];
    if (a->mode && strcmp(a->mode, "wrap") == 0)
        at = tn_fmod(p, at, extent);
    else
        at = tn_min(p, tn_max(p, at, tn_idx(p, 0)), tn_sub(p, extent, tn_idx(p, 1)));
    for (int i = 0; i < in[0]->ndim; i++)
        index[i] = i < axis ? t->axis[i] : i == axis ? at : t->axis[i + rank - 1];
    tn_te_define(te, t, tn_at(te, in[0], in[0]->ndim, index));
}

static bool take_value(tn_graph *g, const tn_node *n, const tn_dims in[], tn_dims out[])
{
    if (!in[0].at || !in[1].at || tn_in_type(n, 0)->n != 1)
        return false;
    const tn_expr **value = TN_NEW_N(g->arena, const tn_expr *, in[1].n);
    for (uint32_t i = 0; i < in[1].n; i++) {
        int64_t at;
        if (!tn_is_int(in[1].at[i], &at) || at < 0 || at >= in[0].n)
            return false;
        value[i] = in[0].at[at];
    }
    out[0] = (tn_dims){in[1].n, value};
    return true;
}

/* clang-format off */
static const tn_attr_field take_fields[] = TN_ATTR_TABLE(tn_take_attr, TN_TAKE_ATTRS);

const tn_op tn_op_take = {
    .name = "take", .doc = "Elements of data along one axis, chosen by integer indices.",
    .attr_size = sizeof(tn_take_attr), .attr = take_fields,
    .nin = 2, .min_in = 2, .nout = 1, .flags = TN_OP_HOST_INDEX, .fuse = TN_FUSE_INJECTIVE,
        .in_name = data_in,
    .infer = take_infer, .compute = take_compute, .shape_value = take_value,
    .gradient = tn_gradient_take,
};
/* clang-format on */
