#ifndef TN_FRONTEND_IMPORT_BOXES_H
#define TN_FRONTEND_IMPORT_BOXES_H
/* Boxes of detectors, as several formats have them: prior boxes, suppression of boxes that overlap better ones. */
#include "frontend/import/convert.h"

enum { IMP_MAX_PRIORS = 256 };

/* Boxes around the centre of each place of a map, the same at every place: their sizes in pixels of the image. */
typedef struct imp_priors {
    int64_t rows, columns; /* of the map */
    double image[2];       /* height, width */
    double step[2],
        offset; /* a place's height and width in pixels; where its centre lies, as a part of that */
    uint32_t n;
    double height[IMP_MAX_PRIORS], width[IMP_MAX_PRIORS];
    bool clip; /* to the image */
} imp_priors;

void imp_add_prior(imp_node *c, imp_priors *p, double height,
                   double width); /* refused beyond IMP_MAX_PRIORS */
/* Left, top, right and bottom, as parts of the image, of every box at every place: 4 rows columns n numbers in the
 * graph's arena; NULL: failed. */
float *imp_make_priors(imp_node *c, const imp_priors *p);

/* Anchors of sizes and ratios (SSD): at each place of a map one for each size, with the first ratio, then for
 * each other ratio, with the first size. A size is a part of the image's height, a ratio the width by the
 * height. */
typedef struct imp_multibox {
    uint32_t sizes, ratios; /* at least 1 each */
    const double *size, *ratio;
    double
        step[2]; /* a place's height and width, as parts of the image; not above 0: as the map has places */
    double offset[2];
    bool clip;
} imp_multibox;
/* Of images x [n, c, rows, columns] of fixed extents: left, top, right, bottom, float32 [1, boxes, 4]. */
tn_value imp_multibox_prior(imp_node *c, tn_value x, const imp_multibox *m);
/* Boxes [batch, n, 4] from differences [batch, 4 n] to anchors [1, n, 4], times the variances. */
tn_value imp_multibox_boxes(imp_node *c, tn_value differences, tn_value anchors, const double variance[4],
                            bool clip);

typedef struct imp_nms { /* greedy suppression by class */
    double overlap,
        least;      /* of intersection by union, above which a box goes; scores must be above `least` */
    int64_t most;   /* candidates of a class, the best; below 0: all */
    bool inclusive; /* a box ends behind its right and bottom edge by 1 */
} imp_nms;

/* What stays, of boxes [batch, n, 4] and scores [batch, classes, n], best first: positions of boxes
 * [batch, classes, k], int64, -1 where there are no more; *out_scores: [batch, classes, k]. */
tn_value imp_suppress(imp_node *c, tn_value boxes, tn_value scores, const imp_nms *how, tn_value *out_scores);

/* What stays of all images, a row each, by image, class and score: lists of as many elements as the run finds. */
typedef struct imp_detections {
    tn_value image, which, place; /* int64: image, class, row of the boxes [batch * n, 4] */
    tn_value score, box;          /* [rows], [rows, 4] */
    tn_value count;               /* int32 [batch]: rows of each image */
} imp_detections;
/* keep: rows of an image, the best; below 0: all. */
imp_detections imp_detect(imp_node *c, tn_value boxes, tn_value scores, const imp_nms *how, int64_t keep);

/* The first n of a list of boxes, padded. */
typedef struct imp_padded {
    tn_value place, there; /* int64 [n], 0 where there is no box; bool [n] */
    tn_value count;        /* int32: how many boxes there are */
} imp_padded;
/* chosen: positions of boxes, int64, -1 after the last one. */
imp_padded imp_pad_boxes(imp_node *c, tn_value chosen, const tn_expr *n);
/* The scores [boxes] of those, 0 where there is no box; boxes may be 0. */
tn_value imp_padded_scores(imp_node *c, const imp_padded *p, tn_value scores);

/* ---- positions of rows ---- */

/* v [batch, n, ..] at positions [batch, m], which are inside: [batch, m, ..]. */
tn_value imp_rows_at(imp_node *c, tn_value v, tn_value at);
/* bool [batch, n]: which positions stand in a list [batch, ..], where -1 is none. */
tn_value imp_marked(imp_node *c, tn_value at, const tn_expr *n);
/* Where bools [batch, n] hold, in their order: positions [batch, n], int64, -1 after the last one. */
tn_value imp_compacted(imp_node *c, tn_value there);
/* The largest number below each element, of those above 0: float32 or float64. Others become any number. */
tn_value imp_next_below(imp_node *c, tn_value v);

#endif
