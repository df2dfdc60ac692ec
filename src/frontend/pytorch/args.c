/* Arguments and results of converters. */
#include "frontend/pytorch/pytorch.h"

#include <math.h>

tn_value pt_as_tensor(imp_node *c, pt_value v)
{
    pt_import *p = pt_of(c)->p;
    if (v.kind == PT_TENSOR)
        return v.tensor->quantised ? pt_real_value(c, v.tensor) : pt_tensor_value(p, v.tensor);
    if (v.kind == PT_FLOAT)
        return imp_const(c, TN_F64, v.f);
    if (v.kind == PT_INT)
        return imp_i64(c, v.i);
    if (v.kind == PT_BOOL)
        return imp_const(c, TN_BOOL1, v.b);
    if (v.kind == PT_NUMBER)
        return v.number->v;
    if (v.kind != PT_NONE)
        imp_refuse(c, IMP_OPERANDS, "an operand is %s, but must be a tensor", pt_kind_name(v.kind));
    return (tn_value){0};
}

/* A number is exact in every type, as far as that goes: it is not rounded twice. */
static tn_value as_type(imp_node *c, pt_value v, tn_dtype t)
{
    if (v.kind == PT_FLOAT && tn_dtype_is_float(t))
        return imp_const(c, t, v.f);
    if (v.kind == PT_INT && tn_dtype_is_float(t))
        return imp_const(c, t, (double)v.i);
    return imp_cast(c, pt_as_tensor(c, v), t);
}

/* An operand of a row with PT_WIDE, in the type that it computes in. */
static tn_value widened(imp_node *c, tn_value v)
{
    if (!(pt_of(c)->row->flags & PT_WIDE) || !v.def || !tn_dtype_is_small(imp_type(v)->dtype))
        return v;
    pt_of(c)->narrow = imp_type(v)->dtype;
    return imp_cast(c, v, TN_F32);
}

tn_value pt_as(imp_node *c, pt_value v, tn_dtype t) { return widened(c, as_type(c, v, t)); }

tn_value pt_in(imp_node *c, int i)
{
    tn_value v = pt_as_tensor(c, pt_arg(c, i));
    enum pt_kind k = pt_arg(c, i).kind;
    bool real = k == PT_FLOAT || (k == PT_TENSOR && pt_arg(c, i).tensor->number) ||
                (k == PT_NUMBER && pt_arg(c, i).number->kind == PT_FLOAT);
    return real ? imp_cast(c, v, TN_F32) : widened(c, v);
}

const tn_expr *pt_extent(imp_node *c, pt_value v)
{
    tn_dims d;
    if (v.kind == PT_INT)
        return tn_idx(c->pool, v.i);
    if (v.kind == PT_BOOL)
        return tn_idx(c->pool, v.b);
    if (v.kind != PT_NUMBER && v.kind != PT_TENSOR) {
        imp_refuse(c, IMP_BAD_VALUE, "an extent is %s, but must be an int", pt_kind_name(v.kind));
        return tn_idx(c->pool, 1);
    }
    tn_value x = imp_cast(c, pt_as_tensor(c, v), TN_I64);
    if (imp_host(c, x, &d) && d.n == 1)
        return d.at[0];
    d = imp_bind(c, x, NULL);
    return d.n == 1 ? d.at[0] : tn_idx(c->pool, 1);
}

tn_dims pt_dims(imp_node *c, int i)
{
    pt_value v = pt_arg(c, i);
    size_t n = pt_is_sequence(v) ? v.list->n : 1;
    const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, n);
    for (size_t k = 0; k < n; k++)
        e[k] = pt_extent(c, pt_is_sequence(v) ? pt_at(v, k) : v);
    return tn_dims_make(c->arena, (uint32_t)n, e);
}

static int64_t integer_of(imp_node *c, pt_value v, int i)
{
    int64_t n = 0;
    if (v.kind == PT_BOOL)
        return v.b;
    if (v.kind == PT_INT)
        return v.i;
    if (v.kind == PT_FLOAT && v.f == floor(v.f) && fabs(v.f) < 1e15)
        return (int64_t)v.f;
    if (v.kind != PT_NUMBER && v.kind != PT_TENSOR) {
        imp_refuse(c, IMP_BAD_VALUE, "operand %d is %s, but must be an int", i, pt_kind_name(v.kind));
        return 0;
    }
    tn_ints at =
        imp_ints_in(c, imp_cast(c, pt_as_tensor(c, v), TN_I64), tn_arena_printf(c->arena, "operand %d", i));
    if (at.n == 1)
        n = at.at[0];
    else if (!c->bad)
        imp_refuse(c, IMP_BAD_VALUE, "operand %d is not one number", i);
    return n;
}

int64_t pt_integer(imp_node *c, int i) { return integer_of(c, pt_arg(c, i), i); }

tn_ints pt_ints(imp_node *c, int i)
{
    pt_value v = pt_arg(c, i);
    size_t n = pt_is_sequence(v) ? v.list->n : v.kind == PT_NONE ? 0 : 1;
    int64_t *at = TN_NEW_N(c->arena, int64_t, n);
    for (size_t k = 0; k < n; k++)
        at[k] = integer_of(c, pt_is_sequence(v) ? pt_at(v, k) : v, i);
    return (tn_ints){(uint32_t)n, at};
}

const int64_t *pt_repeated(imp_node *c, int i, int n)
{
    tn_ints v = pt_ints(c, i);
    int64_t *at = TN_NEW_N(c->arena, int64_t, (size_t)n);
    if (v.n != 1 && v.n != (uint32_t)n)
        imp_refuse(c, IMP_BAD_VALUE, "operand %d has %u entries, but must have %d", i, (unsigned)v.n, n);
    for (int k = 0; k < n && !c->bad; k++)
        at[k] = v.at[v.n == 1 ? 0 : k];
    return at;
}

double pt_real(imp_node *c, int i)
{
    pt_value v = pt_arg(c, i);
    double f = 0;
    if (v.kind == PT_FLOAT)
        return v.f;
    if (v.kind == PT_INT || v.kind == PT_BOOL)
        return v.kind == PT_INT ? (double)v.i : v.b;
    if ((v.kind != PT_NUMBER && v.kind != PT_TENSOR) || !imp_scalar(c, pt_as_tensor(c, v), &f))
        imp_refuse(c, IMP_NOT_CONSTANT, "operand %d must be a number that is known at compile time", i);
    return f;
}

bool pt_truth(imp_node *c, int i)
{
    pt_value v = pt_arg(c, i);
    return v.kind == PT_BOOL ? v.b : v.kind == PT_NONE ? false : pt_integer(c, i) != 0;
}

const char *pt_string(imp_node *c, int i)
{
    pt_value v = pt_arg(c, i);
    if (v.kind == PT_TEXT)
        return imp_text(c->im, v.text);
    if (v.kind != PT_NONE)
        imp_refuse(c, IMP_BAD_VALUE, "operand %d is %s, but must be a str", i, pt_kind_name(v.kind));
    return "";
}

bool pt_dtype(imp_node *c, int i, tn_dtype *out)
{
    if (!pt_given(c, i))
        return false;
    int64_t code = pt_integer(c, i);
    bool complex = pt_complex_of(code, out);
    pt_of(c)->to = complex ? PT_TO_COMPLEX : PT_TO_REAL;
    if (!c->bad && !complex && !pt_dtype_of(code, out))
        imp_refuse(c, IMP_BAD_VALUE, "elements of type %lld are not supported", (long long)code);
    return !c->bad;
}

/* An axis of a scalar may be 0 or -1. */
int pt_axis(imp_node *c, int i, int rank) { return imp_axis(c, pt_integer(c, i), rank ? rank : 1); }

uint32_t pt_n_in(imp_node *c, int i)
{
    return pt_is_sequence(pt_arg(c, i)) ? (uint32_t)pt_arg(c, i).list->n : 0;
}

tn_value *pt_list_in(imp_node *c, int i, uint32_t *n)
{
    *n = pt_n_in(c, i);
    tn_value *v = TN_NEW_N(c->arena, tn_value, *n);
    for (uint32_t k = 0; k < *n; k++)
        v[k] = pt_as_tensor(c, pt_at(pt_arg(c, i), k));
    return v;
}

/* ---- results ---- */

static tn_value narrowed(imp_node *c, tn_value v)
{
    bool was = pt_of(c)->narrow.bits && v.def && tn_dtype_is_float(imp_type(v)->dtype);
    return was ? imp_cast(c, v, pt_of(c)->narrow) : v;
}

void pt_out(imp_node *c, tn_value v)
{
    pt_call *k = pt_of(c);
    v = narrowed(c, v);
    k->out = c->bad || !v.def ? pt_bad() : pt_tensor_new(k->p, tn_unboxed(c->g, v));
}

void pt_out_many(imp_node *c, enum pt_kind kind, uint32_t n, const tn_value v[])
{
    pt_call *k = pt_of(c);
    pt_value *at = TN_NEW_N(&c->im->scratch, pt_value, n);
    for (uint32_t i = 0; i < n && !c->bad; i++)
        at[i] = v[i].def ? pt_tensor_new(k->p, tn_unboxed(c->g, narrowed(c, v[i]))) : pt_bad();
    k->out = c->bad ? pt_bad() : pt_make(&c->im->scratch, kind, n, at);
    if (!c->bad)
        k->out.list->owner = c->im->r;
}

void pt_out_value(imp_node *c, pt_value v) { pt_of(c)->out = c->bad ? pt_bad() : v; }

pt_value pt_library_call(imp_node *c, const char *name, size_t n, const pt_value at[])
{
    static const tn_bytes none[PT_MAX_ARG] = {{0}};
    pt_import *p = pt_of(c)->p;
    if (c->bad)
        return pt_bad();
    pt_value v =
        pt_run_def(p, pt_find_def(pt_library(p), pt_words(name).text), NULL, &(pt_args){n, at, none});
    c->bad = c->bad || p->stop || pt_is_bad(v);
    return v;
}
