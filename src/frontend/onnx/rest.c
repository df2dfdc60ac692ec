/* What is left of a graph where a node takes it along: where the rank of a result is the run's, what depends on it is
 * converted once for each rank (ops_if.c). What does not depend on it follows afterwards, so that several such results
 * cost the sum of their ways to go on and not the product. */
#include "frontend/onnx/onnx.h"

onnx_rest onnx_rest_of(onnx_import *o, const tn_pb_array *nodes, size_t n_result, const tn_bytes result[])
{
    const onnx_node *n = nodes->at;
    onnx_step *step = TN_NEW_N(&o->im.scratch, onnx_step, nodes->n);
    for (size_t i = 0; i < nodes->n; i++)
        step[i] = (onnx_step){&n[i], i, false};
    onnx_order_steps(o, nodes->n, step);
    return (onnx_rest){.step = step, .n_step = nodes->n, .n_result = n_result, .result = result};
}

/* ---- which nodes give what others read ---- */

static uint64_t key_of(imp_node *c, tn_bytes name)
{
    return tn_map_key(tn_intern(c->g->ctx, imp_text(c->im, name)));
}

static bool holds_any(imp_node *c, const tn_map *names, const tn_pb_array *list)
{
    const tn_bytes *name = list->at;
    uint64_t is;
    for (size_t i = 0; i < list->n; i++)
        if (name[i].n && tn_map_get(names, key_of(c, name[i]), &is))
            return true;
    return false;
}

static void add_all(imp_node *c, tn_map *names, const tn_pb_array *list)
{
    const tn_bytes *name = list->at;
    for (size_t i = 0; i < list->n; i++)
        if (name[i].n)
            tn_map_put(names, key_of(c, name[i]), 1);
}

typedef bool read_fn(imp_node *c, tn_map *names, const tn_pb_array *list);

/* fn for each list of names that a node reads, its graphs included, until one is true. Depth: that of graphs, bounded
 * by the reader of the file. */
static bool each_read(imp_node *c, const onnx_node *n, read_fn *fn, tn_map *names)
{
    const onnx_attr *a = n->attribute.at;
    bool found = fn(c, names, &n->input);
    for (size_t i = 0; i < n->attribute.n && !found; i++) {
        const onnx_graph *g = a[i].g;
        const onnx_node *inner = g ? g->node.at : NULL;
        for (size_t k = 0; g && k < g->node.n && !found; k++)
            found = each_read(c, &inner[k], fn, names);
        const onnx_value_info *v = g ? g->output.at : NULL;
        for (size_t k = 0; g && k < g->output.n && !found; k++)
            found = fn(c, names, &(tn_pb_array){(void *)(uintptr_t)&v[k].name, 1});
    }
    return found;
}

static bool is_read(imp_node *c, tn_map *names, const tn_pb_array *list) { return holds_any(c, names, list); }

static bool note_read(imp_node *c, tn_map *names, const tn_pb_array *list)
{
    add_all(c, names, list);
    return false;
}

enum which { OTHER, DEPENDENT, NEEDED };

/* Of each step after c: does it depend on c, or is it needed by one that does? Returns how many are needed. */
static size_t sort(imp_node *c, const onnx_rest *have, enum which which[])
{
    tn_map given = {0}, wanted = {0};
    size_t needed = 0;
    add_all(c, &given, &(tn_pb_array){(void *)(uintptr_t)c->out_name, c->n_out});
    for (size_t i = have->at; i < have->n_step; i++) {
        const onnx_node *n = have->step[i].node;
        which[i] = each_read(c, n, is_read, &given) ? DEPENDENT : OTHER;
        if (which[i] == DEPENDENT) {
            add_all(c, &given, &n->output);
            (void)each_read(c, n, note_read, &wanted);
        }
    }
    for (size_t i = have->n_step; i-- > have->at;) {
        const onnx_node *n = have->step[i].node;
        if (which[i] == OTHER && holds_any(c, &wanted, &n->output)) {
            which[i] = NEEDED;
            needed++;
            (void)each_read(c, n, note_read, &wanted);
        }
    }
    tn_map_deinit(&given);
    tn_map_deinit(&wanted);
    return needed;
}

/* ---- taking it apart ---- */

/* `have` with steps of its own, of which there are none yet; there is room for c and what follows. */
static onnx_rest empty(imp_node *c, const onnx_rest *have, onnx_step **out_step)
{
    onnx_rest rest = *have;
    *out_step = TN_NEW_N(&c->im->scratch, onnx_step, have->n_step - have->at + 1);
    rest.step = *out_step;
    rest.n_step = rest.at = 0;
    return rest;
}

static void put_off(imp_node *c, onnx_rest *have, const enum which which[])
{
    onnx_step *step;
    onnx_rest rest = empty(c, have, &step);
    for (size_t i = have->at; i < have->n_step; i++)
        if (which[i] == NEEDED)
            step[rest.n_step++] = have->step[i];
    step[rest.n_step] = have->step[have->at - 1];
    step[rest.n_step++].put_off = true;
    for (size_t i = have->at; i < have->n_step; i++)
        if (which[i] != NEEDED)
            step[rest.n_step++] = have->step[i];
    *have = rest;
    c->n_out = 0;
}

bool onnx_take_apart(imp_node *c, onnx_rest *have, onnx_rest *out_dependent, onnx_rest *out_others)
{
    enum which *which = TN_NEW_N(&c->im->scratch, enum which, have->n_step + 1);
    onnx_step *taken, *other;
    size_t needed = sort(c, have, which);
    if (needed && !have->step[have->at - 1].put_off) {
        put_off(c, have, which);
        return false;
    }
    *out_dependent = empty(c, have, &taken);
    *out_others = empty(c, have, &other);
    taken[out_dependent->n_step++] = have->step[have->at - 1];
    out_dependent->at = 1;
    for (size_t i = have->at; i < have->n_step;
         i++) /* what is needed and was not put before c needs c, or more */
        if (needed || which[i] == DEPENDENT)
            taken[out_dependent->n_step++] = have->step[i];
        else
            other[out_others->n_step++] = have->step[i];
    return true;
}

/* ---- copies ---- */

static bool is_output_of(tn_bytes name, size_t n, const tn_bytes at[])
{
    for (size_t i = 0; i < n; i++)
        if (at[i].n && imp_same(at[i], name))
            return true;
    return false;
}

/* Those results of c's graph that c or what follows computes. */
static void computed_results(imp_node *c, const onnx_rest *have, onnx_rest *rest)
{
    tn_bytes *name = TN_NEW_N(&c->im->scratch, tn_bytes, have->n_result);
    rest->n_result = 0;
    for (size_t k = 0; k < have->n_result; k++) {
        bool computed = is_output_of(have->result[k], c->n_out, c->out_name);
        for (size_t i = rest->at; i < rest->n_step && !computed; i++)
            computed =
                is_output_of(have->result[k], rest->step[i].node->output.n, rest->step[i].node->output.at);
        if (computed && !is_output_of(have->result[k], rest->n_result, name))
            name[rest->n_result++] = have->result[k];
    }
    rest->result = name;
}

onnx_rest *onnx_copy_rest(imp_node *c, const onnx_rest *have, int more)
{
    onnx_rest *rest = tn_arena_copy(&c->im->scratch, have, sizeof *have, _Alignof(onnx_rest));
    rest->around = more ? onnx_copy_rest(have->in_place_of, have->around, more - 1) : NULL;
    if (!more)
        computed_results(c, have, rest);
    return rest;
}
