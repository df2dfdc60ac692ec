/* run --dump-outputs DIR: what every kernel computes, as .npy files, and two lists of them: list.txt for
 * people, index.json for programs. Values are as they lie in memory (blocks of channels), and so are their
 * shapes. An instruction that runs again (a loop) writes its files again: the last values stand, the lists
 * have every run. */
#include "cli/args.h"
#include "cli/feed.h"
#include "cli/output.h"
#include "cli/report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    char *at;
    size_t n;
    FILE *to;
} text;

struct tn_dump {
    const char *folder;
    const tnr_instance *of;
    text list, index;
    uint32_t n_file;
    char (*file)[32]; /* of each slot, "": none yet */
    uint32_t n_slot;
    int status;
};

static bool text_open(text *t)
{
    t->to = open_memstream(&t->at, &t->n);
    return t->to != NULL;
}

tn_dump *tn_dump_new(const char *folder, const tnr_instance *of)
{
    tn_dump *d = calloc(1, sizeof *d);
    if (!d || (mkdir(folder, 0777) != 0 && errno != EEXIST)) {
        (void)tn_error_print(d ? "--dump-outputs: cannot make the folder %s: %s" : "out of memory for %s: %s",
                             folder, strerror(errno));
        free(d);
        return NULL;
    }
    d->folder = folder;
    d->of = of;
    d->status = text_open(&d->list) && text_open(&d->index) ? TN_EXIT_OK : tn_error_print("out of memory");
    return d;
}

static int write_array(const char *path, const DLTensor *t)
{
    tn_array a = {0};
    char header[1024];
    int err = 0, status = tn_array_of("value", t, &a);
    tn_output o;
    if (status == TN_EXIT_OK)
        err = tn_output_open(&o, path);
    if (status == TN_EXIT_OK && !err) {
        tn_output_add(&o, header, tn_npy_print(&a.type, header));
        tn_output_add(&o, a.data, a.type.data_bytes);
        err = tn_outputs_close(1, (tn_output *const[]){&o}, true);
    }
    tn_array_drop(&a);
    return status == TN_EXIT_OK ? tn_output_report(path, err) : status;
}

/* ---- index.json ---- */

/* The model nodes, "a, b", as a list. */
static void json_nodes(FILE *o, const char *nodes)
{
    fputc('[', o);
    for (const char *p = nodes; *p;) {
        const char *end = strstr(p, ", ");
        size_t n = end ? (size_t)(end - p) : strlen(p);
        fputs(p == nodes ? "" : ", ", o);
        tn_print_json_text(o, p, n);
        p += end ? n + 2 : n;
    }
    fputc(']', o);
}

/* File of what a slot holds now; "": none. Makes room for it where there is none. */
static char *file_of(tn_dump *d, uint32_t slot)
{
    if (slot >= d->n_slot) {
        uint32_t n = slot + 64;
        char(*more)[32] = realloc(d->file, n * sizeof *more);
        if (!more)
            return NULL;
        memset(more + d->n_slot, 0, (n - d->n_slot) * sizeof *more);
        d->file = more;
        d->n_slot = n;
    }
    return d->file[slot];
}

/* What it was computed from: files written before, or names of inputs and parameters. */
static void json_inputs(tn_dump *d, const tnr_profile_event *e)
{
    FILE *o = d->index.to;
    for (uint32_t i = 0; i < e->n_in; i++) {
        const char *file = file_of(d, e->slot[i]), *name = tnr_slot_name(d->of, e->slot[i]);
        fputs(i ? ", " : "", o);
        tn_print_json_text(o, file && *file ? file : name, strlen(file && *file ? file : name));
    }
}

static void add_index(tn_dump *d, const tnr_profile_event *e, uint32_t k, const char *file)
{
    FILE *o = d->index.to;
    const DLTensor *t = &e->arg[e->n_in + k];
    const char *name = tnr_slot_name(d->of, e->slot[e->n_in + k]);
    char type[32];
    uint64_t bytes = 0;
    (void)!tnr_tensor_bytes(t->dtype, t->ndim, t->shape, &bytes, NULL);
    fprintf(o, "%s  {\"file\": \"%s\", \"instruction\": %u, \"kernel\": ", d->n_file++ ? ",\n" : "", file,
            (unsigned)e->index);
    tn_print_json_text(o, e->kernel, strlen(e->kernel));
    fputs(", \"nodes\": ", o);
    json_nodes(o, e->node);
    fputs(", \"output\": ", o);
    tn_print_json_text(o, name, strlen(name));
    fprintf(o, ", \"dtype\": \"%s\", \"shape\": [", tnr_dtype_print(t->dtype, type, sizeof type));
    for (int i = 0; i < t->ndim; i++)
        fprintf(o, "%s%lld", i ? ", " : "", (long long)t->shape[i]);
    fprintf(o, "], \"bytes\": %llu, \"microseconds\": %.3f, \"inputs\": [", (unsigned long long)bytes,
            (double)e->nanoseconds / 1e3);
    json_inputs(d, e);
    fputs("]}", o);
}

/* ---- files ---- */

static void add_value(tn_dump *d, const tnr_profile_event *e, uint32_t k)
{
    const DLTensor *t = &e->arg[e->n_in + k];
    char path[4096], file[32], shape[512];
    snprintf(file, sizeof file, "%04u_%u.npy", (unsigned)e->index, (unsigned)k);
    int n = snprintf(path, sizeof path, "%s/%s", d->folder, file);
    if (n < 0 || (size_t)n >= sizeof path) {
        d->status = tn_error_print("--dump-outputs: the path is too long");
        return;
    }
    fprintf(d->list.to, "%s\t%s\t%s\t%s\t%.3f us\n", file, tn_tensor_text(t->dtype, t->ndim, t->shape, shape),
            e->kernel, e->node, (double)e->nanoseconds / 1e3);
    add_index(d, e, k, file);
    char *slot = file_of(d, e->slot[e->n_in + k]);
    if (slot)
        memcpy(slot, file, sizeof file);
    d->status = slot ? write_array(path, t) : tn_error_print("out of memory");
}

void tn_dump_add(void *user, const tnr_profile_event *e)
{
    tn_dump *d = user;
    for (uint32_t k = 0; k < e->n_out && d->status == TN_EXIT_OK; k++)
        add_value(d, e, k);
}

/* Writes the text as a file of the folder, with something before and after it. */
static int end_text(const tn_dump *d, text *t, const char *name, const char *before, const char *after)
{
    char path[4096], *all = NULL;
    size_t n = 0;
    if (t->to)
        fclose(t->to);
    FILE *o = d->status == TN_EXIT_OK ? open_memstream(&all, &n) : NULL;
    if (!o) {
        free(t->at);
        return d->status == TN_EXIT_OK ? tn_error_print("out of memory") : d->status;
    }
    fputs(before, o);
    fwrite(t->at, 1, t->n, o);
    fputs(after, o);
    fclose(o);
    snprintf(path, sizeof path, "%s/%s", d->folder, name);
    int status = all ? tn_output_write(path, all, n) : tn_error_print("out of memory");
    free(all);
    free(t->at);
    return status;
}

int tn_dump_end(tn_dump *d)
{
    int status = end_text(d, &d->list, "list.txt", "", "");
    int other = end_text(d, &d->index, "index.json", "[\n", "\n]\n");
    free(d->file);
    free(d);
    return status == TN_EXIT_OK ? other : status;
}
