/* NNVM's graphs and parameters, written here as texts and lists: what they compute, as its documentation defines its
 * operators, and what is said of wrong ones. Texts have ' in the place of ". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

#include "frontend/mxnet/mxnet.h"

#include <math.h>

enum { MOST = 16 };

/* ---- parameters as nnvm.compiler.save_param_dict writes them ---- */

typedef struct tensor {
    const char *name;
    int n;
    int64_t dim[4];
    const float *at;
} tensor;

static void write_params(tn_buf *b, size_t n, const tensor t[])
{
    tn_buf_u64le(b, 0xF7E58D4F05049CB7u);
    tn_buf_u64le(b, 0);
    tn_buf_u64le(b, n);
    for (size_t i = 0; i < n; i++) {
        tn_buf_u64le(b, strlen(t[i].name));
        tn_buf_str(b, t[i].name);
    }
    tn_buf_u64le(b, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = sizeof(float);
        tn_buf_u64le(b, 0xDD5E40F096B4A13Fu);
        tn_buf_u64le(b, 0);
        tn_buf_u64le(b, 1); /* CPU 0 */
        tn_buf_u32le(b, (uint32_t)t[i].n);
        tn_buf_u32le(b, 2 | 32 << 8 | 1 << 16);
        for (int d = 0; d < t[i].n; d++) {
            tn_buf_u64le(b, (uint64_t)t[i].dim[d]);
            bytes *= (uint64_t)t[i].dim[d];
        }
        tn_buf_u64le(b, bytes);
        tn_buf_add(b, t[i].at, bytes);
    }
}

static tn_status import_graph(model *m, const char *graph, const tn_buf *params)
{
    char *text = tn_arena_strdup(&m->arena, graph);
    for (char *at = text; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    mx_pair p = {{(const uint8_t *)text, strlen(text)}, {0}, "m.json", "m.params"};
    if (params)
        p.params = (tn_bytes){(const uint8_t *)params->at, params->n};
    m->file = (tn_file){p.symbol.at, p.symbol.n, 0};
    TN_TRY(mx_import_pair(&m->g, "m.json", &m->file, &p));
    return tn_relay_verify(&m->g);
}

/* ---- what operators compute ---- */

static const float w[] = {1, 0, 2, -1}, b[] = {0.5f, -1}, two[] = {2, 2}, half[] = {0.5f, 0.25f},
                   at[] = {7, 0};
static const tensor params[] = {{"w", 4, {2, 2, 1, 1}, w},    {"m", 2, {2, 2}, w}, {"b", 1, {2}, b},
                                {"gamma", 1, {2}, two},       {"beta", 1, {2}, b}, {"mean", 1, {2}, half},
                                {"hwio", 4, {1, 1, 2, 2}, w}, {"at", 1, {2}, at}};
enum { N_PARAMS = sizeof params / sizeof *params };

#define VAR(name) "{'op':'null','name':'" name "','inputs':[]}"
#define NODES \
    "{'nodes':[{'op':'null','name':'x','attrs':{'shape':'(1, 2, 2, 2)'},'inputs':[]}," VAR("w") "," VAR( \
        "m") "," VAR("b") "," VAR("gamma") "," VAR("beta") "," VAR("mean") "," VAR("hwio") "," VAR("at") ","
#define Y(op, attrs, inputs) \
    NODES "{'op':'" op "','name':'y','attrs':{" attrs "},'inputs':[" inputs "]}],'heads':[[9,0,0]]}"
#define ONE(op, attrs) Y(op, attrs, "[0,0,0]")
#define MATRIX(op, attrs, inputs) \
    NODES "{'op':'reshape','name':'r','attrs':{'shape':'(-1, 2)'},'inputs':[[0,0,0]]},{'op':'" op \
          "','name':'y','attrs':{" attrs "},'inputs':[" inputs "]}],'heads':[[10,0,0]]}"

static const float x[8] = {1, -2, 3, -4, 5, -6, 7, -8};
static const struct {
    const char *graph;
    int n;
    float want[MOST];
} cases[] = {
    {MATRIX("dense", "'units':'2'", "[9,0],[2,0],[3,0]"), 8, {1.5f, 3, 3.5f, 9, 5.5f, 15, 7.5f, 21}},
    {MATRIX("dense", "'units':'2','use_bias':'False'", "[9,0],[2,0]"), 8, {1, 4, 3, 10, 5, 16, 7, 22}},
    {Y("conv2d", "'channels':'2','kernel_size':'(1, 1)'", "[0,0],[1,0],[3,0]"),
     8,
     {1.5f, -1.5f, 3.5f, -3.5f, -4, 1, -2, -1}},
    {Y("conv2d",
       "'channels':'2','kernel_size':'(1,1)','layout':'NHWC','kernel_layout':'HWIO','use_bias':'False'",
       "[0,0],[7,0]"),
     8,
     {-3, 2, -5, 4, -7, 6, -9, 8}},
    {Y("conv2d_transpose", "'channels':'2','kernel_size':'(1, 1)','use_bias':'0','output_padding':'(0, 0)'",
       "[0,0],[1,0]"),
     8,
     {11, -14, 17, -20, -5, 6, -7, 8}},
    {Y("batch_norm", "'epsilon':'0','scale':'True'", "[0,0],[4,0],[5,0],[6,0],[4,0]"),
     8,
     {1.2071068f, -3.0355339f, 4.0355339f, -5.8639610f, 5.7175144f, -9.8388348f, 8.5459415f, -12.6672619f}},
    {ONE("max_pool2d", "'pool_size':'(2, 2)'"), 2, {3, 7}},
    {ONE("avg_pool2d", "'pool_size':'(2, 2)','strides':'(2, 2)','padding':'(1, 1)'"),
     8,
     {1, -2, 3, -4, 5, -6, 7, -8}},
    {ONE("avg_pool2d", "'pool_size':'(2,2)','strides':'(2,2)','padding':'(1,1)','count_include_pad':'True'"),
     8,
     {0.25f, -0.5f, 0.75f, -1, 1.25f, -1.5f, 1.75f, -2}},
    {ONE("max_pool2d", "'pool_size':'(2, 2)','padding':'(1, 0, 0, 0)'"), 4, {1, 3, 5, 7}},
    {ONE("max_pool2d", "'pool_size':'(2, 2)','strides':'(2, 2)','ceil_mode':'True'"), 2, {3, 7}},
    {ONE("global_avg_pool2d", ""), 2, {-0.5f, -0.5f}},
    {ONE("global_max_pool2d", "'layout':'NHWC'"), 2, {7, -2}},
    {ONE("leaky_relu", ""), 8, {1, -0.5f, 3, -1, 5, -1.5f, 7, -2}},
    {ONE("leaky_relu", "'alpha':'0.5'"), 8, {1, -1, 3, -2, 5, -3, 7, -4}},
    {Y("prelu", "", "[0,0],[6,0]"), 8, {1, -1, 3, -2, 5, -1.5f, 7, -2}},
    {ONE("softmax", "'axis':'3'"),
     8,
     {0.9525741f, 0.0474259f, 0.9990889f, 0.0009111f, 0.9999833f, 0.0000167f, 0.9999997f, 0.0000003f}},
    {ONE("l2_normalize", "'axis':'(2, 3)','eps':'1000'"),
     8,
     {0.0316228f, -0.0632456f, 0.0948683f, -0.1264911f, 0.1581139f, -0.1897367f, 0.2213594f, -0.2529822f}},
    {ONE("l2_normalize", "'axis':'1','eps':'0'"),
     8,
     {0.1961161f, -0.3162278f, 0.3939193f, -0.4472136f, 0.9805807f, -0.9486833f, 0.9191450f, -0.8944272f}},
    {ONE("upsampling", "'scale':'2'"), 16, {1, 1, -2, -2, 1, 1, -2, -2, 3, 3, -4, -4, 3, 3, -4, -4}},
    {ONE("resize", "'size':'(1, 4)'"), 8, {1, -0.5f, -2, -2, 5, -0.5f, -6, -6}},
    {ONE("resize", "'size':'(2, 3)','align_corners':'True'"),
     12,
     {1, -0.5f, -2, 3, -0.5f, -4, 5, -0.5f, -6, 7, -0.5f, -8}},
    {ONE("pad", "'pad_width':'((0, 0), (0, 0), (0, 1), (0, 0))','pad_value':'9'"),
     12,
     {1, -2, 3, -4, 9, 9, 5, -6, 7, -8, 9, 9}},
    {ONE("split", "'indices_or_sections':'2','axis':'2'"), 4, {1, -2, 5, -6}},
    {NODES "{'op':'split','name':'y','attrs':{'indices_or_sections':'(1,)','axis':'3'},'inputs':[[0,0]]}],'"
           "heads':[[9,1]]}",
     4,
     {-2, -4, -6, -8}},
    {ONE("strided_slice", "'begin':'(0, 1, 0, 1)','end':'(1, 2, 2, -3)','stride':'(1, 1, 1, -1)'"),
     4,
     {-6, 5, -8, 7}},
    {ONE("flip", "'axis':'3'"), 8, {-2, 1, -4, 3, -6, 5, -8, 7}},
    {Y("take", "", "[0,0],[8,0]"), 2, {-8, 1}},
    {Y("expand_like", "'axis':'(0, 2, 3)'", "[3,0],[0,0]"), 8, {0.5f, 0.5f, 0.5f, 0.5f, -1, -1, -1, -1}},
    {Y("expand_like", "'axis':'1','exclude':'True'", "[3,0],[0,0]"),
     8,
     {0.5f, 0.5f, 0.5f, 0.5f, -1, -1, -1, -1}},
    {Y("concatenate", "", "[0,0],[0,0]"), 16, {1, -2, 3, -4, 5, -6, 7, -8, 1, -2, 3, -4, 5, -6, 7, -8}},
    {ONE("sum", "'axis':'(1,)','exclude':'True'"), 2, {-2, -2}},
    {ONE("max", ""), 1, {7}},
    {ONE("mean", "'axis':'3','keepdims':'True'"), 4, {-0.5f, -0.5f, -0.5f, -0.5f}},
    {Y("greater", "", "[0,0],[0,0]"), 8, {0, 0, 0, 0, 0, 0, 0, 0}},
    {Y("broadcast_less_equal", "", "[0,0],[3,0]"), 8, {0, 1, 0, 1, 0, 1, 0, 1}},
    {ONE("__rsub_scalar__", "'scalar':'1'"), 8, {0, 3, -2, 5, -4, 7, -6, 9}},
    {ONE("__rdiv_scalar__", "'scalar':'2'"), 4, {2, -1, 0.6666667f, -0.5f}},
    {Y("elemwise_sum", "'num_args':'3'", "[0,0],[0,0],[0,0]"), 2, {3, -6}},
    {ONE("full_like", "'fill_value':'3'"), 2, {3, 3}},
    {Y("full", "'shape':'(2, 1)','fill_value':'4','dtype':'float32'", ""), 2, {4, 4}},
    {ONE("cast", "'dtype':'float32'"), 2, {1, -2}},
    {ONE("lrn", "'size':'1','axis':'1','alpha':'1','beta':'1','bias':'1'"),
     4,
     {0.5f, -0.4f, 0.3f, -0.2352941f}},
    {ONE("squeeze", "'axis':'()'"), 8, {1, -2, 3, -4, 5, -6, 7, -8}},
};

static void operators_compute(void **state)
{
    tn_buf blob = {0};
    (void)state;
    write_params(&blob, N_PARAMS, params);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model m;
        tn_tensor_value have, in = {.dtype = TN_F32,
                                    .ndim = 4,
                                    .dim = {1, 2, 2, 2},
                                    .n = sizeof x,
                                    .borrowed = true,
                                    .at = (char *)(uintptr_t)x};
        model_init(&m);
        bool reads_x = !strstr(cases[i].graph, "'full','name'");
        if (import_graph(&m, cases[i].graph, &blob) != TN_OK ||
            tn_relay_run(&m.g, reads_x ? 1 : 0, &in, 1, &have, tn_eval_interp, NULL) != TN_OK)
            fail_msg("case %zu: %s", i, model_errors(&m));
        if (have.n < (size_t)cases[i].n * sizeof(float))
            fail_msg("case %zu: %zu bytes", i, have.n);
        for (int k = 0; k < cases[i].n; k++)
            if (fabsf(((const float *)have.at)[k] - cases[i].want[k]) > 2e-6f * (1 + fabsf(cases[i].want[k])))
                fail_msg("case %zu, element %d: %g, not %g", i, k, (double)((const float *)have.at)[k],
                         (double)cases[i].want[k]);
        tn_tensor_value_deinit(&have);
        m.file.mapping = NULL;
        model_deinit(&m);
    }
    tn_buf_deinit(&blob);
}

/* ---- what is said ---- */

static const struct {
    const char *graph, *want;
} texts[] = {
    {ONE("argmax", ""), "-> Tensor[(1), int32]"},
    {"{'nodes':[{'op':'null','name':'x','attrs':{'shape':'(2,)','dtype':'7'},'inputs':[]},"
     "{'op':'relu','name':'y','inputs':[[0,0]]}],'heads':[[1,0]]}",
     "%x: Tensor[(2), int16]"},
    {ONE("argmin", "'axis':'1','keepdims':'True'"), "-> Tensor[(1, 1, 2, 2), int32]"},
    {NODES "{'op':'dense','name':'y','inputs':[[0,0],[1,0]]},{'op':'densse','name':'z','inputs':[[9,0]]}],"
           "'heads':[[10,0]]}",
     "node z (densse): error: operator densse (version 10000) is not supported; "},
    {Y("conv2d", "'channels':'2','kernel_size':'(1, 1)','kernel_layout':'OIHW16o'", "[0,0],[1,0],[3,0]"),
     "attribute kernel_layout is \"OIHW16o\", but must be one of OIHW, HWIO, OHWI [mxnet-E004]"},
    {Y("prelu", "'axis':'3'", "[0,0],[6,0]"), "attribute axis is not supported for version 10000"},
    {ONE("split", "'indices_or_sections':'3'"),
     "axis 1 of Tensor[(1, 2, 2, 2), float32] cannot be split into 3"},
    {ONE("split", "'indices_or_sections':'0'"),
     "attribute indices_or_sections must be a number of parts or a list"},
    {ONE("upsampling", "'scale':'0'"), "attribute scale must be at least 1"},
    {ONE("argmax", "'axis':'(1, 2)'"), "attribute axis has 2 entries, but one is supported"},
    /* what both dialects know and no version is told is MXNet's if another node is MXNet's alone */
    {NODES "{'op':'SwapAxis','name':'s','attrs':{'dim1':'2','dim2':'3'},'inputs':[[0,0]]},"
           "{'op':'split','name':'y','attrs':{'num_outputs':'2'},'inputs':[[9,0]]}],'heads':[[10,0]]}",
     "strided_slice(%0"},
};

static void graphs_are_read(void **state)
{
    tn_buf blob = {0};
    (void)state;
    write_params(&blob, N_PARAMS, params);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        model m;
        model_init(&m);
        const char *said =
            import_graph(&m, texts[i].graph, &blob) == TN_OK ? model_text(&m) : model_errors(&m);
        if (!strstr(said, texts[i].want))
            fail_msg("case %zu: no \"%s\" in\n%s", i, texts[i].want, said);
        m.file.mapping = NULL;
        model_deinit(&m);
    }
    tn_buf_deinit(&blob);
}

static void damaged_parameters_are_refused(void **state)
{
    tn_buf whole = {0};
    (void)state;
    write_params(&whole, 1, params);
    static const struct {
        size_t at;
        char byte;
        const char *want;
    } damage[] = {{16, 127, "it claims more names than it has bytes"},
                  {33, 2, "it has another number of names than of tensors"},
                  {41, 1, "tensor w: it does not begin as a tensor does"},
                  {65, 9, "tensor w: it has too many dimensions, or a type that is not known"},
                  {69, 4, "tensor w: it has too many dimensions, or a type that is not known"},
                  {73, 3, "tensor w: its dimensions do not fit its data; save it again"}};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        tn_buf some = {0};
        model m;
        model_init(&m);
        tn_buf_add(&some, whole.at, whole.n);
        some.at[damage[i].at] = damage[i].byte;
        assert_int_equal(import_graph(&m, ONE("relu", ""), &some), TN_FAIL);
        if (!strstr(model_errors(&m), damage[i].want))
            fail_msg("%zu: no \"%s\" in %s", i, damage[i].want, model_errors(&m));
        m.file.mapping = NULL;
        model_deinit(&m);
        tn_buf_deinit(&some);
    }
    for (size_t n = 8; n < whole.n; n++) {
        tn_buf some = {0};
        model m;
        model_init(&m);
        tn_buf_add(&some, whole.at, n);
        assert_int_equal(import_graph(&m, ONE("relu", ""), &some), TN_FAIL);
        m.file.mapping = NULL;
        model_deinit(&m);
        tn_buf_deinit(&some);
    }
    tn_buf_deinit(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_compute),
        cmocka_unit_test(graphs_are_read),
        cmocka_unit_test(damaged_parameters_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
