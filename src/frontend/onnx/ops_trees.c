/* Ensembles of decision trees of ai.onnx.ml: TreeEnsembleRegressor, TreeEnsembleClassifier, TreeEnsemble.
 *
 * Each becomes lists of nodes that are all of one kind (op/tree/tree.c): x < v is x <= the float before v, x > v is its
 * opposite, x == v two nodes, membership a chain of those. NaN of x that goes to "yes" counts as -infinity. */
#include "frontend/onnx/onnx.h"

#include "ir/eval.h"
#include "op/tensor/tensor.h"
#include "op/tree/tree.h"

#include <math.h>
#include <string.h>

enum mode { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF };
enum { MAX_NODES = 1 << 26, MAX_DEPTH = 1 << 20 };

typedef struct node { /* of the model */
    enum mode mode;
    bool missing; /* NaN goes to yes */
    int64_t feature, yes, no;
    double v;
    const double *set; /* MEMBER: n_set values */
    int64_t n_set;
    int64_t height; /* steps below it; -1: not known yet, -2: being counted */
    int64_t at;     /* where it stands first; -1: not yet */
} node;

typedef struct forest {
    imp_node *c;
    tn_dtype t; /* of X and the thresholds */
    int64_t n_nodes, n_targets, n_trees, n_leaves;
    node *node;
    int64_t *root;
    double *weight; /* [n_leaves, n_targets] */
    bool *has;      /* is there a weight for this target? */
    /* made */
    tn_vec(int32_t) feature, kid, leaf;
    tn_vec(double) threshold;
    tn_vec(int64_t) todo; /* pairs: node, its place */
} forest;

/* ---- attributes ---- */

static void damaged(forest *f, const char *what)
{
    imp_fail(f->c, "onnx-E043", "%s do not match each other; the model is damaged", what);
}

static double *tensor_numbers(imp_node *c, const char *name, int64_t *out_n)
{
    const onnx_tensor *t = imp_has_attr(c, name) && !c->bad ? onnx_attr_tensor(c, name) : NULL;
    tn_node *k = t ? onnx_constant(c->im, t, c->loc->node, c->loc) : NULL;
    *out_n = 0;
    if (!k || !k->blob)
        return NULL;
    tn_dtype type = k->type[0]->dtype;
    size_t n = k->blob->n / tn_dtype_bytes(type);
    double *v = TN_NEW_N(c->arena, double, n);
    for (size_t i = 0; i < n; i++) {
        tn_scalar s = tn_scalar_read(type, (const char *)k->blob->at + i * tn_dtype_bytes(type));
        v[i] = tn_dtype_is_float(type) ? s.f : (double)s.i;
    }
    *out_n = (int64_t)n;
    return v;
}

/* Numbers of `name`, or of `name` with "_as_tensor". */
static double *numbers(imp_node *c, const char *name, int64_t *out_n)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_FLOATS);
    if (!a || a->floats.n == 0)
        return tensor_numbers(c, tn_arena_printf(c->arena, "%s_as_tensor", name), out_n);
    double *v = TN_NEW_N(c->arena, double, a->floats.n);
    for (size_t i = 0; i < a->floats.n; i++)
        v[i] = (double)a->floats.at[i];
    *out_n = (int64_t)a->floats.n;
    return v;
}

/* Forests have far more entries than other lists: they are read where they are. */
static tn_ints ints(imp_node *c, const char *name)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_INTS);
    if (a && a->ints.n > MAX_NODES)
        imp_fail(c, "onnx-E022", "%s has %zu entries, more than %d", name, a->ints.n, MAX_NODES);
    return a && !c->bad ? (tn_ints){(uint32_t)a->ints.n, a->ints.at} : (tn_ints){0};
}

/* ---- trees of lists of nodes (TreeEnsembleRegressor, TreeEnsembleClassifier) ---- */

static enum mode mode_of(imp_node *c, tn_bytes text)
{
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "",           "LEAF"};
    for (int i = 0; i < 8; i++)
        if (*names[i] && imp_is(text, names[i]))
            return (enum mode)i;
    imp_fail(c, "onnx-E009", "nodes_modes has \"%s\"; the model is damaged", imp_text(c->im, text));
    return LEAF;
}

/* Number of a node by tree and number there; -1: none. */
static int64_t find_node(const tn_map *map, int64_t tree, int64_t id)
{
    uint64_t at, key = (uint64_t)tree * 0x9e3779b97f4a7c15u ^ (uint64_t)id;
    return tn_map_get(map, key, &at) ? (int64_t)at : -1;
}

static void read_nodes(forest *f)
{
    imp_node *c = f->c;
    tn_ints tree = ints(c, "nodes_treeids"), id = ints(c, "nodes_nodeids"),
            feature = ints(c, "nodes_featureids"), yes = ints(c, "nodes_truenodeids"),
            no = ints(c, "nodes_falsenodeids"), missing = ints(c, "nodes_missing_value_tracks_true");
    const imp_attr *modes = imp_attr_find(c, "nodes_modes", IMP_A_TEXTS);
    int64_t n_values, n = tree.n;
    const double *value = numbers(c, "nodes_values", &n_values);
    imp_attr_ignore(c, "nodes_hitrates");
    imp_attr_ignore(c, "nodes_hitrates_as_tensor");
    if (!c->bad && (n < 1 || id.n != n || feature.n != n || yes.n != n || no.n != n || !modes ||
                    modes->texts.n != (size_t)n || n_values != n || (missing.n && missing.n != n)))
        damaged(f, "the lists of nodes");
    if (c->bad)
        return;
    tn_map map = {0};
    f->n_nodes = n;
    f->node = TN_NEW_N(c->arena, node, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        tn_map_put(&map, (uint64_t)tree.at[i] * 0x9e3779b97f4a7c15u ^ (uint64_t)id.at[i], (uint64_t)i);
    bool *child = TN_NEW_N(c->arena, bool, (size_t)n);
    for (int64_t i = 0; i < n && !c->bad; i++) {
        node *v = &f->node[i];
        *v = (node){.mode = mode_of(c, modes->texts.at[i]),
                    .feature = feature.at[i],
                    .v = value[i],
                    .missing = missing.n && missing.at[i] != 0,
                    .height = -1,
                    .at = -1};
        if (v->mode == LEAF) {
            v->yes = f->n_leaves++;
            continue;
        }
        v->yes = find_node(&map, tree.at[i], yes.at[i]);
        v->no = find_node(&map, tree.at[i], no.at[i]);
        if (v->yes < 0 || v->no < 0)
            damaged(f, "nodes and their branches");
        else
            child[v->yes] = child[v->no] = true;
    }
    f->root = TN_NEW_N(c->arena, int64_t, (size_t)n);
    for (int64_t i = 0; i < n && !c->bad; i++)
        if (!child[i] && f->n_trees < n)
            f->root[f->n_trees++] = i;
    tn_map_deinit(&map);
}

/* Weights of leaves: of `prefix` "target" or "class". */
static void read_weights(forest *f, const char *prefix, const tn_map *map)
{
    imp_node *c = f->c;
    tn_ints tree = ints(c, tn_arena_printf(c->arena, "%s_treeids", prefix)),
            id = ints(c, tn_arena_printf(c->arena, "%s_nodeids", prefix)),
            target = ints(c, tn_arena_printf(c->arena, "%s_ids", prefix));
    int64_t n;
    const double *w = numbers(c, tn_arena_printf(c->arena, "%s_weights", prefix), &n);
    if (!c->bad && (tree.n != n || id.n != n || target.n != n))
        damaged(f, "the lists of weights");
    if (!c->bad && f->n_targets > MAX_NODES / (f->n_leaves + 1))
        imp_fail(c, "onnx-E022", "%lld leaves with %lld weights each are too many", (long long)f->n_leaves,
                 (long long)f->n_targets);
    if (c->bad)
        return;
    f->weight = TN_NEW_N(c->arena, double, (size_t)(f->n_leaves * f->n_targets) + 1);
    f->has = TN_NEW_N(c->arena, bool, (size_t)(f->n_leaves * f->n_targets) + 1);
    for (int64_t i = 0; i < n && !c->bad; i++) {
        int64_t at = find_node(map, tree.at[i], id.at[i]);
        if (at < 0 || f->node[at].mode != LEAF || target.at[i] < 0 || target.at[i] >= f->n_targets) {
            damaged(f, "weights and leaves");
            return;
        }
        int64_t k = f->node[at].yes * f->n_targets + target.at[i];
        f->weight[k] += w[i];
        f->has[k] = true;
    }
}

/* ---- trees of TreeEnsemble: nodes, and leaves apart ---- */

static int64_t branch(const tn_ints to, const tn_ints is_leaf, int64_t i, int64_t n_nodes)
{
    return to.at[i] < 0 ? -1 : is_leaf.at[i] ? n_nodes + to.at[i] : to.at[i];
}

/* The sets of MEMBER nodes, one after the other, each ended by NaN. */
static void read_sets(forest *f)
{
    int64_t n, at = 0;
    const double *v = tensor_numbers(f->c, "membership_values", &n);
    for (int64_t i = 0; i < f->n_nodes; i++) {
        node *x = &f->node[i];
        if (x->mode != MEMBER)
            continue;
        x->set = v + at;
        while (at < n && !isnan(v[at])) {
            at++;
            x->n_set++;
        }
        at++;
        if (x->n_set == 0)
            damaged(f, "membership_values and nodes");
    }
}

static void read_ensemble(forest *f)
{
    imp_node *c = f->c;
    int64_t n_modes, n_splits, n_weights;
    const double *modes = tensor_numbers(c, "nodes_modes", &n_modes),
                 *splits = tensor_numbers(c, "nodes_splits", &n_splits),
                 *weight = tensor_numbers(c, "leaf_weights", &n_weights);
    tn_ints feature = ints(c, "nodes_featureids"), yes = ints(c, "nodes_truenodeids"),
            no = ints(c, "nodes_falsenodeids"), yes_leaf = ints(c, "nodes_trueleafs"),
            no_leaf = ints(c, "nodes_falseleafs"), missing = ints(c, "nodes_missing_value_tracks_true"),
            target = ints(c, "leaf_targetids"), roots = ints(c, "tree_roots");
    uint32_t n = feature.n;
    imp_attr_ignore(c, "nodes_hitrates");
    f->n_leaves = target.n;
    if (!c->bad && (n < 1 || n_modes != n || n_splits != n || yes.n != n || no.n != n || yes_leaf.n != n ||
                    no_leaf.n != n || (missing.n && missing.n != n) || n_weights != target.n || roots.n < 1 ||
                    f->n_targets > MAX_NODES / (f->n_leaves + 1)))
        damaged(f, "the lists of nodes and leaves");
    if (c->bad)
        return;
    f->n_nodes = (int64_t)n + target.n;
    f->node = TN_NEW_N(c->arena, node, (size_t)f->n_nodes);
    f->weight = TN_NEW_N(c->arena, double, (size_t)(f->n_leaves * f->n_targets) + 1);
    f->has = TN_NEW_N(c->arena, bool, (size_t)(f->n_leaves * f->n_targets) + 1);
    for (int64_t i = 0; i < n; i++) {
        node *v = &f->node[i];
        bool odd = !(modes[i] >= 0 && modes[i] <= 6);
        *v = (node){.mode = odd ? LEQ : (enum mode)modes[i],
                    .feature = feature.at[i],
                    .v = splits[i],
                    .missing = missing.n && missing.at[i] != 0,
                    .height = -1,
                    .at = -1};
        v->yes = branch(yes, yes_leaf, i, n);
        v->no = branch(no, no_leaf, i, n);
        if (odd || v->yes < 0 || v->no < 0 || v->yes >= f->n_nodes || v->no >= f->n_nodes) {
            damaged(f, "nodes and their branches");
            return;
        }
    }
    for (int64_t k = 0; k < target.n && !c->bad; k++) {
        f->node[n + k] = (node){.mode = LEAF, .yes = k, .height = -1, .at = -1};
        if (target.at[k] < 0 || target.at[k] >= f->n_targets)
            damaged(f, "leaves and targets");
        else
            f->weight[k * f->n_targets + target.at[k]] = weight[k];
        if (!c->bad)
            f->has[k * f->n_targets + target.at[k]] = true;
    }
    read_sets(f);
    f->n_trees = roots.n;
    f->root = TN_NEW_N(c->arena, int64_t, roots.n);
    for (uint32_t i = 0; i < roots.n && !c->bad; i++) {
        f->root[i] = roots.at[i];
        if (roots.at[i] < 0 || roots.at[i] >= n)
            damaged(f, "tree_roots and nodes");
    }
}

/* ---- one kind of node ---- */

/* All numbers are x >= -infinity and none is x < -infinity: said without the number before it. */
static void normalise(node *v)
{
    bool low = isinf(v->v) && v->v < 0;
    if (low && v->mode == GTE)
        v->mode = LEQ, v->v = (double)INFINITY;
    else if (low && v->mode == LT)
        v->v = (double)NAN;
}

/* Does nothing but NaN of x go to yes? No number is below a threshold of NaN, or above it. */
static bool only_missing(const node *v)
{
    return v->missing && isnan(v->v) && (v->mode <= GT || v->mode == EQ);
}

/* One comparison with a threshold? */
static bool is_plain(const node *v) { return v->mode <= GT && !only_missing(v); }

/* Steps that a node takes by itself. */
static int64_t own_steps(const node *v)
{
    return v->mode == LEAF ? 0 : v->mode == MEMBER ? 2 * v->n_set : is_plain(v) ? 1 : 2;
}

/* Heights of all nodes below `from`, without recursion; a node below itself is refused. */
static void count_steps(forest *f, int64_t from)
{
    tn_vec(int64_t) stack = {0};
    tn_vec_push(&stack, from);
    while (stack.n && !f->c->bad) {
        node *v = &f->node[stack.at[stack.n - 1]];
        int64_t next[2] = {v->yes, v->no}, most = 0;
        bool waits = false;
        for (int i = 0; i < 2 && v->mode != LEAF; i++) {
            int64_t h = f->node[next[i]].height;
            if (h == -2)
                damaged(f, "nodes and their branches (a node is below itself)");
            else if (h == -1)
                tn_vec_push(&stack, next[i]);
            waits |= h < 0;
            most = h > most ? h : most;
        }
        if (waits && v->height == -2 && !f->c->bad)
            continue;
        v->height = waits ? -2 : most + own_steps(v);
        if (!waits)
            (void)tn_vec_pop(&stack);
        if (v->height > MAX_DEPTH)
            imp_fail(f->c, "onnx-E022", "a tree is more than %d steps deep", MAX_DEPTH);
    }
    tn_vec_deinit(&stack);
}

static int32_t new_places(forest *f, int n)
{
    int32_t at = (int32_t)f->kid.n;
    for (int i = 0; i < n; i++) {
        tn_vec_push(&f->feature, 1);
        tn_vec_push(&f->threshold, INFINITY);
        tn_vec_push(&f->kid, at + i);
        tn_vec_push(&f->leaf, 0);
    }
    if (f->kid.n > MAX_NODES && !f->c->bad)
        imp_fail(f->c, "onnx-E022", "there are more than %d nodes", MAX_NODES);
    return at;
}

/* x <= v at a place; where its two branches stand. */
static int32_t compare(forest *f, int32_t at, const node *n, double v, bool missing)
{
    int32_t kid = new_places(f, 2);
    f->feature.at[at] = (int32_t)(2 * n->feature + missing);
    f->threshold.at[at] = v;
    f->kid.at[at] = kid;
    return kid;
}

static void later(forest *f, int64_t n, int32_t at)
{
    tn_vec_push(&f->todo, n);
    tn_vec_push(&f->todo, at);
}

/* The number before v; NaN, to which nothing is equal and which nothing is below, before -infinity. */
static double before(const forest *f, double v)
{
    if (isinf(v) && v < 0)
        return (double)NAN;
    return f->t.bits == 64 ? nextafter(v, -INFINITY) : (double)nextafterf((float)v, -INFINITY);
}

/* x == v: `yes` there, else the branches go on at the place that is returned, which is the last one if `end` says who
 * stands there. */
static int32_t equal(forest *f, int32_t at, const node *n, double v, bool missing, int64_t yes)
{
    int32_t first = compare(f, at, n, v, missing), second = compare(f, first, n, before(f, v), false);
    later(f, yes, second + 1);
    return second;
}

typedef struct sides {
    int64_t left, right;
    double v;
    bool missing;
} sides; /* of x <= v */

static sides sides_of(const forest *f, const node *n)
{
    double v = n->mode == LT || n->mode == GTE ? before(f, n->v) : n->v;
    bool opposite = (n->mode == GT || n->mode == GTE) && !isnan(v);
    return (sides){opposite ? n->no : n->yes, opposite ? n->yes : n->no, v, n->missing != opposite};
}

static void place(forest *f, int64_t number, int32_t at)
{
    node *n = &f->node[number];
    if (n->at >= 0) { /* the same branches */
        f->feature.at[at] = f->feature.at[n->at];
        f->threshold.at[at] = f->threshold.at[n->at];
        f->kid.at[at] = f->kid.at[n->at];
        f->leaf.at[at] = f->leaf.at[n->at];
        return;
    }
    n->at = at;
    if (n->mode == LEAF) {
        f->leaf.at[at] = (int32_t)n->yes;
    } else if (n->mode == MEMBER) {
        for (int64_t i = 0; i < n->n_set && !f->c->bad; i++) {
            int32_t other = equal(f, at, n, n->set[i], n->missing, n->yes);
            int32_t rest = f->kid.at[at] + 1; /* above; below stands `other`: both go on with the rest */
            if (i + 1 == n->n_set) {
                later(f, n->no, other);
                later(f, n->no, rest);
            } else {
                at = rest;
                later(f, -1 - rest, other);
            }
        }
    } else if (only_missing(n)) {
        int32_t low = compare(f, at, n, -INFINITY, true), nan = compare(f, low, n, -INFINITY, false);
        later(f, n->no, low + 1);
        later(f, n->no, nan);
        later(f, n->yes, nan + 1);
    } else if (!is_plain(n)) {
        bool same = n->mode == EQ;
        int32_t other = equal(f, at, n, n->v, same && n->missing, same ? n->yes : n->no);
        later(f, same ? n->no : n->yes, other);
        later(f, same ? n->no : n->yes, f->kid.at[at] + 1);
    } else {
        sides s = sides_of(f, n);
        int32_t kid = compare(f, at, n, s.v, s.missing);
        later(f, s.left, kid);
        later(f, s.right, kid + 1);
    }
}

/* Copies of places are asked for by numbers below 0. */
static void place_all(forest *f)
{
    for (size_t i = 0; i < f->todo.n && !f->c->bad; i += 2) {
        int64_t n = f->todo.at[i];
        int32_t at = (int32_t)f->todo.at[i + 1], from = (int32_t)(-1 - n);
        if (n >= 0) {
            place(f, n, at);
            continue;
        }
        f->feature.at[at] = f->feature.at[from];
        f->threshold.at[at] = f->threshold.at[from];
        f->kid.at[at] = f->kid.at[from];
    }
    f->todo.n = 0;
}

/* ---- calls ---- */

static tn_value list(imp_node *c, tn_dtype t, int64_t n, const void *data)
{
    return c->bad ? (tn_value){0} : tn_val(tn_make_constant(c->g, c->im->r, NULL, t, 1, &n, data, NULL));
}

static tn_value reals(imp_node *c, tn_dtype t, int64_t n, const double *v)
{
    char *data = tn_arena_alloc(c->arena, (size_t)n * tn_dtype_bytes(t) + 8, 8);
    for (int64_t i = 0; i < n; i++)
        tn_scalar_write(t, data + (size_t)i * tn_dtype_bytes(t),
                        tn_eval_cast(TN_F64, t, (tn_scalar){.f = v[i]}));
    return list(c, t, n, data);
}

static tn_value weights(forest *f, int64_t n, const double *v)
{
    const tn_expr *dim[2] = {tn_idx(f->c->pool, n), tn_idx(f->c->pool, f->n_targets)};
    tn_value w = reals(f->c, f->t, n * f->n_targets, v);
    return f->c->bad ? w : imp_reshape(f->c, w, 2, dim);
}

/* Where comparisons of one kind alone lead to leaves, and filling trees up to one depth makes them at most FILL times
 * as large: that depth, else 0. */
static int64_t common_depth(const forest *f)
{
    enum { MAX_LEVELS = 16, FILL = 4 };
    int64_t depth = 1;
    for (int64_t i = 0; i < f->n_nodes; i++)
        if (f->node[i].mode != LEAF && !is_plain(&f->node[i]))
            return 0;
    for (int64_t i = 0; i < f->n_trees; i++)
        depth = f->node[f->root[i]].height > depth ? f->node[f->root[i]].height : depth;
    return depth <= MAX_LEVELS && f->n_trees << depth <= FILL * (f->n_leaves + MAX_LEVELS) ? depth : 0;
}

typedef struct levels { /* complete trees */
    int64_t depth, each;
    int64_t *slot; /* model's nodes by place, of the tree at work */
    int32_t *feature;
    double *threshold, *weight;
} levels;

/* A leaf above the last level stands below itself on both sides. */
static void place_levels(forest *f, levels *l, int64_t tree, bool missing)
{
    int64_t inner = l->each - 1, n = f->n_targets, to = tree * l->each;
    l->slot[0] = f->root[tree];
    l->threshold[to + inner] = INFINITY;
    for (int64_t i = 0; i < inner; i++) {
        const node *v = &f->node[l->slot[i]];
        sides s = {l->slot[i], l->slot[i], INFINITY, false};
        s = v->mode == LEAF ? s : sides_of(f, v);
        int64_t feature = v->mode == LEAF ? 0 : v->feature;
        l->feature[to + i] = (int32_t)(missing ? 2 * feature + s.missing : feature);
        l->threshold[to + i] = s.v;
        l->slot[2 * i + 1] = s.left;
        l->slot[2 * i + 2] = s.right;
    }
    for (int64_t i = 0; i < l->each; i++)
        memcpy(l->weight + (to + i) * n, f->weight + f->node[l->slot[inner + i]].yes * n,
               (size_t)n * sizeof *l->weight);
}

static bool sees_missing(const forest *f)
{
    bool any = false;
    for (int64_t i = 0; i < f->n_nodes && !any; i++)
        any = f->node[i].mode != LEAF && sides_of(f, &f->node[i]).missing;
    return any;
}

/* Trees level by level, all of one depth. */
static tn_value complete(forest *f, tn_value x, tn_tree_attr *a, int64_t depth)
{
    imp_node *c = f->c;
    int64_t each = (int64_t)1 << depth, n = f->n_trees * each;
    int32_t *root = TN_NEW_N(c->arena, int32_t, (size_t)f->n_trees),
            *steps = TN_NEW_N(c->arena, int32_t, (size_t)f->n_trees);
    levels l = {depth,
                each,
                TN_NEW_N(c->arena, int64_t, (size_t)(2 * each)),
                TN_NEW_N(c->arena, int32_t, (size_t)n),
                TN_NEW_N(c->arena, double, (size_t)n),
                TN_NEW_N(c->arena, double, (size_t)(n * f->n_targets))};
    a->missing = sees_missing(f);
    for (int64_t t = 0; t < f->n_trees; t++) {
        root[t] = (int32_t)(t * each);
        steps[t] = (int32_t)depth;
        place_levels(f, &l, t, a->missing);
    }
    tn_value in[6] = {x,
                      list(c, TN_I32, n, l.feature),
                      reals(c, f->t, n, l.threshold),
                      weights(f, n, l.weight),
                      list(c, TN_I32, f->n_trees, root),
                      list(c, TN_I32, f->n_trees, steps)};
    return imp_call(c, &tn_op_tree_ensemble, a, 6, in);
}

/* Trees of any form. */
static tn_value linked(forest *f, tn_value x, const tn_tree_attr *a)
{
    imp_node *c = f->c;
    int32_t *root = TN_NEW_N(c->arena, int32_t, (size_t)f->n_trees),
            *depth = TN_NEW_N(c->arena, int32_t, (size_t)f->n_trees);
    for (int64_t i = 0; i < f->n_trees && !c->bad; i++) {
        root[i] = new_places(f, 1);
        depth[i] = (int32_t)f->node[f->root[i]].height;
        place(f, f->root[i], root[i]);
        place_all(f);
    }
    while (f->kid.n & (f->kid.n - 1) && !c->bad) /* numbers of nodes round a power of two cost least */
        (void)new_places(f, 1);
    int64_t n = (int64_t)f->kid.n;
    tn_value in[8] = {x,
                      list(c, TN_I32, n, f->feature.at),
                      reals(c, f->t, n, f->threshold.at),
                      weights(f, f->n_leaves, f->weight),
                      list(c, TN_I32, f->n_trees, root),
                      list(c, TN_I32, f->n_trees, depth),
                      list(c, TN_I32, n, f->kid.at),
                      list(c, TN_I32, n, f->leaf.at)};
    return imp_call(c, &tn_op_tree_ensemble, a, 8, in);
}

/* What leaves hold, of all trees together. */
static tn_value ensemble_of(forest *f, tn_value x, const char *take)
{
    tn_tree_attr a = {tn_intern(f->c->g->ctx, take), true};
    for (int64_t i = 0; i < f->n_nodes; i++)
        normalise(&f->node[i]);
    for (int64_t i = 0; i < f->n_trees && !f->c->bad; i++)
        count_steps(f, f->root[i]);
    int64_t depth = f->c->bad ? 0 : common_depth(f);
    return depth ? complete(f, x, &a, depth) : linked(f, x, &a);
}

/* The rows of x: all of its features, or those that nodes ask for where their number is known in the run alone. */
static tn_value features_of(forest *f, tn_value x)
{
    int64_t n = -1, most = -1;
    if (!f->c->bad && imp_rank(x) != 2)
        imp_fail(f->c, "onnx-E022", "X is %s, but must be rows of features",
                 imp_type_text(f->c, imp_type(x)));
    bool known = !f->c->bad && tn_is_int(imp_type(x)->dim[1], &n);
    for (int64_t i = 0; i < f->n_nodes && !f->c->bad; i++) {
        int64_t at = f->node[i].mode == LEAF ? -1 : f->node[i].feature;
        most = at > most ? at : most;
        if (f->node[i].mode != LEAF && (at < 0 || at >= (known ? n : INT32_MAX / 2)))
            imp_fail(f->c, "onnx-E009", "a node asks for feature %lld of %lld", (long long)at, (long long)n);
    }
    if (f->c->bad || known)
        return x;
    most = most < 0 ? 0 : most;
    x = imp_slice(f->c, x, 1, 0, most + 1);
    (void)imp_with_extent(f->c, &x, 1, tn_idx(f->c->pool, most + 1));
    return x;
}

/* What the leaves give together: [rows, n_targets]. how: SUM, AVERAGE, MIN or MAX. */
static tn_value gathered(forest *f, tn_value x, const char *how)
{
    imp_node *c = f->c;
    bool low = strcmp(how, "MIN") == 0, high = strcmp(how, "MAX") == 0, mean = strcmp(how, "AVERAGE") == 0;
    int64_t n = f->n_leaves * f->n_targets;
    if (!low && !high && !mean && strcmp(how, "SUM") != 0)
        imp_fail(c, "onnx-E009", "aggregate_function is \"%s\"; SUM, AVERAGE, MIN and MAX are known", how);
    x = features_of(f, x);
    if (c->bad)
        return (tn_value){0};
    double none = low ? INFINITY : high ? -INFINITY : 0;
    bool gaps = false;
    for (int64_t i = 0; i < n; i++)
        if (!f->has[i]) {
            f->weight[i] = none;
            gaps = true;
        }
    tn_value y = ensemble_of(f, x, low ? "min" : high ? "max" : "sum");
    if (gaps && none != 0) { /* a target that no tree reaches */
        tn_value unreached = imp_with(c, &tn_op_equal, y, none);
        y = imp_choose(c, unreached, imp_const(c, f->t, 0), y);
    }
    if (mean)
        y = imp_binary(c, &tn_op_divide, y, imp_const(c, f->t, (double)f->n_trees));
    return y;
}

static void forest_deinit(forest *f)
{
    tn_vec_deinit(&f->feature);
    tn_vec_deinit(&f->kid);
    tn_vec_deinit(&f->leaf);
    tn_vec_deinit(&f->threshold);
    tn_vec_deinit(&f->todo);
}

/* X in the type of thresholds. */
static tn_value rows_in(forest *f)
{
    tn_value x = imp_in(f->c, 0);
    tn_dtype t = imp_type(x)->dtype;
    f->t = t.code == TN_FLOAT && t.bits == 64 ? TN_F64 : TN_F32;
    return imp_cast(f->c, x, f->t);
}

static tn_value with_base(forest *f, tn_value y)
{
    int64_t n;
    const double *v = numbers(f->c, "base_values", &n);
    if (n != 0 && n != f->n_targets)
        imp_fail(f->c, "onnx-E009", "base_values has %lld entries for %lld results", (long long)n,
                 (long long)f->n_targets);
    return n ? imp_binary(f->c, &tn_op_add, y, reals(f->c, f->t, n, v)) : y;
}

static void map_nodes(forest *f, tn_map *map)
{
    tn_ints tree = ints(f->c, "nodes_treeids"), id = ints(f->c, "nodes_nodeids");
    for (uint32_t i = 0; i < tree.n && i < id.n; i++)
        tn_map_put(map, (uint64_t)tree.at[i] * 0x9e3779b97f4a7c15u ^ (uint64_t)id.at[i], i);
}

/* The two older operators: nodes and weights. */
static void read_lists(forest *f, const char *prefix)
{
    tn_map map = {0};
    read_nodes(f);
    map_nodes(f, &map);
    if (!f->c->bad)
        read_weights(f, prefix, &map);
    tn_map_deinit(&map);
}

static void regressor(imp_node *c)
{
    forest f = {.c = c, .n_targets = imp_attr_int(c, "n_targets", 1)};
    tn_value x = rows_in(&f);
    const char *kind = imp_attr_string(c, "post_transform", "NONE");
    if (f.n_targets < 1 || f.n_targets > 1 << 20)
        imp_fail(c, "onnx-E009", "n_targets is %lld", (long long)f.n_targets);
    read_lists(&f, "target");
    tn_value y = with_base(&f, gathered(&f, x, imp_attr_string(c, "aggregate_function", "SUM")));
    imp_out(c, 0, onnx_ml_transform(c, imp_cast(c, y, TN_F32), kind));
    forest_deinit(&f);
}

static void ensemble(imp_node *c)
{
    static const char *const how[] = {"AVERAGE", "SUM", "MIN", "MAX"}, *const kinds[] = {
                                                                           "NONE", "SOFTMAX", "LOGISTIC",
                                                                           "SOFTMAX_ZERO", "PROBIT"};
    forest f = {.c = c, .n_targets = imp_attr_int(c, "n_targets", 1)};
    tn_value x = rows_in(&f);
    int64_t sum = imp_attr_int(c, "aggregate_function", 1), kind = imp_attr_int(c, "post_transform", 0);
    if (sum < 0 || sum > 3 || kind < 0 || kind > 4 || f.n_targets < 1 || f.n_targets > 1 << 20)
        imp_fail(c, "onnx-E009",
                 "aggregate_function %lld, post_transform %lld or n_targets %lld is out of range",
                 (long long)sum, (long long)kind, (long long)f.n_targets);
    if (!c->bad)
        read_ensemble(&f);
    tn_value y = c->bad ? x : gathered(&f, x, how[sum]);
    if (!c->bad)
        imp_out(c, 0, kind ? imp_cast(c, onnx_ml_transform(c, imp_cast(c, y, TN_F32), kinds[kind]), f.t) : y);
    forest_deinit(&f);
}

/* ---- TreeEnsembleClassifier ----
 * Of two classes that both have weights the larger score wins; ONNX Runtime says whether the second's is above 0. */

/* All weights are of the first class of two, as exporters write what is about the second: the score says both, as
 * ONNX Runtime has it. */
static tn_value one_of_two(imp_node *c, tn_value y, const char *kind, bool positive, tn_value *best)
{
    tn_value limit = imp_const(c, TN_F32, positive ? 0.5 : 0), other;
    *best = imp_cast(c, imp_squeeze(c, imp_binary(c, &tn_op_greater, y, limit), 1), TN_I64);
    if (strcmp(kind, "PROBIT") == 0)
        return onnx_ml_transform(c, y, kind);
    bool logistic = strcmp(kind, "LOGISTIC") == 0;
    other = positive && !logistic ? imp_binary(c, &tn_op_subtract, imp_const(c, TN_F32, 1), y)
                                  : imp_unary(c, &tn_op_negative, y);
    tn_value pair[2] = {other, y};
    tn_value both = imp_concat(c, 2, pair, 1);
    return logistic ? imp_unary(c, &tn_op_sigmoid, both) : both;
}

static void classifier(imp_node *c)
{
    int64_t n_label;
    forest f = {.c = c};
    tn_value x = rows_in(&f), best, label = onnx_ml_labels(c, "classlabels_int64s", &n_label);
    const char *kind = imp_attr_string(c, "post_transform", "NONE");
    if (!label.def && !c->bad)
        imp_fail(c, "onnx-E007", "attribute classlabels_int64s is missing; the model is damaged");
    f.n_targets = n_label;
    if (!c->bad && (n_label < 1 || n_label > 1 << 20))
        imp_fail(c, "onnx-E009", "classlabels_int64s has %lld entries", (long long)n_label);
    if (!c->bad)
        read_lists(&f, "class");
    bool used[2] = {false}, positive = true;
    for (int64_t i = 0; i < f.n_leaves * f.n_targets && !c->bad; i++) {
        used[i % f.n_targets > 0] |= f.has[i];
        positive &= f.weight[i] >= 0;
    }
    tn_value y = gathered(&f, x, "SUM");
    if (n_label == 2 && !used[1]) {
        int64_t n;
        const double *base = numbers(c, "base_values", &n);
        y = imp_slice(c, y, 1, 0, 1);
        if (n)
            y = imp_binary(c, &tn_op_add, y, imp_const(c, f.t, base[n - 1]));
        y = one_of_two(c, imp_cast(c, y, TN_F32), kind, positive, &best);
    } else {
        tn_arg_attr a = {.axis = 1, .dtype = TN_I64};
        tn_value limit = imp_const(c, TN_F32, positive ? 0.5 : 0);
        y = imp_cast(c, with_base(&f, y), TN_F32);
        best = n_label == 2 && !used[0]
                   ? imp_cast(
                         c, imp_binary(c, &tn_op_greater, imp_squeeze(c, imp_slice(c, y, 1, 1, 2), 1), limit),
                         TN_I64)
                   : imp_call1(c, &tn_op_argmax, &a, y);
        y = onnx_ml_transform(c, y, kind);
    }
    imp_out(c, 0, onnx_ml_label(c, label, best));
    imp_out_any(c, 1, y);
    forest_deinit(&f);
}

// clang-format off
const imp_row onnx_rows_trees[] = {
    {"TreeEnsemble",           5, 0, 1, 1, ensemble,   NULL},
    {"TreeEnsembleClassifier", 1, 0, 1, 2, classifier, NULL},
    {"TreeEnsembleRegressor",  1, 0, 1, 1, regressor,  NULL},
    {0},
};
// clang-format on
