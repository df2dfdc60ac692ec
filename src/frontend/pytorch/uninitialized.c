/* uninitialized(T): what TorchScript writes for a variable in a branch that leaves a loop or function early, and for
 * what a loop returns before it has returned. Nothing reads such a value, so any value of the type will do; an `if` or
 * a loop that the run decides on needs one. */
#include "frontend/pytorch/flow.h"

#include "frontend/import/scan.h"

/* Is region r that one, or a region inside of it? */
static bool is_in(const tn_region *r, const tn_region *in)
{
    while (r && r != in)
        r = r->holder ? r->holder->owner : NULL;
    return r != NULL;
}

/* Has an input of the model this extent? It means the same everywhere. */
static bool is_of_input(pt_import *p, const tn_expr *e)
{
    const tn_region *main = tn_graph_function(p->im.g, "main")->body;
    bool is = false;
    for (uint32_t i = 0; i < main->n_param && !is; i++) {
        const tn_type *t = tn_value_type(tn_val(main->param[i]));
        for (int d = 0; t->kind == TN_T_TENSOR && d < t->n; d++)
            is = is || t->dim[d] == e;
    }
    return is;
}

/* Extents that may be known in the branch alone become 0. */
static tn_value zeros(pt_import *p, const tn_type *t)
{
    const tn_expr *dim[PT_MAX_RANK];
    TN_ASSERT(t->n <= PT_MAX_RANK);
    for (int d = 0; d < t->n; d++)
        dim[d] =
            t->dim[d]->kind == TN_E_INT || is_of_input(p, t->dim[d]) ? t->dim[d] : tn_idx(p->im.g->pool, 0);
    imp_node *c = pt_ctx(p);
    tn_value v = imp_zeros_of(c, tn_type_tensor(p->im.g->pool, t->dtype, t->n, dim, NULL));
    pt_stop_if_bad(p, c);
    return v;
}

static pt_value tensor_like(pt_import *p, pt_value like)
{
    pt_value v;
    if (like.kind == PT_LATE_LIST) {
        v = pt_late_list(p, &(pt_list){0});
        v.tensor->elements = like.tensor->elements;
        return v;
    }
    return pt_tensor_new(p, zeros(p, imp_type(like.tensor->now.v.value)));
}

static pt_value number_like(enum pt_kind kind)
{
    return kind == PT_BOOL ? pt_bool(false) : kind == PT_INT ? pt_int(0) : pt_float(0);
}

static pt_value parts_like(pt_import *p, pt_value like, const tn_region *in)
{
    if (!pt_enter(p))
        return pt_bad();
    pt_value v = pt_make(&p->im.scratch, like.kind, like.list->n, NULL);
    v.list->owner = p->im.r;
    for (size_t i = 0; i < like.list->n && !p->stop; i++)
        v.list->at[i] = pt_stand_in(p, pt_at(like, i), in);
    pt_leave(p);
    return v;
}

pt_value pt_stand_in(pt_import *p, pt_value like, const tn_region *in)
{
    if (pt_has_tensor(like)) {
        pt_value now = like.tensor->now.v;
        bool made_there = now.kind == PT_VALUE && now.value.def && is_in(now.value.def->owner, in);
        return made_there ? tensor_like(p, like) : like;
    }
    if (like.kind == PT_NUMBER)
        return is_in(like.number->v.def->owner, in) ? number_like(like.number->kind) : like;
    if (!pt_has_parts(like) || (like.list->owner && !is_in(like.list->owner, in)))
        return like;
    return parts_like(p, like, in);
}
