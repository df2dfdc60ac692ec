/* Modules that TVM saved as JSON, and metadata of Relay texts: what they become, and what is said of damaged ones.
 * Texts have ' in the place of quotes; $ is the tensor [1, 2] of float32 in base64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

#define TENSOR "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAAEA="
#define NODE(type, attrs) ",{'type_key':'" type "','attrs':{" attrs "}}"
#define LIST(data) ",{'type_key':'Array','data':[" data "]}"
#define INT(value) NODE("IntImm", "'dtype':'int32','value':'" value "'")
#define STRING(text) ",{'type_key':'runtime.String','repr_str':'" text "'}"
#define ONE_F32 "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAIgAQAEAAAAAAAAAAAAgD8="
#define ZERO_I32 "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAAgAQAEAAAAAAAAAAAAAAA="
#define OP(name) ",{'type_key':'Op','repr_str':'" name "'}"
#define SAVED(root, nodes, tensors) \
    "{'root':" root ",'nodes':[{'type_key':''}" nodes "],'b64ndarrays':[" tensors \
    "],'attrs':{'tvm_version':'0.8.0'}}"
/* Nodes 1 to 7: x, a Tensor[(2), float32], and a list of it. */
#define X \
    NODE("relay.Var", "'vid':'2','type_annotation':'3'") \
    NODE("relay.Id", "'name_hint':'x'") \
    NODE("relay.TensorType", "'dtype':'float32','shape':'4'") LIST("5") INT("2") LIST("1") INT("1")
#define FUNCTION(body) NODE("relay.Function", "'params':'6','body':'" body "','ret_type':'0','attrs':'0'")
/* Node 8 is the function; module: a map of names to functions, node 9 and on. */
#define MODULE_OF(name) \
    NODE("IRModule", "'functions':'10'") \
    ",{'type_key':'Map','data':[11,8]}" NODE("GlobalVar", "'name_hint':'" name "'")
#define MODULE MODULE_OF("main")

/* Nodes 8 and on: @main(x), which makes Cons(x, Nil) of a list and matches it, whose definition is that of node 12.
 * What stands in the places of the head's pattern and of the clause for Cons is `head` and `body`. */
// clang-format off
#define LISTS(root, head, body, complete, clauses) \
    SAVED(root, X FUNCTION("27") NODE("IRModule", "'functions':'10','type_definitions':'12'") \
    ",{'type_key':'Map','data':[11,8]}" NODE("GlobalVar", "'name_hint':'main'") \
    ",{'type_key':'Map','data':[13,14]}" NODE("GlobalTypeVar", "'name_hint':'Row','kind':'5'") \
    NODE("relay.TypeData", "'header':'13','type_vars':'15','constructors':'17'") LIST("16") \
    NODE("TypeVar", "'name_hint':'A','kind':'0'") LIST("18,22") \
    NODE("relay.Constructor", "'name_hint':'Cell','inputs':'19','belong_to':'13','tag':'0'") LIST("16,20") \
    NODE("TypeCall", "'func':'13','args':'15'") LIST("") \
    NODE("relay.Constructor", "'name_hint':'End','inputs':'21','belong_to':'13','tag':'1'") \
    NODE("relay.Call", "'op':'22','args':'21','attrs':'0'") LIST("1,23") \
    NODE("relay.Call", "'op':'18','args':'24','attrs':'0'") LIST(clauses) \
    NODE("relay.Match", "'data':'25','clauses':'26','complete':'" complete "'") \
    NODE("relay.Clause", "'lhs':'29','rhs':'" body "'") \
    NODE("relay.PatternConstructor", "'constructor':'18','patterns':'30'") LIST(head ",36") \
    NODE("relay.Clause", "'lhs':'32','rhs':'1'") \
    NODE("relay.PatternConstructor", "'constructor':'22','patterns':'21'") \
    NODE("relay.PatternVar", "'var':'34'") NODE("relay.Var", "'vid':'35'") NODE("relay.Id", "'name_hint':'h'") \
    NODE("relay.PatternWildcard", "") NODE("relay.Call", "'op':'38','args':'39'") OP("nn.relu") LIST("34"), "")
// clang-format on

/* A text whose metadata has attributes 0 of a type; node 4 is 1, 5 is True, 6 is [1, 2]. */
#define METADATA(body, type, attrs) \
    "#[version = '0.0.5']\ndef @main(%x: Tensor[(1, 2), int32]) {\n  " body "\n}\n#[metadata]\n" \
    "{'root':1,'nodes':[{'type_key':''},{'type_key':'Map','keys':['" type "'],'data':[2]}" LIST("3") \
        NODE(type, attrs) INT("1") INT("1") LIST("4,7") INT("2") "]}"

static const struct {
    const char *text, *want[2];
} cases[] = {
    {LISTS("9", "33", "37", "1", "28,31"),
     {"type Row[A] { Cell(A, Row[A]), End }\ndef @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {\n"
      "  %0 = End;\n  %1 = Cell(%x, %0);\n  match (%1) {\n    Cell(%h, _) => {\n      nn.relu(%h)\n    },\n"
      "    End => {\n      %x\n    },\n  }\n}"}},
    {LISTS("9", "36", "1", "0", "28"),
     {"Cell(_, _) => {", "fail(message=\"no clause of the match is for End\")"}},
    {LISTS("9", "35", "1", "1", "28,31"),
     {"a pattern is of a kind that is not supported; download or export it again"}},
    {LISTS("9", "29", "1", "1", "28,31"), {"patterns are nested too deep; download or export it again"}},
    {SAVED("9", X FUNCTION("12") MODULE NODE("relay.Call", "'op':'13','args':'6','attrs':'0'") OP("nn.relu"),
           ""),
     {"def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32]", "nn.relu(%x)"}},
    /* shared, a constant, an attribute that is a number, and one that is a list */
    {SAVED("8",
           X FUNCTION("9") NODE("relay.Call", "'op':'10','args':'11','attrs':'0'") OP("add") LIST("12,12")
               NODE("relay.Call", "'op':'13','args':'14','attrs':'0'") OP("multiply") LIST("15,16") NODE(
                   "relay.Call", "'op':'17','args':'6','attrs':'18'") NODE("relay.Constant", "'data':'0'")
                   OP("nn.softmax") NODE("relay.attrs.SoftmaxAttrs", "'axis':'0'"),
           "'" TENSOR "'"),
     {"%0 = nn.softmax(%x, axis=0);\n  %1 = multiply(%0, meta[relay.Constant][0]", "add(%1, %1)"}},
    {SAVED("8",
           X FUNCTION("9") NODE("relay.Call", "'op':'10','args':'6','attrs':'11'") OP("reshape")
               NODE("relay.attrs.ReshapeAttrs", "'newshape':'12','allowzero':'0'") LIST("7,5"),
           ""),
     {"reshape(%x, newshape=[1, 2])"}},
    /* texts that are nodes of their own, as newer releases save them; "None", which texts leave out */
    {SAVED("9",
           NODE("relay.Var", "'vid':'2','type_annotation':'3'") NODE("relay.Id", "'name_hint':'16'")
               NODE("relay.TensorType", "'dtype':'int32','shape':'4'") LIST("5") INT("2") LIST("1") INT("1")
                   FUNCTION("12") MODULE_OF("17") NODE("relay.Call", "'op':'13','args':'14','attrs':'15'")
                       OP("qnn.requantize") LIST("1,18,19,18,19")
                           NODE("relay.attrs.RequantizeAttrs",
                                "'axis':'-1','rounding':'None','compute_dtype':'None',"
                                "'out_dtype':'int8'") STRING("layer.0") STRING("main")
                               NODE("relay.Constant", "'data':'0'") NODE("relay.Constant", "'data':'1'"),
           "'" ONE_F32 "','" ZERO_I32 "'"),
     {"%layer_0: Tensor[(2), int32]", "qnn.requantize(%layer_0, 1f, 0, 1f, 0)"}},
    /* a text with the constants of its metadata */
    {"#[version = '0.0.5']\ndef @main(%x: Tensor[(2), float32]) {\n  add(%x, meta[relay.Constant][0] /* "
     "ty=Tensor[(2), "
     "float32] "
     "*/)\n}\n#[metadata]\n{'root':1,'nodes':[{'type_key':''},{'type_key':'Map','keys':['relay.Constant'],"
     "'data':[2]},{'type_key':'Array','data':[3]},{'type_key':'relay.Constant','attrs':{'data':'0'}}],'"
     "b64ndarrays':"
     "['" TENSOR "']}",
     {"add(%x, meta[relay.Constant][0]", NULL}},
    /* attributes of its metadata, of an operator of ours and of one that is made of others */
    {METADATA("cumsum(%x, meta[relay.attrs.ScanopAttrs][0])", "relay.attrs.ScanopAttrs",
              "'axis':'4','dtype':'int32','exclusive':'5'"),
     {"cumsum(%x, axis=1, exclusive=True)", NULL}},
    {METADATA("nn.dilate(%x, meta[relay.attrs.DilateAttrs][0])", "relay.attrs.DilateAttrs",
              "'strides':'6','dilation_value':'2'"),
     {"strides=[1, 2], axes=[0, 1])", NULL}},
    {METADATA("nn.relu(%x, meta[relay.attrs.None][1])", "relay.attrs.None", ""),
     {"3:15: error: the attributes meta[relay.attrs.None][1] cannot be read: they are not there "
      "[relay-E091]"}},
    {METADATA("nn.relu(%x, meta[relay.attrs.Odd][0])", "relay.attrs.Odd", "'axis':'4'"),
     {"nn.relu has no attributes, so it cannot have axis [relay-E041]", NULL}},
    {METADATA("cumsum(%x, meta[relay.attrs.Odd][0])", "relay.attrs.Odd",
              "'meta[relay.attrs.Odd][0], axis':'1'"),
     {"cannot be read: an attribute has a name that is none [relay-E091]", NULL}},
    {METADATA("nn.softmax(cast(%x, dtype='float32'), meta[relay.attrs.Odd][0])", "relay.attrs.Odd",
              "'axis':'0, %x'"),
     {"cannot be read: a number is none [relay-E091]", NULL}},
    {METADATA("reshape_like(%x, reshape(%x, newshape=[2, 1]), meta[relay.attrs.ReshapeLikeAttrs][0])",
              "relay.attrs.ReshapeLikeAttrs", "'lhs_begin':'0','lhs_end':'0','rhs_begin':'0','rhs_end':'4'"),
     {"-> Tensor[(2), int32]", NULL}},
    /* a function of any type A, which is called */
    {SAVED(
         "9",
         X FUNCTION("13") NODE("IRModule", "'functions':'10'") ",{'type_key':'Map','data':[11,8,12,16]}" NODE(
             "GlobalVar", "'name_hint':'main'") NODE("GlobalVar", "'name_hint':'same'")
             NODE("relay.Call", "'op':'12','args':'6','attrs':'0'")
                 NODE("relay.Var", "'vid':'15','type_annotation':'18'") NODE("relay.Id", "'name_hint':'y'")
                     NODE("relay.Function", "'params':'17','body':'14','ret_type':'18','type_params':'19'")
                         LIST("14") NODE("TypeVar", "'name_hint':'A','kind':'0'") LIST("18"),
         ""),
     {"def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {\n  %x\n}"}},
    /* wrong */
    {SAVED("99", X, ""), {"its root is no node; download or export it again [tvm-E001]"}},
    {SAVED("7", X, ""),
     {"it is neither a Relay module nor a function; download or export it again [tvm-E001]"}},
    {SAVED("8", X FUNCTION("9") NODE("relay.Constant", "'data':'0'"), "'AAAA'"),
     {"a tensor does not begin as TVM's tensors do; download or export it again [tvm-E001]"}},
    {SAVED("8", X FUNCTION("9") NODE("relay.Constant", "'data':'3'"), ""),
     {"a tensor is named that is not there"}},
    {SAVED("8", X FUNCTION("9") NODE("relay.Call", "'op':'10','args':'11'") OP("nn.relu") LIST("9"), ""),
     {"an expression is its own operand; download or export it again [tvm-E001]"}},
    {SAVED("8", X FUNCTION("8"), ""),
     {"functions and branches are nested too deep; download or export it again [tvm-E001]"}},
    {SAVED("8", X FUNCTION("9") NODE("relay.RefCreate", ""), ""),
     {"an expression is of a kind that is not supported"}},
};

static const char *read_text(model *m, const char *text)
{
    char *copy = tn_arena_strdup(&m->arena, text);
    for (char *at = copy; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    m->file = (tn_file){(const uint8_t *)copy, strlen(copy), 0};
    return model_import(m, "a.json", &m->file, NULL) == TN_OK ? model_text(m) : model_errors(m);
}

static void modules_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model m;
        model_init(&m);
        const char *said = read_text(&m, cases[i].text);
        for (int k = 0; k < 2 && cases[i].want[k]; k++)
            if (!strstr(said, cases[i].want[k]))
                fail_msg("case %zu: no \"%s\" in\n%s", i, cases[i].want[k], said);
        model_deinit(&m);
    }
}

/* Branches that share what they compute are written once for each, so a small file can mean a very long text. */
static void texts_have_an_end(void **state)
{
    enum { LEVELS = 60 };
    tn_buf text = {0};
    model m;
    (void)state;
    tn_buf_str(&text,
               "{'root':8,'nodes':[{'type_key':''}" X FUNCTION("10") NODE("relay.Constant", "'data':'0'"));
    for (int i = 0; i < LEVELS; i++)
        tn_buf_printf(&text, NODE("relay.If", "'cond':'1','true_branch':'%d','false_branch':'%d'"),
                      i + 1 < LEVELS ? 11 + i : 1, i + 1 < LEVELS ? 11 + i : 1);
    tn_buf_str(&text, "],'b64ndarrays':[]}");
    model_init(&m);
    assert_non_null(strstr(read_text(&m, tn_buf_cstr(&text)), "it is too large"));
    model_deinit(&m);
    tn_buf_deinit(&text);
}

/* The same of types: tuples of ten of what comes next. */
static void types_have_an_end(void **state)
{
    enum { LEVELS = 12 };
    tn_buf text = {0};
    model m;
    (void)state;
    tn_buf_str(&text,
               "{'root':4,'nodes':[{'type_key':''}" NODE("relay.Var", "'vid':'2','type_annotation':'5'")
                   NODE("relay.Id", "'name_hint':'x'") LIST("1")
                       NODE("relay.Function", "'params':'3','body':'1'"));
    for (int i = 5; i < 5 + 2 * LEVELS; i += 2)
        tn_buf_printf(&text, NODE("TupleType", "'fields':'%d'") LIST("%d,%d,%d,%d,%d,%d,%d,%d,%d,%d"), i + 1,
                      i + 2, i + 2, i + 2, i + 2, i + 2, i + 2, i + 2, i + 2, i + 2, i + 2);
    tn_buf_str(&text, NODE("relay.TensorType", "'dtype':'float32'") "],'b64ndarrays':[]}");
    model_init(&m);
    assert_non_null(strstr(read_text(&m, tn_buf_cstr(&text)), "it is too large"));
    model_deinit(&m);
    tn_buf_deinit(&text);
}

/* Constants that share a tensor: 2 bytes of text each, 384 of data. */
static void tensors_are_bounded(void **state)
{
    tn_buf text = {0};
    model m;
    (void)state;
    tn_buf_str(&text,
               "#[metadata]{'root':1,'nodes':[{'type_key':''},{'type_key':'Map','keys':['relay.Constant'],"
               "'data':[2]},{'type_key':'Array','data':[3");
    for (int i = 0; i < 2000; i++)
        tn_buf_str(&text, ",3");
    /* [96] of float32, all 0 */
    tn_buf_str(
        &text,
        "]},{'type_key':'relay.Constant','attrs':{'data':'0'}}],'b64ndarrays':['P6G0lvBAXt0AAAAAAAAAAAEAAA"
        "AAAAAAAQAAAAIgAQBgAAAAAAAAAIABAAAAAAAA");
    for (int i = 0; i < 128; i++)
        tn_buf_str(&text, "AAAA");
    tn_buf_str(&text, "']}");
    model_init(&m);
    (void)read_text(&m, tn_buf_cstr(&text));
    assert_true(m.arena.used_bytes < 16 * text.n + (1 << 20));
    model_deinit(&m);
    tn_buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_are_read),
        cmocka_unit_test(texts_have_an_end),
        cmocka_unit_test(types_have_an_end),
        cmocka_unit_test(tensors_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
