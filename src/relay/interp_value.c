/* Values of the interpreter: counted references; and what symbols and dimensions are for the run. */
#include "relay/interp.h"

#include "ir/eval.h"

#include <stdlib.h>
#include <string.h>

const tn_loc *interp_where(const tn_node *n) { return n ? n->loc : NULL; }

/* ---- values ---- */

value *value_retain(value *v)
{
    v->refs++;
    return v;
}

void value_release(value *v)
{
    value *todo = NULL;
    if (!v || --v->refs)
        return;
    v->next = NULL;
    for (todo = v; (v = todo);) { /* a list: chains may be long */
        todo = v->next;
        for (uint32_t i = 0; i < v->n; i++)
            if (v->field[i] && --v->field[i]->refs == 0) {
                v->field[i]->next = todo;
                todo = v->field[i];
            }
        tn_free(v->field);
        tn_free(v->captured);
        tn_free(v->sym);
        tn_tensor_value_deinit(&v->t);
        tn_free(v);
    }
}

value *value_new(enum value_kind kind)
{
    value *v = tn_alloc_array_try(1, sizeof *v);
    if (v) {
        v->refs = 1;
        v->kind = kind;
    }
    return v;
}

tn_status interp_no_memory(interp *p, const tn_node *n)
{
    return tn_error(p->g->ctx, "relay-E208", interp_where(n), "not enough memory for a value");
}

tn_status value_make_tuple(interp *p, const tn_node *at, uint32_t n, value *const field[], value **out)
{
    value *v = value_new(VALUE_TUPLE);
    value **copy = tn_alloc_array_try(n ? n : 1, sizeof *copy);
    if (!v || !copy) {
        for (uint32_t i = 0; i < n; i++)
            value_release(field[i]);
        tn_free(copy);
        value_release(v);
        return interp_no_memory(p, at);
    }
    memcpy(copy, n ? (const void *)field : copy, n * sizeof *copy);
    v->n = n;
    v->field = copy;
    *out = v;
    return TN_OK;
}

/* ---- symbols and dimensions ---- */

bool interp_symbol(const interp *p, const char *name, int64_t *out)
{
    for (size_t i = p->f.sym.n; i-- > 0;) {
        if (!strcmp(p->f.sym.at[i].name, name)) {
            *out = p->f.sym.at[i].value;
            return true;
        }
    }
    return false;
}

typedef struct dim_eval {
    const interp *p;
    tn_map value;
    bool ok;
} dim_eval;

static bool eval_one(const tn_expr *e, void *user)
{
    dim_eval *d = user;
    tn_scalar in[4], r = {.i = 0};
    uint64_t at;
    bool whole = tn_dtype_is_index(e->dtype) || tn_dtype_is_bool(e->dtype);
    d->ok = d->ok && whole && !e->has_load && e->nsrc <= 4;
    for (int i = 0; i < e->nsrc && d->ok; i++) {
        d->ok = tn_map_get(&d->value, tn_map_key(e->src[i]), &at);
        in[i].i = (int64_t)at;
    }
    if (!d->ok)
        return false;
    if (e->kind == TN_E_INT)
        r.i = e->u.i;
    else if (e->kind == TN_E_SYM)
        d->ok = interp_symbol(d->p, e->u.s, &r.i);
    else if (e->kind == TN_E_SELECT)
        r.i = in[0].i ? in[1].i : in[2].i;
    else
        d->ok = e->nsrc && tn_eval_op((enum tn_ek)e->kind, e->dtype, e->u, e->src[0]->dtype, e->nsrc, in, &r);
    tn_map_put(&d->value, tn_map_key(e), (uint64_t)r.i);
    return d->ok;
}

tn_status interp_dim(interp *p, const tn_expr *e, const tn_node *n, int64_t *out)
{
    uint64_t at = 0;
    if (e->kind == TN_E_INT) {
        *out = e->u.i;
        return TN_OK;
    }
    dim_eval d = {.p = p, .ok = true};
    tn_each(e, eval_one, &d);
    bool ok = d.ok && tn_map_get(&d.value, tn_map_key(e), &at) && (int64_t)at >= 0;
    tn_map_deinit(&d.value);
    if (!ok) {
        tn_buf b = {0};
        tn_expr_print(e, NULL, &b);
        tn_status s = tn_error(
            p->g->ctx, "relay-E205", interp_where(n),
            "the dimension %s has no value here: a symbol is unbound, or the result is negative or too large",
            tn_buf_cstr(&b));
        tn_buf_deinit(&b);
        return s;
    }
    *out = (int64_t)at;
    return TN_OK;
}

tn_status interp_type(interp *p, const tn_type *t, const tn_node *n, int64_t dim[], size_t *out_bytes)
{
    if (t->kind != TN_T_TENSOR || t->n > TN_RELAY_MAX_RANK) {
        return tn_error(p->g->ctx, "relay-E206", interp_where(n),
                        "tensors can have at most %d dimensions here", TN_RELAY_MAX_RANK);
    }
    for (int d = 0; d < t->n; d++)
        TN_TRY(interp_dim(p, t->dim[d], n, &dim[d]));
    return tn_relay_bytes(t->dtype, t->n, dim, t->layout, out_bytes)
               ? TN_OK
               : tn_error(p->g->ctx, "relay-E208", interp_where(n), "a value is larger than any memory");
}

tn_status value_make_tensor(interp *p, const tn_type *t, const tn_node *n, value **out)
{
    value *v = value_new(VALUE_TENSOR);
    if (!v)
        return interp_no_memory(p, n);
    tn_status s = interp_type(p, t, n, v->t.dim, &v->t.n);
    if (s == TN_OK) {
        v->t.dtype = t->dtype;
        v->t.ndim = t->n;
        v->t.at = tn_tensor_value_memory(v->t.n);
        s = v->t.at ? TN_OK : interp_no_memory(p, n);
    }
    if (s != TN_OK) {
        value_release(v);
        return s;
    }
    *out = v;
    return TN_OK;
}

tn_status value_borrow(interp *p, const tn_node *n, const void *at, value *v)
{
    v->t.borrowed = at && (uintptr_t)at % 64 == 0;
    v->t.at = v->t.borrowed ? (void *)at : tn_tensor_value_memory(v->t.n);
    if (!v->t.at)
        return interp_no_memory(p, n);
    if (!v->t.borrowed && at && v->t.n)
        memcpy(v->t.at, at, v->t.n);
    return TN_OK;
}

tn_status interp_bind(interp *p, const char *name, int64_t v, const tn_node *at)
{
    for (uint32_t i = 0; i < p->g->n_symbol; i++) {
        const tn_symbol_info *s = &p->g->symbol[i];
        if (!strcmp(s->name, name) && (v < s->min || v > s->max)) {
            return tn_error(p->g->ctx, "relay-E203", interp_where(at),
                            "%s is %lld, outside its range [%lld, %lld]", name, (long long)v,
                            (long long)s->min, (long long)s->max);
        }
    }
    tn_vec_push(&p->f.sym, ((binding){name, v}));
    return TN_OK;
}

static bool bound_since(const interp *p, size_t from, const char *name)
{
    for (size_t i = from; i < p->f.sym.n; i++)
        if (!strcmp(p->f.sym.at[i].name, name))
            return true;
    return false;
}

/* A tensor of any extent tells its shape itself. */
static bool has_shape(const tn_type *t) { return t->kind == TN_T_TENSOR && !tn_type_is_handle(t); }

tn_status interp_check_param(interp *p, const tn_node *v, const value *arg)
{
    const tn_type *t = v->type[0];
    const tn_tensor_value *a = &arg->t;
    const char *name = v->name ? v->name : "";
    int64_t dim[TN_RELAY_MAX_RANK];
    size_t bytes;
    if (arg->kind != VALUE_TENSOR || a->ndim != t->n || !tn_dtype_eq(a->dtype, t->dtype)) {
        return tn_error(p->g->ctx, "relay-E202", interp_where(v),
                        "the value for parameter %s has another rank or dtype", name);
    }
    TN_TRY(interp_type(p, t, v, dim, &bytes));
    for (int d = 0; d < t->n; d++) {
        if (dim[d] != a->dim[d]) {
            return tn_error(p->g->ctx, "relay-E203", interp_where(v),
                            "dimension %d of parameter %s is %lld, but must be %lld", d, name,
                            (long long)a->dim[d], (long long)dim[d]);
        }
    }
    return bytes == a->n ? TN_OK
                         : tn_error(p->g->ctx, "relay-E202", interp_where(v),
                                    "parameter %s needs %zu bytes, but %zu are given", name, bytes, a->n);
}

tn_status interp_bind_params(interp *p, const tn_region *r, value *const arg[])
{
    size_t from = p->f.sym.n;
    for (uint32_t i = 0; i < r->n_param; i++) {
        const tn_type *t = r->param[i]->type[0];
        for (int d = 0; has_shape(t) && d < t->n && arg[i]->kind == VALUE_TENSOR && d < arg[i]->t.ndim; d++)
            if (t->dim[d]->kind == TN_E_SYM && !bound_since(p, from, t->dim[d]->u.s))
                TN_TRY(interp_bind(p, t->dim[d]->u.s, arg[i]->t.dim[d], r->param[i]));
    }
    for (uint32_t i = 0; i < r->n_param; i++)
        if (has_shape(r->param[i]->type[0]))
            TN_TRY(interp_check_param(p, r->param[i], arg[i]));
    return TN_OK;
}
