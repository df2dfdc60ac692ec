/* Matrices: inverses, determinants, systems of equations, diagonals; the product of vectors in space. */
#include "frontend/tensorflow/tf.h"

#include "op/tensor/tensor.h"

#include <string.h>

/* Operand i, which has to be matrices of floats of 32 bits or more. */
static tn_value matrices_in(imp_node *c, uint32_t i)
{
    tn_value x = imp_in(c, i);
    if (!c->bad &&
        (imp_rank(x) < 2 || !tn_dtype_is_float(imp_type(x)->dtype) || imp_type(x)->dtype.bits < 32))
        imp_refuse(c, IMP_OPERANDS, "operand %u is %s, but must be matrices of floats", (unsigned)i,
                   imp_type_text(c, imp_type(x)));
    return x;
}

static tn_value turned_if(imp_node *c, tn_value x)
{
    return imp_transposed_if(c, x, imp_attr_int(c, "adjoint", 0) != 0);
}

static void inverse(imp_node *c)
{
    tn_value x = turned_if(c, matrices_in(c, 0));
    imp_out(c, 0, imp_unary(c, &tn_op_inverse, x));
}

static void determinant(imp_node *c) { imp_out(c, 0, imp_unary(c, &tn_op_det, matrices_in(c, 0))); }

/* Of the determinant its sign, and the logarithm of its size: of matrices so small that float64 holds it. */
static void log_determinant(imp_node *c)
{
    enum { MOST = 128 };
    tn_value x = matrices_in(c, 0);
    int64_t n = 0;
    if (!c->bad && (!tn_is_int(imp_type(x)->dim[imp_rank(x) - 1], &n) || n > MOST))
        imp_refuse(c, IMP_TOO_LARGE, "the operand is %s, but only matrices of up to %d rows are supported",
                   imp_type_text(c, imp_type(x)), MOST);
    if (c->bad)
        return;
    tn_value d = imp_unary(c, &tn_op_det, imp_cast(c, x, TN_F64));
    imp_out_any(c, 0, imp_cast(c, imp_unary(c, &tn_op_sign, d), imp_type(x)->dtype));
    d = imp_unary(c, &tn_op_log, imp_unary(c, &tn_op_abs, d));
    imp_out_any(c, 1, imp_cast(c, d, imp_type(x)->dtype));
}

static void solve(imp_node *c)
{
    tn_value a = turned_if(c, matrices_in(c, 0)), b = matrices_in(c, 1);
    imp_out(c, 0, imp_matmul(c, imp_unary(c, &tn_op_inverse, a), b, NULL));
}

/* The elements of a tensor [d.., d..] whose first and second half of positions are the same. */
static void diagonal(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    const tn_type *t = imp_type(x);
    if (!c->bad && (t->n < 2 || t->n % 2))
        imp_refuse(c, IMP_OPERANDS, "the operand is %s, but must have an even number of dimensions",
                   imp_type_text(c, t));
    if (c->bad)
        return;
    const tn_expr *n = imp_product(c, t, 0, t->n / 2), *square[] = {n, n};
    imp_out(c, 0, imp_reshape(c, imp_diagonal(c, imp_reshape(c, x, 2, square), 0), t->n / 2, t->dim));
}

/* Of vectors of three numbers in the last dimension. */
static void cross(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    int last = imp_rank(a) - 1;
    if (!c->bad && (last < 0 || !tn_is_value(imp_type(a)->dim[last], 3)))
        imp_refuse(c, IMP_OPERANDS, "the operand is %s, but must have 3 numbers in the last dimension",
                   imp_type_text(c, imp_type(a)));
    if (!c->bad && imp_rank(b) != last + 1)
        imp_refuse(c, IMP_OPERANDS, "the operands are %s and %s, but must have the same shape",
                   imp_type_text(c, imp_type(a)), imp_type_text(c, imp_type(b)));
    if (c->bad)
        return;
    tn_value a1 = imp_roll(c, a, last, -1), b1 = imp_roll(c, b, last, -1), a2 = imp_roll(c, a, last, 1),
             b2 = imp_roll(c, b, last, 1);
    tn_value one = imp_binary(c, &tn_op_multiply, a1, b2), other = imp_binary(c, &tn_op_multiply, a2, b1);
    imp_out(c, 0, imp_binary(c, &tn_op_subtract, one, other));
}

// clang-format off
const imp_row tf_rows_linear[] = {
    {"Cross",                1, 0, 2, 1, cross,           NULL},
    {"DiagPart",             1, 0, 1, 1, diagonal,        NULL},
    {"LogMatrixDeterminant", 1, 0, 1, 2, log_determinant, NULL},
    {"MatrixDeterminant",    1, 0, 1, 1, determinant,     NULL},
    {"MatrixInverse",        1, 0, 1, 1, inverse,         NULL},
    {"MatrixSolve",          1, 0, 2, 1, solve,           NULL},
    {0},
};
// clang-format on
