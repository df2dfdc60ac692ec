/* Operators that hold graphs: _foreach, _while_loop, _cond (mxnet.contrib). The inputs of a graph are its variables, in
 * their order; lists of positions say which operand each one is. */
#include "frontend/import/loop.h"
#include "frontend/mxnet/mxnet.h"

#include "op/tensor/tensor.h"

#include <string.h>

static bool bad(imp_node *c, const char *what)
{
    imp_refuse(c, IMP_BAD_VALUE, "%s; the model is damaged", what);
    return false;
}

bool mx_read_inner(imp_node *c, uint32_t i, mx_inner *out)
{
    const tn_json *graphs = ((const mx_node *)c->origin)->graphs;
    if (imp_too_deep(c))
        return false;
    if (!tn_json_is(graphs, TN_JSON_ARRAY) || i >= graphs->n)
        return bad(c, "a graph inside of it is missing");
    mx_graph *g = mx_read_graph(mx_of(c), &graphs->u.at[i]);
    if (!g) {
        c->bad = true;
        return false;
    }
    tn_bytes *var = TN_NEW_N(c->arena, tn_bytes, g->n);
    *out = (mx_inner){.g = g, .var = var};
    for (uint32_t k = 0; k < g->n; k++)
        if (imp_is(g->node[k].op, "null"))
            var[out->n++] = g->node[k].out[0];
    return out->n <= MX_MAX_INNER || bad(c, "a graph inside of it has too many variables");
}

/* Positions in a list of n, at most one for each variable. */
static bool positions(imp_node *c, const char *name, uint32_t n, tn_ints *out)
{
    *out = (tn_ints){0};
    (void)mx_ints(c, name, out);
    for (uint32_t i = 0; i < out->n && !c->bad; i++)
        if (out->at[i] < 0 || out->at[i] >= (int64_t)n)
            return bad(c, tn_arena_printf(c->arena, "%s names a position that does not exist", name));
    return !c->bad;
}

void mx_inner_values(imp_node *c, const mx_inner *g, const tn_value in[], tn_value out[])
{
    imp_scope outside = imp_enter(c->im, false);
    size_t had = c->g->ctx->n_error;
    for (uint32_t i = 0; i < g->n && !c->bad; i++) /* where two have one position, one has none */
        if (!in[i].def)
            (void)bad(c, "a variable of its graph is given no value");
        else
            c->bad = imp_define(c->im, g->var[i], (imp_value){.v = in[i]}, c->loc) != TN_OK;
    if (!c->bad)
        mx_convert_graph(mx_of(c), g->g);
    c->bad = c->bad || c->g->ctx->n_error > had;
    for (uint32_t i = 0; i < g->g->n_head && !c->bad; i++)
        out[i] = imp_value_of(c, g->g->head[i]);
    imp_leave(c->im, &outside);
}

/* ---- _foreach: over the first dimension of data ---- */

typedef struct foreach {
    mx_inner g;
    tn_ints data, state, rest; /* positions of its variables */
    uint32_t n_collect;
} foreach;

static void foreach_body(imp_node *c, imp_loop *l)
{
    const foreach *f = l->user;
    tn_value in[MX_MAX_INNER], *out = TN_NEW_N(c->arena, tn_value, f->g.g->n_head);
    memset(in, 0, f->g.n * sizeof *in);
    for (uint32_t k = 0; k < f->data.n; k++)
        in[f->data.at[k]] = imp_take(c, imp_in(c, k), tn_val(l->r->param[0]), 0);
    for (uint32_t k = 0; k < f->state.n; k++)
        in[f->state.at[k]] = l->inner[k];
    for (uint32_t k = 0; k < f->rest.n; k++)
        in[f->rest.at[k]] = imp_in(c, f->data.n + f->state.n + k);
    mx_inner_values(c, &f->g, in, out);
    for (uint32_t k = 0; k < f->n_collect && !c->bad; k++)
        l->collected[k] = out[k];
    for (uint32_t k = 0; k < l->n && !c->bad; k++)
        l->next[k] = out[f->n_collect + k];
    l->go = imp_const(c, TN_BOOL1, 1);
}

static void foreach_(imp_node *c)
{
    foreach
        f = {0};
    int64_t n_out = mx_int(c, "num_out_data", 0);
    if (!mx_read_inner(c, 0, &f.g) || !positions(c, "in_data_locs", f.g.n, &f.data) ||
        !positions(c, "in_state_locs", f.g.n, &f.state) || !positions(c, "remain_locs", f.g.n, &f.rest))
        return;
    imp_attr_ignore(c, "num_outputs");
    uint32_t n = f.data.n + f.state.n + f.rest.n;
    if (n != f.g.n || n != imp_n_in(c) || !f.data.n || n_out < 0 ||
        f.g.g->n_head != (uint64_t)n_out + f.state.n || c->n_out > f.g.g->n_head) {
        (void)bad(c, "its graph takes or gives other values than its operands say");
        return;
    }
    f.n_collect = (uint32_t)n_out;
    imp_loop l = {.n = f.state.n,
                  .first = TN_NEW_N(c->arena, tn_value, f.state.n),
                  .body = foreach_body,
                  .user = &f,
                  .n_collect = f.n_collect,
                  .steps = imp_rank(imp_in(c, 0)) ? imp_type(imp_in(c, 0))->dim[0] : NULL};
    for (uint32_t k = 0; k < l.n; k++)
        l.first[k] = imp_in(c, f.data.n + k);
    if (!l.steps && !c->bad)
        imp_refuse(c, IMP_OPERANDS, "data without dimensions has no first one to go along");
    l.trip = c->bad ? (tn_value){0} : imp_extent_of(c, imp_in(c, 0), 0);
    tn_value *out = TN_NEW_N(c->arena, tn_value, f.g.g->n_head);
    if (c->bad || !imp_make_loop(c, &l, imp_const(c, TN_BOOL1, 1), out)) {
        c->bad = true;
        return;
    }
    for (uint32_t k = 0; k < c->n_out; k++) /* the loop gives the states first */
        imp_out(c, k, k < f.n_collect ? out[l.n + k] : out[k - f.n_collect]);
}

/* ---- _while_loop ---- */

typedef struct while_loop {
    mx_inner cond, body;
    tn_ints cond_in, body_in; /* of each variable: the operand */
    tn_ints var;              /* of what is carried: the body's variable */
    uint32_t n_collect;
} while_loop;

/* Values of a graph's variables: operands, or what is carried in their place. */
static void variables(imp_node *c, const while_loop *w, const tn_ints *from, const tn_value carried[],
                      tn_value in[])
{
    for (uint32_t i = 0; i < from->n; i++) {
        in[i] = imp_in(c, (uint32_t)from->at[i]);
        for (uint32_t k = 0; k < w->var.n; k++)
            if (w->body_in.at[w->var.at[k]] == from->at[i])
                in[i] = carried[k];
    }
}

static tn_value goes_on(imp_node *c, const while_loop *w, const tn_value carried[])
{
    tn_value in[MX_MAX_INNER], go = {0};
    variables(c, w, &w->cond_in, carried, in);
    mx_inner_values(c, &w->cond, in, &go);
    return go;
}

static void while_body(imp_node *c, imp_loop *l)
{
    const while_loop *w = l->user;
    tn_value in[MX_MAX_INNER], *out = TN_NEW_N(c->arena, tn_value, w->body.g->n_head);
    variables(c, w, &w->body_in, l->inner, in);
    mx_inner_values(c, &w->body, in, out);
    for (uint32_t k = 0; k < w->n_collect && !c->bad; k++)
        l->collected[k] = out[k];
    for (uint32_t k = 0; k < l->n && !c->bad; k++)
        l->next[k] = out[w->n_collect + k];
    if (!c->bad)
        l->go = goes_on(c, w, l->next);
}

/* As many rows as there may be iterations; MXNet leaves open what is in those that there were not. */
static tn_value filled(imp_node *c, tn_value v, int64_t rows)
{
    const tn_expr *width[2 * (IMP_MAX_RANK + 1)];
    int n = imp_rank(v);
    for (int i = 0; i < 2 * n; i++)
        width[i] = tn_idx(c->pool, 0);
    width[1] = imp_simplify(c, tn_sub(c->pool, tn_idx(c->pool, rows), imp_type(v)->dim[0]));
    tn_pad_attr a = {.pad_width = tn_dims_make(c->arena, 2 * (uint32_t)n, width), .pad_mode = "constant"};
    return imp_call1(c, &tn_op_nn_pad, &a, v);
}

static void while_(imp_node *c)
{
    while_loop w = {0};
    int64_t n_out = mx_int(c, "num_out_data", 0), most = mx_int(c, "max_iterations", 0);
    uint32_t n_in = (uint32_t)imp_n_in(c);
    if (!mx_read_inner(c, 0, &w.cond) || !mx_read_inner(c, 1, &w.body) ||
        !positions(c, "cond_input_locs", n_in, &w.cond_in) ||
        !positions(c, "func_input_locs", n_in, &w.body_in) ||
        !positions(c, "func_var_locs", w.body_in.n, &w.var))
        return;
    imp_attr_ignore(c, "num_outputs");
    if (w.cond.n != w.cond_in.n || w.body.n != w.body_in.n || w.cond.g->n_head != 1 || n_out < 0 ||
        most < 0 || w.body.g->n_head != (uint64_t)n_out + w.var.n || c->n_out > w.body.g->n_head) {
        (void)bad(c, "its graphs take or give other values than its operands say");
        return;
    }
    w.n_collect = (uint32_t)n_out;
    imp_loop l = {.n = w.var.n,
                  .first = TN_NEW_N(c->arena, tn_value, w.var.n),
                  .body = while_body,
                  .user = &w,
                  .n_collect = w.n_collect,
                  .trip = imp_i64(c, most)};
    for (uint32_t k = 0; k < l.n; k++)
        l.first[k] = imp_in(c, (uint32_t)w.body_in.at[w.var.at[k]]);
    tn_value go = goes_on(c, &w, l.first), *out = TN_NEW_N(c->arena, tn_value, w.body.g->n_head);
    if (c->bad || !imp_make_loop(c, &l, go, out)) {
        c->bad = true;
        return;
    }
    for (uint32_t k = 0; k < c->n_out && !c->bad; k++)
        imp_out(c, k, k < w.n_collect ? filled(c, out[l.n + k], most) : out[k - w.n_collect]);
}

/* ---- _cond ---- */

typedef struct branches {
    mx_inner g[2];
    tn_ints in[2];
} branches;

static void side_values(imp_node *c, imp_branches *b, bool side, tn_value out[])
{
    const branches *two = b->user;
    tn_value in[MX_MAX_INNER];
    for (uint32_t i = 0; i < two->in[!side].n; i++)
        in[i] = imp_in(c, (uint32_t)two->in[!side].at[i]);
    mx_inner_values(c, &two->g[!side], in, out);
}

static void cond(imp_node *c)
{
    branches two = {0};
    mx_inner test;
    tn_ints from;
    tn_value in[MX_MAX_INNER], go = {0};
    uint32_t n_in = (uint32_t)imp_n_in(c);
    if (!mx_read_inner(c, 0, &test) || !mx_read_inner(c, 1, &two.g[0]) || !mx_read_inner(c, 2, &two.g[1]) ||
        !positions(c, "cond_input_locs", n_in, &from) || !positions(c, "then_input_locs", n_in, &two.in[0]) ||
        !positions(c, "else_input_locs", n_in, &two.in[1]))
        return;
    imp_attr_ignore(c, "num_outputs");
    uint32_t n = two.g[0].g->n_head;
    if (test.n != from.n || test.g->n_head != 1 || two.g[0].n != two.in[0].n || two.g[1].n != two.in[1].n ||
        two.g[1].g->n_head != n || c->n_out > n) {
        (void)bad(c, "its graphs take or give other values than its operands say");
        return;
    }
    for (uint32_t i = 0; i < from.n; i++)
        in[i] = imp_in(c, (uint32_t)from.at[i]);
    mx_inner_values(c, &test, in, &go);
    tn_value *out = TN_NEW_N(c->arena, tn_value, n);
    imp_branches b = {go, n, side_values, &two};
    if (c->bad || !imp_make_if(c, &b, out)) {
        c->bad = true;
        return;
    }
    for (uint32_t k = 0; k < c->n_out; k++)
        imp_out(c, k, out[k]);
}

// clang-format off
const imp_row mx_rows_flow[] = {
    {"_foreach",    0, 0, -1, -1, foreach_, NULL},
    {"_while_loop", 0, 0, -1, -1, while_,   NULL},
    {"_cond",       0, 0, -1, -1, cond,     NULL},
    {0},
};
// clang-format on
