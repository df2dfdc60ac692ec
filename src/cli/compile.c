/* tenon compile: a model to a package, and a few lines about it. */
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
const tn_flag tn_compile_flags[] = {
    TN_ROW_TEXT("output", 'o', "PATH", "module.tar",
                "where the package goes; .so, .o, .a and .c make a self-contained library, object, archive or C "
                "source"),
    TN_ROW_CHOICE("output-format", 'f', "so|mlf!", "so", "kind of package"),
    TN_ROW_CHOICE("executor", 0, "graph|aot|vm", NULL, "accepted; a package holds what its model needs"),
    TN_ROW_CHOICE("runtime", 0, "cpp|crt!", "cpp", "accepted"),
    TN_OPTION_TEXT(cross_compiler, "cross-compiler", "COMMAND", NULL,
                   "link mod.so with this gcc or clang instead of ld; with --target c, compile it with this instead "
                   "of cc"),
    TN_OPTION_TEXT(cross_compiler_options, "cross-compiler-options", "TEXT", NULL,
                   "further options for it, separated by spaces"),
    TN_ROW_TEXT("dump-code", 0, "FORMATS", NULL,
                "also write <output>.<format> for each of these, separated by commas: relay, tir, ll, asm, c"),
    TN_OPTION_SWITCH(print_pass_times, "print-pass-times", "print the time of each pass"),
    TN_OPTION_TEXT(print_ir_before, "print-ir-before", "PASS,...", NULL,
                   "print the program before these passes, or before all"),
    TN_OPTION_TEXT(print_ir_after, "print-ir-after", "PASS,...", NULL,
                   "print the program after these passes, or after all"),
    {0},
};

static const struct { const char *format, *stage; } dumps[] = {
    {"relay", "relay"}, {"tir", "flat"}, {"ll", "ll"}, {"asm", "asm"}, {"c", "c"},
};
// clang-format on
enum { N_DUMP = sizeof dumps / sizeof *dumps, FORMULA_BYTES = 200 };

/* ---- --dump-code ---- */

/* The row of the next format in the comma list, or N_DUMP if there is none of that name. */
static int next_dump(const char **at, int *out_n)
{
    int n = (int)strcspn(*at, ","), i = 0;
    while (i < N_DUMP && ((int)strlen(dumps[i].format) != n || memcmp(dumps[i].format, *at, (size_t)n) != 0))
        i++;
    *at += n;
    *out_n = n;
    return i;
}

static int check_dumps(const tn_args *args)
{
    const char *at = tn_args_text(args, "dump-code");
    int n;
    for (; at && *at; at += *at == ',')
        if (next_dump(&at, &n) == N_DUMP)
            return tn_usage_error(args->command,
                                  "--dump-code: unknown format \"%.*s\"; choose from relay, tir, ll, asm, c",
                                  n, at - n);
    return TN_EXIT_OK;
}

static int write_dump(tn_model_options *m, const tn_args *args, int k)
{
    char path[4096];
    const char *output = tn_args_text(args, "output");
    if ((size_t)snprintf(path, sizeof path, "%s.%s", output, dumps[k].format) >= sizeof path)
        return tn_error_print("%s: the file name is too long", output);
    int failed = tenon_module_dump_to(m->module, &m->options, dumps[k].stage, path);
    return failed ? tn_model_messages(m, failed) : TN_EXIT_OK;
}

static int write_dumps(tn_model_options *m, const tn_args *args)
{
    const char *at = tn_args_text(args, "dump-code");
    int n, status = TN_EXIT_OK;
    for (; at && *at && status == TN_EXIT_OK; at += *at == ',')
        status = write_dump(m, args, next_dump(&at, &n));
    return status;
}

/* ---- the output's name ---- */

static int check_output(const tn_args *args)
{
    const char *output = tn_args_text(args, "output"), *why = tenon_output_advice(output);
    if (strcmp(output, "-") == 0 || !*output)
        return tn_usage_error(args->command,
                              "--output \"%s\": a package cannot go to standard output; name a file", output);
    return why ? tn_usage_error(args->command, "--output %s: %s", output, why) : TN_EXIT_OK;
}

/* ---- the report ---- */

/* 4096 and smaller in bytes, more with a unit: "97.5 MiB". */
static const char *size_text(uint64_t bytes, char text[32])
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    int u = 0;
    for (; v > 4096 && u < 4; u++)
        v /= 1024;
    snprintf(text, 32, u ? "%.1f %s" : "%.0f %s", v, unit[u]);
    return text;
}

static void print_details(const tenon_report *r)
{
    const struct {
        const char *name;
        uint64_t bytes;
    } part[] = {{"constants", r->constant_bytes}, {"workspace", r->arena_bytes},
                {"inputs", r->input_bytes},       {"outputs", r->output_bytes},
                {"states", r->state_bytes},       {"scratch", r->scratch_bytes}};
    char text[32];
    printf("features: %s\n", r->features);
    printf("seconds: import %.3f, graph %.3f, tir %.3f, schedule %.3f, lower %.3f, code %.3f, ",
           r->seconds_import, r->seconds_graph, r->seconds_tir, r->seconds_schedule, r->seconds_lower,
           r->seconds_codegen);
    if (r->seconds_cc > 0)
        printf("cc %.3f, ", r->seconds_cc);
    printf("package %.3f\n", r->seconds_package);
    if (r->objects_made + r->objects_cached)
        printf("code: %u objects made, %u from the cache\n", (unsigned)r->objects_made,
               (unsigned)r->objects_cached);
    printf("program: %u instructions", (unsigned)r->instructions);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i].bytes) /* 0: none, or symbolic */
            printf(", %s %s", part[i].name, size_text(part[i].bytes, text));
    printf("\nmemory plan: %.3f of what is alive at once%s",
           r->alive_bytes ? (double)r->plan_bytes / (double)r->alive_bytes : 1,
           r->plan_smallest ? ", no plan is smaller" : "");
    printf("; %u result%s in place\n", (unsigned)r->in_place, r->in_place == 1 ? "" : "s");
}

/* "peak memory: 12.3 MiB", or a formula and an example. Exact bytes with -v. */
static void print_memory(const tenon_report *r, int verbose)
{
    char text[32];
    size_text(r->memory_bytes, text);
    if (!*r->memory_symbols)
        printf("peak memory: %s", text);
    else if (verbose || strlen(r->memory) <= FORMULA_BYTES)
        printf("peak memory: %s bytes (%s: %s)", r->memory, r->memory_symbols, text);
    else
        printf("peak memory: %s for %s (the formula: -v)", text, r->memory_symbols);
    if (verbose && !*r->memory_symbols)
        printf(" (%s bytes)", r->memory);
    printf("\n");
}

static void print_report(const tenon_report *r, const char *output, int verbose)
{
    char text[32];
    printf("%u kernel%s for %s", (unsigned)r->kernels, r->kernels == 1 ? "" : "s", r->target);
    if (r->machine && *r->machine)
        printf(" (%s)", r->machine);
    printf("\n");
    if (r->graph_recorded)
        printf("choices of the graph by a tuning record\n");
    if (r->kernels_recorded)
        printf("%u scheduled by tuning records\n", (unsigned)r->kernels_recorded);
    if (verbose)
        print_details(r);
    print_memory(r, verbose);
    printf("%s: %s\n", output, size_text(r->package_bytes, text));
}

static int compile(tn_model_options *m, const tn_args *args)
{
    tenon_report report = {.size = sizeof report};
    const char *output = tn_args_text(args, "output");
    tn_progress progress;
    tn_progress_begin(&progress, args->operand, &m->options);
    int status = tn_model_read(m, args->operand, output), failed = status;
    if (status == TN_EXIT_OK)
        failed = tenon_build(m->module, &m->options, output, &report);
    tn_progress_end(&progress);
    if (status == TN_EXIT_OK)
        status = tn_model_messages(m, failed);
    if (status == TN_EXIT_OK)
        print_report(&report, output, args->verbose);
    return status;
}

int tn_compile_command(const tn_args *args)
{
    tn_model_options m;
    int status = check_output(args);
    if (status == TN_EXIT_OK)
        status = check_dumps(args);
    if (status != TN_EXIT_OK)
        return status;
    status = tn_model_options_init(&m, args);
    if (status == TN_EXIT_OK) {
        tn_cleanup_begin(true);
        status = compile(&m, args);
        if (status == TN_EXIT_OK)
            status = write_dumps(&m, args);
        tn_cleanup_end();
    }
    tn_model_options_deinit(&m);
    return status;
}
