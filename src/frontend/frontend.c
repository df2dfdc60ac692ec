/* The table of model formats, and which one a file is. Content decides where it can (a suffix may lie), then
 * the suffix. */
#include "frontend/frontend.h"

#include "frontend/file_kind.h"
#include "relay/relay.h"

#include <string.h>
#include <sys/stat.h>

/* ---- the table ---- */

#define MODEL(what) {TN_FILE_KIND_MODEL, what, NULL}
#define SUFFIX(...) ((const char *const[]){__VA_ARGS__, NULL})
#define INSIDE(...) SUFFIX(__VA_ARGS__)

const tn_format tn_formats[] = {
    {"onnx", "ONNX", MODEL("an ONNX model"), false, SUFFIX(".onnx"), INSIDE("model.onnx"), tn_sniff_onnx,
     tn_import_onnx},
    {"tflite", "TFLite", MODEL("a TFLite model"), false, SUFFIX(".tflite"), NULL, tn_sniff_tflite,
     tn_import_tflite},
    {"caffe2", "Caffe2", MODEL("a Caffe2 model"), false, SUFFIX("predict_net.pb", "init_net.pb"),
     INSIDE("predict_net.pb"), tn_sniff_caffe2, tn_import_caffe2},
    {"pb", "TensorFlow", MODEL("a TensorFlow model"), false, SUFFIX(".pb", ".pbtxt", ".meta"),
     INSIDE("saved_model.pb", "saved_model.pbtxt"), tn_sniff_tensorflow, tn_import_tensorflow},
    {"keras", "Keras", MODEL("a Keras model"), false, SUFFIX(".keras", ".h5", ".hdf5"), NULL, tn_sniff_keras,
     tn_import_keras},
    {"mxnet", "MXNet", MODEL("an MXNet model"), false, SUFFIX("-symbol.json"), NULL, tn_sniff_mxnet,
     tn_import_mxnet},
    {"darknet", "Darknet", MODEL("a Darknet model"), true, SUFFIX(".cfg", ".weights"), NULL, tn_sniff_darknet,
     tn_import_darknet},
    {"pytorch", "PyTorch", MODEL("a PyTorch model"), false,
     SUFFIX(".pt", ".pth", ".pt2", ".jit", ".safetensors"), NULL, tn_sniff_pytorch, tn_import_pytorch},
    {"coreml", "Core ML", MODEL("a Core ML model"), false, SUFFIX(".mlmodel"),
     INSIDE("Data/com.apple.CoreML/model.mlmodel"), tn_sniff_coreml, tn_import_coreml},
    {"paddle", "PaddlePaddle", MODEL("a PaddlePaddle model"), false, SUFFIX(".pdmodel", ".pdiparams"),
     INSIDE("__model__", "inference.pdmodel", "inference.json", "model.pdmodel"), tn_sniff_paddle,
     tn_import_paddle},
    {"caffe", "Caffe", MODEL("a Caffe model"), true, SUFFIX(".prototxt", ".caffemodel"), NULL, NULL,
     tn_import_caffe},
    {"relay", "Relay text", MODEL("a Relay text"), true, SUFFIX(".relay"), NULL, tn_sniff_relay,
     tn_import_relay},
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
        if (tn_formats[i].sniff && tn_formats[i].sniff(at, n))
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

/* What to do about a model that is refused for a reason that says nothing of it. */
static const char *advice_for(const tn_format *f, const tn_import_options *o)
{
    return o && o->n_shape
               ? "check --input-shapes, or report this if the model runs elsewhere with these shapes"
           : f->text ? "correct it, or report this if the network runs elsewhere"
                     : "export the model again, or report this if it runs elsewhere";
}

static tn_status import_with(tn_graph *g, const tn_format *f, const char *path, const tn_file *file,
                             const tn_import_options *o)
{
    const size_t said = g->ctx->n_diag;
    g->settles = true;
    tn_status s = f->import(g, path, file, o);
    s = s == TN_OK ? tn_relay_settle(g) : s;
    if (f->import != tn_import_relay) /* whose messages are those of a compiler about a text */
        tn_diag_advise(g->ctx, said, advice_for(f, o));
    return s;
}

void tn_import_clear(tn_graph *g)
{
    const tn_graph old = *g;
    tn_graph_deinit(g);
    tn_graph_init(g, old.ctx, old.arena, old.pool);
    g->settles = old.settles;
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
    tn_import_clear(g);
    if (import_with(g, f, path, file, &zero) == TN_OK)
        return TN_OK;
    tn_diag_rewind(g->ctx, n_diag);
    tn_import_clear(g);
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
    if (o && o->architecture && f->import != tn_import_pytorch)
        return tn_error(
            g->ctx, "pytorch-E061", &(tn_loc){.file = path},
            "--architecture is for files of weights, but this model has a graph of its own; leave the "
            "option out");
    TN_TRY(import_with(g, f, path, file, o));
    size_t n =
        f->import == tn_import_relay ? 0 : tn_find_zero_symbols(g, &symbol); /* a text declares its ranges */
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
