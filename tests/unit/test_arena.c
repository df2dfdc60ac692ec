/* base/arena: alignment, zeroing, stability, reset, exhaustion. */
#include "base/arena.h"
#include "base/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

static int all_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return 0;
    return 1;
}

static void aligned_zeroed_and_disjoint(void **state)
{
    (void)state;
    static const size_t align[] = {1, 2, 8, 16, 64};
    static const size_t bytes[] = {0, 1, 3, 64, 1000, 5000, 70000, 3000000};
    tn_arena a;
    tn_arena_init(&a);
    for (int round = 0; round < 3; round++) {
        uint8_t *p[200];
        size_t n[200], sum = 0;
        for (size_t i = 0; i < 200; i++) {
            n[i] = bytes[i * 7 % (i % 20 ? 6 : 8)];
            p[i] = tn_arena_alloc(&a, n[i], align[i % 5]);
            assert_non_null(p[i]);
            assert_int_equal((uintptr_t)p[i] % align[i % 5], 0);
            assert_true(all_zero(p[i], n[i]));
            memset(p[i], (int)(i + 1), n[i]);
            sum += n[i] ? n[i] : 1;
        }
        for (size_t i = 0; i < 200; i++)
            for (size_t k = 0; k < n[i]; k++)
                assert_int_equal(p[i][k], (uint8_t)(i + 1));
        assert_int_equal(a.used_bytes, sum);
        tn_arena_reset(&a);
        assert_int_equal(a.used_bytes, 0);
    }
    tn_arena_deinit(&a);
}

static void empty_requests_are_distinct(void **state)
{
    (void)state;
    tn_arena a;
    tn_arena_init(&a);
    void *p = tn_arena_alloc(&a, 0, 1), *q = tn_arena_alloc(&a, 0, 1);
    assert_non_null(p);
    assert_ptr_not_equal(p, q);
    tn_arena_deinit(&a);
}

static void strings(void **state)
{
    (void)state;
    tn_arena a;
    tn_arena_init(&a);
    assert_string_equal(tn_arena_strndup(&a, "abcdef", 3), "abc");
    assert_string_equal(tn_arena_strndup(&a, NULL, 0), "");
    assert_string_equal(tn_arena_strdup(&a, "xyz"), "xyz");
    assert_string_equal(tn_arena_printf(&a, "%d-%s", 42, "q"), "42-q");
    assert_string_equal(tn_arena_printf(&a, "%s", ""), "");
    assert_memory_equal(tn_arena_copy(&a, "1234", 4, 4), "1234", 4);
    tn_arena_deinit(&a);
}

static void too_many(void *arena) { tn_arena_array(arena, SIZE_MAX / 2, 3, 8); }
static void too_large(void *arena) { tn_arena_alloc(arena, SIZE_MAX - 8, 8); }

static void exhaustion_raises(void **state)
{
    (void)state;
    tn_arena a;
    tn_arena_init(&a);
    assert_int_equal(tn_protect(NULL, too_many, &a).kind, TN_RAISED_OUT_OF_MEMORY);
    tn_raised r = tn_protect(NULL, too_large, &a);
    assert_int_equal(r.kind, TN_RAISED_OUT_OF_MEMORY);
    assert_true(r.amount >= SIZE_MAX - 8);
    assert_non_null(TN_NEW(&a, double)); /* still usable */
    tn_arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligned_zeroed_and_disjoint),
        cmocka_unit_test(empty_requests_are_distinct),
        cmocka_unit_test(strings),
        cmocka_unit_test(exhaustion_raises),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
