/* Operators whose operands say where elements go: segments, sparse tensors, tables, values that differ. */
#include "frontend/tflite/tflite.h"

#include "op/random/random.h"

#include <string.h>

static tn_value filled(imp_node *c, tn_value v, tn_dims shape)
{
    tn_broadcast_to_attr a = {shape};
    return shape.n ? imp_call1(c, &tn_op_broadcast_to, &a, v) : v;
}

/* ---- segments: rows that are joined, by the number of their segment ---- */

/* What no row changes: of sums 0, of products 1, the lowest or highest number of the type for extremes. */
static tn_value neutral(imp_node *c, const char *reduction, tn_dtype t)
{
    bool most = strcmp(reduction, "max") == 0, real = tn_dtype_is_float(t);
    if (strcmp(reduction, "add") == 0 || strcmp(reduction, "mul") == 0)
        return imp_const(c, t, reduction[0] == 'm');
    int64_t high = t.bits == 64 ? INT64_MAX : (INT64_C(1) << (t.bits - 1)) - 1, low = -high - 1;
    return real ? imp_const(c, t, most ? -3.4028234663852886e38 : 3.4028234663852886e38)
                : imp_const_ints(c, t, 0, 1, most ? &low : &high);
}

/* Rows of x added to row at[i] of n rows; a number below 0 is no segment. */
static tn_value joined(imp_node *c, tn_value x, tn_value at, const tn_expr *n, const char *reduction)
{
    const tn_type *t = imp_type(x);
    int more = imp_rank(at);
    const tn_expr *dim[IMP_MAX_RANK + 1] = {imp_simplify(c, tn_add(c->pool, n, tn_idx(c->pool, 1)))};
    for (int i = more; i < t->n; i++)
        dim[1 + i - more] = t->dim[i];
    uint32_t rank = (uint32_t)(1 + t->n - more);
    tn_scatter_attr a = {.reduction = reduction};
    tn_value rest = filled(c, neutral(c, reduction, t->dtype), tn_dims_make(c->arena, rank, dim));
    at = imp_cast(c, at, TN_I64);
    tn_value none = imp_binary(c, &tn_op_less, at, imp_i64(c, 0)), last = imp_extent_of(c, rest, 0);
    last = imp_binary(c, &tn_op_subtract, last, imp_i64(c, 1)); /* one more row for those */
    at = imp_unsqueeze(c, imp_choose(c, none, last, at), more);
    tn_value y = imp_call(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){rest, at, x});
    tn_slice_attr cut = {tn_make_dims(c->g, 1, (const int64_t[]){0}), tn_dims_make(c->arena, 1, &n),
                         tn_ints_make(c->arena, 1, (const int64_t[]){1}),
                         tn_ints_make(c->arena, 1, (const int64_t[]){0})};
    return imp_call1(c, &tn_op_strided_slice, &cut, y);
}

/* most: dimensions that the numbers of segments may have */
static bool fits_segments(imp_node *c, tn_value x, tn_value at, int most)
{
    int rank = imp_rank(at);
    if (!c->bad && (rank > imp_rank(x) || rank < 1 || rank > most || imp_rank(x) >= IMP_MAX_RANK))
        imp_refuse(c, IMP_OPERANDS, "segments %s do not fit data %s", imp_type_text(c, imp_type(at)),
                   imp_type_text(c, imp_type(x)));
    return !c->bad;
}

/* The segments ascend; the last one says how many there are. */
static void segment_sum(imp_node *c)
{
    tn_value x = imp_in(c, 0), at = imp_in(c, 1);
    if (!fits_segments(c, x, at, 1))
        return;
    tn_value most = imp_cast(c, imp_reduce(c, &tn_op_max, at, 0), TN_I64);
    tn_dims n = imp_bind(c, imp_binary(c, &tn_op_add, most, imp_i64(c, 1)), NULL);
    if (!c->bad)
        imp_out(c, 0, joined(c, x, at, n.at[0], "add"));
}

static void unsorted_segment(imp_node *c)
{
    static const char *const names[] = {"SUM", "add", "PROD", "mul", "MAX", "max", "MIN", "min"};
    tn_value x = imp_in(c, 0), at = imp_in(c, 1);
    const tn_expr *n = imp_extent_in(c, imp_in(c, 2), "num_segments");
    for (int i = 0; i < 8 && fits_segments(c, x, at, IMP_MAX_RANK); i += 2)
        if (strcmp(strrchr(c->row->op, '_') + 1, names[i]) == 0)
            imp_out(c, 0, joined(c, x, at, n, names[i + 1]));
}

/* ---- sparse tensors ---- */

/* Positions (a row each, or a list for one dimension), the shape, values (one, or one each), what is elsewhere. */
static void sparse_to_dense(imp_node *c)
{
    tn_value at = imp_in(c, 0), values = imp_in(c, 2), rest = imp_in(c, 3);
    tn_dims shape = imp_extents_in(c, imp_in(c, 1), "the shape");
    tn_scatter_attr a = {.reduction = "update"};
    imp_attr_ignore(c, "validate_indices");
    if (imp_rank(at) == 0)
        at = imp_unsqueeze(c, at, 0);
    if (imp_rank(at) == 1) {
        bool one = shape.n == 1;
        at = imp_unsqueeze(c, at, one ? 1 : 0);
    }
    if (c->bad)
        return;
    tn_dims rows = tn_dims_make(c->arena, 1, imp_type(at)->dim);
    values = imp_rank(values) == 0 ? filled(c, values, rows) : values;
    rest = filled(c, imp_rank(rest) ? imp_reshape(c, rest, 0, NULL) : rest, shape);
    imp_out(c, 0, imp_call(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){rest, at, values}));
}

/* Rows of a table, weighted, summed by their positions: ids, positions [n, r], the shape of these, weights, table. */
static void embedding_sparse(imp_node *c)
{
    enum { SUM, MEAN, SQRTN };
    int64_t combiner = imp_attr_int(c, "combiner", SUM);
    tn_value ids = imp_in(c, 0), at = imp_in(c, 1), weight = imp_in(c, 3), table = imp_in(c, 4);
    tn_dims shape = imp_extents_in(c, imp_in(c, 2), "the shape");
    tn_value row = imp_take(c, table, ids, 0);
    int r = imp_rank(row);
    if (c->bad || imp_rank(at) != 2 || imp_rank(ids) != 1 || imp_rank(weight) != 1 || shape.n < 1 ||
        (int)shape.n - 1 + r - 1 > IMP_MAX_RANK) {
        imp_refuse(c, IMP_OPERANDS, "its operands do not belong together; the model is damaged");
        return;
    }
    const tn_expr *dim[2 * IMP_MAX_RANK];
    uint32_t outer = shape.n - 1, n = 0;
    while (n < outer)
        dim[n] = shape.at[n], n++;
    for (int i = 1; i < r; i++)
        dim[n++] = imp_type(row)->dim[i];
    at = imp_slice(c, at, 1, 0, outer);
    tn_expand_dims_attr behind = {1, r - 1};
    tn_value zero = imp_const(c, TN_F32, 0), w = imp_call1(c, &tn_op_expand_dims, &behind, weight);
    tn_scatter_attr add = {.reduction = "add"};
    tn_value in[3] = {filled(c, zero, tn_dims_make(c->arena, n, dim)), at,
                      imp_binary(c, &tn_op_multiply, row, w)};
    tn_value sum = imp_call(c, &tn_op_scatter_nd, &add, 3, in);
    if (combiner != SUM) {
        tn_value part = combiner == MEAN ? weight : imp_binary(c, &tn_op_multiply, weight, weight);
        tn_value all[3] = {filled(c, zero, tn_dims_make(c->arena, outer, shape.at)), at, part};
        tn_value total = imp_call(c, &tn_op_scatter_nd, &add, 3, all);
        tn_value none = imp_binary(c, &tn_op_equal, total, zero), one = imp_const(c, TN_F32, 1);
        total = imp_choose(c, none, one, combiner == SQRTN ? imp_unary(c, &tn_op_sqrt, total) : total);
        tn_expand_dims_attr wide = {outer, r - 1};
        sum = imp_binary(c, &tn_op_divide, sum, imp_call1(c, &tn_op_expand_dims, &wide, total));
    }
    imp_out(c, 0, sum);
}

/* ---- tables in the model: what to look up, keys, their rows -> rows (0: no such key), was it there ---- */

static void table_lookup(imp_node *c)
{
    tn_value want = imp_in(c, 0), key = imp_in(c, 1), row = imp_in(c, 2);
    int r = imp_rank(row);
    if (c->bad || imp_rank(want) != 1 || imp_rank(key) != 1 || r < 1) {
        imp_refuse(c, IMP_OPERANDS, "its operands do not belong together; the model is damaged");
        return;
    }
    tn_value one = imp_unsqueeze(c, want, 1), all = imp_unsqueeze(c, key, 0);
    tn_value same = imp_binary(c, &tn_op_equal, one, all);
    same = imp_cast(c, same, TN_U8);
    tn_arg_attr first = {.axis = 1, .dtype = TN_I64};
    tn_value at = imp_call1(c, &tn_op_argmax, &first, same), found = imp_reduce(c, &tn_op_max, same, 1);
    tn_expand_dims_attr behind = {1, r - 1};
    tn_value is = imp_cast(c, found, TN_BOOL1);
    is = behind.num_newaxis ? imp_call1(c, &tn_op_expand_dims, &behind, is) : is;
    tn_value none = imp_const(c, imp_type(row)->dtype, 0);
    imp_out(c, 0, imp_choose(c, is, imp_take(c, row, at, 0), none));
    imp_out_any(c, 1, found);
}

/* ---- values ---- */

static void unique(imp_node *c)
{
    const tfl_tensor *y = tfl_out(c, 1);
    tn_value x = imp_in(c, 0);
    imp_attr_ignore(c, "idx_out_type");
    imp_unique u = imp_unique_of(c, x, 0, 0);
    imp_out_any(c, 0, u.x);
    if (y && imp_wants(c, 1))
        imp_out(c, 1, imp_cast(c, u.inverse, y->dtype));
}

/* How many boundaries are at most the element. */
static void bucketize(imp_node *c)
{
    const imp_attr *a = imp_attr_find(c, "boundaries", IMP_A_FLOATS);
    tn_value x = imp_in(c, 0);
    int64_t n = a ? (int64_t)a->floats.n : 0;
    if (c->bad)
        return;
    tn_value limit = tn_val(
        tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &n, n ? a->floats.at : (const float[]){0}, NULL));
    bool wide = !tn_dtype_is_float(imp_type(x)->dtype) || imp_type(x)->dtype.bits == 64;
    tn_dtype t = wide ? TN_F64 : TN_F32; /* in which both are exact */
    tn_value v = imp_cast(c, imp_unsqueeze(c, x, imp_rank(x)), t), bound = imp_cast(c, limit, t);
    tn_value above = imp_binary(c, &tn_op_greater_equal, v, bound);
    imp_out(c, 0, imp_reduce(c, &tn_op_sum, imp_cast(c, above, TN_I32), imp_rank(x)));
}

/* ---- random numbers ---- */

static tn_value drawn(imp_node *c, tn_dims shape, bool normal)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *s = c->loc->node; *s; s++)
        hash = (hash ^ (uint8_t)*s) * 16777619u;
    tn_random_attr a = {.shape = tn_dims_make(c->arena, shape.n, shape.at),
                        .distribution = normal ? "normal" : "uniform",
                        .high = 1,
                        .seed = (int32_t)hash,
                        .dtype = TN_F32};
    imp_attr_ignore(c, "seed");
    imp_attr_ignore(c, "seed2");
    (void)tn_report(c->g->ctx, TN_WARNING, "tflite-W001", c->loc,
                    "the compiled model draws the same random numbers in every run, and not TFLite's");
    return imp_call(c, &tn_op_random, &a, 0, NULL);
}

static void random(imp_node *c)
{
    tn_dims shape = imp_extents_in(c, imp_in(c, 0), "the shape");
    if (!c->bad)
        imp_out(c, 0, drawn(c, shape, strstr(c->row->op, "NORMAL") != NULL));
}

/* Draws of classes by their logits [rows, classes]: of logits plus Gumbel's noise, the largest. */
static void multinomial(imp_node *c)
{
    const tfl_tensor *y = tfl_out(c, 0);
    tn_value x = imp_in(c, 0);
    int64_t n = imp_int_in(c, imp_in(c, 1), "num_samples");
    if (c->bad || imp_rank(x) != 2 || n < 1) {
        imp_refuse(c, IMP_OPERANDS, "logits %s and %lld samples do not fit", imp_type_text(c, imp_type(x)),
                   (long long)n);
        return;
    }
    const tn_expr *dim[] = {imp_type(x)->dim[0], tn_idx(c->pool, n), imp_type(x)->dim[1]};
    tn_value u = drawn(c, (tn_dims){3, dim}, false);
    u = imp_with(c, &tn_op_maximum, u, 1e-30);
    tn_value noise = imp_unary(c, &tn_op_negative, imp_unary(c, &tn_op_log, u));
    noise = imp_unary(c, &tn_op_log, imp_with(c, &tn_op_maximum, noise, 1e-30));
    tn_value score = imp_binary(c, &tn_op_subtract, imp_unsqueeze(c, x, 1), noise);
    tn_arg_attr best = {.axis = 2, .dtype = y && y->known ? y->dtype : TN_I64};
    imp_out(c, 0, imp_call1(c, &tn_op_argmax, &best, score));
}

// clang-format off
const imp_row tfl_rows_index[] = {
    {"SEGMENT_SUM",             1, 0, 2, 1, segment_sum,      NULL},
    {"UNSORTED_SEGMENT_SUM",    1, 0, 3, 1, unsorted_segment, NULL},
    {"UNSORTED_SEGMENT_PROD",   1, 0, 3, 1, unsorted_segment, NULL},
    {"UNSORTED_SEGMENT_MAX",    1, 0, 3, 1, unsorted_segment, NULL},
    {"UNSORTED_SEGMENT_MIN",    1, 0, 3, 1, unsorted_segment, NULL},
    {"SPARSE_TO_DENSE",         1, 0, 4, 1, sparse_to_dense,  NULL},
    {"EMBEDDING_LOOKUP_SPARSE", 1, 0, 5, 1, embedding_sparse, NULL},
    {"HASHTABLE_LOOKUP",        1, 0, 3, 2, table_lookup,     NULL},
    {"UNIQUE",                  1, 0, 1, 2, unique,           NULL},
    {"BUCKETIZE",               1, 0, 1, 1, bucketize,        NULL},
    {"RANDOM_UNIFORM",          1, 0, 1, 1, random,           NULL},
    {"RANDOM_STANDARD_NORMAL",  1, 0, 1, 1, random,           NULL},
    {"MULTINOMIAL",             1, 0, 2, 1, multinomial,      NULL},
    {0},
};
// clang-format on
