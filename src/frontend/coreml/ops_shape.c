/* Shapes: constants, reshaping, moving, joining, splitting. */
#include "frontend/coreml/coreml.h"

#include <string.h>

/* ---- constants ---- */

/* Of a network whose values have five dimensions: [1, c, h, w] here; else [1, 1, c, h, w]. */
static void load_constant(imp_node *c)
{
    tn_ints shape = cm_ints(c, "shape");
    tn_value v = cm_weights(c, "data", shape.n, shape.at);
    if (!c->bad && shape.n != 3)
        imp_refuse(c, IMP_BAD_VALUE, "the constant has %u dimensions, not 3; the model is damaged",
                   (unsigned)shape.n);
    v = imp_unsqueeze(c, v, 0);
    imp_out(c, 0, cm_of(c)->five ? v : imp_unsqueeze(c, v, 0));
}

static void load_constant_nd(imp_node *c)
{
    tn_ints shape = cm_ints(c, "shape");
    imp_out(c, 0, cm_weights(c, "data", shape.n, shape.at));
}

static tn_value filled(imp_node *c, tn_value v, uint32_t n, const tn_expr *const dim[])
{
    tn_broadcast_to_attr to = {tn_dims_make(c->arena, n, dim)};
    return imp_call1(c, &tn_op_broadcast_to, &to, v);
}

/* The value is a number of an operation's constant, or a layer's. */
static tn_value fill_value(imp_node *c)
{
    return cm_is_layer(c) ? imp_const(c, TN_F32, imp_attr_float(c, "value", 0)) : cm_in(c, 9, "value");
}

static void fill(imp_node *c)
{
    bool fixed = cm_is_layer(c) && imp_has_attr(c, "targetShape");
    tn_value v = fill_value(c);
    tn_ints list = cm_ints(c, "targetShape");
    tn_dims d =
        fixed ? tn_make_dims(c->g, list.n, list.at) : imp_extents_in(c, cm_in(c, 0, "shape"), "shape");
    imp_out(c, 0, c->bad ? v : filled(c, imp_rank(v) ? imp_reshape(c, v, 0, NULL) : v, d.n, d.at));
}

static void fill_like(imp_node *c)
{
    tn_value like = cm_in(c, 0, "ref_tensor"), v = fill_value(c);
    if (!c->bad)
        imp_out(
            c, 0,
            filled(c, imp_rank(v) ? imp_reshape(c, v, 0, NULL) : v, imp_type(like)->n, imp_type(like)->dim));
}

/* ---- old networks: channels, rows, columns ---- */

static tn_value as_list(imp_node *c, tn_value x, bool channels_last)
{
    static const int64_t perm[] = {0, 2, 3, 1}, five[] = {0, 1, 3, 4, 2};
    const tn_type *t = imp_type(x);
    const tn_expr *d[IMP_MAX_RANK], *one = tn_idx(c->pool, 1);
    if (!c->bad && (t->n < 3 || t->n > 5))
        imp_refuse(c, IMP_OPERANDS, "data %s is no image", imp_type_text(c, t));
    if (c->bad)
        return x;
    for (int i = 0; i < t->n - 3; i++)
        d[i] = t->dim[i];
    d[t->n - 3] = imp_product(c, t, t->n - 3, t->n);
    d[t->n - 2] = d[t->n - 1] = one;
    if (channels_last)
        x = imp_transpose(c, x, t->n, t->n == 3 ? (const int64_t[]){1, 2, 0} : t->n == 4 ? perm : five);
    return imp_reshape(c, x, t->n, d);
}

static void flatten(imp_node *c)
{
    bool last = imp_attr_int(c, "mode", 0) != 0;
    imp_out(c, 0, as_list(c, imp_in(c, 0), last));
}

/* Three extents keep the sequence, four begin with it. */
static void reshape(imp_node *c)
{
    static const int64_t perm[] = {0, 3, 1, 2};
    bool last = imp_attr_int(c, "mode", 0) != 0;
    tn_ints shape = cm_ints(c, "targetShape");
    tn_value x = imp_in(c, 0);
    const tn_expr *d[4];
    if (!c->bad && ((shape.n != 3 && shape.n != 4) || imp_rank(x) != 4)) {
        imp_refuse(c, IMP_BAD_VALUE, "the target of %u extents does not fit %s", (unsigned)shape.n,
                   imp_type_text(c, imp_type(x)));
        return;
    }
    x = as_list(c, x, last);
    if (c->bad)
        return;
    d[0] = shape.n == 3 ? imp_type(x)->dim[0] : tn_idx(c->pool, shape.at[0]);
    for (int i = 1; i < 4; i++) {
        int64_t e = shape.at[shape.n - 4 + (uint32_t)i];
        d[i] = tn_idx(c->pool, e < 0 ? -1 : e);
        if (e == 0 || e < -1)
            imp_refuse(c, IMP_BAD_VALUE, "an extent of the target is %lld", (long long)e);
    }
    if (!last) {
        imp_out(c, 0, imp_reshape(c, x, 4, d));
        return;
    }
    const tn_expr *rows[4] = {d[0], d[2], d[3], d[1]};
    imp_out(c, 0, imp_transpose(c, imp_reshape(c, x, 4, rows), 4, perm));
}

static void permute(imp_node *c)
{
    tn_ints axis = cm_ints(c, "axis");
    static const int64_t same[] = {0, 1, 2, 3};
    tn_value x = imp_in(c, 0);
    if (!c->bad && ((axis.n && axis.n != 4) || imp_rank(x) != 4))
        imp_refuse(c, IMP_BAD_VALUE, "an order of %u dimensions does not fit %s", (unsigned)axis.n,
                   imp_type_text(c, imp_type(x)));
    imp_out(c, 0, imp_transpose(c, x, 4, axis.n == 4 ? axis.at : same));
}

static void sequence_repeat(imp_node *c)
{
    int64_t n = imp_attr_int(c, "nRepetitions", 1);
    tn_value x = imp_in(c, 0);
    int64_t reps[IMP_MAX_RANK] = {n ? n : 1};
    for (int i = 1; i < imp_rank(x); i++)
        reps[i] = 1;
    tn_tile_attr a = {tn_make_dims(c->g, (uint32_t)imp_rank(x), reps)};
    if (n < 0 || n > INT32_MAX)
        imp_refuse(c, IMP_BAD_VALUE, "nRepetitions is %lld", (long long)n);
    imp_out(c, 0, imp_call1(c, &tn_op_tile, &a, x));
}

/* ---- joining and splitting ---- */

/* The operands of a list: all of a layer, those called `key` of an operation. */
static uint32_t operands(imp_node *c, const char *key, tn_value **out)
{
    const cm_operation *o = c->origin;
    uint32_t n = 0;
    *out = TN_NEW_N(c->arena, tn_value, c->n_in);
    for (uint32_t i = 0; i < imp_n_in(c); i++)
        if (!o || imp_is(o->key[i].name, key)) {
            (*out)[n++] = imp_in(c, i);
            if (o)
                o->key[i].asked = true;
        }
    imp_attr_ignore(c, key);
    return n;
}

/* What is joined, all of one type. */
static uint32_t values(imp_node *c, tn_value **out)
{
    tn_value *at;
    uint32_t n = operands(c, "values", &at);
    tn_dtype t = TN_F32;
    if (n)
        t = imp_type(at[0])->dtype;
    for (uint32_t i = 1; i < n; i++)
        at[i] = imp_cast(c, at[i], t);
    if (!n)
        imp_refuse(c, IMP_OPERANDS, "there is nothing to join; the model is damaged");
    *out = at;
    return n;
}

/* Element by element in turn: all have the same shape. */
static tn_value interleaved(imp_node *c, uint32_t n, tn_value in[], int64_t along)
{
    const tn_type *t = imp_type(in[0]);
    const tn_expr *dim[IMP_MAX_RANK];
    int axis = imp_axis(c, along, t->n);
    if (c->bad)
        return in[0];
    for (int i = 0; i < t->n; i++)
        dim[i] = i == axis ? imp_simplify(c, tn_mul(c->pool, t->dim[i], tn_idx(c->pool, n))) : t->dim[i];
    for (uint32_t i = 0; i < n; i++)
        in[i] = imp_unsqueeze(c, in[i], axis + 1);
    return imp_reshape(c, imp_concat(c, n, in, axis + 1), t->n, dim);
}

static void concat(imp_node *c)
{
    bool layer = strcmp(c->row->op, "concat") == 0 && cm_is_layer(c);
    tn_value *in;
    uint32_t n = values(c, &in);
    bool sequence = layer && cm_flag(c, "sequenceConcat");
    int64_t axis = layer ? (sequence ? 0 : -3) : imp_attr_int(c, "axis", 0);
    bool turns = !layer && cm_flag(c, "interleave");
    if (!c->bad)
        imp_out(c, 0, turns ? interleaved(c, n, in, axis) : imp_concat(c, n, in, axis));
}

static void stack(imp_node *c)
{
    tn_value *in;
    uint32_t n = values(c, &in);
    int64_t axis = imp_attr_int(c, "axis", 0);
    axis = n && !c->bad ? imp_axis(c, axis, imp_rank(in[0]) + 1) : 0;
    for (uint32_t i = 0; i < n && !c->bad; i++)
        in[i] = imp_unsqueeze(c, in[i], axis);
    if (!c->bad)
        imp_out(c, 0, imp_concat(c, n, in, axis));
}

static void split(imp_node *c)
{
    bool old = strcmp(c->row->op, "split") == 0 && cm_is_layer(c);
    tn_value x = cm_in(c, 0, "x");
    tn_ints sizes = {0};
    int64_t axis = -3;
    if (old) {
        imp_attr_ignore(c, "nOutputs");
    } else {
        axis = imp_attr_int(c, "axis", 0);
        sizes = cm_ints(c, cm_is_layer(c) ? "splitSizes" : "split_sizes");
        imp_attr_ignore(c, "numSplits");
        imp_attr_ignore(c, "num_splits");
    }
    int at = imp_axis(c, axis, imp_rank(x));
    if (sizes.n)
        imp_split_sizes(c, x, at, sizes);
    else
        imp_split_equal(c, x, at);
}

/* ---- any number of dimensions ---- */

static void reshape_to(imp_node *c, tn_value x, tn_ints shape)
{
    const tn_expr *dim[IMP_MAX_RANK];
    const tn_type *t = imp_type(x);
    if (shape.n > IMP_MAX_RANK) {
        imp_refuse(c, IMP_TOO_LARGE, "%u dimensions are too many", (unsigned)shape.n);
        return;
    }
    for (uint32_t i = 0; i < shape.n && !c->bad; i++) {
        int64_t e = shape.at[i];
        if (e < -1 || (e == 0 && (int)i >= t->n))
            imp_refuse(c, IMP_BAD_VALUE, "extent %u of the target is %lld", (unsigned)i, (long long)e);
        else
            dim[i] = e ? tn_idx(c->pool, e) : t->dim[i]; /* 0 keeps a dimension */
    }
    if (!c->bad)
        imp_out(c, 0, imp_reshape(c, x, (int)shape.n, dim));
}

static void reshape_static(imp_node *c)
{
    tn_ints shape = cm_ints(c, "targetShape");
    reshape_to(c, imp_in(c, 0), shape);
}

static void reshape_like(imp_node *c)
{
    tn_value x = imp_in(c, 0), like = imp_in(c, 1);
    if (!c->bad)
        imp_out(c, 0, imp_reshape(c, x, imp_type(like)->n, imp_type(like)->dim));
}

/* Extents of 0 of an operation are those of x, counted from the last one; where it has none, 1. */
static tn_dims kept_from_end(imp_node *c, tn_value x, tn_dims d)
{
    const tn_type *t = imp_type(x);
    const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, d.n + 1);
    for (uint32_t i = 0; i < d.n; i++) {
        int at = t->n - (int)d.n + (int)i;
        e[i] = !tn_is_value(d.at[i], 0) ? d.at[i] : at < 0 ? tn_idx(c->pool, 1) : t->dim[at];
    }
    return (tn_dims){d.n, e};
}

static void reshape_operand(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x"), shape = imp_cast(c, cm_in(c, 1, "shape"), TN_I64);
    tn_dims d;
    if (c->bad)
        return;
    if (imp_host(c, shape, &d)) {
        tn_reshape_attr a = {cm_is_layer(c) ? d : kept_from_end(c, x, d), false};
        imp_out(c, 0, imp_reshape_to(c, x, &a));
    } else if (!imp_dynamic_reshape(c, x, shape, false)) {
        imp_refuse(c, IMP_NOT_CONSTANT, "the shape must be known at compile time");
    }
}

/* Extents of several tensors: those from begins on, up to ends or to the last one. */
static void reshape_like_operands(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x"), *like, *begin, *end, *all;
    uint32_t n = operands(c, "ref_tensors", &like), n_begin = operands(c, "begins", &begin),
             n_end = operands(c, "ends", &end), n_all = operands(c, "end_masks", &all), k = 0;
    const tn_expr *dim[IMP_MAX_RANK];
    if (n_begin != n || n_end != n || n_all != n)
        imp_refuse(c, IMP_OPERANDS, "%u tensors have %u begins, %u ends and %u masks", (unsigned)n,
                   (unsigned)n_begin, (unsigned)n_end, (unsigned)n_all);
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        const tn_type *t = imp_type(like[i]);
        int64_t from = imp_int_in(c, begin[i], "begins"), to = imp_int_in(c, end[i], "ends");
        bool whole = imp_int_in(c, imp_cast(c, all[i], TN_I32), "end_masks") != 0;
        from += from < 0 ? t->n : 0;
        to = whole ? t->n : to < 0 ? to + t->n : to;
        from = from < 0 ? 0 : from;
        to = to > t->n ? t->n : to;
        for (int64_t d = from; d < to && !c->bad; d++)
            if (k < IMP_MAX_RANK)
                dim[k++] = t->dim[d];
            else
                imp_refuse(c, IMP_TOO_LARGE, "there are more than %d dimensions", IMP_MAX_RANK);
    }
    imp_out(c, 0, c->bad ? x : imp_reshape(c, x, (int)k, dim));
}

static void transpose(imp_node *c)
{
    tn_ints axes = cm_ints(c, cm_is_layer(c) ? "axes" : "perm");
    tn_value x = cm_in(c, 0, "x");
    int64_t perm[IMP_MAX_RANK];
    if (!c->bad && (axes.n != (uint32_t)imp_rank(x) || axes.n > IMP_MAX_RANK))
        imp_refuse(c, IMP_BAD_VALUE, "an order of %u dimensions does not fit %s", (unsigned)axes.n,
                   imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < axes.n && !c->bad; i++)
        perm[i] = imp_axis(c, axes.at[i], (int)axes.n);
    imp_out(c, 0, c->bad ? x : imp_transpose(c, x, (int)axes.n, perm));
}

static void squeeze(imp_node *c)
{
    tn_ints axes = cm_ints(c, "axes");
    bool all = cm_flag(c, "squeezeAll") || !axes.n;
    tn_value x = cm_in(c, 0, "x");
    int64_t *at = TN_NEW_N(c->arena, int64_t, axes.n), extent;
    uint32_t n = 0;
    for (uint32_t i = 0; i < axes.n && !all && !c->bad; i++) {
        int axis = imp_axis(c, axes.at[i], imp_rank(x));
        bool stays = !c->bad && tn_is_int(imp_type(x)->dim[axis], &extent) && extent != 1;
        if (!stays) /* an operation leaves longer dimensions alone */
            at[n++] = axis;
    }
    tn_squeeze_attr a = {{n, at}};
    tn_value y = all || n ? imp_call1(c, &tn_op_squeeze, &a, x) : x;
    /* a layer's result has at least one dimension */
    imp_out(c, 0, cm_is_layer(c) && !c->bad && !imp_rank(y) ? imp_unsqueeze(c, y, 0) : y);
}

static void expand_dims(imp_node *c)
{
    tn_ints axes = cm_ints(c, "axes");
    tn_value x = cm_in(c, 0, "x");
    const tn_expr *dim[IMP_MAX_RANK] = {0};
    int rank = imp_rank(x) + (int)axes.n, k = 0;
    if (!c->bad && (axes.n > IMP_MAX_RANK || rank > IMP_MAX_RANK))
        imp_refuse(c, IMP_TOO_LARGE, "%d dimensions are too many", rank);
    for (uint32_t i = 0; i < axes.n && !c->bad; i++)
        dim[imp_axis(c, axes.at[i], rank)] = tn_idx(c->pool, 1);
    for (int i = 0; i < rank && !c->bad; i++)
        if (!dim[i] && k < imp_rank(x))
            dim[i] = imp_type(x)->dim[k++];
        else if (!dim[i])
            imp_refuse(c, IMP_BAD_VALUE, "an axis is named twice");
    imp_out(c, 0, c->bad ? x : imp_reshape(c, x, rank, dim));
}

static void flatten2d(imp_node *c)
{
    int64_t axis = imp_attr_int(c, "axis", cm_is_layer(c) ? 0 : 1);
    tn_value x = cm_in(c, 0, "x");
    int at = axis == imp_rank(x) ? (int)axis : imp_axis(c, axis, imp_rank(x));
    if (c->bad)
        return;
    const tn_type *t = imp_type(x);
    const tn_expr *dim[2] = {imp_product(c, t, 0, at), imp_product(c, t, at, t->n)};
    imp_out(c, 0, imp_reshape(c, x, 2, dim));
}

/* Extents 0 keep a dimension, one of -1 takes the rest. */
static void rank_preserving_reshape(imp_node *c) { reshape_static(c); }

static void get_shape(imp_node *c)
{
    tn_value s = imp_cast(c, imp_shape_of(c, cm_in(c, 0, "x")), TN_I32);
    imp_attr_ignore(c, "output_dtype");
    imp_out(c, 0, s);
}

static void tile(imp_node *c)
{
    tn_ints reps = cm_ints(c, "reps");
    tn_value x = cm_in(c, 0, "x");
    tn_tile_attr a = {tn_make_dims(c->g, reps.n, reps.at)};
    for (uint32_t i = 0; i < reps.n; i++)
        if (reps.at[i] < 1 || reps.at[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "reps contains %lld", (long long)reps.at[i]);
    if (!imp_has_attr(c, "reps"))
        a.reps = imp_sizes_in(c, imp_cast(c, cm_in(c, 1, "reps"), TN_I64), "reps");
    imp_out(c, 0, imp_call1(c, &tn_op_tile, &a, x));
}

static void broadcast_to(imp_node *c)
{
    tn_ints shape = cm_ints(c, "targetShape");
    tn_dims d = tn_make_dims(c->g, shape.n, shape.at);
    imp_out(c, 0, filled(c, imp_in(c, 0), d.n, d.at));
}

static void broadcast_dynamic(imp_node *c)
{
    tn_value x = imp_in(c, 0), shape = imp_cast(c, imp_in(c, 1), TN_I64);
    if (imp_dynamic_expand(c, x, shape))
        return;
    tn_dims d = imp_host_in(c, shape, "shape");
    imp_out(c, 0, c->bad ? x : filled(c, x, d.n, d.at));
}

static void broadcast_like(imp_node *c)
{
    tn_value x = imp_in(c, 0), like = imp_in(c, 1);
    if (!c->bad)
        imp_out(c, 0, filled(c, x, imp_type(like)->n, imp_type(like)->dim));
}

static void reverse(imp_node *c)
{
    tn_ints dims = cm_ints(c, cm_is_layer(c) ? "reverseDim" : "axes");
    tn_value x = cm_in(c, 0, "x");
    bool layer = cm_is_layer(c), all = !layer && !imp_has_attr(c, "axes");
    int rank = imp_rank(x);
    for (int i = 0; all && i < rank; i++)
        x = cm_flip(c, x, i);
    for (uint32_t i = 0; i < dims.n && !c->bad; i++) {
        int axis = layer ? (int)i : imp_axis(c, dims.at[i], rank);
        if (axis >= rank)
            imp_refuse(c, IMP_BAD_VALUE, "there are %u dimensions of %d", (unsigned)dims.n, rank);
        else if (!layer || dims.at[i])
            x = cm_flip(c, x, axis);
    }
    imp_out(c, 0, x);
}

static void range(imp_node *c)
{
    static const char *const attr[] = {"startValue", "endValue", "stepSizeValue"}, *const operand[] = {
                                                                                       "start", "end",
                                                                                       "step"};
    tn_value in[3];
    for (uint32_t i = 0; i < 3; i++) {
        double def = i == 2 ? 1 : 0, v = cm_is_layer(c) ? imp_attr_float(c, attr[i], (float)def) : 0;
        in[i] = cm_is_layer(c) ? imp_const(c, TN_F32, v == 0 ? def : v) : cm_in(c, i, operand[i]);
        in[i] = imp_rank(in[i]) ? imp_reshape(c, in[i], 0, NULL) : in[i];
    }
    imp_out(c, 0, imp_range(c, in));
}

/* The end, and perhaps the start and the step. */
static void range_dynamic(imp_node *c)
{
    static const char *const attr[] = {"startValue", "stepSizeValue"};
    tn_value in[3] = {{0}, imp_in(c, 0)};
    for (uint32_t i = 0; i < 2; i++) {
        double v = imp_attr_float(c, attr[i], 0);
        in[2 * i] = imp_has(c, 1 + i) ? imp_in(c, 1 + i) : imp_const(c, TN_F32, i && v == 0 ? 1 : v);
    }
    for (int i = 0; i < 3; i++)
        in[i] = imp_rank(in[i]) ? imp_reshape(c, in[i], 0, NULL) : in[i];
    imp_out(c, 0, imp_range(c, in));
}

// clang-format off
const imp_row cm_rows_shape[] = {
    {"loadConstant",          0, 0,  0, 1,  load_constant,           NULL},
    {"loadConstantND",        0, 0,  0, 1,  load_constant_nd,        NULL},
    {"fillStatic",            0, 0,  0, 1,  fill,                    NULL},
    {"fillDynamic",           0, 0,  1, 1,  fill,                    NULL},
    {"fill",                  0, 0, -1, 1,  fill,                    NULL},
    {"fillLike",              0, 0,  1, 1,  fill_like,               NULL},
    {"fill_like",             0, 0, -1, 1,  fill_like,               NULL},
    {"flatten",               0, 0,  1, 1,  flatten,                 NULL},
    {"reshape",               1, 1,  1, 1,  reshape,                 NULL},
    {"permute",               0, 0,  1, 1,  permute,                 NULL},
    {"sequenceRepeat",        0, 0,  1, 1,  sequence_repeat,         NULL},
    {"concat",                0, 0, -1, 1,  concat,                  NULL},
    {"concatND",              0, 0, -1, 1,  concat,                  NULL},
    {"stack",                 0, 0, -1, 1,  stack,                   NULL},
    {"split",                 0, 0, -1, -1, split,                   NULL},
    {"splitND",               0, 0,  1, -1, split,                   NULL},
    {"reshapeStatic",         0, 0,  1, 1,  reshape_static,          NULL},
    {"rankPreservingReshape", 0, 0,  1, 1,  rank_preserving_reshape, NULL},
    {"reshapeLike",           0, 0,  2, 1,  reshape_like,            NULL},
    {"reshapeDynamic",        0, 0,  2, 1,  reshape_operand,         NULL},
    {"reshape",               2, 0, -1, 1,  reshape_operand,         NULL},
    {"transpose",             0, 0, -1, 1,  transpose,               NULL},
    {"squeeze",               0, 0, -1, 1,  squeeze,                 NULL},
    {"expandDims",            0, 0,  1, 1,  expand_dims,             NULL},
    {"expand_dims",           0, 0, -1, 1,  expand_dims,             NULL},
    {"flattenTo2D",           0, 0,  1, 1,  flatten2d,               NULL},
    {"flatten2d",             0, 0, -1, 1,  flatten2d,               NULL},
    {"getShape",              0, 0,  1, 1,  get_shape,               NULL},
    {"shape",                 0, 0, -1, 1,  get_shape,               NULL},
    {"tile",                  0, 0, -1, 1,  tile,                    NULL},
    {"broadcastToStatic",     0, 0,  1, 1,  broadcast_to,            NULL},
    {"broadcastToLike",       0, 0,  2, 1,  broadcast_like,          NULL},
    {"reverse",               0, 0, -1, 1,  reverse,                 NULL},
    {"reshape_like",          0, 0, -1, 1,  reshape_like_operands,   NULL},
    {"broadcastToDynamic",    0, 0,  2, 1,  broadcast_dynamic,       NULL},
    {"rangeDynamic",          0, 0,  3, 1,  range_dynamic,           NULL},
    {"rangeStatic",           0, 0,  0, 1,  range,                   NULL},
    {"range_1d",              0, 0, -1, 1,  range,                   NULL},
    {0},
};
// clang-format on
