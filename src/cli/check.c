/* tenon check: what in a model cannot be compiled, all at once; else what in it is slow. */
#include "cli/cli.h"
#include "cli/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const tn_flag tn_check_flags[] = {
    TN_ROW_SWITCH("json", 0, "print everything as JSON"),
    {0},
};

typedef struct told { /* what the calls on the session report, one after the other */
    bool json;
    FILE *to; /* json: `text`, the diagnostics as members of a list */
    char *text;
    size_t n_text, n, errors;
} told;

/* ---- JSON ---- */

static void write_member(FILE *to, const char *before, const char *name, const char *text)
{
    fprintf(to, "%s\"%s\": ", before, name);
    if (text)
        tn_print_json_text(to, text, strlen(text));
    else
        fputs("null", to);
}

static void print_member(const char *before, const char *name, const char *text)
{
    write_member(stdout, before, name, text);
}

static void write_diagnostic(told *w, const tenon_diagnostic *d)
{
    static const char *const severity[] = {"note", "warning", "error"};
    write_member(w->to, w->n++ ? ",\n  {" : "\n  {", "id", d->id);
    write_member(w->to, ", ", "severity", severity[d->severity]);
    write_member(w->to, ", ", "file", d->file);
    fprintf(w->to, ", \"line\": %u, \"column\": %u", (unsigned)d->line, (unsigned)d->col);
    write_member(w->to, ", ", "node", d->node);
    write_member(w->to, ", ", "operator", d->op);
    write_member(w->to, ", ", "text", d->text);
    write_member(w->to, ", ", "hint", d->hint);
    fputc('}', w->to);
}

static void print_json(const told *w, const char *model, bool compiles, const tenon_check_report *r)
{
    print_member("{", "model", model);
    printf(", \"compiles\": %s, \"microseconds\": %.3f, \"kernels\": [", compiles ? "true" : "false",
           r->seconds * 1e6);
    for (uint32_t i = 0; i < r->n_kernel; i++) {
        const tenon_kernel_report *k = &r->kernel[i];
        print_member(i ? ",\n  {" : "\n  {", "kernel", k->name);
        print_member(", ", "nodes", k->nodes);
        print_member(", ", "operators", k->operators);
        print_member(", ", "schedule", k->schedule);
        printf(", \"calls\": %u, \"microseconds\": %.3f", (unsigned)k->n_call, k->seconds * 1e6);
        print_member(", ", "problem", k->problem);
        print_member(", ", "advice", k->advice);
        putchar('}');
    }
    printf("],\n \"host\": [");
    for (uint32_t i = 0; i < r->n_host; i++) {
        print_member(i ? ",\n  {" : "\n  {", "node", r->host[i].node);
        print_member(", ", "operator", r->host[i].op);
        print_member(", ", "function", r->host[i].function);
        putchar('}');
    }
    printf("],\n \"diagnostics\": [%s]}\n", w->text ? w->text : "");
}

/* ---- text ---- */

static int by_seconds(const void *a, const void *b)
{
    const tenon_kernel_report *x = *(const tenon_kernel_report *const *)a,
                              *y = *(const tenon_kernel_report *const *)b;
    return x->seconds != y->seconds ? (x->seconds < y->seconds ? 1 : -1) : strcmp(x->name, y->name);
}

static const char *title(const tenon_kernel_report *k) { return *k->nodes ? k->nodes : k->name; }

/* `before`: n kernels that are printed. */
static void print_problem(const tenon_kernel_report *k, uint32_t n, const tenon_kernel_report *const before[])
{
    for (uint32_t i = 0; i < n; i++)
        if (before[i]->problem && strcmp(before[i]->problem, k->problem) == 0 &&
            strcmp(before[i]->advice, k->advice) == 0) {
            printf("          for the same reason as %s\n", title(before[i]));
            return;
        }
    printf("          %s; %s\n", k->problem, k->advice);
}

static void print_kernel(const tenon_kernel_report *k, double all, bool verbose)
{
    printf("%6.1f %%  %s (%s)\n", all > 0 ? 100 * k->seconds / all : 0, title(k), k->operators);
    if (verbose)
        printf("          %s, %s\n", k->name, k->schedule);
}

/* Operators that no kernel computes. */
static void print_host(const tenon_check_report *r)
{
    if (r->n_host)
        printf("%u %s outside of kernels, by %s of the runtime, one element after the other:\n",
               (unsigned)r->n_host, r->n_host == 1 ? "operator is computed" : "operators are computed",
               r->n_host == 1 ? "a function" : "functions");
    for (uint32_t i = 0; i < r->n_host; i++)
        printf("          %s (%s): %s\n", *r->host[i].node ? r->host[i].node : "(unnamed)", r->host[i].op,
               r->host[i].function);
}

/* The slow kernels, or all of them, the longest first. */
static int print_text(const char *model, const tenon_check_report *r, bool verbose)
{
    const tenon_kernel_report **k = calloc(r->n_kernel + 1u, sizeof *k);
    uint32_t n = 0, slow = 0;
    if (!k)
        return tn_error_print("out of memory");
    for (uint32_t i = 0; i < r->n_kernel; i++) {
        slow += r->kernel[i].problem != NULL;
        if (verbose || r->kernel[i].problem)
            k[n++] = &r->kernel[i];
    }
    qsort(k, n, sizeof *k, by_seconds);
    printf("%s: can be compiled", model);
    printf(slow ? "; %u of %u kernels %s slow (shares of the time are estimates):\n" : "\n", (unsigned)slow,
           (unsigned)r->n_kernel, slow == 1 ? "is" : "are");
    for (uint32_t i = 0; i < n; i++) {
        print_kernel(k[i], r->seconds, verbose);
        if (k[i]->problem)
            print_problem(k[i], i, k);
    }
    print_host(r);
    free(k);
    return TN_EXIT_OK;
}

/* ---- the command ---- */

/* What the last call reported is printed, or kept for the JSON. Returns whether it failed. */
static bool tell(told *w, const tn_model_options *m, bool failed)
{
    const tenon_diagnostic *d;
    for (size_t i = 0; (d = tenon_diagnostic_get(m->session, i)); i++) {
        w->errors += d->severity == TENON_ERROR;
        if (w->json)
            write_diagnostic(w, d);
    }
    if (!w->json)
        (void)tn_model_messages(m, failed);
    return failed;
}

static bool compiles(told *w, tn_model_options *m, const char *path, tenon_check_report *r)
{
    if (tell(w, m, tenon_options_check(m->session, &m->options, NULL)))
        return false;
    m->module = tenon_module_read(m->session, path, &m->options);
    return !tell(w, m, !m->module) && !tell(w, m, tenon_check_kernels(m->module, &m->options, r));
}

static int check(tn_model_options *m, const tn_args *args)
{
    told w = {.json = tn_args_count(args, "json") > 0};
    tenon_check_report r = {0};
    if (w.json && !(w.to = open_memstream(&w.text, &w.n_text)))
        return tn_error_print("out of memory");
    bool ok = compiles(&w, m, args->operand, &r);
    int status = TN_EXIT_OK;
    if (w.json) {
        fclose(w.to);
        print_json(&w, args->operand, ok, &r);
        free(w.text);
    } else if (ok) {
        status = print_text(args->operand, &r, args->verbose > 0);
    } else {
        fprintf(stderr, "%s: %zu %s compilation\n", args->operand, w.errors,
                w.errors == 1 ? "problem prevents" : "problems prevent");
    }
    return ok ? status : TN_EXIT_ERROR;
}

int tn_check_command(const tn_args *args)
{
    tn_model_options m;
    int status = tn_model_options_init(&m, args);
    if (status == TN_EXIT_OK)
        status = check(&m, args);
    tn_model_options_deinit(&m);
    return status;
}
