/* Resize and Upsample: which extents and scales, then image.resize1d/2d/3d where those say it all, else one resampling
 * call an axis. */
#include "frontend/import/window.h"
#include "frontend/onnx/onnx.h"

#include "ir/eval.h"
#include "op/image/image.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

typedef struct resize {
    tn_value x;
    int rank, n;            /* n: axes named by scales or sizes */
    int axis[IMP_MAX_RANK]; /* their dimensions of x */
    const tn_expr *size[IMP_MAX_RANK];
    double scale[IMP_MAX_RANK]; /* 0: size / extent */
    double roi[2 * IMP_MAX_RANK];
    tn_value how; /* scales, begins and ends of regions, float32 [n, 3], where only the run knows them */
    tn_dims taps; /* then of antialiasing */
    tn_resample_attr a; /* what all axes share */
} resize;

/* ---- operands ---- */

/* Elements of a constant of floats; -1: none, or not constant (reported). */
static int floats(imp_node *c, tn_value v, const char *what, double out[], int most)
{
    const tn_type *t = imp_type(v);
    int64_t count;
    if (c->bad || !v.def)
        return -1;
    bool list = t->n == 1 && tn_is_int(t->dim[0], &count);
    if (!list || !tn_op_is(v.def, &tn_op_constant) || !v.def->blob ||
        v.def->blob->n < (size_t)count * tn_dtype_bytes(t->dtype)) {
        imp_fail(c, "onnx-E016",
                 "%s must be a constant list of numbers; simplify the model, or give its inputs fixed shapes",
                 what);
        return -1;
    }
    if (count > most) {
        imp_fail(c, "onnx-E009", "%s has %lld entries, but at most %d fit; the model is damaged", what,
                 (long long)count, most);
        return -1;
    }
    for (int64_t i = 0; i < count; i++)
        out[i] =
            tn_scalar_read(t->dtype, (const char *)v.def->blob->at + (size_t)i * tn_dtype_bytes(t->dtype)).f;
    return (int)count;
}

static bool is_empty(tn_value v)
{
    const tn_type *t = imp_type(v);
    return !v.def || (t->n == 1 && tn_is_value(t->dim[0], 0));
}

static bool is_constant(tn_value v) { return v.def && tn_op_is(v.def, &tn_op_constant); }

static void read_axes(imp_node *c, resize *r)
{
    tn_ints axes;
    r->rank = r->n = imp_rank(r->x);
    for (int i = 0; i < r->rank; i++)
        r->axis[i] = i;
    if (c->version < 18 || !imp_attr_ints(c, "axes", &axes) || c->bad)
        return;
    if (axes.n > (uint32_t)r->rank)
        imp_fail(c, "onnx-E009", "axes has %u entries for %d dimensions", (unsigned)axes.n, r->rank);
    r->n = c->bad ? 0 : (int)axes.n;
    for (int i = 0; i < r->n; i++)
        r->axis[i] = imp_axis(c, axes.at[i], r->rank);
}

/* Do the axes of x have known extents? */
static bool is_fixed(const resize *r)
{
    bool fixed = true;
    for (int i = 0; i < r->n; i++)
        fixed = fixed && imp_type(r->x)->dim[r->axis[i]]->kind == TN_E_INT;
    return fixed;
}

/* ---- extents ---- */

/* floor(extent * scale) where the extent is symbolic: the scale must be a quotient of small numbers. */
static const tn_expr *symbolic_size(imp_node *c, const tn_expr *extent, double scale)
{
    for (int q = 1; q <= 64; q++) {
        double p = round(scale * q);
        if (p >= 1 && (double)(float)(p / q) == scale)
            return imp_simplify(c, tn_fdiv(c->pool, tn_mul(c->pool, extent, tn_idx(c->pool, (int64_t)p)),
                                           tn_idx(c->pool, q)));
    }
    imp_fail(
        c, "onnx-E009",
        "scale %g of a symbolic dimension is not a quotient of small numbers; give the input a fixed shape",
        scale);
    return extent;
}

static void by_scales(imp_node *c, resize *r, const double scale[])
{
    for (int i = 0; i < r->n && !c->bad; i++) {
        const tn_expr *extent = imp_type(r->x)->dim[r->axis[i]];
        int64_t in;
        r->scale[i] = scale[i];
        if (!(scale[i] >= 1e-4 && scale[i] <= 1e6)) {
            imp_fail(c, "onnx-E009", "scale %g of axis %d is not in [1e-4, 1e6]", scale[i], r->axis[i]);
            return;
        }
        r->size[i] = tn_is_int(extent, &in) ? tn_idx(c->pool, (int64_t)((float)scale[i] * (float)in))
                                            : symbolic_size(c, extent, scale[i]);
    }
}

static const char *policy_of(imp_node *c)
{
    const char *policy =
        c->version >= 18 ? imp_attr_string(c, "keep_aspect_ratio_policy", "stretch") : "stretch";
    if (strcmp(policy, "not_larger") != 0 && strcmp(policy, "not_smaller") != 0 &&
        strcmp(policy, "stretch") != 0)
        imp_fail(c, "onnx-E009",
                 "keep_aspect_ratio_policy is \"%s\"; stretch, not_larger and not_smaller are known", policy);
    return policy;
}

/* One scale for all axes, of fixed extents, so that the result is not larger (or not smaller) than the sizes. */
static void keep_aspect(imp_node *c, resize *r, bool larger)
{
    double best = 0;
    int64_t in = 0, to = 0;
    for (int i = 0; i < r->n && !c->bad; i++) {
        if (!tn_is_int(imp_type(r->x)->dim[r->axis[i]], &in) || !tn_is_int(r->size[i], &to) || in < 1) {
            imp_fail(c, "onnx-E009", "keep_aspect_ratio_policy of data without elements");
            return;
        }
        double s = (double)((float)to / (float)in);
        best = i == 0 || (larger ? s > best : s < best) ? s : best;
    }
    for (int i = 0; i < r->n && !c->bad; i++) {
        (void)tn_is_int(imp_type(r->x)->dim[r->axis[i]], &in);
        r->scale[i] = best;
        r->size[i] = tn_idx(c->pool, (int64_t)floor(best * (double)in + 0.5));
    }
}

static void by_sizes(imp_node *c, resize *r, tn_value sizes)
{
    tn_dims d = imp_extents_in(c, sizes, "sizes");
    const char *policy = policy_of(c);
    if (d.n != (uint32_t)r->n && !c->bad)
        imp_fail(c, "onnx-E009", "sizes has %u entries, but %d axes are resized", (unsigned)d.n, r->n);
    for (int i = 0; i < r->n && !c->bad; i++)
        r->size[i] = d.at[i];
    if (policy[0] == 'n')
        keep_aspect(c, r, policy[4] == 's');
}

/* ---- scales, regions or, with more than a quotient of extents to tell, sizes that only the run knows ---- */

static tn_value list_of(imp_node *c, tn_value v, int n, const char *what)
{
    if (!c->bad && imp_length(v) >= 0 && imp_length(v) != n)
        imp_fail(c, "onnx-E009", "%s has %lld entries for %d", what, (long long)imp_length(v), n);
    const tn_expr *count = tn_idx(c->pool, n);
    return c->bad || imp_length(v) == n ? v : imp_reshape_to(c, v, &(tn_reshape_attr){{1, &count}, true});
}

/* Scales and extents: float32 and int64 [n]. */
static void late_scales(imp_node *c, resize *r, tn_value scales, tn_value sizes, tn_value *scale,
                        tn_value *size)
{
    int64_t axis[IMP_MAX_RANK];
    const char *policy = policy_of(c);
    for (int i = 0; i < r->n; i++)
        axis[i] = r->axis[i];
    tn_value in = imp_shape_of(c, r->x);
    in = imp_take(c, in, imp_const_ints(c, TN_I64, 1, (uint32_t)r->n, axis), 0);
    tn_value in32 = imp_cast(c, in, TN_F32);
    if (is_empty(sizes)) {
        *scale = imp_cast(c, list_of(c, scales, r->n, "scales"), TN_F32);
        *size = imp_cast(c, imp_binary(c, &tn_op_multiply, *scale, in32), TN_I64);
        return;
    }
    *size = imp_cast(c, list_of(c, sizes, r->n, "sizes"), TN_I64);
    *scale = imp_binary(c, &tn_op_divide, imp_cast(c, *size, TN_F32), in32);
    if (policy[0] != 'n') /* stretch */
        return;
    tn_value one = imp_reduce(c, policy[4] == 's' ? &tn_op_max : &tn_op_min, *scale, 0);
    const tn_expr *n = tn_idx(c->pool, r->n);
    tn_broadcast_to_attr all = {tn_dims_make(c->arena, 1, &n)};
    *scale = imp_call1(c, &tn_op_broadcast_to, &all, one);
    tn_value wide = imp_cast(c, *scale, TN_F64);
    wide = imp_binary(c, &tn_op_multiply, wide, imp_cast(c, in, TN_F64));
    wide = imp_unary(c, &tn_op_floor, imp_with(c, &tn_op_add, wide, 0.5));
    *size = imp_cast(c, wide, TN_I64);
}

/* 2 * ceil(reach / min(scale, 1)) */
static tn_value tap_counts(imp_node *c, const resize *r, tn_value scale)
{
    tn_value s = imp_with(c, &tn_op_minimum, imp_cast(c, scale, TN_F64), 1);
    tn_value half = imp_binary(c, &tn_op_divide, imp_const(c, TN_F64, r->a.method[0] == 'c' ? 2 : 1), s);
    half = imp_cast(c, imp_unary(c, &tn_op_ceil, half), TN_I64);
    return imp_binary(c, &tn_op_multiply, half, imp_i64(c, 2));
}

static void late(imp_node *c, resize *r, tn_value scales, tn_value sizes)
{
    tn_value scale, size, part[3];
    late_scales(c, r, scales, sizes, &scale, &size);
    tn_dims bound = imp_bind(c, size, NULL);
    for (int i = 0; i < r->n && !c->bad; i++)
        r->size[i] = bound.at[i];
    if (r->a.antialias)
        r->taps = imp_bind(c, tap_counts(c, r, scale), NULL);
    tn_value roi = (tn_value){0};
    if (strcmp(r->a.coordinate_transformation_mode, "tf_crop_and_resize") == 0)
        roi = imp_cast(c, list_of(c, imp_in(c, 1), 2 * r->n, "roi"), TN_F32);
    part[0] = imp_unsqueeze(c, scale, 1);
    for (int i = 0; i < 2; i++)
        part[i + 1] = roi.def ? imp_unsqueeze(c, imp_slice(c, roi, 0, i * r->n, (i + 1) * r->n), 1) : part[0];
    r->how = imp_concat(c, 3, part, 1);
}

/* ---- modes ---- */

static void read_mode(imp_node *c, resize *r)
{
    const char *mode = imp_attr_string(c, "mode", "nearest");
    tn_resample_attr *a = &r->a;
    *a = (tn_resample_attr){.method = "nearest_neighbor",
                            .coordinate_transformation_mode = "asymmetric",
                            .rounding_method = "simple",
                            .cubic_alpha = -0.75,
                            .roi_end = 1};
    if (strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0)
        a->method = "linear";
    else if (strcmp(mode, "cubic") == 0 && c->version >= 11)
        a->method = "cubic";
    else if (strcmp(mode, "nearest") != 0)
        imp_fail(c, "onnx-E009", "mode is \"%s\"; nearest, linear and cubic are known", mode);
    if (c->version < 11)
        return;
    a->coordinate_transformation_mode = imp_attr_string(c, "coordinate_transformation_mode", "half_pixel");
    const char *round = imp_attr_string(c, "nearest_mode", "round_prefer_floor");
    a->rounding_method = round[0] ? round : "round_prefer_floor";
    a->cubic_alpha = imp_attr_float(c, "cubic_coeff_a", -0.75f);
    a->cubic_exclude = imp_attr_int(c, "exclude_outside", 0) != 0;
    a->extrapolation_value = imp_attr_float(c, "extrapolation_value", 0);
    if (c->version >= 18)
        a->antialias = imp_attr_int(c, "antialias", 0) != 0 && a->method[0] != 'n';
    a->cubic_exclude &= a->method[0] == 'c';
}

static void read_region(imp_node *c, resize *r)
{
    int n;
    if (strcmp(r->a.coordinate_transformation_mode, "tf_crop_and_resize") != 0)
        return;
    n = floats(c, imp_in(c, 1), "roi", r->roi, 2 * IMP_MAX_RANK);
    if (n >= 0 && n != 2 * r->n)
        imp_fail(c, "onnx-E009", "roi has %d entries, but %d axes are resized", n, r->n);
}

/* ---- calls ---- */

static double quotient(const tn_expr *from, const tn_expr *to)
{
    int64_t a, b;
    return tn_is_int(from, &a) && tn_is_int(to, &b) && a > 0 ? (double)((float)b / (float)a) : -1;
}

/* Whether rows, columns, ... are resized by exactly the quotient of their extents, and nothing else is. */
static bool is_plain(const resize *r)
{
    const tn_type *t = imp_type(r->x);
    if (r->rank < 3 || r->rank > 5 || r->a.antialias || strcmp(r->a.rounding_method, "simple") == 0 ||
        strcmp(r->a.coordinate_transformation_mode, "tf_crop_and_resize") == 0)
        return false;
    for (int i = 0; i < r->n; i++) {
        const tn_expr *extent = t->dim[r->axis[i]];
        if (r->axis[i] < 2 && (r->size[i] != extent || (r->scale[i] != 0 && r->scale[i] != 1)))
            return false;
        if (r->scale[i] != 0 && r->scale[i] != quotient(extent, r->size[i]) &&
            !(r->scale[i] == floor(r->scale[i]) && extent->kind != TN_E_INT))
            return false;
    }
    return true;
}

/* r->x by a[r->n]. Complex numbers part by part: what lies outside of the data is a real number. */
static tn_value resampled(imp_node *c, const resize *r, tn_resample a[])
{
    bool complex = imp_is_complex(r->x);
    tn_value part[2] = {{0}};
    for (int k = 0; k <= complex && !c->bad; k++) {
        tn_value x = complex ? imp_part(c, r->x, k) : r->x;
        for (int i = 0; i < r->n && k; i++)
            a[i].a.extrapolation_value = 0;
        part[k] = c->bad ? x : tn_make_resample(c->g, c->im->r, NULL, x, r->n, a, c->loc);
        c->bad |= !part[k].def;
    }
    return complex && !c->bad ? imp_complex(c, part[0], part[1]) : part[0];
}

static void call(imp_node *c, resize *r)
{
    const tn_type *t = imp_type(r->x);
    tn_resample a[IMP_MAX_RANK];
    if (c->bad)
        return;
    if (!r->how.def && is_plain(r)) {
        const tn_expr *size[IMP_MAX_RANK];
        for (int i = 0; i < r->rank; i++)
            size[i] = t->dim[i];
        for (int i = 0; i < r->n; i++)
            size[r->axis[i]] = r->size[i];
        imp_out(
            c, 0,
            imp_resize(c, r->x, false, (tn_dims){(uint32_t)r->rank - 2, size + 2},
                       (tn_resize_attr){.method = r->a.method,
                                        .coordinate_transformation_mode = r->a.coordinate_transformation_mode,
                                        .rounding_method = r->a.rounding_method,
                                        .cubic_alpha = r->a.cubic_alpha,
                                        .cubic_exclude = r->a.cubic_exclude}));
        return;
    }
    for (int i = 0; i < r->n; i++) {
        a[i].a = r->a;
        a[i].a.axis = r->axis[i];
        a[i].a.size = (tn_dims){1, &r->size[i]};
        a[i].a.scale = r->scale[i];
        a[i].a.roi_start = r->roi[i];
        a[i].a.roi_end = r->roi[r->n + i];
        if (r->taps.n)
            a[i].a.taps = tn_dims_make(c->arena, 1, &r->taps.at[i]);
        a[i].how = (tn_value){0};
        if (r->how.def)
            a[i].how = imp_squeeze(c, imp_slice(c, r->how, 0, i, i + 1), 0);
    }
    imp_out(c, 0, resampled(c, r, a));
}

static void resize_op(imp_node *c)
{
    resize r = {.x = imp_in(c, 0)};
    double scale[IMP_MAX_RANK];
    bool upsample = c->row->op[0] == 'U';
    read_axes(c, &r);
    read_mode(c, &r);
    tn_value scales = c->version < 11 ? imp_in(c, 1) : imp_opt(c, 2),
             sizes = c->version < 11 ? (tn_value){0} : imp_opt(c, 3);
    bool given = !is_empty(scales) || !is_empty(sizes),
         crops = strcmp(r.a.coordinate_transformation_mode, "tf_crop_and_resize") == 0;
    bool keeps = given && is_empty(scales) && c->version >= 18 && policy_of(c)[0] == 'n',
         open = !is_empty(scales) ? !is_constant(scales)
                                  : given && !imp_is_known(c, sizes) && (r.a.antialias || keeps);
    open = open || (given && crops && !is_constant(imp_in(c, 1))) || (keeps && !is_fixed(&r));
    if (!upsample && c->version >= 11 && !open)
        read_region(c, &r);
    if (c->bad)
        return;
    if (!given) {
        imp_fail(c, "onnx-E017", "neither scales nor sizes are given; the model is damaged");
    } else if (open) {
        late(c, &r, scales, sizes);
    } else if (!is_empty(scales)) {
        int n = floats(c, scales, "scales", scale, IMP_MAX_RANK);
        if (n != r.n && !c->bad)
            imp_fail(c, "onnx-E009", "scales has %d entries, but %d axes are resized", n, r.n);
        by_scales(c, &r, scale);
        if (c->version >= 18)
            imp_attr_ignore(c, "keep_aspect_ratio_policy");
    } else {
        by_sizes(c, &r, sizes);
    }
    call(c, &r);
}

/* Before opset 9 the scales of Upsample are attributes. */
static void upsample_old(imp_node *c)
{
    resize r = {.x = imp_in(c, 0)};
    double scale[IMP_MAX_RANK] = {1, 1, 1, 1};
    read_axes(c, &r);
    read_mode(c, &r);
    if (c->version < 7) {
        imp_attr_need(c, "height_scale");
        imp_attr_need(c, "width_scale");
        scale[2] = imp_attr_float(c, "height_scale", 1);
        scale[3] = imp_attr_float(c, "width_scale", 1);
        if (r.rank != 4)
            imp_fail(c, "onnx-E022", "data %s must have four dimensions", imp_type_text(c, imp_type(r.x)));
    } else {
        imp_attr_need(c, "scales");
        const imp_attr *a = imp_attr_find(c, "scales", IMP_A_FLOATS);
        if (a && a->floats.n != (size_t)r.rank)
            imp_fail(c, "onnx-E009", "scales has %zu entries for %d dimensions", a->floats.n, r.rank);
        for (int i = 0; i < r.rank && a && !c->bad; i++)
            scale[i] = a->floats.at[i];
    }
    by_scales(c, &r, scale);
    call(c, &r);
}

// clang-format off
const imp_row onnx_rows_resize[] = {
    {"Resize",   10, 10, 2, 1, resize_op,    NULL},
    {"Resize",   11,  0, 4, 1, resize_op,    NULL},
    {"Upsample",  1,  8, 1, 1, upsample_old, NULL},
    {"Upsample",  9, 10, 2, 1, resize_op,    NULL},
    {0},
};
// clang-format on
