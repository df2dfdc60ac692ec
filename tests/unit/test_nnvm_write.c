/* Modules of Relay as graphs of NNVM: the text, what the reader of such graphs makes of it (the same bits), and what is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

#include "driver/driver.h"
#include "frontend/export.h"
#include "frontend/mxnet/mxnet.h"

enum { MOST_IN = 6, MOST_OUT = 3 };

static const char *in_text(model *m, const char *text)
{
    return tn_arena_printf(&m->arena, "#[version = \"0.0.5\"]\ndef @main(%s", text);
}

static tn_status parse(model *m, const char *text)
{
    const char *whole = in_text(m, text);
    return tn_relay_parse(&m->g, "m.relay", whole, strlen(whole), NULL);
}

static tn_status write(model *m, tn_buf *graph, tn_buf *params)
{
    tn_export_params p;
    TN_TRY(tn_export_find("nnvm")->write(&m->g, &m->arena, graph, &p));
    tn_params_write(p.n, p.name, p.constant, false, &(tn_sink){.buf = params});
    return TN_OK;
}

static tn_status read_back(model *m, const tn_buf *graph, const tn_buf *params)
{
    mx_pair p = {{(const uint8_t *)graph->at, graph->n},
                 {(const uint8_t *)params->at, params->n},
                 "m.json",
                 "m.params"};
    m->file = (tn_file){p.symbol.at, p.symbol.n, 0};
    TN_TRY(mx_import_pair(&m->g, "m.json", &m->file, &p));
    return tn_relay_verify(&m->g);
}

/* ---- the same bits ---- */

#define X1 "%x: Tensor[(1, 4, 6, 6), float32]) { "
#define X2 "%x: Tensor[(1, 4, 6, 6), float32], %y: Tensor[(1, 4, 6, 6), float32]) { "
#define XC "%x: Tensor[(1, 4, 6, 6), float32], %y: Tensor[(4), float32]) { "
#define XW \
    "%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(8, 4, 3, 3), float32], %b: Tensor[(8), float32]) { "
#define XL \
    "%x: Tensor[(1, 6, 6, 4), float32], %w: Tensor[(3, 3, 4, 8), float32], %b: Tensor[(8), float32]) { "
#define XT \
    "%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(4, 2, 3, 3), float32], %b: Tensor[(2), float32]) { "
#define XD "%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32], %b: Tensor[(5), float32]) { "
#define I2 "%x: Tensor[(2, 3), int32], %y: Tensor[(2, 3), int32]) { "

static const char *const same[] = {
    X2 "add(%x, %y) }",
    XC "%0 = expand_dims(%y, axis=1, num_newaxis=2); subtract(%x, %0) }",
    X1
    "%0 = multiply(%x, 0.1f); %1 = add(3f, %0); %2 = subtract(1f, %1); %3 = divide(%2, 3f); divide(2f, %3) }",
    X1 "%0 = abs(%x); %1 = power(%0, 0.5f); power(2f, %1) }",
    X2 "%0 = maximum(%x, 0.25f); minimum(%0, %y) }",
    X2 "%0 = greater(%x, %y); %1 = less_equal(%x, 0f); %2 = logical_and(%0, %1); %3 = logical_not(%2); "
       "%4 = equal(%x, %x); %5 = logical_or(%3, %4); where(%5, %x, 1f) }",
    X2 "%0 = greater_equal(%x, 0f); %1 = cast(%0, dtype=\"float32\"); %2 = not_equal(%1, %y); cast(%2, "
       "dtype=\"int32\") }",
    X1
    "%0 = cast(%x, dtype=\"bool\"); %1 = less(%x, 1f); %2 = logical_and(%0, %1); cast(%2, dtype=\"uint8\") }",
    I2 "%0 = trunc_divide(%x, %y); %1 = multiply(%0, 3); %2 = subtract(7, %1); add(%2, %y) }",
    I2 "%0 = less(%x, %y); %1 = cast(%y, dtype=\"float32\"); %2 = cast(%0, dtype=\"float32\"); add(%1, %2) }",
    X1 "%0 = clip(%x, a_min=-0.5, a_max=0.75); %1 = nn.leaky_relu(%0, alpha=0.1); nn.relu(%1) }",
    XC "%0 = reshape(%y, newshape=[1, 4, 1, 1]); nn.prelu(%x, %0) }",
    X1 "%0 = abs(%x); %1 = add(%0, 1f); %2 = log(%1); %3 = sqrt(%2); %4 = tanh(%3); %5 = sigmoid(%4); %6 = "
       "exp(%5); "
       "negative(%6) }",
    X1
    "%0 = multiply(%x, 10f); %1 = floor(%0); %2 = ceil(%0); %3 = trunc(%0); %4 = add(%1, %2); add(%4, %3) }",
    XW "%0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]); nn.bias_add(%0, %b) }",
    XW "%0 = nn.conv2d(%x, %w, strides=[2, 2], padding=[0, 1, 1, 2], dilation=[2, 1]); "
       "%1 = reshape(%b, newshape=[8, 1, 1]); add(%0, %1) }",
    XL "%0 = nn.conv2d(%x, %w, padding=[1, 0, 0, 1], data_layout=\"NHWC\", kernel_layout=\"HWIO\"); "
       "nn.bias_add(%0, %b, axis=3) }",
    "%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(4, 1, 3, 3), float32]) { nn.conv2d(%x, %w, groups=4) }",
    XW "%0 = nn.conv2d(%x, %w); %1 = nn.bias_add(%0, %b); add(%0, %1) }",
    XT "%0 = nn.conv2d_transpose(%x, %w, strides=[2, 2], padding=[1, 1, 1, 1], output_padding=[1, 1]); "
       "nn.bias_add(%0, %b) }",
    XD "%0 = nn.dense(%x, %w); nn.bias_add(%0, %b) }",
    XD "%0 = nn.dense(%x, %w, units=5); %1 = nn.softmax(%0); add(%1, %b) }",
    "%x: Tensor[(3, 4), float32], %b: Tensor[(3), float32]) { %0 = nn.bias_add(%x, %b, axis=0); "
    "nn.log_softmax(%0) }",
    X1 "nn.max_pool2d(%x, pool_size=[3, 2], strides=[2, 1], padding=[1, 0, 0, 1]) }",
    X1 "nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], ceil_mode=True) }",
    X1 "nn.avg_pool2d(%x, pool_size=[2, 2], strides=[2, 2], padding=[1, 1, 1, 1]) }",
    X1 "nn.avg_pool2d(%x, pool_size=[2, 2], padding=[1, 1, 1, 1], count_include_pad=True) }",
    "%x: Tensor[(1, 6, 6, 4), float32]) { nn.avg_pool2d(%x, pool_size=[3, 3], layout=\"NHWC\") }",
    X1 "nn.global_avg_pool2d(%x) }",
    "%x: Tensor[(1, 6, 6, 4), float32]) { nn.global_max_pool2d(%x, layout=\"NHWC\") }",
    "%x: Tensor[(1, 4, 6, 6), float32], %g: Tensor[(4), float32], %b: Tensor[(4), float32], %m: Tensor[(4), "
    "float32], "
    "%v: Tensor[(4), float32]) { %0 = abs(%v); %1 = nn.batch_norm(%x, %g, %b, %m, %0, epsilon=0.001); %1.0 }",
    "%x: Tensor[(1, 6, 6, 4), float32], %g: Tensor[(4), float32], %b: Tensor[(4), float32], %m: Tensor[(4), "
    "float32], "
    "%v: Tensor[(4), float32]) { %0 = abs(%v); %1 = nn.batch_norm(%x, %g, %b, %m, %0, axis=3); %1.0 }",
    X1 "nn.lrn(%x, size=3, alpha=0.0002, beta=0.6, bias=1) }",
    X1 "nn.pad(%x, pad_width=[0, 0, 0, 1, 2, 0, 1, 1], pad_value=0.5) }",
    X1 "%0 = nn.batch_flatten(%x); %1 = reshape(%0, newshape=[2, -1]); transpose(%1) }",
    X1 "%0 = transpose(%x, axes=[0, 2, 3, 1]); %1 = squeeze(%0, axis=[0]); expand_dims(%1, axis=-1) }",
    X2 "%0 = (%x, %y, %x); concatenate(%0, axis=-3) }",
    X1 "strided_slice(%x, begin=[1, 0], end=[3, 5], strides=[1, 2], axes=[1, 3]) }",
    X1 "strided_slice(%x, begin=[-1, 5], end=[-10, 1], strides=[-1, -2], axes=[2, 3]) }",
    X1 "strided_slice(%x, begin=[-3], end=[-1], axes=[2]) }",
    "%x: Tensor[(1, 3), float32]) { broadcast_to(%x, shape=[2, 4, 3]) }",
    "%x: Tensor[(4, 5), float32], %i: Tensor[(2, 3), int32]) { take(%x, %i, axis=1) }",
    X1 "%0 = sum(%x, axis=[1], keepdims=True); %1 = mean(%x, axis=[0, 1], exclude=True); "
       "%2 = max(%x, axis=[2, -1]); %3 = min(%x, axis=[3]); %4 = prod(%3, axis=[2]); (%0, %1, %4) }",
    X1 "%0 = argmax(%x, axis=1, dtype=\"int32\"); %1 = argmin(%x, axis=-1, keepdims=True); (%0, %1) }",
    X1
    "image.resize2d(%x, size=[9, 12], method=\"linear\", coordinate_transformation_mode=\"align_corners\") }",
    X1 "image.resize2d(%x, size=[3, 7], method=\"linear\", coordinate_transformation_mode=\"asymmetric\") }",
    X1 "image.resize2d(%x, size=[12, 12], method=\"nearest_neighbor\", "
       "coordinate_transformation_mode=\"asymmetric\", "
       "rounding_method=\"floor\") }",
    X1 "%x }",
    "%x: Tensor[(2, 3), float64], %y: Tensor[(2, 3), float64]) { %0 = multiply(%x, 0.1f64); add(%0, %y) }",
    "%x: Tensor[(2, 3), int16], %y: Tensor[(2, 3), uint16]) { %0 = cast(%y, dtype=\"int16\"); add(%x, %0) }",
};

static uint32_t next_random(uint32_t *s) { return *s = *s * 1664525u + 1013904223u; }

static void fill(tn_tensor_value *v, const tn_type *t, uint32_t seed)
{
    size_t count = 1;
    *v = (tn_tensor_value){.dtype = t->dtype, .ndim = t->n};
    for (int d = 0; d < t->n; d++)
        count *= (size_t)(v->dim[d] = t->dim[d]->u.i);
    v->n = count * tn_dtype_bytes(t->dtype);
    v->at = tn_tensor_value_memory(v->n);
    for (size_t i = 0; i < count; i++) {
        int64_t whole = (int64_t)(next_random(&seed) >> 28) - 7;
        double real = (double)whole / 4 + 1e-3;
        size_t bytes = tn_dtype_bytes(t->dtype);
        char *at = (char *)v->at + i * bytes;
        if (tn_dtype_is_int(t->dtype))
            memcpy(at, &(int64_t){whole ? whole : 1}, bytes);
        else if (bytes == 8)
            memcpy(at, &real, bytes);
        else
            memcpy(at, &(float){(float)real}, bytes);
    }
}

static void run(model *m, const char *text, int n_in, const tn_tensor_value in[], tn_tensor_value out[])
{
    int n_out = (int)tn_graph_function(&m->g, "main")->body->n_result;
    if (tn_relay_run(&m->g, n_in, in, n_out, out, tn_eval_interp, NULL) != TN_OK)
        fail_msg("%s\n%s", text, model_errors(m));
}

static void compare(model *a, model *b, const char *text)
{
    tn_tensor_value in[MOST_IN], want[MOST_OUT], have[MOST_OUT];
    const tn_region *body = tn_graph_function(&a->g, "main")->body;
    int n_out = (int)body->n_result, n_in = (int)body->n_param;
    for (int i = 0; i < n_in; i++)
        fill(&in[i], body->param[i]->type[0], (uint32_t)i + 1);
    run(a, text, n_in, in, want);
    run(b, text, n_in, in, have);
    for (int i = 0; i < n_out; i++) {
        if (want[i].ndim != have[i].ndim || !tn_dtype_eq(want[i].dtype, have[i].dtype) ||
            want[i].n != have[i].n ||
            memcmp(want[i].dim, have[i].dim, want[i].ndim * sizeof *want[i].dim) != 0 ||
            memcmp(want[i].at, have[i].at, want[i].n) != 0)
            fail_msg("result %d differs:\n%s\n%s", i, text, model_text(b));
        tn_tensor_value_deinit(&want[i]);
        tn_tensor_value_deinit(&have[i]);
    }
    for (int i = 0; i < n_in; i++)
        tn_tensor_value_deinit(&in[i]);
}

static void what_is_written_is_read_with_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        model a, b;
        tn_buf graph = {0}, params = {0};
        model_init(&a);
        model_init(&b);
        if (parse(&a, same[i]) != TN_OK || write(&a, &graph, &params) != TN_OK)
            fail_msg("%s\n%s", same[i], model_errors(&a));
        if (read_back(&b, &graph, &params) != TN_OK)
            fail_msg("%s\n%s\n%s", same[i], tn_buf_cstr(&graph), model_errors(&b));
        compare(&a, &b, same[i]);
        b.file.mapping = NULL;
        model_deinit(&a);
        model_deinit(&b);
        tn_buf_deinit(&graph);
        tn_buf_deinit(&params);
    }
}

/* ---- the text ---- */

#define VAR(name, shape, type) \
    "    {\"op\": \"null\", \"name\": \"" name "\", \"attrs\": {\"shape\": \"" shape \
    "\", \"dtype\": \"" type "\"}, \"inputs\": []}"
static const struct {
    const char *text, *want;
} texts[] = {
    {"%x: Tensor[(2), float32]) { %0 = add(%x, 0.5f); nn.relu(%0) }",
     "{\n  \"nodes\": [\n" VAR("x", "(2,)",
                               "0") ",\n"
                                    "    {\"op\": \"__add_scalar__\", \"name\": \"__add_scalar__0\", "
                                    "\"attrs\": {\"scalar\": \"0.5\"}, \"inputs\": [[0, 0, "
                                    "0]]},\n"
                                    "    {\"op\": \"relu\", \"name\": \"relu0\", \"inputs\": [[1, 0, 0]]}\n"
                                    "  ],\n  \"arg_nodes\": [0],\n  \"node_row_ptr\": [0, 1, 2, 3],\n  "
                                    "\"heads\": [[2, 0, 0]]\n}\n"},
    {"%x: Tensor[(1, 1, 4, 4), float32], %w: Tensor[(2, 1, 3, 3), float32], %b: Tensor[(2), float32]) { "
     "%0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]); %1 = nn.bias_add(%0, %b); nn.batch_flatten(%1) }",
     "    {\"op\": \"conv2d\", \"name\": \"conv2d0\", \"attrs\": {\"channels\": \"2\", \"kernel_size\": "
     "\"(3, 3)\", "
     "\"strides\": \"(1, 1)\", \"padding\": \"(1, 1)\", \"dilation\": \"(1, 1)\", \"groups\": \"1\", "
     ""
     "\"use_bias\": \"True\"}, \"inputs\": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]},\n"
     "    {\"op\": \"flatten\", \"name\": \"flatten0\", \"inputs\": [[3, 0, 0]]}\n"},
    {"%x: Tensor[(2, 2), int16]) { %0 = nn.relu(%x); %1 = nn.relu(%0); (%1, %0) }",
     "{\n  \"nodes\": [\n" VAR("x", "(2, 2)",
                               "7") ",\n"
                                    "    {\"op\": \"relu\", \"name\": \"relu0\", \"inputs\": [[0, 0, 0]]},\n"
                                    "    {\"op\": \"relu\", \"name\": \"relu1\", \"inputs\": [[1, 0, 0]]}\n"
                                    "  ],\n  \"arg_nodes\": [0],\n  \"node_row_ptr\": [0, 1, 2, 3],\n  "
                                    "\"heads\": [[2, 0, 0], [1, 0, 0]]\n}\n"},
};

static void texts_are_nnvms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        model m;
        tn_buf graph = {0}, params = {0};
        model_init(&m);
        if (parse(&m, texts[i].text) != TN_OK || write(&m, &graph, &params) != TN_OK)
            fail_msg("%s\n%s", texts[i].text, model_errors(&m));
        if (!strstr(tn_buf_cstr(&graph), texts[i].want))
            fail_msg("no\n%s\nin\n%s", texts[i].want, tn_buf_cstr(&graph));
        model_deinit(&m);
        tn_buf_deinit(&graph);
        tn_buf_deinit(&params);
    }
}

/* ---- what is refused ---- */

static const struct {
    const char *text, *want;
} refused[] = {
    {X1 "nn.gelu(%x) }",
     "operator nn.gelu has no counterpart in NNVM; write the module as Relay text instead (--format "
     "text) [nnvm-E001]"},
    {X1 "round_even(%x) }", "operator round_even has no counterpart in NNVM"},
    {X1 "sum(%x) }", "the result is float32, but NNVM has no tensors without dimensions"},
    {"%x: Tensor[(n, 3), float32]) { nn.relu(%x) }",
     "input \"x\" is Tensor[(n, 3), float32], but NNVM has no extents that only the run knows; give fixed "
     "ones with "
     "--input-shapes [nnvm-E001]"},
    {"%x: Tensor[(2, 3), bool]) { cast(%x, dtype=\"int32\") }", "but NNVM has no tensors of truth values"},
    {X1 "greater(%x, 0f) }", "the result is of truth values, which NNVM does not have; cast it"},
    {X2 "%0 = greater(%x, %y); %1 = (%0, %0); %2 = concatenate(%1, axis=1); cast(%2, dtype=\"int32\") }",
     "operand 0 is of truth values, which NNVM does not have"},
    {"%x: Tensor[(2, 3), bfloat16]) { nn.relu(%x) }", "but NNVM has no tensors of this type"},
    {I2 "floor_divide(%x, %y) }", "operator floor_divide has no counterpart in NNVM"},
    {X1 "nn.max_pool2d(%x, pool_size=[2, 2], dilation=[2, 2]) }", "attribute dilation is not 1"},
    {X1 "nn.pad(%x, pad_width=[0, 0, 0, 0, 1, 1, 1, 1], pad_mode=\"reflect\") }",
     "attribute pad_mode is \"reflect\""},
    {X1 "nn.pad(%x, pad_width=[0, 0, 0, 0, -1, 1, 1, 1]) }", "attribute pad_width is negative"},
    {X1 "nn.pad(%x, pad_width=[0, 0, 0, 0, 1, 1, 1, 1], pad_value=0.1) }",
     "0.10000000000000001, is no float32"},
    {X1 "image.resize2d(%x, size=[9, 12]) }", "attribute coordinate_transformation_mode is \"half_pixel\""},
    {X1 "image.resize2d(%x, size=[9, 12], method=\"cubic\") }", "attribute method is \"cubic\""},
    {X1 "image.resize2d(%x, size=[9, 12], method=\"nearest_neighbor\", "
        "coordinate_transformation_mode=\"asymmetric\") }",
     "attribute rounding_method is \"round\", but NNVM rounds positions down"},
    {"%x: Tensor[(4, 5), float32], %i: Tensor[(2), int32]) { take(%x, %i, axis=0, mode=\"wrap\") }",
     "attribute mode is \"wrap\""},
    {X1 "argmax(%x, axis=1, select_last_index=True) }", "attribute select_last_index is True"},
    {XT "nn.conv2d_transpose(%x, %w, padding=[1, 0, 0, 1]) }",
     "attribute padding is not the same on both sides"},
    {"%x: Tensor[(1, 4, 6, 6), int8], %w: Tensor[(8, 4, 3, 3), int8]) { nn.conv2d(%x, %w, "
     "out_dtype=\"int32\") }",
     "the result has another type than the operands"},
    {"%x: Tensor[(1, 4, 6, 6), float32], %s: Tensor[(1, 4, 6, 6), float32]) { nn.prelu(%x, %s) }",
     "slopes that do not run along axis 1 alone are operands"},
    {"%x: Tensor[(2, 4), float32], %g: Tensor[(4), float32]) { %0 = nn.batch_norm(%x, %g, %g, %g, %g); %0.1 "
     "}",
     "result 1 of nn.batch_norm"},
    {"%x: Tensor[(2, 4), float32], %g: Tensor[(4), float32]) { "
     "%0 = nn.batch_norm(%x, %g, %g, %g, %g, center=False); %0.0 }",
     "attribute center is False; add zeros for beta instead"},
    {"%x: Tensor[(2, 3, 4), float32], %w: Tensor[(5, 4), float32]) { nn.dense(%x, %w) }",
     "data of 3 dimensions"},
    {"%x: Tensor[(2, 3), float32]) { %0 = sum(%x, axis=[0, 1], exclude=True); add(%0, 1f) }",
     "no axis is reduced"},
    {X1 "add(%x, meta[relay.Constant][0] /* (1, 4, 6, 6) */) }", "the values of a constant are not known"},
};

static void what_nnvm_lacks_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        model m;
        tn_buf graph = {0}, params = {0};
        model_init(&m);
        if (parse(&m, refused[i].text) != TN_OK)
            fail_msg("%s\n%s", refused[i].text, model_errors(&m));
        if (write(&m, &graph, &params) == TN_OK || !strstr(model_errors(&m), refused[i].want))
            fail_msg("%s: no \"%s\" in %s", refused[i].text, refused[i].want, model_errors(&m));
        model_deinit(&m);
        tn_buf_deinit(&graph);
        tn_buf_deinit(&params);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_with_the_same_bits),
        cmocka_unit_test(texts_are_nnvms),
        cmocka_unit_test(what_nnvm_lacks_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
