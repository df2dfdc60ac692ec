/* States (state.c): 100 runs against the same computed by hand, a cache that grows in place, first contents, what the
 * caller gets and sets, two instances in two threads, damaged tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "runtime/blob.h"
#include "runtime/damage.h"
#include "runtime/states.h"
#include "runtime/family.h"

#include <pthread.h>

static const tnr_family *const needed[]
    __attribute__((used)) = {&tnr_family_frame, &tnr_family_state}; /* nothing else here links them */
static tnr_error err;

static tnr_instance *instance(maker *m, uintptr_t flags)
{
    tnr_module *module = NULL;
    tnr_instance *inst = NULL;
    if (tnr_module_open_parts(&(tnr_parts){.library = &m->library}, &module, &err) ||
        tnr_instance_new(module, &(tnr_instance_options){.flags = flags}, &inst, &err))
        fail_msg("%s", err.message);
    tnr_module_release(module);
    return inst;
}

static void set_floats(tnr_instance *inst, float *x)
{
    static int64_t n = MAKER_N;
    DLTensor t = maker_floats(x, &n);
    if (tnr_set_input(inst, "x", &t, &err))
        fail_msg("%s", err.message);
}

static const float *output(tnr_instance *inst)
{
    DLTensor t;
    assert_int_equal(tnr_get_output_at(inst, 0, &t, NULL), TNR_OK);
    return t.data;
}

static const float *state_data(tnr_instance *inst, const char *name)
{
    DLTensor t;
    assert_int_equal(tnr_state_get(inst, name, &t, &err), TNR_OK);
    return t.data;
}

static void a_state_survives_its_runs(void **state)
{
    static maker m;
    (void)state;
    make_sum(&m);
    for (uintptr_t checked = 0; checked < 2; checked++) {
        tnr_instance *inst = instance(&m, checked), *other = instance(&m, checked);
        float x[4], sum[4] = {0};
        set_floats(inst, x);
        set_floats(other, x);
        for (int run = 0; run < 100; run++) {
            for (int i = 0; i < 4; i++) {
                x[i] = (float)run / 3 + (float)i;
                sum[i] += x[i];
            }
            assert_int_equal(tnr_run(inst, &err), TNR_OK);
            assert_memory_equal(output(inst), sum, sizeof sum);
        }
        assert_int_equal(tnr_run(other, &err), TNR_OK); /* it shares nothing */
        assert_memory_equal(output(other), x, sizeof x);
        assert_memory_equal(state_data(inst, "sum"), sum, sizeof sum);
        assert_int_equal(tnr_state_reset(inst, &err), TNR_OK);
        assert_int_equal(tnr_run(inst, &err), TNR_OK);
        assert_memory_equal(output(inst), x, sizeof x);
        tnr_instance_free(inst);
        tnr_instance_free(other);
    }
}

static void the_caller_gets_and_sets_states(void **state)
{
    static maker m;
    float x[4] = {1, 2, 3, 4}, start[4] = {10, 20, 30, 40};
    int64_t n = 4, wrong = 3;
    tnr_state_info info;
    DLTensor t = maker_floats(start, &n), v;
    (void)state;
    make_sum(&m);
    tnr_instance *inst = instance(&m, 0);
    const tnr_module *module = tnr_instance_module(inst);
    assert_int_equal(tnr_state_count(module), 1);
    assert_int_equal(tnr_state_info_get(module, 0, &info, &err), TNR_OK);
    assert_string_equal(info.name, "sum");
    assert_true(info.ndim == 1 && info.axis == -1 && info.capacity == -1 && info.bytes == 16);
    assert_int_equal(tnr_state_info_get(module, 1, &info, &err), TNR_E_ARG);
    assert_int_equal(tnr_state_get(inst, "sum", &v, &err), TNR_OK); /* zeros, before any run */
    assert_true(v.ndim == 1 && v.shape[0] == 4 && !v.strides && ((float *)v.data)[3] == 0);
    assert_int_equal(tnr_state_set(inst, "sum", &t, &err), TNR_OK);
    set_floats(inst, x);
    assert_int_equal(tnr_run(inst, &err), TNR_OK);
    assert_true(output(inst)[3] == 44);
    assert_int_equal(tnr_state_get(inst, "nothing", &v, &err), TNR_E_NAME);
    t.shape = &wrong;
    assert_int_equal(tnr_state_set(inst, "sum", &t, &err), TNR_E_SHAPE);
    t.dtype.code = kDLInt;
    assert_int_equal(tnr_state_set(inst, "sum", &t, &err), TNR_E_DTYPE);
    t = maker_floats((float *)v.data, &n); /* a view of the state as an input */
    assert_int_equal(tnr_set_input(inst, "x", &t, &err), TNR_OK);
    assert_int_equal(tnr_run(inst, &err), TNR_E_LAYOUT);
    tnr_memory memory;
    assert_int_equal(tnr_memory_get(inst, &memory, &err), TNR_OK);
    assert_int_equal(memory.states, 16);
    tnr_instance_free(inst);
}

static void on_event(void *user, const tnr_profile_event *e)
{
    strcat(user, e->kernel);
    strcat(user, " ");
}

static void a_cache_grows_in_place(void **state)
{
    static maker m;
    static float rows[CACHE_ROWS][4];
    float x[4];
    char events[64] = "";
    DLTensor v;
    (void)state;
    make_cache(&m);
    tnr_instance *inst = instance(&m, 0);
    set_floats(inst, x);
    const float *at = state_data(inst, "cache");
    tnr_profile_set(inst, on_event, events);
    for (int i = 0; i < CACHE_ROWS; i++) {
        for (int k = 0; k < 4; k++)
            rows[i][k] = x[k] = (float)(4 * i + k);
        events[0] = 0;
        if (tnr_run(inst, &err))
            fail_msg("run %d: %s", i, err.message);
        assert_string_equal(events, "add_one "); /* no copy */
    }
    assert_int_equal(tnr_state_get(inst, "cache", &v, &err), TNR_OK);
    assert_ptr_equal(v.data, at);
    assert_int_equal(v.shape[0], CACHE_ROWS);
    assert_memory_equal(v.data, rows, sizeof rows);
    assert_int_equal(tnr_run(inst, &err), TNR_E_CHECK);
    assert_string_equal(err.message,
                        "node: state \"cache\" would have the extent 513, but must have from 0 to 512");
    int64_t shape[2] = {3, 4};
    DLTensor three = {
        .data = rows[7], .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape};
    assert_int_equal(tnr_state_set(inst, "cache", &three, &err), TNR_OK);
    assert_int_equal(tnr_run(inst, &err), TNR_OK);
    assert_int_equal(tnr_state_get(inst, "cache", &v, &err), TNR_OK);
    assert_true(v.shape[0] == 4 && v.shape[1] == 4 && v.strides[0] == 4 && v.strides[1] == 1);
    assert_memory_equal(v.data, rows[7], 3 * sizeof rows[0]);
    assert_memory_equal((float *)v.data + 12, x, sizeof x);
    shape[0] = CACHE_ROWS + 1;
    assert_int_equal(tnr_state_set(inst, "cache", &three, &err), TNR_E_SHAPE);
    tnr_instance_free(inst);
}

static void first_contents_are_constants_or_computed(void **state)
{
    static maker m;
    static tn_state states[2];
    float x[4] = {1, 2, 3, 4}, five[4] = {5, 5, 5, 5};
    (void)state;
    make_sum_from(&m, states);
    tnr_instance *inst = instance(&m, 0);
    set_floats(inst, x);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(tnr_run(inst, &err), TNR_OK);
        assert_true(output(inst)[0] == 2 && output(inst)[3] == 5);
        assert_int_equal(tnr_run(inst, &err), TNR_OK);
        assert_true(output(inst)[3] == 9);
        assert_int_equal(tnr_state_reset(inst, &err), TNR_OK);
        assert_true(state_data(inst, "sum")[2] == 1);
    }
    tnr_instance_free(inst);

    blob_tensor c = {"start", kDLFloat, 32, 1, {4}, five, sizeof five};
    blob params = blob_params(&c, 1);
    tnr_module *module = NULL;
    tn_state with = sum_state;
    with.initial = "start";
    make_sum(&m);
    m.program.state = &with;
    assert_int_equal(tnr_module_open_parts(&(tnr_parts){.library = &m.library}, &module, &err), TNR_E_FORMAT);
    tnr_parts parts = {.library = &m.library, .params = params.at, .params_n = params.n};
    assert_int_equal(tnr_module_open_parts(&parts, &module, &err), TNR_OK);
    assert_int_equal(tnr_instance_new(module, NULL, &inst, &err), TNR_OK);
    set_floats(inst, x);
    assert_int_equal(tnr_run(inst, &err), TNR_OK);
    assert_true(output(inst)[3] == 9);
    tnr_instance_free(inst);
    tnr_module_release(module);
    free(params.at);
}

/* Each attempt begins anew; what the last one left is given back. */
static void first_contents_that_fail_are_an_error(void **state)
{
    static maker m;
    static tn_state states[2];
    static const char *const text[] = {"no"};
    float x[4] = {1, 2, 3, 4};
    DLTensor v;
    (void)state;
    make_sum_from(&m, states);
    m.f[1].inst[1] = (tn_inst){.op = TN_INST_FAIL, .node = "node"};
    m.program.text = text;
    m.program.n_text = 1;
    tnr_instance *inst = instance(&m, 0);
    set_floats(inst, x);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(tnr_state_get(inst, "sum", &v, &err), TNR_E_CHECK);
        assert_string_equal(err.message, "node: no");
        assert_int_equal(tnr_run(inst, &err), TNR_E_CHECK);
    }
    tnr_instance_free(inst);
}

static void *many_runs(void *user)
{
    tnr_instance *inst = user;
    for (int run = 0; run < 200; run++)
        if (tnr_run(inst, NULL))
            return user;
    return NULL;
}

static void instances_in_two_threads_share_nothing(void **state)
{
    static maker m;
    float x[2][4] = {{1, 1, 1, 1}, {2, 2, 2, 2}};
    pthread_t thread[2];
    tnr_instance *inst[2];
    tnr_module *module = NULL;
    (void)state;
    make_sum(&m);
    assert_int_equal(tnr_module_open_parts(&(tnr_parts){.library = &m.library}, &module, &err), TNR_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tnr_instance_new(module, NULL, &inst[i], &err), TNR_OK);
        set_floats(inst[i], x[i]);
        assert_int_equal(pthread_create(&thread[i], NULL, many_runs, inst[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(thread[i], &failed), 0);
        assert_null(failed);
        assert_true(output(inst[i])[0] == 200 * x[i][0]);
        tnr_instance_free(inst[i]);
    }
    tnr_module_release(module);
}

static tn_state broken;
static const tn_size other_dim[] = {{5, NULL}}, late_dim[] = {{0, maker_symbol}};
#define DAMAGE(name, ...) \
    static void name(maker *m) \
    { \
        (void)m; \
        __VA_ARGS__; \
    }
DAMAGE(no_states, m->program.state = NULL)
DAMAGE(no_name, broken.name = NULL)
DAMAGE(no_dim, broken.dim = NULL)
DAMAGE(late_capacity, broken.dim = late_dim)
DAMAGE(other_bytes, broken.bytes = 12)
DAMAGE(axis, broken.axis = 1)
DAMAGE(extent, broken.axis = 0; broken.extent = 5)
DAMAGE(init, broken.init = 1)
DAMAGE(init_main, broken.init = 0)
DAMAGE(no_constant, broken.initial = "p7")
DAMAGE(slot_state, m->f[0].slot[1].alias = 1)
DAMAGE(slot_no_state, m->f[0].slot[1].alias = -1)
DAMAGE(slot_type, m->f[0].slot[1].code = kDLInt)
DAMAGE(slot_bytes, m->f[0].slot[1].bytes.value = 8)
DAMAGE(slot_shape, m->f[0].slot[1].dim = other_dim)
DAMAGE(slot_handle, m->f[0].slot[1].storage = TN_STORAGE_HANDLE)
DAMAGE(must_be_state, m->f[0].operand[1] = 0; m->f[0].operand[2] = 2)
DAMAGE(must_be_one, m->f[0].operand[2] = 2)
DAMAGE(may_not, m->f[0].inst[0].a = K_ADD)
DAMAGE(grow_fixed, m->f[0].inst[1].op = TN_INST_GROW; m->function[0].n_size = 1; m->f[0].operand[3] = 1;
       m->f[0].operand[4] = 0)
DAMAGE(grow_input, m->f[0].inst[1].op = TN_INST_GROW; m->function[0].n_size = 1; m->f[0].operand[3] = 0;
       m->f[0].operand[4] = 0)

static void make_broken_sum(maker *m)
{
    make_sum(m);
    broken = sum_state;
    m->program.state = &broken;
}

static void damage_is_found(void **state)
{
    static void (*const damage[])(maker *) = {
        no_states,  no_name,     no_dim,        late_capacity, other_bytes,   axis,       extent,
        init,       init_main,   no_constant,   slot_state,    slot_no_state, slot_type,  slot_bytes,
        slot_shape, slot_handle, must_be_state, must_be_one,   may_not,       grow_fixed, grow_input};
    (void)state;
    each_damage_is_found(make_broken_sum, sizeof damage / sizeof *damage, damage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_survives_its_runs),
        cmocka_unit_test(the_caller_gets_and_sets_states),
        cmocka_unit_test(a_cache_grows_in_place),
        cmocka_unit_test(first_contents_are_constants_or_computed),
        cmocka_unit_test(first_contents_that_fail_are_an_error),
        cmocka_unit_test(instances_in_two_threads_share_nothing),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
