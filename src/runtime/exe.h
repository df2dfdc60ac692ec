#ifndef TNR_EXE_H
#define TNR_EXE_H
/* A checked program over a library and its constants: what an instance runs. The AOT executor's program comes
 * from the library, the graph executor's is made from mod.json (graph.h); from here on both are one. */
#include "tenon/runtime.h"

#include <stdbool.h>

typedef struct tnr_function { /* a function of the program, checked */
    const tn_program_function *function;
    uint32_t n_input, n_output;
    uint32_t *input, *output; /* slots of the inputs and outputs, in the model's order */
    void **fixed;             /* n_slot: data of CONST slots, else NULL; never written */
    bool *steady;             /* n_slot: of the pool, and as large in each run */
    bool handles;             /* some slot is a handle */
} tnr_function;

typedef struct tnr_exe {
    const tn_library *library;
    const tn_program *program;
    tnr_function *code;     /* program->n_function; the first one is main */
    const void **initial;   /* program->n_state: first contents from mod.params, else NULL */
    uint32_t n_code;        /* of them, checked so far */
    uint32_t families;      /* bit 1 << enum tnr_family_id: it has such instructions (family.h) */
    uint32_t max_operand;   /* operands of the longest instruction */
    uint64_t scratch_bytes; /* of one thread: the largest of the kernels called, multiple of 64 */
    uint64_t constant_bytes;
} tnr_exe;

/* Check every count and index of the library's kernel tables. */
TNR_CHECKED tnr_status tnr_library_check(const tn_library *library, tnr_error *err);
/* The part of it that concerns the library's record: its tables are there. */
TNR_CHECKED tnr_status tnr_library_tables(const tn_library *library, tnr_error *err);
/* TNR_E_FORMAT: the library needs a module that cannot run here. */
TNR_CHECKED tnr_status tnr_library_refuse_module(const tn_module *module, tnr_error *err);

/* Check the program against library and params (may be NULL: no constants) and fill *exe. Afterwards the
 * executor indexes without looking; only sizes that depend on symbols are left to check when those are bound.
 * Everything is borrowed. After a failure tnr_exe_deinit is harmless. */
TNR_CHECKED tnr_status tnr_exe_init(tnr_exe *exe, const tn_library *library, const tn_program *program,
                                    const tnr_params *params, tnr_error *err);
void tnr_exe_deinit(tnr_exe *exe);

/* Do two slots of a function overlap, as far as is known without its symbols? */
bool tnr_slots_overlap(const tn_program_function *function, uint32_t a, uint32_t b);

/* Results among n operands, behind n_in that are read: NULL if those of bytes lie apart from all operands
 * before them. */
const char *tnr_results_fault(const tn_program_function *function, const uint32_t *operand, uint32_t n_in,
                              uint32_t n);

/* Logical element type and elements' bytes of a slot, given its dimensions. */
DLDataType tnr_slot_dtype(const tn_slot *slot);

#endif
