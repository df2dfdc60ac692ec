#ifndef TN_BASE_POISON_H
#define TN_BASE_POISON_H
/* Memory that nothing may touch, for builds with AddressSanitizer: elsewhere these do nothing and the gap is empty. */
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define TN_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TN_POISONS 1
#endif
#endif

#ifdef TN_POISONS
#include <sanitizer/asan_interface.h>
enum { TN_POISON_GAP = 64 }; /* bytes behind each piece of a block */
static inline void tn_poison(const void *at, size_t n) { __asan_poison_memory_region(at, n); }
static inline void tn_unpoison(const void *at, size_t n) { __asan_unpoison_memory_region(at, n); }
#else
enum { TN_POISON_GAP = 0 };
static inline void tn_poison(const void *at, size_t n)
{
    (void)at;
    (void)n;
}
static inline void tn_unpoison(const void *at, size_t n)
{
    (void)at;
    (void)n;
}
#endif

#endif
