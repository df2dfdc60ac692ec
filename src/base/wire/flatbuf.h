#ifndef TN_BASE_WIRE_FLATBUF_H
#define TN_BASE_WIRE_FLATBUF_H
/* FlatBuffers, read in place and bounded (https://flatbuffers.dev/internals).
 *
 * A table is a position in the buffer; its fields are numbered slots, found through its vtable. Every offset, size and
 * count is checked before it is used: what lies outside of the buffer reads as if it were absent, and marks the
 * buffer as damaged. Nothing is allocated; nothing needs to be aligned. */
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_flatbuf {
    const uint8_t *at;
    size_t n;
    bool damaged; /* something pointed outside */
} tn_flatbuf;

typedef struct tn_flat_table {
    tn_flatbuf *buf; /* NULL: absent, all its fields are */
    size_t at, vtable;
    uint32_t n_slot;
} tn_flat_table;

typedef struct tn_flat_vector {
    tn_flatbuf *buf;
    size_t at;
    uint32_t n; /* elements of the size that was asked for; 0: absent or empty */
} tn_flat_vector;

tn_flat_table tn_flat_root(tn_flatbuf *b);
bool tn_flat_has(const tn_flat_table *t, uint32_t slot);
int64_t tn_flat_int(const tn_flat_table *t, uint32_t slot, int bytes, bool is_signed,
                    int64_t def); /* 1, 2, 4, 8 */
float tn_flat_float(const tn_flat_table *t, uint32_t slot, float def);
tn_flat_table tn_flat_sub(const tn_flat_table *t, uint32_t slot);
tn_bytes tn_flat_text(const tn_flat_table *t, uint32_t slot); /* n 0: absent */
/* Elements of `bytes` bytes each; of tables: 4. */
tn_flat_vector tn_flat_list(const tn_flat_table *t, uint32_t slot, uint32_t bytes);
tn_bytes tn_flat_bytes(const tn_flat_vector *v, uint32_t bytes); /* all elements as they lie there */
int64_t tn_flat_int_at(const tn_flat_vector *v, uint32_t i, int bytes, bool is_signed);
float tn_flat_float_at(const tn_flat_vector *v, uint32_t i);
tn_flat_table tn_flat_table_at(const tn_flat_vector *v, uint32_t i);
tn_bytes tn_flat_text_at(const tn_flat_vector *v, uint32_t i);

#endif
