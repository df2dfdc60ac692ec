/* topk: the k largest (or smallest) elements along an axis and where they are, in order; equal ones in order of their
 * positions.
 * sort_rows: the order of a matrix's rows, compared by their first elements that differ.
 *
 * Each row is a task. NaN counts as beyond +inf, -0 as 0. Single elements are compared by their keys (op/order.h):
 *   - short rows: each element's place is how many stand before it, O(n^2) in vectors;
 *   - few of many: blocks of elements in which none beats the worst of those that are kept are passed over as vectors.
 *     Up to 32 are kept as a sorted list; more of them in a buffer that is sorted and cut whenever it is
 *     full, O(n) in all;
 *   - else all are sorted by digits, O(n).
 * Rows of several elements are sorted by merging runs of 1, 2, 4, ... from one list to another and back (stable):
 * O(n log n), for rows of m elements O(n m log n).
 */
#include "op/order.h"

#include "op/tensor/tensor.h"

enum { SHORT = 64, FEW = 32, BLOCK = 32, LONG_BLOCK = 64, LONG_ROW = 4096, MAX_LEVELS = 31 };

static tn_status topk_infer(tn_graph *g, tn_node *n)
{
    const tn_topk_attr *a = n->attr;
    const tn_type *t;
    const tn_expr *dim[TN_RULE_MAX_RANK], *count;
    int64_t extent, k;
    int axis;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(tn_rule_axis(g, n, a->axis, t->n, &axis));
    TN_TRY(tn_rule_extent(g, n, "k", a->k, &count));
    if (tn_is_int(t->dim[axis], &extent) && tn_is_int(count, &k) && k > extent)
        return tn_rule_fail(g, n, "op-E007", "k is %lld, but axis %d of %s has %s elements", (long long)k,
                            axis, tn_rule_type_text(g, t), tn_rule_dim_text(g, t->dim[axis]));
    if (!tn_dtype_is_int(a->dtype) || a->dtype.bits < 32)
        return tn_rule_fail(g, n, "op-E011", "dtype must be int32 or int64, but is %s",
                            tn_rule_dtype_text(g, a->dtype));
    for (int i = 0; i < t->n; i++)
        dim[i] = i == axis ? count : t->dim[i];
    TN_TRY(tn_rule_result(g, n, 0, t->dtype, t->n, dim));
    return tn_rule_result(g, n, 1, a->dtype, t->n, dim);
}

typedef struct sorter {
    tn_code c;
    tn_te *te;
    const tn_tensor *in, *out, *value; /* out: positions; value: the elements there, or NULL */
    bool ascend;
    int axis;
    const tn_expr *width; /* sort_rows: elements of a row; NULL: single elements are sorted */
    const tn_expr *row[TN_RULE_MAX_RANK], *number; /* the indices of this row; its number */
    const tn_expr *extent;
    uint32_t lists; /* sort_rows: two lists of positions */
    tn_order o;
} sorter;

static const tn_expr *element(sorter *s, const tn_expr *position)
{
    const tn_expr *at[TN_RULE_MAX_RANK];
    for (int i = 0; i < s->in->ndim; i++)
        at[i] = i == s->axis ? position : s->row[i];
    return tn_at(s->te, s->in, s->in->ndim, at);
}

/* Does a stand before b, whatever their positions? */
static const tn_expr *beats(sorter *s, const tn_expr *a, const tn_expr *b)
{
    tn_pool *p = s->c.p;
    const tn_expr *more = s->ascend ? tn_lt(p, a, b) : tn_lt(p, b, a);
    if (!tn_dtype_is_float(a->dtype))
        return more;
    const tn_expr *x = tn_intrinsic1(p, TN_F_isnan, a), *y = tn_intrinsic1(p, TN_F_isnan, b);
    return tn_bin(p, TN_E_OR, more, s->ascend ? tn_and(p, y, tn_not(p, x)) : tn_and(p, x, tn_not(p, y)));
}

/* The same of two rows, by a loop before this place. */
static const tn_expr *row_beats(sorter *s, const tn_expr *a, const tn_expr *b)
{
    tn_pool *p = s->c.p;
    const tn_expr *zero = tn_idx(p, 0), *one = tn_idx(p, 1), *open = tn_int(p, TN_I32, 0);
    tn_body *here = s->c.at;
    /* 1: a, 2: b, 0: alike so far */
    uint32_t first = tn_code_buffer(&s->c, "first", TN_I32, 1, &one, TN_SCOPE_REGISTER);
    tn_code_store(&s->c, first, 1, &zero, open);
    s->row[1] = tn_code_for(&s->c, "k", s->width);
    tn_code_if(&s->c, tn_eq(p, tn_code_load(&s->c, first, 1, &zero), open));
    const tn_expr *x = tn_code_let(&s->c, "x", element(s, a)), *y = tn_code_let(&s->c, "y", element(s, b));
    const tn_expr *later = tn_select(p, beats(s, y, x), tn_int(p, TN_I32, 2), open);
    tn_code_store(&s->c, first, 1, &zero, tn_select(p, beats(s, x, y), tn_int(p, TN_I32, 1), later));
    s->c.at = here;
    return tn_eq(p, tn_code_load(&s->c, first, 1, &zero), tn_int(p, TN_I32, 1));
}

static const tn_expr *place(sorter *s, const tn_expr *list, const tn_expr *at)
{
    const tn_expr *index[3] = {list, s->number, at};
    return tn_cast(s->c.p, TN_IDX, tn_code_load(&s->c, s->lists, 3, index));
}

static void put(sorter *s, const tn_expr *list, const tn_expr *at, const tn_expr *position)
{
    const tn_expr *index[3] = {list, s->number, at};
    tn_code_store(&s->c, s->lists, 3, index, tn_cast(s->c.p, TN_I32, position));
}

static void put_out(sorter *s, const tn_expr *at, const tn_expr *position)
{
    const tn_expr *index[TN_RULE_MAX_RANK];
    for (int i = 0; i < s->out->ndim; i++)
        index[i] = i == s->axis ? at : s->row[i];
    tn_code_store(&s->c, s->out->buffer, s->out->ndim, index, tn_cast(s->c.p, s->out->dtype, position));
}

static void put_value(sorter *s, const tn_expr *at, const tn_expr *position)
{
    const tn_expr *index[TN_RULE_MAX_RANK];
    for (int i = 0; i < s->value->ndim; i++)
        index[i] = i == s->axis ? at : s->row[i];
    tn_code_store(&s->c, s->value->buffer, s->value->ndim, index, element(s, position));
}

static const tn_expr *key_of(sorter *s, const tn_expr *position)
{
    return tn_order_key(s->c.p, element(s, position), s->ascend);
}

static void put_both(sorter *s, const tn_expr *at, const tn_expr *position)
{
    put_out(s, at, position);
    if (s->value)
        put_value(s, at, position);
}

/* ---- short rows ---- */

static void sort_short(sorter *s)
{
    tn_pool *p = s->c.p;
    tn_body *row = s->c.at;
    tn_dtype t = tn_order_key(p, element(s, tn_idx(p, 0)), s->ascend)->dtype;
    uint32_t keys = tn_code_buffer(&s->c, "keys", t, 1, &s->extent, TN_SCOPE_LOCAL),
             rank = tn_code_buffer(&s->c, "rank", TN_I32, 1, &s->extent, TN_SCOPE_LOCAL);
    const tn_expr *i = tn_code_spread(&s->c, "i", s->extent);
    tn_code_store(&s->c, keys, 1, &i, key_of(s, i));
    tn_code_store(&s->c, rank, 1, &i, tn_int(p, TN_I32, 0));
    s->c.at = row;
    const tn_expr *j = tn_code_for(&s->c, "j", s->extent);
    const tn_expr *other = tn_code_let(&s->c, "other", tn_code_load(&s->c, keys, 1, &j));
    i = tn_code_spread(&s->c, "i", s->extent);
    const tn_expr *own = tn_code_load(&s->c, keys, 1, &i),
                  *first = tn_and(p, tn_eq(p, other, own), tn_lt(p, j, i));
    const tn_expr *before = tn_bin(p, TN_E_OR, tn_lt(p, other, own), first);
    tn_code_store(&s->c, rank, 1, &i,
                  tn_add(p, tn_code_load(&s->c, rank, 1, &i), tn_cast(p, TN_I32, before)));
    s->c.at = row;
    i = tn_code_for(&s->c, "i", s->extent);
    const tn_expr *at = tn_code_let(&s->c, "at", tn_cast(p, TN_IDX, tn_code_load(&s->c, rank, 1, &i)));
    tn_code_if(&s->c, tn_lt(p, at, s->out->dim[s->axis]));
    put_both(s, at, i);
    s->c.at = row;
}

/* ---- few of many ---- */

typedef struct chosen { /* list 0 of the order holds `have` entries */
    int64_t k, block;
    uint32_t have, full,
        worst; /* cells. full: k entries are sorted, and a new one must beat the key `worst` */
} chosen;

static const tn_expr *is_on(sorter *s, uint32_t cell)
{
    return tn_eq(s->c.p, tn_code_get(&s->c, cell), tn_int(s->c.p, TN_I32, 1));
}

/* Whether one of the block's `here` elements from `start` may be among the first k. */
static const tn_expr *block_hits(sorter *s, const chosen *w, const tn_expr *start, const tn_expr *here)
{
    tn_pool *p = s->c.p;
    tn_body *back = s->c.at;
    const tn_expr *size = tn_idx(p, w->block), *one = tn_int(p, TN_I32, 1);
    uint32_t hit = tn_code_cell(&s->c, "hit", one);
    tn_code_if(&s->c, tn_and(p, is_on(s, w->full), tn_eq(p, here, size)));
    tn_body *whole = s->c.at;
    uint32_t least = tn_code_cell(&s->c, "least", tn_int(p, s->c.f->buffer[w->worst].dtype, -1));
    const tn_expr *lane = tn_code_combine(&s->c, "j", size);
    tn_code_set(&s->c, least, tn_min(p, tn_code_get(&s->c, least), key_of(s, tn_add(p, start, lane))));
    s->c.at = whole;
    const tn_expr *better = tn_lt(p, tn_code_get(&s->c, least), tn_code_get(&s->c, w->worst));
    tn_code_set(&s->c, hit, tn_cast(p, TN_I32, better));
    s->c.at = back;
    return is_on(s, hit);
}

/* Cuts the sorted list of `have` entries to k. */
static void cut(sorter *s, const chosen *w, const tn_expr *list, const tn_expr *have)
{
    tn_pool *p = s->c.p;
    tn_body *back = s->c.at;
    const tn_expr *most = tn_idx(p, w->k), *left = tn_code_let(&s->c, "left", tn_min(p, have, most));
    tn_code_set(&s->c, w->have, tn_cast(p, TN_I32, left));
    tn_code_if(&s->c, tn_eq(p, left, most));
    tn_code_set(&s->c, w->full, tn_int(p, TN_I32, 1));
    tn_code_set(&s->c, w->worst, tn_order_at(&s->o, list, tn_idx(p, w->k - 1)));
    s->c.at = back;
}

/* Puts a key into the sorted list: where it goes is counted first (the entries that it does not beat), so moving the
 * others up and putting it in are loops without a condition carried along. */
static void insert(sorter *s, const chosen *w, const tn_expr *key, const tn_expr *i, const tn_expr *have)
{
    tn_pool *p = s->c.p;
    tn_body *back = s->c.at;
    const tn_expr *zero = tn_idx(p, 0), *one = tn_idx(p, 1);
    uint32_t rank = tn_code_cell(&s->c, "rank", tn_int(p, TN_I32, 0));
    const tn_expr *j = tn_code_for(&s->c, "j", have);
    const tn_expr *stays = tn_cast(p, TN_I32, tn_le(p, tn_order_at(&s->o, zero, j), key));
    tn_code_set(&s->c, rank, tn_add(p, tn_code_get(&s->c, rank), stays));
    s->c.at = back;
    const tn_expr *at = tn_code_let(&s->c, "at", tn_cast(p, TN_IDX, tn_code_get(&s->c, rank)));
    const tn_expr *top = tn_min(p, have, tn_idx(p, w->k - 1)),
                  *m = tn_code_for(&s->c, "m", tn_sub(p, top, at));
    const tn_expr *to = tn_sub(p, top, m), *from = tn_sub(p, to, one);
    tn_order_put(&s->o, zero, to, tn_order_at(&s->o, zero, from), tn_order_place(&s->o, zero, from));
    s->c.at = back;
    tn_order_put(&s->o, zero, at, key, i);
    cut(s, w, zero, tn_add(p, have, one));
}

/* Sorts the buffer if it may not hold another block, or if no other follows. */
static void make_room(sorter *s, const chosen *w, const tn_expr *end)
{
    tn_pool *p = s->c.p;
    tn_body *back = s->c.at;
    const tn_expr *zero = tn_idx(p, 0),
                  *have = tn_code_let(&s->c, "have", tn_cast(p, TN_IDX, tn_code_get(&s->c, w->have)));
    tn_code_if(&s->c, tn_bin(p, TN_E_OR, tn_lt(p, tn_idx(p, 2 * w->k), have), tn_eq(p, end, s->extent)));
    tn_body *inside = s->c.at;
    const tn_expr *list = tn_order_sort(&s->o, have);
    cut(s, w, list, have);
    tn_code_if(&s->c, tn_lt(p, zero, list));
    const tn_expr *j = tn_code_for(&s->c, "j", tn_cast(p, TN_IDX, tn_code_get(&s->c, w->have)));
    tn_order_put(&s->o, zero, j, tn_order_at(&s->o, list, j), tn_order_place(&s->o, list, j));
    s->c.at = inside;
    s->c.at = back;
}

static void select_few(sorter *s, int64_t k)
{
    tn_pool *p = s->c.p;
    tn_body *row = s->c.at;
    tn_dtype t = s->c.f->buffer[s->o.keys].dtype;
    int64_t n;
    chosen w = {.k = k, .block = tn_is_int(s->extent, &n) && n < LONG_ROW ? BLOCK : LONG_BLOCK};
    const tn_expr *size = tn_idx(p, w.block), *none = tn_int(p, TN_I32, 0);
    w.have = tn_code_cell(&s->c, "have", none);
    w.full = tn_code_cell(&s->c, "full", none);
    w.worst = tn_code_cell(&s->c, "worst", tn_int(p, t, 0));
    const tn_expr *block = tn_code_for(&s->c, "block", tn_ceildiv(p, s->extent, w.block));
    const tn_expr *start = tn_code_let(&s->c, "start", tn_mul(p, block, size));
    const tn_expr *here = tn_code_let(&s->c, "here", tn_min(p, tn_sub(p, s->extent, start), size));
    tn_body *turn = s->c.at;
    tn_code_if(&s->c, block_hits(s, &w, start, here));
    const tn_expr *i = tn_add(p, start, tn_code_for(&s->c, "i", here)),
                  *key = tn_code_let(&s->c, "key", key_of(s, i));
    const tn_expr *better = tn_lt(p, key, tn_code_get(&s->c, w.worst));
    tn_code_if(&s->c, tn_bin(p, TN_E_OR, tn_not(p, is_on(s, w.full)), better));
    const tn_expr *have = tn_code_let(&s->c, "at", tn_cast(p, TN_IDX, tn_code_get(&s->c, w.have)));
    if (k <= FEW) {
        insert(s, &w, key, i, have);
    } else {
        tn_order_put(&s->o, tn_idx(p, 0), have, key, i);
        tn_code_set(&s->c, w.have, tn_cast(p, TN_I32, tn_add(p, have, tn_idx(p, 1))));
        s->c.at = turn;
        make_room(s, &w, tn_add(p, start, here));
    }
    s->c.at = row;
    const tn_expr *o = tn_code_for(&s->c, "o", tn_idx(p, k));
    put_both(s, o, tn_order_place(&s->o, tn_idx(p, 0), o));
}

/* ---- all ---- */

static void sort_all(sorter *s)
{
    tn_pool *p = s->c.p;
    tn_body *row = s->c.at;
    const tn_expr *i = tn_code_spread(&s->c, "i", s->extent);
    tn_order_put(&s->o, tn_idx(p, 0), i, key_of(s, i), i);
    s->c.at = row;
    const tn_expr *list = tn_order_sort(&s->o, s->extent), *o = tn_code_for(&s->c, "o", s->out->dim[s->axis]);
    put_both(s, o, tn_code_let(&s->c, "position", tn_order_place(&s->o, list, o)));
}

/* ---- rows of several elements ---- */

/* One step of a merge: of what stands at the cursors the better element goes to `to`. A run that is used up reads an
 * element that is not its own, but the conditions look at the cursors first. */
static void merge_step(sorter *s, uint32_t cursor, const tn_expr *from, const tn_expr *middle,
                       const tn_expr *end, const tn_expr *to)
{
    tn_pool *p = s->c.p;
    const tn_expr *at[2] = {tn_idx(p, 0), tn_idx(p, 1)}, *one = at[1], *last = tn_sub(p, s->extent, one),
                  *side[2];
    for (int k = 0; k < 2; k++)
        side[k] = tn_code_let(&s->c, k ? "right" : "left",
                              tn_cast(p, TN_IDX, tn_code_load(&s->c, cursor, 1, &at[k])));
    const tn_expr *a = tn_code_let(&s->c, "a", place(s, from, tn_min(p, side[0], last))),
                  *b = tn_code_let(&s->c, "b", place(s, from, tn_min(p, side[1], last)));
    const tn_expr *better = row_beats(s, b, a);
    const tn_expr *wins = tn_and(p, tn_lt(p, side[1], end), better);
    const tn_expr *right = tn_code_let(&s->c, "take", tn_bin(p, TN_E_OR, tn_le(p, middle, side[0]), wins));
    put(s, tn_sub(p, one, from), to, tn_select(p, right, b, a));
    for (int k = 0; k < 2; k++) {
        const tn_expr *next = tn_add(p, side[k], one);
        tn_code_store(
            &s->c, cursor, 1, &at[k],
            tn_cast(p, TN_I32, k ? tn_select(p, right, next, side[k]) : tn_select(p, right, side[k], next)));
    }
}

/* Merges runs of 1, 2, 4, ... positions from list 0 to list 1 and back, until one run covers the row; which list that
 * is stands in a register. */
static void merge_all(sorter *s)
{
    tn_pool *p = s->c.p;
    const tn_expr *n = s->extent, *at[2] = {tn_idx(p, 0), tn_idx(p, 1)}, *one = at[1], *two = tn_idx(p, 2);
    tn_body *row = s->c.at;
    int64_t known;
    int levels = 0;
    while (tn_is_int(n, &known) ? (INT64_C(1) << levels) < known : levels < MAX_LEVELS)
        levels++;
    uint32_t cursor = tn_code_buffer(&s->c, "cursor", TN_I32, 1, &two, TN_SCOPE_REGISTER),
             result = tn_code_buffer(&s->c, "result", TN_I32, 1, &one, TN_SCOPE_REGISTER);
    tn_code_store(&s->c, result, 1, &at[0], tn_int(p, TN_I32, 0));
    const tn_expr *i = tn_code_for(&s->c, "i", n);
    put(s, at[0], i, i);
    s->c.at = row;
    const tn_expr *level = tn_code_for(&s->c, "level", tn_idx(p, levels)), *from = tn_fmod(p, level, two);
    const tn_expr *power = tn_bin(p, TN_E_SHL, tn_int(p, TN_I64, 1), tn_cast(p, TN_I64, level));
    const tn_expr *width = tn_code_let(&s->c, "width", tn_cast(p, TN_IDX, power)),
                  *pair = tn_mul(p, width, two);
    tn_code_if(&s->c, tn_lt(p, width, n));
    tn_code_store(&s->c, result, 1, &at[0], tn_cast(p, TN_I32, tn_sub(p, one, from)));
    const tn_expr *runs = tn_fdiv(p, tn_sub(p, tn_add(p, n, pair), one), pair),
                  *run = tn_code_for(&s->c, "run", runs);
    const tn_expr *first = tn_code_let(&s->c, "first", tn_mul(p, run, pair));
    const tn_expr *middle = tn_code_let(&s->c, "middle", tn_min(p, tn_add(p, first, width), n));
    const tn_expr *end = tn_code_let(&s->c, "end", tn_min(p, tn_add(p, first, pair), n));
    tn_code_store(&s->c, cursor, 1, &at[0], tn_cast(p, TN_I32, first));
    tn_code_store(&s->c, cursor, 1, &at[1], tn_cast(p, TN_I32, middle));
    const tn_expr *step = tn_code_for(&s->c, "step", tn_sub(p, end, first));
    merge_step(s, cursor, from, middle, end, tn_add(p, first, step));
    s->c.at = row;
    const tn_expr *list =
        tn_code_let(&s->c, "list", tn_cast(p, TN_IDX, tn_code_load(&s->c, result, 1, &at[0])));
    const tn_expr *o = tn_code_for(&s->c, "o", s->out->dim[s->axis]);
    const tn_expr *position = tn_code_let(&s->c, "position", place(s, list, o));
    put_out(s, o, position);
}

/* ---- topk ---- */

/* Where symbols decide it, the run checks that there are k elements. */
static void require_enough(tn_te *te, const tn_expr *k, const tn_expr *extent, int axis)
{
    const tn_expr *fits = tn_le(te->pool, k, extent);
    if (tn_prove(te->pool, NULL, fits) == 1)
        return;
    tn_buf text = {0};
    tn_buf_str(&text, "k is ");
    tn_expr_print(k, NULL, &text);
    tn_buf_printf(&text, ", but dimension %d has only ", axis);
    tn_expr_print(extent, NULL, &text);
    tn_te_require(te, fits, tn_intern(te->func->ctx, tn_buf_cstr(&text)));
    tn_buf_deinit(&text);
}

static void topk_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_topk_attr *a = n->attr;
    const tn_expr *outer[TN_RULE_MAX_RANK], *var[TN_RULE_MAX_RANK], *rows = tn_idx(te->pool, 1);
    tn_tensor *t;
    sorter s = {.c = tn_code_open(te, n, 0, "topk", &out[0]), .te = te, .in = in[0], .ascend = a->is_ascend};
    tn_pool *p = te->pool;
    int k = 0;
    int64_t extent = INT64_MAX, most = 0;
    s.value = out[0];
    s.out = out[1] = t = tn_code_output(te, n, 1, "positions", out[0]);
    s.axis = (int)(a->axis < 0 ? a->axis + t->ndim : a->axis);
    s.extent = in[0]->dim[s.axis];
    bool known = tn_is_int(s.extent, &extent), is_short = known && extent <= SHORT;
    bool few = !is_short && tn_is_int(t->dim[s.axis], &most) && most <= extent / 4;
    require_enough(te, t->dim[s.axis], s.extent, s.axis);
    for (int i = 0; i < t->ndim; i++)
        if (i != s.axis) {
            outer[k++] = t->dim[i];
            rows = tn_mul(p, rows, t->dim[i]);
        }
    int64_t room = most <= FEW ? most : 2 * most + LONG_BLOCK;
    if (!is_short)
        s.o = tn_order_open(&s.c, in[0]->dtype, tn_simplify(p, NULL, rows), few ? tn_idx(p, room) : s.extent);
    tn_code_each(&s.c, k, outer, var);
    s.number = tn_idx(p, 0);
    for (int i = 0; i < k; i++)
        s.number = tn_add(p, tn_mul(p, s.number, outer[i]), var[i]);
    for (int i = 0; i < t->ndim; i++)
        s.row[i] = i == s.axis ? NULL : var[i > s.axis ? i - 1 : i];
    if (!is_short)
        tn_order_begin(&s.o, &s.c, s.number, in[0]->dtype);
    if (is_short)
        sort_short(&s);
    else if (few)
        select_few(&s, most);
    else
        sort_all(&s);
}

/* clang-format off */
static const char *const data_in[] = {"data"};
static const tn_attr_field topk_fields[] = TN_ATTR_TABLE(tn_topk_attr, TN_TOPK_ATTRS);

const tn_op tn_op_topk = {
    .name = "topk", .doc = "The k largest elements along an axis, largest first, equal ones in order; where they are.",
    .attr_size = sizeof(tn_topk_attr), .attr = topk_fields,
    .nin = 1, .min_in = 1, .nout = 2, .fuse = TN_FUSE_OPAQUE, .in_name = data_in,
    .infer = topk_infer, .body = topk_body,
};
/* clang-format on */

/* ---- sort_rows ---- */

static tn_status rows_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, 2, &t));
    TN_TRY(tn_rule_number(g, n, 0));
    return tn_rule_result(g, n, 0, TN_I64, 1, t->dim);
}

static void rows_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_tensor *t;
    sorter s = {.c = tn_code_open(te, n, 0, "sort_rows", &t), .te = te, .in = in[0], .ascend = true};
    tn_pool *p = te->pool;
    const tn_expr *one = tn_idx(p, 1), *size[3] = {tn_idx(p, 2), one, in[0]->dim[0]};
    s.out = out[0] = t;
    s.extent = in[0]->dim[0];
    s.row[1] = s.number = tn_idx(p, 0);
    s.width = in[0]->dim[1];
    if (!tn_is_value(s.width, 1)) {
        s.lists = tn_code_buffer(&s.c, "lists", TN_I32, 3, size, TN_SCOPE_GLOBAL);
        tn_code_each(&s.c, 0, NULL, NULL);
        merge_all(&s);
        return;
    }
    s.o = tn_order_open(&s.c, in[0]->dtype, one, s.extent);
    tn_code_each(&s.c, 0, NULL, NULL);
    tn_order_begin(&s.o, &s.c, s.number, in[0]->dtype);
    sort_all(&s);
}

/* clang-format off */
const tn_op tn_op_sort_rows = {
    .name = "sort_rows", .doc = "Positions of a matrix's rows in ascending order, equal ones in order; NaN comes last.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = data_in,
    .infer = rows_infer, .body = rows_body,
};
/* clang-format on */
