/* Import of small TensorFlow graphs: what Relay they give, and what is said about those that cannot be read
 * (tests/tensorflow/import.txt). Lines `outputs NAME...` and `choose SIGNATURE` are import options, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/cases.h"
#include "tensorflow/write.h"
#include "wire/pb_text.h"

/* Takes the line that begins with this word out of the text; NULL: there is none. The words behind it are cut apart. */
static size_t take_words(char *text, const char *first, const char *word[4])
{
    char *at = strstr(text, first), *rest;
    size_t n = 0;
    if (!at)
        return 0;
    *at = 0;
    char *end = strchr(at + 1, '\n');
    if (end)
        *end = 0;
    for (char *w = strtok_r(at + strlen(first), " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        word[n++] = w;
    assert_true(!end || !end[1]); /* these lines are the last ones */
    return n;
}

/* The module's text without its version, then all diagnostics. */
static const char *import_text(model *m, char *text)
{
    case_shapes o = {0};
    tn_buf out = {0};
    const char *output[4], *signature[4] = {NULL};
    case_take_shapes(text, &o);
    (void)take_words(text, "\nchoose ", signature);
    size_t n = take_words(text, "\noutputs ", output);
    tn_buf b = write_graph(text);
    tn_import_options options = {
        .shape = o.shape, .n_shape = o.n, .output = output, .n_output = n, .signature = signature[0]};
    m->file = (tn_file){tn_arena_copy(&m->arena, b.at, b.n, 1), b.n, 0};
    tn_buf_deinit(&b);
    tn_status s = tn_import(&m->g, "m.pb", &m->file, NULL, &options);
    if (s == TN_OK)
        s = tn_relay_verify(&m->g);
    assert_int_equal(s == TN_OK, m->ctx.n_error == 0);
    if (s == TN_OK)
        tn_buf_str(&out, strchr(model_text(m), '\n') + 1);
    tn_buf_str(&out, model_errors(m));
    const char *have = tn_arena_strdup(&m->arena, tn_buf_cstr(&out));
    tn_buf_deinit(&out);
    return have;
}

static void write_file(const char *path, const tn_buf *b)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b->at, 1, b->n, f), b->n);
    fclose(f);
}

static void graphs_become_relay(void **state)
{
    (void)state;
    tn_buf table = {0}; /* that a case reads */
    tn_buf_str(&table, "key,value\r\none,1\r\ntwo,2");
    write_file("tensorflow_table.txt", &table);
    tn_buf_deinit(&table);
    case_check_file("tests/tensorflow/import.txt", import_text);
}

/* ---- limits ---- */

static void says(const char *id, tn_buf *graph, const tn_import_options *o)
{
    model m;
    model_init(&m);
    m.file = (tn_file){(const uint8_t *)graph->at, graph->n, 0};
    assert_int_equal(tn_import(&m.g, "m.pb", &m.file, "pb", o), TN_FAIL);
    if (!strstr(model_errors(&m), id))
        fail_msg("%s: %s", id, model_errors(&m));
    model_deinit(&m);
    tn_buf_deinit(graph);
}

static tn_buf graph_of(tn_buf *text)
{
    tn_buf g = write_graph((char *)tn_buf_cstr(text));
    tn_buf_deinit(text);
    *text = (tn_buf){0};
    return g;
}

/* Functions that call the one before twice, thirty deep; too many inputs of unknown size; too many errors. */
static void limits_are_kept(void **state)
{
    tn_buf text = {0}, graph;
    (void)state;
    tn_buf_str(&text, "x = Placeholder() dtype=float32 shape=<2>\ny = f29(x)\n"
                      "function f0(a float32) -> r=b:y:0\nb = Neg(a)\nend\n");
    for (int i = 1; i < 30; i++)
        tn_buf_printf(&text, "function f%d(a float32) -> r=c:r:0\nb = f%d(a)\nc = f%d(b:r:0)\nend\n", i,
                      i - 1, i - 1);
    graph = graph_of(&text);
    says("tensorflow-E021", &graph, NULL);
    tn_buf_str(&text, "y = Concat(d");
    for (int i = 0; i < 300; i++)
        tn_buf_printf(&text, ", x%d", i);
    tn_buf_str(&text, ")\n");
    for (int i = 0; i < 300; i++)
        tn_buf_printf(&text, "x%d = Placeholder() dtype=float32 shape=<?>\n", i);
    graph = graph_of(&text);
    says("tensorflow-E023", &graph, NULL);
    for (int i = 0; i < 300; i++)
        tn_buf_printf(&text, "x%d = Grumble()\n", i);
    graph = graph_of(&text);
    says("tensorflow-E025", &graph, NULL);
    tn_buf_str(&text, "no graph at all");
    says("tensorflow-E001", &text, NULL);
}

/* What a parameter is must be found without trying all ways to a function that each one calls twice. */
static void calls_are_traced_once(void **state)
{
    static const char *const result[] = {"y"};
    tn_buf text = {0}, graph;
    (void)state;
    tn_buf_str(&text,
               "t = HashTableV2() key_dtype=int64 value_dtype=int64\nx = f29(t)\ny = LookupTableSizeV2(t)\n"
               "function f0(a resource) -> r=a\nk = Const() dtype=int64 value=int64<2>{1,2}\n"
               "b = LookupTableImportV2(a, k:output:0, k:output:0)\nend\n");
    for (int i = 1; i < 30; i++)
        tn_buf_printf(&text, "function f%d(a resource) -> r=c:r:0\nb = f%d(a)\nc = f%d(b:r:0)\nend\n", i,
                      i - 1, i - 1);
    graph = graph_of(&text);
    says("tensorflow-E062", &graph, &(tn_import_options){.output = result, .n_output = 1});
}

/* Two ranges without a common size, for dimensions that are one. */
static void sizes_must_fit(void **state)
{
    static const int64_t any[] = {-1, -1};
    static const char *const one[] = {"n", "n"};
    static const tn_input_sizes sizes[] = {{.min = 1, .max = 4}, {.min = 8, .max = 16}};
    const tn_input_shape shape = {.name = "x", .ndim = 2, .dim = any, .symbol = one, .sizes = sizes};
    char text[] = "x = Placeholder() dtype=float32 shape=<?,?>\ny = Neg(x)\n";
    tn_buf graph = write_graph(text);
    (void)state;
    says("tensorflow-E024", &graph, &(tn_import_options){.shape = &shape, .n_shape = 1});
}

/* ---- texts ---- */

/* A text is read like the message that it stands for; what is wrong with it is told with its line. */
static void texts_are_read(void **state)
{
    static const struct {
        const char *text, *says;
    } row[] = {
        {"# a graph\nnode { name: 'x' op: \"Placeholder\"\n attr { key: \"dtype\" value { type: DT_FLOAT } "
         "}\n"
         " attr { key: \"shape\" value { shape { dim { size: 0x2 } } } } }\n"
         "node { name: \"c\" op: \"Const\" attr { key: \"value\" value { tensor { dtype: DT_FLOAT\n"
         " tensor_shape { dim { size: 2 } } tensor_content: \"\\000\\000\\200?\\x00\\0\\0@\" } } } }\n"
         "node { name: \"d\" op: \"Const\" attr { key: \"value\" value { tensor { dtype: DT_FLOAT "
         "tensor_shape { }\n"
         " float_val: 2.5 } } } }\n"
         "node { name: \"s\" op: \"Mul\" input: [\"x\", \"d\"] }\n"
         "node { name: \"y\" op: \"AddV2\" input: \"s\" input: \"c\" }\nversions { producer: 27 }\n",
         "%0 = multiply(%x, 2.5f) /* s */;\n  add(%0, meta[relay.Constant][0] /* c (2) */) /* y */"},
        {"node { name: \"x\" op: \"Placeholder\"\n attr { key: \"dtype\" value { type: DT_FLOATING } } }\n",
         "a number is wanted (in line 2); download or export it again [tensorflow-E001]"},
        {"node {\n name { } }\n",
         "a value is wanted, not a message (in line 2); download or export it again [tensorflow-E001]"},
        {"node: 3\n",
         "a message is wanted, not a value (in line 1); download or export it again [tensorflow-E001]"},
        {"node {\n name: \"x\n}\n",
         "a string has no end (in line 2); download or export it again [tensorflow-E001]"},
        {"saved_model_schema_version: 1 meta_graphs { graph_def { node { name: \"x\" op: \"NoOp\" } } }",
         "the model has no outputs; export the model again, or report this if it runs elsewhere "
         "[tensorflow-E002]"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        model m;
        model_init(&m);
        m.file = (tn_file){(const uint8_t *)row[i].text, strlen(row[i].text), 0};
        tn_status s = tn_import(&m.g, "m.pbtxt", &m.file, NULL, NULL);
        const char *have = s == TN_OK ? model_text(&m) : model_errors(&m);
        if (!strstr(have, row[i].says))
            fail_msg("row %zu: %s", i, have);
        model_deinit(&m);
    }
}

/* ---- checkpoints ---- */

/* A block of one entry, then its kind and checksum; its place goes to `handle`. */
static void put_block(tn_buf *out, const char *key, const tn_buf *value, tn_buf *handle)
{
    size_t at = out->n;
    put_varint(out, 0);
    put_varint(out, strlen(key));
    put_varint(out, value->n);
    tn_buf_str(out, key);
    tn_buf_add(out, value->at, value->n);
    tn_buf_u32le(out, 0);
    tn_buf_u32le(out, 1);
    put_varint(handle, at);
    put_varint(handle, out->n - at);
    tn_buf_add(out, "\0\0\0\0\0", 5);
}

/* The table of a checkpoint that has one float32 [2] under this key. */
static tn_buf write_index(const char *key, bool sliced)
{
    tn_buf out = {0}, entry = {0}, dim = {0}, shape = {0}, first = {0}, last = {0}, none = {0};
    put_int(&entry, 1, 1);
    put_int(&dim, 1, 2);
    put_msg(&shape, 2, &dim);
    put_msg(&entry, 2, &shape);
    put_int(&entry, 5, 8);
    if (sliced)
        put_bytes(&entry, 7, "x", 1);
    put_block(&out, key, &entry, &first);
    put_block(&out, key, &first, &last);
    tn_buf_add(&none, last.at, last.n);
    while (none.n < 38)
        tn_buf_char(&none, 0);
    tn_buf_add(&out, "\0\0", 2);
    tn_buf_add(&out, none.at, 38);
    tn_buf_add(&out, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);
    tn_buf *const all[] = {&entry, &first, &last, &none};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tn_buf_deinit(all[i]);
    return out;
}

/* A SavedModel with a checkpoint, and what becomes of it. */
static char *saved_says(model *m, const char *graph, const tn_buf *index, const tn_buf *data)
{
    tn_buf model_bytes = write_graph(tn_arena_strdup(&m->arena, graph));
    assert_int_equal(system("mkdir -p tensorflow_checkpoint/variables"), 0);
    write_file("tensorflow_checkpoint/saved_model.pb", &model_bytes);
    write_file("tensorflow_checkpoint/variables/variables.index", index);
    write_file("tensorflow_checkpoint/variables/variables.data-00000-of-00000", data);
    tn_buf_deinit(&model_bytes);
    tn_status s = model_read(m, "tensorflow_checkpoint/saved_model.pb", NULL);
    assert_int_equal(s == TN_OK, m->ctx.n_error == 0);
    return tn_arena_printf(&m->arena, "%s%s", s == TN_OK ? model_text(m) : "", model_errors(m));
}

static char *checkpoint_says(model *m, const char *key, bool sliced, size_t cut, size_t data)
{
    const char graph[] =
        "v = VarHandleOp() dtype=float32 shape=<2> shared_name=\"other\"\n"
        "x = Placeholder() dtype=float32 shape=<2>\n"
        "y = PartitionedCall(x, v) f=@add Tout=[float32]\n"
        "z = StatefulPartitionedCall(v) f=@restore Tout=[float32]\n"
        "function add(a float32, w resource) -> s=sum:z:0\n"
        "r = ReadVariableOp(w) dtype=float32\n"
        "sum = AddV2(a, r:value:0)\n"
        "end\n"
        "function restore(w resource) -> s=restore:tensors:0\n"
        "names = Const() dtype=string value=string<1>[k]\n"
        "slices = Const() dtype=string value=string<1>[]\n"
        "file = Const() dtype=string value=string<>[x]\n"
        "restore = RestoreV2(file:output:0, names:output:0, slices:output:0) dtypes=[float32]\n"
        "set = AssignVariableOp(w, restore:tensors:0)\n"
        "end\n"
        "signature serving_default out y=y:0";
    static const float value[2] = {3, 5};
    tn_buf index = write_index(key, sliced), d = {0};
    index.n -= cut;
    tn_buf_add(&d, value, sizeof value);
    d.n = data;
    char *have = saved_says(m, graph, &index, &d);
    tn_buf_deinit(&index);
    tn_buf_deinit(&d);
    return have;
}

/* Variables that a run assigns are states; control edges say what is read before. */
static void assigned_variables_are_states(void **state)
{
    static const struct {
        const char *graph, *says;
    } row[] = {
        {"v = VarHandleOp() dtype=float32 shape=<2>\n"
         "x = Placeholder() dtype=float32 shape=<2>\n"
         "y = StatefulPartitionedCall(x, v) f=@step Tout=[float32,float32]\n"
         "function step(a float32, w resource) -> after=sum:z:0, before=r:value:0\n"
         "r = ReadVariableOp(w) dtype=float32\n"
         "sum = AddV2(a, r:value:0)\n"
         "set = AssignVariableOp(w, sum:z:0, ^r) dtype=float32\n"
         "end\n"
         "signature serving_default out after=y:0 before=y:1",
         "%0 = add(%x, %v) /* y/sum */;\n  (%0, %v, %0)"},
        {"v = VarHandleOp() dtype=float32 shape=<2>\n"
         "x = Placeholder() dtype=float32 shape=<2>\n"
         "p = Placeholder() dtype=bool shape=<>\n"
         "y = If(p, x, v) then_branch=@step else_branch=@stay Tout=[float32]\n"
         "r = ReadVariableOp(v, ^y) dtype=float32\n"
         "function step(a float32, w resource) -> r=a\n"
         "set = AssignAddVariableOp(w, a) dtype=float32\n"
         "end\n"
         "function stay(a float32, w resource) -> r=a\n"
         "end\n"
         "signature serving_default out now=r:0 y=y:0",
         "(%1.1, %1.0, %1.1)"},
        {"v = VariableV2() dtype=float32 shape=<2>\n"
         "x = Placeholder() dtype=float32 shape=<2>\n"
         "old = Identity(v)\n"
         "set = AssignSub(v, x, ^old)\n"
         "new = Identity(v, ^set)\n"
         "signature serving_default out a=old:0 b=new:0",
         "%0 = subtract(%v, %x) /* set */;\n  (%v, %0, %0)"},
        {"v = VariableV2() dtype=float32 shape=<2>\n"
         "x = Placeholder() dtype=float32 shape=<2>\n"
         "p = Placeholder() dtype=bool shape=<>\n"
         "s = Switch(x, p)\n"
         "set = AssignSub(v, s:1)\n"
         "m = Merge(s, set)\n"
         "signature serving_default out a=m:0",
         "[tensorflow-E020]"},
        {"v = VarHandleOp() dtype=float32 shape=<2>\n"
         "x = Placeholder() dtype=int32 shape=<1,1,1,1,1,1,1,1>\n"
         "c = Const() dtype=float32 value=float32<>[1]\n"
         "set = ResourceScatterAdd(v, x, c) dtype=float32\n"
         "r = ReadVariableOp(v, ^set) dtype=float32\n"
         "signature serving_default out a=r:0",
         "newshape has 9 dimensions; at most 8 are supported"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        static const float value[2] = {3, 5};
        model m;
        model_init(&m);
        tn_buf index = write_index("v", false), data = {0};
        tn_buf_add(&data, value, sizeof value);
        const char *have = saved_says(&m, row[i].graph, &index, &data);
        if (!strstr(have, row[i].says))
            fail_msg("row %zu: %s", i, have);
        tn_buf_deinit(&index);
        tn_buf_deinit(&data);
        model_deinit(&m);
    }
}

/* The model tells by which key it restores a variable. Lengths are checked. */
static void variables_are_read_from_checkpoints(void **state)
{
    static const struct {
        const char *key;
        bool sliced;
        size_t cut, data;
        const char *says;
    } row[] = {
        {"k", false, 0, 8, "add(%x, meta[relay.Constant][0] /* v (2) */) /* y/sum */"},
        {"other", false, 0, 8, "add(%x, meta[relay.Constant][0] /* v (2) */) /* y/sum */"},
        {"other/.ATTRIBUTES/VARIABLE_VALUE", false, 0, 8, "add("},
        {"nothing", false, 0, 8, "[tensorflow-E036]"},
        {"k", false, 4, 8, "[tensorflow-E033]"},
        {"k", true, 0, 8, "[tensorflow-E034]"},
        {"k", false, 0, 7, "[tensorflow-E012]"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        model m;
        model_init(&m);
        const char *have = checkpoint_says(&m, row[i].key, row[i].sliced, row[i].cut, row[i].data);
        if (!strstr(have, row[i].says))
            fail_msg("row %zu: %s", i, have);
        model_deinit(&m);
    }
}

/* Checkpoints of the first form, beside a .meta: the table's values as texts of SavedTensorSlices. */
#define META_OF(name, type) "1{ 1{ 1'" name "' 2{ 2{ 1:2 } } 3:" type " } } "
#define SLICE_OF(name, slice, data) "2{ 1'" name "' 2{ " slice "} 3{ " data " } }"
#define META(type) META_OF("v", type)
#define SLICE(slice, data) SLICE_OF("v", slice, data)

static tn_buf write_slices(const char *meta, const char *slice)
{
    tn_buf out = {0}, value[2] = {{0}}, handle[2] = {{0}}, top = {0}, none = {0};
    (void)pb_text(&value[0], meta);
    (void)pb_text(&value[1], slice);
    for (int i = 0; i < 2; i++)
        put_block(&out, i ? "key" : "", &value[i], &handle[i]);
    size_t at = out.n; /* the list of both blocks is a block, too */
    for (int i = 0; i < 2; i++) {
        put_varint(&out, 0);
        put_varint(&out, i ? 3 : 0);
        put_varint(&out, handle[i].n);
        tn_buf_str(&out, i ? "key" : "");
        tn_buf_add(&out, handle[i].at, handle[i].n);
    }
    tn_buf_u32le(&out, 0);
    tn_buf_u32le(&out, 1);
    put_varint(&top, at);
    put_varint(&top, out.n - at);
    tn_buf_add(&out, "\0\0\0\0\0", 5);
    tn_buf_add(&none, top.at, top.n);
    while (none.n < 38)
        tn_buf_char(&none, 0);
    tn_buf_add(&out, "\0\0", 2);
    tn_buf_add(&out, none.at, 38);
    tn_buf_add(&out, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);
    tn_buf *const all[] = {&value[0], &value[1], &handle[0], &handle[1], &top, &none};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tn_buf_deinit(all[i]);
    return out;
}

static void old_checkpoints_are_read(void **state)
{
    static const struct {
        const char *type, *meta, *slice;
        size_t cut;
        const char *says;
    } row[] = {
        {"DT_FLOAT", META("1"), SLICE("1{ } ", "5[3 5]"), 0, "add(%x, meta[relay.Constant][0] /* v (2) */)"},
        {"DT_FLOAT", META("1"), SLICE("", "5=3 5=5"), 0, "add(%x, meta[relay.Constant][0] /* v (2) */)"},
        {"DT_INT32", META("3"), SLICE("", "7(3 5)"), 0, "Constant][0] /* v (2) int32 */"},
        {"DT_FLOAT", META("1"), SLICE("1{ 2:1 } ", "5[3 5]"), 0, "[tensorflow-E034]"},
        {"DT_FLOAT", META("1"), SLICE("", "5[3]"), 0, "its dimensions need another number of elements"},
        {"DT_INT32", META("3"), SLICE("", "7(3)"), 0, "its dimensions need another number of elements"},
        {"DT_FLOAT", META("1"), "", 0, "its dimensions need another number of elements"},
        {"DT_FLOAT", META("1"), "2:5", 0, "an entry is damaged"},
        {"DT_FLOAT", META("1"), SLICE("", "5[3 5]"), 1, "it is no table of names, or it is cut short"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        model m;
        tn_buf text = {0}, table = write_slices(row[i].meta, row[i].slice);
        model_init(&m);
        for (const char *p =
                 "graph_def { node { name: \"v\" op: \"VarHandleOp\" attr { key: \"dtype\" value { type: ? } "
                 "} "
                 "attr { key: \"shape\" value { shape { dim { size: 2 } } } } } "
                 "node { name: \"r\" op: \"ReadVariableOp\" input: \"v\" attr { key: \"dtype\" value { type: "
                 "? } } } "
                 "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: ? } } "
                 "attr { key: \"shape\" value { shape { dim { size: 2 } } } } } "
                 "node { name: \"y\" op: \"AddV2\" input: \"x\" input: \"r\" attr { key: \"T\" value { type: "
                 "? } } } }";
             *p; p++)
            *p == '?' ? tn_buf_str(&text, row[i].type) : tn_buf_char(&text, *p);
        table.n -= row[i].cut;
        assert_int_equal(system("mkdir -p tensorflow_checkpoint"), 0);
        write_file("tensorflow_checkpoint/old.ckpt.meta", &text);
        write_file("tensorflow_checkpoint/old.ckpt", &table);
        tn_status s = model_read(&m, "tensorflow_checkpoint/old.ckpt.meta", NULL);
        const char *have = s == TN_OK ? model_text(&m) : model_errors(&m);
        if (!strstr(have, row[i].says))
            fail_msg("row %zu: %s", i, have);
        tn_buf_deinit(&text);
        tn_buf_deinit(&table);
        model_deinit(&m);
    }
}

/* One variable in each of two files; a Saver writes them, and says so by a node that nobody reads. */
static void old_checkpoints_lie_in_several_files(void **state)
{
#define FLOATS(attr) "attr { key: \"" attr "\" value { type: DT_FLOAT } } "
#define TWO_OF "attr { key: \"shape\" value { shape { dim { size: 2 } } } } "
    static const char graph[] = "graph_def { node { name: \"v\" op: \"VariableV2\" " FLOATS("dtype") TWO_OF
        "} "
        "node { name: \"w\" op: \"VariableV2\" " FLOATS("dtype") TWO_OF
        "} "
        "node { name: \"x\" op: \"Placeholder\" " FLOATS("dtype") TWO_OF
        "} "
        "node { name: \"s\" op: \"AddV2\" input: \"x\" input: \"v\" " FLOATS(
            "T") "} "
                 "node { name: \"y\" op: \"Mul\" input: \"s\" input: \"w\" " FLOATS(
                     "T") "} "
                          "node { name: \"save/Const\" op: \"Const\" attr { key: \"dtype\" value { type: "
                          "DT_STRING } } "
                          "attr { key: \"value\" value { tensor { dtype: DT_STRING tensor_shape { } "
                          "string_val: \"model\" } } } } "
                          "node { name: \"save/Save\" op: \"SaveSlices\" input: \"save/Const\" input: \"v\" "
                          "input: \"w\" } "
                          "node { name: \"save/control_dependency\" op: \"Identity\" input: \"save/Const\" "
                          "input: \"^save/Save\" } "
                          "node { name: \"save/Identity\" op: \"Identity\" input: "
                          "\"save/control_dependency\" } }";
    static const char *const says[][2] = {
        {"multiply(", "outputs = [\"y\"]"},
        {"shards.ckpt-00001-of-00002\" cannot be read: it is not there", "E033"},
        {"shards.ckpt-00001-of-00002\" cannot be read: it is no table", "E033"}};
    (void)state;
    for (int i = 0; i < 3; i++) {
        model m;
        tn_buf text = {0}, v = write_slices(META("1"), SLICE("", "5[3 5]")),
               w = write_slices(META_OF("w", "1"), SLICE_OF("w", "", "5[1 2]"));
        tn_buf_str(&text, graph);
        model_init(&m);
        assert_int_equal(system("mkdir -p tensorflow_checkpoint; rm -f tensorflow_checkpoint/shards*"), 0);
        write_file("tensorflow_checkpoint/shards.ckpt.meta", &text);
        write_file("tensorflow_checkpoint/shards.ckpt-00000-of-00002", &v);
        w.n -= i == 2;
        if (i != 1)
            write_file("tensorflow_checkpoint/shards.ckpt-00001-of-00002", &w);
        tn_status s = model_read(&m, "tensorflow_checkpoint/shards.ckpt.meta", NULL);
        const char *have = s == TN_OK ? model_text(&m) : model_errors(&m);
        for (int k = 0; k < 2; k++)
            if (!strstr(have, says[i][k]))
                fail_msg("row %d: no %s in %s", i, says[i][k], have);
        tn_buf_deinit(&text);
        tn_buf_deinit(&v);
        tn_buf_deinit(&w);
        model_deinit(&m);
    }
}

/* A MetaGraphDef is none of Caffe2's nets, which look alike. */
static void meta_graphs_are_known(void **state)
{
    tn_buf b = {0};
    (void)state;
    (void)pb_text(&b, "1{ } 2{ 1{ 1'v' 2'NoOp' } 4{ 1:134 } }");
    assert_string_equal(tn_format_sniff((const uint8_t *)b.at, b.n)->name, "pb");
    b.n = 0;
    (void)pb_text(&b, "1'net' 2{ 1'x' 2'y' 4'Relu' }");
    assert_string_equal(tn_format_sniff((const uint8_t *)b.at, b.n)->name, "caffe2");
    tn_buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_checkpoints_are_read),
        cmocka_unit_test(old_checkpoints_lie_in_several_files),
        cmocka_unit_test(meta_graphs_are_known),
        cmocka_unit_test(graphs_become_relay),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(calls_are_traced_once),
        cmocka_unit_test(sizes_must_fit),
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(variables_are_read_from_checkpoints),
        cmocka_unit_test(assigned_variables_are_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
