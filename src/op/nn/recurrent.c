/* nn.recurrent: the recurrence of RNN, LSTM and GRU layers in one direction. The projection of all inputs,
 * data = X W^T + bias, is an ordinary nn.dense before it; what remains for each step is h R^T and the gates.
 *
 * The body says what a step computes: blocks over the rows of the batch and the units, in a serial loop over the
 * steps. A step reads the states that the step before it left, makes new ones, and copies them at its end: each
 * unit's sums need the old states of all units. The states are exact where the results are narrow floats.
 * Cost: steps * batch * gates * units^2 multiply-adds.
 */
#include "op/code.h"

#include "machine/machine.h"
#include "op/nn/nn.h"
#include "op/nn/rnn_activation.h"

#include <string.h>

enum { X = 0, R, H0, C0, PEEP, RBIAS, LENS, N_IN, MAX_GATES = 4 };
enum { ALL_H = 0, LAST_H, LAST_C }; /* results */

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
    tn_dtype t; /* of arithmetic and states */
    const tn_expr *steps, *batch, *units;
    const tn_expr *time, *row, *unit;                   /* the step, and what a block makes an element for */
    uint32_t state, cell_state, new_state, new_cell, h; /* [batch, units] */
    uint32_t sums, new_sums, update,
        reset; /* [gates, batch, units], [1, batch, units]; GRU: [batch, units] */
} body;

static uint32_t memory(body *b, const char *name, int64_t gates)
{
    const tn_expr *dim[] = {tn_idx(b->p, gates), b->batch, b->units};
    return tn_code_buffer(&b->code, name, b->t, gates ? 3 : 2, gates ? dim : dim + 1, TN_SCOPE_GLOBAL);
}

static const tn_expr *get(body *b, uint32_t buffer, const tn_expr *unit)
{
    const tn_expr *index[] = {b->row, unit};
    return tn_code_load(&b->code, buffer, 2, index);
}

/* The element of a state for the row and unit at hand. */
static const tn_expr *own(body *b, uint32_t buffer) { return get(b, buffer, b->unit); }

static const tn_expr *sum_of(body *b, uint32_t sums, int gate)
{
    const tn_expr *index[] = {tn_idx(b->p, gate), b->row, b->unit};
    return tn_code_load(&b->code, sums, 3, index);
}

static const tn_expr *read(body *b, int operand, int n, const tn_expr *const index[])
{
    return tn_cast(b->p, b->t, tn_at(b->te, b->in[operand], n, index));
}

/* How many steps the row has; NULL: all. */
static const tn_expr *length_of(body *b)
{
    return b->in[LENS] ? tn_cast(b->p, TN_IDX, tn_at1(b->te, b->in[LENS], b->row)) : NULL;
}

/* The place of step `time` in data and result: backwards from a row's last step where reversed. What data says
 * beyond the steps of a row is clamped there and not used. */
static const tn_expr *place(body *b)
{
    tn_pool *p = b->p;
    const tn_expr *length = length_of(b), *last = tn_sub(p, length ? length : b->steps, tn_idx(p, 1));
    if (!b->a->reverse)
        return b->time;
    const tn_expr *back = tn_sub(p, last, b->time);
    if (!length)
        return back;
    back = tn_min(p, tn_max(p, back, tn_idx(p, 0)), tn_sub(p, b->steps, tn_idx(p, 1)));
    return tn_select(p, tn_lt(p, b->time, length), back, b->time);
}

/* Does the row still have this step? If not, `ended` is taken for the value. */
static const tn_expr *while_it_runs(body *b, const tn_expr *value, const tn_expr *ended)
{
    const tn_expr *length = length_of(b);
    return length ? tn_select(b->p, tn_lt(b->p, b->time, length), value, ended) : value;
}

/* data[place, row, gate * units + unit] */
static const tn_expr *data_at(body *b, const tn_expr *gate)
{
    const tn_expr *index[] = {place(b), b->row, tn_add(b->p, tn_mul(b->p, gate, b->units), b->unit)};
    return read(b, X, 3, index);
}

/* ---- nests ---- */

static const tn_expr *axis(body *b, tn_stmt *block, int i, const char *name, const tn_expr *extent,
                           enum tn_iter_kind kind)
{
    const tn_expr *at = tn_code_for(&b->code, name, extent), *var = tn_func_add_var(b->f, name, TN_IDX);
    block->u.block.iter[i] = (tn_iter){var, extent, at, (uint8_t)kind};
    return var;
}

typedef const tn_expr *element_fn(body *b);

/* Block `name` over all rows and units: an element is what `value` says. To [step, row, unit] of a result of three
 * dimensions, else to [row, unit]. */
static void each_element(body *b, const char *name, uint32_t buffer, element_fn *value)
{
    tn_body *back = b->code.at;
    tn_stmt *block = tn_stmt_block(b->f, name, "recurrent", 2);
    block->u.block.source = b->te->source;
    b->row = axis(b, block, 0, "b", b->batch, TN_ITER_SPATIAL);
    b->unit = axis(b, block, 1, "u", b->units, TN_ITER_SPATIAL);
    tn_body_append(b->code.at, block);
    bool all_steps = b->f->buffer[buffer].ndim == 3;
    const tn_expr *index[] = {all_steps ? place(b) : NULL, b->row, b->unit};
    const tn_expr *v = tn_cast(b->p, b->f->buffer[buffer].dtype, value(b));
    tn_stmt *store = tn_stmt_store(b->f, buffer, 2 + all_steps, all_steps ? index : index + 1, v, NULL);
    tn_body_append(&block->u.block.body, store);
    b->code.at = back;
}

/* Block `name`: sums[g, row, unit] of gates [first, first + n) is from[row, .] R[first + g, unit, .], and with add_data
 * that of data. */
static void multiply(body *b, const char *name, uint32_t sums, int first, int n, uint32_t from, bool add_data)
{
    tn_pool *p = b->p;
    tn_body *back = b->code.at;
    tn_stmt *block = tn_stmt_block(b->f, name, "recurrent", 4);
    block->u.block.source = b->te->source;
    const tn_expr *g = axis(b, block, 0, "g", tn_idx(p, n), TN_ITER_SPATIAL),
                  *gate = tn_add(p, g, tn_idx(p, first));
    b->row = axis(b, block, 1, "b", b->batch, TN_ITER_SPATIAL);
    b->unit = axis(b, block, 2, "u", b->units, TN_ITER_SPATIAL);
    const tn_expr *k = axis(b, block, 3, "k", b->units, TN_ITER_REDUCE);
    tn_body_append(b->code.at, block);
    const tn_expr *at[] = {g, b->row, b->unit}, *weight[] = {gate, b->unit, k};
    const tn_expr *start = add_data ? data_at(b, gate) : tn_const(p, b->t, 0);
    const tn_expr *term = tn_mul(p, get(b, from, k), read(b, R, 3, weight));
    const tn_expr *sum = tn_add(p, tn_code_load(&b->code, sums, 3, at), term);
    tn_body_append(&block->u.block.init, tn_stmt_store(b->f, sums, 3, at, start, NULL));
    tn_body_append(&block->u.block.body, tn_stmt_store(b->f, sums, 3, at, sum, NULL));
    b->code.at = back;
}

/* ---- what a step makes ---- */

static const tn_expr *activate(body *b, int which, const tn_expr *x)
{
    tn_pool *p = b->p;
    if (b->a->clip > 0)
        x = tn_min(p, tn_max(p, x, tn_const(p, b->t, -b->a->clip)), tn_const(p, b->t, b->a->clip));
    return rnn_activation_of(p, &b->act[which], x);
}

/* An LSTM's gate, one of i o f, with the peephole's term: its weight times the cell. */
static const tn_expr *gate(body *b, int which, uint32_t cell)
{
    tn_pool *p = b->p;
    const tn_expr *index[] = {tn_idx(p, which), b->unit}, *sum = sum_of(b, b->sums, which);
    if (b->in[PEEP])
        sum = tn_add(p, sum, tn_mul(p, read(b, PEEP, 2, index), own(b, cell)));
    return activate(b, 0, sum);
}

static const tn_expr *lstm_cell(body *b)
{
    tn_pool *p = b->p;
    const tn_expr *c = own(b, b->cell_state), *i = gate(b, 0, b->cell_state);
    const tn_expr *f = b->a->input_forget ? tn_sub(p, tn_const(p, b->t, 1), i) : gate(b, 2, b->cell_state);
    const tn_expr *n = activate(b, 1, sum_of(b, b->sums, 3));
    return while_it_runs(b, tn_add(p, tn_mul(p, f, c), tn_mul(p, i, n)), c);
}

/* The last activation is applied to the cell, which is not clipped. */
static const tn_expr *lstm_h(body *b)
{
    const tn_expr *o = gate(b, 1, b->new_cell), *c = rnn_activation_of(b->p, &b->act[2], own(b, b->new_cell));
    return tn_mul(b->p, o, c);
}

static const tn_expr *rnn_h(body *b) { return activate(b, 0, sum_of(b, b->sums, 0)); }

/* h' = (1 - z) n + z h */
static const tn_expr *gru_mix(body *b, const tn_expr *z, const tn_expr *n)
{
    tn_pool *p = b->p;
    const tn_expr *h = own(b, b->state), *rest = tn_sub(p, tn_const(p, b->t, 1), z);
    return tn_add(p, tn_mul(p, rest, n), tn_mul(p, z, h));
}

/* linear_before_reset: n = g(data + r (h R^T + bias)), all of the same sums. */
static const tn_expr *gru_h_linear(body *b)
{
    tn_pool *p = b->p;
    const tn_expr *x[3], *sum[3];
    for (int g = 0; g < 3; g++) {
        x[g] = data_at(b, tn_idx(p, g));
        sum[g] = sum_of(b, b->sums, g);
    }
    if (b->in[RBIAS])
        sum[2] = tn_add(p, sum[2], read(b, RBIAS, 1, &b->unit));
    const tn_expr *z = activate(b, 0, tn_add(p, sum[0], x[0])), *r = activate(b, 0, tn_add(p, sum[1], x[1]));
    return gru_mix(b, z, activate(b, 1, tn_add(p, x[2], tn_mul(p, r, sum[2]))));
}

/* Otherwise n = g(data + (r h) R^T): z and r h of all units first, */
static const tn_expr *gru_update(body *b) { return activate(b, 0, sum_of(b, b->sums, 0)); }

static const tn_expr *gru_reset(body *b)
{
    return tn_mul(b->p, activate(b, 0, sum_of(b, b->sums, 1)), own(b, b->state));
}

/* then h. */
static const tn_expr *gru_h(body *b)
{
    return gru_mix(b, own(b, b->update), activate(b, 1, sum_of(b, b->new_sums, 0)));
}

static const tn_expr *result(body *b) { return while_it_runs(b, own(b, b->h), tn_const(b->p, b->t, 0)); }

static const tn_expr *kept_h(body *b) { return while_it_runs(b, own(b, b->h), own(b, b->state)); }
static const tn_expr *new_state(body *b) { return own(b, b->new_state); }
static const tn_expr *new_cell(body *b) { return own(b, b->new_cell); }
static const tn_expr *last_state(body *b) { return own(b, b->state); }
static const tn_expr *last_cell(body *b) { return own(b, b->cell_state); }

static const tn_expr *first(body *b, int operand)
{
    const tn_expr *index[] = {b->row, b->unit};
    return b->in[operand] ? read(b, operand, 2, index) : tn_const(b->p, b->t, 0);
}

static const tn_expr *first_state(body *b) { return first(b, H0); }
static const tn_expr *first_cell(body *b) { return first(b, C0); }

/* ---- the layer ---- */

static bool resets_first(const body *b) { return b->cell == CELL_GRU && !b->a->linear_before_reset; }

static void declare(body *b)
{
    b->state = memory(b, "state", 0);
    b->new_state = memory(b, "new_state", 0);
    b->h = memory(b, "h", 0);
    b->sums = memory(b, "sums", resets_first(b) ? 2 : cells[b->cell].gates);
    if (b->cell == CELL_LSTM) {
        b->cell_state = memory(b, "cell_state", 0);
        b->new_cell = memory(b, "new_cell", 0);
    } else if (resets_first(b)) {
        b->update = memory(b, "update", 0);
        b->reset = memory(b, "reset", 0);
        b->new_sums = memory(b, "new_sums", 1);
    }
}

static void one_step(body *b)
{
    if (b->cell == CELL_LSTM) {
        multiply(b, "sums", b->sums, 0, 4, b->state, true);
        each_element(b, "new_cell", b->new_cell, lstm_cell);
        each_element(b, "h", b->h, lstm_h);
        each_element(b, "cell_state", b->cell_state, new_cell);
    } else if (b->cell == CELL_RNN) {
        multiply(b, "sums", b->sums, 0, 1, b->state, true);
        each_element(b, "h", b->h, rnn_h);
    } else if (b->a->linear_before_reset) {
        multiply(b, "sums", b->sums, 0, 3, b->state, false);
        each_element(b, "h", b->h, gru_h_linear);
    } else {
        multiply(b, "sums", b->sums, 0, 2, b->state, true);
        each_element(b, "update", b->update, gru_update);
        each_element(b, "reset", b->reset, gru_reset);
        multiply(b, "new_sums", b->new_sums, 2, 1, b->reset, true);
        each_element(b, "h", b->h, gru_h);
    }
    each_element(b, "new_state", b->new_state, kept_h);
    each_element(b, "all_h", b->out[ALL_H]->buffer, result);
    each_element(b, "state", b->state, new_state);
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
    b.t = out[ALL_H]->dtype.bits < 32 ? TN_F32 : out[ALL_H]->dtype;
    b.units = in[R]->dim[1];
    b.steps = in[X]->dim[0];
    b.batch = in[X]->dim[1];
    require_batch(&b);
    declare(&b);
    each_element(&b, "first_state", b.state, first_state);
    if (b.cell == CELL_LSTM)
        each_element(&b, "first_cell", b.cell_state, first_cell);
    tn_body *whole = b.code.at;
    b.time = tn_code_for(&b.code, "t", b.steps);
    one_step(&b);
    b.code.at = whole;
    each_element(&b, "last_h", out[LAST_H]->buffer, last_state);
    if (b.cell == CELL_LSTM)
        each_element(&b, "last_c", out[LAST_C]->buffer, last_cell);
}

/* Panels of a block of units for each k: what a step of the reduction reads of a gate lies together. */
static void recurrent_layout(tn_layout_query *q)
{
    int panel = tn_machine_block(q->machine);
    for (int i = 0; i < q->node->nin; i++)
        q->in[i] = NULL;
    for (int k = 0; k < q->node->nout; k++)
        q->out[k] = NULL;
    if (panel >= 2)
        q->in[R] = tn_rule_weight_layout(q, R, "GNK%dn", panel);
}

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
};
/* clang-format on */
