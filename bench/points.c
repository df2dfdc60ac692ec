/* bench_points: random points of the space of each function in a file of TIR, compiled, run once and compared.
 *
 *   bench_points [-n POINTS] [-s SEED] [-g GENERATOR] KERNELS.tir      (tools/points makes the files from models)
 *
 * Each function is run with the numbers that the tuner would give it, first as its loops stand, strictly, then at each
 * point. A point is right, refused by a verdict, or wrong. Points of the same steps are run once, and
 * functions of the same workload once. Prints a line a function; fails if a point is wrong.
 */
#include "base/file.h"
#include "base/map.h"
#include "driver/driver.h"
#include "ir/eval.h"
#include "run.h"
#include "schedule/space.h"
#include "tune/arguments.h"

#include <math.h>

enum { MAX_FUNCS = 4096, LIKELY_SIZE = 16, MAX_OPERANDS = 256 };

typedef struct points {
    bench x;
    int n;
    uint64_t seed;
    const tn_sched_generator *by;
    const tn_func *f;
    int64_t *sym;
    tn_argument param[MAX_OPERANDS];
    unsigned char *expected[MAX_OPERANDS]; /* of an output; NULL: an input */
    int right, same, refused, wrong;       /* points of this function */
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
            memset(arg[i], 0x5a, p->param[i].bytes);
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

static void one_point(points *p, uint64_t seed, tn_map *known)
{
    const tn_space space = {p->by, p->f, &p->x.machine, 0};
    tn_rng r = {seed};
    tn_arena arena;
    tn_pool pool;
    tn_sched s;
    tn_buf trace = {0};
    uint64_t none;
    tn_arena_init(&arena);
    tn_pool_init(&pool, &p->x.ctx, &arena, &p->x.pool);
    if (tn_explore(&space, &(tn_picks){.random = &r}, &arena, &pool, &s) != TN_DONE) {
        p->refused++;
    } else {
        tn_trace_print(&s, &trace);
        uint64_t hash = tn_hash_bytes(trace.at, trace.n, 1);
        const char *failed = NULL;
        bool same = tn_map_get(known, hash, &none);
        if (!same)
            failed = compare(p, s.func);
        tn_map_put(known, hash, 1);
        *(failed ? &p->wrong : same ? &p->same : &p->right) += 1;
        if (failed) {
            tn_buf text = {0};
            tn_picks picks = tn_picks_of(&s.picked, &arena);
            tn_picks_print(&picks, &text);
            printf("WRONG @%s: %s\n%s%s%s", p->f->name, failed, tn_buf_cstr(&text), tn_buf_cstr(&trace),
                   said(p));
            tn_buf_deinit(&text);
        }
    }
    tn_buf_deinit(&trace);
    tn_arena_deinit(&arena);
}

static void one_function(points *p, tn_func *f)
{
    tn_map known = {0};
    p->f = f;
    p->right = p->same = p->refused = p->wrong = 0;
    if (f->n_param > MAX_OPERANDS) {
        printf("@%s: not run: it has too many operands\n", f->name);
        return;
    }
    p->sym = TN_NEW_N(&p->x.arena, int64_t, f->n_symbol + 1);
    for (uint32_t i = 0; i < f->n_symbol; i++) {
        int64_t v = f->symbol[i].min > LIKELY_SIZE ? f->symbol[i].min : LIKELY_SIZE;
        p->sym[i] = v < f->symbol[i].max ? v : f->symbol[i].max;
    }
    memset(p->param, 0, sizeof p->param);
    memset(p->expected, 0, sizeof p->expected);
    const char *failed = expect(p);
    for (int k = 0; k < p->n && !failed; k++)
        one_point(p, p->seed + (uint64_t)k, &known);
    if (failed)
        printf("@%s: not run: %s\n%s", f->name, failed, said(p));
    else
        printf("@%s: %d right, %d the same again, %d refused, %d wrong\n", f->name, p->right, p->same,
               p->refused, p->wrong);
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
    if (!p || !f)
        abort();
    p->n = 100;
    p->seed = 1;
    p->by = &tn_rules_generator;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
        if (strcmp(argv[i], "-n") == 0)
            p->n = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "-g") == 0)
            p->by = tn_sched_generator_find(argv[i + 1]);
        else
            p->seed = strtoull(argv[i + 1], NULL, 10);
    if (i + 1 != argc || !p->by) {
        fprintf(stderr, "usage: bench_points [-n POINTS] [-s SEED] [-g rules|sketch] KERNELS.tir\n");
        return 2;
    }
    bench_init(&p->x);
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
        wrong += p->wrong;
        fflush(stdout);
    }
    tn_map_deinit(&seen);
    return wrong > 0;
}
