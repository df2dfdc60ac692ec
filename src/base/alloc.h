#ifndef TN_BASE_ALLOC_H
#define TN_BASE_ALLOC_H
/* Heap memory of the compiler: every block, array and text outside of arenas, and the blocks of arenas.
 *
 * A block belongs to the heap that its thread works for (base/guard.h), which lists it: tn_heap_free frees whatever is
 * left, so code that is unwound needs no clean-up of its own for memory. Where a thread works for no heap (a
 * unit test), blocks belong to nobody and exhaustion ends the process.
 *
 * Allocation does not fail visibly: when memory is exhausted, or a limit of the heap is, it raises (base/guard.h). A
 * block may be resized and freed by any thread, and stays in the heap that it was made in. Memory of this kind is never
 * passed to free(), and none of malloc's to tn_free(). */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *tn_alloc(size_t bytes);                /* aligned to 16, not initialised; 0 bytes: a unique pointer */
void *tn_alloc_array(size_t n, size_t size); /* zeroed */
void *tn_alloc_aligned(size_t bytes);        /* aligned to 64, zeroed; cannot be resized */
/* NULL where memory is exhausted, for sizes that a user chose: the caller says what it was for. Limits raise. */
void *tn_alloc_array_try(size_t n, size_t size);
void *tn_alloc_aligned_try(size_t bytes);
/* The same, as the arena of a program lies in memory: one of TN_HUGE_FROM bytes and more in huge pages, and each next
 * one at another place of its pages (TN_COLOUR, base/size.h). */
void *tn_alloc_huge_try(size_t bytes);
/* The same in no heap, even where a public call is made by what another one calls back: what outlives calls. Never
 * raises. */
void *tn_alloc_apart_try(size_t bytes);
void *tn_realloc(void *at, size_t bytes); /* at NULL: a new block */
void tn_free(void *at);                   /* NULL is ignored */

void tn_disown(void *at); /* the block outlives its heap; NULL is ignored */

/* A list of blocks, locked for as long as a few instructions; threads have different ones, as far as that goes. */
typedef struct tn_block {
    struct tn_block *prev, *next;
} tn_block;
typedef struct tn_shard {
    _Alignas(64) atomic_bool locked;
    tn_block blocks; /* a ring */
    int64_t counted; /* bytes that tn_heap.bytes lacks */
    struct tn_heap *heap;
} tn_shard;
enum { TN_SHARDS = 8 };

/* What a public call may use. Zero: no limit. */
typedef struct tn_limits {
    uint64_t memory_bytes; /* in this heap */
    double seconds;        /* from tn_heap_limit on */
    uint64_t nodes;        /* of the graph at once */
    const int *cancel;     /* the call ends soon after this is not 0; other threads may set it */
} tn_limits;

typedef struct tn_heap {
    tn_shard shard[TN_SHARDS];
    struct tn_resource *resources; /* newest first; under the lock of shard 0 */
    _Atomic(int64_t) bytes;        /* alive, to within 64 KiB a shard */
    atomic_uint n_guard;           /* made until now, to share out the shards */
    atomic_uint n_huge; /* blocks in huge pages made until now: each begins at another place of a page */
    tn_limits limits;
    double deadline;          /* by tn_now; 0: none */
    bool (*fail)(void *user); /* for tests: asked at each allocation, which fails if it says so; NULL: none */
    void *fail_user;
} tn_heap;

void tn_shard_lock(tn_shard *s); /* for base/guard.c */
void tn_shard_unlock(tn_shard *s);

void tn_heap_init(tn_heap *h);
void tn_heap_limit(tn_heap *h, const tn_limits *limits); /* from now on */
void tn_heap_end(tn_heap *h); /* releases the resources, newest first; the blocks stay */
/* Then frees all blocks. The heap may be used again; its limits are gone. */
void tn_heap_free(tn_heap *h);

#endif
