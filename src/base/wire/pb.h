#ifndef TN_BASE_WIRE_PB_H
#define TN_BASE_WIRE_PB_H
/* Protocol Buffers wire format, zero-copy and bounded (https://protobuf.dev/programming-guides/encoding).
 *
 * A cursor walks the fields of one message; sub-messages are cursors over a slice, so depth is the caller's
 * loop and no memory is allocated here. Groups (wire types 3, 4) are skipped up to depth 32. All reads are
 * bounds-checked; a malformed message sets `error` (static text) and ends the walk.
 */
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tn_pb_wire { TN_PB_VARINT = 0, TN_PB_I64 = 1, TN_PB_LEN = 2, TN_PB_I32 = 5 };

typedef struct tn_pb {
    const uint8_t *at, *end;
    const char *error; /* NULL while well-formed */
    uint32_t field;    /* current field number */
    enum tn_pb_wire wire;
    uint64_t value; /* VARINT, I64, I32: the raw bits */
    tn_bytes bytes; /* LEN */
} tn_pb;

tn_pb tn_pb_open(const void *data, size_t n);
bool tn_pb_next(tn_pb *r); /* false at the end or on error */
static inline tn_pb tn_pb_sub(const tn_pb *r) { return tn_pb_open(r->bytes.at, r->bytes.n); }
static inline int64_t tn_pb_int(const tn_pb *r) { return (int64_t)r->value; }
float tn_pb_float(const tn_pb *r);
double tn_pb_double(const tn_pb *r);
bool tn_pb_is(const tn_pb *r, const char *text); /* LEN field equal to text */

/* Reading by field tables: one row a field, filled into a struct. Repeated fields are counted first, so
 * storage is exact. Unknown fields are skipped (protobuf's rule). */
enum tn_pb_type { TN_PB_T_INT, TN_PB_T_FLOAT, TN_PB_T_DOUBLE, TN_PB_T_BYTES, TN_PB_T_MSG };
typedef struct tn_pb_field {
    uint32_t number;
    uint8_t type;                /* enum tn_pb_type */
    uint8_t repeated;            /* 1: pointer + count at `offset` (struct tn_pb_array); packed or not */
    uint32_t offset;             /* in the struct */
    const struct tn_pb_msg *msg; /* T_MSG */
    const char *name;            /* as in the .proto file, for the path in errors; NULL prints the number */
} tn_pb_field;
typedef struct tn_pb_msg {
    const char *name;
    uint32_t size;
    uint32_t n_field;
    const tn_pb_field *field;
} tn_pb_msg;
/* Rows of such tables: the member `member` of the struct `of`, whose name is the field's; a message and its fields. */
#define TN_PB_FIELD(number, type, repeated, of, member, msg) \
    {number, TN_PB_T_##type, repeated, offsetof(of, member), msg, #member}
#define TN_PB_MESSAGE(proto, of, fields) {proto, sizeof(of), sizeof(fields) / sizeof *(fields), fields}
/* int64_t, float, double, tn_bytes, or structs (by value) */
typedef struct tn_pb_array {
    void *at;
    size_t n;
} tn_pb_array;
/* A singular T_MSG field is a pointer (NULL: absent); T_INT int64_t; T_FLOAT float; T_BYTES tn_bytes.
 * T_INT takes varints and fixed 64-bit fields as they are (uint64 above INT64_MAX becomes negative), fixed 32-bit ones
 * sign-extended; zigzag (sint) is the caller's. A field with another wire type is an error, not skipped. A singular
 * field given again: the last value wins; messages are merged (protobuf's rules). */

struct tn_arena;
/* limits NULL: depth 64, memory twice n + 64 MiB. Depth is cut to 256. Only memory taken from the arena counts. */
typedef struct tn_pb_limits {
    uint32_t depth;
    uint64_t memory_bytes;
} tn_pb_limits;
/* Fills *out (msg->size bytes, zeroed by the caller) from data. NULL on success, else static error text and
 * *out_path = where ("ModelProto.graph.node[3]"), in the arena, and *out is unspecified. */
const char *tn_pb_read(struct tn_arena *a, const tn_pb_msg *msg, const void *data, size_t n,
                       const tn_pb_limits *limits, void *out, const char **out_path);

#endif
