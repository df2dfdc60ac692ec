/* base/vec, base/map, base/size, base/rng. */
#include "base/map.h"
#include "base/rng.h"
#include "base/size.h"
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void vector_grows_and_pops(void **state)
{
    (void)state;
    tn_vec(int) v = {0};
    for (int i = 0; i < 1000; i++)
        tn_vec_push(&v, i);
    assert_int_equal(v.n, 1000);
    assert_int_equal(tn_vec_last(&v), 999);
    assert_int_equal(tn_vec_pop(&v), 999);
    for (int i = 0; i < 999; i++)
        assert_int_equal(v.at[i], i);
    tn_vec_clear(&v);
    tn_vec_reserve(&v, 5000);
    assert_true(v.n == 0 && v.cap >= 5000);
    tn_vec_deinit(&v);
    assert_true(v.at == NULL && v.cap == 0);
}

/* Against a plain array as the model: put, replace, get, order. */
static void map_matches_a_model(void **state)
{
    (void)state;
    enum { KEYS = 600 };
    uint64_t value[KEYS] = {0};
    int present[KEYS] = {0};
    uint64_t order[KEYS];
    size_t n = 0;
    tn_map m = {0};
    tn_rng r = {7};
    uint64_t got = 99;
    assert_false(tn_map_get(&m, 0, &got));
    assert_int_equal(got, 99);
    for (int step = 0; step < 5000; step++) {
        uint64_t k = tn_rng_below(&r, KEYS), v = tn_rng_next(&r);
        if (!present[k]) {
            present[k] = 1;
            order[n++] = k;
        }
        value[k] = v;
        tn_map_put(&m, k << 32, v);
    }
    assert_int_equal(m.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(m.entry[i].key, order[i] << 32);
        assert_int_equal(m.entry[i].value, value[order[i]]);
    }
    for (uint64_t k = 0; k < KEYS; k++) {
        assert_int_equal(tn_map_get(&m, k << 32, &got), present[k]);
        assert_true(!present[k] || got == value[k]);
    }
    tn_map_clear(&m);
    assert_false(tn_map_get(&m, order[0] << 32, &got));
    tn_map_put(&m, 5, 6);
    assert_true(tn_map_get(&m, 5, &got) && got == 6 && m.n == 1);
    tn_map_deinit(&m);
}

static void string_keys(void **state)
{
    (void)state;
    static char text[500][8];
    tn_strmap m = {0};
    uint64_t got;
    for (unsigned i = 0; i < 500; i++) {
        snprintf(text[i], sizeof text[i], "k%u", i);
        tn_strmap_put(&m, text[i], strlen(text[i]), i);
    }
    tn_strmap_put(&m, "", 0, 1000);
    tn_strmap_put(&m, "a\0b", 3, 1001);
    tn_strmap_put(&m, "k7", 2, 1007);
    assert_int_equal(m.n, 502);
    assert_true(tn_strmap_get(&m, "k499", 4, &got) && got == 499);
    assert_true(tn_strmap_get(&m, "k7", 2, &got) && got == 1007);
    assert_true(tn_strmap_get(&m, "", 0, &got) && got == 1000);
    assert_true(tn_strmap_get(&m, "a\0b", 3, &got) && got == 1001);
    assert_false(tn_strmap_get(&m, "a", 1, &got));
    assert_false(tn_strmap_get(&m, "k500", 4, &got));
    tn_strmap_deinit(&m);
}

/* Fixed values: tuning records and caches hold hashes, so they must never change. */
static void hashes_are_fixed(void **state)
{
    (void)state;
    assert_int_equal(tn_hash_u64(0, 0), 0xe220a8397b1dcdaf);
    assert_int_equal(tn_hash_bytes("", 0, 0), 0xe220a8397b1dcdaf);
    assert_int_not_equal(tn_hash_bytes("a", 1, 0), tn_hash_bytes("a\0", 2, 0));
    assert_int_not_equal(tn_hash_bytes("abcdefgh1", 9, 0), tn_hash_bytes("abcdefgh2", 9, 0));
    assert_int_not_equal(tn_hash_bytes("a", 1, 0), tn_hash_bytes("a", 1, 1));
}

static void checked_sizes(void **state)
{
    (void)state;
    size_t s = 5;
    int64_t i = 5;
    assert_false(tn_size_add(SIZE_MAX, 1, &s));
    assert_false(tn_size_mul(SIZE_MAX / 2, 3, &s));
    assert_false(tn_size_align(SIZE_MAX - 3, 64, &s));
    assert_false(tn_i64_add(INT64_MAX, 1, &i));
    assert_false(tn_i64_sub(INT64_MIN, 1, &i));
    assert_false(tn_i64_mul(INT64_MIN, -1, &i));
    assert_true(s == 5 && i == 5);
    assert_true(tn_size_align(65, 64, &s) && s == 128);
    assert_true(tn_size_align(64, 64, &s) && s == 64);
    for (int64_t a = -9; a <= 9; a++) {
        for (int64_t b = -4; b <= 4; b++) {
            if (b) {
                int64_t q = tn_floordiv(a, b), m = tn_floormod(a, b);
                assert_int_equal(q * b + m, a);
                assert_true(m == 0 || (m < 0) == (b < 0));
                assert_true(m < (b < 0 ? -b : b) && -m < (b < 0 ? -b : b));
            }
        }
    }
}

/* First outputs of SplitMix64 for seed 1234567, from the reference code of Steele, Lea and Flood. */
static void rng_is_splitmix64(void **state)
{
    (void)state;
    tn_rng r = {1234567};
    assert_int_equal(tn_rng_next(&r), 6457827717110365317u);
    assert_int_equal(tn_rng_next(&r), 3203168211198807973u);
    for (int i = 0; i < 1000; i++) {
        double u = tn_rng_unit(&r);
        assert_true(u >= 0 && u < 1);
        assert_true(tn_rng_below(&r, 7) < 7);
    }
    assert_int_equal(tn_rng_below(&r, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_grows_and_pops), cmocka_unit_test(map_matches_a_model),
        cmocka_unit_test(string_keys),           cmocka_unit_test(hashes_are_fixed),
        cmocka_unit_test(checked_sizes),         cmocka_unit_test(rng_is_splitmix64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
