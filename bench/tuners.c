/* bench_tuners: proposers of schedules against each other on one kernel, with the same times for all.
 *
 *   bench_tuners [-n TRIALS] [-r SEEDS] [-m ROWS] TABLE KERNEL.tir [TUNER...]
 *
 * A schedule is timed when the first search proposes it. From then on its time is that in TABLE, a file of
 * lines "hash of the trace, seconds" that is made or continued, so that searches differ by what they propose
 * and nothing else. For each tuner: the time of the best schedule after 4, 8, 16, ... trials as a multiple of
 * the best one in the table, the geometric mean over the seeds; and how many trials it takes on average to
 * come within 2 % of that (a search that does not counts all of its trials). At last, how well the searches'
 * model orders schedules that it has not seen: Spearman's rank correlation over a third of those of the first
 * tuner, after the rest of them was learnt from, the mean of five cuts, which -m writes to a file for bench/model.
 * Symbols have the smallest value that they
 * may have, but at least 16.
 */
#include "base/map.h"
#include "base/vec.h"
#include "measure.h"
#include "tune/features.h"

#include <math.h>

enum { MAX_TRIALS = 4096, MAX_SEEDS = 32, CUTS = 5 };
static const double NEAR = 1.02;

typedef struct row { /* a schedule that the first tuner had timed */
    float feature[TN_N_FEATURES];
    double seconds;
} row;

typedef struct race {
    bench x;
    const tn_task *task;
    tn_map told; /* hashes of the traces of `row` */
    tn_vec(row) row;
    bool tells;   /* the first tuner searches */
    tn_map known; /* hash of a trace -> number in `seconds` */
    tn_vec(double) seconds;
    FILE *table, *cuts; /* cuts NULL: nobody wants them */
    tn_measurer *m;
    tn_vec(tn_trial) ready;
    uint32_t n_trial;
    double best; /* of this search */
    double *curve;
} race;

/* ---- times ---- */

static void note(race *r, uint64_t hash, double seconds)
{
    tn_map_put(&r->known, hash, r->seconds.n);
    tn_vec_push(&r->seconds, seconds);
}

static void open_table(race *r, const char *path)
{
    unsigned long long hash;
    double seconds;
    r->table = fopen(path, "a+");
    if (!r->table)
        bench_fail(&r->x, path);
    rewind(r->table);
    while (fscanf(r->table, "%llx %lg", &hash, &seconds) == 2)
        note(r, hash, seconds);
}

static void tell(race *r, const tn_candidate *c, uint64_t hash, double seconds)
{
    uint64_t known;
    tn_arena a;
    tn_sched s;
    if (!r->tells || seconds == HUGE_VAL || tn_map_get(&r->told, hash, &known))
        return;
    tn_map_put(&r->told, hash, 1);
    tn_arena_init(&a);
    tn_sched_init(&s, r->task->load.func, &a, &r->x.pool);
    if (tn_trace_replay(&s, c->trace, strlen(c->trace), NULL) == TN_DONE) {
        row one = {.seconds = seconds};
        tn_features_of(s.func, r->task->load.sym, &r->x.machine, one.feature);
        tn_vec_push(&r->row, one);
    }
    tn_arena_deinit(&a);
}

static double time_of(race *r, const tn_candidate *c)
{
    tn_trial t = {0};
    uint64_t hash = tn_hash_bytes(c->trace, strlen(c->trace), 0), at;
    if (tn_map_get(&r->known, hash, &at))
        return r->seconds.at[at];
    tn_measurer_add(r->m, &(tn_candidate){.trace = c->trace});
    (void)tn_measurer_next(r->m, &t);
    double seconds = t.fate == TN_TRIAL_TIMED ? t.seconds : HUGE_VAL;
    note(r, hash, seconds);
    fprintf(r->table, "%016llx %.9g\n", (unsigned long long)hash, seconds);
    return seconds;
}

static uint32_t race_room(void *user) { return ((race *)user)->ready.n < 4; }

static void race_add(void *user, const tn_candidate *c)
{
    race *r = user;
    double s = time_of(r, c);
    tell(r, c, tn_hash_bytes(c->trace, strlen(c->trace), 0), s);
    tn_vec_push(&r->ready, ((tn_trial){.workload = c->workload,
                                       .number = c->number,
                                       .fate = s == HUGE_VAL ? TN_TRIAL_CRASHED : TN_TRIAL_TIMED,
                                       .seconds = s}));
}

static bool race_next(void *user, tn_trial *out)
{
    race *r = user;
    if (!r->ready.n)
        return false;
    *out = r->ready.at[0];
    memmove(r->ready.at, r->ready.at + 1, --r->ready.n * sizeof *r->ready.at);
    return true;
}

/* ---- searches ---- */

static void on_trial(void *user, const tn_search *s, uint32_t task, const tn_point *p, const tn_trial *t)
{
    race *r = user;
    uint32_t n = tn_search_trials(s);
    (void)task;
    (void)p;
    if (t->fate == TN_TRIAL_TIMED && t->seconds < r->best)
        r->best = t->seconds;
    for (; r->n_trial <= n && r->n_trial <= MAX_TRIALS; r->n_trial++)
        r->curve[r->n_trial] = r->best;
}

static void search(race *r, const tn_task *task, const tn_proposer *by, uint64_t seed, uint32_t trials,
                   double curve[])
{
    const tn_search_options o = {.machine = &r->x.machine,
                                 .generator = &tn_rules_generator,
                                 .proposer = by,
                                 .seed = seed,
                                 .trials = trials,
                                 .margin = 0.01,
                                 .user = r,
                                 .progress = on_trial};
    const tn_meter meter = {r, race_room, race_add, race_next};
    r->curve = curve;
    r->n_trial = 0;
    r->best = HUGE_VAL;
    tn_search_run(&o, &meter, 1, task);
    for (; r->n_trial <= trials; r->n_trial++) /* nothing was left to try */
        curve[r->n_trial] = r->best;
}

static void report(const char *name, double (*curve)[MAX_TRIALS + 1], int seeds, uint32_t trials, double best)
{
    double needed = 0;
    printf("%-12s", name);
    for (uint32_t n = 4; n <= trials; n *= 2) {
        double sum = 0;
        for (int i = 0; i < seeds; i++)
            sum += log(curve[i][n] / best);
        printf(" %4u: %.3f", (unsigned)n, exp(sum / seeds));
    }
    for (int i = 0; i < seeds; i++) {
        uint32_t n = 0;
        while (n < trials && curve[i][n] > NEAR * best)
            n++;
        needed += (double)n / seeds;
    }
    printf("  within 2 %%: %.0f\n", needed);
}

/* ---- the model ---- */

/* Of each number how many are less; where some are equal, half of these. */
static void ranks(const double v[], uint32_t n, double out[])
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = 0;
        for (uint32_t k = 0; k < n; k++)
            out[i] += v[k] < v[i] ? 1 : v[k] == v[i] ? 0.5 : 0;
    }
}

/* Of numbers between which there are differences. */
static double correlation(const double a[], const double b[], uint32_t n)
{
    double mean = n / 2.0, ab = 0, aa = 0, bb = 0;
    for (uint32_t i = 0; i < n; i++) {
        ab += (a[i] - mean) * (b[i] - mean);
        aa += (a[i] - mean) * (a[i] - mean);
        bb += (b[i] - mean) * (b[i] - mean);
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

/* After the first `learnt` rows, over the others. */
static double order(race *r, uint32_t learnt)
{
    uint32_t n = (uint32_t)r->row.n, rest = n - learnt;
    float *x = TN_NEW_N(&r->x.arena, float, (size_t)n *TN_N_FEATURES);
    double *v = TN_NEW_N(&r->x.arena, double, 4 * (size_t)n), *said = v + n, *of_said = said + n,
           *of_v = of_said + n;
    double best = HUGE_VAL;
    for (uint32_t i = 0; i < n; i++) {
        memcpy(x + (size_t)i * TN_N_FEATURES, r->row.at[i].feature, sizeof r->row.at[i].feature);
        best = i < learnt && r->row.at[i].seconds < best ? r->row.at[i].seconds : best;
    }
    for (uint32_t i = 0; i < n; i++)
        v[i] = best / r->row.at[i].seconds;
    tn_boost *b = tn_boost_fit(&tn_search_trees, &(tn_rows){learnt, TN_N_FEATURES, x, v, 0, NULL});
    for (uint32_t i = 0; i < rest; i++)
        said[i] = tn_boost_predict(b, x + (size_t)(learnt + i) * TN_N_FEATURES);
    tn_boost_free(b);
    ranks(said, rest, of_said);
    ranks(v + learnt, rest, of_v);
    return correlation(of_said, of_v, rest);
}

/* A line for each row: cut, 1 if it is learnt from, what is to be said, features. */
static void write_cut(const race *r, int cut, uint32_t learnt)
{
    double best = HUGE_VAL;
    for (uint32_t i = 0; i < learnt; i++)
        best = r->row.at[i].seconds < best ? r->row.at[i].seconds : best;
    for (uint32_t i = 0; i < r->row.n; i++) {
        fprintf(r->cuts, "%d %d %.9g", cut, i < learnt, best / r->row.at[i].seconds);
        for (int k = 0; k < TN_N_FEATURES; k++)
            fprintf(r->cuts, " %.9g", (double)r->row.at[i].feature[k]);
        fputc('\n', r->cuts);
    }
}

static void report_model(race *r)
{
    tn_rng rng = {1};
    double sum = 0;
    uint32_t n = (uint32_t)r->row.n;
    if (n < 24)
        return;
    for (int cut = 0; cut < CUTS; cut++) {
        for (uint32_t i = n; i > 1; i--) {
            uint32_t k = (uint32_t)tn_rng_below(&rng, i);
            row t = r->row.at[k];
            r->row.at[k] = r->row.at[i - 1];
            r->row.at[i - 1] = t;
        }
        sum += order(r, n - n / 3);
        if (r->cuts)
            write_cut(r, cut, n - n / 3);
    }
    printf("model        of %u learnt, rank correlation over %u others %.3f\n", n - n / 3, n / 3, sum / CUTS);
}

static void compare(race *r, const tn_func *f, int n_name, char **name, uint32_t trials, int seeds)
{
    const tn_task task = {.name = f->name, .load = load_of(&r->x, f), .workload = 1, .weight = 1};
    r->task = &task;
    double(*curve)[MAX_TRIALS + 1] = calloc((size_t)n_name * (size_t)seeds, sizeof *curve), best = HUGE_VAL;
    r->m = open_measurer(&r->x, 1, &task.load);
    for (int k = 0; k < n_name; k++)
        for (int i = 0; i < seeds; i++) {
            r->tells = k == 0;
            search(r, &task, tn_proposer_find(name[k]), (uint64_t)i + 1, trials, curve[k * seeds + i]);
        }
    for (size_t i = 0; i < r->seconds.n; i++)
        best = r->seconds.at[i] < best ? r->seconds.at[i] : best;
    printf("%s: built-in %.2f us, best of %zu %.2f us\n", f->name, curve[0][0] * 1e6, r->seconds.n,
           best * 1e6);
    for (int k = 0; k < n_name; k++)
        report(name[k], curve + k * seeds, seeds, trials, best);
    report_model(r);
    tn_measurer_end(r->m);
    free(curve);
}

static int usage(void)
{
    fprintf(stderr, "usage: bench_tuners [-n TRIALS] [-r SEEDS] [-m ROWS] TABLE KERNEL.tir [TUNER...]\n");
    return 2;
}

int main(int argc, char **argv)
{
    static char *all[] = {"random", "ga", "xgb"};
    int at = 1, seeds = 5, trials = 64;
    const char *cuts = NULL;
    race r = {.n_trial = 0};
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2)
        if (argv[at][1] == 'n')
            trials = atoi(argv[at + 1]);
        else if (argv[at][1] == 'm')
            cuts = argv[at + 1];
        else
            seeds = atoi(argv[at + 1]);
    if (at + 1 >= argc || seeds < 1 || seeds > MAX_SEEDS || trials < 1 || trials > MAX_TRIALS)
        return usage();
    char **name = at + 2 < argc ? argv + at + 2 : all;
    int n_name = at + 2 < argc ? argc - at - 2 : 3;
    for (int k = 0; k < n_name; k++)
        if (!tn_proposer_find(name[k]))
            return usage();
    bench_init(&r.x);
    tn_func *f;
    (void)read_functions(&r.x, argv[at + 1], 1, &f);
    open_table(&r, argv[at]);
    r.cuts = cuts ? fopen(cuts, "w") : NULL;
    if (cuts && !r.cuts)
        bench_fail(&r.x, cuts);
    compare(&r, f, n_name, name, (uint32_t)trials, seeds);
    return r.cuts && fclose(r.cuts) != 0;
}
