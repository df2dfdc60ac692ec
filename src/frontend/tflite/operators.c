/* The tables of all converters, and what the shared importer must know of TFLite. */
#include "frontend/tflite/tflite.h"

#include <string.h>

static const imp_table tables[] = {
    {NULL, tfl_rows_math},
    {NULL, tfl_rows_nn},
    {NULL, tfl_rows_shape},
    {NULL, tfl_rows_reduce},
    {NULL, tfl_rows_resize},
    {NULL, tfl_rows_index},
    {NULL, tfl_rows_complex},
    {NULL, tfl_rows_window},
    {NULL, tfl_rows_stablehlo},
    {NULL, tfl_rows_hlo_index},
    {NULL, tfl_rows_detection},
    {NULL, tfl_rows_flow},
    {"custom", tfl_rows_custom},
    {"custom", tfl_rows_post_process},
    {0},
};

/* StableHLO's operators know no scales. Complex tensors have one more dimension here, which other operators would
 * take for one of theirs. */
static void check(imp_node *c)
{
    bool knows = false;
    for (const imp_row *r = tfl_rows_complex; r->op; r++)
        knows = knows || r == c->row;
    bool plain = strncmp(c->row->op, "STABLEHLO_", 10) == 0;
    for (uint32_t i = 0; i < imp_n_in(c) && plain; i++)
        if (tfl_is_quantised(tfl_in(c, i)))
            imp_refuse(c, IMP_BAD_TENSOR, "StableHLO's operators are not supported with quantised operands");
    for (uint32_t i = 0; i < imp_n_in(c) && !knows; i++)
        if (tfl_in(c, i) && tfl_in(c, i)->type == TFL_COMPLEX64)
            imp_refuse(c, IMP_BAD_TENSOR,
                       "complex numbers are supported between RFFT2D and REAL, IMAG or "
                       "COMPLEX_ABS only");
}

const imp_format tfl_format = {
    .version = "version",
    .tables = tables,
    .check = check,
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
