/* Steps of sequences: short ones are written out, others are a loop of Relay. A step that the mask leaves out keeps the
 * states, and repeats the result of the step before (zeros before the first), or gives zeros. */
#include "frontend/import/scan.h"

#include <string.h>

enum { MAX_WRITTEN = 8 };

tn_value imp_zeros_of(imp_node *c, const tn_type *t)
{
    tn_broadcast_to_attr a = {{t->n, t->dim}};
    return imp_call1(c, &tn_op_broadcast_to, &a, imp_const(c, t->dtype, 0));
}

tn_value imp_flip(imp_node *c, tn_value v, int axis)
{
    static const int64_t begin[] = {INT64_MAX}, end[] = {INT64_MIN}, step[] = {-1};
    const int64_t at[] = {axis};
    tn_slice_attr a = {tn_make_dims(c->g, 1, begin), tn_make_dims(c->g, 1, end),
                       tn_ints_make(c->arena, 1, step), tn_ints_make(c->arena, 1, at)};
    return imp_call1(c, &tn_op_strided_slice, &a, v);
}

/* [batch] as what broadcasts to a value of rank n. */
static tn_value widened(imp_node *c, tn_value m, int n)
{
    for (int r = 1; r < n; r++)
        m = imp_unsqueeze(c, m, r);
    return m;
}

static tn_value kept(imp_node *c, tn_value m, tn_value now, tn_value before)
{
    return c->bad ? now : imp_choose(c, widened(c, m, imp_rank(now)), now, before);
}

/* One step with its mask; out: the result of the step before, then of this one. */
static void masked_step(imp_node *c, const imp_scan *s, tn_value x, tn_value m, tn_value state[],
                        tn_value *out)
{
    tn_value next[IMP_MAX_STATES], y = {0};
    memcpy(next, state, sizeof next);
    s->step(c, s, x, next, &y);
    tn_value before = s->zero_masked && m.def && !c->bad ? imp_zeros_of(c, imp_type(y)) : *out;
    for (size_t i = 0; i < s->n_state && !c->bad; i++)
        state[i] = m.def ? kept(c, m, next[i], state[i]) : next[i];
    *out = m.def && !c->bad ? kept(c, m, y, before) : y;
}

/* ---- written out ---- */

static void write_out(imp_node *c, imp_scan *s, int64_t n)
{
    tn_value part[MAX_WRITTEN];
    s->last = s->mask.def ? imp_zeros_of(c, s->step_type) : (tn_value){0};
    for (int64_t i = 0; i < n && !c->bad; i++) {
        int64_t at = s->backwards ? n - 1 - i : i;
        tn_value x = imp_squeeze(c, imp_slice(c, s->x, 1, at, at + 1), 1), m = s->mask;
        if (m.def)
            m = imp_squeeze(c, imp_slice(c, m, 1, at, at + 1), 1);
        masked_step(c, s, x, m, s->state, &s->last);
        part[at] = s->collects ? imp_unsqueeze(c, s->last, 1) : s->last;
    }
    if (s->collects && !c->bad)
        s->all = imp_concat(c, (uint32_t)n, part, 1);
}

/* ---- a loop ---- */

/* What an iteration carries: the states, and the last result. */
static tn_region *make_body(imp_node *c, imp_scan *s, size_t n, const tn_value in[], tn_value trip)
{
    tn_region *outer = c->im->r, *r = tn_region_new(c->g, NULL);
    tn_value result[IMP_MAX_STATES + 3], state[IMP_MAX_STATES];
    tn_vec_push(&c->im->region, r);
    tn_value i = tn_val(tn_region_add_param(c->g, r, "i", tn_type_tensor(c->pool, TN_I64, 0, NULL, NULL)));
    for (size_t k = 0; k < n; k++)
        state[k] =
            tn_val(tn_region_add_param(c->g, r, tn_arena_printf(c->arena, "state%zu", k), imp_type(in[k])));
    c->im->r = r;
    if (s->backwards)
        i = imp_binary(c, &tn_op_subtract, imp_binary(c, &tn_op_subtract, trip, imp_i64(c, 1)), i);
    tn_value m = s->mask.def ? imp_take(c, s->mask, i, 1) : s->mask, out = state[n - 1];
    masked_step(c, s, imp_take(c, s->x, i, 1), m, state, &out);
    state[n - 1] = out;
    result[0] = imp_const(c, TN_BOOL1, 1);
    memcpy(result + 1, state, n * sizeof *state);
    result[n + 1] = out;
    c->im->r = outer;
    for (size_t k = 0; k < n && !c->bad; k++)
        if (!tn_type_eq_logical(imp_type(state[k]), imp_type(in[k])))
            imp_refuse(c, IMP_OPERANDS, "a state is %s, but becomes %s in a step",
                       imp_type_text(c, imp_type(in[k])), imp_type_text(c, imp_type(state[k])));
    if (!c->bad)
        tn_region_set_results(c->g, r, (int)(n + 1 + s->collects), result);
    return r;
}

static void loop(imp_node *c, imp_scan *s)
{
    const tn_expr *dim[IMP_MAX_RANK + 1] = {imp_type(s->x)->dim[1]};
    tn_value in[IMP_MAX_STATES + 3], trip = imp_extent_of(c, s->x, 1);
    size_t n = s->n_state + 1;
    in[0] = trip;
    in[1] = imp_const(c, TN_BOOL1, 1);
    memcpy(in + 2, s->state, s->n_state * sizeof *in);
    in[n + 1] = imp_zeros_of(c, s->step_type);
    tn_region *r = c->bad ? NULL : make_body(c, s, n, in + 2, trip);
    if (c->bad)
        return;
    const tn_type *row = s->step_type;
    for (int d = 0; d < row->n; d++)
        dim[d + 1] = row->dim[d];
    tn_loop_attr a = {s->collects ? tn_dims_make(c->arena, (uint32_t)row->n + 1, dim) : (tn_dims){0}};
    tn_node *node =
        tn_node_new(c->g, c->im->r, NULL, &tn_op_loop, (int)n + 2, in, (int)(n + s->collects), &a, c->loc);
    tn_node_hold(c->g, node, 1, (tn_region *[]){r});
    c->bad = tn_infer_node(c->g, node) != TN_OK;
    for (size_t k = 0; k < s->n_state && !c->bad; k++)
        s->state[k] = tn_unboxed(c->g, (tn_value){node, (uint32_t)k});
    s->last = c->bad ? s->last : tn_unboxed(c->g, (tn_value){node, (uint32_t)n - 1});
    if (!s->collects || c->bad)
        return;
    int64_t perm[IMP_MAX_RANK + 1];
    for (int d = 0; d <= row->n; d++)
        perm[d] = d < 2 ? 1 - d : d;
    s->all = imp_transpose(c, tn_unboxed(c->g, (tn_value){node, (uint32_t)n}), row->n + 1, perm);
    if (s->backwards)
        s->all = imp_flip(c, s->all, 1);
}

void imp_do_scan(imp_node *c, imp_scan *s)
{
    int64_t n;
    if (c->bad)
        return;
    if (tn_is_int(imp_type(s->x)->dim[1], &n) && n > 0 && n <= MAX_WRITTEN)
        write_out(c, s, n);
    else
        loop(c, s);
}
