/* What a search tries next: points that its proposer names or a model chooses, each schedule once. */
#include "tune/search_impl.h"

#include "base/buf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ATTEMPTS = 24, /* to find a schedule that was not tried */
    WALK = 2000,   /* in order, once chance finds no other */
    POOL = 64      /* proposals among which a model chooses a batch */
};

/* ---- points ---- */

static char *copy_text(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(tn_alloc(n), text, n);
}

/* Without the first line, if that says what made it. */
static const char *steps_of(const char *trace) { return *trace == '#' ? strchr(trace, '\n') + 1 : trace; }

/* The hash is that of the steps alone. */
static char *trace_of(const tn_sched *s, uint64_t *out_hash)
{
    tn_buf text = {0};
    tn_trace_print(s, &text);
    char *copy = copy_text(tn_buf_cstr(&text));
    const char *body = steps_of(copy);
    *out_hash = tn_hash_bytes(body, strlen(body), 0);
    tn_buf_deinit(&text);
    return copy;
}

slot *tn_search_put_point(batch *b, uint32_t at, point *p)
{
    b->slot[b->n] = (slot){.task = at, .p = p, .trace = copy_text(steps_of(p->trace))};
    return &b->slot[b->n++];
}

static point *point_of(task *t, const tn_sched *s)
{
    point *p = TN_NEW(&t->arena, point);
    tn_pick *pick = TN_NEW_N(&t->arena, tn_pick, s->picked.n);
    for (uint32_t i = 0; i < s->picked.n; i++) {
        tn_choice *c = TN_NEW_N(&t->arena, tn_choice, s->picked.at[i].n);
        for (uint32_t k = 0; k < s->picked.at[i].n; k++) {
            c[k] = s->picked.at[i].candidate[k];
            c[k].word = c[k].word ? tn_arena_strdup(&t->arena, c[k].word) : NULL;
        }
        pick[i] = s->picked.at[i];
        pick[i].name = tn_arena_strdup(&t->arena, pick[i].name);
        pick[i].candidate = c;
    }
    *p = (point){.p = {s->picked.n, pick, HUGE_VAL}};
    return p;
}

/* Memory of one candidate. */
typedef struct attempt {
    tn_arena arena;
    tn_pool pool;
    tn_sched s;
} attempt;

static void attempt_init(attempt *a, const task *t)
{
    tn_arena_init(&a->arena);
    tn_pool_init(&a->pool, t->is->load.func->ctx, &a->arena, t->is->load.func->pool);
}

/* fit: a value that is no candidate, or none any more because another pick has changed, is left out. It becomes
 * the default, or a random one where the picks say so. */
static bool explore(const task *t, tn_picks given, bool fit, attempt *a)
{
    tn_verdict v = tn_explore(&t->space, &given, &a->arena, &a->pool, &a->s);
    while (v == TN_REJECT_PICK && fit && a->s.picked.refused) {
        given = tn_picks_without(&given, a->s.picked.refused, &a->arena);
        v = tn_explore(&t->space, &given, &a->arena, &a->pool, &a->s);
    }
    return v == TN_DONE;
}

/* The next wheel of the odometer is that of the last point that came by, refused or not. */
static void step(task *t, attempt *a)
{
    tn_picks next;
    tn_arena *to = &t->wheel[t->turn ^= 1]; /* the last one lies in the other */
    tn_arena_reset(to);
    t->more = tn_space_next(&a->s, &a->arena, &next);
    t->next = t->more ? tn_picks_copy(&next, to) : (tn_picks){0};
}

/* ---- proposing ---- */

bool tn_search_is_late(const tn_search *x)
{
    return x->o->seconds > 0 && tn_now() - x->begin >= x->o->seconds;
}

/* NULL: nobody wants them. */
static const float *features_of(const tn_search *x, uint32_t at, const tn_sched *s, tn_arena *arena)
{
    const tn_featured of = {s->func, x->task[at].is->load.sym, x->o->machine, s->picked.n, s->picked.at,
                            NULL};
    return x->guide ? tn_guide_features(x->guide, at, &of, arena) : NULL;
}

static bool put(tn_search *x, batch *b, uint32_t at, const tn_sched *s)
{
    task *t = &x->task[at];
    uint64_t hash, known;
    char *trace = trace_of(s, &hash);
    if (tn_map_get(&t->tried, hash, &known)) {
        tn_free(trace);
        return false;
    }
    tn_map_put(&t->tried, hash, 1);
    point *p = point_of(t, s);
    p->feature = features_of(x, at, s, &t->arena);
    p->number = t->all.n ? ++x->trials : 0;
    p->trace = tn_arena_strdup(&t->arena, trace);
    tn_vec_push(&t->all, p);
    t->under_way++;
    tn_free(trace);
    (void)tn_search_put_point(b, at, p);
    return true;
}

/* What has to be beaten. Its picks are none of this space. */
static bool put_rival(tn_search *x, batch *b, uint32_t at)
{
    tn_sched s;
    const tn_sched *rival = x->task[at].is->rival;
    if (!rival)
        return true;
    s = *rival;
    s.picked.n = 0;
    return put(x, b, at, &s);
}

static bool put_built_in(tn_search *x, batch *b, uint32_t at)
{
    attempt a;
    attempt_init(&a, &x->task[at]);
    bool ok = explore(&x->task[at], (tn_picks){0}, false, &a) && put(x, b, at, &a.s);
    step(&x->task[at], &a);
    tn_arena_deinit(&a.arena);
    return ok;
}

/* The default of the generator is the built-in schedule, unless there is a rival. */
bool tn_search_open(tn_search *x, batch *b, uint32_t at)
{
    bool rival = put_rival(x, b, at), own = rival && put_built_in(x, b, at);
    return x->task[at].is->rival ? rival : own;
}

void tn_search_put_given(tn_search *x, batch *b, uint32_t at, const tn_picks *given)
{
    attempt a;
    attempt_init(&a, &x->task[at]);
    if (explore(&x->task[at], *given, true, &a))
        (void)put(x, b, at, &a.s);
    tn_arena_deinit(&a.arena);
}

/* What other tasks keep by now. */
void tn_search_put_hints(tn_search *x, batch *b, uint32_t at, uint32_t most)
{
    task *t = &x->task[at];
    while (t->hint.n && b->n < most) {
        const tn_point *p = tn_vec_pop(&t->hint);
        tn_arena arena;
        tn_arena_init(&arena);
        const tn_picks picks =
            tn_picks_of(&(tn_asked){.n = p->n, .at = (tn_pick *)(uintptr_t)p->pick}, &arena);
        tn_search_put_given(x, b, at, &picks);
        tn_arena_deinit(&arena);
    }
}

static tn_task_view view_of(const tn_search *x, task *t)
{
    return (tn_task_view){&t->space, &t->rng,  (uint32_t)t->best.n, t->best.at,
                          t->more,   &t->next, &x->o->changes};
}

static bool attempt_one(tn_search *x, batch *b, uint32_t at, const tn_proposer *by, bool *any)
{
    task *t = &x->task[at];
    attempt a;
    tn_picks picks;
    const tn_task_view v = view_of(x, t);
    tn_poll();
    attempt_init(&a, t);
    *any = by->propose(&v, &a.arena, &picks);
    bool ok = *any && explore(t, picks, picks.random != NULL, &a) && put(x, b, at, &a.s);
    if (*any && by->in_order)
        step(t, &a);
    tn_arena_deinit(&a.arena);
    return ok;
}

/* Points in order until one is new. Refused ones and known schedules may be many in a row. */
static bool walk_on(tn_search *x, batch *b, uint32_t at, uint32_t most)
{
    const tn_proposer *in_order = tn_proposer_find("gridsearch");
    bool ok = false, any = true;
    for (uint32_t i = 0; i < most && !ok && any && !tn_search_is_late(x); i++)
        ok = attempt_one(x, b, at, in_order, &any);
    return ok;
}

/* In the end any point will do: a task is not over because its proposer turns in circles, or chance names what was
 * tried. */
bool tn_search_put_new(tn_search *x, batch *b, uint32_t at)
{
    const tn_proposer *by = x->o->proposer;
    bool ok = false, any = true;
    if (by->in_order)
        return walk_on(x, b, at, UINT32_MAX);
    for (int i = 0; i < 2 * ATTEMPTS && !ok; i++)
        ok = attempt_one(x, b, at, i < ATTEMPTS ? by : tn_proposer_find("random"), &any);
    return ok || walk_on(x, b, at, WALK);
}

/* ---- proposals that a model chooses from ---- */

typedef struct entry {
    tn_picks picks; /* all of them */
    uint64_t hash;
    double score; /* the more, the better */
} entry;

typedef struct pool {
    tn_arena arena;
    uint32_t n;
    entry at[POOL];
    const float *feature[POOL];
} pool;

static bool is_new(const task *t, const pool *q, uint64_t hash)
{
    uint64_t known;
    bool fresh = !tn_map_get(&t->tried, hash, &known);
    for (uint32_t i = 0; i < q->n && fresh; i++)
        fresh = q->at[i].hash != hash;
    return fresh;
}

static void add_to_pool(tn_search *x, uint32_t at, pool *q)
{
    task *t = &x->task[at];
    attempt a;
    tn_picks picks;
    uint64_t hash;
    const tn_task_view v = view_of(x, t);
    tn_poll();
    attempt_init(&a, t);
    if (x->o->proposer->propose(&v, &a.arena, &picks) && explore(t, picks, picks.random != NULL, &a)) {
        tn_free(trace_of(&a.s, &hash));
        if (is_new(t, q, hash)) {
            const tn_picks all = tn_picks_of(&a.s.picked, &a.arena);
            q->feature[q->n] = features_of(x, at, &a.s, &q->arena);
            q->at[q->n++] = (entry){tn_picks_copy(&all, &q->arena), hash, 0};
        }
    }
    tn_arena_deinit(&a.arena);
}

static void judge_pool(tn_search *x, uint32_t at, pool *q)
{
    double score[POOL];
    x->failed |= !tn_guide_judge(x->guide, at, q->n, q->feature, score, x->why);
    for (uint32_t i = 0; i < q->n && !x->failed; i++)
        q->at[i].score = score[i];
}

/* The best first. */
static int by_score(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

static void put_entry(tn_search *x, batch *b, uint32_t at, const entry *e)
{
    attempt a;
    attempt_init(&a, &x->task[at]);
    if (explore(&x->task[at], e->picks, false, &a))
        (void)put(x, b, at, &a.s);
    tn_arena_deinit(&a.arena);
}

/* The most promising ones, and one of the others. */
void tn_search_put_chosen(tn_search *x, batch *b, uint32_t at, uint32_t most)
{
    pool q = {.n = 0};
    tn_arena_init(&q.arena);
    for (int i = 0; i < POOL; i++)
        add_to_pool(x, at, &q);
    judge_pool(x, at, &q);
    qsort(q.at, q.n, sizeof *q.at, by_score);
    uint32_t best = most > 1 ? most - 1 : 1;
    for (uint32_t i = 0; i < q.n && i < best && b->n < best; i++)
        put_entry(x, b, at, &q.at[i]);
    if (q.n > best && b->n < most)
        put_entry(x, b, at, &q.at[best + tn_rng_below(&x->task[at].rng, q.n - best)]);
    tn_arena_deinit(&q.arena);
}

/* What the model is to say of a schedule: its speed, where the task's fastest has 1. */
static double target_of(const task *t, const point *p)
{
    return p->p.seconds == HUGE_VAL || !t->best.n ? 0 : t->best.at[0]->seconds / p->p.seconds;
}

/* Rows of a task, or of a group behind all tasks. */
static void add_rows(tn_search *x, uint32_t at)
{
    for (size_t k = 0; at < x->n && k < x->task[at].all.n; k++) {
        const point *p = x->task[at].all.at[k];
        if (p->ended)
            tn_guide_add(x->guide, at, p->feature, target_of(&x->task[at], p));
    }
    for (size_t k = 0; k < x->past.n; k++)
        if (x->past.at[k].at == at)
            tn_guide_add(x->guide, at, x->past.at[k].feature, x->past.at[k].y);
}

void tn_search_learn(tn_search *x)
{
    if (!x->guide || x->ended + x->past.n < FEW_ROWS || x->ended < x->fit_at)
        return;
    tn_guide_clear(x->guide);
    for (uint32_t i = 0; i < x->n + x->o->n_group; i++)
        add_rows(x, i);
    x->failed |= !tn_guide_fit(x->guide, x->why);
    x->fit_at = x->ended + x->ended / 8 + 1;
}
