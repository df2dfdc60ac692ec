/* The simplifier: operands first, each distinct node once, then the rules of the node's domain.
 *
 * The walk is post-order with an explicit stack and a memo, so shared and deep expressions cost what their
 * distinct nodes cost. A sum of scalar indices is one node of the walk: its operands are the atoms of its
 * affine form, not the partial sums. A result is recorded as its own simplified form, so simplifying it again
 * under the same facts is a look-up.
 */
#include "arith/arith_impl.h"
#include "base/vec.h"

#include <string.h>

enum { STACK_SMALL = 96 };

static const tn_facts no_facts;

void tn_simp_open(tn_simp *c, tn_pool *p, const tn_facts *f, tn_memo *own)
{
    f = f ? f : &no_facts;
    memset(c, 0, sizeof *c);
    c->p = p;
    c->f = f;
    c->m = f->memo ? f->memo : own;
    if (c->m == own)
        tn_memo_init(own);
    else if ((c->m->pool && c->m->pool != p) || c->m->n > TN_MEMO_LIMIT)
        tn_memo_clear(c->m);
    c->m->pool = p;
    c->b = (tn_bnd){f, c->m};
}

void tn_simp_close(tn_simp *c, tn_memo *own)
{
    if (c->m == own)
        tn_memo_deinit(own);
}

static bool is_index(const tn_expr *e) { return tn_dtype_eq(e->dtype, TN_IDX); }

static bool is_sum(const tn_expr *e)
{
    return (e->kind == TN_E_ADD || e->kind == TN_E_SUB || e->kind == TN_E_MUL) && is_index(e);
}

/* ---- one node ---- */

static const tn_expr *index_node(tn_simp *c, const tn_expr *e, const tn_expr *const s[])
{
    switch (e->kind) {
    case TN_E_ADD:
    case TN_E_SUB: {
        tn_affine a, b;
        if (tn_simp_affine(c, s[0], &a) && tn_simp_affine(c, s[1], &b) &&
            tn_affine_addmul(&a, &b, e->kind == TN_E_ADD ? 1 : -1))
            return tn_simp_sum(c, &a);
        return NULL;
    }
    case TN_E_MUL: return tn_simp_mul(c, s[0], s[1]);
    case TN_E_FLOORDIV: return tn_simp_div(c, s[0], s[1]);
    case TN_E_FLOORMOD: return tn_simp_mod(c, s[0], s[1]);
    case TN_E_TRUNCDIV:
    case TN_E_TRUNCMOD: return tn_simp_trunc(c, e->kind, s[0], s[1]);
    case TN_E_MIN:
    case TN_E_MAX: return tn_simp_minmax(c, e->kind, s[0], s[1]);
    default: return NULL;
    }
}

/* eq and ne of truth values against a constant */
static const tn_expr *bool_equality(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    if (a == b)
        return tn_bool(c->p, k == TN_E_EQ);
    if (b->kind != TN_E_INT)
        return NULL;
    return (b->u.i != 0) == (k == TN_E_EQ) ? a : tn_simp_not(c, a);
}

static const tn_expr *bool_node(tn_simp *c, const tn_expr *e, const tn_expr *const s[])
{
    switch (e->kind) {
    case TN_E_AND:
    case TN_E_OR: return tn_simp_junction(c, e->kind, s[0], s[1]);
    case TN_E_NOT: return tn_simp_not(c, s[0]);
    case TN_E_EQ:
    case TN_E_NE:
    case TN_E_LT:
    case TN_E_LE:
        if (is_index(s[0]))
            return tn_simp_compare(c, e->kind, s[0], s[1]);
        if (tn_dtype_is_bool(s[0]->dtype))
            return bool_equality(c, e->kind, s[0], s[1]);
        return tn_dtype_is_int(s[0]->dtype) ? tn_simp_wrap(c, e, s) : NULL;
    default: return NULL;
    }
}

/* A load whose mask is known needs no mask, or is not done at all. */
static const tn_expr *load_node(tn_simp *c, const tn_expr *e, const tn_expr *const s[])
{
    int n = (int)e->u.load.n_index;
    if (e->nsrc == n)
        return NULL;
    const tn_expr *mask = s[n]->kind == TN_E_SPLAT ? s[n]->src[0] : s[n];
    if (tn_is_value(mask, 0))
        return s[n + 1];
    return tn_is_value(mask, 1) ? tn_load(c->p, e->dtype, e->u.load.buffer, n, s, NULL, NULL) : NULL;
}

static const tn_expr *by_rules(tn_simp *c, const tn_expr *e, const tn_expr *const s[])
{
    if (e->kind == TN_E_LOAD)
        return load_node(c, e, s);
    if (e->kind == TN_E_SHUFFLE)
        return tn_rebuild(c->p, e, s);
    if (e->dtype.lanes > 1)
        return tn_simp_vector(c, e, s);
    if (e->kind == TN_E_SELECT)
        return tn_simp_select(c, s[0], s[1], s[2]);
    if (e->kind == TN_E_CAST)
        return tn_simp_cast(c, e, s);
    if (tn_dtype_is_index(e->dtype))
        return index_node(c, e, s);
    if (tn_dtype_is_bool(e->dtype))
        return bool_node(c, e, s);
    return tn_dtype_is_int(e->dtype) ? tn_simp_wrap(c, e, s) : tn_simp_float(c, e, s);
}

const tn_expr *tn_simp_scalar(tn_simp *c, const tn_expr *e, const tn_expr *const s[])
{
    const tn_expr *swapped[2];
    if (tn_eks[e->kind].commutes &&
        (s[0]->kind == TN_E_INT || s[0]->kind == TN_E_FLOAT)) { /* rules see constants second */
        swapped[0] = s[1];
        swapped[1] = s[0];
        s = swapped;
    }
    const tn_expr *r =
        e->kind == TN_E_LOAD || is_index(e) ? NULL : tn_fold(c->p, e->kind, e->dtype, e->u, e->nsrc, s);
    if (!r)
        r = by_rules(c, e, s);
    if (!r && e->nsrc > 0)
        r = tn_rebuild(c->p, e, s);
    return r ? r : e;
}

static const tn_expr *leaf(tn_simp *c, const tn_expr *e)
{
    if ((e->kind == TN_E_VAR || e->kind == TN_E_SYM) && e->dtype.lanes == 1 &&
        (tn_dtype_is_index(e->dtype) || tn_dtype_is_int(e->dtype))) {
        tn_range r = tn_bounds_of(&c->b, e);
        if (tn_range_is_point(r))
            return tn_int(c->p, e->dtype, r.lo);
    }
    return e;
}

/* What bounds and assumptions say about the finished node. */
static const tn_expr *finish(tn_simp *c, const tn_expr *e)
{
    if (e->kind == TN_E_INT || e->dtype.lanes > 1)
        return e;
    if (tn_dtype_is_bool(e->dtype)) {
        const tn_expr *r = tn_prove_held(c, e);
        return r ? r : e;
    }
    if (is_index(e)) {
        tn_range r = tn_bounds_of(&c->b, e);
        if (tn_range_is_point(r))
            return tn_idx(c->p, r.lo);
    }
    return e;
}

/* ---- the walk ---- */

typedef struct frame {
    const tn_expr *e;
    bool ready;
} frame;
typedef struct stack {
    frame small[STACK_SMALL], *at;
    size_t n, cap;
} stack;

static void push(stack *s, const tn_expr *e, bool ready)
{
    if (s->n == s->cap) {
        if (s->at == s->small) {
            size_t cap = 0;
            frame *at = tn_vec_grow(NULL, 0, s->cap * 2, &cap, sizeof *at);
            memcpy(at, s->small, sizeof s->small);
            s->at = at;
            s->cap = cap;
        } else {
            s->at = tn_vec_grow(s->at, s->n, 1, &s->cap, sizeof *s->at);
        }
    }
    s->at[s->n++] = (frame){e, ready};
}

static const tn_expr *known(const tn_simp *c, const tn_expr *e)
{
    if (e->kind == TN_E_INT || e->kind == TN_E_FLOAT)
        return e;
    const tn_memo_entry *m = tn_memo_find(c->m, e);
    return m ? m->simple : NULL;
}

static void push_missing(tn_simp *c, stack *s, const tn_expr *e)
{
    if (!known(c, e))
        push(s, e, false);
}

/* The atoms of e as a sum; false: e is to be taken as an ordinary node. */
static bool atoms_of(const tn_expr *e, tn_affine *a)
{
    return is_sum(e) && tn_affine_raw(e, a) && !(a->n == 1 && a->term[0].atom == e);
}

static void push_operands(tn_simp *c, stack *s, const tn_expr *e)
{
    tn_affine a;
    push(s, e, true);
    if (atoms_of(e, &a)) {
        for (int i = 0; i < a.n; i++)
            push_missing(c, s, a.term[i].atom);
        return;
    }
    for (int i = 0; i < e->nsrc; i++)
        push_missing(c, s, e->src[i]);
}

/* The sum of the simplified atoms of e; NULL: too many terms. */
static const tn_expr *sum_node(tn_simp *c, const tn_affine *raw)
{
    tn_affine out = {.c = raw->c}, part;
    for (int i = 0; i < raw->n; i++)
        if (!tn_simp_affine(c, known(c, raw->term[i].atom), &part) ||
            !tn_affine_addmul(&out, &part, raw->term[i].coef))
            return NULL;
    return tn_simp_sum(c, &out);
}

static const tn_expr *compute(tn_simp *c, const tn_expr *e)
{
    const tn_expr *s[UINT8_MAX + 1], *r = NULL;
    tn_affine raw;
    if (e->nsrc == 0)
        return finish(c, leaf(c, e));
    if (atoms_of(e, &raw)) {
        r = sum_node(c, &raw);
        if (!r)
            return e; /* beyond what affine forms hold */
    } else {
        for (int i = 0; i < e->nsrc; i++)
            s[i] = known(c, e->src[i]);
        r = tn_simp_scalar(c, e, s);
    }
    return finish(c, r);
}

const tn_expr *tn_simp_run(tn_simp *c, const tn_expr *root)
{
    stack s;
    const tn_expr *r = known(c, root);
    if (r)
        return r;
    s.at = s.small;
    s.cap = STACK_SMALL;
    s.n = 0;
    push(&s, root, false);
    while (s.n > 0) {
        frame f = s.at[--s.n];
        if (known(c, f.e))
            continue;
        if (!f.ready && f.e->nsrc > 0) {
            push_operands(c, &s, f.e);
            continue;
        }
        r = compute(c, f.e);
        tn_memo_at(c->m, f.e)->simple = r;
        tn_memo_at(c->m, r)->simple = r;
    }
    if (s.at != s.small)
        tn_vec_free(s.at);
    return known(c, root);
}

const tn_expr *tn_simplify(tn_pool *p, const tn_facts *f, const tn_expr *e)
{
    tn_simp c;
    tn_memo own;
    if (e->kind == TN_E_INT || e->kind == TN_E_FLOAT)
        return e;
    tn_simp_open(&c, p, f, &own);
    const tn_expr *r = tn_simp_run(&c, e);
    tn_simp_close(&c, &own);
    return r;
}
