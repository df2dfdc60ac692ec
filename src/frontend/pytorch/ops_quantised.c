/* Quantised tensors: whole numbers that stand for (number - zero) * scale.
 *
 * A converter that asks for a quantised operand gets real numbers (pt_real_value), so every operator takes one. Where
 * PyTorch's result is quantised like the operand (pooling, views, relu ...), pt_keep_steps makes it so again, which
 * is exact for all that only moves or chooses. Convolutions and layers work on the whole numbers, as FBGEMM does: int32
 * sums, one rounding. */
#include "frontend/pytorch/ops.h"

#include "frontend/import/window.h"
#include "op/qnn/qnn.h"

#include <math.h>

typedef struct steps {
    tn_value scale, zero; /* float32 and int32; scalars, or lists along axis */
    int axis;             /* -1: scalars */
    tn_dtype dtype;
} steps;

static bool ends_with(tn_bytes s, const char *end)
{
    size_t k = strlen(end);
    return s.n >= k && memcmp(s.at + s.n - k, end, k) == 0;
}

/* (scheme, scale, zero point[, axis]) */
static bool read_steps(imp_node *c, const pt_tensor *t, steps *s)
{
    pt_value how = t->steps;
    size_t n = how.kind == PT_TUPLE ? how.list->n : 0;
    tn_bytes scheme = n && (pt_at(how, 0).kind == PT_GLOBAL || pt_at(how, 0).kind == PT_TEXT)
                          ? pt_at(how, 0).text
                          : (tn_bytes){0};
    bool list = ends_with(scheme, "per_channel_affine");
    if (n < (list ? 4u : 3u) || (!list && !ends_with(scheme, "per_tensor_affine")) ||
        (list && pt_at(how, 3).kind != PT_INT)) {
        imp_fail(c, "pytorch-E090",
                 "a tensor is quantised in a way that is not supported; per tensor and per "
                 "channel, with whole zero points, are known");
        return false;
    }
    s->scale = pt_as(c, pt_at(how, 1), TN_F32);
    s->zero = pt_as(c, pt_at(how, 2), TN_I32);
    s->axis = list ? (int)pt_at(how, 3).i : -1;
    return !c->bad;
}

static bool steps_of(imp_node *c, pt_value v, steps *s)
{
    if (v.kind != PT_TENSOR || !v.tensor->quantised) {
        imp_fail(c, "pytorch-E091", "an operand is %s, but must be a quantised tensor",
                 v.kind == PT_TENSOR ? "a tensor of real numbers" : pt_kind_name(v.kind));
        return false;
    }
    if (!read_steps(c, v.tensor, s))
        return false;
    s->dtype = imp_type(pt_tensor_value(pt_of(c)->p, v.tensor))->dtype;
    return true;
}

/* Along one axis of x. */
static tn_value along(imp_node *c, tn_value v, int axis, tn_value x)
{
    const tn_expr *dim[IMP_MAX_RANK];
    int rank = imp_rank(x);
    if (axis < 0 || imp_rank(v) != 1)
        return imp_rank(v) ? imp_reshape(c, v, 0, NULL) : v;
    if (axis >= rank) {
        imp_refuse(c, IMP_BAD_VALUE, "axis %d of %d dimensions has scales of its own", axis, rank);
        return v;
    }
    for (int d = 0; d < rank; d++)
        dim[d] = d == axis ? imp_type(v)->dim[0] : tn_idx(c->pool, 1);
    return imp_reshape(c, v, rank, dim);
}

static tn_value real_of(imp_node *c, tn_value q, const steps *s)
{
    tn_value whole = imp_cast(c, q, TN_I32);
    tn_value off = pt_sub(c, whole, along(c, s->zero, s->axis, q));
    tn_value real = imp_cast(c, off, TN_F32);
    return pt_mul(c, real, along(c, s->scale, s->axis, q));
}

tn_value pt_real_value(imp_node *c, pt_tensor *t)
{
    steps s;
    tn_value q = pt_tensor_value(pt_of(c)->p, t);
    return q.def && read_steps(c, t, &s) ? real_of(c, q, &s) : (tn_value){0};
}

static void range_of(tn_dtype t, double *least, double *most)
{
    double half = ldexp(1, t.bits - 1);
    *least = t.code == TN_UINT ? 0 : -half;
    *most = t.code == TN_UINT ? 2 * half - 1 : t.bits == 32 ? 2147483520 : half - 1;
}

/* round(x) + zero in [least, most]: x is in units of the scale. */
static tn_value rounded(imp_node *c, tn_value x, tn_value zero, double least, double most)
{
    tn_clip_attr limits = {least, most};
    tn_value whole = imp_unary(c, &tn_op_round, x);
    return imp_call1(c, &tn_op_clip, &limits, pt_add(c, whole, imp_cast(c, zero, imp_type(x)->dtype)));
}

static tn_value inverse(imp_node *c, tn_value scale)
{
    double v;
    if (imp_scalar(c, scale, &v))
        return imp_const(c, TN_F32, (double)(1.0F / (float)v));
    tn_value one = pt_num(c, scale, 1);
    return pt_div(c, one, scale);
}

/* Numbers of s->dtype: as FBGEMM, by the inverse of the scale. */
static tn_value whole_of(imp_node *c, tn_value x, const steps *s)
{
    double least, most;
    range_of(s->dtype, &least, &most);
    tn_value in = imp_cast(c, x, TN_F32);
    tn_value units = pt_mul(c, in, along(c, inverse(c, s->scale), s->axis, in));
    return imp_cast(c, rounded(c, units, along(c, s->zero, s->axis, in), least, most), s->dtype);
}

static void out_whole(imp_node *c, tn_value q, pt_value how)
{
    pt_out(c, q);
    if (pt_of(c)->out.kind != PT_TENSOR)
        return;
    pt_of(c)->out.tensor->quantised = true;
    pt_of(c)->out.tensor->steps = how;
}

static pt_value per_tensor(imp_node *c, pt_value scale, pt_value zero)
{
    const pt_value at[3] = {pt_words("per_tensor_affine"), scale, zero};
    return pt_make(&c->im->scratch, PT_TUPLE, 3, at);
}

/* A real result with these steps. */
static void out_real(imp_node *c, tn_value x, pt_value how, tn_dtype t)
{
    steps s = {.dtype = t};
    pt_tensor carrier = {.steps = how};
    if (!c->bad && read_steps(c, &carrier, &s))
        out_whole(c, whole_of(c, x, &s), how);
}

/* ---- operators that keep the steps of their operand ---- */

static pt_tensor *first_quantised(const pt_call *k)
{
    pt_value v = k->arg[0];
    v = pt_is_sequence(v) ? pt_at(v, 0) : v;
    return v.kind == PT_TENSOR && v.tensor->quantised ? v.tensor : NULL;
}

static bool keeps(const pt_call *k)
{
    static const char *const names[] = {"relu(",
                                        "relu6(",
                                        "hardtanh(",
                                        "clamp(",
                                        "max_pool",
                                        "avg_pool",
                                        "adaptive_avg_pool",
                                        "mean(",
                                        "upsample_",
                                        "cat(",
                                        "stack(",
                                        "concat",
                                        "clone(",
                                        "contiguous",
                                        "detach(",
                                        "dropout(",
                                        "leaky_relu",
                                        "_upsample",
                                        "flip(",
                                        "index_sel",
                                        "repeat(",
                                        "roll(",
                                        "pixel_",
                                        "channel_sh",
                                        "threshold(",
                                        "to(",
                                        "constant_p",
                                        "pad(",
                                        "reflection",
                                        "replication",
                                        "index(",
                                        "max(",
                                        "min(",
                                        "amax(",
                                        "masked_fill(",
                                        "index_put(",
                                        "topk(",
                                        "sort(",
                                        "fill(",
                                        "copy("};
    bool found = (k->row->flags & PT_VIEW) != 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = strncmp(k->row->schema, names[i], strlen(names[i])) == 0;
    return found;
}

/* Those whose results have steps of their own: of 256 parts of their range. */
static bool fixed_steps(imp_node *c, tn_dtype t, pt_value *how)
{
    bool half = pt_starts(c, "tanh("), whole = pt_starts(c, "sigmoid(") || pt_starts(c, "hardsigmoid(");
    int64_t zero = (half ? 128 : 0) - (t.code == TN_UINT ? 0 : 128);
    *how = per_tensor(c, pt_float(half ? 1 / 128.0 : 1 / 256.0), pt_int(zero));
    return half || whole;
}

static void quantise(imp_node *c, pt_value *v, pt_value how, tn_dtype t)
{
    if (v->kind != PT_TENSOR || v->tensor->quantised ||
        !tn_dtype_is_float(imp_type(pt_tensor_value(pt_of(c)->p, v->tensor))->dtype))
        return;
    tn_value x = pt_as_tensor(c, *v);
    out_real(c, x, how, t);
    *v = pt_of(c)->out;
}

void pt_keep_steps(imp_node *c)
{
    pt_call *k = pt_of(c);
    pt_tensor *first = first_quantised(k);
    pt_value out = k->out, how;
    if (!first || c->bad || k->row->flags & PT_QUANTISED)
        return;
    tn_dtype t = imp_type(pt_tensor_value(k->p, first))->dtype;
    if (!fixed_steps(c, t, &how)) {
        if (!keeps(k))
            return;
        how = first->steps;
    }
    for (size_t i = 0; pt_is_sequence(out) && i < out.list->n; i++)
        quantise(c, &out.list->at[i], how, t);
    if (!pt_is_sequence(out))
        quantise(c, &out, how, t);
    k->out = c->bad ? pt_bad() : out;
}

/* ---- quantising ---- */

/* Of a ScalarType: qint8 12, quint8 13, qint32 14. */
static bool quantised_type(imp_node *c, int i, tn_dtype *t)
{
    static const tn_dtype types[] = {{TN_INT, 8, 1}, {TN_UINT, 8, 1}, {TN_INT, 32, 1}};
    int64_t code = pt_integer(c, i);
    if (c->bad || code < 12 || code > 14) {
        imp_fail(c, "pytorch-E092",
                 "quantised numbers of type %lld are not supported; qint8, quint8 and qint32 are supported",
                 (long long)code);
        return false;
    }
    *t = types[code - 12];
    return true;
}

static void quantize_per_tensor(imp_node *c)
{
    tn_dtype t;
    tn_value x = pt_in(c, 0);
    if (quantised_type(c, 3, &t))
        out_real(c, x, per_tensor(c, pt_arg(c, 1), pt_arg(c, 2)), t);
}

static void quantize_per_channel(imp_node *c)
{
    tn_dtype t;
    tn_value x = pt_in(c, 0);
    const pt_value how[4] = {pt_words("per_channel_affine"), pt_arg(c, 1), pt_arg(c, 2),
                             pt_int(pt_axis(c, 3, imp_rank(x)))};
    if (quantised_type(c, 4, &t))
        out_real(c, x, pt_make(&c->im->scratch, PT_TUPLE, 4, how), t);
}

static void dequantize(imp_node *c) { pt_out(c, pt_in(c, 0)); }

static void int_repr(imp_node *c)
{
    steps s;
    if (steps_of(c, pt_arg(c, 0), &s))
        pt_out(c, pt_tensor_value(pt_of(c)->p, pt_arg(c, 0).tensor));
}

static void q_parameter(imp_node *c)
{
    steps s;
    if (steps_of(c, pt_arg(c, 0), &s))
        pt_out_value(c, pt_at(pt_arg(c, 0).tensor->steps, pt_starts(c, "q_zero_point") ? 2 : 1));
}

/* ---- layers ---- */

/* What a prepack operator makes of a weight; the object that the layers read. */
static void prepack(imp_node *c)
{
    static const char *const names[] = {"w", "b", "stride", "padding", "dilation", "groups"};
    pt_object *o = TN_NEW(&c->im->scratch, pt_object);
    o->made = true;
    o->type = pt_words(pt_of(c)->row->schema).text;
    o->path = "";
    for (size_t i = 0; i < c->n_in && i < 6; i++)
        pt_attr_add(&c->im->scratch, o, pt_words(names[i]).text)->v = pt_arg(c, (int)i);
    pt_out_value(c, (pt_value){.kind = PT_OBJECT, .object = o});
}

static void unpack(imp_node *c)
{
    pt_value o = pt_arg(c, 0), at[2] = {pt_bad(), pt_bad()};
    for (int i = 0; i < 2; i++) {
        pt_cell *cell = o.kind == PT_OBJECT ? pt_attr_find(o.object, pt_words(i ? "b" : "w").text) : NULL;
        if (!cell) {
            imp_fail(c, "pytorch-E093", "a packed weight is %s that no prepack operator made",
                     pt_kind_name(o.kind));
            return;
        }
        at[i] = cell->v;
    }
    pt_out_value(c, pt_make(&c->im->scratch, PT_TUPLE, 2, at));
}

typedef struct layer {
    steps x, w;
    pt_value x_in, w_in; /* tensors */
    tn_value data, weight, bias;
    pt_object *packed;
} layer;

static pt_value packed_part(imp_node *c, const pt_object *o, const char *name)
{
    for (size_t i = 0; o && i < o->n; i++)
        if (imp_is(o->at[i].name, name))
            return o->at[i].cell.v;
    imp_fail(c, "pytorch-E093", "a packed weight has no \"%s\", so no prepack operator made it", name);
    return pt_none();
}

/* A torchbind object of a frozen archive: (weight, bias) of a linear layer. */
static pt_object *packed_object(imp_node *c, pt_value v)
{
    pt_object *o = v.kind == PT_OBJECT ? v.object : NULL;
    if (o && !o->n && pt_is_sequence(o->state) && o->state.list->n == 2 &&
        pt_at(o->state, 0).kind == PT_TENSOR) {
        pt_attr_add(&c->im->scratch, o, pt_words("w").text)->v = pt_at(o->state, 0);
        pt_attr_add(&c->im->scratch, o, pt_words("b").text)->v = pt_at(o->state, 1);
    }
    return o;
}

static bool read_layer(imp_node *c, layer *l)
{
    *l = (layer){.x_in = pt_arg(c, 0), .packed = packed_object(c, pt_arg(c, 1))};
    l->w_in = packed_part(c, l->packed, "w");
    pt_value b = packed_part(c, l->packed, "b");
    if (c->bad || !steps_of(c, l->x_in, &l->x) || !steps_of(c, l->w_in, &l->w))
        return false;
    l->data = pt_tensor_value(pt_of(c)->p, l->x_in.tensor);
    l->weight = pt_tensor_value(pt_of(c)->p, l->w_in.tensor);
    l->bias = b.kind == PT_NONE ? (tn_value){0} : imp_cast(c, pt_as_tensor(c, b), TN_F32);
    if (l->w.axis > 0) {
        imp_fail(c, "pytorch-E090", "a weight is quantised along axis %d, but only 0 is known", l->w.axis);
        return false;
    }
    return !c->bad;
}

/* What a sum counts in real numbers: one number, or one for each channel. */
static tn_value unit(imp_node *c, const layer *l)
{
    tn_value x = along(c, l->x.scale, -1, l->data);
    return pt_mul(c, l->w.axis < 0 ? along(c, l->w.scale, -1, l->data) : l->w.scale, x);
}

/* sums * unit + bias in units of the result's scale, rounded once. axis: of the channels. */
static void give_sums(imp_node *c, const layer *l, tn_value sums, int axis)
{
    pt_value how = per_tensor(c, pt_arg(c, 2), pt_arg(c, 3));
    steps out = {.dtype = l->x.dtype};
    pt_tensor carrier = {.steps = how};
    double least, most, zero = 0;
    if (c->bad || !read_steps(c, &carrier, &out))
        return;
    range_of(out.dtype, &least, &most);
    if (strstr(pt_of(c)->row->schema, "relu") && imp_scalar(c, out.zero, &zero))
        least = zero;
    tn_value one = unit(c, l), real = imp_cast(c, sums, TN_F32);
    if (l->bias.def)
        real = pt_add(c, real, along(c, pt_div(c, l->bias, one), axis, real));
    tn_value factor = pt_div(c, one, along(c, out.scale, -1, real));
    tn_value units = pt_mul(c, real, along(c, factor, imp_rank(factor) ? axis : -1, real));
    out_whole(c, imp_cast(c, rounded(c, units, out.zero, least, most), out.dtype), how);
}

static tn_value zero_as(imp_node *c, tn_value zero, tn_dtype t) { return imp_cast(c, zero, t); }

/* Zero points of a weight, as one number where they are alike. */
static tn_value weight_zero(imp_node *c, const layer *l)
{
    return zero_as(c, l->w.axis < 0 ? along(c, l->w.zero, -1, l->weight) : l->w.zero,
                   imp_type(l->weight)->dtype);
}

/* quantized::conv1d, 2d, 3d(x, packed, scale, zero point) */
static void conv(imp_node *c)
{
    layer l;
    tn_value one = imp_const(c, TN_F32, 1), sums;
    if (!read_layer(c, &l))
        return;
    int n = imp_rank(l.weight) - 2;
    pt_call *k = pt_of(c);
    static const char *const names[] = {"stride", "padding", "dilation", "groups"};
    for (int i = 0; i < 4; i++)
        k->arg[8 + i] = packed_part(c, l.packed, names[i]);
    imp_window w;
    int64_t pad[2 * IMP_MAX_SPATIAL];
    if (c->bad || n < 1 || n > 3 || imp_rank(l.data) != n + 2 || !imp_window_init(c, l.data, false, &w) ||
        !imp_window_of_weight(c, l.weight, &w)) {
        imp_refuse(c, IMP_OPERANDS, "a weight of %d dimensions meets data of %d", n + 2, imp_rank(l.data));
        return;
    }
    memcpy(w.stride, pt_repeated(c, 8, n), (size_t)n * sizeof *w.stride);
    memcpy(w.dilation, pt_repeated(c, 10, n), (size_t)n * sizeof *w.dilation);
    for (int i = 0; i < 2 * n; i++)
        pad[i] = pt_repeated(c, 9, n)[i % n];
    imp_pad_both(c, &w, pad);
    int64_t groups = pt_integer(c, 11);
    tn_conv2d_attr a;
    if (n == 2) {
        tn_value zero = zero_as(c, along(c, l.x.zero, -1, l.data), l.x.dtype);
        const tn_value in[6] = {l.data, l.weight, zero, weight_zero(c, &l), one, one};
        if (!imp_conv_attr(c, &w, l.weight, groups, &tn_op_qnn_conv2d, &a))
            return;
        sums = imp_call(c, &tn_op_qnn_conv2d, &a, 6, in);
    } else {
        tn_value x = imp_cast(c, l.data, TN_I32), v = imp_cast(c, l.weight, TN_I32);
        x = pt_sub(c, x, along(c, l.x.zero, -1, x));
        sums = imp_conv(c, x, pt_sub(c, v, along(c, l.w.zero, l.w.axis, v)), &w, groups);
    }
    give_sums(c, &l, sums, 1);
}

/* x [.., k] times the transpose of w [n, k]: int32 */
static tn_value dense_sums(imp_node *c, const layer *l)
{
    tn_value one = imp_const(c, TN_F32, 1);
    int rank = imp_rank(l->data);
    const tn_expr *dim[IMP_MAX_RANK];
    if (rank < 1 || imp_rank(l->weight) != 2) {
        imp_refuse(c, IMP_OPERANDS, "a weight of %d dimensions meets data of %d", imp_rank(l->weight), rank);
        return (tn_value){0};
    }
    const tn_expr *flat[2] = {imp_product(c, imp_type(l->data), 0, rank - 1),
                              imp_type(l->data)->dim[rank - 1]};
    for (int d = 0; d < rank; d++)
        dim[d] = d < rank - 1 ? imp_type(l->data)->dim[d] : imp_type(l->weight)->dim[0];
    tn_value x = rank == 2 ? l->data : imp_reshape(c, l->data, 2, flat);
    tn_value zero = zero_as(c, along(c, l->x.zero, -1, l->data), l->x.dtype);
    const tn_value in[6] = {x, l->weight, zero, weight_zero(c, l), one, one};
    tn_dense_attr a;
    if (c->bad || tn_attr_init(c->pool, tn_op_qnn_dense.attr, sizeof a, &a) != TN_OK)
        return (tn_value){0};
    a.out_dtype = TN_I32;
    tn_value y = imp_call(c, &tn_op_qnn_dense, &a, 6, in);
    return rank == 2 ? y : imp_reshape(c, y, rank, dim);
}

static void linear(imp_node *c)
{
    layer l;
    if (!read_layer(c, &l))
        return;
    tn_value sums = dense_sums(c, &l);
    give_sums(c, &l, sums, imp_rank(sums) - 1);
}

/* The steps that a whole tensor of real numbers is given: 0 is one of them. */
static void choose_steps(imp_node *c, tn_value x, double most, layer *l)
{
    tn_ints all = pt_axes(c, PT_MAX_ARG - 1, imp_rank(x));
    tn_value none = pt_num(c, x, 0), low = pt_min(c, pt_sum(c, &tn_op_min, x, all, false), none),
             high = pt_max(c, pt_sum(c, &tn_op_max, x, all, false), none);
    tn_value wide = pt_sub(c, high, low);
    tn_value scale = pt_div(c, wide, pt_num(c, x, most));
    tn_value flat = imp_binary(c, &tn_op_equal, scale, none), some = pt_num(c, x, 0.1);
    scale = imp_choose(c, flat, some, scale);
    tn_clip_attr limits = {0, most};
    tn_value zero = imp_unary(c, &tn_op_round, imp_unary(c, &tn_op_negative, pt_div(c, low, scale)));
    l->x = (steps){scale, imp_cast(c, imp_call1(c, &tn_op_clip, &limits, zero), TN_I32), -1, TN_U8};
    l->data = whole_of(c, x, &l->x);
}

/* quantized::linear_dynamic(x, packed, reduce_range): real numbers in and out */
static void linear_dynamic(imp_node *c)
{
    layer l = {.packed = packed_object(c, pt_arg(c, 1))};
    tn_value x = imp_cast(c, pt_in(c, 0), TN_F32);
    l.w_in = packed_part(c, l.packed, "w");
    pt_value b = packed_part(c, l.packed, "b");
    if (c->bad || !steps_of(c, l.w_in, &l.w))
        return;
    l.weight = pt_tensor_value(pt_of(c)->p, l.w_in.tensor);
    choose_steps(c, x, pt_truth(c, 2) ? 127 : 255, &l);
    tn_value sums = imp_cast(c, dense_sums(c, &l), TN_F32), one = unit(c, &l);
    tn_value y = pt_mul(c, sums, one);
    y = b.kind == PT_NONE ? y : pt_add(c, y, imp_cast(c, pt_as_tensor(c, b), TN_F32));
    pt_out(c, strstr(pt_of(c)->row->schema, "relu") ? imp_unary(c, &tn_op_nn_relu, y) : y);
}

/* ---- arithmetic on the real numbers; the steps of the result stand behind the operands ---- */

static void give_real(imp_node *c, tn_value x, int scale)
{
    steps s;
    pt_value first = pt_is_sequence(pt_arg(c, 0)) ? pt_at(pt_arg(c, 0), 0) : pt_arg(c, 0);
    bool leaky = pt_starts(c, "quantized::leaky"), relu = !leaky && strstr(pt_of(c)->row->schema, "relu(");
    if (steps_of(c, first, &s))
        out_real(c, relu ? imp_unary(c, &tn_op_nn_relu, x) : x,
                 per_tensor(c, pt_arg(c, scale), pt_arg(c, scale + 1)), s.dtype);
}

static void binary(imp_node *c)
{
    tn_value a = pt_in(c, 0), b = pt_in(c, 1);
    give_real(c, pt_of(c)->row->relay == &tn_op_add ? pt_add(c, a, b) : pt_mul(c, a, b), 2);
}

static void cat(imp_node *c)
{
    uint32_t n;
    tn_value *v = pt_list_in(c, 0, &n);
    if (n)
        give_real(c, imp_concat(c, n, v, pt_axis(c, 1, imp_rank(v[0]))), 2);
}

/* quantized::batch_norm2d(x, weight, bias, mean, var, eps, scale, zero point) */
static void batch_norm(imp_node *c)
{
    tn_value x = pt_in(c, 0), w = pt_in(c, 1), b = pt_in(c, 2), mean = pt_in(c, 3), var = pt_in(c, 4);
    tn_value factor = imp_unary(c, &tn_op_rsqrt, pt_add(c, var, pt_num(c, var, pt_real(c, 5))));
    factor = w.def ? pt_mul(c, factor, w) : factor;
    tn_value shift = imp_unary(c, &tn_op_negative, pt_mul(c, mean, factor));
    shift = b.def ? pt_add(c, b, shift) : shift;
    tn_value y = pt_mul(c, x, along(c, factor, 1, x));
    give_real(c, pt_add(c, y, along(c, shift, 1, x)), 6);
}

/* Operators of one operand by their rows for real numbers: quantized::NAME(x, ..., scale, zero point) */
static void by_name(imp_node *c)
{
    const char *s = pt_of(c)->row->schema + strlen("quantized::");
    bool elu = pt_starts(c, "quantized::elu"), slope = pt_starts(c, "quantized::leaky_relu");
    pt_value v[2] = {pt_tensor_new(pt_of(c)->p, pt_in(c, 0)), pt_arg(c, elu ? 3 : 1)};
    const tn_bytes none[2] = {{0}};
    pt_value y = pt_apply(pt_of(c)->p, (tn_bytes){(const uint8_t *)s, strcspn(s, "(")},
                          &(pt_args){elu || slope ? 2 : 1, v, none});
    if (y.kind == PT_TENSOR)
        give_real(c, pt_as_tensor(c, y), slope ? 3 : 1);
    else
        c->bad = true;
}

/* ---- quantized_decomposed: plain integers, whose steps each call names ---- */

static steps named_steps(imp_node *c, int scale, int axis)
{
    return (steps){pt_as(c, pt_arg(c, scale), TN_F32),
                   pt_given(c, scale + 1) ? pt_as(c, pt_arg(c, scale + 1), TN_I32) : imp_const(c, TN_I32, 0),
                   axis, TN_I8};
}

/* (x, scale, zero, [axis], least, most, dtype) */
static void plain_quantize(imp_node *c)
{
    bool channel = strstr(pt_of(c)->row->schema, "per_channel") != NULL;
    tn_value x = imp_cast(c, pt_in(c, 0), TN_F32);
    steps s = named_steps(c, 1, channel ? pt_axis(c, 3, imp_rank(x)) : -1);
    double least = pt_real(c, 3 + channel), most = pt_real(c, 4 + channel);
    if (!pt_dtype(c, 5 + channel, &s.dtype))
        return;
    tn_value units = pt_mul(c, x, along(c, inverse(c, s.scale), s.axis, x));
    pt_out(c, imp_cast(c, rounded(c, units, along(c, s.zero, s.axis, x), least, most), s.dtype));
}

static void plain_dequantize(imp_node *c)
{
    bool channel = strstr(pt_of(c)->row->schema, "per_channel") != NULL;
    tn_value x = pt_in(c, 0);
    tn_dtype t = TN_F32;
    steps s = named_steps(c, 1, channel ? pt_axis(c, 3, imp_rank(x)) : -1);
    (void)pt_dtype(c, 6 + channel, &t);
    pt_out(c, imp_cast(c, real_of(c, x, &s), t));
}

/* fake_quantize_per_tensor_affine(x, scale, zero, least, most); per_channel: (x, scale, zero, axis, least, most) */
static void fake_quantize(imp_node *c)
{
    bool channel = pt_starts(c, "fake_quantize_per_channel");
    tn_value x = pt_in(c, 0);
    steps s = named_steps(c, 1, channel ? pt_axis(c, 3, imp_rank(x)) : -1);
    double least = pt_real(c, 3 + channel), most = pt_real(c, 4 + channel);
    tn_value zero = imp_cast(c, along(c, s.zero, s.axis, x), TN_F32), scale = along(c, s.scale, s.axis, x);
    tn_value real = imp_cast(c, x, TN_F32);
    tn_value units = pt_mul(c, real, along(c, inverse(c, s.scale), s.axis, x));
    tn_value q = rounded(c, units, zero, least, most);
    pt_out(c, imp_cast(c, pt_mul(c, pt_sub(c, q, zero), scale), imp_type(x)->dtype));
}

#define Q PT_QUANTISED
#define PREPACK(n) \
    {"quantized::conv" n \
     "_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int " \
     "groups)", \
     prepack, NULL, Q}
#define CONV(name) \
    {"quantized::" name "(Tensor qx, any packed, float output_scale, int output_zero_point)", conv, NULL, Q}
#define LINEAR(name) \
    {"quantized::" name "(Tensor X, any W_prepack, float Y_scale_i, int Y_zero_point_i)", linear, NULL, Q}
#define DYNAMIC(name) \
    {"quantized::" name "(Tensor X, any W_prepack, bool reduce_range=False)", linear_dynamic, NULL, Q}
#define BINARY(name, op) \
    {"quantized::" name "(Tensor qa, Tensor qb, float scale, int zero_point)", binary, op, Q}
#define CAT(name) {"quantized::" name "(Tensor[] qx, int dim, float? scale, int? zero_point)", cat, NULL, Q}
#define NORM(name) \
    {"quantized::" name \
     "(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, float " \
     "output_scale, int output_zero_point)", \
     batch_norm, NULL, Q}
#define ONE(name) \
    {"quantized::" name "(Tensor input, float output_scale, int output_zero_point)", by_name, NULL, Q}
#define TO "quantized_decomposed::quantize_per_"
#define FROM "quantized_decomposed::dequantize_per_"
const pt_row pt_rows_quantised[] = {
    {"quantize_per_tensor(Tensor self, Tensor scale, Tensor zero_point, int dtype)", quantize_per_tensor,
     NULL, Q},
    {"quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, int dtype)",
     quantize_per_channel, NULL, Q},
    {"dequantize(Tensor self)", dequantize, NULL, Q},
    {"int_repr(Tensor self)", int_repr, NULL, Q},
    {"q_scale(Tensor self)", q_parameter, NULL, Q},
    {"q_zero_point(Tensor self)", q_parameter, NULL, Q},
    PREPACK("1d"),
    PREPACK("2d"),
    PREPACK("3d"),
    {"quantized::linear_prepack(Tensor W, Tensor? B=None)", prepack, NULL, Q},
    {"quantized::linear_unpack(any W_prepack)", unpack, NULL, Q},
    {"quantized::conv2d_unpack(any packed_weights)", unpack, NULL, Q},
    CONV("conv1d"),
    CONV("conv2d"),
    CONV("conv3d"),
    CONV("conv1d_relu"),
    CONV("conv2d_relu"),
    CONV("conv3d_relu"),
    LINEAR("linear"),
    LINEAR("linear_relu"),
    DYNAMIC("linear_dynamic"),
    DYNAMIC("linear_relu_dynamic"),
    BINARY("add", &tn_op_add),
    BINARY("add_relu", &tn_op_add),
    BINARY("mul", &tn_op_multiply),
    BINARY("mul_relu", &tn_op_multiply),
    CAT("cat"),
    CAT("cat_relu"),
    NORM("batch_norm"),
    NORM("batch_norm1d"),
    NORM("batch_norm2d"),
    NORM("batch_norm3d"),
    NORM("batch_norm_relu"),
    NORM("batch_norm2d_relu"),
    NORM("batch_norm3d_relu"),
    ONE("hardswish"),
    ONE("sigmoid"),
    {"quantized::elu(Tensor self, float output_scale, int output_zero_point, Scalar alpha=1)", by_name, NULL,
     Q},
    {"quantized::leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, float output_scale, int "
     "output_zero_point)",
     by_name, NULL, Q},
    {TO
     "tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype)",
     plain_quantize, NULL, 0},
    {TO "channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, "
        "ScalarType "
        "dtype)",
     plain_quantize, NULL, 0},
    {FROM "tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType "
          "dtype, *, "
          "ScalarType? out_dtype=None)",
     plain_dequantize, NULL, 0},
    {FROM "channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, "
          "ScalarType "
          "dtype, *, ScalarType? out_dtype=None)",
     plain_dequantize, NULL, 0},
    {"fake_quantize_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int "
     "quant_max)",
     fake_quantize, NULL, 0},
    {"fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int "
     "quant_min, int "
     "quant_max)",
     fake_quantize, NULL, 0},
    {0},
};
