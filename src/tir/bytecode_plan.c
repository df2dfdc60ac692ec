/* Accesses: logical indices to one offset, and which indices have to be checked at run time.
 *
 * The offset is flattened to constant + sum of coefficient * term and summed up again from the terms of the
 * outermost loop to those of the innermost, so that all but the last sum leave the inner loop. It wraps: an
 * index that is outside is caught by its check before the offset is used.
 */
#include "tir/bytecode_compile.h"

typedef struct term {
    const tn_expr *e;
    int64_t coef;
    uint32_t level;
} term;
typedef tn_vec(term) terms;

static int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

static int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

static void add_term(bc_compiler *c, terms *to, const tn_expr *e, int64_t coef)
{
    for (size_t i = 0; i < to->n; i++)
        if (to->at[i].e == e) {
            to->at[i].coef = wrap_add(to->at[i].coef, coef);
            return;
        }
    tn_vec_push(to, ((term){e, coef, bc_level_of(c, e)}));
}

/* Is e's value the exact sum (difference, product) of its operands' values? */
static bool exact(bc_compiler *c, const tn_expr *e)
{
    span s = spans_of(&c->spans, e), all = span_limits(e->dtype);
    return tn_dtype_is_index(e->dtype) || s.lo > all.lo || s.hi < all.hi;
}

static bool constant(bc_compiler *c, const tn_expr *e, int64_t *out)
{
    span s = spans_of(&c->spans, e);
    *out = s.lo;
    return s.safe && s.lo == s.hi;
}

/* The value is kept by this conversion between integers. */
static bool keeps(bc_compiler *c, const tn_expr *e)
{
    if (e->kind != TN_E_CAST || tn_dtype_is_float(e->src[0]->dtype) || tn_dtype_is_bool(e->src[0]->dtype))
        return false;
    span s = spans_of(&c->spans, e->src[0]), r = spans_of(&c->spans, e);
    return s.lo == r.lo && s.hi == r.hi && r.safe;
}

/* Adds e * coef to the terms; constants to *shift. */
static void flatten(bc_compiler *c, const tn_expr *root, int64_t coef, terms *to, int64_t *shift)
{
    terms todo = {0};
    tn_vec_push(&todo, ((term){root, coef, 0}));
    while (todo.n) {
        term t = tn_vec_pop(&todo);
        int64_t k;
        bool opens = exact(c, t.e);
        if (constant(c, t.e, &k)) {
            *shift = wrap_add(*shift, wrap_mul(k, t.coef));
        } else if (opens && (t.e->kind == TN_E_ADD || t.e->kind == TN_E_SUB)) {
            tn_vec_push(&todo,
                        ((term){t.e->src[1], t.e->kind == TN_E_ADD ? t.coef : wrap_mul(t.coef, -1), 0}));
            tn_vec_push(&todo, ((term){t.e->src[0], t.coef, 0}));
        } else if (opens && t.e->kind == TN_E_MUL && constant(c, t.e->src[1], &k)) {
            tn_vec_push(&todo, ((term){t.e->src[0], wrap_mul(t.coef, k), 0}));
        } else if (opens && t.e->kind == TN_E_MUL && constant(c, t.e->src[0], &k)) {
            tn_vec_push(&todo, ((term){t.e->src[1], wrap_mul(t.coef, k), 0}));
        } else if (keeps(c, t.e)) {
            tn_vec_push(&todo, ((term){t.e->src[0], t.coef, 0}));
        } else {
            add_term(c, to, t.e, t.coef);
        }
    }
    tn_vec_deinit(&todo);
}

/* Insertion sort: outermost first, equal levels in order. */
static void sort(terms *t)
{
    for (size_t i = 1; i < t->n; i++) {
        term x = t->at[i];
        size_t k = i;
        for (; k > 0 && t->at[k - 1].level > x.level; k--)
            t->at[k] = t->at[k - 1];
        t->at[k] = x;
    }
}

/* plan->a and plan->b: the sum without its last term, and that. */
static void sum_up(bc_compiler *c, terms *t, bc_plan *plan)
{
    sort(t);
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i].coef == 0)
            continue;
        const tn_expr *e =
            tn_mul(c->pool, tn_cast(c->pool, TN_I64, t->at[i].e), tn_int(c->pool, TN_I64, t->at[i].coef));
        if (plan->b)
            plan->a = tn_add(c->pool, plan->a, plan->b);
        if (plan->a)
            plan->b = e;
        else
            plan->a = e;
    }
}

/* Physical extents: all constant, the symbols being known (interp.c checked that). */
static int physical(bc_compiler *c, const tn_buffer *b, const tn_expr *const index[],
                    const tn_expr **out_index, int64_t *out_dim)
{
    const tn_expr *dim[255];
    int n = tn_layout_naxis(b->layout, b->ndim);
    tn_layout_dims(c->pool, b->layout, b->ndim, b->dim, dim);
    tn_layout_index(c->pool, b->layout, b->ndim, index, out_index);
    for (int d = 0; d < n; d++) {
        bool known = bc_constant(c->m, dim[d], &out_dim[d]);
        TN_ASSERT(known);
    }
    return n;
}

static void plan_vector(bc_compiler *c, bc_plan *plan, const tn_buffer *b, const tn_expr *index)
{
    plan->vector = true;
    plan->gather = index->dtype.lanes > 1;
    plan->a = index;
    if (b->dtype.lanes > 1)
        plan->a = tn_mul(c->pool, index, tn_int(c->pool, index->dtype, b->dtype.lanes));
}

const bc_plan *bc_plan_access(bc_compiler *c, uint32_t buffer, uint32_t n, const tn_expr *const index[],
                              uint16_t lanes, bool store)
{
    const tn_buffer *b = &c->m->f->buffer[buffer];
    bc_plan *plan = TN_NEW(c->m->arena, bc_plan);
    plan->buffer = buffer;
    for (uint32_t d = 0; d < n; d++) {
        int64_t extent = 0;
        const tn_expr *end = store ? b->dim[d] : tn_layout_readable(c->pool, b->layout, (int)d, b->dim[d]);
        bool known = bc_constant(c->m, end, &extent);
        TN_ASSERT(known);
        span s = spans_of(&c->spans, index[d]);
        if (s.lo < 0 || s.hi >= extent)
            plan->check[plan->n_check++] = (bc_check){index[d], d, extent};
    }
    if (lanes > 1 || (plan->n_check && b->slack && !store)) {
        plan->n_check = 0;
        plan_vector(c, plan, b, index[0]);
        return plan;
    }
    const tn_expr *at[255];
    int64_t dim[255], stride = 1;
    terms t = {0};
    for (int d = physical(c, b, index, at, dim) - 1; d >= 0; d--) {
        flatten(c, at[d], stride, &t, &plan->shift);
        stride = wrap_mul(stride, dim[d]);
    }
    sum_up(c, &t, plan);
    tn_vec_deinit(&t);
    return plan;
}
