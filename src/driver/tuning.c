/* Searches through the public API, whatever their tasks are of: options, trials, records. */
#include "driver/tuning.h"

#include "driver/records.h"
#include "tune/database.h"
#include "tune/nest.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIALS_EACH = 64, NOMINAL = 16, NEAR = 3 /* points of other sizes and machines */ };
static const double REPEAT_SECONDS = 0.004, TIMEOUT = 10, SLOWER = 1.3, MARGIN = 0.01, DISTURBED = 0.02;

/* ---- options ---- */

/* A library that is missing is to be said before anything is searched. */
static tn_status find_learner(tn_tuning *t)
{
    char why[TN_MODEL_WHY];
    t->learner = t->o.cost_model ? tn_learner_find(t->o.cost_model) : &tn_learners[0];
    if (!t->learner) {
        const char *all = "";
        for (uint32_t i = 0; i < tn_n_learners; i++)
            all = tn_arena_printf(&t->b->arena, "%s%s%s", all, i ? ", " : "", tn_learners[i].name);
        return tn_error(t->b->ctx, "driver-E205", NULL, "there is no cost model %s; choose from %s",
                        t->o.cost_model, all);
    }
    const tn_proposer *by = t->o.tuner ? tn_proposer_find(t->o.tuner) : &tn_proposers[0];
    bool wanted = t->learner->open && by->learns;
    void *with = wanted ? t->learner->open(why) : NULL;
    if (wanted && !with)
        return tn_error(t->b->ctx, "driver-E206", NULL,
                        "%s; install XGBoost (Debian: libxgboost0), or set TENON_XGBOOST to the path of its "
                        "libxgboost.so",
                        why);
    tn_free(with);
    return TN_OK;
}

tn_status tn_tuning_begin(tn_tuning *t, tn_build *b, const tn_sched_generator *g, const tenon_tune_options *o)
{
    *t = (tn_tuning){.b = b, .maker = g, .begin = tn_now(), .no_records = b->opt.no_records};
    if (o)
        TN_TRY(tn_options_copy(t->b->ctx, "tenon_tune_options", &t->o, sizeof t->o, o, o->size,
                               offsetof(tenon_tune_options, tasks)));
    if (!t->o.tasks || !*t->o.tasks)
        t->o.tasks = "all";
    t->o.repeat_seconds = t->o.repeat_seconds > 0 ? t->o.repeat_seconds : REPEAT_SECONDS;
    t->o.timeout = t->o.timeout > 0 ? t->o.timeout : TIMEOUT;
    t->o.threads = t->o.threads > 0 ? t->o.threads : 1;
    if (!g && !(t->maker = t->o.generator ? tn_sched_generator_find(t->o.generator) : &tn_rules_generator))
        return tn_error(t->b->ctx, "driver-E186", NULL,
                        "there is no generator of schedules %s; choose rules or sketch", t->o.generator);
    t->has_rival = !g && t->maker != &tn_rules_generator;
    if (t->o.tuner && !tn_proposer_find(t->o.tuner)) {
        const char *all = "";
        for (size_t i = 0; i < tn_n_proposers; i++)
            all = tn_arena_printf(&t->b->arena, "%s%s%s", all, i ? ", " : "", tn_proposers[i].name);
        return tn_error(t->b->ctx, "driver-E165", NULL, "there is no tuner %s; choose from %s", t->o.tuner,
                        all);
    }
    TN_TRY(find_learner(t));
    return tn_tuning_parts(t);
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
const int64_t *tn_tuning_nominal(tn_build *b, const tn_func *f)
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

static const char *choice_text(const tn_choice *c, tn_arena *arena)
{
    tn_buf text = {0};
    tn_choice_print(c, &text);
    const char *s = tn_arena_strdup(arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return s;
}

const tenon_pick *tn_tuning_picks(uint32_t n, const tn_pick pick[], tn_arena *arena)
{
    tenon_pick *all = TN_NEW_N(arena, tenon_pick, n);
    for (uint32_t i = 0; i < n; i++) {
        const tn_pick *p = &pick[i];
        const char **word = TN_NEW_N(arena, const char *, p->n);
        for (uint32_t k = 0; k < p->n; k++)
            word[k] = choice_text(&p->candidate[k], arena);
        all[i] = (tenon_pick){tn_arena_strdup(arena, p->name), p->n, p->index, word};
    }
    return all;
}

void tn_tuning_tasks(tn_tuning *t, uint32_t n)
{
    tn_arena *a = &t->b->arena;
    t->n = n;
    t->task = TN_NEW_N(a, tenon_tune_task, n);
    t->search = TN_NEW_N(a, tn_task, n);
    t->load = TN_NEW_N(a, const tn_workload *, n);
    t->built_in = TN_NEW_N(a, const tn_sched *, n);
    t->chosen = TN_NEW_N(a, uint32_t, n);
}

static double constant_bytes(const tn_func *f, const int64_t sym[], tn_arena *arena)
{
    double sum = 0;
    uint64_t *bytes = TN_NEW_N(arena, uint64_t, f->n_param);
    bool known = tn_func_parameter_bytes(f, sym, bytes);
    for (uint32_t i = 0; i < f->n_param && known; i++)
        sum += f->buffer[f->param[i]].constant ? (double)bytes[i] : 0;
    return sum;
}

void tn_tuning_describe(tn_tuning *t, uint32_t i, const tenon_tune_task *x, const tn_sched *built_in,
                        const tn_func *f)
{
    const int64_t *sym = tn_tuning_nominal(t->b, f);
    tenon_tune_task *k = &t->task[i];
    *k = *x;
    k->built_in = built_in->comment ? built_in->comment : "";
    k->n_pick = built_in->picked.n;
    k->pick = tn_tuning_picks(built_in->picked.n, built_in->picked.at, &t->b->arena);
    k->operations = operations_of(f, sym, &k->peak_seconds, &t->b->machine);
    const uint32_t cores = t->b->machine.cores, threads = (uint32_t)t->o.threads;
    k->peak_seconds /= threads < cores ? threads : cores;
    t->constant_bytes += constant_bytes(f, sym, &t->b->arena) * x->calls;
    t->built_in[i] = built_in;
    t->load[i] = tn_arena_copy(&t->b->arena, &(tn_workload){f, sym, k->operations}, sizeof(tn_workload),
                               _Alignof(tn_workload));
    t->search[i] = (tn_task){.rival = t->has_rival ? built_in : NULL,
                             .name = k->name,
                             .load = {f, sym, k->operations},
                             .workload = x->workload,
                             .form = tn_func_form(f),
                             .weight = x->calls};
}

/* Do the constants of all tasks together, chosen or not, come from memory in each run? Tables of which a run reads
 * little count as a whole, and what several calls share as often. */
static bool constants_are_far(const tn_tuning *t)
{
    const tn_machine *m = &t->b->machine;
    return t->constant_bytes > (double)(m->l3_bytes > m->l2_bytes ? m->l3_bytes : m->l2_bytes);
}

/* Seconds in which a core reads and writes the parameters of a call: constants from memory where they are far, others
 * from the cache that holds them together. */
static double memory_seconds(const tn_tuning *t, const tn_workload *load)
{
    const tn_machine *m = &t->b->machine;
    const tn_func *f = load->func;
    double *bytes = TN_NEW_N(&t->b->arena, double, f->n_param), far = 0, near = 0;
    tn_nest_parameters(f, load->sym, bytes);
    for (uint32_t i = 0; i < f->n_param; i++)
        if (f->buffer[f->param[i]].constant && constants_are_far(t))
            far += bytes[i];
        else
            near += bytes[i];
    double cycles = tn_machine_read_cycles(m, near, near) + tn_machine_read_cycles(m, far, HUGE_VAL);
    return cycles / (m->clock_ghz * 1e9);
}

/* The roofline of a task: what takes longer, its operations or its memory (Williams et al. 2009, "Roofline"). */
static void put_roof(tn_tuning *t, uint32_t i)
{
    tenon_tune_task *k = &t->task[i];
    const uint32_t cores = t->b->machine.cores, threads = (uint32_t)t->o.threads;
    const double by_memory = memory_seconds(t, &t->search[i].load) / (threads < cores ? threads : cores);
    k->peak_seconds = k->peak_seconds > by_memory ? k->peak_seconds : by_memory;
    t->search[i].least = k->peak_seconds;
}

void tn_tuning_choose(tn_tuning *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->task[i].chosen) {
            put_roof(t, i);
            t->search[t->n_chosen] = t->search[i];
            t->chosen[t->n_chosen++] = i;
        }
}

/* ---- what was found before ---- */

static const char *sizes_of(const tn_workload *load, tn_arena *arena)
{
    const tn_func *f = load->func;
    tn_buf text = {0};
    for (uint32_t i = 0; i < f->n_param; i++) {
        const tn_buffer *b = &f->buffer[f->param[i]];
        for (int d = 0; d < b->ndim; d++) {
            int64_t n = 0;
            (void)!tn_func_value(f, b->dim[d], load->sym, &n);
            tn_buf_printf(&text, "%s%" PRId64, text.n ? " " : "", n < 0 ? 0 : n);
        }
    }
    const char *sizes = tn_arena_strdup(arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return sizes;
}

/* Records of this task and of those like it. */
static uint32_t find_records(const tn_tuning *t, const tn_task *k, const tn_record *out[NEAR + 1])
{
    tn_build *b = t->b;
    if (!b->has_records)
        return 0;
    const tn_record like = {.workload = k->workload,
                            .machine = b->record_machine,
                            .threads = (uint32_t)t->o.threads,
                            .generator = t->maker->name,
                            .form = k->form,
                            .sizes = sizes_of(&k->load, &b->arena)};
    out[0] = tn_records_find(&b->records, like.workload, like.machine, like.threads);
    const uint32_t own = out[0] && strcmp(out[0]->generator, like.generator) == 0;
    return own + tn_records_near(&b->records, &like, NEAR, out + own);
}

/* What was found before, here or for other sizes and machines, and near which numbers the search is to begin. */
static void give_points(tn_tuning *t, tn_task *k)
{
    tn_arena *arena = &t->b->arena;
    const tn_record *r[NEAR + 1];
    uint32_t n = find_records(t, k, r), line;
    const tn_picks **given = TN_NEW_N(arena, const tn_picks *, n + 2);
    for (uint32_t i = 0; i < n; i++) {
        tn_picks *p = TN_NEW(arena, tn_picks);
        if (tn_tuning_has_time(r[i]) && tn_picks_parse(r[i]->picks, strlen(r[i]->picks), arena, p, &line))
            given[k->n_given++] = p;
    }
    given[k->n_given] = tn_tuning_near(t, k);
    k->n_given += given[k->n_given] != NULL;
    given[k->n_given] = tn_tuning_tvm(t, k);
    k->n_given += given[k->n_given] != NULL;
    k->given = given;
}

/* Says of a record whose schedule does not fit any more what a build says; its choices are tried nevertheless. */
static void tell_unfit(const tn_tuning *t, const tn_task *k)
{
    const tn_func *f = k->load.func;
    const bool by_template = t->maker != &tn_rules_generator && !t->has_rival;
    tn_arena arena;
    tn_pool pool;
    tn_sched s;
    if (by_template || !t->b->has_records)
        return;
    tn_arena_init(&arena);
    tn_pool_init(&pool, f->ctx, &arena, f->pool);
    (void)tn_records_apply(t->b, f, NULL, &arena, &pool, &s);
    tn_arena_deinit(&arena);
    if (f->ctx != t->b->ctx)
        tn_ctx_join(t->b->ctx, f->ctx);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

/* TVM refuses a database that has lines of Tenon. */
static tn_status leaves_tvm_alone(const tn_tuning *t)
{
    const tn_record_place p = tn_record_place_of(t->b->ctx, t->o.records);
    const tn_records *r = &t->b->records;
    for (size_t i = 0; p.workloads && i < r->tvm.n; i++) {
        const tn_loc loc = {.file = p.records, .line = r->tvm.at[i].line, .col = 1};
        if (r->tvm.at[i].path && strcmp(r->tvm.at[i].path, p.records) == 0)
            return tn_error(t->b->ctx, "driver-E204", &loc,
                            "TVM wrote this database, and could not read it with lines of Tenon; name "
                            "another folder, and this one as records that are tried first");
    }
    return TN_OK;
}

tn_status tn_tuning_known(tn_tuning *t)
{
    tn_build *b = t->b;
    t->is_known = b->all_machines = true;
    if (!t->no_records)
        tn_records_take_home(b);
    t->first_prior = b->has_records ? b->records.all.n : 0;
    if (t->o.prior && *t->o.prior)
        TN_TRY(tn_records_take(b, t->o.prior));
    t->end_prior = b->has_records ? b->records.all.n : 0;
    if (t->o.records && *t->o.records && tn_records_exist(b->ctx, t->o.records))
        TN_TRY(tn_records_take(b, t->o.records));
    return t->o.records && *t->o.records ? leaves_tvm_alone(t) : TN_OK;
}

tn_status tn_tuning_prior(tn_tuning *t)
{
    tn_build *b = t->b;
    char home[TN_RECORDS_PATH];
    if (!t->is_known)
        TN_TRY(tn_tuning_known(t));
    if (!t->no_records && tn_records_home(home)) {
        t->home = tn_arena_strdup(&b->arena, home);
        tn_folders_make(t->home);
        TN_TRY(tn_records_append(b->ctx, t->home, 0, NULL)); /* can it be written? */
    }
    if (t->o.records && *t->o.records)
        TN_TRY(tn_records_append(b->ctx, t->o.records, 0, NULL));
    if (t->home && t->o.records && is_same_file(t->home, t->o.records))
        t->home = NULL;
    for (uint32_t i = 0; i < t->n_chosen; i++) {
        tell_unfit(t, &t->search[i]);
        give_points(t, &t->search[i]);
    }
    tn_tuning_tell_near(t);
    tn_tuning_tell_tvm(t);
    tn_tuning_recall(t);
    return TN_OK;
}

/* ---- the search ---- */

static void take_standing(tn_tuning *t, const tn_search *s, uint32_t i)
{
    tenon_tune_task *k = &t->task[t->chosen[i]];
    tn_standing at = tn_search_standing(s, i);
    k->trials = at.trials;
    k->failed = at.failed;
    k->built_in_seconds = at.built_in;
    k->seconds = at.seconds;
}

/* What is told of a trial or of a gain; the rest is that of the search. */
static void tell(tn_tuning *t, const tn_search *s, uint32_t i, tenon_tune_progress p)
{
    if (!t->o.progress)
        return;
    p.elapsed = tn_now() - t->begin;
    p.trials = tn_search_trials(s);
    p.task = t->chosen[i];
    p.n_task = t->n;
    p.tasks = t->task;
    t->o.progress(t->o.progress_user, &p);
}

/* Lines of "name = value". */
static const char *point_text(const tn_point *p, tn_buf *text)
{
    for (uint32_t i = 0; i < p->n; i++) {
        tn_buf_printf(text, "%s = ", p->pick[i].name);
        tn_choice_print(&p->pick[i].candidate[p->pick[i].index], text);
        tn_buf_char(text, '\n');
    }
    return tn_buf_cstr(text);
}

static void on_trial(void *user, const tn_search *s, uint32_t i, const tn_point *p, const tn_trial *trial)
{
    tn_tuning *t = user;
    take_standing(t, s, i);
    t->task[t->chosen[i]].compiling += trial->compile;
    t->task[t->chosen[i]].timing += trial->running;
    if (trial->fate != TN_TRIAL_TIMED)
        t->task[t->chosen[i]].why = tn_arena_strdup(&t->b->arena, trial->why);
    tn_buf text = {0};
    const bool timed = trial->fate == TN_TRIAL_TIMED;
    tell(t, s, i,
         (tenon_tune_progress){.seconds = timed ? trial->seconds : 0,
                               .picks = point_text(p, &text),
                               .why = timed ? NULL : trial->why,
                               .fate = trial->fate,
                               .number = tn_point_number(p->n, p->pick)});
    tn_buf_deinit(&text);
}

/* A file that cannot be written is said once, and fails the call when it ends. */
static void write_record(tn_tuning *t, const char **path, const tn_record *r)
{
    if (!*path || !**path || tn_records_append(t->b->ctx, *path, 1, r) == TN_OK)
        return;
    t->status = TN_FAIL;
    *path = NULL;
}

void tn_tuning_write(tn_tuning *t, const tn_record *r)
{
    write_record(t, &t->o.records, r);
    write_record(t, &t->home, r);
}

/* The function, and what the pair of files of MetaSchedule says of it besides. */
static void describe_workload(tn_tuning *t, uint32_t i, tn_record *r)
{
    const tn_workload *load = &t->search[i].load;
    tn_arena *arena = &t->b->arena;
    tn_buf text = {0};
    tn_func_print(load->func, &text);
    r->function = tn_arena_strdup(arena, tn_buf_cstr(&text));
    tn_buf_clear(&text);
    tn_database_print_parameters(load->func, load->sym, &text);
    r->parameters = tn_arena_strdup(arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
}

static void on_kept(void *user, const tn_search *s, uint32_t i, const tn_point *p, const char *trace)
{
    tn_tuning *t = user;
    tn_build *b = t->b;
    tenon_tune_task *k = &t->task[t->chosen[i]];
    take_standing(t, s, i);
    tn_buf text = {0};
    k->picks = tn_arena_strdup(&b->arena, point_text(p, &text));
    tn_buf_deinit(&text);
    tn_record r = {.workload = k->workload,
                   .machine = tn_record_machine(&b->machine, &b->arena),
                   .threads = (uint32_t)t->o.threads,
                   .trials = k->trials,
                   .seconds = k->seconds,
                   .built_in = k->built_in_seconds,
                   .operations = k->operations,
                   .name = k->name,
                   .generator = t->maker->name,
                   .version = t->maker->version,
                   .picks = k->picks,
                   .trace = trace,
                   .form = t->search[i].form,
                   .sizes = sizes_of(&t->search[i].load, &b->arena)};
    describe_workload(t, i, &r);
    tn_tuning_write(t, &r);
    tenon_record seen;
    tn_record_view(&r, &seen);
    tell(t, s, i,
         (tenon_tune_progress){
             .fate = TENON_TRIAL_TIMED, .number = tn_point_number(p->n, p->pick), .record = &seen});
}

static uint32_t trials_of(const tn_tuning *t)
{
    return t->o.trials ? t->o.trials : t->o.seconds > 0 ? UINT32_MAX : TRIALS_EACH * t->n_chosen;
}

static tn_status run_search(tn_tuning *t, tn_measurer *m)
{
    char why[TN_MODEL_WHY];
    uint32_t recalled = 0;
    const double least = 1e-3, left = t->o.seconds - (tn_now() - t->begin),
                 seconds = t->o.seconds > 0 ? left > least ? left : least : 0; /* importing takes its share */
    const tn_meter meter = tn_meter_of(m);
    const tn_search_options o = {.machine = &t->b->machine,
                                 .generator = t->maker,
                                 .proposer = t->o.tuner ? tn_proposer_find(t->o.tuner) : &tn_proposers[0],
                                 .learner = t->learner,
                                 .fixed = t->fixed,
                                 .changes = t->changes,
                                 .seed = t->o.seed,
                                 .trials = trials_of(t),
                                 .early_stopping = t->o.early_stopping,
                                 .evenly = t->o.evenly,
                                 .seconds = seconds,
                                 .margin = MARGIN,
                                 .n_past = t->n_past,
                                 .n_group = t->n_past_group,
                                 .past = t->past,
                                 .recalled = &recalled,
                                 .user = t,
                                 .progress = on_trial,
                                 .kept = on_kept};
    const bool ended = tn_search_run(&o, &meter, t->n_chosen, t->search, why);
    tn_tuning_tell_past(t, recalled);
    if (ended)
        return TN_OK;
    return tn_error(
        t->b->ctx, "driver-E207", NULL,
        "the cost model %s ended the search: %s; what was found is recorded, and another cost model "
        "goes on",
        t->learner->name, why);
}

/* Whether compiling disturbs what is timed beside it is tried with the task that computes most. */
static void probe(tn_tuning *t, tn_measurer *m)
{
    uint32_t at = 0;
    tn_buf trace = {0};
    for (uint32_t i = 1; i < t->n_chosen; i++)
        if (t->search[i].load.operations > t->search[at].load.operations)
            at = i;
    tn_trace_print(t->built_in[t->chosen[at]], &trace);
    (void)tn_measurer_probe(m, &(tn_candidate){.workload = at, .trace = tn_buf_cstr(&trace)}, DISTURBED);
    tn_buf_deinit(&trace);
}

/* Why no task has a time, as where the target is another machine; NULL: one has, or none was tried. */
static const char *why_none(const tn_tuning *t)
{
    const char *why = NULL;
    for (uint32_t i = 0; i < t->n_chosen; i++) {
        const tenon_tune_task *k = &t->task[t->chosen[i]];
        if (k->built_in_seconds > 0 || k->trials > k->failed)
            return NULL;
        why = why ? why : k->why;
    }
    return why;
}

static tn_status cannot_time(tn_build *b, const char *why)
{
    return tn_error(b->ctx, "driver-E164", NULL, "nothing can be timed: %s", why);
}

tn_status tn_tuning_search(tn_tuning *t)
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
                                  .far = constants_are_far(t),
                                  .slower = SLOWER,
                                  .seed = t->o.seed};
    tn_workload *load = TN_NEW_N(&b->arena, tn_workload, t->n_chosen);
    for (uint32_t i = 0; i < t->n_chosen; i++)
        load[i] = t->search[i].load;
    tn_measurer *m = tn_measurer_new(&o, t->n_chosen, load, &error);
    if (!m)
        return cannot_time(b, strerror(error));
    probe(t, m);
    tn_status st = run_search(t, m);
    tn_measurer_end(m);
    tn_tuning_tell_mutators(t);
    const char *why = why_none(t);
    return st != TN_OK || !why ? st : cannot_time(b, why);
}
