#ifndef TN_BASE_WIRE_TAR_H
#define TN_BASE_WIRE_TAR_H
/* ustar archives (POSIX.1-2017 pax, ustar part), regular files only, over a mapped file. No allocation. */
#include "base/buf.h"

typedef struct tn_tar { const uint8_t *data; size_t n, pos; const char *error; } tn_tar;
typedef struct tn_tar_entry { const char *name; size_t name_n; size_t offset; const uint8_t *at; size_t n; } tn_tar_entry;

tn_tar tn_tar_open(const void *data, size_t n);
int tn_tar_next(tn_tar *t, tn_tar_entry *out_entry);            /* 1: an entry; 0: end, or t->error set */
int tn_tar_find(const void *data, size_t n, const char *name, tn_tar_entry *out_entry, const char **out_error);

/* Writing: header and data appended to out, mode 0644, owner 0, mtime as given; deterministic. */
void tn_tar_add(tn_buf *out, const char *name, const void *data, size_t n, uint64_t mtime);
void tn_tar_end(tn_buf *out);

#endif
