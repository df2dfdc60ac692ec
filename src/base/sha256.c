/* SHA-256 as FIPS 180-4 defines it, section 6.2. */
#include "base/sha256.h"

#include <stdbool.h>
#include <string.h>

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotated(uint32_t x, int by) { return x >> by | x << (32 - by); }

static void schedule(const uint8_t *p, uint32_t w[64])
{
    for (int t = 0; t < 16; t++, p += 4)
        w[t] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (int t = 16; t < 64; t++) {
        uint32_t a = rotated(w[t - 15], 7) ^ rotated(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t b = rotated(w[t - 2], 17) ^ rotated(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + a + w[t - 7] + b;
    }
}

/* The processor's own instructions: ten times as fast. */
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

static bool has_instructions(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1) && __get_cpuid(1, &a, &b, &c, &d) &&
           (c >> 19 & 1); /* SHA, SSE4.1 */
}

/* Intel SHA Extensions, July 2013. The state is kept as ABEF and CDGH. */
__attribute__((target("sha,sse4.1"))) static void take_blocks_fast(tn_sha256 *s, const uint8_t *p, size_t n)
{
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)s->h), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(s->h + 4)), 0x1b);
    __m128i x = _mm_alignr_epi8(abcd, efgh, 8), y = _mm_blend_epi16(efgh, abcd, 0xf0), w[4];
    for (; n > 0; n--, p += 64) {
        __m128i x0 = x, y0 = y;
        for (int i = 0; i < 16; i++) {
            __m128i *m = &w[i & 3], *last = &w[(i + 3) & 3];
            if (i < 4)
                *m = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), order);
            else
                *m = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(*m, w[(i + 1) & 3]),
                                                        _mm_alignr_epi8(*last, w[(i + 2) & 3], 4)),
                                          *last);
            __m128i t = _mm_add_epi32(*m, _mm_loadu_si128((const __m128i *)(k + 4 * i)));
            y = _mm_sha256rnds2_epu32(y, x, t);
            x = _mm_sha256rnds2_epu32(x, y, _mm_shuffle_epi32(t, 0x0e));
        }
        x = _mm_add_epi32(x, x0);
        y = _mm_add_epi32(y, y0);
    }
    __m128i feba = _mm_shuffle_epi32(x, 0x1b), dchg = _mm_shuffle_epi32(y, 0xb1);
    _mm_storeu_si128((__m128i *)s->h, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(s->h + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#else
static bool has_instructions(void) { return false; }
static void take_blocks_fast(tn_sha256 *s, const uint8_t *p, size_t n) { (void)s, (void)p, (void)n; }
#endif

static void take_block(tn_sha256 *s, const uint8_t *p)
{
    uint32_t w[64], *v = s->h, a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
    schedule(p, w);
    for (int t = 0; t < 64; t++) {
        uint32_t x =
            h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + k[t] + w[t];
        uint32_t y = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + x;
        d = c, c = b, b = a, a = x + y;
    }
    v[0] += a, v[1] += b, v[2] += c, v[3] += d;
    v[4] += e, v[5] += f, v[6] += g, v[7] += h;
}

void tn_sha256_init(tn_sha256 *s)
{
    *s = (tn_sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                           0x5be0cd19}};
}

void tn_sha256_add(tn_sha256 *s, const void *data, size_t n)
{
    const uint8_t *p = data;
    size_t have = s->n % 64;
    s->n += n;
    if (have) {
        size_t part = n < 64 - have ? n : 64 - have;
        memcpy(s->block + have, p, part);
        p += part;
        n -= part;
        if (have + part < 64)
            return;
        take_block(s, s->block);
    }
    size_t whole = n / 64;
    if (whole > 4 && has_instructions()) { /* cpuid is slow */
        take_blocks_fast(s, p, whole);
        p += 64 * whole;
        n %= 64;
    }
    for (; n >= 64; p += 64, n -= 64)
        take_block(s, p);
    if (n)
        memcpy(s->block, p, n);
}

void tn_sha256_end(tn_sha256 *s, uint8_t out[32])
{
    uint64_t bits = s->n * 8;
    uint8_t tail[72] = {0x80};
    size_t pad = (s->n % 64 < 56 ? 56 : 120) - s->n % 64;
    for (int i = 0; i < 8; i++)
        tail[pad + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    tn_sha256_add(s, tail, pad + 8);
    for (int i = 0; i < 32; i++)
        out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}
