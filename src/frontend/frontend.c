/* The table of model formats, and which one a file is. Content decides where it can (a suffix may lie), then
 * the suffix. */
#include "frontend/frontend.h"

#include "base/wire/pb.h"
#include "frontend/file_kind.h"
#include "frontend/import/zip.h"
#include "relay/relay.h"

#include <string.h>
#include <sys/stat.h>

/* ---- looking at content ---- */

/* The fields of a ModelProto in any order, a graph among them. */
static bool sniff_onnx(const uint8_t *at, size_t n)
{
    bool graph = false, version = false;
    tn_pb r = tn_pb_open(at, n);
    while (tn_pb_next(&r)) {
        if (r.field < 1 || r.field > 26)
            return false;
        version = version || (r.field == 1 && r.wire == TN_PB_VARINT);
        graph = graph || (r.field == 7 && r.wire == TN_PB_LEN);
    }
    return graph && version;
}

static bool begins(const uint8_t *at, size_t n, const char *text)
{
    return n >= strlen(text) && memcmp(at, text, strlen(text)) == 0;
}

static bool sniff_tflite(const uint8_t *at, size_t n) { return n >= 8 && memcmp(at + 4, "TFL3", 4) == 0; }

static bool sniff_relay(const uint8_t *at, size_t n)
{
    while (n && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) {
        at++;
        n--;
    }
    return begins(at, n, "#[version") || begins(at, n, "def @");
}

static bool holds(const uint8_t *at, size_t n, const char *text)
{
    return memmem(at, n, text, strlen(text)) != NULL;
}

/* An HDF5 file, an archive with one in it (its directory is at the end), or the JSON text of an architecture. */
static bool sniff_keras(const uint8_t *at, size_t n)
{
    enum { LOOKED_AT = 4096 };
    size_t k = n < LOOKED_AT ? n : LOOKED_AT;
    if (begins(at, n, "\x89HDF\r\n\x1a\n"))
        return true;
    if (begins(at, n, "PK\3\4"))
        return holds(at + n - k, k, "model.weights.h5") && holds(at + n - k, k, "config.json");
    while (k && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) {
        at++;
        k--;
    }
    return k && *at == '{' && holds(at, k, "\"class_name\"") && holds(at, k, "\"config\"") &&
           holds(at, k, "\"layers\"");
}

/* A symbol's JSON, or the parameters beside it. */
static bool sniff_mxnet(const uint8_t *at, size_t n)
{
    enum { LOOKED_AT = 1 << 16 };
    size_t head = n < LOOKED_AT ? n : LOOKED_AT;
    if (begins(at, n, "\x12\1\0\0\0\0\0\0") && n >= 24)
        return true;
    const char *op = n && *at == '{' ? memmem(at, head, "\"op\"", 4) : NULL;
    return op && memmem(at, head, "\"nodes\"", 7) && !memmem(at, head, "tvm_op", 6);
}

/* A configuration; weights are told by their name alone. */
static bool sniff_darknet(const uint8_t *at, size_t n)
{
    for (const uint8_t *end = at + n; at < end; at++) {
        if (*at == '#' || *at == ';') /* a comment */
            while (at + 1 < end && *at != '\n')
                at++;
        else if (*at != ' ' && *at != '\n' && *at != '\t' && *at != '\r')
            return begins(at, (size_t)(end - at), "[net]") || begins(at, (size_t)(end - at), "[network]");
    }
    return false;
}

/* TorchScript, or a program of torch.export. */
static bool sniff_pytorch(const uint8_t *at, size_t n)
{
    return imp_zip_holds(at, n, "/constants.pkl") || imp_zip_holds(at, n, "/models/model.json");
}

/* Files of Caffe are told by their names alone. */
static bool sniff_nothing(const uint8_t *at, size_t n)
{
    (void)at;
    return n == SIZE_MAX;
}

/* ---- Relay text ---- */

static tn_status import_relay(tn_graph *g, const char *path, const tn_file *file, const tn_import_options *o)
{
    if (o && o->n_shape)
        return tn_error(g->ctx, "frontend-E003", &(tn_loc){.file = path},
                        "--input-shapes does not apply to Relay text; change the shapes in the text");
    return tn_relay_parse(g, path, (const char *)file->at, file->n, o ? o->constant : NULL,
                          o ? o->n_constant : 0);
}

/* ---- the table ---- */

#define MODEL(what) {TN_FILE_KIND_MODEL, what, NULL}
#define SUFFIX(...) ((const char *const[]){__VA_ARGS__, NULL})
#define INSIDE(...) SUFFIX(__VA_ARGS__)

const tn_format tn_formats[] = {
    {"onnx", "ONNX", MODEL("an ONNX model"), false, SUFFIX(".onnx"), INSIDE("model.onnx"), sniff_onnx,
     tn_import_onnx},
    {"tflite", "TFLite", MODEL("a TFLite model"), false, SUFFIX(".tflite"), NULL, sniff_tflite,
     tn_import_tflite},
    {"pb", "TensorFlow", MODEL("a TensorFlow model"), false, SUFFIX(".pb", ".meta"), INSIDE("saved_model.pb"),
     tn_sniff_tensorflow, tn_import_tensorflow},
    {"keras", "Keras", MODEL("a Keras model"), false, SUFFIX(".keras", ".h5", ".hdf5"), NULL, sniff_keras,
     tn_import_keras},
    {"mxnet", "MXNet", MODEL("an MXNet model"), false, SUFFIX("-symbol.json"), NULL, sniff_mxnet,
     tn_import_mxnet},
    {"darknet", "Darknet", MODEL("a Darknet model"), true, SUFFIX(".cfg", ".weights"), NULL, sniff_darknet,
     tn_import_darknet},
    {"pytorch", "PyTorch", MODEL("a PyTorch model"), false, SUFFIX(".pt", ".pt2", ".jit"), NULL,
     sniff_pytorch, tn_import_pytorch},
    {"caffe", "Caffe", MODEL("a Caffe model"), true, SUFFIX(".prototxt", ".caffemodel"), NULL, sniff_nothing,
     tn_import_caffe},
    {"relay", "Relay text", MODEL("a Relay text"), true, SUFFIX(".relay"), NULL, sniff_relay, import_relay},
};
const size_t tn_n_formats = sizeof tn_formats / sizeof *tn_formats;

const tn_format *tn_format_find(const char *name)
{
    for (size_t i = 0; i < tn_n_formats; i++)
        if (strcmp(tn_formats[i].name, name) == 0)
            return &tn_formats[i];
    return NULL;
}

/* Is there a file or folder of this name? */
static bool exists(const char *path, bool *out_folder)
{
    struct stat st;
    bool found = stat(path, &st) == 0;
    *out_folder = found && S_ISDIR(st.st_mode);
    return found;
}

const tn_format *tn_format_of_folder(tn_ctx *ctx, const char *path, const char **out_file)
{
    bool folder;
    if (!exists(path, &folder) || !folder)
        return NULL;
    for (size_t i = 0; i < tn_n_formats; i++)
        for (const char *const *f = tn_formats[i].inside; f && *f; f++) {
            *out_file = tn_arena_printf(&ctx->arena, "%s/%s", path, *f);
            if (exists(*out_file, &folder) && !folder)
                return &tn_formats[i];
        }
    return NULL;
}

static bool has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), k = strlen(suffix);
    for (size_t i = 0; n >= k && i < k; i++) {
        char ch = path[n - k + i];
        if ((ch >= 'A' && ch <= 'Z' ? ch + ('a' - 'A') : ch) != suffix[i])
            return false;
    }
    return n >= k;
}

const tn_format *tn_format_sniff(const uint8_t *at, size_t n)
{
    for (size_t i = 0; i < tn_n_formats; i++)
        if (tn_formats[i].sniff(at, n))
            return &tn_formats[i];
    return NULL;
}

const tn_format *tn_format_guess(const char *path, const tn_file *file)
{
    const tn_format *seen = file ? tn_format_sniff(file->at, file->n) : NULL;
    if (seen)
        return seen;
    for (size_t i = 0; i < tn_n_formats; i++)
        for (const char *const *s = tn_formats[i].suffix; *s; s++)
            if (has_suffix(path, *s))
                return &tn_formats[i];
    return NULL;
}

static tn_status unknown_format(tn_graph *g, const char *path, const char *format)
{
    const tn_loc loc = {.file = path};
    tn_buf known = {0};
    for (size_t i = 0; i < tn_n_formats; i++)
        tn_buf_printf(&known, "%s%s", known.n ? ", " : "", tn_formats[i].name);
    tn_status s =
        format ? tn_error(g->ctx, "frontend-E001", &loc, "unknown model format \"%s\"; choose from %s",
                          format, tn_buf_cstr(&known))
               : tn_error(g->ctx, "frontend-E001", &loc,
                          "neither its content nor its name tells the format of this file; if it is a model, "
                          "name its format with --model-format (%s)",
                          tn_buf_cstr(&known));
    tn_buf_deinit(&known);
    return s;
}

/* A file that is known to be another thing than a model, whatever it is called. A text may still be one that is named
 * as a format by the user. */
static tn_status refuse_kind(tn_graph *g, const char *path, const tn_file *file, const char *format)
{
    const tn_file_kind *k =
        tn_format_sniff(file->at, file->n) ? NULL : tn_file_kind_of(path, file->at, file->n);
    if (!k || k->role == TN_FILE_KIND_MODEL || (format && k->role == TN_FILE_KIND_TEXT))
        return TN_OK;
    return tn_error(g->ctx, "frontend-E002", &(tn_loc){.file = path}, "this is %s, not %s; %s", k->what,
                    tn_file_kind_wanted(k), k->advice);
}

static tn_status import_with(tn_graph *g, const tn_format *f, const char *path, const tn_file *file,
                             const tn_import_options *o)
{
    g->settles = true;
    TN_TRY(f->import(g, path, file, o));
    return tn_relay_settle(g);
}

static void empty_graph(tn_graph *g)
{
    const tn_graph old = *g;
    tn_graph_deinit(g);
    tn_graph_init(g, old.ctx, old.arena, old.pool);
}

/* Reads the model once more with symbols that begin at 0. If an operator refuses that, they begin at 1 after all, and a
 * run says that 0 is too small. */
static tn_status import_from_zero(tn_graph *g, const tn_format *f, const char *path, const tn_file *file,
                                  const tn_import_options *o, const char *const *symbol, size_t n)
{
    tn_import_options zero = o ? *o : (tn_import_options){0};
    size_t n_diag = g->ctx->n_diag;
    zero.from_zero = symbol;
    zero.n_from_zero = n;
    empty_graph(g);
    if (import_with(g, f, path, file, &zero) == TN_OK)
        return TN_OK;
    tn_diag_rewind(g->ctx, n_diag);
    empty_graph(g);
    return import_with(g, f, path, file, o);
}

tn_status tn_import(tn_graph *g, const char *path, const tn_file *file, const char *format,
                    const tn_import_options *o)
{
    const char **symbol;
    const char *inside = path;
    const tn_format *of_folder = tn_format_of_folder(g->ctx, path, &inside);
    path = inside;
    if (!of_folder)
        TN_TRY(refuse_kind(g, path, file, format));
    const tn_format *f = format      ? tn_format_find(format)
                         : of_folder ? of_folder
                                     : tn_format_guess(path, file);
    if (!f)
        return unknown_format(g, path, format);
    TN_TRY(import_with(g, f, path, file, o));
    size_t n =
        f->import == import_relay ? 0 : tn_find_zero_symbols(g, &symbol); /* a text declares its ranges */
    return n ? import_from_zero(g, f, path, file, o, symbol, n) : TN_OK;
}

tn_status tn_import_map(tn_ctx *ctx, const char *path, tn_file *out_file)
{
    bool folder;
    const char *inside = path;
    if (!exists(path, &folder) || !folder || tn_format_of_folder(ctx, path, &inside))
        return tn_file_map(ctx, inside, out_file);
    const tn_file_kind *k = tn_file_kind_of_folder(path);
    return tn_error(ctx, "frontend-E002", &(tn_loc){.file = path}, "this is %s, not %s; %s", k->what,
                    tn_file_kind_wanted(k), k->advice);
}
