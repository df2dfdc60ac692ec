/* ai.onnx.preview.training: Gradient, and steps of optimisers: Adagrad, Adam, Momentum. Their operands are the learning
 * rate R, the count T of steps so far, then for n tensors all values, all gradients and all of each state; results are
 * all new values, then all new states. */
#include "frontend/onnx/onnx.h"

#include "op/gradient.h"
#include "op/tensor/tensor.h"

#include <string.h>

typedef struct step {
    imp_node *c;
    tn_value rate, count; /* in the dtype of the tensors; count float32 */
    tn_value x, g, state[2];
    tn_value out[3];
} step;

static tn_value number(const step *s, double v) { return imp_const(s->c, imp_type(s->x)->dtype, v); }

static tn_value add(const step *s, tn_value a, tn_value b) { return imp_binary(s->c, &tn_op_add, a, b); }
static tn_value sub(const step *s, tn_value a, tn_value b) { return imp_binary(s->c, &tn_op_subtract, a, b); }
static tn_value mul(const step *s, tn_value a, tn_value b) { return imp_binary(s->c, &tn_op_multiply, a, b); }
static tn_value over(const step *s, tn_value a, tn_value b) { return imp_binary(s->c, &tn_op_divide, a, b); }

/* a * x + b * y */
static tn_value mixed(const step *s, double a, tn_value x, double b, tn_value y)
{
    x = mul(s, number(s, a), x);
    return add(s, x, mul(s, number(s, b), y));
}

/* Where training has begun `v`, else `first`. */
static tn_value later(const step *s, tn_value v, tn_value first)
{
    tn_value begun = imp_binary(s->c, &tn_op_greater, s->count, imp_const(s->c, TN_F32, 0));
    return imp_choose(s->c, begun, v, first);
}

/* sqrt(v) + epsilon */
static tn_value root_above(const step *s, tn_value v)
{
    v = imp_unary(s->c, &tn_op_sqrt, v);
    return imp_with(s->c, &tn_op_add, v, imp_attr_float(s->c, "epsilon", 1e-6f));
}

static void adagrad(step *s)
{
    imp_node *c = s->c;
    tn_value steps = imp_cast(c, s->count, imp_type(s->x)->dtype);
    tn_value decay = mul(s, steps, number(s, imp_attr_float(c, "decay_factor", 0)));
    decay = imp_with(c, &tn_op_add, decay, 1);
    tn_value g = mixed(s, imp_attr_float(c, "norm_coefficient", 0), s->x, 1, s->g);
    s->out[1] = add(s, s->state[0], mul(s, g, g));
    tn_value root = root_above(s, s->out[1]);
    s->out[0] = sub(s, s->x, over(s, mul(s, over(s, s->rate, decay), g), root));
}

/* 1 - base^T */
static tn_value complement(const step *s, double base)
{
    tn_value power = number(s, base), count = imp_cast(s->c, s->count, imp_type(s->x)->dtype);
    power = imp_binary(s->c, &tn_op_power, power, count);
    return sub(s, number(s, 1), power);
}

static void adam(step *s)
{
    imp_node *c = s->c;
    double a = imp_attr_float(c, "alpha", 0.9f), b = imp_attr_float(c, "beta", 0.999f);
    tn_value g = mixed(s, imp_attr_float(c, "norm_coefficient", 0), s->x, 1, s->g);
    s->out[1] = mixed(s, a, s->state[0], 1 - a, g);
    s->out[2] = mixed(s, b, s->state[1], 1 - b, mul(s, g, g));
    tn_value warm = mul(s, s->rate, imp_unary(c, &tn_op_sqrt, complement(s, b)));
    warm = over(s, warm, complement(s, a));
    tn_value root = root_above(s, s->out[2]);
    tn_value y = sub(s, s->x, over(s, mul(s, later(s, warm, s->rate), s->out[1]), root));
    s->out[0] = mul(s, number(s, 1 - imp_attr_float(c, "norm_coefficient_post", 0)), y);
}

static void momentum(step *s)
{
    imp_node *c = s->c;
    const char *mode = imp_attr_string(c, "mode", "standard");
    double a = imp_attr_float(c, "alpha", 0);
    bool nesterov = mode[0] == 'n';
    tn_value beta = number(s, imp_attr_float(c, "beta", 0));
    beta = later(s, beta, number(s, 1));
    tn_value g = mixed(s, imp_attr_float(c, "norm_coefficient", 0), s->x, 1, s->g);
    tn_value kept = mul(s, number(s, a), s->state[0]);
    s->out[1] = add(s, kept, mul(s, beta, g));
    s->out[0] = sub(s, s->x, mul(s, s->rate, nesterov ? mixed(s, 1, g, a, s->out[1]) : s->out[1]));
}

static tn_value scalar(imp_node *c, uint32_t i, tn_dtype t)
{
    tn_value v = imp_cast(c, imp_in(c, i), t);
    return imp_rank(v) ? imp_reshape(c, v, 0, NULL) : v;
}

/* One step for each tensor; n_states: how many states each has. */
static void all_tensors(imp_node *c, uint32_t n_states, void (*one)(step *))
{
    uint32_t groups = n_states + 2, n = imp_n_in(c) < 2 ? 0 : (imp_n_in(c) - 2) / groups;
    if (n * groups + 2 != imp_n_in(c) || c->n_out > (size_t)n * (n_states + 1))
        imp_fail(c, "onnx-E017", "there are %u operands and %zu results; the model is damaged",
                 (unsigned)imp_n_in(c), c->n_out);
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        step s = {.c = c, .x = imp_in(c, 2 + i), .g = imp_in(c, 2 + n + i)};
        for (uint32_t k = 0; k < n_states; k++)
            s.state[k] = imp_in(c, 2 + (2 + k) * n + i);
        s.rate = scalar(c, 0, imp_type(s.x)->dtype);
        s.count = scalar(c, 1, TN_F32);
        one(&s);
        for (uint32_t k = 0; k < n_states + 1; k++)
            imp_out_any(c, k * n + i, s.out[k]);
    }
}

static void adagrad_node(imp_node *c) { all_tensors(c, 1, adagrad); }
static void adam_node(imp_node *c) { all_tensors(c, 2, adam); }

static void momentum_node(imp_node *c)
{
    const char *mode = imp_attr_string(c, "mode", "");
    static const char *const needed[] = {"alpha", "beta", "mode", "norm_coefficient"};
    for (int i = 0; i < 4; i++)
        imp_attr_need(c, needed[i]);
    if (strcmp(mode, "standard") != 0 && strcmp(mode, "nesterov") != 0)
        imp_fail(c, "onnx-E009", "mode is \"%s\"; standard and nesterov are known", mode);
    all_tensors(c, 1, momentum);
}

/* ---- Gradient: results are the derivatives of y with respect to xs, at the operands ---- */

/* The value that is called `name`, which is operand i, too. */
static tn_value named(imp_node *c, tn_bytes name, const char *what)
{
    const imp_value *v = imp_lookup(c->im, name);
    if (v && v->state == IMP_OK && v->v.def)
        return v->v;
    if (!v || v->state == IMP_UNUSABLE)
        imp_fail(c, "onnx-E105", "%s names \"%s\", which no node before computes", what,
                 imp_text(c->im, name));
    c->bad = true;
    return (tn_value){0};
}

/* Is it what another name stood for before? Then y may depend on that not only by this name. */
static bool is_alias(const imp_model *im, tn_bytes name, tn_value v)
{
    const imp_value *own = imp_lookup(im, name);
    for (const imp_value *other = im->value.at; other < own; other++)
        if (other->state == IMP_OK && tn_value_eq(other->v, v))
            return true;
    return false;
}

/* xs or zs, whose values are operands from number `first` on. */
static const tn_value *points(imp_node *c, const char *attr, uint32_t first, uint32_t *n)
{
    const imp_attr *a = imp_attr_find(c, attr, IMP_A_TEXTS);
    *n = a ? (uint32_t)a->texts.n : 0;
    tn_value *v = TN_NEW_N(c->arena, tn_value, *n);
    for (uint32_t i = 0; i < *n && !c->bad; i++) {
        tn_bytes name = a->texts.at[i];
        v[i] = named(c, name, attr);
        if (c->bad)
            break;
        if (first + i >= imp_n_in(c) || !tn_value_eq(imp_in(c, first + i), v[i]))
            imp_fail(
                c, "onnx-E106",
                "operand %u is not %s itself; a gradient at another point than where the model computes y is "
                "not supported",
                (unsigned)(first + i), imp_text(c->im, name));
        else if (is_alias(c->im, name, v[i]))
            imp_fail(c, "onnx-E109", "%s is the same value under another name; use its first name",
                     imp_text(c->im, name));
    }
    return v;
}

static void gradient(imp_node *c)
{
    uint32_t n, constants;
    imp_attr_need(c, "xs");
    imp_attr_need(c, "y");
    const imp_attr *a = imp_attr_find(c, "y", IMP_A_TEXT);
    if (c->bad || !a)
        return;
    const tn_value *x = points(c, "xs", 0, &n);
    (void)points(c, "zs", n, &constants);
    tn_value y = c->bad ? (tn_value){0} : named(c, a->text, "y"), *out = TN_NEW_N(c->arena, tn_value, n);
    if (!c->bad && (n < c->n_out || n + constants != imp_n_in(c)))
        imp_fail(c, "onnx-E017", "there are %u operands and %zu results for %u tensors; the model is damaged",
                 (unsigned)imp_n_in(c), c->n_out, (unsigned)(n + constants));
    for (uint32_t i = 0; i < n && !c->bad; i++)
        if (tn_op_is(x[i].def, &tn_op_constant))
            imp_fail(c, "onnx-E107",
                     "operand %u is a constant, which nodes have been simplified by; make it an input of the "
                     "model",
                     (unsigned)i);
    for (uint32_t i = 0; i <= n && !c->bad; i++)
        if ((i < n ? x[i] : y).def->owner != c->im->r)
            imp_fail(c, "onnx-E108", "%s stands outside of the graph of a branch or loop",
                     imp_text(c->im, i < n ? c->in_name[i] : a->text));
    if (c->bad)
        return;
    if (tn_gradient_of(c->g, c->im->r, y, (int)n, x, out) != TN_OK) {
        c->bad = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        imp_out_any(c, i, out[i]);
}

// clang-format off
const imp_row onnx_rows_training[] = {
    {"Gradient", 1, 0, -1, -1, gradient,      NULL},
    {"Adagrad",  1, 0, -1, -1, adagrad_node,  NULL},
    {"Adam",     1, 0, -1, -1, adam_node,     NULL},
    {"Momentum", 1, 0, -1, -1, momentum_node, NULL},
    {0},
};
// clang-format on
