/* Resampling of images: image.resize1d, 2d, 3d, and what they expand into, one operator an axis:
 * image.nearest (an index map) and image.resample (a weighted sum of neighbours).
 *
 * Interpolation is separable, so axes are resampled one after the other: shrinking ones first, then growing ones from
 * the innermost. Positions are computed in float32, operation by operation as ONNX Runtime does, because which pixel is
 * nearest may hang on a rounding; those of sums of float64 in float64. Where the scale is an integer the position is an
 * integer quotient instead. Linear weights are computed where they are used. Cubic and antialiasing weights are tables:
 * tensors of their own.
 */
#include "op/code.h"

#include "op/image/image.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

enum { MAX_SCALE = 64, UNROLLED_TAPS = 8, UNROLLED_SUM = 16 };

static const char *const data_in[] = {"data"};

/* ---- names of modes ---- */

enum coordinate {
    HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    PYTORCH_HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    CROP,
    TF_HALF_PIXEL
};
static const char *const coordinates[] = {
    "half_pixel",           "align_corners",      "asymmetric",           "pytorch_half_pixel",
    "half_pixel_symmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn", NULL};
enum rounding { ROUND, PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL, SIMPLE };
static const char *const roundings[] = {
    "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple", NULL};
enum method { NEAREST, LINEAR, CUBIC };
static const char *const methods[] = {"nearest_neighbor", "linear", "cubic", NULL};

static int name_index(const char *const list[], const char *name)
{
    for (int i = 0; name && list[i]; i++)
        if (strcmp(list[i], name) == 0)
            return i;
    return -1;
}

static tn_status check_name(tn_graph *g, const tn_node *n, const char *what, const char *const list[],
                            const char *name)
{
    return name_index(list, name) >= 0
               ? TN_OK
               : tn_rule_fail(g, n, "op-E007", "%s is \"%s\"; known are \"%s\", \"%s\", \"%s\" and others",
                              what, name ? name : "", list[0], list[1], list[2]);
}

/* ---- positions ---- */

typedef struct axis_of { /* one axis being resampled */
    tn_pool *p;
    const tn_resample_attr *a;
    const tn_expr *in, *out;     /* extents */
    int64_t in_const, out_const; /* -1: symbolic */
    tn_dtype t;                  /* of positions */
    const tn_expr *how[3];       /* scale, begin and end of the region, where they are data; else NULL */
} axis_of;

/* how: the operand, or NULL */
static axis_of axis_init(tn_te *te, const tn_resample_attr *a, const tn_expr *in, const tn_expr *out,
                         const tn_tensor *how)
{
    axis_of x = {te->pool, a, in, out, -1, -1, a->dtype, {NULL}};
    (void)tn_is_int(in, &x.in_const);
    (void)tn_is_int(out, &x.out_const);
    for (int i = 0; i < 3 && how; i++)
        x.how[i] = tn_cast(te->pool, x.t, tn_at1(te, how, tn_idx(te->pool, i)));
    return x;
}

static const tn_expr *num(const axis_of *x, double v) { return tn_flt(x->p, x->t, v); }

static const tn_expr *ratio(const axis_of *x, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(x->p, TN_E_DIV, a, b);
}

static const tn_expr *length(const axis_of *x, const tn_expr *e, int64_t minus)
{
    return tn_cast(x->p, x->t, tn_sub(x->p, e, tn_idx(x->p, minus)));
}

static const tn_expr *scale_of(const axis_of *x)
{
    return x->how[0]         ? x->how[0]
           : x->a->scale > 0 ? num(x, x->a->scale)
                             : ratio(x, length(x, x->out, 0), length(x, x->in, 0));
}

/* The integer that the scale is, or 0. */
static int64_t integer_scale(const axis_of *x)
{
    double s = x->a->scale;
    return s >= 1 && s <= MAX_SCALE && s == floor(s) ? (int64_t)s : 0;
}

/* (o + 0.5) / scale - 0.5 */
static const tn_expr *half_pixel(const axis_of *x, const tn_expr *o)
{
    return tn_sub(x->p, ratio(x, tn_add(x->p, o, num(x, 0.5)), scale_of(x)), num(x, 0.5));
}

static const tn_expr *crop(const axis_of *x, const tn_expr *o)
{
    tn_pool *p = x->p;
    const tn_expr *start = x->how[1] ? x->how[1] : num(x, x->a->roi_start),
                  *end = x->how[2] ? x->how[2] : num(x, x->a->roi_end), *last = length(x, x->in, 1);
    const tn_expr *middle = tn_mul(p, tn_mul(p, num(x, 0.5), tn_add(p, start, end)), last);
    const tn_expr *range = tn_mul(p, tn_mul(p, o, tn_sub(p, end, start)), last);
    if (x->out_const == 1)
        return middle;
    const tn_expr *at = tn_add(p, tn_mul(p, start, last), ratio(x, range, length(x, x->out, 1)));
    return x->out_const >= 0 ? at : tn_select(p, tn_lt(p, tn_idx(p, 1), x->out), at, middle);
}

static const tn_expr *symmetric(const axis_of *x, const tn_expr *o)
{
    tn_pool *p = x->p;
    const tn_expr *adjust = ratio(x, length(x, x->out, 0), tn_mul(p, scale_of(x), length(x, x->in, 0)));
    const tn_expr *center = ratio(x, length(x, x->in, 0), num(x, 2));
    const tn_expr *offset = tn_mul(p, center, tn_sub(p, num(x, 1), adjust));
    return tn_sub(p, tn_add(p, offset, ratio(x, tn_add(p, o, num(x, 0.5)), scale_of(x))), num(x, 0.5));
}

/* a / b as numbers of that type. */
static double quotient(tn_dtype t, int64_t a, int64_t b)
{
    return tn_dtype_eq(t, TN_F64) ? (double)a / (double)b : (double)((float)a / (float)b);
}

/* Where output position `at` lies in the data. */
static const tn_expr *position(const axis_of *x, const tn_expr *at)
{
    tn_pool *p = x->p;
    const tn_expr *o = tn_cast(p, x->t, at);
    switch (name_index(coordinates, x->a->coordinate_transformation_mode)) {
    case ASYMMETRIC: return ratio(x, o, scale_of(x));
    case TF_HALF_PIXEL: return ratio(x, tn_add(p, o, num(x, 0.5)), scale_of(x));
    case PYTORCH_HALF_PIXEL:
        if (x->out_const >= 0)
            return x->out_const > 1 ? half_pixel(x, o) : num(x, 0);
        return tn_select(p, tn_lt(p, tn_idx(p, 1), x->out), half_pixel(x, o), num(x, 0));
    case ALIGN_CORNERS: {
        if (x->out_const == 1)
            return num(x, 0);
        const tn_expr *wide = x->out_const >= 0 ? x->out : tn_max(p, x->out, tn_idx(p, 2));
        const tn_expr *last = length(x, wide, 1);
        /* ONNX counts with the product, whole or not; ONNX Runtime rounds it. A scale that is but the rounded quotient
         * of the extents means them: else the last position would lie before the last element. */
        if (x->in_const > 0 && x->a->scale > 0 && x->a->scale != quotient(x->t, x->out_const, x->in_const))
            last = num(x, (double)x->in_const * x->a->scale - 1);
        if (x->how[0]) {
            const tn_expr *product = tn_sub(p, tn_mul(p, length(x, x->in, 0), x->how[0]), num(x, 1));
            const tn_expr *rounded = tn_eq(p, x->how[0], ratio(x, length(x, x->out, 0), length(x, x->in, 0)));
            last = tn_select(p, rounded, last, product);
        }
        return ratio(x, tn_mul(p, o, length(x, x->in, 1)), last);
    }
    case HALF_PIXEL_SYMMETRIC: return symmetric(x, o);
    case CROP: return crop(x, o);
    default: return half_pixel(x, o);
    }
}

static const tn_expr *limit(const axis_of *x, const tn_expr *i)
{
    return tn_min(x->p, tn_max(x->p, i, tn_idx(x->p, 0)), tn_sub(x->p, x->in, tn_idx(x->p, 1)));
}

static const tn_expr *as_index(const axis_of *x, const tn_expr *integral)
{
    return tn_cast(x->p, TN_IDX, tn_cast(x->p, TN_I32, integral));
}

static bool extrapolates(const axis_of *x)
{
    return name_index(coordinates, x->a->coordinate_transformation_mode) == CROP;
}

/* value, or the extrapolation value where the position lies outside of the data. */
static const tn_expr *extrapolate(const axis_of *x, const tn_expr *at, const tn_expr *value)
{
    tn_pool *p = x->p;
    if (!extrapolates(x))
        return value;
    const tn_expr *pos = position(x, at);
    const tn_expr *outside = tn_bin(p, TN_E_OR, tn_lt(p, pos, num(x, 0)), tn_lt(p, length(x, x->in, 1), pos));
    return tn_select(p, outside, tn_const(p, value->dtype, x->a->extrapolation_value), value);
}

/* ---- nearest ---- */

/* The nearest element, where the scale is an integer k; NULL: no formula in integers. */
static const tn_expr *integer_nearest(const axis_of *x, const tn_expr *o)
{
    tn_pool *p = x->p;
    int64_t k = integer_scale(x);
    int round = name_index(roundings, x->a->rounding_method),
        mode = name_index(coordinates, x->a->coordinate_transformation_mode);
    if (!k)
        return NULL;
    if (mode == ASYMMETRIC && (round == FLOOR || round == SIMPLE))
        return tn_fdiv(p, o, tn_idx(p, k));
    if ((mode == HALF_PIXEL || (mode == PYTORCH_HALF_PIXEL && x->out_const > 1)) &&
        (round == ROUND || round == PREFER_FLOOR || round == PREFER_CEIL))
        return tn_fdiv(p, o, tn_idx(p, k));
    if (mode == ASYMMETRIC && (round == ROUND || round == PREFER_FLOOR || round == PREFER_CEIL)) {
        int64_t half = k - (round == PREFER_FLOOR);
        return tn_fdiv(p, tn_add(p, tn_mul(p, o, tn_idx(p, 2)), tn_idx(p, half)), tn_idx(p, 2 * k));
    }
    return NULL;
}

static const tn_expr *rounded(const axis_of *x, const tn_expr *pos)
{
    tn_pool *p = x->p;
    const tn_expr *low = tn_intrinsic1(p, TN_F_floor, pos), *part = tn_sub(p, pos, low);
    const tn_expr *high = tn_add(p, low, num(x, 1));
    switch (name_index(roundings, x->a->rounding_method)) {
    case FLOOR: return low;
    case CEIL: return tn_intrinsic1(p, TN_F_ceil, pos);
    case SIMPLE:
        if (x->how[0])
            return tn_select(p, tn_lt(p, x->how[0], num(x, 1)), tn_intrinsic1(p, TN_F_ceil, pos), low);
        return x->a->scale > 0 && x->a->scale < 1 ? tn_intrinsic1(p, TN_F_ceil, pos) : low;
    case ROUND: /* away from zero; positions below 0 are those of the first element */
    case PREFER_CEIL: return tn_select(p, tn_lt(p, part, num(x, 0.5)), low, high);
    default: return tn_select(p, tn_le(p, part, num(x, 0.5)), low, high);
    }
}

static int attr_axis(const tn_node *n)
{
    int64_t a = ((const tn_resample_attr *)n->attr)->axis;
    return (int)(a < 0 ? a + tn_in_type(n, 0)->n : a);
}

static const tn_expr *element(tn_te *te, const tn_tensor *in, const tn_tensor *t, int axis, const tn_expr *at)
{
    const tn_expr *index[TN_RULE_MAX_RANK];
    for (int i = 0; i < t->ndim; i++)
        index[i] = i == axis ? at : t->axis[i];
    return tn_at(te, in, t->ndim, index);
}

static void nearest_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    int k = attr_axis(n);
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "nearest", "injective", NULL);
    tn_rule_require_elements(te, in[0], k, t);
    axis_of x = axis_init(te, n->attr, in[0]->dim[k], t->dim[k], n->nin > 1 ? in[1] : NULL);
    const tn_expr *at = integer_nearest(&x, t->axis[k]);
    at = limit(&x, at ? at : as_index(&x, rounded(&x, position(&x, t->axis[k]))));
    tn_te_define(te, t, extrapolate(&x, t->axis[k], element(te, in[0], t, k, at)));
}

/* ---- linear ---- */

/* The dtype of weights and sums. */
static void linear(tn_te *te, const axis_of *x, tn_tensor *t, const tn_tensor *in, int k)
{
    tn_pool *p = te->pool;
    tn_dtype w = tn_rule_accumulator(t->dtype);
    const tn_expr *pos = tn_min(p, tn_max(p, position(x, t->axis[k]), num(x, 0)), length(x, x->in, 1));
    const tn_expr *first = limit(x, as_index(x, pos)),
                  *next = tn_min(p, tn_add(p, first, tn_idx(p, 1)), tn_sub(p, x->in, tn_idx(p, 1)));
    const tn_expr *part = tn_cast(p, w, tn_sub(p, pos, tn_cast(p, x->t, first)));
    const tn_expr *a = tn_cast(p, w, element(te, in, t, k, first)),
                  *b = tn_cast(p, w, element(te, in, t, k, next));
    const tn_expr *v = tn_add(p, tn_mul(p, a, tn_sub(p, tn_flt(p, w, 1), part)), tn_mul(p, b, part));
    tn_te_define(te, t, extrapolate(x, t->axis[k], tn_cast(p, t->dtype, v)));
}

/* ---- cubic, antialiased ---- */

/* Keys' cubic with parameter a, at distance d >= 0. */
static const tn_expr *cubic_weight(const axis_of *x, const tn_expr *d)
{
    tn_pool *p = x->p;
    double a = x->a->cubic_alpha;
    const tn_expr *near = tn_sub(p, tn_mul(p, num(x, a + 2), d), num(x, a + 3));
    near = tn_add(p, tn_mul(p, tn_mul(p, near, d), d), num(x, 1));
    const tn_expr *far = tn_mul(p, tn_sub(p, tn_mul(p, num(x, a), d), num(x, 5 * a)), d);
    far = tn_sub(p, tn_mul(p, tn_add(p, far, num(x, 8 * a)), d), num(x, 4 * a));
    const tn_expr *beyond = tn_select(p, tn_lt(p, d, num(x, 2)), far, num(x, 0));
    return tn_select(p, tn_le(p, d, num(x, 1)), near, beyond);
}

static const tn_expr *linear_weight(const axis_of *x, const tn_expr *d)
{
    return tn_max(x->p, tn_sub(x->p, num(x, 1), d), num(x, 0));
}

typedef struct taps { /* around floor(position) */
    int count;        /* -1: only the run knows */
    const tn_expr *first, *n, *shrink;
    bool normal;
} taps;

static int n_taps(const tn_resample_attr *a)
{
    int reach = name_index(methods, a->method) == CUBIC ? 2 : 1;
    double s = a->antialias && a->scale < 1 ? a->scale : 1;
    return a->taps.n ? -1 : -2 * (int)floor(-reach / s);
}

static taps taps_of(const axis_of *x)
{
    tn_pool *p = x->p;
    const tn_resample_attr *a = x->a;
    taps t = {.count = n_taps(a), .normal = a->antialias || a->cubic_exclude};
    t.n = a->taps.n ? a->taps.at[0] : tn_idx(p, t.count);
    t.first = a->taps.n ? tn_sub(p, tn_idx(p, 1), tn_fdiv(p, t.n, tn_idx(p, 2))) : tn_idx(p, 1 - t.count / 2);
    t.shrink =
        a->taps.n ? tn_min(p, x->how[0], num(x, 1)) : num(x, a->antialias && a->scale < 1 ? a->scale : 1);
    return t;
}

/* floor(position of o) + first + tap */
static const tn_expr *tap_at(const axis_of *x, const taps *t, const tn_expr *o, const tn_expr *tap)
{
    const tn_expr *base = as_index(x, tn_intrinsic1(x->p, TN_F_floor, position(x, o)));
    return tn_add(x->p, tn_add(x->p, base, tap), t->first);
}

/* The weight of a tap at output position o, before they are made to add up to 1. */
static const tn_expr *raw_weight(const axis_of *x, const taps *t, const tn_expr *tap, const tn_expr *o)
{
    tn_pool *p = x->p;
    const tn_expr *pos = position(x, o), *low = tn_intrinsic1(p, TN_F_floor, pos);
    const tn_expr *d = tn_add(p, tn_cast(p, x->t, tap), tn_cast(p, x->t, t->first));
    d = tn_intrinsic1(p, TN_F_abs, tn_mul(p, tn_sub(p, d, tn_sub(p, pos, low)), t->shrink));
    const tn_expr *v = name_index(methods, x->a->method) == CUBIC ? cubic_weight(x, d) : linear_weight(x, d);
    if (!x->a->cubic_exclude)
        return v;
    const tn_expr *i = tap_at(x, t, o, tap);
    return tn_select(p, tn_and(p, tn_le(p, tn_idx(p, 0), i), tn_lt(p, i, x->in)), v, num(x, 0));
}

static const tn_expr *weight_sum(tn_te *te, const axis_of *x, const taps *t, const tn_expr *o)
{
    tn_pool *p = te->pool;
    const tn_expr *sum = raw_weight(x, t, tn_idx(p, 0), o);
    if (t->count >= 0 && t->count <= UNROLLED_SUM) {
        for (int i = 1; i < t->count; i++)
            sum = tn_add(p, sum, raw_weight(x, t, tn_idx(p, i), o));
        return sum;
    }
    te->tag = "reduce";
    tn_tensor *s = tn_te_new(te, "weight_sum", x->t, 1, &x->out, "o");
    tn_te_sum(te, s, raw_weight(x, t, tn_te_reduce_axis(te, s, "k", t->n), s->axis[0]), NULL);
    return tn_at1(te, s, o);
}

static void weights_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_resample_attr *a = n->attr;
    axis_of x = axis_init(te, a, a->extent.at[0], a->size.at[0], n->nin > 1 ? in[1] : NULL);
    taps t = taps_of(&x);
    tn_tensor *w = tn_rule_out(te, n, 0, "weights", "elementwise", "k o");
    const tn_expr *v = raw_weight(&x, &t, w->axis[0], w->axis[1]);
    out[0] = w;
    tn_te_define(te, w, t.normal ? tn_bin(te->pool, TN_E_DIV, v, weight_sum(te, &x, &t, w->axis[1])) : v);
}

static const tn_expr *term(tn_te *te, const axis_of *x, const taps *t, const tn_tensor *w,
                           const tn_tensor *to, const tn_tensor *in, int k, const tn_expr *tap)
{
    const tn_expr *at = limit(x, tap_at(x, t, to->axis[k], tap));
    tn_dtype wt = tn_rule_accumulator(in->dtype);
    return tn_mul(te->pool, tn_cast(te->pool, wt, tn_at2(te, w, tap, to->axis[k])),
                  tn_cast(te->pool, wt, element(te, in, to, k, at)));
}

static void weighted(tn_te *te, const axis_of *x, const tn_node *n, tn_tensor *out[], tn_tensor *const in[],
                     int k)
{
    tn_pool *p = te->pool;
    taps t = taps_of(x);
    tn_tensor *sum = NULL;
    if (t.count < 0 || t.count > UNROLLED_TAPS) {
        te->tag = "reduce";
        sum = tn_te_new(te, "resample_sum", tn_rule_accumulator(in[0]->dtype), n->type[0]->n, n->type[0]->dim,
                        NULL);
        const tn_expr *tap = tn_te_reduce_axis(te, sum, "k", t.n);
        tn_te_sum(te, sum, term(te, x, &t, in[1], sum, in[0], k, tap), NULL);
    }
    tn_tensor *to = out[0] = tn_rule_out(te, n, 0, "resample", "elementwise", NULL);
    const tn_expr *v = sum ? tn_at(te, sum, to->ndim, to->axis) : NULL;
    for (int i = 0; i < t.count && !sum; i++) {
        const tn_expr *e = term(te, x, &t, in[1], to, in[0], k, tn_idx(p, i));
        v = v ? tn_add(p, v, e) : e;
    }
    tn_te_define(te, to, extrapolate(x, to->axis[k], tn_cast(p, to->dtype, v)));
}

/* Linear weights are worked out where they are used; all others are an operand. */
static bool needs_weights(const tn_resample_attr *a)
{
    return name_index(methods, a->method) == CUBIC || a->taps.n || (a->antialias && a->scale < 1);
}

static void resample_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_resample_attr *a = n->attr;
    int k = attr_axis(n);
    axis_of x = axis_init(te, a, in[0]->dim[k], n->type[0]->dim[k], n->nin > 2 ? in[2] : NULL);
    if (needs_weights(a)) {
        weighted(te, &x, n, out, in, k);
        tn_rule_require_elements(te, in[0], k, out[0]);
        return;
    }
    out[0] = tn_rule_out(te, n, 0, "resample", "injective", NULL);
    tn_rule_require_elements(te, in[0], k, out[0]);
    linear(te, &x, out[0], in[0], k);
}

/* ---- one axis: type relation ---- */

static tn_status check_attr(tn_graph *g, const tn_node *n, const tn_resample_attr *a)
{
    TN_TRY(
        check_name(g, n, "coordinate_transformation_mode", coordinates, a->coordinate_transformation_mode));
    TN_TRY(check_name(g, n, "rounding_method", roundings, a->rounding_method));
    TN_TRY(check_name(g, n, "method", methods, a->method));
    if (a->size.n != 1)
        return tn_rule_fail(g, n, "op-E007", "size has %u entries; one is expected", (unsigned)a->size.n);
    if (a->taps.n > 1 || (a->taps.n && !a->antialias))
        return tn_rule_fail(g, n, "op-E007", "taps has %u entries; one is expected, of antialiasing",
                            (unsigned)a->taps.n);
    if (!tn_dtype_eq(a->dtype, TN_F32) && !tn_dtype_eq(a->dtype, TN_F64))
        return tn_rule_fail(g, n, "op-E007", "dtype must be float32 or float64");
    if (!(a->scale >= 0) || isinf(a->scale) || (a->antialias && a->scale == 0 && !a->taps.n) ||
        (a->scale > 0 && a->scale < 1e-4))
        return tn_rule_fail(g, n, "op-E007", "scale is %g, but must be known and positive, and at least 1e-4",
                            a->scale);
    return TN_OK;
}

static const tn_expr *taps_extent(tn_graph *g, const tn_resample_attr *a)
{
    return a->taps.n ? a->taps.at[0] : tn_idx(g->pool, n_taps(a));
}

/* Operand i, scale and region as data, where it is given; taps need it. */
static tn_status check_how(tn_graph *g, const tn_node *n, int i)
{
    const tn_resample_attr *a = n->attr;
    const tn_type *t;
    if (n->nin <= i || !tn_in(n, i).def)
        return a->taps.n ? tn_rule_fail(g, n, "op-E001", "how is None, but is required for taps") : TN_OK;
    TN_TRY(tn_rule_tensor(g, n, i, 1, &t));
    if (!tn_dtype_eq(t->dtype, TN_F32) || !tn_is_value(t->dim[0], 3))
        return tn_rule_fail(g, n, "op-E008", "how is %s; three numbers of float32 are expected",
                            tn_rule_type_text(g, t));
    return TN_OK;
}

static tn_status resample_infer(tn_graph *g, tn_node *n)
{
    const tn_resample_attr *a = n->attr;
    const tn_type *t, *w;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    int axis;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (n->op != &tn_op_image_nearest)
        TN_TRY(tn_rule_float(g, n, 0));
    TN_TRY(tn_rule_axis(g, n, a->axis, t->n, &axis));
    TN_TRY(check_attr(g, n, a));
    TN_TRY(check_how(g, n, n->op == &tn_op_image_resample ? 2 : 1));
    if (n->op == &tn_op_image_resample && needs_weights(a)) {
        if (n->nin < 2 || !tn_in(n, 1).def)
            return tn_rule_fail(g, n, "op-E001", "weights are None, but are required for this method");
        TN_TRY(tn_rule_tensor(g, n, 1, 2, &w));
        const tn_expr *count = taps_extent(g, a);
        if (!tn_rule_agree(g, n, w->dim[0], count) || !tn_rule_agree(g, n, w->dim[1], a->size.at[0]))
            return tn_rule_fail(
                g, n, "op-E008", "weights are %s, but %s for each of %s positions are expected",
                tn_rule_type_text(g, w), tn_rule_dim_text(g, count), tn_rule_dim_text(g, a->size.at[0]));
    }
    for (int i = 0; i < t->n; i++)
        dim[i] = i == axis ? a->size.at[0] : t->dim[i];
    TN_TRY(tn_rule_result(g, n, 0, t->dtype, t->n, dim));
    return tn_rule_elements(g, n, t, axis);
}

static tn_status weights_infer(tn_graph *g, tn_node *n)
{
    const tn_resample_attr *a = n->attr;
    TN_TRY(check_attr(g, n, a));
    if (a->extent.n != 1)
        return tn_rule_fail(g, n, "op-E007", "extent has %u entries; one is expected", (unsigned)a->extent.n);
    TN_TRY(check_how(g, n, 1));
    const tn_expr *dim[2] = {taps_extent(g, a), a->size.at[0]};
    return tn_rule_result(g, n, 0, a->dtype, 2, dim);
}

/* Channel blocks pass where another axis than theirs is resampled. */
static void resample_layout(tn_layout_query *q)
{
    if (attr_axis(q->node) < 2)
        q->in[0] = NULL;
    for (int i = 1; i < q->node->nin; i++)
        q->in[i] = NULL;
    tn_layout_channel_block(q);
}

/* clang-format off */
static const tn_attr_field resample_fields[] = TN_ATTR_TABLE(tn_resample_attr, TN_RESAMPLE_ATTRS);
static const char *const resample_in[] = {"data", "weights", "how"}, *const how_in[] = {"data", "how"};

const tn_op tn_op_image_nearest = {
    .name = "image.nearest", .doc = "Resamples one axis by repeating or dropping elements.",
    .attr_size = sizeof(tn_resample_attr), .attr = resample_fields,
    .nin = 2, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_INJECTIVE, .in_name = how_in,
    .infer = resample_infer, .layout = resample_layout, .compute = nearest_compute,
};
const tn_op tn_op_image_resample = {
    .name = "image.resample", .doc = "Resamples one axis by weighted sums of neighbours.",
    .attr_size = sizeof(tn_resample_attr), .attr = resample_fields,
    .nin = 3, .min_in = 1, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .in_name = resample_in,
    .infer = resample_infer, .layout = resample_layout, .compute = resample_compute,
};
const tn_op tn_op_image_weights = {
    .name = "image.weights", .doc = "Weights of image.resample: of each tap at each new position.",
    .attr_size = sizeof(tn_resample_attr), .attr = resample_fields,
    .nin = 2, .min_in = 0, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .in_name = how_in,
    .infer = weights_infer, .compute = weights_compute,
};
/* clang-format on */

/* ---- chains of axes ---- */

/* new / old extent as a number of that type, 0 where it is not known. */
static double exact_scale(tn_graph *g, tn_dtype t, const tn_expr *from, const tn_expr *to)
{
    int64_t a, b;
    if (tn_is_int(from, &a) && tn_is_int(to, &b))
        return a > 0 ? quotient(t, b, a) : 0;
    for (int64_t k = 1; k <= MAX_SCALE; k++)
        if (tn_rule_dim_eq(g, to, tn_mul(g->pool, from, tn_idx(g->pool, k))))
            return (double)k;
    return 0;
}

static tn_value call1(tn_graph *g, tn_region *r, tn_node *before, const tn_op *op, const void *attr,
                      tn_value v, const tn_loc *loc)
{
    return v.def ? tn_val(tn_make_call(g, r, before, op, 1, &v, attr, loc)) : v;
}

/* Whether positions and extent stay as they are. */
static bool is_identity(const tn_resample_attr *a, const tn_type *t)
{
    int mode = name_index(coordinates, a->coordinate_transformation_mode);
    return a->scale == 1 && a->axis >= 0 && a->axis < t->n && a->size.at[0] == t->dim[a->axis] &&
           mode != CROP && mode != TF_HALF_PIXEL;
}

static tn_value resample(tn_graph *g, tn_region *r, tn_node *before, tn_value v, const tn_resample *at,
                         const tn_loc *loc)
{
    const tn_resample_attr *a = &at->a;
    bool nearest = name_index(methods, a->method) == NEAREST;
    tn_value in[3] = {v, at->how};
    if (!v.def)
        return v;
    if (nearest)
        return tn_val(tn_make_call(g, r, before, &tn_op_image_nearest, at->how.def ? 2 : 1, in, a, loc));
    if (needs_weights(a)) {
        tn_resample_attr w = *a;
        w.extent = tn_dims_make(g->arena, 1, &tn_value_type(v)->dim[a->axis]);
        bool known = w.extent.at[0]->kind == TN_E_INT && w.size.at[0]->kind == TN_E_INT;
        int n = at->how.def ? 2 : known ? 0 : 1; /* the data brings symbols */
        in[1] = tn_val(tn_make_call(g, r, before, &tn_op_image_weights, n, in, &w, loc));
        if (!in[1].def)
            return in[1];
    } else {
        in[1] = (tn_value){0};
    }
    in[2] = at->how;
    return tn_val(tn_make_call(g, r, before, &tn_op_image_resample,
                               in[2].def   ? 3
                               : in[1].def ? 2
                                           : 1,
                               in, a, loc));
}

tn_value tn_make_resample(tn_graph *g, tn_region *r, tn_node *before, tn_value v, int n,
                          const tn_resample at[], const tn_loc *loc)
{
    tn_resample x[TN_RULE_MAX_RANK];
    const tn_type *type = tn_value_type(v);
    bool nearest = n > 0 && name_index(methods, at[0].a.method) == NEAREST, done[TN_RULE_MAX_RANK] = {false};
    tn_cast_attr to_wide = {TN_F32}, back = {type->dtype};
    bool rounds = false; /* filtered integers, as ONNX has it */
    TN_ASSERT(n <= TN_RULE_MAX_RANK);
    bool casts = !nearest && !tn_dtype_eq(type->dtype, TN_F32) && !tn_dtype_eq(type->dtype, TN_F64);
    for (int i = 0; i < n; i++) {
        x[i] = at[i];
        tn_resample_attr *a = &x[i].a;
        a->size = tn_dims_make(g->arena, 1, at[i].a.size.at);
        a->dtype = !nearest && tn_dtype_eq(type->dtype, TN_F64) ? TN_F64 : TN_F32;
        if (a->scale == 0 && a->axis >= 0 && a->axis < type->n && !x[i].how.def)
            a->scale = exact_scale(g, a->dtype, type->dim[a->axis], a->size.at[0]);
        done[i] = is_identity(a, type) && !x[i].how.def;
    }
    if (casts)
        v = call1(g, r, before, &tn_op_cast, &to_wide, v, loc);
    for (int pass = 0; pass < 2; pass++) /* shrinking axes, then growing ones from the last */
        for (int i = n - 1; i >= 0; i--) {
            if (done[i] || (pass == 0 && !(x[i].a.scale < 1)))
                continue;
            done[i] = true;
            rounds = rounds || (x[i].a.antialias && tn_dtype_is_int(type->dtype));
            v = resample(g, r, before, v, &x[i], loc);
        }
    if (rounds && v.def)
        v = call1(g, r, before, &tn_op_round, NULL, v, loc);
    return casts ? call1(g, r, before, &tn_op_cast, &back, v, loc) : v;
}

/* ---- image.resize1d, 2d, 3d ---- */

static int n_spatial(const tn_node *n)
{
    return n->op == &tn_op_image_resize1d ? 1 : n->op == &tn_op_image_resize2d ? 2 : 3;
}

static tn_status resize_infer(tn_graph *g, tn_node *n)
{
    const tn_resize_attr *a = n->attr;
    const tn_type *t;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    int dims = n_spatial(n);
    TN_TRY(tn_rule_tensor(g, n, 0, dims + 2, &t));
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(tn_rule_layout_is(g, n, "layout", a->layout, tn_rule_channels_first(dims), "data"));
    TN_TRY(
        check_name(g, n, "coordinate_transformation_mode", coordinates, a->coordinate_transformation_mode));
    TN_TRY(check_name(g, n, "method", methods, a->method));
    if (a->rounding_method && a->rounding_method[0])
        TN_TRY(check_name(g, n, "rounding_method", roundings, a->rounding_method));
    if (name_index(coordinates, a->coordinate_transformation_mode) == CROP)
        return tn_rule_fail(g, n, "op-E007",
                            "coordinate_transformation_mode \"tf_crop_and_resize\" needs a region; "
                            "use image.resample for each axis");
    if (a->size.n != (uint32_t)dims)
        return tn_rule_fail(g, n, "op-E007", "size has %u entries; %d are expected", (unsigned)a->size.n,
                            dims);
    dim[0] = t->dim[0];
    dim[1] = t->dim[1];
    for (int i = 0; i < dims; i++)
        dim[2 + i] = a->size.at[i];
    TN_TRY(tn_rule_result(g, n, 0, t->dtype, dims + 2, dim));
    for (int i = 0; i < dims; i++)
        TN_TRY(tn_rule_elements(g, n, t, 2 + i));
    return TN_OK;
}

static tn_status resize_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    const tn_resize_attr *a = n->attr;
    tn_resample at[3];
    int dims = n_spatial(n);
    bool unset = !a->rounding_method || !a->rounding_method[0];
    bool corners = name_index(coordinates, a->coordinate_transformation_mode) == ALIGN_CORNERS;
    for (int i = 0; i < dims; i++)
        at[i] = (tn_resample){.a = {.axis = 2 + i,
                                    .size = {1, &a->size.at[i]},
                                    .method = a->method,
                                    .coordinate_transformation_mode = a->coordinate_transformation_mode,
                                    .rounding_method = !unset    ? a->rounding_method
                                                       : corners ? "round"
                                                                 : "floor",
                                    .cubic_alpha = a->cubic_alpha,
                                    .cubic_exclude = a->cubic_exclude != 0,
                                    .roi_end = 1}};
    out[0] = tn_make_resample(g, n->owner, n, tn_in(n, 0), dims, at, n->loc);
    return out[0].def ? TN_OK : TN_FAIL;
}

/* clang-format off */
#define RESIZE(id, relay, LIST, says) \
    static const tn_attr_field id##_fields[] = TN_ATTR_TABLE(tn_resize_attr, LIST); \
    const tn_op tn_op_##id = { \
        .name = relay, .doc = says, .attr_size = sizeof(tn_resize_attr), .attr = id##_fields, \
        .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .in_name = data_in, \
        .infer = resize_infer, .expand = resize_expand, \
    };

RESIZE(image_resize1d, "image.resize1d", TN_RESIZE1D_ATTRS, "Resizes NCW data.")
RESIZE(image_resize2d, "image.resize2d", TN_RESIZE2D_ATTRS, "Resizes NCHW images.")
RESIZE(image_resize3d, "image.resize3d", TN_RESIZE3D_ATTRS, "Resizes NCDHW volumes.")
/* clang-format on */
