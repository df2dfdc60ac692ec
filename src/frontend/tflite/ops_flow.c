/* Control flow: IF and WHILE, whose branches and bodies are other graphs of the model. */
#include "frontend/tflite/tflite.h"

#include "frontend/import/loop.h"
#include "op/control/control.h"

/* Converts graph `which` of the model in the region that is open, for these operands; false: reported. */
bool tfl_run_graph(imp_node *c, int64_t which, uint32_t n, const tn_value in[], uint32_t n_out,
                   tn_value out[])
{
    tfl_import *o = (tfl_import *)c->im;
    imp_model *im = c->im;
    if (which <= 0 || which >= (int64_t)o->graphs.n || im->depth >= IMP_MAX_DEPTH)
        imp_refuse(c, IMP_BAD_VALUE, "graph %lld does not exist, or graphs are nested deeper than %d",
                   (long long)which, IMP_MAX_DEPTH);
    const tfl_graph *g = c->bad ? NULL : tfl_read_graph(o, (uint32_t)which);
    if (g && (g->n_in != n || g->n_out != n_out))
        imp_refuse(c, IMP_OPERANDS, "graph %lld has %u inputs and %u outputs, not %u and %u",
                   (long long)which, (unsigned)g->n_in, (unsigned)g->n_out, (unsigned)n, (unsigned)n_out);
    c->bad = c->bad || !g;
    if (c->bad)
        return false;
    imp_scope outside = imp_enter(im, true);
    im->depth++;
    for (uint32_t i = 0; i < n && !c->bad; i++)
        if (g->in[i] >= 0)
            c->bad = imp_define(im, g->tensor[g->in[i]].name, (imp_value){.v = in[i]}, c->loc) != TN_OK;
    c->bad = c->bad || tfl_convert_graph(o, g) != TN_OK;
    for (uint32_t i = 0; i < n_out && !c->bad; i++)
        out[i] = tfl_result(o, g, i, c->loc);
    for (uint32_t i = 0; i < n_out; i++)
        c->bad = c->bad || !out[i].def;
    im->depth--;
    imp_leave(im, &outside);
    return !c->bad;
}

static tn_value one_bool(imp_node *c, tn_value v)
{
    v = imp_cast(c, v, TN_BOOL1);
    return !c->bad && imp_rank(v) ? imp_reshape(c, v, 0, NULL) : v;
}

/* ---- IF: condition, operands ---- */

static void branch_on(imp_node *c)
{
    static const char *const names[] = {"then_subgraph_index", "else_subgraph_index"};
    uint32_t n = imp_n_in(c) ? imp_n_in(c) - 1 : 0, n_out = (uint32_t)c->n_out;
    tn_value *in = TN_NEW_N(c->arena, tn_value, n), *out = TN_NEW_N(c->arena, tn_value, n_out);
    tn_value condition = one_bool(c, imp_in(c, 0));
    tn_region *outer = c->im->r, *r[2];
    size_t regions = c->im->region.n;
    for (uint32_t i = 0; i < n && !c->bad; i++)
        in[i] = imp_in(c, i + 1);
    for (int k = 0; k < 2 && !c->bad; k++) {
        c->im->r = r[k] = imp_region_new(c);
        if (tfl_run_graph(c, imp_attr_int(c, names[k], 0), n, in, n_out, out))
            tn_region_set_results(c->g, r[k], (int)n_out, out);
    }
    c->im->r = outer;
    if (c->bad) {
        imp_discard_regions(c, regions);
        return;
    }
    tn_if_attr a = {{0}};
    tn_node *node = tn_node_new(c->g, outer, NULL, &tn_op_if, 1, &condition, (int)n_out, &a, c->loc);
    tn_node_hold(c->g, node, 2, r);
    c->bad = tn_infer_node(c->g, node) != TN_OK;
    for (uint32_t i = 0; i < n_out && !c->bad; i++)
        imp_out(c, i, tn_unboxed(c->g, (tn_value){node, i}));
}

/* ---- WHILE: what it carries ---- */

/* The body for carried values of these types; false: one of them has another type after it. */
static bool make_body(imp_node *c, uint32_t n, const tn_type *type[], tn_region *r, int64_t condition,
                      int64_t body)
{
    tn_value *in = TN_NEW_N(c->arena, tn_value, n), *out = TN_NEW_N(c->arena, tn_value, n + 1);
    bool same = true;
    (void)tn_region_add_param(c->g, r, "i", tn_type_tensor(c->pool, TN_I64, 0, NULL, NULL));
    for (uint32_t i = 0; i < n; i++)
        in[i] = tn_val(
            tn_region_add_param(c->g, r, tn_arena_printf(c->arena, "carried%u", (unsigned)i), type[i]));
    for (uint32_t i = 0; i < n; i++)
        in[i] = tn_unboxed(c->g, in[i]);
    if (!tfl_run_graph(c, body, n, in, n, out + 1) || !tfl_run_graph(c, condition, n, out + 1, 1, out))
        return true;
    out[0] = one_bool(c, out[0]);
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        const tn_type *t = type[i], *next = tn_value_type(out[i + 1]);
        const tn_expr *dim[IMP_MAX_RANK];
        if (tn_type_fits(t, next))
            continue;
        if (t->n != next->n || !tn_dtype_eq(t->dtype, next->dtype)) {
            imp_refuse(c, IMP_TOO_LARGE, "what its loop carries is %s and becomes %s", imp_type_text(c, t),
                       imp_type_text(c, next));
            return true;
        }
        for (int d = 0; d < t->n; d++)
            dim[d] = t->dim[d] == next->dim[d] ? t->dim[d] : tn_any_dim(c->pool);
        type[i] = tn_type_tensor(c->pool, t->dtype, t->n, dim, NULL);
        same = false;
    }
    if (same && !c->bad)
        tn_region_set_results(c->g, r, (int)n + 1, out);
    return same;
}

static void loop_while(imp_node *c)
{
    uint32_t n = imp_n_in(c);
    int64_t condition = imp_attr_int(c, "cond_subgraph_index", 0),
            body = imp_attr_int(c, "body_subgraph_index", 0);
    tn_value *in = TN_NEW_N(c->arena, tn_value, n + 2);
    const tn_type **type = TN_NEW_N(c->arena, const tn_type *, n);
    tn_region *outer = c->im->r, *r = NULL;
    for (uint32_t i = 0; i < n; i++) {
        in[i + 2] = imp_in(c, i);
        type[i] = imp_type(in[i + 2]);
    }
    in[0] = imp_i64(c, INT64_MAX);
    if (c->n_out != n)
        imp_refuse(c, IMP_OPERANDS, "it has %u operands and %zu results; the model is damaged", (unsigned)n,
                   c->n_out);
    if (c->bad || !tfl_run_graph(c, condition, n, in + 2, 1, &in[1]))
        return;
    in[1] = one_bool(c, in[1]);
    for (bool again = true; again && !c->bad;) {
        size_t regions = c->im->region.n;
        c->im->r = r = imp_region_new(c);
        again = !make_body(c, n, type, r, condition, body);
        c->im->r = outer;
        if (again || c->bad)
            imp_discard_regions(c, regions);
    }
    if (c->bad)
        return;
    tn_loop_attr a = {{0}};
    tn_node *node = tn_node_new(c->g, outer, NULL, &tn_op_loop, (int)n + 2, in, (int)n, &a, c->loc);
    tn_node_hold(c->g, node, 1, &r);
    c->bad = tn_infer_node(c->g, node) != TN_OK;
    for (uint32_t i = 0; i < n && !c->bad; i++)
        imp_out(c, i, tn_unboxed(c->g, (tn_value){node, i}));
}

/* ---- CASE: a number, the branches; one beyond them is the last one ---- */

typedef struct cases {
    tn_value which;
    tn_ints graph;
    uint32_t from; /* branches before it are not taken */
} cases;

static void take_case(imp_node *c, imp_branches *b, bool side, tn_value out[])
{
    cases *k = b->user, rest = *k;
    if (side || k->from + 1 == k->graph.n) {
        (void)tfl_run_graph(c, k->graph.at[k->from], 0, NULL, (uint32_t)b->n, out);
        return;
    }
    rest.from++;
    tn_value is = imp_with(c, &tn_op_equal, k->which, rest.from);
    imp_branches next = {.condition = is, .n = b->n, .branch = take_case, .user = &rest};
    if (rest.from + 1 == k->graph.n)
        take_case(c, &next, true, out);
    else
        (void)imp_make_if(c, &next, out);
}

static void select_case(imp_node *c)
{
    cases k = {.which = imp_in(c, 0)};
    (void)imp_attr_ints(c, "branch_subgraph_indices", &k.graph);
    if (k.graph.n < 1 || k.graph.n > IMP_MAX_DEPTH || c->n_out < 1)
        imp_refuse(c, IMP_BAD_VALUE, "it has %u branches", (unsigned)k.graph.n);
    if (c->bad)
        return;
    k.which = imp_rank(k.which) ? imp_reshape(c, k.which, 0, NULL) : k.which;
    tn_value first = imp_with(c, &tn_op_equal, k.which, 0);
    imp_branches b = {.condition = first, .n = c->n_out, .branch = take_case, .user = &k};
    (void)imp_make_if(c, &b, c->out);
}

/* ---- graphs that stand for an operator ---- */

static void composite(imp_node *c)
{
    static const char *const notes[] = {"name", "composite_attributes", "composite_attributes_format",
                                        "version"};
    uint32_t n = imp_n_in(c);
    tn_value *in = TN_NEW_N(c->arena, tn_value, n);
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        imp_attr_ignore(c, notes[i]);
    for (uint32_t i = 0; i < n; i++)
        in[i] = imp_in(c, i);
    (void)tfl_run_graph(c, imp_attr_int(c, "decomposition_subgraph_index", 0), n, in, (uint32_t)c->n_out,
                        c->out);
}

// clang-format off
const imp_row tfl_rows_flow[] = {
    {"IF",                  1, 0, -1, -1, branch_on,   NULL},
    {"WHILE",               1, 0, -1, -1, loop_while,  NULL},
    {"STABLEHLO_WHILE",     1, 0, -1, -1, loop_while,  NULL},
    {"STABLEHLO_CASE",      1, 0,  1, -1, select_case, NULL},
    {"STABLEHLO_COMPOSITE", 1, 0, -1, -1, composite,   NULL},
    {0},
};
// clang-format on
