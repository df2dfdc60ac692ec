/* The tables of all converters, and what the shared importer must know of TensorFlow. */
#include "frontend/tensorflow/tf.h"

static const imp_table tables[] = {
#define PLAIN(name) {NULL, tf_rows_##name},
#define OWN PLAIN
#include "frontend/tensorflow/tables.def"
    {0},
};

const imp_format tf_format = {
    .tables = tables,
    .signatures = true,
    .convert = tf_convert_row,
    .id =
        {
            [IMP_NO_OUTPUTS] = "tensorflow-E002",    [IMP_UNKNOWN_OPERATOR] = "tensorflow-E004",
            [IMP_OTHER_VERSION] = "tensorflow-E004", [IMP_ATTR_TYPE] = "tensorflow-E006",
            [IMP_ATTR_MISSING] = "tensorflow-E007",  [IMP_ATTR_UNKNOWN] = "tensorflow-E008",
            [IMP_BAD_VALUE] = "tensorflow-E009",     [IMP_BAD_TENSOR] = "tensorflow-E010",
            [IMP_BAD_FILE] = "tensorflow-E012",      [IMP_UNKNOWN_NAME] = "tensorflow-E013",
            [IMP_NAME_TWICE] = "tensorflow-E014",    [IMP_NO_TENSOR] = "tensorflow-E015",
            [IMP_NOT_CONSTANT] = "tensorflow-E016",  [IMP_OPERANDS] = "tensorflow-E017",
            [IMP_NO_INPUT] = "tensorflow-E018",      [IMP_OTHER_RANK] = "tensorflow-E019",
            [IMP_BAD_SIZES] = "tensorflow-E024",     [IMP_UNSUPPORTED_RESULT] = "tensorflow-E020",
            [IMP_MEMORY] = "tensorflow-E021",        [IMP_TOO_LARGE] = "tensorflow-E022",
            [IMP_SYMBOLS] = "tensorflow-E023",       [IMP_ERRORS] = "tensorflow-E025",
        },
};
