/* tenon view: the graph of a model as a page for a browser, with the times of its kernels if they are measured. */
#include "cli/cli.h"
#include "cli/compare.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
const tn_flag tn_view_flags[] = {
    TN_ROW_TEXT("output", 'o', "PATH", "graph.html", "the page to write"),
    TN_ROW_SWITCH("profile", 0, "compile and run the model, and show the time of each kernel"),
    TN_ROW_TEXT("package", 0, "PATH", NULL, "measure the kernels of this package of the model instead"),
    TN_ROW_TEXT("inputs", 'i', "NPZ", NULL, "archive of input arrays for the run, each under its input's name"),
    TN_ROW_CHOICE("fill-mode", 0, "random|zeros|ones", NULL,
            "values of inputs that --inputs does not give (fixed seed); random without --inputs"),
    {0},
};
// clang-format on

typedef struct times {
    uint32_t n, room;
    tenon_kernel_time *at; /* texts are the list's own */
    bool lost;             /* memory ran out */
} times;

static void add_time(void *user, const tnr_profile_event *e)
{
    times *t = user;
    if (t->n == t->room) {
        uint32_t room = 2 * t->room + 64;
        tenon_kernel_time *more = realloc(t->at, room * sizeof *more);
        t->lost |= !more;
        if (!more)
            return;
        t->at = more;
        t->room = room;
    }
    char *nodes = strdup(e->node), *kernel = strdup(e->kernel);
    t->lost |= !nodes || !kernel;
    t->at[t->n++] = (tenon_kernel_time){nodes, kernel, e->nanoseconds};
}

static void free_times(times *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        free((char *)(uintptr_t)t->at[i].nodes);
        free((char *)(uintptr_t)t->at[i].kernel);
    }
    free(t->at);
}

/* Runs the model, or its package, as a side of `compare` is run, and takes the times of the second run. */
static int measure(const tn_args *args, times *t)
{
    const char *package = tn_args_text(args, "package");
    tn_side s;
    tn_values in = {0};
    int status = tn_side_init(&s, 'A', args, package ? package : args->operand, 0, NULL);
    if (status == TN_EXIT_OK && package && s.kind != TN_SIDE_PACKAGE)
        status = tn_error_print("--package %s: this is no package", package);
    if (status == TN_EXIT_OK)
        status = tn_side_inputs(&s, tn_args_text(args, "inputs"), tn_args_text(args, "fill-mode"), &in);
    if (status == TN_EXIT_OK)
        status = tn_side_profile(&s, &in, add_time, t);
    if (status == TN_EXIT_OK && t->lost)
        status = tn_error_print("out of memory");
    tn_values_deinit(&in);
    tn_side_deinit(&s);
    return status;
}

int tn_view_command(const tn_args *args)
{
    tn_model_options m;
    times t = {0};
    const char *html = "", *path = tn_args_text(args, "output");
    int status = tn_model_options_init(&m, args);
    tn_cleanup_begin(false);
    if (status == TN_EXIT_OK)
        status = tn_model_read(&m, args->operand, NULL);
    if (status == TN_EXIT_OK && (tn_args_count(args, "profile") || tn_args_text(args, "package")))
        status = measure(args, &t);
    if (status == TN_EXIT_OK)
        status = tn_model_messages(&m, tenon_module_view(m.module, &m.options, t.n, t.at, &html));
    if (status == TN_EXIT_OK && strcmp(path, "-") == 0)
        fputs(html, stdout);
    else if (status == TN_EXIT_OK)
        status = tn_output_write(path, html, strlen(html));
    tn_cleanup_end();
    free_times(&t);
    tn_model_options_deinit(&m);
    return status;
}
