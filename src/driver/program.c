/* The AOT program of a fused module: slots, instructions, the memory plan and the exact peak.
 *
 * Every value is a slot. A group that only renames shapes (all operators share storage, row-major in and out) makes no
 * instruction: its result is its input's slot. A graph output is the slot of the call that computes it; an
 * output that is an input, a constant or another output is copied at the end (alias).
 */
#include "driver/driver.h"

#include <string.h>

typedef struct {
    tn_build *b;
    tn_map root;                 /* value -> value whose storage it is */
    tn_map slot;                 /* root value -> slot */
    tn_vec(tn_slot_ir) slots;
    tn_vec(tn_inst_ir) insts;
    tn_vec(const tn_node *) constants;
    tn_vec(tn_symbol) symbols;
    tn_vec(tn_lifetime) life;    /* of slots, by index; TEMP only */
} maker;

static uint64_t key(tn_value v)
{
    return (uint64_t)v.def->id << 16 | v.out;
}

static tn_value root_of(const maker *m, tn_value v)
{
    uint64_t r;
    return tn_map_get(&m->root, key(v), &r) ? (tn_value){(tn_node *)(uintptr_t)r, 0} : v;
}

/* Only renames the shape of one dense value? */
static bool renames(const tn_node *call)
{
    const tn_node *fn = tn_group_fn(call);
    int params = 0;
    for (const tn_node *n = fn->region[0]->first; n; n = n->next) {
        params += n->op == &tn_op_var;
        if (n->op != &tn_op_var && (!(n->op->flags & TN_OP_SHARES) || n->type[0]->layout))
            return false;
    }
    return params == 1 && call->nin == 2 && !tn_in_type(call, 1)->layout && call->nout == 1;
}

static uint32_t add_slot(maker *m, enum tn_slot_kind kind, const char *name, const tn_type *t)
{
    tn_slot_ir s = {.name = name,
                    .kind = kind,
                    .dtype = t->dtype,
                    .ndim = t->n,
                    .dim = t->dim,
                    .layout = t->layout,
                    .alias = -1};
    s.bytes = tn_simplify(&m->b->pool, NULL, tn_type_bytes(&m->b->pool, t));
    tn_vec_push(&m->slots, s);
    tn_vec_push(&m->life, ((tn_lifetime){s.bytes, 0, 0, NULL}));
    return (uint32_t)m->slots.n - 1;
}

static int32_t symbol_index(const maker *m, const char *name)
{
    for (size_t i = 0; i < m->symbols.n; i++)
        if (m->symbols.at[i].name == name)
            return (int32_t)i;
    return -1;
}

/* An input binds each symbol at its first plain occurrence; other dimensions are checked. */
static void add_input(maker *m, const tn_node *param)
{
    const tn_type *t = param->type[0];
    uint32_t s = add_slot(m, TN_SLOT_INPUT, param->name, t);
    int32_t *bind = TN_NEW_N(&m->b->arena, int32_t, t->n);
    for (int d = 0; d < t->n; d++) {
        bind[d] = -1;
        if (t->dim[d]->kind != TN_E_SYM || symbol_index(m, t->dim[d]->u.s) >= 0)
            continue;
        const tn_symbol_info *info = tn_graph_symbol(&m->b->graph, t->dim[d]->u.s);
        bind[d] = (int32_t)m->symbols.n;
        tn_vec_push(&m->symbols, ((tn_symbol){t->dim[d]->u.s, info->min, info->max}));
    }
    m->slots.at[s].bind = bind;
    tn_map_put(&m->slot, key((tn_value){(tn_node *)param, 0}), s);
}

static tn_status check_type(maker *m, const tn_node *n, const tn_type *t)
{
    return t && t->kind == TN_T_TENSOR ? TN_OK
                                       : tn_error(m->b->ctx, "driver-E010", n->loc,
                                                  "only tensors can be inputs and outputs of a package");
}

static uint32_t constant_slot(maker *m, const tn_node *c)
{
    uint32_t s = add_slot(m, TN_SLOT_CONST, tn_arena_printf(&m->b->arena, "p%zu", m->constants.n), c->type[0]);
    tn_vec_push(&m->constants, c);
    return s;
}

static tn_status slot_of(maker *m, tn_value v, uint32_t *out)
{
    uint64_t s;
    v = root_of(m, v);
    if (!tn_map_get(&m->slot, key(v), &s)) {
        if (v.def->op != &tn_op_constant)
            return tn_error(m->b->ctx, "driver-E011", v.def->loc, "%s cannot be part of a package", v.def->op->name);
        s = constant_slot(m, v.def);
        tn_map_put(&m->slot, key(v), s);
    }
    *out = (uint32_t)s;
    return TN_OK;
}

static tn_status find_roots(maker *m)
{
    for (size_t i = 0; i < m->b->calls.n; i++) {
        const tn_node *c = m->b->calls.at[i].call;
        if (renames(c))
            tn_map_put(&m->root, key((tn_value){(tn_node *)c, 0}), tn_map_key(root_of(m, tn_in(c, 1)).def));
    }
    return TN_OK;
}

/* Output slots stand after the inputs in the model's order; the first output of a computed value is where it
 * is computed. */
static tn_status add_outputs(maker *m, const tn_region *r)
{
    for (uint32_t i = 0; i < r->n_result; i++) {
        tn_value v = {r->result[i].def, r->result[i].out};
        uint64_t s;
        TN_TRY(check_type(m, v.def, tn_value_type(v)));
        uint32_t o = add_slot(m, TN_SLOT_OUTPUT, tn_arena_printf(&m->b->arena, "output_%u", i), tn_value_type(v));
        tn_value root = root_of(m, v);
        if (root.def->op == &tn_op_call && !tn_map_get(&m->slot, key(root), &s)) {
            tn_map_put(&m->slot, key(root), o);
        } else {
            uint32_t from;
            TN_TRY(slot_of(m, v, &from));
            m->slots.at[o].alias = from;
        }
    }
    return TN_OK;
}

static tn_status add_call(maker *m, const tn_call_site *c)
{
    const tn_group *g = &m->b->groups.at[c->group];
    uint64_t known;
    uint32_t at = (uint32_t)m->insts.n, n_in = (uint32_t)c->call->nin - 1, ns = g->te->n_symbol, k = 0;
    uint32_t *operand = TN_NEW_N(&m->b->arena, uint32_t, n_in + c->call->nout + ns);
    for (uint32_t i = 0; i < n_in; i++) {
        TN_TRY(slot_of(m, tn_in(c->call, (int)i + 1), &operand[k]));
        m->life.at[operand[k++]].last = at;
    }
    for (uint16_t o = 0; o < c->call->nout; o++) {
        tn_value v = {(tn_node *)c->call, o};
        if (!tn_map_get(&m->slot, key(v), &known)) {
            known = add_slot(m, TN_SLOT_TEMP, "", c->call->type[o]);
            tn_map_put(&m->slot, key(v), known);
        }
        m->life.at[known].first = m->life.at[known].last = at;
        operand[k++] = (uint32_t)known;
    }
    for (uint32_t i = 0; i < ns; i++) {
        int32_t s = symbol_index(m, g->te->symbol[i].name);
        if (s < 0)
            return tn_error(m->b->ctx, "driver-E012", c->call->loc, "dimension %s is bound by no input",
                            g->te->symbol[i].name);
        operand[k++] = (uint32_t)s;
    }
    tn_inst_ir inst = {TN_INST_CALL, c->group, k, operand, tn_group_source(&m->b->graph, c->call)};
    tn_vec_push(&m->insts, inst);
    return TN_OK;
}

/* Offsets of temporaries, work memory behind them, the exact peak. */
static void plan(maker *m)
{
    tn_build *b = m->b;
    tn_pool *p = &b->pool;
    uint32_t n = 0;
    tn_lifetime *life = TN_NEW_N(&b->arena, tn_lifetime, m->slots.n);
    uint32_t *of = TN_NEW_N(&b->arena, uint32_t, m->slots.n);
    const tn_expr *work = tn_idx(p, 0), *peak = tn_idx(p, 0);
    uint64_t scratch = 0;
    for (uint32_t i = 0; i < m->slots.n; i++) {
        if (m->slots.at[i].kind == TN_SLOT_TEMP) {
            of[n] = i;
            life[n++] = m->life.at[i];
        } else {
            peak = tn_add(p, peak, m->slots.at[i].bytes);
        }
    }
    const tn_expr *total = tn_plan_memory(&b->graph, &b->arena, n, life);
    for (uint32_t i = 0; i < n; i++)
        m->slots.at[of[i]].offset = life[i].offset;
    for (size_t i = 0; i < m->insts.n; i++) {
        const tn_group *g = &b->groups.at[m->insts.at[i].a];
        for (uint32_t v = 0; v < g->n_variant; v++) {
            work = tn_max(p, work, g->flat[v].work_bytes);
            scratch = g->flat[v].scratch_bytes > scratch ? g->flat[v].scratch_bytes : scratch;
        }
    }
    b->program.work_offset = total;
    b->program.arena_bytes = tn_simplify(p, NULL, tn_add(p, total, tn_simplify(p, NULL, work)));
    peak = tn_add(p, peak, tn_add(p, b->program.arena_bytes, tn_idx(p, (int64_t)(scratch * b->machine.cores))));
    b->peak = tn_simplify(p, NULL, peak);
}

static void finish(maker *m)
{
    tn_build *b = m->b;
    tn_program_ir *r = &b->program;
    r->n_slot = (uint32_t)m->slots.n;
    r->slot = tn_arena_copy(&b->arena, m->slots.at, m->slots.n * sizeof *m->slots.at, 8);
    r->n_inst = (uint32_t)m->insts.n;
    r->inst = tn_arena_copy(&b->arena, m->insts.n ? (void *)m->insts.at : (void *)"",
                            m->insts.n * sizeof *m->insts.at, 8);
    r->n_symbol = (uint32_t)m->symbols.n;
    r->symbol = tn_arena_copy(&b->arena, m->symbols.n ? (void *)m->symbols.at : (void *)"",
                              m->symbols.n * sizeof *m->symbols.at, 8);
    b->n_constant = (uint32_t)m->constants.n;
    b->constant = tn_arena_copy(&b->arena, m->constants.n ? (void *)m->constants.at : (void *)"",
                                m->constants.n * sizeof *m->constants.at, 8);
    b->kernel = TN_NEW_N(&b->arena, tn_kernel_ir, b->groups.n);
    for (size_t i = 0; i < b->groups.n; i++) {
        const tn_group *g = &b->groups.at[i];
        tn_flat *flat = tn_arena_copy(&b->arena, g->flat, sizeof g->flat, 8);
        b->kernel[i] = (tn_kernel_ir){g->name, g->source, g->n_in, g->n_out, g->n_variant, flat};
    }
    b->unit = (tn_unit){.ctx = b->ctx,
                        .name = b->opt.module_name ? b->opt.module_name : "default",
                        .producer = "tenon " TENON_VERSION,
                        .target = b->target.text,
                        .feature = b->feature,
                        .n_feature = b->n_feature,
                        .n_kernel = (uint32_t)b->groups.n,
                        .kernel = b->kernel,
                        .program = r,
                        .note = tn_note_make(b)};
}

tn_status tn_stage_program(tn_build *b)
{
    maker m = {.b = b};
    const tn_region *r = tn_graph_function(&b->graph, "main")->body;
    tn_status st = find_roots(&m);
    for (uint32_t i = 0; i < r->n_param && st == TN_OK; i++) {
        st = check_type(&m, r->param[i], r->param[i]->type[0]);
        if (st == TN_OK)
            add_input(&m, r->param[i]);
    }
    if (st == TN_OK)
        st = add_outputs(&m, r);
    for (size_t i = 0; i < b->calls.n && st == TN_OK; i++)
        if (!renames(b->calls.at[i].call))
            st = add_call(&m, &b->calls.at[i]);
    if (st == TN_OK) {
        plan(&m);
        finish(&m);
    }
    tn_map_deinit(&m.root);
    tn_map_deinit(&m.slot);
    tn_vec_deinit(&m.slots);
    tn_vec_deinit(&m.insts);
    tn_vec_deinit(&m.constants);
    tn_vec_deinit(&m.symbols);
    tn_vec_deinit(&m.life);
    return st;
}
