/* FuseOps: makes groups, each one kernel. A group is an `fn` node with Primitive=1 and the call of it.
 *
 * One walk in execution order; every operator starts as a group of its own and may join the groups that
 * produce its inputs:
 *
 *   elementwise, broadcast   join a producer of the same shape, whatever it is (the epilogue of an anchor),
 *   else producers
 *                            without anchor
 *   injective, reduction     join producers without anchor (they are read in place, each element once)
 *   relayout                 joins its producer as the layout of the group's result, and ends the group
 *   anchor, opaque           start anew
 *
 * Only a value whose readers are all in the group is fused, so no other reader waits for what the group keeps inside;
 * and since nothing outside reads the inside, joining can make no cycle. The results of a group are those of its last
 * operator that are read, so one of several that nobody wants is not computed. x * sigmoid(x) behind a
 * convolution reads x twice: MAX_SHARED such values at most, as text and trees repeat them. Constants of one element
 * move into the group.
 *
 * A group has at most relay.FuseOps.max_depth nodes: beyond that a trip through memory costs little, while code
 * generation is not linear in the length of a kernel's body, and its text would nest deeper than readers allow.
 * O(n) in all.
 */
#include "transform/pass.h"

#include "op/core/core.h"

enum { MAX_SHARED = 4 };

typedef struct group {
    struct group *into;   /* merged into this one; NULL: itself */
    bool anchor;          /* holds an anchor, a reduction or an opaque operator */
    bool closed;          /* nothing joins any more */
    uint32_t n;           /* nodes */
    uint32_t shared;      /* values inside with several readers */
    uint32_t order;       /* of `last` in the region */
    tn_node *last;        /* the latest node, whose results are the group's */
    tn_node *head, *tail; /* list of its nodes, by fuser.next */
    tn_node **member;     /* n nodes in execution order, once all groups are made */
    uint32_t n_member;    /* so many are in it */
} group;

typedef struct {
    tn_pass *p;
    tn_graph *g;
    group **of;     /* by node id */
    tn_node **next; /* by node id: in the list of its group */
    uint32_t max_depth;
} fuser;

static group *group_of(group *x)
{
    while (x && x->into) {
        if (x->into->into)
            x->into = x->into->into; /* halves the path for the next one */
        x = x->into;
    }
    return x;
}

static bool same_shape(const tn_type *a, const tn_type *b)
{
    if (a->kind != TN_T_TENSOR || b->kind != TN_T_TENSOR || a->n != b->n)
        return false;
    for (int d = 0; d < a->n; d++)
        if (a->dim[d] != b->dim[d])
            return false;
    return true;
}

static bool one_element(const tn_type *t) { return t->kind == TN_T_TENSOR && t->n == 0; }

static bool is_pointwise(const tn_node *n)
{
    return n->op->fuse == TN_FUSE_ELEMWISE || n->op->fuse == TN_FUSE_BROADCAST;
}

/* Are all readers of v in the group `mine`? */
static bool read_in(const fuser *f, tn_value v, const group *mine)
{
    for (const tn_use *u = v.def->users[v.out]; u; u = u->next)
        if (!u->user || u->user->owner != v.def->owner || group_of(f->of[u->user->id]) != mine)
            return false;
    return true;
}

/* The group that produces input i of n, if n may be its reader inside. */
static group *producer(fuser *f, const tn_node *n, int i)
{
    tn_value v = tn_in(n, i);
    const group *mine = group_of(f->of[n->id]);
    if (!v.def || v.def->owner != n->owner || v.def->nout != 1)
        return NULL;
    group *x = group_of(f->of[v.def->id]);
    if (!x || x == mine || x->closed || x->last != v.def || !read_in(f, v, mine))
        return NULL;
    bool shared = tn_value_n_uses(v) != 1;
    return !shared || (is_pointwise(n) && x->shared + mine->shared < MAX_SHARED) ? x : NULL;
}

static bool merge(const fuser *f, group *from, group *into)
{
    if (from == into)
        return true;
    if (from->n + into->n > f->max_depth)
        return false;
    from->into = into;
    into->n += from->n;
    f->next[into->tail->id] = from->head;
    into->tail = from->tail;
    into->anchor |= from->anchor;
    into->shared += from->shared + (tn_value_n_uses(tn_val(from->last)) > 1);
    return true;
}

static bool all_pointwise(const fuser *f, const group *x)
{
    for (const tn_node *m = x->head; is_pointwise(m); m = f->next[m->id])
        if (m == x->tail)
            return true;
    return false;
}

/* Of the groups that hold an anchor, make an input of m and have the shape of n: the latest. */
static group *latest_anchor(fuser *f, const tn_node *m, const tn_node *n)
{
    group *best = NULL;
    for (int i = 0; i < m->nin; i++) {
        const tn_type *t = tn_in_type(m, i);
        group *x = producer(f, m, i);
        if (x && x->anchor && same_shape(t, n->type[0]) && t->layout == n->type[0]->layout &&
            (!best || x->order > best->order))
            best = x;
    }
    return best;
}

/* Joins one group with an anchor, as a group has one: that n reads, or that only nodes of mine read, each element by
 * element. */
static void join_anchor(fuser *f, tn_node *n, group *mine)
{
    group *best = latest_anchor(f, n, n);
    if (!best && all_pointwise(f, mine))
        for (const tn_node *m = n; m != mine->tail && !best;) { /* n is the head */
            m = f->next[m->id];
            best = latest_anchor(f, m, n);
        }
    if (best)
        (void)merge(f, best, mine);
}

static void join(fuser *f, tn_node *n, group *mine)
{
    if (n->op->flags & TN_OP_RELAYOUT) {
        group *x = producer(f, n, 0);
        if (x && tn_in(n, 0).def->op->fuse != TN_FUSE_NONE)
            (void)merge(f, x, mine);
        mine->closed = true;
        return;
    }
    if (n->op->fuse == TN_FUSE_ANCHOR || n->op->fuse == TN_FUSE_OPAQUE || n->nout != 1) {
        mine->closed = n->op->fuse == TN_FUSE_OPAQUE;
        return;
    }
    for (int k = 0; k < 2; k++) /* again: once one has joined, all readers of another may be inside */
        for (int i = 0; i < n->nin; i++) {
            group *x = producer(f, n, i);
            if (x && !x->anchor)
                (void)merge(f, x, mine);
        }
    if (is_pointwise(n))
        join_anchor(f, n, mine);
}

/* ---- making the functions ---- */

typedef struct {
    tn_value *outer;
    tn_node **param;
    int n;
    tn_region *r;
} made;

static tn_node *param_for(fuser *f, made *m, tn_value v)
{
    for (int i = 0; i < m->n; i++)
        if (tn_value_eq(m->outer[i], v))
            return m->param[i];
    m->outer[m->n] = v;
    m->param[m->n] =
        tn_region_add_param(f->g, m->r, tn_arena_printf(f->g->arena, "p%d", m->n), tn_value_type(v));
    return m->param[m->n++];
}

static tn_node *copy_constant(fuser *f, made *m, const tn_node *c, tn_node *before)
{
    return tn_constant_new(f->g, m->r, before, c->type[0], c->blob, c->name);
}

/* Moves a node of the group into its region and points its inputs to parameters. Values inside have no layout. */
static void take(fuser *f, made *m, tn_node *n, const tn_node *last)
{
    tn_node_move(f->g, n, m->r, NULL);
    for (int k = 0; k < n->nout && n != last; k++)
        n->type[k] = tn_type_relayout(f->g->pool, n->type[k], NULL);
    for (int i = 0; i < n->nin; i++) {
        tn_value v = tn_in(n, i);
        if (!v.def || v.def->owner == m->r)
            continue;
        if (v.def->op == &tn_op_constant && one_element(v.def->type[0]))
            tn_use_set(f->g, &n->in[i], tn_val(copy_constant(f, m, v.def, n)));
        else
            tn_use_set(f->g, &n->in[i], tn_val(param_for(f, m, v)));
    }
}

/* The results that somebody reads; all where nobody does. */
static int read_results(tn_node *n, tn_value out[])
{
    int count = 0;
    bool any = false;
    for (uint16_t k = 0; k < n->nout; k++)
        any = any || n->users[k];
    for (uint16_t k = 0; k < n->nout; k++)
        if (n->users[k] || !any)
            out[count++] = (tn_value){n, k};
    return count;
}

/* Makes the group's function and call at the place of its last node. */
static tn_status build(fuser *f, group *x, tn_node **members)
{
    tn_graph *g = f->g;
    tn_node *last = x->last, *at = last->next;
    tn_region *owner = last->owner;
    tn_fn_attr attr = {.Primitive = 1};
    tn_node *fn = tn_node_new(g, owner, at, &tn_op_fn, 0, NULL, 1, &attr, last->loc);
    size_t uses = 0;
    for (uint32_t i = 0; i < x->n; i++)
        uses += members[i]->nin;
    made *m = TN_NEW(f->p->scratch, made);
    m->r = tn_region_new(g, fn);
    m->outer = TN_NEW_N(f->p->scratch, tn_value, uses + 1);
    m->param = TN_NEW_N(f->p->scratch, tn_node *, uses);
    for (uint32_t i = 0; i < x->n; i++)
        take(f, m, members[i], last);
    tn_value *result = TN_NEW_N(f->p->scratch, tn_value, last->nout);
    int n_result = read_results(last, result);
    tn_node *call = tn_node_new(g, owner, at, &tn_op_call, m->n + 1,
                                TN_NEW_N(f->p->scratch, tn_value, uses + 1), n_result, NULL, last->loc);
    for (int k = 0; k < n_result; k++)
        tn_value_replace(g, result[k], (tn_value){call, (uint32_t)k});
    tn_region_set_results(g, m->r, n_result, result);
    tn_use_set(g, &call->in[0], tn_val(fn));
    for (int i = 0; i < m->n; i++)
        tn_use_set(g, &call->in[i + 1], m->outer[i]);
    TN_TRY(tn_infer_node(g, fn));
    TN_TRY(tn_infer_node(g, call));
    f->p->changed = true;
    return TN_OK;
}

/* Gives every group the list of its nodes. */
static void list_members(fuser *f, tn_node *const node[], size_t n)
{
    tn_node **room = TN_NEW_N(f->p->scratch, tn_node *, n);
    for (size_t i = 0; i < n; i++) {
        group *x = group_of(f->of[node[i]->id]);
        if (!x->member) {
            x->member = room;
            room += x->n;
        }
        TN_ASSERT(x->n_member < x->n);
        x->member[x->n_member++] = node[i];
    }
}

static tn_status region(fuser *f, tn_region *r)
{
    tn_vec(tn_node *) nodes = {0};
    for (tn_node *n = r->first; n; n = n->next) {
        if (n->op->fuse == TN_FUSE_NONE)
            continue;
        group *mine = TN_NEW(f->p->scratch, group);
        mine->n = 1;
        mine->order = (uint32_t)nodes.n;
        mine->last = mine->head = mine->tail = n;
        mine->anchor =
            n->op->fuse == TN_FUSE_ANCHOR || n->op->fuse == TN_FUSE_REDUCE || n->op->fuse == TN_FUSE_OPAQUE;
        f->of[n->id] = mine;
        if (f->p->opt_level > 0 && !f->p->no_grouping)
            join(f, n, mine);
        tn_vec_push(&nodes, n);
    }
    list_members(f, nodes.at, nodes.n);
    tn_status s = TN_OK;
    for (size_t i = 0; i < nodes.n && s == TN_OK; i++) {
        group *x = group_of(f->of[nodes.at[i]->id]);
        if (x->last == nodes.at[i])
            s = build(f, x, x->member);
    }
    tn_vec_deinit(&nodes);
    return s;
}

static tn_status fuse_region(tn_pass *p, tn_graph *g, tn_region *r)
{
    int64_t depth = tn_pass_config_int(p->options, TN_CONFIG_FUSE_MAX_DEPTH);
    fuser f = {p, g, TN_NEW_N(p->scratch, group *, g->n_node), TN_NEW_N(p->scratch, tn_node *, g->n_node),
               depth < 1            ? 1
               : depth > UINT32_MAX ? UINT32_MAX
                                    : (uint32_t)depth};
    return region(&f, r);
}

tn_status tn_pass_FuseOps(tn_pass *p, tn_graph *g) { return tn_pass_regions(p, g, fuse_region); }
