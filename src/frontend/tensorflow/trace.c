/* How a model is wired outside of what its results need: which nodes initialise a variable or a table, and what they
 * read. A function sees parameters; what they are, its first call tells. */
#include "frontend/tensorflow/tf.h"

enum { MAX_STEPS = 64 };

static const tf_node *node_of(const tf_place *p) { return &p->graph->node[p->node]; }

/* ---- functions ---- */

/* The number of a function's parameter; TF_NONE: the name is none. */
static int64_t parameter(const tf_function *fn, tn_bytes name)
{
    const tf_arg *arg = fn ? fn->signature->input_arg.at : NULL;
    for (size_t i = 0; fn && i < fn->signature->input_arg.n; i++)
        if (imp_same(arg[i].name, name))
            return (int64_t)i;
    return TF_NONE;
}

/* The function of the model that a node calls; NULL: none. */
static const tf_function *callee(const tf_import *t, const tf_node_def *n)
{
    const tf_value *f = tf_find_attr(&n->attr, "f");
    const tf_function *fn = tf_find_function(t, f && f->func ? f->func->name : n->op);
    return fn && fn->signature ? fn : NULL;
}

/* Adds the calls among these nodes, which are those of `in`. */
static void list_calls(tf_import *t, const tn_pb_array *nodes, const tf_function *in)
{
    const tf_node_def *n = nodes->at;
    for (size_t i = 0; i < nodes->n; i++) {
        const tf_function *fn = callee(t, &n[i]);
        uint64_t had;
        if (!fn)
            continue;
        tn_vec_push(&t->calls, ((tf_call_site){in, (int64_t)i, TF_NONE}));
        if (tn_map_get(&t->callers, tn_map_key(fn), &had))
            tn_vec_last(&t->calls).next = (int64_t)had;
        tn_map_put(&t->callers, tn_map_key(fn), t->calls.n - 1);
    }
}

static void list_all_calls(tf_import *t)
{
    const tf_library *l = t->def->library;
    const tf_function *fn = l ? l->function.at : NULL;
    t->calls_listed = true;
    list_calls(t, &t->def->node, NULL);
    for (size_t i = 0; l && i < l->function.n; i++)
        if (fn[i].signature)
            list_calls(t, &fn[i].node_def, &fn[i]);
}

static const tf_place *find_call(tf_import *t, const tf_function *fn, int depth);

/* The only call of fn that the main graph leads to; NULL: there is none, or there are several. */
static const tf_place *only_call(tf_import *t, uint64_t first, int depth)
{
    tf_place *found = NULL;
    for (int64_t k = (int64_t)first; k != TF_NONE; k = t->calls.at[k].next) {
        const tf_call_site s = t->calls.at[k];
        if (s.in && !find_call(t, s.in, depth + 1))
            continue;
        if (found)
            return NULL;
        found = TN_NEW(&t->im.scratch, tf_place);
        *found = (tf_place){.graph = s.in ? tf_function_graph(t, s.in) : t->main, .fn = s.in, .node = s.node};
    }
    return found;
}

/* The call of fn that a call in the main graph leads to. SavedModels hold functions that nothing calls any more; where
 * there are several calls, none tells what a parameter is. Each function is looked up once. */
static const tf_place *find_call(tf_import *t, const tf_function *fn, int depth)
{
    uint64_t first, known;
    if (!t->calls_listed)
        list_all_calls(t);
    if (tn_map_get(&t->only_call, tn_map_key(fn), &known))
        return (const tf_place *)(uintptr_t)known;
    if (depth > IMP_MAX_DEPTH || !tn_map_get(&t->callers, tn_map_key(fn), &first))
        return NULL;
    tn_map_put(&t->only_call, tn_map_key(fn),
               0); /* while it is looked up, for functions that call themselves */
    const tf_place *p = only_call(t, first, depth);
    tn_map_put(&t->only_call, tn_map_key(fn), (uint64_t)(uintptr_t)p);
    return p;
}

/* ---- operands ---- */

typedef struct walk { /* the calls whose results were followed into functions */
    tf_place call[IMP_MAX_DEPTH];
    int depth;
} walk;

/* From a call to what computes its result in the function. */
static bool enter(tf_import *t, walk *w, tf_place *out, const tf_function *fn)
{
    const tf_node *n = node_of(out);
    size_t k = 0;
    while (k < n->n_out && !imp_same(n->out[k], out->value))
        k++;
    if (w->depth == IMP_MAX_DEPTH || k >= fn->signature->output_arg.n)
        return false;
    w->call[w->depth++] = *out;
    tf_graph *g = tf_function_graph(t, fn);
    tn_bytes value = tf_returned(t, fn, k);
    *out = (tf_place){g, fn, tf_find_node(g, tf_node_name(value)), value};
    return true;
}

/* From a function's parameter to the operand of its call. */
static bool leave(tf_import *t, walk *w, tf_place *out, size_t *in)
{
    int64_t k = parameter(out->fn, out->value);
    const tf_place *call = k < 0 ? NULL : w->depth ? &w->call[--w->depth] : find_call(t, out->fn, 0);
    if (!call)
        return false;
    *out = *call;
    *in = (size_t)k;
    return true;
}

bool tf_origin(tf_import *t, const tf_place *from, size_t in, tf_place *out)
{
    walk w = {.depth = 0};
    *out = *from;
    for (int step = 0; step < MAX_STEPS; step++) {
        const tf_node *n = node_of(out);
        if (in >= n->n_in)
            return false;
        out->value = n->in[in];
        out->node = n->from[in];
        for (const tf_function *fn; out->node != TF_NONE && (fn = callee(t, node_of(out)->def)) != NULL;)
            if (!enter(t, &w, out, fn))
                return false;
        if (out->node == TF_NONE) {
            if (!leave(t, &w, out, &in))
                return false;
        } else if (tf_is_op(node_of(out)->def, "Identity")) {
            in = 0;
        } else {
            return true;
        }
    }
    return false;
}

const tf_node_def *tf_place_def(const tf_place *p) { return node_of(p)->def; }

const tf_tensor *tf_place_constant(const tf_place *p)
{
    const tf_value *v =
        tf_is_op(node_of(p)->def, "Const") ? tf_find_attr(&node_of(p)->def->attr, "value") : NULL;
    return v ? v->tensor : NULL;
}

/* ---- all nodes ---- */

static bool visit(tf_import *t, const tf_visitor *v, const tn_pb_array *nodes, const tf_function *fn)
{
    const tf_node_def *n = nodes->at;
    for (size_t i = 0; i < nodes->n; i++) {
        if (!v->wants(&n[i]))
            continue;
        tf_place p = {.graph = fn ? tf_function_graph(t, fn) : t->main, .fn = fn, .node = (int64_t)i};
        if (!v->visit(t, &p, v->user))
            return false;
    }
    return true;
}

void tf_each_node(tf_import *t, const tf_visitor *v)
{
    const tf_library *l = t->def->library;
    const tf_function *fn = l ? l->function.at : NULL;
    bool more = visit(t, v, &t->def->node, NULL);
    for (size_t i = 0; more && l && i < l->function.n; i++)
        if (fn[i].signature)
            more = visit(t, v, &fn[i].node_def, &fn[i]);
}

/* ---- values ---- */

tn_value tf_place_value(imp_node *c, const tf_place *p)
{
    tf_import *t = tf_of(c);
    tf_graph *outer = t->graph;
    tf_frame *frame = t->frame;
    tn_region *r = c->im->r;
    if (c->bad || c->im->depth >= IMP_MAX_DEPTH)
        return (tn_value){0};
    imp_scope outside = imp_enter(c->im, true);
    t->graph = p->graph;
    t->frame = NULL;
    c->im->r = tn_graph_function(c->g, "main")->body;
    const imp_value *v = tf_value_of(t, p->value, c->loc);
    tn_value out = v && v->state == IMP_OK ? v->v : (tn_value){0};
    c->bad = !out.def;
    c->im->r = r;
    t->graph = outer;
    t->frame = frame;
    imp_leave(c->im, &outside);
    return out;
}
