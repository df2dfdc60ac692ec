/* What tensor expressions of operators are written with: outputs, broadcasting reads, sliding windows,
 * reshapes. */
#include "op/rule.h"

tn_tensor *tn_rule_out(tn_te *te, const tn_node *n, int out, const char *name, const char *tag,
                       const char *axis_names)
{
    const tn_type *t = n->type[out];
    te->tag = tag;
    return tn_te_new(te, name, t->dtype, t->n, t->dim,
                     axis_names  ? axis_names
                     : t->n <= 4 ? "i j k l"
                                 : NULL);
}

tn_dtype tn_rule_accumulator(tn_dtype t) { return tn_dtype_eq(t, TN_F64) ? t : TN_F32; }

tn_dtype tn_rule_sum_dtype(tn_dtype t)
{
    return tn_dtype_is_float(t) ? tn_dtype_is_small(t) ? TN_F32 : t : TN_DT(t.code, 64);
}

tn_tensor *tn_rule_sum(tn_te *te, const tn_node *n, const char *name, const char *tag, const char *axis_names)
{
    const tn_type *t = n->type[0];
    te->tag = tag;
    return tn_te_new(te, name, tn_rule_sum_dtype(t->dtype), t->n, t->dim,
                     axis_names  ? axis_names
                     : t->n <= 4 ? "i j k l"
                                 : NULL);
}

/* Extents that are not known to differ are taken to be equal, and looked at when they are known. */
void tn_rule_require_equal(tn_te *te, const tn_expr *a, const tn_expr *b, int dim)
{
    tn_buf text = {0};
    tn_buf_printf(&text, "dimension %d is ", dim);
    tn_expr_print(b, NULL, &text);
    tn_buf_str(&text, " in one operand and ");
    tn_expr_print(a, NULL, &text);
    tn_buf_str(&text, " in another; they must be equal");
    tn_te_require(te, tn_eq(te->pool, a, b), tn_intern(te->func->ctx, tn_buf_cstr(&text)));
    tn_buf_deinit(&text);
}

const tn_expr *tn_rule_stretch(tn_te *te, const tn_expr *d, const tn_expr *to, const tn_expr *at, int dim)
{
    tn_pool *p = te->pool;
    const tn_expr *one = tn_idx(p, 1), *repeated = tn_eq(p, d, one);
    if (tn_is_value(d, 1))
        return tn_idx(p, 0);
    if (tn_equal(p, NULL, d, to))
        return at;
    if (d->kind == TN_E_INT) {
        tn_rule_require_equal(te, d, to, dim);
        return at;
    }
    tn_buf text = {0};
    tn_buf_printf(&text, "dimension %d is ", dim);
    tn_expr_print(d, NULL, &text);
    tn_buf_str(&text, " in an operand and ");
    tn_expr_print(to, NULL, &text);
    tn_buf_str(&text, " in the result; they must be equal, or the operand's 1");
    tn_te_require(te, tn_or(p, tn_eq(p, d, to), repeated), tn_intern(te->func->ctx, tn_buf_cstr(&text)));
    tn_buf_deinit(&text);
    return tn_select(p, repeated, tn_idx(p, 0), at);
}

const tn_expr *tn_rule_within(tn_te *te, const tn_expr *at, const tn_expr *count, const tn_expr *extent,
                              int dim)
{
    tn_pool *p = te->pool;
    const tn_expr *fits = tn_le(p, count, extent);
    if (tn_prove(p, NULL, fits) == 1)
        return at;
    tn_buf text = {0};
    tn_buf_printf(&text, "dimension %d is ", dim);
    tn_expr_print(extent, NULL, &text);
    tn_buf_str(&text, " in the data, but the indices have ");
    tn_expr_print(count, NULL, &text);
    tn_buf_str(&text, " there; they must not have more");
    tn_te_require(te, fits, tn_intern(te->func->ctx, tn_buf_cstr(&text)));
    tn_buf_deinit(&text);
    return tn_min(p, at, tn_sub(p, extent, tn_idx(p, 1)));
}

const tn_expr *tn_rule_at_broadcast(tn_te *te, const tn_tensor *t, const tn_tensor *out)
{
    const tn_expr *index[TN_RULE_MAX_RANK];
    int skip = out->ndim - t->ndim;
    for (int i = 0; i < t->ndim; i++)
        index[i] = tn_rule_stretch(te, t->dim[i], out->dim[skip + i], out->axis[skip + i], skip + i);
    return tn_at(te, t, t->ndim, index);
}

/* ---- windows ---- */

const tn_expr *tn_rule_window_extent(tn_pool *p, const tn_expr *in, const tn_expr *kernel, const tn_window *w)
{
    const tn_expr *one = tn_idx(p, 1), *stride = tn_idx(p, w->stride);
    const tn_expr *reach = tn_mul(p, tn_sub(p, kernel, one), tn_idx(p, w->dilation));
    const tn_expr *around = tn_add(p, tn_add(p, w->before, w->after), tn_idx(p, -1));
    const tn_expr *last = tn_sub(p, tn_add(p, in, around), reach); /* start of the last window */
    if (!w->ceil_mode)
        return tn_add(p, tn_fdiv(p, last, stride), one);
    const tn_expr *n = tn_add(p, tn_ceildiv(p, last, w->stride), one);
    return tn_min(p, n,
                  tn_add(p, tn_fdiv(p, tn_add(p, in, tn_add(p, w->before, tn_idx(p, -1))), stride), one));
}

tn_status tn_rule_window(tn_graph *g, const tn_node *n, const tn_type *data, int axis, const tn_expr *kernel,
                         const tn_window *w, const tn_expr **out)
{
    int64_t extent;
    *out = tn_simplify_extent(g, tn_rule_window_extent(g->pool, data->dim[axis], kernel, w));
    if (!tn_is_int(*out, &extent) || extent >= 1)
        return TN_OK;
    return tn_rule_fail(g, n, "op-E009",
                        "the window of %s along dimension %d does not fit into data %s with padding [%s, %s]",
                        tn_rule_dim_text(g, kernel), axis, tn_rule_type_text(g, data),
                        tn_rule_dim_text(g, w->before), tn_rule_dim_text(g, w->after));
}

void tn_rule_require_taps(tn_te *te, const tn_expr *taps)
{
    if (taps->kind != TN_E_INT) /* else it was refused */
        tn_te_require(te, tn_le(te->pool, tn_idx(te->pool, 1), taps), "the window has no elements");
}

void tn_rule_require_window(tn_te *te, const tn_tensor *t, int axis)
{
    if (t->dim[axis]->kind == TN_E_INT) /* else it was refused (op-E009) */
        return;
    const char *text =
        tn_arena_printf(te->arena, "the window does not fit into dimension %d of the data", axis);
    tn_te_require(te, tn_le(te->pool, tn_idx(te->pool, 1), t->dim[axis]), tn_intern(te->func->ctx, text));
}

const tn_expr *tn_rule_window_index(tn_pool *p, const tn_expr *out, const tn_expr *tap, const tn_window *w)
{
    const tn_expr *start = tn_mul(p, out, tn_idx(p, w->stride));
    return tn_sub(p, tn_add(p, start, tn_mul(p, tap, tn_idx(p, w->dilation))), w->before);
}

const tn_expr *tn_rule_both(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return !a ? b : !b ? a : tn_and(p, a, b);
}

bool tn_rule_may_pad(const tn_expr *width)
{
    int64_t v;
    return !tn_is_int(width, &v) || v > 0;
}

const tn_expr *tn_rule_window_inside(tn_pool *p, const tn_expr *index, const tn_expr *in, const tn_window *w)
{
    const tn_expr *low = tn_rule_may_pad(w->before) ? tn_le(p, tn_idx(p, 0), index) : NULL;
    const tn_expr *high = tn_rule_may_pad(w->after) || w->ceil_mode ? tn_lt(p, index, in) : NULL;
    return tn_rule_both(p, low, high);
}

/* ---- reshapes ---- */

/* Walks two lists of dimensions from the left in groups of equal element counts. Each group's row-major
 * position is computed from the output's axes and taken apart into input indices, so untouched axes pass
 * through as they are. */
typedef struct run {
    int first, end;
    const tn_expr *count;
} run; /* dims [first, end) and their product */

static void extend(tn_pool *p, run *r, const tn_expr *const dim[])
{
    r->count = tn_mul(p, r->count, dim[r->end++]);
}

static bool same_count(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return a == b || tn_equal(p, NULL, a, b);
}

/* Grows a and b until they hold equally many elements; false: they reached the ends without. */
static bool match_runs(tn_pool *p, run *a, int na, const tn_expr *const da[], run *b, int nb,
                       const tn_expr *const db[])
{
    while (!same_count(p, a->count, b->count)) {
        bool smaller_a = a->end < na;
        if (a->end < na &&
            b->end < nb) { /* symbolic counts: an order that cannot be proved just picks a side */
            int less = tn_prove(p, NULL, tn_lt(p, a->count, b->count));
            smaller_a = less == 1 || (less < 0 && a->end - a->first <= b->end - b->first);
        }
        if (smaller_a)
            extend(p, a, da);
        else if (b->end < nb)
            extend(p, b, db);
        else
            return false;
    }
    return true;
}

/* Indices of the dims of `a` from the position at[] within the run `b`. */
static void split_run(tn_pool *p, const run *a, tn_dims from, const run *b, tn_dims to,
                      const tn_expr *const at[], const tn_expr **index)
{
    const tn_expr *flat = tn_idx(p, 0), *stride = tn_idx(p, 1);
    for (int i = b->end - 1; i >= b->first; i--) {
        flat = tn_add(p, tn_mul(p, at[i], stride), flat);
        stride = tn_mul(p, stride, to.at[i]);
    }
    stride = tn_idx(p, 1);
    for (int i = a->end - 1; i >= a->first; i--) {
        index[i] = tn_fdiv(p, flat, stride);
        if (i > a->first)
            index[i] = tn_fmod(p, index[i], from.at[i]);
        stride = tn_mul(p, stride, from.at[i]);
    }
}

void tn_rule_reshape_index(tn_pool *p, tn_dims from, tn_dims to, const tn_expr *const at[],
                           const tn_expr **index)
{
    const int n_from = (int)from.n, n_to = (int)to.n;
    const tn_expr *one = tn_idx(p, 1);
    run a = {0, 0, one}, b = {0, 0, one};
    while (a.first < n_from) {
        if (tn_is_value(from.at[a.first], 1)) {
            index[a.first] = tn_idx(p, 0);
            a = (run){a.first + 1, a.first + 1, one};
            continue;
        }
        while (b.first < n_to && tn_is_value(to.at[b.first], 1))
            b = (run){b.first + 1, b.first + 1, one};
        extend(p, &a, from.at);
        if (b.first < n_to)
            extend(p, &b, to.at);
        if (!match_runs(p, &a, n_from, from.at, &b, n_to, to.at)) { /* take all that is left as one run */
            while (a.end < n_from)
                extend(p, &a, from.at);
            while (b.end < n_to)
                extend(p, &b, to.at);
        }
        split_run(p, &a, from, &b, to, at, index);
        a = (run){a.end, a.end, one};
        b = (run){b.end, b.end, one};
    }
}

void tn_rule_reshape_moves(tn_pool *p, const tn_node *n, const tn_expr *const from[], const tn_expr *to[])
{
    const tn_type *in = tn_in_type(n, 0), *out = n->type[0];
    tn_rule_reshape_index(p, (tn_dims){out->n, out->dim}, (tn_dims){in->n, in->dim}, from, to);
}
