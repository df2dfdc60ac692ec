/* Rotations by position of com.microsoft: RotaryEmbedding, and MRotaryEmbedding, whose positions are those in time and
 * in two directions of an image. */
#include "frontend/onnx/attention.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

/* ---- tables of angles ---- */

tn_value onnx_angles(imp_node *c, tn_value table, tn_value at, int heads_axis)
{
    if (imp_rank(table) != 2 && !c->bad)
        imp_fail(c, "onnx-E095", "this table of angles of %s is not supported", c->row->op);
    if (c->bad)
        return table;
    at = onnx_checked(c, at, imp_type(table)->dim[0]);
    return imp_unsqueeze(c, imp_take(c, table, at, 0), heads_axis);
}

tn_value onnx_counted(imp_node *c, tn_value first, const tn_expr *s)
{
    first = imp_unsqueeze(c, imp_cast(c, first, TN_I64), 1);
    return imp_binary(c, &tn_op_add, first, imp_count_up(c, s));
}

int64_t onnx_turned(imp_node *c, tn_value table)
{
    int64_t n = imp_rank(table) == 2 ? onnx_known(imp_type(table)->dim[1]) : -1;
    if (n < 1 && !c->bad)
        imp_fail(c, "onnx-E022", "the columns of %s, angles by position, must be known",
                 imp_type_text(c, imp_type(table)));
    return 2 * n;
}

/* ---- positions in several directions ---- */

enum { STREAMS = 3 }; /* of positions: time, height, width */

/* Which stream a column of the tables takes its angle from. */
static int stream_of(int64_t column, const int64_t section[STREAMS], bool in_turn)
{
    if (!in_turn)
        return column < section[0] ? 0 : column < section[0] + section[1] ? 1 : 2;
    int64_t k = column % STREAMS;
    return k && column < STREAMS * section[k] ? (int)k : 0;
}

/* Attributes that say it; columns: of the tables. false: reported. */
static bool read_sections(imp_node *c, int64_t columns, const int64_t **out_section, bool *out_in_turn)
{
    tn_ints section;
    int64_t sum = 0, layout = imp_attr_int(c, "mrope_layout", 0);
    imp_attr_need(c, "mrope_section");
    (void)imp_attr_ints(c, "mrope_section", &section);
    bool ok = section.n == STREAMS && (layout == 0 || layout == 1);
    for (uint32_t i = 0; ok && i < STREAMS; i++) {
        ok = section.at[i] >= 0 && section.at[i] <= columns;
        sum += section.at[i];
    }
    if (!c->bad && (!ok || sum != columns))
        imp_fail(c, "onnx-E009",
                 "mrope_section must be %d numbers whose sum is %lld, the columns of the angles, and "
                 "mrope_layout 0 or "
                 "1; the model is damaged",
                 (int)STREAMS, (long long)columns);
    *out_section = section.at;
    *out_in_turn = layout == 1;
    return !c->bad;
}

/* As onnx_angles, each column at the positions of its stream; at: [3, b, s]. */
static tn_value mixed_angles(imp_node *c, tn_value table, tn_value at, int heads_axis)
{
    const int64_t *section;
    bool in_turn;
    int64_t columns = onnx_turned(c, table) / 2;
    if (!c->bad && (imp_rank(at) != 3 || !imp_with_extent(c, &at, 0, tn_idx(c->pool, STREAMS))))
        imp_fail(c, "onnx-E022", "position_ids must be [3, batch, sequence], but are %s",
                 imp_type_text(c, imp_type(at)));
    if (c->bad || !read_sections(c, columns, &section, &in_turn))
        return table;
    int64_t *is = TN_NEW_N(c->arena, int64_t, (size_t)columns);
    tn_value y = {0};
    for (int k = 0; k < STREAMS; k++) {
        tn_value one = onnx_angles(c, table, imp_squeeze(c, imp_slice(c, at, 0, k, k + 1), 0), heads_axis);
        for (int64_t i = 0; i < columns; i++)
            is[i] = stream_of(i, section, in_turn) == k;
        y = k ? imp_choose(c, imp_const_ints(c, TN_BOOL1, 1, (uint32_t)columns, is), one, y) : one;
    }
    return y;
}

/* ---- the operators ---- */

typedef tn_value angles_fn(imp_node *c, tn_value table, tn_value at, int heads_axis);

/* x, positions, cosines, sines */
static void rotate(imp_node *c, angles_fn *angles)
{
    tn_value x = imp_in(c, 0), at = imp_in(c, 1), y;
    bool in_turn = imp_attr_int(c, "interleaved", 0) != 0;
    int64_t heads = imp_attr_int(c, "num_heads", 0), size = onnx_turned(c, imp_in(c, 2)),
            told = imp_attr_int(c, "rotary_embedding_dim", 0);
    imp_attr_ignore(c, "scale"); /* of tables that a longer sequence would need */
    imp_attr_ignore(c, "is_packed_batching");
    const tn_type *t = imp_type(x);
    int64_t hidden = t->n == 3 || t->n == 4 ? onnx_known(t->dim[t->n - 1]) : -1;
    heads = t->n == 4 ? 1 : heads == 0 && size > 0 ? hidden / size : heads;
    if (!c->bad && (heads < 1 || hidden % heads != 0 || (told != 0 && told != size) || hidden / heads < size))
        imp_fail(c, "onnx-E022", "%s cannot be rotated by %lld angles in %lld heads", imp_type_text(c, t),
                 (long long)size / 2, (long long)heads);
    if (c->bad)
        return;
    const tn_expr *dim[] = {t->dim[0], t->dim[1], tn_idx(c->pool, heads), tn_idx(c->pool, hidden / heads)};
    int heads_axis = t->n == 3 ? 2 : 1;
    x = t->n == 3 ? imp_reshape(c, x, 4, dim) : x;
    at = imp_rank(at) == 1 ? onnx_counted(c, at, imp_type(x)->dim[3 - heads_axis]) : at;
    tn_value cosine = angles(c, imp_in(c, 2), at, heads_axis), sine = angles(c, imp_in(c, 3), at, heads_axis);
    y = c->bad ? x : onnx_rotate(c, x, size, in_turn, cosine, sine);
    imp_out(c, 0, t->n == 3 && !c->bad ? imp_reshape(c, y, 3, t->dim) : y);
}

static void rotary_embedding(imp_node *c) { rotate(c, onnx_angles); }

static void mrotary_embedding(imp_node *c) { rotate(c, mixed_angles); }

// clang-format off
const imp_row onnx_rows_rotary[] = {
    {"MRotaryEmbedding", 1, 0, 4, 1, mrotary_embedding, NULL},
    {"RotaryEmbedding",  1, 0, 4, 1, rotary_embedding,  NULL},
    {0},
};
// clang-format on
