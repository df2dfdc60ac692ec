/* Width and colours of terminals. */
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int measure(FILE *to, const char *variable, bool rows, int fallback, long least)
{
    enum { MOST = 4096 };
    const char *given = getenv(variable);
    struct winsize size = {0};
    long n = given ? strtol(given, NULL, 10) : 0;
    if (n <= 0 && ioctl(fileno(to), TIOCGWINSZ, &size) == 0)
        n = rows ? size.ws_row : size.ws_col;
    return n <= 0 ? fallback : n < least ? (int)least : n > MOST ? MOST : (int)n;
}

int tn_terminal_width(FILE *to, int fallback) { return measure(to, "COLUMNS", false, fallback, 40); }

int tn_terminal_height(FILE *to, int fallback) { return measure(to, "LINES", true, fallback, 6); }

bool tn_terminal_coloured(FILE *to)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(fileno(to));
}
