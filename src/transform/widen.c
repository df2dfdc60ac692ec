/* WidenProducts: operands of products that are floats of few bits become float32 before the product, not in its loops.
 *
 * A product adds up in float32 what it multiplies in float32 (docs/tir.md), so its result is the same bits; but its
 * loops convert each element as often as they read it. Here each operand is a cast, which becomes part of the kernel
 * that computes the operand, or is evaluated where that is a constant. What only moves elements moves wide ones. Other
 * readers of the operand take it back to its own type, which is exact, so that one of the two is stored.
 *
 * An operand is widened where the product reads each of its elements often enough (the record's `reads`): a value that
 * is read once is bound by memory, of which wide elements need more. bfloat16 stays: it is half of a float32, and
 * machines have products of it. O(n).
 */
#include "op/tensor/tensor.h"
#include "transform/pass.h"

#include <string.h>

enum { MAX_IN = 256, MAX_ATTR = 256, MAX_DEPTH = 8, SELDOM = 4, SELDOM_STORED = 32 };

typedef struct pair {
    tn_value narrow, wide;
} pair;

typedef struct widener {
    tn_pool *pool;
    tn_graph *g;
    tn_pass *p;
    tn_map at; /* value -> index in made */
    tn_vec(pair) made;
} widener;

static uint64_t key(tn_value v) { return (uint64_t)v.def->id << 16 | v.out; }

static bool is_narrow(tn_value v)
{
    const tn_type *t = v.def ? tn_value_type(v) : NULL;
    return t && t->kind == TN_T_TENSOR && tn_dtype_is_small(t->dtype) && t->dtype.code != TN_BFLOAT;
}

static tn_value cast(widener *w, tn_node *before, tn_region *r, tn_value v, tn_dtype to)
{
    tn_cast_attr a = {to};
    return tn_val(tn_make_call(w->g, r, before, &tn_op_cast, 1, &v, &a, v.def->loc));
}

/* ---- what moves elements ---- */

static bool has_dtype(const tn_op *op)
{
    for (const tn_attr_field *f = op->attr; f && f->name; f++)
        if (f->kind == TN_A_DTYPE)
            return true;
    return false;
}

/* Does n give as many elements as it takes, or more, and nothing but them? */
static bool moves(const widener *w, const tn_node *n)
{
    int64_t in = 0, out = 0, one;
    bool known = tn_is_int(tn_type_count(w->pool, n->type[0]), &out);
    if (!(n->op->flags & TN_OP_INDEX_MAP) || n->nout != 1 || n->nin < 1 || n->nin > MAX_IN ||
        has_dtype(n->op))
        return false;
    for (int i = 0; i < n->nin; i++) {
        if (!n->in[i].def || !is_narrow(tn_in(n, i)))
            return false;
        known = known && tn_is_int(tn_type_count(w->pool, tn_in_type(n, i)), &one);
        in += known ? one : 0;
    }
    return (n->op->flags & TN_OP_SHARES) || (known && in <= out);
}

/* ---- wide values ---- */

static tn_value wide_of(widener *w, tn_node *reader, tn_value v, int depth);

static tn_value move_wide(widener *w, tn_node *n, int depth)
{
    tn_value in[MAX_IN];
    for (int i = 0; i < n->nin; i++)
        if (!(in[i] = wide_of(w, n, tn_in(n, i), depth - 1)).def)
            return in[i];
    return tn_val(
        tn_make_call(w->g, n->owner, n->next, n->op, n->nin, in, n->op->attr_size ? n->attr : NULL, n->loc));
}

/* Right behind v, in its region. */
static tn_node *place_behind(tn_value v)
{
    const tn_region *r = v.def->owner;
    return v.def->op == &tn_op_var ? r->param[r->n_param - 1]->next : v.def->next;
}

static bool is_computed(tn_value v) { return v.def->op->fuse != TN_FUSE_NONE; }

/* v as float32, for `reader`, of v's region or one inside of it; absent: that has been said. */
static tn_value wide_of(widener *w, tn_node *reader, tn_value v, int depth)
{
    uint64_t at;
    tn_value wide;
    if (v.def->owner != reader->owner)
        return cast(w, reader, reader->owner, v, TN_F32);
    if (tn_map_get(&w->at, key(v), &at))
        return w->made.at[at].wide;
    wide = is_computed(v) && depth > 0 && moves(w, v.def) ? move_wide(w, v.def, depth)
                                                          : cast(w, place_behind(v), v.def->owner, v, TN_F32);
    tn_vec_push(&w->made, ((pair){v, wide}));
    tn_map_put(&w->at, key(v), w->made.n - 1);
    return wide;
}

/* ---- products ---- */

/* What no kernel computes is read from memory as often as the product asks for it. */
static bool is_worth_it(tn_value v, int64_t reads)
{
    return is_narrow(v) && reads >= (is_computed(v) ? SELDOM : SELDOM_STORED);
}

static tn_status widen(widener *w, tn_node *n)
{
    _Alignas(16) char attr[MAX_ATTR];
    int64_t reads[2] = {0, 0};
    tn_value in[2] = {tn_in(n, 0), tn_in(n, 1)}, out;
    tn_dtype t = n->type[0]->dtype;
    bool any = false;
    n->op->reads(n, reads);
    for (int i = 0; i < 2; i++) {
        if (!is_worth_it(in[i], reads[i]))
            continue;
        any = true;
        if (!(in[i] = wide_of(w, n, in[i], MAX_DEPTH)).def)
            return TN_FAIL;
    }
    if (!any)
        return TN_OK;
    memcpy(attr, n->attr, n->op->attr_size);
    tn_pass_out_dtype(n->op, attr, TN_F32);
    out = tn_val(tn_make_call(w->g, n->owner, n, n->op, 2, in, attr, n->loc));
    if (out.def && !tn_dtype_eq(t, TN_F32))
        out = cast(w, n, n->owner, out, t);
    if (!out.def)
        return TN_FAIL;
    tn_pass_replace(w->p, w->g, n, &out);
    return TN_OK;
}

static bool is_product(const tn_node *n)
{
    tn_dtype t = n->op->reads && n->nin == 2 ? n->type[0]->dtype : TN_F64;
    return n->op->reads && n->op->attr_size <= MAX_ATTR && t.bits <= 32 && tn_dtype_is_float(t);
}

static tn_status region(widener *w, tn_region *r)
{
    tn_node *next;
    for (tn_node *n = r->first; n; n = next) {
        next = n->next;
        for (int i = 0; i < n->nregion; i++)
            TN_TRY(region(w, n->region[i]));
        if (is_product(n))
            TN_TRY(widen(w, n));
    }
    return TN_OK;
}

/* ---- other readers ---- */

/* A reader that can take the narrow value from the wide one in its own kernel. */
static bool takes_back(const tn_use *u, const tn_region *r)
{
    return u->user && u->user->owner == r && u->user->op->fuse <= TN_FUSE_REDUCE && u->user->nout == 1;
}

static tn_status take_back(widener *w, tn_value v, tn_value wide)
{
    tn_region *r = v.def->owner;
    const tn_use *u = v.def->users[v.out];
    for (; u; u = u->next)
        if (!is_computed(v) || (u->user != wide.def && !takes_back(u, r)))
            return TN_OK; /* it is stored all the same */
    for (tn_use *at = v.def->users[v.out], *next; at; at = next) {
        next = at->next;
        if (at->user == wide.def)
            continue;
        tn_value back = cast(w, at->user, r, wide, tn_value_type(v)->dtype);
        if (!back.def)
            return TN_FAIL;
        tn_use_set(w->g, at, back);
    }
    return TN_OK;
}

tn_status tn_pass_WidenProducts(tn_pass *p, tn_graph *g)
{
    widener w = {.pool = g->pool, .g = g, .p = p};
    tn_status s = TN_OK;
    for (tn_function *f = g->func; f && s == TN_OK; f = f->next)
        s = region(&w, f->body);
    for (size_t i = 0; i < w.made.n && s == TN_OK; i++)
        s = take_back(&w, w.made.at[i].narrow, w.made.at[i].wide);
    tn_map_deinit(&w.at);
    tn_vec_deinit(&w.made);
    return s == TN_OK ? tn_pass_DeadCodeElimination(p, g) : s;
}
