#ifndef TN_FRONTEND_FRONTEND_H
#define TN_FRONTEND_FRONTEND_H
/* Model files -> Relay. Each format is one folder and one row of the table in frontend.c; a reader sees bytes only and
 * never needs the framework that wrote them. An imported module has @main, and a function for the
 * first contents of each state that does not begin with zeros. */
#include "base/file.h"
#include "frontend/file_kind.h"
#include "ir/graph.h"

/* What is known of a symbolic dimension: its range, max 0: not given; sizes that kernels have variants for. */
typedef struct tn_input_sizes {
    int64_t min, max;
    tn_ints point;
} tn_input_sizes;

typedef struct
    tn_input_shape { /* replaces the shape of one model input, and says its type where the model does not */
    const char *name;
    uint32_t ndim;
    const int64_t *dim; /* <= 0: a symbol */
    /* names of symbols, equal ones for one; NULL: all are fresh, an entry NULL: this one is */
    const char *const *symbol;
    const tn_input_sizes *sizes; /* for each dimension that is a symbol; NULL: nothing is known */
    tn_dtype dtype;              /* bits 0: not told */
} tn_input_shape;

typedef struct tn_import_options {
    const tn_input_shape *shape;
    size_t n_shape;
    const tn_blob *const
        *constant; /* of a Relay text: from the .params file beside it, by index; NULL: none there */
    size_t n_constant;
    const struct tn_relay_param *param; /* parameters of a Relay text that have values there, by name */
    size_t n_param;
    const char *const *from_zero; /* symbols whose range begins at 0; all others begin at 1 */
    size_t n_from_zero;
    const char *const *output; /* values that become the results; n_output 0: those that the model says */
    size_t n_output;
    const char *signature;    /* NULL: the model's default one */
    const char *architecture; /* the network that a file of weights is for; NULL: not told */
} tn_import_options;

/* Does the content look like it? */
typedef bool tn_sniff_fn(const uint8_t *at, size_t n);
/* `path` is that of the file, inside its folder where a folder was given; `o` may be NULL. */
typedef tn_status tn_import_fn(tn_graph *g, const char *path, const tn_file *file,
                               const tn_import_options *o);

typedef struct tn_format {
    const char *name;          /* "onnx", as --model-format takes it */
    const char *title;         /* "ONNX", for messages */
    tn_file_kind kind;         /* "an ONNX model": what such a file is where another is wanted */
    bool text;                 /* a text file of that suffix is such a model, whatever it says */
    const char *const *suffix; /* lower case, NULL-terminated */
    const char *const
        *inside;        /* files one of which a folder holds that is such a model; NULL: no folder is */
    tn_sniff_fn *sniff; /* NULL: files are told by their names alone */
    tn_import_fn *import;
} tn_format;

extern const tn_format tn_formats[];
extern const size_t tn_n_formats;

const tn_format *tn_format_find(const char *name); /* NULL: none */
/* The format of a folder, and the path of the file inside that is read; NULL: none. */
const tn_format *tn_format_of_folder(tn_ctx *ctx, const char *path, const char **out_file);
const tn_format *tn_format_sniff(const uint8_t *at, size_t n); /* by content alone; NULL: none */
/* By what a folder holds, by content, then by suffix; NULL: none tells. `file` may be NULL (suffix alone). */
const tn_format *tn_format_guess(const char *path, const tn_file *file);

/* Reads a model into the empty module g. format NULL: guessed. file must outlive g: weights point into it and may be
 * unaligned. Errors: frontend-E001 (unknown format), frontend-E002 (known to be no model that can be read),
 * the reader's. Where dimensions of the inputs may be 0, the model is read once more, with ranges that begin at 0. */
TN_WARN_UNUSED tn_status tn_import(tn_graph *g, const char *path, const tn_file *file, const char *format,
                                   const tn_import_options *o);
/* The module as it was before a reader began, so that it can begin again. */
void tn_import_clear(tn_graph *g);
/* Maps the file of a model as tn_file_map does; of a folder that is a model, the file that its format's row names. Any
 * other folder is frontend-E002, which says what it is. */
TN_WARN_UNUSED tn_status tn_import_map(tn_ctx *ctx, const char *path, tn_file *out_file);
/* The symbols of the inputs of an imported module for which 0 is a size as any other: some result has the symbol in
 * its shape, and none of these is empty where it is 0. Returns their number; *out lies in g's arena. */
size_t tn_find_zero_symbols(tn_graph *g, const char ***out);

/* Operators of TVM's Relay that are made of what the readers of models share, for tn_relay_metadata.forms. */
extern const struct form *const tn_relay_more_forms[];

/* The readers of the table, one in each folder. */
TN_WARN_UNUSED tn_import_fn tn_import_caffe;
TN_WARN_UNUSED tn_import_fn tn_import_caffe2;
TN_WARN_UNUSED tn_import_fn tn_import_coreml;
TN_WARN_UNUSED tn_import_fn tn_import_darknet;
TN_WARN_UNUSED tn_import_fn tn_import_keras;
TN_WARN_UNUSED tn_import_fn tn_import_mxnet;
TN_WARN_UNUSED tn_import_fn tn_import_onnx;
TN_WARN_UNUSED tn_import_fn tn_import_paddle;
TN_WARN_UNUSED tn_import_fn tn_import_pytorch;
TN_WARN_UNUSED tn_import_fn tn_import_relay;
TN_WARN_UNUSED tn_import_fn tn_import_tensorflow;
TN_WARN_UNUSED tn_import_fn tn_import_tflite;

tn_sniff_fn tn_sniff_darknet;
tn_sniff_fn tn_sniff_keras;
tn_sniff_fn tn_sniff_caffe2;
tn_sniff_fn tn_sniff_coreml;
tn_sniff_fn tn_sniff_mxnet;
tn_sniff_fn tn_sniff_onnx;
tn_sniff_fn tn_sniff_paddle;
tn_sniff_fn tn_sniff_pytorch;
tn_sniff_fn tn_sniff_relay;
tn_sniff_fn tn_sniff_tensorflow;
tn_sniff_fn tn_sniff_tflite;

#endif
