/* base/words: words of a list, one after the other and by number. */
#include "base/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void words_have_numbers(void **state)
{
    static const struct {
        const char *list, *word;
        int at;
    } rows[] = {
        {"NCHW NHWC", "NCHW", 0},
        {"NCHW NHWC", "NHWC", 1},
        {"NCHW NHWC", "NHW", -1},
        {"NCHW NHWC", "HWC", -1},
        {" a  b ", "b", 1},
        {"aa a", "a", 1},
        {"", "a", -1},
        {NULL, "a", -1},
        {"a b", "a b", -1},
        {"a", "", -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (tn_words_find(rows[i].list, rows[i].word) != rows[i].at)
            fail_msg("\"%s\" in \"%s\" is not number %d", rows[i].word, rows[i].list, rows[i].at);
}

static void words_come_in_order(void **state)
{
    const char *at = "  nn.conv2d nn.dense", *word;
    size_t n;
    (void)state;
    assert_true(tn_words_next(&at, &word, &n) && n == 9 && memcmp(word, "nn.conv2d", n) == 0);
    assert_true(tn_words_next(&at, &word, &n) && n == 8 && memcmp(word, "nn.dense", n) == 0);
    assert_false(tn_words_next(&at, &word, &n));
    assert_false(tn_words_next(&at, &word, &n));
}

static void words_are_held(void **state)
{
    static const char *const at[] = {"avx2", "fma"};
    (void)state;
    assert_true(tn_words_hold(at, 2, "avx2") && tn_words_hold(at, 2, "fma"));
    assert_false(tn_words_hold(at, 1, "fma") || tn_words_hold(at, 2, "avx") || tn_words_hold(at, 2, ""));
}

static void near_words_are_proposed(void **state)
{
    static const struct {
        const char *word, *name;
        int apart;
    } rows[] = {
        {"opt-level", "opt-level", 0},
        {"opt_level", "opt-level", 0},
        {"optt-level", "opt-level", 1},
        {"otp-level", "opt-level", 1},
        {"foldconstant", "FoldConstant", 0},
        {"FoldConstnat", "FoldConstant", 1},
        {"conv2d", "nn.conv2d", 1},
        {"comp", "compile", -1},
        {"compil", "compile", 1},
        {"so", "tar", -1},
        {"avx512", "avx512f", 1},
        {"", "a", -1},
        {"a", "", -1},
        {"nonsense", "no-variants", -1},
        {"a.", "b.", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int got = tn_words_apart(rows[i].word, strlen(rows[i].word), rows[i].name);
        if (got != rows[i].apart)
            fail_msg("\"%s\" is %d from \"%s\", not %d", rows[i].word, got, rows[i].name, rows[i].apart);
    }
    tn_nearest s = {.word = "stage", .n = 5};
    tn_nearest_offer(&s, "usage");
    tn_nearest_offer(&s, "stages");
    assert_string_equal(s.best, "stages");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_have_numbers),
        cmocka_unit_test(words_come_in_order),
        cmocka_unit_test(words_are_held),
        cmocka_unit_test(near_words_are_proposed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
