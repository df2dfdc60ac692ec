/* Memo of the simplifier: a hash table from expressions to what is known of them under one set of facts.
 *
 * Open addressing with linear probing over pointers, at most half full; clearing bumps a generation, so it
 * costs O(1). The first TN_MEMO_SMALL slots live inside the memo: a call without lasting facts allocates
 * nothing for small inputs.
 */
#include "arith/arith_impl.h"
#include "base/vec.h"

#include <string.h>

void tn_memo_init(tn_memo *m)
{
    memset(m, 0, sizeof *m);
    m->at = m->small;
    m->cap = TN_MEMO_SMALL;
    m->gen = 1;
}

void tn_memo_deinit(tn_memo *m)
{
    if (m->at != m->small)
        tn_vec_free(m->at);
    tn_vec_free(m->tight);
    tn_vec_free(m->known);
    tn_vec_free(m->held);
}

void tn_memo_clear(tn_memo *m)
{
    m->n = 0;
    m->has_tight = m->has_known = false;
    m->n_tight = m->n_known = m->n_held = 0;
    if (++m->gen == 0) { /* wrapped: old marks could look valid again */
        memset(m->at, 0, m->cap * sizeof *m->at);
        m->gen = 1;
    }
}

/* The slot that holds key, or the free one where it belongs. */
static tn_memo_entry *probe(const tn_memo *m, const tn_expr *key)
{
    uint32_t at = (uint32_t)((key->hash * 0x9E3779B97F4A7C15u) >> 32) & (m->cap - 1);
    while (m->at[at].gen == m->gen && m->at[at].key != key)
        at = (at + 1) & (m->cap - 1);
    return &m->at[at];
}

tn_memo_entry *tn_memo_find(const tn_memo *m, const tn_expr *key)
{
    tn_memo_entry *e = probe(m, key);
    return e->gen == m->gen ? e : NULL;
}

static void grow(tn_memo *m)
{
    tn_memo old = *m;
    bool was_small = m->at == m->small;
    size_t cap = 0;
    tn_memo_entry *at = tn_vec_grow(NULL, 0, (size_t)old.cap * 2, &cap, sizeof *at);
    m->cap = old.cap * 2;
    m->at = at;
    memset(at, 0, m->cap * sizeof *at);
    for (uint32_t i = 0; i < old.cap; i++) {
        const tn_memo_entry *e = was_small ? &m->small[i] : &old.at[i];
        if (e->gen == m->gen)
            *probe(m, e->key) = *e;
    }
    if (!was_small)
        tn_vec_free(old.at);
}

tn_memo_entry *tn_memo_at(tn_memo *m, const tn_expr *key)
{
    tn_memo_entry *e = probe(m, key);
    if (e->gen == m->gen)
        return e;
    if ((m->n + 1) * 2 > m->cap) {
        grow(m);
        e = probe(m, key);
    }
    m->n++;
    *e = (tn_memo_entry){.key = key, .gen = m->gen};
    return e;
}
