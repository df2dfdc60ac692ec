/* The order of nodes. ONNX asks that a node stands behind those that compute its operands, but tools write
 * files in which it does not, and ONNX Runtime sorts them. Nodes keep their order but for those that are
 * moved in front of the first node that needs them. Where nodes form a cycle all stay as they are, and
 * converting them reports it. Linear in the number of operands. */
#include "frontend/onnx/onnx.h"

#include "base/vec.h"

#include <string.h>

typedef tn_vec(size_t) numbers;

typedef struct order {
    onnx_import *o;
    tn_strmap maker; /* name -> the step that computes it */
    numbers need;    /* steps whose results each step reads, one step after the other */
    numbers first;   /* where those of each step begin; the last: their end */
    bool wrong;      /* a step reads what it or a later one computes */
} order;

/* ---- who needs whom ---- */

/* What can be seen without the nodes has its meaning already. */
static void add_name(order *b, size_t reader, tn_bytes name)
{
    uint64_t at;
    if (!name.n || !tn_strmap_get(&b->maker, (const char *)name.at, name.n, &at) ||
        imp_lookup(&b->o->im, name))
        return;
    tn_vec_push(&b->need, (size_t)at);
    b->wrong = b->wrong || at >= reader;
}

/* Depth: that of graphs, bounded by the reader of the file. */
static void add_node(order *b, size_t reader, const onnx_node *n)
{
    const tn_bytes *in = n->input.at;
    const onnx_attr *a = n->attribute.at;
    for (size_t i = 0; i < n->input.n; i++)
        add_name(b, reader, in[i]);
    for (size_t i = 0; i < n->attribute.n; i++) {
        const onnx_graph *g = a[i].g;
        const onnx_node *inner = g ? g->node.at : NULL;
        const onnx_value_info *out = g ? g->output.at : NULL;
        for (size_t k = 0; g && k < g->node.n; k++)
            add_node(b, reader, &inner[k]);
        for (size_t k = 0; g && k < g->output.n; k++)
            add_name(b, reader, out[k].name);
    }
}

static void collect(order *b, size_t n, const onnx_step step[])
{
    for (size_t i = n; i-- > 0;) {
        const tn_bytes *out = step[i].node->output.at;
        for (size_t k = 0; k < step[i].node->output.n; k++)
            if (out[k].n)
                tn_strmap_put(&b->maker, (const char *)out[k].at, out[k].n, i);
    }
    for (size_t i = 0; i < n; i++) {
        tn_vec_push(&b->first, b->need.n);
        add_node(b, i, step[i].node);
    }
    tn_vec_push(&b->first, b->need.n);
}

/* ---- sorting ---- */

enum { NEW, BEGUN, DONE };

/* Puts a step behind all that it needs; `next`: where each step that has begun goes on. false: it needs itself. */
static bool place(order *b, size_t at, uint8_t state[], size_t next[], numbers *begun, numbers *out)
{
    state[at] = BEGUN;
    tn_vec_push(begun, at);
    while (begun->n) {
        at = begun->at[begun->n - 1];
        if (next[at] == b->first.at[at + 1]) {
            state[at] = DONE;
            tn_vec_push(out, at);
            begun->n--;
            continue;
        }
        size_t needed = b->need.at[next[at]++];
        if (state[needed] == BEGUN)
            return false;
        if (state[needed] == NEW) {
            state[needed] = BEGUN;
            tn_vec_push(begun, needed);
        }
    }
    return true;
}

static void sort(order *b, size_t n, onnx_step step[])
{
    tn_arena *a = &b->o->im.scratch;
    uint8_t *state = TN_NEW_N(a, uint8_t, n);
    size_t *next = TN_NEW_N(a, size_t, n);
    onnx_step *had = TN_NEW_N(a, onnx_step, n);
    numbers begun = {0}, out = {0};
    bool ok = true;
    memcpy(next, b->first.at, n * sizeof *next);
    memcpy(had, step, n * sizeof *had);
    for (size_t i = 0; i < n && ok; i++)
        ok = state[i] != NEW || place(b, i, state, next, &begun, &out);
    for (size_t i = 0; i < n && ok; i++)
        step[i] = had[out.at[i]];
    tn_vec_deinit(&begun);
    tn_vec_deinit(&out);
}

void onnx_order_steps(onnx_import *o, size_t n, onnx_step step[])
{
    order b = {.o = o};
    collect(&b, n, step);
    if (b.wrong)
        sort(&b, n, step);
    tn_strmap_deinit(&b.maker);
    tn_vec_deinit(&b.need);
    tn_vec_deinit(&b.first);
}
