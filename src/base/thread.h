#ifndef TN_BASE_THREAD_H
#define TN_BASE_THREAD_H
/* Threads of the compiler, and how many CPUs this process may use. No context, no exit: any folder may use it. */
#include <stdbool.h>
#include <stddef.h>

/* Calls fn(user, i, worker) once for every i < n, in any order, on at most `threads` threads; worker <
 * max(threads, 1) tells them apart. Indices are taken one at a time, so uneven work balances. Runs inline for
 * threads <= 1 or n <= 1, and with fewer threads where they cannot be started. Returns when all are done.
 *
 * Each call runs under a guard (base/guard.h) and allocates from the caller's heap. After one that raises no other
 * begins; when those that had begun have returned, what the one with the least index raised is raised again. */
void tn_parallel_for(size_t n, unsigned threads, void (*fn)(void *user, size_t i, unsigned worker),
                     void *user);

/* The same by threads that are all started for it, the caller only waits: a task may end in tn_thread_abandon, after
 * which no other begins. True: none did, and at least one thread could be started; else not all tasks are done. */
bool tn_parallel_apart(size_t n, unsigned threads, void (*fn)(void *user, size_t i, unsigned worker),
                       void *user);
/* For a task below frames of foreign code that would end the process. Its thread stays as it is for ever, and touches
 * nothing any more: to end it would run the destructors of the frames, and those of thread-local objects, on what
 * is half changed. It costs its stack and what the frames hold, so the caller sees to it that this is rare. */
_Noreturn void tn_thread_abandon(void);

/* CPUs this process may use: the affinity mask, cut to the cgroup quota (rounded up); at least 1. */
unsigned tn_cpu_count(void);

/* CPUs that the cgroup quota grants (v1 cpu.cfs_quota_us, v2 cpu.max; the smallest of all ancestors), may be
 * below 1; 0: no limit. proc_cgroup is "/proc/self/cgroup", root "/sys/fs/cgroup". */
double tn_cpu_quota(const char *proc_cgroup, const char *root);

/* The first room - 1 bytes of a small file of the system, NUL-terminated; false if it is empty or cannot be read. */
bool tn_cpu_text(const char *path, char *out, size_t room);

#endif
