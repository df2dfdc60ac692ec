/* Names of data types. The table below is the only list of codes, their spellings and their widths. */
#include "ir/dtype.h"

#include <math.h>
#include <string.h>

typedef struct row {
    uint8_t code;
    uint8_t fixed_bits; /* the only width, which the name says; 0: the width follows the name */
    const char *long_name, *short_name;
    tn_encoding format; /* of floats of one width */
} row;

/* clang-format off */
static const row rows[] = {
    {TN_BFLOAT,              0, "bfloat",              "bf",            {8, 7, 127, TN_IEEE}},
    {TN_FLOAT,               0, "float",               "f",             {0}},
    {TN_COMPLEX,             0, "complex",             "c",             {0}},
    {TN_INT,                 0, "int",                 "i",             {0}},
    {TN_UINT,                0, "uint",                "u",             {0}},
    {TN_BOOL,                8, "bool",                "bool",          {0}},
    {TN_INDEX,              64, "index",               "index",         {0}},
    {TN_HANDLE,             64, "handle",              "handle",        {0}},
    {TN_STRING,             64, "string",              "string",        {0}},
    {TN_FLOAT8_E3M4,         8, "float8_e3m4",         "f8e3m4",        {3, 4, 3, TN_IEEE}},
    {TN_FLOAT8_E4M3,         8, "float8_e4m3",         "f8e4m3",        {4, 3, 7, TN_IEEE}},
    {TN_FLOAT8_E4M3B11FNUZ,  8, "float8_e4m3b11fnuz",  "f8e4m3b11fnuz", {4, 3, 11, TN_NAN_AT_NEG}},
    {TN_FLOAT8_E4M3FN,       8, "float8_e4m3fn",       "f8e4m3fn",      {4, 3, 7, TN_ONE_NAN}},
    {TN_FLOAT8_E4M3FNUZ,     8, "float8_e4m3fnuz",     "f8e4m3fnuz",    {4, 3, 8, TN_NAN_AT_NEG}},
    {TN_FLOAT8_E5M2,         8, "float8_e5m2",         "f8e5m2",        {5, 2, 15, TN_IEEE}},
    {TN_FLOAT8_E5M2FNUZ,     8, "float8_e5m2fnuz",     "f8e5m2fnuz",    {5, 2, 16, TN_NAN_AT_NEG}},
    {TN_FLOAT8_E8M0FNU,      8, "float8_e8m0fnu",      "f8e8m0fnu",     {8, 0, 127, TN_POWERS}},
    {TN_FLOAT6_E2M3FN,       6, "float6_e2m3fn",       "f6e2m3fn",      {2, 3, 1, TN_NO_SPECIAL}},
    {TN_FLOAT6_E3M2FN,       6, "float6_e3m2fn",       "f6e3m2fn",      {3, 2, 3, TN_NO_SPECIAL}},
    {TN_FLOAT4_E2M1FN,       4, "float4_e2m1fn",       "f4e2m1fn",      {2, 1, 1, TN_NO_SPECIAL}},
};
/* clang-format on */
enum { N_ROWS = sizeof rows / sizeof *rows };

void tn_dtype_print(tn_dtype t, bool shortly, tn_buf *out)
{
    const char *name = "?";
    bool fixed = false;
    for (int i = 0; i < N_ROWS; i++) {
        if (rows[i].code == t.code) {
            name = shortly ? rows[i].short_name : rows[i].long_name;
            fixed = rows[i].fixed_bits == t.bits;
        }
    }
    tn_buf_str(out, name);
    if (!fixed)
        tn_buf_printf(out, "%u", t.bits);
    if (t.lanes != 1)
        tn_buf_printf(out, "x%u", t.lanes);
}

/* Reads decimal digits without leading zero, at most `max`; false if there is none. */
static bool digits(const char **s, const char *end, uint32_t max, uint32_t *out)
{
    const char *at = *s;
    uint32_t v = 0;
    if (at == end || *at < '1' || *at > '9')
        return false;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        v = v * 10 + (uint32_t)(*at - '0');
        if (v > max)
            return false;
    }
    *s = at;
    *out = v;
    return true;
}

static bool width_ok(uint8_t code, uint32_t bits)
{
    switch (code) {
    case TN_BFLOAT: return bits == 16;
    case TN_FLOAT: return bits == 16 || bits == 32 || bits == 64;
    case TN_COMPLEX: return bits == 64 || bits == 128;
    default: return bits >= 2 && bits <= 64 && (bits & (bits - 1)) == 0;
    }
}

static bool parse_as(const row *r, const char *name, const char *s, const char *end, tn_dtype *out)
{
    size_t len = strlen(name);
    if ((size_t)(end - s) < len || memcmp(s, name, len) != 0)
        return false;
    s += len;
    uint32_t bits = r->fixed_bits, lanes = 1;
    if (bits == 0 && (!digits(&s, end, 128, &bits) || !width_ok(r->code, bits)))
        return false;
    if (s < end && *s == 'x') {
        s++;
        if (!digits(&s, end, UINT16_MAX, &lanes) || lanes == 1)
            return false;
    }
    if (s != end)
        return false;
    *out = (tn_dtype){r->code, (uint8_t)bits, (uint16_t)lanes};
    return true;
}

bool tn_dtype_parse(const char *s, size_t n, tn_dtype *out)
{
    for (int i = 0; i < N_ROWS; i++)
        if (parse_as(&rows[i], rows[i].long_name, s, s + n, out) ||
            parse_as(&rows[i], rows[i].short_name, s, s + n, out))
            return true;
    return false;
}

tn_encoding tn_dtype_encoding(tn_dtype t)
{
    static const tn_encoding ieee[] = {{5, 10, 15, TN_IEEE}, {8, 23, 127, TN_IEEE}, {11, 52, 1023, TN_IEEE}};
    if (t.code == TN_FLOAT)
        return ieee[t.bits == 16 ? 0 : t.bits == 32 ? 1 : 2];
    int i = 0;
    while (rows[i].code != t.code)
        i++;
    return rows[i].format;
}

uint64_t tn_encoding_largest(tn_encoding f)
{
    uint64_t all = (UINT64_C(1) << (f.exp + f.man)) - 1;
    switch (f.specials) {
    case TN_IEEE: return all - (UINT64_C(1) << f.man);
    case TN_NAN_AT_NEG:
    case TN_NO_SPECIAL: return all;
    default: return all - 1;
    }
}

double tn_dtype_largest(tn_dtype t)
{
    tn_encoding f = tn_dtype_encoding(t);
    uint64_t all = tn_encoding_largest(f), man = all & ((UINT64_C(1) << f.man) - 1);
    return ldexp((double)(man | UINT64_C(1) << f.man), (int)(all >> f.man) - f.bias - f.man);
}

double tn_dtype_smallest(tn_dtype t)
{
    tn_encoding f = tn_dtype_encoding(t);
    return ldexp(1, (f.specials == TN_POWERS ? 0 : 1) - f.bias);
}
