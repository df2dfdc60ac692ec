/* Decision trees: for each row, what the leaves it reaches hold, taken together over all trees.
 *
 * Nodes stand in lists. Trees of about one depth are complete (no list of kids): each has a power of two of entries,
 * its nodes level by level and one that is not used, and as many leaves. From node i the way goes to 2 i + 1 where
 * row[feature] <= threshold, else to 2 i + 2; after `depth` steps the number of the leaf is left. In others a step goes
 * to kid[i] or the node after it; a leaf has itself as its kid, an infinite threshold, and NaN counts as -infinity
 * there, so it is never left, and every row takes as many steps as the deepest leaf of the tree needs.
 *
 * There are no branches: WALKS walks, of neighbouring rows in one tree, or of neighbouring trees for few rows, take
 * their steps in turn, so that each hides the others' loads. A task is a block of rows; it goes through the trees one
 * by one, so that a tree comes from memory once for many rows. Where NaN may count as -infinity, the block's features
 * are first copied, each as it is and beside it with -infinity for NaN, so that a node's code is a place in its row.
 * Sums are of float64. Cost: rows * the sum of depths. */
#include "arith/arith.h"
#include "op/code.h"

#include "op/tree/tree.h"

#include <math.h>
#include <string.h>

enum { ROWS = 0, FEATURE, THRESHOLD, WEIGHT, ROOT, DEPTH, KID, LEAF, OPERANDS };
enum { WALKS = 8, BLOCK = 128, FEW_ROWS = 4, MAX_COPY = 1 << 16 /* bytes */ };

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
    bool by_trees;                     /* walks are trees */
    const tn_expr *first, *row, *tree; /* of the block; of walk 0, in the block */
    uint32_t node, sum;                /* [WALKS]; [block, targets] */
    bool copied;
    uint32_t copy; /* [block, width]: two elements for each feature, and none up to a power of two */
    int64_t width;
} walk;

static const tn_expr *number(walk *w, int64_t n) { return tn_idx(w->c.p, n); }

static const tn_expr *walk_loop(walk *w) { return tn_code_unroll(&w->c, "l", WALKS); }

/* i where it is an index, else some index: numbers of nodes and columns are compared as unsigned, and round a power
 * of two they only lose bits. */
static const tn_expr *inside(walk *w, const tn_expr *i, const tn_expr *extent)
{
    tn_pool *p = w->c.p;
    const tn_dtype whole = TN_DT(TN_UINT, 32);
    int64_t n;
    if (tn_dtype_eq(i->dtype, TN_I32) && tn_is_int(extent, &n) && n > 0 && n <= INT32_MAX)
        return tn_cast(p, TN_IDX,
                       n & (n - 1) ? tn_min(p, tn_cast(p, whole, i), tn_int(p, whole, n - 1))
                                   : tn_bin(p, TN_E_BITAND, i, tn_int(p, TN_I32, n - 1)));
    return tn_max(p, tn_min(p, tn_cast(p, TN_IDX, i), tn_sub(p, extent, number(w, 1))), number(w, 0));
}

/* Element i of an operand's list, which the lists themselves keep inside. */
static const tn_expr *entry(walk *w, int operand, const tn_expr *i)
{
    return tn_at1(w->c.te, w->in[operand], inside(w, i, w->in[operand]->dim[0]));
}

static const tn_expr *in_block(walk *w, const tn_expr *l)
{
    return w->by_trees ? w->row : tn_add(w->c.p, w->row, l);
}

/* The row and the tree of walk l, the last one where there are no more. */
static const tn_expr *row_of(walk *w, const tn_expr *l)
{
    return inside(w, tn_add(w->c.p, w->first, in_block(w, l)), w->in[ROWS]->dim[0]);
}

static const tn_expr *tree_of(walk *w, const tn_expr *l)
{
    return w->by_trees ? inside(w, tn_add(w->c.p, w->tree, l), w->in[ROOT]->dim[0]) : w->tree;
}

/* Entry `at` of a walk's complete tree: what is beyond it comes round to its beginning. */
static const tn_expr *place(walk *w, const tn_expr *l, const tn_expr *at)
{
    tn_pool *p = w->c.p;
    at = tn_bin(p, TN_E_BITAND, at, tn_int(p, TN_I32, w->each - 1));
    return tn_add(p, tn_mul(p, tree_of(w, l), number(w, w->each)), tn_cast(p, TN_IDX, at));
}

static const tn_expr *without_nan(walk *w, const tn_expr *v, const tn_expr *where)
{
    tn_pool *p = w->c.p;
    const tn_expr *nan = tn_intrinsic1(p, TN_F_isnan, v), *low = tn_flt(p, v->dtype, -INFINITY);
    return tn_select(p, where ? tn_and(p, nan, where) : nan, low, v);
}

/* What a walk's row has for the code of a node. */
static const tn_expr *feature(walk *w, const tn_expr *l, const tn_expr *code)
{
    tn_pool *p = w->c.p;
    const tn_expr *one = tn_int(p, TN_I32, 1), *columns = w->in[ROWS]->dim[1];
    if (w->copied) {
        const tn_expr *at[] = {in_block(w, l), inside(w, code, number(w, w->width))};
        return tn_code_load(&w->c, w->copy, 2, at);
    }
    if (!w->missing)
        return tn_at2(w->c.te, w->in[ROWS], row_of(w, l), inside(w, code, columns));
    const tn_expr *column = inside(w, tn_bin(p, TN_E_SHR, code, one), columns);
    return without_nan(w, tn_at2(w->c.te, w->in[ROWS], row_of(w, l), column),
                       tn_eq(p, tn_bin(p, TN_E_BITAND, code, one), one));
}

/* Is the row at or below the threshold of a node? */
static const tn_expr *goes_left(walk *w, const tn_expr *l, const tn_expr *at)
{
    const tn_expr *code, *threshold;
    code = w->each ? tn_at1(w->c.te, w->in[FEATURE], place(w, l, at)) : entry(w, FEATURE, at);
    threshold = w->each ? tn_at1(w->c.te, w->in[THRESHOLD], place(w, l, at)) : entry(w, THRESHOLD, at);
    return tn_le(w->c.p, feature(w, l, code), threshold);
}

/* The step of a walk from its node. No value has a name: the walks are unrolled. */
static void step(walk *w)
{
    tn_pool *p = w->c.p;
    const tn_expr *l = walk_loop(w), *at = tn_code_load(&w->c, w->node, 1, &l), *one = tn_int(p, TN_I32, 1);
    const tn_expr *next = w->each ? tn_add(p, tn_add(p, at, at), one) : entry(w, KID, at);
    tn_code_store(&w->c, w->node, 1, &l,
                  tn_add(p, next, tn_select(p, goes_left(w, l, at), tn_int(p, TN_I32, 0), one)));
}

/* The largest depth of the walks' trees. */
static const tn_expr *depth_of(walk *w)
{
    tn_pool *p = w->c.p;
    const tn_expr *most = entry(w, DEPTH, w->tree);
    for (int l = 1; l < WALKS && w->by_trees; l++)
        most = tn_max(p, most, entry(w, DEPTH, tree_of(w, number(w, l))));
    return tn_code_let(&w->c, "depth", tn_cast(p, TN_IDX, most));
}

/* The leaf where a walk ends; those of complete trees are numbered after the nodes. */
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
    const tn_expr *l = walk_loop(w), *more = tn_add(p, w->tree, l);
    if (w->by_trees)
        tn_code_if(&w->c, tn_lt(p, more, w->in[ROOT]->dim[0]));
    const tn_expr *leaf = leaf_of(w, l);
    const tn_expr *target = tn_code_for(&w->c, "target", w->out->dim[1]);
    const tn_expr *index[] = {in_block(w, l), target}, *had = tn_code_load(&w->c, w->sum, 2, index);
    const tn_expr *weight = tn_cast(p, TN_F64, tn_at2(w->c.te, w->in[WEIGHT], leaf, target));
    tn_code_store(&w->c, w->sum, 2, index, together(w, had, weight));
}

/* WALKS walks, from the roots to the leaves. */
static void walk_down(walk *w)
{
    tn_pool *p = w->c.p;
    tn_body *back = w->c.at;
    const tn_expr *l = walk_loop(w);
    tn_code_store(&w->c, w->node, 1, &l,
                  w->in[KID] ? tn_at1(w->c.te, w->in[ROOT], tree_of(w, l)) : tn_int(p, TN_I32, 0));
    w->c.at = back;
    (void)tn_code_for(&w->c, "step", depth_of(w));
    step(w);
    w->c.at = back;
    add_leaves(w);
    w->c.at = back;
}

/* Begins, or gives out, the sums of a block's rows. */
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

static void copy_rows(walk *w, const tn_expr *rows)
{
    tn_pool *p = w->c.p;
    tn_body *back = w->c.at;
    const tn_expr *r = tn_code_for(&w->c, "r", rows), *f = tn_code_for(&w->c, "f", w->in[ROWS]->dim[1]);
    const tn_expr *row = inside(w, tn_add(p, w->first, r), w->in[ROWS]->dim[0]);
    const tn_expr *v = tn_at2(w->c.te, w->in[ROWS], row, f), *even = tn_mul(p, f, number(w, 2));
    const tn_expr *at[] = {r, even}, *beside[] = {r, tn_add(p, even, number(w, 1))};
    tn_code_store(&w->c, w->copy, 2, at, v);
    tn_code_store(&w->c, w->copy, 2, beside, without_nan(w, v, NULL));
    w->c.at = back;
}

/* The walks of the rows that are left of a block, and beyond them to whole walks where walks are rows. */
static void walk_block(walk *w, const tn_expr *left, bool by_trees)
{
    tn_pool *p = w->c.p;
    tn_body *back = w->c.at;
    const tn_expr *trees = w->in[ROOT]->dim[0], *walks = number(w, WALKS),
                  *groups = tn_ceildiv(p, left, WALKS);
    const tn_expr *rows = by_trees ? left : tn_mul(p, groups, walks);
    w->by_trees = by_trees;
    each_sum(w, rows, true);
    if (w->copied)
        copy_rows(w, rows);
    if (by_trees) {
        w->row = tn_code_for(&w->c, "row", rows);
        w->tree = tn_mul(p, tn_code_for(&w->c, "trees", tn_ceildiv(p, trees, WALKS)), walks);
    } else {
        w->tree = tn_code_for(&w->c, "tree", trees);
        w->row = tn_mul(p, tn_code_for(&w->c, "rows", groups), walks);
    }
    walk_down(w);
    w->c.at = back;
    each_sum(w, rows, false);
}

/* How many rows a task takes, and whether their features are copied: where they fit, and nodes ask for them often. */
static int64_t block_of(walk *w)
{
    int64_t rows, columns, block = BLOCK, trees = w->in[ROOT]->dim[0]->u.i;
    if (tn_is_int(w->in[ROWS]->dim[0], &rows) && rows > 0)
        while (block > WALKS && block / 2 >= rows)
            block /= 2;
    if (!w->missing || !tn_is_int(w->in[ROWS]->dim[1], &columns) || columns / 4 > trees)
        return block;
    int64_t width = 2, bytes = (int64_t)tn_dtype_bytes(w->in[ROWS]->dtype);
    while (width < 2 * columns && width < MAX_COPY)
        width *= 2;
    int64_t fits = MAX_COPY / (width * bytes);
    w->copied = width >= 2 * columns && fits >= WALKS;
    w->width = width;
    while (w->copied && block > fits)
        block /= 2;
    return block;
}

static void ensemble_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_tree_attr *a = n->attr;
    walk w = {.take = a->take[0] == 's' ? 's' : a->take[1], .missing = a->missing};
    tn_pool *p = te->pool;
    for (int i = 0; i < n->nin; i++)
        w.in[i] = in[i];
    w.each = w.in[KID] ? 0 : in[FEATURE]->dim[0]->u.i / in[ROOT]->dim[0]->u.i;
    int64_t block = block_of(&w);
    w.c = tn_code_open(te, n, 0, "tree_ensemble", &w.out);
    out[0] = w.out;
    const tn_expr *walks = tn_idx(p, WALKS), *size = tn_idx(p, block), *rows = in[ROWS]->dim[0];
    const tn_expr *blocks = tn_ceildiv(p, rows, block), *few = tn_le(p, rows, tn_idx(p, FEW_ROWS)),
                  *number_of;
    const tn_expr *dim[] = {size, w.out->dim[1]}, *copy[] = {size, tn_idx(p, w.width)};
    tn_code_each(&w.c, 1, &blocks, &number_of);
    w.first = tn_mul(p, number_of, size);
    w.node = tn_code_buffer(&w.c, "node", TN_I32, 1, &walks, TN_SCOPE_REGISTER);
    w.sum = tn_code_buffer(&w.c, "sum", TN_F64, 2, dim, TN_SCOPE_LOCAL);
    if (w.copied)
        w.copy = tn_code_buffer(&w.c, "copy", in[ROWS]->dtype, 2, copy, TN_SCOPE_LOCAL);
    tn_body *back = w.c.at;
    const tn_expr *left = tn_min(p, tn_sub(p, rows, w.first), size);
    if (!tn_is_value(few, 0)) {
        tn_code_if(&w.c, few);
        walk_block(&w, left, true);
        w.c.at = back;
    }
    if (!tn_is_value(few, 1)) {
        tn_code_if(&w.c, tn_not(p, few));
        walk_block(&w, left, false);
    }
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
