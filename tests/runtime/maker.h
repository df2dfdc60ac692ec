#ifndef TENON_TESTS_RUNTIME_MAKER_H
#define TENON_TESTS_RUNTIME_MAKER_H
/* Programs of several functions, made in memory by appending slots and instructions; and the kernels they call. */
#include "tenon/runtime.h"

#include <stdarg.h>
#include <string.h>

enum { MAKER_ROWS = 40, MAKER_OPERANDS = 200, MAKER_FUNCTIONS = 4, MAKER_N = 4 };

typedef struct maker_function {
    tn_slot slot[MAKER_ROWS];
    tn_size dim[MAKER_ROWS];
    tn_inst inst[MAKER_ROWS];
    uint32_t operand[MAKER_OPERANDS];
    tn_size size[MAKER_ROWS];
    tn_symbol symbol[4];
    uint32_t n_slot, n_inst, n_operand, arena;
} maker_function;

typedef struct maker {
    maker_function f[MAKER_FUNCTIONS];
    tn_program_function function[MAKER_FUNCTIONS];
    tn_program program;
    tn_library library;
} maker;

static const int32_t maker_bind[] = {0};
static inline int64_t maker_symbol(const int64_t *sym) { return sym[0]; }
static inline int64_t maker_symbol_bytes(const int64_t *sym) { return 4 * sym[0]; }

/* ---- kernels: float32[n] unless said ---- */

enum { K_ADD_ONE, K_ADD, K_DECREMENT, K_POSITIVE, K_ACCUMULATE, K_COUNT };

static inline int32_t k_add_one(const tn_call *c, uint32_t step, uint32_t task, void *scratch)
{
    (void)step, (void)scratch;
    ((float *)c->arg[1])[task] = ((const float *)c->arg[0])[task] + 1;
    return 0;
}
static inline int32_t k_add(const tn_call *c, uint32_t step, uint32_t task, void *scratch)
{
    (void)step, (void)scratch;
    ((float *)c->arg[2])[task] = ((const float *)c->arg[0])[task] + ((const float *)c->arg[1])[task];
    return 0;
}
static inline int32_t k_decrement(const tn_call *c, uint32_t step, uint32_t task,
                                  void *scratch) /* one int64 */
{
    (void)step, (void)scratch, (void)task;
    *(int64_t *)c->arg[1] = *(const int64_t *)c->arg[0] - 1;
    return 0;
}
static inline int32_t k_positive(const tn_call *c, uint32_t step, uint32_t task,
                                 void *scratch) /* int64 -> bool */
{
    (void)step, (void)scratch, (void)task;
    *(uint8_t *)c->arg[1] = *(const int64_t *)c->arg[0] > 0;
    return 0;
}
static inline int32_t k_accumulate(const tn_call *c, uint32_t step, uint32_t task, void *scratch) /* s += x */
{
    (void)step, (void)scratch;
    if (c->arg[1] != c->arg[2])
        return 1;
    ((float *)c->arg[2])[task] += ((const float *)c->arg[0])[task];
    return 0;
}

static const tn_overlap maker_must = {1, 0, TN_OVERLAP_MUST};
static const char *const maker_check[] = {"the state was moved"};
#define MAKER_VARIANT(fn, n) \
    &(const tn_variant){.guard = {1, NULL}, \
                        .steps = {1, NULL}, \
                        .phase = &(const tn_phase){.run = (fn), .tasks = {(n), NULL}}, \
                        .n_phase = 1}
static const tn_kernel maker_kernel[K_COUNT] = {
    {.name = "add_one",
     .source = "Add",
     .variant = MAKER_VARIANT(k_add_one, MAKER_N),
     .n_variant = 1,
     .n_in = 1,
     .n_out = 1},
    {.name = "add",
     .source = "Add",
     .variant = MAKER_VARIANT(k_add, MAKER_N),
     .n_variant = 1,
     .n_in = 2,
     .n_out = 1},
    {.name = "decrement",
     .source = "Sub",
     .variant = MAKER_VARIANT(k_decrement, 1),
     .n_variant = 1,
     .n_in = 1,
     .n_out = 1},
    {.name = "positive",
     .source = "Greater",
     .variant = MAKER_VARIANT(k_positive, 1),
     .n_variant = 1,
     .n_in = 1,
     .n_out = 1},
    {.name = "accumulate",
     .source = "Add",
     .variant = MAKER_VARIANT(k_accumulate, MAKER_N),
     .n_variant = 1,
     .n_in = 2,
     .n_out = 1,
     .check = maker_check,
     .n_check = 1,
     .overlap = &maker_must,
     .n_overlap = 1},
};

/* ---- tables ---- */

/* A slot of n elements; ndim 0 where n is 0. Temporaries get places of their own. */
static inline uint32_t put_slot(maker *m, int f, int kind, const char *name, int code, int bits, int64_t n)
{
    maker_function *x = &m->f[f];
    uint32_t at = x->n_slot++;
    int64_t bytes = (n ? n : 1) * (bits < 8 ? 1 : bits / 8);
    x->dim[at] = (tn_size){n, NULL};
    x->slot[at] = (tn_slot){.name = name,
                            .kind = (uint8_t)kind,
                            .code = (uint8_t)code,
                            .bits = (uint8_t)bits,
                            .ndim = n > 0,
                            .dim = &x->dim[at],
                            .bytes = {bytes, NULL},
                            .alias = -1};
    if (kind == TN_SLOT_OUTPUT)
        x->slot[at].offset.value = -1;
    if (kind == TN_SLOT_TEMP) {
        x->slot[at].offset.value = x->arena;
        x->arena += (uint32_t)(bytes + 63) / 64 * 64;
    }
    return at;
}
static inline uint32_t put_floats(maker *m, int f, int kind, const char *name)
{
    return put_slot(m, f, kind, name, kDLFloat, 32, MAKER_N);
}
static inline uint32_t put_handle(maker *m, int f, int kind, const char *name)
{
    maker_function *x = &m->f[f];
    x->slot[x->n_slot] = (tn_slot){.name = name,
                                   .kind = (uint8_t)kind,
                                   .storage = TN_STORAGE_HANDLE,
                                   .code = kDLOpaqueHandle,
                                   .bits = 64,
                                   .offset = {kind == TN_SLOT_OUTPUT ? -1 : 0, NULL},
                                   .alias = -1};
    return x->n_slot++;
}
/* A slot of the floats [n], n the function's only symbol. */
static inline uint32_t put_symbolic(maker *m, int f, int kind, const char *name)
{
    uint32_t at = put_slot(m, f, kind, name, kDLFloat, 32, 1);
    tn_slot *s = &m->f[f].slot[at];
    m->f[f].dim[at] = (tn_size){0, maker_symbol};
    s->bytes = (tn_size){0, maker_symbol_bytes};
    s->bind = kind == TN_SLOT_INPUT ? maker_bind : NULL;
    return at;
}

static inline tn_inst *put_inst(maker *m, int f, uint32_t op, uint32_t a, int n, ...)
{
    maker_function *x = &m->f[f];
    va_list ap;
    va_start(ap, n);
    tn_inst *in = &x->inst[x->n_inst++];
    *in = (tn_inst){op, a, x->n_operand, (uint32_t)n, "node"};
    for (int i = 0; i < n; i++)
        x->operand[x->n_operand++] = va_arg(ap, uint32_t);
    va_end(ap);
    return in;
}

static inline void finish_maker(maker *m, uint32_t n_function, uint32_t n_symbol)
{
    static const char *const name[] = {"main", "f", "g", "h"};
    for (uint32_t i = 0; i < n_function; i++) {
        maker_function *x = &m->f[i];
        m->function[i] = (tn_program_function){.name = name[i],
                                               .slot = x->slot,
                                               .inst = x->inst,
                                               .operand = x->operand,
                                               .symbol = x->symbol,
                                               .size = x->size,
                                               .n_slot = x->n_slot,
                                               .n_inst = x->n_inst,
                                               .n_operand = x->n_operand,
                                               .arena_bytes = {x->arena, NULL}};
    }
    m->function[n_function - 1].n_symbol = n_symbol;
    m->program = (tn_program){.function = m->function, .n_function = n_function};
    m->library = (tn_library){.version = TENON_ABI_VERSION,
                              .n_kernel = K_COUNT,
                              .kernel = maker_kernel,
                              .program = &m->program,
                              .producer = "maker",
                              .target = "maker"};
}

static inline DLTensor maker_floats(float *data, int64_t *n)
{
    return (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = n};
}

#endif
