#ifndef TN_BASE_WIRE_ZIP_H
#define TN_BASE_WIRE_ZIP_H
/* Zip archives (APPNOTE 6.3, Zip64 included) over a mapped file: where the bytes of a member lie, so that what is
 * stored need not be copied. The directory at the end counts; each offset and size is checked. No allocation. */
#include "base/buf.h"

#include <stdbool.h>

enum tn_zip_method { TN_ZIP_STORED = 0, TN_ZIP_DEFLATED = 8 };

typedef struct tn_zip_entry {
    tn_bytes name;
    uint16_t method;
    uint64_t bytes; /* unpacked, as the directory claims */
    tn_bytes data;  /* as it lies in the file; at NULL: the member is encrypted or damaged */
} tn_zip_entry;

typedef struct tn_zip {
    const uint8_t *at;
    size_t n, pos, end; /* of the directory */
    uint64_t left;      /* entries to come */
    const char *error;  /* static text; NULL: sound so far */
} tn_zip;

tn_zip tn_zip_open(const void *data, size_t n);
bool tn_zip_next(tn_zip *z, tn_zip_entry *out); /* false: the end, or z->error set */

#endif
