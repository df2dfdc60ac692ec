/* FlexBuffers (https://flatbuffers.dev/flatbuffers/flexbuffers): the options of custom operators, a map of numbers,
 * texts and lists of integers. Read from the end, every position checked; what is something else is left out. */
#include "frontend/tflite/tflite.h"

#include <string.h>

enum { MAX_ENTRIES = 32, MAX_LIST = 4096 };
enum {
    INT = 1,
    UINT = 2,
    FLOAT = 3,
    STRING = 5,
    INDIRECT_INT = 6,
    INDIRECT_UINT = 7,
    INDIRECT_FLOAT = 8,
    MAP = 9,
    VECTOR = 10,
    INTS = 11,
    UINTS = 12,
    INTS_2 = 16, /* of two to four elements: integers, unsigned ones, floats of each length */
    UINTS_4 = 23,
    BOOL = 26
};

typedef struct flex {
    tn_arena *arena;
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

static bool is_list(int kind)
{
    return kind == INTS || kind == UINTS || (kind >= INTS_2 && kind <= UINTS_4 && (kind - INTS_2) % 3 < 2);
}

/* The list of integers, of the width that its type says, whose first element lies at `at`. */
static bool read_list(flex *f, size_t at, uint8_t type, imp_attr *a)
{
    int kind = type >> 2;
    size_t width = (size_t)1 << (type & 3);
    bool fixed = kind >= INTS_2, sign = fixed ? (kind - INTS_2) % 3 == 0 : kind == INTS;
    if (!fixed && at < width)
        f->bad = true;
    uint64_t n = fixed ? (uint64_t)(kind - INTS_2) / 3 + 2 : f->bad ? 0 : number(f, at - width, width);
    f->bad = f->bad || n > MAX_LIST || n * width > f->n - at;
    int64_t *list = TN_NEW_N(f->arena, int64_t, f->bad ? 0 : n);
    for (size_t i = 0; i < n && !f->bad; i++) {
        uint64_t bits = number(f, at + i * width, width);
        list[i] = sign ? extended(bits, width) : (int64_t)bits;
    }
    a->kind = IMP_A_INTS;
    a->ints.n = f->bad ? 0 : (size_t)n;
    a->ints.at = list;
    return !f->bad;
}

static bool read_text(flex *f, size_t at, uint8_t type, imp_attr *a)
{
    size_t width = (size_t)1 << (type & 3);
    uint64_t n = f->bad || at < width ? UINT64_MAX : number(f, at - width, width);
    f->bad = f->bad || n > f->n - at;
    a->kind = IMP_A_TEXT;
    a->text = (tn_bytes){f->at + (f->bad ? 0 : at), f->bad ? 0 : (size_t)n};
    return !f->bad;
}

/* The value at `at` as an attribute; false: it is none. */
static bool read_value(flex *f, size_t at, size_t width, uint8_t type, imp_attr *a)
{
    int kind = type >> 2;
    if (is_list(kind))
        return read_list(f, back_from(f, at, width), type, a);
    if (kind == STRING)
        return read_text(f, back_from(f, at, width), type, a);
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
    flex f = {&o->im.scratch, data.at, data.n, data.n < 3};
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

tn_bytes tfl_flex_text(tfl_import *o, tn_bytes data, uint32_t i)
{
    flex f = {&o->im.scratch, data.at, data.n, data.n < 3};
    imp_attr a = {0};
    if (f.bad || f.at[f.n - 2] >> 2 != VECTOR || f.at[f.n - 1] > f.n - 2)
        return (tn_bytes){0};
    size_t root = (size_t)f.at[f.n - 1], width = (size_t)1 << (f.at[f.n - 2] & 3),
           at = back_from(&f, f.n - 2 - root, root);
    uint64_t n = f.bad || at < width ? 0 : number(&f, at - width, width);
    if (f.bad || i >= n || n > MAX_ENTRIES)
        return (tn_bytes){0};
    uint8_t type = (uint8_t)number(&f, at + (size_t)n * width + i, 1);
    bool is = type >> 2 == STRING && read_value(&f, at + i * width, width, type, &a) && !f.bad;
    return is ? a.text : (tn_bytes){0};
}
