#ifndef TN_FRONTEND_IMPORT_PROPOSE_H
#define TN_FRONTEND_IMPORT_PROPOSE_H
/* Proposals of regions (Faster R-CNN), as several formats have them: from anchors of several kinds at each place of a
 * map, those of the best scores that overlap no better one. */
#include "frontend/import/boxes.h"

enum { IMP_MAX_ANCHORS = 64 * 64 };

typedef struct imp_anchors {
    double stride; /* pixels from one place to the next */
    int64_t kinds;
    float low[2][IMP_MAX_ANCHORS],
        size[2][IMP_MAX_ANCHORS]; /* of the first place: left and top; width and height */
} imp_anchors;

typedef struct imp_proposals {
    const imp_anchors *anchors;
    double least;          /* side of a box, times the scale of the image; smaller ones score -1 */
    bool differences;      /* data are differences of edges, not of centres and logarithms of sizes */
    double overlap;        /* above which a box goes */
    int64_t before, after; /* candidates, the best, below 0: all; rows for each image */
} imp_proposals;

/* in: scores [images, 2 kinds, rows, columns], of which the second half counts; data [images, 4 kinds, rows, columns];
 * images [images, 3] as height, width and scale. Rows [image, left, top, right, bottom], `after` for each image, the
 * best first, and again from the first one where there are fewer; *out_scores: [rows, 1]. */
tn_value imp_propose(imp_node *c, const imp_proposals *p, const tn_value in[3], tn_value *out_scores);

#endif
