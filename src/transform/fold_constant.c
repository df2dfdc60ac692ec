/* FoldConstant: a node whose inputs are all constants is evaluated now, an `if` of known condition is its branch.
 * Values keep the layout of the node's type, so weights come out in the order their kernel reads them. A constant that
 * nobody reads any more goes, and its memory with it: a chain of changes to weights holds two copies at a time.
 *
 * A few bytes can ask for a tensor that fills the memory, and such a tensor is cheaper to compute than to load. So
 * data movement that makes a constant much larger (a broadcast, a tile) is left to the one operator that reads it
 * where they will be one kernel; and all other results together may be larger than what they are made of by no
 * more than ROOM and ROOM_FACTOR times the constants that the model brings, over all runs of the pass: int8
 * weights become four times as large as float32, and those four times as large for Winograd's algorithm. */
#include "transform/pass.h"

#include "op/control/control.h"
#include "op/core/core.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MAX_OUT = 16 };

typedef struct {
    tn_pass *p;
    tn_graph *g;
    tn_map uses;    /* constants of the module with this blob */
    tn_map derived; /* ids of the region's nodes that could be folded, if all before them were */
} folder;

static bool is_constant(const tn_node *d)
{
    return d->op == &tn_op_constant &&
           d->blob; /* one of a text that was read without its data stays as it is */
}

static bool is_derived(const folder *f, const tn_node *d)
{
    uint64_t at;
    return is_constant(d) || tn_map_get(&f->derived, d->id, &at);
}

/* What could be folded, apart from its operands. */
static bool evaluable(const tn_node *n)
{
    if (n->op->fuse == TN_FUSE_NONE || (n->op->flags & TN_OP_EFFECT) || n->nregion || n->nout > MAX_OUT)
        return false;
    if (!tn_attr_fixed(n->op->attr, n->attr))
        return false;
    for (int k = 0; k < n->nout; k++)
        if (!n->type || !n->type[k] || n->type[k]->kind != TN_T_TENSOR ||
            !tn_type_dims_const(n->type[k], NULL))
            return false;
    return true;
}

static bool foldable(const tn_node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i].def && !is_constant(n->in[i].def))
            return false;
    return evaluable(n);
}

static void find_derived(folder *f, const tn_region *r)
{
    for (const tn_node *n = r->first; n; n = n->next) {
        bool all = evaluable(n);
        for (int i = 0; i < n->nin && all; i++)
            all = !n->in[i].def || is_derived(f, n->in[i].def);
        if (all)
            tn_map_put(&f->derived, n->id, 1);
    }
}

/* ---- memory of constants ---- */

enum { ROOM = 64 << 20, ROOM_FACTOR = 16, SMALL = 64 << 10, SHAPE = 4 << 10, MAX_DEPTH = 8 };

/* Bytes of all results; more than any memory if they are not known. */
static uint64_t result_bytes(folder *f, const tn_node *n)
{
    uint64_t all = 0;
    int64_t bytes;
    for (uint16_t k = 0; k < n->nout; k++) {
        if (!tn_is_int(tn_type_bytes(f->g->pool, n->type[k]), &bytes) || bytes > INT64_MAX / MAX_OUT)
            return INT64_MAX;
        all += (uint64_t)bytes;
    }
    return all;
}

static uint64_t operand_bytes(const tn_node *n)
{
    uint64_t all = 0;
    for (int i = 0; i < n->nin; i++)
        all += n->in[i].def && n->in[i].def->blob ? n->in[i].def->blob->n : 0;
    return all;
}

/* Is n data movement that makes `in` bytes of constants much larger, for one reader that takes it in? That is a result
 * of the program, an elementwise operator that cannot be folded, or more movement of the kind. */
static bool left_to_reader(folder *f, const tn_node *n, uint64_t in, int depth)
{
    const tn_use *u = n->nout == 1 ? n->users[0] : NULL;
    if (depth == 0 || !(n->op->flags & TN_OP_INDEX_MAP) || result_bytes(f, n) <= in + SMALL || !u || u->next)
        return false;
    const tn_node *reader = u->user;
    if (!reader || reader->owner != n->owner)
        return !reader;
    if (is_derived(f, reader))
        return left_to_reader(f, reader, in + operand_bytes(reader), depth - 1);
    return reader->op->fuse == TN_FUSE_ELEMWISE || reader->op->fuse == TN_FUSE_BROADCAST;
}

/* Is there room for the results? Another layout is not asked: its padding is bounded, and paid once. */
static bool has_room(folder *f, const tn_node *n)
{
    uint64_t in = operand_bytes(n), out = result_bytes(f, n),
             more = n->op == &tn_op_relayout || out < in ? 0 : out - in;
    if (more <= SHAPE)
        return true; /* what extents are computed from is always known */
    if (more > f->g->room) {
        (void)tn_report(f->g->ctx, TN_WARNING, "driver-W002", n->loc,
                        "the result of %s on constants, %" PRIu64
                        " bytes, is computed in each run; otherwise the model's constants would exceed %d "
                        "times their size and %d MiB",
                        n->op->name, out, ROOM_FACTOR + 1, ROOM >> 20);
        return false;
    }
    f->g->room -= more;
    return true;
}

static void count_uses(folder *f, const tn_region *r)
{
    for (const tn_node *n = r->first; n; n = n->next) {
        uint64_t had = 0;
        for (int i = 0; i < n->nregion; i++)
            count_uses(f, n->region[i]);
        if (!n->blob)
            continue;
        (void)tn_map_get(&f->uses, tn_map_key(n->blob), &had);
        tn_map_put(&f->uses, tn_map_key(n->blob), had + 1);
        if (!f->g->room_known && !had)
            f->g->room += ROOM_FACTOR * (uint64_t)n->blob->n;
    }
}

static void count_all(folder *f)
{
    tn_map_deinit(&f->uses);
    f->g->room += f->g->room_known ? 0 : ROOM;
    for (const tn_function *fn = f->g->func; fn; fn = fn->next)
        count_uses(f, fn->body);
    f->g->room_known = true;
}

/* A constant without readers goes; the module's own memory of it too, unless another constant has the same. */
static void drop(folder *f, tn_node *c)
{
    uint64_t left = 0;
    if (c->op != &tn_op_constant || c->users[0])
        return;
    (void)tn_map_get(&f->uses, tn_map_key(c->blob), &left);
    for (size_t i = 0; left == 1 && i < f->g->blob.n; i++)
        if (f->g->blob.at[i] == c->blob) {
            if (f->g->blob.at[i]->release)
                f->g->blob.at[i]->release(f->g->blob.at[i]);
            f->g->blob.at[i] = tn_vec_last(&f->g->blob);
            f->g->blob.n--;
            break;
        }
    tn_map_put(&f->uses, tn_map_key(c->blob), left ? left - 1 : 0);
    tn_node_remove(f->g, c);
}

/* ---- folding ---- */

static tn_status fold(folder *f, tn_node *n)
{
    tn_tensor_value out[MAX_OUT] = {{{0}, 0, {0}, NULL, 0, false}};
    tn_node **from = TN_NEW_N(f->p->scratch, tn_node *, n->nin);
    const char *name = NULL;
    int n_from = 0;
    for (int i = 0; i < n->nin; i++) {
        tn_node *d = n->in[i].def;
        name = name ? name : d ? d->name : NULL;
        for (int k = 0; k < n_from && d; k++)
            d = from[k] == d ? NULL : d;
        if (d)
            from[n_from++] = d;
    }
    TN_TRY(tn_relay_eval_node(f->g, n, out, f->p->eval, f->p->eval_user));
    for (uint16_t k = 0; k < n->nout; k++) {
        tn_node *c = tn_relay_constant(f->g, n->owner, n, n->type[k], &out[k], name);
        c->loc = n->loc;
        tn_map_put(&f->uses, tn_map_key(c->blob), 1);
        tn_value_replace(f->g, (tn_value){n, k}, tn_val(c));
    }
    tn_node_remove(f->g, n);
    for (int i = 0; i < n_from; i++)
        drop(f, from[i]);
    f->p->changed = true;
    return TN_OK;
}

static tn_status region(tn_pass *p, tn_graph *g, tn_region *r)
{
    folder f = {.p = p, .g = g};
    tn_status st = TN_OK;
    tn_node *next;
    count_all(&f);
    find_derived(&f, r);
    for (tn_node *n = r->first; n && st == TN_OK; n = next) {
        tn_node *before = n->prev;
        next = n->next;
        if (foldable(n) && !left_to_reader(&f, n, operand_bytes(n), MAX_DEPTH) && has_room(&f, n)) {
            st = fold(&f, n);
        } else if (n->op == &tn_op_if) {
            st = tn_if_fold(p, g, n);
            if (!n->owner) { /* gone: what came in its place comes next */
                next = before ? before->next : r->first;
                count_all(&f);
                find_derived(&f, r);
            }
        }
    }
    tn_map_deinit(&f.uses);
    tn_map_deinit(&f.derived);
    return st;
}

tn_status tn_pass_FoldConstant(tn_pass *p, tn_graph *g) { return tn_pass_regions(p, g, region); }
