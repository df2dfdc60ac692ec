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
    const tn_layout *layout;
    tn_node *to;
} laid_out;

typedef struct work {
    tn_build *b;
    tn_vec(laid_out) done;
} work;

static tn_node *find(const work *w, const tn_node *c, const tn_layout *l)
{
    for (size_t i = 0; i < w->done.n; i++)
        if (w->done.at[i].from == c && w->done.at[i].layout == l)
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
static tn_status make(work *w, const tn_buffer *as, tn_node *c, const tn_layout *l, tn_node **out)
{
    tn_build *b = w->b;
    const tn_expr *dim[TN_LAYOUT_MAX_DIMS];
    const tn_layout *given;
    tn_tensor_value to, from = {.dtype = as->dtype,
                                .ndim = as->ndim,
                                .at = (void *)(uintptr_t)c->blob->at,
                                .n = c->blob->n,
                                .borrowed = true};
    for (int d = 0; d < as->ndim; d++) {
        bool known = tn_is_int(as->dim[d], &from.dim[d]);
        TN_ASSERT(known);
        dim[d] = tn_idx(&b->pool, from.dim[d]);
    }
    TN_TRY(layout_here(b, as->given, &given));
    TN_TRY(tn_relay_relayout(b->ctx, &from, given, l, &to));
    const tn_type *t = tn_type_tensor(&b->pool, as->dtype, as->ndim, dim, l);
    *out = tn_relay_constant(&b->graph, c->owner, c, t, &to, c->name);
    tn_vec_push(&w->done, ((laid_out){c, l, *out}));
    return TN_OK;
}

static tn_status lay_out(work *w, const tn_call_site *site)
{
    const tn_func *f = w->b->groups.at[site->group].sched[0].func;
    for (uint32_t i = 0; i < w->b->groups.at[site->group].n_in; i++) {
        const tn_buffer *b = &f->buffer[f->param[i]];
        tn_use *use = &((tn_node *)(uintptr_t)site->call)->in[i + 1]; /* the first is the function */
        const tn_layout *l;
        if (!b->laid_out)
            continue;
        TN_TRY(layout_here(w->b, b->layout, &l));
        tn_node *other = find(w, use->def, l);
        if (!other)
            TN_TRY(make(w, b, use->def, l, &other));
        tn_use_set(&w->b->graph, use, tn_val(other));
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
