#ifndef TN_FRONTEND_ONNX_FLOW_H
#define TN_FRONTEND_ONNX_FLOW_H
/* What If, Loop and Scan share: the loop node and the body in it. */
#include "frontend/onnx/onnx.h"
#include "op/control/control.h"

enum { ONNX_MAX_BODY = 512 }; /* results */

/* What a value may be whose rank only the run knows: a type for each rank, NULL: never of this one. Extents
 * that differ are `?` (ranks.c). */
typedef struct onnx_ranks {
    const tn_type *of[IMP_MAX_RANK + 1];
} onnx_ranks;

/* A loop that is being made. in, out and ranks have room for what it carries besides where it collects texts. */
typedef struct onnx_loop {
    const onnx_graph *g; /* its body */
    tn_region *r;
    tn_value *in, *inner, *out; /* operands of the loop; what it gives its body; what the body gives */
    const tn_type **carried;    /* n_carried: types of the parameters */
    onnx_ranks *ranks;          /* n_carried: ... of those of several ranks */
    uint32_t n_carried, n_out, n_symbol; /* n_symbol: symbols that there were before the body */
    void (*body)(imp_node *c,
                 struct onnx_loop *b); /* nodes of an iteration; n_out is as many as the graph has */
    const void *user;                  /* of body */
    /* Of what is collected: where it goes, and which way; NULL: in front, onward. The node heeds them where
     * only the run knows the rank (collect.c). */
    const int64_t *axis, *backward;
} onnx_loop;

/* trip: int64, rank 0; go: bool. */
onnx_loop onnx_begin_loop(imp_node *c, const onnx_graph *g, tn_value trip, tn_value go, uint32_t n_carried,
                          const tn_value carried[]);
void onnx_settle_loop(imp_node *c, onnx_loop *b);
bool onnx_is_inside(imp_node *c, const onnx_loop *b,
                    const tn_expr *e); /* does the body find out what e is? */
/* The node, after which b is done. result: carried values, then what is collected. */
void onnx_loop_node(imp_node *c, onnx_loop *b, const tn_loop_attr *attr, tn_value result[]);

/* What was reported, taken back, and kept while something else was tried. */
void onnx_report_again(tn_ctx *ctx, const tn_diag *kept, size_t n);
/* Where the rank of c's results depends on whether dimension d of x is n: c, and what follows, is converted for both,
 * and the run decides. Then c is done. In each of the two onnx_extent_is tells. */
void onnx_fork(imp_node *c, tn_value x, int d, int64_t n);
int onnx_extent_is(imp_node *c, const tn_expr *extent, int64_t n); /* -1: only the run knows */

bool onnx_ranks_of(imp_node *c, tn_value v, onnx_ranks *out); /* false: nothing is known */
/* The same, but all ranks then. */
bool onnx_all_ranks_of(imp_node *c, tn_value v, onnx_ranks *out);
bool onnx_is_limited(const onnx_ranks *r); /* is anything known? */
/* true: r has become wider. */
bool onnx_add_rank(imp_node *c, onnx_ranks *r, const tn_type *t);
bool onnx_add_ranks(imp_node *c, onnx_ranks *r, const onnx_ranks *more);
/* each: of each result of n, in the graph's arena. */
void onnx_note_ranks(imp_node *c, tn_node *n, const onnx_ranks *each);
tn_value onnx_with_rank(imp_node *c, tn_value v, const tn_type *t);
/* As onnx_fork, by the rank of v. any: r is all ranks, of which the model does not say which there are. */
void onnx_fork_rank(imp_node *c, tn_value v, const onnx_ranks *r, bool any);
/* Operand i is a list whose length, `least` to `most`, decides about ranks: in what follows it is known, as imp_length
 * of the operand says. false: c is done, by a fork, or has failed. */
bool onnx_fix_length(imp_node *c, uint32_t i, int least, int most);
tn_value onnx_bool_scalar(imp_node *c, tn_value v); /* a condition: one bool, of any rank */
bool onnx_is_long(const onnx_graph *g, int64_t n);  /* are n iterations too many to write them all down? */
tn_value onnx_zeros(imp_node *c, tn_dtype t, tn_dims shape); /* of texts: empty ones */
/* What n iterations gave, one after the other (or the last first) along a new axis. */
tn_value onnx_stacked(imp_node *c, const tn_value *v, int64_t n, size_t stride, int64_t axis, bool backward);

#endif
