#ifndef TN_CLI_OUTPUT_H
#define TN_CLI_OUTPUT_H
/* Output files that are written whole or not at all, and what happens to them when the user interrupts. */
#include "base/output.h"

#include <stdbool.h>

/* Returns TN_EXIT_OK, or prints why not and returns TN_EXIT_ERROR; what was at the place is then as before. */
int tn_output_write(const char *path, const void *data, size_t n);
/* Could the file be written? Asked before long work; what is at the place stays as it is. "-" could not. */
int tn_output_try(const char *path);
int tn_output_report(const char *path, int error); /* 0: TN_EXIT_OK; errno: printed, TN_EXIT_ERROR */

/* From begin to end SIGINT, SIGTERM and SIGHUP remove what is being written and, with `private_tmp`, a folder of the
 * process that TMPDIR names meanwhile; then they end the process as they would have. One at a time. */
void tn_cleanup_begin(bool private_tmp);
void tn_cleanup_end(void);

#endif
