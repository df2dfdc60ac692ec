/* Activations of recurrent cells, by name. */
#include "op/nn/rnn_activation.h"

#include <stdlib.h>
#include <string.h>

typedef struct rnn_function {
    const char *name;
    const tn_expr *(*make)(tn_pool *p, const tn_expr *x, const tn_expr *a, const tn_expr *b);
    double alpha, beta; /* where none is given */
} rnn_function;

static const tn_expr *one(tn_pool *p, const tn_expr *x) { return tn_const(p, x->dtype, 1); }
static const tn_expr *zero(tn_pool *p, const tn_expr *x) { return tn_const(p, x->dtype, 0); }
static const tn_expr *divide(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_DIV, a, b);
}

#define ACTIVATION(id, expr) \
    static const tn_expr *make_##id(tn_pool *p, const tn_expr *x, const tn_expr *a, const tn_expr *b) \
    { \
        (void)a; \
        (void)b; \
        return expr; \
    }
ACTIVATION(sigmoid, tn_intrinsic1(p, TN_F_sigmoid, x))
ACTIVATION(tanh, tn_intrinsic1(p, TN_F_tanh, x))
ACTIVATION(relu, tn_max(p, x, zero(p, x)))
ACTIVATION(affine, tn_add(p, tn_mul(p, a, x), b))
ACTIVATION(leaky, tn_select(p, tn_lt(p, x, zero(p, x)), tn_mul(p, a, x), x))
ACTIVATION(threshold, tn_select(p, tn_lt(p, a, x), x, zero(p, x)))
ACTIVATION(scaled, tn_mul(p, a, tn_intrinsic1(p, TN_F_tanh, tn_mul(p, b, x))))
ACTIVATION(hard, tn_max(p, tn_min(p, tn_add(p, tn_mul(p, a, x), b), one(p, x)), zero(p, x)))
ACTIVATION(elu, tn_select(p, tn_lt(p, x, zero(p, x)),
                          tn_mul(p, a, tn_sub(p, tn_intrinsic1(p, TN_F_exp, x), one(p, x))), x))
ACTIVATION(softsign, divide(p, x, tn_add(p, one(p, x), tn_intrinsic1(p, TN_F_abs, x))))
/* max(x, 0) + log(1 + exp(-|x|)): does not overflow */
ACTIVATION(softplus,
           tn_add(p, tn_max(p, x, zero(p, x)),
                  tn_intrinsic1(p, TN_F_log,
                                tn_add(p, one(p, x),
                                       tn_intrinsic1(p, TN_F_exp,
                                                     tn_sub(p, zero(p, x), tn_intrinsic1(p, TN_F_abs, x)))))))
#undef ACTIVATION

static const rnn_function activations[] = {
    {"sigmoid", make_sigmoid, 0, 0},
    {"tanh", make_tanh, 0, 0},
    {"relu", make_relu, 0, 0},
    {"affine", make_affine, 1, 0},
    {"leakyrelu", make_leaky, 0.01, 0},
    {"thresholdedrelu", make_threshold, 1, 0},
    {"scaledtanh", make_scaled, 1, 1},
    {"hardsigmoid", make_hard, 0.2, 0.5},
    {"elu", make_elu, 1, 0},
    {"softsign", make_softsign, 0, 0},
    {"softplus", make_softplus, 0, 0},
};

bool rnn_activation_read(const char **text, rnn_activation *out)
{
    const char *s = *text + strspn(*text, " ");
    size_t n = strcspn(s, " :");
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strlen(activations[i].name) == n && memcmp(activations[i].name, s, n) == 0)
            *out = (rnn_activation){&activations[i], activations[i].alpha, activations[i].beta};
    if (n == 0 || !out->of)
        return false;
    s += n;
    double *value[] = {&out->alpha, &out->beta};
    for (int k = 0; k < 2 && *s == ':'; k++) {
        char *end;
        *value[k] = strtod(s + 1, &end);
        if (end == s + 1)
            return false;
        s = end;
    }
    *text = s;
    return *s == 0 || *s == ' ';
}

const tn_expr *rnn_activation_of(tn_pool *p, const rnn_activation *a, const tn_expr *x)
{
    return a->of->make(p, x, tn_const(p, x->dtype, a->alpha), tn_const(p, x->dtype, a->beta));
}
