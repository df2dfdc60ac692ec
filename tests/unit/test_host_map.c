/* Host functions over maps, each called alone in a program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "host/run.h"

#define NUMBERS "#0(int64[3] 5 -2 0; float32[3] 1.5 2.5 3.5)"
#define NAMES "#0(string[2] 'b' 'a'; string[2] 'x' 'y')"
#define TWICE "#0(int64[3] 7 1 7; int8[3] 1 2 3)"
#define NO_LIST "fails: node: the keys of a map for map.keys are not a list of int64 or strings"

static void maps(void **state)
{
    static const host_row rows[] = {
        {"map.zip", 2, "int64[2] 4 3; float32[2,2] 1 2 3 4",
         "#0(#0(int64[2] 4 3; float32[2] 1 2); #0(int64[2] 4 3; float32[2] 3 4))"},
        {"map.zip", 2, "string[2] 'a' 'b'; int64[2] 1 2", "#0(#0(string[2] 'a' 'b'; int64[2] 1 2))"},
        {"map.zip", 2, "string[1] 'a'; string[2,1] 'x' 'y'",
         "#0(#0(string[1] 'a'; string[1] 'x'); #0(string[1] 'a'; string[1] 'y'))"},
        {"map.zip", 2, "int64[2] 4 3; float32[0,2]", "#0()"},
        {"map.zip", 2, "int64[2] 4 3; float32[3] 1 2 3",
         "fails: node: there are 2 keys, but rows of 3 values"},
        {"map.keys", 1, NUMBERS, "int64[3] -2 0 5"},
        {"map.keys", 1, NAMES, "string[2] 'a' 'b'"},
        {"map.keys", 1, "#0(int64[0]; int8[0])", "int64[0]"},
        {"map.keys", 1, "#0(float32[1] 1; int8[1] 1)", NO_LIST},
        {"map.keys", 1, "#0(int64[1,1] 1; int8[1] 1)", NO_LIST},
        {"map.keys", 1, "#0(int64[2] 1 2; int8[1] 1)",
         "fails: node: a map for map.keys has 2 keys and other values"},
        {"map.keys", 1, "int64[1] 1", "fails: node: map.keys gets a value that is not a map"},
        {"map.values", 1, NUMBERS, "float32[3] 2.5 3.5 1.5"},
        {"map.values", 1, NAMES, "string[2] 'y' 'x'"},
        {"map.values", 1, TWICE, "int8[2] 2 3"},
        {"map.get", 3, NUMBERS "; int64[4] 0 1 5 0; float32[] -1", "float32[4] 3.5 -1 1.5 3.5"},
        {"map.get", 3, NAMES "; string[3] 'a' '' 'b'; string[] '?'", "string[3] 'y' '?' 'x'"},
        {"map.get", 3, TWICE "; int64[2] 1 7; int8[] 0", "int8[2] 2 3"},
        {"map.get", 3, "#0(int64[0]; int8[0]); int64[1] 1; int8[] 9", "int8[1] 9"},
        {"map.get", 3, NAMES "; int64[1] 1; string[] '?'",
         "fails: node: map.get gets keys or a value of another type than the map has"},
        {"map.get", 3, NUMBERS "; int64[1] 1; float64[] 0",
         "fails: node: map.get gets keys or a value of another type than the map has"},
    };
    (void)state;
    EXPECT(rows);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(maps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
