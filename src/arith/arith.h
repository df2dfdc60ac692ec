#ifndef TN_ARITH_ARITH_H
#define TN_ARITH_ARITH_H
/* Integer reasoning over expressions: simplifier, bounds, affine forms. Pure functions of (pool, facts,
 * expression).
 *
 * Two domains: `index` is exact (never overflows; every symbol and variable has a range), data integers wrap
 * at their width. Each rule of the simplifier's table names the domains it holds in and is checked in both by
 * exhaustion.
 */
#include "ir/expr.h"

typedef struct tn_range {
    int64_t lo, hi;
} tn_range; /* inclusive; INT64_MIN / INT64_MAX: unbounded */

/* What is known about leaves: ranges of variables and symbols, and conditions that hold. Scratch; borrowed
 * expressions: facts die before the pool whose expressions they saw, and belong to one thread at a time. */
typedef struct tn_facts {
    tn_map range; /* expression id key (tn_map_key of the leaf) -> index into `at` */
    tn_range *at;
    size_t n, cap;
    const tn_expr **cond;
    size_t n_cond, cap_cond; /* assumed true */
    /* symbolic upper bounds: leaf <= expr (e.g. loop var i <= n - 1) */
    struct {
        const tn_expr *leaf, *max;
    } *upper;
    size_t n_upper, cap_upper;
    struct tn_memo *memo; /* what was already worked out under these facts; forgotten when they change */
} tn_facts;

void tn_facts_init(tn_facts *f);
void tn_facts_deinit(tn_facts *f);
void tn_facts_range(tn_facts *f, const tn_expr *leaf, int64_t lo, int64_t hi); /* VAR or SYM; replaces */
/* 0 <= var < extent, which may be symbolic; replaces what was known of var. */
void tn_facts_loop(tn_pool *p, tn_facts *f, const tn_expr *var, const tn_expr *extent);
void tn_facts_assume(tn_facts *f, const tn_expr *cond); /* bool, true from here on */
/* Assumptions and upper bounds made so far, and what was made since then dropped again. A loop's bounds hold
 * in its body alone: behind it `i <= n - 1` would say that n is at least 1. */
typedef struct tn_facts_mark {
    size_t n_cond, n_upper;
} tn_facts_mark;
tn_facts_mark tn_facts_here(const tn_facts *f);
void tn_facts_release(tn_facts *f, tn_facts_mark mark);

/* Smallest interval known to hold e (index or integer). */
tn_range tn_bounds(const tn_facts *f, const tn_expr *e);
/* Simplifies; facts may be NULL. A symbol without a range is in [0, 2^31-1], since some may be 0; a variable is
 * unbounded. Same value wherever facts hold. */
const tn_expr *tn_simplify(tn_pool *p, const tn_facts *f, const tn_expr *e);
/* 1: cond is true, 0: false, -1: not known. */
int tn_prove(tn_pool *p, const tn_facts *f, const tn_expr *cond);
/* Equal for all values? (simplifies a - b) */
bool tn_equal(tn_pool *p, const tn_facts *f, const tn_expr *a, const tn_expr *b);

/* e = coef * var + rest, with neither using var (index). false if e is not of that form. */
bool tn_linear(tn_pool *p, const tn_facts *f, const tn_expr *e, const tn_expr *var, const tn_expr **out_coef,
               const tn_expr **out_rest);

/* A sum of atoms: constant + sum coef[i] * atom[i] with integer coefficients; atoms are non-sums (variables,
 * symbols, products of them, divisions). Used to compare and to collect; at most TN_AFFINE_MAX atoms. */
enum { TN_AFFINE_MAX = 64 };
typedef struct tn_affine {
    int64_t c;
    int n;
    struct {
        const tn_expr *atom;
        int64_t coef;
    } term[TN_AFFINE_MAX];
} tn_affine;
bool tn_affine_of(tn_pool *p, const tn_expr *e, tn_affine *out); /* false: too many terms or overflow */
const tn_expr *tn_affine_expr(tn_pool *p, const tn_affine *a);

/* Interval of e when each of n variables ranges over [0, extent[i] - 1], others fixed: lo and hi as
 * expressions free of them. false if e is not monotone in each. Used for regions of buffers. */
bool tn_span(tn_pool *p, const tn_facts *f, const tn_expr *e, int n, const tn_expr *const var[],
             const tn_expr *const extent[], const tn_expr **out_lo, const tn_expr **out_hi);

/* Solves the conjunction of bounds on `var` in cond (lo <= var < hi, rest independent of var): out_lo / out_hi
 * are expressions (NULL: no bound on that side), *out_rest the remaining condition (NULL: none). Used by peel. */
void tn_solve_bounds(tn_pool *p, const tn_facts *f, const tn_expr *cond, const tn_expr *var,
                     const tn_expr **out_lo, const tn_expr **out_hi, const tn_expr **out_rest);

/* The rule table, for tests and docs: {name, domains, before, after, when} as text over a b c d (of the
 * domain's type), p q (bool) and constants k1 k2 (of the domain's type); `when` NULL: always. before and after
 * are equal in every listed domain wherever `when` holds and before is defined, and the simplifier brings both
 * to the same expression. */
enum { TN_DOM_INDEX = 1, TN_DOM_WRAP = 2, TN_DOM_BOOL = 4, TN_DOM_FLOAT = 8 };
typedef struct tn_rule_row {
    const char *name;
    unsigned domains;
    const char *before, *after, *when;
} tn_rule_row;
extern const tn_rule_row tn_rules[];
extern const size_t tn_n_rules;

int64_t tn_gcd(int64_t a, int64_t b); /* of absolute values */

#endif
