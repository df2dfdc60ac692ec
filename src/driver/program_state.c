/* States of the model, and those that its inputs become (states.c). The slot of such an input is one of a state; the
 * output is stored in it at the end, when all that reads it has run.
 *
 * A kernel that computes the output writes it into the state itself where nothing reads the state afterwards, and the
 * kernel, should it read the state, may have its result there (lower/in_place.c). Else instructions copy: first outputs
 * of the model that are the state as it was, then what goes into states. Where that is another state, all are read
 * before one is written. */
#include "driver/program.h"

#include "op/core/core.h"

void program_add_state(tn_maker *m, uint32_t which, const tn_node *param)
{
    const tn_type *t = param->type[0];
    uint32_t s = program_add_slot(m, TN_SLOT_STATE, param->name, t);
    tn_size *dim = TN_NEW_N(&m->b->arena, tn_size, t->n);
    for (int d = 0; d < t->n; d++)
        (void)tn_is_int(t->dim[d], &dim[d].value);
    m->slots.at[s].alias = which;
    tn_state state = {.name = param->name,
                      .dim = dim,
                      .bytes = (uint64_t)m->slots.at[s].bytes->u.i,
                      .code = t->dtype.code,
                      .bits = t->dtype.bits,
                      .ndim = t->n,
                      .axis = -1,
                      .init = -1};
    const tn_node *first = tn_state_first(m->b, &m->b->state[which]);
    if (first)
        state.initial = program_constant(m, first);
    m->all->state[which] = state;
    tn_map_put(&m->slot, program_key((tn_value){(tn_node *)param, 0}), s);
}

/* ---- kernels that write a state ---- */

static bool is_value(const tn_maker *m, tn_value v, tn_value root)
{
    tn_value r = program_root(m, v);
    return r.def == root.def && r.out == root.out;
}

/* Nothing reads the state after n, and where n reads it, its result may lie there. */
static bool is_last(tn_maker *m, const tn_region *r, const tn_node *n, uint32_t out, tn_value state)
{
    bool after = false;
    for (const tn_node *x = r->first; x; x = x->next) {
        if (x->nregion && x->op != &tn_op_fn)
            return false; /* control flow: what reads it is not looked at */
        for (int i = 0; i < x->nin && x->op != &tn_op_fn; i++) {
            if (!is_value(m, tn_in(x, i), state) || is_value(m, (tn_value){(tn_node *)x, 0}, state))
                continue;
            if (after || (x == n && (i == 0 || !program_allows(m, n, (uint32_t)i - 1, out))))
                return false;
        }
        after = after || x == n;
    }
    for (uint32_t i = 0; i < r->n_result; i++)
        if (is_value(m, (tn_value){r->result[i].def, r->result[i].out}, state))
            return false;
    return true;
}

void program_place_states(tn_maker *m, const tn_region *r)
{
    for (uint32_t k = 0; k < m->b->n_state; k++) {
        const tn_graph_state *p = &m->b->state[k];
        tn_value state = {r->param[p->param], 0},
                 root = program_root(m, (tn_value){r->result[p->result].def, r->result[p->result].out});
        uint64_t slot = 0;
        tn_map_get(&m->slot, program_key(state), &slot);
        if (root.def->op == &tn_op_call && program_unplaced(m, root) &&
            program_holds(m, (uint32_t)slot, root) && root.def->owner == r &&
            is_last(m, r, root.def, root.out, state))
            tn_map_put(&m->slot, program_key(root), slot);
    }
}

/* ---- copies ---- */

static void copy(tn_maker *m, uint32_t from, uint32_t to, const tn_node *n)
{
    program_use(m, from);
    program_use(m, to);
    program_add_inst(m, TN_INST_COPY, 0, 2, (uint32_t[]){from, to},
                     n->loc && n->loc->node ? n->loc->node : "");
}

tn_status program_store_states(tn_maker *m, const tn_region *r)
{
    uint32_t n = m->b->n_state, *from = TN_NEW_N(&m->b->arena, uint32_t, n);
    for (uint32_t k = 0; k < n; k++) {
        const tn_graph_state *p = &m->b->state[k];
        tn_value v = {r->result[p->result].def, r->result[p->result].out};
        TN_TRY(tn_state_check(m->b, p, true));
        TN_TRY(program_slot_of(m, v, &from[k]));
        const tn_slot_ir *s = &m->slots.at[from[k]];
        if (s->kind != TN_SLOT_STATE || s->alias == k)
            continue;
        bool computed = program_root(m, v).def->op != &tn_op_var;
        if (computed) /* by a kernel, into another state: it is read now or later alike */
            continue;
        uint32_t temporary = program_add_slot(m, TN_SLOT_TEMP, "", tn_value_type(v));
        copy(m, from[k], temporary, v.def);
        from[k] = temporary;
    }
    for (uint32_t k = 0; k < n; k++) {
        uint64_t to = 0;
        tn_map_get(&m->slot, program_key((tn_value){r->param[m->b->state[k].param], 0}), &to);
        if (from[k] != to)
            copy(m, from[k], (uint32_t)to, r->result[m->b->state[k].result].def);
    }
    return TN_OK;
}
