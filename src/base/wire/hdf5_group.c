/* Groups of HDF5 files: names of objects. Older files have a B-tree of version 1 over tables of symbols, and
 * the names in a local heap; newer ones have messages, or a fractal heap of them. */
#include "base/wire/hdf5_parts.h"

#include <string.h>

enum { LONGEST = 4096, DEEPEST = 32 };

typedef struct listing {
    tn_hdf5 *h;
    tn_strmap *names;
    tn_bytes heap; /* older groups: the names */
    uint64_t left; /* links that may still follow: no file has more than its size lets it */
} listing;

static bool add(listing *l, tn_bytes name, uint64_t object)
{
    if (!l->left-- || !name.n || name.n > LONGEST)
        return hdf5_fault(l->h, "the names in a group are damaged");
    tn_strmap_put(l->names, (const char *)name.at, name.n, object);
    return true;
}

/* ---- older groups ---- */

static bool add_symbols(listing *l, uint64_t address)
{
    tn_hdf5 *h = l->h;
    hdf5_cursor c = hdf5_from(h, address);
    bool marked = hdf5_expect(&c, "SNOD");
    hdf5_skip(&c, 2);
    uint64_t n = hdf5_take(&c, 2);
    if (!l->left--)
        return hdf5_fault(h, "the symbols of a group are damaged");
    for (uint64_t i = 0; i < n && marked; i++) {
        uint64_t name = hdf5_length(h, &c), object = hdf5_address(h, &c), cached = hdf5_take(&c, 4);
        hdf5_skip(&c, 20);
        const uint8_t *at = l->heap.at + (name < l->heap.n ? name : 0);
        size_t room = name < l->heap.n ? l->heap.n - (size_t)name : 0;
        const uint8_t *end = !c.bad && room ? memchr(at, 0, room <= LONGEST ? room : LONGEST + 1) : NULL;
        if (!end)
            return hdf5_fault(h, "the names in a group are damaged");
        if (cached != 2 && !add(l, (tn_bytes){at, (size_t)(end - at)}, object)) /* 2: a link by name */
            return false;
    }
    return marked || hdf5_fault(h, "the symbols of a group are damaged");
}

/* Levels count down, so depth is bounded; what is visited twice is counted by `left`. */
static bool add_tree(listing *l, uint64_t address, int level)
{
    tn_hdf5 *h = l->h;
    hdf5_cursor c = hdf5_from(h, address);
    bool marked = hdf5_expect(&c, "TREE") && hdf5_take(&c, 1) == 0;
    int at = (int)hdf5_take(&c, 1);
    uint64_t n = hdf5_take(&c, 2);
    if (!marked || !l->left-- || at > DEEPEST || (level >= 0 && at != level))
        return hdf5_fault(h, "the tree of a group is damaged");
    hdf5_skip(&c, 2 * (uint64_t)h->address_bytes);
    for (uint64_t i = 0; i < n; i++) {
        hdf5_skip(&c, (uint64_t)h->length_bytes);
        uint64_t child = hdf5_address(h, &c);
        if (c.bad)
            return hdf5_fault(h, "the tree of a group is cut short");
        if (at ? !add_tree(l, child, at - 1) : !add_symbols(l, child))
            return false;
    }
    return true;
}

static bool add_old(listing *l, tn_bytes message)
{
    tn_hdf5 *h = l->h;
    hdf5_cursor c = hdf5_over(message);
    uint64_t tree = hdf5_address(h, &c), names = c.bad ? HDF5_NOWHERE : hdf5_address(h, &c);
    hdf5_cursor heap = hdf5_from(h, names);
    bool marked = hdf5_expect(&heap, "HEAP");
    hdf5_skip(&heap, 4);
    uint64_t bytes = hdf5_length(h, &heap);
    hdf5_skip(&heap, (uint64_t)h->length_bytes);
    hdf5_cursor data = hdf5_from(h, hdf5_address(h, &heap));
    l->heap = hdf5_cut(&data, bytes);
    if (!marked || heap.bad || !l->heap.at)
        return hdf5_fault(h, "the names of a group are damaged");
    return add_tree(l, tree, -1);
}

/* ---- newer groups ---- */

static bool add_link(void *user, tn_bytes message)
{
    listing *l = user;
    hdf5_cursor c = hdf5_over(message);
    uint64_t version = hdf5_take(&c, 1), flags = hdf5_take(&c, 1), kind = flags & 8 ? hdf5_take(&c, 1) : 0;
    hdf5_skip(&c, (flags & 4 ? 8 : 0) + (flags & 16 ? 1 : 0));
    tn_bytes name = hdf5_cut(&c, hdf5_take(&c, 1 << (flags & 3)));
    uint64_t object = kind == 0 ? hdf5_address(l->h, &c) : 0;
    if (c.bad || version != 1)
        return hdf5_fault(l->h, "a link of a group is damaged");
    return kind != 0 || add(l, name, object);
}

static bool add_dense(listing *l, tn_bytes message)
{
    hdf5_cursor c = hdf5_over(message);
    hdf5_skip(&c, 1);
    hdf5_skip(&c, hdf5_take(&c, 1) & 1 ? 8 : 0);
    hdf5_dense d = {hdf5_address(l->h, &c), HDF5_NOWHERE};
    d.names = hdf5_address(l->h, &c);
    if (c.bad)
        return hdf5_fault(l->h, "the links of a group are damaged");
    return d.heap == HDF5_NOWHERE || hdf5_each_dense(l->h, &d, 4, add_link, l);
}

static bool list(listing *l, uint64_t group)
{
    hdf5_message m;
    hdf5_walk w;
    if (!hdf5_walk_begin(&w, l->h, group))
        return false;
    while (hdf5_walk_next(&w, &m)) {
        if (m.type == HDF5_SYMBOL_TABLE && !add_old(l, m.data))
            return false;
        if (m.type == HDF5_LINK && !add_link(l, m.data))
            return false;
        if (m.type == HDF5_LINK_INFO && !add_dense(l, m.data))
            return false;
    }
    return !l->h->error;
}

/* ---- looking up ---- */

const tn_strmap *tn_hdf5_links(tn_hdf5 *h, uint64_t group)
{
    uint64_t known;
    if (h->error)
        return NULL;
    if (tn_map_get(&h->groups, group, &known))
        return (const tn_strmap *)(uintptr_t)known;
    tn_strmap *names = TN_NEW(h->arena, tn_strmap);
    tn_map_put(&h->groups, group, (uint64_t)(uintptr_t)names);
    listing l = {.h = h, .names = names, .left = h->n / 8};
    return list(&l, group) ? names : NULL;
}

uint64_t tn_hdf5_find(tn_hdf5 *h, uint64_t group, tn_bytes path)
{
    const char *at = (const char *)path.at, *end = at + path.n;
    while (at < end && group) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        size_t n = (size_t)((slash ? slash : end) - at);
        const tn_strmap *names = n ? tn_hdf5_links(h, group) : NULL;
        if (n && (!names || !tn_strmap_get(names, at, n, &group)))
            return 0;
        at += n + (slash ? 1 : 0);
    }
    return group;
}
