/* Tar writer: plain ustar headers; a pax header goes before entries that those cannot hold. */
#include "base/wire/tar.h"

#include "base/ctx.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 512, NAME_MAX_USTAR = 100 };
#define SIZE_MAX_USTAR 077777777777u /* 11 octal digits */

static void octal(char *field, size_t n, uint64_t v)
{
    field[n - 1] = '\0';
    for (size_t i = n - 1; i-- > 0; v >>= 3)
        field[i] = (char)('0' + (char)(v & 7));
}

static void header(tn_buf *out, const char *name, char type, uint64_t size, uint64_t mtime)
{
    char h[BLOCK] = {0};
    size_t n = strlen(name);
    memcpy(h, name, n < NAME_MAX_USTAR ? n : NAME_MAX_USTAR);
    octal(h + 100, 8, 0644);
    octal(h + 108, 8, 0);
    octal(h + 116, 8, 0);
    octal(h + 124, 12, size);
    octal(h + 136, 12, mtime > SIZE_MAX_USTAR ? SIZE_MAX_USTAR : mtime);
    memset(h + 148, ' ', 8);
    h[156] = type;
    memcpy(h + 257,
           "ustar\0"
           "00",
           8);
    octal(h + 329, 8, 0);
    octal(h + 337, 8, 0);
    uint64_t sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += (uint8_t)h[i];
    octal(h + 148, 7, sum); /* six digits, NUL, space */
    tn_buf_add(out, h, BLOCK);
}

void tn_tar_fill(tn_buf *out, size_t n) { tn_buf_fill(out, '\0', (BLOCK - n % BLOCK) % BLOCK); }

/* "length key=value\n", where length counts itself. */
static void record(tn_buf *out, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3, len = rest, digits;
    do {
        digits = (size_t)snprintf(NULL, 0, "%zu", len);
        len = rest + digits;
    } while ((size_t)snprintf(NULL, 0, "%zu", len) != digits);
    tn_buf_printf(out, "%zu %s=%s\n", len, key, value);
}

void tn_tar_begin(tn_buf *out, const char *name, size_t n, uint64_t mtime)
{
    TN_ASSERT(*name);
    bool big = (uint64_t)n > SIZE_MAX_USTAR, is_long = strlen(name) > NAME_MAX_USTAR;
    if (big || is_long) {
        tn_buf x = {0};
        if (is_long)
            record(&x, "path", name);
        if (big) {
            char text[32];
            snprintf(text, sizeof text, "%zu", n);
            record(&x, "size", text);
        }
        header(out, "PaxHeader", 'x', x.n, mtime);
        tn_buf_add(out, x.at, x.n);
        tn_tar_fill(out, x.n);
        tn_buf_deinit(&x);
    }
    header(out, name, '0', big ? 0 : n, mtime);
}

void tn_tar_add(tn_buf *out, const char *name, const void *data, size_t n, uint64_t mtime)
{
    tn_tar_begin(out, name, n, mtime);
    tn_buf_add(out, data, n);
    tn_tar_fill(out, n);
}

void tn_tar_end(tn_buf *out) { tn_buf_fill(out, '\0', 2 * (size_t)BLOCK); }
