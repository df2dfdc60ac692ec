#ifndef TN_IR_ATTR_H
#define TN_IR_ATTR_H
/* Attributes: a plain struct per operator and one table of fields that drives parsing, printing, hashing,
 * comparing, importers and bindings. */
#include "ir/lex.h"

enum tn_attr_kind { TN_A_I64, TN_A_F64, TN_A_BOOL, TN_A_STR, TN_A_DTYPE, TN_A_INTS, TN_A_DIMS, TN_A_STRS };

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
/* None is at == NULL (a zeroed struct), unlike the empty list []. A DTYPE of zeros is None too.
 * C types: I64 int64_t, F64 double, BOOL bool, STR const char* (interned; NULL prints None), DTYPE tn_dtype. */

typedef struct tn_attr_field {
    const char *name; /* NULL ends the table */
    uint8_t kind;
    uint16_t offset;
    const char *def; /* default as text ("[1, 1]", "0.01", "None"); NULL: required */
    const char *doc;
} tn_attr_field;

tn_status tn_attr_init(tn_pool *p, const tn_attr_field *f, uint32_t size, void *out); /* sets defaults */
/* Parses the value of one field at the lexer; ir-E020 for an unknown name (lists the known ones). */
tn_status tn_attr_parse(tn_lexer *l, tn_pool *p, const tn_scope_fns *scope, const tn_attr_field *table,
                        const char *name, void *attr);
/* Prints ", name=value" for each field that differs from its default. */
void tn_attr_print(tn_pool *p, const tn_attr_field *table, const void *attr, tn_buf *out);
bool tn_attr_eq(const tn_attr_field *table, const void *a, const void *b);
bool tn_attr_fixed(const tn_attr_field *table, const void *attr); /* no dimension in it depends on a symbol */
uint64_t tn_attr_hash(const tn_attr_field *table, const void *attr);
tn_ints tn_ints_make(tn_arena *a, uint32_t n, const int64_t *at); /* copies */
tn_dims tn_dims_make(tn_arena *a, uint32_t n, const tn_expr *const *at);

#endif
