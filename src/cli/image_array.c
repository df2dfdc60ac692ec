/* Pictures as arrays, and back. */
#include "cli/image.h"
#include "cli/args.h"
#include "cli/feed.h"
#include "cli/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

float tn_luma(const float rgb[3]) { return 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2]; }

static double scale_of(const tn_pixels *p, uint8_t code)
{
    return p->scale != 0 ? p->scale : code == kDLFloat ? 1.0 / 255 : 1;
}

/* ---- a picture becomes numbers ---- */

static void put(void *out, size_t i, const tn_pixels *p, double v)
{
    if (p->code == kDLFloat)
        tn_element_put(out, i, (DLDataType){p->code, p->bits, 1}, v);
    else if (p->code == kDLUInt)
        ((uint8_t *)out)[i] = v >= 255 ? 255 : v > 0 ? (uint8_t)nearbyint(v) : 0;
    else
        ((int8_t *)out)[i] = v >= 127 ? 127 : v > -128 ? (int8_t)nearbyint(v) : -128;
}

static void fill(const tn_canvas *c, const tn_pixels *p, uint32_t channels, void *out)
{
    const size_t n = (size_t)c->width * c->height;
    const double scale = scale_of(p, p->code);
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < channels; k++) {
            const float *pixel = c->rgb + 3 * i;
            double v = channels == 1 ? tn_luma(pixel) : pixel[p->colors == TN_COLORS_BGR ? 2 - k : k];
            v = fmin(fmax(v, 0), 255); /* filters with negative lobes overshoot */
            put(out, p->last ? i * channels + k : k * n + i, p, (v * scale - p->mean[k]) / p->std[k]);
        }
}

int tn_image_to_array(const tn_canvas *c, const tn_pixels *p, const char *name, tn_array *out)
{
    const uint32_t channels = p->colors == TN_COLORS_GRAY ? 1 : 3;
    int d = 0;
    *out = (tn_array){.name = (char *)name, .type = {.code = p->code, .bits = p->bits}};
    if (p->batch)
        out->type.shape[d++] = 1;
    if (!p->last)
        out->type.shape[d++] = channels;
    out->type.shape[d++] = c->height;
    out->type.shape[d++] = c->width;
    if (p->last)
        out->type.shape[d++] = channels;
    out->type.ndim = d;
    out->type.data_bytes = (size_t)c->width * c->height * channels * (p->bits / 8u);
    out->data = tn_array_alloc(out->type.data_bytes);
    if (!out->data)
        return tn_error_print("out of memory");
    fill(c, p, channels, out->data);
    return TN_EXIT_OK;
}

/* ---- numbers become a picture ---- */

typedef struct {
    int64_t channels, height, width;
    bool last;
} extents;

static bool is_channels(int64_t n) { return n == 1 || n == 3; }

/* The last two or three dimensions of an array are a picture's; those in front have one entry, or the first
 * is meant. */
static bool find_extents(const tn_npy *t, const tn_pixels *p, extents *out)
{
    const int64_t *s = t->shape + (t->ndim > 3 ? t->ndim - 3 : 0);
    if (t->ndim < 2)
        return false;
    if (t->ndim == 2)
        *out = (extents){1, s[0], s[1], false};
    else if (p->guess ? is_channels(s[0]) : !p->last)
        *out = (extents){s[0], s[1], s[2], false};
    else
        *out = (extents){s[2], s[0], s[1], true};
    return is_channels(out->channels) && out->height > 0 && out->width > 0 &&
           out->height <= TN_PICTURE_SIDE && out->width <= TN_PICTURE_SIDE;
}

static void warn_values(const char *path, double largest, bool nan, double scale)
{
    if (nan)
        tn_warning_print("%s: values that are not numbers are drawn black", path);
    if (largest > 4 * 255 && scale * 255 < 1.5)
        tn_warning_print("%s: values reach %.4g where 1 is white; did you mean --scale 1?", path,
                         largest * scale);
}

static int draw(const tn_array *a, const void *data, const tn_pixels *p, const char *path, tn_canvas *out)
{
    extents e;
    char text[512];
    const DLDataType type = {a->type.code, a->type.bits, 1};
    DLTensor t = {.data = (void *)(uintptr_t)data,
                  .ndim = a->type.ndim,
                  .dtype = type,
                  .shape = (int64_t *)(uintptr_t)a->type.shape};
    if (!find_extents(&a->type, p, &e))
        return tn_error_print(
            "%s: %s is %s, which is no picture: 1 or 3 channels, first (NCHW) or last (NHWC), are", path,
            a->name, tn_tensor_text(type, a->type.ndim, a->type.shape, text));
    if (tn_canvas_alloc(out, (uint32_t)e.width, (uint32_t)e.height))
        return tn_error_print("%s: %s has too many pixels", path, a->name);
    const size_t n = (size_t)out->width * out->height, channels = (size_t)e.channels;
    const double scale = scale_of(p, a->type.code);
    double largest = 0;
    bool nan = false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 3; k++) {
            size_t from = channels == 1 ? 0 : p->colors == TN_COLORS_BGR ? 2 - k : k;
            double v = 0;
            tn_value_at(&t, e.last ? i * channels + from : from * n + i, &v);
            v = (v * p->std[from] + p->mean[from]) / scale;
            nan |= isnan(v);
            largest = v > largest ? v : largest;
            out->rgb[3 * i + k] = isnan(v) ? 0 : (float)fmin(fmax(v, 0), 255);
        }
    warn_values(path, largest, nan, scale);
    return TN_EXIT_OK;
}

int tn_npz_pick(const tn_npz *z, const char *path, const char *name, int *out)
{
    const int n = tn_npz_count(z);
    for (*out = 0; *out < n; ++*out)
        if (name ? strcmp(tn_npz_at(z, *out)->name, name) == 0 : n == 1)
            return TN_EXIT_OK;
    if (n == 0)
        return tn_error_print("%s: the archive is empty", path);
    name ? tn_error_print("%s: there is no array %s; it has:", path, name)
         : tn_error_print("%s: there are %d arrays; choose one with --name:", path, n);
    for (int i = 0; i < n; i++) {
        char text[512];
        const tn_npy *t = &tn_npz_at(z, i)->type;
        fprintf(stderr, "    %s: %s\n", tn_npz_at(z, i)->name,
                tn_tensor_text((DLDataType){t->code, t->bits, 1}, t->ndim, t->shape, text));
    }
    return TN_EXIT_ERROR;
}

int tn_image_from_npz(const char *path, const char *name, const tn_pixels *p, tn_canvas *out)
{
    tn_npz *z = NULL;
    void *data = NULL;
    int k = 0, status = tn_npz_open(path, &z);
    if (status == TN_EXIT_OK)
        status = tn_npz_pick(z, path, name, &k);
    if (status == TN_EXIT_OK)
        status = tn_npz_read(z, k, &data);
    if (status == TN_EXIT_OK)
        status = draw(tn_npz_at(z, k), data, p, path, out);
    free(data);
    tn_npz_free(z);
    return status;
}
