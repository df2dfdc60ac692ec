/* Pictures: any bytes. What is accepted has the size it says, and can be resampled. */
#include "picture/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Named, so that they are linked: tn_picture_decode refers to them weakly. */
static int (*const readers[])(const void *, size_t, tn_picture *, char *)
    __attribute__((used)) = {tn_picture_webp, tn_picture_tiff, tn_picture_jpeg2000};

static void require(int holds)
{
    if (!holds)
        abort();
}

/* Most of the time would go by clearing pages for pictures of a hundred bytes that claim millions of pixels. */
enum { PIXELS = 1 << 16 };
const uint32_t tn_picture_pixels = PIXELS;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char why[TN_PICTURE_WHY] = "";
    tn_picture p;
    tn_canvas c = {0};
    if (tn_picture_decode(data, n, &p, why)) {
        require(*why && strlen(why) < sizeof why && !p.at);
        return 0;
    }
    require(p.width >= 1 && p.height >= 1 && (uint64_t)p.width * p.height <= PIXELS);
    require(p.channels >= 1 && p.channels <= 4 && (p.bits == 8 || p.bits == 16) && p.orientation <= 1);
    if (tn_canvas_alloc(&c, 5, 3) == 0) {
        enum tn_filter f = (enum tn_filter)(n % 5);
        tn_window w = {0, 0, p.width, p.height};
        require(tn_resample(&p, w, f, 255, (tn_place){0, 0, 5, 3}, &c) == 0);
        for (int i = 0; i < 45; i++)
            require(isfinite(c.rgb[i]));
    }
    free(c.rgb);
    tn_picture_deinit(&p);
    return 0;
}
