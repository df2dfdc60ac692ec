/* The interpreter's calls and control flow: closures, branches, loops, extents that the run finds out. */
#include "relay/interp.h"

#include "ir/eval.h"
#include "op/control/control.h"

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

tn_status interp_call(interp *p, tn_node *n, value *const in[], value *out[])
{
    tn_region *r = in[0]->kind == VALUE_CLOSURE ? in[0]->fn->region[0] : NULL;
    if (!r || r->n_param != (uint32_t)(n->nin - 1)) {
        return tn_error(p->g->ctx, "relay-E209", interp_where(n),
                        "the first operand of a call is not a function with that number of parameters");
    }
    for (size_t i = 0; i < p->active.n; i++) {
        if (p->active.at[i] == r) {
            return tn_error(p->g->ctx, "relay-E210", interp_where(n),
                            "a closure calls itself; recursion is not supported yet");
        }
    }
    if (p->depth >= INTERP_MAX_DEPTH) {
        return tn_error(p->g->ctx, "relay-E207", interp_where(n),
                        "calls or expansions are nested more than %d deep", INTERP_MAX_DEPTH);
    }
    value **res = tn_alloc_array_try(r->n_result + 1, sizeof *res);
    if (!res)
        return interp_no_memory(p, n);
    p->depth++;
    tn_vec_push(&p->active, r);
    tn_status s = interp_region(p, r, in + 1, res);
    p->active.n--;
    p->depth--;
    s = s == TN_OK ? spread(p, n, r->n_result, res, out) : s;
    tn_free(res);
    return s;
}

/* ---- control flow ---- */

static void give_symbol(interp *p, const tn_expr *e, int64_t v)
{
    tn_vec_push(&p->sym, ((binding){e->u.s, v}));
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

tn_status interp_if(interp *p, tn_node *n, value *const in[], value *out[])
{
    tn_region *r = n->region[*(const unsigned char *)in[0]->t.at ? 0 : 1];
    value **res = tn_alloc_array_try((size_t)r->n_result + 1, sizeof *res);
    if (!res)
        return interp_no_memory(p, n);
    tn_status s = p->depth < INTERP_MAX_DEPTH
                      ? TN_OK
                      : tn_error(p->g->ctx, "relay-E207", interp_where(n),
                                 "calls or expansions are nested more than %d deep", INTERP_MAX_DEPTH);
    p->depth++;
    s = s == TN_OK ? interp_region(p, r, NULL, res) : s;
    p->depth--;
    if (s == TN_OK) {
        TN_ASSERT(r->n_result == n->nout);
        memcpy(out, res, n->nout * sizeof *res);
        bind_results(p, n, out);
    }
    tn_free(res);
    return s;
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

/* An extent that its type does not know is a symbol, or checked. */
tn_status interp_unbox(interp *p, const tn_node *n, value *in, value **out)
{
    const tn_dims *e = &((const tn_unbox_attr *)n->attr)->extent;
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
