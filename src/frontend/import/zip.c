/* Zip archives (APPNOTE 6.3): the directory at the end, zip64 where sizes need it. Compressed entries are unpacked by
 * libzip; it cannot tell where a stored entry lies, so the directory is read here. */
#include "frontend/import/zip.h"

#include "base/size.h"

#include <string.h>
#include <zip.h>

enum { END_BYTES = 22, END64_BYTES = 56, LOCATOR_BYTES = 20, ENTRY_BYTES = 46, LOCAL_BYTES = 30 };
enum { COMMENT = 65535, MAX_ENTRIES = 1 << 20, MAX_UNPACKED = 256 << 20 };
#define MAX32 0xffffffffu

static uint64_t number(const uint8_t *at, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | at[i];
    return v;
}

static bool is(const uint8_t *at, size_t n, const char *mark) { return n >= 4 && memcmp(at, mark, 4) == 0; }

typedef struct directory {
    const uint8_t *file;
    size_t n;        /* bytes of the file */
    size_t at, end;  /* where the next entry lies; behind the last */
    uint64_t claims; /* entries, as the archive says */
} directory;

/* The zip64 record replaces what the short one cannot hold. false: it is broken. */
static bool long_end(const uint8_t *file, size_t end, directory *d, uint64_t *size, uint64_t *offset)
{
    if (*offset != MAX32 && *size != MAX32 && d->claims != 0xffff)
        return true;
    if (end < LOCATOR_BYTES || !is(file + end - LOCATOR_BYTES, LOCATOR_BYTES, "PK\6\7"))
        return true; /* the numbers mean themselves */
    uint64_t at = number(file + end - LOCATOR_BYTES + 8, 8);
    if (at > end || end - at < END64_BYTES || !is(file + at, END64_BYTES, "PK\6\6"))
        return false;
    d->claims = number(file + at + 32, 8);
    *size = number(file + at + 40, 8);
    *offset = number(file + at + 48, 8);
    return true;
}

static const char *find_directory(const uint8_t *file, size_t n, directory *d)
{
    size_t end = n < END_BYTES ? 0 : n - END_BYTES, least = end > COMMENT ? end - COMMENT : 0;
    if (n < END_BYTES)
        return "it is cut short";
    while (end > least && !is(file + end, n - end, "PK\5\6"))
        end--;
    if (!is(file + end, n - end, "PK\5\6"))
        return "it has no directory at its end; the file is cut short";
    uint64_t size = number(file + end + 12, 4), offset = number(file + end + 16, 4);
    *d = (directory){.file = file, .n = n, .claims = number(file + end + 10, 2)};
    if (!long_end(file, end, d, &size, &offset) || offset > end || size > end - offset)
        return "its directory lies outside of the file";
    d->at = (size_t)offset;
    d->end = (size_t)(offset + size);
    return NULL;
}

/* Sizes and offset of 8 bytes, in the extra field of number 1. */
static bool long_sizes(const uint8_t *extra, size_t n, uint64_t *bytes, uint64_t *packed, uint64_t *offset)
{
    uint64_t *want[3] = {bytes, packed, offset};
    while (n >= 4) {
        size_t id = number(extra, 2), k = number(extra + 2, 2), at = 4;
        if (k > n - 4)
            return false;
        for (int i = 0; i < 3 && id == 1; i++)
            if (*want[i] == MAX32) {
                if (at + 8 > k + 4)
                    return false;
                *want[i] = number(extra + at, 8);
                at += 8;
            }
        extra += k + 4;
        n -= k + 4;
    }
    return true;
}

/* Where the entry's bytes begin, behind its local header. */
static bool locate(const directory *d, uint64_t offset, imp_zip_entry *e)
{
    if (offset > d->n || d->n - offset < LOCAL_BYTES || !is(d->file + offset, LOCAL_BYTES, "PK\3\4"))
        return false;
    const uint8_t *local = d->file + offset;
    size_t skip = LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2), left = d->n - (size_t)offset;
    e->at = local + skip;
    return skip <= left && e->packed <= left - skip && (e->method != 0 || e->packed == e->bytes);
}

/* 1: an entry; 0: the end; -1: it is broken. */
static int next_entry(directory *d, imp_zip_entry *e)
{
    const uint8_t *at = d->file + d->at;
    if (d->at == d->end)
        return 0;
    if (d->end - d->at < ENTRY_BYTES || !is(at, ENTRY_BYTES, "PK\1\2"))
        return -1;
    size_t name = number(at + 28, 2), extra = number(at + 30, 2), comment = number(at + 32, 2);
    if (name + extra + comment > d->end - d->at - ENTRY_BYTES)
        return -1;
    uint64_t packed = number(at + 20, 4), bytes = number(at + 24, 4), offset = number(at + 42, 4);
    bool sound = long_sizes(at + ENTRY_BYTES + name, extra, &bytes, &packed, &offset);
    *e = (imp_zip_entry){{at + ENTRY_BYTES, name}, NULL, packed, bytes, (int)number(at + 10, 2), 0};
    d->at += ENTRY_BYTES + name + extra + comment;
    return sound && locate(d, offset, e) ? 1 : -1;
}

const char *imp_zip_open(tn_arena *a, tn_bytes whole, imp_zip *out)
{
    directory d;
    *out = (imp_zip){.whole = whole};
    const char *trouble = find_directory(whole.at, whole.n, &d);
    if (trouble)
        return trouble;
    if (d.claims > MAX_ENTRIES || d.claims > (d.end - d.at) / ENTRY_BYTES)
        return "its directory is damaged";
    out->entry = TN_NEW_N(a, imp_zip_entry, (size_t)d.claims);
    for (; out->n < d.claims; out->n++) {
        imp_zip_entry *e = &out->entry[out->n];
        if (next_entry(&d, e) != 1)
            return "an entry of its directory is damaged or lies outside of the file";
        e->number = (uint32_t)out->n;
        tn_strmap_put(&out->names, (const char *)e->name.at, e->name.n, out->n);
    }
    return NULL;
}

void imp_zip_close(imp_zip *z) { tn_strmap_deinit(&z->names); }

const imp_zip_entry *imp_zip_find(const imp_zip *z, const char *name)
{
    uint64_t at;
    return tn_strmap_get(&z->names, name, strlen(name), &at) ? &z->entry[at] : NULL;
}

/* Nothing here raises while libzip holds memory. */
static bool unpack(const imp_zip *z, const imp_zip_entry *e, uint8_t *to)
{
    zip_source_t *source = zip_source_buffer_create(z->whole.at, z->whole.n, 0, NULL);
    zip_t *archive = source ? zip_open_from_source(source, ZIP_RDONLY, NULL) : NULL;
    if (!archive) {
        zip_source_free(source);
        return false;
    }
    zip_file_t *f = zip_fopen_index(archive, e->number, 0);
    size_t got = 0;
    zip_int64_t k = 1;
    while (f && k > 0 && got < e->bytes) {
        k = zip_fread(f, to + got, e->bytes - got);
        got += k > 0 ? (size_t)k : 0;
    }
    char more;
    bool whole = f && got == e->bytes && zip_fread(f, &more, 1) == 0;
    if (f)
        (void)zip_fclose(f);
    zip_discard(archive);
    return whole;
}

const char *imp_zip_read(tn_arena *a, const imp_zip *z, const imp_zip_entry *e, tn_bytes *out)
{
    enum { MOST = 1032 }; /* times that deflate makes something smaller */
    *out = (tn_bytes){e->at, e->bytes};
    if (e->method == 0)
        return NULL;
    if (e->bytes > MAX_UNPACKED || e->bytes / MOST > e->packed)
        return "an entry claims to unpack to more than it can";
    uint8_t *to = tn_arena_alloc(a, e->bytes, 8);
    *out = (tn_bytes){to, e->bytes};
    return unpack(z, e, to) ? NULL : "an entry cannot be unpacked; it is damaged";
}

bool imp_zip_holds(const uint8_t *at, size_t n, const char *suffix)
{
    directory d;
    imp_zip_entry e;
    size_t k = strlen(suffix);
    if (!is(at, n, "PK\3\4") || find_directory(at, n, &d))
        return false;
    for (uint64_t i = 0; i < d.claims && next_entry(&d, &e) == 1; i++)
        if (e.name.n >= k && memcmp(e.name.at + e.name.n - k, suffix, k) == 0)
            return true;
    return false;
}
