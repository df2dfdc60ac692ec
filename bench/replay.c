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
#include "base/rng.h"
#include "base/size.h"
#include "driver/driver.h"
#include "ir/eval.h"
#include "run.h"

#include <math.h>

enum { MAX_RUNS = 100000, LONG_OPERATIONS = 60000000 };

typedef struct tensor {
    const tn_buffer *buffer;
    int n;
    int64_t dim[TN_LAYOUT_MAX_AXES];     /* physical */
    int64_t logical[TN_LAYOUT_MAX_DIMS]; /* what the symbols make of the extents */
    size_t count, bytes;
    unsigned char *at, *expected;
} tensor;

typedef struct replay {
    bench x;
    tn_func *f;
    int64_t *sym;
    tensor *param;
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

/* The value of an expression over the symbols. */
static int64_t value_of(replay *r, const tn_expr *e)
{
    int64_t v = 0;
    for (uint32_t i = 0; i < r->f->n_symbol; i++) {
        const tn_expr *from = tn_sym(&r->x.pool, r->f->symbol[i].name), *to = tn_idx(&r->x.pool, r->sym[i]);
        e = tn_subst(&r->x.pool, e, 1, &from, &to);
    }
    if (!tn_is_int(tn_simplify(&r->x.pool, NULL, e), &v))
        bench_fail(&r->x, "an extent depends on more than the symbols");
    return v;
}

/* ---- tensors ---- */

/* Is the cell of this physical index inside the logical shape? */
static bool inside(const tensor *t, const int64_t at[])
{
    const tn_layout *l = t->buffer->layout;
    int64_t index[TN_LAYOUT_MAX_DIMS] = {0}, stride[TN_LAYOUT_MAX_DIMS];
    for (int d = 0; d < TN_LAYOUT_MAX_DIMS; d++)
        stride[d] = 1;
    for (int a = t->n - 1; l && a >= 0; a--) {
        index[l->axis[a].dim] += at[a] * stride[l->axis[a].dim];
        stride[l->axis[a].dim] *= l->axis[a].factor ? l->axis[a].factor : 1;
    }
    for (int d = 0; l && d < l->ndim; d++)
        if (index[d] >= t->logical[d])
            return false;
    return true;
}

static tn_scalar random_scalar(tn_dtype t, tn_rng *rng)
{
    if (tn_dtype_is_float(t))
        return (tn_scalar){.f = tn_rng_unit(rng) - 0.5};
    bool byte = t.bits == 8 && !tn_dtype_is_bool(t); /* quantised values; larger integers may be indices */
    return (tn_scalar){.i = (int64_t)tn_rng_below(rng, byte ? 128 : 2)};
}

static void fill(tensor *t, tn_rng *rng)
{
    const tn_layout *l = t->buffer->layout;
    tn_dtype type = t->buffer->dtype;
    tn_scalar pad = {.i = 0};
    bool filled = l && l->fill == TN_FILL_VALUE;
    if (filled && tn_dtype_is_float(type))
        pad.f = l->fill_value;
    else if (filled)
        pad.i = (int64_t)l->fill_value;
    int64_t at[TN_LAYOUT_MAX_AXES] = {0};
    for (size_t i = 0; i < t->count; i++) {
        tn_scalar v = random_scalar(type, rng);
        tn_scalar_write(type, t->at + i * tn_dtype_bytes(type), filled && !inside(t, at) ? pad : v);
        for (int a = t->n - 1; a >= 0 && ++at[a] == t->dim[a]; a--)
            at[a] = 0;
    }
}

static void tensor_init(replay *r, tensor *t, const tn_buffer *b, tn_rng *rng)
{
    const tn_expr *dim[TN_LAYOUT_MAX_AXES];
    *t = (tensor){.buffer = b, .n = tn_layout_naxis(b->layout, b->ndim), .count = 1};
    tn_layout_dims(&r->x.pool, b->layout, b->ndim, b->dim, dim);
    bool fits = true;
    for (int d = 0; d < b->ndim; d++)
        t->logical[d] = value_of(r, b->dim[d]);
    for (int a = 0; a < t->n; a++) {
        t->dim[a] = value_of(r, dim[a]);
        fits = fits && t->dim[a] >= 0 && tn_size_mul(t->count, (size_t)t->dim[a], &t->count);
    }
    if (!fits || !tn_size_mul(t->count, tn_dtype_bytes(b->dtype), &t->bytes))
        bench_fail(&r->x, "a parameter is too large");
    size_t room = t->bytes + b->slack * (size_t)tn_dtype_bytes(b->dtype);
    t->at = aligned(room);
    if (b->written)
        t->expected = aligned(room);
    else
        fill(t, rng);
}

/* ---- comparing ---- */

typedef struct difference {
    double worst, largest;
} difference; /* absolute; of the expected values */

/* Cells outside the logical shape may hold anything. */
static difference compare(const tensor *t)
{
    difference r = {0};
    tn_dtype type = t->buffer->dtype;
    int64_t at[TN_LAYOUT_MAX_AXES] = {0};
    for (size_t i = 0; i < t->count; i++) {
        size_t byte = i * tn_dtype_bytes(type);
        tn_scalar a = tn_scalar_read(type, t->at + byte), b = tn_scalar_read(type, t->expected + byte);
        double x = tn_dtype_is_float(type) ? a.f : (double)a.i,
               y = tn_dtype_is_float(type) ? b.f : (double)b.i;
        bool same = x == y || (isnan(x) && isnan(y));
        if (inside(t, at) && !same)
            r.worst = fmax(r.worst, isfinite(x - y) ? fabs(x - y) : INFINITY);
        if (inside(t, at) && isfinite(y))
            r.largest = fmax(r.largest, fabs(y));
        for (int k = t->n - 1; k >= 0 && ++at[k] == t->dim[k]; k--)
            at[k] = 0;
    }
    return r;
}

/* Schedules change the order of sums alone: integers are equal, floats nearly so. */
static double allowed(tn_dtype t, double largest)
{
    if (!tn_dtype_is_float(t))
        return 0;
    return (t.bits >= 64 ? 1e-12 : t.bits >= 32 ? 1e-4 : 2e-2) * fmax(largest, 1e-3);
}

static void arguments(const replay *r, bool expected, void *arg[])
{
    for (uint32_t i = 0; i < r->f->n_param; i++)
        arg[i] = expected && r->param[i].expected ? r->param[i].expected : r->param[i].at;
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
        const tensor *t = &r->param[i];
        if (!t->expected)
            continue;
        difference d = compare(t);
        bool ok = d.worst <= allowed(t->buffer->dtype, d.largest);
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
    tn_operations_count(r->f, count);
    for (int k = 0; k < TN_N_OPERATIONS; k++)
        sum += (double)value_of(r, count[k]);
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
    r.param = TN_NEW_N(&r.x.arena, tensor, r.f->n_param);
    for (uint32_t i = 0; i < r.f->n_param; i++)
        tensor_init(&r, &r.param[i], &r.f->buffer[r.f->param[i]], &rng);
    double operations = operations_of(&r);
    kernel k = generate(&r.x, schedule(&r.x, r.f, steps, &text));
    kernel_open(&r.x, &k, r.sym, r.threads);
    printf("%s", text);
    const char *with = expect(&r, operations);
    time_it(&r, &k, operations);
    return check(&r, with) ? 0 : 1;
}
