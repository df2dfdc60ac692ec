/* Functions that call functions (invoke.c): results, recursion and its limit, symbols of a callee, profiles, stepping,
 * debug runs, failures in a callee, damaged tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "runtime/calls.h"
#include "runtime/damage.h"
#include "runtime/family.h"

#include <malloc.h>

static const tnr_family *const needed[]
    __attribute__((used)) = {&tnr_family_frame}; /* nothing else here links it */
static tnr_error err;

static tnr_instance *instance(maker *m, uintptr_t flags)
{
    tnr_instance *inst = NULL;
    tnr_module *module = open_maker(m);
    if (tnr_instance_new(module, &(tnr_instance_options){.flags = flags}, &inst, &err))
        fail_msg("%s", err.message);
    tnr_module_release(module);
    return inst;
}

static void set_floats(tnr_instance *inst, const char *name, float *x, int64_t *n)
{
    DLTensor t = maker_floats(x, n);
    if (tnr_set_input(inst, name, &t, &err))
        fail_msg("%s", err.message);
}

static const float *output(tnr_instance *inst, uint32_t i)
{
    DLTensor t;
    assert_int_equal(tnr_get_output_at(inst, i, &t, NULL), TNR_OK);
    return t.data;
}

static void on_event(void *user, const tnr_profile_event *e)
{
    strcat(user, e->function);
    strcat(user, ".");
    strcat(user, e->kernel);
    strcat(user, " ");
}

static void a_function_is_called_twice(void **state)
{
    static maker m;
    float x[4] = {0, 1, 2, 3};
    int64_t n = 4;
    char events[256] = "";
    (void)state;
    make_twice(&m);
    for (uintptr_t checked = 0; checked < 2; checked++) {
        tnr_instance *inst = instance(&m, checked);
        set_floats(inst, "x", x, &n);
        for (int run = 0; run < 3; run++) {
            assert_int_equal(tnr_run(inst, &err), TNR_OK);
            for (int i = 0; i < 4; i++)
                assert_true(output(inst, 0)[i] == (2 * (x[i] + 1) + 1) * 2);
        }
#ifdef __GLIBC__
        size_t before = mallinfo2().uordblks; /* what has run once allocates nothing more */
        assert_int_equal(tnr_run(inst, &err), TNR_OK);
        assert_int_equal(mallinfo2().uordblks, before);
#endif
        events[0] = 0;
        tnr_profile_set(inst, on_event, events);
        assert_int_equal(tnr_run(inst, &err), TNR_OK);
        assert_string_equal(events, "f.add_one f.add f.add_one f.add ");
        tnr_instance_free(inst);
    }
}

static void steps_enter_functions(void **state)
{
    static maker m;
    float x[4] = {0, 1, 2, 3};
    int64_t n = 4;
    tnr_profile_event e;
    int done = 0, steps = 0;
    (void)state;
    make_twice(&m);
    tnr_instance *inst = instance(&m, 0);
    set_floats(inst, "x", x, &n);
    assert_int_equal(tnr_debug_begin(inst, &err), TNR_OK);
    for (; !tnr_debug_step(inst, &e, &done, &err) && !done; steps++)
        if (steps == 0)
            assert_true(((const float *)e.arg[1].data)[3] == 4);
    assert_true(done && steps == 4);
    assert_true(output(inst, 0)[3] == 18);
    assert_int_equal(tnr_debug_begin(inst, &err), TNR_OK); /* one that is left within a function */
    assert_int_equal(tnr_debug_step(inst, &e, &done, &err), TNR_OK);
    assert_int_equal(tnr_run(inst, &err), TNR_OK);
    assert_true(output(inst, 0)[3] == 18);
    tnr_instance_free(inst);
}

static void depth_is_limited(void **state)
{
    static maker m;
    float x[4] = {0, 1, 2, 3};
    int64_t n = 4, k = 0;
    DLTensor count = {.data = &k, .device = {kDLCPU, 0}, .dtype = {kDLInt, 64, 1}};
    (void)state;
    for (uint32_t limit = 0; limit < 20; limit += 12) {
        make_recursion(&m);
        m.program.depth = limit;
        tnr_instance *inst = instance(&m, 0);
        set_floats(inst, "x", x, &n);
        assert_int_equal(tnr_set_input(inst, "n", &count, &err), TNR_OK);
        int64_t most = limit ? limit : 10000;
        k = most - 2; /* main, and a frame for 0 */
        assert_int_equal(tnr_run(inst, &err), TNR_OK);
        assert_true(output(inst, 0)[1] == (float)k + 1);
        k++;
        assert_int_equal(tnr_run(inst, &err), TNR_E_CHECK);
        assert_non_null(strstr(err.message, "function f: calls are nested too deeply; the limit is "));
        k = 3;
        assert_int_equal(tnr_run(inst, &err), TNR_OK);
        assert_true(output(inst, 0)[1] == 4);
        tnr_instance_free(inst);
    }
}

static void symbols_are_bound_by_each_call(void **state)
{
    static maker m;
    float x[4] = {0, 1, 2, 3}, v[2] = {7, 8};
    int64_t four = 4, two = 2;
    (void)state;
    make_shapes(&m);
    for (uintptr_t checked = 0; checked < 2; checked++) {
        tnr_instance *inst = instance(&m, checked);
        set_floats(inst, "x", x, &four);
        set_floats(inst, "v", v, &two);
        for (int run = 0; run < 2; run++) {
            assert_int_equal(tnr_run(inst, &err), TNR_OK);
            assert_memory_equal(output(inst, 0), x, sizeof x);
            assert_memory_equal(output(inst, 1), v, sizeof v);
        }
        tnr_instance_free(inst);
    }
    m.f[1].symbol[0].max = 3;
    tnr_instance *inst = instance(&m, 0);
    set_floats(inst, "x", x, &four);
    set_floats(inst, "v", v, &two);
    assert_int_equal(tnr_run(inst, &err), TNR_E_CHECK);
    assert_string_equal(err.message, "function f: an extent (n) is 4, but must be from 1 to 3");
    tnr_instance_free(inst);
    m.f[1].symbol[0].max = 4;
    m.f[0].slot[3] = m.f[0].slot[2]; /* a result of 4 floats for one of 2 */
    m.f[0].slot[3].name = "w";
    inst = instance(&m, 0);
    set_floats(inst, "x", x, &four);
    set_floats(inst, "v", v, &two);
    assert_int_equal(tnr_run(inst, &err), TNR_E_CHECK);
    assert_string_equal(err.message, "function f: result \"z\" has 8 bytes, but its caller has room for 16");
    tnr_instance_free(inst);
}

#define DAMAGE(name, ...) \
    static void name(maker *m) { __VA_ARGS__; }
DAMAGE(no_function, m->program.n_function = 0)
DAMAGE(missing_function, m->f[0].inst[0].a = 2)
DAMAGE(few_operands, m->f[0].inst[0].n_operand = 1)
DAMAGE(many_operands, m->f[0].inst[0].n_operand = 3)
DAMAGE(other_type, m->f[1].slot[0].code = kDLInt)
DAMAGE(other_rank, m->f[1].slot[2].ndim = 0)
DAMAGE(writes_input, m->f[0].operand[1] = 0)
DAMAGE(over_argument, m->f[0].operand[2] = 2)
DAMAGE(callee_slot, m->f[1].operand[0] = 9)
DAMAGE(callee_arena, m->function[1].arena_bytes.value = 8)
DAMAGE(callee_names, m->f[1].slot[2].name = "a"; m->f[1].slot[2].kind = TN_SLOT_INPUT)
DAMAGE(callee_table, m->function[1].operand = NULL)

static void damage_is_found(void **state)
{
    static void (*const damage[])(maker *) = {no_function, missing_function, few_operands, many_operands,
                                              other_type,  other_rank,       writes_input, over_argument,
                                              callee_slot, callee_arena,     callee_names, callee_table};
    (void)state;
    each_damage_is_found(make_twice, sizeof damage / sizeof *damage, damage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_called_twice),
        cmocka_unit_test(steps_enter_functions),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(symbols_are_bound_by_each_call),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
