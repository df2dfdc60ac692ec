/* BMP, the uncompressed kinds: 1, 4 and 8 bits with a palette, 24 and 32 bits. Rows are padded to four bytes
 * and stand bottom up unless the height is negative. A fourth byte is no alpha: few writers mean it. */
#include "picture/picture.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 14, INFO = 40 };

typedef struct {
    const uint8_t *pixels, *palette;
    size_t stride;
    uint32_t colours;
    unsigned bits;
    int top_down;
} layout;

static uint32_t u32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int read_layout(const uint8_t *b, size_t n, tn_picture *out, layout *l, char why[TN_PICTURE_WHY])
{
    if (n < HEAD + INFO || u32(b + 14) < INFO || u32(b + 14) > n - HEAD)
        return tn_picture_fail(why, "the BMP header is damaged or older than Windows 3");
    uint32_t start = u32(b + 10), height = u32(b + 22), kind = u32(b + 30);
    l->bits = b[28] | (unsigned)b[29] << 8;
    l->top_down = height >> 31;
    bool palette = l->bits == 1 || l->bits == 4 || l->bits == 8;
    if ((!palette && l->bits != 24 && l->bits != 32) || (kind != 0 && !(kind == 3 && l->bits == 32)))
        return tn_picture_fail(why, "BMP with %u bits a pixel%s is not supported; convert it to PNG", l->bits,
                               kind ? ", compressed," : "");
    if (kind == 3 &&
        (n < HEAD + INFO + 12 || u32(b + 54) != 0xff0000 || u32(b + 58) != 0xff00 || u32(b + 62) != 0xff))
        return tn_picture_fail(why, "BMP with unusual colour masks is not supported; convert it to PNG");
    out->width = u32(b + 18);
    out->height = l->top_down ? 0u - height : height;
    out->channels = 3;
    out->bits = 8;
    l->palette = b + HEAD + u32(b + 14);
    const uint32_t most = palette ? 1u << l->bits : 0;
    l->colours = u32(b + 46) && u32(b + 46) < most ? u32(b + 46) : most;
    if (palette && (size_t)(b + n - l->palette) < 4 * (size_t)l->colours)
        return tn_picture_fail(why, "the palette is cut short");
    l->stride = ((size_t)out->width * l->bits + 31) / 32 * 4;
    if (start > n || (l->stride && (n - start) / l->stride < out->height))
        return tn_picture_fail(why, "the picture claims %u x %u pixels, but the file is too short for them",
                               out->width, out->height);
    l->pixels = b + start;
    return 0;
}

int tn_picture_bmp(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY])
{
    layout l = {0};
    if (read_layout(at, n, out, &l, why) || tn_picture_alloc(out, why))
        return 1;
    uint8_t *to = out->at;
    for (uint32_t y = 0; y < out->height; y++) {
        const uint8_t *row = l.pixels + l.stride * (l.top_down ? y : out->height - 1 - y);
        for (uint32_t x = 0; x < out->width; x++, to += 3) {
            const uint8_t *p = row + (size_t)x * l.bits / 8;
            if (l.bits <= 8) {
                unsigned index = (unsigned)*p >> (8 - l.bits - x * l.bits % 8) & ((1u << l.bits) - 1);
                if (index >= l.colours)
                    return tn_picture_fail(why, "a pixel has no colour in the palette");
                p = l.palette + 4 * (size_t)index;
            }
            to[0] = p[2], to[1] = p[1], to[2] = p[0];
        }
    }
    return 0;
}

int tn_picture_to_bmp(const tn_canvas *c, uint8_t **out, size_t *out_n)
{
    const size_t stride = ((size_t)c->width * 3 + 3) / 4 * 4, start = HEAD + INFO;
    const size_t n = start + stride * c->height;
    const uint32_t field[] = {(uint32_t)n, 0, (uint32_t)start, INFO, c->width, c->height, 1 | 24 << 16, 0};
    uint8_t *b = calloc(1, n);
    if (!b)
        return 1;
    memcpy(b, "BM", 2);
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        for (unsigned k = 0; k < 4; k++)
            b[2 + 4 * i + k] = (uint8_t)(field[i] >> 8 * k);
    for (uint32_t y = 0; y < c->height; y++) {
        uint8_t *row = b + start + stride * (c->height - 1 - y);
        tn_canvas_row(c, y, row);
        for (uint32_t x = 0; x < c->width; x++) {
            uint8_t red = row[3 * x];
            row[3 * x] = row[3 * x + 2];
            row[3 * x + 2] = red;
        }
    }
    *out = b;
    *out_n = n;
    return 0;
}
