/* From a fused group to one TIR function: the operators' tensor expressions in order, inlined as far as that
 * costs no work twice, finished into blocks. Layouts come from the types of the group's parameters and
 * results; inside a group values have none. */
#include "ir/eval.h"
#include "op/core/core.h"
#include "transform/pass.h"

#include <ctype.h>
#include <string.h>

enum { MAX_OUT = 16 };

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

static tn_status define(tn_te *te, tn_graph *g, const tn_node *n, tn_tensor **of)
{
    tn_tensor **in = TN_NEW_N(te->arena, tn_tensor *, n->nin), *out[MAX_OUT] = {0};
    TN_ASSERT(n->nout <= MAX_OUT);
    for (int i = 0; i < n->nin; i++)
        in[i] = n->in[i].def ? of[n->in[i].def->id] : NULL;
    te->source = n->loc && n->loc->node ? n->loc->node : "";
    TN_TRY(tn_define_node(te, g, n, in, out));
    TN_ASSERT(n->nout ==
              1); /* values of a group are single: FuseOps keeps multi-output operators at its end */
    of[n->id] = out[0];
    return TN_OK;
}

/* A tensor is inlined if it is defined by a plain expression and either moves data only, or each of its
 * elements is read once, or read element by element on every way to one tensor. */
static void inline_all(tn_te *te, const tn_tensor *result, const bool *moves, bool constants_only)
{
    bool *pointwise = TN_NEW_N(te->arena, bool, te->func->n_buffer);
    tn_te_pointwise(te, pointwise);
    for (tn_tensor *t = te->first; t; t = t->next) {
        bool once = false;
        if (t->kind != TN_TENSOR_COMPUTE || t->reducer != TN_RED_NONE || t == result || t->inlined)
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

tn_status tn_lower_te(tn_pass *p, tn_graph *g, const tn_node *call, const char *name, tn_arena *arena,
                      tn_func **out)
{
    const tn_region *r = tn_group_fn(call)->region[0];
    tn_te te;
    tn_te_init(&te, g->ctx, arena, g->pool, name);
    tn_tensor **of = TN_NEW_N(p->scratch, tn_tensor *, g->n_node);
    tn_vec(bool) moves = {0};
    for (const tn_node *n = r->first; n; n = n->next) {
        if (n->op == &tn_op_var)
            of[n->id] = tn_te_input(&te, n->name, n->type[0]);
        else if (n->op == &tn_op_constant)
            of[n->id] = scalar(&te, n);
        else
            TN_TRY(define(&te, g, n, of));
        tn_tensor *t = of[n->id];
        while (moves.n <= t->buffer)
            tn_vec_push(&moves, false);
        moves.at[t->buffer] = (n->op->flags & (TN_OP_INDEX_MAP | TN_OP_CHEAP)) != 0;
    }
    TN_ASSERT(r->n_result == 1);
    tn_tensor *result = of[r->result[0].def->id];
    const tn_layout *layout = r->result[0].def->type[r->result[0].out]->layout;
    while (moves.n < te.func->n_buffer)
        tn_vec_push(&moves, false);
    inline_all(&te, result, moves.at, p->no_inlining);
    tn_vec_deinit(&moves);
    result->source = joined_source(&te, r);
    *out = tn_te_finish(&te, 1, &result, &layout);
    (*out)->source = tn_group_source(g, call);
    for (uint32_t i = 0; i < (*out)->n_symbol; i++) {
        tn_symbol_info *s = tn_graph_symbol(g, (*out)->symbol[i].name);
        (*out)->symbol[i].min = s->min;
        (*out)->symbol[i].max = s->max;
    }
    return TN_OK;
}
