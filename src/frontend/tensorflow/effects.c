/* What a run changes: variables that are assigned. TensorFlow orders reads and assignments by control edges, and runs
 * every assignment in the body of a function that is called. So control edges are followed where they lead to an
 * assignment, and in graphs that have one where they lead to a read; what checks or prints is left out.
 *
 * A function's effects are worked out once: which of its parameters are assigned. Linear in the nodes of the model. */
#include "frontend/tensorflow/tf.h"

#include <string.h>

enum { MAX_STEPS = 64, UNSEEN = 1 }; /* UNSEEN: a changed variable without a handle yet */

static bool assigns(const tf_node_def *n)
{
    static const char *const op[] = {"Assign",
                                     "AssignAdd",
                                     "AssignSub",
                                     "AssignVariableOp",
                                     "AssignAddVariableOp",
                                     "AssignSubVariableOp",
                                     "ResourceScatterAdd",
                                     "ResourceScatterSub",
                                     "ResourceScatterUpdate",
                                     "ResourceScatterNdUpdate",
                                     "ResourceScatterNdAdd",
                                     "ScatterAdd",
                                     "ScatterUpdate"};
    for (size_t i = 0; i < sizeof op / sizeof *op; i++)
        if (tf_is_op(n, op[i]))
            return true;
    return false;
}

/* ---- functions ---- */

const tf_function *tf_callee(const tf_import *t, const tf_node_def *n, size_t i, size_t *out_first)
{
    static const char *const attr[] = {"f", "body", "cond", "then_branch", "else_branch"};
    size_t k = 0;
    const tf_function *own = tf_find_function(t, n->op);
    *out_first = tf_is_op(n, "If") || tf_is_op(n, "StatelessIf") || tf_is_op(n, "Case") ||
                 tf_is_op(n, "StatelessCase");
    if (own)
        return i == 0 ? own : NULL;
    for (size_t a = 0; a < sizeof attr / sizeof *attr; a++) {
        const tf_value *v = tf_find_attr(&n->attr, attr[a]);
        if (v && v->func && k++ == i)
            return tf_find_function(t, v->func->name);
    }
    const tf_value *v = tf_find_attr(&n->attr, "branches");
    const tf_list *l = v ? v->list : NULL;
    return l && i - k < l->func.n ? tf_find_function(t, ((const tf_func *)l->func.at)[i - k].name) : NULL;
}

typedef struct effects {
    bool any;
    bool *param; /* by number: is it assigned? */
} effects;

static const effects *effects_of(tf_import *t, const tf_function *fn, int depth);

/* What is assigned where a node assigns its operand `in`: a parameter of fn, or a node. */
static void mark(tf_import *t, const tf_graph *g, const tf_function *fn, effects *e, const tf_node *n,
                 size_t in)
{
    for (int step = 0; step < MAX_STEPS && in < n->n_in; step++, in = 0) {
        if (n->from[in] == TF_NONE) {
            const tf_arg *arg = fn ? fn->signature->input_arg.at : NULL;
            for (size_t i = 0; fn && i < fn->signature->input_arg.n; i++)
                e->param[i] = e->param[i] || imp_same(arg[i].name, n->in[in]);
            return;
        }
        n = &g->node[n->from[in]];
        if (!tf_is_op(n->def, "Identity")) {
            tn_map_put(&t->changed, tn_map_key(n->def), UNSEEN);
            return;
        }
    }
}

/* Marks what node n assigns; false: nothing. e NULL: is there anything? */
static bool mark_node(tf_import *t, const tf_graph *g, const tf_function *fn, effects *e, const tf_node *n,
                      int depth)
{
    bool any = assigns(n->def);
    size_t first;
    if (any && e)
        mark(t, g, fn, e, n, 0);
    const tf_function *f;
    for (size_t i = 0; (f = tf_callee(t, n->def, i, &first)) != NULL; i++) {
        const effects *inner = effects_of(t, f, depth + 1);
        any = any || inner->any;
        for (size_t p = 0; e && inner->any && p < f->signature->input_arg.n && first + p < n->n_in; p++)
            if (inner->param[p])
                mark(t, g, fn, e, n, first + p);
    }
    return any;
}

static const effects *effects_of(tf_import *t, const tf_function *fn, int depth)
{
    static const effects none;
    uint64_t at;
    if (depth > IMP_MAX_DEPTH || !fn->signature)
        return &none;
    if (tn_map_get(&t->effects, tn_map_key(fn), &at))
        return (const effects *)(uintptr_t)at;
    effects *e = TN_NEW(&t->im.scratch, effects);
    *e = (effects){.param = TN_NEW_N(&t->im.scratch, bool, fn->signature->input_arg.n)};
    tn_map_put(&t->effects, tn_map_key(fn),
               (uint64_t)(uintptr_t)e); /* a function that calls itself ends here */
    const tf_graph *g = tf_function_graph(t, fn);
    for (size_t i = 0; i < g->n; i++)
        e->any = mark_node(t, g, fn, e, &g->node[i], depth) || e->any;
    return e;
}

bool tf_node_has_effects(tf_import *t, const tf_node_def *n)
{
    size_t first;
    const tf_function *fn;
    for (size_t i = 0; (fn = tf_callee(t, n, i, &first)) != NULL; i++)
        if (effects_of(t, fn, 0)->any)
            return true;
    return assigns(n);
}

/* ---- nodes ---- */

static int64_t before(const tf_node *n, size_t k)
{
    return k < n->n_in ? n->from[k] : n->control[k - n->n_in];
}

/* Who reads each node, or runs after it: of node i, to[first[i]] up to to[first[i + 1]]. */
static size_t *readers(tf_import *t, const tf_graph *g, size_t *first)
{
    for (int pass = 0; pass < 2; pass++) {
        size_t *to = pass ? TN_NEW_N(&t->im.scratch, size_t, first[g->n + 1]) : NULL;
        for (size_t i = 0; i < g->n; i++)
            for (size_t k = 0; k < g->node[i].n_in + g->node[i].n_control; k++) {
                int64_t from = before(&g->node[i], k);
                if (from != TF_NONE && pass)
                    to[first[from + 1]++] = i;
                else if (from != TF_NONE)
                    first[from + 2]++;
            }
        for (size_t i = 2; !pass && i < g->n + 2; i++)
            first[i] += first[i - 1];
        if (pass)
            return to;
    }
    return NULL;
}

void tf_spread(tf_import *t, const tf_graph *g, bool *reached, bool ends(const tf_node_def *n))
{
    size_t *first = TN_NEW_N(&t->im.scratch, size_t, g->n + 2), *to = readers(t, g, first);
    tn_vec(size_t) stack = {0};
    for (size_t i = 0; i < g->n; i++)
        if (reached[i])
            tn_vec_push(&stack, i);
    while (stack.n) {
        size_t i = tn_vec_pop(&stack);
        for (size_t k = first[i]; k < first[i + 1]; k++)
            if (!reached[to[k]] && !(ends && ends(g->node[to[k]].def))) {
                reached[to[k]] = true;
                tn_vec_push(&stack, to[k]);
            }
    }
    tn_vec_deinit(&stack);
}

/* It reads a variable, or may. */
static bool reads(const tf_import *t, const tf_node_def *n)
{
    size_t first;
    return tf_is_op(n, "ReadVariableOp") || tf_is_op(n, "ResourceGather") ||
           tf_is_op(n, "ResourceGatherNd") || tf_is_op(n, "VariableV2") || tf_is_op(n, "Variable") ||
           tf_callee(t, n, 0, &first);
}

void tf_find_effects(tf_import *t, tf_graph *g)
{
    bool any = false;
    if (g->act)
        return;
    g->act = TN_NEW_N(&t->im.scratch, bool, g->n + 1);
    g->effect = TN_NEW_N(&t->im.scratch, bool, g->n + 1);
    for (size_t i = 0; i < g->n; i++) {
        g->act[i] = g->effect[i] = tf_node_has_effects(t, g->node[i].def);
        any = any || g->act[i];
    }
    if (any)
        tf_spread(t, g, g->effect, NULL);
}

void tf_find_reads(tf_import *t, tf_graph *g)
{
    for (size_t i = 0; i < g->n; i++)
        g->effect[i] = g->effect[i] || reads(t, g->node[i].def);
    tf_spread(t, g, g->effect, NULL);
}

bool tf_has_act(const tf_graph *g, const bool among[])
{
    for (size_t i = 0; i < g->n; i++)
        if (g->act[i] && (!among || among[i]))
            return true;
    return false;
}

void tf_mark_changes(tf_import *t, const bool needed[])
{
    effects e = {0};
    for (size_t i = 0; i < t->main->n; i++)
        if (needed[i] && t->main->act[i])
            (void)mark_node(t, t->main, NULL, &e, &t->main->node[i], 0);
}

void tf_share_change(tf_import *t, const tf_node_def *variable, tn_value handle)
{
    uint64_t had;
    if (!handle.def || !tn_map_get(&t->changed, tn_map_key(variable), &had))
        return;
    if (had != UNSEEN)
        tn_map_put(&t->resources, tn_map_key(handle.def), had);
    else
        tn_map_put(&t->changed, tn_map_key(variable), (uint64_t)(uintptr_t)tf_resource_of(t, handle));
}

bool tf_is_changed(const tf_import *t, const tf_node_def *variable)
{
    uint64_t one;
    return tn_map_get(&t->changed, tn_map_key(variable), &one);
}
