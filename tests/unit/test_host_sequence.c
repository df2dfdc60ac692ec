/* Host functions over sequences and optional values, each called alone in a program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "host/run.h"

#define ABC "#0(int64[] 1; int8[2] 2 3; string[1] 'c')"
#define OUTSIDE(p, n) "fails: node: position " #p " is outside of the sequence, which has " #n " elements"

static void elements(void **state)
{
    static const host_row rows[] = {
        {"seq.at", 2, ABC "; int64[] 0", "int64[] 1"},
        {"seq.at", 2, ABC "; int32[1] -1", "string[1] 'c'"},
        {"seq.at", 2, ABC "; int64[] 3", OUTSIDE(3, 3)},
        {"seq.at", 2, ABC "; int64[] -4", OUTSIDE(-4, 3)},
        {"seq.at", 2, "#0(); int64[] 0", OUTSIDE(0, 0)},
        {"seq.at", 2, ABC "; int64[2] 0 1", "fails: node: the position must be one integer"},
        {"seq.at", 2, ABC "; float32[] 0", "fails: node: operand 1 of seq.at must be integers"},
        {"seq.at", 2, "int64[] 0; int64[] 0", "fails: node: seq.at gets a value that is not a sequence"},
        {"seq.insert", 3, "#0(int64[] 1); int64[1] 2; #0()", "#0(int64[] 1; int64[1] 2)"},
        {"seq.insert", 3, "#0(int64[] 1); int64[1] 2; int64[] 0", "#0(int64[1] 2; int64[] 1)"},
        {"seq.insert", 3, "#0(int64[] 1; int64[] 3); int64[] 2; int64[] -1",
         "#0(int64[] 1; int64[] 2; int64[] 3)"},
        {"seq.insert", 3, "#0(); #0(int64[] 2); int64[] 0", "#0(#0(int64[] 2))"},
        {"seq.insert", 3, "#0(); int64[] 2; int64[] 1", OUTSIDE(1, 0)},
        {"seq.set", 3, "#0(int64[] 1; int64[] 3); int64[2] 2 3; int64[] 0", "#0(int64[2] 2 3; int64[] 3)"},
        {"seq.set", 3, "#0(int64[] 1; int64[] 3); int64[] 2; int32[] 2",
         "#0(int64[] 1; int64[] 3; int64[] 2)"},
        {"seq.set", 3, "#0(int64[] 1; int64[] 3); int64[] 2; int64[] -1", "#0(int64[] 1; int64[] 2)"},
        {"seq.set", 3, "#0(); int64[] 2; int64[] 1", OUTSIDE(1, 0)},
        {"seq.erase", 2, ABC "; #0()", "#0(int64[] 1; int8[2] 2 3)"},
        {"seq.erase", 2, ABC "; uint8[] 0", "#0(int8[2] 2 3; string[1] 'c')"},
        {"seq.erase", 2, "#0(); #0()", OUTSIDE(-1, 0)},
        {"seq.length", 1, ABC, "int64[] 3"},
        {"seq.length", 1, "#0()", "int64[] 0"},
        {"opt.has", 1, "#0()", "bool[] 0"},
        {"opt.has", 1, "#1(#0())", "bool[] 1"},
    };
    (void)state;
    EXPECT(rows);
}

#define CUT(axis, keep) "; json {\"axis\": " #axis ", \"keepdims\": " #keep "}"

static void parts(void **state)
{
    static const host_row rows[] = {
        {"seq.split", 3, "int64[2,3] 1 2 3 4 5 6; int64[2] 1 2" CUT(1, true),
         "#0(int64[2,1] 1 4; int64[2,2] 2 3 5 6)"},
        {"seq.split", 3, "int8[5] 1 2 3 4 5; int64[] 2" CUT(-1, true),
         "#0(int8[2] 1 2; int8[2] 3 4; int8[1] 5)"},
        {"seq.split", 3, "int8[2,2] 1 2 3 4; #0()" CUT(1, false), "#0(int8[2] 1 3; int8[2] 2 4)"},
        {"seq.split", 3, "int8[2,1] 1 2; #0()" CUT(0, true), "#0(int8[1,1] 1; int8[1,1] 2)"},
        {"seq.split", 3, "string[2,2] 'a' 'b' 'c' 'd'; int64[] 1" CUT(1, true),
         "#0(string[2,1] 'a' 'c'; string[2,1] 'b' 'd')"},
        {"seq.split", 3, "int8[0]; int64[] 2" CUT(0, true), "#0()"},
        {"seq.split", 3, "int8[2,0]; int64[2] 0 2" CUT(0, true), "#0(int8[0,0]; int8[2,0])"},
        {"seq.split", 3, "int8[1099511627776,0]; int64[1] 0" CUT(1, true), "#0(int8[1099511627776,0])"},
        {"seq.split", 3, "int8[2] 1 2; int64[] 0" CUT(0, true),
         "fails: node: the size of a part is 0, but must be at least 1"},
        {"seq.split", 3, "int8[2] 1 2; int64[2] 1 2" CUT(0, true),
         "fails: node: part 1 has 2 elements, which is negative or more than the 1 left"},
        {"seq.split", 3, "int8[2] 1 2; int64[1] 1" CUT(0, true),
         "fails: node: the parts have 1 elements, but the axis has 2"},
        {"seq.split", 3, "int8[2] 1 2; #0()" CUT(1, true),
         "fails: node: axis 1 is outside of a tensor of 1 dimensions"},
        {"seq.split", 3, "int8[] 1; #0()" CUT(0, true),
         "fails: node: axis 0 is outside of a tensor of 0 dimensions"},
    };
    (void)state;
    EXPECT(rows);
}

#define JOIN(axis, stack) "; #0()" JOINED(axis, stack) /* there is no result of an empty sequence */
#define JOINED(axis, stack) "; json {\"axis\": " #axis ", \"new_axis\": " #stack "}"
#define DIFFERS "fails: node: element 1 of the sequence has another type or shape than the first one"

static void joined(void **state)
{
    static const host_row rows[] = {
        {"seq.concat", 3, "#0(int8[2,1] 1 2; int8[2,2] 3 4 5 6)" JOIN(1, false), "int8[2,3] 1 3 4 2 5 6"},
        {"seq.concat", 3, "#0(int8[2] 1 2; int8[2] 3 4)" JOIN(1, true), "int8[2,2] 1 3 2 4"},
        {"seq.concat", 3, "#0(int8[1099511627776,0])" JOIN(1, false), "int8[1099511627776,0]"},
        {"seq.concat", 3, "#0(int8[2] 1 2; int8[2] 3 4)" JOIN(-2, true), "int8[2,2] 1 2 3 4"},
        {"seq.concat", 3, "#0(string[1] 'a'; string[2] 'b' 'c')" JOIN(0, false), "string[3] 'a' 'b' 'c'"},
        {"seq.concat", 3, "#0(int8[0,2]; int8[1,2] 3 4)" JOIN(0, false), "int8[1,2] 3 4"},
        {"seq.concat", 3, "#0(int8[0,2]; int8[0,3])" JOIN(1, false), "int8[0,5]"},
        {"seq.concat", 3, "#0()" JOIN(0, false),
         "fails: node: the sequence is empty, so its elements have no common shape"},
        {"seq.concat", 3, "#0(); int8[0,2]" JOINED(0, true), "int8[0,2]"},
        {"seq.concat", 3,
         "#0(int8[2] 1 2; int8[2] 3 4); #0(); json {\"axis\": 1, \"new_axis\": true, \"backward\": true}",
         "int8[2,2] 3 1 4 2"},
        {"seq.concat", 3, "#0(); string[0]" JOINED(0, true), "string[0]"},
        {"seq.concat", 3, "#0(int8[1] 1); int8[0,2]" JOINED(0, true), "int8[1,1] 1"},
        {"seq.concat", 3, "#0(int8[2] 1 2; int8[1] 3)" JOIN(0, true), DIFFERS},
        {"seq.concat", 3, "#0(int8[2] 1 2; int16[2] 1 2)" JOIN(0, false), DIFFERS},
        {"seq.concat", 3, "#0(int8[2] 1 2; int8[2,1] 1 2)" JOIN(0, false), DIFFERS},
        {"seq.concat", 3, "#0(int8[2] 1 2; string[1] 'a')" JOIN(0, false), DIFFERS},
        {"seq.concat", 3, "#0(int8[2] 1 2)" JOIN(1, false),
         "fails: node: axis 1 is outside of a tensor of 1 dimensions"},
        {"seq.concat", 3, "#0(#0(int8[] 1))" JOIN(0, false),
         "fails: node: seq.concat gets a value that is not a tensor of strings"},
    };
    (void)state;
    EXPECT(rows);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements),
        cmocka_unit_test(parts),
        cmocka_unit_test(joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
