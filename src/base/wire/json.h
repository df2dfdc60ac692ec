#ifndef TN_BASE_WIRE_JSON_H
#define TN_BASE_WIRE_JSON_H
/* Strict JSON (RFC 8259) reader into a tree whose strings point into the input where they need no
 * unescaping. Depth <= TN_JSON_DEPTH; duplicate keys are an error; text must be UTF-8; memory is at most 64
 * bytes a value plus the text of strings with escapes. Integers that fit int64_t are INT, all other numbers
 * (and -0) REAL; a number beyond the range of double, or of more than 1,000 bytes, is an error.
 * Works over (data, n) only and allocates from malloc through tn_json_doc, so the runtime can use it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_JSON_DEPTH = 128 };
enum tn_json_kind {
    TN_JSON_NULL,
    TN_JSON_BOOL,
    TN_JSON_INT,
    TN_JSON_REAL,
    TN_JSON_STRING,
    TN_JSON_ARRAY,
    TN_JSON_OBJECT
};

typedef struct tn_json tn_json;
struct tn_json {
    enum tn_json_kind kind;
    uint32_t n; /* bytes of a string, elements of an array, members of an object */
    union {
        bool b;
        int64_t i;
        double r;
        const char *s;     /* not NUL-terminated */
        const tn_json *at; /* ARRAY: n elements; OBJECT: 2n values, key (STRING) then value */
    } u;
};

typedef struct tn_json_doc {
    const tn_json *root; /* NULL after failure */
    const char *error;   /* static text; NULL on success */
    size_t error_at;     /* byte offset of the trouble */
    void *memory;
} tn_json_doc;

#define TN_JSON_NO_MEMORY "out of memory" /* such an error is a text as well */
tn_json_doc tn_json_read(const char *data, size_t n);
/* As Python writes it: NaN, Infinity and -Infinity are REAL. */
tn_json_doc tn_json_read_python(const char *data, size_t n);
void tn_json_free(tn_json_doc *doc);
const tn_json *tn_json_find(const tn_json *object, const char *key); /* NULL: not an object or absent */
bool tn_json_is(const tn_json *v, enum tn_json_kind kind);           /* false for NULL */
bool tn_json_is_text(const tn_json *v, const char *text);            /* a STRING equal to text */

#endif
