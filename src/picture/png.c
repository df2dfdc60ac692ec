/* PNG through libpng: any colour type and depth, interlaced or not; palettes and transparent colours are expanded. */
#include "picture/picture.h"

#include <stdlib.h>
#include <string.h>

#include <png.h>

enum { CHUNK_MAX = 8 << 20, DEFLATE_MAX = 1032 }; /* deflate makes at most 1032 bytes of one */

typedef struct {
    const uint8_t *at;
    size_t left;
    char *why; /* TN_PICTURE_WHY bytes */
} source;

static void stop(png_structp png, const char *message)
{
    source *s = png_get_error_ptr(png);
    tn_picture_fail(s->why, "damaged PNG: %.150s", message);
    png_longjmp(png, 1);
}

static void ignore(png_structp png, const char *message) { (void)png, (void)message; }

static void take(png_structp png, png_bytep out, size_t n)
{
    source *s = png_get_io_ptr(png);
    if (n > s->left)
        png_error(png, "the file is cut short");
    memcpy(out, s->at, n);
    s->at += n;
    s->left -= n;
}

static uint8_t find_orientation(png_structp png, png_infop info)
{
    png_uint_32 n = 0;
    png_bytep exif = NULL;
    return png_get_eXIf_1(png, info, &n, &exif) ? tn_exif_orientation(exif, n) : 0;
}

/* Everything that may jump out. */
static int decode(png_structp png, png_infop info, size_t file_bytes, tn_picture *out, png_bytep **rows,
                  char *why)
{
    png_read_info(png, info);
    out->width = png_get_image_width(png, info);
    out->height = png_get_image_height(png, info);
    if ((uint64_t)png_get_rowbytes(png, info) * out->height / DEFLATE_MAX > file_bytes)
        return tn_picture_fail(why, "the picture claims %u x %u pixels, but the file is too short for them",
                               out->width, out->height);
    png_set_expand(png);
    if (png_get_bit_depth(png, info) == 16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        png_set_swap(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    out->channels = png_get_channels(png, info);
    out->bits = png_get_bit_depth(png, info);
    out->orientation = find_orientation(png, info);
    if (tn_picture_alloc(out, why))
        return 1;
    if (!(*rows = calloc(out->height, sizeof **rows)))
        return tn_picture_fail(why, TN_PICTURE_NO_MEMORY);
    for (uint32_t y = 0; y < out->height; y++)
        (*rows)[y] = (png_bytep)out->at + (size_t)y * png_get_rowbytes(png, info);
    png_read_image(png, *rows);
    png_read_end(png, NULL);
    return 0;
}

int tn_picture_png(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY])
{
    source s = {at, n, why};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s, stop, ignore);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    png_bytep **rows = calloc(1, sizeof *rows);
    volatile int failed = 1; /* survives a jump */
    if (!info || !rows) {
        tn_picture_fail(why, TN_PICTURE_NO_MEMORY);
    } else if (setjmp(png_jmpbuf(png)) == 0) {
        png_set_read_fn(png, &s, take);
        png_set_user_limits(png, TN_PICTURE_SIDE, TN_PICTURE_SIDE);
        png_set_chunk_malloc_max(png, CHUNK_MAX);
        failed = decode(png, info, n, out, rows, why);
    } else {
        failed = 1;
    }
    png_destroy_read_struct(&png, &info, NULL);
    if (rows)
        free(*rows);
    free(rows);
    return failed;
}

/* ---- writing ---- */

typedef struct {
    uint8_t *at;
    size_t n, room;
} sink;

static void put(png_structp png, png_bytep data, size_t n)
{
    sink *s = png_get_io_ptr(png);
    if (s->n + n > s->room) {
        size_t room = 2 * (s->n + n);
        uint8_t *at = realloc(s->at, room);
        if (!at)
            png_error(png, TN_PICTURE_NO_MEMORY);
        s->at = at;
        s->room = room;
    }
    memcpy(s->at + s->n, data, n);
    s->n += n;
}

static void flush(png_structp png) { (void)png; }

static void encode(png_structp png, png_infop info, const tn_canvas *c, uint8_t *row)
{
    png_set_IHDR(png, info, c->width, c->height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (uint32_t y = 0; y < c->height; y++) {
        tn_canvas_row(c, y, row);
        png_write_row(png, row);
    }
    png_write_end(png, info);
}

int tn_picture_to_png(const tn_canvas *c, uint8_t **out, size_t *out_n)
{
    char why[TN_PICTURE_WHY];
    source s = {.why = why};
    sink *to = calloc(1, sizeof *to);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &s, stop, ignore);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    uint8_t *row = malloc((size_t)c->width * 3);
    volatile int failed = 1; /* survives a jump */
    if (to && info && row && setjmp(png_jmpbuf(png)) == 0) {
        png_set_write_fn(png, to, put, flush);
        encode(png, info, c, row);
        *out = to->at;
        *out_n = to->n;
        failed = 0;
    } else if (to) {
        free(to->at);
    }
    png_destroy_write_struct(&png, &info);
    free(row);
    free(to);
    return failed;
}
