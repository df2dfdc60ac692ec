/* Regular expressions (src/host/regex.c), through string.regex_full_match and string.regex_replace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "host/run.h"

/* pattern in JSON; texts: those that match, "|", those that do not; or the message after "fails: " */
static void expect(const char *pattern, const char *yes, const char *no)
{
    static char operands[4096];
    const char *lists[] = {yes, no};
    for (int match = 0; match < 2; match++) {
        const char *list = lists[!match];
        while (list && *list) {
            size_t n = strcspn(list, "|");
            snprintf(operands, sizeof operands, "string[] '%.*s'; json {\"pattern\": \"%s\"}", (int)n, list,
                     pattern);
            const char *have = host_call("string.regex_full_match", 2, operands, 1);
            if (strcmp(have, match ? "bool[] 1" : "bool[] 0") != 0)
                fail_msg("%s against '%.*s' gives %s", pattern, (int)n, list, have);
            list += n + (list[n] == '|');
        }
    }
}

static void matches(void **state)
{
    static const char *const rows[][3] = {
        {"a(b|c)*d", "ad|abd|acbbd", "a|abc|xad|adx"},
        {"", "", "a"},
        {"a|", "a", "b"},
        {"(|a)*b", "b|aab", "c"},
        {"(a*)*", "a|aaaa", "b|aab"},
        {"x{2}", "xx", "x|xxx"},
        {"x{2,}y", "xxy|xxxxy", "xy"},
        {"x{1,3}", "x|xx|xxx", "xxxx|y"},
        {"x{0}y", "y", "xy"},
        {"(ab){0,2}", "ab|abab", "ababab|a"},
        {"x{,2}", "x{,2}", "x"},
        {"x{a}", "x{a}", "x"},
        {"a+?b*?c??", "a|aabc", "bc"},
        {".", "a|\303\244|\360\237\230\200", "\n|ab"},
        {"(?s).", "\n", "ab"},
        {"^a$", "a", "a\n|\na"},
        {"(?m)a$\\n^b", "a\nb", "ab"},
        {"\\\\Aa\\\\z", "a", "ab"},
        {"\\\\bfoo\\\\b.*", "foo|foo bar", "foobar"},
        {"a\\\\Bb", "ab", "a b"},
        {"[a-c\\\\-x]+", "abc-x", "d"},
        {"[^a-c]", "d|\303\244", "a|b"},
        {"[]a]+", "]a", "b"},
        {"[a-]+", "a-", "b"},
        {"[[:alpha:]_]+", "aZ_", "1|\303\244"},
        {"[[:^digit:]]", "a", "1"},
        {"[[:word]+", "[:word", "x"},
        {"\\\\d\\\\D\\\\s\\\\S\\\\w\\\\W", "1a b_-", "1a bx_"},
        {"[\\\\d\\\\s]+", "1 2", "a"},
        {"[^\\\\W]+", "ab", "-"},
        {"\\\\pL+\\\\p{Nd}\\\\PL", "\303\244a1-", "1a"},
        {"\\\\p{^Lu}", "a|1", "A"},
        {"\\\\P{Lu}", "a|1", "A"},
        {"\\\\p{Greek}+\\\\P{Greek}[\\\\p{Han}x]", "\316\261\316\251-\344\270\255|\316\261ax",
         "a-x|\316\261\316\261x"},
        {"[^\\\\p{Latin}]\\\\p{^Latin}\\\\P{^Latin}", "1-z", "a-z|1az|1-1"},
        {"(?i)straSSe\\\\w", "STRASSEx", "strase"},
        {"(?i)[k-l]", "K|L", "m"},
        {"(?i)\\u212a", "k|K|\342\204\252", "x"},
        {"(?i:a)b", "Ab|ab", "aB"},
        {"(?i)a(?-i)b", "Ab", "AB"},
        {"(?P<name>a)(?<other>b)(?:c)", "abc", "ab"},
        {"\\\\Qa.b*\\\\E*", "a.b|a.b**", "axb"},
        {"\\\\x41\\\\x{42}\\\\103\\\\t", "ABC\t", "abc"},
        {"\\\\.\\\\*\\\\\\\\", ".*\\", "xx"},
        {"a\\\\|b", "", "a"},
        {"www\\\\.[\\\\w.-]+\\\\.\\\\bcom\\\\b", "www.google.com", "www.bbc.co.uk"},
        {"(\\\\W|^)[\\\\w.\\\\-]{0,25}@(yahoo|gmail)\\\\.com(\\\\W|$)", "account@gmail.com|a@yahoo.com ",
         "not email|a@gmail.comx"},
        {"(x+x+)+y", "xxxxy", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
        {".", "", "\377|\355\240\200"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(rows[i][0], rows[i][1], rows[i][2]);
}

static void refused(void **state)
{
    static const struct {
        const char *pattern, *message;
    } rows[] = {
        {"a(b", "a group that is not closed at byte 3: a(b"},
        {"a)", "a bracket that closes nothing at byte 1: a)"},
        {"*a", "a repetition of nothing at byte 0: *a"},
        {"a**", "a repetition of a repetition at byte 3: a**"},
        {"a{1001}", "a number of repetitions that is not valid at byte 7: a{1001}"},
        {"a{99999999999}", "a number of repetitions that is not valid at byte 14: a{99999999999}"},
        {"a{3,2}", "a number of repetitions that is not valid at byte 6: a{3,2}"},
        {"((a{1000}){1000}){1000}", "too many repetitions at byte 16: ((a{1000}){1000}){1000}"},
        {"[a", "a class that is not closed at byte 2: [a"},
        {"[b-a]", "a range whose end lies before its beginning at byte 4: [b-a]"},
        {"[[:nope:]]", "a class that does not exist at byte 2: [[:nope:]]"},
        {"\\\\1", "a reference to a group, which is not supported at byte 2: \\1"},
        {"\\\\k", "an escape that is not known at byte 2: \\k"},
        {"\\\\x{110000}", "a number of a character that is not one at byte 9: \\x{110000}"},
        {"\\\\p{L Lu}", "a category of characters that is not known at byte 2: \\p{L Lu}"},
        {"\\\\p{Grek}", "a category of characters that is not known at byte 2: \\p{Grek}"},
        {"\\\\p{", "a category of characters that is not known at byte 2: \\p{"},
        {"a\\\\", "an end where a character is missing at byte 2: a\\"},
        {"(?=a)", "a flag that is not known at byte 2: (?=a)"},
        {"(?P<n", "a group whose name is not one at byte 4: (?P<n"},
        {"(?i", "flags without an end at byte 3: (?i"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char operands[256], message[256];
        snprintf(operands, sizeof operands, "string[] 'a'; json {\"pattern\": \"%s\"}", rows[i].pattern);
        snprintf(message, sizeof message, "fails: node: the regular expression has %s", rows[i].message);
        assert_string_equal(host_call("string.regex_full_match", 2, operands, 1), message);
    }
}

static void replaced(void **state)
{
    static const struct {
        const char *pattern, *rest, *from, *to;
    } rows[] = {
        {"[,!]", "\"rewrite\": \"\"", "a, b!!", "a b"},
        {"<br />", "\"rewrite\": \" \"", "x<br />y<br />", "x y "},
        {"a+", "\"rewrite\": \"_\"", "aabca", "_bc_"},
        {"a*", "\"rewrite\": \"_\"", "aab", "_b_"},
        {"a*", "\"rewrite\": \"_\"", "\303\244x", "_\303\244_x_"},
        {"", "\"rewrite\": \"-\"", "ab", "-a-b-"},
        {"b", "\"rewrite\": \"\", \"all\": 0", "abab", "aab"},
        {"^a", "\"rewrite\": \"x\"", "aa", "xa"},
        {"z", "\"rewrite\": \"x\"", "", ""},
        /* the preferred match, as TensorFlow's tf.strings.regex_replace has it */
        {"a|ab", "\"rewrite\": \"-\"", "abab", "-b-b"},
        {"ab|a", "\"rewrite\": \"-\"", "abab", "--"},
        {"a+?", "\"rewrite\": \"-\"", "aaab", "---b"},
        {"(a?)(ab)?", "\"rewrite\": \"-\"", "ab", "-b-"},
        {"<.*?>", "\"rewrite\": \"-\"", "<i>x</i>y", "-x-y"},
        {"(foo|foobar)d?", "\"rewrite\": \"-\"", "foobard foo", "-bard -"},
        {"(a|b)*?c", "\"rewrite\": \"-\"", "abcabc", "--"},
        {"a{1,2}?", "\"rewrite\": \"-\"", "aaa", "---"},
        {"a{1,}?b", "\"rewrite\": \"-\"", "aaabb", "-b"},
        {"(?:a|ab)(?:c|bcd)(d*)", "\"rewrite\": \"-\"", "abcd", "-"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char operands[256], want[64];
        snprintf(operands, sizeof operands, "string[] '%s'; json {\"pattern\": \"%s\", %s}", rows[i].from,
                 rows[i].pattern, rows[i].rest);
        snprintf(want, sizeof want, "string[] '%s'", rows[i].to);
        assert_string_equal(host_call("string.regex_replace", 2, operands, 1), want);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches),
        cmocka_unit_test(refused),
        cmocka_unit_test(replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
