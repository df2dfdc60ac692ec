/* Loops in the AOT program.
 *
 *   loop    BIND i: 0; carried values moved to their slots
 *     head: JUMP_ZERO done: i < trip; JUMP_FALSE done: the condition; the body; rows stored, carried values moved;
 *           BIND i: i + 1; JUMP head
 *
 * A carried value whose type has an extent that changes is a handle, and so a new value in each iteration.
 * Where the extents of what is collected are not known before, each row goes to a list; when the loop has ended, they
 * are, and the rows are stored from the last to the first. */
#include "driver/program.h"

#include "op/control/control.h"

enum { EMPTY = 0, CELL = 1 }; /* tags of lists */

typedef struct {
    tn_maker *m;
    const tn_node *n;
    const tn_region *r;
    uint32_t go, number, *out; /* slots: the condition, the iteration's number, results (lists of rows) */
    const tn_expr *i, *trip;   /* symbols */
    uint32_t i_symbol;
    bool lists; /* of rows: what is collected has extents that the loop finds out */
} looper;

static uint32_t n_carried(const looper *l) { return l->r->n_param - 1; }

static uint32_t put(const looper *l, enum tn_inst_op op, uint32_t a, uint32_t n, const uint32_t *operand)
{
    return program_add_inst(l->m, op, a, n, operand, program_where(l->n));
}

static void land(looper *l, uint32_t jump) { l->m->insts.at[jump].a = (uint32_t)l->m->insts.n; }

static void jump_unless(looper *l, const tn_expr *e, uint32_t *out_inst)
{
    tn_pool *p = &l->m->b->pool;
    uint32_t size = program_add_size(l->m, tn_select(p, e, tn_idx(p, 1), tn_idx(p, 0)));
    *out_inst = put(l, TN_INST_JUMP_ZERO, 0, 1, &size);
}

static const tn_expr *loop_symbol(looper *l, const char *prefix, uint32_t segment, uint32_t *out)
{
    const tn_expr *e = tn_fresh_symbol(&l->m->b->graph, prefix, 0, INT64_MAX);
    *out = program_add_symbol(l->m, e->u.s, segment);
    return e;
}

/* Are all extents of what is collected known before the loop, so that rows go to their place at once? */
static bool are_rows_known(looper *l)
{
    for (uint32_t k = n_carried(l); k < l->n->nout; k++) {
        const tn_type *all = l->n->type[k],
                      *row = tn_value_type((tn_value){l->r->result[k + 1].def, l->r->result[k + 1].out});
        if (tn_type_is_handle(row) || !program_knows(l->m, all))
            return false;
        for (int d = 0; d < row->n; d++)
            if (!program_same_bytes(l->m, row->dim[d], all->dim[d + 1]))
                return false;
    }
    return true;
}

/* Slots and symbols; the condition and the carried values get their first values. */
static tn_status begin_loop(looper *l)
{
    tn_maker *m = l->m;
    const tn_node *n = l->n;
    uint32_t segment = ++m->n_segment, trip, operand[2] = {0, 0};
    l->lists = !are_rows_known(l);
    l->go = program_add_scalar(m, TN_BOOL1);
    l->number = program_add_scalar(m, TN_I64);
    l->i = loop_symbol(l, "it", segment, &l->i_symbol);
    l->trip = loop_symbol(l, "trip", segment, &trip);
    for (uint16_t k = 0; k < n->nout; k++)
        l->out[k] = l->lists && k >= n_carried(l) ? program_add_handle(m, TN_SLOT_TEMP, "")
                                                  : program_result_slot(m, n, k);
    TN_TRY(program_slot_of(m, tn_in(n, 0), &operand[0]));
    program_use(m, operand[0]);
    put(l, TN_INST_BIND_SLOT, trip, 2, operand);
    uint32_t zero = program_add_size(m, tn_idx(&m->b->pool, 0));
    put(l, TN_INST_BIND, l->i_symbol, 1, &zero);
    TN_TRY(program_copy(m, n, tn_in(n, 1), l->go));
    for (uint32_t k = 1; k < l->r->n_param; k++) {
        TN_TRY(program_copy(m, n, tn_in(n, (int)k + 1), l->out[k - 1]));
        tn_map_put(&m->slot, program_key((tn_value){l->r->param[k], 0}), l->out[k - 1]);
    }
    for (uint32_t k = n_carried(l); k < n->nout && l->lists; k++)
        put(l, TN_INST_CONSTRUCT, EMPTY, 1, &l->out[k]);
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
    for (uint32_t j = 0; j < n_carried(l); j++) {
        if (from != l->out[j] || j == k)
            continue;
        uint32_t kept = program_add_slot(m, TN_SLOT_TEMP, "", l->n->type[j]);
        program_transfer(m, l->n, from, kept);
        return kept;
    }
    return from;
}

static void collect_row(looper *l, uint32_t row, uint32_t to)
{
    tn_maker *m = l->m;
    uint32_t operand[3] = {row, to, to};
    program_use(m, row);
    program_use(m, to);
    if (!l->lists) {
        operand[2] = program_add_size(m, l->i);
        put(l, TN_INST_STORE, 0, 3, operand);
        return;
    }
    if (!program_is_handle(m, row)) {
        operand[0] = program_add_handle(m, TN_SLOT_TEMP, "");
        program_transfer(m, l->n, row, operand[0]);
    }
    put(l, TN_INST_CONSTRUCT, CELL, 3, operand);
}

/* What the iteration gives: rows first, then the carried values and the condition. */
static tn_status end_iteration(looper *l)
{
    tn_maker *m = l->m;
    const tn_region *r = l->r;
    uint32_t n = n_carried(l), *from = TN_NEW_N(&m->b->arena, uint32_t, r->n_result);
    for (uint32_t k = 0; k < r->n_result; k++) {
        tn_value v = {r->result[k].def, r->result[k].out};
        TN_TRY(program_source_of(m, l->n, v, k ? l->out[k - 1] : l->go, &from[k]));
        program_use(m, from[k]);
    }
    for (uint32_t k = n + 1; k < r->n_result; k++)
        collect_row(l, from[k], l->out[k - 1]);
    for (uint32_t k = 1; k <= n; k++)
        from[k] = aside(l, k - 1, from[k]);
    for (uint32_t k = 0; k <= n; k++)
        program_transfer(m, l->n, from[k], k ? l->out[k - 1] : l->go);
    uint32_t next = program_add_size(m, tn_add(&m->b->pool, l->i, tn_idx(&m->b->pool, 1)));
    put(l, TN_INST_BIND, l->i_symbol, 1, &next);
    return TN_OK;
}

/* ---- what is collected ---- */

/* Collected results have as many rows as was known before. */
static void check_count(looper *l, const tn_expr *count)
{
    uint32_t wrong;
    jump_unless(l, tn_eq(&l->m->b->pool, l->i, count), &wrong);
    uint32_t over = put(l, TN_INST_JUMP, 0, 0, NULL);
    land(l, wrong);
    put(l, TN_INST_FAIL, program_add_text(l->m, "the loop ended before its known number of iterations"), 0,
        NULL);
    land(l, over);
}

/* Symbols of a collected result that nothing has bound yet: the extents of the row that came last, 0 if none did. */
static void bind_row(looper *l, uint32_t k, uint32_t *segment)
{
    tn_maker *m = l->m;
    const tn_type *t = l->n->type[k];
    tn_vec(uint32_t) symbol = {0};
    tn_vec(uint32_t) dim = {0};
    for (int d = 1; d < t->n; d++) {
        if (t->dim[d]->kind != TN_E_SYM || program_symbol_index(m, t->dim[d]->u.s) >= 0)
            continue;
        *segment = *segment ? *segment : ++m->n_segment;
        tn_vec_push(&symbol, program_add_symbol(m, t->dim[d]->u.s, *segment));
        tn_vec_push(&dim, (uint32_t)d - 1);
    }
    if (symbol.n) {
        uint32_t row = program_add_handle(m, TN_SLOT_TEMP, ""),
                 zero = program_add_size(m, tn_idx(&m->b->pool, 0)),
                 none = put(l, TN_INST_JUMP_TAG, 0, 2, (uint32_t[]){l->out[k], CELL});
        put(l, TN_INST_FIELD, 0, 2, (uint32_t[]){l->out[k], row});
        for (size_t i = 0; i < symbol.n; i++)
            put(l, TN_INST_BIND_SHAPE, symbol.at[i], 2, (uint32_t[]){row, dim.at[i]});
        uint32_t over = put(l, TN_INST_JUMP, 0, 0, NULL);
        land(l, none);
        for (size_t i = 0; i < symbol.n; i++)
            put(l, TN_INST_BIND, symbol.at[i], 1, &zero);
        land(l, over);
    }
    tn_vec_deinit(&symbol);
    tn_vec_deinit(&dim);
}

/* The rows of a list to their places, from the last one. */
static void store_rows(looper *l, uint32_t k, const tn_expr *left, uint32_t left_symbol)
{
    tn_maker *m = l->m;
    tn_pool *p = &m->b->pool;
    const tn_type *t = l->n->type[k];
    uint32_t out = program_result_slot(m, l->n, (uint16_t)k), value = program_add_handle(m, TN_SLOT_TEMP, ""),
             row = program_add_slot(m, TN_SLOT_TEMP, "",
                                    tn_type_tensor(m->b->graph.pool, t->dtype, t->n - 1, t->dim + 1, NULL)),
             all = program_add_size(m, l->i), at = program_add_size(m, left),
             less = program_add_size(m, tn_sub(p, left, tn_idx(p, 1)));
    put(l, TN_INST_BIND, left_symbol, 1, &all);
    uint32_t head = (uint32_t)m->insts.n, done = put(l, TN_INST_JUMP_ZERO, 0, 1, &at);
    program_use(m, out);
    put(l, TN_INST_BIND, left_symbol, 1, &less);
    put(l, TN_INST_FIELD, 0, 2, (uint32_t[]){l->out[k], value});
    program_use(m, row);
    put(l, TN_INST_UNBOX, 0, 2, (uint32_t[]){value, row});
    program_use(m, row);
    program_use(m, out);
    put(l, TN_INST_STORE, 0, 3, (uint32_t[]){row, out, at});
    put(l, TN_INST_FIELD, 1, 2, (uint32_t[]){l->out[k], l->out[k]});
    program_use(m, out);
    put(l, TN_INST_JUMP, head, 0, NULL);
    land(l, done);
}

/* Lists of rows become tensors, now that their extents are known. */
static void stack_lists(looper *l)
{
    tn_maker *m = l->m;
    const tn_expr *count = l->n->type[n_carried(l)]->dim[0];
    uint32_t segment = 0, left_symbol, all = program_add_size(m, l->i);
    if (count->kind == TN_E_SYM && program_symbol_index(m, count->u.s) < 0) {
        segment = ++m->n_segment;
        put(l, TN_INST_BIND, program_add_symbol(m, count->u.s, segment), 1, &all);
    } else {
        check_count(l, count);
    }
    for (uint32_t k = n_carried(l); k < l->n->nout; k++)
        bind_row(l, k, &segment);
    if (segment)
        program_add_plan(m, segment, l->n);
    const tn_expr *left = loop_symbol(l, "left", ++m->n_segment, &left_symbol);
    for (uint32_t k = n_carried(l); k < l->n->nout; k++)
        store_rows(l, k, left, left_symbol);
}

tn_status program_add_loop(tn_maker *m, const tn_node *n)
{
    looper l = {.m = m, .n = n, .r = n->region[0], .out = TN_NEW_N(&m->b->arena, uint32_t, n->nout)};
    uint32_t done[2];
    TN_TRY(begin_loop(&l));
    uint32_t head = (uint32_t)m->insts.n;
    jump_unless(&l, tn_lt(&m->b->pool, l.i, l.trip), &done[0]);
    done[1] = put(&l, TN_INST_JUMP_FALSE, 0, 1, &l.go);
    put(&l, TN_INST_SET, 0, 2, (uint32_t[]){l.number, program_add_size(m, l.i)});
    TN_TRY(program_region(m, l.r));
    TN_TRY(end_iteration(&l));
    uint32_t back = put(&l, TN_INST_JUMP, head, 0, NULL);
    for (size_t s = 0; s < m->life.n;
         s++) /* what the body reads from before is there in the last iteration too */
        if (m->life.at[s].first <= head && m->life.at[s].last >= head)
            m->life.at[s].last = back;
    land(&l, done[0]);
    land(&l, done[1]);
    if (l.lists)
        stack_lists(&l);
    else if (n->nout > n_carried(&l))
        check_count(&l, n->type[n_carried(&l)]->dim[0]);
    return TN_OK;
}
