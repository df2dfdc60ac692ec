#ifndef TN_TIR_VM_H
#define TN_TIR_VM_H
/* The interpreter's machine (interp.c drives it, vm_compile.c makes its code, vm.c runs it).
 *
 * A program is a line of instructions over registers of 64 bits. A vector of n lanes is n registers in a row.
 * Values of symbols are known when a program is made, so they are constants in it. Jumps are relative. Every
 * buffer has its place in memory before the program is made; a shadow byte an element says whether a declared
 * buffer's element was written.
 */
#include "base/vec.h"
#include "ir/eval.h"
#include "tir/tir.h"

typedef union vm_slot {
    int64_t i;
    double d;
    float s;
} vm_slot; /* s: float32; d: other floats; i: the rest */

/* clang-format off */
enum vm_op {
    VM_NONE,
#define VM(name, field, value) VM_##name, VM_##name##_V,
#include "tir/vm_ops.def"
#undef VM
    VM_HALT, VM_JMP, VM_JZ, VM_JNZ,
    VM_LOOP, VM_NEXT,        /* dst: loop variable, a: extent */
    VM_DOT,                  /* the rest of a loop, see vm_dot.c; dst: loop variable */
    VM_ADDC, VM_SUBC, VM_MULC,/* index: trap on overflow */
    VM_EVAL,                 /* any operation, by tn_eval_op */
    VM_BITS,                 /* bitcast that changes the number of lanes */
    VM_SPLAT, VM_RAMP, VM_SHUFFLE,
    VM_CHECK,                /* trap if a is 0 */
    VM_BOUND,                /* trap unless 0 <= a < imm */
    VM_BOUNDR,               /* trap unless 0 <= a < b */
    VM_RESET,                /* a declaration: contents unspecified again */
    /* memory of one element: base[a + b]; LD to dst, ST from c; _X: any dtype, packed in c or dst */
    VM_LD_S, VM_LD_D, VM_LD_I8, VM_LD_U8, VM_LD_B, VM_LD_I16, VM_LD_U16, VM_LD_I32, VM_LD_U32, VM_LD_I64, VM_LD_X,
    VM_LDW_S,                /* ... written, or trap */
    VM_WRITTEN,              /* trap unless shadow[a + b] */
    VM_ST_S, VM_ST_D, VM_ST_8, VM_ST_16, VM_ST_32, VM_ST_64, VM_ST_X,
    VM_STW_S,                /* ... and mark it written */
    VM_MARK,                 /* shadow[a + b] = 1 */
    VM_LDV, VM_STV           /* vector access, see vm_access */
};
/* clang-format on */

typedef struct vm_mem {
    uint8_t *at, *shadow; /* shadow NULL: parameter */
    int64_t n, readable;  /* elements; with those of the slack */
    tn_dtype dtype;       /* of one element, scalar */
} vm_mem;

/* A vector load or store: to lanes in a row from `index` on, or each lane to its own index. */
typedef struct vm_access {
    const vm_mem *mem;
    bool gather, masked;
    uint32_t index, mask, value;
} vm_access;
typedef struct vm_eval {
    enum tn_ek k;
    tn_dtype t, in;
    tn_payload u;
    int n;
    uint16_t in_lanes;
} vm_eval;

enum vm_trap { VM_T_BOUND, VM_T_UNWRITTEN, VM_T_CHECK, VM_T_UNDEFINED, VM_T_DOMAIN };
/* What to say when an instruction traps. */
typedef struct vm_site {
    uint8_t trap;
    const tn_stmt *stmt;
    const tn_expr *e;
    uint32_t buffer, dim;
    int64_t extent;
} vm_site;

static inline uint32_t vm_pack(tn_dtype t) { return (uint32_t)t.code << 8 | t.bits; }

typedef struct vm_instr {
    uint16_t op, n; /* n: lanes */
    uint32_t dst, a, b, c;
    uint32_t site;
    union {
        int64_t imm;
        uintptr_t base;
        const vm_access *access;
        const vm_eval *eval;
        const vm_mem *mem;
        const struct vm_dot *dot;
    };
    uintptr_t shadow; /* as base: of index 0, which need not be inside */
} vm_instr;
typedef tn_vec(vm_instr) vm_code;

typedef struct vm {
    tn_func *f; /* canonical copy: every definition has its own variable */
    tn_arena *arena;
    const char *const *name; /* of variables */
    const int64_t *sym;
    vm_mem *mem; /* by buffer number */
    tn_vec(vm_site) site;
    vm_code code;
    vm_slot *reg;
    uint32_t n_reg;
    uint32_t trapped; /* site; index of the instruction in question in at */
    const vm_instr *at;
    int64_t culprit; /* the index, element or iteration that trapped */
} vm;

/* Fills vm->code, vm->reg (constants in place) and vm->site. */
void vm_compile(vm *m);
/* Runs the code. false: trapped. */
bool vm_run(vm *m);
/* Value of an expression of constants and symbols. false: undefined. */
bool vm_constant(vm *m, const tn_expr *e, int64_t *out);

/* Runs the iterations from v on that it can; returns the first one that it did not. */
int64_t vm_dot_run(const struct vm_dot *d, const vm_slot *reg, int64_t v);

#endif
