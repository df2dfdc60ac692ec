/* Normalisation by moments of the data: nn.instance_norm, nn.group_norm, nn.layer_norm, nn.rms_norm.
 *
 * A row is what one mean is taken of. The variance is the mean square of what differs from the mean (two passes);
 * both are computed in float32 at least. Where the mean is large against the deviation its rounding matters:
 * nn.layer_norm and nn.group_norm also take the mean of what differs from it, which corrects both moments.
 * The images of nn.instance_norm are too large for one more pass; it sums what differs from the element in
 * the middle of the image, which gives the mean in two parts, and exactly where that element is as near to it
 * as the others. All of it is one kernel: sums, then the elements while the row is near. Sums over large
 * images go in two steps, lines first, so that there are tasks enough where batch and channels are few.
 */
#include "op/rule.h"

#include "op/nn/nn.h"

enum { LARGE_IMAGE = 4096 }; /* elements of a row */
enum { MAX_ROW_DIMS = TN_RULE_MAX_RANK };

/* Which elements of x belong to a row: those that differ in the reduced dimensions, and (group > 0) in the position
 * within a group of channels. Rows have the other dimensions, groups for channels. */
typedef struct rows {
    tn_te *te;
    const tn_tensor *x;
    bool reduced[TN_RULE_MAX_RANK];
    const tn_expr *group, *groups; /* channels of a group, or NULL; how many groups */
    tn_dtype acc;
    const tn_expr *count;     /* elements of a row */
    bool lines;               /* sum lines first, along all but the first reduced dimension */
    const tn_tensor *residue; /* what the mean lacks, in every term that the mean is taken off; or NULL */
    bool relative;            /* sum what differs from the element in the middle of the row */
} rows;

static bool is_large(const rows *r)
{
    int64_t d, all = 1;
    int n = 0;
    for (int i = 0; i < r->x->ndim; i++) {
        if (!r->reduced[i])
            continue;
        n++;
        if (!tn_is_int(r->x->dim[i], &d))
            return false;
        all = all > LARGE_IMAGE ? all : all * d;
    }
    return n > 1 && all >= LARGE_IMAGE;
}

/* Channels in as many groups; 0: each for itself. A symbolic number of channels is checked in the run. */
static void set_groups(rows *r, tn_te *te, const tn_tensor *x, int64_t groups)
{
    tn_pool *p = te->pool;
    r->group = NULL;
    if (groups == 0)
        return;
    const tn_expr *channels = x->dim[1];
    r->groups = tn_idx(p, groups);
    r->group = tn_fdiv(p, channels, r->groups);
    if (channels->kind == TN_E_INT)
        return;
    const char *text =
        tn_arena_printf(te->arena, "the channels are not a multiple of %lld groups", (long long)groups);
    tn_te_require(te, tn_eq(p, tn_fmod(p, channels, r->groups), tn_idx(p, 0)),
                  tn_intern(te->func->ctx, text));
    r->group = tn_max(p, r->group, tn_idx(p, 1));
}

static void rows_init(rows *r, tn_te *te, const tn_tensor *x, int64_t groups)
{
    r->te = te;
    r->x = x;
    r->acc = tn_rule_accumulator(x->dtype);
    set_groups(r, te, x, groups);
    r->count = r->group ? r->group : tn_idx(te->pool, 1);
    for (int i = 0; i < x->ndim; i++)
        if (r->reduced[i])
            r->count = tn_mul(te->pool, r->count, x->dim[i]);
    r->lines = is_large(r);
}

static int row_dims(const rows *r, bool lines, const tn_expr *dim[])
{
    int n = 0;
    bool first = lines;
    for (int i = 0; i < r->x->ndim; i++) {
        if (r->reduced[i] && !first)
            continue;
        first = first && !r->reduced[i];
        dim[n++] = i == 1 && r->group ? r->groups : r->x->dim[i];
    }
    return n;
}

static tn_tensor *row_tensor(const rows *r, const char *name, const char *tag, bool lines)
{
    const tn_expr *dim[MAX_ROW_DIMS];
    int n = row_dims(r, lines, dim);
    r->te->tag = tag;
    return tn_te_new(r->te, name, r->acc, n, dim, n <= 4 ? "i j k l" : NULL);
}

/* Element of a row tensor for the element of x at index[]. */
static const tn_expr *at_row(const rows *r, const tn_tensor *t, const tn_expr *const index[], bool lines)
{
    const tn_expr *row[MAX_ROW_DIMS];
    int n = 0;
    bool first = lines;
    for (int i = 0; i < r->x->ndim; i++) {
        if (r->reduced[i] && !first)
            continue;
        first = first && !r->reduced[i];
        row[n++] = i == 1 && r->group ? tn_fdiv(r->te->pool, index[1], r->group) : index[i];
    }
    return tn_at(r->te, t, n, row);
}

/* The element in the middle of the row that holds index[]; the first one where that depends on symbols; 0 where the row
 * is empty. */
static const tn_expr *middle(const rows *r, const tn_expr *const index[])
{
    tn_pool *p = r->te->pool;
    const tn_expr *at[TN_RULE_MAX_RANK], *any = tn_bool(p, true), *zero = tn_flt(p, r->acc, 0);
    for (int i = 0; i < r->x->ndim; i++) {
        int64_t d = 0;
        bool known = tn_is_int(r->x->dim[i], &d);
        if (r->reduced[i] && known && d == 0)
            return zero;
        if (r->reduced[i] && !known)
            any = tn_and(p, any, tn_lt(p, tn_idx(p, 0), r->x->dim[i]));
        at[i] = r->reduced[i] ? tn_idx(p, d / 2) : index[i];
    }
    const tn_expr *v = tn_cast(p, r->acc, tn_at(r->te, r->x, r->x->ndim, at));
    return tn_select(p, any, v, zero);
}

/* x at index[], or what differs from its mean, or its square. */
static const tn_expr *term(const rows *r, const tn_tensor *mean, bool square, const tn_expr *const index[])
{
    tn_pool *p = r->te->pool;
    const tn_expr *v = tn_cast(p, r->acc, tn_at(r->te, r->x, r->x->ndim, index));
    if (r->relative && !mean)
        v = tn_sub(p, v, middle(r, index));
    if (mean)
        v = tn_sub(p, v, at_row(r, mean, index, false));
    if (mean && r->residue)
        v = tn_sub(p, v, at_row(r, r->residue, index, false));
    return square ? tn_mul(p, v, v) : v;
}

/* The sum of terms over each row. */
static tn_tensor *row_sum(const rows *r, const char *name, const tn_tensor *mean, bool square)
{
    tn_te *te = r->te;
    tn_tensor *t = row_tensor(r, name, "reduce", r->lines);
    const tn_expr *index[TN_RULE_MAX_RANK];
    bool first = r->lines;
    int n = 0, line = -1;
    for (int i = 0; i < r->x->ndim; i++) {
        if (r->reduced[i] && !first) {
            index[i] = tn_te_reduce_axis(te, t, tn_arena_printf(te->arena, "r%d", i), r->x->dim[i]);
            continue;
        }
        line = r->reduced[i] ? n : line;
        first = first && !r->reduced[i];
        index[i] = t->axis[n++];
        if (i == 1 && r->group && !tn_is_value(r->group, 1))
            index[i] = tn_add(te->pool, tn_mul(te->pool, index[i], r->group),
                              tn_te_reduce_axis(te, t, "c", r->group));
    }
    tn_te_sum(te, t, term(r, mean, square, index), NULL);
    if (!r->lines)
        return t;
    tn_tensor *all = row_tensor(r, tn_arena_printf(te->arena, "%s_all", name), "reduce", false);
    const tn_expr *from[MAX_ROW_DIMS];
    for (int i = 0; i < t->ndim; i++)
        from[i] = i == line ? tn_te_reduce_axis(te, all, "line", t->dim[i]) : all->axis[i - (i > line)];
    tn_te_sum(te, all, tn_at(te, t, t->ndim, from), NULL);
    return all;
}

static const tn_expr *by_count(const rows *r, const tn_expr *sum)
{
    return tn_bin(r->te->pool, TN_E_DIV, sum, tn_cast(r->te->pool, r->acc, r->count));
}

static tn_tensor *row_mean(const rows *r)
{
    tn_tensor *sum = row_sum(r, "sum", NULL, false), *mean = row_tensor(r, "mean", "elementwise", false);
    tn_te_define(r->te, mean, by_count(r, tn_at(r->te, sum, mean->ndim, mean->axis)));
    return mean;
}

/* The mean of what differs from the mean: what rounding it lost. */
static tn_tensor *row_residue(const rows *r, const tn_tensor *mean)
{
    tn_tensor *sum = row_sum(r, "rest", mean, false), *t = row_tensor(r, "residue", "elementwise", false);
    tn_te_define(r->te, t, by_count(r, tn_at(r->te, sum, t->ndim, t->axis)));
    return t;
}

/* 1 / sqrt(variance + epsilon) */
static const tn_expr *inverse(const rows *r, const tn_expr *variance, double epsilon)
{
    tn_pool *p = r->te->pool;
    const tn_expr *v = tn_add(p, variance, tn_flt(p, r->acc, epsilon));
    return tn_bin(p, TN_E_DIV, tn_flt(p, r->acc, 1), tn_intrinsic1(p, TN_F_sqrt, v));
}

/* The same of the mean square, less the square of the residue (NULL: none). */
static tn_tensor *row_inverse(const rows *r, const tn_tensor *square_sum, const tn_tensor *residue,
                              double epsilon)
{
    tn_pool *p = r->te->pool;
    tn_tensor *t = row_tensor(r, "inverse", "elementwise", false);
    const tn_expr *v = by_count(r, tn_at(r->te, square_sum, t->ndim, t->axis));
    if (residue) {
        const tn_expr *d = tn_at(r->te, residue, t->ndim, t->axis);
        v = tn_max(p, tn_sub(p, v, tn_mul(p, d, d)), tn_flt(p, r->acc, 0));
    }
    tn_te_define(r->te, t, inverse(r, v, epsilon));
    return t;
}

static const tn_expr *wide_at1(const rows *r, const tn_tensor *t, const tn_expr *i)
{
    return tn_cast(r->te->pool, r->acc, tn_at1(r->te, t, i));
}

/* ---- type relation ---- */

/* Operands from 1 on are vectors along `axis`. */
static tn_status check_vectors(tn_graph *g, const tn_node *n, const tn_type *data, int axis)
{
    const tn_type *t;
    for (int i = 1; i < n->nin; i++) {
        TN_TRY(tn_rule_tensor(g, n, i, 1, &t));
        TN_TRY(tn_rule_same_dtype(g, n, i));
        if (!tn_rule_agree(g, n, t->dim[0], data->dim[axis]))
            return tn_rule_fail(g, n, "op-E008", "%s is %s, but data %s has %s elements along axis %d",
                                tn_rule_in_name(g, n, i), tn_rule_type_text(g, t), tn_rule_type_text(g, data),
                                tn_rule_dim_text(g, data->dim[axis]), axis);
    }
    return TN_OK;
}

static tn_status norm_infer(tn_graph *g, tn_node *n)
{
    const tn_norm_attr *a = n->attr;
    const tn_type *t;
    int axis;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_float(g, n, 0));
    TN_TRY(tn_rule_axis(g, n, a->axis, t->n, &axis));
    TN_TRY(check_vectors(g, n, t, axis));
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

static tn_status channel_norm_infer(tn_graph *g, tn_node *n)
{
    const tn_norm_attr *a = n->attr;
    const tn_type *t = tn_in_type(n, 0);
    int64_t c, groups = n->op == &tn_op_nn_group_norm ? a->num_groups : 1;
    TN_TRY(norm_infer(g, n));
    if (a->axis != 1 || t->n < 2)
        return tn_rule_fail(g, n, "op-E007", "axis is %lld for %s; only 1 is supported, transpose the data",
                            (long long)a->axis, tn_rule_type_text(g, t));
    if (groups < 1 || groups > INT32_MAX || (tn_is_int(t->dim[1], &c) && c % groups != 0))
        return tn_rule_fail(g, n, "op-E007",
                            "num_groups is %lld, which does not divide the %s channels of %s",
                            (long long)groups, tn_rule_dim_text(g, t->dim[1]), tn_rule_type_text(g, t));
    return TN_OK;
}

/* Moments have the data's dimensions, but 1 along the axis. */
static tn_status layer_norm_infer(tn_graph *g, tn_node *n)
{
    const tn_norm_attr *a = n->attr;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    TN_TRY(norm_infer(g, n));
    const tn_type *t = n->type[0];
    for (int i = 0; i < t->n; i++)
        dim[i] = i == (a->axis < 0 ? a->axis + t->n : a->axis) ? tn_idx(g->pool, 1) : t->dim[i];
    for (int k = 1; k < n->nout; k++)
        TN_TRY(tn_rule_result(g, n, k, tn_rule_accumulator(t->dtype), t->n, dim));
    return TN_OK;
}

static int layer_norm_nout(const void *attr) { return ((const tn_norm_attr *)attr)->moments ? 3 : 1; }

/* ---- tensor expressions ---- */

/* The means of rows whose sums are relative, rounded; r->residue becomes what that lost. */
static tn_tensor *row_mean_exact(rows *r)
{
    tn_pool *p = r->te->pool;
    r->relative = true;
    tn_tensor *sum = row_sum(r, "sum", NULL, false), *mean = row_tensor(r, "mean", "elementwise", false),
              *rest = row_tensor(r, "residue", "elementwise", false);
    const tn_expr *more = by_count(r, tn_at(r->te, sum, mean->ndim, mean->axis));
    tn_te_define(r->te, mean, tn_add(p, middle(r, mean->axis), more));
    more = by_count(r, tn_at(r->te, sum, rest->ndim, rest->axis));
    const tn_expr *off = tn_sub(p, middle(r, rest->axis), tn_at(r->te, mean, rest->ndim, rest->axis));
    tn_te_define(r->te, rest, tn_add(p, off, more));
    r->residue = rest;
    return mean;
}

/* y = (x - mean) * scale + shift, with scale = gamma * inverse and shift = beta - residue * scale of each row */
static void instance_norm_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_norm_attr *a = n->attr;
    tn_pool *p = te->pool;
    rows r = {0};
    for (int i = 2; i < in[0]->ndim; i++)
        r.reduced[i] = true;
    rows_init(&r, te, in[0], 0);
    tn_tensor *mean = row_mean_exact(&r), *squares = row_sum(&r, "squares", mean, true);
    tn_tensor *scale = row_tensor(&r, "scale", "elementwise", false),
              *shift = row_tensor(&r, "shift", "elementwise", false);
    const tn_expr *s = inverse(&r, by_count(&r, tn_at(te, squares, 2, scale->axis)), a->epsilon);
    tn_te_define(te, scale, a->scale ? tn_mul(p, s, wide_at1(&r, in[1], scale->axis[1])) : s);
    const tn_expr *back = tn_mul(p, tn_at(te, r.residue, 2, shift->axis), tn_at(te, scale, 2, shift->axis));
    const tn_expr *zero = tn_flt(p, r.acc, 0);
    tn_te_define(te, shift, tn_sub(p, a->center ? wide_at1(&r, in[2], shift->axis[1]) : zero, back));
    r.residue = NULL;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "instance_norm", "elementwise", NULL);
    const tn_expr *v = tn_mul(p, term(&r, mean, false, t->axis), at_row(&r, scale, t->axis, false));
    tn_te_define(te, t, tn_cast(p, t->dtype, tn_add(p, v, at_row(&r, shift, t->axis, false))));
}

/* Result k: of each row the sum of a and b (NULL: a). */
static tn_tensor *row_result(const rows *r, const tn_node *n, int k, const char *name, const tn_tensor *a,
                             const tn_tensor *b)
{
    tn_tensor *t = tn_rule_out(r->te, n, k, name, "elementwise", NULL);
    const tn_expr *v = at_row(r, a, t->axis, false);
    tn_te_define(r->te, t, b ? tn_add(r->te->pool, v, at_row(r, b, t->axis, false)) : v);
    return t;
}

/* (x - mean) * inverse * gamma + beta; gamma and beta along `axis` */
static void normalised(rows *r, const tn_node *n, tn_tensor *const in[], tn_tensor *out[], const char *name,
                       int axis, bool centred)
{
    const tn_norm_attr *a = n->attr;
    tn_te *te = r->te;
    tn_pool *p = te->pool;
    tn_tensor *mean = centred ? row_mean(r) : NULL, *residue = centred ? row_residue(r, mean) : NULL;
    tn_tensor *inv = row_inverse(r, row_sum(r, "squares", mean, true), residue, a->epsilon);
    if (n->nout > 1) {
        out[1] = row_result(r, n, 1, "row_mean", mean, residue);
        out[2] = row_result(r, n, 2, "row_inverse", inv, NULL);
    }
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, name, "elementwise", NULL);
    const tn_expr *v = term(r, mean, false, t->axis);
    if (centred)
        v = tn_sub(p, v, at_row(r, residue, t->axis, false));
    v = tn_mul(p, v, at_row(r, inv, t->axis, false));
    if (a->scale)
        v = tn_mul(p, v, wide_at1(r, in[1], t->axis[axis]));
    if (centred && a->center)
        v = tn_add(p, v, wide_at1(r, in[2], t->axis[axis]));
    tn_te_define(te, t, tn_cast(p, t->dtype, v));
}

static void group_norm_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_norm_attr *a = n->attr;
    rows r = {0};
    for (int i = 2; i < in[0]->ndim; i++)
        r.reduced[i] = true;
    rows_init(&r, te, in[0], a->num_groups);
    normalised(&r, n, in, out, "group_norm", 1, true);
}

static void last_axis(rows *r, tn_te *te, const tn_node *n, const tn_tensor *x, int *out_axis)
{
    int64_t a = ((const tn_norm_attr *)n->attr)->axis;
    *r = (rows){0};
    *out_axis = (int)(a < 0 ? a + x->ndim : a);
    r->reduced[*out_axis] = true;
    rows_init(r, te, x, 0);
}

static void layer_norm_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    rows r;
    int axis;
    last_axis(&r, te, n, in[0], &axis);
    normalised(&r, n, in, out, "layer_norm", axis, true);
}

static void rms_norm_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    rows r;
    int axis;
    last_axis(&r, te, n, in[0], &axis);
    normalised(&r, n, in, out, "rms_norm", axis, false);
}

static void instance_norm_layout(tn_layout_query *q)
{
    q->in[1] = q->in[2] = NULL;
    tn_layout_channel_block(q);
}

/* clang-format off */
static const tn_attr_field instance_fields[] = TN_ATTR_TABLE(tn_norm_attr, TN_INSTANCE_NORM_ATTRS);
static const tn_attr_field layer_fields[] = TN_ATTR_TABLE(tn_norm_attr, TN_LAYER_NORM_ATTRS);
static const tn_attr_field rms_fields[] = TN_ATTR_TABLE(tn_norm_attr, TN_RMS_NORM_ATTRS);
static const tn_attr_field group_fields[] = TN_ATTR_TABLE(tn_norm_attr, TN_GROUP_NORM_ATTRS);
static const char *const norm_in[] = {"data", "gamma", "beta"};

const tn_op tn_op_nn_instance_norm = {
    .name = "nn.instance_norm", .doc = "Each channel of each image to mean 0 and variance 1, then gamma and beta.",
    .attr_size = sizeof(tn_norm_attr), .attr = instance_fields,
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = norm_in,
    .infer = channel_norm_infer, .layout = instance_norm_layout, .compute = instance_norm_compute,
};
const tn_op tn_op_nn_group_norm = {
    .name = "nn.group_norm", .doc = "Each group of channels to mean 0 and variance 1, then gamma and beta.",
    .attr_size = sizeof(tn_norm_attr), .attr = group_fields,
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = norm_in,
    .infer = channel_norm_infer, .compute = group_norm_compute,
};
const tn_op tn_op_nn_layer_norm = {
    .name = "nn.layer_norm", .doc = "Rows along an axis to mean 0 and variance 1, then gamma and beta.",
    .attr_size = sizeof(tn_norm_attr), .attr = layer_fields,
    .nin = 3, .min_in = 3, .nout = -1, .nout_of = layer_norm_nout, .fuse = TN_FUSE_ANCHOR, .in_name = norm_in,
    .infer = layer_norm_infer, .compute = layer_norm_compute,
};
const tn_op tn_op_nn_rms_norm = {
    .name = "nn.rms_norm", .doc = "Rows along an axis to mean square 1, then gamma.",
    .attr_size = sizeof(tn_norm_attr), .attr = rms_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = norm_in,
    .infer = norm_infer, .compute = rms_norm_compute,
};
/* clang-format on */
