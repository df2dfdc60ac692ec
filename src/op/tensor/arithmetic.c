/* Elementwise operators of two operands whose formula depends on the dtype: powers, divisions, remainders,
 * shifts by any amount.
 *
 * Operands broadcast and have one dtype. Integers divided by 0 give 0, and so does the remainder (docs/tir.md).
 */
#include "op/rule.h"
#include "op/gradient.h"

#include <math.h>

enum takes { NUMBERS, INTEGERS };
typedef const tn_expr *definition(tn_pool *p, const tn_expr *a, const tn_expr *b);

static tn_status pair_infer(tn_graph *g, tn_node *n, enum takes takes)
{
    const tn_type *t, *u, *both;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_tensor(g, n, 1, -1, &u));
    TN_TRY(tn_rule_number(g, n, 0));
    if (takes == INTEGERS && !tn_dtype_is_int(t->dtype))
        return tn_rule_fail(g, n, "op-E011", "operands must be integers, but are %s; cast them",
                            tn_rule_dtype_text(g, t->dtype));
    TN_TRY(tn_rule_same_dtype(g, n, 1));
    TN_TRY(tn_infer_broadcast(g, n, t, u, t->dtype, &both));
    return tn_rule_result(g, n, 0, t->dtype, both->n, both->dim);
}

static void pair_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[],
                         const char *name, definition *define)
{
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, name, "elementwise", NULL);
    tn_te_define(te, t,
                 define(te->pool, tn_rule_at_broadcast(te, in[0], t), tn_rule_at_broadcast(te, in[1], t)));
}

static const tn_expr *zero_of(tn_pool *p, const tn_expr *like) { return tn_const(p, like->dtype, 0); }

static const tn_expr *intrinsic(tn_pool *p, enum tn_intrin f, const tn_expr *a)
{
    return tn_intrinsic1(p, f, a);
}

/* ---- quotients ---- */

static const tn_expr *trunc_divide(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_dtype_is_float(a->dtype) ? intrinsic(p, TN_F_trunc, tn_bin(p, TN_E_DIV, a, b))
                                       : tn_bin(p, TN_E_TRUNCDIV, a, b);
}

static const tn_expr *floor_divide(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_dtype_is_float(a->dtype) ? intrinsic(p, TN_F_floor, tn_bin(p, TN_E_DIV, a, b))
                                       : tn_bin(p, TN_E_FLOORDIV, a, b);
}

/* ---- float remainders ----
 * In float64, by subtracting q * y, q being the leading 24 bits of x / y: such a product is exact (of a wide y in two
 * halves), and so is the difference. Each round makes x / y 2^23 times smaller, which is exact in the end for all
 * numbers of 32 bits or less. A quotient of float64 from 2^92 on gives NaN. */

static int rounds_of(tn_dtype t)
{
    return t.bits == 64                         ? 4
           : t.bits == 16 && t.code == TN_FLOAT ? 2
                                                : 13; /* |a / b| < 2^40 of float16, else 2^278 */
}

static const tn_expr *keep_bits(tn_pool *p, const tn_expr *x, int dropped)
{
    const tn_dtype bits = TN_DT(TN_UINT, 64);
    const tn_expr *mask = tn_int(p, bits, (int64_t)(~UINT64_C(0) << dropped));
    return tn_bitcast(p, TN_F64, tn_bin(p, TN_E_BITAND, tn_bitcast(p, bits, x), mask));
}

static const tn_expr *remainder_round(tn_pool *p, const tn_expr *x, const tn_expr *y, bool wide)
{
    const tn_expr *q = intrinsic(p, TN_F_trunc, keep_bits(p, tn_bin(p, TN_E_DIV, x, y), 29));
    if (!wide)
        return tn_sub(p, x, tn_mul(p, q, y));
    const tn_expr *high = keep_bits(p, y, 27), *low = tn_sub(p, y, high);
    return tn_sub(p, tn_sub(p, x, tn_mul(p, q, high)), tn_mul(p, q, low));
}

static const tn_expr *float_mod(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    tn_dtype t = a->dtype;
    const tn_expr *x = intrinsic(p, TN_F_abs, tn_cast(p, TN_F64, a)),
                  *y = intrinsic(p, TN_F_abs, tn_cast(p, TN_F64, b)), *r = x,
                  *inf = tn_flt(p, TN_F64, (double)INFINITY);
    for (int i = 0; i < rounds_of(t); i++)
        r = remainder_round(p, r, y, t.bits == 64);
    r = tn_select(p, tn_lt(p, r, zero_of(p, r)), tn_add(p, r, y), r);
    r = tn_select(p, tn_le(p, y, r), tn_sub(p, r, y), r);
    if (t.bits == 64)
        r = tn_select(p, tn_lt(p, r, y), r, tn_flt(p, TN_F64, (double)NAN));
    const tn_expr *whole = tn_and(p, tn_eq(p, y, inf), tn_lt(p, x, inf)); /* a itself */
    const tn_expr *minus = tn_bin(p, TN_E_MUL, r, tn_flt(p, TN_F64, -1));
    r = tn_cast(p, t, tn_select(p, tn_lt(p, a, zero_of(p, a)), minus, r));
    return tn_select(p, whole, a, r);
}

static const tn_expr *mod(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_dtype_is_float(a->dtype) ? float_mod(p, a, b) : tn_bin(p, TN_E_TRUNCMOD, a, b);
}

/* The remainder with b's sign: of a zero, too. */
static const tn_expr *floor_mod(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    if (!tn_dtype_is_float(a->dtype))
        return tn_bin(p, TN_E_FLOORMOD, a, b);
    const tn_expr *r = float_mod(p, a, b), *zero = zero_of(p, a);
    const tn_expr *b_below = tn_lt(p, b, zero), *differ = tn_bin(p, TN_E_NE, tn_lt(p, r, zero), b_below);
    const tn_expr *signed_zero = tn_select(p, b_below, tn_flt(p, a->dtype, -0.0), zero);
    return tn_select(p, tn_eq(p, r, zero), signed_zero, tn_select(p, differ, tn_add(p, r, b), r));
}

/* ---- shifts: beyond the width, or negative, only the sign is left ---- */

static const tn_expr *shifted(tn_pool *p, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    tn_dtype t = a->dtype;
    const tn_expr *zero = zero_of(p, a), *bits = tn_int(p, t, t.bits), *last = tn_int(p, t, t.bits - 1);
    const tn_expr *inside =
        t.code == TN_UINT ? tn_lt(p, b, bits) : tn_and(p, tn_le(p, zero, b), tn_lt(p, b, bits));
    const tn_expr *gone = k == TN_E_SHR && t.code == TN_INT ? tn_bin(p, TN_E_SHR, a, last) : zero;
    return tn_select(p, inside, tn_bin(p, k, a, tn_bin(p, TN_E_BITAND, b, last)), gone);
}

static const tn_expr *left_shift(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return shifted(p, TN_E_SHL, a, b);
}

static const tn_expr *right_shift(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return shifted(p, TN_E_SHR, a, b);
}

/* ---- power ---- */

/* By squaring: of exponents from 64 on only the parity matters, the product has overflowed unless |a| < 2. A negative
 * exponent gives 1 / a^-b, truncated: 0 unless |a| = 1 (and 0 where a is 0). */
static const tn_expr *integer_power(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    tn_dtype t = a->dtype;
    const tn_expr *one = tn_int(p, t, 1), *zero = zero_of(p, a), *r = one, *square = a;
    const tn_expr *odd = tn_eq(p, tn_bin(p, TN_E_BITAND, b, one), one), *top = tn_int(p, t, 62);
    const tn_expr *e = tn_select(p, tn_lt(p, top, b), tn_select(p, odd, tn_int(p, t, 63), top), b);
    for (int k = 0; k < 6; k++) {
        const tn_expr *bit = tn_bin(p, TN_E_BITAND, tn_bin(p, TN_E_SHR, e, tn_int(p, t, k)), one);
        r = tn_select(p, tn_eq(p, bit, one), tn_mul(p, r, square), r);
        square = tn_mul(p, square, square);
    }
    if (t.code == TN_UINT)
        return r;
    const tn_expr *minus = tn_int(p, t, -1), *unit = tn_select(p, tn_eq(p, a, one), one, zero);
    const tn_expr *inverse = tn_select(p, tn_eq(p, a, minus), tn_select(p, odd, minus, one), unit);
    return tn_select(p, tn_lt(p, b, zero), inverse, r);
}

static const tn_expr *power(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    const tn_expr *arg[2] = {a, b};
    return tn_dtype_is_float(a->dtype) ? tn_intrinsic(p, TN_F_pow, 2, arg) : integer_power(p, a, b);
}

/* ---- records ---- */

static bool pair_value(tn_graph *g, const tn_node *n, const tn_dims in[], tn_dims out[], definition *of)
{
    const tn_expr *operand[] = {tn_var(g->pool, TN_IDX, 0), tn_var(g->pool, TN_IDX, 1)};
    return tn_rule_pair_value(g, n, in, of(g->pool, operand[0], operand[1]), operand, out);
}

/* clang-format off */
#define PAIR(id, takes, more, value, derivative, says) \
    static tn_status id##_infer(tn_graph *g, tn_node *n) \
    { \
        return pair_infer(g, n, takes); \
    } \
    static void id##_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[]) \
    { \
        pair_compute(te, n, in, out, #id, id); \
    } \
    const tn_op tn_op_##id = { \
        .name = #id, .doc = says, .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_BROADCAST, \
        .flags = TN_OP_BROADCASTS | (more), .simplify = tn_simplify_formula, \
        .scale = tn_scale_formula, .permute = tn_permute_elementwise, \
        .infer = id##_infer, .layout = tn_layout_same, .compute = id##_compute, .shape_value = value, \
        .gradient = derivative, \
    };

#define DIVISION(id, says) \
    static bool id##_value(tn_graph *g, const tn_node *n, const tn_dims in[], tn_dims out[]) \
    { \
        return pair_value(g, n, in, out, id); \
    } \
    PAIR(id, NUMBERS, TN_OP_HOST_INDEX, id##_value, NULL, says)

PAIR(power, NUMBERS, 0, NULL, tn_gradient_power, "a to the b; integers wrap, and truncate where b is negative.")
DIVISION(trunc_divide, "Quotient rounded to 0; 0 where an integer b is 0.")
DIVISION(floor_divide, "Quotient rounded down; 0 where an integer b is 0.")
DIVISION(mod, "Remainder with the sign of a (C's fmod); 0 where an integer b is 0.")
DIVISION(floor_mod, "Remainder with the sign of b; 0 where an integer b is 0.")
PAIR(left_shift, INTEGERS, 0, NULL, NULL, "a * 2^b, wrapping; 0 where b is negative or at least the width.")
PAIR(right_shift, INTEGERS, 0, NULL, NULL,
     "a / 2^b, down; where b is negative or at least the width, -1 if a < 0, else 0.")
/* clang-format on */
