/* CombineParallelConv2D, -Dense, -BatchMatmul: calls of one operator that read one tensor, with equal attributes and
 * constant weights of equal extents but one, become one call with the weights joined; the parts of its result are
 * sliced out. Elementwise readers that all parts have alike (a bias each, an activation) follow before the slices, so
 * that they stay in the kernel of the joined call. Fewer than MIN_BRANCHES calls are not worth a slice.
 */
#include "transform/pass.h"

#include "op/tensor/tensor.h"

#include <string.h>

enum { MIN_BRANCHES = 3, MAX_BRANCHES = 64, MAX_ATTR = 256 };

typedef struct combiner {
    tn_pass *p;
    tn_graph *g;
    int n;
    tn_node *branch[MAX_BRANCHES];
    tn_combine how;
} combiner;

static bool combinable(const tn_node *n, enum tn_combine_kind kind, tn_combine *out)
{
    const tn_node *w = n->nin == 2 ? n->in[1].def : NULL;
    return n->op->combine && w && w->op == &tn_op_constant && n->op->combine(n, out) && out->kind == kind &&
           n->nout == 1 && n->op->attr_size <= MAX_ATTR && !n->type[0]->layout &&
           tn_is_int(n->type[0]->dim[out->out_axis], &(int64_t){0});
}

static void attr_without_count(const tn_node *n, const tn_combine *how, char attr[MAX_ATTR])
{
    memset(attr, 0, MAX_ATTR);
    if (n->op->attr_size)
        memcpy(attr, n->attr, n->op->attr_size);
    if (how->count_offset >= 0)
        memset(attr + how->count_offset, 0, sizeof(int64_t));
}

static bool alike(const tn_node *a, const tn_node *b, const tn_combine *how)
{
    _Alignas(16) char x[MAX_ATTR], y[MAX_ATTR];
    const tn_type *t = tn_in_type(a, 1), *u = tn_in_type(b, 1);
    if (a->op != b->op || a->owner != b->owner || t->n != u->n || !tn_dtype_eq(t->dtype, u->dtype) ||
        !tn_dtype_eq(a->type[0]->dtype, b->type[0]->dtype))
        return false;
    for (int d = 0; d < t->n; d++)
        if (d != how->weight_axis && t->dim[d] != u->dim[d])
            return false;
    attr_without_count(a, how, x);
    attr_without_count(b, how, y);
    return !a->op->attr_size || tn_attr_eq(a->op->attr, x, y);
}

/* All later readers of first's data that are like it, in execution order. */
static void gather(combiner *c, tn_node *first)
{
    tn_combine how;
    c->n = 0;
    for (tn_node *m = first; m && c->n < MAX_BRANCHES; m = m->next)
        if (tn_value_eq(tn_in(m, 0), tn_in(first, 0)) && combinable(m, c->how.kind, &how) &&
            alike(first, m, &c->how))
            c->branch[c->n++] = m;
}

static tn_value join(combiner *c, tn_node *before, const tn_value part[], int axis)
{
    tn_axis_attr a = {axis};
    return tn_val(tn_make_call(c->g, before->owner, before, &tn_op_concatenate, c->n, part, &a, before->loc));
}

/* ---- readers ---- */

static tn_node *only_reader(tn_node *n)
{
    const tn_use *u = n->users[0];
    return u && !u->next && u->user && u->user->owner == n->owner ? u->user : NULL;
}

/* How operand k of the readers is joined: its axis; -1: it is the same for all; -2: it cannot be. */
static int join_axis(const combiner *c, tn_node *const reader[], int k, int out_axis)
{
    const tn_type *t = tn_in_type(reader[0], k), *r = reader[0]->type[0];
    bool same = true, vector = t->n == 1 && !(reader[0]->op->flags & TN_OP_BROADCASTS);
    int axis = vector ? 0 : out_axis - (r->n - t->n);
    for (int i = 0; i < c->n; i++) {
        const tn_type *u = tn_in_type(reader[i], k);
        same &= tn_value_eq(tn_in(reader[i], k), tn_in(reader[0], k));
        if (reader[i]->in[k].def->op != &tn_op_constant || u->n != t->n || axis < 0 || axis >= u->n ||
            u->dim[axis] != reader[i]->type[0]->dim[out_axis])
            axis = -2;
        for (int d = 0; d < t->n && axis >= 0; d++)
            if (d != axis && u->dim[d] != t->dim[d])
                axis = -2;
    }
    bool spread = t->n == 0 || (!vector && out_axis - (r->n - t->n) < 0) ||
                  (!vector && tn_is_value(t->dim[out_axis - (r->n - t->n)], 1));
    return axis >= 0 ? axis : same && spread ? -1 : -2;
}

/* The reader that every branch has alike, with its data as operand 0; moves the branches on to it. */
static bool common_reader(combiner *c, tn_node *const at[], tn_node *reader[], int axis[])
{
    for (int i = 0; i < c->n; i++) {
        tn_node *u = reader[i] = only_reader(at[i]);
        if (!u || u->op != reader[0]->op || u->in[0].def != at[i] || u->nout != 1 || u->nin > 3 ||
            (u->op->fuse != TN_FUSE_ELEMWISE && u->op->fuse != TN_FUSE_BROADCAST) ||
            u->type[0]->n != at[i]->type[0]->n ||
            memcmp(u->type[0]->dim, at[i]->type[0]->dim, u->type[0]->n * sizeof *u->type[0]->dim) != 0 ||
            (u->op->attr_size && !tn_attr_eq(u->op->attr, u->attr, reader[0]->attr)) ||
            u->nin != reader[0]->nin)
            return false;
    }
    for (int k = 1; k < reader[0]->nin; k++) {
        axis[k] = join_axis(c, reader, k, c->how.out_axis);
        if (axis[k] == -2)
            return false;
    }
    return true;
}

static tn_status follow(combiner *c, tn_node *const at[], tn_node *before, tn_value *y)
{
    tn_node *reader[MAX_BRANCHES], *here[MAX_BRANCHES];
    int axis[3];
    memcpy(here, at, sizeof here);
    while (common_reader(c, here, reader, axis)) {
        tn_value in[3] = {*y};
        for (int k = 1; k < reader[0]->nin; k++) {
            tn_value part[MAX_BRANCHES];
            for (int i = 0; i < c->n; i++)
                part[i] = tn_in(reader[i], k);
            in[k] = axis[k] < 0 ? part[0] : join(c, before, part, axis[k]);
            if (!in[k].def)
                return TN_FAIL;
        }
        *y = tn_val(tn_make_call(c->g, before->owner, before, reader[0]->op, reader[0]->nin, in,
                                 reader[0]->attr, reader[0]->loc));
        if (!y->def)
            return TN_FAIL;
        memcpy(here, reader, sizeof here);
    }
    int64_t begin = 0, count, out_axis = c->how.out_axis, step = 1;
    for (int i = 0; i < c->n; i++) {
        TN_ASSERT(tn_is_int(here[i]->type[0]->dim[out_axis], &count));
        int64_t end = begin + count;
        tn_arena *a = c->g->arena;
        tn_slice_attr s = {tn_make_dims(c->g, 1, &begin), tn_make_dims(c->g, 1, &end),
                           tn_ints_make(a, 1, &step), tn_ints_make(a, 1, &out_axis)};
        tn_node *part =
            tn_make_call(c->g, before->owner, before, &tn_op_strided_slice, 1, y, &s, here[i]->loc);
        if (!part)
            return TN_FAIL;
        tn_value_replace(c->g, tn_val(here[i]), tn_val(part));
        begin = end;
    }
    return TN_OK;
}

/* The joined call stands where the first branch stood; constants are in front of all. */
static tn_status combine(combiner *c)
{
    _Alignas(16) char attr[MAX_ATTR];
    tn_node *first = c->branch[0];
    tn_value part[MAX_BRANCHES], in[2];
    for (int i = 0; i < c->n; i++)
        part[i] = tn_in(c->branch[i], 1);
    in[0] = tn_in(first, 0);
    in[1] = join(c, first, part, c->how.weight_axis);
    attr_without_count(first, &c->how, attr);
    if (!in[1].def)
        return TN_FAIL;
    tn_node *y = tn_make_call(c->g, first->owner, first, first->op, 2, in, first->op->attr_size ? attr : NULL,
                              first->loc);
    if (!y)
        return TN_FAIL;
    tn_value v = tn_val(y);
    c->p->changed = true;
    return follow(c, c->branch, first, &v);
}

/* Constants to the front of their region, so that a joined call can stand at the first branch. */
static void raise_constants(tn_graph *g, tn_region *r)
{
    tn_node *next, *at = r->first;
    while (at && at->op == &tn_op_var)
        at = at->next;
    for (tn_node *n = at; n; n = next) {
        next = n->next;
        if (n->op == &tn_op_constant && n != at)
            tn_node_move(g, n, r, at);
    }
}

static tn_status region(tn_pass *p, tn_graph *g, tn_region *r, enum tn_combine_kind kind)
{
    raise_constants(g, r);
    for (tn_node *n = r->first; n; n = n->next) {
        combiner c = {.p = p, .g = g};
        if (!combinable(n, kind, &c.how) || !n->users[0])
            continue;
        gather(&c, n);
        if (c.n >= MIN_BRANCHES)
            TN_TRY(combine(&c));
    }
    return TN_OK;
}

static tn_status conv2d(tn_pass *p, tn_graph *g, tn_region *r) { return region(p, g, r, TN_COMBINE_CONV2D); }
static tn_status dense(tn_pass *p, tn_graph *g, tn_region *r) { return region(p, g, r, TN_COMBINE_DENSE); }
static tn_status matmul(tn_pass *p, tn_graph *g, tn_region *r)
{
    return region(p, g, r, TN_COMBINE_BATCH_MATMUL);
}

/* What was joined stays behind unused. */
static tn_status run(tn_pass *p, tn_graph *g, tn_region_fn *fn)
{
    TN_TRY(tn_pass_regions(p, g, fn));
    return p->changed ? tn_pass_DeadCodeElimination(p, g) : TN_OK;
}

tn_status tn_pass_CombineParallelConv2D(tn_pass *p, tn_graph *g) { return run(p, g, conv2d); }
tn_status tn_pass_CombineParallelDense(tn_pass *p, tn_graph *g) { return run(p, g, dense); }
tn_status tn_pass_CombineParallelBatchMatmul(tn_pass *p, tn_graph *g) { return run(p, g, matmul); }
