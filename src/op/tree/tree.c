/* Decision trees: for each row, what the leaves it reaches hold, taken together over all trees.
 *
 * Nodes stand in lists. Trees of about one depth are complete (no list of kids): each has a power of two of entries,
 * its nodes level by level and one that is not used, and as many leaves. From node i the way goes to 2 i + 1 where
 * row[feature] <= threshold, else to 2 i + 2; after the last level the number of the leaf is left. In others a step
 * goes to kid[i] or the node after it; a leaf has itself as its kid, an infinite threshold, and NaN counts as -infinity
 * there, so it is never left, and every row takes as many steps as the deepest leaf of the tree needs.
 *
 * A walk down a tree has no branches, so a schedule can take some side by side. Where NaN may count as -infinity, rows
 * are first copied, each feature as it is and beside it with -infinity for NaN, so that a node's code is a place in its
 * row. Sums are of float64. Cost: rows * the sum of depths. */
#include "arith/arith.h"
#include "op/code.h"

#include "op/tree/tree.h"

#include <math.h>
#include <string.h>

enum { ROWS = 0, FEATURE, THRESHOLD, WEIGHT, ROOT, DEPTH, KID, LEAF, OPERANDS };

static bool has(const tn_node *n, int i) { return i < n->nin && tn_in(n, i).def; }

/* A branch reads a column, whatever its number: there has to be one. */
static bool has_columns(tn_graph *g, const tn_expr *columns)
{
    tn_facts facts;
    tn_facts_init(&facts);
    for (uint32_t i = 0; i < g->n_symbol; i++)
        tn_facts_range(&facts, tn_sym(g->pool, g->symbol[i].name), g->symbol[i].min, g->symbol[i].max);
    bool known = tn_prove(g->pool, &facts, tn_le(g->pool, tn_idx(g->pool, 1), columns)) == 1;
    tn_facts_deinit(&facts);
    return known;
}

static tn_status ensemble_infer(tn_graph *g, tn_node *n)
{
    const tn_tree_attr *a = n->attr;
    const tn_type *x, *t, *nodes, *trees, *weight;
    TN_TRY(tn_rule_tensor(g, n, ROWS, 2, &x));
    TN_TRY(tn_rule_float(g, n, ROWS));
    if (!has_columns(g, x->dim[1]))
        return tn_rule_fail(g, n, "op-E096", "operand 0 is %s, whose rows may have no columns",
                            tn_rule_type_text(g, x));
    TN_TRY(tn_rule_tensor(g, n, FEATURE, 1, &nodes));
    TN_TRY(tn_rule_tensor(g, n, ROOT, 1, &trees));
    TN_TRY(tn_rule_tensor(g, n, WEIGHT, 2, &weight));
    TN_TRY(tn_rule_same_dtype(g, n, WEIGHT));
    for (int i = FEATURE; i < n->nin; i++) {
        if (i == WEIGHT || (i >= KID && !has(n, i)))
            continue;
        TN_TRY(tn_rule_tensor(g, n, i, 1, &t));
        if (i == THRESHOLD)
            TN_TRY(tn_rule_same_dtype(g, n, i));
        const tn_type *like = i == ROOT || i == DEPTH ? trees : nodes;
        if ((i != THRESHOLD && !tn_dtype_eq(t->dtype, TN_I32)) || t->dim[0] != like->dim[0] ||
            t->dim[0]->kind != TN_E_INT || tn_is_value(t->dim[0], 0))
            return tn_rule_fail(g, n, "op-E030",
                                "operand %d is %s; lists of int32 of one known length are expected", i,
                                tn_rule_type_text(g, t));
    }
    int64_t n_nodes = nodes->dim[0]->u.i, n_trees = trees->dim[0]->u.i, each = n_nodes / n_trees;
    bool complete = !has(n, KID) && n_nodes % n_trees == 0 && (each & (each - 1)) == 0 && each <= 1 << 20 &&
                    weight->dim[0] == nodes->dim[0];
    bool known = strcmp(a->take, "sum") == 0 || strcmp(a->take, "min") == 0 || strcmp(a->take, "max") == 0;
    if (!known || has(n, KID) != has(n, LEAF) || (has(n, KID) ? !a->missing : !complete) ||
        weight->dim[0]->kind != TN_E_INT || tn_is_value(weight->dim[0], 0) ||
        weight->dim[1]->kind != TN_E_INT)
        return tn_rule_fail(g, n, "op-E095",
                            "take \"%s\", weights %s or lists of kids and leaves do not match", a->take,
                            tn_rule_type_text(g, weight));
    const tn_expr *dim[] = {x->dim[0], weight->dim[1]};
    return tn_rule_result(g, n, 0, x->dtype, 2, dim);
}

typedef struct walk {
    tn_code c;
    tn_tensor *in[OPERANDS], *rows; /* rows: as nodes ask for them */
    const tn_expr *row, *tree;
    int64_t each; /* nodes of a complete tree; 0: kids */
    uint32_t node;
} walk;

/* i where it is an index, else some index: numbers of nodes and columns are compared as unsigned, and round a power
 * of two they only lose bits. */
static const tn_expr *inside(tn_pool *p, const tn_expr *i, const tn_expr *extent)
{
    const tn_dtype whole = TN_DT(TN_UINT, 32);
    int64_t n;
    if (tn_dtype_eq(i->dtype, TN_I32) && tn_is_int(extent, &n) && n > 0 && n <= INT32_MAX)
        return tn_cast(p, TN_IDX,
                       n & (n - 1) ? tn_min(p, tn_cast(p, whole, i), tn_int(p, whole, n - 1))
                                   : tn_bin(p, TN_E_BITAND, i, tn_int(p, TN_I32, n - 1)));
    return tn_max(p, tn_min(p, tn_cast(p, TN_IDX, i), tn_sub(p, extent, tn_idx(p, 1))), tn_idx(p, 0));
}

/* Element i of an operand's list, which the lists themselves keep inside. */
static const tn_expr *entry(const walk *w, int operand, const tn_expr *i)
{
    return tn_at1(w->c.te, w->in[operand], inside(w->c.p, i, w->in[operand]->dim[0]));
}

/* Entry `at` of a complete tree: what is beyond it comes round to its beginning. */
static const tn_expr *place(tn_pool *p, const tn_expr *tree, int64_t each, const tn_expr *at)
{
    at = tn_bin(p, TN_E_BITAND, at, tn_int(p, TN_I32, each - 1));
    return tn_add(p, tn_mul(p, tree, tn_idx(p, each)), tn_cast(p, TN_IDX, at));
}

/* ---- rows ---- */

/* Each feature twice, the second time with -infinity for NaN, and zeros up to a power of two. */
static tn_tensor *rows_twice(tn_te *te, const tn_tensor *x)
{
    tn_pool *p = te->pool;
    const tn_expr *two = tn_idx(p, 2), *dim[] = {x->dim[0], tn_mul(p, x->dim[1], two)}, *end = dim[1];
    int64_t n, width = 2;
    if (tn_is_int(end, &n) && n <= INT32_MAX / 2) {
        while (width < n)
            width *= 2;
        dim[1] = tn_idx(p, width);
    }
    tn_tensor *t = tn_te_new(te, "rows", x->dtype, 2, dim, "row code");
    const tn_expr *row = t->axis[0], *code = t->axis[1], *last = tn_sub(p, x->dim[1], tn_idx(p, 1));
    const tn_expr *v = tn_at2(te, x, row, tn_min(p, tn_fdiv(p, code, two), last));
    const tn_expr *counts = tn_eq(p, tn_fmod(p, code, two), tn_idx(p, 1)),
                  *low = tn_and(p, tn_intrinsic1(p, TN_F_isnan, v), counts);
    tn_te_define(te, t, tn_select(p, low, tn_flt(p, x->dtype, -INFINITY), v));
    return t;
}

/* ---- walks ---- */

/* Is the row at or below the threshold of a node? */
static const tn_expr *goes_left(const walk *w, const tn_expr *at)
{
    tn_te *te = w->c.te;
    const tn_expr *i =
        w->each ? place(w->c.p, w->tree, w->each, at) : inside(w->c.p, at, w->in[FEATURE]->dim[0]);
    const tn_expr *code = tn_at1(te, w->in[FEATURE], i), *threshold = tn_at1(te, w->in[THRESHOLD], i);
    return tn_le(w->c.p, tn_at2(te, w->rows, w->row, inside(w->c.p, code, w->rows->dim[1])), threshold);
}

static void step(walk *w)
{
    tn_pool *p = w->c.p;
    const tn_expr *at = tn_code_get(&w->c, w->node), *one = tn_int(p, TN_I32, 1);
    const tn_expr *next = w->each ? tn_add(p, tn_add(p, at, at), one) : entry(w, KID, at);
    tn_code_set(&w->c, w->node, tn_add(p, next, tn_select(p, goes_left(w, at), tn_int(p, TN_I32, 0), one)));
}

/* Levels of a complete tree, or the depth of another. */
static const tn_expr *steps_of(const walk *w)
{
    int64_t levels = 0;
    while (w->each >> (levels + 1))
        levels++;
    return w->each ? tn_idx(w->c.p, levels) : tn_cast(w->c.p, TN_IDX, entry(w, DEPTH, w->tree));
}

/* For each row and tree the leaf: of complete trees the node that a step after the last would stand on. */
static tn_tensor *find_leaves(walk *w, tn_te *te)
{
    const tn_expr *dim[] = {w->in[ROWS]->dim[0], w->in[ROOT]->dim[0]}, *at[2];
    tn_tensor *leaf = tn_te_new(te, "leaf", TN_I32, 2, dim, "row tree");
    tn_te_extern(te, leaf);
    w->c = (tn_code){te, te->pool, te->func, &leaf->body, "leaf", 0};
    tn_code_each(&w->c, 2, dim, at);
    w->row = at[0];
    w->tree = at[1];
    tn_body *list = w->c.at;
    w->node =
        tn_code_cell(&w->c, "node", w->each ? tn_int(te->pool, TN_I32, 0) : tn_at1(te, w->in[ROOT], w->tree));
    (void)tn_code_for(&w->c, "step", steps_of(w));
    step(w);
    w->c.at = list;
    const tn_expr *node = tn_code_get(&w->c, w->node);
    tn_code_store(&w->c, leaf->buffer, 2, at, w->each ? node : entry(w, LEAF, node));
    return leaf;
}

static tn_tensor *take_together(const walk *w, tn_te *te, const tn_tensor *leaf, const char *take)
{
    tn_pool *p = te->pool;
    const tn_tensor *weight = w->in[WEIGHT];
    const tn_expr *dim[] = {leaf->dim[0], weight->dim[1]}, *first = tn_int(p, TN_I32, w->each - 1);
    tn_tensor *t = tn_te_new(te, "total", TN_F64, 2, dim, "row target");
    const tn_expr *tree = tn_te_reduce_axis(te, t, "tree", leaf->dim[1]);
    const tn_expr *at = tn_at2(te, leaf, t->axis[0], tree);
    at = w->each ? place(p, tree, w->each, tn_sub(p, at, first)) : inside(p, at, weight->dim[0]);
    enum tn_reducer how = take[0] == 's' ? TN_RED_SUM : take[1] == 'i' ? TN_RED_MIN : TN_RED_MAX;
    tn_te_reduce(te, t, how, tn_cast(p, TN_F64, tn_at2(te, weight, at, t->axis[1])), NULL, NULL);
    return t;
}

static void ensemble_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_tree_attr *a = n->attr;
    walk w = {.each = 0};
    for (int i = 0; i < n->nin; i++)
        w.in[i] = in[i];
    w.each = w.in[KID] ? 0 : in[FEATURE]->dim[0]->u.i / in[ROOT]->dim[0]->u.i;
    w.rows = a->missing ? rows_twice(te, in[ROWS]) : in[ROWS];
    const tn_tensor *total = take_together(&w, te, find_leaves(&w, te), a->take);
    out[0] = tn_rule_out(te, n, 0, "tree_ensemble", "elementwise", NULL);
    tn_te_define(te, out[0],
                 tn_cast(te->pool, out[0]->dtype, tn_at2(te, total, out[0]->axis[0], out[0]->axis[1])));
}

/* clang-format off */
static const tn_attr_field tree_fields[] = TN_ATTR_TABLE(tn_tree_attr, TN_TREE_ATTRS);
static const char *const ensemble_in[] = {"rows", "feature", "threshold", "weight", "root", "depth", "kid", "leaf"};

const tn_op tn_op_tree_ensemble = {
    .name = "tree_ensemble", .doc = "For each row what the leaves that it reaches in decision trees hold, together.",
    .attr_size = sizeof(tn_tree_attr), .attr = tree_fields,
    .nin = OPERANDS, .min_in = DEPTH + 1, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = ensemble_in,
    .infer = ensemble_infer, .body = ensemble_body,
};
/* clang-format on */
