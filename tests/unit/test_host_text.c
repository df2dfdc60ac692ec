/* Host functions over texts (src/host): operands and results as text (host/run.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "host/run.h"

typedef struct row {
    const char *name;
    uint32_t n_in;
    const char *operands, *results;
} row;

static void expect(size_t n, const row *rows)
{
    for (size_t i = 0; i < n; i++) {
        const char *have = host_call(rows[i].name, rows[i].n_in, rows[i].operands, 1);
        if (strcmp(have, rows[i].results) != 0)
            fail_msg("%s(%s)\ngives %s\n  not %s", rows[i].name, rows[i].operands, have, rows[i].results);
    }
}
#define EXPECT(rows) expect(sizeof(rows) / sizeof *(rows), rows)

static void constants(void **state)
{
    static const row rows[] = {
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
    static const row rows[] = {
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
    static const row rows[] = {
        {"string.take", 2, "string[2] 'a' 'b'; int64[2,2] 1 0 0 1", "string[2,2] 'b' 'a' 'a' 'b'"},
        {"string.take", 3, "string[2] 'a' 'b'; string[1,1] 'c'; int64[3] 2 1 0", "string[3] 'c' 'b' 'a'"},
        {"string.take", 2, "string[2] 'a' 'b'; int64[] 2",
         "fails: node: string.take is asked for an element that does not exist"},
        {"string.take", 2, "string[2] 'a' 'b'; int64[] -1",
         "fails: node: string.take is asked for an element that does not exist"},
    };
    (void)state;
    EXPECT(rows);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants),
        cmocka_unit_test(joined_and_compared),
        cmocka_unit_test(moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
