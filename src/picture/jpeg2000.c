/* JPEG 2000 through OpenJPEG: JP2 files and bare codestreams, grey or red, green, blue, with or without
 * alpha; components that are sampled less often than others are refused. */
#include "picture/picture.h"

#include <string.h>

#include <openjpeg.h>

enum { DEEPEST = 16 };

typedef struct {
    const uint8_t *at;
    size_t n, position;
} source;

static OPJ_SIZE_T read_some(void *to, OPJ_SIZE_T n, void *user)
{
    source *s = user;
    size_t some = n < s->n - s->position ? n : s->n - s->position;
    if (!some)
        return (OPJ_SIZE_T)-1;
    memcpy(to, s->at + s->position, some);
    s->position += some;
    return some;
}

static OPJ_OFF_T skip(OPJ_OFF_T n, void *user)
{
    source *s = user;
    if (n < 0 || (uint64_t)n > s->n - s->position)
        return -1;
    s->position += (size_t)n;
    return n;
}

static OPJ_BOOL seek(OPJ_OFF_T to, void *user)
{
    source *s = user;
    if (to < 0 || (uint64_t)to > s->n)
        return OPJ_FALSE;
    s->position = (size_t)to;
    return OPJ_TRUE;
}

static uint64_t u32(const uint8_t *p)
{
    return (uint64_t)p[0] << 24 | (uint64_t)p[1] << 16 | (uint64_t)p[2] << 8 | p[3];
}

/* Whether a codestream, which is all of the bytes or the contents of a box, claims more tiles than they can hold:
 * OpenJPEG makes room for each, 5 KB, as soon as it has read the header. A tile takes a marker segment of 12 bytes and
 * a marker (ISO/IEC 15444-1, A.4.2, A.4.3). */
static int claims_tiles(const uint8_t *at, size_t n)
{
    /* SOC, SIZ, its length and capabilities; then the sizes, four bytes each */
    enum { SIZES = 40, TILE = 14 };
    for (size_t i = 0; i + SIZES <= n; i++) {
        const uint8_t *p = at + i;
        const int boxed =
            (i >= 4 && memcmp(p - 4, "jp2c", 4) == 0) || (i >= 12 && memcmp(p - 12, "jp2c", 4) == 0);
        if ((i > 0 && !boxed) || memcmp(p, "\xff\x4f\xff\x51", 4) != 0)
            continue;
        uint64_t tiles = 1;
        for (int axis = 0; axis < 2; axis++) {
            /* end of the picture, its origin, a tile, the tiles' origin */
            const uint8_t *q = p + 8 + 4 * axis;
            uint64_t end = u32(q), side = u32(q + 16), from = u32(q + 24);
            tiles *= side > 0 && end > from ? (end - from + side - 1) / side : 1;
        }
        if (tiles > n / TILE)
            return 1;
    }
    return 0;
}

/* What the components say; sizes and depths are the same for all. */
static int measure(const opj_image_t *image, size_t n, tn_picture *out, char why[TN_PICTURE_WHY])
{
    const opj_image_comp_t *c = image->comps;
    int ok = image->numcomps >= 1 && image->numcomps <= 4 && c[0].prec >= 1 && c[0].prec <= DEEPEST;
    for (uint32_t k = 1; ok && k < image->numcomps; k++)
        ok = c[k].w == c[0].w && c[k].h == c[0].h && c[k].prec >= 1 && c[k].prec <= DEEPEST;
    if (image->color_space == OPJ_CLRSPC_SYCC || image->color_space == OPJ_CLRSPC_EYCC ||
        image->color_space == OPJ_CLRSPC_CMYK)
        return tn_picture_fail(why, "the JPEG 2000 is neither grey nor red, green, blue; convert it to PNG");
    if (!ok)
        return tn_picture_fail(
            why, "the JPEG 2000 has components of different sizes or depths; convert it to PNG");
    out->width = c[0].w;
    out->height = c[0].h;
    out->channels = (uint8_t)image->numcomps;
    out->bits = 8;
    if ((uint64_t)out->width * out->height / 4096 > n) /* a code block of 64 x 64 takes a bit at least */
        return tn_picture_fail(why, "the picture claims %u x %u pixels, but the file is too short for them",
                               out->width, out->height);
    return 0;
}

static void take(const opj_image_t *image, tn_picture *out)
{
    uint8_t *to = out->at;
    for (size_t i = 0; i < (size_t)out->width * out->height; i++)
        for (uint32_t k = 0; k < image->numcomps; k++) {
            const opj_image_comp_t *c = &image->comps[k];
            int64_t most = (INT64_C(1) << c->prec) - 1,
                    v = c->data[i] + (c->sgnd ? INT64_C(1) << (c->prec - 1) : 0);
            v = v < 0 ? 0 : v > most ? most : v;
            *to++ = (uint8_t)((v * 255 + most / 2) / most);
        }
}

static int decode(opj_codec_t *codec, opj_stream_t *stream, opj_image_t **image, size_t n, tn_picture *out,
                  char why[TN_PICTURE_WHY])
{
    opj_dparameters_t p;
    opj_set_default_decoder_parameters(&p);
    if (!opj_setup_decoder(codec, &p) || !opj_read_header(stream, codec, image))
        return tn_picture_fail(why, "the JPEG 2000 header is damaged");
    if (measure(*image, n, out, why) || tn_picture_alloc(out, why))
        return 1;
    if (!opj_decode(codec, stream, *image) || !opj_end_decompress(codec, stream))
        return tn_picture_fail(why, "damaged JPEG 2000");
    for (uint32_t k = 0; k < (*image)->numcomps; k++)
        if (!(*image)->comps[k].data || (*image)->numcomps != out->channels ||
            (*image)->comps[k].w != out->width || (*image)->comps[k].h != out->height)
            return tn_picture_fail(why, "damaged JPEG 2000");
    if (out->channels % 2 == 0 && !(*image)->comps[out->channels - 1].alpha)
        return tn_picture_fail(
            why, "the JPEG 2000 does not say that its last component is alpha; convert it to PNG");
    take(*image, out);
    return 0;
}

int tn_picture_jpeg2000(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY])
{
    if (claims_tiles(at, n))
        return tn_picture_fail(why, "the JPEG 2000 claims more tiles than the file can hold");
    source s = {at, n, 0};
    const int bare = n > 0 && *(const uint8_t *)at == 0xff;
    opj_image_t *image = NULL;
    opj_codec_t *codec = opj_create_decompress(bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    opj_stream_t *stream = opj_stream_default_create(OPJ_TRUE);
    int failed = codec && stream ? 0 : tn_picture_fail(why, TN_PICTURE_NO_MEMORY);
    if (!failed) {
        opj_stream_set_user_data(stream, &s, NULL);
        opj_stream_set_user_data_length(stream, n);
        opj_stream_set_read_function(stream, read_some);
        opj_stream_set_skip_function(stream, skip);
        opj_stream_set_seek_function(stream, seek);
        failed = decode(codec, stream, &image, n, out, why);
    }
    opj_image_destroy(image);
    opj_stream_destroy(stream);
    opj_destroy_codec(codec);
    return failed;
}
