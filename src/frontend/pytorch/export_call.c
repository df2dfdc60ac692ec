/* Operators of torch.export that call graphs: conditions, loops, maps and scans, regions with another setting of
 * gradients or types. */
#include "frontend/pytorch/export.h"

#include <string.h>

/* The graph that argument i is; NULL: it is none. */
static const tn_json *graph_at(const tn_json *in, size_t i)
{
    tn_bytes kind;
    if (i >= pt_json_count(in))
        return NULL;
    const tn_json *is = pt_json_member(tn_json_find(&in->u.at[i], "arg"), &kind);
    return imp_is(kind, "as_graph") ? tn_json_find(is, "graph") : NULL;
}

static pt_value value_at(pt_program *g, const tn_json *in, size_t i)
{
    return i < pt_json_count(in) ? pt_argument(g, tn_json_find(&in->u.at[i], "arg"), 0) : pt_none();
}

static void add_all(pt_import *p, pt_value to, pt_value v)
{
    for (size_t i = 0; pt_is_sequence(v) && i < v.list->n; i++)
        pt_push(&p->im.scratch, to.list, pt_at(v, i));
}

/* The elements of a, then those of b. */
static pt_value joined(pt_import *p, pt_value a, pt_value b)
{
    pt_value all = pt_make(&p->im.scratch, PT_TUPLE, 0, NULL);
    add_all(p, all, a);
    add_all(p, all, b);
    return all;
}

static pt_value call_with(pt_program *g, const tn_json *graph, pt_value operands)
{
    return pt_call_graph(g, graph, operands.list->n, operands.list->at);
}

static pt_value malformed(pt_program *g)
{
    pt_fail(g->p, "pytorch-E021", "%s has other arguments than PyTorch gives it; export the model again",
            g->p->loc_op);
    return pt_bad();
}

/* ---- cond ---- */

typedef struct choice {
    pt_program *g;
    const tn_json *graph[2];
    pt_value operands;
    pt_cell *result;
} choice;

static void take(choice *c, int k)
{
    pt_value v = call_with(c->g, c->graph[k], c->operands);
    if (!c->g->p->stop && !c->g->p->raised)
        pt_set(c->g->p, c->result, v);
}

static void take_first(pt_import *p, void *user) { (void)p, take(user, 0); }
static void take_second(pt_import *p, void *user) { (void)p, take(user, 1); }

/* cond(condition, graph, graph, operands) */
static pt_value cond(pt_program *g, const tn_json *in)
{
    pt_import *p = g->p;
    choice *c = TN_NEW(&p->im.scratch, choice);
    *c = (choice){g, {graph_at(in, 1), graph_at(in, 2)}, value_at(g, in, 3), TN_NEW(&p->im.scratch, pt_cell)};
    c->result->v = (pt_value){.kind = PT_UNSET};
    pt_value condition = value_at(g, in, 0);
    size_t n = pt_json_count(tn_json_find(c->graph[0], "outputs"));
    bool same = n == pt_json_count(tn_json_find(c->graph[1], "outputs"));
    if (p->stop || !c->graph[0] || !c->graph[1] || !same || !pt_is_sequence(c->operands))
        return p->stop ? pt_bad() : malformed(g);
    condition = pt_usable(p, condition) ? pt_convert(p, PT_BOOL, condition) : pt_bad();
    if (!pt_is_bad(condition))
        pt_if(p, condition, take_first, take_second, c);
    return p->stop || p->raised || c->result->v.kind == PT_UNSET ? pt_bad() : c->result->v;
}

/* ---- while_loop ---- */

typedef struct repeat {
    pt_program *g;
    const tn_json *go, *body;
    pt_value more; /* what every call takes behind the values that change */
    pt_cell *now;
} repeat;

static pt_value goes_on(pt_import *p, void *user)
{
    repeat *w = user;
    pt_value v = call_with(w->g, w->go, joined(p, w->now->v, w->more));
    v = pt_is_sequence(v) ? pt_at(v, 0) : v;
    return p->stop || p->raised ? pt_bad() : pt_convert(p, PT_BOOL, v);
}

static void once_more(pt_import *p, void *user, pt_value i)
{
    repeat *w = user;
    (void)i;
    pt_value v = call_with(w->g, w->body, joined(p, w->now->v, w->more));
    if (!p->stop && !p->raised)
        pt_set(p, w->now, v);
}

/* while_loop(graph of the condition, graph of the body, what changes, what stays) */
static pt_value while_loop(pt_program *g, const tn_json *in)
{
    pt_import *p = g->p;
    repeat *w = TN_NEW(&p->im.scratch, repeat);
    *w = (repeat){g, graph_at(in, 0), graph_at(in, 1), value_at(g, in, 3), TN_NEW(&p->im.scratch, pt_cell)};
    pt_value first = value_at(g, in, 2);
    if (p->stop || !w->go || !w->body || !pt_is_sequence(first))
        return p->stop ? pt_bad() : malformed(g);
    w->now->v = joined(p, first, pt_none());
    pt_loop_run(p, &(pt_loop){.go = goes_on, .body = once_more, .user = w});
    return p->stop || p->raised ? pt_bad() : w->now->v;
}

/* ---- map, scan, associative_scan ---- */

/* A graph that is called for each place along the first dimension of `over`. */
typedef struct steps {
    pt_program *g;
    const tn_json *graph;
    pt_value over, more; /* more: what every call takes, too */
    size_t width;        /* results that the next call takes first */
    size_t from;         /* results that are collected: those from here on */
    bool associative;    /* the operands at place 0 are the first results */
    pt_value n;          /* places */
    pt_cell *now;        /* of a loop: a tuple of what is carried, a tuple of what is collected */
} steps;

/* Place i of each. */
static pt_value parts_at(const steps *w, pt_value i)
{
    pt_import *p = w->g->p;
    pt_value v = pt_make(&p->im.scratch, PT_TUPLE, 0, NULL);
    for (size_t k = 0; k < w->over.list->n; k++)
        pt_push(&p->im.scratch, v.list,
                pt_call_named(p, "select", 3, (const pt_value[]){pt_at(w->over, k), pt_int(0), i}));
    return v;
}

/* false: reported. */
static bool open_steps(steps *w)
{
    pt_import *p = w->g->p;
    if (p->stop || !w->graph || !pt_is_sequence(w->over) || !w->over.list->n)
        return malformed(w->g), false;
    w->n = pt_call_named(p, "size", 2, (const pt_value[]){pt_at(w->over, 0), pt_int(0)});
    if (w->n.kind == PT_INT && w->n.i <= 0 && !p->stop)
        pt_fail(p, "pytorch-E015", "%s goes over a dimension that is empty, which is not supported",
                p->loc_op);
    return !p->stop;
}

/* What the call for place i gives: a tuple. UNKNOWN: reported, or the model raises. */
static pt_value step(const steps *w, pt_value carried, pt_value i)
{
    pt_import *p = w->g->p;
    pt_value row = call_with(w->g, w->graph, joined(p, joined(p, carried, parts_at(w, i)), w->more));
    if (p->stop || p->raised)
        return pt_bad();
    return pt_is_sequence(row) && row.list->n >= w->width ? row : malformed(w->g);
}

/* The first `width` of a row. */
static pt_value carried_of(const steps *w, pt_value row)
{
    return pt_make(&w->g->p->im.scratch, PT_TUPLE, w->width, row.list->at);
}

/* Results of all calls, each of them as one tensor. `rows`: a tuple for each call. */
static pt_value stacked(pt_import *p, pt_value rows, size_t from, size_t to)
{
    pt_value all = pt_make(&p->im.scratch, PT_TUPLE, 0, NULL);
    for (size_t k = from; k < to; k++) {
        pt_value column = pt_make(&p->im.scratch, PT_LIST, 0, NULL);
        for (size_t i = 0; i < rows.list->n; i++)
            pt_push(&p->im.scratch, column.list, pt_at(pt_at(rows, i), k));
        pt_push(&p->im.scratch, all.list,
                pt_call_named(p, "stack", 2, (const pt_value[]){column, pt_int(0)}));
    }
    return all;
}

/* What the first place gives. */
static pt_value first_step(const steps *w, pt_value carried)
{
    return w->associative ? parts_at(w, pt_int(0)) : step(w, carried, pt_int(0));
}

static pt_value all_results(const steps *w, pt_value carried, pt_value collected)
{
    return w->from ? joined(w->g->p, carried, collected) : collected;
}

/* One call after the other, where it is known how many. */
static pt_value unrolled(const steps *w, pt_value carried)
{
    pt_import *p = w->g->p;
    pt_value rows = pt_make(&p->im.scratch, PT_LIST, 0, NULL), row = first_step(w, carried);
    for (int64_t i = 1; !p->stop && !p->raised && !pt_is_bad(row); i++) {
        pt_push(&p->im.scratch, rows.list, row);
        if (i == w->n.i)
            return all_results(w, carried_of(w, row), stacked(p, rows, w->from, row.list->n));
        row = step(w, carried_of(w, row), pt_int(i));
    }
    return pt_bad();
}

/* A tensor that has v at each place. */
static pt_value at_all_places(const steps *w, pt_value v)
{
    pt_import *p = w->g->p;
    pt_value size = pt_make(&p->im.scratch, PT_LIST, 0, NULL), rank = pt_call_named(p, "dim", 1, &v);
    pt_push(&p->im.scratch, size.list, w->n);
    for (int64_t d = 0; rank.kind == PT_INT && d < rank.i; d++)
        pt_push(&p->im.scratch, size.list, pt_int(-1));
    v = pt_call_named(p, "unsqueeze", 2, (const pt_value[]){v, pt_int(0)});
    return pt_call_named(p, "expand_copy", 2, (const pt_value[]){v, size});
}

/* The call for the place behind i. */
static void next_step(pt_import *p, void *user, pt_value i)
{
    steps *w = user;
    pt_value at = pt_binary(p, "add", i, pt_int(1)), collected = pt_at(w->now->v, 1),
             row = step(w, pt_at(w->now->v, 0), at), v[2];
    if (pt_is_bad(row) || row.list->n != w->from + collected.list->n) {
        if (!p->stop && !p->raised)
            malformed(w->g);
        return;
    }
    v[0] = carried_of(w, row);
    v[1] = pt_make(&p->im.scratch, PT_TUPLE, 0, NULL);
    for (size_t k = 0; k < collected.list->n && !p->stop; k++)
        pt_push(
            &p->im.scratch, v[1].list,
            pt_call_named(p, "index_copy", 4,
                          (const pt_value[]){pt_at(collected, k), pt_int(0), at, pt_at(row, w->from + k)}));
    if (!p->stop && !p->raised)
        pt_set(p, w->now, pt_make(&p->im.scratch, PT_TUPLE, 2, v));
}

/* A loop: the first call makes what is collected, in which the others set their places. */
static pt_value looped(steps *w, pt_value carried)
{
    pt_import *p = w->g->p;
    pt_value row = first_step(w, carried), v[2];
    if (p->stop || p->raised || pt_is_bad(row))
        return pt_bad();
    v[0] = carried_of(w, row);
    v[1] = pt_make(&p->im.scratch, PT_TUPLE, 0, NULL);
    for (size_t k = w->from; k < row.list->n; k++)
        pt_push(&p->im.scratch, v[1].list, at_all_places(w, pt_at(row, k)));
    w->now = TN_NEW(&p->im.scratch, pt_cell);
    w->now->v = pt_make(&p->im.scratch, PT_TUPLE, 2, v);
    pt_loop_run(p, &(pt_loop){.trip = pt_binary(p, "sub", w->n, pt_int(1)), .body = next_step, .user = w});
    return p->stop || p->raised ? pt_bad() : all_results(w, pt_at(w->now->v, 0), pt_at(w->now->v, 1));
}

static pt_value walk(steps *w, pt_value carried)
{
    if (!open_steps(w))
        return pt_bad();
    steps *lasting = TN_NEW(&w->g->p->im.scratch, steps);
    *lasting = *w;
    return w->n.kind == PT_INT && w->n.i <= PT_MAX_UNROLL ? unrolled(w, carried) : looped(lasting, carried);
}

/* map_impl(graph, operands, what every call takes, too); before torch 2.4 a number of operands and all values */
static pt_value map(pt_program *g, const tn_json *in)
{
    pt_import *p = g->p;
    steps w = {.g = g, .graph = graph_at(in, 0), .over = value_at(g, in, 1), .more = value_at(g, in, 2)};
    if (w.over.kind == PT_INT) {
        int64_t n = w.over.i;
        w.over = pt_make(&p->im.scratch, PT_TUPLE, 0, NULL);
        w.more = pt_make(&p->im.scratch, PT_TUPLE, 0, NULL);
        for (size_t i = 2; i < pt_json_count(in); i++)
            pt_push(&p->im.scratch, (int64_t)i - 2 < n ? w.over.list : w.more.list, value_at(g, in, i));
    }
    return walk(&w, pt_make(&p->im.scratch, PT_TUPLE, 0, NULL));
}

/* Before torch 2.7 an axis and a direction stand between the operands and the rest. */
static bool forward_along_0(pt_program *g, const tn_json *in, size_t from)
{
    for (size_t i = from; i < pt_json_count(in); i++) {
        pt_value v = value_at(g, in, i);
        if ((v.kind == PT_INT && v.i != 0) || (v.kind == PT_BOOL && v.b))
            return false;
    }
    return true;
}

/* The list that comes last from argument k on; an empty one: there is none. */
static pt_value last_list(pt_program *g, const tn_json *in, size_t k)
{
    for (size_t i = pt_json_count(in); i-- > k;) {
        pt_value v = value_at(g, in, i);
        if (pt_is_sequence(v))
            return v;
    }
    return pt_make(&g->p->im.scratch, PT_TUPLE, 0, NULL);
}

/* scan(graph, what is carried, operands, ..., what every call takes, too): what is carried at last, all results.
 * associative_scan(graph, operands, ...): the first operands are carried, and are the first results. */
static pt_value scan(pt_program *g, const tn_json *in, bool associative)
{
    pt_import *p = g->p;
    size_t k = associative ? 1 : 2;
    steps w = {.g = g,
               .graph = graph_at(in, 0),
               .over = value_at(g, in, k),
               .more = last_list(g, in, k + 1),
               .associative = associative};
    pt_value carried = value_at(g, in, 1);
    if (!pt_is_sequence(carried))
        return p->stop ? pt_bad() : malformed(g);
    if (!forward_along_0(g, in, k + 1)) {
        pt_fail(
            p, "pytorch-E024",
            "%s goes backwards or along another dimension than the first, which is not supported; flip or "
            "transpose its operands in the model",
            p->loc_op);
        return pt_bad();
    }
    w.width = carried.list->n;
    w.from = associative ? 0 : w.width;
    return walk(&w, carried);
}

/* ---- a region ---- */

/* A graph and its operands, one by one or as a list. */
static pt_value region(pt_program *g, const tn_json *in, size_t k)
{
    pt_import *p = g->p;
    pt_value operands = pt_make(&p->im.scratch, PT_TUPLE, 0, NULL);
    for (size_t i = k + 1; i < pt_json_count(in) && !p->stop; i++) {
        pt_value v = value_at(g, in, i);
        if (pt_is_sequence(v))
            add_all(p, operands, v);
        else if (v.kind != PT_TEXT)
            pt_push(&p->im.scratch, operands.list, v);
    }
    return p->stop ? pt_bad() : call_with(g, graph_at(in, k), operands);
}

/* wrap_with_autocast(device, type, enabled, whether casts are kept, graph, operands...) */
static pt_value autocast(pt_program *g, const tn_json *in, size_t k)
{
    tn_dtype before = g->autocast, t = {0};
    pt_value type = value_at(g, in, 1), enabled = value_at(g, in, 2);
    if (enabled.kind == PT_BOOL && enabled.b && type.kind == PT_INT && !pt_dtype_of(type.i, &t))
        return malformed(g);
    if (enabled.kind == PT_BOOL && enabled.b && !t.bits)
        t = (tn_dtype){TN_BFLOAT, 16, 1}; /* the type of a CPU */
    g->autocast = t;
    pt_value v = region(g, in, k);
    g->autocast = before;
    return v;
}

pt_value pt_higher_order(pt_program *g, tn_bytes name, const tn_json *in)
{
    static const char *const regions[] = {"wrap_with_set_grad_enabled",
                                          "wrap",
                                          "hints_wrapper",
                                          "strict_mode",
                                          "tag_activation_checkpoint",
                                          "wrap_activation_checkpoint",
                                          "invoke_subgraph"};
    size_t k = 0;
    while (k < pt_json_count(in) && !graph_at(in, k))
        k++;
    if (imp_is(name, "cond"))
        return cond(g, in);
    if (imp_is(name, "while_loop"))
        return while_loop(g, in);
    if (imp_is(name, "map_impl") || imp_is(name, "map"))
        return map(g, in);
    if (imp_is(name, "scan") || imp_is(name, "associative_scan"))
        return scan(g, in, !imp_is(name, "scan"));
    if (imp_is(name, "wrap_with_autocast") && graph_at(in, k))
        return autocast(g, in, k);
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++)
        if (imp_is(name, regions[i]))
            return graph_at(in, k) ? region(g, in, k) : malformed(g);
    (void)imp_error(
        &g->p->im, IMP_UNKNOWN_OPERATOR, pt_place(g->p, g->p->loc_op),
        "operator %s is not supported; write that part of the model with other operators, or export "
        "it to ONNX",
        g->p->loc_op);
    return pt_bad();
}
