/* Targets: "llvm" and "c" with the options users know. The machine is the one at hand, one read from a file,
 * or one derived from a triple and features. */
#include "driver/driver.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *mcpu, *mattr, *mtriple, *cores;
} options;

/* Splits on blanks; quotes protect them. Returns the next word (in the arena) or NULL. */
static const char *next_word(tn_build *b, const char **at)
{
    const char *s = *at + strspn(*at, " \t");
    tn_buf w = {0};
    char quote = 0;
    bool any = false;
    for (; *s && (quote || (*s != ' ' && *s != '\t')); s++) {
        any = true;
        if (quote ? *s == quote : *s == '\'' || *s == '"')
            quote = quote ? 0 : *s;
        else
            tn_buf_char(&w, *s);
    }
    *at = s;
    const char *r = any ? tn_arena_strdup(&b->arena, tn_buf_cstr(&w)) : NULL;
    tn_buf_deinit(&w);
    return r;
}

/* Options of TVM's target strings that this compiler has no use for. The first list changes nothing: TVM picks
 * schedules and names logs by them. The others ask for something that would be missing. */
static tn_status foreign_option(tn_build *b, const char *word, const char *name, size_t n, const char *value)
{
    static const char *const idle[] = {"device", "model", "keys"};
    static const struct {
        const char *name, *instead;
    } refused[] = {
        {"libs", "kernels are generated, never taken from a library; leave it out"},
        {"runtime", "a package runs on Tenon's runtime; leave it out"},
        {"system-lib", "-o NAME.a makes a library that is linked into the program; leave it out"},
        {"link-params", "parameters are always part of what compile makes; leave it out"},
    };
    for (size_t i = 0; i < sizeof idle / sizeof *idle && value; i++)
        if (strlen(idle[i]) == n && memcmp(idle[i], name, n) == 0) {
            (void)tn_report(b->ctx, TN_NOTE, "driver-N002", NULL,
                            "target option %.100s is ignored: schedules follow the machine (-mcpu=, -mattr=)",
                            word);
            return TN_OK;
        }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strlen(refused[i].name) == n && memcmp(refused[i].name, name, n) == 0)
            return value && (!*value || strcmp(value, "0") == 0)
                       ? TN_OK
                       : tn_error(b->ctx, "driver-E094", NULL, "target option %.100s is not supported: %s",
                                  word, refused[i].instead);
    return tn_error(
        b->ctx, "driver-E002", NULL,
        "target option %s is not supported; known are -mcpu=, -mattr=, -mtriple=, -num-cores=", word);
}

static tn_status option(tn_build *b, const char *word, options *o)
{
    const struct {
        const char *name;
        const char **to;
    } known[] = {
        {"mcpu", &o->mcpu}, {"mattr", &o->mattr}, {"mtriple", &o->mtriple}, {"num-cores", &o->cores}};
    const char *name = word + strspn(word, "-"), *eq = strchr(name, '=');
    size_t n = eq ? (size_t)(eq - name) : strlen(name);
    for (size_t i = 0; i < sizeof known / sizeof *known && *word == '-'; i++)
        if (strlen(known[i].name) == n && memcmp(known[i].name, name, n) == 0 && eq) {
            *known[i].to = eq + 1;
            return TN_OK;
        }
    return foreign_option(b, word, name, *word == '-' ? n : 0, eq ? eq + 1 : NULL);
}

static tn_status find_machine(tn_build *b, const options *o)
{
    bool native = o->mcpu && strcmp(o->mcpu, "native") == 0;
    const char *cpu = native ? NULL : o->mcpu;
    if (native && o->mtriple && tn_target_is_foreign(o->mtriple))
        return tn_error(
            b->ctx, "driver-E080", NULL,
            "-mcpu=native means this machine, but -mtriple=%s is another one; name its CPU, or remove -mcpu",
            o->mtriple);
    if (b->opt.machine_file)
        TN_TRY(tn_machine_read(b->ctx, b->opt.machine_file, &b->machine));
    else if (o->mtriple && !native)
        tn_machine_of_triple(b->ctx, o->mtriple, &b->machine);
    else
        TN_TRY(tn_machine_detect(b->ctx, &b->machine));
    if (cpu || o->mattr)
        TN_TRY(tn_machine_attributes(b->ctx, cpu, o->mattr ? o->mattr : "", &b->machine));
    tn_machine_derive(&b->machine);
    b->target.triple = o->mtriple;
    if (b->opt.machine_file && !o->mtriple && tn_target_is_foreign(b->machine.triple))
        b->target.triple = b->machine.triple;
    if (o->cores) {
        char *end;
        long n = strtol(o->cores, &end, 10);
        if (*end || n < 1 || n > 4096)
            return tn_error(b->ctx, "driver-E003", NULL, "-num-cores=%s is not a number from 1 to 4096",
                            o->cores);
        b->machine.cores = (uint32_t)n;
    }
    return TN_OK;
}

/* The module's name is part of C identifiers: of kernels, of functions and structs of a generated header. */
static tn_status check_module_name(tn_build *b)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    enum { MOST = 100, DIGITS = 10 };
    const char *s = b->opt.module_name;
    size_t n = s ? strspn(s, letters) : 1;
    if (!s || (n && !s[n] && n <= MOST && !memchr(letters + sizeof letters - 1 - DIGITS, s[0], DIGITS)))
        return TN_OK;
    return tn_error(b->ctx, "driver-E059", NULL,
                    "--module-name \"%.100s\": a name must consist of letters, digits and _, must not begin "
                    "with a digit, and can have at most %d characters, because C functions carry it",
                    s, MOST);
}

tn_status tn_target_parse(tn_build *b)
{
    TN_TRY(check_module_name(b));
    const char *at = b->opt.target ? b->opt.target : "llvm", *word;
    options o = {0};
    b->target.text = at;
    word = next_word(b, &at);
    if (word && strcmp(word, "llvm") == 0)
        b->target.kind = TN_TARGET_LLVM;
    else if (word && strcmp(word, "c") == 0)
        b->target.kind = TN_TARGET_C;
    else
        return tn_error(b->ctx, "driver-E001", NULL, "target %s is not supported yet; use llvm or c",
                        word ? word : "\"\"");
    while ((word = next_word(b, &at)))
        TN_TRY(option(b, word, &o));
    TN_TRY(find_machine(b, &o));
    b->feature = TN_NEW_N(&b->arena, const char *, b->machine.n_feature);
    b->n_feature = (uint32_t)tn_machine_code_features(&b->machine, b->feature);
    return TN_OK;
}
