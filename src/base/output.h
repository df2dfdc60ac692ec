#ifndef TN_BASE_OUTPUT_H
#define TN_BASE_OUTPUT_H
/* Output files that are there whole or not at all: the bytes go piece by piece to a temporary file beside the place,
 * which takes the place at the end. What a killed process left is removed by the next one that writes to the same
 * place. What is no regular file (a pipe, a device) is written directly.
 *
 * The process lists what it is writing. Whoever ends it (a signal) lets tn_outputs_drop remove that; from
 * then on no file is made or takes its place, so nothing is left whatever the moment.
 *
 * No context, no exit: errors are errno's numbers. */
#include "base/buf.h"
#include "base/guard.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct tn_output {
    int fd, error;           /* error: the first, which makes the file one that is not kept */
    int lock;                /* the temporary file, finished; -1: not yet, or none */
    bool durable;            /* the file is on the disk before it takes its place */
    char *place, *temporary; /* heap; temporary NULL: written directly */
} tn_output;

/* Returns 0 or an error; the output is closed only if it was opened. */
int tn_output_open(tn_output *o, const char *path);
/* A file that may get lost with the power, and that is for this user alone. */
int tn_output_open_private(tn_output *o, const char *path);
/* A new file that is read once and removed, by whoever asked for it: written where it lies. */
int tn_output_open_temporary(tn_output *o, const char *path);
void tn_output_add(tn_output *o, const void *data, size_t n); /* errors are found by finish */
/* All that was added is in the file, or returns why not. Nothing is added after this. */
int tn_output_finish(tn_output *o);
/* Lets n finished outputs take their places together, as far as signals can tell; with `keep` false, or where
 * one has an error, all are removed. Returns 0 or the first error. */
int tn_outputs_close(int n, tn_output *const o[], bool keep);

/* The release of a resource: the output that it holds is not kept. */
void tn_output_abandon(tn_resource *r);

/* Where bytes go, piece by piece: to an output, a buffer, or nowhere but into the count; into `sum` too, if
 * it is given. */
typedef struct tn_sink {
    tn_output *output;
    tn_buf *buf;
    struct tn_sha256 *sum;
    uint64_t n;
} tn_sink;
void tn_sink_add(tn_sink *s, const void *data, size_t n);

/* For a process that is about to end: its children end, too. Safe in a signal handler. */
void tn_outputs_drop(void);

#endif
