#ifndef TN_FRONTEND_IMPORT_LOOP_H
#define TN_FRONTEND_IMPORT_LOOP_H
/* Loops and branches of models, of any format: the nodes that hold regions, and the types of what a loop carries. */
#include "frontend/import/convert.h"

/* What a name stands for now, inside of blocks or after them. Absent: reported, but for what failed before. */
tn_value imp_value_of(imp_node *c, tn_bytes name);
/* Blocks inside of blocks: asked before one is read. true: too many, which is reported, or c has failed. */
bool imp_too_deep(imp_node *c);

typedef struct imp_loop {
    uint32_t n;      /* carried values */
    tn_value *first; /* before the first iteration; `again` may change them */
    /* An iteration: computes `next` and `go`, a bool of rank 0, from `inner`, where im->r is the body's region. It may
     * be called several times, as types of carried values become wider. */
    void (*body)(imp_node *c, struct imp_loop *l);
    /* NULL, or: after a body, changes what the loop begins with; true: the body is to be converted anew. */
    bool (*again)(imp_node *c, struct imp_loop *l);
    void *user;
    tn_value trip; /* int64, rank 0: no more iterations than that; absent: no limit */
    uint32_t
        n_collect; /* rows: tensors that each iteration gives, put together along a new first dimension */
    const tn_expr *steps; /* how many rows there will be, or NULL: the run finds out */
    /* set here */
    tn_value *inner, *next, go, *collected; /* the last: rows, set by `body` */
    const tn_type **type;
    tn_region *r;
    uint32_t n_symbol; /* symbols that there were before the body */
} imp_loop;

/* while (go) ...; out: n values, then what is collected. false: reported. */
bool imp_make_loop(imp_node *c, imp_loop *l, tn_value go, tn_value out[]);
bool imp_is_of_body(imp_node *c, const imp_loop *l, const tn_expr *e); /* does the body find out what e is? */

typedef struct imp_branches {
    tn_value condition; /* bool, of rank 0 */
    size_t n;           /* results */
    /* The results of the branch that is taken where the condition is `side`; im->r is its region. */
    void (*branch)(imp_node *c, struct imp_branches *b, bool side, tn_value out[]);
    void *user;
} imp_branches;

/* A condition that is known is its branch, where c stands. false: reported. */
bool imp_make_if(imp_node *c, imp_branches *b, tn_value out[]);
tn_value imp_bool_scalar(imp_node *c, tn_value v);

#endif
