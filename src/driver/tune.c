/* Tuning through the public API: tasks of a module, a search over them, and what it found in a file of records. */
#include "driver/api.h"
#include "schedule/space.h"
#include "tenon/tune.h"
#include "tune/search.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_POINTS = 32, TRIALS_EACH = 64, NOMINAL = 16 };
static const double REPEAT_SECONDS = 0.004, TIMEOUT = 10, SLOWER = 1.3, MARGIN = 0.01, DISTURBED = 0.02;

typedef struct tuning {
    tn_build *b;
    tenon_tune_options o;
    uint32_t n;
    tn_build_task *of;
    tenon_tune_task *task;
    uint32_t n_chosen, *chosen; /* numbers of tasks */
    tn_task *search;            /* of those chosen */
    double begin;
    bool no_records;
    const char *home; /* the user's file of records; NULL: none */
    tn_status status; /* of writing records */
} tuning;

/* ---- options ---- */

static tn_status read_options(tuning *t, const tenon_tune_options *o)
{
    if (o)
        TN_TRY(tn_options_copy(t->b->ctx, "tenon_tune_options", &t->o, sizeof t->o, o, o->size,
                               offsetof(tenon_tune_options, tasks)));
    if (!t->o.tasks || !*t->o.tasks)
        t->o.tasks = "all";
    t->o.repeat_seconds = t->o.repeat_seconds > 0 ? t->o.repeat_seconds : REPEAT_SECONDS;
    t->o.timeout = t->o.timeout > 0 ? t->o.timeout : TIMEOUT;
    t->o.threads = t->o.threads > 0 ? t->o.threads : 1;
    if (t->o.tuner && !tn_proposer_find(t->o.tuner)) {
        const char *all = "";
        for (size_t i = 0; i < tn_n_proposers; i++)
            all = tn_arena_printf(&t->b->arena, "%s%s%s", all, i ? ", " : "", tn_proposers[i].name);
        return tn_error(t->b->ctx, "driver-E165", NULL, "there is no tuner %s; choose from %s", t->o.tuner,
                        all);
    }
    return TN_OK;
}

const char *tenon_tuner_name(size_t i, const char **out_doc)
{
    if (i >= tn_n_proposers)
        return NULL;
    *out_doc = tn_proposers[i].doc;
    return tn_proposers[i].name;
}

/* ---- tasks ---- */

/* Values at which a task with symbols is timed: not few, and no more than there may be. */
static const int64_t *nominal(tn_build *b, const tn_func *f)
{
    int64_t *v = TN_NEW_N(&b->arena, int64_t, f->n_symbol);
    for (uint32_t i = 0; i < f->n_symbol; i++) {
        const tn_symbol_range *s = &f->symbol[i];
        v[i] = s->min > NOMINAL ? s->min : s->max > 0 && s->max < NOMINAL ? s->max : NOMINAL;
    }
    return v;
}

static double operations_of(const tn_func *f, const int64_t sym[], double *out_seconds, const tn_machine *m)
{
    const tn_expr *count[TN_N_OPERATIONS];
    const double rate[TN_N_OPERATIONS] = {
        [TN_OPERATIONS_FLOAT] = m->peak_gflops,
        [TN_OPERATIONS_BFLOAT16] = m->bf16_gflops > m->peak_gflops ? m->bf16_gflops : m->peak_gflops,
        [TN_OPERATIONS_INTEGER] = m->int8_gops > m->peak_gflops ? m->int8_gops : m->peak_gflops};
    double sum = 0;
    int64_t n;
    *out_seconds = 0;
    tn_operations_count(f, count);
    for (int k = 0; k < TN_N_OPERATIONS; k++)
        if (tn_func_value(f, count[k], sym, &n) && n > 0) {
            sum += (double)n;
            *out_seconds += (double)n / (rate[k] * 1e9);
        }
    return sum;
}

/* By parameter: the weights, which are not in the caches when a kernel begins. */
static const bool *constants_of(tn_build *b, const tn_group *g)
{
    bool *c = TN_NEW_N(&b->arena, bool, g->te->n_param);
    for (uint32_t i = 0; i < g->n_in && i < g->call->nin; i++)
        c[i] = g->call->in[i].def && g->call->in[i].def->blob;
    return c;
}

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

static void describe(tuning *t, uint32_t i)
{
    tn_build *b = t->b;
    const tn_build_task *x = &t->of[i];
    const tn_func *f = x->group->base[x->variant];
    const tn_sched *s = &x->group->sched[x->variant];
    const int64_t *sym = nominal(b, f);
    tenon_tune_task *k = &t->task[i];
    *k = (tenon_tune_task){.name = names_of(b, x->group, x->variant),
                           .nodes = x->group->source,
                           .workload = x->workload,
                           .calls = x->calls,
                           .built_in = s->comment ? s->comment : ""};
    k->operations = operations_of(f, sym, &k->peak_seconds, &b->machine);
    k->peak_seconds /= t->o.threads;
    t->search[i] = (tn_task){.name = k->name,
                             .load = {f, sym, constants_of(b, x->group), k->operations},
                             .workload = x->workload,
                             .weight = x->calls,
                             .least = k->peak_seconds};
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

static tn_status choose(tuning *t)
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
        if (!found && t->n)
            return tn_error(
                b->ctx, "driver-E163", NULL,
                "no task is \"%s\"; the module has tasks 0 to %u, which `tune --tasks list` shows", word,
                (unsigned)t->n - 1);
        at += n;
    }
    t->chosen = TN_NEW_N(&b->arena, uint32_t, t->n);
    for (uint32_t i = 0; i < t->n; i++)
        if (t->task[i].chosen) {
            t->search[t->n_chosen] = t->search[i];
            t->chosen[t->n_chosen++] = i;
        }
    return TN_OK;
}

static tn_status find_tasks(tuning *t)
{
    tn_build *b = t->b;
    TN_TRY(tn_target_parse(b));
    TN_TRY(tn_stage_graph(b));
    TN_TRY(tn_stage_tir(b));
    TN_TRY(tn_stage_schedule(b));
    t->n = (uint32_t)tn_tasks_find(b, &t->of);
    t->task = TN_NEW_N(&b->arena, tenon_tune_task, t->n);
    t->search = TN_NEW_N(&b->arena, tn_task, t->n);
    for (uint32_t i = 0; i < t->n; i++)
        describe(t, i);
    return choose(t);
}

/* ---- what was found before ---- */

static const tn_picks *old_point(tuning *t, const tn_task *k)
{
    tn_build *b = t->b;
    uint32_t line;
    const tn_record *r =
        b->has_records ? tn_records_find(&b->records, k->workload, b->record_machine, (uint32_t)t->o.threads)
                       : NULL;
    tn_picks *p = TN_NEW(&b->arena, tn_picks);
    return r && tn_picks_parse(r->picks, strlen(r->picks), &b->arena, p, &line) ? p : NULL;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

static tn_status read_prior(tuning *t)
{
    tn_build *b = t->b;
    char home[TN_RECORDS_PATH];
    if (!t->no_records && tn_records_home(home)) {
        t->home = tn_arena_strdup(&b->arena, home);
        tn_folders_make(t->home);
        TN_TRY(tn_records_append(b->ctx, t->home, 0, NULL)); /* can it be written? */
        tn_records_take_home(b);
    }
    if (t->o.prior && *t->o.prior)
        TN_TRY(tn_records_take(b, t->o.prior));
    if (t->o.records && *t->o.records) {
        TN_TRY(tn_records_append(b->ctx, t->o.records, 0, NULL));
        TN_TRY(tn_records_take(b, t->o.records));
    }
    if (t->home && t->o.records && is_same_file(t->home, t->o.records))
        t->home = NULL;
    for (uint32_t i = 0; i < t->n_chosen; i++)
        t->search[i].old = old_point(t, &t->search[i]);
    return TN_OK;
}

/* ---- the search ---- */

static void take_standing(tuning *t, const tn_search *s, uint32_t i)
{
    tenon_tune_task *k = &t->task[t->chosen[i]];
    tn_standing at = tn_search_standing(s, i);
    k->trials = at.trials;
    k->failed = at.failed;
    k->built_in_seconds = at.built_in;
    k->seconds = at.seconds;
}

static void tell(tuning *t, const tn_search *s, uint32_t i, double seconds)
{
    if (t->o.progress)
        t->o.progress(t->o.progress_user, &(tenon_tune_progress){.elapsed = tn_now() - t->begin,
                                                                 .trials = tn_search_trials(s),
                                                                 .task = t->chosen[i],
                                                                 .n_task = t->n,
                                                                 .tasks = t->task,
                                                                 .seconds = seconds});
}

static void on_trial(void *user, const tn_search *s, uint32_t i, const tn_trial *trial)
{
    tuning *t = user;
    take_standing(t, s, i);
    t->task[t->chosen[i]].compiling += trial->compile;
    t->task[t->chosen[i]].timing += trial->running;
    if (trial->fate != TN_TRIAL_TIMED)
        t->task[t->chosen[i]].why = tn_arena_strdup(&t->b->arena, trial->why);
    tell(t, s, i, trial->fate == TN_TRIAL_TIMED ? trial->seconds : 0);
}

static const char *picks_text(tn_arena *arena, const tn_sched *s)
{
    tn_buf text = {0};
    const tn_picks p = tn_picks_of(s, arena);
    tn_picks_print(&p, &text);
    const char *copy = tn_arena_strdup(arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return copy;
}

/* A file that cannot be written is said once, and fails the call when it ends. */
static void write_record(tuning *t, const char **path, const tn_record *r)
{
    if (!*path || !**path || tn_records_append(t->b->ctx, *path, 1, r) == TN_OK)
        return;
    t->status = TN_FAIL;
    *path = NULL;
}

static void on_kept(void *user, const tn_search *s, uint32_t i, const tn_sched *sched)
{
    tuning *t = user;
    tn_build *b = t->b;
    tenon_tune_task *k = &t->task[t->chosen[i]];
    take_standing(t, s, i);
    k->picks = picks_text(&b->arena, sched);
    tn_buf trace = {0};
    tn_trace_print(sched, &trace);
    const tn_record r = {.workload = k->workload,
                         .machine = tn_record_machine(&b->machine, &b->arena),
                         .threads = (uint32_t)t->o.threads,
                         .trials = k->trials,
                         .seconds = k->seconds,
                         .built_in = k->built_in_seconds,
                         .operations = k->operations,
                         .name = k->name,
                         .generator = tn_rules_generator.name,
                         .version = tn_rules_generator.version,
                         .picks = k->picks,
                         .trace = tn_buf_cstr(&trace)};
    write_record(t, &t->o.records, &r);
    write_record(t, &t->home, &r);
    tn_buf_deinit(&trace);
    tell(t, s, i, 0);
}

static uint32_t trials_of(const tuning *t)
{
    return t->o.trials ? t->o.trials : t->o.seconds > 0 ? UINT32_MAX : TRIALS_EACH * t->n_chosen;
}

static void run_search(tuning *t, tn_measurer *m)
{
    const double least = 1e-3, left = t->o.seconds - (tn_now() - t->begin),
                 seconds = t->o.seconds > 0 ? left > least ? left : least : 0; /* importing takes its share */
    const tn_meter meter = tn_meter_of(m);
    const tn_search_options o = {.machine = &t->b->machine,
                                 .generator = &tn_rules_generator,
                                 .proposer = t->o.tuner ? tn_proposer_find(t->o.tuner) : &tn_proposers[0],
                                 .seed = t->o.seed,
                                 .trials = trials_of(t),
                                 .early_stopping = t->o.early_stopping,
                                 .evenly = t->o.evenly,
                                 .seconds = seconds,
                                 .margin = MARGIN,
                                 .user = t,
                                 .progress = on_trial,
                                 .kept = on_kept};
    tn_search_run(&o, &meter, t->n_chosen, t->search);
}

/* Whether compiling disturbs what is timed beside it is tried with the task that computes most. */
static void probe(tuning *t, tn_measurer *m)
{
    uint32_t at = 0;
    tn_buf trace = {0};
    for (uint32_t i = 1; i < t->n_chosen; i++)
        if (t->search[i].load.operations > t->search[at].load.operations)
            at = i;
    const tn_build_task *x = &t->of[t->chosen[at]];
    tn_trace_print(&x->group->sched[x->variant], &trace);
    (void)tn_measurer_probe(m, &(tn_candidate){.workload = at, .trace = tn_buf_cstr(&trace)}, DISTURBED);
    tn_buf_deinit(&trace);
}

static tn_status cannot_time(tn_build *b, const char *why)
{
    return tn_error(b->ctx, "driver-E164", NULL, "nothing can be timed: %s", why);
}

static tn_status search(tuning *t)
{
    tn_build *b = t->b;
    int error;
    if (!b->target.row->generator->here)
        return cannot_time(b, "this target makes no code in this process; use target llvm");
    const tn_measure_options o = {.machine = &b->machine,
                                  .generator = b->target.row->generator,
                                  .pipeline = b->target.row->pipeline,
                                  .feature = b->feature,
                                  .n_feature = b->n_feature,
                                  .threads = t->o.threads,
                                  .least_seconds = t->o.repeat_seconds,
                                  .most_seconds = t->o.timeout,
                                  .slower = SLOWER,
                                  .seed = t->o.seed};
    tn_workload *load = TN_NEW_N(&b->arena, tn_workload, t->n_chosen);
    for (uint32_t i = 0; i < t->n_chosen; i++)
        load[i] = t->search[i].load;
    tn_measurer *m = tn_measurer_new(&o, t->n_chosen, load, &error);
    if (!m)
        return cannot_time(b, strerror(error));
    probe(t, m);
    run_search(t, m);
    tn_measurer_end(m);
    return TN_OK;
}

/* ---- the calls ---- */

typedef struct {
    const tenon_tune_options *o;
    bool list;
    uint32_t n;
    const tenon_tune_task *task;
} tune_call;

static void measure_spaces(tuning *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        bool exact;
        const tn_build_task *x = &t->of[i];
        const tn_space space = {&tn_rules_generator, x->group->base[x->variant], &t->b->machine};
        t->task[i].points = tn_space_size(&space, MOST_POINTS, &exact);
        t->task[i].exact = exact;
    }
}

static tn_status tune(tenon *s, void *user)
{
    tune_call *c = user;
    tuning t = {.b = &s->build, .begin = tn_now()};
    TN_TRY(read_options(&t, c->o));
    t.no_records = s->build.opt.no_records;
    s->build.opt.no_records = 1; /* tasks begin with the built-in schedules */
    s->build.opt.tuning_records = NULL;
    TN_TRY(find_tasks(&t));
    if (c->list)
        measure_spaces(&t);
    else
        TN_TRY(read_prior(&t));
    if (!c->list && t.n_chosen)
        TN_TRY(search(&t));
    c->n = t.n;
    c->task = t.task;
    return t.status;
}

static int call(tenon_module *m, const tenon_options *o, tune_call *c, uint32_t *out_n,
                const tenon_tune_task **out)
{
    int failed = tn_module_call(m, o, tune, c);
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
