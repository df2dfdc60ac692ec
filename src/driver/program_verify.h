#ifndef TN_DRIVER_PROGRAM_VERIFY_H
#define TN_DRIVER_PROGRAM_VERIFY_H
/* The verifier of programs: knows the program's IR and the kernels it calls, nothing of where they come from. */
#include "codegen/codegen.h"

/* 0 where a and b are equal, else 1: the size that a JUMP_ZERO looks at where equality is not proved. */
const tn_expr *tn_program_differ(tn_pool *p, const tn_expr *a, const tn_expr *b);

/* Bytes of parameter i of a flat function, over its symbols. */
const tn_expr *tn_parameter_bytes(tn_pool *p, const tn_func *f, uint32_t i);

/* Proves of a program, slots with their layouts still in their types, that
 *   - indices are in range, operands have the types their instruction takes, and nothing writes to what is not its own;
 *   - what is written into a slot is as large as the slot, has its type and its layout: by proof, or because the run
 *     has compared the two on every way there;
 *   - a symbol is bound, and a slot's segment planned, before either is used; a slot is written before it is read, and
 *     nothing that shares its memory is written in between (where offsets depend on symbols: for a few values of
 *     those);
 *   - every output is written, or equals what it is an alias of.
 * The first fault is driver-E070. O(instructions times slots / 64). */
TN_WARN_UNUSED tn_status tn_program_verify(tn_ctx *ctx, tn_pool *p, const tn_program_ir *program,
                                           uint32_t n_kernel, const tn_kernel_ir *kernel);

#endif
