/* The ONNX project's node tests (tests/onnx/nodes.h) compiled to LLVM packages and run, with the operands constant that
 * a compiler likes to know; as they are, tests/conformance runs them. With sanitizers one in eight is taken, all if
 * TENON_SLOW is set; the interpreters (unit.onnx_node) take all of them everywhere. Skipped where the package onnx is
 * not installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "e2e/run.h"
#include "onnx/model.h"
#include "onnx/write.h"

#include "onnx/nodes.h"

static tn_tensor_value plain(const tenon_tensor *t)
{
    tn_tensor_value v = {.dtype = TN_DT(t->code, t->bits), .at = t->data, .n = t->bytes, .borrowed = true};
    v.ndim = (uint8_t)t->ndim;
    for (int d = 0; d < t->ndim; d++)
        v.dim[d] = t->shape[d];
    return v;
}

static void add_tensor(values *to, const tn_tensor_value *v, const char *name)
{
    tenon_tensor *t = &to->at[to->n++];
    *t = (tenon_tensor){.name = name,
                        .code = v->dtype.code,
                        .bits = v->dtype.bits,
                        .ndim = v->ndim,
                        .data = v->at,
                        .bytes = v->n};
    for (int d = 0; d < v->ndim; d++)
        t->shape[d] = v->dim[d];
}

static bool near_elements(model *m, const values *have, const values *want, char *why)
{
    if (have->n != want->n)
        return run_fail(why, "%d outputs, expected %d", have->n, want->n);
    for (int i = 0; i < have->n; i++) {
        tn_tensor_value x = plain(&have->at[i]), y = plain(&want->at[i]);
        const char *wrong = nodes_differ(m, &x, &y);
        if (wrong)
            return run_fail(why, "output %d: %.900s", i, wrong);
    }
    return true;
}

/* bool is one byte in packages, whatever its bits are called. */
static void one_bool(values *v)
{
    for (int i = 0; i < v->n; i++)
        if (v->at[i].code == 6 || (v->at[i].code == 1 && v->at[i].bits == 1)) {
            v->at[i].code = 6;
            v->at[i].bits = 8;
        }
}

static bool run_node(model *m, tnr_module *module, const node_test *t, uint32_t constants, char *why)
{
    values in = {0}, want = {0}, have = {0};
    tn_tensor_value v[NODES_VALUES];
    const char *name[NODES_VALUES];
    int n = nodes_inputs(m, t, constants, v, name);
    for (int i = 0; i < n; i++)
        add_tensor(&in, &v[i], name[i]);
    for (int i = 0; i < t->n_out; i++) {
        v[0] = read_tensor(m, t->value[t->n_in + i]);
        add_tensor(&want, &v[0], NULL);
    }
    bool ok = run_module(module, TNR_EXECUTOR_AOT, 0, in.n, in.at, &have, why);
    one_bool(&have);
    one_bool(&want);
    ok = ok && near_elements(m, &have, &want, why);
    values_free(&have);
    return ok;
}

static bool one_test(const nodes *tests, const char *name, bool *taken, char *why)
{
    model m;
    node_test t;
    tnr_module *module = NULL;
    tenon_options o = {.size = sizeof(tenon_options), .opt_level = 3};
    bool ok = true;
    model_init(&m);
    *taken = nodes_open(&m, tests, name, &t);
    if (*taken) {
        uint32_t constants = nodes_constants(&t);
        tn_file f = nodes_model(&m, &t, constants);
        ok = run_compile_bytes(f.at, f.n, &o, &module, why) && run_node(&m, module, &t, constants, why);
    }
    tnr_module_release(module);
    model_deinit(&m);
    return ok;
}

static void packages_give_the_expected_values(void **state)
{
    model home;
    (void)state;
    model_init(&home);
    const nodes *tests = nodes_read(&home);
    assert_non_null(tests);
    int failed = 0, taken = 0, step = RUN_FEWER && tests->all ? 8 : 1;
    for (int i = 0; i < tests->n; i += step) {
        char why[RUN_TEXT] = "";
        bool is_taken, ok = one_test(tests, tests->name[i], &is_taken, why);
        failed += !ok;
        taken += is_taken;
        if (!ok)
            print_error("%s: %s\n", tests->name[i], why);
        else if (!tests->all)
            print_message("%s: %s\n", tests->name[i], is_taken ? "ok" : "not taken here");
    }
    print_message("%d node tests, %d failed\n", taken, failed);
    assert_true(!tests->all || taken > 1000 / step);
    assert_int_equal(failed, 0);
    model_deinit(&home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(packages_give_the_expected_values)};
    return nodes_installed() ? cmocka_run_group_tests(tests, NULL, NULL) : NODES_SKIPPED;
}
