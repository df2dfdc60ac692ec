#ifndef TN_FRONTEND_EXPORT_H
#define TN_FRONTEND_EXPORT_H
/* Relay -> model files, for tools that read nothing else. A format is a file of converters and a row of the table in
 * export.c. What a format has no operator, type or form for is refused by name; nothing is approximated. */
#include "ir/graph.h"

/* Constants of the module that the text refers to by name; a file beside it holds them. Memory is the arena's. */
typedef struct tn_export_params {
    uint32_t n;
    const char *const *name;
    const tn_node *const *constant;
} tn_export_params;

/* Adds the text of the module to `out`, and reports everything that the format lacks. */
typedef tn_status tn_export_fn(tn_graph *g, tn_arena *a, tn_buf *out, tn_export_params *out_params);

typedef struct tn_export_format {
    const char *name; /* "nnvm", as --format takes it */
    tn_export_fn *write;
} tn_export_format;

const tn_export_format *tn_export_find(const char *name); /* NULL: none */

TN_WARN_UNUSED tn_export_fn tn_export_nnvm;

#endif
