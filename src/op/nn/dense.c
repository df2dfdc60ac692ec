/* Matrix products: nn.dense (a row of weights for each output) and nn.batch_matmul. */
#include "op/qnn/build.h"

#include "machine/machine.h"
#include "op/gradient.h"
#include "op/nn/bfloat.h"
#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

/* ---- nn.dense: data [..., K] x weight [N, K] -> [..., N] ---- */

static tn_status dense_infer(tn_graph *g, tn_node *n)
{
    const tn_dense_attr *a = n->attr;
    const tn_type *data, *weight;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    tn_dtype dtype;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &data));
    TN_TRY(tn_rule_tensor(g, n, 1, 2, &weight));
    TN_TRY(tn_rule_product(g, n, a->out_dtype, &dtype));
    if (data->n < 1)
        return tn_rule_fail(g, n, "op-E003", "data must have at least 1 dimension, but is %s",
                            tn_rule_type_text(g, data));
    if (!tn_rule_agree(g, n, data->dim[data->n - 1], weight->dim[1]))
        return tn_rule_fail(g, n, "op-E008", "the last dimension of data %s must be the last of weight %s",
                            tn_rule_type_text(g, data), tn_rule_type_text(g, weight));
    if (a->units && !tn_rule_agree(g, n, weight->dim[0], tn_idx(g->pool, a->units)))
        return tn_rule_fail(g, n, "op-E008", "units is %lld, but weight is %s", (long long)a->units,
                            tn_rule_type_text(g, weight));
    for (int i = 0; i < data->n - 1; i++)
        dim[i] = data->dim[i];
    dim[data->n - 1] = weight->dim[0];
    return tn_rule_result(g, n, 0, dtype, data->n, dim);
}

static void dense_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_dense_attr *a = n->attr;
    const char *tag = a->flush_denormals ? TN_TAG_NORMAL : "dense";
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "dense", tag, NULL);
    const tn_expr *index[TN_RULE_MAX_RANK], *k = tn_te_reduce_axis(te, t, "k", in[1]->dim[1]);
    int last = t->ndim - 1;
    for (int i = 0; i < last; i++)
        index[i] = t->axis[i];
    index[last] = k;
    const tn_expr *x = tn_at(te, in[0], t->ndim, index), *w = tn_at2(te, in[1], t->axis[last], k);
    tn_te_sum(te, t, tn_rule_times(te->pool, t->dtype, x, w), NULL);
}

/* Do tiles beat lanes, for all that is copied at the ends of rows and terms, and a quarter more to read factors? */
static bool tiles_pay(const tn_machine *m, const tn_unit_row *tile, const tn_unit_row *lane, int64_t rows,
                      int64_t k)
{
    tn_tiles on = tn_machine_tiles(m, tn_dtype_bytes(tile->x));
    int64_t high = tile->most[TN_UNIT_ROWS], terms = tile->most[TN_UNIT_GROUPS] * tile->most[TN_UNIT_TERMS];
    int64_t steps = k / terms + (k % terms ? on.ends : 0), down = rows / high + (rows % high ? on.ends : 0);
    double terms_a_lane = lane ? lane->most[TN_UNIT_TERMS] : 1;
    double lanes = (double)(rows * k) / (terms_a_lane * tn_machine_flops_a_cycle(m));
    return 1.25 * (double)(steps * terms * down * high) / on.ops_a_cycle < lanes;
}

/* The terms of a group that the machine's units add: of tiles where rows and terms are known, and they pay. */
static int dense_group(const tn_layout_query *q)
{
    const tn_type *x = tn_in_type(q->node, 0);
    const tn_dense_attr *a = q->node->attr;
    const tn_unit_row *lanes = tn_rule_unit(q, TN_UNIT_LANES), *tile = tn_rule_unit(q, TN_UNIT_MATRIX);
    int64_t rows, k;
    if (tn_dtype_is_float(x->dtype) && !a->flush_denormals)
        return 1;
    bool known = x->n > 1 && tn_is_int(x->dim[x->n - 2], &rows) && tn_is_int(x->dim[x->n - 1], &k);
    for (int i = 0; known && i < x->n - 2; i++)
        known = tn_is_int(x->dim[i], &(int64_t){0});
    bool tiles = tile && known && rows > 1 && tiles_pay(q->machine, tile, lanes, rows, k);
    return tiles ? tile->most[TN_UNIT_TERMS] : lanes ? lanes->most[TN_UNIT_TERMS] : 1;
}

/* Two blocks of outputs beside each other (one where that is enough): the kernel reads them for each k. */
static void dense_layout(tn_layout_query *q)
{
    int64_t units;
    int group = dense_group(q);
    int block = tn_machine_block(q->machine);
    q->in[0] = q->in[1] = q->out[0] = NULL;
    if (tn_op_is(tn_in(q->node, 1).def, &tn_op_constant) &&
        tn_is_int(tn_in_type(q->node, 1)->dim[0], &units) && block >= 2) {
        block = units > block ? 2 * block : block;
        q->in[1] = group > 1 ? tn_rule_weight_layout(q, 1, "NK%dn%dk", block, group)
                             : tn_rule_weight_layout(q, 1, "NK%dn", block);
    }
}

static enum tn_scale dense_scale(const tn_node *n, bool forward, bool positive, int axis, int *other)
{
    (void)positive;
    *other = forward ? 1 : 0;
    return axis == n->type[0]->n - 1 ? TN_SCALE_WEIGHT : TN_SCALE_NONE;
}

static bool dense_combine(const tn_node *n, tn_combine *out)
{
    *out = (tn_combine){TN_COMBINE_DENSE, 0, n->type[0]->n - 1, offsetof(tn_dense_attr, units)};
    return true;
}

static void dense_reads(const tn_node *n, int64_t out[2])
{
    const tn_type *t = n->type[0];
    out[0] = tn_rule_least(t->dim + t->n - 1, 1);
    out[1] = tn_rule_least(t->dim, t->n - 1);
}

/* clang-format off */
static const tn_attr_field dense_fields[] = TN_ATTR_TABLE(tn_dense_attr, TN_DENSE_ATTRS);
static const char *const product_in[] = {"data", "weight"};

static const tn_alternative dense_ways[] = {
    {"shifted", "int8 data as uint8, for dot products of bytes", qnn_shifts, NULL, qnn_dense_shifted},
    {"bfloat", "float32 as six products of bfloat16, for tiles", nn_bfloat_applies, nn_bfloat_pays, nn_dense_by_bfloat},
};

const tn_op tn_op_nn_dense = {
    .name = "nn.dense",
        .doc = "Product of data [..., K] with weight [N, K]: out[..., n] = sum over k of data[..., k] * weight[n, k].",
    .attr_size = sizeof(tn_dense_attr), .attr = dense_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = product_in,
    .infer = dense_infer, .layout = dense_layout, .compute = dense_compute,
    .alternative = dense_ways, .n_alternative = 2,
    .scale = dense_scale, .combine = dense_combine, .precision = TN_PRECISION_LOW, .reads = dense_reads,
    .gradient = tn_gradient_dense,
};
/* clang-format on */

/* ---- nn.batch_matmul: [b, m, k] x [b, n, k] (or the transposed forms) -> [b, m, n] ---- */

static tn_status batch_matmul_infer(tn_graph *g, tn_node *n)
{
    const tn_matmul_attr *a = n->attr;
    const tn_type *x, *y;
    TN_TRY(tn_rule_tensor(g, n, 0, 3, &x));
    TN_TRY(tn_rule_tensor(g, n, 1, 3, &y));
    tn_dtype dtype;
    TN_TRY(tn_rule_product(g, n, a->out_dtype, &dtype));
    const tn_expr *xb = x->dim[0], *yb = y->dim[0];
    const tn_expr *batch = tn_rule_wider(g, n, xb, yb);
    if (!batch)
        return tn_rule_fail(g, n, "op-E008", "batches of %s and %s differ", tn_rule_type_text(g, x),
                            tn_rule_type_text(g, y));
    if (!tn_rule_agree(g, n, x->dim[a->transpose_a ? 1 : 2], y->dim[a->transpose_b ? 2 : 1]))
        return tn_rule_fail(g, n, "op-E008",
                            "inner dimensions of %s and %s differ (transpose_a=%s, transpose_b=%s)",
                            tn_rule_type_text(g, x), tn_rule_type_text(g, y),
                            a->transpose_a ? "True" : "False", a->transpose_b ? "True" : "False");
    const tn_expr *dim[3] = {batch, x->dim[a->transpose_a ? 2 : 1], y->dim[a->transpose_b ? 1 : 2]};
    return tn_rule_result(g, n, 0, dtype, 3, dim);
}

static const tn_expr *matrix_at(tn_te *te, const tn_tensor *t, const tn_tensor *out, const tn_expr *r,
                                const tn_expr *c, bool transposed)
{
    const tn_expr *b = tn_rule_stretch(te, t->dim[0], out->dim[0], out->axis[0], 0);
    return tn_at3(te, t, b, transposed ? c : r, transposed ? r : c);
}

static void batch_matmul_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_matmul_attr *a = n->attr;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "batch_matmul", "batch_matmul", "b i j");
    const tn_expr *k = tn_te_reduce_axis(te, t, "k", in[0]->dim[a->transpose_a ? 1 : 2]);
    const tn_expr *x = matrix_at(te, in[0], t, t->axis[1], k, a->transpose_a);
    const tn_expr *y = matrix_at(te, in[1], t, k, t->axis[2], a->transpose_b);
    tn_te_sum(te, t, tn_rule_times(te->pool, t->dtype, x, y), NULL);
}

/* One constant matrix for all is the weight of nn.dense, which is packed when the model is compiled. */
static tn_status batch_matmul_legalize(tn_graph *g, tn_node *n, const struct tn_machine *m, tn_value *out)
{
    const tn_matmul_attr *a = n->attr;
    const tn_type *t = tn_in_type(n, 1);
    static const int64_t swap[] = {1, 0}, first = 0;
    tn_squeeze_attr drop = {tn_ints_make(g->arena, 1, &first)};
    tn_transpose_attr turn = {tn_ints_make(g->arena, 2, swap)};
    tn_dense_attr dense = {.out_dtype = a->out_dtype};
    tn_value in[2] = {tn_in(n, 0), tn_in(n, 1)};
    (void)m;
    if (in[1].def->op != &tn_op_constant || !tn_is_value(t->dim[0], 1) || a->transpose_a)
        return TN_OK;
    tn_node *w = tn_make_call(g, n->owner, n, &tn_op_squeeze, 1, &in[1], &drop, n->loc);
    in[1] = tn_val(w);
    if (w && !a->transpose_b)
        in[1] = tn_val(w = tn_make_call(g, n->owner, n, &tn_op_transpose, 1, &in[1], &turn, n->loc));
    (void)tn_is_int(t->dim[a->transpose_b ? 1 : 2], &dense.units);
    *out = tn_val(w ? tn_make_call(g, n->owner, n, &tn_op_nn_dense, 2, in, &dense, n->loc) : NULL);
    return out->def ? TN_OK : TN_FAIL;
}

/* A transpose that does nothing but swap the last two dimensions; NULL: it is another node. */
static const tn_node *swap_of(tn_value v)
{
    if (v.def->op != &tn_op_transpose)
        return NULL;
    const tn_ints axes = ((const tn_transpose_attr *)v.def->attr)->axes;
    uint32_t n = axes.n;
    bool swaps = n >= 3 && axes.at[n - 2] == n - 1 && axes.at[n - 1] == n - 2;
    for (uint32_t i = 0; swaps && i < n - 2; i++)
        swaps = axes.at[i] == i;
    return swaps ? v.def : NULL;
}

/* Matrices that are transposed in front, also where a reshape makes one batch of several dimensions, are read as they
 * lie. Not constants, which are transposed when the model is compiled, nor sums of a symbolic length, whose tiles no
 * rule packs. */
static tn_status batch_matmul_simplify(tn_graph *g, tn_node *n, tn_value *out)
{
    tn_matmul_attr a = *(const tn_matmul_attr *)n->attr;
    tn_value in[2] = {tn_in(n, 0), tn_in(n, 1)};
    const tn_type *y = tn_value_type(in[1]);
    const tn_node *flat = in[1].def->op == &tn_op_reshape ? in[1].def : NULL;
    const tn_node *swap = swap_of(flat ? tn_in(flat, 0) : in[1]);
    int64_t depth;
    if (!swap || tn_in(swap, 0).def->op == &tn_op_constant ||
        (!a.transpose_b && !tn_is_int(y->dim[1], &depth)))
        return TN_OK;
    const tn_type *t = swap->type[0];
    for (int i = 1; i <= 2; i++)
        if (!tn_rule_dim_eq(g, y->dim[3 - i], t->dim[t->n - i]))
            return TN_OK;
    const tn_expr *dim[3] = {y->dim[0], y->dim[2], y->dim[1]};
    tn_reshape_attr r = {.newshape = tn_dims_make(g->arena, 3, dim), .allowzero = true};
    in[1] = tn_in(swap, 0);
    if (flat)
        in[1] = tn_val(tn_make_call(g, n->owner, n, &tn_op_reshape, 1, &in[1], &r, flat->loc));
    a.transpose_b = !a.transpose_b;
    *out = in[1].def ? tn_val(tn_make_call(g, n->owner, n, n->op, 2, in, &a, n->loc)) : (tn_value){0};
    return out->def ? TN_OK : TN_FAIL;
}

static bool batch_matmul_combine(const tn_node *n, tn_combine *out)
{
    *out =
        (tn_combine){TN_COMBINE_BATCH_MATMUL, ((const tn_matmul_attr *)n->attr)->transpose_b ? 1 : 2, 2, -1};
    return true;
}

static void batch_matmul_reads(const tn_node *n, int64_t out[2])
{
    out[0] = tn_rule_least(n->type[0]->dim + 2, 1);
    out[1] = tn_rule_least(n->type[0]->dim + 1, 1);
}

/* clang-format off */
static const tn_attr_field matmul_fields[] = TN_ATTR_TABLE(tn_matmul_attr, TN_MATMUL_ATTRS);
static const char *const matmul_in[] = {"the first operand", "the second operand"};

const tn_op tn_op_nn_batch_matmul = {
    .name = "nn.batch_matmul", .doc = "Matrix product of each pair of matrices of two batches.",
    .attr_size = sizeof(tn_matmul_attr), .attr = matmul_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = matmul_in,
    .infer = batch_matmul_infer, .compute = batch_matmul_compute, .combine = batch_matmul_combine,
    .legalize = batch_matmul_legalize,
    .simplify = batch_matmul_simplify, .precision = TN_PRECISION_LOW, .reads = batch_matmul_reads,
    .gradient = tn_gradient_batch_matmul,
};
/* clang-format on */
