/* The pool of interned expressions and the one constructor.
 *
 * Invariants: within a pool and its parents, expressions that are equal in kind, dtype, payload and operands are one
 * pointer; operands have smaller ids than their user; operands of commuting kinds are in canonical order, which depends
 * on structure alone (constants last, then the structural hash, then a structural comparison where hashes collide).
 * A child sees those of its parent whose ids are below its own first, so ids tell apart all that it can see.
 * The table is open addressing with linear probing, at most half full. tn_expr_make costs O(nsrc) expected.
 */
#include "ir/expr.h"

#include "ir/eval.h"

#include <string.h>

const tn_ek_info tn_eks[TN_E_COUNT] = {
#define EXPR(kind, nsrc, comm, name) {name, nsrc, comm},
#include "ir/expr.def"
#undef EXPR
};

const tn_intrin_info tn_intrins[TN_F_COUNT] = {
#define INTRIN(name, n, poly, cost, doc) {#name, n, poly, 0, cost, doc},
#define INTRIN_BOOL(name, n, poly, cost, doc) {#name, n, poly, 1, cost, doc},
#include "ir/intrin.def"
#undef INTRIN
#undef INTRIN_BOOL
};

void tn_pool_init(tn_pool *p, tn_ctx *ctx, tn_arena *arena, const tn_pool *parent)
{
    memset(p, 0, sizeof *p);
    p->ctx = ctx;
    p->arena = arena;
    p->parent = parent;
    p->first_id = parent ? parent->first_id + parent->n : 0;
}

/* ---- canonical order ---- */

static bool is_const(const tn_expr *e)
{
    if (e->kind == TN_E_SPLAT)
        e = e->src[0];
    return e->kind == TN_E_INT || e->kind == TN_E_FLOAT;
}

static int cmp_u64(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int cmp_payload(const tn_expr *a, const tn_expr *b)
{
    if (a->kind == TN_E_SYM || a->kind == TN_E_SHUFFLE)
        return strcmp(a->u.s, b->u.s);
    return cmp_u64(a->u.bits, b->u.bits);
}

/* Total order by structure. Descends only through pairs whose hashes collide, one pair a level. */
static int cmp_structure(const tn_expr *a, const tn_expr *b)
{
    while (a != b) {
        int c = cmp_u64(a->hash, b->hash);
        if (c == 0)
            c = cmp_u64(a->kind, b->kind);
        if (c == 0)
            c = cmp_u64(a->nsrc, b->nsrc);
        if (c == 0)
            c = memcmp(&a->dtype, &b->dtype, sizeof a->dtype);
        if (c == 0)
            c = cmp_payload(a, b);
        if (c != 0)
            return c;
        int i = 0;
        while (i < a->nsrc && a->src[i] == b->src[i])
            i++;
        TN_ASSERT(i < a->nsrc); /* else they would be one pointer */
        const tn_expr *next = a->src[i];
        b = b->src[i];
        a = next;
    }
    return 0;
}

static bool in_order(const tn_expr *a, const tn_expr *b)
{
    if (is_const(a) != is_const(b))
        return is_const(b);
    return cmp_structure(a, b) <= 0;
}

/* ---- dtype rules ---- */

static bool numeric(tn_dtype t) { return tn_dtype_is_float(t) || tn_dtype_is_int(t) || tn_dtype_is_index(t); }

static bool integral(tn_dtype t) { return tn_dtype_is_int(t) || tn_dtype_is_index(t); }

static bool all_have(tn_dtype t, int n, const tn_expr *const src[])
{
    for (int i = 0; i < n; i++)
        if (!tn_dtype_eq(src[i]->dtype, t))
            return false;
    return true;
}

static bool is_canonical(tn_dtype t, tn_scalar v)
{
    tn_scalar w = tn_eval_cast(t, t, v);
    return memcmp(&v, &w, sizeof v) == 0 &&
           !(tn_dtype_is_float(t) && v.f != v.f && w.i != 0x7ff8000000000000);
}

static bool call_ok(tn_dtype t, tn_payload u, int nsrc, const tn_expr *const src[])
{
    if (u.call.id >= TN_F_COUNT || nsrc != tn_intrins[u.call.id].nargs)
        return false;
    tn_dtype in = src[0]->dtype;
    if (tn_intrin_is_dot(u.call.id))
        return all_have(tn_dtype_lanes(TN_I32, in.lanes), nsrc - 1, src + 1) && tn_dtype_eq(t, in) &&
               tn_dtype_eq(tn_dtype_lanes(in, 1), tn_intrin_is_dot4(u.call.id) ? TN_I32 : TN_F32);
    if (!all_have(in, nsrc, src) || (!tn_dtype_is_float(in) && !(u.call.id == TN_F_abs && integral(in))))
        return false;
    return tn_dtype_eq(t, tn_intrins[u.call.id].to_bool ? tn_dtype_lanes(TN_BOOL1, in.lanes) : in);
}

static bool load_ok(tn_dtype t, tn_payload u, int nsrc, const tn_expr *const src[])
{
    int n = (int)u.load.n_index;
    if (u.load.n_index > 250 || (nsrc != n && nsrc != n + 2))
        return false;
    for (int i = 0; i < n; i++)
        if (!integral(src[i]->dtype) || src[i]->dtype.lanes != src[0]->dtype.lanes)
            return false;
    if (n > 0 && src[0]->dtype.lanes != 1 && src[0]->dtype.lanes != t.lanes)
        return false;
    return nsrc == n || (tn_dtype_eq(src[n]->dtype, tn_dtype_lanes(TN_BOOL1, t.lanes)) &&
                         tn_dtype_eq(src[n + 1]->dtype, t));
}

static bool shuffle_ok(tn_dtype t, tn_payload u, int nsrc, const tn_expr *const src[])
{
    int all = nsrc * src[0]->dtype.lanes;
    if (nsrc > 2 || src[0]->dtype.lanes < 2 || all > TN_MAX_SHUFFLED || strlen(u.lanes) != t.lanes)
        return false;
    for (const char *l = u.lanes; *l; l++)
        if ((uint8_t)*l > all)
            return false;
    return all_have(src[0]->dtype, nsrc, src) &&
           tn_dtype_eq(tn_dtype_lanes(t, 1), tn_dtype_lanes(src[0]->dtype, 1));
}

static bool dtype_ok(enum tn_ek k, tn_dtype t, tn_payload u, int nsrc, const tn_expr *const src[])
{
    tn_dtype in = nsrc > 0 ? src[0]->dtype : t;
    bool same = all_have(in, nsrc, src), kept = same && tn_dtype_eq(in, t);
    bool to_bool = same && tn_dtype_eq(t, tn_dtype_lanes(TN_BOOL1, in.lanes));
    switch (k) {
    case TN_E_INT:
        return (integral(t) || tn_dtype_is_bool(t)) && t.lanes == 1 && is_canonical(t, (tn_scalar){.i = u.i});
    case TN_E_FLOAT: return tn_dtype_is_float(t) && t.lanes == 1 && is_canonical(t, (tn_scalar){.f = u.f});
    case TN_E_SYM: return tn_dtype_eq(t, TN_IDX);
    case TN_E_VAR: return u.i >= 0 && u.i <= UINT32_MAX;
    case TN_E_ADD:
    case TN_E_SUB:
    case TN_E_MUL:
    case TN_E_MIN:
    case TN_E_MAX: return kept && numeric(t);
    case TN_E_DIV:
    case TN_E_FMA: return kept && tn_dtype_is_float(t);
    case TN_E_FLOORDIV:
    case TN_E_FLOORMOD:
    case TN_E_TRUNCDIV:
    case TN_E_TRUNCMOD: return kept && integral(t);
    case TN_E_EQ:
    case TN_E_NE: return to_bool && (numeric(in) || tn_dtype_is_bool(in));
    case TN_E_LT:
    case TN_E_LE: return to_bool && numeric(in);
    case TN_E_AND:
    case TN_E_OR:
    case TN_E_NOT: return kept && tn_dtype_is_bool(t);
    case TN_E_SELECT: return all_have(t, 2, src + 1) && tn_dtype_eq(in, tn_dtype_lanes(TN_BOOL1, t.lanes));
    case TN_E_CAST:
        return in.lanes == t.lanes && in.code != TN_HANDLE && t.code != TN_HANDLE && !tn_dtype_eq(in, t);
    case TN_E_BITCAST:
        return (uint32_t)in.bits * in.lanes == (uint32_t)t.bits * t.lanes && !tn_dtype_eq(in, t) &&
               (tn_dtype_is_float(in) || tn_dtype_is_int(in)) && (tn_dtype_is_float(t) || tn_dtype_is_int(t));
    case TN_E_BITAND:
    case TN_E_BITOR:
    case TN_E_BITXOR:
    case TN_E_SHL:
    case TN_E_SHR: return kept && tn_dtype_is_int(t);
    case TN_E_CALL: return call_ok(t, u, nsrc, src);
    case TN_E_LOAD: return load_ok(t, u, nsrc, src);
    case TN_E_RAMP:
        return same && in.lanes == 1 && integral(in) && t.lanes > 1 &&
               tn_dtype_eq(tn_dtype_lanes(in, t.lanes), t);
    case TN_E_SPLAT: return in.lanes == 1 && t.lanes > 1 && tn_dtype_eq(tn_dtype_lanes(in, t.lanes), t);
    case TN_E_SHUFFLE: return nsrc > 0 && shuffle_ok(t, u, nsrc, src);
    case TN_E_COUNT: break;
    }
    return false;
}

/* ---- interning ---- */

static uint32_t hash_of(enum tn_ek k, tn_dtype t, tn_payload u, int nsrc, const tn_expr *const src[])
{
    uint64_t payload = k == TN_E_SYM || k == TN_E_SHUFFLE ? tn_hash_bytes(u.s, strlen(u.s), 0) : u.bits;
    uint64_t shape = (uint64_t)k | (uint64_t)t.code << 8 | (uint64_t)t.bits << 16 | (uint64_t)t.lanes << 24 |
                     (uint64_t)nsrc << 40;
    uint64_t h = tn_hash_u64(shape, payload);
    for (int i = 0; i < nsrc; i++)
        h = tn_hash_u64(h, src[i]->hash);
    return (uint32_t)(h ^ h >> 32);
}

static bool matches(const tn_expr *e, uint32_t hash, enum tn_ek k, tn_dtype t, tn_payload u, int nsrc,
                    const tn_expr *const src[])
{
    return e->hash == hash && e->kind == k && e->nsrc == nsrc && tn_dtype_eq(e->dtype, t) &&
           e->u.bits == u.bits && (nsrc == 0 || memcmp(e->src, src, (size_t)nsrc * sizeof *src) == 0);
}

static void grow(tn_pool *p)
{
    uint32_t cap = p->cap ? p->cap * 2 : 256;
    const tn_expr **slot = TN_NEW_N(p->arena, const tn_expr *, cap);
    TN_ASSERT(cap > p->cap);
    for (uint32_t i = 0; i < p->cap; i++) {
        if (p->slot[i]) {
            uint32_t at = p->slot[i]->hash & (cap - 1);
            while (slot[at])
                at = (at + 1) & (cap - 1);
            slot[at] = p->slot[i];
        }
    }
    p->slot = slot;
    p->cap = cap;
}

static const tn_expr *insert(tn_pool *p, uint32_t hash, enum tn_ek k, tn_dtype t, tn_payload u, int nsrc,
                             const tn_expr *const src[])
{
    TN_ASSERT(!p->ctx->frozen);
    if (p->n * 2 >= p->cap)
        grow(p);
    tn_expr *e = tn_arena_alloc(p->arena, sizeof *e + (size_t)nsrc * sizeof *src, _Alignof(tn_expr));
    e->kind = (uint8_t)k;
    e->nsrc = (uint8_t)nsrc;
    e->has_load = k == TN_E_LOAD;
    e->dtype = t;
    e->id = p->first_id + p->n++;
    e->hash = hash;
    e->u = u;
    for (int i = 0; i < nsrc; i++) {
        e->src[i] = src[i];
        e->has_load |= src[i]->has_load;
    }
    uint32_t at = hash & (p->cap - 1);
    while (p->slot[at])
        at = (at + 1) & (p->cap - 1);
    p->slot[at] = e;
    return e;
}

const tn_expr *tn_expr_make(tn_pool *p, enum tn_ek k, tn_dtype t, tn_payload u, int nsrc,
                            const tn_expr *const src[])
{
    TN_ASSERT((unsigned)k < TN_E_COUNT && nsrc >= 0 && nsrc <= UINT8_MAX);
    TN_ASSERT(tn_eks[k].nsrc < 0 || tn_eks[k].nsrc == nsrc);
    TN_ASSERT(dtype_ok(k, t, u, nsrc, src));
    const tn_expr *swapped[2];
    if (tn_eks[k].commutes && !in_order(src[0], src[1])) {
        swapped[0] = src[1];
        swapped[1] = src[0];
        src = swapped;
    }
    uint32_t hash = hash_of(k, t, u, nsrc, src), end = UINT32_MAX;
    for (const tn_pool *q = p; q; end = q->first_id, q = q->parent) {
        if (q->cap == 0)
            continue;
        for (uint32_t at = hash & (q->cap - 1); q->slot[at]; at = (at + 1) & (q->cap - 1))
            if (matches(q->slot[at], hash, k, t, u, nsrc, src) && q->slot[at]->id < end)
                return q->slot[at];
    }
    return insert(p, hash, k, t, u, nsrc, src);
}

/* The dtype that kind and payload of e have over operands `src` of common width `lanes`. */
static tn_dtype dtype_over(const tn_expr *e, const tn_expr *const src[], uint16_t lanes)
{
    switch (e->kind) {
    case TN_E_CAST:
    case TN_E_EQ:
    case TN_E_NE:
    case TN_E_LT:
    case TN_E_LE: return tn_dtype_lanes(e->dtype, lanes);
    case TN_E_CALL: return tn_intrins[e->u.call.id].to_bool ? tn_dtype_lanes(TN_BOOL1, lanes) : src[0]->dtype;
    case TN_E_SELECT: return src[1]->dtype;
    case TN_E_RAMP:
    case TN_E_SPLAT:
    case TN_E_SHUFFLE: return tn_dtype_lanes(src[0]->dtype, e->dtype.lanes);
    case TN_E_BITCAST: {
        uint32_t bits = (uint32_t)src[0]->dtype.bits * src[0]->dtype.lanes;
        return tn_dtype_lanes(e->dtype, (uint16_t)(bits / e->dtype.bits));
    }
    default: return src[0]->dtype;
    }
}

const tn_expr *tn_expr_with(tn_pool *p, const tn_expr *e, const tn_expr *const src[])
{
    const tn_expr *wide[4];
    uint16_t lanes = 1;
    if (e->nsrc == 0 || memcmp(e->src, src, e->nsrc * sizeof *src) == 0)
        return e;
    if (e->kind == TN_E_LOAD)
        return tn_rebuild(p, e, src);
    if (e->kind == TN_E_SPLAT && src[0]->dtype.lanes > 1)
        return src[0];
    TN_ASSERT(e->nsrc <= 4);
    for (int i = 0; i < e->nsrc; i++)
        lanes = src[i]->dtype.lanes > lanes ? src[i]->dtype.lanes : lanes;
    for (int i = 0; i < e->nsrc; i++)
        wide[i] = src[i]->dtype.lanes == 1 ? tn_splat(p, src[i], lanes) : src[i];
    tn_dtype t = dtype_over(e, wide, lanes);
    /* nothing left to convert */
    if ((e->kind == TN_E_CAST || e->kind == TN_E_BITCAST) && tn_dtype_eq(t, wide[0]->dtype))
        return wide[0];
    return tn_expr_make(p, e->kind, t, e->u, e->nsrc, wide);
}
