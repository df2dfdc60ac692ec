/* Forms (forms.h) of TVM's operators whose sizes are operands (dyn.reshape). They are read where the sizes
 * can be worked out while the text is read: from constants, from parameters that have values, from shapes
 * that are known. */
#include "relay/forms.h"

#include "ir/eval.h"
#include "op/image/image.h"
#include "op/nn/nn.h"

#include <string.h>

enum { MOST_SIZES = 64, MOST_STEPS = 256 };

/* ---- working out ---- */

static int64_t small_count(const tn_type *t)
{
    int64_t n = 1, dim;
    for (int d = 0; t->kind == TN_T_TENSOR && d < t->n; d++) {
        if (!tn_is_int(t->dim[d], &dim) || dim < 0 || dim > MOST_SIZES)
            return -1;
        n *= dim;
        if (n > MOST_SIZES)
            return -1;
    }
    return t->kind == TN_T_TENSOR && t->n <= FORM_MAX_RANK ? n : -1;
}

static tn_value of_shape(form_call *c, const tn_node *n)
{
    const tn_type *t = tn_in_type(n, 0), *to = n->type[0];
    int64_t dim[FORM_MAX_RANK], rank = t->n;
    unsigned char data[FORM_MAX_RANK * sizeof(int64_t)];
    const uint32_t size = tn_dtype_bytes(to->dtype);
    if (t->kind != TN_T_TENSOR || rank > FORM_MAX_RANK || size > sizeof(int64_t) ||
        !tn_type_dims_const(t, dim))
        return (tn_value){0};
    for (int d = 0; d < rank; d++)
        tn_scalar_write(to->dtype, data + (size_t)d * size, (tn_scalar){.i = dim[d]});
    return tn_val(tn_make_constant(c->p->g, c->p->scope->region, NULL, to->dtype, 1, &rank, data, NULL));
}

/* One call over constants; it leaves the graph again. */
static tn_value evaluated(form_call *c, const tn_node *n, const tn_value in[])
{
    tn_graph *g = c->p->g;
    int64_t dim[FORM_MAX_RANK];
    tn_tensor_value v = {0};
    tn_node *call = tn_make_call(g, c->p->scope->region, NULL, n->op, n->nin, in, n->attr, n->loc);
    const tn_type *t = call ? call->type[0] : NULL;
    if (!call || !tn_type_dims_const(t, dim) ||
        tn_relay_eval_node(g, call, &v, tn_eval_interp, NULL) != TN_OK) {
        c->bad = true; /* which was said */
        return (tn_value){0};
    }
    tn_node *k = tn_make_constant(g, c->p->scope->region, NULL, t->dtype, t->n, dim, v.at, NULL);
    tn_tensor_value_deinit(&v);
    tn_node_remove(g, call);
    return tn_val(k);
}

/* v as a constant; left: how many calls may be looked at. No value: only the run knows. */
static tn_value worked_out(form_call *c, tn_value v, int *left)
{
    const tn_node *n = v.def;
    if (!n || c->bad || tn_op_is(n, &tn_op_constant))
        return n && n->blob && !c->bad ? v : (tn_value){0};
    if (n->nout != 1 || small_count(n->type[0]) < 0 || (*left)-- <= 0)
        return (tn_value){0};
    if (tn_op_is(n, &tn_op_shape_of))
        return of_shape(c, n);
    if (n->op->fuse == TN_FUSE_NONE || n->op->expand || (n->op->flags & TN_OP_EFFECT) || n->nregion ||
        !tn_attr_fixed(n->op->attr, n->attr))
        return (tn_value){0};
    tn_value *in = TN_NEW_N(&c->p->scratch, tn_value, n->nin);
    for (int i = 0; i < n->nin; i++) {
        in[i] = n->in[i].def ? worked_out(c, tn_in(n, i), left) : (tn_value){0};
        if (n->in[i].def && !in[i].def)
            return (tn_value){0};
    }
    return evaluated(c, n, in);
}

/* The numbers of an operand. false: reported. */
static bool sizes(form_call *c, tn_value of, uint32_t *out_n, int64_t out[])
{
    int left = MOST_STEPS;
    const tn_value v = worked_out(c, of, &left);
    const tn_type *t = v.def ? tn_value_type(v) : NULL;
    const int64_t n = t ? small_count(t) : -1;
    if (n < 0 || t->n > 1) {
        (void)form_refuse(
            c, "needs sizes that are known when the text is read: constants, or what is worked out from "
               "them and from known shapes; give the values of the parameters in a .params file, or "
               "apply TVM's DynamicToStatic");
        return false;
    }
    for (int64_t k = 0; k < n; k++) {
        const tn_scalar s =
            tn_scalar_read(t->dtype, (const char *)v.def->blob->at + (size_t)k * tn_dtype_bytes(t->dtype));
        out[k] = tn_dtype_is_float(t->dtype) ? (int64_t)s.f : s.i;
    }
    *out_n = (uint32_t)n;
    return true;
}

static tn_dims dims_of(form_call *c, uint32_t n, const int64_t v[]) { return tn_make_dims(c->p->g, n, v); }

/* ---- rows ---- */

static tn_value reshape(form_call *c)
{
    int64_t to[MOST_SIZES];
    uint32_t n;
    if (!sizes(c, c->in[1], &n, to))
        return (tn_value){0};
    const tn_reshape_attr a = {.newshape = dims_of(c, n, to)};
    return form_make1(c, &tn_op_reshape, &a, c->in[0]);
}

static tn_value broadcast_to(form_call *c)
{
    int64_t to[MOST_SIZES];
    uint32_t n;
    if (!sizes(c, c->in[1], &n, to))
        return (tn_value){0};
    const tn_broadcast_to_attr a = {dims_of(c, n, to)};
    return n ? form_make1(c, &tn_op_broadcast_to, &a, c->in[0]) : c->in[0];
}

static tn_value strided_slice(form_call *c)
{
    int64_t begin[MOST_SIZES], end[MOST_SIZES], step[MOST_SIZES];
    uint32_t n[3];
    if (!sizes(c, c->in[1], &n[0], begin) || !sizes(c, c->in[2], &n[1], end) ||
        !sizes(c, c->in[3], &n[2], step))
        return (tn_value){0};
    const tn_slice_attr a = {
        dims_of(c, n[0], begin), dims_of(c, n[1], end), tn_ints_make(c->p->g->arena, n[2], step), {0}};
    return form_make1(c, &tn_op_strided_slice, &a, c->in[0]);
}

static tn_value tile(form_call *c)
{
    int64_t reps[MOST_SIZES];
    uint32_t n;
    if (!sizes(c, c->in[1], &n, reps))
        return (tn_value){0};
    const tn_tile_attr a = {dims_of(c, n, reps)};
    return form_make1(c, &tn_op_tile, &a, c->in[0]);
}

/* dyn.full(value, shape), dyn.zeros(shape), dyn.ones(shape) */
static tn_value fill(form_call *c)
{
    int64_t to[MOST_SIZES];
    uint32_t n;
    const bool given = strcmp(c->name, "dyn.full") == 0;
    if (!sizes(c, c->in[given], &n, to))
        return (tn_value){0};
    const tn_dtype t = c->a.dtype.bits ? c->a.dtype : TN_F32;
    const tn_value v = given ? c->a.dtype.bits ? form_cast(c, c->in[0], t) : c->in[0]
                             : form_number(c, t, strcmp(c->name, "dyn.ones") == 0);
    const tn_dims d = dims_of(c, n, to);
    return form_filled(c, v, d.n, d.at);
}

static tn_value topk(form_call *c)
{
    int64_t k[MOST_SIZES];
    uint32_t n;
    if (!sizes(c, c->in[1], &n, k))
        return (tn_value){0};
    if (n == 1 && k[0] < 1)
        k[0] = -1; /* all */
    tn_topk_attr a = {dims_of(c, n, k), c->a.axis, c->a.x, c->a.dtype};
    pforeign f = {.ret_type = c->a.s};
    return form_finished(c, &tn_op_topk, &a, 1, c->in, &f);
}

static tn_value one_hot(form_call *c)
{
    int64_t depth[MOST_SIZES];
    uint32_t n;
    if (!sizes(c, c->in[3], &n, depth))
        return (tn_value){0};
    tn_one_hot_attr a = {dims_of(c, n, depth), c->a.axis};
    pforeign f = {.dtype = c->a.dtype};
    return form_finished(c, &tn_op_one_hot, &a, 3, c->in, &f);
}

static tn_value pad(form_call *c)
{
    int64_t width[MOST_SIZES], dim[2];
    uint32_t n;
    const tn_type *t = form_type(c, c->in[1]);
    tn_value widths = c->in[1];
    if (t && t->n == 2 && tn_type_dims_const(t, dim) && dim[1] == 2) { /* [rank, 2] */
        const tn_expr *row = form_idx(c, 2 * dim[0]);
        widths = form_reshaped(c, widths, 1, &row);
    }
    if (!sizes(c, widths, &n, width))
        return (tn_value){0};
    tn_pad_attr a = {.pad_width = dims_of(c, n, width), .pad_mode = c->a.s};
    const tn_value in[2] = {c->in[0], c->in[2]};
    pforeign f = {0};
    return form_finished(c, &tn_op_nn_pad, &a, 2, in, &f);
}

static tn_value expand_dims(form_call *c)
{
    int64_t axis[MOST_SIZES];
    uint32_t n;
    if (!sizes(c, c->in[1], &n, axis))
        return (tn_value){0};
    const tn_expand_dims_attr a = {axis[0], c->a.number};
    return n == 1 ? form_make1(c, &tn_op_expand_dims, &a, c->in[0]) : form_refuse(c, "needs one axis");
}

static tn_value squeeze(form_call *c)
{
    int64_t axis[MOST_SIZES];
    uint32_t n;
    if (!sizes(c, c->in[1], &n, axis))
        return (tn_value){0};
    const tn_squeeze_attr a = {tn_ints_make(c->p->g->arena, n, axis)};
    return form_make1(c, &tn_op_squeeze, &a, c->in[0]);
}

/* dyn.image.resize2d(data, size, roi): roi is of one mode, which is refused. */
static tn_value resize(form_call *c)
{
    int64_t size[MOST_SIZES];
    uint32_t n;
    if (!sizes(c, c->in[1], &n, size))
        return (tn_value){0};
    tn_resize_attr a = {.size = dims_of(c, n, size),
                        .layout = c->a.s,
                        .method = c->a.t,
                        .coordinate_transformation_mode = c->a.u,
                        .rounding_method = c->a.v,
                        .cubic_alpha = c->a.a,
                        .cubic_exclude = c->a.number};
    pforeign f = {.dtype = c->a.dtype};
    return form_finished(c, &tn_op_image_resize2d, &a, 1, c->in, &f);
}

/* clang-format off */
static const tn_attr_field
    no_attrs[] = {FORM_END},
    typing[] = {FORM_ATTR(DTYPE, "dtype", dtype, "\"\""), FORM_END},
    choosing[] = {FORM_ATTR(I64, "axis", axis, "-1"), FORM_ATTR(STR, "ret_type", s, "\"both\""),
                  FORM_ATTR(BOOL, "is_ascend", x, "False"), FORM_ATTR(DTYPE, "dtype", dtype, "\"int32\""), FORM_END},
    marking[] = {FORM_ATTR(I64, "axis", axis, "-1"), FORM_ATTR(DTYPE, "dtype", dtype, "\"float32\""), FORM_END},
    padding[] = {FORM_ATTR(STR, "pad_mode", s, "\"constant\""), FORM_END},
    widening[] = {FORM_ATTR(I64, "num_newaxis", number, "1"), FORM_END},
    resizing[] = {FORM_ATTR(STR, "layout", s, "\"NCHW\""), FORM_ATTR(STR, "method", t, "\"linear\""),
                  FORM_ATTR(STR, "coordinate_transformation_mode", u, "\"half_pixel\""),
                  FORM_ATTR(STR, "rounding_method", v, "\"round\""), FORM_ATTR(F64, "cubic_alpha", a, "-0.5"),
                  FORM_ATTR(I64, "cubic_exclude", number, "0"), FORM_ATTR(DTYPE, "out_dtype", dtype, "\"\""), FORM_END};

const form form_rows_dynamic[] = {
    {"dyn.reshape", 2, 2, reshape, no_attrs, "reshape to a shape that is an operand, if it is known."},
    {"dyn.broadcast_to", 2, 2, broadcast_to, no_attrs, "broadcast_to a shape that is an operand, if it is known."},
    {"dyn.strided_slice", 4, 4, strided_slice, no_attrs, "strided_slice of operands, if they are known."},
    {"dyn.tile", 2, 2, tile, no_attrs, "tile by an operand, if it is known."},
    {"dyn.full", 2, 2, fill, typing, "full in a shape that is an operand, if it is known."},
    {"dyn.zeros", 1, 1, fill, typing, "zeros in a shape that is an operand, if it is known."},
    {"dyn.ones", 1, 1, fill, typing, "ones in a shape that is an operand, if it is known."},
    {"dyn.topk", 2, 2, topk, choosing, "topk of a number that is an operand, if it is known."},
    {"dyn.one_hot", 4, 4, one_hot, marking, "one_hot of a depth that is an operand, if it is known."},
    {"dyn.nn.pad", 3, 3, pad, padding, "nn.pad by widths that are an operand, if they are known."},
    {"dyn.expand_dims", 2, 2, expand_dims, widening, "expand_dims at an axis that is an operand, if it is known."},
    {"dyn.squeeze", 2, 2, squeeze, no_attrs, "squeeze of axes that are an operand, if they are known."},
    {"dyn.image.resize2d", 2, 3, resize, resizing, "image.resize2d to a size that is an operand, if it is known."},
    {0},
};
/* clang-format on */
