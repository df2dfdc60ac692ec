/* Records as lines of JSON, in one file or in the pair of files of MetaSchedule (tune/record.h, tune/database.h).
 *
 * Lines are added by one write under a lock of the file, so a writer that ends at any moment leaves a sound
 * file behind; pruning writes a new file, which takes the place of the old one. */
#include "driver/records.h"

#include "tune/database.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- reading ---- */

/* After the records are mapped: whoever adds to both adds the workloads first. */
static tn_status read_workloads(tn_ctx *ctx, const char *path, tn_records *r)
{
    tn_file file;
    TN_TRY(tn_file_map(ctx, path, &file));
    tn_database_parse_workloads(r, (const char *)file.at, file.n);
    tn_file_unmap(&file);
    return TN_OK;
}

static tn_status read_lines(tn_ctx *ctx, const tn_record_place *p, tn_records *r, const char *machine,
                            enum tn_severity severity)
{
    tn_file file;
    uint32_t line = 0;
    if (p->workloads && access(p->workloads, R_OK))
        return tn_report(
            ctx, severity, "driver-E189", &(tn_loc){.file = p->workloads},
            "the workloads of the records beside it cannot be read: %s; name a folder that `tune "
            "--work-dir` made",
            strerror(errno));
    TN_TRY(tn_file_map(ctx, p->records, &file));
    if (p->workloads && read_workloads(ctx, p->workloads, r) != TN_OK) {
        tn_file_unmap(&file);
        return TN_FAIL;
    }
    r->path = tn_arena_strdup(&r->arena, p->records);
    const char *wrong = tn_records_parse(r, (const char *)file.at, file.n, machine, &line);
    tn_file_unmap(&file);
    return tn_records_tell(ctx, p->records, r, wrong, line, severity);
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

/* The file that is at the path now: another one may take its place while the lock is waited for. */
int tn_record_lock(const char *path, int flags, tn_resource **out)
{
    for (;;) {
        struct stat mine, there;
        *out = tn_resource_new(close_file);
        int fd = open(path, flags | O_CLOEXEC, 0666), error = fd < 0 ? errno : 0;
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

static int open_locked(const char *path, tn_resource **out)
{
    return tn_record_lock(path, O_RDWR | O_APPEND | O_CREAT, out);
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
        tn_record_print_line(&r[i], lines);
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

static tn_status append_lines(tn_ctx *ctx, const tn_record_place *p, uint32_t n, const tn_record *r)
{
    tn_buf lines = {0};
    tn_resource *file;
    tn_status st = TN_OK;
    if (p->workloads)
        tn_folders_make(p->records);
    tn_buf_char(&lines, '\n');
    int error = open_locked(p->records, &file);
    if (!error && p->workloads)
        st = add_workloads(ctx, p->workloads, n, r, &lines);
    else
        print_plain(n, r, &lines);
    if (!error && st == TN_OK)
        error = add_text((int)file->n, lines.at, lines.n);
    tn_resource_end(file); /* and the lock with it */
    tn_buf_deinit(&lines);
    return st == TN_OK ? tn_file_report(ctx, p->records, error) : st;
}

/* ---- pruning ---- */

static void add_line(tn_buf *out, const char *line)
{
    tn_buf_str(out, line);
    tn_buf_char(out, '\n');
}

/* A file without any record is somebody else's, and stays. */
static tn_status prune_locked(tn_ctx *ctx, const tn_record_place *p, uint32_t keep, uint32_t *out_dropped)
{
    tn_records r;
    tn_buf lines = {0};
    size_t n;
    tn_records_init(&r);
    bool damaged = read_lines(ctx, p, &r, NULL, TN_WARNING) != TN_OK || ctx->n_diag;
    if (damaged && r.all.n + r.later.n == 0)
        return tn_error(ctx, "driver-E166", &(tn_loc){.file = p->records},
                        "no record of Tenon is in this file, which stays as it is; name a file of records");
    for (size_t i = 0; i < r.later.n; i++)
        add_line(&lines, r.later.at[i]);
    const tn_record **kept = tn_records_fastest(ctx, &r, keep, &n);
    for (size_t i = 0; i < n; i++)
        add_line(&lines, kept[i]->line);
    *out_dropped = (uint32_t)(r.all.n - n);
    return *out_dropped || damaged ? tn_file_write(ctx, p->records, tn_buf_cstr(&lines), lines.n) : TN_OK;
}

static tn_status prune_lines(tn_ctx *ctx, const tn_record_place *p, uint32_t keep, uint32_t *out_dropped)
{
    tn_resource *file;
    int error = open_locked(p->records, &file);
    tn_status st = error ? tn_file_report(ctx, p->records, error) : prune_locked(ctx, p, keep, out_dropped);
    tn_resource_end(file);
    return st;
}

const tn_record_form tn_record_lines = {read_lines, append_lines, prune_lines};
const tn_record_form tn_record_pair = {read_lines, append_lines, prune_lines};
