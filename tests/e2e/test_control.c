/* Random programs of control flow (random_control.h), half of them with a symbolic size and run at two: the
 * interpreters of all stages and the package compute the same. What runs the same TIR gives the same bits: the
 * interpreter on flat TIR and the package. A failure prints the seed and the program.
 *
 * Arguments: a seed, to run it alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "e2e/run.h"
#include "e2e/random_control.h"

enum { SEEDS = 12, SEEDS_SANITIZED = 4, SEEDS_SLOW = 220, N_IN = 9, MAX_ROWS = 7 };

static uint64_t only_seed;
static bool only;

typedef struct inputs {
    float x[MAX_ROWS * CONTROL_UNITS], cache[CONTROL_CACHE * CONTROL_UNITS], w[CONTROL_UNITS * CONTROL_UNITS],
        r[4 * CONTROL_UNITS * CONTROL_UNITS];
    int64_t k, t, z[3], o[3];
    uint8_t b;
    tenon_tensor at[N_IN];
} inputs;

static void fill(tn_rng *r, float *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = (float)(2 * tn_rng_unit(r) - 1);
}

static tenon_tensor floats(const char *name, float *at, int64_t rows)
{
    return (tenon_tensor){.name = name,
                          .code = 2,
                          .bits = 32,
                          .ndim = 2,
                          .shape = {rows, CONTROL_UNITS},
                          .data = at,
                          .bytes = (size_t)rows * CONTROL_UNITS * 4};
}

static tenon_tensor integers(const char *name, int64_t *at, int64_t n)
{
    return (tenon_tensor){
        .name = name, .bits = 64, .ndim = n > 0, .shape = {n}, .data = at, .bytes = (size_t)(n ? n : 1) * 8};
}

static void inputs_make(inputs *in, uint64_t seed, int64_t rows)
{
    tn_rng r = {seed + (uint64_t)rows};
    fill(&r, in->x, sizeof in->x / 4);
    fill(&r, in->cache, sizeof in->cache / 4);
    fill(&r, in->w, sizeof in->w / 4);
    fill(&r, in->r, sizeof in->r / 4);
    in->k = (int64_t)tn_rng_below(&r, 6);
    in->t = (int64_t)tn_rng_below(&r, 5);
    in->b = (uint8_t)tn_rng_below(&r, 2);
    for (int i = 0; i < 3; i++) {
        in->z[i] = 0;
        in->o[i] = 1;
    }
    const tenon_tensor all[N_IN] = {floats("x", in->x, rows),
                                    floats("cache", in->cache, CONTROL_CACHE),
                                    floats("w", in->w, CONTROL_UNITS),
                                    floats("r", in->r, 4 * CONTROL_UNITS),
                                    integers("k", &in->k, 0),
                                    integers("t", &in->t, 0),
                                    {.name = "b", .code = 6, .bits = 8, .data = &in->b, .bytes = 1},
                                    integers("z", in->z, 3),
                                    integers("o", in->o, 3)};
    memcpy(in->at, all, sizeof all);
}

/* One run of everything. Odd runs of the package are guarded. */
static bool one_run(const char *path, tnr_module *m, int level, const inputs *in, bool guarded, char *why)
{
    static const char *const stages[] = {"tir", "tir-scheduled", "flat"};
    tenon_options o = {.size = sizeof(tenon_options), .opt_level = level};
    tnr_instance_options how = {.threads = 2, .flags = guarded ? TNR_INSTANCE_CHECK : 0};
    values want = {0}, package = {0}, have = {0};
    char text[RUN_TEXT];
    bool ok = run_interpreter(path, &o, "relay", N_IN, in->at, &want, why) &&
              run_options(m, &how, N_IN, in->at, &package, why);
    if (ok && !all_near(&package, &want, 1, text))
        ok = run_fail(why, "package: %.900s", text);
    for (int s = 0; ok && s < 3; s++) {
        ok = run_interpreter(path, &o, stages[s], N_IN, in->at, &have, why);
        if (ok && !all_near(&have, &want, 1, text))
            ok = run_fail(why, "%s: %.900s", stages[s], text);
        if (ok && s == 2 && !same_bits(&have, &package, text))
            ok = run_fail(why, "flat against the package: %.900s", text);
        values_free(&have);
    }
    values_free(&want);
    values_free(&package);
    return ok;
}

static bool one_program(uint64_t seed, random_control *g, char *why)
{
    static inputs in;
    char path[64];
    tnr_module *m = NULL;
    bool symbolic = seed % 2;
    int level = seed % 8 < 5 ? 3 : (int)(seed % 8 - 5);
    random_control_make(g, seed, symbolic ? "n" : "3");
    snprintf(path, sizeof path, "control-%d.relay", (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(tn_buf_cstr(&g->text), f);
    assert_int_equal(fclose(f), 0);
    bool ok = run_compile(path, &(tenon_options){.size = sizeof(tenon_options), .opt_level = level}, &m, why);
    for (int i = 0; ok && i < (symbolic ? 2 : 1); i++) {
        inputs_make(&in, seed, symbolic ? i ? 2 + (int64_t)(seed % 6) : 1 : 3);
        ok = one_run(path, m, level, &in, (seed + (uint64_t)i) % 2, why);
    }
    tnr_module_release(m);
    unlink(path);
    return ok;
}

static void all_stages_compute_the_same(void **state)
{
    (void)state;
    static random_control g;
    uint64_t n = RUN_SANITIZED ? SEEDS_SANITIZED : getenv("TENON_SLOW") ? SEEDS_SLOW : SEEDS;
    int failed = 0;
    for (uint64_t seed = only ? only_seed : 0; seed < (only ? only_seed + 1 : n); seed++) {
        char why[RUN_TEXT];
        if (!one_program(seed, &g, why)) {
            print_error("seed %llu: %s\n%s\n", (unsigned long long)seed, why, tn_buf_cstr(&g.text));
            failed++;
        }
        tn_buf_deinit(&g.text);
    }
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_stages_compute_the_same)};
    only = argc > 1;
    only_seed = only ? strtoull(argv[1], NULL, 10) : 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
