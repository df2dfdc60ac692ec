/* Errors: one formatted sentence in a fixed buffer, no allocation. */
#include "runtime/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Drop a UTF-8 character that the cut left incomplete at the end of s (n bytes). */
static void cut_utf8(char *s, size_t n)
{
    size_t start = n;
    while (start > 0 && n - start < 3 && ((unsigned char)s[start - 1] & 0xC0) == 0x80) start--;
    if (start == 0) return;
    unsigned char lead = (unsigned char)s[start - 1];
    size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (n - (start - 1) < need) s[start - 1] = '\0';
}

tnr_status tnr_fail(tnr_error *err, int code, uint64_t position, const char *format, ...)
{
    if (!err) return code;
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(err->message, sizeof err->message, format, ap);
    va_end(ap);
    if (n >= (int)sizeof err->message) cut_utf8(err->message, strlen(err->message));
    err->code = code;
    err->reserved0 = 0;
    err->position = position;
    return code;
}

tnr_status tnr_fail_memory(tnr_error *err, uint64_t bytes)
{
    return tnr_fail(err, TNR_E_MEMORY, 0, "out of memory: %" PRIu64 " bytes could not be allocated", bytes);
}
