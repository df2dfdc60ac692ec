/* The tables of all converters, and what the shared importer must know of TFLite. */
#include "frontend/tflite/tflite.h"

#include "frontend/import/text.h"
#include "op/host/host.h"

#define PLAIN(name) extern const imp_row tf_rows_##name[];
#define OWN(name)
#include "frontend/tensorflow/tables.def"

#include <string.h>

// clang-format off
static const imp_table tables[] = {
    {NULL, tfl_rows_math},          {NULL, tfl_rows_nn},
    {NULL, tfl_rows_shape},         {NULL, tfl_rows_reduce},
    {NULL, tfl_rows_resize},        {NULL, tfl_rows_index},
    {NULL, tfl_rows_complex},       {NULL, tfl_rows_window},
    {NULL, tfl_rows_stablehlo},     {NULL, tfl_rows_hlo_index},
    {NULL, tfl_rows_detection},     {NULL, tfl_rows_flow},
    {NULL, tfl_rows_recurrent},     {NULL, tfl_rows_state},
    {NULL, tfl_rows_table},         {"custom", tfl_rows_custom},
    {"custom", tfl_rows_landmarks}, {"custom", tfl_rows_post_process},
    {"custom", tfl_rows_audio},
#define PLAIN(name) {"tensorflow", tf_rows_##name},
#define OWN(name)
#include "frontend/tensorflow/tables.def"
    {0},
};
// clang-format on

static bool is_of(const imp_row *row, const imp_row table[])
{
    for (const imp_row *r = table; r->op; r++)
        if (r == row)
            return true;
    return false;
}

static bool is_equality(const imp_node *c)
{
    return strcmp(c->row->op, "EQUAL") == 0 || strcmp(c->row->op, "NOT_EQUAL") == 0;
}

/* StableHLO's and TensorFlow's operators know no scales. Complex tensors have one more dimension here, which other
 * operators would take for one of theirs. Texts are moved, and are keys and values of tables. */
static void check(imp_node *c)
{
    bool flex = ((const tfl_node *)c->origin)->flex,
         plain = flex || strncmp(c->row->op, "STABLEHLO_", 10) == 0,
         complex = is_of(c->row, tfl_rows_complex),
         texts = is_of(c->row, tfl_rows_table) || is_of(c->row, tfl_rows_shape) ||
                 is_of(c->row, tf_rows_text) || is_equality(c);
    for (uint32_t i = 0; i < imp_n_in(c) && !c->bad; i++) {
        const tfl_tensor *t = tfl_in(c, i);
        if (plain && tfl_has_scales(t))
            imp_refuse(c, IMP_BAD_TENSOR, "%s operators are not supported with quantised operands",
                       flex ? "TensorFlow's" : "StableHLO's");
        if (t && t->type == TFL_COMPLEX64 && !complex)
            imp_refuse(c, IMP_BAD_TENSOR,
                       "complex numbers are supported between RFFT2D and REAL, IMAG or COMPLEX_ABS only");
        if (t && t->type == TFL_STRING && !texts)
            imp_refuse(c, IMP_BAD_TENSOR,
                       "texts are supported in hash tables, where they are moved or compared, and by "
                       "TensorFlow's operators "
                       "StringJoin, StringLower, StringToNumber, StringUpper and StaticRegexFullMatch only");
    }
}

static void compare_texts(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1), same = imp_binary(c, &tn_op_string_equal, a, b);
    imp_out(c, 0, c->row->op[0] == 'E' ? same : imp_unary(c, &tn_op_logical_not, same));
}

/* Operators that move elements move numbers of texts. Results are of the types that the model says. */
static void convert(imp_node *c)
{
    bool text = false, sizes = strcmp(c->row->op, "SHAPE") == 0 || strcmp(c->row->op, "RANK") == 0;
    for (uint32_t i = 0; i < imp_n_in(c); i++)
        text = text || (tfl_in(c, i) && tfl_in(c, i)->type == TFL_STRING);
    if (text && is_of(c->row, tfl_rows_shape))
        imp_move_texts(c, sizes ? 0 : -1, (tn_value){0});
    else if (text && is_equality(c))
        compare_texts(c);
    else
        c->row->convert(c);
    for (uint32_t i = 0; i < c->n_out && !c->bad; i++) {
        const tfl_tensor *t = tfl_out(c, i);
        if (t && t->known && c->out[i].def && !tn_dtype_eq(imp_type(c->out[i])->dtype, t->dtype))
            imp_refuse(c, IMP_BAD_TENSOR,
                       "result %u is of a type that the operator is not supported with here", (unsigned)i);
    }
}

const imp_format tfl_format = {
    .version = "version",
    .tables = tables,
    .signatures = true,
    .check = check,
    .convert = convert,
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
