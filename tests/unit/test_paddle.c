/* PaddlePaddle's programs, in JSON and as a ProgramDesc, written here: what they become, what is said of wrong ones,
 * and what small ones compute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

#include "frontend/paddle/paddle.h"

/* ---- JSON: ' stands for " ---- */

#define HEAD \
    "{'base_code':{'magic':'pir','version':4},'program':{'regions':[{'#':'r','blocks':[{'#':'b','args':[],'" \
    "ops':["
#define TAIL "]}]}]}}"
#define TYPE(dims) "{'#':'0.t_dtensor','D':[{'#':'0.t_f32'},[" dims "],'NCHW',[],0]}"
#define VALUE(id, dims) "{'%':" id ",'TT':" TYPE(dims) "}"
#define A(name, kind, v) "{'N':'" name "','AT':{'#':'0.a_" kind "','D':" v "}}"
#define OP(name, attrs, in, out) "{'#':'1." name "','A':[" attrs "],'I':[" in "],'O':[" out "]}"
#define IN(id) "{'%':" id "}"
#define DATA(id, name, dims) OP("data", A("name", "str", "'" name "'"), "", VALUE(id, dims)) ","
#define FETCH(id) "," OP("fetch", A("name", "str", "'y'") "," A("col", "i32", "0"), IN(id), VALUE("99", ""))
#define UNARY(name, attrs) \
    HEAD DATA("1", "x", "2,3") OP(name, attrs, IN("1"), VALUE("2", "2,3")) FETCH("2") TAIL
#define TEN(id) \
    IN(id) "," IN(id) "," IN(id) "," IN(id) "," IN(id) "," IN(id) "," IN(id) "," IN(id) "," IN(id) "," IN(id)
#define COMBINE(to, id) "{'#':'0.combine','A':[],'I':[" TEN(id) "],'O':[{'%':" to "}]},"
#define BLOCK(ops) "{'#':'r','blocks':[{'#':'b','args':[],'ops':[" ops "]}]}"
#define IF(attrs, in, out, yes, no) \
    "{'#':'1.if','A':[" attrs "],'I':[" in "],'O':[" out "],'regions':[" BLOCK(yes) "," BLOCK(no) "]}"
#define WEIGHT "{'#':'p','A':[0,1,1,'w'],'O':" VALUE("5", "3") "},"

/* The text with real quotes, as a file of the model's. */
static tn_bytes quoted(model *m, const char *text)
{
    char *at = tn_arena_strdup(&m->arena, text);
    for (char *s = at; *s; s++)
        *s = *s == '\'' ? '"' : *s;
    m->file = (tn_file){(uint8_t *)at, strlen(at), 0};
    return (tn_bytes){m->file.at, m->file.n};
}

static tn_status import_json(model *m, const char *text, tn_bytes params)
{
    tn_bytes program = quoted(m, text);
    TN_TRY(pd_import_pair(&m->g, "m.json", &m->file, program, params));
    return tn_relay_verify(&m->g);
}

static const struct {
    const char *text, *want[2];
} cases[] = {
    {UNARY("relu", ""), {"def @main(%x: Tensor[(2, 3), float32]", "nn.relu(%x)"}},
    {UNARY("softmax_", A("axis", "i32", "-1")), {"nn.softmax(%x"}},
    {HEAD DATA("1", "x", "-1,3") OP("if", "", IN("1"), VALUE("2", "3")) TAIL,
     {"has no outputs", "[paddle-E005]"}},
    {HEAD DATA("1", "x", "2,3") OP("all", "", IN("1"), VALUE("2", "")) "," IF(
         A("fake_false_branch", "bool", "true"), IN("2"), VALUE("3", "2,3"),
         OP("relu", "", IN("1"), VALUE("4", "2,3")) "," OP("yield", "", IN("4"), ""),
         OP("yield", "", IN("1"), "")) FETCH("3") TAIL,
     {"if (", "nn.relu(%x)"}},
    {"{'base_code':{'magic':'pir'},'program':{}}",
     {"does not consist of one block; download or export it again [paddle-E001]"}},
    {"{'base_code':'pir'", {"the program is damaged:", "[paddle-E001]"}},
    {UNARY("nothing", ""), {"operator pd_op.nothing", "[paddle-E004]"}},
    {HEAD OP("relu", "", IN("7"), VALUE("2", "3")) TAIL,
     {"an operand is a value that no operator gives; download or export it again [paddle-E001]"}},
    {HEAD DATA("1", "x", "2,3") COMBINE("2", "1") COMBINE("3", "2") COMBINE("4", "3")
         COMBINE("5", "4") "{}" TAIL,
     {"its lists have more elements than the file has bytes; download or export it again [paddle-E001]"}},
    {UNARY("softmax", A("axis", "str", "'one'")),
     {"attribute axis is a text, but must be an integer", "[paddle-E008]"}},
    {UNARY("relu", A("slope", "f32", "0.5")), {"attribute slope of relu is not supported", "[paddle-E009]"}},
    {UNARY("softmax", A("axis", "i32", "2")), {"axis 2 is outside of [-2, 2)", "[paddle-E010]"}},
    {HEAD DATA("1", "x", "2,3") OP("eye", A("dtype", "i32", "5"), IN("1") "," IN("1"), VALUE("2", "3"))
         FETCH("2") TAIL,
     {"Rows is not a small constant", "[paddle-E011]"}},
    {UNARY("add", ""), {"operand Y is missing; the model is damaged [paddle-E012]"}},
    {HEAD DATA("1", "x", "2,3") OP("pool2d", "", IN("1"), VALUE("2", "3")) FETCH("2") TAIL,
     {"pool2d on Tensor[(2, 3), float32]", "[paddle-E013]"}},
    {HEAD "{'#':'1.data','A':[" A("name", "str", "'x'") "],'I':[],'O':[{'%':1,'TT':{}}]}" FETCH("1") TAIL,
     {"[paddle-E014]"}},
    {HEAD DATA("1", "x", "2,3")
         OP("layer_norm", A("begin_norm_axis", "i32", "1"), IN("1") "," IN("0") "," IN("0"),
            VALUE("2", "2,3") "," VALUE("3", "2") "," VALUE(
                "4", "2")) "," OP("relu", "", IN("3"), VALUE("6", "2")) FETCH("6") TAIL,
     {"operand \"%3\" is output 1 of node %2 (layer_norm)", "[paddle-E007]"}},
    {HEAD DATA("1", "x", "") OP("batch_norm_", A("is_test", "bool", "true"),
                                IN("1") "," IN("1") "," IN("1") "," IN("1") "," IN("1"), VALUE("2", ""))
         FETCH("2") TAIL,
     {"data float32 has no channels", "[paddle-E012]"}},
    {HEAD DATA("1", "x", "2,3") OP("multiclass_nms3", A("background_label", "i32", "0"),
                                   IN("1") "," IN("1") "," IN("0"), VALUE("2", "2,6")) FETCH("2") TAIL,
     {"scores Tensor[(2, 3), float32] must have three dimensions", "[paddle-E012]"}},
    {HEAD DATA("1", "x", "2,3") WEIGHT OP("add", "", IN("1") "," IN("5"), VALUE("2", "2,3")) FETCH("2") TAIL,
     {"there are no parameters beside the program", "[paddle-E002]"}},
};

static void programs_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model m;
        model_init(&m);
        const char *said =
            import_json(&m, cases[i].text, (tn_bytes){0}) == TN_OK ? model_text(&m) : model_errors(&m);
        for (int k = 0; k < 2 && cases[i].want[k]; k++)
            if (!strstr(said, cases[i].want[k]))
                fail_msg("case %zu: no \"%s\" in\n%s", i, cases[i].want[k], said);
        model_deinit(&m);
    }
}

/* ---- files ---- */

/* One tensor [3] of float32, as a file of parameters has it. */
static const uint8_t weight[] = {
    0, 0, 0, 0, 0,    0, 0, 0, 0,    0,    0, 0, 0, 0,    0, 0, 4,    0,
    0, 0, 8, 5, 0x10, 3, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40}; /* 1 2 3 */
#define ADDITION \
    HEAD DATA("1", "x", "2,3") WEIGHT OP("add", "", IN("1") "," IN("5"), VALUE("2", "2,3")) FETCH("2") TAIL

static void check_error(const char *path, const tn_import_options *o, const char *want)
{
    model m;
    model_init(&m);
    assert_int_equal(model_read(&m, path, o), TN_FAIL);
    if (!strstr(model_errors(&m), want))
        fail_msg("no \"%s\" in\n%s", want, model_errors(&m));
    model_deinit(&m);
}

static void write_file(model *m, const char *path, const void *at, size_t n)
{
    assert_int_equal(tn_file_write(&m->ctx, path, at, n), TN_OK);
}

static void files_belong_together(void **state)
{
    static const int64_t dim[] = {2, 3};
    tn_import_options o = {.shape = (const tn_input_shape[]){{.name = "z", .ndim = 2, .dim = dim}},
                           .n_shape = 1};
    model m;
    (void)state;
    model_init(&m);
    tn_bytes text = quoted(&m, ADDITION);
    write_file(&m, "pd_one.json", text.at, text.n);
    write_file(&m, "pd_one.pdiparams", weight, sizeof weight);
    write_file(&m, "pd_two.json", text.at, text.n);
    write_file(&m, "pd_two.pdiparams", weight, sizeof weight - 1);
    write_file(&m, "pd_three.pdiparams", weight, sizeof weight);
    for (int i = 0; i < 2; i++) {
        model n;
        model_init(&n);
        if (model_read(&n, i ? "pd_one.pdiparams" : "pd_one.json", NULL) != TN_OK)
            fail_msg("%s", model_errors(&n));
        model_deinit(&n);
    }
    check_error("pd_one.json", &o, "[paddle-E015]");
    check_error("pd_two.json", NULL,
                "parameter \"w\" cannot be read: the file ends within its elements; download or export it "
                "again [paddle-E003]");
    check_error("pd_three.pdiparams", NULL, "put the program beside it as pd_three.pdmodel");
    model_deinit(&m);
}

static void errors_have_limits(void **state)
{
    tn_buf text = {0};
    model m;
    (void)state;
    model_init(&m);
    tn_buf_str(&text, HEAD DATA("1", "x", "2,3"));
    for (int i = 2; i < 303; i++)
        tn_buf_printf(&text, "{'#':'1.nothing','A':[],'I':[{'%%':1}],'O':[{'%%':%d,'TT':{}}]},", i);
    tn_buf_str(&text, "{'#':'0.combine','I':[");
    for (int i = 2; i < 303; i++)
        tn_buf_printf(&text, "%s{'%%':%d}", i > 2 ? "," : "", i);
    tn_buf_str(&text,
               "],'O':[{'%':400,'TT':{}}]}," OP("add_n", "", IN("400"), VALUE("401", "")) FETCH("401") TAIL);
    assert_int_equal(import_json(&m, tn_buf_cstr(&text), (tn_bytes){0}), TN_FAIL);
    assert_non_null(
        strstr(model_errors(&m), "more than 200 errors; only the first are reported [paddle-E016]"));
    model_deinit(&m);
    tn_buf_deinit(&text);
}

/* ---- results ---- */

static void run(model *m, const float x[6], const float want[], size_t n)
{
    tn_tensor_value have,
        in = {
            .dtype = TN_F32, .ndim = 2, .dim = {2, 3}, .n = 24, .borrowed = true, .at = (char *)(uintptr_t)x};
    if (tn_relay_run(&m->g, 1, &in, 1, &have, tn_eval_interp, NULL) != TN_OK)
        fail_msg("%s", model_errors(m));
    assert_int_equal(have.n, n * 4);
    for (size_t i = 0; i < n; i++)
        assert_float_equal(((const float *)have.at)[i], want[i], 1e-5);
    tn_tensor_value_deinit(&have);
}

static void a_program_computes(void **state)
{
    static const float x[6] = {1, 1, 1, -5, 0, 5}, want[6] = {2, 3, 4, -4, 2, 8};
    model m;
    (void)state;
    model_init(&m);
    if (import_json(&m, ADDITION, (tn_bytes){weight, sizeof weight}) != TN_OK)
        fail_msg("%s", model_errors(&m));
    run(&m, x, want, 6);
    model_deinit(&m);
}

/* A ProgramDesc: fields of its messages, innermost first. */
typedef struct bytes {
    uint8_t at[1024];
    size_t n;
} bytes;

static void put(bytes *b, int field, const void *at, size_t n)
{
    assert_true(b->n + n + 4 < sizeof b->at);
    b->at[b->n++] = (uint8_t)(field << 3 | 2);
    if (n >= 128)
        b->at[b->n++] = (uint8_t)((n & 127) | 128);
    b->at[b->n++] = (uint8_t)(n >= 128 ? n >> 7 : n);
    memcpy(b->at + b->n, at, n);
    b->n += n;
}

static void put_text(bytes *b, int field, const char *s) { put(b, field, s, strlen(s)); }

static void put_int(bytes *b, int field, uint8_t v)
{
    b->at[b->n++] = (uint8_t)(field << 3);
    b->at[b->n++] = v;
}

static void put_param(bytes *op, int field, const char *name, const char *value)
{
    bytes p = {.n = 0};
    put_text(&p, 1, name);
    put_text(&p, 2, value);
    put(op, field, p.at, p.n);
}

/* type(param=value) -> param=value, with a block inside, or 0 */
static void put_op(bytes *block, const char *type, const char *in, const char *a, const char *out,
                   const char *y, uint8_t inside)
{
    bytes op = {.n = 0}, attr = {.n = 0};
    put_param(&op, 1, in, a);
    put_param(&op, 2, out, y);
    put_text(&op, 3, type);
    if (inside) {
        put_text(&attr, 1, "sub_block");
        put_int(&attr, 2, 8);
        put_int(&attr, 12, inside);
        put(&op, 4, attr.at, attr.n);
    }
    put(block, 4, op.at, op.n);
}

static void begin_block(bytes *b, uint8_t idx)
{
    b->n = 0;
    put_int(b, 1, idx);
    put_int(b, 2, 0);
}

static void put_input(bytes *block)
{
    static const uint8_t desc[] = {8, 5, 16, 2, 16, 3};
    bytes dense = {.n = 0}, type = {.n = 0}, var = {.n = 0};
    put(&dense, 1, desc, sizeof desc);
    put_int(&type, 1, 7);
    put(&type, 3, dense.at, dense.n);
    put_text(&var, 1, "x");
    put(&var, 2, type.at, type.n);
    put(block, 3, var.at, var.n);
}

/* A variable that is assigned twice, the second time where a condition holds. */
static void variables_are_assigned_again(void **state)
{
    static const float x[2][6] = {{1, 2, 3, 4, 5, 6}, {-1, 2, 3, 4, 5, 6}},
                       want[2][6] = {{4, 16, 36, 64, 100, 144}, {-2, 4, 6, 8, 10, 12}};
    bytes main_block, inner, program = {.n = 0};
    (void)state;
    begin_block(&main_block, 0);
    put_input(&main_block);
    put_op(&main_block, "feed", "X", "feed", "Out", "x", 0);
    put_op(&main_block, "reduce_min", "X", "x", "Out", "least", 0);
    put_op(&main_block, "relu", "X", "least", "Out", "up", 0);
    put_op(&main_block, "sign", "X", "up", "Out", "go", 0);
    put_op(&main_block, "sum", "X", "x", "Out", "y", 0);
    bytes twice = {.n = 0}, p = {.n = 0};
    put_text(&p, 1, "X");
    put_text(&p, 2, "x");
    put_text(&p, 2, "x");
    put(&twice, 1, p.at, p.n);
    put_param(&twice, 2, "Out", "y");
    put_text(&twice, 3, "sum");
    put(&main_block, 4, twice.at, twice.n);
    put_op(&main_block, "conditional_block", "Cond", "go", "Out", "y", 1);
    put_op(&main_block, "fetch", "X", "y", "Out", "fetch", 0);
    begin_block(&inner, 1);
    put_op(&inner, "square", "X", "y", "Out", "y", 0);
    put(&program, 1, main_block.at, main_block.n);
    put(&program, 1, inner.at, inner.n);
    for (int i = 0; i < 2; i++) {
        model m;
        model_init(&m);
        m.file = (tn_file){program.at, program.n, 0};
        assert_true(tn_sniff_paddle(program.at, program.n));
        if (pd_import_pair(&m.g, "m.pdmodel", &m.file, (tn_bytes){program.at, program.n}, (tn_bytes){0}) !=
            TN_OK)
            fail_msg("%s", model_errors(&m));
        run(&m, x[i], want[i], 6);
        model_deinit(&m);
    }
}

static void undefined_variables_are_refused(void **state)
{
    bytes block, program = {.n = 0};
    model m;
    (void)state;
    begin_block(&block, 0);
    put_op(&block, "relu", "X", "nobody", "Out", "y", 0);
    put_op(&block, "fetch", "X", "y", "Out", "fetch", 0);
    put(&program, 1, block.at, block.n);
    model_init(&m);
    m.file = (tn_file){program.at, program.n, 0};
    assert_int_equal(
        pd_import_pair(&m.g, "m.pdmodel", &m.file, (tn_bytes){program.at, program.n}, (tn_bytes){0}),
        TN_FAIL);
    assert_non_null(strstr(model_errors(&m), "operand \"nobody\" is not an input"));
    assert_non_null(strstr(model_errors(&m), "[paddle-E006]"));
    model_deinit(&m);
}

static void put_select(bytes *block, const char *late, const char *y)
{
    bytes op = {.n = 0}, x = {.n = 0};
    put_text(&x, 1, "X");
    put_text(&x, 2, late);
    put_text(&x, 2, "x");
    put(&op, 1, x.at, x.n);
    put_param(&op, 1, "Mask", "go");
    put_param(&op, 2, "Out", y);
    put_text(&op, 3, "select_input");
    put(block, 4, op.at, op.n);
}

/* A side of a branch that has no block, and one whose block picks what it gives itself. */
static void wrong_branches_are_refused(void **state)
{
    static const char *const want[2] = {"attribute sub_block is missing",
                                        "is used, but nothing has computed it"};
    (void)state;
    for (uint8_t i = 0; i < 2; i++) {
        bytes block, inner, program = {.n = 0};
        model m;
        begin_block(&block, 0);
        put_input(&block);
        put_op(&block, "feed", "X", "feed", "Out", "x", 0);
        put_op(&block, "reduce_min", "X", "x", "Out", "least", 0);
        put_op(&block, "sign", "X", "least", "Out", "go", 0);
        put_op(&block, "conditional_block", "Cond", "go", "Out", "late", i);
        put_select(&block, "late", "y");
        put_op(&block, "fetch", "X", "y", "Out", "fetch", 0);
        begin_block(&inner, 1);
        put_select(&inner, "late", "late");
        put(&program, 1, block.at, block.n);
        if (i)
            put(&program, 1, inner.at, inner.n);
        model_init(&m);
        m.file = (tn_file){program.at, program.n, 0};
        tn_bytes all = {program.at, program.n};
        assert_int_equal(pd_import_pair(&m.g, "m.pdmodel", &m.file, all, (tn_bytes){0}), TN_FAIL);
        if (!strstr(model_errors(&m), want[i]))
            fail_msg("no \"%s\" in\n%s", want[i], model_errors(&m));
        model_deinit(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_read),
        cmocka_unit_test(files_belong_together),
        cmocka_unit_test(errors_have_limits),
        cmocka_unit_test(a_program_computes),
        cmocka_unit_test(variables_are_assigned_again),
        cmocka_unit_test(undefined_variables_are_refused),
        cmocka_unit_test(wrong_branches_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
