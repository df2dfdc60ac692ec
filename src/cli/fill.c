/* Elements: made up for inputs, and turned into what NumPy has for outputs. */
#include "cli/args.h"
#include "cli/feed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steele, Lea, Flood 2014: "Fast splittable pseudorandom number generators" */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static bool is_bool(DLDataType t)
{
    return (t.code == kDLBool && t.bits == 8) || (t.code == kDLUInt && t.bits == 1);
}

size_t tn_element_bytes(DLDataType t)
{
    if (t.lanes != 1)
        return 0;
    bool tiny =
        tn_is_minifloat(t) || ((t.code == kDLInt || t.code == kDLUInt) && (t.bits == 2 || t.bits == 4));
    return is_bool(t) || tiny ? 1 : t.bits % 8 ? 0 : t.bits / 8u;
}

/* To nearest, ties to even; what is too large becomes infinite. */
static uint16_t to_half(double v)
{
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    int e;
    double m = frexp(fabs(v), &e); /* v = m 2^e, 1/2 <= m < 1 */
    if (v != v)
        return 0x7e00;
    if (m == 0)
        return sign;
    if (e > 16)
        return sign | 0x7c00;
    if (e < -13)
        return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(m, e + 24))); /* subnormal: units of 2^-24 */
    return (uint16_t)(sign | (uint16_t)(((e + 14) << 10) + (int)nearbyint(ldexp(m, 11)) - 1024));
}

void tn_element_put(void *out, size_t i, DLDataType t, double v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (is_bool(t))
        ((uint8_t *)out)[i] = v != 0;
    else if (t.code == kDLFloat && t.bits == 32)
        ((float *)out)[i] = f;
    else if (t.code == kDLFloat && t.bits == 64)
        ((double *)out)[i] = v;
    else if (t.code == kDLFloat)
        ((uint16_t *)out)[i] = to_half(v);
    else if (t.code == kDLBfloat)
        ((uint16_t *)out)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    else if (t.bits <= 8)
        ((int8_t *)out)[i] = (int8_t)v;
    else if (t.bits == 16)
        ((int16_t *)out)[i] = (int16_t)v;
    else if (t.bits == 32)
        ((int32_t *)out)[i] = (int32_t)v;
    else
        ((int64_t *)out)[i] = (int64_t)v;
}

static bool can_fill(DLDataType t)
{
    size_t n = tn_element_bytes(t);
    switch (t.code) {
    case kDLFloat: return n == 2 || n == 4 || n == 8;
    case kDLBfloat: return n == 2;
    case kDLComplex: return n == 8 || n == 16;
    case kDLInt:
    case kDLUInt: return n == 1 || n == 2 || n == 4 || n == 8;
    default: return is_bool(t) || tn_is_minifloat(t);
    }
}

/* Both parts are made up, but one is 1 + 0i. */
static int fill_complex(void *out, DLDataType type, size_t count, const char *mode, uint64_t seed)
{
    const DLDataType part = {kDLFloat, type.bits / 2, 1};
    int status = tn_fill(out, part, 2 * count, mode, seed);
    for (size_t i = 0; i < count && strcmp(mode, "ones") == 0; i++)
        tn_element_put(out, 2 * i + 1, part, 0);
    return status;
}

int tn_fill(void *out, DLDataType type, size_t count, const char *mode, uint64_t seed)
{
    bool random = strcmp(mode, "random") == 0, byte = type.bits <= 8 && !is_bool(type);
    double same = strcmp(mode, "ones") == 0;
    if (!can_fill(type))
        return 1;
    if (type.code == kDLComplex)
        return fill_complex(out, type, count, mode, seed);
    for (size_t i = 0; i < count; i++) {
        uint64_t r = random ? next_random(&seed) : 0;
        double v = byte ? (double)(r >> (65 - type.bits)) : (double)(r >> 11) * 0x1p-52 - 1;
        if (tn_is_minifloat(type))
            ((uint8_t *)out)[i] = tn_minifloat_make(type, r & 1, random ? (double)(r >> 11) * 0x1p-53 : same);
        else
            tn_element_put(out, i, type, random ? v : same);
    }
    return 0;
}

/* ---- outputs ---- */

static int32_t describe(const DLTensor *t, tn_npy *out)
{
    bool wide = t->dtype.code == kDLBfloat && t->dtype.bits == 16;
    *out = (tn_npy){.code = t->dtype.code, .bits = t->dtype.bits, .ndim = t->ndim};
    if (is_bool(t->dtype))
        out->code = kDLBool, out->bits = 8;
    else if (wide)
        out->code = kDLFloat, out->bits = 32;
    else if (t->dtype.bits < 8 || tn_is_minifloat(t->dtype))
        out->code = kDLOpaqueHandle, out->bits = 8;
    if (t->ndim < 0 || t->ndim > TN_NPY_DIMS || !can_fill(t->dtype))
        return 1;
    out->data_bytes = out->bits / 8u;
    for (int d = 0; d < t->ndim; d++) {
        out->shape[d] = t->shape[d];
        out->data_bytes *= (size_t)t->shape[d]; /* the tensor is in memory: no overflow */
    }
    return 0;
}

int tn_array_of(const char *name, const DLTensor *t, tn_array *out)
{
    char text[512], *from = (char *)t->data + t->byte_offset;
    *out = (tn_array){.name = (char *)name};
    if (describe(t, &out->type))
        return tn_error_print("%s: %s cannot be stored as .npy", name,
                              tn_tensor_text(t->dtype, t->ndim, t->shape, text));
    if (t->dtype.code != kDLBfloat) {
        out->data = from;
        out->borrowed = true;
        return TN_EXIT_OK;
    }
    out->data = tn_array_alloc(out->type.data_bytes);
    if (!out->data)
        return tn_error_print("out of memory");
    for (size_t i = 0; i < out->type.data_bytes / 4; i++) {
        uint32_t bits = (uint32_t)((const uint16_t *)(const void *)from)[i] << 16;
        memcpy((char *)out->data + 4 * i, &bits, 4);
    }
    return TN_EXIT_OK;
}
