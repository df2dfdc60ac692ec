/* Operators of TensorFlow that a TFLite model holds: numbers worked out by hand, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tflite/run.h"

/* Their options as 32-bit integers: a FlexBuffer, a list of the operator's name and of a NodeDef. */
#define CUMSUM /* Cumsum, exclusive: true, reverse: false */ \
    "100663296 1936553283 721448309 309199114 1836401414 711816563 1695091215 1970037624 1702259059 " \
    "19399186 " \
    "118099242 1702258034 308638578 10242 338572546 19399700"
#define FOO "1866859264 168296559 51539457 7302982 336269058 19399700"
#define FOO_TOO_LONG "1866859264 168296559 51539465 7302982 336269058 19399700" /* of its name */

static void operators_of_tensorflow_compute(void **state)
{
    (void)state;
    static const float x[] = {3, 4, 5};
    expect("tensor x float32 3\ntensor k int32 scalar data=0\ntensor y float32 3\n"
           "custom FlexCumsum " CUMSUM " : x k -> y\n" ARGS,
           x, sizeof x, 3, (const double[]){0, 3, 7});
}

#define XY "tensor x float32 1,2\ntensor y float32 1,2\n"

static const struct {
    const char *id, *text;
} refusals[] = {
    {"tflite-E004", XY "custom FlexFoo " FOO " : x -> y\n" ARGS},
    {"tflite-E001", XY "custom FlexFoo " FOO_TOO_LONG " : x -> y\n" ARGS},
    {"tflite-E001", XY "custom FlexFoo : x -> y\n" ARGS},
    {"tflite-E001", XY "custom FlexFoo a=1 : x -> y\n" ARGS},
    {"tflite-E010", "tensor x int8 3 scale=0.5\ntensor k int32 scalar data=0\ntensor y int8 3 scale=0.5\n"
                    "custom FlexCumsum " CUMSUM " : x k -> y\n" ARGS},
};

static void others_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        model m;
        tn_buf file;
        assert_int_equal(import_text(&m, refusals[i].text, &file, NULL), TN_FAIL);
        if (!strstr(model_errors(&m), refusals[i].id))
            fail_msg("%s\n%s", refusals[i].text, model_errors(&m));
        model_deinit(&m);
        tn_buf_deinit(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_of_tensorflow_compute),
        cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
