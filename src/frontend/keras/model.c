/* Models: the calls of their layers in an order of computation. A Sequential is a chain; a Functional model lists for
 * each layer its calls, whose arguments name results of others by layer, call and number. */
#include "frontend/keras/keras.h"

#include <string.h>

typedef struct ref { /* a result of a call */
    size_t call, result;
} ref;

typedef struct call_of {
    keras_layer *layer;
    const tn_json *json; /* NULL: an input */
} call_of;

typedef struct keras_graph {
    bool sequential;
    size_t n_call, n_input, n_output;
    call_of *call;
    ref *input, *output;
    tn_strmap first; /* layer -> its first call << 24 | how many | flags */
    bool at_ends;    /* references are those of the model's own inputs and outputs */
} keras_graph;

enum { COUNT_BITS = 24 };
/* Calls are counted from 1: by the operands of calls, by the ends of the model. */
#define FROM_ONE (UINT64_C(1) << 63)
#define ENDS_FROM_ONE (UINT64_C(1) << 62)

/* ---- references ---- */

/* ["dense", 0, 0] with optional arguments behind, or a tensor of Keras 3: the layer's entry in `first`, its call. */
static bool is_mention(const keras_graph *g, const tn_json *v, uint64_t *out_layer, ref *out)
{
    if (tn_json_is(v, TN_JSON_OBJECT) && tn_json_is_text(tn_json_find(v, "class_name"), "__keras_tensor__"))
        v = tn_json_find(tn_json_find(v, "config"), "keras_history");
    tn_bytes name = keras_bytes(keras_at(v, 0));
    bool shaped = name.n && (v->n == 3 || (v->n == 4 && v->u.at[3].kind == TN_JSON_OBJECT)) &&
                  tn_json_is(&v->u.at[1], TN_JSON_INT) && tn_json_is(&v->u.at[2], TN_JSON_INT);
    if (!shaped || !tn_strmap_get(&g->first, (const char *)name.at, name.n, out_layer))
        return false;
    *out = (ref){(size_t)v->u.at[1].u.i, (size_t)v->u.at[2].u.i};
    return true;
}

static uint64_t count_of(uint64_t layer) { return layer & ((1 << COUNT_BITS) - 1); }

static bool is_ref(const keras_graph *g, const tn_json *v, ref *out)
{
    uint64_t layer;
    ref at;
    if (!is_mention(g, v, &layer, &at))
        return false;
    size_t call = at.call - ((layer & (g->at_ends ? ENDS_FROM_ONE : FROM_ONE)) != 0);
    bool inside = call < count_of(layer) && at.result <= INT32_MAX;
    size_t first = (size_t)((layer & ~(FROM_ONE | ENDS_FROM_ONE)) >> COUNT_BITS);
    *out = (ref){inside ? first + call : SIZE_MAX, at.result};
    return true;
}

/* The references in a structure of lists and objects, in their order; at most `most`. Depth: JSON's. */
static size_t find_refs(const keras_graph *g, const tn_json *v, size_t most, ref out[])
{
    ref r;
    size_t n = 0;
    if (!v || most == 0)
        return 0;
    if (is_ref(g, v, &r)) {
        out[n++] = r;
        return n + (v->kind == TN_JSON_ARRAY && v->n == 4 ? find_refs(g, &v->u.at[3], most - n, out + n) : 0);
    }
    for (uint32_t i = 0; v->kind == TN_JSON_ARRAY && i < v->n; i++)
        n += find_refs(g, &v->u.at[i], most - n, out + n);
    for (uint32_t i = 0; v->kind == TN_JSON_OBJECT && i < v->n; i++)
        n += find_refs(g, &v->u.at[2 * i + 1], most - n, out + n);
    return n;
}

static size_t count_values(const tn_json *v)
{
    size_t n = 1;
    for (uint32_t i = 0; v && v->kind == TN_JSON_ARRAY && i < v->n; i++)
        n += count_values(&v->u.at[i]);
    for (uint32_t i = 0; v && v->kind == TN_JSON_OBJECT && i < v->n; i++)
        n += count_values(&v->u.at[2 * i + 1]);
    return n;
}

/* ---- reading ---- */

static const tn_json *layers_of(const keras_layer *m) { return tn_json_find(m->config, "layers"); }

static bool is_input(const keras_layer *l) { return l && strcmp(l->class, "InputLayer") == 0; }

static bool is_sequential(const keras_layer *l)
{
    return strcmp(l->class, "Sequential") == 0 || strcmp(l->class, "Pipeline") == 0;
}

static bool is_functional(const keras_layer *l)
{
    return l && l->row && (l->row->flags & KERAS_MODEL) && !is_sequential(l);
}

static size_t calls_of(const keras_layer *m, size_t i, const tn_json **out)
{
    *out = tn_json_find(keras_at(layers_of(m), i), "inbound_nodes");
    size_t n = tn_json_is(*out, TN_JSON_ARRAY) ? (*out)->n : 0;
    return n ? n & ((1 << COUNT_BITS) - 1) : is_input(m->inside[i]);
}

/* Up to Keras 2 the call 0 of a model inside is the one that made it, which the file does not have. A file has only
 * calls whose results are used, so a reference as high as their number tells. Keras 3 has no such call, but the ends of
 * a model still count as if a Functional model inside had one. Depth: JSON's. */
static void find_made(keras_graph *g, const tn_json *v)
{
    uint64_t layer;
    ref at;
    if (is_mention(g, v, &layer, &at) && at.call == count_of(layer)) {
        tn_bytes name = keras_bytes(keras_at(v, 0));
        tn_strmap_put(&g->first, (const char *)name.at, name.n, layer | FROM_ONE | ENDS_FROM_ONE);
    }
    for (uint32_t i = 0; v && v->kind == TN_JSON_ARRAY && i < v->n; i++)
        find_made(g, &v->u.at[i]);
    for (uint32_t i = 0; v && v->kind == TN_JSON_OBJECT && i < v->n; i++)
        find_made(g, &v->u.at[2 * i + 1]);
}

static ref *read_ends(keras_import *k, const keras_layer *m, const char *key, size_t *out_n)
{
    const tn_json *v = tn_json_find(m->config, key);
    size_t most = count_values(v);
    ref *r = TN_NEW_N(&k->im.scratch, ref, most);
    m->graph->at_ends = true;
    *out_n = find_refs(m->graph, v, most, r);
    m->graph->at_ends = false;
    for (size_t i = 0; i < *out_n; i++)
        if (r[i].call == SIZE_MAX)
            *out_n = 0;
    return r;
}

static void read_functional(keras_import *k, keras_layer *m)
{
    keras_graph *g = m->graph;
    const tn_json *nodes;
    for (size_t i = 0; i < m->n_inside; i++)
        g->n_call += calls_of(m, i, &nodes);
    g->call = TN_NEW_N(&k->im.scratch, call_of, g->n_call + 1);
    g->n_call = 0;
    for (size_t i = 0; i < m->n_inside; i++) {
        tn_bytes name = keras_bytes(tn_json_find(keras_at(layers_of(m), i), "name"));
        size_t n = calls_of(m, i, &nodes);
        if (!name.n) /* of Keras 1 */
            name = keras_bytes(tn_json_find(tn_json_find(keras_at(layers_of(m), i), "config"), "name"));
        uint64_t ends = k->version >= 3 && is_functional(m->inside[i]) ? ENDS_FROM_ONE : 0;
        tn_strmap_put(&g->first, (const char *)name.at, name.n, (uint64_t)g->n_call << COUNT_BITS | n | ends);
        for (size_t j = 0; j < n; j++)
            g->call[g->n_call++] =
                (call_of){m->inside[i], is_input(m->inside[i]) ? NULL : keras_at(nodes, j)};
    }
    for (size_t i = 0; i < m->n_inside && k->version < 3; i++)
        find_made(g, tn_json_find(keras_at(layers_of(m), i), "inbound_nodes"));
    if (k->version < 3)
        find_made(g, tn_json_find(m->config, "output_layers"));
    g->input = read_ends(k, m, "input_layers", &g->n_input);
    g->output = read_ends(k, m, "output_layers", &g->n_output);
    if (!g->n_output)
        (void)imp_error(&k->im, IMP_NO_OUTPUTS, m->loc,
                        "the model has no outputs, or one that no layer computes");
}

static keras_graph *graph_of(keras_import *k, keras_layer *m)
{
    if (m->graph)
        return m->graph;
    m->graph = TN_NEW(&k->im.scratch, keras_graph);
    tn_vec_push(&k->graphs, m->graph);
    m->graph->sequential = is_sequential(m);
    if (!m->graph->sequential)
        read_functional(k, m);
    return m->graph;
}

/* ---- arguments ---- */

typedef struct run { /* one call of a model */
    keras_import *k;
    keras_layer *model;
    const keras_graph *g;
    keras_call **done; /* by number; NULL: not yet */
} run;

static keras_tensor result_of(const run *r, ref at)
{
    const keras_call *call = at.call < r->g->n_call ? r->done[at.call] : NULL;
    return call && at.result < call->n_out ? call->out[at.result] : (keras_tensor){0};
}

/* A tensor, a list with tensors in it, or a constant. */
static keras_argument argument(const run *r, tn_bytes name, const tn_json *v)
{
    keras_argument a = {.name = name, .json = v};
    ref at, none[1];
    tn_arena *arena = &r->k->im.scratch;
    if (is_ref(r->g, v, &at)) {
        a.n = 1;
        a.at = TN_NEW(arena, keras_tensor);
        a.at[0] = result_of(r, at);
    } else if ((v->kind == TN_JSON_ARRAY || v->kind == TN_JSON_OBJECT) && find_refs(r->g, v, 1, none)) {
        size_t step = v->kind == TN_JSON_ARRAY ? 1 : 2;
        a.is_list = true;
        a.at = TN_NEW_N(arena, keras_tensor, v->n);
        for (uint32_t i = 0; i < v->n; i++) {
            const tn_json *item = &v->u.at[step * i + step - 1];
            a.at[a.n++] = is_ref(r->g, item, &at) ? result_of(r, at) : (keras_tensor){.json = item};
        }
    }
    return a;
}

static void add_named(const run *r, keras_call *call, const tn_json *named)
{
    for (uint32_t i = 0; tn_json_is(named, TN_JSON_OBJECT) && i < named->n; i++)
        call->arg[call->n_arg++] = argument(r, keras_bytes(&named->u.at[2 * i]), &named->u.at[2 * i + 1]);
}

/* Keras 1 and 2: a list of references, each with the call's further arguments behind it; a lone one may stand
 * without the list. ["_CONSTANT_VALUE", -1, 2.0, {}] is a number in a tensor's place. */
static void read_arguments_of_list(const run *r, keras_call *call, const tn_json *v)
{
    ref at;
    bool lone = is_ref(r->g, v, &at) || tn_json_is_text(keras_at(v, 0), "_CONSTANT_VALUE");
    size_t n = lone ? 1 : tn_json_is(v, TN_JSON_ARRAY) ? v->n : 0;
    keras_argument a = {.is_list = n > 1, .at = TN_NEW_N(&r->k->im.scratch, keras_tensor, n + 1)};
    const tn_json *named = NULL;
    for (size_t i = 0; i < n; i++) {
        const tn_json *item = lone ? v : &v->u.at[i];
        if (is_ref(r->g, item, &at))
            a.at[a.n++] = result_of(r, at);
        else if (tn_json_is_text(keras_at(item, 0), "_CONSTANT_VALUE") && item->n >= 3)
            a.at[a.n++] = (keras_tensor){.json = &item->u.at[2]};
        named = tn_json_is(item, TN_JSON_ARRAY) && item->n == 4 ? &item->u.at[3] : named;
    }
    call->arg =
        TN_NEW_N(&r->k->im.scratch, keras_argument, 1 + (tn_json_is(named, TN_JSON_OBJECT) ? named->n : 0));
    call->arg[call->n_arg++] = a;
    add_named(r, call, named);
}

static void read_arguments(const run *r, keras_call *call, const tn_json *v)
{
    const tn_json *args = tn_json_find(v, "args"), *named = tn_json_find(v, "kwargs");
    if (!tn_json_is(v, TN_JSON_OBJECT) || !tn_json_is(args, TN_JSON_ARRAY)) {
        read_arguments_of_list(r, call, v);
        return;
    }
    size_t n = args->n + (tn_json_is(named, TN_JSON_OBJECT) ? named->n : 0);
    call->arg = TN_NEW_N(&r->k->im.scratch, keras_argument, n + 1);
    for (uint32_t i = 0; i < args->n; i++)
        call->arg[call->n_arg++] = argument(r, (tn_bytes){0}, &args->u.at[i]);
    add_named(r, call, named);
}

/* ---- computing ---- */

typedef struct frame {
    size_t call, next, n_ref;
    ref *ref;
} frame;

static void do_call(const run *r, size_t i)
{
    keras_call *call = TN_NEW(&r->k->im.scratch, keras_call);
    const call_of *what = &r->g->call[i];
    call->layer = what->layer;
    if (what->layer && what->json) {
        read_arguments(r, call, what->json);
        keras_convert(r->k, call, r->k->im.r);
    }
    r->done[i] = call;
}

typedef tn_vec(frame) frames;

static void push(const run *r, frames *stack, size_t call)
{
    frame f = {.call = call};
    const tn_json *json = r->g->call[call].json;
    size_t most = json ? count_values(json) : 0;
    f.ref = TN_NEW_N(&r->k->im.scratch, ref, most + 1);
    f.n_ref = find_refs(r->g, json, most, f.ref);
    tn_vec_push(stack, f);
}

/* Call `last` and all that it needs, depth first; the stack is our own. */
static bool compute(const run *r, size_t last, uint8_t open[])
{
    frames stack = {0};
    bool ok = true;
    if (!r->done[last])
        push(r, &stack, last);
    while (stack.n && ok && !r->k->im.stopped) {
        frame *f = &tn_vec_last(&stack);
        open[f->call] = 1;
        size_t next = f->next < f->n_ref ? f->ref[f->next++].call : SIZE_MAX - 1;
        if (next == SIZE_MAX || (next < r->g->n_call && !r->done[next] && open[next])) {
            const keras_layer *l = r->g->call[f->call].layer;
            ok = imp_error(&r->k->im, IMP_UNKNOWN_NAME, l ? l->loc : r->model->loc,
                           "an operand is a result that no layer gives, or one that needs itself; the model "
                           "is damaged") == TN_OK;
        } else if (next < r->g->n_call) {
            if (!r->done[next])
                push(r, &stack, next);
        } else {
            do_call(r, f->call);
            (void)tn_vec_pop(&stack);
        }
    }
    tn_vec_deinit(&stack);
    return ok && !r->k->im.stopped;
}

static void set_input(const run *r, ref at, const keras_tensor *in)
{
    keras_call *call = TN_NEW(&r->k->im.scratch, keras_call);
    call->layer = r->g->call[at.call].layer;
    call->n_out = 1;
    call->out[0] = *in;
    r->done[at.call] = call;
}

static bool run_functional(run *r, size_t n, const keras_tensor in[], keras_call *out)
{
    const keras_graph *g = r->g;
    uint8_t *open = TN_NEW_N(&r->k->im.scratch, uint8_t, g->n_call + 1);
    r->done = TN_NEW_N(&r->k->im.scratch, keras_call *, g->n_call + 1);
    if (n != g->n_input)
        return imp_error(&r->k->im, IMP_OPERANDS, r->model->loc,
                         "the model has %zu inputs, but is called with %zu; it is damaged", g->n_input,
                         n) == TN_OK;
    for (size_t i = 0; i < n; i++)
        set_input(r, g->input[i], &in[i]);
    for (size_t i = 0; i < g->n_output; i++)
        if (!compute(r, g->output[i].call, open))
            return false;
    for (size_t i = 0; i < g->n_output && out->n_out < KERAS_MAX_RESULTS; i++)
        out->out[out->n_out++] = result_of(r, g->output[i]);
    return true;
}

static bool run_sequential(const run *r, const keras_tensor *in, keras_call *out)
{
    keras_tensor x = *in;
    for (size_t i = 0; i < r->model->n_inside; i++) {
        keras_layer *l = r->model->inside[i];
        if (is_input(l))
            continue;
        keras_call *call = TN_NEW(&r->k->im.scratch, keras_call);
        *call = (keras_call){.layer = l, .n_arg = 1, .arg = TN_NEW(&r->k->im.scratch, keras_argument)};
        call->arg[0] = (keras_argument){.n = 1, .at = TN_NEW(&r->k->im.scratch, keras_tensor)};
        call->arg[0].at[0] = x;
        if (l)
            keras_convert(r->k, call, r->k->im.r);
        x = call->n_out ? call->out[0] : (keras_tensor){0};
    }
    out->out[out->n_out++] = x;
    return true;
}

bool keras_run(keras_import *k, keras_layer *model, size_t n, const keras_tensor in[], keras_call *out)
{
    run r = {.k = k, .model = model, .g = graph_of(k, model)};
    out->n_out = 0;
    return r.g->sequential ? n > 0 && run_sequential(&r, in, out) : run_functional(&r, n, in, out);
}

/* A model inside another. */
void keras_call_model(imp_node *c)
{
    keras_call *call = keras_call_of(c);
    keras_import *k = keras_of(c);
    const keras_argument *a = call->n_arg ? &call->arg[0] : NULL;
    size_t n = a ? a->n : 0;
    if (++k->depth > KERAS_MAX_DEPTH)
        imp_refuse(c, IMP_TOO_LARGE, "models inside models are nested too deep; the model is damaged");
    else if (!n)
        imp_refuse(c, IMP_OPERANDS,
                   "a model inside the model is called without operands; the model is damaged");
    else if (!keras_run(k, call->layer, n, a->at, call))
        c->bad = true;
    k->depth--;
    call->layer->checked = true;
}

void keras_free_graphs(keras_import *k)
{
    for (size_t i = 0; i < k->graphs.n; i++)
        tn_strmap_deinit(&k->graphs.at[i]->first);
    tn_vec_deinit(&k->graphs);
}

/* ---- ends of the outermost model ---- */

size_t keras_inputs(keras_import *k, keras_layer *model, keras_layer ***out)
{
    const keras_graph *g = graph_of(k, model);
    *out = TN_NEW_N(&k->im.scratch, keras_layer *, g->n_input + 1);
    if (g->sequential) {
        (*out)[0] = model->n_inside ? model->inside[0] : NULL;
        return (*out)[0] != NULL;
    }
    for (size_t i = 0; i < g->n_input; i++)
        (*out)[i] = g->call[g->input[i].call].layer;
    return g->n_input;
}

const char *keras_result_name(keras_import *k, keras_layer *model, size_t i)
{
    const keras_graph *g = graph_of(k, model);
    const keras_layer *l = NULL;
    if (!g->sequential)
        l = g->call[g->output[i].call].layer;
    else if (model->n_inside)
        l = model->inside[model->n_inside - 1];
    return l && *l->name ? l->name : "output";
}
