/* Tar reader: walks the headers, never trusts one without its checksum and its bounds. */
#include "base/wire/tar.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK = 512, NAME = 100, SIZE_AT = 124, SUM_AT = 148, TYPE_AT = 156, MAGIC_AT = 257, PREFIX_AT = 345 };

/* What extension headers said about the entry that follows them. */
typedef struct extension {
    const char *name;
    size_t name_n;
    uint64_t size;
    bool has_size;
} extension;

tn_tar tn_tar_open(const void *data, size_t n) { return (tn_tar){.data = data, .n = n}; }

static bool fail(tn_tar *t, const char *error)
{
    t->error = error;
    t->done = 1;
    return false;
}

static bool all_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static size_t length(const uint8_t *p, size_t max)
{
    const uint8_t *end = memchr(p, 0, max);
    return end ? (size_t)(end - p) : max;
}

/* An octal field: spaces, digits, then NUL or space; or, marked by the top bit, GNU's big-endian binary. */
static bool number(const uint8_t *p, size_t n, uint64_t *out)
{
    uint64_t v = 0;
    size_t i = 0;
    if (p[0] == 0x80) {
        for (i = 1; i < n; i++) {
            if (v >> 56)
                return false;
            v = v << 8 | p[i];
        }
        *out = v;
        return true;
    }
    while (i < n && p[i] == ' ')
        i++;
    size_t first = i;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
        v = v << 3 | (uint64_t)(p[i] - '0'); /* at most 12 digits: no overflow */
    *out = v;
    return i > first && (i == n || p[i] == 0 || p[i] == ' ');
}

static bool checksum_holds(const uint8_t *h)
{
    uint64_t want, sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + 8 ? ' ' : h[i];
    return number(h + SUM_AT, 8, &want) && want == sum;
}

/* The header at pos, checked; *out_n is the size of its data, which is inside the archive. */
static const uint8_t *header(tn_tar *t, size_t *out_n)
{
    static const char cut[] = "the archive is cut short";
    if (t->n - t->pos < BLOCK) {
        fail(t, cut);
        return NULL;
    }
    const uint8_t *h = t->data + t->pos;
    uint64_t size;
    if (!checksum_holds(h)) {
        fail(t, "not a tar archive, or damaged: a header's checksum is wrong");
        return NULL;
    }
    if (memcmp(h + MAGIC_AT, "ustar", 5) != 0) {
        fail(t, "a tar header is not in the ustar format");
        return NULL;
    }
    if (!number(h + SIZE_AT, 12, &size)) {
        fail(t, "a tar header has an invalid size");
        return NULL;
    }
    *out_n = (size_t)size;
    if (size > t->n - t->pos - BLOCK) {
        fail(t, cut);
        return NULL;
    }
    return h;
}

/* Steps over a header and n bytes of data, padded to whole blocks. */
static bool advance(tn_tar *t, size_t n)
{
    size_t room = t->n - t->pos - BLOCK, pad = (BLOCK - n % BLOCK) % BLOCK;
    if (n > room || pad > room - n)
        return fail(t, "the archive is cut short");
    t->pos += BLOCK + n + pad;
    return true;
}

/* One pax record "length key=value\n" at p; its length, 0 if malformed. */
static size_t record(const uint8_t *p, size_t n, const uint8_t **out_eq)
{
    size_t len = 0, i = 0;
    for (; i < n && i < 10 && p[i] >= '0' && p[i] <= '9'; i++)
        len = len * 10 + (size_t)(p[i] - '0');
    if (i == 0 || i >= n || p[i] != ' ' || len <= i + 1 || len > n || p[len - 1] != '\n')
        return 0;
    *out_eq = memchr(p + i + 1, '=', len - i - 2);
    return *out_eq && *out_eq > p + i + 1 ? len : 0;
}

static bool decimal(const uint8_t *p, size_t n, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9' || i > 18)
            return false;
        v = v * 10 + (uint64_t)(p[i] - '0');
    }
    *out = v;
    return n > 0;
}

static bool has_key(const uint8_t *key, const uint8_t *eq, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(eq - key) == n && memcmp(key, text, n) == 0;
}

static bool pax(tn_tar *t, const uint8_t *p, size_t n, extension *x)
{
    while (n) {
        const uint8_t *eq = NULL;
        size_t len = record(p, n, &eq);
        if (!len)
            return fail(t, "a malformed pax record");
        const uint8_t *k = (const uint8_t *)memchr(p, ' ', len) + 1;
        const uint8_t *value = eq + 1;
        size_t value_n = (size_t)(p + len - 1 - value);
        if (has_key(k, eq, "path")) {
            x->name = (const char *)value;
            x->name_n = value_n;
        } else if (has_key(k, eq, "size")) {
            if (!decimal(value, value_n, &x->size))
                return fail(t, "a malformed pax size");
            x->has_size = true;
        } else if (eq - k > 11 && memcmp(k, "GNU.sparse.", 11) == 0) {
            return fail(t, "sparse files are not supported");
        }
        p += len;
        n -= len;
    }
    return true;
}

/* A regular file whose header is at pos. */
static bool file_entry(tn_tar *t, const uint8_t *h, size_t n, const extension *x, tn_tar_entry *out)
{
    const char *name = x->name ? x->name : (const char *)h;
    size_t name_n = x->name ? x->name_n : length(h, NAME);
    if (!x->name && h[PREFIX_AT] && memcmp(h + MAGIC_AT, "ustar\0", 6) == 0)
        return fail(t, "a name has two parts (ustar prefix); write the archive with --format=pax or gnu");
    if (name_n == 0 || memchr(name, 0, name_n))
        return fail(t, "an entry has no valid name");
    if (x->has_size) {
        if (x->size > t->n)
            return fail(t, "the archive is cut short");
        n = (size_t)x->size;
    }
    size_t offset = t->pos + BLOCK;
    if (!advance(t, n))
        return false;
    *out = (tn_tar_entry){.name = name, .name_n = name_n, .offset = offset, .at = t->data + offset, .n = n};
    return true;
}

static bool end_mark(tn_tar *t)
{
    if (t->n - t->pos < 2 * BLOCK || !all_zero(t->data + t->pos, 2 * BLOCK))
        return fail(t, "the archive is cut short: its end mark is missing");
    t->done = 1;
    return false;
}

int tn_tar_next(tn_tar *t, tn_tar_entry *out_entry)
{
    extension x = {0}, all = {0};
    while (!t->done) {
        if (t->n - t->pos >= BLOCK && all_zero(t->data + t->pos, BLOCK))
            return end_mark(t);
        size_t n;
        const uint8_t *h = header(t, &n);
        if (!h)
            return 0;
        const uint8_t *body = h + BLOCK;
        switch (h[TYPE_AT]) {
        case '0':
        case '\0': return file_entry(t, h, n, &x, out_entry);
        case '5': /* a directory */ x = (extension){0}; break;
        case 'g': /* pax defaults for all entries: times, owners, comments */
            if (!pax(t, body, n, &all))
                return 0;
            if (all.name || all.has_size)
                return fail(t, "a pax header gives all entries one name or size");
            break;
        case 'x':
            if (!pax(t, body, n, &x))
                return 0;
            break;
        case 'L': /* GNU: the name of the next entry, NUL at its end */
            x.name = (const char *)body;
            x.name_n = length(body, n);
            break;
        default: return fail(t, "an entry is neither a file nor a directory");
        }
        if (!advance(t, n))
            return 0;
    }
    return 0;
}

int tn_tar_find(const void *data, size_t n, const char *name, tn_tar_entry *out_entry, const char **out_error)
{
    tn_tar t = tn_tar_open(data, n);
    tn_tar_entry e;
    int found = 0;
    size_t want = strlen(name);
    *out_error = NULL;
    while (tn_tar_next(&t, &e)) {
        size_t skip = e.name_n > 2 && memcmp(e.name, "./", 2) == 0 ? 2 : 0;
        if (e.name_n - skip != want || memcmp(e.name + skip, name, want) != 0)
            continue;
        if (found) {
            *out_error = "the archive contains the same name twice";
            return 0;
        }
        found = 1;
        *out_entry = e;
    }
    *out_error = t.error;
    return t.error ? 0 : found;
}
