/* MXNet's symbols and parameters, written here as texts and lists: what they become, what is said of wrong ones, and
 * what small networks compute. Texts have ' in the place of ". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

#include "base/wire/npy.h"
#include "frontend/mxnet/mxnet.h"

typedef struct tensor { /* float32 */
    const char *name;
    int n;
    int64_t dim[4];
    const float *at;
} tensor;

/* ---- writing ---- */

static void put(tn_buf *b, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++, v >>= 8)
        tn_buf_add(b, &(char){(char)(v & 255)}, 1);
}

/* Of version 0 (bare shapes), 1, 2 or 3. */
static void write_params(tn_buf *b, int version, size_t n, const tensor t[])
{
    put(b, 0x112, 8);
    put(b, 0, 8);
    put(b, n, 8);
    for (size_t i = 0; i < n; i++) {
        size_t count = 1;
        if (version)
            put(b, 0xf993fac7u + (unsigned)version, 4);
        if (version > 1)
            put(b, 0, 4);
        put(b, (uint64_t)t[i].n, 4);
        for (int d = 0; d < t[i].n; d++) {
            put(b, (uint64_t)t[i].dim[d], version ? 8 : 4);
            count *= (size_t)t[i].dim[d];
        }
        put(b, 1, 8);
        put(b, 0, 4);
        tn_buf_add(b, t[i].at, count * sizeof(float));
    }
    put(b, n, 8);
    for (size_t i = 0; i < n; i++) {
        put(b, strlen(t[i].name), 8);
        tn_buf_str(b, t[i].name);
    }
}

static void put_name(tn_buf *b, const char *name, size_t bytes)
{
    tn_buf_fill(b, 0, 4 + 4); /* time, sum */
    put(b, bytes, 4);
    put(b, bytes, 4);
    put(b, strlen(name), 2);
}

/* NumPy's, as an archive. Version NPZ_COLUMNS has what is a matrix column by column. */
enum { NPZ = 4, NPZ_COLUMNS };
static void put_array(tn_buf *b, const tensor *t, bool columns)
{
    char head[1024];
    tn_npy h = {.code = TN_NPY_FLOAT, .bits = 32, .ndim = t->n};
    size_t count = 1;
    for (int d = 0; d < t->n; d++)
        count *= (size_t)(h.shape[d] = t->dim[d]);
    size_t n = tn_npy_print(&h, head);
    char *order = columns ? strstr(head + 10, "False") : NULL;
    if (order)
        memcpy(order, "True ", 5);
    tn_buf_add(b, head, n);
    for (size_t i = 0, rows = (size_t)t->dim[0]; i < count; i++)
        tn_buf_add(b, &t->at[columns && t->n == 2 ? i % rows * (count / rows) + i / rows : i], sizeof(float));
}

static void write_npz(tn_buf *b, bool columns, size_t n, const tensor t[])
{
    size_t at[8], bytes[8];
    char name[64];
    for (size_t i = 0; i < n; i++) {
        tn_buf body = {0};
        put_array(&body, &t[i], columns);
        snprintf(name, sizeof name, "%s.npy", t[i].name);
        at[i] = b->n, bytes[i] = body.n;
        tn_buf_add(b, "PK\3\4\x14\0\0\0\0\0", 10);
        put_name(b, name, body.n);
        put(b, 0, 2);
        tn_buf_str(b, name);
        tn_buf_add(b, body.at, body.n);
        tn_buf_deinit(&body);
    }
    size_t from = b->n;
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s.npy", t[i].name);
        tn_buf_add(b, "PK\1\2\x14\0\x14\0\0\0\0\0", 12);
        put_name(b, name, bytes[i]);
        tn_buf_fill(b, 0, 2 + 2 + 2 + 2 + 4);
        put(b, at[i], 4);
        tn_buf_str(b, name);
    }
    size_t end = b->n;
    tn_buf_add(b, "PK\5\6\0\0\0\0", 8);
    put(b, n, 2);
    put(b, n, 2);
    put(b, end - from, 4);
    put(b, from, 4);
    put(b, 0, 2);
}

static char *quoted(model *m, const char *text)
{
    char *s = tn_arena_strdup(&m->arena, text);
    for (char *at = s; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    return s;
}

static tn_status import_pair(model *m, const char *symbol, const tn_buf *params)
{
    const char *text = quoted(m, symbol);
    mx_pair p = {{(const uint8_t *)text, strlen(text)}, {0}, "m-symbol.json", "m-0000.params"};
    if (params)
        p.params = (tn_bytes){(const uint8_t *)params->at, params->n};
    m->file = (tn_file){p.symbol.at, p.symbol.n, 0};
    TN_TRY(mx_import_pair(&m->g, "m-symbol.json", &m->file, &p));
    return tn_relay_verify(&m->g);
}

/* ---- what symbols become ---- */

#define X "{'op':'null','name':'x','attrs':{'__shape__':'(0, 2, 4, 4)'},'inputs':[]}"
#define ONE(op, attrs) \
    "{'nodes':[" X ",{'op':'" op "','name':'y','attrs':{" attrs "},'inputs':[[0,0,0]]}],'heads':[[1,0,0]]}"

#define V(name) "{'op':'null','name':'" name "','inputs':[]}"
#define SUM \
    "{'nodes':[" V("a") "," V("b") ",{'op':'elemwise_add','name':'c','inputs':[[0,0],[1,0]]}],'heads':"
/* of x and s; a node with graphs inside and two results */
#define FLOW(op, attrs, graphs) \
    "{'nodes':[" X ",{'op':'null','name':'s','attrs':{'__shape__':'(2, 4, 4)'},'inputs':[]},{'op':'" op \
    "','name':'f'," \
    "'attrs':{" attrs "},'inputs':[[0,0],[1,0]],'subgraphs':[" graphs "]}],'heads':[[2,0],[2,1]]}"
#define EACH(states) \
    FLOW("_foreach", \
         "'num_out_data':'1','in_data_locs':'[0]','in_state_locs':'" states "','remain_locs':'[]'", \
         SUM "[[2,0],[2,0]]}")
#define SMALL \
    "{'nodes':[" V("a") ",{'op':'sum','name':'t','inputs':[[0,0]]},{'op':'_lesser_scalar','name':'l'," \
                        "'attrs':{'scalar':'9'},'inputs':[[1,0]]}],'heads':[[2,0]]}"

static const struct {
    const char *symbol, *want[2];
} cases[] = {
    {EACH("[1]"), {"%s, collect=[d0, 2, 4, 4])", "(True, %4, %4)"}},
    {FLOW("_while_loop",
          "'num_out_data':'1','max_iterations':'5','cond_input_locs':'[1]','func_input_locs':'[1, 1]',"
          "'func_var_locs':'[0]'",
          SMALL "," SUM "[[2,0],[2,0]]}"),
     {"loop (5i64, ", "pad_width=[0, 5 - u0"}},
    {FLOW("_cond", "'cond_input_locs':'[0]','then_input_locs':'[0, 0]','else_input_locs':'[0, 1]'",
          SMALL "," SUM "[[2,0],[0,0]]}," SUM "[[2,0],[0,0]]}"),
     {"add(%x, %x)", "add(%x, %s)"}},
    {EACH("[2]"),
     {"in_state_locs names a position that does not exist; the model is damaged", "[mxnet-E004]"}},
    {EACH("[]"), {"its graph takes or gives other values than its operands say", "[mxnet-E004]"}},
    {EACH("[0]"), {"a variable of its graph is given no value; the model is damaged", "[mxnet-E004]"}},
    {FLOW("_cond", "", SMALL), {"a graph inside of it is missing; the model is damaged", "[mxnet-E004]"}},
    {ONE("Pooling", "'kernel':'(2L, 2L)','stride':'[2,2]','pool_type':'max','__lr__':'1','workspace':'9'"),
     {"%x: Tensor[(d0, 2, 4, 4), float32]", "nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2])"}},
    {ONE("Reshape", "'shape':'(0, -3, -4, -1, 2)'"),
     {"Tensor[(d0, 8, 2, 2), float32]", "outputs = [\"y_output\"]"}},
    {ONE("_plus_scalar", "'scalar':'0.5'"), {"add(%x, 0.5f)"}},
    /* 16 weights of an LSTM of one unit, whose state begins with zeros of an unknown batch */
    {"{'nodes':[{'op':'null','name':'x','attrs':{'__shape__':'(5, 2, "
     "1)'},'inputs':[]},{'op':'null','name':'w',"
     "'attrs':{'__shape__':'(16,)'},'inputs':[]},{'op':'_zeros','name':'z','attrs':{'shape':'(1, 0, 1)'},"
     "'inputs':[]},{'op':'RNN','name':'r','attrs':{'mode':'lstm','state_size':'1','num_layers':'1'},"
     "'inputs':[[0,0],[1,0],[2,0],[2,0]]}],'heads':[[3,0]]}",
     {"nn.recurrent(", "cell=\"lstm\""}},
    {ONE("RNN", "'mode':'elstm'"),
     {"attribute mode is \"elstm\", but must be one of rnn_relu", "[mxnet-E004]"}},
    {ONE("_contrib_MultiBoxPrior", "'sizes':'[0.5]'"),
     {"meta[relay.Constant][0]", "Tensor[(1, 16, 4), float32]"}},
    {ONE("_contrib_MultiBoxTarget", "'overlap_threshold':'0.5'"),
     {"it makes targets to train with from labels", "[mxnet-E005]"}},
    {ONE("_npx_multibox_target", ""), {"export what the network detects", "[mxnet-E005]"}},
    /* quantised: over a range that is known, or the data's own; what only whole numbers have */
    {ONE("_contrib_quantize_v2", "'out_type':'auto','min_calib_range':'0.0','max_calib_range':'2.0'"),
     {"round_even(", "dtype=\"uint8\")"}},
    {ONE("_contrib_quantize_v2", ""), {"min(%x)", "dtype=\"int8\")"}},
    {ONE("_contrib_quantized_act", "'act_type':'relu'"), {"operand 1 is missing", "[mxnet-E005]"}},
    {"{'nodes':[" X ",{'op':'_contrib_quantize_v2','name':'q','attrs':{'out_type':'uint8'},'inputs':[[0,0]]},"
     "{'op':'_contrib_quantize_v2','name':'p','inputs':[[0,0]]},{'op':'_contrib_quantized_elemwise_add',"
     "'name':'y','inputs':[[1,0],[2,0],[1,1],[1,2],[2,1],[2,2]]}],'heads':[[3,0]]}",
     {"calibrate the model (calib_mode \"naive\" or \"entropy\") [mxnet-E005]"}},
    {FLOW("_sg_mkldnn_conv", "'quantized':'true'", SMALL),
     {"its graph holds sum, which is not fused", "[mxnet-E004]"}},
    {FLOW("_sg_mkldnn_fully_connected", "", SUM "[[2,0]]}"),
     {"its graph holds no FullyConnected; the model is damaged", "[mxnet-E004]"}},
    /* of a number */
    {"{'nodes':[{'op':'_zeros','name':'x','attrs':{'shape':'(1, 2, 4, "
     "4)','dtype':'int8'},'inputs':[]},{'op':'_ones',"
     "'name':'w','attrs':{'shape':'()'},'inputs':[]},{'op':'_ones','name':'r','attrs':{'shape':'(1,)'},'"
     "inputs':[]},"
     "{'op':'_sg_mkldnn_conv','name':'y','attrs':{'quantized':'true','min_calib_range':'-1','max_calib_range'"
     ":'1'},"
     "'inputs':[[0,0],[1,0],[2,0],[2,0]],'subgraphs':[{'nodes':[" V("a") "," V(
         "b") ",{'op':'Convolution','name':'c','attrs':"
              "{'kernel':'(1, "
              "1)','num_filter':'1','no_bias':'True'},'inputs':[[0,0],[1,0]]}],'heads':[[2,0]]}]}],'heads':[["
              "3,0]],"
              "'attrs':{'is_np_shape':['int',1]}}",
     {"weights float32 have no channels", "[mxnet-E005]"}},
    {"{'nodes':[{'op':'_zeros','name':'x','attrs':{'shape':'()','dtype':'int8'},'inputs':[]},{'op':'_ones','"
     "name':'r',"
     "'attrs':{'shape':'(1,)'},'inputs':[]},{'op':'_contrib_quantized_flatten','name':'y','inputs':[[0,0],[1,"
     "0],[1,0]]}],"
     "'heads':[[2,0]],'attrs':{'is_np_shape':['int',1]}}",
     {"int8 has not the 1 dimensions that are to be the rows of a matrix", "[mxnet-E005]"}},
    /* results that are numbered, an attribute called "attr", no version */
    {"{'nodes':[" X ",{'op':'SliceChannel','name':'s','attr':{'num_outputs':'2'},'inputs':[[0,0]]},"
     "{'op':'elemwise_add','name':'a','param':{},'attr':{'mood':'good'},'inputs':[[1,0],[1,1]]}],'heads':[[2,"
     "0]]}",
     {"strided_slice(%x", "outputs = [\"a_output\"]"}},
    /* what a loss is told has no bearing: the label is no input */
    {"{'nodes':[" X ",{'op':'null','name':'label','inputs':[]},{'op':'SoftmaxOutput','name':'p','attrs':"
     "{'multi_output':'1','grad_scale':'2'},'inputs':[[0,0,0],[1,0,0]]}],'heads':[[2,0,0]]}",
     {"def @main(%x: Tensor[(d0, 2, 4, 4), float32]", "nn.softmax(%x, axis=1)"}},
    /* what is wrong */
    {"{'nodes':", {"the symbol is damaged: ", "[mxnet-E001]"}},
    {"{'nodes':[{'op':'relu','name':'r','inputs':[[0,0]]}],'heads':[[0,0]]}",
     {"an operand is not the result of an earlier node; download or export it again [mxnet-E001]"}},
    {"{'nodes':[" X "],'heads':[[7,0]]}",
     {"a head is not the result of a node; download or export it again [mxnet-E001]"}},
    {"{'nodes':[{'op':'null','name':'a','inputs':[]},{'op':'null','name':'b','inputs':[]},"
     "{'op':'elemwise_add','name':'c','inputs':[[0,0],[1,0]]}],'heads':[[2,0]]}",
     {"there is no file of parameters beside the symbol", "[mxnet-E002]"}},
    {ONE("Convolutoin", ""),
     {"operator Convolutoin (version 0) is not supported; did the exporter mean Convolution?",
      "[mxnet-E003]"}},
    {ONE("clip", "'a_min':'low'"), {"attribute a_min is \"low\", but must be a number [mxnet-E004]"}},
    {ONE("clip", "'a_mean':'1'"), {"attribute a_mean is not supported for version 0", "[mxnet-E004]"}},
    {ONE("Pooling", "'kernel':'(2, 2, 2)'"), {"kernel has 3 entries, but the data has 2", "[mxnet-E004]"}},
    {ONE("Dropout", "'mode':'always'"), {"attribute mode must be training", "[mxnet-E004]"}},
    {ONE("elemwise_add", ""), {"operand 1 is missing; the model is damaged [mxnet-E005]"}},
    {"{'nodes':[{'op':'null','name':'x','inputs':[]},{'op':'relu','name':'y','inputs':[[0,0]]}],'heads':[[1,"
     "0]]}",
     {"input \"x\" has no shape; give one (--input-shapes) [mxnet-E006]"}},
};

static void models_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model m;
        model_init(&m);
        const char *said =
            import_pair(&m, cases[i].symbol, NULL) == TN_OK ? model_text(&m) : model_errors(&m);
        for (int k = 0; k < 2 && cases[i].want[k]; k++)
            if (!strstr(said, cases[i].want[k]))
                fail_msg("case %zu: no \"%s\" in\n%s", i, cases[i].want[k], said);
        m.file.mapping = NULL;
        model_deinit(&m);
    }
}

static void errors_have_an_end(void **state)
{
    tn_buf text = {0};
    model m;
    (void)state;
    model_init(&m);
    tn_buf_str(&text, "{'nodes':[" X);
    for (int i = 0; i < 300; i++)
        tn_buf_printf(&text, ",{'op':'nothing','name':'n%d','inputs':[[%d,0]]}", i, i);
    tn_buf_str(&text, "],'heads':[[300,0]]}");
    assert_int_equal(import_pair(&m, tn_buf_cstr(&text), NULL), TN_FAIL);
    assert_non_null(
        strstr(model_errors(&m), "more than 200 errors; only the first are reported [mxnet-E007]"));
    tn_buf_deinit(&text);
    model_deinit(&m);
}

/* ---- parameters ---- */

static const float weight[8] = {1, -1, 0.5f, 2, 0, 1, 3, -2}, bias[2] = {0.25f, -1}, ones[2] = {1, 1},
                   mean[2] = {1, 2}, variance[2] = {4, 0.25f};
static const tensor net_params[] = {
    {"arg:w", 2, {2, 4}, weight},        {"b", 1, {2}, bias},
    {"arg:n_gamma", 1, {2}, ones},       {"arg:n_beta", 1, {2}, bias},
    {"aux:n_moving_mean", 1, {2}, mean}, {"aux:n_moving_var", 1, {2}, variance}};
/* As symbols before 0.9 had it: the states of BatchNorm are not operands. */
static const char net[] =
    "{'nodes':[{'op':'null','name':'data','attr':{'__shape__':'(2, 2, 2)'},'inputs':[]},"
    "{'op':'null','name':'w','inputs':[]},{'op':'null','name':'b','inputs':[]},"
    "{'op':'FullyConnected','name':'f','param':{'num_hidden':'2'},'inputs':[[0,0],[1,0],[2,0]]},"
    "{'op':'null','name':'n_gamma','inputs':[]},{'op':'null','name':'n_beta','inputs':[]},"
    "{'op':'BatchNorm','name':'n','param':{'eps':'0','fix_gamma':'True'},'inputs':[[3,0],[4,0],[5,0]]},"
    "{'op':'LeakyReLU','name':'r','param':{'act_type':'leaky','slope':'0.5'},'inputs':[[6,0]]}],'heads':[[7,"
    "0]]}";

static void parameters_of_all_versions(void **state)
{
    static const float x[8] = {1, 2, 3, 4, -1, 0, 1, 2}, want[4] = {4.125f, -0.5f, 1.625f, -4.5f};
    (void)state;
    for (int version = 0; version <= NPZ_COLUMNS; version++) {
        tn_buf params = {0};
        model m;
        tn_tensor_value have, in = {.dtype = TN_F32,
                                    .ndim = 3,
                                    .dim = {2, 2, 2},
                                    .n = sizeof x,
                                    .borrowed = true,
                                    .at = (char *)(uintptr_t)x};
        model_init(&m);
        if (version >= NPZ)
            write_npz(&params, version == NPZ_COLUMNS, sizeof net_params / sizeof *net_params, net_params);
        else
            write_params(&params, version, sizeof net_params / sizeof *net_params, net_params);
        if (import_pair(&m, net, &params) != TN_OK ||
            tn_relay_run(&m.g, 1, &in, 1, &have, tn_eval_interp, NULL) != TN_OK)
            fail_msg("version %d: %s", version, model_errors(&m));
        for (int i = 0; i < 4; i++)
            assert_float_equal(((const float *)have.at)[i], want[i], 1e-6);
        tn_tensor_value_deinit(&have);
        m.file.mapping = NULL;
        model_deinit(&m);
        tn_buf_deinit(&params);
    }
}

static void damaged_parameters_are_refused(void **state)
{
    static const struct {
        size_t at;
        char byte;
        const char *want;
    } damage[] = {{16, 127, "this is not a file of MXNet's parameters"},
                  {28, 1, "it is sparse"},
                  {32, 0, "it has no shape"},
                  {36, 127, "the file ends in it"},
                  {60, 99, "its type is not known"},
                  {32, 9, "too many dimensions"}};
    (void)state;
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        tn_buf params = {0};
        model m;
        model_init(&m);
        write_params(&params, 2, 1, net_params);
        params.at[damage[i].at] = damage[i].byte;
        assert_int_equal(import_pair(&m, net, &params), TN_FAIL);
        if (!strstr(model_errors(&m), damage[i].want))
            fail_msg("%zu: no \"%s\" in %s", i, damage[i].want, model_errors(&m));
        m.file.mapping = NULL;
        model_deinit(&m);
        tn_buf_deinit(&params);
    }
}

/* Archives whose arrays cannot be read, and parameters of something else. */
static void strange_parameters_are_refused(void **state)
{
    static const struct {
        tensor t;
        size_t at; /* where a byte is wrong; 0: none is */
        char byte;
        const char *want;
    } strange[] = {
        {{"0.weight", 1, {2}, bias},
         0,
         0,
         "among the 1 parameters, such as \"0.weight\"; write both files together, with net.export(\"NAME\") "
         "or "
         "save_checkpoint [mxnet-E008]"},
        {{"arg:w", 1, {2}, bias}, 40, '{', "array \"arg:w.npy\" cannot be read: not an array in .npy format"},
        {{"arg:w", 1, {2}, bias},
         72,
         'x',
         "array \"arg:w.npy\" cannot be read: the array's header is damaged"},
        {{"arg:w/data", 1, {2}, bias}, 0, 0, "it is sparse; convert it to a dense one"}};
    (void)state;
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        tn_buf params = {0};
        model m;
        model_init(&m);
        write_npz(&params, false, 1, &strange[i].t);
        if (strange[i].at)
            params.at[strange[i].at] = strange[i].byte;
        assert_int_equal(import_pair(&m, net, &params), TN_FAIL);
        if (!strstr(model_errors(&m), strange[i].want))
            fail_msg("%zu: no \"%s\" in %s", i, strange[i].want, model_errors(&m));
        m.file.mapping = NULL;
        model_deinit(&m);
        tn_buf_deinit(&params);
    }
}

/* ---- files ---- */

static void files_find_each_other(void **state)
{
    static const char *const given[] = {"mx_net-symbol.json", "mx_net-0007.params"};
    tn_buf params = {0};
    (void)state;
    write_params(&params, 2, sizeof net_params / sizeof *net_params, net_params);
    for (int i = 0; i < 2; i++) {
        model m;
        model_init(&m);
        const char *text = quoted(&m, net);
        assert_int_equal(tn_file_write(&m.ctx, given[0], text, strlen(text)), TN_OK);
        assert_int_equal(tn_file_write(&m.ctx, given[1], params.at, params.n), TN_OK);
        assert_int_equal(tn_file_write(&m.ctx, "mx_net-0003.params", "old", 3), TN_OK);
        if (model_read(&m, given[i], NULL) != TN_OK)
            fail_msg("%s: %s", given[i], model_errors(&m));
        assert_non_null(strstr(model_text(&m), "nn.leaky_relu"));
        model_deinit(&m);
    }
    params.n = 0;
    write_npz(&params, false, sizeof net_params / sizeof *net_params, net_params);
    static const char *const archives[] = {"mx_two-symbol.json", "mx_two.npz", "mx_two-0000.params"};
    for (int i = 0; i < 3; i++) {
        model m;
        model_init(&m);
        const char *text = quoted(&m, net);
        assert_int_equal(tn_file_write(&m.ctx, archives[0], text, strlen(text)), TN_OK);
        assert_int_equal(tn_file_write(&m.ctx, archives[i ? i : 1], params.at, params.n), TN_OK);
        if (model_read(&m, archives[i], NULL) != TN_OK)
            fail_msg("%s: %s", archives[i], model_errors(&m));
        assert_non_null(strstr(model_text(&m), "nn.leaky_relu"));
        model_deinit(&m);
    }
    model m;
    model_init(&m);
    assert_int_equal(tn_file_write(&m.ctx, "mx_alone-0001.params", params.at, params.n), TN_OK);
    assert_int_equal(model_read(&m, "mx_alone-0001.params", NULL), TN_FAIL);
    assert_non_null(strstr(model_errors(&m), "there is no file \"mx_alone-symbol.json\" beside them"));
    model_deinit(&m);
    tn_buf_deinit(&params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models_are_read),
                                       cmocka_unit_test(errors_have_an_end),
                                       cmocka_unit_test(parameters_of_all_versions),
                                       cmocka_unit_test(damaged_parameters_are_refused),
                                       cmocka_unit_test(strange_parameters_are_refused),
                                       cmocka_unit_test(files_find_each_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
