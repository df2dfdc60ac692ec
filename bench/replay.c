/* bench_replay: one kernel alone, from its TIR and its trace (tools/replay makes both from a model).
 *
 *   bench_replay [-t THREADS] [-s SECONDS] [SYMBOL=VALUE...] KERNEL.tir [TRACE]     default: the built-in rule
 *
 * Inputs are random numbers with the fill of their layouts; symbols without a value get the smallest one. The
 * outputs are compared with those of the interpreter or, where it would take long, with those of the
 * unscheduled loops compiled as they stand. Prints the trace, minimum and median; fails if the outputs
 * differ.
 */
#include "base/file.h"
#include "driver/driver.h"
#include "run.h"
#include "tune/arguments.h"

enum { MAX_RUNS = 100000, LONG_OPERATIONS = 60000000 };

typedef struct replay {
    bench x;
    tn_func *f;
    int64_t *sym;
    tn_argument *param;
    tn_argument *own;         /* a constant in the layout of the schedule; at NULL: as in param */
    unsigned char **expected; /* of an output; NULL: an input */
    double seconds;
    uint32_t threads;
} replay;

/* ---- arguments ---- */

static char *read_text(bench *x, const char *path)
{
    tn_file f;
    if (tn_file_map(&x->ctx, path, &f) != TN_OK)
        bench_fail(x, path);
    return tn_arena_strndup(&x->arena, (const char *)f.at, f.n);
}

static void set_symbol(replay *r, const char *text)
{
    size_t n = strcspn(text, "=");
    for (uint32_t i = 0; i < r->f->n_symbol; i++)
        if (strlen(r->f->symbol[i].name) == n && strncmp(r->f->symbol[i].name, text, n) == 0) {
            r->sym[i] = strtoll(text + n + 1, NULL, 10);
            return;
        }
    bench_fail(&r->x, tn_arena_printf(&r->x.arena, "%s: the kernel has no such symbol", text));
}

static void arguments(const replay *r, bool expected, void *arg[])
{
    for (uint32_t i = 0; i < r->f->n_param; i++) {
        void *timed = r->own[i].at ? r->own[i].at : r->param[i].at;
        arg[i] = expected ? r->expected[i] ? r->expected[i] : r->param[i].at : timed;
    }
}

static void lay_out(replay *r, const tn_func *scheduled)
{
    r->own = TN_NEW_N(&r->x.arena, tn_argument, r->f->n_param);
    for (uint32_t i = 0; i < r->f->n_param; i++)
        if (scheduled->buffer[scheduled->param[i]].laid_out &&
            !tn_argument_as(&r->param[i], scheduled, i, r->sym, &r->own[i]))
            bench_fail(&r->x, "a constant is too large");
}

static const char *expect(replay *r, double operations)
{
    void **arg = TN_NEW_N(&r->x.arena, void *, r->f->n_param);
    arguments(r, true, arg);
    if (operations <= LONG_OPERATIONS) {
        if (tn_func_run(r->f, arg, r->sym) != TN_OK)
            bench_fail(&r->x, "the interpreter refuses the call");
        return "the interpreter";
    }
    tn_func *plain = tn_func_clone(r->f, &r->x.arena, &r->x.pool);
    plain->strict = true;
    kernel k = generate(&r->x, plain);
    kernel_open(&r->x, &k, r->sym, 1);
    run(&k, arg);
    return "the loops as they stand";
}

static bool check(replay *r, const char *with)
{
    bool right = true;
    for (uint32_t i = 0; i < r->f->n_param; i++) {
        const tn_argument *t = &r->param[i];
        if (!r->expected[i])
            continue;
        tn_difference d = tn_argument_compare(t, r->expected[i]);
        bool ok = tn_argument_agrees(t, d);
        printf("  %s: largest error %.2g of values up to %.3g, against %s%s\n", t->buffer->name, d.worst,
               d.largest, with, ok ? "" : ": WRONG");
        right = right && ok;
    }
    return right;
}

/* ---- timing ---- */

static double operations_of(replay *r)
{
    const tn_expr *count[TN_N_OPERATIONS];
    double sum = 0;
    int64_t n;
    tn_operations_count(r->f, count);
    for (int k = 0; k < TN_N_OPERATIONS; k++)
        sum += tn_func_value(r->f, count[k], r->sym, &n) ? (double)n : 0;
    return sum;
}

static void report(const char *what, double s, double operations, double bytes)
{
    printf("  %-6s %10.2f us", what, s * 1e6);
    if (operations > 0)
        printf("  %7.1f GFLOP/s", operations / s * 1e-9);
    printf("  %6.1f GB/s of parameters\n", bytes / s * 1e-9);
}

static void time_it(replay *r, const kernel *k, double operations)
{
    void **arg = TN_NEW_N(&r->x.arena, void *, r->f->n_param);
    double *time = malloc(MAX_RUNS * sizeof *time), begin = seconds(), bytes = 0;
    size_t n = 0;
    if (!time)
        abort();
    arguments(r, false, arg);
    run(k, arg); /* faults the pages in */
    do {
        double from = seconds();
        run_again(k);
        time[n++] = seconds() - from;
    } while (n < MAX_RUNS && (n < 3 || seconds() - begin < r->seconds));
    for (uint32_t i = 0; i < r->f->n_param; i++)
        bytes += (double)r->param[i].bytes;
    stats s = stats_of(time, n);
    printf("%s: %zu runs, %u thread%s, %s\n", r->f->name, n, r->threads, r->threads == 1 ? "" : "s",
           r->x.machine.name);
    for (uint32_t i = 0; i < r->f->n_symbol; i++)
        printf("  %s = %lld\n", r->f->symbol[i].name, (long long)r->sym[i]);
    report("min", s.min, operations, bytes);
    report("median", s.median, operations, bytes);
    free(time);
}

static _Noreturn void usage(void)
{
    fprintf(stderr, "usage: bench_replay [-t THREADS] [-s SECONDS] [SYMBOL=VALUE...] KERNEL.tir [TRACE]\n");
    exit(2);
}

/* Reads the command line; returns the trace, NULL: none. */
static const char *prepare(replay *r, int argc, char **argv)
{
    int i = 1, first;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
        if (strcmp(argv[i], "-t") == 0)
            r->threads = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "-s") == 0)
            r->seconds = strtod(argv[i + 1], NULL);
        else
            usage();
    for (first = i; i < argc && strchr(argv[i], '=');)
        i++;
    if (i >= argc || argc - i > 2 || r->threads == 0 || r->threads > 256)
        usage();
    r->f = parse(&r->x, read_text(&r->x, argv[i]));
    r->sym = TN_NEW_N(&r->x.arena, int64_t, r->f->n_symbol);
    for (uint32_t k = 0; k < r->f->n_symbol; k++)
        r->sym[k] = r->f->symbol[k].min;
    for (; first < i; first++)
        set_symbol(r, argv[first]);
    return i + 1 < argc ? read_text(&r->x, argv[i + 1]) : NULL;
}

int main(int argc, char **argv)
{
    replay r = {.seconds = 0.5, .threads = 1};
    bench_init(&r.x);
    const char *steps = prepare(&r, argc, argv), *text;
    tn_rng rng = {1};
    r.param = TN_NEW_N(&r.x.arena, tn_argument, r.f->n_param);
    r.expected = TN_NEW_N(&r.x.arena, unsigned char *, r.f->n_param);
    for (uint32_t i = 0; i < r.f->n_param; i++) {
        if (!tn_argument_init(&r.param[i], r.f, i, r.sym, &rng))
            bench_fail(&r.x, "a parameter is too large, or its size depends on more than the symbols");
        if (r.param[i].buffer->written)
            r.expected[i] = tn_argument_copy(&r.param[i]);
    }
    double operations = operations_of(&r);
    tn_func *scheduled = schedule(&r.x, r.f, steps, &text);
    lay_out(&r, scheduled);
    kernel k = generate(&r.x, scheduled);
    kernel_open(&r.x, &k, r.sym, r.threads);
    printf("%s", text);
    const char *with = expect(&r, operations);
    time_it(&r, &k, operations);
    return check(&r, with) ? 0 : 1;
}
