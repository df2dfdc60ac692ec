/* Recurrent layers and operations as nn.recurrent. Its gates are i o f c (LSTM) and z r n (GRU). A layer that runs
 * backwards gives the results of its steps in the order in which it makes them; of two directions together, in the
 * order of time. */
#include "frontend/coreml/coreml.h"

#include <string.h>

enum { RNN, GRU, LSTM };

typedef struct cell { /* of one direction; gates in the order of nn.recurrent */
    int kind;
    int64_t in, units;
    tn_value w, r;        /* [gates * units, in], [gates * units, units] */
    tn_value b, peep, rb; /* may be absent; rb: of a GRU, what the reset gate multiplies */
    tn_recurrent_attr attr;
} cell;

static int64_t n_gates(int kind) { return kind == LSTM ? 4 : kind == GRU ? 3 : 1; }

static const char *cell_name(int kind) { return kind == LSTM ? "lstm" : kind == GRU ? "gru" : "rnn"; }

/* x: [steps, batch, in]. out: all steps, in the order of time, and the last states. */
static void run(imp_node *c, cell *k, tn_value x, tn_value h, tn_value s, bool reverse, tn_value out[3])
{
    const tn_expr *units = tn_idx(c->pool, k->units),
                  *dim[3] = {tn_idx(c->pool, n_gates(k->kind)), units, units};
    tn_value in[7] = {{0}};
    out[0] = out[1] = out[2] = (tn_value){0};
    k->attr.cell = cell_name(k->kind);
    k->attr.reverse = reverse;
    in[0] = imp_layer_dense(c, x, k->w, k->b);
    in[1] = c->bad ? k->r : imp_reshape(c, k->r, 3, dim);
    in[2] = h;
    in[3] = k->kind == LSTM ? s : (tn_value){0};
    in[4] = k->peep;
    in[5] = k->rb;
    tn_value y = imp_call(c, &tn_op_nn_recurrent, &k->attr, 7, in);
    for (uint32_t i = 0; i < 3 && !c->bad && (i < 2 || k->kind == LSTM); i++)
        out[i] = (tn_value){y.def, i};
}

/* ---- layers ---- */

/* The activations of layers. Core ML runs recurrent ones with these numbers alone, and coremltools writes none. */
static const struct {
    const char *field, *name;
    bool numbers;
    double alpha, beta;
} activation_names[] = {{"linear", "affine", true, 1, 0},
                        {"sigmoid", "sigmoid", false, 0, 0},
                        {"tanh", "tanh", false, 0, 0},
                        {"ReLU", "relu", false, 0, 0},
                        {"scaledTanh", "scaledtanh", true, 1.7159, 2.0 / 3},
                        {"sigmoidHard", "hardsigmoid", true, 0.2, 0.5},
                        {"softsign", "softsign", false, 0, 0},
                        {"softplus", "softplus", false, 0, 0}};
enum { N_ACTIVATIONS = sizeof activation_names / sizeof *activation_names };

/* Activation i as nn.recurrent calls it. */
static const char *activation_text(imp_node *c, int i, double alpha, double beta)
{
    bool given = alpha != 0 || beta != 0;
    if (!activation_names[i].numbers)
        return activation_names[i].name;
    alpha = given ? alpha : activation_names[i].alpha;
    beta = given ? beta : activation_names[i].beta;
    return tn_intern(c->g->ctx,
                     tn_arena_printf(c->arena, "%s:%.9g:%.9g", activation_names[i].name, alpha, beta));
}

static const char *activation_of(imp_node *c, tn_bytes message)
{
    cm_attrs list = {0};
    const char *text = NULL;
    if (cm_read_params(c->im, CM_Activation, message, "", &list) != NULL)
        imp_refuse(c, IMP_BAD_VALUE, "an activation of the layer is damaged");
    for (int i = 0; i < N_ACTIVATIONS && list.n && !c->bad; i++) {
        const char *field = activation_names[i].field;
        double p[2] = {0};
        for (size_t k = 1; k < list.n && k < 3; k++) /* alpha and beta; a field of 0 is not written */
            p[imp_is(list.at[k].name, tn_arena_printf(c->arena, "%s.beta", field))] = list.at[k].f;
        if (imp_is(list.at[0].name, field))
            text = activation_text(c, i, p[0], p[1]);
    }
    tn_vec_deinit(&list);
    if (!text)
        imp_refuse(c, IMP_BAD_VALUE, "an activation of the layer is not supported");
    return text;
}

/* Of an LSTM: gates, block input, output; of a GRU: gates, new state. */
static const char *activations(imp_node *c, const char *name, size_t n, const char *def)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_TEXTS);
    tn_buf b = {0};
    if (!a || !a->texts.n)
        return def;
    if (a->texts.n != n)
        imp_refuse(c, IMP_BAD_VALUE, "%s has %zu entries, not %zu", name, a->texts.n, n);
    for (size_t i = 0; i < n && !c->bad; i++)
        tn_buf_printf(&b, "%s%s", i ? " " : "", activation_of(c, a->texts.at[i]));
    const char *text = tn_intern(c->g->ctx, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return text;
}

/* [steps, c, 1, 1], or with a batch as second dimension, as [steps, batch, c] */
static tn_value as_steps(imp_node *c, tn_value x, int64_t width)
{
    const tn_type *t = imp_type(x);
    const tn_expr *dim[3] = {t->n ? t->dim[0] : NULL, t->n == 5 ? t->dim[1] : tn_idx(c->pool, 1),
                             tn_idx(c->pool, width)};
    if (!c->bad && ((t->n != 4 && t->n != 5) || width < 1 || width > INT32_MAX))
        imp_refuse(c, IMP_OPERANDS, "data %s must be [steps, batch, width, 1, 1]", imp_type_text(c, t));
    return c->bad ? x : imp_reshape(c, x, 3, dim);
}

/* A state, [1, c, 1, 1] for example, as [batch, c]; x: the steps. */
static tn_value as_state(imp_node *c, uint32_t i, tn_value x, int64_t units)
{
    tn_value v = imp_opt(c, i);
    const tn_expr *dim[2] = {imp_rank(x) == 3 ? imp_type(x)->dim[1] : NULL, tn_idx(c->pool, units)};
    return v.def && !c->bad ? imp_reshape(c, v, 2, dim) : v;
}

/* The states are operands from `state` on. */
static void run_layer(imp_node *c, cell *k, uint32_t state, bool reverse, tn_value out[3])
{
    tn_value x = as_steps(c, imp_in(c, 0), k->in), h = as_state(c, state, x, k->units), s = {0};
    if (k->kind == LSTM)
        s = as_state(c, state + 1, x, k->units);
    run(c, k, x, h, s, reverse, out);
}

/* v [steps, batch, width] or [batch, width], as layers have it; like: which form the data has */
static tn_value as_layer(imp_node *c, tn_value v, tn_value like)
{
    const tn_expr *dim[5], *one = tn_idx(c->pool, 1);
    const tn_type *t = imp_type(v);
    int n = 0;
    if (c->bad)
        return v;
    dim[n++] = t->n == 3 ? t->dim[0] : one;
    if (imp_rank(like) == 5)
        dim[n++] = t->dim[t->n - 2];
    dim[n++] = t->dim[t->n - 1];
    dim[n++] = one;
    dim[n++] = one;
    return imp_reshape(c, v, n, dim);
}

/* One after the other: the gates of matrices [units, width] or vectors (width 0); absent: there are none. */
static tn_value gates(imp_node *c, const cell *k, uint32_t n, const char *const names[], int64_t width)
{
    tn_value part[4];
    int64_t dim[2] = {k->units, width};
    for (uint32_t i = 0; i < n; i++)
        part[i] = cm_weights(c, names[i], width ? 2 : 1, dim);
    return c->bad ? (tn_value){0} : imp_concat(c, n, part, 0);
}

static bool begin_cell(imp_node *c, cell *k, int kind)
{
    *k = (cell){.kind = kind,
                .in = imp_attr_int(c, "inputVectorSize", 0),
                .units = imp_attr_int(c, "outputVectorSize", 0)};
    k->attr.clip = 50;
    if (k->in < 1 || k->units < 1 || k->in > 1 << 24 || k->units > 1 << 20)
        imp_refuse(c, IMP_BAD_VALUE, "vectors of %lld and %lld numbers are not supported", (long long)k->in,
                   (long long)k->units);
    return !c->bad;
}

/* The results of one direction. */
static void give(imp_node *c, tn_value x, tn_value out[3], bool all, bool reverse)
{
    tn_value y = all ? out[0] : imp_unsqueeze(c, out[1], 0);
    y = all && reverse ? cm_flip(c, y, 0) : y;
    imp_out(c, 0, as_layer(c, y, x));
    for (uint32_t i = 1; i < 3; i++)
        if (i < c->n_out && out[i].def)
            imp_out(c, i, as_layer(c, out[i], x));
}

static void simple_recurrent(imp_node *c)
{
    static const char *const w[] = {"weightMatrix"}, *const r[] = {"recursionMatrix"},
                             *const b[] = {"biasVector"};
    cell k;
    tn_value x = imp_in(c, 0), out[3];
    bool all = cm_flag(c, "sequenceOutput"), reverse = cm_flag(c, "reverseInput"),
         has = cm_flag(c, "hasBiasVector");
    if (!begin_cell(c, &k, RNN))
        return;
    k.w = gates(c, &k, 1, w, k.in);
    k.r = gates(c, &k, 1, r, k.units);
    imp_attr_ignore(c, b[0]);
    k.b = has ? gates(c, &k, 1, b, 0) : k.b;
    /* `activation` is a message whose fields stand among the attributes */
    (void)cm_flag(c, "activation");
    k.attr.activations = "tanh";
    for (int i = 0; i < N_ACTIVATIONS; i++) {
        const char *field = tn_arena_printf(c->arena, "activation.%s", activation_names[i].field);
        if (!cm_flag(c, field))
            continue;
        double alpha = imp_attr_float(c, tn_arena_printf(c->arena, "%s.alpha", field), 0),
               beta = imp_attr_float(c, tn_arena_printf(c->arena, "%s.beta", field), 0);
        k.attr.activations = activation_text(c, i, alpha, beta);
    }
    run_layer(c, &k, 1, reverse, out);
    give(c, x, out, all, reverse);
}

static void gru(imp_node *c)
{
    static const char *const w[] = {"updateGateWeightMatrix", "resetGateWeightMatrix",
                                    "outputGateWeightMatrix"},
                             *const r[] = {"updateGateRecursionMatrix", "resetGateRecursionMatrix",
                                           "outputGateRecursionMatrix"},
                             *const b[] = {"updateGateBiasVector", "resetGateBiasVector",
                                           "outputGateBiasVector"};
    cell k;
    tn_value x = imp_in(c, 0), out[3];
    bool all = cm_flag(c, "sequenceOutput"), reverse = cm_flag(c, "reverseInput"),
         has = cm_flag(c, "hasBiasVectors");
    if (!begin_cell(c, &k, GRU))
        return;
    k.w = gates(c, &k, 3, w, k.in);
    k.r = gates(c, &k, 3, r, k.units);
    for (int i = 0; i < 3; i++)
        imp_attr_ignore(c, b[i]);
    k.b = has ? gates(c, &k, 3, b, 0) : k.b;
    k.attr.activations = activations(c, "activations", 2, "sigmoid tanh");
    run_layer(c, &k, 1, reverse, out);
    give(c, x, out, all, reverse);
}

/* Weights of an LSTM, whose names begin with `prefix`. */
static void lstm_weights(imp_node *c, cell *k, const char *prefix, bool has_bias, bool one, bool has_peep)
{
    static const char *const gate[] = {"inputGate", "outputGate", "forgetGate", "blockInput"};
    const char *w[4], *r[4], *b[4], *p[3];
    for (int i = 0; i < 4; i++) {
        w[i] = tn_arena_printf(c->arena, "%s%sWeightMatrix", prefix, gate[i]);
        r[i] = tn_arena_printf(c->arena, "%s%sRecursionMatrix", prefix, gate[i]);
        b[i] = tn_arena_printf(c->arena, "%s%sBiasVector", prefix, gate[i]);
        imp_attr_ignore(c, b[i]);
    }
    for (int i = 0; i < 3; i++) {
        p[i] = tn_arena_printf(c->arena, "%s%sPeepholeVector", prefix, gate[i]);
        imp_attr_ignore(c, p[i]);
    }
    k->w = gates(c, k, 4, w, k->in);
    k->r = gates(c, k, 4, r, k->units);
    k->b = has_bias ? gates(c, k, 4, b, 0) : k->b;
    k->peep = has_peep ? gates(c, k, 3, p, 0) : k->peep;
    const tn_expr *dim[2] = {tn_idx(c->pool, 3), tn_idx(c->pool, k->units)};
    k->peep = has_peep && !c->bad ? imp_reshape(c, k->peep, 2, dim) : k->peep;
    if (!one || c->bad)
        return;
    float *at; /* 1 is added to the bias of the forget gate */
    int64_t n = 4 * k->units;
    const tn_blob *blob = tn_graph_blob(c->g, 4 * (size_t)n, (void **)&at);
    for (int64_t i = 0; i < n; i++)
        at[i] = i / k->units == 2;
    tn_value ones = tn_val(imp_constant(c->im, TN_F32, 1, &n, blob, "forget bias"));
    k->b = k->b.def ? cm_bin(c, &tn_op_add, k->b, ones) : ones;
}

typedef struct lstm_params {
    bool all, bias, one, peep, coupled;
    double clip;
} lstm_params;

static lstm_params read_lstm(imp_node *c)
{
    (void)cm_flag(c, "params");
    lstm_params p = {.all = cm_flag(c, "params.sequenceOutput"),
                     .bias = cm_flag(c, "params.hasBiasVectors"),
                     .one = cm_flag(c, "params.forgetBias"),
                     .peep = cm_flag(c, "params.hasPeepholeVectors"),
                     .coupled = cm_flag(c, "params.coupledInputAndForgetGate"),
                     .clip = imp_attr_float(c, "params.cellClipThreshold", 50)};
    p.clip = p.clip > 0 && p.clip < 1e30 ? p.clip : 0;
    return p;
}

static void set_lstm(cell *k, const lstm_params *p, const char *acts)
{
    k->attr.clip = p->clip;
    k->attr.input_forget = p->coupled;
    k->attr.activations = acts;
}

static void lstm(imp_node *c)
{
    cell k;
    tn_value x = imp_in(c, 0), out[3];
    lstm_params p = read_lstm(c);
    bool reverse = cm_flag(c, "reverseInput");
    (void)cm_flag(c, "weightParams");
    if (!begin_cell(c, &k, LSTM))
        return;
    lstm_weights(c, &k, "weightParams.", p.bias, p.one, p.peep);
    set_lstm(&k, &p, activations(c, "activations", 3, "sigmoid tanh tanh"));
    run_layer(c, &k, 1, reverse, out);
    give(c, x, out, p.all, reverse);
}

/* The weights of direction i, which are a message of their own. */
static void direction_weights(imp_node *c, cell *k, const lstm_params *p, size_t i)
{
    const imp_attr *a = imp_attr_find(c, "weightParams", IMP_A_TEXTS);
    imp_node inner = *c;
    cm_attrs list = {0};
    if (!a || a->texts.n != 2)
        imp_refuse(c, IMP_ATTR_MISSING, "weightParams must have two entries; the model is damaged");
    if (c->bad)
        return;
    if (cm_read_params(c->im, CM_LSTMWeight, a->texts.at[i], "", &list) != NULL)
        imp_refuse(c, IMP_BAD_VALUE, "the weights of the layer are damaged");
    inner.attr = list.at;
    inner.n_attr = list.n;
    inner.bad = c->bad;
    lstm_weights(&inner, k, "", p->bias, p->one, p->peep);
    c->bad = c->bad || inner.bad;
    tn_vec_deinit(&list);
}

static void bidirectional_lstm(imp_node *c)
{
    static const char *const acts[] = {"activationsForwardLSTM", "activationsBackwardLSTM"};
    cell k[2];
    tn_value x = imp_in(c, 0), out[2][3], both[2];
    lstm_params p = read_lstm(c);
    for (uint32_t i = 0; i < 2 && begin_cell(c, &k[i], LSTM); i++) {
        direction_weights(c, &k[i], &p, i);
        set_lstm(&k[i], &p, activations(c, acts[i], 3, "sigmoid tanh tanh"));
        run_layer(c, &k[i], 1 + 2 * i, i == 1, out[i]);
        both[i] = p.all ? out[i][0] : imp_unsqueeze(c, out[i][1], 0);
    }
    if (c->bad)
        return;
    imp_out(c, 0, as_layer(c, imp_concat(c, 2, both, 2), x));
    for (uint32_t i = 1; i < 5 && i < c->n_out; i++)
        imp_out(c, i, as_layer(c, out[(i - 1) / 2][1 + (i - 1) % 2], x));
}

/* ---- operations ---- */

/* Gates in the order of nn.recurrent: LSTM i f o c, GRU r n z. */
static tn_value in_order(imp_node *c, const cell *k, tn_value v)
{
    static const int lstm_order[] = {0, 2, 1, 3}, gru_order[] = {2, 0, 1};
    tn_value part[4];
    int64_t n = n_gates(k->kind);
    if (k->kind == RNN || c->bad || !v.def)
        return v;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = (k->kind == LSTM ? lstm_order : gru_order)[i] * k->units;
        part[i] = imp_slice(c, v, 0, from, from + k->units);
    }
    return imp_concat(c, (uint32_t)n, part, 0);
}

static const char *operation_activation(imp_node *c, const char *name, const char *def)
{
    static const char *const names[][2] = {{"tanh", "tanh"},
                                           {"sigmoid", "sigmoid"},
                                           {"relu", "relu"},
                                           {"linear", "affine:1:0"},
                                           {"sigmoid_hard", "hardsigmoid:0.2:0.5"},
                                           {"hard_sigmoid", "hardsigmoid:0.2:0.5"},
                                           {"scaled_tanh", "scaledtanh:1.7159:0.66666667"}};
    const char *given = imp_attr_string(c, name, def);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], given) == 0)
            return names[i][1];
    imp_refuse(c, IMP_BAD_VALUE, "%s \"%s\" is not supported", name, given);
    return "tanh";
}

static const char *operation_activations(imp_node *c, int kind)
{
    const char *act = operation_activation(c, "activation", "tanh");
    const char *gate = kind == RNN ? "" : operation_activation(c, "recurrent_activation", "sigmoid");
    const char *inner = kind == LSTM ? operation_activation(c, "cell_activation", "tanh") : "";
    return tn_intern(c->g->ctx, kind == RNN   ? act
                                : kind == GRU ? tn_arena_printf(c->arena, "%s %s", gate, act)
                                              : tn_arena_printf(c->arena, "%s %s %s", gate, inner, act));
}

/* A bias of the data beside that of the state. Where the reset gate multiplies a product, it multiplies the last third
 * of the state's bias, too. */
static void read_gru_bias(imp_node *c, cell *k)
{
    tn_value in = in_order(c, k, cm_opt(c, 0, "input_bias")), state = k->b;
    k->attr.linear_before_reset = cm_flag(c, "reset_after");
    if (k->attr.linear_before_reset && state.def) {
        const int64_t behind[] = {0, k->units};
        tn_pad_attr zeros = {.pad_width = tn_make_dims(c->g, 2, behind),
                             .pad_mode = tn_intern(c->g->ctx, "constant")};
        k->rb = imp_slice(c, state, 0, 2 * k->units, 3 * k->units);
        state = imp_call1(c, &tn_op_nn_pad, &zeros, imp_slice(c, state, 0, 0, 2 * k->units));
    }
    k->b = in.def && state.def ? cm_bin(c, &tn_op_add, in, state) : in.def ? in : state;
}

static void read_direction(imp_node *c, cell *k, int i)
{
    const char *name[4] = {"weight_ih", "weight_hh", "bias", "peephole"}, *suffix = i ? "_back" : "";
    tn_value v[4];
    for (int n = 0; n < 4; n++)
        v[n] = cm_opt(c, 0, tn_arena_printf(c->arena, "%s%s", name[n], suffix));
    if (!c->bad && (imp_rank(v[0]) != 2 || imp_rank(v[1]) != 2 ||
                    !tn_is_int(imp_type(v[1])->dim[1], &k->units) || k->units < 1 || k->units > 1 << 20 ||
                    !tn_is_value(imp_type(v[1])->dim[0], n_gates(k->kind) * k->units)))
        imp_refuse(c, IMP_OPERANDS, "weights %s and %s do not fit", imp_type_text(c, imp_type(v[0])),
                   imp_type_text(c, imp_type(v[1])));
    k->w = in_order(c, k, v[0]);
    k->r = in_order(c, k, v[1]);
    k->b = in_order(c, k, v[2]);
    if (k->kind == GRU && !i)
        read_gru_bias(c, k);
    if (v[3].def && !c->bad) { /* i f o */
        const tn_expr *dim[2] = {tn_idx(c->pool, 3), tn_idx(c->pool, k->units)};
        tn_value part[3] = {imp_slice(c, v[3], 0, 0, k->units),
                            imp_slice(c, v[3], 0, 2 * k->units, 3 * k->units),
                            imp_slice(c, v[3], 0, k->units, 2 * k->units)};
        k->peep = imp_reshape(c, imp_concat(c, 3, part, 0), 2, dim);
    }
}

/* Direction i of the state, which has those of both side by side. */
static tn_value state_of(imp_node *c, const char *name, const cell *k, int i, bool two)
{
    tn_value v = cm_opt(c, 0, name);
    return two && v.def ? imp_slice(c, v, 1, i * k->units, (i + 1) * k->units) : v;
}

static void operation(imp_node *c)
{
    int kind = strcmp(c->row->op, "lstm") == 0 ? LSTM : strcmp(c->row->op, "gru") == 0 ? GRU : RNN;
    tn_value x = cm_in(c, 0, "x"), out[2][3], join[3];
    const char *direction = imp_attr_string(c, "direction", "forward"),
               *acts = operation_activations(c, kind);
    bool all = cm_flag(c, "output_sequence"), two = strcmp(direction, "bidirectional") == 0,
         reverse = strcmp(direction, "reverse") == 0;
    double clip = imp_attr_float(c, "clip", 0);
    if (!two && !reverse && strcmp(direction, "forward"))
        imp_refuse(c, IMP_BAD_VALUE, "direction \"%s\" is not known", direction);
    for (int i = 0; i < 1 + two && !c->bad; i++) {
        cell k = {.kind = kind, .attr = {.activations = acts, .clip = clip > 0 && clip < 1e30 ? clip : 0}};
        read_direction(c, &k, i);
        tn_value h = state_of(c, "initial_h", &k, i, two), s = state_of(c, "initial_c", &k, i, two);
        run(c, &k, x, h, s, reverse || i == 1, out[i]);
    }
    for (uint32_t r = 0; r < 3 && !c->bad && (r < 2 || kind == LSTM); r++) {
        tn_value part[2];
        for (int i = 0; i < 1 + two; i++)
            part[i] = r || all ? out[i][r] : imp_unsqueeze(c, out[i][1], 0);
        join[r] = imp_concat(c, two ? 2 : 1, part, -1);
        imp_out_any(c, r, r == 0 && all && reverse ? cm_flip(c, join[0], 0) : join[r]);
    }
}

// clang-format off
const imp_row cm_rows_recurrent[] = {
    {"simpleRecurrent",    0, 0,  2, 2, simple_recurrent,   NULL},
    {"gru",                1, 1,  2, 2, gru,                NULL},
    {"uniDirectionalLSTM", 0, 0,  3, 3, lstm,               NULL},
    {"biDirectionalLSTM",  0, 0,  5, 5, bidirectional_lstm, NULL},
    {"lstm",               0, 0, -1, 3, operation,          NULL},
    {"gru",                2, 0, -1, 2, operation,          NULL},
    {"rnn",                0, 0, -1, 2, operation,          NULL},
    {0},
};
// clang-format on
