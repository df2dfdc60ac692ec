/* image.decode (bytes of a file; attribute pixel_format: RGB, BGR or Grayscale): uint8 [height, width,
 * channels], without rows where the bytes are no picture that can be decoded. Alpha is dropped, grey becomes
 * three equal channels, colours become grey by ITU-R 601. The decoders stand in libtenon-image.so, which is
 * opened in the first call and stays. */
#include "host/host.h"
#include "picture/picture.h"

#include "base/folder.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const tn_picture_api *open_decoders(tnh_call *h)
{
    char folder[TN_FOLDER_BYTES], path[TN_FOLDER_BYTES + 32];
    tn_folder_find(folder);
    snprintf(path, sizeof path, "%s/libtenon-image.so", folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const tn_picture_api *(*get)(void) = NULL;
    if (library)
        *(void **)(void *)&get = dlsym(library, "tenon_image");
    const tn_picture_api *api = get ? get() : NULL;
    if (api && api->version == TN_PICTURE_API)
        return api;
    (void)tnh_fail(h, TNR_E_IO, "the decoders of pictures, libtenon-image.so, are not installed in %.150s",
                   folder);
    return NULL;
}

/* Sample k of a pixel in 8 bits: of grey, all three are one. */
static unsigned sample(const tn_picture *p, size_t pixel, unsigned k)
{
    size_t at = pixel * p->channels + (p->channels < 3 ? 0 : k);
    return p->bits == 16 ? ((const uint16_t *)p->at)[at] >> 8 : ((const uint8_t *)p->at)[at];
}

static void convert(const tn_picture *p, bool grey, bool reversed, uint8_t *to)
{
    for (size_t i = 0; i < (size_t)p->width * p->height; i++) {
        unsigned red = sample(p, i, 0), green = sample(p, i, 1), blue = sample(p, i, 2);
        if (grey) {
            *to++ = (uint8_t)((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
            continue;
        }
        *to++ = (uint8_t)(reversed ? blue : red);
        *to++ = (uint8_t)green;
        *to++ = (uint8_t)(reversed ? red : blue);
    }
}

tnr_status tnh_image_decode(tnh_call *h)
{
    const void *bytes;
    void *out;
    int64_t n;
    char why[TN_PICTURE_WHY];
    tn_picture p = {0};
    bool grey = tnh_attr_is(h, "pixel_format", "Grayscale");
    tnr_status status = tnh_data_in(h, 0, TNH_BYTE, &bytes, &n);
    const tn_picture_api *api = status ? NULL : open_decoders(h);
    if (!api)
        return status ? status : TNR_E_IO;
    if (api->read(bytes, (size_t)n, &p, why)) {
        if (strcmp(why, TN_PICTURE_NO_MEMORY) == 0)
            return tnh_fail(h, TNR_E_MEMORY, TN_PICTURE_NO_MEMORY);
        p = (tn_picture){0}; /* what cannot be decoded is a picture without pixels */
    }
    int64_t shape[3] = {p.height, p.width, grey ? 1 : 3};
    status = tnh_tensor_out(h, 0, TNH_BYTE, 3, shape, &out);
    if (!status)
        convert(&p, grey, tnh_attr_is(h, "pixel_format", "BGR"), out);
    api->deinit(&p);
    return status;
}
