/* Operators that TVM's texts call by our names and whose operands or attributes are otherwise there: ours are made of
 * them. A row has what is done before the call; what is left to do with its result is noted in pforeign. */
#include "relay/forms.h"

#include "ir/eval.h"
#include "op/image/image.h"
#include "op/nn/nn.h"
#include "op/vision/vision.h"

#include <math.h>
#include <string.h>

/* TVM's "divide" of integers rounds toward zero. */
const tn_op *parse_quotient(const tn_op *op, int n, const tn_value in[])
{
    const tn_type *t = op == &tn_op_divide && n == 2 && in[0].def ? tn_value_type(in[0]) : NULL;
    return t && t->kind == TN_T_TENSOR && tn_dtype_is_int(t->dtype) ? &tn_op_trunc_divide : op;
}

typedef struct adapted { /* a call that is being made ours */
    form_call c;         /* its operands are `in`, its values are not attributes of op */
    const tn_op *op;
    void *attr;
    uint32_t n;
    tn_value *in;
    pforeign *f;
} adapted;

static const tn_type *tensor(const adapted *a, uint32_t i)
{
    const tn_type *t = i < a->n && a->in[i].def ? tn_value_type(a->in[i]) : NULL;
    return t && t->kind == TN_T_TENSOR && t->n <= FORM_MAX_RANK ? t : NULL;
}

static void become(adapted *a, const tn_op *op, void *attr, uint32_t n, const tn_value in[])
{
    a->op = op;
    a->attr = attr;
    a->n = n;
    a->in = tn_arena_copy(&a->c.p->scratch, in, n * sizeof *in, 8);
}

static void quotient(adapted *a) { a->op = parse_quotient(a->op, (int)a->n, a->in); }

/* A slope of one dimension lies along an axis of the data. */
static void slope_along(adapted *a)
{
    const tn_type *x = tensor(a, 0), *t = tensor(a, 1);
    const tn_expr *dim[FORM_MAX_RANK];
    if (!x || !t || t->n != 1 || x->n < 2 || tn_is_value(t->dim[0], 1))
        return;
    int64_t axis = form_axis(&a->c, a->f->axis, x->n);
    for (int d = 0; d < x->n; d++)
        dim[d] = d == axis ? t->dim[0] : form_idx(&a->c, 1);
    a->in[1] = form_reshaped(&a->c, a->in[1], (uint32_t)x->n, dim);
}

/* The value of padding may be of another type than the data. */
static void pad_value(adapted *a)
{
    const tn_type *x = tensor(a, 0), *t = tensor(a, 1);
    if (x && t && !t->n)
        a->in[1] = form_cast(&a->c, a->in[1], x->dtype);
}

/* Of positions below 0 there is none. */
static void one_hot_places(adapted *a)
{
    const tn_one_hot_attr *attr = a->attr;
    const tn_type *t = tensor(a, 0);
    int64_t depth;
    if (!t || a->n != 3 || !a->f->dtype.bits || !tn_dtype_is_int(t->dtype) || t->dtype.code == TN_UINT ||
        attr->depth.n != 1 || !tn_is_int(attr->depth.at[0], &depth))
        return;
    tn_value at = form_cast(&a->c, a->in[0], TN_I64);
    tn_value below = form_make2(&a->c, &tn_op_less, at, form_number(&a->c, TN_I64, 0));
    a->in[0] = form_where(&a->c, below, form_number(&a->c, TN_I64, (double)depth), at);
}

/* Integers between two numbers, of which those count that they can have. */
static void clip_integers(adapted *a)
{
    const tn_clip_attr *attr = a->attr;
    const tn_type *t = tensor(a, 0);
    if (a->n != 1 || !t || !tn_dtype_is_int(t->dtype) || t->dtype.bits > 32)
        return;
    const bool natural = t->dtype.code == TN_UINT;
    const double most = ldexp(1, natural ? t->dtype.bits : t->dtype.bits - 1) - 1,
                 least = natural ? 0 : -most - 1;
    const double low = fmin(fmax(ceil(attr->a_min), least), most),
                 high = fmin(fmax(floor(attr->a_max), least), most);
    tn_value up = form_make2(&a->c, &tn_op_maximum, a->in[0], form_number(&a->c, t->dtype, low));
    become(a, &tn_op_minimum, NULL, 2, (const tn_value[]){up, form_number(&a->c, t->dtype, high)});
}

/* A condition of numbers holds where they are not 0. */
static void condition(adapted *a)
{
    const tn_type *t = tensor(a, 0);
    if (a->n == 3 && t && !tn_dtype_is_bool(t->dtype))
        a->in[0] = form_make2(&a->c, &tn_op_not_equal, a->in[0], form_number(&a->c, t->dtype, 0));
}

/* Bools are added and multiplied as numbers. */
static void scanned_numbers(adapted *a)
{
    const tn_type *t = tensor(a, 0);
    if (t && tn_dtype_is_bool(t->dtype))
        a->in[0] = form_cast(&a->c, a->in[0], a->f->dtype.bits ? a->f->dtype : TN_I32);
}

/* A sum of bools is whether one of them holds. */
static void sum_of_bools(adapted *a)
{
    const tn_type *t = tensor(a, 0);
    if (a->n != 1 || !t || !tn_dtype_is_bool(t->dtype))
        return;
    tn_value sum = form_make1(&a->c, &tn_op_sum, a->attr, form_cast(&a->c, a->in[0], TN_I64)),
             none = form_integer(&a->c, 0);
    become(a, &tn_op_greater, NULL, 2, (const tn_value[]){sum, none});
}

/* Means of integers that are shorter than their sums: both the sum and the number of elements wrap. */
static void mean_of_few_bits(adapted *a)
{
    const tn_type *t = tensor(a, 0);
    if (a->n != 1 || !t || !tn_dtype_is_int(t->dtype) || t->dtype.bits >= 32)
        return;
    tn_value sum = form_make1(&a->c, &tn_op_sum, a->attr, a->in[0]);
    tn_value ones = form_filled(&a->c, form_number(&a->c, t->dtype, 1), (uint32_t)t->n, t->dim);
    tn_value n = form_make1(&a->c, &tn_op_sum, a->attr, ones);
    become(a, &tn_op_trunc_divide, NULL, 2, (const tn_value[]){sum, n});
}

/* What is not computed in float32, and ties away from 0, which are those of the sum with the zero point. */
static void requantized(adapted *a)
{
    const tn_qnn_attr *attr = a->attr;
    const char *how = attr->compute_dtype;
    const bool given = how && *how && strcmp(how, "None") != 0;
    if (a->n != 5 || !given ||
        (strcmp(how, "float32") == 0 && !(attr->rounding && strcmp(attr->rounding, "TONEAREST") == 0)))
        return;
    tn_cast_attr *to = TN_NEW(&a->c.p->scratch, tn_cast_attr);
    *to = (tn_cast_attr){attr->out_dtype};
    tn_value v = form_requantized(&a->c, *attr, a->in);
    become(a, &tn_op_cast, to, 1, &v);
}

/* ---- argmax and argmin along several axes ---- */

/* Which of the dimensions are reduced. false: reported. */
static bool reduced_axes(adapted *a, int rank, bool out[])
{
    for (int d = 0; d < rank; d++)
        out[d] = a->f->exclude;
    for (uint32_t i = 0; i < a->f->axes.n; i++)
        out[form_axis(&a->c, a->f->axes.at[i], rank)] = !a->f->exclude;
    return !a->c.bad;
}

/* The places are those among the elements of all these axes, in a row. */
static void places_along(adapted *a)
{
    tn_arg_attr *attr = a->attr;
    const tn_type *t = tensor(a, 0);
    bool reduced[FORM_MAX_RANK];
    const tn_expr *dim[FORM_MAX_RANK], *shape[FORM_MAX_RANK];
    int64_t order[FORM_MAX_RANK];
    int n = 0, k = 0;
    if (a->f->exclude && !a->f->axes.n)
        a->f->axes = tn_ints_make(a->c.p->g->arena, 1, &attr->axis);
    if (!a->f->axes.n || a->n != 1 || !t || !reduced_axes(a, t->n, reduced))
        return;
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < t->n; d++) {
            if (reduced[d] == pass)
                order[k++] = d;
            if (!pass && !reduced[d])
                dim[n++] = t->dim[d];
        }
    if (n == t->n) {
        (void)form_refuse(&a->c, "needs an axis");
        return;
    }
    const tn_expr *all = form_idx(&a->c, 1);
    for (int d = 0; d < t->n; d++) {
        shape[d] = reduced[d] ? form_idx(&a->c, 1) : t->dim[d];
        all = reduced[d] ? tn_mul(a->c.p->g->pool, all, t->dim[d]) : all;
    }
    dim[n] = tn_simplify(a->c.p->g->pool, NULL, all);
    if (attr->keepdims) {
        a->f->reshaped = true;
        a->f->shape = tn_dims_make(a->c.p->g->arena, (uint32_t)t->n, shape);
    }
    attr->keepdims = false;
    attr->axis = n + 1 < t->n ? n : order[t->n - 1];
    if (n + 1 < t->n)
        a->in[0] = form_reshaped(&a->c, form_transposed(&a->c, a->in[0], (uint32_t)t->n, order),
                                 (uint32_t)n + 1, dim);
}

/* ---- shapes ---- */

/* A list of extents being written, and what of the data's has not been taken yet. */
typedef struct special {
    const tn_expr *const *from;
    int n_from, at;
    const tn_expr *to[FORM_MAX_RANK];
    uint32_t n;
} special;

/* Behind -4 come the two parts of one extent; one of them may be -1. */
static bool split_extent(form_call *c, special *s, const tn_expr *first, const tn_expr *second)
{
    int64_t whole, part[2] = {0, 0};
    if (s->at >= s->n_from || !tn_is_int(s->from[s->at++], &whole) || !tn_is_int(first, &part[0]) ||
        !tn_is_int(second, &part[1]))
        return false;
    for (int i = 0; i < 2; i++)
        if (part[i] == -1 && part[1 - i] > 0 && whole % part[1 - i] == 0)
            part[i] = whole / part[1 - i];
    s->to[s->n++] = form_idx(c, part[0]);
    s->to[s->n++] = form_idx(c, part[1]);
    return part[0] > 0 && part[1] >= 0 && whole % part[0] == 0 && whole / part[0] == part[1];
}

/* -2: all that are left, -3: the product of the next two, -4: two parts of the next, 0: the next. */
static bool write_extents(form_call *c, special *s, const tn_dims *given)
{
    for (uint32_t i = 0; i < given->n; i++) {
        int64_t v = 1;
        bool fits = s->n + 2 <= FORM_MAX_RANK;
        (void)tn_is_int(given->at[i], &v);
        if (!fits || v < -4)
            return false;
        if (v == -2) {
            for (; s->at < s->n_from && s->n < FORM_MAX_RANK; s->at++)
                s->to[s->n++] = s->from[s->at];
        } else if (v == -3) {
            if (s->at + 2 > s->n_from)
                return false;
            const tn_expr *both = tn_mul(c->p->g->pool, s->from[s->at], s->from[s->at + 1]);
            s->to[s->n++] = tn_simplify(c->p->g->pool, NULL, both);
            s->at += 2;
        } else if (v == -4) {
            if (i + 2 >= given->n || !split_extent(c, s, given->at[i + 1], given->at[i + 2]))
                return false;
            i += 2;
        } else if (v == 0 && s->at >= s->n_from) {
            return false;
        } else {
            s->to[s->n++] = v == 0 ? s->from[s->at] : given->at[i];
            s->at++;
        }
    }
    return true;
}

static void special_extents(adapted *a)
{
    tn_reshape_attr *attr = a->attr;
    const tn_type *t = tensor(a, 0);
    bool has = false;
    for (uint32_t i = 0; i < attr->newshape.n; i++) {
        int64_t v;
        has = has || (tn_is_int(attr->newshape.at[i], &v) && v < -1);
    }
    if (!has || !t || a->n != 1)
        return;
    special s = {.from = t->dim, .n_from = t->n};
    if (!write_extents(&a->c, &s, &attr->newshape))
        (void)form_refuse(&a->c, "has a newshape that does not fit the data");
    attr->newshape = tn_dims_make(a->c.p->g->arena, s.n, s.to);
}

/* The last extents first. */
static tn_dims in_reverse(form_call *c, uint32_t n, const tn_expr *const at[])
{
    const tn_expr **out = TN_NEW_N(c->p->g->arena, const tn_expr *, n);
    for (uint32_t i = 0; i < n; i++)
        out[i] = at[n - 1 - i];
    return (tn_dims){n, out};
}

tn_value form_reverse_reshape(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    if (!t)
        return (tn_value){0};
    const tn_dims dim = in_reverse(c, (uint32_t)t->n, t->dim),
                  wanted = in_reverse(c, c->a.dims.n, c->a.dims.at);
    special s = {.from = dim.at, .n_from = t->n};
    if (!write_extents(c, &s, &wanted))
        return form_refuse(c, "has a newshape that does not fit the data");
    const tn_reshape_attr a = {.newshape = in_reverse(c, s.n, s.to), .allowzero = c->a.x};
    return form_make1(c, &tn_op_reshape, &a, c->in[0]);
}

/* slice_mode "size": `end` has numbers of elements, below 0 all that are left. */
static void sliced_by_size(adapted *a)
{
    tn_slice_attr *attr = a->attr;
    const tn_type *t = tensor(a, 0);
    const int64_t one = 1;
    if (!a->f->mode || strcmp(a->f->mode, "end") == 0 || !t)
        return;
    if (strcmp(a->f->mode, "size") != 0) {
        (void)form_refuse(&a->c, "needs slice_mode end or size");
        return;
    }
    const tn_expr *end[FORM_MAX_RANK];
    for (uint32_t i = 0; i < attr->end.n; i++) {
        int64_t n = 0, begin = 0, axis = form_axis(&a->c, attr->axes.n > i ? attr->axes.at[i] : i, t->n);
        bool whole = tn_is_int(attr->end.at[i], &n) && n < 0;
        if (i >= FORM_MAX_RANK || i >= attr->begin.n || a->c.bad ||
            (!whole && (!tn_is_int(attr->begin.at[i], &begin) || begin < 0))) {
            (void)form_refuse(&a->c, "by size needs places to begin at that are not below 0");
            return;
        }
        end[i] = whole ? t->dim[axis] : tn_add(a->c.p->g->pool, attr->begin.at[i], attr->end.at[i]);
    }
    attr->end = tn_dims_make(a->c.p->g->arena, attr->end.n, end);
    attr->strides = tn_ints_make(a->c.p->g->arena, 1, &one);
}

/* ---- take with batches ---- */

/* Places of an axis of n elements: "clip": the nearest there is, "wrap": counted round. */
static tn_value places_within(form_call *c, tn_value at, int64_t n, const char *mode)
{
    at = form_cast(c, at, TN_I64);
    tn_value extent = form_number(c, TN_I64, (double)n);
    const tn_type *t = form_type(c, at);
    if (mode && strcmp(mode, "fast") == 0)
        return at;
    if (!mode || (strcmp(mode, "clip") != 0 && strcmp(mode, "wrap") != 0) || !t)
        return form_refuse(c, "needs mode clip, wrap or fast");
    if (strcmp(mode, "wrap") == 0) {
        tn_value whole = form_make2(c, &tn_op_floor_divide, at, extent);
        return form_make2(c, &tn_op_subtract, at, form_make2(c, &tn_op_multiply, whole, extent));
    }
    at = form_make2(c, &tn_op_minimum, at, form_number(c, TN_I64, (double)n - 1));
    return form_make2(c, &tn_op_maximum, at, form_number(c, TN_I64, 0));
}

/* The first dimensions of data and indices are the same: [B, P, axis, S] and [B, I] give [B, P, I, S]. */
static void take_of_batches(adapted *a)
{
    const tn_take_attr *attr = a->attr;
    const tn_type *x = tensor(a, 0), *at = tensor(a, 1);
    int64_t n, order[FORM_MAX_RANK], back[2 * FORM_MAX_RANK];
    if (!a->f->batch_dims || a->n != 2 || !x || !at)
        return;
    int axis = (int)form_axis(&a->c, attr->axis, x->n), k = 0, left = at->n;
    int64_t b = a->f->batch_dims < 0 ? a->f->batch_dims + at->n : a->f->batch_dims;
    if (!tn_dtype_is_int(at->dtype) || b < 0 || b > axis || b > at->n || a->c.bad ||
        !tn_is_int(x->dim[axis], &n) || n < 1) {
        (void)form_refuse(&a->c, "needs integers, and batch_dims up to the axis, whose extent is known");
        return;
    }
    for (int d = 0; d < x->n; d++)
        order[d] = d < b || d > axis ? d : d == b ? axis : d - 1;
    tn_gather_nd_attr *nd = TN_NEW(&a->c.p->scratch, tn_gather_nd_attr);
    *nd = (tn_gather_nd_attr){b};
    tn_value place = form_expanded(&a->c, places_within(&a->c, a->in[1], n, attr->mode), left);
    tn_value moved = form_transposed(&a->c, a->in[0], (uint32_t)x->n, order);
    become(a, &tn_op_gather_nd, nd, 2, (const tn_value[]){moved, place});
    for (int d = 0; d < b; d++)
        back[k++] = d;
    for (int d = 0; d < axis - b; d++)
        back[k++] = left + d;
    for (int64_t d = b; d < left; d++)
        back[k++] = d;
    for (int d = axis + 1; d < x->n; d++, k++)
        back[k] = k;
    a->f->order = tn_ints_make(a->c.p->g->arena, (uint32_t)k, back);
}

/* ---- layers ---- */

/* Boxes with the number of their image in front; less than 0 samples: as many as the box has pixels. */
static void boxes_of_images(adapted *a)
{
    static const int64_t channels_first[] = {0, 3, 1, 2}, channels_last[] = {0, 2, 3, 1};
    tn_roi_attr *attr = a->attr;
    const tn_type *t = tensor(a, 1);
    if (a->n != 2 || !t || t->n != 2)
        return;
    if (attr->mode && strcmp(attr->mode, "max") == 0)
        attr->mode = "sample_max";
    attr->sample_ratio = attr->sample_ratio < 0 ? 0 : attr->sample_ratio;
    if (attr->layout && strcmp(attr->layout, "NHWC") == 0) {
        attr->layout = "NCHW";
        a->in[0] = form_transposed(&a->c, a->in[0], 4, channels_first);
        a->f->order = tn_ints_make(a->c.p->g->arena, 4, channels_last);
    }
    const tn_reshape_attr row = {.newshape = tn_dims_make(a->c.p->g->arena, 1, t->dim)};
    tn_value image = form_sliced(&a->c, a->in[1], 1, 0, 1, 1);
    image = form_cast(&a->c, form_make1(&a->c, &tn_op_reshape, &row, image), TN_I64);
    become(a, a->op, attr, 3,
           (const tn_value[]){a->in[0], form_sliced(&a->c, a->in[1], 1, 1, INT64_MAX, 1), image});
}

/* out_dtype: what is computed with. */
static void computed_in(adapted *a)
{
    for (uint32_t i = 0; i < a->n && a->f->dtype.bits; i++)
        if (tensor(a, i))
            a->in[i] = form_cast(&a->c, a->in[i], a->f->dtype);
}

/* out_dtype of a resized image: integers become floats before, all else after. Of a part of it: all after. */
static void resized_in(adapted *a)
{
    const tn_type *t = tensor(a, 0);
    const tn_resize_attr *attr = a->attr;
    const char *mode = attr->coordinate_transformation_mode;
    if (t && mode && strcmp(mode, "tf_crop_and_resize") == 0) {
        const int dims = a->op == &tn_op_image_resize1d ? 1 : a->op == &tn_op_image_resize2d ? 2 : 3;
        tn_value inside, part = form_resized_part(&a->c, attr, a->in[0], dims, a->f->roi, &inside);
        tn_value rest = form_number(&a->c, TN_F32, a->f->extrapolation);
        a->f->dtype = a->f->dtype.bits ? a->f->dtype : t->dtype;
        become(a, &tn_op_where, NULL, 3, (const tn_value[]){inside, part, rest});
        return;
    }
    if (t && tn_dtype_is_int(t->dtype) && a->f->dtype.bits && tn_dtype_is_float(a->f->dtype))
        a->in[0] = form_cast(&a->c, a->in[0], a->f->dtype);
}

/* k below 0 means all. */
static void all_of_them(adapted *a)
{
    tn_topk_attr *attr = a->attr;
    const tn_type *t = tensor(a, 0);
    int64_t k;
    if (t && t->n && attr->k.n == 1 && tn_is_int(attr->k.at[0], &k) && k < 0)
        attr->k = tn_dims_make(a->c.p->g->arena, 1, &t->dim[form_axis(&a->c, attr->axis, t->n)]);
}

static const struct {
    const tn_op *op;
    void (*adapt)(adapted *a);
} rows[] = {
    {&tn_op_divide, quotient},
    {&tn_op_nn_prelu, slope_along},
    {&tn_op_nn_pad, pad_value},
    {&tn_op_one_hot, one_hot_places},
    {&tn_op_clip, clip_integers},
    {&tn_op_where, condition},
    {&tn_op_cumsum, scanned_numbers},
    {&tn_op_cumprod, scanned_numbers},
    {&tn_op_sum, sum_of_bools},
    {&tn_op_mean, mean_of_few_bits},
    {&tn_op_qnn_requantize, requantized},
    {&tn_op_argmax, places_along},
    {&tn_op_argmin, places_along},
    {&tn_op_reshape, special_extents},
    {&tn_op_strided_slice, sliced_by_size},
    {&tn_op_take, take_of_batches},
    {&tn_op_topk, all_of_them},
    {&tn_op_vision_roi_align, boxes_of_images},
    {&tn_op_nn_conv1d_transpose, computed_in},
    {&tn_op_nn_conv2d_transpose, computed_in},
    {&tn_op_nn_conv3d_transpose, computed_in},
    {&tn_op_image_resize1d, resized_in},
    {&tn_op_image_resize2d, resized_in},
    {&tn_op_image_resize3d, resized_in},
};

bool parse_adapt(parser *p, const tn_op **op, void **attr, size_t *n, tn_value **in, pforeign *f,
                 uint32_t line, uint32_t col)
{
    adapted a = {.c = {.p = p, .line = line, .col = col, .name = (*op)->name},
                 .op = *op,
                 .attr = *attr,
                 .n = (uint32_t)*n,
                 .in = *in,
                 .f = f};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == *op)
            rows[i].adapt(&a);
    *op = a.op;
    *attr = a.attr;
    *n = a.n;
    *in = a.in;
    return !a.c.bad;
}
