/* Zip archives: the directory, and from it the members. */
#include "base/wire/zip.h"

#include <string.h>

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    COMMENT = 65535
};

static uint64_t number(const uint8_t *at, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | at[i];
    return v;
}

static bool is_at(const tn_zip *z, uint64_t at, uint64_t bytes, const char *mark)
{
    return at <= z->n && bytes <= z->n - at && memcmp(z->at + at, mark, 4) == 0;
}

/* Archives beyond 4 GiB, or of more than 65,535 members, have a second end before the first. */
static bool find_end64(const tn_zip *z, size_t end, uint64_t *out)
{
    if (end < LOCATOR_BYTES || !is_at(z, end - LOCATOR_BYTES, LOCATOR_BYTES, "PK\6\7"))
        return false;
    *out = number(z->at + end - LOCATOR_BYTES + 8, 8);
    return is_at(z, *out, END64_BYTES, "PK\6\6");
}

/* The end, and behind it a comment as long as it says. */
static bool is_end(const tn_zip *z, size_t at)
{
    return is_at(z, at, END_BYTES, "PK\5\6") && number(z->at + at + 20, 2) <= z->n - at - END_BYTES;
}

tn_zip tn_zip_open(const void *data, size_t n)
{
    tn_zip z = {.at = data, .n = n};
    size_t end = n < END_BYTES ? 0 : n - END_BYTES, least = end > COMMENT ? end - COMMENT : 0;
    while (end > least && !is_end(&z, end))
        end--;
    if (!is_end(&z, end)) {
        z.error = "it is no zip archive, or it is cut short";
        return z;
    }
    uint64_t wide, pos = number(z.at + end + 16, 4), bytes = number(z.at + end + 12, 4);
    z.left = number(z.at + end + 10, 2);
    if (find_end64(&z, end, &wide)) {
        z.left = number(z.at + wide + 32, 8);
        bytes = number(z.at + wide + 40, 8);
        pos = number(z.at + wide + 48, 8);
    }
    if (pos > end || bytes > end - pos)
        z.error = "the directory of the archive lies outside of it";
    z.pos = z.error ? 0 : (size_t)pos;
    z.end = z.error ? 0 : (size_t)(pos + bytes);
    return z;
}

/* Sizes and the offset that do not fit the entry stand in a field of their own, in this order. */
static bool read_wide(const uint8_t *at, size_t n, uint64_t *const value[3])
{
    while (n >= 4) {
        size_t bytes = (size_t)number(at + 2, 2), used = 4;
        if (bytes > n - 4)
            return false;
        for (int i = 0; i < 3 && number(at, 2) == 1; i++) {
            if (*value[i] != UINT32_MAX)
                continue;
            if (used + 8 > bytes + 4)
                return false;
            *value[i] = number(at + used, 8);
            used += 8;
        }
        at += bytes + 4;
        n -= bytes + 4;
    }
    return true;
}

/* What follows the member's own head. */
static tn_bytes data_of(const tn_zip *z, uint64_t head, uint64_t bytes, bool encrypted)
{
    if (encrypted || !is_at(z, head, LOCAL_BYTES, "PK\3\4"))
        return (tn_bytes){0};
    uint64_t from = head + LOCAL_BYTES + number(z->at + head + 26, 2) + number(z->at + head + 28, 2);
    return from <= z->n && bytes <= z->n - from ? (tn_bytes){z->at + from, (size_t)bytes} : (tn_bytes){0};
}

bool tn_zip_next(tn_zip *z, tn_zip_entry *out)
{
    if (z->error || !z->left)
        return false;
    const uint8_t *at = z->at + z->pos;
    size_t room = z->end - z->pos;
    bool whole = room >= ENTRY_BYTES && is_at(z, z->pos, ENTRY_BYTES, "PK\1\2");
    size_t name = whole ? (size_t)number(at + 28, 2) : 0, extra = whole ? (size_t)number(at + 30, 2) : 0,
           all = whole ? ENTRY_BYTES + name + extra + (size_t)number(at + 32, 2) : 0;
    if (!whole || all > room) {
        z->error = "the directory of the archive is cut short";
        return false;
    }
    uint64_t packed = number(at + 20, 4), head = number(at + 42, 4);
    *out = (tn_zip_entry){{at + ENTRY_BYTES, name}, (uint16_t)number(at + 10, 2), number(at + 24, 4), {0}};
    if (!read_wide(at + ENTRY_BYTES + name, extra, (uint64_t *const[3]){&out->bytes, &packed, &head})) {
        z->error = "the directory of the archive is damaged";
        return false;
    }
    out->data = data_of(z, head, packed, at[8] & 1);
    z->pos += all;
    z->left--;
    return true;
}
