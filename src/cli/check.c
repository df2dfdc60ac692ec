/* tenon check: what in a model cannot be compiled, all at once. */
#include "cli/cli.h"

#include <stdio.h>

static size_t count_errors(const tenon *t)
{
    const tenon_diagnostic *d;
    size_t n = 0;
    for (size_t i = 0; (d = tenon_diagnostic_get(t, i)); i++)
        n += d->severity == TENON_ERROR;
    return n;
}

int tn_check_command(const tn_args *args)
{
    tn_model_options m;
    int status = tn_model_options_init(&m, args);
    if (status == TN_EXIT_OK) {
        status = tn_model_read(&m, args->operand, NULL);
        if (status == TN_EXIT_OK)
            status = tn_model_messages(&m, tenon_check(m.module, &m.options));
        size_t n = count_errors(m.session);
        if (status != TN_EXIT_OK)
            fprintf(stderr, "%s: %zu %s compilation\n", args->operand, n,
                    n == 1 ? "problem prevents" : "problems prevent");
        else
            printf("%s: can be compiled\n", args->operand);
    }
    tn_model_options_deinit(&m);
    return status;
}
