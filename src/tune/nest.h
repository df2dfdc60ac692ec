#ifndef TN_TUNE_NEST_H
#define TN_TUNE_NEST_H
/* What is counted in a scheduled function: its stores, the loops around each, and what these touch.
 *
 * A loop's turns touch boxes of buffers, in whole lines. Numbers of turns, elements and bytes are doubles: nothing that
 * is learnt from them needs their last digits. */
#include "tir/tir.h"

enum { TN_NEST_LOOPS = 24, TN_NEST_DIMS = 6, TN_NEST_ACCESSES = 16 };

typedef struct tn_access {
    uint32_t buffer;
    bool writes;
    int n_dim, bytes;                        /* of an element */
    double extent[TN_NEST_DIMS];             /* of the buffer */
    float step[TN_NEST_DIMS][TN_NEST_LOOPS]; /* of an index, by loop; HUGE_VALF: anywhere */
} tn_access;

typedef struct tn_nest { /* of a store */
    const tn_func *f;
    const int64_t *sym;
    const tn_stmt *store; /* NULL: there is none */
    int n;
    const tn_stmt *loop[TN_NEST_LOOPS]; /* outermost first */
    double extent[TN_NEST_LOOPS], turns;
    int n_access;
    tn_access access[TN_NEST_ACCESSES]; /* what is stored to first, then loads; each buffer and index once */
} tn_nest;

/* What stands in a function. */
typedef struct tn_survey {
    uint32_t stores, masks,
        prefetches; /* stores that initialise a reduction are none; conditions of any kind */
    double turns;   /* of all stores */
} tn_survey;

float tn_amount(double x); /* log2(1 + x) */
/* The value of e where symbol[i] is sym[i]; of what only the run knows, 16. */
double tn_nest_value(const tn_func *f, const int64_t sym[], const tn_expr *e);
/* The n stores of f that run most often, the most frequent one first, with their accesses; where there are fewer, the
 * others have no store. */
tn_survey tn_nests_of(const tn_func *f, const int64_t sym[], int n, tn_nest most[]);
bool tn_access_moves(const tn_access *a, int loop); /* elements by the loop of that number */
double tn_nest_touched(const tn_nest *x, int from); /* bytes by the loops from that number on, in memory */

/* Bytes of each parameter that a call touches, at most: of a table not more than is read of it. Those of statements
 * that seldom run may be 0. */
void tn_nest_parameters(const tn_func *f, const int64_t sym[], double out[]);

#endif
