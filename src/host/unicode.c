/* Characters of UTF-8 text. The tables (tools/unicode) are sorted by code; a lookup halves them. */
#include "host/unicode.h"

typedef struct {
    int32_t first, last, step, distance;
} moved;

typedef struct {
    int32_t code, to[3];
} full;

typedef struct {
    int32_t first;
    char name[3];
} category;

#define TO_UPPER(first, last, step, distance)
#define TO_LOWER(first, last, step, distance)
#define LONG_UPPER(code, a, b, c)
#define LONG_LOWER(code, a, b, c)

static const moved to_upper[] = {
#undef TO_UPPER
#define TO_UPPER(first, last, step, distance) {first, last, step, distance},
#include "host/unicode_case.def"
#undef TO_UPPER
#define TO_UPPER(first, last, step, distance)
};

static const moved to_lower[] = {
#undef TO_LOWER
#define TO_LOWER(first, last, step, distance) {first, last, step, distance},
#include "host/unicode_case.def"
#undef TO_LOWER
#define TO_LOWER(first, last, step, distance)
};

static const full long_upper[] = {
#undef LONG_UPPER
#define LONG_UPPER(code, a, b, c) {code, {a, b, c}},
#include "host/unicode_case.def"
#undef LONG_UPPER
#define LONG_UPPER(code, a, b, c)
};

static const full long_lower[] = {
#undef LONG_LOWER
#define LONG_LOWER(code, a, b, c) {code, {a, b, c}},
#include "host/unicode_case.def"
};

static const category categories[] = {
#define C(first, name) {first, #name},
#include "host/unicode_category.def"
#undef C
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- UTF-8 ---- */

int32_t tnh_code_next(const char **at, const char *end)
{
    const uint8_t *s = (const uint8_t *)*at;
    int n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    int32_t code = n == 1 ? s[0] : n == 2 ? s[0] & 31 : n == 3 ? s[0] & 15 : s[0] & 7;
    bool ok = n > 0 && end - *at >= n;
    for (int i = 1; ok && i < n; i++) {
        ok = (s[i] & 0xc0) == 0x80;
        code = code << 6 | (s[i] & 63);
    }
    ok = ok && !(n == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) &&
         !(n == 4 && (code < 0x10000 || code > TNH_MAX_CODE));
    *at += ok ? n : 1;
    return ok ? code : TNH_NO_CODE;
}

size_t tnh_code_put(int32_t code, char to[4])
{
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; code >>= 6)
        to[i] = (char)(0x80 | (code & 63));
    to[0] = (char)(lead[n] | code);
    return n;
}

/* ---- cases ---- */

static int32_t other(size_t n, const moved *table, int32_t code)
{
    size_t low = 0;
    for (size_t high = n; low < high;) {
        size_t middle = (low + high) / 2;
        if (table[middle].last < code)
            low = middle + 1;
        else
            high = middle;
    }
    const moved *m = &table[low];
    return low < n && code >= m->first && (code - m->first) % m->step == 0 ? code + m->distance : code;
}

static int in_full(size_t n, const full *table, int32_t code, int32_t alone, int32_t to[3])
{
    to[0] = alone;
    for (size_t i = 0; i < n && table[i].code <= code; i++)
        if (table[i].code == code) {
            for (int k = 0; k < 3; k++)
                to[k] = table[i].to[k];
            return to[2] ? 3 : 2;
        }
    return 1;
}

/* Case tables interleave: ASCII, which most texts are, needs none. */
int32_t tnh_code_upper(int32_t code)
{
    if (code < 0x80)
        return code >= 'a' && code <= 'z' ? code - 32 : code;
    return other(COUNT(to_upper), to_upper, code);
}

int32_t tnh_code_lower(int32_t code)
{
    if (code < 0x80)
        return code >= 'A' && code <= 'Z' ? code + 32 : code;
    return other(COUNT(to_lower), to_lower, code);
}

int tnh_code_upper_full(int32_t code, int32_t to[3])
{
    return in_full(COUNT(long_upper), long_upper, code, tnh_code_upper(code), to);
}

int tnh_code_lower_full(int32_t code, int32_t to[3])
{
    return in_full(COUNT(long_lower), long_lower, code, tnh_code_lower(code), to);
}

const char *tnh_code_category(int32_t code)
{
    size_t low = 0, high = COUNT(categories);
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (categories[middle].first <= code)
            low = middle;
        else
            high = middle;
    }
    return categories[low].name;
}

/* ---- whole texts ---- */

enum { SIGMA = 0x3a3, FINAL_SIGMA = 0x3c2, CAPITAL_I_DOT = 0x130, SMALL_I_NO_DOT = 0x131 };

static bool is_cased(int32_t code)
{
    return code >= 0 && (tnh_code_upper(code) != code || tnh_code_lower(code) != code);
}

static int turkic_case(int32_t code, bool upper)
{
    if (upper)
        return code == 'i' ? CAPITAL_I_DOT : code == SMALL_I_NO_DOT ? 'I' : 0;
    return code == 'I' ? SMALL_I_NO_DOT : code == CAPITAL_I_DOT ? 'i' : 0;
}

/* A sigma behind a letter that no letter follows has a form of its own. */
static bool ends_word(int32_t before, const char *at, const char *end)
{
    return is_cased(before) && (at == end || !is_cased(tnh_code_next(&at, end)));
}

tnr_status tnh_text_case(tnh_call *h, tnh_maker *m, tnh_text t, bool upper, bool turkic)
{
    const char *at = t.at, *end = t.at + t.n;
    tnr_status status = TNR_OK;
    for (int32_t before = TNH_NO_CODE; at < end && !status;) {
        const char *from = at;
        int32_t code = tnh_code_next(&at, end), to[3] = {0};
        int n = 1;
        char bytes[12];
        size_t n_bytes = 0;
        if (code == TNH_NO_CODE) {
            status = tnh_maker_put(h, m, (tnh_text){from, 1});
        } else {
            if (turkic && turkic_case(code, upper))
                to[0] = turkic_case(code, upper);
            else if (!upper && code == SIGMA && ends_word(before, at, end))
                to[0] = FINAL_SIGMA;
            else
                n = upper ? tnh_code_upper_full(code, to) : tnh_code_lower_full(code, to);
            for (int i = 0; i < n; i++)
                n_bytes += tnh_code_put(to[i], bytes + n_bytes);
            status = tnh_maker_put(h, m, (tnh_text){bytes, n_bytes});
        }
        before = code;
    }
    return status;
}
