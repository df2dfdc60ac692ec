/* Checksums of packages (sum.h). Linear in what is summed; no allocation. */
#include "base/wire/sum.h"

#include "base/sha256.h"

#include <elf.h>
#include <string.h>

static void digest_of(const void *data, size_t n, uint8_t out[32])
{
    tn_sha256 s;
    tn_sha256_init(&s);
    tn_sha256_add(&s, data, n);
    tn_sha256_end(&s, out);
}

/* ---- mod.sum ---- */

void tn_sum_text(const uint8_t digest[32], char out[65])
{
    static const char hex[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        *out++ = hex[digest[i] >> 4];
        *out++ = hex[digest[i] & 15];
    }
    *out = 0;
}

enum tn_sum tn_sum_check(const void *list, size_t list_n, const char *name, const void *data, size_t n)
{
    const char *at = list, *end = at + list_n;
    size_t name_n = strlen(name);
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t line_n = (size_t)((line_end ? line_end : end) - at);
        if (line_n == 66 + name_n && memcmp(at + 66, name, name_n) == 0) {
            uint8_t digest[32];
            char text[65];
            digest_of(data, n, digest);
            tn_sum_text(digest, text);
            return memcmp(text, at, 64) == 0 ? TN_SUM_RIGHT : TN_SUM_WRONG;
        }
        at += line_n + 1;
    }
    return TN_SUM_ABSENT;
}

/* ---- libraries ---- */

static uint64_t number(const uint8_t *at)
{
    uint64_t v = 0;
    for (int i = 8; i-- > 0;)
        v = v << 8 | at[i];
    return v;
}

/* Bytes [from, to) of the file without the holes, which are in order and apart. */
static void add_range(tn_sha256 *s, const uint8_t *file, uint64_t from, uint64_t to,
                      const uint64_t hole[3][2])
{
    for (int i = 0; i < 3; i++) {
        if (hole[i][1] <= from || hole[i][0] >= to)
            continue;
        if (hole[i][0] > from)
            tn_sha256_add(s, file + from, (size_t)(hole[i][0] - from));
        from = hole[i][1] < to ? hole[i][1] : to;
    }
    tn_sha256_add(s, file + from, (size_t)(to - from));
}

/* tn_elf_read has seen that program headers and segments lie within the file. false: segments overlap, as no linker
 * makes them; summing them could take for ever. */
static bool code_digest(const uint8_t *file, size_t n, const tn_elf *e, uint8_t out[32])
{
    uint64_t weights = number(e->sum), weights_n = number(e->sum + 8), own = (uint64_t)(e->sum - file) + 48;
    bool first = weights < own;
    const uint64_t hole[3][2] = {{0, sizeof(Elf64_Ehdr)},
                                 {first ? weights : own, first ? weights + weights_n : own + 32},
                                 {first ? own : weights, first ? own + 32 : weights + weights_n}};
    Elf64_Ehdr h;
    tn_sha256 s;
    uint64_t room = n;
    memcpy(&h, file, sizeof h);
    tn_sha256_init(&s);
    for (uint32_t i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, file + h.e_phoff + (uint64_t)i * sizeof p, sizeof p);
        if (p.p_type != PT_LOAD)
            continue;
        if (p.p_filesz > room)
            return false;
        room -= p.p_filesz;
        add_range(&s, file, p.p_offset, p.p_offset + p.p_filesz, hole);
    }
    tn_sha256_end(&s, out);
    return true;
}

/* Do the weights lie within the file, and apart from the note? */
static bool is_placed(const void *file, size_t n, const tn_elf *e)
{
    uint64_t at = number(e->sum), bytes = number(e->sum + 8),
             note = (uint64_t)(e->sum - (const uint8_t *)file);
    return at >= sizeof(Elf64_Ehdr) && at <= n && bytes <= n - at &&
           (at >= note + TN_SUM_NOTE || at + bytes <= note);
}

enum tn_sum tn_sum_check_code(const void *file, size_t n, const tn_elf *e)
{
    uint8_t digest[32];
    if (!e->sum)
        return TN_SUM_ABSENT;
    if (!is_placed(file, n, e))
        return TN_SUM_WRONG;
    return code_digest(file, n, e, digest) && memcmp(digest, e->sum + 48, 32) == 0 ? TN_SUM_RIGHT
                                                                                   : TN_SUM_WRONG;
}

enum tn_sum tn_sum_check_weights(const void *file, size_t n, const tn_elf *e)
{
    uint8_t digest[32];
    if (!e->sum)
        return TN_SUM_ABSENT;
    if (!is_placed(file, n, e))
        return TN_SUM_WRONG;
    digest_of((const uint8_t *)file + number(e->sum), (size_t)number(e->sum + 8), digest);
    return memcmp(digest, e->sum + 16, 32) == 0 ? TN_SUM_RIGHT : TN_SUM_WRONG;
}

bool tn_sum_write(void *file, size_t n, const tn_elf *e, uint64_t weights, uint64_t weights_n)
{
    uint8_t *out = e->sum ? (uint8_t *)file + (e->sum - (const uint8_t *)file) : NULL;
    for (int i = 0; out && i < 8; i++) {
        out[i] = (uint8_t)(weights >> 8 * i);
        out[8 + i] = (uint8_t)(weights_n >> 8 * i);
    }
    if (!out || !is_placed(file, n, e))
        return false;
    digest_of((const uint8_t *)file + weights, (size_t)weights_n, out + 16);
    return code_digest(file, n, e, out + 48);
}
