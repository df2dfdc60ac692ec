#ifndef TN_PROGRAM_PROGRAM_H
#define TN_PROGRAM_PROGRAM_H
/* Programs as the compiler has them: instructions over slots and symbols, with sizes as expressions; what is
 * known of the kernels they call; the verifier, the memory plan, and mod.json. tenon/abi.h says what slots
 * and instructions mean. */
#include "arith/arith.h"
#include "base/buf.h"
#include "ir/layout.h"
#include "tenon/abi.h"

/* ---- instructions (inst.c): the rows of tenon/inst.def ---- */

typedef struct tn_inst_info {
    const char *name; /* "jump_false" */
    char a;           /* what the field `a` is, a letter of inst.def */
    const char *operands;
    bool value; /* of the family VALUE */
} tn_inst_info;
const tn_inst_info *tn_inst_info_get(uint32_t op); /* NULL: there is no such instruction */

/* ---- kernels, as a program sees them ---- */

typedef struct tn_kernel_parameter {
    tn_dtype dtype;
    const tn_expr *bytes; /* over the kernel's symbols */
} tn_kernel_parameter;

typedef struct tn_kernel_signature {
    const char *name;
    uint32_t n_in, n_out, n_symbol, n_overlap;
    const tn_kernel_parameter *parameter; /* inputs, then outputs */
    const char *const *symbol;            /* names, interned */
    const tn_overlap *overlap;
} tn_kernel_signature;
/* The pair of an input and an output; NULL: they share no memory. */
const tn_overlap *tn_kernel_overlap(const tn_kernel_signature *k, uint32_t in, uint32_t out);

/* ---- programs: see tn_program, tn_slot, tn_inst for the meaning ---- */

typedef struct tn_slot_ir {
    const char *name;
    uint8_t kind, storage;
    uint16_t ndim;
    tn_dtype dtype;
    const tn_expr *const *dim;
    const int32_t *bind;
    const tn_layout *layout;       /* of the physical value; mod.json has physical shapes */
    const tn_expr *bytes, *offset; /* offset NULL: -1 */
    int64_t alias;                 /* of an output, or a state's number */
    uint32_t segment;
    int64_t over; /* TEMP: the slot whose memory it takes, being computed from it in place; else -1 */
} tn_slot_ir;
typedef struct tn_inst_ir {
    uint32_t op, a;
    uint32_t n_operand;
    const uint32_t *operand;
    const char *node;
} tn_inst_ir;
typedef struct tn_program_function_ir {
    const char *name;
    uint32_t n_slot;
    const tn_slot_ir *slot;
    uint32_t n_symbol;
    const tn_symbol *symbol; /* names are interned */
    uint32_t n_inst;
    const tn_inst_ir *inst;
    const tn_expr *arena_bytes, *work_offset;
    uint32_t n_late; /* of the symbols, the last ones */
    uint32_t n_size;
    const tn_expr *const *size;
    uint32_t n_segment;
    const tn_expr *const *segment_bytes; /* n_segment entries, of segments 1, 2, ... */
} tn_program_function_ir;
typedef struct tn_program_ir {
    uint32_t n_function;
    const tn_program_function_ir *function; /* the first one is main */
    uint32_t n_state;
    const tn_state *state; /* sizes are numbers */
    uint32_t n_text;
    const char *const *text;
    uint32_t depth; /* frames at most; 0: as many as the runtime allows */
} tn_program_ir;

/* The letters of inst.def for each operand of an instruction of a program, by what it calls. false: their number is
 * wrong, or what it calls does not exist. */
bool tn_inst_letters(const tn_program_ir *p, uint32_t n_kernel, const tn_kernel_signature *kernel,
                     const tn_inst_ir *x, char letter[]);
/* Does it name an instruction in its field `a`? */
bool tn_inst_jumps(uint32_t op);
uint32_t tn_program_slots(const tn_program_function_ir *f, enum tn_slot_kind kind); /* how many of a kind */
/* Bytes of dense elements. */
const tn_expr *tn_slot_dense_bytes(tn_pool *p, tn_dtype t, int ndim, const tn_expr *const dim[]);

/* The symbols that an input binds unless it says otherwise: each at its first plain occurrence. false: none. */
bool tn_program_default_binds(const tn_program_function_ir *f, uint32_t slot, int32_t bind[]);

/* ---- text (print.c, parse.c): docs/program.md ---- */

void tn_program_print(tn_pool *p, const tn_program_ir *program, uint32_t n_kernel,
                      const tn_kernel_signature *kernel, tn_buf *out);
/* Everything read lives in the arena. What is printed reads back, and prints the same. Errors: ir-E00x of the lexer,
 * program-E0xx. */
TN_WARN_UNUSED tn_status tn_program_parse(tn_ctx *ctx, tn_pool *p, tn_arena *arena, const char *file,
                                          const char *text, size_t n, tn_program_ir *out,
                                          uint32_t *out_n_kernel, const tn_kernel_signature **out_kernel);

/* ---- tables in memory (tables.c) ---- */

/* A program as a library has it, with sizes as `size` gives them; it borrows names and texts. */
const tn_program *tn_program_tables(tn_arena *arena, const tn_program_ir *program,
                                    tn_size (*size)(void *user, uint32_t function, const tn_expr *e),
                                    void *user);

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
 *   - every output is written, or equals what it is an alias of;
 *   - what a closure, constructor, reference or result of a function can reach is a handle, and functions get what they
 *     take; a state that grows is changed in place by a kernel, or row by row.
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
    int64_t apart; /* bytes that the plan leaves free behind it */
} tn_lifetime;
/* The larger, decided where one is that for all symbols. */
const tn_expr *tn_plan_max(tn_pool *p, const tn_facts *f, const tn_expr *a, const tn_expr *b);
/* out_smallest (may be NULL): no plan takes less for the nominal values. */
const tn_expr *tn_plan_memory(tn_pool *p, const tn_facts *f, tn_arena *scratch, uint32_t n,
                              tn_lifetime life[], bool *out_smallest);
/* The most bytes alive at one instruction, and free between them: no plan takes less. */
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
    /* May that result of the kernel lie over that input? NULL: nothing is computed in place. */
    bool (*allows)(void *user, uint32_t kernel, uint32_t input, uint32_t output);
    void *user;
    tn_arena_plan *plan; /* out: n_segment + 1 entries, from segment 0 */
} tn_memory_plan;
void tn_program_plan(tn_memory_plan *m);

/* ---- lives (lives.c) ---- */

/* Function f of the program gets a RENEW that gives memory to what an instruction writes into a slot of the pool
 * (before the loop that writes its rows), and one that drops each slot of the pool and of a handle behind its last use.
 * O(instructions times such slots / 64), a few times. */
void tn_program_release(tn_arena *arena, const tn_program_ir *program, uint32_t n_kernel,
                        const tn_kernel_signature *kernel, tn_program_function_ir *f);

/* ---- mod.json (graph_json.c) ---- */

/* Only of a program of one function without jumps, symbols, handles and states; false: it has some, and
 * nothing is written. */
bool tn_program_json(tn_pool *p, tn_arena *arena, const tn_program_ir *program,
                     const tn_kernel_signature *kernel, tn_buf *out);

#endif
