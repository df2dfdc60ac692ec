/* Errors: one formatted sentence in a fixed buffer, no allocation. Names and paths from files may be longer than the
 * buffer; what the sentence says of them is not. So the longest word is cut in its middle, again and again,
 * until all fits. */
#include "runtime/error.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    DRAFT = 2048,
    KEPT = 8
}; /* bytes of a sentence before it is cut; bytes at either end that a cut word keeps */
static const char dots[] = "\xe2\x80\xa6";

/* Writes what a terminal cannot show as \xNN, the rest as it is; returns the length. */
static size_t clean(const char *from, char to[DRAFT])
{
    size_t k = 0;
    while (*from) {
        size_t n = tn_utf8_shown(from);
        if (k + 5 > DRAFT)
            break;
        if (n)
            memcpy(to + k, from, n);
        else
            snprintf(to + k, 5, "\\x%02x", (unsigned char)*from);
        k += n ? n : 4;
        from += n ? n : 1;
    }
    to[k] = '\0';
    return k;
}

static bool continues(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* Takes at least `excess` bytes, or all that can be spared, out of the middle of at[0..n); returns how many. */
static size_t cut(char *at, size_t n, size_t excess)
{
    const size_t mark = sizeof dots - 1, spare = n > 2 * KEPT + mark ? n - 2 * KEPT : 0;
    size_t gone = excess + mark < spare ? excess + mark : spare, from = (n - gone) / 2, to = from + gone;
    if (!spare)
        return 0;
    while (continues(at[from]))
        from--;
    while (continues(at[to]))
        to++;
    memcpy(at + from, dots, mark);
    memmove(at + from + mark, at + to, strlen(at + to) + 1);
    return to - from - mark;
}

static void shorten(char *text, size_t n, size_t room)
{
    while (n >= room) {
        size_t longest = 0, at = 0;
        for (size_t i = 0, k; text[i]; i += k + strspn(text + i + k, " ")) {
            k = strcspn(text + i, " ");
            at = k > longest ? i : at;
            longest = k > longest ? k : longest;
        }
        size_t gone = cut(text + at, longest, n - room + 1);
        if (!gone) /* no word is long: the sentence is */
            gone = cut(text, n, n - room + 1);
        n -= gone;
    }
}

tnr_status tnr_fail(tnr_error *err, int code, uint64_t position, const char *format, ...)
{
    char draft[DRAFT], text[DRAFT];
    if (!err)
        return code;
    va_list ap;
    va_start(ap, format);
    vsnprintf(draft, sizeof draft, format, ap);
    va_end(ap);
    size_t n = clean(draft, text);
    shorten(text, n, sizeof err->message);
    memcpy(err->message, text, strlen(text) + 1);
    err->code = code;
    err->reserved0 = 0;
    err->position = position;
    return code;
}

tnr_status tnr_check_extent(const tn_symbol *s, int64_t v, const char *what, const char *who,
                            uint64_t position, tnr_error *err)
{
    return v >= s->min && v <= s->max ? TNR_OK
                                      : tnr_fail(err, TNR_E_CHECK, position,
                                                 "%s%.400s: an extent (%.100s) is %" PRId64
                                                 ", but must be from %" PRId64 " to %" PRId64,
                                                 what, who, s->name, v, s->min, s->max);
}

tnr_status tnr_fail_argument(const char *function, tnr_error *err)
{
    return tnr_fail(err, TNR_E_ARG, 0, "%s: an argument is NULL, or an index or an option out of range",
                    function);
}

tnr_status tnr_check_index(const char *what, uint32_t index, uint32_t n, const void *out, tnr_error *err)
{
    return index < n && out
               ? TNR_OK
               : tnr_fail(err, TNR_E_ARG, 0, "no %s %" PRIu32 ": there are %" PRIu32, what, index, n);
}

void tnr_list_add(char list[TNR_LIST_TEXT], const char *name)
{
    static const char more[] = ", ...";
    size_t at = strlen(list), room = TNR_LIST_TEXT - at;
    if (at + 1 > sizeof more && strcmp(list + at + 1 - sizeof more, more) == 0)
        return;
    snprintf(list + at, room, "%s%s", at ? ", " : "", strlen(name) + 2 * sizeof more > room ? "..." : name);
}

tnr_status tnr_fail_not_run(tnr_error *err)
{
    return tnr_fail(err, TNR_E_STATE, 0, "no output yet: no run has succeeded since the last change");
}

tnr_status tnr_fail_memory(tnr_error *err, uint64_t bytes)
{
    return tnr_fail(err, TNR_E_MEMORY, 0, "out of memory: cannot allocate %" PRIu64 " bytes", bytes);
}
