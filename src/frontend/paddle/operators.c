/* The tables of all converters, and what the shared importer must know of PaddlePaddle. */
#include "frontend/paddle/paddle.h"

static const imp_table tables[] = {
    {NULL, pd_rows_element}, {NULL, pd_rows_nn},    {NULL, pd_rows_norm},   {NULL, pd_rows_shape},
    {NULL, pd_rows_create},  {NULL, pd_rows_index}, {NULL, pd_rows_reduce}, {NULL, pd_rows_recurrent},
    {NULL, pd_rows_box},     {NULL, pd_rows_image}, {NULL, pd_rows_flow},   {0},
};

/* Does the program say that the variable has the shape [1]? */
static bool is_list_of_one(const pd_import *p, tn_bytes name)
{
    const pd_block *b = p->block;
    const pd_var *v = b->vars.at;
    for (size_t i = 0; i < b->vars.n; i++) {
        const pd_tensor_desc *d =
            v[i].type && v[i].type->dense_tensor ? v[i].type->dense_tensor->tensor : NULL;
        if (imp_same(v[i].name, name))
            return d && d->dims.n == 1 && *(const int64_t *)d->dims.at == 1;
    }
    return false;
}

/* PaddlePaddle had no scalars before 2.5: what is one now was a list of one element. */
static void restore_lists(imp_node *c)
{
    for (size_t i = 0; i < c->n_out && !c->bad; i++)
        if (c->out[i].def && imp_type(c->out[i])->kind == TN_T_TENSOR && imp_rank(c->out[i]) == 0 &&
            is_list_of_one(pd_of(c), c->out_name[i]))
            c->out[i] = imp_unsqueeze(c, c->out[i], 0);
}

/* Operands that the converter did not ask for are errors. */
static void convert(imp_node *c)
{
    const pd_call *call = c->origin;
    const pd_param *p = call->op->inputs.at;
    c->row->convert(c);
    restore_lists(c);
    for (size_t i = 0; i < call->op->inputs.n && !c->bad; i++)
        for (size_t k = 0; k < p[i].arguments.n && (i >= 64 || !(call->asked >> i & 1)); k++)
            if (((const tn_bytes *)p[i].arguments.at)[k].n)
                imp_refuse(c, IMP_OPERANDS, "operand %s is not supported", imp_text(c->im, p[i].parameter));
}

const imp_format pd_format = {
    .tables = tables,
    .convert = convert,
    .reassigns = true,
    .id =
        {
            [IMP_NO_OUTPUTS] = "paddle-E005",    [IMP_BAD_TENSOR] = "paddle-E003",
            [IMP_UNKNOWN_NAME] = "paddle-E006",  [IMP_NAME_TWICE] = "paddle-E001",
            [IMP_BAD_FILE] = "paddle-E002",      [IMP_UNKNOWN_OPERATOR] = "paddle-E004",
            [IMP_OTHER_VERSION] = "paddle-E004", [IMP_UNSUPPORTED_RESULT] = "paddle-E007",
            [IMP_ATTR_TYPE] = "paddle-E008",     [IMP_ATTR_MISSING] = "paddle-E008",
            [IMP_ATTR_UNKNOWN] = "paddle-E009",  [IMP_BAD_VALUE] = "paddle-E010",
            [IMP_NOT_CONSTANT] = "paddle-E011",  [IMP_OPERANDS] = "paddle-E012",
            [IMP_TOO_LARGE] = "paddle-E013",     [IMP_NO_TENSOR] = "paddle-E014",
            [IMP_NO_INPUT] = "paddle-E015",      [IMP_OTHER_RANK] = "paddle-E015",
            [IMP_BAD_SIZES] = "paddle-E015",     [IMP_SYMBOLS] = "paddle-E016",
            [IMP_MEMORY] = "paddle-E016",        [IMP_ERRORS] = "paddle-E016",
        },
};
