#ifndef TN_SCHEDULE_SPACE_H
#define TN_SCHEDULE_SPACE_H
/* Spaces of schedules. A generator makes a schedule of a function and asks for picks (base/picks.h) on its
 * way; candidates depend on the function, the machine and the picks before it. The others follow the default
 * in the order in which the model would take them. All points that a generator can reach are the *space* of
 * the function.
 *
 * Names are stable: a block and a role, as `dense.rows`; those of the function as a whole have no block, as `rule`.
 */
#include "schedule/schedule.h"

/* ---- parts ---- */
/* What picks decide (part.def). */
enum tn_part {
#define PART(id, name, doc) TN_PART_##id,
#include "schedule/part.def"
    TN_N_PART
};
typedef struct tn_part_info {
    const char *name, *doc;
} tn_part_info;
extern const tn_part_info tn_parts[TN_N_PART];
enum tn_part tn_pick_part(const char *name);           /* of the pick of that name */
enum tn_part tn_part_find(const char *name, size_t n); /* TN_N_PART: none is called so */
typedef uint32_t tn_part_set;                          /* bits 1 << part */

/* ---- for generators ---- */
/* tn_pick_ask of s, with what s->given says. Refused (TN_REJECT_PICK), with *out 0, where the given value is
 * no candidate. A pick of s->fixed has its first candidate alone. */
tn_verdict tn_pick_do(tn_sched *s, const char *name, uint32_t n, const tn_choice candidate[], uint32_t *out);

/* ---- spaces ---- */
typedef struct tn_space tn_space;
typedef struct tn_sched_generator {
    const char *name;
    uint32_t version; /* grows when the same picks give another trace */
    /* Makes `out` from space->func; initialises it, too. */
    tn_verdict (*derive)(const tn_space *space, const tn_picks *given, tn_arena *arena, tn_pool *pool,
                         tn_sched *out);
} tn_sched_generator;
/* The built-in rules (rules/rules.c). The pick `rule` is which of those that match. */
extern const tn_sched_generator tn_rules_generator;
/* Sketches from the compute alone (rules/sketch.c). The pick `sketch` is which of those that match. */
extern const tn_sched_generator tn_sketch_generator;
/* Sketches that are made elsewhere. They stand behind those of the table, before its last one; alone: in place of all
 * others but the last one. */
enum { TN_MORE_SKETCHES = 8 };
typedef struct tn_more_sketch {
    const char *name;
    void *user;
    tn_verdict (*derive)(void *user, tn_sched *s); /* s is begun, and its pick `sketch` is made */
} tn_more_sketch;
typedef struct tn_more_sketches {
    uint32_t n; /* at most TN_MORE_SKETCHES */
    const tn_more_sketch *at;
    bool alone;
} tn_more_sketches;
/* What the generator `sketch` derives, with these besides. */
tn_verdict tn_sketch_derive(const struct tn_space *space, const tn_more_sketches *more, const tn_picks *given,
                            tn_arena *arena, tn_pool *pool, tn_sched *out);
const char *tn_sketch_name(size_t i); /* of the table; NULL after the last */
const tn_sched_generator *tn_sched_generator_find(
    const char *name); /* of these two; NULL: none of that name */

struct tn_space {
    const tn_sched_generator *generator;
    const tn_func *func;
    const struct tn_machine *machine;
    tn_part_set fixed; /* is not searched: picks are defaults, and sketches that are such a part not there */
};

/* The schedule at a point: given NULL or empty: the default. Refused: `out` holds the picks down to the refusal, its
 * function is of no use. Whatever is made lives in arena and pool, as with tn_sched_init. */
tn_verdict tn_explore(const tn_space *space, const tn_picks *given, tn_arena *arena, tn_pool *pool,
                      tn_sched *out);
/* The point behind that of s in the order of an odometer whose last wheel is the pick asked last; false: s is the last
 * one. A refused s leads on, too: from the empty map on, all points of the space come by. */
bool tn_space_next(const tn_sched *s, tn_arena *arena, tn_picks *out);
/* Points have numbers, the digits of which are the indices of the picks; the pick asked first has the lowest digit, and
 * 0 is the default. Numbers are not dense, as each pick may depend on those before it. That of n picks; UINT64_MAX: it
 * is larger. */
uint64_t tn_point_number(uint32_t n, const tn_pick pick[]);
/* The schedule at the point of a number, as tn_explore makes it; what its last pick leaves over is dropped. Cost: a
 * derivation for each pick that is no default. */
tn_verdict tn_explore_number(const tn_space *space, uint64_t number, tn_arena *arena, tn_pool *pool,
                             tn_sched *out);
/* A number that picks of a role should have: rows of 14, in `dense.rows`. "yes" is 1, and "no" 0. */
typedef struct tn_wish {
    const char *role;
    int64_t number;
} tn_wish;
/* The schedule at the point whose picks of these roles have the candidates that are nearest to the numbers, of two the
 * one that the model prefers; all other picks are defaults. *out_n: how many picks that were. Cost: a derivation for
 * each. */
tn_verdict tn_explore_near(const tn_space *space, uint32_t n, const tn_wish wish[], tn_arena *arena,
                           tn_pool *pool, tn_sched *out, uint32_t *out_n);
/* The number of points: exact up to `most`, else estimated from random ones (Knuth 1975: the mean of the products of
 * the numbers of candidates). Refused ones count. Cost: up to `most` derivations. */
double tn_space_size(const tn_space *space, uint32_t most, bool *out_exact);
/* s's point with another candidate for one pick, chosen at random; false: there is none to choose. odds: of each part,
 * that the pick is one of its; NULL: all picks have the same. */
bool tn_picks_mutate(const tn_sched *s, const double odds[TN_N_PART], tn_rng *r, tn_arena *arena,
                     tn_picks *out);
/* A point whose picks of each block come from a or from b, at random. */
tn_picks tn_picks_join(const tn_picks *a, const tn_picks *b, tn_rng *r, tn_arena *arena);

#endif
