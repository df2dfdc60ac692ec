/* What records teach a search before its first trial: their schedules of their own functions, which are not timed
 * again, and the built-in ones beside which they were timed. */
#include "driver/records.h"
#include "driver/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OF_EACH = 256, OF_ALL = 4096 }; /* schedules, of a group and at all: the newest, no one twice */
static const double SHARE = 0.125;     /* of the budget, for reading functions */

typedef struct remembered {
    tn_past p;
    uint32_t rank, order; /* in its group, of all */
} remembered;

typedef struct recall {
    tn_tuning *t;
    tn_pool *pool;
    tn_map function;       /* hash of a text and a workload -> the tn_workload; 0: it is of no use */
    tn_map built_in;       /* tn_workload -> its built-in schedule's steps */
    tn_map group;          /* hash of a workload, a machine and a number of threads -> number */
    tn_map same;           /* hash of a group and a schedule -> place in `past` */
    tn_vec(uint32_t) size; /* by group */
    tn_vec(remembered) past;
} recall;

/* What a text says, if it is that of this workload. NULL: it is not. */
static const tn_workload *read_function(recall *x, const tn_record *r)
{
    tn_build *b = x->t->b;
    tn_func *f = tn_record_function(r, b->ctx, &b->arena, x->pool);
    if (!f)
        return NULL;
    tn_workload *load = TN_NEW(&b->arena, tn_workload);
    *load = (tn_workload){f, tn_tuning_nominal(b, f), 0};
    return load;
}

/* As the record tells it, or a task that it is of. NULL: nobody knows it. */
static const tn_workload *function_of(recall *x, const tn_record *r)
{
    const tn_tuning *t = x->t;
    uint64_t at;
    for (uint32_t i = 0; i < t->n && !r->function; i++)
        if (t->task[i].workload == r->workload)
            return t->load[i];
    if (!r->function)
        return NULL;
    const uint64_t key = tn_hash_bytes(r->function, strlen(r->function), r->workload);
    if (!tn_map_get(&x->function, key, &at)) {
        at = (uint64_t)(uintptr_t)read_function(x, r);
        tn_map_put(&x->function, key, at);
    }
    return (const tn_workload *)(uintptr_t)at;
}

/* Times of one machine and number of threads can be compared. *out_new: it is the first record of its group. */
static uint32_t group_of(recall *x, const tn_record *r, bool *out_new)
{
    const uint64_t key = tn_hash_u64(tn_hash_bytes(r->machine, strlen(r->machine), r->workload), r->threads);
    uint64_t group;
    *out_new = !tn_map_get(&x->group, key, &group);
    if (*out_new) {
        group = x->t->n_past_group++;
        tn_map_put(&x->group, key, group);
    }
    return (uint32_t)group;
}

static const char *make_built_in(tn_build *b, const tn_func *f)
{
    tn_arena arena;
    tn_pool pool;
    tn_sched s;
    tn_buf text = {0};
    tn_arena_init(&arena);
    tn_pool_init(&pool, f->ctx, &arena, f->pool);
    tn_rule_apply(&s, f, &b->machine, NULL, &arena, &pool);
    tn_trace_print(&s, &text);
    const char *trace = tn_arena_strdup(&b->arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    tn_arena_deinit(&arena);
    return trace;
}

static const char *built_in_trace(recall *x, const tn_workload *load)
{
    uint64_t at;
    if (!tn_map_get(&x->built_in, tn_map_key(load), &at)) {
        at = tn_map_key(make_built_in(x->t->b, load->func));
        tn_map_put(&x->built_in, tn_map_key(load), at);
    }
    return (const char *)(uintptr_t)at;
}

static const tn_picks *picks_of(const tn_tuning *t, const tn_record *r)
{
    uint32_t line;
    tn_picks *p = TN_NEW(&t->b->arena, tn_picks);
    const bool known = strcmp(r->generator, t->maker->name) == 0 &&
                       tn_picks_parse(r->picks, strlen(r->picks), &t->b->arena, p, &line);
    return known ? p : NULL;
}

/* Is it a schedule that its group has already? The least time counts. */
static bool is_known(recall *x, const tn_record *r, uint32_t group)
{
    const uint64_t key = *r->trace ? tn_hash_bytes(r->trace, strlen(r->trace), group)
                                   : tn_hash_bytes(r->picks, strlen(r->picks),
                                                   tn_hash_bytes(r->generator, strlen(r->generator), group));
    uint64_t at;
    const double seconds = tn_tuning_has_time(r) ? r->seconds : HUGE_VAL;
    const bool known = tn_map_get(&x->same, key, &at);
    if (!known)
        tn_map_put(&x->same, key, x->past.n);
    else if (seconds < x->past.at[at].p.seconds)
        x->past.at[at].p.seconds = seconds;
    return known;
}

static void push(recall *x, const tn_past *p)
{
    const remembered one = {*p, x->size.at[p->group]++, (uint32_t)x->past.n};
    tn_vec_push(&x->past, one);
}

static void add(recall *x, const tn_record *r)
{
    const tn_workload *load = function_of(x, r);
    bool is_new;
    x->t->n_past_unknown += !load;
    if (!load)
        return;
    const uint32_t group = group_of(x, r, &is_new);
    const bool of_template = !tn_sched_generator_find(r->generator);
    if (is_new)
        tn_vec_push(&x->size, 0);
    const bool is_full = x->size.at[group] >= OF_EACH;
    x->t->n_past_older += is_full;
    if (is_full || is_known(x, r, group))
        return;
    tn_past p = {group,
                 r->workload,
                 *load,
                 picks_of(x->t, r),
                 *r->trace ? r->trace : NULL,
                 tn_tuning_has_time(r) ? r->seconds : HUGE_VAL};
    push(x, &p);
    if (!is_new || of_template || !(r->built_in > 0))
        return;
    p.picks = NULL;
    p.trace = built_in_trace(x, load);
    p.seconds = r->built_in;
    push(x, &p);
}

/* The newest of each group before the next ones: whatever ends a search's beginning, all groups have some. */
static int by_rank(const void *a, const void *b)
{
    const remembered *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : (x->order > y->order) - (x->order < y->order);
}

static void take_past(recall *x)
{
    tn_tuning *t = x->t;
    const size_t n = x->past.n < OF_ALL ? x->past.n : OF_ALL;
    tn_past *past = TN_NEW_N(&t->b->arena, tn_past, n);
    if (x->past.n)
        qsort(x->past.at, x->past.n, sizeof *x->past.at, by_rank);
    for (size_t i = 0; i < n; i++)
        past[i] = x->past.at[i].p;
    t->n_past_older += (uint32_t)(x->past.n - n);
    t->n_past = (uint32_t)n;
    t->past = past;
}

static bool has_time(const tn_tuning *t, double begin)
{
    return !(t->o.seconds > 0) || tn_now() - begin < SHARE * t->o.seconds;
}

void tn_tuning_recall(tn_tuning *t)
{
    const tn_proposer *by = t->o.tuner ? tn_proposer_find(t->o.tuner) : &tn_proposers[0];
    tn_build *b = t->b;
    const double begin = tn_now();
    recall x = {.t = t, .pool = TN_NEW(&b->arena, tn_pool)};
    if (!by->learns || t->first_prior == t->end_prior)
        return;
    tn_pool_init(x.pool, b->ctx, &b->arena, NULL);
    size_t i = t->end_prior;
    for (; i > t->first_prior && has_time(t, begin); i--) {
        tn_poll();
        add(&x, &b->records.all.at[i - 1]);
    }
    t->n_past_older += (uint32_t)(i - t->first_prior);
    take_past(&x);
    tn_vec_deinit(&x.past);
    tn_vec_deinit(&x.size);
    tn_map_deinit(&x.function);
    tn_map_deinit(&x.built_in);
    tn_map_deinit(&x.group);
    tn_map_deinit(&x.same);
}

/* ---- what is said of it ---- */

static void say_cause(tn_buf *out, uint32_t n, const char *one, const char *more)
{
    if (n)
        tn_buf_printf(out, "; %u %s", (unsigned)n, n == 1 ? one : more);
}

void tn_tuning_tell_past(tn_tuning *t, uint32_t recalled)
{
    tn_buf left = {0};
    if (recalled == 0)
        return;
    say_cause(&left, t->n_past_unknown, "is of a function that is not known",
              "are of functions that are not known");
    say_cause(&left, t->n_past_older, "is left out, because others are newer or the time was short",
              "are left out, because others are newer or the time was short");
    say_cause(&left, t->n_past - recalled,
              "is of no use to these tasks, cannot be made any more, or not in time",
              "are of no use to these tasks, cannot be made any more, or not in time");
    (void)tn_report(t->b->ctx, TN_NOTE, "driver-N003", NULL,
                    "%u schedule%s timed before taught the cost model%s", (unsigned)recalled,
                    recalled == 1 ? " that was" : "s that were", tn_buf_cstr(&left));
    tn_buf_deinit(&left);
}
