#ifndef TN_FRONTEND_DARKNET_H
#define TN_FRONTEND_DARKNET_H
/* The Darknet importer: what its reader and its converters share. */
#include "frontend/import/layers.h"
#include "op/nn/nn.h"

typedef struct dk_layer { /* a section of the configuration */
    const char *kind;
    tn_bytes name; /* of its result */
    size_t n_attr;
    imp_attr *attr;
} dk_layer;

typedef struct dk_import {
    imp_model im; /* first: an imp_node's model is one */
    tn_bytes weights;
    size_t pos;      /* what the layers have taken */
    bool transposed; /* old files: matrices of connected layers */
    size_t n, cap;   /* sections; the first is the network */
    dk_layer *layer;
} dk_import;

static inline dk_import *dk_of(const imp_node *c) { return (dk_import *)c->im; }

extern const imp_row dk_rows_recurrent[];
extern const imp_format dk_format; /* converters and ids of diagnostics (layers.c) */

/* A model in memory: both parts lie in `file`, which outlives the graph. */
TN_WARN_UNUSED tn_status dk_import_pair(tn_graph *g, const char *path, const tn_file *file, tn_bytes config,
                                        tn_bytes weights);

/* Values of keys; `def` where absent (import.c). */
int64_t dk_int(imp_node *c, const char *name, int64_t def);
double dk_float(imp_node *c, const char *name, double def);
const char *dk_text(imp_node *c, const char *name, const char *def);
bool dk_ints(imp_node *c, const char *name, tn_ints *out); /* "1, 2, 3" */
/* The next weights of the file, of these dimensions; absent: there are too few, reported. */
tn_value dk_weights(imp_node *c, uint32_t n, const int64_t dim[]);

/* ---- what layers consist of (layers.c) ---- */
typedef struct dk_part { /* weights of a layer; gamma, mean and variance only with batch_normalize */
    tn_value weight, beta, gamma, mean, variance;
} dk_part;
/* The next weights of the file, of n results: convolutional layers have theirs last, connected ones after biases. */
dk_part dk_read_conv(imp_node *c, const int64_t dim[4], int64_t n);
dk_part dk_read_dense(imp_node *c, tn_value x, int64_t n);
tn_value dk_normalized(imp_node *c, tn_value y, const dk_part *p); /* with its biases */
tn_value dk_dense(imp_node *c, tn_value x, const dk_part *p);      /* x is a matrix */
tn_value dk_activate(imp_node *c, tn_value x, const char *def);    /* as the key `activation` says */

#endif
