/* Help and error lines. Help goes to stdout, everything that is wrong to stderr. */
#include "base/utf8.h"
#include "cli/args.h"
#include "cli/terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE = 100, NARROW = 72, WIDE_COLUMN = 34, NARROW_COLUMN = 8 };

typedef struct { /* where help goes, and how it lies there */
    FILE *to;
    int width, column; /* of the texts of flags */
} page;

static page open_page(FILE *to)
{
    int width = tn_terminal_width(to, WIDE);
    return (page){to, width < WIDE ? width : WIDE, width < NARROW ? NARROW_COLUMN : WIDE_COLUMN};
}

/* Words from column `column` on, further lines indented. */
static void wrap(const page *p, const char *text, int column)
{
    bool first = true;
    while (*(text += strspn(text, " "))) {
        int n = (int)strcspn(text, " ");
        if (!first && column + 1 + n > p->width) {
            column = fprintf(p->to, "\n%*s", p->column, "") - 1;
            first = true;
        }
        column += fprintf(p->to, "%s%.*s", first ? "" : " ", n, text);
        first = false;
        text += n;
    }
    fputc('\n', p->to);
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

static void print_flag(const page *p, const tn_flag *f)
{
    FILE *to = p->to;
    int n = fprintf(to, "  ");
    if (f->letter)
        n += fprintf(to, "-%c, ", f->letter);
    n += fprintf(to, "--%s", f->name);
    if (f->kind == TN_FLAG_CHOICE)
        n += fprintf(to, " ") + print_choices(to, f->values);
    else if (f->values)
        n += fprintf(to, " %s", f->values);
    char text[512];
    snprintf(text, sizeof text, "%s%s%s%s", f->help, f->fallback ? " (default: " : "",
             f->fallback ? f->fallback : "", f->fallback ? ")" : "");
    if (n >= p->column - 1)
        n = fprintf(to, "\n") - 1;
    fprintf(to, "%*s", p->column - n, "");
    wrap(p, text, p->column);
}

/* A title, the names of the rows that are known but refused. */
static void print_refused(const page *p, const tn_command *c)
{
    int column = 0;
    for (int t = 0; t < TN_COMMAND_TABLES && c->flags[t]; t++)
        for (const tn_flag *f = c->flags[t]; f->name; f++) {
            int n = (int)strlen(f->name) + 3;
            if (!f->refused || !f->help)
                continue;
            if (!column)
                fprintf(p->to, "\nFlags of tvmc that are not supported yet (using one is an error):");
            if (!column || column + n > p->width)
                column = fprintf(p->to, "\n ") - 1;
            column += fprintf(p->to, " --%s", f->name);
        }
    if (column)
        fputc('\n', p->to);
}

const char *tn_program_name(void)
{
    return strcmp(program_invocation_short_name, "tvmc") == 0 ? "tvmc" : "tenon";
}

static void print_usage(FILE *to, const tn_command *c)
{
    if (!*c->name) {
        fprintf(to, "usage: %s <command> [flags] ...\n", tn_program_name());
        return;
    }
    fprintf(to, "usage: %s %s%s%s%s\n", tn_program_name(), c->name, c->flags[0] ? " [flags]" : "",
            c->operand ? " " : "", c->operand ? c->operand : "");
}

void tn_help_command(const tn_command *c, bool all)
{
    const page p = open_page(stdout);
    print_usage(stdout, c);
    fputc('\n', stdout);
    wrap(&(page){stdout, p.width, 0}, c->help, 0);
    printf("\nflags:\n");
    for (int t = 0; t < TN_COMMAND_TABLES && c->flags[t]; t++)
        for (const tn_flag *f = c->flags[t]; f->name; f++)
            if (f->help && !f->refused)
                print_flag(&p, f);
    if (all)
        print_refused(&p, c);
    if (c->example)
        printf("\nexample:\n  %s %s\n", tn_program_name(), c->example);
}

void tn_help_commands(const tn_command *commands, const tn_flag *flags, bool all, bool to_stderr)
{
    FILE *to = to_stderr ? stderr : stdout;
    const char *name = tn_program_name();
    const page p = open_page(to);
    fprintf(to, "usage: %s [-v] <command> [flags] ...\n\ncommands:\n", name);
    for (const tn_command *c = commands; c->name; c++)
        if (c->run) {
            int n = fprintf(to, "  %-12s ", c->name);
            wrap(&(page){to, p.width, n}, c->help, n);
        }
    fprintf(to, "\nflags:\n");
    for (const tn_flag *f = flags; f->name; f++)
        if (f->help && !f->refused)
            print_flag(&p, f);
    if (all) {
        fprintf(to, "\nCommands of tvmc that are not supported yet:");
        for (const tn_command *c = commands; c->name; c++)
            if (!c->run)
                fprintf(to, " %s", c->name);
        fputc('\n', to);
    }
    fprintf(to, "\nRun `%s <command> --help` for the flags of a command, with an example.\n", name);
}

/* ---- what is said on standard error ---- */

static void put_shown(const char *text, const char *end, FILE *to)
{
    while (text < end) {
        size_t n = *text == '\n' ? 1 : tn_utf8_shown(text);
        if (n)
            fwrite(text, 1, n, to);
        else
            fprintf(to, "\\x%02x", (unsigned char)*text);
        text += n ? n : 1;
    }
}

static void put_title(const char *severity)
{
    const bool colours = tn_terminal_coloured(stderr);
    const char *colour = strcmp(severity, "error") == 0 ? "\033[1;31m" : "\033[1;35m";
    fprintf(stderr, "%s: %s%s:%s ", tn_program_name(), colours ? colour : "", severity,
            colours ? "\033[0m" : "");
}

static void say(const char *severity, const char *format, va_list list)
{
    char *text = NULL;
    int n = vasprintf(&text, format, list);
    put_title(severity);
    if (n >= 0)
        put_shown(text, text + n, stderr);
    fputc('\n', stderr);
    if (n >= 0)
        free(text);
}

int tn_usage_error(const tn_command *command, const char *format, ...)
{
    va_list list;
    print_usage(stderr, command);
    va_start(list, format);
    say("error", format, list);
    va_end(list);
    return TN_EXIT_USAGE;
}

int tn_error_print(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say("error", format, list);
    va_end(list);
    return TN_EXIT_ERROR;
}

void tn_warning_print(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say("warning", format, list);
    va_end(list);
}

void tn_note_print(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say("note", format, list);
    va_end(list);
}

void tn_messages_print(const char *text)
{
    static const char *const severity[] = {"error", "warning", "note"};
    while (*text) {
        size_t n = strcspn(text, "\n"), skip = 0;
        for (size_t i = 0; i < sizeof severity / sizeof *severity; i++) {
            size_t k = strlen(severity[i]);
            if (strncmp(text, severity[i], k) == 0 &&
                strncmp(text + k, ": ", 2) == 0) { /* no place before it */
                put_title(severity[i]);
                skip = k + 2;
            }
        }
        fprintf(stderr, "%.*s\n", (int)(n - skip), text + skip);
        text += n + (text[n] == '\n');
    }
}
