/* Resampling in two directions, one after the other. Each source row is resampled to the target's width and added, with
 * its weight, to the target rows it takes part in, so beside the target only one row is held.
 *
 * A pixel of the target at i looks at centre = start + (i + 1/2) * scale of the source with a filter of radius
 * support * max(scale, 1): the filters of PIL's `resize`, bicubic with a = -1/2. Beyond the picture there is nothing;
 * the weights of what is there sum to 1. */
#include "picture/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t n;
    uint32_t *start, *count; /* of each target pixel: the source pixels it is made of */
    size_t *first;           /* its first weight */
    float *weight;
} taps;

/* ---- filters ---- */

static double sinc(double x) { return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x); }

static const double support[] = {0.5, 0.5, 1, 2, 3};

static double filter_at(enum tn_filter f, double x)
{
    const double a = -0.5, z = fabs(x);
    if (f == TN_FILTER_BOX)
        return x > -0.5 && x <= 0.5;
    if (z >= support[f])
        return 0;
    if (f == TN_FILTER_BILINEAR)
        return 1 - z;
    if (f == TN_FILTER_LANCZOS)
        return sinc(x) * sinc(x / 3);
    return z < 1 ? ((a + 2) * z - (a + 3)) * z * z + 1 : (((z - 5) * z + 8) * z - 4) * a;
}

/* ---- weights ---- */

static void taps_deinit(taps *t)
{
    free(t->start);
    free(t->count);
    free(t->first);
    free(t->weight);
}

static double clamp(double v, double low, double high) { return v < low ? low : v > high ? high : v; }

/* The weights of target pixel i; the source has n pixels. */
static void weigh(taps *t, uint32_t i, enum tn_filter f, double centre, double widen, uint32_t n)
{
    double sum = 0, radius = support[f] * widen;
    uint32_t low = (uint32_t)clamp(floor(centre - radius + 0.5), 0, n - 1);
    uint32_t high = (uint32_t)clamp(floor(centre + radius + 0.5), low + 1, n);
    if (f == TN_FILTER_NEAREST)
        low = (uint32_t)clamp(floor(centre), 0, n - 1), high = low + 1;
    float *w = t->weight + t->first[i];
    t->start[i] = low;
    t->count[i] = high - low;
    for (uint32_t k = 0; k < t->count[i]; k++)
        sum += w[k] = f == TN_FILTER_NEAREST ? 1 : (float)filter_at(f, (low + k + 0.5 - centre) / widen);
    for (uint32_t k = 0; k < t->count[i]; k++)
        w[k] = sum == 0 ? 1.0f / (float)t->count[i] : (float)(w[k] / sum);
}

static int taps_init(taps *t, enum tn_filter f, double start, double length, uint32_t n_source, uint32_t n)
{
    const double scale = length / n, widen = scale > 1 ? scale : 1;
    size_t each = (size_t)clamp(2 * support[f] * widen + 3, 1, n_source + 3.0);
    *t = (taps){n, malloc(n * sizeof *t->start), malloc(n * sizeof *t->count), malloc(n * sizeof *t->first),
                malloc(n * each * sizeof *t->weight)};
    if (!t->start || !t->count || !t->first || !t->weight)
        return 1;
    for (uint32_t i = 0; i < n; i++) {
        t->first[i] = i * each;
        weigh(t, i, f, start + (i + 0.5) * scale, widen, n_source);
    }
    return 0;
}

/* ---- rows ---- */

/* Row y as red, green, blue from 0 to 255, mixed with the ground where it is transparent. */
static void fetch(const tn_picture *p, uint32_t y, float ground, float *out)
{
    const size_t first = (size_t)y * p->width * p->channels;
    const float unit = p->bits == 16 ? 1.0f / 257 : 1;
    const uint8_t *b = p->at;
    const uint16_t *s = p->at;
    for (uint32_t x = 0; x < p->width; x++) {
        float v[4] = {0};
        for (size_t k = 0, at = first + (size_t)x * p->channels; k < p->channels; k++)
            v[k] = p->bits == 16 ? (float)s[at + k] * unit : b[at + k];
        const int grey = p->channels < 3;
        const float alpha = p->channels % 2 ? 1 : v[p->channels - 1] / 255;
        for (int k = 0; k < 3; k++)
            *out++ = alpha >= 1 ? v[grey ? 0 : k] : v[grey ? 0 : k] * alpha + ground * (1 - alpha);
    }
}

static void narrow(const taps *t, const float *row, float *out)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const float *p = row + 3 * (size_t)t->start[i], *w = t->weight + t->first[i];
        float r = 0, g = 0, b = 0;
        for (uint32_t k = 0; k < t->count[i]; k++, p += 3)
            r += w[k] * p[0], g += w[k] * p[1], b += w[k] * p[2];
        *out++ = r, *out++ = g, *out++ = b;
    }
}

static void add(const float *row, float weight, uint32_t width, float *out)
{
    for (size_t i = 0; i < 3 * (size_t)width; i++)
        out[i] += weight * row[i];
}

static void resample(const tn_picture *from, const taps t[2], float ground, tn_place at, tn_canvas *to,
                     float *row)
{
    float *thin = row + 3 * (size_t)from->width;
    for (uint32_t y = t[1].start[0], j = 0; y < from->height && j < at.height; y++) {
        while (j < at.height && t[1].start[j] + t[1].count[j] <= y)
            j++;
        if (j == at.height || t[1].start[j] > y)
            continue;
        fetch(from, y, ground, row);
        narrow(&t[0], row, thin);
        for (uint32_t i = j; i < at.height && t[1].start[i] <= y; i++)
            if (y - t[1].start[i] < t[1].count[i])
                add(thin, t[1].weight[t[1].first[i] + (y - t[1].start[i])], at.width,
                    to->rgb + 3 * ((size_t)(at.y + i) * to->width + at.x));
    }
}

int tn_resample(const tn_picture *from, tn_window w, enum tn_filter filter, float ground, tn_place at,
                tn_canvas *to)
{
    taps t[2] = {{0}, {0}};
    float *row = malloc(3 * ((size_t)from->width + at.width) * sizeof *row);
    int failed = !row || taps_init(&t[0], filter, w.x, w.width, from->width, at.width) ||
                 taps_init(&t[1], filter, w.y, w.height, from->height, at.height);
    for (uint32_t y = 0; y < at.height && !failed; y++)
        memset(to->rgb + 3 * ((size_t)(at.y + y) * to->width + at.x), 0,
               3 * (size_t)at.width * sizeof *to->rgb);
    if (!failed)
        resample(from, t, ground, at, to, row);
    taps_deinit(&t[0]);
    taps_deinit(&t[1]);
    free(row);
    return failed;
}
