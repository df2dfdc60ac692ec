/* Shapes and movement in MXNet: reshapes with their codes, transposes, joining, cutting, padding, repeating. */
#include "frontend/mxnet/mxnet.h"

#include "op/image/image.h"

#include <string.h>

static const tn_expr *idx(imp_node *c, int64_t v) { return tn_idx(c->pool, v); }

/* ---- reshape ---- */

typedef struct target { /* a shape being made, from the front */
    const tn_type *from;
    int at, n; /* dimensions of `from` that are used up; of the result */
    const tn_expr *dim[IMP_MAX_RANK];
} target;

static void put(imp_node *c, target *t, const tn_expr *e)
{
    if (t->n >= IMP_MAX_RANK) {
        imp_refuse(c, IMP_TOO_LARGE, "the result would have more than %d dimensions", IMP_MAX_RANK);
        return;
    }
    t->dim[t->n++] = e;
}

/* The next dimension of the operand. */
static const tn_expr *next(imp_node *c, target *t)
{
    if (t->at >= t->from->n) {
        imp_refuse(c, IMP_BAD_VALUE, "shape names more dimensions than %s has", imp_type_text(c, t->from));
        return idx(c, 1);
    }
    return t->from->dim[t->at++];
}

/* One dimension as two, of which one may be -1. */
static void split_two(imp_node *c, target *t, int64_t a, int64_t b)
{
    const tn_expr *whole = next(c, t);
    if ((a < 1 && b < 1) || a < -1 || b < -1 || a == 0 || b == 0) {
        imp_refuse(c, IMP_BAD_VALUE, "shape splits a dimension into %lld and %lld", (long long)a,
                   (long long)b);
        return;
    }
    const tn_expr *x = a > 0 ? idx(c, a) : imp_simplify(c, tn_fdiv(c->pool, whole, idx(c, b)));
    put(c, t, x);
    put(c, t, b > 0 ? idx(c, b) : imp_simplify(c, tn_fdiv(c->pool, whole, idx(c, a))));
}

/* 0 keeps a dimension, -1 takes the rest, -2 keeps all that are left, -3 joins two, -4 splits one into the two entries
 * that follow. numpy's: -2 keeps one, -3 drops one of extent 1, -4 keeps all that are left, -5 joins, -6 splits. */
static void read_codes(imp_node *c, tn_ints code, bool numpy, target *t)
{
    for (uint32_t i = 0; i < code.n && !c->bad; i++) {
        int64_t v = code.at[i];
        if (numpy && v == -3) {
            (void)next(c, t);
            continue;
        }
        if (numpy && v < -1)
            v = v == -2 ? 0 : v + 2; /* -4 -5 -6 -> -2 -3 -4 */
        else if (numpy && v == 0) {
            t->at++;
            put(c, t, idx(c, 0));
            continue;
        }
        if (v == 0) {
            put(c, t, next(c, t));
        } else if (v == -2) {
            while (t->at < t->from->n)
                put(c, t, next(c, t));
        } else if (v == -3) {
            const tn_expr *a = next(c, t);
            put(c, t, imp_simplify(c, tn_mul(c->pool, a, next(c, t))));
        } else if (v == -4 && i + 2 < code.n) {
            split_two(c, t, code.at[i + 1], code.at[i + 2]);
            i += 2;
        } else if (v >= -1) {
            t->at++;
            put(c, t, idx(c, v));
        } else {
            imp_refuse(c, IMP_BAD_VALUE, "shape contains the code %lld, which is not known", (long long)v);
        }
    }
}

/* Codes from the last dimension on: the operand's dimensions and the codes in reverse order. */
static tn_ints reversed(imp_node *c, tn_ints v)
{
    int64_t *at = TN_NEW_N(c->arena, int64_t, v.n);
    for (uint32_t i = 0; i < v.n; i++)
        at[v.n - 1 - i] = v.at[i];
    for (uint32_t i = 2; i < v.n; i++)
        if (at[i] == -4) { /* -4 a b, which now reads b a -4 */
            at[i] = at[i - 1];
            at[i - 1] = at[i - 2];
            at[i - 2] = -4;
        }
    return (tn_ints){v.n, at};
}

static void reverse_dims(imp_node *c, target *t, tn_type *room)
{
    const tn_expr **dim = TN_NEW_N(c->arena, const tn_expr *, (size_t)t->from->n + 1);
    for (int i = 0; i < t->from->n; i++)
        dim[i] = t->from->dim[t->from->n - 1 - i];
    *room = *t->from;
    room->dim = dim;
    t->from = room;
}

static void reshape(imp_node *c)
{
    tn_ints code;
    tn_value x = imp_in(c, 0);
    tn_type room;
    target t = {.from = imp_type(x)};
    bool numpy = c->row->op[0] == '_', backward = mx_bool(c, "reverse", false);
    const char *key = imp_has_attr(c, "newshape") ? "newshape" : "shape";
    bool given = mx_ints(c, key, &code);
    imp_attr_ignore(c, "order");
    imp_attr_ignore(c, "keep_highest");
    if (!given || !code.n) /* before 0.9 */
        given = mx_ints(c, "target_shape", &code);
    else
        imp_attr_ignore(c, "target_shape");
    if (!given && !c->bad)
        imp_refuse(c, IMP_ATTR_MISSING, "attribute shape is missing; the model is damaged");
    if (backward) {
        reverse_dims(c, &t, &room);
        code = reversed(c, code);
    }
    read_codes(c, code, numpy, &t);
    for (int i = 0; backward && i < t.n / 2; i++) {
        const tn_expr *e = t.dim[i];
        t.dim[i] = t.dim[t.n - 1 - i];
        t.dim[t.n - 1 - i] = e;
    }
    tn_reshape_attr a = {tn_dims_make(c->arena, c->bad ? 0 : (uint32_t)t.n, t.dim), true};
    imp_out(c, 0, c->bad ? x : imp_reshape_to(c, x, &a));
}

static void reshape_like(imp_node *c)
{
    tn_value x = imp_in(c, 0), like = imp_in(c, 1);
    const tn_type *s = imp_type(x), *t = imp_type(like);
    int64_t b = mx_int(c, "lhs_begin", 0), e = mx_int(c, "lhs_end", s->n), rb = mx_int(c, "rhs_begin", 0),
            re = mx_int(c, "rhs_end", t->n);
    const tn_expr *dim[3 * IMP_MAX_RANK];
    int n = 0;
    b += b < 0 ? s->n : 0;
    e += e < 0 ? s->n : 0;
    rb += rb < 0 ? t->n : 0;
    re += re < 0 ? t->n : 0;
    if (!c->bad && (b < 0 || b > e || e > s->n || rb < 0 || rb > re || re > t->n ||
                    s->n - (e - b) + (re - rb) > IMP_MAX_RANK))
        imp_refuse(c, IMP_BAD_VALUE, "the ranges of dimensions do not fit %s and %s", imp_type_text(c, s),
                   imp_type_text(c, t));
    if (c->bad)
        return;
    for (int64_t i = 0; i < b; i++)
        dim[n++] = s->dim[i];
    for (int64_t i = rb; i < re; i++)
        dim[n++] = t->dim[i];
    for (int64_t i = e; i < s->n; i++)
        dim[n++] = s->dim[i];
    imp_out(c, 0, imp_reshape(c, x, n, dim));
}

static void flatten(imp_node *c) { imp_out(c, 0, imp_flatten(c, imp_in(c, 0), 1)); }

/* ---- order and rank ---- */

static void transpose(imp_node *c)
{
    tn_ints axes;
    tn_value x = imp_in(c, 0);
    bool given = mx_ints(c, "axes", &axes) && axes.n;
    if (given && !c->bad && axes.n != (uint32_t)imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "axes has %u entries, but the operand is %s", (unsigned)axes.n,
                   imp_type_text(c, imp_type(x)));
    imp_out(c, 0, given ? imp_transpose(c, x, (int)axes.n, axes.at) : imp_unary(c, &tn_op_transpose, x));
}

static void swap_axis(imp_node *c)
{
    int64_t perm[IMP_MAX_RANK];
    tn_value x = imp_in(c, 0);
    int rank = imp_rank(x), a = imp_axis(c, mx_int(c, "dim1", 0), rank),
        b = imp_axis(c, mx_int(c, "dim2", 0), rank);
    for (int i = 0; i < rank; i++)
        perm[i] = i == a ? b : i == b ? a : i;
    imp_out(c, 0, imp_transpose(c, x, rank, perm));
}

static void expand_dims(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_attr_need(c, "axis");
    imp_out(c, 0, imp_unsqueeze(c, x, imp_axis(c, mx_int(c, "axis", 0), imp_rank(x) + 1)));
}

static void squeeze(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_squeeze_attr a = {0};
    (void)mx_ints(c, "axis", &a.axis);
    imp_out(c, 0, imp_call1(c, &tn_op_squeeze, &a, x));
}

/* ---- joining and cutting ---- */

static void concat(imp_node *c)
{
    tn_value *in = TN_NEW_N(c->arena, tn_value, c->n_in);
    bool numpy = imp_has_attr(c, "axis"), flat = false;
    int64_t axis = mx_int(c, numpy ? "axis" : "dim", numpy ? 0 : 1);
    if (numpy && strcmp(mx_text(c, "axis", "None"), "None") == 0)
        flat = true;
    for (uint32_t i = 0; i < imp_n_in(c); i++) {
        in[i] = imp_in(c, i);
        in[i] = flat && !c->bad ? imp_flat(c, in[i]) : in[i];
    }
    imp_out(c, 0, c->n_in ? imp_concat(c, imp_n_in(c), in, flat ? 0 : axis) : imp_in(c, 0));
}

static void stack(imp_node *c)
{
    tn_value *in = TN_NEW_N(c->arena, tn_value, c->n_in);
    int axis = imp_axis(c, mx_int(c, "axis", 0), imp_rank(imp_in(c, 0)) + 1);
    for (uint32_t i = 0; i < imp_n_in(c); i++)
        in[i] = imp_unsqueeze(c, imp_in(c, i), axis);
    imp_out(c, 0, imp_concat(c, imp_n_in(c), in, axis));
}

/* Parts of an axis that begin at begin[i]; those that nobody reads are not made. */
static void parts(imp_node *c, tn_value x, int axis, int64_t n, const int64_t begin[], bool squeeze_axis)
{
    for (int64_t i = 0; i < n && (size_t)i < c->n_out; i++) {
        tn_value v = imp_slice(c, x, axis, begin[i], i + 1 < n ? begin[i + 1] : INT64_MAX);
        imp_out(c, (uint32_t)i, squeeze_axis ? imp_squeeze(c, v, axis) : v);
    }
    if ((int64_t)c->n_out > n)
        imp_refuse(c, IMP_OPERANDS, "result %zu is used, but there are %lld", c->n_out - 1, (long long)n);
}

static void split(imp_node *c)
{
    enum { MOST = 4096 };
    int64_t begin[MOST + 1] = {0}, extent = 0;
    tn_ints indices = {0};
    tn_value x = imp_in(c, 0);
    bool second = imp_has_attr(c, "sections");
    int64_t n = mx_int(c, second ? "sections" : "num_outputs", 0);
    int axis = imp_axis(c, mx_int(c, "axis", second ? 0 : 1), imp_rank(x));
    bool drop = mx_bool(c, "squeeze_axis", false), listed = mx_ints(c, "indices", &indices) && n == 0;
    if (!c->bad && !listed &&
        (!tn_is_int(imp_type(x)->dim[axis], &extent) || n < 1 || n > MOST || extent % n))
        imp_refuse(c, IMP_BAD_VALUE, "axis %d of %s cannot be split into %lld equal parts", axis,
                   imp_type_text(c, imp_type(x)), (long long)n);
    if (listed && indices.n > MOST)
        imp_refuse(c, IMP_BAD_VALUE, "indices has too many entries");
    if (c->bad)
        return;
    if (listed) { /* a zero first, where the first part begins */
        n = indices.n;
        for (uint32_t i = 0; i < indices.n; i++)
            begin[i] = indices.at[i];
    }
    for (int64_t i = 0; i < n && !listed; i++)
        begin[i] = i * (extent / n);
    parts(c, x, axis, n, begin, drop);
}

/* begin, end and step with None for "all" of their direction. */
static void slice(imp_node *c)
{
    int64_t b[IMP_MAX_RANK], e[IMP_MAX_RANK], s[IMP_MAX_RANK], axes[IMP_MAX_RANK];
    tn_ints begin, end, step;
    tn_value x = imp_in(c, 0);
    (void)mx_ints(c, "begin", &begin);
    (void)mx_ints(c, "end", &end);
    (void)mx_ints(c, "step", &step);
    if (!c->bad && (begin.n != end.n || begin.n > (uint32_t)imp_rank(x) || (step.n && step.n != begin.n)))
        imp_refuse(c, IMP_BAD_VALUE, "begin, end and step have %u, %u and %u entries for %s",
                   (unsigned)begin.n, (unsigned)end.n, (unsigned)step.n, imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < begin.n && !c->bad; i++) {
        s[i] = step.n && step.at[i] != MX_NONE ? step.at[i] : 1;
        b[i] = begin.at[i] != MX_NONE ? begin.at[i] : s[i] < 0 ? INT64_MAX : 0;
        e[i] = end.at[i] != MX_NONE ? end.at[i] : s[i] < 0 ? INT64_MIN : INT64_MAX;
        axes[i] = i;
    }
    if (c->bad)
        return;
    tn_slice_attr a = {tn_make_dims(c->g, begin.n, b), tn_make_dims(c->g, begin.n, e),
                       tn_ints_make(c->arena, begin.n, s), tn_ints_make(c->arena, begin.n, axes)};
    imp_out(c, 0, begin.n ? imp_call1(c, &tn_op_strided_slice, &a, x) : x);
}

static void slice_axis(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int axis = imp_axis(c, mx_int(c, "axis", 0), imp_rank(x));
    imp_out(c, 0, imp_slice(c, x, axis, mx_int(c, "begin", 0), mx_int(c, "end", INT64_MAX)));
}

/* The beginning of an axis, or what lies from `offset` on, as far as `extent`. */
static tn_value cut(imp_node *c, tn_value x, int axis, const tn_expr *offset, const tn_expr *extent)
{
    int64_t at = axis, step = 1;
    const tn_expr *end = imp_simplify(c, tn_add(c->pool, offset, extent));
    tn_slice_attr a = {tn_dims_make(c->arena, 1, &offset), tn_dims_make(c->arena, 1, &end),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &at)};
    return imp_type(x)->dim[axis] == extent ? x : imp_call1(c, &tn_op_strided_slice, &a, x);
}

static void slice_like(imp_node *c)
{
    tn_ints axes;
    tn_value x = imp_in(c, 0), like = imp_in(c, 1);
    bool given = mx_ints(c, "axes", &axes) && axes.n;
    int n = given ? (int)axes.n : imp_rank(like);
    for (int i = 0; i < n && !c->bad; i++) {
        int axis = imp_axis(c, given ? axes.at[i] : i, imp_rank(x));
        if (axis >= imp_rank(like))
            imp_refuse(c, IMP_BAD_VALUE, "axis %d is not one of %s", axis, imp_type_text(c, imp_type(like)));
        if (!c->bad)
            x = cut(c, x, axis, idx(c, 0), imp_type(like)->dim[axis]);
    }
    imp_out(c, 0, x);
}

/* Rows and columns of an image, as many as the second operand or h_w says. */
static void crop(imp_node *c)
{
    tn_ints offset, size;
    tn_value x = imp_in(c, 0);
    bool center = mx_bool(c, "center_crop", false), like = imp_n_in(c) > 1;
    (void)mx_ints(c, "offset", &offset);
    (void)mx_ints(c, "h_w", &size);
    if (!c->bad && (imp_rank(x) != 4 || (like && imp_rank(imp_in(c, 1)) != 4) || (!like && size.n != 2) ||
                    (offset.n != 0 && offset.n != 2)))
        imp_refuse(c, IMP_OPERANDS, "data %s cannot be cropped so", imp_type_text(c, imp_type(x)));
    for (int i = 0; i < 2 && !c->bad; i++) {
        const tn_expr *extent = like ? imp_type(imp_in(c, 1))->dim[2 + i] : idx(c, size.at[i]);
        const tn_expr *from = idx(c, offset.n ? offset.at[i] : 0), *room;
        room = tn_sub(c->pool, imp_type(x)->dim[2 + i], extent);
        from = center ? imp_simplify(c, tn_fdiv(c->pool, room, idx(c, 2))) : from;
        x = cut(c, x, 2 + i, from, extent);
    }
    imp_out(c, 0, x);
}

/* ---- padding and repeating ---- */

static void pad(imp_node *c)
{
    static const char *const modes[] = {"constant", "edge", "reflect", NULL};
    tn_ints width;
    tn_value x = imp_in(c, 0);
    tn_pad_attr a = {.pad_value = mx_float(c, "constant_value", 0)};
    a.pad_mode = modes[mx_choice(c, "mode", 0, modes)];
    imp_attr_need(c, "pad_width");
    (void)mx_ints(c, "pad_width", &width);
    a.pad_width = tn_make_dims(c->g, width.n, width.at);
    imp_out(c, 0, imp_call1(c, &tn_op_nn_pad, &a, x));
}

static void tile(imp_node *c)
{
    tn_ints reps;
    tn_value x = imp_in(c, 0);
    imp_attr_need(c, "reps");
    (void)mx_ints(c, "reps", &reps);
    for (int lack = imp_rank(x); lack < (int)reps.n && !c->bad; lack++)
        x = imp_unsqueeze(c, x, 0);
    tn_tile_attr a = {tn_make_dims(c->g, reps.n, reps.at)};
    imp_out(c, 0, reps.n ? imp_call1(c, &tn_op_tile, &a, x) : x);
}

/* Each element several times: along a new axis behind its own, which is then joined with it. */
static void repeat(imp_node *c)
{
    const tn_expr *dim[IMP_MAX_RANK + 1];
    int64_t times = mx_int(c, "repeats", 1);
    tn_value x = imp_in(c, 0);
    bool flat = strcmp(mx_text(c, "axis", "None"), "None") == 0;
    x = flat && !c->bad ? imp_flat(c, x) : x;
    int axis = flat ? 0 : imp_axis(c, mx_int(c, "axis", 0), imp_rank(x)), rank = imp_rank(x);
    if (!c->bad && (times < 1 || times > INT32_MAX || rank >= IMP_MAX_RANK))
        imp_refuse(c, IMP_BAD_VALUE, "attribute repeats is %lld for %s", (long long)times,
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    for (int i = 0; i <= rank; i++)
        dim[i] = i == axis + 1 ? idx(c, times) : imp_type(x)->dim[i > axis ? i - 1 : i];
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)rank + 1, dim)};
    tn_value y = imp_call1(c, &tn_op_broadcast_to, &a, imp_unsqueeze(c, x, axis + 1));
    for (int i = 0; i < rank; i++)
        dim[i] = i == axis ? imp_simplify(c, tn_mul(c->pool, imp_type(x)->dim[i], idx(c, times)))
                           : imp_type(x)->dim[i];
    imp_out(c, 0, imp_reshape(c, y, rank, dim));
}

static void reverse(imp_node *c)
{
    int64_t begin = -1, end = INT64_MIN, step = -1;
    tn_ints axes;
    tn_value x = imp_in(c, 0);
    (void)mx_ints(c, "axis", &axes);
    for (uint32_t i = 0; i < axes.n && !c->bad; i++) {
        int64_t at = imp_axis(c, axes.at[i], imp_rank(x));
        tn_slice_attr a = {tn_make_dims(c->g, 1, &begin), tn_make_dims(c->g, 1, &end),
                           tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &at)};
        x = imp_call1(c, &tn_op_strided_slice, &a, x);
    }
    imp_out(c, 0, x);
}

/* ---- broadcasting ---- */

static void broadcast(imp_node *c, tn_value x, int n, const tn_expr *const dim[])
{
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)n, dim)};
    imp_out(c, 0, imp_call1(c, &tn_op_broadcast_to, &a, x));
}

static void broadcast_to(imp_node *c)
{
    const tn_expr *dim[IMP_MAX_RANK];
    tn_ints shape;
    tn_value x = imp_in(c, 0);
    int lack;
    (void)mx_ints(c, "shape", &shape);
    lack = (int)shape.n - imp_rank(x);
    if (!c->bad && (shape.n > IMP_MAX_RANK || lack < 0))
        imp_refuse(c, IMP_BAD_VALUE, "shape has %u entries for %s", (unsigned)shape.n,
                   imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < shape.n && !c->bad; i++) /* 0: the operand's */
        dim[i] = shape.at[i] == 0 && (int)i >= lack ? imp_type(x)->dim[(int)i - lack] : idx(c, shape.at[i]);
    if (!c->bad)
        broadcast(c, x, (int)shape.n, dim);
}

static void broadcast_axis(imp_node *c)
{
    const tn_expr *dim[IMP_MAX_RANK];
    tn_ints axis, size;
    tn_value x = imp_in(c, 0);
    (void)mx_ints(c, "axis", &axis);
    (void)mx_ints(c, "size", &size);
    if (!c->bad && axis.n != size.n)
        imp_refuse(c, IMP_BAD_VALUE, "axis and size have %u and %u entries", (unsigned)axis.n,
                   (unsigned)size.n);
    for (int i = 0; i < imp_rank(x); i++)
        dim[i] = imp_type(x)->dim[i];
    for (uint32_t i = 0; i < axis.n && !c->bad; i++)
        dim[imp_axis(c, axis.at[i], imp_rank(x))] = idx(c, size.at[i]);
    if (!c->bad)
        broadcast(c, x, imp_rank(x), dim);
}

static void broadcast_like(imp_node *c)
{
    const tn_expr *dim[IMP_MAX_RANK];
    tn_ints left, right;
    tn_value x = imp_in(c, 0), like = imp_in(c, 1);
    bool some = mx_ints(c, "lhs_axes", &left) && mx_ints(c, "rhs_axes", &right);
    if (some && left.n != right.n)
        imp_refuse(c, IMP_BAD_VALUE, "lhs_axes and rhs_axes have %u and %u entries", (unsigned)left.n,
                   (unsigned)right.n);
    if (!some) {
        broadcast(c, x, imp_rank(like), imp_type(like)->dim);
        return;
    }
    for (int i = 0; i < imp_rank(x); i++)
        dim[i] = imp_type(x)->dim[i];
    for (uint32_t i = 0; i < left.n && !c->bad; i++) {
        int to = imp_axis(c, left.at[i], imp_rank(x)), from = imp_axis(c, right.at[i], imp_rank(like));
        dim[to] = c->bad ? NULL : imp_type(like)->dim[from];
    }
    if (!c->bad)
        broadcast(c, x, imp_rank(x), dim);
}

static void depth_space(imp_node *c)
{
    tn_depth_attr a = {.block_size = mx_int(c, "block_size", 1), .layout = "NCHW", .mode = "DCR"};
    imp_out(c, 0, imp_call1(c, c->row->relay, &a, imp_in(c, 0)));
}

// clang-format off
const imp_row mx_rows_shape[] = {
    {"Reshape",           0, 0,  1,  1, reshape,        NULL},
    {"reshape",           0, 0,  1,  1, reshape,        NULL},
    {"_npx_reshape",      0, 0,  1,  1, reshape,        NULL},
    {"_np_reshape",       0, 0,  1,  1, reshape,        NULL},
    {"_npi_reshape",      0, 0,  1,  1, reshape,        NULL},
    {"reshape_like",      0, 0,  2,  1, reshape_like,   NULL},
    {"Flatten",           0, 0,  1,  1, flatten,        NULL},
    {"flatten",           0, 0,  1,  1, flatten,        NULL},
    {"_npx_batch_flatten", 0, 0, 1,  1, flatten,        NULL},
    {"transpose",         0, 0,  1,  1, transpose,      NULL},
    {"_np_transpose",     0, 0,  1,  1, transpose,      NULL},
    {"_npi_transpose",    0, 0,  1,  1, transpose,      NULL},
    {"SwapAxis",          0, 0,  1,  1, swap_axis,      NULL},
    {"swapaxes",          0, 0,  1,  1, swap_axis,      NULL},
    {"_npi_swapaxes",     0, 0,  1,  1, swap_axis,      NULL},
    {"expand_dims",       0, 0,  1,  1, expand_dims,    NULL},
    {"_npi_expand_dims",  0, 0,  1,  1, expand_dims,    NULL},
    {"squeeze",           0, 0,  1,  1, squeeze,        NULL},
    {"_np_squeeze",       0, 0,  1,  1, squeeze,        NULL},
    {"_npi_squeeze",      0, 0,  1,  1, squeeze,        NULL},
    {"Concat",            0, 0, -1,  1, concat,         NULL},
    {"concat",            0, 0, -1,  1, concat,         NULL},
    {"_npi_concatenate",  0, 0, -1,  1, concat,         NULL},
    {"_rnn_param_concat", 0, 0, -1,  1, concat,         NULL},
    {"stack",             0, 0, -1,  1, stack,          NULL},
    {"_npi_stack",        0, 0, -1,  1, stack,          NULL},
    {"SliceChannel",      0, 0,  1, -1, split,          NULL},
    {"split",             0, 0,  1, -1, split,          NULL},
    {"_split_v2",         0, 0,  1, -1, split,          NULL},
    {"_npi_split",        0, 0,  1, -1, split,          NULL},
    {"slice",             0, 0,  1,  1, slice,          NULL},
    {"_npi_slice",        0, 0,  1,  1, slice,          NULL},
    {"crop",              0, 0,  1,  1, slice,          NULL},
    {"slice_axis",        0, 0,  1,  1, slice_axis,     NULL},
    {"slice_like",        0, 0,  2,  1, slice_like,     NULL},
    {"Crop",              0, 0,  2,  1, crop,           NULL},
    {"Pad",               0, 0,  1,  1, pad,            NULL},
    {"pad",               0, 0,  1,  1, pad,            NULL},
    {"tile",              0, 0,  1,  1, tile,           NULL},
    {"_npi_tile",         0, 0,  1,  1, tile,           NULL},
    {"repeat",            0, 0,  1,  1, repeat,         NULL},
    {"_np_repeat",        0, 0,  1,  1, repeat,         NULL},
    {"reverse",           0, 0,  1,  1, reverse,        NULL},
    {"flip",              0, 0,  1,  1, reverse,        NULL},
    {"_npi_flip",         0, 0,  1,  1, reverse,        NULL},
    {"broadcast_to",      0, 0,  1,  1, broadcast_to,   NULL},
    {"_npi_broadcast_to", 0, 0,  1,  1, broadcast_to,   NULL},
    {"broadcast_axis",    0, 0,  1,  1, broadcast_axis, NULL},
    {"broadcast_axes",    0, 0,  1,  1, broadcast_axis, NULL},
    {"broadcast_like",    0, 0,  2,  1, broadcast_like, NULL},
    {"depth_to_space",    0, 0,  1,  1, depth_space,    &tn_op_nn_depth_to_space},
    {"space_to_depth",    0, 0,  1,  1, depth_space,    &tn_op_nn_space_to_depth},
    {0},
};
// clang-format on
