/* The AOT program of a fused module: slots, instructions, the memory plan and the exact peak.
 *
 * Every value is a slot. A group that only renames shapes (all operators share storage, row-major in and out) makes no
 * instruction: its result is its input's slot. A graph output is the slot of the node that computes it where the two
 * are equally large for all symbols and known at the same time; an output that is an input, a constant or another
 * output is copied at the end (alias). Everything else is copied by an instruction, which compares sizes in the run.
 *
 * Slots whose size depends on symbols bound during the run are planned by segment: one arena for each place where such
 * symbols are bound, holding the slots for which these are the last ones to be known.
 */
#include "driver/program.h"

#include "op/control/control.h"
#include "op/core/core.h"
#include "op/host/host.h"

#include <string.h>

uint64_t program_key(tn_value v) { return (uint64_t)v.def->id << 16 | v.out; }

tn_value program_root(const tn_maker *m, tn_value v)
{
    uint64_t r;
    return tn_map_get(&m->root, program_key(v), &r) ? *(const tn_value *)(uintptr_t)r : v;
}

static void set_root(tn_maker *m, const tn_node *n, uint32_t out, tn_value of)
{
    tn_value *root = TN_NEW(&m->b->arena, tn_value);
    *root = program_root(m, of);
    tn_map_put(&m->root, program_key((tn_value){(tn_node *)n, out}), (uint64_t)(uintptr_t)root);
}

bool tn_group_renames(const tn_node *call)
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

/* ---- slots ---- */

int32_t program_symbol_index(const tn_maker *m, const char *name)
{
    for (size_t i = 0; i < m->symbols.n; i++)
        if (m->symbols.at[i].s.name == name)
            return (int32_t)i;
    return -1;
}

typedef struct {
    const tn_maker *m;
    bool known;
} knowledge;

static bool is_known(const tn_expr *e, void *user)
{
    knowledge *k = user;
    k->known = k->known && (e->kind != TN_E_SYM || program_symbol_index(k->m, e->u.s) >= 0);
    return k->known;
}

bool program_knows(const tn_maker *m, const tn_type *t)
{
    knowledge k = {m, true};
    for (int d = 0; d < t->n; d++)
        tn_each(t->dim[d], is_known, &k);
    return k.known;
}

typedef struct {
    const tn_maker *m;
    uint32_t segment;
} latest;

static bool look_at(const tn_expr *e, void *user)
{
    latest *l = user;
    int32_t s = e->kind == TN_E_SYM ? program_symbol_index(l->m, e->u.s) : -1;
    if (s >= 0 && l->m->symbols.at[s].segment > l->segment)
        l->segment = l->m->symbols.at[s].segment;
    return true;
}

static uint32_t add_slot(tn_maker *m, const tn_slot_ir *s)
{
    tn_vec_push(&m->slots, *s);
    tn_vec_push(&m->life, ((tn_lifetime){.bytes = s->bytes, .first = UINT32_MAX}));
    return (uint32_t)m->slots.n - 1;
}

uint32_t program_add_handle(tn_maker *m, enum tn_slot_kind kind, const char *name)
{
    return add_slot(m, &(tn_slot_ir){.name = name,
                                     .kind = kind,
                                     .storage = TN_STORAGE_HANDLE,
                                     .bytes = tn_idx(&m->b->pool, 0),
                                     .alias = -1,
                                     .over = -1});
}

uint32_t program_add_slot(tn_maker *m, enum tn_slot_kind kind, const char *name, const tn_type *t)
{
    if (tn_type_is_handle(t))
        return program_add_handle(m, kind, name);
    tn_slot_ir s = {.name = name,
                    .kind = kind,
                    .dtype = t->dtype,
                    .ndim = t->n,
                    .dim = t->dim,
                    .layout = t->layout,
                    .alias = -1,
                    .over = -1};
    latest l = {m, 0};
    s.bytes = tn_simplify(&m->b->pool, NULL, tn_type_bytes(&m->b->pool, t));
    for (int d = 0; d < t->n; d++)
        tn_each(t->dim[d], look_at, &l);
    s.segment = l.segment;
    return add_slot(m, &s);
}

uint32_t program_add_scalar(tn_maker *m, tn_dtype t)
{
    return program_add_slot(m, TN_SLOT_TEMP, "", tn_type_tensor(m->b->graph.pool, t, 0, NULL, NULL));
}

/* An input binds each symbol at its first plain occurrence; other dimensions are checked. */
static void add_input(tn_maker *m, const tn_node *param)
{
    const tn_type *t = param->type[0];
    uint32_t s = program_add_slot(m, TN_SLOT_INPUT, param->name, t);
    int32_t *bind = TN_NEW_N(&m->b->arena, int32_t, t->n);
    for (int d = 0; d < t->n && !tn_type_is_handle(t); d++) {
        bind[d] = -1;
        if (t->dim[d]->kind != TN_E_SYM || program_symbol_index(m, t->dim[d]->u.s) >= 0)
            continue;
        const tn_symbol_info *info = tn_graph_symbol(&m->b->graph, t->dim[d]->u.s);
        bind[d] = (int32_t)m->symbols.n;
        tn_vec_push(&m->symbols, ((program_symbol){{t->dim[d]->u.s, info->min, info->max}, 0}));
    }
    m->slots.at[s].bind = bind;
    tn_map_put(&m->slot, program_key((tn_value){(tn_node *)param, 0}), s);
}

/* May its values be given to, and taken from, who runs the package? Depth: that of types. */
static bool is_open(const tn_type *t)
{
    bool open = t->kind != TN_T_FUNC && t->kind != TN_T_REF && t->kind != TN_T_TUPLE;
    for (int i = 0; open && t->kind != TN_T_TENSOR && i < t->n; i++)
        open = is_open(t->field[i]);
    return open;
}

/* The types of what is a handle are texts of the package, as its slots do not have them. */
static tn_status check_type(tn_maker *m, const char *what, const char *name, const tn_node *n,
                            const tn_type *t)
{
    if (t && !tn_type_is_handle(t))
        return TN_OK;
    tn_ctx *ctx = m->b->ctx;
    tn_buf b = {0};
    if (t)
        tn_type_print(t, &b);
    tn_status s = TN_OK;
    if (t && is_open(t))
        tn_vec_push(&m->b->graph.metadata,
                    ((tn_metadata){tn_intern(ctx, tn_arena_printf(&m->b->arena, "%s_type.%s", what, name)),
                                   tn_intern(ctx, tn_buf_cstr(&b))}));
    else
        s = tn_error(ctx, "driver-E010", n->loc,
                     "functions, references and tuples cannot enter or leave a package, so %s cannot; pass "
                     "the parts of a tuple one by one",
                     tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

/* Of its size, and of bytes here and there. */
static uint64_t constant_key(const tn_blob *b)
{
    enum { SAMPLES = 64 };
    uint64_t h = tn_hash_u64(1, b->n);
    size_t step = b->n / SAMPLES + 1;
    for (size_t i = 0; i < b->n; i += step)
        h = tn_hash_u64(h, ((const uint8_t *)b->at)[i]);
    return h;
}

static bool same_constant(const tn_node *a, const tn_node *b)
{
    return tn_type_eq(a->type[0], b->type[0]) && a->blob->n == b->blob->n &&
           (!a->blob->n || memcmp(a->blob->at, b->blob->at, a->blob->n) == 0);
}

/* The number of a constant; equal ones have the same: branches lay out the same weights, each for itself. */
static size_t number_of(tn_maker *m, const tn_node *c)
{
    program_shared *all = m->all;
    uint64_t key = c->blob ? constant_key(c->blob) : 0, at; /* NULL: a text without its data */
    bool known = c->blob && tn_map_get(&all->constant_of, key, &at);
    if (known && same_constant(all->constants.at[at], c))
        return (size_t)at;
    if (c->blob && !known)
        tn_map_put(&all->constant_of, key, all->constants.n);
    tn_vec_push(&all->constant_names,
                (const char *)tn_arena_printf(&m->b->arena, "%s%zu", all->constant_prefix, all->constants.n));
    tn_vec_push(&all->constants, c);
    return all->constants.n - 1;
}

const char *program_constant(tn_maker *m, const tn_node *c)
{
    size_t k = number_of(m, c); /* may move the names */
    return m->all->constant_names.at[k];
}

static uint32_t constant_slot(tn_maker *m, const tn_node *c)
{
    size_t k = number_of(m, c);
    uint64_t s, key = program_key(tn_val((tn_node *)m->all->constants.at[k]));
    if (!tn_map_get(&m->slot, key, &s)) {
        s = program_add_slot(m, TN_SLOT_CONST, m->all->constant_names.at[k], c->type[0]);
        tn_map_put(&m->slot, key, s);
    }
    return (uint32_t)s;
}

tn_status program_slot_of(tn_maker *m, tn_value v, uint32_t *out)
{
    uint64_t s;
    v = program_root(m, v);
    if (!tn_map_get(&m->slot, program_key(v), &s)) {
        TN_ASSERT(v.def->op == &tn_op_constant);
        s = constant_slot(m, v.def);
        tn_map_put(&m->slot, program_key(v), s);
    }
    *out = (uint32_t)s;
    return TN_OK;
}

uint32_t program_result_slot(tn_maker *m, const tn_node *n, uint16_t out)
{
    uint64_t s, key = program_key((tn_value){(tn_node *)n, out});
    if (!tn_map_get(&m->slot, key, &s)) {
        s = program_add_slot(m, TN_SLOT_TEMP, "", n->type[out]);
        tn_map_put(&m->slot, key, s);
    }
    return (uint32_t)s;
}

/* ---- roots, outputs ---- */

/* Where only one branch of an `if` can end, its results are those of the `if`. */
static void root_if(tn_maker *m, const tn_node *n)
{
    bool no_then = tn_region_fails(n->region[0]), no_else = tn_region_fails(n->region[1]);
    const tn_region *r = n->region[no_then];
    for (uint32_t k = 0; k < n->nout && no_then != no_else; k++)
        set_root(m, n, k, (tn_value){r->result[k].def, r->result[k].out});
}

/* A field of a tuple is what the tuple was made of. */
static void root_field(tn_maker *m, const tn_node *n)
{
    const tn_node *t = program_root(m, tn_in(n, 0)).def;
    if (t->op == &tn_op_tuple && program_body_of(t->owner) == program_body_of(n->owner))
        set_root(m, n, 0, tn_in(t, (int)((const tn_tuple_get_attr *)n->attr)->index));
}

static void find_roots(tn_maker *m, const tn_region *r)
{
    for (const tn_node *n = r->first; n; n = n->next) {
        for (int i = 0; i < n->nregion && n->op != &tn_op_fn; i++)
            find_roots(m, n->region[i]);
        if (tn_group_fn(n) && tn_group_renames(n))
            set_root(m, n, 0, tn_in(n, 1));
        else if (n->op == &tn_op_bind_extent || n->op == &tn_op_match_shape || (n->op->flags & TN_OP_VIEW))
            set_root(m, n, 0, tn_in(n, 0));
        else if (n->op == &tn_op_tuple_get)
            root_field(m, n);
        else if (n->op == &tn_op_if)
            root_if(m, n);
    }
}

bool program_unplaced(const tn_maker *m, tn_value root)
{
    uint64_t known;
    return root.def->op != &tn_op_var && root.def->op != &tn_op_constant &&
           !tn_map_get(&m->slot, program_key(root), &known);
}

bool program_same_bytes(tn_maker *m, const tn_expr *a, const tn_expr *b)
{
    return a == b || tn_is_value(tn_simplify_extent(&m->b->graph, tn_sub(&m->b->pool, a, b)), 0);
}

typedef struct {
    const tn_type *t;
    bool all;
} symbols_of;

static bool has_symbol(const tn_expr *e, void *user)
{
    symbols_of *s = user;
    for (int d = 0; e->kind == TN_E_SYM && d < s->t->n; d++)
        if (tn_uses(s->t->dim[d], e))
            return true;
    s->all = s->all && e->kind != TN_E_SYM;
    return true;
}

/* Values of the run are written with their shape, and the run compares it with the slot's; kernels write elements. */
static bool tells_shape(const tn_node *n)
{
    return n->op->host || n->op == &tn_op_unbox || tn_op_is(n, &tn_op_opt_get) ||
           tn_op_is(n, &tn_op_ref_read) || tn_op_is(n, &tn_op_tuple_get) ||
           (n->op == &tn_op_call && !tn_group_fn(n));
}

static bool same_shape(tn_maker *m, const tn_slot_ir *s, const tn_type *t)
{
    bool same = s->ndim == t->n;
    for (int d = 0; same && d < t->n; d++)
        same = program_same_bytes(m, s->dim[d], t->dim[d]);
    return same;
}

bool program_holds(tn_maker *m, uint32_t slot, tn_value v)
{
    const tn_slot_ir *s = &m->slots.at[slot];
    const tn_type *t = tn_value_type(v);
    bool handle = s->storage == TN_STORAGE_HANDLE;
    if (handle || tn_type_is_handle(t))
        return handle && tn_type_is_handle(t);
    if (v.def->op == &tn_op_loop && s->dim != t->dim && (!s->ndim || s->dim[0] != t->dim[0]))
        return false; /* rows that are collected need their dimension */
    if (tells_shape(v.def) && !same_shape(m, s, t))
        return false;
    symbols_of known = {t, true};
    for (int d = 0; d < s->ndim; d++)
        tn_each(s->dim[d], has_symbol, &known);
    return known.all && tn_dtype_eq(tn_dtype_part(s->dtype), tn_dtype_part(t->dtype)) &&
           s->layout == t->layout &&
           program_same_bytes(m, s->bytes, tn_simplify(&m->b->pool, NULL, tn_type_bytes(&m->b->pool, t)));
}

/* Output slots stand after the inputs in the model's order; the first output of a computed value is where it
 * is computed. Those whose extents are bound during the run get their segment when all symbols are known. */
static tn_status add_outputs(tn_maker *m, const tn_region *r, uint32_t slot[])
{
    for (uint32_t i = 0; i < r->n_result; i++) {
        tn_value v = {r->result[i].def, r->result[i].out};
        TN_TRY(check_type(m, "output", m->b->output_name[i], v.def, tn_value_type(v)));
        if (tn_is_state_result(m->b, i))
            continue;
        uint32_t o = slot[i] = program_add_slot(m, TN_SLOT_OUTPUT, m->b->output_name[i], tn_value_type(v));
        tn_value root = program_root(m, v);
        if (!program_holds(m, o, root))
            continue;
        if (program_unplaced(m, root)) {
            tn_map_put(&m->slot, program_key(root), o);
        } else {
            uint32_t from;
            TN_TRY(program_slot_of(m, root, &from));
            if (m->slots.at[from].kind != TN_SLOT_STATE && /* that one changes before outputs are delivered */
                !program_is_handle(m, o))                  /* of which there is one more */
                m->slots.at[o].alias = from;
        }
    }
    return TN_OK;
}

/* Outputs that are not where their values are computed. */
static tn_status copy_outputs(tn_maker *m, const tn_region *r, const uint32_t slot[])
{
    for (uint32_t i = 0; i < r->n_result; i++) {
        tn_value v = {r->result[i].def, r->result[i].out};
        uint32_t operand[2] = {0, slot[i]};
        if (tn_is_state_result(m->b, i) || m->slots.at[slot[i]].alias >= 0)
            continue;
        TN_TRY(program_slot_of(m, v, &operand[0]));
        if (operand[0] == operand[1])
            continue;
        program_transfer(m, v.def, operand[0], operand[1]);
    }
    return TN_OK;
}

static void place_outputs(tn_maker *m)
{
    for (size_t i = 0; i < m->slots.n; i++) {
        tn_slot_ir *s = &m->slots.at[i];
        latest l = {m, 0};
        for (int d = 0; s->kind == TN_SLOT_OUTPUT && d < s->ndim; d++)
            tn_each(s->dim[d], look_at, &l);
        s->segment = s->kind == TN_SLOT_OUTPUT ? l.segment : s->segment;
    }
}

/* ---- instructions ---- */

void program_use(tn_maker *m, uint32_t slot)
{
    uint32_t at = (uint32_t)m->insts.n;
    tn_lifetime *l = &m->life.at[slot];
    l->first = l->first < at ? l->first : at;
    l->last = l->last > at ? l->last : at;
}

uint32_t program_add_inst(tn_maker *m, enum tn_inst_op op, uint32_t a, uint32_t n, const uint32_t *operand,
                          const char *node)
{
    tn_inst_ir inst = {op, a, n,
                       tn_arena_copy(&m->b->arena, n ? (const void *)operand : "", n * sizeof *operand, 4),
                       node ? node : ""};
    tn_vec_push(&m->insts, inst);
    return (uint32_t)m->insts.n - 1;
}

/* Work memory of a call is a temporary of this instruction alone. */
static uint32_t work_slot(tn_maker *m, const tn_expr *bytes)
{
    tn_pool *p = &m->b->pool;
    uint32_t s =
        program_add_slot(m, TN_SLOT_TEMP, "", tn_type_tensor(m->b->graph.pool, TN_U8, 1, &bytes, NULL));
    m->slots.at[s].bytes = tn_simplify(p, NULL, bytes);
    program_use(m, s);
    return s;
}

/* What the kernel needs, whichever variant runs; NULL: nothing. */
static const tn_expr *work_of(tn_maker *m, const tn_group *g)
{
    const tn_expr *most = NULL;
    tn_facts f;
    tn_symbol_facts(&m->b->graph, &f);
    for (uint32_t v = 0; v < g->n_variant; v++) {
        const tn_expr *e = g->flat[v].work_bytes;
        if (!tn_is_value(e, 0))
            most = most ? tn_plan_max(&m->b->pool, &f, most, e) : e;
    }
    tn_facts_deinit(&f);
    return most;
}

tn_status program_add_call(tn_maker *m, const tn_node *call)
{
    uint64_t group = 0;
    if (tn_group_renames(call))
        return TN_OK;
    tn_map_get(&m->all->group, tn_map_key(call), &group);
    const tn_group *g = &m->b->groups.at[group];
    uint32_t n_in = (uint32_t)call->nin - 1, ns = g->te->n_symbol, k = 0;
    uint32_t *operand = TN_NEW_N(&m->b->arena, uint32_t, n_in + call->nout + ns + 1);
    for (uint32_t i = 0; i < n_in; i++) {
        TN_TRY(program_slot_of(m, tn_in(call, (int)i + 1), &operand[k]));
        program_use(m, operand[k++]);
    }
    for (uint16_t o = 0; o < call->nout; o++) {
        operand[k] = program_result_slot(m, call, o);
        program_use(m, operand[k++]);
    }
    for (uint32_t i = 0; i < ns; i++) {
        int32_t s = program_symbol_index(m, g->te->symbol[i].name);
        TN_ASSERT(s >= 0);
        operand[k++] = (uint32_t)s;
    }
    const tn_expr *work = work_of(m, g);
    if (work)
        operand[k++] = work_slot(m, work);
    const char *node = tn_group_source(&m->b->graph, call); /* a text's calls have no names */
    program_add_inst(m, TN_INST_CALL, (uint32_t)group, k, operand, *node ? node : g->name);
    return TN_OK;
}

/* ---- the whole ---- */

const tn_expr *program_parameter_bytes(tn_pool *p, const tn_func *f, uint32_t i)
{
    const tn_buffer *b = &f->buffer[f->param[i]];
    const tn_expr *n = tn_idx(p, tn_dtype_bytes(b->dtype));
    for (int d = 0; d < b->ndim; d++)
        n = tn_mul(p, n, tn_expr_import(p, b->dim[d]));
    return tn_simplify(p, NULL, n);
}

/* The last variant is the one for all dimensions. */
static tn_kernel_signature signature_of(tn_build *b, const tn_group *g)
{
    const tn_func *f = g->flat[g->n_variant - 1].func;
    tn_kernel_parameter *parameter = TN_NEW_N(&b->arena, tn_kernel_parameter, f->n_param);
    const char **symbol = TN_NEW_N(&b->arena, const char *, f->n_symbol);
    TN_ASSERT(f->n_param == g->n_in + g->n_out);
    for (uint32_t i = 0; i < f->n_param; i++)
        parameter[i] =
            (tn_kernel_parameter){f->buffer[f->param[i]].dtype, program_parameter_bytes(&b->pool, f, i)};
    for (uint32_t i = 0; i < f->n_symbol; i++)
        symbol[i] = f->symbol[i].name;
    return (tn_kernel_signature){.name = g->name,
                                 .n_in = g->n_in,
                                 .n_out = g->n_out,
                                 .n_symbol = f->n_symbol,
                                 .parameter = parameter,
                                 .symbol = symbol};
}

static void *kept(tn_build *b, const void *at, size_t n, size_t size)
{
    return tn_arena_copy(&b->arena, n ? at : "", n * size, 8);
}

/* What is not the user's is described as it lies in memory: nobody but debuggers looks at its shape. */
static void physical(tn_build *b, tn_slot_ir *s)
{
    int n = tn_layout_naxis(s->layout, s->ndim);
    const tn_expr **dim = TN_NEW_N(&b->arena, const tn_expr *, n);
    tn_layout_dims(&b->pool, s->layout, s->ndim, s->dim, dim);
    for (int d = 0; d < n; d++)
        dim[d] = tn_simplify(&b->pool, NULL, dim[d]);
    s->dim = dim;
    s->ndim = (uint16_t)n;
    s->layout = NULL;
}

static tn_program_function_ir finish_function(tn_maker *m, const char *name)
{
    tn_build *b = m->b;
    tn_program_function_ir r = {.name = name};
    program_plan(m, &r);
    r.n_slot = (uint32_t)m->slots.n;
    r.slot = kept(b, m->slots.at, m->slots.n, sizeof *m->slots.at);
    r.n_inst = (uint32_t)m->insts.n;
    r.inst = kept(b, m->insts.at, m->insts.n, sizeof *m->insts.at);
    r.n_size = (uint32_t)m->sizes.n;
    r.size = kept(b, m->sizes.at, m->sizes.n, sizeof *m->sizes.at);
    r.n_symbol = (uint32_t)m->symbols.n;
    tn_symbol *symbol = TN_NEW_N(&b->arena, tn_symbol, m->symbols.n);
    for (size_t i = 0; i < m->symbols.n; i++) {
        symbol[i] = m->symbols.at[i].s;
        r.n_late += m->symbols.at[i].segment > 0;
    }
    r.symbol = symbol;
    return r;
}

static void finish(tn_build *b, program_shared *all)
{
    b->program = (tn_program_ir){.n_function = (uint32_t)all->made.n,
                                 .function = kept(b, all->made.at, all->made.n, sizeof *all->made.at),
                                 .n_state = b->n_state,
                                 .state = all->state,
                                 .n_text = (uint32_t)all->texts.n,
                                 .text = kept(b, all->texts.at, all->texts.n, sizeof *all->texts.at)};
    b->n_constant = (uint32_t)all->constants.n;
    b->constant = kept(b, all->constants.at, all->constants.n, sizeof *all->constants.at);
    b->constant_name = kept(b, all->constant_names.at, all->constants.n, sizeof *all->constant_names.at);
    b->kernel = TN_NEW_N(&b->arena, tn_kernel_ir, b->groups.n);
    for (size_t i = 0; i < b->groups.n; i++) {
        const tn_group *g = &b->groups.at[i];
        tn_flat *flat = kept(b, g->flat, g->n_variant, sizeof *g->flat);
        b->kernel[i] = (tn_kernel_ir){g->name, g->source, g->n_in, g->n_out, g->n_variant, flat, {0}};
        tn_operations_count(g->te, b->kernel[i].operations);
    }
}

static void make_unit(tn_build *b)
{
    b->unit = (tn_unit){.ctx = b->ctx,
                        .name = b->opt.module_name ? b->opt.module_name : "default",
                        .producer = "tenon " TENON_VERSION,
                        .target = b->target.text,
                        .feature = b->feature,
                        .n_feature = b->n_feature,
                        .n_kernel = (uint32_t)b->groups.n,
                        .kernel = b->kernel,
                        .program = &b->program,
                        .note = tn_note_make(b),
                        .n_metadata = (uint32_t)b->graph.metadata.n,
                        .metadata = b->graph.metadata.at};
}

static tn_status make_main(tn_maker *m, const tn_region *r)
{
    tn_build *b = m->b;
    find_roots(m, r);
    for (uint32_t i = 0; i < r->n_param; i++) {
        TN_TRY(check_type(m, "input", r->param[i]->name, r->param[i], r->param[i]->type[0]));
        int64_t state = tn_state_of_input(b, i);
        if (state >= 0)
            program_add_state(m, (uint32_t)state, r->param[i]);
        else
            add_input(m, r->param[i]);
    }
    program_place_states(m, r);
    uint32_t *output = TN_NEW_N(&b->arena, uint32_t, r->n_result);
    TN_TRY(add_outputs(m, r, output));
    TN_TRY(program_region(m, r));
    TN_TRY(copy_outputs(m, r, output));
    TN_TRY(program_store_states(m, r));
    place_outputs(m);
    return TN_OK;
}

/* Its inputs and its result are handles, so that closures can be made of it. */
static tn_status make_function(tn_maker *m, const program_function *f)
{
    find_roots(m, f->body);
    TN_TRY(program_parameters(m, f));
    TN_TRY(program_region(m, f->body));
    return program_result(m, f->body);
}

static void maker_deinit(tn_maker *m)
{
    tn_map_deinit(&m->root);
    tn_map_deinit(&m->slot);
    tn_vec_deinit(&m->slots);
    tn_vec_deinit(&m->insts);
    tn_vec_deinit(&m->symbols);
    tn_vec_deinit(&m->life);
    tn_vec_deinit(&m->sizes);
}

/* Function k of the program; those that it calls are added. */
static tn_status make_one(tn_build *b, program_shared *all, size_t k)
{
    tn_maker m = {.b = b, .all = all, .number = (uint32_t)k};
    program_function f = all->functions.at[k];
    tn_status s = k ? make_function(&m, &f) : make_main(&m, f.body);
    tn_program_function_ir r = s == TN_OK ? finish_function(&m, f.name) : (tn_program_function_ir){0};
    tn_vec_push(&all->made, r);
    maker_deinit(&m);
    return s;
}

static tn_status make(tn_build *b, program_shared *all)
{
    tn_maker m = {.b = b, .all = all};
    const tn_region *r = tn_graph_function(&b->graph, "main")->body;
    for (size_t i = 0; i < b->calls.n; i++)
        tn_map_put(&all->group, tn_map_key(b->calls.at[i].call), b->calls.at[i].group);
    b->signature = TN_NEW_N(&b->arena, tn_kernel_signature, b->groups.n);
    for (size_t i = 0; i < b->groups.n; i++)
        b->signature[i] = signature_of(b, &b->groups.at[i]);
    all->state = TN_NEW_N(&b->arena, tn_state, b->n_state);
    (void)program_function_of(&m, &(program_function){.name = "main", .body = r});
    for (size_t k = 0; k < all->functions.n; k++)
        TN_TRY(make_one(b, all, k));
    finish(b, all);
    for (size_t k = 0; k < all->made.n; k++)
        tn_program_release(&b->arena, &b->program, (uint32_t)b->groups.n, b->signature,
                           (tn_program_function_ir *)&b->program.function[k]);
    TN_TRY(tn_program_verify(b->ctx, &b->pool, &b->program, (uint32_t)b->groups.n, b->signature));
    for (size_t k = 0; k < all->made.n; k++) {
        tn_program_function_ir *f = &((tn_program_function_ir *)b->program.function)[k];
        tn_slot_ir *slot = kept(b, f->slot, f->n_slot, sizeof *f->slot);
        for (uint32_t i = 0; i < f->n_slot; i++)
            if (slot[i].layout)
                physical(b, &slot[i]);
        f->slot = slot;
    }
    b->main = (tn_program_function_ir *)b->program.function;
    make_unit(b);
    return TN_OK;
}

tn_status tn_stage_program(tn_build *b)
{
    program_shared all = {.constant_prefix = tn_constant_prefix(b)};
    tn_status st = make(b, &all);
    tn_map_deinit(&all.group);
    tn_map_deinit(&all.number);
    tn_map_deinit(&all.constant_of);
    tn_vec_deinit(&all.constants);
    tn_vec_deinit(&all.constant_names);
    tn_vec_deinit(&all.texts);
    tn_vec_deinit(&all.functions);
    tn_vec_deinit(&all.made);
    return st;
}
