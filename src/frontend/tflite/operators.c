/* The tables of all converters, and what the shared importer must know of TFLite. */
#include "frontend/tflite/tflite.h"

static const imp_table tables[] = {
    {NULL, tfl_rows_math},
    {NULL, tfl_rows_nn},
    {NULL, tfl_rows_shape},
    {NULL, tfl_rows_reduce},
    {NULL, tfl_rows_detection},
    {NULL, tfl_rows_flow},
    {"custom", tfl_rows_custom},
    {"custom", tfl_rows_post_process},
    {0},
};

const imp_format tfl_format = {
    .version = "version",
    .tables = tables,
    .id =
        {
            [IMP_NO_OUTPUTS] = "tflite-E002",    [IMP_UNKNOWN_OPERATOR] = "tflite-E004",
            [IMP_OTHER_VERSION] = "tflite-E005", [IMP_ATTR_TYPE] = "tflite-E009",
            [IMP_ATTR_MISSING] = "tflite-E007",  [IMP_ATTR_UNKNOWN] = "tflite-E008",
            [IMP_BAD_VALUE] = "tflite-E009",     [IMP_BAD_TENSOR] = "tflite-E010",
            [IMP_BAD_FILE] = "tflite-E010",      [IMP_UNKNOWN_NAME] = "tflite-E013",
            [IMP_NAME_TWICE] = "tflite-E014",    [IMP_NO_TENSOR] = "tflite-E015",
            [IMP_NOT_CONSTANT] = "tflite-E016",  [IMP_OPERANDS] = "tflite-E017",
            [IMP_NO_INPUT] = "tflite-E018",      [IMP_OTHER_RANK] = "tflite-E019",
            [IMP_BAD_SIZES] = "tflite-E060",     [IMP_UNSUPPORTED_RESULT] = "tflite-E020",
            [IMP_MEMORY] = "tflite-E022",        [IMP_TOO_LARGE] = "tflite-E022",
            [IMP_SYMBOLS] = "tflite-E023",       [IMP_ERRORS] = "tflite-E023",
        },
};
