/* tenon records: what searches have found, in the user's own file or another one. */
#include "cli/cli.h"
#include "tenon/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
const tn_flag tn_records_flags[] = {
    TN_ROW_TEXT("file", 0, "FILE", NULL, "the file of records; by default the user's own, which tune adds to"),
    TN_ROW_INT("keep", 0, 1, 1000000, "1", "prune: leave so many of each workload and machine, the fastest that fit"),
    {0},
};
// clang-format on

typedef struct work {
    const tn_args *args;
    tenon *session;
    const char *file; /* NULL: the user's own */
} work;

static int end(const work *w, int failed)
{
    tn_messages_print(tenon_messages(w->session));
    return failed ? TN_EXIT_ERROR : TN_EXIT_OK;
}

static int read_records(const work *w, uint32_t *n, const tenon_record **r)
{
    return end(w, tenon_records_list(w->session, w->file, n, r));
}

static int no_operand(const work *w, const char *action)
{
    return tn_usage_error(w->args->command, "records %s takes no \"%s\"; name a file by --file", action,
                          w->args->second);
}

static int list(const work *w)
{
    uint32_t n;
    if (w->args->second)
        return no_operand(w, "list");
    const tenon_record *r;
    int status = read_records(w, &n, &r);
    if (status != TN_EXIT_OK)
        return status;
    printf("workload         threads     best us built-in us   gain trials  kernel\n");
    for (uint32_t i = 0; i < n; i++)
        printf("%016llx %7u %11.2f %11.2f %5.2fx %6u  %s\n", (unsigned long long)r[i].workload,
               (unsigned)r[i].threads, r[i].seconds * 1e6, r[i].built_in_seconds * 1e6,
               r[i].built_in_seconds / r[i].seconds, (unsigned)r[i].trials, r[i].name);
    printf("%u record%s\n", (unsigned)n, n == 1 ? "" : "s");
    return TN_EXIT_OK;
}

/* Of a workload by the beginning of its number, or of a kernel by a part of its name. */
static int show(const work *w)
{
    uint32_t n, shown = 0;
    const tenon_record *r;
    const char *what = w->args->second ? w->args->second : "";
    int status = read_records(w, &n, &r);
    for (uint32_t i = 0; i < n && status == TN_EXIT_OK; i++) {
        char workload[17];
        snprintf(workload, sizeof workload, "%016llx", (unsigned long long)r[i].workload);
        if (strncmp(workload, what, strlen(what)) != 0 && !strstr(r[i].name, what))
            continue;
        printf("%s# %s: workload %s, %u thread%s\n", shown++ ? "\n" : "", r[i].name, workload,
               (unsigned)r[i].threads, r[i].threads == 1 ? "" : "s");
        printf("# %.2f us, by the built-in schedule %.2f us, after %u trials\n", r[i].seconds * 1e6,
               r[i].built_in_seconds * 1e6, (unsigned)r[i].trials);
        printf("# machine: %s\n# picks of generator %s %u:\n", r[i].machine, r[i].generator,
               (unsigned)r[i].version);
        for (const char *at = r[i].picks; *at; at += strcspn(at, "\n"), at += *at == '\n')
            printf("#   %.*s\n", (int)strcspn(at, "\n"), at);
        fputs(r[i].trace, stdout);
    }
    if (status == TN_EXIT_OK && !shown && *what)
        return tn_error_print("no record is of %s; `records list` shows them", what);
    return status;
}

static int merge(const work *w)
{
    uint32_t n;
    if (!w->args->second)
        return tn_usage_error(w->args->command, "records merge FILE: which file?");
    int failed = tenon_records_merge(w->session, w->file, w->args->second, &n);
    if (!failed)
        printf("%u record%s added\n", (unsigned)n, n == 1 ? "" : "s");
    return end(w, failed);
}

static int prune(const work *w)
{
    uint32_t n;
    if (w->args->second)
        return no_operand(w, "prune");
    int failed = tenon_records_prune(w->session, w->file, (uint32_t)tn_args_int(w->args, "keep"), &n);
    if (!failed)
        printf("%u record%s dropped\n", (unsigned)n, n == 1 ? "" : "s");
    return end(w, failed);
}

/* Into another file, which gets what it has not. */
static int export(const work *w)
{
    uint32_t n;
    char path[4096];
    const char *home = tenon_records_path(path, sizeof path) ? path : NULL, *from = w->file ? w->file : home;
    if (!w->args->second)
        return tn_usage_error(w->args->command, "records export FILE: to which file?");
    if (!from)
        return tn_error_print("there is no file of records: TENON_RECORDS is off; name one by --file");
    int failed = tenon_records_merge(w->session, w->args->second, from, &n);
    if (!failed)
        printf("%s: %u record%s added\n", w->args->second, (unsigned)n, n == 1 ? "" : "s");
    return end(w, failed);
}

static const struct {
    const char *name;
    int (*run)(const work *w);
} actions[] = {{"list", list}, {"show", show}, {"merge", merge}, {"prune", prune}, {"export", export}};

int tn_records_command(const tn_args *args)
{
    work w = {.args = args, .file = tn_args_text(args, "file")};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, args->operand) == 0) {
            w.session = tenon_new();
            if (!w.session)
                return tn_error_print("out of memory");
            int status = actions[i].run(&w);
            tenon_free(w.session);
            return status;
        }
    return tn_usage_error(
        args->command, "unknown action \"%s\"; choose from list, show, merge, prune, export", args->operand);
}
