/* tenon version, tenon verify: the commands that say what something is. */
#include "cli/cli.h"

#include <stdio.h>

// clang-format off
const tn_flag tn_common_flags[] = {
    TN_ROW_SWITCH("verbose", 'v', "print more; may be repeated"),
    TN_ROW_ALONE("help", 'h', "print this help"),
    TN_ROW_ALONE("help-all", 0, "print this help, and the flags of tvmc that are not supported yet"),
    {0},
};
// clang-format on

const tn_flag tn_version_flags[] = {
    TN_ROW_SWITCH("print-machine", 0, "print the description of this machine that `--machine` reads (JSON)"),
    {0},
};

int tn_version_command(const tn_args *args)
{
    return tn_version_print(args->verbose, tn_args_count(args, "print-machine") > 0);
}

int tn_version_print(int verbose, bool machine)
{
    if (!machine)
        printf("tenon %s\n", tenon_version());
    if (!machine && !verbose)
        return TN_EXIT_OK;
    tenon *t = tenon_new();
    const char *about, *json;
    if (!t)
        return tn_error_print("out of memory");
    int failed = tenon_about(t, &about, &json);
    tn_messages_print(tenon_messages(t));
    if (!failed)
        fputs(machine ? json : about, stdout);
    tenon_free(t);
    return failed ? TN_EXIT_ERROR : TN_EXIT_OK;
}

int tn_verify_command(const tn_args *args)
{
    if (tn_file_refuse(args->operand, TENON_WANTED_PACKAGE))
        return TN_EXIT_ERROR;
    tenon *t = tenon_new();
    if (!t)
        return tn_error_print("out of memory");
    const char *text = NULL;
    int failed = tenon_verify(t, args->operand, &text);
    tn_messages_print(tenon_messages(t));
    if (!failed)
        printf("%s: a package\n%sNothing in it was run. `%s run` runs its native code with your rights: run "
               "only "
               "packages you trust.\n",
               args->operand, text, tn_program_name());
    tenon_free(t);
    return failed ? TN_EXIT_ERROR : TN_EXIT_OK;
}
