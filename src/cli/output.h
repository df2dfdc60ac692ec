#ifndef TN_CLI_OUTPUT_H
#define TN_CLI_OUTPUT_H
/* Output files that are written whole or not at all, and what happens to them when the user interrupts. */
#include <stdbool.h>
#include <stddef.h>

/* Writes through "<path>.<pid>-<n>.tmp" beside the file, synced and renamed; what is no regular file (a pipe,
 * a device) is written directly. Returns TN_EXIT_OK, or prints why not and returns TN_EXIT_ERROR; `path` is
 * then as before. */
int tn_output_write(const char *path, const void *data, size_t n);

/* From begin to end SIGINT, SIGTERM and SIGHUP remove the temporaries of `path` (NULL: none) and, with `private_tmp`, a
 * folder of the process that TMPDIR names meanwhile; then they end the process as they would have. One at a time. */
void tn_cleanup_begin(const char *path, bool private_tmp);
void tn_cleanup_end(void);

#endif
