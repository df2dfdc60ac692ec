#ifndef TNR_INSTANCE_H
#define TNR_INSTANCE_H
/* One executor at work. Used by one thread at a time.
 *
 *   given    what the caller set: inputs, outputs' memory (instance.c)
 *   bound    symbols and what follows from them: sizes, offsets, arena, output shapes (bind.c)
 *   running  addresses of all slots, then the walk over the program (run.c) */
#include "runtime/module.h"

typedef struct tnr_given {
    void *data; /* first element */
    uint64_t bytes;
    int64_t *shape; /* as many as the slot has dimensions */
    bool set;
} tnr_given;

typedef struct tnr_result {
    void *own; /* the instance's memory for it, if it is in neither the arena nor the caller's */
    uint64_t own_room;
    int64_t *shape; /* for the symbols bound */
    void *at;       /* where the last run left it */
} tnr_result;

typedef struct tnr_block { /* memory that grows as needed */
    void *at;
    uint64_t room;
} tnr_block;

struct tnr_instance {
    tnr_module *module;
    const tnr_exe *exe;
    atomic_uint running;
    int32_t threads_wanted;  /* 0: the pool's */
    tnr_given *input;        /* exe->n_input */
    tnr_given *output_given; /* exe->n_output */
    tnr_result *output;      /* exe->n_output */
    int64_t *shapes;         /* memory of all the shapes above */

    bool empty;           /* a symbol is 0: all outputs are empty, nothing is run (bind.c) */
    bool bound;           /* everything in this block is valid */
    int64_t *sym, *probe; /* n_symbol; probe: being worked out */
    uint64_t *bytes;      /* n_slot */
    int64_t *offset;      /* n_slot; -1: not in the arena */
    uint8_t *arena;
    uint64_t arena_room, arena_bytes, work_offset;
    tnr_block *segment; /* n_segment: arenas of what is sized during the run */

    uint32_t threads; /* scratch is for so many */
    uint8_t *scratch;

    struct tnr_guarded *guard; /* n_slot, of a debug run (guard.h); else NULL */

    bool ran;          /* the last run succeeded: outputs may be looked at */
    bool stepping;     /* a run stands between two instructions (debug.c) */
    uint32_t step;     /* the next one */
    void **ptr;        /* n_slot: address in this run */
    void **arg;        /* exe->max_operand: arguments of one call */
    int64_t *call_sym; /* exe->max_operand: symbols of one call */

    tnr_profile_fn *profile;
    void *profile_user;
    DLTensor *view; /* n_slot, for profiles; NULL until needed */
    int64_t *view_shape;
    DLTensor *arg_view; /* exe->max_operand */
};

/* Bind the symbols from the inputs set into inst->probe. need_all false: inputs may be missing as long as
 * every symbol is bound by another. fails TNR_E_STATE, TNR_E_SHAPE */
TNR_CHECKED tnr_status tnr_bind_symbols(tnr_instance *inst, bool need_all, tnr_error *err);

/* Make the bound block fit the inputs set: nothing happens unless a symbol has changed. */
TNR_CHECKED tnr_status tnr_bind(tnr_instance *inst, tnr_error *err);

/* Whether a symbol bound in inst->probe is 0 where programs are made for at least 1. */
bool tnr_has_empty_symbol(const tnr_instance *inst, uint32_t *out_symbol);

/* During the run: place the slots of segment `segment` for the symbols as they are now. */
TNR_CHECKED tnr_status tnr_plan(tnr_instance *inst, uint32_t segment, uint32_t at, tnr_error *err);

/* Address and byte count of output i for this run: the caller's memory if it fits the shape, else the instance's. */
TNR_CHECKED tnr_status tnr_place_output(tnr_instance *inst, uint32_t i, tnr_error *err);

/* Make block->at hold n bytes; what it held is lost if it moves. */
TNR_CHECKED tnr_status tnr_block_fit(tnr_block *block, uint64_t n, tnr_error *err);

/* Scratch for as many threads as this run may use. */
TNR_CHECKED tnr_status tnr_bind_threads(tnr_instance *inst, tnr_error *err);

/* run.c, for debug.c: a run in parts. enter and leave are around every one of them. */
TNR_CHECKED tnr_status tnr_enter(tnr_instance *inst, const char *function, tnr_error *err);
void tnr_leave(tnr_instance *inst);
TNR_CHECKED tnr_status tnr_prepare(tnr_instance *inst, bool views, tnr_error *err);
TNR_CHECKED tnr_status tnr_instruction(tnr_instance *inst, uint32_t at, uint32_t *out_next,
                                       uint32_t *out_variant, tnr_error *err);
void tnr_event(tnr_instance *inst, uint32_t at, uint32_t variant, uint64_t nanoseconds,
               tnr_profile_event *out);
void tnr_deliver(tnr_instance *inst);
uint64_t tnr_now(void);

/* Threads the next run may use. */
uint32_t tnr_instance_threads(const tnr_instance *inst);

#endif
