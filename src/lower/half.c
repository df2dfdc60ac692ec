/* LowerHalf: arithmetic on 16-bit floats becomes float32 arithmetic between conversions; what stays of them
 * are loads, stores, select, bitcast and, where the machine has instructions for it, conversions between
 * float16 and float32. All other conversions become integer arithmetic on bits: libraries and bfloat16
 * instructions (which flush denormals) are not asked.
 *
 * float32 has 24 >= 2 * 11 + 2 bits of precision, so rounding twice is rounding once (Figueroa 1995) for + -
 * * / and sqrt. float64 and wide integers go to float32 by rounding to odd, which keeps the second rounding
 * exact.
 */
#include "lower/lower_impl.h"

#include <string.h>

typedef const tn_expr *ex;
typedef struct {
    tn_func *f;
    bool native;
} half; /* native: the machine converts float16 */

static bool is_half(tn_dtype t) { return tn_dtype_is_float(t) && t.bits == 16; }

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

/* ---- to float32 ---- */

/* The bits of a 16-bit float as u32. */
static ex wide_bits(tn_pool *p, ex a) { return tn_cast(p, TN_DT(TN_UINT, 32), as_bits(p, a)); }

static ex from_float16(tn_pool *p, ex a)
{
    ex b = wide_bits(p, a), m = op(p, TN_E_BITAND, b, 0x7fff), up = op(p, TN_E_SHL, m, 13);
    ex tiny = tn_mul(p, tn_cast(p, TN_F32, m), tn_flt(p, tn_dtype_lanes(TN_F32, a->dtype.lanes), 0x1p-24));
    ex big = op(p, TN_E_ADD, up, 0x70000000), normal = op(p, TN_E_ADD, up, 0x38000000);
    ex r = tn_select(p, tn_lt(p, m, u32(p, m, 0x400)), as_bits(p, tiny), normal);
    r = tn_select(p, tn_lt(p, m, u32(p, m, 0x7c00)), r, big);
    return as_real(p, tn_bin(p, TN_E_BITOR, r, op(p, TN_E_SHL, op(p, TN_E_BITAND, b, 0x8000), 16)));
}

static ex to_float(const half *h, ex a)
{
    tn_pool *p = h->f->pool;
    if (a->dtype.code == TN_BFLOAT)
        return as_real(p, op(p, TN_E_SHL, wide_bits(p, a), 16));
    return h->native ? tn_cast(p, TN_F32, a) : from_float16(p, a);
}

/* ---- from float32 ---- */

static ex narrow_bits(tn_pool *p, tn_dtype t, ex bits)
{
    return tn_bitcast(p, tn_dtype_lanes(t, bits->dtype.lanes), tn_cast(p, TN_DT(TN_UINT, 16), bits));
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

/* Adding 1/2 rounds to a multiple of 2^-24, the quantum of denormals. */
static ex to_float16(tn_pool *p, tn_dtype t, ex a)
{
    ex b = as_bits(p, a), m = op(p, TN_E_BITAND, b, 0x7fffffff);
    ex sum = tn_add(p, as_real(p, m), tn_flt(p, a->dtype, 0.5)),
       tiny = op(p, TN_E_SUB, as_bits(p, sum), 0x3f000000);
    ex normal = op(p, TN_E_SUB, round_bits(p, m, 13), 0x1c000);
    ex r = tn_select(p, tn_lt(p, m, u32(p, m, 0x38800000)), tiny, normal);
    r = tn_select(p, tn_lt(p, m, u32(p, m, 0x47800000)), r, u32(p, m, 0x7c00));
    r = tn_select(p, tn_intrinsic1(p, TN_F_isnan, a), u32(p, m, 0x7e00), r);
    return narrow_bits(p, t, tn_bin(p, TN_E_BITOR, r, op(p, TN_E_BITAND, op(p, TN_E_SHR, b, 16), 0x8000)));
}

/* float64 to float32, rounded to odd: an inexact result has its last bit set. */
static ex to_odd(tn_pool *p, ex d)
{
    ex f = tn_cast(p, TN_F32, d), back = tn_cast(p, TN_F64, f), b = as_bits(p, f);
    ex small = tn_lt(p, tn_intrinsic1(p, TN_F_abs, back), tn_intrinsic1(p, TN_F_abs, d));
    ex other = tn_select(p, small, op(p, TN_E_ADD, b, 1), op(p, TN_E_SUB, b, 1));
    ex keep = tn_bin(p, TN_E_OR, tn_eq(p, back, d), tn_eq(p, op(p, TN_E_BITAND, b, 1), u32(p, b, 1)));
    return tn_select(p, tn_bin(p, TN_E_OR, keep, tn_intrinsic1(p, TN_F_isnan, d)), f, as_real(p, other));
}

static ex from_float(const half *h, tn_dtype t, ex a)
{
    tn_pool *p = h->f->pool;
    t.lanes = 1;
    if (t.code == TN_BFLOAT)
        return to_bfloat16(p, t, a);
    return h->native ? tn_cast(p, t, a) : to_float16(p, t, a);
}

/* A number of any other type to a 16-bit float. */
static ex from_any(const half *h, tn_dtype t, ex a)
{
    tn_pool *p = h->f->pool;
    bool exact = tn_dtype_is_bool(a->dtype) || a->dtype.bits <= 16;
    if (tn_dtype_is_float(a->dtype) && a->dtype.bits == 32)
        return from_float(h, t, a);
    return from_float(h, t, exact ? tn_cast(p, TN_F32, a) : to_odd(p, tn_cast(p, TN_F64, a)));
}

/* ---- operations ---- */

static ex rewrite_cast(const half *h, ex e)
{
    ex a = e->src[0];
    tn_dtype to = tn_dtype_lanes(e->dtype, 1);
    tn_dtype other = tn_dtype_lanes(is_half(to) ? a->dtype : to, 1);
    bool from = is_half(a->dtype), into = is_half(to), ieee = (from ? a->dtype : to).code == TN_FLOAT;
    if (h->native && ieee && tn_dtype_eq(other, TN_F32))
        return NULL;
    ex v = from ? to_float(h, a) : a;
    return into ? from_any(h, to, v) : tn_cast(h->f->pool, to, v);
}

static ex rewrite_abs(tn_pool *p, ex e)
{
    return tn_bitcast(p, e->dtype, op(p, TN_E_BITAND, as_bits(p, e->src[0]), 0x7fff));
}

static ex rewrite(tn_pool *p, ex e, void *user)
{
    const half *h = user;
    if (e->nsrc == 0 || e->kind == TN_E_LOAD || e->kind == TN_E_SPLAT || e->kind == TN_E_SHUFFLE ||
        e->kind == TN_E_BITCAST)
        return NULL;
    if (e->kind == TN_E_CAST)
        return is_half(e->dtype) || is_half(e->src[0]->dtype) ? rewrite_cast(h, e) : NULL;
    if (!is_half(e->src[e->nsrc - 1]->dtype) || e->kind == TN_E_SELECT)
        return NULL;
    if (e->kind == TN_E_CALL && e->u.call.id == TN_F_abs)
        return rewrite_abs(p, e);
    ex src[3];
    for (int i = 0; i < e->nsrc; i++)
        src[i] = to_float(h, e->src[i]);
    if (e->kind == TN_E_MIN || e->kind == TN_E_MAX) {
        ex second = e->kind == TN_E_MIN ? tn_lt(p, src[1], src[0]) : tn_lt(p, src[0], src[1]);
        if (!tn_never_nan(e->src[1]))
            second = tn_bin(p, TN_E_OR, second, tn_intrinsic1(p, TN_F_isnan, src[1]));
        return tn_select(p, second, e->src[1], e->src[0]);
    }
    if (e->kind == TN_E_FMA) { /* the product is exact in float64 */
        for (int i = 0; i < 3; i++)
            src[i] = tn_cast(p, TN_F64, src[i]);
        return from_any(h, e->dtype, tn_add(p, tn_mul(p, src[0], src[1]), src[2]));
    }
    ex r = tn_rebuild(p, e, src);
    return is_half(e->dtype) ? from_float(h, e->dtype, r) : r;
}

static const tn_expr *rewrite_expr(const tn_expr *e, void *user)
{
    half *h = user;
    return tn_rewrite(h->f->pool, e, rewrite, h);
}

static bool rewrite_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, rewrite_expr, user);
    return true;
}

tn_status tn_lower_half(tn_func *f, const struct tn_machine *m)
{
    bool arm = strncmp(m->triple, "aarch64", 7) == 0 || strncmp(m->triple, "arm64", 5) == 0;
    half h = {f, arm || tn_machine_has(m, "f16c")};
    tn_stmt_walk(&f->body, rewrite_stmt, NULL, &h);
    return TN_OK;
}
