/* Tuning a module: its tasks, which of them are searched. */
#include "driver/sketch_rules.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 32 };

/* ---- tasks ---- */

static const char *names_of(tn_build *b, const tn_group *g, uint32_t v)
{
    tn_buf text = {0};
    tn_buf_str(&text, g->name);
    if (g->guard[v]) {
        tn_buf_str(&text, " where ");
        tn_expr_print(g->guard[v]->src[0], NULL, &text);
    }
    const char *s = tn_arena_strdup(&b->arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return s;
}

static const char *text_of(tn_build *b, tn_buf *text, size_t from)
{
    const char *s = tn_arena_strdup(&b->arena, text->n > from ? tn_buf_cstr(text) + from : "");
    tn_buf_clear(text);
    return s;
}

static tenon_tune_operator operator_of(tn_build *b, const tn_node *n, tn_buf *text)
{
    enum { SEPARATOR = 2 }; /* ", " before the first attribute */
    const char **type = TN_NEW_N(&b->arena, const char *, n->nin);
    for (uint32_t i = 0; i < n->nin; i++)
        if (n->in[i].def) {
            tn_type_print(n->in[i].def->type[n->in[i].out], text);
            type[i] = text_of(b, text, 0);
        }
    if (n->op->attr && n->attr)
        tn_attr_print(b->graph.pool, n->op->attr, n->attr, text);
    return (tenon_tune_operator){n->op->name, text_of(b, text, SEPARATOR), n->nin, type};
}

static const tenon_tune_operator *operators_of(tn_build *b, const tn_group *g, uint32_t *out_n)
{
    const tn_region *r = tn_group_fn(g->call)->region[0];
    tn_vec(tenon_tune_operator) all = {0};
    tn_buf text = {0};
    for (const tn_node *n = r->first; n; n = n->next)
        if (n->nin)
            tn_vec_push(&all, operator_of(b, n, &text));
    const tenon_tune_operator *kept = tn_arena_copy(&b->arena, all.at, all.n * sizeof *all.at, 8);
    *out_n = (uint32_t)all.n;
    tn_buf_deinit(&text);
    tn_vec_deinit(&all);
    return kept;
}

static void describe(tn_tuning *t, uint32_t i, const tn_build_task *x)
{
    tenon_tune_task k = {.name = names_of(t->b, x->group, x->variant),
                         .nodes = x->group->source,
                         .workload = x->workload,
                         .calls = x->calls};
    k.operators = operators_of(t->b, x->group, &k.n_operator);
    tn_tuning_describe(t, i, &k, &x->group->sched[x->variant], x->group->base[x->variant]);
}

/* ---- which tasks ---- */

/* "3", "3-5", "3-", "-5"; false: it is no such word. */
static bool read_range(const char *word, size_t n, uint32_t all, uint32_t *low, uint32_t *high)
{
    size_t digits = strspn(word, "0123456789"), dash = digits < n && word[digits] == '-';
    size_t more = strspn(word + digits + dash, "0123456789");
    if (digits + dash + more != n || digits + more == 0 || digits > 9 || more > 9)
        return false;
    *low = digits ? (uint32_t)strtoul(word, NULL, 10) : 0;
    *high = more ? (uint32_t)strtoul(word + digits + dash, NULL, 10) : dash ? all - 1 : *low;
    return true;
}

static bool names_task(const tenon_tune_task *k, const char *word)
{
    return strcmp(word, "all") == 0 || strstr(k->name, word) || (k->nodes && strstr(k->nodes, word));
}

static tn_status choose(tn_tuning *t)
{
    tn_build *b = t->b;
    for (const char *at = t->o.tasks; *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        const char *word = tn_arena_strndup(&b->arena, at, n);
        uint32_t low = 0, high = 0, found = 0;
        bool range = read_range(word, n, t->n, &low, &high);
        for (uint32_t i = 0; i < t->n; i++)
            if (range ? i >= low && i <= high : n > 0 && names_task(&t->task[i], word)) {
                t->task[i].chosen = 1;
                found++;
            }
        if (t->n && (!found || (range && high >= t->n)))
            return tn_error(
                b->ctx, "driver-E163", NULL,
                "no task is \"%s\"; the module has tasks 0 to %u, which `tune --tasks list` shows", word,
                (unsigned)t->n - 1);
        at += n;
    }
    tn_tuning_choose(t);
    return TN_OK;
}

static tn_status find_tasks(tn_tuning *t, tn_build_task **out)
{
    tn_build *b = t->b;
    TN_TRY(tn_stage_graph(b));
    TN_TRY(tn_stage_tir(b));
    TN_TRY(tn_stage_schedule(b));
    tn_tuning_tasks(t, (uint32_t)tn_tasks_find(b, out));
    for (uint32_t i = 0; i < t->n; i++)
        describe(t, i, &(*out)[i]);
    return choose(t);
}

/* ---- the calls ---- */

typedef struct {
    const tenon_tune_options *o;
    tenon *rules; /* session of the user's rules */
    bool list;
    uint64_t number; /* of a point */
    uint32_t n;
    const tenon_tune_task *task;
    const tenon_pick *pick;
} tune_call;

static void measure_spaces(tn_tuning *t, const tn_build_task *of)
{
    for (uint32_t i = 0; i < t->n; i++) {
        bool exact;
        const tn_space space = {t->maker, of[i].group->base[of[i].variant], &t->b->machine, t->fixed};
        t->task[i].points = tn_space_size(&space, MOST_POINTS, &exact);
        t->task[i].exact = exact;
    }
}

static tn_status begin(tn_build *b, const tune_call *c, tn_tuning *t, tn_build_task **out_of)
{
    TN_TRY(tn_tuning_begin(t, b, NULL, c->o));
    TN_TRY(tn_rules_take(t, c->rules));
    TN_TRY(tn_target_parse(b));
    TN_TRY(tn_tuning_known(t)); /* of the graph, whose kernels are the tasks */
    b->kernels_built_in = true; /* which begin with the built-in schedules */
    b->opt.tuning_records = NULL;
    return find_tasks(t, out_of);
}

static tn_status tune(tenon *s, void *user)
{
    tune_call *c = user;
    tn_tuning t;
    tn_build_task *of;
    TN_TRY(begin(&s->build, c, &t, &of));
    if (c->list) {
        measure_spaces(&t, of);
    } else {
        tn_rules_try(&t);
        TN_TRY(tn_tuning_prior(&t));
    }
    if (!c->list && t.n_chosen) {
        TN_TRY(tn_tuning_search(&t));
        tn_rules_tell(&t);
    }
    c->n = t.n;
    c->task = t.task;
    return t.status;
}

static tn_status find_point(tenon *s, void *user)
{
    tune_call *c = user;
    tn_build *b = &s->build;
    tn_tuning t;
    tn_build_task *of;
    tn_pool pool;
    tn_sched at;
    TN_TRY(begin(b, c, &t, &of));
    if (!t.n_chosen)
        return TN_OK;
    const tn_build_task *x = &of[t.chosen[0]];
    const tn_space space = {t.maker, x->group->base[x->variant], &b->machine, t.fixed};
    tn_pool_init(&pool, space.func->ctx, &b->arena, space.func->pool);
    (void)tn_explore_number(&space, c->number, &b->arena, &pool, &at); /* a refused one has its picks, too */
    c->n = at.picked.n;
    c->pick = tn_tuning_picks(at.picked.n, at.picked.at, &b->arena);
    return TN_OK;
}

/* With a session for the user's rules, which outlives the call. */
static int call_with_rules(tenon_module *m, const tenon_options *o, tn_session_fn *fn, tune_call *c)
{
    c->rules = tn_rules_session(c->o);
    int failed = tn_module_call(m, o, fn, c);
    tenon_free(c->rules);
    return failed;
}

int tenon_tune_point(tenon_module *m, const tenon_options *o, const tenon_tune_options *t, uint64_t number,
                     uint32_t *out_n, const tenon_pick **out)
{
    tune_call c = {.o = t, .number = number};
    int failed = call_with_rules(m, o, find_point, &c);
    *out_n = failed ? 0 : c.n;
    *out = failed ? NULL : c.pick;
    return failed;
}

static int call(tenon_module *m, const tenon_options *o, tune_call *c, uint32_t *out_n,
                const tenon_tune_task **out)
{
    int failed = call_with_rules(m, o, tune, c);
    *out_n = failed ? 0 : c->n;
    *out = failed ? NULL : c->task;
    return failed;
}

int tenon_tune_list(tenon_module *m, const tenon_options *o, const tenon_tune_options *t, uint32_t *out_n,
                    const tenon_tune_task **out)
{
    return call(m, o, &(tune_call){.o = t, .list = true}, out_n, out);
}

int tenon_tune(tenon_module *m, const tenon_options *o, const tenon_tune_options *t, uint32_t *out_n,
               const tenon_tune_task **out)
{
    return call(m, o, &(tune_call){.o = t}, out_n, out);
}
