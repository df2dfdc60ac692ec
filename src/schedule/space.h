#ifndef TN_SCHEDULE_SPACE_H
#define TN_SCHEDULE_SPACE_H
/* Choices as data. A generator makes a schedule of a function and asks for *picks* on its way: a pick is a named choice
 * among candidates, which depend on the function, the machine and the picks before it. The first candidate is the
 * default; the others follow in the order in which the model would take them. All points that a generator can reach
 * are the *space* of the function.
 *
 * Names are stable: a block and a role, as `dense.rows`; those of the function as a whole have no block, as `rule`.
 * A map from names to values is a point; picks that it does not name take their defaults, so the empty map is the
 * built-in schedule. Text form of a map, a line each:
 *
 *     rule = gemm
 *     dense.rows = 14     # of a register tile
 */
#include "base/rng.h"
#include "schedule/schedule.h"

typedef struct tn_choice {
    const char *word; /* NULL: the number */
    int64_t number;
} tn_choice;

/* What a generator asked, and what it got. */
typedef struct tn_pick {
    const char *name;
    uint32_t n, index; /* of the candidates; the one taken */
    const tn_choice *candidate;
} tn_pick;

typedef struct tn_pick_value {
    const char *name;
    tn_choice value;
} tn_pick_value;

typedef struct tn_picks {
    uint32_t n, cap;
    tn_pick_value *at; /* in an arena */
    tn_rng *random;    /* takes those that the map does not name; NULL: they are defaults */
} tn_picks;

/* ---- maps ---- */
const tn_choice *tn_picks_find(const tn_picks *p, const char *name);
/* Adds or replaces; name and word are kept as they are. */
void tn_picks_set(tn_picks *p, tn_arena *arena, const char *name, tn_choice value);
/* All that s was made with, defaults too. */
tn_picks tn_picks_of(const tn_sched *s, tn_arena *arena);
void tn_picks_print(const tn_picks *p, tn_buf *out);
/* False: line *out_line is not `name = value`, or names a pick for the second time. Texts live in the arena. */
bool tn_picks_parse(const char *text, size_t n, tn_arena *arena, tn_picks *out, uint32_t *out_line);
void tn_choice_print(const tn_choice *c, tn_buf *out);
/* A number, or a word, which is kept as it is; false: neither, as it is empty or has blanks or `=`. */
bool tn_choice_parse(const char *word, tn_choice *out);

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
/* Which of n candidates to take: what s->given says of the name, else a random one if it says so, else the first. The
 * answer is recorded in s. Asked again, the answer is the same. Refused (TN_REJECT_PICK), with *out 0, where the
 * given value is no candidate. One candidate is no choice: nothing is recorded; nor is a pick of s->fixed, which has
 * its first candidate alone. */
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
/* A number that picks of a role should have: rows of 14, in `dense.rows`. */
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
/* The first value of the map that the schedule's generator did not ask for; NULL: it asked for all. */
const char *tn_picks_unused(const tn_picks *p, const tn_sched *s);

#endif
