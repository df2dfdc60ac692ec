/* A second graph that equals the first: nodes keep their ids, lists of uses their order, so that whatever is done to
 * the copy gives what it would have given on the original. Linear in nodes and uses. */
#include "ir/graph.h"
#include "ir/op.h"

#include <string.h>

typedef struct cloner {
    tn_graph *to;
    tn_node **node; /* by id */
    tn_map region;  /* old -> new */
    tn_vec(const tn_region *) todo;
} cloner;

static void add_region(cloner *c, const tn_region *from, tn_region *to)
{
    tn_map_put(&c->region, tn_map_key(from), tn_map_key(to));
    tn_vec_push(&c->todo, from);
}

static tn_region *region_of(const cloner *c, const tn_region *from)
{
    uint64_t at;
    return tn_map_get(&c->region, tn_map_key(from), &at) ? (tn_region *)(uintptr_t)at : NULL;
}

/* Its operands are absent until all nodes are there. */
static void copy_node(cloner *c, const tn_node *old, tn_region *r)
{
    tn_graph *g = c->to;
    tn_value *none = TN_NEW_N(g->arena, tn_value, old->nin);
    tn_node *n = tn_node_new(g, r, NULL, old->op, old->nin, none, old->nout, old->attr, old->loc);
    n->id = old->id;
    n->name = old->name;
    n->blob = old->blob;
    for (int i = 0; i < old->nout; i++)
        n->type[i] = old->type[i];
    c->node[n->id] = n;
    for (int i = 0; i < old->nregion; i++)
        add_region(c, old->region[i], tn_region_new(g, n));
}

static void copy_region(cloner *c, const tn_region *old, tn_region *r)
{
    tn_value *none = TN_NEW_N(c->to->arena, tn_value, old->n_result);
    for (const tn_node *n = old->first; n; n = n->next)
        copy_node(c, n, r);
    tn_region_set_results(c->to, r, (int)old->n_result, none);
    size_t room = 1;
    while (room < old->n_param) /* as tn_region_add_param has it */
        room *= 2;
    r->param = TN_NEW_N(c->to->arena, tn_node *, room);
    r->n_param = old->n_param;
    for (uint32_t i = 0; i < r->n_param; i++)
        r->param[i] = c->node[old->param[i]->id];
}

/* A new use stands before the others, so the last one comes first. */
static void copy_uses(cloner *c, const tn_node *old, uint32_t out)
{
    const tn_use *u = old->users[out];
    tn_value v = {c->node[old->id], out};
    while (u && u->next)
        u = u->next;
    for (; u; u = u->prev)
        tn_use_set(c->to,
                   u->user ? &c->node[u->user->id]->in[u->slot] : &region_of(c, u->region)->result[u->slot],
                   v);
}

static void copy_symbols(const tn_graph *from, tn_graph *to)
{
    to->symbol = TN_NEW_N(to->arena, tn_symbol_info, from->cap_symbol);
    for (uint32_t i = 0; i < from->n_symbol; i++)
        to->symbol[i] = from->symbol[i];
    to->n_symbol = from->n_symbol;
    to->cap_symbol = from->cap_symbol;
}

void tn_graph_clone(const tn_graph *from, tn_graph *to)
{
    cloner c = {.to = to, .node = TN_NEW_N(to->arena, tn_node *, from->n_node)};
    TN_ASSERT(!to->func);
    copy_symbols(from, to);
    for (const tn_function *f = from->func; f; f = f->next) {
        tn_function *copy = tn_graph_add_function(to, f->name);
        copy->result_type = f->result_type;
        add_region(&c, f->body, copy->body);
    }
    for (size_t i = 0; i < c.todo.n; i++)
        copy_region(&c, c.todo.at[i], region_of(&c, c.todo.at[i]));
    for (size_t i = 0; i < c.todo.n; i++)
        for (const tn_node *n = c.todo.at[i]->first; n; n = n->next)
            for (uint32_t k = 0; k < n->nout; k++)
                copy_uses(&c, n, k);
    to->n_node = from->n_node;
    to->wants_shapes = from->wants_shapes;
    to->settles = from->settles;
    to->data = from->data;
    to->result_name = from->result_name;
    to->n_result_name = from->n_result_name;
    to->room = from->room;
    to->room_known = from->room_known;
    for (size_t i = 0; i < from->state.n; i++)
        tn_vec_push(&to->state, from->state.at[i]);
    for (size_t i = 0; i < from->metadata.n; i++)
        tn_vec_push(&to->metadata, from->metadata.at[i]);
    tn_vec_deinit(&c.todo);
    tn_map_deinit(&c.region);
}
