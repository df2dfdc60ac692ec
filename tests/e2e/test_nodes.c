/* The ONNX project's node tests (tests/onnx/node) compiled to LLVM packages and run: the expected values, or
 * refused. The tests refused are exactly those of tests/onnx/unsupported.txt, and those of `late` below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "e2e/run.h"
#include "onnx/model.h"

#include <dirent.h>

enum { MAX_TESTS = 2000 };

/* The node tests' own tolerance, per element. */
static const double absolute = 1e-6, relative = 1e-3;

/* Imported, interpreted, but refused by code generation, each with the error. It may only shrink. */
typedef struct late { const char *name, *error; } late;
static const late refused_late[] = {
    {"test_pow_types_int32_float32", "[lower-E005]"}, /* pow of float64, which integers to a float power become */
    {"test_pow_types_int64_float32", "[lower-E005]"},
};

typedef struct list { char *name[MAX_TESTS]; int n; } list;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_folder(list *l, const char *path)
{
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strncmp(e->d_name, "test_", 5) != 0)
            continue;
        assert_true(l->n < MAX_TESTS);
        l->name[l->n++] = strdup(e->d_name);
    }
    closedir(d);
    qsort(l->name, (size_t)l->n, sizeof *l->name, by_name);
}

/* input_0.pb, input_1.pb, ... */
static void read_values(model *m, const char *folder, const char *what, values *out)
{
    for (out->n = 0; out->n < RUN_VALUES; out->n++) {
        const char *path = tn_arena_printf(&m->arena, "%s/%s_%d.pb", folder, what, out->n);
        if (access(path, R_OK) != 0)
            break;
        tn_tensor_value v = read_pb(m, path);
        tenon_tensor *t = &out->at[out->n];
        *t = (tenon_tensor){.code = v.dtype.code, .bits = v.dtype.bits, .ndim = v.ndim, .data = v.at, .bytes = v.n};
        for (int d = 0; d < v.ndim; d++)
            t->shape[d] = v.dim[d];
    }
}

static bool near_elements(const values *have, const values *want, char *why)
{
    if (have->n != want->n)
        return run_fail(why, "%d outputs, expected %d", have->n, want->n);
    for (int i = 0; i < have->n; i++) {
        const tenon_tensor *x = &have->at[i], *y = &want->at[i];
        if (!same_type(x, y))
            return run_fail(why, "output %d has another type or shape", i);
        for (size_t k = 0; k < y->bytes / (y->bits / 8u); k++) {
            double a = value_at(x, k), b = value_at(y, k);
            if (a != b && !(isnan(a) && isnan(b)) && !(fabs(a - b) <= absolute + relative * fabs(b)))
                return run_fail(why, "output %d, element %zu is %.9g, not %.9g", i, k, a, b);
        }
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
    ok = ok && near_elements(&have, &want, why);
    values_free(&have);
    return ok;
}

static bool is_listed(const char *list_text, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list_text; (at = strstr(at, name)) != NULL; at += n)
        if ((at == list_text || at[-1] == '\n') && at[n] == ' ')
            return true;
    return false;
}

static bool is_late(const char *name, const char *why)
{
    for (size_t i = 0; i < sizeof refused_late / sizeof *refused_late; i++)
        if (strcmp(refused_late[i].name, name) == 0)
            return strstr(why, refused_late[i].error) != NULL;
    return false;
}

static int count_lines(const char *text, const char *beginning)
{
    int n = 0;
    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        n += strncmp(at, beginning, strlen(beginning)) == 0;
    return n;
}

/* Compiles and runs one; *refused where compiling said no. */
static bool one_test(const char *name, bool listed, bool *refused, char *why)
{
    model m;
    tnr_module *module = NULL;
    tenon_options o = {.opt_level = 3};
    model_init(&m);
    const char *folder = source_path(&m, tn_arena_printf(&m.arena, "tests/onnx/node/%s", name));
    bool ok = run_compile(tn_arena_printf(&m.arena, "%s/model.onnx", folder), &o, &module, why);
    *refused = !ok && strncmp(why, "compile:", 8) == 0;
    if (ok)
        ok = listed ? run_fail(why, "is listed in unsupported.txt, but is compiled: take it off the list")
                    : run_node(&m, module, folder, why);
    else
        ok = *refused && (listed || is_late(name, why));
    tnr_module_release(module);
    model_deinit(&m);
    return ok;
}

static void packages_give_the_expected_values(void **state)
{
    (void)state;
    model home;
    model_init(&home);
    list *tests = calloc(1, sizeof *tests);
    int failed = 0, refused = 0;
    read_folder(tests, source_path(&home, "tests/onnx/node"));
    tn_file f = model_map(&home, source_path(&home, "tests/onnx/unsupported.txt"));
    const char *unsupported = tn_arena_strndup(&home.arena, (const char *)f.at, f.n);
    for (int i = 0; i < tests->n; i++) {
        char why[RUN_TEXT];
        bool no = false;
        if (!one_test(tests->name[i], is_listed(unsupported, tests->name[i]), &no, why)) {
            print_error("%s: %s\n", tests->name[i], why);
            failed++;
        }
        refused += no;
        free(tests->name[i]);
    }
    print_message("%d node tests, %d refused, %d failed\n", tests->n, refused, failed);
    assert_true(tests->n > 300);
    assert_int_equal(failed, 0);
    assert_int_equal(refused, count_lines(unsupported, "test_") + (int)(sizeof refused_late / sizeof *refused_late));
    free(tests);
    model_deinit(&home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(packages_give_the_expected_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
