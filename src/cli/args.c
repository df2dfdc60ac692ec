/* The command line parser. It reads what users of Python's argparse type: --flag value, --flag=value, unambiguous
 * beginnings of flags, -f value, -fvalue, -vv, negative numbers as values, -- before an operand that looks
 * like a flag. */
#include "cli/args.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { /* where parsing stands */
    tn_args *args;
    int argc, at; /* argv[at] is the next word */
    char *const *argv;
    bool only_operands; /* after -- */
} parser;

static const tn_flag *each_flag(const tn_command *c, const tn_flag *f, int *table)
{
    f = f ? f + 1 : c->flags[ *table = 0];
    while (f && !f->name)
        f = ++*table < TN_COMMAND_TABLES ? c->flags[*table] : NULL;
    return f;
}

static bool looks_like_number(const char *s)
{
    char *end;
    if (*s != '-' || !strchr("0123456789.", s[1]) || !s[1])
        return false;
    strtod(s, &end);
    return *end == 0;
}

static bool is_flag(const parser *p, const char *word)
{
    return !p->only_operands && word[0] == '-' && word[1] && !looks_like_number(word);
}

/* ---- finding the row ---- */

static bool is_family(const tn_flag *f) { return f->name[strlen(f->name) - 1] == '*'; }

static bool begins_with(const tn_flag *f, const char *name, size_t n)
{
    return n && !is_family(f) && strncmp(f->name, name, n) == 0;
}

static int ambiguous(const tn_command *c, const char *name, size_t n)
{
    char list[256] = "";
    int table;
    for (const tn_flag *f = NULL; (f = each_flag(c, f, &table));)
        if (begins_with(f, name, n) && strlen(list) + strlen(f->name) + 8 < sizeof list) {
            memcpy(list + strlen(list), *list ? ", --" : "--", *list ? 5 : 3);
            memcpy(list + strlen(list), f->name, strlen(f->name) + 1);
        }
    return tn_usage_error(c, "--%.*s is ambiguous: it could be %s", (int)n, name, list);
}

static int unknown_flag(const tn_command *c, const char *name, size_t n)
{
    tn_nearest p = {.word = name, .n = n};
    int table;
    for (const tn_flag *f = NULL; (f = each_flag(c, f, &table));)
        if (!is_family(f))
            tn_nearest_offer(&p, f->name);
    if (p.best)
        return tn_usage_error(c, "unknown flag --%.*s; did you mean --%s?", (int)n, name, p.best);
    return tn_usage_error(c, "unknown flag --%.*s; run `%s%s%s --help` for the list", (int)n, name,
                          tn_program_name(), *c->name ? " " : "", c->name);
}

/* The flag called name[0..n), or the only one that begins so. A family ("target-cuda-*") stands behind both. */
static int find_long(const tn_command *c, const char *name, size_t n, const tn_flag **out)
{
    const tn_flag *begins = NULL, *family = NULL;
    int count = 0, table;
    for (const tn_flag *f = NULL; (f = each_flag(c, f, &table));) {
        if (strncmp(f->name, name, n) == 0 && f->name[n] == 0) {
            *out = f;
            return TN_EXIT_OK;
        }
        size_t k = strlen(f->name) - 1;
        if (is_family(f) && n > k && memcmp(f->name, name, k) == 0)
            family = f;
        else if (begins_with(f, name, n))
            begins = f, count++;
    }
    if (count > 1)
        return ambiguous(c, name, n);
    *out = begins ? begins : family;
    return *out ? TN_EXIT_OK : unknown_flag(c, name, n);
}

static const tn_flag *find_letter(const tn_command *c, char letter)
{
    int table;
    for (const tn_flag *f = NULL; (f = each_flag(c, f, &table));)
        if (f->letter == letter)
            return f;
    return NULL;
}

/* ---- values ---- */

static bool is_switch(const tn_flag *f) { return f->kind == TN_FLAG_SWITCH || f->kind == TN_FLAG_ALONE; }

/* "so, tar" of "so|mlf!|tar": what can be given now. */
static void list_choices(const char *values, char *list, size_t room)
{
    size_t n = 0;
    *list = 0;
    while (*values) {
        int len = (int)strcspn(values, "|!");
        if (values[len] != '!' && n < room)
            n += (size_t)snprintf(list + n, room - n, "%s%.*s", n ? ", " : "", len, values);
        values += len + (values[len] == '!');
        values += *values == '|';
    }
}

static int check_choice(const tn_command *c, const tn_flag *f, const char *text)
{
    char list[256];
    size_t n = strlen(text);
    for (const char *v = f->values; v; v = strchr(v, '|') ? strchr(v, '|') + 1 : NULL) {
        size_t len = strcspn(v, "|!");
        if (len != n || memcmp(v, text, n) != 0)
            continue;
        return v[len] == '!' ? tn_error_print("--%s %s is not supported yet", f->name, text) : TN_EXIT_OK;
    }
    list_choices(f->values, list, sizeof list);
    return tn_usage_error(c, "--%s: unknown value \"%s\"; choose from %s", f->name, text, list);
}

static int check_int(const tn_command *c, const tn_flag *f, const char *text)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (!*text || *end)
        return tn_usage_error(c, "--%s takes a whole number, not \"%s\"", f->name, text);
    if (errno || v < f->low || v > f->high)
        return f->high == INT_MAX && v < f->low
                   ? tn_usage_error(c, "--%s %s is out of range; give at least %d", f->name, text, f->low)
                   : tn_usage_error(c, "--%s %s is out of range; give %d to %d", f->name, text, f->low,
                                    f->high);
    return TN_EXIT_OK;
}

/* text NULL: a switch */
static int give(parser *p, const tn_flag *f, const char *text)
{
    tn_args *a = p->args;
    int status = TN_EXIT_OK;
    if (f->kind == TN_FLAG_CHOICE)
        status = check_choice(a->command, f, text);
    else if (f->kind == TN_FLAG_INT)
        status = check_int(a->command, f, text);
    if (status != TN_EXIT_OK)
        return status;
    a->given[a->n_given++] = (struct tn_given){f, text};
    a->verbose += strcmp(f->name, "verbose") == 0;
    a->help_all |= strcmp(f->name, "help-all") == 0;
    a->help |= a->help_all || strcmp(f->name, "help") == 0;
    return TN_EXIT_OK;
}

/* Is there a further word for the flag before it? The operand may follow: the last word of all, or a file's name. */
static bool more_words(const parser *p)
{
    if (p->at >= p->argc || is_flag(p, p->argv[p->at]))
        return false;
    if (p->args->operand || !p->args->command->operand)
        return true;
    return p->at + 1 < p->argc && access(p->argv[p->at], F_OK) != 0;
}

/* attached: the value in the same word, or NULL */
static int take_value(parser *p, const tn_flag *f, const char *attached)
{
    if (!attached && (p->at >= p->argc || is_flag(p, p->argv[p->at])))
        return tn_usage_error(p->args->command, "--%s needs a value", f->name);
    int status = give(p, f, attached ? attached : p->argv[p->at++]);
    while (f->kind == TN_FLAG_WORDS && !attached && status == TN_EXIT_OK && more_words(p))
        status = give(p, f, p->argv[p->at++]);
    return status;
}

/* ---- words ---- */

static int take_long(parser *p, const char *word)
{
    const tn_command *c = p->args->command;
    const tn_flag *f = NULL;
    size_t n = strcspn(word, "=");
    const char *attached = word[n] ? word + n + 1 : NULL;
    int status = find_long(c, word, n, &f);
    if (status != TN_EXIT_OK)
        return status;
    if (is_family(f))
        return tn_error_print("--%.*s is not supported yet", (int)n, word);
    if (f->refused)
        return tn_error_print("--%s is not supported yet", f->name);
    if (!is_switch(f))
        return take_value(p, f, attached);
    if (attached)
        return tn_usage_error(c, "--%s takes no value", f->name);
    return give(p, f, NULL);
}

static int take_letters(parser *p, const char *word)
{
    const tn_command *c = p->args->command;
    for (; *word; word++) {
        const tn_flag *f = find_letter(c, *word);
        if (!f)
            return tn_usage_error(c, "unknown flag -%c; run `%s%s%s --help` for the list", *word,
                                  tn_program_name(), *c->name ? " " : "", c->name);
        if (!is_switch(f))
            return take_value(p, f, word[1] ? word + 1 + (word[1] == '=') : NULL);
        int status = give(p, f, NULL);
        if (status != TN_EXIT_OK)
            return status;
    }
    return TN_EXIT_OK;
}

static bool takes_two(const tn_command *c) { return c->operand && strchr(c->operand, '['); }

static int take_operand(parser *p, const char *word)
{
    const tn_command *c = p->args->command;
    if (!c->operand)
        return tn_usage_error(c, "unexpected argument \"%s\"; `%s` takes flags only", word, c->name);
    if (p->args->second)
        return tn_usage_error(c, "unexpected argument \"%s\"; `%s` takes two, which are there already", word,
                              c->name);
    if (p->args->operand && !takes_two(c))
        return tn_usage_error(c, "unexpected argument \"%s\"; `%s` takes one %s, and \"%s\" is it already",
                              word, c->name, c->operand, p->args->operand);
    *(p->args->operand ? &p->args->second : &p->args->operand) = word;
    return TN_EXIT_OK;
}

static int take_word(parser *p)
{
    const char *word = p->argv[p->at++];
    if (!is_flag(p, word))
        return take_operand(p, word);
    if (strcmp(word, "--") == 0) {
        if (takes_two(p->args->command)) {
            p->args->n_word = p->at - 1;
            p->args->rest = p->argv + p->at - 1;
            p->args->n_rest = p->argc - p->at + 1;
            p->at = p->argc;
        }
        p->only_operands = true;
        return TN_EXIT_OK;
    }
    return word[1] == '-' ? take_long(p, word + 2) : take_letters(p, word + 1);
}

static bool operand_optional(const tn_args *a)
{
    for (int i = 0; i < a->n_given; i++)
        if (a->given[i].flag->kind == TN_FLAG_ALONE)
            return true;
    return false;
}

static size_t words_bound(int argc, char *const argv[])
{
    size_t n = 1;
    for (int i = 0; i < argc; i++)
        n += strlen(argv[i]) + 1; /* -vvv gives one flag a letter */
    return n;
}

int tn_args_parse(tn_args *args, const tn_command *command, int argc, char *const argv[])
{
    parser p = {.args = args, .argc = argc, .argv = argv};
    *args = (tn_args){.command = command, .n_word = argc, .word = argv};
    args->given = calloc(words_bound(argc, argv), sizeof *args->given);
    if (!args->given)
        return tn_error_print("out of memory");
    while (p.at < argc && !args->help) {
        int status = take_word(&p);
        if (status != TN_EXIT_OK)
            return status;
    }
    if (command->operand && !args->operand && !operand_optional(args))
        return tn_usage_error(command, "%.*s is missing", (int)strcspn(command->operand, " "),
                              command->operand);
    return TN_EXIT_OK;
}

void tn_args_deinit(tn_args *args)
{
    free(args->given);
    args->given = NULL;
}

/* ---- looking at the result ---- */

static const tn_flag *flag_at(const tn_args *args, const char *name)
{
    int table;
    const tn_flag *f = NULL;
    while ((f = each_flag(args->command, f, &table)))
        if (strcmp(f->name, name) == 0)
            break;
    assert(f && "a flag of this command");
    return f;
}

static const char *text_of(const tn_args *args, const tn_flag *f)
{
    for (int i = args->n_given; i-- > 0;)
        if (args->given[i].flag == f)
            return args->given[i].text;
    return f->fallback;
}

const char *tn_args_text(const tn_args *args, const char *flag) { return text_of(args, flag_at(args, flag)); }

static int int_of(const tn_args *args, const tn_flag *f)
{
    const char *text = text_of(args, f);
    return text ? (int)strtol(text, NULL, 10) : 0;
}

int tn_args_int(const tn_args *args, const char *flag) { return int_of(args, flag_at(args, flag)); }

static int count_of(const tn_args *args, const tn_flag *f)
{
    int n = 0;
    for (int i = 0; i < args->n_given; i++)
        n += args->given[i].flag == f;
    return n;
}

int tn_args_count(const tn_args *args, const char *flag) { return count_of(args, flag_at(args, flag)); }

const char *tn_args_at(const tn_args *args, const char *flag, int k)
{
    const tn_flag *f = flag_at(args, flag);
    for (int i = 0; i < args->n_given; i++)
        if (args->given[i].flag == f && k-- == 0)
            return args->given[i].text;
    return NULL;
}

/* ---- values to where they are used ---- */

/* All of them, NULL after the last; heap, NULL: out of memory. */
static const char **list_of(const tn_args *args, const tn_flag *f)
{
    int n = 0;
    const char **all = calloc((size_t)count_of(args, f) + 1, sizeof *all);
    for (int i = 0; i < args->n_given && all; i++)
        if (args->given[i].flag == f)
            all[n++] = args->given[i].text;
    return all;
}

/* All of them with blanks between; heap, NULL: out of memory. */
static char *words_of(const tn_args *args, const tn_flag *f)
{
    const char **word = list_of(args, f);
    size_t room = 1, n = 0;
    for (int i = 0; word && word[i]; i++)
        room += strlen(word[i]) + 1;
    char *all = word ? calloc(1, room) : NULL;
    for (int i = 0; all && word[i]; i++) {
        if (i)
            all[n++] = ' ';
        memcpy(all + n, word[i], strlen(word[i]) + 1);
        n += strlen(word[i]);
    }
    free(word);
    return all;
}

/* Members are as TN_STORED says. Returns 0, or 1: out of memory. */
static int store(const tn_args *args, const tn_flag *f, char *place, void **made)
{
    const char *text = NULL;
    int number;
    switch (f->kind) {
    case TN_FLAG_REPEAT:
    case TN_FLAG_WORDS:
        if (!count_of(args, f))
            break;
        *made = f->kind == TN_FLAG_WORDS ? (void *)words_of(args, f) : (void *)list_of(args, f);
        memcpy(place, made, sizeof *made);
        return *made == NULL;
    case TN_FLAG_INT:
    case TN_FLAG_SWITCH:
        number = f->kind == TN_FLAG_INT ? int_of(args, f) : count_of(args, f) > 0;
        memcpy(place, &number, sizeof number);
        break;
    default: text = text_of(args, f); memcpy(place, &text, sizeof text);
    }
    return 0;
}

int tn_args_store(const tn_args *args, void *out, void *made[TN_ARGS_MADE])
{
    int table, n = 0;
    for (const tn_flag *f = NULL; (f = each_flag(args->command, f, &table));) {
        if (!f->place)
            continue;
        assert(n < TN_ARGS_MADE);
        if (store(args, f, (char *)out + f->place - 1, &made[n]))
            return tn_error_print("out of memory");
        n += made[n] != NULL;
    }
    return TN_EXIT_OK;
}

bool tn_args_accept(const tn_command *c, const char *word, int argc, char *const argv[])
{
    size_t n = strcspn(word + 2, "=");
    int table;
    const tn_flag *f = NULL;
    while ((f = each_flag(c, f, &table)) && !(strlen(f->name) == n && memcmp(f->name, word + 2, n) == 0))
        ;
    if (!f)
        return false; /* another command's */
    for (int i = 0; i < argc; i++) {
        const char *name = argv[i] + 2;
        size_t k = strcspn(argv[i], "=") - 2;
        if (strncmp(argv[i], "--", 2) == 0 && argv[i][2] && k <= n && memcmp(name, word + 2, k) == 0)
            return false;
        if (f->letter && argv[i][0] == '-' && argv[i][1] == f->letter)
            return false;
    }
    return true;
}
