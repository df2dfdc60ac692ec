/* What passes may ask of simple operators: values that are the same and simpler, where factors may go, how an operator
 * looks over data that has not been transposed.
 *
 * Every rewrite is exact, for -0, infinities and NaN too (NaN payloads aside), but one: two constant factors
 * become one. Rewrites that move a transpose or a reshape behind an elementwise operator let that operator
 * join the kernel of what it reads; those that meet there cancel.
 */
#include "op/rule.h"

#include "ir/eval.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

static tn_value call(tn_graph *g, tn_node *n, const tn_op *op, int nin, const tn_value in[], const void *attr)
{
    return tn_val(tn_make_call(g, n->owner, n, op, nin, in, attr, n->loc));
}

static tn_status done(tn_value v, tn_value *out)
{
    *out = v;
    return v.def ? TN_OK : TN_FAIL;
}

static bool is_constant(tn_value v) { return v.def && v.def->op == &tn_op_constant && v.def->blob; }

bool tn_rule_uniform(tn_value v, double *out)
{
    const tn_type *t = tn_value_type(v);
    if (!is_constant(v) || t->layout || tn_dtype_bytes(t->dtype) > 8 || t->dtype.lanes != 1)
        return false;
    size_t size = tn_dtype_bytes(t->dtype), n = v.def->blob->n;
    const char *at = v.def->blob->at;
    if (n < size || !at)
        return false;
    for (size_t i = size; i + size <= n; i += size)
        if (memcmp(at, at + i, size) != 0)
            return false;
    tn_scalar s = tn_scalar_read(t->dtype, at);
    *out = tn_dtype_is_float(t->dtype) ? s.f : (double)s.i;
    return tn_dtype_is_float(t->dtype) || (s.i < (1ll << 53) && s.i > -(1ll << 53));
}

static bool same_dims(const tn_type *a, const tn_type *b)
{
    return a->n == b->n && (!a->n || memcmp(a->dim, b->dim, a->n * sizeof *a->dim) == 0);
}

tn_status tn_simplify_same_type(tn_graph *g, tn_node *n, tn_value *out)
{
    (void)g;
    if (tn_type_eq(tn_in_type(n, 0), n->type[0]))
        *out = tn_in(n, 0);
    return TN_OK;
}

/* ---- neutral operands ---- */

static const struct {
    const tn_op *op;
    int side; /* the operand that is neutral */
    double value;
    bool negative_zero; /* for floats it is -0: x + 0 turns -0 into 0, x + -0 does not */
} neutral[] = {
    {&tn_op_multiply, 0, 1, false},    {&tn_op_multiply, 1, 1, false},    {&tn_op_divide, 1, 1, false},
    {&tn_op_add, 0, 0, true},          {&tn_op_add, 1, 0, true},          {&tn_op_subtract, 1, 0, false},
    {&tn_op_logical_and, 0, 1, false}, {&tn_op_logical_and, 1, 1, false}, {&tn_op_logical_or, 0, 0, false},
    {&tn_op_logical_or, 1, 0, false},
};

static bool is_neutral(const tn_node *n, size_t row, double value)
{
    bool is_float = tn_dtype_is_float(n->type[0]->dtype);
    if (n->op != neutral[row].op || value != neutral[row].value)
        return false;
    return !is_float || value != 0 || (signbit(value) != 0) == neutral[row].negative_zero;
}

static bool drop_neutral(const tn_node *n, tn_value *out)
{
    for (size_t r = 0; r < sizeof neutral / sizeof *neutral; r++) {
        double v;
        if (n->op != neutral[r].op || !tn_rule_uniform(tn_in(n, neutral[r].side), &v) || !is_neutral(n, r, v))
            continue;
        tn_value rest = tn_in(n, 1 - neutral[r].side);
        if (rest.def && tn_type_eq(tn_value_type(rest), n->type[0])) {
            *out = rest;
            return true;
        }
    }
    return false;
}

/* ---- twice the same ---- */

static bool collapse_twice(const tn_node *n, tn_value *out)
{
    static const tn_op *const involution[] = {&tn_op_negative, &tn_op_logical_not};
    static const tn_op *const idempotent[] = {&tn_op_nn_relu, &tn_op_abs, &tn_op_floor, &tn_op_ceil,
                                              &tn_op_round};
    const tn_node *d = n->in[0].def;
    if (n->nin != 1 || !d || d->op != n->op)
        return false;
    for (size_t i = 0; i < sizeof involution / sizeof *involution; i++)
        if (n->op == involution[i]) {
            *out = tn_in(d, 0);
            return true;
        }
    for (size_t i = 0; i < sizeof idempotent / sizeof *idempotent; i++)
        if (n->op == idempotent[i]) {
            *out = tn_in(n, 0);
            return true;
        }
    return false;
}

/* ---- constants ---- */

/* A constant of equal elements that the other operands' shape repeats anyway is a scalar. */
static tn_status shrink_uniform(tn_graph *g, tn_node *n, tn_value *out)
{
    for (int i = 0; i < n->nin; i++) {
        double v;
        bool covered = false;
        for (int k = 0; k < n->nin; k++) {
            const tn_type *t = tn_in_type(n, k);
            covered |= k != i && same_dims(t, n->type[0]);
        }
        if (!covered || n->in[i].def->type[0]->n == 0 || !tn_rule_uniform(tn_in(n, i), &v))
            continue;
        tn_value in[3];
        TN_ASSERT(n->nin <= 3);
        for (int k = 0; k < n->nin; k++)
            in[k] = tn_in(n, k);
        in[i] = tn_val(tn_make_constant(g, n->owner, n, tn_in_type(n, i)->dtype, 0, NULL,
                                        n->in[i].def->blob->at, n->in[i].def->name));
        return done(call(g, n, n->op, n->nin, in, n->attr), out);
    }
    return TN_OK;
}

/* (x * a) * b with scalars a, b is x * (a * b), where that product is an ordinary number. */
static tn_status join_factors(tn_graph *g, tn_node *n, tn_value *out)
{
    for (int i = 0; i < 2 && n->op == &tn_op_multiply; i++) {
        tn_value inner = tn_in(n, 1 - i);
        double a, b;
        if (!inner.def || inner.def->op != n->op || tn_value_n_uses(inner) != 1 ||
            !tn_rule_uniform(tn_in(n, i), &b))
            continue;
        for (int k = 0; k < 2; k++) {
            tn_dtype t = n->type[0]->dtype;
            if (!tn_dtype_is_float(t) || t.bits != 32 || tn_in_type(n, i)->n || tn_in_type(inner.def, k)->n ||
                !tn_rule_uniform(tn_in(inner.def, k), &a) || !isnormal((float)(a * b)))
                continue;
            tn_value in[2] = {tn_in(inner.def, 1 - k), tn_val(tn_make_scalar(g, n->owner, n, t, a * b))};
            return done(call(g, n, n->op, 2, in, NULL), out);
        }
    }
    return TN_OK;
}

/* ---- moving transposes and reshapes behind an operator ---- */

/* A reshape that moves dimensions of extent 1 only, as a transpose; false: it is none, or moves nothing. */
static bool moves_as(const tn_node *reshape, int64_t axes[])
{
    const tn_type *from = tn_in_type(reshape, 0), *to = reshape->type[0];
    int units = 0, others = 0;
    bool moves = false;
    for (int i = 0; i < to->n && from->n == to->n; i++) {
        bool unit = tn_is_value(to->dim[i], 1);
        int *k = unit ? &units : &others;
        while (*k < from->n && tn_is_value(from->dim[*k], 1) != unit)
            ++*k;
        if (*k == from->n || from->dim[*k] != to->dim[i])
            return false;
        moves |= *k != i;
        axes[i] = (*k)++;
    }
    return moves;
}

static tn_value permuted(tn_graph *g, tn_node *n, tn_value v, int rank, const int64_t axes[])
{
    tn_transpose_attr a = {tn_ints_make(g->arena, (uint32_t)rank, axes)};
    return v.def ? call(g, n, &tn_op_transpose, 1, &v, &a) : v;
}

/* Would transposing a value of this type, with dimensions of 1 before the first, move dimensions of extent 1 only? */
static bool moves_units(const tn_type *t, int rank, const int64_t axes[])
{
    int64_t last = -1;
    for (int i = 0; i < rank; i++) {
        int64_t from = axes[i] - (rank - t->n);
        if (from < 0 || tn_is_value(t->dim[from], 1))
            continue;
        if (from < last)
            return false;
        last = from;
    }
    return true;
}

/* Do all who read v take it as it was before a transpose, so that the transpose goes? */
static bool all_sink(tn_value v)
{
    for (const tn_use *u = v.def->users[v.out]; u; u = u->next)
        if (!u->user ||
            !(u->user->op->permute || u->user->op == v.def->op || u->user->op->fuse == TN_FUSE_REDUCE))
            return false;
    return true;
}

bool tn_rule_sinks(tn_value v, int64_t axes[TN_RULE_MAX_RANK])
{
    bool turns = v.def && v.def->op == &tn_op_transpose;
    if (!turns && !(v.def && v.def->op == &tn_op_reshape && moves_as(v.def, axes)))
        return false;
    if (turns) {
        const tn_ints *a = &((const tn_transpose_attr *)v.def->attr)->axes;
        memcpy(axes, a->at, a->n * sizeof *axes);
    }
    return tn_value_n_uses(v) == 1 || all_sink(v);
}

static void inverse(int rank, const int64_t axes[], int64_t back[])
{
    for (int i = 0; i < rank; i++)
        back[axes[i]] = i;
}

/* Is v what a transpose by these axes gives, and may it be read as it was before? */
static bool sinks_by(tn_value v, int rank, const int64_t axes[])
{
    int64_t own[TN_RULE_MAX_RANK];
    return v.def && tn_value_type(v)->n == rank && tn_rule_sinks(v, own) &&
           memcmp(own, axes, (size_t)rank * sizeof *axes) == 0;
}

/* The transpose (or a reshape that is one) whose like all operands are, but for constants and those that transposing
 * would only reshape: its axes. A reshape stands for a transpose only where the result is a reshape again. */
static bool common_transpose(const tn_node *n, int64_t axes[])
{
    int64_t back[TN_RULE_MAX_RANK];
    int rank = n->type[0]->n;
    bool found = false;
    for (int reshapes = 0; reshapes < 2 && !found; reshapes++)
        for (int i = 0; i < n->nin && !found; i++) {
            const tn_op *op = reshapes ? &tn_op_reshape : &tn_op_transpose;
            tn_value v = tn_in(n, i);
            found = v.def && v.def->op == op && tn_value_type(v)->n == rank && tn_rule_sinks(v, axes);
            if (found)
                inverse(rank, axes, back);
            found = found && (!reshapes || moves_units(n->type[0], rank, back));
        }
    for (int i = 0; i < n->nin && found; i++) {
        tn_value v = tn_in(n, i);
        bool spreads = n->op->flags & TN_OP_BROADCASTS, full = v.def && tn_value_type(v)->n == rank;
        if (!v.def || is_constant(v) || (!full && !spreads) || sinks_by(v, rank, axes))
            continue;
        found = spreads && moves_units(tn_value_type(v), rank, back);
    }
    return found;
}

tn_status tn_sink_transpose(tn_graph *g, tn_node *n, tn_value *out)
{
    int rank = n->nout == 1 ? n->type[0]->n : 0;
    int64_t axes[TN_RULE_MAX_RANK], back[TN_RULE_MAX_RANK];
    _Alignas(16) char attr[256] = {0};
    if (n->nout != 1 || !n->op->permute || n->op->attr_size > sizeof attr || !common_transpose(n, axes))
        return TN_OK;
    if (n->op->attr_size)
        memcpy(attr, n->attr, n->op->attr_size);
    if (!n->op->permute(g, n, axes, attr))
        return TN_OK;
    inverse(rank, axes, back);
    tn_value *in = TN_NEW_N(g->arena, tn_value, n->nin);
    for (int i = 0; i < n->nin; i++) {
        tn_value v = tn_in(n, i);
        int r = v.def ? tn_value_type(v)->n : 0;
        in[i] = v;
        if (!v.def || r == 0 || (r < rank && !(n->op->flags & TN_OP_BROADCASTS)))
            continue;
        if (sinks_by(v, rank, axes)) {
            in[i] = tn_in(v.def, 0);
            continue;
        }
        if (r < rank)
            in[i] = call(g, n, &tn_op_expand_dims, 1, &v, &(tn_expand_dims_attr){0, rank - r});
        in[i] = permuted(g, n, in[i], rank, back);
    }
    tn_value y = call(g, n, n->op, n->nin, in, n->op->attr_size ? attr : NULL);
    return done(permuted(g, n, y, rank, axes), out);
}

static int leading_ones(const tn_type *t)
{
    int n = 0;
    while (n < t->n && tn_is_value(t->dim[n], 1))
        n++;
    return n;
}

/* Do the last k dimensions of two types agree, k being the rank of the third without its first `lead` ones? */
static bool keeps_tail(const tn_type *a, const tn_type *b, const tn_type *small, int lead)
{
    for (int i = 1; i <= small->n - lead; i++)
        if (i > a->n || i > b->n || a->dim[a->n - i] != b->dim[b->n - i])
            return false;
    return true;
}

/* v in another shape, of which a reshape or what the run has checked says that it has as many elements. */
static tn_value reshaped(tn_graph *g, tn_node *n, tn_value v, const tn_type *to)
{
    tn_reshape_attr a = {.newshape = {to->n, to->dim}, .allowzero = true};
    tn_extent_attr dyn;
    return tn_reshape_known(g, n->owner, v, &a, n->loc, &dyn.extent)
               ? call(g, n, &tn_op_reshape, 1, &v, &a)
               : call(g, n, &tn_op_dyn_reshape, 1, &v, &dyn);
}

/* f(reshape(x)) is reshape(f(x)) where f's other operands do not see the difference. */
static tn_status sink_reshape(tn_graph *g, tn_node *n, tn_value *out)
{
    const tn_type *inner = NULL;
    tn_value in[3];
    int lead[3] = {0};
    TN_ASSERT(n->nin <= 3);
    for (int i = 0; i < n->nin; i++) {
        tn_value v = in[i] = tn_in(n, i);
        if (v.def->op->flags & TN_OP_SHARES && tn_value_n_uses(v) == 1 &&
            same_dims(tn_value_type(v), n->type[0]) && (!inner || tn_type_eq(inner, tn_in_type(v.def, 0)))) {
            in[i] = tn_in(v.def, 0);
            inner = tn_value_type(in[i]);
        }
    }
    if (!inner || tn_type_dims_const(inner, NULL) != tn_type_dims_const(n->type[0], NULL))
        return TN_OK;
    for (int i = 0; i < n->nin; i++) {
        if (!tn_value_eq(in[i], tn_in(n, i)))
            continue;
        lead[i] = leading_ones(tn_value_type(in[i]));
        if (!keeps_tail(inner, n->type[0], tn_value_type(in[i]), lead[i]))
            return TN_OK;
    }
    for (int i = 0; i < n->nin; i++) {
        const tn_type *t = tn_value_type(in[i]);
        tn_reshape_attr r = {.newshape = {(uint32_t)(t->n - lead[i]), t->dim + lead[i]}, .allowzero = true};
        if (lead[i])
            in[i] = call(g, n, &tn_op_reshape, 1, &in[i], &r);
        if (!in[i].def)
            return TN_FAIL;
    }
    tn_value y = call(g, n, n->op, n->nin, in, n->attr);
    return y.def ? done(reshaped(g, n, y, n->type[0]), out) : TN_FAIL;
}

tn_status tn_simplify_formula(tn_graph *g, tn_node *n, tn_value *out)
{
    if (drop_neutral(n, out) || collapse_twice(n, out))
        return TN_OK;
    TN_TRY(shrink_uniform(g, n, out));
    if (!out->def)
        TN_TRY(join_factors(g, n, out));
    if (!out->def)
        TN_TRY(tn_sink_transpose(g, n, out));
    if (!out->def)
        TN_TRY(sink_reshape(g, n, out));
    return TN_OK;
}

/* ---- reshapes ---- */

tn_status tn_simplify_shares(tn_graph *g, tn_node *n, tn_value *out)
{
    tn_value v = tn_in(n, 0);
    if (tn_type_eq(tn_value_type(v), n->type[0])) {
        *out = v;
        return TN_OK;
    }
    for (int i = 0; i < n->type[0]->n; i++)
        if (tn_is_value(n->type[0]->dim[i], 0)) /* which a reshape would read as: keep the dimension */
            return TN_OK;
    if (!(v.def->op->flags & TN_OP_SHARES))
        return tn_reduce_keeping(g, n, v.def, out);
    v = tn_in(v.def, 0);
    return done(tn_type_eq(tn_value_type(v), n->type[0]) ? v : reshaped(g, n, v, n->type[0]), out);
}

/* ---- factors ---- */

enum tn_scale tn_scale_formula(const tn_node *n, bool forward, bool positive, int axis, int *other)
{
    static const tn_op *const pass[] = {&tn_op_nn_relu, &tn_op_nn_leaky_relu, &tn_op_nn_prelu, &tn_op_abs};
    (void)forward;
    *other = axis;
    if (n->op == &tn_op_multiply)
        return TN_SCALE_FACTOR;
    if (n->op == &tn_op_negative)
        return TN_SCALE_PASS;
    for (size_t i = 0; i < sizeof pass / sizeof *pass; i++)
        if (n->op == pass[i])
            return positive ? TN_SCALE_PASS : TN_SCALE_NONE;
    *other = -1;
    if (n->op == &tn_op_add || n->op == &tn_op_subtract)
        return TN_SCALE_SUM;
    return TN_SCALE_NONE;
}

enum tn_scale tn_scale_channels(const tn_node *n, bool forward, bool positive, int axis, int *other)
{
    (void)n;
    (void)forward;
    (void)positive;
    *other = axis;
    return axis == 1 ? TN_SCALE_PASS : TN_SCALE_NONE;
}

enum tn_scale tn_scale_largest(const tn_node *n, bool forward, bool positive, int axis, int *other)
{
    return positive ? tn_scale_channels(n, forward, positive, axis, other) : TN_SCALE_NONE;
}

/* ---- transposed data ---- */

bool tn_permute_elementwise(tn_graph *g, const tn_node *n, const int64_t axes[], void *attr)
{
    (void)g;
    (void)n;
    (void)axes;
    (void)attr;
    return true;
}

bool tn_permute_axis(tn_graph *g, const tn_node *n, const int64_t axes[], void *attr)
{
    tn_axis_attr *a = attr;
    (void)g;
    a->axis = axes[a->axis < 0 ? a->axis + n->type[0]->n : a->axis];
    return true;
}
