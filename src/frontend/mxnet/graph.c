/* The graph of a symbol's JSON, read and checked: nodes in an order of computation, which have names, texts as
 * attributes and operands (node, output). All dialects: attributes called "param" (up to 0.8; "attr" holds the user's
 * then), "attr" (0.9 to 0.12) and "attrs". Values get the names that MXNet gives them. Linear in the number of
 * nodes. */
#include "frontend/mxnet/mxnet.h"

#include <string.h>

enum { MAX_OUTPUTS = 4096 };

static tn_bytes text(const tn_json *v)
{
    return tn_json_is(v, TN_JSON_STRING) ? (tn_bytes){(const uint8_t *)v->u.s, v->n} : (tn_bytes){0};
}

static bool damaged(mx_import *m, const char *what)
{
    (void)tn_error(m->im.g->ctx, "mxnet-E001", &(tn_loc){.file = m->im.file}, "the symbol is damaged: %s%s",
                   what, imp_again(what));
    return false;
}

tn_bytes mx_attr_text(const mx_node *n, const char *name) { return text(tn_json_find(n->attr, name)); }

/* ---- operands ---- */

/* [node, output] or [node, output, version]: the node's number, below `before`; -1: it is none. */
static int64_t entry(const tn_json *e, uint32_t before, uint32_t *out)
{
    bool ok = tn_json_is(e, TN_JSON_ARRAY) && (e->n == 2 || e->n == 3) && e->u.at[0].kind == TN_JSON_INT &&
              e->u.at[1].kind == TN_JSON_INT && e->u.at[0].u.i >= 0 && e->u.at[0].u.i < before &&
              e->u.at[1].u.i >= 0 && e->u.at[1].u.i < MAX_OUTPUTS;
    *out = ok ? (uint32_t)e->u.at[1].u.i : 0;
    return ok ? e->u.at[0].u.i : -1;
}

/* What a loss is told while it is trained has no bearing on its result. */
static uint32_t without_labels(tn_bytes op, uint32_t n)
{
    static const char *const loss[] = {
        "SoftmaxOutput",      "Softmax", "LinearRegressionOutput", "SVMOutput", "LogisticRegressionOutput",
        "MAERegressionOutput"};
    for (size_t i = 0; i < sizeof loss / sizeof *loss; i++)
        if (imp_is(op, loss[i]) && n > 1)
            return 1;
    return n;
}

static bool read_inputs(mx_import *m, mx_graph *g, uint32_t i, const tn_json *inputs)
{
    mx_node *n = &g->node[i];
    uint32_t output;
    if (!tn_json_is(inputs, TN_JSON_ARRAY))
        return damaged(m, "a node has no inputs");
    n->n_in = without_labels(n->op, inputs->n);
    for (uint32_t k = 0; k < n->n_in; k++) {
        int64_t from = entry(&inputs->u.at[k], i, &output);
        if (from < 0)
            return damaged(m, "an operand is not the result of an earlier node");
        if (output >= g->node[from].n_out)
            g->node[from].n_out = output + 1;
    }
    return true;
}

static bool read_heads(mx_import *m, mx_graph *g, const tn_json *heads)
{
    uint32_t output;
    if (!tn_json_is(heads, TN_JSON_ARRAY) || !heads->n)
        return damaged(m, "it has no heads, the results");
    g->n_head = heads->n;
    for (uint32_t k = 0; k < heads->n; k++) {
        int64_t from = entry(&heads->u.at[k], g->n, &output);
        if (from < 0)
            return damaged(m, "a head is not the result of a node");
        g->node[from].used = true;
        if (output >= g->node[from].n_out)
            g->node[from].n_out = output + 1;
    }
    return true;
}

/* ---- nodes ---- */

static bool read_node(mx_import *m, mx_graph *g, uint32_t i, const tn_json *v)
{
    static const char *const key[] = {"attrs", "param", "attr"};
    mx_node *n = &g->node[i];
    *n = (mx_node){.op = text(tn_json_find(v, "op")), .name = text(tn_json_find(v, "name")), .n_out = 1};
    n->graphs = tn_json_find(v, "subgraphs");
    for (size_t k = 0; k < sizeof key / sizeof *key && !n->attr; k++)
        n->attr = tn_json_find(v, key[k]);
    if (!n->op.n || !n->name.at)
        return damaged(m, "a node has no operator or no name");
    if (n->attr && n->attr->kind != TN_JSON_OBJECT)
        return damaged(m, "the attributes of a node are not an object");
    for (uint32_t k = 0; n->attr && k < n->attr->n; k++)
        if (n->attr->u.at[2 * k + 1].kind != TN_JSON_STRING)
            return damaged(m, "an attribute of a node is not a text");
    return read_inputs(m, g, i, tn_json_find(v, "inputs"));
}

/* A name that nothing else has. */
static tn_bytes unique(mx_import *m, tn_bytes name, const char *suffix, uint32_t number, bool numbered)
{
    tn_arena *a = &m->im.scratch;
    uint64_t count = 0;
    char *s = tn_arena_printf(a, numbered ? "%.*s%s%u" : "%.*s%s", (int)name.n, (const char *)name.at, suffix,
                              (unsigned)number);
    if (tn_strmap_get(&m->names, s, strlen(s), &count)) {
        tn_strmap_put(&m->names, s, strlen(s), count + 1);
        s = tn_arena_printf(a, "%s#%llu", s, (unsigned long long)count);
    }
    tn_strmap_put(&m->names, s, strlen(s), 1);
    return (tn_bytes){(const uint8_t *)s, strlen(s)};
}

static void name_values(mx_import *m, mx_graph *g)
{
    for (uint32_t i = 0; i < g->n; i++) {
        mx_node *n = &g->node[i];
        bool variable = imp_is(n->op, "null");
        n->out = TN_NEW_N(&m->im.scratch, tn_bytes, n->n_out);
        for (uint32_t k = 0; k < n->n_out; k++)
            n->out[k] = unique(m, n->name, variable ? "" : "_output", k, n->n_out > 1);
    }
}

/* Operands and heads by the names of values; what no head needs is not used. */
static void link_values(mx_import *m, mx_graph *g, const tn_json *nodes, const tn_json *heads)
{
    uint32_t output;
    for (uint32_t i = g->n; i-- > 0;) {
        mx_node *n = &g->node[i];
        const tn_json *inputs = tn_json_find(&nodes->u.at[i], "inputs");
        n->in = TN_NEW_N(&m->im.scratch, tn_bytes, n->n_in);
        for (uint32_t k = 0; k < n->n_in; k++) {
            mx_node *from = &g->node[entry(&inputs->u.at[k], i, &output)];
            n->in[k] = from->out[output];
            from->used = from->used || n->used;
        }
    }
    g->head = TN_NEW_N(&m->im.scratch, tn_bytes, g->n_head);
    for (uint32_t k = 0; k < g->n_head; k++) {
        const mx_node *from = &g->node[entry(&heads->u.at[k], g->n, &output)];
        g->head[k] = from->out[output];
    }
}

mx_graph *mx_read_graph(mx_import *m, const tn_json *root)
{
    const tn_json *nodes = tn_json_find(root, "nodes"), *heads = tn_json_find(root, "heads");
    mx_graph *g = TN_NEW(&m->im.scratch, mx_graph);
    if (!tn_json_is(nodes, TN_JSON_ARRAY)) {
        (void)damaged(m, "it has no nodes");
        return NULL;
    }
    *g = (mx_graph){.n = nodes->n, .node = TN_NEW_N(&m->im.scratch, mx_node, nodes->n)};
    for (uint32_t i = 0; i < g->n; i++)
        if (!read_node(m, g, i, &nodes->u.at[i]))
            return NULL;
    if (!read_heads(m, g, heads))
        return NULL;
    name_values(m, g);
    link_values(m, g, nodes, heads);
    return g;
}
