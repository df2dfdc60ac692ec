#ifndef TN_FRONTEND_TVM_TEXT_H
#define TN_FRONTEND_TVM_TEXT_H
/* Writing a saved module as Relay text: what functions and expressions (text.c) and data types (text_data.c) share. */
#include "frontend/tvm/saved.h"

typedef struct tvm_writer {
    tvm_saved *s;
    tn_arena *a;
    tn_buf *out;
    int64_t *line;        /* of each node: its line + 1; 0: none */
    uint8_t *opened;      /* is being written: coming here again is a cycle */
    tn_vec(int64_t) done; /* nodes that have lines, in order */
    tn_vec(int64_t) todo;
    tn_vec(const tn_blob *) constant;
    int64_t *constant_of; /* of each node: its number + 1 */
    int64_t next;         /* line */
    size_t most;          /* bytes of text */
    tn_strmap names;      /* of variables -> their nodes */
    int depth;
    const char *why; /* what is wrong; NULL: nothing */
} tvm_writer;

bool tvm_fail(tvm_writer *w, const char *why); /* false; the first reason counts */
bool tvm_has_room(tvm_writer *w);
int64_t tvm_number_of(const tvm_writer *w, const tn_json *node);
/* Arrays of nodes. */
const tn_json *tvm_list_of(const tn_json *node);
const tn_json *tvm_element(tvm_writer *w, const tn_json *list, uint32_t i);
uint32_t tvm_length(const tn_json *list);

void tvm_put_name(tn_buf *b, tn_bytes s);
void tvm_put_variable(tvm_writer *w, const tn_json *var);
bool tvm_put_type(tvm_writer *w, const tn_json *t, int depth);
bool tvm_put_operand(tvm_writer *w, const tn_json *n);
bool tvm_put_block(tvm_writer *w, const tn_json *body);

/* ---- text_data.c ---- */
bool tvm_put_data_type(tvm_writer *w, const tn_json *t, int depth); /* List[A], A */
bool tvm_put_type_params(tvm_writer *w, const tn_json *params);     /* [A, B]; none: nothing */
bool tvm_put_data(tvm_writer *w, const tn_json *definitions);       /* a map of names to definitions */
bool tvm_put_match(tvm_writer *w, const tn_json *match);

#endif
