#ifndef TN_CLI_ZIP_H
#define TN_CLI_ZIP_H
/* Zip archives (APPNOTE 6.3) written from front to back, entries stored: no copy of what goes in, and the target may be
 * a pipe. The bytes depend on the entries alone; zip64 records are there only where sizes want them. */
#include "cli/output.h"

#include <stdint.h>

typedef struct tn_zip tn_zip;
typedef struct tn_zip_piece {
    const void *at;
    size_t n;
} tn_zip_piece;

tn_zip *tn_zip_new(tn_output *to); /* NULL: out of memory. `to` stays the caller's. */
/* An entry of n pieces; returns 0, or 1: out of memory. Errors of writing are the output's. */
int tn_zip_add(tn_zip *z, const char *name, int n, const tn_zip_piece piece[]);
void tn_zip_end(tn_zip *z); /* writes the directory, and frees; NULL: nothing */

#endif
