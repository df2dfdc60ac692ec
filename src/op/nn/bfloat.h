#ifndef TN_OP_NN_BFLOAT_H
#define TN_OP_NN_BFLOAT_H
/* nn.dense of float32 by products of bfloat16 (bfloat.c). */
#include "op/rule.h"

bool nn_bfloat_applies(const tn_node *n, const struct tn_machine *m);
bool nn_bfloat_pays(const tn_node *n, const struct tn_machine *m);
tn_status nn_dense_by_bfloat(tn_graph *g, tn_node *n, tn_value out[]);

#endif
