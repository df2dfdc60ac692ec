/* A program in the structs of tenon/abi.h, in memory: what a package has as constant data. */
#include "program/program.h"

typedef struct {
    tn_arena *arena;
    uint32_t function; /* its number */
    tn_size (*size)(void *user, uint32_t function, const tn_expr *e);
    void *user;
} writer;

static tn_size size(const writer *w, const tn_expr *e, int64_t absent)
{
    int64_t v = absent;
    return !e || tn_is_int(e, &v) ? (tn_size){.value = v} : w->size(w->user, w->function, e);
}

static const tn_size *sizes(const writer *w, uint32_t n, const tn_expr *const *e)
{
    tn_size *out = n ? TN_NEW_N(w->arena, tn_size, n) : NULL;
    for (uint32_t i = 0; i < n; i++)
        out[i] = size(w, e[i], 0);
    return out;
}

static const tn_slot *slots(const writer *w, const tn_program_function_ir *f)
{
    tn_slot *out = TN_NEW_N(w->arena, tn_slot, f->n_slot);
    for (uint32_t i = 0; i < f->n_slot; i++) {
        const tn_slot_ir *s = &f->slot[i];
        out[i] = (tn_slot){.name = s->name,
                           .kind = s->kind,
                           .storage = s->storage,
                           .code = s->dtype.code,
                           .bits = s->dtype.bits,
                           .ndim = s->ndim,
                           .dim = sizes(w, s->ndim, s->dim),
                           .bind = s->bind,
                           .bytes = size(w, s->bytes, 0),
                           .offset = size(w, s->offset, -1),
                           .alias = s->alias,
                           .segment = s->segment};
    }
    return out;
}

static void instructions(const writer *w, const tn_program_function_ir *f, tn_program_function *out)
{
    tn_inst *inst = TN_NEW_N(w->arena, tn_inst, f->n_inst);
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < f->n_inst; i++)
        n += f->inst[i].n_operand;
    uint32_t *operand = TN_NEW_N(w->arena, uint32_t, n);
    for (uint32_t i = 0; i < f->n_inst; i++) {
        const tn_inst_ir *x = &f->inst[i];
        inst[i] = (tn_inst){.op = x->op, .a = x->a, .operand = k, .n_operand = x->n_operand, .node = x->node};
        for (uint32_t o = 0; o < x->n_operand; o++)
            operand[k++] = x->operand[o];
    }
    out->inst = inst;
    out->n_inst = f->n_inst;
    out->operand = operand;
    out->n_operand = n;
}

const tn_program *tn_program_tables(tn_arena *arena, const tn_program_ir *p,
                                    tn_size (*get)(void *user, uint32_t function, const tn_expr *e),
                                    void *user)
{
    tn_program_function *function = TN_NEW_N(arena, tn_program_function, p->n_function);
    for (uint32_t i = 0; i < p->n_function; i++) {
        const tn_program_function_ir *f = &p->function[i];
        writer w = {arena, i, get, user};
        function[i] = (tn_program_function){.name = f->name,
                                            .slot = slots(&w, f),
                                            .n_slot = f->n_slot,
                                            .symbol = f->symbol,
                                            .n_symbol = f->n_symbol,
                                            .n_late = f->n_late,
                                            .size = sizes(&w, f->n_size, f->size),
                                            .n_size = f->n_size,
                                            .segment_bytes = sizes(&w, f->n_segment, f->segment_bytes),
                                            .n_segment = f->n_segment,
                                            .arena_bytes = size(&w, f->arena_bytes, 0),
                                            .work_offset = size(&w, f->work_offset, 0)};
        instructions(&w, f, &function[i]);
    }
    tn_program *out = TN_NEW(arena, tn_program);
    *out = (tn_program){.function = function,
                        .n_function = p->n_function,
                        .state = p->state,
                        .n_state = p->n_state,
                        .text = p->text,
                        .n_text = p->n_text,
                        .depth = p->depth};
    return out;
}
