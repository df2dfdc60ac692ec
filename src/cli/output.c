/* Output files of the commands: the compiler's way of writing them, and what to print where it fails. */
#include "cli/output.h"
#include "cli/args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tn_output_report(const char *path, int error)
{
    return error ? tn_error_print("%s: cannot write the file: %s", path, strerror(error)) : TN_EXIT_OK;
}

int tn_outputs_write(int n, const tn_output_part part[])
{
    tn_output o[TN_OUTPUT_PARTS], *all[TN_OUTPUT_PARTS] = {NULL};
    int k = 0, failed = 0, err = 0;
    while (k < n && !err) {
        err = tn_output_open(all[k] = &o[k], part[failed = k].path);
        k += !err;
    }
    for (int i = 0; i < k && !err; i++) {
        tn_output_add(all[i], part[i].data, part[i].n);
        err = tn_output_finish(all[failed = i]);
    }
    int last = tn_outputs_close(k, all, !err);
    return tn_output_report(part[failed].path, err ? err : last);
}

int tn_output_write(const char *path, const void *data, size_t n)
{
    return tn_outputs_write(1, &(tn_output_part){path, data, n});
}

int tn_output_write_text(const char *path, const char *text, const void *params, size_t n_params)
{
    size_t room = strlen(path) + sizeof ".params";
    char *name = malloc(room);
    if (!name)
        return tn_error_print("out of memory");
    snprintf(name, room, "%s.params", path);
    int status = tn_outputs_write(params ? 2 : 1,
                                  (tn_output_part[]){{path, text, strlen(text)}, {name, params, n_params}});
    free(name);
    return status;
}
