#ifndef TN_PROGRAM_VERIFY_H
#define TN_PROGRAM_VERIFY_H
/* Inside of the verifier: verify.c has the analysis, verify_inst.c what each instruction needs and does, verify_slot.c
 * slots, sizes and states. */
#include "base/vec.h"
#include "program/program.h"

enum { VERIFY_SAMPLES = 4, VERIFY_NO_SLOT = -1 };

typedef tn_vec(uint32_t) verify_numbers;

typedef struct {
    int64_t from, to; /* both 0: no memory of an arena, or no bytes */
} verify_extent;

typedef struct {
    tn_ctx *ctx;
    tn_pool *p;
    const tn_program_ir *program;
    const tn_program_function_ir *f; /* the function that is looked at */
    const tn_kernel_signature *kernel;
    uint32_t n_kernel;
    tn_arena arena; /* of the function */
    tn_facts facts;
    uint32_t slot0, segment0, size0, memory0, words; /* where the bits of each kind begin */
    uint64_t *now;
    bool *target;                         /* per instruction, and the end: does a jump lead there? */
    uint64_t **before;                    /* per target: what is known there; NULL: no way there yet */
    verify_numbers *depends;              /* per symbol: slots whose size names it */
    verify_extent *place[VERIFY_SAMPLES]; /* per slot: its bytes of its segment's arena */
    uint64_t *held;                       /* the bits of slots that have such a place */
    verify_numbers *collects; /* per instruction a loop begins at: slots that get rows in that loop */
    char *letter;             /* of the operands of one instruction */
    uint32_t at;
    bool checks, failed; /* the last round reports */
} verifier;

static inline bool verify_has(const verifier *v, uint32_t bit) { return v->now[bit / 64] >> bit % 64 & 1; }
static inline void verify_add(verifier *v, uint32_t bit) { v->now[bit / 64] |= 1ull << bit % 64; }
static inline void verify_drop(verifier *v, uint32_t bit) { v->now[bit / 64] &= ~(1ull << bit % 64); }

/* The first fault is driver-E070. slot: what the text says something about; VERIFY_NO_SLOT: of the instruction. */
void verify_fault(verifier *v, const char *what, int64_t slot);

/* ---- verify_slot.c ---- */
/* Equal for all symbols, or found to be so by the run? */
bool verify_equal(verifier *v, const tn_expr *a, const tn_expr *b);
void verify_bound(verifier *v, const tn_expr *e, int64_t slot);
bool verify_shares(const verifier *v, uint32_t a, uint32_t b); /* have two slots, or one, a byte in common? */
void verify_write(verifier *v, uint32_t slot);
bool verify_same_kind(const tn_slot_ir *a, const tn_slot_ir *b); /* type, layout, storage */
/* Places, and which slots depend on which symbols. */
void verify_prepare_slots(verifier *v);
/* What does not depend on instructions: kinds, types, states, places in their arenas. */
void verify_slots(verifier *v);
void verify_states(verifier *v);
void verify_constants(verifier *v); /* those of one name are one entry of mod.params */

/* ---- verify_inst.c ---- */
/* What the instruction needs is there; what it writes is known from here on. false: it is not understood. */
bool verify_inst(verifier *v, const tn_inst_ir *x);

#endif
