/* HDF5 files: the superblock, the messages of object headers, types, attributes. */
#include "base/wire/hdf5_parts.h"

#include <string.h>

/* ---- cursors ---- */

bool hdf5_fault(tn_hdf5 *h, const char *what)
{
    if (!h->error)
        h->error = what;
    return false;
}

bool hdf5_work(tn_hdf5 *h, uint64_t bytes)
{
    enum { TIMES = 64, AT_LEAST = 64 << 20 };
    size_t most = h->n > (SIZE_MAX - AT_LEAST) / TIMES ? SIZE_MAX : h->n * TIMES + AT_LEAST;
    if (bytes > most - h->work)
        return hdf5_fault(h, "its objects refer to the same data too often");
    h->work += (size_t)bytes;
    return true;
}

tn_bytes hdf5_cut(hdf5_cursor *c, uint64_t bytes)
{
    if (c->bad || bytes > (size_t)(c->end - c->at)) {
        c->bad = true;
        return (tn_bytes){0};
    }
    c->at += bytes;
    return (tn_bytes){c->at - bytes, (size_t)bytes};
}

void hdf5_skip(hdf5_cursor *c, uint64_t bytes) { (void)hdf5_cut(c, bytes); }

uint64_t hdf5_take(hdf5_cursor *c, int bytes)
{
    tn_bytes b = hdf5_cut(c, (uint64_t)bytes);
    uint64_t v = 0;
    for (size_t i = b.n; i-- > 0;)
        v = v << 8 | b.at[i];
    return v;
}

uint64_t hdf5_address(const tn_hdf5 *h, hdf5_cursor *c)
{
    uint64_t v = hdf5_take(c, h->address_bytes);
    return h->address_bytes < 8 && v == (UINT64_C(1) << 8 * h->address_bytes) - 1 ? HDF5_NOWHERE : v;
}

uint64_t hdf5_length(const tn_hdf5 *h, hdf5_cursor *c) { return hdf5_take(c, h->length_bytes); }

bool hdf5_expect(hdf5_cursor *c, const char *mark)
{
    size_t n = strlen(mark);
    tn_bytes b = hdf5_cut(c, n);
    return b.at && memcmp(b.at, mark, n) == 0;
}

hdf5_cursor hdf5_from(const tn_hdf5 *h, uint64_t address)
{
    if (address > h->n)
        return (hdf5_cursor){h->at, h->at, true};
    return (hdf5_cursor){h->at + address, h->at + h->n, false};
}

/* ---- the superblock ---- */

static bool sizes_known(const tn_hdf5 *h)
{
    return (h->address_bytes == 4 || h->address_bytes == 8) && (h->length_bytes == 4 || h->length_bytes == 8);
}

/* Addresses count from the base address, which is where the superblock lies in the files of all libraries. */
static bool read_superblock(tn_hdf5 *h, hdf5_cursor c)
{
    uint64_t version = hdf5_take(&c, 1);
    if (version > 3)
        return hdf5_fault(h, "it is of a newer version of HDF5 than is known");
    hdf5_skip(&c, version < 2 ? 4 : 0);
    h->address_bytes = (int)hdf5_take(&c, 1);
    h->length_bytes = (int)hdf5_take(&c, 1);
    if (!sizes_known(h))
        return hdf5_fault(h, "its addresses have neither 4 nor 8 bytes");
    hdf5_skip(&c, version < 2 ? 1 + 2 + 2 + 4 + (version == 1 ? 4 : 0) : 1);
    hdf5_skip(&c, 4 * (uint64_t)h->address_bytes); /* base address, free space or extension, end, driver */
    if (version < 2)
        hdf5_skip(&c, (uint64_t)h->address_bytes); /* the root's name */
    else
        c.at -= c.bad ? 0 : h->address_bytes;
    h->root = hdf5_address(h, &c);
    return (!c.bad && h->root && h->root < h->n) || hdf5_fault(h, "its head is cut short or damaged");
}

bool tn_hdf5_open(tn_hdf5 *h, tn_arena *a, const uint8_t *at, size_t n)
{
    static const char mark[] = "\x89HDF\r\n\x1a\n";
    *h = (tn_hdf5){.arena = a};
    for (size_t from = 0; from < n; from = from ? 2 * from : 512) {
        hdf5_cursor c = {at + from, at + n, false};
        if (!hdf5_expect(&c, mark))
            continue;
        h->at = at + from;
        h->n = n - from;
        return read_superblock(h, c);
    }
    return hdf5_fault(h, "it is no HDF5 file");
}

void tn_hdf5_close(tn_hdf5 *h)
{
    for (size_t i = 0; i < h->groups.n; i++)
        tn_strmap_deinit((tn_strmap *)(uintptr_t)h->groups.entry[i].value);
    tn_map_deinit(&h->groups);
}

/* ---- messages ---- */

static bool add_block(hdf5_walk *w, uint64_t address, uint64_t bytes)
{
    hdf5_cursor c = hdf5_from(w->h, address);
    tn_bytes block = hdf5_cut(&c, bytes);
    if (!block.at || w->n_next == HDF5_BLOCKS || block.n > w->h->n - w->seen)
        return hdf5_fault(w->h, "the header of an object is cut short or runs in a circle");
    if (!hdf5_work(w->h, block.n))
        return false;
    w->seen += block.n;
    w->next[w->n_next++] = block;
    return true;
}

static bool begin_old(hdf5_walk *w, hdf5_cursor c)
{
    if (hdf5_take(&c, 1) != 1)
        return hdf5_fault(w->h, "an object has no header");
    hdf5_skip(&c, 1 + 2 + 4);
    uint64_t bytes = hdf5_take(&c, 4);
    hdf5_skip(&c, 4);
    w->version = 1;
    return add_block(w, (uint64_t)(c.at - w->h->at), c.bad ? UINT64_MAX : bytes);
}

static bool begin_new(hdf5_walk *w, hdf5_cursor c)
{
    uint64_t version = hdf5_take(&c, 1), flags = hdf5_take(&c, 1);
    if (version != 2)
        return hdf5_fault(w->h, "an object's header is of an unknown version");
    hdf5_skip(&c, (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0));
    uint64_t bytes = hdf5_take(&c, 1 << (flags & 3));
    w->version = 2;
    w->ordered = flags & 4;
    return add_block(w, (uint64_t)(c.at - w->h->at), c.bad ? UINT64_MAX : bytes);
}

bool hdf5_walk_begin(hdf5_walk *w, tn_hdf5 *h, uint64_t object)
{
    hdf5_cursor c = hdf5_from(h, object), mark = c;
    *w = (hdf5_walk){.h = h};
    return hdf5_expect(&mark, "OHDR") ? begin_new(w, mark) : begin_old(w, c);
}

/* The next block: those of version 2 but the first have a mark, and a checksum at their end. */
static bool open_block(hdf5_walk *w)
{
    if (!w->n_next)
        return false;
    w->block = hdf5_over(w->next[--w->n_next]);
    hdf5_cursor mark = w->block;
    if (w->version == 2 && hdf5_expect(&mark, "OCHK")) {
        w->block.at = mark.at;
        w->block.end -= w->block.end - w->block.at < 4 ? 0 : 4;
    }
    return true;
}

static bool read_message(hdf5_walk *w, hdf5_message *out)
{
    bool old = w->version == 1;
    uint64_t type = hdf5_take(&w->block, old ? 2 : 1), bytes = hdf5_take(&w->block, 2),
             flags = hdf5_take(&w->block, 1);
    hdf5_skip(&w->block, old ? 3 : w->ordered ? 2 : 0);
    tn_bytes data = hdf5_cut(&w->block, bytes);
    if (w->block.bad)
        return hdf5_fault(w->h, "a message of an object's header is cut short");
    *out = (hdf5_message){(uint32_t)type, flags & 2, data};
    return true;
}

bool hdf5_walk_next(hdf5_walk *w, hdf5_message *out)
{
    const ptrdiff_t least = w->version == 1 ? 8 : w->ordered ? 6 : 4;
    for (;;) {
        while (!w->block.at || w->block.end - w->block.at < least)
            if (!open_block(w))
                return false;
        if (!read_message(w, out))
            return false;
        if (out->type != HDF5_CONTINUATION)
            return true;
        hdf5_cursor c = hdf5_over(out->data);
        uint64_t address = hdf5_address(w->h, &c), bytes = hdf5_length(w->h, &c);
        if (!add_block(w, c.bad ? HDF5_NOWHERE : address, bytes))
            return false;
    }
}

/* ---- types and spaces ---- */

static bool float_of(tn_hdf5 *h, hdf5_cursor *c, tn_hdf5_type *out)
{
    uint64_t offset = hdf5_take(c, 2), precision = hdf5_take(c, 2);
    hdf5_skip(c, 1);
    uint64_t exponent = hdf5_take(c, 1);
    hdf5_skip(c, 1);
    uint64_t mantissa = hdf5_take(c, 1);
    bool ieee = offset == 0 && precision == 8 * out->bytes;
    out->kind = exponent == 8 && mantissa == 7 ? TN_HDF5_BFLOAT : TN_HDF5_FLOAT;
    ieee = ieee && ((out->bytes == 2 && exponent == 5 && mantissa == 10) || out->kind == TN_HDF5_BFLOAT ||
                    (out->bytes == 4 && exponent == 8 && mantissa == 23) ||
                    (out->bytes == 8 && exponent == 11 && mantissa == 52));
    return (!c->bad && ieee) || hdf5_fault(h, "a type of floats is not one of IEEE 754's");
}

static bool integer_of(tn_hdf5 *h, hdf5_cursor *c, uint64_t bits, tn_hdf5_type *out)
{
    uint64_t offset = hdf5_take(c, 2), precision = hdf5_take(c, 2);
    bool whole = out->bytes == 1 || out->bytes == 2 || out->bytes == 4 || out->bytes == 8;
    out->kind = bits & 8 ? TN_HDF5_INT : TN_HDF5_UINT;
    return (!c->bad && whole && offset == 0 && precision == 8 * out->bytes) ||
           hdf5_fault(h, "a type of integers does not fill 1, 2, 4 or 8 bytes");
}

bool hdf5_read_type(tn_hdf5 *h, tn_bytes message, tn_hdf5_type *out)
{
    enum { FIXED = 0, FLOAT = 1, STRING = 3, OPAQUE = 5, ENUM = 8, VARIABLE = 9 };
    hdf5_cursor c = hdf5_over(message);
    for (int inside = 0; inside < 2; inside++) { /* an enumeration has a type inside, of integers */
        uint64_t class = hdf5_take(&c, 1) & 15, bits = hdf5_take(&c, 3);
        *out = (tn_hdf5_type){.bytes = (size_t)hdf5_take(&c, 4), .big_endian = bits & 1};
        if (class == FIXED)
            return integer_of(h, &c, bits, out);
        if (class == FLOAT)
            return float_of(h, &c, out);
        if (class == STRING || (class == VARIABLE && (bits & 15) == 1)) {
            out->kind = class == STRING ? TN_HDF5_TEXT : TN_HDF5_LONG_TEXT;
            out->big_endian = false;
            return (!c.bad && out->bytes) || hdf5_fault(h, "a type is damaged");
        }
        if (class == OPAQUE && out->bytes == 2) { /* so NumPy's extension for bfloat16 is written */
            out->kind = TN_HDF5_BFLOAT;
            out->big_endian = false;
            return true;
        }
        if (class != ENUM)
            break;
    }
    return hdf5_fault(h, "a type is neither of numbers nor of texts");
}

bool hdf5_read_space(tn_hdf5 *h, tn_bytes message, tn_hdf5_array *out)
{
    hdf5_cursor c = hdf5_over(message);
    uint64_t version = hdf5_take(&c, 1), rank = hdf5_take(&c, 1);
    hdf5_skip(&c, 1);
    uint64_t kind = hdf5_take(&c, 1);
    if (version != 1 && version != 2)
        return hdf5_fault(h, "the extents of an array are of an unknown version");
    hdf5_skip(&c, version == 1 ? 4 : 0);
    if (rank > TN_HDF5_RANK)
        return hdf5_fault(h, "an array has more than 8 dimensions");
    out->ndim = (int)rank;
    out->count = version == 2 && kind == 2 ? 0 : 1;
    for (int d = 0; d < out->ndim; d++) {
        uint64_t extent = hdf5_length(h, &c);
        if (c.bad || extent > INT64_MAX || __builtin_mul_overflow(out->count, (size_t)extent, &out->count))
            return hdf5_fault(h, "the extents of an array are too large");
        out->dim[d] = (int64_t)extent;
    }
    return !c.bad || hdf5_fault(h, "the extents of an array are cut short");
}

/* ---- attributes ---- */

typedef struct search {
    tn_hdf5 *h;
    const char *name;
    tn_hdf5_array *out;
    bool found;
} search;

static tn_bytes padded(hdf5_cursor *c, uint64_t bytes, bool pad)
{
    tn_bytes b = hdf5_cut(c, bytes);
    hdf5_skip(c, pad ? (8 - bytes % 8) % 8 : 0);
    return b;
}

/* An attribute; false: the one that is sought (or a fault), so that the walk ends. */
static bool look_at(void *user, tn_bytes message)
{
    search *s = user;
    hdf5_cursor c = hdf5_over(message);
    uint64_t version = hdf5_take(&c, 1), flags = hdf5_take(&c, 1);
    uint64_t name_bytes = hdf5_take(&c, 2), type_bytes = hdf5_take(&c, 2), space_bytes = hdf5_take(&c, 2);
    hdf5_skip(&c, version == 3 ? 1 : 0);
    tn_bytes name = padded(&c, name_bytes, version == 1);
    tn_bytes type = padded(&c, type_bytes, version == 1), space = padded(&c, space_bytes, version == 1);
    if (c.bad || version < 1 || version > 3)
        return hdf5_fault(s->h, "an attribute is damaged");
    size_t n = strlen(s->name);
    if (name.n < n || memcmp(name.at, s->name, n) != 0 || (name.n > n && name.at[n] != 0))
        return true;
    if (version > 1 && flags & 3)
        return hdf5_fault(s->h, "an attribute has a type that lies elsewhere");
    size_t bytes;
    *s->out = (tn_hdf5_array){0};
    if (!hdf5_read_type(s->h, type, &s->out->type) || !hdf5_read_space(s->h, space, s->out))
        return false;
    if (__builtin_mul_overflow(s->out->count, s->out->type.bytes, &bytes))
        return hdf5_fault(s->h, "an attribute is damaged");
    s->out->data = hdf5_cut(&c, bytes);
    if (c.bad)
        return hdf5_fault(s->h, "an attribute is cut short");
    s->found = true;
    return false;
}

bool tn_hdf5_attribute(tn_hdf5 *h, uint64_t object, const char *name, tn_hdf5_array *out)
{
    search s = {h, name, out, false};
    hdf5_dense dense = {HDF5_NOWHERE, HDF5_NOWHERE};
    hdf5_message m;
    hdf5_walk w;
    if (h->error || !hdf5_walk_begin(&w, h, object))
        return false;
    while (hdf5_walk_next(&w, &m)) {
        if (m.type == HDF5_ATTRIBUTE && !m.shared && !look_at(&s, m.data))
            return s.found;
        if (m.type != HDF5_ATTRIBUTE_INFO)
            continue;
        hdf5_cursor c = hdf5_over(m.data);
        hdf5_skip(&c, 1);
        hdf5_skip(&c, hdf5_take(&c, 1) & 1 ? 2 : 0);
        dense.heap = hdf5_address(h, &c);
        dense.names = c.bad ? HDF5_NOWHERE : hdf5_address(h, &c);
    }
    if (!h->error && dense.heap != HDF5_NOWHERE)
        (void)hdf5_each_dense(h, &dense, 0, look_at, &s);
    return s.found;
}

/* Object `index` of the collection of the global heap at an address. */
static tn_bytes global_object(tn_hdf5 *h, uint64_t address, uint64_t index)
{
    hdf5_cursor c = hdf5_from(h, address);
    bool marked = hdf5_expect(&c, "GCOL");
    hdf5_skip(&c, 4);
    uint64_t bytes = hdf5_length(h, &c), head = 8 + (uint64_t)h->length_bytes;
    if (!marked || c.bad || bytes < head || bytes - head > (size_t)(c.end - c.at))
        return (tn_bytes){0};
    c.end = c.at + (bytes - head);
    while (!c.bad && c.at < c.end && hdf5_work(h, 16)) {
        uint64_t number = hdf5_take(&c, 2);
        hdf5_skip(&c, 6);
        uint64_t n = hdf5_length(h, &c);
        tn_bytes object = hdf5_cut(&c, n);
        if (number == index && !c.bad)
            return object;
        if (number == 0) /* what is free, up to the end */
            break;
        hdf5_skip(&c, (8 - n % 8) % 8);
    }
    return (tn_bytes){0};
}

tn_bytes tn_hdf5_text(tn_hdf5 *h, const tn_hdf5_array *a, size_t i)
{
    bool is_long = a->type.kind == TN_HDF5_LONG_TEXT;
    if ((!is_long && a->type.kind != TN_HDF5_TEXT) || i >= a->count || !a->data.at)
        return (void)hdf5_fault(h, "a text is missing"), (tn_bytes){0};
    tn_bytes text = {a->data.at + i * a->type.bytes, a->type.bytes};
    if (is_long) {
        hdf5_cursor c = hdf5_over(text);
        uint64_t n = hdf5_take(&c, 4), address = hdf5_address(h, &c), index = hdf5_take(&c, 4);
        text = c.bad ? (tn_bytes){0} : n ? global_object(h, address, index) : (tn_bytes){h->at, 0};
        if (!text.at || n > text.n)
            return (void)hdf5_fault(h, "a text lies outside of the file"), (tn_bytes){0};
        text.n = (size_t)n;
    }
    const uint8_t *end = text.n ? memchr(text.at, 0, text.n) : NULL;
    return (tn_bytes){text.at, end ? (size_t)(end - text.at) : text.n};
}
