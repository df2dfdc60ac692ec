/* The graph: regions, nodes, use lists.
 *
 * Invariants: a use is in exactly one list, that of the output it reads (none if absent); a node is in exactly one
 * region's list; parameters come first in theirs. Every edit is O(1) in the size of the graph, except replacing a value
 * (its uses) and removing a node (its regions).
 */
#include "ir/graph.h"

#include "base/size.h"
#include "ir/op.h"

#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>

void tn_graph_init(tn_graph *g, tn_ctx *ctx, tn_arena *arena, tn_pool *pool)
{
    memset(g, 0, sizeof *g);
    g->ctx = ctx;
    g->arena = arena;
    g->pool = pool;
}

void tn_graph_deinit(tn_graph *g)
{
    for (size_t i = 0; i < g->blob.n; i++)
        if (g->blob.at[i]->release)
            g->blob.at[i]->release(g->blob.at[i]);
    tn_vec_deinit(&g->assumed);
    tn_vec_deinit(&g->metadata);
    tn_vec_deinit(&g->state);
    tn_vec_deinit(&g->blob);
    tn_map_deinit(&g->named);
    tn_strmap_deinit(&g->fresh);
}

tn_function *tn_graph_function(tn_graph *g, const char *name)
{
    tn_function *f = g->func;
    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    return f;
}

tn_function *tn_graph_add_function(tn_graph *g, const char *name)
{
    TN_ASSERT(!tn_graph_function(g, name));
    tn_function *f = TN_NEW(g->arena, tn_function), **at = &g->func;
    f->name = tn_intern(g->ctx, name);
    f->body = tn_region_new(g, NULL);
    while (strcmp(name, "main") != 0 && *at) /* main goes first */
        at = &(*at)->next;
    f->next = *at;
    *at = f;
    return f;
}

tn_data *tn_graph_add_data(tn_graph *g, const char *name)
{
    tn_data *d = TN_NEW(g->arena, tn_data), **at = &g->data;
    d->name = tn_intern(g->ctx, name);
    while (*at)
        at = &(*at)->next;
    return *at = d;
}

const tn_constructor *tn_graph_constructor(const tn_graph *g, const char *name)
{
    for (const tn_data *d = g->data; d; d = d->next)
        for (uint32_t i = 0; i < d->n_constructor; i++)
            if (strcmp(d->constructor[i].name, name) == 0)
                return &d->constructor[i];
    return NULL;
}

void tn_graph_index(tn_graph *g)
{
    while (g->named.n < g->n_symbol)
        tn_map_put(&g->named, tn_map_key(g->symbol[g->named.n].name), g->named.n);
}

void tn_graph_view(tn_graph *view, const tn_graph *g, tn_ctx *child, tn_arena *arena, tn_pool *pool)
{
    TN_ASSERT(child->parent == g->ctx && g->named.n == g->n_symbol);
    *view = *g;
    view->ctx = child;
    view->arena = arena;
    view->pool = pool;
    view->is_view = true;
}

tn_symbol_info *tn_graph_find_symbol(tn_graph *g, const char *name)
{
    uint64_t at;
    tn_graph_index(g);
    return tn_map_get(&g->named, tn_map_key(tn_intern(g->ctx, name)), &at) ? &g->symbol[at] : NULL;
}

tn_symbol_info *tn_graph_symbol(tn_graph *g, const char *name)
{
    tn_symbol_info *known = tn_graph_find_symbol(g, name);
    if (known)
        return known;
    TN_ASSERT(!g->is_view);
    if (g->n_symbol == g->cap_symbol) {
        uint32_t cap = g->cap_symbol ? g->cap_symbol * 2 : 8;
        tn_symbol_info *s = TN_NEW_N(g->arena, tn_symbol_info, cap);
        for (uint32_t i = 0; i < g->n_symbol; i++)
            s[i] = g->symbol[i];
        g->symbol = s;
        g->cap_symbol = cap;
    }
    g->symbol[g->n_symbol] = (tn_symbol_info){.name = tn_intern(g->ctx, name), .min = 1, .max = INT32_MAX};
    return &g->symbol[g->n_symbol++];
}

void tn_symbol_add_point(tn_graph *g, tn_symbol_info *s, int64_t v)
{
    if (s->point.n >= TN_MAX_POINTS)
        return;
    int64_t *at = TN_NEW_N(g->arena, int64_t, s->point.n + 1);
    for (uint32_t i = 0; i < s->point.n; i++) {
        at[i] = s->point.at[i];
        if (at[i] == v)
            return;
    }
    at[s->point.n] = v;
    s->point = (tn_ints){s->point.n + 1, at};
}

/* ---- constant data ---- */

static void free_memory(tn_blob *b) { tn_free(b->user); }

tn_blob *tn_graph_blob(tn_graph *g, size_t n, void **out_at)
{
    void *memory = tn_alloc_aligned(n);
    tn_blob *b = TN_NEW(g->arena, tn_blob);
    *b = (tn_blob){memory, n, free_memory, memory};
    tn_vec_push(&g->blob, b);
    *out_at = memory;
    return b;
}

tn_blob *tn_graph_blob_ref(tn_graph *g, const void *at, size_t n)
{
    tn_blob *b = TN_NEW(g->arena, tn_blob);
    *b = (tn_blob){at, n, NULL, NULL};
    return b;
}

void tn_graph_lend_blobs(tn_graph *g) { g->blob.n = 0; }

void tn_graph_sweep_blobs(tn_graph *g)
{
    tn_vec(tn_region *) todo = {0};
    tn_map used = {0};
    size_t kept = 0;
    uint64_t known;
    for (tn_function *f = g->func; f; f = f->next)
        tn_vec_push(&todo, f->body);
    while (todo.n > 0) {
        const tn_region *r = tn_vec_pop(&todo);
        for (const tn_node *n = r->first; n; n = n->next) {
            if (n->blob)
                tn_map_put(&used, tn_map_key(n->blob), 1);
            for (int i = 0; i < n->nregion; i++)
                tn_vec_push(&todo, n->region[i]);
        }
    }
    size_t freed = 0;
    for (size_t i = 0; i < g->blob.n; i++) {
        tn_blob *b = g->blob.at[i];
        bool own = b->release == free_memory; /* others may be looked into by references: a mapped file */
        if (!own || tn_map_get(&used, tn_map_key(b), &known)) {
            g->blob.at[kept++] = b;
        } else {
            freed += b->n;
            b->release(b);
        }
    }
    g->blob.n = kept;
#ifdef __GLIBC__
    if (freed > 1 << 24)
        malloc_trim(0); /* blocks of a few MiB lie in the heap, which keeps what is freed in its middle */
#endif
    tn_vec_deinit(&todo);
    tn_map_deinit(&used);
}

/* ---- uses ---- */

static void unlink_use(tn_use *u)
{
    if (!u->def)
        return;
    if (u->prev)
        u->prev->next = u->next;
    else
        u->def->users[u->out] = u->next;
    if (u->next)
        u->next->prev = u->prev;
    u->def = NULL;
    u->prev = u->next = NULL;
}

static void link_use(tn_use *u, tn_value v)
{
    u->def = v.def;
    u->out = v.out;
    u->prev = u->next = NULL;
    if (!v.def)
        return;
    TN_ASSERT(v.out < v.def->nout);
    u->next = v.def->users[v.out];
    if (u->next)
        u->next->prev = u;
    v.def->users[v.out] = u;
}

void tn_use_set(tn_graph *g, tn_use *u, tn_value v)
{
    (void)g;
    unlink_use(u);
    link_use(u, v);
}

bool tn_value_eq(tn_value a, tn_value b) { return a.def == b.def && (!a.def || a.out == b.out); }

void tn_value_replace(tn_graph *g, tn_value from, tn_value to)
{
    TN_ASSERT(from.def);
    while (!tn_value_eq(from, to) && from.def->users[from.out])
        tn_use_set(g, from.def->users[from.out], to);
}

uint32_t tn_value_n_uses(tn_value v)
{
    uint32_t n = 0;
    for (const tn_use *u = v.def ? v.def->users[v.out] : NULL; u; u = u->next)
        n++;
    return n;
}

/* ---- regions ---- */

tn_region *tn_region_new(tn_graph *g, tn_node *holder)
{
    tn_region *r = TN_NEW(g->arena, tn_region);
    r->holder = holder;
    if (holder) {
        TN_ASSERT(holder->nregion < UINT16_MAX);
        tn_region **all = TN_NEW_N(g->arena, tn_region *, holder->nregion + 1u);
        for (int i = 0; i < holder->nregion; i++)
            all[i] = holder->region[i];
        all[holder->nregion++] = r;
        holder->region = all;
    }
    return r;
}

void tn_node_hold(tn_graph *g, tn_node *node, int n, tn_region *const r[])
{
    TN_ASSERT(node->nregion == 0 && n >= 0 && n <= UINT16_MAX);
    node->region = TN_NEW_N(g->arena, tn_region *, (size_t)n);
    for (int i = 0; i < n; i++) {
        TN_ASSERT(!r[i]->holder);
        r[i]->holder = node;
        node->region[i] = r[i];
    }
    node->nregion = (uint16_t)n;
}

void tn_region_set_results(tn_graph *g, tn_region *r, int n, const tn_value v[])
{
    TN_ASSERT(n >= 0);
    for (uint32_t i = 0; i < r->n_result; i++)
        unlink_use(&r->result[i]);
    if ((uint32_t)n > r->n_result)
        r->result = TN_NEW_N(g->arena, tn_use, (size_t)n);
    r->n_result = (uint32_t)n;
    for (uint32_t i = 0; i < r->n_result; i++) {
        r->result[i] = (tn_use){.region = r, .slot = i};
        link_use(&r->result[i], v[i]);
    }
}

/* ---- nodes ---- */

static void unlink_node(tn_node *n)
{
    tn_region *r = n->owner;
    if (n->prev)
        n->prev->next = n->next;
    else
        r->first = n->next;
    if (n->next)
        n->next->prev = n->prev;
    else
        r->last = n->prev;
    n->prev = n->next = NULL;
    n->owner = NULL;
}

static void link_node(tn_node *n, tn_region *r, tn_node *before)
{
    TN_ASSERT(!before || before->owner == r);
    n->owner = r;
    n->next = before;
    n->prev = before ? before->prev : r->last;
    if (n->prev)
        n->prev->next = n;
    else
        r->first = n;
    if (before)
        before->prev = n;
    else
        r->last = n;
}

tn_node *tn_node_new(tn_graph *g, tn_region *r, tn_node *before, const tn_op *op, int nin,
                     const tn_value in[], int nout, const void *attr, const tn_loc *loc)
{
    TN_ASSERT(nin >= 0 && nin <= UINT16_MAX && nout >= 0 && nout <= UINT16_MAX);
    tn_node *n = tn_arena_alloc(g->arena, sizeof *n + (size_t)nin * sizeof *n->in, _Alignof(tn_node));
    n->op = op;
    n->id = g->n_node++;
    tn_check_nodes(++g->n_alive);
    n->nin = (uint16_t)nin;
    n->nout = (uint16_t)nout;
    n->loc = loc;
    n->type = TN_NEW_N(g->arena, const tn_type *, (size_t)nout);
    n->users = TN_NEW_N(g->arena, tn_use *, (size_t)nout);
    if (op->attr_size > 0)
        n->attr = attr ? tn_arena_copy(g->arena, attr, op->attr_size, 16)
                       : tn_arena_alloc(g->arena, op->attr_size, 16);
    for (int i = 0; i < nin; i++) {
        n->in[i].user = n;
        n->in[i].slot = (uint32_t)i;
        link_use(&n->in[i], in[i]);
    }
    link_node(n, r, before);
    return n;
}

tn_node *tn_region_add_param(tn_graph *g, tn_region *r, const char *name, const tn_type *type)
{
    tn_node *before = r->n_param ? r->param[r->n_param - 1]->next : r->first;
    tn_node *n = tn_node_new(g, r, before, &tn_op_var, 0, NULL, 1, NULL, NULL);
    n->name = tn_intern(g->ctx, name);
    n->type[0] = type;
    if ((r->n_param & (r->n_param - 1)) == 0) { /* room is a power of two */
        tn_node **all = TN_NEW_N(g->arena, tn_node *, r->n_param ? (size_t)r->n_param * 2 : 1);
        for (uint32_t i = 0; i < r->n_param; i++)
            all[i] = r->param[i];
        r->param = all;
    }
    r->param[r->n_param++] = n;
    return n;
}

tn_node *tn_constant_new(tn_graph *g, tn_region *r, tn_node *before, const tn_type *type, const tn_blob *blob,
                         const char *name)
{
    tn_node *n = tn_node_new(g, r, before, &tn_op_constant, 0, NULL, 1, NULL, NULL);
    n->type[0] = type;
    n->blob = blob;
    n->name = tn_intern(g->ctx, name);
    return n;
}

void tn_node_move(tn_graph *g, tn_node *n, tn_region *r, tn_node *before)
{
    (void)g;
    if (n == before)
        return;
    unlink_node(n);
    link_node(n, r, before);
}

/* If n is a parameter of its region, it is none any more. */
static void drop_param(tn_node *n)
{
    tn_region *r = n->owner;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->n_param; i++)
        if (r->param[i] != n)
            r->param[kept++] = r->param[i];
    r->n_param = kept;
}

/* Takes all uses made by n and by what its regions hold out of their lists: these nodes are gone. */
static void drop_uses(tn_graph *g, tn_node *n)
{
    tn_vec(tn_node *) todo = {0};
    tn_vec_push(&todo, n);
    while (todo.n > 0) {
        n = tn_vec_pop(&todo);
        g->n_alive--;
        for (int i = 0; i < n->nin; i++)
            unlink_use(&n->in[i]);
        for (int i = 0; i < n->nregion; i++) {
            tn_region *r = n->region[i];
            for (uint32_t k = 0; k < r->n_result; k++)
                unlink_use(&r->result[k]);
            for (tn_node *inner = r->first; inner; inner = inner->next)
                tn_vec_push(&todo, inner);
        }
    }
    tn_vec_deinit(&todo);
}

void tn_region_discard(tn_graph *g, tn_region *r)
{
    tn_region_set_results(g, r, 0, NULL);
    for (tn_node *n = r->first; n; n = n->next)
        drop_uses(g, n);
    r->first = r->last = NULL;
    r->n_param = 0;
}

void tn_node_remove(tn_graph *g, tn_node *n)
{
    for (int i = 0; i < n->nout; i++)
        TN_ASSERT(!n->users[i]);
    drop_uses(g, n);
    if (tn_op_is(n, &tn_op_var))
        drop_param(n);
    unlink_node(n);
}
