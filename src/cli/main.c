/* tenon, also called tvmc: finds the command, parses its words, runs it.
 *
 * `tenon version` and every --help touch nothing: the code generator is opened by the commands that need it. */
#include "cli/complete.h"
#include "cli/config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
static const tn_command commands[] = {
    {"compile",   "FILE",    tn_compile_command,   {tn_compile_flags, tn_model_flags, tn_common_flags},
     "compile a model into a package", "compile model.onnx -o model.tar"},
    {"run",       "PATH",    tn_run_command,       {tn_run_flags, tn_common_flags},
     "run a package (it is native code: run only packages you trust)",
     "run model.tar --inputs in.npz --outputs out.npz --print-time"},
    {"dump",      "MODEL",   tn_dump_command,      {tn_dump_flags, tn_model_flags, tn_common_flags},
     "print a model at one of the compiler's stages", "dump model.onnx --stage relay"},
    {"view",      "MODEL",   tn_view_command,      {tn_view_flags, tn_model_flags, tn_common_flags},
     "write a page that shows a model's graph before and after fusion, and its kernels",
     "view model.onnx -o graph.html --profile"},
    {"opt",       "FILE",    tn_opt_command,       {tn_opt_flags, tn_model_flags, tn_common_flags},
     "run passes over a Relay or TIR text file", "opt --pass=FoldConstant,FuseOps model.relay"},
    {"interpret", "MODEL",   tn_interpret_command, {tn_interpret_flags, tn_model_flags, tn_common_flags},
     "evaluate a model with an interpreter (slow; for comparing results)",
     "interpret model.onnx --stage relay --inputs in.npz --outputs expected.npz"},
    {"compare",   "A [B] [-- flags of A [-- flags of B]]",
                             tn_compare_command,   {tn_compare_flags, tn_model_flags, tn_common_flags},
     "compare what a model computes in two ways, and find the first operator that differs",
     "compare model.onnx -i in.npz -- -O0 -- --target c"},
    {"check",     "MODEL",   tn_check_command,     {tn_check_flags, tn_model_flags, tn_common_flags},
     "list everything that prevents a model from compiling, or what in it is slow", "check model.onnx"},
    {"tune",      "FILE",    tn_tune_command,      {tn_tune_flags, tn_model_flags, tn_common_flags},
     "search for schedules that are faster than the built-in ones", "tune model.onnx -o model.records --budget 60s"},
    {"records",   "ACTION [WHAT]", tn_records_command, {tn_records_flags, tn_common_flags},
     "list, show, merge, prune or export what tune has found", "records list"},
    {"verify",    "PACKAGE", tn_verify_command,    {tn_common_flags},
     "show what a package holds, without running it", "verify model.tar"},
    {"image",     "FILE",    tn_image_command,     {tn_image_flags, tn_common_flags},
     "turn a picture into a model's input, or an output into a picture",
     "image photo.jpg --size 224 -o in.npz"},
    {"top",       "NPZ",     tn_top_command,       {tn_top_flags, tn_common_flags},
     "name the most likely classes in a classifier's output", "top out.npz --labels labels.txt"},
    {"version",   NULL,      tn_version_command,   {tn_version_flags, tn_common_flags},
     "print the version; with -v also the commit, LLVM, the CPU and the machine model", "version -v"},
    {.name = "micro", .help = "`compile -o model.c --target c` writes C source for any C compiler"},
    {.name = "rpc", .help = "copy the package to the other machine and use `run` there"},
    {0},
};

static const tn_flag main_flags[] = {
    TN_ROW_TEXT("config", 0, "NAME", NULL,
                "JSON file with defaults for flags: a path, or a name in the folder TVM_CONFIGS_JSON_DIR"),
    TN_ROW_CHOICE("completion", 0, "bash|zsh", NULL, "print a completion script"),
    TN_ROW_TEXT("manual", 0, "PAGE", NULL, "print a manual page: tenon, or the name of a command"),
    TN_ROW_SWITCH("verbose", 'v', "print more; may be repeated"),
    TN_ROW_ALONE("version", 0, "print the version"),
    TN_ROW_ALONE("help", 'h', "print this help"),
    TN_ROW_ALONE("help-all", 0, "print this help, and what tvmc has that is not supported yet"),
    {0},
};
// clang-format on

static const tn_command top = {.name = "", .flags = {main_flags}};

static int parse_and_run(const tn_command *c, int argc, char *const argv[], int verbose)
{
    tn_args args;
    int status = tn_args_parse(&args, c, argc, argv);
    args.verbose += verbose;
    if (status == TN_EXIT_OK && args.help)
        tn_help_command(c, args.help_all);
    else if (status == TN_EXIT_OK)
        status = c->run(&args);
    tn_args_deinit(&args);
    return status;
}

/* A file serves all commands, so one may pass over what another takes; what none takes is an error of typing. */
static void warn_unknown(const char *config, const char *word)
{
    for (const tn_command *c = commands; c->name; c++)
        if (c->run && tn_args_accept(c, word, 0, NULL))
            return;
    tn_warning_print("--config %s: no command has a flag %.*s; it is ignored", config,
                     (int)strcspn(word, "="), word);
}

/* The words of --config that the command takes, then its own, which win. */
static int run_configured(const tn_command *c, int argc, char *const argv[], int verbose, const char *config)
{
    tn_defaults defaults;
    int status = tn_defaults_read(&defaults, config), count = 0;
    char **all = calloc(defaults.n + (size_t)argc + 1, sizeof *all);
    if (!all)
        status = tn_error_print("out of memory");
    for (size_t i = 0; status == TN_EXIT_OK && i < defaults.n; i++) {
        warn_unknown(config, defaults.word[i]);
        if (tn_args_accept(c, defaults.word[i], argc, argv))
            all[count++] = (char *)(uintptr_t)defaults.word[i];
    }
    for (int i = 0; all && i < argc; i++)
        all[count++] = argv[i];
    if (status == TN_EXIT_OK)
        status = parse_and_run(c, count, all, verbose);
    free(all);
    tn_defaults_deinit(&defaults);
    return status;
}

static int unknown_command(const char *name)
{
    tn_nearest p = {.word = name, .n = strlen(name)};
    for (const tn_command *c = commands; c->name; c++)
        tn_nearest_offer(&p, c->name);
    if (p.best)
        return tn_usage_error(&top, "unknown command \"%s\"; did you mean %s?", name, p.best);
    return tn_usage_error(&top, "unknown command \"%s\"; run `%s --help` for the list", name,
                          tn_program_name());
}

static int run_command(int argc, char *const argv[], const tn_args *before)
{
    const tn_command *c = commands;
    const char *config = tn_args_text(before, "config");
    while (c->name && strcmp(c->name, argv[0]) != 0)
        c++;
    if (!c->name)
        return unknown_command(argv[0]);
    if (!c->run)
        return tn_error_print("%s is not supported yet%s%s", c->name, c->help ? "; " : "",
                              c->help ? c->help : "");
    return config ? run_configured(c, argc - 1, argv + 1, before->verbose, config)
                  : parse_and_run(c, argc - 1, argv + 1, before->verbose);
}

/* Number of words before the command's name; --config NAME and its like have two. */
static int words_before(int argc, char *const argv[])
{
    int n = 0;
    while (n < argc && argv[n][0] == '-') {
        bool takes = false;
        for (const tn_flag *f = main_flags; f->name; f++)
            takes |= strcmp(argv[n] + 1 + (argv[n][1] == '-'), f->name) == 0 && argv[n][1] == '-' &&
                     (f->kind == TN_FLAG_TEXT || f->kind == TN_FLAG_CHOICE);
        n += takes && n + 1 < argc ? 2 : 1;
    }
    return n;
}

static int run_all(int argc, char *const argv[])
{
    int n = words_before(argc, argv);
    tn_args args;
    int status = tn_args_parse(&args, &top, n, argv);
    if (status != TN_EXIT_OK) {
        /* said already */
    } else if (args.help) {
        tn_help_commands(commands, main_flags, args.help_all, false);
    } else if (tn_args_count(&args, "version")) {
        status = tn_version_print(args.verbose, false);
    } else if (tn_args_count(&args, "completion")) {
        status = tn_completion_print(commands, tn_args_text(&args, "completion"));
    } else if (tn_args_count(&args, "manual")) {
        status = tn_manual_print(commands, main_flags, tn_args_text(&args, "manual"));
    } else if (n == argc) {
        tn_help_commands(commands, main_flags, false, true);
        status = TN_EXIT_NO_COMMAND;
    } else {
        status = run_command(argc - n, argv + n, &args);
    }
    tn_args_deinit(&args);
    return status;
}

int main(int argc, char *argv[])
{
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of write, as a full disk is */
    int status = run_all(argc > 0 ? argc - 1 : 0, argv + 1);
    bool failed = ferror(stdout) != 0;
    if ((fflush(stdout) != 0 || failed) && status == TN_EXIT_OK)
        status = tn_error_print("cannot write to standard output");
    return status;
}
