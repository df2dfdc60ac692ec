#ifndef TN_BASE_UTF8_H
#define TN_BASE_UTF8_H
/* Text from outside, character by character. */
#include <stddef.h>

/* Bytes of the UTF-8 character at s that a terminal can show; 0 for a control byte (of C0 or C1), for a byte
 * that is not UTF-8, and at the end of the text. */
size_t tn_utf8_shown(const char *s);

#endif
