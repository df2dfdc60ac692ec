/* Handles (value.c): closures, constructors, references, texts; a long list; faults of a run; damaged tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "runtime/family.h"
#include "runtime/damage.h"
#include "runtime/values.h"

static const tnr_family *const needed[]
    __attribute__((used)) = {&tnr_family_value}; /* nothing else here links it */
static tnr_error err;
static float x[4] = {1, 2, 3, 4};

static tnr_instance *instance(maker *m, uintptr_t flags, int64_t *count)
{
    int64_t n = MAKER_N;
    DLTensor t = maker_floats(x, &n), k = {.data = count, .device = {kDLCPU, 0}, .dtype = {kDLInt, 64, 1}};
    tnr_module *module = NULL;
    tnr_instance *inst = NULL;
    if (tnr_module_open_parts(&(tnr_parts){.library = &m->library}, &module, &err) ||
        tnr_instance_new(module, &(tnr_instance_options){.flags = flags}, &inst, &err) ||
        tnr_set_input(inst, "x", &t, &err) || (count && tnr_set_input(inst, "n", &k, &err)))
        fail_msg("%s", err.message);
    tnr_module_release(module);
    return inst;
}

static const float *output(tnr_instance *inst)
{
    DLTensor t;
    assert_int_equal(tnr_get_output_at(inst, 0, &t, NULL), TNR_OK);
    return t.data;
}

static void closures_pairs_and_references(void **state)
{
    static maker m;
    (void)state;
    make_closure(&m);
    for (uintptr_t checked = 0; checked < 2; checked++) {
        tnr_instance *inst = instance(&m, checked, NULL);
        for (int run = 0; run < 100; run++) {
            if (tnr_run(inst, &err))
                fail_msg("%s", err.message);
            for (int i = 0; i < 4; i++)
                assert_true(output(inst)[i] == 2 * x[i] + 1);
        }
        tnr_instance_free(inst);
    }
}

static void a_long_list_is_freed_without_recursion(void **state)
{
    static maker m;
    int64_t n = 300000;
    (void)state;
    make_list(&m);
    tnr_instance *inst = instance(&m, 0, &n);
    for (int run = 0; run < 2; run++) {
        assert_int_equal(tnr_run(inst, &err), TNR_OK);
        assert_memory_equal(output(inst), x, sizeof x);
    }
    tnr_instance_free(inst);
}

#define CHANGE(name, ...) \
    static void name(maker *m) { __VA_ARGS__; }
CHANGE(not_written, m->f[0].inst[1].op = TN_INST_JUMP; m->f[0].inst[1].a = 2; m->f[0].inst[1].n_operand = 0)
CHANGE(no_closure, m->f[0].inst[4].operand = m->f[0].inst[3].operand; m->f[0].operand[6] = 3)
CHANGE(wrong_count, m->f[0].inst[3].n_operand = 1; m->f[0].inst[3].operand++)
CHANGE(no_field, m->f[0].inst[11].a = 2)
CHANGE(other_tag, m->f[0].inst[5].a = 2)
CHANGE(other_shape, m->f[1].slot[2].bytes.value = 4; m->f[1].slot[2].ndim = 0)
CHANGE(no_result, m->f[1].inst[3].op = TN_INST_JUMP; m->f[1].inst[3].a = 4; m->f[1].inst[3].n_operand = 0)
CHANGE(no_tensor, m->f[0].operand[m->f[0].inst[12].operand] = 3)

static void faults_end_the_run(void **state)
{
    static const struct {
        void (*change)(maker *);
        const char *says;
    } row[] = {
        {not_written, "node: a handle is read before it is written"},
        {no_closure, "node: a closure is expected"},
        {wrong_count, "node: a closure gets other numbers of arguments and results than its function has"},
        {no_field, "node: a constructor does not have that field"},
        {other_tag, "node: not a pair"},
        {other_shape, "node: a tensor has another type or shape than the slot it is copied to"},
        {no_result, "function f: the handle \"z\" is read before it is written"},
        {no_tensor, "node: a tensor is expected"}};
    static maker m;
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        make_closure(&m);
        row[i].change(&m);
        tnr_instance *inst = instance(&m, 0, NULL);
        for (int run = 0; run < 2; run++) { /* the second one begins where the first has failed */
            assert_int_equal(tnr_run(inst, &err), TNR_E_CHECK);
            assert_string_equal(err.message, row[i].says);
        }
        tnr_instance_free(inst);
    }
}

CHANGE(bytes_for_handle, m->f[0].operand[3] = 0)
CHANGE(handle_for_bytes, m->f[0].operand[0] = 3)
CHANGE(handle_size, m->f[0].slot[3].bytes.value = 8)
CHANGE(handle_shape, m->f[0].slot[3].ndim = 1)
CHANGE(handle_constant, m->f[0].slot[3].kind = TN_SLOT_CONST)
CHANGE(handle_input, m->f[0].slot[3].kind = TN_SLOT_INPUT; m->f[0].slot[3].name = "h")
CHANGE(storage, m->f[0].slot[3].storage = 2)
CHANGE(closure_function, m->f[0].inst[3].a = 2)
CHANGE(closure_bytes, m->f[0].inst[3].a = 0)
CHANGE(closure_many, m->f[0].inst[3].n_operand = 9)
CHANGE(apply_count, m->f[0].inst[4].a = 7)
CHANGE(text_range, m->program.n_text = 0)
CHANGE(writes_input, m->f[1].operand[0] = 5; m->f[1].inst[0].op = TN_INST_MOVE; m->f[1].operand[1] = 0)
CHANGE(tag_range, m->f[0].inst[10].a = 99)

static void damage_is_found(void **state)
{
    static void (*const damage[])(maker *) = {bytes_for_handle, handle_for_bytes, handle_size, handle_shape,
                                              handle_constant,  handle_input,     storage,     closure_bytes,
                                              closure_many,     closure_function, apply_count, text_range,
                                              writes_input,     tag_range};
    (void)state;
    each_damage_is_found(make_closure, sizeof damage / sizeof *damage, damage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closures_pairs_and_references),
        cmocka_unit_test(a_long_list_is_freed_without_recursion),
        cmocka_unit_test(faults_end_the_run),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
