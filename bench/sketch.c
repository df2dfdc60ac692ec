/* bench_sketch: what sketches reach alone, beside the built-in rules and plain loops.
 *
 *   bench_sketch [-n TRIALS] [-s SEED] KERNELS.tir [PATTERN...]      (bench/odd.tir has operators without a rule)
 *
 * For each function, on one thread: plain loops, as they stand or with the last result axis in vectors and sums around
 * them, whichever is faster; the built-in schedule; the best that so many trials of rules find; the default sketch; the
 * best of so many sketches. Searches never see each other's schedules. In the end all are timed in turn, and the least
 * of several rounds counts. Prints microseconds, sketches against the better of rule and search, and against plain
 * loops; at the end the geometric means.
 */
#include "measure.h"
#include "schedule/space.h"

#include <math.h>

enum { MAX_FUNCS = 64, ROUNDS = 7, FEW_ROUNDS = 3 };
enum { PLAIN, RULE, RULES, SKETCH, SKETCHES, LOOPS, N_WAY };

typedef struct contest {
    bench x;
    tn_measurer *m;
    const char *trace[N_WAY];
    double seconds[N_WAY];
    const char *found; /* by the search under way */
} contest;

/* ---- plain loops ---- */

/* Steps for a block: loops of results, then those of the reduction, then vectors along the last result axis. */
static const char *plain_steps(bench *x, const tn_func *f, const tn_stmt *b, int number)
{
    tn_arena *m = &x->arena;
    const char *block = b->u.block.name, *names = "", *sums = "", *first = NULL, *last = NULL;
    uint32_t bits = 8 * tn_dtype_bytes(f->buffer[b->u.block.body.first->u.store.buffer].dtype);
    for (uint32_t i = 0; i < b->u.block.n_iter; i++) {
        const char *name = tn_arena_printf(m, "b%d_%u", number, (unsigned)i);
        names = tn_arena_printf(m, "%s%s ", names, name);
        if (b->u.block.iter[i].kind != TN_ITER_SPATIAL) {
            sums = tn_arena_printf(m, "%s %s", sums, name);
            first = first ? first : name;
        } else if (!tn_is_value(b->u.block.iter[i].extent, 1)) {
            last = name;
        }
    }
    if (!last)
        return "";
    const char *steps = tn_arena_printf(m, "%s= loops \"%s\"\n_ v%d = split %s %u tail=mask\n", names, block,
                                        number, last, (unsigned)(x->machine.vector_bits / bits));
    if (first)
        steps = tn_arena_printf(m, "%sreorder%s v%d\ndecompose_reduction \"%s\" %s\n", steps, sums, number,
                                block, first);
    return tn_arena_printf(m, "%svectorize v%d\n", steps, number);
}

static bool note_block(tn_stmt *s, void *user)
{
    tn_stmt ***at = user;
    if (s->kind == TN_S_BLOCK && s->u.block.body.first && s->u.block.body.first->kind == TN_S_STORE)
        *(*at)++ = s;
    return true;
}

static const char *text_of(bench *x, const tn_sched *s)
{
    tn_buf b = {0};
    tn_trace_print(s, &b);
    const char *t = tn_arena_strdup(&x->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return t;
}

/* A block for which they are refused stays as it is. */
static const char *plain(bench *x, const tn_func *f)
{
    tn_stmt *block[64], **end = block;
    const char *all = "";
    tn_stmt_walk((tn_body *)&f->body, note_block, NULL, &end);
    for (int i = 0; i < end - block; i++) {
        tn_sched s;
        const char *with = tn_arena_printf(&x->arena, "%s%s", all, plain_steps(x, f, block[i], i));
        tn_sched_init(&s, f, &x->arena, &x->pool);
        if (tn_trace_replay(&s, with, strlen(with), NULL) == TN_DONE)
            all = with;
    }
    return all;
}

/* ---- searches ---- */

static const char *default_of(contest *c, const tn_func *f, const tn_sched_generator *by)
{
    tn_sched s;
    const tn_space space = {by, f, &c->x.machine, 0};
    if (tn_explore(&space, NULL, &c->x.arena, &c->x.pool, &s) != TN_DONE)
        bench_fail(&c->x, "the default is refused");
    return text_of(&c->x, &s);
}

static void on_kept(void *user, const tn_search *s, uint32_t task, const tn_point *p, const char *trace)
{
    contest *c = user;
    (void)s;
    (void)task;
    (void)p;
    c->found = tn_arena_strdup(&c->x.arena, trace);
}

static const char *search(contest *c, const tn_task *task, const tn_sched_generator *by, uint32_t trials,
                          uint64_t seed)
{
    const tn_search_options o = {.machine = &c->x.machine,
                                 .generator = by,
                                 .proposer = &tn_proposers[0],
                                 .seed = seed,
                                 .trials = trials,
                                 .margin = 0.01,
                                 .user = c,
                                 .kept = on_kept};
    const tn_meter meter = tn_meter_of(c->m);
    c->found = default_of(c, task->load.func, by);
    char why[TN_MODEL_WHY];
    (void)!tn_search_run(&o, &meter, 1, task, why); /* its own trees do not fail */
    return c->found;
}

/* ---- the contest ---- */

static void time_in_turn(contest *c)
{
    for (int i = 0; i < N_WAY; i++)
        c->seconds[i] = HUGE_VAL;
    for (int k = 0; k < ROUNDS; k++)
        for (int i = 0; i < N_WAY && (k < FEW_ROUNDS || (i != PLAIN && i != LOOPS)); i++) {
            tn_trial t;
            tn_measurer_add(c->m, &(tn_candidate){.trace = c->trace[i], .check = k == 0 && i == SKETCHES});
            (void)tn_measurer_next(c->m, &t);
            if (t.fate != TN_TRIAL_TIMED && i != PLAIN && i != LOOPS)
                bench_fail(&c->x, t.why);
            if (t.fate != TN_TRIAL_TIMED)
                continue;
            c->seconds[i] = t.seconds < c->seconds[i] ? t.seconds : c->seconds[i];
        }
}

static double better(const contest *c)
{
    return c->seconds[RULE] < c->seconds[RULES] ? c->seconds[RULE] : c->seconds[RULES];
}

static void one_function(contest *c, const tn_func *f, uint32_t trials, uint64_t seed)
{
    const tn_task task = {.name = f->name, .load = load_of(&c->x, f), .workload = 1, .weight = 1};
    c->m = open_measurer(&c->x, 1, &task.load);
    c->trace[LOOPS] = "";
    c->trace[PLAIN] = plain(&c->x, f);
    c->trace[RULE] = default_of(c, f, &tn_rules_generator);
    c->trace[RULES] = search(c, &task, &tn_rules_generator, trials, seed);
    c->trace[SKETCH] = default_of(c, f, &tn_sketch_generator);
    c->trace[SKETCHES] = search(c, &task, &tn_sketch_generator, trials, seed);
    time_in_turn(c);
    if (c->seconds[LOOPS] < c->seconds[PLAIN])
        c->seconds[PLAIN] = c->seconds[LOOPS];
    tn_measurer_end(c->m);
    printf("%-26s", f->name);
    for (int i = 0; i < LOOPS; i++)
        printf(" %9.1f", c->seconds[i] * 1e6);
    printf(" %7.0f %% %7.2fx\n", 100 * better(c) / c->seconds[SKETCHES],
           c->seconds[PLAIN] / c->seconds[SKETCHES]);
    if (getenv("BENCH_TRACES"))
        for (int i = 0; i < N_WAY; i++)
            printf("---- %d\n%s", i, c->trace[i]);
    fflush(stdout);
}

static bool is_wanted(const char *name, int n, char **pattern)
{
    bool any = n == 0;
    for (int i = 0; i < n; i++)
        any |= strstr(name, pattern[i]) != NULL;
    return any;
}

int main(int argc, char **argv)
{
    static contest c;
    tn_func *f[MAX_FUNCS];
    int at = 1, trials = 64, done = 0;
    uint64_t seed = 1;
    double share = 0, gain = 0;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2)
        if (argv[at][1] == 'n')
            trials = atoi(argv[at + 1]);
        else
            seed = strtoull(argv[at + 1], NULL, 10);
    if (at >= argc || trials < 1) {
        fprintf(stderr, "usage: bench_sketch [-n TRIALS] [-s SEED] KERNELS.tir [PATTERN...]\n");
        return 2;
    }
    bench_init(&c.x);
    size_t n = read_functions(&c.x, argv[at], MAX_FUNCS, f);
    printf("%-26s %9s %9s %9s %9s %9s %9s %8s\n", "microseconds", "plain", "rule", "search", "sketch",
           "sketches", "of best", "of plain");
    for (size_t i = 0; i < n; i++) {
        if (!is_wanted(f[i]->name, argc - at - 1, argv + at + 1))
            continue;
        one_function(&c, f[i], (uint32_t)trials, seed);
        share += log(better(&c) / c.seconds[SKETCHES]);
        gain += log(c.seconds[PLAIN] / c.seconds[SKETCHES]);
        done++;
    }
    if (done)
        printf("%d operators, geometric means: %.1f %% of the better of rule and search, %.2fx plain loops\n",
               done, 100 * exp(share / done), exp(gain / done));
    return 0;
}
