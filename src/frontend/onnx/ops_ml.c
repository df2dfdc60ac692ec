/* ai.onnx.ml over numbers: linear models, support vectors, encoders and scalers. Rows of X are samples; a list is one
 * sample. Trees: ops_trees.c. */
#include "frontend/onnx/onnx.h"

#include "op/host/host.h"
#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* ---- attributes as constants ---- */

static tn_value floats_attr(imp_node *c, const char *name, int64_t *out_n)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_FLOATS);
    int64_t n = a ? (int64_t)a->floats.n : 0;
    *out_n = n;
    return n && !c->bad ? tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &n, a->floats.at, NULL))
                        : (tn_value){0};
}

static tn_value ints_attr(imp_node *c, const char *name, int64_t *out_n)
{
    tn_ints v;
    bool given = imp_attr_ints(c, name, &v);
    *out_n = given ? v.n : 0;
    return given && v.n ? imp_const_ints(c, TN_I64, 1, v.n, v.at) : (tn_value){0};
}

static tn_value shaped(imp_node *c, tn_value v, int64_t rows, int64_t columns)
{
    const tn_expr *dim[2] = {tn_idx(c->pool, rows), tn_idx(c->pool, columns)};
    return c->bad || !v.def ? v : imp_reshape(c, v, 2, dim);
}

/* X as float32 [samples, features], the features known: where the run alone knows them, it fails unless they are
 * `wanted`. */
static tn_value samples(imp_node *c, int64_t wanted, int64_t *out_features)
{
    tn_value x = imp_cast(c, imp_in(c, 0), TN_F32);
    if (c->bad)
        return x;
    const tn_type *t = imp_type(x);
    const tn_expr *dim[2] = {t->n > 1 ? t->dim[0] : tn_idx(c->pool, 1), imp_product(c, t, t->n > 1, t->n)};
    bool known = tn_is_int(dim[1], out_features);
    if (known ? *out_features < 1 : wanted < 1)
        imp_fail(c, "onnx-E022", "the number of features of %s must be known", imp_type_text(c, t));
    x = c->bad || t->n == 2 ? x : imp_reshape(c, x, 2, dim);
    if (c->bad || known)
        return x;
    *out_features = wanted;
    (void)imp_with_extent(c, &x, 1, tn_idx(c->pool, wanted));
    return x;
}

static tn_value f32(imp_node *c, double v) { return imp_const(c, TN_F32, v); }

/* ---- what becomes of scores [samples, n] ---- */

/* Winitzki's approximation of erf^-1, as ONNX Runtime has it, times sqrt(2). */
static tn_value probit(imp_node *c, tn_value x)
{
    tn_value v = imp_with(c, &tn_op_subtract, imp_with(c, &tn_op_multiply, x, 2), 1);
    tn_value one = f32(c, 1), negative = imp_with(c, &tn_op_less, v, 0);
    tn_value sign = imp_choose(c, negative, f32(c, -1), one);
    tn_value below = imp_binary(c, &tn_op_subtract, one, v), above = imp_binary(c, &tn_op_add, one, v);
    tn_value rest = imp_binary(c, &tn_op_multiply, below, above);
    tn_value log = imp_unary(c, &tn_op_log, rest);
    const double a = 0.147;
    tn_value first =
        imp_with(c, &tn_op_add, imp_with(c, &tn_op_multiply, log, 0.5), 2 / (3.14159265358979323846 * a));
    tn_value square = imp_binary(c, &tn_op_multiply, first, first),
             part = imp_with(c, &tn_op_multiply, log, 1 / a);
    tn_value inner = imp_binary(c, &tn_op_subtract, square, part);
    tn_value root = imp_unary(c, &tn_op_sqrt, inner);
    tn_value y = imp_unary(c, &tn_op_sqrt, imp_binary(c, &tn_op_subtract, root, first));
    return imp_with(c, &tn_op_multiply, imp_binary(c, &tn_op_multiply, y, sign), 1.41421356);
}

/* Softmax in which a score of 0 stays 0. */
static tn_value softmax_zero(imp_node *c, tn_value x)
{
    int64_t one = 1;
    tn_axes_attr a = {tn_ints_make(c->arena, 1, &one), true, false};
    tn_value most = imp_call1(c, &tn_op_max, &a, x);
    tn_value e = imp_unary(c, &tn_op_exp, imp_binary(c, &tn_op_subtract, x, most));
    tn_value size = imp_unary(c, &tn_op_abs, x);
    tn_value counts = imp_with(c, &tn_op_greater, size, 0.0000001);
    tn_value scale = imp_unary(c, &tn_op_exp, imp_unary(c, &tn_op_negative, most));
    e = imp_choose(c, counts, e, imp_binary(c, &tn_op_multiply, x, scale));
    tn_value sum = imp_call1(c, &tn_op_sum, &a, e);
    tn_value none = imp_binary(c, &tn_op_equal, sum, f32(c, 0));
    return imp_binary(c, &tn_op_divide, e, imp_choose(c, none, f32(c, 1), sum));
}

/* One score alone stays as it is unless it is a probit, as in ONNX Runtime. */
tn_value onnx_ml_transform(imp_node *c, tn_value scores, const char *kind)
{
    bool probits = strcmp(kind, "PROBIT") == 0;
    if (strcmp(kind, "NONE") == 0 ||
        (!probits && imp_rank(scores) == 2 && tn_is_value(imp_type(scores)->dim[1], 1)))
        return scores;
    if (strcmp(kind, "LOGISTIC") == 0)
        return imp_unary(c, &tn_op_sigmoid, scores);
    if (strcmp(kind, "SOFTMAX") == 0)
        return imp_call1(c, &tn_op_nn_softmax, &(tn_axis_attr){-1}, scores);
    if (strcmp(kind, "SOFTMAX_ZERO") == 0)
        return softmax_zero(c, scores);
    if (probits)
        return probit(c, scores);
    imp_fail(c, "onnx-E009",
             "post_transform is \"%s\"; NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO and PROBIT are known", kind);
    return scores;
}

/* ---- LinearRegressor, LinearClassifier ---- */

/* X times the transposed coefficients [n, features], and what is added. */
static tn_value linear(imp_node *c, int64_t *n)
{
    int64_t features = 1, n_coefficients, n_more;
    tn_value w = floats_attr(c, "coefficients", &n_coefficients),
             more = floats_attr(c, "intercepts", &n_more);
    int64_t results = *n < 1 ? n_more : *n;
    tn_value x = samples(c, results < 1 ? 0 : n_coefficients / results, &features);
    const tn_dense_attr dense = {0};
    if (*n < 1)
        *n = n_more ? n_more : n_coefficients / features;
    if (!c->bad && (*n < 1 || n_coefficients != *n * features || (n_more && n_more != *n)))
        imp_fail(c, "onnx-E009",
                 "%lld coefficients and %lld intercepts do not match %lld results of %lld features",
                 (long long)n_coefficients, (long long)n_more, (long long)*n, (long long)features);
    tn_value y = imp_call2(c, &tn_op_nn_dense, &dense, x, shaped(c, w, *n, features));
    return more.def ? imp_binary(c, &tn_op_add, y, more) : y;
}

static void linear_regressor(imp_node *c)
{
    int64_t n = imp_attr_int(c, "targets", 1);
    tn_value y = linear(c, &n);
    imp_out(c, 0, onnx_ml_transform(c, y, imp_attr_string(c, "post_transform", "NONE")));
}

/* One score of two classes: what the first has follows from the second's. */
static tn_value both_scores(imp_node *c, tn_value y, const char *kind)
{
    bool logistic = strcmp(kind, "LOGISTIC") == 0;
    tn_value other =
        logistic ? imp_unary(c, &tn_op_negative, y) : imp_binary(c, &tn_op_subtract, f32(c, 1), y);
    tn_value both = imp_concat(c, 2, (const tn_value[]){other, y}, 1);
    return logistic ? imp_unary(c, &tn_op_sigmoid, both) : both;
}

tn_value onnx_ml_labels(imp_node *c, const char *ints, int64_t *out_n)
{
    bool texts = imp_has_attr(c, "classlabels_strings");
    if (texts)
        imp_attr_ignore(c, ints);
    return texts ? onnx_texts_attr(c, "classlabels_strings", out_n) : ints_attr(c, ints, out_n);
}

tn_value onnx_ml_label(imp_node *c, tn_value labels, tn_value best)
{
    return imp_is_text(labels) ? imp_take_texts(c, labels, best) : imp_take(c, labels, best, 0);
}

static void linear_classifier(imp_node *c)
{
    int64_t n = 0, n_labels;
    const char *kind = imp_attr_string(c, "post_transform", "NONE");
    imp_attr_ignore(c, "multi_class");
    tn_value labels = onnx_ml_labels(c, "classlabels_ints", &n_labels), y = linear(c, &n);
    if (c->bad)
        return;
    tn_value best, first = imp_squeeze(c, imp_slice(c, y, 1, 0, 1), 1);
    if (n == 1 && n_labels == 2) {
        best = imp_cast(c, imp_binary(c, &tn_op_greater, first, f32(c, 0)), TN_I64);
        y = both_scores(c, y, kind);
    } else {
        tn_arg_attr a = {.axis = 1, .dtype = TN_I64};
        best = imp_call1(c, &tn_op_argmax, &a, y);
        y = onnx_ml_transform(c, y, kind);
    }
    imp_out(c, 0, labels.def ? onnx_ml_label(c, labels, best) : best);
    imp_out_any(c, 1, y);
}

/* ---- SVMRegressor, SVMClassifier ---- */

enum { GAMMA, COEF0, DEGREE };

/* [samples, features] against [vectors, features]: kernel values [samples, vectors]. */
static tn_value kernel(imp_node *c, tn_value x, tn_value vectors, int64_t features)
{
    const char *type = imp_attr_string(c, "kernel_type", "LINEAR");
    const imp_attr *a = imp_attr_find(c, "kernel_params", IMP_A_FLOATS);
    double p[3] = {0, 0, 0};
    const tn_dense_attr dense = {0};
    for (int i = 0; a && i < 3 && i < (int)a->floats.n; i++)
        p[i] = a->floats.at[i];
    if (strcmp(type, "RBF") == 0) {
        const tn_expr *one[3] = {imp_type(x)->dim[0], tn_idx(c->pool, 1), tn_idx(c->pool, features)};
        tn_value apart = imp_binary(c, &tn_op_subtract, c->bad ? x : imp_reshape(c, x, 3, one), vectors);
        tn_value square = imp_reduce(c, &tn_op_sum, imp_binary(c, &tn_op_multiply, apart, apart), 2);
        return imp_unary(c, &tn_op_exp, imp_binary(c, &tn_op_multiply, square, f32(c, -p[GAMMA])));
    }
    tn_value y = imp_call2(c, &tn_op_nn_dense, &dense, x, vectors);
    if (strcmp(type, "LINEAR") == 0)
        return y;
    y = imp_with(c, &tn_op_add, imp_with(c, &tn_op_multiply, y, p[GAMMA]), p[COEF0]);
    if (strcmp(type, "POLY") == 0)
        return imp_binary(c, &tn_op_power, y, f32(c, p[DEGREE]));
    if (strcmp(type, "SIGMOID") == 0)
        return imp_unary(c, &tn_op_tanh, y);
    imp_fail(c, "onnx-E009", "kernel_type is \"%s\"; LINEAR, POLY, RBF and SIGMOID are known", type);
    return y;
}

static void svm_regressor(imp_node *c)
{
    int64_t features = 1, n = imp_attr_int(c, "n_supports", 0), n_vectors, n_coefficients, n_rho;
    tn_value vectors = floats_attr(c, "support_vectors", &n_vectors),
             w = floats_attr(c, "coefficients", &n_coefficients), rho = floats_attr(c, "rho", &n_rho),
             x = samples(c, n > 0 ? n_vectors / n : n_coefficients, &features);
    bool one_class = imp_attr_int(c, "one_class", 0) != 0;
    const tn_dense_attr dense = {0};
    tn_value y;
    if (!c->bad && n_rho < 1)
        imp_fail(c, "onnx-E007", "attribute rho is missing; the model is damaged");
    if (!c->bad && (n > 0 ? n_vectors != n * features || n_coefficients != n : n_coefficients != features))
        imp_fail(c, "onnx-E009",
                 "%lld support vectors of %lld features do not match %lld numbers and %lld coefficients",
                 (long long)n, (long long)features, (long long)n_vectors, (long long)n_coefficients);
    if (n > 0) {
        y = kernel(c, x, shaped(c, vectors, n, features), features);
        y = imp_call2(c, &tn_op_nn_dense, &dense, y, shaped(c, w, 1, n));
    } else {
        y = kernel(c, x, shaped(c, w, 1, features), features);
    }
    y = imp_binary(c, &tn_op_add, y, imp_slice(c, rho, 0, 0, 1));
    if (one_class) {
        tn_value inside = imp_with(c, &tn_op_greater, y, 0), one = f32(c, 1);
        y = imp_choose(c, inside, one, f32(c, -1));
    }
    imp_out(c, 0, onnx_ml_transform(c, y, imp_attr_string(c, "post_transform", "NONE")));
}

typedef struct machines { /* one for each pair of classes */
    imp_node *c;
    int64_t classes, pairs, vectors;
    tn_ints per_class;
    const imp_attr *w; /* [classes - 1, vectors] */
} machines;

/* [pairs, vectors]: of pair (i, j) what vectors of i have in row j - 1, and those of j in row i; the rest is 0. */
static tn_value pair_weights(const machines *m)
{
    float *data = TN_NEW_N(m->c->arena, float, (size_t)(m->pairs * m->vectors) + 1), *row = data;
    int64_t dim[2] = {m->pairs, m->vectors}, first = 0;
    for (int64_t i = 0; i < m->classes; first += m->per_class.at[i++]) {
        int64_t other = first + m->per_class.at[i];
        for (int64_t j = i + 1; j < m->classes; other += m->per_class.at[j++], row += m->vectors) {
            for (int64_t k = first; k < first + m->per_class.at[i]; k++)
                row[k] = m->w->floats.at[(j - 1) * m->vectors + k];
            for (int64_t k = other; k < other + m->per_class.at[j]; k++)
                row[k] = m->w->floats.at[i * m->vectors + k];
        }
    }
    return tn_val(tn_make_constant(m->c->g, m->c->im->r, NULL, TN_F32, 2, dim, data, NULL));
}

/* The class with most votes: a pair (i, j) is for i where its score is above 0, else for j. */
static tn_value most_votes(const machines *m, tn_value scores)
{
    imp_node *c = m->c;
    float *side = TN_NEW_N(c->arena, float, (size_t)(m->classes * m->pairs) + 1), *j_votes;
    int64_t pair = 0, dim[2] = {m->classes, m->pairs};
    j_votes = TN_NEW_N(c->arena, float, (size_t)m->classes);
    for (int64_t i = 0; i < m->classes; i++)
        for (int64_t j = i + 1; j < m->classes; j++, pair++) {
            side[i * m->pairs + pair] = 1;
            side[j * m->pairs + pair] = -1;
            j_votes[j]++;
        }
    tn_value table = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 2, dim, side, NULL)),
             all = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, dim, j_votes, NULL));
    const tn_dense_attr dense = {0};
    tn_arg_attr first = {.axis = 1, .dtype = TN_I64};
    tn_value won = imp_cast(c, imp_binary(c, &tn_op_greater, scores, f32(c, 0)), TN_F32);
    return imp_call1(c, &tn_op_argmax, &first,
                     imp_binary(c, &tn_op_add, imp_call2(c, &tn_op_nn_dense, &dense, won, table), all));
}

static bool read_machines(imp_node *c, machines *m, int64_t classes, int64_t features)
{
    int64_t n_vectors;
    *m = (machines){.c = c, .classes = classes, .pairs = classes * (classes - 1) / 2};
    bool given = imp_attr_ints(c, "vectors_per_class", &m->per_class);
    bool sane = true;
    for (uint32_t i = 0; given && i < m->per_class.n; i++) {
        sane = sane && m->per_class.at[i] >= 0 && m->per_class.at[i] <= 1 << 24;
        m->vectors += sane ? m->per_class.at[i] : 0;
    }
    const imp_attr *a = imp_attr_find(c, "support_vectors", IMP_A_FLOATS),
                   *rho = imp_attr_find(c, "rho", IMP_A_FLOATS);
    n_vectors = a ? (int64_t)a->floats.n : 0;
    m->w = imp_attr_find(c, "coefficients", IMP_A_FLOATS);
    bool pairwise = m->vectors > 0;
    int64_t have = m->w ? (int64_t)m->w->floats.n : 0, n_rho = rho ? (int64_t)rho->floats.n : 0;
    if (!c->bad && (classes < 2 || classes > 256 || !sane || m->pairs * m->vectors > 1 << 24 ||
                    n_rho < (pairwise ? m->pairs : 1) ||
                    (pairwise ? m->per_class.n != classes || n_vectors != m->vectors * features ||
                                    have != (classes - 1) * m->vectors
                              : have != classes * features)))
        imp_fail(c, "onnx-E009",
                 "%lld classes, %lld support vectors of %lld features, %lld coefficients and %lld entries of "
                 "rho do "
                 "not match",
                 (long long)classes, (long long)m->vectors, (long long)features, (long long)have,
                 (long long)n_rho);
    return !c->bad;
}

static tn_value with_opposite(imp_node *c, tn_value score)
{
    tn_value pair[2] = {imp_unary(c, &tn_op_negative, score), score};
    return imp_concat(c, 2, pair, 1);
}

/* Two classes without probabilities: above 0 (or 0.5 where no weight is below 0) it is the second. Else it is the one
 * with the larger score. */
static tn_value linear_choice(const machines *m, tn_value scores, bool probable)
{
    imp_node *c = m->c;
    tn_arg_attr first = {.axis = 1, .dtype = TN_I64};
    tn_value best = imp_call1(c, &tn_op_argmax, &first, scores);
    if (m->classes > 2 || probable)
        return best;
    bool positive = true;
    for (size_t i = 0; i < m->w->floats.n; i++)
        positive &= m->w->floats.at[i] >= 0;
    tn_value most = imp_reduce(c, &tn_op_max, scores, 1);
    tn_value second = positive ? imp_binary(c, &tn_op_greater_equal, most, f32(c, 0.5))
                               : imp_binary(c, &tn_op_greater, most, f32(c, 0));
    return imp_choose(c, second, imp_i64(c, 1), best);
}

/* The position of each class against each other in a row of what pairs (i, j) say for i, followed by what they say for
 * j: [classes, classes]; the diagonal is any. */
static tn_value sides_of_pairs(const machines *m)
{
    imp_node *c = m->c;
    int64_t k = m->classes, *at = TN_NEW_N(c->arena, int64_t, (size_t)(k * k)), pair = 0;
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = i + 1; j < k; j++, pair++) {
            at[i * k + j] = pair;
            at[j * k + i] = m->pairs + pair;
        }
    return imp_const_ints(c, TN_I64, 1, (uint32_t)(k * k), at);
}

/* Probabilities of classes: those of pairs are sigmoids of their scores, held off 0 and 1 as ONNX Runtime does. */
static tn_value probabilities(const machines *m, tn_value scores)
{
    imp_node *c = m->c;
    int64_t n_a, n_b;
    tn_value a = floats_attr(c, "prob_a", &n_a), b = floats_attr(c, "prob_b", &n_b);
    if (!c->bad && (n_a < m->pairs || n_b < m->pairs))
        imp_fail(c, "onnx-E009", "prob_a and prob_b have %lld and %lld entries for %lld pairs of classes",
                 (long long)n_a, (long long)n_b, (long long)m->pairs);
    if (c->bad)
        return scores;
    scores = imp_binary(c, &tn_op_multiply, scores, imp_slice(c, a, 0, 0, m->pairs));
    scores = imp_binary(c, &tn_op_add, scores, imp_slice(c, b, 0, 0, m->pairs));
    scores = imp_unary(c, &tn_op_sigmoid, imp_unary(c, &tn_op_negative, scores));
    scores = imp_with(c, &tn_op_minimum, imp_with(c, &tn_op_maximum, scores, 1e-7), 1 - 1e-7);
    tn_value both[2] = {scores, imp_binary(c, &tn_op_subtract, f32(c, 1), scores)},
             all = imp_concat(c, 2, both, 1);
    all = imp_take(c, all, sides_of_pairs(m), 1);
    const tn_expr *k = tn_idx(c->pool, m->classes), *dim[3] = {imp_type(scores)->dim[0], k, k};
    return imp_unary(c, &tn_op_nn_pairwise_coupling, imp_reshape(c, all, 3, dim));
}

/* How many features the vectors have, or the coefficients of a linear machine. */
static int64_t features_of_vectors(imp_node *c, int64_t classes)
{
    const imp_attr *vectors = imp_attr_find(c, "support_vectors", IMP_A_FLOATS),
                   *w = imp_attr_find(c, "coefficients", IMP_A_FLOATS);
    tn_ints per_class;
    int64_t n = 0;
    if (imp_attr_ints(c, "vectors_per_class", &per_class))
        for (uint32_t i = 0; i < per_class.n; i++)
            n += per_class.at[i] > 0 && per_class.at[i] < 1 << 24 ? per_class.at[i] : 0;
    if (n > 0)
        return vectors ? (int64_t)vectors->floats.n / n : 0;
    return w && classes > 0 ? (int64_t)w->floats.n / classes : 0;
}

static void svm_classifier(imp_node *c)
{
    int64_t features = 1, classes, n;
    bool probable = imp_has_attr(c, "prob_a") || imp_has_attr(c, "prob_b");
    machines m;
    tn_value best, labels = onnx_ml_labels(c, "classlabels_ints", &classes),
                   x = samples(c, features_of_vectors(c, classes), &features);
    const char *kind = imp_attr_string(c, "post_transform", "NONE");
    const tn_dense_attr dense = {0};
    if (c->bad || !read_machines(c, &m, classes, features))
        return;
    tn_value rho = floats_attr(c, "rho", &n), w = floats_attr(c, "coefficients", &n), y;
    if (m.vectors == 0) {
        imp_attr_ignore(c, "kernel_type");
        imp_attr_ignore(c, "kernel_params");
        imp_attr_ignore(c, "prob_a");
        imp_attr_ignore(c, "prob_b");
        y = imp_call2(c, &tn_op_nn_dense, &dense, x, shaped(c, w, classes, features));
        y = imp_binary(c, &tn_op_add, y, imp_slice(c, rho, 0, 0, 1));
        best = linear_choice(&m, y, probable);
        y = onnx_ml_transform(c, y, kind);
    } else {
        tn_value vectors = shaped(c, floats_attr(c, "support_vectors", &n), m.vectors, features);
        y = kernel(c, x, vectors, features);
        y = imp_call2(c, &tn_op_nn_dense, &dense, y, pair_weights(&m));
        y = imp_binary(c, &tn_op_add, y, imp_slice(c, rho, 0, 0, m.pairs));
        best = most_votes(&m, y);
        if (probable)
            y = onnx_ml_transform(c, probabilities(&m, y), kind);
        else if (classes > 2)
            y = onnx_ml_transform(c, y, kind);
        else
            y = strcmp(kind, "NONE") == 0 ? with_opposite(c, y) : both_scores(c, y, kind);
    }
    imp_out(c, 0, onnx_ml_label(c, labels, best));
    imp_out_any(c, 1, y);
}

/* ---- Scaler, Normalizer, Imputer, Binarizer ---- */

/* One number for all, or one a feature (the last dimension). */
static tn_value per_feature(imp_node *c, const char *name, double def)
{
    int64_t n, last;
    tn_value v = floats_attr(c, name, &n), x = imp_in(c, 0);
    if (!v.def || c->bad)
        return f32(c, def);
    const tn_type *t = imp_type(x);
    if (n != 1 && t->n && tn_is_int(t->dim[t->n - 1], &last) && last != n)
        imp_fail(c, "onnx-E009", "%s has %lld entries for %s", name, (long long)n, imp_type_text(c, t));
    return n == 1 ? imp_reshape(c, v, 0, NULL) : v;
}

static void scaler(imp_node *c)
{
    tn_value x = imp_cast(c, imp_in(c, 0), TN_F32);
    x = imp_binary(c, &tn_op_subtract, x, per_feature(c, "offset", 0));
    imp_out(c, 0, imp_binary(c, &tn_op_multiply, x, per_feature(c, "scale", 1)));
}

static void normalizer(imp_node *c)
{
    const char *norm = imp_attr_string(c, "norm", "MAX");
    tn_value x = imp_cast(c, imp_in(c, 0), TN_F32), size;
    int64_t axis = imp_rank(x) > 1;
    tn_axes_attr a = {tn_ints_make(c->arena, 1, &axis), true, false};
    if (strcmp(norm, "MAX") == 0)
        size = imp_call1(c, &tn_op_max, &a, x);
    else if (strcmp(norm, "L1") == 0)
        size = imp_call1(c, &tn_op_sum, &a, imp_unary(c, &tn_op_abs, x));
    else
        size = imp_unary(c, &tn_op_sqrt, imp_call1(c, &tn_op_sum, &a, imp_binary(c, &tn_op_multiply, x, x)));
    if (strcmp(norm, "MAX") != 0 && strcmp(norm, "L1") != 0 && strcmp(norm, "L2") != 0)
        imp_fail(c, "onnx-E009", "norm is \"%s\"; MAX, L1 and L2 are known", norm);
    tn_value none = imp_binary(c, &tn_op_equal, size, f32(c, 0));
    imp_out(c, 0, imp_binary(c, &tn_op_divide, x, imp_choose(c, none, f32(c, 1), size)));
}

static void imputer(imp_node *c)
{
    tn_value x = imp_in(c, 0), missing, with;
    bool real = tn_dtype_is_float(imp_type(x)->dtype);
    int64_t n;
    if (real) {
        double replaced = imp_attr_float(c, "replaced_value_float", 0);
        with = imp_has_attr(c, "imputed_value_floats") ? per_feature(c, "imputed_value_floats", 0)
                                                       : (tn_value){0};
        missing = isnan(replaced)
                      ? imp_unary(c, &tn_op_isnan, x)
                      : imp_binary(c, &tn_op_equal, x, imp_const(c, imp_type(x)->dtype, replaced));
    } else {
        int64_t replaced = imp_attr_int(c, "replaced_value_int64", 0);
        with = ints_attr(c, "imputed_value_int64s", &n);
        if (n == 1)
            with = imp_reshape(c, with, 0, NULL);
        tn_value whole = imp_cast(c, x, TN_I64);
        missing = imp_binary(c, &tn_op_equal, whole, imp_i64(c, replaced));
    }
    imp_attr_ignore(c, real ? "replaced_value_int64" : "replaced_value_float");
    imp_attr_ignore(c, real ? "imputed_value_int64s" : "imputed_value_floats");
    if (!with.def && !c->bad)
        imp_fail(c, "onnx-E007", "the imputed values are missing; the model is damaged");
    imp_out(c, 0, imp_choose(c, missing, imp_cast(c, with, imp_type(x)->dtype), x));
}

static void binarizer(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    double threshold = imp_attr_float(c, "threshold", 0);
    tn_value above = imp_with(c, &tn_op_greater, imp_cast(c, x, TN_F64), threshold);
    imp_out(c, 0, imp_cast(c, above, imp_type(x)->dtype));
}

/* ---- ArrayFeatureExtractor, FeatureVectorizer ---- */

static void array_feature_extractor(imp_node *c)
{
    tn_value x = imp_in(c, 0), at = imp_in(c, 1);
    if (c->bad)
        return;
    x = imp_rank(x) == 1 ? imp_unsqueeze(c, x, 0) : x;
    const tn_type *t = imp_type(x);
    if (t->n == 0)
        imp_fail(c, "onnx-E022", "the data must have a dimension");
    if (c->bad)
        return;
    tn_extent_attr inside = {tn_dims_make(c->arena, 1, &t->dim[t->n - 1])};
    imp_out(c, 0, imp_take(c, x, imp_call1(c, &tn_op_checked_index, &inside, imp_flat(c, at)), t->n - 1));
}

/* The first n columns of x and zeros behind them, where the run alone knows how many it has. */
static tn_value with_columns(imp_node *c, tn_value x, int64_t n)
{
    const tn_expr *dim[2] = {imp_type(x)->dim[0], tn_idx(c->pool, n)};
    tn_broadcast_to_attr rows = {tn_dims_make(c->arena, 2, dim)};
    tn_value both[2] = {x, imp_call1(c, &tn_op_broadcast_to, &rows, f32(c, 0))};
    return imp_slice(c, imp_concat(c, 2, both, 1), 1, 0, n);
}

/* Columns of all operands side by side; one with too few is filled with zeros, what is too much is left out. */
static void feature_vectorizer(imp_node *c)
{
    tn_ints size;
    uint32_t n = imp_n_in(c);
    tn_value *part = TN_NEW_N(c->arena, tn_value, n + 1);
    bool given = imp_attr_ints(c, "inputdimensions", &size);
    if (!given || size.n != n || n == 0)
        imp_fail(c, "onnx-E009", "inputdimensions has %u entries for %u operands",
                 given ? (unsigned)size.n : 0, (unsigned)n);
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        tn_value x = imp_cast(c, imp_in(c, i), TN_F32);
        const tn_type *t = imp_type(x);
        int64_t have = 0;
        const tn_expr *dim[2] = {t->n > 1 ? t->dim[0] : tn_idx(c->pool, 1),
                                 imp_product(c, t, t->n > 1, t->n)};
        bool known = tn_is_int(dim[1], &have);
        if (size.at[i] < 0 || size.at[i] > 1 << 24)
            imp_fail(c, "onnx-E009", "%lld features of %s are asked for", (long long)size.at[i],
                     imp_type_text(c, t));
        if (c->bad)
            return;
        x = t->n == 2 ? x : imp_reshape(c, x, 2, dim);
        if (!known) {
            part[i] = with_columns(c, x, size.at[i]);
            continue;
        }
        const tn_expr *zero = tn_idx(c->pool, 0),
                      *width[4] = {zero, zero, zero, tn_idx(c->pool, size.at[i] - have)};
        tn_pad_attr pad = {tn_dims_make(c->arena, 4, width), 0, "constant"};
        part[i] = have == size.at[i] ? x : imp_call1(c, &tn_op_nn_pad, &pad, x);
    }
    imp_out(c, 0, c->bad ? (tn_value){0} : imp_concat(c, n, part, 1));
}

/* ---- OneHotEncoder, LabelEncoder ---- */

static void check_keys(imp_node *c, tn_value x, tn_value keys)
{
    if (!c->bad && imp_is_text(x) != imp_is_text(keys))
        imp_fail(c, "onnx-E086", "operand 0 is %s, but the keys are %s", imp_type_text(c, imp_type(x)),
                 imp_is_text(keys) ? "strings" : "numbers");
}

static void one_hot_encoder(imp_node *c)
{
    int64_t n;
    bool zeros = imp_attr_int(c, "zeros", 1) != 0, texts = imp_has_attr(c, "cats_strings");
    tn_value x = imp_in(c, 0),
             cats = texts ? onnx_texts_attr(c, "cats_strings", &n) : ints_attr(c, "cats_int64s", &n), same;
    if (!cats.def && !c->bad)
        imp_fail(c, "onnx-E007", "attribute cats_int64s is missing; the model is damaged");
    check_keys(c, x, cats);
    if (c->bad)
        return;
    if (texts) {
        tn_value at = imp_unsqueeze(c, imp_binary(c, &tn_op_string_find, x, cats), imp_rank(x));
        same = imp_binary(c, &tn_op_equal, at, imp_count_up(c, tn_idx(c->pool, n)));
    } else
        same = imp_binary(c, &tn_op_equal, imp_unsqueeze(c, imp_cast(c, x, TN_I64), imp_rank(x)), cats);
    if (!zeros) {
        tn_value found = imp_reduce(c, &tn_op_max, imp_cast(c, same, TN_I64), imp_rank(x));
        found = c->bad || imp_rank(found) == 0 ? found : imp_reduce(c, &tn_op_min, imp_flat(c, found), 0);
        imp_demand(c, found, 1,
                   texts ? "a category is not one of cats_strings" : "a category is not one of cats_int64s");
    }
    imp_out(c, 0, imp_cast(c, same, TN_F32));
}

/* Keys or values of a LabelEncoder, from whichever attribute holds them; what: "keys" or "values". */
static tn_value table_of(imp_node *c, const char *what, int64_t *out_n)
{
    static const char *const kinds[] = {"int64s", "floats", "strings", "tensor"};
    int i = 0;
    const char *at;
    *out_n = 0;
    do
        at = tn_arena_printf(c->arena, "%s_%s", what, kinds[i]);
    while (!imp_has_attr(c, at) && ++i < 4);
    if (i < 3)
        return i == 0   ? ints_attr(c, at, out_n)
               : i == 1 ? floats_attr(c, at, out_n)
                        : onnx_texts_attr(c, at, out_n);
    const onnx_tensor *t = i == 3 ? onnx_attr_tensor(c, at) : NULL;
    if (!t) {
        imp_fail(c, "onnx-E007", "attribute %s_tensor, or one of its kin, is missing; the model is damaged",
                 what);
        return (tn_value){0};
    }
    tn_node *k = onnx_any_constant(c->im, t, c->loc->node, c->loc);
    c->bad = c->bad || !k;
    if (k && (imp_rank(tn_val(k)) != 1 || !tn_is_int(k->type[0]->dim[0], out_n)))
        imp_fail(c, "onnx-E009", "%s is %s, but must be a list", at, imp_type_text(c, k->type[0]));
    return c->bad ? (tn_value){0} : tn_val(k);
}

/* What an element without a key becomes: one element of type t. */
static tn_value default_of(imp_node *c, tn_dtype t)
{
    const onnx_tensor *given =
        imp_has_attr(c, "default_tensor") ? onnx_attr_tensor(c, "default_tensor") : NULL;
    double real = imp_attr_float(c, "default_float", -0.0f);
    int64_t whole = imp_attr_int(c, "default_int64", -1);
    const char *text = imp_attr_string(c, "default_string", "_Unused");
    if (!given && tn_dtype_is_string(t))
        return imp_const_text(c, text);
    if (!given)
        return tn_dtype_is_float(t) ? imp_const(c, t, real) : imp_cast(c, imp_i64(c, whole), t);
    tn_node *k = onnx_any_constant(c->im, given, c->loc->node, c->loc);
    c->bad = c->bad || !k;
    if (k && tn_dtype_is_string(t) != imp_is_text(tn_val(k)))
        imp_fail(c, "onnx-E009", "default_tensor is %s, but the values are %s", imp_type_text(c, k->type[0]),
                 tn_dtype_is_string(t) ? "strings" : "numbers");
    if (c->bad || tn_dtype_is_string(t))
        return c->bad ? (tn_value){0} : tn_val(k);
    return imp_cast(c, imp_reshape(c, tn_val(k), 0, NULL), t);
}

/* The value of the last key that equals an element, else the default. */
static void label_encoder(imp_node *c)
{
    int64_t n_keys, n_values;
    tn_value x = imp_in(c, 0), keys = table_of(c, "keys", &n_keys), values = table_of(c, "values", &n_values);
    if (!c->bad && (n_keys != n_values || n_keys < 1))
        imp_fail(c, "onnx-E009", "there are %lld keys and %lld values", (long long)n_keys,
                 (long long)n_values);
    check_keys(c, x, keys);
    if (c->bad)
        return;
    tn_value at = imp_is_text(x) ? imp_find_text(c, x, keys, n_keys)
                                 : imp_find_number(c, x, keys, n_keys, c->version >= 4);
    imp_out(c, 0, imp_looked_up(c, default_of(c, imp_type(values)->dtype), values, at));
}

/* Strings to integers, or integers to strings, by two lists of n elements. */
static void map_category(imp_node *c, tn_value texts, tn_value ints, int64_t n)
{
    int64_t whole = imp_attr_int(c, "default_int64", -1);
    const char *text = imp_attr_string(c, "default_string", "_Unused");
    tn_value x = imp_in(c, 0);
    if (!c->bad && n < 1)
        imp_fail(c, "onnx-E009", "there are no categories");
    if (c->bad)
        return;
    bool from_text = imp_is_text(x);
    tn_value rest = from_text ? imp_i64(c, whole) : imp_const_text(c, text);
    tn_value at = from_text ? imp_find_text(c, x, texts, n)
                            : imp_find_number(c, imp_cast(c, x, TN_I64), ints, n, false);
    imp_out(c, 0, imp_looked_up(c, rest, from_text ? ints : texts, at));
}

static void category_mapper(imp_node *c)
{
    int64_t n, n_texts;
    tn_value texts = onnx_texts_attr(c, "cats_strings", &n_texts), ints = ints_attr(c, "cats_int64s", &n);
    if (!c->bad && n != n_texts)
        imp_fail(c, "onnx-E009", "there are %lld strings and %lld integers", (long long)n_texts,
                 (long long)n);
    map_category(c, texts, ints, n);
}

/* Version 1: strings to their numbers in a list, or the other way. */
static void label_encoder_1(imp_node *c)
{
    int64_t n;
    tn_value texts = onnx_texts_attr(c, "classes_strings", &n);
    map_category(c, texts, c->bad ? texts : imp_count_up(c, tn_idx(c->pool, n)), n);
}

// clang-format off
const imp_row onnx_rows_ml[] = {
    {"ArrayFeatureExtractor", 1, 0,  2, 1, array_feature_extractor, NULL},
    {"Binarizer",             1, 0,  1, 1, binarizer,               NULL},
    {"FeatureVectorizer",     1, 0, -1, 1, feature_vectorizer,      NULL},
    {"Imputer",               1, 0,  1, 1, imputer,                 NULL},
    {"LabelEncoder",          1, 1,  1, 1, label_encoder_1,         NULL},
    {"LabelEncoder",          2, 0,  1, 1, label_encoder,           NULL},
    {"CategoryMapper",        1, 0,  1, 1, category_mapper,         NULL},
    {"LinearClassifier",      1, 0,  1, 2, linear_classifier,       NULL},
    {"LinearRegressor",       1, 0,  1, 1, linear_regressor,        NULL},
    {"Normalizer",            1, 0,  1, 1, normalizer,              NULL},
    {"OneHotEncoder",         1, 0,  1, 1, one_hot_encoder,         NULL},
    {"SVMClassifier",         1, 0,  1, 2, svm_classifier,          NULL},
    {"SVMRegressor",          1, 0,  1, 1, svm_regressor,           NULL},
    {"Scaler",                1, 0,  1, 1, scaler,                  NULL},
    {0},
};
// clang-format on
