#ifndef TN_FRONTEND_TFLITE_REDUCTION_H
#define TN_FRONTEND_TFLITE_REDUCTION_H
/* Graphs of the model that join two numbers to one, as reductions, windows and scatters of StableHLO name them. */
#include "frontend/tflite/tflite.h"

typedef struct tfl_reduction {
    const char *op;      /* the operator of the graph */
    const tn_op *binary; /* of two tensors */
    const tn_op *reduce; /* along axes */
    const char *scatter; /* as scatter_nd calls it */
    bool keeps_new;      /* the graph gives its second operand: no operator */
} tfl_reduction;

/* What graph `which` does; NULL: reported. */
const tfl_reduction *tfl_reduction_of(imp_node *c, int64_t which);

#endif
