/* LSTM and SVDF in integers, with the bits of the reference kernels: data and results of 8 bits, gates and cells of
 * 16. The normalisation of gates is in norm16.c. */
#include "frontend/tflite/fixed.h"
#include "frontend/tflite/lstm.h"

#include "frontend/import/matrix.h"

#include <math.h>
#include <string.h>

enum { OP_INTERMEDIATES = 8, HIDDEN = 4, GATE_BITS = 3 };

typedef struct gate { /* how sums of products become its 16-bit numbers */
    tfl_factor data, state, peep;
    tfl_norm16 norm;
} gate;

typedef struct integers {
    const tfl_lstm *l;
    gate gate[4];
    tfl_factor hidden, projection;
    const tfl_tensor *inner; /* what is projected */
    const tfl_tensor *result;
    int cell_bits;                       /* before the point, of the cell */
    double cell_limit, projection_limit; /* 0: none */
} integers;

static float scale_of(const tfl_tensor *t) { return t && t->n_scale ? t->scale[0] : 1; }
static int64_t zero_of(const tfl_tensor *t) { return t && t->n_scale ? t->zero[0] : 0; }

static tn_value narrow(imp_node *c, tn_value v, int bits)
{
    double most = (double)((INT64_C(1) << (bits - 1)) - 1);
    return imp_clip(c, v, -most - 1, most);
}

/* v / 2^n, ties away from 0. */
static tn_value over_power(imp_node *c, tn_value v, int n)
{
    tn_value below = imp_with(c, &tn_op_right_shift, v, 31); /* -1 below 0 */
    v = tfl_plus(c, imp_with(c, &tn_op_add, v, (double)(1 << (n - 1))), below);
    return imp_with(c, &tn_op_right_shift, v, n);
}

/* Sums int32 of integers less `zero`, times a weight [units, n] of 8 bits without one. */
static tn_value sums(imp_node *c, tn_value x, int64_t zero, tn_value weight)
{
    if (zero < INT8_MIN || zero > INT8_MAX)
        imp_refuse(c, IMP_BAD_TENSOR, "a zero point of %lld is no number of 8 bits", (long long)zero);
    imp_zeros z = {imp_const(c, imp_type(x)->dtype, (double)zero), imp_const(c, imp_type(weight)->dtype, 0)};
    return imp_dense(c, x, weight, &z);
}

/* ---- reading ---- */

static const tfl_tensor *intermediate(imp_node *c, uint32_t i)
{
    const tfl_node *t = c->origin;
    tn_flat_vector v = tn_flat_list(&t->op, OP_INTERMEDIATES, 4);
    int64_t at = i < v.n ? tn_flat_int_at(&v, i, 4, true) : -1;
    return at >= 0 && at < (int64_t)t->graph->n_tensor ? &t->graph->tensor[at] : NULL;
}

static void read_gates(imp_node *c, integers *k)
{
    const tfl_lstm *l = k->l;
    const float x = scale_of(tfl_in(c, 0)), h = scale_of(k->result);
    for (uint32_t i = l->coupled; i < 4; i++) {
        float unit = l->norm ? scale_of(intermediate(c, i)) : 1.0f / 4096;
        float w = scale_of(tfl_in(c, l->kernel + i)), r = scale_of(tfl_in(c, l->recurrent_at + i));
        k->gate[i].data = tfl_factor_of((double)(w * x / unit));
        k->gate[i].state = tfl_factor_of((double)(r * h / unit));
        if (l->peep && i != 2) {
            float p = scale_of(tfl_in(c, l->peep + (i == 3 ? 2 : i)));
            float cell = (float)(exp2(k->cell_bits - 15) * (double)p / (double)unit);
            k->gate[i].peep = tfl_factor_of((double)cell);
        }
        if (l->norm)
            k->gate[i].norm = tfl_norm16_of(scale_of(tfl_in(c, l->norm + i)), l->units);
    }
}

static double limit_of(double clip, float scale, double most)
{
    double q = trunc(clip / (double)scale);
    return clip > 0 ? q < most ? q : most : 0;
}

static bool read_integers(imp_node *c, const tfl_lstm *l, integers *k)
{
    const tfl_tensor *cell = tfl_in(c, l->state[1]), *w = tfl_in(c, l->kernel + 1);
    int exponent = 0;
    *k = (integers){.l = l, .inner = intermediate(c, HIDDEN), .result = tfl_in(c, l->state[0])};
    bool power = cell && cell->n_scale && frexpf(cell->scale[0], &exponent) == 0.5f;
    k->cell_bits = 15 + exponent - 1;
    if (!power || k->cell_bits < 0 || k->cell_bits > 6 || cell->dtype.bits != 16 ||
        !tfl_is_quantised(k->result) || k->result->dtype.bits != 8 || !k->inner || !k->inner->n_scale ||
        !tfl_is_quantised(w) || tfl_in(c, 0)->dtype.bits != 8 || w->dtype.bits != 8)
        imp_refuse(
            c, IMP_BAD_TENSOR,
            "integer layers of this kind need data, weights and results of 8 bits, a cell of 16 whose scale "
            "is a power of 2, and the scale of what is inside; the model is damaged");
    for (uint32_t i = l->coupled; i < 4 && l->norm && !c->bad; i++) {
        const tfl_tensor *sum = intermediate(c, i), *by = tfl_in(c, l->norm + i);
        if (!sum || !sum->n_scale || !by || !by->n_scale || by->dtype.bits != 16 || !imp_has(c, l->bias + i))
            imp_refuse(
                c, IMP_BAD_TENSOR,
                "normalised gates of integers need their scales, coefficients of 16 bits with a scale, and "
                "biases; the model is damaged");
    }
    if (c->bad)
        return false;
    read_gates(c, k);
    float inner = k->inner->scale[0], p = l->projection ? scale_of(tfl_in(c, l->projection)) : 1;
    k->hidden = tfl_factor_of((double)(float)(exp2(-15) / (double)inner * exp2(-15)));
    k->projection = tfl_factor_of((double)(p * inner / scale_of(k->result)));
    k->cell_limit = limit_of(l->cell_clip, cell->scale[0], INT16_MAX);
    k->projection_limit = limit_of(l->projection_clip, scale_of(k->result), INT8_MAX);
    return true;
}

/* ---- one step ---- */

/* What the data give to all gates: int16 [batch, steps, gates * units]. */
static tn_value from_data(imp_node *c, const integers *k, tn_value x)
{
    const tfl_lstm *l = k->l;
    const tn_expr *const *d = imp_type(x)->dim, *rows[2] = {imp_product(c, imp_type(x), 0, 2), d[2]}, *dim[3];
    tn_value flat = imp_reshape(c, x, 2, rows), part[4];
    uint32_t n = 0;
    for (uint32_t i = l->coupled; i < 4 && !c->bad; i++) {
        tn_value v = sums(c, flat, zero_of(tfl_in(c, 0)), imp_in(c, l->kernel + i));
        v = imp_has(c, l->bias + i) && !l->norm ? tfl_plus(c, v, imp_in(c, l->bias + i)) : v;
        v = tfl_scaled(c, v, 1, &k->gate[i].data, 0);
        part[n++] = imp_cast(c, narrow(c, v, 16), TN_DT(TN_INT, 16));
    }
    tn_value all = c->bad ? x : imp_concat(c, n, part, 1);
    dim[0] = d[0];
    dim[1] = d[1];
    dim[2] = tn_idx(c->pool, n * l->units);
    return c->bad ? x : imp_reshape(c, all, 3, dim);
}

static tn_value sum_of(imp_node *c, const integers *k, uint32_t i, tn_value x, const tn_value state[],
                       tn_value cell)
{
    const tfl_lstm *l = k->l;
    int64_t at = (int64_t)i - l->coupled;
    tn_value v = imp_cast(c, imp_slice(c, x, 1, at * l->units, (at + 1) * l->units), TN_I32);
    tn_value h = sums(c, state[0], zero_of(k->result), imp_in(c, l->recurrent_at + i));
    v = narrow(c, tfl_plus(c, v, tfl_scaled(c, h, 1, &k->gate[i].state, 0)), 16);
    if (!l->peep || i == 2)
        return v;
    tn_value p = imp_cast(c, imp_in(c, l->peep + (i == 3 ? 2 : i)), TN_I32);
    tn_value seen = tfl_scaled(c, tfl_times(c, cell, p), 1, &k->gate[i].peep, 0);
    return narrow(c, tfl_plus(c, v, seen), 16);
}

static tn_value gate_of(imp_node *c, const integers *k, uint32_t i, tn_value x, const tn_value state[],
                        tn_value cell)
{
    const tfl_lstm *l = k->l;
    tn_value v = sum_of(c, k, i, x, state, cell);
    return !l->norm
               ? v
               : tfl_normalised16(c, v, imp_in(c, l->norm + i), imp_in(c, l->bias + i), &k->gate[i].norm);
}

static tn_value clipped(imp_node *c, tn_value v, double limit)
{
    return limit > 0 ? imp_clip(c, v, -limit, limit) : v;
}

/* state: int8, int16. */
static void step(imp_node *c, const imp_scan *s, tn_value x, tn_value state[], tn_value *out)
{
    const integers *k = s->user;
    const tfl_lstm *l = k->l;
    tn_value cell = imp_cast(c, state[1], TN_I32);
    tn_value f = tfl_apply16(c, gate_of(c, k, 1, x, state, cell), tfl_logistic16, GATE_BITS);
    tn_value g = tfl_apply16(c, gate_of(c, k, 2, x, state, cell), tfl_tanh16, GATE_BITS);
    tn_value i = l->coupled ? imp_binary(c, &tn_op_subtract, tfl_int(c, INT16_MAX), f)
                            : tfl_apply16(c, gate_of(c, k, 0, x, state, cell), tfl_logistic16, GATE_BITS);
    tn_value kept = over_power(c, tfl_times(c, f, cell), 15);
    tn_value added = over_power(c, tfl_times(c, i, g), 15 + k->cell_bits);
    cell = clipped(c, narrow(c, tfl_plus(c, kept, added), 16), k->cell_limit);
    tn_value o = tfl_apply16(c, gate_of(c, k, 3, x, state, cell), tfl_logistic16, GATE_BITS);
    tn_value h = tfl_times(c, o, tfl_apply16(c, cell, tfl_tanh16, k->cell_bits));
    h = imp_with(c, &tn_op_add, tfl_scaled(c, h, 1, &k->hidden, 0), (double)zero_of(k->inner));
    h = imp_cast(c, narrow(c, h, 8), TN_DT(TN_INT, 8));
    if (l->projection) {
        h = sums(c, h, zero_of(k->inner), imp_in(c, l->projection));
        h = imp_has(c, l->projection + 1) ? tfl_plus(c, h, imp_in(c, l->projection + 1)) : h;
        h = imp_with(c, &tn_op_add, tfl_scaled(c, h, 1, &k->projection, 0), (double)zero_of(k->result));
        h = imp_cast(c, clipped(c, narrow(c, h, 8), k->projection_limit), TN_DT(TN_INT, 8));
    }
    state[0] = *out = h;
    state[1] = imp_cast(c, cell, TN_DT(TN_INT, 16));
}

tn_value tfl_integer_lstm(imp_node *c, tfl_lstm *l, tn_value x)
{
    integers k;
    imp_scan s = {.n_state = 2, .backwards = l->backwards, .collects = true, .step = step, .user = &k};
    if (c->bad || !read_integers(c, l, &k))
        return x;
    s.x = from_data(c, &k, x);
    s.state[0] = tfl_state_of(c, l->state[0], x, l->results);
    s.state[1] = tfl_state_of(c, l->state[1], x, l->units);
    if (c->bad)
        return x;
    s.step_type = imp_type(s.state[0]);
    imp_do_scan(c, &s);
    for (int i = 0; i < 2; i++)
        tfl_set_state(c, l->state[i], s.state[i]);
    return s.all;
}

/* ---- SVDF ---- */

tn_value tfl_svdf_features(imp_node *c, tn_value x, tn_value weight)
{
    const tfl_tensor *state = tfl_in(c, 4), *t = tfl_in(c, 0);
    if (!c->bad && (!tfl_is_quantised(state) || state->dtype.bits != 16 || state->zero[0] != 0))
        imp_refuse(c, IMP_BAD_TENSOR, "the state of such an integer layer must be int16 with a scale");
    if (c->bad)
        return x;
    tfl_factor f = tfl_factor_of((double)(t->scale[0] * scale_of(tfl_in(c, 1)) / state->scale[0]));
    tn_value v = tfl_scaled(c, sums(c, x, zero_of(t), weight), 1, &f, 0);
    return imp_cast(c, narrow(c, v, 16), TN_DT(TN_INT, 16));
}

tn_value tfl_svdf_result(imp_node *c, tn_value v, int64_t function)
{
    const tfl_tensor *y = tfl_out(c, 0);
    (void)function; /* the least integer of the result stands for the function's least value */
    if (c->bad || !tfl_is_quantised(y) || y->dtype.bits != 8) {
        imp_refuse(c, IMP_BAD_TENSOR, "the result of such an integer layer must be int8 with a scale");
        return v;
    }
    v = imp_has(c, 3) ? tfl_plus(c, v, imp_in(c, 3)) : v;
    tfl_factor f = tfl_factor_of((double)(scale_of(tfl_in(c, 4)) * scale_of(tfl_in(c, 2)) / y->scale[0]));
    v = imp_with(c, &tn_op_add, tfl_scaled(c, v, 1, &f, 0), (double)y->zero[0]);
    return imp_cast(c, narrow(c, v, 8), y->dtype);
}
