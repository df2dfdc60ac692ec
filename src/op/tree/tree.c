/* Decision trees: the leaf that each row reaches in each tree.
 *
 * All nodes of all trees stand in lists. A step from node v goes to kid[v] where row[feature] <= threshold[v], else to
 * the node after it, kid[v] + 1. feature[v] is twice the feature, plus 1 where NaN counts as below the threshold. A
 * leaf has itself as its kid, an infinite threshold and that 1, so it is never left and every row takes as many steps
 * as the deepest leaf of the tree needs: no branches, and vectors of rows go down a tree together. Cost: rows * the sum
 * of the depths. */
#include "op/code.h"

#include "op/tree/tree.h"

enum { ROWS = 0, FEATURE, THRESHOLD, KID, LEAF, ROOT, DEPTH, OPERANDS, LANES = 32 };

static tn_status leaves_infer(tn_graph *g, tn_node *n)
{
    const tn_type *x, *t, *nodes, *trees;
    TN_TRY(tn_rule_tensor(g, n, ROWS, 2, &x));
    TN_TRY(tn_rule_float(g, n, ROWS));
    TN_TRY(tn_rule_tensor(g, n, FEATURE, 1, &nodes));
    TN_TRY(tn_rule_tensor(g, n, ROOT, 1, &trees));
    for (int i = FEATURE; i < OPERANDS; i++) {
        TN_TRY(tn_rule_tensor(g, n, i, 1, &t));
        if (i == THRESHOLD)
            TN_TRY(tn_rule_same_dtype(g, n, i));
        const tn_type *like = i < ROOT ? nodes : trees;
        if ((i != THRESHOLD && !tn_dtype_eq(t->dtype, TN_I32)) || t->dim[0] != like->dim[0] ||
            t->dim[0]->kind != TN_E_INT || tn_is_value(t->dim[0], 0))
            return tn_rule_fail(g, n, "op-E030",
                                "operand %d is %s; lists of int32 of one known length are expected", i,
                                tn_rule_type_text(g, t));
    }
    const tn_expr *dim[] = {x->dim[0], trees->dim[0]};
    return tn_rule_result(g, n, 0, TN_I32, 2, dim);
}

typedef struct walk {
    tn_code c;
    tn_tensor *const *in, *out;
    const tn_expr *first, *tree; /* row of lane 0 */
    uint32_t node;
    int lanes;
} walk;

static const tn_expr *lane_loop(walk *w)
{
    const tn_expr *l = tn_func_add_var(w->c.f, "l", TN_IDX);
    tn_stmt *s = tn_stmt_for(w->c.f, l, tn_idx(w->c.p, w->lanes), TN_LOOP_VECTOR);
    tn_body_append(w->c.at, s);
    w->c.at = &s->u.loop.body;
    return l;
}

/* Element i of an operand's list, which the lists themselves keep inside. */
static const tn_expr *entry(walk *w, int operand, const tn_expr *i)
{
    const tn_tensor *t = w->in[operand];
    tn_pool *p = w->c.p;
    i = tn_max(p, tn_min(p, tn_cast(p, TN_IDX, i), tn_sub(p, t->dim[0], tn_idx(p, 1))), tn_idx(p, 0));
    return tn_at1(w->c.te, t, i);
}

static void step(walk *w)
{
    tn_pool *p = w->c.p;
    const tn_expr *l = lane_loop(w), *last = tn_idx(p, 1);
    const tn_tensor *x = w->in[ROWS];
    const tn_expr *node = tn_code_load(&w->c, w->node, 1, &l);
    const tn_expr *code = entry(w, FEATURE, node);
    const tn_expr *row = tn_min(p, tn_add(p, w->first, l), tn_sub(p, x->dim[0], last)),
                  *column = tn_fdiv(p, tn_cast(p, TN_IDX, code), tn_idx(p, 2));
    column = tn_max(p, tn_min(p, column, tn_sub(p, x->dim[1], last)), tn_idx(p, 0));
    const tn_expr *v = tn_at2(w->c.te, x, row, column);
    const tn_expr *nan = tn_and(p, tn_intrinsic1(p, TN_F_isnan, v),
                                tn_eq(p, tn_fmod(p, tn_cast(p, TN_IDX, code), tn_idx(p, 2)), tn_idx(p, 1)));
    const tn_expr *below = tn_bin(p, TN_E_OR, tn_le(p, v, entry(w, THRESHOLD, node)), nan);
    const tn_expr *zero = tn_int(p, TN_I32, 0), *one = tn_int(p, TN_I32, 1);
    tn_code_store(&w->c, w->node, 1, &l, tn_add(p, entry(w, KID, node), tn_select(p, below, zero, one)));
}

static void leaves_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    walk w = {.in = in, .lanes = LANES};
    tn_pool *p = te->pool;
    int64_t rows;
    while (w.lanes > 1 && tn_is_int(in[ROWS]->dim[0], &rows) && w.lanes / 2 >= rows)
        w.lanes /= 2;
    const tn_expr *lanes = tn_idx(p, w.lanes);
    w.c = tn_code_open(te, n, 0, "tree_leaves", &w.out);
    out[0] = w.out;
    w.first = tn_mul(p, tn_code_parallel(&w.c, "rows", tn_ceildiv(p, in[ROWS]->dim[0], w.lanes)), lanes);
    w.tree = tn_code_for(&w.c, "tree", in[ROOT]->dim[0]);
    w.node = tn_code_buffer(&w.c, "node", TN_I32, 1, &lanes, TN_SCOPE_LOCAL);
    tn_body *back = w.c.at;
    const tn_expr *l = lane_loop(&w);
    tn_code_store(&w.c, w.node, 1, &l, tn_at1(te, in[ROOT], w.tree));
    w.c.at = back;
    (void)tn_code_for(&w.c, "step", tn_cast(p, TN_IDX, tn_at1(te, in[DEPTH], w.tree)));
    step(&w);
    w.c.at = back;
    l = tn_code_for(&w.c, "l", lanes);
    const tn_expr *at[] = {tn_add(p, w.first, l), w.tree};
    tn_code_if(&w.c, tn_lt(p, at[0], in[ROWS]->dim[0]));
    tn_code_store(&w.c, w.out->buffer, 2, at, entry(&w, LEAF, tn_code_load(&w.c, w.node, 1, &l)));
}

/* clang-format off */
static const char *const leaves_in[] = {"rows", "feature", "threshold", "kid", "leaf", "root", "depth"};

const tn_op tn_op_tree_leaves = {
    .name = "tree_leaves", .doc = "The leaf that each row reaches in each decision tree.",
    .nin = OPERANDS, .min_in = OPERANDS, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = leaves_in,
    .infer = leaves_infer, .body = leaves_body,
};
/* clang-format on */
