/* Tuning the graph: algorithms, layouts and groups (transform/pick.c), tried on the whole model.
 *
 * A variant is the model built in this process at a point of these choices, with the kernels' schedules that
 * compile would take. It is timed in turn with the best one so far on the same random inputs, and kept if it
 * is faster twice, than the built-in choices, too, and its outputs agree with theirs. What was recorded
 * before is tried first. Then two walks propose variants: first the choices of one role all together (all
 * layouts of half the width), then single choices, those first whose nodes take most of the time. A variant
 * whose kernels are those of one before is no trial. What is kept is written down at once: the workload is
 * the graph before these passes (tn_graph_workload), the picks are those that are no defaults. */
#include "driver/tuning.h"
#include "tenon/host.h"
#include "tune/arguments.h"

#include <math.h>
#include <string.h>

enum { TRIALS = 64, LEAST_RUNS = 8, MOST_RUNS = 60, VERSION = 1, PROFILED = 1 << 14 };
static const double GAIN = 0.985, HOPELESS = 1.3, LEAST_SECONDS = 0.12, MOST_SECONDS = 1;

typedef struct run_state { /* of the runtime; released before the code that it runs */
    tnr_module *module;
    tnr_instance *instance;
} run_state;

typedef struct variant {
    tn_ctx ctx;
    tn_build b;
    void *params;
    tn_resource *code, *state;
    run_state *run;
} variant;

typedef struct timed_node {
    const char *nodes; /* of a kernel, "Conv_0, Relu_1"; the module's */
    double seconds;
} timed_node;

typedef struct graph_search {
    tn_tuning *t;
    tenon_tune_task *task;
    tn_map seen; /* hashes of fused graphs */
    variant *built_in, *best;
    tn_picks at;      /* of the best one */
    tn_argument *in;  /* by input */
    tn_argument *out; /* of the built-in choices, by output */
    tn_buffer *type;  /* theirs */
    uint32_t n_in, n_out;
    uint32_t trials;
    timed_node *profile; /* of a run of the best one */
    uint32_t n_profile;
} graph_search;

/* ---- variants ---- */

static void release_run(tn_resource *r)
{
    run_state *x = r->at;
    tnr_instance_free(x->instance);
    if (x->module)
        tnr_module_release(x->module);
}

static void drop(variant *v)
{
    if (!v)
        return;
    tn_resource_end(v->state);
    tn_resource_end(v->code);
    tn_free(v->params);
    v->b.has_records = false; /* they are the search's */
    tn_build_deinit(&v->b);
    tn_ctx_deinit(&v->ctx);
}

static uint64_t hash_of(const tn_graph *g)
{
    tn_buf text = {0};
    tn_relay_print(g, &text);
    uint64_t h = tn_hash_bytes(text.at, text.n, 0);
    tn_buf_deinit(&text);
    return h;
}

static variant *begin(graph_search *s, const tn_picks *picks)
{
    tn_build *b = s->t->b;
    variant *v = TN_NEW(&b->arena, variant);
    tenon_options o = b->opt;
    o.progress = NULL;
    o.print_ir_before = o.print_ir_after = NULL;
    o.print_pass_times = 0;
    o.no_records = 1; /* but those that the search has */
    o.tuning_records = NULL;
    tn_ctx_child_init(&v->ctx, b->ctx);
    tn_build_init_from(&v->b, b, &v->ctx, &o);
    v->b.origin = b->origin;
    v->b.records = b->records;
    v->b.record_machine = b->record_machine;
    v->b.has_records = b->has_records;
    v->b.found_picks = tn_arena_copy(&b->arena, picks, sizeof *picks, _Alignof(tn_picks));
    return v;
}

static tn_status unfit(tn_ctx *ctx, const char *what, const char *why, const char *instead)
{
    return tn_error(ctx, "driver-E195", NULL, "the graph cannot be timed: %s %s; %s", what, why, instead);
}

static const char kernels_alone[] = "tune its kernels alone, without --graph";

/* ---- inputs ---- */

/* Numbers of a fixed shape; states are no inputs of the module. */
static tn_status input(tn_ctx *ctx, const tnr_tensor_info *x, tn_buffer *type, tn_rng *rng, tn_argument *out)
{
    const uint8_t c = x->dtype.code;
    if ((c != kDLInt && c != kDLUInt && c != kDLFloat && c != kDLBfloat && c != kDLBool) || x->dtype.bits < 8)
        return unfit(ctx, x->name, "is of a type that is not drawn at random", kernels_alone);
    for (int d = 0; d < x->ndim; d++)
        if (x->shape[d] < 0)
            return unfit(ctx, x->name, "has no fixed size", "give all sizes (--input-shapes)");
    *type = (tn_buffer){.dtype = {c, x->dtype.bits, 1}};
    return tn_argument_dense(out, type, x->ndim, x->shape, rng)
               ? TN_OK
               : unfit(ctx, x->name, "does not fit into memory", kernels_alone);
}

static tn_status make_inputs(graph_search *s, variant *v)
{
    tn_arena *arena = &s->t->b->arena;
    const tnr_module *m = v->run->module;
    tn_rng rng = {s->t->o.seed};
    tnr_tensor_info x;
    tnr_error err;
    const uint32_t n_in = tnr_input_count(m), n_out = tnr_output_count(m);
    s->in = TN_NEW_N(arena, tn_argument, n_in + 1);
    s->out = TN_NEW_N(arena, tn_argument, n_out + 1);
    s->type = TN_NEW_N(arena, tn_buffer, n_in + n_out + 1);
    for (s->n_in = 0; s->n_in < n_in; s->n_in++) {
        if (tnr_input_info(m, s->n_in, &x, &err))
            return unfit(&v->ctx, "an input", err.message, kernels_alone);
        TN_TRY(input(&v->ctx, &x, &s->type[s->n_in], &rng, &s->in[s->n_in]));
    }
    s->n_out = n_out;
    return TN_OK;
}

static tn_status set_inputs(graph_search *s, variant *v)
{
    tnr_error err;
    for (uint32_t i = 0; i < s->n_in; i++) {
        tn_argument *a = &s->in[i];
        const tn_dtype t = a->buffer->dtype;
        const DLTensor x = {.data = a->at,
                            .device = {kDLCPU, 0},
                            .ndim = a->n,
                            .dtype = {t.code, t.bits, 1},
                            .shape = a->dim};
        if (tnr_set_input_at(v->run->instance, i, &x, &err))
            return unfit(&v->ctx, "an input", err.message, kernels_alone);
    }
    return TN_OK;
}

/* From the fused graph to something that runs. */
static tn_status finish(graph_search *s, variant *v)
{
    tn_buf params = {0};
    tnr_error err;
    const tnr_instance_options o = {.threads = s->t->o.threads};
    TN_TRY(tn_stage_tir(&v->b));
    TN_TRY(tn_stage_schedule(&v->b));
    TN_TRY(tn_stage_lower(&v->b));
    TN_TRY(tn_stage_program(&v->b));
    tn_params_make(&v->b, &(tn_sink){.buf = &params});
    v->params = tn_alloc_aligned(params.n);
    if (params.n)
        memcpy(v->params, params.at, params.n);
    const size_t n = params.n;
    tn_buf_deinit(&params);
    v->code = tn_resource_new(v->b.target.row->generator->here_free);
    v->state = tn_resource_new(release_run);
    v->state->at = v->run = TN_NEW(&s->t->b->arena, run_state);
    TN_TRY(tn_here_make(&v->b, v->params, n, &v->code->at, &v->run->module));
    if (tnr_instance_new(v->run->module, &o, &v->run->instance, &err))
        return tn_error(&v->ctx, "driver-E073", NULL, "%s", err.message);
    if (!s->in)
        TN_TRY(make_inputs(s, v));
    return set_inputs(s, v);
}

/* ---- outputs ---- */

/* The outputs of v's last run are what is right. */
static bool take_outputs(graph_search *s, variant *v)
{
    tnr_error err;
    DLTensor y;
    for (uint32_t i = 0; i < s->n_out; i++) {
        tn_buffer *type = &s->type[s->n_in + i];
        if (tnr_get_output_at(v->run->instance, i, &y, &err))
            return false;
        *type = (tn_buffer){.dtype = {y.dtype.code, y.dtype.bits, 1}};
        if (!tn_argument_dense(&s->out[i], type, y.ndim, y.shape, NULL))
            return false;
        memcpy(s->out[i].at, y.data, s->out[i].bytes);
    }
    return true;
}

static bool same_outputs(graph_search *s, variant *v)
{
    tnr_error err;
    DLTensor y;
    for (uint32_t i = 0; i < s->n_out; i++) {
        const tn_argument *a = &s->out[i];
        if (tnr_get_output_at(v->run->instance, i, &y, &err) || y.ndim != a->n ||
            (a->n && memcmp(y.shape, a->dim, (size_t)a->n * sizeof *a->dim) != 0) ||
            !tn_argument_agrees(a, tn_argument_compare(a, y.data)))
            return false;
    }
    return true;
}

/* ---- timing ---- */

/* Seconds of a run; HUGE_VAL: it fails. */
static double run_once(variant *v, tnr_error *err)
{
    double start = tn_now();
    bool good = !tnr_run(v->run->instance, err);
    return good ? tn_now() - start : HUGE_VAL;
}

static bool is_enough(int runs, double seconds)
{
    return runs >= MOST_RUNS || (seconds >= LEAST_SECONDS && runs >= LEAST_RUNS) ||
           (seconds >= MOST_SECONDS && runs >= 2);
}

/* The least of several runs of each, in turn; false: v is far slower, and was run less. */
static bool time_both(variant *best, variant *v, double *out_best, double *out)
{
    tnr_error err;
    double start = tn_now();
    *out_best = *out = HUGE_VAL;
    for (int i = 0; !is_enough(i, tn_now() - start); i++) {
        tn_poll_now();
        *out_best = fmin(*out_best, run_once(best, &err));
        *out = fmin(*out, run_once(v, &err));
        if (i > 0 && *out > HOPELESS * *out_best)
            return false;
    }
    return true;
}

/* Twice, so that a disturbance is no gain. */
static bool is_faster(variant *best, variant *v, double *out_best, double *out)
{
    bool faster = true;
    for (int i = 0; i < 2 && faster; i++)
        faster = time_both(best, v, out_best, out) && *out < GAIN * *out_best;
    return faster;
}

/* Called inside of a run, so it takes no memory. */
static void add_time(void *user, const tnr_profile_event *e)
{
    graph_search *s = user;
    if (s->n_profile < PROFILED)
        s->profile[s->n_profile++] = (timed_node){e->node, (double)e->nanoseconds * 1e-9};
}

static void profile(graph_search *s)
{
    tnr_error err;
    s->n_profile = 0;
    tnr_profile_set(s->best->run->instance, add_time, s);
    (void)run_once(s->best, &err);
    tnr_profile_set(s->best->run->instance, NULL, NULL);
}

/* ---- trials ---- */

static void tell(graph_search *s, const char *picks, double seconds, const char *why, int fate)
{
    tn_tuning *t = s->t;
    s->task->trials = s->trials;
    s->task->failed += why != NULL;
    if (!t->o.progress)
        return;
    const tenon_tune_progress p = {.elapsed = tn_now() - t->begin,
                                   .trials = s->trials,
                                   .n_task = 1,
                                   .tasks = s->task,
                                   .seconds = seconds,
                                   .picks = picks,
                                   .why = why,
                                   .fate = fate};
    t->o.progress(t->o.progress_user, &p);
}

static const char *text_of(graph_search *s, const tn_picks *picks)
{
    tn_buf text = {0};
    tn_picks_print(picks, &text);
    const char *copy = tn_arena_strdup(&s->t->b->arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return copy;
}

static bool is_over(const graph_search *s)
{
    const tenon_tune_options *o = &s->t->o;
    const uint32_t most = o->trials ? o->trials : o->seconds > 0 ? UINT32_MAX : TRIALS;
    return s->trials >= most || (o->seconds > 0 && tn_now() - s->t->begin >= o->seconds);
}

static void write_down(graph_search *s)
{
    tn_build *b = s->t->b;
    const tenon_tune_task *k = s->task;
    const tn_record r = {.workload = k->workload,
                         .machine = tn_record_machine(&b->machine, &b->arena),
                         .threads = (uint32_t)s->t->o.threads,
                         .trials = s->trials,
                         .seconds = k->seconds,
                         .built_in = k->built_in_seconds,
                         .name = k->name,
                         .generator = TN_GRAPH_GENERATOR,
                         .version = VERSION,
                         .picks = k->picks,
                         .trace = ""};
    tn_tuning_write(s->t, &r);
}

/* seconds: of v and of the built-in choices, timed in turn. */
static void keep(graph_search *s, variant *v, const tn_picks *picks, double built_in, double seconds)
{
    if (s->best != s->built_in)
        drop(s->best);
    s->best = v;
    s->at = *picks;
    s->task->built_in_seconds = built_in;
    s->task->seconds = seconds;
    s->task->picks = text_of(s, picks);
    profile(s);
    write_down(s);
}

/* Gains of one step after another may be none together: v is compared with the built-in choices, too. */
static bool beats(graph_search *s, variant *v, double *out_built_in, double *out)
{
    double best;
    return (s->best == s->built_in || is_faster(s->best, v, &best, out)) &&
           is_faster(s->built_in, v, out_built_in, out);
}

/* A built variant, or NULL: its kernels are those of one before. *out_why: what is wrong with it. */
static variant *make(graph_search *s, const tn_picks *picks, const char **out_why)
{
    variant *v = begin(s, picks);
    uint64_t known;
    *out_why = "the graph is refused";
    if (tn_target_parse(&v->b) != TN_OK || tn_stage_graph(&v->b) != TN_OK)
        return v;
    const uint64_t hash = hash_of(&v->b.graph);
    if (tn_map_get(&s->seen, hash, &known)) {
        drop(v);
        return NULL;
    }
    tn_map_put(&s->seen, hash, 1);
    *out_why = finish(s, v) != TN_OK ? "it cannot be compiled" : NULL;
    return v;
}

/* Is the point new, and faster? Then it is the best one. */
static void try(graph_search *s, const tn_picks *picks)
{
    tnr_error err;
    const char *why;
    variant *v = make(s, picks, &why);
    double built_in = 0, seconds = 0;
    int fate = TENON_TRIAL_REFUSED;
    bool better = false;
    if (!v)
        return;
    s->trials++;
    if (!why && run_once(v, &err) == HUGE_VAL) {
        fate = TENON_TRIAL_CRASHED;
        why = tn_arena_strdup(&s->t->b->arena, err.message);
    } else if (!why && !same_outputs(s, v)) {
        fate = TENON_TRIAL_WRONG;
        why = "its outputs differ from those of the built-in choices";
    } else if (!why) {
        fate = TENON_TRIAL_TIMED;
        better = beats(s, v, &built_in, &seconds);
    }
    if (better)
        keep(s, v, picks, built_in, seconds);
    tell(s, text_of(s, picks), why ? 0 : seconds, why, fate);
    if (!better)
        drop(v);
}

/* ---- proposals ---- */

static const char *role_of(const tn_pick *p) { return strrchr(p->name, '.') + 1; }

static tn_picks copy(graph_search *s)
{
    tn_picks p = {0};
    for (uint32_t i = 0; i < s->at.n; i++)
        tn_picks_set(&p, &s->t->b->arena, s->at.at[i].name, s->at.at[i].value);
    return p;
}

/* In the search's arena, as the variant may go away. */
static tn_choice kept(graph_search *s, const tn_choice *c)
{
    return (tn_choice){c->word ? tn_arena_strdup(&s->t->b->arena, c->word) : NULL, c->number};
}

/* A default is not named. */
static void set(graph_search *s, tn_picks *p, const tn_pick *pick, uint32_t k)
{
    uint32_t i = 0;
    while (k == 0 && i < p->n && strcmp(p->at[i].name, pick->name) != 0)
        i++;
    if (k == 0) {
        if (i < p->n)
            p->at[i] = p->at[--p->n];
        return;
    }
    tn_picks_set(p, &s->t->b->arena, tn_arena_strdup(&s->t->b->arena, pick->name),
                 kept(s, &pick->candidate[k]));
}

/* All picks of one role take candidate k; 0: the last one that each has. */
static void sweep(graph_search *s, const char *role, uint32_t k)
{
    const tn_asked *a = &s->best->b.picks.asked;
    tn_picks p = copy(s);
    for (uint32_t i = 0; i < a->n; i++)
        if (strcmp(role_of(&a->at[i]), role) == 0 && k < a->at[i].n)
            set(s, &p, &a->at[i], k ? k : a->at[i].n - 1);
    try(s, &p);
}

/* Is pick i the first of its role? */
static bool begins_role(const tn_asked *a, uint32_t i)
{
    uint32_t k = 0;
    while (strcmp(role_of(&a->at[k]), role_of(&a->at[i])) != 0)
        k++;
    return k == i;
}

/* The built-in choices have each role, in the order of the passes. */
static void sweeps(graph_search *s)
{
    const tn_asked *roles = &s->built_in->b.picks.asked;
    for (uint32_t r = 0; r < roles->n; r++) {
        const tn_asked *a = &s->best->b.picks.asked;
        const char *role = role_of(&roles->at[r]);
        uint32_t most = 0;
        for (uint32_t i = 0; i < a->n && begins_role(roles, r); i++)
            if (strcmp(role_of(&a->at[i]), role) == 0 && a->at[i].n > most)
                most = a->at[i].n;
        for (uint32_t k = 0; k + 1 < most && !is_over(s); k++)
            sweep(s, role, k);
    }
}

/* Is the name one of "Conv_0, Relu_1"? */
static bool names_node(const char *nodes, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = nodes; (at = strstr(at, name)); at++)
        if ((at == nodes || at[-1] == ' ') && (at[n] == 0 || at[n] == ','))
            return true;
    return false;
}

/* Seconds of the kernels that hold the first node of a pick, for each of its nodes. */
static double weight_of(const graph_search *s, const tn_pick_place *at)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->n_profile; i++)
        if (names_node(s->profile[i].nodes, at->first))
            sum += s->profile[i].seconds * at->n;
    return sum;
}

/* The heaviest pick of the best variant that was not tried; asked.n: there is none. */
static uint32_t heaviest(const graph_search *s, const tn_strmap *done)
{
    const tn_graph_picks *g = &s->best->b.picks;
    uint32_t best = g->asked.n;
    double most = -1;
    uint64_t known;
    for (uint32_t i = 0; i < g->asked.n; i++) {
        const char *name = g->asked.at[i].name;
        double w = weight_of(s, &g->place[i]);
        if (w > most && !tn_strmap_get(done, name, strlen(name), &known)) {
            best = i;
            most = w;
        }
    }
    return best;
}

static void one_by_one(graph_search *s)
{
    tn_strmap done = {0};
    for (;;) {
        const uint32_t at = heaviest(s, &done);
        if (at == s->best->b.picks.asked.n || is_over(s))
            break;
        tn_pick pick = s->best->b.picks.asked.at[at];
        tn_choice *c = TN_NEW_N(&s->t->b->arena, tn_choice, pick.n);
        for (uint32_t k = 0; k < pick.n; k++)
            c[k] = kept(s, &pick.candidate[k]);
        pick.candidate = c;
        pick.name = tn_arena_strdup(&s->t->b->arena, pick.name);
        tn_strmap_put(&done, pick.name, strlen(pick.name), 1);
        for (uint32_t k = 0; k < pick.n && !is_over(s); k++) {
            if (k == pick.index) /* it stands already */
                continue;
            tn_picks p = copy(s);
            set(s, &p, &pick, k);
            try(s, &p);
        }
    }
    tn_strmap_deinit(&done);
}

/* ---- the search ---- */

static tn_status time_built_in(graph_search *s)
{
    tnr_error err;
    const char *why;
    variant *v = s->built_in = s->best = make(s, &s->at, &why);
    double start = tn_now(), seconds = HUGE_VAL;
    s->task->workload = v->b.graph_workload;
    if (why) /* which is said */
        return TN_FAIL;
    if (run_once(v, &err) == HUGE_VAL)
        return unfit(&v->ctx, "a run with random inputs fails:", err.message, kernels_alone);
    if (!take_outputs(s, v))
        return unfit(&v->ctx, "an output", "is no tensor of numbers", kernels_alone);
    for (int i = 0; !is_enough(i, tn_now() - start); i++) {
        tn_poll_now();
        seconds = fmin(seconds, run_once(v, &err));
    }
    s->task->built_in_seconds = s->task->seconds = seconds;
    profile(s);
    return TN_OK;
}

static void end(graph_search *s)
{
    if (s->best != s->built_in)
        drop(s->best);
    drop(s->built_in);
    for (uint32_t i = 0; i < s->n_in; i++)
        tn_argument_deinit(&s->in[i]);
    for (uint32_t i = 0; i < s->n_out; i++)
        tn_argument_deinit(&s->out[i]);
    tn_map_deinit(&s->seen);
}

static tn_status search(graph_search *s)
{
    tn_build *b = s->t->b;
    tn_picks old;
    tn_ctx_freeze(b->ctx);
    tn_status st = time_built_in(s);
    if (st == TN_OK) {
        if (tn_records_graph(b, s->task->workload, &old))
            try(s, &old);
        sweeps(s);
        one_by_one(s);
    }
    tn_ctx_thaw(b->ctx);
    if (st != TN_OK)
        tn_ctx_join(b->ctx, &s->built_in->ctx);
    return st;
}

typedef struct graph_call {
    const tenon_tune_options *o;
    const tenon_tune_task *task;
} graph_call;

static bool gives_picks(const tenon_options *o)
{
    for (const char *const *c = o->pass_config; c && *c; c++)
        if (strncmp(*c, "tenon.picks=", 12) == 0 && (*c)[12])
            return true;
    return false;
}

static tn_status tune(tenon *t, void *user)
{
    graph_call *c = user;
    tn_build *b = &t->build;
    tn_tuning tuning;
    graph_search s = {.t = &tuning};
    TN_TRY(tn_tuning_begin(&tuning, b, NULL, c->o));
    TN_TRY(tn_target_parse(b));
    if (!b->target.row->generator->here)
        return tn_error(b->ctx, "driver-E164", NULL, "nothing can be timed: %s",
                        "this target makes no code in this process; use target llvm");
    if (gives_picks(&b->opt))
        return unfit(b->ctx, "its choices", "are given by tenon.picks", "leave them out");
    tn_tuning_tasks(&tuning, 0);
    TN_TRY(tn_tuning_prior(&tuning));
    s.profile = TN_NEW_N(&b->arena, timed_node, PROFILED);
    s.task = TN_NEW(&b->arena, tenon_tune_task);
    *s.task = (tenon_tune_task){.name = "graph", .nodes = "", .calls = 1, .chosen = 1, .built_in = ""};
    tn_status st = search(&s);
    end(&s);
    c->task = s.task;
    return st == TN_OK ? tuning.status : st;
}

int tenon_tune_graph(tenon_module *m, const tenon_options *o, const tenon_tune_options *t,
                     const tenon_tune_task **out)
{
    graph_call c = {.o = t};
    int failed = tn_module_call(m, o, tune, &c);
    *out = failed ? NULL : c.task;
    return failed;
}
