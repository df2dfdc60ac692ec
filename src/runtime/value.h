#ifndef TNR_VALUE_H
#define TNR_VALUE_H
/* Counted values that handles refer to (value.c, of the family VALUE). Counts need no atomics: a value belongs to one
 * instance, which runs in one thread at a time. */
#include "runtime/instance.h"

struct tnr_value {
    uint32_t count;
    uint8_t kind;               /* enum tnr_value_kind */
    uint8_t class;              /* of the pool; LARGE: a block of its own */
    uint8_t code, bits;         /* TENSOR */
    uint32_t tag;               /* CONSTRUCTOR: its tag; CLOSURE: its function */
    uint32_t n;                 /* fields, captured values, dimensions */
    uint64_t bytes;             /* TENSOR, TEXT: of its contents */
    uint64_t room;              /* LARGE: of the block */
    tnr_value *next, *previous; /* free or being freed: the next one; LARGE: neighbours in their list */
    struct tnr_value_pool *pool;
    /* fields; extents, then at a multiple of 64 the elements; the text and a 0 */
};

typedef struct tnr_value_pool {
    tnr_value *free[36]; /* by class */
    void *slab;          /* all slabs: each begins with a pointer to the next */
    tnr_value *large;    /* of one value each, and those that have none */
    tnr_value *spare;
    uint64_t slabs, used, spares, most; /* bytes of slabs, of large and spare; the most that large had */
} tnr_value_pool;

/* Frames with handles: what `to`'s slot held is dropped, then it holds what `from`'s does. */
void tnr_value_pass(tnr_frame *to, uint32_t to_slot, const tnr_frame *from, uint32_t from_slot);
/* The slot holds the value, which is the instance's, and whose reference it takes. */
void tnr_value_put(tnr_frame *frame, uint32_t slot, tnr_value *value);
/* All handles of a frame are dropped. */
void tnr_values_drop(tnr_frame *frame);
/* Main's handles before a run: the inputs alone; after it: the outputs are the instance's. fails TNR_E_CHECK */
void tnr_values_begin(tnr_instance *inst);
TNR_CHECKED tnr_status tnr_values_end(tnr_instance *inst, tnr_error *err);

#endif
