#ifndef TENON_TESTS_RUNTIME_CALLS_H
#define TENON_TESTS_RUNTIME_CALLS_H
/* Programs that call functions. */
#include "runtime/maker.h"

/* main: y = f(f(x)); f: z = (x + 1) + (x + 1) */
static inline void make_twice(maker *m)
{
    *m = (maker){0};
    uint32_t x = put_floats(m, 0, TN_SLOT_INPUT, "x"), t = put_floats(m, 0, TN_SLOT_TEMP, ""),
             y = put_floats(m, 0, TN_SLOT_OUTPUT, "y");
    put_inst(m, 0, TN_INST_INVOKE, 1, 2, x, t);
    put_inst(m, 0, TN_INST_INVOKE, 1, 2, t, y);
    uint32_t a = put_floats(m, 1, TN_SLOT_INPUT, "a"), b = put_floats(m, 1, TN_SLOT_TEMP, ""),
             z = put_floats(m, 1, TN_SLOT_OUTPUT, "z");
    put_inst(m, 1, TN_INST_CALL, K_ADD_ONE, 2, a, b);
    put_inst(m, 1, TN_INST_CALL, K_ADD, 3, b, b, z);
    finish_maker(m, 2, 0);
}

/* main: y = f(n, x); f(n, x): n > 0 ? f(n - 1, x + 1) : x */
static inline void make_recursion(maker *m)
{
    *m = (maker){0};
    uint32_t n = put_slot(m, 0, TN_SLOT_INPUT, "n", kDLInt, 64, 0), x = put_floats(m, 0, TN_SLOT_INPUT, "x"),
             y = put_floats(m, 0, TN_SLOT_OUTPUT, "y");
    put_inst(m, 0, TN_INST_INVOKE, 1, 3, n, x, y);
    uint32_t k = put_slot(m, 1, TN_SLOT_INPUT, "k", kDLInt, 64, 0), a = put_floats(m, 1, TN_SLOT_INPUT, "a"),
             k1 = put_slot(m, 1, TN_SLOT_TEMP, "", kDLInt, 64, 0),
             c = put_slot(m, 1, TN_SLOT_TEMP, "", kDLBool, 8, 0), a1 = put_floats(m, 1, TN_SLOT_TEMP, ""),
             z = put_floats(m, 1, TN_SLOT_OUTPUT, "z");
    put_inst(m, 1, TN_INST_CALL, K_POSITIVE, 2, k, c);
    put_inst(m, 1, TN_INST_JUMP_FALSE, 6, 1, c);
    put_inst(m, 1, TN_INST_CALL, K_DECREMENT, 2, k, k1);
    put_inst(m, 1, TN_INST_CALL, K_ADD_ONE, 2, a, a1);
    put_inst(m, 1, TN_INST_INVOKE, 1, 3, k1, a1, z);
    put_inst(m, 1, TN_INST_JUMP, 7, 0);
    put_inst(m, 1, TN_INST_COPY, 0, 2, a, z);
    finish_maker(m, 2, 0);
}

/* main: y = f(x), w = f(v), of 4 and 2 floats; f: copies [n] floats through a temporary */
static inline void make_shapes(maker *m)
{
    *m = (maker){0};
    uint32_t x = put_floats(m, 0, TN_SLOT_INPUT, "x"),
             v = put_slot(m, 0, TN_SLOT_INPUT, "v", kDLFloat, 32, 2),
             y = put_floats(m, 0, TN_SLOT_OUTPUT, "y"),
             w = put_slot(m, 0, TN_SLOT_OUTPUT, "w", kDLFloat, 32, 2);
    put_inst(m, 0, TN_INST_INVOKE, 1, 2, x, y);
    put_inst(m, 0, TN_INST_INVOKE, 1, 2, v, w);
    uint32_t a = put_symbolic(m, 1, TN_SLOT_INPUT, "a"), t = put_symbolic(m, 1, TN_SLOT_TEMP, ""),
             z = put_symbolic(m, 1, TN_SLOT_OUTPUT, "z");
    put_inst(m, 1, TN_INST_COPY, 0, 2, a, t);
    put_inst(m, 1, TN_INST_COPY, 0, 2, t, z);
    m->f[1].symbol[0] = (tn_symbol){"n", 1, 4};
    finish_maker(m, 2, 1);
    m->function[1].arena_bytes.value = 4096;
}

#endif
