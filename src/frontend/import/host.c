/* Elements of small integer tensors, and calls whose result is known when the model is read. */
#include "frontend/import/convert.h"

#include "ir/eval.h"
#include "relay/relay.h"

/* ---- elements of small integer tensors ---- */

/* Number of elements, if constant and at most IMP_HOST_MAX; else -1. */
static int64_t small_count(const tn_type *t)
{
    int64_t count = tn_type_is_handle(t) ? -1 : 1, d;
    for (int i = 0; i < t->n && count >= 0; i++) {
        if (!tn_is_int(t->dim[i], &d) || d > IMP_HOST_MAX)
            return -1;
        count *= d;
        if (count > IMP_HOST_MAX)
            return -1;
    }
    return count;
}

static bool countable(tn_dtype t) { return tn_dtype_is_int(t) || tn_dtype_is_bool(t); }

static bool host_of_constant(imp_node *c, const tn_node *n, int64_t count, tn_dims *out)
{
    tn_dtype t = n->type[0]->dtype;
    uint32_t size = tn_dtype_bytes(t);
    if (!n->blob || n->blob->n < (size_t)count * size)
        return false;
    const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        int64_t v = tn_scalar_read(t, (const char *)n->blob->at + (size_t)i * size).i;
        if (v < 0 && t.code == TN_UINT)
            return false;
        e[i] = tn_idx(c->pool, v);
    }
    *out = (tn_dims){(uint32_t)count, e};
    return true;
}

bool imp_host(imp_node *c, tn_value v, tn_dims *out)
{
    const tn_type *t = imp_type(v);
    int64_t count = small_count(t);
    if (!v.def || v.out != 0 || !countable(t->dtype) || count < 0)
        return false;
    if (v.def->id < c->im->host.n && c->im->host.at[v.def->id].at) {
        *out = c->im->host.at[v.def->id];
        return true;
    }
    if (count == 0) {
        static const tn_expr *const nothing[1];
        *out = (tn_dims){0, nothing};
        return true;
    }
    if (!tn_op_is(v.def, &tn_op_constant) || !host_of_constant(c, v.def, count, out))
        return false;
    imp_set_host(c, v, *out);
    return true;
}

void imp_set_host(imp_node *c, tn_value v, tn_dims elements)
{
    if (!v.def || v.out != 0)
        return;
    while (c->im->host.n <= v.def->id)
        tn_vec_push(&c->im->host, ((tn_dims){0}));
    c->im->host.at[v.def->id] = elements;
}

enum { MAX_IN = 256 };

/* The element of which operand of n element *i of its result is; *i becomes its number there. -1: none. The operator
 * says so itself, given elements that are their own numbers. */
static int source_of(imp_node *c, const tn_node *n, int64_t *i)
{
    tn_dims in[MAX_IN] = {0}, out = {0};
    int64_t first[MAX_IN + 1] = {0}, at;
    bool moves = (n->op->flags & (TN_OP_INDEX_MAP | TN_OP_SHARES)) || tn_op_is(n, &tn_op_cast);
    if (!moves || !n->op->shape_value || n->nin > MAX_IN || (n->nin > 1 && !tn_op_is(n, &tn_op_concatenate)))
        return -1;
    for (int k = 0; k < n->nin; k++) {
        int64_t count = countable(tn_in_type(n, k)->dtype) ? small_count(tn_in_type(n, k)) : -1;
        if (count < 0)
            return -1;
        const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, (size_t)count);
        for (int64_t j = 0; j < count; j++)
            e[j] = tn_idx(c->pool, first[k] + j);
        in[k] = (tn_dims){(uint32_t)count, e};
        first[k + 1] = first[k] + count;
    }
    if (!n->op->shape_value(c->g, n, in, &out) || *i >= out.n || !tn_is_int(imp_simplify(c, out.at[*i]), &at))
        return -1;
    int k = 0;
    while (k < n->nin && at >= first[k + 1])
        k++;
    *i = at - first[k];
    return k < n->nin ? k : -1;
}

const tn_expr *imp_element(imp_node *c, tn_value v, int64_t i)
{
    tn_dims d;
    while (v.def) {
        if (imp_host(c, v, &d))
            return i < d.n ? d.at[i] : NULL;
        int k = v.out == 0 ? source_of(c, v.def, &i) : -1;
        if (k < 0)
            return NULL;
        v = tn_in(v.def, k);
    }
    return NULL;
}

static void derive_host(imp_node *c, const tn_node *n)
{
    tn_dims in[MAX_IN] = {0}, out = {0};
    if (!n->op->shape_value || n->nin > MAX_IN || n->nout != 1 || !countable(n->type[0]->dtype))
        return;
    int64_t count = small_count(n->type[0]);
    if (count < 0)
        return;
    for (int i = 0; i < n->nin; i++)
        (void)imp_host(c, tn_in(n, i), &in[i]);
    if (!n->op->shape_value(c->g, n, in, &out) || !out.at || out.n != count)
        return;
    const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, out.n);
    for (uint32_t i = 0; i < out.n; i++)
        e[i] = imp_simplify(c, out.at[i]);
    imp_set_host(c, tn_val((tn_node *)n), (tn_dims){out.n, e});
}

bool imp_host_through(imp_node *c, tn_value v, int *steps)
{
    tn_dims d;
    if (!v.def || imp_host(c, v, &d) || v.out != 0)
        return v.def && v.out == 0;
    if (!v.def->op->shape_value || (*steps)-- <= 0)
        return false;
    for (int i = 0; i < v.def->nin; i++) /* what is not known may not matter */
        (void)imp_host_through(c, tn_in(v.def, i), steps);
    derive_host(c, v.def);
    return imp_host(c, v, &d);
}

/* ---- folding ---- */

static bool all_constant(const tn_node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i].def && !tn_op_is(n->in[i].def, &tn_op_constant))
            return false;
    return n->nin > 0;
}

/* Replaces a call by a constant: of its operand's data, if that stays as it is. Types of constants have no symbols. A
 * reshape that the run refuses to do may have another number of elements. */
static tn_node *fold_reshape(imp_node *c, tn_node *n)
{
    const tn_node *in = n->nin ? n->in[0].def : NULL; /* random numbers have no operands */
    if (!in || !(n->op->flags & (TN_OP_SHARES | TN_OP_VIEW)) || !all_constant(n) || !in->blob ||
        !tn_type_dims_const(n->type[0], NULL) ||
        tn_type_bytes(c->pool, n->type[0]) != tn_type_bytes(c->pool, in->type[0]))
        return n;
    tn_node *k = tn_constant_new(c->g, n->owner, n, n->type[0], in->blob, in->name);
    tn_node_remove(c->g, n);
    return k;
}

/* A few elements computed from constants are constants: indices and bounds that a model works out itself. */
static tn_node *fold_small(imp_node *c, tn_node *n)
{
    tn_tensor_value v = {0};
    int64_t in = 0, dim[IMP_MAX_RANK], count = small_count(n->type[0]);
    for (int i = 0; i < n->nin && in >= 0; i++)
        in = n->in[i].def && small_count(tn_in_type(n, i)) >= 0 ? in : -1;
    if (n->nout != 1 || !all_constant(n) || count < 0 || in < 0 || n->type[0]->n > IMP_MAX_RANK ||
        n->op->fuse == TN_FUSE_NONE || n->op->fuse == TN_FUSE_ANCHOR || n->op->expand ||
        !tn_attr_fixed(n->op->attr, n->attr)) /* windows may be any large */
        return n;
    if (tn_relay_eval_node(c->g, n, &v, tn_eval_interp, NULL) != TN_OK) {
        c->bad = true;
        return n;
    }
    (void)tn_type_dims_const(n->type[0], dim);
    tn_node *k = tn_make_constant(c->g, n->owner, n, n->type[0]->dtype, n->type[0]->n, dim, v.at, NULL);
    tn_tensor_value_deinit(&v);
    tn_node_remove(c->g, n);
    return k;
}

/* A call whose elements turned out to be numbers: shapes of tensors with fixed dimensions. */
static tn_node *known_constant(imp_node *c, tn_node *n)
{
    tn_dims d;
    int64_t v[IMP_HOST_MAX], dim[IMP_MAX_RANK];
    const tn_type *t = n->type[0];
    if (n->nout != 1 || tn_op_is(n, &tn_op_constant) || (n->op->flags & TN_OP_EFFECT) ||
        !imp_host(c, tn_val(n), &d) || t->n > IMP_MAX_RANK || !tn_type_dims_const(t, dim))
        return n;
    uint32_t size = tn_dtype_bytes(t->dtype);
    char *data = tn_arena_alloc(c->arena, (size_t)d.n * size, 8);
    for (uint32_t i = 0; i < d.n; i++) {
        if (!tn_is_int(d.at[i], &v[i]))
            return n;
        tn_scalar_write(t->dtype, data + (size_t)i * size, (tn_scalar){.i = v[i]});
    }
    tn_node *k = tn_make_constant(c->g, n->owner, n, t->dtype, t->n, dim, data, NULL);
    tn_node_remove(c->g, n);
    return k;
}

tn_value imp_fold(imp_node *c, tn_node *call)
{
    call = fold_reshape(c, call);
    if (!tn_op_is(call, &tn_op_constant))
        call = fold_small(c, call);
    derive_host(c, call);
    return tn_val(known_constant(c, call));
}

/* ---- what must be known ---- */

tn_dims imp_host_in(imp_node *c, tn_value v, const char *what)
{
    static const tn_expr *const nothing[1];
    tn_dims d;
    if (imp_host(c, v, &d))
        return d;
    if (v.def)
        imp_refuse(
            c, IMP_NOT_CONSTANT,
            "%s is computed at run time or is not a small integer tensor, but must be known at compile "
            "time; simplify the model so that it is a constant",
            what);
    return (tn_dims){0, nothing};
}

tn_ints imp_ints_in(imp_node *c, tn_value v, const char *what)
{
    static const int64_t nothing[1];
    tn_dims d = imp_host_in(c, v, what);
    int64_t *at = TN_NEW_N(c->arena, int64_t, d.n);
    for (uint32_t i = 0; i < d.n; i++) {
        if (tn_is_int(d.at[i], &at[i]))
            continue;
        imp_refuse(c, IMP_NOT_CONSTANT,
                   "%s depends on a symbolic dimension, but must be a constant; give the inputs fixed shapes",
                   what);
        return (tn_ints){0, nothing};
    }
    return (tn_ints){d.n, at};
}

tn_ints imp_whole_in(imp_node *c, tn_value v, const char *what)
{
    const double exact = 9007199254740992.0; /* integers up to here are doubles */
    const tn_type *t = imp_type(v);
    int64_t n = small_count(t);
    uint32_t size = tn_dtype_bytes(t->dtype);
    if (!v.def || !tn_dtype_is_float(t->dtype))
        return imp_ints_in(c, v, what);
    if (!tn_op_is(v.def, &tn_op_constant) || !v.def->blob || n < 0 || v.def->blob->n < (size_t)n * size) {
        imp_refuse(c, IMP_NOT_CONSTANT, "%s is not a small constant, but must be known at compile time",
                   what);
        return (tn_ints){0};
    }
    int64_t *at = TN_NEW_N(c->arena, int64_t, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        double d = tn_scalar_read(t->dtype, (const char *)v.def->blob->at + (size_t)i * size).f;
        if (!(d >= -exact && d <= exact) || d != (double)(int64_t)d) {
            imp_refuse(c, IMP_BAD_VALUE, "%s is %g, which is no whole number", what, d);
            return (tn_ints){0};
        }
        at[i] = (int64_t)d;
    }
    return (tn_ints){(uint32_t)n, at};
}

int64_t imp_int_in(imp_node *c, tn_value v, const char *what)
{
    tn_ints i = imp_whole_in(c, v, what);
    if (i.n != 1 && !c->bad)
        imp_refuse(c, IMP_BAD_VALUE, "%s has %u elements, but must be one number", what, (unsigned)i.n);
    return i.n == 1 ? i.at[0] : 0;
}

bool imp_scalar(imp_node *c, tn_value v, double *out)
{
    (void)c;
    const tn_type *t = imp_type(v);
    if (!v.def || !tn_op_is(v.def, &tn_op_constant) || !v.def->blob || small_count(t) != 1 ||
        tn_dtype_is_complex(t->dtype) || v.def->blob->n < tn_dtype_bytes(t->dtype))
        return false;
    tn_scalar s = tn_scalar_read(t->dtype, v.def->blob->at);
    *out = tn_dtype_is_float(t->dtype) ? s.f : t->dtype.code == TN_UINT ? (double)(uint64_t)s.i : (double)s.i;
    return true;
}
