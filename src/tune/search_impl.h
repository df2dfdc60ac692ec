#ifndef TN_TUNE_SEARCH_IMPL_H
#define TN_TUNE_SEARCH_IMPL_H
/* The state of a search: for search.c, the engine, and propose.c, which fills its batches. */
#include "tune/search.h"

#include "base/map.h"
#include "base/vec.h"

enum {
    BATCH = 8,
    FEW_ROWS = 16 /* that no model is fitted to */
};

typedef struct point {
    tn_point p;           /* first */
    uint32_t number;      /* of the trial, from 1 on; 0: the built-in schedule */
    const char *trace;    /* its text, with the first line that says what made it */
    bool ended;           /* the trial */
    const float *feature; /* NULL: nobody wants them */
} point;

typedef struct task {
    const tn_task *is;
    tn_space space;
    tn_rng rng;
    tn_arena arena;    /* of its points */
    tn_arena wheel[2]; /* of next, in turn */
    int turn;
    tn_map tried; /* hash of a trace -> 1 */
    tn_vec(point *) all;
    tn_vec(const tn_point *) best; /* those with a time, the fastest first */
    point *built_in, *kept;
    tn_picks next;
    bool more, again; /* again: the built-in schedule was timed a second time */
    tn_standing at;
    uint32_t under_way;            /* trials */
    tn_vec(double) history;        /* what was the best after each batch */
    tn_vec(const tn_point *) hint; /* what others of its form keep, and were not tried yet */
} task;

typedef struct slot {
    uint32_t task;
    point *p;
    char *trace;             /* heap; NULL once it was given to the meter */
    bool check, again, done; /* again: of what has to be beaten, no trial */
    tn_trial trial;
} slot;

typedef struct past_row { /* of what was timed before */
    uint32_t at;          /* task; n + group: of none */
    const float *feature;
    double y;
} past_row;

typedef struct batch {
    bool duel;         /* slots: the new one, the kept one and the built-in one in turn */
    uint32_t n, given; /* to the meter */
    slot slot[BATCH + 2];
} batch;

struct tn_search {
    const tn_search_options *o;
    const tn_meter *meter;
    uint32_t n;
    task *task;
    tn_vec(batch *) queue; /* first come first */
    uint64_t first;        /* number of the first slot of queue.at[0] */
    uint32_t trials;       /* that were proposed */
    uint32_t ended;        /* that have ended */
    uint32_t opening;      /* tasks whose built-in schedule was proposed */
    tn_guide *guide;       /* NULL: the proposer does not learn */
    uint32_t fit_at;       /* ended trials at which it is fitted anew */
    tn_arena memory;       /* of the next */
    tn_vec(past_row) past;
    bool failed; /* it is; why says how */
    char *why;
    double begin;
};

/* past.c: makes what was timed before into rows. */
void tn_search_recall(tn_search *x);

/* ---- propose.c ---- */

/* Has the time passed in which batches may begin? */
bool tn_search_is_late(const tn_search *x);
/* What has to be beaten: the built-in schedule, or a rival and the generator's default. false: there is none. */
bool tn_search_open(tn_search *x, batch *b, uint32_t at);
/* Points from elsewhere, where they are new here: one, and those that other tasks keep by now. */
void tn_search_put_given(tn_search *x, batch *b, uint32_t at, const tn_picks *given);
void tn_search_put_hints(tn_search *x, batch *b, uint32_t at, uint32_t most);
/* Of many proposals the most promising ones by the model, and one of the others, until the batch has `most`. */
void tn_search_put_chosen(tn_search *x, batch *b, uint32_t at, uint32_t most);
/* One more of the proposer's. false: none is left. */
bool tn_search_put_new(tn_search *x, batch *b, uint32_t at);
/* Fits the model to all that is known, each time that has grown by an eighth. */
void tn_search_learn(tn_search *x);
/* A slot for a point of the task. */
slot *tn_search_put_point(batch *b, uint32_t at, point *p);

#endif
