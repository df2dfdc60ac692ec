/* Names that the text gives to shared expressions.
 *
 * Expressions are graphs, text is a tree: a statement whose text would repeat too much is printed behind lines such as
 * `%0: f32 = ...`, and %0 stands for that expression in what follows. Reading gives back the same expressions; nothing
 * but the text knows these names. Small operands are repeated all the same, so common functions read as formulas. The
 * text of a statement is linear in its distinct expressions, and so is the time.
 */
#include "tir/func.h"

enum {
    TREE_LIMIT = 256, /* nodes of a statement's text that may repeat freely */
    SMALL = 8         /* nodes that are repeated rather than named */
};

static uint64_t get(const tn_map *m, const tn_expr *e)
{
    uint64_t v = 0;
    tn_map_get(m, e->id, &v);
    return v;
}

typedef struct count {
    tn_map tree;
    uint64_t total;
} count;

static bool count_tree(const tn_expr *e, void *user)
{
    count *c = user;
    uint64_t n = 1;
    for (int i = 0; i < e->nsrc && n <= TREE_LIMIT; i++)
        n += get(&c->tree, e->src[i]);
    tn_map_put(&c->tree, e->id, n);
    return n <= TREE_LIMIT;
}

static const tn_expr *count_slot(const tn_expr *e, void *user)
{
    count *c = user;
    if (c->total <= TREE_LIMIT)
        c->total += tn_each(e, count_tree, c) ? get(&c->tree, e) : TREE_LIMIT + 1;
    return e;
}

static bool repeats(tn_stmt *s)
{
    count c = {0};
    tn_stmt_exprs(s, count_slot, &c);
    tn_map_deinit(&c.tree);
    return c.total > TREE_LIMIT;
}

typedef struct naming {
    tn_aliases *a;
    tn_map uses, size, seen;
} naming;

static bool count_uses(const tn_expr *e, void *user)
{
    naming *n = user;
    uint64_t seen;
    if (tn_map_get(&n->seen, e->id, &seen))
        return true;
    tn_map_put(&n->seen, e->id, 1);
    for (int i = 0; i < e->nsrc; i++)
        tn_map_put(&n->uses, e->src[i]->id, get(&n->uses, e->src[i]) + 1);
    return true;
}

static const tn_expr *count_uses_in(const tn_expr *e, void *user)
{
    naming *n = user;
    tn_map_put(&n->uses, e->id, get(&n->uses, e) + 1);
    tn_each(e, count_uses, n);
    return e;
}

static bool name_shared(const tn_expr *e, void *user)
{
    naming *n = user;
    uint64_t size = 1, known;
    if (tn_map_get(&n->size, e->id, &known))
        return true;
    for (int i = 0; i < e->nsrc; i++)
        size += get(&n->size, e->src[i]);
    if (size >= SMALL && get(&n->uses, e) > 1) {
        tn_map_put(&n->a->number, e->id, n->a->named.n);
        tn_vec_push(&n->a->named, e);
        size = 1;
    }
    tn_map_put(&n->size, e->id, size);
    return true;
}

static const tn_expr *name_in(const tn_expr *e, void *user)
{
    tn_each(e, name_shared, user);
    return e;
}

void tn_aliases_find(tn_aliases *a, const tn_stmt *s)
{
    tn_stmt *at = (tn_stmt *)(uintptr_t)s; /* its slots are put back as they are */
    naming n = {.a = a};
    tn_map_clear(&a->number);
    tn_vec_clear(&a->named);
    if (!repeats(at))
        return;
    tn_stmt_exprs(at, count_uses_in, &n);
    tn_stmt_exprs(at, name_in, &n);
    tn_map_deinit(&n.uses);
    tn_map_deinit(&n.size);
    tn_map_deinit(&n.seen);
}

void tn_aliases_deinit(tn_aliases *a)
{
    tn_map_deinit(&a->number);
    tn_vec_deinit(&a->named);
}
