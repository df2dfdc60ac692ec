/* What a search knows before its first trial: schedules that were timed before, of any workload. Each is made again of
 * its own function, without being timed; its features, and how near it came to the best of its group, are rows beside
 * those of the tasks. Where features are choices, only a task of the same workload has a use for them. */
#include "tune/search_impl.h"

#include <math.h>
#include <string.h>

static const double SHARE = 0.125; /* of a search's time */

typedef struct made {
    tn_arena arena;
    tn_pool pool;
    tn_sched s;
} made;

static void made_init(made *m, const tn_func *f)
{
    tn_arena_init(&m->arena);
    tn_pool_init(&m->pool, f->ctx, &m->arena, f->pool);
}

/* Does p say all that was picked? Defaults are nobody's choices. */
static bool has_all(const tn_past *p, const tn_asked *picked)
{
    bool all = true;
    for (uint32_t i = 0; i < picked->n && all; i++) {
        all = false;
        for (uint32_t k = 0; k < p->picks->n && !all; k++)
            all = strcmp(p->picks->at[k].name, picked->at[i].name) == 0;
    }
    return all;
}

/* By its steps, or by its choices where there are none, or features are these. */
static bool make(const tn_search *x, const tn_past *p, bool by_picks, made *m)
{
    uint32_t line;
    const tn_space space = {x->o->generator, p->load.func, x->o->machine, 0};
    if (by_picks || !p->trace)
        return p->picks && tn_explore(&space, p->picks, &m->arena, &m->pool, &m->s) == TN_DONE &&
               (p->trace || has_all(p, &m->s.picked));
    tn_sched_init(&m->s, p->load.func, &m->arena, &m->pool);
    return tn_trace_replay(&m->s, p->trace, strlen(p->trace), &line) == TN_DONE;
}

/* Where its row belongs: behind all tasks, or to the task of its workload. n_task + n_group: nowhere. */
static uint32_t place_of(const tn_search *x, const tn_past *p)
{
    if (!x->o->proposer->learns->alone)
        return x->n + p->group;
    for (uint32_t i = 0; i < x->n; i++)
        if (x->task[i].is->workload == p->workload)
            return i;
    return x->n + x->o->n_group;
}

/* NULL: it cannot be made any more. */
static const float *features_of(tn_search *x, const tn_past *p, uint32_t at)
{
    made m;
    const float *f = NULL;
    made_init(&m, p->load.func);
    if (make(x, p, x->o->proposer->learns->alone, &m)) {
        const tn_featured of = {m.s.func, p->load.sym, x->o->machine, m.s.picked.n, m.s.picked.at, NULL};
        f = tn_guide_features(x->guide, at, &of, &x->memory);
    }
    tn_arena_deinit(&m.arena);
    return f;
}

static double *best_of_groups(const tn_search_options *o)
{
    double *best = tn_alloc_array(o->n_group, sizeof *best);
    for (uint32_t g = 0; g < o->n_group; g++)
        best[g] = HUGE_VAL;
    for (uint32_t i = 0; i < o->n_past; i++)
        if (o->past[i].seconds < best[o->past[i].group])
            best[o->past[i].group] = o->past[i].seconds;
    return best;
}

/* Equal schedules of one function are made once: features do not depend on who timed them. */
static uint64_t key_of(const tn_past *p, uint32_t at, bool by_picks)
{
    uint64_t key = tn_hash_u64(tn_map_key(p->load.func), by_picks ? at : 0);
    if (!by_picks && p->trace)
        return tn_hash_bytes(p->trace, strlen(p->trace), key);
    for (uint32_t i = 0; p->picks && i < p->picks->n; i++) {
        const tn_pick_value *g = &p->picks->at[i];
        key = tn_hash_u64(tn_hash_bytes(g->name, strlen(g->name), key), (uint64_t)g->value.number);
        key = g->value.word ? tn_hash_bytes(g->value.word, strlen(g->value.word), key) : key;
    }
    return key;
}

static const float *known_features(tn_search *x, tn_map *all, const tn_past *p, uint32_t at)
{
    const uint64_t key = key_of(p, at, x->o->proposer->learns->alone);
    uint64_t known;
    if (!tn_map_get(all, key, &known)) {
        known = tn_map_key(features_of(x, p, at));
        tn_map_put(all, key, known);
    }
    return (const float *)(uintptr_t)known;
}

static bool is_over(const tn_search *x)
{
    return x->o->seconds > 0 && tn_now() - x->begin >= SHARE * x->o->seconds;
}

void tn_search_recall(tn_search *x)
{
    const tn_search_options *o = x->o;
    double *best = best_of_groups(o);
    tn_map all = {0};
    for (uint32_t i = 0; i < o->n_past && !is_over(x); i++) {
        const tn_past *p = &o->past[i];
        const uint32_t at = place_of(x, p);
        tn_poll();
        const float *f = at < x->n + o->n_group ? known_features(x, &all, p, at) : NULL;
        if (f)
            tn_vec_push(&x->past,
                        ((past_row){at, f, p->seconds == HUGE_VAL ? 0 : best[p->group] / p->seconds}));
    }
    if (o->recalled)
        *o->recalled = (uint32_t)x->past.n;
    tn_map_deinit(&all);
    tn_free(best);
}
