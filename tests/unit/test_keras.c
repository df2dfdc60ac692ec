/* frontend/keras: models as the JSON of their architecture (layers without variables), a Dense layer in both kinds of
 * files (the seeds of fuzz_keras: kernel [[1, 2], [3, 4]], bias [10, -20], relu), and what is refused. What
 * layers compute is compared with Keras by tests/keras/run. */
#include "frontend/frontend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

static tn_status read_text(model *m, const char *text, size_t n, const tn_import_options *o)
{
    model_init(m);
    m->file = (tn_file){(const uint8_t *)text, n, 0};
    return tn_import_keras(&m->g, "/nowhere/m.json", &m->file, o);
}

static void says(const model *m, const char *id, const char *part)
{
    tn_buf all = {0};
    tn_diag_print_all(&m->ctx, &all);
    char mark[16];
    snprintf(mark, sizeof mark, "[%s]", id);
    if (!strstr(tn_buf_cstr(&all), mark) || !strstr(tn_buf_cstr(&all), part))
        fail_msg("%s is not said, or not \"%s\", but:\n%s", id, part, tn_buf_cstr(&all));
    tn_buf_deinit(&all);
}

/* A Sequential of one layer whose input is [batch, shape...]. */
#define ONE(shape, class, config) \
    "{\"class_name\": \"Sequential\", \"keras_version\": \"2.9.0\", \"config\": {\"name\": \"s\", " \
    "\"layers\": [" \
    "{\"class_name\": \"InputLayer\", \"config\": {\"batch_input_shape\": [null" shape \
    "], \"dtype\": \"float32\", " \
    "\"name\": \"x\"}}, {\"class_name\": \"" class "\", \"config\": {\"name\": \"y\"" config "}}]}}"

#define CALL(name, class, config, nodes) \
    "{\"class_name\": \"" class "\", \"name\": \"" name "\", \"config\": {\"name\": \"" name "\"" config \
                                "}, " \
                                "\"inbound_nodes\": [" nodes "]}"
#define FUNCTIONAL(layers, inputs, outputs) \
    "{\"class_name\": \"Functional\", \"config\": {\"name\": \"f\", \"layers\": [" layers \
    "], \"input_layers\": [" inputs "], \"output_layers\": [" outputs "]}}"
/* The same of Keras 3, and one call of a layer with result 0 of others. */
#define FUNCTIONAL3(layers, inputs, outputs) \
    "{\"class_name\": \"Functional\", \"registered_name\": \"Functional\", \"config\": {\"name\": " \
    "\"f\", \"layers\": [" layers "], \"input_layers\": [" inputs "], \"output_layers\": [" outputs "]}}"
#define TENSOR(name, call) \
    "{\"class_name\": \"__keras_tensor__\", \"config\": {\"keras_history\": [\"" name "\", " call ", 0]}}"
#define NODE(args) "{\"args\": [" args "], \"kwargs\": {}}"
#define TYPED(name, type) \
    CALL(name, "InputLayer", ", \"batch_input_shape\": [null, 2], \"dtype\": \"" type "\"", "")
/* A Functional model "m" inside: nn.relu. */
#define INNER(nodes) \
    "{\"class_name\": \"Functional\", \"name\": \"m\", \"config\": {\"name\": \"m\", \"layers\": [" INPUT( \
        "i", "[null, 2]") "," CALL("r", "ReLU", "", \
                                   "[[\"i\", 0, 0, {}]]") "], \"input_layers\": [[\"i\", 0, 0]], " \
                                                          "\"output_layers\": [[\"r\", 0, 0]]}, " \
                                                          "\"inbound_nodes\": [" nodes "]}"
#define INPUT(name, shape) CALL(name, "InputLayer", ", \"batch_input_shape\": " shape, "")

static void faults_are_said(void **state)
{
    static const struct {
        const char *text, *id, *part;
    } row[] = {
        {"PK\3\4 is no archive", "keras-E001", "it is no zip archive, or it is cut short"},
        {"\x89HDF\r\n\x1a\n\x7f", "keras-E001", "newer version of HDF5"},
        {FUNCTIONAL(INPUT("x", "[null, 2]"), "[\"x\", 0, 0]", ""), "keras-E002", "no outputs"},
        {FUNCTIONAL(INPUT("x", "[null, 2]") "," CALL("y", "ReLU", "", "[[\"x\", 0, 0, {}]]"), "[\"x\", 0, 0]",
                    "[\"y\", 0, 0], [\"y\", 0, 1]"),
         "keras-E002", "output 1 of the model is one that no layer computes"},
        {ONE(", 2, 3", "RNN", ", \"cell\": 1"), "keras-E005", "the layer holds no cell"},
        {FUNCTIONAL(INPUT("x", "[]") "," CALL("y", "Normalization", ", \"mean\": [1.0], \"variance\": [1.0]",
                                              "[[\"x\", 0, 0, {}]]"),
                    "[\"x\", 0, 0]", "[\"y\", 0, 0]"),
         "keras-E005", "axis -1 is outside"},
        {ONE(", 2", "SpectralNormalization", ", \"layer\": null"), "keras-E005",
         "the layer holds no other, which it is made for"},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," INNER(NODE(TENSOR("a", "0"))), "[\"a\", 0, 0]",
                     "[\"m\", 2, 0]"),
         "keras-E002", "one that no layer computes"},
        {ONE(", 4", "Densee", ""), "keras-E004",
         "layer Densee is not supported; the nearest that is known is Dense"},
        {ONE(", 4", "Activation", ", \"activation\": \"rellu\""), "keras-E005",
         "activation \"rellu\" is not supported"},
        {ONE(", 4", "Dense", ", \"units\": 2"), "keras-E006",
         "variable kernel has no values: the file has no weights"},
        {FUNCTIONAL(INPUT("x", "[null, 2]") "," CALL("y", "ReLU", "", "[[\"x\", 3, 0, {}]]"), "[\"x\", 0, 0]",
                    "[\"y\", 0, 0]"),
         "keras-E007", "node y (ReLU): error: an operand is a result that no layer gives"},
        {FUNCTIONAL(INPUT("x", "[null, 2]") "," CALL("y", "ReLU", "", "[[\"y\", 0, 0, {}]]"), "[\"x\", 0, 0]",
                    "[\"y\", 0, 0]"),
         "keras-E007", "or one that needs itself"},
        {"{\"class_name\": \"Sequential\", \"config\": [{\"class_name\": \"ReLU\", \"config\": {\"name\": "
         "\"r\"}}]}",
         "keras-E008", "input \"r_input\" has no shape"},
        {ONE(", null, 3", "AdaptiveMaxPooling1D", ", \"output_size\": 2"), "keras-E009",
         "needs a fixed, larger extent"},
        {ONE(", 4", "TimeDistributed", ", \"layer\": {\"class_name\": \"ReLU\", \"config\": {}}"),
         "keras-E010", "must have at least three dimensions"},
        {ONE(", null, 6, 3", "Resizing", ", \"height\": 4, \"width\": 5, \"interpolation\": \"area\""),
         "keras-E009",
         "interpolation \"area\" needs a fixed height and width, but the data is Tensor[(batch, d0, 6, 3), "
         "float32]"},
        {ONE(", 8, 6, 3", "Resizing", ", \"height\": 4, \"width\": 5, \"interpolation\": \"sinc\""),
         "keras-E005",
         "interpolation \"sinc\" is not supported, only nearest, area, bilinear, bicubic, lanczos3"},
        {ONE(", 1", "TextVectorization", ", \"ngrams\": 0, \"vocabulary\": [\"a\"]"), "keras-E005",
         "ngrams must be a number, or up to 16 of them, from 1 to 1024"},
        {ONE(", 1", "TextVectorization", ", \"ngrams\": [2, 17, -1], \"vocabulary\": [\"a\"]"), "keras-E005",
         "ngrams must be a number"},
        {FUNCTIONAL(
             CALL("x", "InputLayer", ", \"batch_input_shape\": [], \"dtype\": \"string\"",
                  "") "," CALL("y", "TextVectorization",
                               ", \"split\": null, \"output_sequence_length\": 3, \"vocabulary\": [\"a\"]",
                               "[[\"x\", 0, 0, {}]]"),
             "[\"x\", 0, 0]", "[\"y\", 0, 0]"),
         "keras-E010", "the text is one alone, but the layer takes lists of texts"},
        {ONE(", 90", "MelSpectrogram", ", \"fft_length\": 16, \"window\": \"kaiser\""), "keras-E005",
         "window \"kaiser\" is not supported, only hann and hamming are"},
        {ONE(", 90", "MelSpectrogram", ", \"fft_length\": 16, \"sequence_length\": 17"), "keras-E005",
         "windows of 16 samples in steps of 512"},
        {ONE(", 90, 2", "MelSpectrogram", ""), "keras-E010", "must be [batch, samples]"},
        {ONE(", 4", "MaxPooling2D", ""), "keras-E014", "is not supported, only 1-D, 2-D and 3-D"},
        {ONE(", 4", "Lambda", ", \"function\": \"...\""), "keras-E016", "a Lambda layer holds Python code"},
        {ONE(", 4", "Mine>ReLU", ""), "keras-E016", "Mine>ReLU is a class of the model's author"},
        {"{\"class_name\": ", "keras-E017", "is no valid JSON"},
        {ONE(", 4", "ReLU", ", \"leak\": 0.5"), "keras-E018",
         "leak of the layer's configuration is not known"},
        {ONE(", 4", "BatchNormalization", ", \"mode\": 1"), "keras-E005", "only mode 0"},
        {ONE(", 4", "Dropout", ", \"rate\": 0.5, \"dtype\": \"int8_from_float32\""), "keras-E005",
         "quantised layers"},
        {ONE(", 4", "Dropout",
             ", \"rate\": 0.5, \"dtype\": {\"class_name\": \"QuantizedDTypePolicy\", \"config\": {\"mode\": "
             "\"int8\", \"source_name\": \"float32\"}}"),
         "keras-E005", "quantised layers (int8)"},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL("y", "Repeat", ", \"axis\": 1, \"repeats\": -1",
                                                      NODE(TENSOR("a", "0"))),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         "keras-E005", "cannot be repeated -1 times"},
        {ONE(", 3", "IntegerLookup", ", \"num_oov_indices\": 1"), "keras-E006",
         "does not have the vocabulary"},
        {ONE(", 3", "StringLookup", ", \"vocabulary\": [\"a\"]"), "keras-E010", "cannot look up"},
        {FUNCTIONAL(INPUT("x", "[null, 2]") "," CALL("y", "Sequential", ", \"layers\": []", "[[]]"),
                    "[\"x\", 0, 0]", "[\"y\", 0, 0]"),
         "keras-E010", "is called without operands"},
        {ONE(", 4", "ReLU", ", \"max_value\": \"six\""), "keras-E005",
         "max_value of the layer's configuration must be a"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        model m;
        assert_int_equal(read_text(&m, row[i].text, strlen(row[i].text), NULL), TN_FAIL);
        says(&m, row[i].id, row[i].part);
        model_deinit(&m);
    }
}

/* n layers of a class that does not exist; or n inputs of seven unknown dimensions. */
static void limits_are_said(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        tn_buf text = {0};
        model m;
        tn_buf_str(&text, "{\"class_name\": \"Functional\", \"config\": {\"layers\": [");
        for (int i = 0; i < (which ? 50 : 250); i++)
            tn_buf_printf(&text,
                          "%s{\"class_name\": \"%s\", \"name\": \"x%d\", \"config\": {\"name\": \"x%d\", "
                          "\"batch_shape\": [null, "
                          "null, null, null, null, null, null]}, \"inbound_nodes\": []}",
                          i ? "," : "", which ? "InputLayer" : "Nothing", i, i);
        tn_buf_str(&text, "], \"input_layers\": [");
        for (int i = 0; i < 50; i++)
            tn_buf_printf(&text, "%s[\"x%d\", 0, 0]", i ? "," : "", i);
        tn_buf_str(&text, "], \"output_layers\": [[\"x0\", 0, 0]]}}");
        assert_int_equal(read_text(&m, text.at, text.n, NULL), TN_FAIL);
        says(&m, which ? "keras-E015" : "keras-E013", which ? "unknown dimensions" : "more than 200 errors");
        model_deinit(&m);
        tn_buf_deinit(&text);
    }
}

static void shapes_are_for_inputs(void **state)
{
    static const char text[] = ONE(", 4", "ReLU", "");
    const int64_t dim[] = {2, 4};
    tn_import_options o = {.shape = &(tn_input_shape){.name = "z", .ndim = 2, .dim = dim}, .n_shape = 1};
    model m;
    (void)state;
    assert_int_equal(read_text(&m, text, strlen(text), &o), TN_FAIL);
    says(&m, "keras-E011", "z");
    model_deinit(&m);
}

static void weights_need_an_architecture(void **state)
{
    char path[512];
    model m;
    (void)state;
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/fuzz_hdf5/old.h5", getenv("TENON_SOURCE_DIR"));
    model_init(&m);
    assert_int_equal(tn_file_map(&m.ctx, path, &m.file), TN_OK);
    assert_int_equal(tn_import(&m.g, path, &m.file, NULL, NULL), TN_FAIL);
    says(&m, "keras-E003", "put the architecture beside it as old.json");
    model_deinit(&m);
}

/* The text of Relay that a model becomes has each of the parts, in their order. */
static void has(const model *m, int n, const char *const part[])
{
    tn_buf text = {0};
    tn_relay_print(&m->g, &text);
    const char *at = tn_buf_cstr(&text);
    for (int i = 0; i < n; i++) {
        const char *found = strstr(at, part[i]);
        if (!found)
            fail_msg("no \"%s\" in\n%s", part[i], tn_buf_cstr(&text));
        at = found + strlen(part[i]);
    }
    tn_buf_deinit(&text);
}

static void layers_become_relay(void **state)
{
    static const struct {
        const char *text, *part[3];
    } row[] = {
        {ONE(", 4", "ReLU", ", \"max_value\": 6.0"),
         {"%x: Tensor[(batch, 4), float32]", "nn.relu(%x)", "minimum("}},
        {ONE(", 8, 6, 3", "MaxPooling2D", ", \"pool_size\": [2, 2], \"padding\": \"same\""),
         {"transpose(%x, axes=[0, 3, 1, 2])", "nn.max_pool2d(", "transpose("}},
        {ONE(", 3", "Hashing", ", \"num_bins\": 5, \"salt\": [1, 2]"),
         {"string.of_number(", "string.hash(", "buckets=5, strong=True, key0=1, key1=2"}},
        {ONE(", 3", "IntegerLookup", ", \"vocabulary\": [7, 3], \"output_mode\": \"multi_hot\""),
         {"equal(", "max(", "maximum("}},
        {ONE(", 8, 6, 3", "AutoContrast", ""), {"min(%x", "max(%x", "clip("}},
        {ONE(", 90", "MelSpectrogram", ", \"fft_length\": 16, \"sequence_stride\": 5, \"num_mel_bins\": 4"),
         {"nn.pad(%x, pad_width=[0, 0, 8, 8], pad_mode=\"reflect\")", "dft(", "/* (4, 9) */"}},
        {ONE(", 8, 6, 3", "Resizing", ", \"height\": 4, \"width\": 5, \"interpolation\": \"lanczos3\""),
         {"take(%x, meta[relay.Constant][0] /* (4, 7) int64 */, axis=1)", "sum(",
          "(5, 6) int64 */, axis=2)"}},
        {ONE(", 8, 6, 3", "UpSampling2D", ", \"interpolation\": \"area\""),
         {"(16, 2) int64 */, axis=1)", "sum(", "(12, 2) int64 */, axis=2)"}},
        {FUNCTIONAL(
             CALL("x", "InputLayer", ", \"batch_input_shape\": [null, 1], \"dtype\": \"string\"",
                  "") "," CALL("y", "TextVectorization",
                               ", \"split\": \"whitespace\", \"ngrams\": 2, \"vocabulary\": [\"a\", \"a b\"]",
                               "[[\"x\", 0, 0, {}]]"),
             "[\"x\", 0, 0]", "[\"y\", 0, 0]"),
         {"string.split(%x", "string.concat(", "topk("}},
        {ONE(", 8, 6", "Flatten", ""), {"Tensor[(batch, 48), float32]", "reshape(%x", "[batch, 48]"}},
        {ONE(", 5, 4", "Bidirectional",
             ", \"merge_mode\": \"ave\", \"layer\": {\"class_name\": \"TimeDistributed\", \"config\": {}}"),
         {NULL}},
        {FUNCTIONAL(
             INPUT("a", "[null, 2]") "," INPUT("b", "[null, 2]") "," CALL(
                 "y", "Add", "", "[[\"a\", 0, 0, {}], [\"r\", 1, 0, {}]]") "," CALL("r", "ReLU", "",
                                                                                    "[[\"b\", 0, 0, {}]], "
                                                                                    "[[\"r\", 0, 0, {}]]"),
             "[\"a\", 0, 0], [\"b\", 0, 0]", "[\"y\", 0, 0]"),
         {"nn.relu(%b)", "nn.relu(%0)", "add(%a, %1)"}},
        {FUNCTIONAL(INPUT("a", "[null, 2]") "," INPUT("b", "[null, 2]") "," CALL(
                        "y", "Merge", ", \"mode\": \"ave\"", "[[\"a\", 0, 0], [\"b\", 0, 0]]"),
                    "[\"a\", 0, 0], [\"b\", 0, 0]", "[\"y\", 0, 0]"),
         {"add(%a, %b)", "divide(%0, 2f)", "}"}},
        /* The first call of a model inside has number 1. */
        {FUNCTIONAL(
             INPUT("a", "[null, 2]") ","
                                     "{\"class_name\": \"Functional\", \"name\": \"m\", \"config\": "
                                     "{\"name\": \"m\", "
                                     "\"layers\": [" INPUT("i", "[null, 2]") "," CALL(
                                         "r", "ReLU", "",
                                         "[[\"i\", 0, 0, {}]]") "], \"input_layers\": [[\"i\", 0, 0]], "
                                                                "\"output_layers\": [[\"r\", 0, 0]]}, "
                                                                "\"inbound_nodes\": [[[\"a\", 0, 0, {}]], "
                                                                "[[\"m\", 1, 0, {}]]]}",
             "[\"a\", 0, 0]", "[\"m\", 2, 0]"),
         {"nn.relu(%a)", "nn.relu(%0)", "}"}},
        /* Of Keras 3 it has number 0 among operands, and 1 at the ends of the model; that of a Sequential has 0. */
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," INPUT("b", "[null, 2]") "," INNER(
                         NODE(TENSOR("a", "0")) "," NODE(TENSOR("b", "0"))) "," CALL("y", "Tanh", "",
                                                                                     NODE(TENSOR("m", "1"))),
                     "[\"a\", 0, 0], [\"b\", 0, 0]", "[\"m\", 1, 0], [\"y\", 0, 0]"),
         {"nn.relu(%a)", "nn.relu(%b)", "tanh(%1)"}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," INNER(NODE(TENSOR("a", "0")) "," NODE(TENSOR("m", "0"))),
                     "[\"a\", 0, 0]", "[\"m\", 2, 0]"),
         {"nn.relu(%a)", "nn.relu(%0)", "}"}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL(
                         "s", "Sequential",
                         ", \"layers\": [{\"class_name\": \"ReLU\", \"config\": {\"name\": \"r\"}}]",
                         NODE(TENSOR("a", "0")) "," NODE(TENSOR("s", "0"))),
                     "[\"a\", 0, 0]", "[\"s\", 0, 0], [\"s\", 1, 0]"),
         {"nn.relu(%a)", "nn.relu(%0)", "(%0, %1)"}},
        /* Operands of different types become of one. */
        {FUNCTIONAL(TYPED("a", "int32") "," TYPED("b", "float32") "," CALL(
                        "y", "Concatenate", "", "[[\"a\", 0, 0, {}], [\"b\", 0, 0, {}]]"),
                    "[\"a\", 0, 0], [\"b\", 0, 0]", "[\"y\", 0, 0]"),
         {"cast(%a, dtype=\"float32\")", "concatenate((%0, %b), axis=1)", "}"}},
        {FUNCTIONAL(TYPED("a", "uint8") "," TYPED("b", "int8") "," CALL(
                        "y", "Average", "", "[[\"a\", 0, 0, {}], [\"b\", 0, 0, {}]]"),
                    "[\"a\", 0, 0], [\"b\", 0, 0]", "[\"y\", 0, 0]"),
         {"add(%0, %1) /* y */;\n  %3 = cast(%2, dtype=\"float32\")", "divide(%3, 2f)", "}"}},
        {FUNCTIONAL(TYPED("a", "int32") "," TYPED("b", "bool") "," CALL(
                        "y", "Subtract", "", "[[\"a\", 0, 0, {}], [\"b\", 0, 0, {}]]"),
                    "[\"a\", 0, 0], [\"b\", 0, 0]", "[\"y\", 0, 0]"),
         {"cast(%b, dtype=\"int32\")", "subtract(%a, %0)", "}"}},
        {FUNCTIONAL3(TYPED("a", "uint32") "," TYPED("b", "int32") "," CALL(
                         "y", "Add", "", NODE(TENSOR("a", "0") "," TENSOR("b", "0"))),
                     "[\"a\", 0, 0], [\"b\", 0, 0]", "[\"y\", 0, 0]"),
         {"cast(%a, dtype=\"int64\")", "cast(%b, dtype=\"int64\")", "add(%0, %1)"}},
        {FUNCTIONAL3(TYPED("a", "int32") "," CALL("y", "Add", "", NODE(TENSOR("a", "0") ", 1.0")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"cast(%a, dtype=\"float32\")", "add(%0, 1f)", "}"}},
        {FUNCTIONAL3(TYPED("a", "uint8") "," CALL("y", "Sum", "", NODE(TENSOR("a", "0"))), "[\"a\", 0, 0]",
                     "[\"y\", 0, 0]"),
         {"cast(%a, dtype=\"uint32\")", "sum(", "}"}},
        /* An operation whose module Keras 3 leaves out, beside the layer of that name. */
        {"{\"class_name\": \"Functional\", \"registered_name\": \"Functional\", \"config\": {\"name\": "
         "\"f\", "
         "\"layers\": [" INPUT("a", "[null, 2]") "," CALL(
             "m", "Multiply", "",
             "{\"args\": [{\"class_name\": \"__keras_tensor__\", \"config\": "
             "{\"keras_history\": [\"a\", 0, 0]}}, 2.0], \"kwargs\": {}}") "], \"input_layers\": [\"a\", 0, "
                                                                           "0], \"output_layers\": [\"m\", "
                                                                           "0, 0]}}",
         {"%a: Tensor[(batch, 2), float32]", "multiply(%a, ", "}"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        model m;
        tn_status s = read_text(&m, row[i].text, strlen(row[i].text), NULL);
        assert_int_equal(s, row[i].part[0] ? TN_OK : TN_FAIL);
        if (s == TN_OK)
            has(&m, 3, row[i].part);
        model_deinit(&m);
    }
}

typedef struct operation {
    const char *text, *part[3];
} operation;

static void check_operations(size_t n, const operation row[])
{
    for (size_t i = 0; i < n; i++) {
        model m;
        assert_int_equal(read_text(&m, row[i].text, strlen(row[i].text), NULL), TN_OK);
        has(&m, 3, row[i].part);
        model_deinit(&m);
    }
}

static void operations_become_relay(void **state)
{
    static const operation row[] = {
        /* Constants have the shape of their lists, and a type of their own; floats may be no numbers. */
        {FUNCTIONAL3(
             TYPED("a", "int32") "," CALL("y", "Add", "",
                                          NODE(TENSOR("a", "0") ", {\"class_name\": \"__tensor__\", "
                                                                "\"config\": {\"value\": [[1.5, 2], [3, "
                                                                "4]], \"dtype\": \"float32\"}}")),
             "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"cast(%a, dtype=\"float32\")", "add(%0, ", "/* (2, 2) */"}},
        {FUNCTIONAL3(
             INPUT("a", "[null, 2]") "," CALL("y", "Maximum", "", NODE(TENSOR("a", "0") ", -Infinity")),
             "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"maximum(%a, ", "-inf", "}"}},
        /* Without an axis, keras.ops takes all elements. */
        {FUNCTIONAL3(
             INPUT("a", "[null, 2]") "," CALL("y", "Argmax", ", \"axis\": null", NODE(TENSOR("a", "0"))),
             "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"reshape(%a", "argmax(%0, axis=0)", "}"}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL("y", "Take", ", \"axis\": 1",
                                                      NODE(TENSOR("a", "0") ", [1, -1]")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"take(%a, ", "(2) int32", "axis=1"}},
    };
    (void)state;
    check_operations(sizeof row / sizeof *row, row);
}

static void functions_become_relay(void **state)
{
    static const operation row[] = {
        /* No axes are none, not all; the type of the result counts, and so does where the ends are crossed. */
        {FUNCTIONAL3(
             INPUT("a", "[null, 2]") "," CALL("y", "Sum", ", \"axis\": []", NODE(TENSOR("a", "0") "")),
             "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"-> Tensor[(batch, 2), float32]", "%a", "}"}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL("y", "Argmax", ", \"axis\": null, \"keepdims\": true",
                                                      NODE(TENSOR("a", "0") "")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"reshape(%a", "argmax(%0, axis=0, keepdims=True", "[1, 1]"}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL("y", "Max", ", \"axis\": 1, \"initial\": 0.5",
                                                      NODE(TENSOR("a", "0") "")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"max(%a", "maximum(%0", "0.5f"}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL("y", "Cumsum", ", \"axis\": 1, \"dtype\": \"int32\"",
                                                      NODE(TENSOR("a", "0") "")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"cast(%a, dtype=\"int32\")", "cumsum(%0", "}"}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL("y", "ZerosLike", ", \"dtype\": \"int32\"",
                                                      NODE(TENSOR("a", "0") "")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"Tensor[(batch, 2), int32]", "broadcast_to(", "}"}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL("y", "Clip", ", \"x_min\": 1.0, \"x_max\": -1.0",
                                                      NODE(TENSOR("a", "0") "")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"minimum(%a, -1f)", "maximum(%0, 1f)", "}"}},
        {FUNCTIONAL3(
             INPUT("a", "[null, 2]") "," CALL("y", "Softmax", ", \"axis\": null", NODE(TENSOR("a", "0") "")),
             "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"sum(", "log(", "subtract("}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL(
                         "y", "Norm", ", \"ord\": -Infinity, \"axis\": 1, \"keepdims\": false",
                         NODE(TENSOR("a", "0") "")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"abs(%a)", "min(%0", "axis=[1]"}},
        {FUNCTIONAL3(TYPED("a", "int32") "," CALL("y", "Floor", "", NODE(TENSOR("a", "0") "")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"cast(%a, dtype=\"float32\")", "floor(%0)", "}"}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL("y", "TakeAlongAxis", ", \"axis\": 1",
                                                      NODE(TENSOR("a", "0") ", [[0]]")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"broadcast_to(", "gather(", "axis=1"}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL("y", "Repeat", ", \"axis\": 1, \"repeats\": [2, 1]",
                                                      NODE(TENSOR("a", "0") "")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"take(%a, ", "(3) int64", "axis=1"}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL(
                         "y", "Einsum", ", \"subscripts\": \"ab,bc->ac\"",
                         NODE(TENSOR("a", "0") ", {\"class_name\": \"__numpy__\", \"config\": {\"value\": "
                                               "[[1, 2], [3, 4]], \"dtype\": \"float32\"}}")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"einsum((%a, ", "(2, 2)", "ab,bc->ac"}},
        {FUNCTIONAL3(TYPED("a", "int8") "," CALL(
                         "y", "Matmul", "",
                         NODE(TENSOR("a", "0") ", {\"class_name\": \"__numpy__\", \"config\": {\"value\": "
                                               "[[1, 2], [3, 4]], \"dtype\": \"int8\"}}")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"cast(%a, dtype=\"int32\")", "nn.dense(", "int32"}},
        /* What is made of others. */
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL("y", "Median", ", \"axis\": 1, \"keepdims\": true",
                                                      NODE(TENSOR("a", "0") "")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"topk(%1, k=[2], axis=1, is_ascend=True", "multiply(%3, 0.5f)", "isnan("}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL("y", "Arctan2", "", NODE(TENSOR("a", "0") ", 2.0")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"atan(", "where(", "}"}},
        {FUNCTIONAL3(INPUT("a", "[null, 2]") "," CALL(
                         "y", "Tensordot", ", \"axes\": 1",
                         NODE(TENSOR("a", "0") ", {\"class_name\": \"__numpy__\", \"config\": {\"value\": "
                                               "[[1, 2], [3, 4]], \"dtype\": \"float32\"}}")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"einsum((%a, ", "equation=", "}"}},
        /* Functions drop masks: the average is one of all steps. A layer that keeps them leads to sums. */
        {FUNCTIONAL3(INPUT("a", "[null, 3, 2]") "," CALL("m", "Masking", "", NODE(TENSOR("a", "0"))) "," CALL(
                         "t", "Tanh", "", NODE(TENSOR("m", "0"))) "," CALL("y", "GlobalAveragePooling1D", "",
                                                                           NODE(TENSOR("t", "0"))),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"tanh(", "  mean(", "}"}},
        {FUNCTIONAL3(INPUT("a", "[null, 3, 2]") "," CALL("m", "Masking", "", NODE(TENSOR("a", "0"))) "," CALL(
                         "t", "LeakyReLU", "", NODE(TENSOR("m", "0"))) "," CALL("y", "GlobalAveragePooling1D",
                                                                                "", NODE(TENSOR("t", "0"))),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"nn.leaky_relu(", "sum(", "divide("}},
        /* Windows and pictures. */
        {FUNCTIONAL3(
             INPUT("a", "[null, 4, 4, 1]") "," CALL("y", "MaxPool",
                                                    ", \"pool_size\": 2, \"strides\": null, \"padding\": "
                                                    "\"valid\", \"data_format\": \"channels_last\"",
                                                    NODE(TENSOR("a", "0"))),
             "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"nn.max_pool2d(", "pool_size=[2, 2]", "}"}},
        {FUNCTIONAL3(INPUT("a", "[null, 4, 4, 1]") "," CALL(
                         "y", "Conv", ", \"strides\": 1, \"padding\": \"valid\", \"dilation_rate\": 1",
                         NODE(TENSOR("a", "0") ", {\"class_name\": \"__numpy__\", \"config\": {\"value\": "
                                               "[[[[2.0]]]], \"dtype\": \"float32\"}}")),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"nn.conv2d(", "(1, 1, 1, 1)", "}"}},
        {FUNCTIONAL3(INPUT("a", "[null, 4, 4, 1]") "," CALL(
                         "y", "Resize",
                         ", \"size\": [2, 3], \"interpolation\": \"bilinear\", \"data_format\": null",
                         NODE(TENSOR("a", "0"))),
                     "[\"a\", 0, 0]", "[\"y\", 0, 0]"),
         {"image.resize2d(", "size=[2, 3]", "}"}},
    };
    (void)state;
    check_operations(sizeof row / sizeof *row, row);
}

static const uint8_t *constant_of(const model *m, const char *name)
{
    const tn_node *at[8];
    size_t n = tn_relay_constants(&m->g, at, 8);
    for (size_t i = 0; i < n && i < 8; i++)
        if (at[i]->name && strcmp(at[i]->name, name) == 0)
            return at[i]->blob->at;
    return NULL;
}

/* Those of an archive that was deflated are memory of their own, which dead code elimination leaves. */
static void weights_are_where_they_lie(void **state)
{
    static const char *const names[] = {"dense.keras", "dense.h5", "dense_packed.keras"};
    static const char *const part[] = {"nn.dense(", "nn.bias_add(", "nn.relu("};
    (void)state;
    for (int i = 0; i < 3; i++) {
        char path[512];
        model m;
        snprintf(path, sizeof path, "%s/tests/fuzz/corpus/fuzz_keras/%s", getenv("TENON_SOURCE_DIR"),
                 names[i]);
        model_init(&m);
        assert_int_equal(tn_file_map(&m.ctx, path, &m.file), TN_OK);
        assert_int_equal(tn_import(&m.g, path, &m.file, NULL, NULL), TN_OK);
        has(&m, 3, part);
        tn_graph_sweep_blobs(&m.g);
        const uint8_t *bias = constant_of(&m, "dense.bias");
        float got[2];
        assert_int_equal(bias > m.file.at && bias < m.file.at + m.file.n, i < 2);
        memcpy(got, bias, sizeof got); /* may be unaligned */
        assert_true(got[0] == 10 && got[1] == -20);
        model_deinit(&m);
    }
}

/* Archives that keep what JSON alone has not: weights of recurrent layers, vocabularies. */
static void archives_become_relay(void **state)
{
    static const struct {
        const char *file, *part[3];
    } row[] = {
        {"stateful_packed.keras",
         {"#[state = [\"layers/simple_rnn/state0\", \"layers/simple_rnn/state0\"]]",
          "%layers_simple_rnn_state0: Tensor[(1, 1), float32]", "nn.recurrent("}},
        {"conv_lstm_packed.keras", {"nn.conv1d(", "nn.conv1d(", "tanh("}},
        {"lookup_packed.keras", {"string.find(%input_layer_2", "unbox(", "where("}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char path[512];
        model m;
        snprintf(path, sizeof path, "%s/tests/fuzz/corpus/fuzz_keras/%s", getenv("TENON_SOURCE_DIR"),
                 row[i].file);
        model_init(&m);
        assert_int_equal(tn_file_map(&m.ctx, path, &m.file), TN_OK);
        assert_int_equal(tn_import(&m.g, path, &m.file, NULL, NULL), TN_OK);
        has(&m, 3, row[i].part);
        model_deinit(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_said),        cmocka_unit_test(limits_are_said),
        cmocka_unit_test(shapes_are_for_inputs),  cmocka_unit_test(weights_need_an_architecture),
        cmocka_unit_test(layers_become_relay),    cmocka_unit_test(operations_become_relay),
        cmocka_unit_test(functions_become_relay), cmocka_unit_test(weights_are_where_they_lie),
        cmocka_unit_test(archives_become_relay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
