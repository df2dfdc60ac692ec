#ifndef TN_DRIVER_PROGRAM_H
#define TN_DRIVER_PROGRAM_H
/* Inside of program making: program.c has slots and calls, program_flow.c control flow and symbols that are
 * bound during the run, program_loop.c loops, program_state.c states, program_memory.c the memory plan. */
#include "driver/driver.h"

typedef struct program_symbol {
    tn_symbol s;
    uint32_t segment;
} program_symbol; /* segment 0: bound by an input */

/* A function that is called: one of the module, or the body of a closure, whose last inputs are what it captures, and
 * symbols of what is around it. */
typedef struct program_function {
    const char *name;
    const tn_region *body;
    uint32_t n_captured, n_symbol;
    const tn_value *captured;
    const char *const *symbol;
} program_function;

/* What all functions of a program share. */
typedef struct program_shared {
    tn_map group; /* call node -> group */
    tn_vec(const tn_node *) constants;
    tn_vec(const char *) constant_names;
    tn_map constant_of; /* what some of its bytes are -> one of them */
    tn_vec(const char *) texts;
    tn_map number;                      /* body -> number of its function */
    tn_vec(program_function) functions; /* by number; 0 is main */
    tn_vec(tn_program_function_ir) made;
    tn_state *state; /* b->n_state */
    const char *constant_prefix;
} program_shared;

/* One function that is made. */
typedef struct tn_maker {
    tn_build *b;
    program_shared *all;
    tn_map root; /* value -> tn_value whose storage it is */
    tn_map slot; /* root value -> slot */
    tn_vec(tn_slot_ir) slots;
    tn_vec(tn_inst_ir) insts;
    tn_vec(program_symbol) symbols;
    tn_vec(tn_lifetime) life; /* of slots, by index; first UINT32_MAX: not used yet */
    tn_vec(const tn_expr *) sizes;
    uint32_t n_segment;
    uint32_t number, n_captured; /* of the function; its inputs that a closure brings along */
    const uint32_t *captured;
} tn_maker;

uint64_t program_key(tn_value v);
tn_value program_root(const tn_maker *m, tn_value v);
int32_t program_symbol_index(const tn_maker *m, const char *name); /* -1: not bound yet */
bool program_knows(const tn_maker *m, const tn_type *t);           /* are all symbols of its extents bound? */
uint32_t program_add_slot(tn_maker *m, enum tn_slot_kind kind, const char *name, const tn_type *t);
uint32_t program_add_scalar(tn_maker *m, tn_dtype t);
uint32_t program_add_handle(tn_maker *m, enum tn_slot_kind kind, const char *name);
TN_WARN_UNUSED tn_status program_slot_of(tn_maker *m, tn_value v, uint32_t *out);
/* Where n computes a result: a new slot, unless one was chosen before. */
uint32_t program_result_slot(tn_maker *m, const tn_node *n, uint16_t out);
/* Is it computed by instructions still to come, so that they may write it wherever it is wanted? */
bool program_unplaced(const tn_maker *m, tn_value root);
/* Are two sizes equal for all symbols? Does slot hold just what v's type says, known no later than v is? */
bool program_same_bytes(tn_maker *m, const tn_expr *a, const tn_expr *b);
bool program_holds(tn_maker *m, uint32_t slot, tn_value v);
void program_use(tn_maker *m, uint32_t slot); /* by the instruction that comes next */
/* Returns its number. operand is copied. */
uint32_t program_add_inst(tn_maker *m, enum tn_inst_op op, uint32_t a, uint32_t n, const uint32_t *operand,
                          const char *node);
TN_WARN_UNUSED tn_status program_add_call(tn_maker *m, const tn_node *call);

/* Bytes of parameter i of a flat function, over its symbols. */
const tn_expr *program_parameter_bytes(tn_pool *p, const tn_func *f, uint32_t i);

/* program_flow.c: the instructions of a region's nodes, in order. */
TN_WARN_UNUSED tn_status program_region(tn_maker *m, const tn_region *r);
const char *program_where(const tn_node *n); /* what reports name */
uint32_t program_add_size(tn_maker *m, const tn_expr *e);
uint32_t program_add_text(tn_maker *m, const char *s);
uint32_t program_add_symbol(tn_maker *m, const char *name, uint32_t segment); /* of a segment */
void program_add_plan(tn_maker *m, uint32_t segment, const tn_node *n);
bool program_is_handle(const tn_maker *m, uint32_t slot);
void program_transfer(tn_maker *m, const tn_node *n, uint32_t from, uint32_t to);
/* The slot of v with the shape of v: of a reshape, which lies where its operand does, a copy. source_of: the slot that
 * one like `to` will get the value from; a box has the shape of what it is made of. */
TN_WARN_UNUSED tn_status program_shaped(tn_maker *m, const tn_node *n, tn_value v, uint32_t *out);
TN_WARN_UNUSED tn_status program_source_of(tn_maker *m, const tn_node *n, tn_value v, uint32_t to,
                                           uint32_t *out);
TN_WARN_UNUSED tn_status program_copy(tn_maker *m, const tn_node *n, tn_value v, uint32_t to);

/* program_call.c: functions, closures, tuples; what a node needs of values that are handles. */
uint32_t program_function_of(tn_maker *m, const program_function *f); /* its number; it will be made */
/* A slot of a handle that holds v, which is boxed if it is bytes. */
TN_WARN_UNUSED tn_status program_handle_of(tn_maker *m, const tn_node *n, tn_value v, uint32_t *out);
/* Gives a result of n, or a parameter, the value that a handle holds: unboxed if it is bytes. */
void program_receive(tn_maker *m, const tn_node *n, uint16_t out, uint32_t handle);
TN_WARN_UNUSED tn_status program_parameters(tn_maker *m, const program_function *f);
TN_WARN_UNUSED tn_status program_result(tn_maker *m, const tn_region *r); /* several are a tuple */
const tn_region *program_body_of(const tn_region *r);                     /* of the function that r is in */
/* The instructions of a node that is none of a kernel or control flow. */
TN_WARN_UNUSED tn_status program_add_value(tn_maker *m, const tn_node *n);

/* program_loop.c */
TN_WARN_UNUSED tn_status program_add_loop(tn_maker *m, const tn_node *n);

/* The name under which a constant stands in mod.params. */
const char *program_constant(tn_maker *m, const tn_node *c);

/* program_state.c: the slot of an input that is a state; which results kernels write into states; the copies at the
 * end. */
void program_add_state(tn_maker *m, uint32_t which, const tn_node *param);
void program_place_states(tn_maker *m, const tn_region *r);
TN_WARN_UNUSED tn_status program_store_states(tn_maker *m, const tn_region *r);

/* program_memory.c: offsets, the exact peak. May the call have that result over that input? */
bool program_allows(tn_maker *m, const tn_node *call, uint32_t input, uint32_t output);
void program_plan(tn_maker *m, tn_program_function_ir *to);

#endif
