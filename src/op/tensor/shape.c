/* Operators that leave row-major data as it is and only change its shape (they share storage), and shape_of.
 * */
#include "op/rule.h"

#include "op/gradient.h"
#include "op/tensor/tensor.h"

/* ---- what they share ---- */

static void reshape_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_expr *index[TN_RULE_MAX_RANK];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "reshape", "injective", NULL);
    tn_rule_reshape_index(te->pool, (tn_dims){in[0]->ndim, in[0]->dim}, (tn_dims){t->ndim, t->dim}, t->axis,
                          index);
    tn_te_define(te, t, tn_at(te, in[0], in[0]->ndim, index));
}

/* The elements of a shape tensor stay the same. */
static bool same_shape_value(tn_graph *g, const tn_node *n, const tn_dims in[], tn_dims out[])
{
    (void)g;
    (void)n;
    out[0] = in[0];
    return in[0].at != NULL;
}

/* clang-format off */
#define RESHAPE_LIKE \
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP | TN_OP_SHARES | TN_OP_HOST_INDEX, \
        .fuse = TN_FUSE_INJECTIVE, \
    .in_name = data_in, .compute = reshape_compute, .shape_value = same_shape_value, .simplify = tn_simplify_shares, \
    .gradient = tn_gradient_shares, .moves_to = tn_rule_reshape_moves
static const char *const data_in[] = {"data"};
/* clang-format on */

/* ---- reshape ---- */

/* Factors of a product of dimensions; equal ones of two products cancel, whatever they are. */
enum { FACTOR_DEPTH = 3, MAX_FACTORS = TN_RULE_MAX_RANK << FACTOR_DEPTH };
typedef struct factors {
    int n;
    const tn_expr *at[MAX_FACTORS];
} factors;

static void add_factors(factors *f, const tn_expr *e, int depth)
{
    if (e->kind == TN_E_MUL && depth > 0) {
        add_factors(f, e->src[0], depth - 1);
        add_factors(f, e->src[1], depth - 1);
    } else {
        f->at[f->n++] = e;
    }
}

static const tn_expr *product(tn_pool *p, const factors *f)
{
    const tn_expr *e = tn_idx(p, 1);
    for (int i = 0; i < f->n; i++)
        e = f->at[i] ? tn_mul(p, e, f->at[i]) : e;
    return e;
}

/* Two products without their common factors. */
static void cancel(tn_pool *p, factors *a, factors *b, const tn_expr **num, const tn_expr **den)
{
    for (int j = 0; j < b->n; j++)
        for (int i = 0; i < a->n; i++)
            if (b->at[j] && a->at[i] == b->at[j])
                a->at[i] = b->at[j] = NULL;
    *num = product(p, a);
    *den = product(p, b);
}

/* Replaces 0 (keep the dimension, unless allowzero) and -1 (what is left, rounded down) of newshape by dimensions.
 * false: *wrong is the number of an entry that cannot stand there. */
static bool resolve(tn_graph *g, const tn_type *t, const tn_reshape_attr *a, const tn_expr *dim[],
                    uint32_t *wrong)
{
    factors have = {0}, want = {0};
    const tn_expr *num, *den;
    int open = -1;
    for (uint32_t i = 0; i < a->newshape.n; i++) {
        *wrong = i;
        dim[i] = a->newshape.at[i];
        if (tn_is_value(dim[i], 0) && !a->allowzero && i < t->n)
            dim[i] = t->dim[i];
        else if (tn_is_value(dim[i], -1) && open < 0)
            open = (int)i;
        else if (dim[i]->kind == TN_E_INT && dim[i]->u.i < !a->allowzero)
            return false;
        if ((int)i != open)
            add_factors(&want, dim[i], FACTOR_DEPTH);
    }
    if (open < 0)
        return true;
    for (int i = 0; i < t->n; i++)
        add_factors(&have, t->dim[i], FACTOR_DEPTH);
    cancel(g->pool, &have, &want, &num, &den);
    *wrong = (uint32_t)open;
    if (tn_is_value(den, 0))
        return false;
    den = tn_max(g->pool, den, tn_idx(g->pool, 1)); /* h/2 may be 0, which the run refuses */
    dim[open] = tn_simplify_extent(g, tn_fdiv(g->pool, num, den));
    return true;
}

/* Have two shapes equally many elements? An extent that may be 0 cancels, too: more is asked then than is needed. */
static bool same_elements(tn_graph *g, const tn_node *n, const tn_type *a, const tn_type *b)
{
    const tn_expr *had = tn_type_count(g->pool, a), *has = tn_type_count(g->pool, b);
    factors have = {0}, want = {0};
    if (!had || !has)
        return false;
    if (tn_rule_dim_eq(g, had, has))
        return true;
    for (int i = 0; i < a->n; i++)
        add_factors(&have, a->dim[i], FACTOR_DEPTH);
    for (int i = 0; i < b->n; i++)
        add_factors(&want, b->dim[i], FACTOR_DEPTH);
    cancel(g->pool, &have, &want, &had, &has);
    return g->assumes ? tn_rule_agree(g, n, had, has) : tn_rule_settled(g, n, had, has);
}

bool tn_reshape_known(tn_graph *g, tn_region *r, tn_value data, const tn_reshape_attr *a, const tn_loc *loc,
                      tn_dims *out)
{
    tn_node n = {.op = &tn_op_reshape, .owner = r, .attr = a, .loc = loc};
    const tn_type *t = tn_value_type(data);
    const tn_expr *dim[TN_RULE_MAX_RANK];
    uint32_t wrong;
    if (a->newshape.n > TN_RULE_MAX_RANK || t->kind != TN_T_TENSOR || !resolve(g, t, a, dim, &wrong))
        return true; /* an error, whatever the extents are */
    *out = tn_dims_make(g->arena, a->newshape.n, dim);
    const tn_type *to = tn_type_tensor(g->pool, t->dtype, (int)out->n, dim, NULL);
    const tn_expr *had = tn_type_count(g->pool, t), *has = tn_type_count(g->pool, to);
    return !had || !has || same_elements(g, &n, t, to) ||
           tn_is_value(tn_simplify_extent(g, tn_eq(g->pool, had, has)), 0);
}

static tn_status reshape_infer(tn_graph *g, tn_node *n)
{
    const tn_reshape_attr *a = n->attr;
    const tn_type *t;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    uint32_t wrong;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (a->newshape.n > TN_RULE_MAX_RANK)
        return tn_rule_fail(g, n, "op-E003", "newshape has %u dimensions; at most %d are supported",
                            (unsigned)a->newshape.n, TN_RULE_MAX_RANK);
    if (!resolve(g, t, a, dim, &wrong))
        return tn_rule_fail(g, n, "op-E007",
                            "newshape[%u] is %lld; extents, 0 (keep, only where data has that dimension) "
                            "and one -1 (the rest, but not beside an extent of 0) are allowed",
                            (unsigned)wrong, (long long)a->newshape.at[wrong]->u.i);
    TN_TRY(tn_rule_result(g, n, 0, t->dtype, (int)a->newshape.n, dim));
    if (!same_elements(g, n, t, n->type[0]))
        return tn_rule_fail(g, n, "op-E014",
                            "%s and the new shape %s do not have the same number of elements",
                            tn_rule_type_text(g, t), tn_rule_type_text(g, n->type[0]));
    tn_reshape_attr resolved = {{n->type[0]->n, n->type[0]->dim}, false};
    for (int i = 0; i < n->type[0]->n; i++) /* so that inferring again gives the same */
        resolved.allowzero |= tn_is_value(n->type[0]->dim[i], 0);
    tn_rule_set_attr(g, n, &resolved);
    return TN_OK;
}

/* clang-format off */
static const tn_attr_field reshape_fields[] = TN_ATTR_TABLE(tn_reshape_attr, TN_RESHAPE_ATTRS);

const tn_op tn_op_reshape = {
    .name = "reshape", .doc = "The same elements, row by row, in another shape.",
    .attr_size = sizeof(tn_reshape_attr), .attr = reshape_fields, RESHAPE_LIKE, .infer = reshape_infer,
};
/* clang-format on */

/* ---- expand_dims, squeeze ---- */

static tn_status expand_dims_infer(tn_graph *g, tn_node *n)
{
    const tn_expand_dims_attr *a = n->attr;
    const tn_type *t;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    int axis, rank = 0;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (a->num_newaxis < 0 || a->num_newaxis > TN_RULE_MAX_RANK - t->n)
        return tn_rule_fail(g, n, "op-E007", "num_newaxis is %lld; at most %d dimensions are supported",
                            (long long)a->num_newaxis, TN_RULE_MAX_RANK);
    TN_TRY(tn_rule_axis(g, n, a->axis, t->n + 1, &axis));
    for (int i = 0; i <= t->n; i++) {
        for (int64_t k = 0; i == axis && k < a->num_newaxis; k++)
            dim[rank++] = tn_idx(g->pool, 1);
        if (i < t->n)
            dim[rank++] = t->dim[i];
    }
    return tn_rule_result(g, n, 0, t->dtype, rank, dim);
}

/* clang-format off */
static const tn_attr_field expand_dims_fields[] = TN_ATTR_TABLE(tn_expand_dims_attr, TN_EXPAND_DIMS_ATTRS);

const tn_op tn_op_expand_dims = {
    .name = "expand_dims", .doc = "Inserts dimensions of extent 1.",
    .attr_size = sizeof(tn_expand_dims_attr), .attr = expand_dims_fields, RESHAPE_LIKE,
        .infer = expand_dims_infer,
};
/* clang-format on */

static tn_status squeeze_infer(tn_graph *g, tn_node *n)
{
    const tn_squeeze_attr *a = n->attr;
    const tn_type *t;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    bool gone[TN_RULE_MAX_RANK];
    int rank = 0;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_axes(g, n, a->axis, t->n, gone));
    for (int i = 0; i < t->n; i++) {
        if (gone[i] && !tn_rule_agree(g, n, t->dim[i], tn_idx(g->pool, 1)))
            return tn_rule_fail(g, n, "op-E008", "axis %d of %s has extent %s, not 1", i,
                                tn_rule_type_text(g, t), tn_rule_dim_text(g, t->dim[i]));
        if (a->axis.n ? !gone[i] : !tn_is_value(t->dim[i], 1))
            dim[rank++] = t->dim[i];
    }
    return tn_rule_result(g, n, 0, t->dtype, rank, dim);
}

/* clang-format off */
static const tn_attr_field squeeze_fields[] = TN_ATTR_TABLE(tn_squeeze_attr, TN_SQUEEZE_ATTRS);

const tn_op tn_op_squeeze = {
    .name = "squeeze", .doc = "Drops dimensions of extent 1.",
    .attr_size = sizeof(tn_squeeze_attr), .attr = squeeze_fields, RESHAPE_LIKE, .infer = squeeze_infer,
};
/* clang-format on */

/* ---- nn.batch_flatten ---- */

static tn_status batch_flatten_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (t->n < 1)
        return tn_rule_fail(g, n, "op-E003", "data must have at least 1 dimension, but is %s",
                            tn_rule_type_text(g, t));
    const tn_expr *dim[2] = {t->dim[0], tn_idx(g->pool, 1)};
    for (int i = 1; i < t->n; i++)
        dim[1] = tn_mul(g->pool, dim[1], t->dim[i]);
    return tn_rule_result(g, n, 0, t->dtype, 2, dim);
}

/* clang-format off */
const tn_op tn_op_nn_batch_flatten = {
    .name = "nn.batch_flatten", .doc = "All dimensions but the first become one.", RESHAPE_LIKE,
        .infer = batch_flatten_infer,
};
/* clang-format on */

/* ---- shape_of ---- */

static tn_status shape_of_infer(tn_graph *g, tn_node *n)
{
    const tn_cast_attr *a = n->attr;
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (!tn_dtype_is_int(a->dtype))
        return tn_rule_fail(g, n, "op-E011", "dtype must be an integer type, but is %s",
                            tn_rule_dtype_text(g, a->dtype));
    const tn_expr *dim = tn_idx(g->pool, t->n);
    return tn_rule_result(g, n, 0, a->dtype, 1, &dim);
}

static void shape_of_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "shape", "injective", NULL);
    const tn_expr *value = tn_const(p, t->dtype, 0);
    for (int i = in[0]->ndim - 1; i >= 0; i--) {
        const tn_expr *d = tn_cast(p, t->dtype, in[0]->dim[i]);
        value = i == in[0]->ndim - 1 ? d : tn_select(p, tn_eq(p, t->axis[0], tn_idx(p, i)), d, value);
    }
    tn_te_define(te, t, value);
}

static bool shape_of_value(tn_graph *g, const tn_node *n, const tn_dims in[], tn_dims out[])
{
    (void)g;
    (void)in;
    const tn_type *t = tn_in_type(n, 0);
    out[0] = (tn_dims){t->n, t->dim};
    return t->n > 0;
}

/* clang-format off */
static const tn_attr_field shape_of_fields[] = TN_ATTR_TABLE(tn_cast_attr, TN_SHAPE_OF_ATTRS);

const tn_op tn_op_shape_of = {
    .name = "shape_of", .doc = "The extents of a tensor, as a tensor.",
    .attr_size = sizeof(tn_cast_attr), .attr = shape_of_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_HOST_INDEX, .fuse = TN_FUSE_INJECTIVE,
        .in_name = data_in,
    .infer = shape_of_infer, .compute = shape_of_compute, .shape_value = shape_of_value,
};
/* clang-format on */
