/* Control flow: If, Loop. A condition that is known is its branch. Else both branches are converted; one that
 * cannot be, for the shapes given, becomes a failure at run time, with a warning now. Loops of a known number of
 * iterations are unrolled. */
#include "frontend/onnx/flow.h"

#include "op/control/control.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* What was reported, taken back, and kept while something else was tried. */
static void report_again(tn_ctx *ctx, const tn_diag *kept, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)tn_report(ctx, kept[i].severity, kept[i].id, &kept[i].loc, "%s", kept[i].message);
}

/* ---- If ---- */

typedef struct branch {
    const onnx_graph *g;
    const onnx_rest *rest; /* what follows in the graphs around, converted with it; or NULL */
    tn_region *r;
    size_t n_out;
    tn_value *out;
    bool ok;
    const char *why; /* not ok: node and message of its first error */
} branch;

/* Defines values of the results of c's graph, of which c may compute some. */
static void define_results(imp_node *c, const onnx_rest *rest, const tn_value value[])
{
    for (size_t k = 0; k < rest->n_result; k++) {
        bool own = false;
        for (size_t i = 0; i < c->n_out; i++)
            if (imp_same(c->out_name[i], rest->result[k])) {
                imp_out(c, (uint32_t)i, value[k]);
                own = true;
            }
        if (!own)
            (void)imp_define(c->im, rest->result[k], (imp_value){.v = value[k]}, c->loc);
    }
}

/* Results of a graph where the node stands. */
static void inline_branch(imp_node *c, const onnx_graph *g)
{
    onnx_rest *rest = onnx_of(c)->rest;
    tn_value *out = TN_NEW_N(c->arena, tn_value, g->output.n);
    bool taken;
    if (!onnx_body_in_place(c, g, out, &taken))
        c->bad = true;
    if (taken && rest->value && !c->bad)
        define_results(c, rest, rest->value);
    for (size_t i = 0; i < c->n_out && !c->bad && !taken; i++)
        imp_out(c, (uint32_t)i, out[i]);
}

static const onnx_rest *last_rest(const onnx_rest *rest)
{
    while (rest->around)
        rest = rest->around;
    return rest;
}

static void convert_branch(imp_node *c, branch *b)
{
    tn_ctx *ctx = c->g->ctx;
    size_t from = ctx->n_diag, regions = c->im->region.n;
    b->r = imp_region_new(c);
    b->n_out = b->rest ? last_rest(b->rest)->n_result : b->g->output.n;
    b->out = TN_NEW_N(c->arena, tn_value, b->n_out);
    b->ok = b->rest ? onnx_body_and_rest(c, b->g, b->rest, b->r, b->out)
                    : onnx_body(c, b->g, b->r, 0, NULL, b->out);
    b->why = "";
    for (size_t i = from; i < ctx->n_diag && !b->ok; i++)
        if (ctx->diag[i].severity == TN_ERROR) {
            const tn_diag *d = &ctx->diag[i];
            b->why =
                tn_arena_printf(c->arena, "node %s: %s", d->loc.node ? d->loc.node : "(unnamed)", d->message);
            break;
        }
    if (b->ok)
        tn_region_set_results(c->g, b->r, (int)b->n_out, b->out);
    else
        imp_discard_regions(c, regions); /* its own, and those of loops and branches in it */
}

/* The branch cannot be computed for these shapes: taking it ends the run. */
static void make_fail(imp_node *c, branch *b, const char *which)
{
    tn_fail_attr a = {tn_arena_printf(
        c->arena, "the %s branch cannot run for the shapes it was compiled for: %s", which, b->why)};
    (void)tn_report(
        c->g->ctx, TN_WARNING, "onnx-W002", c->loc,
        "its %s branch cannot be computed for the given shapes; a run that takes it will fail: %s", which,
        b->why);
    tn_node *n = tn_make_call(c->g, b->r, NULL, &tn_op_fail, 0, NULL, &a, c->loc);
    TN_ASSERT(n);
    tn_region_set_results(c->g, b->r, 1, &(tn_value){n, 0});
}

/* Where only shapes are missing: which inputs lack them. The driver looks for some that work. */
static void suggest_shapes(imp_node *c, const char *trouble)
{
    const tn_region *r = tn_graph_function(c->g, "main")->body;
    tn_buf b = {0};
    c->g->wants_shapes = true;
    for (uint32_t i = 0; i < r->n_param; i++) {
        const tn_type *t = r->param[i]->type[0];
        if (tn_type_is_handle(t) || tn_type_dims_const(t, NULL))
            continue;
        tn_buf_printf(&b, "%s%s:[", b.n ? " " : "", r->param[i]->name);
        for (int d = 0; d < t->n; d++) {
            tn_buf_str(&b, d ? "," : "");
            tn_expr_print(t->dim[d], NULL, &b);
        }
        tn_buf_char(&b, ']');
    }
    if (b.n)
        (void)tn_error(c->g->ctx, "onnx-E026", c->loc,
                       "%s; its condition is known only at run time. Give these inputs fixed shapes "
                       "(--input-shapes): %s",
                       trouble, tn_buf_cstr(&b));
    else
        (void)tn_error(c->g->ctx, "onnx-E026", c->loc, "%s; its condition is known only at run time",
                       trouble);
    tn_buf_deinit(&b);
    c->bad = true;
}

/* Results that are no tensors become values of the run, of one kind in both branches. */
static void make_alike(imp_node *c, branch b[2])
{
    tn_region *outer = c->im->r;
    for (int i = 0; i < 2 && !c->bad; i++) {
        const branch *other = b[!i].ok ? &b[!i] : &b[i];
        if (!b[i].ok)
            continue;
        c->im->r = b[i].r;
        for (size_t k = 0; k < b[i].n_out; k++)
            b[i].out[k] = onnx_like(c, b[i].out[k], k < other->n_out ? other->out[k] : b[i].out[k]);
        if (!c->bad)
            tn_region_set_results(c->g, b[i].r, (int)b[i].n_out, b[i].out);
    }
    c->im->r = outer;
}

static tn_node *if_node(imp_node *c, tn_value condition, branch b[2])
{
    int n = (int)b[!b[0].ok].n_out;
    make_alike(c, b);
    if (c->bad)
        return NULL;
    tn_if_attr attr = {{0}};
    size_t had = c->g->ctx->n_error;
    tn_node *node = tn_node_new(c->g, c->im->r, NULL, &tn_op_if, 1, &condition, n, &attr, c->loc);
    tn_node_hold(c->g, node, 2, (tn_region *[]){b[0].r, b[1].r});
    if (tn_infer_node(c->g, node) == TN_OK)
        return node;
    TN_ASSERT(c->g->ctx->n_error > 0);
    if (c->g->ctx->n_error > had)
        suggest_shapes(c, "its branches differ");
    tn_node_remove(c->g, node);
    c->bad = true;
    return NULL;
}

static tn_value bool_scalar(imp_node *c, tn_value v)
{
    const tn_expr *count = v.def ? tn_type_count(c->pool, imp_type(v)) : NULL;
    if (count && !tn_is_value(count, 1))
        imp_fail(c, "onnx-E009", "the condition is %s, but must be one bool", imp_type_text(c, imp_type(v)));
    v = imp_cast(c, v, TN_BOOL1);
    return imp_rank(v) ? imp_reshape(c, v, 0, NULL) : v;
}

/* Converts both branches, with errors of one kept until the other one is tried: a branch that cannot be computed ends
 * the run. false: neither can be. */
static bool convert_branches(imp_node *c, branch b[2])
{
    tn_ctx *ctx = c->g->ctx;
    size_t before = ctx->n_diag, had = ctx->n_error;
    convert_branch(c, &b[0]);
    size_t between = ctx->n_diag;
    if (ctx->n_error > had) {
        tn_diag *kept = tn_arena_copy(c->arena, ctx->diag + before, (between - before) * sizeof *kept, 8);
        tn_diag_rewind(ctx, before);
        convert_branch(c, &b[1]);
        if (!b[1].ok)
            report_again(ctx, kept, between - before);
    } else {
        convert_branch(c, &b[1]);
    }
    if ((!b[0].ok && !*b[0].why) || (!b[1].ok && !*b[1].why)) { /* an operand has failed before */
        c->bad = true;
        return false;
    }
    if (!b[0].ok && !b[1].ok) {
        suggest_shapes(c, "neither branch can be computed");
        return false;
    }
    if (!b[1].ok)
        tn_diag_rewind(ctx, between);
    return true;
}

/* Results of different ranks or dtypes have no type. */
static bool untyped(const branch b[2])
{
    bool differ = false;
    for (size_t i = 0; i < b[0].n_out && b[0].ok && b[1].ok && b[0].n_out == b[1].n_out; i++) {
        const tn_type *x = tn_value_type(b[0].out[i]), *y = tn_value_type(b[1].out[i]);
        differ |= x->kind == TN_T_TENSOR && y->kind == TN_T_TENSOR &&
                  (x->n != y->n || !tn_dtype_eq(x->dtype, y->dtype));
    }
    return differ;
}

/* The results of what follows, in the last of these graphs, are known; nothing is left of them. */
static void take_rest(imp_node *c, onnx_rest *have, const onnx_rest *rest, tn_value value[])
{
    for (; rest->around; rest = rest->around, have = have->around) {
        have->at = have->nodes->n;
        have->taken = true;
    }
    have->at = have->nodes->n;
    have->n_result = rest->n_result;
    have->result = rest->result;
    if (have == onnx_of(c)->rest)
        define_results(c, rest, value);
    else
        have->value = value;
}

/* Where the branches' results have no common type, each branch goes on to the end of the graph, with its own: the
 * results of the `if` are those of the graph. If these have none either, and the graph is part of another, on to the
 * end of that. */
static void split(imp_node *c, tn_value condition, branch b[2])
{
    onnx_rest *have = onnx_of(c)->rest, *rest = NULL;
    size_t regions = c->im->region.n, diagnostics = c->g->ctx->n_diag;
    int more = 0;
    for (const onnx_rest *last = have;; last = last->around, more++) {
        rest = onnx_copy_rest(c, have, more);
        for (int i = 0; i < 2; i++)
            b[i] = (branch){.g = b[i].g, .rest = rest};
        if (!convert_branches(c, b))
            break;
        if (!untyped(b) || !last->around)
            break;
        imp_discard_regions(c, regions);
        tn_diag_rewind(c->g->ctx, diagnostics);
    }
    for (int i = 0; i < 2 && !c->bad; i++)
        if (!b[i].ok)
            make_fail(c, &b[i], i ? "else" : "then");
    tn_node *n = c->bad ? NULL : if_node(c, condition, b);
    tn_value *value = TN_NEW_N(&c->im->scratch, tn_value, n ? n->nout : 0);
    for (uint32_t k = 0; n && k < n->nout; k++)
        value[k] = onnx_opened(c, (tn_value){n, k});
    if (n)
        take_rest(c, have, rest, value);
}

static void if_(imp_node *c)
{
    tn_value condition = bool_scalar(c, imp_in(c, 0));
    branch b[2] = {{.g = onnx_attr_graph(c, "then_branch")}, {.g = onnx_attr_graph(c, "else_branch")}};
    double known;
    if (c->bad)
        return;
    if (b[0].g->output.n < c->n_out || b[1].g->output.n < c->n_out)
        imp_fail(c, "onnx-E017", "%zu results are used, but a branch gives fewer; the model is damaged",
                 c->n_out);
    if (c->bad)
        return;
    if (imp_scalar(c, condition, &known)) {
        inline_branch(c, b[known != 0 ? 0 : 1].g);
        return;
    }
    size_t regions = c->im->region.n, diagnostics = c->g->ctx->n_diag;
    if (!convert_branches(c, b))
        return;
    if (untyped(b)) {
        imp_discard_regions(c, regions);
        tn_diag_rewind(c->g->ctx, diagnostics);
        split(c, condition, b);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (!b[i].ok)
            make_fail(c, &b[i], i ? "else" : "then");
    tn_node *n = if_node(c, condition, b);
    for (uint32_t i = 0; n && i < n->nout && i < c->n_out; i++)
        imp_out(c, i, onnx_opened(c, (tn_value){n, i}));
}

/* ---- loops: each iteration anew, with what is known of it ---- */

enum { MAX_UNROLL = 256, MAX_UNROLLED_NODES = 65536 };

void onnx_refuse_loop(imp_node *c, const char *why)
{
    imp_fail(c, "onnx-E029",
             "%s; a loop must keep the shapes of its carried values and collected results, or have at most "
             "%d iterations, a number known at compile time",
             why, MAX_UNROLL);
}

bool onnx_is_long(const onnx_graph *g, int64_t n)
{
    return n > MAX_UNROLL || n * (int64_t)g->node.n > MAX_UNROLLED_NODES;
}

/* v with a new dimension of extent 1 at axis. */
static tn_value with_axis(imp_node *c, tn_value v, int axis)
{
    tn_expand_dims_attr a = {axis, 1};
    return imp_call1(c, &tn_op_expand_dims, &a, v);
}

tn_value onnx_stacked(imp_node *c, const tn_value *v, int64_t n, size_t stride, int axis, bool backward)
{
    tn_value *all = TN_NEW_N(c->arena, tn_value, (size_t)n);
    tn_axis_attr a = {axis};
    for (int64_t i = 0; i < n; i++)
        all[backward ? n - 1 - i : i] = with_axis(c, v[(size_t)i * stride], axis);
    return imp_call(c, &tn_op_concatenate, &a, (int)n, all);
}

/* ---- a loop that stays one: its number of iterations is known during the run ---- */

static void loop_body(imp_node *c, onnx_loop *b)
{
    c->bad = !onnx_body(c, b->g, b->r, b->n_carried + 2, b->inner, b->out) || c->bad;
}

onnx_loop onnx_begin_loop(imp_node *c, const onnx_graph *g, tn_value trip, tn_value go, uint32_t n_carried,
                          const tn_value carried[])
{
    onnx_loop b = {.g = g, .n_carried = n_carried, .body = loop_body};
    b.in = TN_NEW_N(c->arena, tn_value, n_carried + 2);
    b.inner = TN_NEW_N(c->arena, tn_value, n_carried + 2);
    b.out = TN_NEW_N(c->arena, tn_value, ONNX_MAX_BODY + 1);
    b.carried = TN_NEW_N(c->arena, const tn_type *, n_carried);
    b.in[0] = trip;
    b.in[1] = go;
    for (uint32_t k = 0; k < n_carried; k++)
        b.in[k + 2] = onnx_as_value(c, carried[k]);
    for (uint32_t k = 0; k < n_carried && !c->bad; k++)
        b.carried[k] = tn_value_type(b.in[k + 2]);
    return b;
}

/* What a Loop begins with. */
static onnx_loop begin_loop(imp_node *c, const onnx_graph *g, uint32_t n_carried)
{
    int64_t most = INT64_MAX, zero = 0;
    tn_value *carried = TN_NEW_N(c->arena, tn_value, n_carried);
    tn_value trip =
        imp_has(c, 0) ? imp_cast(c, imp_in(c, 0), TN_I64) : imp_const_ints(c, TN_I64, 0, 1, &most);
    trip = imp_rank(trip) ? imp_reshape(c, trip, 0, NULL) : trip;
    trip = imp_call2(c, &tn_op_maximum, NULL, trip, imp_const_ints(c, TN_I64, 0, 1, &zero));
    tn_value go = imp_has(c, 1) ? bool_scalar(c, imp_in(c, 1)) : imp_const(c, TN_BOOL1, 1);
    for (uint32_t k = 0; k < n_carried; k++)
        carried[k] = imp_in(c, k + 2);
    return onnx_begin_loop(c, g, trip, go, n_carried, carried);
}

/* A region whose parameters stand for what an iteration does; the body sees tensors with extents. */
static void begin_body(imp_node *c, onnx_loop *b)
{
    tn_pool *p = c->g->pool;
    b->r = imp_region_new(c);
    b->n_symbol = c->g->n_symbol;
    b->inner[0] = tn_val(tn_region_add_param(c->g, b->r, "i", tn_type_tensor(p, TN_I64, 0, NULL, NULL)));
    for (uint32_t k = 0; k < b->n_carried; k++)
        b->inner[k + 2] = tn_val(tn_region_add_param(
            c->g, b->r, tn_arena_printf(c->arena, "carried%u", (unsigned)k), b->carried[k]));
    for (uint32_t k = 0; k < b->n_carried; k++)
        b->inner[k + 2] = tn_unboxed(c->g, b->inner[k + 2]);
}

static void convert_body(imp_node *c, onnx_loop *b)
{
    tn_region *outer = c->im->r;
    c->im->r = b->r;
    b->n_out = (uint32_t)b->g->output.n;
    b->inner[1] = imp_const(c, TN_BOOL1, 1); /* inside it holds */
    b->body(c, b);
    for (uint32_t k = 1; k <= b->n_carried && !c->bad; k++)
        b->out[k] = onnx_like(c, b->out[k], b->inner[k + 1]);
    onnx_need_tensors(c, "collected result", c->bad ? 0 : b->n_out - b->n_carried - 1,
                      b->out + b->n_carried + 1);
    b->out[0] = c->bad ? b->out[0] : bool_scalar(c, b->out[0]);
    c->im->r = outer;
}

/* A type for what is a now and b in the next iteration: any extent where they differ. */
static const tn_type *join(imp_node *c, const tn_type *a, const tn_type *b)
{
    const tn_expr *dim[IMP_MAX_RANK + 1];
    if (a->kind != TN_T_TENSOR || b->kind != TN_T_TENSOR)
        return onnx_join_types(c, a, b);
    if (a->n != b->n || !tn_dtype_eq(a->dtype, b->dtype) || a->n > IMP_MAX_RANK) {
        imp_fail(c, "onnx-E029", "a carried value of its loop is %s and becomes %s, which has another %s",
                 imp_type_text(c, a), imp_type_text(c, b), a->n != b->n ? "number of dimensions" : "type");
        return a;
    }
    if (tn_type_fits(a, b))
        return a;
    for (int d = 0; d < a->n; d++)
        dim[d] = a->dim[d] == b->dim[d] ? a->dim[d] : tn_any_dim(c->g->pool);
    return tn_type_tensor(c->g->pool, a->dtype, a->n, dim, NULL);
}

/* All carried values get types of any extent; false: they had them. */
static bool widen(imp_node *c, onnx_loop *b)
{
    const tn_expr *dim[IMP_MAX_RANK];
    bool wider = false;
    for (int d = 0; d < IMP_MAX_RANK; d++)
        dim[d] = tn_any_dim(c->g->pool);
    for (uint32_t k = 0; k < b->n_carried; k++) {
        const tn_type *t = b->carried[k];
        for (int d = 0; t->kind == TN_T_TENSOR && d < t->n; d++)
            wider = wider || !tn_dim_is_any(t->dim[d]);
        if (t->kind == TN_T_TENSOR)
            b->carried[k] = tn_type_tensor(c->g->pool, t->dtype, t->n, dim, NULL);
    }
    return wider;
}

/* Carried values get types that hold in every iteration so far; false: one has changed. */
static bool join_carried(imp_node *c, onnx_loop *b)
{
    bool same = true;
    for (uint32_t k = 0; k < b->n_carried && !c->bad; k++) {
        const tn_type *next = tn_value_type(b->out[k + 1]), *t;
        if (next->kind == TN_T_OPTIONAL &&
            b->carried[k]->kind != TN_T_OPTIONAL) { /* from the beginning, then */
            b->in[k + 2] = onnx_as_optional(c, b->in[k + 2]);
            b->carried[k] = tn_value_type(b->in[k + 2]);
            same = false;
        }
        t = join(c, b->carried[k], next);
        same = same && t == b->carried[k];
        b->carried[k] = t;
    }
    return same;
}

/* The body, for carried values whose extents differ between iterations as far as they have to: it is converted for what
 * the loop begins with, and anew where an extent turns out to change; where it cannot be converted so, for carried
 * values of any extent. If it cannot be converted at all, what was wrong first is reported. */
void onnx_settle_loop(imp_node *c, onnx_loop *b)
{
    tn_ctx *ctx = c->g->ctx;
    size_t before = ctx->n_diag, regions = c->im->region.n, n_kept = 0;
    tn_diag *kept = NULL;
    for (bool again = true; again;) {
        begin_body(c, b);
        convert_body(c, b);
        if (c->bad && !kept) {
            n_kept = ctx->n_diag - before;
            kept = tn_arena_copy(c->arena, ctx->diag + before, n_kept * sizeof *kept, 8);
            again = widen(c, b);
            c->bad = !again;
        } else {
            again = !c->bad && !join_carried(c, b);
        }
        if (!again && !(c->bad && kept))
            return;
        tn_diag_rewind(ctx, before);
        imp_discard_regions(c, regions);
    }
    report_again(ctx, kept, n_kept);
}

typedef struct {
    const tn_graph *g;
    uint32_t from;
    bool found;
} newer;

static bool is_newer(const tn_expr *e, void *user)
{
    newer *n = user;
    for (uint32_t i = n->from; e->kind == TN_E_SYM && i < n->g->n_symbol; i++)
        n->found = n->found || n->g->symbol[i].name == e->u.s;
    return !n->found;
}

bool onnx_is_inside(imp_node *c, const onnx_loop *b, const tn_expr *e)
{
    newer n = {c->g, b->n_symbol, tn_dim_is_any(e)};
    (void)tn_each(e, is_newer, &n);
    return n.found;
}

/* Extents of what is collected by a loop whose condition always holds; None where its body finds them out. */
static tn_dims known_rows(imp_node *c, const onnx_loop *b)
{
    tn_vec(const tn_expr *) dim = {0};
    const tn_value in[3] = {b->in[1], b->in[0], imp_const_ints(c, TN_I64, 0, 1, (int64_t[]){0})};
    bool known = true;
    for (uint32_t k = b->n_carried + 1; k < b->n_out; k++)
        for (int d = -1; d < imp_rank(b->out[k]); d++) {
            tn_vec_push(&dim, d < 0 ? NULL : imp_type(b->out[k])->dim[d]);
            known = known && (d < 0 || !onnx_is_inside(c, b, imp_type(b->out[k])->dim[d]));
        }
    tn_dims count = known ? imp_bind(c, imp_call(c, &tn_op_where, NULL, 3, in), NULL) : (tn_dims){0};
    for (size_t i = 0; i < dim.n && count.n; i++)
        dim.at[i] = dim.at[i] ? dim.at[i] : count.at[0];
    tn_dims all = count.n ? tn_dims_make(c->g->arena, (uint32_t)dim.n, dim.at) : count;
    tn_vec_deinit(&dim);
    return all;
}

tn_node *onnx_loop_node(imp_node *c, const onnx_loop *b, const tn_loop_attr *attr)
{
    tn_region_set_results(c->g, b->r, (int)b->n_out, b->out);
    tn_node *n = tn_node_new(c->g, c->im->r, NULL, &tn_op_loop, (int)b->n_carried + 2, b->in,
                             (int)b->n_out - 1, attr, c->loc);
    tn_node_hold(c->g, n, 1, (tn_region *[]){b->r});
    c->bad = tn_infer_node(c->g, n) != TN_OK;
    return n;
}

/* A loop whose number of iterations, or whose shapes, are known during the run. */
static void loop_node(imp_node *c, const onnx_graph *g, uint32_t n_carried)
{
    tn_loop_attr attr = {{0}};
    double always = 0;
    onnx_loop b = begin_loop(c, g, n_carried);
    if (!c->bad)
        onnx_settle_loop(c, &b);
    if (c->bad)
        return;
    if (b.n_out > n_carried + 1 && imp_has(c, 0) && imp_scalar(c, b.out[0], &always) && always != 0)
        attr.collect = known_rows(c, &b);
    tn_node *n = c->bad ? NULL : onnx_loop_node(c, &b, &attr);
    for (uint32_t k = 0; k < c->n_out && !c->bad; k++)
        imp_out(c, k, tn_unboxed(c->g, (tn_value){n, k}));
}

/* No iteration: nothing is collected; the body says what shapes it would have. */
static void no_iteration(imp_node *c, const onnx_graph *g, uint32_t n_carried)
{
    const tn_expr *dim[IMP_MAX_RANK + 1] = {tn_idx(c->pool, 0)};
    for (uint32_t k = 0; k < n_carried && k < c->n_out; k++)
        imp_out(c, k, imp_in(c, k + 2));
    if (c->n_out <= n_carried)
        return;
    onnx_loop b = begin_loop(c, g, n_carried);
    if (!c->bad)
        onnx_settle_loop(c, &b);
    for (uint32_t k = n_carried; k < c->n_out && !c->bad; k++) {
        const tn_type *t = imp_type(b.out[k + 1]);
        for (int d = 0; d < t->n; d++)
            dim[d + 1] = onnx_is_inside(c, &b, t->dim[d]) ? dim[0] : t->dim[d];
        tn_broadcast_to_attr to = {tn_dims_make(c->arena, (uint32_t)t->n + 1, dim)};
        imp_out(c, k, imp_call1(c, &tn_op_broadcast_to, &to, imp_const(c, t->dtype, 0)));
    }
    tn_region_discard(c->g, b.r);
}

/* Trip count and condition before the first iteration; false: known only during the run, or too many to write them all
 * down. */
static bool loop_bounds(imp_node *c, const onnx_graph *g, int64_t *out_count, bool *out_go)
{
    double count = -1, go = 1;
    *out_count = INT64_MAX;
    bool counted = !imp_has(c, 0) || imp_scalar(c, imp_in(c, 0), &count),
         decided = !imp_has(c, 1) || imp_scalar(c, imp_in(c, 1), &go);
    if (imp_has(c, 0) && counted)
        *out_count = (int64_t)fmin(fmax(count, 0), 1 << 30);
    *out_go = !decided || go != 0;
    if (*out_count == 0 || !*out_go)
        return true;
    if (!counted || !decided)
        return false;
    return *out_count == INT64_MAX || !onnx_is_long(g, *out_count);
}

static void loop(imp_node *c)
{
    const onnx_graph *g = onnx_attr_graph(c, "body");
    uint32_t n_carried = imp_n_in(c) < 2 ? 0 : imp_n_in(c) - 2;
    int64_t count, i = 0;
    bool go;
    double next;
    if (c->bad)
        return;
    if (g->output.n < n_carried + 1u || g->output.n > ONNX_MAX_BODY || c->n_out > g->output.n - 1)
        imp_fail(c, "onnx-E017", "its body gives %zu results; the model is damaged", g->output.n);
    size_t n_scan = c->bad ? 0 : g->output.n - 1 - n_carried;
    bool known = !c->bad && loop_bounds(c, g, &count, &go);
    if (!c->bad && !known)
        loop_node(c, g, n_carried);
    if (known && (count == 0 || !go))
        no_iteration(c, g, n_carried);
    if (!known || count == 0 || !go)
        return;
    tn_value *in = TN_NEW_N(c->arena, tn_value, n_carried + 2),
             *out = TN_NEW_N(c->arena, tn_value, ONNX_MAX_BODY);
    tn_vec(tn_value) scans = {0};
    for (uint32_t k = 0; k < n_carried; k++)
        in[k + 2] = imp_in(c, k + 2);
    for (; i < count && go && !c->bad; i++) {
        if (onnx_is_long(g, i + 1)) {
            loop_node(c, g, n_carried);
            tn_vec_deinit(&scans);
            return;
        }
        in[0] = imp_const_ints(c, TN_I64, 0, 1, &i);
        in[1] = imp_const(c, TN_BOOL1, 1);
        c->bad = !onnx_body(c, g, c->im->r, n_carried + 2, in, out) || c->bad;
        if (!c->bad && !imp_scalar(c, out[0], &next)) {
            loop_node(c, g, n_carried);
            tn_vec_deinit(&scans);
            return;
        }
        go = !c->bad && next != 0;
        for (uint32_t k = 0; k < n_carried; k++)
            in[k + 2] = out[k + 1];
        onnx_need_tensors(c, "collected result", c->bad ? 0 : n_scan, out + 1 + n_carried);
        for (size_t k = 0; k < n_scan; k++)
            tn_vec_push(&scans, out[1 + n_carried + k]);
    }
    for (size_t k = 0; k < c->n_out && !c->bad; k++) {
        imp_out(c, (uint32_t)k,
                k < n_carried ? in[k + 2] : onnx_stacked(c, scans.at + (k - n_carried), i, n_scan, 0, false));
    }
    tn_vec_deinit(&scans);
}

// clang-format off
const imp_row onnx_rows_flow[] = {
    {"If",   1,  0,  1, -1, if_,   NULL},
    {"Loop", 1,  0, -1, -1, loop,  NULL},
    {0},
};
// clang-format on
