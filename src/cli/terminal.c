/* Width and colours of terminals. */
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int tn_terminal_width(FILE *to, int fallback)
{
    enum { LEAST = 40, MOST = 4096 };
    const char *given = getenv("COLUMNS");
    struct winsize size = {0};
    long n = given ? strtol(given, NULL, 10) : 0;
    if (n <= 0 && ioctl(fileno(to), TIOCGWINSZ, &size) == 0)
        n = size.ws_col;
    return n <= 0 ? fallback : n < LEAST ? LEAST : n > MOST ? MOST : (int)n;
}

bool tn_terminal_coloured(FILE *to)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(fileno(to));
}
