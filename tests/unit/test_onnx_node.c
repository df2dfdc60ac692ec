/* The ONNX project's node tests (tests/onnx/nodes.h): each imports, verifies and gives the expected values in the
 * interpreter, as it is and with the operands constant that a compiler likes to know. Skipped where the package onnx is
 * not installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"
#include "onnx/write.h"

#include "onnx/nodes.h"

/* NULL, or what is wrong. */
static const char *compute_test(model *m, const node_test *t, uint32_t constants)
{
    tn_tensor_value in[NODES_VALUES], have[NODES_VALUES];
    const char *wrong = NULL, *name[NODES_VALUES];
    int n_in = nodes_inputs(m, t, constants, in, name);
    if (tn_relay_run(&m->g, n_in, in, t->n_out, have, tn_eval_interp, NULL) != TN_OK)
        return model_errors(m);
    for (int i = 0; i < t->n_out; i++) {
        tn_tensor_value want = read_tensor(m, t->value[t->n_in + i]);
        wrong = wrong ? wrong : nodes_differ(m, &have[i], &want);
        tn_tensor_value_deinit(&have[i]);
    }
    return wrong;
}

static const char *one_form(const node_test *t, model *home, uint32_t constants)
{
    model m;
    const char *wrong;
    model_init(&m);
    tn_file f = nodes_model(&m, t, constants);
    wrong =
        model_import(&m, "model.onnx", &f, NULL) == TN_OK ? compute_test(&m, t, constants) : model_errors(&m);
    if (wrong)
        wrong = tn_arena_strdup(&home->arena, wrong);
    model_deinit(&m);
    return wrong;
}

static bool one_test(const nodes *tests, const char *name, bool *taken)
{
    model m;
    node_test t;
    model_init(&m);
    *taken = nodes_open(&m, tests, name, &t);
    uint32_t constants = *taken ? nodes_constants(&t) : 0;
    const char *wrong = *taken ? one_form(&t, &m, 0) : NULL;
    if (!wrong && constants)
        wrong = one_form(&t, &m, constants);
    if (wrong)
        print_error("%s: %s\n", name, wrong);
    else if (!tests->all)
        print_message("%s: %s\n", name, *taken ? "ok" : "not taken here");
    model_deinit(&m);
    return !wrong;
}

static void node_tests_pass(void **state)
{
    (void)state;
    model home;
    model_init(&home);
    const nodes *tests = nodes_read(&home);
    int failed = 0, taken = 0;
    assert_non_null(tests);
    for (int i = 0; i < tests->n; i++) {
        bool is_taken;
        failed += !one_test(tests, tests->name[i], &is_taken);
        taken += is_taken;
    }
    print_message("%d node tests, %d failed\n", taken, failed);
    assert_true(!tests->all || taken > 1000);
    assert_int_equal(failed, 0);
    model_deinit(&home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(node_tests_pass)};
    return nodes_installed() ? cmocka_run_group_tests(tests, NULL, NULL) : NODES_SKIPPED;
}
