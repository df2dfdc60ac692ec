#ifndef TN_TUNE_MEASURE_H
#define TN_TUNE_MEASURE_H
/* How long candidates take, and whether they compute what they should.
 *
 * A candidate is a trace for a function of a table. Workers, child processes that are copies of this one, apply the
 * trace, compile the loops into themselves and run them, so that a candidate that crashes or does not end costs one
 * trial. Of two workers one compiles while the other one times: only one times at a time. Where that disturbs the times
 * (tn_measurer_probe), who times waits until nobody compiles. Constants are not in the second cache when a kernel
 * begins, nor in any if they are `far`, and lie as the schedule says before it is timed.
 *
 *     tn_measurer *m = tn_measurer_new(&options, n, workload);
 *     while (there are candidates or trials under way)
 *         if (tn_measurer_room(m) > 0 && there is one)
 *             tn_measurer_add(m, &candidate);
 *         else if (tn_measurer_next(m, &trial))
 *             ...
 *     tn_measurer_end(m);
 */
#include "codegen/codegen.h"
#include "schedule/schedule.h"

typedef struct tn_workload {
    const tn_func *func; /* blocks; it and its context stay as they are while the measurer lives */
    const int64_t *sym;  /* of its symbols; NULL: there are none */
    double operations;   /* of a call, roughly: what takes long is not interpreted to learn what is right */
} tn_workload;

typedef struct tn_measure_options {
    const tn_machine *machine;
    const tn_generator *generator; /* one with `here` */
    const tn_pipeline *pipeline;
    const char *const *feature;
    uint32_t n_feature;
    uint32_t workers;     /* 0: two if there are two CPUs, else one */
    int32_t threads;      /* that a kernel runs on */
    double least_seconds; /* a candidate is run again for so long */
    double most_seconds;  /* after which it is taken not to end */
    bool far;             /* constants come from memory: the model's may not fit into the last cache */
    double slower;        /* one so many times slower than its rival is not run again; 0: it is */
    uint64_t seed;        /* of the inputs */
} tn_measure_options;

enum { TN_MEASURE_QUEUE = 2 }; /* trials that a worker has at once, so that it need not wait */

typedef struct tn_candidate {
    uint32_t workload;
    uint64_t number;   /* comes back with the trial */
    const char *trace; /* text; copied */
    double rival;      /* seconds of the best one so far; 0: none */
    bool check;        /* its results are compared with those of the function as it is */
} tn_candidate;

enum tn_trial_fate {
    TN_TRIAL_TIMED,
    TN_TRIAL_REFUSED, /* a step of the trace is, or what it makes cannot be lowered or compiled */
    TN_TRIAL_WRONG,   /* its results are not those of the function; it has times */
    TN_TRIAL_CRASHED, /* it ended its worker, or ran out of memory */
    TN_TRIAL_ENDLESS
};

typedef struct tn_trial {
    uint32_t workload, runs; /* runs: that were timed */
    uint64_t number;
    uint8_t fate; /* enum tn_trial_fate */
    bool stopped; /* for being slower than its rival, perhaps in its only run */
    double seconds,
        median; /* of a call: the least, and the median; of one that was ended early, until then */
    double compile, running; /* what the trial itself took */
    char why[256];           /* one sentence, where it was not timed or is wrong */
} tn_trial;

typedef struct tn_measurer tn_measurer;
/* It belongs to the thread's heap, and its thread must live as long. NULL: no process can be started; *out_error is
 * errno. */
tn_measurer *tn_measurer_new(const tn_measure_options *o, uint32_t n, const tn_workload workload[],
                             int *out_error);
void tn_measurer_end(tn_measurer *m); /* NULL is ignored */

uint32_t tn_measurer_room(const tn_measurer *m); /* candidates that can be added before one is waited for */
void tn_measurer_add(tn_measurer *m, const tn_candidate *c); /* there is room */
/* Waits for a trial to end, whichever; false: none is under way. Raises where the call is to end. */
bool tn_measurer_next(tn_measurer *m, tn_trial *out);
/* Times a candidate alone and while another worker compiles; no trial is under way. From then on workers disturb each
 * other no more than by the share `most`. Returns the share by which they did, 0 with one worker. */
double tn_measurer_probe(tn_measurer *m, const tn_candidate *c, double most);

#endif
