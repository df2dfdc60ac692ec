#ifndef TN_BASE_ARENA_H
#define TN_BASE_ARENA_H
/* Arena: bump allocation freed as a whole.
 *
 * An arena is named after a lifetime (module, pass scratch, candidate), never after a type. Memory it
 * hands out is zeroed, stays at its address, and dies with tn_arena_reset or tn_arena_deinit.
 * Allocation does not fail visibly: exhaustion (or an overflowing size) raises (base/guard.h). Not thread-safe: one
 * arena belongs to one thread at a time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_arena_block tn_arena_block;

typedef struct tn_arena {
    tn_arena_block *head; /* newest block */
    size_t used_bytes;    /* handed out since the last reset */
} tn_arena;

void tn_arena_init(tn_arena *a);
void tn_arena_reset(tn_arena *a);  /* frees all, keeps one block for reuse */
void tn_arena_deinit(tn_arena *a); /* frees all; the arena may be initialised again */

/* Zeroed storage aligned to `align` (a power of two, <= 64). bytes == 0 gives a unique non-NULL pointer. */
void *tn_arena_alloc(tn_arena *a, size_t bytes, size_t align);
/* n * size bytes, checked. */
void *tn_arena_array(tn_arena *a, size_t n, size_t size, size_t align);
void *tn_arena_copy(tn_arena *a, const void *src, size_t bytes, size_t align);
char *tn_arena_strndup(tn_arena *a, const char *s, size_t n); /* NUL-terminated */
char *tn_arena_strdup(tn_arena *a, const char *s);
char *tn_arena_printf(tn_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *tn_arena_vprintf(tn_arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#define TN_NEW(arena, T) ((T *)tn_arena_alloc((arena), sizeof(T), _Alignof(T)))
#define TN_NEW_N(arena, T, n) ((T *)tn_arena_array((arena), (n), sizeof(T), _Alignof(T)))

#endif
