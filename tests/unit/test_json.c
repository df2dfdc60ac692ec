/* base/wire/json: what is taken, what is refused and where, and bounds on work and depth. */
#include "base/wire/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Reads from a heap copy of exactly n bytes, so the sanitizer sees any read behind the end. */
static tn_json_doc read_exact(const char *text, size_t n, char **out_copy)
{
    *out_copy = malloc(n ? n : 1);
    memcpy(*out_copy, text, n);
    return tn_json_read(*out_copy, n);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t at;
        const char *error;
    } row[] = {
        {"", 0, "the text ends instead of a value"},
        {" ", 1, "the text ends instead of a value"},
        {"\xef\xbb\xbf{}", 0, "expected a value"},
        {"{} x", 3, "text follows the value"},
        {"1 2", 2, "text follows the value"},
        {"[1,]", 3, "expected a value"},
        {"[,1]", 1, "expected a value"},
        {"[1 2]", 3, "expected a ',' or ']'"},
        {"[1", 2, "expected a ',' or ']'"},
        {"[", 1, "the text ends instead of a value"},
        {"[1}", 2, "expected a ',' or ']'"},
        {"]", 0, "expected a value"},
        {"{\"a\":1,}", 7, "expected a key in quotes"},
        {"{\"a\":1", 6, "expected a ',' or '}'"},
        {"{\"a\" 1}", 5, "expected a ':'"},
        {"{\"a\"", 4, "expected a ':'"},
        {"{\"a\":}", 5, "expected a value"},
        {"{a:1}", 1, "expected a key in quotes"},
        {"{'a':1}", 1, "expected a key in quotes"},
        {"{1:1}", 1, "expected a key in quotes"},
        {"{\"a\":1,\"a\":2}", 12, "an object has one key twice"},
        {"{\"a\":1,\"\\u0061\":2}", 17, "an object has one key twice"},
        {"nul", 0, "expected a value"},
        {"True", 0, "expected a value"},
        {"NaN", 0, "expected a value"},
        {"+1", 0, "expected a value"},
        {".5", 0, "expected a value"},
        {"-", 1, "a number needs a digit here"},
        {"01", 0, "a number has a leading zero"},
        {"-01", 0, "a number has a leading zero"},
        {"1.", 2, "a number needs a digit here"},
        {"1e", 2, "a number needs a digit here"},
        {"1e+", 3, "a number needs a digit here"},
        {"1e400", 0, "a number is too large for a double"},
        {"0x10", 1, "text follows the value"},
        {"\"a", 0, "a string is not terminated"},
        {"\"a\\\"", 0, "a string is not terminated"},
        {"\"\\", 1, "unknown escape"},
        {"\"\\q\"", 1, "unknown escape"},
        {"\"a\nb\"", 2, "a control character in a string"},
        {"\"\\u12g4\"", 3, "\\u needs four hex digits"},
        {"\"\\u12", 3, "\\u needs four hex digits"},
        {"\"\\ud800\"", 3, "a surrogate without its partner"},
        {"\"\\ud800\\u0041\"", 3, "a surrogate without its partner"},
        {"\"\\udc00\"", 3, "a surrogate without its partner"},
        {"\"\x80\"", 1, "a string is not UTF-8"},
        {"\"\xc0\xaf\"", 1, "a string is not UTF-8"},
        {"\"\xe2\x82\"", 1, "a string is not UTF-8"},
        {"\"\xed\xa0\x80\"", 1, "a string is not UTF-8"},
        {"\"\xf4\x90\x80\x80\"", 1, "a string is not UTF-8"},
        {"/* c */ 1", 0, "expected a value"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *copy;
        tn_json_doc d = read_exact(row[i].text, strlen(row[i].text), &copy);
        assert_null(d.root);
        assert_null(d.memory);
        assert_string_equal(d.error, row[i].error);
        assert_int_equal(d.error_at, row[i].at);
        tn_json_free(&d);
        free(copy);
    }
}

/* Python's module json writes floats that are no numbers by name. */
static void python(void **state)
{
    (void)state;
    static const char text[] = "[NaN, Infinity, -Infinity, -1]";
    tn_json_doc d = tn_json_read_python(text, sizeof text - 1);
    assert_non_null(d.root);
    assert_int_equal(d.root->n, 4);
    assert_true(d.root->u.at[0].u.r != d.root->u.at[0].u.r);
    assert_true(d.root->u.at[1].u.r > 1e308);
    assert_true(d.root->u.at[2].u.r < -1e308);
    assert_int_equal(d.root->u.at[3].u.i, -1);
    tn_json_free(&d);
    assert_null(tn_json_read(text, sizeof text - 1).root);
    static const char *const bad[] = {"N", "Inf", "nan", "-I", "-Infinit"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        d = tn_json_read_python(bad[i], strlen(bad[i]));
        assert_string_equal(d.error, i < 3 ? "expected a value" : "a number needs a digit here");
    }
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int whole;
        int64_t i;
        double r;
    } row[] = {
        {"0", 1, 0, 0},
        {" 42 ", 1, 42, 0},
        {"-7", 1, -7, 0},
        {"9223372036854775807", 1, INT64_MAX, 0},
        {"-9223372036854775808", 1, INT64_MIN, 0},
        {"9223372036854775808", 0, 0, 0x1p63},
        {"-9223372036854775809", 0, 0, -0x1p63},
        {"123456789012345678901234567890", 0, 0, 123456789012345678901234567890.0},
        {"1.5", 0, 0, 1.5},
        {"1e2", 0, 0, 100},
        {"1E-2", 0, 0, 0.01},
        {"-0", 0, 0, -0.0},
        {"-0.0", 0, 0, -0.0},
        {"1e-400", 0, 0, 0},
        {"0.1", 0, 0, 0.1},
        {"5e-324", 0, 0, 5e-324},
        {"1.7976931348623157e308", 0, 0, 1.7976931348623157e308},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *copy;
        tn_json_doc d = read_exact(row[i].text, strlen(row[i].text), &copy);
        assert_non_null(d.root);
        assert_true(tn_json_is(d.root, row[i].whole ? TN_JSON_INT : TN_JSON_REAL));
        if (row[i].whole)
            assert_int_equal(d.root->u.i, row[i].i);
        else
            assert_memory_equal(&d.root->u.r, &row[i].r, sizeof(double));
        tn_json_free(&d);
        free(copy);
    }
    static char digits[1002];
    memset(digits, '1', sizeof digits);
    tn_json_doc d = tn_json_read(digits, 1001);
    assert_string_equal(d.error, "a number is too long");
}

static void strings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
        size_t n;
    } row[] = {
        {"\"\"", "", 0},
        {"\"abc\"", "abc", 3},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
        {"\"a\\u0000b\"", "a\0b", 3},
        {"\"\\u00e9\\u20AC\\uD83d\\uDE00\"", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9},
        {"\"\xc3\xa9\xf0\x9f\x98\x80 x\\n\"", "\xc3\xa9\xf0\x9f\x98\x80 x\n", 9},
        {"\"\x7f\"", "\x7f", 1},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *copy;
        tn_json_doc d = read_exact(row[i].text, strlen(row[i].text), &copy);
        assert_true(tn_json_is(d.root, TN_JSON_STRING));
        assert_int_equal(d.root->n, row[i].n);
        assert_memory_equal(d.root->u.s, row[i].want, row[i].n);
        int escaped = strchr(row[i].text, '\\') != NULL;
        int inside = d.root->u.s >= copy && d.root->u.s <= copy + strlen(row[i].text);
        assert_int_equal(inside, !escaped); /* zero-copy where nothing is escaped */
        tn_json_free(&d);
        free(copy);
    }
}

static void a_tree(void **state)
{
    (void)state;
    static const char text[] =
        "{\"nodes\": [{\"op\": \"null\", \"in\": []}, {\"op\": \"tvm\\u005fop\", \"in\": [[0, 0, 0], [1]]}],"
        "\"empty\": {}, \"on\": true, \"off\": false, \"none\": null}";
    tn_json_doc d = tn_json_read(text, sizeof text - 1);
    assert_null(d.error);
    const tn_json *nodes = tn_json_find(d.root, "nodes");
    assert_true(tn_json_is(nodes, TN_JSON_ARRAY));
    assert_int_equal(nodes->n, 2);
    assert_true(tn_json_is_text(tn_json_find(&nodes->u.at[1], "op"), "tvm_op"));
    const tn_json *in = tn_json_find(&nodes->u.at[1], "in");
    assert_int_equal(in->n, 2);
    assert_int_equal(in->u.at[0].n, 3);
    assert_int_equal(in->u.at[1].u.at[0].u.i, 1);
    assert_int_equal(tn_json_find(&nodes->u.at[0], "in")->n, 0);
    assert_int_equal(tn_json_find(d.root, "empty")->n, 0);
    assert_true(tn_json_find(d.root, "on")->u.b);
    assert_false(tn_json_find(d.root, "off")->u.b);
    assert_true(tn_json_is(tn_json_find(d.root, "none"), TN_JSON_NULL));
    assert_null(tn_json_find(d.root, "node"));
    assert_null(tn_json_find(nodes, "op"));
    assert_null(tn_json_find(NULL, "op"));
    assert_false(tn_json_is(NULL, TN_JSON_NULL));
    assert_int_equal(d.root->n, 5);
    assert_true(tn_json_is_text(&d.root->u.at[8], "none")); /* members keep their order */
    tn_json_free(&d);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    enum { N = 1000000 };
    char *text = malloc(N);
    for (int object = 0; object < 2; object++) {
        memset(text, '[', N);
        for (int i = 0; object && i + 5 <= N; i += 5)
            memcpy(text + i, "{\"a\":", 5);
        tn_json_doc d = tn_json_read(text, N);
        assert_string_equal(d.error, "nested too deeply");
        assert_int_equal(d.error_at, TN_JSON_DEPTH * (object ? 5 : 1));
    }
    memset(text, '[', TN_JSON_DEPTH);
    memset(text + TN_JSON_DEPTH, ']', TN_JSON_DEPTH);
    tn_json_doc d = tn_json_read(text, 2 * (size_t)TN_JSON_DEPTH);
    assert_null(d.error);
    tn_json_free(&d);
    free(text);
}

/* 100,000 keys with a long common part: must stay far from quadratic (the test's time limit), and one repeat
 * anywhere is found. */
static void many_keys(void **state)
{
    (void)state;
    enum { KEYS = 100000, ONE = 48 };
    char *text = malloc((size_t)KEYS * ONE + 2);
    for (int twice = 0; twice < 2; twice++) {
        size_t n = 0;
        for (unsigned i = 0; i < KEYS; i++) {
            unsigned k = twice && i == KEYS - 1 ? 77 : i;
            n += (size_t)sprintf(text + n, "%c\"%032x\":%u", i ? ',' : '{', k * 2654435761u, i % 10);
        }
        text[n++] = '}';
        tn_json_doc d = tn_json_read(text, n);
        assert_int_equal(d.error != NULL, twice);
        if (!twice) {
            assert_int_equal(d.root->n, KEYS);
            assert_int_equal(d.root->u.at[2 * 1234 + 1].u.i, 4);
        }
        tn_json_free(&d);
    }
    free(text);
}

static void no_data(void **state)
{
    (void)state;
    tn_json_doc d = tn_json_read(NULL, 0);
    assert_non_null(d.error);
    tn_json_free(&d);
    tn_json_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),   cmocka_unit_test(numbers), cmocka_unit_test(python),
        cmocka_unit_test(strings),   cmocka_unit_test(a_tree),  cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(many_keys), cmocka_unit_test(no_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
