/* Where newer HDF5 files keep many links or attributes: objects in a fractal heap, and a B-tree of version 2 that has
 * their places. The tree is walked in the order of its nodes, which is that of hashes of names. */
#include "base/wire/hdf5_parts.h"

#include <string.h>

enum { DEEPEST = 16 };

/* ---- fractal heaps ---- */

typedef struct heap {
    tn_hdf5 *h;
    int offset_bytes, length_bytes; /* of a place */
    uint64_t width, first,
        largest; /* blocks a row; bytes of the first rows' blocks, and of the largest direct block */
    uint64_t root;
    uint64_t rows; /* of the root; 0: it is a direct block */
} heap;

static int log2_of(uint64_t v) { return v ? 63 - __builtin_clzll(v) : 0; }
static bool is_power(uint64_t v) { return v && (v & (v - 1)) == 0; }

static bool open_heap(tn_hdf5 *h, uint64_t address, heap *out)
{
    hdf5_cursor c = hdf5_from(h, address);
    *out = (heap){.h = h};
    if (!hdf5_expect(&c, "FRHP") || hdf5_take(&c, 1) != 0)
        return hdf5_fault(h, "a heap is damaged");
    hdf5_skip(&c, 2);
    uint64_t filters = hdf5_take(&c, 2);
    hdf5_skip(&c, 1);
    uint64_t most = hdf5_take(&c, 4);
    hdf5_skip(&c, 10 * (uint64_t)h->length_bytes + 2 * (uint64_t)h->address_bytes);
    out->width = hdf5_take(&c, 2);
    out->first = hdf5_length(h, &c);
    out->largest = hdf5_length(h, &c);
    uint64_t bits = hdf5_take(&c, 2);
    hdf5_skip(&c, 2);
    out->root = hdf5_address(h, &c);
    out->rows = hdf5_take(&c, 2);
    out->offset_bytes = (int)((bits + 7) / 8);
    int by_block = (log2_of(out->largest) + 7) / 8, by_object = log2_of(most) / 8 + 1;
    out->length_bytes = by_block < by_object ? by_block : by_object;
    bool sound = !c.bad && is_power(out->width) && is_power(out->first) && is_power(out->largest) &&
                 out->first <= out->largest && out->largest <= UINT32_MAX && bits && bits <= 64 &&
                 out->rows <= 64;
    if (filters)
        return hdf5_fault(h, "a heap of names is compressed, which is not supported");
    return sound || hdf5_fault(h, "a heap is damaged");
}

/* The place of child `number` in an indirect block whose children of the first `direct` rows are direct blocks. */
static uint64_t child_of(const heap *p, uint64_t block, uint64_t number)
{
    hdf5_cursor c = hdf5_from(p->h, block);
    bool marked = hdf5_expect(&c, "FHIB");
    hdf5_skip(&c, 1 + (uint64_t)p->h->address_bytes + (uint64_t)p->offset_bytes);
    hdf5_skip(&c, number * (uint64_t)p->h->address_bytes);
    uint64_t at = hdf5_address(p->h, &c);
    return marked && !c.bad ? at : HDF5_NOWHERE;
}

/* Rows of blocks of first, first, 2 first, 4 first, ... bytes, `width` in each; large ones are tables of the
 * same kind. */
static tn_bytes managed(const heap *p, uint64_t offset, uint64_t n)
{
    uint64_t block = p->root, rows = p->rows;
    for (int depth = 0; rows && depth < DEEPEST; depth++) {
        uint64_t row = 0, bytes = p->first;
        while (row < rows && offset >= bytes * p->width) {
            offset -= bytes * p->width;
            bytes = row ? 2 * bytes : bytes;
            if (++row >= rows || bytes > UINT64_MAX / 2 / p->width)
                return (tn_bytes){0};
        }
        block = child_of(p, block, row * p->width + offset / bytes);
        offset %= bytes;
        int deeper = log2_of(bytes) - log2_of(p->first * p->width) + 1;
        rows = bytes <= p->largest ? 0 : deeper > 0 ? (uint64_t)deeper : 0;
        if (bytes > p->largest && !rows)
            return (tn_bytes){0};
    }
    hdf5_cursor c = hdf5_from(p->h, block);
    bool marked = hdf5_expect(&c, "FHDB");
    c = hdf5_from(p->h, block);
    hdf5_skip(&c, offset);
    tn_bytes object = hdf5_cut(&c, n);
    return marked && !rows ? object : (tn_bytes){0};
}

/* The object that a place names; at NULL: reported. */
static tn_bytes object_at(const heap *p, hdf5_cursor id)
{
    uint64_t kind = hdf5_take(&id, 1);
    tn_bytes object = {0};
    if ((kind >> 4 & 3) == 0) {
        uint64_t offset = hdf5_take(&id, p->offset_bytes < 8 ? p->offset_bytes : 8);
        uint64_t n = hdf5_take(&id, p->length_bytes);
        object = id.bad ? object : managed(p, offset, n);
    } else if ((kind >> 4 & 3) == 2) {
        object = hdf5_cut(&id, (kind & 15) + 1);
    } else {
        (void)hdf5_fault(p->h, "an attribute is too large for its heap, which is not supported");
    }
    if (!object.at)
        (void)hdf5_fault(p->h, "a heap is damaged");
    return object;
}

/* ---- B-trees of version 2 ---- */

typedef struct tree {
    tn_hdf5 *h;
    uint64_t node_bytes, record_bytes;
    int count_bytes;          /* of the number of records in a child */
    int total_bytes[DEEPEST]; /* of the number below a child, by the child's depth */
    uint64_t left;            /* nodes and records that may still be visited */
    const heap *objects;
    size_t id_at;
    bool (*fn)(void *user, tn_bytes object);
    void *user;
} tree;

static int bytes_for(uint64_t v) { return log2_of(v) / 8 + 1; }

/* How many records the nodes of each depth can have says how wide the counts in their parents are. */
static bool measure(tree *t, uint64_t depth)
{
    uint64_t most = (t->node_bytes - 10) / t->record_bytes, below = most;
    t->count_bytes = bytes_for(most);
    for (uint64_t d = 1; d <= depth; d++) {
        uint64_t pointer =
            (uint64_t)t->h->address_bytes + (uint64_t)t->count_bytes + (uint64_t)t->total_bytes[d - 1];
        if (t->node_bytes < 10 + pointer)
            return false;
        most = (t->node_bytes - 10 - pointer) / (t->record_bytes + pointer);
        if (__builtin_mul_overflow(most + 1, below, &below) || __builtin_add_overflow(below, most, &below))
            return false;
        t->total_bytes[d] = bytes_for(below);
    }
    return true;
}

static bool visit_records(tree *t, hdf5_cursor *c, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        tn_bytes record = hdf5_cut(c, t->record_bytes);
        if (!record.at)
            return hdf5_fault(t->h, "a tree of names is cut short");
        hdf5_cursor id = hdf5_over(record);
        hdf5_skip(&id, t->id_at);
        tn_bytes object = object_at(t->objects, id);
        if (!object.at || !t->fn(t->user, object))
            return false;
    }
    return true;
}

/* Depth: of the tree, at most DEEPEST. */
static bool visit(tree *t, uint64_t address, uint64_t n, int depth)
{
    hdf5_cursor c = hdf5_from(t->h, address);
    if (n >= t->left || !hdf5_expect(&c, depth ? "BTIN" : "BTLF"))
        return hdf5_fault(t->h, "a tree of names is damaged");
    t->left -= n + 1;
    hdf5_skip(&c, 2);
    if (!visit_records(t, &c, n))
        return false;
    for (uint64_t i = 0; depth && i <= n; i++) {
        uint64_t child = hdf5_address(t->h, &c), count = hdf5_take(&c, t->count_bytes);
        hdf5_skip(&c, depth > 1 ? (uint64_t)t->total_bytes[depth - 1] : 0);
        if (c.bad)
            return hdf5_fault(t->h, "a tree of names is cut short");
        if (!visit(t, child, count, depth - 1))
            return false;
    }
    return true;
}

bool hdf5_each_dense(tn_hdf5 *h, const hdf5_dense *d, size_t id_at, bool (*fn)(void *user, tn_bytes object),
                     void *user)
{
    hdf5_cursor c = hdf5_from(h, d->names);
    heap objects;
    if (!open_heap(h, d->heap, &objects))
        return false;
    tree t = {.h = h, .objects = &objects, .id_at = id_at, .fn = fn, .user = user, .left = h->n};
    bool marked = hdf5_expect(&c, "BTHD");
    hdf5_skip(&c, 2);
    t.node_bytes = hdf5_take(&c, 4);
    t.record_bytes = hdf5_take(&c, 2);
    uint64_t depth = hdf5_take(&c, 2);
    hdf5_skip(&c, 2);
    uint64_t root = hdf5_address(h, &c), n = hdf5_take(&c, 2);
    bool sound = marked && !c.bad && t.record_bytes && t.node_bytes > 10 && depth < DEEPEST;
    if (!sound || !measure(&t, depth))
        return hdf5_fault(h, "a tree of names is damaged");
    return root == HDF5_NOWHERE || visit(&t, root, n, (int)depth);
}
