#ifndef TN_PROGRAM_PARSE_H
#define TN_PROGRAM_PARSE_H
/* Inside of the reader of programs: parse.c has declarations and functions, parse_inst.c instructions. */
#include "base/map.h"
#include "base/vec.h"
#include "ir/lex.h"
#include "program/program.h"

/* A name to be looked up when all is read. */
typedef struct {
    const char *name;
    uint32_t at, function; /* an instruction, slot or state; the instruction's function */
    bool over;             /* of a slot: what it lies over, not what it is a copy of */
    tn_lexer lex;          /* where it stands */
} reference;
typedef tn_vec(reference) references;
typedef tn_vec(tn_kernel_parameter) parameter_list;

/* How many operands of an instruction stand before its arrow, and whether it has one. */
typedef struct {
    uint32_t function, at, before;
    bool given;
    tn_lexer lex;
} arrow;

typedef struct {
    tn_lexer lex;
    tn_ctx *ctx;
    tn_pool *pool;
    tn_arena *arena;
    tn_vec(tn_kernel_signature) kernels;
    tn_vec(tn_state) states;
    tn_vec(tn_program_function_ir) functions;
    tn_vec(const char *) texts;
    tn_map kernel, state, function, text; /* interned name -> number */
    references inits, calls;              /* of states; of instructions: functions */
    tn_vec(arrow) arrows;
    /* the function that is being read */
    tn_program_function_ir f;
    tn_vec(tn_slot_ir) slots;
    tn_vec(tn_inst_ir) insts;
    tn_vec(tn_symbol) symbols;
    tn_vec(const tn_expr *) sizes;
    tn_vec(const tn_expr *) segments;
    tn_vec(uint32_t) operands;        /* of one instruction */
    tn_map slot, label, symbol, size; /* interned name, or expression -> number */
    references jumps, slot_names;
    tn_scope_fns scope;
} program_parser;

tn_status program_declare(program_parser *ps, tn_map *in, const char *name,
                          uint64_t number);                                          /* program-E002 */
tn_status program_unknown(program_parser *ps, const reference *r, const char *what); /* program-E001 */
/* A name of one of the things in `in`, or a number. */
tn_status program_known(program_parser *ps, const tn_map *in, const char *what, uint32_t *out);
tn_status program_u32(program_parser *ps, uint32_t *out);
tn_status program_size(program_parser *ps, const tn_expr **out);

/* parse_inst.c: an instruction or a label. */
tn_status program_parse_inst(program_parser *ps);
tn_status program_resolve_jumps(program_parser *ps);
tn_status program_check_arrows(program_parser *ps, const tn_program_ir *p);

#endif
