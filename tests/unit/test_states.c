/* States that inputs of a model become (options.states): 100 calls give the bits that they give where the caller passes
 * them on, in a package, a self-contained library and the interpreters; nothing is copied that a kernel can write where
 * it is; two instances in two threads share nothing; what cannot be a state is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tenon/tenon.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 4, CALLS = 100, STATES = 4 };

/* h and c are computed, last is an input as it was, older what last was: one state that another one becomes. */
static const char model[] =
    "#[version = \"0.0.5\"]\n"
    "def @main(%x: Tensor[(4), float32], %h: Tensor[(4), float32], %c: Tensor[(4), float32],\n"
    "          %last: Tensor[(4), float32], %older: Tensor[(4), float32]) {\n"
    "  %0 = multiply(%h, 0.5f);\n"
    "  %1 = add(%x, %0);\n"
    "  %2 = tanh(%1);\n"
    "  %3 = sigmoid(%x);\n"
    "  %4 = multiply(%3, %c);\n"
    "  %5 = add(%4, %2);\n"
    "  %6 = add(%5, %older);\n"
    "  (%6, %2, %5, %x, %last, %h)\n"
    "}\n";
static const char *const pairs[] = {"h=output_1", "c=output_2", "last=output_3", "older=output_4", NULL};
static const char *const names[STATES] = {"h", "c", "last", "older"};

typedef struct numbers {
    float y[CALLS][2][N]; /* output_0, and h as it was */
} numbers;

static tnr_error err;
static tenon *session;
static char folder[] = "tn-states-XXXXXX";

static void need(int failed)
{
    if (failed)
        fail_msg("%s%s", tenon_messages(session), err.message);
}

static tenon_options options(const char *const *states)
{
    return (tenon_options){.size = sizeof(tenon_options), .states = states, .threads = 1};
}

static tenon_module *parse_text(const char *text)
{
    tenon_module *m = tenon_module_parse(session, text, NULL, 0);
    need(!m);
    return m;
}

static tenon_module *parse(void) { return parse_text(model); }

static const char *path_of(const char *name)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static tnr_module *build(const char *name, const char *const *states)
{
    tenon_options o = options(states);
    tnr_module *m = NULL;
    need(tenon_build(parse(), &o, path_of(name), NULL));
    need(tnr_module_open(path_of(name), NULL, &m, &err));
    return m;
}

static tnr_instance *instance(tnr_module *m)
{
    tnr_instance *x = NULL;
    need(tnr_instance_new(m, &(tnr_instance_options){.threads = 1}, &x, &err));
    return x;
}

static DLTensor vector(float *at)
{
    static int64_t n = N;
    return (DLTensor){.data = at, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &n};
}

static void set(tnr_instance *x, const char *name, float *at)
{
    DLTensor t = vector(at);
    need(tnr_set_input(x, name, &t, &err));
}

static void get(tnr_instance *x, uint32_t output, float *at)
{
    DLTensor t;
    need(tnr_get_output_at(x, output, &t, &err));
    memcpy(at, t.data, N * sizeof *at);
}

static void next_x(int call, float x[N])
{
    for (int i = 0; i < N; i++)
        x[i] = (float)((call * 7 + i * 3) % 11) / 4 - 1;
}

/* The caller passes what a run gave to the next one. */
static void by_hand(numbers *out)
{
    float x[N], state[STATES][N] = {{0}};
    tnr_module *m = build("by_hand.tar", NULL);
    tnr_instance *inst = instance(m);
    assert_int_equal(tnr_state_count(m), 0);
    for (int call = 0; call < CALLS; call++) {
        next_x(call, x);
        set(inst, "x", x);
        for (int s = 0; s < STATES; s++)
            set(inst, names[s], state[s]);
        need(tnr_run(inst, &err));
        get(inst, 0, out->y[call][0]);
        get(inst, 5, out->y[call][1]);
        for (uint32_t s = 0; s < STATES; s++)
            get(inst, 1 + s, state[s]);
    }
    tnr_instance_free(inst);
    tnr_module_release(m);
}

static void by_state(tnr_instance *inst, numbers *out)
{
    float x[N];
    set(inst, "x", x);
    for (int call = 0; call < CALLS; call++) {
        next_x(call, x);
        need(tnr_run(inst, &err));
        get(inst, 0, out->y[call][0]);
        get(inst, 1, out->y[call][1]);
    }
}

static void compare(const numbers *have)
{
    static numbers want;
    by_hand(&want);
    assert_memory_equal(have, &want, sizeof want);
}

static void states_are_what_the_caller_would_pass_on(void **state)
{
    static numbers have;
    static const char *const forms[] = {"model.tar", "model.so"};
    (void)state;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        tnr_module *m = build(forms[f], pairs);
        tnr_instance *inst = instance(m);
        tnr_state_info info;
        assert_int_equal(tnr_state_count(m), STATES);
        assert_int_equal(tnr_input_count(m), 1);
        assert_int_equal(tnr_output_count(m), 2);
        assert_int_equal(tnr_module_has_executor(m, TNR_EXECUTOR_GRAPH), 0);
        for (uint32_t s = 0; s < STATES; s++) {
            need(tnr_state_info_get(m, s, &info, &err));
            assert_string_equal(info.name, names[s]);
        }
        by_state(inst, &have);
        compare(&have);
        need(tnr_state_reset(inst, &err));
        by_state(inst, &have);
        compare(&have);
        tnr_instance_free(inst);
        tnr_module_release(m);
    }
}

/* The functions of the header: one stream of calls, which reset begins anew. */
static void libraries_keep_one_stream(void **state)
{
    static numbers have;
    float x[N];
    const void *in[] = {x};
    void *out[2];
    char path[512], cwd[256];
    (void)state;
    tnr_module_release(build("stream.so", pairs));
    assert_non_null(getcwd(cwd, sizeof cwd));
    snprintf(path, sizeof path, "%s/%s", cwd, path_of("stream.so"));
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(lib);
    int32_t (*run)(const void *, const void *), (*reset)(void);
    *(void **)&run = dlsym(lib, "tvmgen_default_run");
    *(void **)&reset = dlsym(lib, "tvmgen_default_reset");
    assert_true(run && reset);
    for (int round = 0; round < 2; round++) {
        for (int call = 0; call < CALLS; call++) {
            next_x(call, x);
            out[0] = have.y[call][0];
            out[1] = have.y[call][1];
            assert_int_equal(run(in, out), 0);
        }
        compare(&have);
        assert_int_equal(reset(), 0);
    }
    void (*end)(void);
    *(void **)&end = dlsym(lib, "tvmgen_default_free");
    end();
    dlclose(lib);
}

static void on_event(void *user, const tnr_profile_event *e)
{
    if (strcmp(e->kernel, "__copy") == 0)
        ++*(int *)user;
}

/* c is written where it is. h is an output as it was, last is an input, and older gets what last was. */
static void kernels_write_states_where_they_can(void **state)
{
    static const char *const one[] = {"c=output_2", NULL};
    float x[N] = {0};
    (void)state;
    for (int k = 0; k < 2; k++) {
        int copies = 0;
        tnr_module *m = build("copies.tar", k ? pairs : one);
        tnr_instance *inst = instance(m);
        tnr_profile_set(inst, on_event, &copies);
        set(inst, "x", x);
        for (int s = 0; s < STATES && !k; s++)
            if (strcmp(names[s], "c") != 0)
                set(inst, names[s], x);
        need(tnr_run(inst, &err));
        assert_int_equal(copies, k ? 5 : 0);
        tnr_instance_free(inst);
        tnr_module_release(m);
    }
}

typedef struct stream {
    pthread_t thread;
    tnr_instance *instance;
    numbers have;
} stream;

static void *stream_run(void *at)
{
    stream *s = at;
    by_state(s->instance, &s->have);
    return NULL;
}

static void instances_share_nothing(void **state)
{
    static stream s[2];
    (void)state;
    tnr_module *m = build("two.tar", pairs);
    for (int i = 0; i < 2; i++)
        s[i].instance = instance(m);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&s[i].thread, NULL, stream_run, &s[i]), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(s[i].thread, NULL), 0);
        tnr_instance_free(s[i].instance);
    }
    tnr_module_release(m);
    for (int i = 0; i < 2; i++)
        compare(&s[i].have);
}

/* Interpreters begin with zeros. */
static void interpreters_have_states(void **state)
{
    static const char *const stage[] = {"relay", "tir", "tir-scheduled", "flat"};
    static numbers want;
    float x[N];
    (void)state;
    by_hand(&want);
    next_x(0, x);
    for (size_t k = 0; k < sizeof stage / sizeof *stage; k++) {
        tenon_options o = options(pairs);
        tenon_tensor in = {
            .name = "x", .code = kDLFloat, .bits = 32, .ndim = 1, .shape = {N}, .data = x, .bytes = sizeof x};
        const tenon_tensor *out;
        int n;
        need(tenon_interpret(parse(), &o, stage[k], 1, &in, &n, &out));
        assert_int_equal(n, 2);
        for (int o_i = 0; o_i < n; o_i++)
            for (int i = 0; i < N; i++) {
                float d = ((const float *)out[o_i].data)[i] - want.y[0][o_i][i];
                assert_true(d < 1e-6f && d > -1e-6f);
            }
    }
}

/* A run of no rows computes nothing, so it would leave h as it was: it is refused. */
static void runs_that_would_not_change_a_state_are_refused(void **state)
{
    static const char rows[] = "#[version = \"0.0.5\"]\n"
                               "def @main(%x: Tensor[(t, 4), float32], %h: Tensor[(4), float32]) {\n"
                               "  %0 = add(%x, %h);\n"
                               "  %1 = sum(%x, axis=[0]);\n"
                               "  %2 = add(%1, %h);\n"
                               "  (%0, %2)\n"
                               "}\n";
    static const char *const one[] = {"h=output_1", NULL};
    float x[2 * N] = {1, 2, 3, 4, 5, 6, 7, 8};
    int64_t shape[] = {0, N};
    DLTensor t = vector(x);
    tenon_options o = options(one);
    tnr_module *m;
    (void)state;
    tenon_module *text = tenon_module_parse(session, rows, NULL, 0);
    need(!text || tenon_build(text, &o, path_of("rows.tar"), NULL));
    need(tnr_module_open(path_of("rows.tar"), NULL, &m, &err));
    tnr_instance *inst = instance(m);
    t.ndim = 2;
    t.shape = shape;
    need(tnr_set_input(inst, "x", &t, &err));
    assert_int_equal(tnr_run(inst, &err), TNR_E_CHECK);
    assert_non_null(strstr(err.message, "input x: an extent (t) is 0, but must be from 1 to "));
    shape[0] = 2;
    need(tnr_set_input(inst, "x", &t, &err));
    for (int run = 0; run < 2; run++) {
        need(tnr_run(inst, &err));
        need(tnr_get_output_at(inst, 0, &t, &err));
        for (int i = 0; i < N; i++)
            assert_true(((const float *)t.data)[i] == x[i] + (run ? x[i] + x[N + i] : 0));
    }
    tnr_instance_free(inst);
    tnr_module_release(m);
}

static void refuse(const char *text, const char *pair, const char *id, const char *says)
{
    const char *states[] = {"h=output_1", pair, NULL};
    tenon_options o = options(states);
    tenon_module *m = tenon_module_parse(session, text, NULL, 0);
    need(!m);
    assert_int_equal(tenon_build(m, &o, path_of("no.tar"), NULL), 1);
    assert_string_equal(tenon_diagnostic_get(session, 0)->id, id);
    if (!strstr(tenon_messages(session), says))
        fail_msg("%s", tenon_messages(session));
}

/* The model itself says what it keeps, and from where it begins: runs 1, 2, ... give x times 3, 4, ... */
static const char counting[] = "#[version = \"0.0.5\"]\n"
                               "#[outputs = [\"y\", \"count\"]]\n"
                               "#[state = [\"count\", \"count\", \"begin\"]]\n"
                               "def @main(%x: Tensor[(4), float32], %count: float32) {\n"
                               "  %0 = multiply(%x, %count);\n"
                               "  %1 = add(%count, 1f);\n"
                               "  (%0, %1)\n"
                               "}\n"
                               "def @begin() { 3f }\n";

static void the_model_names_its_states(void **state)
{
    float x[N] = {1, 2, 3, 4}, y[N];
    tenon_options o = options(NULL);
    tenon_tensor in = {
        .name = "x", .code = kDLFloat, .bits = 32, .ndim = 1, .shape = {N}, .data = x, .bytes = sizeof x};
    tnr_module *m = NULL;
    (void)state;
    const tenon_module_info *info = tenon_module_inspect(parse_text(counting));
    assert_true(info->n_input == 1 && info->n_output == 1 && strcmp(info->output[0].name, "y") == 0);
    for (int i = 0; i < 2; i++) { /* by Relay, by the program */
        const tenon_tensor *out;
        int n;
        need(tenon_interpret(parse_text(counting), &o, i ? "flat" : "relay", 1, &in, &n, &out));
        assert_true(n == 1 && ((const float *)out[0].data)[3] == 12);
    }
    need(tenon_build(parse_text(counting), &o, path_of("counting.tar"), NULL));
    need(tnr_module_open(path_of("counting.tar"), NULL, &m, &err));
    assert_true(tnr_input_count(m) == 1 && tnr_output_count(m) == 1 && tnr_state_count(m) == 1);
    tnr_instance *inst = instance(m);
    for (int call = 0; call < 5; call++) {
        if (call == 3)
            need(tnr_state_reset(inst, &err));
        set(inst, "x", x);
        need(tnr_run(inst, &err));
        get(inst, 0, y);
        assert_true(y[3] == 4 * (float)(3 + call % 3));
    }
    tnr_instance_free(inst);
    tnr_module_release(m);
}

/* driver-E097 driver-E098 driver-E111 driver-E112 driver-E113 driver-E114 driver-E185 */
static void what_cannot_be_a_state_is_an_error(void **state)
{
    static const char other[] = "#[version = \"0.0.5\"]\n"
                                "def @main(%h: Tensor[(4), float32], %i: Tensor[(4), int32],\n"
                                "          %w: Tensor[(2, 2), float32], %s: Tensor[(n), float32],\n"
                                "          %r: Tensor[(1, 1, 1, 1, 1, 1, 1, 1, 4), float32]) {\n"
                                "  %0 = tanh(%h);\n"
                                "  %1 = tanh(%s);\n"
                                "  (%0, %0, %1, %r)\n"
                                "}\n";
    static const char first[] = "#[version = \"0.0.5\"]\n"
                                "#[outputs = [\"x\", \"output_1\"]]\n"
                                "#[state = [\"x\", \"x\", \"begin\"]]\n"
                                "def @main(%h: float32, %x: float32) { (%x, %h) }\n"
                                "def @begin() { 3 }\n";
    (void)state;
    refuse(model, "c", "driver-E112", "write INPUT=OUTPUT");
    refuse(model, "d=output_2", "driver-E111", "the model has no input d");
    refuse(model, "c=output_22", "driver-E111", "no output output_22; did you mean output_2?");
    refuse(model, "h=output_2", "driver-E113", "input h is a state already");
    refuse(other, "i=output_0", "driver-E097", "the input is Tensor[(4), int32]");
    refuse(other, "w=output_0", "driver-E097", "both must have one type and shape");
    refuse(other, "r=output_3", "driver-E114", "it has more than 8 dimensions");
    refuse(first, "h=output_1", "driver-E185",
           "state x: @begin is no function without parameters whose result is a constant of type float32");
    refuse(other, "s=output_2", "driver-E098", "its size is not fixed");
}

static int begin(void **state)
{
    (void)state;
    session = tenon_new();
    return !session || !mkdtemp(folder);
}

static int end(void **state)
{
    char command[64];
    (void)state;
    tenon_free(session);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(states_are_what_the_caller_would_pass_on),
                                       cmocka_unit_test(libraries_keep_one_stream),
                                       cmocka_unit_test(kernels_write_states_where_they_can),
                                       cmocka_unit_test(instances_share_nothing),
                                       cmocka_unit_test(interpreters_have_states),
                                       cmocka_unit_test(runs_that_would_not_change_a_state_are_refused),
                                       cmocka_unit_test(the_model_names_its_states),
                                       cmocka_unit_test(what_cannot_be_a_state_is_an_error)};
    return cmocka_run_group_tests(tests, begin, end);
}
