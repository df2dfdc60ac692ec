#ifndef TN_TRANSFORM_MOVED_H
#define TN_TRANSFORM_MOVED_H
/* Where the elements of one value, the base, lie in what is computed of it element by element, and moved: in the
 * transpose of a reshape of its sum with another tensor, say. Scratch of a pass. */
#include "arith/arith.h"
#include "op/op.h"

typedef struct tn_moved {
    tn_pool *pool;
    tn_arena *arena;
    tn_facts facts; /* axes of the base, each in its dimension */
    tn_value base;
    const tn_expr *const *axis;
    tn_map of; /* node id -> indices in its result */
} tn_moved;

/* May what is computed of n's result be defined over its axes? n has one result, and says it by tensor expressions. */
bool tn_moved_base(const tn_node *n);
/* axis[]: indices in the base. The caller may add facts about their variables to m->facts. */
void tn_moved_init(tn_moved *m, tn_pool *pool, tn_arena *arena, tn_value base, const tn_expr *const axis[]);
void tn_moved_deinit(tn_moved *m);
/* n, of which operands have been added that are computed of the base. false: a result of it needs other elements of the
 * base than one, or it is not known which. */
bool tn_moved_add(tn_moved *m, const tn_node *n);
/* The indices in v of what is computed of the base's element at `axis`; NULL: v is not computed of the base. They are
 * `axis` itself where nothing moves it. */
const tn_expr *const *tn_moved_at(const tn_moved *m, tn_value v);

#endif
