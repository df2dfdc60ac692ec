/* From a fused group to one TIR function: the operators' tensor expressions in order, inlined as far as that
 * costs no work twice, finished into blocks. Layouts come from the types of the group's parameters and
 * results; inside a group values have none. */
#include "ir/eval.h"
#include "op/core/core.h"
#include "transform/moved.h"
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

static tn_tensor *tensor_at(const lowering *l, tn_value v)
{
    uint64_t at;
    bool found = tn_map_get(&l->of, v.def->id, &at);
    TN_ASSERT(found);
    return ((tn_tensor *const *)(uintptr_t)at)[v.out];
}

static tn_tensor *tensor_of(const lowering *l, const tn_use *u)
{
    return u->def ? tensor_at(l, (tn_value){u->def, u->out}) : NULL;
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

/* ---- results that lie elsewhere ----
 * A result that holds, moved, what an anchor computes and others do with it element by element is defined over the
 * anchor's axes, and each element is stored where it lies: so it is computed in the anchor's tiles. */

/* The node whose axes results may be defined over; NULL: there is none, or others reduce, too. */
static tn_node *find_base(const lowering *l, const tn_region *r)
{
    tn_node *found = NULL;
    for (tn_node *n = r->first; n; n = n->next) {
        enum tn_fuse kind = n->op->fuse;
        if (kind != TN_FUSE_ANCHOR && kind != TN_FUSE_REDUCE && kind != TN_FUSE_OPAQUE)
            continue;
        if (found || !tn_moved_base(n))
            return NULL;
        found = n;
    }
    return found && tensor_at(l, tn_val(found))->kind == TN_TENSOR_COMPUTE ? found : NULL;
}

/* An expression with others in the place of some of its parts. */
typedef struct replacing {
    const tn_tensor *t, *of; /* reads of t, element by element, by the tensor that the expression defines */
    const tn_expr *by;
    tn_vec(const tn_expr *) from, to;
} replacing;

static bool note_read(const tn_expr *e, void *user)
{
    replacing *x = user;
    bool own = e->kind == TN_E_LOAD && e->u.load.buffer == x->t->buffer && !tn_load_mask(e) &&
               tn_dtype_eq(e->dtype, x->by->dtype);
    for (int i = 0; own && i < x->t->ndim; i++) {
        int axis = i + x->of->ndim - x->t->ndim;
        own = tn_is_value(x->t->dim[i], 1) || (axis >= 0 && e->src[i] == x->of->axis[axis]);
    }
    if (own) {
        tn_vec_push(&x->from, e);
        tn_vec_push(&x->to, x->by);
    }
    return true;
}

/* What the elements of values are, over the base's axes. */
typedef struct moving {
    lowering *l;
    tn_moved m;
    tn_map value; /* node id -> expression; of what is moved */
} moving;

static const tn_expr *element(const moving *x, tn_value v)
{
    uint64_t at;
    if (tn_map_get(&x->value, v.def->id, &at))
        return (const tn_expr *)(uintptr_t)at;
    const tn_tensor *t = tensor_at(x->l, v);
    return tn_at(x->l->te, t, t->ndim, x->m.axis);
}

/* That of n, which computes element by element, at its place. */
static const tn_expr *computed(const moving *x, tn_node *n, const tn_expr *const place[])
{
    const tn_tensor *t = tensor_at(x->l, tn_val(n));
    replacing r = {.of = t};
    for (int i = 0; i < n->nin; i++) {
        if (!tn_moved_at(&x->m, tn_in(n, i)))
            continue;
        r.t = tensor_at(x->l, tn_in(n, i));
        r.by = element(x, tn_in(n, i));
        tn_each(t->value, note_read, &r);
    }
    for (int i = 0; i < t->ndim; i++) {
        tn_vec_push(&r.from, t->axis[i]);
        tn_vec_push(&r.to, place[i]);
    }
    const tn_expr *e = tn_subst(x->l->te->pool, t->value, (int)r.from.n, r.from.at, r.to.at);
    tn_vec_deinit(&r.from);
    tn_vec_deinit(&r.to);
    return e;
}

/* Follows the base's elements through the group; false: some operator takes several of them, or is no expression. */
static bool follow(moving *x)
{
    for (tn_node *n = x->m.base.def->next; n; n = n->next) {
        if (!tn_moved_add(&x->m, n))
            return false;
        const tn_expr *const *place = tn_moved_at(&x->m, tn_val(n));
        if (!place || place == x->m.axis)
            continue;
        const tn_tensor *t = tensor_at(x->l, tn_val(n));
        if (t->kind != TN_TENSOR_COMPUTE || t->reducer != TN_RED_NONE || t->step)
            return false;
        tn_map_put(&x->value, n->id,
                   tn_map_key(n->op->moves_to ? element(x, tn_in(n, 0)) : computed(x, n, place)));
    }
    return true;
}

/* Result t, which is v, over the base's axes; t itself, where it is not moved, or read in the group. */
static tn_tensor *over_base(const moving *x, tn_value v, tn_tensor *t)
{
    tn_te *te = x->l->te;
    const tn_expr *const *at = tn_moved_at(&x->m, v);
    const tn_tensor *base = tensor_at(x->l, x->m.base);
    if (!at || at == x->m.axis || tn_value_n_uses(v) != 1 ||
        !tn_dtype_eq(te->func->buffer[t->buffer].dtype, t->dtype))
        return t;
    tn_tensor *o = tn_te_over(te, t, base);
    const tn_expr **place = TN_NEW_N(te->arena, const tn_expr *, t->ndim);
    for (int i = 0; i < t->ndim; i++)
        place[i] = tn_subst(te->pool, at[i], o->ndim, base->axis, o->axis);
    tn_te_define_at(te, o, tn_subst(te->pool, element(x, v), o->ndim, base->axis, o->axis), place);
    return o;
}

static void move_results(lowering *l, const tn_region *r, tn_tensor *result[])
{
    tn_node *base = find_base(l, r);
    if (!base)
        return;
    const tn_tensor *t = tensor_at(l, tn_val(base));
    moving x = {.l = l};
    tn_moved_init(&x.m, l->te->pool, l->te->arena, tn_val(base), t->axis);
    for (int i = 0; i < t->ndim; i++)
        tn_facts_loop(l->te->pool, &x.m.facts, t->axis[i], t->dim[i]);
    bool moved = false;
    for (uint32_t i = 0; i < r->n_result && (i > 0 || follow(&x)); i++) {
        tn_tensor *before = result[i];
        result[i] = over_base(&x, (tn_value){r->result[i].def, r->result[i].out}, before);
        moved = moved || result[i] != before;
    }
    if (moved)
        tn_te_prune(l->te, (int)r->n_result, result);
    tn_map_deinit(&x.value);
    tn_moved_deinit(&x.m);
}

/* Ends the construction with the group's results, in order. */
static tn_func *finish(lowering *l, const tn_region *r, bool constants_only)
{
    tn_te *te = l->te;
    give_ranges(l->g, te->func);
    tn_tensor **result = TN_NEW_N(te->arena, tn_tensor *, r->n_result);
    const tn_layout **layout = TN_NEW_N(te->arena, const tn_layout *, r->n_result);
    for (uint32_t i = 0; i < r->n_result; i++) {
        result[i] = tensor_of(l, &r->result[i]);
        layout[i] = r->result[i].def->type[r->result[i].out]->layout;
    }
    if (!constants_only)
        move_results(l, r, result);
    bool *is_result = TN_NEW_N(te->arena, bool, te->func->n_buffer);
    for (uint32_t i = 0; i < r->n_result; i++)
        is_result[result[i]->buffer] = true;
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
