/* The peak for people: max() of sums without max() inside, and what it is for the smallest symbols. */
#include "driver/driver.h"

#include <string.h>

enum { MOST_TERMS = 16 }; /* of the maximum; a longer one is printed as it is */

typedef struct {
    tn_pool *pool;
    const tn_expr *term[MOST_TERMS];
    int n;
    bool full;
} terms;

static void add_term(terms *t, const tn_expr *e)
{
    e = tn_simplify(t->pool, NULL, e);
    for (int i = 0; i < t->n; i++)
        if (t->term[i] == e)
            return;
    t->full |= t->n == MOST_TERMS;
    if (!t->full)
        t->term[t->n++] = e;
}

/* The operands of e + rest as a maximum: max(a, b) + c is max(a + c, b + c). At most MOST_TERMS leaves are visited. */
static void flatten(terms *t, const tn_expr *e, const tn_expr *rest)
{
    if (t->full)
        return;
    if (e->kind == TN_E_MAX) {
        flatten(t, e->src[0], rest);
        flatten(t, e->src[1], rest);
        return;
    }
    for (int i = 0; e->kind == TN_E_ADD && i < 2; i++)
        if (e->src[i]->kind == TN_E_MAX || e->src[i]->kind == TN_E_ADD) {
            flatten(t, e->src[i], tn_add(t->pool, e->src[1 - i], rest));
            return;
        }
    add_term(t, tn_add(t->pool, e, rest));
}

void tn_peak_print(tn_build *b, tn_buf *out)
{
    terms t = {.pool = &b->pool};
    flatten(&t, b->peak, tn_idx(&b->pool, 0));
    if (t.full || t.n == 0) {
        tn_expr_print(b->peak, NULL, out);
        return;
    }
    tn_buf_str(out, t.n > 1 ? "max(" : "");
    for (int i = 0; i < t.n; i++) {
        tn_buf_str(out, i ? ", " : "");
        tn_expr_print(t.term[i], NULL, out);
    }
    tn_buf_str(out, t.n > 1 ? ")" : "");
}

/* ---- an example ---- */

enum { LONGEST = 80 }; /* a list of symbols that is longer says nothing to people */

typedef struct {
    tn_graph *graph;
    bool *used; /* by the symbol's number */
} example;

static int64_t smallest(const tn_symbol_info *s) { return s->min > 1 || s->max < 1 ? s->min : 1; }

static const tn_expr *with_smallest(tn_pool *p, const tn_expr *e, void *user)
{
    example *x = user;
    const tn_symbol_info *s = e->kind == TN_E_SYM ? tn_graph_find_symbol(x->graph, e->u.s) : NULL;
    if (s)
        x->used[s - x->graph->symbol] = true;
    return s ? tn_idx(p, smallest(s)) : NULL;
}

uint64_t tn_peak_example(tn_build *b, tn_buf *out_symbols)
{
    int64_t v = 0;
    example x = {&b->graph, TN_NEW_N(&b->arena, bool, b->graph.n_symbol + 1)};
    const tn_expr *e = tn_simplify(&b->pool, NULL, tn_rewrite(&b->pool, b->peak, with_smallest, &x));
    for (uint32_t i = 0; i < b->graph.n_symbol; i++)
        if (x.used[i])
            tn_buf_printf(out_symbols, "%s%s=%lld", out_symbols->n ? ", " : "", b->graph.symbol[i].name,
                          (long long)smallest(&b->graph.symbol[i]));
    if (out_symbols->n > LONGEST) {
        tn_buf_clear(out_symbols);
        tn_buf_str(out_symbols, "every symbol at its smallest");
    }
    return tn_is_int(e, &v) && v > 0 ? (uint64_t)v : 0;
}
