/* Graph passes keep values: modules are evaluated by the interpreter before and after passes, over made-up inputs and
 * constants; and what must be gone is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "test_relay.h"
#include "transform/pass.h"

#include <math.h>

enum { MAX_IN = 4, MAX_OUT = 4, MAX_CONST = 8 };

typedef struct {
    const char *name, *passes, *text, *gone;
    double tolerance;
    const tn_pass_options *options;
} row;

#define CONV \
    "%0 = nn.conv2d(%x, meta[relay.Constant][0] /* ty=Tensor[(6, 4, 3, 3), float32] */, padding=[1, 1, 1, " \
    "1]);"
#define SCALE "meta[relay.Constant][1] /* ty=Tensor[(6, 1, 1), float32] */"

static const row rows[] = {
    {"scale behind a convolution", "BackwardFoldScaleAxis,FoldConstant",
     "def @main(%x: Tensor[(1, 4, 6, 5), float32]) {" CONV
     "%1 = nn.bias_add(%0, meta[relay.Constant][2] /* ty=Tensor[(6), float32] */);"
     "multiply(nn.max_pool2d(nn.relu(%1), pool_size=[2, 2], strides=[2, 2]), " SCALE ") }",
     "multiply", 1e-5, NULL},
    {"scale behind a sum of two", "BackwardFoldScaleAxis,FoldConstant",
     "def @main(%x: Tensor[(1, 4, 6, 5), float32]) {" CONV
     "%1 = nn.conv2d(%x, meta[relay.Constant][2] /* ty=Tensor[(6, 4, 1, 1), float32] */);"
     "multiply(add(%0, negative(%1)), " SCALE ") }",
     "multiply", 1e-5, NULL},
    {"scale in front", "ForwardFoldScaleAxis,FoldConstant",
     "def @main(%x: Tensor[(1, 6, 6, 5), float32]) {"
     "%0 = multiply(%x, meta[relay.Constant][0] /* ty=Tensor[(6, 1, 1), float32] */);"
     "%1 = nn.relu(add(%0, meta[relay.Constant][1] /* ty=Tensor[(6, 1, 1), float32] */));"
     "%2 = nn.avg_pool2d(%1, pool_size=[2, 2]);"
     "%3 = nn.conv2d(%1, meta[relay.Constant][2] /* ty=Tensor[(4, 6, 2, 2), float32] */);"
     "%4 = nn.conv2d(%2, meta[relay.Constant][3] /* ty=Tensor[(6, 1, 1, 1), float32] */, groups=6);"
     "(%3, %4) }",
     "multiply", 1e-5, NULL},
    {"scale of a depthwise convolution and a product", "BackwardFoldScaleAxis,FoldConstant",
     "def @main(%x: Tensor[(2, 6), float32]) {"
     "multiply(nn.dense(%x, meta[relay.Constant][0] /* ty=Tensor[(3, 6), float32] */), "
     "meta[relay.Constant][1] /* ty=Tensor[(3), float32] */) }",
     "multiply", 1e-5, NULL},
    {"siblings", "CombineParallelConv2D,CombineParallelDense,FoldConstant",
     "def @main(%x: Tensor[(1, 4, 6, 5), float32], %y: Tensor[(3, 5), float32]) {" CONV
     "%1 = nn.conv2d(%x, meta[relay.Constant][1] /* ty=Tensor[(2, 4, 3, 3), float32] */, padding=[1, 1, 1, "
     "1]);"
     "%2 = nn.conv2d(%x, meta[relay.Constant][2] /* ty=Tensor[(5, 4, 3, 3), float32] */, padding=[1, 1, 1, "
     "1]);"
     "%3 = add(%0, meta[relay.Constant][3] /* ty=Tensor[(6, 1, 1), float32] */);"
     "%4 = add(%1, meta[relay.Constant][4] /* ty=Tensor[(2, 1, 1), float32] */);"
     "%5 = add(%2, meta[relay.Constant][5] /* ty=Tensor[(5, 1, 1), float32] */);"
     "(%3, %4, nn.relu(%5)) }",
     NULL, 1e-5, NULL},
    {"transposes sink", "SimplifyExpr,FoldConstant,SimplifyExpr",
     "def @main(%x: Tensor[(2, 3, 4, 5), float32]) {"
     "%0 = transpose(%x, axes=[0, 2, 3, 1]);"
     "%1 = add(%0, meta[relay.Constant][0] /* ty=Tensor[(3), float32] */);"
     "%2 = nn.prelu(%1, meta[relay.Constant][1] /* ty=Tensor[(4, 5, 3), float32] */);"
     "%3 = nn.bias_add(%2, meta[relay.Constant][2] /* ty=Tensor[(5), float32] */, axis=2);"
     "transpose(multiply(%3, 3f), axes=[0, 3, 1, 2]) }",
     "transpose", 0, NULL},
    {"reshapes sink", "SimplifyExpr",
     "def @main(%x: Tensor[(2, 12), float32], %y: Tensor[(2, 12), float32]) {"
     "%0 = add(reshape(%x, newshape=[1, 2, 12]), reshape(%y, newshape=[1, 2, 12]));"
     "%1 = multiply(%0, meta[relay.Constant][0] /* ty=Tensor[(12), float32] */);"
     "reshape(exp(%1), newshape=[24]) }",
     NULL, 0, NULL},
    {"one matrix for all", "Legalize,FoldConstant",
     "def @main(%x: Tensor[(2, 4, 8), float32]) {"
     "nn.batch_matmul(%x, meta[relay.Constant][0] /* ty=Tensor[(1, 8, 3), float32] */) }",
     "nn.batch_matmul", 1e-6, NULL},
    {"extents", "SimplifyExpr,CanonicalizeOps,CanonicalizeCast,EliminateCommonSubexpr",
     "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(1, 3), float32]) {"
     "%0 = nn.pad(%x, pad_width=[1, -1, 0, 0]);"
     "%1 = strided_slice(%x, begin=[1], end=[-3], strides=[-1], axes=[0]);"
     "%2 = multiply(%y, meta[relay.Constant][0] /* ty=Tensor[(2, 1), float32] */);"
     "(%0, %1, %2) }",
     NULL, 0, NULL},
};

static float *random_floats(tn_arena *a, size_t n, uint64_t seed, bool positive)
{
    float *f = tn_arena_alloc(a, n * sizeof *f + 64, 64);
    for (size_t i = 0; i < n; i++) {
        seed = tn_hash_u64(seed, i);
        float v = (float)(seed >> 40) / (float)(1 << 24);
        f[i] = positive ? 0.25f + v : 2 * v - 1;
    }
    return f;
}

/* Constants of the row: those of at most 8 elements (factors, biases) are positive. */
static void read_row(module *m, const row *r)
{
    const tn_blob *all[MAX_CONST];
    char key[64];
    module_open(m);
    for (int k = 0; k < MAX_CONST; k++) {
        size_t n = 1, bytes;
        snprintf(key, sizeof key, "[relay.Constant][%d] /* ty=Tensor[(", k);
        const char *at = strstr(r->text, key);
        for (at = at ? at + strlen(key) : NULL; at && *at != ')'; at += strspn(at, ", "))
            n *= (size_t)strtoul(at, (char **)&at, 10);
        bytes = n * sizeof(float);
        all[k] = tn_graph_blob_ref(&m->g, random_floats(&m->arena, n, (uint64_t)k + 7, n <= 8), bytes);
    }
    const char *text = tn_arena_printf(&m->arena, "#[version = \"0.0.5\"]\n%s\n", r->text);
    const tn_relay_metadata meta = {.constant = all, .n_constant = MAX_CONST};
    if (tn_relay_parse(&m->g, "t.relay", text, strlen(text), &meta) != TN_OK)
        fail_msg("%s: %s", r->name, module_diag(m));
}

static void evaluate(module *m, const char *name, tn_tensor_value out[MAX_OUT], int *n_out)
{
    const tn_region *r = tn_graph_function(&m->g, "main")->body;
    tn_tensor_value in[MAX_IN];
    *n_out = (int)r->n_result;
    if (*n_out == 1 && tn_value_type((tn_value){r->result[0].def, r->result[0].out})->kind == TN_T_TUPLE)
        *n_out = tn_value_type((tn_value){r->result[0].def, r->result[0].out})->n;
    assert_true(r->n_param <= MAX_IN && *n_out <= MAX_OUT);
    for (uint32_t i = 0; i < r->n_param; i++) {
        const tn_type *t = r->param[i]->type[0];
        size_t n = 1;
        in[i] = (tn_tensor_value){.dtype = t->dtype, .ndim = t->n, .borrowed = true};
        assert_true(tn_type_dims_const(t, in[i].dim));
        for (int d = 0; d < t->n; d++)
            n *= (size_t)in[i].dim[d];
        in[i].at = random_floats(&m->arena, n, i + 100, false);
        in[i].n = n * sizeof(float);
    }
    if (tn_relay_run(&m->g, (int)r->n_param, in, *n_out, out, NULL, NULL) != TN_OK)
        fail_msg("%s: %s", name, module_diag(m));
}

static void run_passes(module *m, const row *r)
{
    tn_arena scratch;
    tn_machine machine = {.triple = "x86_64-unknown-linux-gnu"};
    char name[64];
    tn_arena_init(&scratch);
    tn_machine_derive(&machine);
    tn_pass p = {.ctx = &m->ctx,
                 .scratch = &scratch,
                 .machine = &machine,
                 .opt_level = 4,
                 .options = r->options,
                 .eval = tn_eval_interp};
    for (const char *at = r->passes; *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        if (tn_pass_run(&p, tn_pass_find(name), &m->g) != TN_OK || tn_relay_verify(&m->g) != TN_OK)
            fail_msg("%s: %s: %s", r->name, name, module_diag(m));
        at += n;
    }
    assert_int_equal(tn_pass_run(&p, tn_pass_find("DeadCodeElimination"), &m->g), TN_OK);
    tn_arena_deinit(&scratch);
}

static void compare(const row *r, const tn_tensor_value *x, const tn_tensor_value *y)
{
    assert_int_equal(x->n, y->n);
    for (size_t i = 0; i < x->n / sizeof(float); i++) {
        float a = ((const float *)x->at)[i], b = ((const float *)y->at)[i];
        if (!(fabsf(a - b) <= r->tolerance * (1 + fabsf(a))))
            fail_msg("%s: element %zu was %g, is %g", r->name, i, (double)a, (double)b);
    }
}

static void test_values(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const row *r = &rows[k];
        module m;
        tn_tensor_value before[MAX_OUT], after[MAX_OUT];
        int n, n_after;
        read_row(&m, r);
        evaluate(&m, r->name, before, &n);
        run_passes(&m, r);
        if (r->gone && strstr(module_print(&m), r->gone))
            fail_msg("%s: %s is still there:\n%s", r->name, r->gone, module_print(&m));
        evaluate(&m, r->name, after, &n_after);
        assert_int_equal(n, n_after);
        for (int i = 0; i < n; i++) {
            compare(r, &before[i], &after[i]);
            tn_tensor_value_deinit(&before[i]);
            tn_tensor_value_deinit(&after[i]);
        }
        module_close(&m);
    }
}

/* Factors that the rules do not let by leave the module as it was. */
static void test_left_alone(void **state)
{
    (void)state;
    static const row kept[] = {
        {"a negative factor at relu", "FoldScaleAxis",
         "def @main(%x: Tensor[(1, 4, 6, 5), float32]) {" CONV "multiply(nn.relu(%0), -2f) }", NULL, 0, NULL},
        {"a result of the module", "FoldScaleAxis",
         "def @main(%x: Tensor[(1, 4, 6, 5), float32]) {" CONV "%1 = multiply(%0, 2f); (%0, %1) }", NULL, 0,
         NULL},
        {"two siblings", "CombineParallelConv2D",
         "def @main(%x: Tensor[(1, 4, 6, 5), float32]) {" CONV
         "%1 = nn.conv2d(%x, meta[relay.Constant][0]); (%0, %1) }",
         NULL, 0, NULL},
    };
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
        module m;
        read_row(&m, &kept[k]);
        const char *before = tn_arena_strdup(&m.arena, module_print(&m));
        run_passes(&m, &kept[k]);
        assert_string_equal(before, module_print(&m));
        module_close(&m);
    }
}

static void test_configuration(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"relay.FuseOps.max_dept=3", "unknown key relay.FuseOps.max_dept; known are relay.FuseOps.max_depth"},
        {"relay.FuseOps.max_depth", "must be a whole number"},
        {"relay.FuseOps.max_depth=3x", "must be a whole number"},
        {"tir.disable_assert=yes", "must be 0, 1, true or false"},
        {"tir.disable_assert=1", "is not supported yet, only tir.disable_assert=0"},
        {"", "unknown key"},
    };
    module m;
    module_open(&m);
    tn_pass_options o = {0};
    assert_int_equal(tn_pass_config_int(&o, TN_CONFIG_NOALIAS), 1);
    assert_int_equal(tn_pass_configure(&m.ctx, &o, "relay.FuseOps.max_depth=3"), TN_OK);
    assert_int_equal(tn_pass_configure(&m.ctx, &o, "tir.disable_assert=False"), TN_OK);
    assert_int_equal(tn_pass_config_int(&o, TN_CONFIG_FUSE_MAX_DEPTH), 3);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tn_diag_clear(&m.ctx);
        assert_int_equal(tn_pass_configure(&m.ctx, &o, bad[i].text), TN_FAIL);
        assert_non_null(strstr(module_diag(&m), bad[i].says));
    }
    module_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_left_alone),
        cmocka_unit_test(test_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
