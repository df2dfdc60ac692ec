#ifndef TN_BASE_SIZE_H
#define TN_BASE_SIZE_H
/* Checked size arithmetic: every product or sum of extents goes through here.
 * Each returns false on overflow and leaves *out untouched. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes. Blocks of TN_HUGE_FROM and more lie in huge pages. Large blocks that would begin at one place of their pages
 * begin a few of TN_COLOUR apart: elements of one index would differ in the upper bits of their addresses alone, so
 * that loads wait for stores that have nothing to do with them (Intel 64 and IA-32 Architectures Optimization Reference
 * Manual, 4-KByte aliasing), and all fall into the same sets of the first cache (Bonwick 1994, "The Slab Allocator",
 * colouring). */
enum {
    TN_LINE = 64,
    TN_PAGE = 4096,
    TN_HUGE_PAGE = 2 << 20,
    TN_HUGE_FROM = 1 << 20,
    TN_COLOUR = 9 * TN_LINE
};

static inline bool tn_size_add(size_t a, size_t b, size_t *out)
{
    size_t r;
    return !__builtin_add_overflow(a, b, &r) && (*out = r, true);
}
static inline bool tn_size_mul(size_t a, size_t b, size_t *out)
{
    size_t r;
    return !__builtin_mul_overflow(a, b, &r) && (*out = r, true);
}
static inline bool tn_i64_add(int64_t a, int64_t b, int64_t *out)
{
    int64_t r;
    return !__builtin_add_overflow(a, b, &r) && (*out = r, true);
}
static inline bool tn_i64_sub(int64_t a, int64_t b, int64_t *out)
{
    int64_t r;
    return !__builtin_sub_overflow(a, b, &r) && (*out = r, true);
}
static inline bool tn_i64_mul(int64_t a, int64_t b, int64_t *out)
{
    int64_t r;
    return !__builtin_mul_overflow(a, b, &r) && (*out = r, true);
}
/* a rounded up to a multiple of align (> 0). */
static inline bool tn_size_align(size_t a, size_t align, size_t *out)
{
    size_t r;
    return tn_size_add(a, align - 1, &r) && (*out = r / align * align, true);
}
/* Floor division and modulo; b != 0; the remainder has the sign of b. */
static inline int64_t tn_floordiv(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}
static inline int64_t tn_floormod(int64_t a, int64_t b)
{
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

#endif
