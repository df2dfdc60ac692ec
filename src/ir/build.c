/* Builders: expressions made through them have their constants folded and are free of trivial identities.
 *
 * Only what holds in every domain is done here (index, wrapping ints, floats with signed zeros and NaN), in
 * O(1) a node; everything that needs facts or search is the simplifier's. Operands that can be dropped this
 * way have no effects.
 */
#include "ir/expr.h"

#include "base/size.h"
#include "ir/eval.h"

#include <math.h>

static const tn_payload no_payload = {.bits = 0};

const tn_expr *tn_int(tn_pool *p, tn_dtype t, int64_t v)
{
    tn_dtype one = tn_dtype_lanes(t, 1);
    tn_payload u = {.i = tn_eval_cast(TN_I64, one, (tn_scalar){.i = v}).i};
    return tn_splat(p, tn_expr_make(p, TN_E_INT, one, u, 0, NULL), t.lanes);
}

const tn_expr *tn_idx(tn_pool *p, int64_t v) { return tn_int(p, TN_IDX, v); }

const tn_expr *tn_flt(tn_pool *p, tn_dtype t, double v)
{
    tn_dtype one = tn_dtype_lanes(t, 1);
    tn_payload u = {.f = tn_eval_cast(TN_F64, one, (tn_scalar){.f = v}).f};
    if (u.f != u.f)
        u.bits = UINT64_C(0x7ff8000000000000); /* one NaN */
    return tn_splat(p, tn_expr_make(p, TN_E_FLOAT, one, u, 0, NULL), t.lanes);
}

const tn_expr *tn_const(tn_pool *p, tn_dtype t, double v)
{
    if (tn_dtype_is_float(t))
        return tn_flt(p, t, v);
    return tn_int(p, t, tn_eval_cast(TN_F64, tn_dtype_lanes(t, 1), (tn_scalar){.f = v}).i);
}

const tn_expr *tn_bool(tn_pool *p, bool v) { return tn_int(p, TN_BOOL1, v); }

const tn_expr *tn_sym(tn_pool *p, const char *name)
{
    tn_payload u = {.s = tn_intern(p->ctx, name)};
    return tn_expr_make(p, TN_E_SYM, TN_IDX, u, 0, NULL);
}

const tn_expr *tn_var(tn_pool *p, tn_dtype t, uint32_t number)
{
    tn_payload u = {.i = number};
    return tn_expr_make(p, TN_E_VAR, t, u, 0, NULL);
}

/* ---- constants ---- */

/* The scalar constant that e is in every lane, or NULL. */
static const tn_expr *constant(const tn_expr *e)
{
    if (e->kind == TN_E_SPLAT)
        e = e->src[0];
    return e->kind == TN_E_INT || e->kind == TN_E_FLOAT ? e : NULL;
}

static bool is_whole(const tn_expr *e, int64_t v)
{
    e = constant(e);
    return e && tn_is_value(e, v);
}

static bool is_real(const tn_expr *e, double v)
{
    e = constant(e);
    return e && e->kind == TN_E_FLOAT && e->u.f == v && signbit(e->u.f) == signbit(v);
}

static const tn_expr *constant_of(tn_pool *p, tn_dtype t, tn_scalar v)
{
    return tn_dtype_is_float(t) ? tn_flt(p, t, v.f) : tn_int(p, t, v.i);
}

const tn_expr *tn_fold(tn_pool *p, enum tn_ek k, tn_dtype t, tn_payload u, int nsrc,
                       const tn_expr *const src[])
{
    tn_scalar in[3], out;
    if (nsrc < 1 || nsrc > 3 || k == TN_E_LOAD || k == TN_E_RAMP || k == TN_E_SPLAT || k == TN_E_SHUFFLE)
        return NULL;
    for (int i = 0; i < nsrc; i++) {
        const tn_expr *c = constant(src[i]);
        if (!c)
            return NULL;
        in[i].i = c->u.i; /* the same 64 bits hold the double of a FLOAT */
    }
    if (k == TN_E_SELECT)
        return in[0].i ? src[1] : src[2];
    /* Polynomials are the lowered form of these, not the host's libm: folding would change bits from host to host. */
    if (k == TN_E_CALL && u.call.id < TN_F_COUNT && tn_intrins[u.call.id].poly)
        return NULL;
    if (k == TN_E_BITCAST && src[0]->dtype.lanes != t.lanes)
        return NULL;
    if (!tn_eval_op(k, tn_dtype_lanes(t, 1), u, tn_dtype_lanes(src[0]->dtype, 1), nsrc, in, &out))
        return NULL;
    if (k == TN_E_BITCAST && tn_dtype_is_float(t) && out.f != out.f) /* a constant has no NaN payload */
        return NULL;
    return constant_of(p, t, out);
}

/* ---- identities ---- */

static bool compares(enum tn_ek k) { return k == TN_E_EQ || k == TN_E_NE || k == TN_E_LT || k == TN_E_LE; }

/* (x op c1) op c2 with op + or *: x op (c1 op c2). NULL if it is not that, or c1 op c2 overflows. */
static const tn_expr *reassociate(tn_pool *p, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    if (a->kind != k || !constant(a->src[1]) || !constant(b))
        return NULL;
    const tn_expr *both[2] = {a->src[1], b};
    const tn_expr *c = tn_fold(p, k, a->dtype, no_payload, 2, both);
    if (!c)
        return NULL;
    if (is_whole(c, k == TN_E_MUL ? 1 : 0))
        return a->src[0];
    const tn_expr *src[2] = {a->src[0], c};
    return k == TN_E_MUL && is_whole(c, 0) ? c : tn_expr_make(p, k, a->dtype, no_payload, 2, src);
}

/* Identities below see a constant of a commuting kind as b only. Index and wrapping integers: */
static const tn_expr *whole_identity(tn_pool *p, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    switch (k) {
    case TN_E_ADD: return is_whole(b, 0) ? a : reassociate(p, k, a, b);
    case TN_E_MUL: return is_whole(b, 1) ? a : is_whole(b, 0) ? b : reassociate(p, k, a, b);
    case TN_E_SUB: return is_whole(b, 0) ? a : a == b ? tn_int(p, a->dtype, 0) : NULL;
    case TN_E_FLOORDIV:
    case TN_E_TRUNCDIV: return is_whole(b, 1) ? a : NULL;
    case TN_E_FLOORMOD:
    case TN_E_TRUNCMOD: return is_whole(b, 1) ? tn_int(p, a->dtype, 0) : NULL;
    case TN_E_BITOR:
    case TN_E_BITXOR:
    case TN_E_SHL:
    case TN_E_SHR: return is_whole(b, 0) ? a : NULL;
    case TN_E_BITAND: return is_whole(b, 0) ? b : NULL;
    case TN_E_MIN:
    case TN_E_MAX: return a == b ? a : NULL;
    case TN_E_EQ:
    case TN_E_LE: return a == b ? tn_int(p, tn_dtype_lanes(TN_BOOL1, a->dtype.lanes), 1) : NULL;
    case TN_E_NE:
    case TN_E_LT: return a == b ? tn_int(p, tn_dtype_lanes(TN_BOOL1, a->dtype.lanes), 0) : NULL;
    default: return NULL;
    }
}

/* Floats: -0 is neutral for +, +0 for - (from the right); x + 0 is not x, x * 0 is not 0. */
static const tn_expr *real_identity(enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    switch (k) {
    case TN_E_ADD: return is_real(b, -0.0) ? a : NULL;
    case TN_E_SUB: return is_real(b, 0.0) ? a : NULL;
    case TN_E_MUL:
    case TN_E_DIV: return is_real(b, 1) ? a : NULL;
    case TN_E_MIN:
    case TN_E_MAX: return a == b ? a : NULL;
    default: return NULL;
    }
}

static const tn_expr *bool_identity(tn_pool *p, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    switch (k) {
    case TN_E_AND: return a == b || is_whole(b, 1) ? a : is_whole(b, 0) ? b : NULL;
    case TN_E_OR: return a == b || is_whole(b, 0) ? a : is_whole(b, 1) ? b : NULL;
    case TN_E_EQ: return a == b ? tn_int(p, a->dtype, 1) : is_whole(b, 1) ? a : NULL;
    case TN_E_NE: return a == b ? tn_int(p, a->dtype, 0) : is_whole(b, 0) ? a : NULL;
    default: return NULL;
    }
}

const tn_expr *tn_bin(tn_pool *p, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    TN_ASSERT(tn_eks[k].nsrc == 2 && k != TN_E_RAMP);
    if (a->dtype.lanes == 1)
        a = tn_splat(p, a, b->dtype.lanes);
    else if (b->dtype.lanes == 1)
        b = tn_splat(p, b, a->dtype.lanes);
    TN_ASSERT(tn_dtype_eq(a->dtype, b->dtype));
    if (tn_eks[k].commutes && constant(a) && !constant(b)) {
        const tn_expr *c = a;
        a = b;
        b = c;
    }
    tn_dtype t = compares(k) ? tn_dtype_lanes(TN_BOOL1, a->dtype.lanes) : a->dtype;
    const tn_expr *src[2] = {a, b};
    const tn_expr *r = tn_fold(p, k, t, no_payload, 2, src);
    if (!r && tn_dtype_is_float(a->dtype))
        r = real_identity(k, a, b);
    else if (!r)
        r = tn_dtype_is_bool(a->dtype) ? bool_identity(p, k, a, b) : whole_identity(p, k, a, b);
    return r ? r : tn_expr_make(p, k, t, no_payload, 2, src);
}

const tn_expr *tn_ceildiv(tn_pool *p, const tn_expr *a, int64_t b)
{
    int64_t round;
    TN_ASSERT(b > 0 && tn_i64_sub(b, 1, &round));
    return tn_fdiv(p, tn_add(p, a, tn_int(p, a->dtype, round)), tn_int(p, a->dtype, b));
}

const tn_expr *tn_not(tn_pool *p, const tn_expr *a)
{
    const tn_expr *r = a->kind == TN_E_NOT ? a->src[0] : tn_fold(p, TN_E_NOT, a->dtype, no_payload, 1, &a);
    return r ? r : tn_expr_make(p, TN_E_NOT, a->dtype, no_payload, 1, &a);
}

static uint16_t widest(int n, const tn_expr *const e[])
{
    uint16_t lanes = 1;
    for (int i = 0; i < n; i++)
        lanes = e[i]->dtype.lanes > lanes ? e[i]->dtype.lanes : lanes;
    return lanes;
}

static const tn_expr *widened(tn_pool *p, const tn_expr *e, uint16_t lanes)
{
    return e->dtype.lanes == 1 ? tn_splat(p, e, lanes) : e;
}

const tn_expr *tn_select(tn_pool *p, const tn_expr *c, const tn_expr *a, const tn_expr *b)
{
    const tn_expr *src[3] = {c, a, b};
    uint16_t lanes = widest(3, src);
    for (int i = 0; i < 3; i++)
        src[i] = widened(p, src[i], lanes);
    if (constant(c))
        return constant(c)->u.i ? src[1] : src[2];
    return src[1] == src[2] ? src[1] : tn_expr_make(p, TN_E_SELECT, src[1]->dtype, no_payload, 3, src);
}

const tn_expr *tn_cast(tn_pool *p, tn_dtype t, const tn_expr *a)
{
    t.lanes = t.lanes == 1 ? a->dtype.lanes : t.lanes;
    a = widened(p, a, t.lanes);
    if (tn_dtype_eq(a->dtype, t))
        return a;
    const tn_expr *r = tn_fold(p, TN_E_CAST, t, no_payload, 1, &a);
    return r ? r : tn_expr_make(p, TN_E_CAST, t, no_payload, 1, &a);
}

const tn_expr *tn_bitcast(tn_pool *p, tn_dtype t, const tn_expr *a)
{
    if (tn_dtype_eq(a->dtype, t))
        return a;
    const tn_expr *r = tn_fold(p, TN_E_BITCAST, t, no_payload, 1, &a);
    return r ? r : tn_expr_make(p, TN_E_BITCAST, t, no_payload, 1, &a);
}

const tn_expr *tn_fma(tn_pool *p, const tn_expr *a, const tn_expr *b, const tn_expr *c)
{
    const tn_expr *src[3] = {a, b, c};
    uint16_t lanes = widest(3, src);
    for (int i = 0; i < 3; i++)
        src[i] = widened(p, src[i], lanes);
    const tn_expr *r = tn_fold(p, TN_E_FMA, src[0]->dtype, no_payload, 3, src);
    return r ? r : tn_expr_make(p, TN_E_FMA, src[0]->dtype, no_payload, 3, src);
}

const tn_expr *tn_intrinsic(tn_pool *p, enum tn_intrin f, int n, const tn_expr *const arg[])
{
    const tn_expr *src[3];
    tn_payload u = {.call = {.id = f}};
    TN_ASSERT(n >= 1 && n <= 3);
    uint16_t lanes = widest(n, arg);
    for (int i = 0; i < n; i++)
        src[i] = widened(p, arg[i], lanes);
    tn_dtype t = tn_intrins[f].to_bool ? tn_dtype_lanes(TN_BOOL1, lanes) : src[0]->dtype;
    const tn_expr *r = tn_fold(p, TN_E_CALL, t, u, n, src);
    return r ? r : tn_expr_make(p, TN_E_CALL, t, u, n, src);
}

const tn_expr *tn_intrinsic1(tn_pool *p, enum tn_intrin f, const tn_expr *a)
{
    return tn_intrinsic(p, f, 1, &a);
}

const tn_expr *tn_load(tn_pool *p, tn_dtype t, uint32_t buffer, int n_index, const tn_expr *const index[],
                       const tn_expr *mask, const tn_expr *other)
{
    const tn_expr *src[UINT8_MAX];
    tn_payload u = {.load = {buffer, (uint32_t)n_index}};
    TN_ASSERT(n_index >= 0 && n_index <= 250 && !mask == !other);
    uint16_t lanes = widest(n_index, index);
    for (int i = 0; i < n_index; i++)
        src[i] = widened(p, index[i], lanes);
    if (lanes > 1 && t.lanes == 1)
        t.lanes = lanes;
    if (mask) {
        src[n_index] = widened(p, mask, t.lanes);
        src[n_index + 1] = widened(p, other, t.lanes);
    }
    return tn_expr_make(p, TN_E_LOAD, t, u, mask ? n_index + 2 : n_index, src);
}

const tn_expr *tn_ramp(tn_pool *p, const tn_expr *base, const tn_expr *stride, uint16_t lanes)
{
    const tn_expr *src[2] = {base, stride};
    if (lanes == 1)
        return base;
    if (is_whole(stride, 0))
        return tn_splat(p, base, lanes);
    return tn_expr_make(p, TN_E_RAMP, tn_dtype_lanes(base->dtype, lanes), no_payload, 2, src);
}

const tn_expr *tn_splat(tn_pool *p, const tn_expr *a, uint16_t lanes)
{
    if (lanes == 1)
        return a;
    return tn_expr_make(p, TN_E_SPLAT, tn_dtype_lanes(a->dtype, lanes), no_payload, 1, &a);
}

const tn_expr *tn_shuffle(tn_pool *p, const tn_expr *a, const tn_expr *b, int n, const uint8_t lane[])
{
    char text[TN_MAX_SHUFFLED];
    int each = a->dtype.lanes, of_a = 0;
    bool same = !b;
    TN_ASSERT(n >= 1 && n <= TN_MAX_SHUFFLED && each * (b ? 2 : 1) <= TN_MAX_SHUFFLED);
    b = b ? b : a;
    for (int i = 0; i < n; i++)
        of_a += lane[i] < each;
    if (of_a == 0 || of_a == n || a == b) { /* one operand will do */
        a = of_a == 0 ? b : a;
        same = true;
    }
    bool whole = same && n == each;
    for (int i = 0; i < n; i++) {
        int l = same ? lane[i] % each : lane[i];
        whole &= l == i;
        text[i] = (char)(l + 1);
    }
    if (whole || (same && a->kind == TN_E_SPLAT))
        return whole ? a : tn_splat(p, a->src[0], (uint16_t)n);
    const tn_expr *src[2] = {a, b};
    tn_payload u = {.lanes = tn_intern_n(p->ctx, text, (size_t)n)};
    return tn_expr_make(p, TN_E_SHUFFLE, tn_dtype_lanes(a->dtype, (uint16_t)n), u, same ? 1 : 2, src);
}

const tn_expr *tn_lanes(tn_pool *p, const tn_expr *a, const tn_expr *b, int from, int n, int step)
{
    uint8_t lane[TN_MAX_SHUFFLED];
    TN_ASSERT(n >= 1 && n <= TN_MAX_SHUFFLED && from >= 0);
    for (int i = 0; i < n; i++)
        lane[i] = (uint8_t)(from + i * step);
    return tn_shuffle(p, a, b, n, lane);
}

static const tn_expr *rebuild_shuffle(tn_pool *p, const tn_expr *e, const tn_expr *const src[])
{
    uint8_t lane[TN_MAX_SHUFFLED];
    for (int i = 0; i < e->dtype.lanes; i++)
        lane[i] = (uint8_t)((uint8_t)e->u.lanes[i] - 1);
    return tn_shuffle(p, src[0], e->nsrc > 1 ? src[1] : NULL, e->dtype.lanes, lane);
}

/* A load over new operands: a vector index or mask makes it that wide; a scalar index where there was a vector one, and
 * no vector mask, makes it scalar; else its width stays. */
static const tn_expr *rebuild_load(tn_pool *p, const tn_expr *e, const tn_expr *const src[])
{
    int n = (int)e->u.load.n_index;
    bool masked = e->nsrc > n;
    uint16_t had = widest(n, e->src), has = widest(e->nsrc, src);
    tn_dtype t = e->dtype;
    if (has > 1 || had > 1)
        t.lanes = has;
    return tn_load(p, t, e->u.load.buffer, n, src, masked ? src[n] : NULL, masked ? src[n + 1] : NULL);
}

const tn_expr *tn_rebuild(tn_pool *p, const tn_expr *e, const tn_expr *const src[])
{
    tn_dtype element = tn_dtype_lanes(e->dtype, 1);
    switch (e->kind) {
    case TN_E_INT:
    case TN_E_FLOAT:
    case TN_E_SYM:
    case TN_E_VAR: return e;
    case TN_E_NOT: return tn_not(p, src[0]);
    case TN_E_SELECT: return tn_select(p, src[0], src[1], src[2]);
    case TN_E_CAST: return tn_cast(p, element, src[0]);
    case TN_E_BITCAST: {
        uint32_t bits = (uint32_t)src[0]->dtype.bits * src[0]->dtype.lanes;
        return tn_bitcast(p, tn_dtype_lanes(element, (uint16_t)(bits / element.bits)), src[0]);
    }
    case TN_E_FMA: return tn_fma(p, src[0], src[1], src[2]);
    case TN_E_CALL: return tn_intrinsic(p, (enum tn_intrin)e->u.call.id, e->nsrc, src);
    case TN_E_LOAD: return rebuild_load(p, e, src);
    case TN_E_RAMP: return tn_ramp(p, src[0], src[1], e->dtype.lanes);
    case TN_E_SHUFFLE: return rebuild_shuffle(p, e, src);
    case TN_E_SPLAT: return src[0]->dtype.lanes > 1 ? src[0] : tn_splat(p, src[0], e->dtype.lanes);
    default: return tn_bin(p, (enum tn_ek)e->kind, src[0], src[1]);
    }
}
