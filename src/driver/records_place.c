/* Where records are: the user's own file, what form a path stands for, and what all forms have in common. */
#include "driver/records.h"

#include "tune/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN "records.db"
#define EARLIER "records.jsonl" /* what versions before the database kept */

bool tn_records_home(char out[TN_RECORDS_PATH])
{
    const char *given = getenv("TENON_RECORDS");
    if (!given || !*given)
        return tn_data_path(OWN, out, TN_RECORDS_PATH);
    bool off = strcmp(given, "off") == 0 || strcmp(given, "0") == 0;
    return !off && (size_t)snprintf(out, TN_RECORDS_PATH, "%s", given) < TN_RECORDS_PATH;
}

/* ---- forms ---- */

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool stat_folder(const char *path, struct stat *out)
{
    char folder[TN_RECORDS_PATH];
    return (size_t)snprintf(folder, sizeof folder, "%.*s.", (int)(name_in(path) - path), path) <
               sizeof folder &&
           stat(folder, out) == 0;
}

/* The database in the data folder, in whatever way its path is written: the lines beside it must not be forgotten. */
static bool is_own(const char *path)
{
    char own[TN_RECORDS_PATH];
    struct stat a, b;
    if (strcmp(name_in(path), OWN) != 0 || !tn_data_path(OWN, own, sizeof own))
        return false;
    return strcmp(path, own) == 0 ||
           (stat_folder(path, &a) && stat_folder(own, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev);
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n > k && strcmp(name + n - k, end) == 0;
}

static bool is_database(tn_ctx *ctx, const char *path)
{
    struct stat s;
    bool there = stat(path, &s) == 0;
    if (there && !S_ISREG(s.st_mode))
        return false;
    if (there && s.st_size > 0)
        return tn_record_database_is(ctx, path);
    return ends_with(path, ".db") || ends_with(path, ".sqlite") || ends_with(path, ".sqlite3");
}

tn_record_place tn_record_place_of(tn_ctx *ctx, const char *path)
{
    struct stat s;
    size_t n = strlen(path);
    bool slash = n > 0 && path[n - 1] == '/';
    const char *join = slash ? "" : "/";
    if (slash || (stat(path, &s) == 0 && S_ISDIR(s.st_mode)))
        return (tn_record_place){
            .form = &tn_record_pair,
            .records = tn_arena_printf(&ctx->arena, "%s%s" TN_DATABASE_RECORDS, path, join),
            .workloads = tn_arena_printf(&ctx->arena, "%s%s" TN_DATABASE_WORKLOADS, path, join)};
    if (is_own(path))
        return (tn_record_place){
            .form = &tn_record_database,
            .records = path,
            .earlier = tn_arena_printf(&ctx->arena, "%.*s" EARLIER, (int)(name_in(path) - path), path)};
    return (tn_record_place){.form = is_database(ctx, path) ? &tn_record_database : &tn_record_lines,
                             .records = path};
}

bool tn_record_place_exists(const tn_record_place *p)
{
    return access(p->records, F_OK) == 0 || (p->earlier && access(p->earlier, F_OK) == 0);
}

bool tn_records_exist(tn_ctx *ctx, const char *path)
{
    const tn_record_place p = tn_record_place_of(ctx, path);
    return tn_record_place_exists(&p);
}

tn_status tn_records_read(tn_ctx *ctx, const char *path, tn_records *r, const char *machine,
                          enum tn_severity severity)
{
    const tn_record_place p = tn_record_place_of(ctx, path);
    const size_t before = r->all.n;
    const char *file = tn_arena_strdup(&r->arena, path);
    r->has_workloads = false;
    tn_status st = p.form->read(ctx, &p, r, machine, severity);
    for (size_t i = before; i < r->all.n; i++)
        r->all.at[i].file = file;
    return st;
}

tn_status tn_records_append(tn_ctx *ctx, const char *path, uint32_t n, const tn_record *r)
{
    const tn_record_place p = tn_record_place_of(ctx, path);
    return p.form->append(ctx, &p, n, r);
}

/* ---- for all forms ---- */

/* Lines of TVM name its own schedules, which are none of ours. A search takes tile sizes of the last text's. */
static void tell_foreign(tn_ctx *ctx, const char *path, const tn_records *r)
{
    bool tiled = false;
    for (size_t i = 0; i < r->tvm.n; i++)
        tiled |= r->tvm.at[i].path == r->path && r->tvm.at[i].n_tiling > 0;
    (void)tn_report(
        ctx, TN_WARNING, "driver-W003", &(tn_loc){.file = path, .line = r->foreign, .col = 1},
        "records of TVM name no schedules of Tenon and are passed over, %u from this line on; make "
        "records by `tune`%s",
        (unsigned)r->n_foreign,
        tiled ? ", which begins near their tile sizes where `--tuning-records` names them" : "");
}

tn_status tn_records_tell(tn_ctx *ctx, const char *path, const tn_records *r, const char *wrong,
                          uint32_t line, enum tn_severity severity)
{
    if (r->n_foreign && !r->tells_foreign_later)
        tell_foreign(ctx, path, r);
    return wrong ? tn_report(ctx, severity, "driver-E160", &(tn_loc){.file = path, .line = line, .col = 1},
                             "no tuning record of Tenon: %s; make records by `tune`", wrong)
                 : TN_OK;
}

static int by_place(const void *a, const void *b)
{
    const tn_record *x = *(const tn_record *const *)a, *y = *(const tn_record *const *)b;
    int machine = strcmp(x->machine, y->machine);
    if (machine || x->workload != y->workload)
        return machine ? machine : x->workload < y->workload ? -1 : 1;
    if (x->threads != y->threads)
        return x->threads < y->threads ? -1 : 1;
    return x->seconds < y->seconds ? -1 : x->seconds > y->seconds ? 1 : (x > y) - (x < y);
}

static bool same_place(const tn_record *x, const tn_record *y)
{
    return x->workload == y->workload && x->threads == y->threads && strcmp(x->machine, y->machine) == 0;
}

const tn_record **tn_records_fastest(tn_ctx *ctx, tn_records *r, uint32_t keep, size_t *out_n)
{
    const tn_record **sorted = TN_NEW_N(&ctx->arena, const tn_record *, r->all.n);
    const tn_record *first = NULL;
    size_t n = 0, rank = 0;
    tn_record_texts *texts = tn_record_texts_new(r);
    for (size_t i = 0; i < r->all.n; i++)
        sorted[i] = &r->all.at[i];
    qsort(sorted, r->all.n, sizeof *sorted, by_place);
    for (size_t i = 0; i < r->all.n; i++) {
        if (!first || !same_place(first, sorted[i])) {
            first = sorted[i];
            rank = 0;
        }
        if (rank < keep && tn_record_fits(texts, sorted[i])) {
            sorted[n++] = sorted[i];
            rank++;
        }
    }
    tn_record_texts_keep(texts, n, sorted);
    tn_record_texts_free(texts);
    *out_n = n;
    return sorted;
}
