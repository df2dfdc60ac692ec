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
 * At first only a value whose readers are all in the group is fused, so no other reader waits for what the group keeps
 * inside; and since nothing outside reads the inside, joining can make no cycle. x * sigmoid(x) behind a
 * convolution reads x twice: MAX_SHARED such values at most, as text and trees repeat them. Constants of one element
 * move into the group.
 *
 * A second walk lets a group without anchor that computes element by element, and moves elements, each to one place,
 * join the anchor whose result it alone reads, where vectors of that stay vectors (heads that are split or joined by
 * reshape, transpose, reshape; an addition behind a reshape). Each element is computed in the anchor's tile then, and
 * stored where it lies (lower_te.c). Reshapes alone stay out: they are no kernel.
 *
 * That walk also shares results: a group of elementwise operators, or a relayout, that reads what a group with an
 * anchor computes, element by element, joins that group although others read the value, too, if all of these stand
 * behind it. The value is then one more result, and is not read again from memory. Not so values of more than
 * SHARED_BYTES: a second stream of stores that miss the near caches costs a tile more than a pass over the
 * value does.
 *
 * Whether an operator joins a group with an anchor, and whether a result is shared, are picks, `fuse` and
 * `share` of the operator beside the node whose result it reads, through reshapes too; the default is yes.
 *
 * The results of a group are all that somebody else reads, so one of an operator's results that nobody wants is not
 * computed. A group stands where its last operator does.
 *
 * A group has at most relay.FuseOps.max_depth nodes: beyond that a trip through memory costs little, while code
 * generation is not linear in the length of a kernel's body, and its text would nest deeper than readers allow.
 * O(n * max_depth) in all.
 */
#include "transform/moved.h"
#include "transform/pass.h"

#include "op/core/core.h"

enum { MAX_SHARED = 4, SHARED_BYTES = 1 << 18 };

typedef struct group {
    struct group *into;   /* merged into this one; NULL: itself */
    bool anchor;          /* holds an anchor, a reduction or an opaque operator */
    bool closed;          /* nothing joins any more */
    bool moved;           /* the value of `last` is the anchor's, moved */
    uint32_t n;           /* nodes */
    uint32_t shared;      /* values inside with several readers */
    uint32_t order;       /* of `last` in the region */
    uint32_t reader;      /* place of the first node outside that reads a value other than that of `last` */
    tn_node *last;        /* the latest node */
    tn_node *head, *tail; /* list of its nodes, by fuser.next */
    tn_node **member;     /* n nodes in execution order, once all groups are made */
    uint32_t n_member;    /* so many are in it */
} group;

typedef struct {
    tn_pass *p;
    tn_graph *g;
    group **of;      /* by node id */
    tn_node **next;  /* by node id: in the list of its group */
    uint32_t *place; /* by node id: in its region */
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
        if (x && x->anchor && tn_type_same_shape(t, n->type[0]) && t->layout == n->type[0]->layout &&
            (!best || x->order > best->order))
            best = x;
    }
    return best;
}

/* Is the node to be computed where `from`, which it follows, is? */
static bool joins(fuser *f, const tn_node *n, const tn_node *from, const char *role)
{
    static const tn_choice yes_no[] = {{"yes", 0}, {"no", 0}};
    uint32_t at;
    tn_pass_pick(f->p, n, from, role, 2, yes_no, &at);
    return at == 0;
}

/* Joins one group with an anchor, as a group has one: that n reads, or that only nodes of mine read, each element by
 * element. */
static void join_anchor(fuser *f, tn_node *n, group *mine)
{
    const tn_node *reader = n;
    group *best = latest_anchor(f, n, n);
    if (!best && all_pointwise(f, mine))
        while (reader != mine->tail && !best) { /* n is the head */
            reader = f->next[reader->id];
            best = latest_anchor(f, reader, n);
        }
    if (best && best->n + mine->n <= f->max_depth && joins(f, reader, best->last, "fuse"))
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

/* ---- moved results ---- */

/* Are vectors of the base, along its last axis, vectors of v? An index there is a multiple of the lanes, and `lane`. */
static bool keeps_vectors(tn_moved *m, tn_value v, const tn_expr *lane)
{
    const tn_type *t = tn_value_type(v);
    const tn_expr *const *at = tn_moved_at(m, v);
    const tn_expr *place = tn_idx(m->pool, 0), *zero = tn_idx(m->pool, 0);
    if (!at)
        return false;
    for (int d = 0; d < t->n; d++)
        place = tn_add(m->pool, tn_mul(m->pool, place, t->dim[d]), at[d]);
    place = tn_simplify(m->pool, &m->facts, place);
    const tn_expr *first = tn_subst(m->pool, place, 1, &lane, &zero);
    return tn_equal(m->pool, &m->facts, place, tn_add(m->pool, first, lane));
}

/* Rows of a batch that share an operand are made rows of one matrix (step merge) if the first two indices of all that
 * is read and written are theirs: has v, moved, other ones, though the node has such rows? */
static bool parts_rows(const tn_moved *m, tn_value v, const tn_node *base)
{
    const tn_type *t = base->type[0];
    const tn_expr *const *at = tn_moved_at(m, v);
    bool shares = false;
    for (int i = 0; i < base->nin; i++)
        shares = shares || (base->in[i].def && tn_in_type(base, i)->kind == TN_T_TENSOR &&
                            tn_in_type(base, i)->n >= 2 && tn_in_type(base, i)->n < t->n);
    return shares && !tn_is_value(t->dim[0], 1) && !tn_is_value(t->dim[1], 1) &&
           (tn_value_type(v)->n < 2 || at[0] != m->axis[0] || at[1] != m->axis[1]);
}

/* Adds the nodes of y, each behind what it reads: joining puts those of a producer behind their reader. */
static bool follow(const fuser *f, tn_moved *m, const group *y)
{
    tn_node **node = TN_NEW_N(f->p->scratch, tn_node *, y->n);
    uint32_t k = y->n;
    bool all = true;
    for (tn_node *n = y->head; k > 0; n = f->next[n->id])
        node[--k] = n;
    while (all && k < y->n)
        all = tn_moved_add(m, node[k++]);
    return all;
}

/* A way to join: y reads, perhaps through reshapes that are a group, what `lead` computes. */
typedef struct way {
    group *y, *reshapes, *lead; /* reshapes: NULL, none */
    tn_value v;                 /* of lead */
} way;

/* The node of x whose axes may be those of moved results: the one that is more than elementwise. NULL: none is so. */
static const tn_node *base_of(const fuser *f, const group *x)
{
    const tn_node *found = NULL;
    for (const tn_node *m = x->head;; m = f->next[m->id]) {
        bool more = !is_pointwise(m) && m->op->fuse != TN_FUSE_INJECTIVE;
        if (more && (found || !tn_moved_base(m)))
            return NULL;
        found = more ? m : found;
        if (m == x->tail)
            return found;
    }
}

/* Is the result of y that of the lead, moved, so that vectors of it stay vectors? */
static bool moves_vectors(const fuser *f, const way *w)
{
    tn_pool *p = f->g->pool;
    const tn_type *t = tn_value_type(w->v);
    const tn_expr **axis = TN_NEW_N(f->p->scratch, const tn_expr *, t->n);
    const tn_expr *lane = tn_var(p, TN_IDX, t->n);
    const uint32_t bits = t->dtype.bits < 32 ? 32 : t->dtype.bits; /* sums of narrow numbers are wider */
    const int64_t lanes = f->p->machine->vector_bits > bits ? f->p->machine->vector_bits / bits : 1;
    tn_moved m;
    tn_moved_init(&m, p, f->p->scratch, w->v, axis);
    for (int d = 0; d < t->n; d++) {
        axis[d] = tn_var(p, TN_IDX, (uint32_t)d);
        tn_facts_loop(p, &m.facts, axis[d], d < t->n - 1 ? t->dim[d] : tn_ceildiv(p, t->dim[d], lanes));
    }
    tn_facts_range(&m.facts, lane, 0, lanes - 1);
    if (lanes > 1)
        axis[t->n - 1] = tn_add(p, tn_mul(p, axis[t->n - 1], tn_idx(p, lanes)), lane);
    bool all = (!w->reshapes || follow(f, &m, w->reshapes)) && follow(f, &m, w->y) &&
               keeps_vectors(&m, tn_val(w->y->last), lane) &&
               !parts_rows(&m, tn_val(w->y->last), base_of(f, w->lead));
    tn_moved_deinit(&m);
    return all;
}

/* Reshapes alone, which share their operand's memory. */
static bool all_share(const fuser *f, const group *x)
{
    for (const tn_node *m = x->head; m->op->flags & TN_OP_SHARES; m = f->next[m->id])
        if (m == x->tail)
            return true;
    return false;
}

/* The group that computes v, which m in y reads; NULL: y itself, or none. */
static group *before(const fuser *f, tn_value v, const tn_node *m, const group *y)
{
    group *x = v.def && v.def->owner == m->owner ? group_of(f->of[v.def->id]) : NULL;
    return x != y ? x : NULL;
}

/* The way through operand i of m, of y; lead NULL: there is none. */
static way way_through(const fuser *f, tn_node *m, int i, group *y)
{
    tn_value v = tn_in(m, i);
    group *x = before(f, v, m, y);
    if (!x || !all_share(f, x) || x->last != v.def || !read_in(f, v, y) ||
        x->shared + y->shared >= MAX_SHARED)
        return (way){y, NULL, x, v};
    v = tn_in(x->tail, 0); /* the first of a chain */
    return (way){y, x, before(f, v, x->tail, x), v};
}

/* Does the lead compute what is read for y alone, where y may be computed, too? */
static bool may_join(const fuser *f, const way *w)
{
    const group *x = w->lead, *reader = w->reshapes ? w->reshapes : w->y;
    const tn_type *t = x ? tn_value_type(w->v) : NULL;
    return x && x->anchor && !x->closed && !x->moved && x->last == w->v.def && w->v.def->nout == 1 &&
           t->kind == TN_T_TENSOR && t->n > 0 && !t->layout && x->reader > f->place[w->y->last->id] &&
           read_in(f, w->v, reader) && base_of(f, x) &&
           x->n + (w->reshapes ? w->reshapes->n : 0) + w->y->n <= f->max_depth && moves_vectors(f, w);
}

/* Joins a group y that moves what another one computes to that one. */
static void join_moved(fuser *f, group *y)
{
    if (y->anchor || y->closed || y->last->nout != 1 || y->last->type[0]->layout || all_share(f, y))
        return;
    for (tn_node *m = y->head;; m = f->next[m->id]) {
        for (int i = 0; i < m->nin; i++) {
            const way w = way_through(f, m, i, y);
            if (!may_join(f, &w) || !joins(f, m, w.v.def, "fuse"))
                continue;
            y->moved = (!w.reshapes || merge(f, w.reshapes, y)) && merge(f, w.lead, y);
            return;
        }
        if (m == y->tail)
            return;
    }
}

/* ---- sharing results ---- */

/* Where in region r a use is: the place of the node that holds it. */
static uint32_t place_of(const fuser *f, const tn_use *u, const tn_region *r)
{
    const tn_region *at = u->user ? u->user->owner : u->region;
    const tn_node *n = u->user;
    while (at != r) {
        n = at->holder;
        at = n->owner;
    }
    return n ? f->place[n->id] : UINT32_MAX;
}

/* The first reader of v outside of the groups x and y. */
static uint32_t first_reader(const fuser *f, tn_value v, const group *x, const group *y)
{
    uint32_t first = UINT32_MAX;
    for (const tn_use *u = v.def->users[v.out]; u; u = u->next) {
        const group *of = u->user && u->user->owner == v.def->owner ? group_of(f->of[u->user->id]) : NULL;
        uint32_t at = of && (of == x || of == y) ? UINT32_MAX : place_of(f, u, v.def->owner);
        first = at < first ? at : first;
    }
    return first;
}

static bool is_small(const fuser *f, const tn_type *t)
{
    int64_t bytes;
    return tn_is_int(tn_type_bytes(f->g->pool, t), &bytes) && bytes <= SHARED_BYTES;
}

/* May the group y, which reads v, be computed where v is? */
static bool may_share(const fuser *f, tn_value v, group *x, const group *y)
{
    const tn_type *t = tn_value_type(v), *out = y->last->type[0];
    bool moves = y->last->op->flags & TN_OP_RELAYOUT;
    uint32_t end = f->place[y->last->id];
    return x != y && x->anchor && !x->closed && !x->moved && x->last == v.def && v.def->nout == 1 &&
           tn_type_same_shape(t, out) && (moves || t->layout == out->layout) && x->reader > end &&
           is_small(f, t) && first_reader(f, v, x, y) > end;
}

/* Joins a group y of elementwise operators, or a relayout, to the one that computes what it reads. */
static void share(fuser *f, group *y)
{
    bool moves = y->n == 1 && (y->last->op->flags & TN_OP_RELAYOUT);
    if (!moves && (y->anchor || !all_pointwise(f, y)))
        return;
    for (tn_node *m = y->head;; m = f->next[m->id]) {
        for (int i = 0; i < m->nin; i++) {
            tn_value v = tn_in(m, i);
            group *x = v.def && v.def->owner == m->owner ? group_of(f->of[v.def->id]) : NULL;
            if (!x || !may_share(f, v, x, y) || x->n + y->n > f->max_depth)
                continue;
            uint32_t reader = first_reader(f, v, x, y);
            if (!joins(f, m, v.def, reader == UINT32_MAX ? "fuse" : "share"))
                continue;
            if (merge(f, x, y)) {
                y->reader = reader < x->reader ? reader : x->reader;
                return;
            }
        }
        if (m == y->tail)
            return;
    }
}

/* ---- making the functions ---- */

typedef struct {
    tn_value *outer;
    tn_node **param;
    int n;
    tn_region *r;
    tn_value *result;
    int n_result;
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

static bool is_result(const made *m, tn_value v)
{
    for (int i = 0; i < m->n_result; i++)
        if (tn_value_eq(m->result[i], v))
            return true;
    return false;
}

/* Moves a node of the group into its region and points its inputs to parameters. Values that stay inside have no
 * layout. */
static void take(fuser *f, made *m, tn_node *n)
{
    tn_node_move(f->g, n, m->r, NULL);
    for (uint16_t k = 0; k < n->nout; k++)
        if (!is_result(m, (tn_value){n, k}))
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

/* Is v read outside of the group? */
static bool read_outside(const fuser *f, tn_value v, const group *x)
{
    for (const tn_use *u = v.def->users[v.out]; u; u = u->next)
        if (!u->user || !f->of[u->user->id] || group_of(f->of[u->user->id]) != x)
            return true;
    return false;
}

/* The results of the group in order: what others read; all of its last node's where that is nothing. */
static void find_results(fuser *f, made *m, const group *x)
{
    size_t most = x->last->nout;
    for (uint32_t i = 0; i < x->n; i++)
        most += x->member[i]->nout;
    m->result = TN_NEW_N(f->p->scratch, tn_value, most);
    for (uint32_t i = 0; i < x->n; i++)
        for (uint16_t k = 0; k < x->member[i]->nout; k++)
            if (read_outside(f, (tn_value){x->member[i], k}, x))
                m->result[m->n_result++] = (tn_value){x->member[i], k};
    for (uint16_t k = 0; k < x->last->nout && !m->result[0].def; k++)
        m->result[k] = (tn_value){x->last, k};
    if (!m->n_result)
        m->n_result = x->last->nout;
}

/* Readers outside read the call instead. */
static void redirect(fuser *f, tn_value from, tn_value to, const group *x)
{
    for (tn_use *u = from.def->users[from.out], *next; u; u = next) {
        next = u->next;
        if (!u->user || !f->of[u->user->id] || group_of(f->of[u->user->id]) != x)
            tn_use_set(f->g, u, to);
    }
}

/* Makes the group's function and call at the place of its last node. */
static tn_status build(fuser *f, group *x)
{
    tn_graph *g = f->g;
    tn_node *last = x->last, *at = last->next;
    tn_region *owner = last->owner;
    tn_fn_attr attr = {.Primitive = 1};
    tn_node *fn = tn_node_new(g, owner, at, &tn_op_fn, 0, NULL, 1, &attr, last->loc);
    size_t uses = 0;
    for (uint32_t i = 0; i < x->n; i++)
        uses += x->member[i]->nin;
    made *m = TN_NEW(f->p->scratch, made);
    m->r = tn_region_new(g, fn);
    m->outer = TN_NEW_N(f->p->scratch, tn_value, uses + 1);
    m->param = TN_NEW_N(f->p->scratch, tn_node *, uses);
    find_results(f, m, x);
    for (uint32_t i = 0; i < x->n; i++)
        take(f, m, x->member[i]);
    tn_node *call = tn_node_new(g, owner, at, &tn_op_call, m->n + 1,
                                TN_NEW_N(f->p->scratch, tn_value, uses + 1), m->n_result, NULL, last->loc);
    for (int k = 0; k < m->n_result; k++)
        redirect(f, m->result[k], (tn_value){call, (uint32_t)k}, x);
    tn_region_set_results(g, m->r, m->n_result, m->result);
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

/* The group that the node begins, with what joins it. */
static void open_group(fuser *f, tn_node *n, uint32_t order)
{
    group *mine = f->of[n->id] = TN_NEW(f->p->scratch, group);
    mine->n = 1;
    mine->order = order;
    mine->reader = UINT32_MAX;
    mine->last = mine->head = mine->tail = n;
    mine->anchor =
        n->op->fuse == TN_FUSE_ANCHOR || n->op->fuse == TN_FUSE_REDUCE || n->op->fuse == TN_FUSE_OPAQUE;
    if (f->p->opt_level > 0 && !f->p->no_grouping)
        join(f, n, mine);
}

static tn_status region(fuser *f, tn_region *r)
{
    tn_vec(tn_node *) nodes = {0};
    uint32_t place = 0;
    for (tn_node *n = r->first; n; n = n->next) {
        f->place[n->id] = place++;
        if (n->op->fuse == TN_FUSE_NONE)
            continue;
        open_group(f, n, (uint32_t)nodes.n);
        tn_vec_push(&nodes, n);
    }
    for (size_t i = 0; i < nodes.n && f->p->opt_level > 0 && !f->p->no_grouping; i++) {
        group *x = group_of(f->of[nodes.at[i]->id]);
        if (x->last != nodes.at[i])
            continue;
        join_moved(f, x);
        share(f, x);
    }
    list_members(f, nodes.at, nodes.n);
    tn_status s = TN_OK;
    for (size_t i = 0; i < nodes.n && s == TN_OK; i++) {
        group *x = group_of(f->of[nodes.at[i]->id]);
        if (x->last == nodes.at[i])
            s = build(f, x);
    }
    tn_vec_deinit(&nodes);
    return s;
}

static tn_status fuse_region(tn_pass *p, tn_graph *g, tn_region *r)
{
    int64_t depth = tn_pass_config_int(p->options, TN_CONFIG_FUSE_MAX_DEPTH);
    fuser f = {.p = p,
               .g = g,
               .of = TN_NEW_N(p->scratch, group *, g->n_node),
               .next = TN_NEW_N(p->scratch, tn_node *, g->n_node),
               .place = TN_NEW_N(p->scratch, uint32_t, g->n_node),
               .max_depth = depth < 1            ? 1
                            : depth > UINT32_MAX ? UINT32_MAX
                                                 : (uint32_t)depth};
    return region(&f, r);
}

tn_status tn_pass_FuseOps(tn_pass *p, tn_graph *g) { return tn_pass_regions(p, g, fuse_region); }
