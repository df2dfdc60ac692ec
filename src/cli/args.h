#ifndef TN_CLI_ARGS_H
#define TN_CLI_ARGS_H
/* Command lines by tables: a row per flag, a row per command. Parsing, help and refusals all read the same rows. */
#include "base/words.h"

#include <stdbool.h>
#include <stddef.h>

enum tn_exit {
    TN_EXIT_OK = 0,
    TN_EXIT_NO_COMMAND = 1,
    TN_EXIT_DIFFER = 1, /* compare */
    TN_EXIT_USAGE = 2,
    TN_EXIT_ERROR = 4,
    TN_EXIT_IMPORTER = 5
};

enum tn_flag_kind {
    TN_FLAG_SWITCH, /* takes no value; counted when repeated */
    TN_FLAG_ALONE,  /* a switch that makes the operand optional: --help, --list */
    TN_FLAG_TEXT,   /* one value; the last one given counts */
    TN_FLAG_CHOICE, /* one of `values` */
    TN_FLAG_INT,    /* a whole number in [low, high] */
    TN_FLAG_REPEAT, /* one value each time; all of them count */
    TN_FLAG_WORDS,  /* one or more words, up to the next flag or the operand */
};

typedef struct tn_flag { /* a table ends with a row without a name */
    const char *name;    /* without dashes; "target-cuda-*" stands for all names with that beginning */
    char letter;         /* one-letter form; 0: none */
    unsigned char kind;  /* enum tn_flag_kind */
    bool refused;        /* known, but not supported yet: giving it is an error that names it */
    const char
        *values; /* CHOICE: "a|b|c!", where ! marks one that is known but not supported yet; others: what
                            * help calls the value */
    const char *fallback; /* value when not given; NULL: none */
    const char *help;     /* NULL: not shown */
    int low, high;        /* INT */
    size_t place;         /* 1 + the offset in a struct where tn_args_store puts the value; 0: nowhere */
} tn_flag;

/* Rows by kind. `letter` 0: none. */
#define TN_ROW(kind, name, letter, values, fallback, help, low, high) \
    {name, letter, TN_FLAG_##kind, false, values, fallback, help, low, high, 0}
#define TN_ROW_SWITCH(name, letter, help) TN_ROW(SWITCH, name, letter, NULL, NULL, help, 0, 0)
#define TN_ROW_ALONE(name, letter, help) TN_ROW(ALONE, name, letter, NULL, NULL, help, 0, 0)
#define TN_ROW_TEXT(name, letter, values, fallback, help) \
    TN_ROW(TEXT, name, letter, values, fallback, help, 0, 0)
#define TN_ROW_CHOICE(name, letter, values, fallback, help) \
    TN_ROW(CHOICE, name, letter, values, fallback, help, 0, 0)
#define TN_ROW_INT(name, letter, low, high, fallback, help) \
    TN_ROW(INT, name, letter, "N", fallback, help, low, high)
#define TN_ROW_REFUSED(name) {name, 0, TN_FLAG_TEXT, true, NULL, NULL, "", 0, 0, 0}
#define TN_ROW_FAMILY(name) \
    {name "*", 0, TN_FLAG_TEXT, true, NULL, NULL, NULL, 0, 0, 0} /* refused, not listed */

/* The same with a place: a member of a struct, `const char *` for TEXT, CHOICE and WORDS (blanks between),
 * int for INT and SWITCH (1 if given), `const char *const *` for REPEAT (NULL after the last). Not given,
 * without fallback: NULL or 0. */
#define TN_STORED(kind, type, member, name, letter, values, fallback, help, low, high) \
    {name, letter, TN_FLAG_##kind, false, values, fallback, help, low, high, 1 + offsetof(type, member)}

enum { TN_COMMAND_TABLES = 3, TN_ARGS_MADE = 8 };

typedef struct tn_args tn_args;
typedef struct tn_command {
    /* operand: what the one word without a flag is called; NULL: none is taken. "A [B] ...": a second one may
     * follow, and the words from the first -- on are left to the command. */
    const char *name, *operand;
    int (*run)(const tn_args *args);         /* returns an enum tn_exit; NULL: not supported yet */
    const tn_flag *flags[TN_COMMAND_TABLES]; /* NULL after the last */
    const char *help;    /* one line; of a command that is not supported yet: what to do instead, or NULL */
    const char *example; /* words behind the program's name; NULL: none */
} tn_command;

struct tn_args { /* a parsed command line; texts point into argv */
    const tn_command *command;
    const char *operand, *second; /* NULL: not given */
    int verbose;                  /* how often -v was given, before and after the command's name */
    bool help, help_all;
    int n_given;
    struct tn_given {
        const tn_flag *flag;
        const char *text;
    } *given; /* in the order of the command line */
    int n_word, n_rest;
    char *const *word, *const *rest; /* of a command with groups: before the first --, and from there on */
};

/* Parses the words after the command's name. Returns TN_EXIT_OK, or prints what is wrong and returns
 * TN_EXIT_USAGE (unknown flag, bad value) or TN_EXIT_ERROR (a flag or value that is not supported yet).
 * Deinit either way. */
int tn_args_parse(tn_args *args, const tn_command *command, int argc, char *const argv[]);
void tn_args_deinit(tn_args *args);
/* Is `word` ("--flag=value", a default from elsewhere) one of the command's flags, and not given in argv? */
bool tn_args_accept(const tn_command *c, const char *word, int argc, char *const argv[]);

/* Values by flag name, which must be one of the command's. text: the last one given, else the fallback, else NULL. */
const char *tn_args_text(const tn_args *args, const char *flag);
int tn_args_int(const tn_args *args, const char *flag);
int tn_args_count(const tn_args *args, const char *flag);             /* how often it was given */
const char *tn_args_at(const tn_args *args, const char *flag, int i); /* i-th one given, i < count */
/* Puts the values of all flags that have a place into *out. What had to be made for it is in `made`, heap, to be freed
 * after the last use. Prints what fails. */
int tn_args_store(const tn_args *args, void *out, void *made[TN_ARGS_MADE]);

/* help.c; `commands` ends with a row without a name */
void tn_help_commands(const tn_command *commands, const tn_flag *flags, bool all, bool to_stderr);
void tn_help_command(const tn_command *command, bool all); /* all: also what is known but not supported yet */
const char *tn_program_name(void);                         /* "tvmc" if it was called so, else "tenon" */
/* The usage, then "tenon: error: ..." on stderr; returns TN_EXIT_USAGE. */
int tn_usage_error(const tn_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "tenon: error: ..." on stderr, and so on. What a terminal cannot show is printed as \xNN. */
int tn_error_print(const char *format, ...) __attribute__((format(printf, 1, 2))); /* returns TN_EXIT_ERROR */
void tn_warning_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tn_note_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The lines of tenon_messages; those without a place get the program's name before them. */
void tn_messages_print(const char *text);

#endif
