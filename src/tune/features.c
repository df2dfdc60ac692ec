/* Features of scheduled functions. */
#include "tune/features.h"

#include "machine/machine.h"
#include "tune/nest.h"

#include <math.h>
#include <string.h>

/* What comes from beyond a cache: the outermost loop whose boxes fit keeps them there. */
static double traffic(const tn_nest *x, double cache)
{
    double around = 1;
    int from = 0;
    for (; from < x->n && tn_nest_touched(x, from) > cache; from++)
        around *= x->extent[from];
    return around * tn_nest_touched(x, from);
}

static double nearby(const tn_nest *x, double turns)
{
    int from = x->n;
    for (double inside = 1; from > 0 && inside < turns;)
        inside *= x->extent[--from];
    return tn_nest_touched(x, from);
}

/* ---- a store ---- */

static double turns_of(const tn_nest *x, enum tn_loop_kind kind)
{
    double n = 1;
    for (int l = 0; l < x->n; l++)
        n *= x->loop[l]->u.loop.kind == kind ? x->extent[l] : 1;
    return n;
}

/* The innermost serial loop; -1: none. */
static int inner_loop(const tn_nest *x)
{
    int l = x->n - 1;
    while (l >= 0 && (x->loop[l]->u.loop.kind != TN_LOOP_SERIAL || x->extent[l] <= 1))
        l--;
    return l;
}

/* Times that a turn of the loop before number `from` makes the access anew: for all loops inside that move it. */
static double times(const tn_nest *x, const tn_access *a, int from, bool lanes)
{
    double n = 1;
    for (int l = from; l < x->n; l++)
        n *= tn_access_moves(a, l) && (lanes || x->loop[l]->u.loop.kind != TN_LOOP_VECTOR) ? x->extent[l] : 1;
    return n;
}

/* How the lanes lie: 0 one element, 1 neighbours, 2 elsewhere. */
static int lanes_of(const tn_nest *x, const tn_access *a)
{
    int how = 0;
    for (int l = 0; l < x->n; l++) {
        if (x->loop[l]->u.loop.kind != TN_LOOP_VECTOR || x->extent[l] <= 1)
            continue;
        for (int d = 0; d < a->n_dim; d++)
            if (a->step[d][l] > 0)
                how = d == a->n_dim - 1 && a->step[d][l] == 1 && how < 2 ? 1 : 2;
    }
    return how;
}

static void count_accesses(const tn_nest *x, int inner, float out[])
{
    double count[3] = {0};
    const tn_access *to = &x->access[0];
    bool fixed = true;
    for (int i = 0; i < x->n_access; i++) {
        const tn_access *a = &x->access[i];
        bool one = a->buffer == to->buffer; /* what is added to, too */
        for (int d = 0; d < a->n_dim && one && inner >= 0; d++)
            fixed &= a->step[d][inner] == 0;
        int how = lanes_of(x, a);
        if (!one || how == 2)
            count[how] += times(x, a, inner + 1, false);
    }
    out[TN_FEATURE_REDUCES] = inner >= 0 && fixed;
    out[TN_FEATURE_RESULTS] = tn_amount(times(x, to, inner + 1, true));
    out[TN_FEATURE_SPLATS] = tn_amount(count[0]);
    out[TN_FEATURE_VECTORS] = tn_amount(count[1]);
    out[TN_FEATURE_GATHERS] = tn_amount(count[2]);
}

static void describe(const tn_nest *x, const struct tn_machine *m, float out[])
{
    int inner = inner_loop(x), loops = 0;
    for (int l = 0; l < x->n; l++)
        loops += x->extent[l] > 1;
    double l1 = traffic(x, (double)m->l1_bytes), l2 = traffic(x, (double)m->l2_bytes);
    out[TN_FEATURE_TURNS] = tn_amount(x->turns);
    out[TN_FEATURE_PARALLEL] = tn_amount(turns_of(x, TN_LOOP_PARALLEL));
    out[TN_FEATURE_LANES] = tn_amount(turns_of(x, TN_LOOP_VECTOR));
    out[TN_FEATURE_UNROLLED] = tn_amount(turns_of(x, TN_LOOP_UNROLLED));
    out[TN_FEATURE_TENSOR] = tn_amount(turns_of(x, TN_LOOP_TENSOR));
    out[TN_FEATURE_INNER] = tn_amount(inner >= 0 ? x->extent[inner] : 1);
    count_accesses(x, inner, out);
    out[TN_FEATURE_TURN_BYTES] = tn_amount(tn_nest_touched(x, inner + 1));
    out[TN_FEATURE_LOOP_BYTES] = tn_amount(tn_nest_touched(x, inner < 0 ? 0 : inner));
    out[TN_FEATURE_BYTES] = tn_amount(tn_nest_touched(x, 0));
    out[TN_FEATURE_L1_BYTES] = tn_amount(l1);
    out[TN_FEATURE_L2_BYTES] = tn_amount(l2);
    out[TN_FEATURE_L1_REUSE] = tn_amount(x->turns) - tn_amount(l1);
    out[TN_FEATURE_NEAR_256] = tn_amount(nearby(x, 256));
    out[TN_FEATURE_NEAR_4096] = tn_amount(nearby(x, 4096));
    out[TN_FEATURE_NEAR_65536] = tn_amount(nearby(x, 65536));
    out[TN_FEATURE_LOOPS] = (float)loops;
}

/* ---- the function ---- */

static double buffers(const tn_func *f, const int64_t sym[], enum tn_scope scope, bool bytes)
{
    double sum = 0;
    for (uint32_t i = 0; i < f->n_buffer; i++) {
        const tn_buffer *b = &f->buffer[i];
        double n = bytes ? tn_dtype_bytes(b->dtype) : 1;
        if (b->scope != scope || b->param >= 0)
            continue;
        for (int d = 0; d < b->ndim; d++)
            n *= tn_nest_value(f, sym, b->dim[d]);
        sum += n;
    }
    return sum;
}

void tn_features_of(const tn_func *f, const int64_t sym[], const struct tn_machine *m,
                    float out[TN_N_FEATURES])
{
    tn_nest most[TN_FEATURE_STORES_SEEN];
    memset(out, 0, TN_N_FEATURES * sizeof *out);
    const tn_survey all = tn_nests_of(f, sym, TN_FEATURE_STORES_SEEN, most);
    double rest = all.turns;
    for (int k = 0; k < TN_FEATURE_STORES_SEEN && most[k].store; k++) {
        describe(&most[k], m, out + k * TN_N_STORE_FEATURES);
        rest -= most[k].turns;
    }
    out[TN_FEATURE_STORES] = (float)all.stores;
    out[TN_FEATURE_REST] = tn_amount(rest);
    out[TN_FEATURE_GLOBAL] = tn_amount(buffers(f, sym, TN_SCOPE_GLOBAL, true));
    out[TN_FEATURE_LOCAL] = tn_amount(buffers(f, sym, TN_SCOPE_LOCAL, true));
    out[TN_FEATURE_REGISTER] = tn_amount(buffers(f, sym, TN_SCOPE_REGISTER, false));
    out[TN_FEATURE_MASKS] = (float)all.masks;
    out[TN_FEATURE_PREFETCHES] = (float)all.prefetches;
}
