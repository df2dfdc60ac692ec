/* What host functions prepare once (src/host): constants, lists that are searched, patterns, stop words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include <pthread.h>

#include "host/run.h"
#include "runtime/blob.h"
#include "runtime/instance.h"

enum { N_KEY = 300, KEY_BYTES = 4, RUNS = 50 };

/* What instruction `at` keeps. It is made anew before the old one is freed, so the same address is the same thing. */
static const void *kept_at(const tnr_instance *inst, uint32_t at) { return inst->hosts->kept[at]; }

static const char *output(host_runner *r)
{
    tnr_value *v;
    r->n = 0;
    if (tnr_get_output_value(r->instance, 0, &v, &r->err))
        return r->err.message;
    host_show(r, v);
    return r->out;
}

typedef struct step { /* a run of one call */
    const char *operands, *result;
    bool again; /* what the run before has kept is used */
} step;

static void expect_steps(const char *name, uint32_t n_in, size_t n, const step *steps)
{
    static host_runner r;
    const void *had = NULL;
    r = (host_runner){0};
    assert_true(host_open(&r, &name, n_in, 1));
    for (size_t i = 0; i < n; i++) {
        bool fails = strncmp(steps[i].result, "fails: ", 7) == 0;
        assert_true(host_give(&r, n_in, steps[i].operands));
        assert_int_equal(!tnr_run(r.instance, &r.err), !fails);
        assert_string_equal(fails ? r.err.message : output(&r), steps[i].result + (fails ? 7 : 0));
        const void *has = kept_at(r.instance, 0);
        if (fails ? has != NULL : !has || (has == had) != steps[i].again)
            fail_msg("step %zu of %s", i, name);
        had = has;
    }
    tnr_instance_free(r.instance);
    tnr_module_release(r.module);
}

static void patterns(void **state)
{
    static const step steps[] = {
        {"string[2] 'ab' 'b'; json {\"pattern\": \"a.*\"}", "bool[2] 1 0", false},
        {"string[2] 'b' 'abc'; json {\"pattern\": \"a.*\"}", "bool[2] 0 1", true},
        {"string[] 'b'; json {\"pattern\": \"b\"}", "bool[] 1", false},
        {"string[] 'b'; json {\"pattern\": \"b\"}", "bool[] 1", true},
        {"string[] 'b'; json {\"pattern\": \"b(\"}",
         "fails: node: the regular expression has a group that is not closed at byte 2: b(", false},
        {"string[] ''; json {\"pattern\": \"\"}", "bool[] 1", false},
        {"string[] 'b'; json {\"pattern\": \"\"}", "bool[] 0", true},
    };
    (void)state;
    expect_steps("string.regex_full_match", 2, sizeof steps / sizeof *steps, steps);
}

/* Each step gives another value as the list. */
static void lists_that_change(void **state)
{
    static const step steps[] = {
        {"string[2] 'a' 'b'; string[2] 'a' 'b'", "int64[2] 0 1", false},
        {"string[2] 'a' 'b'; string[3] 'b' 'a' 'b'", "int64[2] 1 2", false},
        {"string[1] 'x'; string[0]", "int64[1] 0", false},
        {"string[1] 'x'; #1()", "fails: node: string.find gets a value that is not a tensor of strings",
         false},
        {"string[1] 'x'; string[1] 'x'", "int64[1] 0", false},
    };
    (void)state;
    expect_steps("string.find", 2, sizeof steps / sizeof *steps, steps);
}

/* The list, or the stop words, are the same value in two runs; other attributes ask for other stop words. */
static void same_value(void **state)
{
    static const struct {
        const char *name, *second, *attr, *first, *then;
        bool again;
    } rows[] = {
        {"string.find", "string[2] 'a' 'b'", NULL, "int64[2] 1 2", "int64[2] 1 2", true},
        {"string.normalize", "string[2] 'a' 'b'", "json {\"is_case_sensitive\": 1}", "string[1] 'X'",
         "string[1] 'X'", true},
        {"string.normalize", "string[1] 'x'", "json {\"is_case_sensitive\": 0}", "string[1] 'b'",
         "string[1] 'b'", true},
        {"string.normalize", "string[1] 'x'", "json {\"is_case_sensitive\": 1}", "string[2] 'b' 'X'",
         "string[1] 'b'", false},
    };
    static host_runner r;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t n_in = rows[i].attr ? 3 : 2;
        const char *at = "string[2] 'b' 'X'", *second = rows[i].second;
        r = (host_runner){0};
        assert_true(host_open(&r, &rows[i].name, n_in, 1));
        tnr_value *x = host_value(&r, &at), *v = host_value(&r, &second);
        const char *attr[] = {rows[i].attr, rows[i].again ? rows[i].attr : "json {\"is_case_sensitive\": 0}"};
        const void *had = NULL;
        for (int run = 0; run < 2; run++) {
            int64_t n = rows[i].attr ? (int64_t)strlen(attr[run]) - 5 : 0;
            tnr_value *a =
                n ? host_tensor(&r, (DLDataType){kDLUInt, 8, 1}, 1, &n, (void *)(uintptr_t)(attr[run] + 5))
                  : NULL;
            assert_int_equal(tnr_set_input_value(r.instance, 0, x, &r.err), TNR_OK);
            assert_int_equal(tnr_set_input_value(r.instance, 1, v, &r.err), TNR_OK);
            assert_int_equal(a ? tnr_set_input_value(r.instance, 2, a, &r.err) : TNR_OK, TNR_OK);
            tnr_value_release(a);
            if (tnr_run(r.instance, &r.err))
                fail_msg("%s", r.err.message);
            assert_string_equal(output(&r), run ? rows[i].then : rows[i].first);
            assert_true(kept_at(r.instance, 0) &&
                        (run == 0 || (kept_at(r.instance, 0) == had) == rows[i].again));
            had = kept_at(r.instance, 0);
        }
        tnr_value_release(x);
        tnr_value_release(v);
        tnr_instance_free(r.instance);
        tnr_module_release(r.module);
    }
}

/* Texts of parts that are inputs are made in each run. */
static void parts_that_change(void **state)
{
    static const char *const name = "string.make";
    static const char *const rows[][2] = {
        {"int64[1] 2; int64[3] 0 1 2; uint8[2] 97 98", "string[2] 'a' 'b'"},
        {"int64[1] 1; int64[2] 0 2; uint8[2] 99 100", "string[1] 'cd'"},
    };
    static host_runner r;
    (void)state;
    r = (host_runner){0};
    assert_true(host_open(&r, &name, 3, 1));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(host_give(&r, 3, rows[i][0]));
        assert_int_equal(tnr_run(r.instance, &r.err), TNR_OK);
        assert_string_equal(output(&r), rows[i][1]);
        assert_null(kept_at(r.instance, 0));
    }
    tnr_instance_free(r.instance);
    tnr_module_release(r.module);
}

/* ---- keys that the package holds ---- */

static int64_t shape[1] = {N_KEY}, offset[N_KEY + 1];
static char bytes[N_KEY * KEY_BYTES + 1];

/* list = string.make(constants); y = string.find(x, list) */
static tnr_module *open_keys(maker *m, blob *params)
{
    static const char *const text[] = {"string.make", "string.find"};
    tnr_module *module = NULL;
    tnr_error err = {0};
    for (int i = 0; i <= N_KEY; i++)
        offset[i] = i * KEY_BYTES;
    for (int i = 0; i < N_KEY; i++)
        snprintf(bytes + i * KEY_BYTES, KEY_BYTES + 1, "k%03d", i);
    const blob_tensor t[] = {{"shape", kDLInt, 64, 1, {1}, shape, sizeof shape},
                             {"offset", kDLInt, 64, 1, {N_KEY + 1}, offset, sizeof offset},
                             {"bytes", kDLUInt, 8, 1, {N_KEY * KEY_BYTES}, bytes, N_KEY * KEY_BYTES}};
    *params = blob_params_aligned(t, 3);
    *m = (maker){0};
    uint32_t c[3] = {put_slot(m, 0, TN_SLOT_CONST, "shape", kDLInt, 64, 1),
                     put_slot(m, 0, TN_SLOT_CONST, "offset", kDLInt, 64, N_KEY + 1),
                     put_slot(m, 0, TN_SLOT_CONST, "bytes", kDLUInt, 8, (int64_t)N_KEY * KEY_BYTES)},
             x = put_handle(m, 0, TN_SLOT_INPUT, "x"), y = put_handle(m, 0, TN_SLOT_OUTPUT, "y"),
             list = put_handle(m, 0, TN_SLOT_TEMP, "");
    put_inst(m, 0, TN_INST_CALL_HOST, 0, 5, 3, c[0], c[1], c[2], list);
    put_inst(m, 0, TN_INST_CALL_HOST, 1, 4, 2, x, list, y);
    finish_maker(m, 1, 0);
    m->program.text = text;
    m->program.n_text = 2;
    if (tnr_module_open_parts(
            &(tnr_parts){.library = &m->library, .params = params->at, .params_n = params->n}, &module,
            &err) ||
        tnr_host_register_all(module, &err))
        fail_msg("%s", err.message);
    return module;
}

typedef struct runs { /* of one instance */
    host_runner r;
    const void *kept[2];
    bool ok;
} runs;

/* Many runs of one instance: texts that are there and that are not; both calls keep what the first run made. */
static void *work(void *user)
{
    runs *j = user;
    j->ok = true;
    for (int run = 0; run < RUNS && j->ok; run++) {
        char operands[64], want[64];
        int key = run * 7 % N_KEY;
        snprintf(operands, sizeof operands, "string[2] 'k%03d' 'k%d'", key, run);
        snprintf(want, sizeof want, "int64[2] %d %d", key, N_KEY);
        j->ok = host_give(&j->r, 1, operands) && !tnr_run(j->r.instance, &j->r.err) &&
                strcmp(output(&j->r), want) == 0;
        for (uint32_t i = 0; i < 2; i++) {
            const void *has = kept_at(j->r.instance, i);
            j->ok = j->ok && has && (run == 0 || has == j->kept[i]);
            j->kept[i] = has;
        }
    }
    return NULL;
}

static void constant_keys(void **state)
{
    static maker m;
    static runs job[2];
    blob params;
    (void)state;
    tnr_module *module = open_keys(&m, &params);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tnr_instance_new(module, NULL, &job[i].r.instance, &job[i].r.err), TNR_OK);
        assert_null(kept_at(job[i].r.instance, 0));
        work(&job[i]);
        assert_true(job[i].ok);
    }
    assert_true(job[0].kept[0] != job[1].kept[0] && job[0].kept[1] != job[1].kept[1]);
    assert_int_equal(tnr_instance_host_register_all(job[0].r.instance, &job[0].r.err), TNR_OK);
    assert_true(!kept_at(job[0].r.instance, 0) && !kept_at(job[0].r.instance, 1));
    for (int i = 0; i < 2; i++)
        tnr_instance_free(job[i].r.instance);
    tnr_module_release(module);
    free(params.at);
}

/* Two instances of a module, a thread each. host/run.h is for one thread, so the inputs are set before. */
typedef struct thread {
    tnr_instance *instance;
    int64_t want;
    bool ok;
} thread;

static void *run_thread(void *user)
{
    thread *t = user;
    tnr_error err;
    t->ok = true;
    for (int run = 0; run < RUNS && t->ok; run++) {
        tnr_value_info info = {0};
        tnr_value *v;
        t->ok = !tnr_run(t->instance, &err) && !tnr_get_output_value(t->instance, 0, &v, &err);
        if (t->ok)
            tnr_value_get(v, &info);
        t->ok = t->ok && info.kind == TNR_VALUE_TENSOR && *(int64_t *)info.tensor.data == t->want;
    }
    return NULL;
}

static void two_threads(void **state)
{
    static maker m;
    static host_runner r[2];
    thread t[2];
    pthread_t id[2];
    blob params;
    (void)state;
    tnr_module *module = open_keys(&m, &params);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tnr_instance_new(module, NULL, &r[i].instance, &r[i].err), TNR_OK);
        assert_true(host_give(&r[i], 1, i ? "string[] 'k299'" : "string[] 'k001'"));
        t[i] = (thread){r[i].instance, i ? 299 : 1, false};
        assert_int_equal(pthread_create(&id[i], NULL, run_thread, &t[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(id[i], NULL);
        assert_true(t[i].ok);
        tnr_instance_free(r[i].instance);
    }
    tnr_module_release(module);
    free(params.at);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),          cmocka_unit_test(lists_that_change),
        cmocka_unit_test(parts_that_change), cmocka_unit_test(same_value),
        cmocka_unit_test(constant_keys),     cmocka_unit_test(two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
