/* Decision trees: for each row, what the leaves it reaches hold, taken together over all trees.
 *
 * Nodes stand in lists. Trees of about one depth are complete (no list of kids): each has a power of two of entries,
 * its nodes level by level and one that is not used, and as many leaves. From node i the way goes to 2 i + 1 where
 * row[feature] <= threshold, else to 2 i + 2; after `depth` steps the number of the leaf is left. In others a step goes
 * to kid[i] or the node after it; a leaf has itself as its kid, an infinite threshold, and NaN counts as below there,
 * so it is never left, and every row takes as many steps as the deepest leaf of the tree needs.
 *
 * There are no branches: LANES walks, of neighbouring rows in one tree, or of neighbouring trees for few rows, take
 * their steps in turn, so that each hides the others' loads. A task is a block of rows; it goes through the trees one
 * by one, so that a tree comes from memory once for many rows. Sums are of float64. Cost: rows * the sum of depths. */
#include "arith/arith.h"
#include "op/code.h"

#include "op/tree/tree.h"

#include <math.h>
#include <string.h>

enum { ROWS = 0, FEATURE, THRESHOLD, WEIGHT, ROOT, DEPTH, KID, LEAF, OPERANDS };
enum { LANES = 8, BLOCK = 128, FEW_ROWS = 4 };

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
    tn_tensor *in[OPERANDS], *out;
    char take; /* s, i, a */
    bool missing;
    int64_t each;                      /* nodes of a complete tree; 0: kids */
    bool by_trees;                     /* lanes are trees */
    const tn_expr *first, *row, *tree; /* of the block; of lane 0 */
    uint32_t node, sum;                /* [LANES]; [BLOCK, targets] */
} walk;

static const tn_expr *number(walk *w, int64_t n) { return tn_idx(w->c.p, n); }

static const tn_expr *lane_loop(walk *w)
{
    const tn_expr *l = tn_func_add_var(w->c.f, "l", TN_IDX);
    tn_stmt *s = tn_stmt_for(w->c.f, l, number(w, LANES), TN_LOOP_UNROLLED);
    tn_body_append(w->c.at, s);
    w->c.at = &s->u.loop.body;
    return l;
}

static const tn_expr *inside(walk *w, const tn_expr *i, const tn_expr *extent)
{
    tn_pool *p = w->c.p;
    return tn_max(p, tn_min(p, tn_cast(p, TN_IDX, i), tn_sub(p, extent, number(w, 1))), number(w, 0));
}

/* Element i of an operand's list, which the lists themselves keep inside. */
static const tn_expr *entry(walk *w, int operand, const tn_expr *i)
{
    return tn_at1(w->c.te, w->in[operand], inside(w, i, w->in[operand]->dim[0]));
}

/* The row and the tree of lane l, the last one where there are no more. */
static const tn_expr *row_of(walk *w, const tn_expr *l)
{
    const tn_expr *row = w->by_trees ? w->row : tn_add(w->c.p, w->row, l);
    return inside(w, row, w->in[ROWS]->dim[0]);
}

static const tn_expr *tree_of(walk *w, const tn_expr *l)
{
    return w->by_trees ? inside(w, tn_add(w->c.p, w->tree, l), w->in[ROOT]->dim[0]) : w->tree;
}

/* Entry `at` of a lane's complete tree: what is beyond it comes round to its beginning. */
static const tn_expr *place(walk *w, const tn_expr *l, const tn_expr *at)
{
    tn_pool *p = w->c.p;
    at = tn_bin(p, TN_E_BITAND, at, tn_int(p, TN_I32, w->each - 1));
    return tn_add(p, tn_mul(p, tree_of(w, l), number(w, w->each)), tn_cast(p, TN_IDX, at));
}

/* Is the row at or below the threshold of a node? */
static const tn_expr *goes_left(walk *w, const tn_expr *l, const tn_expr *at)
{
    tn_pool *p = w->c.p;
    const tn_expr *one = tn_int(p, TN_I32, 1), *code, *threshold;
    code = w->each ? tn_at1(w->c.te, w->in[FEATURE], place(w, l, at)) : entry(w, FEATURE, at);
    threshold = w->each ? tn_at1(w->c.te, w->in[THRESHOLD], place(w, l, at)) : entry(w, THRESHOLD, at);
    const tn_expr *column =
        inside(w, w->missing ? tn_bin(p, TN_E_SHR, code, one) : code, w->in[ROWS]->dim[1]);
    const tn_expr *v = tn_at2(w->c.te, w->in[ROWS], row_of(w, l), column), *below = tn_le(p, v, threshold);
    if (!w->missing)
        return below;
    const tn_expr *nan =
        tn_and(p, tn_intrinsic1(p, TN_F_isnan, v), tn_eq(p, tn_bin(p, TN_E_BITAND, code, one), one));
    return tn_bin(p, TN_E_OR, below, nan);
}

/* The step of a lane from its node. No value has a name: the lanes are unrolled. */
static void step(walk *w)
{
    tn_pool *p = w->c.p;
    const tn_expr *l = lane_loop(w), *at = tn_code_load(&w->c, w->node, 1, &l), *one = tn_int(p, TN_I32, 1);
    const tn_expr *next = w->each ? tn_add(p, tn_add(p, at, at), one) : entry(w, KID, at);
    tn_code_store(&w->c, w->node, 1, &l,
                  tn_add(p, next, tn_select(p, goes_left(w, l, at), tn_int(p, TN_I32, 0), one)));
}

/* The largest depth of the lanes' trees. */
static const tn_expr *depth_of(walk *w)
{
    tn_pool *p = w->c.p;
    const tn_expr *most = entry(w, DEPTH, w->tree);
    for (int l = 1; l < LANES && w->by_trees; l++)
        most = tn_max(p, most, entry(w, DEPTH, tree_of(w, number(w, l))));
    return tn_code_let(&w->c, "depth", tn_cast(p, TN_IDX, most));
}

/* The leaf where a lane ends; those of complete trees are numbered after the nodes. */
static const tn_expr *leaf_of(walk *w, const tn_expr *l)
{
    tn_pool *p = w->c.p;
    const tn_expr *at = tn_code_load(&w->c, w->node, 1, &l);
    return w->each ? place(w, l, tn_sub(p, at, tn_int(p, TN_I32, w->each - 1)))
                   : inside(w, entry(w, LEAF, at), w->in[WEIGHT]->dim[0]);
}

static const tn_expr *together(walk *w, const tn_expr *a, const tn_expr *b)
{
    tn_pool *p = w->c.p;
    return w->take == 's' ? tn_add(p, a, b) : w->take == 'i' ? tn_min(p, a, b) : tn_max(p, a, b);
}

static void add_leaves(walk *w)
{
    tn_pool *p = w->c.p;
    const tn_expr *l = lane_loop(w), *more = tn_add(p, w->tree, l);
    if (w->by_trees)
        tn_code_if(&w->c, tn_lt(p, more, w->in[ROOT]->dim[0]));
    const tn_expr *leaf = leaf_of(w, l);
    const tn_expr *target = tn_code_for(&w->c, "target", w->out->dim[1]),
                  *row = tn_sub(p, w->by_trees ? w->row : tn_add(p, w->row, l), w->first);
    const tn_expr *index[] = {row, target}, *had = tn_code_load(&w->c, w->sum, 2, index);
    const tn_expr *weight = tn_cast(p, TN_F64, tn_at2(w->c.te, w->in[WEIGHT], leaf, target));
    tn_code_store(&w->c, w->sum, 2, index, together(w, had, weight));
}

/* LANES walks, from the roots to the leaves. */
static void walk_lanes(walk *w)
{
    tn_pool *p = w->c.p;
    tn_body *back = w->c.at;
    const tn_expr *l = lane_loop(w);
    tn_code_store(&w->c, w->node, 1, &l,
                  w->in[KID] ? tn_at1(w->c.te, w->in[ROOT], tree_of(w, l)) : tn_int(p, TN_I32, 0));
    w->c.at = back;
    (void)tn_code_for(&w->c, "step", depth_of(w));
    step(w);
    w->c.at = back;
    add_leaves(w);
    w->c.at = back;
}

/* Begins, or gives out, the sums of a block. */
static void each_sum(walk *w, const tn_expr *rows, bool begin)
{
    tn_pool *p = w->c.p;
    tn_body *back = w->c.at;
    const tn_expr *r = tn_code_for(&w->c, "r", rows), *t = tn_code_for(&w->c, "t", w->out->dim[1]);
    const tn_expr *index[] = {r, t}, *at[] = {tn_add(p, w->first, r), t};
    if (begin) {
        double none = w->take == 's' ? 0 : w->take == 'i' ? INFINITY : -INFINITY;
        tn_code_store(&w->c, w->sum, 2, index, tn_flt(p, TN_F64, none));
    } else {
        tn_code_if(&w->c, tn_lt(p, at[0], w->in[ROWS]->dim[0]));
        tn_code_store(&w->c, w->out->buffer, 2, at,
                      tn_cast(p, w->out->dtype, tn_code_load(&w->c, w->sum, 2, index)));
    }
    w->c.at = back;
}

static void all_trees(walk *w, int64_t block)
{
    tn_pool *p = w->c.p;
    const tn_expr *trees = w->in[ROOT]->dim[0];
    if (w->by_trees) {
        w->row = tn_add(p, w->first, tn_code_for(&w->c, "row", number(w, block)));
        w->tree = tn_mul(p, tn_code_for(&w->c, "trees", tn_ceildiv(p, trees, LANES)), number(w, LANES));
    } else {
        w->tree = tn_code_for(&w->c, "tree", trees);
        const tn_expr *group = tn_code_for(&w->c, "rows", number(w, block / LANES));
        w->row = tn_add(p, w->first, tn_mul(p, group, number(w, LANES)));
    }
    tn_body *back = w->c.at;
    if (!w->by_trees)
        tn_code_if(&w->c, tn_lt(p, w->row, w->in[ROWS]->dim[0]));
    walk_lanes(w);
    w->c.at = back;
}

static void ensemble_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_tree_attr *a = n->attr;
    walk w = {.take = a->take[0] == 's' ? 's' : a->take[1], .missing = a->missing};
    tn_pool *p = te->pool;
    int64_t rows, block = BLOCK;
    for (int i = 0; i < n->nin; i++)
        w.in[i] = in[i];
    w.each = w.in[KID] ? 0 : in[FEATURE]->dim[0]->u.i / in[ROOT]->dim[0]->u.i;
    if (tn_is_int(in[ROWS]->dim[0], &rows) && rows > 0) {
        w.by_trees = rows <= FEW_ROWS;
        while (!w.by_trees && block > LANES && block / 2 >= rows)
            block /= 2;
        block = w.by_trees ? rows : block;
    }
    w.c = tn_code_open(te, n, 0, "tree_ensemble", &w.out);
    out[0] = w.out;
    const tn_expr *lanes = tn_idx(p, LANES), *dim[] = {tn_idx(p, block), w.out->dim[1]};
    const tn_expr *blocks = tn_ceildiv(p, in[ROWS]->dim[0], block), *number_of;
    tn_code_each(&w.c, 1, &blocks, &number_of);
    w.first = tn_mul(p, number_of, dim[0]);
    w.node = tn_code_buffer(&w.c, "node", TN_I32, 1, &lanes, TN_SCOPE_REGISTER);
    w.sum = tn_code_buffer(&w.c, "sum", TN_F64, 2, dim, TN_SCOPE_LOCAL);
    tn_body *back = w.c.at;
    each_sum(&w, dim[0], true);
    all_trees(&w, block);
    w.c.at = back;
    each_sum(&w, dim[0], false);
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
