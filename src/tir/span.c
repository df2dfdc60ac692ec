/* Intervals of integer expressions, with the values of symbols known: what the interpreter needs to leave out
 * checks that cannot fail. Independent of arith/, so that the interpreter does not trust what it is meant to
 * judge.
 *
 * A span is sound for every execution that reaches the expression. `safe` says more: nothing in the
 * expression can trap or touch memory, so it may be computed early and in vain. Memo by expression; O(1) a
 * node.
 */
#include "tir/span.h"

#include "base/size.h"
#include "ir/eval.h"

static bool whole(tn_dtype t) { return tn_dtype_is_int(t) || tn_dtype_is_index(t) || tn_dtype_is_bool(t); }

static bool is_u64(tn_dtype t) { return t.code == TN_UINT && t.bits == 64; }

/* All values of t as the interpreter holds them (uint64: as int64). */
span span_limits(tn_dtype t)
{
    span s = {INT64_MIN, INT64_MAX, true};
    if (tn_dtype_is_bool(t)) {
        s.lo = 0;
        s.hi = 1;
    } else if (t.code == TN_INT && t.bits < 64) {
        s.hi = (INT64_C(1) << (t.bits - 1)) - 1;
        s.lo = -s.hi - 1;
    } else if (t.code == TN_UINT && t.bits < 64) {
        s.lo = 0;
        s.hi = (INT64_C(1) << t.bits) - 1;
    }
    return s;
}

static int64_t min2(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t max2(int64_t a, int64_t b) { return a > b ? a : b; }

static bool point(span s) { return s.lo == s.hi; }

static bool product(span a, span b, span *out)
{
    int64_t v[4];
    if (!tn_i64_mul(a.lo, b.lo, &v[0]) || !tn_i64_mul(a.lo, b.hi, &v[1]) || !tn_i64_mul(a.hi, b.lo, &v[2]) ||
        !tn_i64_mul(a.hi, b.hi, &v[3]))
        return false;
    out->lo = min2(min2(v[0], v[1]), min2(v[2], v[3]));
    out->hi = max2(max2(v[0], v[1]), max2(v[2], v[3]));
    return true;
}

/* Sum, difference or product: a span if it cannot leave t; else all of t, and an index may trap. */
static span sum(enum tn_ek k, tn_dtype t, span a, span b)
{
    span all = span_limits(t), s = all;
    bool fits = k == TN_E_ADD   ? tn_i64_add(a.lo, b.lo, &s.lo) && tn_i64_add(a.hi, b.hi, &s.hi)
                : k == TN_E_SUB ? tn_i64_sub(a.lo, b.hi, &s.lo) && tn_i64_sub(a.hi, b.lo, &s.hi)
                                : product(a, b, &s);
    if (fits && s.lo >= all.lo && s.hi <= all.hi && !is_u64(t))
        return s;
    all.safe = !tn_dtype_is_index(t);
    return all;
}

static span quotient(enum tn_ek k, tn_dtype t, span a, span b)
{
    span s = span_limits(t);
    s.safe = !tn_dtype_is_index(t) || ((b.lo > 0 || b.hi < 0) && (b.hi < -1 || b.lo > -1));
    bool floors = k == TN_E_FLOORDIV || k == TN_E_FLOORMOD || a.lo >= 0;
    if (b.lo <= 0 || !floors || is_u64(t))
        return s;
    if (k == TN_E_FLOORMOD || k == TN_E_TRUNCMOD) {
        bool below = a.lo >= 0 && a.hi < b.lo;
        s.lo = below ? a.lo : 0;
        s.hi = below ? a.hi : b.hi - 1;
        return s;
    }
    s.lo = min2(tn_floordiv(a.lo, b.lo), tn_floordiv(a.lo, b.hi));
    s.hi = max2(tn_floordiv(a.hi, b.lo), tn_floordiv(a.hi, b.hi));
    return s;
}

static span compared(enum tn_ek k, span a, span b)
{
    bool yes = false, no = false;
    switch (k) {
    case TN_E_LT:
        yes = a.hi < b.lo;
        no = a.lo >= b.hi;
        break;
    case TN_E_LE:
        yes = a.hi <= b.lo;
        no = a.lo > b.hi;
        break;
    default:
        no = a.hi < b.lo || a.lo > b.hi;
        if (k == TN_E_NE) {
            yes = no;
            no = false;
        }
        break;
    }
    return (span){yes, !no, true};
}

static span converted(tn_dtype t, tn_dtype from, span a)
{
    span s = span_limits(t);
    if (!whole(from))
        return s;
    s.safe = !tn_dtype_is_index(t) || !is_u64(from) || a.lo >= 0;
    if (tn_dtype_is_bool(t))
        return (span){a.lo > 0 || a.hi < 0, a.lo != 0 || a.hi != 0, true};
    if (a.lo >= s.lo && a.hi <= s.hi) {
        s.lo = a.lo;
        s.hi = a.hi;
    }
    return s;
}

static span unioned(span a, span b) { return (span){min2(a.lo, b.lo), max2(a.hi, b.hi), true}; }

/* All operands are points: the one value, or undefined. */
static bool computed(const tn_expr *e, const span in[], span *out)
{
    tn_scalar v[3], r;
    if (e->nsrc == 0 || e->nsrc > 3 || e->dtype.lanes != 1 || e->kind == TN_E_SELECT || e->kind == TN_E_LOAD)
        return false;
    for (int i = 0; i < e->nsrc; i++) {
        if (!whole(e->src[i]->dtype) || e->src[i]->dtype.lanes != 1 || !point(in[i]))
            return false;
        v[i].i = in[i].lo;
    }
    if (!tn_eval_op(e->kind, e->dtype, e->u, e->src[0]->dtype, e->nsrc, v, &r)) {
        *out = span_limits(e->dtype);
        out->safe = false;
    } else {
        *out = (span){r.i, r.i, true};
    }
    return true;
}

static span of_op(const tn_expr *e, const span in[])
{
    tn_dtype t = e->dtype, from = e->nsrc ? e->src[0]->dtype : t;
    span s;
    if (computed(e, in, &s))
        return s;
    switch (e->kind) {
    case TN_E_ADD:
    case TN_E_SUB:
    case TN_E_MUL: return sum(e->kind, t, in[0], in[1]);
    case TN_E_FLOORDIV:
    case TN_E_FLOORMOD:
    case TN_E_TRUNCDIV:
    case TN_E_TRUNCMOD: return quotient(e->kind, t, in[0], in[1]);
    case TN_E_MIN:
        return is_u64(t) ? span_limits(t) : (span){min2(in[0].lo, in[1].lo), min2(in[0].hi, in[1].hi), true};
    case TN_E_MAX:
        return is_u64(t) ? span_limits(t) : (span){max2(in[0].lo, in[1].lo), max2(in[0].hi, in[1].hi), true};
    case TN_E_EQ:
    case TN_E_NE:
    case TN_E_LT:
    case TN_E_LE: return whole(from) && !is_u64(from) ? compared(e->kind, in[0], in[1]) : span_limits(t);
    case TN_E_AND: return (span){in[0].lo & in[1].lo, in[0].hi & in[1].hi, true};
    case TN_E_OR: return (span){in[0].lo | in[1].lo, in[0].hi | in[1].hi, true};
    case TN_E_NOT: return (span){1 - in[0].hi, 1 - in[0].lo, true};
    case TN_E_SELECT: return point(in[0]) ? in[in[0].lo ? 1 : 2] : unioned(in[1], in[2]);
    case TN_E_CAST: return converted(t, from, in[0]);
    case TN_E_SHL:
    case TN_E_SHR:
        s = span_limits(t);
        s.safe = in[1].lo >= 0 && in[1].hi < t.bits;
        return s;
    case TN_E_BITAND:
        s = span_limits(t);
        if (in[0].lo >= 0 && in[1].lo >= 0)
            s = (span){0, min2(in[0].hi, in[1].hi), true};
        return s;
    case TN_E_RAMP: return sum(TN_E_ADD, t, in[0], sum(TN_E_MUL, t, in[1], (span){0, t.lanes - 1, true}));
    case TN_E_SPLAT: return in[0];
    case TN_E_SHUFFLE: return e->nsrc > 1 ? unioned(in[0], in[1]) : in[0];
    case TN_E_CALL:
        s = span_limits(t);
        s.safe = !tn_dtype_is_index(t) || in[0].lo > INT64_MIN;
        return s;
    default: return span_limits(t);
    }
}

static span leaf(const spans *c, const tn_expr *e)
{
    span s = span_limits(e->dtype);
    if (e->kind == TN_E_INT)
        s.lo = s.hi = e->u.i;
    for (uint32_t i = 0; e->kind == TN_E_SYM && i < c->n_symbol; i++)
        if (c->symbol[i].name == e->u.s)
            s.lo = s.hi = c->value[i];
    return s;
}

static bool known(const spans *c, const tn_expr *e, span *out)
{
    uint64_t i;
    if (!tn_map_get(&c->memo, e->id, &i))
        return false;
    *out = c->at.at[i];
    return true;
}

void spans_set(spans *c, const tn_expr *e, span s)
{
    uint64_t i;
    if (tn_map_get(&c->memo, e->id, &i)) {
        c->at.at[i] = s;
        return;
    }
    tn_map_put(&c->memo, e->id, c->at.n);
    tn_vec_push(&c->at, s);
}

/* Post-order with an explicit stack: operands first. */
span spans_of(spans *c, const tn_expr *root)
{
    span s = {0};
    size_t base = c->todo.n;
    tn_vec_push(&c->todo, root);
    while (c->todo.n > base) {
        const tn_expr *e = tn_vec_last(&c->todo);
        span in[3] = {{0}};
        int missing = 0, n = e->kind == TN_E_LOAD ? 0 : e->nsrc;
        if (known(c, e, &s)) {
            c->todo.n--;
            continue;
        }
        for (int i = 0; i < n; i++)
            if (!known(c, e->src[i], &in[i])) {
                tn_vec_push(&c->todo, e->src[i]);
                missing++;
            }
        if (missing)
            continue;
        s = n ? of_op(e, in) : leaf(c, e);
        for (int i = 0; i < n; i++)
            s.safe = s.safe && in[i].safe;
        s.safe = s.safe && e->kind != TN_E_LOAD;
        spans_set(c, e, s);
        c->todo.n--;
    }
    known(c, root, &s);
    return s;
}

void spans_deinit(spans *c)
{
    tn_map_deinit(&c->memo);
    tn_vec_deinit(&c->at);
    tn_vec_deinit(&c->todo);
}
