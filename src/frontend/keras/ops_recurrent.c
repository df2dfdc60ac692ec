/* Recurrent layers. One without a mask, whose cell nn.recurrent knows, is one operator; others go step by step. The
 * cells of ConvLSTM are those of LSTM with convolutions in the place of products. */
#include "frontend/keras/rows.h"
#include "frontend/import/scan.h"

#include <string.h>

enum kind { SIMPLE, GRU, LSTM, N_KINDS };

typedef struct cell { /* of a layer, or a cell of RNN */
    enum kind kind;
    int dims;  /* of the pictures that are convolved; 0: products of matrices */
    bool last; /* the channels of pictures are the last dimension */
    int64_t units, gates;
    /* [in, gates * units], [units, gates * units], of pictures OI(D)(H)W; absent: none */
    tn_value kernel, recurrent, bias;
    const tn_json *act, *gate;        /* activations */
    const char *act_name, *gate_name; /* as nn.recurrent calls them; NULL: it cannot */
    bool reset_after;
} cell;

typedef struct sequence { /* what a layer does with its cell */
    bool backwards, all, states, zero_masked, stateful;
} sequence;

/* ---- reading ---- */

static const char *const variable_names[2][3] = {{"kernel", "recurrent_kernel", "bias"},
                                                 {"cell/kernel", "cell/recurrent_kernel", "cell/bias"}};

/* Do the kernels have as many rows and columns as the units need? */
static void check_kernels(imp_node *c, const cell *k)
{
    int rank = k->dims + 2;
    bool fits = k->units >= 1 && k->units <= INT32_MAX;
    int64_t columns = fits ? k->gates * k->units : 0;
    bool ok = !c->bad && fits && imp_rank(k->kernel) == rank && imp_rank(k->recurrent) == rank &&
              tn_is_value(imp_type(k->recurrent)->dim[rank - 2], k->units) &&
              tn_is_value(imp_type(k->recurrent)->dim[rank - 1], columns) &&
              tn_is_value(imp_type(k->kernel)->dim[rank - 1], columns);
    if (!ok)
        imp_refuse(c, IMP_BAD_TENSOR, "kernels %s and %s do not match %lld units; the model is damaged",
                   imp_type_text(c, imp_type(k->kernel)), imp_type_text(c, imp_type(k->recurrent)),
                   (long long)k->units);
}

static bool read_cell(imp_node *c, cell *k)
{
    static const int64_t gates[] = {1, 3, 4};
    const char *class = c->row->op;
    bool alone = strstr(class, "Cell") != NULL, pictures = strncmp(class, "Conv", 4) == 0;
    const char *const *name = variable_names[!alone];
    k->kind = strstr(class, "GRU") ? GRU : strstr(class, "LSTM") ? LSTM : SIMPLE;
    k->gates = gates[k->kind];
    k->dims = pictures ? class[strlen("ConvLSTM")] - '0' : 0;
    k->last = !pictures || keras_channels_last(c);
    k->units = keras_int(c, pictures ? "filters" : "units", 0);
    keras_ignore(c, "use_bias");
    keras_ignore(c, "kernel_size");
    k->reset_after =
        k->kind == GRU && (keras_bool(c, "reset_after", false) || strncmp(class, "CuDNN", 5) == 0);
    k->act_name = keras_cell_activation(c, "activation", "tanh");
    k->act = keras_config(c, "activation");
    if (k->kind != SIMPLE) {
        k->gate_name = keras_cell_activation(c, "recurrent_activation", "sigmoid");
        k->gate = keras_config(c, "recurrent_activation");
    }
    k->kernel = keras_variable_of(c, name[0]);
    k->recurrent = keras_variable_of(c, name[1]);
    k->bias = keras_optional(c, name[2]);
    check_kernels(c, k);
    if (pictures && !c->bad) {
        k->kernel = keras_conv_weight(c, k->kernel, k->dims);
        k->recurrent = keras_conv_weight(c, k->recurrent, k->dims);
    }
    return !c->bad;
}

static sequence read_sequence(imp_node *c)
{
    sequence s = {.backwards = keras_bool(c, "go_backwards", false),
                  .all = keras_bool(c, "return_sequences", false),
                  .states = keras_bool(c, "return_state", false),
                  .zero_masked = keras_bool(c, "zero_output_for_mask", false),
                  .stateful = keras_bool(c, "stateful", false)};
    if (keras_bool(c, "time_major", false))
        imp_refuse(c, IMP_BAD_VALUE, "time_major is not supported; save the model without it");
    return s;
}

/* Part i of the gates. */
static tn_value part(imp_node *c, const cell *k, tn_value v, int64_t i)
{
    int axis = k->last ? imp_rank(v) - 1 : 1;
    return imp_slice(c, v, axis, i * k->units, (i + 1) * k->units);
}

/* ---- as one operator ---- */

/* Gates in the order of nn.recurrent: LSTM i o f c, here i f c o. */
static tn_value in_order(imp_node *c, const cell *k, tn_value v)
{
    static const int64_t order[] = {0, 3, 1, 2};
    tn_value at[4];
    if (k->kind != LSTM || !v.def || c->bad)
        return v;
    for (int i = 0; i < 4; i++)
        at[i] = part(c, k, v, order[i]);
    return imp_concat(c, 4, at, imp_rank(v) - 1);
}

/* What is added to the projected data; of a GRU with two biases, the last part of the second goes to *recurrent. */
static tn_value data_bias(imp_node *c, const cell *k, tn_value *recurrent)
{
    *recurrent = (tn_value){0};
    if (!k->bias.def || !k->reset_after || c->bad)
        return in_order(c, k, k->bias);
    tn_value first = imp_squeeze(c, imp_slice(c, k->bias, 0, 0, 1), 0);
    tn_value second = imp_squeeze(c, imp_slice(c, k->bias, 0, 1, 2), 0);
    *recurrent = part(c, k, second, 2);
    const tn_expr *units = tn_idx(c->pool, k->units);
    tn_value zeros = imp_zeros_of(c, tn_type_tensor(c->pool, imp_type(second)->dtype, 1, &units, NULL));
    tn_value gates[] = {imp_slice(c, second, 0, 0, 2 * k->units), zeros};
    return imp_binary(c, &tn_op_add, first, imp_concat(c, 2, gates, 0));
}

static void run_whole(imp_node *c, const cell *k, const sequence *s, tn_value x, imp_scan *out)
{
    static const int64_t time_first[] = {1, 0, 2}, swap[] = {1, 0};
    static const char *const names[] = {"rnn", "gru", "lstm"};
    const char *acts = k->kind == SIMPLE ? k->act_name
                       : k->kind == GRU
                           ? tn_arena_printf(c->arena, "%s %s", k->gate_name, k->act_name)
                           : tn_arena_printf(c->arena, "%s %s %s", k->gate_name, k->act_name, k->act_name);
    tn_recurrent_attr a = {.cell = tn_intern(c->g->ctx, names[k->kind]),
                           .activations = tn_intern(c->g->ctx, acts),
                           .reverse = s->backwards,
                           .linear_before_reset = k->reset_after};
    tn_value rbias, bias = data_bias(c, k, &rbias);
    tn_value steps = imp_transpose(c, x, 3, time_first), kernel = in_order(c, k, k->kernel);
    tn_value data = keras_dense(c, steps, kernel, bias);
    const tn_expr *dim[] = {tn_idx(c->pool, k->gates), tn_idx(c->pool, k->units), tn_idx(c->pool, k->units)};
    tn_value r = imp_transpose(c, in_order(c, k, k->recurrent), 2, swap);
    tn_value in[7] = {data, c->bad ? r : imp_reshape(c, r, 3, dim), out->state[0]};
    in[3] = k->kind == LSTM ? out->state[1] : (tn_value){0};
    in[5] = rbias;
    tn_value y = imp_call(c, &tn_op_nn_recurrent, &a, 7, in);
    if (c->bad)
        return;
    out->last = out->state[0] = (tn_value){y.def, 1};
    if (k->kind == LSTM)
        out->state[1] = (tn_value){y.def, 2};
    out->all = s->all ? imp_transpose(c, y, 3, time_first) : y;
}

/* ---- step by step ---- */

static tn_value plus(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_add, a, b); }
static tn_value times(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_multiply, a, b); }

/* z * before + (1 - z) * next */
static tn_value blend(imp_node *c, tn_value z, tn_value before, tn_value next)
{
    return plus(c, next, times(c, z, imp_binary(c, &tn_op_subtract, before, next)));
}

/* The gate i of data and state. */
static tn_value gate(imp_node *c, const cell *k, tn_value x, tn_value h, int64_t i)
{
    tn_value from_x = part(c, k, x, i), from_h = part(c, k, h, i);
    return keras_activate(c, k->gate, plus(c, from_x, from_h));
}

static tn_value gru_step(imp_node *c, const cell *k, tn_value x, tn_value h)
{
    tn_value none = {0}, kernel = k->recurrent, last = {0};
    if (!k->reset_after) {
        last = part(c, k, kernel, 2);
        kernel = imp_slice(c, kernel, 1, 0, 2 * k->units);
    }
    tn_value hr = keras_dense(c, h, kernel, none);
    if (k->reset_after && k->bias.def)
        hr = imp_bias(c, hr, imp_squeeze(c, imp_slice(c, k->bias, 0, 1, 2), 0), true);
    tn_value z = gate(c, k, x, hr, 0), r = gate(c, k, x, hr, 1), from_x = part(c, k, x, 2);
    tn_value from_h =
        k->reset_after ? times(c, r, part(c, k, hr, 2)) : keras_dense(c, times(c, r, h), last, none);
    return blend(c, z, h, keras_activate(c, k->act, plus(c, from_x, from_h)));
}

/* What a cell without reset gates adds to the data. */
static tn_value from_state(imp_node *c, const cell *k, tn_value h)
{
    imp_window w;
    if (!k->dims)
        return keras_dense(c, h, k->recurrent, (tn_value){0});
    if (!imp_window_init(c, h, k->last, &w) || !imp_window_of_weight(c, k->recurrent, &w))
        return h;
    imp_pad_same(c, h, &w, false);
    return imp_conv(c, h, k->recurrent, &w, 1);
}

/* x is projected already, its bias added. */
static void cell_step(imp_node *c, const cell *k, tn_value x, tn_value state[])
{
    if (k->kind == GRU) {
        state[0] = gru_step(c, k, x, state[0]);
        return;
    }
    tn_value z = plus(c, x, from_state(c, k, state[0]));
    if (k->kind == SIMPLE) {
        state[0] = keras_activate(c, k->act, z);
        return;
    }
    tn_value i = keras_activate(c, k->gate, part(c, k, z, 0)),
             f = keras_activate(c, k->gate, part(c, k, z, 1));
    tn_value n = keras_activate(c, k->act, part(c, k, z, 2)),
             o = keras_activate(c, k->gate, part(c, k, z, 3));
    tn_value kept = times(c, f, state[1]), added = times(c, i, n);
    state[1] = plus(c, kept, added);
    state[0] = times(c, o, keras_activate(c, k->act, state[1]));
}

/* The steps of a sequence as further elements of the batch. */
static tn_value joined(imp_node *c, tn_value v)
{
    const tn_type *t = imp_type(v);
    const tn_expr *dim[IMP_MAX_RANK];
    dim[0] = imp_product(c, t, 0, 2);
    for (int i = 2; i < t->n; i++)
        dim[i - 1] = t->dim[i];
    return imp_reshape(c, v, t->n - 1, dim);
}

/* v, whose batch are batch and steps of x, as a sequence. */
static tn_value separated(imp_node *c, tn_value v, tn_value x)
{
    const tn_type *t = imp_type(v);
    const tn_expr *dim[IMP_MAX_RANK + 1] = {imp_type(x)->dim[0], imp_type(x)->dim[1]};
    for (int i = 1; i < t->n; i++)
        dim[i + 1] = t->dim[i];
    return imp_reshape(c, v, t->n + 1, dim);
}

/* Of one step, or of all steps; pictures are those of all steps. */
static tn_value project(imp_node *c, const cell *k, tn_value x)
{
    tn_value bias = k->bias;
    if (k->dims) {
        tn_value y = keras_convolve(c, c->bad ? x : joined(c, x), k->kernel, 1);
        y = imp_bias(c, y, bias, k->last);
        return c->bad ? y : separated(c, y, x);
    }
    if (bias.def && k->reset_after)
        bias = imp_squeeze(c, imp_slice(c, bias, 0, 0, 1), 0);
    return keras_dense(c, x, k->kernel, bias);
}

/* Several cells, each the next one's input. */
typedef struct stack {
    size_t n;
    cell *at;
    bool projected; /* the one cell's data */
} stack;

static void stack_step(imp_node *c, const imp_scan *s, tn_value x, tn_value state[], tn_value *out)
{
    const stack *k = s->user;
    for (size_t i = 0; i < k->n && !c->bad; i++) {
        cell_step(c, &k->at[i], k->projected ? x : project(c, &k->at[i], x), state);
        x = state[0];
        state += k->at[i].kind == LSTM ? 2 : 1;
    }
    *out = x;
}

/* ---- the layer ---- */

/* x: the sequence, of pictures the projected one. */
static const tn_type *state_type(imp_node *c, tn_value x, const cell *k)
{
    const tn_type *t = imp_type(x);
    const tn_expr *dim[IMP_MAX_RANK] = {t->dim[0]};
    for (int i = 0; i <= k->dims; i++)
        dim[i + 1] = t->dim[i + 2];
    dim[k->last ? k->dims + 1 : 1] = tn_idx(c->pool, k->units);
    return tn_type_tensor(c->pool, t->dtype, k->dims + 2, dim, NULL);
}

/* State i as the layer's call before left it, in this run or, for its first call, in the run before. */
static tn_value kept_state(imp_node *c, size_t i, const tn_type *type)
{
    keras_layer *l = keras_layer_of(c);
    if (i < l->n_state)
        return l->state[i];
    const char *holder = l->path && *l->path ? l->path : l->name;
    tn_value v = imp_state(c->im, tn_arena_printf(c->arena, "%s/state%zu", holder, i), type, NULL, c->loc);
    c->bad = c->bad || !v.def;
    return v;
}

static void keep_states(imp_node *c, const imp_scan *s)
{
    keras_layer *l = keras_layer_of(c);
    const char *holder = l->path && *l->path ? l->path : l->name;
    l->state = l->state ? l->state : TN_NEW_N(&c->im->scratch, tn_value, IMP_MAX_STATES);
    for (l->n_state = 0; l->n_state < s->n_state && !c->bad; l->n_state++) {
        const char *name = tn_arena_printf(c->arena, "%s/state%zu", holder, l->n_state);
        l->state[l->n_state] = s->state[l->n_state];
        c->bad = imp_set_state(c->im, name, s->state[l->n_state], c->loc) != TN_OK;
    }
}

/* Given as further operands, or by name, or what is kept. */
static void read_states(imp_node *c, imp_scan *s, size_t skip, const tn_type *const type[], bool stateful)
{
    const keras_argument *a = keras_argument_of(c, 1, "initial_state");
    size_t given = a ? a->n : keras_n_in(c) - 1, from = a ? 0 : 1;
    for (size_t i = 0; i < s->n_state && !c->bad; i++) {
        bool has = skip + i < given;
        if (!has)
            s->state[i] = stateful ? kept_state(c, i, type[i]) : imp_zeros_of(c, type[i]);
        else
            s->state[i] = a ? a->at[skip + i].v : keras_in(c, from + skip + i);
        s->state[i] = imp_cast(c, s->state[i], type[i]->dtype);
    }
}

static bool is_sequence(imp_node *c, tn_value x, int rank)
{
    if (!c->bad && imp_rank(x) != rank)
        imp_refuse(c, IMP_OPERANDS, "the sequence is %s, but must have %d dimensions",
                   imp_type_text(c, imp_type(x)), rank);
    return !c->bad;
}

/* nn.recurrent can do what this cell does. */
static bool is_whole(const cell *k, tn_value mask)
{
    return !k->dims && !mask.def && k->act_name && (k->kind == SIMPLE || k->gate_name);
}

/* The types of all states; their number in *n. */
static void state_types(imp_node *c, const stack *k, tn_value x, const tn_type *out[], size_t *n)
{
    for (size_t i = 0; i < k->n && !c->bad; i++)
        for (int j = 0; j < (k->at[i].kind == LSTM ? 2 : 1); j++)
            if (*n == IMP_MAX_STATES)
                imp_refuse(c, IMP_TOO_LARGE, "more than %d states are not supported", IMP_MAX_STATES);
            else
                out[(*n)++] = state_type(c, x, &k->at[i]);
}

/* skip: states before those of this layer. */
static imp_scan run_cells(imp_node *c, const sequence *q, stack *k, size_t skip)
{
    const cell *first = &k->at[0];
    imp_scan s = {.x = keras_in(c, 0),
                  .mask = keras_mask(c, 0),
                  .backwards = q->backwards,
                  .collects = q->all,
                  .zero_masked = q->zero_masked,
                  .step = stack_step,
                  .user = k};
    const tn_type *type[IMP_MAX_STATES];
    bool whole = k->n == 1 && is_whole(first, s.mask);
    if (!is_sequence(c, s.x, 3 + first->dims))
        return s;
    k->projected = k->n == 1 && !whole;
    if (k->projected)
        s.x = project(c, first, s.x);
    state_types(c, k, s.x, type, &s.n_state);
    read_states(c, &s, skip, type, q->stateful);
    if (c->bad)
        return s;
    s.step_type = state_type(c, s.x, &k->at[k->n - 1]);
    if (whole)
        run_whole(c, first, q, s.x, &s);
    else
        imp_do_scan(c, &s);
    if (q->stateful && !c->bad)
        keep_states(c, &s);
    return s;
}

/* in_time: results of steps in the order of time, not in that of computing. */
static void give_results(imp_node *c, const sequence *q, imp_scan *s, bool in_time)
{
    if (c->bad)
        return;
    tn_value y = q->all ? s->all : s->last;
    if (q->all && q->backwards && !in_time)
        y = imp_flip(c, y, 1);
    keras_out_masked(c, y, q->all ? s->mask : (tn_value){0});
    for (size_t i = 0; i < s->n_state && q->states; i++)
        keras_out_masked(c, s->state[i], (tn_value){0});
}

static void recurrent(imp_node *c)
{
    cell k = {0};
    stack one = {.n = 1, .at = &k};
    sequence q = read_sequence(c);
    if (!read_cell(c, &k))
        return;
    imp_scan s = run_cells(c, &q, &one, 0);
    give_results(c, &q, &s, false);
}

/* ---- RNN: a cell, or several ---- */

/* What is read of a layer inside is read as if it were called. */
static imp_node node_of(imp_node *c, keras_layer *l)
{
    keras_call *call = TN_NEW(&c->im->scratch, keras_call);
    imp_node n = *c;
    call->layer = l;
    n.origin = call;
    n.row = &l->row->row;
    n.loc = l->loc;
    return n;
}

static void add_cell(imp_node *c, keras_layer *l, stack *k)
{
    if (!l && !c->g->ctx->n_error) /* else reading it has said why */
        imp_refuse(c, IMP_ATTR_MISSING, "the layer holds no cell; the model is damaged");
    c->bad = c->bad || !l;
    if (c->bad)
        return;
    imp_node n = node_of(c, l);
    if (strcmp(l->class, "StackedRNNCells") == 0) {
        keras_ignore(&n, "cells");
        for (size_t i = 0; i < l->n_inside && !c->bad; i++)
            add_cell(c, l->inside[i], k);
        if (keras_bool(&n, "reverse_state_order", false))
            imp_refuse(&n, IMP_BAD_VALUE, "reverse_state_order is not supported");
    } else if (!strstr(l->class, "Cell") || strncmp(l->class, "Conv", 4) == 0) {
        imp_refuse(&n, IMP_UNKNOWN_OPERATOR, "layer %s is no cell that is known", l->class);
    } else if (k->n < IMP_MAX_STATES) {
        (void)(read_cell(&n, &k->at[k->n]) && k->n++);
    } else {
        imp_refuse(&n, IMP_TOO_LARGE, "more than %d cells are not supported", IMP_MAX_STATES);
    }
    if (!n.bad)
        keras_check_config(&n);
    c->bad = c->bad || n.bad;
}

static void rnn(imp_node *c)
{
    keras_layer *l = keras_layer_of(c);
    cell at[IMP_MAX_STATES] = {0};
    stack k = {.at = at};
    sequence q = read_sequence(c);
    keras_ignore(c, "cell");
    add_cell(c, l->n_inside ? l->inside[0] : NULL, &k);
    if (c->bad || !k.n)
        return;
    imp_scan s = run_cells(c, &q, &k, 0);
    give_results(c, &q, &s, false);
}

/* One step of a cell on its own: the data and its states. */
static void lone_cell(imp_node *c)
{
    cell k = {0};
    tn_value state[2], x = keras_in(c, 0);
    const keras_argument *a = keras_argument_of(c, 1, "states");
    if (!read_cell(c, &k))
        return;
    size_t n = k.kind == LSTM ? 2 : 1;
    if (!a || a->n < n) {
        imp_refuse(c, IMP_OPERANDS, "a cell is called without its states; the model is damaged");
        return;
    }
    for (size_t i = 0; i < n; i++)
        state[i] = a->at[i].v;
    cell_step(c, &k, project(c, &k, x), state);
    keras_out_masked(c, state[0], (tn_value){0});
    for (size_t i = 0; i < n; i++)
        keras_out_masked(c, state[i], (tn_value){0});
}

/* ---- Bidirectional ---- */

static imp_scan run_direction(imp_node *c, keras_layer *l, bool backwards, size_t skip, sequence *out)
{
    cell at[IMP_MAX_STATES] = {0};
    stack k = {.at = at, .n = 1};
    imp_node n = node_of(c, l);
    keras_call *call = (keras_call *)n.origin;
    call->arg = keras_call_of(c)->arg;
    call->n_arg = keras_call_of(c)->n_arg;
    imp_scan s = {0};
    *out = read_sequence(&n);
    out->backwards = backwards;
    if (strcmp(l->class, "RNN") == 0) {
        k.n = 0;
        keras_ignore(&n, "cell");
        add_cell(&n, l->n_inside ? l->inside[0] : NULL, &k);
    } else if (l->row->row.convert != recurrent) {
        imp_refuse(&n, IMP_UNKNOWN_OPERATOR, "layer %s in a Bidirectional is not supported", l->class);
    } else {
        (void)read_cell(&n, &at[0]);
    }
    out->zero_masked = out->all; /* whatever the layer itself would do */
    if (!n.bad)
        s = run_cells(&n, out, &k, skip);
    if (!n.bad)
        keras_check_config(&n);
    c->bad = c->bad || n.bad;
    return s;
}

static tn_value merged(imp_node *c, const char *mode, tn_value a, tn_value b)
{
    tn_value both[] = {a, b};
    if (strcmp(mode, "concat") == 0)
        return imp_concat(c, 2, both, imp_rank(a) - 1);
    if (strcmp(mode, "mul") == 0)
        return times(c, a, b);
    if (strcmp(mode, "sum") != 0 && strcmp(mode, "ave") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "merge_mode is \"%s\"; concat, sum, ave and mul are known", mode);
    tn_value sum = plus(c, a, b);
    return mode[0] == 'a' ? times(c, sum, keras_like(c, sum, 0.5)) : sum;
}

static void bidirectional(imp_node *c)
{
    keras_layer *l = keras_layer_of(c);
    const tn_json *mode = keras_config(c, "merge_mode"), *given = tn_json_find(l->config, "merge_mode");
    sequence q[2];
    keras_ignore(c, "layer");
    keras_ignore(c, "backward_layer");
    if (l->n_inside != 2 || !l->inside[0] || !l->inside[1]) {
        imp_refuse(c, IMP_BAD_VALUE, "the layer inside cannot be read");
        return;
    }
    const tn_json *back = tn_json_find(l->inside[0]->config, "go_backwards");
    bool first_back = tn_json_is(back, TN_JSON_BOOL) && back->u.b;
    imp_scan a = run_direction(c, l->inside[0], first_back, 0, &q[0]);
    imp_scan b = c->bad ? a : run_direction(c, l->inside[1], !first_back, a.n_state, &q[1]);
    if (c->bad)
        return;
    tn_value y[] = {q[0].all ? a.all : a.last, q[0].all ? b.all : b.last},
             mask = q[0].all ? a.mask : (tn_value){0};
    if (!mode && given) { /* null: both on their own */
        keras_out_masked(c, y[0], mask);
        keras_out_masked(c, y[1], mask);
    } else {
        keras_out_masked(c, merged(c, mode ? imp_text(c->im, keras_bytes(mode)) : "concat", y[0], y[1]),
                         mask);
    }
    for (size_t i = 0; i < a.n_state && q[0].states; i++)
        keras_out_masked(c, a.state[i], (tn_value){0});
    for (size_t i = 0; i < b.n_state && q[0].states; i++)
        keras_out_masked(c, b.state[i], (tn_value){0});
}

/* ---- TimeDistributed ---- */

static void time_distributed(imp_node *c)
{
    keras_layer *l = keras_layer_of(c);
    keras_call *call = TN_NEW(&c->im->scratch, keras_call);
    tn_value x = keras_in(c, 0), mask = keras_mask(c, 0);
    keras_ignore(c, "layer");
    if (!c->bad && imp_rank(x) < 3)
        imp_refuse(c, IMP_OPERANDS, "the sequence %s must have at least three dimensions",
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    keras_tensor in = {joined(c, x), mask.def && imp_rank(mask) > 2 ? joined(c, mask) : (tn_value){0}, NULL};
    if (!keras_apply(c, l->n_inside ? l->inside[0] : NULL, 1, &in, call))
        return;
    for (size_t i = 0; i < call->n_out && !c->bad; i++)
        keras_out(c, separated(c, call->out[i].v, x));
}

#define IN_CELL "cell/kernel cell/recurrent_kernel cell/bias?use_bias"
#define OF_CELL "kernel recurrent_kernel bias?use_bias"
// clang-format off
const keras_row keras_rows_recurrent[] = {
    LAYER("SimpleRNN",       recurrent,        NULL, IN_CELL, 0, NULL),
    LAYER("GRU",             recurrent,        NULL, IN_CELL, 0, NULL),
    LAYER("LSTM",            recurrent,        NULL, IN_CELL, 0, NULL),
    LAYER("CuDNNGRU",        recurrent,        NULL, IN_CELL, 0, NULL),
    LAYER("CuDNNLSTM",       recurrent,        NULL, IN_CELL, 0, NULL),
    LAYER("ConvLSTM1D",      recurrent,        NULL, IN_CELL, 0, NULL),
    LAYER("ConvLSTM2D",      recurrent,        NULL, IN_CELL, 0, NULL),
    LAYER("ConvLSTM3D",      recurrent,        NULL, IN_CELL, 0, NULL),
    LAYER("RNN",             rnn,              NULL, NULL,    0, "cell"),
    LAYER("SimpleRNNCell",   lone_cell,        NULL, OF_CELL, 0, NULL),
    LAYER("GRUCell",         lone_cell,        NULL, OF_CELL, 0, NULL),
    LAYER("LSTMCell",        lone_cell,        NULL, OF_CELL, 0, NULL),
    LAYER("StackedRNNCells", lone_cell,        NULL, NULL,    0, NULL),
    LAYER("Bidirectional",   bidirectional,    NULL, NULL,    0, "layer=forward_layer backward_layer|layer"),
    LAYER("TimeDistributed", time_distributed, NULL, NULL,    KERAS_ANY_TYPE, "layer"),
    END_OF_ROWS,
};
// clang-format on
