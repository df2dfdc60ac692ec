#ifndef TN_BASE_MAP_H
#define TN_BASE_MAP_H
/* Hash maps, scratch only: 64-bit keys (ids, pointers) or string keys, to a 64-bit value.
 *
 * Open addressing, insertion order kept: iteration over slot 0..n-1 visits entries in the order they
 * were first put, so nothing ever depends on hash or pointer order. String keys are not copied.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t key, value;
} tn_map_entry;
typedef struct tn_map {
    tn_map_entry *entry;
    uint32_t *index;
    size_t n, cap, nindex;
} tn_map;

void tn_map_deinit(tn_map *m);
void tn_map_clear(tn_map *m);
void tn_map_put(tn_map *m, uint64_t key, uint64_t value);            /* inserts or replaces */
bool tn_map_get(const tn_map *m, uint64_t key, uint64_t *out_value); /* false: absent, *out_value untouched */
static inline uint64_t tn_map_key(const void *p) { return (uint64_t)(uintptr_t)p; }

typedef struct {
    const char *key;
    size_t len;
    uint64_t value;
} tn_strmap_entry;
typedef struct tn_strmap {
    tn_strmap_entry *entry;
    uint32_t *index;
    size_t n, cap, nindex;
} tn_strmap;

void tn_strmap_deinit(tn_strmap *m);
void tn_strmap_put(tn_strmap *m, const char *key, size_t len, uint64_t value);
bool tn_strmap_get(const tn_strmap *m, const char *key, size_t len, uint64_t *out_value);

uint64_t tn_hash_bytes(const void *p, size_t n, uint64_t seed); /* stable across machines and runs */
uint64_t tn_hash_u64(uint64_t a, uint64_t b);                   /* mixes b into a */

#endif
