/* WebP through libwebp: the first frame of a still picture. */
#include "picture/picture.h"

#include <webp/decode.h>

int tn_picture_webp(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY])
{
    WebPBitstreamFeatures f;
    if (WebPGetFeatures(at, n, &f) != VP8_STATUS_OK || f.width < 1 || f.height < 1)
        return tn_picture_fail(why, "the WebP header is damaged");
    if (f.has_animation)
        return tn_picture_fail(why, "an animated WebP is not supported; convert it to PNG");
    out->width = (uint32_t)f.width;
    out->height = (uint32_t)f.height;
    out->channels = f.has_alpha ? 4 : 3;
    out->bits = 8;
    if (tn_picture_alloc(out, why))
        return 1;
    size_t stride = (size_t)out->width * out->channels, bytes = stride * out->height;
    const uint8_t *done = f.has_alpha ? WebPDecodeRGBAInto(at, n, out->at, bytes, (int)stride)
                                      : WebPDecodeRGBInto(at, n, out->at, bytes, (int)stride);
    return done ? 0 : tn_picture_fail(why, "damaged WebP");
}
