#ifndef TN_SCHEDULE_TILING_H
#define TN_SCHEDULE_TILING_H
/* Tile sizes that another compiler found for a reduction, and which numbers of choices are near them here. Nobody knows
 * which loop there is which one here, as layouts and operators differ; but they are the same iterations, so extents
 * say it. */
#include "machine/machine.h"
#include "tir/tir.h"

enum { TN_TILING_AXES = 16, TN_TILING_OPERANDS = 6, TN_TILING_SUMS = 8 };

typedef struct tn_operand {
    const char *dtype; /* "float32" */
    int64_t elements;  /* -1: symbolic */
} tn_operand;

/* A loop in levels. */
typedef struct tn_tiling_axis {
    int64_t extent;
    bool reduces;
    /* Factors, from the innermost one outwards: of SSRSRS those of S3, S2 and S1, or of R1. 0: there is no
     * such level. */
    int64_t inner, middle, outer; /* inner: with what a unit of the machine takes */
} tn_tiling_axis;

typedef struct tn_tiling {
    uint32_t n;
    tn_tiling_axis axis[TN_TILING_AXES]; /* outermost first */
    uint32_t n_operand;                  /* of the function that it is of, results too; 0: not known */
    const tn_operand *operand;
    /* Of a sum in parts, how many parts each result has. Its only axis is all of the reduction, without levels; how
     * many results there are is not known. 0: it is in tiles. */
    int64_t parts;
    bool interleaved; /* each part has every so many'th term, else terms that follow each other */
} tn_tiling;

/* Any reduction of a function. */
typedef struct tn_summed_loops {
    int64_t terms;  /* of a result; -1: symbolic */
    int lanes_axis; /* of the reduction, where vectors run along one; -1: they do not */
    uint16_t lanes;
    bool is_tiled; /* it is the one that is put into tiles */
    int n_operand; /* -1: too many */
    tn_operand operand[TN_TILING_OPERANDS];
} tn_summed_loops;

/* The loops of the reduction of a function that schedules put into tiles, as the picks of sketches number them, and all
 * reductions. */
typedef struct tn_tiled_loops {
    int n_spatial, n;               /* 0: no reduction is put into tiles */
    int64_t extent[TN_TILING_AXES]; /* -1: symbolic */
    int lanes_axis;                 /* whose elements lie beside each other */
    uint32_t rows;                  /* bits of the axes along which what moves with the lanes is used again */
    uint16_t lanes;
    int n_operand;
    tn_operand operand[TN_TILING_OPERANDS];
    int n_sum;
    tn_summed_loops sum[TN_TILING_SUMS];
} tn_tiled_loops;
/* False: there is no reduction. */
bool tn_tiled_loops_read(const tn_func *f, const tn_machine *m, tn_arena *arena, tn_pool *pool,
                         tn_tiled_loops *out);

typedef struct tn_tiling_fit {
    int strange; /* operands of whose size the tiling has none */
    uint32_t n;
    const struct tn_wish *wish; /* of roles of the built-in rules and of sketches */
} tn_tiling_fit;
/* False: the loops are not those of the tiling, or it has no operands of these types; for a sum in parts, of these
 * sizes. Cost: a bounded search. */
bool tn_tiling_fits(const tn_tiled_loops *x, const tn_tiling *t, tn_arena *arena, tn_tiling_fit *out);

#endif
