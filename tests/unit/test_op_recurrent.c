/* nn.recurrent against the equations of its cells in plain loops, in double: as the body says, and scheduled for a
 * machine in both ways, down to flat code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "machine/machine.h"
#include "numeric/run.h"
#include "op/nn/nn.h"
#include "schedule/space.h"
#include "target/target.h"

enum { MAX_STEPS = 5, MAX_BATCH = 5, MAX_UNITS = 20, MAX_GATES = 4 };

typedef struct row {
    const char *cell, *attrs;
    int steps, batch, units;
    bool states, peepholes, bias, lengths, symbolic;
} row;

/* clang-format off */
static const row rows[] = {
    {"rnn",  "",                                        3, 1, 4,  true,  false, false, false, false},
    {"rnn",  "activations=\"affine:0.5:0.1\", reverse=True", 4, 5, 20, true,  false, false, true,  false},
    {"gru",  "",                                        3, 2, 16, true,  false, false, false, false},
    {"gru",  "linear_before_reset=True, clip=0.4",      3, 3, 5,  true,  false, true,  true,  true},
    {"gru",  "reverse=True",                            5, 1, 20, false, false, false, true,  true},
    {"lstm", "",                                        4, 2, 16, false, false, false, false, true},
    {"lstm", "input_forget=True",                       3, 1, 3,  true,  true,  false, false, false},
    {"lstm", "reverse=True, clip=0.5",                  4, 3, 20, true,  true,  false, true,  false},
    {"lstm", "",                                        0, 3, 5,  true,  false, false, false, false},
    {"gru",  "",                                        0, 2, 17, true,  false, false, false, false},
};
/* clang-format on */

typedef struct data {
    float x[MAX_STEPS * MAX_BATCH * MAX_GATES * MAX_UNITS], r[MAX_GATES * MAX_UNITS * MAX_UNITS],
        h[MAX_BATCH * MAX_UNITS], c[MAX_BATCH * MAX_UNITS], peep[3 * MAX_UNITS], bias[MAX_UNITS];
    int32_t length[MAX_BATCH];
    float got[(MAX_STEPS + 2) * MAX_BATCH * MAX_UNITS]; /* the results, one after the other */
    double want[(MAX_STEPS + 2) * MAX_BATCH * MAX_UNITS];
} data;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double clipped(const tn_recurrent_attr *a, double x)
{
    return a->clip > 0 ? fmin(fmax(x, -a->clip), a->clip) : x;
}

/* h R^T of a gate at a unit; scale: what h is multiplied with, or NULL. */
static double product(const row *w, const data *d, const double *h, const double *scale, int gate, int u)
{
    double s = 0;
    for (int k = 0; k < w->units; k++)
        s += h[k] * (scale ? scale[k] : 1) * (double)d->r[(gate * w->units + u) * w->units + k];
    return s;
}

static void gru(const row *w, const tn_recurrent_attr *a, const data *d, const float *x, double *h)
{
    double z[MAX_UNITS], r[MAX_UNITS], n[MAX_UNITS];
    int k = w->units;
    for (int u = 0; u < k; u++) {
        z[u] = sigmoid(clipped(a, (double)x[u] + product(w, d, h, NULL, 0, u)));
        r[u] = sigmoid(clipped(a, (double)x[k + u] + product(w, d, h, NULL, 1, u)));
    }
    for (int u = 0; u < k; u++) {
        double bias = w->bias ? (double)d->bias[u] : 0;
        double s =
            a->linear_before_reset ? r[u] * (product(w, d, h, NULL, 2, u) + bias) : product(w, d, h, r, 2, u);
        n[u] = tanh(clipped(a, (double)x[2 * k + u] + s));
    }
    for (int u = 0; u < k; u++)
        h[u] = (1 - z[u]) * n[u] + z[u] * h[u];
}

static void lstm(const row *w, const tn_recurrent_attr *a, const data *d, const float *x, double *h,
                 double *c)
{
    double next[MAX_UNITS];
    int k = w->units;
    for (int u = 0; u < k; u++) {
        double s[4], p[3];
        for (int g = 0; g < 4; g++)
            s[g] = (double)x[g * k + u] + product(w, d, h, NULL, g, u);
        for (int g = 0; g < 3; g++)
            p[g] = w->peepholes ? (double)d->peep[g * k + u] : 0;
        double i = sigmoid(clipped(a, s[0] + p[0] * c[u]));
        double f = a->input_forget ? 1 - i : sigmoid(clipped(a, s[2] + p[2] * c[u]));
        c[u] = f * c[u] + i * tanh(clipped(a, s[3]));
        next[u] = sigmoid(clipped(a, s[1] + p[1] * c[u])) * tanh(c[u]);
    }
    memcpy(h, next, sizeof next);
}

static void rnn(const row *w, const tn_recurrent_attr *a, const data *d, const float *x, double *h)
{
    double next[MAX_UNITS];
    for (int u = 0; u < w->units; u++) {
        double s = clipped(a, (double)x[u] + product(w, d, h, NULL, 0, u));
        next[u] = a->activations[0] ? 0.5 * s + 0.1 : tanh(s);
    }
    memcpy(h, next, sizeof next);
}

static void reference(const row *w, const tn_recurrent_attr *a, int gates, data *d)
{
    for (int b = 0; b < w->batch; b++) {
        double h[MAX_UNITS] = {0}, c[MAX_UNITS] = {0};
        int length = w->lengths ? d->length[b] : w->steps;
        for (int u = 0; u < w->units && w->states; u++) {
            h[u] = (double)d->h[b * w->units + u];
            c[u] = (double)d->c[b * w->units + u];
        }
        for (int t = 0; t < w->steps; t++) {
            int at = t < length && a->reverse ? length - 1 - t : t;
            const float *x = d->x + (at * w->batch + b) * gates * w->units;
            if (t < length && gates == 4)
                lstm(w, a, d, x, h, c);
            else if (t < length && gates == 3)
                gru(w, a, d, x, h);
            else if (t < length)
                rnn(w, a, d, x, h);
            for (int u = 0; u < w->units; u++)
                d->want[(at * w->batch + b) * w->units + u] = t < length ? h[u] : 0;
        }
        for (int u = 0; u < w->units; u++) {
            d->want[(w->steps * w->batch + b) * w->units + u] = h[u];
            d->want[((w->steps + 1) * w->batch + b) * w->units + u] = c[u];
        }
    }
}

static void fill(tn_rng *r, float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)((double)tn_rng_below(r, 2001) / 1000 - 1);
}

static void fill_all(const row *w, data *d)
{
    tn_rng r = {7};
    memset(d, 0, sizeof *d);
    fill(&r, d->x, sizeof d->x / sizeof *d->x);
    fill(&r, d->r, sizeof d->r / sizeof *d->r);
    fill(&r, d->h, sizeof d->h / sizeof *d->h);
    fill(&r, d->c, sizeof d->c / sizeof *d->c);
    fill(&r, d->peep, sizeof d->peep / sizeof *d->peep);
    fill(&r, d->bias, sizeof d->bias / sizeof *d->bias);
    for (int b = 0; b < w->batch; b++)
        d->length[b] = w->steps ? 1 + b % w->steps : 0;
}

/* An operand, or None. */
static tn_value given(env *e, bool is, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *type = tn_arena_vprintf(&e->arena, fmt, ap);
    va_end(ap);
    return is ? operand(e, type) : (tn_value){0};
}

enum { AS_IT_IS, THROUGH, SHARED, WAYS }; /* rows as tasks through all steps; units as tasks in each */

static tn_func *scheduled(env *e, const tn_func *f, int way)
{
    tn_machine m;
    tn_sched s;
    tn_flat flat;
    tn_picks picks = {0};
    tn_space space = {&tn_rules_generator, f, &m, 0};
    const char *root = getenv("TENON_SOURCE_DIR");
    REQUIRE(e, tn_machine_read(&e->ctx, tn_arena_printf(&e->arena, "%s/tests/machines/avx512.json", root),
                               &m) == TN_OK);
    tn_picks_set(&picks, &e->arena, "rule", (tn_choice){"recurrence", 0});
    tn_picks_set(&picks, &e->arena, "first_state.through", (tn_choice){way == THROUGH ? "yes" : "no", 0});
    REQUIRE(e, tn_explore(&space, &picks, &e->arena, &e->pool, &s) == TN_DONE);
    REQUIRE(e, tn_func_verify(s.func) == TN_OK);
    REQUIRE(e, tn_lower(s.func, &m, &tn_pipeline_cpu, &flat) == TN_OK);
    REQUIRE(e, tn_func_verify(flat.func) == TN_OK);
    return flat.func;
}

static void run(env *e, const row *w, data *d, int gates, const tn_recurrent_attr *a, int way)
{
    const char *s = w->symbolic ? "s" : tn_arena_printf(&e->arena, "%d", w->steps),
               *b = w->symbolic ? "b" : tn_arena_printf(&e->arena, "%d", w->batch);
    tn_value in[7] = {given(e, true, "float32 %s %s %d", s, b, gates * w->units),
                      given(e, true, "float32 %d %d %d", gates, w->units, w->units),
                      given(e, w->states, "float32 %s %d", b, w->units),
                      given(e, w->states && gates == 4, "float32 %s %d", b, w->units),
                      given(e, w->peepholes, "float32 3 %d", w->units),
                      given(e, w->bias, "float32 %d", w->units),
                      given(e, w->lengths, "int32 %s", b)};
    void *const at[7] = {d->x, d->r, d->h, d->c, d->peep, d->bias, d->length}, *arg[10];
    tn_node *n = tn_make_call(&e->g, e->body, NULL, &tn_op_nn_recurrent, 7, in, a, NULL);
    REQUIRE(e, n);
    tn_te te;
    tn_tensor *t[7] = {0}, *out[3];
    int k = 0;
    tn_te_init(&te, &e->ctx, &e->arena, &e->pool, "f");
    for (int i = 0; i < 7; i++)
        if (in[i].def) {
            t[i] = tn_te_input(&te, tn_arena_printf(&e->arena, "p%d", i), tn_in_type(n, i));
            arg[k++] = at[i];
        }
    for (int i = 0; i < n->nout; i++)
        arg[k++] = d->got + (i ? w->steps + i - 1 : 0) * w->batch * w->units;
    REQUIRE(e, tn_define_node(&te, &e->g, n, t, out) == TN_OK);
    tn_func *f = tn_te_finish(&te, n->nout, out, NULL);
    REQUIRE(e, tn_func_verify(f) == TN_OK);
    if (way != AS_IT_IS)
        f = scheduled(e, f, way);
    REQUIRE(e, tn_func_run(f, arg, (const int64_t[]){w->steps, w->batch}) == TN_OK);
}

static void cells_follow_their_equations(void **state)
{
    (void)state;
    static data d;
    for (size_t i = 0; i < WAYS * sizeof rows / sizeof *rows; i++) {
        const row *w = &rows[i / WAYS];
        env e;
        env_init(&e);
        int gates = w->cell[0] == 'r' ? 1 : w->cell[0] == 'g' ? 3 : 4;
        const tn_recurrent_attr *a =
            attr_of(&e, &tn_op_nn_recurrent,
                    tn_arena_printf(&e.arena, "cell=\"%s\"%s%s", w->cell, w->attrs[0] ? ", " : "", w->attrs));
        fill_all(w, &d);
        reference(w, a, gates, &d);
        run(&e, w, &d, gates, a, (int)(i % WAYS));
        int n = (w->steps + (gates == 4 ? 2 : 1)) * w->batch * w->units;
        for (int k = 0; k < n; k++)
            if (!(fabs((double)d.got[k] - d.want[k]) <= 2e-5))
                fail_msg("row %zu, way %zu, element %d: %g instead of %g", i / WAYS, i % WAYS, k,
                         (double)d.got[k], d.want[k]);
        env_deinit(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cells_follow_their_equations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
