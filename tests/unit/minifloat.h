#ifndef TN_TESTS_MINIFLOAT_H
#define TN_TESTS_MINIFLOAT_H
/* What floats below 32 bits are, by definition: nothing here is shared with ir/dtype.c or ir/eval.c. */
#include "ir/dtype.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* nan: the least magnitude of the NaN encodings, which go on to the end; inf: infinity's magnitude; 0: none */
typedef struct definition {
    tn_dtype t;
    int exp, man, bias, nan, inf;
    enum { SIGNED, FNUZ, POWER } kind;
} definition;

/* clang-format off */
static const definition all[] = {
    {{TN_FLOAT,             16, 1}, 5, 10,  15, 0x7c01, 0x7c00, SIGNED},
    {{TN_BFLOAT,            16, 1}, 8,  7, 127, 0x7f81, 0x7f80, SIGNED},
    {{TN_FLOAT8_E3M4,        8, 1}, 3,  4,   3,   0x71,   0x70, SIGNED},
    {{TN_FLOAT8_E4M3,        8, 1}, 4,  3,   7,   0x79,   0x78, SIGNED},
    {{TN_FLOAT8_E5M2,        8, 1}, 5,  2,  15,   0x7d,   0x7c, SIGNED},
    {{TN_FLOAT8_E4M3FN,      8, 1}, 4,  3,   7,   0x7f,      0, SIGNED},
    {{TN_FLOAT8_E4M3FNUZ,    8, 1}, 4,  3,   8,      0,      0, FNUZ},
    {{TN_FLOAT8_E4M3B11FNUZ, 8, 1}, 4,  3,  11,      0,      0, FNUZ},
    {{TN_FLOAT8_E5M2FNUZ,    8, 1}, 5,  2,  16,      0,      0, FNUZ},
    {{TN_FLOAT8_E8M0FNU,     8, 1}, 8,  0, 127,   0xff,      0, POWER},
    {{TN_FLOAT6_E2M3FN,      6, 1}, 2,  3,   1,      0,      0, SIGNED},
    {{TN_FLOAT6_E3M2FN,      6, 1}, 3,  2,   3,      0,      0, SIGNED},
    {{TN_FLOAT4_E2M1FN,      4, 1}, 2,  1,   1,      0,      0, SIGNED},
};
/* clang-format on */
enum { N_ALL = sizeof all / sizeof *all };

/* ---- encodings ---- */

static inline double defined(const definition *d, int bits)
{
    int sign = d->kind == POWER ? 0 : bits >> (d->exp + d->man) & 1;
    int m = bits & ((1 << (d->exp + d->man)) - 1), e = m >> d->man, f = m & ((1 << d->man) - 1);
    double v;
    if (d->kind == FNUZ && sign && m == 0)
        return (double)NAN;
    if (d->nan && m >= d->nan)
        return (double)NAN;
    if (d->inf && m == d->inf)
        v = (double)INFINITY;
    else if (d->kind == POWER)
        v = exp2(e - d->bias);
    else
        v = (e ? 1 + f / exp2(d->man) : f / exp2(d->man)) * exp2((e ? e : 1) - d->bias);
    return sign ? -v : v;
}

/* Finite values that are not negative, in order; encodings are in this order, too. */
static inline int positive(const definition *d, double out[])
{
    int n = 0, end = d->inf ? d->inf : d->nan ? d->nan : 1 << (d->exp + d->man);
    for (; n < end; n++)
        out[n] = defined(d, n);
    return n;
}

static inline double too_large(const definition *d, double largest)
{
    return d->inf ? (double)INFINITY : d->nan || d->kind == FNUZ ? (double)NAN : largest;
}

#endif
