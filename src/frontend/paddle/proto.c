/* The field tables of PaddlePaddle's messages. A row is: number, type, repeated, where it goes, message. */
#include "frontend/paddle/proto.h"

// clang-format off
static const tn_pb_field scalar_fields[] = {
    TN_PB_FIELD(1,  INT,    0, pd_scalar, type, NULL),
    TN_PB_FIELD(2,  INT,    0, pd_scalar, b, NULL),
    TN_PB_FIELD(3,  INT,    0, pd_scalar, i, NULL),
    TN_PB_FIELD(4,  DOUBLE, 0, pd_scalar, r, NULL),
};
static const tn_pb_msg scalar_msg = TN_PB_MESSAGE("Scalar", pd_scalar, scalar_fields);

static const tn_pb_field attr_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, pd_attr, name, NULL),
    TN_PB_FIELD(2,  INT,    0, pd_attr, type, NULL),
    TN_PB_FIELD(3,  INT,    0, pd_attr, i, NULL),
    TN_PB_FIELD(4,  FLOAT,  0, pd_attr, f, NULL),
    TN_PB_FIELD(5,  BYTES,  0, pd_attr, s, NULL),
    TN_PB_FIELD(6,  INT,    1, pd_attr, ints, NULL),
    TN_PB_FIELD(7,  FLOAT,  1, pd_attr, floats, NULL),
    TN_PB_FIELD(8,  BYTES,  1, pd_attr, strings, NULL),
    TN_PB_FIELD(10, INT,    0, pd_attr, b, NULL),
    TN_PB_FIELD(11, INT,    1, pd_attr, bools, NULL),
    TN_PB_FIELD(12, INT,    0, pd_attr, block_idx, NULL),
    TN_PB_FIELD(13, INT,    0, pd_attr, l, NULL),
    TN_PB_FIELD(14, INT,    1, pd_attr, blocks_idx, NULL),
    TN_PB_FIELD(15, INT,    1, pd_attr, longs, NULL),
    TN_PB_FIELD(16, DOUBLE, 1, pd_attr, float64s, NULL),
    TN_PB_FIELD(19, DOUBLE, 0, pd_attr, float64, NULL),
    TN_PB_FIELD(20, MSG,    0, pd_attr, scalar, &scalar_msg),
    TN_PB_FIELD(21, MSG,    1, pd_attr, scalars, &scalar_msg),
};
static const tn_pb_msg attr_msg = TN_PB_MESSAGE("Attr", pd_attr, attr_fields);

static const tn_pb_field param_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, pd_param, parameter, NULL),
    TN_PB_FIELD(2,  BYTES,  1, pd_param, arguments, NULL),
};
static const tn_pb_msg param_msg = TN_PB_MESSAGE("Var", pd_param, param_fields);

static const tn_pb_field op_fields[] = {
    TN_PB_FIELD(1,  MSG,    1, pd_op, inputs, &param_msg),
    TN_PB_FIELD(2,  MSG,    1, pd_op, outputs, &param_msg),
    TN_PB_FIELD(3,  BYTES,  0, pd_op, type, NULL),
    TN_PB_FIELD(4,  MSG,    1, pd_op, attrs, &attr_msg),
};
static const tn_pb_msg op_msg = TN_PB_MESSAGE("OpDesc", pd_op, op_fields);

static const tn_pb_field tensor_desc_fields[] = {
    TN_PB_FIELD(1,  INT,    0, pd_tensor_desc, data_type, NULL),
    TN_PB_FIELD(2,  INT,    1, pd_tensor_desc, dims, NULL),
};
const tn_pb_msg pd_tensor_desc_msg = TN_PB_MESSAGE("TensorDesc", pd_tensor_desc, tensor_desc_fields);

static const tn_pb_field dense_fields[] = {
    TN_PB_FIELD(1,  MSG,    0, pd_dense, tensor, &pd_tensor_desc_msg),
};
static const tn_pb_msg dense_msg = TN_PB_MESSAGE("DenseTensorDesc", pd_dense, dense_fields);

static const tn_pb_field var_type_fields[] = {
    TN_PB_FIELD(1,  INT,    0, pd_var_type, type, NULL),
    TN_PB_FIELD(3,  MSG,    0, pd_var_type, dense_tensor, &dense_msg),
};
static const tn_pb_msg var_type_msg = TN_PB_MESSAGE("VarType", pd_var_type, var_type_fields);

static const tn_pb_field var_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, pd_var, name, NULL),
    TN_PB_FIELD(2,  MSG,    0, pd_var, type, &var_type_msg),
    TN_PB_FIELD(3,  INT,    0, pd_var, persistable, NULL),
};
static const tn_pb_msg var_msg = TN_PB_MESSAGE("VarDesc", pd_var, var_fields);

static const tn_pb_field block_fields[] = {
    TN_PB_FIELD(1,  INT,    0, pd_block, idx, NULL),
    TN_PB_FIELD(2,  INT,    0, pd_block, parent_idx, NULL),
    TN_PB_FIELD(3,  MSG,    1, pd_block, vars, &var_msg),
    TN_PB_FIELD(4,  MSG,    1, pd_block, ops, &op_msg),
};
static const tn_pb_msg block_msg = TN_PB_MESSAGE("BlockDesc", pd_block, block_fields);

static const tn_pb_field program_fields[] = {
    TN_PB_FIELD(1,  MSG,    1, pd_program, blocks, &block_msg),
};
const tn_pb_msg pd_program_msg = TN_PB_MESSAGE("ProgramDesc", pd_program, program_fields);
// clang-format on
