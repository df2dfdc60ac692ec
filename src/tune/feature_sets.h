#ifndef TN_TUNE_FEATURE_SETS_H
#define TN_TUNE_FEATURE_SETS_H
/* What a model of run times may see of a candidate, a row each: Tenon's own features (features.h), and those of AutoTVM
 * (Chen et al. 2018, "Learning to optimize tensor programs", section 3.2), counted in Tenon's loops.
 *
 * Each set has the same number of numbers for all candidates; what a candidate does not have is 0, and -1 in `knob`.
 * Amounts are logarithms (base 2, of one more), but the picks of `knob`. Loops of one turn are none. */
#include "base/picks.h"
#include "tune/features.h"

/* `itervar`: the two stores that run most often; of each its operations, then its loops, the innermost first. */
enum { TN_ITERVAR_STORES = 2, TN_ITERVAR_LOOPS = 10, TN_ITERVAR_BUFFERS = 4 };
#define TN_ITERVAR_STORE(FEATURE) \
    FEATURE(ADDS, "additions, subtractions and comparisons in what is stored, as a number") \
    FEATURE(MULS, "multiplications") \
    FEATURE(DIVS, "divisions and remainders")
#define TN_ITERVAR_LOOP(FEATURE) \
    FEATURE(LENGTH, "its turns") \
    FEATURE(LEVEL, "loops around it, and itself, as a number") \
    FEATURE(TOPDOWN, "turns of these") \
    FEATURE(BOTTOMUP, "turns of itself and the loops inside") \
    FEATURE(SERIAL, "1: it is of this kind") \
    FEATURE(PARALLEL, "") \
    FEATURE(VECTOR, "") \
    FEATURE(UNROLLED, "") \
    FEATURE(TENSOR, "")
/* Of each buffer: what is stored to first, then what is loaded, in that order. */
#define TN_ITERVAR_BUFFER(FEATURE) \
    FEATURE(STRIDE, "elements between two turns of the loop") \
    FEATURE(COUNT, "turns of itself and loops inside that move the access: what they touch") \
    FEATURE(REUSE, "turns of the others: how often they touch it")

/* `curve`: of the store that runs most often, for each of four accesses four relations between what a loop and those
 * inside of it make: at x = 0, 1, ... 19 the y of the outermost loop with at most that x, and how far below x that
 * loop's lies. */
enum { TN_CURVE_BUFFERS = 4, TN_CURVE_SAMPLES = 20 };
enum tn_curve {
    TN_CURVE_REUSE_BY_COUNT, /* y by x, both log2: turns that touch the same again; elements touched */
    TN_CURVE_COUNT_BY_REUSE,
    TN_CURVE_TURNS_BY_COUNT, /* turns */
    TN_CURVE_COUNT_BY_TURNS,
    TN_N_CURVES
};

enum {
#define FEATURE(id, doc) TN_ITERVAR_##id,
    TN_ITERVAR_STORE(FEATURE)
#undef FEATURE
        TN_N_ITERVAR_STORE
};
enum {
#define FEATURE(id, doc) TN_ITERVAR_##id,
    TN_ITERVAR_LOOP(FEATURE)
#undef FEATURE
        TN_N_ITERVAR_LOOP
};
enum {
#define FEATURE(id, doc) TN_ITERVAR_##id,
    TN_ITERVAR_BUFFER(FEATURE)
#undef FEATURE
        TN_N_ITERVAR_BUFFER
};
enum {
    TN_N_ITERVAR_OF_LOOP = TN_N_ITERVAR_LOOP + TN_ITERVAR_BUFFERS * TN_N_ITERVAR_BUFFER,
    TN_N_ITERVAR_OF_STORE = TN_N_ITERVAR_STORE + TN_ITERVAR_LOOPS * TN_N_ITERVAR_OF_LOOP,
    TN_N_ITERVAR = TN_ITERVAR_STORES * TN_N_ITERVAR_OF_STORE,
    TN_N_CURVE_OF_BUFFER = TN_N_CURVES * TN_CURVE_SAMPLES * 2,
    TN_N_CURVE = TN_CURVE_BUFFERS * TN_N_CURVE_OF_BUFFER,
    TN_N_KNOBS = 64
};

/* The columns of `knob`, as the points of a task fill them: a choice that none had before takes the next one. */
typedef struct tn_knobs {
    uint32_t n;
    uint64_t name[TN_N_KNOBS]; /* hashes */
} tn_knobs;

/* A candidate. */
typedef struct tn_featured {
    const tn_func *func; /* before it is lowered, where symbol[i] is sym[i] */
    const int64_t *sym;
    const struct tn_machine *machine;
    uint32_t n_pick;
    const tn_pick *pick;
    tn_knobs *knobs; /* of its task */
} tn_featured;

typedef struct tn_feature_set {
    const char *name, *doc;
    uint32_t n;
    bool alone; /* the numbers of two tasks have nothing in common */
    void (*of)(const tn_featured *x, float out[]);
} tn_feature_set;
enum { TN_FEATURES_OWN, TN_FEATURES_ITERVAR, TN_FEATURES_KNOB, TN_FEATURES_CURVE, TN_N_FEATURE_SETS };
extern const tn_feature_set tn_feature_sets[TN_N_FEATURE_SETS];

void tn_itervar_of(const tn_featured *x, float out[TN_N_ITERVAR]); /* loop_features.c */
void tn_curve_of(const tn_featured *x, float out[TN_N_CURVE]);

#endif
