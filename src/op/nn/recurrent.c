/* nn.recurrent: the recurrence of RNN, LSTM and GRU layers in one direction. The projection of all inputs,
 * data = X W^T + bias, is an ordinary nn.dense before it; what remains for each step is h R^T and the gates.
 *
 * A task takes a few rows of the batch through all steps. It keeps the state of its rows in its own memory
 * and a tile of gates x rows x panels of units in registers while it goes along the reduction, so every panel
 * of R is loaded once for all rows. By units (the alternative, for layers whose weights a core's caches do
 * not hold): the steps are those of the kernel, a task computes a tile of units for a few rows, and what the
 * next step reads of it is the results themselves. Each sum has one order, so the bits do not depend on the
 * number of threads. Cost: steps * batch * gates * units^2 multiply-adds.
 */
#include "op/code.h"

#include "machine/machine.h"
#include "op/nn/nn.h"
#include "op/nn/rnn_activation.h"

#include <string.h>

enum { X = 0, R, H0, C0, PEEP, RBIAS, LENS, N_IN, MAX_GATES = 4 };
enum { ALL_H = 0, LAST_H, LAST_C }; /* results */
enum { MAX_ROWS = 4, MAX_PANEL = 16 };

/* ---- cells ---- */

enum cell_kind { CELL_RNN, CELL_GRU, CELL_LSTM, N_CELLS };
typedef struct cell_info {
    const char *name, *activations;
    int gates, n_activation;
} cell_info;
static const cell_info cells[N_CELLS] = {
    {"rnn", "tanh", 1, 1},
    {"gru", "sigmoid tanh", 3, 2},
    {"lstm", "sigmoid tanh tanh", 4, 3},
};

static int cell_of(const tn_recurrent_attr *a)
{
    for (int i = 0; i < N_CELLS; i++)
        if (a->cell && strcmp(a->cell, cells[i].name) == 0)
            return i;
    return -1;
}

static bool read_activations(const tn_recurrent_attr *a, int cell, rnn_activation out[3])
{
    const char *text = a->activations && a->activations[0] ? a->activations : cells[cell].activations;
    for (int i = 0; i < cells[cell].n_activation; i++)
        if (!rnn_activation_read(&text, &out[i]))
            return false;
    return text[strspn(text, " ")] == 0;
}

/* ---- type relation ---- */

static tn_status check_shape(tn_graph *g, const tn_node *n, int i, int rank, const tn_expr *const dim[])
{
    const tn_type *t;
    if (i >= n->nin || !tn_in(n, i).def)
        return TN_OK;
    TN_TRY(tn_rule_tensor(g, n, i, rank, &t));
    for (int d = 0; d < rank; d++)
        if (!tn_rule_agree(g, n, t->dim[d], dim[d]) &&
            t->dim[d]->kind != TN_E_SYM) /* else looked at in the run */
            return tn_rule_fail(g, n, "op-E008", "%s is %s, but dimension %d must be %s",
                                tn_rule_in_name(g, n, i), tn_rule_type_text(g, t), d,
                                tn_rule_dim_text(g, dim[d]));
    if (i != LENS)
        return tn_rule_same_dtype(g, n, i);
    return tn_dtype_is_int(t->dtype)
               ? TN_OK
               : tn_rule_fail(g, n, "op-E011", "%s must be integers, but is %s; cast it",
                              tn_rule_in_name(g, n, i), tn_rule_type_text(g, t));
}

static tn_status recurrent_infer(tn_graph *g, tn_node *n)
{
    const tn_recurrent_attr *a = n->attr;
    const tn_type *x, *r;
    rnn_activation f[3] = {{0}};
    int cell = cell_of(a);
    if (cell < 0)
        return tn_rule_fail(g, n, "op-E007", "cell is \"%s\"; rnn, gru and lstm are known",
                            a->cell ? a->cell : "");
    if (!read_activations(a, cell, f))
        return tn_rule_fail(g, n, "op-E007",
                            "activations are \"%s\", but a cell of type %s takes %d of the known ones",
                            a->activations, a->cell, cells[cell].n_activation);
    TN_TRY(tn_rule_tensor(g, n, X, 3, &x));
    TN_TRY(tn_rule_tensor(g, n, R, 3, &r));
    TN_TRY(tn_rule_float(g, n, X));
    const tn_expr *gates = tn_idx(g->pool, cells[cell].gates), *units = r->dim[1];
    const tn_expr *rdim[] = {gates, units, units}, *state[] = {x->dim[1], units},
                  *peep[] = {tn_idx(g->pool, 3), units};
    const tn_expr *xdim[] = {x->dim[0], x->dim[1], tn_mul(g->pool, gates, units)};
    int64_t count;
    if (!tn_is_int(units, &count) || count < 1 || count > 1 << 20)
        return tn_rule_fail(g, n, "op-E009", "the number of units of %s must be a number in [1, 2^20]",
                            tn_rule_type_text(g, r));
    TN_TRY(check_shape(g, n, R, 3, rdim));
    TN_TRY(check_shape(g, n, X, 3, xdim));
    TN_TRY(check_shape(g, n, H0, 2, state));
    TN_TRY(check_shape(g, n, C0, 2, state));
    TN_TRY(check_shape(g, n, PEEP, 2, peep));
    TN_TRY(check_shape(g, n, RBIAS, 1, &units));
    TN_TRY(check_shape(g, n, LENS, 1, &x->dim[1]));
    const tn_expr *all[] = {x->dim[0], x->dim[1], units};
    TN_TRY(tn_rule_result(g, n, ALL_H, x->dtype, 3, all));
    for (int k = LAST_H; k < n->nout; k++)
        TN_TRY(tn_rule_result(g, n, k, x->dtype, 2, state));
    return TN_OK;
}

static int recurrent_nout(const void *attr) { return cell_of(attr) == CELL_LSTM ? 3 : 2; }

/* ---- the body ---- */

typedef struct body {
    tn_code code;
    tn_te *te;
    tn_func *f;
    tn_pool *p;
    const tn_recurrent_attr *a;
    tn_tensor *const *in, *const *out;
    enum cell_kind cell;
    rnn_activation act[3];
    tn_dtype t, stored;                          /* of arithmetic; of the results */
    int64_t units, padded;                       /* padded: up to whole panels */
    int rows, panel, nv;                         /* of a tile; nv panels: units whose weights lie together */
    const tn_expr *steps, *batch, *first, *time; /* first row of the task */
    uint32_t h, next, c, z, rh;                  /* state of the rows, [rows, padded]; z, rh: GRU */
} body;

static void put(body *b, tn_stmt *s) { tn_body_append(b->code.at, s); }

static uint32_t memory(body *b, const char *name, enum tn_scope scope, int64_t outer, int64_t inner)
{
    const tn_expr *dim[] = {tn_idx(b->p, outer), tn_idx(b->p, inner)};
    return tn_code_buffer(&b->code, name, b->t, 2, dim, scope);
}

static const tn_expr *get(body *b, uint32_t buffer, const tn_expr *i, const tn_expr *j)
{
    const tn_expr *index[] = {i, j};
    return tn_code_load(&b->code, buffer, 2, index);
}

static void set(body *b, uint32_t buffer, const tn_expr *i, const tn_expr *j, const tn_expr *value)
{
    const tn_expr *index[] = {i, j};
    tn_code_store(&b->code, buffer, 2, index, value);
}

/* Is `unit` one of the layer's, not one that fills the last panel up? NULL: always. */
static const tn_expr *inside(const body *b, const tn_expr *unit)
{
    return b->padded == b->units ? NULL : tn_lt(b->p, unit, tn_idx(b->p, b->units));
}

/* Element of an operand whose last index is a unit or based on one; 0 beyond the units. */
static const tn_expr *read(body *b, int operand, int n, const tn_expr *const index[], const tn_expr *unit)
{
    const tn_tensor *t = b->in[operand];
    const tn_expr *c = inside(b, unit);
    const tn_expr *v =
        c ? tn_at_if(b->te, t, n, index, c, tn_const(b->p, t->dtype, 0)) : tn_at(b->te, t, n, index);
    return tn_cast(b->p, b->t, v);
}

/* Row m of the task in the batch; a tile that sticks out reads the last row again. */
static const tn_expr *row_of(const body *b, const tn_expr *m)
{
    const tn_expr *row = tn_add(b->p, b->first, m);
    int64_t n;
    bool whole = b->rows == 1 || (tn_is_int(b->batch, &n) && n % b->rows == 0);
    return whole ? row : tn_min(b->p, row, tn_sub(b->p, b->batch, tn_idx(b->p, 1)));
}

static const tn_expr *row_exists(const body *b, const tn_expr *m)
{
    int64_t n;
    bool whole = b->rows == 1 || (tn_is_int(b->batch, &n) && n % b->rows == 0);
    return whole ? NULL : tn_lt(b->p, tn_add(b->p, b->first, m), b->batch);
}

/* Element [row m, unit] of a result, or [step, row m, unit] of ALL_H, is value, where there is such a row and unit and
 * `cond` (NULL: always). */
static void emit(body *b, int result, const tn_expr *step, const tn_expr *m, const tn_expr *unit,
                 const tn_expr *value, const tn_expr *cond)
{
    const tn_expr *index[] = {step, row_of(b, m), unit};
    put(b, tn_stmt_store(b->f, b->out[result]->buffer, 2 + (step != NULL), step ? index : index + 1,
                         tn_cast(b->p, b->stored, value),
                         tn_rule_both(b->p, tn_rule_both(b->p, cond, row_exists(b, m)), inside(b, unit))));
}

/* How many steps row m has; NULL: all. */
static const tn_expr *length_of(body *b, const tn_expr *m)
{
    if (!b->in[LENS])
        return NULL;
    const tn_expr *row = row_of(b, m);
    return tn_cast(b->p, TN_IDX, tn_at(b->te, b->in[LENS], 1, &row));
}

/* The place of step `time` in data and result: backwards from a row's last step where reversed. What data says
 * beyond the steps of a row is clamped there and not used. */
static const tn_expr *place(body *b, const tn_expr *length)
{
    tn_pool *p = b->p;
    const tn_expr *last = tn_sub(p, length ? length : b->steps, tn_idx(p, 1));
    if (!b->a->reverse)
        return b->time;
    const tn_expr *back = tn_sub(p, last, b->time);
    if (!length)
        return back;
    back = tn_min(p, tn_max(p, back, tn_idx(p, 0)), tn_sub(p, b->steps, tn_idx(p, 1)));
    return tn_select(p, tn_lt(p, b->time, length), back, b->time);
}

/* Loops over rows and units around `row`, `unit`. */
typedef struct {
    tn_body *back;
    const tn_expr *row, *unit;
} tile_loops;

static tile_loops all_units(body *b, const char *name)
{
    tile_loops l = {.back = b->code.at};
    l.row = tn_code_unroll(&b->code, "m", b->rows);
    l.unit = tn_code_spread(&b->code, name, tn_idx(b->p, b->padded));
    return l;
}

static void start_state(body *b, uint32_t state, int operand)
{
    tile_loops l = all_units(b, "u");
    const tn_expr *index[] = {row_of(b, l.row), l.unit};
    set(b, state, l.row, l.unit,
        b->in[operand] ? read(b, operand, 2, index, l.unit) : tn_const(b->p, b->t, 0));
    b->code.at = l.back;
}

/* One tile: gates [first, first + n) of some units; acc holds h R^T, and of the gates in `add` also data.
 * from: the state that is multiplied. */
typedef struct {
    uint32_t acc;
    int first, n;
} tile;

/* Loops over the units of a tile from `base`: the place in the tile, and *unit. */
static const tn_expr *tile_column(body *b, const tn_expr *base, const tn_expr **unit)
{
    const tn_expr *panel = tn_code_unroll(&b->code, "v", b->nv),
                  *l = tn_code_spread(&b->code, "l", tn_idx(b->p, b->panel));
    const tn_expr *in = tn_add(b->p, tn_mul(b->p, panel, tn_idx(b->p, b->panel)), l);
    *unit = tn_add(b->p, base, in);
    return in;
}

static const tn_expr *acc_row(const body *b, const tn_expr *gate, const tn_expr *m)
{
    return tn_add(b->p, tn_mul(b->p, gate, tn_idx(b->p, b->rows)), m);
}

/* data[place, row, gate * units + unit] */
static const tn_expr *data_at(body *b, const tn_expr *gate, const tn_expr *m, const tn_expr *unit)
{
    const tn_expr *index[] = {place(b, length_of(b, m)), row_of(b, m),
                              tn_add(b->p, tn_mul(b->p, gate, tn_idx(b->p, b->units)), unit)};
    return read(b, X, 3, index, unit);
}

static tile multiply(body *b, const char *name, int first, int n, const tn_expr *base, uint32_t from,
                     bool add_data)
{
    tn_pool *p = b->p;
    tile t = {memory(b, name, TN_SCOPE_REGISTER, (int64_t)n * b->rows, (int64_t)b->nv * b->panel), first, n};
    tn_body *back = b->code.at;
    const tn_expr *unit, *k = NULL;
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            k = tn_code_for(&b->code, "k", tn_idx(p, b->units));
        const tn_expr *g = tn_code_unroll(&b->code, "g", n), *gate = tn_add(p, g, tn_idx(p, first));
        const tn_expr *m = tn_code_unroll(&b->code, "m", b->rows), *column = tile_column(b, base, &unit);
        const tn_expr *row = acc_row(b, g, m), *value;
        if (pass) {
            const tn_expr *index[] = {gate, unit, k};
            value = tn_add(p, get(b, t.acc, row, column),
                           tn_mul(p, get(b, from, m, k), read(b, R, 3, index, unit)));
        } else {
            value = add_data ? data_at(b, gate, m, unit) : tn_const(p, b->t, 0);
        }
        set(b, t.acc, row, column, value);
        b->code.at = back;
    }
    return t;
}

static const tn_expr *activate(body *b, int which, const tn_expr *x)
{
    tn_pool *p = b->p;
    const rnn_activation *c = &b->act[which];
    if (b->a->clip > 0)
        x = tn_min(p, tn_max(p, x, tn_const(p, b->t, -b->a->clip)), tn_const(p, b->t, b->a->clip));
    return rnn_activation_of(p, c, x);
}

/* The last activation of an LSTM is applied to the cell, which is not clipped. */
static const tn_expr *activate_plain(body *b, int which, const tn_expr *x)
{
    return rnn_activation_of(b->p, &b->act[which], x);
}

/* Where a gate's sum is read: a unit of one row. */
typedef struct {
    const tn_expr *m, *column, *unit;
} spot;

static const tn_expr *sum_of(body *b, const tile *t, const spot *s, int gate)
{
    return get(b, t->acc, acc_row(b, tn_idx(b->p, gate - t->first), s->m), s->column);
}

/* A peephole term: weight of the gate times the cell. */
static const tn_expr *peep(body *b, const tn_expr *sum, int which, const spot *s, const tn_expr *cell)
{
    const tn_expr *index[] = {tn_idx(b->p, which), s->unit};
    if (!b->in[PEEP])
        return sum;
    return tn_add(b->p, sum, tn_mul(b->p, read(b, PEEP, 2, index, s->unit), cell));
}

/* The last h and c of a layer by units, written at every step a row has (and at the first: of what it began with). */
static void keep_last(body *b, const spot *s, const tn_expr *length, const tn_expr *h, const tn_expr *c)
{
    tn_pool *p = b->p;
    const tn_expr *runs = NULL;
    if (length)
        runs = tn_bin(p, TN_E_OR, tn_lt(p, b->time, length), tn_eq(p, b->time, tn_idx(p, 0)));
    emit(b, LAST_H, NULL, s->m, s->unit, h, runs);
    if (c)
        emit(b, LAST_C, NULL, s->m, s->unit, c, runs);
}

/* The new h (and c) of one spot: kept, and written to the result; rows whose steps are over keep theirs. */
static void finish(body *b, const spot *s, const tn_expr *h, const tn_expr *c)
{
    tn_pool *p = b->p;
    const tn_expr *length = length_of(b, s->m), *y = h;
    if (length) {
        const tn_expr *runs = tn_lt(p, b->time, length);
        y = tn_select(p, runs, h, tn_const(p, b->t, 0));
        h = tn_select(p, runs, h, get(b, b->h, s->m, s->unit));
        c = c ? tn_select(p, runs, c, get(b, b->c, s->m, s->unit)) : NULL;
    }
    if (c)
        c = tn_code_let(&b->code, "c", c);
    h = tn_code_let(&b->code, "h", h);
    emit(b, ALL_H, place(b, length), s->m, s->unit, length ? y : h, NULL);
    if (b->a->by_units) {
        keep_last(b, s, length, h, c);
        return;
    }
    set(b, b->next, s->m, s->unit, h);
    if (c)
        set(b, b->c, s->m, s->unit, c);
}

static void lstm_gates(body *b, const tile *t, const spot *s)
{
    tn_pool *p = b->p;
    const tn_expr *c = get(b, b->c, s->m, s->unit); /* gates are i o f c, peepholes i o f */
    const tn_expr *i = tn_code_let(&b->code, "i", activate(b, 0, peep(b, sum_of(b, t, s, 0), 0, s, c)));
    const tn_expr *f = b->a->input_forget ? tn_sub(p, tn_const(p, b->t, 1), i)
                                          : activate(b, 0, peep(b, sum_of(b, t, s, 2), 2, s, c));
    const tn_expr *n = activate(b, 1, sum_of(b, t, s, 3));
    c = tn_code_let(&b->code, "cell", tn_add(p, tn_mul(p, f, c), tn_mul(p, i, n)));
    const tn_expr *o = activate(b, 0, peep(b, sum_of(b, t, s, 1), 1, s, c));
    finish(b, s, tn_mul(p, o, activate_plain(b, 2, c)), c);
}

static void rnn_gates(body *b, const tile *t, const spot *s)
{
    finish(b, s, activate(b, 0, sum_of(b, t, s, 0)), NULL);
}

/* h' = (1 - z) n + z h */
static void gru_mix(body *b, const spot *s, const tn_expr *z, const tn_expr *n)
{
    tn_pool *p = b->p;
    z = tn_code_let(&b->code, "z", z);
    finish(b, s,
           tn_add(p, tn_mul(p, tn_sub(p, tn_const(p, b->t, 1), z), n),
                  tn_mul(p, z, get(b, b->h, s->m, s->unit))),
           NULL);
}

/* linear_before_reset: n = g(data + r (h R^T + bias)), all in one pass. */
static void gru_gates(body *b, const tile *t, const spot *s)
{
    tn_pool *p = b->p;
    const tn_expr *sum = sum_of(b, t, s, 2);
    if (b->in[RBIAS])
        sum = tn_add(p, sum, read(b, RBIAS, 1, &s->unit, s->unit));
    const tn_expr *z = activate(b, 0, tn_add(p, sum_of(b, t, s, 0), data_at(b, tn_idx(p, 0), s->m, s->unit)));
    const tn_expr *r = activate(b, 0, tn_add(p, sum_of(b, t, s, 1), data_at(b, tn_idx(p, 1), s->m, s->unit)));
    const tn_expr *n = activate(b, 1, tn_add(p, data_at(b, tn_idx(p, 2), s->m, s->unit), tn_mul(p, r, sum)));
    gru_mix(b, s, z, n);
}

/* Otherwise n = g(data + (r h) R^T): z and r h of all units first, */
static void gru_first(body *b, const tile *t, const spot *s)
{
    tn_pool *p = b->p;
    set(b, b->z, s->m, s->unit, activate(b, 0, sum_of(b, t, s, 0)));
    set(b, b->rh, s->m, s->unit, tn_mul(p, activate(b, 0, sum_of(b, t, s, 1)), get(b, b->h, s->m, s->unit)));
}

/* then the new state. */
static void gru_second(body *b, const tile *t, const spot *s)
{
    gru_mix(b, s, get(b, b->z, s->m, s->unit), activate(b, 1, sum_of(b, t, s, 2)));
}

typedef void gates_fn(body *b, const tile *t, const spot *s);

/* Gates [first, first + n) of the tile at `base` multiplied, then `gates` for each unit. */
static void one_tile(body *b, const char *name, int first, int n, const tn_expr *base, uint32_t from,
                     bool add_data, gates_fn *gates)
{
    tn_body *back = b->code.at;
    tile t = multiply(b, name, first, n, base, from, add_data);
    spot s;
    s.m = tn_code_unroll(&b->code, "m", b->rows);
    s.column = tile_column(b, base, &s.unit);
    gates(b, &t, &s);
    b->code.at = back;
}

/* The same for tiles over all units. */
static void sweep(body *b, const char *name, int first, int n, uint32_t from, bool add_data, gates_fn *gates)
{
    tn_body *back = b->code.at;
    int64_t wide = (int64_t)b->nv * b->panel;
    const tn_expr *count = tn_code_for(&b->code, "tile", tn_idx(b->p, b->padded / wide));
    one_tile(b, name, first, n, tn_mul(b->p, count, tn_idx(b->p, wide)), from, add_data, gates);
    b->code.at = back;
}

static void one_step(body *b)
{
    if (b->cell == CELL_LSTM) {
        sweep(b, "sums", 0, 4, b->h, true, lstm_gates);
    } else if (b->cell == CELL_RNN) {
        sweep(b, "sums", 0, 1, b->h, true, rnn_gates);
    } else if (b->a->linear_before_reset) {
        sweep(b, "sums", 0, 3, b->h, false, gru_gates);
    } else {
        sweep(b, "sums", 0, 2, b->h, true, gru_first);
        sweep(b, "new_sums", 2, 1, b->rh, true, gru_second);
    }
    tile_loops l = all_units(b, "u");
    set(b, b->h, l.row, l.unit, get(b, b->next, l.row, l.unit));
    b->code.at = l.back;
}

/* ---- layers by units ---- */

/* Where row m's h of the step before is. A row that has ended reads something; it is not used. */
static const tn_expr *place_before(body *b, const tn_expr *m)
{
    tn_pool *p = b->p;
    const tn_expr *length = length_of(b, m), *now = place(b, length), *one_step = tn_idx(p, 1);
    const tn_expr *at = b->a->reverse ? tn_add(p, now, one_step) : tn_sub(p, now, one_step);
    if (b->a->reverse && length)
        at = tn_select(p, tn_lt(p, b->time, length), at, tn_sub(p, now, one_step));
    return tn_max(p, tn_min(p, at, tn_sub(p, b->steps, one_step)), tn_idx(p, 0));
}

/* Units [base, base + count) of a state (`name`): a result of the step before, where there was one; else an
 * operand, or 0. */
static void load_state(body *b, const char *name, uint32_t state, int operand, int result,
                       const tn_expr *base, int64_t count)
{
    tn_pool *p = b->p;
    tn_stmt *first = tn_stmt_if(b->f, tn_eq(p, b->time, tn_idx(p, 0)));
    tn_body *back = b->code.at;
    put(b, first);
    for (int later = 0; later < 2; later++) {
        b->code.at = later ? &first->u.cond.other : &first->u.cond.then;
        const tn_expr *m = tn_code_unroll(&b->code, "m", b->rows),
                      *unit = tn_add(p, base, tn_code_spread(&b->code, name, tn_idx(p, count)));
        const tn_expr *at[] = {result == ALL_H ? place_before(b, m) : NULL, row_of(b, m), unit},
                      *none = tn_const(p, b->stored, 0), *c = inside(b, unit);
        int skip = result != ALL_H;
        if (later)
            set(b, state, m, unit,
                tn_load(p, b->stored, b->out[result]->buffer, 3 - skip, at + skip, c, c ? none : NULL));
        else
            set(b, state, m, unit, b->in[operand] ? read(b, operand, 2, at + 1, unit) : tn_const(p, b->t, 0));
    }
    b->code.at = back;
}

/* A phase: tasks of tiles x rows. Returns the first unit of the task's tile. */
static const tn_expr *open_task(body *b)
{
    tn_pool *p = b->p;
    int64_t wide = (int64_t)b->nv * b->panel;
    const tn_expr *tiles = tn_idx(p, b->padded / wide), *task;
    const tn_expr *tasks = tn_mul(p, tn_ceildiv(p, b->batch, b->rows), tiles);
    tn_code_each(&b->code, 1, &tasks, &task);
    b->first = tn_mul(p, tn_fdiv(p, task, tiles), tn_idx(p, b->rows));
    return tn_mul(p, tn_fmod(p, task, tiles), tn_idx(p, wide));
}

/* h of all units, c of the tile's. */
static void read_states(body *b, const tn_expr *base)
{
    b->h = memory(b, "state", TN_SCOPE_LOCAL, b->rows, b->padded);
    b->next = b->h;
    load_state(b, "u", b->h, H0, ALL_H, tn_idx(b->p, 0), b->padded);
    if (b->cell != CELL_LSTM)
        return;
    b->c = memory(b, "cell_state", TN_SCOPE_LOCAL, b->rows, b->padded);
    load_state(b, "l", b->c, C0, LAST_C, base, (int64_t)b->nv * b->panel);
}

/* z and r h of the tile, for the next phase. */
static void gru_first_global(body *b, const tile *t, const spot *s)
{
    tn_pool *p = b->p;
    const tn_expr *row = tn_add(p, b->first, s->m);
    set(b, b->z, row, s->unit, activate(b, 0, sum_of(b, t, s, 0)));
    set(b, b->rh, row, s->unit, tn_mul(p, activate(b, 0, sum_of(b, t, s, 1)), get(b, b->h, s->m, s->unit)));
}

static void gru_second_global(body *b, const tile *t, const spot *s)
{
    gru_mix(b, s, get(b, b->z, tn_add(b->p, b->first, s->m), s->unit), activate(b, 1, sum_of(b, t, s, 2)));
}

/* The last h (and c) of the task's tile where the layer has no steps: what it began with. */
static void keep_first(body *b, const tn_expr *base)
{
    tn_body *back = b->code.at;
    const tn_expr *m = tn_code_unroll(&b->code, "m", b->rows), *unit;
    (void)tile_column(b, base, &unit);
    for (int k = LAST_H; k <= (b->cell == CELL_LSTM ? LAST_C : LAST_H); k++) {
        const tn_expr *index[] = {row_of(b, m), unit};
        int operand = k == LAST_H ? H0 : C0;
        emit(b, k, NULL, m, unit, b->in[operand] ? read(b, operand, 2, index, unit) : tn_const(b->p, b->t, 0),
             NULL);
    }
    b->code.at = back;
}

/* May the layer have no steps? Then the kernel still runs one, which does nothing but keep_first. */
static bool may_be_empty(const body *b)
{
    int64_t n;
    return !tn_is_int(b->steps, &n) || n < 1;
}

static void one_phase(body *b, const char *name, int first, int n, bool from_rh, bool add_data,
                      gates_fn *gates)
{
    tn_body *back = b->code.at;
    const tn_expr *base = open_task(b);
    if (may_be_empty(b)) {
        tn_stmt *runs = tn_stmt_if(b->f, tn_lt(b->p, tn_idx(b->p, 0), b->steps));
        put(b, runs);
        b->code.at = &runs->u.cond.other;
        if (first == 0)
            keep_first(b, base);
        b->code.at = &runs->u.cond.then;
    }
    read_states(b, base);
    uint32_t from = b->h;
    if (from_rh) {
        from = memory(b, "reset_state", TN_SCOPE_LOCAL, b->rows, b->padded);
        tile_loops l = all_units(b, "u");
        set(b, from, l.row, l.unit, get(b, b->rh, tn_add(b->p, b->first, l.row), l.unit));
        b->code.at = l.back;
    }
    one_tile(b, name, first, n, base, from, add_data, gates);
    b->code.at = back;
}

static void by_units(body *b)
{
    tn_pool *p = b->p;
    if (b->cell == CELL_GRU && !b->a->linear_before_reset) {
        const tn_expr *rows = tn_mul(p, tn_ceildiv(p, b->batch, b->rows), tn_idx(p, b->rows));
        const tn_expr *dim[] = {rows, tn_idx(p, b->padded)};
        tn_buffer x = {.dtype = b->t, .ndim = 2, .dim = dim, .scope = TN_SCOPE_GLOBAL, .param = -1};
        x.name = "update";
        b->z = tn_func_add_buffer(b->f, &x);
        x.name = "reset";
        b->rh = tn_func_add_buffer(b->f, &x);
        put(b, tn_stmt_decl(b->f, b->z));
        put(b, tn_stmt_decl(b->f, b->rh));
    }
    const tn_expr *turns = may_be_empty(b) ? tn_max(p, b->steps, tn_idx(p, 1)) : b->steps;
    b->time = tn_code_for(&b->code, "t", turns);
    if (b->cell == CELL_LSTM) {
        one_phase(b, "sums", 0, 4, false, true, lstm_gates);
    } else if (b->cell == CELL_RNN) {
        one_phase(b, "sums", 0, 1, false, true, rnn_gates);
    } else if (b->a->linear_before_reset) {
        one_phase(b, "sums", 0, 3, false, false, gru_gates);
    } else {
        one_phase(b, "sums", 0, 2, false, true, gru_first_global);
        one_phase(b, "new_sums", 2, 1, true, true, gru_second_global);
    }
}

static void last_state(body *b, uint32_t state, int result)
{
    tile_loops l = all_units(b, "u");
    emit(b, result, NULL, l.row, l.unit, get(b, state, l.row, l.unit), NULL);
    b->code.at = l.back;
}

/* The panels of the layout of R, else of MAX_PANEL; no more than the units need. */
static void choose_tile(body *b)
{
    const tn_layout *l = b->f->buffer[b->in[R]->buffer].layout;
    int most = l && l->naxis == 4 && l->axis[3].dim == 1 ? (int)l->axis[3].factor : MAX_PANEL;
    int64_t batch;
    b->panel = most;
    while (b->panel > 2 && b->panel / 2 >= b->units)
        b->panel /= 2;
    b->padded = (b->units + b->panel - 1) / b->panel * b->panel;
    b->rows = most >= MAX_PANEL ? MAX_ROWS : MAX_ROWS / 2;
    while (tn_is_int(b->batch, &batch) && b->rows > 1 && b->rows / 2 >= batch)
        b->rows /= 2;
    b->nv = b->rows == 1 && b->padded / b->panel % 2 == 0 ? 2 : 1;
}

/* Operands with a symbol for the batch were taken to fit. */
static void require_batch(const body *b)
{
    static const int states[] = {H0, C0};
    for (int i = 0; i < 2; i++)
        if (b->in[states[i]])
            tn_rule_require_equal(b->te, b->in[states[i]]->dim[0], b->batch, 0);
    if (b->in[LENS])
        tn_rule_require_equal(b->te, b->in[LENS]->dim[0], b->batch, 0);
}

static void recurrent_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    static const char *const last[] = {"last_h", "last_c"};
    tn_tensor *given[N_IN] = {0};
    tn_code code = tn_code_open(te, n, ALL_H, "recurrent", &out[ALL_H]);
    for (int k = LAST_H; k < n->nout; k++)
        out[k] = tn_code_output(te, n, k, last[k - LAST_H], out[ALL_H]);
    for (int i = 0; i < n->nin; i++)
        given[i] = in[i];
    body b = {.code = code, .te = te, .f = te->func, .p = te->pool, .a = n->attr, .in = given, .out = out};
    b.cell = (enum cell_kind)cell_of(b.a);
    (void)read_activations(b.a, b.cell, b.act);
    b.stored = out[ALL_H]->dtype;
    b.t = b.stored.bits < 32 ? TN_F32 : b.stored;
    b.units = in[R]->dim[1]->u.i;
    b.steps = in[X]->dim[0];
    b.batch = in[X]->dim[1];
    choose_tile(&b);
    require_batch(&b);
    if (b.a->by_units) {
        by_units(&b);
        return;
    }
    const tn_expr *tasks = tn_ceildiv(b.p, b.batch, b.rows), *task;
    tn_code_each(&b.code, 1, &tasks, &task);
    b.first = tn_mul(b.p, task, tn_idx(b.p, b.rows));
    b.h = memory(&b, "state", TN_SCOPE_LOCAL, b.rows, b.padded);
    b.next = memory(&b, "next", TN_SCOPE_LOCAL, b.rows, b.padded);
    start_state(&b, b.h, H0);
    if (b.cell == CELL_LSTM) {
        b.c = memory(&b, "cell_state", TN_SCOPE_LOCAL, b.rows, b.padded);
        start_state(&b, b.c, C0);
    } else if (b.cell == CELL_GRU && !b.a->linear_before_reset) {
        b.z = memory(&b, "update", TN_SCOPE_LOCAL, b.rows, b.padded);
        b.rh = memory(&b, "reset", TN_SCOPE_LOCAL, b.rows, b.padded);
    }
    tn_body *whole = b.code.at;
    b.time = tn_code_for(&b.code, "t", b.steps);
    one_step(&b);
    b.code.at = whole;
    last_state(&b, b.h, LAST_H);
    if (b.cell == CELL_LSTM)
        last_state(&b, b.c, LAST_C);
}

/* Panels of a vector's units for each k: what a step of the reduction reads of a gate lies together. */
static void recurrent_layout(tn_layout_query *q)
{
    int panel = (int)(q->machine->vector_bits / 32);
    for (int i = 0; i < q->node->nin; i++)
        q->in[i] = NULL;
    for (int k = 0; k < q->node->nout; k++)
        q->out[k] = NULL;
    panel = panel > MAX_PANEL ? MAX_PANEL : panel;
    if (panel >= 2)
        q->in[R] = tn_rule_weight_layout(q, R, "GNK%dn", panel);
}

/* Do the weights exceed what a core's caches hold? States between steps must be exact: no narrow floats. */
static bool exceeds_caches(const tn_node *n, const tn_machine *m)
{
    const tn_type *r = tn_in_type(n, R);
    const tn_recurrent_attr *a = n->attr;
    int64_t units;
    if (a->by_units || !m->l2_bytes || r->dtype.bits < 32 || !tn_is_int(r->dim[1], &units))
        return false;
    return cells[cell_of(a)].gates * units * units * tn_dtype_bytes(r->dtype) > (int64_t)m->l2_bytes / 2;
}

static tn_status divide_units(tn_graph *g, tn_node *n, tn_value out[])
{
    tn_recurrent_attr a = *(const tn_recurrent_attr *)n->attr;
    tn_value *in = TN_NEW_N(g->arena, tn_value, n->nin);
    for (int i = 0; i < n->nin; i++)
        in[i] = tn_in(n, i);
    a.by_units = true;
    tn_node *made = tn_make_call(g, n->owner, n, n->op, n->nin, in, &a, n->loc);
    for (int k = 0; made && k < n->nout; k++)
        out[k] = (tn_value){made, k};
    return made ? TN_OK : TN_FAIL;
}

static const tn_alternative recurrent_ways[] = {
    {"by_units", "each step divided among tasks by units: weights that a core's caches do not hold",
     exceeds_caches, NULL, divide_units},
};

/* clang-format off */
static const tn_attr_field recurrent_fields[] = TN_ATTR_TABLE(tn_recurrent_attr, TN_RECURRENT_ATTRS);
static const char *const recurrent_in[] = {"data", "the recurrence weight", "initial_h", "initial_c", "the peepholes",
    "the recurrence bias", "sequence_lens"};

const tn_op tn_op_nn_recurrent = {
    .name = "nn.recurrent",
        .doc = "Recurrent layer over projected data [steps, batch, gates * units] with weight [gates, units, units] "
               "(results, then inputs); all h [steps, batch, units], last h and, of lstm, last c [batch, units].",
    .attr_size = sizeof(tn_recurrent_attr), .attr = recurrent_fields,
    .nin = N_IN, .min_in = 2, .nout = -1, .nout_of = recurrent_nout, .fuse = TN_FUSE_OPAQUE, .in_name = recurrent_in,
    .infer = recurrent_infer, .layout = recurrent_layout, .body = recurrent_body,
    .alternative = recurrent_ways, .n_alternative = 1,
};
/* clang-format on */
