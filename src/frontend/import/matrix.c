/* Products of matrices, of any format: as nn.dense where a weight is known when the model is compiled, else as
 * nn.batch_matmul; of quantised numbers as their kin. */
#include "frontend/import/matrix.h"

#include "op/nn/nn.h"
#include "op/qnn/qnn.h"
#include "op/tensor/tensor.h"

tn_value imp_transposed(imp_node *c, tn_value v)
{
    static const int64_t swap[] = {1, 0};
    return imp_transpose(c, v, 2, swap);
}

tn_value imp_transposed_if(imp_node *c, tn_value v, bool is)
{
    int64_t perm[IMP_MAX_RANK];
    int n = imp_rank(v);
    for (int i = 0; i < n; i++)
        perm[i] = i < n - 2 ? i : 2 * n - 3 - i;
    return is && n >= 2 ? imp_transpose(c, v, n, perm) : v;
}

/* Operands of quantised products: zero points, and scales that are not applied here. */
static tn_value quantised_product(imp_node *c, const tn_op *op, const void *attr, tn_value x, tn_value y,
                                  const imp_zeros *z)
{
    tn_value one = imp_const(c, TN_F32, 1), in[] = {x, y, z->a, z->b, one, one};
    return imp_call(c, op, attr, 6, in);
}

tn_value imp_dense(imp_node *c, tn_value x, tn_value weight, const imp_zeros *z)
{
    tn_dense_attr a = {.out_dtype = z ? TN_I32 : (tn_dtype){0}};
    if (imp_rank(weight) == 2)
        (void)tn_is_int(imp_type(weight)->dim[0], &a.units);
    return z ? quantised_product(c, &tn_op_qnn_dense, &a, x, weight, z)
             : imp_call2(c, &tn_op_nn_dense, &a, x, weight);
}

bool imp_is_constant(tn_value v) { return v.def && tn_op_is(v.def, &tn_op_constant); }

/* A constant, or a quantised one as real numbers: known when the model is compiled. */
static bool is_weight(tn_value v)
{
    return imp_is_constant(v) ||
           (v.def && tn_op_is(v.def, &tn_op_qnn_dequantize) && imp_is_constant(tn_in(v.def, 0)));
}

static tn_value batch_matmul(imp_node *c, tn_value a, tn_value b, const imp_zeros *z)
{
    tn_matmul_attr plain = {.out_dtype = z ? TN_I32 : (tn_dtype){0}};
    return z ? quantised_product(c, &tn_op_qnn_batch_matmul, &plain, a, b, z)
             : imp_call2(c, &tn_op_nn_batch_matmul, &plain, a, b);
}

/* A leading dimension of the product, to which an operand that has another is broadcast; NULL: they do not fit. */
static const tn_expr *batch_dim(imp_node *c, const tn_type *t, const tn_type *u, int i, int rank)
{
    const tn_expr *one = tn_idx(c->pool, 1);
    const tn_expr *a = i < rank - t->n ? one : t->dim[i - (rank - t->n)],
                  *b = i < rank - u->n ? one : u->dim[i - (rank - u->n)];
    return tn_broadcast_extent(c->g, c->im->r, c->loc, a, b);
}

/* v with its leading dimensions repeated to batch[0..rank-2) and then made one. */
static tn_value as_batch(imp_node *c, tn_value v, const tn_expr *const batch[], int rank)
{
    const tn_type *t = imp_type(v);
    const tn_expr *dim[IMP_MAX_RANK + 2], *flat[3] = {tn_idx(c->pool, 1)};
    bool same = t->n == rank, single = true;
    for (int i = 0; i < rank - 2; i++) {
        same = same && t->dim[i] == batch[i];
        flat[0] = tn_mul(c->pool, flat[0], batch[i]);
        dim[i] = batch[i];
    }
    for (int i = 0; i < t->n - 2; i++)
        single = single && tn_is_value(t->dim[i], 1);
    if (t->n == 3 && rank == 3) /* nn.batch_matmul repeats matrices itself */
        return v;
    dim[rank - 2] = flat[1] = t->dim[t->n - 2];
    dim[rank - 1] = flat[2] = t->dim[t->n - 1];
    if (single && !same) {
        flat[0] = tn_idx(c->pool, 1);
    } else if (!same) {
        tn_broadcast_to_attr to = {tn_dims_make(c->arena, (uint32_t)rank, dim)};
        v = imp_call1(c, &tn_op_broadcast_to, &to, v);
    }
    flat[0] = imp_simplify(c, flat[0]);
    return imp_rank(v) == 3 && imp_type(v)->dim[0] == flat[0] ? v : imp_reshape(c, v, 3, flat);
}

/* Both operands have at least two dimensions. */
static tn_value product(imp_node *c, tn_value a, tn_value b, const imp_zeros *z)
{
    const tn_type *t = imp_type(a), *u = imp_type(b);
    const tn_expr *batch[IMP_MAX_RANK];
    if (u->n == 2 && is_weight(b))
        return imp_dense(c, a, imp_transposed(c, b), z);
    int rank = t->n > u->n ? t->n : u->n;
    const tn_expr *dim[IMP_MAX_RANK];
    for (int i = 0; i < rank - 2; i++) {
        dim[i] = batch[i] = batch_dim(c, t, u, i, rank);
        if (!batch[i]) {
            imp_refuse(c, IMP_TOO_LARGE, "the leading dimensions of %s and %s do not broadcast",
                       imp_type_text(c, t), imp_type_text(c, u));
            return (tn_value){0};
        }
    }
    dim[rank - 2] = t->dim[t->n - 2];
    dim[rank - 1] = u->dim[u->n - 1];
    if (u->n == 2) { /* one matrix for all rows */
        const tn_expr *one = tn_idx(c->pool, 1),
                      *rows[3] = {one, imp_product(c, t, 0, t->n - 1), t->dim[t->n - 1]};
        const tn_expr *columns[3] = {one, u->dim[0], u->dim[1]};
        a = imp_reshape(c, a, 3, rows);
        b = imp_reshape(c, b, 3, columns);
        return imp_reshape(c, batch_matmul(c, a, b, z), rank, dim);
    }
    a = as_batch(c, a, batch, rank);
    b = as_batch(c, b, batch, rank);
    tn_value y = batch_matmul(c, a, b, z);
    return rank == 3 ? y : imp_reshape(c, y, rank, dim);
}

/* A vector is a row on the left, a column on the right; that dimension is dropped again. */
tn_value imp_matmul(imp_node *c, tn_value a, tn_value b, const imp_zeros *z)
{
    bool row = imp_rank(a) == 1, column = imp_rank(b) == 1;
    if (!c->bad && (imp_rank(a) == 0 || imp_rank(b) == 0))
        imp_refuse(c, IMP_TOO_LARGE, "an operand of %s is a scalar; the model is damaged", c->row->op);
    if (c->bad)
        return (tn_value){0};
    a = row ? imp_call1(c, &tn_op_expand_dims, &(tn_expand_dims_attr){0, 1}, a) : a;
    b = column ? imp_call1(c, &tn_op_expand_dims, &(tn_expand_dims_attr){1, 1}, b) : b;
    if (c->bad)
        return (tn_value){0};
    tn_value y = product(c, a, b, z);
    int64_t drop[2], n = 0;
    if (row)
        drop[n++] = imp_rank(y) - 2;
    if (column)
        drop[n++] = imp_rank(y) - 1;
    tn_squeeze_attr s = {tn_ints_make(c->arena, (uint32_t)n, drop)};
    return n ? imp_call1(c, &tn_op_squeeze, &s, y) : y;
}

/* ---- diagonals ---- */

/* How long diagonal k of a matrix is. */
static const tn_expr *diagonal_length(imp_node *c, const tn_expr *rows, const tn_expr *columns, int64_t k)
{
    tn_pool *p = c->pool;
    const tn_expr *a = tn_sub(p, rows, tn_idx(p, k < 0 ? -k : 0)),
                  *b = tn_sub(p, columns, tn_idx(p, k > 0 ? k : 0));
    return imp_simplify(c, tn_max(p, tn_min(p, a, b), tn_idx(p, 0)));
}

tn_value imp_diagonal(imp_node *c, tn_value x, int64_t k)
{
    const tn_type *t = imp_type(x);
    const tn_expr *dim[IMP_MAX_RANK];
    int r = t->n;
    if (!c->bad && r < 2)
        imp_refuse(c, IMP_OPERANDS, "%s has no diagonal: it needs two dimensions", imp_type_text(c, t));
    if (c->bad)
        return x;
    const tn_expr *n = diagonal_length(c, t->dim[r - 2], t->dim[r - 1], k);
    tn_value columns = imp_extent_of(c, x, r - 1), step = imp_with(c, &tn_op_add, columns, 1);
    tn_value first = k < 0 ? imp_with(c, &tn_op_multiply, columns, (double)-k) : imp_i64(c, k);
    tn_value at = imp_binary(c, &tn_op_multiply, imp_count_up(c, n), step);
    at = imp_binary(c, &tn_op_add, at, first);
    for (int i = 0; i < r - 2; i++)
        dim[i] = t->dim[i];
    dim[r - 2] = imp_product(c, t, r - 2, r);
    return imp_take(c, imp_reshape(c, x, (uint32_t)r - 1, dim), at, r - 2);
}

/* `rest`, of a shape that ends in rows and columns or broadcasts to it, with d on diagonal k. */
static tn_value on_diagonal(imp_node *c, tn_value d, int64_t k, const tn_expr *rows, const tn_expr *columns,
                            tn_value rest)
{
    int r = imp_rank(d);
    tn_value row = imp_unsqueeze(c, imp_count_up(c, rows), 1), column = imp_count_up(c, columns);
    tn_value is = imp_binary(c, &tn_op_equal, imp_with(c, &tn_op_add, row, (double)k), column);
    const tn_expr *zero = tn_idx(c->pool, 0), *width[2 * IMP_MAX_RANK];
    for (int i = 0; i < 2 * r; i++)
        width[i] = i == 2 * r - 1 ? tn_idx(c->pool, 1) : zero;
    tn_pad_attr more = {tn_dims_make(c->arena, 2 * (uint32_t)r, width), 0, "constant"};
    tn_value at = imp_count_up(c, k < 0 ? columns : rows); /* which number of the diagonal stands there */
    at = imp_binary(c, &tn_op_minimum, at, imp_extent_of(c, d, r - 1)); /* behind the last: any */
    tn_value wide = imp_take(c, imp_call1(c, &tn_op_nn_pad, &more, d), at, r - 1);
    wide = imp_unsqueeze(c, wide, k < 0 ? r - 1 : r);
    return imp_choose(c, is, wide, rest);
}

tn_value imp_diagonal_matrix(imp_node *c, tn_value d, int64_t k, const tn_expr *rows, const tn_expr *columns,
                             tn_value rest)
{
    const tn_type *t = imp_type(d);
    if (!c->bad && t->n < 1)
        imp_refuse(c, IMP_OPERANDS, "a number is no diagonal: it needs a dimension");
    if (c->bad)
        return d;
    const tn_expr *n = t->dim[t->n - 1], *far = tn_add(c->pool, n, tn_idx(c->pool, k < 0 ? -k : k));
    bool square = !rows && !columns;
    far = imp_simplify(c, far);
    rows = rows ? rows : square || k < 0 ? far : n;
    columns = columns ? columns : square || k > 0 ? far : n;
    return on_diagonal(c, d, k, rows, columns, rest);
}

tn_value imp_with_diagonal(imp_node *c, tn_value x, tn_value d, int64_t k)
{
    const tn_type *t = imp_type(x);
    if (!c->bad && (t->n < 2 || imp_rank(d) != t->n - 1))
        imp_refuse(c, IMP_OPERANDS, "%s cannot have the diagonal %s", imp_type_text(c, t),
                   imp_type_text(c, imp_type(d)));
    if (!c->bad)
        (void)imp_with_extent(c, &d, t->n - 2, diagonal_length(c, t->dim[t->n - 2], t->dim[t->n - 1], k));
    return c->bad ? x : on_diagonal(c, d, k, t->dim[t->n - 2], t->dim[t->n - 1], x);
}
