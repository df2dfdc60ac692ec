/* The table of model formats, and which one a file is. Content decides where it can (a suffix may lie), then
 * the suffix. */
#include "frontend/frontend.h"

#include "base/wire/pb.h"
#include "relay/relay.h"

#include <string.h>

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

static bool sniff_relay(const uint8_t *at, size_t n)
{
    while (n && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) {
        at++;
        n--;
    }
    return begins(at, n, "#[version") || begins(at, n, "def @");
}

static bool sniff_tflite(const uint8_t *at, size_t n)
{
    return n >= 8 && memcmp(at + 4, "TFL3", 4) == 0;
}

static bool sniff_hdf5(const uint8_t *at, size_t n)
{
    return begins(at, n, "\x89HDF\r\n\x1a\n");
}

/* ---- Relay text ---- */

static tn_status import_relay(tn_graph *g, const char *path, const tn_file *file, const tn_import_options *o)
{
    if (o && o->n_shape)
        return tn_error(g->ctx, "frontend-E003", &(tn_loc){.file = path},
                        "--input-shapes does not apply to Relay text; change the shapes in the text");
    return tn_relay_parse(g, path, (const char *)file->at, file->n, o ? o->constant : NULL, o ? o->n_constant : 0);
}

/* ---- the table ---- */

#define SUFFIX(...) ((const char *const[]){__VA_ARGS__, NULL})

// clang-format off
const tn_format tn_formats[] = {
    {"onnx",       "ONNX",       SUFFIX(".onnx"),                               sniff_onnx,   tn_import_onnx},
    {"relay",      "Relay text", SUFFIX(".relay"),                              sniff_relay,  import_relay},
    {"tflite",     "TFLite",     SUFFIX(".tflite"),                             sniff_tflite, NULL},
    {"keras",      "Keras",      SUFFIX(".keras", ".h5", ".hdf5"),              sniff_hdf5,   NULL},
    {"pb",         "TensorFlow", SUFFIX(".pb"),                                 NULL,         NULL},
    {"pytorch",    "PyTorch",    SUFFIX(".pth", ".pt", ".pt2"),                 NULL,         NULL},
    {"mxnet",      "MXNet",      SUFFIX("-symbol.json"),                        NULL,         NULL},
    {"paddle",     "Paddle",     SUFFIX(".pdmodel"),                            NULL,         NULL},
    {"coreml",     "Core ML",    SUFFIX(".mlmodel"),                            NULL,         NULL},
    {"caffe",      "Caffe",      SUFFIX(".prototxt", ".caffemodel"),            NULL,         NULL},
    {"darknet",    "Darknet",    SUFFIX(".cfg", ".weights"),                    NULL,         NULL},
};
// clang-format on
const size_t tn_n_formats = sizeof tn_formats / sizeof *tn_formats;

const tn_format *tn_format_find(const char *name)
{
    for (size_t i = 0; i < tn_n_formats; i++)
        if (strcmp(tn_formats[i].name, name) == 0)
            return &tn_formats[i];
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

const tn_format *tn_format_guess(const char *path, const tn_file *file)
{
    for (size_t i = 0; file && i < tn_n_formats; i++)
        if (tn_formats[i].sniff && tn_formats[i].sniff(file->at, file->n))
            return &tn_formats[i];
    for (size_t i = 0; i < tn_n_formats; i++)
        for (const char *const *s = tn_formats[i].suffix; *s; s++)
            if (has_suffix(path, *s))
                return &tn_formats[i];
    return NULL;
}

static tn_status unknown_format(tn_graph *g, const char *path, const char *format)
{
    tn_buf known = {0};
    for (size_t i = 0; i < tn_n_formats; i++)
        if (tn_formats[i].import)
            tn_buf_printf(&known, "%s%s", known.n ? ", " : "", tn_formats[i].name);
    tn_status s =
        format ? tn_error(g->ctx, "frontend-E001", &(tn_loc){.file = path},
                          "model format \"%s\" is not known; %s can be read", format, tn_buf_cstr(&known))
               : tn_error(g->ctx, "frontend-E001", &(tn_loc){.file = path},
                          "cannot tell the model's format from its content or its name; name it with "
                          "--model-format (%s)",
                          tn_buf_cstr(&known));
    tn_buf_deinit(&known);
    return s;
}

tn_status tn_import(tn_graph *g, const char *path, const tn_file *file, const char *format, const tn_import_options *o)
{
    const tn_format *f = format ? tn_format_find(format) : tn_format_guess(path, file);
    if (!f)
        return unknown_format(g, path, format);
    if (!f->import)
        return tn_error(g->ctx, "frontend-E002", &(tn_loc){.file = path},
                        "%s models cannot be read yet; export the model to ONNX", f->title);
    g->settles = true;
    TN_TRY(f->import(g, path, file, o));
    return tn_relay_settle(g);
}
