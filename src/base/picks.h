#ifndef TN_BASE_PICKS_H
#define TN_BASE_PICKS_H
/* Choices as data. A *pick* is a named choice among candidates; whoever has to choose asks for it by name,
 * and the answer is kept. The first candidate is the default. A map from names to values is a point: picks
 * that it does not name take their defaults, so the empty map is what is built in. Schedules are made so
 * (schedule/space.h), and what passes do to graphs (transform/pass.h). Text form of a map, a line each:
 *
 *     rule = gemm
 *     dense.rows = 14     # of a register tile
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/rng.h"

#include <stdbool.h>

typedef struct tn_choice {
    const char *word; /* NULL: the number */
    int64_t number;
} tn_choice;

/* What was asked, and the answer. */
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

/* All that was asked, in that order, each name once. */
typedef struct tn_asked {
    uint32_t n, cap;
    tn_pick *at;         /* in an arena */
    const char *refused; /* the pick whose given value was no candidate; NULL: none */
} tn_asked;

/* ---- maps ---- */
const tn_choice *tn_picks_find(const tn_picks *p, const char *name);
/* Adds or replaces; name and word are kept as they are. */
void tn_picks_set(tn_picks *p, tn_arena *arena, const char *name, tn_choice value);
/* With names and words in `to`; without what is random. */
tn_picks tn_picks_copy(const tn_picks *p, tn_arena *to);
tn_picks tn_picks_without(const tn_picks *p, const char *name, tn_arena *arena);
/* All that was asked, with its answers, defaults too. */
tn_picks tn_picks_of(const tn_asked *a, tn_arena *arena);
void tn_picks_print(const tn_picks *p, tn_buf *out);
/* False: line *out_line is not `name = value`, or names a pick for the second time. Texts live in the arena. */
bool tn_picks_parse(const char *text, size_t n, tn_arena *arena, tn_picks *out, uint32_t *out_line);
void tn_choice_print(const tn_choice *c, tn_buf *out);
/* A number, or a word, which is kept as it is; false: neither, as it is empty or has blanks or `=`. */
bool tn_choice_parse(const char *word, tn_choice *out);
/* Which of n candidates it is; n: none. */
uint32_t tn_choice_place(uint32_t n, const tn_choice candidate[], const tn_choice *value);
/* The first value of the map that nobody asked for; NULL: all were asked for. */
const char *tn_picks_unused(const tn_picks *p, const tn_asked *a);

/* ---- asking ---- */
/* Which of n candidates to take: what `given` (NULL: nothing) says of the name, else a random one if it says
 * so, else the first. The answer is kept in a; asked again, it is the same. false: the given value is no
 * candidate; *out is 0, and a->refused the name. One candidate is no choice: nothing is kept. */
bool tn_pick_ask(tn_asked *a, const tn_picks *given, tn_arena *arena, const char *name, uint32_t n,
                 const tn_choice candidate[], uint32_t *out);
/* Keeps a pick that was not asked for before, with candidate `index`. */
void tn_asked_add(tn_asked *a, tn_arena *arena, const char *name, uint32_t n, const tn_choice candidate[],
                  uint32_t index);
/* A line of text: `name = value  # of` all candidates. */
void tn_pick_print(const tn_pick *p, tn_buf *out);

#endif
