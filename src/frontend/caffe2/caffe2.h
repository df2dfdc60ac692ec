#ifndef TN_FRONTEND_CAFFE2_H
#define TN_FRONTEND_CAFFE2_H
/* The Caffe2 importer: what its reader and its converters share. */
#include "frontend/import/layers.h"

extern const imp_format c2_format; /* converters and ids of diagnostics (operators.c) */

/* The numbers of an argument of the operator, whichever it was written as; none: n 0. */
tn_ints c2_ints(imp_node *c, const char *name);
/* A net and the net that fills its weights; both lie in `file`, which outlives the graph. info: sizes of inputs as
 * JSON; at NULL: there are none. */
TN_WARN_UNUSED tn_status c2_import_nets(tn_graph *g, const char *path, const tn_file *file, tn_bytes net,
                                        tn_bytes init, tn_bytes info, const tn_import_options *options);

/* The type of elements that Caffe2 has this number for; false: none of numbers or bools. */
bool c2_dtype(int64_t type, tn_dtype *out);

#endif
