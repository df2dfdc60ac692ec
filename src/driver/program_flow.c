/* Control flow in the AOT program, and symbols that are bound during the run; program_loop.c has loops.
 *
 *   if                JUMP_FALSE else; then branch; symbols of the join bound; results copied to the join's slots;
 *                     JUMP end; the same for else. A result that the branch computes with the join's own extents is
 *                     computed in the join's slot.
 *   match             JUMP_TAG next clause; a FIELD for each field that is used; the clause; JUMP end; the next clause
 *   fail              FAIL
 *   bind_extent       a BIND_SLOT for each new symbol, a CHECK for every other entry
 *   match_shape       SET and CHECK for each extent that may differ; its value is the operand's
 *   unbox             a BIND_SHAPE for each new symbol; UNBOX
 *
 * A slot is bytes or a handle, as the type says. What moves from bytes to a handle is boxed.
 *
 * A place that binds symbols ends in PLAN of a new segment: from there on slots of these sizes have memory.
 */
#include "driver/program.h"

#include "op/control/control.h"

#include <string.h>

const char *program_where(const tn_node *n) { return n->loc && n->loc->node ? n->loc->node : n->op->name; }

uint32_t program_add_size(tn_maker *m, const tn_expr *e)
{
    tn_vec_push(&m->sizes, e);
    return (uint32_t)m->sizes.n - 1;
}

uint32_t program_add_text(tn_maker *m, const char *s)
{
    tn_vec_push(&m->all->texts, s);
    return (uint32_t)m->all->texts.n - 1;
}

uint32_t program_add_symbol(tn_maker *m, const char *name, uint32_t segment)
{
    const tn_symbol_info *info = tn_graph_symbol(&m->b->graph, name);
    tn_vec_push(&m->symbols, ((program_symbol){{name, info->min, info->max}, segment}));
    return (uint32_t)m->symbols.n - 1;
}

void program_add_plan(tn_maker *m, uint32_t segment, const tn_node *n)
{
    program_add_inst(m, TN_INST_PLAN, segment, 0, NULL, program_where(n));
}

/* ---- if ---- */

/* A symbol of the results, and the first dimension that is it. */
typedef struct {
    const tn_expr *e;
    uint32_t symbol;
    uint32_t k;
    int d;
} joined;
typedef tn_vec(joined) joins;

/* Symbols in the types of n's outputs that nothing has bound yet: the branches do. */
static uint32_t new_symbols(tn_maker *m, const tn_node *n, joins *out)
{
    uint32_t segment = 0;
    for (uint32_t k = 0; k < n->nout; k++) {
        const tn_type *t = n->type[k];
        for (int d = 0; !tn_type_is_handle(t) && d < t->n; d++) {
            if (t->dim[d]->kind != TN_E_SYM || program_symbol_index(m, t->dim[d]->u.s) >= 0)
                continue;
            segment = segment ? segment : ++m->n_segment;
            tn_vec_push(out, ((joined){t->dim[d], program_add_symbol(m, t->dim[d]->u.s, segment), k, d}));
        }
    }
    return segment;
}

/* Where the join's extents are the branch's own, the node that makes the result writes it to the join's slot. */
static void compute_in_place(tn_maker *m, const tn_region *r, const uint32_t slot[])
{
    for (uint32_t k = 0; k < r->n_result; k++) {
        tn_value v = program_root(m, (tn_value){r->result[k].def, r->result[k].out});
        if (program_unplaced(m, v) && program_holds(m, slot[k], v))
            tn_map_put(&m->slot, program_key(v), slot[k]);
    }
}

bool program_is_handle(const tn_maker *m, uint32_t slot)
{
    return m->slots.at[slot].storage == TN_STORAGE_HANDLE;
}

/* What is copied from one size to another is in a branch whose checks have failed. */
static bool is_never_copied(const tn_maker *m, enum tn_inst_op op, uint32_t from, uint32_t to)
{
    int64_t a, b;
    return op == TN_INST_COPY && tn_is_int(m->slots.at[from].bytes, &a) &&
           tn_is_int(m->slots.at[to].bytes, &b) && a != b;
}

void program_transfer(tn_maker *m, const tn_node *n, uint32_t from, uint32_t to)
{
    bool from_handle =
        program_is_handle(m, from); /* to bytes: what unbox takes, and a value that there is never */
    enum tn_inst_op op = !program_is_handle(m, to) ? (from_handle ? TN_INST_UNBOX : TN_INST_COPY)
                         : from_handle             ? TN_INST_MOVE
                                                   : TN_INST_BOX;
    if (from == to)
        return;
    if (is_never_copied(m, op, from, to)) {
        program_add_inst(m, TN_INST_FAIL, program_add_text(m, "a value would become one of another size"), 0,
                         NULL, program_where(n));
        return;
    }
    program_use(m, from);
    program_use(m, to);
    program_add_inst(m, op, 0, 2, (uint32_t[]){from, to}, program_where(n));
}

tn_status program_source_of(tn_maker *m, const tn_node *n, tn_value v, uint32_t to, uint32_t *out)
{
    return program_is_handle(m, to) ? program_shaped(m, n, v, out) : program_slot_of(m, v, out);
}

tn_status program_shaped(tn_maker *m, const tn_node *n, tn_value v, uint32_t *out)
{
    const tn_type *t = tn_value_type(v);
    TN_TRY(program_slot_of(m, v, out));
    const tn_slot_ir *s = &m->slots.at[*out];
    if (program_is_handle(m, *out) ||
        (s->ndim == t->n && (!t->n || memcmp(s->dim, t->dim, t->n * sizeof *t->dim) == 0)))
        return TN_OK;
    uint32_t shaped = program_add_slot(m, TN_SLOT_TEMP, "", t);
    program_transfer(m, n, *out, shaped);
    *out = shaped;
    return TN_OK;
}

tn_status program_copy(tn_maker *m, const tn_node *n, tn_value v, uint32_t to)
{
    uint32_t from;
    TN_TRY(program_source_of(m, n, v, to, &from));
    program_transfer(m, n, from, to);
    return TN_OK;
}

static tn_status add_branch(tn_maker *m, const tn_node *n, const tn_region *r, const joins *j,
                            uint32_t segment, const uint32_t slot[])
{
    if (!slot || tn_region_fails(r))
        return program_region(m, r);
    compute_in_place(m, r, slot);
    TN_TRY(program_region(m, r));
    for (size_t i = 0; j && i < j->n; i++) {
        const joined *x = &j->at[i];
        const tn_use *u = &r->result[x->k];
        const tn_expr *e = tn_value_type((tn_value){u->def, u->out})->dim[x->d];
        uint32_t size = program_add_size(m, e);
        program_add_inst(m, TN_INST_BIND, x->symbol, 1, &size, program_where(n));
    }
    if (segment)
        program_add_plan(m, segment, n);
    for (uint32_t k = 0; k < n->nout; k++)
        TN_TRY(program_copy(m, n, (tn_value){r->result[k].def, r->result[k].out}, slot[k]));
    return TN_OK;
}

/* The bool of v, in a slot of one byte: v's own may have symbols, which the run finds to be 1. */
static tn_status condition_slot(tn_maker *m, const tn_node *n, tn_value v, uint32_t *out)
{
    TN_TRY(program_slot_of(m, v, out));
    bool one = program_is_handle(m, *out) || tn_is_value(m->slots.at[*out].bytes, 1);
    return one ? TN_OK : program_shaped(m, n, v, out);
}

static tn_status add_if(tn_maker *m, const tn_node *n)
{
    uint32_t condition, *slot = TN_NEW_N(&m->b->arena, uint32_t, n->nout);
    joins j = {0};
    bool one = tn_region_fails(n->region[0]) || tn_region_fails(n->region[1]); /* its results are roots */
    TN_TRY(condition_slot(m, n, tn_in(n, 0), &condition));
    program_use(m, condition);
    uint32_t choose = program_add_inst(m, TN_INST_JUMP_FALSE, 0, 1, &condition, program_where(n));
    uint32_t segment = one ? 0 : new_symbols(m, n, &j);
    for (uint16_t k = 0; k < n->nout && !one; k++)
        slot[k] = program_result_slot(m, n, k);
    tn_status s = add_branch(m, n, n->region[0], &j, segment, one ? NULL : slot);
    if (s == TN_OK) {
        uint32_t leave = program_add_inst(m, TN_INST_JUMP, 0, 0, NULL, program_where(n));
        m->insts.at[choose].a = (uint32_t)m->insts.n;
        s = add_branch(m, n, n->region[1], &j, segment, one ? NULL : slot);
        m->insts.at[leave].a = (uint32_t)m->insts.n;
    }
    tn_vec_deinit(&j);
    return s;
}

/* ---- match ---- */

/* The clause of a constructor, whose fields are taken of the value. */
static tn_status add_clause(tn_maker *m, const tn_node *n, const tn_region *r, uint32_t from,
                            const uint32_t slot[])
{
    for (uint32_t i = 0; i < r->n_param; i++) {
        if (!r->param[i]->users[0])
            continue;
        uint32_t field = program_add_handle(m, TN_SLOT_TEMP, "");
        program_add_inst(m, TN_INST_FIELD, i, 2, (uint32_t[]){from, field}, program_where(n));
        program_receive(m, r->param[i], 0, field);
    }
    return add_branch(m, n, r, NULL, 0, slot);
}

static tn_status add_match_data(tn_maker *m, const tn_node *n)
{
    uint32_t from, *slot = TN_NEW_N(&m->b->arena, uint32_t, n->nout),
                   *leave = TN_NEW_N(&m->b->arena, uint32_t, n->nregion);
    TN_TRY(program_slot_of(m, tn_in(n, 0), &from));
    for (uint16_t k = 0; k < n->nout; k++)
        slot[k] = program_result_slot(m, n, k);
    for (uint32_t i = 0; i < n->nregion; i++) {
        bool last = i + 1u == n->nregion;
        uint32_t choose =
            last ? 0 : program_add_inst(m, TN_INST_JUMP_TAG, 0, 2, (uint32_t[]){from, i}, program_where(n));
        TN_TRY(add_clause(m, n, n->region[i], from, slot));
        if (last)
            break;
        leave[i] = program_add_inst(m, TN_INST_JUMP, 0, 0, NULL, program_where(n));
        m->insts.at[choose].a = (uint32_t)m->insts.n;
    }
    for (uint32_t i = 0; i + 1u < n->nregion; i++)
        m->insts.at[leave[i]].a = (uint32_t)m->insts.n;
    return TN_OK;
}

/* ---- bind_extent ---- */

static tn_status add_bind(tn_maker *m, const tn_node *n)
{
    const tn_bind_extent_attr *a = n->attr;
    uint32_t slot, segment = 0;
    TN_TRY(program_slot_of(m, tn_in(n, 0), &slot));
    for (uint32_t i = 0; i < a->extent.n; i++) {
        const tn_expr *e = a->extent.at[i];
        uint32_t operand[3] = {slot, i, 0};
        program_use(m, slot);
        if (e->kind == TN_E_SYM && program_symbol_index(m, e->u.s) < 0) {
            segment = segment ? segment : ++m->n_segment;
            program_add_inst(m, TN_INST_BIND_SLOT, program_add_symbol(m, e->u.s, segment), 2, operand,
                             program_where(n));
            continue;
        }
        tn_buf b = {0};
        if (a->says && a->says[0])
            tn_buf_str(&b, a->says);
        else
            tn_expr_print(e, NULL, &b);
        operand[2] = program_add_size(m, e);
        program_add_inst(m, TN_INST_CHECK,
                         program_add_text(m, tn_arena_strdup(&m->b->arena, tn_buf_cstr(&b))), 3, operand,
                         program_where(n));
        tn_buf_deinit(&b);
    }
    if (segment)
        program_add_plan(m, segment, n);
    return TN_OK;
}

/* ---- unbox ---- */

/* Symbols of the extents that nothing has bound yet; the value tells what they are. */
static uint32_t bind_extents(tn_maker *m, const tn_node *n, uint32_t from)
{
    const tn_type *t = tn_in_type(n, 0);
    uint32_t segment = 0;
    for (int d = 0; d < n->type[0]->n; d++) {
        const tn_expr *e = n->type[0]->dim[d];
        if (e->kind != TN_E_SYM || program_symbol_index(m, e->u.s) >= 0)
            continue;
        segment = segment ? segment : ++m->n_segment;
        uint32_t symbol = program_add_symbol(m, e->u.s, segment);
        if (program_is_handle(m, from))
            program_add_inst(m, TN_INST_BIND_SHAPE, symbol, 2, (uint32_t[]){from, (uint32_t)d},
                             program_where(n));
        else
            program_add_inst(m, TN_INST_BIND, symbol, 1, (uint32_t[]){program_add_size(m, t->dim[d])},
                             program_where(n));
    }
    return segment;
}

static tn_status add_unbox(tn_maker *m, const tn_node *n)
{
    uint32_t from;
    TN_TRY(program_slot_of(m, tn_in(n, 0), &from));
    uint32_t segment = bind_extents(m, n, from), to = program_result_slot(m, n, 0);
    if (segment)
        program_add_plan(m, segment, n);
    program_transfer(m, n, from, to);
    return TN_OK;
}

/* ---- match_shape ---- */

/* Each extent that is not known to be right is written to a slot and compared there. */
static void add_match(tn_maker *m, const tn_node *n)
{
    const tn_type *had = tn_in_type(n, 0), *is = n->type[0];
    uint32_t slot = UINT32_MAX;
    for (int d = 0; d < had->n; d++) {
        if (program_same_bytes(m, had->dim[d], is->dim[d]))
            continue;
        slot = slot == UINT32_MAX ? program_add_scalar(m, TN_I64) : slot;
        tn_buf b = {0};
        tn_buf_printf(&b, "dimension %d, ", d);
        tn_expr_print(had->dim[d], NULL, &b);
        uint32_t set[2] = {slot, program_add_size(m, had->dim[d])},
                 check[3] = {slot, 0, program_add_size(m, is->dim[d])};
        program_use(m, slot);
        program_add_inst(m, TN_INST_SET, 0, 2, set, program_where(n));
        program_use(m, slot);
        program_add_inst(m, TN_INST_CHECK,
                         program_add_text(m, tn_arena_strdup(&m->b->arena, tn_buf_cstr(&b))), 3, check,
                         program_where(n));
        tn_buf_deinit(&b);
    }
}

/* ---- reshapes ---- */

/* The run ends unless a and b, bytes of one value read as two types, are equal. */
static void demand_equal(tn_maker *m, const tn_node *n, const tn_expr *a, const tn_expr *b)
{
    if (program_same_bytes(m, a, b))
        return;
    uint32_t size = program_add_size(m, tn_program_differ(&m->b->pool, a, b));
    program_add_inst(m, TN_INST_JUMP_ZERO, (uint32_t)m->insts.n + 2, 1, &size, program_where(n));
    program_add_inst(m, TN_INST_FAIL, program_add_text(m, "a reshape would change the number of elements"), 0,
                     NULL, program_where(n));
}

static const tn_expr *bytes_of(tn_maker *m, const tn_type *t)
{
    return tn_simplify(&m->b->pool, NULL, tn_type_bytes(&m->b->pool, t));
}

/* What is read in another shape must be as large: an operand whose slot holds a value of another shape, and what the
 * kernel itself reshapes. */
static void check_reshapes(tn_maker *m, const tn_node *call)
{
    const tn_node *fn = tn_group_fn(call);
    uint64_t group = 0;
    if (tn_group_renames(call))
        return;
    tn_map_get(&m->all->group, tn_map_key(call), &group);
    const tn_group *g = &m->b->groups.at[group];
    const tn_func *f = g->flat[g->n_variant - 1].func;
    for (uint32_t i = 0; i < g->n_in + g->n_out; i++) {
        tn_value v =
            i < g->n_in ? program_root(m, tn_in(call, (int)i + 1)) : (tn_value){(tn_node *)call, i - g->n_in};
        demand_equal(m, call, bytes_of(m, tn_value_type(v)), program_parameter_bytes(&m->b->pool, f, i));
    }
    for (const tn_node *n = fn->region[0]->first; n; n = n->next)
        if (n->op->flags & TN_OP_SHARES)
            demand_equal(m, n, bytes_of(m, tn_type_relayout(m->b->graph.pool, tn_in_type(n, 0), NULL)),
                         bytes_of(m, tn_type_relayout(m->b->graph.pool, n->type[0], NULL)));
}

/* ---- regions ---- */

tn_status program_region(tn_maker *m, const tn_region *r)
{
    for (const tn_node *n = r->first; n; n = n->next) {
        if (tn_group_fn(n)) {
            check_reshapes(m, n);
            TN_TRY(program_add_call(m, n));
        } else if (n->op == &tn_op_if) {
            TN_TRY(add_if(m, n));
        } else if (n->op == &tn_op_match) {
            TN_TRY(add_match_data(m, n));
        } else if (n->op == &tn_op_loop) {
            TN_TRY(program_add_loop(m, n));
        } else if (n->op == &tn_op_bind_extent) {
            TN_TRY(add_bind(m, n));
        } else if (n->op == &tn_op_match_shape) {
            add_match(m, n);
        } else if (n->op == &tn_op_unbox) {
            TN_TRY(add_unbox(m, n));
        } else if (n->op == &tn_op_fail) {
            program_add_inst(m, TN_INST_FAIL, program_add_text(m, ((const tn_fail_attr *)n->attr)->message),
                             0, NULL, program_where(n));
        } else {
            TN_TRY(program_add_value(m, n));
        }
    }
    return TN_OK;
}
