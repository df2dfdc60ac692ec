#ifndef TN_FRONTEND_IMPORT_CROP_H
#define TN_FRONTEND_IMPORT_CROP_H
/* Parts of images in new sizes, as several formats cut them out: pixels at rows and columns that are data. */
#include "frontend/import/convert.h"

typedef struct imp_crop {
    tn_value image;   /* float32 [b, rows, columns, channels] */
    tn_value which;   /* int64 [n]: of which image each part is; the run checks it */
    tn_value row;     /* float32 [n, new rows]: where each row lies; [n, new rows, new columns]: each pixel */
    tn_value column;  /* float32 [n, new columns], or as many as rows */
    tn_value outside; /* what lies outside of the image, rank 0; absent: its border */
    bool nearest;     /* no interpolation */
    bool shares; /* between a and b lies a (1 - t) + b t, else a + (b - a) t: they are rounded otherwise */
} imp_crop;

/* [n, new rows, new columns, channels] */
tn_value imp_make_crop(imp_node *c, const imp_crop *k);
/* The same for boxes [n, 4] as y1, x1, y2, x2, shares of the image between the middles of its outermost pixels: new
 * rows and columns (`size`) from side to side; a single one in the middle. k: without row and column. */
tn_value imp_make_crop_of_boxes(imp_node *c, const imp_crop *k, tn_value boxes, tn_dims size);

#endif
