/* What the options say of a space as words: which parts of schedules a search leaves alone, how often it changes each
 * of the others, and near which numbers it begins. */
#include "driver/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tenon_part_name(size_t i, const char **out_doc)
{
    if (i >= TN_N_PART)
        return NULL;
    *out_doc = tn_parts[i].doc;
    return tn_parts[i].name;
}

static tn_status no_part(tn_tuning *t, const char *word, const char *instead)
{
    const char *all = "";
    for (int i = 0; i < TN_N_PART; i++)
        all = tn_arena_printf(&t->b->arena, "%s%s%s", all, i ? ", " : "", tn_parts[i].name);
    return tn_error(t->b->ctx, "driver-E190", NULL, "\"%s\" is no %s; parts of schedules are %s", word,
                    instead, all);
}

static tn_status read_fixed(tn_tuning *t)
{
    for (const char *at = t->o.fixed; at && *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        enum tn_part part = tn_part_find(at, n);
        if (part == TN_N_PART)
            return no_part(t, tn_arena_strndup(&t->b->arena, at, n), "part of a schedule that can be fixed");
        t->fixed |= 1u << part;
        at += n;
    }
    return TN_OK;
}

/* "tile=0.9,parallel=0.1" */
static tn_status read_odds(tn_tuning *t)
{
    double sum = 0;
    for (const char *at = t->o.odds; at && *at; at += *at == ',') {
        size_t n = strcspn(at, ","), name = strcspn(at, "=,");
        const char *word = tn_arena_strndup(&t->b->arena, at, n);
        enum tn_part part = tn_part_find(at, name);
        char *end = NULL;
        double odds = name < n ? strtod(word + name + 1, &end) : -1;
        if (part == TN_N_PART || !end || *end || !isfinite(odds) || odds < 0)
            return no_part(t, word, "part with its odds, as in \"tile=0.9\"");
        sum += t->odds[part] = odds;
        at += n;
    }
    const bool given = t->o.odds && *t->o.odds;
    if (given && sum <= 0 && !t->o.n_mutator)
        return no_part(t, t->o.odds, "list of odds, one of them above 0");
    t->changes.odds = given ? t->odds : NULL;
    return TN_OK;
}

/* "rows=14,vectors=2" */
static tn_status read_near(tn_tuning *t)
{
    tn_arena *arena = &t->b->arena;
    for (const char *at = t->o.near; at && *at; at += *at == ',') {
        size_t n = strcspn(at, ","), role = strcspn(at, "=,");
        const char *word = tn_arena_strndup(arena, at, n);
        tn_choice number = {NULL, 0};
        bool sound = role > 0 && role < n && tn_choice_parse(word + role + 1, &number) && !number.word &&
                     number.number > 0 && number.number <= INT32_MAX;
        if (!sound || t->n_wish == TN_MOST_WISHES)
            return tn_error(
                t->b->ctx, "driver-E192", NULL,
                "\"%s\" is no role of a choice with a number above 0, as in \"rows=14\"; give at most %d",
                word, TN_MOST_WISHES);
        t->wish[t->n_wish++] = (tn_wish){tn_arena_strndup(arena, at, role), number.number};
        at += n;
    }
    return TN_OK;
}

tn_status tn_tuning_parts(tn_tuning *t)
{
    TN_TRY(read_fixed(t));
    TN_TRY(read_odds(t));
    TN_TRY(tn_tuning_mutators(t));
    return read_near(t);
}

const tn_picks *tn_tuning_point(tn_tuning *t, const tn_task *k, uint32_t n, const tn_wish wish[],
                                uint32_t *out_n)
{
    tn_build *b = t->b;
    const tn_space space = {t->maker, k->load.func, &b->machine, t->fixed};
    tn_pool pool;
    tn_sched s;
    tn_picks *p = TN_NEW(&b->arena, tn_picks);
    tn_pool_init(&pool, k->load.func->ctx, &b->arena, k->load.func->pool);
    *out_n = 0;
    if (!n || tn_explore_near(&space, n, wish, &b->arena, &pool, &s, out_n) != TN_DONE || !*out_n)
        return NULL;
    *p = tn_picks_of(&s.picked, &b->arena);
    return p;
}

const tn_picks *tn_tuning_near(tn_tuning *t, const tn_task *k)
{
    uint32_t n;
    const tn_picks *p = tn_tuning_point(t, k, t->n_wish, t->wish, &n);
    t->n_met += p ? n : 0;
    return p;
}

void tn_tuning_tell_near(tn_tuning *t)
{
    if (t->n_wish && !t->n_met && t->n_chosen)
        (void)tn_report(
            t->b->ctx, TN_WARNING, "driver-W006", NULL,
            "\"%s\": no task has a choice of such a role; roles are what follows the last point of a "
            "choice's name, as `tenon dump --stage space` lists them",
            t->o.near);
}
