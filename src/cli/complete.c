/* Completion scripts and manual pages, from the tables that parsing and help read. Written at build time:
 * tenon --completion {bash,zsh}, tenon --manual {tenon,tvmc,<command>}. */
#include "cli/complete.h"

#include <stdio.h>
#include <string.h>

/* "onnx|relay|pb!" as "onnx relay": what can be given now. */
static void words(const char *values, const char *between)
{
    const char *before = "";
    while (*values) {
        int n = (int)strcspn(values, "|!");
        if (values[n] != '!') {
            printf("%s%.*s", before, n, values);
            before = between;
        }
        values += n + (values[n] == '!');
        values += *values == '|';
    }
}

static const tn_flag *next_flag(const tn_command *c, const tn_flag *f, int *table)
{
    do {
        f = f ? f + 1 : c->flags[ *table = 0];
        while (f && !f->name)
            f = ++*table < TN_COMMAND_TABLES ? c->flags[*table] : NULL;
    } while (f && (f->refused || !f->help));
    return f;
}

/* ---- values that are not in the tables of flags ---- */

static void stages(void)
{
    const char *name;
    for (size_t i = 0; (name = tenon_stage_name(i)); i++)
        printf("%s%s", i ? " " : "", name);
}

static void passes(void)
{
    const char *name, *doc;
    for (size_t i = 0; (name = tenon_pass_name(i, &doc)); i++)
        printf("%s%s", i ? " " : "", name);
}

static void targets(void)
{
    const char *name, *doc;
    for (size_t i = 0; (name = tenon_target_name(i, &doc)); i++)
        printf("%s%s", i ? " " : "", name);
}

static const struct {
    const char *flag;
    void (*print)(void);
    const char *words;
} named[] = {
    {"stage", stages, NULL},
    {"pass", passes, NULL},
    {"disabled-pass", passes, NULL},
    {"print-ir-before", passes, "all"},
    {"print-ir-after", passes, "all"},
    {"target", targets, NULL},
    {"dump-code", NULL, "relay tir ll asm c"},
    {"target-llvm-mcpu", NULL, "native"},
    {"desired-layout", NULL, "NCHW NHWC"},
};

/* Prints the values of a flag; false: it takes any text, or a file. */
static bool values(const tn_flag *f, bool print)
{
    if (f->kind == TN_FLAG_CHOICE) {
        if (print)
            words(f->values, " ");
        return true;
    }
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (strcmp(named[i].flag, f->name) != 0)
            continue;
        if (print && named[i].words)
            printf("%s%s", named[i].words, named[i].print ? " " : "");
        if (print && named[i].print)
            named[i].print();
        return true;
    }
    return false;
}

/* Endings of the files that a flag or a command's operand takes, "onnx|relay"; NULL: any. */
static const char *endings(const char *name)
{
    static const struct {
        const char *name, *endings;
    } rows[] = {
        {"inputs", "npz"},
        {"outputs", "npz"},
        {"machine", "json"},
        {"config", "json"},
        {"compile", "onnx|relay"},
        {"dump", "onnx|relay"},
        {"interpret", "onnx|relay"},
        {"view", "onnx|relay"},
        {"check", "onnx|relay"},
        {"opt", "relay|tir"},
        {"run", "tar|so"},
        {"verify", "tar|so"},
        {"top", "npz"},
        {"labels", "txt"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].endings;
    return NULL;
}

/* ---- bash ---- */

static void bash_flag(const tn_flag *f)
{
    const char *files = endings(f->name);
    if (!values(f, false) && !files)
        return;
    printf("        --%s", f->name);
    if (f->letter)
        printf("|-%c", f->letter);
    if (values(f, false)) {
        printf(") words='");
        values(f, true);
        printf("' ;;\n");
    } else {
        printf(") files='%s' ;;\n", files);
    }
}

static void bash_command(const tn_command *c)
{
    int table;
    printf("    %s)\n", c->name);
    if (endings(c->name))
        printf("        files='%s'\n", endings(c->name));
    printf("        case $previous in\n");
    for (const tn_flag *f = NULL; (f = next_flag(c, f, &table));)
        bash_flag(f);
    printf("        *) [[ $current == -* ]] && words='");
    for (const tn_flag *f = NULL; (f = next_flag(c, f, &table));)
        printf("--%s ", f->name);
    printf("' ;;\n        esac ;;\n");
}

static void bash(const tn_command *commands)
{
    printf("# bash completion for tenon and tvmc\n_tenon() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words= files= "
           "command= word\n"
           "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
           "        [[ $word != -* ]] && { command=$word; break; }\n    done\n    case $command in\n    '') "
           "words='");
    for (const tn_command *c = commands; c->name; c++)
        if (c->run)
            printf("%s ", c->name);
    printf("--help --version --verbose --config' ;;\n");
    for (const tn_command *c = commands; c->name; c++)
        if (c->run)
            bash_command(c);
    printf("    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
           "    [[ ${#COMPREPLY[@]} == 0 && -n $files ]] && COMPREPLY=($(compgen -f -- \"$current\" | grep "
           "-E \"[.]($files)\\$\";\n"
           "        compgen -d -- \"$current\"))\n"
           "    [[ ${#COMPREPLY[@]} == 0 && -n $command ]] && COMPREPLY=($(compgen -f -- \"$current\"))\n}\n"
           "complete -o filenames -F _tenon tenon tvmc\n");
}

/* ---- zsh ---- */

static void zsh_text(const char *text) /* inside '...[...]' */
{
    for (; *text; text++)
        if (*text == '\'')
            printf("'\\''");
        else if (strchr("[]:", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
}

static void zsh_files(const char *endings_of)
{
    if (endings_of)
        printf("_files -g \"*.(%s)\"", endings_of);
    else
        printf("_files");
}

static void zsh_flag(const tn_flag *f)
{
    bool takes = f->kind != TN_FLAG_SWITCH && f->kind != TN_FLAG_ALONE;
    printf(" \\\n            '--%s%s[", f->name, takes ? "=" : "");
    zsh_text(f->help);
    printf("]");
    if (values(f, false)) {
        printf(":%s:(", f->name);
        values(f, true);
        printf(")");
    } else if (takes) {
        printf(":%s:", f->name);
        zsh_files(endings(f->name));
    }
    printf("'");
}

static void zsh(const tn_command *commands)
{
    int table;
    printf("#compdef tenon tvmc\n_tenon() {\n    local -a commands=(");
    for (const tn_command *c = commands; c->name; c++)
        if (c->run) {
            printf(" '%s:", c->name);
            zsh_text(c->help);
            printf("'");
        }
    printf(")\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n"
           "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in\n");
    for (const tn_command *c = commands; c->name; c++) {
        if (!c->run)
            continue;
        printf("    %s)\n        _arguments", c->name);
        for (const tn_flag *f = NULL; (f = next_flag(c, f, &table));)
            zsh_flag(f);
        if (c->operand) {
            printf(" \\\n            '*:file:");
            zsh_files(endings(c->name));
            printf("'");
        }
        printf(" ;;\n");
    }
    printf("    esac\n}\n_tenon \"$@\"\n");
}

int tn_completion_print(const tn_command *commands, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        bash(commands);
    else
        zsh(commands);
    return TN_EXIT_OK;
}

/* ---- manual pages ---- */

static void roff(const char *text)
{
    if (*text == '.' || *text == '\'')
        printf("\\&");
    for (; *text; text++)
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else
            putchar(*text);
}

static void manual_flag(const tn_flag *f)
{
    printf(".TP\n");
    if (f->letter)
        printf("\\fB\\-%c\\fR, ", f->letter);
    printf("\\fB\\-\\-");
    roff(f->name);
    printf("\\fR");
    if (f->values && f->kind == TN_FLAG_CHOICE) {
        printf(" {\\fI");
        words(f->values, ", ");
        printf("\\fR}");
    } else if (f->values) {
        printf(" \\fI");
        roff(f->values);
        printf("\\fR");
    }
    printf("\n");
    roff(f->help);
    if (f->fallback) {
        printf(" (default: ");
        roff(f->fallback);
        printf(")");
    }
    printf("\n");
}

static void manual_head(const char *name, const char *help)
{
    printf(".TH \"");
    for (const char *s = name; *s; s++)
        putchar(*s >= 'a' && *s <= 'z' ? *s - 32 : *s);
    printf("\" 1 \"\" \"tenon %s\" \"Tenon\"\n.SH NAME\n%s \\- ", tenon_version(), name);
    roff(help);
    printf("\n.SH SYNOPSIS\n");
}

static void manual_tail(void)
{
    printf(".SH EXIT STATUS\n0 on success; 2 if the command line is wrong; 4 after any other error, or for a "
           "flag that is "
           "known but not supported yet.\n"
           ".SH SEE ALSO\ntenon(1); docs/cli.md of the distribution describes every command.\n");
}

static void manual_command(const tn_command *c)
{
    char name[64];
    int table;
    snprintf(name, sizeof name, "tenon-%s", c->name);
    manual_head(name, c->help);
    printf("\\fBtenon %s\\fR [\\fIflags\\fR]%s%s\n.SH DESCRIPTION\n", c->name, c->operand ? " " : "",
           c->operand ? c->operand : "");
    roff(c->help);
    printf(".\n.SH FLAGS\n");
    for (const tn_flag *f = NULL; (f = next_flag(c, f, &table));)
        manual_flag(f);
    if (c->example) {
        printf(".SH EXAMPLE\n.nf\ntenon ");
        roff(c->example);
        printf("\n.fi\n");
    }
    manual_tail();
}

int tn_manual_print(const tn_command *commands, const tn_flag *flags, const char *page)
{
    for (const tn_command *c = commands; c->name; c++)
        if (c->run && strcmp(c->name, page) == 0) {
            manual_command(c);
            return TN_EXIT_OK;
        }
    if (strcmp(page, "tvmc") == 0) { /* the same page under another name */
        printf(".so man1/tenon.1\n");
        return TN_EXIT_OK;
    }
    if (strcmp(page, "tenon") != 0)
        return tn_error_print("--manual: unknown page \"%s\"; give tenon, tvmc or the name of a command",
                              page);
    manual_head("tenon", "deep-learning compiler");
    printf("\\fBtenon\\fR [\\fB\\-v\\fR] \\fIcommand\\fR [\\fIflags\\fR] ...\n.SH COMMANDS\n");
    for (const tn_command *c = commands; c->name; c++)
        if (c->run) {
            printf(".TP\n\\fB%s\\fR\n", c->name);
            roff(c->help);
            printf("; see tenon\\-%s(1)\n", c->name);
        }
    printf(".SH FLAGS\n");
    for (const tn_flag *f = flags; f->name; f++)
        if (f->help && !f->refused)
            manual_flag(f);
    manual_tail();
    return TN_EXIT_OK;
}
