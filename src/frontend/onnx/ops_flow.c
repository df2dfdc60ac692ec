/* Control flow: If. A condition that is known is its branch. Else both branches are converted; one that cannot be, for
 * the shapes given, becomes a failure at run time, with a warning now. */
#include "frontend/onnx/onnx.h"

#include <string.h>

/* ---- If ---- */

typedef struct branch {
    const onnx_graph *g;
    tn_region *r;
    tn_value *out;
    bool ok;
    const char *why; /* not ok: node and message of its first error */
} branch;

/* Results of a graph where the node stands. */
static void inline_branch(onnx_conv *c, const onnx_graph *g)
{
    tn_value *out = TN_NEW_N(c->arena, tn_value, g->output.n);
    if (!onnx_body(c, g, c->im->r, 0, NULL, out)) c->bad = true;
    for (size_t i = 0; i < c->node->output.n && !c->bad; i++) onnx_out(c, (uint32_t)i, out[i]);
}

static void convert_branch(onnx_conv *c, branch *b)
{
    tn_ctx *ctx = c->g->ctx;
    size_t from = ctx->n_diag;
    b->r = tn_region_new(c->g, NULL);
    b->out = TN_NEW_N(c->arena, tn_value, b->g->output.n);
    b->ok = onnx_body(c, b->g, b->r, 0, NULL, b->out);
    b->why = "";
    for (size_t i = from; i < ctx->n_diag && !b->ok; i++)
        if (ctx->diag[i].severity == TN_ERROR) {
            const tn_diag *d = &ctx->diag[i];
            b->why =
                tn_arena_printf(c->arena, "node %s: %s", d->loc.node ? d->loc.node : "(unnamed)", d->message);
            break;
        }
    if (b->ok) tn_region_set_results(c->g, b->r, (int)b->g->output.n, b->out);
}

/* The branch cannot be computed for these shapes: taking it ends the run. */
static void make_fail(onnx_conv *c, branch *b, const char *which)
{
    tn_fail_attr a = {tn_arena_printf(
        c->arena, "the %s branch cannot run for the shapes it was compiled for: %s", which, b->why)};
    (void)tn_report(
        c->g->ctx, TN_WARNING, "onnx-W002", c->loc,
        "its %s branch cannot be computed for the given shapes; a run that takes it will fail: %s", which,
        b->why);
    tn_region_discard(c->g, b->r);
    tn_node *n = tn_make_call(c->g, b->r, NULL, &tn_op_fail, 0, NULL, &a, c->loc);
    TN_ASSERT(n);
    tn_region_set_results(c->g, b->r, 1, &(tn_value){n, 0});
}

/* What the user can do where only shapes are missing. */
static void suggest_shapes(onnx_conv *c, const char *trouble)
{
    const tn_region *r = tn_graph_function(c->g, "main")->body;
    tn_buf b = {0};
    for (uint32_t i = 0; i < r->n_param; i++) {
        const tn_type *t = r->param[i]->type[0];
        if (tn_type_dims_const(t, NULL)) continue;
        tn_buf_printf(&b, "%s%s:[", b.n ? " " : "", r->param[i]->name);
        for (int d = 0; d < t->n; d++) {
            tn_buf_str(&b, d ? "," : "");
            tn_expr_print(t->dim[d], NULL, &b);
        }
        tn_buf_char(&b, ']');
    }
    if (b.n)
        (void)tn_error(
            c->g->ctx, "onnx-E026", c->loc,
            "%s; its condition is not known before the run. Give the inputs fixed shapes, with numbers for "
            "the names: --input-shapes \"%s\"",
            trouble, tn_buf_cstr(&b));
    else
        (void)tn_error(c->g->ctx, "onnx-E026", c->loc, "%s; its condition is not known before the run",
                       trouble);
    tn_buf_deinit(&b);
    c->bad = true;
}

static void if_node(onnx_conv *c, tn_value condition, branch b[2])
{
    int n = (int)b[!b[0].ok].g->output.n;
    tn_if_attr attr = {{0}};
    size_t had = c->g->ctx->n_error;
    tn_node *node = tn_node_new(c->g, c->im->r, NULL, &tn_op_if, 1, &condition, n, &attr, c->loc);
    tn_node_hold(c->g, node, 2, (tn_region *[]){b[0].r, b[1].r});
    if (tn_infer_node(c->g, node) != TN_OK) {
        TN_ASSERT(c->g->ctx->n_error > 0);
        if (c->g->ctx->n_error > had) suggest_shapes(c, "its branches do not agree");
        tn_node_remove(c->g, node);
        c->bad = true;
        return;
    }
    for (int i = 0; i < n && (size_t)i < c->node->output.n; i++)
        onnx_out(c, (uint32_t)i, (tn_value){node, (uint32_t)i});
}

static tn_value bool_scalar(onnx_conv *c, tn_value v)
{
    const tn_expr *count = v.def ? tn_type_count(c->pool, onnx_type(v)) : NULL;
    if (count && !tn_is_value(count, 1))
        onnx_fail(c, "onnx-E009", "the condition is %s, but must be one bool",
                  onnx_type_text(c, onnx_type(v)));
    v = onnx_cast(c, v, TN_BOOL1);
    return onnx_rank(v) ? onnx_reshape(c, v, 0, NULL) : v;
}

/* Is v computed from the extents of tensors alone? */
static bool by_shape(tn_value v)
{
    tn_map seen = {0};
    tn_vec(const tn_node *) todo = {0};
    bool only = true;
    uint64_t at;
    tn_vec_push(&todo, v.def);
    while (todo.n && only) {
        const tn_node *n = tn_vec_pop(&todo);
        only = !tn_op_is(n, &tn_op_var) && !n->nregion;
        for (int i = 0; i < n->nin && !tn_op_is(n, &tn_op_shape_of); i++)
            if (n->in[i].def && !tn_map_get(&seen, tn_map_key(n->in[i].def), &at)) {
                tn_map_put(&seen, tn_map_key(n->in[i].def), 1);
                tn_vec_push(&todo, n->in[i].def);
            }
    }
    tn_vec_deinit(&todo);
    tn_map_deinit(&seen);
    return only;
}

static void if_(onnx_conv *c)
{
    tn_ctx *ctx = c->g->ctx;
    tn_value condition = bool_scalar(c, onnx_in(c, 0));
    branch b[2] = {{.g = onnx_attr_graph(c, "then_branch")}, {.g = onnx_attr_graph(c, "else_branch")}};
    double known;
    if (c->bad) return;
    if (b[0].g->output.n < c->node->output.n || b[1].g->output.n < c->node->output.n)
        onnx_fail(c, "onnx-E017", "%zu results are used, but a branch gives fewer; the model is damaged",
                  c->node->output.n);
    if (c->bad) return;
    if (onnx_scalar(c, condition, &known)) {
        inline_branch(c, b[known != 0 ? 0 : 1].g);
        return;
    }
    size_t before = ctx->n_diag, had = ctx->n_error;
    convert_branch(c, &b[0]);
    size_t between = ctx->n_diag;
    if (ctx->n_error > had) { /* its errors are kept until the other one is tried */
        tn_diag *kept = tn_arena_copy(c->arena, ctx->diag + before, (between - before) * sizeof *kept, 8);
        tn_diag_rewind(ctx, before);
        convert_branch(c, &b[1]);
        if (!b[1].ok)
            for (size_t i = 0; i < between - before; i++)
                (void)tn_report(ctx, kept[i].severity, kept[i].id, &kept[i].loc, "%s", kept[i].message);
    } else {
        convert_branch(c, &b[1]);
    }
    if ((!b[0].ok && !*b[0].why) || (!b[1].ok && !*b[1].why)) { /* an operand has failed before */
        c->bad = true;
        return;
    }
    if (!b[0].ok && !b[1].ok) {
        suggest_shapes(c, "neither branch can be computed");
        return;
    }
    if ((!b[0].ok || !b[1].ok) && by_shape(condition)) {
        const char *which = b[0].ok ? "else" : "then", *why = b[b[0].ok].why;
        suggest_shapes(c, tn_arena_printf(c->arena, "its %s branch cannot be computed (%s)", which, why));
        return;
    }
    if (!b[1].ok) tn_diag_rewind(ctx, between);
    for (int i = 0; i < 2; i++)
        if (!b[i].ok) make_fail(c, &b[i], i ? "else" : "then");
    if_node(c, condition, b);
}

// clang-format off
const onnx_row onnx_rows_flow[] = {
    {"If", 1, 28, 1, -1, if_, NULL},
    {0},
};
// clang-format on
