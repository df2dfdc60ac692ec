/* Which parts of schedules a search leaves alone, and how often it changes each of the others. */
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
    t->has_odds = t->o.odds && *t->o.odds;
    if (t->has_odds && sum <= 0)
        return no_part(t, t->o.odds, "list of odds, one of them above 0");
    return TN_OK;
}

tn_status tn_tuning_parts(tn_tuning *t)
{
    TN_TRY(read_fixed(t));
    return read_odds(t);
}
