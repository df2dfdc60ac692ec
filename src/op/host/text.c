/* Tensors of texts: constants, comparisons, conversions, and moving of elements by their numbers. */
#include "op/rule.h"

#include "op/core/core.h"
#include "op/host/host.h"

#include "ir/eval.h"

#include <string.h>

/* ---- types ---- */

static tn_status need_texts(tn_graph *g, const tn_node *n, int i, int rank, const tn_type **out)
{
    TN_TRY(tn_rule_tensor(g, n, i, rank, out));
    return tn_dtype_is_string((*out)->dtype)
               ? TN_OK
               : tn_rule_fail(g, n, "op-E085", "%s must be a tensor of texts, but is %s",
                              tn_rule_in_name(g, n, i), tn_rule_type_text(g, *out));
}

static tn_status need_numbers(tn_graph *g, const tn_node *n, int i, tn_dtype dtype, int rank,
                              const tn_type **out)
{
    TN_TRY(tn_rule_tensor(g, n, i, rank, out));
    return tn_dtype_eq((*out)->dtype, dtype)
               ? TN_OK
               : tn_rule_fail(g, n, "op-E011", "%s must be %s, but is %s", tn_rule_in_name(g, n, i),
                              tn_rule_dtype_text(g, dtype), tn_rule_type_text(g, *out));
}

/* Extents that are numbers stay; the others are found in the run. */
static void result(tn_graph *g, tn_node *n, int o, tn_dtype t, int rank, const tn_expr *const dim[])
{
    const tn_expr *d[TN_RULE_MAX_RANK + 1];
    for (int i = 0; i < rank; i++)
        d[i] = dim[i]->kind == TN_E_INT ? dim[i] : tn_any_dim(g->pool);
    n->type[o] = tn_type_tensor(g->pool, t, rank, d, NULL);
}

/* ---- string.make ---- */

/* The extents of a constant shape, or as many unknown ones. */
static tn_status make_infer(tn_graph *g, tn_node *n)
{
    const tn_type *shape, *offsets, *bytes;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    int64_t rank;
    TN_TRY(need_numbers(g, n, 0, TN_I64, 1, &shape));
    TN_TRY(need_numbers(g, n, 1, TN_I64, 1, &offsets));
    TN_TRY(need_numbers(g, n, 2, TN_U8, 1, &bytes));
    if (!tn_is_int(shape->dim[0], &rank) || rank > TN_RULE_MAX_RANK)
        return tn_rule_fail(g, n, "op-E003",
                            "shape must have a known number of extents, at most %d, but is %s",
                            TN_RULE_MAX_RANK, tn_rule_type_text(g, shape));
    const tn_node *c = n->in[0].def;
    const tn_blob *data = c->blob;
    for (int64_t i = 0; i < rank; i++) {
        int64_t v = data ? tn_scalar_read(TN_I64, (const char *)data->at + 8 * i).i : -1;
        dim[i] = v >= 0 ? tn_idx(g->pool, v) : tn_any_dim(g->pool);
    }
    result(g, n, 0, TN_STR, (int)rank, dim);
    return TN_OK;
}

/* ---- elementwise ---- */

/* The extents of two operands that repeat; an unknown one may be 1. */
static tn_status broadcast(tn_graph *g, tn_node *n, tn_dtype t)
{
    const tn_type *a, *b;
    const tn_expr *dim[TN_RULE_MAX_RANK], *one = tn_idx(g->pool, 1);
    TN_TRY(need_texts(g, n, 0, -1, &a));
    TN_TRY(need_texts(g, n, 1, -1, &b));
    int rank = a->n > b->n ? a->n : b->n;
    for (int d = 0; d < rank; d++) {
        const tn_expr *x = d < rank - a->n ? one : a->dim[d - (rank - a->n)],
                      *y = d < rank - b->n ? one : b->dim[d - (rank - b->n)];
        int64_t v, w;
        bool fixed = tn_is_int(x, &v) && tn_is_int(y, &w);
        if (fixed && v != w && v != 1 && w != 1)
            return tn_rule_fail(g, n, "op-E005", "%s and %s do not broadcast", tn_rule_type_text(g, a),
                                tn_rule_type_text(g, b));
        dim[d] = tn_is_value(x, 1) || (x->kind != TN_E_INT && !tn_is_value(y, 1)) ? y : x;
    }
    result(g, n, 0, t, rank, dim);
    return TN_OK;
}

static tn_status concat_infer(tn_graph *g, tn_node *n) { return broadcast(g, n, TN_STR); }

static tn_status equal_infer(tn_graph *g, tn_node *n) { return broadcast(g, n, TN_BOOL1); }

static tn_status each_infer(tn_graph *g, tn_node *n, tn_dtype t)
{
    const tn_type *x;
    TN_TRY(need_texts(g, n, 0, -1, &x));
    result(g, n, 0, t, x->n, x->dim);
    return TN_OK;
}

static tn_status match_infer(tn_graph *g, tn_node *n) { return each_infer(g, n, TN_BOOL1); }

static tn_status replace_infer(tn_graph *g, tn_node *n) { return each_infer(g, n, TN_STR); }

static tn_status number_infer(tn_graph *g, tn_node *n) { return each_infer(g, n, TN_I64); }

static tn_status translate_infer(tn_graph *g, tn_node *n)
{
    const tn_string_translate_attr *a = n->attr;
    if (!a->from || !a->to || !a->remove)
        return tn_rule_fail(g, n, "op-E007", "from, to and remove must be texts, not None");
    if (strlen(a->from) != strlen(a->to))
        return tn_rule_fail(g, n, "op-E007", "from has %zu characters, but to has %zu", strlen(a->from),
                            strlen(a->to));
    for (const char *c = a->to; *c; c++)
        if ((unsigned char)*c >= 0x80)
            return tn_rule_fail(g, n, "op-E007", "to must have ASCII characters only, but is \"%s\"", a->to);
    return each_infer(g, n, TN_STR);
}

static tn_status hash_infer(tn_graph *g, tn_node *n)
{
    const tn_string_hash_attr *a = n->attr;
    if (a->buckets < 0)
        return tn_rule_fail(g, n, "op-E007", "buckets is %lld, but must be at least 0",
                            (long long)a->buckets);
    return each_infer(g, n, TN_I64);
}

static tn_status find_infer(tn_graph *g, tn_node *n)
{
    const tn_type *list;
    TN_TRY(need_texts(g, n, 1, -1, &list));
    return each_infer(g, n, TN_I64);
}

static bool is_wide(tn_dtype t)
{
    return (tn_dtype_is_int(t) && t.bits == 64) || (tn_dtype_is_float(t) && t.bits >= 32);
}

static tn_status of_number_infer(tn_graph *g, tn_node *n)
{
    const tn_type *x;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &x));
    if (!is_wide(x->dtype))
        return tn_rule_fail(g, n, "op-E011",
                            "data must be int64, uint64, float32 or float64, but is %s; cast it",
                            tn_rule_type_text(g, x));
    result(g, n, 0, TN_STR, x->n, x->dim);
    return TN_OK;
}

static tn_status to_number_infer(tn_graph *g, tn_node *n)
{
    tn_dtype t = ((const tn_string_to_number_attr *)n->attr)->dtype;
    if (!is_wide(t))
        return tn_rule_fail(g, n, "op-E011", "dtype is %s; int64, uint64, float32 and float64 are known",
                            tn_rule_dtype_text(g, t));
    return each_infer(g, n, t);
}

/* ---- results of other shapes ---- */

static tn_status take_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t;
    for (int i = 0; i < n->nin - 1; i++)
        TN_TRY(need_texts(g, n, i, -1, &t));
    TN_TRY(need_numbers(g, n, n->nin - 1, TN_I64, -1, &t));
    result(g, n, 0, TN_STR, t->n, t->dim);
    return TN_OK;
}

static tn_status split_infer(tn_graph *g, tn_node *n)
{
    const tn_type *x;
    const tn_expr *dim[TN_RULE_MAX_RANK + 1];
    TN_TRY(need_texts(g, n, 0, -1, &x));
    if (x->n == TN_RULE_MAX_RANK)
        return tn_rule_fail(g, n, "op-E003", "the result would have %d dimensions; at most %d are supported",
                            x->n + 1, TN_RULE_MAX_RANK);
    for (int i = 0; i < x->n; i++)
        dim[i] = x->dim[i];
    dim[x->n] = tn_any_dim(g->pool);
    result(g, n, 0, TN_STR, x->n + 1, dim);
    result(g, n, 1, TN_I64, x->n, x->dim);
    return TN_OK;
}

static tn_status tokenize_infer(tn_graph *g, tn_node *n)
{
    const tn_type *x, *patterns;
    const tn_expr *dim[TN_RULE_MAX_RANK + 1];
    TN_TRY(need_texts(g, n, 0, -1, &x));
    TN_TRY(need_texts(g, n, 1, 1, &patterns));
    if (x->n == TN_RULE_MAX_RANK)
        return tn_rule_fail(g, n, "op-E003", "the result would have %d dimensions; at most %d are supported",
                            x->n + 1, TN_RULE_MAX_RANK);
    for (int i = 0; i < x->n; i++)
        dim[i] = x->dim[i];
    dim[x->n] = tn_any_dim(g->pool);
    result(g, n, 0, TN_STR, x->n + 1, dim);
    return TN_OK;
}

static tn_status normalize_infer(tn_graph *g, tn_node *n)
{
    const tn_type *x, *words;
    TN_TRY(need_texts(g, n, 0, -1, &x));
    TN_TRY(need_texts(g, n, 1, -1, &words));
    if (x->n < 1 || x->n > 2)
        return tn_rule_fail(g, n, "op-E003", "data must have 1 or 2 dimensions, but is %s",
                            tn_rule_type_text(g, x));
    const tn_expr *dim[2] = {tn_idx(g->pool, 1)};
    dim[x->n - 1] = tn_any_dim(g->pool);
    result(g, n, 0, TN_STR, x->n, dim);
    return TN_OK;
}

/* clang-format off */
static const char *const make_in[] = {"shape", "offsets", "bytes"};
static const char *const data_in[] = {"data"};
static const char *const find_in[] = {"data", "list"};
static const char *const tokenize_in[] = {"data", "patterns"};
static const char *const normalize_in[] = {"data", "stopwords"};
static const tn_attr_field split_fields[] = TN_ATTR_TABLE(tn_string_split_attr, TN_STRING_SPLIT_ATTRS);
static const tn_attr_field tokenize_fields[] = TN_ATTR_TABLE(tn_string_tokenize_attr, TN_STRING_TOKENIZE_ATTRS);
static const tn_attr_field normalize_fields[] = TN_ATTR_TABLE(tn_string_normalize_attr, TN_STRING_NORMALIZE_ATTRS);
static const tn_attr_field match_fields[] = TN_ATTR_TABLE(tn_string_match_attr, TN_STRING_MATCH_ATTRS);
static const tn_attr_field replace_fields[] = TN_ATTR_TABLE(tn_string_replace_attr, TN_STRING_REPLACE_ATTRS);
static const tn_attr_field translate_fields[] = TN_ATTR_TABLE(tn_string_translate_attr, TN_STRING_TRANSLATE_ATTRS);
static const tn_attr_field hash_fields[] = TN_ATTR_TABLE(tn_string_hash_attr, TN_STRING_HASH_ATTRS);
static const tn_attr_field to_number_fields[] = TN_ATTR_TABLE(tn_string_to_number_attr, TN_STRING_TO_NUMBER_ATTRS);

const tn_op tn_op_string_make = {
    .name = "string.make",
    .doc = "A tensor of texts: its extents, where each text begins and the last ends, the bytes of all.",
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = make_in,
    .infer = make_infer, .host = "string.make",
};

const tn_op tn_op_string_concat = {
    .name = "string.concat", .doc = "Texts with other texts behind them.",
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_NONE, .infer = concat_infer, .host = "string.concat",
};

const tn_op tn_op_string_equal = {
    .name = "string.equal", .doc = "Which texts have the same bytes.",
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_NONE, .infer = equal_infer, .host = "string.equal",
};

const tn_op tn_op_string_number = {
    .name = "string.number", .doc = "0, 1, ... in the shape of its operand: what string.take knows the elements by.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = data_in,
    .infer = number_infer, .host = "string.number",
};

const tn_op tn_op_string_rank = {
    .name = "string.rank", .doc = "The order of its operand's elements, by their bytes: equal ones have equal numbers.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = data_in,
    .infer = number_infer, .host = "string.rank",
};

const tn_op tn_op_string_take = {
    .name = "string.take",
    .doc = "Elements of texts by the numbers in the last operand; element i of operand k is k * 2^40 + i.",
    .nin = -1, .min_in = 2, .nout = 1, .fuse = TN_FUSE_NONE, .infer = take_infer, .host = "string.take",
};

const tn_op tn_op_string_find = {
    .name = "string.find",
    .doc = "Where texts stand in a list (of equal ones, the last); its length for those that do not.",
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = find_in,
    .infer = find_infer, .host = "string.find",
};

const tn_op tn_op_string_split = {
    .name = "string.split", .doc = "The parts of each text, and how many they are.",
    .attr_size = sizeof(tn_string_split_attr), .attr = split_fields,
    .nin = 1, .min_in = 1, .nout = 2, .fuse = TN_FUSE_NONE, .in_name = data_in,
    .infer = split_infer, .host = "string.split",
};

const tn_op tn_op_string_tokenize = {
    .name = "string.tokenize",
    .doc = "The tokens of each text: what the pattern matches, what lies between matches of patterns, or characters.",
    .attr_size = sizeof(tn_string_tokenize_attr), .attr = tokenize_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = tokenize_in, .infer = tokenize_infer,
    .host = "string.tokenize",
};

const tn_op tn_op_string_normalize = {
    .name = "string.normalize",
    .doc = "A list of texts, or one row of them, without those that are stop words, in another case.",
    .attr_size = sizeof(tn_string_normalize_attr), .attr = normalize_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = normalize_in, .infer = normalize_infer,
    .host = "string.normalize",
};

const tn_op tn_op_string_regex_full_match = {
    .name = "string.regex_full_match",
    .doc = "Which texts a regular expression (RE2's syntax) matches from beginning to end.",
    .attr_size = sizeof(tn_string_match_attr), .attr = match_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = data_in, .infer = match_infer,
    .host = "string.regex_full_match",
};

const tn_op tn_op_string_regex_replace = {
    .name = "string.regex_replace",
    .doc = "Texts with another one in the place of what a regular expression (RE2's syntax) matches, the longest match "
           "at each place.",
    .attr_size = sizeof(tn_string_replace_attr), .attr = replace_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = data_in, .infer = replace_infer,
    .host = "string.regex_replace",
};

const tn_op tn_op_string_translate = {
    .name = "string.translate", .doc = "Texts with other ASCII characters in the place of some, or without them.",
    .attr_size = sizeof(tn_string_translate_attr), .attr = translate_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = data_in, .infer = translate_infer,
    .host = "string.translate",
};

const tn_op tn_op_string_hash = {
    .name = "string.hash", .doc = "Numbers of texts: a hash, modulo a number of buckets.",
    .attr_size = sizeof(tn_string_hash_attr), .attr = hash_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = data_in, .infer = hash_infer,
    .host = "string.hash",
};

const tn_op tn_op_string_of_number = {
    .name = "string.of_number", .doc = "Numbers as texts, in the fewest digits that read back.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = data_in, .infer = of_number_infer,
    .host = "string.of_number",
};

const tn_op tn_op_string_to_number = {
    .name = "string.to_number", .doc = "Texts as numbers; the run fails where one is none.",
    .attr_size = sizeof(tn_string_to_number_attr), .attr = to_number_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = data_in, .infer = to_number_infer,
    .host = "string.to_number",
};
/* clang-format on */
