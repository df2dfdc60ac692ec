/* Random schedules become code: what the compiled kernel computes is what the unscheduled function does, bit
 * by bit, for sums of small integers are exact in any order. The long run of tests/README.md sets
 * TENON_TRIALS: schedules of each function, and of random functions nine times as many; TENON_SEED: where
 * they begin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "codegen/codegen.h"
#include "launch/kernel.h"
#include "sanitized.h"
#include "schedule/random.h"
#include "target/target.h"

enum { TRIALS = 12, TRIALS_SANITIZED = 2, N_FUNCS = sizeof funcs / sizeof *funcs };

typedef struct {
    uint64_t legal, refused, traces;
    const tn_llvm_api *llvm;
    tn_machine machine;
} campaign;

/* A schedule of random steps; what is refused leaves it as it was. */
static void take_steps(bench *x, campaign *c, gen *g)
{
    name_loops(g);
    const char *before = func_text(x, g->s->func);
    for (int i = 0; i < STEPS; i++) {
        uint32_t steps = g->s->n_step;
        if (random_step(g) == TN_DONE) {
            c->legal++;
            before = func_text(x, g->s->func);
            continue;
        }
        c->refused++;
        assert_int_equal(g->s->n_step, steps);
        assert_string_equal(func_text(x, g->s->func), before);
    }
}

static bool runs_like(bench *x, const campaign *c, const tn_func *f, tn_flat *flat, const int64_t *sym,
                      uint64_t seed)
{
    tn_kernel_ir kernel = {.name = f->name, .source = "", .n_variant = 1, .variant = flat};
    for (uint32_t i = 0; i < f->n_param; i++)
        *(f->buffer[f->param[i]].written ? &kernel.n_out : &kernel.n_in) += 1;
    tn_unit u = {.ctx = &x->ctx,
                 .name = "default",
                 .producer = "tenon test",
                 .target = c->machine.triple,
                 .feature = c->machine.feature,
                 .n_feature = (uint32_t)c->machine.n_feature,
                 .n_kernel = 1,
                 .kernel = &kernel};
    const tn_library *lib;
    tn_jit *jit;
    tnr_error err;
    void **want = arguments(x, f, sym, seed), **got = arguments(x, f, sym, seed);
    uint64_t *bytes = TN_NEW_N(&x->arena, uint64_t, f->n_param);
    for (uint32_t i = 0; i < f->n_param; i++)
        bytes[i] = buffer_bytes(f, f->param[i], sym);
    if (tn_func_run(f, want, sym) != TN_OK ||
        c->llvm->jit(&u, &(tn_code_options){.opt_level = 2}, &jit, &lib) != TN_OK)
        return false;
    tn_kernel_runner *run = tn_kernel_open(
        &(tn_kernel_use){.library = lib, .node = "", .bytes = bytes, .sym = sym, .threads = 1}, &err);
    bool same = run && tn_kernel_run(run, got, &err) == TNR_OK;
    tn_kernel_close(run);
    c->llvm->jit_free(jit);
    for (uint32_t i = 0; i < f->n_param && same; i++)
        if (f->buffer[f->param[i]].written)
            same = same_output(x, f, i, sym, want[i], got[i], 0);
    return same;
}

static void one_trace(campaign *c, const char *name, const char *text, const int64_t *sym, uint64_t seed)
{
    bench x;
    tn_sched s;
    tn_flat flat;
    bench_init(&x);
    tn_func *f = read_func(&x, text);
    tn_sched_init(&s, f, &x.arena, &x.pool);
    gen g = {.s = &s, .r = {seed}};
    take_steps(&x, c, &g);
    if (getenv("TENON_VERBOSE"))
        say(&x, &s, name, seed);
    const char *wrong = NULL;
    tn_func *loops = tn_func_clone(s.func, &x.arena, &x.pool);
    if (tn_func_verify(s.func) != TN_OK)
        wrong = "not verified";
    else if (!same_results(&x, f, s.func, sym, seed, 0))
        wrong = "other results in the interpreter";
    else if (tn_lower(loops, &c->machine, &tn_pipeline_cpu, &flat) != TN_OK)
        wrong = "not lowered";
    else if (!runs_like(&x, c, f, &flat, sym, seed))
        wrong = "other results of the code";
    if (wrong) {
        fprintf(stderr, "%s", func_text(&x, f));
        say(&x, &s, name, seed);
        fail_msg("%s", wrong);
    }
    c->traces++;
    bench_deinit(&x);
}

static void code_of_random_schedules_keeps_the_results(void **state)
{
    (void)state;
    const char *from = getenv("TENON_SEED"), *trials = getenv("TENON_TRIALS");
    uint64_t first = from ? strtoull(from, NULL, 10) : 1, n = trials      ? strtoull(trials, NULL, 10)
                                                              : RUN_FEWER ? TRIALS_SANITIZED
                                                                          : TRIALS;
    campaign c = {0};
    bench x;
    bench_init(&x);
    assert_int_equal(tn_machine_detect(&x.ctx, &c.machine), TN_OK);
    if (tn_llvm_open(&x.ctx, &c.llvm) != TN_OK)
        fail_msg("%s", diags(&x));
    for (uint64_t k = first; k < first + n; k++)
        for (uint64_t i = 0; i < 2 * N_FUNCS; i++) {
            uint64_t seed = k * 1000 + i;
            int64_t sym[2];
            tn_buf text = {0};
            if (i >= N_FUNCS)
                random_function_text(seed, &text, sym);
            one_trace(&c, i < N_FUNCS ? funcs[i].name : "random",
                      i < N_FUNCS ? funcs[i].text : tn_buf_cstr(&text), i < N_FUNCS ? funcs[i].sym : sym,
                      seed);
            tn_buf_deinit(&text);
        }
    if (trials)
        printf("%llu traces: %llu steps were done, %llu refused\n", (unsigned long long)c.traces,
               (unsigned long long)c.legal, (unsigned long long)c.refused);
    assert_true(c.legal > c.traces && c.refused > c.traces);
    bench_deinit(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(code_of_random_schedules_keeps_the_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
