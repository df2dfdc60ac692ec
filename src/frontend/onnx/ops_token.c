/* Texts in com.microsoft, as scikit-learn's vectorizers are exported: Tokenizer, MurmurHash3. */
#include "frontend/onnx/onnx.h"

#include "op/host/host.h"

#include <string.h>

/* ---- Tokenizer ---- */

/* The pattern of tokens, or those of separators; none: each character is a token, as "." is, too. */
static tn_value patterns(imp_node *c, bool *separates)
{
    const imp_attr *a = imp_attr_find(c, "separators", IMP_A_TEXTS);
    const char *pattern = imp_attr_string(c, "tokenexp", "");
    bool characters = a && a->texts.n == 1 && a->texts.at[0].n == 0;
    *separates = !*pattern;
    if (*pattern) {
        const tn_bytes one = {(const uint8_t *)pattern, strlen(pattern)};
        return imp_text_list(c, strcmp(pattern, ".") != 0, &one);
    }
    if (!a || !a->texts.n)
        imp_fail(c, "onnx-E009", "the node has neither tokenexp nor separators");
    for (size_t i = 0; !c->bad && !characters && i < a->texts.n; i++)
        if (!a->texts.at[i].n)
            imp_fail(c, "onnx-E009", "separator %u is empty, but not the only one", (unsigned)i);
    return c->bad ? (tn_value){0} : imp_text_list(c, characters ? 0 : a->texts.n, a->texts.at);
}

static void tokenizer(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_string_tokenize_attr a = {.mark = imp_attr_int(c, "mark", 0) != 0,
                                 .pad = imp_attr_string(c, "pad_value", ""),
                                 .least = imp_attr_int(c, "mincharnum", 1)};
    if (!c->bad && !imp_is_text(x))
        imp_fail(c, "onnx-E086", "operand 0 is %s, but must be a tensor of strings",
                 imp_type_text(c, imp_type(x)));
    if (a.least < 1)
        imp_fail(c, "onnx-E009", "mincharnum is %lld, but must be at least 1", (long long)a.least);
    tn_value list = patterns(c, &a.separates);
    imp_out(c, 0, imp_call2(c, &tn_op_string_tokenize, &a, x, list));
}

/* ---- MurmurHash3 ---- */

static tn_value times(imp_node *c, tn_value v, uint32_t by) { return imp_with(c, &tn_op_multiply, v, by); }

static tn_value rotate(imp_node *c, tn_value v, int by)
{
    tn_value up = times(c, v, 1u << by), down = imp_with(c, &tn_op_right_shift, v, 32 - by);
    return imp_binary(c, &tn_op_bitwise_or, up, down);
}

static tn_value fold(imp_node *c, tn_value v, int by)
{
    return imp_binary(c, &tn_op_bitwise_xor, v, imp_with(c, &tn_op_right_shift, v, by));
}

/* Adds a word of 32 bits. */
static tn_value add_word(imp_node *c, tn_value h, tn_value word)
{
    word = times(c, rotate(c, times(c, word, 0xcc9e2d51u), 15), 0x1b873593u);
    h = rotate(c, imp_binary(c, &tn_op_bitwise_xor, h, word), 13);
    return imp_with(c, &tn_op_add, times(c, h, 5), 0xe6546b64u);
}

/* The hash of each number's bytes, the lowest first, uint32. */
static tn_value hash_numbers(imp_node *c, tn_value x, uint32_t seed)
{
    const tn_dtype word = TN_DT(TN_UINT, 32);
    int bits = imp_type(x)->dtype.bits;
    tn_cast_attr a = {TN_DT(TN_UINT, bits)};
    x = imp_call1(c, &tn_op_reinterpret, &a, x);
    tn_value low = imp_cast(c, x, word), h = imp_const(c, word, seed);
    h = add_word(c, h, low);
    if (bits == 64)
        h = add_word(c, h, imp_cast(c, imp_with(c, &tn_op_right_shift, x, 32), word));
    h = fold(c, imp_with(c, &tn_op_bitwise_xor, h, bits / 8), 16);
    h = fold(c, times(c, h, 0x85ebca6bu), 13);
    return fold(c, times(c, h, 0xc2b2ae35u), 16);
}

static void murmur_hash(imp_node *c)
{
    tn_value x = imp_in(c, 0), h = {0};
    int64_t seed = imp_attr_int(c, "seed", 0);
    const tn_dtype word = TN_DT(TN_UINT, 32);
    if (c->bad)
        return;
    tn_string_hash_attr a = {.murmur = true, .key0 = seed};
    int bits = imp_type(x)->dtype.bits;
    if (imp_is_text(x))
        h = imp_cast(c, imp_call1(c, &tn_op_string_hash, &a, x), word);
    else if (bits == 32 || bits == 64)
        h = hash_numbers(c, x, (uint32_t)seed);
    else
        imp_fail(c, "onnx-E022", "operand 0 is %s, but numbers must have 32 or 64 bits",
                 imp_type_text(c, imp_type(x)));
    if (imp_attr_int(c, "positive", 1) == 0)
        h = imp_cast(c, h, TN_I32);
    imp_out(c, 0, h);
}

// clang-format off
const imp_row onnx_rows_token[] = {
    {"Tokenizer",   1, 0, 1, 1, tokenizer,   NULL},
    {"MurmurHash3", 1, 0, 1, 1, murmur_hash, NULL},
    {0},
};
// clang-format on
