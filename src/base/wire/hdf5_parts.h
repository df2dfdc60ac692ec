#ifndef TN_BASE_WIRE_HDF5_PARTS_H
#define TN_BASE_WIRE_HDF5_PARTS_H
/* What the files of the HDF5 reader share: bounded cursors, messages of object headers, heaps and trees. */
#include "base/wire/hdf5.h"

#define HDF5_NOWHERE UINT64_MAX /* an address that is not defined */

typedef struct hdf5_cursor {
    const uint8_t *at, *end;
    bool bad; /* it went beyond its end: everything read from there on is 0 */
} hdf5_cursor;

static inline hdf5_cursor hdf5_over(tn_bytes b) { return (hdf5_cursor){b.at, b.at + b.n, false}; }
uint64_t hdf5_take(hdf5_cursor *c, int bytes); /* little-endian */
void hdf5_skip(hdf5_cursor *c, uint64_t bytes);
tn_bytes hdf5_cut(hdf5_cursor *c, uint64_t bytes); /* the next bytes; at NULL: beyond the end */
uint64_t hdf5_address(const tn_hdf5 *h, hdf5_cursor *c);
uint64_t hdf5_length(const tn_hdf5 *h, hdf5_cursor *c);
bool hdf5_expect(hdf5_cursor *c, const char *mark);
/* The file from an address on; bad: the address is outside. */
hdf5_cursor hdf5_from(const tn_hdf5 *h, uint64_t address);

/* Reports the first fault; always false. */
bool hdf5_fault(tn_hdf5 *h, const char *what);
/* Objects may share headers, texts and chunks; a file that makes much of little is refused. false: a fault. */
bool hdf5_work(tn_hdf5 *h, uint64_t bytes);

/* ---- object headers (hdf5.c) ---- */
enum hdf5_message_type {
    HDF5_DATASPACE = 1,
    HDF5_LINK_INFO = 2,
    HDF5_DATATYPE = 3,
    HDF5_FILL = 5,
    HDF5_LINK = 6,
    HDF5_EXTERNAL = 7,
    HDF5_LAYOUT = 8,
    HDF5_FILTERS = 11,
    HDF5_ATTRIBUTE = 12,
    HDF5_CONTINUATION = 16,
    HDF5_SYMBOL_TABLE = 17,
    HDF5_ATTRIBUTE_INFO = 21
};

typedef struct hdf5_message {
    uint32_t type;
    bool shared; /* it lies elsewhere */
    tn_bytes data;
} hdf5_message;

enum { HDF5_BLOCKS = 64 };
typedef struct hdf5_walk { /* over the messages of an object */
    tn_hdf5 *h;
    int version;
    bool ordered; /* version 2: messages have a number */
    hdf5_cursor block;
    tn_bytes next[HDF5_BLOCKS]; /* blocks to come */
    int n_next;
    size_t seen; /* bytes of all blocks */
} hdf5_walk;
bool hdf5_walk_begin(hdf5_walk *w, tn_hdf5 *h, uint64_t object);
bool hdf5_walk_next(hdf5_walk *w, hdf5_message *out); /* false: the end, or a fault */
bool hdf5_read_type(tn_hdf5 *h, tn_bytes message, tn_hdf5_type *out);
bool hdf5_read_space(tn_hdf5 *h, tn_bytes message, tn_hdf5_array *out);

/* ---- the newer groups' storage (hdf5_heap.c) ---- */
typedef struct hdf5_dense { /* what lies in a fractal heap, found through a B-tree of version 2 */
    uint64_t heap, names;
} hdf5_dense;
/* Calls fn for each object; id_at: where in a record of the tree its place in the heap stands. Ends where fn
 * returns false. */
bool hdf5_each_dense(tn_hdf5 *h, const hdf5_dense *d, size_t id_at, bool (*fn)(void *user, tn_bytes object),
                     void *user);

#endif
