#ifndef TN_BASE_WIRE_HDF5_H
#define TN_BASE_WIRE_HDF5_H
/* HDF5 files, read where they lie (the HDF5 File Format Specification, version 3): superblocks 0 to 3, groups of both
 * generations, attributes, and datasets that are contiguous, compact or in chunks. What a dataset of weights does
 * without is refused by name: links into other files, committed types, compound types, filters other than deflate,
 * shuffle and Fletcher's checksum.
 *
 * Every address, count and size is checked against the file before it is used; no walk visits more of the file than
 * it holds, and all together visit a fixed number of times that. Nothing is copied but the data of chunks, of numbers
 * whose bytes stand the other way round, and tables of names. All calls return false (or an absent value) after a
 * fault and leave the first one in `error`, a static text. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"

#include <stdbool.h>

enum { TN_HDF5_RANK = 8 };

typedef struct tn_hdf5 {
    const uint8_t *at; /* from the base address on */
    size_t n;
    const char *error; /* what is wrong with the file, or what in it is not supported; NULL: nothing yet */
    /* zlib's format; false: damaged, or another size. NULL: compressed chunks are refused. */
    bool (*inflate)(tn_bytes from, void *to, size_t n);
    tn_arena *arena;
    uint64_t root; /* the root group's object */
    int address_bytes, length_bytes;
    size_t work;   /* bytes looked at so far of what may be looked at again and again */
    tn_map groups; /* object -> tn_strmap *: name -> object, of groups that were looked into */
} tn_hdf5;

enum tn_hdf5_kind {
    TN_HDF5_INT,
    TN_HDF5_UINT,
    TN_HDF5_FLOAT,
    TN_HDF5_BFLOAT,
    TN_HDF5_TEXT,     /* of `bytes` bytes */
    TN_HDF5_LONG_TEXT /* of any length */
};

typedef struct tn_hdf5_type {
    enum tn_hdf5_kind kind;
    size_t bytes;
    bool big_endian;
} tn_hdf5_type;

typedef struct tn_hdf5_array { /* an attribute or a dataset */
    tn_hdf5_type type;
    int ndim;
    int64_t dim[TN_HDF5_RANK];
    size_t count;  /* elements; 0 also where there is no space for any */
    tn_bytes data; /* in the file; n 0: the dataset's must be read */
} tn_hdf5_array;

/* false: this is no HDF5 file, or its head is damaged. tables live in the arena; `tn_hdf5_close` frees the rest. */
bool tn_hdf5_open(tn_hdf5 *h, tn_arena *a, const uint8_t *at, size_t n);
void tn_hdf5_close(tn_hdf5 *h);
/* The object at a path of names with "/" between them, below a group; 0: there is none, or a fault. */
uint64_t tn_hdf5_find(tn_hdf5 *h, uint64_t group, tn_bytes path);
/* The links of a group; NULL: it has none, or a fault. */
const tn_strmap *tn_hdf5_links(tn_hdf5 *h, uint64_t group);
bool tn_hdf5_attribute(tn_hdf5 *h, uint64_t object, const char *name, tn_hdf5_array *out);
/* Element i of an array of texts; at NULL: a fault. */
tn_bytes tn_hdf5_text(tn_hdf5 *h, const tn_hdf5_array *a, size_t i);
/* A dataset; false: the object is none, or a fault. Its elements take count * type.bytes bytes. */
bool tn_hdf5_dataset(tn_hdf5 *h, uint64_t object, tn_hdf5_array *out);
/* The elements of a dataset to `to`, in the machine's order of bytes. */
bool tn_hdf5_read(tn_hdf5 *h, uint64_t object, const tn_hdf5_array *a, void *to);

#endif
