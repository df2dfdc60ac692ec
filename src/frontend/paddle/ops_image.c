/* Images: resizing, sampling, order of channels and pixels. */
#include "frontend/paddle/paddle.h"

#include "frontend/import/window.h"
#include "op/image/image.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* ---- resizing ---- */

typedef struct resizing {
    tn_value x;
    int dims;
    bool last;
    tn_dims size;                  /* as operands say, n 0: not */
    double scale[IMP_MAX_SPATIAL]; /* 0: not given */
    tn_resample_attr how;
} resizing;

static void read_method(imp_node *c, resizing *r)
{
    const char *method = imp_attr_string(c, "interp_method", "bilinear");
    bool corners = pd_bool(c, "align_corners", true), nearest = strcmp(method, "nearest") == 0,
         cubic = strcmp(method, "bicubic") == 0;
    int64_t mode = imp_attr_int(c, "align_mode", 1);
    r->how = (tn_resample_attr){.cubic_alpha = -0.75, .roi_end = 1};
    r->how.method = nearest ? "nearest_neighbor" : cubic ? "cubic" : "linear";
    r->how.coordinate_transformation_mode = corners                            ? "align_corners"
                                            : nearest || (mode == 1 && !cubic) ? "asymmetric"
                                                                               : "half_pixel";
    r->how.rounding_method = corners ? "round_prefer_ceil" : "floor";
    if (!nearest && !cubic && strcmp(method, "bilinear") != 0 && strcmp(method, "linear") != 0 &&
        strcmp(method, "trilinear") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "interp_method is \"%s\"", method);
}

/* Factors from an operand that is constant, or from the attribute: one for all, or one each. */
static void read_scale(imp_node *c, resizing *r)
{
    const pd_attr *a = pd_find_attr(pd_op_of(c), "scale");
    size_t n = a ? a->floats.n + a->float64s.n : 0;
    tn_value v = pd_opt(c, "Scale");
    double one = a && a->type == PD_A_FLOAT ? (double)a->f : 0;
    imp_attr_ignore(c, "scale");
    for (int i = 0; i < r->dims && n; i++) {
        size_t k = n == 1 ? 0 : (size_t)i < n ? (size_t)i : n - 1;
        r->scale[i] =
            a->floats.n ? (double)((const float *)a->floats.at)[k] : ((const double *)a->float64s.at)[k];
    }
    for (int i = 0; i < r->dims && !n; i++)
        r->scale[i] = one;
    if (!v.def || c->bad)
        return;
    int64_t count = imp_length(v);
    for (int i = 0; i < r->dims && !c->bad; i++) {
        tn_value part =
            count > 1 ? imp_slice(c, v, 0, count > i ? i : count - 1, (count > i ? i : count - 1) + 1) : v;
        if (!imp_scalar(c, part, &r->scale[i]))
            imp_refuse(c, IMP_NOT_CONSTANT, "the factors of a resize must be known at compile time");
    }
}

static const tn_expr *extent_of(const resizing *r, int i)
{
    return imp_type(r->x)->dim[(r->last ? 1 : 2) + i];
}

/* floor(extent * scale): of an extent that is not known the scale must be a whole number, or 1 over one. */
static const tn_expr *scaled(imp_node *c, const tn_expr *extent, double scale)
{
    int64_t n;
    double whole = round(scale), part = round(1 / scale);
    if (tn_is_int(extent, &n) && scale * (double)n < INT32_MAX)
        return tn_idx(c->pool, (int64_t)((double)n * scale));
    if (scale == whole)
        return imp_simplify(c, tn_mul(c->pool, extent, tn_idx(c->pool, (int64_t)whole)));
    if (fabs(1 / scale - part) < 1e-6)
        return imp_simplify(c, tn_fdiv(c->pool, extent, tn_idx(c->pool, (int64_t)part)));
    imp_refuse(c, IMP_NOT_CONSTANT, "scale %g needs data of fixed extents", scale);
    return extent;
}

static void read_size(imp_node *c, resizing *r)
{
    static const char *const names[][3] = {
        {"out_w", "", ""}, {"out_h", "out_w", ""}, {"out_d", "out_h", "out_w"}};
    const tn_expr *size[IMP_MAX_SPATIAL];
    bool given = pd_count(c, "OutSize") || pd_count(c, "SizeTensor");
    for (int i = 0; i < 3; i++)
        imp_attr_ignore(c, names[2][i]);
    if (given) {
        bool list = pd_count(c, "SizeTensor") > 0;
        r->size = pd_extents(c, list ? NULL : "OutSize", "SizeTensor", NULL);
        (void)pd_count(c, "OutSize");
        if (!c->bad && r->size.n != (uint32_t)r->dims)
            imp_refuse(c, IMP_BAD_VALUE, "the size has %u entries for %d dimensions", (unsigned)r->size.n,
                       r->dims);
        for (int i = 0; i < r->dims && list; i++)
            r->scale[i] = 0;
        return;
    }
    for (int i = 0; i < r->dims && !c->bad; i++) {
        int64_t n = imp_attr_int(c, names[r->dims - 1][i], -1);
        bool factor = r->scale[i] > 0;
        if (factor ? r->scale[i] < 1e-4 || r->scale[i] > 1e6 : n < 1 || n > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "neither a size nor a factor says how large the result is");
        size[i] = c->bad ? NULL : factor ? scaled(c, extent_of(r, i), r->scale[i]) : tn_idx(c->pool, n);
    }
    r->size = tn_dims_make(c->arena, c->bad ? 0 : (uint32_t)r->dims, size);
}

/* One result is the first element: the distance of positions is 0 then. */
static bool take_first(imp_node *c, tn_resample_attr *a)
{
    if (strcmp(a->method, "cubic") == 0)
        imp_refuse(c, IMP_BAD_VALUE, "bicubic resizing to an extent of 1 is not supported");
    a->coordinate_transformation_mode = "asymmetric";
    return false;
}

/* Positions hang on the factor itself where it was given, else on the quotient of the extents. */
static void interpolate(imp_node *c)
{
    resizing r = {.x = pd_in(c, "X"), .last = pd_is_last(c, "data_layout")};
    r.dims = imp_rank(r.x) - 2;
    if (!c->bad && (r.dims < 1 || r.dims > IMP_MAX_SPATIAL))
        imp_refuse(c, IMP_TOO_LARGE, "data %s has not one to three spatial dimensions",
                   imp_type_text(c, imp_type(r.x)));
    if (c->bad)
        return;
    read_method(c, &r);
    read_scale(c, &r);
    read_size(c, &r);
    tn_resample at[IMP_MAX_SPATIAL];
    const tn_expr *size[IMP_MAX_SPATIAL];
    int64_t in, out;
    bool plain = true, corners = strcmp(r.how.coordinate_transformation_mode, "align_corners") == 0;
    for (int i = 0; i < r.dims && !c->bad; i++) {
        size[i] = r.size.at[i];
        at[i] = (tn_resample){.a = r.how};
        at[i].a.axis = (r.last ? 1 : 2) + i;
        at[i].a.size = tn_dims_make(c->arena, 1, &size[i]);
        bool exact = tn_is_int(extent_of(&r, i), &in) && tn_is_int(size[i], &out) &&
                     fabs((double)out - r.scale[i] * (double)in) < 1e-9 * (double)out;
        at[i].a.scale =
            !corners && r.scale[i] > 0 && !exact && r.scale[i] != round(r.scale[i]) ? r.scale[i] : 0;
        plain = plain && at[i].a.scale == 0;
        if (tn_is_value(size[i], 1) && strcmp(r.how.coordinate_transformation_mode, "half_pixel") == 0)
            plain = take_first(c, &at[i].a);
    }
    if (c->bad)
        return;
    tn_resize_attr a = {.method = r.how.method,
                        .coordinate_transformation_mode = r.how.coordinate_transformation_mode,
                        .rounding_method = r.how.rounding_method,
                        .cubic_alpha = r.how.cubic_alpha};
    tn_value y = plain ? imp_resize(c, r.x, r.last, (tn_dims){(uint32_t)r.dims, size}, a)
                       : tn_make_resample(c->g, c->im->r, NULL, r.x, r.dims, at, c->loc);
    c->bad = c->bad || !y.def;
    pd_out(c, "Out", y);
}

/* ---- sampling ---- */

static void grid_sampler(imp_node *c)
{
    tn_value x = pd_in(c, "X"), grid = pd_in(c, "Grid");
    tn_grid_attr a = {.layout = imp_rank(x) == 5 ? "NCDHW" : "NCHW",
                      .method = imp_attr_string(c, "mode", "bilinear"),
                      .padding_mode = imp_attr_string(c, "padding_mode", "zeros"),
                      .align_corners = pd_bool(c, "align_corners", true)};
    pd_out(c, "Output", imp_call2(c, &tn_op_image_grid_sample, &a, x, grid));
}

static void affine_grid(imp_node *c)
{
    tn_value theta = pd_in(c, "Theta");
    tn_dims size = pd_extents(c, "OutputShape", NULL, "output_shape");
    bool corners = pd_bool(c, "align_corners", true);
    if (!c->bad && size.n != 4 && size.n != 5)
        imp_refuse(c, IMP_BAD_VALUE, "the shape has %u entries, but must have 4 or 5", (unsigned)size.n);
    if (c->bad)
        return;
    tn_affine_grid_attr a = {tn_dims_make(c->arena, size.n - 2, size.at + 2), corners};
    pd_out(c, "Output", imp_call1(c, &tn_op_image_affine_grid, &a, theta));
}

/* ---- channels and pixels ---- */

static void pixel_shuffle(imp_node *c)
{
    bool apart = strcmp(c->row->op, "pixel_unshuffle") == 0;
    tn_value x = pd_in(c, "X");
    bool last = pd_is_last(c, "data_format");
    tn_depth_attr a = {imp_attr_int(c, apart ? "downscale_factor" : "upscale_factor", 1), "NCHW", "CRD"};
    x = last && !c->bad ? imp_channels_first(c, x) : x;
    tn_value y;
    if (apart) { /* the inverse: blocks behind the channels */
        const tn_type *t = imp_type(x);
        int64_t k = a.block_size, h = 0, w = 0;
        static const int64_t order[] = {0, 1, 3, 5, 2, 4};
        if (!c->bad &&
            (t->n != 4 || k < 1 || !tn_is_int(t->dim[2], &h) || !tn_is_int(t->dim[3], &w) || h % k || w % k))
            imp_refuse(c, IMP_BAD_VALUE, "data %s is not made of blocks of %lld", imp_type_text(c, t),
                       (long long)k);
        if (c->bad)
            return;
        const tn_expr *e = tn_idx(c->pool, k), *high = tn_idx(c->pool, h / k), *wide = tn_idx(c->pool, w / k),
                      *six[] = {t->dim[0], t->dim[1], high, e, wide, e},
                      *four[] = {t->dim[0],
                                 imp_simplify(c, tn_mul(c->pool, t->dim[1], tn_idx(c->pool, k * k))), high,
                                 wide};
        y = imp_reshape(c, imp_transpose(c, imp_reshape(c, x, 6, six), 6, order), 4, four);
    } else {
        y = imp_call1(c, &tn_op_nn_depth_to_space, &a, x);
    }
    pd_out(c, "Out", last && !c->bad ? imp_channels_last(c, y) : y);
}

static void shuffle_channels(imp_node *c)
{
    static const int64_t order[] = {0, 2, 1, 3, 4};
    tn_value x = pd_in(c, "X");
    bool second = strcmp(c->row->op, "channel_shuffle") == 0, last = second && pd_is_last(c, "data_format");
    int64_t groups = imp_attr_int(c, second ? "groups" : "group", 1), n = 0;
    x = last && !c->bad ? imp_channels_first(c, x) : x;
    const tn_type *t = imp_type(x);
    if (!c->bad && (t->n != 4 || !tn_is_int(t->dim[1], &n) || groups < 1 || n % groups))
        imp_refuse(c, IMP_BAD_VALUE, "the channels of %s are not split into %lld groups", imp_type_text(c, t),
                   (long long)groups);
    if (c->bad)
        return;
    const tn_expr *five[] = {t->dim[0], tn_idx(c->pool, groups), tn_idx(c->pool, n / groups), t->dim[2],
                             t->dim[3]};
    tn_value y = imp_reshape(c, imp_transpose(c, imp_reshape(c, x, 5, five), 5, order), 4, t->dim);
    pd_out(c, "Out", last && !c->bad ? imp_channels_last(c, y) : y);
}

static void affine_channel(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    int rank = imp_rank(x), axis = pd_is_last(c, "data_layout") ? rank - 1 : 1;
    tn_value scale = imp_along(c, pd_in(c, "Scale"), axis, rank),
             bias = imp_along(c, pd_in(c, "Bias"), axis, rank);
    pd_out(c, "Out", imp_binary(c, &tn_op_add, imp_binary(c, &tn_op_multiply, x, scale), bias));
}

/* Some channels are those of the frame before, some those of the one after. */
static void temporal_shift(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    bool last = pd_is_last(c, "data_format");
    int64_t frames = imp_attr_int(c, "seg_num", 1), n = 0, channels = 0;
    double ratio = imp_attr_float(c, "shift_ratio", 0.25f);
    x = last && !c->bad ? imp_channels_first(c, x) : x;
    const tn_type *t = imp_type(x);
    if (!c->bad && (t->n != 4 || !tn_is_int(t->dim[0], &n) || !tn_is_int(t->dim[1], &channels) ||
                    frames < 1 || n % frames || !(ratio >= 0 && ratio <= 0.5)))
        imp_refuse(c, IMP_BAD_VALUE, "%s does not consist of %lld frames", imp_type_text(c, t),
                   (long long)frames);
    if (c->bad)
        return;
    int64_t one = (int64_t)((double)channels * ratio), two = (int64_t)((double)channels * 2 * ratio);
    const tn_expr *five[] = {tn_idx(c->pool, n / frames), tn_idx(c->pool, frames), t->dim[1], t->dim[2],
                             t->dim[3]};
    tn_value v = imp_reshape(c, x, 5, five), part[3];
    int64_t edge[4] = {0, one, two, channels};
    uint32_t k = 0;
    for (int i = 0; i < 3; i++) {
        if (edge[i] == edge[i + 1])
            continue;
        tn_value p = imp_slice(c, v, 2, edge[i], edge[i + 1]);
        if (i < 2) {
            int64_t width[10] = {0};
            width[2 + i] = 1;
            tn_pad_attr a = {.pad_width = tn_make_dims(c->g, 10, width), .pad_mode = "constant"};
            p = imp_slice(c, p, 1, i == 0 ? 0 : 1, i == 0 ? frames - 1 : frames);
            p = imp_call1(c, &tn_op_nn_pad, &a, p);
        }
        part[k++] = p;
    }
    tn_value y = imp_reshape(c, imp_concat(c, k, part, 2), 4, t->dim);
    pd_out(c, "Out", last && !c->bad ? imp_channels_last(c, y) : y);
}

// clang-format off
const imp_row pd_rows_image[] = {
    {"affine_channel",      1, 0, -1, -1, affine_channel,   NULL},
    {"affine_grid",         1, 0, -1, -1, affine_grid,      NULL},
    {"bicubic_interp",      1, 0, -1, -1, interpolate,      NULL},
    {"bicubic_interp_v2",   1, 0, -1, -1, interpolate,      NULL},
    {"bilinear_interp",     1, 0, -1, -1, interpolate,      NULL},
    {"bilinear_interp_v2",  1, 0, -1, -1, interpolate,      NULL},
    {"channel_shuffle",     1, 0, -1, -1, shuffle_channels, NULL},
    {"grid_sampler",        1, 0, -1, -1, grid_sampler,     NULL},
    {"linear_interp",       1, 0, -1, -1, interpolate,      NULL},
    {"linear_interp_v2",    1, 0, -1, -1, interpolate,      NULL},
    {"nearest_interp",      1, 0, -1, -1, interpolate,      NULL},
    {"nearest_interp_v2",   1, 0, -1, -1, interpolate,      NULL},
    {"pixel_shuffle",       1, 0, -1, -1, pixel_shuffle,    NULL},
    {"pixel_unshuffle",     1, 0, -1, -1, pixel_shuffle,    NULL},
    {"shuffle_channel",     1, 0, -1, -1, shuffle_channels, NULL},
    {"temporal_shift",      1, 0, -1, -1, temporal_shift,   NULL},
    {"trilinear_interp",    1, 0, -1, -1, interpolate,      NULL},
    {"trilinear_interp_v2", 1, 0, -1, -1, interpolate,      NULL},
    {0},
};
// clang-format on
