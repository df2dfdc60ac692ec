/* Products of keras.ops: tensordot, inner, vdot, and attention as a function. */
#include "frontend/import/matrix.h"
#include "frontend/keras/rows.h"

#include <math.h>
#include <string.h>

/* ---- sums over several dimensions ---- */

/* The axes as "[[a0, a1], [b0, b1]]", "[a, b]", or how many last ones of a meet the first ones of b. */
static int read_axes(imp_node *c, tn_value a, tn_value b, int64_t at[2][IMP_MAX_RANK])
{
    const tn_json *v = keras_param(c, 2, "axes");
    int64_t n = 2;
    bool pair = tn_json_is(v, TN_JSON_ARRAY) && v->n == 2, ok = !v || pair || keras_whole(v, &n);
    uint32_t size[2] = {1, 1};
    for (int side = 0; side < 2 && pair && ok; side++) {
        const tn_json *list = &v->u.at[side];
        bool many = list->kind == TN_JSON_ARRAY;
        size[side] = many ? list->n : 1;
        ok = size[side] <= IMP_MAX_RANK;
        for (uint32_t i = 0; i < size[side] && ok; i++) {
            ok = keras_whole(many ? &list->u.at[i] : list, &at[side][i]);
            at[side][i] = ok ? imp_axis(c, at[side][i], imp_rank(side ? b : a)) : 0;
        }
    }
    n = pair ? size[0] : n;
    ok = ok && size[0] == size[1] && n >= 0 && n <= imp_rank(a) && n <= imp_rank(b);
    for (int64_t i = 0; i < n && ok && !pair; i++) {
        at[0][i] = imp_rank(a) - n + i;
        at[1][i] = i;
    }
    if (!ok)
        imp_refuse(c, IMP_BAD_VALUE, "the axes of a product must be known, and as many of both operands");
    return c->bad ? 0 : (int)n;
}

/* Letters of the dimensions of a and b, the same where they meet, and those of the result. */
static tn_value contracted(imp_node *c, tn_value a, tn_value b, int n, int64_t at[2][IMP_MAX_RANK])
{
    char letter[2][IMP_MAX_RANK + 1] = {{0}}, rest[2 * IMP_MAX_RANK + 1] = {0};
    char next = 'a';
    int count = 0;
    for (int i = 0; i < imp_rank(a); i++)
        letter[0][i] = next++;
    for (int i = 0; i < imp_rank(b); i++)
        letter[1][i] = next++;
    for (int i = 0; i < n; i++)
        letter[1][at[1][i]] = letter[0][at[0][i]];
    for (int i = 0; i < imp_rank(a); i++)
        if (!strchr(letter[1], letter[0][i]))
            rest[count++] = letter[0][i];
    for (int i = 0; i < imp_rank(b); i++)
        if (!strchr(letter[0], letter[1][i]))
            rest[count++] = letter[1][i];
    return keras_einsum(c, tn_arena_printf(c->arena, "%s,%s->%s", letter[0], letter[1], rest), a, b);
}

static void tensordot(imp_node *c)
{
    tn_value a, b;
    int64_t at[2][IMP_MAX_RANK];
    if (!keras_two(c, &a, &b))
        return;
    int n = read_axes(c, a, b, at);
    if (!c->bad && imp_rank(a) + imp_rank(b) > 26)
        imp_refuse(c, IMP_TOO_LARGE, "a product of so many dimensions is not supported");
    if (!c->bad)
        keras_out(c, contracted(c, a, b, n, at));
}

/* Over the last dimension of both. */
static void inner(imp_node *c)
{
    tn_value a, b;
    if (!keras_two(c, &a, &b))
        return;
    int64_t at[2][IMP_MAX_RANK] = {{imp_rank(a) - 1}, {imp_rank(b) - 1}};
    bool scalar = imp_rank(a) == 0 || imp_rank(b) == 0;
    keras_out(c, scalar ? imp_binary(c, &tn_op_multiply, a, b) : contracted(c, a, b, 1, at));
}

/* Over all elements. */
static void vdot(imp_node *c)
{
    tn_value a, b;
    if (!keras_two(c, &a, &b))
        return;
    a = imp_flat(c, a);
    b = imp_flat(c, b);
    keras_out(c, keras_einsum(c, "i,i->", a, b));
}

/* ---- attention: queries, keys and values [batch, steps, heads, size] ---- */

/* Where not to look; as small as float16 has it too. */
static tn_value unseen(imp_node *c, tn_value scores, tn_value mask)
{
    double least =
        imp_type(scores)->dtype.bits == 16 && imp_type(scores)->dtype.code == TN_FLOAT ? -3e4 : -1e38;
    return imp_choose(c, mask, scores, keras_like(c, scores, least));
}

/* bool [steps, keys]: keys up to the step's own. */
static tn_value up_to_now(imp_node *c, tn_value q, tn_value k)
{
    tn_value row = imp_unsqueeze(c, imp_count_up(c, imp_type(q)->dim[1]), 1);
    tn_value column = imp_unsqueeze(c, imp_count_up(c, imp_type(k)->dim[1]), 0);
    return imp_binary(c, &tn_op_greater_equal, row, column);
}

static void dot_product_attention(imp_node *c)
{
    tn_value q = keras_in(c, 0), k = keras_any_operand(c, 1, "key"), v = keras_any_operand(c, 2, "value");
    tn_value bias = keras_optional_operand(c, 3, "bias"), mask = keras_optional_operand(c, 4, "mask");
    int64_t size = 0;
    if (!c->bad && (imp_rank(q) != 4 || imp_rank(k) != 4 || imp_rank(v) != 4 ||
                    !tn_is_int(imp_type(q)->dim[3], &size) || size < 1))
        imp_refuse(c, IMP_BAD_VALUE, "attention needs queries, keys and values of four dimensions");
    double scale = keras_param_real(c, 5, "scale", 1 / sqrt((double)(size ? size : 1)));
    bool causal = keras_param_truth(c, 6, "is_causal");
    keras_ignore(c, "flash_attention");
    if (c->bad)
        return;
    tn_value scores = imp_with(c, &tn_op_multiply, keras_einsum(c, "bthd,bshd->bhts", q, k), scale);
    scores = bias.def ? imp_binary(c, &tn_op_add, scores, keras_as(c, bias, scores)) : scores;
    scores = mask.def ? unseen(c, scores, imp_cast(c, mask, TN_BOOL1)) : scores;
    scores = causal ? unseen(c, scores, up_to_now(c, q, k)) : scores;
    keras_out(c, keras_einsum(c, "bhts,bshd->bthd", keras_softmax(c, scores, -1), v));
}

#define F(name, convert, relay) LAYER(name, convert, relay, NULL, KERAS_OPERATION, NULL)
// clang-format off
const keras_row keras_rows_products[] = {
    F("Tensordot",           tensordot,             NULL),
    F("Inner",               inner,                 NULL),
    F("Vdot",                vdot,                  NULL),
    F("DotProductAttention", dot_product_attention, NULL),
    END_OF_ROWS,
};
// clang-format on
