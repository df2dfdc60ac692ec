/* The ONNX project's node tests (tests/onnx/node): every one imports, verifies and gives the expected values in the
 * interpreter, or is listed in tests/onnx/unsupported.txt and refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

#include "onnx/nodes.h"

/* NULL, or what is wrong. */
static const char *compute_test(model *m, const char *folder)
{
    tn_tensor_value in[NODES_VALUES], want[NODES_VALUES], have[NODES_VALUES];
    int n_in = nodes_values(m, folder, "input", in), n_out = nodes_values(m, folder, "output", want);
    const char *wrong = NULL;
    if (tn_relay_run(&m->g, n_in, in, n_out, have, tn_eval_interp, NULL) != TN_OK)
        return model_errors(m);
    for (int i = 0; i < n_out; i++) {
        wrong = wrong ? wrong : nodes_differ(m, &have[i], &want[i]);
        tn_tensor_value_deinit(&have[i]);
    }
    return wrong;
}

static const char *one_test(model *m, const char *name, bool listed, bool *refused)
{
    const char *folder = source_path(m, tn_arena_printf(&m->arena, "tests/onnx/node/%s", name));
    *refused = model_read(m, tn_arena_printf(&m->arena, "%s/model.onnx", folder), NULL) != TN_OK;
    if (*refused) {
        assert_true(m->ctx.n_error > 0);
        return listed ? NULL : model_errors(m);
    }
    return listed ? "is listed in unsupported.txt, but is read: take it off the list"
                  : compute_test(m, folder);
}

static void node_tests_pass_or_are_refused(void **state)
{
    (void)state;
    model home;
    model_init(&home);
    const nodes *tests = nodes_read(&home);
    int failed = 0, refused = 0;
    for (int i = 0; i < tests->n; i++) {
        model m;
        bool no;
        model_init(&m);
        const char *name = tests->name[i], *reason = nodes_listed(&m, tests->unsupported, name),
                   *wrong = one_test(&m, name, reason[0] != 0, &no);
        refused += no;
        failed += wrong != NULL;
        if (wrong)
            print_error("%s: %s\n", name, wrong);
        else if (!tests->all)
            print_message("%s: %s\n%s", name, no ? "refused as listed" : "ok", no ? model_errors(&m) : "");
        model_deinit(&m);
    }
    print_message("%d node tests, %d refused as listed, %d failed\n", tests->n, refused, failed);
    assert_true(!tests->all || tests->n > 1000);
    assert_int_equal(failed, 0);
    model_deinit(&home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(node_tests_pass_or_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
