/* Caffe's networks and weights, written here: what they become, what is said of wrong ones, and what a small network
 * computes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

#include "frontend/caffe/caffe.h"

#define IN "input: 'x' input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 3\n"
#define LAYER(type, more) "layer { name: 'a' type: '" type "' bottom: 'x' top: 'y' " more " }\n"

/* A .caffemodel with one layer, in the form of now or of before, of one array. */
static void write_weights(tn_buf *b, bool old, const char *name, uint8_t n, const uint8_t dim[],
                          const float at[])
{
    uint8_t count = 1, dims = n;
    for (int i = 0; i < n; i++)
        count = (uint8_t)(count * dim[i]);
    uint8_t blob = (uint8_t)(count * 4 + 2 + (old ? 2 * n : n + 4));
    uint8_t head[] = {old ? 0x12 : 0xa2, 0x06};
    tn_buf_add(b, head, old ? 1 : 2);
    tn_buf_char(b, (char)(strlen(name) + 2 + 2 + blob));
    tn_buf_char(b, old ? 0x22 : 0x0a);
    tn_buf_char(b, (char)strlen(name));
    tn_buf_str(b, name);
    tn_buf_char(b, old ? 0x32 : 0x3a);
    tn_buf_char(b, (char)blob);
    for (uint8_t i = 0; i < n && old; i++) { /* num, channels, height, width */
        tn_buf_char(b, (char)((i + 1) << 3));
        tn_buf_char(b, (char)dim[i]);
    }
    if (!old) {
        tn_buf_add(b, (uint8_t[]){0x3a, (uint8_t)(dims + 2), 0x0a, dims}, 4);
        tn_buf_add(b, dim, n);
    }
    tn_buf_add(b, (uint8_t[]){0x2a, (uint8_t)(count * 4)}, 2);
    tn_buf_add(b, at, count * 4u);
}

static tn_status import_with(model *m, const char *net, const tn_buf *weights)
{
    m->file = (tn_file){(const uint8_t *)net, strlen(net), 0};
    tn_bytes w = weights ? (tn_bytes){(const uint8_t *)weights->at, weights->n} : (tn_bytes){0};
    TN_TRY(cf_import_pair(&m->g, "net.prototxt", &m->file, (tn_bytes){m->file.at, m->file.n}, w));
    return tn_relay_verify(&m->g);
}

static const struct {
    const char *net, *want[2];
} cases[] = {
    {IN LAYER("Pooling", "pooling_param { pool: AVE kernel_size: 2 stride: 2 }"),
     {"nn.avg_pool2d(%x", "ceil_mode=True, count_include_pad=True"}},
    {"layer { name: 'd' type: 'Input' top: 'x' input_param { shape { dim: [1, 4] } } } # a comment\n" LAYER(
         "Softmax", ""),
     {"def @main(%x: Tensor[(1, 4), float32]", "outputs = [\"y\"]"}},
    /* a layer writes over its operand; one of the training phase is left out */
    {IN "layers { name: 'r' type: RELU bottom: 'x' top: 'x' } layers { name: 's' type: TANH bottom: 'x' top: "
        "'x' "
        "include { phase: TEST } } layers { name: 'l' type: SIGMOID bottom: 'x' top: 'z' include { phase: "
        "TRAIN } }",
     {"def @main(%x:", "outputs = [\"x\"]"}},
    {IN "layer { name: 'p' type: 'PriorBox' bottom: 'x' bottom: 'x' top: 'p' prior_box_param { min_size: 2 "
        "max_size: 3 aspect_ratio: 2 } }",
     {"-> Tensor[(1, 2, 144), float32]", "outputs = [\"p\"]"}},
    {IN
     "layer { name: 'p' type: 'PriorBox' bottom: 'x' bottom: 'x' top: 'p' prior_box_param { flip: true } }",
     {"it has 0 min_size and 0 max_size [caffe-E004]"}},
    {IN "layer { name: 'd' type: 'DetectionOutput' bottom: 'x' bottom: 'x' bottom: 'x' top: 'd' "
        "detection_output_param { num_classes: 2 share_location: false } }",
     {"only boxes that all classes share, with eta 1, are supported [caffe-E004]"}},
    {IN
     "layer { name: 's' type: 'Reduction' bottom: 'x' top: 's' reduction_param { axis: 0 } } "
     "layer { name: 'p' type: 'PriorBox' bottom: 'x' bottom: 'x' top: 'p' prior_box_param { min_size: 2 } } "
     "layer { name: 'd' type: 'DetectionOutput' bottom: 's' bottom: 'x' bottom: 'p' top: 'd' "
     "detection_output_param { num_classes: 2 } }",
     {"offsets of boxes float32 have no batch"}},
    {IN "layer { type: 'ReLU'", {"line 2: a message has no end; download or export it again [caffe-E001]"}},
    {IN "}", {"line 2: a bracket closes what is not open; download or export it again [caffe-E001]"}},
    {IN "layer 3",
     {"a field must read `name: value` or `name { ... }`; download or export it again [caffe-E001]"}},
    {IN "layer { name: 'a' }", {"line 2: a layer has no type [caffe-E001]"}},
    {IN "layer { name: \"a }", {"a string has no end; download or export it again [caffe-E001]"}},
    {IN "layer { name: 'a' type: 'ReLU' bottom: 'q' top: 'y' }",
     {"operand \"q\" is not an input", "[caffe-E001]"}},
    {IN LAYER("PReLU", ""),
     {"node a (PReLU): error: the weights (.caffemodel) have no array 0 of this layer", "[caffe-E002]"}},
    {IN LAYER("Relu", ""),
     {"operator Relu (version 1) is not supported; did the exporter mean ReLU?", "[caffe-E003]"}},
    {IN LAYER("Pooling", "pooling_param { pool: STOCHASTIC kernel_size: 2 }"),
     {"pool is \"STOCHASTIC\", which is not supported (line 2) [caffe-E004]"}},
    {IN LAYER("ReLU", "relu_param { negative_slope: low }"), {"must be a number (line 2) [caffe-E004]"}},
    {IN LAYER("ReLU", "relu_param { slope: 1 }"),
     {"slope of relu_param is not supported (line 2) [caffe-E004]"}},
    {IN LAYER("Crop", ""), {"operand 1 is missing", "[caffe-E005]"}},
    {IN LAYER("Reshape", "reshape_param { axis: 5 shape { dim: 1 } }"),
     {"axis 5 and num_axes -1 do not fit", "[caffe-E004]"}},
    {"input: 'x'\n" LAYER("ReLU", ""), {"input \"x\" has no shape; give one (--input-shapes) [caffe-E006]"}},
};

static void networks_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model m;
        model_init(&m);
        const char *said = import_with(&m, cases[i].net, NULL) == TN_OK ? model_text(&m) : model_errors(&m);
        for (int k = 0; k < 2 && cases[i].want[k]; k++)
            if (!strstr(said, cases[i].want[k]))
                fail_msg("case %zu: no \"%s\" in\n%s", i, cases[i].want[k], said);
        model_deinit(&m);
    }
}

static void errors_have_an_end(void **state)
{
    tn_buf text = {0};
    model m;
    (void)state;
    model_init(&m);
    tn_buf_str(&text, IN);
    for (int i = 0; i < 300; i++)
        tn_buf_printf(&text, "layer { name: 'n%d' type: 'Nothing' bottom: 'x' top: 'y%d' }\n", i, i);
    assert_int_equal(import_with(&m, tn_buf_cstr(&text), NULL), TN_FAIL);
    assert_non_null(
        strstr(model_errors(&m), "more than 200 errors; only the first are reported [caffe-E007]"));
    tn_buf_deinit(&text);
    model_deinit(&m);
    model_init(&m);
    assert_int_equal(tn_file_write(&m.ctx, "cf_net.prototxt", IN, strlen(IN)), TN_OK);
    assert_int_equal(model_read(&m, "cf_net.prototxt", NULL), TN_FAIL);
    assert_non_null(
        strstr(model_errors(&m), "there is no file of the same name that ends with .caffemodel beside it"));
    model_deinit(&m);
}

/* A 1x1 convolution of two channels, its weights in both forms; then each element's power. */
static void a_network_computes(void **state)
{
    static const char *const nets[] = {"layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' "
                                       "convolution_param { num_output: 1 kernel_size: 1 "
                                       "bias_term: false } } layer { name: 'p' type: 'Power' bottom: 'c' "
                                       "top: 'p' power_param { power: 2 shift: 1 } }",
                                       "layers { name: 'c' type: CONVOLUTION bottom: 'x' top: 'c' "
                                       "convolution_param { num_output: 1 kernel_size: 1 "
                                       "bias_term: false } } layers { name: 'p' type: POWER bottom: 'c' top: "
                                       "'p' power_param { power: 2 shift: 1 } }"};
    static const uint8_t dim[] = {1, 2, 1, 1};
    static const float weight[] = {2, -1}, x[18] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 1, 2, 2, 2, 3, 3, 3};
    (void)state;
    for (int old = 0; old < 2; old++) {
        tn_buf weights = {0};
        tn_tensor_value have, in = {.dtype = TN_F32,
                                    .ndim = 4,
                                    .dim = {1, 2, 3, 3},
                                    .n = sizeof x,
                                    .borrowed = true,
                                    .at = (char *)(uintptr_t)x};
        model m;
        model_init(&m);
        write_weights(&weights, old, "c", 4, dim, weight);
        if (import_with(&m, tn_arena_printf(&m.arena, IN "%s", nets[old]), &weights) != TN_OK ||
            tn_relay_run(&m.g, 1, &in, 1, &have, tn_eval_interp, NULL) != TN_OK)
            fail_msg("%s", model_errors(&m));
        for (int i = 0; i < 9; i++) {
            float y = 2 * x[i] - x[9 + i] + 1;
            assert_float_equal(((const float *)have.at)[i], y * y, 1e-4);
        }
        tn_tensor_value_deinit(&have);
        model_deinit(&m);
        tn_buf_deinit(&weights);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(networks_are_read),
                                       cmocka_unit_test(errors_have_an_end),
                                       cmocka_unit_test(a_network_computes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
