/* Complex numbers by their parts. What a Relay operator gives of them follows from what it is to real numbers:
 *
 *   SUM      f(x + iy) = f(x) + i f(y), for all operands of floats together: what moves and adds elements
 *   FIRST    the same for operand 0 alone; other operands are real
 *   PRODUCT  f(a, b) is so for each of a and b: products
 *   EQUAL, DIFFER, QUOTIENT, SHAPE  what their names say
 *
 * Operands of integers and bools are positions and conditions, and stay as they are. */
#include "frontend/import/complex.h"

#include "ir/eval.h"
#include "op/image/image.h"
#include "op/nn/nn.h"

#include <string.h>

enum kind { NONE, SUM, FIRST, PRODUCT, EQUAL, DIFFER, QUOTIENT, SHAPE };

/* Those that move elements alone say so themselves (TN_OP_INDEX_MAP). */
static const struct {
    const tn_op *op;
    enum kind kind;
} kinds[] = {
    {&tn_op_add, SUM},
    {&tn_op_subtract, SUM},
    {&tn_op_negative, SUM},
    {&tn_op_where, SUM},
    {&tn_op_sum, SUM},
    {&tn_op_mean, SUM},
    {&tn_op_cumsum, SUM},
    {&tn_op_take, SUM},
    {&tn_op_gather, SUM},
    {&tn_op_gather_nd, SUM},
    {&tn_op_one_hot, SUM},
    {&tn_op_trilu, SUM},
    {&tn_op_reverse_sequence, SUM},
    {&tn_op_tensor_scatter, SUM},
    {&tn_op_scatter_elements, SUM},
    {&tn_op_scatter_nd, SUM},
    {&tn_op_dyn_broadcast_to, SUM},
    {&tn_op_dyn_concatenate, SUM},
    {&tn_op_dyn_strided_slice, SUM},
    {&tn_op_nn_pad, SUM},
    {&tn_op_dyn_pad, SUM},
    {&tn_op_nn_depth_to_space, SUM},
    {&tn_op_nn_col2im, SUM},
    {&tn_op_image_nearest, FIRST},
    {&tn_op_image_grid_sample, FIRST},
    {&tn_op_image_resample, FIRST},
    {&tn_op_image_resize1d, FIRST},
    {&tn_op_image_resize2d, FIRST},
    {&tn_op_image_resize3d, FIRST},
    {&tn_op_multiply, PRODUCT},
    {&tn_op_nn_dense, PRODUCT},
    {&tn_op_nn_batch_matmul, PRODUCT},
    {&tn_op_divide, QUOTIENT},
    {&tn_op_equal, EQUAL},
    {&tn_op_not_equal, DIFFER},
    {&tn_op_shape_of, SHAPE},
};

static bool holds_complex(const tn_type *t)
{
    return t->kind == TN_T_TENSOR && tn_dtype_is_complex(t->dtype);
}

bool imp_is_complex(tn_value v) { return v.def && holds_complex(imp_type(v)); }

/* ---- parts ---- */

tn_value imp_parts(imp_node *c, tn_value v)
{
    if (v.def && tn_op_is(v.def, &tn_op_complex_of))
        return tn_in(v.def, 0);
    for (const tn_use *u = v.def ? v.def->users[v.out] : NULL; u;
         u = u->next) /* equal slices are then equal calls */
        if (u->user && u->user->owner == c->im->r && tn_op_is(u->user, &tn_op_complex_parts))
            return tn_val(u->user);
    return imp_unary(c, &tn_op_complex_parts, v);
}

tn_value imp_complex(imp_node *c, tn_value re, tn_value im)
{
    int rank = imp_rank(re);
    if (!c->bad && rank >= IMP_MAX_RANK)
        imp_refuse(c, IMP_TOO_LARGE, "complex numbers of %d dimensions; at most %d are supported", rank,
                   IMP_MAX_RANK - 1);
    tn_value part[] = {imp_unsqueeze(c, re, rank), imp_unsqueeze(c, im, rank)};
    return imp_unary(c, &tn_op_complex_of, imp_concat(c, 2, part, rank));
}

/* What imp_complex made v of; absent: v comes from elsewhere. */
static tn_value made_of(tn_value v, int part)
{
    const tn_node *of = v.def, *all = tn_op_is(of, &tn_op_complex_of) ? of->in[0].def : NULL;
    if (!all || !tn_op_is(all, &tn_op_concatenate) || all->nin != 2 ||
        ((const tn_axis_attr *)all->attr)->axis != all->type[0]->n - 1)
        return (tn_value){0};
    const tn_node *each = all->in[part].def;
    const tn_value from = tn_op_is(each, &tn_op_expand_dims) ? tn_in(each, 0) : (tn_value){0};
    return from.def && tn_value_type(from)->n == v.def->type[0]->n &&
                   ((const tn_expand_dims_attr *)each->attr)->axis == each->type[0]->n - 1
               ? from
               : (tn_value){0};
}

static tn_value zeros_like(imp_node *c, tn_value v)
{
    const tn_type *t = imp_type(v);
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, t->n, t->dim)};
    tn_value zero = imp_const(c, t->dtype, 0);
    return t->n ? imp_call1(c, &tn_op_broadcast_to, &a, zero) : zero;
}

tn_value imp_part(imp_node *c, tn_value v, int part)
{
    if (c->bad || !v.def)
        return v;
    if (!imp_is_complex(v))
        return part ? zeros_like(c, v) : v;
    int rank = imp_rank(v);
    tn_value known = made_of(v, part);
    return known.def ? known : imp_squeeze(c, imp_slice(c, imp_parts(c, v), rank, part, part + 1), rank);
}

tn_value imp_conjugate(imp_node *c, tn_value v)
{
    if (!imp_is_complex(v)) /* of real numbers: themselves */
        return v;
    tn_value re = imp_part(c, v, 0), im = imp_part(c, v, 1);
    return imp_complex(c, re, imp_unary(c, &tn_op_negative, im));
}

tn_value imp_squares(imp_node *c, tn_value v)
{
    tn_value re = imp_part(c, v, 0), im = imp_part(c, v, 1);
    re = imp_binary(c, &tn_op_multiply, re, re);
    return imp_binary(c, &tn_op_add, re, imp_binary(c, &tn_op_multiply, im, im));
}

/* ---- other types ---- */

tn_value imp_complex_cast(imp_node *c, tn_value v, tn_dtype t)
{
    if (tn_dtype_is_complex(t)) {
        tn_value re = imp_part(c, v, 0), im = imp_part(c, v, 1);
        re = imp_cast(c, re, tn_dtype_part(t));
        im = imp_cast(c, im, tn_dtype_part(t));
        return imp_complex(c, re, im);
    }
    if (tn_dtype_is_bool(t))
        return imp_with(c, &tn_op_not_equal, v, 0);
    if (!c->bad)
        imp_refuse(c, IMP_OPERANDS,
                   "complex numbers cannot become another type; take their real parts first");
    return (tn_value){0};
}

tn_value imp_complex_const(imp_node *c, tn_dtype t, double v)
{
    tn_dtype part = tn_dtype_part(t);
    char data[16] = {0};
    tn_scalar_write(part, data, (tn_scalar){.f = part.bits == 32 ? (double)(float)v : v});
    return c->bad ? (tn_value){0} : tn_val(tn_make_constant(c->g, c->im->r, NULL, t, 0, NULL, data, NULL));
}

/* ---- calls ---- */

/* A scatter that multiplies or compares is no sum, nor is padding by a real number of its own. */
static bool is_sum(const tn_op *op, const void *attr)
{
    if (op == &tn_op_nn_pad)
        return ((const tn_pad_attr *)attr)->pad_value == 0;
    if (op == &tn_op_dyn_pad)
        return ((const tn_dyn_pad_attr *)attr)->pad_value == 0;
    if (op != &tn_op_scatter_elements && op != &tn_op_scatter_nd)
        return true;
    const char *how = ((const tn_scatter_attr *)attr)->reduction;
    return strcmp(how, "update") == 0 || strcmp(how, "add") == 0;
}

static enum kind kind_of(const tn_op *op, const void *attr)
{
    if (op->nout != 1)
        return NONE;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].op == op)
            return is_sum(op, attr) ? kinds[i].kind : NONE;
    return op->flags & TN_OP_INDEX_MAP ? SUM : NONE;
}

static bool is_float(tn_value v) { return v.def && tn_dtype_is_float(imp_type(v)->dtype); }

/* op with its operands' parts, of operand i that which bit i of `which` names. */
static tn_value of_parts(imp_node *c, const tn_op *op, const void *attr, int n, const tn_value in[],
                         uint64_t which)
{
    tn_value *part = TN_NEW_N(&c->im->scratch, tn_value, n);
    for (int i = 0; i < n; i++)
        part[i] =
            imp_is_complex(in[i]) || is_float(in[i]) ? imp_part(c, in[i], i < 64 && which >> i & 1) : in[i];
    return imp_call(c, op, attr, n, part);
}

static tn_value pair(imp_node *c, tn_value re, tn_value im) { return c->bad ? re : imp_complex(c, re, im); }

static tn_value product(imp_node *c, const tn_op *op, const void *attr, const tn_value in[])
{
    tn_value re = of_parts(c, op, attr, 2, in, 0), im;
    if (!imp_is_complex(in[1]))
        return pair(c, re, of_parts(c, op, attr, 2, in, 1));
    if (!imp_is_complex(in[0]))
        return pair(c, re, of_parts(c, op, attr, 2, in, 2));
    re = imp_binary(c, &tn_op_subtract, re, of_parts(c, op, attr, 2, in, 3));
    im = of_parts(c, op, attr, 2, in, 2);
    return pair(c, re, imp_binary(c, &tn_op_add, im, of_parts(c, op, attr, 2, in, 1)));
}

/* a times the conjugate of b, divided by the square of b. */
static tn_value quotient(imp_node *c, tn_value a, tn_value b)
{
    bool complex = imp_is_complex(b);
    tn_value square = complex ? imp_squares(c, b) : b,
             v = complex ? imp_binary(c, &tn_op_multiply, a, imp_conjugate(c, b)) : a;
    tn_value re = imp_part(c, v, 0), im = imp_part(c, v, 1);
    re = imp_binary(c, &tn_op_divide, re, square);
    im = imp_binary(c, &tn_op_divide, im, square);
    return pair(c, re, im);
}

static tn_value refused(imp_node *c, const tn_op *op)
{
    if (!c->bad)
        imp_refuse(c, IMP_OPERANDS, "%s of complex numbers is not supported; compute with their parts",
                   op->name);
    return (tn_value){0};
}

tn_value imp_call_complex(imp_node *c, const tn_op *op, const void *attr, int n, const tn_value in[])
{
    enum kind kind = kind_of(op, attr);
    if ((kind == PRODUCT || kind == QUOTIENT) && n != 2)
        kind = NONE;
    for (int i = 1; i < n && kind == FIRST; i++)
        kind = imp_is_complex(in[i]) ? NONE : FIRST;
    switch (kind) {
    case SUM: {
        tn_value re = of_parts(c, op, attr, n, in, 0);
        return pair(c, re, of_parts(c, op, attr, n, in, UINT64_MAX));
    }
    case FIRST: {
        tn_value re = of_parts(c, op, attr, n, in, 0);
        return pair(c, re, of_parts(c, op, attr, n, in, 1));
    }
    case PRODUCT: return product(c, op, attr, in);
    case QUOTIENT: return quotient(c, in[0], in[1]);
    case EQUAL:
    case DIFFER: {
        tn_value re = of_parts(c, op, attr, n, in, 0), im = of_parts(c, op, attr, n, in, 3);
        return imp_binary(c, kind == EQUAL ? &tn_op_logical_and : &tn_op_logical_or, re, im);
    }
    case SHAPE: return of_parts(c, op, attr, n, in, 0);
    default: return refused(c, op);
    }
}
