#ifndef TN_BASE_GUARD_H
#define TN_BASE_GUARD_H
/* Ending a public call early: exhausted memory, a limit, a cancel or a broken invariant raises, which unwinds to the
 * innermost tn_protect of the thread.
 *
 * Unwinding runs no code of the frames that it leaves. Memory is the heap's (base/alloc.h). Everything else
 * that must be given back (a mapping, a file, a folder, a process, somebody else's memory) is a tn_resource
 * of the heap. Whoever protects the public call frees the heap afterwards, on one thread, when all others
 * have ended. Nobody raises, so nobody allocates, while a lock is held or a frame of foreign code (LLVM, the
 * runtime) would be left: callbacks of such code run under a tn_protect of their own, and what they caught is
 * raised again when the foreign code has returned.
 *
 * The thread's innermost guard is the one thread-local variable of the compiler: neither an allocation nor a broken
 * invariant can be told where to go. */
#include "base/alloc.h"

#include <setjmp.h>

enum tn_raised_kind {
    TN_RAISED_NOTHING,
    TN_RAISED_OUT_OF_MEMORY,
    TN_RAISED_MEMORY, /* the limits, and the cancel, of tn_limits */
    TN_RAISED_SECONDS,
    TN_RAISED_NODES,
    TN_RAISED_CANCEL,
    TN_RAISED_BROKEN /* an invariant: TN_ASSERT */
};
typedef struct tn_raised {
    enum tn_raised_kind kind;
    uint64_t amount;  /* bytes asked for in vain, or the limit; of SECONDS in milliseconds */
    const char *text; /* BROKEN: the expression; static */
    const char *file; /* and its place; static */
    int line;
} tn_raised;

typedef struct tn_guard {
    struct tn_guard *outer;
    tn_heap *heap;
    tn_shard *shard;
    void *user; /* of tn_protect */
    uint32_t n_poll;
    tn_raised raised;
    jmp_buf jump;
} tn_guard;

/* Calls fn(user), with allocations from the heap (NULL: the thread's, as it is). Returns what was raised;
 * kind NOTHING: fn returned. What was allocated stays, either way. */
tn_raised tn_protect(tn_heap *heap, void (*fn)(void *user), void *user);
_Noreturn void tn_raise(tn_raised r);
/* Raises if the thread's heap is cancelled or out of time. Cheap (the clock is read now and then); allocation does it,
 * long loops without one should. */
void tn_poll(void);
void tn_poll_now(void);          /* reads the clock: for loops that sleep */
void tn_check_nodes(uint64_t n); /* raises if the graph may not have so many */

tn_guard *tn_guard_get(void); /* the thread's innermost; NULL: none */
/* A shared object with its own copy of base uses the variable of the program: it is told where that is, once. */
tn_guard **tn_guard_place(void);
void tn_guard_share(tn_guard **(*place)(void));

/* A thing that is not memory. It is made first, so that this cannot fail when the thing is there. */
typedef struct tn_resource {
    struct tn_resource *prev, *next;
    tn_heap *heap;
    void (*release)(struct tn_resource *r); /* called if `at` is not NULL; may not allocate */
    void *at;
    size_t n;
} tn_resource;
tn_resource *tn_resource_new(void (*release)(tn_resource *r));
void tn_resource_drop(tn_resource *r); /* the thing is gone, or another's; NULL is ignored */
/* It outlives its heap: whoever keeps it calls tn_resource_end, at any time. */
void tn_resource_keep(tn_resource *r);
void tn_resource_end(tn_resource *r); /* releases the thing; NULL is ignored */

double tn_now(void); /* seconds, monotonic */

#endif
