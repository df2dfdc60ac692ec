/* Filters: which old pixels count for a new one, and how much (TensorFlow's ScaleAndTranslate and ResizeArea). */
#include "frontend/import/filter.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- filters, at a distance of x >= 0 ---- */

static const float pi = 3.14159265359f;

static float lanczos(float x, float radius)
{
    if (x > radius)
        return 0;
    return x <= 1e-3f ? 1 : radius * sinf(pi * x) * sinf(pi * x / radius) / (pi * pi * x * x);
}

static float gaussian(float x, float radius)
{
    float sigma = radius / 3;
    return x >= radius ? 0 : expf(-x * x / (2 * sigma * sigma));
}

static float box(float x, float radius)
{
    (void)radius;
    return x < 0.5f ? 1 : x == 0.5f ? 0.5f : 0;
}

static float triangle(float x, float radius) { return x < radius ? radius - x : 0; }

static float keys_cubic(float x, float radius)
{
    if (x >= radius)
        return 0;
    return x >= 1 ? ((-0.5f * x + 2.5f) * x - 4) * x + 2 : ((1.5f * x - 2.5f) * x) * x + 1;
}

static float mitchell_cubic(float x, float radius)
{
    if (x >= radius)
        return 0;
    return x >= 1 ? (((-7.0f / 18) * x + 2) * x - 10.0f / 3) * x + 16.0f / 9
                  : (((7.0f / 6) * x - 2) * x) * x + 8.0f / 9;
}

struct imp_filter {
    const char *name;
    float radius;
    float (*at)(float x, float radius);
};

static const imp_filter filters[] = {
    {"lanczos1", 1, lanczos},
    {"lanczos3", 3, lanczos},
    {"lanczos5", 5, lanczos},
    {"gaussian", 1.5f, gaussian},
    {"box", 1, box},
    {"triangle", 1, triangle},
    {"keyscubic", 2, keys_cubic},
    {"mitchellcubic", 2, mitchell_cubic},
};

const imp_filter *imp_find_filter(const char *name)
{
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (strcmp(filters[i].name, name) == 0)
            return &filters[i];
    return NULL;
}

/* ---- weights ---- */

typedef struct taps { /* of each of n new positions: `each` old ones and what they count */
    int64_t n, each;
    int64_t *at;
    float *weight;
} taps;

static taps make_taps(imp_node *c, int64_t n, int64_t each)
{
    size_t all = (size_t)(n * each);
    return (taps){n, each, TN_NEW_N(c->arena, int64_t, all), TN_NEW_N(c->arena, float, all)};
}

static tn_value weighed(imp_node *c, tn_value x, int axis, const taps *t)
{
    const int64_t dim[2] = {t->n, t->each};
    const tn_expr *rows[2] = {tn_idx(c->pool, t->n), tn_idx(c->pool, t->each)};
    tn_value w = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 2, dim, t->weight, NULL));
    tn_value places = imp_const_ints(c, TN_I64, 1, (uint32_t)(t->n * t->each), t->at);
    x = imp_take(c, x, imp_reshape(c, places, 2, rows), axis);
    for (int d = axis + 2; d < imp_rank(x); d++)
        w = imp_unsqueeze(c, w, imp_rank(w));
    return imp_reduce(c, &tn_op_sum, imp_binary(c, &tn_op_multiply, x, w), axis + 1);
}

static int64_t within(float v, int64_t most) { return v <= 0 ? 0 : v >= (float)most ? most : (int64_t)v; }

/* Positions outside of the image have no pixel that counts. Weights add up to 1. */
static void weigh(const imp_side *s, const imp_filter *f, int64_t i, const taps *t)
{
    const float inverse = 1 / s->scale, wide = s->antialias ? fmaxf(inverse, 1) : 1;
    const float middle = ((float)i + 0.5f) * inverse - inverse * s->translate;
    int64_t *at = t->at + i * t->each;
    float *weight = t->weight + i * t->each, sum = 0;
    if (!(middle >= 0 && middle <= (float)s->from))
        return;
    int64_t first = within(ceilf(middle - f->radius * wide - 0.5f), s->from - 1),
            last = within(floorf(middle + f->radius * wide - 0.5f), s->from - 1);
    for (int64_t k = 0; k < t->each; k++) {
        at[k] = first + k <= last ? first + k : last;
        weight[k] =
            first + k <= last ? f->at(fabsf((float)at[k] + 0.5f - middle) * (1 / wide), f->radius) : 0;
        sum += weight[k];
    }
    for (int64_t k = 0; k < t->each; k++)
        weight[k] = fabsf(sum) >= 1000 * FLT_MIN ? weight[k] * (1 / sum) : 0;
}

tn_value imp_filter_side(imp_node *c, tn_value x, const imp_side *s, const imp_filter *f)
{
    enum { MOST_TAPS = 1 << 24 };
    bool fits = s->scale > 0 && isfinite(s->scale) && isfinite(s->translate) && isfinite(1 / s->scale);
    float wide = fits && s->antialias ? fmaxf(1 / s->scale, 1) : 1, most = 2 * ceilf(f->radius * wide) + 1;
    int64_t each = within(most, s->from);
    if (!fits || each * s->to > MOST_TAPS)
        imp_refuse(c, IMP_BAD_VALUE, "dimension %d of %s cannot be scaled by %g", s->axis,
                   imp_type_text(c, imp_type(x)), (double)s->scale);
    if (c->bad)
        return x;
    taps t = make_taps(c, s->to, each);
    for (int64_t i = 0; i < s->to; i++)
        weigh(s, f, i, &t);
    return weighed(c, x, s->axis, &t);
}

/* ---- areas ---- */

/* How much of old pixel i lies between two positions that are `scale` apart. */
static float covered(int64_t i, float from, float to, float scale)
{
    float begin = (float)i, end = (float)(i + 1);
    if (begin < from)
        return end > to ? scale : end - from;
    return end > to ? to - begin : 1;
}

tn_value imp_area_side(imp_node *c, tn_value x, int axis, int64_t from, int64_t to, float scale)
{
    taps t = make_taps(c, to, (int64_t)ceilf(scale) + 1);
    for (int64_t i = 0; i < t.n * t.each; i++) {
        float begin = (float)(i / t.each) * scale, end = (float)(i / t.each + 1) * scale;
        int64_t place = (int64_t)floorf(begin) + i % t.each;
        t.at[i] = place < from ? place : from - 1;
        t.weight[i] = (float)place < ceilf(end) ? covered(place, begin, end, scale) / scale : 0;
    }
    return weighed(c, x, axis, &t);
}
