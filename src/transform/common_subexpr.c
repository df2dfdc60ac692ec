/* EliminateCommonSubexpr: two nodes of one operator with equal attributes and inputs are one. A table by hash
 * of operator, attributes and inputs; in execution order, so the first of equals stays. */
#include "transform/pass.h"

#include "op/core/core.h"

#include <string.h>

static uint64_t hash(const tn_node *n)
{
    uint64_t h = tn_hash_bytes(n->op->name, strlen(n->op->name), 1);
    if (n->op->attr_size)
        h = tn_hash_u64(h, tn_attr_hash(n->op->attr, n->attr));
    for (int i = 0; i < n->nin; i++)
        h = tn_hash_u64(tn_hash_u64(h, n->in[i].def ? n->in[i].def->id : UINT32_MAX), n->in[i].out);
    return h;
}

static bool equal(const tn_node *a, const tn_node *b)
{
    if (a->op != b->op || a->nin != b->nin || a->nout != b->nout)
        return false;
    for (int i = 0; i < a->nin; i++)
        if (!tn_value_eq(tn_in(a, i), tn_in(b, i)))
            return false;
    return !a->op->attr_size || tn_attr_eq(a->op->attr, a->attr, b->attr);
}

static bool mergeable(const tn_node *n)
{
    return n->op->fuse != TN_FUSE_NONE && !(n->op->flags & TN_OP_EFFECT) && !n->nregion;
}

/* What the regions around a node have computed before it. */
typedef struct scope {
    struct scope *up;
    tn_map seen;
} scope;

static tn_node *find_equal(const scope *s, uint64_t h)
{
    uint64_t at;
    for (; s; s = s->up)
        if (tn_map_get(&s->seen, h, &at))
            return (tn_node *)(uintptr_t)at;
    return NULL;
}

static void region(tn_pass *p, tn_graph *g, tn_region *r, scope *up)
{
    scope s = {.up = up};
    tn_node *next;
    for (tn_node *n = r->first; n; n = next) {
        next = n->next;
        for (int i = 0; i < n->nregion; i++)
            region(p, g, n->region[i], n->op == &tn_op_fn ? NULL : &s);
        if (!mergeable(n))
            continue;
        uint64_t h = hash(n);
        tn_node *first = find_equal(&s, h);
        if (!first) {
            tn_map_put(&s.seen, h, tn_map_key(n));
        } else if (equal(first, n)) {
            for (uint16_t k = 0; k < n->nout; k++)
                tn_value_replace(g, (tn_value){n, k}, (tn_value){first, k});
            tn_node_remove(g, n);
            p->changed = true;
        }
    }
    tn_map_deinit(&s.seen);
}

tn_status tn_pass_EliminateCommonSubexpr(tn_pass *p, tn_graph *g)
{
    for (tn_function *f = g->func; f; f = f->next)
        region(p, g, f->body, NULL);
    return TN_OK;
}
