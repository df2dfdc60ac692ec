#ifndef TN_BASE_WIRE_TAR_H
#define TN_BASE_WIRE_TAR_H
/* ustar archives (POSIX.1-2017 pax) over a mapped file. No allocation.
 *
 * Reading: regular files; directories are stepped over; links and devices are errors. GNU headers, GNU long names
 * and the pax records path and size are understood, since tar(1) and Python write them; the ustar prefix field
 * is refused (a name must lie in one piece). Checksums and the end mark are demanded: a cut archive is an error.
 * Writing is in tar_write.c, so a reader need not link it; names over 100 bytes and sizes from 8 GiB on use pax
 * records.
 */
#include "base/buf.h"

typedef struct tn_tar {
    const uint8_t *data;
    size_t n, pos;
    const char *error;
    int done;
} tn_tar;
typedef struct tn_tar_entry {
    const char *name; /* name_n bytes, not NUL-terminated, never empty */
    size_t name_n;
    size_t offset; /* of the file's bytes in the archive, a multiple of 512 */
    const uint8_t *at;
    size_t n;
} tn_tar_entry;

tn_tar tn_tar_open(const void *data, size_t n);
int tn_tar_next(tn_tar *t, tn_tar_entry *out_entry); /* 1: an entry; 0: end, or t->error set */
/* 1: found, 0: absent, or *out_error set. Walks the whole archive: a name that occurs twice is an error. A leading
 * "./" in the archive is ignored. */
int tn_tar_find(const void *data, size_t n, const char *name, tn_tar_entry *out_entry,
                const char **out_error);

/* Writing: header and data appended to out, mode 0644, owner 0, mtime as given; deterministic.
 * name: not empty, without NUL. */
void tn_tar_add(tn_buf *out, const char *name, const void *data, size_t n, uint64_t mtime);
/* The same around n bytes that go another way: what stands before them, and what after. */
void tn_tar_begin(tn_buf *out, const char *name, size_t n, uint64_t mtime);
void tn_tar_fill(tn_buf *out, size_t n);
void tn_tar_end(tn_buf *out);

#endif
