/* Discrete Fourier transforms. */
#include "frontend/import/fourier.h"

#include "ir/eval.h"
#include "op/nn/nn.h"
#include "op/signal/signal.h"
#include "op/tensor/tensor.h"

#include <math.h>

/* (cos, sin) of 2 pi k / n; those of quarter turns are exact. */
static tn_value roots(imp_node *c, tn_dtype t, int64_t n)
{
    size_t size = tn_dtype_bytes(t);
    const int64_t dim[] = {n, 2};
    char *at = tn_arena_alloc(c->arena, 2 * (size_t)n * size, 8);
    for (int64_t k = 0; k < n; k++) {
        double angle = 2 * M_PI * ((double)k / (double)n);
        bool quarter = 4 * k % n == 0;
        int64_t turn = quarter ? 4 * k / n : 0;
        double part[2] = {quarter ? (turn == 0) - (turn == 2) : cos(angle),
                          quarter ? (turn == 1) - (turn == 3) : sin(angle)};
        for (int i = 0; i < 2; i++)
            tn_scalar_write(t, at + (2 * (size_t)k + (size_t)i) * size,
                            tn_eval_cast(TN_F64, t, (tn_scalar){.f = part[i]}));
    }
    return tn_val(tn_make_constant(c->g, c->im->r, NULL, t, 2, dim, at, NULL));
}

tn_value imp_fourier(imp_node *c, tn_value rows, int64_t n, bool inverse, bool onesided)
{
    tn_dft_attr a = {inverse, onesided};
    return c->bad ? rows : imp_call2(c, &tn_op_dft, &a, rows, roots(c, imp_type(rows)->dtype, n));
}

tn_value imp_fourier_last(imp_node *c, tn_value x, int64_t n, bool inverse, bool onesided)
{
    if (!c->bad && imp_rank(x) < 2)
        imp_refuse(c, IMP_BAD_VALUE, "a scalar is transformed; the model is damaged");
    if (c->bad)
        return x;
    const tn_type *t = imp_type(x);
    int r = t->n;
    const tn_expr *rows[3] = {imp_product(c, t, 0, r - 2), t->dim[r - 2], t->dim[r - 1]},
                  *dim[IMP_MAX_RANK + 1];
    for (int i = 0; i < r; i++)
        dim[i] = t->dim[i];
    tn_value y = imp_fourier(c, imp_reshape(c, x, 3, rows), n, inverse, onesided);
    if (c->bad)
        return y;
    dim[r - 2] = imp_type(y)->dim[1];
    dim[r - 1] = imp_type(y)->dim[2];
    return imp_reshape(c, y, (uint32_t)r, dim);
}

/* ---- of a length that only the run knows: a product with the matrix of roots, O(n^2) a row ---- */

/* 2 pi (j k mod n) / n in float64, for j < m and k < elements. */
static tn_value angles(imp_node *c, tn_value n, const tn_expr *m, const tn_expr *elements)
{
    tn_value j = imp_unsqueeze(c, imp_count_up(c, m), 1), k = imp_count_up(c, elements);
    tn_value turn = imp_binary(c, &tn_op_floor_mod, imp_binary(c, &tn_op_multiply, j, k), n);
    turn = imp_cast(c, turn, TN_F64);
    turn = imp_binary(c, &tn_op_divide, turn, imp_cast(c, n, TN_F64));
    return imp_binary(c, &tn_op_multiply, turn, imp_const(c, TN_F64, 2 * M_PI));
}

/* part 0 or 1 of rows [rows, n, 1 or 2] times the matrix [m, n]: [rows, m] */
static tn_value times(imp_node *c, tn_value rows, int64_t part, tn_value matrix)
{
    const tn_dense_attr a = {0};
    return imp_call2(c, &tn_op_nn_dense, &a, imp_squeeze(c, imp_slice(c, rows, 2, part, part + 1), 2),
                     matrix);
}

/* Frequencies of a real signal of length n stand for two each, but for the first and that of n / 2. */
static tn_value twice_inside(imp_node *c, tn_value rows, tn_value n)
{
    tn_dtype t = imp_type(rows)->dtype;
    tn_value k = imp_with(c, &tn_op_multiply, imp_count_up(c, imp_type(rows)->dim[1]), 2);
    tn_value once = imp_with(c, &tn_op_equal, imp_binary(c, &tn_op_floor_mod, k, n), 0);
    tn_value one = imp_const(c, t, 1), weight = imp_choose(c, once, one, imp_const(c, t, 2));
    return imp_binary(c, &tn_op_multiply, rows, imp_unsqueeze(c, weight, 1));
}

tn_value imp_fourier_any(imp_node *c, tn_value x, const tn_expr *n, tn_value length, bool inverse,
                         bool onesided)
{
    tn_dtype t = imp_sum_dtype(imp_type(x)->dtype);
    tn_value rows = imp_cast(c, x, t);
    bool real = tn_is_value(imp_type(rows)->dim[2], 1);
    tn_pool *p = c->pool;
    const tn_expr *half = imp_simplify(c, tn_add(p, tn_fdiv(p, n, tn_idx(p, 2)), tn_idx(p, 1)));
    tn_value turn = angles(c, length, onesided && !inverse ? half : n, imp_type(rows)->dim[1]);
    tn_value cosine = imp_cast(c, imp_unary(c, &tn_op_cos, turn), t),
             sine = imp_cast(c, imp_unary(c, &tn_op_sin, turn), t);
    rows = inverse && onesided ? twice_inside(c, rows, length) : rows;
    tn_value re = times(c, rows, 0, cosine), im = times(c, rows, 0, sine);
    if (!inverse)
        im = imp_unary(c, &tn_op_negative, im);
    if (!real) { /* i times the second part, turned the same way */
        const tn_op *turned = inverse ? &tn_op_subtract : &tn_op_add;
        re = imp_binary(c, turned, re, times(c, rows, 1, sine));
        im = imp_binary(c, &tn_op_add, im, times(c, rows, 1, cosine));
    }
    const tn_value part[] = {imp_unsqueeze(c, re, 2), imp_unsqueeze(c, im, 2)};
    tn_value y = imp_concat(c, inverse && onesided ? 1 : 2, part, 2);
    if (inverse)
        y = imp_binary(c, &tn_op_divide, y, imp_cast(c, length, t));
    return imp_cast(c, y, imp_type(x)->dtype);
}
