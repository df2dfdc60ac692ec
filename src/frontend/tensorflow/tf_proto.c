/* The field tables of TensorFlow's messages. A row is: number, type, repeated, where it goes, message, name. */
#include "frontend/tensorflow/tf_proto.h"

// clang-format off
static const tn_pb_field dim_fields[] = {
    TN_PB_FIELD(1,  INT,    0, tf_dim, size, NULL),
};
static const tn_pb_msg dim_msg = TN_PB_MESSAGE("Dim", tf_dim, dim_fields);

static const tn_pb_field shape_fields[] = {
    TN_PB_FIELD(2,  MSG,    1, tf_shape, dim, &dim_msg),
    TN_PB_FIELD(3,  INT,    0, tf_shape, unknown_rank, NULL),
};
static const tn_pb_msg shape_msg = TN_PB_MESSAGE("TensorShapeProto", tf_shape, shape_fields);

static const tn_pb_field tensor_fields[] = {
    TN_PB_FIELD(1,  INT,    0, tf_tensor, dtype, NULL),
    TN_PB_FIELD(2,  MSG,    0, tf_tensor, tensor_shape, &shape_msg),
    TN_PB_FIELD(4,  BYTES,  0, tf_tensor, tensor_content, NULL),
    TN_PB_FIELD(5,  FLOAT,  1, tf_tensor, float_val, NULL),
    TN_PB_FIELD(6,  DOUBLE, 1, tf_tensor, double_val, NULL),
    TN_PB_FIELD(7,  INT,    1, tf_tensor, int_val, NULL),
    TN_PB_FIELD(8,  BYTES,  1, tf_tensor, string_val, NULL),
    TN_PB_FIELD(9,  FLOAT,  1, tf_tensor, scomplex_val, NULL),
    TN_PB_FIELD(10, INT,    1, tf_tensor, int64_val, NULL),
    TN_PB_FIELD(11, INT,    1, tf_tensor, bool_val, NULL),
    TN_PB_FIELD(12, DOUBLE, 1, tf_tensor, dcomplex_val, NULL),
    TN_PB_FIELD(13, INT,    1, tf_tensor, half_val, NULL),
    TN_PB_FIELD(16, INT,    1, tf_tensor, uint32_val, NULL),
    TN_PB_FIELD(17, INT,    1, tf_tensor, uint64_val, NULL),
    TN_PB_FIELD(18, BYTES,  0, tf_tensor, float8_val, NULL),
};
const tn_pb_msg tf_tensor_msg = TN_PB_MESSAGE("TensorProto", tf_tensor, tensor_fields);

static const tn_pb_msg attr_msg; /* functions are attributes with attributes; the reader bounds the depth */

static const tn_pb_field func_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, tf_func, name, NULL),
    TN_PB_FIELD(2,  MSG,    1, tf_func, attr, &attr_msg),
};
static const tn_pb_msg func_msg = TN_PB_MESSAGE("NameAttrList", tf_func, func_fields);

static const tn_pb_field list_fields[] = {
    TN_PB_FIELD(2,  BYTES,  1, tf_list, s, NULL),
    TN_PB_FIELD(3,  INT,    1, tf_list, i, NULL),
    TN_PB_FIELD(4,  FLOAT,  1, tf_list, f, NULL),
    TN_PB_FIELD(5,  INT,    1, tf_list, b, NULL),
    TN_PB_FIELD(6,  INT,    1, tf_list, type, NULL),
    TN_PB_FIELD(7,  MSG,    1, tf_list, shape, &shape_msg),
    TN_PB_FIELD(8,  MSG,    1, tf_list, tensor, &tf_tensor_msg),
    TN_PB_FIELD(9,  MSG,    1, tf_list, func, &func_msg),
};
static const tn_pb_msg list_msg = TN_PB_MESSAGE("ListValue", tf_list, list_fields);

static const tn_pb_field value_fields[] = {
    TN_PB_FIELD(1,  MSG,    0, tf_value, list, &list_msg),
    TN_PB_FIELD(2,  BYTES,  1, tf_value, s, NULL),
    TN_PB_FIELD(3,  INT,    1, tf_value, i, NULL),
    TN_PB_FIELD(4,  FLOAT,  1, tf_value, f, NULL),
    TN_PB_FIELD(5,  INT,    1, tf_value, b, NULL),
    TN_PB_FIELD(6,  INT,    1, tf_value, type, NULL),
    TN_PB_FIELD(7,  MSG,    0, tf_value, shape, &shape_msg),
    TN_PB_FIELD(8,  MSG,    0, tf_value, tensor, &tf_tensor_msg),
    TN_PB_FIELD(9,  BYTES,  0, tf_value, placeholder, NULL),
    TN_PB_FIELD(10, MSG,    0, tf_value, func, &func_msg),
};
static const tn_pb_msg value_msg = TN_PB_MESSAGE("AttrValue", tf_value, value_fields);

static const tn_pb_field attr_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, tf_attr, key, NULL),
    TN_PB_FIELD(2,  MSG,    0, tf_attr, value, &value_msg),
};
static const tn_pb_msg attr_msg = TN_PB_MESSAGE("AttrEntry", tf_attr, attr_fields);

static const tn_pb_field node_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, tf_node_def, name, NULL),
    TN_PB_FIELD(2,  BYTES,  0, tf_node_def, op, NULL),
    TN_PB_FIELD(3,  BYTES,  1, tf_node_def, input, NULL),
    TN_PB_FIELD(5,  MSG,    1, tf_node_def, attr, &attr_msg),
};
const tn_pb_msg tf_node_def_msg = TN_PB_MESSAGE("NodeDef", tf_node_def, node_fields);

static const tn_pb_field arg_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, tf_arg, name, NULL),
    TN_PB_FIELD(3,  INT,    0, tf_arg, type, NULL),
    TN_PB_FIELD(4,  BYTES,  0, tf_arg, type_attr, NULL),
    TN_PB_FIELD(5,  BYTES,  0, tf_arg, number_attr, NULL),
    TN_PB_FIELD(6,  BYTES,  0, tf_arg, type_list_attr, NULL),
};
static const tn_pb_msg arg_msg = TN_PB_MESSAGE("ArgDef", tf_arg, arg_fields);

static const tn_pb_field op_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, tf_op_def, name, NULL),
    TN_PB_FIELD(2,  MSG,    1, tf_op_def, input_arg, &arg_msg),
    TN_PB_FIELD(3,  MSG,    1, tf_op_def, output_arg, &arg_msg),
};
static const tn_pb_msg op_msg = TN_PB_MESSAGE("OpDef", tf_op_def, op_fields);

static const tn_pb_field pair_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, tf_pair, key, NULL),
    TN_PB_FIELD(2,  BYTES,  0, tf_pair, value, NULL),
};
static const tn_pb_msg pair_msg = TN_PB_MESSAGE("RetEntry", tf_pair, pair_fields);

static const tn_pb_field function_fields[] = {
    TN_PB_FIELD(1,  MSG,    0, tf_function, signature, &op_msg),
    TN_PB_FIELD(3,  MSG,    1, tf_function, node_def, &tf_node_def_msg),
    TN_PB_FIELD(4,  MSG,    1, tf_function, ret, &pair_msg),
    TN_PB_FIELD(6,  MSG,    1, tf_function, control_ret, &pair_msg),
};
static const tn_pb_msg function_msg = TN_PB_MESSAGE("FunctionDef", tf_function, function_fields);

static const tn_pb_field library_fields[] = {
    TN_PB_FIELD(1,  MSG,    1, tf_library, function, &function_msg),
};
static const tn_pb_msg library_msg = TN_PB_MESSAGE("FunctionDefLibrary", tf_library, library_fields);

static const tn_pb_field graph_fields[] = {
    TN_PB_FIELD(1,  MSG,    1, tf_graph_def, node, &tf_node_def_msg),
    TN_PB_FIELD(2,  MSG,    0, tf_graph_def, library, &library_msg),
};
const tn_pb_msg tf_graph_def_msg = TN_PB_MESSAGE("GraphDef", tf_graph_def, graph_fields);

static const tn_pb_field info_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, tf_tensor_info, name, NULL),
    TN_PB_FIELD(2,  INT,    0, tf_tensor_info, dtype, NULL),
    TN_PB_FIELD(3,  MSG,    0, tf_tensor_info, tensor_shape, &shape_msg),
};
static const tn_pb_msg info_msg = TN_PB_MESSAGE("TensorInfo", tf_tensor_info, info_fields);

static const tn_pb_field named_info_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, tf_named_info, key, NULL),
    TN_PB_FIELD(2,  MSG,    0, tf_named_info, value, &info_msg),
};
static const tn_pb_msg named_info_msg = TN_PB_MESSAGE("TensorInfoEntry", tf_named_info, named_info_fields);

static const tn_pb_field signature_fields[] = {
    TN_PB_FIELD(1,  MSG,    1, tf_signature, inputs, &named_info_msg),
    TN_PB_FIELD(2,  MSG,    1, tf_signature, outputs, &named_info_msg),
    TN_PB_FIELD(3,  BYTES,  0, tf_signature, method_name, NULL),
};
static const tn_pb_msg signature_msg = TN_PB_MESSAGE("SignatureDef", tf_signature, signature_fields);

static const tn_pb_field named_signature_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, tf_named_signature, key, NULL),
    TN_PB_FIELD(2,  MSG,    0, tf_named_signature, value, &signature_msg),
};
static const tn_pb_msg named_signature_msg =
    TN_PB_MESSAGE("SignatureEntry", tf_named_signature, named_signature_fields);

static const tn_pb_field meta_info_fields[] = {
    TN_PB_FIELD(4,  BYTES,  1, tf_meta_info, tags, NULL),
    TN_PB_FIELD(5,  BYTES,  0, tf_meta_info, tensorflow_version, NULL),
};
static const tn_pb_msg meta_info_msg = TN_PB_MESSAGE("MetaInfoDef", tf_meta_info, meta_info_fields);

static const tn_pb_field asset_fields[] = {
    TN_PB_FIELD(1,  MSG,    0, tf_asset, tensor_info, &info_msg),
    TN_PB_FIELD(2,  BYTES,  0, tf_asset, filename, NULL),
};
static const tn_pb_msg asset_msg = TN_PB_MESSAGE("AssetFileDef", tf_asset, asset_fields);

static const tn_pb_field meta_graph_fields[] = {
    TN_PB_FIELD(1,  MSG,    0, tf_meta_graph, meta_info_def, &meta_info_msg),
    TN_PB_FIELD(2,  MSG,    0, tf_meta_graph, graph_def, &tf_graph_def_msg),
    TN_PB_FIELD(5,  MSG,    1, tf_meta_graph, signature_def, &named_signature_msg),
    TN_PB_FIELD(6,  MSG,    1, tf_meta_graph, asset_file_def, &asset_msg),
};
const tn_pb_msg tf_meta_graph_msg = TN_PB_MESSAGE("MetaGraphDef", tf_meta_graph, meta_graph_fields);

static const tn_pb_field saved_model_fields[] = {
    TN_PB_FIELD(1,  INT,    0, tf_saved_model, saved_model_schema_version, NULL),
    TN_PB_FIELD(2,  MSG,    1, tf_saved_model, meta_graphs, &tf_meta_graph_msg),
};
const tn_pb_msg tf_saved_model_msg = TN_PB_MESSAGE("SavedModel", tf_saved_model, saved_model_fields);

static const tn_pb_field header_fields[] = {
    TN_PB_FIELD(1,  INT,    0, tf_bundle_header, num_shards, NULL),
    TN_PB_FIELD(2,  INT,    0, tf_bundle_header, endianness, NULL),
};
const tn_pb_msg tf_bundle_header_msg = TN_PB_MESSAGE("BundleHeaderProto", tf_bundle_header, header_fields);

static const tn_pb_field entry_fields[] = {
    TN_PB_FIELD(1,  INT,    0, tf_bundle_entry, dtype, NULL),
    TN_PB_FIELD(2,  MSG,    0, tf_bundle_entry, shape, &shape_msg),
    TN_PB_FIELD(3,  INT,    0, tf_bundle_entry, shard_id, NULL),
    TN_PB_FIELD(4,  INT,    0, tf_bundle_entry, offset, NULL),
    TN_PB_FIELD(5,  INT,    0, tf_bundle_entry, size, NULL),
    TN_PB_FIELD(7,  BYTES,  1, tf_bundle_entry, slices, NULL),
};
const tn_pb_msg tf_bundle_entry_msg = TN_PB_MESSAGE("BundleEntryProto", tf_bundle_entry, entry_fields);

static const tn_pb_field saved_meta_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, tf_saved_meta, name, NULL),
    TN_PB_FIELD(2,  MSG,    0, tf_saved_meta, shape, &shape_msg),
    TN_PB_FIELD(3,  INT,    0, tf_saved_meta, type, NULL),
};
static const tn_pb_msg saved_meta_msg = TN_PB_MESSAGE("SavedSliceMeta", tf_saved_meta, saved_meta_fields);

static const tn_pb_field saved_metas_fields[] = {
    TN_PB_FIELD(1,  MSG,    1, tf_saved_metas, tensor, &saved_meta_msg),
};
static const tn_pb_msg saved_metas_msg = TN_PB_MESSAGE("SavedTensorSliceMeta", tf_saved_metas, saved_metas_fields);

static const tn_pb_field saved_slice_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, tf_saved_slice, name, NULL),
    TN_PB_FIELD(2,  BYTES,  0, tf_saved_slice, slice, NULL),
    TN_PB_FIELD(3,  BYTES,  0, tf_saved_slice, data, NULL),
};
static const tn_pb_msg saved_slice_msg = TN_PB_MESSAGE("SavedSlice", tf_saved_slice, saved_slice_fields);

static const tn_pb_field saved_slices_fields[] = {
    TN_PB_FIELD(1,  MSG,    0, tf_saved_slices, meta, &saved_metas_msg),
    TN_PB_FIELD(2,  MSG,    0, tf_saved_slices, data, &saved_slice_msg),
};
const tn_pb_msg tf_saved_slices_msg = TN_PB_MESSAGE("SavedTensorSlices", tf_saved_slices, saved_slices_fields);

static const tn_pb_field serialized_fields[] = {
    TN_PB_FIELD(1,  BYTES,  0, tf_serialized_tensor, name, NULL),
    TN_PB_FIELD(2,  BYTES,  0, tf_serialized_tensor, full_name, NULL),
    TN_PB_FIELD(3,  BYTES,  0, tf_serialized_tensor, checkpoint_key, NULL),
};
static const tn_pb_msg serialized_msg = TN_PB_MESSAGE("SerializedTensor", tf_serialized_tensor, serialized_fields);

static const tn_pb_field trackable_fields[] = {
    TN_PB_FIELD(2,  MSG,    1, tf_trackable, attributes, &serialized_msg),
};
static const tn_pb_msg trackable_msg = TN_PB_MESSAGE("TrackableObject", tf_trackable, trackable_fields);

static const tn_pb_field object_graph_fields[] = {
    TN_PB_FIELD(1,  MSG,    1, tf_object_graph, nodes, &trackable_msg),
};
const tn_pb_msg tf_object_graph_msg = TN_PB_MESSAGE("TrackableObjectGraph", tf_object_graph, object_graph_fields);

const tn_pb_word tf_words[] = {
    {"DT_FLOAT", 1}, {"DT_FLOAT_REF", 101},
    {"DT_DOUBLE", 2}, {"DT_DOUBLE_REF", 102},
    {"DT_INT32", 3}, {"DT_INT32_REF", 103},
    {"DT_UINT8", 4}, {"DT_UINT8_REF", 104},
    {"DT_INT16", 5}, {"DT_INT16_REF", 105},
    {"DT_INT8", 6}, {"DT_INT8_REF", 106},
    {"DT_STRING", 7}, {"DT_STRING_REF", 107},
    {"DT_COMPLEX64", 8}, {"DT_COMPLEX64_REF", 108},
    {"DT_INT64", 9}, {"DT_INT64_REF", 109},
    {"DT_BOOL", 10}, {"DT_BOOL_REF", 110},
    {"DT_QINT8", 11}, {"DT_QINT8_REF", 111},
    {"DT_QUINT8", 12}, {"DT_QUINT8_REF", 112},
    {"DT_QINT32", 13}, {"DT_QINT32_REF", 113},
    {"DT_BFLOAT16", 14}, {"DT_BFLOAT16_REF", 114},
    {"DT_QINT16", 15}, {"DT_QINT16_REF", 115},
    {"DT_QUINT16", 16}, {"DT_QUINT16_REF", 116},
    {"DT_UINT16", 17}, {"DT_UINT16_REF", 117},
    {"DT_COMPLEX128", 18}, {"DT_COMPLEX128_REF", 118},
    {"DT_HALF", 19}, {"DT_HALF_REF", 119},
    {"DT_RESOURCE", 20}, {"DT_RESOURCE_REF", 120},
    {"DT_VARIANT", 21}, {"DT_VARIANT_REF", 121},
    {"DT_UINT32", 22}, {"DT_UINT32_REF", 122},
    {"DT_UINT64", 23}, {"DT_UINT64_REF", 123},
    {0},
};
// clang-format on
