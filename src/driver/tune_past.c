/* What records teach a search before its first trial: their schedules of their own functions, which are not timed
 * again, and the built-in ones beside which they were timed. */
#include "driver/tuning.h"

#include <math.h>
#include <string.h>

typedef struct recall {
    tn_tuning *t;
    tn_pool *pool;
    tn_map function; /* hash of a text and a workload -> the tn_workload; 0: it is of no use */
    tn_map group;    /* hash of a workload, a machine and a number of threads -> number */
    tn_vec(tn_past) past;
} recall;

/* What a text says, if it is that of this workload. NULL: it is not. */
static const tn_workload *read_function(recall *x, const tn_record *r)
{
    tn_build *b = x->t->b;
    tn_func *f;
    size_t n = 0;
    const size_t n_diag = b->ctx->n_diag;
    const bool known = tn_func_parse(b->ctx, &b->arena, x->pool, r->name, r->function, strlen(r->function),
                                     &f, 1, &n) == TN_OK &&
                       n == 1 && tn_func_verify(f) == TN_OK && tn_func_workload(f) == r->workload;
    tn_diag_rewind(b->ctx, n_diag);
    if (!known)
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

static const char *built_in_trace(tn_build *b, const tn_func *f)
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

static const tn_picks *picks_of(const tn_tuning *t, const tn_record *r)
{
    uint32_t line;
    tn_picks *p = TN_NEW(&t->b->arena, tn_picks);
    const bool known = strcmp(r->generator, t->maker->name) == 0 &&
                       tn_picks_parse(r->picks, strlen(r->picks), &t->b->arena, p, &line);
    return known ? p : NULL;
}

static void add(recall *x, const tn_record *r)
{
    const tn_workload *load = function_of(x, r);
    bool is_new;
    if (!load)
        return;
    const uint32_t group = group_of(x, r, &is_new);
    const bool of_template = !tn_sched_generator_find(r->generator);
    tn_past p = {group,
                 r->workload,
                 *load,
                 picks_of(x->t, r),
                 *r->trace ? r->trace : NULL,
                 tn_tuning_has_time(r) ? r->seconds : HUGE_VAL};
    tn_vec_push(&x->past, p);
    if (!is_new || of_template || !(r->built_in > 0))
        return;
    p.picks = NULL;
    p.trace = built_in_trace(x->t->b, load->func);
    p.seconds = r->built_in;
    tn_vec_push(&x->past, p);
    x->t->n_past_built_in++;
}

void tn_tuning_recall(tn_tuning *t)
{
    const tn_proposer *by = t->o.tuner ? tn_proposer_find(t->o.tuner) : &tn_proposers[0];
    tn_build *b = t->b;
    recall x = {.t = t, .pool = TN_NEW(&b->arena, tn_pool)};
    if (!by->learns || t->first_prior == t->end_prior)
        return;
    tn_pool_init(x.pool, b->ctx, &b->arena, NULL);
    for (size_t i = t->first_prior; i < t->end_prior; i++)
        add(&x, &b->records.all.at[i]);
    t->n_past = (uint32_t)x.past.n;
    t->past = tn_arena_copy(&b->arena, x.past.at, x.past.n * sizeof *x.past.at, _Alignof(tn_past));
    tn_vec_deinit(&x.past);
    tn_map_deinit(&x.function);
    tn_map_deinit(&x.group);
}

void tn_tuning_tell_past(tn_tuning *t, uint32_t recalled)
{
    const size_t given = t->end_prior - t->first_prior, of = given + t->n_past_built_in;
    if (t->n_past == 0)
        return;
    (void)tn_report(
        t->b->ctx, TN_NOTE, "driver-N003", NULL,
        "%u schedules that were timed before, of %u workloads and machines, taught the cost model; %u did "
        "not, "
        "because their function is not known, they are of no use to these tasks, or cannot be made any more",
        (unsigned)recalled, (unsigned)t->n_past_group, (unsigned)(of - recalled));
}
