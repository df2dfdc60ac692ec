/* Reader of mod.params, the parameter blob of Relay-era packages (little endian):
 *
 *   u64 magic, u64 0, u64 count, count x (u64 length, name), u64 count,
 *   count x (u64 magic, u64 0, i32 device_type, i32 device_id, i32 ndim, u8 code, u8 bits, u16 lanes,
 *            i64 shape[ndim], i64 bytes, data)
 *
 * The blob is walked twice, names and tensors in step: once to check everything and count, once to fill.
 * Nothing is allocated before the whole blob was found sound. Time O(bytes of the headers + n log n), memory
 * O(n) plus copies of the tensors that do not start at a multiple of 64 bytes. */
#include "runtime/params.h"

#include "base/size.h"
#include "runtime/error.h"
#include "runtime/mem.h"
#include "runtime/sort.h"
#include "runtime/tensor.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define BLOB_MAGIC 0xF7E58D4F05049CB7u
#define TENSOR_MAGIC 0xDD5E40F096B4A13Fu
enum {
    MAX_NDIM = 64,
    MIN_ENTRY = 48,
    ALIGN = 64
}; /* MIN_ENTRY: bytes of the smallest name + tensor header */

struct entry {
    const char *name; /* NUL-terminated */
    void *data;
    uint64_t bytes;
    int64_t *shape;
    int32_t ndim;
    DLDataType dtype;
};

struct tnr_params {
    uint32_t n;
    struct entry *entry; /* n, in the blob's order */
    const char **name;   /* n, the same names, for sorting */
    uint32_t *order;     /* n, entries by name */
    char *names;
    int64_t *shapes;
    uint8_t *copies; /* tensors that lay misaligned, each at a multiple of 64 */
};

struct walk {
    const uint8_t *data;
    size_t n, name_at, tensor_at;
    uint64_t count;
};

struct raw { /* one entry as it lies in the blob */
    const uint8_t *name, *shape, *data;
    size_t name_n;
    uint64_t bytes;
    int32_t ndim;
    DLDataType dtype;
};

static uint64_t get(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static tnr_status cut(const struct walk *w, size_t at, tnr_error *err)
{
    return tnr_fail(err, TNR_E_FORMAT, at,
                    "mod.params is cut short: it has %zu bytes, but more are needed at byte %zu", w->n, at);
}

static tnr_status bad(size_t at, const char *what, tnr_error *err)
{
    return tnr_fail(err, TNR_E_FORMAT, at, "mod.params is damaged: %s at byte %zu", what, at);
}

/* Check the head and step over the names, to where the tensors begin. */
static tnr_status walk_begin(struct walk *w, const uint8_t *data, size_t n, tnr_error *err)
{
    *w = (struct walk){.data = data, .n = n, .name_at = 24};
    if (n < 24)
        return cut(w, n, err);
    if (get(data, 8) != BLOB_MAGIC)
        return bad(0, "not a parameter list (wrong magic number)", err);
    if (get(data + 8, 8) != 0)
        return bad(8, "reserved word is not 0", err);
    w->count = get(data + 16, 8);
    if (w->count > n / MIN_ENTRY || w->count > UINT32_MAX)
        return bad(16, "more tensors than bytes for them", err);
    size_t at = 24;
    for (uint64_t k = 0; k < w->count; k++) {
        if (n - at < 8)
            return cut(w, at, err);
        uint64_t len = get(data + at, 8);
        at += 8;
        if (len > n - at)
            return cut(w, at, err);
        at += (size_t)len;
    }
    if (n - at < 8)
        return cut(w, at, err);
    if (get(data + at, 8) != w->count)
        return bad(at, "number of tensors differs from number of names", err);
    w->tensor_at = at + 8;
    return TNR_OK;
}

/* The next entry, checked; called `count` times. */
static tnr_status walk_next(struct walk *w, struct raw *r, tnr_error *err)
{
    r->name_n = (size_t)get(w->data + w->name_at, 8);
    r->name = w->data + w->name_at + 8;
    if (memchr(r->name, 0, r->name_n))
        return bad(w->name_at, "a name with a zero byte", err);
    w->name_at += 8 + r->name_n;

    size_t at = w->tensor_at;
    const uint8_t *p = w->data + at;
    if (w->n - at < 32)
        return cut(w, at, err);
    if (get(p, 8) != TENSOR_MAGIC)
        return bad(at, "not a tensor (wrong magic number)", err);
    if (get(p + 8, 8) != 0)
        return bad(at + 8, "reserved word is not 0", err);
    if (get(p + 16, 4) != kDLCPU)
        return bad(at + 16, "a tensor that is not on the CPU", err);
    uint32_t ndim = (uint32_t)get(p + 24, 4);
    r->dtype = (DLDataType){p[28], p[29], (uint16_t)get(p + 30, 2)};
    if (ndim > MAX_NDIM)
        return bad(at + 24, "more than 64 dimensions", err);
    if (r->dtype.lanes != 1 || r->dtype.code == kDLOpaqueHandle)
        return bad(at + 28, "an element type that is not allowed for parameters", err);
    r->ndim = (int32_t)ndim;
    r->shape = p + 32;
    at += 32;
    if (w->n - at < 8 * (size_t)ndim + 8)
        return cut(w, at, err);
    int64_t shape[MAX_NDIM];
    for (uint32_t d = 0; d < ndim; d++)
        shape[d] = (int64_t)get(r->shape + 8 * d, 8);
    at += 8 * (size_t)ndim;
    r->bytes = get(w->data + at, 8);
    uint64_t expected;
    if (tnr_tensor_bytes(r->dtype, r->ndim, shape, &expected, NULL) || expected != r->bytes)
        return bad(at, "byte count that does not fit the shape", err);
    at += 8;
    if (r->bytes > w->n - at)
        return cut(w, w->n, err);
    r->data = w->data + at;
    w->tensor_at = at + (size_t)r->bytes;
    return TNR_OK;
}

/* "__pad<digits>", uint8: there only to move the next tensor to a multiple of 64. */
static bool is_filler(const struct raw *r)
{
    if (r->name_n < 6 || memcmp(r->name, "__pad", 5) != 0 || r->dtype.code != kDLUInt || r->dtype.bits != 8)
        return false;
    for (size_t i = 5; i < r->name_n; i++)
        if (r->name[i] < '0' || r->name[i] > '9')
            return false;
    return true;
}

static bool must_copy(const struct raw *r) { return r->bytes > 0 && (uintptr_t)r->data % ALIGN != 0; }

struct totals {
    uint32_t n;
    size_t name_bytes, dims, copy_bytes;
};

static tnr_status count(struct walk w, struct totals *out, tnr_error *err)
{
    struct totals t = {0};
    for (uint64_t k = 0; k < w.count; k++) {
        struct raw r;
        tnr_status status = walk_next(&w, &r, err);
        if (status)
            return status;
        if (is_filler(&r))
            continue;
        t.n++;
        t.name_bytes += r.name_n + 1;
        t.dims += (size_t)r.ndim;
        if (must_copy(&r)) {
            size_t room;
            if (!tn_size_align((size_t)r.bytes, ALIGN, &room) ||
                !tn_size_add(t.copy_bytes, room, &t.copy_bytes))
                return tnr_fail_memory(err, r.bytes);
        }
    }
    if (w.tensor_at != w.n)
        return bad(w.tensor_at, "bytes after the last tensor", err);
    *out = t;
    return TNR_OK;
}

/* Second walk: cannot fail, the first has seen the same bytes. */
static void fill(struct walk w, tnr_params *p)
{
    char *name = p->names;
    int64_t *shape = p->shapes;
    uint8_t *copy = p->copies;
    struct entry *e = p->entry;
    for (uint64_t k = 0; k < w.count; k++) {
        struct raw r;
        if (walk_next(&w, &r, NULL))
            return;
        if (is_filler(&r))
            continue;
        *e = (struct entry){.name = name, .bytes = r.bytes, .shape = shape, .ndim = r.ndim, .dtype = r.dtype};
        memcpy(name, r.name, r.name_n);
        name[r.name_n] = '\0';
        name += r.name_n + 1;
        for (int32_t d = 0; d < r.ndim; d++)
            *shape++ = (int64_t)get(r.shape + 8 * d, 8);
        union { /* views are read-only by contract, DLTensor has no const */
            const uint8_t *from;
            void *to;
        } data = {.from = r.data};
        if (must_copy(&r)) {
            memcpy(copy, r.data, (size_t)r.bytes);
            data.to = copy;
            copy += (r.bytes + ALIGN - 1) / ALIGN * ALIGN;
        }
        e->data = data.to;
        p->name[e - p->entry] = e->name;
        e++;
    }
}

static tnr_status index_names(tnr_params *p, tnr_error *err)
{
    tnr_sort_names(p->name, p->order, p->n);
    for (uint32_t i = 1; i < p->n; i++)
        if (strcmp(p->name[p->order[i - 1]], p->name[p->order[i]]) == 0)
            return tnr_fail(err, TNR_E_FORMAT, 0, "mod.params is damaged: two tensors are called \"%.400s\"",
                            p->name[p->order[i]]);
    return TNR_OK;
}

tnr_status tnr_params_open(const void *data, size_t n, tnr_params **out_params, tnr_error *err)
{
    struct walk w;
    struct totals t = {0};
    if (!data || !out_params)
        return tnr_fail_argument("tnr_params_open", err);
    tnr_status status = walk_begin(&w, data, n, err);
    if (!status)
        status = count(w, &t, err);
    if (status)
        return status;
    tnr_params *p = tnr_mem_new(1, sizeof *p);
    if (!p)
        return tnr_fail_memory(err, sizeof *p);
    p->n = t.n;
    p->entry = tnr_mem_new(t.n, sizeof *p->entry);
    p->name = tnr_mem_new(t.n, sizeof *p->name);
    p->order = tnr_mem_new(t.n, sizeof *p->order);
    p->names = tnr_mem_new(t.name_bytes, 1);
    p->shapes = tnr_mem_new(t.dims, sizeof *p->shapes);
    p->copies = t.copy_bytes ? tnr_mem_aligned(t.copy_bytes) : NULL;
    if (!p->entry || !p->name || !p->order || !p->names || !p->shapes || (t.copy_bytes && !p->copies)) {
        status = tnr_fail_memory(err, t.copy_bytes + t.name_bytes + t.n * sizeof *p->entry);
    } else {
        fill(w, p);
        status = index_names(p, err);
    }
    if (status)
        tnr_params_free(p);
    else
        *out_params = p;
    return status;
}

void tnr_params_free(tnr_params *params)
{
    if (!params)
        return;
    tnr_mem_free(params->entry);
    tnr_mem_free(params->name);
    tnr_mem_free(params->order);
    tnr_mem_free(params->names);
    tnr_mem_free(params->shapes);
    tnr_mem_free(params->copies);
    tnr_mem_free(params);
}

uint32_t tnr_params_count(const tnr_params *params) { return params ? params->n : 0; }

static DLTensor view(const struct entry *e)
{
    return (DLTensor){
        .data = e->data, .device = {kDLCPU, 0}, .ndim = e->ndim, .dtype = e->dtype, .shape = e->shape};
}

bool tnr_params_get(const tnr_params *params, const char *name, DLTensor *out_view, uint64_t *out_bytes)
{
    uint32_t low = 0, high = params ? params->n : 0;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct entry *e = &params->entry[params->order[mid]];
        int c = strcmp(name, e->name);
        if (c == 0) {
            *out_view = view(e);
            *out_bytes = e->bytes;
            return true;
        }
        if (c < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return false;
}

tnr_status tnr_params_at(const tnr_params *params, uint32_t index, const char **out_name, DLTensor *out_view,
                         tnr_error *err)
{
    tnr_status status = tnr_check_index("parameter", index, params ? params->n : 0, out_view, err);
    if (status)
        return status;
    if (out_name)
        *out_name = params->entry[index].name;
    *out_view = view(&params->entry[index]);
    return TNR_OK;
}

tnr_status tnr_params_find(const tnr_params *params, const char *name, DLTensor *out_view, tnr_error *err)
{
    uint64_t bytes;
    if (!params || !name || !out_view)
        return tnr_fail_argument("tnr_params_find", err);
    if (!tnr_params_get(params, name, out_view, &bytes))
        return tnr_fail(err, TNR_E_NAME, 0, "no parameter is called \"%.400s\"", name);
    return TNR_OK;
}
