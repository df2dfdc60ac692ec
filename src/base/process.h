#ifndef TN_BASE_PROCESS_H
#define TN_BASE_PROCESS_H
/* Processes that the compiler waits for: programs, and a copy of itself for work that may fail in ways that end a
 * process. Each leads a process group, which is killed when the call that waits for it is ended early, or when this
 * process is about to end (tn_processes_kill). */
#include "base/buf.h"
#include "base/guard.h"

/* Runs a program, its standard output in a file (NULL: ours). Returns errno of the start, or 0 and *out_status as
 * waitpid gives it. */
int tn_process_run(const char *const argv[], const char *output, int *out_status);

typedef struct tn_process_work {
    /* Called in the child, with a descriptor to write what comes back to. */
    void (*fn)(void *user, int fd);
    void *user;
    uint64_t memory_bytes; /* that the child may have beyond what this process has; 0: no limit */
} tn_process_work;
/* Runs work in a child process, a copy of this one with this thread alone, without standard error. What it writes is
 * added to out, also if it fails. Results as above. */
int tn_process_call(const tn_process_work *work, tn_buf *out, int *out_status);

/* Begins work in a child process and does not wait for it: *out_fd is a stream socket to its fd, from which
 * nothing more can be read when it has ended. The result owns the socket, and its end kills the child. NULL:
 * errno in *out_error. */
tn_resource *tn_process_begin(const tn_process_work *work, int *out_fd, int *out_error);

/* For a process that is about to end. Safe in a signal handler. */
void tn_processes_kill(void);

#endif
