#ifndef TN_OP_RANDOM_RANDOM_H
#define TN_OP_RANDOM_RANDOM_H
/* Random numbers. */
#include "op/op.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/random/ops.def"
#undef OP

/* clang-format off */
/* uniform: low, high; normal: mean, deviation */
#define TN_RANDOM_ATTRS(ATTR, s) \
    ATTR(s, DIMS,  shape,        NULL,          "the result's extents") \
    ATTR(s, STR,   distribution, "\"uniform\"", "or \"normal\"") \
    ATTR(s, F64,   low,          "0",           "uniform: the smallest number; normal: the mean") \
    ATTR(s, F64,   high,         "1",           "uniform: the numbers stay below; normal: the deviation") \
    ATTR(s, I64,   seed,         "0",           "another seed, other numbers") \
    ATTR(s, DTYPE, dtype,        "\"float32\"", "type of the result")
TN_ATTR_STRUCT(tn_random_attr, TN_RANDOM_ATTRS);

#define TN_RANDOM_STATE_ATTRS(ATTR, s) \
    ATTR(s, DIMS, count,        NULL,          "how many") \
    ATTR(s, I64,  seed,         "0",           "of the generator, in [0, 2^32)") \
    ATTR(s, STR,  distribution, "\"uniform\"", "of [0, 1), or \"normal\", with mean 0 and deviation 1")
TN_ATTR_STRUCT(tn_random_state_attr, TN_RANDOM_STATE_ATTRS);
/* clang-format on */

#endif
