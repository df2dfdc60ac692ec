/* Zip archives of models: entries by their names, unpacked where they must be. */
#include "frontend/import/zip.h"

#include "base/wire/zip.h"

#include <string.h>
#include <zlib.h>

enum { MAX_ENTRIES = 1 << 20 };
enum { ROOM = 32 << 20, ROOM_TIMES = 8 }; /* an archive unpacks to so much, or so many times its size */
enum { MOST = 1032 };                     /* times that deflate makes something smaller */

const char *imp_zip_open(tn_arena *a, tn_bytes whole, imp_zip *out)
{
    tn_zip z = tn_zip_open(whole.at, whole.n);
    tn_zip_entry e;
    *out = (imp_zip){.room = whole.n > ROOM / ROOM_TIMES ? whole.n * ROOM_TIMES : ROOM};
    if (z.error)
        return z.error;
    if (z.left > MAX_ENTRIES)
        return "its directory is damaged";
    out->entry = TN_NEW_N(a, imp_zip_entry, (size_t)z.left);
    for (uint64_t most = z.left; out->n < most && tn_zip_next(&z, &e); out->n++) {
        bool deflated = e.method == TN_ZIP_DEFLATED;
        if (!e.data.at || (!deflated && (e.method != TN_ZIP_STORED || e.bytes != e.data.n)))
            return "an entry is damaged, or packed in a way that is not supported";
        out->entry[out->n] = (imp_zip_entry){e.name, e.data, (size_t)e.bytes, deflated};
        tn_strmap_put(&out->names, (const char *)e.name.at, e.name.n, out->n);
    }
    return z.error;
}

void imp_zip_close(imp_zip *z) { tn_strmap_deinit(&z->names); }

const imp_zip_entry *imp_zip_find(const imp_zip *z, const char *name)
{
    uint64_t at;
    return tn_strmap_get(&z->names, name, strlen(name), &at) ? &z->entry[at] : NULL;
}

static bool unpack(tn_bytes packed, void *to, size_t n)
{
    z_stream z = {
        .next_in = (Bytef *)packed.at, .avail_in = (uInt)packed.n, .next_out = to, .avail_out = (uInt)n};
    if (packed.n > UINT32_MAX || n > UINT32_MAX || n / MOST > packed.n ||
        inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return false;
    bool done = inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == n;
    inflateEnd(&z);
    return done;
}

const char *imp_zip_read(tn_arena *a, imp_zip *z, const imp_zip_entry *e, tn_bytes *out)
{
    *out = e->data;
    if (!e->deflated)
        return NULL;
    if (e->bytes > z->room || e->bytes / MOST > e->data.n)
        return "an entry claims to unpack to more than it can";
    z->room -= e->bytes;
    uint8_t *to = tn_arena_alloc(a, e->bytes, 8);
    *out = (tn_bytes){to, e->bytes};
    return unpack(e->data, to, e->bytes) ? NULL : "an entry cannot be unpacked; it is damaged";
}

bool imp_zip_holds(const uint8_t *at, size_t n, const char *suffix)
{
    size_t k = strlen(suffix);
    tn_zip_entry e;
    if (n < 4 || memcmp(at, "PK\3\4", 4) != 0)
        return false;
    for (tn_zip z = tn_zip_open(at, n); !z.error && tn_zip_next(&z, &e);)
        if (e.name.n >= k && memcmp(e.name.at + e.name.n - k, suffix, k) == 0)
            return true;
    return false;
}
