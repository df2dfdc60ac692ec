/* What a search knows before its first trial: schedules that were timed before, of any workload. Each is made again of
 * its own function, without being timed; its features, and how near it came to the best of its group, are rows beside
 * those of the tasks. Where features are choices, only a task of the same workload has a use for them. */
#include "tune/search_impl.h"

#include <math.h>
#include <string.h>

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

/* By its steps, or by its choices where there are none, or features are these. */
static bool make(const tn_search *x, const tn_past *p, bool by_picks, made *m)
{
    uint32_t line;
    const tn_space space = {x->o->generator, p->load.func, x->o->machine, 0};
    if (by_picks || !p->trace)
        return p->picks && tn_explore(&space, p->picks, &m->arena, &m->pool, &m->s) == TN_DONE;
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

void tn_search_recall(tn_search *x)
{
    const tn_search_options *o = x->o;
    double *best = best_of_groups(o);
    for (uint32_t i = 0; i < o->n_past; i++) {
        const tn_past *p = &o->past[i];
        const uint32_t at = place_of(x, p);
        tn_poll();
        const float *f = at < x->n + o->n_group ? features_of(x, p, at) : NULL;
        if (f)
            tn_vec_push(&x->past,
                        ((past_row){at, f, p->seconds == HUGE_VAL ? 0 : best[p->group] / p->seconds}));
    }
    if (o->recalled)
        *o->recalled = (uint32_t)x->past.n;
    tn_free(best);
}
