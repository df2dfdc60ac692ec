/* What converters are written with: operands, Relay calls, and the elements of small integer tensors. */
#include "frontend/onnx/onnx.h"

#include "arith/arith.h"
#include "ir/eval.h"
#include "op/tensor/tensor.h"
#include "relay/relay.h"

#include <math.h>
#include <string.h>

/* ---- messages ---- */

const char *onnx_text(onnx_import *im, tn_pb_bytes s)
{
    tn_buf b = {0};
    tn_buf_shown(&b, tn_arena_strndup(&im->scratch, (const char *)s.at, s.n));
    const char *text = tn_intern(im->g->ctx, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return text;
}

void onnx_fail(onnx_conv *c, const char *id, const char *fmt, ...)
{
    va_list ap;
    if (c->bad)
        return;
    c->bad = true;
    va_start(ap, fmt);
    (void)tn_vreport(c->g->ctx, TN_ERROR, id, c->loc, fmt, ap);
    va_end(ap);
}

const char *onnx_type_text(onnx_conv *c, const tn_type *t)
{
    tn_buf b = {0};
    tn_type_print(t, &b);
    const char *s = tn_arena_strdup(c->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

/* ---- operands ---- */

uint32_t onnx_n_in(const onnx_conv *c) { return (uint32_t)c->node->input.n; }

bool onnx_has(const onnx_conv *c, uint32_t i)
{
    return i < c->node->input.n && ((const tn_pb_bytes *)c->node->input.at)[i].n > 0;
}

tn_value onnx_opt(onnx_conv *c, uint32_t i)
{
    const tn_pb_bytes *name = c->node->input.at;
    uint64_t at;
    if (!onnx_has(c, i) || !tn_strmap_get(&c->im->names, (const char *)name[i].at, name[i].n, &at))
        return (tn_value){0}; /* unknown names were reported before */
    return at == ONNX_NO_VALUE ? (tn_value){0} : c->im->value.at[at].v;
}

tn_value onnx_in(onnx_conv *c, uint32_t i)
{
    if (!onnx_has(c, i))
        onnx_fail(c, "onnx-E017", "operand %u is missing; the model is damaged", (unsigned)i);
    return onnx_opt(c, i);
}

const tn_type *onnx_type(tn_value v)
{
    static const tn_type none = {.kind = TN_T_TENSOR, .dtype = {TN_FLOAT, 32, 1}};
    const tn_type *t = tn_value_type(v);
    return t ? t : &none;
}

int onnx_rank(tn_value v) { return onnx_type(v)->n; }

/* ---- elements of small integer tensors ---- */

/* Number of elements, if constant and at most ONNX_HOST_MAX; else -1. */
static int64_t small_count(const tn_type *t)
{
    int64_t count = 1, d;
    for (int i = 0; i < t->n; i++) {
        if (!tn_is_int(t->dim[i], &d) || d > ONNX_HOST_MAX)
            return -1;
        count *= d;
        if (count > ONNX_HOST_MAX)
            return -1;
    }
    return count;
}

static bool countable(tn_dtype t) { return tn_dtype_is_int(t) || tn_dtype_is_bool(t); }

static bool host_of_constant(onnx_conv *c, const tn_node *n, int64_t count, tn_dims *out)
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

bool onnx_host(onnx_conv *c, tn_value v, tn_dims *out)
{
    const tn_type *t = onnx_type(v);
    int64_t count = small_count(t);
    if (!v.def || v.out != 0 || !countable(t->dtype) || count < 0)
        return false;
    if (v.def->id < c->im->host.n && c->im->host.at[v.def->id].at) {
        *out = c->im->host.at[v.def->id];
        return true;
    }
    if (!tn_op_is(v.def, &tn_op_constant) || !host_of_constant(c, v.def, count, out))
        return false;
    onnx_set_host(c, v, *out);
    return true;
}

void onnx_set_host(onnx_conv *c, tn_value v, tn_dims elements)
{
    if (!v.def || v.out != 0)
        return;
    while (c->im->host.n <= v.def->id)
        tn_vec_push(&c->im->host, ((tn_dims){0}));
    c->im->host.at[v.def->id] = elements;
}

static void derive_host(onnx_conv *c, const tn_node *n)
{
    enum { MAX_IN = 256 };
    tn_dims in[MAX_IN] = {0}, out = {0};
    if (!n->op->shape_value || n->nin > MAX_IN || n->nout != 1 || !countable(n->type[0]->dtype))
        return;
    int64_t count = small_count(n->type[0]);
    if (count < 0)
        return;
    for (int i = 0; i < n->nin; i++)
        (void)onnx_host(c, tn_in(n, i), &in[i]);
    if (!n->op->shape_value(c->g, n, in, &out) || !out.at || out.n != count)
        return;
    const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, out.n);
    for (uint32_t i = 0; i < out.n; i++)
        e[i] = onnx_simplify(c, out.at[i]);
    onnx_set_host(c, tn_val((tn_node *)n), (tn_dims){out.n, e});
}

/* ---- folding ---- */

static bool all_constant(const tn_node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i].def && !tn_op_is(n->in[i].def, &tn_op_constant))
            return false;
    return n->nin > 0;
}

/* Replaces a call by a constant: of its operand's data, if that stays as it is. Types of constants have no symbols. */
static tn_node *fold_reshape(onnx_conv *c, tn_node *n)
{
    const tn_node *in = n->in[0].def;
    if (!(n->op->flags & TN_OP_SHARES) || !all_constant(n) || !in->blob ||
        !tn_type_dims_const(n->type[0], NULL))
        return n;
    tn_node *k = tn_constant_new(c->g, n->owner, n, n->type[0], in->blob, in->name);
    tn_node_remove(c->g, n);
    return k;
}

/* A few elements computed from constants are constants: indices and bounds that a model works out itself. */
static tn_node *fold_small(onnx_conv *c, tn_node *n)
{
    tn_tensor_value v = {0};
    int64_t in = 0, dim[ONNX_MAX_RANK], count = small_count(n->type[0]);
    for (int i = 0; i < n->nin && in >= 0; i++)
        in = n->in[i].def && small_count(tn_in_type(n, i)) >= 0 ? in : -1;
    if (n->nout != 1 || !all_constant(n) || count < 0 || in < 0 || n->type[0]->n > ONNX_MAX_RANK ||
        n->op->fuse == TN_FUSE_NONE || n->op->expand || !tn_attr_fixed(n->op->attr, n->attr))
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
static tn_node *known_constant(onnx_conv *c, tn_node *n)
{
    tn_dims d;
    int64_t v[ONNX_HOST_MAX], dim[ONNX_MAX_RANK];
    const tn_type *t = n->type[0];
    if (tn_op_is(n, &tn_op_constant) || (n->op->flags & TN_OP_EFFECT) || !onnx_host(c, tn_val(n), &d) ||
        t->n > ONNX_MAX_RANK || !tn_type_dims_const(t, dim))
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

/* ---- what must be known ---- */

tn_dims onnx_host_in(onnx_conv *c, tn_value v, const char *what)
{
    static const tn_expr *const nothing[1];
    tn_dims d;
    if (onnx_host(c, v, &d))
        return d;
    if (v.def)
        onnx_fail(c, "onnx-E016",
                  "%s is computed at run time or is not a small integer tensor, but must be known at compile "
                  "time; simplify the model so that it is a constant",
                  what);
    return (tn_dims){0, nothing};
}

tn_ints onnx_ints_in(onnx_conv *c, tn_value v, const char *what)
{
    static const int64_t nothing[1];
    tn_dims d = onnx_host_in(c, v, what);
    int64_t *at = TN_NEW_N(c->arena, int64_t, d.n);
    for (uint32_t i = 0; i < d.n; i++) {
        if (tn_is_int(d.at[i], &at[i]))
            continue;
        onnx_fail(c, "onnx-E016",
                  "%s depends on a symbolic dimension, but must be a constant; give the inputs fixed shapes",
                  what);
        return (tn_ints){0, nothing};
    }
    return (tn_ints){d.n, at};
}

int64_t onnx_int_in(onnx_conv *c, tn_value v, const char *what)
{
    tn_ints i = onnx_ints_in(c, v, what);
    if (i.n != 1 && !c->bad)
        onnx_fail(c, "onnx-E009", "%s has %u elements, but must be one number", what, (unsigned)i.n);
    return i.n == 1 ? i.at[0] : 0;
}

bool onnx_scalar(onnx_conv *c, tn_value v, double *out)
{
    (void)c;
    const tn_type *t = onnx_type(v);
    if (!v.def || !tn_op_is(v.def, &tn_op_constant) || !v.def->blob || small_count(t) != 1 ||
        v.def->blob->n < tn_dtype_bytes(t->dtype))
        return false;
    tn_scalar s = tn_scalar_read(t->dtype, v.def->blob->at);
    *out = tn_dtype_is_float(t->dtype) ? s.f : t->dtype.code == TN_UINT ? (double)(uint64_t)s.i : (double)s.i;
    return true;
}

/* ---- calls ---- */

tn_value onnx_call(onnx_conv *c, const tn_op *op, const void *attr, int n, const tn_value in[])
{
    for (int i = 0; i < n; i++)
        if (!in[i].def && i < op->min_in)
            c->bad = true; /* what made it has said why */
    if (c->bad)
        return (tn_value){0};
    tn_node *call = tn_make_call(c->g, c->im->r, NULL, op, n, in, attr, c->loc);
    if (!call) {
        c->bad = true;
        return (tn_value){0};
    }
    call = fold_reshape(c, call);
    if (!tn_op_is(call, &tn_op_constant))
        call = fold_small(c, call);
    derive_host(c, call);
    return tn_val(known_constant(c, call));
}

tn_value onnx_const(onnx_conv *c, tn_dtype t, double v)
{
    return c->bad ? (tn_value){0} : tn_val(tn_make_scalar(c->g, c->im->r, NULL, t, v));
}

tn_value onnx_const_ints(onnx_conv *c, tn_dtype t, int ndim, uint32_t n, const int64_t v[])
{
    uint32_t size = tn_dtype_bytes(t);
    int64_t dim = n;
    char *data = tn_arena_alloc(c->arena, (size_t)n * size, 8);
    for (uint32_t i = 0; i < n; i++)
        tn_scalar_write(t, data + (size_t)i * size, (tn_scalar){.i = v[i]});
    return c->bad ? (tn_value){0} : tn_val(tn_make_constant(c->g, c->im->r, NULL, t, ndim, &dim, data, NULL));
}

tn_value onnx_reshape(onnx_conv *c, tn_value v, int ndim, const tn_expr *const dim[])
{
    tn_reshape_attr a = {tn_dims_make(c->arena, (uint32_t)ndim, dim), true};
    return onnx_call1(c, &tn_op_reshape, &a, v);
}

tn_value onnx_transpose(onnx_conv *c, tn_value v, int n, const int64_t perm[])
{
    tn_transpose_attr a = {tn_ints_make(c->arena, (uint32_t)n, perm)};
    return onnx_call1(c, &tn_op_transpose, &a, v);
}

tn_dtype onnx_sum_dtype(tn_dtype t) { return tn_dtype_is_float(t) && t.bits == 16 ? TN_F32 : t; }

tn_value onnx_cast(onnx_conv *c, tn_value v, tn_dtype t)
{
    tn_cast_attr a = {t};
    return !v.def || tn_dtype_eq(onnx_type(v)->dtype, t) ? v : onnx_call1(c, &tn_op_cast, &a, v);
}

tn_value onnx_slice(onnx_conv *c, tn_value v, int64_t axis, int64_t begin, int64_t end)
{
    static const int64_t step = 1;
    tn_slice_attr a = {tn_make_dims(c->g, 1, &begin), tn_make_dims(c->g, 1, &end),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &axis)};
    return onnx_call1(c, &tn_op_strided_slice, &a, v);
}

tn_value onnx_concat(onnx_conv *c, uint32_t n, const tn_value in[], int64_t axis)
{
    tn_axis_attr a = {axis};
    return n == 1 ? in[0] : onnx_call(c, &tn_op_concatenate, &a, (int)n, in);
}

tn_value onnx_unsqueeze(onnx_conv *c, tn_value v, int64_t axis)
{
    tn_expand_dims_attr a = {axis, 1};
    return onnx_call1(c, &tn_op_expand_dims, &a, v);
}

tn_value onnx_squeeze(onnx_conv *c, tn_value v, int64_t axis)
{
    tn_squeeze_attr a = {tn_ints_make(c->arena, 1, &axis)};
    return onnx_call1(c, &tn_op_squeeze, &a, v);
}

/* ---- dimensions ---- */

const tn_expr *onnx_simplify(onnx_conv *c, const tn_expr *e) { return tn_simplify_extent(c->g, e); }

const tn_expr *onnx_product(onnx_conv *c, const tn_type *t, int from, int to)
{
    const tn_expr *p = tn_idx(c->pool, 1);
    for (int i = from; i < to; i++)
        p = tn_mul(c->pool, p, t->dim[i]);
    return onnx_simplify(c, p);
}

int onnx_axis(onnx_conv *c, int64_t axis, int rank)
{
    if (axis >= -rank && axis < rank)
        return (int)(axis < 0 ? axis + rank : axis);
    onnx_fail(c, "onnx-E009", "axis %lld is outside of [%d, %d)", (long long)axis, -rank, rank);
    return 0;
}
