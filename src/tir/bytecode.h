#ifndef TN_TIR_BYTECODE_H
#define TN_TIR_BYTECODE_H
/* The interpreter's machine (interp.c drives it, bytecode_compile.c makes its code, bytecode.c runs it).
 *
 * A program is a line of instructions over registers of 64 bits. A vector of n lanes is n registers in a row.
 * Values of symbols are known when a program is made, so they are constants in it. Jumps are relative. Every
 * buffer has its place in memory before the program is made; a shadow byte an element says whether a declared
 * buffer's element was written.
 */
#include "base/vec.h"
#include "ir/eval.h"
#include "tir/tir.h"

typedef union bc_slot {
    int64_t i;
    double d;
    float s;
} bc_slot; /* s: float32; d: other floats; i: the rest */

/* clang-format off */
enum bc_op {
    BC_NONE,
#define BC(name, field, value) BC_##name, BC_##name##_V,
#include "tir/bytecode_ops.def"
#undef BC
    BC_HALT, BC_JMP, BC_JZ, BC_JNZ,
    BC_LOOP, BC_NEXT,        /* dst: loop variable, a: extent */
    BC_DOT,                  /* the rest of a loop, see bytecode_dot.c; dst: loop variable */
    BC_ADDC, BC_SUBC, BC_MULC,/* index: trap on overflow */
    BC_EVAL,                 /* any operation, by tn_eval_op */
    BC_BITS,                 /* bitcast that changes the number of lanes */
    BC_SPLAT, BC_RAMP, BC_SHUFFLE,
    BC_CHECK,                /* trap if a is 0 */
    BC_BOUND,                /* trap unless 0 <= a < imm */
    BC_BOUNDR,               /* trap unless 0 <= a < b */
    BC_RESET,                /* a declaration: contents unspecified again */
    /* memory of one element: base[a + b]; LD to dst, ST from c; _X: any dtype, packed in c or dst */
    BC_LD_S, BC_LD_D, BC_LD_I8, BC_LD_U8, BC_LD_B, BC_LD_I16, BC_LD_U16, BC_LD_I32, BC_LD_U32, BC_LD_I64, BC_LD_X,
    BC_LDW_S,                /* ... written, or trap */
    BC_WRITTEN,              /* trap unless shadow[a + b] */
    BC_ST_S, BC_ST_D, BC_ST_8, BC_ST_16, BC_ST_32, BC_ST_64, BC_ST_X,
    BC_STW_S,                /* ... and mark it written */
    BC_MARK,                 /* shadow[a + b] = 1 */
    BC_LDV, BC_STV           /* vector access, see bc_access */
};
/* clang-format on */

typedef struct bc_mem {
    uint8_t *at, *shadow; /* shadow NULL: parameter */
    int64_t n, readable;  /* elements; with those of the slack */
    tn_dtype dtype;       /* of one element, scalar */
} bc_mem;

/* A vector load or store: to lanes in a row from `index` on, or each lane to its own index. */
typedef struct bc_access {
    const bc_mem *mem;
    bool gather, masked;
    uint32_t index, mask, value;
} bc_access;
typedef struct bc_eval {
    enum tn_ek k;
    tn_dtype t, in, others; /* of the result, the first operand, those behind it */
    tn_payload u;
    int n;
    uint16_t in_lanes;
} bc_eval;

enum bc_trap { BC_T_BOUND, BC_T_UNWRITTEN, BC_T_CHECK, BC_T_UNDEFINED, BC_T_DOMAIN };
/* What to say when an instruction traps. */
typedef struct bc_site {
    uint8_t trap;
    const tn_stmt *stmt;
    const tn_expr *e;
    uint32_t buffer, dim;
    int64_t extent;
} bc_site;

static inline uint32_t bc_pack(tn_dtype t) { return (uint32_t)t.code << 8 | t.bits; }

typedef struct bc_instr {
    uint16_t op, n; /* n: lanes */
    uint32_t dst, a, b, c;
    uint32_t site;
    union {
        int64_t imm;
        uintptr_t base;
        const bc_access *access;
        const bc_eval *eval;
        const bc_mem *mem;
        const struct bc_dot *dot;
    };
    uintptr_t shadow; /* as base: of index 0, which need not be inside */
} bc_instr;
typedef tn_vec(bc_instr) bc_code;

typedef struct bytecode {
    tn_func *f; /* canonical copy: every definition has its own variable */
    tn_arena *arena;
    const char *const *name; /* of variables */
    const int64_t *sym;
    bc_mem *mem; /* by buffer number */
    tn_vec(bc_site) site;
    bc_code code;
    bc_slot *reg;
    uint32_t n_reg;
    uint32_t trapped; /* site; index of the instruction in question in at */
    const bc_instr *at;
    int64_t culprit; /* the index, element or iteration that trapped */
} bytecode;

/* Fills bytecode->code, bytecode->reg (constants in place) and bytecode->site. */
void bc_compile(bytecode *m);
/* Runs the code. false: trapped. */
bool bc_run(bytecode *m);
/* Value of an expression of constants and symbols. false: undefined. */
bool bc_constant(bytecode *m, const tn_expr *e, int64_t *out);

/* Runs the iterations from v on that it can; returns the first one that it did not. */
int64_t bc_dot_run(const struct bc_dot *d, const bc_slot *reg, int64_t v);

#endif
