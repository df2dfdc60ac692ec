/* Operators whose elements follow from their positions: trilu, eye, arange, tile. */
#include "op/code.h"

#include "op/tensor/tensor.h"

static const char *const data_in[] = {"data", "k"};

/* ---- trilu ---- */

static tn_status trilu_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t, *k;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_tensor(g, n, 1, 0, &k));
    if (t->n < 2)
        return tn_rule_fail(g, n, "op-E003", "data must have at least 2 dimensions, but is %s",
                            tn_rule_type_text(g, t));
    if (!tn_dtype_is_int(k->dtype))
        return tn_rule_fail(g, n, "op-E011", "k must be an integer, but is %s",
                            tn_rule_dtype_text(g, k->dtype));
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

static void trilu_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "trilu", "elementwise", NULL);
    const tn_expr *row = tn_cast(p, TN_I64, t->axis[t->ndim - 2]),
                  *column = tn_cast(p, TN_I64, t->axis[t->ndim - 1]);
    const tn_expr *k = tn_cast(p, TN_I64, tn_at(te, in[1], 0, NULL)), *distance = tn_sub(p, column, row);
    bool upper = ((const tn_trilu_attr *)n->attr)->upper;
    const tn_expr *stays = upper ? tn_le(p, k, distance) : tn_le(p, distance, k);
    const tn_expr *zero = tn_dtype_is_bool(t->dtype) ? tn_bool(p, false) : tn_const(p, t->dtype, 0);
    tn_te_define(te, t, tn_select(p, stays, tn_at(te, in[0], t->ndim, t->axis), zero));
}

/* clang-format off */
static const tn_attr_field trilu_fields[] = TN_ATTR_TABLE(tn_trilu_attr, TN_TRILU_ATTRS);

const tn_op tn_op_trilu = {
    .name = "trilu", .doc = "The upper or lower triangle of the last two dimensions, zeros elsewhere.",
    .attr_size = sizeof(tn_trilu_attr), .attr = trilu_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .in_name = data_in,
    .infer = trilu_infer, .compute = trilu_compute,
};
/* clang-format on */

/* ---- eye ---- */

static tn_status eye_infer(tn_graph *g, tn_node *n)
{
    const tn_eye_attr *a = n->attr;
    if (a->shape.n != 2)
        return tn_rule_fail(g, n, "op-E007", "shape has %u entries; 2 are expected", (unsigned)a->shape.n);
    return tn_rule_result(g, n, 0, a->dtype, 2, a->shape.at);
}

static void eye_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    (void)in;
    tn_pool *p = te->pool;
    const tn_eye_attr *a = n->attr;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "eye", "elementwise", NULL);
    const tn_expr *column = tn_cast(p, TN_I64, t->axis[1]), *row = tn_cast(p, TN_I64, t->axis[0]);
    const tn_expr *on = tn_eq(p, column, tn_add(p, row, tn_int(p, TN_I64, a->k)));
    tn_te_define(te, t, tn_cast(p, t->dtype, on));
}

/* clang-format off */
static const tn_attr_field eye_fields[] = TN_ATTR_TABLE(tn_eye_attr, TN_EYE_ATTRS);

const tn_op tn_op_eye = {
    .name = "eye", .doc = "Ones on a diagonal, zeros elsewhere.",
    .attr_size = sizeof(tn_eye_attr), .attr = eye_fields,
    .nin = 0, .min_in = 0, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .infer = eye_infer, .compute = eye_compute,
};
/* clang-format on */

/* ---- arange ---- */

static tn_status arange_infer(tn_graph *g, tn_node *n)
{
    const tn_arange_attr *a = n->attr;
    const tn_type *start, *step;
    const tn_expr *count;
    TN_TRY(tn_rule_tensor(g, n, 0, 0, &start));
    TN_TRY(tn_rule_tensor(g, n, 1, 0, &step));
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(tn_rule_same_dtype(g, n, 1));
    TN_TRY(tn_rule_extent(g, n, "count", a->count, &count));
    return tn_rule_result(g, n, 0, start->dtype, 1, &count);
}

static void arange_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "arange", "elementwise", NULL);
    bool narrow = tn_dtype_is_float(t->dtype) && t->dtype.bits < 32;
    tn_dtype wide = narrow ? TN_F32 : t->dtype;
    const tn_expr *start = tn_cast(p, wide, tn_at(te, in[0], 0, NULL)),
                  *step = tn_cast(p, wide, tn_at(te, in[1], 0, NULL));
    const tn_expr *value = tn_add(p, start, tn_mul(p, tn_cast(p, wide, t->axis[0]), step));
    tn_te_define(te, t, tn_cast(p, t->dtype, value));
}

static bool arange_value(tn_graph *g, const tn_node *n, const tn_dims in[], tn_dims out[])
{
    int64_t count;
    if (!in[0].at || !in[1].at || in[0].n != 1 || in[1].n != 1 || !tn_dtype_is_int(n->type[0]->dtype) ||
        !tn_is_int(n->type[0]->dim[0], &count) || count > 4096)
        return false;
    const tn_expr **value = TN_NEW_N(g->arena, const tn_expr *, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        value[i] = tn_add(g->pool, in[0].at[0], tn_mul(g->pool, in[1].at[0], tn_idx(g->pool, i)));
    out[0] = (tn_dims){(uint32_t)count, value};
    return count > 0;
}

/* clang-format off */
static const char *const arange_in[] = {"start", "step"};
static const tn_attr_field arange_fields[] = TN_ATTR_TABLE(tn_arange_attr, TN_ARANGE_ATTRS);

const tn_op tn_op_arange = {
    .name = "arange", .doc = "start + i * step for i below count; computes 16-bit floats in float32.",
    .attr_size = sizeof(tn_arange_attr), .attr = arange_fields,
    .nin = 2, .min_in = 2, .nout = 1, .flags = TN_OP_HOST_INDEX, .fuse = TN_FUSE_INJECTIVE, .in_name = arange_in,
    .infer = arange_infer, .compute = arange_compute, .shape_value = arange_value,
};
/* clang-format on */

/* ---- tile ---- */

static tn_status tile_infer(tn_graph *g, tn_node *n)
{
    const tn_tile_attr *a = n->attr;
    const tn_type *t;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    int reps = (int)a->reps.n, rank = reps > t->n ? reps : t->n;
    if (a->reps.n > TN_RULE_MAX_RANK)
        return tn_rule_fail(g, n, "op-E003", "reps has %u entries; at most %d are supported",
                            (unsigned)a->reps.n, TN_RULE_MAX_RANK);
    for (int i = 0; i < rank; i++) {
        int from = i - (rank - t->n), by = i - (rank - reps);
        const tn_expr *extent = from < 0 ? tn_idx(g->pool, 1) : t->dim[from];
        dim[i] = by < 0 ? extent : tn_mul(g->pool, extent, a->reps.at[by]);
    }
    return tn_rule_result(g, n, 0, t->dtype, rank, dim);
}

static void tile_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    const tn_expr *index[TN_RULE_MAX_RANK];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "tile", "injective", NULL);
    int skip = t->ndim - in[0]->ndim;
    for (int i = 0; i < in[0]->ndim; i++) {
        const tn_expr *extent = in[0]->dim[i], *at = t->axis[skip + i];
        index[i] = tn_is_value(extent, 1)              ? tn_idx(p, 0)
                   : t->dim[skip + i] == in[0]->dim[i] ? at
                                                       : tn_fmod(p, at, extent);
    }
    tn_te_define(te, t, tn_at(te, in[0], in[0]->ndim, index));
}

/* clang-format off */
static const tn_attr_field tile_fields[] = TN_ATTR_TABLE(tn_tile_attr, TN_TILE_ATTRS);

const tn_op tn_op_tile = {
    .name = "tile", .doc = "data repeated as a whole along its dimensions.",
    .attr_size = sizeof(tn_tile_attr), .attr = tile_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_INJECTIVE, .in_name = data_in,
    .infer = tile_infer, .compute = tile_compute,
};
/* clang-format on */
