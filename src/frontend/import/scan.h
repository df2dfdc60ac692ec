#ifndef TN_FRONTEND_IMPORT_SCAN_H
#define TN_FRONTEND_IMPORT_SCAN_H
/* Sequences that are gone through step by step: what recurrent layers of any format do where no operator does it as a
 * whole. */
#include "frontend/import/convert.h"

enum { IMP_MAX_STATES = 12 };

typedef struct imp_scan {
    tn_value x;    /* [batch, steps, ...] */
    tn_value mask; /* bool [batch, steps]: steps that count; absent: all */
    bool backwards, zero_masked;
    bool collects; /* the results of all steps are wanted */
    size_t n_state;
    tn_value state[IMP_MAX_STATES]; /* at first; then at last */
    /* One step: the next states in place of the states, and the step's result. */
    void (*step)(imp_node *c, const struct imp_scan *s, tn_value x, tn_value state[], tn_value *out);
    const void *user;
    const tn_type *step_type; /* of a step's result */
    /* results */
    tn_value last; /* of the last step */
    tn_value all;  /* [batch, steps, ...], in the order of time */
} imp_scan;

void imp_do_scan(imp_node *c, imp_scan *s);
/* All elements 0, of type t. */
tn_value imp_zeros_of(imp_node *c, const tn_type *t);
/* Turned round along an axis. */
tn_value imp_flip(imp_node *c, tn_value v, int axis);

#endif
