/* PBM, PGM and PPM, as text (P1 to P3) and as bytes (P4 to P6): grey or colours, samples up to any maximum
 * below 65,536, which becomes 255. Bits of PBM are black where they are 1. */
#include "picture/picture.h"

typedef struct {
    const uint8_t *at, *end;
} reader;

static int is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void skip(reader *r)
{
    while (r->at < r->end && (is_space(*r->at) || *r->at == '#'))
        if (*r->at++ == '#')
            while (r->at < r->end && *r->at != '\n')
                r->at++;
}

/* A number up to a million; -1: there is none. */
static long number(reader *r)
{
    long v = -1;
    skip(r);
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        v = 10 * (v < 0 ? 0 : v) + (*r->at - '0');
        if (v > 1000000)
            return -1;
    }
    return v;
}

/* A sample of text; of bits, digits need no blanks between them. */
static long text_sample(reader *r, int bits)
{
    skip(r);
    if (!bits)
        return number(r);
    return r->at < r->end && (*r->at == '0' || *r->at == '1') ? *r->at++ - '0' : -1;
}

static uint8_t scaled(long v, long most, int bits)
{
    if (bits)
        return v ? 0 : 255;
    return (uint8_t)((v * 255 + most / 2) / most);
}

static int read_text(reader *r, tn_picture *out, long most, int bits, char why[TN_PICTURE_WHY])
{
    uint8_t *to = out->at;
    for (size_t n = (size_t)out->width * out->height * out->channels; n; n--) {
        long v = text_sample(r, bits);
        if (v < 0 || v > most)
            return tn_picture_fail(why, "damaged PNM: a sample is missing or too large");
        *to++ = scaled(v, most, bits);
    }
    return 0;
}

/* Rows of bits begin at bytes; samples above 255 have two bytes. */
static int read_bytes(reader *r, tn_picture *out, long most, int bits, char why[TN_PICTURE_WHY])
{
    uint8_t *to = out->at;
    size_t row = (size_t)out->width * out->channels, wide = most > 255;
    size_t stride = bits ? (row + 7) / 8 : row << wide;
    if ((size_t)(r->end - r->at) / stride < out->height)
        return tn_picture_fail(why, "the picture claims %u x %u pixels, but the file is too short for them",
                               out->width, out->height);
    for (uint32_t y = 0; y < out->height; y++, r->at += stride)
        for (size_t x = 0; x < row; x++) {
            long v = bits   ? r->at[x / 8] >> (7 - x % 8) & 1
                     : wide ? r->at[2 * x] << 8 | r->at[2 * x + 1]
                            : r->at[x];
            *to++ = scaled(v > most ? most : v, most, bits);
        }
    return 0;
}

int tn_picture_pnm(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY])
{
    reader r = {(const uint8_t *)at + 2, (const uint8_t *)at + n};
    int kind = r.at[-1] - '0', bits = kind == 1 || kind == 4;
    long width = number(&r), height = number(&r), most = bits ? 1 : number(&r);
    if (width < 0 || height < 0 || most < 1 || most > 65535 ||
        (kind > 3 && (r.at == r.end || !is_space(*r.at++))))
        return tn_picture_fail(why, "the PNM header is damaged");
    out->width = (uint32_t)width;
    out->height = (uint32_t)height;
    out->channels = kind % 3 ? 1 : 3;
    out->bits = 8;
    if (kind <= 3 && (uint64_t)out->width * out->height > n) /* text has a byte for each sample */
        return tn_picture_fail(why, "the picture claims %u x %u pixels, but the file is too short for them",
                               out->width, out->height);
    if (tn_picture_alloc(out, why))
        return 1;
    return kind <= 3 ? read_text(&r, out, most, bits, why) : read_bytes(&r, out, most, bits, why);
}
