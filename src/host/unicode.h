#ifndef TENON_HOST_UNICODE_H
#define TENON_HOST_UNICODE_H
/* Characters of UTF-8 text: read and written, their cases, their general categories. */
#include "host/host.h"

enum { TNH_NO_CODE = -1, TNH_MAX_CODE = 0x10ffff };

/* The character at *at, which moves behind it; TNH_NO_CODE, and one byte on, where the text is not UTF-8. *at < end */
int32_t tnh_code_next(const char **at, const char *end);
/* As UTF-8: bytes written to `to`, at most 4. */
size_t tnh_code_put(int32_t code, char to[4]);

/* The character that is its other case alone; the same where there is none, or several make it. */
int32_t tnh_code_upper(int32_t code);
int32_t tnh_code_lower(int32_t code);
/* The other case in full: 1 to 3 characters. */
int tnh_code_upper_full(int32_t code, int32_t to[3]);
int tnh_code_lower_full(int32_t code, int32_t to[3]);

/* "Lu", "Nd", ...; "Cn" for what is no character. */
const char *tnh_code_category(int32_t code);

/* A whole text as result of m's element: in upper or lower case. Bytes that are not UTF-8 stay. turkic: the i
 * with a dot and the i without one are two letters (tr, az). */
tnr_status tnh_text_case(tnh_call *h, tnh_maker *m, tnh_text t, bool upper, bool turkic);

#endif
