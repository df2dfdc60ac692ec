/* Gradients against finite differences: each text is differentiated by the pass, and each element of its operands moved
 * a little to both sides, all in float64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "test_relay.h"
#include "transform/pass.h"

#include <math.h>

enum { MAX_IN = 5, SAMPLES = 7 /* elements of an operand */ };

typedef struct row {
    const char *params; /* blanks between: dims of each; "i3": int64 of 3 */
    const char *text;   /* of the operands %a, %b, ... */
    double low, high;   /* elements */
} row;

static const row rows[] = {
    {"2,3", "exp(%a)", -1, 1},
    {"2,3", "log(%a)", 0.2, 2},
    {"2,3", "sqrt(%a)", 0.2, 2},
    {"2,3", "rsqrt(%a)", 0.2, 2},
    {"2,3", "sigmoid(%a)", -2, 2},
    {"2,3", "tanh(%a)", -2, 2},
    {"2,3", "erf(%a)", -2, 2},
    {"2,3", "abs(%a)", -1, 1},
    {"2,3", "negative(%a)", -1, 1},
    {"2,3", "nn.relu(%a)", -1, 1},
    {"2,3", "nn.leaky_relu(%a, alpha=0.1)", -1, 1},
    {"2,3", "clip(%a, a_min=-0.5, a_max=0.5)", -1, 1},
    {"2,3", "nn.elu(%a, alpha=1.5)", -1, 1},
    {"2,3", "nn.selu(%a)", -1, 1},
    {"2,3", "nn.celu(%a, alpha=0.7)", -1, 1},
    {"2,3", "nn.hard_sigmoid(%a)", -4, 4},
    {"2,3", "nn.hardswish(%a)", -4, 4},
    {"2,3", "nn.softplus(%a)", -2, 2},
    {"2,3", "nn.softsign(%a)", -2, 2},
    {"2,3", "nn.mish(%a)", -2, 2},
    {"2,3", "nn.gelu(%a)", -2, 2},
    {"2,3", "nn.gelu_tanh(%a)", -2, 2},
    {"2,3", "nn.swish(%a, alpha=1.5)", -2, 2},
    {"2,3", "nn.shrink(%a, lambd=0.3, bias=0.1)", -1, 1},
    {"2,3", "add(floor(multiply(%a, 4f64)), %a)", -1, 1},
    {"2,3", "sin(%a)", -1, 1},
    {"2,3", "cos(%a)", -1, 1},
    {"2,3", "tan(%a)", -1, 1},
    {"2,3", "asin(%a)", -0.8, 0.8},
    {"2,3", "acos(%a)", -0.8, 0.8},
    {"2,3", "atan(%a)", -1, 1},
    {"2,3", "sinh(%a)", -1, 1},
    {"2,3", "cosh(%a)", -1, 1},
    {"2,3", "asinh(%a)", -1, 1},
    {"2,3", "acosh(%a)", 1.3, 2},
    {"2,3", "atanh(%a)", -0.8, 0.8},
    /* two and three operands, broadcast */
    {"2,3 3", "add(%a, %b)", -1, 1},
    {"2,3 2,1", "subtract(%a, %b)", -1, 1},
    {"3 2,3", "multiply(%a, %b)", -1, 1},
    {"2,3 1,1", "divide(%a, %b)", 0.5, 1},
    {"2,3 2,3", "maximum(%a, %b)", -1, 1},
    {"2,3 3", "minimum(%a, %b)", -1, 1},
    {"2,3 3", "nn.prelu(%a, %b)", -1, 1},
    {"2,3 2,3", "power(%a, %b)", 0.5, 2},
    {"2,3", "power(%a, 3f64)", -1, 1},
    {"2,3 3", "where(less(%a, 0.2f64), exp(%b), multiply(%a, %b))", -1, 1},
    {"2,3", "multiply(%a, add(%a, exp(%a)))", -1, 1},
    /* shapes */
    {"2,6", "multiply(reshape(%a, newshape=[3, 4]), reshape(%a, newshape=[3, 4]))", -1, 1},
    {"2,3,4", "transpose(%a, axes=[2, 0, 1])", -1, 1},
    {"2,1,3", "squeeze(%a, axis=[1])", -1, 1},
    {"2,3", "expand_dims(%a, axis=1)", -1, 1},
    {"2,3,2", "nn.batch_flatten(%a)", -1, 1},
    {"2,1,3", "broadcast_to(%a, shape=[4, 2, 5, 3])", -1, 1},
    {"2,3 2,1 2,2", "concatenate((%a, exp(%b), %c), axis=-1)", -1, 1},
    {"4,5", "strided_slice(%a, begin=[1], end=[4], axes=[1])", -1, 1},
    {"7,3", "strided_slice(%a, begin=[1], end=[7], strides=[2])", -1, 1},
    {"7,3", "strided_slice(%a, begin=[6], end=[0], strides=[-2])", -1, 1},
    {"3,4", "nn.pad(%a, pad_width=[1, 0, -1, 2], pad_value=3)", -1, 1},
    {"4,3 i5", "take(%a, %b, axis=0)", -1, 1},
    {"2,4,3 i5", "take(%a, %b, axis=1)", -1, 1},
    {"3,4 i2,2", "take(%a, %b, axis=-1)", -1, 1},
    {"2,3", "cast(multiply(cast(%a, dtype=\"float64\"), %a), dtype=\"float64\")", -1, 1},
    {"2,3,2 3", "nn.bias_add(%a, %b, axis=1)", -1, 1},
    /* reductions */
    {"2,3,4", "sum(%a, axis=[1])", -1, 1},
    {"2,3,4", "sum(%a)", -1, 1},
    {"2,3,4", "mean(%a, axis=[0, 2], keepdims=True)", -1, 1},
    {"2,3,4", "mean(%a, axis=[1], exclude=True)", -1, 1},
    {"2,3,4", "max(%a, axis=[-1])", -1, 1},
    {"2,3,4", "min(%a, axis=[0, 1], keepdims=True)", -1, 1},
    {"3,4", "cumsum(%a, axis=1, exclusive=True)", -1, 1},
    {"3,4", "cumsum(%a, axis=0, reverse=True)", -1, 1},
    /* networks */
    {"2,3 4,3", "nn.dense(%a, %b)", -1, 1},
    {"2,2,3 4,3", "nn.dense(%a, %b, units=4)", -1, 1},
    {"3 4,3", "nn.dense(%a, %b)", -1, 1},
    {"2,3,4 2,5,4", "nn.batch_matmul(%a, %b, transpose_b=True)", -1, 1},
    {"2,3,4 1,4,5", "nn.batch_matmul(%a, %b)", -1, 1},
    {"1,4,3 2,5,4", "nn.batch_matmul(%a, %b, transpose_a=True, transpose_b=True)", -1, 1},
    {"2,4,3 2,4,5", "nn.batch_matmul(%a, %b, transpose_a=True)", -1, 1},
    {"2,5", "nn.softmax(%a)", -2, 2},
    {"2,3,2", "nn.softmax(%a, axis=1)", -2, 2},
    {"2,5", "nn.log_softmax(%a)", -2, 2},
    {"2,2,5,4 3,2,3,2", "nn.conv2d(%a, %b, padding=[1, 0, 1, 1])", -1, 1},
    {"1,2,6,7 2,2,2,3", "nn.conv2d(%a, %b, strides=[2, 3], padding=[0, 1, 0, 0])", -1, 1},
    {"2,4,5,5 6,2,2,2", "nn.conv2d(%a, %b, dilation=[2, 1], strides=[1, 2], groups=2)", -1, 1},
    {"1,3,4,4 3,1,3,3", "nn.conv2d(%a, %b, groups=3, padding=[1, 1, 1, 1])", -1, 1},
    {"2,2,6 3,2,3", "nn.conv1d(%a, %b, strides=[2])", -1, 1},
    {"2,3,4,2", "nn.global_avg_pool2d(%a)", -1, 1},
    {"2,3,2,2 3 3 3 3", "nn.batch_norm(%a, %b, %c, %d, %e).0", 0.5, 1.5},
    {"2,3 3,2", "einsum((%a, %b), equation=\"ij,jk->k\")", -1, 1},
};

/* ---- operands ---- */

typedef struct operands {
    int n;
    tn_tensor_value at[MAX_IN + 1];
    bool integer[MAX_IN + 1];
} operands;

static void read_operands(const row *r, operands *o, tn_buf *params, tn_rng *rng)
{
    const char *at = r->params;
    for (o->n = 0; *at; o->n++) {
        tn_tensor_value *v = &o->at[o->n];
        bool integer = o->integer[o->n] = *at == 'i';
        *v = (tn_tensor_value){.dtype = integer ? TN_I64 : TN_F64};
        tn_buf_printf(params, "%s%%%c: Tensor[(", o->n ? ", " : "", 'a' + o->n);
        size_t count = 1;
        for (at += integer; *at && *at != ' '; at += *at == ',') {
            v->dim[v->ndim] = strtol(at, (char **)&at, 10);
            tn_buf_printf(params, "%s%lld", v->ndim ? ", " : "", (long long)v->dim[v->ndim]);
            count *= (size_t)v->dim[v->ndim++];
        }
        at += *at == ' ';
        tn_buf_printf(params, "), %s]", integer ? "int64" : "float64");
        v->n = count * 8;
        v->at = tn_tensor_value_memory(v->n);
        for (size_t i = 0; i < count; i++)
            if (integer)
                ((int64_t *)v->at)[i] = (int64_t)tn_rng_below(rng, 5) - 1; /* some are outside */
            else
                ((double *)v->at)[i] = r->low + (r->high - r->low) * tn_rng_unit(rng);
        v->borrowed = true;
    }
}

/* ---- */

static double value(module *m, const operands *o)
{
    tn_tensor_value out[MAX_IN + 2] = {0};
    double sum = 0;
    if (tn_relay_run(&m->g, o->n, o->at, 1, out, NULL, NULL) != TN_OK)
        fail_msg("%s", module_diag(m));
    for (size_t i = 0; i < out[0].n / 8; i++)
        sum += ((double *)out[0].at)[i];
    tn_tensor_value_deinit(&out[0]);
    return sum;
}

static void differentiate(module *m)
{
    tn_arena scratch;
    tn_arena_init(&scratch);
    tn_pass p = {.ctx = &m->ctx, .scratch = &scratch, .opt_level = 3};
    if (tn_pass_run(&p, tn_pass_find("Gradient"), &m->g) != TN_OK || tn_relay_verify(&m->g) != TN_OK)
        fail_msg("%s", module_diag(m));
    tn_arena_deinit(&scratch);
}

static int compare(const row *r, module *plain, const operands *o, const tn_tensor_value grad[])
{
    const double step = 1e-5;
    int wrong = 0;
    for (int k = 0, g = 0; k < o->n; k++) {
        double *x = o->at[k].at;
        size_t n = o->at[k].n / 8, pace = n > SAMPLES ? n / SAMPLES : 1;
        for (size_t i = 0; i < n && !o->integer[k]; i += pace) {
            double was = x[i], up, down, want, got = ((const double *)grad[g].at)[i];
            x[i] = was + step;
            up = value(plain, o);
            x[i] = was - step;
            down = value(plain, o);
            x[i] = was;
            want = (up - down) / (2 * step);
            if (!(fabs(got - want) <= 1e-7 * (1 + fabs(want)))) {
                print_error("%s: operand %d, element %zu: %.9g, not %.9g\n", r->text, k, i, got, want);
                wrong++;
            }
        }
        g += !o->integer[k];
    }
    return wrong;
}

static int check(const row *r, uint64_t seed)
{
    tn_rng rng = {seed};
    tn_buf params = {0}, text = {0};
    operands o = {0};
    module plain, both;
    tn_tensor_value out[MAX_IN + 2] = {0};
    read_operands(r, &o, &params, &rng);
    tn_buf_printf(&text, "def @main(%s) { %%y = %s; multiply(%%y, %%y) }", tn_buf_cstr(&params), r->text);
    module_read(&plain, tn_buf_cstr(&text));
    module_read(&both, tn_buf_cstr(&text));
    differentiate(&both);
    int n_grad = 0;
    for (int k = 0; k < o.n; k++)
        n_grad += !o.integer[k];
    if (tn_relay_run(&both.g, o.n, o.at, 1 + n_grad, out, NULL, NULL) != TN_OK)
        fail_msg("%s: %s", r->text, module_diag(&both));
    int wrong = compare(r, &plain, &o, out + 1);
    for (int k = 0; k < 1 + n_grad; k++)
        tn_tensor_value_deinit(&out[k]);
    for (int k = 0; k < o.n; k++) {
        o.at[k].borrowed = false;
        tn_tensor_value_deinit(&o.at[k]);
    }
    module_close(&plain);
    module_close(&both);
    tn_buf_deinit(&params);
    tn_buf_deinit(&text);
    return wrong;
}

static void finite_differences(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        wrong += check(&rows[i], i);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finite_differences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
