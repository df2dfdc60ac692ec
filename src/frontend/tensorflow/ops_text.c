/* Tensors of texts: operators of their own, and those that only move elements of any type. */
#include "frontend/tensorflow/tf.h"

#include "op/host/host.h"

#include <string.h>

/* ---- operators that serve numbers too ---- */

static const struct {
    const char *op;
    int texts; /* results that are texts; -1: all */
} moves[] = {{"BroadcastTo", 1}, {"Concat", 1},
             {"ConcatV2", 1},    {"ExpandDims", 1},
             {"Fill", 1},        {"Gather", 1},
             {"GatherNd", 1},    {"GatherV2", 1},
             {"Pack", 1},        {"Rank", 0},
             {"Reshape", 1},     {"Reverse", 1},
             {"ReverseV2", 1},   {"Select", 1},
             {"SelectV2", 1},    {"Shape", 0},
             {"Size", 0},        {"Slice", 1},
             {"Split", -1},      {"SplitV", -1},
             {"Squeeze", 1},     {"Tile", 1},
             {"Transpose", 1},   {"StridedSlice", 1},
             {"Unpack", -1},     {"RaggedTensorToTensor", 1}};

static bool is_row_of(const imp_row *table, const imp_row *row)
{
    while (table->op && table != row)
        table++;
    return table->op != NULL;
}

/* Those that ask for the types of their operands themselves, or take all types. */
static bool takes_texts(const imp_row *row)
{
    static const char *const ops[] = {"Identity",     "IdentityN", "PlaceholderWithDefault", "EnsureShape",
                                      "StopGradient", "Snapshot",  "PreventGradient"};
    const imp_row *const tables[] = {tf_rows_text, tf_rows_table, tf_rows_flow};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(row->op, ops[i]) == 0)
            return true;
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        if (is_row_of(tables[k], row))
            return true;
    return false;
}

static void equal(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    imp_attr_ignore(c, "incompatible_shape_error");
    tn_value same = imp_binary(c, &tn_op_string_equal, a, b);
    imp_out(c, 0, strcmp(c->row->op, "Equal") == 0 ? same : imp_unary(c, &tn_op_logical_not, same));
}

static bool takes_handles(const imp_row *row) { return is_row_of(tf_rows_state, row); }

/* Operands that are no tensors of real numbers: lists of the run, complex numbers. true: the operator was converted, or
 * refused. */
static bool convert_others(imp_node *c)
{
    bool lists = is_row_of(tf_rows_list, c->row), complex = is_row_of(tf_rows_complex, c->row);
    for (uint32_t i = 0; i < c->n_in && !takes_texts(c->row); i++) {
        tn_value v = imp_opt(c, i);
        bool is = imp_is_complex(v);
        if (is ? complex : lists || imp_type(v)->kind == TN_T_TENSOR)
            continue;
        if (!is || !tf_convert_complex(c))
            imp_fail(c, "tensorflow-E064", "operand %u is %s, but the operator takes a tensor", (unsigned)i,
                     is ? "complex numbers" : imp_type_text(c, imp_type(v)));
        return true;
    }
    return false;
}

void tf_convert_row(imp_node *c)
{
    uint32_t i = 0;
    if (!takes_handles(c->row))
        tf_read_refs(c);
    if (convert_others(c))
        return;
    while (i < c->n_in && !imp_is_text(imp_opt(c, i)))
        i++;
    if (i == c->n_in || takes_texts(c->row)) {
        c->row->convert(c);
        return;
    }
    if (strcmp(c->row->op, "Equal") == 0 || strcmp(c->row->op, "NotEqual") == 0) {
        equal(c);
        return;
    }
    for (size_t k = 0; k < sizeof moves / sizeof *moves; k++)
        if (strcmp(c->row->op, moves[k].op) == 0) {
            imp_move_texts(c, moves[k].texts, (tn_value){0});
            return;
        }
    imp_fail(c, "tensorflow-E061", "operand %u is a tensor of texts, but the operator takes numbers",
             (unsigned)i);
}

/* ---- operators of texts ---- */

/* Operand i, which has to be texts; absent: reported. */
static tn_value text_in(imp_node *c, uint32_t i)
{
    tn_value v = imp_in(c, i);
    if (!c->bad && !imp_is_text(v))
        imp_fail(c, "tensorflow-E061", "operand %u is %s, but must be a tensor of texts", (unsigned)i,
                 imp_type_text(c, imp_type(v)));
    return v;
}

static void join(imp_node *c)
{
    const char *between = imp_attr_string(c, "separator", "");
    tn_value v = text_in(c, 0);
    imp_attr_ignore(c, "N");
    for (uint32_t i = 1; i < imp_n_in(c) && !c->bad; i++) {
        if (*between)
            v = imp_binary(c, &tn_op_string_concat, v, imp_const_text(c, between));
        v = imp_binary(c, &tn_op_string_concat, v, text_in(c, i));
    }
    imp_out(c, 0, v);
}

static void to_number(imp_node *c)
{
    tn_dtype t = tf_attr_dtype(c, "out_type", TN_F32);
    tn_string_to_number_attr a = {tn_dtype_is_float(t) ? t : TN_I64};
    imp_out(c, 0, imp_cast(c, imp_call1(c, &tn_op_string_to_number, &a, text_in(c, 0)), t));
}

static void full_match(imp_node *c)
{
    tn_value x = text_in(c, 0);
    imp_attr_need(c, "pattern");
    tn_string_match_attr a = {imp_attr_string(c, "pattern", "")};
    imp_out(c, 0, imp_call1(c, &tn_op_string_regex_full_match, &a, x));
}

static void replace_matches(imp_node *c, const char *pattern, const char *rewrite)
{
    tn_value x = text_in(c, 0);
    tn_string_replace_attr a = {pattern, rewrite, imp_attr_int(c, "replace_global", 1) != 0};
    if (strchr(rewrite, '\\'))
        imp_refuse(c, IMP_BAD_VALUE, "rewrite \"%s\": parts of matches are not supported", rewrite);
    imp_out(c, 0, imp_call1(c, &tn_op_string_regex_replace, &a, x));
}

static void static_replace(imp_node *c)
{
    imp_attr_need(c, "pattern");
    const char *pattern = imp_attr_string(c, "pattern", "");
    replace_matches(c, pattern, imp_attr_string(c, "rewrite", ""));
}

/* Fingerprints modulo a number of buckets. */
static void hash_bucket(imp_node *c)
{
    tn_string_hash_attr a = {.buckets = imp_attr_int(c, "num_buckets", 1),
                             .strong = strcmp(c->row->op, "StringToHashBucketStrong") == 0};
    tn_value x = text_in(c, 0);
    tn_ints key = {0};
    if (a.strong && (!imp_attr_ints(c, "key", &key) || key.n != 2))
        imp_refuse(c, IMP_BAD_VALUE, "the key must be two integers");
    if (a.strong && !c->bad) {
        a.key0 = key.at[0];
        a.key1 = key.at[1];
    }
    imp_out(c, 0, imp_call1(c, &tn_op_string_hash, &a, x));
}

static void as_string(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    bool plain = imp_attr_int(c, "width", -1) < 0 && imp_attr_int(c, "precision", -1) < 0;
    imp_attr_ignore(c, "fill");
    imp_attr_ignore(c, "shortest");
    imp_attr_ignore(c, "scientific");
    if (!c->bad && (!tn_dtype_is_int(imp_type(x)->dtype) || !plain))
        imp_refuse(c, IMP_BAD_VALUE, "only integers without a width become texts, but the operand is %s",
                   imp_type_text(c, imp_type(x)));
    tn_dtype t = imp_type(x)->dtype.code == TN_UINT ? TN_DT(TN_UINT, 64) : TN_I64;
    if (!c->bad)
        imp_out(c, 0, imp_unary(c, &tn_op_string_of_number, imp_cast(c, x, t)));
}

/* The one text that operand i is, if it is a constant; NULL: reported. */
static const char *constant_text(imp_node *c, uint32_t i, const char *what)
{
    const tn_node *n = text_in(c, i).def;
    const tn_node *bytes = n && tn_op_is(n, &tn_op_string_make) ? n->in[2].def : NULL;
    const tn_node *shape = bytes ? n->in[0].def : NULL;
    if (c->bad || !bytes || !bytes->blob || !shape->blob || shape->blob->n != 0) {
        imp_refuse(c, IMP_NOT_CONSTANT, "%s must be one text that is known", what);
        return "";
    }
    return tn_arena_strndup(c->arena, bytes->blob->at, bytes->blob->n);
}

static void any_replace(imp_node *c)
{
    const char *pattern = constant_text(c, 1, "the pattern");
    replace_matches(c, pattern, constant_text(c, 2, "what stands in its place"));
}

/* Of a list of texts the words, one after the other; row and column of each; how many there are of both. */
static void split(imp_node *c)
{
    tn_value x = text_in(c, 0);
    tn_string_split_attr a = {constant_text(c, 1, "the separator"), imp_attr_int(c, "maxsplit", -1), true};
    a.maxsplit = a.maxsplit > 0 ? a.maxsplit : -1;
    tn_value table = imp_call1(c, &tn_op_string_split, &a, x);
    if (c->bad)
        return;
    tn_value count = tn_unboxed(c->g, (tn_value){table.def, 1});
    tn_value number = imp_text_numbers(c, table, 0), rows = imp_extent_of(c, number, 0),
             columns = imp_extent_of(c, number, 1);
    if (c->bad)
        return;
    tn_value column = imp_count_up(c, imp_type(number)->dim[1]);
    tn_value there = imp_binary(c, &tn_op_less, column, imp_unsqueeze(c, count, 1));
    tn_value at = imp_positions(c, imp_flat(c, there));
    tn_value row = imp_binary(c, &tn_op_divide, at, columns);
    column = imp_binary(c, &tn_op_subtract, at, imp_binary(c, &tn_op_multiply, row, columns));
    tn_value pair[] = {imp_unsqueeze(c, row, 1), imp_unsqueeze(c, column, 1)},
             extent[] = {imp_unsqueeze(c, rows, 0), imp_unsqueeze(c, columns, 0)};
    imp_out(c, 0, imp_concat(c, 2, pair, 1));
    imp_out(c, 1, imp_take_texts(c, table, at));
    imp_out(c, 2, imp_concat(c, 2, extent, 0));
}

/* Letters of ASCII alone; those of UTF-8 have other rules. */
static void change_case(imp_node *c)
{
    static const char lower[] = "abcdefghijklmnopqrstuvwxyz", upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    bool lowers = strcmp(c->row->op, "StringLower") == 0;
    const char *encoding = imp_attr_string(c, "encoding", "");
    tn_value x = text_in(c, 0);
    tn_string_translate_attr a = {lowers ? upper : lower, lowers ? lower : upper, ""};
    if (*encoding)
        imp_refuse(c, IMP_BAD_VALUE, "encoding \"%s\" is not supported, only that of bytes is (\"\")",
                   encoding);
    imp_out(c, 0, imp_call1(c, &tn_op_string_translate, &a, x));
}

// clang-format off
const imp_row tf_rows_text[] = {
    {"AsString",                 1, 0,  1, 1, as_string,      NULL},
    {"RegexReplace",             1, 0,  3, 1, any_replace,    NULL},
    {"StaticRegexFullMatch",     1, 0,  1, 1, full_match,     NULL},
    {"StaticRegexReplace",       1, 0,  1, 1, static_replace, NULL},
    {"StringJoin",               1, 0, -1, 1, join,           NULL},
    {"StringLower",              1, 0,  1, 1, change_case,    NULL},
    {"StringSplitV2",            1, 0,  2, 3, split,          NULL},
    {"StringToHashBucketFast",   1, 0,  1, 1, hash_bucket,    NULL},
    {"StringToHashBucketStrong", 1, 0,  1, 1, hash_bucket,    NULL},
    {"StringToNumber",           1, 0,  1, 1, to_number,      NULL},
    {"StringUpper",              1, 0,  1, 1, change_case,    NULL},
    {0},
};
// clang-format on
