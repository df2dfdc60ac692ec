#ifndef TN_FRONTEND_IMPORT_FILTER_H
#define TN_FRONTEND_IMPORT_FILTER_H
/* Images in new sizes, each new pixel a sum of old ones that a filter weighs, as TensorFlow computes the weights: in
 * float32, for extents that are known. */
#include "frontend/import/convert.h"

enum { IMP_MAX_SIDE = 1 << 16 };

typedef struct imp_filter imp_filter; /* a row of the table in filter.c */
/* "lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"; NULL: none of
 * these. */
const imp_filter *imp_find_filter(const char *name);

typedef struct imp_side { /* dimension `axis` of `from` becomes `to` */
    int axis;
    int64_t from, to;
    float scale, translate; /* of positions: new = scale * old + translate */
    bool antialias;         /* where the image shrinks, the filter is as much wider */
} imp_side;

/* x (float32) with the side resized. */
tn_value imp_filter_side(imp_node *c, tn_value x, const imp_side *s, const imp_filter *f);
/* The mean of what a new pixel covers, `scale` old ones from the first on. */
tn_value imp_area_side(imp_node *c, tn_value x, int axis, int64_t from, int64_t to, float scale);

#endif
