/* Tar: any bytes. What the reader accepts is inside the archive, found again by name, and survives being written
 * and read back. The last byte says whether to repair the checksums first, so that the fuzzer gets behind them. */
#include "base/wire/tar.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
    if (!holds)
        abort();
}

/* Puts right checksum and magic of every block that is not zero. */
static void repair(uint8_t *data, size_t n)
{
    for (size_t at = 0; at + 512 <= n; at += 512) {
        uint8_t *h = data + at;
        unsigned sum = 0, any = 0;
        memcpy(h + 148, "        ", 8);
        for (int i = 0; i < 512; i++) {
            sum += h[i];
            any |= h[i] != ' ' && h[i];
        }
        if (!any)
            memset(h + 148, 0, 8);
        else if (memcmp(h + 257, "ustar", 5) == 0)
            snprintf((char *)h + 148, 8, "%06o", sum);
    }
}

static void check_entry(const uint8_t *data, size_t n, const tn_tar_entry *e)
{
    const uint8_t *name = (const uint8_t *)e->name;
    require(e->at == data + e->offset && e->offset % 512 == 0 && e->n <= n - e->offset);
    require(name >= data && e->name_n > 0 && e->name_n <= n && name + e->name_n <= data + n);
    require(!memchr(name, 0, e->name_n));
}

static void round_trip(const tn_tar_entry *want, size_t count)
{
    tn_buf b = {0};
    for (size_t i = 0; i < count; i++) {
        char *name = strndup(want[i].name, want[i].name_n);
        tn_tar_add(&b, name, want[i].at, want[i].n, i);
        free(name);
    }
    tn_tar_end(&b);
    tn_tar t = tn_tar_open(b.at, b.n);
    tn_tar_entry e;
    for (size_t i = 0; i < count; i++) {
        require(tn_tar_next(&t, &e) == 1);
        require(e.name_n == want[i].name_n && memcmp(e.name, want[i].name, e.name_n) == 0);
        require(e.n == want[i].n && memcmp(e.at, want[i].at, e.n) == 0);
    }
    require(tn_tar_next(&t, &e) == 0 && !t.error);
    tn_buf_deinit(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    enum { MAX = 16 };
    uint8_t *copy = malloc(n ? n : 1);
    tn_tar_entry e[MAX], next;
    size_t count = 0;
    if (n) {
        memcpy(copy, data, n);
        n--;
        if (data[n] & 1)
            repair(copy, n);
    }
    tn_tar t = tn_tar_open(copy, n);
    while (tn_tar_next(&t, &next)) {
        check_entry(copy, n, &next);
        if (count < MAX)
            e[count++] = next;
    }
    round_trip(e, count);
    if (count) {
        char *name = strndup(e[0].name, e[0].name_n);
        const char *error;
        if (tn_tar_find(copy, n, name, &next, &error))
            require(!t.error && next.at == e[0].at);
        free(name);
    }
    free(copy);
    return 0;
}
