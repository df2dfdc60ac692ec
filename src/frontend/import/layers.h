#ifndef TN_FRONTEND_IMPORT_LAYERS_H
#define TN_FRONTEND_IMPORT_LAYERS_H
/* Layers with windows over data with the channels first ([n,c,w], [n,c,h,w], [n,c,d,h,w]), and others that several
 * formats write in the same way. As the helpers of convert.h, each gives an absent value after a failure. */
#include "frontend/import/matrix.h"
#include "frontend/import/window.h"

typedef struct imp_layer { /* a window in numbers, one entry a spatial dimension */
    int dims;
    int64_t kernel[IMP_MAX_SPATIAL], stride[IMP_MAX_SPATIAL], dilation[IMP_MAX_SPATIAL];
    int64_t before[IMP_MAX_SPATIAL], after[IMP_MAX_SPATIAL]; /* padding */
    int64_t more[IMP_MAX_SPATIAL]; /* transposed: more results after each dimension */
    int64_t groups;
    bool ceil_mode;         /* pooling: a last, partial window counts */
    bool count_include_pad; /* average: padding counts as elements */
} imp_layer;

/* Steps and groups of 1, no padding; the rank of x says how many dimensions. false: x has another rank, reported. */
bool imp_layer_init(imp_node *c, tn_value x, imp_layer *w);
/* `list` for each spatial dimension: none keeps `out`, one entry is for all. Refused: another number, below `least`. */
void imp_layer_list(imp_node *c, const imp_layer *w, const char *name, tn_ints list, int64_t least,
                    int64_t out[]);
/* weight [o,i/groups,..]; bias may be absent. The weight says the window. Of 8-bit numbers: int32 sums, as bias is. */
tn_value imp_layer_conv(imp_node *c, tn_value x, tn_value weight, tn_value bias, const imp_layer *w);
/* weight [i,o/groups,..] */
tn_value imp_layer_conv_transpose(imp_node *c, tn_value x, tn_value weight, tn_value bias,
                                  const imp_layer *w);
tn_value imp_layer_pool(imp_node *c, enum imp_pool_kind kind, tn_value x, const imp_layer *w);
/* Over all spatial dimensions, which stay with extent 1 if `keep`; op: sum, mean, max. */
tn_value imp_layer_global(imp_node *c, const tn_op *op, tn_value x, bool keep);
tn_value imp_bias_add(imp_node *c, tn_value x, tn_value bias, int64_t axis); /* x itself without a bias */
/* y = x W^T + b; weight [units,in]; of 8-bit numbers: int32 sums, as b is */
tn_value imp_layer_dense(imp_node *c, tn_value x, tn_value weight, tn_value bias);
/* x as a matrix: what is before `axis`, and the rest. */
tn_value imp_flatten(imp_node *c, tn_value x, int axis);
tn_value imp_softmax(imp_node *c, const tn_op *op, tn_value x, int64_t axis);
/* in: data, gamma, beta, mean, variance */
tn_value imp_batch_norm(imp_node *c, const tn_value in[5], int64_t axis, double epsilon);
/* v [n] in the place of dimension `axis` of `rank`, the others 1. */
tn_value imp_along(imp_node *c, tn_value v, int axis, int rank);
/* Rows and columns of an image; method "nearest_neighbor" or "linear", mode as of image.resize2d. */
tn_value imp_resize2d(imp_node *c, tn_value x, const tn_expr *h, const tn_expr *w, const char *method,
                      const char *mode);

#endif
