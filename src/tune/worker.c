/* A worker: applies traces, compiles, runs and times, one job after another. */
#include "tune/worker.h"

#include "base/cpu.h"
#include "launch/kernel.h"
#include "tune/arguments.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MAX_RUNS = 1000,
    LEAST_RUNS = 3,
    MAX_COPIES = 16,
    MAX_LAID = 12,             /* constants that are kept in layouts of schedules */
    LONG_OPERATIONS = 60000000 /* the interpreter takes seconds */
};
static const double HOPELESS = 3;
static const double LONG_RUN = 1e-3;   /* seconds: what its first run faults in is little beside it */
static const double BEHIND = 1.05;     /* times its rival: it is run for less time */
static const double BEHIND_SHARE = .3; /* of that */
static const double MOST_BESIDE = 20;  /* times that, with what is done between the runs */
static const uint64_t MAX_LAID_BYTES = 256 << 20;

/* A constant as a schedule has laid it out, for each copy. */
typedef struct laid_out {
    uint32_t param;
    const char *as;
    uint64_t bytes;
    void *at[MAX_COPIES];
} laid_out;

/* Memory for one workload, kept from job to job. */
typedef struct memory {
    tn_heap heap;
    bool ready;
    uint32_t workload;
    tn_argument *arg;
    unsigned char **expected; /* by parameter; NULL: an input, or not known yet */
    void **copy;              /* the arguments n_copy times: of constants there are as many */
    uint32_t n_copy;
    bool known; /* what is expected is */
    laid_out laid[MAX_LAID];
    uint32_t n_laid;
    uint64_t laid_bytes;
} memory;

typedef struct worker {
    const tn_worker_setup *setup;
    memory memory;
} worker;

/* One job, in a heap that is thrown away. */
typedef struct job {
    worker *w;
    const tn_job *head;
    const char *trace;
    const tn_workload *load;
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    void **copy;     /* as the memory's, of constants as the schedule has them */
    uint64_t *bytes; /* of an argument there */
    bool apart;      /* as it was when the job began */
    uint32_t held;   /* bits: compiling[], and TIMING */
    tn_trial *out;
} job;

/* ---- messages ---- */

bool tn_job_read(int fd, void *at, size_t n)
{
    for (char *to = at; n;) {
        ssize_t k = read(fd, to, n);
        if (k == 0 || (k < 0 && errno != EINTR))
            return false;
        to += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
    return true;
}

bool tn_job_write(int fd, const void *at, size_t n)
{
    for (const char *from = at; n;) {
        ssize_t k = send(fd, from, n, MSG_NOSIGNAL);
        if (k < 0 && errno != EINTR)
            return false;
        from += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
    return true;
}

static bool fail(job *j, enum tn_trial_fate fate, const char *why)
{
    j->out->fate = (uint8_t)fate;
    snprintf(j->out->why, sizeof j->out->why, "%s", why);
    return false;
}

/* ---- code ---- */

static const char *report_of(job *j)
{
    for (size_t i = j->ctx.n_diag; i-- > 0;)
        if (j->ctx.diag[i].severity == TN_ERROR)
            return j->ctx.diag[i].message;
    return "it cannot be compiled";
}

static tn_func *apply(job *j)
{
    tn_sched s;
    uint32_t line = 0;
    tn_sched_init(&s, j->load->func, &j->arena, &j->pool);
    s.func->ctx = &j->ctx;
    tn_verdict v = tn_trace_replay(&s, j->trace, strlen(j->trace), &line);
    if (v != TN_DONE) {
        (void)fail(j, TN_TRIAL_REFUSED, tn_arena_printf(&j->arena, "line %u: %s", line, tn_verdict_texts[v]));
        return NULL;
    }
    return s.func;
}

typedef struct code {
    tn_resource *held;
    tn_kernel_runner *runner;
} code;

static bool compile(job *j, tn_func *f, int32_t threads, code *out)
{
    const tn_measure_options *o = &j->w->setup->o;
    tn_flat *flat = TN_NEW(&j->arena, tn_flat);
    if (tn_func_verify(f) != TN_OK || tn_lower(f, o->machine, o->pipeline, flat) != TN_OK)
        return fail(j, TN_TRIAL_REFUSED, report_of(j));
    tn_kernel_ir *k = TN_NEW(&j->arena, tn_kernel_ir);
    *k = (tn_kernel_ir){.name = f->name, .source = "", .n_variant = 1, .variant = flat};
    for (uint32_t i = 0; i < f->n_param; i++)
        *(f->buffer[f->param[i]].written ? &k->n_out : &k->n_in) += 1;
    const tn_unit u = {.ctx = &j->ctx,
                       .name = f->name,
                       .producer = "",
                       .target = "",
                       .feature = o->feature,
                       .n_feature = o->n_feature,
                       .n_kernel = 1,
                       .kernel = k};
    const tn_code_options options = {.opt_level = 3, .threads = 1};
    const tn_library *library;
    out->held = tn_resource_new(o->generator->here_free);
    if (o->generator->here(&u, &options, &out->held->at, &library) != TN_OK)
        return fail(j, TN_TRIAL_REFUSED, report_of(j));
    uint64_t *bytes = TN_NEW_N(&j->arena, uint64_t, f->n_param);
    tnr_error err = {.message = "a parameter is too large"};
    const tn_kernel_use use = {
        .library = library, .node = f->name, .bytes = bytes, .sym = j->load->sym, .threads = threads};
    out->runner = tn_func_parameter_bytes(f, j->load->sym, bytes) ? tn_kernel_open(&use, &err) : NULL;
    return out->runner || fail(j, TN_TRIAL_REFUSED, err.message);
}

/* ---- memory ---- */

typedef struct {
    job *j;
    bool fits;
} make_call;

/* Constants are read from several places in turn, which do not fit into L2 together. */
static uint32_t copies_for(const job *j, const memory *m)
{
    uint64_t bytes = 0, most = 2 * j->w->setup->o.machine->l2_bytes;
    for (uint32_t i = 0; i < j->load->func->n_param; i++)
        if (m->arg[i].buffer->constant)
            bytes += m->arg[i].bytes;
    uint64_t n = bytes ? (most + bytes - 1) / bytes : 1;
    return n < 1 ? 1 : n > MAX_COPIES ? MAX_COPIES : (uint32_t)n;
}

static bool make_arguments(job *j, memory *m)
{
    tn_rng rng = {j->w->setup->o.seed + j->head->workload};
    tn_func *f = tn_func_clone(j->load->func, &j->arena, &j->pool);
    uint32_t n = f->n_param;
    m->arg = tn_alloc_array(n, sizeof *m->arg);
    m->expected = tn_alloc_array(n, sizeof *m->expected);
    for (uint32_t i = 0; i < n; i++) {
        if (!tn_argument_init(&m->arg[i], f, i, j->load->sym, &rng))
            return false;
        m->arg[i].buffer = &j->load->func->buffer[j->load->func->param[i]];
    }
    m->n_copy = copies_for(j, m);
    m->copy = tn_alloc_array((size_t)n * m->n_copy, sizeof *m->copy);
    for (uint32_t c = 0; c < m->n_copy; c++)
        for (uint32_t i = 0; i < n; i++) {
            bool again = c > 0 && m->arg[i].buffer->constant;
            m->copy[c * n + i] = again ? tn_argument_copy(&m->arg[i]) : m->arg[i].at;
            if (!m->copy[c * n + i])
                return false;
        }
    return true;
}

static void make_in_heap(void *user)
{
    make_call *c = user;
    c->fits = make_arguments(c->j, &c->j->w->memory);
}

static bool prepare(job *j)
{
    memory *m = &j->w->memory;
    if (m->ready && m->workload == j->head->workload)
        return true;
    make_call c = {j, false};
    if (m->ready)
        tn_heap_free(&m->heap);
    *m = (memory){.ready = true, .workload = j->head->workload};
    tn_heap_init(&m->heap);
    if (!tn_protect(&m->heap, make_in_heap, &c).kind && c.fits)
        return true;
    tn_heap_free(&m->heap);
    m->ready = false;
    return fail(j, TN_TRIAL_CRASHED, "its arguments do not fit into memory");
}

/* What the cells of a constant depend on: its layouts before and after, the dimensions that the schedule has left. */
static const char *name_layout(job *j, const tn_buffer *b)
{
    const char *s =
        tn_arena_printf(&j->arena, "%s %s", b->given ? b->given->text : "", b->layout ? b->layout->text : "");
    for (int d = 0; d < b->ndim; d++) {
        int64_t e = -1;
        (void)tn_is_int(b->dim[d], &e);
        s = tn_arena_printf(&j->arena, "%s %lld", s, (long long)e);
    }
    return s;
}

typedef struct {
    job *j;
    const tn_func *f;
    uint32_t param;
    const char *as;
    laid_out *out;
    bool fits;
} lay_call;

static void lay_in_heap(void *user)
{
    lay_call *c = user;
    const memory *m = &c->j->w->memory;
    size_t n = strlen(c->as) + 1;
    c->out->as = memcpy(tn_alloc(n), c->as, n);
    c->fits = true;
    for (uint32_t k = 0; k < m->n_copy && c->fits; k++) {
        tn_argument a;
        c->fits = tn_argument_as(&m->arg[c->param], c->f, c->param, c->j->load->sym, &a);
        c->out->at[k] = a.at;
        c->out->bytes = a.bytes;
    }
}

/* In the workload's heap, from job to job; once there is much of them, or no room, in the job's. NULL: no room. */
static const laid_out *lay(job *j, const tn_func *f, uint32_t i)
{
    memory *m = &j->w->memory;
    const tn_buffer *b = &f->buffer[f->param[i]];
    const char *as = name_layout(j, b);
    uint64_t bytes = m->arg[i].bytes * m->n_copy;
    for (uint32_t k = 0; k < m->n_laid; k++)
        if (m->laid[k].param == i && !strcmp(m->laid[k].as, as))
            return &m->laid[k];
    if (m->n_laid < MAX_LAID && m->laid_bytes + bytes <= MAX_LAID_BYTES) {
        laid_out *l = &m->laid[m->n_laid];
        lay_call c = {j, f, i, as, l, false};
        if (!tn_protect(&m->heap, lay_in_heap, &c).kind && c.fits) {
            l->param = i;
            m->n_laid++;
            m->laid_bytes += l->bytes * m->n_copy;
            return l;
        }
        m->laid_bytes = MAX_LAID_BYTES; /* what was begun stays there, and no more is */
    }
    laid_out *l = TN_NEW(&j->arena, laid_out);
    lay_call c = {j, f, i, as, l, false};
    lay_in_heap(&c);
    return c.fits ? l : NULL;
}

/* Constants in the layouts that the schedule gives them. */
static bool lay_out(job *j, const tn_func *f)
{
    const memory *m = &j->w->memory;
    uint32_t n = f->n_param;
    j->copy = tn_arena_copy(&j->arena, m->copy, (size_t)n * m->n_copy * sizeof *m->copy, 8);
    j->bytes = TN_NEW_N(&j->arena, uint64_t, n);
    for (uint32_t i = 0; i < n; i++) {
        j->bytes[i] = m->arg[i].bytes;
        if (!f->buffer[f->param[i]].laid_out)
            continue;
        const laid_out *l = lay(j, f, i);
        if (!l)
            return fail(j, TN_TRIAL_CRASHED, "its constants do not fit into memory");
        j->bytes[i] = l->bytes;
        for (uint32_t c = 0; c < m->n_copy; c++)
            j->copy[(size_t)c * n + i] = l->at[c];
    }
    return true;
}

static bool run(job *j, const code *c, void **arg)
{
    tnr_error err;
    return !tn_kernel_run(c->runner, arg, &err) || fail(j, TN_TRIAL_CRASHED, err.message);
}

static int is_over(void *user)
{
    const double *end = user;
    return tn_now() > *end;
}

/* Runs it for so many seconds at most. false: it failed, or did not end by then. */
static bool run_for(job *j, const code *c, double seconds, bool *out_ended)
{
    tnr_error err;
    double end = tn_now() + seconds;
    if (seconds < HUGE_VAL)
        tn_kernel_ends(c->runner, is_over, &end);
    tnr_status st = tn_kernel_run(c->runner, j->copy, &err);
    tn_kernel_ends(c->runner, NULL, NULL);
    *out_ended = st != TNR_E_CANCEL;
    return st == TNR_OK || (st != TNR_E_CANCEL && fail(j, TN_TRIAL_CRASHED, err.message));
}

/* ---- what is right ---- */

static void copy_outputs(void *user)
{
    job *j = user;
    memory *m = &j->w->memory;
    for (uint32_t i = 0; i < j->load->func->n_param; i++)
        if (m->arg[i].buffer->written)
            m->expected[i] = tn_argument_copy(&m->arg[i]);
}

/* By the interpreter, or where that would take long by the loops as they are. */
static bool expect(job *j)
{
    memory *m = &j->w->memory;
    if (m->known)
        return true;
    tn_func *f = tn_func_clone(j->load->func, &j->arena, &j->pool);
    f->ctx = &j->ctx;
    void **arg = TN_NEW_N(&j->arena, void *, f->n_param);
    for (uint32_t i = 0; i < f->n_param; i++)
        arg[i] = m->arg[i].at;
    if (j->load->operations <= LONG_OPERATIONS) {
        if (tn_func_run(f, arg, j->load->sym) != TN_OK)
            return fail(j, TN_TRIAL_REFUSED, report_of(j));
    } else {
        code plain;
        f->strict = true;
        if (!compile(j, f, 1, &plain) || !run(j, &plain, arg))
            return false;
    }
    if (tn_protect(&m->heap, copy_outputs, j).kind)
        return fail(j, TN_TRIAL_CRASHED, "its results do not fit into memory");
    m->known = true;
    return true;
}

static bool is_right(job *j)
{
    const memory *m = &j->w->memory;
    for (uint32_t i = 0; i < j->load->func->n_param; i++) {
        if (!m->expected[i])
            continue;
        tn_difference d = tn_argument_compare(&m->arg[i], m->expected[i]);
        if (!tn_argument_agrees(&m->arg[i], d))
            return fail(j, TN_TRIAL_WRONG,
                        tn_arena_printf(&j->arena, "%s differs by %.3g from values up to %.3g",
                                        m->arg[i].buffer->name, d.worst, d.largest));
    }
    return true;
}

/* ---- timing ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Enough runs? A candidate that takes long, or longer than its rival, has few. */
static bool is_enough(const job *j, uint32_t n, double least, double spent, double since)
{
    double slower = j->w->setup->o.slower;
    bool judged = j->head->rival > 0 && slower > 0;
    if (judged && n >= 2 && least > slower * j->head->rival) {
        j->out->stopped = true;
        return true;
    }
    bool behind = judged && least > BEHIND * j->head->rival;
    double seconds = j->w->setup->o.least_seconds * (behind ? BEHIND_SHARE : 1);
    bool lasted = spent >= seconds || tn_now() - since >= MOST_BESIDE * seconds;
    return n >= MAX_RUNS || (n >= (behind ? 2 : LEAST_RUNS) && lasted);
}

/* The seconds of a first run after which it need not be run again, nor to its end. */
static double hopeless_after(const job *j)
{
    double slower = j->w->setup->o.slower;
    return j->head->rival > 0 && slower > 0 ? HOPELESS * slower * j->head->rival : HUGE_VAL;
}

/* Constants are in memory, as in a run of a model whose own do not fit into the caches. */
static void evict_constants(const job *j, void *const arg[])
{
    const memory *m = &j->w->memory;
    for (uint32_t i = 0; i < j->load->func->n_param && j->w->setup->o.far; i++)
        if (m->arg[i].buffer->constant)
            (void)tn_cpu_evict(arg[i], j->bytes[i]);
}

/* first: seconds of the run before; it counts if it was long. */
static bool time_runs(job *j, const code *c, double first)
{
    const memory *m = &j->w->memory;
    uint32_t n = first >= LONG_RUN, n_param = j->load->func->n_param;
    double *took = TN_NEW_N(&j->arena, double, MAX_RUNS), least = first, begin = tn_now(), spent = n * first;
    uint32_t turn = 1; /* the run before had the first copy */
    took[0] = first;
    do {
        void **arg = &j->copy[(size_t)(turn++ % m->n_copy) * n_param];
        evict_constants(j, arg);
        double from = tn_now();
        if (!run(j, c, arg))
            return false;
        took[n] = tn_now() - from;
        least = n == 0 || took[n] < least ? took[n] : least;
        spent += took[n++];
    } while (!is_enough(j, n, least, spent, begin));
    qsort(took, n, sizeof *took, by_value);
    j->out->runs = n;
    j->out->seconds = took[0];
    j->out->median = took[n / 2];
    return true;
}

/* So that nothing is right because of the run before. */
static void spoil_outputs(memory *m, uint32_t n_param)
{
    for (uint32_t i = 0; i < n_param; i++)
        if (m->arg[i].buffer->written)
            memset(m->arg[i].at, 0xff, m->arg[i].bytes);
}

static bool time_it(job *j, const code *c)
{
    bool check = j->head->flags & TN_JOB_CHECK;
    if (check)
        spoil_outputs(&j->w->memory, j->load->func->n_param);
    evict_constants(j, j->copy);
    double from = tn_now(), most = hopeless_after(j);
    bool ended;
    if (!run_for(j, c, check ? HUGE_VAL : most, &ended) && ended) /* faults the pages in */
        return false;
    double first = tn_now() - from;
    if (check && !is_right(j) && j->out->fate != TN_TRIAL_WRONG)
        return false;
    if (!ended || first > most) {
        j->out->runs = 1;
        j->out->seconds = j->out->median = first;
        j->out->stopped = true;
        return true;
    }
    return time_runs(j, c, first);
}

/* ---- jobs ---- */

enum { TIMING = TN_MOST_WORKERS };

static pthread_mutex_t *mutex_of(const job *j, int k)
{
    tn_shared *s = j->w->setup->shared;
    return k == TIMING ? &s->timing : &s->compiling[k];
}

/* An owner that was killed leaves nothing half done. */
static void take(job *j, int k)
{
    pthread_mutex_t *m = mutex_of(j, k);
    if (pthread_mutex_lock(m) == EOWNERDEAD)
        pthread_mutex_consistent(m);
    j->held |= 1u << k;
}

static void give_up_all(job *j)
{
    for (int k = 0; k <= TIMING; k++)
        if (j->held & 1u << k)
            pthread_mutex_unlock(mutex_of(j, k));
    j->held = 0;
}

static void begin_compiling(job *j)
{
    j->apart = atomic_load(&j->w->setup->shared->apart) && !(j->head->flags & TN_JOB_ANY_TIME);
    if (j->apart)
        take(j, (int)j->head->worker);
}

/* Who waits for a time compiles nothing, so those whose compiling is waited for here come to an end. */
static void begin_timing(job *j)
{
    give_up_all(j);
    if (!(j->head->flags & TN_JOB_ANY_TIME))
        take(j, TIMING);
    for (int k = 0; k < TN_MOST_WORKERS && j->apart; k++)
        if (k != (int)j->head->worker)
            take(j, k);
}

static void begin(job *j)
{
    tn_ctx *ctx = j->load->func->ctx;
    if (!ctx->frozen)
        tn_ctx_freeze(ctx); /* this process's copy, for good */
    tn_ctx_child_init(&j->ctx, ctx);
    tn_arena_init(&j->arena);
    tn_pool_init(&j->pool, &j->ctx, &j->arena, j->load->func->pool);
}

static void do_job(void *user)
{
    job *j = user;
    code c;
    begin(j);
    begin_compiling(j);
    tn_func *f = apply(j);
    if (!f || !prepare(j) || (j->head->flags & TN_JOB_CHECK && !expect(j)) || !lay_out(j, f))
        return;
    double from = tn_now();
    bool ok = compile(j, f, j->w->setup->o.threads, &c);
    j->out->compile = tn_now() - from;
    if (!ok || j->head->flags & TN_JOB_COMPILE_ONLY)
        return;
    begin_timing(j);
    from = tn_now();
    (void)time_it(j, &c);
    j->out->running = tn_now() - from;
}

static tn_trial answer(worker *w, const tn_job *head, const char *trace)
{
    tn_trial t = {.workload = head->workload, .number = head->number, .fate = TN_TRIAL_TIMED};
    tn_heap heap;
    job j = {.w = w, .head = head, .trace = trace, .load = &w->setup->workload[head->workload], .out = &t};
    tn_heap_init(&heap);
    bool raised = tn_protect(&heap, do_job, &j).kind != TN_RAISED_NOTHING;
    give_up_all(&j);
    if (raised)
        (void)fail(&j, TN_TRIAL_CRASHED, "memory is exhausted, or an invariant is broken");
    tn_heap_free(&heap);
    return t;
}

void tn_worker_serve(void *user, int fd)
{
    worker w = {.setup = user};
    tn_job head;
    while (tn_job_read(fd, &head, sizeof head)) {
        char *trace = tn_alloc(head.n + 1);
        if (!tn_job_read(fd, trace, head.n))
            return;
        trace[head.n] = 0;
        tn_trial t = answer(&w, &head, trace);
        tn_free(trace);
        if (!tn_job_write(fd, &t, sizeof t))
            return;
    }
}
