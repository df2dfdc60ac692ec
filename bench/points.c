/* bench_points: random points of the space of each function in a file of TIR, compiled, run once and compared.
 *
 *   bench_points [-n POINTS] [-s SEED] [-g GENERATOR] [-e yes] [-t TRACE] KERNELS.tir
 * (tools/points makes the files from models)
 *
 * Each function is run with the numbers that the tuner would give it, first as its loops stand, strictly, then at each
 * point. A point is right, refused by a verdict, or wrong. Points of the same steps are run once, and
 * functions of the same workload once. Prints a line a function; fails if a point is wrong.
 *
 * -e: numbers in the trace of each point, and as often in that of the default one, are changed at random, and it is
 * replayed, as somebody's own. Where a step is refused, which must leave all as it was, the others must be right
 * without it. Where registers have indices that no unrolling makes constant, it is refused as a whole. Of one in four,
 * numbers in its picks are changed instead. Extents that are symbols are odd, which one depends on the seed.
 *
 * -t: likewise, of the trace in a file instead of those of points.
 */
#include "base/file.h"
#include "base/map.h"
#include "driver/driver.h"
#include "ir/eval.h"
#include "edit.h"
#include "run.h"
#include "schedule/space.h"
#include "tune/arguments.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

enum { MAX_FUNCS = 4096, LIKELY_SIZE = 16, MAX_OPERANDS = 256, MAX_SECONDS = 300, UNWRITTEN = 0x5a };

/* same: as a point before */
enum outcome { RIGHT, SAME, REFUSED, WRONG, N_OUTCOMES };

typedef struct points {
    bench x;
    int n;
    uint64_t seed;
    bool edits;
    const char *own; /* trace that is edited; NULL: those of points */
    const tn_sched_generator *by;
    const tn_func *f;
    int64_t *sym;
    tn_argument param[MAX_OPERANDS];
    unsigned char *expected[MAX_OPERANDS]; /* of an output; NULL: an input */
    int count[N_OUTCOMES];                 /* of points of this function */
} points;

static const char *said(points *p)
{
    tn_buf b = {0};
    tn_diag_print_all(&p->x.ctx, &b);
    const char *s = tn_arena_strdup(&p->x.arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    tn_diag_clear(&p->x.ctx);
    return s;
}

/* Is all that was said that indices into registers are not constant? */
static bool says_unroll(const points *p)
{
    bool only = p->x.ctx.n_diag > 0;
    for (size_t i = 0; i < p->x.ctx.n_diag; i++)
        only = only && (strcmp(p->x.ctx.diag[i].id, "tir-E116") == 0 ||
                        strcmp(p->x.ctx.diag[i].id, "lower-E003") == 0);
    return only;
}

/* The trace that is being judged, for whoever ends the process. */
static const char *volatile at_work = "";

static const int deadly[] = {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV};

static void die(int number)
{
    const char *text = number == SIGALRM ? "WRONG: it takes too long:\n" : "WRONG: it ends the process:\n";
    (void)!write(STDOUT_FILENO, text, strlen(text));
    (void)!write(STDOUT_FILENO, at_work, strlen(at_work));
    signal(number, SIG_DFL);
    raise(number);
}

/* ---- one function ---- */

/* Lowers f in place and runs its code on `arg`. NULL: it did; else what failed. */
static const char *run_code(points *p, tn_func *f, int level, void *const arg[])
{
    tn_flat flat;
    uint64_t bytes[MAX_OPERANDS];
    if (tn_func_verify(f) != TN_OK || !tn_func_parameter_bytes(f, p->sym, bytes))
        return "the verifier refuses it";
    if (tn_lower(f, &p->x.machine, &tn_pipeline_cpu, &flat) != TN_OK)
        return "a loop pass refuses it";
    tn_kernel_ir k = {.name = f->name, .source = "", .n_variant = 1, .variant = &flat};
    for (uint32_t i = 0; i < f->n_param; i++)
        *(f->buffer[f->param[i]].written ? &k.n_out : &k.n_in) += 1;
    tn_unit u = {.ctx = &p->x.ctx,
                 .name = "points",
                 .producer = "bench",
                 .target = "llvm",
                 .feature = p->x.machine.feature,
                 .n_feature = (uint32_t)p->x.machine.n_feature,
                 .n_kernel = 1,
                 .kernel = &k};
    tn_jit *jit;
    const tn_library *lib;
    tnr_error err;
    if (p->x.llvm->jit(&u, &(tn_code_options){.opt_level = level}, &jit, &lib) != TN_OK)
        return "the code generator refuses it";
    tn_kernel_runner *r = tn_kernel_open(
        &(tn_kernel_use){.library = lib, .node = f->name, .bytes = bytes, .sym = p->sym, .threads = 1}, &err);
    const char *failed = !r || tn_kernel_run(r, arg, &err) ? "the call fails" : NULL;
    tn_kernel_close(r);
    p->x.llvm->jit_free(jit);
    return failed;
}

/* Multiples of a quarter, so that most sums are exact in any order: one that is rounded to float16 on its way
 * would else differ by more than the order of its terms explains. */
static void make_plain(tn_argument *a)
{
    tn_dtype t = a->buffer->dtype;
    size_t size = tn_dtype_bytes(t);
    for (size_t i = 0; i < a->count && tn_dtype_is_float(t); i++) {
        tn_scalar v = tn_scalar_read(t, a->at + i * size);
        v.f = floor(v.f * 4) / 4;
        tn_scalar_write(t, a->at + i * size, v);
    }
}

/* Operands, and what the loops as they stand make of them. */
static const char *expect(points *p)
{
    void *arg[MAX_OPERANDS];
    tn_rng rng = {1};
    for (uint32_t i = 0; i < p->f->n_param; i++) {
        if (!tn_argument_init(&p->param[i], p->f, i, p->sym, &rng))
            return "a parameter is too large";
        if (!p->param[i].buffer->written)
            make_plain(&p->param[i]);
        p->expected[i] = p->param[i].buffer->written ? tn_argument_copy(&p->param[i]) : NULL;
        if (p->expected[i])
            memset(p->expected[i], UNWRITTEN, p->param[i].bytes);
        arg[i] = p->expected[i] ? p->expected[i] : p->param[i].at;
    }
    tn_func *plain = tn_func_clone(p->f, &p->x.arena, &p->x.pool);
    plain->strict = true;
    return run_code(p, plain, 2, arg);
}

static const char *compare(points *p, tn_func *f)
{
    void *arg[MAX_OPERANDS];
    tn_argument own[MAX_OPERANDS] = {0}; /* constants in layouts of the schedule's */
    const char *failed = NULL;
    for (uint32_t i = 0; i < p->f->n_param; i++) {
        arg[i] = p->param[i].at;
        if (p->expected[i])
            memset(arg[i], UNWRITTEN, p->param[i].bytes);
        if (!f->buffer[f->param[i]].laid_out)
            continue;
        if (!tn_argument_as(&p->param[i], f, i, p->sym, &own[i]))
            failed = "a constant is too large";
        arg[i] = own[i].at;
    }
    failed = failed ? failed : run_code(p, f, 2, arg);
    for (uint32_t i = 0; i < p->f->n_param; i++)
        tn_argument_deinit(&own[i]);
    for (uint32_t i = 0; i < p->f->n_param && !failed; i++)
        if (p->expected[i] &&
            !tn_argument_agrees(&p->param[i], tn_argument_compare(&p->param[i], p->expected[i])))
            failed = "other results";
    return failed;
}

/* ---- a schedule of it ---- */

typedef struct candidate {
    tn_arena arena;
    tn_pool pool;
    tn_sched s;
    const char *trace; /* printed */
} candidate;

static void candidate_init(points *p, candidate *c)
{
    *c = (candidate){.trace = ""};
    alarm(MAX_SECONDS);
    tn_arena_init(&c->arena);
    tn_pool_init(&c->pool, &p->x.ctx, &c->arena, &p->x.pool);
}

static void candidate_deinit(candidate *c)
{
    alarm(0);
    at_work = "";
    tn_arena_deinit(&c->arena);
}

static const char *trace_of(candidate *c, const tn_sched *s)
{
    tn_buf b = {0};
    tn_trace_print(s, &b);
    const char *text = tn_arena_strdup(&c->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return text;
}

static const char *picks_of(candidate *c)
{
    tn_buf b = {0};
    tn_picks picks = tn_picks_of(&c->s.picked, &c->arena);
    tn_picks_print(&picks, &b);
    const char *text = tn_arena_strdup(&c->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return text;
}

static void tell_wrong(points *p, candidate *c, const char *failed)
{
    printf("WRONG @%s: %s\n%s%s%s", p->f->name, failed, picks_of(c), c->trace, said(p));
}

/* Runs c's function, if none of the same steps was run before. may_index: registers may have indices that are not
 * constant. */
static enum outcome judge(points *p, candidate *c, tn_map *known, bool may_index)
{
    uint64_t none, hash = tn_hash_bytes(c->trace, strlen(c->trace), 1);
    if (tn_map_get(known, hash, &none))
        return SAME;
    tn_map_put(known, hash, 1);
    at_work = c->trace;
    const char *failed = compare(p, c->s.func);
    enum outcome is = !failed ? RIGHT : may_index && says_unroll(p) ? REFUSED : WRONG;
    if (is == WRONG)
        tell_wrong(p, c, failed);
    tn_diag_clear(&p->x.ctx);
    return is;
}

static tn_verdict explore(points *p, const tn_picks *picks, candidate *c)
{
    const tn_space space = {p->by, p->f, &p->x.machine, 0};
    tn_verdict v = tn_explore(&space, picks, &c->arena, &c->pool, &c->s);
    c->trace = v == TN_DONE ? trace_of(c, &c->s) : "";
    return v;
}

static void one_point(points *p, uint64_t seed, tn_map *known)
{
    tn_rng r = {seed};
    candidate c;
    candidate_init(p, &c);
    bool done = explore(p, &(tn_picks){.random = &r}, &c) == TN_DONE;
    p->count[done ? judge(p, &c, known, false) : REFUSED]++;
    candidate_deinit(&c);
}

/* ---- an edited trace ---- */

static const char *texts_of(candidate *c, const tn_sched *s)
{
    tn_buf b = {0};
    tn_func_print(s->func, &b);
    const char *text = tn_arena_printf(&c->arena, "%s%s", tn_buf_cstr(&b), trace_of(c, s));
    tn_buf_deinit(&b);
    return text;
}

/* Replays the lines of the text, without those whose step is refused, as c's schedule. *out_refused: whether there is
 * one. false: one left something else than what the steps before it make. */
static bool replay(points *p, candidate *c, const char *text, bool *out_refused)
{
    tn_buf done = {0};
    bool clean = true;
    tn_sched_init(&c->s, p->f, &c->arena, &c->pool);
    for (size_t n; *text && clean; text += n) {
        n = strcspn(text, "\n");
        n += text[n] == '\n';
        if (tn_trace_replay(&c->s, text, n, NULL) == TN_DONE) {
            tn_buf_printf(&done, "%.*s", (int)n, text);
            continue;
        }
        tn_sched again;
        tn_sched_init(&again, p->f, &c->arena, &c->pool);
        clean = tn_trace_replay(&again, tn_buf_cstr(&done), done.n, NULL) == TN_DONE &&
                strcmp(texts_of(c, &again), texts_of(c, &c->s)) == 0;
        *out_refused = true;
    }
    c->trace = tn_arena_strdup(&c->arena, tn_buf_cstr(&done));
    tn_buf_deinit(&done);
    return clean;
}

/* Extents of the function's buffers, which are those of its loops, and 1. */
static size_t extents_of(const points *p, candidate *c, int64_t **out)
{
    const tn_func *f = p->f;
    size_t n = 1, most = 1;
    for (uint32_t i = 0; i < f->n_buffer; i++)
        most += (size_t)f->buffer[i].ndim;
    *out = TN_NEW_N(&c->arena, int64_t, most);
    (*out)[0] = 1;
    for (uint32_t i = 0; i < f->n_buffer; i++)
        for (int d = 0; d < f->buffer[i].ndim; d++)
            n += tn_is_int(f->buffer[i].dim[d], &(*out)[n]);
    return n;
}

static enum outcome judge_trace(points *p, candidate *c, const char *edited, tn_map *known)
{
    bool refused = false;
    at_work = edited;
    if (!replay(p, c, edited, &refused)) {
        tell_wrong(p, c, "a refused step left something else");
        return WRONG;
    }
    enum outcome is = judge(p, c, known, true);
    return refused && is == RIGHT ? REFUSED : is;
}

static enum outcome judge_picks(points *p, candidate *c, const char *edited, tn_map *known)
{
    tn_picks picks;
    uint32_t line;
    at_work = edited;
    bool done =
        tn_picks_parse(edited, strlen(edited), &c->arena, &picks, &line) && explore(p, &picks, c) == TN_DONE;
    return done ? judge(p, c, known, false) : REFUSED;
}

/* The default schedule or that of a random point, with other numbers in its trace; of one in four, in its picks. */
static void one_edit(points *p, uint64_t seed, tn_map *known)
{
    tn_rng r = {seed};
    candidate c;
    int64_t *extent;
    candidate_init(p, &c);
    if (seed % 2 == 0 || explore(p, &(tn_picks){.random = &r}, &c) != TN_DONE)
        explore(p, NULL, &c);
    bool of_picks = !p->own && tn_rng_below(&r, 4) == 0;
    const char *text = p->own ? p->own : of_picks ? picks_of(&c) : c.trace;
    size_t n = extents_of(p, &c, &extent);
    const char *edited = edit_numbers(text, n, extent, &r, &c.arena);
    p->count[edited ? (of_picks ? judge_picks : judge_trace)(p, &c, edited, known) : SAME]++;
    candidate_deinit(&c);
}

static void one_function(points *p, tn_func *f)
{
    static const int64_t odd[] = {37, 13, 1, 7, 16};
    tn_map known = {0};
    p->f = f;
    memset(p->count, 0, sizeof p->count);
    if (f->n_param > MAX_OPERANDS) {
        printf("@%s: not run: it has too many operands\n", f->name);
        return;
    }
    p->sym = TN_NEW_N(&p->x.arena, int64_t, f->n_symbol + 1);
    for (uint32_t i = 0; i < f->n_symbol; i++) {
        int64_t likely = p->edits ? odd[p->seed % (sizeof odd / sizeof *odd)] : LIKELY_SIZE;
        int64_t v = f->symbol[i].min > likely ? f->symbol[i].min : likely;
        p->sym[i] = v < f->symbol[i].max ? v : f->symbol[i].max;
    }
    memset(p->param, 0, sizeof p->param);
    memset(p->expected, 0, sizeof p->expected);
    const char *failed = expect(p);
    for (int k = 0; k < p->n && !failed; k++)
        (p->edits ? one_edit : one_point)(p, p->seed + (uint64_t)k, &known);
    if (failed)
        printf("@%s: not run: %s\n%s", f->name, failed, said(p));
    else
        printf("@%s: %d right, %d the same again, %d refused, %d wrong\n", f->name, p->count[RIGHT],
               p->count[SAME], p->count[REFUSED], p->count[WRONG]);
    for (uint32_t i = 0; i < f->n_param; i++) {
        if (p->param[i].at)
            tn_argument_deinit(&p->param[i]);
        tn_free(p->expected[i]);
    }
    tn_map_deinit(&known);
}

int main(int argc, char **argv)
{
    points *p = calloc(1, sizeof *p);
    tn_func **f = malloc(MAX_FUNCS * sizeof(tn_func *));
    tn_file file;
    tn_map seen = {0};
    size_t n = 0;
    uint64_t none;
    int i = 1, wrong = 0;
    const char *trace = NULL;
    if (!p || !f)
        abort();
    p->n = 100;
    p->seed = 1;
    p->by = &tn_rules_generator;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
        if (strcmp(argv[i], "-n") == 0)
            p->n = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "-e") == 0)
            p->edits = strcmp(argv[i + 1], "yes") == 0;
        else if (strcmp(argv[i], "-t") == 0)
            trace = argv[i + 1];
        else if (strcmp(argv[i], "-g") == 0)
            p->by = tn_sched_generator_find(argv[i + 1]);
        else
            p->seed = strtoull(argv[i + 1], NULL, 10);
    if (i + 1 != argc || !p->by) {
        fprintf(stderr, "usage: bench_points [-n POINTS] [-s SEED] [-g rules|sketch] [-e yes|no] [-t TRACE] "
                        "KERNELS.tir\n");
        return 2;
    }
    bench_init(&p->x);
    if (trace) {
        if (tn_file_map(&p->x.ctx, trace, &file) != TN_OK)
            bench_fail(&p->x, trace);
        p->own = tn_arena_strndup(&p->x.arena, (const char *)file.at, file.n);
        p->edits = true;
    }
    for (size_t k = 0; k < sizeof deadly / sizeof *deadly; k++)
        signal(deadly[k], die);
    if (tn_file_map(&p->x.ctx, argv[i], &file) != TN_OK ||
        tn_func_parse(&p->x.ctx, &p->x.arena, &p->x.pool, argv[i], (const char *)file.at, file.n, f,
                      MAX_FUNCS, &n) != TN_OK)
        bench_fail(&p->x, argv[i]);
    for (size_t k = 0; k < n; k++) {
        uint64_t workload = tn_func_workload(f[k]);
        if (tn_map_get(&seen, workload, &none))
            continue;
        tn_map_put(&seen, workload, 1);
        one_function(p, f[k]);
        wrong += p->count[WRONG];
        fflush(stdout);
    }
    tn_map_deinit(&seen);
    return wrong > 0;
}
