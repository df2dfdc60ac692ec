#ifndef TN_FRONTEND_PYTORCH_EXPORT_H
#define TN_FRONTEND_PYTORCH_EXPORT_H
/* What the parts of the reader of torch.export's programs share: its archives in all versions (export_archive.c), the
 * graph's nodes (export_node.c), operators that call graphs (export_call.c), the program as a whole (export.c). */
#include "frontend/pytorch/pytorch.h"

#include "base/wire/json.h"

enum pt_role {
    PT_ROLE_OTHER,
    PT_ROLE_WEIGHT, /* of the file; as an output: what it becomes */
    PT_ROLE_USER,   /* what the program takes, or gives */
    PT_ROLE_CHANGED_INPUT,
    PT_ROLE_OBJECT /* of a class that only PyTorch knows */
};

typedef struct pt_spec { /* an input or output of the program */
    enum pt_role role;
    tn_bytes kind; /* as the file calls it */
    tn_bytes name; /* in the graph */
    tn_bytes of;   /* the weight, input or class that it is of */
    const tn_json *arg;
    tn_value taken[2]; /* an input as the run takes it; of complex numbers their parts */
} pt_spec;

typedef struct pt_specs {
    size_t n;
    pt_spec *at;
} pt_specs;

typedef struct pt_program {
    pt_import *p;
    const tn_json *graph;
    pt_specs in, out;
    tn_strmap names;   /* of the graph that is read -> pt_value * */
    tn_strmap weights; /* -> pt_value *: a TENSOR or COMPLEX */
    tn_dtype autocast; /* what products compute in; bits 0: in the type of their operands */
} pt_program;

/* ---- the archive (export_archive.c) ---- */
/* Opens the program's document, whose texts last as long as the import does; fills graph, in, out and weights. */
tn_status pt_open_program(pt_program *g, tn_json_doc *doc);
tn_status pt_damaged_program(pt_import *p, const char *why);

/* ---- JSON ---- */
tn_bytes pt_json_text(const tn_json *v); /* n 0: it is none */
static inline size_t pt_json_count(const tn_json *v) { return tn_json_is(v, TN_JSON_ARRAY) ? v->n : 0; }
/* The only member of an object that is not null, and its key. */
const tn_json *pt_json_member(const tn_json *v, tn_bytes *key);
/* Types are numbered from 1; bfloat16 stands elsewhere than in a ScalarType. */
static inline int64_t pt_json_type(int64_t v) { return v == 13 ? 15 : v - 1; }

/* ---- the graph (export_node.c) ---- */
void pt_define(pt_program *g, tn_bytes name, pt_value v);
pt_value pt_lookup(pt_program *g, tn_bytes name);
pt_value pt_argument(pt_program *g, const tn_json *v, int depth); /* {"as_int": 3}, or 3 */
/* The graph's nodes, with what is defined. */
void pt_read_nodes(pt_program *g, const tn_json *graph);
/* A graph of its own names with these inputs: a tuple of its outputs. */
pt_value pt_call_graph(pt_program *g, const tn_json *graph, size_t n, const pt_value at[]);

/* ---- operators that call graphs (export_call.c) ---- */
/* Their results, one after the other, as a tuple. */
pt_value pt_higher_order(pt_program *g, tn_bytes name, const tn_json *inputs);

#endif
