#ifndef TN_CLI_TERMINAL_H
#define TN_CLI_TERMINAL_H
/* What is known of the terminal behind a stream. */
#include <stdbool.h>
#include <stdio.h>

/* Columns: $COLUMNS, else the terminal's, else `fallback`. */
int tn_terminal_width(FILE *to, int fallback);
int tn_terminal_height(FILE *to, int fallback); /* rows: $LINES, else the terminal's, else `fallback` */
bool tn_terminal_coloured(FILE *to);            /* a terminal with colours, and no NO_COLOR */

#endif
