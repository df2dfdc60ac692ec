/* Schedules that searches found before: read from files, looked up for kernels, and added to files. */
#include "driver/api.h"

#include "schedule/schedule.h"
#include "tune/database.h"
#include "tenon/tune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- reading ---- */

bool tn_records_home(char out[TN_RECORDS_PATH])
{
    const char *given = getenv("TENON_RECORDS");
    if (!given || !*given)
        return tn_data_path("records.jsonl", out, TN_RECORDS_PATH);
    bool off = strcmp(given, "off") == 0 || strcmp(given, "0") == 0;
    return !off && (size_t)snprintf(out, TN_RECORDS_PATH, "%s", given) < TN_RECORDS_PATH;
}

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

tn_record_place tn_record_place_of(tn_ctx *ctx, const char *path)
{
    struct stat s;
    size_t n = strlen(path);
    bool slash = n > 0 && path[n - 1] == '/';
    const char *join = slash ? "" : "/";
    if (!slash && (stat(path, &s) || !S_ISDIR(s.st_mode)))
        return (tn_record_place){.records = path};
    return (tn_record_place){tn_arena_printf(&ctx->arena, "%s%s" TN_DATABASE_RECORDS, path, join),
                             tn_arena_printf(&ctx->arena, "%s%s" TN_DATABASE_WORKLOADS, path, join)};
}

/* After the records are mapped: whoever adds to both adds the workloads first. */
static tn_status read_workloads(tn_ctx *ctx, const char *path, tn_records *r)
{
    tn_file file;
    TN_TRY(tn_file_map(ctx, path, &file));
    tn_database_parse_workloads(r, (const char *)file.at, file.n);
    tn_file_unmap(&file);
    return TN_OK;
}

tn_status tn_records_read(tn_ctx *ctx, const char *path, tn_records *r, const char *machine,
                          enum tn_severity severity)
{
    const tn_record_place place = tn_record_place_of(ctx, path);
    tn_file file;
    uint32_t line;
    r->has_workloads = false;
    if (place.workloads && access(place.workloads, R_OK))
        return tn_report(
            ctx, severity, "driver-E189", &(tn_loc){.file = place.workloads},
            "the workloads of the records beside it cannot be read: %s; name a folder that `tune "
            "--work-dir` made",
            strerror(errno));
    TN_TRY(tn_file_map(ctx, place.records, &file));
    if (place.workloads && read_workloads(ctx, place.workloads, r) != TN_OK) {
        tn_file_unmap(&file);
        return TN_FAIL;
    }
    r->path = tn_arena_strdup(&r->arena, place.records);
    const char *wrong = tn_records_parse(r, (const char *)file.at, file.n, machine, &line);
    tn_file_unmap(&file);
    if (r->n_foreign && !r->tells_foreign_later)
        tell_foreign(ctx, place.records, r);
    return wrong ? tn_report(ctx, severity, "driver-E160",
                             &(tn_loc){.file = place.records, .line = line, .col = 1},
                             "no tuning record of Tenon: %s; make records by `tune`", wrong)
                 : TN_OK;
}

static void prepare(tn_build *b)
{
    if (b->has_records)
        return;
    tn_records_init(&b->records);
    b->has_records = true;
    b->records.tells_foreign_later = b->all_machines; /* a search, which knows its tasks later */
    b->record_machine = tn_record_machine(&b->machine, &b->arena);
}

static const char *machine_of(const tn_build *b) { return b->all_machines ? NULL : b->record_machine; }

tn_status tn_records_take(tn_build *b, const char *path)
{
    prepare(b);
    return tn_records_read(b->ctx, path, &b->records, machine_of(b), TN_ERROR);
}

void tn_records_take_home(tn_build *b)
{
    char path[TN_RECORDS_PATH];
    struct stat s;
    if (!tn_records_home(path))
        return;
    const char *records = tn_record_place_of(b->ctx, path).records;
    if (access(records, R_OK) || stat(records, &s) || !S_ISREG(s.st_mode))
        return;
    prepare(b);
    (void)!tn_records_read(b->ctx, path, &b->records, machine_of(b), TN_WARNING);
}

tn_status tn_records_open(tn_build *b)
{
    const char *given = b->opt.tuning_records;
    if (b->has_records)
        return TN_OK;
    if (!b->opt.no_records)
        tn_records_take_home(b);
    return given && *given ? tn_records_take(b, given) : TN_OK;
}

/* ---- using ---- */

static const tn_record *find(const tn_build *b, uint64_t workload)
{
    const tn_record *r = tn_records_find(&b->records, workload, b->record_machine, 1);
    return r ? r : tn_records_find(&b->records, workload, b->record_machine, 0);
}

bool tn_records_graph(tn_build *b, uint64_t workload, tn_picks *out)
{
    uint32_t line;
    const tn_record *r = b->has_records ? find(b, workload) : NULL;
    tn_picks p;
    if (!r || strcmp(r->generator, TN_GRAPH_GENERATOR) != 0 ||
        !tn_picks_parse(r->picks, strlen(r->picks), &b->arena, &p, &line))
        return false;
    *out = p;
    return true;
}

bool tn_records_apply(const tn_build *b, const tn_func *f, tn_arena *arena, tn_pool *pool, tn_sched *out)
{
    uint32_t line;
    if (!b->has_records || b->kernels_built_in)
        return false;
    const tn_record *r = find(b, tn_func_workload(f));
    if (!r)
        return false;
    tn_sched_init(out, f, arena, pool);
    if (tn_trace_replay(out, r->trace, strlen(r->trace), &line) != TN_DONE)
        return false;
    tn_ctx *ctx = out->func->ctx;
    size_t n_diag = ctx->n_diag;
    bool sound = tn_func_verify(out->func) == TN_OK;
    tn_diag_rewind(ctx, n_diag);
    if (!sound)
        return false;
    out->comment = tn_arena_printf(arena, "record %s: %.4g us, the built-in schedule %.4g us", r->name,
                                   r->seconds * 1e6, r->built_in * 1e6);
    return true;
}

/* ---- adding ---- */

/* Waits while another one has it. Where the file system has no locks, appending is all there is. 0 or errno. */
static int lock_whole(int fd)
{
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS)
            return 0;
        if (errno != EINTR && errno != EWOULDBLOCK)
            return errno;
        tn_poll_now();
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return 0;
}

static void close_file(tn_resource *r) { close((int)r->n); }

/* Opens and locks the file that is at the path now: another one may take its place while the lock is waited
 * for. The end of *out closes it. 0 or errno. */
static int open_locked(const char *path, tn_resource **out)
{
    for (;;) {
        struct stat mine, there;
        *out = tn_resource_new(close_file);
        int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666), error = fd < 0 ? errno : 0;
        (*out)->n = (size_t)fd;
        (*out)->at = fd < 0 ? NULL : *out;
        error = error ? error : lock_whole(fd);
        if (error || fstat(fd, &mine))
            return error ? error : errno;
        if (stat(path, &there) == 0 && there.st_ino == mine.st_ino && there.st_dev == mine.st_dev)
            return 0;
        tn_resource_end(*out);
    }
}

/* Does the file end inside of a line, whose writer was ended? */
static bool is_inside(int fd)
{
    struct stat s;
    char last = '\n';
    return fstat(fd, &s) == 0 && s.st_size > 0 && pread(fd, &last, 1, s.st_size - 1) == 1 && last != '\n';
}

static int write_whole(int fd, const char *at, size_t n)
{
    ssize_t k = write(fd, at, n);
    return k == (ssize_t)n ? 0 : k < 0 ? errno : ENOSPC;
}

/* Adds text to a locked file by one write. It begins with the end of a line, left out where the file has it. */
static int add_text(int fd, const char *text, size_t n)
{
    size_t begin = is_inside(fd) ? 0 : 1;
    return n > 1 ? write_whole(fd, text + begin, n - begin) : 0;
}

static void print_plain(uint32_t n, const tn_record *r, tn_buf *lines)
{
    for (uint32_t i = 0; i < n; i++)
        tn_record_print(&r[i], lines);
}

/* Records with the numbers of their workloads' lines; known: the end of a line, and the workloads that there are,
 * behind which others are added. */
static void print_pair(uint32_t n, const tn_record *r, tn_buf *known, tn_buf *lines)
{
    for (uint32_t i = 0; i < n; i++) {
        bool is_known;
        uint32_t number = tn_database_find_workload(known->at + 1, known->n - 1, &r[i], &is_known);
        if (!is_known)
            tn_database_print_workload(&r[i], known);
        tn_database_print_record(&r[i], number, lines);
    }
}

/* Adds the workloads that are not there yet; whoever adds to either file has the lock of the records. */
static tn_status add_workloads(tn_ctx *ctx, const char *path, uint32_t n, const tn_record *r, tn_buf *lines)
{
    tn_file file;
    tn_buf known = {0};
    tn_resource *open;
    int error = open_locked(path, &open);
    tn_status st = error ? tn_file_report(ctx, path, error) : tn_file_map(ctx, path, &file);
    if (st == TN_OK) {
        tn_buf_char(&known, '\n');
        tn_buf_add(&known, file.at, file.n);
        tn_file_unmap(&file);
        if (known.at[known.n - 1] != '\n')
            tn_buf_char(&known, '\n');
        size_t old = known.n - 1;
        print_pair(n, r, &known, lines);
        st = tn_file_report(ctx, path, add_text((int)open->n, known.at + old, known.n - old));
    }
    tn_resource_end(open);
    tn_buf_deinit(&known);
    return st;
}

tn_status tn_records_append(tn_ctx *ctx, const char *path, uint32_t n, const tn_record *r)
{
    const tn_record_place place = tn_record_place_of(ctx, path);
    tn_buf lines = {0};
    tn_resource *file;
    tn_status st = TN_OK;
    if (place.workloads)
        tn_folders_make(place.records);
    tn_buf_char(&lines, '\n');
    int error = open_locked(place.records, &file);
    if (!error && place.workloads)
        st = add_workloads(ctx, place.workloads, n, r, &lines);
    else
        print_plain(n, r, &lines);
    if (!error && st == TN_OK)
        error = add_text((int)file->n, lines.at, lines.n);
    tn_resource_end(file); /* and the lock with it */
    tn_buf_deinit(&lines);
    return st == TN_OK ? tn_file_report(ctx, place.records, error) : st;
}

/* ---- the files of records, for the public API ---- */

static tn_status name_file(tenon *t, const char *given, char out[TN_RECORDS_PATH])
{
    if (!given ? tn_records_home(out) : (size_t)snprintf(out, TN_RECORDS_PATH, "%s", given) < TN_RECORDS_PATH)
        return TN_OK;
    return tn_error(&t->ctx, "driver-E162", NULL,
                    "there is no file of records: TENON_RECORDS is off, there is no home folder, or the path "
                    "is too long; "
                    "name a file");
}

void tn_record_view(const tn_record *r, tenon_record *out)
{
    *out = (tenon_record){.workload = r->workload,
                          .machine = r->machine,
                          .threads = r->threads,
                          .trials = r->trials,
                          .seconds = r->seconds,
                          .built_in_seconds = r->built_in,
                          .operations = r->operations,
                          .name = r->name,
                          .generator = r->generator,
                          .version = r->version,
                          .picks = r->picks,
                          .trace = r->trace};
}

typedef struct records_call {
    const char *path, *from;
    uint32_t keep, n;
    const tenon_record *record;
} records_call;

static tn_status read_all(tenon *t, const char *path, tn_records *r)
{
    tn_records_init(r);
    const char *records = tn_record_place_of(&t->ctx, path).records;
    return access(records, F_OK) ? TN_OK : tn_records_read(&t->ctx, path, r, NULL, TN_ERROR);
}

static tn_status list(tenon *t, void *user)
{
    records_call *c = user;
    char path[TN_RECORDS_PATH];
    tn_records r;
    TN_TRY(name_file(t, c->path, path));
    tn_records_init(&r);
    const char *records = tn_record_place_of(&t->ctx, path).records;
    if (c->path || !access(records, F_OK)) /* the user's own need not be there */
        TN_TRY(tn_records_read(&t->ctx, path, &r, NULL, TN_ERROR));
    tenon_record *out = TN_NEW_N(&t->ctx.arena, tenon_record, r.all.n);
    for (size_t i = 0; i < r.all.n; i++)
        tn_record_view(&r.all.at[i], &out[i]);
    c->n = (uint32_t)r.all.n;
    c->record = out; /* texts lie in the arena of r, which the session's heap frees */
    return TN_OK;
}

static tn_status merge(tenon *t, void *user)
{
    records_call *c = user;
    char path[TN_RECORDS_PATH];
    tn_records known, more;
    tn_vec(tn_record) fresh = {0};
    TN_TRY(name_file(t, c->path, path));
    tn_folders_make(path);
    tn_records_init(&more);
    TN_TRY(tn_records_read(&t->ctx, c->from, &more, NULL, TN_ERROR));
    TN_TRY(read_all(t, path, &known));
    for (size_t i = 0; i < more.all.n; i++)
        if (!tn_records_has(&known, &more.all.at[i])) {
            tn_records_add(&known, &more.all.at[i]);
            tn_vec_push(&fresh, more.all.at[i]);
        }
    c->n = (uint32_t)fresh.n;
    return tn_records_append(&t->ctx, path, c->n, fresh.at);
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

static void add_line(tn_buf *out, const char *line)
{
    tn_buf_str(out, line);
    tn_buf_char(out, '\n');
}

static bool same_place(const tn_record *x, const tn_record *y)
{
    return x->workload == y->workload && x->threads == y->threads && strcmp(x->machine, y->machine) == 0;
}

/* Leaves the `keep` fastest of each workload, machine and number of threads, as they stand there, and lines of later
 * formats; damaged lines go, but a file without any record is
 * somebody else's and stays. Others that write wait meanwhile. */
static tn_status prune_file(tenon *t, const char *path, records_call *c)
{
    const char *records = tn_record_place_of(&t->ctx, path).records;
    tn_records r;
    tn_buf lines = {0};
    tn_records_init(&r);
    bool damaged = tn_records_read(&t->ctx, path, &r, NULL, TN_WARNING) != TN_OK || t->ctx.n_diag;
    if (damaged && r.all.n + r.later.n == 0)
        return tn_error(&t->ctx, "driver-E166", &(tn_loc){.file = records},
                        "no record of Tenon is in this file, which stays as it is; name a file of records");
    for (size_t i = 0; i < r.later.n; i++)
        add_line(&lines, r.later.at[i]);
    const tn_record **sorted = TN_NEW_N(&t->ctx.arena, const tn_record *, r.all.n);
    for (size_t i = 0; i < r.all.n; i++)
        sorted[i] = &r.all.at[i];
    qsort(sorted, r.all.n, sizeof *sorted, by_place);
    for (size_t i = 0, first = 0; i < r.all.n; i++) {
        first = same_place(sorted[first], sorted[i]) ? first : i;
        if (i - first < c->keep)
            add_line(&lines, sorted[i]->line);
        else
            c->n++;
    }
    return c->n || damaged ? tn_file_write(&t->ctx, records, tn_buf_cstr(&lines), lines.n) : TN_OK;
}

static tn_status prune(tenon *t, void *user)
{
    records_call *c = user;
    char path[TN_RECORDS_PATH];
    tn_resource *file;
    TN_TRY(name_file(t, c->path, path));
    const char *records = tn_record_place_of(&t->ctx, path).records;
    if (access(records, F_OK))
        return c->path ? tn_file_report(&t->ctx, records, errno) : TN_OK;
    int error = open_locked(records, &file);
    tn_status st = error ? tn_file_report(&t->ctx, records, error) : prune_file(t, path, c);
    tn_resource_end(file);
    return st;
}

int tenon_records_path(char *out, size_t room)
{
    char path[TN_RECORDS_PATH];
    return tn_records_home(path) && (size_t)snprintf(out, room, "%s", path) < room;
}

int tenon_records_list(tenon *t, const char *path, uint32_t *out_n, const tenon_record **out)
{
    records_call c = {.path = path};
    int failed = tn_session_call(t, NULL, list, &c);
    *out_n = failed ? 0 : c.n;
    *out = failed ? NULL : c.record;
    return failed;
}

int tenon_records_merge(tenon *t, const char *path, const char *from, uint32_t *out_added)
{
    records_call c = {.path = path, .from = from};
    int failed = tn_session_call(t, NULL, merge, &c);
    *out_added = failed ? 0 : c.n;
    return failed;
}

int tenon_records_prune(tenon *t, const char *path, uint32_t keep, uint32_t *out_dropped)
{
    records_call c = {.path = path, .keep = keep ? keep : 1};
    int failed = tn_session_call(t, NULL, prune, &c);
    *out_dropped = failed ? 0 : c.n;
    return failed;
}
