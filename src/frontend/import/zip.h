#ifndef TN_FRONTEND_IMPORT_ZIP_H
#define TN_FRONTEND_IMPORT_ZIP_H
/* Zip archives that hold models, read from a mapping. An entry that is stored as it is lies in the mapping and is not
 * copied. Every offset and size is checked; what all entries together unpack to is bounded. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"

#include <stdbool.h>

typedef struct imp_zip_entry {
    tn_bytes name, data; /* data: as the archive has them */
    size_t bytes;        /* unpacked */
    bool deflated;
} imp_zip_entry;

typedef struct imp_zip {
    imp_zip_entry *entry;
    size_t n;
    tn_strmap names; /* -> place in entry; of two entries of one name the last */
    size_t room;     /* bytes that may still be unpacked */
} imp_zip;

/* What is wrong with the archive; NULL: nothing. In both cases imp_zip_close ends it. */
const char *imp_zip_open(tn_arena *a, tn_bytes whole, imp_zip *out);
void imp_zip_close(imp_zip *z);
const imp_zip_entry *imp_zip_find(const imp_zip *z, const char *name); /* NULL: none */
/* The bytes of an entry: of the mapping, or unpacked into the arena. NULL, or what is wrong. */
const char *imp_zip_read(tn_arena *a, imp_zip *z, const imp_zip_entry *e, tn_bytes *out);
/* Is there an entry whose name ends so? For telling formats apart; allocates nothing. */
bool imp_zip_holds(const uint8_t *at, size_t n, const char *suffix);

#endif
