#ifndef TN_RELAY_ANNOT_H
#define TN_RELAY_ANNOT_H
/* Annotations: the comments of Relay text that carry meaning, so that what is printed reads back and prints the same.
 *
 *   on a line         Gemm_0                                the model node it came from
 *   on a parameter    name=input:0, span=graph input        its own name if no identifier; where it is from
 *   on a constant     fc.weight (256, 64) int8 in NK32n     name, shape, dtype but float32, layout if any
 *
 * Text that comes from models is escaped: control characters, backslash, what would begin or end a comment and blanks
 * at the ends print as \xNN. TVM's own `ty=... span=...` comments are understood.
 */
#include "ir/type.h"

/* Adds s so that it can stand in a comment; characters of `also` are escaped too. */
void tn_annot_escape(tn_buf *out, const char *s, const char *also);
/* The text of an annotation without its escapes, interned; NULL if empty. */
const char *tn_annot_unescape(tn_ctx *ctx, const char *s, size_t n);
/* First comment in the gap between two tokens, trimmed. false: none. */
bool tn_annot_find(const char *from, const char *to, const char **out_text, size_t *out_n);
/* What a line's comment says about its source node; NULL: nothing (TVM's ty=...). */
const char *tn_annot_source(tn_ctx *ctx, const char *s, size_t n);
/* A parameter's comment: its name (if told) and source (if told). */
void tn_annot_param(tn_ctx *ctx, const char *s, size_t n, const char **out_name, const char **out_source);
/* A constant's comment. The type is given as a slice of text: dims "(256, 64)", dtype, layout; n_* 0: not told. */
typedef struct tn_annot_const {
    const char *name; /* interned; NULL: none */
    const char *type;
    size_t n_type; /* TVM's ty=...: a whole type, else: */
    const char *dims;
    size_t n_dims; /* "(256, 64)" */
    const char *dtype;
    size_t n_dtype;
    const char *layout;
    size_t n_layout;
} tn_annot_const;
bool tn_annot_constant(tn_ctx *ctx, const char *s, size_t n, tn_annot_const *out); /* false: tells no shape */

#endif
