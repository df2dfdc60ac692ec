/* Pictures of any format: which reader takes a file, how it is turned upright, what bounds its size. */
#include "picture/picture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tn_picture_fail(char why[TN_PICTURE_WHY], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, TN_PICTURE_WHY, format, args);
    va_end(args);
    return 1;
}

__attribute__((weak)) const uint32_t tn_picture_pixels = TN_PICTURE_PIXELS;

int tn_picture_alloc(tn_picture *p, char why[TN_PICTURE_WHY])
{
    if (p->width == 0 || p->height == 0)
        return tn_picture_fail(why, "the picture has no pixels");
    if (p->width > TN_PICTURE_SIDE || p->height > TN_PICTURE_SIDE ||
        (uint64_t)p->width * p->height > tn_picture_pixels)
        return tn_picture_fail(why, "the picture claims %u x %u pixels; at most %u million pixels are read",
                               p->width, p->height, tn_picture_pixels / 1000000);
    p->at = calloc((size_t)p->width * p->height, (size_t)p->channels * (p->bits / 8u));
    return p->at ? 0 : tn_picture_fail(why, TN_PICTURE_NO_MEMORY);
}

void tn_picture_deinit(tn_picture *p)
{
    free(p->at);
    *p = (tn_picture){0};
}

/* ---- upright ---- */

uint8_t tn_exif_orientation(const uint8_t *at, size_t n)
{
    if (n < 8 || (memcmp(at, "II*\0", 4) != 0 && memcmp(at, "MM\0*", 4) != 0))
        return 0;
    const int big = at[0] == 'M';
#define U16(p) (big ? (uint32_t)(p)[0] << 8 | (p)[1] : (uint32_t)(p)[1] << 8 | (p)[0])
    size_t start = big ? U16(at + 4) << 16 | U16(at + 6) : U16(at + 6) << 16 | U16(at + 4);
    if (start > n - 2)
        return 0;
    size_t count = U16(at + start);
    for (size_t i = 0; i < count && n - start - 2 >= 12 * (i + 1); i++) {
        const uint8_t *entry = at + start + 2 + 12 * i; /* tag, type (3: 16 bits), count, value */
        if (U16(entry) == 0x112 && U16(entry + 2) == 3)
            return U16(entry + 8) <= 8 ? (uint8_t)U16(entry + 8) : 0;
    }
#undef U16
    return 0;
}

/* Where the pixel (x, y) of the upright picture lies in the file's rows, for each orientation of EXIF: 2 is
 * mirrored, 3 on its head, 4 both; 5 to 8 lie on their side. */
static size_t pixel_at(const tn_picture *p, uint32_t x, uint32_t y)
{
    const uint32_t last_x = p->width - 1, last_y = p->height - 1;
    const size_t row = p->width;
    switch (p->orientation) {
    case 2: return y * row + (last_x - x);
    case 3: return (last_y - y) * row + (last_x - x);
    case 4: return (last_y - y) * row + x;
    case 5: return x * row + y;
    case 6: return (last_y - x) * row + y;
    case 7: return (last_y - x) * row + (last_x - y);
    case 8: return x * row + (last_x - y);
    default: return y * row + x;
    }
}

static int turn(tn_picture *p, char why[TN_PICTURE_WHY])
{
    if (p->orientation <= 1)
        return 0;
    tn_picture up = *p;
    if (p->orientation >= 5)
        up.width = p->height, up.height = p->width;
    if (tn_picture_alloc(&up, why))
        return 1;
    const size_t pixel = (size_t)p->channels * (p->bits / 8u);
    for (uint32_t y = 0; y < up.height; y++)
        for (uint32_t x = 0; x < up.width; x++)
            memcpy((char *)up.at + ((size_t)y * up.width + x) * pixel,
                   (char *)p->at + pixel_at(p, x, y) * pixel, pixel);
    free(p->at);
    up.orientation = 1;
    *p = up;
    return 0;
}

/* ---- which format ---- */

/* Before their uses: clang links them otherwise. These readers are there where their files are linked, with
 * the libraries that they need: in libtenon-image.so, not in the command. */
#pragma weak tn_picture_webp
#pragma weak tn_picture_tiff
#pragma weak tn_picture_jpeg2000

typedef int reader(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY]);
typedef struct {
    const char *magic;
    unsigned n, at;
    const char *name;
    reader *read; /* NULL: not supported here */
} format;

// clang-format off
#define FORMATS { \
    {"\x89PNG\r\n\x1a\n", 8, 0, "PNG", tn_picture_png}, {"\xff\xd8\xff", 3, 0, "JPEG", tn_picture_jpeg}, \
    {"BM", 2, 0, "BMP", tn_picture_bmp},           {"P1", 2, 0, "PNM", tn_picture_pnm}, \
    {"P2", 2, 0, "PNM", tn_picture_pnm},           {"P3", 2, 0, "PNM", tn_picture_pnm}, \
    {"P4", 2, 0, "PNM", tn_picture_pnm},           {"P5", 2, 0, "PNM", tn_picture_pnm}, \
    {"P6", 2, 0, "PNM", tn_picture_pnm},           {"WEBP", 4, 8, "WebP", tn_picture_webp}, \
    {"II*\0", 4, 0, "TIFF", tn_picture_tiff},      {"MM\0*", 4, 0, "TIFF", tn_picture_tiff}, \
    {"\0\0\0\x0cjP", 6, 0, "JPEG 2000", tn_picture_jpeg2000}, \
    {"\xff\x4f\xff\x51", 4, 0, "JPEG 2000", tn_picture_jpeg2000}, \
    {"GIF8", 4, 0, "GIF", NULL},                   {"ftypavif", 8, 4, "AVIF", NULL}, {"ftyphei", 7, 4, "HEIC", NULL}, \
    {"ftypmif1", 8, 4, "HEIC", NULL},              {"\xff\x0a", 2, 0, "JPEG XL", NULL}, \
    {"8BPS", 4, 0, "Photoshop", NULL}, \
    {"%PDF", 4, 0, "PDF", NULL},                   {"<svg", 4, 0, "SVG", NULL}, {"<?xml", 5, 0, "XML", NULL}}
// clang-format on

int tn_picture_read(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY])
{
    const format formats[] = FORMATS; /* weak functions are no constants */
    const uint8_t *b = at;
    *out = (tn_picture){0};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const format *f = &formats[i];
        if (n < f->at + f->n || memcmp(b + f->at, f->magic, f->n) != 0)
            continue;
        if (!f->read)
            return tn_picture_fail(why, "this is %s, which is not supported; convert it to PNG or JPEG",
                                   f->name);
        int failed = f->read(at, n, out, why);
        if (failed)
            tn_picture_deinit(out);
        return failed;
    }
    return tn_picture_fail(why, n ? "not a picture that can be read: PNG, JPEG, BMP and PNM are"
                                  : "the file is empty");
}

int tn_picture_decode(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY])
{
    int failed = tn_picture_read(at, n, out, why) || turn(out, why);
    if (failed)
        tn_picture_deinit(out);
    return failed;
}

/* ---- canvases ---- */

int tn_canvas_alloc(tn_canvas *c, uint32_t width, uint32_t height)
{
    *c = (tn_canvas){width, height, NULL};
    if ((uint64_t)width * height <= TN_PICTURE_PIXELS)
        c->rgb = calloc((size_t)width * height, 3 * sizeof *c->rgb);
    return c->rgb == NULL;
}

void tn_canvas_row(const tn_canvas *c, uint32_t y, uint8_t *out)
{
    const float *in = c->rgb + (size_t)y * c->width * 3;
    for (size_t i = 0; i < (size_t)c->width * 3; i++)
        out[i] = in[i] >= 255 ? 255 : in[i] > 0 ? (uint8_t)(in[i] + 0.5f) : 0;
}
