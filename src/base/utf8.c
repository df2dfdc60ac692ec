/* UTF-8, as far as a message needs it. No allocation: the runtime uses it too. */
#include "base/utf8.h"

#include <stdbool.h>

size_t tn_utf8_shown(const char *s)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t n = u[0] < 0x80 ? 1 : u[0] < 0xC2 ? 0 : u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : u[0] < 0xF5 ? 4 : 0;
    if (n < 2)
        return n && u[0] >= 0x20 && u[0] != 0x7F;
    for (size_t i = 1; i < n; i++)
        if ((u[i] & 0xC0) != 0x80)
            return 0;
    bool control = u[0] == 0xC2 && u[1] < 0xA0,
         overlong = (u[0] == 0xE0 && u[1] < 0xA0) || (u[0] == 0xF0 && u[1] < 0x90);
    bool outside =
        (u[0] == 0xED && u[1] >= 0xA0) || (u[0] == 0xF4 && u[1] >= 0x90); /* surrogates; beyond U+10FFFF */
    return control || overlong || outside ? 0 : n;
}
