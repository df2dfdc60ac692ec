/* The ONNX project's node tests (tests/onnx/node): every one imports, verifies and gives the expected values in the
 * interpreter, or is listed in tests/onnx/unsupported.txt and refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

#include <dirent.h>

enum { MAX_TESTS = 2000, MAX_VALUES = 16 };

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

static void free_list(list *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->name[i]);
    free(l);
}

/* input_0.pb, input_1.pb, ... ; their number. */
static int read_values(model *m, const char *folder, const char *what, tn_tensor_value v[])
{
    int n = 0;
    for (; n < MAX_VALUES; n++) {
        const char *path = tn_arena_printf(&m->arena, "%s/%s_%d.pb", folder, what, n);
        FILE *f = fopen(path, "rb");
        if (!f)
            break;
        fclose(f);
        v[n] = read_pb(m, path);
    }
    return n;
}

/* NULL, or what is wrong. */
static const char *compute_test(model *m, const char *folder)
{
    tn_tensor_value in[MAX_VALUES], want[MAX_VALUES], have[MAX_VALUES];
    int n_in = read_values(m, folder, "input", in), n_out = read_values(m, folder, "output", want);
    const char *wrong = NULL;
    if (tn_relay_run(&m->g, n_in, in, n_out, have, tn_eval_interp, NULL) != TN_OK)
        return model_errors(m);
    for (int i = 0; i < n_out; i++) {
        wrong = wrong ? wrong : differs(m, &have[i], &want[i], 1e-3, 1e-6);
        tn_tensor_value_deinit(&have[i]);
    }
    return wrong;
}

static bool is_listed(const char *list_text, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list_text; (at = strstr(at, name)) != NULL; at += n)
        if ((at == list_text || at[-1] == '\n') && at[n] == ' ')
            return true;
    return false;
}

static void node_tests_pass_or_are_refused(void **state)
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
        model m;
        model_init(&m);
        const char *folder = source_path(&m, tn_arena_printf(&m.arena, "tests/onnx/node/%s", tests->name[i]));
        bool listed = is_listed(unsupported, tests->name[i]);
        tn_status s = model_read(&m, tn_arena_printf(&m.arena, "%s/model.onnx", folder), NULL);
        const char *wrong = NULL;
        if (s == TN_OK)
            wrong = listed ? "is listed in unsupported.txt, but is read: take it off the list"
                           : compute_test(&m, folder);
        else if (!listed)
            wrong = model_errors(&m);
        else
            assert_true(m.ctx.n_error > 0);
        refused += s != TN_OK;
        if (wrong) {
            print_error("%s: %s\n", tests->name[i], wrong);
            failed++;
        }
        model_deinit(&m);
    }
    print_message("%d node tests, %d refused as listed, %d failed\n", tests->n, refused, failed);
    assert_true(tests->n > 300);
    assert_int_equal(failed, 0);
    free_list(tests);
    model_deinit(&home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(node_tests_pass_or_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
