/* The tables of all converters, and what the shared importer must know of Core ML. A layer has version 1, an operation
 * of a program version 2: some have a name in common. */
#include "frontend/coreml/coreml.h"

static const imp_table tables[] = {
    {NULL, cm_rows_window},  {NULL, cm_rows_layers}, {NULL, cm_rows_element},
    {NULL, cm_rows_shape},   {NULL, cm_rows_index},  {NULL, cm_rows_recurrent},
    {NULL, cm_rows_program}, {NULL, cm_rows_flow},   {NULL, cm_rows_image},
    {NULL, cm_rows_packed},  {NULL, cm_rows_list},   {NULL, cm_rows_cut},
    {NULL, cm_rows_matrix},  {NULL, cm_rows_random}, {0},
};

const imp_format cm_format = {
    .tables = tables,
    .id =
        {
            [IMP_NO_OUTPUTS] = "coreml-E001",    [IMP_BAD_TENSOR] = "coreml-E001",
            [IMP_UNKNOWN_NAME] = "coreml-E001",  [IMP_NAME_TWICE] = "coreml-E001",
            [IMP_BAD_FILE] = "coreml-E003",      [IMP_UNKNOWN_OPERATOR] = "coreml-E004",
            [IMP_OTHER_VERSION] = "coreml-E004", [IMP_UNSUPPORTED_RESULT] = "coreml-E004",
            [IMP_ATTR_TYPE] = "coreml-E005",     [IMP_ATTR_MISSING] = "coreml-E005",
            [IMP_ATTR_UNKNOWN] = "coreml-E005",  [IMP_BAD_VALUE] = "coreml-E005",
            [IMP_NOT_CONSTANT] = "coreml-E006",  [IMP_OPERANDS] = "coreml-E006",
            [IMP_TOO_LARGE] = "coreml-E006",     [IMP_NO_TENSOR] = "coreml-E007",
            [IMP_NO_INPUT] = "coreml-E007",      [IMP_OTHER_RANK] = "coreml-E007",
            [IMP_BAD_SIZES] = "coreml-E007",     [IMP_SYMBOLS] = "coreml-E007",
            [IMP_MEMORY] = "coreml-E008",        [IMP_ERRORS] = "coreml-E008",
        },
};
