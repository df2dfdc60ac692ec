/* Output files of the public API: base/output on the heap. */
#include "base/output.h"
#include "tenon/tenon.h"

#include <errno.h>
#include <stdlib.h>

struct tenon_output {
    tn_output o;
};

tenon_output *tenon_output_open(const char *path, int *out_error)
{
    tenon_output *x = malloc(sizeof *x);
    *out_error = x ? tn_output_open(&x->o, path) : ENOMEM;
    if (!*out_error)
        return x;
    free(x);
    return NULL;
}

void tenon_output_add(tenon_output *x, const void *data, size_t n) { tn_output_add(&x->o, data, n); }

int tenon_output_finish(tenon_output *x) { return tn_output_finish(&x->o); }

int tenon_outputs_close(int n, tenon_output *const x[], int keep)
{
    tn_output *all[TENON_OUTPUTS] = {NULL};
    for (int i = 0; i < n; i++)
        all[i] = &x[i]->o;
    int err = tn_outputs_close(n, all, keep);
    for (int i = 0; i < n; i++)
        free(x[i]);
    return err;
}

void tenon_outputs_drop(void) { tn_outputs_drop(); }
