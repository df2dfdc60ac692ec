/* Names of data types. The table below is the only list of codes, their spellings and their widths. */
#include "ir/dtype.h"

#include <float.h>
#include <string.h>

typedef struct row {
    uint8_t code;
    uint8_t fixed_bits; /* the only width, not spelt out; 0: the width follows the name */
    const char *long_name, *short_name;
} row;

static const row rows[] = {
    {TN_BFLOAT, 0, "bfloat", "bf"},      {TN_FLOAT, 0, "float", "f"},  {TN_INT, 0, "int", "i"},
    {TN_UINT, 0, "uint", "u"},           {TN_BOOL, 8, "bool", "bool"}, {TN_INDEX, 64, "index", "index"},
    {TN_HANDLE, 64, "handle", "handle"},
};
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
    default: return bits >= 8 && bits <= 64 && (bits & (bits - 1)) == 0;
    }
}

static bool parse_as(const row *r, const char *name, const char *s, const char *end, tn_dtype *out)
{
    size_t len = strlen(name);
    if ((size_t)(end - s) < len || memcmp(s, name, len) != 0)
        return false;
    s += len;
    uint32_t bits = r->fixed_bits, lanes = 1;
    if (bits == 0 && (!digits(&s, end, 64, &bits) || !width_ok(r->code, bits)))
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

double tn_dtype_largest(tn_dtype t)
{
    if (t.code == TN_BFLOAT)
        return 0x1.fep127;
    return t.bits == 16 ? 0x1.ffcp15 : t.bits == 32 ? FLT_MAX : DBL_MAX;
}

double tn_dtype_smallest(tn_dtype t)
{
    if (t.code == TN_BFLOAT)
        return FLT_MIN;
    return t.bits == 16 ? 0x1p-14 : t.bits == 32 ? FLT_MIN : DBL_MIN;
}
