#ifndef TENON_TESTS_RUNTIME_VALUES_H
#define TENON_TESTS_RUNTIME_VALUES_H
/* Programs with handles. */
#include "runtime/maker.h"

/* y = x + (x + 1): f adds two boxed tensors, a closure captures the second; a tuple and a reference carry the
 * results, and a reference that holds itself is left behind. Of a value of tag 1, field 0 is taken; of
 * others, the run fails. */
static inline void make_closure(maker *m)
{
    static const char *const text[] = {"not a pair"};
    *m = (maker){0};
    uint32_t x = put_floats(m, 0, TN_SLOT_INPUT, "x"), y = put_floats(m, 0, TN_SLOT_OUTPUT, "y"),
             t = put_floats(m, 0, TN_SLOT_TEMP, ""), h = put_handle(m, 0, TN_SLOT_TEMP, ""),
             g = put_handle(m, 0, TN_SLOT_TEMP, ""), c = put_handle(m, 0, TN_SLOT_TEMP, ""),
             r = put_handle(m, 0, TN_SLOT_TEMP, ""), s = put_handle(m, 0, TN_SLOT_TEMP, "");
    put_inst(m, 0, TN_INST_CALL, K_ADD_ONE, 2, x, t);
    put_inst(m, 0, TN_INST_BOX, 0, 2, x, h);
    put_inst(m, 0, TN_INST_BOX, 0, 2, t, g);
    put_inst(m, 0, TN_INST_CLOSURE, 1, 2, g, c);
    put_inst(m, 0, TN_INST_APPLY, 1, 3, c, h, g);
    put_inst(m, 0, TN_INST_CONSTRUCT, 1, 3, g, c, r);
    put_inst(m, 0, TN_INST_REF_NEW, 0, 2, h, s);
    put_inst(m, 0, TN_INST_REF_WRITE, 0, 2, s, r);
    put_inst(m, 0, TN_INST_REF_READ, 0, 2, s, h);
    put_inst(m, 0, TN_INST_REF_WRITE, 0, 2, s, s);
    put_inst(m, 0, TN_INST_JUMP_TAG, 14, 2, h, 1);
    put_inst(m, 0, TN_INST_FIELD, 0, 2, h, g);
    put_inst(m, 0, TN_INST_UNBOX, 0, 2, g, y);
    put_inst(m, 0, TN_INST_JUMP, 15, 0);
    put_inst(m, 0, TN_INST_FAIL, 0, 0);
    put_inst(m, 0, TN_INST_TEXT, 0, 1, r);
    put_inst(m, 0, TN_INST_MOVE, 0, 2, r, c);
    uint32_t a = put_handle(m, 1, TN_SLOT_INPUT, "a"), b = put_handle(m, 1, TN_SLOT_INPUT, "b"),
             u = put_floats(m, 1, TN_SLOT_TEMP, ""), v = put_floats(m, 1, TN_SLOT_TEMP, ""),
             w = put_floats(m, 1, TN_SLOT_TEMP, ""), z = put_handle(m, 1, TN_SLOT_OUTPUT, "z");
    put_inst(m, 1, TN_INST_UNBOX, 0, 2, a, u);
    put_inst(m, 1, TN_INST_UNBOX, 0, 2, b, v);
    put_inst(m, 1, TN_INST_CALL, K_ADD, 3, u, v, w);
    put_inst(m, 1, TN_INST_BOX, 0, 2, w, z);
    finish_maker(m, 2, 0);
    m->program.text = text;
    m->program.n_text = 1;
}

/* A list of n elements is made and dropped; y = x. */
static inline void make_list(maker *m)
{
    *m = (maker){0};
    uint32_t n = put_slot(m, 0, TN_SLOT_INPUT, "n", kDLInt, 64, 0), x = put_floats(m, 0, TN_SLOT_INPUT, "x"),
             y = put_floats(m, 0, TN_SLOT_OUTPUT, "y"), k = put_slot(m, 0, TN_SLOT_TEMP, "", kDLInt, 64, 0),
             k1 = put_slot(m, 0, TN_SLOT_TEMP, "", kDLInt, 64, 0),
             c = put_slot(m, 0, TN_SLOT_TEMP, "", kDLBool, 8, 0), h = put_handle(m, 0, TN_SLOT_TEMP, ""),
             l = put_handle(m, 0, TN_SLOT_TEMP, "");
    put_inst(m, 0, TN_INST_COPY, 0, 2, n, k);
    put_inst(m, 0, TN_INST_BOX, 0, 2, x, h);
    put_inst(m, 0, TN_INST_CONSTRUCT, 0, 1, l);
    put_inst(m, 0, TN_INST_CALL, K_POSITIVE, 2, k, c); /* 3 */
    put_inst(m, 0, TN_INST_JUMP_FALSE, 9, 1, c);
    put_inst(m, 0, TN_INST_CONSTRUCT, 1, 3, h, l, l);
    put_inst(m, 0, TN_INST_CALL, K_DECREMENT, 2, k, k1);
    put_inst(m, 0, TN_INST_COPY, 0, 2, k1, k);
    put_inst(m, 0, TN_INST_JUMP, 3, 0);
    put_inst(m, 0, TN_INST_MOVE, 0, 2, h, l); /* 9: the list goes */
    put_inst(m, 0, TN_INST_UNBOX, 0, 2, l, y);
    finish_maker(m, 1, 0);
}

#endif
