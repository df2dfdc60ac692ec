#ifndef TN_IR_ATTR_H
#define TN_IR_ATTR_H
/* Attributes: a plain struct per operator and one table of fields that drives parsing, printing, hashing,
 * comparing, importers and bindings. */
#include "ir/lex.h"

enum tn_attr_kind {
    TN_A_I64,
    TN_A_F64,
    TN_A_BOOL,
    TN_A_STR,
    TN_A_DTYPE,
    TN_A_INTS,
    TN_A_DIMS,
    TN_A_STRS,
    TN_A_REALS
};

typedef struct tn_ints {
    uint32_t n;
    const int64_t *at;
} tn_ints;
typedef struct tn_dims {
    uint32_t n;
    const tn_expr *const *at;
} tn_dims; /* index expressions over symbols */
typedef struct tn_strs {
    uint32_t n;
    const char *const *at;
} tn_strs; /* interned */
typedef struct tn_reals {
    uint32_t n;
    const double *at;
} tn_reals;
/* None is at == NULL (a zeroed struct), unlike the empty list []. A DTYPE of zeros is None too.
 * A STR is interned; NULL prints None. */
#define TN_ATTR_TYPE_I64 int64_t
#define TN_ATTR_TYPE_F64 double
#define TN_ATTR_TYPE_BOOL bool
#define TN_ATTR_TYPE_STR const char *
#define TN_ATTR_TYPE_DTYPE tn_dtype
#define TN_ATTR_TYPE_INTS tn_ints
#define TN_ATTR_TYPE_DIMS tn_dims
#define TN_ATTR_TYPE_STRS tn_strs
#define TN_ATTR_TYPE_REALS tn_reals

typedef struct tn_attr_field {
    const char *name; /* NULL ends the table */
    uint8_t kind;
    uint16_t offset;
    const char *def; /* default as text ("[1, 1]", "0.01", "None"); NULL: required */
    const char *doc;
} tn_attr_field;

/* An attribute list is a macro of rows, from which a struct and its tables are made:
 *
 *     #define TN_CLIP_ATTRS(ATTR, s) \
 *         ATTR(s, F64, a_min, "0", "smallest value") \
 *         ATTR(s, F64, a_max, NULL, "largest value")
 *     TN_ATTR_STRUCT(tn_clip_attr, TN_CLIP_ATTRS);
 *     static const tn_attr_field clip_fields[] = TN_ATTR_TABLE(tn_clip_attr, TN_CLIP_ATTRS);
 *
 * A row is kind, field, default, doc, as in tn_attr_field. A list may consist of other lists, and a table may show some
 * of a struct's fields only; the others are 0. */
#define TN_ATTR_STRUCT(s, LIST) \
    typedef struct s { \
        LIST(TN_ATTR_MEMBER, s) \
    } s
#define TN_ATTR_TABLE(s, LIST) {LIST(TN_ATTR_ROW, s){0}}
#define TN_ATTR_MEMBER(s, kind, field, def, doc) TN_ATTR_TYPE_##kind field;
#define TN_ATTR_ROW(s, kind, field, def, doc) {#field, TN_A_##kind, offsetof(s, field), def, doc},

tn_status tn_attr_init(tn_pool *p, const tn_attr_field *f, uint32_t size, void *out); /* sets defaults */
/* Parses the value of one field at the lexer; ir-E020 for an unknown name (lists the known ones). */
tn_status tn_attr_parse(tn_lexer *l, tn_pool *p, const tn_scope_fns *scope, const tn_attr_field *table,
                        const char *name, void *attr);
/* Prints ", name=value" for each field that differs from its default. */
void tn_attr_print(tn_pool *p, const tn_attr_field *table, const void *attr, tn_buf *out);
/* All fields as a JSON object: None is null, a number that JSON has no digits for is a string. */
void tn_attr_print_json(const tn_attr_field *table, const void *attr, tn_buf *out);
bool tn_attr_eq(const tn_attr_field *table, const void *a, const void *b);
bool tn_attr_fixed(const tn_attr_field *table, const void *attr); /* no dimension in it depends on a symbol */
uint64_t tn_attr_hash(const tn_attr_field *table, const void *attr);
tn_ints tn_ints_make(tn_arena *a, uint32_t n, const int64_t *at); /* copies */
tn_dims tn_dims_make(tn_arena *a, uint32_t n, const tn_expr *const *at);

#endif
