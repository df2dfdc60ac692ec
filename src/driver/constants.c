/* Constants in the layouts that schedules give them (step transform_layout): laid out once, when kernels are made.
 *
 * The call of the kernel gets another constant in place of its own; the group of operators that it is a call of keeps
 * its types, since nobody looks at them once it is scheduled. A constant of several calls is laid out once for each
 * layout. O(bytes). */
#include "base/vec.h"
#include "driver/driver.h"
#include "op/core/core.h"

typedef struct laid_out {
    const tn_node *from;
    tn_node *to;
} laid_out;

typedef struct work {
    tn_build *b;
    tn_vec(laid_out) done;
} work;

/* Two kernels may see a constant with other dimensions in one layout, so its type counts. */
static tn_node *find(const work *w, const tn_node *c, const tn_type *t)
{
    for (size_t i = 0; i < w->done.n; i++)
        if (w->done.at[i].from == c && tn_type_eq(w->done.at[i].to->type[0], t))
            return w->done.at[i].to;
    return NULL;
}

/* Layouts of schedules are in the kernel's child. */
static tn_status layout_here(tn_build *b, const tn_layout *l, const tn_layout **out)
{
    *out = NULL;
    return l ? tn_layout_parse(b->ctx, l->text, NULL, out) : TN_OK;
}

/* Dimensions are those of the schedule, which may have left out some of extent 1. */
static tn_status make(work *w, const tn_buffer *as, tn_node *c, const tn_type *t, tn_node **out)
{
    const tn_layout *given;
    tn_tensor_value to, from = {.dtype = as->dtype,
                                .ndim = as->ndim,
                                .at = (void *)(uintptr_t)c->blob->at,
                                .n = c->blob->n,
                                .borrowed = true};
    for (int d = 0; d < as->ndim; d++) {
        bool known = tn_is_int(as->dim[d], &from.dim[d]);
        TN_ASSERT(known);
    }
    TN_TRY(layout_here(w->b, as->given, &given));
    TN_TRY(tn_relay_relayout(w->b->ctx, &from, given, t->layout, &to));
    *out = tn_relay_constant(&w->b->graph, c->owner, c, t, &to, c->name);
    tn_vec_push(&w->done, ((laid_out){c, *out}));
    return TN_OK;
}

static tn_status lay_out(work *w, const tn_call_site *site)
{
    tn_build *b = w->b;
    const tn_group *g = &b->groups.at[site->group];
    const tn_func *f = g->sched[0].func;
    for (uint32_t i = 0; i < g->n_in; i++) {
        const tn_buffer *as = &f->buffer[f->param[i]];
        tn_use *use = &((tn_node *)(uintptr_t)site->call)->in[i + 1]; /* the first is the function */
        const tn_layout *l;
        if (!as->laid_out)
            continue;
        const tn_expr *dim[TN_LAYOUT_MAX_DIMS];
        for (int d = 0; d < as->ndim; d++)
            dim[d] = tn_expr_import(&b->pool, as->dim[d]);
        TN_TRY(layout_here(b, as->layout, &l));
        const tn_type *t = tn_type_tensor(&b->pool, as->dtype, as->ndim, dim, l);
        tn_node *other = find(w, use->def, t);
        if (!other)
            TN_TRY(make(w, as, use->def, t, &other));
        tn_use_set(&b->graph, use, tn_val(other));
    }
    return TN_OK;
}

tn_status tn_constants_lay_out(tn_build *b)
{
    work w = {.b = b};
    tn_status st = TN_OK;
    for (size_t i = 0; i < b->calls.n && st == TN_OK; i++)
        st = lay_out(&w, &b->calls.at[i]);
    tn_vec_deinit(&w.done);
    return st;
}
