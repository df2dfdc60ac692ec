/* Import of small models: what Relay they give (tests/onnx/import.txt), and what is said about those that cannot be
 * read (tests/onnx/errors.txt). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/cases.h"
#include "onnx/write.h"

/* Appends the module's text without its version and the names of its outputs. */
static void add_module(model *m, tn_buf *out)
{
    for (const char *line = strchr(model_text(m), '\n') + 1, *end; *line; line = end) {
        end = strchr(line, '\n') + 1;
        if (strncmp(line, "#[outputs", 9) != 0)
            tn_buf_add(out, line, (size_t)(end - line));
    }
}

/* The module's text, then all diagnostics. */
static const char *import_text(model *m, char *text)
{
    case_shapes o = {0};
    case_take_shapes(text, &o);
    tn_buf b = write_model(text), out = {0};
    tn_import_options options = {.shape = o.shape, .n_shape = o.n};
    m->file = (tn_file){tn_arena_copy(&m->arena, b.at, b.n, 1), b.n, 0};
    tn_buf_deinit(&b);
    tn_status s = tn_import(&m->g, "m.onnx", &m->file, "onnx", &options);
    if (s == TN_OK)
        s = tn_relay_verify(&m->g);
    assert_int_equal(s == TN_OK, m->ctx.n_error == 0);
    if (s == TN_OK)
        add_module(m, &out);
    tn_buf_str(&out, model_errors(m));
    const char *have = tn_arena_strdup(&m->arena, tn_buf_cstr(&out));
    tn_buf_deinit(&out);
    return have;
}

static void models_become_relay(void **state)
{
    (void)state;
    case_check_file("tests/onnx/import.txt", import_text);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    case_check_file("tests/onnx/errors.txt", import_text);
}

/* The file holds several elements of less than 8 bits in a byte, a constant one. */
static void elements_below_a_byte_are_unpacked(void **state)
{
    static const struct {
        const char *type, *values;
        unsigned char bytes[5];
    } row[] = {
        {"int4", "-8 7 3 -1 2", {8, 7, 3, 15, 2}},
        {"uint4", "15 0 9 1 8", {15, 0, 9, 1, 8}},
        {"float4", "-6 0.5 1.5 -0.0 3", {15, 1, 3, 8, 5}},
        {"int2", "-2 1 0 -1 1", {2, 1, 0, 3, 1}},
        {"float8", "448 -1 0.5 0 16", {126, 184, 48, 0, 88}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int raw = 0; raw < 2; raw++) {
            char text[256];
            model m;
            model_init(&m);
            snprintf(text, sizeof text, "opset 25\n%s w %s 5 = %s\nnode Identity w -> y\noutput y\n",
                     raw ? "init" : "inits", row[i].type, row[i].values);
            (void)import_text(&m, text);
            assert_string_equal(model_errors(&m), "");
            const tn_node *w = tn_graph_function(&m.g, "main")->body->first;
            while (w && !w->blob)
                w = w->next;
            assert_non_null(w);
            assert_int_equal(w->blob->n, 5);
            assert_memory_equal(w->blob->at, row[i].bytes, 5);
            model_deinit(&m);
        }
}

/* The nodes of a forest are lists of attributes, one entry a node. */
static void attributes_have_any_number_of_entries(void **state)
{
    enum { N = 70000 };
    tn_buf text = {0};
    model m;
    (void)state;
    model_init(&m);
    tn_buf_str(&text, "opset 13\nnode Constant -> c value_ints=[0");
    for (int i = 1; i < N; i++)
        tn_buf_printf(&text, ",%d", i % 10);
    tn_buf_str(&text, "]\noutput c\n");
    (void)import_text(&m, tn_arena_strdup(&m.arena, tn_buf_cstr(&text)));
    assert_string_equal(model_errors(&m), "");
    const tn_node *c = tn_graph_function(&m.g, "main")->body->first;
    assert_non_null(c->blob);
    assert_int_equal(c->blob->n, N * sizeof(int64_t));
    assert_int_equal(((const int64_t *)(const void *)c->blob->at)[N - 1], (N - 1) % 10);
    tn_buf_deinit(&text);
    model_deinit(&m);
}

/* ---- hostile bytes ---- */

static const char sample[] = "opset 13\n"
                             "input x float n 2 6\n"
                             "init w float 6 3 = 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9\n"
                             "init ax int64 1 = 1\n"
                             "inits k int32 2 = 0 -1\n"
                             "node Shape x -> s\n"
                             "node Gather s,k -> g\n"
                             "node MatMul x,w -> y name=mm\n"
                             "node Squeeze z,ax -> q\n"
                             "node Split y -> z,z2 axis=1\n"
                             "node Concat z,z2 -> o axis=-1\n"
                             "node Reshape o,g -> r\n"
                             "output r\n"
                             "output o\n";

/* Success, or failure that says why. */
static void import_any(const void *at, size_t n)
{
    model m;
    model_init(&m);
    m.file = (tn_file){tn_arena_copy(&m.arena, at, n, 1), n, 0};
    tn_status s = tn_import(&m.g, "m.onnx", &m.file, "onnx", NULL);
    if (s == TN_OK)
        s = tn_relay_verify(&m.g);
    if ((s == TN_OK) != (m.ctx.n_error == 0))
        fail_msg("status %d, but %zu errors\n%s", s, m.ctx.n_error, model_errors(&m));
    model_deinit(&m);
}

/* Protocol Buffers put a message together that a file holds in several pieces. */
static void a_graph_in_two_pieces_is_one(void **state)
{
    (void)state;
    static const float x = 1, w = 2;
    tn_buf bytes = write_model(
               "opset 13\ninput x float 1\ninit w float 1 = 2\nnode Add x,w -> y\noutput y float 1\n"),
           nothing = {0};
    model m;
    model_init(&m);
    pb_message(&bytes, 7, &nothing);
    m.file = (tn_file){(const uint8_t *)bytes.at, bytes.n, 0};
    assert_int_equal(tn_import(&m.g, "m.onnx", &m.file, NULL, NULL), TN_OK);
    tn_tensor_value in = {.dtype = TN_F32,
                          .ndim = 1,
                          .dim = {1},
                          .at = (void *)(uintptr_t)&x,
                          .n = 4,
                          .borrowed = true},
                    out;
    assert_int_equal(tn_relay_run(&m.g, 1, &in, 1, &out, tn_eval_interp, NULL), TN_OK);
    assert_true(*(const float *)out.at == x + w);
    tn_tensor_value_deinit(&out);
    model_deinit(&m);
    tn_buf_deinit(&bytes);
}

static void every_prefix_is_refused_or_read(void **state)
{
    (void)state;
    tn_buf b = write_model(sample);
    for (size_t n = 0; n <= b.n; n++)
        import_any(b.at, n);
    tn_buf_deinit(&b);
}

static void every_flipped_bit_is_survived(void **state)
{
    (void)state;
    tn_buf b = write_model(sample);
    for (size_t i = 0; i < b.n * 8; i++) {
        b.at[i / 8] ^= (char)(1 << i % 8);
        import_any(b.at, b.n);
        b.at[i / 8] ^= (char)(1 << i % 8);
    }
    tn_buf_deinit(&b);
}

/* ---- formats ---- */

static void formats_are_guessed(void **state)
{
    (void)state;
    tn_buf onnx = write_model("opset 13\ninput x float 1\nnode Relu x -> y\noutput y\n");
    const struct {
        const char *path, *content;
        size_t n;
        const char *format;
    } row[] = {
        {"m.onnx", "", 0, "onnx"},
        {"M.ONNX", "", 0, "onnx"},
        {"model.bin", onnx.at, onnx.n, "onnx"},
        {"a/b.relay", "", 0, "relay"},
        {"x", "\n #[version = \"0.0.5\"]\n", 23, "relay"},
        {"x.txt", "def @main() { }", 15, "relay"},
        {"x.onnx", "def @main() { }", 15, "relay"},
        {"m.bin", "\x89HDF\r\n\x1a\n", 8, "keras"},
        {"model.keras", "", 0, "keras"},
        {"m.json", "{\"class_name\": \"Sequential\", \"config\": {\"layers\": []}}", 55, "keras"},
        {"README", "hello", 5, NULL},
        {"onnx", "", 0, NULL},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_file f = {(const uint8_t *)row[i].content, row[i].n, 0};
        const tn_format *have = tn_format_guess(row[i].path, &f);
        if ((have == NULL) != (row[i].format == NULL) || (have && strcmp(have->name, row[i].format) != 0))
            fail_msg("%s: %s", row[i].path, have ? have->name : "not known");
    }
    assert_string_equal(tn_format_guess("m.onnx", NULL)->name, "onnx");
    tn_buf_deinit(&onnx);
}

static void unknown_formats_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *path, *format, *content, *text;
    } row[] = {
        {"m.onnx", "onnx", "<html>", /* whatever it is called */
         "m.onnx: error: this is an HTML page, not a model; the download fetched a web page: use the link to "
         "the "
         "file itself [frontend-E002]\n"},
        {"m.of", NULL,
         "\x80\x04\x95\xff\xff\xff\xff\x01\x01}\x94(\x8c\x0b__oneflow__\x94\x8c\x0b__oneflow__\x94\x8c\x04"
         "data\x94\x8c\x05linear\x94\x8c\x06weight\x94\x8c\x04"
         "bias\x94u.",
         "m.of: error: this is OneFlow's weights, not a model that can be read; their graphs (model.mlir) "
         "are not read: export "
         "the model to ONNX "
         "with "
         "oneflow_onnx.oneflow2onnx.util.export_onnx_model(graph) [frontend-E002]\n"},
        {"m.x", NULL, "\xff\xff\xff\xff",
         "m.x: error: neither its content nor its name tells the format of this file; if it is a model, name "
         "its "
         "format with --model-format (%s) [frontend-E001]\n"},
        {"m.x", "onx", "\xff\xff\xff\xff",
         "m.x: error: unknown model format \"onx\"; choose from %s [frontend-E001]\n"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        model m;
        model_init(&m);
        m.file = (tn_file){(const uint8_t *)row[i].content, strlen(row[i].content), 0};
        assert_int_equal(tn_import(&m.g, row[i].path, &m.file, row[i].format, NULL), TN_FAIL);
        tn_buf known = {0}, text = {0};
        for (size_t k = 0; k < tn_n_formats; k++)
            tn_buf_printf(&known, "%s%s", k ? ", " : "", tn_formats[k].name);
        const char *gap = strstr(row[i].text, "%s");
        tn_buf_add(&text, row[i].text, gap ? (size_t)(gap - row[i].text) : strlen(row[i].text));
        if (gap)
            tn_buf_printf(&text, "%s%s", tn_buf_cstr(&known), gap + 2);
        assert_string_equal(model_errors(&m), tn_buf_cstr(&text));
        tn_buf_deinit(&known);
        tn_buf_deinit(&text);
        model_deinit(&m);
    }
}

static void relay_text_is_read(void **state)
{
    (void)state;
    static const char text[] = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(n), float32]) -> Tensor[(n), "
                               "float32] {\n  nn.relu(%x)\n}\n";
    model m;
    model_init(&m);
    m.file = (tn_file){(const uint8_t *)text, sizeof text - 1, 0};
    assert_int_equal(tn_import(&m.g, "m.relay", &m.file, NULL, NULL), TN_OK);
    assert_string_equal(model_text(&m), text);
    model_deinit(&m);
    model_init(&m);
    m.file = (tn_file){(const uint8_t *)text, sizeof text - 1, 0};
    tn_import_options o = {.shape = &(tn_input_shape){.name = "x", .ndim = 1, .dim = (const int64_t[]){3}},
                           .n_shape = 1};
    assert_int_equal(tn_import(&m.g, "m.relay", &m.file, NULL, &o), TN_FAIL);
    model_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_become_relay),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(elements_below_a_byte_are_unpacked),
        cmocka_unit_test(attributes_have_any_number_of_entries),
        cmocka_unit_test(a_graph_in_two_pieces_is_one),
        cmocka_unit_test(every_prefix_is_refused_or_read),
        cmocka_unit_test(every_flipped_bit_is_survived),
        cmocka_unit_test(formats_are_guessed),
        cmocka_unit_test(unknown_formats_are_refused),
        cmocka_unit_test(relay_text_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
