#ifndef TN_TUNE_ARGUMENTS_H
#define TN_TUNE_ARGUMENTS_H
/* Memory for calls of one kernel outside of a program: inputs of random numbers, and outputs. */
#include "base/rng.h"
#include "tir/tir.h"

typedef struct tn_argument {
    const tn_buffer *buffer;
    int n;                               /* physical axes */
    int64_t dim[TN_LAYOUT_MAX_AXES];     /* their extents */
    int64_t logical[TN_LAYOUT_MAX_DIMS]; /* extents of the buffer's dimensions */
    size_t count, bytes;                 /* elements, and their bytes without slack */
    unsigned char *at;                   /* zeroed, or filled; belongs to the thread's heap */
} tn_argument;

/* Parameter number i of f, where its symbols have these values. Outputs are 0. Inputs are random: floats in
 * [-0.5, 0.5), bytes below 128, other integers 0 or 1, because they may be indices; what a layout adds has
 * the layout's fill. false: it has no such size, or does not fit into memory. */
TN_WARN_UNUSED bool tn_argument_init(tn_argument *a, const tn_func *f, uint32_t i, const int64_t sym[],
                                     tn_rng *rng);
/* A row-major tensor of b's dtype and these extents, random as above; rng NULL: zeros. b is kept. */
TN_WARN_UNUSED bool tn_argument_dense(tn_argument *a, const tn_buffer *b, int n, const int64_t dim[],
                                      tn_rng *rng);
/* a, which is a constant, as parameter i of f has it, whose schedule has laid it out; 0 in cells that this adds. */
TN_WARN_UNUSED bool tn_argument_as(const tn_argument *a, const tn_func *f, uint32_t i, const int64_t sym[],
                                   tn_argument *out);
void tn_argument_deinit(tn_argument *a);
/* As much memory again, with the same contents. NULL: memory is exhausted. */
unsigned char *tn_argument_copy(const tn_argument *a);

typedef struct tn_difference {
    double worst, largest; /* absolute error; magnitude of what was expected */
} tn_difference;
/* Of a's elements from `expected`, which has a's layout. Cells outside the logical shape may hold anything. */
tn_difference tn_argument_compare(const tn_argument *a, const unsigned char *expected);
/* Schedules change the order of sums alone: integers are equal, floats differ by a share of the largest. */
bool tn_argument_agrees(const tn_argument *a, tn_difference d);

#endif
