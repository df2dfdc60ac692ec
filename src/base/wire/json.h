#ifndef TN_BASE_WIRE_JSON_H
#define TN_BASE_WIRE_JSON_H
/* Strict JSON (RFC 8259) reader into a tree whose strings point into the input where they need no
 * unescaping. Depth <= 128 unless told; duplicate keys are an error; memory is at most 64 bytes a value.
 * Works over (data, n) only and allocates from malloc through tn_json_doc, so the runtime can use it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tn_json_kind { TN_JSON_NULL, TN_JSON_BOOL, TN_JSON_INT, TN_JSON_REAL, TN_JSON_STRING, TN_JSON_ARRAY, TN_JSON_OBJECT };

typedef struct tn_json tn_json;
struct tn_json {
    enum tn_json_kind kind;
    uint32_t n;             /* bytes of a string, elements of an array, members of an object */
    union {
        bool b;
        int64_t i;
        double r;
        const char *s;      /* not NUL-terminated */
        const tn_json *at;  /* ARRAY: n elements; OBJECT: 2n values, key (STRING) then value */
    } u;
};

typedef struct tn_json_doc {
    const tn_json *root;   /* NULL after failure */
    const char *error;     /* static text; NULL on success */
    size_t error_at;       /* byte offset of the trouble */
    void *memory;
} tn_json_doc;

tn_json_doc tn_json_read(const char *data, size_t n); /* out of memory is an error text as well */
void tn_json_free(tn_json_doc *doc);
const tn_json *tn_json_find(const tn_json *object, const char *key); /* NULL: not an object or absent */
bool tn_json_is(const tn_json *v, enum tn_json_kind kind);           /* false for NULL */

#endif
