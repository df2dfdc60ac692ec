#ifndef TN_TUNE_SEARCH_H
#define TN_TUNE_SEARCH_H
/* A search for schedules: who proposes points of a task's space, which task comes next, what is kept.
 *
 * The engine applies what a proposer says, leaves out schedules that were tried, has the others timed, and lets the
 * fastest meet the one that is kept: both are timed again in turn, the new one's results are compared with those of the
 * unscheduled function, and it takes the place if it is faster by a share of `margin`. The first one kept is the
 * built-in schedule, or a rival, behind which the generator's default is the first trial. With
 * each batch it is timed again, and so is the built-in one; the least time of a schedule counts.
 *
 * Candidates are proposed in batches. A batch sees the times of all but the one before it, in the order in which they
 * were proposed; so with the same seed and the same times the same candidates come, whatever runs beside it.
 *
 * A proposer that learns has more points proposed than there is room for. A model (guide.h), fitted to features of the
 * schedules so far and to how near each came to its task's best, chooses among them; one of a batch is left to chance
 * (Chen et al. 2018, "Learning to optimize tensor programs"; Ansor, section 5).
 *
 * It may begin with schedules that were timed before, of these or other workloads: their features are rows from the
 * start, where speeds are compared within a group of theirs, so that the first proposals are chosen, too.
 *
 * What one task keeps, the others of its form try next, if the proposer learns.
 *
 * The next task is the one where another trial promises to save most (Zheng et al. 2020, "Ansor", section 6): what its
 * last trials saved, or what a task tried so often may still hide, and no more than the task's roofline leaves. */
#include "schedule/space.h"
#include "tune/guide.h"
#include "tune/measure.h"

typedef struct tn_task {
    const char *name; /* for people */
    tn_workload load;
    uint64_t workload; /* tn_func_workload */
    double weight;     /* calls in a run of the model */
    double least;      /* seconds that the machine needs at its best; 0: not known */
    uint64_t form;     /* tn_func_form; 0: not known */
    uint32_t n_given;  /* points from elsewhere that are tried first; choices that there are not here */
    const tn_picks *const *given; /* are those of the built-in schedule */
    const tn_sched
        *rival; /* that has to be beaten, made by another generator; NULL: the generator's default */
} tn_task;

/* A schedule that was timed before. */
typedef struct tn_past {
    uint32_t group; /* times of one group can be compared: of a workload, a machine and a number of threads */
    uint64_t workload; /* tn_func_workload */
    tn_workload load;
    const tn_picks *picks; /* of the search's generator; NULL: not known */
    const char *trace;     /* NULL: that of the picks */
    double seconds;        /* HUGE_VAL: it had no time */
} tn_past;

/* What times candidates: a measurer, or a record of one in tests. As tn_measurer_room and its kin. */
typedef struct tn_meter {
    void *user;
    uint32_t (*room)(void *user);
    void (*add)(void *user, const tn_candidate *c);
    bool (*next)(void *user, tn_trial *out);
} tn_meter;
tn_meter tn_meter_of(tn_measurer *m);

/* A point that was tried, and what it took. */
typedef struct tn_point {
    uint32_t n;
    const tn_pick *pick; /* with their candidates */
    double seconds;      /* HUGE_VAL: it was refused, crashed or is wrong; or is not known yet */
} tn_point;

/* A change of a point that is made elsewhere, as by a function of the user's. */
typedef struct tn_change {
    double odds; /* that a change is this one */
    void *user;
    /* index[] has the numbers of the candidates of p's picks; what is to be others is written there. false:
     * no change. */
    bool (*make)(void *user, uint64_t seed, const tn_point *p, uint32_t index[]);
} tn_change;

/* How points are changed. */
typedef struct tn_changes {
    const double
        *odds; /* of parts, that a change is one of theirs (tn_picks_mutate); NULL: of all picks the same */
    uint32_t n;
    const tn_change *at; /* beside them, which are 1 together where `odds` is NULL */
} tn_changes;

/* A task as a proposer sees it. */
typedef struct tn_task_view {
    const tn_space *space;
    tn_rng *rng;
    uint32_t n; /* points with a time, the fastest first */
    const tn_point *const *best;
    bool more; /* false: all points have come by in order; next: the one that follows */
    const tn_picks *next;
    const tn_changes *changes;
} tn_task_view;

typedef struct tn_proposer { /* proposers.c */
    const char *name, *doc;
    bool in_order; /* next is wanted */
    /* Of many proposals those come first which a model of the times so far takes to be fast, by these features and this
     * loss; NULL: it does not learn. */
    const tn_feature_set *learns;
    tn_loss loss;
    /* A point to try, in arena. false: there is none left. */
    bool (*propose)(const tn_task_view *v, tn_arena *arena, tn_picks *out);
} tn_proposer;
extern const tn_proposer tn_proposers[];
extern const size_t tn_n_proposers;
const tn_proposer *tn_proposer_find(const char *name); /* NULL: none of that name */

/* How a task stands. */
typedef struct tn_standing {
    uint32_t trials, failed; /* that ended; of them without a time */
    uint32_t
        gained; /* trials that had ended when the one that is kept took its place; 0: the built-in one is */
    double built_in, seconds; /* of the built-in schedule, of the one that is kept; 0: not known yet */
    bool ended;               /* nothing is left to try, or early stopping says so */
} tn_standing;

typedef struct tn_search tn_search;
typedef struct tn_search_options {
    const tn_machine *machine;
    const tn_sched_generator *generator;
    const tn_proposer *proposer;
    const tn_learner *learner; /* of a proposer that learns; NULL: the first one */
    tn_part_set fixed;         /* parts of schedules that are not searched */
    tn_changes changes;
    uint64_t seed;
    uint32_t trials;          /* of all tasks together */
    uint32_t early_stopping;  /* a task ends after so many trials without a gain; 0: never */
    bool evenly;              /* all tasks have the same number of trials */
    double seconds;           /* no batch begins after that; 0: no limit */
    double margin;            /* by which a new schedule must be faster: 0.01 */
    uint32_t n_past, n_group; /* of a proposer that learns */
    const tn_past *past;
    uint32_t *
        recalled; /* gets how many of them are learnt from: those that can still be made. NULL: nobody asks */
    void *user;
    /* After every trial, and where a point that had a time turns out to be wrong. NULL: nobody looks on. */
    void (*progress)(void *user, const tn_search *s, uint32_t task, const tn_point *p, const tn_trial *t);
    /* A point of a task is kept from now on; its picks and its trace are to be recorded. */
    void (*kept)(void *user, const tn_search *s, uint32_t task, const tn_point *p, const char *trace);
} tn_search_options;

/* Searches until trials, time or points are used up. Raises where the call is to end. false: the learner failed, or is
 * not there; why says so. What was kept before is. */
TN_WARN_UNUSED bool tn_search_run(const tn_search_options *o, const tn_meter *meter, uint32_t n,
                                  const tn_task task[], char why[TN_MODEL_WHY]);
/* For the callbacks. */
uint32_t tn_search_trials(const tn_search *s);
tn_standing tn_search_standing(const tn_search *s, uint32_t task);

#endif
