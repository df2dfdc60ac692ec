/* Layers of detectors (SSD): prior boxes, and what is found among them. */
#include "frontend/caffe/caffe.h"

#include "frontend/import/boxes.h"
#include "op/nn/nn.h"

#include <math.h>
#include <string.h>

static int reals(imp_node *c, cf_field *m, const char *name, double out[IMP_MAX_PRIORS])
{
    return cf_reals(c, m, name, IMP_MAX_PRIORS, out);
}

static bool extents(imp_node *c, tn_value x, int64_t out[2])
{
    if (!c->bad && (imp_rank(x) != 4 || !tn_is_int(imp_type(x)->dim[2], &out[0]) ||
                    !tn_is_int(imp_type(x)->dim[3], &out[1])))
        imp_refuse(c, IMP_OPERANDS, "data %s must be images of fixed extents", imp_type_text(c, imp_type(x)));
    return !c->bad;
}

/* ---- PriorBox ---- */

/* 1, and each other ratio once, with its inverse unless flip is false. */
static int ratios_of(imp_node *c, cf_field *m, double out[IMP_MAX_PRIORS])
{
    double given[IMP_MAX_PRIORS];
    int n = reals(c, m, "aspect_ratio", given), count = 1;
    bool flip = cf_bool(c, m, "flip", true);
    out[0] = 1;
    for (int i = 0; i < n && count + 2 < IMP_MAX_PRIORS; i++) {
        bool had = !(given[i] > 0);
        for (int k = 0; k < count; k++)
            had = had || fabs(out[k] - given[i]) < 1e-6;
        if (had)
            continue;
        out[count++] = given[i];
        if (flip)
            out[count++] = 1 / given[i];
    }
    return count;
}

static void add_sizes(imp_node *c, cf_field *m, imp_priors *p)
{
    double least[IMP_MAX_PRIORS], most[IMP_MAX_PRIORS], ratio[IMP_MAX_PRIORS];
    int n_min = reals(c, m, "min_size", least), n_max = reals(c, m, "max_size", most),
        n_ratio = ratios_of(c, m, ratio);
    if (!c->bad && (n_min < 1 || (n_max && n_max != n_min)))
        imp_refuse(c, IMP_BAD_VALUE, "it has %d min_size and %d max_size", n_min, n_max);
    for (int i = 0; i < n_min && !c->bad; i++) {
        imp_add_prior(c, p, least[i], least[i]);
        if (i < n_max)
            imp_add_prior(c, p, sqrt(least[i] * most[i]), sqrt(least[i] * most[i]));
        for (int k = 1; k < n_ratio; k++)
            imp_add_prior(c, p, least[i] / sqrt(ratio[k]), least[i] * sqrt(ratio[k]));
    }
}

/* Sizes of both dimensions: a field for both, or NAME_h and NAME_w. */
static void pair(imp_node *c, cf_field *m, const char *name, double out[2])
{
    double both = cf_real(c, m, name, 0);
    for (int i = 0; i < 2; i++) {
        double one = cf_real(c, m, tn_arena_printf(c->arena, "%s_%c", name, i ? 'w' : 'h'), both);
        out[i] = one > 0 ? one : out[i];
    }
}

/* Boxes, and the variances of each: [1, 2, 4 boxes] */
static void prior_box(imp_node *c)
{
    cf_field *m = cf_param(c, "prior_box_param");
    int64_t map[2] = {1, 1}, image[2] = {1, 1};
    double variance[IMP_MAX_PRIORS] = {0.1, 0.1, 0.1, 0.1};
    if (!extents(c, imp_in(c, 0), map) || !extents(c, imp_in(c, 1), image))
        return;
    imp_priors p = {.rows = map[0],
                    .columns = map[1],
                    .image = {(double)image[0], (double)image[1]},
                    .offset = cf_real(c, m, "offset", 0.5),
                    .clip = cf_bool(c, m, "clip", false)};
    pair(c, m, "img_size", p.image);
    for (int i = 0; i < 2; i++)
        p.step[i] = p.image[i] / (double)map[i];
    pair(c, m, "step", p.step);
    add_sizes(c, m, &p);
    int n = reals(c, m, "variance", variance);
    for (int i = n; n > 0 && i < 4; i++)
        variance[i] = variance[0];
    const float *boxes = imp_make_priors(c, &p);
    if (!boxes)
        return;
    size_t count = (size_t)(4 * map[0] * map[1]) * p.n;
    int64_t dim[3] = {1, 2, (int64_t)count};
    float *all = TN_NEW_N(c->arena, float, 2 * count);
    memcpy(all, boxes, count * sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[count + i] = (float)variance[i % 4];
    imp_out(c, 0, tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 3, dim, all, NULL)));
}

/* ---- DetectionOutput ---- */

static tn_value column(imp_node *c, tn_value v, int i) { return imp_slice(c, v, imp_rank(v) - 1, i, i + 1); }

/* Row i of the prior boxes [1, 2, 4 n]: [1, n, 4] */
static tn_value prior_row(imp_node *c, tn_value priors, int i, int64_t n)
{
    const tn_expr *dim[3] = {tn_idx(c->pool, 1), tn_idx(c->pool, n), tn_idx(c->pool, 4)};
    return imp_reshape(c, imp_slice(c, priors, 1, i, i + 1), 3, dim);
}

/* Boxes as their centre's and extents' differences from the prior ones. */
static tn_value by_centre(imp_node *c, tn_value v, tn_value prior)
{
    tn_value part[4];
    for (int i = 0; i < 2; i++) {
        tn_value low = column(c, prior, i), high = column(c, prior, 2 + i),
                 size = imp_binary(c, &tn_op_subtract, high, low);
        tn_value middle = imp_with(c, &tn_op_multiply, imp_binary(c, &tn_op_add, low, high), 0.5);
        tn_value centre =
            imp_binary(c, &tn_op_add, imp_binary(c, &tn_op_multiply, column(c, v, i), size), middle);
        tn_value wide = imp_unary(c, &tn_op_exp, column(c, v, 2 + i)),
                 half = imp_with(c, &tn_op_multiply, imp_binary(c, &tn_op_multiply, wide, size), 0.5);
        part[i] = imp_binary(c, &tn_op_subtract, centre, half);
        part[2 + i] = imp_binary(c, &tn_op_add, centre, half);
    }
    return imp_concat(c, 4, part, 2);
}

static tn_value decoded(imp_node *c, cf_field *m, tn_value v, tn_value priors, int64_t n)
{
    static const char *const codes[] = {"CORNER", "CENTER_SIZE", "1", "2", NULL};
    tn_value prior = prior_row(c, priors, 0, n);
    if (!cf_bool(c, m, "variance_encoded_in_target", false))
        v = imp_binary(c, &tn_op_multiply, v, prior_row(c, priors, 1, n));
    return cf_choice(c, m, "code_type", 0, codes) & 1 ? by_centre(c, v, prior)
                                                      : imp_binary(c, &tn_op_add, v, prior);
}

/* Rows [image, class, score, left, top, right, bottom], as many as the run finds. */
static void detection_output(imp_node *c)
{
    cf_field *m = cf_param(c, "detection_output_param"), *nms = cf_find(m, "nms_param");
    tn_value loc = imp_in(c, 0), conf = imp_in(c, 1), priors = imp_in(c, 2);
    int64_t classes = cf_int(c, m, "num_classes", 0), none = cf_int(c, m, "background_label_id", 0), n = 0,
            keep = cf_int(c, m, "keep_top_k", -1);
    imp_nms how = {.overlap = cf_real(c, nms, "nms_threshold", 0.3),
                   .least = cf_real(c, m, "confidence_threshold", -3.4028234663852886e38),
                   .most = cf_int(c, nms, "top_k", -1)};
    if (!cf_bool(c, m, "share_location", true) || cf_real(c, nms, "eta", 1) != 1)
        imp_refuse(c, IMP_BAD_VALUE, "only boxes that all classes share, with eta 1, are supported");
    if (!c->bad &&
        (imp_rank(priors) != 3 || !tn_is_int(imp_type(priors)->dim[2], &n) || n % 4 || classes < 1))
        imp_refuse(c, IMP_OPERANDS, "prior boxes %s and %lld classes do not fit",
                   imp_type_text(c, imp_type(priors)), (long long)classes);
    if (!c->bad && imp_rank(loc) < 1)
        imp_refuse(c, IMP_OPERANDS, "offsets of boxes %s have no batch", imp_type_text(c, imp_type(loc)));
    if (c->bad)
        return;
    n /= 4;
    const tn_expr *batch = imp_type(loc)->dim[0], *number = tn_idx(c->pool, n),
                  *boxes_dim[3] = {batch, number, tn_idx(c->pool, 4)},
                  *scores_dim[3] = {batch, number, tn_idx(c->pool, classes)};
    static const int64_t turned[] = {0, 2, 1};
    tn_value boxes = decoded(c, m, imp_reshape(c, loc, 3, boxes_dim), priors, n);
    tn_value scores = imp_transpose(c, imp_reshape(c, conf, 3, scores_dim), 3, turned);
    if (none >= 0 && none < classes) {
        tn_value first = imp_slice(c, scores, 1, 0, none), rest = imp_slice(c, scores, 1, none + 1, classes);
        tn_value gone =
            imp_with(c, &tn_op_add, imp_with(c, &tn_op_multiply, imp_slice(c, scores, 1, none, none + 1), 0),
                     how.least);
        tn_value part[3];
        uint32_t k = 0;
        if (none > 0)
            part[k++] = first;
        part[k++] = gone;
        if (none + 1 < classes)
            part[k++] = rest;
        scores = imp_concat(c, k, part, 1);
    }
    imp_detections d = imp_detect(c, boxes, scores, &how, keep);
    if (c->bad)
        return;
    tn_value part[4] = {imp_unsqueeze(c, imp_cast(c, d.image, TN_F32), 1),
                        imp_unsqueeze(c, imp_cast(c, d.which, TN_F32), 1), imp_unsqueeze(c, d.score, 1),
                        d.box};
    tn_value rows = imp_concat(c, 4, part, 1);
    imp_out(c, 0, imp_unsqueeze(c, imp_unsqueeze(c, rows, 0), 0));
}

// clang-format off
const imp_row cf_rows_detection[] = {
    {"PriorBox",        0, 0, 2, 1, prior_box,        NULL},
    {"DetectionOutput", 0, 0, 3, 1, detection_output, NULL},
    {0},
};
// clang-format on
