/* Functions of a model: their bodies are converted where they are called, each time anew. A function sees its
 * parameters only, and may not call itself. */
#include "frontend/tensorflow/tf.h"

const tf_function *tf_find_function(const tf_import *t, tn_bytes name)
{
    uint64_t at;
    if (!name.n || !tn_strmap_get(&t->functions, (const char *)name.at, name.n, &at))
        return NULL;
    return (const tf_function *)t->def->library->function.at + at;
}

tf_graph *tf_function_graph(tf_import *t, const tf_function *fn)
{
    uint64_t at;
    if (tn_map_get(&t->graphs, tn_map_key(fn), &at))
        return (tf_graph *)(uintptr_t)at;
    tf_graph *g = tf_graph_new(t, &fn->node_def, true);
    tn_map_put(&t->graphs, tn_map_key(fn), (uint64_t)(uintptr_t)g);
    return g;
}

static bool under_way(const tf_import *t, const tf_function *fn)
{
    for (const tf_frame *f = t->frame; f; f = f->up)
        if (f->fn == fn)
            return true;
    return false;
}

static tn_bytes returned(const tf_function *fn, tn_bytes name)
{
    const tf_pair *p = fn->ret.at;
    for (size_t i = 0; i < fn->ret.n; i++)
        if (imp_same(p[i].key, name))
            return p[i].value;
    return (tn_bytes){0};
}

tn_bytes tf_returned(tf_import *t, const tf_function *fn, size_t k)
{
    const tf_arg *arg = fn->signature->output_arg.at;
    return tf_value_name(t, tf_function_graph(t, fn), returned(fn, arg[k].name), true);
}

/* The body, its parameters being defined. */
static void results(imp_node *c, const tf_function *fn, size_t n_out, imp_value out[])
{
    tf_import *t = tf_of(c);
    for (size_t i = 0; i < n_out; i++) {
        const imp_value *v = tf_value_of(t, tf_returned(t, fn, i), c->loc);
        out[i] = v ? *v : (imp_value){.state = IMP_BAD};
    }
}

static const tf_function *callable(imp_node *c, const tf_func *f, size_t n_in, size_t n_out)
{
    tf_import *t = tf_of(c);
    const tf_function *fn = tf_find_function(t, f->name);
    const char *name = imp_text(c->im, f->name);
    if (!fn || !fn->signature)
        imp_fail(c, "tensorflow-E031", "it calls function \"%s\", which the model does not have", name);
    else if (under_way(t, fn) || c->im->depth >= IMP_MAX_DEPTH)
        imp_fail(c, "tensorflow-E032",
                 "function \"%s\" calls itself, or functions are nested more than %d deep", name,
                 IMP_MAX_DEPTH);
    else if (fn->signature->input_arg.n != n_in || fn->signature->output_arg.n < n_out)
        imp_fail(
            c, "tensorflow-E017",
            "function \"%s\" takes %zu operands and gives %zu results, not %zu and %zu; the model is damaged",
            name, fn->signature->input_arg.n, fn->signature->output_arg.n, n_in, n_out);
    return c->bad ? NULL : fn;
}

bool tf_call(imp_node *c, const tf_func *f, size_t n_in, const imp_value in[], size_t n_out, imp_value out[])
{
    tf_import *t = tf_of(c);
    const tf_function *fn = c->bad || !f ? NULL : callable(c, f, n_in, n_out);
    if (!fn)
        return false;
    const tf_arg *arg = fn->signature->input_arg.at;
    tf_frame frame = {t->frame, fn, &f->attr, c->loc->node};
    tf_graph *outer = t->graph, *g = tf_function_graph(t, fn);
    imp_scope outside = imp_enter(c->im, true);
    t->frame = &frame;
    t->graph = g;
    if (!g->act) {
        tf_find_effects(t, g);
        if (tf_has_act(g, NULL))
            tf_find_reads(t, g);
    }
    for (size_t i = 0; i < n_in; i++)
        (void)imp_define(c->im, arg[i].name, in[i], c->loc);
    results(c, fn, n_out, out);
    for (size_t i = 0; i < g->n && !c->im->stopped; i++)
        if (g->act[i])
            tf_demand(t, (int64_t)i);
    t->graph = outer;
    t->frame = frame.up;
    imp_leave(c->im, &outside);
    for (size_t i = 0; i < n_out; i++)
        c->bad = c->bad || out[i].state == IMP_BAD;
    return !c->bad;
}
