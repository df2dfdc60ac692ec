/* Forms of sparse tensors (forms.h). Lists of coordinates have a row for each element; matrices are rows of elements
 * with their columns and where each row begins (CSR), or rows of blocks (BSR). */
#include "frontend/tvm/forms.h"

#include "op/nn/nn.h"

static tn_value column(imp_node *c, tn_value at, int64_t i)
{
    return imp_squeeze(c, imp_slice(c, at, 1, i, i + 1), 1);
}

static tn_value element(imp_node *c, tn_value list, int64_t i)
{
    return imp_squeeze(c, imp_slice(c, list, 0, i, i + 1), 0);
}

/* v, repeated */
static tn_value filled(imp_node *c, tn_value v, int n, const tn_expr *const dim[])
{
    const tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)n, dim)};
    return imp_call1(c, &tn_op_broadcast_to, &a, v);
}

/* The order in which integers go up; equal ones keep theirs. */
static tn_value order_of(imp_node *c, tn_value list)
{
    return imp_unary(c, &tn_op_sort_rows, imp_unsqueeze(c, list, 1));
}

/* n zeros, and `add` to those at places `at`. */
static tn_value counted(imp_node *c, const tn_expr *n, tn_value at, tn_value add)
{
    static const tn_scatter_attr sum = {0, "add"};
    tn_value zeros = filled(c, imp_i64(c, 0), 1, &n);
    add = filled(c, add, 1, imp_type(at)->dim);
    return imp_call(c, &tn_op_scatter_elements, &sum, 3, (const tn_value[]){zeros, at, add});
}

/* ---- lists of coordinates ---- */

/* sparse_fill_empty_rows(indices, values, shape, default): int64; the indices are in order. */
static void fill_empty_rows(imp_node *c, form_call *f)
{
    tn_value at = imp_cast(c, imp_in(c, 0), TN_I64), v = imp_cast(c, imp_in(c, 1), TN_I64);
    tn_value shape = imp_cast(c, imp_in(c, 2), TN_I64), rest = imp_cast(c, imp_in(c, 3), TN_I64);
    int64_t rank = 0;
    for (uint32_t i = 0; i < 4 && !c->bad; i += 2) /* values become integers, as in TVM */
        if (!tn_dtype_is_int(imp_type(imp_in(c, i))->dtype))
            imp_refuse(c, IMP_OPERANDS, "%s needs integers, not %s", f->name,
                       imp_type_text(c, imp_type(imp_in(c, i))));
    if (!c->bad && (imp_rank(at) != 2 || imp_rank(v) != 1 ||
                    !imp_with_extent(c, &v, 0, imp_type(at)->dim[0]) || imp_rank(shape) != 1 ||
                    imp_length(rest) != 1 || !tn_is_int(imp_type(at)->dim[1], &rank) || rank < 1))
        imp_refuse(c, IMP_OPERANDS,
                   "%s needs a row for each element, the values, the shape and one more value", f->name);
    const tn_expr *rows = c->bad ? NULL : imp_extent_in(c, element(c, shape, 0), "the shape");
    if (c->bad)
        return;
    tn_value row = column(c, at, 0), one = imp_i64(c, 1), have = counted(c, rows, row, one);
    tn_value is_empty = imp_with(c, &tn_op_equal, have, 0), empty = imp_positions(c, is_empty);
    if (c->bad)
        return;
    const tn_expr *more[2] = {imp_type(empty)->dim[0], tn_idx(c->pool, rank - 1)};
    tn_value order = order_of(c, imp_concat(c, 2, (const tn_value[]){row, empty}, 0));
    tn_value first = imp_unsqueeze(c, empty, 1), zero = imp_i64(c, 0);
    tn_value filling =
        rank > 1 ? imp_concat(c, 2, (const tn_value[]){first, filled(c, zero, 2, more)}, 1) : first;
    tn_value all = imp_concat(c, 2, (const tn_value[]){at, filling}, 0);
    rest = filled(c, imp_reshape(c, rest, 0, NULL), 1, more);
    v = imp_concat(c, 2, (const tn_value[]){v, rest}, 0);
    imp_out(c, 0, imp_take(c, all, order, 0));
    imp_out(c, 1, imp_take(c, v, order, 0));
    imp_out(c, 2, imp_cast(c, is_empty, TN_I64));
}

/* The extents of a list, of which -1 is what the others leave of `all`. */
static void open_extent(imp_node *c, tn_value all, int64_t n, tn_value extent[])
{
    tn_value rest = imp_i64(c, 1), one = rest;
    for (int64_t i = 0; i < n; i++) {
        tn_value open = imp_with(c, &tn_op_equal, extent[i], -1);
        rest = imp_binary(c, &tn_op_multiply, rest, imp_choose(c, open, one, extent[i]));
    }
    for (int64_t i = 0; i < n; i++) {
        tn_value open = imp_with(c, &tn_op_equal, extent[i], -1);
        extent[i] = imp_choose(c, open, imp_binary(c, &tn_op_trunc_divide, all, rest), extent[i]);
    }
}

/* sparse_reshape(indices, shape, new shape): the same elements by other indices, and their shape. */
static void sparse_reshape(imp_node *c, form_call *f)
{
    const tn_value given = imp_in(c, 0), old = imp_in(c, 1), wanted = imp_in(c, 2);
    const int64_t n = imp_length(old), m = imp_length(wanted);
    tn_value at = imp_cast(c, given, TN_I64), from = imp_cast(c, old, TN_I64),
             to = imp_cast(c, wanted, TN_I64);
    tn_value extent[IMP_MAX_RANK], part[IMP_MAX_RANK], all = imp_i64(c, 1), place = imp_i64(c, 0);
    if (!c->bad && (imp_rank(at) != 2 || imp_rank(from) != 1 || imp_rank(to) != 1 || n < 1 || m < 1 ||
                    n > IMP_MAX_RANK || m > IMP_MAX_RANK || !tn_is_value(imp_type(at)->dim[1], n)))
        imp_refuse(c, IMP_OPERANDS, "%s needs a row for each element, and two shapes of up to %d dimensions",
                   f->name, IMP_MAX_RANK);
    for (int64_t i = 0; i < n && !c->bad; i++) {
        tn_value side = element(c, from, i);
        all = imp_binary(c, &tn_op_multiply, all, side);
        tn_value before = imp_binary(c, &tn_op_multiply, place, side);
        place = imp_binary(c, &tn_op_add, before, column(c, at, i));
    }
    for (int64_t i = 0; i < m && !c->bad; i++)
        extent[i] = element(c, to, i);
    if (c->bad)
        return;
    open_extent(c, all, m, extent);
    for (int64_t i = m - 1; i >= 0; i--) {
        part[i] = imp_unsqueeze(c, i ? imp_binary(c, &tn_op_floor_mod, place, extent[i]) : place, 1);
        place = imp_binary(c, &tn_op_floor_divide, place, extent[i]);
    }
    imp_out(c, 0, imp_cast(c, imp_concat(c, (uint32_t)m, part, 1), imp_type(given)->dtype));
    for (int64_t i = 0; i < m; i++)
        part[i] = imp_unsqueeze(c, extent[i], 0);
    imp_out(c, 1, imp_cast(c, imp_concat(c, (uint32_t)m, part, 0), imp_type(wanted)->dtype));
}

/* ---- matrices ---- */

typedef struct sparse { /* operands first, first + 1 and first + 2 */
    tn_value v, columns, begins;
    const tn_expr *rows; /* of blocks */
    int64_t high, wide;  /* blocks; 0: of elements */
} sparse;

static bool read_sparse(imp_node *c, const form_call *f, uint32_t first, sparse *s)
{
    *s = (sparse){.v = imp_in(c, first),
                  .columns = imp_cast(c, imp_in(c, first + 1), TN_I64),
                  .begins = imp_cast(c, imp_in(c, first + 2), TN_I64)};
    const tn_type *t = imp_type(s->v);
    if (!c->bad && ((t->n != 1 && t->n != 3) || imp_rank(s->columns) != 1 || imp_rank(s->begins) != 1 ||
                    (t->n == 3 && (!tn_is_int(t->dim[1], &s->high) || !tn_is_int(t->dim[2], &s->wide) ||
                                   s->high < 1 || s->wide < 1)) ||
                    !imp_with_extent(c, &s->columns, 0, t->dim[0])))
        imp_refuse(c, IMP_OPERANDS, "%s needs elements or blocks, their columns, and where rows begin",
                   f->name);
    if (!c->bad)
        s->rows = imp_simplify(c, tn_sub(c->pool, imp_type(s->begins)->dim[0], tn_idx(c->pool, 1)));
    return !c->bad;
}

/* The row of each element: how many rows have ended there. */
static tn_value rows_of(imp_node *c, const sparse *s)
{
    const tn_scan_attr along = {0, false, false};
    const tn_expr *n = imp_type(s->columns)->dim[0];
    const tn_expr *room = imp_simplify(c, tn_add(c->pool, n, tn_idx(c->pool, 1)));
    tn_value ends = imp_slice_to(c, s->begins, 0, tn_idx(c->pool, 1), s->rows), one = imp_i64(c, 1);
    if (c->bad)
        return ends;
    tn_value all = imp_call1(c, &tn_op_cumsum, &along, counted(c, room, ends, one));
    return imp_slice_to(c, all, 0, tn_idx(c->pool, 0), n);
}

/* `to` with the elements, or blocks, added where they belong. */
static tn_value put(imp_node *c, const sparse *s, tn_value to)
{
    static const tn_scatter_attr sum = {.reduction = "add"};
    tn_value row = imp_unsqueeze(c, rows_of(c, s), 1), place = imp_unsqueeze(c, s->columns, 1);
    tn_value at = imp_concat(c, 2, (const tn_value[]){row, place}, 1);
    return imp_call(c, &tn_op_scatter_nd, &sum, 3, (const tn_value[]){to, at, s->v});
}

/* As a matrix that has this many columns. */
static tn_value dense_of(imp_node *c, const form_call *f, const sparse *s, const tn_expr *columns)
{
    static const int64_t turn[] = {0, 2, 1, 3};
    int64_t known;
    tn_pool *p = c->pool;
    if (s->high && tn_is_int(columns, &known) && known % s->wide && !c->bad)
        imp_refuse(c, IMP_OPERANDS, "%s has blocks that do not fit the %lld columns", f->name,
                   (long long)known);
    tn_value zero = imp_const(c, imp_type(s->v)->dtype, 0);
    const tn_expr *dim[4] = {s->rows, columns, tn_idx(p, s->high), tn_idx(p, s->wide)};
    if (s->high)
        dim[1] = imp_simplify(c, tn_fdiv(p, columns, tn_idx(p, s->wide)));
    tn_value m = put(c, s, filled(c, zero, s->high ? 4 : 2, dim));
    if (!s->high || c->bad)
        return m;
    const tn_expr *all[2] = {imp_simplify(c, tn_mul(p, s->rows, tn_idx(p, s->high))), columns};
    return imp_reshape(c, imp_transpose(c, m, 4, turn), 2, all);
}

/* nn.sparse_dense(dense, sparse): dense * sparse^T; x: sparse * dense^T */
static void sparse_dense(imp_node *c, form_call *f)
{
    const tn_value x = imp_in(c, 0);
    const tn_dense_attr a = {0};
    sparse s;
    if (!c->bad && imp_rank(x) != 2)
        imp_refuse(c, IMP_OPERANDS, "%s needs a matrix", f->name);
    if (c->bad || !read_sparse(c, f, 1, &s))
        return;
    tn_value w = dense_of(c, f, &s, imp_type(x)->dim[1]);
    imp_out(c, 0, f->a.x ? imp_call2(c, &tn_op_nn_dense, &a, w, x) : imp_call2(c, &tn_op_nn_dense, &a, x, w));
}

/* nn.sparse_add(dense, sparse) */
static void sparse_add(imp_node *c, form_call *f)
{
    const tn_value x = imp_in(c, 0);
    sparse s;
    if (c->bad || !read_sparse(c, f, 1, &s))
        return;
    if (imp_rank(x) != 2 || s.high)
        imp_refuse(c, IMP_OPERANDS, "%s needs a matrix, and elements of another", f->name);
    else
        imp_out(c, 0, put(c, &s, x));
}

/* nn.sparse_transpose(elements, columns, where rows begin) of a square matrix */
static void sparse_transpose(imp_node *c, form_call *f)
{
    const tn_scan_attr along = {0, false, false};
    const tn_dtype to[2] = {imp_type(imp_in(c, 1))->dtype, imp_type(imp_in(c, 2))->dtype};
    sparse s;
    if (c->bad || !read_sparse(c, f, 0, &s))
        return;
    if (s.high)
        imp_refuse(c, IMP_OPERANDS, "%s needs elements, not blocks", f->name);
    tn_value order = order_of(c, s.columns), one = imp_i64(c, 1);
    tn_value next = imp_with(c, &tn_op_add, s.columns, 1);
    if (c->bad)
        return;
    tn_value begins = counted(c, imp_type(s.begins)->dim[0], next, one);
    begins = imp_call1(c, &tn_op_cumsum, &along, begins);
    imp_out(c, 0, imp_take(c, s.v, order, 0));
    imp_out(c, 1, imp_cast(c, imp_take(c, rows_of(c, &s), order, 0), to[0]));
    imp_out(c, 2, imp_cast(c, begins, to[1]));
}

TVM_READ(fill_empty_rows, 3)
TVM_READ(sparse_reshape, 2)
TVM_READ(sparse_dense, 1)
TVM_READ(sparse_add, 1)
TVM_READ(sparse_transpose, 3)

/* clang-format off */
static const tn_attr_field
    no_attrs[] = {FORM_END},
    sided[] = {FORM_ATTR(BOOL, "sparse_lhs", x, "False"), FORM_END};

const form tvm_forms_sparse[] = {
    {"sparse_fill_empty_rows", 4, 4, read_fill_empty_rows, no_attrs,
     "The elements of a sparse tensor with one more in each row that had none, and which rows these are."},
    {"sparse_reshape", 3, 3, read_sparse_reshape, no_attrs,
     "The indices of a sparse tensor in another shape, and that."},
    {"nn.sparse_dense", 4, 4, read_sparse_dense, sided, "The product of a matrix and a sparse one."},
    {"nn.sparse_add", 4, 4, read_sparse_add, no_attrs, "The sum of a matrix and a sparse one."},
    {"nn.sparse_transpose", 3, 3, read_sparse_transpose, no_attrs, "A sparse square matrix turned."},
    {0},
};
/* clang-format on */
