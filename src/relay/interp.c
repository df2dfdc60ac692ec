/* The reference interpreter of Relay: every operator by its record alone, neither fused nor scheduled.
 *
 * An operator's tensor expression becomes one TIR function over the symbolic types; the symbols' values are
 * passed to it. An operator defined by expansion is expanded into a scratch graph, which is evaluated in
 * turn. Values are counted references, dropped at their last use in the region that holds them (at the
 * region's end if a closure uses them), so memory stays that of the live values. Relayouts are moved
 * directly.
 */
#include "relay/interp.h"

#include "ir/eval.h"
#include "op/control/control.h"
#include "op/host/host.h"
#include "op/tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

/* ---- slots ---- */

static slot *find_slot(interp *p, const tn_node *n, uint32_t out)
{
    uint64_t at;
    return tn_map_get(&p->f.index, tn_map_key(n), &at) ? &p->f.slot.at[at + out] : NULL;
}

/* Uses of an output within the region that holds it; any use in an inner region pins it. */
static uint32_t count_uses(const tn_node *n, uint32_t out)
{
    uint32_t left = 0;
    for (const tn_use *u = n->users[out]; u; u = u->next) {
        const tn_region *at = u->user ? u->user->owner : u->region;
        if (at != n->owner)
            return PINNED;
        left += left < PINNED - 1;
    }
    return left;
}

static void store(interp *p, const tn_node *n, uint32_t out, value *v)
{
    slot *s = find_slot(p, n, out);
    s->left = count_uses(n, out);
    if (s->left)
        s->v = v;
    else
        value_release(v);
}

static void drop_use(interp *p, const tn_use *u, const tn_region *at)
{
    slot *s = u->def && u->def->owner == at ? find_slot(p, u->def, u->out) : NULL;
    if (s && s->v && s->left != PINNED && --s->left == 0) {
        value_release(s->v);
        s->v = NULL;
    }
}

static void open_slots(interp *p, const tn_region *r)
{
    uint64_t at;
    for (const tn_node *n = r->first; n; n = n->next) {
        bool none = tn_op_is(n, &tn_op_constant) || tn_op_is(n, &tn_op_fn) || tn_op_is(n, &tn_op_global);
        if (none || tn_map_get(&p->f.index, tn_map_key(n), &at))
            continue;
        tn_map_put(&p->f.index, tn_map_key(n), p->f.slot.n);
        for (int k = 0; k < n->nout; k++)
            tn_vec_push(&p->f.slot, (slot){0});
    }
}

static void close_slots(interp *p, const tn_region *r)
{
    for (const tn_node *n = r->first; n; n = n->next) {
        slot *s = find_slot(p, n, 0);
        for (int k = 0; s && k < n->nout; k++) {
            value_release(s[k].v);
            s[k].v = NULL;
        }
    }
}

static tn_status constant_value(interp *p, tn_node *d, const tn_node *at, value **out)
{
    value *v = value_new(VALUE_TENSOR);
    const tn_type *t = d->type[0];
    size_t bytes = 0;
    if (!v)
        return interp_no_memory(p, at);
    tn_status s = interp_type(p, t, d, v->t.dim, &bytes);
    if (s == TN_OK && (!d->blob || d->blob->n != bytes || (bytes && !d->blob->at))) {
        s = tn_error(p->g->ctx, "relay-E204", interp_where(at),
                     "the constant %s has no data; read the text together with its .params file",
                     d->name ? d->name : "(unnamed)");
    }
    v->t.dtype = t->dtype;
    v->t.ndim = t->n;
    v->t.n = bytes;
    s = s == TN_OK ? value_borrow(p, at, d->blob->at, v) : s;
    if (s == TN_OK)
        *out = v;
    else
        value_release(v);
    return s;
}

/* A reference to what a use reads; constants and functions are made on the spot, unless a closure captured them. */
tn_status interp_value(interp *p, const tn_node *n, uint32_t out, const tn_node *at, value **out_value)
{
    tn_node *d = (tn_node *)n;
    if (tn_op_is(d, &tn_op_constant))
        return constant_value(p, d, at, out_value);
    slot *s = find_slot(p, d, out);
    if (!s && (tn_op_is(d, &tn_op_fn) || tn_op_is(d, &tn_op_global)))
        return interp_closure(p, d, out_value);
    TN_ASSERT(s && s->v);
    *out_value = value_retain(s->v);
    return TN_OK;
}

static tn_status read_use(interp *p, const tn_use *u, const tn_node *at, value **out)
{
    return interp_value(p, u->def, u->out, at, out);
}

void interp_define(interp *p, const tn_node *n, uint32_t out, value *v)
{
    uint64_t at;
    if (!tn_map_get(&p->f.index, tn_map_key(n), &at)) {
        at = p->f.slot.n;
        tn_map_put(&p->f.index, tn_map_key(n), at);
        for (int k = 0; k < n->nout; k++)
            tn_vec_push(&p->f.slot, (slot){0});
    }
    value_release(p->f.slot.at[at + out].v);
    p->f.slot.at[at + out] = (slot){value_retain(v), PINNED};
}

void interp_frame_deinit(struct interp_frame *f)
{
    for (size_t i = 0; i < f->slot.n; i++)
        value_release(f->slot.at[i].v);
    tn_vec_deinit(&f->slot);
    tn_vec_deinit(&f->sym);
    tn_map_deinit(&f->index);
}

/* ---- operators ---- */

static tn_status check_size(interp *p, const tn_node *n, const tn_type *t, const value *v)
{
    int64_t dim[TN_RELAY_MAX_RANK];
    size_t bytes;
    TN_TRY(interp_type(p, t, n, dim, &bytes));
    if (v->kind == VALUE_TENSOR && v->t.n == bytes && tn_dtype_eq(v->t.dtype, t->dtype))
        return TN_OK;
    return tn_error(p->g->ctx, "relay-E209", interp_where(n),
                    "an operand of %s does not have the size of its type", n->op->name);
}

static void add_symbols(interp *p, tn_func *f)
{
    for (uint32_t i = 0; i < p->g->n_symbol; i++) {
        const tn_symbol_info *s = &p->g->symbol[i];
        int64_t v;
        if (interp_symbol(p, s->name, &v))
            tn_func_add_symbol(f, s->name, s->min, s->max);
    }
}

static tn_status run_func(interp *p, const tn_node *n, const tn_func *f, void *const arg[])
{
    int64_t *sym = TN_NEW_N(&p->scratch, int64_t, f->n_symbol);
    for (uint32_t i = 0; i < f->n_symbol; i++) {
        if (!interp_symbol(p, f->symbol[i].name, &sym[i])) {
            return tn_error(p->g->ctx, "relay-E205", interp_where(n),
                            "the dimension %s has no value here: a symbol is unbound, or the result is "
                            "negative or too large",
                            f->symbol[i].name);
        }
    }
    return p->eval(f, arg, sym, p->user);
}

/* By the operator's tensor expression, alone. in: nin values, NULL where absent. */
static tn_status eval_compute(interp *p, tn_node *n, value *const in[], value *out[])
{
    tn_arena_reset(&p->scratch);
    tn_te te;
    tn_te_init(&te, p->g->ctx, &p->scratch, p->g->pool, "node");
    te.source = n->loc && n->loc->node ? n->loc->node : "";
    add_symbols(p, te.func);
    tn_tensor **t_in = TN_NEW_N(&p->scratch, tn_tensor *, n->nin),
              **t_out = TN_NEW_N(&p->scratch, tn_tensor *, n->nout);
    const tn_layout **layout = TN_NEW_N(&p->scratch, const tn_layout *, n->nout);
    void **arg = TN_NEW_N(&p->scratch, void *, n->nin + n->nout);
    int n_arg = 0;
    for (int i = 0; i < n->nin; i++) {
        if (in[i]) {
            TN_TRY(check_size(p, n, tn_in_type(n, i), in[i]));
            t_in[i] = tn_te_input(&te, tn_arena_printf(&p->scratch, "in%d", i), tn_in_type(n, i));
            arg[n_arg++] = in[i]->t.at;
        }
    }
    for (int k = 0; k < n->nout; k++) {
        TN_TRY(value_make_tensor(p, n->type[k], n, &out[k]));
        tn_relay_fill(n->type[k]->dtype, n->type[k]->layout, out[k]->t.at, out[k]->t.n);
        layout[k] = n->type[k]->layout;
        arg[n_arg++] = out[k]->t.at;
    }
    TN_TRY(tn_define_node(&te, p->g, n, t_in, t_out));
    const tn_func *f = tn_te_finish(&te, n->nout, t_out, layout);
    TN_ASSERT(f->n_param == (uint32_t)n_arg);
    return run_func(p, n, f, arg);
}

/* The same value in the layout of type `to`. Takes over *v. */
static tn_status change_layout(interp *p, const tn_node *n, const tn_type *from, const tn_type *to, value **v)
{
    if (from->layout == to->layout)
        return TN_OK;
    TN_TRY(check_size(p, n, from, *v));
    value *r = value_new(VALUE_TENSOR);
    if (!r)
        return interp_no_memory(p, n);
    if (tn_relay_relayout(p->g->ctx, &(*v)->t, from->layout, to->layout, &r->t) != TN_OK) {
        value_release(r);
        return TN_FAIL;
    }
    value_release(*v);
    *v = r;
    return TN_OK;
}

/* A transpose is its operand in the layout of the permuted dimensions, read as row-major: moved directly, as weights
 * are large. */
static tn_status transpose(interp *p, const tn_node *n, const value *in, value **out)
{
    const tn_ints *axes = &((const tn_transpose_attr *)n->attr)->axes;
    char text[2 * TN_RELAY_MAX_RANK + 2] = "";
    const tn_layout *l = NULL;
    value *r = value_new(VALUE_TENSOR);
    uint32_t rank = axes->n;
    for (uint32_t i = 0; i < rank; i++) {
        text[i] = (char)('A' + i);
        text[rank + 1 + i] = (char)('A' + axes->at[i]);
    }
    text[rank] = ':';
    if (!r)
        return interp_no_memory(p, n);
    if (tn_layout_parse(p->g->ctx, text, n->loc, &l) != TN_OK ||
        tn_relay_relayout(p->g->ctx, &in->t, NULL, l, &r->t) != TN_OK) {
        value_release(r);
        return TN_FAIL;
    }
    for (uint32_t i = 0; i < rank; i++)
        r->t.dim[i] = in->t.dim[axes->at[i]];
    *out = r;
    return TN_OK;
}

/* The same bytes as a value of another type. */
static tn_status view(interp *p, const tn_node *n, const value *in, value **out)
{
    TN_TRY(check_size(p, n, tn_in_type(n, 0), in));
    TN_TRY(value_make_tensor(p, n->type[0], n, out));
    TN_ASSERT((*out)->t.n == in->t.n);
    if (in->t.n)
        memcpy((*out)->t.at, in->t.at, in->t.n);
    return TN_OK;
}

/* A graph of the node alone: its inputs are parameters (constants stay constants), its expansion the body. */
static tn_status expand_alone(interp *p, tn_node *n, tn_graph *sg, tn_region **out_body)
{
    for (uint32_t i = 0; i < p->g->n_symbol; i++) {
        tn_symbol_info *s = tn_graph_symbol(sg, p->g->symbol[i].name);
        *s = p->g->symbol[i];
    }
    tn_region *body = tn_graph_add_function(sg, "main")->body;
    tn_value *in = TN_NEW_N(sg->arena, tn_value, n->nin), *out = TN_NEW_N(sg->arena, tn_value, n->nout);
    for (int i = 0; i < n->nin; i++) {
        const tn_node *d = n->in[i].def;
        if (d && !tn_op_is(d, &tn_op_constant))
            in[i] = tn_val(tn_region_add_param(sg, body, NULL, tn_in_type(n, i)));
    }
    for (int i = 0; i < n->nin; i++) {
        const tn_node *d = n->in[i].def;
        if (d && tn_op_is(d, &tn_op_constant))
            in[i] = tn_val(tn_constant_new(sg, body, NULL, d->type[0], d->blob, d->name));
    }
    tn_node *copy = tn_node_new(sg, body, NULL, n->op, n->nin, in, n->nout, n->attr, n->loc);
    memcpy(copy->type, n->type, n->nout * sizeof *n->type);
    TN_TRY(n->op->expand(sg, copy, out));
    tn_region_set_results(sg, body, n->nout, out);
    tn_node_remove(sg, copy);
    *out_body = body;
    return TN_OK;
}

static void interp_init(interp *p, tn_graph *g, tn_eval_fn *eval, void *user)
{
    *p = (interp){.g = g, .eval = eval ? eval : tn_eval_interp, .user = user};
    tn_arena_init(&p->scratch);
}

static void interp_deinit(interp *p)
{
    interp_frame_deinit(&p->f);
    tn_arena_deinit(&p->scratch);
}

static tn_status eval_expanded(interp *p, tn_node *n, value *const in[], value *out[])
{
    tn_arena arena;
    tn_graph sg;
    interp sub;
    tn_region *body = NULL;
    tn_arena_init(&arena);
    tn_graph_init(&sg, p->g->ctx, &arena, p->g->pool);
    interp_init(&sub, &sg, p->eval, p->user);
    sub.depth = p->depth + 1;
    for (size_t i = 0; i < p->f.sym.n; i++)
        tn_vec_push(&sub.f.sym, p->f.sym.at[i]);
    tn_status s =
        sub.depth > INTERP_MAX_DEPTH
            ? tn_error(p->g->ctx, "relay-E207", interp_where(n),
                       "calls, branches or expansions are nested more than %d deep", INTERP_MAX_DEPTH)
            : expand_alone(p, n, &sg, &body);
    if (s == TN_OK) {
        value **arg = TN_NEW_N(&arena, value *, n->nin);
        uint32_t n_arg = 0;
        for (int i = 0; i < n->nin; i++)
            if (in[i] && !tn_op_is(n->in[i].def, &tn_op_constant))
                arg[n_arg++] = in[i];
        s = interp_region(&sub, body, arg, out);
    }
    for (int k = 0; k < n->nout && s == TN_OK; k++) {
        const tn_type *made = tn_value_type((tn_value){body->result[k].def, body->result[k].out});
        s = change_layout(p, n, made, n->type[k], &out[k]);
    }
    interp_deinit(&sub);
    tn_graph_deinit(&sg);
    tn_arena_deinit(&arena);
    return s;
}

/* ---- nodes and regions ---- */

static tn_status eval_with(interp *p, tn_node *n, value *in[], value *out[])
{
    if (tn_op_is(n, &tn_op_call))
        return interp_call(p, n, in, out);
    if (tn_op_is(n, &tn_op_tuple)) {
        for (int i = 0; i < n->nin; i++)
            value_retain(in[i]);
        return value_make_tuple(p, n, n->nin, in, &out[0]);
    }
    if (tn_op_is(n, &tn_op_self)) {
        out[0] = value_retain((value *)p->f.self);
        return TN_OK;
    }
    if (tn_op_is(n, &tn_op_tuple_get)) {
        int64_t k = ((const tn_tuple_get_attr *)n->attr)->index;
        TN_ASSERT(in[0]->kind == VALUE_TUPLE && k >= 0 && k < in[0]->n);
        out[0] = value_retain(in[0]->field[k]);
        return TN_OK;
    }
    if (tn_op_is(n, &tn_op_construct)) {
        for (int i = 0; i < n->nin; i++)
            value_retain(in[i]);
        TN_TRY(value_make_tuple(p, n, n->nin, in, &out[0]));
        out[0]->kind = VALUE_DATA;
        out[0]->tag = tn_graph_constructor(p->g, ((const tn_construct_attr *)n->attr)->name)->tag;
        return TN_OK;
    }
    if (tn_op_is(n, &tn_op_if))
        return interp_if(p, n, in, out);
    if (tn_op_is(n, &tn_op_match))
        return interp_match(p, n, in, out);
    if (tn_op_is(n, &tn_op_loop))
        return interp_loop(p, n, in, out);
    if (tn_op_is(n, &tn_op_bind_extent))
        return interp_bind_extent(p, n, in[0], &out[0]);
    if (tn_op_is(n, &tn_op_ref) || tn_op_is(n, &tn_op_ref_read) || tn_op_is(n, &tn_op_ref_write))
        return interp_ref(p, n, in, &out[0]);
    if (tn_op_is(n, &tn_op_unbox))
        return interp_unbox(p, n, in[0], &out[0]);
    if (tn_op_is(n, &tn_op_match_shape))
        return interp_match_shape(p, n, in[0], &out[0]);
    if (tn_op_is(n, &tn_op_fail)) {
        return tn_error(p->g->ctx, "relay-E211", interp_where(n), "%s",
                        ((const tn_fail_attr *)n->attr)->message);
    }
    if (n->op->host || tn_op_is(n, &tn_op_seq_of) || tn_op_is(n, &tn_op_opt_none) ||
        tn_op_is(n, &tn_op_opt_some) || tn_op_is(n, &tn_op_opt_get))
        return interp_host(p, n, in, out);
    if (n->op->flags & TN_OP_VIEW)
        return view(p, n, in[0], &out[0]);
    if (tn_op_is(n, &tn_op_relayout)) {
        out[0] = value_retain(in[0]);
        return change_layout(p, n, tn_in_type(n, 0), n->type[0], &out[0]);
    }
    if (tn_op_is(n, &tn_op_transpose) && n->type[0]->n > 1 && n->type[0]->n <= TN_RELAY_MAX_RANK &&
        !n->type[0]->layout && !tn_in_type(n, 0)->layout) {
        return transpose(p, n, in[0], &out[0]);
    }
    return n->op->expand ? eval_expanded(p, n, in, out) : eval_compute(p, n, in, out);
}

/* out: nout references, or none after TN_FAIL. */
static tn_status eval_node(interp *p, tn_node *n, value *out[])
{
    value **in = tn_alloc_array_try((size_t)n->nin + 1, sizeof *in);
    tn_status s = in ? TN_OK : interp_no_memory(p, n);
    for (int i = 0; i < n->nin && s == TN_OK; i++)
        if (n->in[i].def)
            s = read_use(p, &n->in[i], n, &in[i]);
    s = s == TN_OK ? eval_with(p, n, in, out) : s;
    for (int i = 0; i < n->nin && in; i++)
        value_release(in[i]);
    tn_free(in);
    for (int k = 0; k < n->nout && s != TN_OK; k++) {
        value_release(out[k]);
        out[k] = NULL;
    }
    return s;
}

static tn_status eval_lines(interp *p, tn_region *r)
{
    for (tn_node *n = r->first; n; n = n->next) {
        if (tn_op_is(n, &tn_op_var) || tn_op_is(n, &tn_op_constant) || tn_op_is(n, &tn_op_fn) ||
            tn_op_is(n, &tn_op_global))
            continue;
        value **out = tn_alloc_array_try((size_t)n->nout + 1, sizeof *out);
        tn_status s = out ? eval_node(p, n, out) : interp_no_memory(p, n);
        for (int k = 0; k < n->nout && s == TN_OK; k++)
            store(p, n, (uint32_t)k, out[k]);
        tn_free(out);
        TN_TRY(s);
        for (int i = 0; i < n->nin; i++)
            drop_use(p, &n->in[i], r);
    }
    return TN_OK;
}

tn_status interp_region(interp *p, tn_region *r, value *const arg[], value *out[])
{
    size_t n_sym = p->f.sym.n;
    tn_status s = interp_bind_params(p, r, arg);
    if (s != TN_OK) {
        p->f.sym.n = n_sym;
        return s;
    }
    open_slots(p, r);
    for (uint32_t i = 0; i < r->n_param; i++)
        store(p, r->param[i], 0, value_retain(arg[i]));
    s = eval_lines(p, r);
    for (uint32_t i = 0; i < r->n_result && s == TN_OK; i++)
        s = read_use(p, &r->result[i], r->holder, &out[i]);
    for (uint32_t i = 0; i < r->n_result && s != TN_OK; i++) {
        value_release(out[i]);
        out[i] = NULL;
    }
    close_slots(p, r);
    p->f.sym.n = n_sym;
    return s;
}

/* ---- entry points ---- */

tn_status tn_eval_interp(const tn_func *f, void *const arg[], const int64_t sym[], void *user)
{
    (void)user;
    return tn_func_run(f, arg, sym);
}

/* The tensor of v as the caller's own. */
static tn_status take_tensor(interp *p, const value *v, const tn_node *n, tn_tensor_value *out)
{
    *out = v->t;
    out->borrowed = false;
    out->at = tn_tensor_value_memory(v->t.n);
    if (!out->at) {
        *out = (tn_tensor_value){0};
        return interp_no_memory(p, n);
    }
    memcpy(out->at, v->t.at, v->t.n);
    return TN_OK;
}

/* Tensors of v in order, tuples taken apart; *at counts them. */
static tn_status flatten(interp *p, value *v, int n_out, tn_tensor_value out[], int *at)
{
    if (v->kind == VALUE_TUPLE) {
        for (uint32_t i = 0; i < v->n; i++) /* depth: that of types */
            TN_TRY(flatten(p, v->field[i], n_out, out, at));
        return TN_OK;
    }
    if (v->kind != VALUE_TENSOR) {
        return tn_error(p->g->ctx, "relay-E206", NULL,
                        "a result of @main is a %s; only tensors can be returned",
                        v->kind == VALUE_REF    ? "reference"
                        : v->kind == VALUE_DATA ? "value of a data type"
                                                : "function");
    }
    int k = (*at)++;
    if (k >= n_out)
        return TN_OK; /* counted by the caller */
    if (v->refs == 1 && !v->t.borrowed) {
        out[k] = v->t;
        v->t.borrowed = true;
        return TN_OK;
    }
    return take_tensor(p, v, NULL, &out[k]);
}

static tn_status eval_main(interp *p, tn_region *r, const tn_tensor_value in[], value *arg[], value *res[])
{
    tn_status s = TN_OK;
    for (uint32_t i = 0; i < r->n_param && s == TN_OK; i++) {
        arg[i] = value_new(VALUE_TENSOR);
        s = arg[i] ? TN_OK : interp_no_memory(p, NULL);
        if (s == TN_OK) {
            arg[i]->t = in[i];
            s = value_borrow(p, r->param[i], in[i].at, arg[i]);
        }
    }
    return s == TN_OK ? interp_region(p, r, arg, res) : s;
}

static tn_status run_main(interp *p, tn_region *r, const tn_tensor_value in[], int n_out,
                          tn_tensor_value out[])
{
    size_t n_value = (size_t)r->n_param + r->n_result;
    value **arg = tn_alloc_array_try(n_value + 1, sizeof *arg);
    if (!arg)
        return interp_no_memory(p, NULL);
    value **res = arg + r->n_param;
    tn_status s = eval_main(p, r, in, arg, res);
    for (uint32_t i = 0; i < r->n_param; i++)
        value_release(arg[i]);
    int n = 0;
    for (uint32_t i = 0; i < r->n_result && s == TN_OK; i++)
        s = flatten(p, res[i], n_out, out, &n);
    for (uint32_t i = 0; i < r->n_result; i++)
        value_release(res[i]);
    tn_free(arg);
    if (s == TN_OK && n != n_out)
        s = tn_error(p->g->ctx, "relay-E201", NULL, "@main has %d results, but %d are requested", n, n_out);
    return s;
}

tn_status tn_relay_run(tn_graph *g, int n_in, const tn_tensor_value in[], int n_out, tn_tensor_value out[],
                       tn_eval_fn *eval, void *eval_user)
{
    interp p;
    tn_function *f = tn_graph_function(g, "main");
    memset(out, 0, (size_t)n_out * sizeof *out);
    if (!f)
        return tn_error(g->ctx, "relay-E200", NULL,
                        "there is no function @main; call the function to run so");
    if (f->body->n_param != (uint32_t)n_in) {
        return tn_error(g->ctx, "relay-E201", NULL, "@main takes %u inputs, but %d are given",
                        f->body->n_param, n_in);
    }
    interp_init(&p, g, eval, eval_user);
    bool done = false;
    tn_status s = interp_empty(&p, f->body, in, n_out, out, &done);
    s = s == TN_OK && !done ? run_main(&p, f->body, in, n_out, out) : s;
    interp_deinit(&p);
    for (int i = 0; i < n_out && s != TN_OK; i++)
        tn_tensor_value_deinit(&out[i]);
    return s;
}

tn_status tn_relay_eval_node(tn_graph *g, tn_node *n, tn_tensor_value out[], tn_eval_fn *eval,
                             void *eval_user)
{
    interp p;
    interp_init(&p, g, eval, eval_user);
    value **kept = tn_alloc_array_try((size_t)n->nout + 1, sizeof *kept);
    memset(out, 0, n->nout * sizeof *out);
    tn_status s = kept ? eval_node(&p, n, kept) : interp_no_memory(&p, n);
    for (int k = 0; k < n->nout && s == TN_OK; k++) {
        int at = 0;
        s = kept[k]->kind == VALUE_TENSOR ? flatten(&p, kept[k], 1, &out[k], &at)
                                          : tn_error(g->ctx, "relay-E206", interp_where(n),
                                                     "only tensors can be evaluated, not %s", n->op->name);
    }
    for (int k = 0; k < n->nout && kept; k++) {
        value_release(kept[k]);
        if (s != TN_OK)
            tn_tensor_value_deinit(&out[k]);
    }
    tn_free(kept);
    interp_deinit(&p);
    return s;
}
