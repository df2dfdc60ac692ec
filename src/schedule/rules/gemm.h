#ifndef TN_SCHEDULE_RULES_GEMM_H
#define TN_SCHEDULE_RULES_GEMM_H
/* A product of matrices while its loops are made. Private to rule gemm. */
#include "schedule/rules/derive.h"

/* The tiles of a unit: their sides and the terms of a step; and what the machine holds of them. */
typedef struct {
    const char *unit; /* NULL: the machine multiplies none for the product's types */
    int64_t rows, columns, terms;
    tn_tiles on;
} tiles;

/* Where weights are computed that a block before the product makes of something else: all of them before it; those of a
 * task in the task, once for all its rows; each vector in the tile that reads it. */
enum made { MADE_BEFORE, MADE_IN_TASK, MADE_IN_TILE };

typedef struct {
    const char *block;
    int n, row;               /* spatial loops; which of them is the rows, -1: none (a vector of outputs) */
    int64_t rows, columns, k; /* -1: symbolic */
    int64_t panel;            /* columns beside each other in memory: 0: all, -1: not contiguous */
    bool filled;              /* what the last of these has beyond the columns is 0, and may be read */
    int64_t group;            /* of k that one step sums, or 1 */
    const char *unit;         /* that sums it; NULL: none */
    tiles tiles;
    uint16_t lanes;
    uint32_t bytes;     /* of an accumulator */
    const char *weight; /* the operand with the columns */
    const char *name[TN_MAX_LOOPS];
    bool converts; /* operands are of another type than the sums */
    bool passes;   /* as of its product; by the default order of loops */
    bool columns_outside, fetches_ahead;
    int64_t matrices;     /* of weights: 1 where all of a batch share one, or only the run knows */
    bool is_input;        /* the weight */
    const char *maker;    /* the block that makes it; NULL: none that the product could */
    int64_t period;       /* of quotients of columns by which that reads; 1: of none */
    double source_bytes;  /* of what that reads */
    int64_t share;        /* steps of the reduction that share what else it reads; 1: each has its own */
    enum made made;       /* where */
    int64_t task_columns; /* of a task that makes weights */
    int64_t turns;        /* tiles of rows in it; 0: all */
} gemm;

/* Loops that are neither rows, columns nor reduction: each value is another product. */
const char *rule_batch_loops(derive *d, const gemm *g);
/* The product as the model of a register tile sees it. */
product rule_product_of(const gemm *g);

/* The tiles that the machine multiplies for block b. */
tiles rule_tiles_of(const derive *d, const tn_stmt *b, const gemm *g);
bool rule_tiles_are_faster(const derive *d, const gemm *g); /* than lanes, by the model */
void rule_tiles(derive *d, const gemm *g);

/* Finds out what makes the weights of block b, which `load` reads with the columns at dimension dim (gemm_made.c). */
void rule_find_maker(const derive *d, const tn_stmt *b, const tn_expr *load, int dim, gemm *g);
/* Where they are made, by the model. */
enum made rule_best_made(const derive *d, const gemm *g);
/* The tile where weights are made there; of_rows > 0: of those with so many rows. */
tile rule_made_tile(const derive *d, const gemm *g, int of_rows);
/* Asks where weights are made; and what a task is that makes them. */
void rule_pick_made(derive *d, gemm *g);
void rule_pick_task(derive *d, gemm *g, const tile *t);
/* Moves the nest that makes the weights into the task. */
void rule_make_weights(derive *d, const gemm *g);

#endif
