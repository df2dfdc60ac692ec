/* What a model says of itself: its description, the version of the runtime that it needs, its metadata (a FlatBuffer in
 * a buffer, https://ai.google.dev/edge/litert/models/metadata) and the files of labels in the zip archive that may lie
 * behind it; and its signatures, which name inputs and outputs. */
#include "frontend/import/zip.h"
#include "frontend/tflite/tflite.h"

#include "base/utf8.h"

#include <string.h>

enum { MODEL_DESCRIPTION = 3, MODEL_METADATA = 6, MODEL_SIGNATURES = 7 };
enum { ENTRY_NAME, ENTRY_BUFFER };
enum { META_NAME, META_DESCRIPTION, META_VERSION, META_GRAPHS, META_AUTHOR, META_LICENSE, META_FILES };
enum { GRAPH_INPUTS = 2, GRAPH_OUTPUTS = 3 };
enum { TENSOR_NAME, TENSOR_DESCRIPTION, TENSOR_FILES = 6 };
enum { FILE_NAME, FILE_DESCRIPTION };
enum { SIGNATURE_INPUTS, SIGNATURE_OUTPUTS, SIGNATURE_KEY, SIGNATURE_GRAPH = 4 };
enum { MAP_NAME, MAP_TENSOR };
enum { MAX_LABELS = 1 << 20, MAX_ENTRIES = 4096 };

static void add(tfl_import *o, const char *key, tn_bytes value)
{
    imp_model *im = &o->im;
    const char *end = value.n ? memchr(value.at, 0, value.n) : NULL;
    if (end)
        value.n = (size_t)(end - (const char *)value.at);
    if (value.n && im->g->metadata.n < MAX_ENTRIES)
        tn_vec_push(&im->g->metadata, ((tn_metadata){tn_intern(im->g->ctx, key), imp_text(im, value)}));
}

static const char *key_of(tfl_import *o, const char *what, tn_bytes name, const char *part)
{
    return tn_arena_printf(&o->im.scratch, "%s%s%s", what, imp_text(&o->im, name), part);
}

/* ---- files of labels ---- */

static bool is_text(const char *s, size_t n)
{
    for (size_t i = 0, k; i < n; i += k) {
        bool blank = s[i] == '\n' || s[i] == '\r' || s[i] == '\t';
        k = blank ? 1 : tn_utf8_shown(s + i);
        if (!k)
            return false;
    }
    return true;
}

/* Lines of a text; of a file that is no text, or too long: nothing. */
static void add_labels(tfl_import *o, imp_zip *zip, tn_bytes file, const char *key)
{
    const char *name = tn_arena_strndup(&o->im.scratch, (const char *)file.at, file.n);
    const imp_zip_entry *e = zip->entry ? imp_zip_find(zip, name) : NULL;
    tn_bytes text = {0};
    if (!e || e->bytes > MAX_LABELS || imp_zip_read(&o->im.scratch, zip, e, &text) || !text.n)
        return;
    const char *lines = tn_arena_strndup(&o->im.scratch, (const char *)text.at, text.n);
    if (is_text(lines, text.n))
        tn_vec_push(&o->im.g->metadata,
                    ((tn_metadata){tn_intern(o->im.g->ctx, key), tn_intern_n(o->im.g->ctx, lines, text.n)}));
}

static void read_files(tfl_import *o, const tn_flat_table *t, uint32_t slot, imp_zip *zip)
{
    tn_flat_vector files = tn_flat_list(t, slot, 4);
    for (uint32_t i = 0; i < files.n && i < MAX_ENTRIES; i++) {
        tn_flat_table f = tn_flat_table_at(&files, i);
        tn_bytes name = tn_flat_text(&f, FILE_NAME);
        add(o, key_of(o, "file.", name, ".description"), tn_flat_text(&f, FILE_DESCRIPTION));
        add_labels(o, zip, name, key_of(o, "file.", name, ""));
    }
}

/* ---- the metadata ---- */

static void read_tensors(tfl_import *o, const tn_flat_table *graph, bool outputs, const tfl_graph *g,
                         imp_zip *zip)
{
    tn_flat_vector v = tn_flat_list(graph, outputs ? GRAPH_OUTPUTS : GRAPH_INPUTS, 4);
    const char *what = outputs ? "output." : "input.";
    uint32_t n = outputs ? g->n_out : g->n_in;
    const int32_t *at = outputs ? g->out : g->in;
    for (uint32_t i = 0; i < v.n && i < n; i++) {
        tn_flat_table t = tn_flat_table_at(&v, i);
        tn_bytes name = at[i] < 0 ? (tn_bytes){0} : g->tensor[at[i]].name;
        add(o, key_of(o, what, name, ".name"), tn_flat_text(&t, TENSOR_NAME));
        add(o, key_of(o, what, name, ".description"), tn_flat_text(&t, TENSOR_DESCRIPTION));
        read_files(o, &t, TENSOR_FILES, zip);
    }
}

/* A FlatBuffer of its own. What is damaged in it is left out: it says nothing of what the model computes. */
static void read_model_metadata(tfl_import *o, tn_bytes data, const tfl_graph *g, imp_zip *zip)
{
    static const struct {
        uint32_t slot;
        const char *key;
    } texts[] = {{META_NAME, "name"},
                 {META_DESCRIPTION, "metadata.description"},
                 {META_VERSION, "version"},
                 {META_AUTHOR, "author"},
                 {META_LICENSE, "license"}};
    tn_flatbuf buf = {data.at, data.n, false};
    tn_flat_table root = tn_flat_root(&buf);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        add(o, texts[i].key, tn_flat_text(&root, texts[i].slot));
    read_files(o, &root, META_FILES, zip);
    tn_flat_vector graphs = tn_flat_list(&root, META_GRAPHS, 4);
    tn_flat_table first = tn_flat_table_at(&graphs, 0);
    for (int outputs = 0; outputs < 2 && graphs.n; outputs++)
        read_tensors(o, &first, outputs, g, zip);
}

void tfl_read_metadata(tfl_import *o, const tfl_graph *g)
{
    tn_flat_vector list = tn_flat_list(&o->model, MODEL_METADATA, 4);
    imp_zip zip = {0};
    tn_bytes whole = {o->buf.at, o->buf.n};
    add(o, "description", tn_flat_text(&o->model, MODEL_DESCRIPTION));
    for (uint32_t i = 0; i < list.n && i < MAX_ENTRIES; i++) {
        tn_flat_table t = tn_flat_table_at(&list, i);
        tn_bytes name = tn_flat_text(&t, ENTRY_NAME),
                 data = tfl_buffer(o, (uint32_t)tn_flat_int(&t, ENTRY_BUFFER, 4, false, 0));
        if (imp_is(name, "min_runtime_version")) {
            add(o, "min_runtime_version", data);
        } else if (imp_is(name, "TFLITE_METADATA")) {
            if (imp_zip_open(&o->im.scratch, whole, &zip))
                zip.entry = NULL; /* no archive lies behind the model, or a damaged one */
            read_model_metadata(o, data, g, &zip);
            imp_zip_close(&zip);
        }
    }
}

/* ---- signatures ---- */

static tn_flat_table signature_at(tfl_import *o, uint32_t i, tn_bytes *out_key, uint32_t *out_graph)
{
    tn_flat_vector list = tn_flat_list(&o->model, MODEL_SIGNATURES, 4);
    tn_flat_table t = tn_flat_table_at(&list, i);
    *out_key = tn_flat_text(&t, SIGNATURE_KEY);
    *out_graph = (uint32_t)tn_flat_int(&t, SIGNATURE_GRAPH, 4, false, 0);
    return t;
}

static const char *signature_names(tfl_import *o)
{
    uint32_t n = tn_flat_list(&o->model, MODEL_SIGNATURES, 4).n, graph;
    tn_buf names = {0};
    for (uint32_t i = 0; i < n && i < MAX_ENTRIES; i++) {
        tn_bytes key;
        (void)signature_at(o, i, &key, &graph);
        tn_buf_printf(&names, "%s%s", i ? ", " : "", imp_text(&o->im, key));
    }
    const char *all = tn_arena_strdup(&o->im.scratch, tn_buf_cstr(&names));
    tn_buf_deinit(&names);
    return all;
}

static void no_signature(tfl_import *o, const char *name)
{
    const char *names = signature_names(o);
    (void)imp_error(&o->im, IMP_UNKNOWN_NAME, imp_make_loc(&o->im, NULL, NULL),
                    "--signature %s: the model has %s", name, *names ? names : "no signatures");
}

static void tell_signatures(tfl_import *o, const tn_flat_table *chosen)
{
    const char *names = signature_names(o);
    add(o, "signatures", (tn_bytes){(const uint8_t *)names, strlen(names)});
    if (chosen)
        add(o, "signature", tn_flat_text(chosen, SIGNATURE_KEY));
}

/* The signature that the user chose, or the first one of the first graph; false: there is none, reported if chosen. */
static bool choose(tfl_import *o, tn_flat_table *out, uint32_t *out_graph)
{
    const tn_import_options *p = o->im.options;
    const char *want = p ? p->signature : NULL;
    uint32_t n = tn_flat_list(&o->model, MODEL_SIGNATURES, 4).n;
    for (uint32_t i = 0; i < n && i < MAX_ENTRIES; i++) {
        tn_bytes key;
        *out = signature_at(o, i, &key, out_graph);
        if (want ? imp_is(key, want) : *out_graph == 0)
            return true;
    }
    if (want)
        no_signature(o, want);
    *out_graph = 0;
    return false;
}

static bool is_taken(const tfl_graph *g, tn_bytes name)
{
    for (uint32_t i = 0; i < g->n_tensor; i++)
        if (imp_same(g->tensor[i].name, name))
            return true;
    return false;
}

/* Names of TensorFlow's graphs ("serving_default_x:0", "StatefulPartitionedCall:1") say less than the signature's. */
static void rename_tensors(tfl_graph *g, const tn_flat_table *t, uint32_t slot, bool chosen)
{
    tn_flat_vector list = tn_flat_list(t, slot, 4);
    for (uint32_t i = 0; i < list.n && i < MAX_ENTRIES; i++) {
        tn_flat_table map = tn_flat_table_at(&list, i);
        uint64_t at = (uint64_t)tn_flat_int(&map, MAP_TENSOR, 4, false, 0);
        tn_bytes name = tn_flat_text(&map, MAP_NAME);
        bool generated = at < g->n_tensor && g->tensor[at].name.n &&
                         memchr(g->tensor[at].name.at, ':', g->tensor[at].name.n);
        if (name.n && at < g->n_tensor && (chosen || generated) && !is_taken(g, name))
            ((tfl_tensor *)g->tensor)[at].name = name;
    }
}

const tfl_graph *tfl_read_main(tfl_import *o)
{
    tn_flat_table t;
    uint32_t graph = 0;
    bool chosen = o->im.options && o->im.options->signature, has = choose(o, &t, &graph);
    if (chosen && !has)
        return NULL;
    if (graph >= o->graphs.n) {
        (void)imp_error(&o->im, IMP_BAD_TENSOR, imp_make_loc(&o->im, NULL, NULL),
                        "a signature is of graph %u, which does not exist; the model is damaged",
                        (unsigned)graph);
        return NULL;
    }
    const tfl_graph *g = tfl_read_graph(o, graph);
    tell_signatures(o, has ? &t : NULL);
    for (uint32_t slot = SIGNATURE_INPUTS; slot <= SIGNATURE_OUTPUTS && g && has; slot++)
        rename_tensors((tfl_graph *)g, &t, slot, chosen);
    return g;
}
