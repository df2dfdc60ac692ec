/* Byte buffer: capacity doubles and always leaves room for the NUL behind n. */
#include "base/buf.h"

#include "base/utf8.h"
#include "base/vec.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for n more bytes and a NUL. */
static char *reserve(tn_buf *b, size_t n)
{
    if (b->cap - b->n <= n)
        b->at = tn_vec_grow(b->at, b->n + 1, n, &b->cap, 1);
    return b->at + b->n;
}

void tn_buf_deinit(tn_buf *b)
{
    tn_vec_free(b->at);
    *b = (tn_buf){0};
}

void tn_buf_clear(tn_buf *b)
{
    b->n = 0;
    if (b->at)
        b->at[0] = '\0';
}

void tn_buf_add(tn_buf *b, const void *p, size_t n)
{
    char *at = reserve(b, n);
    if (n)
        memcpy(at, p, n);
    b->n += n;
    b->at[b->n] = '\0';
}

void tn_buf_str(tn_buf *b, const char *s) { tn_buf_add(b, s, strlen(s)); }

void tn_buf_char(tn_buf *b, char c) { tn_buf_add(b, &c, 1); }

void tn_buf_fill(tn_buf *b, char c, size_t n)
{
    memset(reserve(b, n), c, n);
    b->n += n;
    b->at[b->n] = '\0';
}

void tn_buf_vprintf(tn_buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    char *at = reserve(b, 64);
    int n = vsnprintf(at, b->cap - b->n, fmt, ap);
    if (n > 0 && (size_t)n >= b->cap - b->n) {
        at = reserve(b, (size_t)n);
        n = vsnprintf(at, b->cap - b->n, fmt, again);
    }
    va_end(again);
    b->n += n > 0 ? (size_t)n : 0;
    b->at[b->n] = '\0';
}

void tn_buf_printf(tn_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tn_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void tn_buf_u32le(tn_buf *b, uint32_t v)
{
    uint8_t p[4];
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (8 * i));
    tn_buf_add(b, p, sizeof p);
}

void tn_buf_u64le(tn_buf *b, uint64_t v)
{
    tn_buf_u32le(b, (uint32_t)v);
    tn_buf_u32le(b, (uint32_t)(v >> 32));
}

const char *tn_buf_cstr(const tn_buf *b) { return b->at ? b->at : ""; }

static int reads_back(const char *text, double v, int single)
{
    return single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v;
}

void tn_buf_real(tn_buf *b, double v, int single)
{
    if (isnan(v) || isinf(v)) {
        tn_buf_str(b, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    char text[64];
    /* 6 (15) digits always survive, trailing zeros are dropped, so a longer start misses nothing that is
     * shorter; subnormals have fewer digits. */
    int subnormal = fabs(v) < (single ? (double)FLT_MIN : DBL_MIN);
    int last = single ? 9 : 17;
    for (int digits = subnormal ? 1 : last - (single ? 3 : 2); digits <= last; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (reads_back(text, v, single))
            break;
    }
    /* The decimal point is the locale's until here. */
    int point = 0;
    for (const char *s = text; *s; s++) {
        if (strchr("0123456789e+-", *s)) {
            tn_buf_char(b, *s);
        } else if (!point) {
            tn_buf_char(b, '.');
            point = 1;
        }
    }
}

void tn_buf_shown(tn_buf *b, const char *s)
{
    while (*s) {
        size_t n = tn_utf8_shown(s);
        if (n)
            tn_buf_add(b, s, n);
        else
            tn_buf_printf(b, "\\x%02x", (unsigned char)*s);
        s += n ? n : 1;
    }
}

void tn_buf_json(tn_buf *b, const char *s)
{
    tn_buf_char(b, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            tn_buf_char(b, '\\');
        if ((unsigned char)*s < 32)
            tn_buf_printf(b, "\\u%04x", (unsigned char)*s);
        else
            tn_buf_char(b, *s);
    }
    tn_buf_char(b, '"');
}
