/* Host functions over texts (src/host): operands and results as text (host/run.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "host/run.h"

static void constants(void **state)
{
    static const host_row rows[] = {
        {"string.make", 3, "int64[2] 2 1; int64[3] 0 1 3; uint8[3] 97 98 99", "string[2,1] 'a' 'bc'"},
        {"string.make", 3, "int64[0]; int64[2] 0 2; uint8[2] 195 164", "string[] 'ä'"},
        {"string.make", 3, "int64[1] 0; int64[1] 0; uint8[0]", "string[0]"},
        {"string.make", 3, "int64[1] 2; int64[3] 0 4 3; uint8[3]",
         "fails: node: the offsets of a constant tensor of strings do not ascend"},
        {"string.make", 3, "int64[1] 2; int64[3] 0 1 2; uint8[3]",
         "fails: node: the parts of a constant tensor of strings do not fit each other"},
        {"string.make", 3, "int64[1] -2; int64[3] 0 1 2; uint8[3]",
         "fails: node: the result of string.make is too large"},
        {"string.make", 3, "int64[3] 4611686018427387904 2 2; int64[3] 0 1 2; uint8[3]",
         "fails: node: the result of string.make is too large"},
        {"string.make", 3, "int64[1] 2; int32[3] 0 1 2; uint8[3]",
         "fails: node: operand 1 of string.make has another type than int64"},
        {"string.make", 2, "int64[1] 2; int64[3] 0 1 2",
         "fails: node: string.make is called with 2 operands and 1 results"},
    };
    (void)state;
    EXPECT(rows);
}

static void joined_and_compared(void **state)
{
    static const host_row rows[] = {
        {"string.concat", 2, "string[2] 'a' ''; string[2] 'b' 'c'", "string[2] 'ab' 'c'"},
        {"string.concat", 2, "string[2,1] 'a' 'b'; string[3] 'x' 'y' 'z'",
         "string[2,3] 'ax' 'ay' 'az' 'bx' 'by' 'bz'"},
        {"string.concat", 2, "string[] 'a'; string[2,1] 'x' 'y'", "string[2,1] 'ax' 'ay'"},
        {"string.concat", 2, "string[0]; string[1] 'x'", "string[0]"},
        {"string.concat", 2, "string[2] 'a' 'b'; string[3] 'x' 'y' 'z'",
         "fails: node: string.concat gets shapes that do not broadcast: 2 and 3 elements along axis 0"},
        {"string.concat", 2, "string[] 'a'; int64[] 1",
         "fails: node: string.concat gets a value that is not a tensor of strings"},
        {"string.concat", 2, "string[] 'a'; #0(int64[1] 2; int64[3] 0 2 1; int64[] 2)",
         "fails: node: string.concat gets a value that is not a tensor of strings"},
        {"string.equal", 2, "string[3] 'a' '' 'a'; string[3] 'b' '' 'a'", "bool[3] 0 1 1"},
        {"string.equal", 2, "string[3] 'a' 'ab' 'ä'; string[] 'ä'", "bool[3] 0 0 1"},
        {"string.equal", 2, "string[2,1] 'a' 'b'; string[1,2] 'a' 'b'", "bool[2,2] 1 0 0 1"},
    };
    (void)state;
    EXPECT(rows);
}

static void moved(void **state)
{
    static const host_row rows[] = {
        {"string.number", 1, "string[2,2] 'a' 'b' 'c' ''", "int64[2,2] 0 1 2 3"},
        {"string.rank", 1, "string[7] 'b' 'ab' 'b' '' 'a' 'abc' 'ab'", "int64[7] 4 2 4 0 1 3 2"},
        {"string.rank", 1, "string[1,2] 'z' 'ä'", "int64[1,2] 0 1"},
        {"string.rank", 1, "string[0]", "int64[0]"},
        {"string.take", 2, "string[2] 'a' 'b'; int64[2,2] 1 0 0 1", "string[2,2] 'b' 'a' 'a' 'b'"},
        {"string.take", 3, "string[2] 'a' 'b'; string[1,1] 'c'; int64[3] 1099511627776 1 0",
         "string[3] 'c' 'b' 'a'"},
        {"string.take", 2, "string[2] 'a' 'b'; int64[] 2",
         "fails: node: string.take is asked for an element that does not exist"},
        {"string.take", 2, "string[2] 'a' 'b'; int64[] -1",
         "fails: node: string.take is asked for an element that does not exist"},
    };
    (void)state;
    EXPECT(rows);
}

static void split(void **state)
{
    static const struct {
        const char *operands, *results;
    } rows[] = {
        {"string[2] 'a b  c' ' d '; json {}", "string[2,3] 'a' 'b' 'c' 'd' '' ''; int64[2] 3 1"},
        {"string[2] 'a,b' 'c,,'; json {\"delimiter\": \",\"}",
         "string[2,3] 'a' 'b' '' 'c' '' ''; int64[2] 2 3"},
        {"string[1] ''; json {\"delimiter\": \",\"}", "string[1,1] ''; int64[1] 1"},
        {"string[1] ''; json {\"delimiter\": null, \"maxsplit\": null}", "string[1,0]; int64[1] 0"},
        {"string[] 'aabaab'; json {\"delimiter\": \"ab\", \"maxsplit\": 1}",
         "string[2] 'a' 'aab'; int64[] 2"},
        {"string[] ' a b  c '; json {\"maxsplit\": 1}", "string[2] 'a' 'b  c '; int64[] 2"},
        {"string[] 'a\u00a0b\u3000c'; json {}", "string[3] 'a' 'b' 'c'; int64[] 3"},
        {"string[] 'a\u00a0b\u3000c\x1c d'; json {\"ascii\": true}",
         "string[2] 'a\u00a0b\u3000c\x1c' 'd'; int64[] 2"},
        {"string[0,2]; json {}", "string[0,2,0]; int64[0,2]"},
        {"string[] 'a'; json [1]",
         "fails: node: the attributes of string.split are not a JSON object: another kind of value"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(host_call("string.split", 2, rows[i].operands, 2), rows[i].results);
}

static void found(void **state)
{
    static const host_row rows[] = {
        {"string.find", 2, "string[2,2] 'b' 'a' 'x' ''; string[3] 'a' 'b' ''", "int64[2,2] 1 0 3 2"},
        {"string.find", 2, "string[1] 'a'; string[3] 'a' 'b' 'a'", "int64[1] 2"},
        {"string.find", 2, "string[1] 'a'; string[0]", "int64[1] 0"},
    };
    (void)state;
    EXPECT(rows);
}

static void translated(void **state)
{
    static const host_row rows[] = {
        {"string.translate", 2,
         "string[2,1] 'Ab-B!' '\u00c4A'; json {\"from\": \"AB\", \"to\": \"ab\", \"remove\": \"-!\"}",
         "string[2,1] 'abb' '\u00c4a'"},
        {"string.translate", 2, "string[1] 'Ab'; json {\"remove\": \"b\"}", "string[1] 'A'"},
        {"string.translate", 2, "string[0]; json {}", "string[0]"},
    };
    (void)state;
    EXPECT(rows);
}

/* Numbers of TensorFlow's string_to_hash_bucket_fast and string_to_hash_bucket_strong; lengths of each branch. */
static void hashed(void **state)
{
    static const host_row rows[] = {
        {"string.hash", 2,
         "string[10] '' 'a' 'abcd' 'hello world' 'The quick brown fox jumps' 'xxxxxxxxxxxxxxxxxxxxxxxxxxxx"
         "xxxxxxxxxxxx' '0123456789012345678901234567890123456789012345678901234567890123456789' 'yyyyyyyy"
         "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy' '0123456789abcdef0123456789abcdef01234"
         "56789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef' 'zz"
         "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
         "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
         "zzzzzzq'"
         "; json {\"buckets\": 4611686018427387904}",
         "int64[10] 1936946117179621455 3694432073954588131 1897425971756105985 1769834696496558107 150344"
         "8500679765431 3168538174772821140 650192320029534232 4471793200125962424 2403258503118408509 459"
         "5036421034423240"},
        {"string.hash", 2,
         "string[10] '' 'a' 'abcd' 'hello world' 'The quick brown fox jumps' 'xxxxxxxxxxxxxxxxxxxxxxxxxxxx"
         "xxxxxxxxxxxx' '0123456789012345678901234567890123456789012345678901234567890123456789' 'yyyyyyyy"
         "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy' '0123456789abcdef0123456789abcdef01234"
         "56789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef' 'zz"
         "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
         "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
         "zzzzzzq'"
         "; json {\"buckets\": 4611686018427387904, \"strong\": true, \"key0\": 133, \"key1\": 137}",
         "int64[10] 316627932347062996 2466253977694453450 3196519216900852167 3672456908529363296 2846691"
         "457122586832 3060573628090643942 4157048865023803758 1805651083953470005 170538390253725707 3452"
         "861534129100996"},
        {"string.hash", 2, "string[1] 'a'; json {\"buckets\": 1}", "int64[1] 0"},
        /* numbers of scikit-learn's murmurhash3_32 */
        {"string.hash", 2,
         "string[5] '' 'foo' 'abcd' 'hello world' '\303\244\303\266'; json {\"murmur\": true}",
         "int64[5] 0 4138058784 1139631978 1586663183 1825177928"},
        {"string.hash", 2, "string[1] 'foo'; json {\"murmur\": true, \"key0\": 7}", "int64[1] 977864409"},
    };
    (void)state;
    EXPECT(rows);
}

static void tokens(void **state)
{
    static const host_row rows[] = {
        {"string.tokenize", 3, "string[3] 'The cat, sat' '' 'x'; string[1] '[a-z]+'; json {\"pad\": \"#\"}",
         "string[3,3] 'he' 'cat' 'sat' '#' '#' '#' 'x' '#' '#'"},
        {"string.tokenize", 3, "string[1] 'ab abb b'; string[1] 'ab|b|abb'; json {\"least\": 2}",
         "string[1,2] 'ab' 'abb'"},
        {"string.tokenize", 3, "string[1] 'aab'; string[1] 'a*'; json {}", "string[1,1] 'aa'"},
        {"string.tokenize", 3, "string[1] 'ab-cd ef'; string[1] '\\bcd|^ab|^cd'; json {}",
         "string[1,2] 'ab' 'cd'"},
        {"string.tokenize", 3, "string[1] '\303\244\303\266 x'; string[1] '\\S'; json {}",
         "string[1,3] '\303\244' '\303\266' 'x'"},
        {"string.tokenize", 3,
         "string[2] 'a, b;c' ';'; string[2] '[, ]+' ';'; json {\"separates\": true, \"pad\": \"-\"}",
         "string[2,3] 'a' 'b' 'c' '-' '-' '-'"},
        {"string.tokenize", 3,
         "string[1] 'a bc def'; string[1] ' '; json {\"separates\": true, \"least\": 3}",
         "string[1,1] 'def'"},
        {"string.tokenize", 3, "string[1] 'abc'; string[1] 'x*'; json {\"separates\": true}", "string[1,0]"},
        {"string.tokenize", 3, "string[2] '\303\244b' ''; string[0]; json {\"mark\": true, \"pad\": \"#\"}",
         "string[2,4] '\2' '\303\244' 'b' '\3' '\2' '\3' '#' '#'"},
        {"string.tokenize", 3, "string[1] ''; string[0]; json {\"mark\": true}", "string[1,0]"},
        {"string.tokenize", 3, "string[0]; string[1] 'a'; json {}", "string[0,0]"},
        {"string.tokenize", 3, "string[1] 'a'; string[1] '('; json {}",
         "fails: node: the regular expression has a group that is not closed at byte 1: ("},
    };
    (void)state;
    EXPECT(rows);
}

static void normalized(void **state)
{
    static const host_row rows[] = {
        {"string.normalize", 3, "string[3] 'Monday' 'tuesday' 'MONDAY'; string[1] 'monday'; json {}",
         "string[1] 'tuesday'"},
        {"string.normalize", 3,
         "string[3] 'monday' 'Tuesday' 'MONDAY'; string[1] 'monday'; json {\"is_case_sensitive\": true, "
         "\"case_change_action\": \"UPPER\"}",
         "string[2] 'TUESDAY' 'MONDAY'"},
        {"string.normalize", 3,
         "string[1,2] 'a' 'A'; string[1] 'a'; json {\"case_change_action\": \"LOWER\"}", "string[1,1] ''"},
        {"string.normalize", 3, "string[2] '' 'ab'; string[0]; json {}", "string[2] '' 'ab'"},
        {"string.normalize", 3, "string[0]; string[0]; json {}", "string[1] ''"},
        {"string.normalize", 3,
         "string[4] 'stra\u00dfe' '\u00e9\u01c6' 'ii' 'x\u1f80'; string[0]; json {\"case_change_action\": "
         "\"UPPER\"}",
         "string[4] 'STRASSE' '\u00c9\u01c4' 'II' 'X\u1f08\u0399'"},
        {"string.normalize", 3,
         "string[2] '\u039f\u0394\u039f\u03a3 \u03a3\u0391' 'I\u0130'; string[0]; json "
         "{\"case_change_action\": \"LOWER\"}",
         "string[2] '\u03bf\u03b4\u03bf\u03c2 \u03c3\u03b1' 'ii\u0307'"},
        {"string.normalize", 3,
         "string[1] 'I\u0130'; string[0]; json {\"case_change_action\": \"LOWER\", \"locale\": "
         "\"tr_TR.UTF-8\"}",
         "string[1] '\u0131i'"},
        {"string.normalize", 3,
         "string[1] 'i\u0131'; string[0]; json {\"case_change_action\": \"UPPER\", \"locale\": \"az\"}",
         "string[1] '\u0130I'"},
        {"string.normalize", 3, "string[1] 'a\xff'; string[0]; json {\"case_change_action\": \"UPPER\"}",
         "string[1] 'A\xff'"},
        {"string.normalize", 3, "string[2,1] 'a' 'b'; string[0]; json {}",
         "fails: node: string.normalize takes a list of strings, or one row of a matrix"},
    };
    (void)state;
    EXPECT(rows);
}

static void written_and_read(void **state)
{
    static const host_row rows[] = {
        {"string.of_number", 1, "int64[3] 0 -5 9223372036854775807",
         "string[3] '0' '-5' '9223372036854775807'"},
        {"string.of_number", 1, "float32[7] 1 0.1 314.15926 1e-4 1e-5 1e20 -0",
         "string[7] '1' '0.1' '314.15927' '0.0001' '1e-05' '1e+20' '-0'"},
        {"string.of_number", 1, "float64[6] 0.1 123456789.25 1e15 inf -inf nan",
         "string[6] '0.1' '123456789.25' '1000000000000000' 'INF' '-INF' 'NaN'"},
        {"string.of_number", 1, "int32[1] 0",
         "fails: node: string.of_number does not take numbers of this type"},
        {"string.to_number", 2, "string[5] '1' '-2.5e1' ' +INF' 'nan' '.5 '; json {\"dtype\": \"float32\"}",
         "float32[5] 1 -25 inf nan 0.5"},
        {"string.to_number", 2, "string[4] '1' '-25' '100.5' '1E3'; json {\"dtype\": \"int64\"}",
         "int64[4] 1 -25 100 1000"},
        {"string.to_number", 2, "string[1] '18446744073709551615'; json {\"dtype\": \"uint64\"}",
         "uint64[1] -1"},
        {"string.to_number", 2, "string[1] '-1'; json {\"dtype\": \"uint64\"}",
         "fails: node: the string \"-1\" is not a number of type uint64"},
        {"string.to_number", 2, "string[1] 'one'; json {\"dtype\": \"float64\"}",
         "fails: node: the string \"one\" is not a number of type float64"},
        {"string.to_number", 2, "string[1] ''; json {\"dtype\": \"int64\"}",
         "fails: node: the string \"\" is not a number of type int64"},
        {"string.to_number", 2, "string[1] '0x10'; json {\"dtype\": \"float64\"}",
         "fails: node: the string \"0x10\" is not a number of type float64"},
        {"string.to_number", 2, "string[1] '1e30'; json {\"dtype\": \"int64\"}",
         "fails: node: the string \"1e30\" is not a number of type int64"},
    };
    (void)state;
    EXPECT(rows);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants),  cmocka_unit_test(joined_and_compared),
        cmocka_unit_test(moved),      cmocka_unit_test(split),
        cmocka_unit_test(found),      cmocka_unit_test(translated),
        cmocka_unit_test(hashed),     cmocka_unit_test(tokens),
        cmocka_unit_test(normalized), cmocka_unit_test(written_and_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
