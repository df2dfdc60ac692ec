/* A run one kernel at a time (debug.c), values by name, and results over operands at load (exe.c), over the
 * toy library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "runtime/toy.h"
#include "runtime/toy_model.h"

#include <stdbool.h>

typedef struct fixture {
    blob params;
    tnr_module *module;
    tnr_instance *inst;
    toy_io io;
    tnr_error err;
} fixture;

static tnr_status open_library(const tn_library *library, const blob *params, tnr_module **m, tnr_error *err)
{
    return tnr_module_open_parts(
        &(tnr_parts){.library = library, .params = params->at, .params_n = params->n}, m, err);
}

static int setup(void **state)
{
    static fixture f;
    f = (fixture){.params = blob_toy_params(1)};
    *state = &f;
    toy_fill(&f.io, 7, 3);
    return open_library(&toy_symbolic, &f.params, &f.module, &f.err) ||
           tnr_instance_new(f.module, NULL, &f.inst, &f.err) || toy_set(f.inst, &f.io, &f.err);
}

static int teardown(void **state)
{
    fixture *f = *state;
    tnr_instance_free(f->inst);
    tnr_module_release(f->module);
    free(f->params.at);
    return 0;
}

static void steps_give_what_a_run_gives(void **state)
{
    static const char *const kernels[] = {"tvmgen_default_fused_add_multiply",
                                          "tvmgen_default_fused_add_multiply",
                                          "tvmgen_default_fused_add_multiply",
                                          "tvmgen_default_fused_sum",
                                          "__copy",
                                          "tvmgen_default_fused_take"};
    fixture *f = *state;
    tnr_profile_event e;
    DLTensor view;
    int done = 0, n = 0;
    assert_int_equal(tnr_debug_begin(f->inst, &f->err), TNR_OK);
    for (; !tnr_debug_step(f->inst, &e, &done, &f->err) && !done; n++) {
        assert_string_equal(e.kernel, kernels[n]);
        assert_int_equal(tnr_get_output_at(f->inst, 0, &view, NULL), TNR_E_STATE); /* not yet */
        if (n == 3) { /* the rows are there as soon as their kernel has run */
            assert_string_equal(tnr_slot_name(f->inst, e.slot[1]), "rows");
            assert_int_equal(e.arg[1].shape[0], 7);
            assert_memory_equal(e.arg[1].data, f->io.rows, 7 * sizeof(float));
        }
    }
    assert_int_equal(n, 6);
    assert_true(done);
    assert_null(toy_differs(f->inst, &f->io));
    assert_int_equal(tnr_run(f->inst, &f->err), TNR_OK);
    assert_null(toy_differs(f->inst, &f->io));
}

static void a_step_needs_a_beginning(void **state)
{
    fixture *f = *state;
    tnr_profile_event e;
    int done = 0;
    assert_int_equal(tnr_debug_step(f->inst, &e, &done, &f->err), TNR_E_STATE);
    assert_string_equal(f->err.message, "no stepped run is active; call tnr_debug_begin first");
    assert_int_equal(tnr_debug_step(f->inst, NULL, &done, NULL), TNR_E_ARG);
    assert_int_equal(tnr_debug_begin(NULL, NULL), TNR_E_ARG);
    /* another run, and another input, end a stepped one */
    assert_int_equal(tnr_debug_begin(f->inst, NULL), TNR_OK);
    assert_int_equal(tnr_run(f->inst, NULL), TNR_OK);
    assert_int_equal(tnr_debug_step(f->inst, &e, &done, NULL), TNR_E_STATE);
    assert_int_equal(tnr_debug_begin(f->inst, NULL), TNR_OK);
    assert_int_equal(toy_set(f->inst, &f->io, NULL), TNR_OK);
    assert_int_equal(tnr_debug_step(f->inst, &e, &done, NULL), TNR_E_STATE);
}

static void values_have_names(void **state)
{
    fixture *f = *state;
    DLTensor v;
    assert_int_equal(tnr_debug_value(f->inst, "ReduceSum_0", &v, &f->err), TNR_OK);
    assert_memory_equal(v.data, f->io.rows, 7 * sizeof(float));
    assert_int_equal(tnr_debug_value(f->inst, "Mul_2", &v, NULL), TNR_OK); /* the last of two fused nodes */
    assert_memory_equal(v.data, f->io.sum, 7 * 8 * sizeof(float));
    assert_int_equal(tnr_debug_value(f->inst, "Mul_0", &v, NULL), TNR_OK); /* an intermediate */
    assert_int_equal(v.ndim, 2);
    for (int i = 0; i < 56; i++)
        assert_true(((float *)v.data)[i] == (f->io.x[i] + f->io.y[i]) * blob_p0[i % 8]);
    assert_int_equal(tnr_debug_value(f->inst, "x", &v, NULL), TNR_OK);
    assert_ptr_equal(v.data, f->io.x);
    assert_int_equal(tnr_debug_value(f->inst, "picked", &v, NULL), TNR_OK);
    assert_memory_equal(v.data, &f->io.picked, 4);
    assert_int_equal(tnr_debug_value(f->inst, "echo", &v, NULL),
                     TNR_OK); /* an output that is copied at the end */
    assert_memory_equal(v.data, f->io.x, 56 * sizeof(float));
    assert_int_equal(tnr_debug_value(f->inst, "Mul", &v, &f->err), TNR_E_NAME);
    assert_string_equal(f->err.message, "no kernel computes \"Mul\": it is not a node, input or output of "
                                        "the model, or it was folded into a constant");
    f->io.flag = 0; /* the other branch */
    assert_int_equal(tnr_debug_value(f->inst, "Gather_0", &v, &f->err), TNR_E_NAME);
    assert_string_equal(f->err.message, "no kernel of this run computes \"Gather_0\"");
}

static void the_program_is_listed(void **state)
{
    fixture *f = *state;
    tnr_kernel_info k;
    assert_int_equal(tnr_kernel_count(f->inst), 7); /* both branches */
    assert_int_equal(tnr_kernel_info_get(f->inst, 3, &k, &f->err), TNR_OK);
    assert_string_equal(k.node, "ReduceSum_0");
    assert_string_equal(k.kernel, "tvmgen_default_fused_sum");
    assert_int_equal(k.index, 3);
    assert_int_equal(k.n_in, 1);
    assert_string_equal(tnr_slot_name(f->inst, k.slot[0]), "sum");
    assert_int_equal(tnr_kernel_info_get(f->inst, 5, &k, &f->err), TNR_OK);
    assert_int_equal(k.index, 6);
    assert_int_equal(tnr_kernel_info_get(f->inst, 7, &k, &f->err), TNR_E_ARG);
    assert_string_equal(tnr_slot_name(f->inst, 1000), "");
}

/* The sum (at 0) is over the second temporary, an operand of its kernel, which is moved to the same place. */
static tnr_status open_over(fixture *f, const tn_overlap *over, int64_t offset, tnr_module **m)
{
    static tn_slot slot[TOY_STATIC_SLOTS];
    static tn_kernel kernel[3];
    static tn_inst inst[6];
    static tn_program_function code;
    static tn_program program;
    static tn_library library;
    memcpy(slot, toy_static_slot, sizeof slot);
    memcpy(kernel, toy_static_kernel, sizeof kernel);
    memcpy(inst, toy_static_inst, sizeof inst);
    slot[TOY_T2].offset.value = offset;
    slot[TOY_T1].offset.value = 192;
    kernel[0].overlap = over;
    kernel[0].n_overlap = over != NULL;
    code = toy_static_main;
    code.slot = slot;
    code.inst = inst;
    program = toy_static_program;
    program.function = &code;
    library = toy_static;
    library.kernel = kernel;
    library.program = &program;
    return open_library(&library, &f->params, m, &f->err);
}

static void results_lie_over_operands_where_kernels_allow_it(void **state)
{
    static const tn_overlap first = {0, 0, TN_OVERLAP_MAY}, second = {1, 0, TN_OVERLAP_MAY};
    fixture *f = *state;
    tnr_module *m = NULL;
    tnr_instance *inst = NULL;
    toy_fill(&f->io, TOY_STATIC_N, 3);
    assert_int_equal(open_over(f, NULL, 0, &m), TNR_E_FORMAT);
    assert_string_equal(
        f->err.message,
        "the program is damaged: a result that overlaps an operand of kernel \"tvmgen_default_fused_"
        "add_multiply\"");
    assert_int_equal(f->err.position, 2);
    assert_int_equal(open_over(f, &second, 0, &m), TNR_E_FORMAT); /* another operand */
    assert_int_equal(open_over(f, &first, 64, &m), TNR_E_FORMAT); /* not at the same place */
    assert_int_equal(open_over(f, &first, 0, &m), TNR_OK);
    assert_int_equal(tnr_instance_new(m, NULL, &inst, &f->err), TNR_OK);
    assert_int_equal(toy_set(inst, &f->io, &f->err), TNR_OK);
    assert_int_equal(tnr_run(inst, &f->err), TNR_OK);
    assert_null(toy_differs(inst, &f->io));
    tnr_instance_free(inst);
    tnr_module_release(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(steps_give_what_a_run_gives, setup, teardown),
        cmocka_unit_test_setup_teardown(a_step_needs_a_beginning, setup, teardown),
        cmocka_unit_test_setup_teardown(values_have_names, setup, teardown),
        cmocka_unit_test_setup_teardown(the_program_is_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(results_lie_over_operands_where_kernels_allow_it, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
