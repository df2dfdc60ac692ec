/* ONNX models with values given as text (tests/onnx/run.txt, microsoft.txt, edge.txt, flow.txt, complex.txt, old.txt):
 * by the Relay interpreter and, but for old.txt, as packages. A case is a line `# what`, a model as tests/onnx/write.h
 * has it, `=>`, and what runs are given and give;
 * `---` ends it:
 *
 *   in x float 2 3 = 1 2 3 4 5 6     an input, as `init` has it; it keeps its value in later runs of the case
 *   out float 2 = 6 15               the next output
 *   fails an extent                  instead of outputs: the package's run fails and says this
 *   run                              ends what belongs to one run
 *
 * ONNX Runtime made the values, or the ONNX project's reference where the former refuses the model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "e2e/run.h"
#include "onnx/model.h"
#include "onnx/write.h"

enum { MAX_IN = 16 };

typedef struct session {
    model m; /* memory */
    tn_buf bytes;
    tenon *t[2];
    tenon_module *relay;
    tnr_module *module;
    int n_in;
    tenon_tensor in[MAX_IN];
} session;

/* "float 2 3 = 1 2 3 4 5 6" */
static tenon_tensor tensor_of(session *s, const char *name, int n, char *const word[])
{
    const write_type *type = write_type_of(word[0]);
    assert_non_null(type);
    tenon_tensor t = {.name = name, .code = type->dtype.code, .bits = type->dtype.bits};
    size_t count = 1, bytes = tn_dtype_bytes(type->dtype);
    int at = 1;
    for (; at < n && strcmp(word[at], "=") != 0; at++)
        count *= (size_t)(t.shape[t.ndim++] = strtoll(word[at], NULL, 10));
    write_elements e = write_elements_of(type->dtype, count, n - at - 1, word + at + 1);
    size_t each = tn_dtype_bytes(e.dtype), n_values = count * bytes / each;
    if (e.n != n_values)
        fail_msg("%s: %zu values expected, %zu given", name, n_values, e.n);
    char *data = tn_arena_alloc(&s->m.arena, (count ? count : 1) * bytes, 8);
    for (size_t i = 0; i < n_values; i++)
        tn_scalar_write(e.dtype, data + i * each, write_element(&e, i));
    t.data = data;
    t.bytes = count * bytes;
    return t;
}

static void set_input(session *s, const words *w)
{
    const char *name = tn_arena_strdup(&s->m.arena, w->at[1]);
    int i = 0;
    while (i < s->n_in && strcmp(s->in[i].name, name) != 0)
        i++;
    assert_true(i < MAX_IN);
    s->n_in = i == s->n_in ? i + 1 : s->n_in;
    s->in[i] = tensor_of(s, name, w->n - 2, w->at + 2);
}

/* `level`: the package's optimisation; below 0 there is none. */
static bool session_open(session *s, const char *text, int level, char *why)
{
    tenon_options o = {.size = sizeof o, .opt_level = level, .no_variants = 1};
    memset(s, 0, sizeof *s);
    model_init(&s->m);
    s->bytes = write_model(text);
    for (int i = 0; i < 1 + (level >= 0); i++) {
        s->t[i] = tenon_new();
        tenon_module *m = tenon_module_from_memory(s->t[i], "m.onnx", s->bytes.at, s->bytes.n, NULL);
        if (!m)
            return run_fail(why, "read: %.900s", tenon_messages(s->t[i]));
        if (i == 0)
            s->relay = m;
        else if (tenon_build_here(m, &o, &s->module, NULL))
            return run_fail(why, "compile: %.900s", tenon_messages(s->t[i]));
    }
    return true;
}

static void session_close(session *s)
{
    tnr_module_release(s->module);
    for (int i = 0; i < 2; i++)
        tenon_free(s->t[i]);
    tn_buf_deinit(&s->bytes);
    model_deinit(&s->m);
}

static bool interpret(session *s, values *out, char *why)
{
    const tenon_tensor *result;
    int n = 0;
    out->n = 0;
    if (tenon_interpret(s->relay, NULL, "relay", s->n_in, s->in, &n, &result))
        return run_fail(why, "relay: %.900s", tenon_messages(s->t[0]));
    for (int i = 0; i < n; i++)
        values_add(out, &result[i]);
    return true;
}

/* One run by each way; fails: what the package must say, or NULL. */
static bool run_once(session *s, const values *want, const char *fails, char *why)
{
    values have = {0};
    char text[RUN_TEXT];
    bool ok = !s->module || run_module(s->module, TNR_EXECUTOR_AOT, 1, s->n_in, s->in, &have, text);
    if (fails) {
        if (ok || !strstr(text, fails))
            ok = run_fail(why, "expected to fail with \"%.200s\", but: %.600s", fails, ok ? "it ran" : text);
        else
            ok = true;
    } else {
        ok = (ok && (!s->module || all_near(&have, want, 1, text))) || run_fail(why, "package: %.900s", text);
        values_free(&have);
        ok = ok &&
             ((interpret(s, &have, text) && all_near(&have, want, 1, text)) || run_fail(why, "%.900s", text));
    }
    values_free(&have);
    return ok;
}

static bool run_lines(session *s, const char *text, char *why)
{
    values want = {0};
    words *w = malloc(sizeof *w);
    const char *fails = NULL;
    bool ok = true;
    int run = 1;
    for (size_t n; ok && *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        if (strncmp(text, "fails ", 6) == 0) {
            fails = tn_arena_strndup(&s->m.arena, text + 6, n - 6);
            continue;
        }
        split_words(w, text, n);
        if (w->n && strcmp(w->at[0], "in") == 0) {
            set_input(s, w);
        } else if (w->n && strcmp(w->at[0], "out") == 0) {
            want.at[want.n++] = tensor_of(s, "out", w->n - 1, w->at + 1);
        } else if (w->n && strcmp(w->at[0], "run") == 0) {
            char reason[RUN_TEXT];
            ok = run_once(s, &want, fails, reason) || run_fail(why, "run %d: %.900s", run, reason);
            run++;
            want.n = 0;
            fails = NULL;
        } else if (w->n) {
            ok = run_fail(why, "unknown line: %.200s", w->at[0]);
        }
    }
    free(w);
    return ok && want.n == 0 ? true : ok ? run_fail(why, "a line `run` is missing") : false;
}

static void run_file(const char *file, int level)
{
    model home;
    model_init(&home);
    tn_file f = model_map(&home, source_path(&home, file));
    int wrong = 0, n = 0;
    for (char *at = tn_arena_strndup(&home.arena, (const char *)f.at, f.n), *next; *at; at = next, n++) {
        char *end = strstr(at, "\n---\n"), *arrow = strstr(at, "\n=>\n"), why[RUN_TEXT];
        assert_non_null(end);
        assert_true(arrow && arrow < end);
        next = end + 5;
        if (RUN_FEWER && n % 6 != 0)
            continue;
        *arrow = end[1] = 0;
        char *body = strchr(at, '\n');
        session s;
        if (!session_open(&s, body, level, why) || !run_lines(&s, arrow + 4, why)) {
            print_error("%.*s: %s\n", (int)(body - at), at, why);
            wrong++;
        }
        session_close(&s);
    }
    assert_true(n > 0);
    assert_int_equal(wrong, 0);
    model_deinit(&home);
}

static void models_run(void **state)
{
    (void)state;
    run_file("tests/onnx/run.txt", 0);
}

static void ends_of_operators_run(void **state)
{
    (void)state;
    run_file("tests/onnx/edge.txt", 3);
}

static void control_flow_runs(void **state)
{
    (void)state;
    run_file("tests/onnx/flow.txt", 3);
}

static void complex_numbers_run(void **state)
{
    (void)state;
    run_file("tests/onnx/complex.txt", 0);
}

static void models_of_onnx_runtime_run(void **state)
{
    (void)state;
    run_file("tests/onnx/microsoft.txt", 0);
}

static void old_and_odd_models_run(void **state)
{
    (void)state;
    run_file("tests/onnx/old.txt", -1); /* the calls that old forms become are compiled elsewhere */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models_run),
                                       cmocka_unit_test(models_of_onnx_runtime_run),
                                       cmocka_unit_test(ends_of_operators_run),
                                       cmocka_unit_test(control_flow_runs),
                                       cmocka_unit_test(old_and_odd_models_run),
                                       cmocka_unit_test(complex_numbers_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
