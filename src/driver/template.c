/* Templates: kernels whose schedules functions of the user make from choices that they declare. For a search such a
 * function is a generator, as the built-in rules are. */
#include "driver/template.h"
#include "driver/sketch_rules.h"

#include <string.h>

/* ---- the kernel ---- */

typedef struct take_call {
    tenon_kernel *k;
    uint64_t workload;
    size_t n_trace; /* the kernel's text is its trace, a 0, and the function before that */
} take_call;

/* In the kernel's heap, where its expressions are made. */
static tn_status describe(tn_object *x, void *user)
{
    take_call *a = user;
    tenon_kernel *k = (tenon_kernel *)x;
    a->workload = tn_func_workload(k->func);
    tn_buf_clear(&k->text);
    tn_trace_print(&k->sched, &k->text);
    a->n_trace = k->text.n;
    tn_buf_char(&k->text, 0);
    tn_func_print(k->func, &k->text);
    return TN_OK;
}

static tn_status take(tn_object *x, void *user)
{
    tenon_config *c = (tenon_config *)x;
    const take_call *a = user;
    const tn_buf *text = &a->k->text;
    c->workload = a->workload;
    c->trace = tn_arena_strndup(&c->arena, text->at, a->n_trace);
    tn_buf_clear(&c->func);
    if (c->wants_func)
        tn_buf_add(&c->func, text->at + a->n_trace + 1, text->n - a->n_trace - 1);
    return TN_OK;
}

static tn_status refuse_kernel(tn_object *x, void *user)
{
    (void)user;
    return tn_error(
        &x->ctx, "driver-E171", NULL,
        "a template has to end its kernel; call tenon_kernel_end before, and look at what it returns");
}

int tenon_config_end(tenon_config *c, struct tenon_kernel *k)
{
    take_call a = {.k = k};
    if (c && (!k || !k->func))
        return tn_object_change(&c->object, NULL, refuse_kernel, NULL);
    return !c || tn_object_change(&k->object, NULL, describe, &a) ||
           tn_object_change(&c->object, NULL, take, &a);
}

/* ---- configurations by hand ---- */

typedef struct begin_call {
    const char *picks;     /* NULL: none */
    const tn_picks *given; /* of a search */
    bool wants_func;
} begin_call;

static tn_status begin(tn_object *x, void *user)
{
    tenon_config *c = (tenon_config *)x;
    const begin_call *a = user;
    tn_arena_init(&c->arena);
    c->asked = (tn_sched){.arena = &c->arena, .given = a->given};
    c->wants_func = a->wants_func;
    if (!a->picks)
        return TN_OK;
    c->asked.given = &c->given;
    return tn_picks_read(&x->ctx, &(tn_loc){.line = 1}, a->picks, strlen(a->picks), &c->arena, &c->given);
}

static tenon_config *config_new(tenon *t, const begin_call *a)
{
    tenon_config *c = tn_object_new(t, sizeof *c);
    if (c && tn_object_change(&c->object, NULL, begin, (void *)(uintptr_t)a) != 0) {
        tn_object_drop(&c->object);
        return NULL;
    }
    return c;
}

tenon_config *tenon_config_new(tenon *t, const char *picks)
{
    return config_new(t, &(begin_call){.picks = picks});
}

static tn_status print_picks(tn_object *x, void *user)
{
    tenon_config *c = (tenon_config *)x;
    (void)user;
    const tn_picks p = tn_picks_of(&c->asked.picked, &c->arena);
    tn_buf_clear(&c->text);
    tn_picks_print(&p, &c->text);
    return TN_OK;
}

const char *tenon_config_picks(tenon_config *c)
{
    return c && tn_object_change(&c->object, NULL, print_picks, NULL) == 0 ? tn_buf_cstr(&c->text) : NULL;
}

void tenon_config_free(tenon_config *c) { tn_object_free(c ? &c->object : NULL); }

/* ---- as a generator ---- */

typedef struct template_generator {
    tn_sched_generator generator; /* first */
    tenon_template_fn *make;
    void *user;
    tenon *session;    /* of the template's kernels */
    uint64_t workload; /* of the one at its first point */
} template_generator;

tenon_config *tn_config_new(tenon *t, const tn_picks *given)
{
    return config_new(t, &(begin_call){.given = given});
}

void tn_config_copy(const tenon_config *c, tn_sched *s)
{
    const tn_picks *given = s->given;
    tn_picks all = {0};
    for (uint32_t i = 0; i < c->asked.picked.n; i++) {
        const tn_pick *p = &c->asked.picked.at[i];
        tn_choice *candidate = TN_NEW_N(s->arena, tn_choice, p->n);
        uint32_t at;
        for (uint32_t k = 0; k < p->n; k++) {
            candidate[k] = p->candidate[k];
            candidate[k].word = candidate[k].word ? tn_arena_strdup(s->arena, candidate[k].word) : NULL;
        }
        tn_picks_set(&all, s->arena, tn_arena_strdup(s->arena, p->name), candidate[p->index]);
        s->given = &all;
        (void)tn_pick_do(s, p->name, p->n, candidate, &at);
    }
    s->given = given;
}

static tn_verdict derive(const tn_space *space, const tn_picks *given, tn_arena *arena, tn_pool *pool,
                         tn_sched *out)
{
    const template_generator *g = (const template_generator *)space->generator;
    uint32_t line = 0;
    tn_verdict v = TN_REJECT_TEMPLATE;
    tn_sched_init(out, space->func, arena, pool);
    tenon_config *c = tn_config_new(g->session, given);
    if (!c)
        return v;
    const bool made = g->make(g->user, g->session, c) == 0 && c->trace && c->workload == g->workload;
    tn_config_copy(c, out);
    if (c->asked.picked.refused) {
        out->picked.refused = tn_arena_strdup(arena, c->asked.picked.refused);
        v = TN_REJECT_PICK;
    } else if (made) {
        v = tn_trace_replay(out, c->trace, strlen(c->trace), &line);
    }
    tenon_config_free(c);
    return v;
}

/* ---- the search ---- */

typedef struct template_call {
    const char *name;
    template_generator *g;
    const tenon_tune_options *o;
    const tenon_tune_task *task;
} template_call;

static tn_status no_default(tn_build *b, const template_call *c)
{
    const tenon_diagnostic *d = tenon_diagnostic_get(c->g->session, 0);
    return tn_error(b->ctx, "driver-E169", NULL, "template %s makes no kernel by its first candidates: %s",
                    c->name, d ? d->text : "it has to call tenon_config_end and to return 0");
}

/* The function at the first point, before its steps. */
static tn_status first_function(tn_build *b, template_call *c, tn_func **out)
{
    template_generator *g = c->g;
    size_t n = 0;
    tenon_config *first = config_new(g->session, &(begin_call){.wants_func = true});
    if (!first || g->make(g->user, g->session, first) != 0 || !first->trace)
        return no_default(b, c);
    g->workload = first->workload;
    const char *text = tn_arena_copy(&b->arena, first->func.at, first->func.n, 1);
    size_t length = first->func.n;
    tenon_config_free(first);
    return tn_func_parse(b->ctx, &b->arena, &b->pool, c->name, text, length, out, 1, &n);
}

static tn_status tune(tenon *s, void *user)
{
    template_call *c = user;
    tn_build *b = &s->build;
    tn_tuning t;
    tn_func *f = NULL;
    TN_TRY(tn_tuning_begin(&t, b, &c->g->generator, c->o));
    TN_TRY(tn_rules_take(&t, NULL)); /* refuses them */
    t.no_records = true;
    TN_TRY(tn_target_parse(b));
    tn_pool_init(&b->pool, b->ctx, &b->arena, NULL);
    TN_TRY(first_function(b, c, &f));
    const tn_space space = {t.maker, f, &b->machine, 0};
    tn_sched *first = TN_NEW(&b->arena, tn_sched);
    if (tn_explore(&space, NULL, &b->arena, &b->pool, first) != TN_DONE)
        return no_default(b, c);
    tn_tuning_tasks(&t, 1);
    const tenon_tune_task k = {
        .name = tn_arena_strdup(&b->arena, c->name), .workload = c->g->workload, .calls = 1, .chosen = 1};
    tn_tuning_describe(&t, 0, &k, first, f);
    tn_tuning_choose(&t);
    TN_TRY(tn_tuning_prior(&t));
    TN_TRY(tn_tuning_search(&t));
    c->task = t.task;
    return t.status;
}

int tenon_tune_template(tenon *t, const char *name, tenon_template_fn *make, void *user,
                        const tenon_options *o, const tenon_tune_options *options,
                        const tenon_tune_task **out)
{
    *out = NULL;
    if (!t || !make)
        return 1;
    tenon *own = tenon_new();
    name = name ? name : "template";
    template_generator g = {{name, 1, derive}, make, user, own, 0};
    template_call c = {.name = name, .g = &g, .o = options};
    int failed = own ? tn_session_call(t, o, tune, &c) : 1;
    tenon_free(own);
    *out = failed ? NULL : c.task;
    return failed;
}
