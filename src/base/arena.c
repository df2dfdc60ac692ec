/* Arena: a list of zeroed blocks, newest first; the head serves small requests by bumping.
 *
 * Blocks grow from 4 KiB to 1 MiB. A request larger than a quarter of the next block gets a block of its
 * own behind the head, so it does not waste what is left of the head. Blocks come zeroed: storage
 * that was never handed out is zero, so tn_arena_reset clears only the part of the kept block that was used.
 * In builds with AddressSanitizer a gap that nothing may touch follows each piece of memory.
 */
#include "base/arena.h"

#include "base/guard.h"
#include "base/poison.h"
#include "base/size.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK_MIN = 4096, BLOCK_MAX = 1 << 20, ALIGN_MAX = 64 };

struct tn_arena_block {
    _Alignas(ALIGN_MAX) tn_arena_block *next;
    size_t size; /* payload bytes */
    size_t used;
};

static uint8_t *payload(tn_arena_block *b) { return (uint8_t *)(b + 1); }

_Noreturn static void out_of_memory(size_t bytes)
{
    tn_raise((tn_raised){.kind = TN_RAISED_OUT_OF_MEMORY, .amount = bytes});
}

static tn_arena_block *block_new(size_t size)
{
    size_t total;
    if (!tn_size_add(size, sizeof(tn_arena_block), &total))
        out_of_memory(SIZE_MAX);
    tn_arena_block *b = tn_alloc_aligned(total);
    b->size = size;
    return b;
}

void tn_arena_init(tn_arena *a) { *a = (tn_arena){0}; }

static void free_list(tn_arena_block *b)
{
    while (b) {
        tn_arena_block *next = b->next;
        tn_unpoison(payload(b), b->size);
        tn_free(b);
        b = next;
    }
}

void tn_arena_reset(tn_arena *a)
{
    tn_arena_block *b = a->head;
    a->used_bytes = 0;
    if (!b)
        return;
    free_list(b->next);
    b->next = NULL;
    tn_unpoison(payload(b), b->size);
    if (b->size > BLOCK_MAX) {
        tn_free(b);
        a->head = NULL;
        return;
    }
    memset(payload(b), 0, b->used);
    b->used = 0;
}

void tn_arena_deinit(tn_arena *a)
{
    free_list(a->head);
    a->head = NULL;
    a->used_bytes = 0;
}

/* A block with room for `bytes` at offset 0. */
static tn_arena_block *block_for(tn_arena *a, size_t bytes)
{
    size_t size = a->head ? a->head->size * 2 : BLOCK_MIN;
    size = size > BLOCK_MAX ? BLOCK_MAX : size;
    if (bytes <= size / 4) {
        tn_arena_block *b = block_new(size);
        b->next = a->head;
        a->head = b;
        return b;
    }
    tn_arena_block *b = block_new(bytes);
    if (a->head) {
        b->next = a->head->next;
        a->head->next = b;
    } else {
        a->head = b;
    }
    return b;
}

void *tn_arena_alloc(tn_arena *a, size_t bytes, size_t align)
{
    tn_arena_block *b = a->head;
    size_t whole = bytes ? bytes : 1;
    if (TN_POISON_GAP) { /* what may be touched ends anywhere, but begins at a word */
        align = align < 8 ? 8 : align;
        if (!tn_size_add(bytes, TN_POISON_GAP + 7, &whole))
            out_of_memory(bytes);
        whole &= ~(size_t)7;
    }
    size_t at = b ? (b->used + align - 1) & ~(align - 1) : 0;
    if (!b || at > b->size || whole > b->size - at) {
        b = block_for(a, whole);
        at = 0;
    }
    b->used = at + whole;
    a->used_bytes += bytes ? bytes : 1;
    if (TN_POISON_GAP)
        tn_poison(payload(b) + at + bytes, whole - bytes);
    return payload(b) + at;
}

void *tn_arena_array(tn_arena *a, size_t n, size_t size, size_t align)
{
    size_t bytes;
    if (!tn_size_mul(n, size, &bytes))
        out_of_memory(SIZE_MAX);
    return tn_arena_alloc(a, bytes, align);
}

void *tn_arena_copy(tn_arena *a, const void *src, size_t bytes, size_t align)
{
    void *p = tn_arena_alloc(a, bytes, align);
    if (bytes)
        memcpy(p, src, bytes);
    return p;
}

char *tn_arena_strndup(tn_arena *a, const char *s, size_t n)
{
    size_t bytes;
    if (!tn_size_add(n, 1, &bytes))
        out_of_memory(n);
    char *p = tn_arena_alloc(a, bytes, 1);
    if (n)
        memcpy(p, s, n);
    return p;
}

char *tn_arena_strdup(tn_arena *a, const char *s) { return tn_arena_strndup(a, s, strlen(s)); }

char *tn_arena_vprintf(tn_arena *a, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    size_t len = n < 0 ? 0 : (size_t)n;
    char *p = tn_arena_alloc(a, len + 1, 1);
    if (n > 0)
        vsnprintf(p, len + 1, fmt, again);
    va_end(again);
    return p;
}

char *tn_arena_printf(tn_arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *p = tn_arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}
