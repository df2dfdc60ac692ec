/* If: a condition that is known is its branch. Else both branches are converted; one that cannot be, for the shapes
 * given, becomes a failure at run time, with a warning now. Where the results of the branches have no common type, what
 * follows is converted once for each. So it is where the rank of a result depends on a size of the run. */
#include "frontend/onnx/flow.h"
#include "frontend/import/loop.h"

#include "op/control/control.h"
#include "op/host/host.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* What is decided on, one inside the other: extents and ranks, of which one without bounds has nine ways to go on. */
enum { MAX_FORKS = 6, OF_ANY_RANK = 3 };

void onnx_report_again(tn_ctx *ctx, const tn_diag *kept, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)tn_report(ctx, kept[i].severity, kept[i].id, &kept[i].loc, "%s", kept[i].message);
}

/* ---- If ---- */

typedef struct branch {
    const onnx_graph *g;   /* NULL: there is nothing but the rest */
    onnx_size size;        /* what it knows of a size of the run; no extent: nothing */
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

/* What holds in the branch from its beginning on. */
static void learn(imp_node *c, branch *b)
{
    tn_region *outer = c->im->r;
    c->im->r = b->r;
    if (b->size.type)
        b->size.opened = onnx_with_rank(c, b->size.value, b->size.type);
    c->im->r = outer;
    tn_vec_push(&onnx_of(c)->sizes, b->size);
}

static void convert_branch(imp_node *c, branch *b)
{
    tn_ctx *ctx = c->g->ctx;
    size_t from = ctx->n_diag, regions = c->im->region.n;
    size_t known = onnx_of(c)->sizes.n;
    b->r = imp_region_new(c);
    if (!b->g)
        learn(c, b);
    b->n_out = b->rest ? last_rest(b->rest)->n_result : b->g->output.n;
    b->out = TN_NEW_N(c->arena, tn_value, b->n_out);
    b->ok = b->rest ? onnx_body_and_rest(c, b->g, b->rest, b->r, b->out)
                    : onnx_body(c, b->g, b->r, 0, NULL, b->out);
    onnx_of(c)->sizes.n = known;
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

/* The branch cannot be computed for these shapes: taking it ends the run. Where the model does not say which ranks a
 * value may have, it is no news that some cannot be taken. */
static void make_fail(imp_node *c, branch *b, const char *which)
{
    bool rank = b->size.value.def && b->size.is;
    const char *what = rank ? tn_arena_printf(c->arena, "an operand of %d dimensions", (int)b->size.n)
                            : tn_arena_printf(c->arena, "the %s branch", which);
    tn_fail_attr a = {
        tn_arena_printf(c->arena, "%s cannot run for the shapes it was compiled for: %s", what, b->why)};
    if (!b->size.any)
        (void)tn_report(c->g->ctx, TN_WARNING, "onnx-W002", c->loc,
                        "%s cannot be computed for the given shapes; a run that takes it will fail: %s",
                        rank ? what : tn_arena_printf(c->arena, "its %s branch", which), b->why);
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
    if (b.n) /* else what was reported before says all */
        (void)tn_error(c->g->ctx, "onnx-E026", c->loc,
                       "%s; its condition is known only at run time. Give these inputs fixed shapes "
                       "(--input-shapes): %s",
                       trouble, tn_buf_cstr(&b));
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

/* A value that may have several ranks, which are asked for one after the other. */
typedef struct {
    tn_value v;
    onnx_ranks left;
} of_ranks;

static tn_value bool_of_ranks(imp_node *c, of_ranks *x);

static void by_rank(imp_node *c, imp_branches *b, bool side, tn_value out[])
{
    of_ranks x = *(const of_ranks *)b->user;
    int n = 0;
    while (!x.left.of[n])
        n++;
    if (side)
        out[0] = imp_bool_scalar(c, onnx_with_rank(c, x.v, x.left.of[n]));
    x.left.of[n] = NULL;
    if (!side)
        out[0] = bool_of_ranks(c, &x);
}

/* Depth: the number of ranks. */
static tn_value bool_of_ranks(imp_node *c, of_ranks *x)
{
    int first = IMP_MAX_RANK + 1, n = 0;
    for (int k = IMP_MAX_RANK; k >= 0; k--)
        if (x->left.of[k]) {
            first = k;
            n++;
        }
    TN_ASSERT(n > 0);
    if (n == 1)
        return imp_bool_scalar(c, onnx_with_rank(c, x->v, x->left.of[first]));
    tn_value out = {0}, rank = imp_unary(c, &tn_op_tensor_rank, x->v);
    imp_branches b = {
        .condition = imp_with(c, &tn_op_equal, rank, first), .n = 1, .branch = by_rank, .user = x};
    if (c->bad || !imp_make_if(c, &b, &out))
        c->bad = true;
    return out;
}

tn_value onnx_bool_scalar(imp_node *c, tn_value v)
{
    of_ranks x = {.v = v};
    if (c->bad || !v.def || !onnx_is_any_rank(v))
        return imp_bool_scalar(c, v);
    (void)onnx_all_ranks_of(c, v, &x.left);
    return bool_of_ranks(c, &x);
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
            onnx_report_again(ctx, kept, between - before);
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

static bool is_forked(tn_value v) { return onnx_is_any_rank(v) && tn_op_is(v.def, &tn_op_if); }

/* Results of different ranks or dtypes have no type that operators take. */
static bool untyped(const branch b[2])
{
    bool differ = false;
    for (size_t i = 0; i < b[0].n_out && b[0].ok && b[1].ok && b[0].n_out == b[1].n_out; i++) {
        const tn_type *x = tn_value_type(b[0].out[i]), *y = tn_value_type(b[1].out[i]);
        differ |= x->kind == TN_T_TENSOR && y->kind == TN_T_TENSOR &&
                  (x->n != y->n || !tn_dtype_eq(x->dtype, y->dtype));
    }
    for (int i = 0; i < 2 && !differ; i++)
        for (size_t k = 0; k < b[i].n_out && b[i].ok; k++)
            differ |= is_forked(b[i].out[k]);
    return differ;
}

/* The results of what follows, in the last of these graphs, are known; nothing is left of them. */
static void take_rest(onnx_rest *have, const onnx_rest *rest, tn_value value[])
{
    for (; rest->around; rest = rest->around, have = have->around) {
        have->at = have->n_step;
        have->taken = true;
    }
    have->at = have->n_step;
    have->n_result = rest->n_result;
    have->result = rest->result;
    have->value = value;
}

/* Where the branches' results have no common type, each branch goes on with what depends on them to the end of the
 * graph, with its own: the results of the `if` are those of the graph. If these have none either, and the graph is part
 * of another, all that is left goes on to the end of that. Branches without graphs begin with c itself. */
static void split(imp_node *c, tn_value condition, branch b[2])
{
    onnx_rest *have = onnx_of(c)->rest, *rest = NULL, dependent, others;
    size_t regions = c->im->region.n, diagnostics = c->g->ctx->n_diag;
    int more = 0;
    if (!onnx_take_apart(c, have, &dependent, &others))
        return;
    for (const onnx_rest *last = have;; last = last->around, more++) {
        rest = onnx_copy_rest(c, more ? have : &dependent, more);
        if (!more && !rest->n_result) { /* nothing reads it */
            *have = others;
            return;
        }
        rest->at -= !b[0].g;
        for (int i = 0; i < 2; i++)
            b[i] = (branch){.g = b[i].g, .size = b[i].size, .rest = rest};
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
    if (n && more) {
        take_rest(have, rest, value);
    } else if (n) {
        *have = others;
        define_results(c, rest, value);
    }
}

static bool is_about_same(const onnx_size *a, const onnx_size *b)
{
    return a->extent == b->extent && a->value.def == b->value.def && a->value.out == b->value.out;
}

/* Nested decisions with one about `next`; what is asked about until it is known counts once. */
static int forks(const onnx_import *o, const onnx_size *next)
{
    int n = next->any ? OF_ANY_RANK : 1;
    for (size_t i = 0; i < o->sizes.n; i++) {
        const onnx_size *s = &o->sizes.at[i];
        if (!is_about_same(s, next) && (i == 0 || !is_about_same(s, s - 1)))
            n += s->any ? OF_ANY_RANK : 1;
    }
    return n;
}

/* c, and what follows, in both branches. */
static void fork_on(imp_node *c, tn_value condition, branch b[2])
{
    if (forks(onnx_of(c), &b[0].size) > MAX_FORKS)
        imp_fail(
            c, "onnx-E112",
            "the ranks of results depend on more than %d extents and ranks that only the run knows; give the "
            "inputs shapes (--input-shapes), or the operators axes",
            MAX_FORKS);
    if (!c->bad)
        split(c, condition, b);
    c->asked = UINT64_MAX; /* attributes, in the branches */
}

void onnx_fork(imp_node *c, tn_value x, int d, int64_t n)
{
    const tn_expr *extent = imp_type(x)->dim[d];
    tn_value is = imp_with(c, &tn_op_equal, imp_extent_of(c, x, d), (double)n);
    branch b[2] = {{.size = {.extent = extent, .n = n, .is = true}}, {.size = {.extent = extent, .n = n}}};
    fork_on(c, is, b);
}

/* The last rank that is left need not be asked for. */
void onnx_fork_rank(imp_node *c, tn_value v, const onnx_ranks *r, bool any)
{
    const tn_type *left[IMP_MAX_RANK + 1];
    int n = 0;
    for (int k = 0; k <= IMP_MAX_RANK; k++)
        if (r->of[k])
            left[n++] = r->of[k];
    TN_ASSERT(n > 1);
    tn_value is = imp_with(c, &tn_op_equal, imp_unary(c, &tn_op_tensor_rank, v), left[0]->n);
    branch b[2] = {{.size = {.value = v, .n = left[0]->n, .is = true, .any = any, .type = left[0]}},
                   {.size = {.value = v, .n = left[0]->n, .any = any}}};
    if (n == 2)
        b[1].size = (onnx_size){.value = v, .n = left[1]->n, .is = true, .any = any, .type = left[1]};
    fork_on(c, is, b);
}

int onnx_extent_is(imp_node *c, const tn_expr *extent, int64_t n)
{
    const onnx_import *o = onnx_of(c);
    for (size_t i = 0; i < o->sizes.n; i++)
        if (o->sizes.at[i].extent == extent && (o->sizes.at[i].is || o->sizes.at[i].n == n))
            return o->sizes.at[i].n == n ? o->sizes.at[i].is : 0;
    const tn_expr *same = imp_simplify(c, tn_eq(c->pool, extent, tn_idx(c->pool, n)));
    return tn_is_value(same, 1) ? 1 : tn_is_value(same, 0) ? 0 : -1;
}

/* The last length that is left need not be asked for: it is checked. */
bool onnx_fix_length(imp_node *c, uint32_t i, int least, int most)
{
    tn_value v = imp_in(c, i);
    int left = 0, first = most;
    if (c->bad || imp_rank(v) != 1 || imp_length(v) >= 0)
        return !c->bad;
    if (least == 0 && imp_type(v)->dim[0]->kind == TN_E_SYM)
        tn_graph_symbol(c->g, imp_type(v)->dim[0]->u.s)->is_length = true;
    for (int n = most; n >= least && left >= 0; n--) {
        int is = onnx_extent_is(c, imp_type(v)->dim[0], n);
        if (is)
            first = n;
        left = is > 0 ? -1 : left + (is < 0);
    }
    if (left > 1) {
        onnx_fork(c, v, 0, first);
        return false;
    }
    if (!imp_with_extent(c, &v, 0, tn_idx(c->pool, first)))
        imp_fail(
            c, "onnx-E022",
            "operand %u, which decides about the shape of the result, is %s, but must have %d to %d elements",
            (unsigned)i, imp_type_text(c, imp_type(v)), least, most);
    tn_value *given = TN_NEW_N(c->arena, tn_value, c->n_in);
    for (uint32_t k = 0; k < c->n_in; k++)
        given[k] = k == i ? v : imp_opt(c, k);
    c->given = given;
    return !c->bad;
}

static void if_(imp_node *c)
{
    tn_value condition = onnx_bool_scalar(c, imp_in(c, 0));
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

// clang-format off
const imp_row onnx_rows_if[] = {
    {"If",   1,  0,  1, -1, if_,   NULL},
    {0},
};
// clang-format on
