#ifndef TENON_TUNE_H
#define TENON_TUNE_H
/* Tuning: searching for schedules that are faster than the built-in ones, by trying them on this machine.
 *
 *     tenon_tune_options o = {.size = sizeof o, .records = "net.records", .seconds = 60};
 *     tenon_tune(module, NULL, &o, &n, &task);
 *     tenon_options compile = {.size = sizeof compile, .tuning_records = "net.records"};
 *     tenon_build(module, &compile, "module.tar", NULL);
 *
 * A task is a workload: what kernels of the module compute that share a schedule. Conventions are those of
 * tenon/tenon.h.
 */
#include "tenon/tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tenon_pick { /* a choice of a schedule */
    const char *name;
    uint32_t n, index; /* of the candidates; the one that is taken */
    const char *const *candidate;
} tenon_pick;

typedef struct tenon_tune_operator { /* a call of an operator in a kernel */
    const char *name, *attributes;   /* as those of a tenon_node (tenon/relay.h) */
    uint32_t n_operand;
    const char *const *type; /* of each operand, as Relay writes it; NULL: it is absent */
} tenon_tune_operator;

typedef struct tenon_tune_task { /* fields may be added at the end */
    const char *name, *nodes;    /* of its first kernel; the model's nodes of that */
    uint64_t workload;           /* the same in all models and versions */
    uint32_t calls;              /* in a run of the model */
    int chosen;                  /* 1: it is one of those that the options say */
    double points;               /* of its space, where `exact` is 0 about */
    int exact;
    double operations;       /* of a call; 0: not known */
    double peak_seconds;     /* that a call needs at the machine's peak or, if that is more, for its memory */
    const char *built_in;    /* what the built-in schedule says of itself: "rule gemm: ..." */
    uint32_t trials, failed; /* failed: of these, the ones that were refused, crashed or gave wrong results */
    double built_in_seconds; /* of a call, by the built-in schedule; 0: not timed */
    double seconds;          /* by the one that was found, timed in turn; without a gain the built-in one's */
    const char *picks;       /* of the one that was found, lines of "name = value"; NULL: no gain */
    double compiling, timing; /* seconds that its trials took, one beside the other */
    const char *why;          /* why nothing was tried, or why the last trial without a time has none; NULL */
    uint32_t n_operator, n_pick;
    const tenon_tune_operator *operators; /* of its first kernel, in order; of templates none */
    const tenon_pick *pick; /* of the built-in schedule; what else there is to choose may depend on these */
} tenon_tune_task;

typedef struct tenon_record { /* fields may be added at the end */
    uint64_t workload;
    const char *machine;      /* architecture, caches and features of the machines that it counts on */
    uint32_t threads, trials; /* that it was timed on; of the search until then */
    double seconds, built_in_seconds, operations; /* of a call */
    const char *name;                             /* of the kernel */
    const char *generator;                        /* what made the schedule from the picks, */
    uint32_t version;                             /* and its version */
    const char *picks, *trace;                    /* lines of "name = value"; the steps */
    const char *function; /* before scheduling, as text (docs/tir.md); NULL: not known, as in older files */
} tenon_record;

enum tenon_trial_fate {
    TENON_TRIAL_TIMED,
    TENON_TRIAL_REFUSED, /* a step is, or what it makes cannot be compiled */
    TENON_TRIAL_WRONG,   /* its results are wrong; told of a trial that had a time before, too */
    TENON_TRIAL_CRASHED, /* it ended its process, or ran out of memory */
    TENON_TRIAL_ENDLESS
};

typedef struct tenon_tune_progress { /* fields may be added at the end */
    double elapsed;
    uint32_t trials, task, n_task; /* so far; the task that the last one was of */
    const tenon_tune_task *tasks;  /* n_task; valid in the call */
    double seconds;                /* of the trial that ended; 0: it has no time, or a gain is told */
    const char
        *picks; /* of the trial that ended: what it chose, lines of "name = value"; NULL: a gain is told */
    const char *why;            /* why it has no time, or is wrong; NULL: it has */
    int fate;                   /* enum tenon_trial_fate */
    uint64_t number;            /* of the trial's point, or of the one that is the gain: tenon_tune_point */
    const tenon_record *record; /* the gain that is told; NULL: a trial is */
} tenon_tune_progress;

struct tenon_kernel;                      /* tenon/te.h */
typedef struct tenon_config tenon_config; /* a map of choices; below */

/* A rule of sketches: with generator "sketch", a further schedule of the functions that it applies to, as a user's
 * rules are for Ansor (Zheng et al. 2020, section 4.1). k is the function before any steps: tenon_kernel_inspect says
 * what is in it. `apply` makes the schedule by steps (tenon_step), and may declare choices on its way
 * (tenon_config_choose and the like), which are searched too; what it returns is 0, or another value where there
 * is no schedule. Both are called by the thread of the search's call, with the session of k, and must not use that of
 * the search. */
enum tenon_sketch_condition {
    TENON_SKETCH_PASS, /* the rule does not apply */
    TENON_SKETCH_APPLY, /* its schedule is one of the function's sketches; blocks without steps follow by rule */
    TENON_SKETCH_APPLY_ALONE /* in place of the built-in sketches and of those of later rules */
};
typedef struct tenon_sketch_rule {
    const char *name; /* a word: what the choice `sketch` is then */
    int (*condition)(void *user, tenon *t, struct tenon_kernel *k); /* NULL: TENON_SKETCH_APPLY */
    int (*apply)(void *user, tenon *t, struct tenon_kernel *k, tenon_config *c);
    void *user;
} tenon_sketch_rule;

/* What a candidate passes through before it is tried, with generator "sketch". k is the function before any steps, and
 * `steps` those of the candidate: the call does them (tenon_step), and may do more, or others. What it returns is 0, or
 * another value where the candidate is to be left out. Called as the functions of a rule are. */
typedef struct tenon_postproc {
    int (*apply)(void *user, tenon *t, struct tenon_kernel *k, const char *steps);
    void *user;
} tenon_postproc;

/* A change of a schedule that tuners ga and xgb make beside their own, as MetaSchedule's mutators do. `pick` are the n
 * choices of one of the fastest schedules so far, in the order in which they were made; index[] has the numbers of
 * their candidates, and the call writes there what is to be others. Choices that only come with a changed one are made
 * at random, and those that go with it are left out. What it returns is 0, or another value where it has no change;
 * then a random schedule is tried. seed: for what it draws, the same in a search with the same seed and times. Called
 * as the functions of a rule are. */
typedef struct tenon_mutator {
    double
        odds; /* that a change is this one, beside the odds of the parts, which are 1 together by default */
    int (*apply)(void *user, uint64_t seed, uint32_t n, const tenon_pick pick[], uint32_t index[]);
    void *user;
} tenon_mutator;

typedef struct tenon_tune_options { /* NULL for one: all members are zero */
    size_t size;                    /* sizeof(tenon_tune_options) */
    const char *records;            /* file or folder that what is found is added to; NULL: none */
    const char
        *prior; /* file or folder of records that are tried first, besides `records`, and that teach a tuner
                        * that learns, of whatever kernels they are; NULL: none. Of a database of TVM the tile
                        * sizes are tried (docs/tuning.md) */
    const char *tasks;       /* "all", "0,3-5,7-", or parts of names; NULL: all */
    const char *tuner;       /* tenon_tuner_name; NULL: the first of them */
    uint32_t trials;         /* of all tasks together; 0: 64 for each */
    uint32_t early_stopping; /* a task ends after so many trials without a gain; 0: never */
    int evenly;     /* 1: all tasks have the same number of trials; 0: most go where most is to be gained */
    double seconds; /* the search ends after that; 0: no limit */
    double repeat_seconds; /* a candidate is run again for so long; 0: 0.004 */
    double timeout;        /* seconds after which a candidate is given up; 0: 10 */
    int threads;           /* that a kernel runs on; 0: 1 */
    int reserved0;         /* 0 */
    uint64_t seed;         /* the same seed proposes the same where the same is measured */
    void (*progress)(void *user,
                     const tenon_tune_progress *p); /* after each trial and each gain; NULL: not called */
    void *progress_user;
    const char *generator; /* "rules" or "sketch": whose schedules are searched; NULL: rules */
    uint32_t n_rule;       /* rules of sketches: at most 8 */
    int reserved1;         /* 0 */
    const tenon_sketch_rule *rule;
    const char *
        fixed; /* parts of schedules (tenon_part_name) that are not searched: "location,unroll". NULL: none */
    const char
        *odds; /* that a change of a schedule is one of these parts: "tile=0.9,parallel=0.1"; others are not
                        * changed. NULL: each choice is as likely as the others */
    const char
        *near; /* numbers that choices of these roles (docs/schedule.md) should be near, as of another search:
                       * "rows=14,vectors=2". The nearest schedule is tried early. NULL: none */
    uint32_t n_postproc; /* one after the other: at most 8 */
    int reserved2;       /* 0 */
    const tenon_postproc *postproc;
    uint32_t n_mutator; /* at most 8 */
    int reserved3;      /* 0 */
    const tenon_mutator *mutator;
    /* What tuners that learn learn by: "trees", which the library has, or "xgboost", for which it opens libxgboost, or
     * the file that $TENON_XGBOOST names; driver-E206 where that cannot be done, before anything is searched. NULL:
     * trees */
    const char *cost_model;
} tenon_tune_options;

/* The module's tasks, without trying anything. */
int tenon_tune_list(tenon_module *m, const tenon_options *o, const tenon_tune_options *t, uint32_t *out_n,
                    const tenon_tune_task **out);
/* Searches; the tasks as they stand in the end. What was found before a call that was ended early is in the file. */
int tenon_tune(tenon_module *m, const tenon_options *o, const tenon_tune_options *t, uint32_t *out_n,
               const tenon_tune_task **out);
/* Searches what passes choose for the graph as a whole: algorithms, layouts, and what is one kernel (docs/schedule.md,
 * "Choices of the graph"). All sizes of the inputs are known (driver-E195), and are numbers where the options give
 * input_shapes. Each trial compiles the model at another point and times it, on `threads`, in turn with the best one so
 * far; outputs have to agree. `records` and the user's own file get what is found, which counts for this graph alone;
 * then tasks are those of the graph as it is recorded, so their search comes after this one. Of the options,
 * those about tasks and schedules are not looked at; trials is 64 by default, also where there is no limit of
 * time. The result is called "graph": its times are of a run of the model. In progress it is the only task. */
int tenon_tune_graph(tenon_module *m, const tenon_options *o, const tenon_tune_options *t,
                     const tenon_tune_task **out);
/* The choices of the first task of `tasks` at the point of its space that has this number. The digits of a number are
 * the indices of the choices, and the one that is made first has the lowest: 0 is the built-in schedule (of sketches:
 * the default one). Numbers are not dense, because choices may depend on those before them; what the last one leaves
 * over is dropped. *out is valid until the next call on m's session. */
int tenon_tune_point(tenon_module *m, const tenon_options *o, const tenon_tune_options *t, uint64_t number,
                     uint32_t *out_n, const tenon_pick **out);

/* ---- kernels ---- */

/* Searches schedules for the function of a kernel, whatever steps it has, which stay. `tasks` of the options is not
 * looked at. Records are as those of a module's kernels: tenon_kernel_rule takes them, and the builds of a module that
 * has a kernel of the same workload. *out is valid until the next call on k's session. */
int tenon_tune_kernel(struct tenon_kernel *k, const tenon_options *o, const tenon_tune_options *t,
                      const tenon_tune_task **out);

/* ---- templates ----
 *
 * A template makes a kernel and its schedule from choices that it declares on its way, as those of AutoTVM do (Chen et
 * al. 2018, "Learning to optimize tensor programs"):
 *
 *     static int matmul(void *user, tenon *t, tenon_config *c)
 *     {
 *         int64_t rows[2], columns[2];
 *         char steps[200];
 *         tenon_kernel *k = ...; // of t: tensors, tenon_kernel_end
 *         int failed = !k || tenon_config_split(c, "rows", 512, 2, 0, rows) ||
 *                      tenon_config_split(c, "columns", 512, 2, 64, columns) ||
 *                      write_steps(steps, rows[1], columns[1]) || // "i j r = loops \"out\"\nio ii = split i 4 ..."
 *                      tenon_step(k, steps) || tenon_config_end(c, k);
 *         tenon_kernel_free(k);
 *         return failed;
 *     }
 *
 * It must compute the same whatever is chosen. Choices may depend on those before them. */
/* The index of the candidate that is chosen, by default 0. Candidates are different words without blanks, '=' and '#',
 * at most 65,536. The same name has the same candidates each time. Fails where something else is chosen (driver-E167),
 * and for candidates that are none (driver-E168). */
int tenon_config_choose(tenon_config *c, const char *name, uint32_t n, const char *const candidate[],
                        uint32_t *out_index);
/* The extents of n loops, 1 to 16, that one of `extent`, 1 to 2^31 - 1, is split into, outermost first: their product
 * is the extent, and the innermost is at most `most` (0: any). By default everything is in the outermost. The value is
 * written as those of the inner ones, "4x16". Fails as above, also where there are more ways than candidates may be. */
int tenon_config_split(tenon_config *c, const char *name, int64_t extent, uint32_t n, int64_t most,
                       int64_t out[]);

/* What the candidates of the three calls below are. Members that a call does not name are not looked at. Such a call
 * fails as those above, where there is no such policy (driver-E208; it says which there are, and for those of AutoTVM
 * that are not here, what to do instead), and where no candidate is left (driver-E209). */
typedef struct tenon_knob {   /* NULL for one: all members are zero. Fields may be added at the end */
    size_t size;              /* sizeof(tenon_knob) */
    const char *policy;       /* NULL: the first that the call lists */
    uint32_t n_candidate;     /* of the policy "candidate": the user's own, one or more, */
    int no_tail;              /* split_by: 1: only where the extents multiply to that of the loop */
    const int64_t *candidate; /* [n_candidate, n] */
    int64_t max_factor;       /* split_by: of each inner loop; 0: any */
    uint32_t begin, end;      /* reorder, "interval_all": loops begin to end - 1; 0, 0: see there */
    /* 0: the candidate, n numbers, is left out. Called in the call, for at most 4 million; it must not use the session.
     * NULL: all stay */
    int (*keep)(void *user, uint32_t n, const int64_t candidate[]);
    void *user;
} tenon_knob;

/* As tenon_config_split, by other policies: "factors" of the extent; "power2", powers of 2 up to it; "verbose", both of
 * them; "candidate". The last three may leave a rest: the outermost extent is then rounded up, and `split` of
 * tenon_step masks what is beyond. Of a candidate the first number is -1, what the inner ones leave, or an extent of
 * its own, which the value then begins with. */
int tenon_config_split_by(tenon_config *c, const char *name, int64_t extent, uint32_t n,
                          const tenon_knob *how, int64_t out[]);
/* An order of n loops, up to 16: out[i] is the number, from 0 on, of the one that comes to place i, outermost first.
 * Policies: "all", for up to eight loops; "identity"; "interval_all": any order of loops begin to end - 1, where the
 * others keep their places; without an interval, each order in which two runs of loops beside each other have changed
 * places; "candidate". By default they stay as they are. The value is written "0,2,1". */
int tenon_config_reorder(tenon_config *c, const char *name, uint32_t n, const tenon_knob *how,
                         uint32_t out[]);

enum tenon_annotation { TENON_ANNOTATION_NONE, TENON_ANNOTATION_UNROLL, TENON_ANNOTATION_VEC };
/* What becomes of n loops, up to 16, outermost first: out[i] is an enum tenon_annotation. Policies say what each loop
 * may be, where `try` is none, and a vector is the innermost loop alone: "try_unroll_vec", "try_unroll", "try_vec",
 * "unroll_vec"; "none", "unroll" and "vec" are that of all loops; "candidate". The first is the default. The value is
 * written "none,unroll,vec". */
int tenon_config_annotate(tenon_config *c, const char *name, uint32_t n, const tenon_knob *how,
                          uint32_t out[]);

/* The kernel as it stands is what the template makes; of several calls the last one counts. It stays the caller's.
 * Fails where tenon_kernel_end was not called, or failed (driver-E171). */
int tenon_config_end(tenon_config *c, struct tenon_kernel *k);

/* For calls of a template by hand. picks: lines of "name = value", for what is not to be the default; NULL: nothing. */
tenon_config *tenon_config_new(tenon *t, const char *picks);
const char *tenon_config_picks(tenon_config *c); /* all choices so far; until the next such call */
void tenon_config_free(tenon_config *c);         /* before tenon_free, to save memory; NULL does nothing */

/* 0, or another value where these choices make no kernel, which is then a trial without a time. */
typedef int tenon_template_fn(void *user, tenon *t, tenon_config *c);
/* Searches for the choices that make the fastest kernel; `make` is called with a session of its own, by the thread of
 * this call, and must not use `t`. `tasks` of the options is not looked at. *out is valid until the next call on t.
 * Fails with driver-E164 and E165 as tenon_tune does, and where the first candidates make no kernel (driver-E169). A
 * record holds the choices and the steps. The user's own file of records is neither read nor added to: the built-in
 * schedule of the same workload may be faster than the template's. */
int tenon_tune_template(tenon *t, const char *name, tenon_template_fn *make, void *user,
                        const tenon_options *o, const tenon_tune_options *tune, const tenon_tune_task **out);

/* ---- records ----
 *
 * A file has a record a line, or is a database of SQLite: one that is there shows it by its content, a new one by its
 * name, which ends with .db, .sqlite or .sqlite3. A path that is a folder's, or ends with `/`, stands
 * everywhere for the pair of files that MetaSchedule keeps records in, database_workload.json and
 * database_tuning_record.json. */

/* The records of a file, in its order. path NULL: the user's own, $TENON_RECORDS, or the database tenon/records.db in
 * $XDG_DATA_HOME (~/.local/share); none where there is no such file. Until somebody writes to that database,
 * its records are those of tenon/records.jsonl, which earlier versions kept. */
int tenon_records_list(tenon *t, const char *path, uint32_t *out_n, const tenon_record **out);
/* The path of the user's own, into `out`; 0: there is none, or it has more than `room` bytes. */
int tenon_records_path(char *out, size_t room);
/* Add what the file `from` has and `path` has not. */
int tenon_records_merge(tenon *t, const char *path, const char *from, uint32_t *out_added);
/* Keep the fastest ones of each workload, machine and number of threads: so many, 0: one. Those whose steps are refused
 * since a rule or step has changed go, where the file tells the function. */
int tenon_records_prune(tenon *t, const char *path, uint32_t keep, uint32_t *out_dropped);

/* By index, NULL after the last. */
const char *tenon_tuner_name(size_t i, const char **out_doc);
/* Parts of schedules: what a choice decides. */
const char *tenon_part_name(size_t i, const char **out_doc);

#ifdef __cplusplus
}
#endif
#endif
