/* TIFF through libtiff: the first picture of a file, in any form that libtiff turns into colours. Its messages are
 * dropped: they would go to the standard error stream of whoever runs a model. */
#include "picture/picture.h"

#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

typedef struct {
    const uint8_t *at;
    uint64_t n, position;
} source;

static tmsize_t read_some(thandle_t user, void *to, tmsize_t n)
{
    source *s = user;
    uint64_t left = s->position < s->n ? s->n - s->position : 0, some = n < 0 ? 0 : (uint64_t)n;
    some = some < left ? some : left;
    if (some)
        memcpy(to, s->at + s->position, (size_t)some);
    s->position += some;
    return (tmsize_t)some;
}

static tmsize_t write_nothing(thandle_t user, void *from, tmsize_t n)
{
    (void)user, (void)from, (void)n;
    return 0;
}

static toff_t seek(thandle_t user, toff_t to, int whence)
{
    source *s = user;
    s->position = whence == SEEK_SET ? to : whence == SEEK_CUR ? s->position + to : s->n + to;
    return s->position;
}

static int close_nothing(thandle_t user)
{
    (void)user;
    return 0;
}

static toff_t size_of(thandle_t user) { return ((source *)user)->n; }

static int quiet(TIFF *t, void *user, const char *module, const char *format, va_list list)
{
    (void)t, (void)user, (void)module, (void)format, (void)list;
    return 1;
}

static TIFF *open_source(source *s)
{
    TIFFOpenOptions *o = TIFFOpenOptionsAlloc();
    if (!o)
        return NULL;
    TIFFOpenOptionsSetErrorHandlerExtR(o, quiet, NULL);
    TIFFOpenOptionsSetWarningHandlerExtR(o, quiet, NULL);
    TIFFOpenOptionsSetMaxSingleMemAlloc(o, (tmsize_t)4 * TN_PICTURE_PIXELS);
    TIFF *t =
        TIFFClientOpenExt("", "rm", s, read_some, write_nothing, seek, close_nothing, size_of, NULL, NULL, o);
    TIFFOpenOptionsFree(o);
    return t;
}

/* Rows from the top, alpha dropped: libtiff has multiplied colours with it. */
static void take(tn_picture *out, const uint32_t *pixels)
{
    uint8_t *to = out->at;
    for (size_t i = 0; i < (size_t)out->width * out->height; i++) {
        *to++ = (uint8_t)TIFFGetR(pixels[i]);
        *to++ = (uint8_t)TIFFGetG(pixels[i]);
        *to++ = (uint8_t)TIFFGetB(pixels[i]);
    }
}

static int decode(TIFF *t, tn_picture *out, char why[TN_PICTURE_WHY])
{
    uint32_t *pixels = NULL;
    char said[1024];
    if (!TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &out->width) ||
        !TIFFGetField(t, TIFFTAG_IMAGELENGTH, &out->height) || !TIFFRGBAImageOK(t, said))
        return tn_picture_fail(why, "the TIFF has a form that is not supported; convert it to PNG");
    out->channels = 3;
    out->bits = 8;
    if (tn_picture_alloc(out, why) || !(pixels = calloc((size_t)out->width * out->height, sizeof *pixels)))
        return out->at ? tn_picture_fail(why, TN_PICTURE_NO_MEMORY) : 1;
    int done = TIFFReadRGBAImageOriented(t, out->width, out->height, pixels, ORIENTATION_TOPLEFT, 1);
    if (done)
        take(out, pixels);
    free(pixels);
    return done ? 0 : tn_picture_fail(why, "damaged TIFF");
}

int tn_picture_tiff(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY])
{
    source s = {at, n, 0};
    TIFF *t = open_source(&s);
    if (!t)
        return tn_picture_fail(why, "the TIFF header is damaged");
    int failed = decode(t, out, why);
    TIFFClose(t);
    return failed;
}
