#ifndef TN_CLI_COMPARE_LINES_H
#define TN_CLI_COMPARE_LINES_H
/* Parts of a model that is no ONNX file: of the Relay graph that it becomes, as Relay text. */
#include "base/arena.h"
#include "base/buf.h"
#include "cli/compare.h"
#include "tenon/relay.h"

/* ---- the graph (compare_lines.c) ---- */

typedef struct tn_line_value { /* a result of a line, or a field of its tuple */
    const char *name, *type;
    bool tensor; /* of numbers */
} tn_line_value;

typedef struct tn_name_list {
    uint32_t n, room;
    const char **at;
} tn_name_list;

typedef struct tn_line { /* of @main, a node each */
    const char *text;
    size_t n;
    uint32_t number, node;
    bool bare;          /* it has no number in the text: the result of @main */
    bool effect, clear; /* clear: a tuple, a field of one or a closure */
    bool many;          /* its values are %0.0, %0.1, ... */
    bool is_same;       /* a field of a tuple in the text: it is `same` */
    uint32_t first;     /* number of its first value, among all values */
    uint32_t n_value, n_read;
    tn_line_value *value;
    tenon_operand *read; /* what it and what is inside it read of @main */
    uint32_t n_operand;  /* of `read`: the node's own */
    tenon_operand same;
    tn_name_list made_of; /* of a clear line */
} tn_line;

typedef struct tn_lines {
    tenon *session; /* which is called no more: text, params and view are of its last calls */
    tn_arena arena;
    const tenon_function_view *view;
    const tenon_module_info *module;
    const char *text, *params;
    size_t n_params;
    const char *def, *body, *rest; /* in the text: "def @main", the first line, what follows "}" */
    const char **param;            /* "%x: Tensor[...]" of each input */
    size_t *n_param;
    uint32_t n_line, n_value; /* values of all lines */
    tn_line *line;
    uint32_t *line_of; /* node -> line; TENON_ABSENT: none */
    tenon_file_info info;
    tn_buf part; /* the last that was cut */
} tn_lines;

/* The graph of a side's file, read with the side's flags; NULL: it has none (a text of TIR), or memory is exhausted.
 * Its operators are `info`, in order, with the model's node as the name of each. A value has the name of the model's
 * output, of the node that it is from ("NAME_2": the second value from there), or of its line. */
tn_lines *tn_lines_open(const tn_side *s);
void tn_lines_close(tn_lines *g);
bool tn_lines_same(const tn_lines *a, const tn_lines *b); /* the same text */

const tn_line *tn_lines_at(const tn_lines *g, uint32_t node); /* NULL: it has none */
bool tn_lines_is_whole(const tn_lines *g, const tn_line *x);  /* operands are all its values, a tuple */
uint32_t tn_lines_field(const tenon_node *tuple_get);
const char *tn_lines_end(const char *s,
                         const char *ends); /* one of `ends`, outside brackets, comments and strings */

/* ---- parts (compare_lines_part.c) ---- */

/* The part that computes the outputs from the inputs (NULL: those of the model), outputs that are no tensors left out.
 * The inputs' types are those of the graph, or, with `fixed`, as given. It lives until the next part of the graph.
 * 0, or 1: there is no such part. */
int tn_lines_cut(tn_lines *g, const tenon_part *part, bool fixed, tn_side_model *out);
/* Writes a part to a file, its constants beside it. An enum tn_exit. */
int tn_lines_write(const tn_side_model *part, const char *path);

#endif
