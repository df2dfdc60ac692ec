/* Forms (forms.h): layers, images, losses. */
#include "relay/forms.h"

#include "base/size.h"
#include "op/image/image.h"
#include "op/nn/nn.h"

#include <math.h>
#include <string.h>

/* ---- layers ---- */

static tn_value matmul(form_call *c)
{
    static const int64_t swap[] = {1, 0};
    const tn_type *a = form_type(c, c->in[0]), *b = form_type(c, c->in[1]);
    tn_dense_attr d = {.out_dtype = c->a.dtype};
    if (!a || !b || a->n != 2 || b->n != 2)
        return form_refuse(c, "needs matrices");
    tn_value x = c->a.x ? form_transposed(c, c->in[0], 2, swap) : c->in[0];
    tn_value w = c->a.y ? c->in[1] : form_transposed(c, c->in[1], 2, swap);
    return form_make(c, &tn_op_nn_dense, &d, 2, (const tn_value[]){x, w});
}

/* qnn.conv2d_transpose(data, weight, their zero points, their scales): int32 sums of products of what lies above the
 * zero points. */
static tn_value quantised_transpose(form_call *c)
{
    tn_conv_transpose_attr a = {.strides = c->a.ints,
                                .padding = c->a.dims,
                                .output_padding = c->a.ints2,
                                .dilation = c->a.ints3,
                                .groups = c->a.axis,
                                .data_layout = c->a.s,
                                .kernel_layout = c->a.t,
                                .out_layout = c->a.u};
    tn_value x[2];
    if (c->a.v && *c->a.v && strcmp(c->a.v, "int32") != 0)
        return form_refuse(c, "gives int32; cast its result");
    for (int i = 0; i < 2; i++) {
        const tn_type *t = form_type(c, c->in[2 + i]);
        if (!t || t->n)
            return c->bad ? (tn_value){0} : form_refuse(c, "needs zero points that are one number each");
        tn_value zero = form_cast(c, c->in[2 + i], TN_I32);
        x[i] = form_make2(c, &tn_op_subtract, form_cast(c, c->in[i], TN_I32), zero);
    }
    return form_laid_out(c, &tn_op_nn_conv2d_transpose, &a, 2, x);
}

/* Images, or volumes, in another size. method: as TVM names it. */
static tn_value resized(form_call *c, int n, const tn_expr *const size[], tn_resize_attr a)
{
    const tn_op *op = n == 3 ? &tn_op_image_resize3d : &tn_op_image_resize2d;
    const char *how = a.method;
    bool near = strcmp(how, "nearest_neighbor") == 0;
    if (!near && strcmp(how, "bilinear") != 0 && strcmp(how, "trilinear") != 0 && strcmp(how, "bicubic") != 0)
        return form_refuse(c, "needs method nearest_neighbor, bilinear, trilinear or bicubic");
    a.size = tn_dims_make(c->p->g->arena, (uint32_t)n, size);
    a.method = near ? how : strcmp(how, "bicubic") == 0 ? "cubic" : "linear";
    tn_value x = c->in[0];
    return form_laid_out(c, op, &a, 1, &x);
}

/* nn.upsampling, nn.upsampling3d */
static tn_value upsampling(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    const int n = strstr(c->name, "3d") ? 3 : 2, last = strcmp(c->a.s, n == 3 ? "NDHWC" : "NHWC") == 0;
    const double scale[3] = {c->a.d, c->a.a, c->a.b};
    const tn_expr *size[3];
    if (!t || t->n != n + 2 || (!last && strcmp(c->a.s, n == 3 ? "NCDHW" : "NCHW") != 0))
        return c->bad   ? (tn_value){0}
               : n == 3 ? form_refuse(c, "needs volumes in the layout NCDHW or NDHWC")
                        : form_refuse(c, "needs images in the layout NCHW or NHWC");
    for (int i = 0; i < n; i++) {
        int64_t extent;
        double to;
        if (!tn_is_int(t->dim[(last ? 1 : 2) + i], &extent))
            return form_refuse(c, "needs images of known size");
        to = round((double)extent * scale[i + 3 - n]);
        if (!(to >= 1 && to <= 1 << 30))
            return form_refuse(c, "needs scales that leave images of a size");
        size[i] = form_idx(c, (int64_t)to);
    }
    const char *where = n == 3 ? c->a.u : c->a.x ? "align_corners" : "asymmetric";
    return resized(c, n, size,
                   (tn_resize_attr){.layout = c->a.s,
                                    .method = c->a.t,
                                    .coordinate_transformation_mode = where,
                                    .cubic_alpha = -0.5});
}

/* image.resize, image.resize2d's name before TVM 0.8 */
static tn_value resize(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    if (!t || t->n != 4 || c->a.dims.n != 2)
        return c->bad ? (tn_value){0} : form_refuse(c, "needs images, and their rows and columns");
    return resized(c, 2, c->a.dims.at,
                   (tn_resize_attr){.layout = c->a.s,
                                    .method = c->a.t,
                                    .coordinate_transformation_mode = c->a.u,
                                    .rounding_method = c->a.v,
                                    .cubic_alpha = c->a.a,
                                    .cubic_exclude = c->a.number});
}

/* Between a grid [N, 2, out...] and one [N, out..., 2]. */
static tn_value moved_axis(form_call *c, tn_value x, bool last)
{
    const tn_type *t = form_type(c, x);
    int64_t order[FORM_MAX_RANK];
    if (!t || t->n < 3)
        return c->bad ? (tn_value){0} : form_refuse(c, "needs a grid");
    order[0] = 0;
    for (int d = 1; d < t->n; d++)
        order[d] = last ? d + 1 < t->n ? d + 1 : 1 : d > 1 ? d - 1 : t->n - 1;
    return form_transposed(c, x, (uint32_t)t->n, order);
}

static tn_value grid_sample(form_call *c)
{
    const bool given = c->given & 2; /* else volumes have theirs, too */
    tn_grid_attr a = {
        .method = c->a.t, .layout = given ? c->a.s : NULL, .padding_mode = c->a.u, .align_corners = c->a.x};
    tn_value grid = moved_axis(c, c->in[1], true);
    return form_make(c, &tn_op_image_grid_sample, &a, 2, (const tn_value[]){c->in[0], grid});
}

static tn_value affine_grid(form_call *c)
{
    tn_affine_grid_attr a = {.target_shape = c->a.dims, .align_corners = c->a.x};
    return moved_axis(c, form_make1(c, &tn_op_image_affine_grid, &a, c->in[0]), false);
}

enum { MOST_CELLS = 1 << 20 };
enum cell { CELL_MAX, CELL_MEAN, CELL_SUM };

static const tn_op *reduction(enum cell what)
{
    return what == CELL_MAX ? &tn_op_max : what == CELL_MEAN ? &tn_op_mean : &tn_op_sum;
}

/* One axis of cells of several sizes, which have elements in common. */
static tn_value cells_apart(form_call *c, tn_value x, const tn_type *t, int axis, int64_t extent, int64_t n,
                            enum cell what)
{
    tn_graph *g = c->p->g;
    const tn_expr *dim[FORM_MAX_RANK + 1];
    if (n > MOST_CELLS || extent > MOST_CELLS)
        return form_refuse(c, "has too many cells, or images that are too large for cells of several sizes");
    const int64_t most = (extent + n - 1) / n + 1; /* n * most is at most extent + 2 * n */
    int64_t *at = TN_NEW_N(&c->p->scratch, int64_t, (size_t)(n * most)), count[2] = {n, most};
    bool *in = TN_NEW_N(&c->p->scratch, bool, (size_t)(n * most));
    for (int64_t k = 0; k < n * most; k++) {
        int64_t begin = k / most * extent / n, end = ((k / most + 1) * extent + n - 1) / n,
                i = begin + k % most;
        at[k] = i < end ? i : end - 1;
        in[k] = i < end;
    }
    tn_region *r = c->p->scope->region;
    tn_value where = tn_val(tn_make_constant(g, r, NULL, TN_I64, 2, count, at, NULL));
    tn_take_attr take = {axis, "clip"};
    x = form_make(c, &tn_op_take, &take, 2, (const tn_value[]){x, where});
    if (what == CELL_MAX)
        return form_reduced(c, &tn_op_max, x, axis + 1, false);
    for (int d = 0; d <= t->n; d++)
        dim[d] = d == axis ? form_idx(c, n) : d == axis + 1 ? form_idx(c, most) : form_idx(c, 1);
    tn_value inside = tn_val(tn_make_constant(g, r, NULL, TN_DT(TN_BOOL, 8), 2, count, in, NULL));
    inside = form_reshaped(c, inside, (uint32_t)t->n + 1, dim);
    x = form_where(c, inside, x, form_number(c, t->dtype, 0));
    x = form_reduced(c, &tn_op_sum, x, axis + 1, false);
    if (what == CELL_SUM)
        return x;
    tn_value size = form_reduced(c, &tn_op_sum, form_cast(c, inside, t->dtype), axis + 1, false);
    return form_make2(c, &tn_op_divide, x, size);
}

/* Axis by axis: windows, and so their means and largest elements, are products. */
static tn_value cells_along(form_call *c, tn_value x, int axis, int64_t n, enum cell what)
{
    const tn_type *t = form_type(c, x);
    const tn_expr *dim[FORM_MAX_RANK + 1];
    int64_t extent;
    if (!t)
        return (tn_value){0};
    if (!tn_is_int(t->dim[axis], &extent) || n < 1 || extent < 1)
        return n == 1 ? form_reduced(c, reduction(what), x, axis, true)
                      : form_refuse(c, "needs cells, and images of known size");
    if (n == extent)
        return x;
    if (extent % n)
        return cells_apart(c, x, t, axis, extent, n, what);
    for (int d = 0; d <= t->n; d++)
        dim[d] = d == axis       ? form_idx(c, n)
                 : d == axis + 1 ? form_idx(c, extent / n)
                                 : t->dim[d - (d > axis)];
    x = form_reshaped(c, x, (uint32_t)t->n + 1, dim);
    return form_reduced(c, reduction(what), x, axis + 1, false);
}

/* Windows of one size over images of the order NCHW: pooling. */
static bool even_windows(const form_call *c, const tn_type *t, int first, const int64_t cells[],
                         int64_t size[])
{
    bool even = t->n == 4 && first == 2;
    for (int i = 0; i < 2 && even; i++) {
        int64_t extent;
        even = tn_is_int(t->dim[first + i], &extent) && extent > 0 && extent % cells[i] == 0;
        size[i] = even ? extent / cells[i] : 0;
    }
    return even && !c->bad;
}

static tn_value cells_of(form_call *c, tn_value x, int n, int first, const int64_t cells[], enum cell what)
{
    for (int i = n - 1; i >= 0; i--)
        x = cells_along(c, x, first + i, cells[i], what);
    return x;
}

/* nn.adaptive_avg_pool1d, ..., nn.adaptive_max_pool3d: output_size: for each dimension, one for all, or none: the
 * data's own. */
static tn_value adaptive(form_call *c)
{
    static const char *const orders[][2] = {{"NCW", "NWC"}, {"NCHW", "NHWC"}, {"NCDHW", "NDHWC"}};
    const tn_type *t = form_type(c, c->in[0]);
    const int n = c->name[strlen(c->name) - 2] - '0', last = strcmp(c->a.s, orders[n - 1][1]) == 0,
              first = 2 - last;
    const bool avg = strstr(c->name, "avg") != NULL;
    int64_t cells[3], size[2];
    if (!t || t->n != n + 2 || (!last && strcmp(c->a.s, orders[n - 1][0]) != 0))
        return c->bad   ? (tn_value){0}
               : n == 1 ? form_refuse(c, "needs rows in the layout NCW or NWC")
               : n == 2 ? form_refuse(c, "needs images in the layout NCHW or NHWC")
                        : form_refuse(c, "needs volumes in the layout NCDHW or NDHWC");
    if (c->a.t[0] && strcmp(c->a.t, c->a.s) != 0)
        return form_refuse(c, "gives its result in the layout of the data alone");
    if (!c->a.dims.n)
        return c->in[0];
    for (int i = 0; i < n; i++)
        if ((c->a.dims.n > 1 && (int)c->a.dims.n != n) ||
            !tn_is_int(c->a.dims.at[c->a.dims.n > 1 ? i : 0], &cells[i]) || cells[i] < 1)
            return form_refuse(c, "needs a number of cells, or one for each dimension");
    if (even_windows(c, t, first, cells, size)) {
        const tn_pool2d_attr a = {.pool_size = tn_ints_make(c->p->g->arena, 2, size),
                                  .strides = tn_ints_make(c->p->g->arena, 2, size),
                                  .layout = c->a.s};
        return form_make1(c, avg ? &tn_op_nn_avg_pool2d : &tn_op_nn_max_pool2d, &a, c->in[0]);
    }
    if (avg && tn_dtype_is_int(t->dtype) && t->dtype.bits < 32)
        return form_refuse(c, "needs floats, or integers of 32 bits or more; cast the data");
    if (!avg || !tn_dtype_is_int(t->dtype))
        return cells_of(c, c->in[0], n, first, cells, avg ? CELL_MEAN : CELL_MAX);
    tn_value sum = cells_of(c, c->in[0], n, first, cells, CELL_SUM); /* divided once, toward zero */
    tn_value ones = form_filled(c, form_number(c, t->dtype, 1), (uint32_t)t->n, t->dim);
    return form_make2(c, &tn_op_trunc_divide, sum, cells_of(c, ones, n, first, cells, CELL_SUM));
}

static tn_value l2_normalize(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    tn_axes_attr a = {.axis = c->a.ints, .keepdims = true};
    if (!t)
        return (tn_value){0};
    tn_value sum = form_make1(c, &tn_op_sum, &a, form_make2(c, &tn_op_multiply, c->in[0], c->in[0]));
    sum = form_make2(c, &tn_op_maximum, sum, form_number(c, t->dtype, c->a.a));
    return form_make2(c, &tn_op_divide, c->in[0], form_make1(c, &tn_op_sqrt, NULL, sum));
}

/* The elements of the data come last in the buffer, its first ones go. */
static tn_value fifo_buffer(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]), *b = form_type(c, c->in[1]);
    int64_t axis = t ? form_axis(c, c->a.axis, t->n) : 0, n, had;
    if (!t || !b || c->bad)
        return (tn_value){0};
    if (b->n != t->n || !tn_is_int(t->dim[axis], &n) || !tn_is_int(b->dim[axis], &had) || n > had)
        return form_refuse(c, "needs data that fit into the buffer");
    tn_axis_attr a = {axis};
    tn_value kept = form_sliced(c, c->in[1], axis, n, INT64_MAX, 1);
    return form_make(c, &tn_op_concatenate, &a, 2, (const tn_value[]){kept, c->in[0]});
}

/* ---- padding, blocks ---- */

/* Each dimension's first and last elements once more, in reverse order, the outermost among them. */
static tn_value mirrored(form_call *c, tn_value x, int axis, int64_t before, int64_t after, int64_t extent)
{
    tn_value part[3];
    int n = 0;
    tn_axis_attr a = {axis};
    if (before > 0)
        part[n++] = form_sliced(c, x, axis, before - 1, INT64_MIN, -1);
    part[n++] = x;
    if (after > 0)
        part[n++] = form_sliced(c, x, axis, -1, after == extent ? INT64_MIN : extent - after - 1, -1);
    return n == 1 ? x : form_make(c, &tn_op_concatenate, &a, n, part);
}

static tn_value mirror_pad(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    tn_pad_attr pad = {.pad_width = c->a.dims, .pad_mode = "reflect"};
    tn_value x = c->in[0];
    if (!t)
        return (tn_value){0};
    if (strcmp(c->a.s, "REFLECT") == 0)
        return form_make1(c, &tn_op_nn_pad, &pad, x);
    if (strcmp(c->a.s, "SYMMETRIC") != 0 || (int)c->a.dims.n != 2 * t->n)
        return form_refuse(c, "needs mode REFLECT or SYMMETRIC and two widths for each dimension");
    for (int d = 0; d < t->n && !c->bad; d++) {
        int64_t width[2], extent;
        bool known =
            tn_is_int(c->a.dims.at[2 * d], &width[0]) && tn_is_int(c->a.dims.at[2 * d + 1], &width[1]);
        if (known && !width[0] && !width[1])
            continue;
        if (!known || !tn_is_int(t->dim[d], &extent) || width[0] < 0 || width[1] < 0 || width[0] > extent ||
            width[1] > extent)
            return form_refuse(c, "needs widths that are at most the extents, which are known");
        x = mirrored(c, x, d, width[0], width[1], extent);
    }
    return x;
}

enum { MOST_BLOCKED = 4 };

/* Block sizes of dimensions 1, 2, ..., and two numbers for each of them. */
static int read_blocks(form_call *c, const tn_type *t, int64_t block[], int64_t edge[][2])
{
    int n = t && c->a.ints.n <= MOST_BLOCKED ? (int)c->a.ints.n : -1;
    bool ok = n > 0 && n < t->n && (int)c->a.dims.n == 2 * n;
    for (int i = 0; i < n && ok; i++) {
        block[i] = c->a.ints.at[i];
        ok = block[i] > 0 && tn_is_int(c->a.dims.at[2 * i], &edge[i][0]) &&
             tn_is_int(c->a.dims.at[2 * i + 1], &edge[i][1]) && edge[i][0] >= 0 && edge[i][1] >= 0 &&
             edge[i][0] <= INT32_MAX && edge[i][1] <= INT32_MAX && block[i] <= INT32_MAX;
    }
    if (!ok)
        (void)form_refuse(c, "needs a block and two numbers for each of up to 4 dimensions behind the first");
    return ok ? n : 0;
}

static tn_value space_to_batch(form_call *c)
{
    int64_t block[MOST_BLOCKED], edge[MOST_BLOCKED][2], order[FORM_MAX_RANK], extent;
    const tn_type *t = form_type(c, c->in[0]);
    const tn_expr *width[2 * FORM_MAX_RANK], *cut[FORM_MAX_RANK], *to[FORM_MAX_RANK];
    int n = read_blocks(c, t, block, edge), k = 0;
    if (!n || t->n + n > FORM_MAX_RANK)
        return c->bad ? (tn_value){0} : form_refuse(c, "has too many dimensions");
    for (int d = 0; d < t->n; d++)
        for (int i = 0; i < 2; i++)
            width[2 * d + i] = form_idx(c, d && d <= n ? edge[d - 1][i] : 0);
    tn_pad_attr pad = {.pad_width = tn_dims_make(c->p->g->arena, (uint32_t)(2 * t->n), width),
                       .pad_value = c->a.a,
                       .pad_mode = "constant"};
    tn_value x = form_make1(c, &tn_op_nn_pad, &pad, c->in[0]);
    to[0] = t->dim[0];
    for (int d = 0; d < t->n; d++) { /* [N, h, block, w, block, ...] to [block, block, N, h, w, ...] */
        order[n + d] = k;
        cut[k++] = t->dim[d];
        if (d == 0 || d > n) {
            to[d] = d ? t->dim[d] : to[0];
            continue;
        }
        if (!tn_is_int(t->dim[d], &extent) || !tn_i64_add(extent, edge[d - 1][0] + edge[d - 1][1], &extent) ||
            extent % block[d - 1])
            return form_refuse(c, "needs padded extents that are multiples of the blocks");
        to[d] = cut[k - 1] = form_idx(c, extent / block[d - 1]);
        to[0] = form_times(c, to[0], block[d - 1]);
        order[d - 1] = k;
        cut[k++] = form_idx(c, block[d - 1]);
    }
    x = form_transposed(c, form_reshaped(c, x, (uint32_t)k, cut), (uint32_t)k, order);
    return form_reshaped(c, x, (uint32_t)t->n, to);
}

static tn_value batch_to_space(form_call *c)
{
    int64_t block[MOST_BLOCKED], edge[MOST_BLOCKED][2], order[FORM_MAX_RANK], extent, all = 1;
    const tn_type *t = form_type(c, c->in[0]);
    const tn_expr *cut[FORM_MAX_RANK], *to[FORM_MAX_RANK];
    tn_pool *p = c->p->g->pool;
    int n = read_blocks(c, t, block, edge), k = 0;
    if (!n || t->n + n > FORM_MAX_RANK)
        return c->bad ? (tn_value){0} : form_refuse(c, "has too many dimensions");
    for (int i = 0; i < n; i++) {
        if (!tn_i64_mul(all, block[i], &all))
            return form_refuse(c, "needs a batch that is a multiple of the blocks");
        cut[i] = form_idx(c, block[i]);
    }
    to[0] = cut[n] = tn_simplify(p, NULL, tn_fdiv(p, t->dim[0], form_idx(c, all)));
    if (!tn_is_value(tn_simplify(p, NULL, tn_fmod(p, t->dim[0], form_idx(c, all))), 0))
        return form_refuse(c, "needs a batch that is a multiple of the blocks");
    for (int d = 0; d < t->n; d++) { /* [block, block, N, h, w, ...] to [N, h, block, w, block, ...] */
        order[k++] = n + d;
        if (d)
            to[d] = cut[n + d] = t->dim[d];
        if (d && d <= n) {
            to[d] = form_times(c, t->dim[d], block[d - 1]);
            order[k++] = d - 1;
        }
    }
    tn_value x = form_reshaped(c, c->in[0], (uint32_t)k, cut);
    x = form_reshaped(c, form_transposed(c, x, (uint32_t)k, order), (uint32_t)t->n, to);
    for (int d = 1; d <= n && !c->bad; d++) {
        if (!edge[d - 1][0] && !edge[d - 1][1])
            continue;
        if (!tn_is_int(to[d], &extent) || edge[d - 1][0] + edge[d - 1][1] > extent)
            return form_refuse(c, "needs known extents that are larger than what is cut off");
        x = form_sliced(c, x, d, edge[d - 1][0], extent - edge[d - 1][1], 1);
    }
    return x;
}

/* Elements apart, the value between them. */
static tn_value dilate(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    const tn_expr *zero[FORM_MAX_RANK], *to[FORM_MAX_RANK];
    int64_t axes[FORM_MAX_RANK];
    if (!t || (int)c->a.ints.n != t->n)
        return c->bad ? (tn_value){0} : form_refuse(c, "needs a stride for each dimension");
    for (int d = 0; d < t->n; d++) {
        const int64_t s = c->a.ints.at[d];
        int64_t extent;
        if (s < 1 || !tn_is_int(t->dim[d], &extent) || extent < 1 || !tn_i64_mul(extent - 1, s, &extent) ||
            extent >= INT32_MAX)
            return form_refuse(c, "needs strides above 0 and known extents");
        zero[d] = form_idx(c, 0);
        to[d] = form_idx(c, extent + 1);
        axes[d] = d;
    }
    tn_value x = form_filled(c, form_number(c, t->dtype, c->a.a), (uint32_t)t->n, to);
    tn_slice_attr a = {tn_dims_make(c->p->g->arena, (uint32_t)t->n, zero),
                       tn_dims_make(c->p->g->arena, (uint32_t)t->n, to), c->a.ints,
                       tn_ints_make(c->p->g->arena, (uint32_t)t->n, axes)};
    return form_make(c, &tn_op_strided_set, &a, 2, (const tn_value[]){x, c->in[0]});
}

/* ---- losses ---- */

static bool are_alike(form_call *c, tn_value a, tn_value b)
{
    const tn_type *x = form_type(c, a), *y = form_type(c, b);
    bool alike = x && y && x->n == y->n;
    for (int d = 0; alike && d < x->n; d++)
        alike = x->dim[d] == y->dim[d];
    return alike;
}

/* cross_entropy(p, t): the mean over the batch of -sum(log(p) * t); cross_entropy_with_logits: of -sum(p * t) */
static tn_value cross_entropy(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    bool logits = strstr(c->name, "logits") != NULL;
    int64_t first = 0;
    if (!t || t->n < 1 || !are_alike(c, c->in[0], c->in[1]))
        return c->bad ? (tn_value){0} : form_refuse(c, "needs a batch of predictions, and as many targets");
    tn_value x = logits ? c->in[0] : form_make1(c, &tn_op_log, NULL, c->in[0]);
    x = form_make1(c, &tn_op_negative, NULL, form_make2(c, &tn_op_multiply, x, c->in[1]));
    tn_axes_attr rest = {.axis = tn_ints_make(c->p->g->arena, 1, &first), .exclude = true};
    if (t->n > 1)
        x = form_make1(c, &tn_op_sum, &rest, x);
    return form_reduced(c, &tn_op_mean, x, 0, false);
}

/* Are the targets integers, of the predictions' shape without its axis 1? */
static bool are_targets(const tn_type *t, const tn_type *of)
{
    bool are = t && of->n == t->n + 1 && tn_dtype_is_int(t->dtype);
    for (int d = 0; are && d < t->n; d++)
        are = t->dim[d] == of->dim[d ? d + 1 : 0];
    return are;
}

/* nll_loss(predictions, targets, weights) */
static tn_value nll_loss(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]), *at_type = form_type(c, c->in[1]), *w = form_type(c, c->in[2]);
    const bool mean = strcmp(c->a.s, "mean") == 0, sum = strcmp(c->a.s, "sum") == 0;
    const int64_t one = 1;
    if (!t || !at_type || !w || t->n < 2 || !are_targets(at_type, t) || w->n != 1)
        return form_refuse(
            c,
            "needs predictions of classes along axis 1, a target for each place and a weight for each class");
    if (!mean && !sum && strcmp(c->a.s, "none") != 0)
        return form_refuse(c, "needs reduction mean, sum or none");
    tn_axis_attr a = {1};
    tn_axes_attr all = {0};
    tn_take_attr take = {0, "clip"};
    tn_squeeze_attr drop = {tn_ints_make(c->p->g->arena, 1, &one)};
    tn_value at = form_cast(c, c->in[1], TN_I64);
    tn_value counts = form_make2(c, &tn_op_not_equal, at, form_integer(c, c->a.number));
    at = form_where(c, counts, at, form_integer(c, 0));
    tn_value p = form_make(c, &tn_op_gather, &a, 2, (const tn_value[]){c->in[0], form_expanded(c, at, 1)});
    p = form_make1(c, &tn_op_squeeze, &drop, p);
    tn_value zero = form_number(c, t->dtype, 0);
    tn_value weight = form_make(c, &tn_op_take, &take, 2, (const tn_value[]){c->in[2], at});
    p = form_make1(c, &tn_op_negative, NULL, form_make2(c, &tn_op_multiply, p, weight));
    p = form_where(c, counts, p, zero); /* even where it is infinite */
    weight = form_where(c, counts, weight, zero);
    if (!mean && !sum)
        return p;
    p = form_make1(c, &tn_op_sum, &all, p);
    return sum ? p : form_make2(c, &tn_op_divide, p, form_make1(c, &tn_op_sum, &all, weight));
}

/* ---- tables ---- */

/* clang-format off */
static const tn_attr_field
    no_attrs[] = {FORM_END},
    axis_first[] = {FORM_ATTR(I64, "axis", axis, "0"), FORM_END},
    products[] = {FORM_ATTR(I64, "units", number, "None"), FORM_ATTR(DTYPE, "out_dtype", dtype, "\"\""),
                  FORM_ATTR(BOOL, "transpose_a", x, "False"), FORM_ATTR(BOOL, "transpose_b", y, "False"), FORM_END},
    larger[] = {FORM_ATTR(F64, "scale_h", a, "1"), FORM_ATTR(F64, "scale_w", b, "1"),
                FORM_ATTR(STR, "layout", s, "\"NCHW\""), FORM_ATTR(STR, "method", t, "\"nearest_neighbor\""),
                FORM_ATTR(BOOL, "align_corners", x, "False"), FORM_END},
    larger3[] = {FORM_ATTR(F64, "scale_d", d, "1"), FORM_ATTR(F64, "scale_h", a, "1"),
                 FORM_ATTR(F64, "scale_w", b, "1"), FORM_ATTR(STR, "layout", s, "\"NCDHW\""),
                 FORM_ATTR(STR, "method", t, "\"nearest_neighbor\""),
                 FORM_ATTR(STR, "coordinate_transformation_mode", u, "\"half_pixel\""), FORM_END},
    resizing[] = {FORM_ATTR(DIMS, "size", dims, NULL), FORM_ATTR(STR, "layout", s, "\"NCHW\""),
                  FORM_ATTR(STR, "method", t, "\"bilinear\""),
                  FORM_ATTR(STR, "coordinate_transformation_mode", u, "\"half_pixel\""),
                  FORM_ATTR(STR, "rounding_method", v, "\"\""), FORM_ATTR(F64, "bicubic_alpha", a, "-0.5"),
                  FORM_ATTR(I64, "bicubic_exclude", number, "0"), FORM_END},
    cells1[] = {FORM_ATTR(DIMS, "output_size", dims, "None"), FORM_ATTR(STR, "layout", s, "\"NCW\""),
              FORM_ATTR(STR, "out_layout", t, "\"\""), FORM_END},
    cells2[] = {FORM_ATTR(DIMS, "output_size", dims, "None"), FORM_ATTR(STR, "layout", s, "\"NCHW\""),
              FORM_ATTR(STR, "out_layout", t, "\"\""), FORM_END},
    cells3[] = {FORM_ATTR(DIMS, "output_size", dims, "None"), FORM_ATTR(STR, "layout", s, "\"NCDHW\""),
              FORM_ATTR(STR, "out_layout", t, "\"\""), FORM_END},
    transposed[] = {FORM_ATTR(I64, "channels", number, "0"), FORM_ATTR(DIMS, "kernel_size", dims2, "None"),
                    FORM_ATTR(INTS, "strides", ints, "[1, 1]"), FORM_ATTR(DIMS, "padding", dims, "[0, 0, 0, 0]"),
                    FORM_ATTR(INTS, "output_padding", ints2, "[0, 0]"), FORM_ATTR(INTS, "dilation", ints3, "[1, 1]"),
                    FORM_ATTR(I64, "groups", axis, "1"),
                    FORM_ATTR(STR, "data_layout", s, "\"NCHW\""), FORM_ATTR(STR, "kernel_layout", t, "\"IOHW\""),
                    FORM_ATTR(STR, "out_layout", u, "\"\""), FORM_ATTR(STR, "out_dtype", v, "\"int32\""), FORM_END},
    norm[] = {FORM_ATTR(F64, "eps", a, NULL), FORM_ATTR(INTS, "axis", ints, "None"), FORM_END},
    mirroring[] = {FORM_ATTR(STR, "mode", s, "\"SYMMETRIC\""), FORM_ATTR(DIMS, "pad_width", dims, NULL), FORM_END},
    to_batch[] = {FORM_ATTR(INTS, "block_shape", ints, "[1, 1]"), FORM_ATTR(DIMS, "paddings", dims, "[0, 0, 0, 0]"),
                  FORM_ATTR(F64, "pad_value", a, "0"), FORM_END},
    from_batch[] = {FORM_ATTR(INTS, "block_shape", ints, "[1, 1]"),
                    FORM_ATTR(DIMS, "crops", dims, "[0, 0, 0, 0]"), FORM_END},
    dilating[] = {FORM_ATTR(INTS, "strides", ints, NULL), FORM_ATTR(F64, "dilation_value", a, "0"), FORM_END},
    likelihood[] = {FORM_ATTR(STR, "reduction", s, "\"mean\""), FORM_ATTR(I64, "ignore_index", number, "-100"),
                    FORM_END},
    points[] = {FORM_ATTR(STR, "method", t, "\"bilinear\""), FORM_ATTR(STR, "layout", s, "\"NCHW\""),
                FORM_ATTR(STR, "padding_mode", u, "\"zeros\""), FORM_ATTR(BOOL, "align_corners", x, "True"), FORM_END},
    affine[] = {FORM_ATTR(DIMS, "target_shape", dims, NULL), FORM_ATTR(BOOL, "align_corners", x, "True"), FORM_END};

const form form_rows_nn[] = {
    {"nn.matmul", 2, 2, matmul, products, "The product of two matrices."},
    {"nn.upsampling", 1, 1, upsampling, larger, "Images enlarged by factors."},
    {"qnn.conv2d_transpose", 6, 6, quantised_transpose, transposed,
     "Sums of a transposed convolution of quantised numbers."},
    {"nn.l2_normalize", 1, 1, l2_normalize, norm, "data / sqrt(max(sum(data * data), eps))."},
    {"nn.upsampling3d", 1, 1, upsampling, larger3, "Volumes enlarged by factors."},
    {"image.resize", 1, 1, resize, resizing, "Images in another size."},
    {"nn.adaptive_avg_pool1d", 1, 1, adaptive, cells1, "The mean of each of so many windows."},
    {"nn.adaptive_max_pool1d", 1, 1, adaptive, cells1, "The largest element of each of so many windows."},
    {"nn.adaptive_avg_pool2d", 1, 1, adaptive, cells2, "The mean of each of so many windows."},
    {"nn.adaptive_max_pool2d", 1, 1, adaptive, cells2, "The largest element of each of so many windows."},
    {"nn.adaptive_avg_pool3d", 1, 1, adaptive, cells3, "The mean of each of so many windows."},
    {"nn.adaptive_max_pool3d", 1, 1, adaptive, cells3, "The largest element of each of so many windows."},
    {"image.grid_sample", 2, 2, grid_sample, points, "Pixels at the positions that a grid [N, 2, out...] gives."},
    {"image.affine_grid", 1, 1, affine_grid, affine,
     "The grid [N, 2, rows, columns] of positions that affine maps give."},
    {"nn.mirror_pad", 1, 1, mirror_pad, mirroring, "Surrounds a tensor with its own elements in reverse."},
    {"nn.space_to_batch_nd", 1, 1, space_to_batch, to_batch, "Elements of blocks become batches."},
    {"nn.batch_to_space_nd", 1, 1, batch_to_space, from_batch, "Batches become the elements of blocks."},
    {"nn.dilate", 1, 1, dilate, dilating, "Elements apart, with a value between them."},
    {"nn.fifo_buffer", 2, 2, fifo_buffer, axis_first, "A buffer that has taken up the data at its end."},
    {"nn.cross_entropy", 2, 2, cross_entropy, no_attrs,
     "The mean over the batch of -sum(log(predictions) * targets)."},
    {"nn.cross_entropy_with_logits", 2, 2, cross_entropy, no_attrs,
     "The mean over the batch of -sum(predictions * targets)."},
    {"nn.nll_loss", 3, 3, nll_loss, likelihood,
     "The negative logarithm of the likelihood of the targets, by weights."},
    {0},
};
/* clang-format on */
