#ifndef TENON_TESTS_WIRE_PB_TEXT_H
#define TENON_TESTS_WIRE_PB_TEXT_H
/* Messages of Protocol Buffers from texts, for tests: fields by their numbers.
 *
 *   1:5        a number            2=0.5     a float32             3'text'   bytes
 *   4{ ... }   a message           5[1 2]    packed float32        6(1 2)    packed numbers */
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

static inline void pb_varint(tn_buf *b, uint64_t v)
{
    for (; v > 127; v >>= 7)
        tn_buf_char(b, (char)((v & 127) | 128));
    tn_buf_char(b, (char)v);
}

static inline void pb_field(tn_buf *b, uint64_t number, const tn_buf *inside)
{
    pb_varint(b, number << 3 | 2);
    pb_varint(b, inside->n);
    tn_buf_add(b, inside->at, inside->n);
}

/* Fields up to the end, or a closing bracket. */
static inline const char *pb_text(tn_buf *b, const char *s)
{
    while (*(s += strspn(s, " \n")) && *s != '}') {
        char *end;
        uint64_t number = strtoull(s, &end, 10);
        char kind = *end;
        tn_buf inside = {0};
        s = end + 1;
        if (kind == ':') {
            pb_varint(b, number << 3);
            pb_varint(b, (uint64_t)strtoll(s, &end, 10));
            s = end;
            continue;
        }
        if (kind == '=') {
            float f = strtof(s, &end);
            pb_varint(b, number << 3 | 5);
            tn_buf_add(b, &f, 4);
            s = end;
            continue;
        }
        while ((kind == '[' && *(s += strspn(s, " ")) != ']') ||
               (kind == '(' && *(s += strspn(s, " ")) != ')')) {
            float f = strtof(s, &end);
            if (kind == '[')
                tn_buf_add(&inside, &f, 4);
            else
                pb_varint(&inside, (uint64_t)strtoll(s, &end, 10));
            s = end;
        }
        if (kind == '\'') {
            size_t n = strcspn(s, "'");
            tn_buf_add(&inside, s, n);
            s += n;
        }
        s = kind == '{' ? pb_text(&inside, s) : s;
        s += *s != 0;
        pb_field(b, number, &inside);
        tn_buf_deinit(&inside);
    }
    return s;
}

#endif
