/* Writing zip archives. An entry's checksum goes before its bytes, so they are read twice: once for it (eight bytes a
 * step, by eight tables: Kounavis and Berry 2005), once to be written. */
#include "cli/zip.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOCAL = 0x04034b50,
    CENTRAL = 0x02014b50,
    END = 0x06054b50,
    END64 = 0x06064b50,
    LOCATOR64 = 0x07064b50
};
enum { PLAIN = 20, ZIP64 = 45, UNIX = 3 << 8, UTF8 = 1 << 11, FIRST_DAY = 1 << 5 | 1 /* 1 January 1980 */ };
enum { RECORD = 128 };
#define MAX32 0xffffffffu
#define READABLE (0100644u << 16)

typedef struct {
    uint8_t at[RECORD];
    size_t n;
} record;
typedef struct {
    char *name;
    uint64_t bytes, offset;
    uint32_t crc;
} entry;

struct tn_zip {
    tn_output *to;
    uint64_t written;
    entry *entry;
    size_t n, room;
    uint32_t table[8][256];
};

static void put(record *r, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        r->at[r->n++] = (uint8_t)(v >> 8 * i);
}

static void send(tn_zip *z, const void *at, size_t n)
{
    tn_output_add(z->to, at, n);
    z->written += n;
}

tn_zip *tn_zip_new(tn_output *to)
{
    tn_zip *z = calloc(1, sizeof *z);
    if (!z)
        return NULL;
    z->to = to;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0);
        z->table[0][i] = c;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t i = 0; i < 256; i++)
            z->table[k][i] = z->table[k - 1][i] >> 8 ^ z->table[0][z->table[k - 1][i] & 255];
    return z;
}

static uint32_t checksum(const tn_zip *z, uint32_t c, const uint8_t *at, size_t n)
{
    for (; n >= 8; at += 8, n -= 8) {
        uint32_t low = c ^ ((uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0]);
        c = z->table[7][low & 255] ^ z->table[6][low >> 8 & 255] ^ z->table[5][low >> 16 & 255] ^
            z->table[4][low >> 24] ^ z->table[3][at[4]] ^ z->table[2][at[5]] ^ z->table[1][at[6]] ^
            z->table[0][at[7]];
    }
    for (; n; at++, n--)
        c = c >> 8 ^ z->table[0][(c ^ *at) & 255];
    return c;
}

static uint16_t flags(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name > 126)
            return UTF8;
    return 0;
}

static bool is_large(uint64_t v) { return v >= MAX32; }

/* What both headers of an entry say, from the version that is needed to the name's length. */
static void describe(record *r, const entry *e, uint64_t version)
{
    put(r, version, 2);
    put(r, flags(e->name), 2);
    put(r, 0, 4); /* stored, at midnight */
    put(r, FIRST_DAY, 2);
    put(r, e->crc, 4);
    put(r, is_large(e->bytes) ? MAX32 : e->bytes, 4);
    put(r, is_large(e->bytes) ? MAX32 : e->bytes, 4);
    put(r, strlen(e->name), 2);
}

/* The sizes, and the offset, that 32 bits do not hold. */
static void extra(record *r, const entry *e, bool offset)
{
    if (!is_large(e->bytes) && !offset)
        return;
    put(r, 1, 2);
    put(r, (is_large(e->bytes) ? 16 : 0) + (offset ? 8 : 0), 2);
    if (is_large(e->bytes)) {
        put(r, e->bytes, 8);
        put(r, e->bytes, 8);
    }
    if (offset)
        put(r, e->offset, 8);
}

int tn_zip_add(tn_zip *z, const char *name, int n, const tn_zip_piece piece[])
{
    if (z->n == z->room) {
        size_t room = z->room ? 2 * z->room : 16;
        entry *more = realloc(z->entry, room * sizeof *more);
        if (!more)
            return 1;
        z->entry = more;
        z->room = room;
    }
    entry *e = &z->entry[z->n];
    *e = (entry){.name = strdup(name), .offset = z->written, .crc = MAX32};
    if (!e->name)
        return 1;
    z->n++;
    for (int i = 0; i < n; i++) {
        e->crc = checksum(z, e->crc, piece[i].at, piece[i].n);
        e->bytes += piece[i].n;
    }
    e->crc = ~e->crc;
    record r = {0}, x = {0};
    extra(&x, e, false);
    put(&r, LOCAL, 4);
    describe(&r, e, x.n ? ZIP64 : PLAIN);
    put(&r, x.n, 2);
    send(z, r.at, r.n);
    send(z, name, strlen(name));
    send(z, x.at, x.n);
    for (int i = 0; i < n; i++)
        send(z, piece[i].at, piece[i].n);
    return 0;
}

static void end_entry(tn_zip *z, const entry *e)
{
    record r = {0}, x = {0};
    extra(&x, e, is_large(e->offset));
    put(&r, CENTRAL, 4);
    put(&r, UNIX | (x.n ? ZIP64 : PLAIN), 2);
    describe(&r, e, x.n ? ZIP64 : PLAIN);
    put(&r, x.n, 2);
    put(&r, 0, 2 + 2 + 2); /* comment, disk, no text */
    put(&r, READABLE, 4);
    put(&r, is_large(e->offset) ? MAX32 : e->offset, 4);
    send(z, r.at, r.n);
    send(z, e->name, strlen(e->name));
    send(z, x.at, x.n);
}

static void end_archive(tn_zip *z, uint64_t start, uint64_t bytes)
{
    record r = {0};
    bool many = z->n >= 0xffff;
    if (many || is_large(start) || is_large(bytes)) {
        uint64_t here = z->written;
        put(&r, END64, 4);
        put(&r, 44, 8); /* bytes that follow of this record */
        put(&r, UNIX | ZIP64, 2);
        put(&r, ZIP64, 2);
        put(&r, 0, 8); /* disks */
        put(&r, z->n, 8);
        put(&r, z->n, 8);
        put(&r, bytes, 8);
        put(&r, start, 8);
        put(&r, LOCATOR64, 4);
        put(&r, 0, 4);
        put(&r, here, 8);
        put(&r, 1, 4);
    }
    put(&r, END, 4);
    put(&r, 0, 4);
    put(&r, many ? 0xffff : z->n, 2);
    put(&r, many ? 0xffff : z->n, 2);
    put(&r, is_large(bytes) ? MAX32 : bytes, 4);
    put(&r, is_large(start) ? MAX32 : start, 4);
    put(&r, 0, 2);
    send(z, r.at, r.n);
}

void tn_zip_end(tn_zip *z)
{
    if (!z)
        return;
    uint64_t start = z->written;
    for (size_t i = 0; i < z->n; i++)
        end_entry(z, &z->entry[i]);
    end_archive(z, start, z->written - start);
    for (size_t i = 0; i < z->n; i++)
        free(z->entry[i].name);
    free(z->entry);
    free(z);
}
