/* Functions that are called like layers: those of keras.ops (a class of operations each) and those of TensorFlow that
 * tf.keras records (TFOpLambda, by the function's name). Parameters are in the configuration, or among the
 * arguments. */
#include "frontend/keras/rows.h"
#include "frontend/import/scan.h"

#include <math.h>
#include <string.h>

/* ---- elementwise ---- */

static tn_dtype float_of(tn_dtype t) { return tn_dtype_is_float(t) ? t : TN_F32; }

static void unary(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, keras_unary(c, c->row->relay, x));
}

/* Of integers too, whose results are floats. */
static void unary_float(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, keras_unary(c, c->row->relay, imp_cast(c, x, float_of(imp_type(x)->dtype))));
}

/* The type of a tensor of type t and a number, or a constant tensor, together. */
static tn_dtype type_with(imp_node *c, tn_dtype t, const tn_json *number)
{
    double r;
    tn_dtype own;
    bool whole = tn_json_is(number, TN_JSON_INT) || tn_json_is(number, TN_JSON_BOOL),
         keras3 = c->version >= 3;
    if (number && keras3 && keras_json_dtype(number, &own))
        return keras_result_type(t, own);
    if (!number || !keras_number(number, &r))
        return t;
    if (whole)
        return tn_dtype_is_bool(t) && number->kind == TN_JSON_INT ? TN_I32 : t;
    return keras3 || r != trunc(r) ? float_of(t) : t;
}

/* Numbers become of the other operand's type; two tensors, of one that holds both. */
static bool two(imp_node *c, tn_value *a, tn_value *b)
{
    static const char *const first = "x x1 a x_or_y", *const second = "y x2 b";
    const keras_argument *head = keras_argument_of(c, 0, "");
    *a = keras_operand(c, 0, first);
    *b = keras_operand(c, 1, second);
    const tn_json *left = a->def ? NULL : head && head->n ? head->at[0].json : keras_param(c, 0, first);
    const tn_json *right = b->def ? NULL : keras_param(c, 1, second);
    if ((!a->def && !b->def) || (!a->def && !left) || (!b->def && !right)) {
        imp_refuse(c, IMP_OPERANDS, "an operand is missing, or is of a kind that is not supported");
        return false;
    }
    tn_dtype t = imp_type(a->def ? *a : *b)->dtype;
    t = left || right ? type_with(c, t, left ? left : right) : keras_result_type(t, imp_type(*b)->dtype);
    *a = left ? keras_json_tensor(c, left, t) : imp_cast(c, *a, t);
    *b = right ? keras_json_tensor(c, right, t) : imp_cast(c, *b, t);
    return !c->bad;
}

static void binary(imp_node *c)
{
    tn_value a, b;
    if (two(c, &a, &b))
        keras_out(c, keras_binary(c, c->row->relay, a, b));
}

static void logical(imp_node *c)
{
    tn_value a, b;
    if (two(c, &a, &b)) {
        a = imp_cast(c, a, TN_BOOL1);
        b = imp_cast(c, b, TN_BOOL1);
        keras_out(c, keras_binary(c, c->row->relay, a, b));
    }
}

static void divide(imp_node *c)
{
    tn_value a, b;
    if (two(c, &a, &b)) {
        a = imp_cast(c, a, float_of(imp_type(a)->dtype));
        b = imp_cast(c, b, float_of(imp_type(b)->dtype));
        keras_out(c, keras_binary(c, &tn_op_divide, a, b));
    }
}

static void square(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, keras_binary(c, &tn_op_multiply, x, x));
}

static void squared_difference(imp_node *c)
{
    tn_value a, b;
    if (!two(c, &a, &b))
        return;
    tn_value d = keras_binary(c, &tn_op_subtract, a, b);
    keras_out(c, keras_binary(c, &tn_op_multiply, d, d));
}

static void reciprocal(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, keras_binary(c, &tn_op_divide, keras_like(c, x, 1), x));
}

static void log_of_more(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, keras_unary(c, &tn_op_log, keras_binary(c, &tn_op_add, x, keras_like(c, x, 1))));
}

/* By the name of an activation: what stands behind "nn." of TensorFlow, or Keras's class in lower case. */
static void activate(imp_node *c)
{
    static const struct {
        const char *op, *activation;
    } rows[] = {{"Relu", "relu"},
                {"Relu6", "relu6"},
                {"Silu", "silu"},
                {"Softplus", "softplus"},
                {"Softsign", "softsign"},
                {"Selu", "selu"},
                {"HardSigmoid", "hard_sigmoid"},
                {"HardSilu", "hard_silu"},
                {"LogSigmoid", "log_sigmoid"},
                {"HardTanh", "hard_tanh"},
                {"TanhShrink", "tanh_shrink"},
                {"SparsePlus", "sparse_plus"},
                {"SparseSigmoid", "sparse_sigmoid"},
                {"nn.relu", "relu"},
                {"nn.relu6", "relu6"},
                {"nn.silu", "silu"},
                {"nn.selu", "selu"},
                {"math.softplus", "softplus"},
                {"nn.softsign", "softsign"},
                {"nn.swish", "silu"},
                {"nn.elu", "elu"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(c->row->op, rows[i].op) == 0) {
            tn_json name = {
                .kind = TN_JSON_STRING, .n = (uint32_t)strlen(rows[i].activation), .u.s = rows[i].activation};
            keras_out(c, keras_activate(c, &name, keras_in(c, 0)));
        }
}

static void leaky_relu(imp_node *c)
{
    tn_alpha_attr a = {keras_param_real(c, 1, "negative_slope alpha", 0.2)};
    keras_out(c, imp_call1(c, &tn_op_nn_leaky_relu, &a, keras_in(c, 0)));
}

static void elu(imp_node *c)
{
    tn_alpha_attr a = {keras_param_real(c, 1, "alpha", 1)};
    keras_out(c, imp_call1(c, &tn_op_nn_elu, &a, keras_in(c, 0)));
}

static void gelu(imp_node *c)
{
    const tn_json *v = keras_param(c, 1, "approximate");
    bool about = v ? tn_json_is(v, TN_JSON_BOOL) && v->u.b : strcmp(c->row->op, "Gelu") == 0;
    keras_out(c, keras_unary(c, about ? &tn_op_nn_gelu_tanh : &tn_op_nn_gelu, keras_in(c, 0)));
}

static void softmax(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    tn_axis_attr a = {imp_axis(c, keras_param_whole(c, 1, "axis", -1), imp_rank(x))};
    keras_out(c, imp_call1(c, c->row->relay, &a, x));
}

static void clip(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    tn_value least = keras_like(c, x, keras_param_real(c, 1, "x_min clip_value_min", 0)),
             most = keras_like(c, x, keras_param_real(c, 2, "x_max clip_value_max", 0));
    keras_out(c, keras_binary(c, &tn_op_minimum, keras_binary(c, &tn_op_maximum, x, least), most));
}

static void cast(imp_node *c)
{
    const tn_json *v = keras_param(c, 1, "dtype");
    tn_value x = keras_in(c, 0);
    tn_dtype t;
    if (!v || !keras_dtype(keras_bytes(v), &t) || tn_dtype_is_string(t))
        imp_refuse(c, IMP_BAD_VALUE, "the type to convert to is not known");
    else
        keras_out(c, imp_cast(c, x, t));
}

static void where(imp_node *c)
{
    tn_value m = keras_in(c, 0), a = keras_operand(c, 1, "x1 x"), b = keras_operand(c, 2, "x2 y");
    if (!a.def && !b.def)
        imp_refuse(c, IMP_OPERANDS, "an operand is missing, or is of a kind that is not supported");
    if (c->bad)
        return;
    tn_dtype t = imp_type(a.def ? a : b)->dtype;
    const tn_json *left = a.def ? NULL : keras_param(c, 1, "x1 x"),
                  *right = b.def ? NULL : keras_param(c, 2, "x2 y");
    t = left || right ? type_with(c, t, left ? left : right) : keras_result_type(t, imp_type(b)->dtype);
    a = left ? keras_json_tensor(c, left, t) : a;
    b = right ? keras_json_tensor(c, right, t) : b;
    tn_value in[] = {imp_cast(c, m, TN_BOOL1), imp_cast(c, a, t), imp_cast(c, b, t)};
    keras_out(c, imp_call(c, &tn_op_where, NULL, 3, in));
}

/* ---- reductions ---- */

/* What Keras 3 adds up and multiplies numbers of type t in, which has room for more. */
static tn_dtype total_type(tn_dtype t)
{
    if (tn_dtype_is_float(t) || t.bits >= 32)
        return t;
    return t.code == TN_UINT ? TN_DT(TN_UINT, 32) : TN_I32;
}

static void reduce(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = keras_param_list(c, 1, "axis", axis);
    bool keep = keras_param_truth(c, 2, "keepdims");
    tn_dtype t = imp_type(x)->dtype;
    bool truths = strcmp(c->row->op, "Any") == 0 || strcmp(c->row->op, "All") == 0;
    for (int i = 0; n < 0 && i < imp_rank(x); i++)
        axis[i] = i;
    n = n < 0 ? imp_rank(x) : n;
    if (truths)
        x = imp_cast(c, imp_cast(c, x, TN_BOOL1), TN_I32);
    else if (c->row->relay == &tn_op_mean)
        x = imp_cast(c, x, float_of(t));
    else if (c->version >= 3 && (c->row->relay == &tn_op_sum || c->row->relay == &tn_op_prod))
        x = imp_cast(c, x, total_type(t));
    tn_value y = keras_reduce(c, c->row->relay, x, n, axis, keep);
    keras_out(c, truths ? imp_cast(c, y, TN_BOOL1) : y);
}

/* Without an axis, keras.ops takes all elements as a list; TensorFlow takes the first axis. */
static tn_value without_axis(imp_node *c, tn_value x, int position)
{
    bool all = *c->row->op >= 'A' && *c->row->op <= 'Z' && !keras_param(c, position, "axis");
    return all && !c->bad ? imp_flat(c, x) : x;
}

static void arg_reduce(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    x = without_axis(c, x, 1);
    tn_arg_attr a = {.axis = keras_param_axis(c, 1, "axis dimension", 0, imp_rank(x)),
                     .keepdims = keras_param_truth(c, 2, "keepdims"),
                     .dtype = strcmp(c->row->op, "argmax") == 0 ? TN_I64 : TN_I32};
    keras_out(c, imp_call1(c, c->row->relay, &a, x));
}

static void cumsum(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    x = without_axis(c, x, 1);
    tn_scan_attr a = {.axis = imp_axis(c, keras_param_whole(c, 1, "axis", 0), imp_rank(x)),
                      .exclusive = keras_param_truth(c, -1, "exclusive"),
                      .reverse = keras_param_truth(c, -1, "reverse")};
    keras_out(c, imp_call1(c, &tn_op_cumsum, &a, x));
}

/* ---- shapes ---- */

static void reshape(imp_node *c)
{
    int64_t to[IMP_MAX_RANK];
    const tn_expr *dim[IMP_MAX_RANK];
    int n = keras_param_list(c, 1, "newshape shape", to);
    tn_value x = keras_in(c, 0);
    if (n < 0)
        imp_refuse(c, IMP_NOT_CONSTANT, "the shape to reshape to must be known");
    for (int i = 0; i < n && !c->bad; i++)
        dim[i] = tn_idx(c->pool, to[i]);
    tn_reshape_attr a = {tn_dims_make(c->arena, c->bad ? 0 : (uint32_t)n, dim), true};
    if (!c->bad)
        keras_out(c, imp_reshape_to(c, x, &a));
}

static void transpose(imp_node *c)
{
    int64_t perm[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = keras_param_list(c, 1, "axes perm", perm);
    for (int i = 0; n < 0 && i < imp_rank(x); i++)
        perm[i] = imp_rank(x) - 1 - i;
    keras_out(c, imp_transpose(c, x, n < 0 ? imp_rank(x) : n, perm));
}

static void expand_dims(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, imp_unsqueeze(c, x, imp_axis(c, keras_param_whole(c, 1, "axis", -1), imp_rank(x) + 1)));
}

static void squeeze(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = keras_param_list(c, 1, "axis", axis), count = 0;
    for (int i = 0; n < 0 && i < imp_rank(x); i++)
        if (tn_is_value(imp_type(x)->dim[i], 1))
            axis[count++] = i;
    for (int i = 0; i < n && !c->bad; i++)
        axis[i] = imp_axis(c, axis[i], imp_rank(x));
    tn_squeeze_attr a = {tn_ints_make(c->arena, (uint32_t)(n < 0 ? count : n), axis)};
    keras_out(c, n < 0 && !count ? x : imp_call1(c, &tn_op_squeeze, &a, x));
}

/* Operands in a list, of one type. */
static uint32_t operands(imp_node *c, tn_value **out)
{
    size_t n = keras_n_in(c);
    *out = TN_NEW_N(c->arena, tn_value, n + 1);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = keras_in(c, i);
    keras_promote(c, n, *out);
    if (!n)
        imp_refuse(c, IMP_OPERANDS, "the list of operands is empty; the model is damaged");
    return (uint32_t)n;
}

static void concatenate(imp_node *c)
{
    tn_value *v;
    uint32_t n = operands(c, &v);
    int axis = c->bad ? 0
                      : imp_axis(c, keras_param_whole(c, 1, "axis", strcmp(c->row->op, "concat") ? -1 : 0),
                                 imp_rank(v[0]));
    if (!c->bad)
        keras_out(c, imp_concat(c, n, v, axis));
}

static void stack(imp_node *c)
{
    tn_value *v;
    uint32_t n = operands(c, &v);
    int axis = c->bad ? 0 : imp_axis(c, keras_param_whole(c, 1, "axis", 0), imp_rank(v[0]) + 1);
    for (uint32_t i = 0; i < n; i++)
        v[i] = imp_unsqueeze(c, v[i], axis);
    if (!c->bad)
        keras_out(c, imp_concat(c, n, v, axis));
}

/* Into equal parts; or, of keras.ops, before given positions; of TensorFlow, into parts of given sizes. */
static void split(imp_node *c)
{
    int64_t at[IMP_MAX_RANK] = {0}, extent = 0, from = 0;
    tn_value x = keras_in(c, 0);
    bool sizes = strcmp(c->row->op, "split") == 0;
    const tn_json *v = keras_param(c, 1, "indices_or_sections num_or_size_splits");
    int n = keras_param_list(c, 1, "indices_or_sections num_or_size_splits", at);
    int axis = c->bad ? 0 : imp_axis(c, keras_param_whole(c, 2, "axis", 0), imp_rank(x));
    bool equal = v && v->kind == TN_JSON_INT;
    if (c->bad || n < 1 || !tn_is_int(imp_type(x)->dim[axis], &extent) ||
        (equal && (at[0] < 1 || extent % at[0] || at[0] > KERAS_MAX_RESULTS))) {
        imp_refuse(c, IMP_BAD_VALUE, "%s cannot be split in this way", imp_type_text(c, imp_type(x)));
        return;
    }
    int parts = equal ? (int)at[0] : sizes ? n : n + 1;
    for (int i = 0; i < parts && !c->bad; i++) {
        int64_t to = equal ? from + extent / parts : sizes ? from + at[i] : i < n ? at[i] : extent;
        keras_out(c, imp_slice(c, x, axis, from, to));
        from = to;
    }
}

/* ---- x[...]: slices, numbers, new dimensions and an ellipsis ---- */

static const tn_json *part_of(const tn_json *spec, const char *key)
{
    const tn_json *inside = tn_json_find(spec, "config");
    const tn_json *v = tn_json_find(tn_json_is(inside, TN_JSON_OBJECT) ? inside : spec, key);
    return v && v->kind != TN_JSON_NULL ? v : NULL;
}

static tn_value sliced(imp_node *c, tn_value x, int axis, const tn_json *spec)
{
    int64_t begin = 0, end = INT64_MAX, step = 1, at = axis;
    const tn_json *from = part_of(spec, "start"), *to = part_of(spec, "stop"), *by = part_of(spec, "step");
    if ((by && !keras_whole(by, &step)) || step == 0)
        imp_refuse(c, IMP_BAD_VALUE, "the step of a slice must be an integer that is known");
    begin = step < 0 ? INT64_MAX : 0;
    end = step < 0 ? INT64_MIN : INT64_MAX;
    if ((from && !keras_whole(from, &begin)) || (to && !keras_whole(to, &end)))
        imp_refuse(c, IMP_NOT_CONSTANT, "the ends of a slice must be integers that are known");
    if (c->bad || (!from && !to && step == 1))
        return x;
    tn_slice_attr a = {tn_make_dims(c->g, 1, &begin), tn_make_dims(c->g, 1, &end),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &at)};
    return imp_call1(c, &tn_op_strided_slice, &a, x);
}

static bool is_ellipsis(const tn_json *v)
{
    return tn_json_is_text(tn_json_find(v, "class_name"), "__ellipsis__");
}

static void get_item(imp_node *c)
{
    const tn_json *key = keras_param(c, 1, "key slice_spec"), *one = key;
    tn_value x = keras_in(c, 0);
    uint32_t n = tn_json_is(key, TN_JSON_ARRAY) ? key->n : 1;
    const tn_json *spec = tn_json_is(key, TN_JSON_ARRAY) ? key->u.at : one;
    int axis = 0, used = 0;
    if (!key || n > 2 * IMP_MAX_RANK)
        imp_refuse(c, IMP_NOT_CONSTANT, "what is taken of %s must be known", imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < n && !c->bad; i++)
        used += !is_ellipsis(&spec[i]) && spec[i].kind != TN_JSON_NULL;
    int left = imp_rank(x) - used;
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        int64_t at;
        if (is_ellipsis(&spec[i])) {
            axis += left;
        } else if (spec[i].kind == TN_JSON_NULL) {
            x = imp_unsqueeze(c, x, axis++);
        } else if (axis >= imp_rank(x)) {
            imp_refuse(c, IMP_BAD_VALUE, "more is taken of %s than it has dimensions",
                       imp_type_text(c, imp_type(x)));
        } else if (spec[i].kind == TN_JSON_INT) {
            at = spec[i].u.i;
            x = imp_squeeze(c, imp_slice(c, x, axis, at, at == -1 ? INT64_MAX : at + 1), axis);
        } else if (spec[i].kind == TN_JSON_OBJECT) {
            x = sliced(c, x, axis++, &spec[i]);
        } else {
            imp_refuse(c, IMP_BAD_VALUE, "an index of a kind that is not supported");
        }
    }
    keras_out(c, x);
}

static void pad(imp_node *c)
{
    const tn_json *v = keras_param(c, 1, "pad_width paddings");
    tn_value x = keras_in(c, 0);
    int64_t width[2 * IMP_MAX_RANK];
    const tn_json *mode = keras_param(c, 2, "mode");
    bool ok = tn_json_is(v, TN_JSON_ARRAY) && v->n == (uint32_t)imp_rank(x) &&
              (!mode || tn_json_is_text(mode, "constant") || tn_json_is_text(mode, "CONSTANT"));
    for (uint32_t i = 0; ok && i < v->n; i++)
        ok = keras_whole(keras_at(&v->u.at[i], 0), &width[2 * i]) &&
             keras_whole(keras_at(&v->u.at[i], 1), &width[2 * i + 1]);
    if (!ok) {
        imp_refuse(c, IMP_BAD_VALUE, "padding must be constant, with two integers for each dimension");
        return;
    }
    tn_pad_attr a = {.pad_width = tn_make_dims(c->g, 2 * v->n, width),
                     .pad_mode = tn_intern(c->g->ctx, "constant"),
                     .pad_value = keras_param_real(c, 3, "constant_values", 0)};
    keras_out(c, imp_call1(c, &tn_op_nn_pad, &a, x));
}

static void tile(imp_node *c)
{
    int64_t reps[IMP_MAX_RANK];
    int n = keras_param_list(c, 1, "repeats multiples", reps);
    tn_value x = keras_in(c, 0);
    if (n < 0)
        imp_refuse(c, IMP_NOT_CONSTANT, "how often to repeat must be known");
    tn_tile_attr a = {tn_make_dims(c->g, c->bad ? 0 : (uint32_t)n, reps)};
    keras_out(c, imp_call1(c, &tn_op_tile, &a, x));
}

/* Each element several times, one after the other. */
static void repeat(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    x = without_axis(c, x, 2);
    int64_t times = keras_param_whole(c, 1, "repeats", 1);
    int axis = c->bad ? 0 : imp_axis(c, keras_param_whole(c, 2, "axis", 0), imp_rank(x)), n = imp_rank(x);
    if (c->bad || times < 1 || n >= IMP_MAX_RANK)
        return;
    const tn_expr *dim[IMP_MAX_RANK + 1], *to[IMP_MAX_RANK];
    for (int i = 0, k = 0; i < n; i++) {
        dim[k++] = to[i] = imp_type(x)->dim[i];
        if (i == axis) {
            dim[k++] = tn_idx(c->pool, times);
            to[i] = imp_simplify(c, tn_mul(c->pool, to[i], tn_idx(c->pool, times)));
        }
    }
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)n + 1, dim)};
    keras_out(c, imp_reshape(c, imp_call1(c, &tn_op_broadcast_to, &a, imp_unsqueeze(c, x, axis + 1)), n, to));
}

/* Along all axes where keras.ops is given none. */
static void flip(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = keras_param_list(c, 1, "axis", axis), all = imp_rank(x);
    for (int i = 0; i < (n < 0 ? all : n) && !c->bad; i++)
        x = imp_flip(c, x, n < 0 ? i : imp_axis(c, axis[i], all));
    keras_out(c, x);
}

/* ---- products ---- */

static tn_value swapped(imp_node *c, tn_value v)
{
    int64_t perm[IMP_MAX_RANK];
    int n = imp_rank(v);
    for (int i = 0; i < n; i++)
        perm[i] = i == n - 2 ? n - 1 : i == n - 1 ? n - 2 : i;
    return n < 2 ? v : imp_transpose(c, v, n, perm);
}

static void matmul(imp_node *c)
{
    tn_value a, b;
    if (!two(c, &a, &b))
        return;
    a = keras_param_truth(c, -1, "transpose_a") ? swapped(c, a) : a;
    b = keras_param_truth(c, -1, "transpose_b") ? swapped(c, b) : b;
    keras_out(c, keras_matmul(c, a, b));
}

static void einsum(imp_node *c)
{
    const tn_json *v = keras_param(c, -1, "subscripts equation");
    const keras_call *call = keras_call_of(c);
    tn_value in[16];
    int n = 0;
    for (size_t i = 0; i < call->n_arg; i++) {
        call->arg[i].asked = true;
        for (size_t k = 0; k < call->arg[i].n && n < 16; k++)
            in[n++] = call->arg[i].at[k].v;
    }
    tn_einsum_attr a = {v ? imp_text(c->im, keras_bytes(v)) : ""};
    keras_out(c, imp_call(c, &tn_op_einsum, &a, n, in));
}

static void identity(imp_node *c) { keras_out(c, keras_in(c, 0)); }

static void full_like(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    tn_broadcast_to_attr a = {{imp_type(x)->n, imp_type(x)->dim}};
    bool ones = strstr(c->row->op, "nes") != NULL;
    keras_out(c, imp_call1(c, &tn_op_broadcast_to, &a, keras_like(c, x, ones)));
}

#define F(name, convert, relay) LAYER(name, convert, relay, NULL, KERAS_OPERATION, NULL)
// clang-format off
const keras_row keras_rows_operation[] = {
    F("Absolute",                   unary,              &tn_op_abs),
    F("Abs",                        unary,              &tn_op_abs),
    F("math.abs",                   unary,              &tn_op_abs),
    F("Negative",                   unary,              &tn_op_negative),
    F("math.negative",              unary,              &tn_op_negative),
    F("Exp",                        unary_float,        &tn_op_exp),
    F("math.exp",                   unary_float,        &tn_op_exp),
    F("Log",                        unary_float,        &tn_op_log),
    F("math.log",                   unary_float,        &tn_op_log),
    F("Log1p",                      log_of_more,        NULL),
    F("math.log1p",                 log_of_more,        NULL),
    F("Sqrt",                       unary_float,        &tn_op_sqrt),
    F("math.sqrt",                  unary_float,        &tn_op_sqrt),
    F("Rsqrt",                      unary_float,        &tn_op_rsqrt),
    F("math.rsqrt",                 unary_float,        &tn_op_rsqrt),
    F("Sin",                        unary_float,        &tn_op_sin),
    F("math.sin",                   unary_float,        &tn_op_sin),
    F("Cos",                        unary_float,        &tn_op_cos),
    F("math.cos",                   unary_float,        &tn_op_cos),
    F("Tanh",                       unary_float,        &tn_op_tanh),
    F("math.tanh",                  unary_float,        &tn_op_tanh),
    F("nn.tanh",                    unary_float,        &tn_op_tanh),
    F("Sigmoid",                    unary_float,        &tn_op_sigmoid),
    F("math.sigmoid",               unary_float,        &tn_op_sigmoid),
    F("nn.sigmoid",                 unary_float,        &tn_op_sigmoid),
    F("Erf",                        unary_float,        &tn_op_erf),
    F("math.erf",                   unary_float,        &tn_op_erf),
    F("Tan",                        unary_float,        &tn_op_tan),
    F("Arcsin",                     unary_float,        &tn_op_asin),
    F("Arccos",                     unary_float,        &tn_op_acos),
    F("Arctan",                     unary_float,        &tn_op_atan),
    F("Sinh",                       unary_float,        &tn_op_sinh),
    F("Cosh",                       unary_float,        &tn_op_cosh),
    F("Arcsinh",                    unary_float,        &tn_op_asinh),
    F("Arccosh",                    unary_float,        &tn_op_acosh),
    F("Arctanh",                    unary_float,        &tn_op_atanh),
    F("Floor",                      unary,              &tn_op_floor),
    F("math.floor",                 unary,              &tn_op_floor),
    F("Ceil",                       unary,              &tn_op_ceil),
    F("math.ceil",                  unary,              &tn_op_ceil),
    F("Round",                      unary,              &tn_op_round),
    F("math.round",                 unary,              &tn_op_round),
    F("Sign",                       unary,              &tn_op_sign),
    F("math.sign",                  unary,              &tn_op_sign),
    F("LogicalNot",                 unary,              &tn_op_logical_not),
    F("math.logical_not",           unary,              &tn_op_logical_not),
    F("Square",                     square,             NULL),
    F("math.square",                square,             NULL),
    F("SquaredDifference",          squared_difference, NULL),
    F("math.squared_difference",    squared_difference, NULL),
    F("Reciprocal",                 reciprocal,         NULL),
    F("math.reciprocal",            reciprocal,         NULL),
    F("Add",                        binary,             &tn_op_add),
    F("math.add",                   binary,             &tn_op_add),
    F("__operators__.add",          binary,             &tn_op_add),
    F("Subtract",                   binary,             &tn_op_subtract),
    F("math.subtract",              binary,             &tn_op_subtract),
    F("Multiply",                   binary,             &tn_op_multiply),
    F("math.multiply",              binary,             &tn_op_multiply),
    F("Divide",                     divide,             NULL),
    F("TrueDivide",                 divide,             NULL),
    F("math.truediv",               divide,             NULL),
    F("math.divide",                divide,             NULL),
    F("RealDiv",                    divide,             NULL),
    F("Maximum",                    binary,             &tn_op_maximum),
    F("math.maximum",               binary,             &tn_op_maximum),
    F("Minimum",                    binary,             &tn_op_minimum),
    F("math.minimum",               binary,             &tn_op_minimum),
    F("Power",                      binary,             &tn_op_power),
    F("math.pow",                   binary,             &tn_op_power),
    F("FloorDivide",                binary,             &tn_op_floor_divide),
    F("math.floordiv",              binary,             &tn_op_floor_divide),
    F("Mod",                        binary,             &tn_op_floor_mod),
    F("math.floormod",              binary,             &tn_op_floor_mod),
    F("Equal",                      binary,             &tn_op_equal),
    F("math.equal",                 binary,             &tn_op_equal),
    F("__operators__.eq",           binary,             &tn_op_equal),
    F("NotEqual",                   binary,             &tn_op_not_equal),
    F("math.not_equal",             binary,             &tn_op_not_equal),
    F("__operators__.ne",           binary,             &tn_op_not_equal),
    F("Less",                       binary,             &tn_op_less),
    F("math.less",                  binary,             &tn_op_less),
    F("LessEqual",                  binary,             &tn_op_less_equal),
    F("math.less_equal",            binary,             &tn_op_less_equal),
    F("Greater",                    binary,             &tn_op_greater),
    F("math.greater",               binary,             &tn_op_greater),
    F("GreaterEqual",               binary,             &tn_op_greater_equal),
    F("math.greater_equal",         binary,             &tn_op_greater_equal),
    F("LogicalAnd",                 logical,            &tn_op_logical_and),
    F("math.logical_and",           logical,            &tn_op_logical_and),
    F("LogicalOr",                  logical,            &tn_op_logical_or),
    F("math.logical_or",            logical,            &tn_op_logical_or),
    F("LogicalXor",                 logical,            &tn_op_logical_xor),
    F("Relu",                       activate,           NULL),
    F("Relu6",                      activate,           NULL),
    F("Silu",                       activate,           NULL),
    F("Softplus",                   activate,           NULL),
    F("Softsign",                   activate,           NULL),
    F("Selu",                       activate,           NULL),
    F("HardSigmoid",                activate,           NULL),
    F("HardSilu",                   activate,           NULL),
    F("HardTanh",                   activate,           NULL),
    F("TanhShrink",                 activate,           NULL),
    F("SparsePlus",                 activate,           NULL),
    F("SparseSigmoid",              activate,           NULL),
    F("LogSigmoid",                 activate,           NULL),
    F("nn.relu",                    activate,           NULL),
    F("nn.relu6",                   activate,           NULL),
    F("nn.silu",                    activate,           NULL),
    F("nn.selu",                    activate,           NULL),
    F("math.softplus",              activate,           NULL),
    F("nn.softsign",                activate,           NULL),
    F("nn.elu",                     activate,           NULL),
    F("LeakyRelu",                  leaky_relu,         NULL),
    F("nn.leaky_relu",              leaky_relu,         NULL),
    F("Elu",                        elu,                NULL),
    F("Gelu",                       gelu,               NULL),
    F("nn.gelu",                    gelu,               NULL),
    F("Softmax",                    softmax,            &tn_op_nn_softmax),
    F("nn.softmax",                 softmax,            &tn_op_nn_softmax),
    F("LogSoftmax",                 softmax,            &tn_op_nn_log_softmax),
    F("nn.log_softmax",             softmax,            &tn_op_nn_log_softmax),
    F("Clip",                       clip,               NULL),
    F("clip_by_value",              clip,               NULL),
    F("Cast",                       cast,               NULL),
    F("cast",                       cast,               NULL),
    F("Where",                      where,              NULL),
    F("where",                      where,              NULL),
    F("Sum",                        reduce,             &tn_op_sum),
    F("math.reduce_sum",            reduce,             &tn_op_sum),
    F("Mean",                       reduce,             &tn_op_mean),
    F("math.reduce_mean",           reduce,             &tn_op_mean),
    F("Max",                        reduce,             &tn_op_max),
    F("math.reduce_max",            reduce,             &tn_op_max),
    F("Any",                        reduce,             &tn_op_max),
    F("Amax",                       reduce,             &tn_op_max),
    F("Amin",                       reduce,             &tn_op_min),
    F("Min",                        reduce,             &tn_op_min),
    F("math.reduce_min",            reduce,             &tn_op_min),
    F("All",                        reduce,             &tn_op_min),
    F("Prod",                       reduce,             &tn_op_prod),
    F("math.reduce_prod",           reduce,             &tn_op_prod),
    F("Argmax",                     arg_reduce,         &tn_op_argmax),
    F("math.argmax",                arg_reduce,         &tn_op_argmax),
    F("Argmin",                     arg_reduce,         &tn_op_argmin),
    F("Cumsum",                     cumsum,             NULL),
    F("math.cumsum",                cumsum,             NULL),
    F("Reshape",                    reshape,            NULL),
    F("reshape",                    reshape,            NULL),
    F("Transpose",                  transpose,          NULL),
    F("transpose",                  transpose,          NULL),
    F("ExpandDims",                 expand_dims,        NULL),
    F("expand_dims",                expand_dims,        NULL),
    F("Squeeze",                    squeeze,            NULL),
    F("squeeze",                    squeeze,            NULL),
    F("Concatenate",                concatenate,        NULL),
    F("concat",                     concatenate,        NULL),
    F("Stack",                      stack,              NULL),
    F("stack",                      stack,              NULL),
    F("Split",                      split,              NULL),
    F("split",                      split,              NULL),
    F("GetItem",                    get_item,           NULL),
    F("__operators__.getitem",      get_item,           NULL),
    F("Pad",                        pad,                NULL),
    F("pad",                        pad,                NULL),
    F("Tile",                       tile,               NULL),
    F("tile",                       tile,               NULL),
    F("Repeat",                     repeat,             NULL),
    F("repeat",                     repeat,             NULL),
    F("Flip",                       flip,               NULL),
    F("reverse",                    flip,               NULL),
    F("Matmul",                     matmul,             NULL),
    F("linalg.matmul",              matmul,             NULL),
    F("Einsum",                     einsum,             NULL),
    F("Identity",                   identity,           NULL),
    F("identity",                   identity,           NULL),
    F("stop_gradient",              identity,           NULL),
    F("StopGradient",               identity,           NULL),
    F("ZerosLike",                  full_like,          NULL),
    F("zeros_like",                 full_like,          NULL),
    F("OnesLike",                   full_like,          NULL),
    F("ones_like",                  full_like,          NULL),
    F("ConvertToTensor",            identity,           NULL),
    END_OF_ROWS,
};
// clang-format on
