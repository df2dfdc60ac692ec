/* Walks over expressions: post-order, explicit stack, each distinct node once. O(nodes + operands) time.
 *
 * Memos are keyed by id, which is unique in a pool and its parents. Depth is bounded by memory, not by the C
 * stack. Most expressions are shallow and most roots are leaves, so these allocate as little as they can.
 */
#include "ir/expr.h"

#include "base/vec.h"

#include <string.h>

enum { SHALLOW = 16 };

typedef struct frame {
    const tn_expr *e;
    int next;
} frame;

typedef struct stack {
    frame *at; /* NULL: first */
    size_t n, cap;
    frame first[SHALLOW];
} stack;

static frame *frames(stack *s) { return s->at ? s->at : s->first; }

static void push(stack *s, const tn_expr *e)
{
    if (!s->at && s->n == SHALLOW) {
        s->at = tn_vec_grow(NULL, s->n, 1, &s->cap, sizeof *s->at);
        memcpy(s->at, s->first, sizeof s->first);
    } else if (s->at && s->n == s->cap) {
        s->at = tn_vec_grow(s->at, s->n, 1, &s->cap, sizeof *s->at);
    }
    frames(s)[s->n++] = (frame){e, 0};
}

static void stack_open(stack *s, const tn_expr *root)
{
    s->at = NULL;
    s->n = s->cap = 0;
    push(s, root);
}

/* Steps to the next expression whose operands are all done; NULL at the end. `done` holds the ids finished. */
static const tn_expr *next_ready(stack *s, const tn_map *done)
{
    uint64_t ignored;
    while (s->n > 0) {
        frame *f = &frames(s)[s->n - 1];
        const tn_expr *e = f->e, *src = NULL;
        while (!src && f->next < e->nsrc) {
            src = e->src[f->next++];
            if (tn_map_get(done, src->id, &ignored))
                src = NULL;
        }
        if (src) {
            push(s, src);
            continue;
        }
        s->n--;
        if (!tn_map_get(done, e->id, &ignored)) /* else it was reached twice before it was done */
            return e;
    }
    return NULL;
}

static const tn_expr *of_value(uint64_t v) { return (const tn_expr *)(uintptr_t)v; }

/* New operands of e from the memo; false if none differs. */
static bool operands(const tn_map *memo, const tn_expr *e, const tn_expr **out)
{
    bool changed = false;
    for (int i = 0; i < e->nsrc; i++) {
        uint64_t v = 0;
        bool found = tn_map_get(memo, e->src[i]->id, &v);
        TN_ASSERT(found);
        out[i] = of_value(v);
        changed |= out[i] != e->src[i];
    }
    return changed;
}

typedef const tn_expr *over_fn(tn_pool *p, const tn_expr *e, const tn_expr *const src[]);

/* memo may hold replacements already. `over` puts changed operands in place, `rule` (or NULL) comes after it. */
static const tn_expr *walk(tn_pool *p, const tn_expr *root, tn_map *memo, over_fn *over, tn_rule *rule,
                           void *user)
{
    const tn_expr *src[UINT8_MAX], *e;
    stack s;
    stack_open(&s, root);
    uint64_t result = 0;
    if (tn_map_get(memo, root->id, &result))
        s.n = 0;
    while ((e = next_ready(&s, memo)) != NULL) {
        const tn_expr *r = operands(memo, e, src) ? over(p, e, src) : e;
        const tn_expr *better = rule ? rule(p, r, user) : NULL;
        tn_map_put(memo, e->id, tn_map_key(better ? better : r));
    }
    bool found = tn_map_get(memo, root->id, &result);
    TN_ASSERT(found);
    tn_vec_free(s.at);
    return of_value(result);
}

const tn_expr *tn_rewrite(tn_pool *p, const tn_expr *root, tn_rule *rule, void *user)
{
    tn_map memo = {0};
    const tn_expr *r;
    if (!root->nsrc)
        return (r = rule(p, root, user)) ? r : root;
    r = walk(p, root, &memo, tn_expr_with, rule, user);
    tn_map_deinit(&memo);
    return r;
}

const tn_expr *tn_retype(tn_pool *p, const tn_expr *root, tn_retype_rule *rule, void *user)
{
    const tn_expr *src[UINT8_MAX], *e, *r = NULL;
    tn_map memo = {0};
    stack s;
    stack_open(&s, root);
    while ((e = next_ready(&s, &memo)) != NULL) {
        (void)operands(&memo, e, src);
        r = rule(p, e, src, user);
        tn_map_put(&memo, e->id, tn_map_key(r));
    }
    tn_vec_free(s.at);
    tn_map_deinit(&memo);
    return r; /* root is the last one */
}

const tn_expr *tn_rewrite_memo(tn_pool *p, const tn_expr *root, tn_map *memo)
{
    return walk(p, root, memo, tn_expr_with, NULL, NULL);
}

const tn_expr *tn_subst(tn_pool *p, const tn_expr *e, int n, const tn_expr *const from[],
                        const tn_expr *const to[])
{
    tn_map memo = {0};
    for (int i = n; i > 0; i--)
        if (from[i - 1] == e)
            return to[i - 1];
    if (!e->nsrc || n == 0)
        return e;
    for (int i = 0; i < n; i++)
        tn_map_put(&memo, from[i]->id, tn_map_key(to[i]));
    const tn_expr *r = walk(p, e, &memo, tn_rebuild, NULL, NULL);
    tn_map_deinit(&memo);
    return r;
}

const tn_expr *tn_expr_import(tn_pool *p, const tn_expr *root)
{
    const tn_expr *src[UINT8_MAX], *e, *r = NULL;
    tn_map memo = {0};
    stack s;
    stack_open(&s, root);
    while ((e = next_ready(&s, &memo)) != NULL) {
        tn_payload u = e->u;
        if (e->kind == TN_E_SYM || e->kind == TN_E_SHUFFLE)
            u.s = tn_intern(p->ctx, u.s);
        (void)operands(&memo, e, src);
        r = tn_expr_make(p, e->kind, e->dtype, u, e->nsrc, src);
        tn_map_put(&memo, e->id, tn_map_key(r));
    }
    tn_vec_free(s.at);
    tn_map_deinit(&memo);
    return r; /* root is the last one */
}

bool tn_each(const tn_expr *root, bool (*fn)(const tn_expr *e, void *user), void *user)
{
    tn_map done = {0};
    stack s;
    const tn_expr *e;
    bool all = true;
    if (!root->nsrc)
        return fn(root, user);
    stack_open(&s, root);
    while (all && (e = next_ready(&s, &done)) != NULL) {
        tn_map_put(&done, e->id, 0);
        all = fn(e, user);
    }
    tn_vec_free(s.at);
    tn_map_deinit(&done);
    return all;
}

bool tn_uses(const tn_expr *e, const tn_expr *leaf)
{
    tn_map seen = {0};
    stack todo;
    bool found = e == leaf;
    uint64_t ignored;
    stack_open(&todo, e);
    while (todo.n > 0 && !found) {
        e = frames(&todo)[--todo.n].e;
        for (int i = 0; i < e->nsrc; i++) {
            const tn_expr *src = e->src[i];
            found = found || src == leaf;
            if (src->id <= leaf->id || !src->nsrc || tn_map_get(&seen, src->id, &ignored))
                continue; /* operands have smaller ids */
            tn_map_put(&seen, src->id, 0);
            push(&todo, src);
        }
    }
    tn_vec_free(todo.at);
    tn_map_deinit(&seen);
    return found;
}
