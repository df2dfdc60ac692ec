/* Operators that TVM's texts call by our names and whose operands are otherwise there: ours are made of them. */
#include "relay/parse.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <float.h>
#include <math.h>

typedef struct operands {
    parser *p;
    tn_value *in;
    uint32_t line, col;
} operands;

static const tn_type *tensor(tn_value v)
{
    const tn_type *t = v.def ? tn_value_type(v) : NULL;
    return t && t->kind == TN_T_TENSOR ? t : NULL;
}

static tn_value call(const operands *o, const tn_op *op, const void *attr, int n, const tn_value in[])
{
    for (int i = 0; i < n; i++)
        if (!in[i].def)
            return (tn_value){0};
    pval v = parse_node(o->p, op, n, in, attr, o->line, o->col);
    return v.kind == PVAL_BAD ? (tn_value){0} : v.v;
}

static tn_value number(const operands *o, tn_dtype t, double v)
{
    return tn_val(tn_make_scalar(o->p->g, o->p->scope->region, NULL, t, v));
}

/* TVM's "divide" of integers rounds toward zero. */
const tn_op *parse_quotient(const tn_op *op, int n, const tn_value in[])
{
    const tn_type *t = op == &tn_op_divide && n == 2 ? tensor(in[0]) : NULL;
    return t && tn_dtype_is_int(t->dtype) ? &tn_op_trunc_divide : op;
}

/* A slope of one dimension lies along an axis of the data. */
static tn_value slope_along(const operands *o, int64_t axis)
{
    const tn_type *x = tensor(o->in[0]), *t = tensor(o->in[1]);
    if (!x || !t || t->n != 1 || x->n < 2 || tn_is_value(t->dim[0], 1))
        return o->in[1];
    const tn_expr **dim = TN_NEW_N(&o->p->scratch, const tn_expr *, (size_t)x->n);
    if (axis < -x->n || axis >= x->n) {
        (void)parse_error(o->p, o->line, o->col, "relay-E088",
                          "nn.prelu has an axis that its operand does not have");
        return (tn_value){0};
    }
    for (int d = 0; d < x->n; d++)
        dim[d] = d == (axis < 0 ? axis + x->n : axis) ? t->dim[0] : tn_idx(o->p->g->pool, 1);
    const tn_reshape_attr a = {.newshape = tn_dims_make(o->p->g->arena, (uint32_t)x->n, dim),
                               .allowzero = true};
    return call(o, &tn_op_reshape, &a, 1, &o->in[1]);
}

/* The value of padding may be of another type than the data. */
static tn_value pad_value(const operands *o)
{
    const tn_type *x = tensor(o->in[0]), *t = tensor(o->in[1]);
    if (!x || !t || t->n || tn_dtype_eq(x->dtype, t->dtype))
        return o->in[1];
    const tn_cast_attr a = {x->dtype};
    return call(o, &tn_op_cast, &a, 1, &o->in[1]);
}

/* Of positions below 0 there is none. */
static tn_value one_hot_places(const operands *o, const tn_one_hot_attr *a)
{
    const tn_type *t = tensor(o->in[0]);
    int64_t depth;
    if (!t || !tn_dtype_is_int(t->dtype) || t->dtype.code == TN_UINT || a->depth.n != 1 ||
        !tn_is_int(a->depth.at[0], &depth))
        return o->in[0];
    const tn_cast_attr wide = {TN_I64};
    tn_value at = call(o, &tn_op_cast, &wide, 1, &o->in[0]), zero = number(o, TN_I64, 0);
    tn_value below = call(o, &tn_op_less, NULL, 2, (const tn_value[]){at, zero});
    tn_value none = number(o, TN_I64, (double)depth);
    return call(o, &tn_op_where, NULL, 3, (const tn_value[]){below, none, at});
}

/* Integers between two numbers, of which those count that they can have. */
static bool clip_integers(const operands *o, const tn_op **op, const tn_clip_attr *a, tn_value **in)
{
    const tn_type *t = tensor(o->in[0]);
    if (!t || !tn_dtype_is_int(t->dtype) || t->dtype.bits > 32)
        return true;
    const bool natural = t->dtype.code == TN_UINT;
    const double most = ldexp(1, natural ? t->dtype.bits : t->dtype.bits - 1) - 1,
                 least = natural ? 0 : -most - 1;
    const double low = fmin(fmax(ceil(a->a_min), least), most),
                 high = fmin(fmax(floor(a->a_max), least), most);
    const tn_value up = number(o, t->dtype, low);
    tn_value *two = TN_NEW_N(&o->p->scratch, tn_value, 2);
    two[0] = call(o, &tn_op_maximum, NULL, 2, (const tn_value[]){o->in[0], up});
    two[1] = number(o, t->dtype, high);
    *op = &tn_op_minimum;
    *in = two;
    return two[0].def != NULL;
}

bool parse_adapt(parser *p, const tn_op **op, void *attr, size_t *n, tn_value **in, const pforeign *f,
                 uint32_t line, uint32_t col)
{
    const operands o = {p, *in, line, col};
    *op = parse_quotient(*op, (int)*n, *in);
    if (*op == &tn_op_nn_prelu && *n == 2)
        return (o.in[1] = slope_along(&o, f->axis)).def;
    if (*op == &tn_op_nn_pad && *n == 2)
        return (o.in[1] = pad_value(&o)).def;
    if (*op == &tn_op_one_hot && *n == 3 && f->dtype.bits)
        return (o.in[0] = one_hot_places(&o, attr)).def;
    if (*op == &tn_op_clip && *n == 1) {
        bool ok = clip_integers(&o, op, attr, in);
        *n = *op == &tn_op_minimum ? 2 : 1;
        return ok;
    }
    return true;
}
