/* Schedules that searches found before: read from files, looked up for kernels, and added to files. */
#include "driver/driver.h"

#include "base/wire/json.h"
#include "schedule/schedule.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---- */

/* A line of a log of the reference system, which names its parts by other keys. */
static bool is_foreign(const char *text, size_t n)
{
    const char *end = memchr(text, '\n', n);
    tn_json_doc doc = tn_json_read(text, end ? (size_t)(end - text) : n);
    bool is =
        tn_json_find(doc.root, "i") || tn_json_find(doc.root, "input") || tn_json_is(doc.root, TN_JSON_ARRAY);
    tn_json_free(&doc);
    return is;
}

tn_status tn_records_read(tn_build *b, const char *path)
{
    tn_file file;
    uint32_t line;
    TN_TRY(tn_file_map(b->ctx, path, &file));
    if (!b->has_records) {
        tn_records_init(&b->records);
        b->has_records = true;
        b->record_machine = tn_record_machine(&b->machine, &b->arena);
    }
    bool foreign = is_foreign((const char *)file.at, file.n);
    const char *wrong = foreign ? NULL : tn_records_parse(&b->records, (const char *)file.at, file.n, &line);
    tn_file_unmap(&file);
    const tn_loc loc = {.file = path, .line = wrong ? line : 0, .col = wrong ? 1 : 0};
    if (foreign)
        return tn_error(
            b->ctx, "driver-E161", &loc,
            "these are tuning records of TVM, which Tenon does not read yet; make new ones by `tune`");
    return wrong ? tn_error(b->ctx, "driver-E160", &loc, "no tuning record of Tenon: %s", wrong) : TN_OK;
}

tn_status tn_records_open(tn_build *b)
{
    return b->opt.tuning_records && *b->opt.tuning_records && !b->has_records
               ? tn_records_read(b, b->opt.tuning_records)
               : TN_OK;
}

/* ---- using ---- */

bool tn_records_apply(tn_build *b, const tn_func *f, tn_child *child, tn_sched *out)
{
    uint32_t line;
    const tn_record *r =
        b->has_records ? tn_records_find(&b->records, tn_func_workload(f), b->record_machine, 0) : NULL;
    if (!r)
        return false;
    tn_sched_init(out, f, &child->arena, &child->pool);
    if (tn_trace_replay(out, r->trace, strlen(r->trace), &line) != TN_DONE)
        return false;
    size_t n_diag = child->ctx.n_diag;
    bool sound = tn_func_verify(out->func) == TN_OK;
    tn_diag_rewind(&child->ctx, n_diag);
    if (!sound)
        return false;
    out->comment = tn_arena_printf(&child->arena, "record %s: %.4g us, the built-in schedule %.4g us",
                                   r->name, r->seconds * 1e6, r->built_in * 1e6);
    atomic_fetch_add(&b->n_recorded, 1);
    return true;
}

/* ---- adding ---- */

static int lock_whole(int fd)
{
    while (flock(fd, LOCK_EX))
        if (errno != EINTR)
            return errno;
    return 0;
}

/* Cuts off a last line without an end, whose writer was ended. 0 or errno. */
static int mend_end(int fd)
{
    struct stat s;
    char block[4096];
    if (fstat(fd, &s))
        return errno;
    for (off_t end = s.st_size; end > 0;) {
        size_t n = end < (off_t)sizeof block ? (size_t)end : sizeof block;
        if (pread(fd, block, n, end - (off_t)n) != (ssize_t)n)
            return EIO;
        for (; n > 0 && block[n - 1] != '\n'; n--)
            end--;
        if (n > 0)
            return end < s.st_size && ftruncate(fd, end) ? errno : 0;
    }
    return s.st_size && ftruncate(fd, 0) ? errno : 0;
}

static int add_line(int fd, const tn_buf *line)
{
    int error = lock_whole(fd);
    error = error ? error : mend_end(fd);
    if (error)
        return error;
    ssize_t n = write(fd, line->at, line->n);
    return n == (ssize_t)line->n ? 0 : n < 0 ? errno : ENOSPC;
}

tn_status tn_records_append(tn_ctx *ctx, const char *path, const tn_record *r)
{
    tn_buf line = {0};
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666), error = fd < 0 ? errno : 0;
    if (!error && r) {
        tn_record_print(r, &line);
        error = add_line(fd, &line);
    }
    tn_buf_deinit(&line);
    if (fd >= 0)
        close(fd); /* and the lock with it */
    return tn_file_report(ctx, path, error);
}
