/* Random small networks (random_model.h), static and with a symbolic batch: what the LLVM package computes is what the
 * Relay interpreter computes operator by operator, within RUN_TOLERANCE; both executors, some by the interpreter on
 * flat TIR and some C packages give the same bits. Some are compiled in plainer forms, too. A failure prints the seed
 * and the network.
 *
 * Arguments: a seed, to run it alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "e2e/run.h"
#include "e2e/random_model.h"
#include "onnx/model.h"

enum { SEEDS = 100, SEEDS_SANITIZED = 20, SEEDS_SLOW = 3000 };

static uint64_t only_seed;
static bool only;

static tenon_tensor random_input(model *m, const random_model *g, int64_t n, tn_rng *r)
{
    const shape *s = &g->value[0];
    tenon_tensor t = {.name = "v0", .code = 2, .bits = 32, .ndim = s->ndim, .shape = {n}};
    for (int d = 1; d < s->ndim; d++)
        t.shape[d] = s->dim[d];
    t.bytes = (size_t)(n * elements(s)) * 4;
    float *x = tn_arena_alloc(&m->arena, t.bytes, 64);
    for (int64_t i = 0; i < n * elements(s); i++)
        x[i] = (float)(2 * tn_rng_unit(r) - 1);
    t.data = x;
    return t;
}

/* A module of the network for another target, or its flat TIR: the same bits as `want`. */
static bool same_by_c(const char *path, const tenon_tensor *in, const values *want, char *why)
{
    tnr_module *c = NULL;
    values have = {0};
    bool ok =
        run_compile(path, &(tenon_options){.size = sizeof(tenon_options), .target = "c", .opt_level = 3}, &c,
                    why) &&
        run_module(c, TNR_EXECUTOR_AOT, 1, 1, in, &have, why) && same_bits(&have, want, why);
    values_free(&have);
    tnr_module_release(c);
    return ok;
}

static bool same_by_flat(const char *path, const tenon_tensor *in, const values *want, char *why)
{
    values have = {0};
    bool ok = run_interpreter(path, &(tenon_options){.size = sizeof(tenon_options), .opt_level = 3}, "flat",
                              1, in, &have, why) &&
              same_bits(&have, want, why);
    values_free(&have);
    return ok;
}

/* The kernels in a plainer form, as loops and with every operator apart: near `want`. */
static bool near_in_form(const char *path, bool apart, const tenon_tensor *in, const values *want, char *why)
{
    const char *const forms[] = {apart ? "tenon.refuse_forms=2" : "tenon.refuse_forms=1", NULL};
    tnr_module *m = NULL;
    values have = {0};
    bool ok = run_compile(
                  path, &(tenon_options){.size = sizeof(tenon_options), .opt_level = 3, .pass_config = forms},
                  &m, why) &&
              run_module(m, TNR_EXECUTOR_AOT, 1, 1, in, &have, why) && all_near(&have, want, 1, why);
    values_free(&have);
    tnr_module_release(m);
    return ok;
}

static bool one_batch(tnr_module *m, const char *path, const tenon_tensor *in, uint64_t seed, char *why)
{
    values want = {0}, have = {0}, again = {0};
    tenon_options o = {.size = sizeof(tenon_options), .opt_level = 3};
    bool ok = run_interpreter(path, &o, "relay", 1, in, &want, why) &&
              run_module(m, TNR_EXECUTOR_AOT, 2, 1, in, &have, why) && all_near(&have, &want, 1, why);
    if (ok && tnr_module_has_executor(m, TNR_EXECUTOR_GRAPH)) {
        ok = run_module(m, TNR_EXECUTOR_GRAPH, 1, 1, in, &again, why) && same_bits(&again, &have, why);
        values_free(&again);
    }
    if (ok && seed % 5 == 0)
        ok = same_by_flat(path, in, &have, why);
    if (ok && seed % 25 == 0)
        ok = same_by_c(path, in, &have, why);
    if (ok && seed % 8 == 3)
        ok = near_in_form(path, seed % 16 == 3, in, &want, why);
    values_free(&want);
    values_free(&have);
    return ok;
}

/* Two networks in three have a symbolic batch; they run with 1 and with another number. */
static bool one_network(uint64_t seed, random_model *g, char *why)
{
    static const char *const batches[] = {"1", "3", "N", "N", "N", "N"};
    model m;
    char path[64];
    tnr_module *module = NULL;
    tn_rng r = {seed + 1};
    const char *batch = batches[seed % 6];
    model_init(&m);
    random_model_make(g, seed, batch);
    tn_buf bytes = write_model(tn_buf_cstr(&g->text));
    snprintf(path, sizeof path, "random-%d.onnx", (int)getpid());
    assert_int_equal(tn_file_write(&m.ctx, path, bytes.at, bytes.n), TN_OK);
    bool ok =
        run_compile(path, &(tenon_options){.size = sizeof(tenon_options), .opt_level = 3}, &module, why);
    for (int i = 0; ok && i < (*batch == 'N' ? 2 : 1); i++) {
        int64_t n = *batch == 'N' ? (i ? 2 + (int64_t)tn_rng_below(&r, 20) : 1) : *batch - '0';
        tenon_tensor in = random_input(&m, g, n, &r);
        ok = one_batch(module, path, &in, seed + (uint64_t)i, why);
    }
    tnr_module_release(module);
    unlink(path);
    tn_buf_deinit(&bytes);
    model_deinit(&m);
    return ok;
}

static void packages_compute_what_relay_means(void **state)
{
    (void)state;
    uint64_t n = RUN_SANITIZED ? SEEDS_SANITIZED : getenv("TENON_SLOW") ? SEEDS_SLOW : SEEDS;
    int failed = 0;
    for (uint64_t seed = only ? only_seed : 0; seed < (only ? only_seed + 1 : n); seed++) {
        random_model g;
        char why[RUN_TEXT];
        if (!one_network(seed, &g, why)) {
            print_error("seed %llu: %s\n%s\n", (unsigned long long)seed, why, tn_buf_cstr(&g.text));
            failed++;
        }
        tn_buf_deinit(&g.text);
    }
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(packages_compute_what_relay_means)};
    only = argc > 1;
    only_seed = only ? strtoull(argv[1], NULL, 10) : 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
