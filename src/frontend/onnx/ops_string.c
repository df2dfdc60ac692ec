/* Tensors of texts: StringConcat, StringSplit, StringNormalizer, RegexFullMatch, constants; and operators
 * that serve numbers too.
 */
#include "frontend/onnx/onnx.h"

#include "op/host/host.h"

#include <string.h>

/* ---- constants ---- */

tn_value onnx_texts_attr(imp_node *c, const char *name, int64_t *out_n)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_TEXTS);
    *out_n = a ? (int64_t)a->texts.n : 0;
    return a ? imp_text_list(c, a->texts.n, a->texts.at) : (tn_value){0};
}

/* ---- moving ---- */

/* clang-format off */
static const struct {
    const char *op;
    int texts;  /* results that are texts; -1: all */
    bool fills; /* with empty texts, where the operator has zeros */
} moves[] = {
    {"ArrayFeatureExtractor", 1, false},
    {"CenterCropPad", 1, true},
    {"Compress", 1, false},
    {"Concat", 1, false},
    {"DepthToSpace", 1, false},
    {"Expand", 1, false},
    {"ExpandDims", 1, false},
    {"Flatten", 1, false},
    {"Gather", 1, false},
    {"GatherElements", 1, false},
    {"GatherND", 1, false},
    {"OneHot", 1, false},
    {"Pad", 1, true},
    {"RandomNormalLike", 0, false},
    {"RandomUniformLike", 0, false},
    {"Reshape", 1, false},
    {"Resize", 1, true},
    {"ReverseSequence", 1, false},
    {"Scatter", 1, false},
    {"ScatterElements", 1, false},
    {"ScatterND", 1, false},
    {"Shape", 0, false},
    {"Size", 0, false},
    {"Slice", 1, false},
    {"SpaceToDepth", 1, false},
    {"Split", -1, false},
    {"Squeeze", 1, false},
    {"TensorScatter", 1, false},
    {"Tile", 1, false},
    {"Transpose", 1, false},
    {"Trilu", 1, true},
    {"Unsqueeze", 1, false},
    {"Upsample", 1, false},
    {"Where", 1, false},
};
/* clang-format on */

/* Sums and means of texts there are none; what lies outside of a picture is an empty text. */
static bool only_moves(imp_node *c)
{
    bool resizes = strcmp(c->row->op, "Resize") == 0 || strcmp(c->row->op, "Upsample") == 0;
    return strcmp(imp_attr_string(c, "reduction", "none"), "none") == 0 &&
           !(resizes && (strcmp(imp_attr_string(c, "mode", "nearest"), "nearest") != 0 ||
                         imp_attr_float(c, "extrapolation_value", 0) != 0));
}

static void move(imp_node *c, int results, bool fills)
{
    if (!only_moves(c))
        imp_fail(c, "onnx-E085", "operand %u is a tensor of strings, but the operator takes numbers", 0u);
    tn_value zero = fills ? imp_const_text(c, "") : (tn_value){0};
    if (!c->bad)
        imp_move_texts(c, results, zero);
}

/* ---- operators that serve numbers too ---- */

static void equal(imp_node *c)
{
    imp_out(c, 0, imp_binary(c, &tn_op_string_equal, imp_in(c, 0), imp_in(c, 1)));
}

/* Which texts are not empty? */
static void non_zero(imp_node *c)
{
    tn_value empty = imp_binary(c, &tn_op_string_equal, imp_in(c, 0), imp_const_text(c, ""));
    tn_value given[] = {imp_unary(c, &tn_op_logical_not, empty)};
    c->given = given;
    if (!c->bad)
        c->row->convert(c);
    c->given = NULL;
}

/* Of the order of texts, then the texts that are first. */
static void unique(imp_node *c)
{
    tn_value x = imp_in(c, 0), order, at;
    bool along = imp_has_attr(c, "axis"), sorted = imp_attr_int(c, "sorted", 1) != 0;
    int axis = along ? imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x)) : 0;
    order = imp_unary(c, &tn_op_string_rank, x);
    at = imp_text_numbers(c, x, 0);
    if (!along) {
        order = imp_flat(c, order);
        at = imp_flat(c, at);
    }
    if (c->bad)
        return;
    imp_unique u = imp_unique_of(c, order, axis, sorted ? IMP_UNIQUE_SORTED : 0);
    at = imp_take(c, at, u.index, axis);
    imp_out(c, 0, imp_binary(c, &tn_op_string_take, x, at));
    const tn_value out[] = {u.index, u.inverse, u.count};
    for (uint32_t i = 0; i < 3; i++)
        imp_out_any(c, i + 1, out[i]);
}

/* Those that ask for the types of their operands themselves, or take all types. */
static bool takes_texts(const imp_row *row)
{
    static const char *const ops[] = {
        "Identity", "If",           "Loop",           "Scan",          "Cast",
        "CastLike", "LabelEncoder", "CategoryMapper", "OneHotEncoder", "TfIdfVectorizer"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(row->op, ops[i]) == 0)
            return true;
    const imp_row *const tables[] = {onnx_rows_string, onnx_rows_token, onnx_rows_sequence};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        for (const imp_row *r = tables[k]; r->op; r++)
            if (r == row)
                return true;
    return false;
}

void onnx_convert_row(imp_node *c)
{
    uint32_t i = 0;
    if (!onnx_open_operands(c) || !onnx_check_complex(c))
        return;
    while (i < c->n_in && !imp_is_text(imp_opt(c, i)))
        i++;
    if (i == c->n_in || takes_texts(c->row)) {
        c->row->convert(c);
        return;
    }
    if (strcmp(c->row->op, "Equal") == 0) {
        equal(c);
        return;
    }
    if (strcmp(c->row->op, "NonZero") == 0) {
        non_zero(c);
        return;
    }
    if (strcmp(c->row->op, "Unique") == 0) {
        unique(c);
        return;
    }
    for (size_t k = 0; k < sizeof moves / sizeof *moves; k++)
        if (strcmp(c->row->op, moves[k].op) == 0) {
            move(c, moves[k].texts, moves[k].fills);
            return;
        }
    imp_fail(c, "onnx-E085", "operand %u is a tensor of strings, but the operator takes numbers",
             (unsigned)i);
}

/* ---- conversions ---- */

tn_value onnx_text_of(imp_node *c, tn_value x)
{
    if (imp_is_text(x) || c->bad)
        return x;
    tn_dtype t = imp_type(x)->dtype, wide = TN_I64;
    if (tn_dtype_is_float(t))
        wide = t.bits == 64 ? TN_F64 : TN_F32;
    else if (t.code == TN_UINT)
        wide = TN_DT(TN_UINT, 64);
    return imp_unary(c, &tn_op_string_of_number, imp_cast(c, x, wide));
}

tn_value onnx_number_of(imp_node *c, tn_value x, tn_dtype t)
{
    tn_string_to_number_attr a = {TN_I64};
    if (tn_dtype_is_float(t))
        a.dtype = t.bits == 64 ? TN_F64 : TN_F32;
    else if (t.code == TN_UINT)
        a.dtype = TN_DT(TN_UINT, 64);
    return imp_call1(c, &tn_op_string_to_number, &a, x);
}

/* ---- rows ---- */

/* Operand i, which has to be texts; absent: reported. */
static tn_value text_in(imp_node *c, uint32_t i)
{
    tn_value v = imp_in(c, i);
    if (!c->bad && !imp_is_text(v))
        imp_fail(c, "onnx-E086", "operand %u is %s, but must be a tensor of strings", (unsigned)i,
                 imp_type_text(c, imp_type(v)));
    return v;
}

static void concat(imp_node *c)
{
    tn_value a = text_in(c, 0), b = text_in(c, 1);
    imp_out(c, 0, imp_binary(c, &tn_op_string_concat, a, b));
}

static void split(imp_node *c)
{
    tn_value x = text_in(c, 0), v;
    tn_string_split_attr a = {imp_attr_string(c, "delimiter", ""), imp_attr_int(c, "maxsplit", -1), false};
    v = imp_call1(c, &tn_op_string_split, &a, x);
    imp_out(c, 0, v);
    imp_out_any(c, 1, v.def ? (tn_value){v.def, 1} : v);
}

static void normalize(imp_node *c)
{
    int64_t n;
    tn_value x = text_in(c, 0), words = onnx_texts_attr(c, "stopwords", &n);
    tn_string_normalize_attr a = {imp_attr_string(c, "case_change_action", "NONE"),
                                  imp_attr_int(c, "is_case_sensitive", 0) != 0,
                                  imp_attr_string(c, "locale", "")};
    if (strcmp(a.case_change_action, "NONE") != 0 && strcmp(a.case_change_action, "LOWER") != 0 &&
        strcmp(a.case_change_action, "UPPER") != 0)
        imp_fail(c, "onnx-E009", "case_change_action is \"%s\"; NONE, LOWER and UPPER are known",
                 a.case_change_action);
    if (!words.def)
        words = imp_text_list(c, 0, NULL);
    imp_out(c, 0, imp_call2(c, &tn_op_string_normalize, &a, x, words));
}

static void regex_full_match(imp_node *c)
{
    tn_value x = text_in(c, 0);
    imp_attr_need(c, "pattern");
    tn_string_match_attr a = {imp_attr_string(c, "pattern", "")};
    imp_out(c, 0, imp_call1(c, &tn_op_string_regex_full_match, &a, x));
}

// clang-format off
const imp_row onnx_rows_string[] = {
    {"StringConcat",     20, 0, 2, 1, concat,           NULL},
    {"StringSplit",      20, 0, 1, 2, split,            NULL},
    {"StringNormalizer", 10, 0, 1, 1, normalize,        NULL},
    {"RegexFullMatch",   20, 0, 1, 1, regex_full_match, NULL},
    {0},
};
// clang-format on
