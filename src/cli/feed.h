#ifndef TN_CLI_FEED_H
#define TN_CLI_FEED_H
/* A model's inputs: from an .npz, and made up where it has none. And its outputs to an .npz. */
#include "cli/npz.h"
#include "tenon/runtime.h"

#include <stdbool.h>

typedef struct tn_feed {
    uint32_t n;
    tn_array
        *array; /* one per input, in the model's order, names not owned; without data where it is a value */
    bool takes_values; /* set before: inputs that are no tensors of numbers have their arrays in `part` */
    int n_part;
    tn_array *part; /* of values (cli/values.h), names owned */
} tn_feed;

/* Takes `npz` (NULL: none) and fills what it lacks by `mode`: "random", "zeros", "ones", or NULL: with an `npz`,
 * nothing may be missing; without, "random".
 *
 *   input   what the model takes; symbolic extents (-1) are bound by the arrays given, else 1, which is said on stderr
 *   random  integers of 8 bits or less: whole numbers, half of those from 0 on; others: in (-1, 1), cast. SplitMix64
 *           seeded with the input's index, so an input's values depend on its place, type and shape alone
 *   fails   printed: an array that is no input, or has another type or shape; missing inputs (the inputs are listed) */
int tn_feed_init(tn_feed *f, uint32_t n, const tnr_tensor_info input[], const char *npz, const char *mode);
void tn_feed_deinit(tn_feed *f);

/* "float32[1, 3, n]"; returns text. */
const char *tn_info_text(const tnr_tensor_info *info, char text[512]);
const char *tn_tensor_text(DLDataType type, int32_t ndim, const int64_t *shape, char text[512]);

/* minifloat.c. Floats of 8 bits or less: the number that a byte encodes; an encoding of a magnitude up to 1, of which
 * `part`, from 0 to 1, says how many lie below it. */
bool tn_is_minifloat(DLDataType type);
double tn_minifloat_value(DLDataType type, uint8_t byte);
uint8_t tn_minifloat_make(DLDataType type, bool minus, double part);

/* fill.c. Bytes of one element, 0 for types that are none of a tensor; less than 8 bits take one. */
size_t tn_element_bytes(DLDataType type);
/* Element i of out becomes v, rounded (whole numbers: cut) to type, which must have room for it. */
void tn_element_put(void *out, size_t i, DLDataType type, double v);
/* count elements of out; returns 0, or 1 for a type it cannot make. */
int tn_fill(void *out, DLDataType type, size_t count, const char *mode, uint64_t seed);
/* The tensor as an array under `name` (not copied), its data where they are, but bfloat16 as float32 in fresh memory.
 * Prints what fails. */
int tn_array_of(const char *name, const DLTensor *t, tn_array *out);

#endif
