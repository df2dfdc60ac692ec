#ifndef TN_TIR_VM_COMPILE_H
#define TN_TIR_VM_COMPILE_H
/* State of making a program: vm_compile.c has statements, vm_expr.c expressions. */
#include "tir/func.h"
#include "tir/span.h"
#include "tir/vm.h"

/* Where the value of an expression is. It holds while the list it was computed in is open; one that read memory
 * or may trap only within its statement. */
typedef struct vm_value {
    uint32_t reg, level, instance, stmt;
} vm_value;

/* A list of statements being made: its code is put into the list around it when it is closed. So code that is emitted
 * into an outer list now runs before the inner list: that is how invariant values leave loops. */
typedef struct vm_level {
    vm_code code;
    uint32_t instance;
} vm_level;

/* How a load or store finds its memory: element a + b + shift, after checking indices that may be outside. */
typedef struct vm_check {
    const tn_expr *index;
    uint32_t dim;
    int64_t extent;
} vm_check;
typedef struct vm_plan {
    uint32_t buffer;
    const tn_expr *a, *b; /* int64 expressions; NULL: 0 */
    int64_t shift;
    uint32_t n_check;
    vm_check check[TN_TIR_DIMS];
    bool vector, gather; /* LDV/STV: a is the first or every index */
} vm_plan;

typedef struct vm_preset {
    uint32_t reg;
    vm_slot v;
} vm_preset; /* a constant */

typedef struct vm_compiler {
    vm *m;
    tn_pool *pool;
    spans spans;
    tn_vec(vm_level) level;
    uint32_t instances, stmt;
    tn_map where; /* expression id -> index in value */
    tn_vec(vm_value) value;
    tn_map plan; /* of this statement: LOAD id -> vm_plan */
    tn_vec(vm_preset) preset;
    tn_vec(const tn_expr *) todo;
    uint32_t zero; /* register that holds 0 */
    const tn_stmt *at;
} vm_compiler;

/* Register of e's value here. */
uint32_t vm_expr(vm_compiler *c, const tn_expr *e);
/* var is in reg from here on to the end of the list; `value` NULL, or the expression that reg is the value of. */
void vm_bind(vm_compiler *c, const tn_expr *var, uint32_t reg, const tn_expr *value);
/* Number of the outermost list in which e can be computed. */
uint32_t vm_level_of(vm_compiler *c, const tn_expr *e);
const vm_plan *vm_plan_access(vm_compiler *c, uint32_t buffer, uint32_t n, const tn_expr *const index[],
                              uint16_t lanes, bool store);
/* Emits the checks of a plan; returns their number. */
uint32_t vm_emit_checks(vm_compiler *c, const vm_plan *plan, const tn_expr *load);
void vm_emit(vm_compiler *c, vm_instr in); /* into the current list */
uint32_t vm_new_reg(vm_compiler *c, uint32_t lanes);
uint32_t vm_new_site(vm_compiler *c, enum vm_trap trap, const tn_expr *e, uint32_t buffer, uint32_t dim,
                     int64_t extent);
uintptr_t vm_base(const vm_compiler *c, const vm_plan *plan);
uintptr_t vm_shadow_base(const vm_compiler *c, const vm_plan *plan);

/* The loop over var < n with this body as a VM_DOT; NULL: it is none. */
const struct vm_dot *vm_dot_match(vm_compiler *c, const vm_code *code, uint32_t var, uint32_t n);

#endif
