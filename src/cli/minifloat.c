/* Floats of 8 bits or less: their numbers, which people see and inputs are made of. */
#include "cli/feed.h"

#include <math.h>

enum specials { IEEE, ONE_NAN, NAN_AT_NEG, NO_SPECIAL, POWERS };

/* by DLPack's code, from 7 on: bits of exponent and mantissa, bias */
static const struct row {
    uint8_t exp, man, bias, specials;
} rows[] = {
    {3, 4, 3, IEEE},       {4, 3, 7, IEEE},       {4, 3, 11, NAN_AT_NEG}, {4, 3, 7, ONE_NAN},
    {4, 3, 8, NAN_AT_NEG}, {5, 2, 15, IEEE},      {5, 2, 16, NAN_AT_NEG}, {8, 0, 127, POWERS},
    {2, 3, 1, NO_SPECIAL}, {3, 2, 3, NO_SPECIAL}, {2, 1, 1, NO_SPECIAL},
};
enum { FIRST = 7, N_ROW = sizeof rows / sizeof *rows };

bool tn_is_minifloat(DLDataType t) { return t.code >= FIRST && t.code < FIRST + N_ROW && t.bits <= 8; }

uint8_t tn_minifloat_make(DLDataType t, bool minus, double part)
{
    const struct row *r = &rows[t.code - FIRST];
    unsigned one = (unsigned)r->bias << r->man, m = (unsigned)(part * (one + 1));
    m = m > one ? one : m;
    bool sign = minus && m && r->specials != POWERS;
    return (uint8_t)(m | (unsigned)sign << (r->exp + r->man));
}

double tn_minifloat_value(DLDataType t, uint8_t byte)
{
    const struct row *r = &rows[t.code - FIRST];
    int sign = r->specials == POWERS ? 0 : byte >> (r->exp + r->man) & 1;
    int all = (1 << (r->exp + r->man)) - 1, m = byte & all, e = m >> r->man, f = m & ((1 << r->man) - 1);
    bool top = r->specials == IEEE && e == (1 << r->exp) - 1;
    bool last = (r->specials == ONE_NAN || r->specials == POWERS) && m == all;
    if (last || (top && f) || (r->specials == NAN_AT_NEG && sign && m == 0))
        return (double)NAN;
    if (top)
        return sign ? -(double)INFINITY : (double)INFINITY;
    bool normal = e > 0 || r->specials == POWERS;
    double v = ldexp(f + (normal ? 1 << r->man : 0), (normal ? e : 1) - r->bias - r->man);
    return sign ? -v : v;
}
