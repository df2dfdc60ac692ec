/* Blocks of heaps: malloc's or, in huge pages, mapped, each behind a header that links it into a ring of its heap.
 *
 * A heap has several rings, each under a lock of its own, because threads that work for one heap allocate at
 * once. Bytes are counted by ring and added up when a ring's count has moved by FLUSH. What is freed is
 * unlinked before it goes, so an unwinding at any moment finds whole rings. */
#include "base/alloc.h"

#include "base/guard.h"
#include "base/size.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 16, ALIGN_MORE = TN_LINE, FLUSH = 1 << 16, COLOURS = 7 };

typedef struct header {
    tn_block ring; /* prev NULL: in no heap */
    tn_shard *shard;
    uint64_t skip : 19;  /* from where it begins to the payload, in ALIGN */
    uint64_t mapped : 1; /* in huge pages, none of malloc's */
    uint64_t size : 44;  /* bytes of all */
} header;
_Static_assert(sizeof(header) % ALIGN == 0, "what follows a header is aligned");
_Static_assert(sizeof(header) <= TN_COLOUR, "a header lies before the first place in a page");
static const uint64_t MOST = UINT64_C(1) << 44; /* bytes of a block */

static header *head_of(void *at) { return (header *)at - 1; }

static void *start_of(header *h) { return (char *)(h + 1) - (size_t)h->skip * ALIGN; }

void tn_shard_lock(tn_shard *s)
{
    for (unsigned i = 0; atomic_exchange_explicit(&s->locked, true, memory_order_acquire); i++)
        if (i > 100)
            sched_yield();
}

void tn_shard_unlock(tn_shard *s) { atomic_store_explicit(&s->locked, false, memory_order_release); }

/* In the lock of s. */
static void count(tn_shard *s, int64_t bytes)
{
    s->counted += bytes;
    if (s->counted < FLUSH && s->counted > -FLUSH)
        return;
    atomic_fetch_add_explicit(&s->heap->bytes, s->counted, memory_order_relaxed);
    s->counted = 0;
}

static void insert(header *h, tn_shard *s)
{
    h->shard = s;
    if (!s)
        return;
    tn_shard_lock(s);
    h->ring = (tn_block){&s->blocks, s->blocks.next};
    h->ring.next->prev = s->blocks.next = &h->ring;
    count(s, (int64_t)h->size);
    tn_shard_unlock(s);
}

static void take_out(header *h)
{
    tn_shard *s = h->shard;
    if (!s)
        return;
    tn_shard_lock(s);
    h->ring.prev->next = h->ring.next;
    h->ring.next->prev = h->ring.prev;
    count(s, -(int64_t)h->size);
    tn_shard_unlock(s);
}

/* Limits, cancel and the tests' failure; false: that failure. May raise. */
static bool admit(tn_heap *h, size_t bytes)
{
    tn_poll();
    if (!h)
        return true;
    if (h->limits.memory_bytes) {
        int64_t used = atomic_load_explicit(&h->bytes, memory_order_relaxed);
        uint64_t all = bytes;
        if (used > 0 && __builtin_add_overflow(all, (uint64_t)used, &all))
            all = UINT64_MAX;
        if (all > h->limits.memory_bytes)
            tn_raise((tn_raised){.kind = TN_RAISED_MEMORY, .amount = h->limits.memory_bytes});
    }
    return !h->fail || !h->fail(h->fail_user);
}

/* `at` is what malloc gave for `bytes` in all, NULL: nothing. */
static void *adopt(void *at, size_t skip, size_t bytes, tn_shard *s)
{
    if (!at)
        return NULL;
    header *h = (header *)(void *)((char *)at + skip) - 1;
    *h = (header){.skip = (skip / ALIGN) & 0x7ffff, .size = bytes & (MOST - 1)};
    insert(h, s);
    return h + 1;
}

static tn_shard *shard_here(void)
{
    const tn_guard *g = tn_guard_get();
    return g ? g->shard : NULL;
}

_Noreturn static void out_of_memory(size_t bytes)
{
    tn_raise((tn_raised){.kind = TN_RAISED_OUT_OF_MEMORY, .amount = bytes});
}

void *tn_alloc(size_t bytes)
{
    size_t all;
    tn_shard *s = shard_here();
    bool fits = tn_size_add(bytes, sizeof(header), &all) && all < MOST;
    void *at = fits && admit(s ? s->heap : NULL, all) ? adopt(malloc(all), sizeof(header), all, s) : NULL;
    if (!at)
        out_of_memory(bytes);
    return at;
}

void *tn_alloc_array_try(size_t n, size_t size)
{
    size_t bytes, all;
    tn_shard *s = shard_here();
    bool fits = tn_size_mul(n, size, &bytes) && tn_size_add(bytes, sizeof(header), &all) && all < MOST;
    return fits && admit(s ? s->heap : NULL, all) ? adopt(calloc(1, all), sizeof(header), all, s) : NULL;
}

void *tn_alloc_array(size_t n, size_t size)
{
    void *at = tn_alloc_array_try(n, size);
    if (!at)
        out_of_memory(n > SIZE_MAX / (size ? size : 1) ? SIZE_MAX : n * size);
    return at;
}

static void *aligned_try(size_t bytes, tn_shard *s, bool apart)
{
    size_t all;
    bool fits = tn_size_add(bytes, sizeof(header) + ALIGN_MORE, &all) && all < MOST;
    char *at = fits && (apart || admit(s ? s->heap : NULL, all)) ? calloc(1, all) : NULL;
    size_t odd = ((uintptr_t)at + sizeof(header)) % ALIGN_MORE;
    return adopt(at, sizeof(header) + (ALIGN_MORE - odd) % ALIGN_MORE, all, s);
}

static size_t whole_huge_pages(size_t bytes)
{
    return (bytes + TN_HUGE_PAGE - 1) / TN_HUGE_PAGE * TN_HUGE_PAGE;
}

/* Fresh huge pages for so many bytes. (malloc's may be old ones, which are small.) What the last one has more is not
 * counted. */
static char *map_huge(size_t bytes)
{
    const size_t body = whole_huge_pages(bytes), all = body + TN_HUGE_PAGE;
    char *at = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    const size_t before = (TN_HUGE_PAGE - (uintptr_t)at % TN_HUGE_PAGE) % TN_HUGE_PAGE;
    if (before)
        (void)munmap(at, before);
    (void)munmap(at + before + body, TN_HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
    (void)madvise(at + before, body, MADV_HUGEPAGE); /* a hint */
#endif
    return at + before;
}

void *tn_alloc_aligned_try(size_t bytes) { return aligned_try(bytes, shard_here(), false); }

void *tn_alloc_huge_try(size_t bytes)
{
    tn_shard *s = shard_here();
    size_t all;
    if (bytes < TN_HUGE_FROM)
        return tn_alloc_aligned_try(bytes);
    unsigned turn = s ? atomic_fetch_add_explicit(&s->heap->n_huge, 1, memory_order_relaxed) : 0;
    const size_t skip = (1 + turn % COLOURS) * TN_COLOUR;
    bool fits = tn_size_add(bytes, skip, &all) && tn_size_align(all, TN_PAGE, &all) && all < MOST;
    char *at = fits && admit(s ? s->heap : NULL, all) ? map_huge(all) : NULL;
    if (!at)
        return NULL;
    header *h = (header *)(void *)(at + skip) - 1;
    *h = (header){.skip = (skip / ALIGN) & 0x7ffff, .mapped = 1, .size = all & (MOST - 1)};
    insert(h, s);
    return h + 1;
}

void *tn_alloc_apart_try(size_t bytes) { return aligned_try(bytes, NULL, true); }

void *tn_alloc_aligned(size_t bytes)
{
    void *at = tn_alloc_aligned_try(bytes);
    if (!at)
        out_of_memory(bytes);
    return at;
}

void *tn_realloc(void *at, size_t bytes)
{
    size_t all;
    if (!at)
        return tn_alloc(bytes);
    header *h = head_of(at);
    tn_shard *s = h->shard;
    bool fits = tn_size_add(bytes, sizeof *h, &all) && all < MOST;
    bool more = fits && all > h->size;
    if (!fits || start_of(h) != (void *)h || (more && !admit(s ? s->heap : NULL, all - h->size)))
        out_of_memory(bytes);
    take_out(h);
    void *moved = realloc(start_of(h), all);
    if (!moved) {
        insert(h, s);
        out_of_memory(bytes);
    }
    return adopt(moved, sizeof *h, all, s);
}

void tn_free(void *at)
{
    if (!at)
        return;
    header *h = head_of(at);
    take_out(h);
    if (h->mapped)
        (void)munmap(start_of(h), whole_huge_pages(h->size));
    else
        free(start_of(h));
}

void tn_disown(void *at)
{
    if (!at)
        return;
    take_out(head_of(at));
    head_of(at)->shard = NULL;
}

void tn_heap_init(tn_heap *h)
{
    memset(h, 0, sizeof *h);
    for (int i = 0; i < TN_SHARDS; i++) {
        tn_shard *s = &h->shard[i];
        s->blocks = (tn_block){&s->blocks, &s->blocks};
        s->heap = h;
    }
}

void tn_heap_limit(tn_heap *h, const tn_limits *limits)
{
    h->limits = *limits;
    h->deadline = limits->seconds > 0 ? tn_now() + limits->seconds : 0;
}

void tn_heap_end(tn_heap *h)
{
    while (h->resources)
        tn_resource_end(h->resources);
}

void tn_heap_free(tn_heap *h)
{
    tn_heap_end(h);
    for (int i = 0; i < TN_SHARDS; i++) {
        tn_block *end = &h->shard[i].blocks;
        while (end->next != end)
            tn_free((header *)(void *)end->next + 1);
    }
    tn_heap_init(h);
}
