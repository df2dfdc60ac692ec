/* image.resize1d, 2d and 3d of a part of the image (coordinate_transformation_mode "tf_crop_and_resize").
 * TVM's texts name the part, so where each new row and column lies is known while they are read: a new row is
 * a weighted sum of old ones, along one axis after the other, and a constant outside of the image. Positions
 * are float32, as there. */
#include "relay/forms.h"

#include "op/image/image.h"

#include <math.h>
#include <string.h>

enum { MOST_AXES = 3, TAPS = 4 };

typedef struct side { /* one axis */
    int64_t from, to;
    double start, end;
    int n_taps;
    int64_t *row[TAPS]; /* old rows of each new one, and their weights */
    float *weight[TAPS];
    bool *inside;
} side;

static bool method_is(const tn_resize_attr *a, const char *name)
{
    return a->method && strcmp(a->method, name) == 0;
}

/* The quotient is rounded as a product. */
static float position(const side *s, int64_t i)
{
    const float last = (float)(s->from - 1);
    if (s->to == 1)
        return (float)(0.5 * (s->start + s->end)) * last;
    return (float)s->start * last +
           (float)i * (float)(s->end - s->start) * last * (float)(1 / (double)(s->to - 1));
}

/* NAN: no known rounding. A little is added where it would round down. */
static float nearest(const char *how, float at)
{
    const float little = 1e-5F;
    if (!how || !*how || strcmp(how, "floor") == 0)
        return floorf(at + little);
    return strcmp(how, "round") == 0                ? roundf(at)
           : strcmp(how, "round_prefer_floor") == 0 ? ceilf(at - 0.5F)
           : strcmp(how, "round_prefer_ceil") == 0  ? floorf(at + 0.5F)
           : strcmp(how, "ceil") == 0               ? ceilf(at - little)
                                                    : NAN;
}

/* Weights of four rows around a position; `part` behind the second. */
static void cubic(const tn_resize_attr *a, const side *s, int64_t low, float part, float w[TAPS])
{
    const float k = (float)a->cubic_alpha, t2 = part * part, t3 = part * part * part;
    w[0] = k * (t3 - 2 * t2 + part);
    w[1] = (k + 2) * t3 - (3 + k) * t2 + 1;
    w[2] = -(k + 2) * t3 + (3 + 2 * k) * t2 - k * part;
    w[3] = -k * t3 + k * t2;
    float sum = 0;
    for (int i = 0; i < TAPS && a->cubic_exclude; i++) {
        w[i] = low - 1 + i < 0 || low + i > s->from ? 0 : w[i];
        sum += w[i];
    }
    for (int i = 0; i < TAPS && a->cubic_exclude; i++)
        w[i] /= sum;
}

/* false: the rounding is not known. */
static bool find_rows(form_call *c, const tn_resize_attr *a, side *s)
{
    tn_arena *arena = c->p->g->arena;
    const bool is_nearest = method_is(a, "nearest_neighbor"), is_cubic = method_is(a, "cubic");
    s->n_taps = is_nearest ? 1 : is_cubic ? 4 : 2;
    s->inside = TN_NEW_N(arena, bool, (size_t)s->to);
    for (int k = 0; k < s->n_taps; k++) {
        s->row[k] = TN_NEW_N(arena, int64_t, (size_t)s->to);
        s->weight[k] = TN_NEW_N(arena, float, (size_t)s->to);
    }
    for (int64_t i = 0; i < s->to; i++) {
        const float at = position(s, i), low = is_nearest ? nearest(a->rounding_method, at) : floorf(at);
        float w[TAPS] = {1 - (at - low), at - low};
        if (!(fabsf(low) < 0x1p30F))
            return false;
        if (is_cubic)
            cubic(a, s, (int64_t)low, at - low, w);
        s->inside[i] = at >= 0 && at <= (float)(s->from - 1);
        for (int k = 0; k < s->n_taps; k++) {
            const int64_t row = (int64_t)low + k - is_cubic;
            s->row[k][i] = row < 0 ? 0 : row >= s->from ? s->from - 1 : row;
            s->weight[k][i] = w[k];
        }
    }
    return true;
}

static tn_value constant(form_call *c, tn_dtype t, int64_t n, const void *at)
{
    return tn_val(tn_make_constant(c->p->g, c->p->scope->region, NULL, t, 1, &n, at, NULL));
}

/* A list along an axis of data of this rank. */
static tn_value along(form_call *c, tn_value list, int64_t n, int axis, int rank)
{
    const tn_expr *dim[FORM_MAX_RANK];
    for (int d = 0; d < rank; d++)
        dim[d] = form_idx(c, d == axis ? n : 1);
    return form_reshaped(c, list, (uint32_t)rank, dim);
}

static tn_value resampled(form_call *c, tn_value x, const side *s, int axis, int rank)
{
    const tn_take_attr a = {axis, "clip"};
    tn_value sum = {0};
    for (int k = 0; k < s->n_taps; k++) {
        const tn_value at = constant(c, TN_I64, s->to, s->row[k]);
        const tn_value rows = form_make(c, &tn_op_take, &a, 2, (const tn_value[]){x, at});
        if (s->n_taps == 1)
            return rows;
        const tn_value weight = along(c, constant(c, TN_F32, s->to, s->weight[k]), s->to, axis, rank);
        const tn_value part = form_make2(c, &tn_op_multiply, rows, weight);
        sum = k ? form_make2(c, &tn_op_add, sum, part) : part;
    }
    return sum;
}

/* The axes of the call; false: refused. */
static bool read_sides(form_call *c, const tn_resize_attr *a, const tn_type *t, int dims, tn_reals roi,
                       side s[MOST_AXES])
{
    const bool last = a->layout && a->layout[0] && a->layout[1] != 'C';
    const char *channels_first[] = {"NCW", "NCHW", "NCDHW"}, *channels_last[] = {"NWC", "NHWC", "NDHWC"};
    if (!a->layout || strcmp(a->layout, (last ? channels_last : channels_first)[dims - 1]) != 0 ||
        t->n != dims + 2 || a->size.n != (uint32_t)dims || roi.n != 2 * (uint32_t)dims)
        (void)form_refuse(c,
                          "of a part of the image needs images in rows or with the channels last, and a size "
                          "and a roi for each dimension");
    if (!method_is(a, "linear") && !method_is(a, "cubic") && !method_is(a, "nearest_neighbor"))
        (void)form_refuse(c, "needs method nearest_neighbor, linear or cubic");
    if (dims == MOST_AXES && a->cubic_exclude)
        (void)form_refuse(c, "of a part of a volume with cubic_exclude is not supported");
    for (int i = 0; i < dims && !c->bad; i++) {
        const int from = dims == MOST_AXES ? dims - 1 - i : i; /* of a volume, the last axis comes first */
        s[i] = (side){.start = roi.at[from], .end = roi.at[dims + from]};
        if (!tn_is_int(t->dim[(last ? 1 : 2) + i], &s[i].from) || !tn_is_int(a->size.at[i], &s[i].to) ||
            s[i].from < 1 || s[i].to < 1 || s[i].from > 1 << 20 || s[i].to > 1 << 20)
            (void)form_refuse(c, "of a part of the image needs extents that are known");
        else if (!find_rows(c, a, &s[i]))
            (void)form_refuse(c, "needs a roi of the image, and a rounding_method that is known");
    }
    return !c->bad;
}

tn_value form_resized_part(form_call *c, const tn_resize_attr *a, tn_value x, int dims, tn_reals roi,
                           tn_value *out_inside)
{
    side s[MOST_AXES];
    const tn_type *t = form_type(c, x);
    *out_inside = (tn_value){0};
    if (!t || !read_sides(c, a, t, dims, roi, s))
        return (tn_value){0};
    const int first = a->layout[1] == 'C' ? 2 : 1;
    tn_value v = form_cast(c, x, TN_F32);
    for (int i = dims - 1; i >= 0; i--) {
        v = resampled(c, v, &s[i], first + i, t->n);
        if (dims == MOST_AXES && i == 0)
            continue; /* TVM reads the outermost rows in front of and behind a volume */
        const tn_value own = along(c, constant(c, TN_BOOL1, s[i].to, s[i].inside), s[i].to, first + i, t->n);
        *out_inside = out_inside->def ? form_make2(c, &tn_op_logical_and, own, *out_inside) : own;
    }
    return v;
}
