#ifndef TNR_INSTANCE_H
#define TNR_INSTANCE_H
/* One executor at work. Used by one thread at a time.
 *
 *   given    what the caller set: inputs, outputs' memory (instance.c)
 *   bound    symbols and what follows from them: sizes, offsets, arena, output shapes (bind.c)
 *   running  addresses of all slots, then the walk over the program (run.c) */
#include "runtime/module.h"
#include "runtime/cancel.h"

typedef struct tnr_given {
    void *data; /* first element; of main's handles a tnr_value, one reference to it */
    uint64_t bytes;
    int64_t *shape; /* as many as the slot has dimensions */
    bool set;
} tnr_given;

typedef struct tnr_result {
    void *own; /* the instance's memory for it, if it is in neither the arena nor the caller's */
    uint64_t own_room;
    int64_t *shape; /* for the symbols bound */
    void *at;       /* where the last run left it; a handle: a tnr_value, one reference to it */
} tnr_result;

typedef struct tnr_state { /* state.c */
    void *at;
    int64_t extent; /* along the axis on which it grows */
    int64_t *shape; /* and strides, of the last view */
    bool ready;     /* it has contents */
} tnr_state;

typedef struct tnr_block { /* memory that grows as needed */
    void *at;
    uint64_t room;
} tnr_block;

/* One activation of a function. That of main is in the instance; others are made by FRAME and VALUE instructions and
 * kept for the next call (invoke.c). */
typedef struct tnr_frame {
    tnr_instance *instance;
    const tnr_function *code;
    uint32_t at; /* the next instruction */

    tnr_given *input; /* code->n_input */
    int64_t *shapes;  /* memory of their shapes, then of sym, probe and offset */

    bool bound;           /* everything in this block is valid */
    int64_t *sym, *probe; /* n_symbol; probe: being worked out */
    uint64_t *bytes;      /* n_slot */
    int64_t *offset;      /* n_slot; -1: not in the arena */
    uint8_t *arena;
    uint64_t arena_room, arena_bytes, work_offset;
    tnr_block *segment; /* n_segment: arenas of what is sized during the run */

    void **ptr;                /* n_slot: address in this run */
    struct tnr_value **value;  /* n_slot: what a handle refers to; NULL: the function has no handles */
    bool held;                 /* some handle may refer to something */
    struct tnr_guarded *guard; /* n_slot, of a debug run (guard.h); else NULL */
    DLTensor *view;            /* n_slot, for profiles; NULL until needed */
    int64_t *view_shape;

    struct tnr_frame
        *caller; /* NULL: main, or a function that fills a state; for a free frame the next free one */
    const uint32_t *give; /* code->n_output slots of the caller that get the outputs */
    tnr_given *result;    /* their memory; NULL in main */
} tnr_frame;

typedef struct tnr_host { /* of a text of the program: the function that is called so */
    tnr_host_fn *fn;      /* NULL: nobody has registered it */
    void *user;
} tnr_host;

struct tnr_hosts {        /* of an instance: one block of memory */
    tnr_value **value;    /* max_operand: of the call that runs */
    tnr_host_kept **kept; /* of each instruction of the functions, in their order */
    uint32_t *first;      /* n_code: where those of a function begin */
    uint8_t *constant;    /* max_operand: of the call that runs */
    tnr_host at[];        /* n_text */
};

struct tnr_instance {
    tnr_module *module;
    const tnr_exe *exe;
    atomic_uint running;
    int32_t threads_wanted;  /* 0: the pool's */
    bool checked;            /* TNR_INSTANCE_CHECK */
    tnr_given *output_given; /* of main */
    tnr_result *output;
    int64_t *shapes; /* memory of the shapes of both, then of call_sym */

    bool empty; /* a symbol is 0: all outputs are empty, nothing is run (bind.c) */

    uint32_t threads; /* scratch is for so many */
    uint8_t *scratch;

    bool ran;      /* the last run succeeded: outputs may be looked at */
    bool stepping; /* a run stands between two instructions (debug.c) */
    tnr_frame main;
    tnr_frame *frame;            /* the innermost one */
    tnr_state *state;            /* STATE: of the program's states, in order */
    int64_t *state_shapes;       /* memory of their shapes */
    struct tnr_value_pool *pool; /* VALUE: memory of values */
    struct tnr_hosts *hosts;     /* HOST: functions that the program calls */
    uint32_t depth;              /* frames besides main's */
    tnr_frame **spare;           /* FRAME: free frames of each function */
    void **arg;                  /* exe->max_operand: arguments of one call */
    int64_t *call_sym;           /* exe->max_operand: symbols of one call */

    tnr_profile_fn *profile;
    void *profile_user;
    DLTensor *arg_view; /* exe->max_operand; NULL until needed */
    tnr_cancel cancel;
};

TNR_CHECKED tnr_status tnr_frame_init(tnr_frame *frame, tnr_instance *instance, const tnr_function *code,
                                      tnr_error *err);
void tnr_frame_deinit(tnr_frame *frame); /* harmless where init failed */

/* Bind the symbols from the inputs set into frame->probe. need_all false: inputs may be missing as long as
 * every symbol is bound by another. fails TNR_E_STATE, TNR_E_SHAPE */
TNR_CHECKED tnr_status tnr_bind_symbols(tnr_frame *frame, bool need_all, tnr_error *err);

/* Make the bound block fit the inputs set: nothing happens unless a symbol has changed. */
TNR_CHECKED tnr_status tnr_bind(tnr_frame *frame, tnr_error *err);

/* Whether a symbol bound in frame->probe is 0 where programs are made for at least 1. */
bool tnr_has_empty_symbol(const tnr_frame *frame, uint32_t *out_symbol);

/* During the run: place the slots of segment `segment` for the symbols as they are now. */
TNR_CHECKED tnr_status tnr_plan(tnr_frame *frame, uint32_t segment, uint32_t at, tnr_error *err);

/* The same for one slot: its bytes, no memory. */
TNR_CHECKED tnr_status tnr_slot_size(tnr_frame *frame, uint32_t slot, tnr_error *err);
/* What host functions and profiles see of a slot, if they do: its address and shape are known anew. */
void tnr_slot_view(tnr_frame *frame, uint32_t slot);

/* Address of output i for this run: the caller's memory, which must fit, or the instance's. */
TNR_CHECKED tnr_status tnr_place_output(tnr_frame *frame, uint32_t i, tnr_error *err);

/* Make block->at hold n bytes; what it held is lost if it moves. */
TNR_CHECKED tnr_status tnr_block_fit(tnr_block *block, uint64_t n, tnr_error *err);

/* Scratch for as many threads as this run may use. */
TNR_CHECKED tnr_status tnr_bind_threads(tnr_instance *inst, tnr_error *err);

/* run.c, for debug.c and families: a run in parts. enter and leave are around every one of them. */
TNR_CHECKED tnr_status tnr_enter(tnr_instance *inst, const char *function, tnr_error *err);
void tnr_leave(tnr_instance *inst);
TNR_CHECKED tnr_status tnr_prepare(tnr_instance *inst, bool views, tnr_error *err);
/* Addresses of a frame whose inputs are set; views: for profiles. */
TNR_CHECKED tnr_status tnr_frame_place(tnr_frame *frame, bool views, tnr_error *err);
/* The frame whose instruction is next, those that have ended left; NULL: the run has ended, or *out_status tells. */
tnr_frame *tnr_settle(tnr_instance *inst, tnr_status *out_status, tnr_error *err);
TNR_CHECKED tnr_status tnr_instruction(tnr_frame *frame, uint32_t *out_variant, tnr_error *err);
TNR_CHECKED tnr_status tnr_walk(tnr_instance *inst, tnr_error *err);
void tnr_event(tnr_frame *frame, uint32_t at, uint32_t variant, uint64_t nanoseconds, tnr_profile_event *out);
TNR_CHECKED tnr_status tnr_deliver(tnr_instance *inst, tnr_error *err);

/* invoke.c, of the family FRAME. */
/* A frame of the function, from those that are kept or a new one. fails TNR_E_CHECK (depth), TNR_E_MEMORY */
TNR_CHECKED tnr_status tnr_frame_take(tnr_instance *inst, const tnr_function *code, tnr_frame **out_frame,
                                      tnr_error *err);
/* Inputs and results are set: it runs next. */
TNR_CHECKED tnr_status tnr_frame_begin(tnr_frame *frame, tnr_error *err);
/* All frames but main's are given back. */
void tnr_frames_drop(tnr_instance *inst);
uint64_t tnr_now(void);

/* Threads the next run may use. */
uint32_t tnr_instance_threads(const tnr_instance *inst);

#endif
