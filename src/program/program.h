#ifndef TN_PROGRAM_PROGRAM_H
#define TN_PROGRAM_PROGRAM_H
/* Programs as the compiler has them: instructions over slots and symbols, with sizes as expressions; what is
 * known of the kernels they call; the verifier, the memory plan, and mod.json. tenon/abi.h says what slots
 * and instructions mean. */
#include "arith/arith.h"
#include "base/buf.h"
#include "ir/layout.h"
#include "tenon/abi.h"

/* ---- kernels, as a program sees them ---- */

typedef struct tn_kernel_parameter {
    tn_dtype dtype;
    const tn_expr *bytes; /* over the kernel's symbols */
} tn_kernel_parameter;

typedef struct tn_kernel_signature {
    const char *name;
    uint32_t n_in, n_out, n_symbol;
    const tn_kernel_parameter *parameter; /* inputs, then outputs */
    const char *const *symbol;            /* names, interned */
    uint32_t in_place;                    /* bit k: the single output may use the memory of input k */
} tn_kernel_signature;

/* ---- programs: see tn_program, tn_slot, tn_inst for the meaning ---- */

typedef struct tn_slot_ir {
    const char *name;
    uint32_t kind;
    tn_dtype dtype;
    uint16_t ndim;
    const tn_expr *const *dim;
    const int32_t *bind;
    const tn_layout *layout;       /* of the physical value; mod.json has physical shapes */
    const tn_expr *bytes, *offset; /* offset NULL: -1 */
    int64_t alias;
    uint32_t segment;
    int64_t over; /* TEMP: the slot whose memory it takes, being computed from it in place; else -1 */
} tn_slot_ir;
typedef struct tn_inst_ir {
    uint32_t op, a;
    uint32_t n_operand;
    const uint32_t *operand;
    const char *node;
} tn_inst_ir;
typedef struct tn_program_ir {
    uint32_t n_slot;
    const tn_slot_ir *slot;
    uint32_t n_symbol;
    const tn_symbol *symbol;
    uint32_t n_inst;
    const tn_inst_ir *inst;
    uint32_t n_text;
    const char *const *text;
    const tn_expr *arena_bytes, *work_offset;
    uint32_t n_late; /* of the symbols, the last ones */
    uint32_t n_size;
    const tn_expr *const *size;
    uint32_t n_segment;
    const tn_expr *const *segment_bytes; /* n_segment entries, of segments 1, 2, ... */
} tn_program_ir;

/* ---- verifier (verify.c) ---- */

/* 0 where a and b are equal, else 1: the size that a JUMP_ZERO looks at where equality is not proved. */
const tn_expr *tn_program_differ(tn_pool *p, const tn_expr *a, const tn_expr *b);

/* Proves of a program, slots with their layouts still in their types, that
 *   - indices are in range, operands have the types their instruction takes, and nothing writes to what is not its own;
 *   - what is written into a slot is as large as the slot, has its type and its layout: by proof, or because the run
 *     has compared the two on every way there;
 *   - a symbol is bound, and a slot's segment planned, before either is used; a slot is written before it is read, and
 *     nothing that shares its memory is written in between (where offsets depend on symbols: for a few values of
 *     those);
 *   - every output is written, or equals what it is an alias of.
 * The first fault is driver-E070. O(instructions times slots / 64) time; memory for the instructions that jumps lead to
 * alone. */
TN_WARN_UNUSED tn_status tn_program_verify(tn_ctx *ctx, tn_pool *p, const tn_program_ir *program,
                                           uint32_t n_kernel, const tn_kernel_signature *kernel);

/* ---- memory (plan.c, memory.c) ---- */

/* Offsets for n temporaries with sizes and lifetimes; all 64-aligned, valid for every symbol value, tight for the
 * nominal one. Returns the bytes of the arena. Facts hold the symbols' ranges. */
typedef struct tn_lifetime {
    const tn_expr *bytes;
    uint32_t first, last; /* it is alive at these instructions and all between */
    const tn_expr *offset;
} tn_lifetime;
/* The larger, decided where one is that for all symbols. */
const tn_expr *tn_plan_max(tn_pool *p, const tn_facts *f, const tn_expr *a, const tn_expr *b);
/* out_smallest (may be NULL): no plan takes less for the nominal values. */
const tn_expr *tn_plan_memory(tn_pool *p, const tn_facts *f, tn_arena *scratch, uint32_t n,
                              tn_lifetime life[], bool *out_smallest);
/* The most bytes alive at one instruction: no plan takes less. */
const tn_expr *tn_plan_alive(tn_pool *p, const tn_facts *f, uint32_t n, const tn_lifetime life[]);
int64_t tn_plan_nominal(tn_pool *p, const tn_facts *f,
                        const tn_expr *e); /* with the symbols' nominal values */

/* What the plan of one arena came to. */
typedef struct tn_arena_plan {
    const tn_expr *bytes, *alive;
    bool smallest;
} tn_arena_plan;

typedef struct tn_memory_plan {
    tn_pool *pool;
    tn_arena *arena;
    const tn_facts *facts;
    uint32_t n_slot, n_inst, n_segment;
    tn_slot_ir *slot; /* gets offset and over */
    const tn_inst_ir *inst;
    const tn_lifetime *life; /* of slots; first UINT32_MAX: not used */
    const tn_kernel_signature *kernel;
    /* May the kernel's single result lie over that input? NULL: nothing is computed in place. */
    bool (*allows)(void *user, uint32_t kernel, uint32_t input);
    void *user;
    tn_arena_plan *plan; /* out: n_segment + 1 entries, from segment 0 */
} tn_memory_plan;
void tn_program_plan(tn_memory_plan *m);

/* ---- mod.json (graph_json.c) ---- */

/* Only of a program without jumps and symbols; false: it has some, and nothing is written. */
bool tn_program_json(tn_pool *p, tn_arena *arena, const tn_program_ir *program,
                     const tn_kernel_signature *kernel, tn_buf *out);

#endif
