/* From a fused group to one TIR function: the operators' tensor expressions in order, inlined as far as that
 * costs no work twice, finished into blocks. Layouts come from the types of the group's parameters and
 * results; inside a group values have none. */
#include "ir/eval.h"
#include "op/core/core.h"
#include "transform/pass.h"

#include <ctype.h>
#include <string.h>

tn_node *tn_group_fn(const tn_node *call)
{
    if (call->op != &tn_op_call || call->nin == 0)
        return NULL;
    tn_node *fn = call->in[0].def;
    return fn && fn->op == &tn_op_fn && ((const tn_fn_attr *)fn->attr)->Primitive ? fn : NULL;
}

const char *tn_group_name(tn_graph *g, const tn_node *call)
{
    tn_buf b = {0};
    tn_buf_str(&b, "fused");
    for (const tn_node *n = tn_group_fn(call)->region[0]->first; n; n = n->next) {
        if (n->op->fuse == TN_FUSE_NONE)
            continue;
        tn_buf_char(&b, '_');
        for (const char *c = n->op->name; *c; c++)
            tn_buf_char(&b, isalnum((unsigned char)*c) ? *c : '_');
    }
    if (b.n > 80) {
        uint64_t h = tn_hash_bytes(b.at, b.n, 0);
        b.n = 80;
        tn_buf_printf(&b, "_%08x_", (unsigned)h);
    }
    const char *s = tn_arena_strdup(g->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

const char *tn_group_source(tn_graph *g, const tn_node *call)
{
    tn_buf b = {0};
    const char *before = NULL;
    for (const tn_node *n = tn_group_fn(call)->region[0]->first; n; n = n->next) {
        const char *name = n->op->fuse == TN_FUSE_NONE || !n->loc ? NULL : n->loc->node;
        if (!name || (before && strcmp(name, before) == 0))
            continue;
        tn_buf_printf(&b, "%s%s", b.n ? ", " : "", name);
        before = name;
    }
    const char *s = tn_arena_strdup(g->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

/* A constant of one element is a tensor of rank 0 that is always inlined. */
static tn_tensor *scalar(tn_te *te, const tn_node *c)
{
    const tn_type *t = c->type[0];
    tn_scalar v = tn_scalar_read(t->dtype, c->blob->at);
    tn_tensor *x = tn_te_like(te, "c", t);
    tn_te_define(te, x,
                 tn_dtype_is_float(t->dtype) ? tn_flt(te->pool, t->dtype, v.f)
                                             : tn_int(te->pool, t->dtype, v.i));
    return x;
}

/* A group on its way to tensors. */
typedef struct {
    tn_te *te;
    tn_graph *g;
    tn_map of; /* node id -> array with a tensor for each result */
    tn_vec(bool)
        move; /* by buffer: does the operator only move data, or so little work that it may be repeated? */
} lowering;

static tn_tensor *tensor_of(const lowering *l, const tn_use *u)
{
    uint64_t at;
    if (!u->def)
        return NULL;
    bool found = tn_map_get(&l->of, u->def->id, &at);
    TN_ASSERT(found);
    return ((tn_tensor *const *)(uintptr_t)at)[u->out];
}

static tn_status define(lowering *l, const tn_node *n)
{
    tn_te *te = l->te;
    tn_tensor **in = TN_NEW_N(te->arena, tn_tensor *, n->nin),
              **out = TN_NEW_N(te->arena, tn_tensor *, n->nout);
    tn_map_put(&l->of, n->id, tn_map_key(out));
    if (n->op == &tn_op_var) {
        out[0] = tn_te_input(te, n->name, n->type[0]);
    } else if (n->op == &tn_op_constant) {
        out[0] = scalar(te, n);
    } else {
        for (int i = 0; i < n->nin; i++)
            in[i] = tensor_of(l, &n->in[i]);
        te->source = n->loc && n->loc->node ? n->loc->node : "";
        TN_TRY(tn_define_node(te, l->g, n, in, out));
    }
    while (l->move.n < te->func->n_buffer)
        tn_vec_push(&l->move, false);
    for (int k = 0; k < n->nout; k++)
        l->move.at[out[k]->buffer] = (n->op->flags & (TN_OP_INDEX_MAP | TN_OP_CHEAP)) != 0;
    return TN_OK;
}

/* A tensor is inlined if it is defined by a plain expression and either moves data only, or each of its
 * elements is read once, or read element by element on every way to one tensor. */
static void inline_all(tn_te *te, const bool *is_result, const bool *moves, bool constants_only)
{
    bool *pointwise = TN_NEW_N(te->arena, bool, te->func->n_buffer);
    tn_te_pointwise(te, is_result, pointwise);
    for (tn_tensor *t = te->first; t; t = t->next) {
        bool once = false;
        if (t->kind != TN_TENSOR_COMPUTE || t->reducer != TN_RED_NONE || t->step || is_result[t->buffer] ||
            t->inlined)
            continue;
        if (constants_only && (t->ndim != 0 || t->value->has_load))
            continue;
        int readers = tn_te_readers(te, t, &once);
        if (t->ndim == 0 || moves[t->buffer] || pointwise[t->buffer] || (readers == 1 && once))
            tn_te_inline(te, t);
    }
}

/* Blocks that remain carry the model nodes of what was inlined into them. */
static const char *joined_source(tn_te *te, const tn_region *r)
{
    tn_buf b = {0};
    const char *before = NULL;
    for (const tn_node *n = r->first; n; n = n->next) {
        const char *name = n->op->fuse == TN_FUSE_NONE || !n->loc ? NULL : n->loc->node;
        if (name && (!before || strcmp(before, name) != 0))
            tn_buf_printf(&b, "%s%s", b.n ? ", " : "", name);
        before = name ? name : before;
    }
    const char *s = tn_arena_strdup(te->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

/* The graph's ranges of symbols, some of which may be 0. What finishes the function relies on them. */
static void give_ranges(tn_graph *g, tn_func *f)
{
    for (uint32_t i = 0; i < f->n_symbol; i++) {
        const tn_symbol_info *s = tn_graph_find_symbol(g, f->symbol[i].name);
        TN_ASSERT(s);
        f->symbol[i].min = s->min;
        f->symbol[i].max = s->max;
    }
}

/* Ends the construction with the group's results, in order. */
static tn_func *finish(lowering *l, const tn_region *r, bool constants_only)
{
    tn_te *te = l->te;
    give_ranges(l->g, te->func);
    tn_tensor **result = TN_NEW_N(te->arena, tn_tensor *, r->n_result);
    const tn_layout **layout = TN_NEW_N(te->arena, const tn_layout *, r->n_result);
    bool *is_result = TN_NEW_N(te->arena, bool, te->func->n_buffer);
    for (uint32_t i = 0; i < r->n_result; i++) {
        result[i] = tensor_of(l, &r->result[i]);
        layout[i] = r->result[i].def->type[r->result[i].out]->layout;
        is_result[result[i]->buffer] = true;
    }
    inline_all(te, is_result, l->move.at, constants_only);
    result[r->n_result - 1]->source = joined_source(te, r);
    return tn_te_finish(te, (int)r->n_result, result, layout);
}

tn_status tn_lower_te(tn_pass *p, tn_graph *g, const tn_node *call, const char *name, tn_arena *arena,
                      tn_func **out)
{
    const tn_region *r = tn_group_fn(call)->region[0];
    tn_te te;
    tn_te_init(&te, g->ctx, arena, g->pool, name);
    lowering l = {.te = &te, .g = g};
    tn_status st = TN_OK;
    for (const tn_node *n = r->first; n && st == TN_OK; n = n->next)
        st = define(&l, n);
    if (st == TN_OK)
        *out = finish(&l, r, p->no_inlining);
    tn_map_deinit(&l.of);
    tn_vec_deinit(&l.move);
    TN_TRY(st);
    (*out)->source = tn_group_source(g, call);
    return TN_OK;
}
