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
    TN_COMPLEX = 5,
    TN_BOOL = 6,
    TN_FLOAT8_E3M4 = 7,
    TN_FLOAT8_E4M3 = 8,
    TN_FLOAT8_E4M3B11FNUZ = 9,
    TN_FLOAT8_E4M3FN = 10,
    TN_FLOAT8_E4M3FNUZ = 11,
    TN_FLOAT8_E5M2 = 12,
    TN_FLOAT8_E5M2FNUZ = 13,
    TN_FLOAT8_E8M0FNU = 14,
    TN_FLOAT6_E2M3FN = 15,
    TN_FLOAT6_E3M2FN = 16,
    TN_FLOAT4_E2M1FN = 17,
    TN_INDEX = 32,
    TN_STRING = 33
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
#define TN_STR \
    TN_DT(TN_STRING, 64) /* elements are texts of any length: such a tensor is a handle, never bytes */

static inline bool tn_dtype_eq(tn_dtype a, tn_dtype b)
{
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
/* floats of 8 bits or less: types to store numbers in, which operators that compute do not take */
static inline bool tn_dtype_is_minifloat(tn_dtype t)
{
    return t.code >= TN_FLOAT8_E3M4 && t.code <= TN_FLOAT4_E2M1FN;
}
static inline bool tn_dtype_is_float(tn_dtype t)
{
    return t.code == TN_FLOAT || t.code == TN_BFLOAT || tn_dtype_is_minifloat(t);
}
/* floats that are computed in a wider type and rounded */
static inline bool tn_dtype_is_small(tn_dtype t) { return t.bits < 32 && tn_dtype_is_float(t); }
/* wrapping data integers */
static inline bool tn_dtype_is_int(tn_dtype t) { return t.code == TN_INT || t.code == TN_UINT; }
static inline bool tn_dtype_is_index(tn_dtype t) { return t.code == TN_INDEX; }
static inline bool tn_dtype_is_string(tn_dtype t) { return t.code == TN_STRING; }
/* Two floats, the real part first: a type of whole values, whose parts operators compute with (op/tensor/complex.c). */
static inline bool tn_dtype_is_complex(tn_dtype t) { return t.code == TN_COMPLEX; }
static inline bool tn_dtype_is_bool(tn_dtype t) { return t.code == TN_BOOL; }
static inline tn_dtype tn_dtype_lanes(tn_dtype t, uint16_t lanes)
{
    t.lanes = lanes;
    return t;
}
/* In memory an element takes whole bytes: one of 2, 4 or 6 bits takes a byte, whose other bits are 0 when written and
 * ignored when read. */
static inline uint32_t tn_dtype_bytes(tn_dtype t) { return (uint32_t)(t.bits + 7u) / 8u * t.lanes; }

/* What elements of t are in memory to a machine: the same, but bytes where no machine has the type. */
static inline tn_dtype tn_dtype_stored(tn_dtype t)
{
    bool bits = tn_dtype_is_minifloat(t) || (t.bits < 8 && tn_dtype_is_int(t));
    return bits ? (tn_dtype){t.code == TN_INT ? TN_INT : TN_UINT, 8, t.lanes} : t;
}

/* What kernels and programs in C see of them: each complex number is two elements. */
static inline tn_dtype tn_dtype_part(tn_dtype t)
{
    return tn_dtype_is_complex(t) ? (tn_dtype){TN_FLOAT, t.bits / 2, t.lanes} : tn_dtype_stored(t);
}

/* How a float type encodes numbers. From the top: sign, exponent, mantissa; the implicit bit is that of IEEE 754. */
enum tn_specials {
    TN_IEEE,       /* the largest exponent is infinity and NaN */
    TN_ONE_NAN,    /* "fn": only the magnitude of all ones is NaN; no infinity */
    TN_NAN_AT_NEG, /* "fnuz": only what would be -0 is NaN; no infinity */
    TN_NO_SPECIAL, /* neither */
    TN_POWERS      /* "fnu": no sign, no 0, no mantissa; all ones is NaN */
};
typedef struct tn_encoding {
    uint8_t exp, man; /* bits */
    int16_t bias;
    uint8_t specials;
} tn_encoding;
tn_encoding tn_dtype_encoding(tn_dtype t); /* of a float */
/* The encoding of the largest finite magnitude, as an integer. */
uint64_t tn_encoding_largest(tn_encoding f);

/* The largest finite value of a float type, and the smallest positive one that has all its digits. */
double tn_dtype_largest(tn_dtype t);
double tn_dtype_smallest(tn_dtype t);

/* Long names are Relay's ("float32", "bool", "int64"), short ones TIR's ("f32", "i64", "bool", "index");
 * with lanes "float32x16" / "f32x16". Both spellings are read everywhere. */
void tn_dtype_print(tn_dtype t, bool shortly, tn_buf *out);
bool tn_dtype_parse(const char *s, size_t n, tn_dtype *out);

#endif
