/* Forms of TVM's operators that make boxes of anchors, and that cut boxes out of images. */
#include "frontend/tvm/forms.h"

#include "frontend/import/crop.h"
#include "frontend/import/propose.h"
#include "frontend/import/window.h"

#include <math.h>
#include <string.h>

/* A list of numbers that has `n` entries. */
static void need_entries(imp_node *c, const form_call *f, const char *name, tn_reals list, uint32_t n)
{
    if (list.n != n)
        imp_refuse(c, IMP_BAD_VALUE, "%s needs %u numbers as %s, not %u", f->name, (unsigned)n, name,
                   (unsigned)list.n);
}

/* ---- anchors ---- */

static bool positive(tn_reals list)
{
    bool all = true;
    for (uint32_t i = 0; i < list.n; i++)
        all = all && list.at[i] > 0 && list.at[i] < 1e30;
    return all;
}

/* reals sizes, reals2 ratios, reals3 steps, reals4 offsets; the first ratio counts for nothing. */
static void multibox_prior(imp_node *c, form_call *f)
{
    const form_values *a = &f->a;
    need_entries(c, f, "steps", a->reals3, 2);
    need_entries(c, f, "offsets", a->reals4, 2);
    if (!positive(a->reals) || !positive(a->reals2) || a->reals.n < 1 || a->reals2.n < 1 ||
        a->reals.n > IMP_MAX_PRIORS || a->reals2.n > IMP_MAX_PRIORS)
        imp_refuse(c, IMP_BAD_VALUE, "%s needs from 1 to %d sizes and ratios above 0", f->name,
                   IMP_MAX_PRIORS);
    const tn_value x = imp_in(c, 0);
    if (!c->bad && !tn_dtype_eq(imp_type(x)->dtype, TN_F32))
        imp_refuse(c, IMP_OPERANDS, "%s needs float32 images, not %s", f->name,
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    double *ratio = TN_NEW_N(c->arena, double, a->reals2.n);
    for (uint32_t i = 0; i < a->reals2.n; i++)
        ratio[i] = i ? a->reals2.at[i] : 1;
    const imp_multibox m = {.sizes = a->reals.n,
                            .ratios = a->reals2.n,
                            .size = a->reals.at,
                            .ratio = ratio,
                            .step = {a->reals3.at[0], a->reals3.at[1]},
                            .offset = {a->reals4.at[0], a->reals4.at[1]},
                            .clip = a->x};
    imp_out(c, 0, imp_multibox_prior(c, x, &m));
}

/* ---- vision.multibox_transform_loc ---- */

typedef struct best { /* of each box: [batch, n] */
    tn_value class, score;
} best;

/* The class of the largest score above -1, of a score of at least the threshold; else class 0. Class 0, the background,
 * is one of them only with keep_background. */
static best best_class(imp_node *c, const form_call *f, tn_value prob)
{
    const int64_t first = !f->a.y;
    const tn_arg_attr by_class = {.axis = 1, .dtype = TN_I64};
    const tn_value some = imp_slice(c, prob, 1, first, INT64_MAX), none = imp_i64(c, 0);
    tn_value class = imp_call1(c, &tn_op_argmax, &by_class, some), score = imp_reduce(c, &tn_op_max, some, 1);
    class = imp_with(c, &tn_op_add, class, (double)first);
    const tn_value any = imp_with(c, &tn_op_greater, score, -1);
    score = imp_with(c, &tn_op_maximum, score, -1);
    const tn_value sure = imp_with(c, &tn_op_greater_equal, score, (double)(float)f->a.a);
    const tn_value is = imp_binary(c, &tn_op_logical_and, any, sure);
    return (best){imp_choose(c, is, class, none), score};
}

/* Scores [batch, classes, n], differences [batch, 4 n], anchors [1, n, 4]: rows [class, score, left, top,
 * right, bottom] of boxes that have a class, then rows of -1; how many there are. */
static void transform_loc(imp_node *c, form_call *f)
{
    static const tn_axis_attr last = {2};
    const tn_value prob = imp_in(c, 0), loc = imp_in(c, 1), anchor = imp_in(c, 2);
    int64_t classes = 0;
    need_entries(c, f, "variances", f->a.reals, 4);
    if (!c->bad && (imp_rank(prob) != 3 || imp_rank(loc) != 2 || imp_rank(anchor) != 3 ||
                    !tn_is_value(imp_type(anchor)->dim[2], 4) ||
                    !tn_is_int(imp_type(prob)->dim[1], &classes) || classes < 1 + !f->a.y))
        imp_refuse(c, IMP_OPERANDS, "scores %s, boxes %s and anchors %s do not fit",
                   imp_type_text(c, imp_type(prob)), imp_type_text(c, imp_type(loc)),
                   imp_type_text(c, imp_type(anchor)));
    if (c->bad)
        return;
    const best b = best_class(c, f, prob);
    const tn_value box = imp_multibox_boxes(c, loc, imp_slice(c, anchor, 0, 0, 1), f->a.reals.at, f->a.x);
    const tn_value number = f->a.y ? b.class : imp_with(c, &tn_op_subtract, b.class, 1);
    const tn_value part[3] = {imp_unsqueeze(c, imp_cast(c, number, imp_type(box)->dtype), 2),
                              imp_unsqueeze(c, b.score, 2), box};
    const tn_value rows = imp_call(c, &tn_op_concatenate, &last, 3, part),
                   there = imp_with(c, &tn_op_greater_equal, number, 0);
    const tn_value at = imp_compacted(c, there), none = imp_const(c, imp_type(rows)->dtype, -1);
    const tn_value is = imp_unsqueeze(c, imp_with(c, &tn_op_greater_equal, at, 0), 2),
                   taken = imp_rows_at(c, rows, imp_with(c, &tn_op_maximum, at, 0));
    imp_out(c, 0, imp_choose(c, is, taken, none));
    imp_out(c, 1, imp_reduce(c, &tn_op_sum, imp_cast(c, there, TN_I32), 1));
}

/* ---- vision.proposal ---- */

/* Of a square of the stride, the width for each ratio of height by width, times each scale. */
static void make_anchors(imp_node *c, const form_call *f, imp_anchors *r)
{
    const tn_reals scales = f->a.reals, ratios = f->a.reals2;
    const double side = r->stride, centre = 0.5 * (side - 1);
    if (!positive(scales) || !positive(ratios) || !scales.n || !ratios.n ||
        (uint64_t)scales.n * ratios.n > IMP_MAX_ANCHORS)
        imp_refuse(c, IMP_BAD_VALUE, "%s needs from 1 to %d pairs of scales and ratios above 0", f->name,
                   IMP_MAX_ANCHORS);
    for (uint32_t i = 0; i < ratios.n && !c->bad; i++)
        for (uint32_t k = 0; k < scales.n; k++, r->kinds++) {
            const double w = floor(sqrt(floor(side * side / ratios.at[i])) + 0.5) * scales.at[k],
                         h = floor(w / scales.at[k] * ratios.at[i] + 0.5) * scales.at[k], size[2] = {w, h};
            for (int d = 0; d < 2; d++) {
                r->low[d][r->kinds] = (float)(centre - 0.5 * (size[d] - 1));
                r->size[d][r->kinds] = (float)size[d];
            }
        }
}

static void proposal(imp_node *c, form_call *f)
{
    imp_anchors *anchors = TN_NEW(c->arena, imp_anchors);
    anchors->stride = (double)f->a.i;
    anchors->kinds = 0;
    const imp_proposals p = {.anchors = anchors,
                             .least = (double)f->a.k,
                             .differences = f->a.x,
                             .overlap = (double)(float)f->a.a,
                             .before = f->a.j > 0 ? f->a.j : -1,
                             .after = f->a.number};
    if (f->a.i < 1 || f->a.i > 1 << 20 || f->a.number < 1 || f->a.number > 1 << 24 || !(f->a.a >= 0))
        imp_refuse(c, IMP_BAD_VALUE,
                   "%s needs a feature_stride and a rpn_post_nms_top_n of at least 1, and a threshold of at "
                   "least 0",
                   f->name);
    make_anchors(c, f, anchors);
    const tn_value score = imp_in(c, 0), delta = imp_in(c, 1), info = imp_in(c, 2);
    tn_value scores;
    imp_out(c, 0, imp_propose(c, &p, (const tn_value[]){score, delta, info}, &scores));
}

/* ---- vision.yolo_reorg ---- */

/* Squares of stride x stride places become channels: the data as rows and columns of a stride's squares, whatever the
 * shape says. */
static void yolo_reorg(imp_node *c, form_call *f)
{
    static const int64_t squares_first[] = {0, 3, 5, 1, 2, 4};
    const int64_t s = f->a.number;
    const tn_value x = imp_in(c, 0);
    int64_t extent[3] = {0, 0, 0};
    for (int i = 0; i < 3 && !c->bad; i++)
        if (imp_rank(x) != 4 || s < 1 || s > 1 << 12 || !tn_is_int(imp_type(x)->dim[1 + i], &extent[i]) ||
            extent[i] < 1 || extent[i] % (i ? s : s * s))
            imp_refuse(c, IMP_OPERANDS,
                       "%s needs images whose rows and columns the stride divides, and channels that its "
                       "square divides, not %s with stride %lld",
                       f->name, imp_type_text(c, imp_type(x)), (long long)s);
    if (c->bad)
        return;
    const tn_expr *n = imp_type(x)->dim[0], *each = tn_idx(c->pool, s),
                  *in[6] = {n,    tn_idx(c->pool, extent[0] / (s * s)), tn_idx(c->pool, extent[1]),
                            each, tn_idx(c->pool, extent[2]),           each},
                  *out[4] = {n, tn_idx(c->pool, extent[0] * s * s), tn_idx(c->pool, extent[1] / s),
                             tn_idx(c->pool, extent[2] / s)};
    const tn_value moved = imp_transpose(c, imp_reshape(c, x, 6, in), 6, squares_first);
    imp_out(c, 0, imp_reshape(c, moved, 4, out));
}

/* ---- image.crop_and_resize ---- */

/* Where `size` rows or columns lie between edges [n, 1], which are shares of the image: [n, size]. A single one lies in
 * the middle, for which TVM has no number. It rounds the quotient of a row as a product. */
static tn_value places(imp_node *c, tn_value image, int axis, tn_value from, tn_value to, int64_t size)
{
    const tn_value last = imp_with(c, &tn_op_subtract, imp_cast(c, imp_extent_of(c, image, axis), TN_F32), 1);
    if (size == 1)
        return imp_binary(c, &tn_op_multiply,
                          imp_with(c, &tn_op_multiply, imp_binary(c, &tn_op_add, from, to), 0.5), last);
    const tn_value number = imp_cast(c, imp_count_up(c, tn_idx(c->pool, size)), TN_F32),
                   all = imp_binary(c, &tn_op_multiply, imp_binary(c, &tn_op_subtract, to, from), last);
    const tn_value step = imp_with(c, &tn_op_multiply, all, 1 / (double)(size - 1)),
                   begin = imp_binary(c, &tn_op_multiply, from, last);
    return imp_binary(c, &tn_op_add, begin, imp_binary(c, &tn_op_multiply, step, number));
}

/* data, boxes [n, 4] as y1, x1, y2, x2, which image each is of [n] */
static void crop_and_resize(imp_node *c, form_call *f)
{
    int64_t size[2] = {0, 0};
    const bool last = strcmp(f->a.s, "NHWC") == 0, nearest = strcmp(f->a.t, "nearest_neighbor") == 0;
    const tn_value x = imp_in(c, 0), boxes = imp_in(c, 1), which = imp_in(c, 2);
    if (!last && strcmp(f->a.s, "NCHW") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "%s needs layout NCHW or NHWC, not \"%s\"", f->name, f->a.s);
    if (!nearest && strcmp(f->a.t, "bilinear") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "%s needs method bilinear or nearest_neighbor, not \"%s\"", f->name,
                   f->a.t);
    if (!c->bad && (imp_rank(x) != 4 || imp_rank(boxes) != 2 || imp_rank(which) != 1 ||
                    !tn_is_value(imp_type(boxes)->dim[1], 4) || !tn_dtype_is_float(imp_type(boxes)->dtype)))
        imp_refuse(c, IMP_OPERANDS, "%s needs images, boxes [n, 4] of floats, and their images [n]", f->name);
    for (uint32_t i = 0; i < 2 && !c->bad; i++)
        if (f->a.dims.n != 2 || !tn_is_int(f->a.dims.at[i], &size[i]) || size[i] < 1 || size[i] > 1 << 20)
            imp_refuse(c, IMP_BAD_VALUE, "%s needs a crop_size of two numbers that are at least 1", f->name);
    if (c->bad)
        return;
    const tn_value image = imp_cast(c, last ? x : imp_channels_last(c, x), TN_F32),
                   box = imp_cast(c, boxes, TN_F32);
    tn_value at[2];
    for (int i = 0; i < 2; i++) {
        const tn_value from = imp_slice(c, box, 1, i, i + 1), to = imp_slice(c, box, 1, 2 + i, 3 + i);
        at[i] = places(c, image, 1 + i, from, to, size[i]);
    }
    const tn_value which64 = imp_cast(c, which, TN_I64), rest = imp_const(c, TN_F32, f->a.a);
    const imp_crop k = {.image = image,
                        .which = which64,
                        .row = at[0],
                        .column = at[1],
                        .outside = rest,
                        .nearest = nearest,
                        .shares = true};
    tn_value y = imp_make_crop(c, &k);
    y = imp_cast(c, y, f->a.dtype.bits ? f->a.dtype : imp_type(x)->dtype);
    imp_out(c, 0, last ? y : imp_channels_first(c, y));
}

TVM_READ(multibox_prior, 1)
TVM_READ(transform_loc, 2)
TVM_READ(proposal, 1)
TVM_READ(yolo_reorg, 1)
TVM_READ(crop_and_resize, 1)

/* clang-format off */
static const tn_attr_field
    anchoring[] = {FORM_ATTR(REALS, "sizes", reals, "[1]"), FORM_ATTR(REALS, "ratios", reals2, "[1]"),
                   FORM_ATTR(REALS, "steps", reals3, "[-1, -1]"), FORM_ATTR(REALS, "offsets", reals4, "[0.5, 0.5]"),
                   FORM_ATTR(BOOL, "clip", x, "False"), FORM_END},
    decoding[] = {FORM_ATTR(BOOL, "clip", x, "True"), FORM_ATTR(F64, "threshold", a, "0.01"),
                  FORM_ATTR(REALS, "variances", reals, "[0.1, 0.1, 0.2, 0.2]"),
                  FORM_ATTR(BOOL, "keep_background", y, "False"), FORM_END},
    proposing[] = {FORM_ATTR(REALS, "scales", reals, "[4, 8, 16, 32]"),
                   FORM_ATTR(REALS, "ratios", reals2, "[0.5, 1, 2]"),
                   FORM_ATTR(I64, "feature_stride", i, "16"), FORM_ATTR(F64, "threshold", a, "0.7"),
                   FORM_ATTR(I64, "rpn_pre_nms_top_n", j, "6000"), FORM_ATTR(I64, "rpn_post_nms_top_n", number, "300"),
                   FORM_ATTR(I64, "rpn_min_size", k, "16"), FORM_ATTR(BOOL, "iou_loss", x, "False"), FORM_END},
    reorganising[] = {FORM_ATTR(I64, "stride", number, "1"), FORM_END},
    cropping[] = {FORM_ATTR(DIMS, "crop_size", dims, NULL), FORM_ATTR(STR, "layout", s, "\"NCHW\""),
                  FORM_ATTR(STR, "method", t, "\"bilinear\""), FORM_ATTR(F64, "extrapolation_value", a, "0"),
                  FORM_ATTR(DTYPE, "out_dtype", dtype, "\"\""), FORM_END};

const form tvm_forms_boxes[] = {
    {"vision.multibox_prior", 1, 1, read_multibox_prior, anchoring, "Anchors at each place of a map."},
    {"vision.multibox_transform_loc", 3, 3, read_transform_loc, decoding, "Boxes of anchors that have a class."},
    {"vision.proposal", 3, 3, read_proposal, proposing, "The best regions of anchors."},
    {"vision.yolo_reorg", 1, 1, read_yolo_reorg, reorganising, "Squares of places become channels."},
    {"image.crop_and_resize", 3, 3, read_crop_and_resize, cropping, "Boxes of images in one size."},
    {0},
};
/* clang-format on */
