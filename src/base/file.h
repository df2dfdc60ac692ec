#ifndef TN_BASE_FILE_H
#define TN_BASE_FILE_H
/* Files: read-only mapping, and writing that leaves either the whole new file or the old state (base/output.h). */
#include "base/ctx.h"
#include "base/output.h"

typedef struct tn_file {
    const uint8_t *at;
    size_t n;
    tn_resource *mapping; /* NULL: there is none to end */
} tn_file;                /* n bytes; at != NULL even when n == 0 */

/* Maps `path` (a regular file). Errors: base-E001 (cannot open), base-E002 (not a regular file). */
TN_WARN_UNUSED tn_status tn_file_map(tn_ctx *ctx, const char *path, tn_file *out_file);
void tn_file_unmap(tn_file *f);
/* The pages of a mapping need not stay in memory: most of what was read is not read again. */
void tn_file_cool(const tn_file *f);

/* On failure `path` is as before. Errors: base-E003 (cannot write). */
TN_WARN_UNUSED tn_status tn_file_write(tn_ctx *ctx, const char *path, const void *data, size_t n);
/* Several that belong together: all or none. */
enum { TN_FILE_PARTS = 4 };
typedef struct tn_file_part {
    const char *path;
    const void *data;
    size_t n;
    void (*write)(void *user, tn_sink *out); /* what comes after the data, piece by piece; NULL: nothing */
    void *user;
} tn_file_part;
TN_WARN_UNUSED tn_status tn_files_write(tn_ctx *ctx, int n, const tn_file_part part[]);
/* A file that is read once and removed: written where it lies, without waiting for the disk. base-E003. */
TN_WARN_UNUSED tn_status tn_file_write_temporary(tn_ctx *ctx, const char *path, const void *data, size_t n);
/* The path of a file of that name in the cache folder, $XDG_CACHE_HOME/tenon or ~/.cache/tenon. False: there is no such
 * folder, TENON_CACHE=off forbids it, or the path is longer than `room` bytes. */
bool tn_cache_path(const char *name, char *out, size_t room);
/* The same of the data folder, $XDG_DATA_HOME/tenon or ~/.local/share/tenon, which nothing forbids. */
bool tn_data_path(const char *name, char *out, size_t room);
/* Makes the folders that the path of a file needs, for this user alone; whether that worked shows when it is opened. */
void tn_folders_make(const char *path);
/* TN_OK for err 0, else base-E003: cannot write `path`, for that reason. */
TN_WARN_UNUSED tn_status tn_file_report(tn_ctx *ctx, const char *path, int err);

#endif
