/* Errors: one formatted sentence in a fixed buffer, no allocation. */
#include "runtime/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the UTF-8 character at s by its first byte, if all of them are there; else 0. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xC0 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    return n;
}

/* Names come from files and are cut to fit: drop what is no whole character, and control bytes, which
 * terminals obey. */
static void clean(char *text)
{
    unsigned char *to = (unsigned char *)text;
    for (const unsigned char *s = to; *s;) {
        size_t n = utf8_length(s);
        if (n == 0) {
            s++;
            continue;
        }
        memmove(to, s, n);
        if (*to < 0x20 || *to == 0x7F) *to = '?';
        to += n;
        s += n;
    }
    *to = '\0';
}

tnr_status tnr_fail(tnr_error *err, int code, uint64_t position, const char *format, ...)
{
    if (!err) return code;
    va_list ap;
    va_start(ap, format);
    vsnprintf(err->message, sizeof err->message, format, ap);
    va_end(ap);
    clean(err->message);
    err->code = code;
    err->reserved0 = 0;
    err->position = position;
    return code;
}

tnr_status tnr_fail_memory(tnr_error *err, uint64_t bytes)
{
    return tnr_fail(err, TNR_E_MEMORY, 0, "out of memory: %" PRIu64 " bytes could not be allocated", bytes);
}
