#ifndef TENON_TESTS_ONNX_NODES_H
#define TENON_TESTS_ONNX_NODES_H
/* The ONNX project's node tests, from the package onnx that tools/setup puts into build/conformance
 * (TENON_ONNX_NODES names their folder): those of one node over tensors of numbers, of at most NODES_BYTES. Operands
 * that a compiler likes to know (axes, pads, shapes) are inputs of these models; nodes_model makes them constants.
 * TENON_NODES=<text> takes only the tests whose names hold the text and says how each ended.
 * Include cmocka.h, onnx/model.h and onnx/write.h first. */
#include <dirent.h>

enum { NODES_MAX = 4000, NODES_VALUES = 16, NODES_BYTES = 26 * 1024, NODES_SKIPPED = 77 /* exit status */ };

typedef struct nodes {
    char *name[NODES_MAX]; /* in order */
    int n;
    const char *folder;
    bool all; /* no TENON_NODES */
} nodes;

static inline int nodes_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline bool nodes_installed(void)
{
    const char *folder = getenv("TENON_ONNX_NODES");
    DIR *d = folder ? opendir(folder) : NULL;
    if (!d)
        printf("skipped: the package onnx is not installed (tools/setup test)\n");
    else
        closedir(d);
    return d != NULL;
}

/* NULL: the package is not there. Memory is home's; it lives as long. */
static inline nodes *nodes_read(model *home)
{
    nodes *l = tn_arena_alloc(&home->arena, sizeof *l, _Alignof(nodes));
    const char *pick = getenv("TENON_NODES");
    l->folder = getenv("TENON_ONNX_NODES");
    DIR *d = l->folder ? opendir(l->folder) : NULL;
    if (!d)
        return NULL;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        /* left out: the functions that operators stand for, random results */
        if (e->d_name[0] == '.' || strstr(e->d_name, "_expanded") || strstr(e->d_name, "training_dropout") ||
            (pick && !strstr(e->d_name, pick)))
            continue;
        assert_true(l->n < NODES_MAX);
        l->name[l->n++] = (char *)(uintptr_t)tn_arena_strdup(&home->arena, e->d_name);
    }
    closedir(d);
    qsort(l->name, (size_t)l->n, sizeof *l->name, nodes_by_name);
    l->all = !pick;
    return l;
}

/* ---- one test ---- */

typedef struct node_test {
    tn_file file;
    onnx_model model;
    const onnx_node *node;
    int n_in, n_out;
    const char *in[NODES_VALUES]; /* names, which are unique, of the inputs */
    tn_file value[NODES_VALUES];  /* inputs, then expected outputs: TensorProto */
} node_test;

static inline bool nodes_slice_is(tn_bytes s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.at, text, s.n) == 0;
}

static inline bool nodes_numbers(const tn_pb_array *infos)
{
    const onnx_value_info *v = infos->at;
    for (size_t i = 0; i < infos->n; i++) {
        const onnx_tensor_type *t = v[i].type ? v[i].type->tensor_type : NULL;
        if (!t || t->elem_type < 1 || t->elem_type > 16 || t->elem_type == 8 || t->elem_type == 14 ||
            t->elem_type == 15) /* strings, complex numbers, numbers of a byte or less */
            return false;
    }
    return infos->n <= NODES_VALUES;
}

static inline int nodes_files(model *m, const char *folder, const char *what, tn_file v[], size_t *bytes)
{
    int n = 0;
    for (; n < NODES_VALUES; n++) {
        const char *path = tn_arena_printf(&m->arena, "%s/test_data_set_0/%s_%d.pb", folder, what, n);
        FILE *f = fopen(path, "rb");
        if (!f)
            break;
        fclose(f);
        v[n] = model_map(m, path);
        *bytes += v[n].n;
    }
    return n;
}

/* Is it a test that is taken here? What is left out is the judge's (tests/conformance): results that are not
 * determined, training, pictures. */
static inline bool nodes_open(model *m, const nodes *l, const char *name, node_test *t)
{
    static const char *const left_out[] = {"Bernoulli",     "RandomNormal",      "RandomNormalLike",
                                           "RandomUniform", "RandomUniformLike", "Multinomial",
                                           "ImageDecoder"};
    const char *folder = tn_arena_printf(&m->arena, "%s/%s", l->folder, name), *where;
    memset(t, 0, sizeof *t);
    t->file = model_map(m, tn_arena_printf(&m->arena, "%s/model.onnx", folder));
    if (tn_pb_read(&m->arena, &onnx_model_msg, t->file.at, t->file.n, NULL, &t->model, &where))
        fail_msg("%s: %s", name, where);
    const onnx_graph *g = t->model.graph;
    if (g->node.n != 1 || !nodes_numbers(&g->input) || !nodes_numbers(&g->output))
        return false;
    t->node = g->node.at;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (nodes_slice_is(t->node->op_type, left_out[i]))
            return false;
    size_t bytes = t->file.n;
    t->n_in = nodes_files(m, folder, "input", t->value, &bytes);
    t->n_out = nodes_files(m, folder, "output", t->value + t->n_in, &bytes);
    const onnx_value_info *info = g->input.at;
    for (int i = 0; i < t->n_in; i++)
        t->in[i] = tn_arena_strndup(&m->arena, (const char *)info[i].name.at, info[i].name.n);
    return t->node->domain.n == 0 && bytes <= NODES_BYTES;
}

/* Operands that a compiler likes to know, as bits; bit 0: the first. */
static inline uint32_t nodes_known(tn_bytes op)
{
    static const struct {
        const char *op;
        uint32_t operands;
    } known[] = {
        {"Reshape", 2},
        {"Expand", 2},
        {"Slice", 30},
        {"Squeeze", 2},
        {"Unsqueeze", 2},
        {"Pad", 14},
        {"Split", 2},
        {"ConstantOfShape", 1},
        {"Dropout", 6},
        {"Tile", 2},
        {"Range", 7},
        {"Resize", 14},
        {"Upsample", 2},
        {"TopK", 2},
        {"OneHot", 2},
        {"CumSum", 2},
        {"CumProd", 2},
        {"Trilu", 2},
        {"CenterCropPad", 2},
        {"AffineGrid", 2},
        {"Col2Im", 6},
        {"DFT", 6},
        {"STFT", 10},
        {"MelWeightMatrix", 31},
        {"HannWindow", 1},
        {"MaxUnpool", 4},
        {"HammingWindow", 1},
        {"BlackmanWindow", 1},
        {"NonMaxSuppression", 28},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (nodes_slice_is(op, known[i].op))
            return known[i].operands;
    return op.n > 6 && memcmp(op.at, "Reduce", 6) == 0 ? 2 : 0;
}

/* The inputs that are such operands, as bits. */
static inline uint32_t nodes_constants(const node_test *t)
{
    uint32_t known = nodes_known(t->node->op_type), inputs = 0;
    const tn_bytes *operand = t->node->input.at;
    for (size_t k = 0; k < t->node->input.n; k++)
        for (int i = 0; i < t->n_in; i++)
            if (known >> k & 1 && nodes_slice_is(operand[k], t->in[i]))
                inputs |= 1u << i;
    return inputs;
}

/* The model, whose inputs `constants` are initializers too, so constants: a message that is given again is merged. */
static inline tn_file nodes_model(model *m, const node_test *t, uint32_t constants)
{
    tn_buf whole = {0}, graph = {0};
    tn_buf_add(&whole, t->file.at, t->file.n);
    for (int i = 0; i < t->n_in; i++)
        if (constants >> i & 1) {
            tn_buf tensor = {0};
            tn_buf_add(&tensor, t->value[i].at, t->value[i].n);
            pb_text(&tensor, 8, t->in[i]);
            pb_message(&graph, 5, &tensor);
        }
    pb_message(&whole, 7, &graph);
    tn_file f = {tn_arena_copy(&m->arena, whole.at, whole.n, 8), whole.n, 0};
    tn_buf_deinit(&whole);
    return f;
}

/* The values of the inputs that are no constants; their number. */
static inline int nodes_inputs(model *m, const node_test *t, uint32_t constants, tn_tensor_value v[],
                               const char *name[])
{
    int n = 0;
    for (int i = 0; i < t->n_in; i++)
        if (!(constants >> i & 1)) {
            name[n] = t->in[i];
            v[n++] = read_tensor(m, t->value[i]);
        }
    return n;
}

/* The node tests' own tolerance is 1e-3, 1e-7; half floats are given a unit in their last place or two,
 * integers none. */
static inline const char *nodes_differ(model *m, const tn_tensor_value *have, const tn_tensor_value *want)
{
    if (!tn_dtype_is_float(want->dtype))
        return differs(m, have, want, 0, 0);
    if (want->dtype.code == TN_BFLOAT)
        return differs(m, have, want, 1.6e-2, 1e-2);
    return want->dtype.bits == 16 ? differs(m, have, want, 2e-3, 1e-3) : differs(m, have, want, 1e-3, 1e-6);
}

#endif
