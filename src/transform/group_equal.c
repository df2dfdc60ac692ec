/* Which calls are of equal groups: node for node the same operators, attributes, types, operands and values
 * of constants, with parameters of the same names. Equal groups become equal TIR. (So do some that differ: a
 * reshape is an expand_dims.) Names of model nodes do not count. O(nodes) each. */
#include "transform/pass.h"

#include <string.h>

/* Number of a node in its region, in order; UINT32_MAX: it is not there. */
static uint32_t number_of(const tn_map *number, const tn_node *n)
{
    uint64_t at = UINT32_MAX;
    if (n)
        tn_map_get(number, n->id, &at);
    return (uint32_t)at;
}

static void number_nodes(tn_map *out, const tn_region *r)
{
    for (const tn_node *n = r->first; n; n = n->next)
        tn_map_put(out, n->id, out->n);
}

static uint64_t hash_node(const tn_map *number, const tn_node *n, uint64_t h)
{
    h = tn_hash_u64(h, tn_hash_bytes(n->op->name, strlen(n->op->name), n->nout));
    if (n->op->attr_size)
        h = tn_hash_u64(h, tn_attr_hash(n->op->attr, n->attr));
    for (int i = 0; i < n->nin; i++)
        h = tn_hash_u64(tn_hash_u64(h, number_of(number, n->in[i].def)), n->in[i].out);
    for (uint16_t k = 0; k < n->nout; k++)
        for (int d = 0; n->type[k]->kind == TN_T_TENSOR && d < n->type[k]->n; d++)
            h = tn_hash_u64(h, n->type[k]->dim[d]->hash);
    return h;
}

uint64_t tn_group_hash(const tn_node *call)
{
    const tn_region *r = tn_group_fn(call)->region[0];
    tn_map number = {0};
    uint64_t h = r->n_result;
    number_nodes(&number, r);
    for (const tn_node *n = r->first; n; n = n->next)
        h = hash_node(&number, n, h);
    for (uint32_t i = 0; i < r->n_result; i++)
        h = tn_hash_u64(tn_hash_u64(h, number_of(&number, r->result[i].def)), r->result[i].out);
    tn_map_deinit(&number);
    return h;
}

/* ---- equality ---- */

typedef struct {
    tn_map a, b; /* numbers of nodes */
} numbers;

static bool equal_use(const numbers *x, const tn_use *a, const tn_use *b)
{
    uint32_t i = number_of(&x->a, a->def), k = number_of(&x->b, b->def);
    return a->out == b->out && i == k && (i != UINT32_MAX || (!a->def && !b->def));
}

static bool equal_data(const tn_node *a, const tn_node *b)
{
    if (a->op == &tn_op_var)
        return strcmp(a->name, b->name) == 0;
    if (a->op != &tn_op_constant)
        return true;
    return a->blob->at && b->blob->at && a->blob->n == b->blob->n &&
           memcmp(a->blob->at, b->blob->at, a->blob->n) == 0;
}

static bool equal_nodes(const numbers *x, const tn_node *a, const tn_node *b)
{
    if (a->op != b->op || a->nin != b->nin || a->nout != b->nout || a->nregion || b->nregion)
        return false;
    for (uint16_t k = 0; k < a->nout; k++)
        if (!tn_type_eq(a->type[k], b->type[k]))
            return false;
    for (int i = 0; i < a->nin; i++)
        if (!equal_use(x, &a->in[i], &b->in[i]))
            return false;
    return (!a->op->attr_size || tn_attr_eq(a->op->attr, a->attr, b->attr)) && equal_data(a, b);
}

static bool equal_regions(const numbers *x, const tn_region *r, const tn_region *s)
{
    const tn_node *a = r->first, *b = s->first;
    while (a && b && equal_nodes(x, a, b)) {
        a = a->next;
        b = b->next;
    }
    bool same = !a && !b && r->n_result == s->n_result;
    for (uint32_t i = 0; same && i < r->n_result; i++)
        same = equal_use(x, &r->result[i], &s->result[i]);
    return same;
}

bool tn_group_equal(const tn_node *a, const tn_node *b)
{
    const tn_region *r = tn_group_fn(a)->region[0], *s = tn_group_fn(b)->region[0];
    numbers x = {0};
    number_nodes(&x.a, r);
    number_nodes(&x.b, s);
    bool same = equal_regions(&x, r, s);
    tn_map_deinit(&x.a);
    tn_map_deinit(&x.b);
    return same;
}
