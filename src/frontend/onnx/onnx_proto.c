/* The field tables of onnx.proto. A row is: number, type, repeated, where it goes, message, name. */
#include "frontend/onnx/onnx_proto.h"

// clang-format off
static const tn_pb_field pair_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, onnx_string_pair, key, NULL),
    TN_PB_FIELD(2,  BYTES,  0, onnx_string_pair, value, NULL),
};
static const tn_pb_msg pair_msg = TN_PB_MESSAGE("StringStringEntryProto", onnx_string_pair, pair_fields);

static const tn_pb_field tensor_fields[] = {
    TN_PB_FIELD(1,  INT,    1, onnx_tensor, dims, NULL),
    TN_PB_FIELD(2,  INT,    0, onnx_tensor, data_type, NULL),
    TN_PB_FIELD(4,  FLOAT,  1, onnx_tensor, float_data, NULL),
    TN_PB_FIELD(5,  INT,    1, onnx_tensor, int32_data, NULL),
    TN_PB_FIELD(6,  BYTES,  1, onnx_tensor, string_data, NULL),
    TN_PB_FIELD(7,  INT,    1, onnx_tensor, int64_data, NULL),
    TN_PB_FIELD(8,  BYTES,  0, onnx_tensor, name, NULL),
    TN_PB_FIELD(9,  BYTES,  0, onnx_tensor, raw_data, NULL),
    TN_PB_FIELD(10, DOUBLE, 1, onnx_tensor, double_data, NULL),
    TN_PB_FIELD(11, INT,    1, onnx_tensor, uint64_data, NULL),
    TN_PB_FIELD(13, MSG,    1, onnx_tensor, external_data, &pair_msg),
    TN_PB_FIELD(14, INT,    0, onnx_tensor, data_location, NULL),
};
const tn_pb_msg onnx_tensor_msg = TN_PB_MESSAGE("TensorProto", onnx_tensor, tensor_fields);

static const tn_pb_field sparse_fields[] = {
    TN_PB_FIELD(1,  MSG,    0, onnx_sparse, values, &onnx_tensor_msg),
    TN_PB_FIELD(2,  MSG,    0, onnx_sparse, indices, &onnx_tensor_msg),
    TN_PB_FIELD(3,  INT,    1, onnx_sparse, dims, NULL),
};
static const tn_pb_msg sparse_msg = TN_PB_MESSAGE("SparseTensorProto", onnx_sparse, sparse_fields);

static const tn_pb_msg graph_msg; /* graphs are attributes of nodes of graphs; the reader bounds the depth */

static const tn_pb_field attr_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, onnx_attr, name, NULL),
    TN_PB_FIELD(2,  FLOAT,  0, onnx_attr, f, NULL),
    TN_PB_FIELD(3,  INT,    0, onnx_attr, i, NULL),
    TN_PB_FIELD(4,  BYTES,  0, onnx_attr, s, NULL),
    TN_PB_FIELD(5,  MSG,    0, onnx_attr, t, &onnx_tensor_msg),
    TN_PB_FIELD(6,  MSG,    0, onnx_attr, g, &graph_msg),
    TN_PB_FIELD(7,  FLOAT,  1, onnx_attr, floats, NULL),
    TN_PB_FIELD(8,  INT,    1, onnx_attr, ints, NULL),
    TN_PB_FIELD(9,  BYTES,  1, onnx_attr, strings, NULL),
    TN_PB_FIELD(20, INT,    0, onnx_attr, type, NULL),
    TN_PB_FIELD(21, BYTES,  0, onnx_attr, ref_attr_name, NULL),
    TN_PB_FIELD(22, MSG,    0, onnx_attr, sparse_tensor, &sparse_msg),
};
static const tn_pb_msg attr_msg = TN_PB_MESSAGE("AttributeProto", onnx_attr, attr_fields);

static const tn_pb_field node_fields[] = {
    TN_PB_FIELD(1,  BYTES,  1, onnx_node, input, NULL),
    TN_PB_FIELD(2,  BYTES,  1, onnx_node, output, NULL),
    TN_PB_FIELD(3,  BYTES,  0, onnx_node, name, NULL),
    TN_PB_FIELD(4,  BYTES,  0, onnx_node, op_type, NULL),
    TN_PB_FIELD(5,  MSG,    1, onnx_node, attribute, &attr_msg),
    TN_PB_FIELD(7,  BYTES,  0, onnx_node, domain, NULL),
    TN_PB_FIELD(8,  BYTES,  0, onnx_node, overload, NULL),
};
static const tn_pb_msg node_msg = TN_PB_MESSAGE("NodeProto", onnx_node, node_fields);

static const tn_pb_field dim_fields[] = {
    TN_PB_FIELD(1,  INT,    1, onnx_dim, dim_value, NULL),
    TN_PB_FIELD(2,  BYTES,  0, onnx_dim, dim_param, NULL),
};
static const tn_pb_msg dim_msg = TN_PB_MESSAGE("Dimension", onnx_dim, dim_fields);

static const tn_pb_field shape_fields[] = {
    TN_PB_FIELD(1,  MSG,    1, onnx_shape, dim, &dim_msg),
};
static const tn_pb_msg shape_msg = TN_PB_MESSAGE("TensorShapeProto", onnx_shape, shape_fields);

static const tn_pb_field tensor_type_fields[] = {
    TN_PB_FIELD(1,  INT,    0, onnx_tensor_type, elem_type, NULL),
    TN_PB_FIELD(2,  MSG,    0, onnx_tensor_type, shape, &shape_msg),
};
static const tn_pb_msg tensor_type_msg = TN_PB_MESSAGE("TypeProto.Tensor", onnx_tensor_type, tensor_type_fields);

static const tn_pb_field type_fields[] = {
    TN_PB_FIELD(1,  MSG,    0, onnx_type_proto, tensor_type, &tensor_type_msg),
    TN_PB_FIELD(4,  BYTES,  0, onnx_type_proto, sequence_type, NULL),
    TN_PB_FIELD(5,  BYTES,  0, onnx_type_proto, map_type, NULL),
    TN_PB_FIELD(8,  BYTES,  0, onnx_type_proto, sparse_tensor_type, NULL),
    TN_PB_FIELD(9,  BYTES,  0, onnx_type_proto, optional_type, NULL),
};
static const tn_pb_msg type_msg = TN_PB_MESSAGE("TypeProto", onnx_type_proto, type_fields);

static const tn_pb_field optional_fields[] = {
    TN_PB_FIELD(1,  MSG,    0, onnx_optional_type, elem_type, &type_msg),
};
const tn_pb_msg onnx_optional_msg = TN_PB_MESSAGE("TypeProto.Optional", onnx_optional_type, optional_fields);

static const tn_pb_field map_fields[] = {
    TN_PB_FIELD(1,  INT,    0, onnx_map_type, key_type, NULL),
    TN_PB_FIELD(2,  MSG,    0, onnx_map_type, value_type, &type_msg),
};
const tn_pb_msg onnx_map_msg = TN_PB_MESSAGE("TypeProto.Map", onnx_map_type, map_fields);

static const tn_pb_field value_info_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, onnx_value_info, name, NULL),
    TN_PB_FIELD(2,  MSG,    0, onnx_value_info, type, &type_msg),
};
static const tn_pb_msg value_info_msg = TN_PB_MESSAGE("ValueInfoProto", onnx_value_info, value_info_fields);

static const tn_pb_field graph_fields[] = {
    TN_PB_FIELD(1,  MSG,    1, onnx_graph, node, &node_msg),
    TN_PB_FIELD(2,  BYTES,  0, onnx_graph, name, NULL),
    TN_PB_FIELD(5,  MSG,    1, onnx_graph, initializer, &onnx_tensor_msg),
    TN_PB_FIELD(10, BYTES,  0, onnx_graph, doc_string, NULL),
    TN_PB_FIELD(11, MSG,    1, onnx_graph, input, &value_info_msg),
    TN_PB_FIELD(12, MSG,    1, onnx_graph, output, &value_info_msg),
    TN_PB_FIELD(15, MSG,    1, onnx_graph, sparse_initializer, &sparse_msg),
};
static const tn_pb_msg graph_msg = TN_PB_MESSAGE("GraphProto", onnx_graph, graph_fields);

static const tn_pb_field opset_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, onnx_opset, domain, NULL),
    TN_PB_FIELD(2,  INT,    0, onnx_opset, version, NULL),
};
static const tn_pb_msg opset_msg = TN_PB_MESSAGE("OperatorSetIdProto", onnx_opset, opset_fields);

static const tn_pb_field function_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, onnx_function, name, NULL),
    TN_PB_FIELD(4,  BYTES,  1, onnx_function, input, NULL),
    TN_PB_FIELD(5,  BYTES,  1, onnx_function, output, NULL),
    TN_PB_FIELD(6,  BYTES,  1, onnx_function, attribute, NULL),
    TN_PB_FIELD(7,  MSG,    1, onnx_function, node, &node_msg),
    TN_PB_FIELD(9,  MSG,    1, onnx_function, opset_import, &opset_msg),
    TN_PB_FIELD(10, BYTES,  0, onnx_function, domain, NULL),
    TN_PB_FIELD(11, MSG,    1, onnx_function, attribute_proto, &attr_msg),
    TN_PB_FIELD(13, BYTES,  0, onnx_function, overload, NULL),
};
static const tn_pb_msg function_msg = TN_PB_MESSAGE("FunctionProto", onnx_function, function_fields);

static const tn_pb_field model_fields[] = {
    TN_PB_FIELD(1,  INT,    0, onnx_model, ir_version, NULL),
    TN_PB_FIELD(2,  BYTES,  0, onnx_model, producer_name, NULL),
    TN_PB_FIELD(3,  BYTES,  0, onnx_model, producer_version, NULL),
    TN_PB_FIELD(4,  BYTES,  0, onnx_model, domain, NULL),
    TN_PB_FIELD(5,  INT,    0, onnx_model, model_version, NULL),
    TN_PB_FIELD(6,  BYTES,  0, onnx_model, doc_string, NULL),
    TN_PB_FIELD(7,  MSG,    0, onnx_model, graph, &graph_msg),
    TN_PB_FIELD(8,  MSG,    1, onnx_model, opset_import, &opset_msg),
    TN_PB_FIELD(14, MSG,    1, onnx_model, metadata_props, &pair_msg),
    TN_PB_FIELD(25, MSG,    1, onnx_model, functions, &function_msg),
};
const tn_pb_msg onnx_model_msg = TN_PB_MESSAGE("ModelProto", onnx_model, model_fields);
// clang-format on
