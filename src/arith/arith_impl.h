#ifndef TN_ARITH_ARITH_IMPL_H
#define TN_ARITH_ARITH_IMPL_H
/* What the files of arith/ share and nobody else sees.
 *
 * One call of the simplifier is a tn_simp: the pool, the facts, a memo. Rules take operands that are already
 * simplified and return a simplified expression; they call each other at most TN_SIMP_DEPTH deep, then build
 * plain nodes.
 */
#include "arith/arith.h"
#include "base/size.h"

enum {
    TN_SIMP_DEPTH = 16,    /* of rules calling rules */
    TN_BOUNDS_DEPTH = 128, /* of expressions looked into by bounds; deeper is unbounded */
    TN_MEMO_SMALL = 32,
    TN_MEMO_LIMIT = 1 << 17, /* entries; a fuller memo is forgotten at the next call */
    TN_TIGHT_MAX = 32
};

#define TN_NO_RANGE ((tn_range){INT64_MIN, INT64_MAX})

/* ---- memo: expression -> simplified form, interval; plus what follows from the assumptions ---- */

typedef struct tn_memo_entry {
    const tn_expr *key, *simple; /* simple NULL: only the range is known */
    tn_range range;
    uint32_t gen; /* valid if equal to the memo's */
    bool has_range;
} tn_memo_entry;

typedef struct tn_memo {
    const tn_pool *pool; /* the expressions' */
    tn_memo_entry *at;   /* open addressing, at most half full; `small` at first */
    uint32_t cap, n, gen;
    bool has_tight, has_known;
    /* intervals of atoms that assumptions give, for tn_bounds */
    struct {
        const tn_expr *atom;
        tn_range range;
    } *tight;
    size_t n_tight, cap_tight;
    /* assumptions and symbolic upper bounds as affine <= 0, and every assumption simplified, for proofs */
    tn_affine *known;
    size_t n_known, cap_known;
    const tn_expr **held;
    size_t n_held, cap_held;
    tn_memo_entry small[TN_MEMO_SMALL];
} tn_memo;

void tn_memo_init(tn_memo *m);
void tn_memo_deinit(tn_memo *m);
void tn_memo_clear(tn_memo *m);
tn_memo_entry *tn_memo_find(const tn_memo *m, const tn_expr *key); /* NULL: absent */
tn_memo_entry *tn_memo_at(tn_memo *m, const tn_expr *key); /* inserts; valid until the next insertion */

/* ---- affine forms ---- */

/* a += coef * atom, a += k * b; false: too many terms or overflow, a is then of no use. */
bool tn_affine_term(tn_affine *a, const tn_expr *atom, int64_t coef);
bool tn_affine_addmul(tn_affine *a, const tn_affine *b, int64_t k);
bool tn_affine_product(tn_pool *p, const tn_affine *a, const tn_affine *b, tn_affine *out);
int64_t tn_affine_coef(const tn_affine *a, const tn_expr *atom); /* 0: absent */
/* atom / by as a product without remainder; *out NULL: 1. false: not a factor. */
bool tn_atom_divide(tn_pool *p, const tn_expr *atom, const tn_expr *by, const tn_expr **out);
void tn_affine_drop(tn_affine *a, int i);
/* Like tn_affine_of without a pool: products of sums stay atoms. */
bool tn_affine_raw(const tn_expr *e, tn_affine *out);
/* cond, a comparison of scalar indices by < or <=, as out <= 0. p NULL: raw. */
bool tn_affine_cond(tn_pool *p, const tn_expr *cond, tn_affine *out);
int tn_expr_order(const tn_expr *a, const tn_expr *b); /* structural, the same in every run */

/* ---- facts ---- */

void tn_facts_upper(tn_facts *f, const tn_expr *leaf,
                    const tn_expr *max); /* leaf <= max, besides what is known */

/* ---- intervals ---- */

typedef struct tn_bnd {
    const tn_facts *f;
    tn_memo *m;
} tn_bnd;
tn_range tn_bounds_of(const tn_bnd *b, const tn_expr *e);
tn_range tn_bounds_affine(const tn_bnd *b, const tn_affine *a);
/* Next assumption from *at on that fixes x % m for a constant m > 0: x % m == r. */
bool tn_bounds_residue(const tn_bnd *b, const tn_expr *x, size_t *at, int64_t *m, int64_t *r);
tn_range tn_dtype_range(tn_dtype t); /* of a data integer or bool */

/* k*x, k*min(x, at) or k*max(x, at) as a function of x: its slopes before and after `at`. */
typedef struct tn_bend {
    int64_t at, k, before, after;
} tn_bend;
const tn_expr *tn_clipped(const tn_expr *e); /* the x of a min or max with a constant; NULL: e is none */
tn_bend tn_bend_of(const tn_expr *x, const tn_expr *atom, int64_t k);
tn_range tn_bends_range(int n, tn_bend s[], tn_range x); /* of their sum; n > 0; sorts s */

static inline bool tn_range_is_point(tn_range r)
{
    return r.lo == r.hi && r.lo != INT64_MIN && r.lo != INT64_MAX;
}

/* ---- the simplifier ---- */

typedef struct tn_simp {
    tn_pool *p;
    const tn_facts *f;
    tn_memo *m;
    tn_bnd b;
    int depth;    /* of rules; see TN_SIMP_DEPTH */
    bool proving; /* a proof is under way: another one inside it looks at intervals only */
    int left;     /* what that proof may still spend, on sums and on rules alike; see prove.c */
} tn_simp;

/* Takes a unit of the proof under way. false: it has none left, so a rule must build its plain node. */
static inline bool tn_simp_afford(tn_simp *c) { return !c->proving || c->left-- > 0; }

void tn_simp_open(tn_simp *c, tn_pool *p, const tn_facts *f, tn_memo *own); /* own: used if f has no memo */
void tn_simp_close(tn_simp *c, tn_memo *own);
const tn_expr *tn_simp_run(tn_simp *c, const tn_expr *root);

static inline const tn_expr *tn_simp_node2(tn_simp *c, enum tn_ek k, tn_dtype t, const tn_expr *a,
                                           const tn_expr *b)
{
    return tn_expr_make(c->p, k, t, (tn_payload){0}, 2, (const tn_expr *const[]){a, b});
}

/* Scalar index. */
bool tn_simp_affine(tn_simp *c, const tn_expr *e, tn_affine *out);
void tn_simp_combine(tn_simp *c, tn_affine *a); /* terms with each other */
const tn_expr *tn_simp_sum(tn_simp *c, const tn_affine *a);
const tn_expr *tn_simp_mul(tn_simp *c, const tn_expr *a, const tn_expr *b);
const tn_expr *tn_simp_div(tn_simp *c, const tn_expr *x, const tn_expr *y);
const tn_expr *tn_simp_mod(tn_simp *c, const tn_expr *x, const tn_expr *y);
const tn_expr *tn_simp_minmax(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b);
const tn_expr *tn_simp_trunc(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b);
/* Comparisons of scalar indices: by operands, and affine <= 0, affine == 0. */
const tn_expr *tn_simp_compare(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b);
const tn_expr *tn_simp_le0(tn_simp *c, tn_affine *a);
/* Bool. */
const tn_expr *tn_simp_not(tn_simp *c, const tn_expr *a);
const tn_expr *tn_simp_junction(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b); /* AND, OR */
const tn_expr *tn_simp_select(tn_simp *c, const tn_expr *cond, const tn_expr *a, const tn_expr *b);
/* NULL: no rule applies. Data integers (wrapping), floats, conversions, vectors. */
const tn_expr *tn_simp_wrap(tn_simp *c, const tn_expr *e, const tn_expr *const s[]);
const tn_expr *tn_simp_float(tn_simp *c, const tn_expr *e, const tn_expr *const s[]);
const tn_expr *tn_simp_cast(tn_simp *c, const tn_expr *e, const tn_expr *const s[]);
const tn_expr *tn_simp_vector(tn_simp *c, const tn_expr *e, const tn_expr *const s[]);
const tn_expr *tn_simp_wrap_minmax(tn_simp *c, enum tn_ek k, const tn_expr *a,
                                   const tn_expr *b); /* never NULL */
/* One scalar node over simplified operands. */
const tn_expr *tn_simp_scalar(tn_simp *c, const tn_expr *e, const tn_expr *const s[]);

/* ---- proofs from assumptions ---- */

bool tn_prove_le0(tn_simp *c, const tn_affine *a);             /* a <= 0 for certain? */
const tn_expr *tn_prove_held(tn_simp *c, const tn_expr *cond); /* true or false if assumed so, else NULL */

#endif
