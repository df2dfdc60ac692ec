/* FlatBuffers: bounded access to tables, vectors and texts. Constant time each. */
#include "base/wire/flatbuf.h"

#include <string.h>

/* n bytes at position at; NULL: outside. */
static const uint8_t *bytes_at(tn_flatbuf *b, size_t at, size_t n)
{
    if (at <= b->n && n <= b->n - at)
        return b->at + at;
    b->damaged = true;
    return NULL;
}

static uint64_t little(const uint8_t *at, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | at[i];
    return v;
}

static int64_t number(const uint8_t *at, int bytes, bool is_signed)
{
    uint64_t v = little(at, bytes);
    int shift = 64 - 8 * bytes;
    return is_signed ? (int64_t)(v << shift) >> shift : (int64_t)v;
}

static tn_flat_table table_at(tn_flatbuf *b, size_t at)
{
    const tn_flat_table none = {0};
    const uint8_t *p = bytes_at(b, at, 4), *v;
    if (!p)
        return none;
    int64_t vtable = (int64_t)at - number(p, 4, true);
    if (vtable < 0 || !(v = bytes_at(b, (size_t)vtable, 4)))
        return b->damaged = true, none;
    uint32_t size = (uint32_t)little(v, 2);
    if (size < 4 || !bytes_at(b, (size_t)vtable, size))
        return b->damaged = true, none;
    return (tn_flat_table){b, at, (size_t)vtable, (size - 4) / 2};
}

/* What the offset at position at leads to. */
static bool follow(tn_flatbuf *b, size_t at, size_t *out)
{
    const uint8_t *p = bytes_at(b, at, 4);
    if (!p)
        return false;
    *out = at + (size_t)little(p, 4);
    return true;
}

tn_flat_table tn_flat_root(tn_flatbuf *b)
{
    size_t at;
    return follow(b, 0, &at) ? table_at(b, at) : (tn_flat_table){0};
}

/* The bytes of a field; NULL: absent. */
static const uint8_t *field(const tn_flat_table *t, uint32_t slot, size_t n, size_t *out_at)
{
    if (!t->buf || slot >= t->n_slot)
        return NULL;
    size_t offset = (size_t)little(t->buf->at + t->vtable + 4 + 2 * (size_t)slot, 2);
    *out_at = t->at + offset;
    return offset ? bytes_at(t->buf, *out_at, n) : NULL;
}

bool tn_flat_has(const tn_flat_table *t, uint32_t slot)
{
    size_t at;
    return field(t, slot, 0, &at) != NULL;
}

int64_t tn_flat_int(const tn_flat_table *t, uint32_t slot, int bytes, bool is_signed, int64_t def)
{
    size_t at;
    const uint8_t *p = field(t, slot, (size_t)bytes, &at);
    return p ? number(p, bytes, is_signed) : def;
}

static float as_float(const uint8_t *p)
{
    uint32_t bits = (uint32_t)little(p, 4);
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

float tn_flat_float(const tn_flat_table *t, uint32_t slot, float def)
{
    size_t at;
    const uint8_t *p = field(t, slot, 4, &at);
    return p ? as_float(p) : def;
}

tn_flat_table tn_flat_sub(const tn_flat_table *t, uint32_t slot)
{
    size_t at, to;
    return field(t, slot, 4, &at) && follow(t->buf, at, &to) ? table_at(t->buf, to) : (tn_flat_table){0};
}

static tn_flat_vector vector_at(tn_flatbuf *b, size_t at, uint32_t bytes)
{
    const uint8_t *p = bytes_at(b, at, 4);
    uint32_t n = p ? (uint32_t)little(p, 4) : 0;
    if (!p || !bytes_at(b, at + 4, (size_t)n * bytes))
        return (tn_flat_vector){0};
    return (tn_flat_vector){b, at + 4, n};
}

tn_flat_vector tn_flat_list(const tn_flat_table *t, uint32_t slot, uint32_t bytes)
{
    size_t at, to;
    return field(t, slot, 4, &at) && follow(t->buf, at, &to) ? vector_at(t->buf, to, bytes)
                                                             : (tn_flat_vector){0};
}

tn_bytes tn_flat_bytes(const tn_flat_vector *v, uint32_t bytes)
{
    return v->buf ? (tn_bytes){v->buf->at + v->at, (size_t)v->n * bytes} : (tn_bytes){0};
}

tn_bytes tn_flat_text(const tn_flat_table *t, uint32_t slot)
{
    tn_flat_vector v = tn_flat_list(t, slot, 1);
    return tn_flat_bytes(&v, 1);
}

int64_t tn_flat_int_at(const tn_flat_vector *v, uint32_t i, int bytes, bool is_signed)
{
    return i < v->n ? number(v->buf->at + v->at + (size_t)i * (size_t)bytes, bytes, is_signed) : 0;
}

float tn_flat_float_at(const tn_flat_vector *v, uint32_t i)
{
    return i < v->n ? as_float(v->buf->at + v->at + 4 * (size_t)i) : 0;
}

tn_flat_table tn_flat_table_at(const tn_flat_vector *v, uint32_t i)
{
    size_t to;
    return i < v->n && follow(v->buf, v->at + 4 * (size_t)i, &to) ? table_at(v->buf, to) : (tn_flat_table){0};
}

tn_bytes tn_flat_text_at(const tn_flat_vector *v, uint32_t i)
{
    size_t to;
    if (i >= v->n || !follow(v->buf, v->at + 4 * (size_t)i, &to))
        return (tn_bytes){0};
    tn_flat_vector text = vector_at(v->buf, to, 1);
    return tn_flat_bytes(&text, 1);
}
