/* string.hash (texts; attributes buckets, strong, murmur, key0, key1): Fingerprint64 of FarmHash, or with `strong`
 * SipHash-2-4 with a key, modulo the number of buckets (0: all 64 bits). These are the functions of TensorFlow's
 * string_to_hash_bucket_fast and string_to_hash_bucket_strong. With `murmur` it is MurmurHash3 of 32 bits, as
 * scikit-learn's FeatureHasher has it. */
#include "host/host.h"

/* ---- FarmHash: Geoff Pike's farmhashna::Hash64 ---- */

#define K0 0xc3a5c85c97cb3127u
#define K1 0xb492b66fbe98f273u
#define K2 0x9ae16a3b2f90404fu

typedef struct pair {
    uint64_t first, second;
} pair;

/* n bytes, the lowest first. */
static uint64_t load(const char *s, size_t n)
{
    uint64_t v = 0;
    while (n--)
        v = v << 8 | (uint8_t)s[n];
    return v;
}

static uint64_t at64(const char *s) { return load(s, 8); }

static uint64_t rotate(uint64_t v, int by) { return v >> by | v << (64 - by); }

static uint64_t mix(uint64_t v) { return v ^ v >> 47; }

static uint64_t join(uint64_t u, uint64_t v, uint64_t mul)
{
    return mix((v ^ mix((u ^ v) * mul)) * mul) * mul;
}

static uint64_t hash_to_16(const char *s, uint64_t n)
{
    uint64_t mul = K2 + 2 * n;
    const uint8_t *u = (const uint8_t *)s;
    if (n >= 8) {
        uint64_t a = at64(s) + K2, b = at64(s + n - 8);
        return join(rotate(b, 37) * mul + a, (rotate(a, 25) + b) * mul, mul);
    }
    if (n >= 4)
        return join(n + (load(s, 4) << 3), load(s + n - 4, 4), mul);
    if (n == 0)
        return K2;
    uint32_t y = u[0] + ((uint32_t)u[n >> 1] << 8), z = (uint32_t)n + ((uint32_t)u[n - 1] << 2);
    return mix(y * K2 ^ z * K0) * K2;
}

static uint64_t hash_to_32(const char *s, uint64_t n)
{
    uint64_t mul = K2 + 2 * n, a = at64(s) * K1, b = at64(s + 8), c = at64(s + n - 8) * mul,
             d = at64(s + n - 16) * K2;
    return join(rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + K2, 18) + c, mul);
}

static uint64_t hash_to_64(const char *s, uint64_t n)
{
    uint64_t mul = K2 + 2 * n, a = at64(s) * K2, b = at64(s + 8), c = at64(s + n - 8) * mul,
             d = at64(s + n - 16) * K2;
    uint64_t y = rotate(a + b, 43) + rotate(c, 30) + d, z = join(y, a + rotate(b + K2, 18) + c, mul);
    uint64_t e = at64(s + 16) * mul, f = at64(s + 24), g = (y + at64(s + n - 32)) * mul,
             h = (z + at64(s + n - 24)) * mul;
    return join(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g, mul);
}

static pair weak(const char *s, uint64_t a, uint64_t b)
{
    uint64_t w = at64(s), x = at64(s + 8), y = at64(s + 16), z = at64(s + 24), c;
    a += w;
    b = rotate(b + a + z, 21);
    c = a;
    a += x + y;
    b += rotate(a, 44);
    return (pair){a + z, b + c};
}

typedef struct farm {
    uint64_t x, y, z;
    pair v, w;
} farm;

/* 64 bytes; k: what the words of the second line count for. */
static void add_block(farm *f, const char *s, uint64_t mul, uint64_t k)
{
    f->x = rotate(f->x + f->y + f->v.first + at64(s + 8), 37) * mul;
    f->y = rotate(f->y + f->v.second + at64(s + 48), 42) * mul;
    f->x ^= f->w.second * k;
    f->y += f->v.first * k + at64(s + 40);
    f->z = rotate(f->z + f->w.first, 33) * mul;
    f->v = weak(s, f->v.second * mul, f->x + f->w.first);
    f->w = weak(s + 32, f->z + f->w.second, f->y + at64(s + 16));
    uint64_t z = f->z;
    f->z = f->x;
    f->x = z;
}

static uint64_t farm_hash(const char *s, uint64_t n)
{
    if (n <= 64)
        return n <= 16 ? hash_to_16(s, n) : n <= 32 ? hash_to_32(s, n) : hash_to_64(s, n);
    const uint64_t seed = 81;
    farm f = {.x = seed * K2 + at64(s), .y = seed * K1 + 113};
    f.z = mix(f.y * K2 + 113) * K2;
    const char *end = s + (n - 1) / 64 * 64, *last = s + n - 64;
    for (; s != end; s += 64)
        add_block(&f, s, K1, 1);
    uint64_t mul = K1 + ((f.z & 0xff) << 1);
    f.w.first += (n - 1) & 63;
    f.v.first += f.w.first;
    f.w.first += f.v.first;
    add_block(&f, last, mul, 9);
    return join(join(f.v.first, f.w.first, mul) + mix(f.y) * K0 + f.z,
                join(f.v.second, f.w.second, mul) + f.x, mul);
}

/* ---- SipHash-2-4, of Aumasson and Bernstein ---- */

static void sip_rounds(uint64_t v[4], int n)
{
    for (int i = 0; i < n; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 51) ^ v[0];
        v[3] = rotate(v[3], 48) ^ v[2];
        v[0] = rotate(v[0], 32) + v[3];
        v[2] += v[1];
        v[1] = rotate(v[1], 47) ^ v[2];
        v[3] = rotate(v[3], 43) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_rounds(v, 2);
    v[0] ^= word;
}

static uint64_t sip_hash(const char *s, uint64_t n, uint64_t key0, uint64_t key1)
{
    uint64_t v[4] = {key0 ^ 0x736f6d6570736575u, key1 ^ 0x646f72616e646f6du, key0 ^ 0x6c7967656e657261u,
                     key1 ^ 0x7465646279746573u};
    for (uint64_t i = 0; i + 8 <= n; i += 8)
        sip_word(v, at64(s + i));
    sip_word(v, n << 56 | load(s + n / 8 * 8, n % 8));
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- MurmurHash3 of 32 bits, of Appleby ---- */

static uint32_t rotate32(uint32_t v, int by) { return v << by | v >> (32 - by); }

static uint32_t murmur_hash(const char *s, uint64_t n, uint32_t seed)
{
    const uint32_t c1 = 0xcc9e2d51u, c2 = 0x1b873593u;
    uint32_t h = seed;
    for (uint64_t i = 0; i + 4 <= n; i += 4) {
        h ^= rotate32((uint32_t)load(s + i, 4) * c1, 15) * c2;
        h = rotate32(h, 13) * 5 + 0xe6546b64u;
    }
    h ^= rotate32((uint32_t)load(s + n / 4 * 4, n % 4) * c1, 15) * c2;
    h ^= (uint32_t)n;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

tnr_status tnh_string_hash(tnh_call *h)
{
    tnh_texts x;
    void *out;
    uint64_t buckets = (uint64_t)tnh_attr_int(h, "buckets", 0), key0 = (uint64_t)tnh_attr_int(h, "key0", 0),
             key1 = (uint64_t)tnh_attr_int(h, "key1", 0);
    bool strong = tnh_attr_int(h, "strong", 0) != 0, murmur = tnh_attr_int(h, "murmur", 0) != 0;
    tnr_status status = tnh_texts_in(h, 0, &x);
    status = status ? status : tnh_tensor_out(h, 0, TNH_INT64, x.ndim, x.shape, &out);
    for (int64_t i = 0; i < x.n && !status; i++) {
        tnh_text t = tnh_text_at(&x, i);
        uint64_t v = strong   ? sip_hash(t.at, t.n, key0, key1)
                     : murmur ? murmur_hash(t.at, t.n, (uint32_t)key0)
                              : farm_hash(t.at, t.n);
        ((int64_t *)out)[i] = (int64_t)(buckets ? v % buckets : v);
    }
    return status;
}
