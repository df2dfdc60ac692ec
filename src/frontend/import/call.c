/* What converters are written with: messages, operands, Relay calls. */
#include "frontend/import/complex.h"

#include "ir/eval.h"

/* ---- messages ---- */

void imp_fail(imp_node *c, const char *id, const char *fmt, ...)
{
    va_list ap;
    if (c->bad)
        return;
    c->bad = true;
    va_start(ap, fmt);
    (void)tn_vreport(c->g->ctx, TN_ERROR, id, c->loc, fmt, ap);
    va_end(ap);
}

void imp_refuse(imp_node *c, enum imp_trouble t, const char *fmt, ...)
{
    va_list ap;
    if (c->bad)
        return;
    c->bad = true;
    va_start(ap, fmt);
    (void)tn_vreport(c->g->ctx, TN_ERROR, c->im->format->id[t], c->loc, fmt, ap);
    va_end(ap);
}

const char *imp_type_text(imp_node *c, const tn_type *t)
{
    tn_buf b = {0};
    tn_type_print(t, &b);
    const char *s = tn_arena_strdup(c->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

/* ---- operands ---- */

uint32_t imp_n_in(const imp_node *c) { return (uint32_t)c->n_in; }

bool imp_has(const imp_node *c, uint32_t i) { return i < c->n_in && c->in_name[i].n > 0; }

tn_value imp_opt(imp_node *c, uint32_t i)
{
    if (c->given)
        return i < c->n_in ? c->given[i] : (tn_value){0};
    const imp_value *v = imp_has(c, i) ? imp_lookup(c->im, c->in_name[i]) : NULL;
    return v ? v->v : (tn_value){0}; /* unknown names were reported before */
}

tn_value imp_in(imp_node *c, uint32_t i)
{
    if (!imp_has(c, i))
        imp_refuse(c, IMP_OPERANDS, "operand %u is missing; the model is damaged", (unsigned)i);
    return imp_opt(c, i);
}

const tn_type *imp_type(tn_value v)
{
    static const tn_expr one = {.kind = TN_E_INT, .dtype = {TN_INDEX, 64, 1}, .u.i = 1};
    static const tn_expr *const dim[2 * IMP_MAX_RANK] = {&one, &one, &one, &one, &one, &one, &one, &one};
    static const tn_type none = {.kind = TN_T_TENSOR, .dtype = {TN_FLOAT, 32, 1}, .dim = dim};
    const tn_type *t = tn_value_type(v);
    return t ? t : &none;
}

int imp_rank(tn_value v) { return imp_type(v)->n; }

/* ---- calls ---- */

tn_value imp_call(imp_node *c, const tn_op *op, const void *attr, int n, const tn_value in[])
{
    for (int i = 0; i < n; i++)
        if (!in[i].def && i < op->min_in) {
            if (!c->bad && !c->g->ctx->n_error) /* else what made it has said why */
                imp_refuse(c, IMP_OPERANDS, "an operand has no value; the model is damaged");
            c->bad = true;
        }
    if (c->bad)
        return (tn_value){0};
    for (int i = 0; i < n && op->fuse != TN_FUSE_NONE; i++)
        if (imp_is_complex(in[i]))
            return imp_call_complex(c, op, attr, n, in);
    tn_node *call = tn_make_call(c->g, c->im->r, NULL, op, n, in, attr, c->loc);
    if (!call) {
        c->bad = true;
        return (tn_value){0};
    }
    return op->host ? tn_unboxed(c->g, tn_val(call)) : imp_fold(c, call);
}

tn_value imp_const(imp_node *c, tn_dtype t, double v)
{
    if (tn_dtype_is_complex(t))
        return imp_complex_const(c, t, v);
    return c->bad ? (tn_value){0} : tn_val(tn_make_scalar(c->g, c->im->r, NULL, t, v));
}

tn_value imp_with(imp_node *c, const tn_op *op, tn_value v, double number)
{
    return imp_binary(c, op, v, imp_const(c, imp_type(v)->dtype, number));
}

tn_value imp_const_ints(imp_node *c, tn_dtype t, int ndim, uint32_t n, const int64_t v[])
{
    uint32_t size = tn_dtype_bytes(t);
    int64_t dim = n;
    char *data = tn_arena_alloc(c->arena, (size_t)n * size, 8);
    for (uint32_t i = 0; i < n; i++)
        tn_scalar_write(t, data + (size_t)i * size, (tn_scalar){.i = v[i]});
    return c->bad ? (tn_value){0} : tn_val(tn_make_constant(c->g, c->im->r, NULL, t, ndim, &dim, data, NULL));
}

tn_value imp_reshape(imp_node *c, tn_value v, int ndim, const tn_expr *const dim[])
{
    tn_reshape_attr a = {tn_dims_make(c->arena, (uint32_t)ndim, dim), true};
    return imp_reshape_to(c, v, &a);
}

tn_value imp_transpose(imp_node *c, tn_value v, int n, const int64_t perm[])
{
    tn_transpose_attr a = {tn_ints_make(c->arena, (uint32_t)n, perm)};
    return imp_call1(c, &tn_op_transpose, &a, v);
}

tn_dtype imp_sum_dtype(tn_dtype t) { return tn_dtype_is_small(t) ? TN_F32 : t; }

tn_value imp_cast(imp_node *c, tn_value v, tn_dtype t)
{
    tn_cast_attr a = {t};
    if (!v.def || tn_dtype_eq(imp_type(v)->dtype, t))
        return v;
    bool complex = imp_is_complex(v) || tn_dtype_is_complex(t);
    return complex ? imp_complex_cast(c, v, t) : imp_call1(c, &tn_op_cast, &a, v);
}

static tn_value slice_of(imp_node *c, tn_value v, int64_t axis, tn_dims begin, tn_dims end)
{
    static const int64_t step = 1;
    tn_slice_attr a = {begin, end, tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &axis)};
    return imp_call1(c, &tn_op_strided_slice, &a, v);
}

tn_value imp_slice(imp_node *c, tn_value v, int64_t axis, int64_t begin, int64_t end)
{
    return slice_of(c, v, axis, tn_make_dims(c->g, 1, &begin), tn_make_dims(c->g, 1, &end));
}

tn_value imp_slice_to(imp_node *c, tn_value v, int64_t axis, const tn_expr *begin, const tn_expr *end)
{
    return slice_of(c, v, axis, tn_dims_make(c->arena, 1, &begin), tn_dims_make(c->arena, 1, &end));
}

tn_value imp_concat(imp_node *c, uint32_t n, const tn_value in[], int64_t axis)
{
    tn_axis_attr a = {axis};
    return n == 1 ? in[0] : imp_call(c, &tn_op_concatenate, &a, (int)n, in);
}

tn_value imp_roll(imp_node *c, tn_value v, int axis, int64_t by)
{
    const tn_expr *n = imp_rank(v) ? imp_type(v)->dim[axis] : NULL, *zero = tn_idx(c->pool, 0);
    if (c->bad || !n || !by)
        return v;
    const tn_expr *k = tn_fmod(c->pool, tn_idx(c->pool, by), tn_max(c->pool, n, tn_idx(c->pool, 1)));
    const tn_expr *cut = imp_simplify(c, tn_sub(c->pool, n, k));
    if (cut == n)
        return v;
    tn_value last = imp_slice_to(c, v, axis, cut, n), first = imp_slice_to(c, v, axis, zero, cut);
    return imp_concat(c, 2, (const tn_value[]){last, first}, axis);
}

tn_value imp_unsqueeze(imp_node *c, tn_value v, int64_t axis)
{
    tn_expand_dims_attr a = {axis, 1};
    return imp_call1(c, &tn_op_expand_dims, &a, v);
}

tn_value imp_squeeze(imp_node *c, tn_value v, int64_t axis)
{
    tn_squeeze_attr a = {tn_ints_make(c->arena, 1, &axis)};
    return imp_call1(c, &tn_op_squeeze, &a, v);
}

/* ---- dimensions ---- */

const tn_expr *imp_simplify(imp_node *c, const tn_expr *e) { return tn_simplify_extent(c->g, e); }

const tn_expr *imp_product(imp_node *c, const tn_type *t, int from, int to)
{
    const tn_expr *p = tn_idx(c->pool, 1);
    for (int i = from; i < to; i++)
        p = tn_mul(c->pool, p, t->dim[i]);
    return imp_simplify(c, p);
}

int imp_axis(imp_node *c, int64_t axis, int rank)
{
    if (axis >= -rank && axis < rank)
        return (int)(axis < 0 ? axis + rank : axis);
    imp_refuse(c, IMP_BAD_VALUE, "axis %lld is outside of [%d, %d)", (long long)axis, -rank, rank);
    return 0;
}
