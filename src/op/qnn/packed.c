/* qnn.packed_dense: products of rows of numbers with weights of 2, 4 or 8 bits that stay packed in memory and become
 * numbers in registers. Each block of weights along the reduction has a scale and perhaps a shift, one a column:
 *
 *   y[row, column] = sum over blocks of scale * sum of x * q + shift * sum of x      q signed
 *
 * Weights lie in panels of 64 columns: [panel, k, byte]; a byte holds one weight of each of 8 / bits planes of the
 * panel, the columns of the first plane in the lowest bits. So weights beside each other are bytes beside each other,
 * shifted by one number of bits.
 *
 * Few rows are summed as the formula says, which scales each sum of a block once. For many, weights are scaled and
 * shifted first, once for all rows: a product of matrices, the second of which is computed from the packed one. */
#include "op/qnn/qnn.h"
#include "op/rule.h"

enum { DATA = 0, WEIGHT, SCALE, SHIFT, OPERANDS, FEW_ROWS = 3, PANEL = TN_PACKED_PANEL };

static tn_status packed_infer(tn_graph *g, tn_node *n)
{
    const tn_packed_attr *a = n->attr;
    const tn_type *t[OPERANDS] = {0};
    int64_t k;
    TN_TRY(tn_rule_tensor(g, n, DATA, 2, &t[DATA]));
    if ((a->bits != 2 && a->bits != 4 && a->bits != 8) || a->block < 1 || a->block > INT32_MAX ||
        a->units < 1 || a->units > INT32_MAX || !tn_is_int(t[DATA]->dim[1], &k) || k < 1 ||
        !tn_dtype_eq(t[DATA]->dtype, TN_F32))
        return tn_rule_fail(g, n, "op-E007", "bits, block and units do not match data %s",
                            tn_rule_type_text(g, t[DATA]));
    const int64_t panels = (a->units + PANEL - 1) / PANEL;
    const int64_t want[OPERANDS][2] = {{0},
                                       {k, PANEL * a->bits / 8},
                                       {(k + a->block - 1) / a->block, PANEL},
                                       {(k + a->block - 1) / a->block, PANEL}};
    for (int i = WEIGHT; i < n->nin && tn_in(n, i).def; i++) {
        TN_TRY(tn_rule_tensor(g, n, i, 3, &t[i]));
        if (!tn_dtype_eq(t[i]->dtype, i == WEIGHT ? TN_I8 : TN_F32) || !tn_is_value(t[i]->dim[0], panels) ||
            !tn_is_value(t[i]->dim[1], want[i][0]) || !tn_is_value(t[i]->dim[2], want[i][1]))
            return tn_rule_fail(g, n, "op-E008", "%s is %s, but must have the extents %lld, %lld and %lld",
                                tn_rule_in_name(g, n, i), tn_rule_type_text(g, t[i]), (long long)panels,
                                (long long)want[i][0], (long long)want[i][1]);
    }
    const tn_expr *dim[2] = {t[DATA]->dim[0], tn_idx(g->pool, a->units)};
    return tn_rule_result(g, n, 0, TN_F32, 2, dim);
}

typedef struct packed {
    tn_te *te;
    const tn_packed_attr *a;
    tn_tensor *const *in;
    int64_t k, blocks;
    bool shifts;
} packed;

static const tn_expr *number(const packed *w, int64_t n) { return tn_idx(w->te->pool, n); }

static const tn_expr *panel_of(const packed *w, const tn_expr *column)
{
    return tn_fdiv(w->te->pool, column, number(w, PANEL));
}

static const tn_expr *in_panel(const packed *w, const tn_expr *column)
{
    return tn_fmod(w->te->pool, column, number(w, PANEL));
}

/* The weight of a column, signed: shifted to the top, then to the bottom. */
static const tn_expr *weight(const packed *w, const tn_expr *k, const tn_expr *column)
{
    tn_pool *p = w->te->pool;
    const tn_expr *bytes = number(w, PANEL * w->a->bits / 8), *byte = tn_fmod(p, column, bytes);
    const tn_expr *q = tn_cast(p, TN_I32, tn_at3(w->te, w->in[WEIGHT], panel_of(w, column), k, byte));
    if (w->a->bits < 8) {
        const tn_expr *plane = tn_fdiv(p, in_panel(w, column), bytes),
                      *up = tn_sub(p, number(w, 32 - w->a->bits), tn_mul(p, plane, number(w, w->a->bits)));
        q = tn_bin(p, TN_E_SHL, q, tn_cast(p, TN_I32, up));
        q = tn_bin(p, TN_E_SHR, q, tn_int(p, TN_I32, 32 - w->a->bits));
    }
    return tn_cast(p, TN_F32, q);
}

/* The scale or the shift of a column in block b. */
static const tn_expr *of_block(const packed *w, int operand, const tn_expr *b, const tn_expr *column)
{
    return tn_at3(w->te, w->in[operand], panel_of(w, column), b, in_panel(w, column));
}

/* ---- few rows ---- */

/* The sum over the weights of block b, the second axis of t: of the data, times a weight of the column, or alone. */
static void sum_block(const packed *w, tn_tensor *t, const tn_expr *column)
{
    tn_pool *p = w->te->pool;
    const tn_expr *i = tn_te_reduce_axis(w->te, t, "i", number(w, w->a->block)),
                  *k = tn_add(p, tn_mul(p, t->axis[1], number(w, w->a->block)), i),
                  *x = tn_at2(w->te, w->in[DATA], t->axis[0], k);
    const tn_expr *inside = w->k % w->a->block ? tn_lt(p, k, number(w, w->k)) : NULL;
    tn_te_sum(w->te, t, column ? tn_mul(p, x, weight(w, k, column)) : x, inside);
}

static void sum_blocks(const packed *w, tn_tensor *y)
{
    tn_pool *p = w->te->pool;
    const tn_expr *rows = y->dim[0], *dim[] = {rows, number(w, w->blocks), y->dim[1]};
    tn_tensor *part = tn_te_new(w->te, "sum", TN_F32, 3, dim, "i b j"), *plain = NULL;
    sum_block(w, part, part->axis[2]);
    if (w->shifts) {
        plain = tn_te_new(w->te, "plain", TN_F32, 2, dim, "i b");
        sum_block(w, plain, NULL);
    }
    const tn_expr *b = tn_te_reduce_axis(w->te, y, "b", dim[1]), *i = y->axis[0], *j = y->axis[1],
                  *v = tn_mul(p, tn_at3(w->te, part, i, b, j), of_block(w, SCALE, b, j));
    if (plain)
        v = tn_add(p, v, tn_mul(p, tn_at2(w->te, plain, i, b), of_block(w, SHIFT, b, j)));
    tn_te_sum(w->te, y, v, NULL);
}

/* ---- many rows ---- */

static void multiply_numbers(const packed *w, tn_tensor *y)
{
    tn_pool *p = w->te->pool;
    const tn_expr *dim[] = {number(w, w->k), y->dim[1]};
    tn_tensor *all = tn_te_new(w->te, "weight", TN_F32, 2, dim, "k j");
    const tn_expr *k = all->axis[0], *j = all->axis[1], *b = tn_fdiv(p, k, number(w, w->a->block)),
                  *v = tn_mul(p, weight(w, k, j), of_block(w, SCALE, b, j));
    tn_te_define(w->te, all, w->shifts ? tn_add(p, v, of_block(w, SHIFT, b, j)) : v);
    k = tn_te_reduce_axis(w->te, y, "k", dim[0]);
    tn_te_sum(w->te, y,
              tn_mul(p, tn_at2(w->te, w->in[DATA], y->axis[0], k), tn_at2(w->te, all, k, y->axis[1])), NULL);
}

static void packed_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    packed w = {
        .te = te, .a = n->attr, .in = in, .k = in[DATA]->dim[1]->u.i, .shifts = n->nin > SHIFT && in[SHIFT]};
    int64_t rows;
    w.blocks = (w.k + w.a->block - 1) / w.a->block;
    out[0] = tn_rule_out(te, n, 0, "packed_dense", "dense", "i j");
    if (tn_is_int(in[DATA]->dim[0], &rows) && rows > 0 && rows <= FEW_ROWS)
        sum_blocks(&w, out[0]);
    else
        multiply_numbers(&w, out[0]);
}

/* clang-format off */
static const tn_attr_field packed_fields[] = TN_ATTR_TABLE(tn_packed_attr, TN_PACKED_ATTRS);
static const char *const packed_in[] = {"data", "weight", "scale", "shift"};

const tn_op tn_op_qnn_packed_dense = {
    .name = "qnn.packed_dense",
        .doc = "Products of rows with weights of 2, 4 or 8 bits, packed in panels of 64 columns, with a scale and a "
               "shift for each block of the reduction.",
    .attr_size = sizeof(tn_packed_attr), .attr = packed_fields,
    .nin = OPERANDS, .min_in = 3, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = packed_in,
    .infer = packed_infer, .compute = packed_compute,
};
/* clang-format on */
