/* Help and error lines. Help goes to stdout, everything that is wrong to stderr. */
#include "cli/args.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELP_COLUMN = 34, WIDTH = 100 };

static bool coloured(FILE *to)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(fileno(to));
}

/* Words from column `column` on, further lines indented to `indent`. */
static void wrap(FILE *to, const char *text, int column, int indent)
{
    bool first = true;
    while (*(text += strspn(text, " "))) {
        int n = (int)strcspn(text, " ");
        if (!first && column + 1 + n > WIDTH) {
            column = fprintf(to, "\n%*s", indent, "") - 1;
            first = true;
        }
        column += fprintf(to, "%s%.*s", first ? "" : " ", n, text);
        first = false;
        text += n;
    }
    fputc('\n', to);
}

/* "{so,mlf}" of "so|mlf!": what can be given now. */
static int print_choices(FILE *to, const char *values)
{
    int n = 1;
    fputc('{', to);
    while (*values) {
        int len = (int)strcspn(values, "|!");
        if (values[len] != '!')
            n += fprintf(to, "%s%.*s", n > 1 ? "," : "", len, values);
        values += len + (values[len] == '!');
        values += *values == '|';
    }
    fputc('}', to);
    return n + 1;
}

static void print_flag(FILE *to, const tn_flag *f)
{
    int n = fprintf(to, "  ");
    if (f->letter)
        n += fprintf(to, "-%c, ", f->letter);
    n += fprintf(to, "--%s", f->name);
    if (f->kind == TN_FLAG_CHOICE)
        n += fprintf(to, " ") + print_choices(to, f->values);
    else if (f->values)
        n += fprintf(to, " %s", f->values);
    char text[512];
    snprintf(text, sizeof text, "%s%s%s%s", f->help, f->fallback ? " (default: " : "", f->fallback ? f->fallback : "",
             f->fallback ? ")" : "");
    if (n >= HELP_COLUMN - 1)
        n = fprintf(to, "\n") - 1;
    fprintf(to, "%*s", HELP_COLUMN - n, "");
    wrap(to, text, HELP_COLUMN, HELP_COLUMN);
}

static void print_refused(FILE *to, const tn_command *c)
{
    int column = 0;
    for (int t = 0; t < TN_COMMAND_TABLES && c->flags[t]; t++)
        for (const tn_flag *f = c->flags[t]; f->name; f++) {
            int n = (int)strlen(f->name) + 3;
            if (!f->refused || !f->help)
                continue;
            if (!column)
                fprintf(to, "\nKnown, but not supported yet (giving one is an error):");
            if (!column || column + n > WIDTH)
                column = fprintf(to, "\n ") - 1;
            column += fprintf(to, " --%s", f->name);
        }
    if (column)
        fputc('\n', to);
}

static void print_usage(FILE *to, const tn_command *c)
{
    fprintf(to, "usage: tenon %s%s%s%s\n", c->name, c->flags[0] ? " [flags]" : "", c->operand ? " " : "",
            c->operand ? c->operand : "");
}

void tn_help_command(const tn_command *c)
{
    print_usage(stdout, c);
    printf("\n%s\n\nflags:\n", c->help);
    for (int t = 0; t < TN_COMMAND_TABLES && c->flags[t]; t++)
        for (const tn_flag *f = c->flags[t]; f->name; f++)
            if (f->help && !f->refused)
                print_flag(stdout, f);
    print_refused(stdout, c);
}

void tn_help_commands(const tn_command *commands, const tn_flag *flags, bool to_stderr)
{
    FILE *to = to_stderr ? stderr : stdout;
    fprintf(to, "usage: tenon [-v] <command> [flags] ...\n\ncommands:\n");
    for (const tn_command *c = commands; c->name; c++)
        if (c->run)
            fprintf(to, "  %-12s %s\n", c->name, c->help);
    fprintf(to, "\nflags:\n");
    for (const tn_flag *f = flags; f->name; f++)
        if (f->help && !f->refused)
            print_flag(to, f);
    fprintf(to, "\nnot supported yet:");
    for (const tn_command *c = commands; c->name; c++)
        if (!c->run)
            fprintf(to, " %s", c->name);
    fprintf(to, "\n\n`tenon <command> --help` lists a command's flags. tvmc is another name of the same program.\n");
}

int tn_usage_error(const tn_command *command, const char *format, ...)
{
    va_list list;
    print_usage(stderr, command);
    fprintf(stderr, "tenon%s%s: error: ", *command->name ? " " : "", command->name);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    return TN_EXIT_USAGE;
}

int tn_error_print(const char *format, ...)
{
    va_list list;
    bool red = coloured(stderr);
    fputs(red ? "\033[1;31mError:\033[0m " : "Error: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    return TN_EXIT_ERROR;
}
