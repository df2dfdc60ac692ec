#ifndef TNR_GRAPH_H
#define TNR_GRAPH_H
/* The graph executor: mod.json read into the same kind of program that the AOT executor walks. */
#include "tenon/runtime.h"

typedef struct tnr_graph tnr_graph;

/* Read mod.json (nodes, arg_nodes, heads, attrs, node_row_ptr, optional metadata; anything else is refused),
 * look up each func_name in the library and lay out the arena as storage_id says: one place per id, as large
 * as its largest value. Null nodes named in params are constants, the others inputs; outputs are called
 * output_0, output_1, ... The program still has to pass tnr_exe_init. json is borrowed for the call only,
 * library for the graph's life.
 * fails  TNR_E_FORMAT (position: byte of the json for syntax, node for the rest), TNR_E_MEMORY */
TNR_CHECKED tnr_status tnr_graph_read(const char *json, size_t n, const tn_library *library,
                                      const tnr_params *params, tnr_graph **out_graph, tnr_error *err);
const tn_program *tnr_graph_program(const tnr_graph *graph);
const uint32_t *tnr_graph_heads(
    const tnr_graph *graph); /* slots of output_0, output_1, ...; as many as OUTPUT slots */
void tnr_graph_free(tnr_graph *graph);

#endif
