/* The interpreter's calls and control flow: closures, branches, loops, extents that the run finds out. */
#include "relay/interp.h"

#include "ir/eval.h"
#include "op/control/control.h"
#include "op/core/core.h"
#include "op/host/host.h"

#include <string.h>

/* ---- calls ---- */

/* What a call's outputs are, from what the region returned. Takes over the references. */
static tn_status spread(interp *p, const tn_node *n, uint32_t n_res, value *res[], value *out[])
{
    if (n_res == n->nout) {
        memcpy(out, n_res ? (const void *)res : out, n_res * sizeof *res);
        return TN_OK;
    }
    if (n->nout == 1)
        return value_make_tuple(p, n, n_res, res, &out[0]);
    value *t = n_res == 1 ? res[0] : NULL;
    bool ok = t && t->kind == VALUE_TUPLE && t->n == n->nout;
    for (int k = 0; k < n->nout && ok; k++)
        out[k] = value_retain(t->field[k]);
    for (uint32_t i = 0; i < n_res; i++)
        value_release(res[i]);
    return ok ? TN_OK
              : tn_error(p->g->ctx, "relay-E209", interp_where(n),
                         "a call expects %d results, but the function returns another number", n->nout);
}

/* ---- closures ---- */

typedef tn_vec(tn_value) free_values;

static bool is_in(const tn_region *r, const tn_region *of)
{
    while (r && r != of)
        r = r->holder ? r->holder->owner : NULL;
    return r == of;
}

static void add_free(free_values *f, const tn_use *u, const tn_region *of)
{
    bool own = !u->def || tn_op_is(u->def, &tn_op_constant) || tn_op_is(u->def, &tn_op_global) ||
               is_in(u->def->owner, of);
    for (size_t i = 0; i < f->n && !own; i++)
        own = f->at[i].def == u->def && f->at[i].out == u->out;
    if (!own)
        tn_vec_push(f, ((tn_value){u->def, u->out}));
}

/* Values from around region `of` that r, a region in it, uses. Depth: bounded by the readers. */
static void find_free(free_values *f, const tn_region *r, const tn_region *of)
{
    for (const tn_node *n = r->first; n; n = n->next) {
        for (int i = 0; i < n->nin; i++)
            add_free(f, &n->in[i], of);
        for (int i = 0; i < n->nregion; i++)
            find_free(f, n->region[i], of);
    }
    for (uint32_t i = 0; i < r->n_result; i++)
        add_free(f, &r->result[i], of);
}

static void *copy_of(const void *at, size_t bytes)
{
    void *to = tn_alloc_array_try(bytes + 1, 1);
    if (to && bytes)
        memcpy(to, at, bytes);
    return to;
}

/* What is around an `fn` stays as it is where the closure is made: values and symbols. */
tn_status interp_closure(interp *p, tn_node *fn, value **out)
{
    value *v = *out = value_new(VALUE_CLOSURE);
    free_values f = {0};
    tn_status s = v ? TN_OK : interp_no_memory(p, fn);
    if (v && tn_op_is(fn, &tn_op_global)) {
        v->body = tn_graph_function(p->g, ((const tn_global_attr *)fn->attr)->name)->body;
        return TN_OK;
    }
    if (s == TN_OK) {
        v->body = fn->region[0];
        find_free(&f, v->body, v->body);
        v->field = tn_alloc_array_try(f.n + 1, sizeof *v->field);
        v->captured = copy_of(f.at, f.n * sizeof *f.at);
        v->sym = copy_of(p->f.sym.at, p->f.sym.n * sizeof *p->f.sym.at);
        v->n_sym = p->f.sym.n;
        s = v->field && v->captured && v->sym ? TN_OK : interp_no_memory(p, fn);
    }
    for (size_t i = 0; i < f.n && s == TN_OK; i++) {
        s = interp_value(p, f.at[i].def, f.at[i].out, fn, &v->field[i]);
        v->n += s == TN_OK;
    }
    tn_vec_deinit(&f);
    if (s != TN_OK) {
        value_release(v);
        *out = NULL;
    }
    return s;
}

/* The body in a frame of its own, which holds what the closure does. */
static tn_status run_closure(interp *p, const value *c, value *const arg[], value *res[])
{
    struct interp_frame caller = p->f;
    p->f = (struct interp_frame){.self = c};
    for (size_t i = 0; i < c->n_sym; i++)
        tn_vec_push(&p->f.sym, c->sym[i]);
    for (uint32_t i = 0; i < c->n; i++)
        interp_define(p, c->captured[i].def, c->captured[i].out, c->field[i]);
    tn_status s = interp_region(p, c->body, arg, res);
    interp_frame_deinit(&p->f);
    p->f = caller;
    return s;
}

tn_status interp_enter(interp *p, const tn_node *n)
{
    if (p->depth < INTERP_MAX_DEPTH) {
        p->depth++;
        return TN_OK;
    }
    return tn_error(p->g->ctx, "relay-E207", interp_where(n),
                    "calls, branches or expansions are nested more than %d deep", INTERP_MAX_DEPTH);
}

tn_status interp_call(interp *p, tn_node *n, value *const in[], value *out[])
{
    tn_region *r = in[0]->kind == VALUE_CLOSURE ? in[0]->body : NULL;
    if (!r || r->n_param != (uint32_t)(n->nin - 1)) {
        return tn_error(p->g->ctx, "relay-E209", interp_where(n),
                        "the first operand of a call is not a function with that number of parameters");
    }
    value **res = tn_alloc_array_try(r->n_result + 1, sizeof *res);
    if (!res)
        return interp_no_memory(p, n);
    tn_status s = interp_enter(p, n);
    if (s == TN_OK) {
        s = run_closure(p, in[0], in + 1, res);
        p->depth--;
    }
    s = s == TN_OK ? spread(p, n, r->n_result, res, out) : s;
    tn_free(res);
    return s;
}

/* ---- control flow ---- */

static void give_symbol(interp *p, const tn_expr *e, int64_t v)
{
    tn_vec_push(&p->f.sym, ((binding){e->u.s, v}));
}

/* Symbols in the types of results take the extents of the values. */
static void bind_results(interp *p, const tn_node *n, value *const out[])
{
    for (int k = 0; k < n->nout; k++) {
        const tn_type *t = n->type[k];
        for (int d = 0; !tn_type_is_handle(t) && d < t->n; d++)
            if (t->dim[d]->kind == TN_E_SYM)
                give_symbol(p, t->dim[d], out[k]->t.dim[d]);
    }
}

/* The results of one region of n. */
static tn_status branch(interp *p, tn_node *n, tn_region *r, value *const arg[], value *out[])
{
    value **res = tn_alloc_array_try((size_t)r->n_result + 1, sizeof *res);
    if (!res)
        return interp_no_memory(p, n);
    tn_status s = interp_enter(p, n);
    if (s == TN_OK) {
        s = interp_region(p, r, arg, res);
        p->depth--;
    }
    if (s == TN_OK) {
        TN_ASSERT(r->n_result == n->nout);
        memcpy(out, res, n->nout * sizeof *res);
    }
    tn_free(res);
    return s;
}

tn_status interp_if(interp *p, tn_node *n, value *const in[], value *out[])
{
    TN_TRY(branch(p, n, n->region[*(const unsigned char *)in[0]->t.at ? 0 : 1], NULL, out));
    bind_results(p, n, out);
    return TN_OK;
}

tn_status interp_match(interp *p, tn_node *n, value *const in[], value *out[])
{
    TN_ASSERT(in[0]->kind == VALUE_DATA && in[0]->tag < n->nregion);
    return branch(p, n, n->region[in[0]->tag], in[0]->field, out);
}

static tn_status number_value(interp *p, const tn_node *n, int64_t i, value **out)
{
    value *v = *out = value_new(VALUE_TENSOR);
    if (!v || !(v->t.at = tn_tensor_value_memory(sizeof i)))
        return interp_no_memory(p, n);
    v->t.dtype = TN_I64;
    v->t.n = sizeof i;
    memcpy(v->t.at, &i, sizeof i);
    return TN_OK;
}

/* A new symbol takes the value; anything else must equal it. */
static tn_status bind_or_check(interp *p, const tn_node *n, const tn_expr *e, int64_t v, const char *says)
{
    int64_t want;
    if (e->kind == TN_E_SYM && !interp_symbol(p, e->u.s, &want))
        return interp_bind(p, e->u.s, v, n);
    TN_TRY(interp_dim(p, e, n, &want));
    return v == want
               ? TN_OK
               : tn_error(p->g->ctx, "relay-E203", interp_where(n), "an extent is %lld, but must be %lld%s%s",
                          (long long)v, (long long)want, says ? ": " : "", says ? says : "");
}

/* Symbols take the elements; whatever else stands there must equal them. */
tn_status interp_bind_extent(interp *p, const tn_node *n, value *in, value **out)
{
    const tn_bind_extent_attr *a = n->attr;
    tn_dtype t = in->t.dtype;
    *out = value_retain(in);
    for (uint32_t i = 0; i < a->extent.n; i++) {
        int64_t v = tn_scalar_read(t, (const char *)in->t.at + (size_t)i * tn_dtype_bytes(t)).i;
        TN_TRY(bind_or_check(p, n, a->extent.at[i], v, a->says));
    }
    return TN_OK;
}

/* ---- loops ---- */

typedef tn_vec(value *) values;

/* One iteration: arg (number, then carried values) is replaced by what goes on; what is collected goes to rows. */
static tn_status eval_iteration(interp *p, tn_node *n, int64_t i, value *arg[], values *rows, bool *go)
{
    tn_region *r = n->region[0];
    uint32_t n_carried = r->n_param - 1;
    value **res = tn_alloc_array_try((size_t)r->n_result + 1, sizeof *res);
    tn_status s = res ? number_value(p, n, i, &arg[0]) : interp_no_memory(p, n);
    s = s == TN_OK ? interp_region(p, r, arg, res) : s;
    value_release(arg[0]);
    arg[0] = NULL;
    for (uint32_t k = 0; k < n_carried && s == TN_OK; k++) {
        value_release(arg[k + 1]);
        arg[k + 1] = value_retain(res[k + 1]);
    }
    for (uint32_t k = n_carried; k + 1 < r->n_result && s == TN_OK; k++)
        tn_vec_push(rows, value_retain(res[k + 1]));
    *go = s == TN_OK && *(const unsigned char *)res[0]->t.at;
    for (uint32_t k = 0; res && k < r->n_result; k++)
        value_release(res[k]);
    tn_free(res);
    return s;
}

/* Row i of a collected result, which all have the shape of the first. */
static tn_status store_row(interp *p, const tn_node *n, const value *row, int64_t i, value *to)
{
    const tn_tensor_value *t = &row->t;
    for (int d = 0; d < t->ndim; d++)
        if (t->dim[d] != to->t.dim[d + 1])
            return tn_error(p->g->ctx, "relay-E203", interp_where(n),
                            "dimension %d of a collected value is %lld in one iteration and %lld in another",
                            d, (long long)to->t.dim[d + 1], (long long)t->dim[d]);
    if (t->n)
        memcpy((char *)to->t.at + (size_t)i * t->n, t->at, t->n);
    return TN_OK;
}

/* The collected results of `count` iterations. Their extents are bound to symbols, or must be what is known of them;
 * those of no rows at all are 0. */
static tn_status stack_rows(interp *p, tn_node *n, const values *rows, int64_t count, value *out[])
{
    tn_dims e = ((const tn_loop_attr *)n->attr)->collect;
    uint32_t first = n->region[0]->n_param - 1, n_row = n->nout - first, at = 0;
    int64_t want;
    if (n_row && (e.at[0]->kind != TN_E_SYM || interp_symbol(p, e.at[0]->u.s, &want))) {
        TN_TRY(interp_dim(p, e.at[0], n, &want));
        if (want != count)
            return tn_error(p->g->ctx, "relay-E212", interp_where(n),
                            "the loop ends after %lld iterations, but its count is %lld", (long long)count,
                            (long long)want);
    }
    for (uint32_t k = 0; k < n_row; k++) {
        const tn_type *t = n->type[first + k];
        for (int d = 0; d < t->n; d++, at++) {
            bool known = e.at[at]->kind != TN_E_SYM || interp_symbol(p, e.at[at]->u.s, &want);
            if (count || !known || d == 0)
                TN_TRY(bind_or_check(p, n, e.at[at],
                                     d == 0  ? count
                                     : count ? rows->at[k]->t.dim[d - 1]
                                             : 0,
                                     NULL));
        }
        TN_TRY(value_make_tensor(p, t, n, &out[first + k]));
        for (int64_t i = 0; i < count; i++)
            TN_TRY(store_row(p, n, rows->at[(size_t)i * n_row + k], i, out[first + k]));
    }
    return TN_OK;
}

tn_status interp_loop(interp *p, tn_node *n, value *const in[], value *out[])
{
    uint32_t n_carried = n->region[0]->n_param - 1;
    int64_t trip = *(const int64_t *)in[0]->t.at, i = 0;
    bool go = *(const unsigned char *)in[1]->t.at;
    value **arg = tn_alloc_array_try(n_carried + 1u, sizeof *arg);
    tn_status s = arg ? TN_OK : interp_no_memory(p, n);
    values rows = {0};
    for (uint32_t k = 0; k < n_carried && arg; k++)
        arg[k + 1] = value_retain(in[k + 2]);
    for (; s == TN_OK && go && i < trip; i++)
        s = eval_iteration(p, n, i, arg, &rows, &go);
    s = s == TN_OK ? stack_rows(p, n, &rows, i, out) : s;
    for (uint32_t k = 0; k < n_carried && arg; k++) {
        out[k] = s == TN_OK ? value_retain(arg[k + 1]) : NULL;
        value_release(arg[k + 1]);
    }
    for (size_t k = 0; k < rows.n; k++)
        value_release(rows.at[k]);
    tn_vec_deinit(&rows);
    tn_free(arg);
    return s;
}

/* What optional values and sequences are made of and hold; what else there is of them, host functions do. */
tn_status interp_host(interp *p, tn_node *n, value *const in[], value *out[])
{
    if (n->op->host)
        return p->g->call_host ? p->g->call_host(p->g, n, in, out)
                               : tn_error(p->g->ctx, "relay-E082", interp_where(n),
                                          "the host function %s cannot be called here", n->op->host);
    if (tn_op_is(n, &tn_op_opt_get)) {
        if (in[0]->kind != VALUE_DATA || in[0]->tag != 1)
            return tn_error(p->g->ctx, "relay-E211", interp_where(n), "the optional value is empty");
        out[0] = value_retain(in[0]->field[0]);
        return TN_OK;
    }
    for (int i = 0; i < n->nin; i++)
        (void)value_retain(in[i]);
    TN_TRY(value_make_tuple(p, n, n->nin, in, &out[0]));
    out[0]->kind = VALUE_DATA;
    out[0]->tag = tn_op_is(n, &tn_op_opt_some);
    return TN_OK;
}

/* An extent that its type does not know is a symbol, or checked. */
tn_status interp_unbox(interp *p, const tn_node *n, value *in, value **out)
{
    const tn_dims *e = &((const tn_unbox_attr *)n->attr)->extent;
    if (in->t.ndim != n->type[0]->n)
        return tn_error(p->g->ctx, "relay-E203", interp_where(n),
                        "a tensor has %d dimensions, but must have %d", (int)in->t.ndim, (int)n->type[0]->n);
    *out = value_retain(in);
    for (uint32_t d = 0; d < e->n; d++)
        TN_TRY(bind_or_check(p, n, e->at[d], in->t.dim[d], NULL));
    return TN_OK;
}

tn_status interp_match_shape(interp *p, const tn_node *n, value *in, value **out)
{
    const tn_dims e = ((const tn_match_shape_attr *)n->attr)->extents;
    int64_t want = 0;
    for (uint32_t d = 0; d < e.n; d++) {
        TN_TRY(interp_dim(p, e.at[d], n, &want));
        if (in->t.dim[d] != want)
            return tn_error(p->g->ctx, "relay-E203", interp_where(n),
                            "an extent is %lld, but must be %lld (dimension %u)", (long long)in->t.dim[d],
                            (long long)want, (unsigned)d);
    }
    *out = value_retain(in);
    return TN_OK;
}

tn_status interp_ref(interp *p, const tn_node *n, value *const in[], value **out)
{
    if (tn_op_is(n, &tn_op_ref_read)) {
        *out = value_retain(in[0]->field[0]);
        return TN_OK;
    }
    if (tn_op_is(n, &tn_op_ref_write)) {
        value *had = in[0]->field[0];
        in[0]->field[0] = value_retain(in[1]);
        value_release(had);
        return value_make_tuple(p, n, 0, NULL, out);
    }
    value *held = value_retain(in[0]);
    tn_status s = value_make_tuple(p, n, 1, &held, out);
    if (s == TN_OK)
        (*out)->kind = VALUE_REF;
    return s;
}
