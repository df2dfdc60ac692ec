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

int tn_output_write(const char *path, const void *data, size_t n)
{
    tn_output o, *const all[] = {&o};
    int err = tn_output_open(&o, path);
    if (!err) {
        tn_output_add(&o, data, n);
        err = tn_outputs_close(1, all, true);
    }
    return tn_output_report(path, err);
}

int tn_output_try(const char *path)
{
    tn_output o, *const all[] = {&o};
    if (strcmp(path, "-") == 0)
        return tn_error_print("%s: this does not go to standard output; name a file", path);
    int err = tn_output_open(&o, path);
    if (!err)
        (void)tn_outputs_close(1, all, false);
    return tn_output_report(path, err);
}
