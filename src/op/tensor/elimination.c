/* det, inverse: elimination with partial pivoting, one matrix a task: O(n^3). */
#include "op/code.h"

#include "op/tensor/tensor.h"

static tn_status square(tn_graph *g, tn_node *n, const tn_type **out)
{
    TN_TRY(tn_rule_tensor(g, n, 0, -1, out));
    TN_TRY(tn_rule_float(g, n, 0));
    const tn_type *t = *out;
    if (t->n < 2 || !tn_rule_agree(g, n, t->dim[t->n - 1], t->dim[t->n - 2]))
        return tn_rule_fail(g, n, "op-E008", "the last two dimensions of %s must be those of a square matrix",
                            tn_rule_type_text(g, t));
    return TN_OK;
}

static tn_status det_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t;
    TN_TRY(square(g, n, &t));
    return tn_rule_result(g, n, 0, t->dtype, t->n - 2, t->dim);
}

static tn_status inverse_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t;
    TN_TRY(square(g, n, &t));
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

typedef struct matrix {
    tn_code c;
    const tn_expr *number, *size;
    uint32_t at, pivot, det;
    tn_dtype wide; /* of the arithmetic */
} matrix;

static const tn_expr *cell(matrix *m, const tn_expr *i, const tn_expr *j)
{
    const tn_expr *index[3] = {m->number, i, j};
    return tn_code_load(&m->c, m->at, 3, index);
}

static void put(matrix *m, const tn_expr *i, const tn_expr *j, const tn_expr *v)
{
    const tn_expr *index[3] = {m->number, i, j};
    tn_code_store(&m->c, m->at, 3, index, v);
}

/* The row from k on with the largest element in column k, to the register. */
static void find_pivot(matrix *m, const tn_expr *k)
{
    tn_pool *p = m->c.p;
    const tn_expr *zero = tn_idx(p, 0), *row = tn_cast(p, TN_IDX, tn_code_load(&m->c, m->pivot, 1, &zero));
    tn_body *back = m->c.at;
    tn_code_store(&m->c, m->pivot, 1, &zero, tn_cast(p, TN_I32, k));
    const tn_expr *i = tn_add(p, tn_code_for(&m->c, "i", tn_sub(p, m->size, k)), k);
    const tn_expr *best = tn_intrinsic1(p, TN_F_abs, cell(m, row, k)),
                  *x = tn_intrinsic1(p, TN_F_abs, cell(m, i, k));
    const tn_expr *better = tn_code_let(&m->c, "better", tn_lt(p, best, x));
    tn_code_if(&m->c, better);
    tn_code_store(&m->c, m->pivot, 1, &zero, tn_cast(p, TN_I32, i));
    m->c.at = back;
}

/* Row k and the one with the largest element of column k from there on change places; the latter's number before. */
static const tn_expr *swap_rows(matrix *m, const tn_expr *k, const tn_expr *columns)
{
    tn_pool *p = m->c.p;
    const tn_expr *zero = tn_idx(p, 0);
    find_pivot(m, k);
    const tn_expr *row =
        tn_code_let(&m->c, "row", tn_cast(p, TN_IDX, tn_code_load(&m->c, m->pivot, 1, &zero)));
    tn_body *back = m->c.at;
    const tn_expr *j = tn_code_for(&m->c, "j", columns), *upper = tn_code_let(&m->c, "x", cell(m, k, j));
    const tn_expr *lower = tn_code_let(&m->c, "y", cell(m, row, j));
    put(m, k, j, lower);
    put(m, row, j, upper); /* the same row: what was there */
    m->c.at = back;
    return row;
}

static void eliminate(matrix *m, const tn_expr *k)
{
    tn_pool *p = m->c.p;
    tn_dtype t = m->c.f->buffer[m->at].dtype;
    const tn_expr *zero = tn_idx(p, 0), *one = tn_idx(p, 1), *none = tn_flt(p, t, 0);
    const tn_expr *row = swap_rows(m, k, m->size);
    const tn_expr *det = tn_code_load(&m->c, m->det, 1, &zero), *flip = tn_mul(p, det, tn_flt(p, t, -1));
    const tn_expr *pivot = tn_code_let(&m->c, "p", cell(m, k, k)), *same = tn_eq(p, row, k);
    tn_code_store(&m->c, m->det, 1, &zero, tn_mul(p, tn_select(p, same, det, flip), pivot));
    tn_body *back = m->c.at;
    if (tn_is_value(m->size, 1))
        return;
    const tn_expr *rest = tn_sub(p, tn_sub(p, m->size, k), one);
    const tn_expr *i = tn_add(p, tn_add(p, k, one), tn_code_for(&m->c, "i", rest));
    const tn_expr *safe = tn_select(p, tn_eq(p, pivot, none), tn_flt(p, t, 1), pivot);
    const tn_expr *factor = tn_code_let(&m->c, "f", tn_bin(p, TN_E_DIV, cell(m, i, k), safe));
    const tn_expr *c = tn_add(p, tn_add(p, k, one), tn_code_for(&m->c, "j", rest));
    put(m, i, c, tn_sub(p, cell(m, i, c), tn_mul(p, factor, cell(m, k, c))));
    m->c.at = back;
}

/* Column k of the matrix becomes that of the identity, in all rows of [matrix, what becomes the inverse]. */
static void reduce(matrix *m, const tn_expr *k)
{
    tn_pool *p = m->c.p;
    const tn_expr *columns = tn_mul(p, m->size, tn_idx(p, 2));
    swap_rows(m, k, columns);
    const tn_expr *pivot = tn_code_let(&m->c, "p", cell(m, k, k));
    tn_body *back = m->c.at;
    const tn_expr *j = tn_code_for(&m->c, "j", columns);
    put(m, k, j, tn_bin(p, TN_E_DIV, cell(m, k, j), pivot));
    m->c.at = back;
    const tn_expr *i = tn_code_for(&m->c, "i", m->size), *factor = tn_code_let(&m->c, "f", cell(m, i, k));
    tn_code_if(&m->c, tn_not(p, tn_eq(p, i, k)));
    j = tn_code_for(&m->c, "j", columns);
    put(m, i, j, tn_sub(p, cell(m, i, j), tn_mul(p, factor, cell(m, k, j))));
    m->c.at = back;
}

/* Opens the body: one task for each matrix, whose `columns` columns lie in work memory; var: the matrix's indices. */
static matrix open_matrix(tn_te *te, const tn_node *n, const tn_tensor *in, const char *name, int64_t times,
                          const tn_expr *var[], tn_tensor **out)
{
    tn_pool *p = te->pool;
    const tn_expr *batch = tn_idx(p, 1), *one = batch;
    int outer = in->ndim - 2;
    matrix m = {.c = tn_code_open(te, n, 0, name, out), .size = in->dim[in->ndim - 1]};
    m.wide = tn_dtype_is_small((*out)->dtype) ? TN_F32 : (*out)->dtype;
    for (int i = 0; i < outer; i++)
        batch = tn_mul(p, batch, in->dim[i]);
    const tn_expr *dim[3] = {tn_simplify(p, NULL, batch), m.size, tn_mul(p, m.size, tn_idx(p, times))};
    m.at = tn_code_buffer(&m.c, "work", m.wide, 3, dim, TN_SCOPE_GLOBAL);
    tn_code_each(&m.c, outer, in->dim, var);
    m.number = tn_idx(p, 0);
    for (int i = 0; i < outer; i++)
        m.number = tn_add(p, tn_mul(p, m.number, in->dim[i]), var[i]);
    m.pivot = tn_code_buffer(&m.c, "pivot", TN_I32, 1, &one, TN_SCOPE_REGISTER);
    return m;
}

static void inverse_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    const tn_expr *var[TN_RULE_MAX_RANK];
    matrix m = open_matrix(te, n, in[0], "inverse", 2, var, &out[0]);
    int outer = in[0]->ndim - 2;
    const tn_expr **i = var + outer, **j = i + 1;
    tn_body *back = m.c.at;
    tn_code_loops(&m.c, 2, in[0]->dim + outer, i);
    const tn_expr *x = tn_at(te, in[0], in[0]->ndim, var);
    put(&m, *i, *j, tn_cast(p, m.wide, x));
    put(&m, *i, tn_add(p, *j, m.size),
        tn_select(p, tn_eq(p, *i, *j), tn_flt(p, m.wide, 1), tn_flt(p, m.wide, 0)));
    m.c.at = back;
    reduce(&m, tn_code_for(&m.c, "k", m.size));
    m.c.at = back;
    tn_code_loops(&m.c, 2, in[0]->dim + outer, i);
    const tn_expr *y = cell(&m, *i, tn_add(p, *j, m.size));
    tn_code_store(&m.c, out[0]->buffer, in[0]->ndim, var, tn_cast(p, out[0]->dtype, y));
}

static void det_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    const tn_expr *var[TN_RULE_MAX_RANK], *one = tn_idx(p, 1), *zero = tn_idx(p, 0);
    matrix m = open_matrix(te, n, in[0], "det", 1, var, &out[0]);
    const tn_tensor *t = out[0];
    const tn_expr **i = var + t->ndim;
    m.det = tn_code_buffer(&m.c, "value", m.wide, 1, &one, TN_SCOPE_REGISTER);
    tn_body *back = m.c.at;
    tn_code_loops(&m.c, 2, in[0]->dim + t->ndim, i);
    put(&m, i[0], i[1], tn_cast(p, m.wide, tn_at(te, in[0], in[0]->ndim, var)));
    m.c.at = back;
    tn_code_store(&m.c, m.det, 1, &zero, tn_flt(p, m.wide, 1));
    eliminate(&m, tn_code_for(&m.c, "k", m.size));
    m.c.at = back;
    tn_code_store(&m.c, t->buffer, t->ndim, var, tn_cast(p, t->dtype, tn_code_load(&m.c, m.det, 1, &zero)));
}

/* clang-format off */
static const char *const data_in[] = {"data"};

const tn_op tn_op_det = {
    .name = "det", .doc = "Determinants of square matrices, the last two dimensions.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = data_in,
    .infer = det_infer, .body = det_body,
};

const tn_op tn_op_inverse = {
    .name = "inverse", .doc = "Inverses of square matrices, the last two dimensions; of singular ones not numbers.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = data_in,
    .infer = inverse_infer, .body = inverse_body,
};
/* clang-format on */
