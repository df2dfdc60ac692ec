/* tenon, also called tvmc: finds the command, parses its words, runs it.
 *
 * `tenon version` and every --help touch nothing: the code generator is opened by the commands that need it. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

// clang-format off
static const tn_command commands[] = {
    {"compile",   "FILE",    tn_compile_command,   {tn_compile_flags, tn_model_flags, tn_common_flags},
     "compile a model to a package"},
    {"run",       "PATH",    tn_run_command,       {tn_run_flags, tn_common_flags},
     "run a package (native code: run only what you trust)"},
    {"dump",      "MODEL",   tn_dump_command,      {tn_dump_flags, tn_model_flags, tn_common_flags},
     "print a model at one of the compiler's stages"},
    {"opt",       "FILE",    tn_opt_command,       {tn_opt_flags, tn_model_flags, tn_common_flags},
     "run passes over a Relay or TIR text file"},
    {"interpret", "MODEL",   tn_interpret_command, {tn_interpret_flags, tn_model_flags, tn_common_flags},
     "evaluate a model with an interpreter"},
    {"check",     "MODEL",   tn_check_command,     {tn_model_flags, tn_common_flags},
     "list everything in a model that cannot be compiled"},
    {"verify",    "PACKAGE", tn_verify_command,    {tn_common_flags},
     "say what a package holds, without running it"},
    {"version",   NULL,      tn_version_command,   {tn_common_flags},
     "print the version"},
    {.name = "tune"}, {.name = "micro"}, {.name = "compare"}, {.name = "rpc"},
    {0},
};

static const tn_flag main_flags[] = {
    TN_ROW_REFUSED("config"),
    TN_ROW_SWITCH("verbose", 'v', "say more; may be repeated"),
    TN_ROW_ALONE("version", 0, "print the version"),
    TN_ROW_ALONE("help", 'h', "print this"),
    {0},
};
// clang-format on

static const tn_command top = {.name = "", .flags = {main_flags}};

static int run_command(int argc, char *const argv[], int verbose)
{
    const tn_command *c = commands;
    while (c->name && strcmp(c->name, argv[0]) != 0)
        c++;
    if (!c->name) {
        tn_help_commands(commands, main_flags, true);
        fprintf(stderr, "tenon: error: there is no command %s\n", argv[0]);
        return TN_EXIT_USAGE;
    }
    if (!c->run)
        return tn_error_print("%s is not supported yet", c->name);
    tn_args args;
    int status = tn_args_parse(&args, c, argc - 1, argv + 1);
    args.verbose += verbose;
    if (status == TN_EXIT_OK && args.help)
        tn_help_command(c);
    else if (status == TN_EXIT_OK)
        status = c->run(&args);
    tn_args_deinit(&args);
    return status;
}

static int run_all(int argc, char *const argv[])
{
    int n = 0; /* words before the command */
    while (n < argc && argv[n][0] == '-')
        n++;
    tn_args args;
    int status = tn_args_parse(&args, &top, n, argv);
    if (status == TN_EXIT_OK && args.help) {
        tn_help_commands(commands, main_flags, false);
    } else if (status == TN_EXIT_OK && tn_args_count(&args, "version")) {
        status = tn_version_command(&args);
    } else if (status == TN_EXIT_OK && n == argc) {
        tn_help_commands(commands, main_flags, true);
        status = TN_EXIT_NO_COMMAND;
    } else if (status == TN_EXIT_OK) {
        status = run_command(argc - n, argv + n, args.verbose);
    }
    tn_args_deinit(&args);
    return status;
}

int main(int argc, char *argv[])
{
    int status = run_all(argc > 0 ? argc - 1 : 0, argv + 1);
    bool failed = ferror(stdout) != 0;
    if ((fflush(stdout) != 0 || failed) && status == TN_EXIT_OK)
        status = tn_error_print("cannot write to standard output");
    return status;
}
