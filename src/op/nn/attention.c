/* What attention has beyond matrix products: masks on scores, the softmax of masked rows, keys and values kept from
 * call to call, linear attention.
 * Attention itself is nn.batch_matmul, nn.attention_mask, nn.masked_softmax and nn.batch_matmul. */
#include "op/code.h"

#include "op/nn/nn.h"

#include <math.h>
#include <string.h>

/* ---- nn.attention_mask ---- */

enum { SCORES = 0, MASK, LENGTHS };

static tn_status mask_infer(tn_graph *g, tn_node *n)
{
    const tn_attention_mask_attr *a = n->attr;
    const tn_type *x, *t;
    TN_TRY(tn_rule_tensor(g, n, SCORES, 4, &x));
    TN_TRY(tn_rule_float(g, n, SCORES));
    if (a->past.n > 1)
        return tn_rule_fail(g, n, "op-E007", "past has %u entries; it takes one", (unsigned)a->past.n);
    if (n->nin > MASK && tn_in(n, MASK).def) {
        TN_TRY(tn_rule_tensor(g, n, MASK, -1, &t));
        if (!tn_dtype_is_bool(t->dtype))
            TN_TRY(tn_rule_same_dtype(g, n, MASK));
        for (int i = 0; i < t->n; i++) {
            const tn_expr *d = t->dim[t->n - 1 - i], *want = i < 4 ? x->dim[3 - i] : NULL;
            bool shorter = i == 0; /* keys beyond the mask are masked */
            if (!want || (!shorter && !tn_is_value(d, 1) && !tn_rule_agree(g, n, d, want)))
                return tn_rule_fail(g, n, "op-E005", "mask %s does not broadcast to scores %s",
                                    tn_rule_type_text(g, t), tn_rule_type_text(g, x));
        }
    }
    if (n->nin > LENGTHS && tn_in(n, LENGTHS).def) {
        TN_TRY(tn_rule_tensor(g, n, LENGTHS, 1, &t));
        if (!tn_dtype_is_int(t->dtype) || !tn_rule_agree(g, n, t->dim[0], x->dim[0]))
            return tn_rule_fail(g, n, "op-E008",
                                "lengths are %s, but must be one integer for each batch of %s",
                                tn_rule_type_text(g, t), tn_rule_type_text(g, x));
    }
    return tn_rule_result(g, n, 0, x->dtype, 4, x->dim);
}

/* The mask's element for `out`; keys beyond its last dimension are masked. */
static const tn_expr *mask_at(tn_te *te, const tn_tensor *m, const tn_tensor *out)
{
    tn_pool *p = te->pool;
    const tn_expr *index[4], *last = m->ndim ? m->dim[m->ndim - 1] : NULL;
    for (int i = 0; i < m->ndim; i++) {
        int d = 4 - m->ndim + i;
        bool one = tn_is_value(m->dim[i], 1) && !tn_is_value(out->dim[d], 1);
        index[i] = one && d < 3 ? tn_idx(p, 0) : out->axis[d];
    }
    if (!last || last == out->dim[3])
        return tn_at(te, m, m->ndim, index);
    const tn_expr *masked =
        tn_dtype_is_bool(m->dtype) ? tn_bool(p, false) : tn_flt(p, m->dtype, -(double)INFINITY);
    return tn_at_if(te, m, m->ndim, index, tn_lt(p, out->axis[3], last), masked);
}

/* Query i stands at key i + offset: behind the past, or so that the last query meets the last valid key. */
static void mask_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_attention_mask_attr *a = n->attr;
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "masked", "elementwise", "b h i j");
    const tn_expr *key = t->axis[3], *value = tn_at(te, in[SCORES], 4, t->axis), *allowed = NULL,
                  *length = NULL;
    const tn_expr *none = tn_flt(p, t->dtype, -(double)INFINITY);
    const tn_expr *offset = a->past.n ? a->past.at[0] : tn_idx(p, 0);
    if (n->nin > LENGTHS && in[LENGTHS]) {
        length = tn_cast(p, TN_IDX, tn_at1(te, in[LENGTHS], t->axis[0]));
        offset = tn_sub(p, length, t->dim[2]);
    }
    const tn_expr *at = tn_add(p, t->axis[2], offset);
    if (a->causal)
        allowed = tn_rule_both(p, allowed, tn_le(p, key, at));
    if (a->left >= 0)
        allowed = tn_rule_both(p, allowed, tn_le(p, tn_sub(p, at, key), tn_idx(p, a->left)));
    if (a->right >= 0)
        allowed = tn_rule_both(p, allowed, tn_le(p, tn_sub(p, key, at), tn_idx(p, a->right)));
    if (length)
        allowed = tn_rule_both(p, allowed, tn_lt(p, key, length));
    if (n->nin > MASK && in[MASK]) {
        const tn_expr *m = mask_at(te, in[MASK], t);
        bool is_bool = tn_dtype_is_bool(m->dtype);
        const tn_expr *keep = is_bool ? m : tn_not(p, tn_eq(p, m, none));
        value = tn_select(p, keep, is_bool ? value : tn_add(p, value, m), none);
    }
    tn_te_define(te, t, allowed ? tn_select(p, allowed, value, none) : value);
}

/* clang-format off */
static const tn_attr_field mask_fields[] = TN_ATTR_TABLE(tn_attention_mask_attr, TN_ATTENTION_MASK_ATTRS);
static const char *const mask_in[] = {"scores", "mask", "lengths"};

const tn_op tn_op_nn_attention_mask = {
    .name = "nn.attention_mask",
        .doc = "Scores [batch, heads, queries, keys] with -inf where a query may not see a key; mask is bool or added; "
               "lengths are the valid keys of each batch, the last of which is the last query's place.",
    .attr_size = sizeof(tn_attention_mask_attr), .attr = mask_fields,
    .nin = 3, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ELEMWISE, .in_name = mask_in,
    .infer = mask_infer, .compute = mask_compute,
};
/* clang-format on */

/* ---- nn.masked_softmax ---- */

static tn_status masked_softmax_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_float(g, n, 0));
    if (t->n < 1)
        return tn_rule_fail(g, n, "op-E003", "data must have at least 1 dimension, but is %s",
                            tn_rule_type_text(g, t));
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

static tn_tensor *reduce_last(tn_te *te, const char *name, const tn_tensor *x, enum tn_reducer how)
{
    const tn_expr *index[TN_RULE_MAX_RANK];
    int n = x->ndim - 1;
    tn_tensor *r = tn_te_new(te, name, x->dtype, n, x->dim, n <= 4 ? "i j k l" : NULL);
    for (int i = 0; i < n; i++)
        index[i] = r->axis[i];
    index[n] = tn_te_reduce_axis(te, r, "r", x->dim[n]);
    tn_te_reduce(te, r, how, tn_at(te, x, x->ndim, index), NULL, NULL);
    return r;
}

/* A row's largest element is -inf only if all are: then 0 stands for it, every exponential is 0, and so is the
 * result. */
static void masked_softmax_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *x = in[0], *t = out[0] = tn_rule_out(te, n, 0, "softmax", "softmax", NULL);
    tn_dtype acc = tn_rule_accumulator(x->dtype);
    const tn_expr *zero = tn_flt(p, acc, 0), *none = tn_flt(p, acc, -(double)INFINITY);
    tn_tensor *largest = reduce_last(te, "softmax_max", x, TN_RED_MAX);
    tn_tensor *e = tn_te_new(te, "softmax_exp", acc, x->ndim, x->dim, x->ndim <= 4 ? "i j k l" : NULL);
    const tn_expr *top = tn_cast(p, acc, tn_at(te, largest, x->ndim - 1, e->axis));
    top = tn_select(p, tn_eq(p, top, none), zero, top);
    const tn_expr *at = tn_cast(p, acc, tn_at(te, x, x->ndim, e->axis));
    tn_te_define(te, e, tn_intrinsic1(p, TN_F_exp, tn_sub(p, at, top)));
    tn_tensor *sum = reduce_last(te, "softmax_sum", e, TN_RED_SUM);
    tn_tensor *share =
        tn_te_new(te, "softmax_share", acc, x->ndim - 1, x->dim, x->ndim <= 5 ? "i j k l" : NULL);
    const tn_expr *s = tn_at(te, sum, x->ndim - 1, share->axis), *one = tn_flt(p, acc, 1);
    tn_te_define(te, share, tn_bin(p, TN_E_DIV, one, tn_select(p, tn_eq(p, s, zero), one, s)));
    const tn_expr *v = tn_mul(p, tn_at(te, e, x->ndim, t->axis), tn_at(te, share, x->ndim - 1, t->axis));
    tn_te_define(te, t, tn_cast(p, t->dtype, v));
}

/* clang-format off */
static const char *const data_in[] = {"data"};

const tn_op tn_op_nn_masked_softmax = {
    .name = "nn.masked_softmax", .doc = "Softmax along the last axis; a row that is -inf throughout gives zeros.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = data_in,
    .infer = masked_softmax_infer, .compute = masked_softmax_compute,
};
/* clang-format on */

/* ---- nn.cache_append ---- */

enum { ROWS = 0, START, PAST };

static tn_status append_infer(tn_graph *g, tn_node *n)
{
    const tn_cache_append_attr *a = n->attr;
    const tn_type *x, *t;
    TN_TRY(tn_rule_tensor(g, n, ROWS, 4, &x));
    if (a->extent.n != 1)
        return tn_rule_fail(g, n, "op-E007", "extent has %u entries; it takes one", (unsigned)a->extent.n);
    if (n->nin > START && tn_in(n, START).def) {
        TN_TRY(tn_rule_tensor(g, n, START, 1, &t));
        if (!tn_dtype_is_int(t->dtype) || !tn_rule_agree(g, n, t->dim[0], x->dim[0]))
            return tn_rule_fail(g, n, "op-E008",
                                "starts are %s, but must be one integer for each batch of %s",
                                tn_rule_type_text(g, t), tn_rule_type_text(g, x));
    }
    if (n->nin > PAST && tn_in(n, PAST).def) {
        TN_TRY(tn_rule_tensor(g, n, PAST, 4, &t));
        TN_TRY(tn_rule_same_dtype(g, n, PAST));
        for (int d = 0; d < 4; d++)
            if (d != 2 && !tn_rule_agree(g, n, t->dim[d], x->dim[d]))
                return tn_rule_fail(g, n, "op-E008", "the past %s and the rows %s differ in dimension %d",
                                    tn_rule_type_text(g, t), tn_rule_type_text(g, x), d);
    }
    const tn_expr *dim[4] = {x->dim[0], x->dim[1], a->extent.at[0], x->dim[3]};
    return tn_rule_result(g, n, 0, x->dtype, 4, dim);
}

/* Row j of batch b: of the past before start[b], then of the rows, then zeros. */
static void append_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "appended", "injective", "b h j d");
    bool started = n->nin > START && in[START], past = n->nin > PAST && in[PAST];
    const tn_expr *zero = tn_idx(p, 0), *start = zero, *none = tn_const(p, t->dtype, 0);
    if (started)
        start = tn_cast(p, TN_IDX, tn_at1(te, in[START], t->axis[0]));
    const tn_expr *index[4] = {t->axis[0], t->axis[1], tn_sub(p, t->axis[2], start), t->axis[3]};
    const tn_expr *row = index[2], *after = tn_lt(p, row, in[ROWS]->dim[2]);
    const tn_expr *value =
        tn_at_if(te, in[ROWS], 4, index, started ? tn_and(p, tn_le(p, zero, row), after) : after, none);
    if (past) {
        const tn_expr *before = tn_and(p, tn_lt(p, row, zero), tn_lt(p, t->axis[2], in[PAST]->dim[2]));
        value = tn_select(p, tn_lt(p, row, zero), tn_at_if(te, in[PAST], 4, t->axis, before, none), value);
    }
    tn_te_define(te, t, value);
}

/* clang-format off */
static const tn_attr_field append_fields[] = TN_ATTR_TABLE(tn_cache_append_attr, TN_CACHE_APPEND_ATTRS);
static const char *const append_in[] = {"rows", "start", "past"};

const tn_op tn_op_nn_cache_append = {
    .name = "nn.cache_append",
        .doc = "For each batch the first start rows of the past [batch, heads, rows, size], the new rows after them, "
               "and zeros to the extent. A start below 0 leaves so many of the new rows out.",
    .attr_size = sizeof(tn_cache_append_attr), .attr = append_fields,
    .nin = 3, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_INJECTIVE, .in_name = append_in,
    .infer = append_infer, .compute = append_compute,
};
/* clang-format on */

/* ---- nn.linear_attention ----
 * state [keys, values] for each batch and head; every step scales it by exp(decay), adds the outer product of key and
 * value (or of key and beta * (value - state^T key)), and gives query^T state for each query of the group. */

enum { QUERY = 0, KEY, VALUE, STATE, DECAY, BETA, N_LINEAR };

static bool has(const tn_node *n, int i) { return i < n->nin && tn_in(n, i).def; }

static tn_status linear_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t[N_LINEAR] = {0};
    int64_t keys, values;
    for (int i = 0; i < N_LINEAR; i++) {
        if (!has(n, i))
            continue;
        TN_TRY(tn_rule_tensor(g, n, i, 4, &t[i]));
        TN_TRY(tn_rule_float(g, n, i));
    }
    const tn_expr *heads = t[KEY]->dim[1], *steps = t[KEY]->dim[2], *b = t[KEY]->dim[0];
    if (!tn_is_int(t[KEY]->dim[3], &keys) || !tn_is_int(t[VALUE]->dim[3], &values))
        return tn_rule_fail(g, n, "op-E009", "the sizes of keys and values in %s and %s must be numbers",
                            tn_rule_type_text(g, t[KEY]), tn_rule_type_text(g, t[VALUE]));
    for (int i = 0; i < N_LINEAR; i++) {
        const tn_expr *want[4] = {b, heads, steps, i == VALUE ? t[VALUE]->dim[3] : t[KEY]->dim[3]};
        if (i == STATE) {
            want[2] = t[KEY]->dim[3];
            want[3] = t[VALUE]->dim[3];
        }
        for (int d = 0; d < 4 && t[i]; d++) {
            bool group = i == QUERY && d == 2,
                 may_be_one = (i == DECAY && d == 3) || (i == BETA && (d == 1 || d == 3));
            if (group || (may_be_one && tn_is_value(t[i]->dim[d], 1)) ||
                tn_rule_agree(g, n, t[i]->dim[d], want[d]))
                continue;
            return tn_rule_fail(g, n, "op-E008", "%s is %s, but dimension %d must be %s",
                                tn_rule_in_name(g, n, i), tn_rule_type_text(g, t[i]), d,
                                tn_rule_dim_text(g, want[d]));
        }
    }
    const tn_expr *dim[4] = {b, heads, tn_add(g->pool, t[QUERY]->dim[2], t[KEY]->dim[3]), t[VALUE]->dim[3]};
    return tn_rule_result(g, n, 0, TN_F32, 4, dim);
}

typedef struct linear {
    tn_code c;
    const tn_linear_attention_attr *a;
    tn_tensor *in[N_LINEAR], *out;
    const tn_expr *b, *h, *t;     /* batch, head, step */
    const tn_expr *keys, *values; /* sizes of a key and of a value */
    uint32_t state, v;            /* [keys, values]; [1, values] */
} linear;

static const tn_expr *read(linear *w, int i, const tn_expr *step, const tn_expr *at)
{
    tn_pool *p = w->c.p;
    const tn_tensor *t = w->in[i];
    const tn_expr *index[4] = {w->b, w->h, step, at};
    for (int d = 0; d < 4; d++)
        if (tn_is_value(t->dim[d], 1))
            index[d] = tn_idx(p, 0);
    return tn_cast(p, TN_F32, tn_at(w->c.te, t, 4, index));
}

static const tn_expr *at2(linear *w, uint32_t buffer, const tn_expr *i, const tn_expr *j)
{
    const tn_expr *index[] = {i, j};
    return tn_code_load(&w->c, buffer, 2, index);
}

static void set2(linear *w, uint32_t buffer, const tn_expr *i, const tn_expr *j, const tn_expr *value)
{
    const tn_expr *index[] = {i, j};
    tn_code_store(&w->c, buffer, 2, index, value);
}

static void emit_row(linear *w, const tn_expr *row, const tn_expr *at, const tn_expr *value)
{
    const tn_expr *index[] = {w->b, w->h, row, at};
    tn_code_store(&w->c, w->out->buffer, 4, index, value);
}

static void start(linear *w)
{
    tn_body *back = w->c.at;
    const tn_expr *k = tn_code_for(&w->c, "k", w->keys), *m = tn_code_spread(&w->c, "m", w->values);
    set2(w, w->state, k, m, w->in[STATE] ? read(w, STATE, k, m) : tn_flt(w->c.p, TN_F32, 0));
    w->c.at = back;
}

/* state *= exp(decay of its row) */
static void decay(linear *w)
{
    tn_body *back = w->c.at;
    const tn_expr *k = tn_code_for(&w->c, "k", w->keys);
    const tn_expr *factor =
        tn_code_let(&w->c, "factor", tn_intrinsic1(w->c.p, TN_F_exp, read(w, DECAY, w->t, k)));
    const tn_expr *m = tn_code_spread(&w->c, "m", w->values);
    set2(w, w->state, k, m, tn_mul(w->c.p, at2(w, w->state, k, m), factor));
    w->c.at = back;
}

/* v = value, or beta * (value - state^T key) */
static void new_value(linear *w)
{
    tn_pool *p = w->c.p;
    tn_body *back = w->c.at;
    const tn_expr *zero = tn_idx(p, 0), *m = tn_code_spread(&w->c, "m", w->values);
    set2(w, w->v, zero, m, read(w, VALUE, w->t, m));
    w->c.at = back;
    if (!w->in[BETA])
        return;
    const tn_expr *k = tn_code_for(&w->c, "k", w->keys);
    m = tn_code_spread(&w->c, "m", w->values);
    set2(w, w->v, zero, m,
         tn_sub(p, at2(w, w->v, zero, m), tn_mul(p, at2(w, w->state, k, m), read(w, KEY, w->t, k))));
    w->c.at = back;
    m = tn_code_spread(&w->c, "m", w->values);
    set2(w, w->v, zero, m, tn_mul(p, at2(w, w->v, zero, m), read(w, BETA, w->t, zero)));
    w->c.at = back;
}

/* state += key x v; then the results of this step's queries. */
static void write_and_read(linear *w)
{
    tn_pool *p = w->c.p;
    tn_body *back = w->c.at;
    const tn_expr *zero = tn_idx(p, 0), *k = tn_code_for(&w->c, "k", w->keys),
                  *m = tn_code_spread(&w->c, "m", w->values);
    set2(w, w->state, k, m,
         tn_add(p, at2(w, w->state, k, m), tn_mul(p, read(w, KEY, w->t, k), at2(w, w->v, zero, m))));
    w->c.at = back;
    const tn_expr *group = tn_fdiv(p, w->in[QUERY]->dim[2], w->in[KEY]->dim[2]);
    const tn_expr *q = tn_code_for(&w->c, "q", group), *row = tn_add(p, tn_mul(p, w->t, group), q);
    tn_body *inner = w->c.at;
    m = tn_code_spread(&w->c, "m", w->values);
    set2(w, w->v, zero, m, tn_flt(p, TN_F32, 0));
    w->c.at = inner;
    k = tn_code_for(&w->c, "k", w->keys);
    m = tn_code_spread(&w->c, "m", w->values);
    set2(w, w->v, zero, m,
         tn_add(p, at2(w, w->v, zero, m), tn_mul(p, read(w, QUERY, row, k), at2(w, w->state, k, m))));
    w->c.at = inner;
    m = tn_code_spread(&w->c, "m", w->values);
    emit_row(w, row, m, tn_mul(p, at2(w, w->v, zero, m), tn_flt(p, TN_F32, w->a->scale)));
    w->c.at = back;
}

static void linear_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    linear w = {.a = n->attr};
    tn_pool *p = te->pool;
    w.c = tn_code_open(te, n, 0, "linear_attention", &w.out);
    out[0] = w.out;
    for (int i = 0; i < n->nin; i++)
        w.in[i] = in[i];
    w.keys = in[KEY]->dim[3];
    w.values = in[VALUE]->dim[3];
    const tn_expr *place[2], *dim[] = {w.keys, w.values}, *one[] = {tn_idx(p, 1), w.values};
    tn_code_each(&w.c, 2, in[KEY]->dim, place);
    w.b = place[0], w.h = place[1];
    w.state = tn_code_buffer(&w.c, "state", TN_F32, 2, dim, TN_SCOPE_LOCAL);
    w.v = tn_code_buffer(&w.c, "v", TN_F32, 2, one, TN_SCOPE_LOCAL);
    tn_body *whole = w.c.at;
    start(&w);
    w.t = tn_code_for(&w.c, "t", in[KEY]->dim[2]);
    if (w.in[DECAY])
        decay(&w);
    new_value(&w);
    write_and_read(&w);
    w.c.at = whole;
    const tn_expr *k = tn_code_for(&w.c, "k", w.keys), *m = tn_code_spread(&w.c, "m", w.values);
    emit_row(&w, tn_add(p, in[QUERY]->dim[2], k), m, at2(&w, w.state, k, m));
}

/* clang-format off */
static const tn_attr_field linear_fields[] = TN_ATTR_TABLE(tn_linear_attention_attr, TN_LINEAR_ATTENTION_ATTRS);
static const char *const linear_in[] = {"query", "key", "value", "state", "decay", "beta"};

const tn_op tn_op_nn_linear_attention = {
    .name = "nn.linear_attention",
        .doc = "Attention by a state [keys, values] for each batch and head, decayed, corrected (beta) and written at "
               "each step; query [b, h, steps * group, keys]; all results, then the last state, in float32.",
    .attr_size = sizeof(tn_linear_attention_attr), .attr = linear_fields,
    .nin = N_LINEAR, .min_in = 3, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = linear_in,
    .infer = linear_infer, .body = linear_body,
};
/* clang-format on */
