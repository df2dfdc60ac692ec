/* Texts of targets: a name, then options. The machine is the one at hand, one read from a file, or one
 * derived from a triple and features. */
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

/* Splits on blanks; quotes protect them. Returns the next word (in the arena) or NULL. */
static const char *next_word(tn_ctx *ctx, const char **at)
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
    const char *r = any ? tn_arena_strdup(&ctx->arena, tn_buf_cstr(&w)) : NULL;
    tn_buf_deinit(&w);
    return r;
}

/* Options of TVM's target strings that this compiler has no use for. The first list changes nothing: TVM picks
 * schedules and names logs by them. The others ask for something that would be missing. */
static tn_status foreign_option(tn_ctx *ctx, const char *word, const char *name, size_t n, const char *value)
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
            (void)tn_report(ctx, TN_NOTE, "driver-N002", NULL,
                            "target option %.100s is ignored: schedules follow the machine (-mcpu=, -mattr=)",
                            word);
            return TN_OK;
        }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strlen(refused[i].name) == n && memcmp(refused[i].name, name, n) == 0)
            return value && (!*value || strcmp(value, "0") == 0)
                       ? TN_OK
                       : tn_error(ctx, "driver-E094", NULL, "target option %.100s is not supported: %s", word,
                                  refused[i].instead);
    return tn_error(
        ctx, "driver-E002", NULL,
        "target option %s is not supported; known are -mcpu=, -mattr=, -mtriple=, -num-cores=", word);
}

static tn_status option(tn_ctx *ctx, const char *word, tn_target_options *o)
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
    return foreign_option(ctx, word, name, *word == '-' ? n : 0, eq ? eq + 1 : NULL);
}

/* The machine of a CPU target: one of a file, of a triple, or the one at hand; with the features of a CPU and
 * a list. */
tn_target_machine tn_target_machine_cpu;
tn_status tn_target_machine_cpu(tn_ctx *ctx, const tn_target_options *o, tn_target *t, tn_machine *out)
{
    bool native = o->mcpu && strcmp(o->mcpu, "native") == 0;
    const char *cpu = native ? NULL : o->mcpu;
    if (native && o->mtriple && tn_triple_is_foreign(o->mtriple))
        return tn_error(
            ctx, "driver-E080", NULL,
            "-mcpu=native means this machine, but -mtriple=%s is another one; name its CPU, or remove -mcpu",
            o->mtriple);
    if (o->machine_file)
        TN_TRY(tn_machine_read(ctx, o->machine_file, out));
    else if (o->mtriple && !native)
        tn_machine_of_triple(ctx, o->mtriple, out);
    else
        TN_TRY(tn_machine_detect(ctx, out));
    if (cpu || o->mattr)
        TN_TRY(tn_machine_attributes(ctx, cpu, o->mattr ? o->mattr : "", out));
    tn_machine_derive(out);
    t->triple = o->mtriple;
    if (o->machine_file && !o->mtriple && tn_triple_is_foreign(out->triple))
        t->triple = out->triple;
    if (o->cores) {
        char *end;
        long n = strtol(o->cores, &end, 10);
        if (*end || n < 1 || n > 4096)
            return tn_error(ctx, "driver-E003", NULL, "-num-cores=%s is not a number from 1 to 4096",
                            o->cores);
        out->cores = (uint32_t)n;
    }
    return TN_OK;
}

static tn_status unknown_target(tn_ctx *ctx, const char *word)
{
    tn_buf known = {0};
    for (size_t i = 0; i < TN_N_TARGETS; i++)
        tn_buf_printf(&known, "%s%s", !i ? "" : i + 1 < TN_N_TARGETS ? ", " : " or ", tn_target_rows[i].name);
    tn_status st = tn_error(ctx, "driver-E001", NULL, "target %s is not supported yet; use %s",
                            word ? word : "\"\"", tn_buf_cstr(&known));
    tn_buf_deinit(&known);
    return st;
}

tn_status tn_target_read(tn_ctx *ctx, const char *text, const char *machine_file, tn_target *out,
                         tn_machine *out_machine)
{
    const char *at = text ? text : tn_target_rows[0].name, *word;
    tn_target_options o = {.machine_file = machine_file};
    *out = (tn_target){.text = at};
    word = next_word(ctx, &at);
    out->row = word ? tn_target_find(word, strlen(word)) : NULL;
    if (!out->row)
        return unknown_target(ctx, word);
    for (const char *defaults = out->row->options; (word = next_word(ctx, &defaults));)
        TN_TRY(option(ctx, word, &o));
    while ((word = next_word(ctx, &at)))
        TN_TRY(option(ctx, word, &o));
    TN_TRY(out->row->machine(ctx, &o, out, out_machine));
    if (!out->row->generator->multiplies_tiles)
        tn_machine_without(ctx, TN_CAN_TILES, out_machine);
    return TN_OK;
}
