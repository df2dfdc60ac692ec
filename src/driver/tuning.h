#ifndef TN_DRIVER_TUNING_H
#define TN_DRIVER_TUNING_H
/* A search through the public API: options, what was found before, trials, what is written down. Its tasks come from a
 * module (tune.c) or from a function of the user (template.c). */
#include "driver/api.h"
#include "schedule/space.h"
#include "tenon/tune.h"
#include "tune/search.h"

enum { TN_MOST_WISHES = 8 };
typedef struct tn_tuning {
    tn_build *b;
    tenon_tune_options o;
    const tn_sched_generator *maker; /* of the points of its tasks */
    uint32_t n;                      /* tasks */
    tenon_tune_task *task;
    const tn_sched **built_in;    /* their default schedules */
    const tn_workload **load;     /* their functions */
    tn_task *search;              /* first n_chosen: of those chosen */
    uint32_t n_chosen, *chosen;   /* their numbers */
    double begin, constant_bytes; /* the latter: of all tasks, in a run of the model */
    const tn_learner *learner;    /* what a tuner that learns learns by */
    tn_part_set fixed;            /* parts that are not searched */
    double odds[TN_N_PART];
    tn_changes changes;
    uint32_t n_wish; /* what choices should be near */
    tn_wish wish[TN_MOST_WISHES];
    uint32_t n_met;                        /* choices that are near such a number, of all tasks */
    bool has_rival;                        /* the built-in schedules are another generator's */
    bool no_records;                       /* the user's own file is left alone */
    bool is_known;                         /* what was found before is in b->records */
    const char *home;                      /* that file; NULL: none */
    size_t first_prior, end_prior;         /* places in b->records.all: those that are to teach */
    uint32_t n_past, n_past_group;         /* what they teach; groups */
    uint32_t n_past_unknown, n_past_older; /* left out: of functions that nobody knows; as others are newer */
    const tn_past *past;
    tn_status status; /* of writing records */
} tn_tuning;

/* Reads options (NULL: none). g: what makes points; NULL: what the options say. driver-E165, E186, E205, E206. The
 * session's build has its target's options. */
TN_WARN_UNUSED tn_status tn_tuning_begin(tn_tuning *t, tn_build *b, const tn_sched_generator *g,
                                         const tenon_tune_options *o);
TN_WARN_UNUSED tn_status tn_tuning_parts(tn_tuning *t); /* a part of the above; driver-E190, E192 */
/* Mutators of the options become changes: driver-E197, E198. */
TN_WARN_UNUSED tn_status tn_tuning_mutators(tn_tuning *t);
void tn_tuning_tell_mutators(tn_tuning *t); /* after a search: what they gave that is none, driver-W007 */
/* The point that the options want tried early; NULL: none. */
const tn_picks *tn_tuning_near(tn_tuning *t, const tn_task *k);
/* That of a task whose choices are near these numbers; *out_n: how many are. NULL: none. */
const tn_picks *tn_tuning_point(tn_tuning *t, const tn_task *k, uint32_t n, const tn_wish wish[],
                                uint32_t *out_n);
void tn_tuning_tell_near(tn_tuning *t); /* after all tasks: driver-W006 where none has such a choice */
/* The point near the tile sizes of the records of TVM that fit the task; NULL: none do, or no choice is of them. */
const tn_picks *tn_tuning_tvm(tn_tuning *t, const tn_task *k);
void tn_tuning_tell_tvm(tn_tuning *t); /* after all tasks: driver-W003 where records fit none */
/* Logs of AutoTVM have 1e9 seconds where there is no time. */
static inline bool tn_tuning_has_time(const tn_record *r) { return r->seconds < 1e8; }
/* tune_past.c: what records teach a tuner that learns; after a search, how many did: driver-N003. */
void tn_tuning_recall(tn_tuning *t);
void tn_tuning_tell_past(tn_tuning *t, uint32_t recalled);
/* Values of f's symbols at which it is timed, in b's arena. */
const int64_t *tn_tuning_nominal(tn_build *b, const tn_func *f);
/* Room for n tasks, */
void tn_tuning_tasks(tn_tuning *t, uint32_t n);
/* each of which is described, where `x` has name, nodes, workload and calls; constant: as of a tn_workload. */
void tn_tuning_describe(tn_tuning *t, uint32_t i, const tenon_tune_task *x, const tn_sched *built_in,
                        const tn_func *f);
/* Picks as the public API shows them, in an arena. */
const tenon_pick *tn_tuning_picks(uint32_t n, const tn_pick pick[], tn_arena *arena);
void tn_tuning_choose(tn_tuning *t); /* those with `chosen` */
/* Reads what was found before; tn_tuning_prior does where nobody did. */
TN_WARN_UNUSED tn_status tn_tuning_known(tn_tuning *t);
/* What was found before, and can files be written? */
TN_WARN_UNUSED tn_status tn_tuning_prior(tn_tuning *t);
void tn_tuning_write(tn_tuning *t, const tn_record *r);  /* to the files of records; t->status */
TN_WARN_UNUSED tn_status tn_tuning_search(tn_tuning *t); /* driver-E164, E207 */

#endif
