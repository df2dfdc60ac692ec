/* run --dump-outputs DIR: what every kernel computes, as .npy files, and a list of them. Values are as kernels lay them
 * out: shapes in the list are physical where the graph executor runs. */
#include "cli/args.h"
#include "cli/feed.h"
#include "cli/output.h"
#include "cli/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct tn_dump {
    const char *folder;
    FILE *list;
    char *text; /* of the list */
    size_t n_text;
    int status;
};

tn_dump *tn_dump_new(const char *folder)
{
    tn_dump *d = calloc(1, sizeof *d);
    if (!d || (mkdir(folder, 0777) != 0 && errno != EEXIST)) {
        (void)tn_error_print(d ? "--dump-outputs: cannot make the folder %s: %s" : "out of memory for %s: %s", folder,
                             strerror(errno));
        free(d);
        return NULL;
    }
    d->folder = folder;
    d->list = open_memstream(&d->text, &d->n_text);
    d->status = d->list ? TN_EXIT_OK : tn_error_print("out of memory");
    return d;
}

static int write_array(const char *path, const DLTensor *t)
{
    tn_array a = {0};
    char header[1024];
    int status = tn_array_from_tensor("value", t, &a);
    if (status != TN_EXIT_OK)
        return status;
    size_t n = tn_npy_print(&a.type, header);
    char *all = malloc(n + a.type.data_bytes);
    if (all) {
        memcpy(all, header, n);
        memcpy(all + n, a.data, a.type.data_bytes);
        status = tn_output_write(path, all, n + a.type.data_bytes);
    } else {
        status = tn_error_print("out of memory");
    }
    free(all);
    free(a.data);
    return status;
}

void tn_dump_add(void *user, const tnr_profile_event *e)
{
    tn_dump *d = user;
    for (uint32_t k = 0; k < e->n_out && d->status == TN_EXIT_OK; k++) {
        const DLTensor *t = &e->arg[e->n_in + k];
        char path[4096], shape[512];
        int n = snprintf(path, sizeof path, "%s/%04u_%u.npy", d->folder, (unsigned)e->index, (unsigned)k);
        if (n < 0 || (size_t)n >= sizeof path) {
            d->status = tn_error_print("--dump-outputs: the path is too long");
            return;
        }
        fprintf(d->list, "%04u_%u.npy\t%s\t%s\t%s\t%.3f us\n", (unsigned)e->index, (unsigned)k,
                tn_tensor_text(t->dtype, t->ndim, t->shape, shape), e->kernel, e->node, (double)e->nanoseconds / 1e3);
        d->status = write_array(path, t);
    }
}

int tn_dump_end(tn_dump *d)
{
    char path[4096];
    int status = d->status;
    if (d->list)
        fclose(d->list);
    snprintf(path, sizeof path, "%s/list.txt", d->folder);
    if (status == TN_EXIT_OK)
        status = tn_output_write(path, d->text, d->n_text);
    free(d->text);
    free(d);
    return status;
}
