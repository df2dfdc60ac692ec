#ifndef TN_SCHEDULE_RULES_CONTRACTION_H
#define TN_SCHEDULE_RULES_CONTRACTION_H
/* The normal form of a contraction: a sum, over any number of reduction axes, of products of views. A view is what one
 * factor makes of elements it reads: loaded, masked by a condition, cast, less a zero point, scaled. Axes are the
 * block's iterations, and all that a rule asks is how each view moves along each of them. */
#include "schedule/rules/derive.h"

enum { CONTRACTION_AXES = 16, CONTRACTION_VIEWS = 6, CONTRACTION_LOADS = 4 };
enum {
    CONTRACTION_TASK_CYCLES = 27500, /* of a task, about 10 us */
    CONTRACTION_TASKS_A_CORE = 4,
    CONTRACTION_TAPS = 16, /* of a reduction axis, that may be written out */
    CONTRACTION_TILES = 8  /* with padding, that may be written out */
};

/* How a view moves in memory along an axis; the worst of its loads. */
enum view_step {
    VIEW_STAYS,    /* the axis is not in it */
    VIEW_BESIDE,   /* neighbours are beside each other */
    VIEW_EVENLY,   /* a few elements apart, always the same number, or a few iterations each */
    VIEW_SCATTERED /* anything else */
};

typedef struct view {
    const tn_expr *e;
    int n_load;
    const tn_expr *load[CONTRACTION_LOADS];
    int work; /* operations on what is loaded */
    enum view_step step[CONTRACTION_AXES];
    int64_t apart[CONTRACTION_AXES]; /* elements, of VIEW_EVENLY */
    int64_t every
        [CONTRACTION_AXES]; /* stays the same within so many (i / every in all indices); 0: changes at once */
    int64_t bytes[CONTRACTION_AXES]; /* between neighbours in memory, 0: not known */
} view;

typedef struct contraction {
    const tn_func *f;
    tn_stmt *block;
    int n_spatial, n; /* axes */
    int64_t extent[CONTRACTION_AXES];
    int dim[CONTRACTION_AXES]; /* of the result, that a spatial axis indexes; -1: none */
    int beside;                /* the axis whose elements are beside each other in the result, or -1 */
    int work; /* operations of a term that are none of a view, nor the product of views; 0 of products */
    int n_view;
    view view[CONTRACTION_VIEWS];
    uint32_t bytes; /* of an accumulator */
} contraction;

/* Is the block one? */
bool rule_read_contraction(const tn_func *f, tn_stmt *block, contraction *out);
/* The same of any reduction (maxima, sums of one operand). Of a term that is no product each load is a view. */
bool rule_read_reduction(const tn_func *f, tn_stmt *block, contraction *out);
/* Does a tile read some view less often than it uses it? Else rule reduce does as well, and keeps rows in the cache. */
bool rule_shares_views(const contraction *x);
/* Does it read each of several views less often? What is no product gains nothing else by a tile. */
bool rule_shares_each_view(const contraction *x);
/* Is it over a few taps alone, each of which reads what neighbouring results read by others? */
bool rule_is_window(const contraction *x);
/* Does an index add the tap to the spatial axis? */
bool rule_slides_along(const contraction *x, int tap, int axis);
/* The first of the axes that a padding mask is on, where tiles of those widths, by axis, at its ends have padding: how
 * many at either end. -1: none. */
int rule_find_border(const contraction *x, int n_axis, const int axis[], const int64_t width[],
                     int64_t *out_first, int64_t *out_last);
/* Is there a condition in the mask that both axes are in? */
bool rule_masks_both(const contraction *x, int a, int b);
/* Is the other axis in a quotient by which a view moves slowly along a: (a + b)/2? */
bool rule_divides_both(const contraction *x, int a, int b);
/* Which axis each iteration of the epilogue's blocks walks; -1: none. *out_maps: is one of them more than a
 * copy? False: a block has too many. */
bool rule_follow_axes(const contraction *x, tn_func *f, const epilogue *e, int axis[][CONTRACTION_AXES],
                      bool *out_maps);

/* A register tile of it: rows along axis u (-1: none), nv columns along c, lanes along v. Where c is v, the columns are
 * further vectors of the same axis. */
typedef struct choice {
    int u, c, v;
    int rows, nv;
    uint16_t lanes;
    int pack;          /* the view whose tiles are copied so that lanes lie beside each other, or -1 */
    double efficiency; /* of the multiply-add peak; 0: not possible */
    double cycles;     /* of a tile */
    const char *bound;
} choice;
/* The best tile; of: NULL, or a tile whose axis and number of rows it has to have. Efficiency 0: there is none. */
choice rule_choose(const derive *d, const contraction *x, const choice *of);
/* The best one with lanes along axis v. */
choice rule_choose_lanes(const derive *d, const contraction *x, int v);
/* Lanes of a vector along the axis: as many as the axis has elements, if it has fewer. */
int rule_lanes_along(const derive *d, const contraction *x, int axis);
/* Asks which layout constants have, gives it to them, and reads the contraction anew (contract_layout.c). False: a pick
 * or a step is refused. */
bool rule_pick_panels(derive *d, contraction *x);
/* The dimension of the load whose index is the axis; -1: none, or the axis is in others, too (contract_pack.c). */
int rule_dim_of(const contraction *x, const tn_expr *load, int axis);
/* The view that may be copied for lanes along v (contract_pack.c), or -1. */
int rule_pack_view(const contraction *x, int v);
/* The copy, at the beginning of each turn of the loop. */
void rule_pack(derive *d, const contraction *x, const choice *t, const char *loop);
bool rule_along(const contraction *x, const choice *t); /* lanes along a reduction? */
int64_t rule_width(const choice *t, int axis);          /* how much of the axis a tile covers */
/* Is the axis a reduction over few taps, each of which masks other lanes or moves them by parts of an element, and
 * gains by being written out? border: axis whose tiles with padding are apart, or -1. */
bool rule_writes_out(const contraction *x, const choice *t, int axis, int border);
/* All tiles of the lanes, of that width and number of vectors, have padding: are they few enough to be written out, so
 * that masks are constants? */
bool rule_is_narrow(const contraction *x, const choice *t, int64_t width, int64_t vectors);
/* Cuts so many tiles off either end of a loop of tiles: pf, pm, pl. A few may be written out, so that masks of their
 * lanes are constants. */
void rule_peel_ends(derive *d, const char *tiles, int64_t first, int64_t last, bool write_out);
bool rule_moves(const view *w, const choice *t,
                int axis);                     /* does the view change along the axis within a tile? */
double rule_turns(int64_t extent, int64_t by); /* ceil(extent / by); of a symbolic extent what is usual */

#endif
