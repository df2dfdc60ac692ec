#ifndef TN_CLI_CLI_H
#define TN_CLI_CLI_H
/* The commands. Each takes a parsed command line and returns an exit code; main.c has the table. */
#include "cli/args.h"
#include "tenon/tenon.h"

int tn_compile_command(const tn_args *args);
int tn_run_command(const tn_args *args);
int tn_dump_command(const tn_args *args);
int tn_opt_command(const tn_args *args);
int tn_interpret_command(const tn_args *args);
int tn_check_command(const tn_args *args);
int tn_tune_command(const tn_args *args);
int tn_records_command(const tn_args *args);
int tn_verify_command(const tn_args *args);
int tn_compare_command(const tn_args *args);
int tn_view_command(const tn_args *args);
int tn_image_command(const tn_args *args);
int tn_top_command(const tn_args *args);
int tn_version_command(const tn_args *args);
int tn_version_print(int verbose, bool machine); /* machine: its description alone */

extern const tn_flag tn_compile_flags[], tn_run_flags[], tn_dump_flags[], tn_opt_flags[],
    tn_interpret_flags[], tn_compare_flags[], tn_check_flags[], tn_view_flags[], tn_image_flags[],
    tn_top_flags[], tn_tune_flags[], tn_records_flags[];
extern const tn_flag
    tn_model_flags[]; /* model.c: how a model is read and compiled; compile, dump, opt, interpret */
extern const tn_flag tn_version_flags[];
extern const tn_flag tn_common_flags[]; /* --verbose, --help */

/* kind.c: is the file known to be another thing than what is wanted? Then says so, as an error. */
bool tn_file_refuse(const char *path, enum tenon_wanted wanted);

/* ---- model.c ---- */

/* Rows of flags that are options of the compiler: the value goes to that member of tenon_options. This is the one place
 * where a flag and an option meet. */
#define TN_OPTION(kind, member, name, letter, values, fallback, help, low, high) \
    TN_STORED(kind, tenon_options, member, name, letter, values, fallback, help, low, high)
#define TN_OPTION_SWITCH(member, name, help) TN_OPTION(SWITCH, member, name, 0, NULL, NULL, help, 0, 0)
#define TN_OPTION_TEXT(member, name, values, fallback, help) \
    TN_OPTION(TEXT, member, name, 0, values, fallback, help, 0, 0)
#define TN_OPTION_CHOICE(member, name, values, fallback, help) \
    TN_OPTION(CHOICE, member, name, 0, values, fallback, help, 0, 0)
#define TN_OPTION_WORDS(member, name, values, help) \
    TN_OPTION(WORDS, member, name, 0, values, NULL, help, 0, 0)
#define TN_OPTION_REPEAT(member, name, values, help) \
    TN_OPTION(REPEAT, member, name, 0, values, NULL, help, 0, 0)

typedef struct tn_model_options { /* a command's options of the compiler, a session and the model */
    tenon *session;
    tenon_module *module; /* by tn_model_read; the session's */
    tenon_options options;
    char *target; /* composed from --target and --target-llvm-* */
    char *shapes; /* --input-shapes and those of arrays; NULL: these add nothing */
    void *made[TN_ARGS_MADE];
} tn_model_options;

/* Returns TN_EXIT_OK, or prints and returns another code. Deinit either way. */
int tn_model_options_init(tn_model_options *m, const tn_args *args);
void tn_model_options_deinit(tn_model_options *m);
/* Checks the options, for a program that writes `output` (NULL: none does), and reads the model. */
int tn_model_read(tn_model_options *m, const char *path, const char *output);
/* As tn_model_read, for a run with the arrays of `npz` (NULL: none): inputs without a shape get as many dimensions
 * as these have, in options.input_shapes too. */
int tn_model_read_for(tn_model_options *m, const char *path, const char *npz);
/* What the session said, as it is, on stderr; returns `failed` ? TN_EXIT_ERROR : TN_EXIT_OK. */
int tn_model_messages(const tn_model_options *m, int failed);

#endif
