/* Tuning of one kernel by itself: its function is the only task. */
#include "driver/kernel_api.h"
#include "driver/sketch_rules.h"

#include "schedule/schedule.h"

typedef struct kernel_call {
    tenon_kernel *k;
    const tenon_tune_options *o;
    tenon *rules; /* session of the user's rules */
    const tenon_tune_task *task;
} kernel_call;

/* The only task: the loops before any steps, and the built-in schedule of these. */
static void make_task(tn_tuning *t, tenon_kernel *k)
{
    tn_build *b = t->b;
    tn_pool_init(&b->pool, b->ctx, &b->arena, &k->pool);
    tn_func *f = tn_func_clone(k->func, &b->arena, &b->pool);
    f->ctx = b->ctx;
    tn_sched *built_in = TN_NEW(&b->arena, tn_sched);
    tn_rule_apply(built_in, f, &b->machine, NULL, &b->arena, &b->pool);
    const tenon_tune_task x = {.name = tn_arena_strdup(&b->arena, f->name),
                               .workload = tn_func_workload(f),
                               .calls = 1,
                               .chosen = 1};
    tn_tuning_tasks(t, 1);
    tn_tuning_describe(t, 0, &x, built_in, f);
    tn_tuning_choose(t);
}

static tn_status tune(tenon *s, void *user)
{
    kernel_call *c = user;
    tn_tuning t;
    TN_TRY(tn_tuning_begin(&t, &s->build, NULL, c->o));
    TN_TRY(tn_rules_take(&t, c->rules));
    TN_TRY(tn_target_parse(&s->build));
    make_task(&t, c->k);
    tn_rules_try(&t);
    TN_TRY(tn_tuning_prior(&t));
    TN_TRY(tn_tuning_search(&t));
    tn_rules_tell(&t);
    c->task = t.task;
    return t.status;
}

int tenon_tune_kernel(struct tenon_kernel *k, const tenon_options *o, const tenon_tune_options *t,
                      const tenon_tune_task **out)
{
    kernel_call c = {.k = k, .o = t, .rules = tn_rules_session(t)};
    int failed = !k || !k->func ? 1 : tn_object_call(&k->object, o, tune, &c);
    tenon_free(c.rules);
    *out = failed ? NULL : c.task;
    return failed;
}
