#ifndef TN_TUNE_FEATURES_H
#define TN_TUNE_FEATURES_H
/* What a model of run times sees of a scheduled function: numbers of the two stores that run most often, and
 * of the whole.
 *
 * Of a store: how often it runs and its loops by kind; the accumulators inside of the innermost serial loop
 * and what that loop reads, by how the lanes lie in memory; what the loops touch, and how much of it comes
 * from beyond the first and the second cache. A loop's turns touch boxes of buffers, in whole lines; a box
 * that fits a cache with the others of its loop is read once. Amounts are logarithms (base 2). */
#include "tir/tir.h"

struct tn_machine;

/* The rows: of each store, then of the function. FEATURE(id, what it is) */
#define TN_FEATURES_STORE(FEATURE) \
    FEATURE(TURNS, "how often the store runs, lanes and all") \
    FEATURE(PARALLEL, "turns of parallel loops around it") \
    FEATURE(LANES, "turns of vector loops") \
    FEATURE(UNROLLED, "turns of unrolled loops") \
    FEATURE(TENSOR, "turns of loops of units") \
    FEATURE(INNER, "turns of the innermost serial loop") \
    FEATURE(REDUCES, "1: that loop moves what is read, not what is stored") \
    FEATURE(RESULTS, "elements stored to in one turn of it") \
    FEATURE(VECTORS, "loads in one turn of it whose lanes are neighbours") \
    FEATURE(SPLATS, "loads whose lanes are one element") \
    FEATURE(GATHERS, "loads and stores of lanes elsewhere") \
    FEATURE(TURN_BYTES, "what one turn of it touches") \
    FEATURE(LOOP_BYTES, "what all of its turns touch") \
    FEATURE(BYTES, "what all loops touch") \
    FEATURE(L1_BYTES, "what comes from beyond the first cache") \
    FEATURE(L2_BYTES, "what comes from beyond the second cache") \
    FEATURE(L1_REUSE, "TURNS without L1_BYTES") \
    FEATURE(NEAR_256, "what is touched by the last 256 turns or so") \
    FEATURE(NEAR_4096, "by the last 4,096") \
    FEATURE(NEAR_65536, "by the last 65,536") \
    FEATURE(LOOPS, "loops of more than one turn")
#define TN_FEATURES_WHOLE(FEATURE) \
    FEATURE(STORES, "stores") \
    FEATURE(REST, "turns of the stores that have no features of their own") \
    FEATURE(GLOBAL, "bytes of work memory") \
    FEATURE(LOCAL, "bytes of scratch") \
    FEATURE(REGISTER, "elements in registers") \
    FEATURE(MASKS, "conditions of stores, blocks and statements") \
    FEATURE(PREFETCHES, "prefetches")

enum {
#define FEATURE(id, doc) TN_FEATURE_##id,
    TN_FEATURES_STORE(FEATURE)
#undef FEATURE
        TN_N_STORE_FEATURES,
    TN_FEATURE_STORES_SEEN = 2,
    TN_FEATURE_WHOLE = TN_FEATURE_STORES_SEEN * TN_N_STORE_FEATURES - 1,
#define FEATURE(id, doc) TN_FEATURE_##id,
    TN_FEATURES_WHOLE(FEATURE)
#undef FEATURE
        TN_N_FEATURES
};

/* f, before it is lowered, where symbol[i] is sym[i]. The store of most turns comes first. */
void tn_features_of(const tn_func *f, const int64_t sym[], const struct tn_machine *m,
                    float out[TN_N_FEATURES]);

#endif
