/* What models do to pictures and measurements: scaling, resizing. Random changes of pictures do nothing when a model is
 * used. */
#include "frontend/import/filter.h"
#include "frontend/keras/rows.h"

#include <math.h>
#include <string.h>

/* ---- Normalization, Rescaling ---- */

/* v, with one entry for each element of the kept axes, as what broadcasts to x. */
static tn_value spread(imp_node *c, tn_value v, tn_value x, int n, const int64_t axis[])
{
    const tn_expr *dim[IMP_MAX_RANK];
    int64_t count = 1;
    for (int i = 0; i < imp_rank(x); i++)
        dim[i] = tn_idx(c->pool, 1);
    for (int i = 0; i < imp_rank(v); i++) {
        int64_t extent = 0;
        (void)tn_is_int(imp_type(v)->dim[i], &extent);
        count *= extent;
    }
    for (int i = 0; i < n && !c->bad; i++) {
        int at = imp_axis(c, axis[i], imp_rank(x));
        dim[at] = c->bad ? NULL : imp_type(x)->dim[at];
    }
    if (c->bad || !v.def)
        return v;
    return count == 1 ? imp_reshape(c, v, 0, NULL) : imp_reshape(c, v, imp_rank(x), dim);
}

static tn_value constant_or_variable(imp_node *c, const char *key, tn_dtype t)
{
    const tn_json *v = keras_config(c, key);
    return v ? imp_flat(c, keras_json_tensor(c, v, t)) : imp_cast(c, keras_variable_of(c, key), t);
}

/* (x - mean) / max(sqrt(variance), 1e-7), or back. */
static void normalization(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK] = {-1};
    tn_value x = keras_in(c, 0);
    const tn_json *given = tn_json_find(keras_layer_of(c)->config, "axis");
    int n = keras_list(c, "axis", IMP_MAX_RANK, axis);
    bool invert = keras_bool(c, "invert", false);
    n = n < 0 ? given == NULL : n;
    if (c->bad)
        return;
    tn_dtype t = tn_dtype_is_float(imp_type(x)->dtype) ? imp_type(x)->dtype : TN_F32;
    x = imp_cast(c, x, t);
    tn_value mean = spread(c, constant_or_variable(c, "mean", t), x, n, axis);
    tn_value variance = spread(c, constant_or_variable(c, "variance", t), x, n, axis);
    tn_value deviation = imp_unary(c, &tn_op_sqrt, variance);
    deviation = imp_binary(c, &tn_op_maximum, deviation, keras_like(c, deviation, 1e-7));
    tn_value y =
        invert ? imp_binary(c, &tn_op_multiply, x, deviation) : imp_binary(c, &tn_op_subtract, x, mean);
    keras_out(c, invert ? imp_binary(c, &tn_op_add, y, mean) : imp_binary(c, &tn_op_divide, y, deviation));
}

static void rescaling(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    const tn_json *scale = keras_config(c, "scale"), *offset = keras_config(c, "offset");
    if (c->bad)
        return;
    tn_dtype t = tn_dtype_is_float(imp_type(x)->dtype) ? imp_type(x)->dtype : TN_F32;
    tn_value y = imp_cast(c, x, t);
    y = scale ? imp_binary(c, &tn_op_multiply, y, keras_json_tensor(c, scale, t)) : y;
    y = offset && !keras_says_nothing(offset) ? imp_binary(c, &tn_op_add, y, keras_json_tensor(c, offset, t))
                                              : y;
    keras_out(c, y);
}

/* [from, to] to [from2, to2] */
static tn_value in_range(imp_node *c, tn_value x, const double from[2], const double to[2])
{
    double by = (to[1] - to[0]) / (from[1] - from[0]);
    if (from[0] == to[0] && from[1] == to[1])
        return x;
    x = imp_binary(c, &tn_op_subtract, x, keras_like(c, x, from[0]));
    x = imp_binary(c, &tn_op_multiply, x, keras_like(c, x, by));
    return imp_binary(c, &tn_op_add, x, keras_like(c, x, to[0]));
}

/* Each channel of each picture spread to the whole range; one of a single value stays. */
static void auto_contrast(imp_node *c)
{
    static const double bytes[2] = {0, 255};
    static const int64_t last[] = {1, 2}, first[] = {2, 3};
    double range[2] = {0, 255};
    tn_value given = keras_in(c, 0), x = given;
    const tn_json *v = keras_config(c, "value_range"), *inside = tn_json_find(v, "items");
    const int64_t *axes = keras_channels_last(c) ? last : first;
    v = inside ? inside : v;
    if (v && !(keras_number(keras_at(v, 0), &range[0]) && keras_number(keras_at(v, 1), &range[1]) &&
               range[0] < range[1]))
        imp_refuse(c, IMP_BAD_VALUE, "value_range must be two rising numbers; the model is damaged");
    if (!c->bad && imp_rank(x) != 4)
        imp_refuse(c, IMP_OPERANDS, "pictures are %s, but must have four dimensions",
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    x = in_range(c, x, range, bytes);
    tn_value low = keras_reduce(c, &tn_op_min, x, 2, axes, true),
             high = keras_reduce(c, &tn_op_max, x, 2, axes, true);
    tn_value width = imp_binary(c, &tn_op_subtract, high, low);
    tn_value scale = imp_binary(c, &tn_op_divide, keras_like(c, x, 255), width);
    tn_value y = imp_binary(c, &tn_op_multiply, x, scale);
    y = imp_binary(c, &tn_op_subtract, y, imp_binary(c, &tn_op_multiply, low, scale));
    y = in_range(c, imp_clip(c, y, 0, 255), bytes, range);
    tn_value flat = imp_binary(c, &tn_op_equal, width, keras_like(c, width, 0));
    keras_out(c, imp_choose(c, flat, given, y));
}

/* ---- Resizing, CenterCrop ---- */

typedef struct picture {
    tn_value x;
    bool last, single;        /* single: it has no batch, but 1 was added */
    int64_t h, w, to_h, to_w; /* h, w 0: not known */
} picture;

static bool read_picture(imp_node *c, picture *p)
{
    int64_t size[2] = {0};
    if (!keras_ints(c, "size", 2, size)) { /* of the function */
        size[0] = keras_int(c, "height", 0);
        size[1] = keras_int(c, "width", 0);
    }
    *p = (picture){.x = keras_in(c, 0), .last = keras_channels_last(c), .to_h = size[0], .to_w = size[1]};
    p->single = keras_layer_of(c)->row->flags & KERAS_OPERATION && imp_rank(p->x) == 3;
    p->x = p->single ? imp_unsqueeze(c, p->x, 0) : p->x;
    if (!c->bad && (imp_rank(p->x) != 4 || p->to_h < 1 || p->to_w < 1 || p->to_h > 65536 || p->to_w > 65536))
        imp_refuse(c, IMP_BAD_VALUE, "%s cannot be resized to %lld x %lld", imp_type_text(c, imp_type(p->x)),
                   (long long)p->to_h, (long long)p->to_w);
    for (int i = 0; i < 2 && !c->bad; i++)
        (void)tn_is_int(imp_type(p->x)->dim[(p->last ? 1 : 2) + i], i ? &p->w : &p->h);
    return !c->bad;
}

static tn_value cropped(imp_node *c, const picture *p, tn_value x, int64_t h, int64_t w)
{
    int first = p->last ? 1 : 2;
    int64_t top = (p->h - h) / 2, left = (p->w - w) / 2;
    x = imp_slice(c, x, first, top, top + h);
    return imp_slice(c, x, first + 1, left, left + w);
}

/* The largest part in the middle that has the proportions of the result. */
static void crop_to_proportions(imp_node *c, picture *p)
{
    if (!p->h || !p->w) {
        imp_refuse(c, IMP_NOT_CONSTANT,
                   "crop_to_aspect_ratio needs a fixed height and width, but the data is %s",
                   imp_type_text(c, imp_type(p->x)));
        return;
    }
    int64_t h = (int64_t)((float)p->w * (float)p->to_h / (float)p->to_w),
            w = (int64_t)((float)p->h * (float)p->to_w / (float)p->to_h);
    h = h > p->h ? p->h : h < 1 ? 1 : h;
    w = w > p->w ? p->w : w < 1 ? 1 : w;
    p->x = cropped(c, p, p->x, h, w);
}

/* In the middle of the smallest picture that has the proportions of the result. */
static void pad_to_proportions(imp_node *c, picture *p)
{
    if (!p->h || !p->w)
        imp_refuse(c, IMP_NOT_CONSTANT,
                   "pad_to_aspect_ratio needs a fixed height and width, but the data is %s",
                   imp_type_text(c, imp_type(p->x)));
    if (strcmp(keras_text(c, "fill_mode", "constant"), "constant") != 0)
        imp_refuse(c, IMP_BAD_VALUE,
                   "pad_to_aspect_ratio with a fill_mode other than constant is not supported");
    if (c->bad)
        return;
    int64_t h = (int64_t)((float)(p->w * p->to_h) / (float)p->to_w),
            w = (int64_t)((float)(p->h * p->to_w) / (float)p->to_h);
    int64_t by[2] = {h > p->h ? h - p->h : 0, w > p->w ? w - p->w : 0};
    const tn_expr *width[8];
    for (int i = 0; i < 8; i++)
        width[i] = tn_idx(c->pool, 0);
    for (int i = 0; i < 2; i++) {
        int d = (p->last ? 1 : 2) + i;
        width[2 * d] = tn_idx(c->pool, by[i] / 2);
        width[2 * d + 1] = width[2 * d]; /* an odd one is left out */
    }
    tn_pad_attr a = {tn_dims_make(c->arena, 8, width), keras_real(c, "fill_value", 0), "constant"};
    p->x = imp_call1(c, &tn_op_nn_pad, &a, p->x);
}

/* What weights give of pixels of type t: of integers, it is rounded, to the nearest of that type. */
static tn_value as_pixels(imp_node *c, tn_value y, tn_dtype t)
{
    if (tn_dtype_is_int(t) && !c->bad) {
        y = imp_unary(c, &tn_op_round, y);
        if (t.bits < 24)
            y = t.code == TN_UINT ? imp_clip(c, y, 0, ldexp(1, t.bits) - 1)
                                  : imp_clip(c, y, -ldexp(1, t.bits - 1), ldexp(1, t.bits - 1) - 1);
    }
    return imp_cast(c, y, t);
}

tn_value keras_resized(imp_node *c, tn_value x, bool last, tn_dims size, tn_resize_attr a)
{
    const tn_dtype t = imp_type(x)->dtype;
    if (!tn_dtype_is_int(t) || strcmp(a.method, "nearest_neighbor") == 0)
        return imp_resize(c, x, last, size, a);
    return as_pixels(c, imp_resize(c, imp_cast(c, x, TN_F32), last, size, a), t);
}

static tn_value resized(imp_node *c, const picture *p, const char *how)
{
    const tn_expr *size[] = {tn_idx(c->pool, p->to_h), tn_idx(c->pool, p->to_w)};
    tn_resize_attr a = {.method = tn_intern(c->g->ctx, "linear"),
                        .rounding_method = "round",
                        .cubic_alpha = -0.5,
                        .cubic_exclude = 1,
                        .coordinate_transformation_mode = tn_intern(c->g->ctx, "half_pixel")};
    if (strcmp(how, "nearest") == 0) {
        a.method = tn_intern(c->g->ctx, "nearest_neighbor");
        a.coordinate_transformation_mode = tn_intern(c->g->ctx, "tf_half_pixel_for_nn");
        a.rounding_method = tn_intern(c->g->ctx, "floor");
    } else if (strcmp(how, "bicubic") == 0) {
        a.method = tn_intern(c->g->ctx, "cubic");
    } else if (strcmp(how, "bilinear") != 0) {
        imp_refuse(c, IMP_BAD_VALUE,
                   "interpolation \"%s\" is not supported, only nearest, area, bilinear, bicubic, lanczos3, "
                   "lanczos5, gaussian and mitchellcubic are",
                   how);
    }
    return keras_resized(c, p->x, p->last, (tn_dims){2, size}, a);
}

/* Weighed with the filters of bilinear or bicubic interpolation, as wide as the steps where the picture shrinks. */
static tn_value antialiased(imp_node *c, const picture *p, const char *how)
{
    tn_resample at[2];
    bool cubic = strcmp(how, "bicubic") == 0;
    if (!cubic && strcmp(how, "bilinear") != 0)
        imp_refuse(c, IMP_BAD_VALUE,
                   "interpolation \"%s\" is not supported, only nearest, area, bilinear, bicubic, lanczos3, "
                   "lanczos5, gaussian and mitchellcubic are",
                   how);
    for (int i = 0; i < 2; i++) {
        const tn_expr *size = tn_idx(c->pool, i ? p->to_w : p->to_h);
        at[i].how = (tn_value){0};
        at[i].a = (tn_resample_attr){.axis = (p->last ? 1 : 2) + i,
                                     .size = tn_dims_make(c->arena, 1, &size),
                                     .method = cubic ? "cubic" : "linear",
                                     .coordinate_transformation_mode = "half_pixel",
                                     .rounding_method = "round",
                                     .cubic_alpha = -0.5,
                                     .cubic_exclude = true,
                                     .antialias = true,
                                     .roi_end = 1,
                                     .dtype = TN_F32};
    }
    if (c->bad)
        return p->x;
    const tn_dtype t = imp_type(p->x)->dtype;
    tn_value x = tn_dtype_is_int(t) ? imp_cast(c, p->x, TN_F32) : p->x;
    tn_value y = tn_make_resample(c->g, c->im->r, NULL, x, 2, at, c->loc);
    c->bad = !y.def;
    return as_pixels(c, y, t);
}

bool keras_is_filter(const char *interpolation)
{
    static const char *const names[] = {"area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], interpolation) == 0)
            return true;
    return false;
}

tn_value keras_filtered(imp_node *c, tn_value x, bool last, const int64_t to[2], const char *interpolation,
                        bool antialias)
{
    const imp_filter *f = imp_find_filter(interpolation);
    const tn_dtype t = imp_type(x)->dtype;
    int64_t from = 0;
    x = imp_cast(c, x, TN_F32);
    for (int i = 0; i < 2 && !c->bad; i++) {
        int axis = (last ? 1 : 2) + i;
        if (!tn_is_int(imp_type(x)->dim[axis], &from) || from < 1 || from > IMP_MAX_SIDE ||
            to[i] > IMP_MAX_SIDE) {
            imp_refuse(c, IMP_NOT_CONSTANT,
                       "interpolation \"%s\" needs a fixed height and width, but the data is %s",
                       interpolation, imp_type_text(c, imp_type(x)));
            return x;
        }
        const imp_side side = {axis, from, to[i], (float)to[i] / (float)from, 0, antialias};
        x = f ? imp_filter_side(c, x, &side, f)
              : imp_area_side(c, x, axis, from, to[i], (float)from / (float)to[i]);
    }
    return as_pixels(c, x, t);
}

static void resizing(imp_node *c)
{
    picture p;
    const char *how = keras_text(c, "interpolation", "bilinear");
    if (!read_picture(c, &p))
        return;
    bool antialias = keras_bool(c, "antialias", false);
    if (keras_bool(c, "crop_to_aspect_ratio", false))
        crop_to_proportions(c, &p);
    else if (keras_bool(c, "pad_to_aspect_ratio", false))
        pad_to_proportions(c, &p);
    keras_ignore(c, "pad_to_aspect_ratio");
    keras_ignore(c, "fill_mode");
    keras_ignore(c, "fill_value");
    if (c->bad)
        return;
    bool filter = keras_is_filter(how), smooth = antialias && strcmp(how, "nearest") != 0;
    tn_value y = filter   ? keras_filtered(c, p.x, p.last, (int64_t[]){p.to_h, p.to_w}, how, antialias)
                 : smooth ? antialiased(c, &p, how)
                          : resized(c, &p, how);
    keras_out(c, p.single ? imp_squeeze(c, y, 0) : y);
}

static void center_crop(imp_node *c)
{
    picture p;
    if (!read_picture(c, &p))
        return;
    if (!p.h || !p.w)
        imp_refuse(c, IMP_NOT_CONSTANT, "cropping needs a fixed height and width, but the data is %s",
                   imp_type_text(c, imp_type(p.x)));
    if (c->bad)
        return;
    if (p.h >= p.to_h && p.w >= p.to_w) {
        keras_out(c, cropped(c, &p, p.x, p.to_h, p.to_w));
        return;
    }
    crop_to_proportions(c, &p);
    keras_out(c, c->bad ? p.x : resized(c, &p, "bilinear"));
}

/* Keras 3 crops in training only; before it, what is not training resizes the part that has the proportions. */
static void random_crop(imp_node *c)
{
    picture p;
    keras_ignore(c, "rng_type");
    if (c->version < 3 && read_picture(c, &p)) {
        crop_to_proportions(c, &p);
        if (!c->bad)
            keras_out(c, resized(c, &p, "bilinear"));
        return;
    }
    keras_layer_of(c)->checked = true;
    keras_out(c, keras_in(c, 0));
}

static void identity(imp_node *c)
{
    keras_layer_of(c)->checked = true; /* what it does in training is of no interest */
    keras_out(c, keras_in(c, 0));
}

#define OLD_MASK KERAS_DROPS_OLD_MASK
#define RANDOM(name) LAYER("Random" name, identity, NULL, NULL, KERAS_DROPS_MASK, NULL)
// clang-format off
const keras_row keras_rows_preprocessing[] = {
    LAYER("Normalization",    normalization,     NULL, "-mean?~mean -variance?~mean -count?~mean", OLD_MASK, NULL),
    LAYER("Rescaling",        rescaling,         NULL, NULL, OLD_MASK, NULL),
    LAYER("Resizing",         resizing,          NULL, NULL, KERAS_DROPS_MASK, NULL),
    LAYER("Resize",           resizing,          NULL, NULL, KERAS_OPERATION, NULL),
    LAYER("AutoContrast",     auto_contrast,     NULL, NULL, KERAS_DROPS_MASK, NULL),
    LAYER("CenterCrop",       center_crop,       NULL, NULL, KERAS_DROPS_MASK, NULL),
    LAYER("RandomCrop",       random_crop,       NULL, NULL, KERAS_DROPS_MASK, NULL),
    RANDOM("Flip"),
    RANDOM("Rotation"),
    RANDOM("Zoom"),
    RANDOM("Contrast"),
    RANDOM("Translation"),
    RANDOM("Brightness"),
    RANDOM("Shear"),
    RANDOM("Hue"),
    RANDOM("Saturation"),
    RANDOM("Sharpness"),
    RANDOM("Grayscale"),
    RANDOM("Posterization"),
    RANDOM("ColorJitter"),
    RANDOM("ColorDegeneration"),
    RANDOM("Erasing"),
    RANDOM("GaussianBlur"),
    RANDOM("Invert"),
    RANDOM("Perspective"),
    RANDOM("ElasticTransform"),
    RANDOM("Height"),
    RANDOM("Width"),
    LAYER("AugMix",           identity,          NULL, NULL, KERAS_DROPS_MASK, NULL),
    LAYER("CutMix",           identity,          NULL, NULL, KERAS_DROPS_MASK, NULL),
    LAYER("MixUp",            identity,          NULL, NULL, KERAS_DROPS_MASK, NULL),
    LAYER("RandAugment",      identity,          NULL, NULL, KERAS_DROPS_MASK, NULL),
    LAYER("Equalization",     identity,          NULL, NULL, KERAS_DROPS_MASK, NULL),
    LAYER("Solarization",     identity,          NULL, NULL, KERAS_DROPS_MASK, NULL),
    LAYER("MaxNumBoundingBoxes", identity,       NULL, NULL, KERAS_DROPS_MASK, NULL),
    END_OF_ROWS,
};
// clang-format on
