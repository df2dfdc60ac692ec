/* LowerSmall: what no machine computes with becomes what all do.
 *
 * Arithmetic on floats below 32 bits is float32 arithmetic between conversions. What stays of 16-bit floats are loads,
 * stores, select, bitcast and, where the machine has instructions for it, conversions between float16 and float32. Of
 * floats of 8 bits or less nothing stays: they are their bits, uint8. All other conversions become integer arithmetic
 * on bits: libraries and bfloat16 instructions (which flush denormals) are not asked. Nests of units stay as they are:
 * denormals in them may count as 0.
 *
 * float32 has 24 >= 2 * 11 + 2 bits of precision, so rounding twice is rounding once (Figueroa 1995) for + -
 * * / and sqrt. float64 and wide integers go to float32 by rounding to odd, which keeps the second rounding
 * exact.
 *
 * Integers of 2 and 4 bits become int8 and uint8 of the same value. Memory holds their bits and zeros.
 */
#include "ir/eval.h"
#include "lower/lower_impl.h"

#include <math.h>
#include <string.h>

typedef const tn_expr *ex;
typedef struct {
    tn_func *f;
    bool native;
} small; /* native: the machine converts float16 */

static bool is_bits(tn_dtype t) { return tn_dtype_is_minifloat(t); }
static bool is_tiny(tn_dtype t) { return tn_dtype_is_int(t) && t.bits < 8; }

static ex u32(tn_pool *p, ex a, int64_t v)
{
    return tn_int(p, tn_dtype_lanes(TN_DT(TN_UINT, 32), a->dtype.lanes), v);
}
static ex op(tn_pool *p, enum tn_ek k, ex a, int64_t v) { return tn_bin(p, k, a, tn_int(p, a->dtype, v)); }
static ex as_real(tn_pool *p, ex bits)
{
    return tn_bitcast(p, tn_dtype_lanes(TN_F32, bits->dtype.lanes), bits);
}

static ex as_bits(tn_pool *p, ex a)
{
    return tn_bitcast(p, tn_dtype_lanes(TN_DT(TN_UINT, a->dtype.bits), a->dtype.lanes), a);
}

static int64_t sign_bit(tn_encoding f) { return INT64_C(1) << (f.exp + f.man); }

/* ---- to float32; a: 16-bit floats as they are, others as their bits ---- */

static ex wide_bits(tn_pool *p, ex a)
{
    return tn_cast(p, TN_DT(TN_UINT, 32), tn_dtype_is_float(a->dtype) ? as_bits(p, a) : a);
}

enum { QUIET_NAN = 0x7fc00000 };

static ex from_power(tn_pool *p, ex b)
{
    ex r = op(p, TN_E_SHL, b, 23);
    r = tn_select(p, tn_eq(p, b, u32(p, b, 0)), u32(p, b, 0x400000), r);
    return as_real(p, tn_select(p, tn_eq(p, b, u32(p, b, 255)), u32(p, b, QUIET_NAN), r));
}

/* b: the encoding as u32. Denormals are their integer times the quantum, others a shift and another bias. */
static ex from_encoding(tn_pool *p, tn_encoding f, ex b)
{
    int64_t sign = sign_bit(f), top = ((INT64_C(1) << f.exp) - 1) << f.man;
    ex m = op(p, TN_E_BITAND, b, sign - 1), up = op(p, TN_E_SHL, m, 23 - f.man);
    tn_dtype t = tn_dtype_lanes(TN_F32, b->dtype.lanes);
    ex tiny = tn_mul(p, tn_cast(p, TN_F32, m), tn_flt(p, t, ldexp(1, 1 - f.bias - f.man)));
    ex normal = op(p, TN_E_ADD, up, (INT64_C(127) - f.bias) << 23);
    ex r = tn_select(p, tn_lt(p, m, u32(p, m, INT64_C(1) << f.man)), as_bits(p, tiny), normal);
    if (f.specials == TN_IEEE)
        r = tn_select(p, tn_lt(p, m, u32(p, m, top)), r,
                      op(p, TN_E_ADD, up, (INT64_C(256) - (INT64_C(1) << f.exp)) << 23));
    if (f.specials == TN_ONE_NAN)
        r = tn_select(p, tn_eq(p, m, u32(p, m, sign - 1)), u32(p, m, QUIET_NAN), r);
    r = tn_bin(p, TN_E_BITOR, r, op(p, TN_E_SHL, op(p, TN_E_BITAND, b, sign), 31 - f.exp - f.man));
    if (f.specials == TN_NAN_AT_NEG)
        r = tn_select(p, tn_eq(p, b, u32(p, b, sign)), u32(p, m, QUIET_NAN), r);
    return as_real(p, r);
}

/* t: the type of which a is a value. Of a value chosen among others that are wide already (the larger of a sum and 0),
 * the choice among these. */
static ex to_float(const small *h, tn_dtype t, ex a)
{
    tn_pool *p = h->f->pool;
    if (a->kind == TN_E_SELECT) {
        ex x = to_float(h, t, a->src[1]), y = to_float(h, t, a->src[2]);
        return tn_select(p, a->src[0], x, y);
    }
    if (t.code == TN_BFLOAT)
        return as_real(p, op(p, TN_E_SHL, wide_bits(p, a), 16));
    if (t.code == TN_FLOAT && h->native)
        return tn_cast(p, TN_F32, a);
    tn_encoding f = tn_dtype_encoding(t);
    return f.specials == TN_POWERS ? from_power(p, wide_bits(p, a)) : from_encoding(p, f, wide_bits(p, a));
}

/* ---- from float32 ---- */

/* The low bits of u32 as a value of t. */
static ex narrow_bits(tn_pool *p, tn_dtype t, ex bits)
{
    if (is_bits(t))
        return tn_cast(p, TN_U8, bits);
    return tn_bitcast(p, tn_dtype_lanes(t, bits->dtype.lanes), tn_cast(p, TN_DT(TN_UINT, t.bits), bits));
}

/* b rounded to a multiple of 2^n, ties to even, in the bits above; b is the magnitude of a number. */
static ex round_bits(tn_pool *p, ex b, int n)
{
    ex even = op(p, TN_E_BITAND, op(p, TN_E_SHR, b, n), 1);
    return op(p, TN_E_SHR, tn_add(p, op(p, TN_E_ADD, b, (INT64_C(1) << (n - 1)) - 1), even), n);
}

static ex to_bfloat16(tn_pool *p, tn_dtype t, ex a)
{
    ex b = as_bits(p, a), quiet = op(p, TN_E_BITOR, op(p, TN_E_SHR, b, 16), 0x40);
    return narrow_bits(p, t, tn_select(p, tn_intrinsic1(p, TN_F_isnan, a), quiet, round_bits(p, b, 16)));
}

/* Adding half of 2^-126 and shifting rounds normal numbers, ties up; there are two powers below them. */
static ex to_power(tn_pool *p, ex a)
{
    ex b = as_bits(p, a), r = op(p, TN_E_SHR, op(p, TN_E_ADD, b, 0x400000), 23);
    ex low = tn_cast(p, TN_DT(TN_UINT, 32), tn_le(p, u32(p, b, 0x600000), b));
    r = tn_select(p, tn_lt(p, b, u32(p, b, 0x800000)), low, r);
    return tn_select(p, tn_lt(p, tn_flt(p, a->dtype, 0), a), r, u32(p, b, 255));
}

/* Magnitudes: adding 2^23 quanta rounds to a multiple of the quantum of denormals; the others are rounded as bits. */
static ex round_magnitude(tn_pool *p, tn_encoding f, ex m)
{
    ex quanta = tn_flt(p, tn_dtype_lanes(TN_F32, m->dtype.lanes), ldexp(1, 24 - f.bias - f.man));
    ex tiny = tn_sub(p, as_bits(p, tn_add(p, as_real(p, m), quanta)), as_bits(p, quanta));
    ex normal = op(p, TN_E_SUB, round_bits(p, m, 23 - f.man), (INT64_C(127) - f.bias) << f.man);
    return tn_select(p, tn_lt(p, m, u32(p, m, (INT64_C(128) - f.bias) << 23)), tiny, normal);
}

/* The encoding of a as u32. NaN is beyond the largest number, as its bits are. */
static ex to_encoding(tn_pool *p, tn_encoding f, ex a)
{
    ex b = as_bits(p, a), m = op(p, TN_E_BITAND, b, 0x7fffffff), r = round_magnitude(p, f, m);
    int64_t sign = sign_bit(f), largest = (int64_t)tn_encoding_largest(f);
    int64_t over = f.specials == TN_NO_SPECIAL ? largest : largest + 1;
    ex large = tn_lt(p, u32(p, m, largest), r), nan = tn_intrinsic1(p, TN_F_isnan, a);
    ex sign_of = op(p, TN_E_BITAND, op(p, TN_E_SHR, b, 31 - f.exp - f.man), sign);
    if (f.specials == TN_NAN_AT_NEG) {
        ex some = tn_select(p, tn_eq(p, r, u32(p, m, 0)), r, tn_bin(p, TN_E_BITOR, r, sign_of));
        return tn_select(p, large, u32(p, m, sign), some);
    }
    r = tn_select(p, large, u32(p, m, over), r);
    if (f.specials == TN_IEEE)
        r = tn_select(p, nan, u32(p, m, over | INT64_C(1) << (f.man - 1)), r);
    r = tn_bin(p, TN_E_BITOR, r, sign_of);
    return f.specials == TN_NO_SPECIAL ? tn_select(p, nan, u32(p, m, sign), r) : r;
}

/* float64 to float32, rounded to odd: an inexact result has its last bit set. */
static ex to_odd(tn_pool *p, ex d)
{
    ex f = tn_cast(p, TN_F32, d), back = tn_cast(p, TN_F64, f), b = as_bits(p, f);
    ex less = tn_lt(p, tn_intrinsic1(p, TN_F_abs, back), tn_intrinsic1(p, TN_F_abs, d));
    ex other = tn_select(p, less, op(p, TN_E_ADD, b, 1), op(p, TN_E_SUB, b, 1));
    ex keep = tn_bin(p, TN_E_OR, tn_eq(p, back, d), tn_eq(p, op(p, TN_E_BITAND, b, 1), u32(p, b, 1)));
    return tn_select(p, tn_bin(p, TN_E_OR, keep, tn_intrinsic1(p, TN_F_isnan, d)), f, as_real(p, other));
}

static ex from_float(const small *h, tn_dtype t, ex a)
{
    tn_pool *p = h->f->pool;
    t.lanes = 1;
    if (t.code == TN_BFLOAT)
        return to_bfloat16(p, t, a);
    if (t.code == TN_FLOAT && h->native)
        return tn_cast(p, t, a);
    tn_encoding f = tn_dtype_encoding(t);
    return narrow_bits(p, t, f.specials == TN_POWERS ? to_power(p, a) : to_encoding(p, f, a));
}

/* An integer of 64 bits as float64. Bits that float64 has no room for leave the last one set. */
static ex wide_integer(tn_pool *p, ex a)
{
    ex low = op(p, TN_E_BITAND, a, 0x7ff);
    ex high = tn_bin(p, TN_E_BITOR, tn_sub(p, a, low),
                     tn_select(p, tn_eq(p, low, tn_int(p, a->dtype, 0)), low, tn_int(p, a->dtype, 0x800)));
    ex near = tn_lt(p, a, tn_int(p, a->dtype, INT64_C(1) << 53));
    if (a->dtype.code != TN_UINT)
        near = tn_bin(p, TN_E_AND, near, tn_lt(p, tn_int(p, a->dtype, -(INT64_C(1) << 53)), a));
    return tn_cast(p, TN_F64, tn_select(p, near, a, high));
}

/* A number of a wider type, or an integer, to a small float. */
static ex from_any(const small *h, tn_dtype t, ex a)
{
    tn_pool *p = h->f->pool;
    tn_dtype from = a->dtype;
    if (tn_dtype_is_float(from) && from.bits == 32)
        return from_float(h, t, a);
    if (tn_dtype_is_bool(from) || from.bits <= 16)
        return from_float(h, t, tn_cast(p, TN_F32, a));
    bool wide = tn_dtype_is_int(from) && from.bits == 64;
    return from_float(h, t, to_odd(p, wide ? wide_integer(p, a) : tn_cast(p, TN_F64, a)));
}

/* ---- integers of 2 and 4 bits ---- */

/* An int8 or uint8 as the value of t that its low bits are. */
static ex wrapped(tn_pool *p, tn_dtype t, ex a)
{
    if (t.code != TN_INT)
        return op(p, TN_E_BITAND, a, (1 << t.bits) - 1);
    return op(p, TN_E_SHR, op(p, TN_E_SHL, a, 8 - t.bits), 8 - t.bits);
}

/* What memory holds. */
static ex stored(tn_pool *p, tn_dtype t, ex a)
{
    return is_tiny(t) && t.code == TN_INT ? op(p, TN_E_BITAND, a, (1 << t.bits) - 1) : a;
}

static ex to_tiny(tn_pool *p, tn_dtype t, tn_dtype from, ex a)
{
    tn_dtype byte = tn_dtype_lanes(tn_dtype_stored(t), 1);
    ex r = tn_cast(p, byte, a);
    if (!tn_dtype_is_float(from))
        return wrapped(p, t, r);
    int64_t most = (1 << (t.code == TN_INT ? t.bits - 1 : t.bits)) - 1;
    r = tn_min(p, r, tn_int(p, r->dtype, most));
    return t.code == TN_INT ? tn_max(p, r, tn_int(p, r->dtype, -most - 1)) : r;
}

/* ---- operations: e's operands are src already ---- */

static bool is_odd(tn_dtype t) { return is_bits(t) || is_tiny(t); }

static ex rewrite_cast(const small *h, ex e, ex a)
{
    tn_pool *p = h->f->pool;
    tn_dtype from = tn_dtype_lanes(e->src[0]->dtype, 1), to = tn_dtype_lanes(e->dtype, 1);
    bool down = tn_dtype_is_small(to), up = tn_dtype_is_small(from);
    bool one = h->native && ((tn_dtype_eq(from, TN_F16) && tn_dtype_eq(to, TN_F32)) ||
                             (tn_dtype_eq(to, TN_F16) && tn_dtype_eq(from, TN_F32)));
    ex v = up ? to_float(h, from, a) : a;
    if (is_tiny(to))
        return to_tiny(p, to, from, v);
    return down && !one ? from_any(h, to, v) : tn_cast(p, to, v);
}

/* Widths agree, so lanes do where bytes hold less than eight bits. */
static ex rewrite_bitcast(tn_pool *p, ex e, ex a)
{
    tn_dtype from = e->src[0]->dtype, to = e->dtype;
    ex r = tn_bitcast(p, tn_dtype_stored(to), stored(p, from, a));
    return is_tiny(to) ? wrapped(p, to, r) : r;
}

static ex rewrite_abs(tn_pool *p, ex e, ex a)
{
    if (is_bits(e->dtype))
        return NULL;
    return tn_bitcast(p, e->dtype, op(p, TN_E_BITAND, as_bits(p, a), 0x7fff));
}

static ex rewrite_load(tn_pool *p, ex e, const ex src[])
{
    tn_dtype t = e->dtype;
    ex r = tn_expr_make(p, TN_E_LOAD, tn_dtype_stored(t), e->u, e->nsrc, src);
    if (is_tiny(t))
        return wrapped(p, t, r);
    return is_bits(t) && t.bits < 8 ? op(p, TN_E_BITAND, r, (1 << t.bits) - 1) : r;
}

static ex rewrite_leaf(tn_pool *p, ex e)
{
    unsigned char bits[8] = {0};
    tn_dtype t = tn_dtype_stored(e->dtype);
    if (e->kind == TN_E_VAR)
        return tn_var(p, t, (uint32_t)e->u.i);
    tn_scalar_write(e->dtype, bits,
                    (tn_scalar){.i = e->u.i}); /* the same 64 bits hold the double of a FLOAT */
    return tn_int(p, t, is_bits(e->dtype) ? bits[0] : e->u.i);
}

/* Moves data: the same of what it became. */
static bool moves(ex e) { return e->kind == TN_E_SELECT || e->kind == TN_E_SPLAT || e->kind == TN_E_SHUFFLE; }

/* Stays within the type whatever its operands are. */
static bool stays(ex e)
{
    return e->kind == TN_E_MIN || e->kind == TN_E_MAX || e->kind == TN_E_BITAND || e->kind == TN_E_BITOR ||
           e->kind == TN_E_BITXOR || e->kind == TN_E_SHR || e->kind == TN_E_FLOORMOD ||
           e->kind == TN_E_TRUNCMOD;
}

/* An operation on small floats. */
static ex rewrite_real(const small *h, ex e, const ex src[])
{
    tn_pool *p = h->f->pool;
    tn_dtype in = e->src[0]->dtype;
    ex wide[3], r = NULL;
    if (e->kind == TN_E_CALL && e->u.call.id == TN_F_abs && (r = rewrite_abs(p, e, src[0])) != NULL)
        return r;
    for (int i = 0; i < e->nsrc; i++)
        wide[i] = to_float(h, in, src[i]);
    if (e->kind == TN_E_MIN || e->kind == TN_E_MAX) {
        ex second = e->kind == TN_E_MIN ? tn_lt(p, wide[1], wide[0]) : tn_lt(p, wide[0], wide[1]);
        if (!tn_never_nan(e->src[1]))
            second = tn_bin(p, TN_E_OR, second, tn_intrinsic1(p, TN_F_isnan, wide[1]));
        return tn_select(p, second, src[1], src[0]);
    }
    /* float64 has products exactly, and what float32 has no exponent for */
    bool powers = tn_dtype_encoding(in).specials == TN_POWERS;
    for (int i = 0; i < e->nsrc && (e->kind == TN_E_FMA || powers); i++)
        wide[i] = tn_cast(p, TN_F64, wide[i]);
    r = e->kind == TN_E_FMA ? tn_add(p, tn_mul(p, wide[0], wide[1]), wide[2]) : tn_rebuild(p, e, wide);
    return tn_dtype_is_small(e->dtype) ? from_any(h, e->dtype, r) : r;
}

static ex rewrite(tn_pool *p, ex e, const ex src[], void *user)
{
    const small *h = user;
    tn_dtype t = e->dtype;
    if (e->nsrc == 0)
        return is_odd(t) ? rewrite_leaf(p, e) : e;
    tn_dtype in = e->src[e->nsrc - 1]->dtype;
    if (e->kind == TN_E_LOAD)
        return is_odd(t) ? rewrite_load(p, e, src) : tn_expr_with(p, e, src);
    if (e->kind == TN_E_CAST && (tn_dtype_is_small(t) || tn_dtype_is_small(in) || is_odd(t) || is_odd(in)))
        return rewrite_cast(h, e, src[0]);
    if (e->kind == TN_E_BITCAST && (is_odd(t) || is_odd(in)))
        return rewrite_bitcast(p, e, src[0]);
    if (moves(e) && is_odd(t))
        return tn_expr_make(p, (enum tn_ek)e->kind, tn_dtype_stored(t), e->u, e->nsrc, src);
    if (tn_dtype_is_small(in) && !moves(e) && e->kind != TN_E_BITCAST)
        return rewrite_real(h, e, src);
    if (!is_tiny(t))
        return tn_expr_with(p, e, src);
    ex r = tn_rebuild(p, e, src);
    return stays(e) ? r : wrapped(p, t, r);
}

static const tn_expr *rewrite_expr(const tn_expr *e, void *user)
{
    small *h = user;
    return tn_retype(h->f->pool, e, rewrite, h);
}

static bool rewrite_stmt(tn_stmt *s, void *user)
{
    small *h = user;
    tn_dtype t = s->kind == TN_S_STORE ? s->u.store.value->dtype : TN_F32;
    tn_stmt_exprs(s, rewrite_expr, h);
    if (s->kind == TN_S_STORE)
        s->u.store.value = stored(h->f->pool, t, s->u.store.value);
    if (s->kind == TN_S_LET && is_odd(s->u.let.var->dtype))
        s->u.let.var = rewrite_leaf(h->f->pool, s->u.let.var);
    return !tn_stmt_is_nest(s);
}

tn_status tn_lower_small(tn_func *f, const struct tn_machine *m)
{
    small h = {f, tn_machine_can(m, TN_CAN_HALF)};
    tn_stmt_walk(&f->body, rewrite_stmt, NULL, &h);
    for (uint32_t i = 0; i < f->n_buffer; i++)
        f->buffer[i].dtype = tn_dtype_stored(f->buffer[i].dtype);
    for (uint32_t i = 0; i < f->n_var; i++)
        f->var[i].dtype = tn_dtype_stored(f->var[i].dtype);
    return TN_OK;
}
