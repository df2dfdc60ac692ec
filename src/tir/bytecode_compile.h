#ifndef TN_TIR_BYTECODE_COMPILE_H
#define TN_TIR_BYTECODE_COMPILE_H
/* State of making a program: bytecode_compile.c has statements, bytecode_expr.c expressions. */
#include "tir/func.h"
#include "tir/span.h"
#include "tir/bytecode.h"

/* Where the value of an expression is. It holds while the list it was computed in is open; one that read memory
 * or may trap only within its statement. */
typedef struct bc_value {
    uint32_t reg, level, instance, stmt;
} bc_value;

/* A list of statements being made: its code is put into the list around it when it is closed. So code that is emitted
 * into an outer list now runs before the inner list: that is how invariant values leave loops. */
typedef struct bc_level {
    bc_code code;
    uint32_t instance;
} bc_level;

/* How a load or store finds its memory: element a + b + shift, after checking indices that may be outside. */
typedef struct bc_check {
    const tn_expr *index;
    uint32_t dim;
    int64_t extent;
} bc_check;
typedef struct bc_plan {
    uint32_t buffer;
    const tn_expr *a, *b; /* int64 expressions; NULL: 0 */
    int64_t shift;
    uint32_t n_check;
    bc_check check[TN_TIR_DIMS];
    bool vector, gather; /* LDV/STV: a is the first or every index */
} bc_plan;

typedef struct bc_preset {
    uint32_t reg;
    bc_slot v;
} bc_preset; /* a constant */

typedef struct bc_compiler {
    bytecode *m;
    tn_pool *pool;
    spans spans;
    tn_vec(bc_level) level;
    uint32_t instances, stmt;
    tn_map where; /* expression id -> index in value */
    tn_vec(bc_value) value;
    tn_map plan; /* of this statement: LOAD id -> bc_plan */
    tn_vec(bc_preset) preset;
    tn_vec(const tn_expr *) todo;
    uint32_t zero; /* register that holds 0 */
    const tn_stmt *at;
} bc_compiler;

/* Register of e's value here. */
uint32_t bc_expr(bc_compiler *c, const tn_expr *e);
/* var is in reg from here on to the end of the list; `value` NULL, or the expression that reg is the value of. */
void bc_bind(bc_compiler *c, const tn_expr *var, uint32_t reg, const tn_expr *value);
/* Number of the outermost list in which e can be computed. */
uint32_t bc_level_of(bc_compiler *c, const tn_expr *e);
const bc_plan *bc_plan_access(bc_compiler *c, uint32_t buffer, uint32_t n, const tn_expr *const index[],
                              uint16_t lanes, bool store);
/* Emits the checks of a plan; returns their number. */
uint32_t bc_emit_checks(bc_compiler *c, const bc_plan *plan, const tn_expr *load);
void bc_emit(bc_compiler *c, bc_instr in); /* into the current list */
uint32_t bc_new_reg(bc_compiler *c, uint32_t lanes);
uint32_t bc_new_site(bc_compiler *c, enum bc_trap trap, const tn_expr *e, uint32_t buffer, uint32_t dim,
                     int64_t extent);
uintptr_t bc_base(const bc_compiler *c, const bc_plan *plan);
uintptr_t bc_shadow_base(const bc_compiler *c, const bc_plan *plan);

/* The loop over var < n with this body as a BC_DOT; NULL: it is none. */
const struct bc_dot *bc_dot_match(bc_compiler *c, const bc_code *code, uint32_t var, uint32_t n);

#endif
