#ifndef TN_FRONTEND_ONNX_PROTO_H
#define TN_FRONTEND_ONNX_PROTO_H
/* The messages of an ONNX model as structs, read by field tables (base/wire/pb.h) without copying texts or tensor data:
 * slices point into the file. Field numbers are those of onnx.proto; what no importer needs is left out and skipped.
 * Arrays are tn_pb_array of the type named beside them. A scalar whose presence matters is an array (its last entry
 * counts). */
#include "base/wire/pb.h"

typedef struct onnx_string_pair {
    tn_bytes key, value;
} onnx_string_pair;

typedef struct onnx_tensor {   /* TensorProto */
    tn_pb_array dims;          /* int64_t */
    int64_t data_type;         /* TensorProto.DataType */
    tn_pb_array float_data;    /* float */
    tn_pb_array int32_data;    /* int64_t */
    tn_pb_array string_data;   /* tn_bytes */
    tn_pb_array int64_data;    /* int64_t */
    tn_pb_array double_data;   /* double */
    tn_pb_array uint64_data;   /* int64_t, the bits of uint64 */
    tn_bytes name, raw_data;   /* raw_data.at NULL: absent */
    tn_pb_array external_data; /* onnx_string_pair */
    int64_t data_location;     /* 1: external */
} onnx_tensor;

enum onnx_attr_type {                 /* AttributeProto.AttributeType */
                      ONNX_A_ANY = 0, /* not told: models of IR versions 1 and 2 */
                      ONNX_A_FLOAT = 1,
                      ONNX_A_INT = 2,
                      ONNX_A_STRING = 3,
                      ONNX_A_TENSOR = 4,
                      ONNX_A_GRAPH = 5,
                      ONNX_A_FLOATS = 6,
                      ONNX_A_INTS = 7,
                      ONNX_A_STRINGS = 8,
                      ONNX_A_TENSORS = 9,
                      ONNX_A_GRAPHS = 10,
                      ONNX_A_SPARSE_TENSOR = 11,
                      ONNX_A_SPARSE_TENSORS = 12,
                      ONNX_A_TYPE_PROTO = 13,
                      ONNX_A_TYPE_PROTOS = 14
};

typedef struct onnx_graph onnx_graph;

typedef struct onnx_sparse {             /* SparseTensorProto */
    const onnx_tensor *values, *indices; /* the values' name is that of the tensor */
    tn_pb_array dims;                    /* int64_t */
} onnx_sparse;

typedef struct onnx_attr { /* AttributeProto */
    tn_bytes name, s, ref_attr_name;
    float f;
    int64_t i, type; /* enum onnx_attr_type */
    const onnx_tensor *t;
    const onnx_sparse *sparse_tensor;
    const onnx_graph *g;
    tn_pb_array floats;  /* float */
    tn_pb_array ints;    /* int64_t */
    tn_pb_array strings; /* tn_bytes */
} onnx_attr;

typedef struct onnx_node {     /* NodeProto */
    tn_pb_array input, output; /* tn_bytes */
    tn_bytes name, op_type, domain, overload;
    tn_pb_array attribute; /* onnx_attr */
} onnx_node;

typedef struct onnx_dim {  /* TensorShapeProto.Dimension */
    tn_pb_array dim_value; /* int64_t, n 0: absent */
    tn_bytes dim_param;
} onnx_dim;

typedef struct onnx_shape {
    tn_pb_array dim;
} onnx_shape; /* onnx_dim */

typedef struct onnx_tensor_type {
    int64_t elem_type;
    const onnx_shape *shape;
} onnx_tensor_type;

typedef struct onnx_type_proto { /* TypeProto */
    const onnx_tensor_type *tensor_type;
    tn_bytes sequence_type, map_type, sparse_tensor_type, optional_type; /* at NULL: it is none */
} onnx_type_proto;

typedef struct onnx_optional_type {
    const onnx_type_proto *elem_type;
} onnx_optional_type;

typedef struct onnx_value_info {
    tn_bytes name;
    const onnx_type_proto *type;
} onnx_value_info;

struct onnx_graph {   /* GraphProto */
    tn_pb_array node; /* onnx_node */
    tn_bytes name, doc_string;
    tn_pb_array initializer;        /* onnx_tensor */
    tn_pb_array input, output;      /* onnx_value_info */
    tn_pb_array sparse_initializer; /* onnx_sparse */
};

typedef struct onnx_opset {
    tn_bytes domain;
    int64_t version;
} onnx_opset;

typedef struct onnx_function { /* FunctionProto: an operator of the model's own */
    tn_bytes name, domain, overload;
    tn_pb_array input, output;   /* tn_bytes */
    tn_pb_array attribute;       /* tn_bytes: names */
    tn_pb_array attribute_proto; /* onnx_attr: those with defaults */
    tn_pb_array node;            /* onnx_node */
    tn_pb_array opset_import;    /* onnx_opset */
} onnx_function;

typedef struct onnx_model { /* ModelProto */
    int64_t ir_version, model_version;
    tn_bytes producer_name, producer_version, domain, doc_string;
    tn_pb_array metadata_props; /* onnx_string_pair */
    const onnx_graph *graph;
    tn_pb_array opset_import; /* onnx_opset */
    tn_pb_array functions;    /* onnx_function */
} onnx_model;

extern const tn_pb_msg onnx_model_msg;  /* reads an onnx_model */
extern const tn_pb_msg onnx_tensor_msg; /* reads an onnx_tensor */
typedef struct onnx_map_type {
    int64_t key_type;
    const onnx_type_proto *value_type;
} onnx_map_type;
/* What reads the bytes of optional_type and of sequence_type, and those of map_type. */
extern const tn_pb_msg onnx_optional_msg, onnx_map_msg;

#endif
