/* Reading images at positions that are data: image.grid_sample, image.affine_grid, nn.deformable_conv2d.
 *
 * Positions are tensors of their own, computed once for all channels; each element then reads the pixels around its
 * position. What lies outside of the image is 0, the nearest pixel, or the image mirrored, as the operator says.
 */
#include "op/rule.h"

#include "op/image/image.h"
#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <string.h>

enum { MAX_SPATIAL = 3 };

static const tn_expr *as_index(tn_pool *p, const tn_expr *integral)
{
    return tn_cast(p, TN_IDX, tn_cast(p, TN_I32, integral));
}

static const tn_expr *quotient(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_DIV, a, b);
}

/* ---- image.grid_sample ---- */

typedef struct sampler {
    tn_te *te;
    tn_pool *p;
    const tn_grid_attr *a;
    const tn_tensor *in;
    int dims;
    tn_dtype t;                       /* of positions, weights and sums */
    tn_tensor *position[MAX_SPATIAL]; /* [n, out..] */
} sampler;

static const tn_expr *number(const sampler *s, double v) { return tn_flt(s->p, s->t, v); }

static const tn_expr *extent(const sampler *s, int k, double plus)
{
    const tn_expr *e = tn_cast(s->p, s->t, s->in->dim[2 + k]);
    return plus != 0 ? tn_add(s->p, e, number(s, plus)) : e;
}

static bool pads(const sampler *s, const char *mode) { return strcmp(s->a->padding_mode, mode) == 0; }

/* x mirrored at both ends of the image until it lies inside. */
static const tn_expr *mirrored(const sampler *s, int k, const tn_expr *x)
{
    tn_pool *p = s->p;
    bool corners = s->a->align_corners;
    const tn_expr *low = number(s, corners ? 0 : -0.5), *high = extent(s, k, corners ? -1 : -0.5);
    const tn_expr *range = tn_sub(p, high, low), *zero = number(s, 0), *two = number(s, 2);
    range = corners ? tn_max(p, range, number(s, 1)) : range; /* an image of one pixel: all is that pixel */
    const tn_expr *below = tn_sub(p, low, x), *above = tn_sub(p, x, high);
    const tn_expr *d = tn_max(p, tn_max(p, below, above), zero);
    const tn_expr *turns = tn_intrinsic1(p, TN_F_floor, quotient(p, d, range));
    const tn_expr *rest = tn_sub(p, d, tn_mul(p, turns, range));
    const tn_expr *pairs = tn_intrinsic1(p, TN_F_floor, quotient(p, turns, two));
    const tn_expr *even = tn_eq(p, tn_mul(p, pairs, two), turns), *left = tn_lt(p, x, low);
    const tn_expr *from_low = tn_eq(p, tn_cast(p, TN_I32, even), tn_cast(p, TN_I32, left));
    const tn_expr *inside = tn_and(p, tn_le(p, low, x), tn_le(p, x, high));
    const tn_expr *back = tn_select(p, from_low, tn_add(p, low, rest), tn_sub(p, high, rest));
    return tn_select(p, inside, x, back);
}

/* Position along spatial dimension k: the grid's [-1, 1] scaled to the image. */
static tn_tensor *position(const sampler *s, const tn_tensor *grid, int k)
{
    tn_pool *p = s->p;
    const tn_expr *index[2 + MAX_SPATIAL];
    s->te->tag = "injective";
    tn_tensor *t = tn_te_new(s->te, "position", s->t, s->dims + 1, grid->dim, NULL);
    for (int i = 0; i <= s->dims; i++)
        index[i] = t->axis[i];
    index[s->dims + 1] = tn_idx(p, s->dims - 1 - k); /* x comes first */
    const tn_expr *g = tn_add(p, tn_cast(p, s->t, tn_at(s->te, grid, s->dims + 2, index)), number(s, 1)), *x;
    if (s->a->align_corners)
        x = tn_mul(p, quotient(p, g, number(s, 2)), extent(s, k, -1));
    else
        x = quotient(p, tn_sub(p, tn_mul(p, g, extent(s, k, 0)), number(s, 1)), number(s, 2));
    if (strcmp(s->a->method, "nearest") == 0)
        x = tn_intrinsic1(p, TN_F_round, x);
    bool near =
        strcmp(s->a->method, "bicubic") != 0; /* a cubic's pixels are looked for around the position itself */
    if (near && pads(s, "border"))
        x = tn_min(p, tn_max(p, x, number(s, 0)), extent(s, k, -1));
    else if (near && pads(s, "reflection"))
        x = mirrored(s, k, x);
    tn_te_define(s->te, t, x);
    return t;
}

/* The pixel at integral positions x[] (floats) of output position axis[]. */
static const tn_expr *pixel(const sampler *s, const tn_expr *const axis[], const tn_expr *const x[])
{
    tn_pool *p = s->p;
    const tn_expr *index[2 + MAX_SPATIAL] = {axis[0], axis[1]}, *where = NULL;
    for (int k = 0; k < s->dims; k++) {
        const tn_expr *last = tn_sub(p, s->in->dim[2 + k], tn_idx(p, 1)), *zero = tn_idx(p, 0);
        const tn_expr *i =
            as_index(p, pads(s, "reflection") ? tn_intrinsic1(p, TN_F_trunc, mirrored(s, k, x[k])) : x[k]);
        if (pads(s, "zeros"))
            where = tn_rule_both(p, where, tn_and(p, tn_le(p, zero, i), tn_le(p, i, last)));
        else
            i = tn_min(p, tn_max(p, i, zero), last);
        index[2 + k] = i;
    }
    const tn_expr *none = tn_const(p, s->in->dtype, 0);
    const tn_expr *v = where ? tn_at_if(s->te, s->in, s->dims + 2, index, where, none)
                             : tn_at(s->te, s->in, s->dims + 2, index);
    return tn_cast(p, s->t, v);
}

/* Weight of the pixel at `tap` (-1 to 2) for a position f beyond pixel 0: Keys' cubic with parameter -0.75. */
static const tn_expr *cubic(const sampler *s, const tn_expr *f, int tap)
{
    tn_pool *p = s->p;
    double a = -0.75;
    const tn_expr *d = tap <= 0 ? tn_add(p, f, number(s, -tap)) : tn_sub(p, number(s, tap), f);
    if (tap == 0 || tap == 1) {
        const tn_expr *v = tn_sub(p, tn_mul(p, number(s, a + 2), d), number(s, a + 3));
        return tn_add(p, tn_mul(p, tn_mul(p, v, d), d), number(s, 1));
    }
    const tn_expr *v = tn_mul(p, tn_sub(p, tn_mul(p, number(s, a), d), number(s, 5 * a)), d);
    return tn_sub(p, tn_mul(p, tn_add(p, v, number(s, 8 * a)), d), number(s, 4 * a));
}

/* Interpolates over dimensions k and later; x[] holds what was chosen for those before. */
static const tn_expr *interpolate(const sampler *s, const tn_expr *const axis[], const tn_expr *x[], int k)
{
    tn_pool *p = s->p;
    const tn_expr *at[1 + MAX_SPATIAL] = {axis[0]}, *sum = NULL;
    if (k == s->dims)
        return pixel(s, axis, x);
    for (int i = 0; i < s->dims; i++)
        at[1 + i] = axis[2 + i];
    const tn_expr *pos = tn_at(s->te, s->position[k], s->dims + 1, at);
    if (strcmp(s->a->method, "nearest") == 0) {
        x[k] = pos;
        return interpolate(s, axis, x, k + 1);
    }
    bool is_cubic = strcmp(s->a->method, "bicubic") == 0;
    const tn_expr *low = tn_intrinsic1(p, TN_F_floor, pos), *f = tn_sub(p, pos, low);
    for (int tap = is_cubic ? -1 : 0; tap <= (is_cubic ? 2 : 1); tap++) {
        x[k] = tap ? tn_add(p, low, number(s, tap)) : low;
        const tn_expr *w = is_cubic ? cubic(s, f, tap) : tap ? f : tn_sub(p, number(s, 1), f);
        const tn_expr *term = tn_mul(p, w, interpolate(s, axis, x, k + 1));
        sum = sum ? tn_add(p, sum, term) : term;
    }
    return sum;
}

static void grid_sample_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    sampler s = {.te = te,
                 .p = te->pool,
                 .a = n->attr,
                 .in = in[0],
                 .dims = in[0]->ndim - 2,
                 .t = tn_rule_accumulator(in[0]->dtype)};
    const tn_expr *x[MAX_SPATIAL];
    for (int k = 0; k < s.dims; k++)
        s.position[k] = position(&s, in[1], k);
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "grid_sample", "injective", NULL);
    for (int k = 0; k < s.dims; k++)
        tn_rule_require_elements(te, in[0], 2 + k, t);
    tn_te_define(te, t, tn_cast(te->pool, t->dtype, interpolate(&s, (const tn_expr *const *)t->axis, x, 0)));
}

static bool one_of(const char *name, const char *a, const char *b, const char *c)
{
    return name && (strcmp(name, a) == 0 || strcmp(name, b) == 0 || strcmp(name, c) == 0);
}

static tn_status grid_sample_infer(tn_graph *g, tn_node *n)
{
    const tn_grid_attr *a = n->attr;
    const tn_type *data, *grid;
    const tn_expr *dim[2 + MAX_SPATIAL];
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &data));
    TN_TRY(tn_rule_tensor(g, n, 1, data->n, &grid));
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(tn_rule_float(g, n, 1));
    if (data->n != 4 && data->n != 5)
        return tn_rule_fail(g, n, "op-E003", "data must have 4 or 5 dimensions, but is %s",
                            tn_rule_type_text(g, data));
    if (!one_of(a->method, "nearest", "bilinear", "bicubic") ||
        !one_of(a->padding_mode, "zeros", "border", "reflection"))
        return tn_rule_fail(g, n, "op-E007",
                            "method is \"%s\", padding_mode \"%s\"; known are nearest, bilinear, bicubic "
                            "and zeros, border, reflection",
                            a->method ? a->method : "", a->padding_mode ? a->padding_mode : "");
    if (a->layout && strcmp(a->layout, data->n == 4 ? "NCHW" : "NCDHW") != 0)
        return tn_rule_fail(g, n, "op-E010",
                            "layout \"%s\" is not supported; transpose the data to NCHW or NCDHW", a->layout);
    if (!tn_rule_agree(g, n, grid->dim[0], data->dim[0]) || !tn_is_value(grid->dim[data->n - 1], data->n - 2))
        return tn_rule_fail(g, n, "op-E008", "grid %s does not match data %s", tn_rule_type_text(g, grid),
                            tn_rule_type_text(g, data));
    dim[0] = data->dim[0];
    dim[1] = data->dim[1];
    for (int i = 2; i < data->n; i++)
        dim[i] = grid->dim[i - 1];
    TN_TRY(tn_rule_result(g, n, 0, data->dtype, data->n, dim));
    for (int i = 2; i < data->n; i++)
        TN_TRY(tn_rule_elements(g, n, data, i));
    return TN_OK;
}

/* clang-format off */
static const tn_attr_field grid_fields[] = TN_ATTR_TABLE(tn_grid_attr, TN_GRID_ATTRS);
static const char *const grid_in[] = {"data", "grid"};

const tn_op tn_op_image_grid_sample = {
    .name = "image.sample_points", .doc = "Pixels at the positions that a grid gives, interpolated.",
    .attr_size = sizeof(tn_grid_attr), .attr = grid_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = grid_in,
    .infer = grid_sample_infer, .compute = grid_sample_compute,
};
/* clang-format on */

/* ---- image.affine_grid ---- */

static tn_status affine_grid_infer(tn_graph *g, tn_node *n)
{
    const tn_affine_grid_attr *a = n->attr;
    const tn_type *t;
    const tn_expr *dim[2 + MAX_SPATIAL];
    int dims = (int)a->target_shape.n;
    TN_TRY(tn_rule_tensor(g, n, 0, 3, &t));
    TN_TRY(tn_rule_float(g, n, 0));
    if ((dims != 2 && dims != 3) || !tn_is_value(t->dim[1], dims) || !tn_is_value(t->dim[2], dims + 1))
        return tn_rule_fail(g, n, "op-E008", "data %s does not match a target_shape of %d entries",
                            tn_rule_type_text(g, t), dims);
    dim[0] = t->dim[0];
    for (int i = 0; i < dims; i++)
        dim[1 + i] = a->target_shape.at[i];
    dim[1 + dims] = tn_idx(g->pool, dims);
    return tn_rule_result(g, n, 0, t->dtype, dims + 2, dim);
}

static void affine_grid_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_affine_grid_attr *a = n->attr;
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "affine_grid", "injective", NULL);
    tn_dtype acc = tn_rule_accumulator(t->dtype);
    int dims = t->ndim - 2;
    const tn_expr *row = t->axis[t->ndim - 1], *one = tn_flt(p, acc, 1), *two = tn_flt(p, acc, 2),
                  *sum = NULL;
    for (int k = 0; k <= dims; k++) { /* x first, a constant last */
        const tn_expr *w = tn_cast(p, acc, tn_at3(te, in[0], t->axis[0], row, tn_idx(p, k)));
        if (k < dims) {
            const tn_expr *i = tn_mul(p, two, tn_cast(p, acc, t->axis[dims - k])), *e = t->dim[dims - k], *at;
            const tn_expr *gaps = tn_max(p, tn_sub(p, e, tn_idx(p, 1)), tn_idx(p, 1));
            if (a->align_corners)
                at = tn_sub(p, quotient(p, i, tn_cast(p, acc, gaps)), one);
            else
                at = tn_sub(p, quotient(p, tn_add(p, i, one), tn_cast(p, acc, e)), one);
            w = tn_mul(p, w, at);
        }
        sum = sum ? tn_add(p, sum, w) : w;
    }
    tn_te_define(te, t, tn_cast(p, t->dtype, sum));
}

/* clang-format off */
static const tn_attr_field affine_fields[] = TN_ATTR_TABLE(tn_affine_grid_attr, TN_AFFINE_GRID_ATTRS);
static const char *const affine_in[] = {"data"};

const tn_op tn_op_image_affine_grid = {
    .name = "image.affine_points", .doc = "The grid of positions that an affine map gives.",
    .attr_size = sizeof(tn_affine_grid_attr), .attr = affine_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .in_name = affine_in,
    .infer = affine_grid_infer, .compute = affine_grid_compute,
};
/* clang-format on */

/* ---- nn.deformable_conv2d ----
 * The columns (each tap of each position, read where its offset says) times the weight: a matrix product. */

static tn_status deform_normalise(tn_graph *g, tn_node *n, tn_deform_attr *a)
{
    if (!a->edges ||
        (strcmp(a->edges, "cut") != 0 && strcmp(a->edges, "held") != 0 && strcmp(a->edges, "faded") != 0))
        return tn_rule_fail(g, n, "op-E007", "unknown edges \"%s\"; use cut, held or faded",
                            a->edges ? a->edges : "");
    TN_TRY(tn_rule_steps(g, n, &a->strides, &a->dilation, &a->padding, 2));
    TN_TRY(tn_rule_groups(g, n, "groups", a->groups));
    TN_TRY(tn_rule_groups(g, n, "deformable_groups", a->deformable_groups));
    tn_rule_set_attr(g, n, a);
    return TN_OK;
}

/* Operands: data, offset, weight, mask. */
static tn_status check_deform(tn_graph *g, const tn_node *n, const tn_deform_attr *a,
                              const tn_expr *const out[2])
{
    const tn_type *x = tn_in_type(n, 0), *offset = tn_in_type(n, 1), *w = tn_in_type(n, 2), *m;
    int64_t kh, kw, ic = 0, oc = 0;
    tn_pool *p = g->pool;
    bool in_told = tn_is_int(x->dim[1], &ic), out_told = tn_is_int(w->dim[0], &oc);
    if (!tn_is_int(w->dim[2], &kh) || !tn_is_int(w->dim[3], &kw) || kh < 1 || kw < 1 || kh > 4096 ||
        kw > 4096 || (!in_told && a->deformable_groups > 1) || (!(in_told && out_told) && a->groups > 1))
        return tn_rule_fail(g, n, "op-E008",
                            "the window of weight %s must be fixed, and channels of groups, with data %s",
                            tn_rule_type_text(g, w), tn_rule_type_text(g, x));
    if (ic % a->groups || oc % a->groups || ic % a->deformable_groups ||
        !tn_rule_agree(g, n, w->dim[1], tn_fdiv(p, x->dim[1], tn_idx(p, a->groups))))
        return tn_rule_fail(g, n, "op-E008",
                            "data %s, weight %s, %lld groups and %lld deformable_groups do not match",
                            tn_rule_type_text(g, x), tn_rule_type_text(g, w), (long long)a->groups,
                            (long long)a->deformable_groups);
    for (int i = 1; i < n->nin; i += 2) { /* offset: two for each tap, mask: one */
        if (i == 3 && !tn_in(n, 3).def)
            break;
        TN_TRY(tn_rule_tensor(g, n, i, 4, &m));
        TN_TRY(tn_rule_same_dtype(g, n, i));
        int64_t each = a->deformable_groups * kh * kw * (i == 1 ? 2 : 1);
        if (!tn_rule_agree(g, n, m->dim[0], x->dim[0]) || !tn_rule_agree(g, n, m->dim[1], tn_idx(p, each)) ||
            !tn_rule_agree(g, n, m->dim[2], out[0]) || !tn_rule_agree(g, n, m->dim[3], out[1]))
            return tn_rule_fail(g, n, "op-E008", "%s %s must have %lld channels and the extents %s, %s",
                                tn_rule_in_name(g, n, i), tn_rule_type_text(g, m), (long long)each,
                                tn_rule_dim_text(g, out[0]), tn_rule_dim_text(g, out[1]));
    }
    (void)offset;
    return TN_OK;
}

static tn_window deform_window(const tn_deform_attr *a, int i)
{
    return (tn_window){.stride = a->strides.at[i],
                       .dilation = a->dilation.at[i],
                       .before = a->padding.at[i],
                       .after = a->padding.at[2 + i]};
}

static tn_status deform_infer(tn_graph *g, tn_node *n)
{
    tn_deform_attr a = *(const tn_deform_attr *)n->attr;
    const tn_type *x, *w;
    TN_TRY(tn_rule_tensor(g, n, 0, 4, &x));
    TN_TRY(tn_rule_tensor(g, n, 1, 4, &(const tn_type *){NULL}));
    TN_TRY(tn_rule_tensor(g, n, 2, 4, &w));
    TN_TRY(tn_rule_float(g, n, 0));
    TN_TRY(tn_rule_same_dtype(g, n, 2));
    TN_TRY(deform_normalise(g, n, &a));
    const tn_expr *dim[4] = {x->dim[0], w->dim[0]};
    for (int i = 0; i < 2; i++) {
        tn_window win = deform_window(&a, i);
        TN_TRY(tn_rule_window(g, n, x, 2 + i, w->dim[2 + i], &win, &dim[2 + i]));
    }
    TN_TRY(check_deform(g, n, &a, dim + 2));
    return tn_rule_result(g, n, 0, x->dtype, 4, dim);
}

static tn_value call(tn_graph *g, tn_node *n, const tn_op *op, const void *attr, int nin, const tn_value in[])
{
    for (int i = 0; i < nin && i < op->min_in; i++)
        if (!in[i].def)
            return (tn_value){0};
    return tn_val(tn_make_call(g, n->owner, n, op, nin, in, attr, n->loc));
}

static tn_value reshaped(tn_graph *g, tn_node *n, tn_value v, int rank, const tn_expr *const dim[])
{
    tn_reshape_attr a = {tn_dims_make(g->arena, (uint32_t)rank, dim), true};
    return call(g, n, &tn_op_reshape, &a, 1, &v);
}

static tn_status deform_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    tn_deform_attr a = *(const tn_deform_attr *)n->attr;
    const tn_type *w = tn_in_type(n, 2), *y = n->type[0];
    tn_pool *p = g->pool;
    const tn_expr *groups = tn_idx(p, a.groups), *taps = tn_mul(p, w->dim[2], w->dim[3]);
    const tn_expr *depth = tn_mul(p, w->dim[1], taps), *oc = tn_fdiv(p, w->dim[0], groups);
    const tn_expr *batch = tn_simplify_extent(g, tn_mul(p, y->dim[0], groups)),
                  *pixels = tn_simplify_extent(g, tn_mul(p, y->dim[2], y->dim[3]));
    const tn_value in[3] = {tn_in(n, 0), tn_in(n, 1), n->nin > 3 ? tn_in(n, 3) : (tn_value){0}};
    a.kernel_size = tn_dims_make(g->arena, 2, w->dim + 2);
    tn_value columns = call(g, n, &tn_op_nn_deform_columns, &a, in[2].def ? 3 : 2, in);
    columns = reshaped(g, n, columns, 3, (const tn_expr *const[]){batch, depth, pixels});
    tn_value weight = reshaped(g, n, tn_in(n, 2), 3, (const tn_expr *const[]){groups, oc, depth});
    if (a.groups > 1 && !tn_is_value(y->dim[0], 1)) { /* the groups' weights again for each image */
        static const tn_expand_dims_attr front = {0, 1};
        const tn_expr *each[4] = {y->dim[0], groups, oc, depth};
        tn_broadcast_to_attr b = {tn_dims_make(g->arena, 4, each)};
        weight = call(g, n, &tn_op_expand_dims, &front, 1, &weight);
        weight = call(g, n, &tn_op_broadcast_to, &b, 1, &weight);
        weight = reshaped(g, n, weight, 3, (const tn_expr *const[]){batch, oc, depth});
    }
    tn_matmul_attr m = {.transpose_a = false, .transpose_b = false};
    tn_value product = call(g, n, &tn_op_nn_batch_matmul, &m, 2, (const tn_value[]){weight, columns});
    out[0] = reshaped(g, n, product, 4, y->dim);
    return out[0].def ? TN_OK : TN_FAIL;
}

/* ---- nn.deform_columns: [n, ic, kh, kw, oh, ow] ---- */

static tn_status columns_infer(tn_graph *g, tn_node *n)
{
    tn_deform_attr a = *(const tn_deform_attr *)n->attr;
    const tn_type *x, *offset;
    TN_TRY(tn_rule_tensor(g, n, 0, 4, &x));
    TN_TRY(tn_rule_tensor(g, n, 1, 4, &offset));
    TN_TRY(tn_rule_float(g, n, 0));
    TN_TRY(deform_normalise(g, n, &a));
    int64_t ic = 0;
    if (a.kernel_size.n != 2 ||
        (tn_is_int(x->dim[1], &ic) ? ic % a.deformable_groups != 0 : a.deformable_groups > 1))
        return tn_rule_fail(g, n, "op-E007",
                            "kernel_size must have two entries, and deformable_groups divide the channels "
                            "of %s",
                            tn_rule_type_text(g, x));
    const tn_expr *dim[6] = {x->dim[0],           x->dim[1],      a.kernel_size.at[0],
                             a.kernel_size.at[1], offset->dim[2], offset->dim[3]};
    return tn_rule_result(g, n, 0, x->dtype, 6, dim);
}

/* The data at a position, 0 outside of the image, between pixels by the four around it. */
static const tn_expr *bilinear(tn_te *te, const tn_tensor *x, const tn_expr *b, const tn_expr *c,
                               const tn_expr *const at[2], tn_dtype acc)
{
    tn_pool *p = te->pool;
    const tn_expr *low[2], *part[2], *sum = NULL;
    for (int i = 0; i < 2; i++) {
        low[i] = tn_intrinsic1(p, TN_F_floor, at[i]);
        part[i] = tn_sub(p, at[i], low[i]);
    }
    for (int k = 0; k < 4; k++) {
        const tn_expr *index[4] = {b, c}, *where = NULL, *w = NULL;
        for (int i = 0; i < 2; i++) {
            bool next = (i ? k : k >> 1) & 1;
            const tn_expr *share = next ? part[i] : tn_sub(p, tn_flt(p, acc, 1), part[i]);
            const tn_expr *j = as_index(p, low[i]);
            index[2 + i] = next ? tn_add(p, j, tn_idx(p, 1)) : j;
            where = tn_rule_both(
                p, where,
                tn_and(p, tn_le(p, tn_idx(p, 0), index[2 + i]), tn_lt(p, index[2 + i], x->dim[2 + i])));
            w = w ? tn_mul(p, w, share) : share;
        }
        const tn_expr *v = tn_cast(p, acc, tn_at_if(te, x, 4, index, where, tn_const(p, x->dtype, 0)));
        sum = sum ? tn_add(p, sum, tn_mul(p, w, v)) : tn_mul(p, w, v);
    }
    return sum;
}

/* Taps outside of [0, extent) are 0. Behind the centre of the last pixel "held" ones have its value; "cut" ones fade to
 * 0, as all do at both ends where `edges` is "faded". */
static const tn_expr *read_tap(tn_te *te, const char *edges, const tn_tensor *x, const tn_expr *b,
                               const tn_expr *c, const tn_expr *const at[2], tn_dtype acc)
{
    tn_pool *p = te->pool;
    const tn_expr *zero = tn_flt(p, acc, 0), *inside = NULL, *kept[2];
    if (strcmp(edges, "faded") == 0)
        return bilinear(te, x, b, c, at, acc);
    for (int i = 0; i < 2; i++) {
        const tn_expr *end = tn_cast(p, acc, tn_cast(p, TN_I32, x->dim[2 + i])),
                      *last = tn_sub(p, end, tn_flt(p, acc, 1));
        inside = tn_rule_both(p, inside, tn_and(p, tn_le(p, zero, at[i]), tn_lt(p, at[i], end)));
        kept[i] = strcmp(edges, "held") == 0 ? tn_min(p, tn_max(p, at[i], zero), last) : at[i];
    }
    return tn_select(p, inside, bilinear(te, x, b, c, kept, acc), zero);
}

static void columns_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_deform_attr *a = n->attr;
    tn_pool *p = te->pool;
    tn_dtype acc = tn_rule_accumulator(in[0]->dtype);
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "deform_columns", "injective", NULL);
    const tn_expr *const *v = (const tn_expr *const *)t->axis, *at[2];
    const tn_expr *each = tn_fdiv(p, t->dim[1], tn_idx(p, a->deformable_groups)),
                  *group = tn_fdiv(p, v[1], each);
    const tn_expr *taps = tn_mul(p, t->dim[2], t->dim[3]), *tap = tn_add(p, tn_mul(p, v[2], t->dim[3]), v[3]);
    const tn_expr *slot = tn_add(p, tn_mul(p, group, taps), tap);
    for (int i = 0; i < 2; i++) {
        tn_window w = deform_window(a, i);
        const tn_expr *channel = tn_add(p, tn_mul(p, slot, tn_idx(p, 2)), tn_idx(p, i));
        const tn_expr *moved = tn_cast(p, acc, tn_at4(te, in[1], v[0], channel, v[4], v[5]));
        at[i] = tn_add(p, tn_cast(p, acc, tn_rule_window_index(p, v[4 + i], v[2 + i], &w)), moved);
    }
    const tn_expr *value = read_tap(te, a->edges, in[0], v[0], v[1], at, acc);
    if (n->nin > 2 && in[2])
        value = tn_mul(p, value, tn_cast(p, acc, tn_at4(te, in[2], v[0], slot, v[4], v[5])));
    tn_te_define(te, t, tn_cast(p, t->dtype, value));
}

/* clang-format off */
static const tn_attr_field deform_fields[] = TN_ATTR_TABLE(tn_deform_attr, TN_DEFORM_ATTRS);
static const char *const deform_in[] = {"data", "offset", "weight", "mask"},
                         *const columns_in[] = {"data", "offset", "mask"};

const tn_op tn_op_nn_deformable_conv2d = {
    .name = "nn.deformable_conv2d", .doc = "2-D convolution whose taps are moved by offsets that are data.",
    .attr_size = sizeof(tn_deform_attr), .attr = deform_fields,
    .nin = 4, .min_in = 3, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = deform_in,
    .infer = deform_infer, .expand = deform_expand,
};
const tn_op tn_op_nn_deform_columns = {
    .name = "nn.deform_columns", .doc = "Each tap of each position of a deformable convolution.",
    .attr_size = sizeof(tn_deform_attr), .attr = deform_fields,
    .nin = 3, .min_in = 2, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = columns_in,
    .infer = columns_infer, .compute = columns_compute,
};
/* clang-format on */
