/* Forms of TVM's operators whose sizes are operands (dyn.reshape). Sizes that can be worked out while the text is read
 * are numbers, or expressions of symbols; what only the run knows becomes symbols that are bound there. */
#include "frontend/tvm/forms.h"

#include "frontend/import/window.h"
#include "ir/eval.h"
#include "op/image/image.h"
#include "op/nn/nn.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 256 };

/* ---- working out ---- */

static int64_t small_count(const tn_type *t)
{
    int64_t n = 1, dim;
    for (int d = 0; t->kind == TN_T_TENSOR && d < t->n; d++) {
        if (!tn_is_int(t->dim[d], &dim) || dim < 0 || dim > TVM_MOST_SIZES)
            return -1;
        n *= dim;
        if (n > TVM_MOST_SIZES)
            return -1;
    }
    return t->kind == TN_T_TENSOR && t->n <= FORM_MAX_RANK ? n : -1;
}

static tn_value of_shape(form_call *f, const tn_node *n)
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
    return tn_val(tn_make_constant(f->p->g, f->p->scope->region, NULL, to->dtype, 1, &rank, data, NULL));
}

/* One call over constants; it leaves the graph again. */
static tn_value evaluated(form_call *f, const tn_node *n, const tn_value in[])
{
    tn_graph *g = f->p->g;
    int64_t dim[FORM_MAX_RANK];
    tn_tensor_value v = {0};
    tn_node *call = tn_make_call(g, f->p->scope->region, NULL, n->op, n->nin, in, n->attr, n->loc);
    const tn_type *t = call ? call->type[0] : NULL;
    if (!call || !tn_type_dims_const(t, dim) ||
        tn_relay_eval_node(g, call, &v, tn_eval_interp, NULL) != TN_OK) {
        f->bad = true; /* which was said */
        return (tn_value){0};
    }
    tn_node *k = tn_make_constant(g, f->p->scope->region, NULL, t->dtype, t->n, dim, v.at, NULL);
    tn_tensor_value_deinit(&v);
    tn_node_remove(g, call);
    return tn_val(k);
}

/* v as a constant; left: how many calls may be looked at. No value: only the run knows. */
static tn_value worked_out(form_call *f, tn_value v, int *left)
{
    const tn_node *n = v.def;
    if (!n || f->bad || tn_op_is(n, &tn_op_constant))
        return n && n->blob && !f->bad ? v : (tn_value){0};
    if (n->nout != 1 || small_count(n->type[0]) < 0 || (*left)-- <= 0)
        return (tn_value){0};
    if (tn_op_is(n, &tn_op_shape_of))
        return of_shape(f, n);
    if (n->op->fuse == TN_FUSE_NONE || n->op->fuse == TN_FUSE_ANCHOR || n->op->expand ||
        (n->op->flags & TN_OP_EFFECT) || n->nregion || !tn_attr_fixed(n->op->attr, n->attr))
        return (tn_value){0};
    tn_value *in = TN_NEW_N(&f->p->scratch, tn_value, n->nin);
    for (int i = 0; i < n->nin; i++) {
        in[i] = n->in[i].def ? worked_out(f, tn_in(n, i), left) : (tn_value){0};
        if (n->in[i].def && !in[i].def)
            return (tn_value){0};
    }
    return evaluated(f, n, in);
}

/* The elements of a small tensor of known numbers; false: it is none, or f->bad. */
static bool known(form_call *f, tn_value of, uint32_t *out_n, tn_scalar out[TVM_MOST_SIZES], tn_dtype *out_t)
{
    int left = MOST_STEPS;
    const tn_value v = worked_out(f, of, &left);
    const tn_type *t = v.def ? tn_value_type(v) : NULL;
    const int64_t n = t ? small_count(t) : -1;
    for (int64_t k = 0; k < n; k++)
        out[k] =
            tn_scalar_read(t->dtype, (const char *)v.def->blob->at + (size_t)k * tn_dtype_bytes(t->dtype));
    if (n >= 0) {
        *out_n = (uint32_t)n;
        *out_t = t->dtype;
    }
    return n >= 0;
}

bool tvm_known(form_call *f, tn_value v, uint32_t *out_n, int64_t out[TVM_MOST_SIZES])
{
    tn_scalar s[TVM_MOST_SIZES];
    tn_dtype t;
    if (!known(f, v, out_n, s, &t))
        return false;
    for (uint32_t k = 0; k < *out_n; k++)
        out[k] = !tn_dtype_is_float(t) ? s[k].i : fabs(s[k].f) < 0x1p62 ? (int64_t)s[k].f : 0;
    return true;
}

/* A list of integers, or one, as extents: numbers, expressions, or symbols of the run. */
static tn_dims extents(imp_node *c, form_call *f, tn_value v, const char *what)
{
    int64_t at[TVM_MOST_SIZES];
    uint32_t n;
    int steps = MOST_STEPS;
    if (!v.def && !c->bad)
        imp_refuse(c, IMP_OPERANDS, "%s of %s is None", what, f->name);
    if (imp_rank(v) > 1 && !c->bad)
        imp_refuse(c, IMP_OPERANDS, "%s of %s must be a list", what, f->name);
    if (c->bad || tvm_known(f, v, &n, at))
        return c->bad ? (tn_dims){0} : tn_make_dims(c->g, n, at);
    c->bad = c->bad || f->bad;
    (void)imp_host_through(c, v, &steps);
    return imp_extents_in(c, imp_cast(c, v, TN_I64), what);
}

/* As numbers: false, and refused, where they are not known. */
static bool numbers(imp_node *c, form_call *f, tn_value v, const char *what, tn_ints *out)
{
    int64_t at[TVM_MOST_SIZES];
    uint32_t n;
    if (!c->bad && tvm_known(f, v, &n, at)) {
        *out = tn_ints_make(c->arena, n, at);
        return true;
    }
    c->bad = c->bad || f->bad;
    if (!c->bad)
        imp_refuse(c, IMP_NOT_CONSTANT,
                   "%s of %s must be known when the text is read: give the values of the parameters in a "
                   ".params file, or apply TVM's DynamicToStatic",
                   what, f->name);
    return false;
}

/* v repeated to the shape `to`. */
static tn_value filled(imp_node *c, tn_value v, tn_dims to)
{
    if (!c->bad && imp_rank(v) > (int)to.n)
        imp_refuse(c, IMP_OPERANDS, "%s cannot be repeated to %u dimensions", imp_type_text(c, imp_type(v)),
                   (unsigned)to.n);
    const tn_broadcast_to_attr a = {to};
    return to.n ? imp_call1(c, &tn_op_broadcast_to, &a, v) : v;
}

/* ---- rows ---- */

static void reshape(imp_node *c, form_call *f)
{
    int64_t at[TVM_MOST_SIZES];
    uint32_t n;
    tn_dims d;
    int steps = MOST_STEPS;
    const tn_value x = imp_in(c, 0), to = imp_in(c, 1);
    tn_reshape_attr a = {.allowzero = f->a.x};
    if (tvm_known(f, to, &n, at)) {
        a.newshape = tn_make_dims(c->g, n, at);
        imp_out(c, 0, imp_call1(c, &tn_op_reshape, &a, x));
        return;
    }
    c->bad = c->bad || f->bad;
    (void)imp_host_through(c, to, &steps);
    if (imp_dynamic_reshape(c, x, imp_cast(c, to, TN_I64), f->a.x))
        return;
    if (c->bad || !imp_host(c, to, &d))
        d = imp_host_in(c, to, "shape");
    a.newshape = d;
    imp_out(c, 0, imp_reshape_to(c, x, &a));
}

static void broadcast_to(imp_node *c, form_call *f)
{
    int64_t at[TVM_MOST_SIZES];
    uint32_t n;
    int steps = MOST_STEPS;
    const tn_value x = imp_in(c, 0), to = imp_in(c, 1);
    if (tvm_known(f, to, &n, at)) {
        imp_out(c, 0, filled(c, x, tn_make_dims(c->g, n, at)));
        return;
    }
    c->bad = c->bad || f->bad;
    (void)imp_host_through(c, to, &steps);
    if (!c->bad && imp_length(to) >= 0 && imp_length(to) < imp_rank(x))
        imp_refuse(c, IMP_OPERANDS, "%s cannot be repeated to %d dimensions", imp_type_text(c, imp_type(x)),
                   (int)imp_length(to));
    if (!imp_dynamic_expand(c, x, imp_cast(c, to, TN_I64)))
        imp_out(c, 0, filled(c, x, imp_extents_in(c, to, "shape")));
}

/* begin + size: with mode "size", the third operand says how many elements, below 0 all that are left. */
static tn_value end_of(imp_node *c, tn_value begin, tn_value size)
{
    const tn_value rest = imp_with(c, &tn_op_less, size, 0), all = imp_const(c, TN_I64, INT32_MAX);
    return imp_choose(c, rest, all, imp_binary(c, &tn_op_add, begin, size));
}

static bool same_length(imp_node *c, tn_value list, tn_value *other)
{
    return imp_rank(*other) == 1 && imp_with_extent(c, other, 0, imp_type(list)->dim[0]);
}

static void strided_slice(imp_node *c, form_call *f)
{
    int64_t v[3][TVM_MOST_SIZES];
    uint32_t n[3];
    const bool sized = f->a.s && strcmp(f->a.s, "size") == 0;
    const tn_value x = imp_in(c, 0);
    if (f->a.s && *f->a.s && !sized && strcmp(f->a.s, "end") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "%s needs slice_mode end or size", f->name);
    if (!sized && tvm_known(f, imp_in(c, 1), &n[0], v[0]) && tvm_known(f, imp_in(c, 2), &n[1], v[1]) &&
        tvm_known(f, imp_in(c, 3), &n[2], v[2])) {
        const tn_slice_attr a = {tn_make_dims(c->g, n[0], v[0]),
                                 tn_make_dims(c->g, n[1], v[1]),
                                 tn_ints_make(c->arena, n[2], v[2]),
                                 {0}};
        imp_out(c, 0, imp_call1(c, &tn_op_strided_slice, &a, x));
        return;
    }
    c->bad = c->bad || f->bad;
    tn_value begin = imp_cast(c, imp_in(c, 1), TN_I64), end = imp_cast(c, imp_in(c, 2), TN_I64),
             by = sized ? (tn_value){0} : imp_cast(c, imp_in(c, 3), TN_I64);
    if (by.def && imp_length(by) == 1 && imp_rank(begin) == 1) { /* of all dimensions */
        const tn_broadcast_to_attr all = {{1, imp_type(begin)->dim}};
        by = imp_call1(c, &tn_op_broadcast_to, &all, by);
    }
    if (!c->bad &&
        (imp_rank(begin) != 1 || !same_length(c, begin, &end) || (by.def && !same_length(c, begin, &by))) &&
        !c->bad)
        imp_refuse(c, IMP_OPERANDS, "%s needs lists of one length", f->name);
    if (by.def)
        imp_demand(c, imp_reduce(c, &tn_op_sum, imp_cast(c, imp_with(c, &tn_op_equal, by, 0), TN_I64), 0), 0,
                   "dyn.strided_slice: strides must not be 0");
    if (sized)
        end = end_of(c, begin, end);
    if (!imp_dynamic_slice(c, x, begin, end, (tn_value){0}, by) && !c->bad)
        imp_refuse(c, IMP_NOT_CONSTANT, "the positions of %s are not supported", f->name);
}

/* dyn.full(value, shape), dyn.zeros(shape), dyn.ones(shape) */
static void fill(imp_node *c, form_call *f)
{
    const bool given = strcmp(f->name, "dyn.full") == 0;
    const tn_dims to = extents(c, f, imp_in(c, given), "shape");
    const tn_dtype t = f->a.dtype.bits ? f->a.dtype : given ? imp_type(imp_in(c, 0))->dtype : TN_F32;
    if (given && imp_rank(imp_in(c, 0)) && !c->bad)
        imp_refuse(c, IMP_OPERANDS, "%s needs one number to fill with", f->name);
    const tn_value v =
        given ? imp_cast(c, imp_in(c, 0), t) : imp_const(c, t, strcmp(f->name, "dyn.ones") == 0);
    imp_out(c, 0, c->bad ? v : filled(c, v, to));
}

/* Extents for calls that are made as a text makes them. */
typedef struct wanted {
    tn_value of;
    const char *what;
    tn_dims *to;
} wanted;

static void find_extents(imp_node *c, form_call *f)
{
    const wanted *w = c->origin;
    *w->to = extents(c, f, w->of, w->what);
}

static tn_dims extents_of(form_call *f, tn_value of, const char *what)
{
    tn_dims d = {0};
    (void)tvm_make(f, 0, find_extents, &(const wanted){of, what, &d});
    return d;
}

static tn_value tile(form_call *f)
{
    const tn_tile_attr a = {extents_of(f, f->in[1], "reps")};
    return form_make1(f, &tn_op_tile, &a, f->in[0]);
}

/* k of the run, below 1: all. */
static void find_k(imp_node *c, form_call *f)
{
    const tn_value x = imp_in(c, 0);
    tn_dims *to = ((const wanted *)c->origin)->to;
    if (!c->bad && (imp_length(imp_in(c, 1)) != 1 || !tn_dtype_is_int(imp_type(imp_in(c, 1))->dtype)))
        imp_refuse(c, IMP_OPERANDS, "k of %s must be one whole number", f->name);
    tn_value k = imp_reshape(c, imp_cast(c, imp_opt(c, 1), TN_I64), 0, NULL);
    const int axis = imp_axis(c, f->a.axis, imp_rank(x));
    if (c->bad)
        return;
    const tn_value all = imp_extent_of(c, x, axis), is_all = imp_with(c, &tn_op_less, k, 1);
    *to = imp_bind(c, imp_choose(c, is_all, all, k), NULL);
}

static tn_value topk(form_call *f)
{
    int64_t k[TVM_MOST_SIZES] = {0};
    uint32_t n;
    tn_topk_attr a = {.axis = f->a.axis, .is_ascend = f->a.x, .dtype = f->a.dtype};
    if (tvm_known(f, f->in[1], &n, k)) {
        k[0] = n == 1 && k[0] < 1 ? -1 : k[0]; /* all */
        a.k = tn_make_dims(f->p->g, n, k);
    } else {
        (void)tvm_make(f, 0, find_k, &(const wanted){.to = &a.k});
    }
    if (strcmp(f->a.s, "both") != 0 && strcmp(f->a.s, "values") != 0 && strcmp(f->a.s, "indices") != 0)
        return form_refuse(f, "needs ret_type both, values or indices");
    pforeign other = {.ret_type = f->a.s};
    return form_finished(f, &tn_op_topk, &a, 1, f->in, &other);
}

static tn_value one_hot(form_call *f)
{
    tn_one_hot_attr a = {extents_of(f, f->in[3], "depth"), f->a.axis};
    pforeign other = {.dtype = f->a.dtype};
    const tn_type *t = form_type(f, f->in[0]);
    tn_value in[3] = {f->in[0], f->in[1], f->in[2]};
    if (t && !f->bad && a.depth.n == 1 && a.depth.at[0]->kind != TN_E_INT) { /* a place below 0 is none */
        const tn_value below = form_make2(f, &tn_op_less, in[0], form_number(f, t->dtype, 0)),
                       beyond = form_cast(f, form_reshaped(f, f->in[3], 0, NULL), t->dtype);
        in[0] = form_where(f, below, beyond, in[0]);
    }
    return form_finished(f, &tn_op_one_hot, &a, 3, in, &other);
}

static tn_value pad(form_call *f)
{
    int64_t dim[2];
    const tn_type *t = form_type(f, f->in[1]);
    tn_value widths = f->in[1];
    if (t && t->n == 2 && tn_type_dims_const(t, dim) && dim[1] == 2) { /* [rank, 2] */
        const tn_expr *row = form_idx(f, 2 * dim[0]);
        widths = form_reshaped(f, widths, 1, &row);
    }
    tn_pad_attr a = {.pad_width = extents_of(f, widths, "pad_width"), .pad_mode = f->a.s};
    const tn_value in[2] = {f->in[0], f->in[2]};
    pforeign other = {0};
    return form_finished(f, &tn_op_nn_pad, &a, 2, in, &other);
}

/* dyn.sparse_to_dense(indices, values, default, shape) */
static tn_value sparse_to_dense(form_call *f)
{
    const tn_dims to = extents_of(f, f->in[3], "output_shape");
    return form_sparse_to_dense(f, to);
}

/* A new dimension of extent 1 where an axis of the run says, times `number`. */
static void expand_dims(imp_node *c, form_call *f)
{
    int64_t at[TVM_MOST_SIZES];
    uint32_t n;
    const tn_value x = imp_in(c, 0), axis = imp_in(c, 1);
    const int rank = imp_rank(x), more = (int)(f->a.number < 0 ? 0 : f->a.number);
    if (tvm_known(f, axis, &n, at) && n == 1) {
        const tn_expand_dims_attr a = {at[0], f->a.number};
        imp_out(c, 0, imp_call1(c, &tn_op_expand_dims, &a, x));
        return;
    }
    c->bad = c->bad || f->bad;
    if (!c->bad && (imp_length(axis) != 1 || f->a.number > IMP_MAX_RANK || rank + more > IMP_MAX_RANK))
        imp_refuse(c, IMP_OPERANDS, "%s needs one axis, and a result of at most %d dimensions", f->name,
                   IMP_MAX_RANK);
    if (c->bad)
        return;
    /* dimension d of the result: d of x before the axis, d - number behind what is new */
    tn_value from = imp_reshape(c, imp_cast(c, axis, TN_I64), 0, NULL);
    const tn_value turn = imp_with(c, &tn_op_less, from, 0);
    from = imp_choose(c, turn, imp_with(c, &tn_op_add, from, rank + 1), from);
    tn_value place = imp_iota(c, rank + more), one = imp_i64(c, 1);
    tn_value before = imp_binary(c, &tn_op_less, place, from);
    tn_value behind = imp_binary(c, &tn_op_less, place, imp_with(c, &tn_op_add, from, more));
    tn_value not_before = imp_unary(c, &tn_op_logical_not, before);
    tn_value is_new = imp_binary(c, &tn_op_logical_and, not_before, behind);
    tn_value source = imp_choose(c, before, place, imp_with(c, &tn_op_subtract, place, more));
    tn_value had = rank ? imp_shape_of(c, x) : imp_unsqueeze(c, one, 0);
    tn_value shape = imp_choose(c, is_new, one, imp_take(c, had, source, 0));
    imp_out(c, 0, imp_in_shape(c, x, shape, NULL));
}

static void squeeze(imp_node *c, form_call *f)
{
    tn_ints axes = {0};
    if (!numbers(c, f, imp_in(c, 1), "axis", &axes))
        return;
    const tn_squeeze_attr a = {axes};
    imp_out(c, 0, imp_call1(c, &tn_op_squeeze, &a, imp_in(c, 0)));
}

/* A list of floats that is known. */
static tn_reals reals(form_call *f, tn_value v, const char *refusal)
{
    tn_scalar s[TVM_MOST_SIZES];
    tn_dtype t;
    uint32_t n = 0;
    double *at = TN_NEW_N(&f->p->scratch, double, TVM_MOST_SIZES);
    if (!known(f, v, &n, s, &t) || !tn_dtype_is_float(t))
        (void)form_refuse(f, refusal);
    for (uint32_t i = 0; i < n && !f->bad; i++)
        at[i] = s[i].f;
    return (tn_reals){n, at};
}

/* dyn.image.resize2d(data, size, roi): roi is of one mode. */
static tn_value resize(form_call *f)
{
    tn_resize_attr a = {.size = extents_of(f, f->in[1], "size"),
                        .layout = f->a.s,
                        .method = f->a.t,
                        .coordinate_transformation_mode = f->a.u,
                        .rounding_method = f->a.v,
                        .cubic_alpha = f->a.a,
                        .cubic_exclude = f->a.number};
    pforeign other = {.dtype = f->a.dtype, .extrapolation = f->a.b};
    if (f->n == 3 && strcmp(f->a.u, "tf_crop_and_resize") == 0)
        other.roi = reals(f, f->in[2], "needs a roi of floats that is known when the text is read");
    return f->bad ? (tn_value){0} : form_finished(f, &tn_op_image_resize2d, &a, 1, f->in, &other);
}

/* An extent times a factor, rounded: a number, or a symbol of the run. */
static const tn_expr *scaled(imp_node *c, form_call *f, tn_value x, int d, tn_value by)
{
    tn_scalar s[TVM_MOST_SIZES];
    tn_dtype t;
    uint32_t n;
    int64_t extent;
    if (tn_is_int(imp_type(x)->dim[d], &extent) && known(f, by, &n, s, &t) && n == 1) {
        const double to = round((double)extent * (tn_dtype_is_float(t) ? s[0].f : (double)s[0].i));
        if (to >= 1 && to <= 1 << 30)
            return tn_idx(c->pool, (int64_t)to);
        imp_refuse(c, IMP_BAD_VALUE, "%s needs scales that leave images of a size", f->name);
    }
    c->bad = c->bad || f->bad;
    tn_value had = imp_cast(c, imp_extent_of(c, x, d), TN_F64), wide = imp_cast(c, by, TN_F64);
    tn_value to =
        imp_unary(c, &tn_op_floor, imp_with(c, &tn_op_add, imp_binary(c, &tn_op_multiply, had, wide), 0.5));
    return imp_size_in(c, imp_cast(c, to, TN_I64), "the new size");
}

/* dyn.nn.upsampling(data, scale_h, scale_w), dyn.nn.upsampling3d(data, scale_d, scale_h, scale_w) */
static void upsampling(imp_node *c, form_call *f)
{
    const int n = strstr(f->name, "3d") ? 3 : 2, last = strcmp(f->a.s, n == 3 ? "NDHWC" : "NHWC") == 0;
    const tn_value x = imp_in(c, 0);
    const tn_expr *size[3];
    if (imp_rank(x) != n + 2 || (!last && strcmp(f->a.s, n == 3 ? "NCDHW" : "NCHW") != 0))
        imp_refuse(c, IMP_OPERANDS, "%s needs images in the layout %s or with the channels last", f->name,
                   n == 3 ? "NCDHW" : "NCHW");
    for (int i = 0; i < n && !c->bad; i++)
        size[i] = scaled(c, f, x, (last ? 1 : 2) + i, imp_in(c, (uint32_t)(1 + i)));
    if (c->bad)
        return;
    const bool cubic = n == 2 && strcmp(f->a.t, "bicubic") == 0,
               linear = strcmp(f->a.t, n == 3 ? "trilinear" : "bilinear") == 0;
    if (!linear && !cubic && strcmp(f->a.t, "nearest_neighbor") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "%s needs method nearest_neighbor, %s", f->name,
                   n == 3 ? "or trilinear" : "bilinear or bicubic");
    const tn_resize_attr how = {.method = linear  ? "linear"
                                          : cubic ? "cubic"
                                                  : f->a.t,
                                .coordinate_transformation_mode = n == 3   ? f->a.u
                                                                  : f->a.x ? "align_corners"
                                                                           : "asymmetric",
                                .cubic_alpha = -0.5};
    imp_out(c, 0, imp_resize(c, x, last, tn_dims_make(c->arena, (uint32_t)n, size), how));
}

TVM_READ(reshape, 1)
TVM_READ(broadcast_to, 1)
TVM_READ(strided_slice, 1)
TVM_READ(fill, 1)
TVM_READ(expand_dims, 1)
TVM_READ(squeeze, 1)
TVM_READ(upsampling, 1)

/* clang-format off */
static const tn_attr_field
    no_attrs[] = {FORM_END},
    shaping[] = {FORM_ATTR(BOOL, "allowzero", x, "False"), FORM_END},
    slicing[] = {FORM_ATTR(STR, "slice_mode", s, "\"end\""), FORM_END},
    typing[] = {FORM_ATTR(DTYPE, "dtype", dtype, "\"\""), FORM_END},
    choosing[] = {FORM_ATTR(I64, "axis", axis, "-1"), FORM_ATTR(STR, "ret_type", s, "\"both\""),
                  FORM_ATTR(BOOL, "is_ascend", x, "False"), FORM_ATTR(DTYPE, "dtype", dtype, "\"int32\""), FORM_END},
    marking[] = {FORM_ATTR(I64, "axis", axis, "-1"), FORM_ATTR(DTYPE, "dtype", dtype, "\"float32\""), FORM_END},
    padding[] = {FORM_ATTR(STR, "pad_mode", s, "\"constant\""), FORM_END},
    widening[] = {FORM_ATTR(I64, "num_newaxis", number, "1"), FORM_END},
    larger[] = {FORM_ATTR(STR, "layout", s, "\"NCHW\""), FORM_ATTR(STR, "method", t, "\"nearest_neighbor\""),
                FORM_ATTR(BOOL, "align_corners", x, "False"), FORM_END},
    larger3[] = {FORM_ATTR(STR, "layout", s, "\"NCDHW\""), FORM_ATTR(STR, "method", t, "\"nearest_neighbor\""),
                 FORM_ATTR(STR, "coordinate_transformation_mode", u, "\"half_pixel\""), FORM_END},
    resizing[] = {FORM_ATTR(STR, "layout", s, "\"NCHW\""), FORM_ATTR(STR, "method", t, "\"linear\""),
                  FORM_ATTR(STR, "coordinate_transformation_mode", u, "\"half_pixel\""),
                  FORM_ATTR(STR, "rounding_method", v, "\"round\""), FORM_ATTR(F64, "cubic_alpha", a, "-0.5"),
                  FORM_ATTR(I64, "cubic_exclude", number, "0"), FORM_ATTR(F64, "extrapolation_value", b, "0"),
                  FORM_ATTR(DTYPE, "out_dtype", dtype, "\"\""), FORM_END};

const form tvm_forms_dynamic[] = {
    {"dyn.reshape", 2, 2, read_reshape, shaping, "reshape to a shape that is an operand."},
    {"dyn.broadcast_to", 2, 2, read_broadcast_to, no_attrs, "broadcast_to a shape that is an operand."},
    {"dyn.strided_slice", 4, 4, read_strided_slice, slicing, "strided_slice of operands."},
    {"dyn.tile", 2, 2, tile, no_attrs, "tile by an operand."},
    {"dyn.full", 2, 2, read_fill, typing, "full in a shape that is an operand."},
    {"dyn.zeros", 1, 1, read_fill, typing, "zeros in a shape that is an operand."},
    {"dyn.ones", 1, 1, read_fill, typing, "ones in a shape that is an operand."},
    {"dyn.topk", 2, 2, topk, choosing, "topk of a number that is an operand."},
    {"dyn.one_hot", 4, 4, one_hot, marking, "one_hot of a depth that is an operand."},
    {"dyn.nn.pad", 3, 3, pad, padding, "nn.pad by widths that are an operand."},
    {"dyn.expand_dims", 2, 2, read_expand_dims, widening, "expand_dims at an axis that is an operand."},
    {"dyn.squeeze", 2, 2, read_squeeze, no_attrs, "squeeze of axes that are an operand, if they are known."},
    {"dyn.image.resize2d", 2, 3, resize, resizing, "image.resize2d to a size that is an operand."},
    {"dyn.nn.upsampling", 3, 3, read_upsampling, larger, "nn.upsampling by factors that are operands."},
    {"dyn.nn.upsampling3d", 4, 4, read_upsampling, larger3, "nn.upsampling3d by factors that are operands."},
    {"dyn.sparse_to_dense", 4, 4, sparse_to_dense, no_attrs, "sparse_to_dense in a shape that is an operand."},
    {0},
};
/* clang-format on */
