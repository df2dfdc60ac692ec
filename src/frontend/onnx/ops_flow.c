/* Loop. Loops of a known number of iterations are unrolled. In others carried values have types that hold in every
 * iteration. */
#include "frontend/onnx/flow.h"

#include "frontend/import/text.h"
#include "op/control/control.h"
#include "op/host/host.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* ---- loops: each iteration anew, with what is known of it ---- */

enum { MAX_UNROLL = 256, MAX_UNROLLED_NODES = 65536 };

bool onnx_is_long(const onnx_graph *g, int64_t n)
{
    return n > MAX_UNROLL || n * (int64_t)g->node.n > MAX_UNROLLED_NODES;
}

tn_value onnx_zeros(imp_node *c, tn_dtype t, tn_dims shape)
{
    tn_broadcast_to_attr to = {shape};
    tn_value zero = tn_dtype_is_string(t) ? imp_const_text(c, "") : imp_const(c, t, 0), at;
    imp_movable(c, 1, &zero, &at);
    return imp_moved(c, 1, &zero, imp_call1(c, &tn_op_broadcast_to, &to, at));
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
    size_t more = 2 * g->output.n; /* what collecting texts carries */
    b.in = TN_NEW_N(c->arena, tn_value, n_carried + 2 + more);
    b.inner = TN_NEW_N(c->arena, tn_value, n_carried + 2);
    b.out = TN_NEW_N(c->arena, tn_value, ONNX_MAX_BODY + 1 + more);
    b.carried = TN_NEW_N(c->arena, const tn_type *, n_carried);
    b.in[0] = trip;
    b.in[1] = go;
    for (uint32_t k = 0; k < n_carried; k++)
        b.in[k + 2] = onnx_as_value(c, carried[k]);
    b.ranks = TN_NEW_N(c->arena, onnx_ranks, n_carried + more);
    for (uint32_t k = 0; k < n_carried && !c->bad; k++) {
        b.carried[k] = tn_value_type(b.in[k + 2]);
        if (b.carried[k]->kind == TN_T_ANY)
            (void)onnx_ranks_of(c, b.in[k + 2], &b.ranks[k]);
    }
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
    trip = imp_binary(c, &tn_op_maximum, trip, imp_const_ints(c, TN_I64, 0, 1, &zero));
    tn_value go = imp_has(c, 1) ? onnx_bool_scalar(c, imp_in(c, 1)) : imp_const(c, TN_BOOL1, 1);
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
        if (b->carried[k]->kind == TN_T_ANY)
            onnx_note_ranks(c, b->inner[k + 2].def,
                            tn_arena_copy(c->arena, &b->ranks[k], sizeof *b->ranks, _Alignof(onnx_ranks)));
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
    b->out[0] = c->bad ? b->out[0] : onnx_bool_scalar(c, b->out[0]);
    c->im->r = outer;
}

/* A type for what is a now and b in the next iteration: any extent where they differ. */
static const tn_type *join(imp_node *c, const tn_type *a, const tn_type *b)
{
    const tn_expr *dim[IMP_MAX_RANK + 1];
    if (a->kind != TN_T_TENSOR || b->kind != TN_T_TENSOR || a->n != b->n || !tn_dtype_eq(a->dtype, b->dtype))
        return onnx_join_types(c, a, b);
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
        for (int n = 0; t->kind == TN_T_ANY && n <= IMP_MAX_RANK; n++) {
            const tn_type *one = b->ranks[k].of[n];
            const tn_type *any = one ? tn_type_tensor(c->g->pool, one->dtype, n, dim, NULL) : NULL;
            wider = (one && onnx_add_rank(c, &b->ranks[k], any)) || wider;
        }
    }
    return wider;
}

/* Extents that the body finds out are other ones in each iteration. */
static void add_inside(imp_node *c, const onnx_loop *b, onnx_ranks *to, const tn_type *t)
{
    const tn_expr *dim[IMP_MAX_RANK];
    for (int d = 0; d < t->n; d++)
        dim[d] = onnx_is_inside(c, b, t->dim[d]) ? tn_any_dim(c->pool) : t->dim[d];
    (void)onnx_add_rank(c, to, tn_type_tensor(c->pool, t->dtype, t->n, dim, NULL));
}

/* Carried value k is of several ranks, which are added to those so far. true: they have become more, or wider. */
static bool join_ranks(imp_node *c, onnx_loop *b, uint32_t k)
{
    onnx_ranks next, made = {{0}}, *r = &b->ranks[k];
    if (!onnx_ranks_of(c, b->out[k + 1], &next) || (!onnx_is_limited(r) && b->carried[k]->kind == TN_T_ANY)) {
        *r = made; /* nothing is known, then */
        return false;
    }
    if (b->carried[k]->kind == TN_T_TENSOR)
        (void)onnx_add_rank(c, r, b->carried[k]);
    for (int n = 0; n <= IMP_MAX_RANK; n++)
        if (next.of[n])
            add_inside(c, b, &made, next.of[n]);
    return onnx_add_ranks(c, r, &made);
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
        if (t->kind == TN_T_ANY && !c->bad)
            same = !join_ranks(c, b, k) && same;
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
    onnx_report_again(ctx, kept, n_kept);
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

/* Extents of what is collected by a loop whose condition always holds; None where its body finds them out. What has no
 * rank the loop does not collect itself. */
static tn_dims known_rows(imp_node *c, const onnx_loop *b)
{
    tn_vec(const tn_expr *) dim = {0};
    const tn_value in[3] = {b->in[1], b->in[0], imp_const_ints(c, TN_I64, 0, 1, (int64_t[]){0})};
    bool known = true;
    for (uint32_t k = b->n_carried + 1; k < b->n_out; k++)
        for (int d = onnx_is_value(b->out[k]) ? 0 : -1; d < imp_rank(b->out[k]); d++) {
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

/* ---- the node ---- */

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
    tn_value *result = TN_NEW_N(c->arena, tn_value, b.n_out);
    if (!c->bad)
        onnx_loop_node(c, &b, &attr, result);
    for (uint32_t k = 0; k < c->n_out && !c->bad; k++)
        imp_out(c, k, result[k]);
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
        const tn_type *t = imp_type(b.out[k + 1]); /* of any rank: a list then */
        for (int d = 0; d < t->n; d++)
            dim[d + 1] = onnx_is_inside(c, &b, t->dim[d]) ? dim[0] : t->dim[d];
        imp_out(c, k, onnx_zeros(c, t->dtype, tn_dims_make(c->arena, (uint32_t)t->n + 1, dim)));
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
    {"Loop", 1,  0, -1, -1, loop,  NULL},
    {0},
};
// clang-format on
