#ifndef TN_BASE_SHA256_H
#define TN_BASE_SHA256_H
/* SHA-256 (FIPS 180-4): names of things by their content. No allocation. */
#include <stddef.h>
#include <stdint.h>

typedef struct tn_sha256 {
    uint32_t h[8];
    uint64_t n;
    uint8_t block[64];
} tn_sha256;

void tn_sha256_init(tn_sha256 *s);
void tn_sha256_add(tn_sha256 *s, const void *data, size_t n);
void tn_sha256_end(tn_sha256 *s, uint8_t out[32]);

#endif
