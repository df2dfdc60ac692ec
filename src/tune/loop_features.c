/* Features of loops: the sets `itervar` and `curve`. */
#include "tune/feature_sets.h"
#include "tune/nest.h"

#include <math.h>
#include <string.h>

/* What a loop and those inside of it do to an access. */
typedef struct touch {
    double count, reuse; /* products of the turns of those that move it, and of the others */
} touch;

static touch touch_of(const tn_nest *x, const tn_access *a, int loop)
{
    touch t = {1, 1};
    for (int l = loop; l < x->n; l++)
        *(tn_access_moves(a, l) ? &t.count : &t.reuse) *= x->extent[l];
    return t;
}

/* Elements between two turns; of what lies anywhere, those of the buffer. */
static double stride(const tn_access *a, int loop)
{
    double inner = 1, sum = 0;
    for (int d = a->n_dim - 1; d >= 0; d--) {
        sum += (a->step[d][loop] == HUGE_VALF ? a->extent[d] : a->step[d][loop]) * inner;
        inner *= a->extent[d];
    }
    return sum;
}

/* ---- loops ---- */

static bool count_operation(const tn_expr *e, void *user)
{
    float *out = user;
    if (tn_dtype_is_index(e->dtype)) /* where a load reads */
        return true;
    switch (e->kind) {
    case TN_E_ADD:
    case TN_E_SUB:
    case TN_E_MIN:
    case TN_E_MAX: out[TN_ITERVAR_ADDS]++; break;
    case TN_E_MUL: out[TN_ITERVAR_MULS]++; break;
    case TN_E_DIV:
    case TN_E_FLOORDIV:
    case TN_E_FLOORMOD:
    case TN_E_TRUNCDIV:
    case TN_E_TRUNCMOD: out[TN_ITERVAR_DIVS]++; break;
    case TN_E_FMA:
        out[TN_ITERVAR_ADDS]++;
        out[TN_ITERVAR_MULS]++;
        break;
    default: break;
    }
    return true;
}

static void describe_loop(const tn_nest *x, int loop, int level, float out[TN_N_ITERVAR_OF_LOOP])
{
    double around = 1, inside = 1;
    for (int l = 0; l < x->n; l++) {
        around *= l <= loop ? x->extent[l] : 1;
        inside *= l >= loop ? x->extent[l] : 1;
    }
    out[TN_ITERVAR_LENGTH] = tn_amount(x->extent[loop]);
    out[TN_ITERVAR_LEVEL] = (float)level;
    out[TN_ITERVAR_TOPDOWN] = tn_amount(around);
    out[TN_ITERVAR_BOTTOMUP] = tn_amount(inside);
    out[TN_ITERVAR_SERIAL + x->loop[loop]->u.loop.kind] = 1;
    for (int i = 0; i < x->n_access && i < TN_ITERVAR_BUFFERS; i++) {
        float *to = out + TN_N_ITERVAR_LOOP + i * TN_N_ITERVAR_BUFFER;
        const touch t = touch_of(x, &x->access[i], loop);
        to[TN_ITERVAR_STRIDE] = tn_amount(stride(&x->access[i], loop));
        to[TN_ITERVAR_COUNT] = tn_amount(t.count);
        to[TN_ITERVAR_REUSE] = tn_amount(t.reuse);
    }
}

static void describe_store(const tn_nest *x, float out[TN_N_ITERVAR_OF_STORE])
{
    int level = 0, n = 0;
    (void)tn_each(x->store->u.store.value, count_operation, out);
    for (int l = 0; l < x->n; l++)
        level += x->extent[l] > 1;
    for (int l = x->n - 1; l >= 0 && n < TN_ITERVAR_LOOPS; l--)
        if (x->extent[l] > 1)
            describe_loop(x, l, level--, out + TN_N_ITERVAR_STORE + n++ * TN_N_ITERVAR_OF_LOOP);
}

void tn_itervar_of(const tn_featured *f, float out[TN_N_ITERVAR])
{
    tn_nest most[TN_ITERVAR_STORES];
    memset(out, 0, TN_N_ITERVAR * sizeof *out);
    (void)tn_nests_of(f->func, f->sym, TN_ITERVAR_STORES, most);
    for (int k = 0; k < TN_ITERVAR_STORES && most[k].store; k++)
        describe_store(&most[k], out + k * TN_N_ITERVAR_OF_STORE);
}

/* ---- curves ---- */

/* x of the points does not fall. */
static void sample(int n, const double x[], const double y[], float out[2 * TN_CURVE_SAMPLES])
{
    for (int i = 0; i < TN_CURVE_SAMPLES; i++) {
        int k = n - 1;
        while (k > 0 && x[k] > i + 1e-6)
            k--;
        out[2 * i] = (float)y[k];
        out[2 * i + 1] = (float)(i - x[k]);
    }
}

/* A point for each loop, the innermost first, behind that of no loop. */
static void draw(const tn_nest *x, const tn_access *a, float out[TN_N_CURVE_OF_BUFFER])
{
    double count[TN_NEST_LOOPS + 1] = {0}, reuse[TN_NEST_LOOPS + 1] = {0}, turns[TN_NEST_LOOPS + 1] = {0};
    int n = 1;
    for (int l = x->n - 1; l >= 0; l--, n++) {
        const touch t = touch_of(x, a, l);
        count[n] = log2(t.count > 1 ? t.count : 1);
        reuse[n] = log2(t.reuse > 1 ? t.reuse : 1);
        turns[n] = count[n] + reuse[n];
    }
    sample(n, count, reuse, out + 2 * TN_CURVE_SAMPLES * TN_CURVE_REUSE_BY_COUNT);
    sample(n, reuse, count, out + 2 * TN_CURVE_SAMPLES * TN_CURVE_COUNT_BY_REUSE);
    sample(n, count, turns, out + 2 * TN_CURVE_SAMPLES * TN_CURVE_TURNS_BY_COUNT);
    sample(n, turns, count, out + 2 * TN_CURVE_SAMPLES * TN_CURVE_COUNT_BY_TURNS);
}

void tn_curve_of(const tn_featured *f, float out[TN_N_CURVE])
{
    tn_nest most;
    memset(out, 0, TN_N_CURVE * sizeof *out);
    (void)tn_nests_of(f->func, f->sym, 1, &most);
    for (int i = 0; most.store && i < most.n_access && i < TN_CURVE_BUFFERS; i++)
        draw(&most, &most.access[i], out + i * TN_N_CURVE_OF_BUFFER);
}
