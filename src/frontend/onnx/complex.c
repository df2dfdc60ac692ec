/* Which operators take complex numbers: those that ONNX gives them. Their converters need not know
 * (import/complex.c). */
#include "frontend/onnx/onnx.h"

#include <string.h>

/* Those of which ONNX says that they take complex numbers. */
static bool takes_complex(const imp_row *row)
{
    static const char *const ops[] = {"BitCast",
                                      "CenterCropPad",
                                      "Col2Im",
                                      "Compress",
                                      "Concat",
                                      "DepthToSpace",
                                      "Expand",
                                      "Flatten",
                                      "Gather",
                                      "GatherElements",
                                      "GatherND",
                                      "GridSample",
                                      "Identity",
                                      "If",
                                      "Loop",
                                      "NonZero",
                                      "OneHot",
                                      "Pad",
                                      "RandomNormalLike",
                                      "RandomUniformLike",
                                      "Reshape",
                                      "Resize",
                                      "ReverseSequence",
                                      "Scan",
                                      "Scatter",
                                      "ScatterElements",
                                      "ScatterND",
                                      "Shape",
                                      "Size",
                                      "Slice",
                                      "SpaceToDepth",
                                      "Split",
                                      "Squeeze",
                                      "TensorScatter",
                                      "Tile",
                                      "Transpose",
                                      "Trilu",
                                      "Unique",
                                      "Unsqueeze",
                                      "Upsample",
                                      "Where"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(row->op, ops[i]) == 0)
            return true;
    return onnx_is_over_values(row);
}

bool onnx_check_complex(imp_node *c)
{
    for (uint32_t i = 0; i < c->n_in && !takes_complex(c->row); i++)
        if (imp_is_complex(imp_opt(c, i)))
            imp_fail(c, "onnx-E113",
                     "operand %u is a tensor of complex numbers, but the operator takes real ones",
                     (unsigned)i);
    return !c->bad;
}
