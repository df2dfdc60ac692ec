/* The tables of all converters, and what the shared importer must know of MXNet. */
#include "frontend/mxnet/mxnet.h"

static const imp_table tables[] = {
    {NULL, mx_rows_element}, {NULL, mx_rows_nn},        {NULL, mx_rows_norm},
    {NULL, mx_rows_shape},   {NULL, mx_rows_create},    {NULL, mx_rows_index},
    {NULL, mx_rows_reduce},  {NULL, mx_rows_recurrent}, {NULL, mx_rows_box},
    {NULL, mx_rows_detect},  {NULL, mx_rows_flow},      {NULL, mx_rows_quant},
    {NULL, mx_rows_fused},   {NULL, mx_rows_nnvm},      {0},
};

const imp_format mx_format = {
    .version = "version",
    .tables = tables,
    .id =
        {
            [IMP_NO_OUTPUTS] = "mxnet-E001",    [IMP_BAD_TENSOR] = "mxnet-E001",
            [IMP_UNKNOWN_NAME] = "mxnet-E001",  [IMP_NAME_TWICE] = "mxnet-E001",
            [IMP_BAD_FILE] = "mxnet-E002",      [IMP_UNKNOWN_OPERATOR] = "mxnet-E003",
            [IMP_OTHER_VERSION] = "mxnet-E003", [IMP_UNSUPPORTED_RESULT] = "mxnet-E003",
            [IMP_ATTR_TYPE] = "mxnet-E004",     [IMP_ATTR_MISSING] = "mxnet-E004",
            [IMP_ATTR_UNKNOWN] = "mxnet-E004",  [IMP_BAD_VALUE] = "mxnet-E004",
            [IMP_NOT_CONSTANT] = "mxnet-E005",  [IMP_OPERANDS] = "mxnet-E005",
            [IMP_TOO_LARGE] = "mxnet-E005",     [IMP_NO_TENSOR] = "mxnet-E006",
            [IMP_NO_INPUT] = "mxnet-E006",      [IMP_OTHER_RANK] = "mxnet-E006",
            [IMP_BAD_SIZES] = "mxnet-E006",     [IMP_SYMBOLS] = "mxnet-E006",
            [IMP_MEMORY] = "mxnet-E007",        [IMP_ERRORS] = "mxnet-E007",
        },
};
