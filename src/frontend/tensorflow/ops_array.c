/* Shapes and movement of data: reshapes, joins, parts, slices with masks, padding, patterns. */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/blocks.h"
#include "frontend/import/window.h"
#include "op/image/image.h"
#include "op/random/random.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* ---- what passes data on ---- */

static void identity(imp_node *c)
{
    for (size_t i = 0; i < c->n_out && i < c->n_in; i++)
        imp_out(c, (uint32_t)i, imp_in(c, (uint32_t)i));
    imp_attr_ignore(c, "N");
    imp_attr_ignore(c, "message");
    imp_attr_ignore(c, "shape"); /* of PlaceholderWithDefault and EnsureShape */
}

static void constant(imp_node *c)
{
    imp_attr_need(c, "value");
    const imp_attr *a = imp_attr_find(c, "value", IMP_A_TENSOR);
    const tf_tensor *t = a ? a->tensor : NULL;
    if (t && !c->bad)
        imp_out(c, 0, tf_constant(c, t));
}

static void placeholder(imp_node *c)
{
    imp_refuse(c, IMP_OPERANDS, "a placeholder inside a function stands for nothing; the model is damaged");
}

/* ---- shapes ---- */

/* Their types are as the model wants them. */
static tn_value shape_value(imp_node *c, tn_value x, tn_dtype t)
{
    tn_cast_attr a = {t};
    if (imp_rank(x) == 0)
        return imp_const_ints(c, t, 1, 0, NULL);
    return imp_call1(c, &tn_op_shape_of, &a, x);
}

static void shape(imp_node *c)
{
    tn_dtype t = tf_attr_dtype(c, "out_type", TN_I32);
    imp_attr_ignore(c, "N");
    for (uint32_t i = 0; i < c->n_out && i < c->n_in; i++)
        imp_out(c, i, shape_value(c, imp_in(c, i), t));
}

static void size(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_dtype t = tf_attr_dtype(c, "out_type", TN_I32);
    int64_t n;
    if (c->bad)
        return;
    const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, 1);
    e[0] = imp_product(c, imp_type(x), 0, imp_rank(x));
    if (tn_is_int(e[0], &n)) {
        imp_out(c, 0, imp_const_ints(c, t, 0, 1, &n));
        return;
    }
    tn_value v = imp_unary(c, &tn_op_prod, shape_value(c, x, t));
    if (!c->bad)
        imp_set_host(c, v, (tn_dims){1, e});
    imp_out(c, 0, v);
}

static void rank(imp_node *c)
{
    int64_t n = imp_rank(imp_in(c, 0));
    imp_out(c, 0, imp_const_ints(c, TN_I32, 0, 1, &n));
}

static void reshape(imp_node *c)
{
    tn_value x = imp_in(c, 0), shape = imp_in(c, 1);
    if (imp_dynamic_reshape(c, x, shape, true))
        return;
    tn_dims d = imp_host_in(c, shape, "the shape");
    tn_reshape_attr a = {tn_dims_make(c->arena, d.n, d.at), true};
    imp_out(c, 0, imp_reshape_to(c, x, &a));
}

static void expand_dims(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t axis = imp_int_in(c, imp_in(c, 1), "the axis");
    int at = imp_axis(c, axis, imp_rank(x) + 1);
    imp_out(c, 0, imp_unsqueeze(c, x, at));
}

static void squeeze(imp_node *c)
{
    tn_ints list = {0};
    tn_value x = imp_in(c, 0);
    if (!imp_attr_ints(c, "squeeze_dims", &list))
        (void)imp_attr_ints(c, "axis", &list);
    tn_squeeze_attr a = {list};
    for (int d = 0; d < imp_rank(x) && !list.n; d++)
        if (imp_type(x)->dim[d]->kind != TN_E_INT)
            (void)tn_report(
                c->g->ctx, TN_WARNING, "tensorflow-W003", c->loc,
                "dimension %d of %s is kept, as it is not known to be 1; give the input fixed shapes", d,
                imp_type_text(c, imp_type(x)));
    imp_out(c, 0, imp_call1(c, &tn_op_squeeze, &a, x));
}

static void transpose(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints perm = imp_ints_in(c, imp_in(c, 1), "perm");
    if (!c->bad && perm.n != (uint32_t)imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "perm has %u entries, but the operand is %s; the model is damaged",
                   (unsigned)perm.n, imp_type_text(c, imp_type(x)));
    int64_t *at = TN_NEW_N(c->arena, int64_t, perm.n);
    for (uint32_t i = 0; i < perm.n && !c->bad; i++)
        at[i] = imp_axis(c, perm.at[i], imp_rank(x));
    imp_out(c, 0, perm.n ? imp_transpose(c, x, (int)perm.n, at) : x);
}

/* ---- joins and parts ---- */

static void join(imp_node *c, uint32_t first, uint32_t n, int64_t axis)
{
    tn_value *in = TN_NEW_N(c->arena, tn_value, n);
    imp_attr_ignore(c, "N");
    for (uint32_t i = 0; i < n; i++)
        in[i] = imp_in(c, first + i);
    if (n)
        axis = imp_axis(c, axis, imp_rank(in[0]));
    imp_out(c, 0, n ? imp_concat(c, n, in, axis) : (tn_value){0});
}

static void concat_last(imp_node *c) /* the axis is the last operand */
{
    uint32_t n = imp_n_in(c) ? imp_n_in(c) - 1 : 0;
    join(c, 0, n, imp_int_in(c, imp_in(c, n), "the axis"));
}

static void concat_first(imp_node *c)
{
    int64_t axis = imp_int_in(c, imp_in(c, 0), "the axis");
    join(c, 1, imp_n_in(c) ? imp_n_in(c) - 1 : 0, axis);
}

static void pack(imp_node *c)
{
    uint32_t n = imp_n_in(c);
    tn_value *in = TN_NEW_N(c->arena, tn_value, n);
    imp_attr_ignore(c, "N");
    int axis = n ? imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(imp_in(c, 0)) + 1) : 0;
    for (uint32_t i = 0; i < n && !c->bad; i++)
        in[i] = imp_unsqueeze(c, imp_in(c, i), axis);
    imp_out(c, 0, n && !c->bad ? imp_concat(c, n, in, axis) : (tn_value){0});
}

static void unpack(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    imp_attr_ignore(c, "num");
    for (uint32_t i = 0; i < c->n_out && !c->bad; i++)
        imp_out(c, i, imp_squeeze(c, imp_slice(c, x, axis, i, (int64_t)i + 1), axis));
}

static void split(imp_node *c)
{
    tn_value x = imp_in(c, 1);
    imp_attr_ignore(c, "num_split");
    imp_split_equal(c, x, imp_axis(c, imp_int_in(c, imp_in(c, 0), "the axis"), imp_rank(x)));
}

static void split_v(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints size = imp_ints_in(c, imp_in(c, 1), "the sizes");
    imp_attr_ignore(c, "num_split");
    imp_split_sizes(c, x, imp_axis(c, imp_int_in(c, imp_in(c, 2), "the axis"), imp_rank(x)), size);
}

/* ---- slices ---- */

/* One bound for each dimension of the operand. */
typedef struct slices {
    int n;
    const tn_expr *begin[IMP_MAX_RANK], *end[IMP_MAX_RANK];
    int64_t step[IMP_MAX_RANK];
} slices;

static tn_value sliced(imp_node *c, tn_value x, const slices *s)
{
    if (c->bad)
        return x;
    tn_slice_attr a = {tn_dims_make(c->arena, (uint32_t)s->n, s->begin),
                       tn_dims_make(c->arena, (uint32_t)s->n, s->end),
                       tn_ints_make(c->arena, (uint32_t)s->n, s->step),
                       {0}};
    bool all = true;
    for (int i = 0; i < s->n; i++)
        all = all && tn_is_value(s->begin[i], 0) && tn_is_value(s->end[i], INT64_MAX) && s->step[i] == 1;
    return all ? x : imp_call1(c, &tn_op_strided_slice, &a, x);
}

/* The extent itself means "to the end". */
static const tn_expr *slice_end(imp_node *c, const tn_expr *at, const tn_expr *extent)
{
    bool same = at->kind != TN_E_INT && imp_simplify(c, tn_sub(c->pool, at, extent)) == tn_idx(c->pool, 0);
    return same ? tn_idx(c->pool, INT64_MAX) : at;
}

static bool known(imp_node *c, tn_value v)
{
    tn_dims d;
    return imp_host(c, v, &d);
}

/* begin + size; a size of -1 takes the rest. */
static void slice(imp_node *c)
{
    tn_value x = imp_in(c, 0), begin = imp_in(c, 1), size = imp_in(c, 2);
    slices s = {.n = imp_rank(x)};
    if (!c->bad && (!known(c, begin) || !known(c, size))) {
        tn_value from = imp_cast(c, begin, TN_I64), many = imp_cast(c, size, TN_I64);
        tn_value end = imp_binary(c, &tn_op_add, from, many);
        tn_value rest = imp_binary(c, &tn_op_less, many, imp_i64(c, 0));
        end = imp_choose(c, rest, imp_i64(c, INT32_MAX), end);
        if (!c->bad && !imp_dynamic_slice(c, x, from, end, (tn_value){0}, (tn_value){0}) && !c->bad)
            imp_refuse(c, IMP_NOT_CONSTANT, "begin and size, computed at run time, do not fit %s",
                       imp_type_text(c, imp_type(x)));
        return;
    }
    tn_dims from = imp_host_in(c, begin, "begin"), many = imp_host_in(c, size, "size");
    if (!c->bad && (from.n != (uint32_t)s.n || many.n != from.n))
        imp_refuse(c, IMP_BAD_VALUE, "begin and size have %u and %u entries for %s; the model is damaged",
                   (unsigned)from.n, (unsigned)many.n, imp_type_text(c, imp_type(x)));
    for (int i = 0; i < s.n && !c->bad; i++) {
        s.begin[i] = from.at[i];
        s.end[i] = tn_is_value(many.at[i], -1) ? tn_idx(c->pool, INT64_MAX)
                                               : imp_simplify(c, tn_add(c->pool, from.at[i], many.at[i]));
        s.end[i] = slice_end(c, s.end[i], imp_type(x)->dim[i]);
        s.step[i] = 1;
    }
    imp_out(c, 0, sliced(c, x, &s));
}

/* The entries of a StridedSlice: which dimension of the operand each is for, and what stands in the result. */
typedef struct strided {
    int64_t begin_mask, end_mask, shrink, fresh;
    int n, dim[32]; /* n entries; dim below 0: a new dimension */
    slices s;
    int n_result, result[2 * IMP_MAX_RANK + 32]; /* dimensions of the operand, or -1: new, of extent 1 */
} strided;

/* false: reported. */
static bool place_entries(imp_node *c, strided *t, int rank)
{
    int64_t ellipsis = imp_attr_int(c, "ellipsis_mask", 0);
    int used = 0, at = 0;
    for (int i = 0; i < t->n; i++)
        used += !(t->fresh >> i & 1) && !(ellipsis >> i & 1);
    for (int i = 0; i < t->n; i++) {
        t->dim[i] = -1;
        if (ellipsis >> i & 1) {
            for (int k = used; k < rank; k++)
                t->result[t->n_result++] = at++;
            used = rank;
        } else if (t->fresh >> i & 1) {
            t->result[t->n_result++] = -1;
        } else if (at < rank) {
            t->dim[i] = at;
            if (!(t->shrink >> i & 1))
                t->result[t->n_result++] = at;
            at++;
        } else {
            imp_refuse(c, IMP_BAD_VALUE,
                       "it slices more dimensions than the operand has; the model is damaged");
            return false;
        }
        if (t->n_result > IMP_MAX_RANK + 16)
            return imp_refuse(c, IMP_TOO_LARGE, "the result has too many dimensions"), false;
    }
    while (at < rank)
        t->result[t->n_result++] = at++;
    return !c->bad;
}

static void read_masks(imp_node *c, strided *t)
{
    t->begin_mask = imp_attr_int(c, "begin_mask", 0);
    t->end_mask = imp_attr_int(c, "end_mask", 0);
    t->shrink = imp_attr_int(c, "shrink_axis_mask", 0);
    t->fresh = imp_attr_int(c, "new_axis_mask", 0);
}

/* Of a dimension that goes away: the one element at `begin`. */
static void take_one(imp_node *c, strided *t, int d, const tn_expr *begin)
{
    t->s.begin[d] = begin;
    t->s.end[d] = tn_is_value(begin, -1) ? tn_idx(c->pool, INT64_MAX)
                                         : imp_simplify(c, tn_add(c->pool, begin, tn_idx(c->pool, 1)));
    t->s.step[d] = 1;
}

static void bounds(imp_node *c, tn_value x, strided *t, tn_dims begin, tn_dims end, tn_ints step)
{
    tn_pool *p = c->pool;
    for (int i = 0; i < t->n && !c->bad; i++) {
        int d = t->dim[i];
        if (d < 0)
            continue;
        bool back = step.at[i] < 0;
        if (t->shrink >> i & 1) {
            take_one(c, t, d, begin.at[i]);
            continue;
        }
        t->s.step[d] = step.at[i];
        t->s.begin[d] = !(t->begin_mask >> i & 1) ? begin.at[i] : back ? tn_idx(p, INT64_MAX) : tn_idx(p, 0);
        t->s.end[d] = t->end_mask >> i & 1 ? tn_idx(p, back ? INT64_MIN : INT64_MAX)
                                           : slice_end(c, end.at[i], imp_type(x)->dim[d]);
    }
}

/* What is sliced, in the shape of the result. */
static tn_value arranged(imp_node *c, tn_value v, const strided *t)
{
    const tn_expr *dim[2 * IMP_MAX_RANK + 32];
    bool same = t->n_result == imp_rank(v);
    for (int i = 0; i < t->n_result && !c->bad; i++) {
        dim[i] = t->result[i] < 0 ? tn_idx(c->pool, 1) : imp_type(v)->dim[t->result[i]];
        same = same && t->result[i] == i;
    }
    if (t->n_result > IMP_MAX_RANK)
        imp_refuse(c, IMP_TOO_LARGE, "the result has %d dimensions; at most %d are supported", t->n_result,
                   IMP_MAX_RANK);
    return same || c->bad ? v : imp_reshape(c, v, t->n_result, dim);
}

/* Bounds that only the run knows, of an operand whose leading dimensions are sliced. */
static void late_slice(imp_node *c, tn_value x, strided *t)
{
    tn_value v[3];
    for (uint32_t i = 0; i < 3; i++)
        v[i] = imp_cast(c, imp_in(c, i + 1), TN_I64);
    tn_ints step = imp_ints_in(c, v[2], "the steps");
    if (!c->bad && (int)step.n != t->n)
        imp_refuse(c, IMP_BAD_VALUE, "begin and the steps have different lengths; the model is damaged");
    for (int k = 0; k < 2 && !c->bad; k++) {
        tn_value part[32];
        for (int i = 0; i < t->n; i++) {
            bool masked = (k ? t->end_mask : t->begin_mask) >> i & 1, one = t->shrink >> i & 1;
            part[i] = imp_slice(c, v[k], 0, i, i + 1);
            if (k && one) {
                tn_value first = imp_slice(c, v[0], 0, i, i + 1);
                part[i] = imp_binary(c, &tn_op_add, first, imp_i64(c, 1));
            } else if (masked && !one)
                part[i] = imp_const_ints(c, TN_I64, 1, 1, (int64_t[]){k == (step.at[i] > 0) ? INT32_MAX : 0});
        }
        v[k] = imp_concat(c, (uint32_t)t->n, part, 0);
    }
    for (int i = 0; i < t->n; i++)
        if (t->dim[i] != i)
            imp_refuse(c, IMP_NOT_CONSTANT,
                       "bounds are computed at run time, beside new dimensions or an ellipsis");
    imp_node part = *c;
    tn_value out[1] = {{0}};
    part.out = out;
    if (!c->bad && !imp_dynamic_slice(&part, x, v[0], v[1], (tn_value){0}, v[2]) && !part.bad)
        imp_refuse(c, IMP_NOT_CONSTANT, "bounds that are computed at run time do not fit %s",
                   imp_type_text(c, imp_type(x)));
    c->bad = c->bad || part.bad;
    c->asked |= part.asked;
    imp_out(c, 0, c->bad ? x : arranged(c, out[0], t));
}

static void strided_slice(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    strided t = {.n = (int)imp_length(imp_in(c, 1)), .s.n = imp_rank(x)};
    read_masks(c, &t);
    if (!c->bad && (t.n < 0 || t.n > 32))
        imp_refuse(c, IMP_BAD_VALUE, "begin is %s; the model is damaged",
                   imp_type_text(c, imp_type(imp_in(c, 1))));
    for (int i = 0; i < t.s.n; i++) {
        t.s.begin[i] = tn_idx(c->pool, 0);
        t.s.end[i] = tn_idx(c->pool, INT64_MAX);
        t.s.step[i] = 1;
    }
    if (c->bad || !place_entries(c, &t, t.s.n))
        return;
    if (!known(c, imp_in(c, 1)) || !known(c, imp_in(c, 2))) {
        late_slice(c, x, &t);
        return;
    }
    tn_dims begin = imp_host_in(c, imp_in(c, 1), "begin"), end = imp_host_in(c, imp_in(c, 2), "end");
    tn_ints step = imp_ints_in(c, imp_in(c, 3), "the steps");
    if (!c->bad && (end.n != begin.n || step.n != begin.n))
        imp_refuse(c, IMP_BAD_VALUE, "begin, end and the steps have different lengths; the model is damaged");
    bounds(c, x, &t, begin, end, step);
    tn_value v = sliced(c, x, &t.s);
    imp_out(c, 0, c->bad ? v : arranged(c, v, &t));
}

/* ---- fills and patterns ---- */

tn_value tf_full(imp_node *c, tn_value v, tn_dims shape)
{
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, shape.n, shape.at)};
    if (shape.n > IMP_MAX_RANK)
        imp_refuse(c, IMP_TOO_LARGE, "the shape has %u dimensions; at most %d are supported",
                   (unsigned)shape.n, IMP_MAX_RANK);
    return shape.n && !c->bad ? imp_call1(c, &tn_op_broadcast_to, &a, v) : v;
}

static void fill(imp_node *c)
{
    tn_dims shape = imp_extents_in(c, imp_in(c, 0), "the shape");
    imp_out(c, 0, tf_full(c, tf_scalar_in(c, 1), shape));
}

static void like(imp_node *c, double v)
{
    tn_value x = imp_in(c, 0);
    const tn_type *t = imp_type(x);
    imp_out(c, 0, tf_full(c, imp_const(c, t->dtype, v), (tn_dims){(uint32_t)t->n, t->dim}));
}

static void zeros_like(imp_node *c) { like(c, 0); }
static void ones_like(imp_node *c) { like(c, 1); }

static void broadcast_to(imp_node *c)
{
    tn_value x = imp_in(c, 0), shape = imp_in(c, 1);
    if (imp_dynamic_expand(c, x, shape))
        return;
    tn_broadcast_to_attr a = {imp_host_in(c, shape, "the shape")};
    a.shape = tn_dims_make(c->arena, a.shape.n, a.shape.at);
    imp_out(c, 0, imp_call1(c, &tn_op_broadcast_to, &a, x));
}

static void broadcast_args(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    imp_out(c, 0, imp_broadcast_shape(c, a, b));
}

static void range(imp_node *c)
{
    tn_value in[3];
    for (uint32_t i = 0; i < 3; i++)
        in[i] = tf_scalar_in(c, i);
    imp_out(c, 0, imp_range(c, in));
}

static void lin_space(imp_node *c)
{
    tn_value from = tf_scalar_in(c, 0), to = tf_scalar_in(c, 1);
    int64_t n = imp_int_in(c, imp_in(c, 2), "num");
    const tn_expr *count = tn_idx(c->pool, n > 0 ? n : 0);
    tn_arange_attr a = {tn_dims_make(c->arena, 1, &count)};
    tn_value step = imp_binary(c, &tn_op_subtract, to, from);
    step = imp_binary(c, &tn_op_divide, step, tf_number(c, from, n > 1 ? (double)n - 1 : 1));
    imp_out(c, 0, imp_call2(c, &tn_op_arange, &a, from, step));
}

static void tile(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_tile_attr a = {imp_extents_in(c, imp_in(c, 1), "multiples")};
    if (!c->bad && a.reps.n != (uint32_t)imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "multiples has %u entries, but the operand is %s; the model is damaged",
                   (unsigned)a.reps.n, imp_type_text(c, imp_type(x)));
    imp_out(c, 0, a.reps.n ? imp_call1(c, &tn_op_tile, &a, x) : x);
}

/* ---- padding ---- */

static void pad_with(imp_node *c, const char *mode, tn_value value)
{
    tn_value x = imp_in(c, 0);
    tn_dims width = imp_host_in(c, imp_in(c, 1), "the paddings");
    tn_pad_attr a = {tn_dims_make(c->arena, width.n, width.at), 0, mode};
    if (!c->bad && width.n != 2 * (uint32_t)imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "there are %u paddings for %s; the model is damaged", (unsigned)width.n,
                   imp_type_text(c, imp_type(x)));
    if (value.def && imp_scalar(c, value, &a.pad_value) && fabs(a.pad_value) < 9007199254740992.0 &&
        !tn_dtype_is_bool(imp_type(x)->dtype))
        value = (tn_value){0};
    const tn_value in[2] = {x, value};
    imp_out(c, 0, imp_rank(x) ? imp_call(c, &tn_op_nn_pad, &a, value.def ? 2 : 1, in) : x);
}

static void pad(imp_node *c) { pad_with(c, "constant", imp_has(c, 2) ? tf_scalar_in(c, 2) : (tn_value){0}); }

/* SYMMETRIC repeats the edge. */
static void symmetric(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints width = imp_ints_in(c, imp_in(c, 1), "the paddings");
    if (!c->bad && width.n != 2 * (uint32_t)imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "there are %u paddings for %s; the model is damaged", (unsigned)width.n,
                   imp_type_text(c, imp_type(x)));
    imp_out(c, 0, imp_mirror(c, x, width, true));
}

static void mirror_pad(imp_node *c)
{
    imp_attr_need(c, "mode");
    const char *mode = imp_attr_string(c, "mode", "REFLECT");
    if (strcmp(mode, "SYMMETRIC") == 0)
        symmetric(c);
    else
        pad_with(c, "reflect", (tn_value){0});
}

/* ---- blocks ---- */

static void depth_space(imp_node *c)
{
    bool last = tf_is_last(c);
    tn_value x = imp_in(c, 0);
    tn_depth_attr a = {imp_attr_int(c, "block_size", 2), "NCHW", "DCR"};
    tn_value y = imp_call1(c, c->row->relay, &a, last ? imp_channels_first(c, x) : x);
    imp_out(c, 0, last && !c->bad ? imp_channels_last(c, y) : y);
}

/* Blocks of the dimensions behind the batch; operand 2 says what is added around or cut off. */
static imp_blocks blocks_in(imp_node *c)
{
    tn_ints size = imp_ints_in(c, imp_in(c, 1), "the block");
    return (imp_blocks){1, size, imp_host_in(c, imp_in(c, 2), "the edges"), 0};
}

static void space_to_batch(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_blocks b = blocks_in(c);
    imp_out(c, 0, imp_space_to_batch(c, x, &b));
}

static void batch_to_space(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_blocks b = blocks_in(c);
    imp_out(c, 0, imp_batch_to_space(c, x, &b));
}

/* ---- random numbers: the same in every run ---- */

static void random(imp_node *c)
{
    bool normal = strstr(c->row->op, "Normal") != NULL;
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *s = c->loc->node; *s; s++)
        hash = (hash ^ (uint8_t)*s) * 16777619u;
    tn_dims shape = imp_extents_in(c, imp_in(c, 0), "the shape");
    tn_random_attr a = {.distribution = normal ? "normal" : "uniform",
                        .seed = (int32_t)hash,
                        .shape = tn_dims_make(c->arena, shape.n, shape.at),
                        .low = 0,
                        .high = 1,
                        .dtype = tf_attr_dtype(c, "dtype", TN_F32)};
    imp_attr_ignore(c, "seed");
    imp_attr_ignore(c, "seed2");
    (void)tn_report(c->g->ctx, TN_WARNING, "tensorflow-W001", c->loc,
                    "the compiled model draws the same random numbers in every run, and not TensorFlow's");
    imp_out(c, 0, c->bad ? (tn_value){0} : imp_call(c, &tn_op_random, &a, 0, NULL));
}

// clang-format off
const imp_row tf_rows_array[] = {
    {"BatchToSpaceND",         1, 0,  3,  1, batch_to_space, NULL},
    {"BroadcastArgs",          1, 0,  2,  1, broadcast_args, NULL},
    {"BroadcastTo",            1, 0,  2,  1, broadcast_to,   NULL},
    {"CheckNumerics",          1, 0,  1,  1, identity,       NULL},
    {"Concat",                 1, 0, -1,  1, concat_first,   NULL},
    {"ConcatV2",               1, 0, -1,  1, concat_last,    NULL},
    {"ConjugateTranspose",     1, 0,  2,  1, transpose,      NULL},
    {"Const",                  1, 0,  0,  1, constant,       NULL},
    {"DepthToSpace",           1, 0,  1,  1, depth_space,    &tn_op_nn_depth_to_space},
    {"EnsureShape",            1, 0,  1,  1, identity,       NULL},
    {"ExpandDims",             1, 0,  2,  1, expand_dims,    NULL},
    {"Fill",                   1, 0,  2,  1, fill,           NULL},
    {"Identity",               1, 0,  1,  1, identity,       NULL},
    {"IdentityN",              1, 0, -1, -1, identity,       NULL},
    {"LinSpace",               1, 0,  3,  1, lin_space,      NULL},
    {"MirrorPad",              1, 0,  2,  1, mirror_pad,     NULL},
    {"OnesLike",               1, 0,  1,  1, ones_like,      NULL},
    {"Pack",                   1, 0, -1,  1, pack,           NULL},
    {"Pad",                    1, 0,  2,  1, pad,            NULL},
    {"PadV2",                  1, 0,  3,  1, pad,            NULL},
    {"Placeholder",            1, 0,  0,  1, placeholder,    NULL},
    {"PlaceholderWithDefault", 1, 0,  1,  1, identity,       NULL},
    {"PreventGradient",        1, 0,  1,  1, identity,       NULL},
    {"RandomStandardNormal",   1, 0,  1,  1, random,         NULL},
    {"RandomUniform",          1, 0,  1,  1, random,         NULL},
    {"Range",                  1, 0,  3,  1, range,          NULL},
    {"Rank",                   1, 0,  1,  1, rank,           NULL},
    {"Reshape",                1, 0,  2,  1, reshape,        NULL},
    {"Shape",                  1, 0,  1,  1, shape,          NULL},
    {"ShapeN",                 1, 0, -1, -1, shape,          NULL},
    {"Size",                   1, 0,  1,  1, size,           NULL},
    {"Slice",                  1, 0,  3,  1, slice,          NULL},
    {"Snapshot",               1, 0,  1,  1, identity,       NULL},
    {"SpaceToBatchND",         1, 0,  3,  1, space_to_batch, NULL},
    {"SpaceToDepth",           1, 0,  1,  1, depth_space,    &tn_op_nn_space_to_depth},
    {"Split",                  1, 0,  2, -1, split,          NULL},
    {"SplitV",                 1, 0,  3, -1, split_v,        NULL},
    {"Squeeze",                1, 0,  1,  1, squeeze,        NULL},
    {"StopGradient",           1, 0,  1,  1, identity,       NULL},
    {"StridedSlice",           1, 0,  4,  1, strided_slice,  NULL},
    {"Tile",                   1, 0,  2,  1, tile,           NULL},
    {"Transpose",              1, 0,  2,  1, transpose,      NULL},
    {"Unpack",                 1, 0,  1, -1, unpack,         NULL},
    {"ZerosLike",              1, 0,  1,  1, zeros_like,     NULL},
    {0},
};
// clang-format on
