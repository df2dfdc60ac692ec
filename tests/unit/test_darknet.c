/* Darknet's configurations and weights, written here: what they become, what is said of wrong ones, and what a small
 * network computes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

#include "frontend/darknet/darknet.h"

#define NET "[net]\nchannels=1\nheight = 4\nwidth=4\nlearning_rate=0.1\n\n# a comment\n"
#define CONV "[convolutional]\nfilters=2\nsize=1\nactivation=leaky\n"

static tn_status import_with(model *m, const char *config, size_t n, const float weights[])
{
    static const uint8_t head[20] = {0, 0, 0, 0, 2};
    uint8_t *file = tn_arena_alloc(&m->arena, sizeof head + n * 4, 8);
    memcpy(file, head, sizeof head);
    if (n)
        memcpy(file + sizeof head, weights, n * 4);
    m->file = (tn_file){file, sizeof head + n * 4, 0};
    TN_TRY(dk_import_pair(&m->g, "net.cfg", &m->file, (tn_bytes){(const uint8_t *)config, strlen(config)},
                          (tn_bytes){file, m->file.n}));
    return tn_relay_verify(&m->g);
}

static const struct {
    const char *config;
    size_t n; /* weights */
    const char *want[2];
} cases[] = {
    {NET CONV, 4, {"def @main(%data: Tensor[(1, 1, 4, 4), float32]", "nn.leaky_relu("}},
    {NET CONV "[maxpool]\nsize=2\nstride=2\n", 4, {"nn.max_pool2d(", "padding=[0, 0, 1, 1]"}},
    {NET "[upsample]\nstride=2\n[route]\nlayers = -1, 0\n", 0, {"concatenate(", "outputs = [\"route_1\"]"}},
    {NET "[rnn]\noutput=2\nactivation=tanh\n", 46, {"_state: Tensor[(1, 2), float32]", "tanh("}},
    {NET "[crnn]\nhidden_filters=1\n", 30, {"_state: Tensor[(1, 1, 4, 4), float32]", "nn.conv2d("}},
    {NET "[gru]\noutput=1\n", 57, {"_state: Tensor[(1, 1), float32]", "sigmoid("}},
    {NET "[lstm]\noutput=1\n", 76, {"_cell: Tensor[(1, 1), float32]", "tanh("}},
    {"[net]\ninputs=3\n[lstm]\noutput=0\n", 0, {"output is 0, but must be at least 1 [darknet-E004]"}},
    {NET "[yolo]\n", 0, {"1 anchors of 25 entries do not fit 1 channels", "[darknet-E004]"}},
    {"channels=3\n[net]\n", 0, {"line 1: a key stands before the first section [darknet-E001]"}},
    {NET "[conv\n", 0, {"a section must read [name] [darknet-E001]"}},
    {"[convolutional]\n", 0, {"the configuration does not begin with a section [net] [darknet-E001]"}},
    {"[net]\nheight=4\nwidth=0\n", 0, {"node net_0 (net): error: width must be at least 1 [darknet-E004]"}},
    {NET CONV, 3, {"the file of weights ends here: 8 bytes are needed, 4 are left", "[darknet-E001]"}},
    {NET CONV, 5, {"4 bytes of the file of weights are left over", "[darknet-E001]"}},
    {NET "[route]\nlayers=3\n", 0, {"layers names layer 3, which is not an earlier one [darknet-E001]"}},
    {NET "[upsampel]\n",
     0,
     {"operator upsampel (version 1) is not supported; did the exporter mean upsample?", "[darknet-E003]"}},
    {NET "[upsample]\nstride=two\n", 0, {"stride is \"two\", but must be a number [darknet-E004]"}},
    {NET "[upsample]\nstrides=2\n", 0, {"attribute strides is not supported", "[darknet-E004]"}},
    {NET "[softmax]\n[maxpool]\nsize=2\n[connected]\noutput=1\n[upsample]\n",
     17,
     {"the layer needs images, but gets Tensor[(1, 1), float32] [darknet-E005]"}},
};

static void networks_are_read(void **state)
{
    static const float weights[128] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model m;
        model_init(&m);
        const char *said = import_with(&m, cases[i].config, cases[i].n, weights) == TN_OK ? model_text(&m)
                                                                                          : model_errors(&m);
        for (int k = 0; k < 2 && cases[i].want[k]; k++)
            if (!strstr(said, cases[i].want[k]))
                fail_msg("case %zu: no \"%s\" in\n%s", i, cases[i].want[k], said);
        model_deinit(&m);
    }
}

static void shapes_and_errors_have_limits(void **state)
{
    static const int64_t dim[] = {1, 1};
    tn_import_options o = {.shape = (const tn_input_shape[]){{.name = "data", .ndim = 2, .dim = dim}},
                           .n_shape = 1};
    tn_buf text = {0};
    model m;
    (void)state;
    model_init(&m);
    tn_buf_str(&text, NET);
    for (int i = 0; i < 300; i++)
        tn_buf_str(&text, "[nothing]\n");
    assert_int_equal(import_with(&m, tn_buf_cstr(&text), 0, NULL), TN_FAIL);
    assert_non_null(
        strstr(model_errors(&m), "more than 200 errors; only the first are reported [darknet-E007]"));
    model_deinit(&m);
    model_init(&m);
    assert_int_equal(tn_file_write(&m.ctx, "dk_net.cfg", NET CONV, strlen(NET CONV)), TN_OK);
    assert_int_equal(model_read(&m, "dk_net.cfg", NULL), TN_FAIL);
    assert_non_null(strstr(model_errors(&m), "there is no file \"dk_net.weights\" beside it"));
    assert_non_null(strstr(model_errors(&m), "[darknet-E002]"));
    model_deinit(&m);
    model_init(&m);
    assert_int_equal(tn_file_write(&m.ctx, "dk_two.cfg", NET CONV, strlen(NET CONV)), TN_OK);
    static const uint8_t weights[36] = {0, 0, 0, 0, 2};
    assert_int_equal(tn_file_write(&m.ctx, "dk_two.weights", weights, sizeof weights), TN_OK);
    assert_int_equal(model_read(&m, "dk_two.weights", &o), TN_FAIL);
    assert_non_null(
        strstr(model_errors(&m),
               "input \"data\" has 4 dimensions, but the shape given for it has 2; check --input-shapes, or "
               "report this if the model runs elsewhere with these shapes [darknet-E006]"));
    model_deinit(&m);
    tn_buf_deinit(&text);
}

/* Of an image [1,channels,height,width]. */
static void check_run(const char *config, size_t n, const float weights[], const int64_t dim[4],
                      const float x[], size_t n_want, const float want[])
{
    tn_tensor_value have, in = {.dtype = TN_F32,
                                .ndim = 4,
                                .dim = {dim[0], dim[1], dim[2], dim[3]},
                                .n = (size_t)(dim[1] * dim[2] * dim[3]) * sizeof *x,
                                .borrowed = true,
                                .at = (char *)(uintptr_t)x};
    model m;
    model_init(&m);
    if (import_with(&m, config, n, weights) != TN_OK ||
        tn_relay_run(&m.g, 1, &in, 1, &have, tn_eval_interp, NULL) != TN_OK)
        fail_msg("%s", model_errors(&m));
    assert_int_equal(have.n, n_want * sizeof *want);
    for (size_t i = 0; i < n_want; i++)
        assert_float_equal(((const float *)have.at)[i], want[i], 1e-4);
    tn_tensor_value_deinit(&have);
    model_deinit(&m);
}

/* Two filters of one tap, their means and variances, then the larger of two neighbours. */
static void a_network_computes(void **state)
{
    static const int64_t dim[4] = {1, 1, 4, 4};
    static const float weights[] = {0.5f, -1, 2, 1, 1, 0, 4, 1, 1, -1},
                       x[16] = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, 0, 1, 0, 1};
    /* (x - mean) / sqrt(variance) * gamma + beta, leaky: 0.5 + (x - 1); -1 - x, or a tenth of it */
    static const float want[8] = {5.5f, 7.5f, 0.5f, 0.5f, -0.2f, -0.4f, 1, 3};
    (void)state;
    check_run(NET "[convolutional]\nbatch_normalize=1\nfilters=2\nsize=1\nactivation=leaky\n"
                  "[maxpool]\nsize=2\nstride=2\n",
              sizeof weights / 4, weights, dim, x, 8, want);
}

/* Darknet's sums of the squares of three channels lack the second one: 1, 1 + 9, 9. */
static void neighbours_are_summed_as_darknet_does(void **state)
{
    static const int64_t dim[4] = {1, 3, 1, 1};
    static const float x[3] = {1, 2, 3}, want[3] = {1 / 2.0f, 2 / 11.0f, 3 / 10.0f};
    (void)state;
    check_run("[net]\nchannels=3\nheight=1\nwidth=1\n[normalization]\nsize=3\nalpha=1\nbeta=1\nkappa=1\n", 0,
              NULL, dim, x, 3, want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_are_read), cmocka_unit_test(shapes_and_errors_have_limits),
        cmocka_unit_test(a_network_computes), cmocka_unit_test(neighbours_are_summed_as_darknet_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
