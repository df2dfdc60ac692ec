/* tenon check: what in a model cannot be compiled, all at once. */
#include "cli/cli.h"

#include <stdio.h>

int tn_check_command(const tn_args *args)
{
    tn_model_options m;
    size_t n = 0;
    int status = tn_model_options_init(&m, args);
    if (status == TN_EXIT_OK) {
        int failed = tenon_check(m.session, args->operand, &m.options, &n);
        status = tn_model_messages(&m, failed);
        if (failed)
            fprintf(stderr, "%s: %zu %s compilation\n", args->operand, n,
                    n == 1 ? "problem prevents" : "problems prevent");
        else
            printf("%s: can be compiled\n", args->operand);
    }
    tn_model_options_deinit(&m);
    return status;
}
