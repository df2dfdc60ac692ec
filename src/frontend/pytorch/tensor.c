/* Tensors: constants of the file, values of the graph, views that change with what they show. */
#include "frontend/pytorch/pytorch.h"

#include "arith/arith.h"
#include "base/size.h"
#include "op/core/core.h"

#include <string.h>

pt_value pt_tensor_new(pt_import *p, tn_value v)
{
    pt_tensor *t = TN_NEW(&p->im.scratch, pt_tensor);
    t->now.v = (pt_value){.kind = PT_VALUE, .value = v};
    t->born = ++p->n_tensor;
    return (pt_value){.kind = PT_TENSOR, .tensor = t};
}

pt_value pt_tensor_like(pt_import *p, pt_value like, tn_value v)
{
    pt_value t = pt_tensor_new(p, v);
    t.kind = like.kind;
    t.tensor->elements = like.tensor->elements;
    return t;
}

/* ---- constants ---- */

/* Elements from the first to behind the last; false: outside of the storage. */
static bool inside(const pt_tensor *t, size_t elements)
{
    int64_t last = t->offset, step;
    if (t->offset < 0)
        return false;
    for (int i = 0; i < t->n; i++) {
        if (t->dim[i] == 0)
            return true;
        if (t->dim[i] < 0 || t->stride[i] < 0 || !tn_i64_mul(t->dim[i] - 1, t->stride[i], &step) ||
            !tn_i64_add(last, step, &last))
            return false;
    }
    return (uint64_t)last < elements;
}

bool pt_is_contiguous(const pt_tensor *t)
{
    int64_t step = 1;
    for (int i = t->n - 1; i >= 0; i--) {
        if (t->dim[i] != 1 && t->stride[i] != step)
            return false;
        step *= t->dim[i];
    }
    return true;
}

/* Elements in the order of the dimensions. */
static tn_bytes gathered(pt_import *p, const pt_tensor *t, size_t count, size_t size)
{
    uint8_t *to = tn_arena_alloc(&p->im.scratch, count * size, 8);
    int64_t at[PT_MAX_RANK] = {0}, from = t->offset;
    for (size_t k = 0; k < count; k++) {
        memcpy(to + k * size, t->storage->data.at + (size_t)from * size, size);
        for (int d = t->n - 1; d >= 0; d--) {
            from += t->stride[d];
            if (++at[d] < t->dim[d])
                break;
            from -= t->stride[d] * t->dim[d];
            at[d] = 0;
        }
    }
    return (tn_bytes){to, count * size};
}

static tn_value constant(pt_import *p, pt_tensor *t)
{
    imp_model *im = &p->im;
    const pt_storage *s = t->storage;
    const char *name = t->name ? t->name
                               : (const char *)tn_arena_printf(im->g->arena, "storage %.*s",
                                                               (int)(s->key.n > 64 ? 64 : s->key.n),
                                                               (const char *)s->key.at);
    const tn_loc *loc = imp_make_loc(im, NULL, NULL);
    size_t count, bytes, size = tn_dtype_bytes(s->dtype);
    tn_region *r = im->r;
    if (!imp_measure(im, name, (size_t)t->n, t->dim, s->dtype, loc, &count, &bytes))
        return (tn_value){0};
    if (!s->has_data || (count && !inside(t, s->data.n / size)))
        return (void)imp_refuse_tensor(im, loc, name,
                                       "its data lies outside of the file; the model is damaged"),
               (tn_value){0};
    if (bytes > im->memory_limit) /* a small storage may be repeated by strides of 0 */
        return (void)imp_refuse_tensor(im, loc, name, "it is larger than its file can mean"), (tn_value){0};
    tn_bytes data = !count                ? (tn_bytes){s->data.at, 0}
                    : pt_is_contiguous(t) ? (tn_bytes){s->data.at + (size_t)t->offset * size, bytes}
                                          : gathered(p, t, count, size);
    im->r = tn_graph_function(im->g, "main")->body; /* every branch sees it */
    tn_node *k = imp_constant(im, s->dtype, (size_t)t->n, t->dim, imp_blob(im, data, s->dtype), name);
    im->r = r;
    return tn_val(k);
}

/* ---- tensors that may be of one memory ---- */

struct pt_alias {
    pt_tensor *of;
    struct pt_alias *next;
};

static pt_tensor *root_of(pt_tensor *t)
{
    while (t->base)
        t = t->base;
    return t;
}

static void add_alias(pt_import *p, pt_tensor *to, pt_tensor *of)
{
    struct pt_alias *a = TN_NEW(&p->im.scratch, struct pt_alias);
    *a = (struct pt_alias){of, to->alias};
    to->alias = a;
}

void pt_may_be(pt_import *p, pt_tensor *a, pt_tensor *b)
{
    a = root_of(a);
    b = root_of(b);
    if (a != b) {
        add_alias(p, a, b);
        add_alias(p, b, a);
    }
}

void pt_make_stale(pt_import *p, pt_tensor *t)
{
    if (!t->stale)
        tn_vec_push(&p->stale, t);
    t->stale = true;
}

void pt_fresh_after(pt_import *p, size_t mark)
{
    while (p->stale.n > mark)
        tn_vec_pop(&p->stale)->stale = false;
}

static void refuse_stale(pt_import *p)
{
    pt_fail(p, "pytorch-E071",
            "a tensor is used after one was changed in place that is of the same memory in some runs, as a "
            "condition or a loop decides or the order of its elements; that is not supported: assign a copy "
            "(clone) there");
}

typedef tn_vec(pt_tensor *) tensors;

/* t, and all tensors that may be of its memory. */
static void collect(pt_import *p, pt_tensor *t, tensors *all)
{
    t->walk = ++p->n_walk;
    tn_vec_push(all, t);
    for (size_t i = 0; i < all->n; i++)
        for (const struct pt_alias *a = all->at[i]->alias; a; a = a->next)
            if (a->of->walk != p->n_walk) {
                a->of->walk = p->n_walk;
                tn_vec_push(all, a->of);
            }
}

/* t was changed in place. The next run uses what the file has. */
static void make_others_stale(pt_import *p, pt_tensor *t)
{
    bool is_kept = false;
    tensors all = {0};
    collect(p, t, &all);
    for (size_t i = 1; i < all.n; i++) {
        is_kept = is_kept || all.at[i]->storage || all.at[i]->fixed;
        pt_make_stale(p, all.at[i]);
    }
    tn_vec_deinit(&all);
    if (is_kept)
        refuse_stale(p);
}

void pt_refuse_fixed(pt_import *p, const char *op)
{
    pt_fail(p, "pytorch-E069",
            "the model changes a tensor in place whose memory the result of %s shows; that is not supported: "
            "assign a copy (clone) there",
            op);
}

bool pt_is_fixed(pt_import *p, pt_tensor *t)
{
    bool is = false;
    tensors all = {0};
    collect(p, root_of(t), &all);
    for (size_t i = 0; i < all.n && !is; i++)
        is = all.at[i]->fixed != NULL;
    tn_vec_deinit(&all);
    return is;
}

static bool is_current(pt_import *p, pt_tensor *t)
{
    if (root_of(t)->stale)
        refuse_stale(p);
    return !root_of(t)->stale;
}

/* ---- values ---- */

tn_value pt_tensor_value(pt_import *p, pt_tensor *t)
{
    if (!is_current(p, t))
        return (tn_value){0};
    if (t->base && t->seen != pt_changes_of(t->base)) {
        pt_value again = pt_replay(t->made, (pt_value){.kind = PT_TENSOR, .tensor = t->base});
        if (pt_is_sequence(again))
            again = pt_at(again, t->part);
        if (again.kind != PT_TENSOR)
            return (tn_value){0};
        if (!p->logging) {
            t->now = again.tensor->now;
            t->seen = pt_changes_of(t->base);
        }
        return again.tensor->now.v.value;
    }
    if (t->now.v.kind == PT_NONE && t->storage) {
        tn_value v = constant(p, t);
        if (!v.def)
            p->stop = true;
        t->now.v = (pt_value){.kind = PT_VALUE, .value = v};
    }
    return t->now.v.kind == PT_VALUE ? t->now.v.value : (tn_value){0};
}

/* The base with these elements where the view shows them: the view of the base's positions says where. */
static tn_value written(pt_import *p, pt_tensor *t, tn_value v)
{
    imp_node *c = pt_ctx(p);
    tn_value base = pt_tensor_value(p, t->base);
    const tn_type *type = imp_type(base);
    const tn_expr *n = imp_product(c, type, 0, type->n);
    tn_value at = imp_reshape(c, imp_count_up(c, n), type->n, type->dim);
    pt_value shown = pt_replay(t->made, pt_tensor_new(p, at));
    if (pt_is_sequence(shown))
        shown = pt_at(shown, t->part);
    if (shown.kind != PT_TENSOR || c->bad)
        return (tn_value){0};
    if (tn_value_eq(pt_tensor_value(p, shown.tensor), at)) /* all of it, as it is */
        return v;
    tn_scatter_attr a = {0, "update"};
    const tn_value in[3] = {imp_flat(c, base), imp_flat(c, pt_tensor_value(p, shown.tensor)), imp_flat(c, v)};
    return imp_reshape(c, imp_call(c, &tn_op_scatter_elements, &a, 3, in), type->n, type->dim);
}

/* The element behind the last one. */
static int64_t end_of(const pt_tensor *t)
{
    int64_t end = t->offset + 1;
    for (int i = 0; i < t->n; i++)
        end += t->dim[i] ? (t->dim[i] - 1) * t->stride[i] : 0;
    return end;
}

/* The greatest common divisor of g and the strides. */
static int64_t common_stride(const pt_tensor *t, int64_t g)
{
    for (int i = 0; i < t->n; i++)
        g = t->dim[i] > 1 ? tn_gcd(g, t->stride[i]) : g;
    return g;
}

/* Do they lie between one another, as real and imaginary parts do? */
static bool interleaved(const pt_tensor *a, const pt_tensor *b)
{
    int64_t g = common_stride(b, common_stride(a, 0));
    return g > 1 && (a->offset - b->offset) % g != 0;
}

/* Has another tensor of the file elements between the first and the last of this one? */
static bool overlaps(const pt_tensor *t)
{
    bool any = false;
    for (const pt_tensor *o = t->storage->last; o && !any; o = o->before)
        any = o != t && (!inside(o, SIZE_MAX / 4) ||
                         (o->offset < end_of(t) && t->offset < end_of(o) && !interleaved(o, t)));
    return any;
}

void pt_tensor_fix(pt_tensor *t, const char *op)
{
    for (; t; t = t->base)
        t->fixed = op;
}

void pt_tensor_set(pt_import *p, pt_tensor *t, tn_value v)
{
    imp_node *c = pt_ctx(p);
    const tn_type *type = imp_type(pt_tensor_value(p, t));
    if (!v.def || p->stop)
        return;
    if (t->shared) {
        pt_fail(
            p, "pytorch-E067",
            "the model changes its attribute %s in place, which in an earlier run became of one memory with "
            "another of its tensors; that is not supported: assign a copy (clone) there",
            t->shared);
        return;
    }
    if (t->fixed) {
        pt_refuse_fixed(p, t->fixed);
        return;
    }
    v = imp_cast(c, v, type->dtype);
    bool alike = imp_rank(v) == type->n;
    for (int d = 0; d < type->n && alike; d++)
        alike = imp_type(v)->dim[d] == type->dim[d];
    if (!alike) {
        tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)type->n, type->dim)};
        v = imp_call1(c, &tn_op_broadcast_to, &a, v);
    }
    if (t->base) {
        tn_value base = written(p, t, v);
        pt_stop_if_bad(p, c);
        if (p->stop)
            return;
        pt_tensor_set(p, t->base, base);
    }
    pt_stop_if_bad(p, c);
    if (t->storage && overlaps(t)) {
        pt_fail(
            p, "pytorch-E068",
            "the model changes %s in place, whose memory another tensor of the file shows, too; that is not "
            "supported: save the model with copies (clone)",
            t->name ? t->name : "a constant");
        return;
    }
    if (t->storage)
        pt_keep(p, &t->now, t, t->name ? t->name : "of a constant");
    pt_set(p, &t->now, (pt_value){.kind = PT_VALUE, .value = v});
    t->seen = t->base ? pt_changes_of(t->base) : 0;
    if (!t->base)
        make_others_stale(p, t);
}

void pt_late_set(pt_import *p, pt_tensor *t, tn_value v)
{
    if (p->stop || !v.def)
        return;
    pt_set(p, &t->now, (pt_value){.kind = PT_VALUE, .value = v});
    make_others_stale(p, t);
}
