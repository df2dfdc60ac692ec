/* Integer forms: what an operator over dequantised operands is on the integers themselves. FakeQuantizationToInteger
 * asks for them; a row for each operator that has one. A form of n is a value equal to n's result up to rounding: a
 * qnn.dequantize of integers computed from n's operands' integers, so that forms chain; of qnn.quantize, the integers.
 *
 * What a reader wants (scale, zero point, dtype of the qnn.quantize that n's result goes to, perhaps after operators
 * that only move data) lets forms requantise early: quantising is monotonic, so limits may be applied after it.
 */
#include "op/qnn/build.h"

#include "ir/eval.h"
#include "op/qnn/qnn.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* scale * (q - zero), scales along axis; q absent: none */
typedef struct affine {
    tn_value q, scale, zero;
    int64_t axis;
} affine;

static bool is_scalar(tn_value v)
{
    const tn_type *t = tn_value_type(v);
    return t->n == 0 || (t->n == 1 && tn_is_value(t->dim[0], 1));
}

/* What value v is, if it is made by qnn.dequantize. */
static affine affine_of(tn_value v)
{
    static const affine none;
    if (!v.def || v.def->op != &tn_op_qnn_dequantize || !tn_dtype_eq(v.def->type[0]->dtype, TN_F32))
        return none;
    return (affine){tn_in(v.def, 0), tn_in(v.def, 1), tn_in(v.def, 2),
                    ((const tn_qnn_attr *)v.def->attr)->axis};
}

static bool one_scale(affine a) { return a.q.def && is_scalar(a.scale) && is_scalar(a.zero); }

static bool is_byte(tn_value q)
{
    tn_dtype t = tn_value_type(q)->dtype;
    return tn_dtype_is_int(t) && t.bits <= 8;
}

/* A byte, as kernels multiply them; fewer bits become one. */
static tn_value as_byte(tn_graph *g, tn_node *n, tn_value q)
{
    tn_dtype t = tn_value_type(q)->dtype;
    return t.bits >= 8 ? q : qnn_cast(g, n, q, t.code == TN_UINT ? TN_U8 : TN_I8);
}

/* The same constant, or constants of the same bits; `near`: floats may differ in the last place or two. */
static bool same(tn_value a, tn_value b, bool near)
{
    if (tn_value_eq(a, b))
        return true;
    if (!a.def || !b.def || a.def->op != &tn_op_constant || b.def->op != &tn_op_constant)
        return false;
    tn_dtype t = a.def->type[0]->dtype;
    const tn_blob *x = a.def->blob, *y = b.def->blob;
    if (!tn_dtype_eq(t, b.def->type[0]->dtype) || !x || !y || x->n != y->n)
        return false;
    if (memcmp(x->at, y->at, x->n) == 0)
        return true;
    bool equal = near && tn_dtype_eq(t, TN_F32);
    for (size_t i = 0; equal && i + 4 <= x->n; i += 4) {
        double p = tn_scalar_read(t, (const char *)x->at + i).f,
               q = tn_scalar_read(t, (const char *)y->at + i).f;
        equal = fabs(p - q) <= 4e-7 * fabs(p);
    }
    return equal;
}

static bool same_grid(affine a, affine b)
{
    return tn_dtype_eq(tn_value_type(a.q)->dtype, tn_value_type(b.q)->dtype) &&
           same(a.scale, b.scale, false) && same(a.zero, b.zero, false);
}

static bool number(tn_value v, double *out)
{
    if (!v.def || v.def->op != &tn_op_constant || !v.def->blob || !is_scalar(v))
        return false;
    tn_dtype t = v.def->type[0]->dtype;
    tn_scalar s = tn_scalar_read(t, v.def->blob->at);
    *out = tn_dtype_is_float(t) ? s.f : (double)s.i;
    return true;
}

/* ---- building ---- */

static tn_value real(tn_graph *g, tn_node *n, tn_value q, affine a)
{
    tn_qnn_attr attr = {.axis = a.axis, .out_dtype = TN_F32};
    return qnn_call(g, n, &tn_op_qnn_dequantize, &attr, 3, (const tn_value[]){q, a.scale, a.zero});
}

/* a's integers on the grid of `to`, in dtype t. */
static tn_value regrid(tn_graph *g, tn_node *n, affine a, affine to, tn_dtype t)
{
    tn_qnn_attr attr = {.axis = a.axis, .out_dtype = t};
    tn_value in[] = {a.q, a.scale, a.zero, to.scale, to.zero};
    if (tn_dtype_eq(tn_value_type(a.q)->dtype, t) && same(a.scale, to.scale, false) &&
        same(a.zero, to.zero, false))
        return a.q;
    return qnn_call(g, n, &tn_op_qnn_requantize, &attr, 5, in);
}

/* Moves data of one operand, so that it may be done before or after quantising. */
static bool moves(const tn_node *n)
{
    return n->nin == 1 && n->nout == 1 && (n->op->flags & (TN_OP_INDEX_MAP | TN_OP_SHARES)) &&
           n->op != &tn_op_nn_pad && n->op != &tn_op_relayout;
}

/* A constant where n may read it. */
static tn_value before(tn_graph *g, tn_node *n, tn_value v)
{
    const tn_node *c = v.def;
    return tn_val(tn_constant_new(g, n->owner, n, c->type[0], c->blob, c->name));
}

/* The grid, of one constant scale, of the qnn.quantize that alone reads n's result, also through operators that move
 * data. */
static bool wanted(tn_graph *g, tn_node *n, affine *out, tn_dtype *out_dtype)
{
    for (tn_value v = tn_val(n);;) {
        const tn_use *u = v.def->users[v.out];
        if (!u || u->next || !u->user)
            return false;
        tn_node *to = u->user;
        if (to->op == &tn_op_qnn_quantize && u->slot == 0) {
            *out = (affine){tn_val(to), tn_in(to, 1), tn_in(to, 2), -1};
            *out_dtype = to->type[0]->dtype;
            if (!one_scale(*out) || out->scale.def->op != &tn_op_constant ||
                out->zero.def->op != &tn_op_constant)
                return false;
            out->scale = before(g, n, out->scale);
            out->zero = before(g, n, out->zero);
            return true;
        }
        if (!moves(to))
            return false;
        v = tn_val(to);
    }
}

/* ---- the forms ---- */

static tn_value quantize_form(tn_graph *g, tn_node *n)
{
    affine a = affine_of(tn_in(n, 0)), to = {tn_val(n), tn_in(n, 1), tn_in(n, 2), -1};
    tn_dtype t = n->type[0]->dtype;
    if (!a.q.def || !is_scalar(to.scale) || !is_scalar(to.zero) || t.bits > 16)
        return (tn_value){0};
    return regrid(g, n, a, to, t);
}

/* Products of scales, along `axis` of the result. */
static affine product_grid(tn_graph *g, tn_node *n, affine x, affine w, int64_t axis)
{
    double a, b;
    const tn_blob *blob = w.scale.def->blob;
    int64_t dim[1] = {1};
    affine y = {.zero = tn_val(tn_make_scalar(g, n->owner, n, TN_I32, 0)),
                .axis = is_scalar(w.scale) ? -1 : axis};
    bool known = number(x.scale, &a) && w.scale.def->op == &tn_op_constant && blob &&
                 tn_value_type(w.scale)->n <= 1 && tn_dtype_eq(tn_value_type(w.scale)->dtype, TN_F32) &&
                 (tn_value_type(w.scale)->n == 0 || tn_is_int(tn_value_type(w.scale)->dim[0], &dim[0]));
    if (!known) {
        tn_squeeze_attr all = {{0}};
        tn_value s = tn_value_type(x.scale)->n ? qnn_call1(g, n, &tn_op_squeeze, &all, x.scale) : x.scale;
        y.scale = qnn_call2(g, n, &tn_op_multiply, w.scale, s);
        return y;
    }
    float *at = TN_NEW_N(g->arena, float, (size_t)dim[0]);
    for (int64_t i = 0; i < dim[0]; i++) {
        b = tn_scalar_read(TN_F32, (const char *)blob->at + 4 * i).f;
        at[i] = (float)a * (float)b;
    }
    y.scale = tn_val(tn_make_constant(g, n->owner, n, TN_F32, tn_value_type(w.scale)->n, dim, at, NULL));
    return y;
}

static tn_value product_form(tn_graph *g, tn_node *n, const tn_op *op, const void *attr, int64_t axis)
{
    affine x = affine_of(tn_in(n, 0)), w = affine_of(tn_in(n, 1));
    if (!one_scale(x) || !w.q.def || !is_byte(x.q) || !is_byte(w.q) || tn_value_type(w.scale)->n > 1)
        return (tn_value){0};
    if (w.axis < 0)
        w.axis += tn_value_type(w.q)->n;
    if (!is_scalar(w.scale) && w.axis != 0)
        return (tn_value){0};
    tn_value in[] = {as_byte(g, n, x.q),
                     as_byte(g, n, w.q),
                     as_byte(g, n, x.zero),
                     as_byte(g, n, w.zero),
                     x.scale,
                     w.scale};
    affine y = product_grid(g, n, x, w, axis);
    return real(g, n, qnn_call(g, n, op, attr, 6, in), y);
}

static tn_value conv2d_form(tn_graph *g, tn_node *n)
{
    tn_conv2d_attr a = *(const tn_conv2d_attr *)n->attr;
    a.out_dtype = TN_I32;
    return product_form(g, n, &tn_op_qnn_conv2d, &a, 1);
}

static tn_value dense_form(tn_graph *g, tn_node *n)
{
    tn_dense_attr a = *(const tn_dense_attr *)n->attr;
    a.out_dtype = TN_I32;
    return product_form(g, n, &tn_op_qnn_dense, &a, -1);
}

static tn_value batch_matmul_form(tn_graph *g, tn_node *n)
{
    tn_matmul_attr a = *(const tn_matmul_attr *)n->attr;
    a.out_dtype = TN_I32;
    return one_scale(affine_of(tn_in(n, 1))) ? product_form(g, n, &tn_op_qnn_batch_matmul, &a, -1)
                                             : (tn_value){0};
}

/* A bias on the grid of the sums is added to them; another stays real. */
static tn_value bias_add_form(tn_graph *g, tn_node *n)
{
    affine x = affine_of(tn_in(n, 0)), b = affine_of(tn_in(n, 1));
    bool fits = x.q.def && b.q.def && tn_dtype_eq(tn_value_type(x.q)->dtype, TN_I32) &&
                tn_dtype_eq(tn_value_type(b.q)->dtype, TN_I32) && qnn_is_zero(x.zero) &&
                qnn_is_zero(b.zero) && same(x.scale, b.scale, true);
    if (!fits)
        return (tn_value){0};
    tn_value in[] = {x.q, b.q};
    return real(g, n, qnn_call(g, n, &tn_op_nn_bias_add, n->attr, 2, in), x);
}

static tn_value relu_form(tn_graph *g, tn_node *n)
{
    affine x = affine_of(tn_in(n, 0));
    if (!one_scale(x) && !(x.q.def && qnn_is_zero(x.zero)))
        return (tn_value){0};
    tn_dtype t = tn_value_type(x.q)->dtype;
    tn_value zero =
        qnn_is_zero(x.zero) ? tn_val(tn_make_scalar(g, n->owner, n, t, 0)) : qnn_cast(g, n, x.zero, t);
    zero = qnn_spread(g, n, zero, 0, 1);
    return real(
        g, n, t.code == TN_UINT && qnn_is_zero(x.zero) ? x.q : qnn_call2(g, n, &tn_op_maximum, x.q, zero), x);
}

/* quantise(limit(x)) = limit(quantise(x)) with quantised limits */
static tn_value clip_form(tn_graph *g, tn_node *n)
{
    const tn_clip_attr *a = n->attr;
    affine x = affine_of(tn_in(n, 0)), to;
    tn_dtype t;
    double scale, zero;
    if (!x.q.def || !wanted(g, n, &to, &t) || t.bits != 8 || !number(to.scale, &scale) ||
        !number(to.zero, &zero))
        return (tn_value){0};
    double least = t.code == TN_UINT ? 0 : -128, most = least + 255;
    tn_clip_attr limits = {rint((double)((float)a->a_min / (float)scale)) + zero,
                           rint((double)((float)a->a_max / (float)scale)) + zero};
    limits.a_min = fmin(fmax(limits.a_min, least), most);
    limits.a_max = fmin(fmax(limits.a_max, least), most);
    tn_value q = regrid(g, n, x, to, t);
    if (limits.a_min > least || limits.a_max < most)
        q = qnn_call1(g, n, &tn_op_clip, &limits, q);
    return real(g, n, q, to);
}

/* Monotonic and of one channel: the same on the integers. */
static tn_value max_pool_form(tn_graph *g, tn_node *n)
{
    affine x = affine_of(tn_in(n, 0));
    return one_scale(x) ? real(g, n, qnn_call1(g, n, n->op, n->attr, x.q), x) : (tn_value){0};
}

static tn_value pad_form(tn_graph *g, tn_node *n)
{
    tn_pad_attr a = *(const tn_pad_attr *)n->attr;
    affine x = affine_of(tn_in(n, 0));
    bool constant = !a.pad_mode || strcmp(a.pad_mode, "constant") == 0;
    if (!one_scale(x) || (constant && (a.pad_value != 0 || !number(x.zero, &a.pad_value))))
        return (tn_value){0};
    return real(g, n, qnn_call1(g, n, &tn_op_nn_pad, &a, x.q), x);
}

/* Operands of one grid join as they are, others on the grid that is wanted. */
static tn_value concatenate_form(tn_graph *g, tn_node *n)
{
    tn_value *part = TN_NEW_N(g->arena, tn_value, n->nin);
    affine first = affine_of(tn_in(n, 0)), to = first;
    tn_dtype t = {0};
    bool alike = one_scale(first), real_all = true;
    for (int i = 0; i < n->nin; i++) {
        affine x = affine_of(tn_in(n, i));
        real_all = real_all && one_scale(x);
        alike = alike && real_all && same_grid(x, first);
    }
    if (!real_all || (!alike && !wanted(g, n, &to, &t)))
        return (tn_value){0};
    for (int i = 0; i < n->nin; i++) {
        affine x = affine_of(tn_in(n, i));
        part[i] = alike ? x.q : regrid(g, n, x, to, t);
    }
    return real(g, n, qnn_call(g, n, &tn_op_concatenate, n->attr, n->nin, part), to);
}

static tn_value binary_form(tn_graph *g, tn_node *n, const tn_op *op)
{
    affine x = affine_of(tn_in(n, 0)), y = affine_of(tn_in(n, 1)), to;
    tn_dtype t;
    tn_qnn_binary_attr attr = {-1, -1};
    if (!one_scale(x) || !one_scale(y) || !wanted(g, n, &to, &t))
        return (tn_value){0};
    if (!is_byte(x.q) || !tn_dtype_eq(tn_value_type(x.q)->dtype, t) ||
        !tn_dtype_eq(tn_value_type(y.q)->dtype, t))
        return (tn_value){0};
    tn_value in[] = {x.q, y.q, x.scale, x.zero, y.scale, y.zero, to.scale, to.zero};
    return real(g, n, qnn_call(g, n, op, &attr, 8, in), to);
}

static tn_value add_form(tn_graph *g, tn_node *n) { return binary_form(g, n, &tn_op_qnn_add); }

static tn_value multiply_form(tn_graph *g, tn_node *n) { return binary_form(g, n, &tn_op_qnn_mul); }

/* Scales follow the axis they run along. */
static tn_value transpose_form(tn_graph *g, tn_node *n)
{
    const tn_transpose_attr *a = n->attr;
    affine x = affine_of(tn_in(n, 0));
    int rank = n->type[0]->n;
    if (!x.q.def || tn_value_type(x.scale)->n > 1 || tn_value_type(x.zero)->n > 1)
        return (tn_value){0};
    int64_t from = x.axis < 0 ? x.axis + rank : x.axis;
    for (int i = 0; i < rank; i++) {
        int64_t p = a->axes.n ? a->axes.at[i] : rank - 1 - i;
        if ((p < 0 ? p + rank : p) == from)
            x.axis = i;
    }
    return real(g, n, qnn_call1(g, n, &tn_op_transpose, a, x.q), x);
}

static tn_value move_form(tn_graph *g, tn_node *n)
{
    affine x = affine_of(tn_in(n, 0));
    return one_scale(x) ? real(g, n, qnn_call1(g, n, n->op, n->attr, x.q), x) : (tn_value){0};
}

/* clang-format off */
static const struct form { const tn_op *op; tn_value (*make)(tn_graph *g, tn_node *n); } forms[] = {
    {&tn_op_qnn_quantize,    quantize_form},
    {&tn_op_nn_conv2d,       conv2d_form},
    {&tn_op_nn_dense,        dense_form},
    {&tn_op_nn_batch_matmul, batch_matmul_form},
    {&tn_op_nn_bias_add,     bias_add_form},
    {&tn_op_nn_relu,         relu_form},
    {&tn_op_clip,            clip_form},
    {&tn_op_nn_max_pool2d,   max_pool_form},
    {&tn_op_nn_pad,          pad_form},
    {&tn_op_concatenate,     concatenate_form},
    {&tn_op_add,             add_form},
    {&tn_op_multiply,        multiply_form},
    {&tn_op_transpose,       transpose_form},
};
/* clang-format on */

tn_status tn_integer_form(tn_graph *g, tn_node *n, tn_value *out)
{
    size_t had = g->ctx->n_error;
    tn_value (*make)(tn_graph *, tn_node *) = moves(n) ? move_form : NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (n->op == forms[i].op)
            make = forms[i].make;
    *out = make ? make(g, n) : (tn_value){0};
    return g->ctx->n_error == had ? TN_OK : TN_FAIL;
}
