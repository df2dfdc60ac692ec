/* det: determinants by elimination with partial pivoting, one matrix a task: O(n^3). */
#include "op/code.h"

#include "op/tensor/tensor.h"

static tn_status det_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_float(g, n, 0));
    if (t->n < 2 || !tn_rule_agree(g, n, t->dim[t->n - 1], t->dim[t->n - 2]))
        return tn_rule_fail(g, n, "op-E008", "the last two dimensions of %s must be those of a square matrix",
                            tn_rule_type_text(g, t));
    return tn_rule_result(g, n, 0, t->dtype, t->n - 2, t->dim);
}

typedef struct matrix {
    tn_code c;
    const tn_expr *number, *size;
    uint32_t at, pivot, det;
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

static void eliminate(matrix *m, const tn_expr *k)
{
    tn_pool *p = m->c.p;
    tn_dtype t = m->c.f->buffer[m->at].dtype;
    const tn_expr *zero = tn_idx(p, 0), *one = tn_idx(p, 1), *none = tn_flt(p, t, 0);
    find_pivot(m, k);
    const tn_expr *row =
        tn_code_let(&m->c, "row", tn_cast(p, TN_IDX, tn_code_load(&m->c, m->pivot, 1, &zero)));
    const tn_expr *det = tn_code_load(&m->c, m->det, 1, &zero), *flip = tn_mul(p, det, tn_flt(p, t, -1));
    const tn_expr *pivot = tn_code_let(&m->c, "p", cell(m, row, k)), *same = tn_eq(p, row, k);
    tn_code_store(&m->c, m->det, 1, &zero, tn_mul(p, tn_select(p, same, det, flip), pivot));
    tn_body *back = m->c.at;
    const tn_expr *j = tn_code_for(&m->c, "j", m->size), *upper = tn_code_let(&m->c, "x", cell(m, k, j));
    const tn_expr *lower = tn_code_let(&m->c, "y", cell(m, row, j));
    put(m, k, j, lower);
    put(m, row, j, upper); /* the same row: what was there */
    m->c.at = back;
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

static void det_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    const tn_expr *var[TN_RULE_MAX_RANK], *from[TN_RULE_MAX_RANK], *batch = tn_idx(p, 1), *one = batch,
                                                                   *zero = tn_idx(p, 0);
    tn_tensor *t;
    matrix m = {.c = tn_code_open(te, n, 0, "det", &t), .size = in[0]->dim[in[0]->ndim - 1]};
    tn_dtype wide = tn_dtype_is_small(t->dtype) ? TN_F32 : t->dtype;
    out[0] = t;
    for (int i = 0; i < t->ndim; i++)
        batch = tn_mul(p, batch, t->dim[i]);
    const tn_expr *dim[3] = {tn_simplify(p, NULL, batch), m.size, m.size};
    m.at = tn_code_buffer(&m.c, "work", wide, 3, dim, TN_SCOPE_GLOBAL);
    tn_code_each(&m.c, t->ndim, t->dim, var);
    m.number = zero;
    for (int i = 0; i < t->ndim; i++) {
        m.number = tn_add(p, tn_mul(p, m.number, t->dim[i]), var[i]);
        from[i] = var[i];
    }
    m.pivot = tn_code_buffer(&m.c, "pivot", TN_I32, 1, &one, TN_SCOPE_REGISTER);
    m.det = tn_code_buffer(&m.c, "value", wide, 1, &one, TN_SCOPE_REGISTER);
    tn_body *back = m.c.at;
    tn_code_loops(&m.c, 2, dim + 1, from + t->ndim);
    put(&m, from[t->ndim], from[t->ndim + 1], tn_cast(p, wide, tn_at(te, in[0], in[0]->ndim, from)));
    m.c.at = back;
    tn_code_store(&m.c, m.det, 1, &zero, tn_flt(p, wide, 1));
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
/* clang-format on */
