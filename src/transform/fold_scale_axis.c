/* FoldScaleAxis: constant factors along one axis (what is left of batch normalisation) go into constant weights.
 *
 *   backward   f(x, w) * s   becomes  f(x, w * s)    through what lies between f and the product
 *   forward    f(x * s, w)   becomes  f(x, w * s)    where every reader of the product takes them
 *
 * The records say what factors may pass (tn_scale): a sum passes them to its operands, largest values and
 * rectifiers let only positive ones by. First it is asked whether the whole way is open, then it is walked;
 * nothing is undone. A sum on a forward way, x * s + c, becomes (x + c / s) * s, so no factor may be 0 there.
 * A way is closed where a constant would leave the range of its type (fits), which in float16 is soon.
 * Only values with one reader are on a backward way. Depth is bounded by MAX_DEPTH; O(uses on the way) per
 * product.
 */
#include "ir/eval.h"
#include "transform/pass.h"

#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 32, MAX_READERS = 64 };

typedef struct scaler {
    tn_pass *p;
    tn_graph *g;
    tn_node *product;
    const tn_op *multiply;
    tn_dtype dtype;
    int64_t n; /* factors */
    const double *factor;
    bool positive, nonzero;
} scaler;

/* ---- factors ---- */

static bool is_constant(const tn_node *d) { return d && d->op == &tn_op_constant && !d->type[0]->layout; }

/* The one dimension of extent > 1 of a constant that multiplies t, as an axis of t; -1: none (a single factor);
 * -2: several. */
static int factor_axis(const tn_type *c, const tn_type *t)
{
    int axis = -1;
    if (c->n > t->n || !tn_type_dims_const(c, NULL))
        return -2;
    for (int i = 0; i < c->n; i++) {
        if (tn_is_value(c->dim[i], 1))
            continue;
        if (axis != -1 || c->dim[i] != t->dim[t->n - c->n + i])
            return -2;
        axis = t->n - c->n + i;
    }
    return axis;
}

enum use { WEIGHT, ADDEND, ADDEND_APART }; /* c * s, c * s, c / s */

/* May the channels of a constant, a weight or what is added, be multiplied by f? A weight that loses digits matters if
 * it is the largest of its channel. What is added after the factors has lost no more than the sum will; what is added
 * before them must leave room for the data, and its errors are multiplied. */
static bool in_range(tn_dtype t, tn_magnitude c, double f, enum use use)
{
    double largest = tn_dtype_largest(t), smallest = tn_dtype_smallest(t);
    f = fabs(f);
    if (use == ADDEND_APART)
        return f <= largest && f >= smallest && c.most * f <= largest / 64 &&
               (f >= 1 || c.least * f >= smallest);
    if (c.most <= 0 || f <= 0)
        return true;
    return c.most * f <= largest / 2 && (use == ADDEND || f >= 1 || c.most * f >= smallest);
}

/* Do the products of constant c and the factors stay in the range of their type? The factors stand along axis of c, or
 * all meet all of it if it has no such axis. A constant that was read without its data is believed. */
static bool fits(const scaler *s, const tn_node *c, int axis, enum use use)
{
    const tn_type *t = c->type[0];
    size_t size = tn_dtype_bytes(t->dtype);
    int64_t channels = 1, inner = 1, dim;
    if (!c->blob || !c->blob->at || !tn_dtype_is_float(t->dtype))
        return true;
    for (int i = t->n - 1; i > axis && axis >= 0; i--)
        inner *= tn_is_int(t->dim[i], &dim) ? dim : 1;
    if (axis >= 0 && axis < t->n && s->n > 1 && tn_is_value(t->dim[axis], s->n))
        channels = s->n;
    else
        inner = (int64_t)(c->blob->n / size);
    tn_magnitude *r = TN_NEW_N(s->p->scratch, tn_magnitude, channels);
    for (int64_t k = 0; k < channels; k++)
        r[k] = TN_MAGNITUDE;
    const char *at = c->blob->at, *end = at + c->blob->n;
    for (int64_t k = 0; at < end; at += (size_t)inner * size, k = (k + 1) % channels)
        tn_magnitude_add(&r[k], t->dtype, at, inner);
    for (int64_t i = 0; i < s->n; i++)
        if (!in_range(t->dtype, r[channels > 1 ? i : 0],
                      use == ADDEND_APART ? 1 / s->factor[i] : s->factor[i], use))
            return false;
    return true;
}

static bool read_factors(scaler *s, const tn_node *c)
{
    size_t size = tn_dtype_bytes(s->dtype), n = c->blob->n / size;
    double *f = TN_NEW_N(s->p->scratch, double, n);
    s->positive = s->nonzero = true;
    for (size_t i = 0; i < n; i++) {
        f[i] = tn_scalar_read(s->dtype, (const char *)c->blob->at + i * size).f;
        if (!isfinite(f[i]))
            return false;
        s->positive &= f[i] > 0;
        s->nonzero &= fabs(f[i]) > 0;
    }
    s->factor = f;
    s->n = (int64_t)n;
    return n > 0;
}

/* The factors (or their inverses) as a constant that broadcasts against rank dimensions, standing along axis. */
static tn_value factors(scaler *s, tn_node *before, int rank, int axis, bool inverse)
{
    int64_t dim[8];
    size_t size = tn_dtype_bytes(s->dtype);
    char *at = tn_arena_alloc(s->p->scratch, (size_t)s->n * size, 16);
    for (int64_t i = 0; i < s->n; i++)
        tn_scalar_write(
            s->dtype, at + (size_t)i * size,
            tn_eval_cast(TN_F64, s->dtype, (tn_scalar){.f = inverse ? 1 / s->factor[i] : s->factor[i]}));
    for (int i = 0; i < rank - axis; i++)
        dim[i] = i ? 1 : s->n;
    return tn_val(
        tn_make_constant(s->g, before->owner, before, s->dtype, s->n == 1 ? 0 : rank - axis, dim, at, NULL));
}

/* Operand i of n is multiplied by the factors along its axis; the new product stands before n, in time for all. */
static tn_status scale_operand(scaler *s, tn_node *n, int i, int rank, int axis, bool inverse)
{
    tn_value in[2] = {tn_in(n, i), factors(s, n, rank, axis, inverse)};
    tn_node *y = tn_make_call(s->g, n->owner, n, s->multiply, 2, in, NULL, s->product->loc);
    if (!y)
        return TN_FAIL;
    tn_use_set(s->g, &n->in[i], tn_val(y));
    return TN_OK;
}

static enum tn_scale ask(const scaler *s, const tn_node *n, bool forward, int axis, int *other)
{
    *other = -1;
    if (!n->op->scale || n->nregion || n->nout != 1 || !n->type || n->type[0]->kind != TN_T_TENSOR)
        return TN_SCALE_NONE;
    return n->op->scale(n, forward, s->positive, axis, other);
}

/* The axis of operand k, a constant, of sum n along which the factors on `axis` of its result stand. */
static int addend_axis(const tn_node *n, int k, int axis, int other)
{
    const tn_type *c = tn_in_type(n, k);
    return k == 1 && other >= 0 ? other : axis - (n->type[0]->n - c->n);
}

/* ---- backward: factors stand on v along axis ---- */

static bool may_go_back(const scaler *s, const tn_node *user, int i, int axis, int depth)
{
    tn_value v = tn_in(user, i);
    int other;
    if (!v.def || depth == 0 || v.def->owner != user->owner || tn_value_n_uses(v) != 1)
        return false;
    const tn_node *d = v.def;
    switch (ask(s, d, false, axis, &other)) {
    case TN_SCALE_PASS: return may_go_back(s, d, 0, other, depth - 1);
    case TN_SCALE_WEIGHT:
        return d->nin > 1 && is_constant(d->in[1].def) && fits(s, d->in[1].def, other, WEIGHT);
    case TN_SCALE_SUM:
        for (int k = 0; k < d->nin; k++) {
            const tn_type *t = tn_in_type(d, k);
            bool full = t && t->n == d->type[0]->n && t->dim[axis] == d->type[0]->dim[axis];
            if (is_constant(d->in[k].def) ? !fits(s, d->in[k].def, addend_axis(d, k, axis, other), ADDEND)
                                          : !full || !may_go_back(s, d, k, axis, depth - 1))
                return false;
        }
        return true;
    default: return false;
    }
}

static tn_status go_back(scaler *s, tn_node *d, int axis)
{
    int other;
    switch (ask(s, d, false, axis, &other)) {
    case TN_SCALE_PASS: return go_back(s, d->in[0].def, other);
    case TN_SCALE_WEIGHT: return scale_operand(s, d, 1, tn_in_type(d, 1)->n, other, false);
    default:
        for (int k = 0; k < d->nin; k++) {
            bool apart = k == 1 && other >= 0;
            if (is_constant(d->in[k].def))
                TN_TRY(scale_operand(s, d, k, apart ? tn_in_type(d, k)->n : d->type[0]->n,
                                     apart ? other : axis, false));
            else
                TN_TRY(go_back(s, d->in[k].def, axis));
        }
        return tn_infer_node(s->g, d);
    }
}

/* ---- forward: factors stand on v along axis, for all its readers ---- */

static bool may_go_on(const scaler *s, tn_value v, int axis, int depth)
{
    int readers = 0, other;
    for (const tn_use *u = v.def->users[v.out]; u; u = u->next) {
        const tn_node *n = u->user;
        if (!n || n->owner != v.def->owner || depth == 0 || ++readers > MAX_READERS)
            return false;
        switch (ask(s, n, true, axis, &other)) {
        case TN_SCALE_PASS:
            if (u->slot != 0 || !may_go_on(s, tn_val((tn_node *)n), other, depth - 1))
                return false;
            break;
        case TN_SCALE_WEIGHT:
            if (u->slot != 0 || !is_constant(n->in[1].def) || !fits(s, n->in[1].def, other, WEIGHT))
                return false;
            break;
        case TN_SCALE_SUM: {
            const tn_node *rest = n->nin == 2 ? n->in[1 - u->slot].def : NULL;
            if (!s->nonzero || !is_constant(rest) || tn_value_type(v)->n != n->type[0]->n ||
                !fits(s, rest, addend_axis(n, 1 - (int)u->slot, axis, other), ADDEND_APART) ||
                !may_go_on(s, tn_val((tn_node *)n), axis, depth - 1))
                return false;
            break;
        }
        default: return false;
        }
    }
    return readers > 0;
}

static tn_status go_on(scaler *s, tn_value v, int axis)
{
    for (tn_use *next, *u = v.def->users[v.out]; u; u = next) {
        tn_node *n = u->user;
        int other;
        next = u->next;
        switch (ask(s, n, true, axis, &other)) {
        case TN_SCALE_PASS: TN_TRY(go_on(s, tn_val(n), other)); break;
        case TN_SCALE_WEIGHT: TN_TRY(scale_operand(s, n, 1, tn_in_type(n, 1)->n, other, false)); break;
        default: {
            int k = 1 - (int)u->slot;
            bool apart = k == 1 && other >= 0;
            TN_TRY(scale_operand(s, n, k, apart ? tn_in_type(n, k)->n : n->type[0]->n, apart ? other : axis,
                                 true));
            TN_TRY(go_on(s, tn_val(n), axis));
        }
        }
    }
    return TN_OK;
}

/* ---- products ---- */

/* Is n a product with constant factors? *data is the other operand's number. */
static bool is_product(scaler *s, tn_node *n, int *data, int *axis)
{
    int other;
    if (n->nin != 2 || n->nout != 1 || !n->op->scale ||
        n->op->scale(n, false, false, 0, &other) != TN_SCALE_FACTOR)
        return false;
    s->product = n;
    s->multiply = n->op;
    s->dtype = n->type[0]->dtype;
    for (int i = 0; i < 2; i++) {
        const tn_node *c = n->in[i].def;
        if (!is_constant(c) || !c->blob || !c->blob->at || is_constant(n->in[1 - i].def) ||
            !tn_dtype_is_float(s->dtype) || n->type[0]->n > 8 ||
            !tn_type_eq(tn_in_type(n, 1 - i), n->type[0]))
            continue;
        *data = 1 - i;
        *axis = factor_axis(c->type[0], n->type[0]);
        return *axis != -2 && read_factors(s, c);
    }
    return false;
}

static tn_status take_out(scaler *s, tn_node *n, int data)
{
    tn_value to = tn_in(n, data);
    tn_pass_replace(s->p, s->g, n, &to);
    return TN_OK;
}

/* A single factor may go along any axis that takes it. */
static bool next_axis(const tn_node *n, int axis, int *at)
{
    if (axis >= 0 && *at >= 0)
        return false;
    *at = axis >= 0 ? axis : *at + 1;
    return *at < n->type[0]->n;
}

static tn_status backward(tn_pass *p, tn_graph *g, tn_region *r)
{
    tn_node *before;
    for (tn_node *n = r->last; n; n = before) {
        scaler s = {.p = p, .g = g};
        int data, axis, at = -1;
        before = n->prev;
        if (!is_product(&s, n, &data, &axis))
            continue;
        while (next_axis(n, axis, &at)) {
            if (!may_go_back(&s, n, data, at, MAX_DEPTH))
                continue;
            TN_TRY(go_back(&s, n->in[data].def, at));
            before = n->prev;
            TN_TRY(take_out(&s, n, data));
            break;
        }
    }
    return TN_OK;
}

static tn_status forward(tn_pass *p, tn_graph *g, tn_region *r)
{
    tn_node *next;
    for (tn_node *n = r->first; n; n = next) {
        scaler s = {.p = p, .g = g};
        int data, axis, at = -1;
        next = n->next;
        if (!is_product(&s, n, &data, &axis))
            continue;
        while (next_axis(n, axis, &at)) {
            if (!may_go_on(&s, tn_val(n), at, MAX_DEPTH))
                continue;
            TN_TRY(go_on(&s, tn_val(n), at));
            next = n->next;
            TN_TRY(take_out(&s, n, data));
            break;
        }
    }
    return TN_OK;
}

tn_status tn_pass_BackwardFoldScaleAxis(tn_pass *p, tn_graph *g) { return tn_pass_regions(p, g, backward); }

tn_status tn_pass_ForwardFoldScaleAxis(tn_pass *p, tn_graph *g) { return tn_pass_regions(p, g, forward); }

tn_status tn_pass_FoldScaleAxis(tn_pass *p, tn_graph *g)
{
    TN_TRY(tn_pass_BackwardFoldScaleAxis(p, g));
    TN_TRY(tn_pass_FoldConstant(p, g)); /* what one product put into a weight is a constant for the next */
    return tn_pass_ForwardFoldScaleAxis(p, g);
}
