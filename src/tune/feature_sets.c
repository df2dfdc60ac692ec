/* Sets of features, and that of choices. */
#include "tune/feature_sets.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

/* The column of a name; TN_N_KNOBS: there is no room for another one. */
static uint32_t column(tn_knobs *k, uint64_t name)
{
    for (uint32_t i = 0; i < k->n; i++)
        if (k->name[i] == name)
            return i;
    if (k->n == TN_N_KNOBS)
        return TN_N_KNOBS;
    k->name[k->n] = name;
    return k->n++;
}

static void set(const tn_featured *x, const char *name, uint32_t part, float value, float out[])
{
    uint32_t at = column(x->knobs, tn_hash_bytes(name, strlen(name), part));
    if (at < TN_N_KNOBS)
        out[at] = value;
}

/* "4x16". */
static bool is_factors(const char *word)
{
    size_t n = strspn(word, "0123456789");
    while (n > 0 && word[n] == 'x') {
        word += n + 1;
        n = strspn(word, "0123456789");
    }
    return n > 0 && word[n] == 0;
}

/* A column each. */
static void set_factors(const tn_featured *x, const tn_pick *p, float out[])
{
    const char *at = p->candidate[p->index].word;
    for (uint32_t part = 0; *at; part++) {
        char *end;
        set(x, p->name, part, (float)strtol(at, &end, 10), out);
        at = *end ? end + 1 : end;
    }
}

/* A choice is its number, those of its word, or that of the candidate. */
static void knobs_of(const tn_featured *x, float out[])
{
    for (uint32_t i = 0; i < TN_N_KNOBS; i++)
        out[i] = -1;
    for (uint32_t i = 0; i < x->n_pick; i++) {
        const tn_pick *p = &x->pick[i];
        const tn_choice *c = &p->candidate[p->index];
        if (!c->word)
            set(x, p->name, 0, (float)c->number, out);
        else if (is_factors(c->word))
            set_factors(x, p, out);
        else
            set(x, p->name, 0, (float)p->index, out);
    }
}

static void own_of(const tn_featured *x, float out[]) { tn_features_of(x->func, x->sym, x->machine, out); }

/* clang-format off */
const tn_feature_set tn_feature_sets[TN_N_FEATURE_SETS] = {
    [TN_FEATURES_OWN]     = {"store",   "the stores that run most often",         TN_N_FEATURES, false, own_of},
    [TN_FEATURES_ITERVAR] = {"itervar", "each loop, and what it does to buffers", TN_N_ITERVAR,  false, tn_itervar_of},
    [TN_FEATURES_KNOB]    = {"knob",    "the choices themselves",                 TN_N_KNOBS,    true,  knobs_of},
    [TN_FEATURES_CURVE]   = {"curve",   "how often loops touch what they touch",  TN_N_CURVE,    false, tn_curve_of},
};
/* clang-format on */
