#ifndef TN_FRONTEND_PYTORCH_FLOW_H
#define TN_FRONTEND_PYTORCH_FLOW_H
/* What conditions (flow.c) and loops (loop.c) share: what code changes, and values that become results. */
#include "frontend/pytorch/pytorch.h"

typedef struct pt_change {
    pt_cell *cell;
    pt_value v[2];
} pt_change;

typedef tn_vec(pt_change) pt_changes;

typedef struct pt_slot { /* a result of the `if`, or a value that a loop carries */
    tn_value v[2];
    pt_value *into; /* what is filled in: a VALUE, TENSOR or NUMBER */
} pt_slot;

typedef struct pt_joined_list {
    pt_list *of[2], *v;
} pt_joined_list;

typedef struct pt_joining {
    pt_import *p;
    tn_region *r[2];
    tn_vec(pt_slot) slots;
    tn_vec(pt_tensor *) tensors; /* that were joined */
    tn_vec(pt_joined_list) lists;
    pt_tensor **stale[2]; /* that changes in each make so */
    size_t n_stale[2];
    const pt_changes *list; /* what the branches change; NULL: nothing */
    uint32_t number;        /* of the condition */
    bool bad;
} pt_joining;

static inline bool pt_is_number(pt_value v)
{
    return v.kind == PT_INT || v.kind == PT_FLOAT || v.kind == PT_BOOL || v.kind == PT_NUMBER;
}

static inline enum pt_kind pt_kind_of(pt_value v) { return v.kind == PT_NUMBER ? v.number->kind : v.kind; }

/* A value of the form of `like`, in place of one that is uninitialized: `like` itself, unless region `in` makes it and
 * it cannot be used where the run is (uninitialized.c). */
pt_value pt_stand_in(pt_import *p, pt_value like, const tn_region *in);
bool pt_has_checks(const tn_region *r); /* may a run end in the region? */
void pt_add_slot(pt_joining *j, tn_value a, tn_value b, pt_value *into);
/* What the run has changed since `mark`, when `born` tensors were there, undone; into v[k] of the list. */
void pt_collect(pt_import *p, size_t mark, uint32_t born, int k, pt_changes *list);

#endif
