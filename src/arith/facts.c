/* Facts about leaves and the assumptions that hold, and the memo of what follows from them.
 *
 * Invariant: every change of the facts forgets the memo, so nothing outlives the facts it was derived from. A
 * loop variable has a numeric range always and, if its extent is symbolic, an upper bound as an expression as
 * well.
 */
#include "arith/arith_impl.h"
#include "base/alloc.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void tn_facts_init(tn_facts *f)
{
    memset(f, 0, sizeof *f);
    f->memo = tn_alloc(sizeof *f->memo);
    tn_memo_init(f->memo);
}

void tn_facts_deinit(tn_facts *f)
{
    tn_map_deinit(&f->range);
    tn_vec_free(f->at);
    tn_vec_free(f->cond);
    tn_vec_free(f->upper);
    if (f->memo)
        tn_memo_deinit(f->memo);
    tn_free(f->memo);
    memset(f, 0, sizeof *f);
}

static void changed(tn_facts *f)
{
    if (f->memo)
        tn_memo_clear(f->memo);
}

static void drop_upper(tn_facts *f, const tn_expr *leaf)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_upper; i++)
        if (f->upper[i].leaf != leaf)
            f->upper[n++] = f->upper[i];
    f->n_upper = n;
}

void tn_facts_range(tn_facts *f, const tn_expr *leaf, int64_t lo, int64_t hi)
{
    uint64_t i;
    TN_ASSERT(leaf->kind == TN_E_VAR || leaf->kind == TN_E_SYM);
    changed(f);
    drop_upper(f, leaf);
    if (!tn_map_get(&f->range, tn_map_key(leaf), &i)) {
        if (f->n == f->cap)
            f->at = tn_vec_grow(f->at, f->n, 1, &f->cap, sizeof *f->at);
        i = f->n++;
        tn_map_put(&f->range, tn_map_key(leaf), i);
    }
    f->at[i] = (tn_range){lo, hi};
}

void tn_facts_upper(tn_facts *f, const tn_expr *leaf, const tn_expr *max)
{
    changed(f);
    if (f->n_upper == f->cap_upper)
        f->upper = tn_vec_grow(f->upper, f->n_upper, 1, &f->cap_upper, sizeof *f->upper);
    f->upper[f->n_upper].leaf = leaf;
    f->upper[f->n_upper++].max = max;
}

void tn_facts_loop(tn_pool *p, tn_facts *f, const tn_expr *var, const tn_expr *extent)
{
    int64_t n;
    extent = tn_simplify(p, f, extent);
    tn_range r = tn_bounds(f, extent);
    tn_facts_range(f, var, 0, r.hi == INT64_MAX ? INT64_MAX : r.hi > 0 ? r.hi - 1 : 0);
    if (tn_is_int(extent, &n))
        return;
    tn_facts_upper(f, var, tn_simplify(p, f, tn_sub(p, extent, tn_idx(p, 1))));
}

void tn_facts_assume(tn_facts *f, const tn_expr *cond)
{
    changed(f);
    if (f->n_cond == f->cap_cond)
        f->cond = tn_vec_grow(f->cond, f->n_cond, 1, &f->cap_cond, sizeof *f->cond);
    f->cond[f->n_cond++] = cond;
}

tn_facts_mark tn_facts_here(const tn_facts *f) { return (tn_facts_mark){f->n_cond, f->n_upper}; }

void tn_facts_release(tn_facts *f, tn_facts_mark mark)
{
    TN_ASSERT(mark.n_cond <= f->n_cond);
    if (mark.n_cond == f->n_cond && mark.n_upper >= f->n_upper)
        return;
    changed(f);
    f->n_cond = mark.n_cond;
    f->n_upper = mark.n_upper < f->n_upper ? mark.n_upper : f->n_upper;
}
