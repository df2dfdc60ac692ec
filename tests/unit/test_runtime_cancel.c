/* Ending a run early (cancel.c): between instructions, between the tasks of a kernel, in a function; what remains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "runtime/damage.h"
#include "runtime/family.h"

static const tnr_family *const needed[]
    __attribute__((used)) = {&tnr_family_frame}; /* nothing else here links it */
static tnr_error err;

/* In function f: while n > 0, t = x + 1; then y = x. */
static void put_loop(maker *m, int f)
{
    uint32_t n = put_slot(m, f, TN_SLOT_INPUT, "n", kDLInt, 64, 0), x = put_floats(m, f, TN_SLOT_INPUT, "x"),
             c = put_slot(m, f, TN_SLOT_TEMP, "", kDLBool, 8, 0), t = put_floats(m, f, TN_SLOT_TEMP, ""),
             y = put_floats(m, f, TN_SLOT_OUTPUT, "y");
    put_inst(m, f, TN_INST_CALL, K_POSITIVE, 2, n, c);
    put_inst(m, f, TN_INST_JUMP_FALSE, 4, 1, c);
    put_inst(m, f, TN_INST_CALL, K_ADD_ONE, 2, x, t);
    put_inst(m, f, TN_INST_JUMP, 0, 0);
    put_inst(m, f, TN_INST_COPY, 0, 2, x, y);
}

static void make_loop(maker *m)
{
    *m = (maker){0};
    put_loop(m, 0);
    finish_maker(m, 1, 0);
}

static void make_loop_of_function(maker *m)
{
    *m = (maker){0};
    uint32_t n = put_slot(m, 0, TN_SLOT_INPUT, "n", kDLInt, 64, 0), x = put_floats(m, 0, TN_SLOT_INPUT, "x"),
             y = put_floats(m, 0, TN_SLOT_OUTPUT, "y");
    put_inst(m, 0, TN_INST_INVOKE, 1, 3, n, x, y);
    put_loop(m, 1);
    finish_maker(m, 2, 0);
}

typedef struct fixture {
    tnr_instance *inst;
    float x[4];
    int64_t four, n;
    int flag, asked, most; /* most: questions until the run ends */
} fixture;

static int ask(void *user)
{
    fixture *f = user;
    assert_int_equal(tnr_run(f->inst, NULL), TNR_E_STATE);
    return ++f->asked >= f->most;
}

static void begin(fixture *f, const maker *m)
{
    tnr_module *module = open_maker(m);
    *f = (fixture){.x = {0, 1, 2, 3}, .four = 4, .n = 1, .most = 1};
    DLTensor x = maker_floats(f->x, &f->four);
    DLTensor n = {.data = &f->n, .device = {kDLCPU, 0}, .dtype = {kDLInt, 64, 1}};
    assert_int_equal(tnr_instance_new(module, &(tnr_instance_options){.threads = 1}, &f->inst, &err), TNR_OK);
    tnr_module_release(module);
    assert_int_equal(tnr_set_input(f->inst, "x", &x, &err), TNR_OK);
    assert_int_equal(tnr_set_input(f->inst, "n", &n, &err), TNR_OK);
}

static void a_run_ends_and_the_next_one_works(void **state)
{
    static maker m;
    static void (*const make[])(maker *) = {make_loop, make_loop_of_function};
    (void)state;
    for (size_t i = 0; i < sizeof make / sizeof *make; i++) {
        fixture f;
        DLTensor y;
        make[i](&m);
        begin(&f, &m);
        f.flag = 1;
        for (f.most = 0; f.most < 50; f.most += 7) { /* 0: without a function */
            f.asked = 0;
            tnr_cancel_set(f.inst, &f.flag, f.most ? ask : NULL, &f);
            assert_int_equal(tnr_run(f.inst, &err), TNR_E_CANCEL);
            assert_string_equal(err.message, "the run was cancelled");
            assert_int_equal(f.asked, f.most);
            assert_int_equal(tnr_get_output_at(f.inst, 0, &y, &err), TNR_E_STATE);
        }
        f.n = f.asked = f.flag = 0;
        for (int run = 0; run < 2; run++) {
            assert_int_equal(tnr_run(f.inst, &err), TNR_OK);
            assert_int_equal(tnr_get_output_at(f.inst, 0, &y, &err), TNR_OK);
            assert_memory_equal(y.data, f.x, sizeof f.x);
            assert_int_equal(f.asked, 0);
            tnr_cancel_set(f.inst, NULL, NULL, NULL);
            f.flag = 1;
        }
        tnr_instance_free(f.inst);
    }
}

static int n_task, after, *raised;

/* Its task of this number raises the flag, as another thread would. */
static int32_t raise_flag(const tn_call *c, uint32_t step, uint32_t task, void *scratch)
{
    (void)step, (void)scratch;
    ((float *)c->arg[1])[task] = 1;
    *raised = n_task++ == after;
    return 0;
}

static void a_kernel_ends_between_tasks(void **state)
{
    static maker m;
    static tn_kernel kernel[K_COUNT];
    (void)state;
    memcpy(kernel, maker_kernel, sizeof kernel);
    kernel[K_ADD_ONE].variant = MAKER_VARIANT(raise_flag, MAKER_N);
    make_loop(&m);
    m.library.kernel = kernel;
    fixture f;
    begin(&f, &m);
    raised = &f.flag;
    tnr_cancel_set(f.inst, &f.flag, NULL, NULL);
    for (after = 0; after < 10; after++) {
        n_task = f.flag = 0;
        assert_int_equal(tnr_run(f.inst, &err), TNR_E_CANCEL);
        assert_int_equal(n_task, after + 1);
        assert_int_equal(err.position, after % MAKER_N == MAKER_N - 1 ? 3 : 2);
    }
    tnr_instance_free(f.inst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_ends_and_the_next_one_works),
        cmocka_unit_test(a_kernel_ends_between_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
