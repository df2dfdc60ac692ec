/* Complex numbers and their parts. A complex number is two floats that lie together, so either operator names the bytes
 * that there are: it is an alias in programs, and no kernel reads or writes complex numbers. */
#include "op/rule.h"

#include "op/tensor/tensor.h"

static const char *const data_in[] = {"data"};

/* ---- complex.parts ---- */

static tn_status complex_parts_infer(tn_graph *g, tn_node *n)
{
    const tn_expr *dim[TN_RULE_MAX_RANK];
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (!tn_dtype_is_complex(t->dtype))
        return tn_rule_fail(g, n, "op-E011", "data must be complex numbers, but is %s",
                            tn_rule_dtype_text(g, t->dtype));
    if (t->n == TN_RULE_MAX_RANK)
        return tn_rule_fail(g, n, "op-E003", "data has %d dimensions; at most %d are supported", t->n,
                            TN_RULE_MAX_RANK - 1);
    for (int d = 0; d < t->n; d++)
        dim[d] = t->dim[d];
    dim[t->n] = tn_idx(g->pool, 2);
    return tn_rule_result(g, n, 0, tn_dtype_part(t->dtype), t->n + 1, dim);
}

/* clang-format off */
const tn_op tn_op_complex_parts = {
    .name = "complex.parts", .doc = "Complex numbers as floats: a last dimension has the real and the imaginary part.",
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_VIEW, .fuse = TN_FUSE_NONE, .in_name = data_in,
    .infer = complex_parts_infer,
};
/* clang-format on */

/* ---- complex.of ---- */

static tn_status complex_of_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (t->dtype.code != TN_FLOAT || t->dtype.bits < 32)
        return tn_rule_fail(g, n, "op-E011", "data must be float32 or float64, but is %s",
                            tn_rule_dtype_text(g, t->dtype));
    if (t->n == 0 || !tn_is_value(t->dim[t->n - 1], 2))
        return tn_rule_fail(
            g, n, "op-E003",
            "the last dimension of data must be the real and the imaginary part, but data is %s",
            tn_rule_type_text(g, t));
    return tn_rule_result(g, n, 0, TN_DT(TN_COMPLEX, (uint8_t)(2 * t->dtype.bits)), t->n - 1, t->dim);
}

/* clang-format off */
const tn_op tn_op_complex_of = {
    .name = "complex.of", .doc = "The complex numbers whose parts the last dimension has.",
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_VIEW, .fuse = TN_FUSE_NONE, .in_name = data_in,
    .infer = complex_of_infer,
};
/* clang-format on */
