#ifndef TN_FRONTEND_TENSORFLOW_NODE_H
#define TN_FRONTEND_TENSORFLOW_NODE_H
/* Nodes of TensorFlow, also inside of models of other formats: their operators are rows of the tables that tables.def
 * calls plain. */
#include "frontend/import/convert.h"
#include "frontend/tensorflow/tf_proto.h"

/* A call of a function of the model that is being converted. */
typedef struct tf_frame {
    struct tf_frame *up;
    const tf_function *fn;
    const tn_pb_array *attr; /* tf_attr: of the call */
    const char *name;
} tf_frame;

/* A serialised NodeDef, in the model's scratch; NULL: damaged. */
const tf_node_def *tf_read_node(imp_model *im, tn_bytes data);
/* The attributes of c are those of the node; where they name one of the function around, f says what it is. */
void tf_read_attributes(imp_model *im, const tf_frame *f, const tf_node_def *n, imp_node *c);

#endif
