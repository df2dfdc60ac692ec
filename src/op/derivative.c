/* Derivatives of functions of single elements, such as the formulas of elementwise operators: reverse-mode, over the
 * expression, with a variable for the gradient of the result. What comes out is said by elementwise operators.
 *
 * Where max and min have equal operands, the first one has the whole gradient, but for max(x, 0), whose slope at 0 is
 * 0; select blocks that of the arm that is
 * not taken, NaN included, and where an arm is for x < 0, it has the gradient at 0 too (leaky relu, elu); |x| has 0 at
 * 0, and so have steps (floor, round) everywhere. */
#include "op/gradient.h"

#include "op/rule.h"
#include "op/tensor/tensor.h"

enum { OPERANDS = 3 };

typedef struct derivative {
    tn_gradient *q;
    tn_pool *p;
    tn_value variable[OPERANDS + 1]; /* the operands; the gradient of the result */
    const tn_expr *sum[OPERANDS];    /* contributions to each operand; NULL: 0 */
    tn_map value;                    /* expression -> node that computes it */
} derivative;

/* ---- the derivative, as expressions ---- */

static const tn_expr *number(derivative *d, const tn_expr *like, double v)
{
    return tn_flt(d->p, like->dtype, v);
}

static const tn_expr *call(derivative *d, enum tn_intrin f, const tn_expr *x)
{
    return tn_intrinsic1(d->p, f, x);
}

static const tn_expr *over(derivative *d, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(d->p, TN_E_DIV, a, b);
}

/* 1 + sign * x * x */
static const tn_expr *one_and_square(derivative *d, const tn_expr *x, double sign)
{
    tn_pool *p = d->p;
    const tn_expr *square = tn_mul(p, x, x), *one = number(d, x, 1);
    return sign > 0 ? tn_add(p, one, square) : tn_sub(p, one, square);
}

/* factor * exp(scale * x * x) */
static const tn_expr *bell(derivative *d, const tn_expr *x, double factor, double scale)
{
    const tn_expr *power = tn_mul(d->p, number(d, x, scale), tn_mul(d->p, x, x));
    return tn_mul(d->p, number(d, x, factor), call(d, TN_F_exp, power));
}

/* d f(x) / dx times w, e being f(x); NULL: 0. */
static const tn_expr *times_slope(derivative *d, const tn_expr *e, const tn_expr *x, const tn_expr *w)
{
    tn_pool *p = d->p;
    const tn_expr *one = number(d, x, 1), *zero = number(d, x, 0);
    switch (e->u.call.id) {
    case TN_F_exp: return tn_mul(p, w, e);
    case TN_F_expm1: return tn_mul(p, w, call(d, TN_F_exp, x));
    case TN_F_log: return over(d, w, x);
    case TN_F_log1p: return over(d, w, tn_add(p, one, x));
    case TN_F_tanh: return tn_mul(p, w, one_and_square(d, e, -1));
    case TN_F_sigmoid: return tn_mul(p, w, tn_mul(p, e, tn_sub(p, one, e)));
    case TN_F_erf: return tn_mul(p, w, bell(d, x, 1.1283791670955126, -1));
    case TN_F_ncdf: return tn_mul(p, w, bell(d, x, 0.3989422804014327, -0.5));
    case TN_F_sin: return tn_mul(p, w, call(d, TN_F_cos, x));
    case TN_F_cos: return tn_sub(p, zero, tn_mul(p, w, call(d, TN_F_sin, x)));
    case TN_F_tan: return tn_mul(p, w, one_and_square(d, e, 1));
    case TN_F_asin: return over(d, w, call(d, TN_F_sqrt, one_and_square(d, x, -1)));
    case TN_F_acos: return tn_sub(p, zero, over(d, w, call(d, TN_F_sqrt, one_and_square(d, x, -1))));
    case TN_F_atan: return over(d, w, one_and_square(d, x, 1));
    case TN_F_sinh: return tn_mul(p, w, call(d, TN_F_cosh, x));
    case TN_F_cosh: return tn_mul(p, w, call(d, TN_F_sinh, x));
    case TN_F_asinh: return over(d, w, call(d, TN_F_sqrt, one_and_square(d, x, 1)));
    case TN_F_acosh: return over(d, w, call(d, TN_F_sqrt, tn_sub(p, tn_mul(p, x, x), one)));
    case TN_F_atanh: return over(d, w, one_and_square(d, x, -1));
    case TN_F_sqrt: return over(d, tn_mul(p, w, number(d, x, 0.5)), e);
    case TN_F_abs:
        return tn_select(p, tn_lt(p, x, zero), tn_sub(p, zero, w), tn_select(p, tn_lt(p, zero, x), w, zero));
    default: return NULL; /* steps */
    }
}

static bool is_other(const tn_expr *e, void *user)
{
    const tn_gradient *q = user;
    return !(e->kind == TN_E_VAR && e->u.i < q->node->nin && q->wanted[e->u.i]);
}

static void back(derivative *d, const tn_expr *e, const tn_expr *w);

/* x to the y: 0 where the factor y, or a logarithm of 0, is multiplied with 0. */
static void back_power(derivative *d, const tn_expr *e, const tn_expr *w)
{
    tn_pool *p = d->p;
    const tn_expr *x = e->src[0], *y = e->src[1], *zero = number(d, x, 0), *one = number(d, x, 1);
    const tn_expr *less[2] = {x, tn_sub(p, y, one)};
    const tn_expr *slope = tn_mul(p, y, tn_intrinsic(p, TN_F_pow, 2, less));
    back(d, x, tn_mul(p, w, tn_select(p, tn_eq(p, y, zero), zero, slope)));
    const tn_expr *log = call(d, TN_F_log, tn_select(p, tn_eq(p, x, zero), one, x));
    back(d, y, tn_mul(p, w, tn_mul(p, e, log)));
}

/* The gradient of e is w. */
static void back(derivative *d, const tn_expr *e, const tn_expr *w)
{
    tn_pool *p = d->p;
    const tn_expr *a = e->nsrc > 0 ? e->src[0] : NULL, *b = e->nsrc > 1 ? e->src[1] : NULL;
    const tn_expr *zero = number(d, w, 0), *first;
    if (tn_each(e, is_other, d->q))
        return;
    switch (e->kind) {
    case TN_E_VAR: d->sum[e->u.i] = d->sum[e->u.i] ? tn_add(p, d->sum[e->u.i], w) : w; break;
    case TN_E_ADD:
        back(d, a, w);
        back(d, b, w);
        break;
    case TN_E_SUB:
        back(d, a, w);
        back(d, b, tn_sub(p, zero, w));
        break;
    case TN_E_MUL:
        back(d, a, tn_mul(p, w, b));
        back(d, b, tn_mul(p, w, a));
        break;
    case TN_E_DIV:
        back(d, a, over(d, w, b));
        back(d, b, tn_sub(p, zero, over(d, tn_mul(p, w, e), b)));
        break;
    case TN_E_MIN:
    case TN_E_MAX:
        first = e->kind == TN_E_MIN ? tn_lt(p, b, a) : b == zero ? tn_le(p, a, b) : tn_lt(p, a, b);
        back(d, a, tn_select(p, first, zero, w));
        back(d, b, tn_select(p, first, w, zero));
        break;
    case TN_E_SELECT:
        if (a->kind == TN_E_LT && a->src[0]->kind == TN_E_VAR && a->src[1] == zero)
            a = tn_le(p, a->src[0], zero);
        back(d, b, tn_select(p, a, w, zero));
        back(d, e->src[2], tn_select(p, a, zero, w));
        break;
    case TN_E_CALL:
        first = e->u.call.id == TN_F_pow ? NULL : times_slope(d, e, a, w);
        if (e->u.call.id == TN_F_pow)
            back_power(d, e, w);
        else if (first)
            back(d, a, first);
        break;
    default: break; /* comparisons */
    }
}

/* ---- as operators ---- */

static const tn_op *operator_of(const tn_expr *e)
{
    static const struct {
        enum tn_ek kind;
        const tn_op *op;
    } kinds[] = {{TN_E_ADD, &tn_op_add},         {TN_E_SUB, &tn_op_subtract},    {TN_E_MUL, &tn_op_multiply},
                 {TN_E_DIV, &tn_op_divide},      {TN_E_MIN, &tn_op_minimum},     {TN_E_MAX, &tn_op_maximum},
                 {TN_E_EQ, &tn_op_equal},        {TN_E_NE, &tn_op_not_equal},    {TN_E_LT, &tn_op_less},
                 {TN_E_LE, &tn_op_less_equal},   {TN_E_AND, &tn_op_logical_and}, {TN_E_OR, &tn_op_logical_or},
                 {TN_E_NOT, &tn_op_logical_not}, {TN_E_SELECT, &tn_op_where}};
    static const tn_op *const calls[] = {
        [TN_F_exp] = &tn_op_exp,     [TN_F_log] = &tn_op_log,         [TN_F_tanh] = &tn_op_tanh,
        [TN_F_pow] = &tn_op_power,   [TN_F_sigmoid] = &tn_op_sigmoid, [TN_F_erf] = &tn_op_erf,
        [TN_F_sin] = &tn_op_sin,     [TN_F_cos] = &tn_op_cos,         [TN_F_tan] = &tn_op_tan,
        [TN_F_asin] = &tn_op_asin,   [TN_F_acos] = &tn_op_acos,       [TN_F_atan] = &tn_op_atan,
        [TN_F_sinh] = &tn_op_sinh,   [TN_F_cosh] = &tn_op_cosh,       [TN_F_asinh] = &tn_op_asinh,
        [TN_F_acosh] = &tn_op_acosh, [TN_F_atanh] = &tn_op_atanh,     [TN_F_sqrt] = &tn_op_sqrt,
        [TN_F_abs] = &tn_op_abs,     [TN_F_floor] = &tn_op_floor,     [TN_F_ceil] = &tn_op_ceil,
        [TN_F_trunc] = &tn_op_trunc, [TN_F_round] = &tn_op_round};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == e->kind)
            return kinds[i].op;
    return e->kind == TN_E_CALL && e->u.call.id < sizeof calls / sizeof *calls ? calls[e->u.call.id] : NULL;
}

/* Functions without an operator, by others. */
static const tn_expr *by_others(derivative *d, const tn_expr *e)
{
    tn_pool *p = d->p;
    const tn_expr *x = e->kind == TN_E_CALL ? e->src[0] : NULL;
    if (!x || !tn_dtype_is_float(x->dtype))
        return NULL;
    const tn_expr *one = number(d, x, 1);
    switch (e->u.call.id) {
    case TN_F_expm1: return tn_sub(p, call(d, TN_F_exp, x), one);
    case TN_F_log1p: return call(d, TN_F_log, tn_add(p, one, x));
    case TN_F_ncdf: {
        const tn_expr *scaled = tn_mul(p, x, number(d, x, 0.7071067811865476));
        return tn_mul(p, number(d, x, 0.5), tn_add(p, one, call(d, TN_F_erf, scaled)));
    }
    default: return NULL;
    }
}

static tn_value said(derivative *d, const tn_expr *e)
{
    tn_gradient *q = d->q;
    uint64_t had;
    tn_value v = {0}, in[3] = {{0}};
    const tn_op *op = operator_of(e);
    const tn_expr *other = op ? NULL : by_others(d, e);
    if (e->kind == TN_E_VAR)
        return d->variable[e->u.i];
    if (q->failed || tn_map_get(&d->value, tn_map_key(e), &had))
        return q->failed ? v : tn_val((tn_node *)(uintptr_t)had);
    if (e->kind == TN_E_FLOAT || (e->kind == TN_E_INT && tn_dtype_is_bool(e->dtype)))
        v = tn_val(tn_make_scalar(q->g, q->r, NULL, e->dtype, e->kind == TN_E_INT ? (double)e->u.i : e->u.f));
    else if (other)
        v = said(d, other);
    for (uint32_t i = 0; op && i < e->nsrc && i < 3; i++)
        in[i] = said(d, e->src[i]);
    if (op)
        v = tn_gradient_call(q, op, NULL, (int)e->nsrc, in);
    if (!v.def && !q->failed)
        tn_gradient_refuse(q, "");
    if (v.def)
        tn_map_put(&d->value, tn_map_key(e), tn_map_key(v.def));
    return v;
}

tn_status tn_gradient_of_elements(tn_gradient *q, const tn_expr *e)
{
    const tn_node *n = q->node;
    tn_pool *p = q->g->pool;
    derivative d = {.q = q, .p = p};
    const tn_expr *var[OPERANDS];
    TN_ASSERT(n->nin <= OPERANDS && n->nout == 1);
    for (int i = 0; i < n->nin; i++) {
        var[i] = tn_var(p, tn_in_type(n, i)->dtype, (uint32_t)i);
        d.variable[i] = tn_in(n, i);
    }
    d.variable[OPERANDS] = q->of[0];
    back(&d, e ? e : tn_read_formula(q->g, n, n->type[0]->dtype, var),
         tn_var(p, n->type[0]->dtype, OPERANDS));
    for (int i = 0; i < n->nin && !q->failed; i++)
        if (d.sum[i])
            q->in[i] = tn_gradient_gathered(q, said(&d, d.sum[i]), tn_in_type(n, i));
    tn_map_deinit(&d.value);
    return q->failed ? TN_FAIL : TN_OK;
}
