#ifndef TN_SCHEDULE_RULES_SKETCH_H
#define TN_SCHEDULE_RULES_SKETCH_H
/* A reduction in levels of tiles while it is made: what is picked, and loops. Private to the sketches. */
#include "schedule/rules/contraction.h"

enum { TASK, TILE, MIDDLE, INNER, LEVELS }; /* of a spatial axis */
enum { OUTER_SUM, INNER_SUM };              /* of a reduction */

/* How an axis is cut, below its outermost level; 1: that level is not there. Of a reduction: inner alone. */
typedef struct axis_tile {
    int64_t outer, middle, inner; /* inner: of the axis with the lanes, vectors */
    const char *loop[LEVELS];     /* NULL: none */
} axis_tile;

typedef struct sketch {
    derive *d;
    const char *block;
    contraction x;
    choice t;    /* what the model takes, with the lanes that were picked */
    bool along;  /* lanes along a reduction */
    bool parts;  /* it is the parts of a sum, which follows */
    bool gather; /* its sums, single elements, go through memory to become lanes of what follows */
    axis_tile axis[CONTRACTION_AXES];
    int order[CONTRACTION_AXES]; /* of spatial axes, outermost tiles first */
    int vectors;                 /* sums of an inner tile */
    bool fuse_inner;             /* what follows is computed for each tile, else for each task */
    int64_t unroll;              /* statements up to which sums are written out */
    int border;                  /* axis whose first and last tiles have padding, -1: none */
    int64_t head, tail;          /* so many */
    bool all;                    /* or all of them, which are written out */
    bool taps; /* those that mask lanes, or move them by parts of an element, are written out */
    const char *lanes, *lanes_outer, *home;
} sketch;

/* The reduction that is put into tiles: the first that gains by them, else the first. */
bool rule_find_anchor(const tn_func *f, const tn_machine *m, contraction *out);
/* Asks for all sizes, orders and places. False: the model has no tile for it, or a pick is refused. */
bool sketch_choose(sketch *k);
/* Elements of a spatial axis that its middle and inner levels cover. */
int64_t sketch_width(const sketch *k, int axis);

#endif
