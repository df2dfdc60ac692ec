/* The engine of searches: batches of candidates, what becomes of them, and duels for the place that is kept. */
#include "tune/search_impl.h"

#include <math.h>
#include <string.h>

enum {
    UNDER_WAY = 2, /* batches */
    ROUNDS = 2,    /* of a duel */
    WINDOW = 3     /* batches that tell how fast a task still gains */
};
static const double OPTIMISM = 2, BACKWARD = 0.2; /* Ansor's beta and alpha */
static const double PEAK_SHARE = 0.7;             /* the machine's peak is not known better */

/* ---- which task ---- */

/* Trials that may be begun now. After a gain there may be more. */
static uint32_t allowed(const tn_search *x, uint32_t at)
{
    const task *t = &x->task[at];
    uint32_t even = x->o->trials / x->n + (at < x->o->trials % x->n), begun = (uint32_t)t->all.n - 1;
    uint32_t until = x->o->evenly ? even ? even : 1 : UINT32_MAX;
    if (x->o->early_stopping && until > t->at.gained && until - t->at.gained > x->o->early_stopping)
        until = t->at.gained + x->o->early_stopping;
    return begun < until ? until - begun : 0;
}

static bool is_ended(const tn_search *x, uint32_t at)
{
    const task *t = &x->task[at];
    return t->at.ended || !t->kept || allowed(x, at) == 0;
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
    return (!x->o->evenly && x->trials >= x->o->trials) || tn_search_is_late(x) || x->failed;
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
    for (; x->opening < x->n && !(x->opening && tn_search_is_late(x)); x->opening++) {
        const tn_task *t = x->task[x->opening].is;
        if (b->n + opening_of(t) > BATCH)
            return;
        x->task[x->opening].at.ended = !tn_search_open(x, b, x->opening);
        for (uint32_t i = 0; i + 2 < opening_of(t) && !x->task[x->opening].at.ended; i++)
            tn_search_put_given(x, b, x->opening, t->given[i]);
    }
}

/* The one that is kept and the built-in one, beside those that are to beat them: the machine may have been slow when
 * they were timed. */
static void put_kept(tn_search *x, batch *b, uint32_t at)
{
    task *t = &x->task[at];
    tn_search_put_point(b, at, t->kept)->again = true;
    if (t->kept != t->built_in)
        tn_search_put_point(b, at, t->built_in)->again = true;
    t->under_way += t->kept == t->built_in ? 1 : 2;
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
    tn_search_learn(x);
    tn_search_put_hints(x, b, (uint32_t)at, most);
    if (x->guide && !x->failed && tn_guide_knows(x->guide, (uint32_t)at) && b->n < most)
        tn_search_put_chosen(x, b, (uint32_t)at, most);
    while (b->n < most && more)
        more = tn_search_put_new(x, b, (uint32_t)at);
    x->task[at].at.ended |= !more;
    if (b->n)
        put_kept(x, b, (uint32_t)at);
}

/* Proposes until so many batches are under way, or nothing is left. */
static void propose(tn_search *x)
{
    for (bool more = true; more && x->queue.n < UNDER_WAY;) {
        bool opening = x->opening < x->n;
        if (opening ? x->opening && tn_search_is_late(x) : is_over(x))
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

/* Behind the batches under way. */
static void challenge(tn_search *x, uint32_t at, point *p)
{
    batch *b = new_batch(x);
    b->duel = true;
    const task *t = &x->task[at];
    for (int i = 0; i < ROUNDS; i++) {
        tn_search_put_point(b, at, p)->check = i == 0;
        (void)tn_search_put_point(b, at, t->kept);
        if (t->kept != t->built_in)
            (void)tn_search_put_point(b, at, t->built_in);
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
        (void)tn_search_put_point(new_batch(x), s->task, s->p);
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

/* A point's least time counts. How a task stands is told in times of one moment: they are lower together, or stay. */
static void apply_again(tn_search *x, const batch *b)
{
    double kept = HUGE_VAL, built_in = HUGE_VAL;
    task *t = NULL;
    for (uint32_t i = 0; i < b->n; i++) {
        const slot *s = &b->slot[i];
        double seconds = s->trial.fate == TN_TRIAL_TIMED ? s->trial.seconds : HUGE_VAL;
        if (!s->again)
            continue;
        t = &x->task[s->task];
        t->under_way--;
        if (seconds < s->p->p.seconds)
            set_time(t, s->p, seconds);
        kept = s->p == t->kept ? seconds : kept;
        built_in = s->p == t->built_in ? seconds : built_in;
    }
    if (t && kept < t->at.seconds && built_in < t->at.built_in) {
        t->at.seconds = kept;
        t->at.built_in = built_in;
    }
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
        if (!b->slot[i].again)
            apply_trial(x, &b->slot[i]);
    if (b->duel)
        apply_duel(x, b);
    else
        apply_again(x, b);
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
                                .rival = kept && !b->duel && !s->again ? kept->p.seconds : 0,
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
                                .n_task = x->n + x->o->n_group,
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
    tn_arena_init(&x->memory);
    if (x->guide)
        tn_search_recall(x);
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
    tn_vec_deinit(&x->past);
    tn_arena_deinit(&x->memory);
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
