/* Tensors of texts: operators of their own, and those that only move elements of any type. */
#include "frontend/tensorflow/tf.h"

#include "op/host/host.h"

#include <string.h>

/* ---- operators that serve numbers too ---- */

static const struct {
    const char *op;
    int texts; /* results that are texts; -1: all */
} moves[] = {{"BroadcastTo", 1}, {"Concat", 1},   {"ConcatV2", 1},  {"ExpandDims", 1},   {"Fill", 1},
             {"Gather", 1},      {"GatherNd", 1}, {"GatherV2", 1},  {"Pack", 1},         {"Rank", 0},
             {"Reshape", 1},     {"Reverse", 1},  {"ReverseV2", 1}, {"Select", 1},       {"SelectV2", 1},
             {"Shape", 0},       {"Size", 0},     {"Slice", 1},     {"Split", -1},       {"SplitV", -1},
             {"Squeeze", 1},     {"Tile", 1},     {"Transpose", 1}, {"StridedSlice", 1}, {"Unpack", -1}};

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
    tn_value same = imp_call2(c, &tn_op_string_equal, NULL, a, b);
    imp_out(c, 0, strcmp(c->row->op, "Equal") == 0 ? same : imp_call1(c, &tn_op_logical_not, NULL, same));
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
            v = imp_call2(c, &tn_op_string_concat, NULL, v, imp_const_text(c, between));
        v = imp_call2(c, &tn_op_string_concat, NULL, v, text_in(c, i));
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
    {"StaticRegexFullMatch", 1, 0,  1, 1, full_match,  NULL},
    {"StringJoin",           1, 0, -1, 1, join,        NULL},
    {"StringLower",          1, 0,  1, 1, change_case, NULL},
    {"StringToNumber",       1, 0,  1, 1, to_number,   NULL},
    {"StringUpper",          1, 0,  1, 1, change_case, NULL},
    {0},
};
// clang-format on
