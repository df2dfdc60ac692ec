/* Quantised operators of MXNet: between real and whole numbers, layers over whole numbers, and what only moves them
 * (frontend/mxnet/quant.h). */
#include "frontend/mxnet/quant.h"

#include <math.h>

/* ---- ranges ---- */

mx_quantised mx_quantised_in(imp_node *c, uint32_t data, uint32_t range)
{
    mx_quantised q = {.v = imp_in(c, data)};
    q.low = imp_in(c, range);
    q.high = imp_in(c, range + 1);
    return q;
}

void mx_quantised_out(imp_node *c, mx_quantised q)
{
    imp_out(c, 0, q.v);
    imp_out_any(c, 1, q.low);
    imp_out_any(c, 2, q.high);
}

static tn_value real(imp_node *c, double v)
{
    static const int64_t one = 1;
    float *at = TN_NEW(c->arena, float);
    *at = (float)v;
    return tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &one, at, NULL));
}

tn_value mx_magnitude(imp_node *c, tn_value low, tn_value high)
{
    tn_value a = imp_unary(c, &tn_op_abs, low);
    return imp_binary(c, &tn_op_maximum, a, imp_unary(c, &tn_op_abs, high));
}

static double half_steps(tn_dtype t) { return t.code == TN_INT && t.bits == 8 ? 127.5 : 255.5; }

tn_value mx_steps(imp_node *c, tn_dtype t, tn_value magnitude)
{
    tn_value none = imp_with(c, &tn_op_equal, magnitude, 0), most = imp_const(c, TN_F32, 2147483648.0);
    return imp_choose(c, none, most, mx_number_by(c, half_steps(t), magnitude));
}

tn_value mx_steps_of(imp_node *c, const mx_quantised *q)
{
    return mx_steps(c, imp_type(q->v)->dtype, mx_magnitude(c, q->low, q->high));
}

tn_value mx_whole(imp_node *c, tn_value x, tn_dtype t)
{
    return imp_cast(c, imp_unary(c, &tn_op_round, x), t); /* which limits */
}

bool mx_calibrated(imp_node *c, mx_quantised *out)
{
    bool given = mx_text(c, "min_calib_range", NULL) && mx_text(c, "max_calib_range", NULL);
    double low = mx_float(c, "min_calib_range", 0), high = mx_float(c, "max_calib_range", 0);
    if (given) {
        out->low = real(c, low);
        out->high = real(c, high);
    }
    return given;
}

/* int8, or uint8 where that is said, or where no number is negative. */
static tn_dtype result_type(imp_node *c)
{
    static const char *const words[] = {"int8", "uint8", "auto", NULL};
    int k = mx_choice(c, "out_type", 0, words);
    bool positive = mx_text(c, "min_calib_range", NULL) && mx_text(c, "max_calib_range", NULL) &&
                    mx_float(c, "min_calib_range", 0) >= 0;
    return k == 1 || (k == 2 && positive) ? TN_U8 : TN_I8;
}

static bool is_bytes(tn_value v)
{
    tn_dtype t = imp_type(v)->dtype;
    return tn_dtype_is_int(t) && t.bits == 8;
}

bool mx_takes_bytes(imp_node *c, tn_value v)
{
    if (!c->bad && !is_bytes(v))
        imp_refuse(c, IMP_OPERANDS, "data %s must be int8 or uint8", imp_type_text(c, imp_type(v)));
    return !c->bad;
}

static tn_value over_all(imp_node *c, const tn_op *op, tn_value v)
{
    static const tn_axes_attr all;
    return imp_unsqueeze(c, imp_call1(c, op, &all, v), 0);
}

/* The range that is kept beside numbers of type t: int8 has one that is the same on both sides. */
static void keep_range(imp_node *c, tn_dtype t, mx_quantised *q)
{
    if (t.code == TN_UINT)
        return;
    q->high = mx_magnitude(c, q->low, q->high);
    q->low = imp_unary(c, &tn_op_negative, q->high);
}

/* ---- between real and whole numbers ---- */

static void quantize_v2(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    mx_quantised q = {.v = x};
    tn_dtype t = result_type(c);
    bool known = mx_calibrated(c, &q);
    if (is_bytes(x)) { /* quantised already */
        double half = half_steps(imp_type(x)->dtype);
        if (!known)
            q.low = real(c, imp_type(x)->dtype.code == TN_UINT ? 0 : -half), q.high = real(c, half);
        mx_quantised_out(c, q);
        return;
    }
    if (!known)
        q.low = over_all(c, &tn_op_min, x), q.high = over_all(c, &tn_op_max, x);
    tn_value steps = mx_steps(c, t, mx_magnitude(c, q.low, q.high));
    q.v = mx_whole(c, mx_times(c, x, steps), t);
    keep_range(c, t, &q);
    mx_quantised_out(c, q);
}

/* With the range as operands, and all of the type's numbers: 127 or 255. */
static void quantize(imp_node *c)
{
    static const char *const words[] = {"uint8", "int8", NULL};
    mx_quantised q = mx_quantised_in(c, 0, 1);
    tn_dtype t = mx_choice(c, "out_type", 0, words) ? TN_I8 : TN_U8;
    tn_value steps = mx_number_by(c, t.code == TN_UINT ? 255 : 127, mx_magnitude(c, q.low, q.high));
    q.v = mx_whole(c, mx_times(c, q.v, steps), t);
    keep_range(c, t, &q);
    mx_quantised_out(c, q);
}

static void dequantize(imp_node *c)
{
    mx_quantised q = mx_quantised_in(c, 0, 1);
    static const char *const words[] = {"float32", NULL};
    (void)mx_choice(c, "out_type", 0, words);
    if (!mx_takes_bytes(c, q.v))
        return;
    tn_value step =
        imp_with(c, &tn_op_divide, mx_magnitude(c, q.low, q.high), half_steps(imp_type(q.v)->dtype));
    imp_out(c, 0, mx_scaled(c, q.v, step));
}

static const double sums_range = 2147483648.0; /* of int32 */

/* int32 sums as 8-bit numbers, over what calibration found or over the largest of the sums. */
static void requantize(imp_node *c)
{
    mx_quantised in = mx_quantised_in(c, 0, 1), out = {0};
    tn_dtype t = result_type(c);
    tn_value from = mx_magnitude(c, in.low, in.high), to;
    if (mx_calibrated(c, &out)) {
        to = mx_magnitude(c, out.low, out.high);
    } else {
        tn_value least = imp_cast(c, over_all(c, &tn_op_min, in.v), TN_F32),
                 most = imp_cast(c, over_all(c, &tn_op_max, in.v), TN_F32);
        to = mx_times(c, mx_magnitude(c, least, most), from);
        to = imp_with(c, &tn_op_divide, to, sums_range);
    }
    tn_value step = imp_with(c, &tn_op_divide, from, sums_range);
    tn_value factor = mx_times(c, step, mx_number_by(c, t.code == TN_UINT ? 255 : 127, to));
    out.v = mx_whole(c, mx_scaled(c, in.v, factor), t);
    out.high = to;
    out.low = t.code == TN_UINT ? real(c, 0) : imp_unary(c, &tn_op_negative, to);
    mx_quantised_out(c, out);
}

/* ---- layers ---- */

void mx_range_of_sums(imp_node *c, const mx_quantised *a, const mx_quantised *b, bool is_unsigned,
                      mx_quantised *out)
{
    tn_value first = imp_with(c, &tn_op_divide, mx_magnitude(c, a->low, a->high), 127);
    tn_value second = mx_magnitude(c, b->low, b->high);
    second = imp_with(c, &tn_op_divide, second, is_unsigned ? 255 : 127);
    out->high = imp_with(c, &tn_op_multiply, mx_times(c, first, second), sums_range);
    out->low = imp_unary(c, &tn_op_negative, out->high);
}

/* int8 numbers of a bias as numbers of the sums, which have `steps` for 1. */
static tn_value bias_steps(imp_node *c, const mx_quantised *bias, tn_value steps, double half)
{
    tn_value each = mx_times(c, steps, mx_magnitude(c, bias->low, bias->high));
    return imp_with(c, &tn_op_divide, each, half);
}

/* The CPU's kernel takes uint8 data, adds the bias as it is to the sums and gives the range for int8 data; what takes
 * int8 data, on GPUs, scales the bias. */
static void quantized_conv(imp_node *c)
{
    uint32_t n = mx_bool(c, "no_bias", false) ? 2 : 3;
    mx_quantised x = mx_quantised_in(c, 0, n), w = mx_quantised_in(c, 1, n + 2), y, bias = {0};
    if (n == 3)
        bias = mx_quantised_in(c, 2, n + 4);
    if (!mx_takes_bytes(c, x.v))
        return;
    mx_range_of_sums(c, &x, &w, false, &y);
    if (bias.v.def && imp_type(x.v)->dtype.code == TN_INT) {
        tn_value steps = mx_number_by(c, 2147483647, y.high);
        tn_value real = mx_scaled(c, bias.v, bias_steps(c, &bias, steps, 127));
        bias.v = imp_cast(c, real, TN_I32);
    } else if (bias.v.def) {
        bias.v = imp_cast(c, bias.v, TN_I32);
    }
    y.v = mx_convolve(c, x.v, w.v, bias.v);
    mx_quantised_out(c, y);
}

static void quantized_fully_connected(imp_node *c)
{
    uint32_t n = mx_bool(c, "no_bias", false) ? 2 : 3;
    mx_quantised x = mx_quantised_in(c, 0, n), w = mx_quantised_in(c, 1, n + 2), y;
    tn_value bias = {0};
    if (!mx_takes_bytes(c, x.v))
        return;
    if (n == 3) {
        mx_quantised b = mx_quantised_in(c, 2, n + 4);
        tn_value data = mx_steps_of(c, &x), steps = mx_times(c, data, mx_steps_of(c, &w));
        bias = imp_cast(c, mx_scaled(c, b.v, bias_steps(c, &b, steps, 127.5)), TN_I32);
    }
    mx_range_of_sums(c, &x, &w, imp_type(x.v)->dtype.code == TN_UINT, &y);
    y.v = mx_connect(c, x.v, w.v, bias);
    mx_quantised_out(c, y);
}

static void quantized_pooling(imp_node *c)
{
    static const char *const types[] = {"max", "avg", NULL};
    mx_quantised q = mx_quantised_in(c, 0, 1);
    bool mean = mx_choice(c, "pool_type", 0, types) == 1;
    if (!mx_takes_bytes(c, q.v))
        return;
    tn_dtype t = imp_type(q.v)->dtype;
    tn_value y = mx_pool(c, mean ? imp_cast(c, q.v, TN_F32) : q.v);
    q.v = mean ? mx_whole(c, y, t) : y;
    mx_quantised_out(c, q);
}

static void quantized_act(imp_node *c)
{
    static const char *const types[] = {"relu", NULL};
    mx_quantised q = mx_quantised_in(c, 0, 1);
    imp_attr_need(c, "act_type");
    (void)mx_choice(c, "act_type", 0, types);
    if (mx_takes_bytes(c, q.v))
        q.v = imp_with(c, &tn_op_maximum, q.v, 0);
    mx_quantised_out(c, q);
}

static void quantized_flatten(imp_node *c)
{
    mx_quantised q = mx_quantised_in(c, 0, 1);
    q.v = imp_flatten(c, q.v, 1);
    mx_quantised_out(c, q);
}

/* Rows of int8 numbers. */
static void quantized_embedding(imp_node *c)
{
    mx_quantised w = mx_quantised_in(c, 1, 2);
    tn_value at = imp_cast(c, imp_in(c, 0), TN_I64);
    int64_t rows = 1;
    imp_attr_ignore(c, "input_dim");
    imp_attr_ignore(c, "output_dim");
    imp_attr_ignore(c, "dtype");
    if (!c->bad && (imp_rank(w.v) != 2 || !tn_is_int(imp_type(w.v)->dim[0], &rows)))
        imp_refuse(c, IMP_OPERANDS, "weight %s must be a matrix", imp_type_text(c, imp_type(w.v)));
    tn_clip_attr inside = {0, (double)(rows - 1)};
    w.v = imp_take(c, w.v, imp_call1(c, &tn_op_clip, &inside, at), 0);
    mx_quantised_out(c, w);
}

/* ---- of several operands ---- */

/* All over the largest range; int8 where any operand is. */
static void quantized_concat(imp_node *c)
{
    uint32_t n = imp_n_in(c) / 3;
    int64_t axis = mx_int(c, "dim", 1);
    tn_value *part = TN_NEW_N(c->arena, tn_value, n);
    mx_quantised *in = TN_NEW_N(c->arena, mx_quantised, n), y = {.low = real(c, 0)};
    tn_dtype t = TN_U8;
    y.high = y.low;
    for (uint32_t i = 0; i < n; i++) {
        in[i] = mx_quantised_in(c, i, n + 2 * i);
        if (!mx_takes_bytes(c, in[i].v))
            return;
        t = imp_type(in[i].v)->dtype.code == TN_INT ? TN_I8 : t;
        y.low = imp_binary(c, &tn_op_minimum, y.low, in[i].low);
        y.high = imp_binary(c, &tn_op_maximum, y.high, in[i].high);
    }
    if (!n || n * 3 != imp_n_in(c)) {
        imp_refuse(c, IMP_OPERANDS, "%u operands are no tensors with ranges", (unsigned)imp_n_in(c));
        return;
    }
    tn_value steps = mx_steps(c, t, mx_magnitude(c, y.low, y.high));
    for (uint32_t i = 0; i < n; i++) /* a factor of 1 changes nothing */
        part[i] = mx_whole(c, mx_scaled(c, in[i].v, mx_by(c, steps, mx_steps_of(c, &in[i]))), t);
    y.v = imp_concat(c, n, part, imp_axis(c, axis, imp_rank(in[0].v)));
    mx_quantised_out(c, y);
}

/* What an operand is multiplied with: numbers of the result for one of it. The result's range may be the sum of both
 * magnitudes, which int32 numbers stand for. */
static tn_value add_factor(imp_node *c, const mx_quantised *q, tn_value both, tn_value steps)
{
    if (steps.def)
        return mx_by(c, steps, mx_steps_of(c, q));
    tn_value own = imp_with(c, &tn_op_multiply, mx_magnitude(c, q->low, q->high), sums_range);
    return mx_by(c, own, imp_with(c, &tn_op_multiply, both, half_steps(imp_type(q->v)->dtype)));
}

static void quantized_add(imp_node *c)
{
    mx_quantised in[2], y = {0};
    tn_value part[2], both, steps = {0};
    for (uint32_t i = 0; i < 2; i++) {
        in[i] = mx_quantised_in(c, i, 2 + 2 * i);
        if (!mx_takes_bytes(c, in[i].v))
            return;
    }
    tn_dtype first = imp_type(in[0].v)->dtype, second = imp_type(in[1].v)->dtype;
    bool mixed = first.code != second.code, known = mx_calibrated(c, &y);
    tn_dtype t = !known ? TN_I32 : mixed ? TN_I8 : first;
    if (mixed && !known) {
        imp_refuse(
            c, IMP_OPERANDS,
            "int8 and uint8 data have no known sum without the range of the result, as MXNet itself "
            "limits the latter to int8 then; calibrate the model (calib_mode \"naive\" or \"entropy\")");
        return;
    }
    both = mx_magnitude(c, in[0].low, in[0].high);
    both = imp_binary(c, &tn_op_add, both, mx_magnitude(c, in[1].low, in[1].high));
    if (known) {
        steps = mx_steps(c, t, mx_magnitude(c, y.low, y.high));
    } else {
        y.high = both;
        y.low = imp_unary(c, &tn_op_negative, both);
    }
    for (int i = 0; i < 2; i++) {
        part[i] = mx_scaled(c, in[i].v, add_factor(c, &in[i], both, steps));
        if (mixed && imp_type(in[i].v)->dtype.code == TN_UINT) /* is made int8 before */
            part[i] = imp_cast(c, mx_whole(c, part[i], TN_I8), TN_F32);
    }
    y.v = mx_whole(c, imp_binary(c, &tn_op_add, part[0], part[1]), t);
    mx_quantised_out(c, y);
}

/* int8 numbers; fractions are cut off. */
static void quantized_mul(imp_node *c)
{
    mx_quantised in[2] = {mx_quantised_in(c, 0, 2), mx_quantised_in(c, 1, 4)}, y = {0};
    bool real = mx_bool(c, "enable_float_output", false), known = mx_calibrated(c, &y);
    tn_value first = imp_cast(c, in[0].v, TN_I32), steps = imp_const(c, TN_F32, 1);
    tn_value product = mx_times(c, first, imp_cast(c, in[1].v, TN_I32));
    if (!mx_takes_bytes(c, in[0].v) || !mx_takes_bytes(c, in[1].v))
        return;
    if (!real && !known) {
        mx_range_of_sums(c, &in[0], &in[1], false, &y);
        y.v = product;
        mx_quantised_out(c, y);
        return;
    }
    if (!real)
        steps = mx_steps(c, TN_I8, mx_magnitude(c, y.low, y.high));
    for (int i = 0; i < 2; i++)
        steps = mx_by(c, steps, mx_steps_of(c, &in[i]));
    y.v = mx_scaled(c, product, steps);
    y.v = real ? y.v : imp_cast(c, y.v, TN_I8);
    mx_quantised_out(c, y);
}

/* As int8 numbers of the data, of whatever type, times a factor of each channel. The kernel takes gamma as it is, and
 * divides twice by the deviation: the second one is that of normalised data, 1, with epsilon again. */
static void quantized_batch_norm(imp_node *c)
{
    mx_quantised x = mx_quantised_in(c, 0, 5), y = {0};
    tn_value gamma = imp_in(c, 1), beta = imp_in(c, 2), mean = imp_in(c, 3), variance = imp_in(c, 4);
    int axis = imp_axis(c, mx_int(c, "axis", 1), imp_rank(x.v)), rank = imp_rank(x.v);
    double epsilon = mx_float(c, "eps", 1e-3);
    static const char *const ignored[] = {"momentum", "use_global_stats", "output_mean_var", "fix_gamma"};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        imp_attr_ignore(c, ignored[i]);
    if (!mx_takes_bytes(c, x.v))
        return;
    if (!mx_calibrated(c, &y)) {
        imp_refuse(
            c, IMP_ATTR_MISSING,
            "the range of the result is missing; calibrate the model (calib_mode \"naive\" or \"entropy\")");
        return;
    }
    if (imp_type(x.v)->dtype.code == TN_UINT)
        x.v = mx_whole(c, imp_with(c, &tn_op_multiply, imp_cast(c, x.v, TN_F32), 127.5 / 255.5), TN_I8);
    tn_value from = mx_magnitude(c, x.low, x.high), to = mx_magnitude(c, y.low, y.high);
    tn_value root = imp_unary(c, &tn_op_sqrt, imp_with(c, &tn_op_add, variance, epsilon));
    tn_value inverse = mx_number_by(c, 1, root);
    tn_value factor = mx_by(c, mx_times(c, mx_times(c, gamma, inverse), from), to);
    factor = imp_with(c, &tn_op_divide, factor, sqrtf(1 + (float)epsilon));
    tn_value shift = imp_binary(c, &tn_op_subtract, beta, mx_times(c, mx_times(c, mean, gamma), inverse));
    shift = mx_by(c, imp_with(c, &tn_op_multiply, shift, 127.5), to);
    tn_value scaled = mx_scaled(c, x.v, imp_along(c, factor, axis, rank));
    y.v = mx_whole(c, imp_binary(c, &tn_op_add, scaled, imp_along(c, shift, axis, rank)), TN_I8);
    mx_quantised_out(c, y);
}

// clang-format off
const imp_row mx_rows_quant[] = {
    {"_contrib_quantize",                  0, 0,  3, 3, quantize,                  NULL},
    {"_contrib_quantize_v2",               0, 0,  1, 3, quantize_v2,               NULL},
    {"_contrib_dequantize",                0, 0,  3, 1, dequantize,                NULL},
    {"_contrib_requantize",                0, 0,  3, 3, requantize,                NULL},
    {"_contrib_quantized_conv",            0, 0,  9, 3, quantized_conv,            NULL},
    {"_contrib_quantized_fully_connected", 0, 0,  9, 3, quantized_fully_connected, NULL},
    {"_contrib_quantized_pooling",         0, 0,  3, 3, quantized_pooling,         NULL},
    {"_contrib_quantized_act",             0, 0,  3, 3, quantized_act,             NULL},
    {"_contrib_quantized_flatten",         0, 0,  3, 3, quantized_flatten,         NULL},
    {"_contrib_quantized_embedding",       0, 0,  4, 3, quantized_embedding,       NULL},
    {"_contrib_quantized_concat",          0, 0, -1, 3, quantized_concat,          NULL},
    {"_contrib_quantized_elemwise_add",    0, 0,  6, 3, quantized_add,             NULL},
    {"_contrib_quantized_elemwise_mul",    0, 0,  6, 3, quantized_mul,             NULL},
    {"_contrib_quantized_batch_norm",      0, 0,  7, 3, quantized_batch_norm,      NULL},
    {0},
};
// clang-format on
