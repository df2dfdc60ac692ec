/* Quantised tensors: what they stand for, and integer arithmetic that gives the bits of TFLite's reference kernels. */
#include "frontend/tflite/quant.h"

#include "op/qnn/qnn.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- tensors of an operator ---- */

static const tfl_tensor *tensor(const imp_node *c, const int32_t at[], uint32_t n, uint32_t i)
{
    const tfl_node *t = c->origin;
    return i < n && at[i] >= 0 ? &t->graph->tensor[at[i]] : NULL;
}

const tfl_tensor *tfl_in(const imp_node *c, uint32_t i)
{
    const tfl_node *t = c->origin;
    return tensor(c, t->in, t->n_in, i);
}

const tfl_tensor *tfl_out(const imp_node *c, uint32_t i)
{
    const tfl_node *t = c->origin;
    return tensor(c, t->out, t->n_out, i);
}

bool tfl_is_quantised(const tfl_tensor *t) { return tfl_has_scales(t) && t->n_scale == 1; }

bool tfl_has_scales(const tfl_tensor *t)
{
    bool all = t && t->n_scale && t->known && tn_dtype_is_int(t->dtype) && t->dtype.bits <= 16;
    for (uint32_t i = 0; all && t->n_scale > 1 && i < t->n_scale; i++)
        all = t->zero[i] == 0;
    return all;
}

static tn_value constant_of(imp_node *c, tn_dtype t, uint32_t n, const void *data)
{
    int64_t dim = n;
    return c->bad ? (tn_value){0}
                  : tn_val(tn_make_constant(c->g, c->im->r, NULL, t, n == 1 ? 0 : 1, &dim, data, NULL));
}

static tn_value scales(imp_node *c, const tfl_tensor *t)
{
    float *at = TN_NEW_N(c->arena, float, t->n_scale);
    memcpy(at, t->scale, t->n_scale * sizeof *at);
    return constant_of(c, TN_F32, t->n_scale, at);
}

static tn_value zeros(imp_node *c, const tfl_tensor *t)
{
    int32_t *at = TN_NEW_N(c->arena, int32_t, t->n_scale);
    for (uint32_t i = 0; i < t->n_scale; i++)
        at[i] = (int32_t)t->zero[i];
    return constant_of(c, TN_I32, t->n_scale, at);
}

tn_value tfl_real(imp_node *c, uint32_t i)
{
    const tfl_tensor *t = tfl_in(c, i);
    tn_value v = imp_in(c, i);
    if (!t || c->bad || !t->n_scale || !tn_dtype_is_int(t->dtype) || t->dtype.bits > 32)
        return v;
    tn_qnn_attr a = {.axis = t->n_scale > 1 ? t->axis : -1, .out_dtype = TN_F32};
    return imp_call(c, &tn_op_qnn_dequantize, &a, 3, (const tn_value[]){v, scales(c, t), zeros(c, t)});
}

/* Twice what trunc leaves is 1 from a half on; of infinity it would leave NaN. */
tn_value tfl_rounded(imp_node *c, tn_value v)
{
    v = imp_clip(c, v, -(double)FLT_MAX, (double)FLT_MAX);
    tn_value whole = imp_unary(c, &tn_op_trunc, v);
    tn_value rest = imp_binary(c, &tn_op_subtract, v, whole);
    rest = imp_unary(c, &tn_op_trunc, imp_binary(c, &tn_op_add, rest, rest));
    return imp_binary(c, &tn_op_add, whole, rest);
}

static tn_value quantised(imp_node *c, tn_value v, const tfl_tensor *t)
{
    v = imp_binary(c, &tn_op_divide, v, scales(c, t));
    v = tfl_with(c, &tn_op_add, tfl_rounded(c, v), (double)t->zero[0]);
    return imp_cast(c, v, t->dtype);
}

void tfl_give(imp_node *c, uint32_t i, tn_value v)
{
    const tfl_tensor *t = tfl_out(c, i);
    bool real = v.def && tn_dtype_eq(imp_type(v)->dtype, TN_F32);
    if (real && t && t->n_scale > 1)
        imp_refuse(c, IMP_BAD_TENSOR,
                   "its result has a scale for each index of a dimension, which only weights may have");
    imp_out(c, i, !c->bad && real && tfl_is_quantised(t) ? quantised(c, v, t) : v);
}

/* ---- activation functions ---- */

enum { NONE, RELU, RELU_N1_TO_1, RELU6, TANH, SIGN_BIT };

tn_value tfl_activate(imp_node *c, tn_value v, int64_t function)
{
    switch (function) {
    case NONE: return v;
    case RELU: return imp_unary(c, &tn_op_nn_relu, v);
    case RELU_N1_TO_1: return imp_clip(c, v, -1, 1);
    case RELU6: return imp_clip(c, v, 0, 6);
    case TANH: return imp_unary(c, &tn_op_tanh, v);
    default: break;
    }
    imp_refuse(c, IMP_BAD_VALUE, "activation function %lld of the schema is not supported",
               (long long)function);
    return v;
}

static int64_t on_grid(const tfl_tensor *t, float real)
{
    const float far = 1e12f; /* beyond any integer of 32 bits, zero points included */
    float q = roundf(real / t->scale[0]);
    return t->zero[0] + (int64_t)(q < -far ? -far : q > far ? far : q);
}

static void range_of(imp_node *c, const tfl_tensor *t, int64_t function, int64_t *least, int64_t *most)
{
    bool is_signed = t->dtype.code == TN_INT;
    *least = is_signed ? -(INT64_C(1) << (t->dtype.bits - 1)) : 0;
    *most = *least + (INT64_C(1) << t->dtype.bits) - 1;
    if (!(t->scale[0] > 0)) {
        imp_refuse(c, IMP_BAD_TENSOR, "its result has the scale 0; the model is damaged");
        return;
    }
    int64_t low = function == RELU_N1_TO_1 ? on_grid(t, -1) : on_grid(t, 0);
    int64_t high = function == RELU6 ? on_grid(t, 6) : on_grid(t, 1);
    if (function >= TANH && function != TFL_RELU_0_TO_1)
        imp_refuse(c, IMP_BAD_VALUE, "activation function %lld of integers is not supported",
                   (long long)function);
    if (function != NONE && low > *least)
        *least = low;
    if (function != NONE && function != RELU && high < *most)
        *most = high;
}

/* ---- fixed-point numbers ---- */

tfl_factor tfl_factor_of(double real)
{
    tfl_factor f = {0, 0};
    if (!(real > 0) || isinf(real))
        return f;
    int64_t fixed = (int64_t)round(frexp(real, &f.shift) * (double)(INT64_C(1) << 31));
    if (fixed == INT64_C(1) << 31) {
        fixed /= 2;
        f.shift++;
    }
    if (f.shift < -31)
        return (tfl_factor){0, 0};
    f.multiplier = (int32_t)fixed;
    return f;
}

tn_value tfl_with(imp_node *c, const tn_op *op, tn_value v, double k)
{
    return imp_binary(c, op, v, imp_const(c, imp_type(v)->dtype, k));
}

tn_value tfl_int(imp_node *c, int64_t v) { return imp_const(c, TN_I32, (double)v); }

tn_value tfl_vector(imp_node *c, uint32_t n, const int32_t v[], int axis, int rank)
{
    int32_t *at = TN_NEW_N(c->arena, int32_t, n);
    memcpy(at, v, n * sizeof *at);
    bool same = true;
    for (uint32_t i = 1; i < n; i++)
        same = same && v[i] == v[0];
    tn_value k = constant_of(c, TN_I32, same ? 1 : n, at);
    tn_expand_dims_attr a = {1, rank - 1 - axis};
    return same || a.num_newaxis <= 0 ? k : imp_call1(c, &tn_op_expand_dims, &a, k);
}

typedef struct factors {
    tn_value multiplier, left, right; /* left absent: none is above 0 */
} factors;

static factors split(imp_node *c, uint32_t n, const tfl_factor f[], int axis, int rank)
{
    int32_t *m = TN_NEW_N(c->arena, int32_t, n), *left = TN_NEW_N(c->arena, int32_t, n),
            *right = TN_NEW_N(c->arena, int32_t, n);
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        m[i] = f[i].multiplier;
        left[i] = f[i].shift > 0 ? f[i].shift : 0;
        right[i] = f[i].shift > 0 ? 0 : -f[i].shift;
        any = any || left[i];
    }
    factors s = {.multiplier = tfl_vector(c, n, m, axis, rank), .right = tfl_vector(c, n, right, axis, rank)};
    if (any)
        s.left = tfl_vector(c, n, left, axis, rank);
    return s;
}

static tn_value rescaled(imp_node *c, tn_value v, uint32_t n, const tfl_factor f[], int axis, bool once)
{
    tn_rescale_attr a = {once};
    factors s = split(c, n, f, axis, imp_rank(v));
    if (s.left.def)
        v = imp_binary(c, &tn_op_left_shift, v, imp_cast(c, s.left, imp_type(v)->dtype));
    return imp_call(c, &tn_op_qnn_rescale, &a, 3, (const tn_value[]){v, s.multiplier, s.right});
}

tn_value tfl_scaled(imp_node *c, tn_value v, uint32_t n, const tfl_factor f[], int axis)
{
    return rescaled(c, v, n, f, axis, false);
}

tn_value tfl_scaled_once(imp_node *c, tn_value v, uint32_t n, const tfl_factor f[], int axis)
{
    return rescaled(c, v, n, f, axis, true);
}

tn_value tfl_scaled_wide(imp_node *c, tn_value v, uint32_t n, const tfl_factor f[], int axis)
{
    int32_t *m = TN_NEW_N(c->arena, int32_t, n), *shift = TN_NEW_N(c->arena, int32_t, n),
            *before = TN_NEW_N(c->arena, int32_t, n);
    int rank = imp_rank(v);
    for (uint32_t i = 0; i < n; i++) {
        m[i] = f[i].multiplier < 0x7fff0000 ? (f[i].multiplier + (1 << 15)) >> 16 : 0x7fff;
        shift[i] = 15 - f[i].shift;
        before[i] = shift[i] - 1;
    }
    tn_value one = imp_const(c, TN_I64, 1), by = imp_cast(c, tfl_vector(c, n, shift, axis, rank), TN_I64);
    tn_value half =
        imp_binary(c, &tn_op_left_shift, one, imp_cast(c, tfl_vector(c, n, before, axis, rank), TN_I64));
    v = imp_binary(c, &tn_op_multiply, v, imp_cast(c, tfl_vector(c, n, m, axis, rank), TN_I64));
    v = imp_binary(c, &tn_op_right_shift, imp_binary(c, &tn_op_add, v, half), by);
    return imp_cast(c, v, TN_I32);
}

tn_value tfl_narrow(imp_node *c, tn_value v, const tfl_tensor *t, int64_t function)
{
    int64_t least, most;
    range_of(c, t, function, &least, &most);
    if (t->zero[0] != 0)
        v = imp_binary(c, &tn_op_add, v, tfl_int(c, t->zero[0]));
    return imp_cast(c, imp_clip(c, v, (double)least, (double)most), t->dtype);
}

tn_value tfl_centered(imp_node *c, uint32_t i)
{
    const tfl_tensor *t = tfl_in(c, i);
    tn_value v = imp_cast(c, imp_in(c, i), TN_I32);
    return t && t->n_scale && t->zero[0] ? imp_binary(c, &tn_op_subtract, v, tfl_int(c, t->zero[0])) : v;
}

/* ---- tables ---- */

/* The entries of v, the first of which is that of `least`. */
static tn_value looked_up(imp_node *c, tn_value v, tn_dtype t, int64_t n, int64_t least, const void *table)
{
    tn_value k = tn_val(tn_make_constant(c->g, c->im->r, NULL, t, 1, &n, table, NULL));
    tn_value at = imp_cast(c, v, TN_I32);
    tn_take_attr a = {0, "clip"};
    at = least ? tfl_with(c, &tn_op_subtract, at, (double)least) : at;
    return imp_call2(c, &tn_op_take, &a, k, at);
}

void tfl_by_table(imp_node *c, int64_t (*f)(imp_node *c, int64_t x))
{
    const tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    bool wide = y->dtype.bits == 16;
    int64_t n = INT64_C(1) << x->dtype.bits, least = x->dtype.code == TN_INT ? -n / 2 : 0, low, high;
    uint16_t *table = TN_NEW_N(c->arena, uint16_t, (size_t)n);
    uint8_t *bytes = (uint8_t *)table;
    range_of(c, y, NONE, &low, &high);
    for (int64_t i = 0; i < n && !c->bad; i++) {
        int64_t q = f(c, i + least);
        q = q < low ? low : q > high ? high : q;
        if (wide)
            table[i] = (uint16_t)q;
        else
            bytes[i] = (uint8_t)q;
    }
    imp_out(c, 0, looked_up(c, imp_in(c, 0), y->dtype, n, least, table));
}

/* ---- lines between points of a function, those of LUTPopulate in TFLite's kernels (internal/common.h) ---- */

enum { CURVE_STEPS = 512 };

static int32_t word_of(imp_node *c, float v)
{
    if (isnan(v)) {
        imp_refuse(c, IMP_BAD_TENSOR, "its scales lead beyond the numbers of float32; the model is damaged");
        return 0;
    }
    return (int32_t)(v < -32768 ? -32768 : v > 32767 ? 32767 : v);
}

/* The function at the points, each moved by half of what its line is off in the middle. */
static void make_curve(imp_node *c, tfl_grid x, tfl_grid y, float (*f)(imp_node *c, float x),
                       int32_t at[CURVE_STEPS + 1])
{
    float first = x.scale * (float)(-32768 - x.zero), last = x.scale * (float)(32767 - x.zero);
    float least = y.scale * (float)(-32768 - y.zero), most = y.scale * (float)(32767 - y.zero);
    float step = (last - first) / CURVE_STEPS, per = 65536 / (most - least);
    for (int i = 0; i < CURVE_STEPS && !c->bad; i++) {
        float here = f(c, first + (float)i * step), next = f(c, first + (float)(i + 1) * step);
        float middle = f(c, first + (float)i * step + step / 2);
        float line = roundf((next * per + roundf(here * per)) / 2);
        at[i] = word_of(c, roundf(here * per) - roundf((line - roundf(middle * per)) / 2));
    }
    at[CURVE_STEPS] = word_of(c, roundf(f(c, last) * per));
}

tn_value tfl_by_curve(imp_node *c, tn_value v, tfl_grid x, tfl_grid y, float (*f)(imp_node *c, float x))
{
    int32_t at[CURVE_STEPS + 1] = {0};
    if (!(y.scale > 0))
        imp_refuse(c, IMP_BAD_TENSOR, "its result has the scale 0; the model is damaged");
    if (c->bad)
        return v;
    int16_t *table = TN_NEW_N(c->arena, int16_t, 1 << 16);
    make_curve(c, x, y, f, at);
    for (int i = 0; i < 1 << 16; i++) {
        int32_t from = at[i >> 7], slope = (int16_t)(at[(i >> 7) + 1] - from);
        table[i] = (int16_t)(from + ((slope * (i & 127) + 64) >> 7));
    }
    return looked_up(c, v, TN_DT(TN_INT, 16), 1 << 16, -32768, table);
}

/* ---- softmax of 16 bits: exp and 1 / (1 + x) by such lines ---- */

static float exponential(imp_node *c, float x)
{
    (void)c;
    return expf(x);
}

static float one_over_one_plus(imp_node *c, float x)
{
    (void)c;
    return 1 / (1 + x);
}

/* The number of the highest bit of v (int64, above 0). */
static tn_value highest_bit(imp_node *c, tn_value v)
{
    tn_value n = imp_const(c, TN_I64, 0);
    for (int by = 16; by; by /= 2) {
        tn_value above =
            imp_cast(c, tfl_with(c, &tn_op_greater_equal, v, (double)(INT64_C(1) << by)), TN_I64);
        tn_value shift = tfl_with(c, &tn_op_multiply, above, by);
        v = imp_binary(c, &tn_op_right_shift, v, shift);
        n = imp_binary(c, &tn_op_add, n, shift);
    }
    return n;
}

static tn_value within16(imp_node *c, tn_value v) { return imp_clip(c, v, -32768, 32767); }

/* With n the highest bit of the sum s of the exponentials e: r = 1 / (s / 2^n), and e * r / 2^n. */
tn_value tfl_softmax16(imp_node *c, double beta)
{
    static const int64_t last = -1;
    tn_axes_attr row = {tn_ints_make(c->arena, 1, &last), true, false};
    tfl_grid unit = {2.0f / 65535, 0};
    tfl_factor f = tfl_factor_of((double)tfl_in(c, 0)->scale[0] * beta / (10.0 / 65535));
    tn_value v = tfl_centered(c, 0);
    v = imp_binary(c, &tn_op_subtract, v, imp_call1(c, &tn_op_max, &row, v));
    v = within16(c, tfl_with(c, &tn_op_add, tfl_scaled(c, v, 1, &f, 0), 32767));
    tn_value e = imp_cast(c, tfl_by_curve(c, v, (tfl_grid){10.0f / 65535, 32767}, unit, exponential), TN_I64);
    tn_value s = imp_call1(c, &tn_op_sum, &row, e), n = highest_bit(c, s), one = imp_const(c, TN_I64, 1);
    tn_value up = imp_binary(c, &tn_op_subtract, imp_const(c, TN_I64, 30), n);
    s = tfl_with(c, &tn_op_add, imp_binary(c, &tn_op_left_shift, s, up), 1 << 13);
    s = within16(c,
                 tfl_with(c, &tn_op_subtract, tfl_with(c, &tn_op_right_shift, s, 14), (1 << 15) + (1 << 16)));
    tn_value r = tfl_by_curve(c, s, (tfl_grid){1.0f / 65535, -32768}, unit, one_over_one_plus);
    tn_value half = imp_binary(c, &tn_op_left_shift, one, imp_binary(c, &tn_op_subtract, n, one));
    v = imp_binary(c, &tn_op_add, imp_binary(c, &tn_op_multiply, e, imp_cast(c, r, TN_I64)), half);
    v = imp_clip(c, imp_binary(c, &tn_op_right_shift, v, n), 0, 32767);
    return imp_cast(c, v, TN_DT(TN_INT, 16));
}

float tfl_table_real(imp_node *c, int64_t x)
{
    const tfl_tensor *t = tfl_in(c, 0);
    return t->scale[0] * (float)(x - t->zero[0]);
}

int64_t tfl_table_give(imp_node *c, float v)
{
    const tfl_tensor *y = tfl_out(c, 0);
    double q = round((double)(v * (1 / y->scale[0]))) + (double)y->zero[0];
    if (isnan(q)) {
        imp_refuse(c, IMP_BAD_TENSOR, "its scales lead beyond the numbers of float32; the model is damaged");
        return 0;
    }
    return q < -1e6 ? -1000000 : q > 1e6 ? 1000000 : (int64_t)q;
}
