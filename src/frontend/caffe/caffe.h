#ifndef TN_FRONTEND_CAFFE_H
#define TN_FRONTEND_CAFFE_H
/* The Caffe importer: what its reader and its converters share. */
#include "base/wire/pb_text.h"
#include "frontend/import/layers.h"

typedef tn_pb_text cf_field; /* of the network's text */

typedef struct cf_blob { /* weights of a layer */
    uint32_t n;
    int64_t dim[IMP_MAX_RANK];
    tn_bytes data; /* float32 */
} cf_blob;

enum { CF_MAX_BLOBS = 8 };
typedef struct cf_weights {
    uint32_t n;
    cf_blob blob[CF_MAX_BLOBS];
} cf_weights;

typedef struct cf_import {
    imp_model im;       /* first: an imp_node's model is one */
    tn_strmap weights;  /* name of a layer -> cf_weights * */
    tn_strmap writes;   /* name of a blob -> how many layers have yet to write it */
    tn_strmap current;  /* ... -> const tn_bytes *, the value that it stands for now */
    tn_strmap consumed; /* names of values that some layer reads */
} cf_import;

static inline cf_import *cf_of(const imp_node *c) { return (cf_import *)c->im; }

extern const imp_row cf_rows_detection[];
extern const imp_format cf_format; /* converters and ids of diagnostics (layers.c) */

static inline cf_field *cf_find(cf_field *message, const char *name)
{
    return tn_pb_text_find(message, name);
}
static inline cf_field *cf_again(cf_field *f) { return tn_pb_text_again(f); }
/* A model in memory: both parts lie in `file`, which outlives the graph. */
TN_WARN_UNUSED tn_status cf_import_pair(tn_graph *g, const char *path, const tn_file *file, tn_bytes net,
                                        tn_bytes weights);

/* ---- for converters (import.c): of the layer's message `param` ---- */
cf_field *cf_param(imp_node *c, const char *param); /* NULL: absent */
int64_t cf_int(imp_node *c, cf_field *m, const char *name, int64_t def);
double cf_real(imp_node *c, cf_field *m, const char *name, double def);
bool cf_bool(imp_node *c, cf_field *m, const char *name, bool def);
tn_ints cf_ints(imp_node *c, cf_field *m, const char *name); /* of a repeated field */
int cf_reals(imp_node *c, cf_field *m, const char *name, int most,
             double out[]); /* how many, at most `most` */
int cf_choice(imp_node *c, cf_field *m, const char *name, int def, const char *const words[]);
/* Weights i of the layer; dim NULL: as the file says, else these dimensions. Absent: there are none, reported. */
tn_value cf_weight(imp_node *c, uint32_t i, uint32_t n, const int64_t dim[]);
uint32_t cf_n_weights(imp_node *c);

#endif
