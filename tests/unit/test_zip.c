/* base/wire/zip: members where they lie, and damage. */
#include "base/wire/zip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void number(tn_buf *b, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        tn_buf_char(b, (char)(v >> 8 * i & 255));
}

/* What local heads and entries of the directory have in common; sizes of 0xffffffff stand in a field of their own. */
static void add_sizes(tn_buf *b, size_t n, size_t name, bool wide)
{
    tn_buf_fill(b, 0, 4 + 4); /* times, sum */
    number(b, wide ? UINT32_MAX : n, 4);
    number(b, wide ? UINT32_MAX : n, 4);
    number(b, name, 2);
}

/* Members of the same name and text, stored. */
static void archive(tn_buf *b, int n, const char *const text[], bool wide)
{
    size_t at[8], from, entries;
    for (int i = 0; i < n; i++) {
        at[i] = b->n;
        tn_buf_add(b, "PK\3\4\x14\0\0\0\0\0", 10);
        add_sizes(b, strlen(text[i]), strlen(text[i]), false);
        number(b, 3, 2);
        tn_buf_str(b, text[i]);
        tn_buf_str(b, "xyz");
        tn_buf_str(b, text[i]);
    }
    from = b->n;
    for (int i = 0; i < n; i++) {
        tn_buf_add(b, "PK\1\2\x14\0\x14\0\0\0\0\0", 12);
        add_sizes(b, strlen(text[i]), strlen(text[i]), wide);
        number(b, wide ? 20 : 0, 2);
        tn_buf_fill(b, 0, 2 + 2 + 2 + 4);
        number(b, at[i], 4);
        tn_buf_str(b, text[i]);
        if (wide) {
            number(b, 1, 2);
            number(b, 16, 2);
            number(b, strlen(text[i]), 8);
            number(b, strlen(text[i]), 8);
        }
    }
    entries = b->n - from;
    tn_buf_add(b, "PK\5\6\0\0\0\0", 8);
    number(b, (uint64_t)n, 2);
    number(b, (uint64_t)n, 2);
    number(b, entries, 4);
    number(b, from, 4);
    tn_buf_add(b, "\4\0note", 6);
}

static const char *const texts[] = {"config.json", "model.weights.h5", "c"};

static void members_are_found_in_place(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        tn_buf b = {0};
        tn_zip_entry e;
        archive(&b, 3, texts, wide);
        tn_zip z = tn_zip_open(b.at, b.n);
        for (int i = 0; i < 3; i++) {
            assert_true(tn_zip_next(&z, &e));
            assert_int_equal(e.bytes, strlen(texts[i]));
            assert_int_equal(e.data.n, strlen(texts[i]));
            assert_memory_equal(e.data.at, texts[i], e.data.n);
            assert_true(e.data.at > (const uint8_t *)b.at && e.data.at < (const uint8_t *)b.at + b.n);
            assert_int_equal(e.name.n, strlen(texts[i]));
            assert_memory_equal(e.name.at, texts[i], e.name.n);
        }
        assert_false(tn_zip_next(&z, &e));
        assert_null(z.error);
        tn_buf_deinit(&b);
    }
}

static void damage_is_found(void **state)
{
    (void)state;
    tn_buf b = {0};
    tn_zip_entry e;
    archive(&b, 3, texts, true);
    for (size_t k = 0; k < b.n; k++) {
        tn_zip z = tn_zip_open(b.at, k); /* cut short */
        assert_non_null(z.error);
        assert_false(tn_zip_next(&z, &e));
        for (int bit = 0; bit < 8; bit++) {
            b.at[k] = (char)(b.at[k] ^ 1 << bit);
            z = tn_zip_open(b.at, b.n);
            while (tn_zip_next(&z, &e))
                assert_true(!e.data.at || (e.data.at >= (const uint8_t *)b.at &&
                                           e.data.at + e.data.n <= (const uint8_t *)b.at + b.n));
            b.at[k] = (char)(b.at[k] ^ 1 << bit);
        }
    }
    tn_buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_in_place),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
