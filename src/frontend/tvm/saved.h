#ifndef TN_FRONTEND_TVM_SAVED_H
#define TN_FRONTEND_TVM_SAVED_H
/* What TVM saves as JSON (tvm.ir.save_json, and the metadata of Relay texts): a list of nodes that name each other by
 * their places, and tensors in base64. */
#include "base/wire/json.h"
#include "frontend/import/import.h"

typedef struct tvm_saved {
    imp_model *im;
    tn_json_doc doc;
    const tn_json *nodes, *tensors; /* arrays */
    int64_t root;
    size_t bytes;    /* of the tensors that have been read */
    size_t work;     /* of the attributes that have been written, in bytes */
    tn_strmap lists; /* of metadata: type -> its list's node */
} tvm_saved;

typedef struct tvm_tensor {
    tn_dtype dtype;
    size_t n;
    int64_t dim[IMP_MAX_RANK];
    const tn_blob *blob;
} tvm_tensor;

/* NULL, or what is wrong. tvm_close in both cases. */
const char *tvm_open(imp_model *im, tn_bytes text, tvm_saved *out);
void tvm_close(tvm_saved *s);
/* Node 0 is none, and so is what does not exist: NULL. */
const tn_json *tvm_node(const tvm_saved *s, int64_t i);
bool tvm_is(const tn_json *node, const char *type); /* "Call": relay.Call as well */
const tn_json *tvm_attr(const tn_json *node, const char *name);
int64_t tvm_number(const tn_json *v, int64_t none); /* an integer, or its text */
const tn_json *tvm_ref(const tvm_saved *s, const tn_json *node, const char *name);
/* A text among the attributes, which newer releases keep as a node of its own. */
tn_bytes tvm_string(const tvm_saved *s, const tn_json *node, const char *name);
tn_bytes tvm_text(const tn_json *v);    /* of a string; at NULL: it is none */
tn_bytes tvm_repr(const tn_json *node); /* what a text or operator is */
/* Tensor i of the list; NULL, or what is wrong. */
const char *tvm_read_tensor(tvm_saved *s, int64_t i, tvm_tensor *out);
/* The metadata section of a text. false: it has none that can be read. tvm_close in both cases. */
bool tvm_open_metadata(imp_model *im, tn_bytes text, tvm_saved *out);
const tn_json *tvm_metadata(const tvm_saved *s, const char *type, int64_t k); /* meta[type][k]; NULL: none */
/* Its constants by their places; NULL: there are none. */
const tn_blob *const *tvm_read_constants(tvm_saved *s, size_t *out_n);
/* Attributes k of a type, as a text for a call of op: tn_relay_metadata.attributes, of a tvm_saved. */
const char *tvm_metadata_attributes(void *user, const char *type, int64_t k, const char *op,
                                    const char **out_why);
/* A saved module as Relay text, and its constants. NULL, or what is wrong. */
const char *tvm_write_text(tvm_saved *s, tn_buf *out, const tn_blob *const **out_constant, size_t *out_n);

#endif
