/* The engine of searches: batches of candidates, what becomes of them, and duels for the place that is kept. */
#include "tune/search.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 8,
    UNDER_WAY = 2, /* batches */
    ATTEMPTS = 24, /* to find a schedule that was not tried */
    ROUNDS = 2,    /* of a duel */
    WINDOW = 3,    /* batches that tell how fast a task still gains */
    POOL = 64,     /* proposals among which a model chooses a batch */
    FEW_ROWS = 16  /* that no model is fitted to */
};
static const double OPTIMISM = 2, BACKWARD = 0.2; /* Ansor's beta and alpha */
static const double PEAK_SHARE = 0.7;             /* the machine's peak is not known better */

typedef struct point {
    tn_point p;           /* first */
    uint32_t number;      /* of the trial, from 1 on; 0: the built-in schedule */
    const char *trace;    /* its text, with the first line that says what made it */
    bool ended;           /* the trial */
    const float *feature; /* NULL: nobody wants them */
} point;

typedef struct task {
    const tn_task *is;
    tn_space space;
    tn_rng rng;
    tn_arena arena;    /* of its points */
    tn_arena wheel[2]; /* of next, in turn */
    int turn;
    tn_map tried; /* hash of a trace -> 1 */
    tn_vec(point *) all;
    tn_vec(const tn_point *) best; /* those with a time, the fastest first */
    point *built_in, *kept;
    tn_picks next;
    bool more, again; /* again: the built-in schedule was timed a second time */
    tn_standing at;
    uint32_t under_way;            /* trials */
    tn_vec(double) history;        /* what was the best after each batch */
    tn_vec(const tn_point *) hint; /* what others of its form keep, and were not tried yet */
} task;

typedef struct slot {
    uint32_t task;
    point *p;
    char *trace; /* heap; NULL once it was given to the meter */
    bool check, done;
    tn_trial trial;
} slot;

typedef struct batch {
    bool duel;         /* slots: the new one, the kept one and the built-in one in turn */
    uint32_t n, given; /* to the meter */
    slot slot[BATCH];
} batch;

struct tn_search {
    const tn_search_options *o;
    const tn_meter *meter;
    uint32_t n;
    task *task;
    tn_vec(batch *) queue; /* first come first */
    uint64_t first;        /* number of the first slot of queue.at[0] */
    uint32_t trials;       /* that were proposed */
    uint32_t ended;        /* that have ended */
    uint32_t opening;      /* tasks whose built-in schedule was proposed */
    tn_guide *guide;       /* NULL: the proposer does not learn */
    uint32_t fit_at;       /* ended trials at which it is fitted anew */
    bool failed;           /* it is; why says how */
    char *why;
    double begin;
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

static bool is_late(const tn_search *x) { return x->o->seconds > 0 && tn_now() - x->begin >= x->o->seconds; }

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
    b->slot[b->n++] = (slot){.task = at, .p = p, .trace = copy_text(steps_of(p->trace))};
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
static bool put_opening(tn_search *x, batch *b, uint32_t at)
{
    bool rival = put_rival(x, b, at), own = rival && put_built_in(x, b, at);
    return x->task[at].is->rival ? rival : own;
}

static void put_given(tn_search *x, batch *b, uint32_t at, const tn_picks *given)
{
    attempt a;
    attempt_init(&a, &x->task[at]);
    if (explore(&x->task[at], *given, true, &a))
        (void)put(x, b, at, &a.s);
    tn_arena_deinit(&a.arena);
}

/* What other tasks keep by now. */
static void put_hints(tn_search *x, batch *b, uint32_t at, uint32_t most)
{
    task *t = &x->task[at];
    while (t->hint.n && b->n < most) {
        const tn_point *p = tn_vec_pop(&t->hint);
        tn_arena arena;
        tn_arena_init(&arena);
        const tn_picks picks =
            tn_picks_of(&(tn_asked){.n = p->n, .at = (tn_pick *)(uintptr_t)p->pick}, &arena);
        put_given(x, b, at, &picks);
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

/* In the end any point will do: a task is not over because its proposer turns in circles. */
static bool put_new(tn_search *x, batch *b, uint32_t at)
{
    const tn_proposer *by = x->o->proposer;
    bool ok = false, any = true;
    if (by->in_order) { /* refused points and known schedules may be many in a row */
        while (!ok && any && !is_late(x))
            ok = attempt_one(x, b, at, by, &any);
        return ok;
    }
    for (int i = 0; i < 2 * ATTEMPTS && !ok; i++)
        ok = attempt_one(x, b, at, i < ATTEMPTS ? by : tn_proposer_find("random"), &any);
    return ok;
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
static void put_chosen(tn_search *x, batch *b, uint32_t at, uint32_t most)
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

/* Fits the model to all that is known, each time that has grown by an eighth. */
static void learn(tn_search *x)
{
    if (!x->guide || x->ended < FEW_ROWS || x->ended < x->fit_at)
        return;
    tn_guide_clear(x->guide);
    for (uint32_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->task[i].all.n; k++) {
            const point *p = x->task[i].all.at[k];
            if (p->ended)
                tn_guide_add(x->guide, i, p->feature, target_of(&x->task[i], p));
        }
    x->failed |= !tn_guide_fit(x->guide, x->why);
    x->fit_at = x->ended + x->ended / 8 + 1;
}

/* ---- which task ---- */

static uint32_t allowed(const tn_search *x, uint32_t at)
{
    uint32_t even = x->o->trials / x->n + (at < x->o->trials % x->n);
    uint32_t begun = (uint32_t)x->task[at].all.n - 1;
    even = even ? even : 1;
    return !x->o->evenly ? UINT32_MAX : begun < even ? even - begun : 0;
}

static bool is_ended(const tn_search *x, uint32_t at)
{
    const task *t = &x->task[at];
    uint32_t since = t->at.trials - t->at.gained;
    bool stopped = x->o->early_stopping && since >= x->o->early_stopping;
    return t->at.ended || stopped || !t->kept || allowed(x, at) == 0;
}

/* Seconds of a run of the model that another batch may save. */
static double promise(const task *t)
{
    double now = t->kept->p.seconds, n = (double)t->history.n;
    size_t back = t->history.n > WINDOW ? t->history.n - 1 - WINDOW : 0;
    double gained =
        t->history.n > 1 ? (t->history.at[back] - tn_vec_last(&t->history)) / (n - (double)back) : 0;
    double least =
        t->is->least < now ? t->is->least : 0; /* else it is no bound: the machine is faster than that */
    double left = now - PEAK_SHARE * least, hidden = OPTIMISM * now / (n + 1);
    hidden = left < hidden ? left > 0 ? left : 0 : hidden;
    return t->is->weight * (BACKWARD * gained + (1 - BACKWARD) * hidden);
}

static int64_t choose_task(const tn_search *x)
{
    int64_t best = -1;
    double most = -1;
    for (uint32_t i = 0; i < x->n; i++) {
        const task *t = &x->task[i];
        if (is_ended(x, i))
            continue;
        double p =
            x->o->evenly ? 1.0 / (1 + (double)t->all.n) : promise(t) / (1 + (double)t->under_way / BATCH);
        if (p > most) {
            most = p;
            best = i;
        }
    }
    return best;
}

/* ---- batches ---- */

static bool is_over(const tn_search *x)
{
    return (!x->o->evenly && x->trials >= x->o->trials) || is_late(x) || x->failed;
}

static batch *new_batch(tn_search *x)
{
    batch *b = tn_alloc_array(1, sizeof *b);
    tn_vec_push(&x->queue, b);
    return b;
}

/* The built-in schedule, a rival, and what is given. */
static uint32_t opening_of(const tn_task *t) { return 2 + (t->n_given < BATCH - 2 ? t->n_given : BATCH - 2); }

static void fill_opening(tn_search *x, batch *b)
{
    for (; x->opening < x->n && !(x->opening && is_late(x)); x->opening++) {
        const tn_task *t = x->task[x->opening].is;
        if (b->n + opening_of(t) > BATCH)
            return;
        x->task[x->opening].at.ended = !put_opening(x, b, x->opening);
        for (uint32_t i = 0; i + 2 < opening_of(t) && !x->task[x->opening].at.ended; i++)
            put_given(x, b, x->opening, t->given[i]);
    }
}

static void fill_new(tn_search *x, batch *b)
{
    int64_t at = choose_task(x);
    if (at < 0)
        return;
    uint32_t most = allowed(x, (uint32_t)at);
    most = most < BATCH ? most : BATCH;
    if (!x->o->evenly && x->o->trials - x->trials < most)
        most = x->o->trials - x->trials;
    bool more = true;
    learn(x);
    put_hints(x, b, (uint32_t)at, most);
    if (x->guide && !x->failed && tn_guide_knows(x->guide, (uint32_t)at) && b->n < most)
        put_chosen(x, b, (uint32_t)at, most);
    while (b->n < most && more)
        more = put_new(x, b, (uint32_t)at);
    x->task[at].at.ended |= !more;
}

/* Proposes until so many batches are under way, or nothing is left. */
static void propose(tn_search *x)
{
    for (bool more = true; more && x->queue.n < UNDER_WAY;) {
        bool opening = x->opening < x->n;
        if (opening ? x->opening && is_late(x) : is_over(x))
            return;
        batch *b = new_batch(x);
        if (opening)
            fill_opening(x, b);
        else
            fill_new(x, b);
        if (b->n == 0 && !opening) { /* the tasks that ended now leave others */
            tn_free(tn_vec_pop(&x->queue));
            more = choose_task(x) >= 0;
        }
    }
}

/* ---- duels ---- */

static void add_fighter(batch *b, uint32_t at, point *p, bool check)
{
    b->slot[b->n++] = (slot){.task = at, .p = p, .trace = copy_text(steps_of(p->trace)), .check = check};
}

/* Behind the batches under way. */
static void challenge(tn_search *x, uint32_t at, point *p)
{
    batch *b = new_batch(x);
    b->duel = true;
    const task *t = &x->task[at];
    for (int i = 0; i < ROUNDS; i++) {
        add_fighter(b, at, p, i == 0);
        add_fighter(b, at, t->kept, false);
        if (t->kept != t->built_in)
            add_fighter(b, at, t->built_in, false);
    }
    x->task[at].under_way += b->n;
}

/* What is good here may be good for tasks that differ in their sizes alone. */
static void hint_at(tn_search *x, uint32_t at)
{
    const tn_task *from = x->task[at].is;
    for (uint32_t i = 0; i < x->n && x->o->proposer->learns && from->form; i++)
        if (i != at && x->task[i].is->form == from->form)
            tn_vec_push(&x->task[i].hint, &x->task[at].kept->p);
}

static void tell_kept(tn_search *x, uint32_t at)
{
    const point *p = x->task[at].kept;
    hint_at(x, at);
    if (x->o->kept)
        x->o->kept(x->o->user, x, at, &p->p, p->trace);
}

/* ---- what became of them ---- */

static void sort_in(task *t, point *p)
{
    for (size_t i = 0; i < t->best.n; i++)
        if (t->best.at[i] == &p->p) {
            memmove(&t->best.at[i], &t->best.at[i + 1], (t->best.n - i - 1) * sizeof *t->best.at);
            t->best.n--;
            break;
        }
    if (p->p.seconds == HUGE_VAL)
        return;
    size_t i = t->best.n;
    tn_vec_push(&t->best, NULL);
    for (; i > 0 && t->best.at[i - 1]->seconds > p->p.seconds; i--)
        t->best.at[i] = t->best.at[i - 1];
    t->best.at[i] = &p->p;
}

static void set_time(task *t, point *p, double seconds)
{
    p->p.seconds = seconds;
    sort_in(t, p);
}

static void apply_trial(tn_search *x, slot *s)
{
    task *t = &x->task[s->task];
    bool timed = s->trial.fate == TN_TRIAL_TIMED;
    bool built_in = s->p->number == 0;
    t->under_way--;
    s->p->ended = true;
    set_time(t, s->p, timed ? s->trial.seconds : HUGE_VAL);
    if (built_in && timed) {
        t->built_in = t->kept = s->p;
        t->at.built_in = t->at.seconds = s->trial.seconds;
    } else if (built_in && !t->again) { /* its process may have been ended by somebody else */
        t->again = true;
        add_fighter(new_batch(x), s->task, s->p, false);
        t->under_way++;
        return;
    } else if (built_in) {
        t->at.ended = true; /* nothing to compare with */
    }
    x->ended += !built_in;
    t->at.trials += !built_in;
    t->at.failed += !built_in && !timed;
    if (x->o->progress)
        x->o->progress(x->o->user, x, s->task, &s->p->p, &s->trial);
}

static double least(const batch *b, const point *p)
{
    double s = HUGE_VAL;
    for (uint32_t i = 0; i < b->n; i++)
        if (b->slot[i].p == p) {
            const tn_trial *t = &b->slot[i].trial;
            s = t->fate != TN_TRIAL_TIMED ? -1 : s >= 0 && t->seconds < s ? t->seconds : s;
        }
    return s; /* below 0: one of them has no time, or is wrong */
}

/* A gain is told in times of one duel: a machine that is slower now than it was would make another one of them. */
static void apply_duel(tn_search *x, const batch *b)
{
    uint32_t at = b->slot[0].task;
    task *t = &x->task[at];
    point *fresh = b->slot[0].p, *kept = b->slot[1].p;
    double a = least(b, fresh), k = least(b, kept), d = least(b, t->built_in);
    t->under_way -= b->n;
    set_time(t, fresh, a < 0 ? HUGE_VAL : a);
    for (uint32_t i = 0; i < b->n && a < 0 && x->o->progress; i++)
        if (b->slot[i].p == fresh && b->slot[i].trial.fate != TN_TRIAL_TIMED) {
            x->o->progress(x->o->user, x, at, &fresh->p, &b->slot[i].trial);
            break;
        }
    if (k > 0)
        set_time(t, kept, k);
    if (kept == t->built_in && kept == t->kept && k > 0)
        t->at.built_in = t->at.seconds = k;
    d = d > 0 ? d : t->at.built_in; /* its process may have been ended by somebody else */
    double fastest = d < kept->p.seconds ? d : kept->p.seconds;
    if (kept != t->kept || a < 0 || !(a <= (1 - x->o->margin) * fastest))
        return;
    t->kept = fresh;
    t->at.seconds = a;
    t->at.built_in = d;
    t->at.gained = t->at.trials;
    tell_kept(x, at);
}

/* The fastest of a task challenges the one that is kept. */
static void find_challenger(tn_search *x, uint32_t at)
{
    task *t = &x->task[at];
    if (!t->kept || t->best.n == 0)
        return;
    point *p = (point *)(uintptr_t)t->best.at[0];
    bool wins = p != t->kept && p->p.seconds <= (1 - x->o->margin) * t->kept->p.seconds;
    bool fights = false;
    for (size_t i = 0; i < x->queue.n; i++)
        fights |= x->queue.at[i]->duel && x->queue.at[i]->slot[0].task == at;
    if (wins && !fights)
        challenge(x, at, p);
}

static void apply(tn_search *x, batch *b)
{
    for (uint32_t i = 0; i < b->n && !b->duel; i++)
        apply_trial(x, &b->slot[i]);
    if (b->duel)
        apply_duel(x, b);
    for (uint32_t i = 0; i < b->n; i++) {
        task *t = &x->task[b->slot[i].task];
        bool first = i == 0 || b->slot[i].task != b->slot[i - 1].task;
        if (first && t->kept && !b->duel)
            tn_vec_push(&t->history, t->kept->p.seconds);
        if (first)
            find_challenger(x, b->slot[i].task);
    }
}

/* ---- the meter ---- */

static slot *slot_of(const tn_search *x, uint64_t number)
{
    uint64_t i = number - x->first;
    size_t k = 0;
    while (i >= x->queue.at[k]->n)
        i -= x->queue.at[k++]->n;
    return &x->queue.at[k]->slot[i];
}

/* Gives the next candidate that waits to the meter. */
static bool give(tn_search *x)
{
    uint64_t number = x->first;
    for (size_t i = 0; i < x->queue.n; number += x->queue.at[i++]->n) {
        batch *b = x->queue.at[i];
        if (b->given == b->n)
            continue;
        slot *s = &b->slot[b->given];
        const point *kept = x->task[s->task].kept;
        const tn_candidate c = {.workload = s->task,
                                .number = number + b->given,
                                .trace = s->trace,
                                .rival = kept && !b->duel ? kept->p.seconds : 0,
                                .check = s->check};
        x->meter->add(x->meter->user, &c);
        tn_free(s->trace);
        s->trace = NULL;
        b->given++;
        return true;
    }
    return false;
}

static void take(tn_search *x)
{
    tn_trial t;
    bool any = x->meter->next(x->meter->user, &t);
    TN_ASSERT(any);
    slot *s = slot_of(x, t.number);
    s->trial = t;
    s->done = true;
}

static void settle(tn_search *x)
{
    while (x->queue.n) {
        batch *b = x->queue.at[0];
        for (uint32_t i = 0; i < b->n; i++)
            if (!b->slot[i].done)
                return;
        memmove(&x->queue.at[0], &x->queue.at[1], --x->queue.n * sizeof(batch *));
        x->first += b->n;
        apply(x, b);
        tn_free(b);
        propose(x);
    }
}

/* ---- the whole ---- */

static bool begin(tn_search *x, const tn_task task_of[])
{
    const tn_guide_options o = {.learner = x->o->learner ? x->o->learner : &tn_learners[0],
                                .features = x->o->proposer->learns,
                                .loss = x->o->proposer->loss,
                                .n_task = x->n,
                                .least = FEW_ROWS};
    x->guide = o.features ? tn_guide_new(&o, x->why) : NULL;
    if (o.features && !x->guide)
        return false;
    x->task = tn_alloc_array(x->n, sizeof *x->task);
    for (uint32_t i = 0; i < x->n; i++) {
        task *t = &x->task[i];
        t->is = &task_of[i];
        t->space = (tn_space){x->o->generator, t->is->load.func, x->o->machine, x->o->fixed};
        t->rng = (tn_rng){x->o->seed * 0x9E3779B97F4A7C15u + t->is->workload};
        tn_arena_init(&t->arena);
        tn_arena_init(&t->wheel[0]);
        tn_arena_init(&t->wheel[1]);
    }
    return true;
}

static void end(tn_search *x)
{
    for (uint32_t i = 0; i < x->n; i++) {
        task *t = &x->task[i];
        tn_map_deinit(&t->tried);
        tn_vec_deinit(&t->all);
        tn_vec_deinit(&t->best);
        tn_vec_deinit(&t->history);
        tn_vec_deinit(&t->hint);
        tn_arena_deinit(&t->arena);
        tn_arena_deinit(&t->wheel[0]);
        tn_arena_deinit(&t->wheel[1]);
    }
    tn_vec_deinit(&x->queue);
    tn_guide_free(x->guide);
    tn_free(x->task);
}

bool tn_search_run(const tn_search_options *o, const tn_meter *meter, uint32_t n, const tn_task task_of[],
                   char why[TN_MODEL_WHY])
{
    tn_search x = {.o = o, .meter = meter, .n = n, .begin = tn_now(), .why = why};
    if (!begin(&x, task_of))
        return false;
    for (propose(&x); x.queue.n;) {
        settle(&x);
        if (!x.queue.n)
            break;
        if (meter->room(meter->user) == 0 || !give(&x))
            take(&x);
    }
    end(&x);
    return !x.failed;
}

uint32_t tn_search_trials(const tn_search *x) { return x->ended; }
tn_standing tn_search_standing(const tn_search *x, uint32_t task_at) { return x->task[task_at].at; }

/* ---- measurers as meters ---- */

static uint32_t measurer_room(void *user) { return tn_measurer_room(user); }
static void measurer_add(void *user, const tn_candidate *c) { tn_measurer_add(user, c); }
static bool measurer_next(void *user, tn_trial *out) { return tn_measurer_next(user, out); }

tn_meter tn_meter_of(tn_measurer *m) { return (tn_meter){m, measurer_room, measurer_add, measurer_next}; }
