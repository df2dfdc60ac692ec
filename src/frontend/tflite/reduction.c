/* Graphs of one operator that join two numbers. */
#include "frontend/tflite/reduction.h"

#include <string.h>

enum { OP_CODE, OP_INPUTS };

static const tfl_reduction known[] = {
    {"ADD", &tn_op_add, &tn_op_sum, "add", false},
    {"STABLEHLO_ADD", &tn_op_add, &tn_op_sum, "add", false},
    {"MUL", &tn_op_multiply, &tn_op_prod, "mul", false},
    {"STABLEHLO_MULTIPLY", &tn_op_multiply, &tn_op_prod, "mul", false},
    {"MAXIMUM", &tn_op_maximum, &tn_op_max, "max", false},
    {"STABLEHLO_MAXIMUM", &tn_op_maximum, &tn_op_max, "max", false},
    {"MINIMUM", &tn_op_minimum, &tn_op_min, "min", false},
    {"STABLEHLO_MINIMUM", &tn_op_minimum, &tn_op_min, "min", false},
    {"LOGICAL_AND", &tn_op_logical_and, &tn_op_min, "min", false},
    {"STABLEHLO_AND", &tn_op_logical_and, &tn_op_min, "min", false},
    {"LOGICAL_OR", &tn_op_logical_or, &tn_op_max, "max", false},
    {"STABLEHLO_OR", &tn_op_logical_or, &tn_op_max, "max", false},
    {NULL, NULL, NULL, "update", true},
};

static const char *operator_of(tfl_import *o, const tfl_graph *g, bool *out_both)
{
    tn_flat_table op = tn_flat_table_at(&g->operators, 0);
    uint64_t code = (uint64_t)tn_flat_int(&op, OP_CODE, 4, false, 0);
    tn_flat_vector in = tn_flat_list(&op, OP_INPUTS, 4);
    int64_t a = tn_flat_int_at(&in, 0, 4, true), b = tn_flat_int_at(&in, 1, 4, true);
    *out_both = in.n == 2 && ((a == g->in[0] && b == g->in[1]) || (a == g->in[1] && b == g->in[0]));
    return op.buf && code < o->n_code ? o->code[code].name : "";
}

const tfl_reduction *tfl_reduction_of(imp_node *c, int64_t which)
{
    tfl_import *o = (tfl_import *)c->im;
    bool exists = which > 0 && which < (int64_t)o->graphs.n, both;
    const tfl_graph *g = c->bad || !exists ? NULL : tfl_read_graph(o, (uint32_t)which);
    bool fits = g && g->n_in == 2 && g->n_out == 1;
    if (fits && g->operators.n == 0 && g->out[0] == g->in[1])
        return &known[sizeof known / sizeof *known - 1];
    if (fits && g->operators.n == 1) {
        const char *name = operator_of(o, g, &both);
        for (const tfl_reduction *r = known; r->op && both; r++)
            if (strcmp(r->op, name) == 0)
                return r;
    }
    imp_refuse(c, IMP_BAD_VALUE,
               "graph %lld joins two numbers in a way that is not supported; add, multiply, minimum, "
               "maximum, and, or are known",
               (long long)which);
    return NULL;
}
