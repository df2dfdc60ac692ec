#ifndef TN_FRONTEND_TENSORFLOW_PROTO_H
#define TN_FRONTEND_TENSORFLOW_PROTO_H
/* The messages of TensorFlow that matter here, as structs (tensorflow/core/framework and protobuf). A field that may be
 * absent and whose 0 means something is a list of at most one. Maps are lists of entries. */
#include "base/wire/pb_text.h"

typedef struct tf_dim {
    int64_t size; /* -1: not told */
} tf_dim;

typedef struct tf_shape {
    tn_pb_array dim; /* tf_dim */
    int64_t unknown_rank;
} tf_shape;

typedef struct tf_tensor {
    int64_t dtype;
    tf_shape *tensor_shape;
    tn_bytes tensor_content;
    tn_pb_array half_val, float_val, double_val, int_val, string_val, int64_val, bool_val, uint32_val,
        uint64_val, scomplex_val, dcomplex_val; /* of complex numbers two entries each */
    tn_bytes float8_val;
} tf_tensor;

typedef struct tf_func { /* NameAttrList */
    tn_bytes name;
    tn_pb_array attr; /* tf_attr */
} tf_func;

typedef struct tf_list {
    tn_pb_array s, i, f, b, type, shape, tensor, func;
} tf_list;

typedef struct tf_value { /* AttrValue: one of them */
    tf_list *list;
    tn_pb_array s, i, f, b, type;
    tf_shape *shape;
    tf_tensor *tensor;
    tn_bytes placeholder; /* an attribute of the function around */
    tf_func *func;
} tf_value;

typedef struct tf_attr {
    tn_bytes key;
    tf_value *value;
} tf_attr;

typedef struct tf_node_def {
    tn_bytes name, op;
    tn_pb_array input; /* tn_bytes */
    tn_pb_array attr;  /* tf_attr */
} tf_node_def;

typedef struct tf_arg {
    tn_bytes name;
    int64_t type;
    tn_bytes type_attr, number_attr, type_list_attr;
} tf_arg;

typedef struct tf_op_def {
    tn_bytes name;
    tn_pb_array input_arg, output_arg; /* tf_arg */
} tf_op_def;

typedef struct tf_pair {
    tn_bytes key, value;
} tf_pair;

typedef struct tf_function {
    tf_op_def *signature;
    tn_pb_array node_def;         /* tf_node_def */
    tn_pb_array ret, control_ret; /* tf_pair */
} tf_function;

typedef struct tf_library {
    tn_pb_array function;
} tf_library;

typedef struct tf_graph_def {
    tn_pb_array node; /* tf_node_def */
    tf_library *library;
} tf_graph_def;

typedef struct tf_tensor_info {
    tn_bytes name;
    int64_t dtype;
    tf_shape *tensor_shape;
} tf_tensor_info;

typedef struct tf_named_info {
    tn_bytes key;
    tf_tensor_info *value;
} tf_named_info;

typedef struct tf_signature {
    tn_pb_array inputs, outputs; /* tf_named_info */
    tn_bytes method_name;
} tf_signature;

typedef struct tf_named_signature {
    tn_bytes key;
    tf_signature *value;
} tf_named_signature;

typedef struct tf_meta_info {
    tn_pb_array tags; /* tn_bytes */
    tn_bytes tensorflow_version;
} tf_meta_info;

typedef struct tf_asset { /* a file in the folder `assets`, and the constant that names it */
    tf_tensor_info *tensor_info;
    tn_bytes filename;
} tf_asset;

typedef struct tf_meta_graph {
    tf_meta_info *meta_info_def;
    tf_graph_def *graph_def;
    tn_pb_array signature_def;  /* tf_named_signature */
    tn_pb_array asset_file_def; /* tf_asset */
} tf_meta_graph;

typedef struct tf_saved_model {
    int64_t saved_model_schema_version;
    tn_pb_array meta_graphs; /* tf_meta_graph */
} tf_saved_model;

/* ---- checkpoints ---- */

typedef struct tf_bundle_header {
    int64_t num_shards, endianness;
} tf_bundle_header;

typedef struct tf_bundle_entry {
    int64_t dtype;
    tf_shape *shape;
    int64_t shard_id, offset, size;
    tn_pb_array slices;   /* tn_bytes: of a variable that is stored in parts */
    bool old, sliced;     /* of the first form; in several parts, or a part alone */
    tn_bytes data;        /* of the first form: a TensorProto without a type and a shape */
    const char *where;    /* ... the file that it lies in, beside the model, */
    const uint8_t *begin; /* ... and where that begins */
} tf_bundle_entry;

/* SavedTensorSlices of the first form */
typedef struct tf_saved_meta {
    tn_bytes name;
    tf_shape *shape;
    int64_t type;
} tf_saved_meta;

typedef struct tf_saved_metas {
    tn_pb_array tensor; /* tf_saved_meta */
} tf_saved_metas;

typedef struct tf_saved_slice {
    tn_bytes name, slice, data; /* TensorSliceProto, TensorProto */
} tf_saved_slice;

typedef struct tf_saved_slices {
    tf_saved_metas *meta;
    tf_saved_slice *data;
} tf_saved_slices;

typedef struct tf_serialized_tensor {
    tn_bytes name, full_name, checkpoint_key;
} tf_serialized_tensor;

typedef struct tf_trackable {
    tn_pb_array attributes; /* tf_serialized_tensor */
} tf_trackable;

typedef struct tf_object_graph {
    tn_pb_array nodes; /* tf_trackable */
} tf_object_graph;

extern const tn_pb_word tf_words[]; /* names of DataType in texts */
extern const tn_pb_msg tf_graph_def_msg, tf_meta_graph_msg, tf_saved_model_msg, tf_bundle_header_msg,
    tf_bundle_entry_msg, tf_object_graph_msg, tf_saved_slices_msg, tf_tensor_msg, tf_node_def_msg;

#endif
