#ifndef TN_OP_CODE_H
#define TN_OP_CODE_H
/* Statements of irregular operators (records with a body), written from the outside in: a cursor stands in
 * the list that is being written, loops and conditions move it inside. For record files of op/ only. */
#include "op/rule.h"

typedef struct tn_code {
    tn_te *te;
    tn_pool *p;
    tn_func *f;
    tn_body *at;      /* where the next statement goes */
    const char *name; /* of the operator, for blocks and buffers */
    int n_block;      /* that were opened */
} tn_code;

/* Opens output `out` of the node as an extern tensor *t and stands at the beginning of its body. */
tn_code tn_code_open(tn_te *te, const tn_node *n, int out, const char *name, tn_tensor **t);
/* Another output that the body of `first` defines. */
tn_tensor *tn_code_output(tn_te *te, const tn_node *n, int out, const char *name, const tn_tensor *first);
/* A loop from 0 to extent; the cursor moves in. */
const tn_expr *tn_code_for(tn_code *c, const char *name, const tn_expr *extent);
/* Loops over n extents in order; the variables. */
void tn_code_loops(tn_code *c, int n, const tn_expr *const extent[], const tn_expr *var[]);
/* The same in any order: a block, which schedules cut into tasks. The cursor moves into it. */
void tn_code_each(tn_code *c, int n, const tn_expr *const extent[], const tn_expr *var[]);
/* `if cond`; the cursor moves in. */
void tn_code_if(tn_code *c, const tn_expr *cond);
/* A loop whose turns run in any order, inside of another: schedules may make vectors of them. */
const tn_expr *tn_code_spread(tn_code *c, const char *name, const tn_expr *extent);
/* A loop whose turns combine into one cell in any order: the body is cell = cell op term. */
const tn_expr *tn_code_combine(tn_code *c, const char *name, const tn_expr *extent);
/* A value with a name. */
const tn_expr *tn_code_let(tn_code *c, const char *name, const tn_expr *value);
void tn_code_check(tn_code *c, const tn_expr *cond, const char *text);
/* Memory of the call, or of a task (register: constant extents and indices). */
uint32_t tn_code_buffer(tn_code *c, const char *name, tn_dtype t, int n, const tn_expr *const dim[],
                        enum tn_scope scope);
const tn_expr *tn_code_load(tn_code *c, uint32_t buffer, int n, const tn_expr *const index[]);
void tn_code_store(tn_code *c, uint32_t buffer, int n, const tn_expr *const index[], const tn_expr *value);
/* One element in a register, with its first value; reading and setting it. */
uint32_t tn_code_cell(tn_code *c, const char *name, const tn_expr *value);
const tn_expr *tn_code_get(tn_code *c, uint32_t cell);
void tn_code_set(tn_code *c, uint32_t cell, const tn_expr *value);
/* Elements of t from `value` over its axes, as a block that schedules know. */
void tn_code_fill(tn_code *c, const tn_tensor *t, const tn_expr *value);

#endif
