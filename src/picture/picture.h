#ifndef TN_PICTURE_PICTURE_H
#define TN_PICTURE_PICTURE_H
/* Pictures: PNG and JPEG through libpng and libjpeg, BMP and PNM by hand, WebP, TIFF and JPEG 2000 where
 * their readers are linked; and resampling. Nothing a file says is believed
 * before it is checked: sizes are bounded, and a file that is damaged or cut short is refused. */
#include <stddef.h>
#include <stdint.h>

enum {
    TN_PICTURE_SIDE = 65535,       /* pixels of a side, at most */
    TN_PICTURE_PIXELS = 100000000, /* of a picture */
    TN_PICTURE_WHY = 200           /* bytes of a message */
};

typedef struct tn_picture { /* as a file has it */
    uint32_t width, height;
    uint8_t channels;    /* 1 grey, 2 grey and alpha, 3 red green blue, 4 and alpha */
    uint8_t bits;        /* of a sample: 8, or 16 in the machine's byte order */
    uint8_t orientation; /* EXIF's 1 to 8, until tn_picture_upright; 0: not said */
    void *at;            /* heap; rows from the top, channels interleaved */
} tn_picture;

typedef struct tn_canvas { /* what is computed with */
    uint32_t width, height;
    float *rgb; /* heap; red, green, blue of each pixel, 0 to 255 */
} tn_canvas;

/* What is read at most: TN_PICTURE_PIXELS, unless a program defines it otherwise (a fuzz target has less time). */
extern const uint32_t tn_picture_pixels;

/* Reads a picture from n bytes, turned upright. Returns 0, or 1 with the reason in `why`, which goes behind a colon. */
int tn_picture_decode(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY]);
void tn_picture_deinit(tn_picture *p);

/* The same, but as the file has it. */
int tn_picture_read(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY]);

/* What libtenon-image.so exports: tenon_image. */
enum { TN_PICTURE_API = 1 };
typedef struct tn_picture_api {
    int version; /* TN_PICTURE_API */
    int (*read)(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY]);
    void (*deinit)(tn_picture *p);
} tn_picture_api;
const tn_picture_api *tenon_image(void);

/* The readers of one format each, not turned yet. They fit tn_picture_read's contract, but leave *out to it. */
int tn_picture_png(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY]);
int tn_picture_jpeg(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY]);
int tn_picture_bmp(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY]);
int tn_picture_pnm(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY]);
int tn_picture_webp(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY]);
int tn_picture_tiff(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY]);
int tn_picture_jpeg2000(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY]);
/* For the readers: allocates the samples of out's width, height, channels and bits, zeroed; 1 if that is too large. */
int tn_picture_alloc(tn_picture *out, char why[TN_PICTURE_WHY]);
#define TN_PICTURE_NO_MEMORY "out of memory" /* what `why` says then */
int tn_picture_fail(char why[TN_PICTURE_WHY], const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The orientation in EXIF data (a TIFF header and its directory), 0: none. */
uint8_t tn_exif_orientation(const uint8_t *at, size_t n);

/* Writes a canvas as 8-bit RGB. *out: heap. Return 0, or 1: out of memory (or the library's own trouble). */
int tn_picture_to_png(const tn_canvas *c, uint8_t **out, size_t *out_n);
int tn_picture_to_jpeg(const tn_canvas *c, uint8_t **out, size_t *out_n);
int tn_picture_to_bmp(const tn_canvas *c, uint8_t **out, size_t *out_n);
/* Row y as bytes, three a pixel, rounded and cut to 0 .. 255. */
void tn_canvas_row(const tn_canvas *c, uint32_t y, uint8_t *out);
int tn_canvas_alloc(tn_canvas *c, uint32_t width, uint32_t height); /* 1: out of memory or too large */

/* ---- resample.c ---- */

enum tn_filter { TN_FILTER_NEAREST, TN_FILTER_BOX, TN_FILTER_BILINEAR, TN_FILTER_BICUBIC, TN_FILTER_LANCZOS };
typedef struct
    tn_window { /* what of the source becomes the whole of the target, in pixels of the source; it may lie
                            * partly outside */
    double x, y, width, height;
} tn_window;

/* Resamples a picture into the pixels [x, x + width) by [y, y + height) of `to`, which is allocated: separable filters,
 * widened by the scale when a picture shrinks, so that nothing aliases. Transparent pixels are mixed with `ground`.
 * 1: out of memory. Time: O(source rows * (filter * target width + source width)). */
typedef struct tn_place {
    uint32_t x, y, width, height;
} tn_place;
int tn_resample(const tn_picture *from, tn_window w, enum tn_filter filter, float ground, tn_place at,
                tn_canvas *to);

#endif
