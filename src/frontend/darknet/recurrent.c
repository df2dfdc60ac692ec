/* Darknet's recurrent layers: a run is one step, and the layer's state is kept for the next one, as Darknet keeps it
 * while it predicts. Their parts are connected or convolutional layers, each with its own weights. */
#include "frontend/darknet/darknet.h"

#include <string.h>

static tn_value sum(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_add, a, b); }
static tn_value product(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_multiply, a, b); }
static tn_value sigmoid(imp_node *c, tn_value v) { return imp_unary(c, &tn_op_sigmoid, v); }
static tn_value tanh_(imp_node *c, tn_value v) { return imp_unary(c, &tn_op_tanh, v); }

/* ---- what is kept ---- */

static const char *state_name(imp_node *c, const char *which)
{
    return tn_arena_printf(c->arena, "%s_%s", imp_text(c->im, c->out_name[0]), which);
}

/* Zeros before the first run. */
static tn_value state(imp_node *c, const char *which, int n, const int64_t dim[])
{
    if (c->bad)
        return (tn_value){0};
    tn_value v =
        imp_state(c->im, state_name(c, which), tn_type_tensor_i(c->pool, TN_F32, n, dim), NULL, c->loc);
    c->bad = !v.def;
    return v;
}

static void keep(imp_node *c, const char *which, tn_value v)
{
    if (!c->bad && imp_set_state(c->im, state_name(c, which), v, c->loc) != TN_OK)
        c->bad = true;
}

static bool is_size(imp_node *c, const char *name, int64_t n)
{
    if (!c->bad && (n < 1 || n > INT32_MAX))
        imp_refuse(c, IMP_BAD_VALUE, "%s is %lld, but must be at least 1", name, (long long)n);
    return !c->bad;
}

static tn_value flat(imp_node *c) { return imp_flatten(c, imp_in(c, 0), 1); }

/* ---- rnn, crnn ---- */

typedef tn_value part_fn(imp_node *c, tn_value x, int64_t n);

static tn_value dense(imp_node *c, tn_value x, int64_t n)
{
    dk_part p = dk_read_dense(c, x, n);
    return dk_dense(c, x, &p);
}

static tn_value convolved(imp_node *c, tn_value x, int64_t n)
{
    imp_layer w;
    int64_t channels = 0;
    if (!imp_layer_init(c, x, &w) || !tn_is_int(imp_type(x)->dim[1], &channels))
        return x;
    for (int i = 0; i < 2; i++) {
        w.kernel[i] = 3;
        w.before[i] = w.after[i] = 1;
    }
    const int64_t dim[4] = {n, channels, 3, 3};
    dk_part p = dk_read_conv(c, dim, n);
    return dk_normalized(c, imp_layer_conv(c, x, p.weight, (tn_value){0}, &w), &p);
}

/* state = f(A x) + f(B state), and the result f(C state) */
static void simple(imp_node *c, tn_value x, part_fn *part, int n_dim, int64_t dim[], int64_t out)
{
    tn_value had = state(c, "state", n_dim, dim), in = dk_activate(c, part(c, x, dim[1]), "logistic");
    tn_value again = dk_activate(c, part(c, had, dim[1]), "logistic"), now = sum(c, in, again);
    if (dk_int(c, "shortcut", 0))
        now = sum(c, now, had);
    keep(c, "state", now);
    imp_out(c, 0, dk_activate(c, part(c, now, out), "logistic"));
}

static void rnn(imp_node *c)
{
    int64_t out = dk_int(c, "output", 1), dim[2] = {1, dk_int(c, "hidden", out)};
    if (is_size(c, "output", out) && is_size(c, "hidden", dim[1]))
        simple(c, flat(c), dense, 2, dim, out);
}

static void crnn(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t out = dk_int(c, "output_filters", 1), dim[4] = {1, dk_int(c, "hidden_filters", 1)};
    if (!c->bad && (imp_rank(x) != 4 || !tn_is_int(imp_type(x)->dim[2], &dim[2]) ||
                    !tn_is_int(imp_type(x)->dim[3], &dim[3])))
        imp_refuse(c, IMP_OPERANDS, "the layer needs images, but gets %s", imp_type_text(c, imp_type(x)));
    if (is_size(c, "output_filters", out) && is_size(c, "hidden_filters", dim[1]))
        simple(c, x, convolved, 4, dim, out);
}

/* ---- gru, lstm: the parts of the state stand before those of the data ---- */

static void read_parts(imp_node *c, int n, tn_value h, tn_value x, int64_t units, dk_part of_state[],
                       dk_part of_data[])
{
    for (int i = 0; i < n; i++)
        of_state[i] = dk_read_dense(c, h, units);
    for (int i = 0; i < n; i++)
        of_data[i] = dk_read_dense(c, x, units);
}

static tn_value gate(imp_node *c, tn_value h, const dk_part *of_state, tn_value x, const dk_part *of_data)
{
    tn_value from_state = dk_dense(c, h, of_state);
    return sum(c, dk_dense(c, x, of_data), from_state);
}

/* h = z h + (1 - z) f(U x + W (r h)) */
static void gru(imp_node *c)
{
    enum { UPDATE, RESET, NEW, GATES };
    int64_t dim[2] = {1, dk_int(c, "output", 1)};
    bool hyperbolic = dk_int(c, "tanh", 0) != 0;
    if (!is_size(c, "output", dim[1]))
        return;
    dk_part w[GATES], u[GATES];
    tn_value x = flat(c), h = state(c, "state", 2, dim);
    read_parts(c, GATES, h, x, dim[1], w, u);
    tn_value z = sigmoid(c, gate(c, h, &w[UPDATE], x, &u[UPDATE]));
    tn_value r = sigmoid(c, gate(c, h, &w[RESET], x, &u[RESET]));
    tn_value n = gate(c, product(c, r, h), &w[NEW], x, &u[NEW]);
    n = hyperbolic ? tanh_(c, n) : sigmoid(c, n);
    tn_value change = product(c, z, imp_binary(c, &tn_op_subtract, h, n));
    h = sum(c, n, change);
    keep(c, "state", h);
    imp_out(c, 0, h);
}

static void lstm(imp_node *c)
{
    enum { IN, FORGET, OUT, NEW, GATES };
    int64_t dim[2] = {1, dk_int(c, "output", 1)};
    if (!is_size(c, "output", dim[1]))
        return;
    dk_part w[GATES], u[GATES];
    tn_value x = flat(c), h = state(c, "state", 2, dim), cell = state(c, "cell", 2, dim), g[GATES];
    read_parts(c, GATES, h, x, dim[1], w, u);
    for (int i = 0; i < GATES; i++) {
        g[i] = gate(c, h, &w[i], x, &u[i]);
        g[i] = i == NEW ? tanh_(c, g[i]) : sigmoid(c, g[i]);
    }
    tn_value fresh = product(c, g[IN], g[NEW]);
    cell = sum(c, product(c, g[FORGET], cell), fresh);
    h = product(c, g[OUT], tanh_(c, cell));
    keep(c, "cell", cell);
    keep(c, "state", h);
    imp_out(c, 0, h);
}

// clang-format off
const imp_row dk_rows_recurrent[] = {
    {"rnn",  0, 0, 1, 1, rnn,  NULL},
    {"crnn", 0, 0, 1, 1, crnn, NULL},
    {"gru",  0, 0, 1, 1, gru,  NULL},
    {"lstm", 0, 0, 1, 1, lstm, NULL},
    {0},
};
// clang-format on
