/* Names of element types, as mod.json has them and messages show them. */
#include "runtime/tensor.h"

#include <stdio.h>
#include <string.h>

/* by DLPack's code, one after the other; from FIRST_ENCODING on, what follows "float8_" */
static const char names[] = "int\0uint\0float\0handle\0bfloat\0complex\0bool\0"
                            "e3m4\0e4m3\0e4m3b11fnuz\0e4m3fn\0e4m3fnuz\0e5m2\0e5m2fnuz\0e8m0fnu\0"
                            "e2m3fn\0e3m2fn\0e2m1fn\0unknown";
enum { FIRST_ENCODING = 7, N_CODE = 18 };

static const char *next(const char *name) { return name + strlen(name) + 1; }

static bool is_bool(DLDataType t)
{
    return t.lanes == 1 && ((t.code == kDLBool && t.bits == 8) || (t.code == kDLUInt && t.bits == 1));
}

bool tnr_dtype_same(DLDataType a, DLDataType b)
{
    return (a.code == b.code && a.bits == b.bits && a.lanes == b.lanes) || (is_bool(a) && is_bool(b));
}

char *tnr_dtype_print(DLDataType dtype, char *buffer, size_t n)
{
    unsigned code = is_bool(dtype) ? kDLBool : dtype.code;
    const char *name = names;
    char bits[24] = "", lanes[8] = "";
    for (unsigned i = 0; i < code && i < N_CODE; i++)
        name = next(name);
    bool number = code != kDLBool && code != kDLOpaqueHandle, tail = code >= FIRST_ENCODING && code < N_CODE;
    if (number)
        snprintf(bits, sizeof bits, tail ? "float%u_" : "%u", (unsigned)dtype.bits);
    if (number && dtype.lanes != 1)
        snprintf(lanes, sizeof lanes, "x%u", (unsigned)dtype.lanes);
    if (n)
        snprintf(buffer, n, "%s%s%s", tail ? bits : name, tail ? name : bits, lanes);
    return buffer;
}

bool tnr_dtype_parse(const char *text, size_t n, DLDataType *out_dtype)
{
    const char *name = names;
    *out_dtype = (DLDataType){kDLUInt, 1, 1};
    if (n == 4 && memcmp(text, "bool", 4) == 0)
        return true;
    for (unsigned code = 0; code < N_CODE; code++, name = next(name)) {
        size_t len = strlen(name), k = len;
        unsigned bits = 0;
        char whole[24];
        if (code >= FIRST_ENCODING) {
            unsigned width = code < 15 ? 8 : code < 17 ? 6 : 4;
            *out_dtype = (DLDataType){(uint8_t)code, (uint8_t)width, 1};
            tnr_dtype_print(*out_dtype, whole, sizeof whole);
            if (strlen(whole) == n && memcmp(whole, text, n) == 0)
                return true;
            continue;
        }
        if (code == kDLOpaqueHandle || n <= len || n > len + 3 || memcmp(text, name, len) != 0)
            continue;
        while (k < n && text[k] >= '0' && text[k] <= '9')
            bits = bits * 10 + (unsigned)(text[k++] - '0');
        *out_dtype = (DLDataType){(uint8_t)code, (uint8_t)bits, 1};
        if (k == n && bits != 0 && bits <= 128 && (bits & (bits - 1)) == 0)
            return true;
    }
    return false;
}
