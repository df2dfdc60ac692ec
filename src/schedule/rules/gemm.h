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
} gemm;

/* Loops that are neither rows, columns nor reduction: each value is another product. */
const char *rule_batch_loops(derive *d, const gemm *g);
/* The product as the model of a register tile sees it. */
product rule_product_of(const gemm *g);

/* The tiles that the machine multiplies for block b. */
tiles rule_tiles_of(const derive *d, const tn_stmt *b, const gemm *g);
bool rule_tiles_are_faster(const derive *d, const gemm *g); /* than lanes, by the model */
void rule_tiles(derive *d, const gemm *g);

#endif
