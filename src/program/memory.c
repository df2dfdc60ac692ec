/* Memory of a program: which results take the memory of an operand, where temporaries lie, the exact peak.
 *
 * A result is computed in place where its kernel allows that (lower/in_place.c) for an operand of the same size that is
 * read for the last time there. Both, and what they took over before, are one thing for the plan. Where that makes the
 * arena larger (long lives are hard to place) nothing is computed in place.
 *
 * Work memory of a call is a temporary that lives for that instruction. */
#include "base/vec.h"
#include "program/program.h"

typedef tn_vec(tn_lifetime) lifetimes;

/* ---- in place ---- */

/* May call `at` have result number k over slot s? Wherever s is an operand, the kernel must allow it: a value
 * and its reshape are one slot. */
static bool fits_over(const tn_memory_plan *m, uint32_t at, uint32_t k, uint32_t s)
{
    const tn_inst_ir *x = &m->inst[at];
    const tn_kernel_signature *f = &m->kernel[x->a];
    uint32_t o = x->operand[f->n_in + k];
    const tn_slot_ir *from = &m->slot[s], *to = &m->slot[o];
    if (from->kind != TN_SLOT_TEMP || s == o || from->segment != to->segment || from->bytes != to->bytes ||
        tn_is_value(to->bytes, 0) || m->life[s].last != at || m->life[o].first != at)
        return false;
    for (uint32_t i = 0; i < k; i++) /* each operand's memory goes to one result */
        if (m->slot[x->operand[f->n_in + i]].over == s)
            return false;
    for (uint32_t i = 0; i < f->n_in; i++)
        if (x->operand[i] == s && !m->allows(m->user, x->a, i, k))
            return false;
    return true;
}

static void choose(tn_memory_plan *m)
{
    for (uint32_t i = 0; i < m->n_inst; i++) {
        const tn_inst_ir *x = &m->inst[i];
        const tn_kernel_signature *f = x->op == TN_INST_CALL ? &m->kernel[x->a] : NULL;
        for (uint32_t k = 0; f && k < f->n_out; k++) {
            tn_slot_ir *out = &m->slot[x->operand[f->n_in + k]];
            for (uint32_t n = 0; n < f->n_in && out->kind == TN_SLOT_TEMP && out->over < 0; n++)
                if (fits_over(m, i, k, x->operand[n]))
                    out->over = x->operand[n];
        }
    }
}

/* ---- offsets ---- */

/* What one arena holds. */
typedef struct {
    lifetimes life;
    tn_vec(uint32_t) of; /* of each slot of the program its thing, or UINT32_MAX */
} things;

static void things_deinit(things *t)
{
    tn_vec_deinit(&t->life);
    tn_vec_deinit(&t->of);
}

/* Slots that are written before those that take their memory. */
static things things_of(const tn_memory_plan *m, uint32_t segment, bool in_place)
{
    things t = {0};
    for (uint32_t i = 0; i < m->n_slot; i++)
        tn_vec_push(&t.of, UINT32_MAX);
    for (uint32_t i = 0; i < m->n_slot; i++) {
        const tn_slot_ir *s = &m->slot[i];
        if (s->kind != TN_SLOT_TEMP || s->storage != TN_STORAGE_BYTES || s->segment != segment ||
            (in_place && s->over >= 0))
            continue;
        t.of.at[i] = (uint32_t)t.life.n;
        tn_vec_push(&t.life, m->life[i]);
    }
    for (bool more = in_place; more;) {
        more = false;
        for (uint32_t i = 0; i < m->n_slot; i++) {
            const tn_slot_ir *s = &m->slot[i];
            if (s->kind != TN_SLOT_TEMP || s->segment != segment || s->over < 0 || t.of.at[i] != UINT32_MAX)
                continue;
            uint32_t on = t.of.at[s->over];
            more = more || on == UINT32_MAX;
            if (on == UINT32_MAX)
                continue;
            t.of.at[i] = on;
            t.life.at[on].last = t.life.at[on].last > m->life[i].last ? t.life.at[on].last : m->life[i].last;
        }
    }
    return t;
}

static tn_arena_plan place(tn_memory_plan *m, uint32_t segment, bool in_place, things *out)
{
    tn_arena_plan r;
    *out = things_of(m, segment, in_place);
    r.bytes = tn_plan_memory(m->pool, m->facts, m->arena, (uint32_t)out->life.n, out->life.at, &r.smallest);
    r.alive = tn_plan_alive(m->pool, m->facts, (uint32_t)out->life.n, out->life.at);
    return r;
}

static void take_offsets(tn_memory_plan *m, const things *t)
{
    for (uint32_t i = 0; i < m->n_slot; i++)
        if (t->of.at[i] != UINT32_MAX)
            m->slot[i].offset = t->life.at[t->of.at[i]].offset;
}

/* ---- the plan ---- */

/* Plans segment s in place, and without where that is no proof of being the smallest; the smaller one stands. */
static void plan_segment(tn_memory_plan *m, uint32_t s)
{
    things t, plain = {0};
    tn_arena_plan r = place(m, s, true, &t);
    if (!r.smallest) {
        tn_arena_plan q = place(m, s, false, &plain);
        if (tn_plan_nominal(m->pool, m->facts, q.bytes) < tn_plan_nominal(m->pool, m->facts, r.bytes)) {
            for (uint32_t i = 0; i < m->n_slot; i++)
                if (plain.of.at[i] != UINT32_MAX)
                    m->slot[i].over = -1;
            r.bytes = q.bytes; /* alive: what could have been */
            things swap = t;
            t = plain;
            plain = swap;
        }
    }
    take_offsets(m, &t);
    m->plan[s] = r;
    things_deinit(&t);
    things_deinit(&plain);
}

void tn_program_plan(tn_memory_plan *m)
{
    if (m->allows)
        choose(m);
    for (uint32_t s = 0; s <= m->n_segment; s++)
        plan_segment(m, s);
}
