#ifndef TN_TRANSFORM_ALTER_H
#define TN_TRANSFORM_ALTER_H
/* What AlterOpLayout and ConvertLayout share: one walk that asks operators for layouts and puts relayouts where a value
 * has another. */
#include "transform/pass.h"

/* Fills what the question says beside what the inputs have. false: the node is not asked, its values are row-major. */
typedef bool tn_alter_ask(const tn_pass *p, const tn_node *n, tn_layout_query *q);
/* chooses: picks are asked for. */
TN_WARN_UNUSED tn_status tn_alter_layouts(tn_pass *p, tn_graph *g, tn_alter_ask *ask, bool chooses);

#endif
