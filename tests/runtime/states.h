#ifndef TENON_TESTS_RUNTIME_STATES_H
#define TENON_TESTS_RUNTIME_STATES_H
/* Programs with states. */
#include "runtime/maker.h"

enum { CACHE_ROWS = 512 };

static const tn_size state_dim[] = {{MAKER_N, NULL}}, cache_dim[] = {{CACHE_ROWS, NULL}, {MAKER_N, NULL}};
static const tn_state sum_state = {.name = "sum",
                                   .dim = state_dim,
                                   .bytes = 16,
                                   .code = kDLFloat,
                                   .bits = 32,
                                   .ndim = 1,
                                   .axis = -1,
                                   .init = -1};
static const tn_state cache_state = {.name = "cache",
                                     .dim = cache_dim,
                                     .bytes = CACHE_ROWS * 16,
                                     .code = kDLFloat,
                                     .bits = 32,
                                     .ndim = 2,
                                     .axis = 0,
                                     .init = -1};

static inline uint32_t put_state(maker *m, int f, const tn_state *s, uint32_t which)
{
    maker_function *x = &m->f[f];
    x->slot[x->n_slot] = (tn_slot){.name = s->name,
                                   .kind = TN_SLOT_STATE,
                                   .code = s->code,
                                   .bits = s->bits,
                                   .ndim = s->ndim,
                                   .dim = s->dim,
                                   .bytes = {(int64_t)s->bytes, NULL},
                                   .alias = which};
    return x->n_slot++;
}

/* sum += x, in place; y = sum */
static inline void make_sum(maker *m)
{
    static tn_state state;
    state = sum_state;
    *m = (maker){0};
    uint32_t x = put_floats(m, 0, TN_SLOT_INPUT, "x"), s = put_state(m, 0, &state, 0),
             y = put_floats(m, 0, TN_SLOT_OUTPUT, "y");
    put_inst(m, 0, TN_INST_CALL, K_ACCUMULATE, 3, x, s, s);
    put_inst(m, 0, TN_INST_COPY, 0, 2, s, y);
    finish_maker(m, 1, 0);
    m->program.state = &state;
    m->program.n_state = 1;
}

/* The same, from what f gives: 1 1 1 1. */
static inline void make_sum_from(maker *m, tn_state *state)
{
    make_sum(m);
    *state = sum_state;
    state->init = 1;
    uint32_t t = put_floats(m, 1, TN_SLOT_TEMP, ""), z = put_floats(m, 1, TN_SLOT_OUTPUT, "z"),
             zero = put_floats(m, 1, TN_SLOT_STATE, "zero");
    m->f[1].slot[zero] = (tn_slot){.name = "zero",
                                   .kind = TN_SLOT_STATE,
                                   .code = kDLFloat,
                                   .bits = 32,
                                   .ndim = 1,
                                   .dim = state_dim,
                                   .bytes = {16, NULL},
                                   .alias = 1};
    put_inst(m, 1, TN_INST_COPY, 0, 2, zero, t);
    put_inst(m, 1, TN_INST_CALL, K_ADD_ONE, 2, t, z);
    finish_maker(m, 2, 0);
    state[1] = sum_state; /* all zeros */
    state[1].name = "zero";
    m->program.state = state;
    m->program.n_state = 2;
}

static inline int64_t next_row(const int64_t *sym) { return sym[0] + 1; }

/* Appends x to the cache. */
static inline void make_cache(maker *m)
{
    static tn_state state;
    state = cache_state;
    *m = (maker){0};
    uint32_t x = put_floats(m, 0, TN_SLOT_INPUT, "x"), s = put_state(m, 0, &state, 0),
             y = put_floats(m, 0, TN_SLOT_OUTPUT, "y");
    m->f[0].size[0] = (tn_size){0, next_row};
    m->f[0].size[1] = (tn_size){0, maker_symbol};
    m->f[0].symbol[0] = (tn_symbol){"n", 0, CACHE_ROWS};
    put_inst(m, 0, TN_INST_BIND_STATE, 0, 1, s);
    put_inst(m, 0, TN_INST_GROW, 0, 2, s, 0);
    put_inst(m, 0, TN_INST_STORE, 0, 3, x, s, 1);
    put_inst(m, 0, TN_INST_CALL, K_ADD_ONE, 2, x, y);
    finish_maker(m, 1, 1);
    m->function[0].n_late = 1;
    m->function[0].n_size = 2;
    m->program.state = &state;
    m->program.n_state = 1;
}

#endif
