/* Control flow in the AOT program, and symbols that are bound during the run.
 *
 *   if                JUMP_FALSE else; then branch; symbols of the join bound; results copied to the join's slots;
 *                     JUMP end; the same for else. A result that the branch computes with the join's own extents is
 *                     computed in the join's slot.
 *   fail              FAIL
 *   bind_extent       a BIND_SLOT for each new symbol, a CHECK for every other entry
 *   match_shape       SET and CHECK for each extent that may differ; its value is the operand's
 *
 * A place that binds symbols ends in PLAN of a new segment: from there on slots of these sizes have memory.
 */
#include "driver/program.h"

#include "op/control/control.h"

static const char *where(const tn_node *n) { return n->loc && n->loc->node ? n->loc->node : n->op->name; }

static uint32_t add_size(tn_maker *m, const tn_expr *e)
{
    tn_vec_push(&m->sizes, e);
    return (uint32_t)m->sizes.n - 1;
}

static uint32_t add_text(tn_maker *m, const char *s)
{
    tn_vec_push(&m->texts, s);
    return (uint32_t)m->texts.n - 1;
}

/* A symbol of a segment. */
static uint32_t add_symbol(tn_maker *m, const char *name, uint32_t segment)
{
    const tn_symbol_info *info = tn_graph_symbol(&m->b->graph, name);
    tn_vec_push(&m->symbols, ((program_symbol){{name, info->min, info->max}, segment}));
    return (uint32_t)m->symbols.n - 1;
}

static void add_plan(tn_maker *m, uint32_t segment, const tn_node *n)
{
    program_add_inst(m, TN_INST_PLAN, segment, 0, NULL, where(n));
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
        for (int d = 0; t->kind == TN_T_TENSOR && d < t->n; d++) {
            if (t->dim[d]->kind != TN_E_SYM || program_symbol_index(m, t->dim[d]->u.s) >= 0)
                continue;
            segment = segment ? segment : ++m->n_segment;
            tn_vec_push(out, ((joined){t->dim[d], add_symbol(m, t->dim[d]->u.s, segment), k, d}));
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

static tn_status copy_result(tn_maker *m, const tn_node *n, tn_value v, uint32_t to)
{
    uint32_t operand[2] = {0, to};
    TN_TRY(program_slot_of(m, v, &operand[0]));
    if (operand[0] == to)
        return TN_OK;
    program_use(m, operand[0]);
    program_use(m, to);
    program_add_inst(m, TN_INST_COPY, 0, 2, operand, where(n));
    return TN_OK;
}

static tn_status add_branch(tn_maker *m, const tn_node *n, const tn_region *r, const joins *j,
                            uint32_t segment, const uint32_t slot[])
{
    if (!slot || tn_region_fails(r))
        return program_region(m, r);
    compute_in_place(m, r, slot);
    TN_TRY(program_region(m, r));
    for (size_t i = 0; i < j->n; i++) {
        const joined *x = &j->at[i];
        const tn_use *u = &r->result[x->k];
        const tn_expr *e = tn_value_type((tn_value){u->def, u->out})->dim[x->d];
        uint32_t size = add_size(m, e);
        program_add_inst(m, TN_INST_BIND, x->symbol, 1, &size, where(n));
    }
    if (segment)
        add_plan(m, segment, n);
    for (uint32_t k = 0; k < n->nout; k++)
        TN_TRY(copy_result(m, n, (tn_value){r->result[k].def, r->result[k].out}, slot[k]));
    return TN_OK;
}

static tn_status add_if(tn_maker *m, const tn_node *n)
{
    uint32_t condition, *slot = TN_NEW_N(&m->b->arena, uint32_t, n->nout);
    joins j = {0};
    bool one = tn_region_fails(n->region[0]) || tn_region_fails(n->region[1]); /* its results are roots */
    TN_TRY(program_slot_of(m, tn_in(n, 0), &condition));
    program_use(m, condition);
    uint32_t choose = program_add_inst(m, TN_INST_JUMP_FALSE, 0, 1, &condition, where(n));
    uint32_t segment = one ? 0 : new_symbols(m, n, &j);
    for (uint16_t k = 0; k < n->nout && !one; k++) {
        tn_value v = {(tn_node *)n, k};
        uint64_t known;
        if (!tn_map_get(&m->slot, program_key(v), &known)) {
            known = program_add_slot(m, TN_SLOT_TEMP, "", n->type[k]);
            tn_map_put(&m->slot, program_key(v), known);
        }
        slot[k] = (uint32_t)known;
    }
    tn_status s = add_branch(m, n, n->region[0], &j, segment, one ? NULL : slot);
    if (s == TN_OK) {
        uint32_t leave = program_add_inst(m, TN_INST_JUMP, 0, 0, NULL, where(n));
        m->insts.at[choose].a = (uint32_t)m->insts.n;
        s = add_branch(m, n, n->region[1], &j, segment, one ? NULL : slot);
        m->insts.at[leave].a = (uint32_t)m->insts.n;
    }
    tn_vec_deinit(&j);
    return s;
}

/* ---- loop ---- */

typedef struct {
    tn_maker *m;
    const tn_node *n;
    const tn_region *r;
    uint32_t go, number, *out; /* slots: the condition, the iteration's number, results */
    const tn_expr *i, *trip;   /* symbols */
    uint32_t i_symbol;
} looper;

static void jump_unless(looper *l, const tn_expr *e, uint32_t *out_inst)
{
    tn_pool *p = &l->m->b->pool;
    uint32_t size = add_size(l->m, tn_select(p, e, tn_idx(p, 1), tn_idx(p, 0)));
    *out_inst = program_add_inst(l->m, TN_INST_JUMP_ZERO, 0, 1, &size, where(l->n));
}

static const tn_expr *loop_symbol(looper *l, const char *prefix, uint32_t segment, uint32_t *out)
{
    const tn_expr *e = tn_fresh_symbol(&l->m->b->graph, prefix, 0, INT64_MAX);
    *out = add_symbol(l->m, e->u.s, segment);
    return e;
}

static uint32_t scalar_slot(tn_maker *m, tn_dtype t)
{
    return program_add_slot(m, TN_SLOT_TEMP, "", tn_type_tensor(m->b->graph.pool, t, 0, NULL, NULL));
}

/* Slots and symbols; the condition and the carried values get their first values. */
static tn_status begin_loop(looper *l)
{
    tn_maker *m = l->m;
    const tn_node *n = l->n;
    uint32_t segment = ++m->n_segment, trip, operand[2] = {0, 0};
    l->go = scalar_slot(m, TN_BOOL1);
    l->number = scalar_slot(m, TN_I64);
    l->i = loop_symbol(l, "it", segment, &l->i_symbol);
    l->trip = loop_symbol(l, "trip", segment, &trip);
    for (uint16_t k = 0; k < n->nout; k++) {
        tn_value v = {(tn_node *)n, k};
        uint64_t known;
        if (!tn_map_get(&m->slot, program_key(v), &known)) {
            known = program_add_slot(m, TN_SLOT_TEMP, "", n->type[k]);
            tn_map_put(&m->slot, program_key(v), known);
        }
        l->out[k] = (uint32_t)known;
    }
    TN_TRY(program_slot_of(m, tn_in(n, 0), &operand[0]));
    program_use(m, operand[0]);
    program_add_inst(m, TN_INST_BIND_SLOT, trip, 2, operand, where(n));
    uint32_t zero = add_size(m, tn_idx(&m->b->pool, 0));
    program_add_inst(m, TN_INST_BIND, l->i_symbol, 1, &zero, where(n));
    TN_TRY(copy_result(m, n, tn_in(n, 1), l->go));
    for (uint32_t k = 1; k < l->r->n_param; k++) {
        TN_TRY(copy_result(m, n, tn_in(n, (int)k + 1), l->out[k - 1]));
        tn_map_put(&m->slot, program_key((tn_value){l->r->param[k], 0}), l->out[k - 1]);
    }
    tn_map_put(&m->slot, program_key((tn_value){l->r->param[0], 0}), l->number);
    for (uint16_t k = 0; k < n->nout; k++) /* from here on */
        program_use(m, l->out[k]);
    program_use(m, l->number);
    program_use(m, l->go);
    return TN_OK;
}

/* A carried value that another one becomes is kept aside until all are read. */
static uint32_t aside(looper *l, uint32_t k, uint32_t from)
{
    tn_maker *m = l->m;
    for (uint32_t j = 0; j + 1 < l->r->n_param; j++) {
        if (from != l->out[j] || j == k)
            continue;
        uint32_t operand[2] = {from, program_add_slot(m, TN_SLOT_TEMP, "", l->n->type[k])};
        program_use(m, operand[0]);
        program_use(m, operand[1]);
        program_add_inst(m, TN_INST_COPY, 0, 2, operand, where(l->n));
        return operand[1];
    }
    return from;
}

/* What the iteration gives: rows first, then the carried values and the condition. */
static tn_status end_iteration(looper *l)
{
    tn_maker *m = l->m;
    const tn_region *r = l->r;
    uint32_t n_carried = r->n_param - 1, *from = TN_NEW_N(&m->b->arena, uint32_t, r->n_result);
    for (uint32_t k = 0; k < r->n_result; k++) {
        TN_TRY(program_slot_of(m, (tn_value){r->result[k].def, r->result[k].out}, &from[k]));
        program_use(m, from[k]);
    }
    for (uint32_t k = n_carried + 1; k < r->n_result; k++) {
        uint32_t operand[3] = {from[k], l->out[k - 1], add_size(m, l->i)};
        program_use(m, from[k]);
        program_use(m, l->out[k - 1]);
        program_add_inst(m, TN_INST_STORE, 0, 3, operand, where(l->n));
    }
    for (uint32_t k = 1; k <= n_carried; k++)
        from[k] = aside(l, k - 1, from[k]);
    for (uint32_t k = 0; k <= n_carried; k++) {
        uint32_t operand[2] = {from[k], k ? l->out[k - 1] : l->go};
        program_use(m, operand[0]);
        program_use(m, operand[1]);
        if (operand[0] != operand[1])
            program_add_inst(m, TN_INST_COPY, 0, 2, operand, where(l->n));
    }
    uint32_t next = add_size(m, tn_add(&m->b->pool, l->i, tn_idx(&m->b->pool, 1)));
    program_add_inst(m, TN_INST_BIND, l->i_symbol, 1, &next, where(l->n));
    return TN_OK;
}

/* Collected results have as many rows as was known before. */
static void check_count(looper *l)
{
    tn_maker *m = l->m;
    uint32_t wrong;
    if (l->n->nout < l->r->n_param || ((const tn_loop_attr *)l->n->attr)->at_most)
        return;
    jump_unless(l, tn_eq(&m->b->pool, l->i, l->n->type[l->r->n_param - 1]->dim[0]), &wrong);
    uint32_t over = program_add_inst(m, TN_INST_JUMP, 0, 0, NULL, where(l->n));
    m->insts.at[wrong].a = (uint32_t)m->insts.n;
    program_add_inst(m, TN_INST_FAIL, add_text(m, "the loop ended before its known number of iterations"), 0,
                     NULL, where(l->n));
    m->insts.at[over].a = (uint32_t)m->insts.n;
}

static tn_status add_loop(tn_maker *m, const tn_node *n)
{
    looper l = {.m = m, .n = n, .r = n->region[0], .out = TN_NEW_N(&m->b->arena, uint32_t, n->nout)};
    uint32_t done[2];
    TN_TRY(begin_loop(&l));
    uint32_t head = (uint32_t)m->insts.n;
    jump_unless(&l, tn_lt(&m->b->pool, l.i, l.trip), &done[0]);
    done[1] = program_add_inst(m, TN_INST_JUMP_FALSE, 0, 1, &l.go, where(n));
    uint32_t set[2] = {l.number, add_size(m, l.i)};
    program_add_inst(m, TN_INST_SET, 0, 2, set, where(n));
    TN_TRY(program_region(m, l.r));
    TN_TRY(end_iteration(&l));
    uint32_t back = program_add_inst(m, TN_INST_JUMP, head, 0, NULL, where(n));
    for (size_t s = 0; s < m->life.n;
         s++) /* what the body reads from before is there in the last iteration too */
        if (m->life.at[s].first <= head && m->life.at[s].last >= head)
            m->life.at[s].last = back;
    m->insts.at[done[0]].a = m->insts.at[done[1]].a = (uint32_t)m->insts.n;
    check_count(&l);
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
            program_add_inst(m, TN_INST_BIND_SLOT, add_symbol(m, e->u.s, segment), 2, operand, where(n));
            continue;
        }
        tn_buf b = {0};
        if (a->says && a->says[0])
            tn_buf_str(&b, a->says);
        else
            tn_expr_print(e, NULL, &b);
        operand[2] = add_size(m, e);
        program_add_inst(m, TN_INST_CHECK, add_text(m, tn_arena_strdup(&m->b->arena, tn_buf_cstr(&b))), 3,
                         operand, where(n));
        tn_buf_deinit(&b);
    }
    if (segment)
        add_plan(m, segment, n);
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
        slot = slot == UINT32_MAX ? scalar_slot(m, TN_I64) : slot;
        tn_buf b = {0};
        tn_buf_printf(&b, "dimension %d, ", d);
        tn_expr_print(had->dim[d], NULL, &b);
        uint32_t set[2] = {slot, add_size(m, had->dim[d])}, check[3] = {slot, 0, add_size(m, is->dim[d])};
        program_use(m, slot);
        program_add_inst(m, TN_INST_SET, 0, 2, set, where(n));
        program_use(m, slot);
        program_add_inst(m, TN_INST_CHECK, add_text(m, tn_arena_strdup(&m->b->arena, tn_buf_cstr(&b))), 3,
                         check, where(n));
        tn_buf_deinit(&b);
    }
}

/* ---- reshapes ---- */

/* The run ends unless a and b, bytes of one value read as two types, are equal. */
static void demand_equal(tn_maker *m, const tn_node *n, const tn_expr *a, const tn_expr *b)
{
    if (program_same_bytes(m, a, b))
        return;
    uint32_t size = add_size(m, tn_program_differ(&m->b->pool, a, b));
    program_add_inst(m, TN_INST_JUMP_ZERO, (uint32_t)m->insts.n + 2, 1, &size, where(n));
    program_add_inst(m, TN_INST_FAIL, add_text(m, "a reshape would change the number of elements"), 0, NULL,
                     where(n));
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
    tn_map_get(&m->group, tn_map_key(call), &group);
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
        } else if (n->op == &tn_op_loop) {
            TN_TRY(add_loop(m, n));
        } else if (n->op == &tn_op_bind_extent) {
            TN_TRY(add_bind(m, n));
        } else if (n->op == &tn_op_match_shape) {
            add_match(m, n);
        } else if (n->op == &tn_op_fail) {
            program_add_inst(m, TN_INST_FAIL, add_text(m, ((const tn_fail_attr *)n->attr)->message), 0, NULL,
                             where(n));
        }
    }
    return TN_OK;
}
