/* The ONNX project's node tests (tests/onnx/node) compiled to LLVM packages and run: the expected values, or refused.
 * The tests refused are exactly those of tests/onnx/unsupported.txt and tests/onnx/late.txt. With sanitizers one in
 * eight is taken, all if TENON_SLOW is set; the interpreters (unit.onnx_node) take all of them everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "e2e/run.h"
#include "onnx/model.h"

#include "onnx/nodes.h"

static tn_tensor_value plain(const tenon_tensor *t)
{
    tn_tensor_value v = {.dtype = TN_DT(t->code, t->bits), .at = t->data, .n = t->bytes, .borrowed = true};
    v.ndim = (uint8_t)t->ndim;
    for (int d = 0; d < t->ndim; d++)
        v.dim[d] = t->shape[d];
    return v;
}

static void read_values(model *m, const char *folder, const char *what, values *out)
{
    tn_tensor_value v[NODES_VALUES];
    out->n = nodes_values(m, folder, what, v);
    for (int i = 0; i < out->n; i++) {
        tenon_tensor *t = &out->at[i];
        *t = (tenon_tensor){.code = v[i].dtype.code,
                            .bits = v[i].dtype.bits,
                            .ndim = v[i].ndim,
                            .data = v[i].at,
                            .bytes = v[i].n};
        for (int d = 0; d < v[i].ndim; d++)
            t->shape[d] = v[i].dim[d];
    }
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

static bool run_node(model *m, tnr_module *module, const char *folder, char *why)
{
    values in, want, have = {0};
    read_values(m, folder, "input", &in);
    read_values(m, folder, "output", &want);
    if (tnr_input_count(module) != (uint32_t)in.n)
        return run_fail(why, "%u inputs, not %d", tnr_input_count(module), in.n);
    for (int i = 0; i < in.n; i++) {
        tnr_tensor_info info;
        tnr_error err;
        if (tnr_input_info(module, (uint32_t)i, &info, &err))
            return run_fail(why, "%s", err.message);
        in.at[i].name = info.name;
    }
    bool ok = run_module(module, TNR_EXECUTOR_AOT, 0, in.n, in.at, &have, why);
    one_bool(&have);
    one_bool(&want);
    ok = ok && near_elements(m, &have, &want, why);
    values_free(&have);
    return ok;
}

/* Is the error that of late.txt, "lower-E005 pow of ..."? */
static bool is_late(model *m, const char *late, const char *why)
{
    return late[0] &&
           strstr(why, tn_arena_printf(&m->arena, "[%.*s]", (int)strcspn(late, " "), late)) != NULL;
}

/* Compiles and runs one; *refused where reading or compiling said no. */
static bool one_test(const nodes *tests, const char *name, bool *refused, char *why)
{
    model m;
    tnr_module *module = NULL;
    tenon_options o = {.size = sizeof(tenon_options), .opt_level = 3};
    model_init(&m);
    const char *folder = source_path(&m, tn_arena_printf(&m.arena, "tests/onnx/node/%s", name)),
               *late = nodes_listed(&m, tests->late, name);
    bool listed = nodes_listed(&m, tests->unsupported, name)[0] != 0,
         ok = run_compile(tn_arena_printf(&m.arena, "%s/model.onnx", folder), &o, &module, why);
    *refused = !ok && (strncmp(why, "read:", 5) == 0 || strncmp(why, "compile:", 8) == 0);
    if (ok)
        ok = listed || late[0] ? run_fail(why, "is listed as refused, but is compiled: take it off the list")
                               : run_node(&m, module, folder, why);
    else
        ok = *refused && (listed || is_late(&m, late, why));
    tnr_module_release(module);
    model_deinit(&m);
    return ok;
}

static void packages_give_the_expected_values(void **state)
{
    (void)state;
    model home;
    model_init(&home);
    const nodes *tests = nodes_read(&home);
    int failed = 0, refused = 0, step = RUN_FEWER && tests->all ? 8 : 1;
    for (int i = 0; i < tests->n; i += step) {
        char why[RUN_TEXT] = "";
        bool no = false, ok = one_test(tests, tests->name[i], &no, why);
        failed += !ok;
        refused += no;
        if (!ok)
            print_error("%s: %s\n", tests->name[i], why);
        else if (!tests->all)
            print_message("%s: %s\n", tests->name[i], no ? why : "ok");
    }
    print_message("%d node tests, %d refused, %d failed\n", (tests->n + step - 1) / step, refused, failed);
    assert_true(!tests->all || tests->n > 1000);
    assert_int_equal(failed, 0);
    if (tests->all && step == 1)
        assert_int_equal(refused, nodes_count(tests->unsupported) + nodes_count(tests->late));
    model_deinit(&home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(packages_give_the_expected_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
