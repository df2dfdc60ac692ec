#ifndef TESTS_FAULTS_H
#define TESTS_FAULTS_H
/* Allocations that fail. The linker puts these functions in place of the allocator's in the test's executable
 * (--wrap in cmake/tests.cmake), so compiler and runtime meet them, under sanitizers too, and the C library
 * does not. The code generator, a shared object, asks faults_hook by way of tn_session_fail.
 *
 * Allocations are counted while faults.on. The one of number faults.at fails, once. A place is a chain of callers, in
 * which recursion counts once: faults_places lists the first allocation from each place that is new to the process. */
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FAULTS_DEPTH = 100, FAULTS_PLACES = 1 << 18 };

static struct {
    atomic_bool on, fired, listing;
    atomic_uint_fast64_t n;
    atomic_long live; /* made less freed since faults_begin, until faults_end */
    uint64_t at;      /* 0: none */
    pthread_mutex_t mutex;
    uint64_t known[FAULTS_PLACES]; /* a table of hashes */
    uint64_t first[FAULTS_PLACES]; /* while listing */
    size_t n_known, n_first;
} faults = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool faults_known(uint64_t hash)
{
    size_t i = hash % FAULTS_PLACES;
    while (faults.known[i] && faults.known[i] != hash)
        i = (i + 1) % FAULTS_PLACES;
    if (faults.known[i] || faults.n_known > FAULTS_PLACES / 2)
        return true;
    faults.known[i] = hash;
    faults.n_known++;
    return false;
}

static void faults_list(uint64_t number)
{
    void *caller[FAULTS_DEPTH];
    int n = backtrace(caller, FAULTS_DEPTH);
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < n; i++) {
        bool again = false;
        for (int k = 0; k < i && !again; k++)
            again = caller[k] == caller[i];
        if (!again)
            hash = (hash ^ (uintptr_t)caller[i]) * 1099511628211u;
    }
    pthread_mutex_lock(&faults.mutex);
    if (!faults_known(hash ? hash : 1))
        faults.first[faults.n_first++] = number;
    pthread_mutex_unlock(&faults.mutex);
}

static bool faults_hit(void)
{
    if (!atomic_load_explicit(&faults.on, memory_order_relaxed))
        return false;
    uint64_t number = atomic_fetch_add(&faults.n, 1) + 1;
    if (atomic_load_explicit(&faults.listing, memory_order_relaxed))
        faults_list(number);
    if (number != faults.at)
        return false;
    atomic_store(&faults.fired, true);
    errno = ENOMEM;
    return true;
}

/* What is in the executable meets the functions below. */
static inline bool faults_hook(void *user)
{
    extern char __executable_start, etext;
    (void)user;
    const char *caller = __builtin_return_address(0);
    return (caller < &__executable_start || caller >= &etext) && faults_hit();
}

/* Counts from now on; `at` 0: only that. */
static void faults_begin(uint64_t at)
{
    atomic_store(&faults.n, 0);
    atomic_store(&faults.live, 0);
    atomic_store(&faults.fired, false);
    faults.at = at;
    atomic_store(&faults.on, true);
}

static uint64_t faults_end(void)
{
    atomic_store(&faults.on, false);
    return atomic_load(&faults.n);
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *at, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void __real_free(void *at);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *at, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void __wrap_free(void *at);

static void *faults_made(void *at)
{
    if (at && atomic_load_explicit(&faults.on, memory_order_relaxed))
        atomic_fetch_add(&faults.live, 1);
    return at;
}

void *__wrap_malloc(size_t n) { return faults_hit() ? NULL : faults_made(__real_malloc(n)); }
void *__wrap_calloc(size_t n, size_t size)
{
    return faults_hit() ? NULL : faults_made(__real_calloc(n, size));
}
void *__wrap_realloc(void *at, size_t n)
{
    return faults_hit() ? NULL : at ? __real_realloc(at, n) : faults_made(__real_realloc(at, n));
}
void *__wrap_aligned_alloc(size_t align, size_t n)
{
    return faults_hit() ? NULL : faults_made(__real_aligned_alloc(align, n));
}
void __wrap_free(void *at)
{
    if (at && atomic_load_explicit(&faults.on, memory_order_relaxed))
        atomic_fetch_sub(&faults.live, 1);
    __real_free(at);
}

#endif
