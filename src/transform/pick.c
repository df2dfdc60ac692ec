/* How passes ask for picks. */
#include "transform/pass.h"

#include <string.h>

/* Of a type without layout. Expressions of extents hash by their structure and the names of their symbols. */
static uint64_t hash_type(const tn_type *t, uint64_t h)
{
    h = tn_hash_u64(h, t->kind);
    if (t->kind != TN_T_TENSOR)
        return h;
    h = tn_hash_u64(h, (uint64_t)t->dtype.code << 32 | (uint64_t)t->dtype.bits << 16 | t->dtype.lanes);
    for (int d = 0; d < t->n; d++)
        h = tn_hash_u64(h, t->dim[d]->hash);
    return tn_hash_u64(h, (uint64_t)t->n);
}

uint64_t tn_node_workload(const tn_node *n)
{
    uint64_t h = tn_hash_bytes(n->op->name, strlen(n->op->name), n->nout);
    if (n->op->attr_size)
        h = tn_hash_u64(h, tn_attr_hash(n->op->attr, n->attr));
    for (int i = 0; i < n->nin; i++) {
        const tn_value v = tn_in(n, i);
        h = tn_hash_u64(h, v.def ? v.def->op == &tn_op_constant : 2);
        h = v.def ? hash_type(tn_value_type(v), h) : h;
    }
    for (uint16_t k = 0; k < n->nout; k++)
        h = hash_type(n->type[k], h);
    return h;
}

/* Nodes are numbered in their order; what is not of this region or one around it is not told apart. */
static uint64_t hash_region(const tn_region *r, tn_map *number, uint64_t h)
{
    for (uint32_t i = 0; i < r->n_param; i++)
        tn_map_put(number, r->param[i]->id, number->n);
    for (const tn_node *n = r->first; n; n = n->next) {
        uint64_t at;
        h = tn_hash_u64(h, tn_node_workload(n));
        for (int i = 0; i < n->nin; i++) {
            const tn_value v = tn_in(n, i);
            bool known = v.def && tn_map_get(number, v.def->id, &at);
            h = tn_hash_u64(h, known ? at << 16 | v.out : UINT64_MAX);
        }
        tn_map_put(number, n->id, number->n);
        for (int i = 0; i < n->nregion; i++)
            h = hash_region(n->region[i], number, tn_hash_u64(h, (uint64_t)i));
    }
    for (uint32_t i = 0; i < r->n_result; i++) {
        uint64_t at;
        bool known = r->result[i].def && tn_map_get(number, r->result[i].def->id, &at);
        h = tn_hash_u64(h, known ? at << 16 | r->result[i].out : UINT64_MAX);
    }
    return h;
}

uint64_t tn_graph_workload(const tn_graph *g)
{
    uint64_t h = 0;
    tn_map number = {0};
    for (const tn_function *f = g->func; f; f = f->next)
        h = hash_region(f->body, &number, tn_hash_u64(h, f->body->n_param));
    tn_map_deinit(&number);
    return h;
}

/* What the map says of a name; NULL: nothing. Maps of a graph may be long. */
static const tn_choice *given_for(tn_graph_picks *g, const char *name)
{
    uint64_t at;
    for (; g->given && g->n_known < g->given->n; g->n_known++) {
        const char *known = g->given->at[g->n_known].name;
        tn_strmap_put(&g->given_at, known, strlen(known), g->n_known);
    }
    return g->given && tn_strmap_get(&g->given_at, name, strlen(name), &at) ? &g->given->at[at].value : NULL;
}

/* A new pick; the value given for it, or a random one, else the default is what nodes take. */
static uint32_t add(tn_graph_picks *g, const char *name, uint32_t n, const tn_choice candidate[])
{
    const tn_choice *given = given_for(g, name);
    tn_rng *random = g->given ? g->given->random : NULL;
    uint32_t at = g->asked.n, index = given    ? tn_choice_place(n, candidate, given)
                                      : random ? (uint32_t)tn_rng_below(random, n)
                                               : 0;
    tn_asked_add(&g->asked, g->arena, name, n, candidate, index < n ? index : 0);
    tn_strmap_put(&g->by_name, g->asked.at[at].name, strlen(name), at);
    if (at == g->cap_place) {
        tn_pick_place *place = TN_NEW_N(g->arena, tn_pick_place, g->cap_place = at ? 2 * at : 8);
        if (at)
            memcpy(place, g->place, at * sizeof *place);
        g->place = place;
    }
    g->place[at] =
        (tn_pick_place){.value = given ? *given : g->asked.at[at].candidate[index], .given = given != NULL};
    return at;
}

/* A node that is asked about twice, as by both walks of FuseOps, counts once. */
static void count(tn_graph_picks *g, uint64_t at, const tn_node *n)
{
    uint64_t unused, key = tn_hash_u64(at, tn_map_key(n));
    tn_pick_place *place = &g->place[at];
    if (tn_map_get(&g->counted, key, &unused))
        return;
    tn_map_put(&g->counted, key, 1);
    if (!place->n++)
        place->first = tn_arena_strdup(g->arena, n->loc && n->loc->node ? n->loc->node : n->op->name);
}

void tn_pass_pick(tn_pass *p, const tn_node *n, const tn_node *beside, const char *role, uint32_t n_candidate,
                  const tn_choice candidate[], uint32_t *out)
{
    tn_graph_picks *g = p->picks;
    uint64_t at, h;
    *out = 0;
    if (!g || n_candidate < 2)
        return;
    h = tn_node_workload(n);
    h = beside ? tn_hash_u64(h, tn_node_workload(beside)) : h;
    const char *name = tn_arena_printf(p->scratch, "%s.%016llx.%s", n->op->name, (unsigned long long)h, role);
    if (!tn_strmap_get(&g->by_name, name, strlen(name), &at))
        at = add(g, name, n_candidate, candidate);
    count(g, at, n);
    *out = tn_choice_place(n_candidate, candidate, &g->place[at].value);
    if (*out == n_candidate)
        *out = 0;
    else
        g->place[at].taken = true;
}

bool tn_graph_picks_taken(const tn_graph_picks *g)
{
    for (uint32_t i = 0; i < g->asked.n; i++)
        if (g->place[i].given && g->place[i].taken)
            return true;
    return false;
}

static tn_status refuse_value(tn_ctx *ctx, const tn_pick *pick)
{
    tn_buf all = {0};
    for (uint32_t i = 0; i < pick->n; i++) {
        tn_buf_str(&all, i ? ", " : "");
        tn_choice_print(&pick->candidate[i], &all);
    }
    tn_status s = tn_error(ctx, "transform-E003", NULL, "the value given for the pick %s is none of: %s",
                           pick->name, tn_buf_cstr(&all));
    tn_buf_deinit(&all);
    return s;
}

tn_status tn_graph_picks_check(tn_ctx *ctx, const tn_graph_picks *g)
{
    const char *unused = NULL;
    uint64_t at;
    for (uint32_t i = 0; g->given && i < g->given->n && !unused; i++) {
        const char *name = g->given->at[i].name;
        unused = tn_strmap_get(&g->by_name, name, strlen(name), &at) ? NULL : name;
    }
    if (unused)
        return tn_error(
            ctx, "transform-E002", NULL,
            "the graph has no pick %s with the others that are given; `dump --stage space` lists those "
            "that it has",
            unused);
    for (uint32_t i = 0; i < g->asked.n; i++)
        if (!g->place[i].taken)
            return refuse_value(ctx, &g->asked.at[i]);
    return TN_OK;
}

void tn_graph_picks_deinit(tn_graph_picks *g)
{
    tn_strmap_deinit(&g->by_name);
    tn_strmap_deinit(&g->given_at);
    tn_map_deinit(&g->counted);
}
