/* Caffe2's nets, written as texts of their messages: what they become, what is said of wrong ones, and what a small net
 * computes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "frontend/caffe2/caffe2.h"
#include "onnx/model.h"
#include "wire/pb_text.h"

#define NET(ops) "1'net' " ops " 7'x' 7'w' 8'y'"
#define OP(type, more) "2{ 1'x' 2'y' 4'" type "' " more " } "
#define FILL(name, shape, values) \
    "2{ 2'" name "' 4'GivenTensorFill' 5{ 1'shape' 6(" shape ") } 5{ 1'values' 5[" values "] } } "
#define NUMBER(name, value) "5{ 1'" name "' 3:" value " } "
#define INFO "{\"x\": [1, [1, 2, 3, 3]]}"

typedef struct nets {
    tn_buf net, init;
} nets;

static tn_status import_texts(model *m, nets *n, const char *net, const char *init, const char *info)
{
    (void)pb_text(&n->net, net);
    (void)pb_text(&n->init, init);
    m->file = (tn_file){(const uint8_t *)n->net.at, n->net.n, 0};
    TN_TRY(c2_import_nets(&m->g, "predict_net.pb", &m->file, (tn_bytes){m->file.at, m->file.n},
                          (tn_bytes){(const uint8_t *)n->init.at, n->init.n},
                          (tn_bytes){(const uint8_t *)info, strlen(info)}, NULL));
    return tn_relay_verify(&m->g);
}

static const struct {
    const char *net, *init, *info, *want[2];
} cases[] = {
    {NET(OP("MaxPool", NUMBER("kernel", "3") NUMBER("stride", "2") NUMBER("legacy_pad", "3"))),
     FILL("w", "1", "1"),
     INFO,
     {"nn.max_pool2d(%x", "ceil_mode=True"}},
    /* -1 is the end, -2 the last element */
    {NET(OP("Slice", "5{ 1'starts' 6:0 6:-2 } 5{ 1'ends' 6:-1 6:-1 } ")),
     FILL("w", "1", "1"),
     INFO,
     {"begin=[1], end=[2], axes=[1]", NULL}},
    /* over its operand */
    {NET("2{ 1'x' 2'x' 4'Relu' } " OP("Tanh", "")),
     FILL("w", "1", "1"),
     INFO,
     {"nn.relu(%x)", "outputs = [\"y\"]"}},
    {NET("2{ 1'x' 1'w' 2'y' 4'Add' " NUMBER("broadcast", "1") NUMBER("axis", "1") "} "),
     FILL("w", "2", "1 2"),
     INFO,
     {"add(%x, meta[relay.Constant][0] /* w (1, 2, 1, 1) */)", NULL}},
    {NET(OP("Softmax", "")),
     "",
     "{\"x\": [1, [1, 2]], \"w\": [2, [4]]}",
     {"%w: Tensor[(4), int32]", "nn.softmax(%x"}},
    {NET("2{ 1'x' 1'w' 2'y' 4'Add' " NUMBER("broadcast", "1") "5{ 1'axis_str' 4'C' } } "),
     FILL("w", "2", "1 2"),
     INFO,
     {"add(%x, meta[relay.Constant][0] /* w (1, 2, 1, 1) */)", NULL}},
    /* data that are filled so that they exist; a weight of one number is one */
    {NET("2{ 1'x' 1'w' 2'y' 4'Mul' " NUMBER("broadcast", "1") "} "),
     "2{ 2'w' 4'ConstantFill' 5{ 1'shape' 6(1) } 5{ 1'value' 2=3 } } 2{ 2'x' 4'ConstantFill' 5{ 1'shape' "
     "6(1) } }",
     INFO,
     {"@main(%x: Tensor[(1, 2, 3, 3), float32]", "multiply(%x, "}},
    {NET(OP("AveragePool", NUMBER("kernel", "0") NUMBER("global_pooling", "1") NUMBER("legacy_pad", "3"))),
     FILL("w", "1", "1"),
     INFO,
     {"mean(%x, axis=[2, 3], keepdims=True)", NULL}},
    /* wrong */
    {NET("2{ 1'x' 1'w' 2'y' 4'Add' " NUMBER("broadcast", "1") NUMBER("axis", "3") "} "),
     FILL("w", "1 3", "1 2 3"),
     INFO,
     {"does not fit Tensor[(1, 2, 3, 3), float32] from dimension 3 on [caffe2-E005]"}},
    {NET("2{ 1'x' 2'y' 2'z' 4'Split' 5{ 1'axis' 3:2 } 5{ 1'split' 6(1 1) } } "),
     FILL("w", "1", "1"),
     INFO,
     {"its parts have 2 elements of 3 [caffe2-E004]"}},
    {"1'net' 2'\x0a\x7f' 7'x' 8'y'", "", INFO, {"the net is damaged", "[caffe2-E001]"}},
    {NET(OP("Relu", "")),
     FILL("w", "3", "1 2"),
     INFO,
     {"there are 2 values for 3 elements; the net is damaged [caffe2-E001]"}},
    {NET(OP("Relus", "")),
     FILL("w", "1", "1"),
     INFO,
     {"operator Relus is not supported; did the exporter mean Relu?", "[caffe2-E003]"}},
    {NET(OP("Conv", NUMBER("kernel", "3"))),
     FILL("w", "1", "1"),
     INFO,
     {"operand 1 is missing", "[caffe2-E005]"}},
    {NET(OP("MaxPool", NUMBER("kernel", "3") "5{ 1'order' 4'NHWC' }")),
     FILL("w", "1", "1"),
     INFO,
     {"order NHWC is not supported, only NCHW [caffe2-E004]"}},
    {NET(OP("Relu", NUMBER("slope", "3"))),
     FILL("w", "1", "1"),
     INFO,
     {"attribute slope of Relu is not supported", "[caffe2-E004]"}},
    {NET(OP("Relu", "")), "", "", {"input \"x\" has no shape; give one (--input-shapes) [caffe2-E006]"}},
};

static void nets_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model m;
        nets n = {{0}, {0}};
        model_init(&m);
        bool fine = import_texts(&m, &n, cases[i].net, cases[i].init, cases[i].info) == TN_OK;
        const char *said = fine ? model_text(&m) : model_errors(&m);
        for (int k = 0; k < 2 && cases[i].want[k]; k++)
            if (!strstr(said, cases[i].want[k]))
                fail_msg("case %zu: no \"%s\" in\n%s", i, cases[i].want[k], said);
        model_deinit(&m);
        tn_buf_deinit(&n.net);
        tn_buf_deinit(&n.init);
    }
}

static void errors_have_an_end(void **state)
{
    tn_buf text = {0};
    nets n = {{0}, {0}};
    model m;
    (void)state;
    model_init(&m);
    for (int i = 0; i < 300; i++)
        tn_buf_printf(&text, "2{ 1'x' 2'y%d' 4'Nothing' } ", i);
    tn_buf_str(&text, "7'x' 8'y'");
    assert_int_equal(import_texts(&m, &n, tn_buf_cstr(&text), "", INFO), TN_FAIL);
    assert_non_null(
        strstr(model_errors(&m), "more than 200 errors; only the first are reported [caffe2-E007]"));
    model_deinit(&m);
    tn_buf_deinit(&text);
    model_init(&m);
    (void)pb_text(&text, NET(OP("Relu", "")));
    assert_int_equal(tn_file_write(&m.ctx, "c2_predict_net.pb", text.at, text.n), TN_OK);
    assert_int_equal(model_read(&m, "c2_predict_net.pb", NULL), TN_FAIL);
    remove("c2_predict_net.pb");
    assert_non_null(strstr(model_errors(&m), "there is no c2_init_net.pb beside it"));
    assert_non_null(strstr(model_errors(&m), "[caffe2-E002]"));
    model_deinit(&m);
    tn_buf_deinit(&text);
    tn_buf_deinit(&n.net);
    tn_buf_deinit(&n.init);
}

/* A 1x1 convolution of two channels, twice its result, then the sums of all that. */
static void a_net_computes(void **state)
{
    static const float x[18] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 1, 2, 2, 2, 3, 3, 3};
    tn_tensor_value have, in = {.dtype = TN_F32,
                                .ndim = 4,
                                .dim = {1, 2, 3, 3},
                                .n = sizeof x,
                                .borrowed = true,
                                .at = (char *)(uintptr_t)x};
    nets n = {{0}, {0}};
    model m;
    (void)state;
    model_init(&m);
    if (import_texts(
            &m, &n,
            NET("2{ 1'x' 1'w' 1'b' 2'y' 4'Conv' " NUMBER("kernel", "1") "} 2{ 1'y' 1'y' 2'y' 4'Sum' } "),
            FILL("w", "1 2 1 1", "2 -1") FILL("b", "1", "0.5"), INFO) != TN_OK ||
        tn_relay_run(&m.g, 1, &in, 1, &have, tn_eval_interp, NULL) != TN_OK)
        fail_msg("%s", model_errors(&m));
    for (int i = 0; i < 9; i++)
        assert_float_equal(((const float *)have.at)[i], 2 * (2 * x[i] - x[9 + i] + 0.5F), 1e-5);
    tn_tensor_value_deinit(&have);
    model_deinit(&m);
    tn_buf_deinit(&n.net);
    tn_buf_deinit(&n.init);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nets_are_read),
        cmocka_unit_test(errors_have_an_end),
        cmocka_unit_test(a_net_computes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
