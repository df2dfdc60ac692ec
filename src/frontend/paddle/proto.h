#ifndef TN_FRONTEND_PADDLE_PROTO_H
#define TN_FRONTEND_PADDLE_PROTO_H
/* The messages of PaddlePaddle that matter here, as structs (framework.proto). Programs in JSON become the same. */
#include "base/wire/pb.h"

typedef struct pd_scalar {
    int64_t type; /* 1 bool, 2 integer, 3 float, 4 complex */
    int64_t b, i;
    double r;
} pd_scalar;

/* Which field of an attribute counts. */
enum pd_attr_type {
    PD_A_INT,
    PD_A_FLOAT,
    PD_A_STRING,
    PD_A_INTS,
    PD_A_FLOATS,
    PD_A_STRINGS,
    PD_A_BOOL,
    PD_A_BOOLS,
    PD_A_BLOCK,
    PD_A_LONG,
    PD_A_BLOCKS,
    PD_A_LONGS,
    PD_A_FLOAT64S,
    PD_A_VAR,
    PD_A_VARS,
    PD_A_FLOAT64,
    PD_A_SCALAR,
    PD_A_SCALARS
};

typedef struct pd_attr {
    tn_bytes name;
    int64_t type; /* pd_attr_type */
    int64_t i, b, block_idx, l;
    float f;
    double float64;
    tn_bytes s;
    pd_scalar *scalar;
    tn_pb_array ints, floats, strings, bools, blocks_idx, longs, float64s, scalars;
} pd_attr;

typedef struct pd_param { /* names of values for one operand or result of an operator */
    tn_bytes parameter;
    tn_pb_array arguments; /* tn_bytes */
} pd_param;

typedef struct pd_op {
    tn_bytes type;
    tn_pb_array inputs, outputs; /* pd_param */
    tn_pb_array attrs;           /* pd_attr */
} pd_op;

typedef struct pd_tensor_desc {
    int64_t data_type;
    tn_pb_array dims; /* int64_t, -1: not told */
} pd_tensor_desc;

typedef struct pd_dense {
    pd_tensor_desc *tensor;
} pd_dense;

typedef struct pd_var_type {
    int64_t type;
    pd_dense *dense_tensor;
} pd_var_type;

typedef struct pd_var {
    tn_bytes name;
    pd_var_type *type;
    int64_t persistable;
} pd_var;

typedef struct pd_block {
    int64_t idx, parent_idx;
    tn_pb_array vars, ops; /* pd_var, pd_op */
    tn_pb_array args;      /* tn_bytes: of the body of a loop in JSON */
} pd_block;

typedef struct pd_program {
    tn_pb_array blocks; /* pd_block, the main one first */
} pd_program;

extern const tn_pb_msg pd_program_msg, pd_tensor_desc_msg;

#endif
