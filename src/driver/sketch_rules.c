/* Rules of sketches and postprocessors that a user's functions are: with them, the generator of sketches has further
 * rows, and all its schedules pass through these functions. Each schedules a kernel of the function's text, in a
 * session of its own; its steps are what counts. Whether a rule applies to a function is asked once. */
#include "driver/sketch_rules.h"
#include "driver/template.h"

#include "base/map.h"

#include <stddef.h>
#include <string.h>

enum { ALONE = 1 << TN_MORE_SKETCHES, /* beside a bit for each rule that applies */ MOST_POSTPROCS = 8 };

typedef struct rules_state {
    tn_map known;        /* function -> set of bits; its memory is the session's heap's */
    tn_arena *told;      /* where `why` is kept; NULL: nobody asks */
    uint32_t n_left_out; /* candidates, by postprocessors */
    const char *why;     /* what was said where a rule made no schedule last; NULL: nothing */
} rules_state;

typedef struct user_rules {
    tn_sched_generator generator; /* first */
    tenon *session;
    uint32_t n;
    const tenon_sketch_rule *rule;
    uint32_t n_postproc;
    const tenon_postproc *postproc;
    rules_state *state;
} user_rules;

typedef struct used_rule {
    const user_rules *all;
    const tenon_sketch_rule *rule;
} used_rule;

/* ---- the rules of a function ---- */

static tenon_kernel *kernel_of(const user_rules *g, const tn_func *f)
{
    tn_buf text = {0};
    tn_func_print(f, &text);
    tenon_kernel *k = tn_kernel_of_text(g->session, f->name, text.at, text.n);
    tn_buf_deinit(&text);
    return k;
}

static int condition_of(const user_rules *g, const tenon_sketch_rule *r, const tn_func *f)
{
    if (!r->condition)
        return TENON_SKETCH_APPLY;
    tenon_kernel *k = kernel_of(g, f);
    int condition = k ? r->condition(r->user, g->session, k) : TENON_SKETCH_PASS;
    tenon_kernel_free(k);
    return condition;
}

static uint64_t find_rules(const user_rules *g, const tn_func *f)
{
    uint64_t set = 0;
    if (tn_map_get(&g->state->known, tn_map_key(f), &set))
        return set;
    for (uint32_t i = 0; i < g->n && !(set & ALONE); i++) {
        int condition = condition_of(g, &g->rule[i], f);
        bool alone = condition == TENON_SKETCH_APPLY_ALONE;
        set |= alone || condition == TENON_SKETCH_APPLY ? (uint64_t)1 << i : 0;
        set |= alone ? ALONE : 0;
    }
    tn_map_put(&g->state->known, tn_map_key(f), set);
    return set;
}

/* ---- points ---- */

static void keep_reason(const user_rules *g)
{
    const tenon_diagnostic *d = g->state->told ? tenon_diagnostic_get(g->session, 0) : NULL;
    g->state->why = d ? tn_arena_strdup(g->state->told, d->text) : NULL;
}

static tn_verdict apply(void *user, tn_sched *s)
{
    const used_rule *u = user;
    const tenon_sketch_rule *r = u->rule;
    tenon *session = u->all->session;
    tn_verdict v = TN_REJECT_TEMPLATE;
    uint32_t line;
    tenon_kernel *k = kernel_of(u->all, s->func);
    tenon_config *c = k ? tn_config_new(session, s->given) : NULL;
    if (c)
        c->asked.fixed = s->fixed;
    const bool made = c && r->apply(r->user, session, k, c) == 0;
    if (!made)
        keep_reason(u->all);
    const char *trace = made ? tenon_kernel_trace(k) : NULL;
    if (c)
        tn_config_copy(c, s);
    if (c && c->asked.picked.refused) {
        s->picked.refused = tn_arena_strdup(s->arena, c->asked.picked.refused);
        v = TN_REJECT_PICK;
    } else if (trace) {
        v = tn_trace_replay(s, trace, strlen(trace), &line);
        s->comment = tn_arena_printf(s->arena, "sketch: rule %s", r->name);
    }
    tenon_config_free(c);
    tenon_kernel_free(k);
    return v;
}

/* The picks and what is said of `from`, and these steps. */
static tn_verdict replay(const tn_space *x, const tn_sched *from, const char *trace, tn_arena *arena,
                         tn_pool *pool, tn_sched *out)
{
    uint32_t line;
    tn_sched_init(out, x->func, arena, pool);
    out->picked = from->picked;
    out->picked.cap = from->picked.n;
    out->comment = from->comment;
    return tn_trace_replay(out, trace, strlen(trace), &line);
}

static const char *steps_of(const tn_sched *s)
{
    tn_buf text = {0};
    tn_sched bare = *s;
    bare.comment = NULL;
    tn_trace_print(&bare, &text);
    const char *steps = tn_arena_strdup(s->arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return steps;
}

static tn_verdict left_out(const user_rules *g)
{
    g->state->n_left_out++;
    return TN_REJECT_POSTPROC;
}

/* A candidate passes through all of them. */
static tn_verdict postprocess(const user_rules *g, const tn_space *x, tn_arena *arena, tn_pool *pool,
                              tn_sched *s)
{
    tn_verdict v = TN_DONE;
    for (uint32_t i = 0; i < g->n_postproc && v == TN_DONE; i++) {
        const tenon_postproc *p = &g->postproc[i];
        const tn_sched before = *s;
        const char *steps = steps_of(s);
        tenon_kernel *k = kernel_of(g, x->func);
        const bool passed = k && p->apply(p->user, g->session, k, steps) == 0;
        const char *after = passed ? tenon_kernel_trace(k) : NULL;
        if (!after)
            v = left_out(g);
        else if (strcmp(after, steps) != 0)
            v = replay(x, &before, after, arena, pool, s);
        tenon_kernel_free(k);
    }
    return v;
}

static tn_verdict derive(const tn_space *x, const tn_picks *given, tn_arena *arena, tn_pool *pool,
                         tn_sched *out)
{
    const user_rules *g = (const user_rules *)x->generator;
    const uint64_t set = find_rules(g, x->func);
    used_rule used[TN_MORE_SKETCHES];
    tn_more_sketch sketch[TN_MORE_SKETCHES];
    tn_more_sketches more = {.at = sketch, .alone = set & ALONE};
    for (uint32_t i = 0; i < g->n; i++)
        if (set >> i & 1) {
            used[more.n] = (used_rule){g, &g->rule[i]};
            sketch[more.n] = (tn_more_sketch){g->rule[i].name, &used[more.n], apply};
            more.n++;
        }
    tn_verdict v = tn_sketch_derive(x, &more, given, arena, pool, out);
    return v == TN_DONE ? postprocess(g, x, arena, pool, out) : v;
}

/* ---- for a search ---- */

tenon *tn_rules_session(const tenon_tune_options *o)
{
    bool knows = o && o->size >= offsetof(tenon_tune_options, rule) + sizeof o->rule,
         knows_more = o && o->size >= offsetof(tenon_tune_options, postproc) + sizeof o->postproc;
    return (knows && o->n_rule) || (knows_more && o->n_postproc) ? tenon_new() : NULL;
}

static bool is_name(const tenon_sketch_rule *rule, uint32_t at)
{
    const char *name = rule[at].name, *own;
    tn_choice word;
    bool sound = name && name[strcspn(name, " \t\r\n=#")] == 0 && tn_choice_parse(name, &word) && word.word;
    for (size_t i = 0; sound && (own = tn_sketch_name(i)); i++)
        sound = strcmp(name, own) != 0;
    for (uint32_t i = 0; sound && i < at; i++)
        sound = strcmp(name, rule[i].name) != 0;
    return sound;
}

static tn_status check(const tn_tuning *t)
{
    const tenon_tune_options *o = &t->o;
    if (t->maker != &tn_sketch_generator)
        return tn_error(
            t->b->ctx, "driver-E187", NULL,
            "rules of sketches or postprocessors are given, but %s makes the schedules; choose generator "
            "sketch",
            t->maker->name);
    for (uint32_t i = 0; i < o->n_rule; i++)
        if (i >= TN_MORE_SKETCHES || !is_name(o->rule, i) || !o->rule[i].apply)
            return tn_error(
                t->b->ctx, "driver-E188", NULL,
                "rule %u of sketches, \"%s\", cannot be added; give up to %d rules with different "
                "words for names, which no sketch has, and a function that applies each",
                (unsigned)i, o->rule[i].name ? o->rule[i].name : "", TN_MORE_SKETCHES);
    for (uint32_t i = 0; i < o->n_postproc; i++)
        if (i >= MOST_POSTPROCS || !o->postproc[i].apply)
            return tn_error(
                t->b->ctx, "driver-E191", NULL,
                "postprocessor %u cannot be added; give up to %d, with a function that applies each",
                (unsigned)i, MOST_POSTPROCS);
    return TN_OK;
}

tn_status tn_rules_take(tn_tuning *t, tenon *session)
{
    if (!t->o.n_rule && !t->o.n_postproc)
        return TN_OK;
    TN_TRY(check(t));
    if (!session)
        return TN_FAIL;
    user_rules *g = TN_NEW(&t->b->arena, user_rules);
    *g = (user_rules){.generator = tn_sketch_generator,
                      .session = session,
                      .n = t->o.n_rule,
                      .rule = t->o.rule,
                      .n_postproc = t->o.n_postproc,
                      .postproc = t->o.postproc,
                      .state = TN_NEW(&t->b->arena, rules_state)};
    g->generator.derive = derive;
    t->maker = &g->generator;
    return TN_OK;
}

/* The first task that rule `at` makes no schedule of, and *out_why; NULL: it makes one, or applies to none. */
static const tn_task *find_failure(tn_tuning *t, uint32_t at, const char **out_why)
{
    const user_rules *g = (const user_rules *)t->maker;
    const tn_task *first = NULL;
    for (uint32_t i = 0; i < t->n_chosen; i++) {
        tn_arena arena;
        tn_pool pool;
        tn_sched s;
        tn_picks only = {0};
        const tn_func *f = t->search[i].load.func;
        if (!(find_rules(g, f) >> at & 1))
            continue;
        tn_arena_init(&arena);
        tn_pool_init(&pool, f->ctx, &arena, f->pool);
        tn_picks_set(&only, &arena, "sketch", (tn_choice){g->rule[at].name, 0});
        const tn_space space = {t->maker, f, &t->b->machine, t->fixed};
        tn_verdict v = tn_explore(&space, &only, &arena, &pool, &s);
        v = v == TN_REJECT_POSTPROC ? TN_DONE : v; /* there is one */
        if (v != TN_DONE && !first) {
            *out_why = v == TN_REJECT_TEMPLATE && g->state->why ? g->state->why : tn_verdict_texts[v];
            first = &t->search[i];
        }
        tn_arena_deinit(&arena);
        if (v == TN_DONE)
            return NULL;
    }
    return first;
}

void tn_rules_try(tn_tuning *t)
{
    if (!t->o.n_rule)
        return;
    rules_state *state = ((const user_rules *)t->maker)->state;
    state->told = &t->b->arena;
    for (uint32_t i = 0; i < t->o.n_rule; i++) {
        const char *why = "";
        const tn_task *k = find_failure(t, i, &why);
        if (k)
            (void)tn_report(t->b->ctx, TN_WARNING, "driver-W004", NULL,
                            "rule %s of sketches makes no schedule of %s by its first candidates: %s",
                            t->o.rule[i].name, k->name, why);
    }
    state->told = NULL;
}

void tn_rules_tell(tn_tuning *t)
{
    const rules_state *state = t->o.n_postproc ? ((const user_rules *)t->maker)->state : NULL;
    for (uint32_t i = 0; i < t->n_chosen && state && state->n_left_out; i++)
        if (t->task[t->chosen[i]].trials == 0)
            (void)tn_report(
                t->b->ctx, TN_WARNING, "driver-W005", NULL,
                "no sketch of %s was tried: postprocessors left out %u of this search; let some pass, or "
                "search without them",
                t->search[i].name, (unsigned)state->n_left_out);
}
