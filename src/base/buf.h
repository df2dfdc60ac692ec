#ifndef TN_BASE_BUF_H
#define TN_BASE_BUF_H
/* Byte buffer and string builder; always NUL-terminated once written to. at == NULL while empty. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct
    tn_bytes { /* a part of memory that somebody else holds, a file mostly; text in it has no end mark */
    const uint8_t *at;
    size_t n;
} tn_bytes;

typedef struct tn_buf {
    char *at;
    size_t n, cap;
} tn_buf;

void tn_buf_deinit(tn_buf *b);
void tn_buf_clear(tn_buf *b);
void tn_buf_add(tn_buf *b, const void *p, size_t n);
void tn_buf_str(tn_buf *b, const char *s);
void tn_buf_char(tn_buf *b, char c);
void tn_buf_fill(tn_buf *b, char c, size_t n);
void tn_buf_printf(tn_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tn_buf_vprintf(tn_buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
void tn_buf_u32le(tn_buf *b, uint32_t v);
void tn_buf_u64le(tn_buf *b, uint64_t v);
const char *tn_buf_cstr(const tn_buf *b); /* "" while empty */
/* Shortest decimal text that reads back to the same double (or float if single); "inf", "-inf", "nan". */
void tn_buf_real(tn_buf *b, double v, int single);

/* s as a string of JSON, with its quotes; s is UTF-8. */
void tn_buf_json(tn_buf *b, const char *s);

/* Text out of a file: what cannot be shown is written as \xNN, so it stays one line and cannot drive a terminal. */
void tn_buf_shown(tn_buf *b, const char *s);

#endif
