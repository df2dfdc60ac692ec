/* Memory of a program: what the plan (program/memory.c) asks about kernels, what kernels are told of it, the
 * exact peak. Whether a result may lie over an operand is a proof over flat TIR (lower/in_place.c). */
#include "driver/program.h"

#include <string.h>

static bool allows(void *user, uint32_t group, uint32_t input, uint32_t output)
{
    enum { UNKNOWN, NO, YES };
    tn_maker *m = user;
    tn_group *g = &m->b->groups.at[group];
    if (!g->may_overlap)
        g->may_overlap = TN_NEW_N(&m->b->arena, uint8_t, (size_t)g->n_in * g->n_out);
    uint8_t *known = &g->may_overlap[(size_t)output * g->n_in + input];
    bool ok = input <= UINT16_MAX && output <= UINT16_MAX;
    for (uint32_t v = 0; v < g->n_variant && ok && *known == UNKNOWN; v++)
        ok = tn_flat_in_place(g->flat[v].func, input, output);
    if (*known == UNKNOWN)
        *known = ok ? YES : NO;
    return *known == YES;
}

bool program_allows(tn_maker *m, const tn_node *call, uint32_t input, uint32_t output)
{
    uint64_t group = 0;
    return !m->b->opt.no_in_place && tn_map_get(&m->all->group, tn_map_key(call), &group) &&
           allows(m, (uint32_t)group, input, output);
}

/* Notes that calls of the kernel have the output over the input. */
static void add_overlap(tn_maker *m, uint32_t group, uint32_t input, uint32_t output)
{
    tn_kernel_signature *k = &m->b->signature[group];
    TN_ASSERT(allows(m, group, input, output));
    if (tn_kernel_overlap(k, input, output))
        return;
    tn_overlap *to = TN_NEW_N(&m->b->arena, tn_overlap, k->n_overlap + 1);
    for (uint32_t i = 0; i < k->n_overlap; i++)
        to[i] = k->overlap[i];
    to[k->n_overlap++] = (tn_overlap){(uint16_t)input, (uint16_t)output, TN_OVERLAP_MAY};
    k->overlap = to;
}

/* Kernels are told which of their inputs their results may lie over. */
static void tell_kernels(tn_maker *m)
{
    for (uint32_t i = 0; i < m->insts.n; i++) {
        const tn_inst_ir *x = &m->insts.at[i];
        const tn_group *g = x->op == TN_INST_CALL ? &m->b->groups.at[x->a] : NULL;
        for (uint32_t o = 0; g && o < g->n_out; o++) {
            uint32_t slot = x->operand[g->n_in + o], n = 0;
            bool state = m->slots.at[slot].kind == TN_SLOT_STATE;
            int64_t over = state ? (int64_t)slot : m->slots.at[slot].over;
            if (over < 0 || (!state && m->life.at[slot].first != i))
                continue;
            for (uint32_t k = 0; k < g->n_in; k++)
                if (x->operand[k] == over) {
                    add_overlap(m, x->a, k, o);
                    n++;
                }
            m->b->n_in_place += n > 0 || !state;
        }
    }
    for (uint32_t i = 0; i < m->b->groups.n; i++) {
        tn_group *g = &m->b->groups.at[i];
        for (uint32_t v = 0; v < g->n_variant; v++) {
            g->flat[v].n_overlap = m->b->signature[i].n_overlap;
            g->flat[v].overlap = m->b->signature[i].overlap;
        }
    }
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

void tn_symbol_facts(const tn_graph *g, tn_facts *out)
{
    tn_facts_init(out);
    for (uint32_t i = 0; i < g->n_symbol; i++)
        tn_facts_range(out, tn_sym(g->pool, g->symbol[i].name), g->symbol[i].min, g->symbol[i].max);
}

/* ---- temporaries of the pool ---- */

static bool pools_temporaries(const tn_build *b)
{
    return b->opt.memory && strcmp(b->opt.memory, "pool") == 0;
}

/* As runtime/value.c takes them: 64 bytes more, in multiples of a fourth of a power of two. */
static const tn_expr *block_bytes(tn_pool *p, const tn_expr *bytes)
{
    enum { LINE = 64, SMALL = 1 << 16 };
    int64_t n, step = LINE;
    if (!tn_is_int(bytes, &n) || n + LINE > SMALL)
        return tn_simplify(p, NULL, tn_add(p, bytes, tn_idx(p, LINE)));
    while (8 * step < n + LINE)
        step *= 2;
    return tn_idx(p, (n + LINE + step - 1) / step * step);
}

/* Temporaries are not planned, and take what lives at once. */
static const tn_expr *pool_temporaries(tn_maker *m, const tn_facts *facts)
{
    tn_vec(tn_lifetime) life = {0};
    for (uint32_t i = 0; i < m->slots.n; i++) {
        tn_slot_ir *s = &m->slots.at[i];
        if (s->kind != TN_SLOT_TEMP || s->storage != TN_STORAGE_BYTES)
            continue;
        s->storage = TN_STORAGE_POOL;
        s->segment = 0;
        tn_lifetime l = m->life.at[i];
        l.bytes = block_bytes(&m->b->pool, s->bytes);
        if (l.first != UINT32_MAX)
            tn_vec_push(&life, l);
    }
    const tn_expr *alive = tn_plan_alive(&m->b->pool, facts, (uint32_t)life.n, life.at);
    tn_vec_deinit(&life);
    return alive;
}

/* ---- the plan ---- */

void program_plan(tn_maker *m, tn_program_function_ir *to)
{
    tn_build *b = m->b;
    tn_pool *p = &b->pool;
    const tn_expr **segment = TN_NEW_N(&b->arena, const tn_expr *, m->n_segment),
                  *peak = tn_idx(p, (int64_t)(scratch_of_calls(m) * b->machine.cores));
    tn_facts facts;
    tn_symbol_facts(&b->graph, &facts);
    bool is_main = m->all->made.n == 0;
    tn_arena_plan *plan = TN_NEW_N(&b->arena, tn_arena_plan, m->n_segment + 1);
    if (pools_temporaries(b))
        peak = tn_add(p, peak, pool_temporaries(m, &facts));
    tn_program_plan(&(tn_memory_plan){.pool = p,
                                      .arena = &b->arena,
                                      .facts = &facts,
                                      .n_slot = (uint32_t)m->slots.n,
                                      .n_inst = (uint32_t)m->insts.n,
                                      .n_segment = m->n_segment,
                                      .slot = m->slots.at,
                                      .inst = m->insts.at,
                                      .life = m->life.at,
                                      .kernel = b->signature,
                                      .allows = b->opt.no_in_place || pools_temporaries(b) ? NULL : allows,
                                      .user = m,
                                      .plan = plan});
    tn_facts_deinit(&facts);
    for (uint32_t s = 0; s <= m->n_segment; s++) {
        peak = tn_add(p, peak, plan[s].bytes);
        if (s)
            segment[s - 1] = plan[s].bytes;
    }
    tell_kernels(m);
    for (uint32_t i = 0; i < m->slots.n; i++)
        if (m->slots.at[i].kind != TN_SLOT_TEMP)
            peak = tn_add(p, peak, m->slots.at[i].bytes);
    to->n_segment = m->n_segment;
    to->segment_bytes = segment;
    to->arena_bytes = to->work_offset = plan[0].bytes;
    if (!is_main)
        return;
    b->plan = plan;
    b->peak = tn_simplify(p, NULL, peak);
}
