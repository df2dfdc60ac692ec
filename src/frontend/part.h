#ifndef TN_FRONTEND_PART_H
#define TN_FRONTEND_PART_H
/* Parts of an ONNX file as ONNX files: what the nodes of its graph are, and models of some of them. Nothing is
 * converted; nodes and initialisers are copied as they stand, byte for byte, so that any tool reads a part as it would
 * read the whole. */
#include "base/file.h"
#include "ir/dtype.h"

typedef struct tn_part_node {        /* texts are the arena's */
    const char *name, *op;           /* "": none */
    uint32_t n_in, n_out, n_operand; /* n_operand: of `in`, those that graphs inside it do not add */
    const char **in; /* what it reads, and what graphs inside it read from outside; "": not given */
    const char **out;
} tn_part_node;

typedef struct tn_part_graph {
    uint32_t n_node, n_input, n_output;
    const tn_part_node *node;
    const char **input, **output; /* inputs without those that are initialisers */
} tn_part_graph;

typedef struct tn_part_value { /* a value that a part takes as its input */
    const char *name;
    tn_dtype dtype;
    int32_t ndim;
    const int64_t *shape;
    const void *data; /* NULL: an input; else its `bytes` of data, and the part has it as an initialiser */
    size_t bytes;
} tn_part_value;

typedef struct tn_part {
    uint32_t n_input, n_output;
    const tn_part_value *input; /* NULL: the inputs of the file, all of them */
    const char *const *output;
    bool whole; /* data in files beside the model become part of it */
    /* NULL, or a result of the node whose graph `body` (the attribute's name) the part is, all of it. `input`: a value
     * for each of the graph's inputs, which keep their own names, then values that it may read from outside,
     * by name. */
    const char *node, *body;
    /* NULL, or of each output what it is where the file does not say: dtype (bits 0: not known) and ndim. */
    const tn_part_value *output_type;
} tn_part;

/* Both report a file that is no ONNX model (onnx-E070) or damaged (onnx-E001). */
TN_WARN_UNUSED tn_status tn_part_read(tn_ctx *ctx, const char *path, const tn_file *file, tn_arena *a,
                                      tn_part_graph *out);
/* Adds to `out` the model of the nodes that the outputs need, as far back as the inputs. onnx-E071: nothing computes
 * an output; onnx-E072: an input has a type that ONNX lacks; onnx-E073: it is too large for one file;
 * onnx-E074: no node has the graph that is wanted, or it has another number of inputs. */
TN_WARN_UNUSED tn_status tn_part_write(tn_ctx *ctx, const char *path, const tn_file *file,
                                       const tn_part *part, tn_buf *out);

#endif
