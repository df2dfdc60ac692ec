/* Proposers: each says which point of a space to try next, from what is known of others. */
#include "tune/search.h"

#include <string.h>

enum { ELITE = 32, FEW = 8 };

static bool propose_random(const tn_task_view *v, tn_arena *arena, tn_picks *out)
{
    (void)arena;
    *out = (tn_picks){.random = v->rng};
    return true;
}

static bool propose_in_order(const tn_task_view *v, tn_arena *arena, tn_picks *out)
{
    (void)arena;
    if (v->more)
        *out = *v->next;
    return v->more;
}

/* The better of two among the elite. */
static const tn_point *parent(const tn_task_view *v)
{
    uint64_t n = v->n < ELITE ? v->n : ELITE, a = tn_rng_below(v->rng, n), b = tn_rng_below(v->rng, n);
    return v->best[a < b ? a : b];
}

static tn_picks picks_of(const tn_point *p, tn_arena *arena)
{
    const tn_sched s = {.picked = {.at = (tn_pick *)(uintptr_t)p->pick, .n = p->n}};
    return tn_picks_of(&s.picked, arena);
}

/* p with what the change makes of it. */
static bool change(const tn_change *c, const tn_point *p, tn_rng *r, tn_arena *arena, tn_picks *out)
{
    uint32_t *index = TN_NEW_N(arena, uint32_t, p->n);
    bool changed = false;
    for (uint32_t i = 0; i < p->n; i++)
        index[i] = p->pick[i].index;
    *out = picks_of(p, arena);
    if (!c->make(c->user, tn_rng_next(r), p, index))
        return false;
    for (uint32_t i = 0; i < p->n; i++)
        if (index[i] != p->pick[i].index) {
            TN_ASSERT(index[i] < p->pick[i].n);
            tn_picks_set(out, arena, p->pick[i].name, p->pick[i].candidate[index[i]]);
            changed = true;
        }
    return changed;
}

/* That a change of p is one of a part's: of those that it has picks of. */
static double odds_of_parts(const tn_changes *c, const tn_point *p)
{
    bool has[TN_N_PART] = {false};
    double sum = 0;
    for (uint32_t i = 0; i < p->n; i++)
        has[tn_pick_part(p->pick[i].name)] = true;
    for (int k = 0; k < TN_N_PART && c->odds; k++)
        sum += has[k] ? c->odds[k] : 0;
    return c->odds ? sum : 1;
}

/* p with one pick changed, or changed by the caller. */
static bool mutate(const tn_task_view *v, const tn_point *p, tn_arena *arena, tn_picks *out)
{
    const tn_changes *c = v->changes;
    const tn_sched s = {.picked = {.at = (tn_pick *)(uintptr_t)p->pick, .n = p->n}};
    double sum = odds_of_parts(c, p), at;
    for (uint32_t i = 0; i < c->n; i++)
        sum += c->at[i].odds;
    at = c->n ? sum * tn_rng_unit(v->rng) : 0;
    for (uint32_t i = 0; i < c->n; i++) {
        if (at < c->at[i].odds)
            return change(&c->at[i], p, v->rng, arena, out);
        at -= c->at[i].odds;
    }
    return tn_picks_mutate(&s, c->odds, v->rng, arena, out);
}

/* Children of two good points, most of them with one pick changed; among few points random ones. Picks that a changed
 * one brings along are random, too. */
static bool propose_children(const tn_task_view *v, tn_arena *arena, tn_picks *out)
{
    if (v->n < FEW || tn_rng_below(v->rng, 8) == 0)
        return propose_random(v, arena, out);
    const tn_point *a = parent(v), *b = parent(v);
    if (a != b && tn_rng_below(v->rng, 2)) {
        const tn_picks x = picks_of(a, arena), y = picks_of(b, arena);
        *out = tn_picks_join(&x, &y, v->rng, arena);
    } else if (!mutate(v, a, arena, out)) {
        return propose_random(v, arena, out);
    }
    out->random = v->rng;
    return true;
}

/* What proposes, and learns by which features and which loss. The learned ones are called as AutoTVM calls them; xgb
 * xgb_rank and xgb_rank_binary have features of Tenon's own. */
#define RANDOM false, NULL, TN_LOSS_SQUARES, propose_random
#define IN_ORDER true, NULL, TN_LOSS_SQUARES, propose_in_order
#define CHILDREN false, NULL, TN_LOSS_SQUARES, propose_children
#define LEARNED(set, loss) false, &tn_feature_sets[TN_FEATURES_##set], TN_LOSS_##loss, propose_children
/* clang-format off */
const tn_proposer tn_proposers[] = {
    {"xgb",                     "as ga, but tries first what a model takes to be fast", LEARNED(OWN, SQUARES)},
    {"ga",                      "changes and crosses the fastest schedules so far",     CHILDREN},
    {"random",                  "any schedule of the space",                            RANDOM},
    {"gridsearch",              "the schedules of the space in order",                  IN_ORDER},
    {"xgb_itervar",             "as xgb, by each loop and what it touches",             LEARNED(ITERVAR, SQUARES)},
    {"xgb_knob",                "as xgb, by the choices alone",                         LEARNED(KNOB, SQUARES)},
    {"xgb_curve",               "as xgb, by how often loops touch the same",            LEARNED(CURVE, SQUARES)},
    {"xgb_rank",                "as xgb, but learns the order alone",                   LEARNED(OWN, PAIRS)},
    {"xgb_rank_itervar",        "as xgb_itervar, but learns the order alone",           LEARNED(ITERVAR, PAIRS)},
    {"xgb_rank_knob",           "as xgb_knob, but learns the order alone",              LEARNED(KNOB, PAIRS)},
    {"xgb_rank_curve",          "as xgb_curve, but learns the order alone",             LEARNED(CURVE, PAIRS)},
    {"xgb_rank_binary",         "as xgb, but learns which are good alone",              LEARNED(OWN, GOOD)},
    {"xgb_rank_binary_itervar", "as xgb_itervar, but learns which are good alone",      LEARNED(ITERVAR, GOOD)},
    {"xgb_rank_binary_knob",    "as xgb_knob, but learns which are good alone",         LEARNED(KNOB, GOOD)},
    {"xgb_rank_binary_curve",   "as xgb_curve, but learns which are good alone",        LEARNED(CURVE, GOOD)},
};
/* clang-format on */
const size_t tn_n_proposers = sizeof tn_proposers / sizeof *tn_proposers;

const tn_proposer *tn_proposer_find(const char *name)
{
    for (size_t i = 0; i < tn_n_proposers; i++)
        if (strcmp(tn_proposers[i].name, name) == 0)
            return &tn_proposers[i];
    return NULL;
}
