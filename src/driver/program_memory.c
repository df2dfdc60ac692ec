/* Memory of a program: which results take the memory of an operand, where temporaries lie, the exact peak.
 *
 * A result is computed in place where its kernel allows that (lower/in_place.c) for an operand of the same size that is
 * read for the last time there. Both, and what they took over before, are one thing for the plan. Where that makes the
 * arena larger (long lives are hard to place) nothing is computed in place.
 *
 * Work memory of a call is a temporary that lives for that instruction. */
#include "driver/program.h"

#include <string.h>

typedef tn_vec(tn_lifetime) lifetimes;

/* ---- in place ---- */

static bool allows(tn_maker *m, uint32_t group, uint32_t input)
{
    tn_group *g = &m->b->groups.at[group];
    if (input >= 32)
        return false;
    uint32_t bit = 1u << input;
    if (!(g->in_place_known & bit)) {
        bool ok = g->n_out == 1;
        for (uint32_t v = 0; v < g->n_variant && ok; v++)
            ok = tn_flat_in_place(g->flat[v].func, input);
        g->in_place_known |= bit;
        g->in_place |= ok ? bit : 0;
    }
    return g->in_place & bit;
}

/* May call `at` have its result over slot s? Wherever s is an operand, the kernel must allow it: a value and
 * its reshape are one slot. */
static bool fits_over(tn_maker *m, uint32_t at, uint32_t s)
{
    const tn_inst_ir *x = &m->insts.at[at];
    const tn_group *g = &m->b->groups.at[x->a];
    uint32_t o = x->operand[g->n_in];
    const tn_slot_ir *from = &m->slots.at[s], *to = &m->slots.at[o];
    if (from->kind != TN_SLOT_TEMP || s == o || from->segment != to->segment || from->bytes != to->bytes ||
        tn_is_value(to->bytes, 0) || m->life.at[s].last != at || m->life.at[o].first != at)
        return false;
    for (uint32_t i = 0; i < g->n_in; i++)
        if (x->operand[i] == s && !allows(m, x->a, i))
            return false;
    return true;
}

static void choose(tn_maker *m)
{
    for (uint32_t i = 0; i < m->insts.n; i++) {
        const tn_inst_ir *x = &m->insts.at[i];
        const tn_group *g = x->op == TN_INST_CALL ? &m->b->groups.at[x->a] : NULL;
        if (!g || g->n_out != 1 || m->slots.at[x->operand[g->n_in]].kind != TN_SLOT_TEMP)
            continue;
        for (uint32_t k = 0; k < g->n_in; k++)
            if (fits_over(m, i, x->operand[k])) {
                m->slots.at[x->operand[g->n_in]].over = x->operand[k];
                break;
            }
    }
}

/* Kernels are told which of their inputs the result may lie over. */
static void tell_kernels(tn_maker *m)
{
    for (uint32_t i = 0; i < m->insts.n; i++) {
        const tn_inst_ir *x = &m->insts.at[i];
        tn_group *g = x->op == TN_INST_CALL ? &m->b->groups.at[x->a] : NULL;
        int64_t over = g && g->n_out == 1 ? m->slots.at[x->operand[g->n_in]].over : -1;
        if (over < 0 || m->life.at[x->operand[g->n_in]].first != i)
            continue;
        m->b->n_in_place++;
        for (uint32_t k = 0; k < g->n_in; k++) {
            if (x->operand[k] != over)
                continue;
            TN_ASSERT(allows(m, x->a, k));
            for (uint32_t v = 0; v < g->n_variant; v++)
                g->flat[v].in_place |= 1u << k;
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
static things things_of(const tn_maker *m, uint32_t segment, bool in_place)
{
    things t = {0};
    for (uint32_t i = 0; i < m->slots.n; i++)
        tn_vec_push(&t.of, UINT32_MAX);
    for (uint32_t i = 0; i < m->slots.n; i++) {
        const tn_slot_ir *s = &m->slots.at[i];
        if (s->kind != TN_SLOT_TEMP || s->segment != segment || (in_place && s->over >= 0))
            continue;
        t.of.at[i] = (uint32_t)t.life.n;
        tn_vec_push(&t.life, m->life.at[i]);
    }
    for (bool more = in_place; more;) {
        more = false;
        for (uint32_t i = 0; i < m->slots.n; i++) {
            const tn_slot_ir *s = &m->slots.at[i];
            if (s->kind != TN_SLOT_TEMP || s->segment != segment || s->over < 0 || t.of.at[i] != UINT32_MAX)
                continue;
            uint32_t on = t.of.at[s->over];
            more = more || on == UINT32_MAX;
            if (on == UINT32_MAX)
                continue;
            t.of.at[i] = on;
            t.life.at[on].last =
                t.life.at[on].last > m->life.at[i].last ? t.life.at[on].last : m->life.at[i].last;
        }
    }
    return t;
}

static tn_arena_plan place(tn_maker *m, uint32_t segment, bool in_place, things *out)
{
    tn_arena_plan r;
    *out = things_of(m, segment, in_place);
    r.bytes = tn_plan_memory(&m->b->graph, &m->b->arena, (uint32_t)out->life.n, out->life.at, &r.smallest);
    r.alive = tn_plan_alive(&m->b->graph, (uint32_t)out->life.n, out->life.at);
    return r;
}

static void take_offsets(tn_maker *m, const things *t)
{
    for (uint32_t i = 0; i < m->slots.n; i++)
        if (t->of.at[i] != UINT32_MAX)
            m->slots.at[i].offset = t->life.at[t->of.at[i]].offset;
}

/* ---- the plan ---- */

/* Plans segment s in place, and without where that is no proof of being the smallest; the smaller one stands. */
static void plan_segment(tn_maker *m, uint32_t s)
{
    tn_build *b = m->b;
    things t, plain = {0};
    tn_arena_plan r = place(m, s, true, &t);
    if (!r.smallest) {
        tn_arena_plan q = place(m, s, false, &plain);
        if (tn_plan_nominal(&b->graph, q.bytes) < tn_plan_nominal(&b->graph, r.bytes)) {
            for (uint32_t i = 0; i < m->slots.n; i++)
                if (plain.of.at[i] != UINT32_MAX)
                    m->slots.at[i].over = -1;
            r.bytes = q.bytes; /* alive: what could have been */
            things swap = t;
            t = plain;
            plain = swap;
        }
    }
    take_offsets(m, &t);
    b->plan[s] = r;
    things_deinit(&t);
    things_deinit(&plain);
}

static uint64_t scratch_of_calls(const tn_maker *m)
{
    uint64_t most = 0;
    for (size_t i = 0; i < m->insts.n; i++) {
        const tn_group *g = m->insts.at[i].op == TN_INST_CALL ? &m->b->groups.at[m->insts.at[i].a] : NULL;
        for (uint32_t v = 0; g && v < g->n_variant; v++)
            most = g->flat[v].scratch_bytes > most ? g->flat[v].scratch_bytes : most;
    }
    return most;
}

void program_plan(tn_maker *m)
{
    tn_build *b = m->b;
    tn_pool *p = &b->pool;
    const tn_expr **segment = TN_NEW_N(&b->arena, const tn_expr *, m->n_segment),
                  *peak = tn_idx(p, (int64_t)(scratch_of_calls(m) * b->machine.cores));
    b->plan = TN_NEW_N(&b->arena, tn_arena_plan, m->n_segment + 1);
    if (!b->opt.no_in_place)
        choose(m);
    for (uint32_t s = 0; s <= m->n_segment; s++) {
        plan_segment(m, s);
        peak = tn_add(p, peak, b->plan[s].bytes);
        if (s)
            segment[s - 1] = b->plan[s].bytes;
    }
    tell_kernels(m);
    for (uint32_t i = 0; i < m->slots.n; i++)
        if (m->slots.at[i].kind != TN_SLOT_TEMP)
            peak = tn_add(p, peak, m->slots.at[i].bytes);
    b->program.n_segment = m->n_segment;
    b->program.segment_bytes = segment;
    b->program.arena_bytes = b->program.work_offset = b->plan[0].bytes;
    b->peak = tn_simplify(p, NULL, peak);
}
