/* dft against its sum in double, of every kind of length, as it is and as lists of rows side by side; linear attention
 * against its recurrence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "machine/machine.h"
#include "numeric/run.h"
#include "op/nn/nn.h"
#include "op/signal/signal.h"
#include "schedule/space.h"
#include "target/target.h"

enum { MAX_N = 64, MAX_ROWS = 18 };
static const double pi = 3.14159265358979323846;

typedef struct row {
    int rows, given, n;
    bool is_complex, inverse, onesided;
} row;

/* clang-format off */
static const row rows[] = { /* given: elements of a row, which is cut or filled up to n */
    {1,  1,  1,  false, false, false}, {3,  2,  2,  true,  false, false}, {2,  8,  8,  false, false, true},
    {17, 16, 16, true,  false, false}, {18, 64, 64, false, false, true},  {5,  12, 12, true,  true,  false},
    {2,  30, 30, false, false, false}, {1,  13, 13, true,  false, false}, {3,  20, 16, false, false, true},
    {2,  9,  15, true,  true,  false}, {4,  7,  12, true,  true,  true},  {1,  33, 64, true,  true,  true},
};
/* clang-format on */

static void fill(tn_rng *r, float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(tn_rng_unit(r) * 2 - 1);
}

/* Part of element k of a row as the transform sees it: cut, filled up, or completed to a real result's spectrum. */
static double element(const row *w, const float *x, int k, int part)
{
    int parts = w->is_complex ? 2 : 1;
    bool upper = w->inverse && w->onesided && k > w->n / 2;
    k = upper ? w->n - k : k;
    if (k >= w->given || part >= parts)
        return 0;
    double v = (double)x[k * parts + part];
    return upper && part ? -v : v;
}

static void reference(const row *w, const float *x, double out[2 * MAX_N])
{
    for (int k = 0; k < w->n; k++) {
        double re = 0, im = 0, sign = w->inverse ? 1 : -1;
        for (int i = 0; i < w->n; i++) {
            double angle = sign * 2 * pi * (double)(i * k % w->n) / w->n, c = cos(angle), s = sin(angle);
            double a = element(w, x, i, 0), b = element(w, x, i, 1);
            re += a * c - b * s;
            im += a * s + b * c;
        }
        out[2 * k] = w->inverse ? re / w->n : re;
        out[2 * k + 1] = w->inverse ? im / w->n : im;
    }
}

/* Flat code of the schedule in which so many rows are lanes; 0: the function as it is. */
static tn_func *with_lanes(env *e, tn_func *f, int lanes)
{
    tn_machine m;
    tn_sched s;
    tn_flat flat;
    tn_picks picks = {0};
    tn_space space = {&tn_rules_generator, f, &m, 0};
    const char *root = getenv("TENON_SOURCE_DIR");
    if (!lanes)
        return f;
    REQUIRE(e, tn_machine_read(&e->ctx, tn_arena_printf(&e->arena, "%s/tests/machines/avx512.json", root),
                               &m) == TN_OK);
    tn_picks_set(&picks, &e->arena, "dft.lanes", (tn_choice){NULL, lanes});
    REQUIRE(e, tn_explore(&space, &picks, &e->arena, &e->pool, &s) == TN_DONE);
    REQUIRE(e, tn_func_verify(s.func) == TN_OK);
    REQUIRE(e, tn_lower(s.func, &m, &tn_pipeline_cpu, &flat) == TN_OK);
    REQUIRE(e, tn_func_verify(flat.func) == TN_OK);
    return flat.func;
}

static void transform(const row *w, const float *x, const float *table, int lanes, float *got)
{
    env e;
    env_init(&e);
    const char *in[] = {tn_arena_printf(&e.arena, "float32 m %d %d", w->given, w->is_complex ? 2 : 1),
                        tn_arena_printf(&e.arena, "float32 %d 2", w->n)};
    tn_node *n = node_of(&e, &tn_op_dft, 2, in,
                         tn_arena_printf(&e.arena, "inverse=%s, onesided=%s", w->inverse ? "True" : "False",
                                         w->onesided ? "True" : "False"));
    REQUIRE(&e, n);
    void *const arg[] = {(void *)(uintptr_t)x, (void *)(uintptr_t)table, got};
    REQUIRE(&e, tn_func_run(with_lanes(&e, func_of(&e, n), lanes), arg, (const int64_t[]){w->rows}) == TN_OK);
    env_deinit(&e);
}

static void check_row(const row *w, const float *x, int lanes, const float *got)
{
    int count = w->onesided && !w->inverse ? w->n / 2 + 1 : w->n, parts = w->inverse && w->onesided ? 1 : 2;
    for (int m = 0; m < w->rows; m++) {
        double want[2 * MAX_N];
        reference(w, x + m * w->given * (w->is_complex ? 2 : 1), want);
        for (int k = 0; k < count * parts; k++) {
            double have = (double)got[m * count * parts + k], should = want[parts == 1 ? 2 * k : k];
            if (!(fabs(have - should) <= 1e-5))
                fail_msg("case %zu, %d lanes, row %d, element %d: %g instead of %g", (size_t)(w - rows),
                         lanes, m, k, have, should);
        }
    }
}

static void transforms_are_their_sums(void **state)
{
    (void)state;
    static float x[MAX_ROWS * MAX_N * 2], table[MAX_N * 2], got[MAX_ROWS * MAX_N * 2];
    static const int lanes[] = {0, 1, 4, 16};
    for (size_t i = 0; i < sizeof rows / sizeof *rows * 4; i++) {
        const row *w = &rows[i / 4];
        tn_rng r = {11};
        fill(&r, x, sizeof x / sizeof *x);
        for (int k = 0; k < w->n; k++) {
            table[2 * k] = (float)cos(2 * pi * k / w->n);
            table[2 * k + 1] = (float)sin(2 * pi * k / w->n);
        }
        transform(w, x, table, lanes[i % 4], got);
        check_row(w, x, lanes[i % 4], got);
    }
}

/* state = state exp(decay) + key (beta (value - state^T key)); result = query^T state */
static void linear_attention_follows_its_recurrence(void **state)
{
    (void)state;
    enum { HEADS = 2, STEPS = 3, KEYS = 4, VALUES = 5, GROUP = 2, ROWS = STEPS * GROUP + KEYS };
    static const char *const in[] = {"float32 1 2 6 4", "float32 1 2 3 4", "float32 1 2 3 5",
                                     "float32 1 2 4 5", "float32 1 2 3 4", "float32 1 1 3 1"};
    static float q[HEADS * STEPS * GROUP * KEYS], k[HEADS * STEPS * KEYS], v[HEADS * STEPS * VALUES],
        past[HEADS * KEYS * VALUES], decay[HEADS * STEPS * KEYS], beta[STEPS], got[HEADS * ROWS * VALUES];
    float *const data[] = {q, k, v, past, decay, beta};
    const size_t n[] = {sizeof q, sizeof k, sizeof v, sizeof past, sizeof decay, sizeof beta};
    tn_rng r = {5};
    env e;
    env_init(&e);
    for (int i = 0; i < 6; i++)
        fill(&r, data[i], n[i] / sizeof(float));
    tn_node *node = node_of(&e, &tn_op_nn_linear_attention, 6, in, "scale=0.5");
    REQUIRE(&e, node);
    run_node(&e, node, (const void *const *)data, got, NULL);
    for (int h = 0; h < HEADS; h++) {
        double s[KEYS][VALUES];
        for (int i = 0; i < KEYS * VALUES; i++)
            s[i / VALUES][i % VALUES] = (double)past[h * KEYS * VALUES + i];
        for (int t = 0; t < STEPS; t++) {
            const float *key = k + (h * STEPS + t) * KEYS;
            for (int i = 0; i < KEYS * VALUES; i++)
                s[i / VALUES][i % VALUES] *= exp((double)decay[(h * STEPS + t) * KEYS + i / VALUES]);
            for (int m = 0; m < VALUES; m++) {
                double kept = 0;
                for (int i = 0; i < KEYS; i++)
                    kept += s[i][m] * (double)key[i];
                double write = (double)beta[t] * ((double)v[(h * STEPS + t) * VALUES + m] - kept);
                for (int i = 0; i < KEYS; i++)
                    s[i][m] += (double)key[i] * write;
                for (int g = 0; g < GROUP; g++) {
                    double want = 0;
                    for (int i = 0; i < KEYS; i++)
                        want += 0.5 * (double)q[((h * STEPS + t) * GROUP + g) * KEYS + i] * s[i][m];
                    assert_true(fabs((double)got[(h * ROWS + t * GROUP + g) * VALUES + m] - want) < 1e-5);
                }
            }
        }
        for (int i = 0; i < KEYS * VALUES; i++)
            assert_true(fabs((double)got[(h * ROWS + STEPS * GROUP) * VALUES + i] -
                             s[i / VALUES][i % VALUES]) < 1e-5);
    }
    env_deinit(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_are_their_sums),
        cmocka_unit_test(linear_attention_follows_its_recurrence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
