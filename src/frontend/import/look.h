#ifndef TN_FRONTEND_IMPORT_LOOK_H
#define TN_FRONTEND_IMPORT_LOOK_H
/* What the content of a file looks like: for telling formats apart. */
#include "base/buf.h"

#include <stdbool.h>
#include <string.h>

static inline bool look_begins(tn_bytes b, const char *text)
{
    return b.n >= strlen(text) && memcmp(b.at, text, strlen(text)) == 0;
}

static inline bool look_holds(tn_bytes b, const char *text)
{
    return memmem(b.at, b.n, text, strlen(text)) != NULL;
}

static inline tn_bytes look_head(tn_bytes b, size_t most)
{
    return (tn_bytes){b.at, b.n < most ? b.n : most};
}

/* Without the blanks and ends of lines that it begins with. */
static inline tn_bytes look_past_blanks(tn_bytes b)
{
    for (; b.n && (*b.at == ' ' || *b.at == '\n' || *b.at == '\t' || *b.at == '\r'); b.at++)
        b.n--;
    return b;
}

#endif
