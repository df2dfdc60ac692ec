#ifndef TN_BASE_WIRE_PB_TEXT_H
#define TN_BASE_WIRE_PB_TEXT_H
/* Text of Protocol Buffers, as .prototxt and .pbtxt files have it: as a tree, and from there in the wire format. */
#include "base/wire/pb.h"

typedef struct tn_pb_text tn_pb_text;
struct tn_pb_text {       /* a field */
    tn_bytes name, value; /* a message has no value; strings are without their quotes, with their escapes */
    bool message, asked;  /* asked: somebody looked at it */
    uint32_t line;
    tn_pb_text *child, *next;
};

/* The fields of a text as one message, which points into the text; NULL: it is none, *out_why and *out_line. */
tn_pb_text *tn_pb_text_read(struct tn_arena *a, tn_bytes text, const char **out_why, uint32_t *out_line);
tn_pb_text *tn_pb_text_find(tn_pb_text *message,
                            const char *name); /* the first; NULL: absent, or no message */
tn_pb_text *tn_pb_text_again(tn_pb_text *f);   /* the next one of that name */

typedef struct tn_pb_word { /* what an enumeration calls a number; ended by NULL */
    const char *word;
    int64_t number;
} tn_pb_word;
/* Adds the message in the wire format. Fields that the table does not have are left out, as tn_pb_read skips them. NULL
 * on success, else static error text and the line. */
const char *tn_pb_text_encode(const tn_pb_text *message, const tn_pb_msg *msg, const tn_pb_word *words,
                              tn_buf *out, uint32_t *out_line);

#endif
