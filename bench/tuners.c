/* bench_tuners: proposers of schedules against each other on one kernel, with the same times for all.
 *
 *   bench_tuners [-n TRIALS] [-r SEEDS] [-m ROWS] TABLE KERNEL.tir [TUNER...]
 *
 * TUNER `learned` stands for all that learn.
 *
 * A schedule is timed when the first search proposes it. From then on its time is that in TABLE, a file of
 * lines "hash of the trace, seconds" that is made or continued, so that searches differ by what they propose
 * and nothing else. For each tuner: the time of the best schedule after 4, 8, 16, ... trials as a multiple of
 * the best one in the table, the geometric mean over the seeds; and how many trials it takes on average to
 * come within 2 % of that (a search that does not counts all of its trials). Where `random` is among the tuners: the
 * time of each after a quarter of its trials as a multiple of random search's after all. At last, how well models order
 * schedules that they have not seen, by each set of features and each loss, of Tenon's trees and, where its library is,
 * of XGBoost: Spearman's rank correlation over a third of those of the first tuner, after the rest of them was learnt
 * from, the mean of five cuts, which -m writes with Tenon's own features to a file for bench/model. Symbols have the
 * smallest value that they may have, but at least 16.
 */
#include "base/map.h"
#include "base/vec.h"
#include "measure.h"

#include <math.h>

enum { MAX_TRIALS = 4096, MAX_SEEDS = 32, MAX_TUNERS = 64, CUTS = 5 };
static const double NEAR = 1.02;

typedef struct row { /* a schedule that the first tuner had timed */
    const float *feature[TN_N_FEATURE_SETS];
    double seconds;
} row;

typedef struct race {
    bench x;
    const tn_task *task;
    tn_map told; /* hashes of the traces of `row` */
    tn_vec(row) row;
    tn_knobs knobs;
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
    char line[80];
    bool whole = true;
    r->table = fopen(path, "a+");
    if (!r->table)
        bench_fail(&r->x, path);
    rewind(r->table);
    while (fgets(line, sizeof line, r->table)) {
        whole = strchr(line, '\n');
        if (whole && sscanf(line, "%llx %lg", &hash, &seconds) == 2)
            note(r, hash, seconds);
    }
    if (!whole) /* a run was ended in the middle of a line */
        fputc('\n', r->table);
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

static void add_row(race *r, const tn_sched *s, double seconds)
{
    uint64_t known, hash;
    tn_buf text = {0};
    tn_trace_print(s, &text);
    hash = tn_hash_bytes(text.at, text.n, 0);
    tn_buf_deinit(&text);
    if (tn_map_get(&r->told, hash, &known))
        return;
    tn_map_put(&r->told, hash, 1);
    row one = {.seconds = seconds};
    const tn_featured of = {s->func, r->task->load.sym, &r->x.machine, s->picked.n, s->picked.at, &r->knobs};
    for (int k = 0; k < TN_N_FEATURE_SETS; k++) {
        float *f = TN_NEW_N(&r->x.arena, float, tn_feature_sets[k].n);
        tn_feature_sets[k].of(&of, f);
        one.feature[k] = f;
    }
    tn_vec_push(&r->row, one);
}

/* A row for what the first tuner tried. */
static void tell(race *r, const tn_point *p, double seconds)
{
    tn_arena a;
    tn_sched s;
    const tn_space space = {&tn_rules_generator, r->task->load.func, &r->x.machine, 0};
    tn_arena_init(&a);
    const tn_picks picks = tn_picks_of(&(tn_asked){.n = p->n, .at = (tn_pick *)(uintptr_t)p->pick}, &a);
    if (tn_explore(&space, &picks, &a, &r->x.pool, &s) == TN_DONE)
        add_row(r, &s, seconds);
    tn_arena_deinit(&a);
}

static void on_trial(void *user, const tn_search *s, uint32_t task, const tn_point *p, const tn_trial *t)
{
    race *r = user;
    uint32_t n = tn_search_trials(s);
    (void)task;
    if (r->tells && t->fate == TN_TRIAL_TIMED)
        tell(r, p, t->seconds);
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
    char why[TN_MODEL_WHY];
    if (!tn_search_run(&o, &meter, 1, task, why))
        bench_fail(&r->x, why);
    for (; r->n_trial <= trials; r->n_trial++) /* nothing was left to try */
        curve[r->n_trial] = r->best;
}

typedef struct curve {
    double at[MAX_TRIALS + 1]; /* the best time, by trials */
} curve;

/* The geometric mean over the seeds after n trials. */
static double mean_after(const curve *of, int seeds, uint32_t n)
{
    double sum = 0;
    for (int i = 0; i < seeds; i++)
        sum += log(of[i].at[n]);
    return exp(sum / seeds);
}

/* random: curves of random search; NULL: there are none. */
static void report(const char *name, const curve *of, int seeds, uint32_t trials, double best,
                   const curve *random)
{
    double needed = 0;
    printf("%-23s", name);
    for (uint32_t n = 4; n <= trials; n *= 2)
        printf(" %4u: %.3f", (unsigned)n, mean_after(of, seeds, n) / best);
    for (int i = 0; i < seeds; i++) {
        uint32_t n = 0;
        while (n < trials && of[i].at[n] > NEAR * best)
            n++;
        needed += (double)n / seeds;
    }
    printf("  within 2 %%: %.0f", needed);
    if (random)
        printf("  after a quarter: %.3f of random",
               mean_after(of, seeds, trials / 4) / mean_after(random, seeds, trials));
    printf("\n");
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

/* A cut: so many of the rows are learnt from, and what is to be said of each. */
typedef struct cut {
    uint32_t n, learnt;
    const double *v;
} cut;

static cut cut_of(race *r)
{
    uint32_t n = (uint32_t)r->row.n, learnt = n - n / 3;
    double *v = TN_NEW_N(&r->x.arena, double, n), best = HUGE_VAL;
    for (uint32_t i = 0; i < learnt; i++)
        best = r->row.at[i].seconds < best ? r->row.at[i].seconds : best;
    for (uint32_t i = 0; i < n; i++)
        v[i] = best / r->row.at[i].seconds;
    return (cut){n, learnt, v};
}

/* The rank correlation over what was not learnt from. */
static double order(race *r, const cut *c, const tn_learner *by, void *with, int set, tn_loss loss)
{
    uint32_t width = tn_feature_sets[set].n, rest = c->n - c->learnt;
    float *x = TN_NEW_N(&r->x.arena, float, (size_t)c->n *width);
    double *said = TN_NEW_N(&r->x.arena, double, 3 * (size_t)rest), *of_said = said + rest,
           *of_v = of_said + rest;
    char why[TN_MODEL_WHY];
    for (uint32_t i = 0; i < c->n; i++)
        memcpy(x + (size_t)i * width, r->row.at[i].feature[set], width * sizeof *x);
    void *model = tn_model_fit(by, with, loss, &(tn_rows){c->learnt, width, x, c->v, 0, NULL}, why);
    if (!model || !by->predict(model, rest, x + (size_t)c->learnt * width, said, why))
        bench_fail(&r->x, why);
    by->free(model);
    ranks(said, rest, of_said);
    ranks(c->v + c->learnt, rest, of_v);
    return correlation(of_said, of_v, rest);
}

/* A line for each row: cut, 1 if it is learnt from, what is to be said, features. */
static void write_cut(const race *r, int number, const cut *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        fprintf(r->cuts, "%d %d %.9g", number, i < c->learnt, c->v[i]);
        for (int k = 0; k < TN_N_FEATURES; k++)
            fprintf(r->cuts, " %.9g", (double)r->row.at[i].feature[TN_FEATURES_OWN][k]);
        fputc('\n', r->cuts);
    }
}

static void shuffle(race *r, tn_rng *rng)
{
    for (uint32_t i = (uint32_t)r->row.n; i > 1; i--) {
        uint32_t k = (uint32_t)tn_rng_below(rng, i);
        row t = r->row.at[k];
        r->row.at[k] = r->row.at[i - 1];
        r->row.at[i - 1] = t;
    }
}

/* What one learner says of all cuts, by set of features and loss. */
typedef struct sums {
    const tn_learner *by;
    void *with;
    double at[TN_N_FEATURE_SETS][TN_N_LOSSES];
} sums;

static void add_orders(race *r, const cut *c, sums *s)
{
    for (int k = 0; k < TN_N_FEATURE_SETS; k++)
        for (int loss = TN_LOSS_SQUARES; loss < TN_N_LOSSES; loss++)
            s->at[k][loss] += order(r, c, s->by, s->with, k, (tn_loss)loss);
}

static void print_orders(const sums *s)
{
    printf("  %-8s", s->by->name);
    for (int k = 0; k < TN_N_FEATURE_SETS; k++)
        printf("%s %s %.3f, of order %.3f, of good ones %.3f", k ? ";" : "", tn_feature_sets[k].name,
               s->at[k][TN_LOSS_SQUARES] / CUTS, s->at[k][TN_LOSS_PAIRS] / CUTS,
               s->at[k][TN_LOSS_GOOD] / CUTS);
    printf("\n");
}

static void report_models(race *r)
{
    enum { MOST = 4 };
    sums s[MOST];
    char why[TN_MODEL_WHY];
    tn_rng rng = {1};
    uint32_t n = (uint32_t)r->row.n, n_learner = 0;
    for (uint32_t i = 0; i < tn_n_learners && n_learner < MOST; i++) {
        void *with = tn_learners[i].open ? tn_learners[i].open(why) : NULL;
        if (tn_learners[i].open && !with)
            printf("%s\n", why);
        else
            s[n_learner++] = (sums){.by = &tn_learners[i], .with = with};
    }
    for (int i = 0; i < CUTS; i++) {
        shuffle(r, &rng);
        const cut c = cut_of(r);
        for (uint32_t k = 0; k < n_learner; k++)
            add_orders(r, &c, &s[k]);
        if (r->cuts)
            write_cut(r, i, &c);
    }
    printf("models of %u learnt, rank correlation over %u others:\n", n - n / 3, n / 3);
    for (uint32_t k = 0; k < n_learner; k++) {
        print_orders(&s[k]);
        tn_free(s[k].with);
    }
}

static void compare(race *r, const tn_func *f, int n_name, const char *const *name, uint32_t trials,
                    int seeds)
{
    const tn_task task = {.name = f->name, .load = load_of(&r->x, f), .workload = 1, .weight = 1};
    r->task = &task;
    curve *of = calloc((size_t)n_name * (size_t)seeds, sizeof *of);
    const curve *random = NULL;
    double best = HUGE_VAL;
    r->m = open_measurer(&r->x, 1, &task.load);
    for (int k = 0; k < n_name; k++)
        for (int i = 0; i < seeds; i++) {
            r->tells = k == 0;
            search(r, &task, tn_proposer_find(name[k]), (uint64_t)i + 1, trials, of[k * seeds + i].at);
            random = strcmp(name[k], "random") == 0 ? of + k * seeds : random;
        }
    for (size_t i = 0; i < r->seconds.n; i++)
        best = r->seconds.at[i] < best ? r->seconds.at[i] : best;
    printf("%s: built-in %.2f us, best of %zu %.2f us\n", f->name, of[0].at[0] * 1e6, r->seconds.n,
           best * 1e6);
    for (int k = 0; k < n_name; k++)
        report(name[k], of + k * seeds, seeds, trials, best, random);
    if (r->row.n >= 24)
        report_models(r);
    tn_measurer_end(r->m);
    free(of);
}

static int usage(void)
{
    fprintf(stderr, "usage: bench_tuners [-n TRIALS] [-r SEEDS] [-m ROWS] TABLE KERNEL.tir [TUNER...]\n");
    return 2;
}

/* The tuners that are named; how many, 0: one is none. */
static int read_names(int n, char **given, const char *out[MAX_TUNERS])
{
    int k = 0;
    for (int i = 0; i < n; i++) {
        bool all = strcmp(given[i], "learned") == 0;
        const tn_proposer *one = tn_proposer_find(given[i]);
        if (!all && !one)
            return 0;
        for (size_t p = 0; p < tn_n_proposers; p++)
            if (k < MAX_TUNERS && (all ? tn_proposers[p].learns != NULL : &tn_proposers[p] == one))
                out[k++] = tn_proposers[p].name;
    }
    return k;
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
    const char *name[MAX_TUNERS];
    bool named = at + 2 < argc;
    int n_name = read_names(named ? argc - at - 2 : 3, named ? argv + at + 2 : all, name);
    if (!n_name)
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
