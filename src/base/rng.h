#ifndef TN_BASE_RNG_H
#define TN_BASE_RNG_H
/* Random numbers: SplitMix64 (Steele, Lea, Flood 2014): same seed, same numbers, on every machine. */
#include <stdint.h>

typedef struct tn_rng {
    uint64_t state;
} tn_rng;
static inline uint64_t tn_rng_next(tn_rng *r)
{
    uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
static inline uint64_t tn_rng_below(tn_rng *r, uint64_t n)
{
    return n ? tn_rng_next(r) % n : 0;
} /* bias < n / 2^64 */
static inline double tn_rng_unit(tn_rng *r) { return (double)(tn_rng_next(r) >> 11) * 0x1p-53; } /* [0, 1) */

#endif
