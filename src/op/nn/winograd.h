#ifndef TN_OP_NN_WINOGRAD_H
#define TN_OP_NN_WINOGRAD_H
/* nn.conv2d of windows of 3 x 3 by Winograd's minimal filtering (winograd.c): alternatives whose tiles have 2 x 2 and
 * 4 x 4 results. */
#include "op/rule.h"

bool nn_winograd_2x2_applies(const tn_node *n, const struct tn_machine *m);
bool nn_winograd_4x4_applies(const tn_node *n, const struct tn_machine *m);
bool nn_winograd_2x2_pays(const tn_node *n, const struct tn_machine *m);
bool nn_winograd_4x4_pays(const tn_node *n, const struct tn_machine *m);
tn_status nn_conv2d_by_2x2(tn_graph *g, tn_node *n, tn_value out[]);
tn_status nn_conv2d_by_4x4(tn_graph *g, tn_node *n, tn_value out[]);

#endif
