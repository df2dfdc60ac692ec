/* Mutators of the user's (tenon/tune.h): a search changes good points by them, too. */
#include "driver/tuning.h"

#include <math.h>

enum { MOST_MUTATORS = 8 };

typedef struct user_mutator {
    const tenon_mutator *given;
    tn_arena *kept;    /* for `wrong` */
    const char *wrong; /* the first choice that it gave a candidate which there is not; NULL: none */
} user_mutator;

static bool are_candidates(user_mutator *m, const tn_point *p, const uint32_t index[])
{
    for (uint32_t i = 0; i < p->n; i++)
        if (index[i] >= p->pick[i].n) {
            if (!m->wrong)
                m->wrong = tn_arena_printf(m->kept, "candidate %u of %s, which has %u", (unsigned)index[i],
                                           p->pick[i].name, (unsigned)p->pick[i].n);
            return false;
        }
    return true;
}

static bool make(void *user, uint64_t seed, const tn_point *p, uint32_t index[])
{
    user_mutator *m = user;
    tn_arena arena;
    tn_arena_init(&arena);
    const tenon_pick *pick = tn_tuning_picks(p->n, p->pick, &arena);
    bool made = m->given->apply(m->given->user, seed, p->n, pick, index) == 0 && are_candidates(m, p, index);
    tn_arena_deinit(&arena);
    return made;
}

tn_status tn_tuning_mutators(tn_tuning *t)
{
    const uint32_t n = t->o.n_mutator;
    double sum = t->changes.odds ? 0 : 1;
    for (int k = 0; k < TN_N_PART; k++)
        sum += t->odds[k];
    for (uint32_t i = 0; i < n; i++) {
        const tenon_mutator *m = &t->o.mutator[i];
        if (i >= MOST_MUTATORS || !m->apply || !(m->odds >= 0) || !isfinite(m->odds))
            return tn_error(t->b->ctx, "driver-E197", NULL,
                            "mutator %u cannot be used; give up to %d, with a function that applies each and "
                            "odds from 0 on",
                            (unsigned)i, MOST_MUTATORS);
        sum += m->odds;
    }
    if (sum <= 0)
        return tn_error(
            t->b->ctx, "driver-E198", NULL,
            "nothing would change a schedule: all odds are 0; give a part or a mutator odds above 0");
    user_mutator *users = TN_NEW_N(&t->b->arena, user_mutator, n);
    tn_change *all = TN_NEW_N(&t->b->arena, tn_change, n);
    for (uint32_t i = 0; i < n; i++) {
        users[i] = (user_mutator){&t->o.mutator[i], &t->b->arena, NULL};
        all[i] = (tn_change){t->o.mutator[i].odds, &users[i], make};
    }
    t->changes.n = n;
    t->changes.at = all;
    return TN_OK;
}

void tn_tuning_tell_mutators(tn_tuning *t)
{
    for (uint32_t i = 0; i < t->changes.n; i++) {
        const user_mutator *m = t->changes.at[i].user;
        if (m->wrong)
            (void)tn_report(t->b->ctx, TN_WARNING, "driver-W007", NULL,
                            "mutator %u gave %s; such changes were left out", (unsigned)i, m->wrong);
    }
}
