/* Datasets of HDF5 files: where their elements lie, and how chunks become elements. */
#include "base/wire/hdf5_parts.h"

#include <string.h>

enum { MAX_FILTERS = 8, DEEPEST = 32, MAX_INFLATED = 1032 /* times a chunk's size, deflate's bound */ };
enum { SMALL = 64 << 20 };

enum { DEFLATE = 1, SHUFFLE = 2, FLETCHER = 3 };
enum index { BY_TREE, SINGLE, IMPLICIT, FIXED };

typedef struct layout {
    tn_hdf5 *h;
    const tn_hdf5_array *array;
    tn_bytes data; /* contiguous and compact ones; at NULL: chunks, or nothing was written */
    bool external, chunked;
    enum index index;
    uint64_t address; /* of the index */
    uint64_t single_bytes;
    int page_bits;
    size_t element; /* bytes */
    int64_t chunk[TN_HDF5_RANK];
    size_t chunk_bytes, stored; /* stored: bytes of chunks seen so far */
    int n_filter;
    uint32_t filter[MAX_FILTERS];
    bool filled;      /* what was not written has a value other than 0 */
    uint8_t *to;      /* NULL: chunks are only counted */
    uint8_t *scratch; /* two chunks */
    uint64_t left;    /* chunks that may still follow */
} layout;

/* ---- messages ---- */

static bool read_contiguous(layout *l, hdf5_cursor *c, bool has_size)
{
    tn_hdf5 *h = l->h;
    uint64_t address = hdf5_address(h, c), bytes = l->array->count * l->element;
    if (has_size && hdf5_length(h, c) < bytes && address != HDF5_NOWHERE)
        return hdf5_fault(h, "a dataset is smaller than its extents say");
    if (address == HDF5_NOWHERE || c->bad)
        return !c->bad || hdf5_fault(h, "a dataset is damaged");
    hdf5_cursor data = hdf5_from(h, address);
    l->data = hdf5_cut(&data, bytes);
    return l->data.at || hdf5_fault(h, "a dataset is cut short");
}

static bool read_compact(layout *l, hdf5_cursor *c, int size_bytes)
{
    uint64_t bytes = hdf5_take(c, size_bytes);
    l->data = hdf5_cut(c, bytes);
    return (l->data.at && bytes >= l->array->count * l->element) ||
           hdf5_fault(l->h, "a dataset is cut short");
}

/* Extents of a chunk, `rank` of them and one more, the element's bytes. */
static bool read_chunk(layout *l, hdf5_cursor *c, uint64_t rank, int extent_bytes)
{
    l->chunked = true;
    l->chunk_bytes = l->element;
    for (uint64_t d = 0; d + 1 < rank && d < TN_HDF5_RANK; d++) {
        uint64_t extent = hdf5_take(c, extent_bytes);
        if (extent == 0 || extent > UINT32_MAX ||
            __builtin_mul_overflow(l->chunk_bytes, (size_t)extent, &l->chunk_bytes))
            return hdf5_fault(l->h, "the chunks of a dataset are damaged");
        l->chunk[d] = (int64_t)extent;
    }
    bool sound = rank == (uint64_t)l->array->ndim + 1 && rank > 1 && hdf5_take(c, extent_bytes) == l->element;
    return (sound && !c->bad) || hdf5_fault(l->h, "the chunks of a dataset are damaged");
}

/* Version 4: chunks that are found in other ways than by a B-tree. */
static bool read_index(layout *l, hdf5_cursor *c)
{
    uint64_t flags = hdf5_take(c, 1), rank = hdf5_take(c, 1), extent_bytes = hdf5_take(c, 1);
    if (extent_bytes < 1 || extent_bytes > 8 || !read_chunk(l, c, rank, (int)extent_bytes))
        return hdf5_fault(l->h, "the chunks of a dataset are damaged");
    uint64_t kind = hdf5_take(c, 1);
    if (kind < 1 || kind > 3)
        return hdf5_fault(l->h,
                          "a dataset can grow, and was written for HDF5 1.10 or later: such chunks are not "
                          "supported");
    l->index = kind == 1 ? SINGLE : kind == 2 ? IMPLICIT : FIXED;
    l->single_bytes = l->chunk_bytes;
    if (kind == 1 && flags & 2) {
        l->single_bytes = hdf5_length(l->h, c);
        hdf5_skip(c, 4);
    }
    l->page_bits = kind == 3 ? (int)hdf5_take(c, 1) : 0;
    l->address = hdf5_address(l->h, c);
    return !c->bad || hdf5_fault(l->h, "the chunks of a dataset are damaged");
}

static bool read_layout(layout *l, tn_bytes message)
{
    enum { COMPACT, CONTIGUOUS, CHUNKED };
    tn_hdf5 *h = l->h;
    hdf5_cursor c = hdf5_over(message);
    uint64_t version = hdf5_take(&c, 1), class = hdf5_take(&c, 1), rank = 0;
    if (version == 1 || version == 2) {
        rank = class;
        class = hdf5_take(&c, 1);
        hdf5_skip(&c, 5);
        if (class == CONTIGUOUS)
            return read_contiguous(l, &c, false);
        l->address = class == CHUNKED ? hdf5_address(h, &c) : HDF5_NOWHERE;
        if (class == CHUNKED)
            return read_chunk(l, &c, rank, 4);
        hdf5_skip(&c, 4 * rank);
        return class == COMPACT ? read_compact(l, &c, 4)
                                : hdf5_fault(h, "a dataset's layout is not supported");
    }
    if (version != 3 && version != 4)
        return hdf5_fault(h, "a dataset's layout is of an unknown version");
    if (class == COMPACT)
        return read_compact(l, &c, 2);
    if (class == CONTIGUOUS)
        return read_contiguous(l, &c, true);
    if (class != CHUNKED)
        return hdf5_fault(h, "a dataset lies in other files, which is not supported");
    if (version == 4)
        return read_index(l, &c);
    rank = hdf5_take(&c, 1);
    l->address = hdf5_address(h, &c);
    return read_chunk(l, &c, rank, 4);
}

static bool read_filters(layout *l, tn_bytes message)
{
    hdf5_cursor c = hdf5_over(message);
    uint64_t version = hdf5_take(&c, 1), n = hdf5_take(&c, 1);
    hdf5_skip(&c, version == 1 ? 6 : 0);
    if (version < 1 || version > 2 || n > MAX_FILTERS)
        return hdf5_fault(l->h, "the filters of a dataset are damaged");
    for (uint64_t i = 0; i < n; i++) {
        uint64_t id = hdf5_take(&c, 2), name = version == 1 || id >= 256 ? hdf5_take(&c, 2) : 0;
        hdf5_skip(&c, 2);
        uint64_t values = hdf5_take(&c, 2);
        hdf5_skip(&c, version == 1 ? (name + 7) / 8 * 8 : name);
        hdf5_skip(&c, 4 * values + (version == 1 && values % 2 ? 4 : 0));
        if (id < DEFLATE || id > FLETCHER)
            return hdf5_fault(
                l->h, "a dataset is compressed by a filter that is not supported; write it with gzip or "
                      "without compression");
        l->filter[l->n_filter++] = (uint32_t)id;
    }
    return !c.bad || hdf5_fault(l->h, "the filters of a dataset are damaged");
}

static bool is_zero(tn_bytes b)
{
    size_t i = 0;
    while (i < b.n && b.at[i] == 0)
        i++;
    return i == b.n;
}

static void read_fill(layout *l, tn_bytes message)
{
    hdf5_cursor c = hdf5_over(message);
    uint64_t version = hdf5_take(&c, 1), flags = 0x20;
    if (version == 3) {
        flags = hdf5_take(&c, 1);
    } else {
        hdf5_skip(&c, 2);
        flags = hdf5_take(&c, 1) ? 0x20 : 0;
    }
    l->filled = flags & 0x20 && !is_zero(hdf5_cut(&c, hdf5_take(&c, 4)));
}

/* What the object says of its elements; the layout comes last, since it needs the extents. */
static bool read_messages(layout *l, uint64_t object, tn_hdf5_array *out)
{
    tn_bytes where = {0};
    bool typed = false, spaced = false;
    hdf5_message m;
    hdf5_walk w;
    if (l->h->error || !hdf5_walk_begin(&w, l->h, object))
        return false;
    while (hdf5_walk_next(&w, &m)) {
        if (m.shared && (m.type == HDF5_DATATYPE || m.type == HDF5_DATASPACE))
            return hdf5_fault(l->h, "a dataset has a type that lies elsewhere");
        if (m.type == HDF5_DATATYPE && !(typed = hdf5_read_type(l->h, m.data, &out->type)))
            return false;
        if (m.type == HDF5_DATASPACE && !(spaced = hdf5_read_space(l->h, m.data, out)))
            return false;
        if (m.type == HDF5_FILTERS && !read_filters(l, m.data))
            return false;
        if (m.type == HDF5_FILL)
            read_fill(l, m.data);
        where = m.type == HDF5_LAYOUT ? m.data : where;
        l->external = l->external || m.type == HDF5_EXTERNAL;
    }
    size_t bytes;
    if (l->h->error || !typed || !spaced || !where.at)
        return false; /* a group */
    if (l->external)
        return hdf5_fault(l->h, "a dataset lies in other files, which is not supported");
    if (__builtin_mul_overflow(out->count, out->type.bytes, &bytes))
        return hdf5_fault(l->h, "a dataset is larger than memory can be");
    l->array = out;
    l->element = out->type.bytes;
    return read_layout(l, where);
}

/* ---- chunks ---- */

/* Undoes the filters of a chunk of n bytes, the last one first; NULL: reported. A result lies in scratch. */
static const uint8_t *undo_filters(layout *l, tn_bytes in, uint64_t skipped)
{
    size_t whole = l->chunk_bytes, elements = whole / l->element, sums = 0;
    for (int i = 0; i < l->n_filter; i++)
        sums += l->filter[i] == FLETCHER && !(skipped >> i & 1) ? 4 : 0;
    int turn = 0;
    for (int i = l->n_filter; i-- > 0;) {
        uint8_t *to = l->scratch + (size_t)turn * (whole + 4 * MAX_FILTERS);
        if (skipped >> i & 1)
            continue;
        if (l->filter[i] == FLETCHER) {
            in.n -= in.n < 4 ? in.n : 4;
            sums -= 4;
            continue;
        }
        size_t n = whole + (l->filter[i] == DEFLATE ? sums : 0);
        bool done = l->filter[i] == DEFLATE ? l->h->inflate && l->h->inflate(in, to, n) : in.n == whole;
        for (size_t k = 0; done && l->filter[i] == SHUFFLE && k < whole; k++)
            to[k % elements * l->element + k / elements] = in.at[k];
        if (!done)
            return (void)hdf5_fault(l->h, "a chunk of a dataset cannot be unpacked"), NULL;
        in = (tn_bytes){to, n};
        turn = !turn;
    }
    return in.n >= whole ? in.at : ((void)hdf5_fault(l->h, "a chunk of a dataset is cut short"), NULL);
}

/* The part of a chunk that lies inside, row by row. */
static void place_chunk(layout *l, const int64_t first[], const uint8_t *from)
{
    const tn_hdf5_array *a = l->array;
    int64_t at[TN_HDF5_RANK] = {0};
    int last = a->ndim - 1;
    int64_t width = a->dim[last] - first[last] < l->chunk[last] ? a->dim[last] - first[last] : l->chunk[last];
    for (;;) {
        size_t to = 0, source = 0;
        for (int d = 0; d <= last; d++) {
            to = to * (size_t)a->dim[d] + (size_t)(first[d] + at[d]);
            source = source * (size_t)l->chunk[d] + (size_t)at[d];
        }
        memcpy(l->to + to * l->element, from + source * l->element, (size_t)width * l->element);
        int d = last - 1;
        while (d >= 0 && (++at[d] == l->chunk[d] || first[d] + at[d] == a->dim[d]))
            at[d--] = 0;
        if (d < 0)
            return;
    }
}

static bool take_chunk(layout *l, const int64_t first[], uint64_t address, uint64_t bytes, uint64_t skipped)
{
    hdf5_cursor c = hdf5_from(l->h, address);
    tn_bytes in = hdf5_cut(&c, bytes);
    if (address == HDF5_NOWHERE) /* never written */
        return !l->filled || hdf5_fault(l->h, "a part of a dataset was never written");
    if (!in.at || !l->left--)
        return hdf5_fault(l->h, "a chunk of a dataset is cut short");
    for (int d = 0; d < l->array->ndim; d++)
        if (first[d] < 0 || first[d] >= l->array->dim[d] || first[d] % l->chunk[d] != 0)
            return hdf5_fault(l->h, "a chunk of a dataset lies outside of it");
    if (!hdf5_work(l->h, l->to ? l->chunk_bytes : in.n))
        return false;
    l->stored += in.n;
    const uint8_t *from = l->to ? undo_filters(l, in, skipped) : NULL;
    if (from)
        place_chunk(l, first, from);
    return !l->h->error;
}

static bool take_tree(layout *l, uint64_t address, int level)
{
    tn_hdf5 *h = l->h;
    int64_t first[TN_HDF5_RANK];
    hdf5_cursor c = hdf5_from(h, address);
    bool marked = hdf5_expect(&c, "TREE") && hdf5_take(&c, 1) == 1;
    int at = (int)hdf5_take(&c, 1);
    uint64_t n = hdf5_take(&c, 2);
    if (!marked || !l->left-- || at > DEEPEST || (level >= 0 && at != level))
        return hdf5_fault(h, "the tree of a dataset's chunks is damaged");
    hdf5_skip(&c, 2 * (uint64_t)h->address_bytes);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bytes = hdf5_take(&c, 4), skipped = hdf5_take(&c, 4);
        for (int d = 0; d < l->array->ndim; d++)
            first[d] = (int64_t)hdf5_take(&c, 8);
        hdf5_skip(&c, 8);
        uint64_t child = hdf5_address(h, &c);
        if (c.bad)
            return hdf5_fault(h, "the tree of a dataset's chunks is cut short");
        if (at ? !take_tree(l, child, at - 1) : !take_chunk(l, first, child, bytes, skipped))
            return false;
    }
    return true;
}

/* The first element of chunk k, counted row by row. */
static void place_of(const layout *l, uint64_t k, int64_t first[])
{
    for (int d = l->array->ndim; d-- > 0;) {
        uint64_t n = (uint64_t)((l->array->dim[d] + l->chunk[d] - 1) / l->chunk[d]);
        first[d] = (int64_t)(k % n) * l->chunk[d];
        k /= n;
    }
}

/* 0: more than a file can have. */
static uint64_t count_chunks(const layout *l)
{
    uint64_t all = 1;
    for (int d = 0; d < l->array->ndim; d++) {
        uint64_t n = (uint64_t)((l->array->dim[d] + l->chunk[d] - 1) / l->chunk[d]);
        if (__builtin_mul_overflow(all, n, &all))
            return 0;
    }
    return all <= l->h->n ? all : 0;
}

/* A table of addresses, in pages (each with a checksum at its end) if it is large. */
static bool take_fixed(layout *l, uint64_t n)
{
    tn_hdf5 *h = l->h;
    int64_t first[TN_HDF5_RANK];
    hdf5_cursor c = hdf5_from(h, l->address);
    bool marked = hdf5_expect(&c, "FAHD");
    hdf5_skip(&c, 1);
    bool filtered = hdf5_take(&c, 1) == 1;
    int entry = (int)hdf5_take(&c, 1), page_bits = (int)hdf5_take(&c, 1);
    hdf5_skip(&c, (uint64_t)h->length_bytes);
    hdf5_cursor data = hdf5_from(h, hdf5_address(h, &c));
    marked = marked && hdf5_expect(&data, "FADB");
    int size_bytes = entry - h->address_bytes - 4;
    if (!marked || c.bad || page_bits > 31 || (filtered && (size_bytes < 1 || size_bytes > 8)))
        return hdf5_fault(h, "the table of a dataset's chunks is damaged");
    uint64_t page = UINT64_C(1) << page_bits, n_page = (n + page - 1) / page;
    hdf5_skip(&data, 2 + (uint64_t)h->address_bytes);
    if (n > page)
        hdf5_skip(&data, (n_page + 7) / 8 + 4);
    for (uint64_t k = 0; k < n; k++) {
        if (n > page && k && k % page == 0)
            hdf5_skip(&data, 4);
        uint64_t address = hdf5_address(h, &data),
                 bytes = filtered ? hdf5_take(&data, size_bytes) : l->chunk_bytes;
        uint64_t skipped = filtered ? hdf5_take(&data, 4) : 0;
        place_of(l, k, first);
        if (data.bad || !take_chunk(l, first, address, bytes, skipped))
            return hdf5_fault(h, "the table of a dataset's chunks is cut short");
    }
    return true;
}

static bool take_chunks(layout *l)
{
    int64_t first[TN_HDF5_RANK] = {0};
    uint64_t n = count_chunks(l);
    l->stored = 0;
    l->left = l->h->n / 16 + 2;
    if (l->address == HDF5_NOWHERE)
        return !l->filled || hdf5_fault(l->h, "a dataset was never written");
    if (!n)
        return hdf5_fault(l->h, "a dataset has more chunks than its file has room for");
    if (l->index == BY_TREE)
        return take_tree(l, l->address, -1);
    if (l->index == FIXED)
        return take_fixed(l, n);
    for (uint64_t k = 0; k < (l->index == SINGLE ? 1 : n); k++) {
        place_of(l, k, first);
        uint64_t bytes = l->index == SINGLE ? l->single_bytes : l->chunk_bytes;
        if (!take_chunk(l, first, l->address + k * l->chunk_bytes, bytes, 0))
            return false;
    }
    return true;
}

/* ---- datasets ---- */

/* What is not in the file is 0 by definition, which could be claimed of any size. */
static bool holds_it(layout *l)
{
    size_t bytes = l->array->count * l->element;
    if (bytes <= SMALL && l->chunk_bytes <= SMALL)
        return true;
    bool held = l->chunked && take_chunks(l) && bytes / MAX_INFLATED <= l->stored &&
                l->chunk_bytes / MAX_INFLATED <= l->stored;
    return held || hdf5_fault(l->h, "a dataset claims more data than the file holds");
}

bool tn_hdf5_dataset(tn_hdf5 *h, uint64_t object, tn_hdf5_array *out)
{
    layout l = {.h = h};
    *out = (tn_hdf5_array){0};
    if (!read_messages(&l, object, out))
        return false;
    if (l.data.at && (!out->type.big_endian || out->type.bytes == 1)) {
        out->data = (tn_bytes){l.data.at, out->count * l.element};
        return true;
    }
    return l.data.at || out->count == 0 || holds_it(&l);
}

static void turn_bytes(const tn_hdf5_array *a, uint8_t *at)
{
    for (size_t i = 0; i < a->count; i++, at += a->type.bytes)
        for (size_t k = 0; k < a->type.bytes / 2; k++) {
            uint8_t b = at[k];
            at[k] = at[a->type.bytes - 1 - k];
            at[a->type.bytes - 1 - k] = b;
        }
}

bool tn_hdf5_read(tn_hdf5 *h, uint64_t object, const tn_hdf5_array *a, void *to)
{
    tn_hdf5_array again = {0};
    layout l = {.h = h, .to = to};
    size_t bytes = a->count * a->type.bytes;
    if (!read_messages(&l, object, &again) || again.count != a->count || again.type.bytes != a->type.bytes)
        return false;
    if (bytes)
        memset(to, 0, bytes);
    if (l.data.at && bytes)
        memcpy(to, l.data.at, bytes);
    else if (!l.chunked && l.filled)
        return hdf5_fault(h, "a dataset was never written");
    if (l.chunked && bytes) {
        tn_arena scratch;
        tn_arena_init(&scratch);
        l.scratch = tn_arena_alloc(&scratch, 2 * (l.chunk_bytes + 4 * MAX_FILTERS), 16);
        bool done = take_chunks(&l);
        tn_arena_deinit(&scratch);
        if (!done)
            return false;
    }
    if (a->type.big_endian)
        turn_bytes(a, to);
    return true;
}
