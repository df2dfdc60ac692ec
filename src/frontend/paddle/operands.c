/* Operands and results by name, and arithmetic that converters share. */
#include "frontend/paddle/paddle.h"

#include "op/tensor/tensor.h"

#include <string.h>

/* ---- operands ---- */

const pd_param *pd_find_param(const tn_pb_array *params, const char *name)
{
    const pd_param *p = params->at;
    for (size_t i = 0; i < params->n; i++)
        if (imp_is(p[i].parameter, name))
            return &p[i];
    return NULL;
}

/* The position of a parameter's first value among all of the operator; UINT32_MAX: absent. */
static uint32_t first_of(const tn_pb_array *params, const char *name)
{
    const pd_param *p = params->at;
    uint32_t at = 0;
    for (size_t i = 0; i < params->n; i++) {
        if (imp_is(p[i].parameter, name))
            return at;
        at += (uint32_t)p[i].arguments.n;
    }
    return UINT32_MAX;
}

static const pd_param *asked_for(imp_node *c, const char *name)
{
    pd_call *call = (pd_call *)(uintptr_t)c->origin;
    const pd_param *p = pd_find_param(&call->op->inputs, name);
    size_t i = p ? (size_t)(p - (const pd_param *)call->op->inputs.at) : 64;
    call->asked |= i < 64 ? UINT64_C(1) << i : 0;
    return p;
}

uint32_t pd_count(imp_node *c, const char *param)
{
    const pd_param *p = asked_for(c, param);
    uint32_t first = first_of(&pd_op_of(c)->inputs, param);
    return p && p->arguments.n && (p->arguments.n > 1 || imp_has(c, first)) ? (uint32_t)p->arguments.n : 0;
}

tn_value pd_at(imp_node *c, const char *param, uint32_t i)
{
    if (i < pd_count(c, param))
        return imp_in(c, first_of(&pd_op_of(c)->inputs, param) + i);
    imp_refuse(c, IMP_OPERANDS, "operand %s is missing; the model is damaged", param);
    return (tn_value){0};
}

tn_value pd_in(imp_node *c, const char *param) { return pd_at(c, param, 0); }

tn_value pd_opt(imp_node *c, const char *param)
{
    return pd_count(c, param) ? pd_at(c, param, 0) : (tn_value){0};
}

/* ---- results ---- */

uint32_t pd_out_count(const imp_node *c, const char *param)
{
    const pd_param *p = pd_find_param(&pd_op_of(c)->outputs, param);
    return p ? (uint32_t)p->arguments.n : 0;
}

void pd_out_at(imp_node *c, const char *param, uint32_t i, tn_value v)
{
    uint32_t first = first_of(&pd_op_of(c)->outputs, param);
    if (i < pd_out_count(c, param))
        imp_out(c, first + i, v);
}

/* ---- numbers from operands or attributes ---- */

/* A scalar, or a list of one, as a list of int64. */
static tn_value as_list(imp_node *c, tn_value v)
{
    v = imp_cast(c, v, TN_I64);
    return imp_rank(v) == 0 && !c->bad ? imp_unsqueeze(c, v, 0) : v;
}

tn_value pd_list_value(imp_node *c, const char *tensor, const char *list)
{
    if (tensor && pd_count(c, tensor))
        return as_list(c, pd_in(c, tensor));
    uint32_t n = list ? pd_count(c, list) : 0;
    tn_value *part = TN_NEW_N(c->arena, tn_value, n);
    for (uint32_t i = 0; i < n; i++)
        part[i] = as_list(c, pd_at(c, list, i));
    return n && !c->bad ? imp_concat(c, n, part, 0) : (tn_value){0};
}

static tn_ints attr_ints(imp_node *c, const char *attr)
{
    tn_ints v = {0};
    const imp_attr *a = NULL;
    for (size_t i = 0; i < c->n_attr && !a && attr; i++)
        a = imp_is(c->attr[i].name, attr) ? &c->attr[i] : NULL;
    if (a && a->kind == IMP_A_INT) { /* one number in the place of a list */
        int64_t one = imp_attr_int(c, attr, 0);
        return tn_ints_make(c->arena, 1, &one);
    }
    if (a)
        (void)imp_attr_ints(c, attr, &v);
    return v;
}

tn_dims pd_extents(imp_node *c, const char *tensor, const char *list, const char *attr)
{
    tn_value v = pd_list_value(c, tensor, list);
    tn_ints given = attr_ints(c, attr);
    return v.def || c->bad ? imp_extents_in(c, v, tensor ? tensor : list)
                           : tn_make_dims(c->g, given.n, given.at);
}

tn_ints pd_ints(imp_node *c, const char *tensor, const char *list, const char *attr)
{
    tn_value v = pd_list_value(c, tensor, list);
    tn_ints given = attr_ints(c, attr);
    return v.def && !c->bad ? imp_ints_in(c, v, tensor ? tensor : list) : given;
}

int64_t pd_int(imp_node *c, const char *tensor, const char *attr, int64_t def)
{
    tn_value v = tensor ? pd_opt(c, tensor) : (tn_value){0};
    int64_t given = attr ? imp_attr_int(c, attr, def) : def;
    return v.def && !c->bad ? imp_int_in(c, v, tensor) : given;
}

tn_value pd_scalar_in(imp_node *c, const char *tensor, const char *attr, double def, tn_dtype t)
{
    tn_value v = tensor ? pd_opt(c, tensor) : (tn_value){0};
    double given = attr && imp_has_attr(c, attr) ? imp_attr_float(c, attr, (float)def) : def;
    if (!v.def)
        return imp_const(c, t, given);
    v = imp_cast(c, v, t);
    return imp_rank(v) ? imp_reshape(c, v, 0, NULL) : v;
}

/* ---- arithmetic ---- */

tn_value pd_number(imp_node *c, tn_value like, double v) { return imp_const(c, imp_type(like)->dtype, v); }

tn_value pd_real(imp_node *c, tn_value v)
{
    return tn_dtype_is_float(imp_type(v)->dtype) ? v : imp_cast(c, v, TN_F32);
}

tn_value pd_full(imp_node *c, tn_value v, tn_dims shape)
{
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, shape.n, shape.at)};
    if (shape.n > IMP_MAX_RANK)
        imp_refuse(c, IMP_TOO_LARGE, "the shape has %u dimensions; at most %d are supported",
                   (unsigned)shape.n, IMP_MAX_RANK);
    return shape.n && !c->bad ? imp_call1(c, &tn_op_broadcast_to, &a, v) : v;
}

tn_value pd_reduce(imp_node *c, const tn_op *op, tn_value x, tn_ints axes, bool keep)
{
    tn_axes_attr a = {axes, keep, false};
    return imp_call1(c, op, &a, x);
}
