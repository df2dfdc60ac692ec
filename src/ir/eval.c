/* What each scalar operation computes.
 *
 * Integers live in 64 bits, sign- or zero-extended; index is int64 with overflow refused. float64 and float32 are
 * computed in their own type, smaller floats in double and rounded once: 53 bits are at least 2p + 2 for p =
 * 11 and less, so rounding twice gives the same value (Figueroa 1995); fma of small floats goes through
 * rounding to odd. The floating environment must round to nearest even and this file must not be compiled
 * with contraction or -ffast-math.
 */
#include "ir/eval.h"

#include "base/size.h"

#include <float.h>
#include <math.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0, "float32 must be computed in float");

/* ---- bits of floats: NaN payloads survive, so moving data never changes it ---- */

static uint64_t bits_of_double(double d)
{
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    return u;
}

static double double_of_bits(uint64_t u)
{
    double d;
    memcpy(&d, &u, sizeof d);
    return d;
}

static const tn_encoding float_encoding = {8, 23, 127, TN_IEEE}, half_encoding = {5, 10, 15, TN_IEEE};

static uint64_t ones(int n) { return (UINT64_C(1) << n) - 1; }

/* Is the magnitude `m` of sign `sign` a NaN or infinity? */
static bool is_special(tn_encoding f, uint64_t m, uint64_t sign)
{
    return f.specials == TN_NAN_AT_NEG ? sign && m == 0 : m > tn_encoding_largest(f);
}

static double widen(uint64_t bits, tn_encoding f)
{
    uint64_t sign = f.specials == TN_POWERS ? 0 : bits >> (f.exp + f.man) & 1;
    uint64_t m = bits & ones(f.exp + f.man), man = m & ones(f.man);
    int exp = (int)(m >> f.man);
    if (is_special(f, m, sign)) {
        bool nan = f.specials != TN_IEEE || man != 0;
        uint64_t payload = f.specials == TN_IEEE ? man << (52 - f.man) : (uint64_t)nan << 51;
        return double_of_bits(sign << 63 | UINT64_C(0x7ff) << 52 | payload);
    }
    double v = exp == 0 && f.specials != TN_POWERS
                   ? ldexp((double)man, 1 - f.bias - f.man)
                   : double_of_bits((uint64_t)(exp - f.bias + 1023) << 52 | man << (52 - f.man));
    return sign ? -v : v;
}

/* What a number too large in magnitude for f becomes. */
static double overflowed(double d, tn_dtype t, tn_encoding f)
{
    switch (f.specials) {
    case TN_IEEE: return copysign((double)INFINITY, d);
    case TN_NO_SPECIAL: return copysign(tn_dtype_largest(t), d);
    default: return copysign((double)NAN, d);
    }
}

/* The nearest power of two, of two the larger one, at least the smallest there is. What is not positive is NaN. */
static double round_to_power(double d, tn_dtype t)
{
    int e;
    if (!(d > 0) || isinf(d))
        return (double)NAN;
    double m = frexp(d, &e), r = ldexp(1, m >= 0.75 ? e : e - 1); /* d = m * 2^e with m in [0.5, 1) */
    return r > tn_dtype_largest(t) ? (double)NAN : fmax(r, tn_dtype_smallest(t));
}

/* d rounded to nearest even in the float type t, which is narrower than double. */
static double round_to(double d, tn_dtype t)
{
    tn_encoding f = tn_dtype_encoding(t);
    int e;
    if (f.specials == TN_POWERS)
        return round_to_power(d, t);
    if (d != d)
        return f.specials == TN_NO_SPECIAL ? -0.0 : d;
    if (d == 0)
        return f.specials == TN_NAN_AT_NEG ? 0.0 : d;
    if (isinf(d))
        return overflowed(d, t, f);
    frexp(d, &e); /* |d| = m * 2^e with m in [0.5, 1) */
    int quantum = (e - 1 < 1 - f.bias ? 1 - f.bias : e - 1) - f.man;
    double r = ldexp(rint(ldexp(d, -quantum)), quantum);
    if (fabs(r) > tn_dtype_largest(t))
        return overflowed(d, t, f);
    return r == 0 && f.specials == TN_NAN_AT_NEG ? 0.0 : r;
}

/* The bits of the NaN or infinity d. A NaN keeps the upper part of its payload where there is one, but stays a NaN. */
static uint64_t narrow_special(double d, tn_encoding f)
{
    uint64_t u = bits_of_double(d), sign = u >> 63 << (f.exp + f.man), man = u & ones(52);
    if (f.specials == TN_NAN_AT_NEG)
        return UINT64_C(1) << (f.exp + f.man);
    if (f.specials != TN_IEEE)
        return (f.specials == TN_POWERS ? 0 : sign) | ones(f.exp + f.man);
    uint64_t payload = man >> (52 - f.man);
    return sign | ones(f.exp) << f.man | (man != 0 && payload == 0 ? UINT64_C(1) << (f.man - 1) : payload);
}

/* The bits of d, which is a value of format f. */
static uint64_t narrow(double d, tn_encoding f)
{
    uint64_t u = bits_of_double(d), sign = u >> 63 << (f.exp + f.man), man = u & ones(52);
    int exp = (int)(u >> 52 & 0x7ff) - 1023;
    if (exp == 1024)
        return narrow_special(d, f);
    if (exp < 1 - f.bias && f.specials != TN_POWERS)
        return sign | (uint64_t)ldexp(fabs(d), f.bias - 1 + f.man);
    return sign | (uint64_t)(exp + f.bias) << f.man | man >> (52 - f.man);
}

static float to_f32(double d)
{
    if (d == d)
        return (float)d;
    uint32_t u = (uint32_t)narrow(d, float_encoding);
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static double from_f32(float f)
{
    uint32_t u;
    if (f == f)
        return (double)f;
    memcpy(&u, &f, sizeof u);
    return widen(u, float_encoding);
}

float tn_half_to_float(uint16_t h) { return to_f32(widen(h, half_encoding)); }

uint16_t tn_float_to_half(float f)
{
    double d = from_f32(f);
    if (d != d) /* quiet, as the hardware does */
        d = double_of_bits(bits_of_double(d) | UINT64_C(1) << 51);
    return (uint16_t)narrow(round_to(d, TN_F16), half_encoding);
}

/* d rounded to the float type t. */
static double round_float(tn_dtype t, double d)
{
    return t.bits == 64 ? d : t.bits < 32 ? round_to(d, t) : d != d ? d : (double)(float)d;
}

/* ---- integers ---- */

static bool is_unsigned(tn_dtype t) { return t.code == TN_UINT || t.code == TN_BOOL; }

static int64_t wrap(tn_dtype t, uint64_t v)
{
    if (tn_dtype_is_bool(t))
        return v != 0;
    if (t.bits >= 64)
        return (int64_t)v;
    uint64_t mask = (UINT64_C(1) << t.bits) - 1, sign = UINT64_C(1) << (t.bits - 1);
    v &= mask;
    return is_unsigned(t) ? (int64_t)v : (int64_t)((v ^ sign) - sign);
}

/* An integer whose conversion to double, exact, rounds to every narrower format as the integer itself would. */
static double odd_double(uint64_t m)
{
    if (m >> 53)
        m = (m & ~UINT64_C(0x7ff)) | (uint64_t)((m & 0x7ff) != 0) << 11;
    return (double)m;
}

static double int_to_float(tn_dtype from, tn_dtype to, int64_t i)
{
    bool neg = !is_unsigned(from) && i < 0;
    uint64_t m = neg ? 0 - (uint64_t)i : (uint64_t)i;
    if (tn_dtype_is_small(to))
        return round_to(neg ? -odd_double(m) : odd_double(m), to);
    double d = to.bits == 64 ? (double)m : (double)(float)m;
    return neg ? -d : d;
}

static int64_t float_to_int(tn_dtype to, double d)
{
    int width = is_unsigned(to) ? to.bits : to.bits - 1;
    double limit = ldexp(1, width); /* first value too large */
    if (tn_dtype_is_bool(to))
        return d != 0;
    if (d != d)
        return 0;
    if (d >= limit)
        return wrap(to, (width == 64 ? 0 : UINT64_C(1) << width) - 1);
    if (is_unsigned(to))
        return d <= -1 ? 0 : (int64_t)(uint64_t)d;
    return d < -limit ? wrap(to, UINT64_C(1) << width) : (int64_t)d;
}

tn_scalar tn_eval_cast(tn_dtype from, tn_dtype to, tn_scalar v)
{
    bool from_float = tn_dtype_is_float(from), to_float = tn_dtype_is_float(to);
    if (from_float)
        return to_float ? (tn_scalar){.f = round_float(to, v.f)} : (tn_scalar){.i = float_to_int(to, v.f)};
    return to_float ? (tn_scalar){.f = int_to_float(from, to, v.i)}
                    : (tn_scalar){.i = wrap(to, (uint64_t)v.i)};
}

/* Sum, difference or product; false where an index overflows. */
static bool int_sum(enum tn_ek k, tn_dtype t, int64_t a, int64_t b, int64_t *out)
{
    if (tn_dtype_is_index(t))
        return k == TN_E_ADD   ? tn_i64_add(a, b, out)
               : k == TN_E_SUB ? tn_i64_sub(a, b, out)
                               : tn_i64_mul(a, b, out);
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    *out = wrap(t, k == TN_E_ADD ? x + y : k == TN_E_SUB ? x - y : x * y);
    return true;
}

/* By 0: undefined for an index, 0 for data. */
static bool int_quotient(enum tn_ek k, tn_dtype t, int64_t a, int64_t b, int64_t *out)
{
    bool modulo = k == TN_E_FLOORMOD || k == TN_E_TRUNCMOD;
    if (b == 0) {
        *out = 0;
        return !tn_dtype_is_index(t);
    }
    if (is_unsigned(t)) {
        *out = (int64_t)(modulo ? (uint64_t)a % (uint64_t)b : (uint64_t)a / (uint64_t)b);
        return true;
    }
    if (b == -1) /* the one quotient that may overflow */
        return modulo ? (*out = 0, true) : int_sum(TN_E_SUB, t, 0, a, out);
    switch (k) {
    case TN_E_FLOORDIV: *out = tn_floordiv(a, b); break;
    case TN_E_FLOORMOD: *out = tn_floormod(a, b); break;
    case TN_E_TRUNCDIV: *out = a / b; break;
    default: *out = a % b; break;
    }
    return true;
}

static bool int_shift(enum tn_ek k, tn_dtype t, int64_t a, int64_t b, int64_t *out)
{
    if (b < 0 || b >= t.bits)
        return false;
    if (k == TN_E_SHL)
        *out = wrap(t, (uint64_t)a << b);
    else
        *out = is_unsigned(t) ? (int64_t)((uint64_t)a >> b) : a >= 0 ? a >> b : ~(~a >> b);
    return true;
}

static bool int_less(tn_dtype t, int64_t a, int64_t b)
{
    return is_unsigned(t) ? (uint64_t)a < (uint64_t)b : a < b;
}

/* Operations over integers, index and bool. */
/* acc + the sum of products of the bytes of a and of b. */
static int64_t dot4(enum tn_intrin f, int64_t acc, int64_t a, int64_t b)
{
    for (int k = 0; k < 4; k++) {
        uint8_t x = (uint8_t)(a >> (8 * k)), w = (uint8_t)(b >> (8 * k));
        acc += (int64_t)(f == TN_F_dot4ss ? (int8_t)x : x) * (f == TN_F_dot4uu ? w : (int8_t)w);
    }
    return wrap(TN_I32, (uint64_t)acc);
}

static bool int_op(enum tn_ek k, tn_dtype t, tn_payload u, tn_dtype in_t, const tn_scalar in[],
                   tn_scalar *out)
{
    bool two = tn_eks[k].nsrc > 1 || (k == TN_E_CALL && tn_intrins[u.call.id].nargs > 1);
    int64_t a = in[0].i, b = two ? in[1].i : 0, r = 0;
    switch (k) {
    case TN_E_ADD:
    case TN_E_SUB:
    case TN_E_MUL:
        if (!int_sum(k, t, a, b, &r))
            return false;
        break;
    case TN_E_FLOORDIV:
    case TN_E_FLOORMOD:
    case TN_E_TRUNCDIV:
    case TN_E_TRUNCMOD:
        if (!int_quotient(k, t, a, b, &r))
            return false;
        break;
    case TN_E_SHL:
    case TN_E_SHR:
        if (!int_shift(k, t, a, b, &r))
            return false;
        break;
    case TN_E_MIN: r = int_less(t, b, a) ? b : a; break;
    case TN_E_MAX: r = int_less(t, a, b) ? b : a; break;
    case TN_E_EQ: r = a == b; break;
    case TN_E_NE: r = a != b; break;
    case TN_E_LT: r = int_less(in_t, a, b); break;
    case TN_E_LE: r = !int_less(in_t, b, a); break;
    case TN_E_AND:
    case TN_E_BITAND: r = a & b; break;
    case TN_E_OR:
    case TN_E_BITOR: r = a | b; break;
    case TN_E_BITXOR: r = a ^ b; break;
    case TN_E_NOT: r = !a; break;
    case TN_E_CALL:
        if (tn_intrin_is_dot4(u.call.id)) {
            out->i = dot4((enum tn_intrin)u.call.id, a, b, in[2].i);
            return true;
        }
        if (u.call.id != TN_F_abs)
            return false;
        r = a;
        if (a < 0 && !is_unsigned(t) && !int_sum(TN_E_SUB, t, 0, a, &r))
            return false;
        break;
    default: return false;
    }
    out->i = r;
    return true;
}

/* ---- floats ---- */

/* a * b + c rounded once to a small format: the product is exact in double, the sum is rounded to odd there. */
static double fma_small(tn_dtype t, double a, double b, double c)
{
    double p = a * b, s = p + c;
    if (!isfinite(s))
        return s;
    double v = s - p, error = (p - (s - v)) + (c - v); /* Knuth's two-sum: p + c = s + error */
    if (error != 0 && (bits_of_double(s) & 1) == 0)
        s = nextafter(s, error > 0 ? (double)INFINITY : -(double)INFINITY);
    return round_float(t, s);
}

static double call_double(uint32_t id, double x, double y)
{
    switch (id) {
    case TN_F_exp: return exp(x);
    case TN_F_log: return log(x);
    case TN_F_tanh: return tanh(x);
    case TN_F_sigmoid: return 1 / (1 + exp(-x));
    case TN_F_erf: return erf(x);
    case TN_F_expm1: return expm1(x);
    case TN_F_log1p: return log1p(x);
    case TN_F_ncdf: return 0.5 * erfc(-x * 0.70710678118654752440);
    case TN_F_pow: return pow(x, y);
    case TN_F_sin: return sin(x);
    case TN_F_cos: return cos(x);
    case TN_F_tan: return tan(x);
    case TN_F_asin: return asin(x);
    case TN_F_acos: return acos(x);
    case TN_F_atan: return atan(x);
    case TN_F_sinh: return sinh(x);
    case TN_F_cosh: return cosh(x);
    case TN_F_asinh: return asinh(x);
    case TN_F_acosh: return acosh(x);
    case TN_F_atanh: return atanh(x);
    case TN_F_sqrt: return sqrt(x);
    case TN_F_abs: return double_of_bits(bits_of_double(x) << 1 >> 1);
    case TN_F_floor: return floor(x);
    case TN_F_ceil: return ceil(x);
    case TN_F_trunc: return trunc(x);
    default: return rint(x);
    }
}

/* One operation in double, and the same in float. */
static bool op_double(enum tn_ek k, tn_payload u, double a, double b, double c, double *out)
{
    switch (k) {
    case TN_E_ADD: *out = a + b; return true;
    case TN_E_SUB: *out = a - b; return true;
    case TN_E_MUL: *out = a * b; return true;
    case TN_E_DIV: *out = a / b; return true;
    case TN_E_FMA: *out = fma(a, b, c); return true;
    case TN_E_CALL: *out = call_double(u.call.id, a, b); return true;
    default: return false;
    }
}

static bool op_single(enum tn_ek k, tn_payload u, double x, double y, double z, double *out)
{
    float a = to_f32(x), b = to_f32(y), c = to_f32(z), r;
    switch (k) {
    case TN_E_ADD: r = a + b; break;
    case TN_E_SUB: r = a - b; break;
    case TN_E_MUL: r = a * b; break;
    case TN_E_DIV: r = a / b; break;
    case TN_E_FMA: r = fmaf(a, b, c); break;
    case TN_E_CALL: r = u.call.id == TN_F_sqrt ? sqrtf(a) : to_f32(call_double(u.call.id, x, y)); break;
    default: return false;
    }
    *out = from_f32(r);
    return true;
}

/* a + the products of the bfloat16 in b and c, that of the upper ones first. */
static double dot2bf(double a, int64_t b, int64_t c)
{
    float sum = to_f32(a);
    for (int shift = 16; shift >= 0; shift -= 16) {
        const tn_encoding e = tn_dtype_encoding(TN_DT(TN_BFLOAT, 16));
        double x = widen((uint64_t)b >> shift & 0xffff, e), w = widen((uint64_t)c >> shift & 0xffff, e);
        sum = fmaf(to_f32(x), to_f32(w), sum);
    }
    return from_f32(sum);
}

static bool float_op(enum tn_ek k, tn_dtype t, tn_payload u, const tn_scalar in[], tn_scalar *out)
{
    int n = k == TN_E_CALL ? tn_intrins[u.call.id].nargs : tn_eks[k].nsrc;
    double a = in[0].f, b = n > 1 ? in[1].f : 0, c = n > 2 ? in[2].f : 0, r;
    switch (k) {
    case TN_E_MIN: out->f = b < a || isnan(b) ? b : a; return true;
    case TN_E_MAX: out->f = b > a || isnan(b) ? b : a; return true;
    case TN_E_EQ: out->i = a == b; return true;
    case TN_E_NE: out->i = a != b; return true;
    case TN_E_LT: out->i = a < b; return true;
    case TN_E_LE: out->i = a <= b; return true;
    default: break;
    }
    if (k == TN_E_CALL && u.call.id == TN_F_isnan) {
        out->i = a != a;
        return true;
    }
    if (t.bits == 32) {
        if (!op_single(k, u, a, b, c, &r))
            return false;
    } else if (t.bits < 32 && k == TN_E_FMA) {
        r = fma_small(t, a, b, c);
    } else {
        if (!op_double(k, u, a, b, c, &r))
            return false;
        r = round_float(t, r);
    }
    out->f = r;
    return true;
}

/* ---- */

tn_scalar tn_scalar_read(tn_dtype t, const void *p)
{
    const uint8_t *b = p;
    uint64_t u = 0;
    uint32_t n = tn_dtype_bytes(tn_dtype_lanes(t, 1));
    for (uint32_t i = 0; i < n; i++)
        u |= (uint64_t)b[i] << (8 * i);
    return tn_dtype_is_float(t) ? (tn_scalar){.f = widen(u, tn_dtype_encoding(t))}
                                : (tn_scalar){.i = wrap(t, u)};
}

static uint64_t memory_bits(tn_dtype t, tn_scalar v)
{
    return !tn_dtype_is_float(t) ? (uint64_t)v.i & (t.bits < 8 ? ones(t.bits) : ~UINT64_C(0))
           : t.bits == 64        ? bits_of_double(v.f)
                                 : narrow(v.f, tn_dtype_encoding(t));
}

void tn_scalar_write(tn_dtype t, void *p, tn_scalar v)
{
    uint8_t *b = p;
    uint64_t u = memory_bits(t, v);
    uint32_t n = tn_dtype_bytes(tn_dtype_lanes(t, 1));
    for (uint32_t i = 0; i < n; i++)
        b[i] = (uint8_t)(u >> (8 * i));
}

bool tn_eval_op(enum tn_ek k, tn_dtype t, tn_payload u, tn_dtype in_t, int n, const tn_scalar in[],
                tn_scalar *out)
{
    if (k == TN_E_INT || k == TN_E_FLOAT) {
        *out = k == TN_E_INT ? (tn_scalar){.i = u.i} : (tn_scalar){.f = u.f};
        return true;
    }
    if (n == 0 || (k == TN_E_CALL && u.call.id >= TN_F_COUNT))
        return false;
    if (k == TN_E_CAST) {
        if (tn_dtype_is_index(t) && is_unsigned(in_t) && in[0].i < 0) /* uint64 beyond what an index holds */
            return false;
        *out = tn_eval_cast(in_t, t, in[0]);
        return true;
    }
    if (k == TN_E_BITCAST) {
        uint8_t bytes[8] = {0};
        tn_scalar_write(in_t, bytes, in[0]);
        *out = tn_scalar_read(t, bytes);
        return true;
    }
    if (k == TN_E_CALL && u.call.id == TN_F_dot2bf) {
        out->f = dot2bf(in[0].f, in[1].i, in[2].i);
        return true;
    }
    return tn_dtype_is_float(in_t) ? float_op(k, t, u, in, out) : int_op(k, t, u, in_t, in, out);
}

void tn_magnitude_add(tn_magnitude *m, tn_dtype t, const void *at, int64_t n)
{
    const bool single = tn_dtype_eq(t, TN_F32);
    const char *p = at;
    for (int64_t i = 0; i < n; i++, p += tn_dtype_bytes(t)) {
        float x = 0;
        if (single)
            memcpy(&x, p, sizeof x);
        double v = fabs(single ? (double)x : tn_scalar_read(t, p).f);
        m->most = v > m->most && v <= DBL_MAX ? v : m->most;
        m->least = v > 0 && v < m->least ? v : m->least;
    }
}
