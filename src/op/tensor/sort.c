/* topk: the k largest (or smallest) elements along an axis and where they are, in order; equal ones in order of their
 * positions.
 * sort_rows: the order of a matrix's rows, compared by their first elements that differ.
 *
 * Each row is a task. Few of many are kept in a sorted list that an element enters only if it beats the last of them:
 * O(n + m*k), m being how many do. Otherwise the positions are sorted by merging runs of 1, 2, 4, ... from one list to
 * another and back (stable): O(n log n), for rows of m elements O(n m log n). NaN counts as beyond +inf.
 */
#include "op/code.h"

#include "op/tensor/tensor.h"

enum { FEW = 32, MAX_LEVELS = 31 };

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
    uint32_t lists; /* two lists of positions a row */
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

/* A position of the result; 0 where `there` (NULL: always) does not hold. */
static const tn_expr *out_at(sorter *s, const tn_expr *at, const tn_expr *there)
{
    const tn_expr *index[TN_RULE_MAX_RANK], *none = there ? tn_int(s->c.p, s->out->dtype, 0) : NULL;
    for (int i = 0; i < s->out->ndim; i++)
        index[i] = i == s->axis ? at : s->row[i];
    return tn_cast(s->c.p, TN_IDX,
                   tn_load(s->c.p, s->out->dtype, s->out->buffer, s->out->ndim, index, there, none));
}

/* The sorted list grows in the result itself. Where an element goes is counted first (those that it does not beat), so
 * moving the others up and putting it in are loops without a condition carried along. */
static void select_few(sorter *s, int64_t k)
{
    tn_pool *p = s->c.p;
    tn_body *row = s->c.at;
    const tn_expr *one = tn_idx(p, 1), *last = tn_idx(p, k - 1);
    uint32_t rank = tn_code_buffer(&s->c, "rank", TN_I32, 1, &one, TN_SCOPE_REGISTER);
    const tn_expr *zero = tn_idx(p, 0), *i = tn_code_for(&s->c, "i", s->extent), *most = tn_idx(p, k);
    const tn_expr *x = tn_code_let(&s->c, "x", element(s, i)),
                  *have = tn_code_let(&s->c, "have", tn_min(p, i, most));
    const tn_expr *worst = out_at(s, tn_sub(p, have, one), tn_lt(p, zero, have));
    tn_code_if(&s->c, tn_bin(p, TN_E_OR, tn_lt(p, have, most), beats(s, x, element(s, worst))));
    tn_body *inside = s->c.at;
    tn_code_store(&s->c, rank, 1, &zero, tn_int(p, TN_I32, 0));
    const tn_expr *j = tn_code_for(&s->c, "j", have);
    const tn_expr *stays = tn_not(p, beats(s, x, element(s, out_at(s, j, NULL))));
    const tn_expr *count = tn_code_load(&s->c, rank, 1, &zero);
    tn_code_store(&s->c, rank, 1, &zero, tn_add(p, count, tn_cast(p, TN_I32, stays)));
    s->c.at = inside;
    const tn_expr *at = tn_code_let(&s->c, "at", tn_cast(p, TN_IDX, count));
    const tn_expr *top = tn_min(p, have, last), *m = tn_code_for(&s->c, "m", tn_sub(p, top, at));
    const tn_expr *to = tn_sub(p, top, m);
    put_out(s, to, out_at(s, tn_sub(p, to, one), NULL));
    s->c.at = inside;
    put_out(s, at, i);
    s->c.at = row;
    const tn_expr *o = tn_code_for(&s->c, "o", most);
    put_value(s, o, out_at(s, o, NULL));
}

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
    const tn_expr *better = s->width ? row_beats(s, b, a) : beats(s, element(s, b), element(s, a));
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
static void sort_all(sorter *s)
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
    if (s->value)
        put_value(s, o, position);
}

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
    int64_t extent, most = 0;
    s.value = out[0];
    s.out = out[1] = t = tn_code_output(te, n, 1, "positions", out[0]);
    s.axis = (int)(a->axis < 0 ? a->axis + t->ndim : a->axis);
    s.extent = in[0]->dim[s.axis];
    bool few = tn_is_int(t->dim[s.axis], &most) && most <= FEW;
    require_enough(te, t->dim[s.axis], s.extent, s.axis);
    for (int i = 0; i < t->ndim; i++)
        if (i != s.axis) {
            outer[k++] = t->dim[i];
            rows = tn_mul(p, rows, t->dim[i]);
        }
    const tn_expr *size[3] = {tn_idx(p, 2), tn_simplify(p, NULL, rows), s.extent};
    if (!few)
        s.lists = tn_code_buffer(&s.c, "lists", TN_I32, 3, size, TN_SCOPE_GLOBAL);
    tn_code_tasks(&s.c, k, outer, var, tn_is_int(s.extent, &extent) ? extent * (few ? 2 : 32) : 0);
    s.number = tn_idx(p, 0);
    for (int i = 0; i < k; i++)
        s.number = tn_add(p, tn_mul(p, s.number, outer[i]), var[i]);
    for (int i = 0; i < t->ndim; i++)
        s.row[i] = i == s.axis ? NULL : var[i > s.axis ? i - 1 : i];
    if (few)
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
    const tn_expr *size[3] = {tn_idx(p, 2), tn_idx(p, 1), in[0]->dim[0]};
    s.out = out[0] = t;
    s.extent = in[0]->dim[0];
    s.row[1] = s.number = tn_idx(p, 0);
    s.width = tn_is_value(in[0]->dim[1], 1) ? NULL : in[0]->dim[1];
    s.lists = tn_code_buffer(&s.c, "lists", TN_I32, 3, size, TN_SCOPE_GLOBAL);
    tn_code_tasks(&s.c, 0, NULL, NULL, 0);
    sort_all(&s);
}

/* clang-format off */
const tn_op tn_op_sort_rows = {
    .name = "sort_rows", .doc = "Positions of a matrix's rows in ascending order, equal ones in order; NaN comes last.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = data_in,
    .infer = rows_infer, .body = rows_body,
};
/* clang-format on */
