#ifndef TNR_VALUE_H
#define TNR_VALUE_H
/* Counted values that handles refer to (value.c, of the family VALUE). Counts need no atomics: a value belongs to one
 * instance, which runs in one thread at a time. */
#include "runtime/instance.h"

struct tnr_value {
    uint32_t count;
    uint8_t kind;               /* enum tnr_value_kind */
    uint8_t class;              /* of the pool: blocks of 64 << class bytes; LARGE: a block of its own */
    uint8_t code, bits;         /* TENSOR */
    uint32_t tag;               /* CONSTRUCTOR: its tag; CLOSURE: its function */
    uint32_t n;                 /* fields, captured values, dimensions */
    uint64_t bytes;             /* TENSOR, TEXT: of its contents */
    tnr_value *next, *previous; /* free or being freed: the next one; LARGE: neighbours of all */
    struct tnr_value_pool *pool;
    /* fields; extents, then at a multiple of 64 the elements; the text and a 0 */
};

typedef struct tnr_value_pool {
    tnr_value *free[11]; /* by class */
    void *slab;          /* all slabs: each begins with a pointer to the next */
    tnr_value *large;
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
