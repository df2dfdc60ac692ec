/* Records in a database of SQLite, as the user's own are.
 *
 * A row is a record: the line of JSON that a plain file would have, so that no key is lost that this version does not
 * know, and beside it the columns that are asked for. Rows of lines that this version cannot read (of later formats)
 * have no columns. The index has the records of a machine by workload, number of threads and time, so `compile` reads
 * a few lines for each workload and number of threads, however many searches have written.
 *
 * The journal is SQLite's rollback journal, not WAL. Writes are few and small, a record at a time, so WAL would gain
 * nothing; but it needs shared memory, which home folders on other machines (NFS) do not have, and two more
 * files, without which a copy of the database lacks what was written last. As it is, the database is one file
 * whenever nobody writes. A transaction is on the disk when it ends; one whose process or machine was stopped
 * is rolled back by the next reader.
 *
 * Whoever writes begins by BEGIN IMMEDIATE, so there are no deadlocks; others wait, looking whether their
 * call is to end. A connection lives for one call and is never open where a process forks. The locks of
 * SQLite are those of POSIX, which a process loses where it closes another descriptor of the file: nothing
 * here opens a database but SQLite.
 *
 * A database may come from anybody: triggers, views and what a schema may call are off. */
#include "driver/records.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AS_TEXT(x) #x
#define TEXT(x) AS_TEXT(x)
#define APPLICATION 1416523630 /* "Tnon", at byte 68 of the file */
#define FORMAT 1               /* user_version: of the table, not of the lines */
#define BEST 8 /* records of a workload and number of threads: the first one may not fit any more */
enum { WAIT_SECONDS = 30, LONGEST_LINE = 1 << 26, POLL_STEPS = 100000 };

static const char schema[] =
    "CREATE TABLE record(id INTEGER PRIMARY KEY, line TEXT NOT NULL, workload TEXT, form TEXT, machine TEXT,"
    " threads INTEGER, seconds REAL, name TEXT, generator TEXT);"
    "CREATE INDEX record_best ON record(machine, workload, threads, seconds);"
    "PRAGMA application_id = " TEXT(APPLICATION) ";"
                                                 "PRAGMA user_version = " TEXT(FORMAT) ";";
static const char insertion[] =
    "INSERT INTO record(line, workload, form, machine, threads, seconds, name, generator)"
    " VALUES(?, ?, ?, ?, ?, ?, ?, ?)";
static const char all_rows[] = "SELECT id, line FROM record ORDER BY id";
static const char best_rows[] = /* of a machine */
    "SELECT id, line FROM record WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER"
    " (PARTITION BY workload, threads ORDER BY seconds, id) AS place FROM record WHERE machine = ?)"
    " WHERE place <= " TEXT(BEST) ") ORDER BY id";

typedef struct database {
    tn_ctx *ctx;
    const char *path;
    enum tn_severity severity; /* of what is reported */
    bool writes;
    sqlite3 *sql;
    tn_resource *held; /* the connection */
    tn_raised raised;  /* in a callback, below frames of SQLite */
    double deadline;   /* of waiting for others */
} database;

/* ---- what goes wrong ---- */

static int error_of(const database *d, int code)
{
    int said = sqlite3_system_errno(d->sql);
    switch (code & 0xff) {
    case SQLITE_FULL: return ENOSPC;
    case SQLITE_TOOBIG: return EFBIG;
    case SQLITE_READONLY:
    case SQLITE_PERM: return EACCES;
    default: return said ? said : EIO;
    }
}

/* What the system refuses, whatever is in the file. */
static bool is_of_system(int kind)
{
    return kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR || kind == SQLITE_READONLY ||
           kind == SQLITE_PERM || kind == SQLITE_FULL;
}

/* Reports a result of SQLite. TN_FAIL, whatever the severity. */
static tn_status fail(const database *d, int code)
{
    const tn_loc loc = {.file = d->path};
    const int kind = code & 0xff;
    if (d->raised.kind != TN_RAISED_NOTHING)
        tn_raise(d->raised);
    if (kind == SQLITE_NOMEM)
        tn_raise((tn_raised){.kind = TN_RAISED_OUT_OF_MEMORY, .amount = 1});
    if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
        (void)!tn_report(d->ctx, d->severity, "driver-E199", &loc,
                         "this database of records has been locked by somebody else for %d seconds; end "
                         "what holds it, or name another file",
                         WAIT_SECONDS);
    else if (d->writes && (is_of_system(kind) || kind == SQLITE_TOOBIG))
        (void)!tn_file_report(d->ctx, d->path, error_of(d, code));
    else if (is_of_system(kind))
        (void)!tn_report(d->ctx, d->severity, "driver-E200", &loc,
                         "this database of records cannot be read: %s; name one that you may read, in a "
                         "folder that you may write to",
                         strerror(error_of(d, code)));
    else
        (void)!tn_report(d->ctx, d->severity, "driver-E201", &loc,
                         "this database of records is damaged (%s); move it away, and take out of it what is "
                         "sound by `sqlite3 FILE .recover`",
                         sqlite3_errmsg(d->sql));
    return TN_FAIL;
}

static void poll_now(void *user)
{
    (void)user;
    tn_poll_now();
}

/* Is the call to end? Then SQLite stops what it does, and `fail` raises again. */
static int is_ended(void *user)
{
    database *d = user;
    d->raised = tn_protect(NULL, poll_now, NULL);
    return d->raised.kind != TN_RAISED_NOTHING;
}

static int wait_for_others(void *user, int n)
{
    database *d = user;
    if (n == 0)
        d->deadline = tn_now() + WAIT_SECONDS;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return !is_ended(d) && tn_now() < d->deadline;
}

/* ---- connections ---- */

static void close_connection(tn_resource *r)
{
    sqlite3 *sql = r->at;
    for (sqlite3_stmt *s; (s = sqlite3_next_stmt(sql, NULL));)
        sqlite3_finalize(s);
    sqlite3_close(sql); /* what was not committed is rolled back */
}

/* Not a name of SQLite's own, as `:memory:` or `file:x`. */
static const char *plain_path(tn_arena *arena, const char *path)
{
    return *path == '/' ? path : tn_arena_printf(arena, "./%s", path);
}

static tn_status open_database(database *d)
{
    int flags = SQLITE_OPEN_READWRITE | (d->writes ? SQLITE_OPEN_CREATE : 0); /* to roll back, if need be */
    const char *path = plain_path(&d->ctx->arena, d->path);
    d->held = tn_resource_new(close_connection);
    int code = sqlite3_open_v2(path, &d->sql, flags | SQLITE_OPEN_NOMUTEX, NULL);
    d->held->at = d->sql;
    if (code)
        return fail(d, code);
    static const struct {
        int option, value;
    } guards[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                  {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                  {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                  {SQLITE_DBCONFIG_ENABLE_VIEW, 0}};
    for (size_t i = 0; i < sizeof guards / sizeof *guards; i++)
        (void)sqlite3_db_config(d->sql, guards[i].option, guards[i].value, (int *)NULL);
    (void)sqlite3_limit(d->sql, SQLITE_LIMIT_LENGTH, LONGEST_LINE);
    sqlite3_busy_handler(d->sql, wait_for_others, d);
    sqlite3_progress_handler(d->sql, POLL_STEPS, is_ended, d);
    return TN_OK;
}

/* d is of the heap, because callbacks know it. */
static database *new_database(tn_ctx *ctx, const char *path, enum tn_severity severity, bool writes)
{
    database *d = tn_alloc_array(1, sizeof *d);
    *d = (database){.ctx = ctx, .path = path, .severity = severity, .writes = writes};
    return d;
}

static void free_database(database *d)
{
    tn_resource_end(d->held);
    tn_free(d);
}

static tn_status run(const database *d, const char *sql)
{
    int code = sqlite3_exec(d->sql, sql, NULL, NULL, NULL);
    return code ? fail(d, code) : TN_OK;
}

static int number_of(const database *d, const char *sql, int64_t *out)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(d->sql, sql, -1, &s, NULL);
    code = code ? code : sqlite3_step(s);
    *out = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return code == SQLITE_ROW ? SQLITE_OK : code == SQLITE_DONE ? SQLITE_CORRUPT : code;
}

/* In a transaction. Is it a database of records that this version knows, or one that has nothing in it yet? */
static tn_status look(const database *d, bool *out_new)
{
    const tn_loc loc = {.file = d->path};
    int64_t application, format, things;
    int code = number_of(d, "PRAGMA application_id", &application);
    code = code ? code : number_of(d, "PRAGMA user_version", &format);
    code = code ? code : number_of(d, "SELECT count(*) FROM sqlite_master", &things);
    if (code)
        return fail(d, code);
    *out_new = !application && !format && !things;
    if (*out_new || (application == APPLICATION && format == FORMAT))
        return TN_OK;
    if (application == APPLICATION && format > FORMAT)
        (void)!tn_report(d->ctx, d->severity, "driver-E202", &loc,
                         "this database of records has format %" PRId64 ", of a later version of Tenon, and "
                         "this version knows up to %d; have that version write a file of lines: `tenon "
                         "records export FILE`",
                         format, FORMAT);
    else
        (void)!tn_report(d->ctx, d->severity, "driver-E203", &loc,
                         "this is a database of another program; name a file of records");
    return TN_FAIL;
}

bool tn_record_database_is(tn_ctx *ctx, const char *path)
{
    static const char magic[16] = "SQLite format 3";
    char there[sizeof magic] = "";
    sqlite3 *sql = NULL;
    sqlite3_file *file = NULL;
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
    const int code = sqlite3_open_v2(plain_path(&ctx->arena, path), &sql, flags, NULL);
    if (code == SQLITE_OK &&
        sqlite3_file_control(sql, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK && file &&
        file->pMethods && file->pMethods->xRead(file, there, sizeof there, 0) != SQLITE_OK)
        there[0] = 0;
    sqlite3_close(sql);
    if (code == SQLITE_NOMEM)
        tn_raise((tn_raised){.kind = TN_RAISED_OUT_OF_MEMORY, .amount = 1});
    return memcmp(there, magic, sizeof magic) == 0;
}

/* ---- rows ---- */

/* r NULL: of a line that this version cannot read. */
static int bind(sqlite3_stmt *s, const char *line, size_t n, const tn_record *r, char workload[17],
                char form[17])
{
    int code = sqlite3_bind_text64(s, 1, line, n, SQLITE_STATIC, SQLITE_UTF8);
    if (!r || code)
        return code;
    snprintf(workload, 17, "%016" PRIx64, r->workload);
    snprintf(form, 17, "%016" PRIx64, r->form);
    const char *const text[] = {
        [2] = workload, [3] = r->sizes ? form : NULL, [4] = r->machine, [7] = r->name, [8] = r->generator};
    for (int i = 2; i < 9 && !code; i++)
        code = i == 5   ? sqlite3_bind_int64(s, i, r->threads)
               : i == 6 ? sqlite3_bind_double(s, i, r->seconds)
                        : sqlite3_bind_text(s, i, text[i], -1, SQLITE_STATIC);
    return code;
}

static int add_row(sqlite3_stmt *s, const char *line, size_t n, const tn_record *r)
{
    char workload[17], form[17];
    int code = bind(s, line, n, r, workload, form);
    code = code ? code : sqlite3_step(s);
    return code == SQLITE_DONE ? sqlite3_reset(s) : code;
}

static tn_status add_rows(const database *d, uint32_t n, const tn_record *r)
{
    sqlite3_stmt *s = NULL;
    tn_buf line = {0};
    int code = sqlite3_prepare_v2(d->sql, insertion, -1, &s, NULL);
    for (uint32_t i = 0; i < n && !code; i++) {
        tn_buf_clear(&line);
        tn_record_print_line(&r[i], &line);
        code = add_row(s, line.at, line.n - 1, &r[i]); /* without its end */
    }
    tn_status st = code ? fail(d, code) : TN_OK;
    sqlite3_finalize(s);
    tn_buf_deinit(&line);
    return st;
}

static tn_status add_later(const database *d, size_t n, const char *const line[])
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(d->sql, insertion, -1, &s, NULL);
    for (size_t i = 0; i < n && !code; i++)
        code = add_row(s, line[i], strlen(line[i]), NULL);
    tn_status st = code ? fail(d, code) : TN_OK;
    sqlite3_finalize(s);
    return st;
}

typedef struct rows {
    tn_records *r;
    tn_vec(int64_t) id;      /* of the records that r has more */
    tn_vec(int64_t) damaged; /* of the others, but for those of later formats */
    const char *wrong;       /* with the first damaged one */
} rows;

static void deinit_rows(rows *o)
{
    tn_vec_deinit(&o->id);
    tn_vec_deinit(&o->damaged);
}

static void take_row(rows *o, sqlite3_stmt *s, const char *machine)
{
    const int64_t id = sqlite3_column_int64(s, 0);
    const char *line = (const char *)sqlite3_column_text(s, 1);
    const size_t before = o->r->all.n, n = line ? (size_t)sqlite3_column_bytes(s, 1) : 0;
    const char *wrong = tn_records_parse_line(o->r, line ? line : "", n, machine, (uint32_t)id);
    if (wrong) {
        o->wrong = o->wrong ? o->wrong : wrong;
        tn_vec_push(&o->damaged, id);
    } else if (o->r->all.n > before) {
        tn_vec_push(&o->id, id);
    }
}

static tn_status read_rows(const database *d, const char *machine, rows *out)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(d->sql, machine ? best_rows : all_rows, -1, &s, NULL);
    if (!code && machine)
        code = sqlite3_bind_text(s, 1, machine, -1, SQLITE_STATIC);
    while (!code && (code = sqlite3_step(s)) == SQLITE_ROW) {
        take_row(out, s, machine);
        code = SQLITE_OK;
    }
    tn_status st = code == SQLITE_DONE ? TN_OK : fail(d, code);
    sqlite3_finalize(s);
    return st;
}

/* ---- reading ---- */

static tn_status read_earlier(tn_ctx *ctx, const tn_record_place *p, tn_records *r, const char *machine,
                              enum tn_severity severity)
{
    const tn_record_place earlier = {.form = &tn_record_lines, .records = p->earlier};
    return earlier.form->read(ctx, &earlier, r, machine, severity);
}

static tn_status read_database(tn_ctx *ctx, const tn_record_place *p, tn_records *r, const char *machine,
                               enum tn_severity severity)
{
    const bool has_earlier = p->earlier && access(p->earlier, F_OK) == 0;
    if (has_earlier && access(p->records, F_OK))
        return read_earlier(ctx, p, r, machine, severity);
    rows found = {.r = r};
    bool is_new = false;
    r->path = tn_arena_strdup(&r->arena, p->records);
    r->n_foreign = r->foreign = 0;
    r->n_text++;
    database *d = new_database(ctx, p->records, severity, false);
    tn_status st = open_database(d);
    st = st == TN_OK ? run(d, "BEGIN") : st; /* what follows sees one state of the file */
    st = st == TN_OK ? look(d, &is_new) : st;
    st = st == TN_OK && !is_new ? read_rows(d, machine, &found) : st;
    free_database(d);
    if (st == TN_OK && is_new && has_earlier)
        st = read_earlier(ctx, p, r, machine, severity);
    else if (st == TN_OK)
        st = tn_records_tell(ctx, p->records, r, found.wrong,
                             found.damaged.n ? (uint32_t)found.damaged.at[0] : 0, severity);
    deinit_rows(&found);
    return st;
}

/* ---- writing ---- */

/* Earlier versions may still write to their file, under its lock. It stays, with what is damaged in it. */
static tn_status take_over(const database *d, const tn_record_place *p)
{
    tn_records old;
    tn_resource *lock;
    if (!p->earlier || access(p->earlier, F_OK))
        return TN_OK;
    tn_records_init(&old);
    (void)tn_record_lock(p->earlier, O_RDONLY, &lock);
    tn_status st = read_earlier(d->ctx, p, &old, NULL, TN_WARNING);
    tn_resource_end(lock);
    st = st == TN_OK ? add_rows(d, (uint32_t)old.all.n, old.all.at) : st;
    st = st == TN_OK ? add_later(d, old.later.n, old.later.at) : st;
    tn_records_deinit(&old);
    return st;
}

/* Opens a database and begins a transaction; one that is new gets its table, and what there was before. */
static tn_status begin(const tn_record_place *p, database *d)
{
    bool is_new;
    TN_TRY(open_database(d));
    if (sqlite3_db_readonly(d->sql, "main") == 1) /* then what follows would only begin to read */
        return fail(d, SQLITE_READONLY);
    TN_TRY(run(d, "BEGIN IMMEDIATE"));
    TN_TRY(look(d, &is_new));
    if (is_new)
        TN_TRY(run(d, schema));
    return is_new ? take_over(d, p) : TN_OK;
}

static tn_status append(tn_ctx *ctx, const tn_record_place *p, uint32_t n, const tn_record *r)
{
    database *d = new_database(ctx, p->records, TN_ERROR, true);
    tn_status st = begin(p, d);
    if (st == TN_OK) /* of none, it shows whether there can be a journal */
        st = n ? add_rows(d, n, r) : run(d, "PRAGMA user_version = " TEXT(FORMAT));
    st = st == TN_OK ? run(d, "COMMIT") : st;
    free_database(d);
    return st;
}

static int drop_rows(sqlite3_stmt *s, size_t n, const int64_t id[])
{
    int code = SQLITE_OK;
    for (size_t i = 0; i < n && !code; i++) {
        code = id[i] ? sqlite3_bind_int64(s, 1, id[i]) : SQLITE_OK;
        code = code || !id[i] ? code : sqlite3_step(s);
        code = code == SQLITE_DONE ? sqlite3_reset(s) : code;
    }
    return code;
}

/* before: the lines of all records, as they stand in the rows. */
static int update_rows(const database *d, const rows *found, const char *const before[])
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(d->sql, "UPDATE record SET line = ? WHERE id = ?", -1, &s, NULL);
    for (size_t i = 0; i < found->id.n && !code; i++) {
        if (found->r->all.at[i].line == before[i])
            continue;
        code = sqlite3_bind_text(s, 1, found->r->all.at[i].line, -1, SQLITE_STATIC);
        code = code ? code : sqlite3_bind_int64(s, 2, found->id.at[i]);
        code = code ? code : sqlite3_step(s);
        code = code == SQLITE_DONE ? sqlite3_reset(s) : code;
    }
    sqlite3_finalize(s);
    return code;
}

/* Drops the rows of `found` but those of the fastest, whose ids become 0. */
static tn_status drop_slow(const database *d, uint32_t keep, rows *found, uint32_t *out_dropped)
{
    size_t n;
    sqlite3_stmt *s = NULL;
    const char **before = TN_NEW_N(&d->ctx->arena, const char *, found->id.n);
    for (size_t i = 0; i < found->id.n; i++)
        before[i] = found->r->all.at[i].line;
    const tn_record **kept = tn_records_fastest(d->ctx, found->r, keep, &n);
    int code = update_rows(d, found, before);
    for (size_t i = 0; i < n; i++)
        found->id.at[kept[i] - found->r->all.at] = 0;
    *out_dropped = (uint32_t)(found->id.n - n);
    code = code ? code : sqlite3_prepare_v2(d->sql, "DELETE FROM record WHERE id = ?", -1, &s, NULL);
    code = code ? code : drop_rows(s, found->id.n, found->id.at);
    code = code ? code : drop_rows(s, found->damaged.n, found->damaged.at);
    tn_status st = code ? fail(d, code) : TN_OK;
    sqlite3_finalize(s);
    return st;
}

static tn_status prune(tn_ctx *ctx, const tn_record_place *p, uint32_t keep, uint32_t *out_dropped)
{
    tn_records r;
    rows found = {.r = &r};
    uint32_t dropped = 0;
    tn_records_init(&r);
    database *d = new_database(ctx, p->records, TN_ERROR, true);
    tn_status st = begin(p, d);
    st = st == TN_OK ? read_rows(d, NULL, &found) : st;
    st = st == TN_OK ? drop_slow(d, keep, &found, &dropped) : st;
    st = st == TN_OK ? run(d, "COMMIT") : st;
    free_database(d);
    *out_dropped = st == TN_OK ? dropped : 0;
    deinit_rows(&found);
    tn_records_deinit(&r);
    return st;
}

const tn_record_form tn_record_database = {read_database, append, prune};
