#ifndef TN_CLI_IMAGE_H
#define TN_CLI_IMAGE_H
/* Inside of `tenon image`: how pixels and numbers of an array belong together (image_array.c). */
#include "cli/npz.h"
#include "picture/picture.h"

enum tn_colors { TN_COLORS_RGB, TN_COLORS_BGR, TN_COLORS_GRAY };

typedef struct tn_pixels { /* number = (pixel * scale - mean[channel]) / std[channel], pixel in 0 .. 255 */
    enum tn_colors colors;
    bool last;          /* channels are the last dimension: NHWC */
    bool batch;         /* and a dimension of 1 stands in front */
    bool guess;         /* of an array: `last` and `batch` are seen from its shape */
    uint8_t code, bits; /* of an element, as DLPack has them */
    double scale;       /* 0: 1/255 for floating-point numbers, 1 for whole ones */
    double mean[3], std[3];
} tn_pixels;

/* Brightness of a pixel (ITU-R BT.601, as in JPEG). */
float tn_luma(const float rgb[3]);
/* The canvas as an array called `name` (not owned). Prints what fails, as the next one does. */
int tn_image_to_array(const tn_canvas *c, const tn_pixels *p, const char *name, tn_array *out);
/* A picture of the array called `name` in an archive; NULL: of its only one. */
int tn_image_from_npz(const char *path, const char *name, const tn_pixels *p, tn_canvas *out);
/* Finds an array: `name`, or the only one. */
int tn_npz_pick(const tn_npz *z, const char *path, const char *name, int *out);

#endif
