#ifndef TN_FRONTEND_IMPORT_BLOCKS_H
#define TN_FRONTEND_IMPORT_BLOCKS_H
/* Blocks of dimensions [axis, axis + n) as elements of the batch, dimension 0, and back: the place in a block comes
 * before the element of the batch. */
#include "frontend/import/convert.h"

typedef struct imp_blocks {
    int axis;
    tn_ints size;   /* of a block, 1 to 3 numbers */
    tn_dims edges;  /* before and after each dimension */
    double outside; /* what is there */
} imp_blocks;

/* Data with edges around, cut into blocks. */
tn_value imp_space_to_batch(imp_node *c, tn_value x, const imp_blocks *b);
/* The blocks side by side, without the edges. */
tn_value imp_batch_to_space(imp_node *c, tn_value x, const imp_blocks *b);

#endif
