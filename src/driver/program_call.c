/* Functions in the AOT program: calls, closures, tuples, references.
 *
 *   a function of the module   a function of the program; a call of it is INVOKE
 *   a closure                  CLOSURE: its body is a function of the program, whose last inputs are the values around
 *                              it that it uses, and the symbols, boxed; a call of it is APPLY
 *   a tuple                    CONSTRUCT 0, unless it is taken apart where it was made
 *   a host operator            CALL_HOST: tensors go in as bytes or as handles, results come out as handles
 *
 * All inputs and results of such functions are handles, so a closure can be made of each. What computes with a tensor
 * unboxes it: a function does so with its inputs when it begins. */
#include "driver/program.h"

#include "op/control/control.h"
#include "op/core/core.h"
#include "op/host/host.h"

#include <string.h>

static uint32_t put(tn_maker *m, const tn_node *n, enum tn_inst_op op, uint32_t a, uint32_t count,
                    const uint32_t *operand)
{
    return program_add_inst(m, op, a, count, operand, n ? program_where(n) : "");
}

uint32_t program_function_of(tn_maker *m, const program_function *f)
{
    program_shared *all = m->all;
    uint64_t known;
    if (!tn_map_get(&all->number, tn_map_key(f->body), &known)) {
        known = all->functions.n;
        tn_map_put(&all->number, tn_map_key(f->body), known);
        tn_vec_push(&all->functions, *f);
    }
    return (uint32_t)known;
}

/* ---- values that are handles ---- */

tn_status program_handle_of(tn_maker *m, const tn_node *n, tn_value v, uint32_t *out)
{
    uint32_t slot;
    TN_TRY(program_slot_of(m, v, &slot));
    if (program_is_handle(m, slot)) {
        *out = slot;
        return TN_OK;
    }
    *out = program_add_handle(m, TN_SLOT_TEMP, "");
    return program_copy(m, n, v, *out);
}

static bool is_used(const tn_node *n, uint16_t out) { return n->users[out] != NULL; }

void program_receive(tn_maker *m, const tn_node *n, uint16_t out, uint32_t handle)
{
    const tn_type *t = n->type[out];
    if (tn_type_is_handle(t)) {
        uint64_t known;
        uint64_t key = program_key((tn_value){(tn_node *)n, out});
        if (tn_map_get(&m->slot, key, &known))
            program_transfer(m, n, handle, (uint32_t)known);
        else
            tn_map_put(&m->slot, key, handle);
    } else if (is_used(n, out)) {
        uint32_t to = program_result_slot(m, n, out);
        program_use(m, to);
        put(m, n, TN_INST_UNBOX, 0, 2, (uint32_t[]){handle, to});
    }
}

/* Handles of operands from number `from` on, and one more for a result. */
static tn_status operands(tn_maker *m, const tn_node *n, int from, uint32_t *out)
{
    for (int i = from; i < n->nin; i++)
        TN_TRY(program_handle_of(m, n, tn_in(n, i), &out[i - from]));
    out[n->nin - from] = program_add_handle(m, TN_SLOT_TEMP, "");
    return TN_OK;
}

/* ---- inputs of a function ---- */

/* Binds the symbols that are an extent of the input themselves. */
static uint32_t bind_input(tn_maker *m, const tn_node *n, const tn_type *t, uint32_t handle, uint32_t segment)
{
    for (int d = 0; d < t->n && !tn_type_is_handle(t); d++) {
        if (t->dim[d]->kind != TN_E_SYM || program_symbol_index(m, t->dim[d]->u.s) >= 0)
            continue;
        segment = segment ? segment : ++m->n_segment;
        put(m, n, TN_INST_BIND_SHAPE, program_add_symbol(m, t->dim[d]->u.s, segment), 2,
            (uint32_t[]){handle, (uint32_t)d});
    }
    return segment;
}

static uint32_t bind_captured_symbols(tn_maker *m, const program_function *f, const uint32_t input[])
{
    uint32_t segment = f->n_symbol ? ++m->n_segment : 0;
    for (uint32_t i = 0; i < f->n_symbol; i++) {
        uint32_t number = program_add_scalar(m, TN_I64);
        program_use(m, number);
        put(m, NULL, TN_INST_UNBOX, 0, 2, (uint32_t[]){input[i], number});
        program_use(m, number);
        put(m, NULL, TN_INST_BIND_SLOT, program_add_symbol(m, f->symbol[i], segment), 2,
            (uint32_t[]){number, 0});
    }
    return segment;
}

tn_status program_parameters(tn_maker *m, const program_function *f)
{
    const tn_region *r = f->body;
    uint32_t n = r->n_param + f->n_captured + f->n_symbol, *input = TN_NEW_N(&m->b->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        input[i] =
            program_add_handle(m, TN_SLOT_INPUT, tn_arena_printf(&m->b->arena, "input%u", (unsigned)i));
    m->n_captured = f->n_captured + f->n_symbol;
    m->captured = input + r->n_param;
    uint32_t segment = bind_captured_symbols(m, f, input + r->n_param + f->n_captured);
    for (uint32_t i = 0; i < r->n_param; i++)
        segment = bind_input(m, r->param[i], r->param[i]->type[0], input[i], segment);
    for (uint32_t i = 0; i < f->n_captured; i++)
        segment =
            bind_input(m, f->captured[i].def, tn_value_type(f->captured[i]), input[r->n_param + i], segment);
    if (segment)
        put(m, NULL, TN_INST_PLAN, segment, 0, NULL);
    for (uint32_t i = 0; i < r->n_param; i++)
        program_receive(m, r->param[i], 0, input[i]);
    for (uint32_t i = 0; i < f->n_captured; i++)
        program_receive(m, f->captured[i].def, (uint16_t)f->captured[i].out, input[r->n_param + i]);
    return TN_OK;
}

/* ---- closures ---- */

typedef struct {
    tn_maker *m;
    const tn_region *body;
    tn_vec(tn_value) value;
    tn_vec(const char *) symbol;
} capture;

const tn_region *program_body_of(const tn_region *r)
{
    while (r->holder && r->holder->op != &tn_op_fn)
        r = r->holder->owner;
    return r;
}

static bool is_in(const tn_region *r, const tn_region *of)
{
    while (r && r != of)
        r = r->holder ? r->holder->owner : NULL;
    return r == of;
}

static bool capture_symbol(const tn_expr *e, void *user)
{
    capture *c = user;
    bool known = e->kind != TN_E_SYM || program_symbol_index(c->m, e->u.s) < 0;
    for (size_t i = 0; i < c->symbol.n && !known; i++)
        known = c->symbol.at[i] == e->u.s;
    if (!known)
        tn_vec_push(&c->symbol, e->u.s);
    return true;
}

static void capture_use(capture *c, const tn_use *u)
{
    tn_value v = {u->def, u->out};
    if (!v.def || is_in(v.def->owner, c->body))
        return;
    bool known = tn_op_is(v.def, &tn_op_constant) || tn_op_is(v.def, &tn_op_global);
    for (size_t i = 0; i < c->value.n && !known; i++)
        known = tn_value_eq(c->value.at[i], v);
    if (known)
        return;
    tn_vec_push(&c->value, v);
    const tn_type *t = tn_value_type(v);
    for (int d = 0; t->kind == TN_T_TENSOR && d < t->n; d++) /* a plain symbol is bound by the value itself */
        if (t->dim[d]->kind != TN_E_SYM)
            tn_each(t->dim[d], capture_symbol, c);
}

static void capture_type(capture *c, const tn_type *t)
{
    for (int i = 0; t->kind == TN_T_TENSOR && i < t->n; i++)
        tn_each(t->dim[i], capture_symbol, c);
}

/* What a body uses of what is around it. Depth: bounded by the readers. */
static void capture_region(capture *c, const tn_region *r)
{
    for (const tn_node *n = r->first; n; n = n->next) {
        for (int i = 0; i < n->nin; i++)
            capture_use(c, &n->in[i]);
        for (int k = 0; k < n->nout; k++)
            capture_type(c, n->type[k]);
        for (const tn_attr_field *f = n->attr ? n->op->attr : NULL; f && f->name; f++) {
            const tn_dims *d = (const tn_dims *)(const void *)((const char *)n->attr + f->offset);
            for (uint32_t i = 0; f->kind == TN_A_DIMS && i < d->n; i++)
                tn_each(d->at[i], capture_symbol, c);
        }
        for (int i = 0; i < n->nregion; i++)
            capture_region(c, n->region[i]);
    }
    for (uint32_t i = 0; i < r->n_result; i++)
        capture_use(c, &r->result[i]);
}

/* Parameters bind their symbols themselves. */
static void drop_own_symbols(capture *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->symbol.n; i++) {
        bool own = false;
        for (uint32_t k = 0; k < c->body->n_param; k++) {
            const tn_type *t = c->body->param[k]->type[0];
            for (int d = 0; t->kind == TN_T_TENSOR && d < t->n; d++)
                own = own || (t->dim[d]->kind == TN_E_SYM && t->dim[d]->u.s == c->symbol.at[i]);
        }
        if (!own)
            c->symbol.at[kept++] = c->symbol.at[i];
    }
    c->symbol.n = kept;
}

static tn_status make_closure(tn_maker *m, const tn_node *n, capture *c)
{
    tn_arena *a = &m->b->arena;
    uint32_t count = (uint32_t)(c->value.n + c->symbol.n), *operand = TN_NEW_N(a, uint32_t, count + 1);
    for (size_t i = 0; i < c->value.n; i++)
        TN_TRY(program_handle_of(m, n, c->value.at[i], &operand[i]));
    for (size_t i = 0; i < c->symbol.n; i++) {
        uint32_t number = program_add_scalar(m, TN_I64),
                 size = program_add_size(m, tn_sym(&m->b->pool, c->symbol.at[i]));
        program_use(m, number);
        put(m, n, TN_INST_SET, 0, 2, (uint32_t[]){number, size});
        operand[c->value.n + i] = program_add_handle(m, TN_SLOT_TEMP, "");
        program_transfer(m, n, number, operand[c->value.n + i]);
    }
    operand[count] = program_add_handle(m, TN_SLOT_TEMP, "");
    uint32_t f = program_function_of(
        m, &(program_function){.name = tn_arena_printf(a, "closure%u", (unsigned)m->all->functions.n),
                               .body = c->body,
                               .n_captured = (uint32_t)c->value.n,
                               .n_symbol = (uint32_t)c->symbol.n,
                               .captured = tn_arena_copy(a, c->value.n ? (const void *)c->value.at : "",
                                                         c->value.n * sizeof *c->value.at, 8),
                               .symbol = tn_arena_copy(a, c->symbol.n ? (const void *)c->symbol.at : "",
                                                       c->symbol.n * sizeof *c->symbol.at, 8)});
    put(m, n, TN_INST_CLOSURE, f, count + 1, operand);
    program_receive(m, n, 0, operand[count]);
    return TN_OK;
}

static tn_status add_closure(tn_maker *m, const tn_node *n)
{
    capture c = {.m = m, .body = n->region[0]};
    capture_region(&c, c.body);
    drop_own_symbols(&c);
    tn_status s = make_closure(m, n, &c);
    tn_vec_deinit(&c.value);
    tn_vec_deinit(&c.symbol);
    return s;
}

/* The closure that is running, made again of what it brought along. */
static tn_status add_self(tn_maker *m, const tn_node *n)
{
    uint32_t *operand = TN_NEW_N(&m->b->arena, uint32_t, m->n_captured + 1);
    memcpy(operand, m->n_captured ? (const void *)m->captured : operand, m->n_captured * sizeof *operand);
    operand[m->n_captured] = program_add_handle(m, TN_SLOT_TEMP, "");
    put(m, n, TN_INST_CLOSURE, m->number, m->n_captured + 1, operand);
    program_receive(m, n, 0, operand[m->n_captured]);
    return TN_OK;
}

/* ---- calls ---- */

static const tn_function *global_of(const tn_maker *m, const tn_node *n)
{
    return tn_op_is(n, &tn_op_global)
               ? tn_graph_function(&m->b->graph, ((const tn_global_attr *)n->attr)->name)
               : NULL;
}

static uint32_t number_of(tn_maker *m, const tn_function *f)
{
    return program_function_of(m, &(program_function){.name = f->name, .body = f->body});
}

/* A function gives its results one by one where it is known, else a tuple. */
static tn_status add_call(tn_maker *m, const tn_node *n)
{
    const tn_function *f = global_of(m, n->in[0].def);
    uint32_t *operand = TN_NEW_N(&m->b->arena, uint32_t, (size_t)n->nin + 1), result = 0;
    if (f) {
        TN_TRY(operands(m, n, 1, operand));
        result = operand[n->nin - 1];
        put(m, n, TN_INST_INVOKE, number_of(m, f), (uint32_t)n->nin, operand);
    } else {
        TN_TRY(operands(m, n, 0, operand));
        result = operand[n->nin];
        put(m, n, TN_INST_APPLY, (uint32_t)n->nin - 1, (uint32_t)n->nin + 1, operand);
    }
    if (n->nout == 1)
        program_receive(m, n, 0, result);
    for (uint16_t k = 0; k < n->nout && n->nout > 1; k++) {
        uint32_t part = program_add_handle(m, TN_SLOT_TEMP, "");
        put(m, n, TN_INST_FIELD, k, 2, (uint32_t[]){result, part});
        program_receive(m, n, k, part);
    }
    return TN_OK;
}

tn_status program_result(tn_maker *m, const tn_region *r)
{
    uint32_t out = program_add_handle(m, TN_SLOT_OUTPUT, "result"),
             *field = TN_NEW_N(&m->b->arena, uint32_t, r->n_result + 1);
    if (r->n_result == 1) {
        tn_value v = {r->result[0].def, r->result[0].out};
        return program_copy(m, v.def, v, out);
    }
    for (uint32_t i = 0; i < r->n_result; i++)
        TN_TRY(program_handle_of(m, r->result[i].def, (tn_value){r->result[i].def, r->result[i].out},
                                 &field[i]));
    field[r->n_result] = out;
    put(m, NULL, TN_INST_CONSTRUCT, 0, r->n_result + 1, field);
    return TN_OK;
}

/* ---- tuples ---- */

static tn_status construct(tn_maker *m, const tn_node *n, uint32_t tag)
{
    uint32_t *operand = TN_NEW_N(&m->b->arena, uint32_t, (size_t)n->nin + 1);
    TN_TRY(operands(m, n, 0, operand));
    put(m, n, TN_INST_CONSTRUCT, tag, (uint32_t)n->nin + 1, operand);
    program_receive(m, n, 0, operand[n->nin]);
    return TN_OK;
}

static bool is_value(const tn_node *n);

/* Is field `slot` of this tuple, which is no value itself, read as one? Tuples in tuples in tuples: perhaps. */
static bool is_taken_whole(const tn_node *tuple, uint32_t slot)
{
    for (const tn_use *u = tuple->users[0]; u; u = u->next)
        if (u->user->op == &tn_op_tuple ||
            (((const tn_tuple_get_attr *)u->user->attr)->index == slot && is_value(u->user)))
            return true;
    return false;
}

/* Is the tuple more than what its fields are taken from, in the same function? Depth: that of types. */
static bool is_value(const tn_node *n)
{
    for (const tn_use *u = n->users[0]; u; u = u->next) {
        if (!u->user || program_body_of(u->user->owner) != program_body_of(n->owner))
            return true;
        if (u->user->op != &tn_op_tuple_get &&
            (u->user->op != &tn_op_tuple || is_value(u->user) || is_taken_whole(u->user, u->slot)))
            return true;
    }
    return false;
}

static tn_status take_field(tn_maker *m, const tn_node *n)
{
    uint32_t from, to;
    if (program_root(m, tn_val((tn_node *)n)).def != n)
        return TN_OK; /* of a tuple that was made here */
    TN_TRY(program_slot_of(m, tn_in(n, 0), &from));
    to = program_add_handle(m, TN_SLOT_TEMP, "");
    put(m, n, TN_INST_FIELD, (uint32_t)((const tn_tuple_get_attr *)n->attr)->index, 2,
        (uint32_t[]){from, to});
    program_receive(m, n, 0, to);
    return TN_OK;
}

/* ---- references ---- */

static tn_status add_ref(tn_maker *m, const tn_node *n, enum tn_inst_op op)
{
    uint32_t operand[3];
    TN_TRY(operands(m, n, 0, operand));
    put(m, n, op, 0, 2, operand);
    if (op == TN_INST_REF_WRITE && is_used(n, 0))
        put(m, n, TN_INST_CONSTRUCT, 0, 1, &operand[2]);
    program_receive(m, n, 0, operand[n->nin]);
    return TN_OK;
}

/* ---- host functions ---- */

/* An operand of a host function: a handle, or bytes whose slot has the value's own shape. */
static tn_status host_operand(tn_maker *m, const tn_node *n, int i, uint32_t *out)
{
    tn_value v = i < n->nin ? tn_in(n, i) : (tn_value){0};
    if (v.def)
        return program_shaped(m, n, v, out);
    *out = program_add_handle(m, TN_SLOT_TEMP, "");
    put(m, n, TN_INST_CONSTRUCT, 0, 1, out);
    return TN_OK;
}

/* The attributes as a constant: the bytes of a JSON object. */
static tn_status host_attributes(tn_maker *m, const tn_node *n, uint32_t *out)
{
    tn_buf b = {0};
    tn_graph *g = &m->b->graph;
    tn_attr_print_json(n->op->attr, n->attr, &b);
    int64_t count = (int64_t)b.n;
    tn_node *c = tn_make_constant(g, n->owner, (tn_node *)n, TN_U8, 1, &count, b.at, NULL);
    tn_buf_deinit(&b);
    return program_slot_of(m, tn_val(c), out);
}

static tn_status call_host(tn_maker *m, const tn_node *n)
{
    int n_in = n->op->nin < 0 ? n->nin : n->op->nin;
    uint32_t *operand = TN_NEW_N(&m->b->arena, uint32_t, (size_t)n_in + n->nout + 2), k = 1;
    for (int i = 0; i < n_in; i++)
        TN_TRY(host_operand(m, n, i, &operand[k++]));
    if (n->op->attr)
        TN_TRY(host_attributes(m, n, &operand[k++]));
    operand[0] = k - 1;
    for (uint32_t i = 1; i < k; i++)
        program_use(m, operand[i]);
    for (uint16_t i = 0; i < n->nout; i++)
        operand[k++] = tn_type_is_handle(n->type[i]) ? program_result_slot(m, n, i)
                                                     : program_add_handle(m, TN_SLOT_TEMP, "");
    put(m, n, TN_INST_CALL_HOST, program_add_text(m, n->op->host), k, operand);
    for (uint16_t i = 0; i < n->nout; i++)
        program_receive(m, n, i, operand[k - n->nout + i]);
    return TN_OK;
}

/* What an optional value holds. */
static tn_status get_optional(tn_maker *m, const tn_node *n)
{
    uint32_t from, to = program_add_handle(m, TN_SLOT_TEMP, "");
    TN_TRY(program_slot_of(m, tn_in(n, 0), &from));
    uint32_t none = put(m, n, TN_INST_JUMP_TAG, 0, 2, (uint32_t[]){from, 1});
    put(m, n, TN_INST_FIELD, 0, 2, (uint32_t[]){from, to});
    uint32_t over = put(m, n, TN_INST_JUMP, 0, 0, NULL);
    m->insts.at[none].a = (uint32_t)m->insts.n;
    put(m, n, TN_INST_FAIL, program_add_text(m, "the optional value is empty"), 0, NULL);
    m->insts.at[over].a = (uint32_t)m->insts.n;
    program_receive(m, n, 0, to);
    return TN_OK;
}

/* Is a function of the module more than what calls name? */
static bool is_value_of_call(const tn_node *n)
{
    for (const tn_use *u = n->users[0]; u; u = u->next)
        if (!u->user || u->user->op != &tn_op_call || u->slot > 0)
            return true;
    return false;
}

tn_status program_add_value(tn_maker *m, const tn_node *n)
{
    if (tn_op_is(n, &tn_op_call))
        return add_call(m, n);
    if (tn_op_is(n, &tn_op_fn) && !((const tn_fn_attr *)n->attr)->Primitive)
        return is_used(n, 0) ? add_closure(m, n) : TN_OK;
    if (tn_op_is(n, &tn_op_global) && is_value_of_call(n)) {
        uint32_t to = program_add_handle(m, TN_SLOT_TEMP, "");
        put(m, n, TN_INST_CLOSURE, number_of(m, global_of(m, n)), 1, &to);
        program_receive(m, n, 0, to);
        return TN_OK;
    }
    if (tn_op_is(n, &tn_op_self))
        return is_used(n, 0) ? add_self(m, n) : TN_OK;
    if (tn_op_is(n, &tn_op_construct))
        return construct(m, n,
                         tn_graph_constructor(&m->b->graph, ((const tn_construct_attr *)n->attr)->name)->tag);
    if (tn_op_is(n, &tn_op_ref))
        return add_ref(m, n, TN_INST_REF_NEW);
    if (tn_op_is(n, &tn_op_ref_read))
        return add_ref(m, n, TN_INST_REF_READ);
    if (tn_op_is(n, &tn_op_ref_write))
        return add_ref(m, n, TN_INST_REF_WRITE);
    if (n->op->host)
        return call_host(m, n);
    if (tn_op_is(n, &tn_op_seq_of) || tn_op_is(n, &tn_op_opt_none) || tn_op_is(n, &tn_op_opt_some))
        return construct(m, n, tn_op_is(n, &tn_op_opt_some));
    if (tn_op_is(n, &tn_op_opt_get))
        return get_optional(m, n);
    if (tn_op_is(n, &tn_op_tuple))
        return is_value(n) ? construct(m, n, 0) : TN_OK;
    return tn_op_is(n, &tn_op_tuple_get) ? take_field(m, n) : TN_OK;
}
