/* qnn.packed_dense: products of rows of numbers with weights of 2, 4 or 8 bits that stay packed in memory and become
 * numbers in registers. Each block of weights along the reduction has a scale and perhaps a shift, one a column:
 *
 *   y[row, column] = sum over blocks of scale * sum of x * q + shift * sum of x      q signed
 *
 * Weights lie in panels of 64 columns: [panel, k, byte]; a byte holds one weight of each of 8 / bits planes of the
 * panel, the columns of the first plane in the lowest bits. A step of the reduction is thus a few loads of bytes,
 * shifts and conversions of whole vectors. A task is a panel. Few rows are multiplied while weights are unpacked; for
 * many, the panel is unpacked once into memory of the task (k x 64 numbers) and multiplied in tiles of rows. */
#include "op/code.h"

#include "op/qnn/qnn.h"

enum { DATA = 0, WEIGHT, SCALE, SHIFT, OPERANDS, FEW_ROWS = 3, TILE_ROWS = 6, PANEL = TN_PACKED_PANEL };

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
    tn_code c;
    const tn_packed_attr *a;
    tn_tensor *in[OPERANDS], *out;
    const tn_expr *panel, *first_row, *rows; /* rows: NULL where all of the tile exist */
    int64_t k;
    int tile; /* rows */
} packed;

static const tn_expr *number(packed *w, int64_t n) { return tn_idx(w->c.p, n); }

/* A column of the panel: which byte, which plane. */
typedef struct {
    const tn_expr *row, *column, *byte, *plane;
} spot;

/* Loops over all columns, for each row of the tile; those of a plane in any order. */
static spot columns(packed *w)
{
    tn_pool *p = w->c.p;
    int64_t bytes = PANEL * w->a->bits / 8;
    spot s = {.row = tn_code_unroll(&w->c, "m", w->tile)};
    s.plane = tn_code_unroll(&w->c, "plane", 8 / w->a->bits);
    s.byte = tn_code_spread(&w->c, "byte", number(w, bytes));
    s.column = tn_add(p, tn_mul(p, s.plane, number(w, bytes)), s.byte);
    return s;
}

/* The weight of a column, signed: shifted to the top, then to the bottom. */
static const tn_expr *weight(packed *w, const spot *s, const tn_expr *k)
{
    tn_pool *p = w->c.p;
    const tn_expr *q = tn_cast(p, TN_I32, tn_at3(w->c.te, w->in[WEIGHT], w->panel, k, s->byte));
    if (w->a->bits < 8) {
        const tn_expr *up = tn_sub(p, number(w, 32 - w->a->bits), tn_mul(p, s->plane, number(w, w->a->bits)));
        q = tn_bin(p, TN_E_SHL, q, tn_cast(p, TN_I32, up));
        q = tn_bin(p, TN_E_SHR, q, tn_int(p, TN_I32, 32 - w->a->bits));
    }
    return tn_cast(p, TN_F32, q);
}

static const tn_expr *data(packed *w, const tn_expr *row, const tn_expr *k)
{
    tn_pool *p = w->c.p;
    row = tn_add(p, w->first_row, row);
    row = w->rows ? tn_min(p, row, tn_sub(p, w->rows, number(w, 1))) : row;
    return tn_at2(w->c.te, w->in[DATA], row, k);
}

static const tn_expr *get(packed *w, uint32_t buffer, const tn_expr *i, const tn_expr *j)
{
    const tn_expr *index[] = {i, j};
    return tn_code_load(&w->c, buffer, 2, index);
}

static void set(packed *w, uint32_t buffer, const tn_expr *i, const tn_expr *j, const tn_expr *value)
{
    const tn_expr *index[] = {i, j};
    tn_code_store(&w->c, buffer, 2, index, value);
}

static uint32_t memory(packed *w, const char *name, int64_t rows, int64_t wide, enum tn_scope scope)
{
    const tn_expr *dim[] = {number(w, rows), number(w, wide)};
    return tn_code_buffer(&w->c, name, TN_F32, 2, dim, scope);
}

static void clear(packed *w, uint32_t buffer)
{
    tn_body *back = w->c.at;
    spot s = columns(w);
    set(w, buffer, s.row, s.column, tn_flt(w->c.p, TN_F32, 0));
    w->c.at = back;
}

static void emit(packed *w, uint32_t total)
{
    tn_pool *p = w->c.p;
    spot s = columns(w);
    const tn_expr *row = tn_add(p, w->first_row, s.row);
    const tn_expr *column = tn_add(p, tn_mul(p, w->panel, number(w, PANEL)), s.column), *mask = NULL;
    if (w->a->units % PANEL != 0)
        mask = tn_lt(p, column, number(w, w->a->units));
    if (w->rows)
        mask = tn_rule_both(p, mask, tn_lt(p, row, w->rows));
    const tn_expr *index[] = {row, column}, *value = get(w, total, s.row, s.column);
    tn_body_append(w->c.at, tn_stmt_store(w->c.f, w->out->buffer, 2, index, value, mask));
}

/* Steps of block b. */
static const tn_expr *block_steps(packed *w, const tn_expr *b)
{
    tn_pool *p = w->c.p;
    const tn_expr *whole = number(w, w->a->block);
    return w->k % w->a->block == 0 ? whole
                                   : tn_min(p, whole, tn_sub(p, number(w, w->k), tn_mul(p, b, whole)));
}

static const tn_expr *n_blocks(packed *w) { return number(w, (w->k + w->a->block - 1) / w->a->block); }

/* ---- few rows ---- */

static void add_block(packed *w, uint32_t total, uint32_t sum, uint32_t plain, const tn_expr *b)
{
    tn_pool *p = w->c.p;
    spot s = columns(w);
    const tn_expr *v =
        tn_mul(p, get(w, sum, s.row, s.column), tn_at3(w->c.te, w->in[SCALE], w->panel, b, s.column));
    v = tn_add(p, get(w, total, s.row, s.column), v);
    if (w->in[SHIFT])
        v = tn_add(p, v,
                   tn_mul(p, get(w, plain, s.row, number(w, 0)),
                          tn_at3(w->c.te, w->in[SHIFT], w->panel, b, s.column)));
    set(w, total, s.row, s.column, v);
}

static void add_step(packed *w, uint32_t sum, uint32_t plain, const tn_expr *k)
{
    tn_pool *p = w->c.p;
    tn_body *back = w->c.at;
    if (w->in[SHIFT]) {
        const tn_expr *m = tn_code_unroll(&w->c, "m", w->tile), *zero = number(w, 0);
        set(w, plain, m, zero, tn_add(p, get(w, plain, m, zero), data(w, m, k)));
        w->c.at = back;
    }
    spot s = columns(w);
    set(w, sum, s.row, s.column,
        tn_add(p, get(w, sum, s.row, s.column), tn_mul(p, data(w, s.row, k), weight(w, &s, k))));
    w->c.at = back;
}

static void few_rows(packed *w)
{
    tn_pool *p = w->c.p;
    uint32_t total = memory(w, "total", w->tile, PANEL, TN_SCOPE_REGISTER),
             sum = memory(w, "sum", w->tile, PANEL, TN_SCOPE_REGISTER),
             plain = w->in[SHIFT] ? memory(w, "plain", w->tile, 1, TN_SCOPE_REGISTER) : 0;
    clear(w, total);
    tn_body *back = w->c.at;
    const tn_expr *b = tn_code_for(&w->c, "b", n_blocks(w));
    clear(w, sum);
    tn_body *block = w->c.at;
    if (w->in[SHIFT]) {
        const tn_expr *m = tn_code_unroll(&w->c, "m", w->tile);
        set(w, plain, m, number(w, 0), tn_flt(p, TN_F32, 0));
        w->c.at = block;
    }
    const tn_expr *i = tn_code_for(&w->c, "i", block_steps(w, b));
    add_step(w, sum, plain, tn_add(p, tn_mul(p, b, number(w, w->a->block)), i));
    w->c.at = block;
    add_block(w, total, sum, plain, b);
    w->c.at = back;
    emit(w, total);
}

/* ---- many rows ---- */

static uint32_t unpack(packed *w)
{
    tn_pool *p = w->c.p;
    uint32_t all = memory(w, "weight", w->k, PANEL, TN_SCOPE_LOCAL);
    tn_body *back = w->c.at;
    int tile = w->tile;
    const tn_expr *b = tn_code_for(&w->c, "b", n_blocks(w)), *i = tn_code_for(&w->c, "i", block_steps(w, b)),
                  *k = tn_add(p, tn_mul(p, b, number(w, w->a->block)), i);
    w->tile = 1;
    spot s = columns(w);
    const tn_expr *v = tn_mul(p, weight(w, &s, k), tn_at3(w->c.te, w->in[SCALE], w->panel, b, s.column));
    v = w->in[SHIFT] ? tn_add(p, v, tn_at3(w->c.te, w->in[SHIFT], w->panel, b, s.column)) : v;
    set(w, all, k, s.column, v);
    w->c.at = back;
    w->tile = tile;
    return all;
}

static void many_rows(packed *w)
{
    tn_pool *p = w->c.p;
    uint32_t all = unpack(w);
    const tn_expr *t = tn_code_for(&w->c, "t", tn_ceildiv(p, w->rows, w->tile));
    w->first_row = tn_mul(p, t, number(w, w->tile));
    uint32_t total = memory(w, "total", w->tile, PANEL, TN_SCOPE_REGISTER);
    clear(w, total);
    tn_body *back = w->c.at;
    const tn_expr *k = tn_code_for(&w->c, "k", number(w, w->k));
    spot s = columns(w);
    set(w, total, s.row, s.column,
        tn_add(p, get(w, total, s.row, s.column), tn_mul(p, data(w, s.row, k), get(w, all, k, s.column))));
    w->c.at = back;
    emit(w, total);
}

static void packed_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    packed w = {.a = n->attr, .k = in[DATA]->dim[1]->u.i};
    int64_t rows = 0;
    w.c = tn_code_open(te, n, 0, "packed_dense", &w.out);
    out[0] = w.out;
    for (int i = 0; i < n->nin; i++)
        w.in[i] = in[i];
    bool few = tn_is_int(in[DATA]->dim[0], &rows) && rows <= FEW_ROWS;
    tn_code_each(&w.c, 1, in[WEIGHT]->dim, &w.panel);
    w.first_row = number(&w, 0);
    w.tile = few ? (int)rows : TILE_ROWS;
    w.rows = few ? NULL : in[DATA]->dim[0];
    if (few && rows > 0)
        few_rows(&w);
    else
        many_rows(&w);
}

/* clang-format off */
static const tn_attr_field packed_fields[] = TN_ATTR_TABLE(tn_packed_attr, TN_PACKED_ATTRS);
static const char *const packed_in[] = {"data", "weight", "scale", "shift"};

const tn_op tn_op_qnn_packed_dense = {
    .name = "qnn.packed_dense",
        .doc = "Products of rows with weights of 2, 4 or 8 bits, packed in panels of 64 columns, with a scale and a "
               "shift for each block of the reduction.",
    .attr_size = sizeof(tn_packed_attr), .attr = packed_fields,
    .nin = OPERANDS, .min_in = 3, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = packed_in,
    .infer = packed_infer, .body = packed_body,
};
/* clang-format on */
