#ifndef TN_SCHEDULE_SCHEDULE_H
#define TN_SCHEDULE_SCHEDULE_H
/* Schedules are traces: a list of small steps whose only entry point both applies and records.
 *
 * A schedule works on a clone of a block-stage function and never changes its values beyond the order of
 * reductions and of the factors of what they sum. Values of a trace are loops, and numbers that sampling
 * steps drew; they are named by number. A refused step is a cheap verdict and leaves function and trace
 * untouched. Text form, one step a line (docs/schedule.md has every step, its conditions and an example):
 *
 *     i j k = loops "acc"
 *     io ii = split i 14 tail=mask
 *     reorder io j ii k
 *     vectorize ii
 */
#include "base/picks.h"
#include "machine/machine.h"
#include "tir/tir.h"

typedef enum tn_verdict {
    TN_DONE,
    TN_REJECT_ARITY,    /* wrong number of loops or arguments */
    TN_REJECT_NAME,     /* no such block, buffer, value or scope */
    TN_REJECT_LOOP,     /* a loop that is gone, bound, or not where the step needs it */
    TN_REJECT_FACTOR,   /* factor not positive, or product not allowed */
    TN_REJECT_NEST,     /* loops are not one perfect nest, or have other statements between them */
    TN_REJECT_DEPEND,   /* would change the order of dependent iterations */
    TN_REJECT_REDUCE,   /* a reduction axis where a spatial one is needed, or the other way round */
    TN_REJECT_REGION,   /* a region that is not constant, not affine, or not covered */
    TN_REJECT_SCOPE,    /* illegal memory scope */
    TN_REJECT_MASK,     /* a mask that cannot be handled (trapping, or not neutral) */
    TN_REJECT_UNIT,     /* loops that are no call of that unit of the machine */
    TN_REJECT_POSTPROC, /* a postprocessor of the user's leaves it out */
    TN_REJECT_PICK,     /* a value that is no candidate of a pick */
    TN_REJECT_DECISION, /* no decision of a sampling step, or no such step */
    TN_REJECT_PRAGMA,   /* no such pragma */
    TN_REJECT_AXIS,     /* an axis that this target's machines do not have */
    TN_REJECT_TEMPLATE, /* a user's template makes no kernel of these choices, or another one */
    TN_REJECT_TEXT      /* trace text that does not parse */
} tn_verdict;
extern const char *const tn_verdict_texts[];

enum tn_step_kind {
#define STEP(name, nin, narg, nout, random, doc) TN_STEP_##name,
#include "schedule/sched.def"
#undef STEP
    TN_STEP_COUNT
};
typedef struct tn_step_info {
    const char *name;
    int8_t nin, narg, nout;
    uint8_t random;
    const char *doc;
} tn_step_info;
extern const tn_step_info tn_steps[TN_STEP_COUNT];

/* guard: block mask from the start; mask: full tile, stores masked; exact: refused unless the factor divides
 * */
enum { TN_TAIL_GUARD, TN_TAIL_MASK, TN_TAIL_EXACT };

typedef uint16_t tn_ref; /* a value number in the trace, never a pointer */
typedef struct tn_arg {
    const char *key;
    const char *s;
    int64_t i;
    tn_ref value; /* i is the number that value - 1 of the trace has; 0: written as it is */
} tn_arg;         /* s NULL: integer; key NULL: positional */
typedef struct tn_step {
    uint8_t kind; /* enum tn_step_kind */
    uint16_t nin, narg, nout;
    const tn_ref *in;
    const tn_arg *arg;
    tn_ref *out;                 /* filled by the step */
    const char *const *out_name; /* names of the values made (nout entries), or NULL: derived */
} tn_step;

typedef struct tn_sched {
    tn_func *func;           /* being edited; the schedule's own clone */
    tn_arena *arena;         /* candidate arena: trace, tables, statements */
    tn_stmt **loop;          /* by tn_ref; NULL: consumed, or a number */
    int64_t *number;         /* by tn_ref; TN_NO_NUMBER: a loop */
    const char **value_name; /* by tn_ref, unique, for text */
    uint32_t n_value, cap_value;
    tn_step *step;
    uint32_t n_step, cap_step;
    const tn_picks *given; /* for the generator at work (schedule/space.h); NULL: all picks are defaults */
    uint32_t fixed;        /* likewise: tn_part_set */
    tn_asked picked;       /* what it chose */
    const char *comment;   /* first line of the text: which rule, prediction; or NULL */
} tn_sched;

#define TN_NO_NUMBER INT64_MIN

/* s works on a clone of f in `arena`, with `pool` (child of f->pool or f->pool). */
void tn_sched_init(tn_sched *s, const tn_func *f, tn_arena *arena, tn_pool *pool);
/* The only way to change a schedule. in/arg are copied into the arena when done; t->out must have room for what the
 * step makes (its number is in t->nout before the call for steps that make a variable number, e.g. loops, split). */
tn_verdict tn_sched_do(tn_sched *s, tn_step *t);

/* Typed wrappers: all go through tn_sched_do. */
/* all loops around block, outermost first; n must match */
tn_verdict tn_sched_loops(tn_sched *s, const char *block, uint16_t n, tn_ref out[]);
int tn_sched_n_loops(const tn_sched *s, const char *block); /* -1: no such block */
/* factors are the inner extents, outermost first; out has n_factor + 1 loops */
tn_verdict tn_sched_split(tn_sched *s, tn_ref loop, int n_factor, const int64_t factor[], int tail,
                          tn_ref out[]);
tn_verdict tn_sched_fuse(tn_sched *s, int n, const tn_ref loop[], tn_ref *out);
tn_verdict tn_sched_reorder(tn_sched *s, int n, const tn_ref loop[]);
/* vectorize, unroll, parallel */
tn_verdict tn_sched_mark(tn_sched *s, enum tn_step_kind kind, int n, const tn_ref loop[]);
tn_verdict tn_sched_peel(tn_sched *s, tn_ref loop, int64_t first, int64_t last, tn_ref out[3]);
/* compute_inline, set_scope */
tn_verdict tn_sched_block(tn_sched *s, enum tn_step_kind kind, const char *block, const char *arg);
tn_verdict tn_sched_cache_write(tn_sched *s, const char *block, const char *scope);
/* reverse_compute_at, decompose_reduction */
tn_verdict tn_sched_at(tn_sched *s, enum tn_step_kind kind, const char *block, tn_ref loop);

void tn_trace_print(const tn_sched *s, tn_buf *out);
/* Have they the same steps, whatever the values are called? */
bool tn_trace_same(const tn_sched *a, const tn_sched *b);
/* Applies trace text to s. Verdict of the first refused step; its line in *out_line (1-based). */
tn_verdict tn_trace_replay(tn_sched *s, const char *text, size_t n, uint32_t *out_line);

/* The steps of s on f again, with another decision of one of the sampling steps. Refused as a later step is, or where
 * there is none (DECISION). `out` is initialised here. */
struct tn_rng;
tn_verdict tn_trace_mutate(const tn_sched *s, const tn_func *f, struct tn_rng *r, tn_arena *arena,
                           tn_pool *pool, tn_sched *out);

/* ---- built-in rules (rules/): good at once, no tuning ---- */
typedef struct tn_rule_info {
    const char *name, *doc;                                        /* "conv/direct" */
    bool (*matches)(const tn_func *f, const struct tn_machine *m); /* by accesses and shapes */
    tn_verdict (*derive)(tn_sched *s, const struct tn_machine *m);
    uint32_t parts; /* tn_part_set: it is not there where one of them is fixed */
} tn_rule_info;
extern const tn_rule_info
    tn_rule_infos[]; /* rules/rules.c: most specific first; the last matches everything */
extern const size_t tn_n_rule_infos;
/* The schedule of these picks, by the first rule that matches and is not refused; the last one (serial) never is. Where
 * the picks are refused, or NULL, the rule makes all choices. s is initialised here. */
void tn_rule_apply(tn_sched *s, const tn_func *f, const struct tn_machine *m, const tn_picks *given,
                   tn_arena *arena, tn_pool *pool);
/* A register tile for a product whose number of rows only the run knows. */
enum { TN_MAX_ROW_TILES = 6 };
typedef struct tn_row_tile {
    int rows;
    int64_t cost; /* of one tile beside others: n rows cost ceildiv(n, rows) * cost */
} tn_row_tile;
typedef struct tn_row_tiles {
    const tn_expr *rows; /* of the product, over symbols */
    const char *pick;    /* the name of the pick that is the number of rows of a tile */
    int n;
    tn_row_tile tile[TN_MAX_ROW_TILES];
} tn_row_tiles;
/* The tiles that such a product should have, so that for the numbers of rows that a run may have one of them
 * is near the best; fewer rows first. False: f is no such product. */
bool tn_rule_row_tiles(const tn_func *f, const struct tn_machine *m, tn_arena *arena, tn_pool *pool,
                       tn_row_tiles *out);
/* The last rule, for a function that the chosen one made illegal. */
void tn_rule_serial(tn_sched *s, const tn_func *f, const struct tn_machine *m, tn_arena *arena,
                    tn_pool *pool);

#endif
