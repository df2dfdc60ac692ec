/* Spaces: the points of a generator, one after another, at random, and by changing others. */
#include "schedule/space.h"

#include <string.h>

enum { WALKS = 32 };

tn_verdict tn_explore(const tn_space *space, const tn_picks *given, tn_arena *arena, tn_pool *pool,
                      tn_sched *out)
{
    return space->generator->derive(space, given, arena, pool, out);
}

/* ---- all points ---- */

bool tn_space_next(const tn_sched *s, tn_arena *arena, tn_picks *out)
{
    uint32_t last = s->picked.n;
    while (last > 0 && s->picked.at[last - 1].index + 1 == s->picked.at[last - 1].n)
        last--;
    *out = (tn_picks){0};
    for (uint32_t i = 0; i < last; i++) {
        const tn_pick *p = &s->picked.at[i];
        tn_picks_set(out, arena, p->name, p->candidate[p->index + (i + 1 == last)]);
    }
    return last > 0;
}

uint64_t tn_point_number(uint32_t n, const tn_pick pick[])
{
    uint64_t number = 0, digit;
    for (uint32_t i = n; i-- > 0;)
        if (__builtin_mul_overflow(number, pick[i].n, &digit) ||
            __builtin_add_overflow(digit, pick[i].index, &number))
            return UINT64_MAX;
    return number;
}

tn_verdict tn_explore_number(const tn_space *space, uint64_t number, tn_arena *arena, tn_pool *pool,
                             tn_sched *out)
{
    tn_picks given = {0};
    tn_verdict v = tn_explore(space, &given, arena, pool, out);
    for (uint32_t i = 0; i < out->picked.n && number; i++) {
        const tn_pick *p = &out->picked.at[i];
        uint32_t digit = (uint32_t)(number % p->n);
        number /= p->n;
        if (digit == 0)
            continue;
        tn_picks_set(&given, arena, p->name, p->candidate[digit]);
        v = tn_explore(space, &given, arena, pool, out);
    }
    return v;
}

static const tn_wish *wish_of(uint32_t n, const tn_wish wish[], const char *pick)
{
    const char *dot = strrchr(pick, '.');
    for (uint32_t i = 0; i < n && dot; i++)
        if (strcmp(wish[i].role, dot + 1) == 0)
            return &wish[i];
    return NULL;
}

/* False: it is a word that stands for no number. */
static bool number_of(const tn_choice *c, int64_t *out)
{
    *out = c->word ? strcmp(c->word, "yes") == 0 : c->number;
    return !c->word || *out || strcmp(c->word, "no") == 0;
}

static uint32_t nearest(const tn_pick *p, int64_t number)
{
    uint32_t best = p->index;
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < p->n; i++) {
        int64_t own;
        if (!number_of(&p->candidate[i], &own))
            continue;
        int64_t far = own > number ? own - number : number - own;
        if (far >= least)
            continue;
        least = far;
        best = i;
    }
    return best;
}

tn_verdict tn_explore_near(const tn_space *space, uint32_t n, const tn_wish wish[], tn_arena *arena,
                           tn_pool *pool, tn_sched *out, uint32_t *out_n)
{
    tn_picks given = {0};
    tn_verdict v = tn_explore(space, &given, arena, pool, out);
    *out_n = 0;
    for (uint32_t i = 0; i < out->picked.n; i++) {
        const tn_pick *p = &out->picked.at[i];
        const tn_wish *w = wish_of(n, wish, p->name);
        if (!w)
            continue;
        tn_picks_set(&given, arena, p->name, p->candidate[nearest(p, w->number)]);
        v = tn_explore(space, &given, arena, pool, out);
        ++*out_n;
    }
    return v;
}

/* One point in memory of its own; *next: that behind it, in `keep`. The number of leaves that a tree of equal branches
 * would have. */
static double look(const tn_space *space, const tn_picks *given, tn_arena *keep, tn_picks *next, bool *more)
{
    tn_arena arena;
    tn_pool pool;
    tn_sched s;
    double leaves = 1;
    tn_arena_init(&arena);
    tn_pool_init(&pool, space->func->ctx, &arena, space->func->pool);
    (void)tn_explore(space, given, &arena, &pool, &s);
    for (uint32_t i = 0; i < s.picked.n; i++)
        leaves *= s.picked.at[i].n;
    if (keep) {
        tn_picks p;
        *more = tn_space_next(&s, &arena, &p);
        *next = (tn_picks){0};
        for (uint32_t i = 0; i < p.n; i++) {
            tn_choice v = p.at[i].value;
            v.word = v.word ? tn_arena_strdup(keep, v.word) : NULL;
            tn_picks_set(next, keep, tn_arena_strdup(keep, p.at[i].name), v);
        }
    }
    tn_arena_deinit(&arena);
    return leaves;
}

/* -1: more than `most`. */
static double count_points(const tn_space *space, uint32_t most)
{
    tn_arena arena[2];
    tn_picks at = {0}, next;
    double n = 0;
    bool more = true;
    tn_arena_init(&arena[0]);
    tn_arena_init(&arena[1]);
    for (uint32_t i = 0; more && n <= most; i++, n++) { /* `next` lies in one arena, `at` in the other */
        tn_arena_reset(&arena[i % 2]);
        (void)look(space, &at, &arena[i % 2], &next, &more);
        at = next;
    }
    tn_arena_deinit(&arena[0]);
    tn_arena_deinit(&arena[1]);
    return more ? -1 : n;
}

double tn_space_size(const tn_space *space, uint32_t most, bool *out_exact)
{
    tn_rng r = {1};
    tn_picks any = {.random = &r};
    double sum = 0;
    for (int i = 0; i < WALKS; i++)
        sum += look(space, &any, NULL, NULL, NULL);
    double n = sum / WALKS > 4.0 * most ? -1 : count_points(space, most);
    *out_exact = n >= 0;
    return n >= 0 ? n : sum / WALKS;
}

/* ---- points from others ---- */

/* The number of one of s's picks; s->picked.n: there is none, as no part that it has picks of has odds. */
static uint32_t draw_pick(const tn_sched *s, const double odds[TN_N_PART], tn_rng *r)
{
    uint32_t n[TN_N_PART] = {0}, i;
    double sum = 0, at;
    if (!odds)
        return (uint32_t)tn_rng_below(r, s->picked.n);
    for (i = 0; i < s->picked.n; i++)
        n[tn_pick_part(s->picked.at[i].name)]++;
    for (int k = 0; k < TN_N_PART; k++)
        sum += n[k] ? odds[k] : 0;
    at = sum * tn_rng_unit(r);
    for (i = 0; i < s->picked.n; i++) {
        enum tn_part part = tn_pick_part(s->picked.at[i].name);
        double own = odds[part] / n[part];
        if (at < own)
            break;
        at -= own;
    }
    return i;
}

bool tn_picks_mutate(const tn_sched *s, const double odds[TN_N_PART], tn_rng *r, tn_arena *arena,
                     tn_picks *out)
{
    *out = tn_picks_of(&s->picked, arena);
    uint32_t at = s->picked.n ? draw_pick(s, odds, r) : 0;
    if (at == s->picked.n)
        return false;
    const tn_pick *p = &s->picked.at[at];
    uint32_t other = (p->index + 1 + (uint32_t)tn_rng_below(r, p->n - 1)) % p->n;
    tn_picks_set(out, arena, p->name, p->candidate[other]);
    return true;
}

/* Bytes of the block's name in that of a pick; 0: it is the function's own. */
static size_t block_of(const char *pick)
{
    const char *dot = strrchr(pick, '.');
    return dot ? (size_t)(dot - pick) : 0;
}

static bool same_block(const char *a, const char *b)
{
    size_t n = block_of(a);
    return n == block_of(b) && memcmp(a, b, n) == 0;
}

/* Takes from `p` the picks of the block of `name`, unless they are there. */
static void take_block(const tn_picks *p, const char *name, tn_arena *arena, tn_picks *out)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (same_block(p->at[i].name, name))
            tn_picks_set(out, arena, p->at[i].name, p->at[i].value);
}

static bool has_block(const tn_picks *p, const char *name)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (same_block(p->at[i].name, name))
            return true;
    return false;
}

tn_picks tn_picks_join(const tn_picks *a, const tn_picks *b, tn_rng *r, tn_arena *arena)
{
    tn_picks out = {0};
    const tn_picks *const parent[2] = {a, b};
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < parent[k]->n; i++) {
            const char *name = parent[k]->at[i].name;
            if (has_block(&out, name))
                continue;
            const tn_picks *from = parent[tn_rng_below(r, 2)];
            take_block(has_block(from, name) ? from : parent[k], name, arena, &out);
        }
    return out;
}

/* ---- asking ---- */

tn_verdict tn_pick_do(tn_sched *s, const char *name, uint32_t n, const tn_choice candidate[], uint32_t *out)
{
    TN_ASSERT(n > 0);
    if (s->fixed && s->fixed >> tn_pick_part(name) & 1)
        n = 1;
    return tn_pick_ask(&s->picked, s->given, s->arena, name, n, candidate, out) ? TN_DONE : TN_REJECT_PICK;
}
