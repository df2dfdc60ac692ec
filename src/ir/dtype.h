#ifndef TN_IR_DTYPE_H
#define TN_IR_DTYPE_H
/* Data types are data: code, bits, lanes (DLPack's encoding plus `index`). No switch over dtypes elsewhere:
 * ask the predicates here. */
#include "base/ctx.h"

enum tn_dcode {
    TN_INT = 0,
    TN_UINT = 1,
    TN_FLOAT = 2,
    TN_HANDLE = 3,
    TN_BFLOAT = 4,
    TN_BOOL = 6,
    TN_INDEX = 32
};

typedef struct tn_dtype {
    uint8_t code, bits;
    uint16_t lanes;
} tn_dtype;

#define TN_DT(c, b) ((tn_dtype){(c), (b), 1})
#define TN_F32 TN_DT(TN_FLOAT, 32)
#define TN_F64 TN_DT(TN_FLOAT, 64)
#define TN_F16 TN_DT(TN_FLOAT, 16)
#define TN_I8 TN_DT(TN_INT, 8)
#define TN_I16 TN_DT(TN_INT, 16)
#define TN_I32 TN_DT(TN_INT, 32)
#define TN_I64 TN_DT(TN_INT, 64)
#define TN_U8 TN_DT(TN_UINT, 8)
#define TN_BOOL1 TN_DT(TN_BOOL, 8) /* stored as one byte, 0 or 1 */
#define TN_IDX TN_DT(TN_INDEX, 64) /* unbounded, checked; see docs/tir.md */

static inline bool tn_dtype_eq(tn_dtype a, tn_dtype b)
{
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
static inline bool tn_dtype_is_float(tn_dtype t) { return t.code == TN_FLOAT || t.code == TN_BFLOAT; }
/* wrapping data integers */
static inline bool tn_dtype_is_int(tn_dtype t) { return t.code == TN_INT || t.code == TN_UINT; }
static inline bool tn_dtype_is_index(tn_dtype t) { return t.code == TN_INDEX; }
static inline bool tn_dtype_is_bool(tn_dtype t) { return t.code == TN_BOOL; }
static inline tn_dtype tn_dtype_lanes(tn_dtype t, uint16_t lanes)
{
    t.lanes = lanes;
    return t;
}
static inline uint32_t tn_dtype_bytes(tn_dtype t) { return (uint32_t)(t.bits + 7u) / 8u * t.lanes; }

/* The largest finite value of a float type, and the smallest positive one that has all its digits. */
double tn_dtype_largest(tn_dtype t);
double tn_dtype_smallest(tn_dtype t);

/* Long names are Relay's ("float32", "bool", "int64"), short ones TIR's ("f32", "i64", "bool", "index");
 * with lanes "float32x16" / "f32x16". Both spellings are read everywhere. */
void tn_dtype_print(tn_dtype t, bool shortly, tn_buf *out);
bool tn_dtype_parse(const char *s, size_t n, tn_dtype *out);

#endif
