/* Dimensions of inputs that may be 0: the length of a cache before the first step of a decoder, say.
 *
 * A symbol begins at 1, which lets kernels leave out much. Where results have the symbol in their shape and none of
 * them becomes empty at 0 (a cache of past + 1 rows), 0 is a size as any other, and the symbol begins at 0; so it
 * does where a host function reads a tensor of that shape (a sequence of no parts), and where it is the length of a
 * list that decides about ranks (the shape of a scalar). Where a result becomes empty (a
 * batch of 0 rows), the run makes empty results without any kernel (docs/abi.md). */
#include "frontend/frontend.h"

#include "arith/arith.h"
#include "base/vec.h"
#include "base/words.h"
#include "op/op.h"

typedef struct {
    tn_graph *g;
    const tn_expr *symbol;
    tn_facts facts; /* ranges of all symbols, the symbol's being 0 */
    bool named;     /* in the shape of a result */
} zero;

/* Is the shape without the symbol, or not empty where it is 0? */
static bool has_elements(zero *z, const tn_type *t)
{
    tn_pool *p = z->g->pool;
    const tn_expr *none = tn_idx(p, 0);
    bool named = false, full = true;
    for (int d = 0; t && !tn_type_is_handle(t) && d < t->n; d++) {
        named = named || tn_uses(t->dim[d], z->symbol);
        full = full && tn_prove(p, &z->facts,
                                tn_le(p, tn_idx(p, 1), tn_subst(p, t->dim[d], 1, &z->symbol, &none))) == 1;
    }
    z->named = z->named || named;
    return full || !named;
}

/* Does a host function read a tensor with the symbol in its shape? Depth: that of regions, bounded by the readers. */
static bool is_read_by_host(const tn_region *r, const tn_expr *symbol)
{
    bool read = false;
    for (const tn_node *n = r->first; n && !read; n = n->next) {
        for (int i = 0; i < n->nregion && !read; i++)
            read = is_read_by_host(n->region[i], symbol);
        for (int i = 0; n->op->host && i < n->nin && !read; i++) {
            const tn_type *t = n->in[i].def ? tn_in_type(n, i) : NULL;
            for (int d = 0; t && !tn_type_is_handle(t) && d < t->n; d++)
                read = read || tn_uses(t->dim[d], symbol);
        }
    }
    return read;
}

static bool may_be_zero(tn_graph *g, const tn_region *r, const tn_expr *symbol)
{
    zero z = {.g = g, .symbol = symbol};
    bool ok = tn_graph_symbol(g, symbol->u.s)->min == 1;
    tn_facts_init(&z.facts);
    for (uint32_t i = 0; i < g->n_symbol; i++)
        tn_facts_range(&z.facts, tn_sym(g->pool, g->symbol[i].name), g->symbol[i].min, g->symbol[i].max);
    for (uint32_t i = 0; i < r->n_result && ok; i++)
        ok = has_elements(&z, r->result[i].def->type[r->result[i].out]);
    tn_facts_deinit(&z.facts);
    return ok && (z.named || tn_graph_symbol(g, symbol->u.s)->is_length || is_read_by_host(r, symbol));
}

size_t tn_find_zero_symbols(tn_graph *g, const char ***out)
{
    const tn_function *f = tn_graph_function(g, "main");
    tn_vec(const char *) found = {0};
    for (uint32_t i = 0; f && i < f->body->n_param; i++) {
        const tn_type *t = f->body->param[i]->type[0];
        for (int d = 0; t && !tn_type_is_handle(t) && d < t->n; d++)
            if (t->dim[d]->kind == TN_E_SYM && !tn_words_hold(found.at, found.n, t->dim[d]->u.s) &&
                may_be_zero(g, f->body, t->dim[d]))
                tn_vec_push(&found, t->dim[d]->u.s);
    }
    *out = tn_arena_copy(g->arena, found.n ? (const void *)found.at : "", found.n * sizeof *found.at, 8);
    size_t n = found.n;
    tn_vec_deinit(&found);
    return n;
}
