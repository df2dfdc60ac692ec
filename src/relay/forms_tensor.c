/* Forms (forms.h): shapes, order, reductions, indices. */
#include "relay/forms.h"

#include "ir/eval.h"
#include "op/nn/nn.h"

#include <math.h>
#include <string.h>

/* ---- the same by another name, or nothing ---- */

static tn_value same(form_call *c) { return c->in[0]; }

static tn_value fast(form_call *c)
{
    const tn_op *op = strcmp(c->name, "fast_exp") == 0    ? &tn_op_exp
                      : strcmp(c->name, "fast_tanh") == 0 ? &tn_op_tanh
                      : strcmp(c->name, "fast_erf") == 0  ? &tn_op_erf
                                                          : NULL;
    tn_axis_attr a = {c->a.axis};
    return op ? form_make1(c, op, NULL, c->in[0]) : form_make1(c, &tn_op_nn_softmax, &a, c->in[0]);
}

static tn_value trunc_mod(form_call *c) { return form_make2(c, &tn_op_mod, c->in[0], c->in[1]); }

/* log2, log10 */
static tn_value log_of(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    double base = strcmp(c->name, "log2") == 0 ? 2 : 10;
    if (!t)
        return (tn_value){0};
    tn_value y = form_make1(c, &tn_op_log, NULL, c->in[0]);
    return form_make2(c, &tn_op_multiply, y, form_number(c, t->dtype, 1 / log(base)));
}

/* Inference drops nothing: the mask is all ones. */
static tn_value dropout(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    if (!t)
        return (tn_value){0};
    return form_several(
        c, 2,
        (const tn_value[]){c->in[0], form_filled(c, form_number(c, t->dtype, 1), (uint32_t)t->n, t->dim)});
}

/* ---- made of nothing ---- */

static tn_value fill(form_call *c)
{
    bool ones = strncmp(c->name, "ones", 4) == 0, like = strstr(c->name, "_like") != NULL;
    bool given = strncmp(c->name, "full", 4) == 0;
    const tn_type *t = like ? form_type(c, c->in[0]) : NULL;
    tn_dtype type = t ? t->dtype : c->a.dtype;
    if (like && !t)
        return (tn_value){0};
    if (given && !type.bits)
        type = tn_value_type(c->in[0])->dtype;
    tn_value v = given ? form_cast(c, c->in[like], type) : form_number(c, type.bits ? type : TN_F32, ones);
    return t ? form_filled(c, v, (uint32_t)t->n, t->dim) : form_filled(c, v, c->a.dims.n, c->a.dims.at);
}

bool form_constant(form_call *c, tn_value v, double *out)
{
    const tn_type *t = form_type(c, v);
    bool is = t && t->n == 0 && tn_op_is(v.def, &tn_op_constant) && v.def->blob;
    if (is) {
        tn_scalar s = tn_scalar_read(t->dtype, v.def->blob->at);
        *out = tn_dtype_is_float(t->dtype) ? s.f : (double)s.i;
    }
    return is;
}

/* arange(start, stop, step): how many is a number here. */
static tn_value arange(form_call *c)
{
    double at[3];
    for (int i = 0; i < 3; i++)
        if (!form_constant(c, c->in[i], &at[i]))
            return form_refuse(
                c, "needs a start, a stop and a step that are numbers; write arange(start, step, count=N)");
    double n = ceil((at[1] - at[0]) / at[2]);
    if (!(n >= 0 && n < 1 << 30))
        return form_refuse(c, "has too many elements, or a step of 0");
    const tn_expr *count = form_idx(c, (int64_t)n);
    tn_arange_attr a = {tn_dims_make(c->p->g->arena, 1, &count)};
    tn_dtype t = c->a.dtype.bits ? c->a.dtype : form_type(c, c->in[0])->dtype;
    return form_make(c, &tn_op_arange, &a, 2,
                     (const tn_value[]){form_cast(c, c->in[0], t), form_cast(c, c->in[2], t)});
}

/* ---- shapes ---- */

/* Dimensions [lhs_begin, lhs_end) become those [rhs_begin, rhs_end) of the other tensor. */
static tn_value reshape_like(form_call *c, const tn_type *x, const tn_type *to)
{
    const tn_expr *dim[2 * FORM_MAX_RANK];
    const int64_t given[4] = {c->a.axis, c->a.number, c->a.i, c->a.j};
    int at[4];
    uint32_t n = 0;
    for (int k = 0; k < 4; k++) {
        const int rank = k < 2 ? x->n : to->n;
        const int64_t v = given[k] == INT64_MAX ? rank : given[k] < 0 ? given[k] + rank : given[k];
        if (v < 0 || v > rank || (k % 2 && v < at[k - 1]))
            return form_refuse(c, "has ranges of dimensions that its operands do not have");
        at[k] = (int)v;
    }
    for (int d = 0; d < at[0]; d++)
        dim[n++] = x->dim[d];
    for (int d = at[2]; d < at[3]; d++)
        dim[n++] = to->dim[d];
    for (int d = at[1]; d < x->n; d++)
        dim[n++] = x->dim[d];
    return form_reshaped(c, c->in[0], n, dim);
}

static tn_value like(form_call *c)
{
    const tn_type *x = form_type(c, c->in[0]), *to = form_type(c, c->in[1]);
    if (!x || !to)
        return (tn_value){0};
    if (strcmp(c->name, "cast_like") == 0)
        return form_cast(c, c->in[0], to->dtype);
    if (strcmp(c->name, "broadcast_to_like") == 0)
        return form_filled(c, c->in[0], (uint32_t)to->n, to->dim);
    if (strcmp(c->name, "reshape_like") == 0)
        return reshape_like(c, x, to);
    tn_value v = c->in[0]; /* slice_like */
    int n = c->a.ints.n ? (int)c->a.ints.n : to->n;
    for (int i = 0; i < n && !c->bad; i++) {
        int64_t axis = form_axis(c, c->a.ints.n ? c->a.ints.at[i] : i, x->n < to->n ? x->n : to->n), step = 1;
        const tn_expr *zero = form_idx(c, 0);
        tn_slice_attr a = {tn_dims_make(c->p->g->arena, 1, &zero),
                           tn_dims_make(c->p->g->arena, 1, &to->dim[axis]),
                           tn_ints_make(c->p->g->arena, 1, &step), tn_ints_make(c->p->g->arena, 1, &axis)};
        v = form_make1(c, &tn_op_strided_slice, &a, v);
    }
    return v;
}

/* A number of equal parts, or in brackets where all but the first begin. */
static tn_value split(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    int64_t axis = t ? form_axis(c, c->a.axis, t->n) : 0, extent = 0,
            n = c->a.x ? (int64_t)c->a.ints.n + 1 : 0;
    if (c->bad)
        return (tn_value){0};
    if (!c->a.x) {
        n = c->a.ints.n ? c->a.ints.at[0] : 0;
        if (!tn_is_int(t->dim[axis], &extent) || n < 1 || extent % n)
            return form_refuse(c, "cannot cut this axis into equal parts");
    }
    if (n > 1 << 16)
        return form_refuse(c, "has too many parts");
    tn_value *part = TN_NEW_N(&c->p->scratch, tn_value, (size_t)n);
    for (int64_t i = 0, begin = 0; i < n; i++) {
        int64_t end = i + 1 == n ? INT64_MAX : c->a.x ? c->a.ints.at[i] : (i + 1) * (extent / n);
        part[i] = form_sliced(c, c->in[0], axis, begin, end, 1);
        begin = end;
    }
    return form_several(c, (uint32_t)n, part);
}

static tn_value stack(form_call *c)
{
    tn_value *part = TN_NEW_N(&c->p->scratch, tn_value, c->n);
    const tn_type *t = form_type(c, c->in[0]);
    int64_t axis = t ? form_axis(c, c->a.axis, t->n + 1) : 0;
    tn_axis_attr a = {axis};
    for (uint32_t i = 0; i < c->n; i++)
        part[i] = form_expanded(c, c->in[i], axis);
    return form_make(c, &tn_op_concatenate, &a, (int)c->n, part);
}

static tn_value reverse(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    return t ? form_sliced(c, c->in[0], form_axis(c, c->a.axis, t->n), -1, INT64_MIN, -1) : (tn_value){0};
}

static tn_value repeat(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    const tn_expr *dim[FORM_MAX_RANK + 1];
    int64_t axis = t ? form_axis(c, c->a.axis, t->n) : 0;
    if (!t || c->bad || c->a.number < 1)
        return c->bad ? (tn_value){0} : form_refuse(c, "must repeat at least once");
    for (int i = 0; i <= t->n; i++)
        dim[i] = i == axis + 1 ? form_idx(c, c->a.number) : t->dim[i > axis ? i - 1 : i];
    tn_value v = form_filled(c, form_expanded(c, c->in[0], axis + 1), (uint32_t)t->n + 1, dim);
    for (int i = 0; i < t->n; i++)
        dim[i] = i == axis ? form_times(c, t->dim[i], c->a.number) : t->dim[i];
    return form_reshaped(c, v, (uint32_t)t->n, dim);
}

/* ---- layouts: "NCHW4c" ---- */

typedef struct letter { /* a letter; factor 0: the whole dimension, or what blocks leave of it */
    char name;
    int64_t factor;
} letter;

static int read_layout(const char *s, letter out[])
{
    int n = 0;
    while (*s && n < FORM_MAX_RANK) {
        int64_t factor = 0;
        for (; *s >= '0' && *s <= '9' && factor < 1 << 20; s++)
            factor = factor * 10 + (*s - '0');
        if (!((*s >= 'A' && *s <= 'Z' && !factor) || (*s >= 'a' && *s <= 'z' && factor)))
            return -1;
        out[n++] = (letter){*s++, factor};
    }
    return *s ? -1 : n;
}

static int find_axis(int n, const letter at[], char name)
{
    for (int i = 0; i < n; i++)
        if (at[i].name == name)
            return i;
    return -1;
}

static char lower(char ch) { return (char)(ch | 32); }

/* The source's dimensions, cut where the destination has blocks: false: the two do not fit. */
static int cut(form_call *c, const tn_type *t, int n, const letter src[], int n_dst, const letter dst[],
               letter part[], const tn_expr *dim[])
{
    int k = 0;
    for (int i = 0; i < n && k + 1 < FORM_MAX_RANK; i++) {
        char block = lower(src[i].name);
        int at = find_axis(n_dst, dst, block);
        bool whole = src[i].name != block, blocked = find_axis(n, src, block) >= 0;
        int64_t extent;
        part[k] = src[i];
        dim[k++] = t->dim[i];
        if (!whole && at >= 0 && dst[at].factor != src[i].factor)
            return -1;
        if (!whole || blocked || at < 0)
            continue;
        if (!tn_is_int(t->dim[i], &extent) || extent % dst[at].factor)
            return -1;
        dim[k - 1] = form_idx(c, extent / dst[at].factor);
        part[k] = dst[at];
        dim[k++] = form_idx(c, dst[at].factor);
    }
    return k;
}

tn_value form_layout(form_call *c, tn_value x, const char *from, const char *to_order)
{
    letter src[FORM_MAX_RANK], dst[FORM_MAX_RANK], part[FORM_MAX_RANK];
    const tn_expr *dim[FORM_MAX_RANK], *to[FORM_MAX_RANK];
    const tn_type *t = form_type(c, x);
    int n = read_layout(from, src), m = read_layout(to_order, dst), used = 0, out = 0;
    int64_t order[FORM_MAX_RANK];
    if (!t || strcmp(from, to_order) == 0)
        return x;
    int k = n == t->n && m > 0 ? cut(c, t, n, src, m, dst, part, dim) : -1;
    for (int i = 0; i < m && k > 0; i++, out++) {
        int at = find_axis(k, part, dst[i].name);
        int block = lower(dst[i].name) != dst[i].name && find_axis(m, dst, lower(dst[i].name)) < 0
                        ? find_axis(k, part, lower(dst[i].name))
                        : -1;
        if (at < 0 || used + (block >= 0) >= FORM_MAX_RANK)
            return form_refuse(c, "has layouts of other dimensions");
        to[out] = dim[at];
        order[used++] = at;
        if (block >= 0) { /* of the source, joined again */
            order[used++] = block;
            to[out] = form_times(c, dim[at], part[block].factor);
        }
    }
    if (k < 0 || used != k)
        return form_refuse(c, "has layouts that do not fit each other or the data");
    return form_reshaped(c, form_transposed(c, form_reshaped(c, x, (uint32_t)k, dim), (uint32_t)k, order),
                         (uint32_t)out, to);
}

static tn_value layout_transform(form_call *c) { return form_layout(c, c->in[0], c->a.s, c->a.t); }

/* ---- reductions, order ---- */

static tn_value all_any(form_call *c)
{
    tn_axes_attr a = {c->a.ints, c->a.x, c->a.y};
    tn_value x = form_cast(c, c->in[0], TN_DT(TN_INT, 8));
    return form_cast(c, form_make1(c, strcmp(c->name, "all") == 0 ? &tn_op_min : &tn_op_max, &a, x),
                     TN_DT(TN_BOOL, 8));
}

/* variance(data, mean) */
static tn_value variance(form_call *c)
{
    tn_axes_attr a = {c->a.ints, c->a.x, c->a.y};
    const tn_type *x = form_type(c, c->in[0]), *m = form_type(c, c->in[1]), *t;
    if (!x || !m || x->n != m->n)
        return form_refuse(c, "needs a mean that keeps its dimensions");
    tn_value d = form_make2(c, &tn_op_subtract, c->in[0], c->in[1]);
    tn_value v = form_make1(c, &tn_op_mean, &a, form_make2(c, &tn_op_multiply, d, d));
    if (!c->a.z || !(t = form_type(c, v)))
        return v;
    if (!tn_dtype_is_float(x->dtype))
        return form_refuse(c, "with unbiased=True needs floats");
    double n = 1, left = 1;
    int64_t extent;
    for (int i = 0; i < x->n + t->n; i++) {
        if (!tn_is_int(i < x->n ? x->dim[i] : t->dim[i - x->n], &extent))
            return form_refuse(c, "with unbiased=True needs known extents");
        *(i < x->n ? &n : &left) *= (double)extent;
    }
    n /= left;
    return form_make2(c, &tn_op_multiply, v, form_number(c, t->dtype, n / (n - 1)));
}

/* argsort, sort */
static tn_value sort(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    int64_t axis = t ? form_axis(c, c->a.axis, t->n) : 0;
    bool positions = strcmp(c->name, "argsort") == 0;
    if (c->bad)
        return (tn_value){0};
    tn_topk_attr a = {tn_dims_make(c->p->g->arena, 1, &t->dim[axis]), axis, c->a.x,
                      positions ? c->a.dtype : TN_I64};
    tn_value v = form_make1(c, &tn_op_topk, &a, c->in[0]);
    return c->bad ? v : (tn_value){v.def, positions};
}

/* ---- the logarithm of a sum of exponentials ---- */

static tn_value logsumexp(form_call *c)
{
    tn_axes_attr a = {c->a.ints, true, c->a.y};
    tn_value most = form_make1(c, &tn_op_max, &a, c->in[0]);
    const tn_type *t = form_type(c, most);
    if (!t)
        return (tn_value){0};
    tn_value finite = form_make1(c, &tn_op_isfinite, NULL, most);
    most = form_where(c, finite, most, form_number(c, t->dtype, 0));
    tn_value s = form_make1(c, &tn_op_exp, NULL, form_make2(c, &tn_op_subtract, c->in[0], most));
    a.keepdims = c->a.x;
    s = form_make1(c, &tn_op_log, NULL, form_make1(c, &tn_op_sum, &a, s));
    most = c->a.x ? most : form_make1(c, &tn_op_max, &a, most);
    return form_make2(c, &tn_op_add, s, most);
}

/* ---- by indices ---- */

/* round(x): ties away from zero */
static tn_value round_away(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    if (!t || !tn_dtype_is_float(t->dtype))
        return c->in[0];
    tn_value whole = form_make1(c, &tn_op_trunc, NULL, c->in[0]);
    tn_value rest = form_make1(c, &tn_op_abs, NULL, form_make2(c, &tn_op_subtract, c->in[0], whole));
    tn_value far = form_make2(c, &tn_op_greater_equal, rest, form_number(c, t->dtype, 0.5));
    tn_value next = form_make2(c, &tn_op_add, whole, form_make1(c, &tn_op_sign, NULL, c->in[0]));
    return form_where(c, far, next, whole);
}

/* Indices whose first dimension is a position, with that as the last one. */
static tn_value turned(form_call *c, tn_value at)
{
    const tn_type *t = form_type(c, at);
    int64_t order[FORM_MAX_RANK];
    for (int d = 0; t && d < t->n; d++)
        order[d] = d + 1 < t->n ? d + 1 : 0;
    if (t && !t->n)
        return form_refuse(c, "needs indices of a dimension");
    return t && t->n > 1 ? form_transposed(c, at, (uint32_t)t->n, order) : at;
}

static tn_value gather_nd(form_call *c)
{
    tn_gather_nd_attr a = {c->a.axis};
    tn_value at = turned(c, c->in[1]);
    return form_make(c, &tn_op_gather_nd, &a, 2, (const tn_value[]){c->in[0], at});
}

static tn_value scatter_nd(form_call *c)
{
    tn_scatter_attr a = {.reduction = c->a.s};
    tn_value at = turned(c, c->in[1]);
    return form_make(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){c->in[0], at, c->in[2]});
}

/* scatter, scatter_add */
static tn_value scatter(form_call *c)
{
    tn_scatter_attr a = {c->a.axis, strcmp(c->name, "scatter") == 0 ? "update" : "add"};
    return form_make(c, &tn_op_scatter_elements, &a, 3, c->in);
}

/* adv_index(data, i, j, ...): the elements data[i, j, ...], the indices broadcast. */
static tn_value adv_index(form_call *c)
{
    tn_value *at = TN_NEW_N(&c->p->scratch, tn_value, c->n), none = {0};
    const tn_type *t = form_type(c, c->in[0]);
    if (!t || c->n < 2 || (int)c->n - 1 > t->n)
        return c->bad ? none : form_refuse(c, "needs an index for each of the first dimensions");
    for (uint32_t i = 1; i < c->n; i++) {
        tn_value place = form_cast(c, c->in[i], TN_I64);
        tn_value zero = form_make2(c, &tn_op_multiply, place, form_number(c, TN_I64, 0));
        none = none.def ? form_make2(c, &tn_op_add, none, zero) : zero;
    }
    const tn_type *shape = form_type(c, none);
    for (uint32_t i = 1; i < c->n && shape; i++)
        at[i - 1] =
            form_expanded(c, form_make2(c, &tn_op_add, form_cast(c, c->in[i], TN_I64), none), shape->n);
    tn_axis_attr a = {shape ? shape->n : 0};
    tn_gather_nd_attr nd = {0};
    tn_value all = c->n == 2 || c->bad ? at[0] : form_make(c, &tn_op_concatenate, &a, (int)c->n - 1, at);
    return form_make(c, &tn_op_gather_nd, &nd, 2, (const tn_value[]){c->in[0], all});
}

/* 0, 1, ... along an axis of `rank` dimensions, as many as the axis has. */
static tn_value places(form_call *c, const tn_expr *extent, int64_t axis, int rank)
{
    const tn_expr *dim[FORM_MAX_RANK];
    tn_arange_attr a = {tn_dims_make(c->p->g->arena, 1, &extent)};
    for (int i = 0; i < rank; i++)
        dim[i] = i == axis ? extent : form_idx(c, 1);
    tn_value from[2] = {form_number(c, TN_I64, 0), form_number(c, TN_I64, 1)};
    return form_reshaped(c, form_make(c, &tn_op_arange, &a, 2, from), (uint32_t)rank, dim);
}

static tn_value invert_permutation(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    tn_scatter_attr a = {0, "update"};
    if (!t || t->n != 1)
        return c->bad ? (tn_value){0} : form_refuse(c, "needs a list of places");
    tn_value ordered = form_cast(c, places(c, t->dim[0], 0, 1), t->dtype);
    return form_make(c, &tn_op_scatter_elements, &a, 3, (const tn_value[]){c->in[0], c->in[0], ordered});
}

/* searchsorted(borders, values): how many borders are below each value; with right=True, or equal to it. */
static tn_value searchsorted(form_call *c)
{
    const tn_type *b = form_type(c, c->in[0]), *v = form_type(c, c->in[1]);
    const tn_expr *dim[FORM_MAX_RANK + 1];
    if (!b || !v || b->n < 1 || (b->n > 1 && b->n != v->n))
        return c->bad ? (tn_value){0}
                      : form_refuse(c, "needs a list of borders, or one for each row of values");
    for (int i = 0; i < b->n; i++)
        dim[i < b->n - 1 ? i : b->n] = b->dim[i];
    dim[b->n - 1] = form_idx(c, 1);
    tn_value borders = b->n == 1 ? c->in[0] : form_reshaped(c, c->in[0], (uint32_t)b->n + 1, dim);
    tn_value values = form_expanded(c, c->in[1], v->n);
    tn_value below = form_make2(c, c->a.x ? &tn_op_less_equal : &tn_op_less, borders, values);
    return form_cast(c, form_reduced(c, &tn_op_sum, form_cast(c, below, TN_I64), -1, false), c->a.dtype);
}

/* What stands behind the length of each sequence becomes the mask's value. */
static tn_value sequence_mask(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]), *n = form_type(c, c->in[1]);
    const tn_expr *dim[FORM_MAX_RANK];
    if (!t || !n || t->n < 2 || n->n != 1 || (c->a.axis != 0 && c->a.axis != 1))
        return c->bad ? (tn_value){0}
                      : form_refuse(c, "needs sequences along axis 0 or 1, and a length for each of them");
    for (int i = 0; i < t->n; i++)
        dim[i] = i == 1 - c->a.axis ? n->dim[0] : form_idx(c, 1);
    tn_value length = form_reshaped(c, form_cast(c, c->in[1], TN_I64), (uint32_t)t->n, dim);
    tn_value inside = form_make2(c, &tn_op_less, places(c, t->dim[c->a.axis], c->a.axis, t->n), length);
    return form_where(c, inside, c->in[0], form_number(c, t->dtype, c->a.a));
}

/* unravel_index(places, shape): [dimensions, places...] */
static tn_value unravel_index(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]), *s = form_type(c, c->in[1]);
    int64_t n = 0;
    if (!t || !s || s->n != 1 || !tn_is_int(s->dim[0], &n) || n < 1 || n > FORM_MAX_RANK)
        return c->bad ? (tn_value){0} : form_refuse(c, "needs a shape of known rank");
    tn_value part[FORM_MAX_RANK], left = form_cast(c, c->in[0], TN_I64);
    const tn_axis_attr first = {0};
    for (int64_t d = n - 1; d >= 0; d--) {
        tn_value extent = form_sliced(c, c->in[1], 0, d, d + 1, 1);
        extent = form_cast(c, form_reshaped(c, extent, 0, NULL), TN_I64);
        tn_value next = form_make2(c, &tn_op_floor_divide, left, extent);
        part[d] = form_make2(c, &tn_op_subtract, left, form_make2(c, &tn_op_multiply, next, extent));
        part[d] = form_expanded(c, part[d], 0);
        left = next;
    }
    return form_cast(c, form_make(c, &tn_op_concatenate, &first, (int)n, part), t->dtype);
}

/* sparse_to_dense(indices, values, default): indices [], [n] or [n, dimensions] */
tn_value form_sparse_to_dense(form_call *c, tn_dims shape)
{
    const tn_type *at = form_type(c, c->in[0]), *v = form_type(c, c->in[1]);
    const tn_expr *one = form_idx(c, 1);
    if (!at || !v || at->n > 2 || v->n > 1)
        return c->bad ? (tn_value){0} : form_refuse(c, "needs a list of indices, and of values");
    const tn_expr *rows[2] = {at->n ? at->dim[0] : one, at->n > 1 ? at->dim[1] : one};
    tn_value rest = c->n > 2 ? form_cast(c, c->in[2], v->dtype) : form_number(c, v->dtype, 0);
    tn_value to = form_filled(c, rest, shape.n, shape.at);
    tn_value place = form_cast(c, form_reshaped(c, c->in[0], 2, rows), TN_I64);
    const tn_scatter_attr update = {.reduction = "update"};
    return form_make(c, &tn_op_scatter_nd, &update, 3,
                     (const tn_value[]){to, place, form_filled(c, c->in[1], 1, rows)});
}

static tn_value sparse_to_dense(form_call *c) { return form_sparse_to_dense(c, c->a.dims); }

static tn_value fixed_point_multiply(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    const bool fits = c->a.j >= -31 && c->a.j <= 30 && c->a.i >= -INT32_MAX && c->a.i <= INT32_MAX;
    const int64_t right = fits ? 31 - c->a.j : 1;
    if (!t || !tn_dtype_is_int(t->dtype) || !fits)
        return c->bad ? (tn_value){0} : form_refuse(c, "needs integers, and a shift from -31 to 30");
    tn_value x = form_cast(c, c->in[0], TN_I64), by = form_integer(c, c->a.i);
    x = form_make2(c, &tn_op_multiply, x, by);
    x = form_make2(c, &tn_op_add, x, form_integer(c, (int64_t)1 << (right - 1)));
    return form_cast(c, form_make2(c, &tn_op_floor_divide, x, form_integer(c, (int64_t)1 << right)),
                     t->dtype);
}

/* ---- of several tensors ---- */

static tn_value meshgrid(form_call *c)
{
    const tn_expr *dim[FORM_MAX_RANK], *one[FORM_MAX_RANK];
    tn_value *out = TN_NEW_N(&c->p->scratch, tn_value, c->n);
    bool turned = strcmp(c->a.s, "xy") == 0 && c->n > 1;
    if (c->n > FORM_MAX_RANK)
        return form_refuse(c, "has too many operands");
    if (strcmp(c->a.s, "ij") != 0 && strcmp(c->a.s, "xy") != 0)
        return form_refuse(c, "needs indexing ij or xy");
    for (uint32_t i = 0; i < c->n; i++) {
        const tn_type *t = form_type(c, c->in[i]);
        if (!t || t->n > 1)
            return c->bad ? (tn_value){0} : form_refuse(c, "needs lists");
        one[i] = form_idx(c, 1);
        dim[turned && i < 2 ? 1 - i : i] = t->n ? t->dim[0] : form_idx(c, 1);
    }
    for (uint32_t i = 0; i < c->n && !c->bad; i++) {
        uint32_t axis = turned && i < 2 ? 1 - i : i;
        one[axis] = dim[axis];
        out[i] = form_filled(c, form_reshaped(c, c->in[i], c->n, one), c->n, dim);
        one[axis] = form_idx(c, 1);
    }
    return form_several(c, c->n, out);
}

static tn_value ndarray_size(form_call *c)
{
    tn_cast_attr a = {c->a.dtype};
    return form_reduced(c, &tn_op_prod, form_make1(c, &tn_op_shape_of, &a, c->in[0]), 0, false);
}

/* ---- tables ---- */

/* clang-format off */
static const tn_attr_field
    no_attrs[] = {FORM_END},
    axis_last[] = {FORM_ATTR(I64, "axis", axis, "-1"), FORM_END},
    axis_first[] = {FORM_ATTR(I64, "axis", axis, "0"), FORM_END},
    rate[] = {FORM_ATTR(F64, "rate", a, "0.5"), FORM_END},
    filling[] = {FORM_ATTR(DIMS, "shape", dims, "None"), FORM_ATTR(DTYPE, "dtype", dtype, "\"\""), FORM_END},
    typing[] = {FORM_ATTR(DTYPE, "dtype", dtype, "\"\""), FORM_END},
    axes_only[] = {FORM_ATTR(INTS, "axes", ints, "None"), FORM_END},
    splitting[] = {FORM_ATTR(INTS, "indices_or_sections", ints, NULL), FORM_ATTR(I64, "axis", axis, "0"), FORM_END},
    repeating[] = {FORM_ATTR(I64, "repeats", number, NULL), FORM_ATTR(I64, "axis", axis, "0"), FORM_END},
    reshaping[] = {FORM_ATTR(DIMS, "newshape", dims, NULL), FORM_ATTR(BOOL, "allowzero", x, "False"), FORM_END},
    layouts[] = {FORM_ATTR(STR, "src_layout", s, NULL), FORM_ATTR(STR, "dst_layout", t, NULL), FORM_END},
    reducing[] = {FORM_ATTR(INTS, "axis", ints, "None"), FORM_ATTR(BOOL, "keepdims", x, "False"),
                  FORM_ATTR(BOOL, "exclude", y, "False"), FORM_ATTR(BOOL, "unbiased", z, "False"), FORM_END},
    sorting[] = {FORM_ATTR(I64, "axis", axis, "-1"), FORM_ATTR(BOOL, "is_ascend", x, "True"),
                 FORM_ATTR(DTYPE, "dtype", dtype, "\"int32\""), FORM_END},
    searching[] = {FORM_ATTR(BOOL, "right", x, "False"), FORM_ATTR(DTYPE, "dtype", dtype, "\"int32\""), FORM_END},
    masking[] = {FORM_ATTR(F64, "mask_value", a, "0"), FORM_ATTR(I64, "axis", axis, "0"), FORM_END},
    indexing[] = {FORM_ATTR(STR, "indexing", s, "\"ij\""), FORM_END},
    sizing[] = {FORM_ATTR(DTYPE, "dtype", dtype, "\"int32\""), FORM_END},
    shape_ranges[] = {FORM_ATTR(I64, "lhs_begin", axis, "0"), FORM_ATTR(I64, "lhs_end", number, "9223372036854775807"),
                      FORM_ATTR(I64, "rhs_begin", i, "0"), FORM_ATTR(I64, "rhs_end", j, "9223372036854775807"),
                      FORM_END},
    fixed_point[] = {FORM_ATTR(I64, "multiplier", i, NULL), FORM_ATTR(I64, "shift", j, NULL), FORM_END},
    dense_shape[] = {FORM_ATTR(DIMS, "output_shape", dims, NULL), FORM_END},
    parts[] = {FORM_ATTR(I64, "batch_dims", axis, "0"), FORM_ATTR(I64, "index_rank", number, "0"), FORM_END},
    writing[] = {FORM_ATTR(STR, "mode", s, "\"update\""), FORM_END};

const form form_rows_tensor[] = {
    {"copy", 1, 1, same, no_attrs, "The tensor."},
    {"device_copy", 1, 1, same, no_attrs, "The tensor."},
    {"on_device", 1, 1, same, no_attrs, "The tensor."},
    {"annotation.stop_fusion", 1, 1, same, no_attrs, "The tensor."},
    {"annotation.cast_hint", 1, 1, same, no_attrs, "The tensor."},
    {"annotation.checkpoint", 1, 1, same, no_attrs, "The tensor."},
    {"annotation.compiler_begin", 1, 1, same, no_attrs, "The tensor."},
    {"annotation.compiler_end", 1, 1, same, no_attrs, "The tensor."},
    {"fast_exp", 1, 1, fast, no_attrs, "exp."},
    {"fast_tanh", 1, 1, fast, no_attrs, "tanh."},
    {"fast_erf", 1, 1, fast, no_attrs, "erf."},
    {"nn.fast_softmax", 1, 1, fast, axis_last, "nn.softmax."},
    {"log2", 1, 1, log_of, no_attrs, "The logarithm to base 2."},
    {"log10", 1, 1, log_of, no_attrs, "The logarithm to base 10."},
    {"trunc_mod", 2, 2, trunc_mod, no_attrs, "The remainder of division toward zero."},
    {"nn.dropout", 1, 1, dropout, rate, "The tensor, and ones for its mask: dropout is for training."},
    {"zeros", 0, 0, fill, filling, "A tensor of zeros."},
    {"ones", 0, 0, fill, filling, "A tensor of ones."},
    {"full", 1, 1, fill, filling, "A tensor whose elements are all one value."},
    {"zeros_like", 1, 1, fill, no_attrs, "Zeros in the shape and type of a tensor."},
    {"ones_like", 1, 1, fill, no_attrs, "Ones in the shape and type of a tensor."},
    {"full_like", 2, 2, fill, no_attrs, "One value in the shape and type of a tensor."},
    {"arange", 3, 3, arange, typing, "start, start + step, ... below stop."},
    {"cast_like", 2, 2, like, no_attrs, "A tensor in the type of another."},
    {"broadcast_to_like", 2, 2, like, no_attrs, "A tensor broadcast to the shape of another."},
    {"reshape_like", 2, 2, like, shape_ranges, "The elements of a tensor in the shape of another."},
    {"slice_like", 2, 2, like, axes_only, "The first elements along each axis, as many as another tensor has."},
    {"split", 1, 1, split, splitting, "Parts of a tensor along an axis."},
    {"stack", 1, 0, stack, axis_first, "Tensors along a new axis."},
    {"reverse", 1, 1, reverse, axis_first, "The elements of an axis in reverse order."},
    {"repeat", 1, 1, repeat, repeating, "Each element of an axis several times."},
    {"contrib_reverse_reshape", 1, 1, form_reverse_reshape, reshaping,
     "reshape by a newshape that is read from its end."},
    {"layout_transform", 1, 1, layout_transform, layouts, "The data in another order of dimensions."},
    {"all", 1, 1, all_any, reducing, "Whether all elements along the axes hold."},
    {"any", 1, 1, all_any, reducing, "Whether an element along the axes holds."},
    {"variance", 2, 2, variance, reducing, "The variance along the axes, given the mean."},
    {"argsort", 1, 1, sort, sorting, "The places of the elements of an axis in their order."},
    {"sort", 1, 1, sort, sorting, "The elements of an axis in order."},
    {"logsumexp", 1, 1, logsumexp, reducing, "The logarithm of the sum of exponentials along the axes."},
    {"round", 1, 1, round_away, no_attrs, "To whole numbers, ties away from zero."},
    {"gather_nd", 2, 2, gather_nd, parts,
     "Parts of data, each at the position that a column of indices (the first dimension) names."},
    {"scatter_nd", 3, 3, scatter_nd, writing,
     "data with parts replaced at the positions that the columns of indices name."},
    {"scatter", 3, 3, scatter, axis_first, "data with updates put where indices say along one axis, in order."},
    {"scatter_add", 3, 3, scatter, axis_first, "data with updates added where indices say along one axis."},
    {"adv_index", 1, 0, adv_index, no_attrs,
     "The elements data[i, j, ...] of a tensor, for indices that are broadcast."},
    {"invert_permutation", 1, 1, invert_permutation, no_attrs, "Where each place has gone."},
    {"searchsorted", 2, 2, searchsorted, searching, "Where values would be put into ordered borders."},
    {"sequence_mask", 2, 2, sequence_mask, masking, "Sequences whose elements behind their lengths are one value."},
    {"meshgrid", 1, 0, meshgrid, indexing, "Lists as coordinates of a grid, a tensor for each of them."},
    {"unravel_index", 2, 2, unravel_index, no_attrs, "The index along each dimension of a shape, of places in a row."},
    {"sparse_to_dense", 2, 3, sparse_to_dense, dense_shape, "A tensor of one value, with values at the indices given."},
    {"fixed_point_multiply", 1, 1, fixed_point_multiply, fixed_point,
     "data * multiplier * 2^(shift - 31), rounded, ties up."},
    {"ndarray_size", 1, 1, ndarray_size, sizing, "The number of elements."},
    {0},
};
/* clang-format on */
