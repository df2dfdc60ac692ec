/* Losses: elements, then what is made of them (0: nothing, 1: the mean, 2: the sum). */
#include "frontend/pytorch/ops.h"

#include <math.h>

static tn_ints all_axes(imp_node *c, tn_value v) { return pt_axes(c, PT_MAX_ARG - 1, imp_rank(v)); }

static tn_value sum_all(imp_node *c, tn_value v) { return pt_sum(c, &tn_op_sum, v, all_axes(c, v), false); }

tn_value pt_reduction(imp_node *c, tn_value v, int64_t how)
{
    return how == 0 ? v : pt_sum(c, how == 1 ? &tn_op_mean : &tn_op_sum, v, all_axes(c, v), false);
}

static tn_value minus(imp_node *c, tn_value v) { return imp_unary(c, &tn_op_negative, v); }

static tn_value plus(imp_node *c, tn_value v, double d) { return pt_add(c, v, pt_num(c, v, d)); }

static tn_value times(imp_node *c, tn_value v, double d) { return pt_mul(c, v, pt_num(c, v, d)); }

static tn_value at_least(imp_node *c, tn_value v, double d) { return pt_max(c, v, pt_num(c, v, d)); }

static tn_value one_minus(imp_node *c, tn_value v) { return pt_sub(c, pt_num(c, v, 1), v); }

static tn_value is(imp_node *c, tn_value v, double d)
{
    return imp_binary(c, &tn_op_equal, v, pt_num(c, v, d));
}

static void give(imp_node *c, tn_value loss, int reduction)
{
    pt_out(c, pt_reduction(c, loss, pt_integer(c, reduction)));
}

/* ---- distances: (input, target, reduction, parameter) ---- */

static tn_value distance(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    return imp_unary(c, &tn_op_abs, pt_sub(c, v[0], v[1]));
}

static void squared(imp_node *c)
{
    tn_value d = distance(c);
    give(c, pt_mul(c, d, d), 2);
}

static void absolute(imp_node *c) { give(c, distance(c), 2); }

/* Squares near 0, straight lines elsewhere: smooth_l1_loss(beta), huber_loss(delta). */
static void bent(imp_node *c)
{
    tn_value d = distance(c);
    double at = pt_real(c, 3), scale = pt_starts(c, "smooth") ? at : 1;
    if (at == 0) {
        give(c, d, 2);
        return;
    }
    tn_value near = times(c, pt_mul(c, d, d), 0.5 / scale), far = times(c, plus(c, d, -at / 2), at / scale);
    give(c, imp_choose(c, imp_binary(c, &tn_op_less, d, pt_num(c, d, at)), near, far), 2);
}

/* ---- probabilities ---- */

/* binary_cross_entropy(x, target, weight, reduction); logarithms are at least -100 */
static void cross_entropy_of_bits(imp_node *c)
{
    tn_value x = pt_in(c, 0), t = pt_in(c, 1), w = pt_in(c, 2);
    tn_value yes = at_least(c, imp_unary(c, &tn_op_log, x), -100),
             no = at_least(c, pt_log1p(c, minus(c, x)), -100);
    tn_value part = pt_mul(c, one_minus(c, t), no);
    tn_value loss = minus(c, pt_add(c, pt_mul(c, t, yes), part));
    give(c, w.def ? pt_mul(c, loss, w) : loss, 3);
}

/* (x, target, weight, pos_weight, reduction) */
static void cross_entropy_of_logits(imp_node *c)
{
    tn_value x = pt_in(c, 0), t = pt_in(c, 1), w = pt_in(c, 2), p = pt_in(c, 3);
    tn_value soft = imp_unary(c, &tn_op_nn_softplus, minus(c, x));
    if (p.def)
        soft = pt_mul(c, plus(c, pt_mul(c, t, plus(c, p, -1)), 1), soft);
    tn_value loss = pt_add(c, pt_mul(c, one_minus(c, t), x), soft);
    give(c, w.def ? pt_mul(c, loss, w) : loss, 4);
}

/* t log(t), 0 at 0 */
static tn_value self_entropy(imp_node *c, tn_value t)
{
    tn_value none = is(c, t, 0), zero = pt_num(c, t, 0);
    return imp_choose(c, none, zero, pt_mul(c, t, imp_unary(c, &tn_op_log, t)));
}

/* kl_div(x, target, reduction, log_target) */
static void divergence(imp_node *c)
{
    tn_value x = pt_float_in(c, 0), t = pt_float_in(c, 1);
    tn_value loss;
    if (pt_truth(c, 3)) {
        tn_value p = imp_unary(c, &tn_op_exp, t);
        loss = pt_mul(c, p, pt_sub(c, t, x));
    } else {
        tn_value own = self_entropy(c, t);
        loss = pt_sub(c, own, pt_mul(c, t, x));
    }
    give(c, loss, 2);
}

/* poisson_nll_loss(x, target, log_input, full, eps, reduction) */
static void poisson(imp_node *c)
{
    tn_value x = pt_float_in(c, 0), t = imp_cast(c, pt_in(c, 1), imp_type(x)->dtype);
    tn_value log = pt_truth(c, 2) ? x : imp_unary(c, &tn_op_log, plus(c, x, pt_real(c, 4)));
    tn_value rate = pt_truth(c, 2) ? imp_unary(c, &tn_op_exp, x) : x;
    tn_value loss = pt_sub(c, rate, pt_mul(c, t, log));
    if (pt_truth(c, 3)) { /* Stirling's formula */
        tn_value own = pt_sub(c, pt_mul(c, t, imp_unary(c, &tn_op_log, t)), t);
        tn_value more =
            pt_add(c, own, times(c, imp_unary(c, &tn_op_log, times(c, t, 6.28318530717958647693)), 0.5));
        tn_value small = imp_binary(c, &tn_op_less_equal, t, pt_num(c, t, 1)), zero = pt_num(c, t, 0);
        loss = pt_add(c, loss, imp_choose(c, small, zero, more));
    }
    give(c, loss, 5);
}

/* ---- margins ---- */

/* hinge_embedding_loss(x, target, margin, reduction) */
static void hinge(imp_node *c)
{
    tn_value x = pt_in(c, 0), t = pt_in(c, 1), zero = pt_num(c, x, 0);
    tn_value room = at_least(c, pt_sub(c, pt_num(c, x, pt_real(c, 2)), x), 0);
    tn_value apart = imp_choose(c, is(c, t, 1), zero, room), same = imp_choose(c, is(c, t, -1), zero, x);
    give(c, pt_add(c, apart, same), 3);
}

/* margin_ranking_loss(a, b, target, margin, reduction) */
static void ranking(imp_node *c)
{
    tn_value v[2], t = pt_in(c, 2);
    pt_pair(c, 0, 1, v);
    tn_value d = pt_sub(c, v[1], v[0]);
    d = imp_cast(c, d, pt_float_type(imp_type(d)->dtype));
    double margin = pt_real(c, 3);
    d = pt_mul(c, imp_cast(c, t, imp_type(d)->dtype), d);
    give(c, at_least(c, plus(c, d, margin), 0), 4);
}

static void soft_margin(imp_node *c)
{
    tn_value x = pt_in(c, 0), t = imp_cast(c, pt_in(c, 1), imp_type(x)->dtype);
    give(c, pt_log1p(c, imp_unary(c, &tn_op_exp, minus(c, pt_mul(c, t, x)))), 2);
}

/* cosine_embedding_loss(a, b, target, margin, reduction) */
static void cosine_embedding(imp_node *c)
{
    tn_value a = pt_float_in(c, 0), b = pt_float_in(c, 1), t = pt_in(c, 2);
    int64_t axis = imp_rank(t) ? 1 : 0;
    tn_ints along = tn_ints_make(c->arena, 1, &axis);
    if (imp_rank(a) <= axis || imp_rank(b) <= axis) {
        imp_refuse(c, IMP_OPERANDS, "cosine_embedding_loss of %d dimensions", imp_rank(a));
        return;
    }
    tn_value ab = pt_sum(c, &tn_op_sum, pt_mul(c, a, b), along, false);
    tn_value aa = plus(c, pt_sum(c, &tn_op_sum, pt_mul(c, a, a), along, false), 1e-12);
    tn_value bb = plus(c, pt_sum(c, &tn_op_sum, pt_mul(c, b, b), along, false), 1e-12);
    tn_value cos = pt_div(c, ab, imp_unary(c, &tn_op_sqrt, pt_mul(c, aa, bb))), zero = pt_num(c, cos, 0);
    tn_value apart = at_least(c, plus(c, cos, -pt_real(c, 3)), 0), near = one_minus(c, cos);
    near = imp_choose(c, is(c, t, 1), near, zero);
    give(c, pt_add(c, near, imp_choose(c, is(c, t, -1), apart, zero)), 4);
}

static tn_value between(imp_node *c, tn_value a, tn_value b, double p, double eps)
{
    tn_value d = plus(c, pt_sub(c, a, b), eps);
    int64_t last = imp_rank(d) - 1;
    return pt_norm(c, d, p, tn_ints_make(c->arena, 1, &last), false);
}

/* triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction) */
static void triplet(imp_node *c)
{
    tn_value a = pt_float_in(c, 0), near = pt_float_in(c, 1), far = pt_float_in(c, 2);
    double margin = pt_real(c, 3), p = pt_real(c, 4), eps = pt_real(c, 5);
    if (!imp_rank(a)) {
        imp_refuse(c, IMP_OPERANDS, "triplet_margin_loss of scalars");
        return;
    }
    tn_value to_near = between(c, a, near, p, eps), to_far = between(c, a, far, p, eps);
    if (pt_truth(c, 6))
        to_far = pt_min(c, to_far, between(c, near, far, p, eps));
    give(c, at_least(c, plus(c, pt_sub(c, to_near, to_far), margin), 0), 7);
}

/* The samples as rows: [n, classes]. */
static tn_value rows_of(imp_node *c, tn_value v) { return imp_rank(v) < 2 ? pt_broadcast_rank(c, v, 2) : v; }

/* multi_margin_loss(x, target, p, margin, weight, reduction): the class itself would add margin^p */
static void multi_margin(imp_node *c)
{
    tn_value x = pt_in(c, 0), t = pt_in(c, 1), w = pt_in(c, 4), rows = rows_of(c, x);
    double p = pt_real(c, 2), margin = pt_real(c, 3);
    int64_t last = 1;
    if (imp_rank(x) > 2) {
        imp_refuse(c, IMP_OPERANDS, "multi_margin_loss of %d dimensions", imp_rank(x));
        return;
    }
    const tn_expr *classes = imp_type(rows)->dim[1];
    tn_value at = pt_from_end(c, imp_unsqueeze(c, imp_flat(c, t), 1), classes);
    tn_value own = pt_gather(c, rows, at, 1);
    tn_value d = at_least(c, plus(c, pt_sub(c, rows, own), margin), 0);
    d = p == 2 ? pt_mul(c, d, d) : d;
    d = w.def ? pt_mul(c, d, imp_take(c, w, at, 0)) : d;
    tn_value self = imp_binary(c, &tn_op_equal, at, imp_count_up(c, classes)), zero = pt_num(c, x, 0);
    tn_value s =
        pt_sum(c, &tn_op_mean, imp_choose(c, self, zero, d), tn_ints_make(c->arena, 1, &last), false);
    give(c, imp_rank(x) < 2 && !imp_rank(t) ? imp_reshape(c, s, 0, NULL) : s, 5);
}

/* multilabel_margin_loss(x, target, reduction): classes are listed up to the first -1 */
static void multilabel_margin(imp_node *c)
{
    tn_value x = pt_in(c, 0), t = pt_in(c, 1), rows = rows_of(c, x), zero = pt_num(c, x, 0);
    if (imp_rank(x) > 2) {
        imp_refuse(c, IMP_OPERANDS, "multilabel_margin_loss of %d dimensions", imp_rank(x));
        return;
    }
    const tn_expr *classes = imp_type(rows)->dim[1];
    t = rows_of(c, t);
    tn_scan_attr run = {1, false, false};
    tn_value given = imp_cast(c, imp_binary(c, &tn_op_greater_equal, t, pt_num(c, t, 0)), TN_I32);
    tn_value listed = imp_cast(c, imp_call1(c, &tn_op_cumprod, &run, given), TN_BOOL1);
    tn_value at = pt_from_end(c, imp_choose(c, listed, t, pt_num(c, t, 0)), classes); /* [n, k] */
    tn_value each = imp_unsqueeze(c, at, 2);
    tn_value hit = imp_binary(c, &tn_op_equal, each, imp_count_up(c, classes));
    hit = imp_binary(c, &tn_op_logical_and, hit, imp_unsqueeze(c, listed, 2)); /* [n, k, classes] */
    int64_t k = 1, both[2] = {1, 2};
    tn_value is_target = pt_sum(c, &tn_op_max, imp_cast(c, hit, TN_I32), tn_ints_make(c->arena, 1, &k), true);
    tn_value own = imp_unsqueeze(c, pt_gather(c, rows, at, 1), 2);
    tn_value d = at_least(c, one_minus(c, pt_sub(c, own, imp_unsqueeze(c, rows, 1))), 0);
    tn_value counts =
        imp_binary(c, &tn_op_greater, imp_cast(c, imp_unsqueeze(c, listed, 2), TN_I32), is_target);
    d = imp_choose(c, counts, d, zero);
    tn_value n = imp_cast(c, imp_extent_of(c, rows, 1), imp_type(x)->dtype);
    tn_value s = pt_div(c, pt_sum(c, &tn_op_sum, d, tn_ints_make(c->arena, 2, both), false), n);
    give(c, imp_rank(x) < 2 ? imp_reshape(c, s, 0, NULL) : s, 2);
}

/* ---- classes ---- */

typedef struct classes {
    tn_value x;              /* logarithms of probabilities */
    tn_value at, w;          /* classes that are there, and what each target weighs */
    int axis;                /* of the classes */
    tn_value weight, counts; /* by class, or absent; where the target is not to be ignored */
} classes;

static classes read_classes(imp_node *c, tn_value x, int target, int weight, int ignored)
{
    classes k = {.x = x, .axis = imp_rank(x) > 1, .weight = pt_in(c, weight)};
    tn_value t = imp_cast(c, pt_in(c, target), TN_I64), zero = imp_i64(c, 0), none = pt_num(c, x, 0);
    if (!imp_rank(x) || imp_rank(t) != imp_rank(x) - 1) {
        imp_refuse(c, IMP_OPERANDS, "targets of %d dimensions for %d", imp_rank(t), imp_rank(x));
        return k;
    }
    k.counts = imp_binary(c, &tn_op_not_equal, t, imp_i64(c, pt_integer(c, ignored)));
    tn_extent_attr a = {tn_dims_make(c->arena, 1, &imp_type(x)->dim[k.axis])};
    k.at = imp_call1(c, &tn_op_checked_index, &a, imp_choose(c, k.counts, t, zero));
    tn_value w = k.weight.def ? imp_take(c, k.weight, k.at, 0) : pt_num(c, x, 1);
    k.w = imp_choose(c, k.counts, w, none);
    return k;
}

/* The loss, and in *total what the targets weigh. */
static tn_value likelihood(imp_node *c, const classes *k, int64_t how, tn_value *total)
{
    tn_value p = imp_squeeze(c, pt_gather(c, k->x, imp_unsqueeze(c, k->at, k->axis), k->axis), k->axis);
    tn_value loss = minus(c, pt_mul(c, p, k->w)), zero = pt_num(c, p, 0);
    loss = imp_choose(c, k->counts, loss, zero);
    *total = sum_all(c, k->w);
    return how == 0 ? loss : how == 2 ? sum_all(c, loss) : pt_div(c, sum_all(c, loss), *total);
}

/* nll_loss(x, target, weight, reduction, ignore_index) */
static void nll(imp_node *c)
{
    tn_value x = pt_in(c, 0), total;
    classes k = read_classes(c, x, 1, 2, 4);
    int64_t how = pt_integer(c, 3);
    tn_value loss = likelihood(c, &k, how, &total);
    if (strstr(pt_of(c)->row->schema, "_forward("))
        pt_out_many(c, PT_TUPLE, 2, (const tn_value[]){loss, how ? total : pt_num(c, x, 0)});
    else
        pt_out(c, loss);
}

/* By class, where it is: along the axis of the classes. */
static tn_value weighed(imp_node *c, tn_value v, tn_value weight, int axis)
{
    const tn_expr *dim[IMP_MAX_RANK];
    if (weight.def && !c->bad && imp_rank(weight) != 1)
        imp_refuse(c, IMP_OPERANDS, "the weights of the classes are %s, but must be a list",
                   imp_type_text(c, imp_type(weight)));
    if (c->bad)
        return v;
    for (int d = 0; d < imp_rank(v); d++)
        dim[d] = d == axis && weight.def ? imp_type(weight)->dim[0] : tn_idx(c->pool, 1);
    return weight.def ? pt_mul(c, v, imp_reshape(c, weight, imp_rank(v), dim)) : v;
}

/* Targets are probabilities of each class. */
static tn_value of_probabilities(imp_node *c, tn_value x, int64_t how, double smoothing)
{
    tn_value t = pt_in(c, 1), weight = pt_in(c, 2), n = imp_i64(c, 1);
    int64_t axis = imp_rank(x) > 1;
    tn_value each = imp_cast(c, imp_extent_of(c, x, (int)axis), imp_type(x)->dtype);
    if (smoothing > 0) {
        tn_value kept = times(c, t, 1 - smoothing);
        t = pt_add(c, kept, pt_div(c, pt_num(c, x, smoothing), each));
    }
    for (int d = 0; d < imp_rank(x); d++)
        n = d == axis ? n : pt_mul(c, n, imp_extent_of(c, x, d));
    tn_value loss = minus(c, weighed(c, pt_mul(c, x, t), weight, (int)axis));
    if (how == 0)
        return pt_sum(c, &tn_op_sum, loss, tn_ints_make(c->arena, 1, &axis), false);
    loss = sum_all(c, loss);
    return how == 2 ? loss : pt_div(c, loss, imp_cast(c, n, imp_type(x)->dtype));
}

/* cross_entropy_loss(x, target, weight, reduction, ignore_index, label_smoothing) */
static void cross_entropy(imp_node *c)
{
    tn_value x = pt_in(c, 0), total;
    int64_t axis = imp_rank(x) > 1, how = pt_integer(c, 3);
    double smoothing = pt_real(c, 5);
    bool probabilities = imp_rank(pt_in(c, 1)) == imp_rank(x) && imp_rank(x) > 0;
    if (!imp_rank(x)) {
        imp_refuse(c, IMP_OPERANDS, "cross_entropy_loss of a scalar");
        return;
    }
    x = pt_softmax_of(c, &tn_op_nn_log_softmax, x, (int)axis);
    if (probabilities) {
        pt_out(c, of_probabilities(c, x, how, smoothing));
        return;
    }
    classes k = read_classes(c, x, 1, 2, 4);
    tn_value loss = likelihood(c, &k, how, &total);
    if (smoothing > 0) {
        tn_value zero = pt_num(c, x, 0);
        tn_value each = pt_sum(c, &tn_op_sum, weighed(c, x, k.weight, (int)axis),
                               tn_ints_make(c->arena, 1, &axis), false);
        tn_value s = imp_choose(c, k.counts, minus(c, each), zero);
        s = how == 0 ? s : sum_all(c, s);
        s = how == 1 ? pt_div(c, s, total) : s;
        tn_value n = imp_cast(c, imp_extent_of(c, x, (int)axis), imp_type(x)->dtype);
        tn_value part = pt_mul(c, s, pt_div(c, pt_num(c, x, smoothing), n));
        loss = pt_add(c, times(c, loss, 1 - smoothing), part);
    }
    pt_out(c, loss);
}

#define PAIR(name, f) {name "(Tensor self, Tensor target, int reduction=1)", f, NULL, 0}
#define NLL(name) \
    {name "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100)", nll, \
     NULL, 0}
const pt_row pt_rows_loss[] = {
    PAIR("mse_loss", squared),
    PAIR("l1_loss", absolute),
    PAIR("soft_margin_loss", soft_margin),
    PAIR("multilabel_margin_loss", multilabel_margin),
    {"smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0)", bent, NULL, 0},
    {"huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0)", bent, NULL, 0},
    {"binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)",
     cross_entropy_of_bits, NULL, 0},
    {"binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? "
     "pos_weight=None, int reduction=1)",
     cross_entropy_of_logits, NULL, 0},
    {"kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False)", divergence, NULL, 0},
    {"poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction)",
     poisson, NULL, 0},
    {"hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=1)", hinge, NULL, 0},
    {"margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1)",
     ranking, NULL, 0},
    {"cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1)",
     cosine_embedding, NULL, 0},
    {"triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, "
     "float "
     "eps=1e-06, bool swap=False, int reduction=1)",
     triplet, NULL, 0},
    {"multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int "
     "reduction=1)",
     multi_margin, NULL, 0},
    NLL("nll_loss"),
    NLL("nll_loss_nd"),
    NLL("nll_loss2d"),
    NLL("nll_loss_forward"),
    NLL("nll_loss2d_forward"),
    {"cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int "
     "ignore_index=-100, float label_smoothing=0.0)",
     cross_entropy, NULL, 0},
    {0},
};
