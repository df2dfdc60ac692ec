/* Tensors whose rank only the run knows: what Squeeze of symbolic extents gives, results of branches of several ranks,
 * values that a loop carries and that change their rank, elements of sequences. An operator that takes tensors is
 * converted, with all that follows it, once for each rank that its operand may have; the run decides (ops_if.c). */
#include "frontend/onnx/flow.h"
#include "op/host/host.h"

#include <string.h>

enum {
    MAX_OPEN = 2
}; /* values of which nothing is known, one inside the other: each means nine ways to go on */

/* ---- what such a value may be ---- */

static const tn_type *widened(imp_node *c, const tn_type *a, const tn_type *b)
{
    const tn_expr *dim[IMP_MAX_RANK];
    for (int d = 0; d < a->n; d++)
        dim[d] = a->dim[d] == b->dim[d] ? a->dim[d] : tn_any_dim(c->pool);
    return tn_type_tensor(c->pool, a->dtype, a->n, dim, NULL);
}

bool onnx_add_rank(imp_node *c, onnx_ranks *r, const tn_type *t)
{
    const tn_type *had = r->of[t->n];
    if (had && tn_type_fits(had, t))
        return false;
    r->of[t->n] = had ? widened(c, had, t) : t;
    return true;
}

bool onnx_add_ranks(imp_node *c, onnx_ranks *r, const onnx_ranks *more)
{
    bool changed = false;
    for (int n = 0; n <= IMP_MAX_RANK; n++)
        changed = (more->of[n] && onnx_add_rank(c, r, more->of[n])) || changed;
    return changed;
}

void onnx_note_ranks(imp_node *c, tn_node *n, const onnx_ranks *each)
{
    tn_map_put(&onnx_of(c)->ranks, tn_map_key(n), (uint64_t)(uintptr_t)each);
}

/* The type of a region's result as it is outside. */
static const tn_type *outside(imp_node *c, const tn_region *r, const tn_type *t)
{
    const tn_expr *dim[IMP_MAX_RANK];
    for (int d = 0; d < t->n; d++)
        dim[d] = tn_dim_is_any(t->dim[d]) || (t->dim[d]->kind != TN_E_INT && tn_region_binds(r, t->dim[d]))
                     ? tn_any_dim(c->pool)
                     : t->dim[d];
    return tn_type_tensor(c->pool, t->dtype, t->n, dim, NULL);
}

static bool ranks_of_if(imp_node *c, tn_value v, onnx_ranks *out)
{
    for (int i = 0; i < 2; i++) {
        const tn_region *r = v.def->region[i];
        onnx_ranks in = {{0}};
        if (tn_region_fails(r))
            continue;
        if (!onnx_ranks_of(c, (tn_value){r->result[v.out].def, r->result[v.out].out}, &in))
            return false;
        for (int n = 0; n <= IMP_MAX_RANK; n++)
            if (in.of[n])
                (void)onnx_add_rank(c, out, outside(c, r, in.of[n]));
    }
    return true;
}

/* Depth: that of branches, bounded by the reader. */
bool onnx_ranks_of(imp_node *c, tn_value v, onnx_ranks *out)
{
    const tn_type *t = tn_value_type(v);
    uint64_t at;
    *out = (onnx_ranks){{0}};
    if (t->kind == TN_T_TENSOR && t->n <= IMP_MAX_RANK)
        return onnx_add_rank(c, out, t);
    if (t->kind != TN_T_ANY)
        return false;
    if (tn_map_get(&onnx_of(c)->ranks, tn_map_key(v.def), &at)) {
        const onnx_ranks *noted = (const onnx_ranks *)(uintptr_t)at + v.out;
        *out = *noted;
        return onnx_is_limited(noted);
    }
    return tn_op_is(v.def, &tn_op_if) && ranks_of_if(c, v, out);
}

bool onnx_is_limited(const onnx_ranks *r)
{
    for (int n = 0; n <= IMP_MAX_RANK; n++)
        if (r->of[n])
            return true;
    return false;
}

static void any_rank(imp_node *c, tn_dtype t, onnx_ranks *out)
{
    const tn_expr *dim[IMP_MAX_RANK];
    for (int n = 0; n <= IMP_MAX_RANK; n++) {
        out->of[n] = tn_type_tensor(c->pool, t, n, dim, NULL);
        if (n < IMP_MAX_RANK)
            dim[n] = tn_any_dim(c->pool);
    }
}

/* ---- operators over them ---- */

tn_value onnx_with_rank(imp_node *c, tn_value v, const tn_type *t)
{
    const tn_expr **dim = TN_NEW_N(c->arena, const tn_expr *, t->n + 1u);
    for (int d = 0; d < t->n; d++)
        dim[d] = tn_dim_is_any(t->dim[d]) ? tn_fresh_symbol(c->g, "u", 0, INT32_MAX) : t->dim[d];
    tn_unbox_attr a = {{t->n, dim}};
    return imp_call1(c, &tn_op_unbox, &a, v);
}

/* Where the run has decided on v's rank: v as a tensor of it; else absent, and ranks that v has not are taken out. */
static tn_value decided(imp_node *c, tn_value v, onnx_ranks *r)
{
    const onnx_import *o = onnx_of(c);
    for (size_t i = o->sizes.n; i-- > 0;) {
        const onnx_size *s = &o->sizes.at[i];
        if (s->extent || s->value.def != v.def || s->value.out != v.out)
            continue;
        if (s->is)
            return s->opened;
        r->of[s->n] = NULL;
    }
    return (tn_value){0};
}

/* The type of what has one rank alone; else NULL. */
static const tn_type *only_one(const onnx_ranks *r)
{
    const tn_type *t = NULL;
    for (int n = 0; n <= IMP_MAX_RANK; n++)
        if (r->of[n]) {
            if (t)
                return NULL;
            t = r->of[n];
        }
    return t;
}

bool onnx_all_ranks_of(imp_node *c, tn_value v, onnx_ranks *out)
{
    bool known = onnx_ranks_of(c, v, out);
    if (!known)
        any_rank(c, tn_value_type(v)->dtype, out);
    return known;
}

/* v as a tensor of one rank; absent: c is done, by a fork, or has failed. */
static tn_value opened(imp_node *c, tn_value v)
{
    onnx_ranks r;
    bool any = !onnx_all_ranks_of(c, v, &r);
    tn_value is = decided(c, v, &r);
    if (is.def)
        return is;
    const tn_type *only = only_one(&r);
    if (only && !c->bad)
        return onnx_with_rank(c, v, only);
    if (!c->bad)
        onnx_fork_rank(c, v, &r, any);
    return (tn_value){0};
}

/* Does the operator take a tensor of any rank as its operand i? */
static bool takes_any(const imp_node *c, uint32_t i)
{
    bool first = i == 0 && (strcmp(c->row->op, "SplitToSequence") == 0 || strcmp(c->row->op, "ZipMap") == 0);
    return (onnx_is_over_values(c->row) && !first) || (strcmp(c->row->op, "Loop") == 0 && i >= 2);
}

bool onnx_open_operands(imp_node *c)
{
    tn_value *given = TN_NEW_N(c->arena, tn_value, c->n_in);
    bool differs = false;
    for (uint32_t i = 0; i < imp_n_in(c) && !c->bad; i++) {
        given[i] = imp_opt(c, i);
        if (!onnx_is_any_rank(given[i]) || takes_any(c, i))
            continue;
        given[i] = opened(c, given[i]);
        differs = true;
        if (!given[i].def)
            return false;
    }
    if (differs)
        c->given = given;
    return !c->bad;
}
