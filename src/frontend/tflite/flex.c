/* FlexBuffers (https://flatbuffers.dev/flatbuffers/flexbuffers): the options of custom operators, a map of numbers.
 * Read from the end, every position checked; what is no number is left out. */
#include "frontend/tflite/tflite.h"

#include <string.h>

enum { MAX_ENTRIES = 32 };
enum {
    INT = 1,
    UINT = 2,
    FLOAT = 3,
    INDIRECT_INT = 6,
    INDIRECT_UINT = 7,
    INDIRECT_FLOAT = 8,
    MAP = 9,
    BOOL = 26
};

typedef struct flex {
    const uint8_t *at;
    size_t n;
    bool bad;
} flex;

static uint64_t number(flex *f, size_t at, size_t width)
{
    uint64_t v = 0;
    if (width < 1 || width > 8 || at > f->n || width > f->n - at) {
        f->bad = true;
        return 0;
    }
    for (size_t i = width; i-- > 0;)
        v = v << 8 | f->at[at + i];
    return v;
}

/* Where the offset at `at`, which counts backwards, leads. */
static size_t back_from(flex *f, size_t at, size_t width)
{
    uint64_t offset = number(f, at, width);
    f->bad = f->bad || offset > at;
    return f->bad ? 0 : at - (size_t)offset;
}

static double real(uint64_t bits, size_t width)
{
    uint32_t low = (uint32_t)bits;
    float narrow;
    double wide;
    memcpy(&narrow, &low, sizeof narrow);
    memcpy(&wide, &bits, sizeof wide);
    return width == 4 ? (double)narrow : width == 8 ? wide : 0;
}

static int64_t extended(uint64_t v, size_t width)
{
    int shift = 64 - 8 * (int)width;
    return (int64_t)(v << shift) >> shift;
}

/* The number at `at` as an attribute; false: it is none. */
static bool read_value(flex *f, size_t at, size_t width, uint8_t type, imp_attr *a)
{
    int kind = type >> 2;
    if (kind == INDIRECT_INT || kind == INDIRECT_UINT || kind == INDIRECT_FLOAT) {
        at = back_from(f, at, width);
        width = (size_t)1 << (type & 3);
        kind -= INDIRECT_INT - INT;
    }
    uint64_t bits = number(f, at, width);
    a->kind = kind == FLOAT ? IMP_A_FLOAT : IMP_A_INT;
    a->f = kind == FLOAT ? real(bits, width) : 0;
    a->i = kind == INT ? extended(bits, width) : (int64_t)bits;
    return !f->bad && (kind == INT || kind == UINT || kind == FLOAT || kind == BOOL);
}

static tn_bytes key_at(flex *f, size_t at)
{
    const uint8_t *end = f->bad || at >= f->n ? NULL : memchr(f->at + at, 0, f->n - at);
    f->bad = f->bad || !end;
    return end ? (tn_bytes){f->at + at, (size_t)(end - (f->at + at))} : (tn_bytes){0};
}

const imp_attr *tfl_read_flex(tfl_import *o, tn_bytes data, size_t *out_n)
{
    flex f = {data.at, data.n, data.n < 3};
    imp_attr *list = TN_NEW_N(&o->im.scratch, imp_attr, MAX_ENTRIES);
    *out_n = 0;
    if (f.bad || f.at[f.n - 2] >> 2 != MAP)
        return list;
    size_t root = (size_t)f.at[f.n - 1], width = (size_t)1 << (f.at[f.n - 2] & 3);
    if (root > f.n - 2)
        return list;
    size_t map = back_from(&f, f.n - 2 - root, root);
    if (f.bad || map < 3 * width)
        return list;
    uint64_t n = number(&f, map - width, width);
    size_t key_width = (size_t)number(&f, map - 2 * width, width),
           keys = back_from(&f, map - 3 * width, width);
    for (uint64_t i = 0; i < n && i < MAX_ENTRIES && !f.bad; i++) {
        imp_attr a = {.name = key_at(&f, back_from(&f, keys + (size_t)i * key_width, key_width))};
        uint8_t type = (uint8_t)number(&f, map + (size_t)n * width + (size_t)i, 1);
        if (read_value(&f, map + (size_t)i * width, width, type, &a) && !f.bad)
            list[(*out_n)++] = a;
    }
    return list;
}
