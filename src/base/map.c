/* Hash maps: entries in a dense array in order of insertion, and an open-addressed index of 1 + entry
 * number (0: free), linear probing, at most half full. Up to SMALL entries need no index: they are looked
 * through. There is no removal but tn_map_clear.
 *
 * Hash: words of 8 bytes, each mixed by a multiply and shifts (the finaliser of SplitMix64, Steele, Lea and
 * Flood 2014). It is not keyed: finding many keys that collide costs more than they slow the map down.
 */
#include "base/map.h"

#include "base/alloc.h"
#include "base/vec.h"

#include <string.h>

uint64_t tn_hash_u64(uint64_t a, uint64_t b)
{
    uint64_t z = (a ^ (b * 0x9E3779B97F4A7C15u)) + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t tn_hash_bytes(const void *p, size_t n, uint64_t seed)
{
    const uint8_t *s = p;
    uint64_t h = tn_hash_u64(seed, n);
    while (n) {
        size_t k = n < 8 ? n : 8;
        uint64_t w = 0;
        for (size_t i = 0; i < k; i++)
            w |= (uint64_t)s[i] << (8 * i); /* little-endian on every machine */
        h = tn_hash_u64(h, w);
        s += k;
        n -= k;
    }
    return h;
}

enum { SMALL = 8 };

/* Makes `index` large enough for one more entry; true if it was replaced by an empty one. */
static bool index_grow(uint32_t **index, size_t *nindex, size_t n)
{
    if (2 * (n + 1) <= *nindex || (!*nindex && n < SMALL))
        return false;
    size_t want = *nindex ? *nindex * 2 : 4 * SMALL;
    uint32_t *fresh = tn_alloc_array(n < UINT32_MAX ? want : SIZE_MAX, sizeof *fresh);
    tn_free(*index);
    *index = fresh;
    *nindex = want;
    return true;
}

/* nindex > 0 */
static void index_add(uint32_t *index, size_t nindex, uint64_t hash, size_t entry)
{
    size_t i = (size_t)hash & (nindex - 1);
    while (index[i])
        i = (i + 1) & (nindex - 1);
    index[i] = (uint32_t)entry + 1;
}

static uint64_t hash_key(uint64_t key) { return tn_hash_u64(key, 0); }

static uint64_t hash_str(const char *key, size_t len) { return tn_hash_bytes(key, len, 0); }

static tn_map_entry *map_find(const tn_map *m, uint64_t key)
{
    for (size_t i = 0; !m->nindex && i < m->n; i++)
        if (m->entry[i].key == key)
            return &m->entry[i];
    if (!m->nindex)
        return NULL;
    for (size_t i = (size_t)hash_key(key) & (m->nindex - 1); m->index[i]; i = (i + 1) & (m->nindex - 1)) {
        tn_map_entry *e = &m->entry[m->index[i] - 1];
        if (e->key == key)
            return e;
    }
    return NULL;
}

void tn_map_deinit(tn_map *m)
{
    tn_free(m->entry);
    tn_free(m->index);
    *m = (tn_map){0};
}

void tn_map_clear(tn_map *m)
{
    if (m->nindex)
        memset(m->index, 0, m->nindex * sizeof *m->index);
    m->n = 0;
}

void tn_map_put(tn_map *m, uint64_t key, uint64_t value)
{
    tn_map_entry *e = map_find(m, key);
    if (e) {
        e->value = value;
        return;
    }
    if (m->n == m->cap)
        m->entry = tn_vec_grow(m->entry, m->n, 1, &m->cap, sizeof *m->entry);
    if (index_grow(&m->index, &m->nindex, m->n))
        for (size_t i = 0; i < m->n; i++)
            index_add(m->index, m->nindex, hash_key(m->entry[i].key), i);
    if (m->nindex)
        index_add(m->index, m->nindex, hash_key(key), m->n);
    m->entry[m->n++] = (tn_map_entry){key, value};
}

bool tn_map_get(const tn_map *m, uint64_t key, uint64_t *out_value)
{
    const tn_map_entry *e = map_find(m, key);
    if (e)
        *out_value = e->value;
    return e != NULL;
}

static bool same_key(const tn_strmap_entry *e, const char *key, size_t len)
{
    return e->len == len && (len == 0 || memcmp(e->key, key, len) == 0);
}

static tn_strmap_entry *strmap_find(const tn_strmap *m, const char *key, size_t len)
{
    for (size_t i = 0; !m->nindex && i < m->n; i++)
        if (same_key(&m->entry[i], key, len))
            return &m->entry[i];
    if (!m->nindex)
        return NULL;
    for (size_t i = (size_t)hash_str(key, len) & (m->nindex - 1); m->index[i];
         i = (i + 1) & (m->nindex - 1)) {
        tn_strmap_entry *e = &m->entry[m->index[i] - 1];
        if (same_key(e, key, len))
            return e;
    }
    return NULL;
}

void tn_strmap_deinit(tn_strmap *m)
{
    tn_free(m->entry);
    tn_free(m->index);
    *m = (tn_strmap){0};
}

void tn_strmap_put(tn_strmap *m, const char *key, size_t len, uint64_t value)
{
    tn_strmap_entry *e = strmap_find(m, key, len);
    if (e) {
        e->value = value;
        return;
    }
    if (m->n == m->cap)
        m->entry = tn_vec_grow(m->entry, m->n, 1, &m->cap, sizeof *m->entry);
    if (index_grow(&m->index, &m->nindex, m->n))
        for (size_t i = 0; i < m->n; i++)
            index_add(m->index, m->nindex, hash_str(m->entry[i].key, m->entry[i].len), i);
    if (m->nindex)
        index_add(m->index, m->nindex, hash_str(key, len), m->n);
    m->entry[m->n++] = (tn_strmap_entry){key, len, value};
}

bool tn_strmap_get(const tn_strmap *m, const char *key, size_t len, uint64_t *out_value)
{
    const tn_strmap_entry *e = strmap_find(m, key, len);
    if (e)
        *out_value = e->value;
    return e != NULL;
}
