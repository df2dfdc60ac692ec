/* Where the elements of a value lie in what is computed of it. An operator that moves elements says so itself
 * (`moves_to`); one that computes element by element leaves them where they are. O(nodes). */
#include "transform/moved.h"

bool tn_moved_base(const tn_node *n)
{
    return (n->op->fuse == TN_FUSE_ANCHOR || n->op->fuse == TN_FUSE_REDUCE) && n->nout == 1 && n->op->compute;
}

void tn_moved_init(tn_moved *m, tn_pool *pool, tn_arena *arena, tn_value base, const tn_expr *const axis[])
{
    *m = (tn_moved){.pool = pool, .arena = arena, .base = base, .axis = axis};
    tn_facts_init(&m->facts);
}

void tn_moved_deinit(tn_moved *m)
{
    tn_facts_deinit(&m->facts);
    tn_map_deinit(&m->of);
}

const tn_expr *const *tn_moved_at(const tn_moved *m, tn_value v)
{
    uint64_t at;
    if (tn_value_eq(v, m->base))
        return m->axis;
    return v.def && v.out == 0 && tn_map_get(&m->of, v.def->id, &at) ? (const tn_expr **)(uintptr_t)at : NULL;
}

static bool same_place(int n, const tn_expr *const a[], const tn_expr *const b[])
{
    for (int i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* The place in a broadcast that has no more elements than the operand: dimensions of extent 1 before those of t. */
static const tn_expr *const *place_at_right(const tn_moved *m, const tn_type *t, const tn_type *to,
                                            const tn_expr *const from[])
{
    const int more = to->n - t->n;
    if (more <= 0)
        return NULL;
    const tn_expr **place = TN_NEW_N(m->arena, const tn_expr *, to->n);
    for (int d = 0; d < to->n; d++) {
        if (d < more ? !tn_is_value(to->dim[d], 1) : to->dim[d] != t->dim[d - more])
            return NULL;
        place[d] = d < more ? tn_idx(m->pool, 0) : from[d - more];
    }
    return place;
}

/* The place in the result of n of what is at from[] in operand i; NULL: there is no such place, or more than one. */
static const tn_expr *const *place_in(tn_moved *m, const tn_node *n, int i, const tn_expr *const from[])
{
    const tn_type *t = tn_in_type(n, i), *to = n->type[0];
    if (n->nout != 1 || to->kind != TN_T_TENSOR)
        return NULL;
    if (n->op->moves_to && i == 0) {
        const tn_expr **place = TN_NEW_N(m->arena, const tn_expr *, to->n);
        n->op->moves_to(m->pool, n, from, place);
        for (int d = 0; d < to->n; d++)
            place[d] = tn_simplify(m->pool, &m->facts, place[d]);
        return place;
    }
    bool pointwise = n->op->fuse == TN_FUSE_ELEMWISE || n->op->fuse == TN_FUSE_BROADCAST;
    if (!pointwise || tn_type_same_shape(t, to))
        return pointwise ? from : NULL;
    return place_at_right(m, t, to, from);
}

bool tn_moved_add(tn_moved *m, const tn_node *n)
{
    const tn_expr *const *found = NULL;
    for (int i = 0; i < n->nin; i++) {
        const tn_expr *const *from = tn_moved_at(m, tn_in(n, i));
        if (!from)
            continue;
        const tn_expr *const *place = place_in(m, n, i, from);
        if (!place || (found && !same_place(n->type[0]->n, found, place)))
            return false;
        found = place;
    }
    if (found)
        tn_map_put(&m->of, n->id, tn_map_key(found));
    return true;
}
