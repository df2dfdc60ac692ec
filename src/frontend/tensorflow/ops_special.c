/* Special functions of real numbers, as precise as float32. */
#include "frontend/tensorflow/tf.h"

#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

static tn_value plus(imp_node *c, tn_value x, double v) { return imp_with(c, &tn_op_add, x, v); }
static tn_value times(imp_node *c, tn_value x, double v) { return imp_with(c, &tn_op_multiply, x, v); }
static tn_value product(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_multiply, a, b); }

/* The operand, which the approximations here are good enough for. */
static tn_value narrow_in(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    if (!c->bad && (!tn_dtype_is_float(imp_type(x)->dtype) || imp_type(x)->dtype.bits > 32))
        imp_refuse(c, IMP_OPERANDS, "the operand is %s, but only float32 is supported",
                   imp_type_text(c, imp_type(x)));
    return x;
}

/* f[0] + f[1] x + f[2] x^2 + ... */
static tn_value polynomial(imp_node *c, tn_value x, size_t n, const double f[])
{
    tn_value y = times(c, x, f[n - 1]);
    for (size_t i = n - 2; i > 0; i--)
        y = product(c, plus(c, y, f[i]), x);
    return plus(c, y, f[0]);
}

/* ---- modified Bessel functions of the first kind (Abramowitz and Stegun, 9.8.1 to 9.8.4) ---- */

static void bessel(imp_node *c)
{
    static const double near[2][7] = {
        {1, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813},
        {0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411}};
    static const double far[2][9] = {{0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281,
                                      -0.02057706, 0.02635537, -0.01647633, 0.00392377},
                                     {0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555,
                                      0.02282967, -0.02895312, 0.01787654, -0.00420059}};
    tn_value x = narrow_in(c), size = imp_unary(c, &tn_op_abs, x);
    int order = strstr(c->row->op, "I1") != NULL;
    bool scaled = c->row->op[strlen(c->row->op) - 1] == 'e';
    tn_value t = times(c, size, 1 / 3.75), large = imp_with(c, &tn_op_maximum, size, 3.75);
    t = imp_with(c, &tn_op_minimum, t, 1);
    tn_value low = polynomial(c, product(c, t, t), 7, near[order]);
    low = order ? product(c, low, size) : low;
    tn_value back = imp_with(c, &tn_op_divide, large, 3.75);
    back = imp_binary(c, &tn_op_divide, tf_number(c, x, 1), back);
    tn_value root = imp_unary(c, &tn_op_rsqrt, large), high = polynomial(c, back, 9, far[order]);
    high = product(c, high, root);
    tn_value e = imp_unary(c, &tn_op_exp, scaled ? imp_unary(c, &tn_op_negative, size) : size);
    low = scaled ? product(c, low, e) : low;
    high = scaled ? high : product(c, high, e);
    tn_value y = imp_choose(c, imp_with(c, &tn_op_less, size, 3.75), low, high);
    imp_out(c, 0, order ? product(c, y, imp_unary(c, &tn_op_sign, x)) : y);
}

/* ---- the inverse of the error function (Giles, 2012) ---- */

static tn_value erf_inverse(imp_node *c, tn_value x)
{
    static const double low[] = {1.50140941,     0.246640727,    -0.00417768164,
                                 -0.00125372503, 0.00021858087,  -4.39150654e-06,
                                 -3.5233877e-06, 3.43273939e-07, 2.81022636e-08};
    static const double high[] = {2.83297682,    1.00167406,     0.00943887047,
                                  -0.0076224613, 0.00573950773,  -0.00367342844,
                                  0.00134934322, 0.000100950558, -0.000200214257};
    tn_value one = tf_number(c, x, 1);
    tn_value less = imp_binary(c, &tn_op_subtract, one, x), more = plus(c, x, 1),
             rest = product(c, less, more);
    tn_value w = imp_unary(c, &tn_op_negative, imp_unary(c, &tn_op_log, rest)),
             root = imp_unary(c, &tn_op_sqrt, w);
    tn_value mid = polynomial(c, plus(c, w, -2.5), 9, low), tail = polynomial(c, plus(c, root, -3), 9, high);
    tn_value y = imp_choose(c, imp_with(c, &tn_op_less, w, 5), mid, tail);
    tn_value end = imp_with(c, &tn_op_equal, imp_unary(c, &tn_op_abs, x), 1);
    tn_value far = tf_number(c, x, INFINITY);
    return product(c, imp_choose(c, end, far, y), x);
}

static void erfinv(imp_node *c) { imp_out(c, 0, erf_inverse(c, narrow_in(c))); }

/* ---- the gamma function's logarithm and its derivative ---- */

/* Lanczos's approximation with g = 7, for x of at least 0.5. */
static tn_value log_gamma_of(imp_node *c, tn_value x)
{
    static const double f[] = {676.5203681218851,     -1259.1392167224028,  771.32342877765313,
                               -176.61502916214059,   12.507343278686905,   -0.13857109526572012,
                               9.9843695780195716e-6, 1.5056327351493116e-7};
    tn_value sum = tf_number(c, x, 0.99999999999980993), all = plus(c, x, 6.5);
    for (size_t i = 0; i < sizeof f / sizeof *f; i++) {
        tn_value top = tf_number(c, x, f[i]), under = plus(c, x, (double)i);
        sum = imp_binary(c, &tn_op_add, sum, imp_binary(c, &tn_op_divide, top, under));
    }
    tn_value power = plus(c, x, -0.5), log_all = imp_unary(c, &tn_op_log, all),
             log_sum = imp_unary(c, &tn_op_log, sum);
    tn_value y = imp_binary(c, &tn_op_subtract, product(c, power, log_all), all);
    y = imp_binary(c, &tn_op_add, y, log_sum);
    return plus(c, y, 0.91893853320467274);
}

/* Below 0.5 by reflection: log(pi / |sin(pi x)|) - log_gamma(1 - x). In float64, where terms cancel. */
static void log_gamma(imp_node *c)
{
    const double pi = 3.14159265358979324;
    tn_value in = imp_in(c, 0), x = imp_cast(c, in, TN_F64);
    tn_value below = imp_with(c, &tn_op_less, x, 0.5);
    tn_value other = imp_binary(c, &tn_op_subtract, tf_number(c, x, 1), x);
    tn_value y = log_gamma_of(c, imp_choose(c, below, other, x));
    tn_value turn = imp_binary(c, &tn_op_subtract, x, imp_unary(c, &tn_op_floor, x));
    tn_value sine = imp_unary(c, &tn_op_sin, times(c, turn, pi));
    tn_value edge = imp_unary(c, &tn_op_log, imp_binary(c, &tn_op_divide, tf_number(c, x, pi), sine));
    y = imp_choose(c, below, imp_binary(c, &tn_op_subtract, edge, y), y);
    imp_out(c, 0, imp_cast(c, y, imp_type(in)->dtype));
}

/* An asymptotic series from 6 on; up to there psi(x) = psi(x + 1) - 1 / x; below 0 by reflection. */
static void digamma(imp_node *c)
{
    static const double f[] = {0, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132};
    const double pi = 3.14159265358979324;
    tn_value in = narrow_in(c), x = imp_cast(c, in, TN_F64), one = tf_number(c, x, 1);
    tn_value below = imp_with(c, &tn_op_less, x, 0);
    tn_value at = imp_choose(c, below, imp_binary(c, &tn_op_subtract, one, x), x), taken = tf_number(c, x, 0);
    for (int i = 0; i < 6; i++)
        taken = imp_binary(c, &tn_op_add, taken, imp_binary(c, &tn_op_divide, one, plus(c, at, i)));
    at = plus(c, at, 6);
    tn_value back = imp_binary(c, &tn_op_divide, one, at);
    tn_value log_at = imp_unary(c, &tn_op_log, at), half = times(c, back, 0.5);
    tn_value y = imp_binary(c, &tn_op_subtract, log_at, half);
    y = imp_binary(c, &tn_op_subtract, y, polynomial(c, product(c, back, back), sizeof f / sizeof *f, f));
    y = imp_binary(c, &tn_op_subtract, y, taken);
    tn_value turn = times(c, imp_binary(c, &tn_op_subtract, x, imp_unary(c, &tn_op_floor, x)), pi);
    tn_value cosine = imp_unary(c, &tn_op_cos, turn), sine = imp_unary(c, &tn_op_sin, turn);
    tn_value edge = imp_binary(c, &tn_op_divide, cosine, sine);
    y = imp_choose(c, below, imp_binary(c, &tn_op_subtract, y, times(c, edge, pi)), y);
    imp_out(c, 0, imp_cast(c, y, imp_type(in)->dtype));
}

// clang-format off
const imp_row tf_rows_special[] = {
    {"BesselI0",  1, 0, 1, 1, bessel,    NULL},
    {"BesselI0e", 1, 0, 1, 1, bessel,    NULL},
    {"BesselI1",  1, 0, 1, 1, bessel,    NULL},
    {"BesselI1e", 1, 0, 1, 1, bessel,    NULL},
    {"Digamma",   1, 0, 1, 1, digamma,   NULL},
    {"Erfinv",    1, 0, 1, 1, erfinv,    NULL},
    {"Lgamma",    1, 0, 1, 1, log_gamma, NULL},
    {0},
};
// clang-format on
