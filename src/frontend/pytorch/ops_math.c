/* Elementwise arithmetic, comparisons, functions of numbers. */
#include "frontend/pytorch/ops.h"

#include "ir/eval.h"

#include <math.h>
#include <string.h>

tn_value pt_num(imp_node *c, tn_value x, double v) { return imp_const(c, imp_type(x)->dtype, v); }

void pt_pair(imp_node *c, int i, int j, tn_value out[2])
{
    pt_value v[2] = {pt_arg(c, i), pt_arg(c, j)};
    tn_dtype t = pt_result_type(c, 2, v);
    out[0] = pt_as(c, v[0], t);
    out[1] = pt_as(c, v[1], t);
}

tn_value pt_float_in(imp_node *c, int i)
{
    tn_value x = pt_in(c, i);
    return imp_cast(c, x, pt_float_type(imp_type(x)->dtype));
}

static const tn_op *relay(imp_node *c) { return pt_of(c)->row->relay; }

/* ---- two operands ---- */

static void binary(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    pt_out(c, relay(c) == &tn_op_maximum ? pt_max(c, v[0], v[1]) : pt_min(c, v[0], v[1]));
}

/* add, sub, rsub: other * alpha */
static void scaled(imp_node *c)
{
    tn_value v[2];
    pt_value alpha = pt_arg(c, 2);
    bool turned = pt_starts(c, "rsub");
    pt_pair(c, 0, 1, v);
    tn_dtype t = imp_type(v[0])->dtype;
    if (!(alpha.kind == PT_INT && alpha.i == 1) && !(alpha.kind == PT_FLOAT && alpha.f == 1)) {
        tn_value factor = pt_wide(c, pt_as(c, alpha, t));
        v[0] = pt_wide(c, v[0]);
        v[1] = pt_wide(c, v[1]);
        v[!turned] = pt_mul(c, v[!turned], factor);
    }
    if (tn_dtype_is_bool(t)) {
        pt_out(c, imp_binary(c, &tn_op_logical_or, v[0], v[1]));
        return;
    }
    pt_out(c, imp_cast(c, imp_binary(c, relay(c), v[turned], v[!turned]), t));
}

/* Operands 0 and 1 of a product or quotient, which PyTorch rounds to the type that is returned. A second operand of
 * rank 0 keeps its own precision where the first is of 16-bit floats. */
static tn_dtype factors(imp_node *c, tn_value out[2])
{
    pt_value v = pt_arg(c, 1);
    pt_pair(c, 0, 1, out);
    const tn_dtype t = imp_type(out[0])->dtype;
    if (c->bad || !tn_dtype_is_small(t) || imp_rank(out[1]))
        return t;
    tn_dtype own = v.kind == PT_TENSOR ? imp_type(pt_as_tensor(c, v))->dtype : TN_F64;
    double number = v.kind == PT_FLOAT ? v.f : v.kind == PT_INT ? (double)v.i : NAN;
    if (tn_dtype_eq(own, t) || tn_eval_cast(TN_F64, t, (tn_scalar){.f = number}).f == number)
        return t;
    out[0] = imp_cast(c, out[0], TN_F32);
    out[1] = pt_as(c, v, TN_F32);
    return t;
}

static void multiply(imp_node *c)
{
    tn_value v[2];
    tn_dtype t = factors(c, v);
    pt_out(c, imp_cast(c, pt_mul(c, v[0], v[1]), t));
}

/* The largest whole number of times that b is in a, as PyTorch finds it: a quotient that was rounded up to a whole
 * number is not taken for it. */
static tn_value floor_of_quotient(imp_node *c, tn_value a, tn_value b)
{
    tn_value zero = pt_num(c, a, 0), one = pt_num(c, a, 1), half = pt_num(c, a, 0.5);
    tn_value rest = imp_binary(c, &tn_op_mod, a, b), below = imp_binary(c, &tn_op_less, b, zero);
    tn_value rest_below = imp_binary(c, &tn_op_less, rest, zero);
    tn_value turned = imp_binary(c, &tn_op_not_equal, below, rest_below);
    tn_value some = imp_binary(c, &tn_op_not_equal, rest, zero);
    turned = imp_binary(c, &tn_op_logical_and, some, turned);
    tn_value n = pt_div(c, pt_sub(c, a, rest), b), less = pt_sub(c, n, one);
    n = imp_choose(c, turned, less, n);
    tn_value whole = imp_unary(c, &tn_op_floor, n), next = pt_add(c, whole, one);
    tn_value low = imp_binary(c, &tn_op_greater, pt_sub(c, n, whole), half);
    whole = imp_choose(c, low, next, whole);
    tn_value by_none = imp_binary(c, &tn_op_equal, b, zero), quotient = pt_div(c, a, b);
    return imp_choose(c, by_none, quotient, whole);
}

static tn_value divided(imp_node *c, tn_value a, tn_value b, const char *mode)
{
    bool real = tn_dtype_is_float(imp_type(a)->dtype);
    if (!*mode) {
        tn_dtype t = pt_float_type(imp_type(a)->dtype);
        tn_value first = imp_cast(c, a, t);
        return pt_div(c, first, imp_cast(c, b, t));
    }
    bool down = strcmp(mode, "floor") == 0;
    if (real && !down)
        return imp_unary(c, &tn_op_trunc, pt_div(c, a, b));
    if (real) {
        tn_value wide = pt_wide(c, a);
        return floor_of_quotient(c, wide, pt_wide(c, b));
    }
    return imp_binary(c, down ? &tn_op_floor_divide : &tn_op_trunc_divide, a, b);
}

static void quotient(imp_node *c, const char *mode)
{
    tn_value v[2];
    tn_dtype t = factors(c, v);
    tn_value y = divided(c, v[0], v[1], mode);
    pt_out(c, tn_dtype_is_small(t) ? imp_cast(c, y, t) : y);
}

static void divide(imp_node *c) { quotient(c, pt_string(c, 2)); }

static void floor_divide(imp_node *c) { quotient(c, "floor"); }

static void remainder_(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    pt_out(c, imp_binary(c, relay(c), v[0], v[1]));
}

static void compare(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    if (tn_dtype_is_bool(imp_type(v[0])->dtype) && relay(c) != &tn_op_equal && relay(c) != &tn_op_not_equal)
        for (int i = 0; i < 2; i++)
            v[i] = imp_cast(c, v[i], TN_I32);
    pt_out(c, imp_binary(c, relay(c), v[0], v[1]));
}

static void power(imp_node *c)
{
    tn_value v[2];
    double e;
    pt_pair(c, 0, 1, v);
    bool known = imp_scalar(c, v[1], &e) && tn_dtype_is_float(imp_type(v[0])->dtype);
    if (known && e == 2)
        pt_out(c, pt_mul(c, v[0], v[0]));
    else if (known && e == 0.5)
        pt_out(c, imp_unary(c, &tn_op_sqrt, v[0]));
    else if (known && e == 3)
        pt_out(c, pt_mul(c, pt_mul(c, v[0], v[0]), v[0]));
    else
        pt_out(c, imp_binary(c, &tn_op_power, v[0], v[1]));
}

/* In float64, whatever the operands are. */
static void float_power(imp_node *c)
{
    pt_value e = pt_arg(c, 1);
    tn_value x = pt_as(c, pt_arg(c, 0), TN_F64);
    pt_out(c, imp_binary(c, &tn_op_power, x, pt_as(c, e, TN_F64)));
}

/* Both as truth. */
static tn_value truth(imp_node *c, tn_value v)
{
    return tn_dtype_is_bool(imp_type(v)->dtype) ? v : imp_binary(c, &tn_op_not_equal, v, pt_num(c, v, 0));
}

static void logic(imp_node *c)
{
    tn_value first = truth(c, pt_in(c, 0));
    pt_out(c, imp_binary(c, relay(c), first, truth(c, pt_in(c, 1))));
}

static void bits(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    const tn_op *op = relay(c);
    if (tn_dtype_is_bool(imp_type(v[0])->dtype))
        op = op == &tn_op_bitwise_and  ? &tn_op_logical_and
             : op == &tn_op_bitwise_or ? &tn_op_logical_or
                                       : &tn_op_logical_xor;
    pt_out(c, imp_binary(c, op, v[0], v[1]));
}

static void not_(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    bool is = tn_dtype_is_bool(imp_type(x)->dtype);
    pt_out(c, imp_unary(c, is ? &tn_op_logical_not : &tn_op_bitwise_not, x));
}

static void logical_not(imp_node *c) { pt_out(c, imp_unary(c, &tn_op_logical_not, truth(c, pt_in(c, 0)))); }

/* The angle of (x, y). Quadrants and signed zeros as in C. */
static void atan2_(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    tn_dtype t = pt_float_type(imp_type(v[0])->dtype);
    tn_value y = imp_cast(c, v[0], t), x = imp_cast(c, v[1], t), zero = imp_const(c, t, 0);
    tn_value ay = imp_unary(c, &tn_op_abs, y), ax = imp_unary(c, &tn_op_abs, x);
    tn_value steep = imp_binary(c, &tn_op_less, ax, ay);
    tn_value low = imp_choose(c, steep, ax, ay), high = imp_choose(c, steep, ay, ax);
    tn_value same = imp_binary(c, &tn_op_equal, low, high); /* both 0, or both infinite */
    tn_value none = imp_binary(c, &tn_op_equal, high, zero);
    tn_value first = imp_const(c, t, 1);
    tn_value ratio = imp_choose(c, none, zero, imp_choose(c, same, first, pt_div(c, low, high)));
    tn_value angle = imp_unary(c, &tn_op_atan, ratio);
    angle = imp_choose(c, steep, pt_sub(c, imp_const(c, t, 1.57079632679489661923), angle), angle);
    /* 1 / x tells -0 from 0 */
    tn_value one = imp_const(c, t, 1);
    tn_value second = imp_binary(c, &tn_op_less, x, zero);
    tn_value left =
        imp_binary(c, &tn_op_logical_or, second, imp_binary(c, &tn_op_less, pt_div(c, one, x), zero));
    angle = imp_choose(c, left, pt_sub(c, imp_const(c, t, 3.14159265358979323846), angle), angle);
    tn_value third = imp_binary(c, &tn_op_less, y, zero);
    tn_value down =
        imp_binary(c, &tn_op_logical_or, third, imp_binary(c, &tn_op_less, pt_div(c, one, y), zero));
    pt_out(c, imp_choose(c, down, imp_unary(c, &tn_op_negative, angle), angle));
}

static void hypot_(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    tn_value a = imp_unary(c, &tn_op_abs, v[0]), b = imp_unary(c, &tn_op_abs, v[1]);
    tn_value high = imp_binary(c, &tn_op_maximum, a, b), low = imp_binary(c, &tn_op_minimum, a, b);
    tn_value plain = imp_binary(c, &tn_op_equal, low, pt_num(c, low, 0));
    tn_value first_infinite = imp_unary(c, &tn_op_isinf, a); /* even where the other is NaN */
    tn_value infinite = imp_binary(c, &tn_op_logical_or, first_infinite, imp_unary(c, &tn_op_isinf, b));
    tn_value r = pt_div(c, low, high);
    tn_value first = pt_num(c, r, 1);
    tn_value root = pt_mul(c, high, imp_unary(c, &tn_op_sqrt, pt_add(c, first, pt_mul(c, r, r))));
    tn_value r_finite = imp_choose(c, plain, high, root);
    tn_value far = pt_num(c, high, INFINITY);
    pt_out(c, imp_choose(c, infinite, far, r_finite));
}

static void copysign_(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    tn_dtype t = pt_float_type(imp_type(v[0])->dtype);
    tn_value x = imp_cast(c, v[0], t), y = imp_cast(c, v[1], t), zero = imp_const(c, t, 0);
    tn_value first = imp_binary(c, &tn_op_less, y, zero);
    tn_value minus = imp_binary(c, &tn_op_logical_or, first,
                                imp_binary(c, &tn_op_less, pt_div(c, imp_const(c, t, 1), y), zero));
    tn_value a = imp_unary(c, &tn_op_abs, x);
    pt_out(c, imp_choose(c, minus, imp_unary(c, &tn_op_negative, a), a));
}

static void fmax_(imp_node *c) /* a NaN does not count */
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    tn_value m = relay(c) == &tn_op_maximum ? pt_max(c, v[0], v[1]) : pt_min(c, v[0], v[1]);
    if (tn_dtype_is_float(imp_type(v[0])->dtype)) {
        m = imp_choose(c, imp_unary(c, &tn_op_isnan, v[1]), v[0], m);
        m = imp_choose(c, imp_unary(c, &tn_op_isnan, v[0]), v[1], m);
    }
    pt_out(c, m);
}

static void xlogy(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    tn_dtype t = pt_float_type(imp_type(v[0])->dtype);
    tn_value x = imp_cast(c, v[0], t), y = imp_cast(c, v[1], t);
    bool plus_one = strstr(pt_of(c)->row->schema, "log1py") != NULL;
    tn_value l = plus_one ? imp_cast(c, pt_log1p(c, pt_wide(c, y)), t) : imp_unary(c, &tn_op_log, y);
    tn_value zero = imp_binary(c, &tn_op_equal, x, imp_const(c, t, 0));
    tn_value first = imp_const(c, t, 0);
    tn_value r = imp_choose(c, zero, first, pt_mul(c, x, l));
    pt_out(c, imp_choose(c, imp_unary(c, &tn_op_isnan, y), y, r));
}

static void heaviside(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    if (pt_is_bool(v[0])) {
        pt_out(c, pt_max(c, v[0], v[1]));
        return;
    }
    tn_value zero = pt_num(c, v[0], 0), one = pt_num(c, v[0], 1);
    tn_value r = imp_choose(c, imp_binary(c, &tn_op_greater, v[0], zero), one, zero);
    pt_out(c, imp_choose(c, imp_binary(c, &tn_op_equal, v[0], zero), v[1], r)); /* of a NaN it is 0 */
}

static void logaddexp(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    bool two = strncmp(pt_of(c)->row->schema, "logaddexp2", 10) == 0;
    double base = two ? 0.693147180559945309417 : 1;
    tn_value high = imp_binary(c, &tn_op_maximum, v[0], v[1]);
    tn_value d = imp_unary(c, &tn_op_negative, imp_unary(c, &tn_op_abs, pt_sub(c, v[0], v[1])));
    d = two ? pt_mul(c, d, pt_num(c, d, base)) : d;
    /* softplus(d) for d <= 0 */
    tn_value l = imp_unary(c, &tn_op_nn_softplus, d);
    l = two ? pt_div(c, l, pt_num(c, l, base)) : l;
    tn_value first = imp_unary(c, &tn_op_isinf, v[0]);
    tn_value same = imp_binary(c, &tn_op_logical_and, first, imp_binary(c, &tn_op_equal, v[0], v[1]));
    pt_out(c, imp_choose(c, same, v[0], pt_add(c, high, l)));
}

/* ---- one operand ---- */

static void same(imp_node *c) { pt_out(c, pt_in(c, 0)); }

static void unary_float(imp_node *c) { pt_out(c, imp_unary(c, relay(c), pt_float_in(c, 0))); }

/* floor and its kin: integers stay. */
static void rounding(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    pt_out(c, tn_dtype_is_float(imp_type(x)->dtype) ? imp_unary(c, relay(c), x) : x);
}

static void round_to(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int64_t digits = pt_integer(c, 1);
    if (!tn_dtype_is_float(imp_type(x)->dtype)) {
        pt_out(c, x);
        return;
    }
    if (!digits) {
        pt_out(c, imp_unary(c, &tn_op_round, x));
        return;
    }
    tn_value ten = pt_num(c, x, pow(10, fabs((double)digits)));
    tn_value up = digits > 0 ? pt_mul(c, x, ten) : pt_div(c, x, ten);
    up = imp_unary(c, &tn_op_round, up);
    pt_out(c, digits > 0 ? pt_div(c, up, ten) : pt_mul(c, up, ten));
}

static void negative(imp_node *c) { pt_out(c, imp_unary(c, &tn_op_negative, pt_in(c, 0))); }

static void absolute(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_dtype t = imp_type(x)->dtype;
    pt_out(c, t.code == TN_UINT || tn_dtype_is_bool(t) ? x : imp_unary(c, &tn_op_abs, x));
}

/* Of a NaN it is 0. */
static void sign(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    if (!tn_dtype_is_float(imp_type(x)->dtype)) {
        pt_out(c, pt_is_bool(x) ? x : imp_unary(c, &tn_op_sign, x));
        return;
    }
    tn_value zero = pt_num(c, x, 0), up = imp_binary(c, &tn_op_greater, x, zero),
             down = imp_binary(c, &tn_op_less, x, zero);
    tn_value r = imp_choose(c, down, pt_num(c, x, -1), zero);
    pt_out(c, imp_choose(c, up, pt_num(c, x, 1), r));
}

static void is_what(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    if (!tn_dtype_is_float(imp_type(x)->dtype))
        x = imp_cast(c, x, TN_F32); /* none is, or all are */
    const tn_op *op = relay(c);
    tn_value v = imp_unary(c, op ? op : &tn_op_isinf, x);
    bool up = strncmp(pt_of(c)->row->schema, "isposinf", 8) == 0,
         down = strncmp(pt_of(c)->row->schema, "isneginf", 8) == 0;
    if (up || down)
        v = imp_binary(c, &tn_op_logical_and, v,
                       imp_binary(c, up ? &tn_op_greater : &tn_op_less, x, pt_num(c, x, 0)));
    pt_out(c, v);
}

static void signbit_(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    if (pt_is_bool(x))
        x = imp_cast(c, x, TN_I32);
    tn_value below = imp_binary(c, &tn_op_less, x, pt_num(c, x, 0));
    if (tn_dtype_is_float(imp_type(x)->dtype)) {
        tn_value first = pt_div(c, pt_num(c, x, 1), x);
        below = imp_binary(c, &tn_op_logical_or, below, imp_binary(c, &tn_op_less, first, pt_num(c, x, 0)));
    }
    pt_out(c, below);
}

static void square(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    if (tn_dtype_is_bool(imp_type(x)->dtype))
        x = imp_cast(c, x, TN_I64); /* as pow, by a number of Python's */
    pt_out(c, pt_mul(c, x, x));
}

static void reciprocal(imp_node *c)
{
    tn_value x = pt_float_in(c, 0);
    pt_out(c, pt_div(c, pt_num(c, x, 1), x));
}

/* The constant factors of logarithms, exponents and angles. */
static void scaled_before(imp_node *c)
{
    tn_value x = pt_float_in(c, 0), wide = pt_wide(c, x);
    tn_value y = imp_unary(c, relay(c), pt_mul(c, wide, pt_num(c, wide, 0.693147180559945309417)));
    pt_out(c, imp_cast(c, y, imp_type(x)->dtype));
}

static void log_base(imp_node *c)
{
    tn_value x = pt_float_in(c, 0);
    double base =
        strncmp(pt_of(c)->row->schema, "log2", 4) == 0 ? 0.693147180559945309417 : 2.30258509299404568402;
    tn_dtype t = imp_type(x)->dtype;
    tn_value wide = imp_cast(c, x, TN_F64); /* exact for powers of the base */
    tn_value first = imp_unary(c, &tn_op_log, wide);
    pt_out(c, imp_cast(c, pt_div(c, first, pt_num(c, wide, base)), t));
}

static void angle_factor(imp_node *c)
{
    tn_value x = pt_float_in(c, 0);
    bool to_degrees = strncmp(pt_of(c)->row->schema, "rad2deg", 7) == 0;
    pt_out(c, pt_mul(c, x, pt_num(c, x, to_degrees ? 57.295779513082320876798 : 0.017453292519943295769)));
}

/* log1p(x) = 2 atanh(x / (2 + x)) near 0; the logarithm elsewhere. */
tn_value pt_log1p(imp_node *c, tn_value x)
{
    tn_value first = imp_unary(c, &tn_op_abs, x);
    tn_value one = pt_num(c, x, 1), near = imp_binary(c, &tn_op_less, first, pt_num(c, x, 0.5));
    tn_value safe = imp_choose(c, near, x, pt_num(c, x, 0));
    tn_value small = imp_unary(c, &tn_op_atanh, pt_div(c, safe, pt_add(c, safe, pt_num(c, x, 2))));
    tn_value second = pt_mul(c, small, pt_num(c, x, 2));
    return imp_choose(c, near, second, imp_unary(c, &tn_op_log, pt_add(c, x, one)));
}

static void log1p_(imp_node *c) { pt_out(c, pt_log1p(c, pt_float_in(c, 0))); }

static void expm1_(imp_node *c) { pt_out(c, imp_expm1(c, pt_float_in(c, 0))); }

static void frac(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    pt_out(c, pt_sub(c, x, imp_unary(c, &tn_op_trunc, x)));
}

static void erfc_(imp_node *c)
{
    tn_value x = pt_float_in(c, 0);
    tn_dtype t = imp_type(x)->dtype;
    tn_value wide = imp_cast(c, x, TN_F64);
    tn_value first = pt_num(c, wide, 1);
    pt_out(c, imp_cast(c, pt_sub(c, first, imp_unary(c, &tn_op_erf, wide)), t));
}

static void sinc(imp_node *c)
{
    tn_value x = pt_float_in(c, 0), a = pt_mul(c, x, pt_num(c, x, 3.14159265358979323846));
    tn_value zero = imp_binary(c, &tn_op_equal, x, pt_num(c, x, 0));
    tn_value safe = imp_choose(c, zero, pt_num(c, x, 1), a);
    tn_value first = pt_num(c, x, 1);
    pt_out(c, imp_choose(c, zero, first, pt_div(c, imp_unary(c, &tn_op_sin, safe), safe)));
}

static void logit(imp_node *c)
{
    tn_value x = pt_float_in(c, 0);
    if (pt_given(c, 1)) {
        double eps = pt_real(c, 1);
        tn_value low = pt_num(c, x, eps), most = pt_min(c, x, pt_num(c, x, 1 - eps));
        x = imp_choose(c, imp_binary(c, &tn_op_less, x, low), low, most);
    }
    pt_out(c, imp_unary(c, &tn_op_log, pt_div(c, x, pt_sub(c, pt_num(c, x, 1), x))));
}

/* ---- limits, choices ---- */

static void clamp(imp_node *c)
{
    pt_value v[3] = {pt_arg(c, 0), pt_arg(c, 1), pt_arg(c, 2)};
    tn_dtype t = pt_result_type(c, 3, v);
    tn_value x = pt_as(c, v[0], t);
    double low, high;
    tn_value a = v[1].kind == PT_NONE ? (tn_value){0} : pt_as(c, v[1], t),
             b = v[2].kind == PT_NONE ? (tn_value){0} : pt_as(c, v[2], t);
    if (a.def && b.def && imp_scalar(c, a, &low) && imp_scalar(c, b, &high) && low <= high) {
        tn_clip_attr clip = {low, high};
        pt_out(c, imp_call1(c, &tn_op_clip, &clip, x));
        return;
    }
    if (a.def)
        x = pt_max(c, x, a);
    if (b.def)
        x = pt_min(c, x, b);
    pt_out(c, x);
}

static void where(imp_node *c)
{
    pt_value v[2] = {pt_arg(c, 1), pt_arg(c, 2)};
    tn_dtype t = pt_result_type(c, 2, v);
    tn_value first = truth(c, pt_in(c, 0));
    tn_value second = pt_as(c, v[0], t);
    pt_out(c, imp_choose(c, first, second, pt_as(c, v[1], t)));
}

static void masked_fill(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_value first = truth(c, pt_in(c, 1));
    pt_out(c, imp_choose(c, first, pt_as(c, pt_arg(c, 2), imp_type(x)->dtype), x));
}

/* self + value * a * b, or a / b */
static void addcmul(imp_node *c)
{
    pt_value v[3] = {pt_arg(c, 0), pt_arg(c, 1), pt_arg(c, 2)};
    tn_dtype t = pt_result_type(c, 3, v);
    tn_value x = pt_as(c, v[1], t), y = pt_as(c, v[2], t);
    tn_value first = imp_binary(c, relay(c), x, y);
    tn_value r = pt_mul(c, first, pt_as(c, pt_arg(c, 3), imp_type(first)->dtype));
    pt_out(c, pt_add(c, pt_as(c, v[0], t), r));
}

static void lerp(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    tn_value w = pt_as(c, pt_arg(c, 2), imp_type(v[0])->dtype), d = pt_sub(c, v[1], v[0]);
    tn_value near = pt_add(c, v[0], pt_mul(c, w, d));
    tn_value far = pt_sub(c, v[1], pt_mul(c, d, pt_sub(c, pt_num(c, w, 1), w)));
    tn_value first = imp_unary(c, &tn_op_abs, w);
    pt_out(c, imp_choose(c, imp_binary(c, &tn_op_less, first, pt_num(c, w, 0.5)), near, far));
}

static void nan_to_num(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_dtype t = imp_type(x)->dtype;
    if (!tn_dtype_is_float(t)) {
        pt_out(c, x);
        return;
    }
    double most = t.code == TN_BFLOAT ? 3.3895313892515355e38
                  : t.bits == 16      ? 65504
                  : t.bits == 32      ? 3.4028234663852886e38
                                      : 1.7976931348623157e308;
    tn_value inf = imp_unary(c, &tn_op_isinf, x), up = imp_binary(c, &tn_op_greater, x, pt_num(c, x, 0));
    tn_value first = pt_num(c, x, pt_given(c, 2) ? pt_real(c, 2) : most);
    tn_value edge = imp_choose(c, up, first, pt_num(c, x, pt_given(c, 3) ? pt_real(c, 3) : -most));
    tn_value v = imp_choose(c, inf, edge, x);
    tn_value second = imp_unary(c, &tn_op_isnan, x);
    pt_out(c, imp_choose(c, second, pt_num(c, x, pt_given(c, 1) ? pt_real(c, 1) : 0), v));
}

static void isclose_(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    tn_dtype t = pt_float_type(imp_type(v[0])->dtype);
    tn_value x = imp_cast(c, v[0], t), y = imp_cast(c, v[1], t);
    tn_value first = imp_const(c, t, pt_real(c, 3));
    tn_value second = imp_const(c, t, pt_real(c, 2));
    tn_value room = pt_add(c, first, pt_mul(c, second, imp_unary(c, &tn_op_abs, y)));
    tn_value d = imp_unary(c, &tn_op_abs, pt_sub(c, x, y));
    tn_value third = imp_binary(c, &tn_op_less_equal, d, room);
    tn_value near = imp_binary(c, &tn_op_logical_and, third, imp_unary(c, &tn_op_isfinite, d));
    tn_value is = imp_binary(c, &tn_op_logical_or, near, imp_binary(c, &tn_op_equal, x, y));
    if (pt_truth(c, 4)) {
        tn_value fourth = imp_unary(c, &tn_op_isnan, x);
        is = imp_binary(c, &tn_op_logical_or, is,
                        imp_binary(c, &tn_op_logical_and, fourth, imp_unary(c, &tn_op_isnan, y)));
    }
    pt_out(c, is);
}

static void shift(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    pt_out(c, imp_binary(c, relay(c), v[0], v[1]));
}

#define OP1(name, op) {name "(Tensor self)", unary_float, &tn_op_##op, 0}
#define OP2(name, f, op) {name "(Tensor self, Tensor other)", f, &tn_op_##op, 0}
const pt_row pt_rows_math[] = {
    {"add(Tensor self, Tensor other, *, Scalar alpha=1)", scaled, &tn_op_add, PT_SUM | PT_OF_NUMBER},
    {"sub(Tensor self, Tensor other, *, Scalar alpha=1)", scaled, &tn_op_subtract, PT_SUM | PT_OF_NUMBER},
    {"subtract(Tensor self, Tensor other, *, Scalar alpha=1)", scaled, &tn_op_subtract,
     PT_SUM | PT_OF_NUMBER},
    {"rsub(Tensor self, Tensor other, Scalar alpha=1)", scaled, &tn_op_subtract, PT_SUM},
    {"mul(Tensor self, Tensor other)", multiply, &tn_op_multiply, PT_PRODUCT | PT_OF_NUMBER},
    {"multiply(Tensor self, Tensor other)", multiply, &tn_op_multiply, PT_PRODUCT | PT_OF_NUMBER},
    {"div(Tensor self, Tensor other, *, str? rounding_mode=None)", divide, NULL, PT_OF_NUMBER},
    {"divide(Tensor self, Tensor other, *, str? rounding_mode=None)", divide, NULL, PT_OF_NUMBER},
    {"true_divide(Tensor self, Tensor other)", divide, NULL, PT_OF_NUMBER},
    OP2("floor_divide", floor_divide, floor_divide),
    OP2("floordiv", floor_divide, floor_divide),
    OP2("remainder", remainder_, floor_mod),
    OP2("fmod", remainder_, mod),
    OP2("eq", compare, equal),
    OP2("ne", compare, not_equal),
    OP2("lt", compare, less),
    OP2("le", compare, less_equal),
    OP2("gt", compare, greater),
    OP2("ge", compare, greater_equal),
    OP2("not_equal", compare, not_equal),
    OP2("less", compare, less),
    OP2("less_equal", compare, less_equal),
    OP2("greater", compare, greater),
    OP2("greater_equal", compare, greater_equal),
    {"pow(Tensor self, Tensor exponent)", power, NULL, 0},
    {"float_power(Tensor self, Tensor exponent)", float_power, NULL, 0},
    OP2("maximum", binary, maximum),
    OP2("minimum", binary, minimum),
    OP2("fmax", fmax_, maximum),
    OP2("fmin", fmax_, minimum),
    OP2("logical_and", logic, logical_and),
    OP2("logical_or", logic, logical_or),
    OP2("logical_xor", logic, logical_xor),
    OP2("bitwise_and", bits, bitwise_and),
    OP2("bitwise_or", bits, bitwise_or),
    OP2("bitwise_xor", bits, bitwise_xor),
    OP2("__and__", bits, bitwise_and),
    OP2("__or__", bits, bitwise_or),
    OP2("__xor__", bits, bitwise_xor),
    OP2("bitwise_left_shift", shift, left_shift),
    OP2("bitwise_right_shift", shift, right_shift),
    OP2("__lshift__", shift, left_shift),
    OP2("__rshift__", shift, right_shift),
    {"atan2(Tensor self, Tensor other)", atan2_, &tn_op_atan, PT_WIDE},
    {"arctan2(Tensor self, Tensor other)", atan2_, &tn_op_atan, PT_WIDE},
    {"hypot(Tensor self, Tensor other)", hypot_, &tn_op_sqrt, PT_WIDE},
    OP2("copysign", copysign_, abs),
    OP2("xlogy", xlogy, log),
    OP2("special_xlogy", xlogy, log),
    {"special_xlog1py(Tensor self, Tensor other)", xlogy, &tn_op_log, 0},
    {"heaviside(Tensor self, Tensor values)", heaviside, NULL, 0},
    {"logaddexp(Tensor self, Tensor other)", logaddexp, &tn_op_log, PT_WIDE},
    {"logaddexp2(Tensor self, Tensor other)", logaddexp, &tn_op_log, PT_WIDE},
    {"bitwise_not(Tensor self)", not_, NULL, 0},
    {"logical_not(Tensor self)", logical_not, NULL, 0},
    {"__not__(Tensor self)", logical_not, NULL, 0},
    OP1("exp", exp),
    OP1("log", log),
    OP1("sqrt", sqrt),
    OP1("rsqrt", rsqrt),
    OP1("sin", sin),
    OP1("cos", cos),
    OP1("tan", tan),
    OP1("asin", asin),
    OP1("acos", acos),
    OP1("atan", atan),
    OP1("sinh", sinh),
    OP1("cosh", cosh),
    OP1("tanh", tanh),
    OP1("asinh", asinh),
    OP1("acosh", acosh),
    OP1("atanh", atanh),
    OP1("arcsin", asin),
    OP1("arccos", acos),
    OP1("arctan", atan),
    OP1("arcsinh", asinh),
    OP1("arccosh", acosh),
    OP1("arctanh", atanh),
    OP1("erf", erf),
    OP1("sigmoid", sigmoid),
    OP1("special_expit", sigmoid),
    OP1("special_erf", erf),
    {"floor(Tensor self)", rounding, &tn_op_floor, 0},
    {"ceil(Tensor self)", rounding, &tn_op_ceil, 0},
    {"trunc(Tensor self)", rounding, &tn_op_trunc, 0},
    {"fix(Tensor self)", rounding, &tn_op_trunc, 0},
    {"round(Tensor self, *, int decimals=0)", round_to, NULL, PT_WIDE},
    {"special_round(Tensor self, *, int decimals=0)", round_to, NULL, PT_WIDE},
    {"neg(Tensor self)", negative, NULL, PT_PARTS},
    {"negative(Tensor self)", negative, NULL, PT_PARTS},
    {"abs(Tensor self)", absolute, NULL, 0},
    {"absolute(Tensor self)", absolute, NULL, 0},
    {"sign(Tensor self)", sign, NULL, 0},
    {"sgn(Tensor self)", sign, NULL, 0},
    {"positive(Tensor self)", same, NULL, PT_PARTS},
    {"isnan(Tensor self)", is_what, &tn_op_isnan, 0},
    {"isinf(Tensor self)", is_what, &tn_op_isinf, 0},
    {"isfinite(Tensor self)", is_what, &tn_op_isfinite, 0},
    {"isposinf(Tensor self)", is_what, NULL, 0},
    {"isneginf(Tensor self)", is_what, NULL, 0},
    {"signbit(Tensor self)", signbit_, NULL, 0},
    {"square(Tensor self)", square, NULL, 0},
    {"reciprocal(Tensor self)", reciprocal, NULL, 0},
    {"exp2(Tensor self)", scaled_before, &tn_op_exp, 0},
    {"special_exp2(Tensor self)", scaled_before, &tn_op_exp, 0},
    {"log2(Tensor self)", log_base, NULL, 0},
    {"log10(Tensor self)", log_base, NULL, 0},
    {"rad2deg(Tensor self)", angle_factor, NULL, PT_WIDE},
    {"deg2rad(Tensor self)", angle_factor, NULL, PT_WIDE},
    {"log1p(Tensor self)", log1p_, NULL, PT_WIDE},
    {"special_log1p(Tensor self)", log1p_, NULL, PT_WIDE},
    {"expm1(Tensor self)", expm1_, NULL, PT_WIDE},
    {"special_expm1(Tensor self)", expm1_, NULL, PT_WIDE},
    {"frac(Tensor self)", frac, NULL, 0},
    {"erfc(Tensor self)", erfc_, NULL, 0},
    {"special_erfc(Tensor self)", erfc_, NULL, 0},
    {"sinc(Tensor self)", sinc, NULL, PT_WIDE},
    {"special_sinc(Tensor self)", sinc, NULL, PT_WIDE},
    {"logit(Tensor self, float? eps=None)", logit, NULL, 0},
    {"special_logit(Tensor self, float? eps=None)", logit, NULL, 0},
    {"clamp(Tensor self, Tensor? min=None, Tensor? max=None)", clamp, NULL, 0},
    {"clip(Tensor self, Tensor? min=None, Tensor? max=None)", clamp, NULL, 0},
    {"clamp_min(Tensor self, Tensor min)", binary, &tn_op_maximum, 0},
    {"clamp_max(Tensor self, Tensor max)", binary, &tn_op_minimum, 0},
    {"where(Tensor condition, Tensor self, Tensor other)", where, NULL, PT_SUM},
    {"where(Tensor condition)", pt_nonzero, NULL, 0},
    {"masked_fill(Tensor self, Tensor mask, Tensor value)", masked_fill, NULL, PT_SUM},
    {"addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", addcmul, &tn_op_multiply,
     PT_WIDE},
    {"addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", addcmul, &tn_op_divide,
     PT_WIDE},
    {"lerp(Tensor self, Tensor end, Tensor weight)", lerp, NULL, PT_WIDE},
    {"nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)", nan_to_num, NULL, 0},
    {"isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)", isclose_,
     NULL, 0},
    {0},
};
