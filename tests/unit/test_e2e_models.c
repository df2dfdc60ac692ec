/* Real models by every executor: the Relay interpreter, the TIR interpreter at three stages, LLVM and C packages by the AOT and the
 * graph executor, against expected outputs of ONNX Runtime (tests/onnx/expected). The flat interpreter, C and LLVM agree bit for
 * bit, as do executors and thread numbers. Under sanitizers the large models are left to the release build. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "e2e/run.h"
#include "onnx/model.h"

#include <pthread.h>

static const double tolerance = 1e-4; /* of the largest expected value */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LARGE = 0 };
#elif defined(__has_feature)
enum { LARGE = !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer)) };
#else
enum { LARGE = 1 };
#endif

typedef struct check {
    model m;
    const char *path;
    tenon_options o;
    tenon_tensor in;
    const float *want;
    size_t n_want, step; /* expected values are every step-th of the first output */
} check;

static void judge(const check *c, const char *who, const result *r)
{
    assert_true(r->n >= 1 && r->bytes[0] / sizeof(float) > (c->n_want - 1) * c->step);
    double w = worst(r->at[0], c->want, c->n_want, c->step);
    if (!(w <= tolerance))
        fail_msg("%s by %s: wrong by %.2e", c->path, who, w);
}

static void by_stage(check *c, const char *stage, result *out)
{
    const char *why = interpret(c->path, &c->o, stage, 1, &c->in, out);
    if (why)
        fail_msg("%s: %s", c->path, why);
    judge(c, stage, out);
}

/* Packages for the first n_target of llvm, c (whose compiler is slow); `flat` (may be NULL) is what the interpreter gave. graph: the
 * shapes are static. */
static void by_packages(check *c, const result *flat, bool graph, int n_target)
{
    static const char *const targets[] = {"llvm", "c"};
    result r[2][4] = {0};
    for (int k = 0; k < n_target; k++) {
        const way w[4] = {{targets[k], TNR_EXECUTOR_AOT, 1}, {targets[k], TNR_EXECUTOR_AOT, 2}, {targets[k], TNR_EXECUTOR_GRAPH, 1}, {targets[k], TNR_EXECUTOR_GRAPH, 2}};
        const char *why = run_package(c->path, c->o, graph ? 4 : 2, w, 1, &c->in, r[k]);
        if (why)
            fail_msg("%s: %s", c->path, why);
        for (int i = 0; i < (graph ? 4 : 2); i++) {
            judge(c, targets[k], &r[k][i]);
            assert_true(same_bits(&r[k][0], &r[k][i]));
        }
    }
    if (n_target > 1)
        assert_true(same_bits(&r[0][0], &r[1][0]));
    if (flat)
        assert_true(same_bits(&r[0][0], flat));
    for (int k = 0; k < n_target; k++)
        for (int i = 0; i < 4; i++)
            result_free(&r[k][i]);
}

static void by_all(check *c, bool graph)
{
    static const char *const stages[] = {"relay", "tir", "tir-scheduled", "flat"};
    result r[4] = {0};
    for (int i = 0; i < 4; i++)
        by_stage(c, stages[i], &r[i]);
    by_packages(c, &r[3], graph, 2);
    for (int i = 0; i < 4; i++)
        result_free(&r[i]);
}

static void give(check *c, const char *name, const tn_tensor_value *x)
{
    c->in = (tenon_tensor){.name = name, .code = TN_FLOAT, .bits = 32, .ndim = x->ndim, .data = x->at, .bytes = x->n};
    memcpy(c->in.shape, x->dim, sizeof c->in.shape);
}

static void expect(check *c, const tn_tensor_value *y, size_t step)
{
    c->want = y->at;
    c->n_want = y->n / sizeof(float);
    c->step = step;
}

static void open_check(check *c, const char *model_file)
{
    memset(c, 0, sizeof *c);
    model_init(&c->m);
    c->path = source_path(&c->m, model_file);
    c->o.opt_level = 3;
}

static tn_tensor_value expected(check *c, const char *name)
{
    return read_npy(&c->m, source_path(&c->m, tn_arena_printf(&c->m.arena, "tests/onnx/expected/%s.npy", name)));
}

static void dense_for_three_batches(void **state)
{
    (void)state;
    static const int batch[] = {1, 2, 7};
    for (int i = 0; i < 3; i++) {
        check c;
        open_check(&c, "examples/models/dense.onnx");
        tn_tensor_value x = expected(&c, tn_arena_printf(&c.m.arena, "dense.n%d.x", batch[i])), y = expected(&c, tn_arena_printf(&c.m.arena, "dense.n%d.y", batch[i]));
        give(&c, "x", &x);
        expect(&c, &y, 1);
        by_all(&c, false);
        model_deinit(&c.m);
    }
}

static void mnist(void **state)
{
    (void)state;
    check c;
    open_check(&c, "examples/models/mnist_cntk.onnx");
    tn_tensor_value x = expected(&c, "mnist_cntk.in"), y = expected(&c, "mnist_cntk.out");
    give(&c, "Input3", &x);
    expect(&c, &y, 1);
    by_all(&c, true);
    for (int level = 0; level < 3; level++) { /* the numbers do not depend on the level but for rounding */
        c.o.opt_level = level;
        by_packages(&c, NULL, true, 1);
    }
    model_deinit(&c.m);
}

/* Every 397th of the outputs is stored; the input is a formula (tests/onnx/README.md). */
static void super_resolution(void **state)
{
    (void)state;
    static const int batch[] = {1, 2, 7};
    for (int i = 0; i < 3 && LARGE; i++) {
        check c;
        open_check(&c, "examples/models/super_resolution.onnx");
        tn_tensor_value y = expected(&c, tn_arena_printf(&c.m.arena, "super_resolution.n%d.sample", batch[i]));
        tn_tensor_value x = {.dtype = TN_F32, .ndim = 4, .dim = {batch[i], 1, 224, 224}, .n = (size_t)batch[i] * 224 * 224 * 4};
        float *at = x.at = tn_arena_alloc(&c.m.arena, x.n, 64);
        for (size_t k = 0; k < x.n / 4; k++)
            at[k] = (float)((k * 7919) % 1009) / 1009.0f;
        give(&c, "input", &x);
        expect(&c, &y, 397);
        result flat = {0}, relay = {0};
        if (batch[i] == 1) {
            by_stage(&c, "relay", &relay);
            by_stage(&c, "flat", &flat);
        }
        by_packages(&c, batch[i] == 1 ? &flat : NULL, false, batch[i] == 1 ? 2 : 1);
        if (batch[i] == 1) { /* fixed shapes: the graph executor runs it too */
            c.o.input_shapes = "input:[1,1,224,224]";
            by_packages(&c, NULL, true, 1);
        }
        result_free(&flat);
        result_free(&relay);
        model_deinit(&c.m);
    }
}

/* Too large for the repository: read from a folder of models where there is one. The first output's expected values are stored. */
static void face_rfb(void **state)
{
    (void)state;
    check c;
    open_check(&c, "../shared/models/onnx/face_rfb_320.onnx");
    const char *dir = getenv("TENON_SHARED_MODELS");
    if (dir)
        c.path = tn_arena_printf(&c.m.arena, "%s/onnx/face_rfb_320.onnx", dir);
    if (access(c.path, R_OK) != 0 || !LARGE) {
        print_message("skipped: %s is not there, or this is a sanitizer build\n", c.path);
        model_deinit(&c.m);
        skip();
    }
    tn_tensor_value y = expected(&c, "face_rfb_320.scores.sample");
    tn_tensor_value x = {.dtype = TN_F32, .ndim = 4, .dim = {1, 3, 240, 320}, .n = 3 * 240 * 320 * 4};
    float *at = x.at = tn_arena_alloc(&c.m.arena, x.n, 64);
    for (size_t k = 0; k < x.n / 4; k++)
        at[k] = (float)((k * 7919) % 1009) / 1009.0f;
    give(&c, "input", &x);
    expect(&c, &y, 7);
    by_all(&c, true);
    model_deinit(&c.m);
}

typedef struct { tnr_module *m; const check *c; result r; int bad; } runner;

static void *run_often(void *user)
{
    runner *w = user;
    for (int i = 0; i < 20 && !w->bad; i++) {
        tnr_error err;
        result r = {0};
        w->bad = run_instance(w->m, &(way){"", TNR_EXECUTOR_AOT, 0}, 1, &w->c->in, &r, &err) || (w->r.n && !same_bits(&w->r, &r));
        if (w->r.n)
            result_free(&r);
        else
            w->r = r;
    }
    return NULL;
}

static void one_module_in_four_threads(void **state)
{
    (void)state;
    check c;
    tnr_error err;
    runner w[4] = {0};
    pthread_t thread[4];
    open_check(&c, "examples/models/mnist_cntk.onnx");
    tn_tensor_value x = expected(&c, "mnist_cntk.in"), y = expected(&c, "mnist_cntk.out");
    give(&c, "Input3", &x);
    expect(&c, &y, 1);
    tenon *t = tenon_new();
    assert_int_equal(tenon_compile(t, c.path, &c.o, "e2e_threads.tar", NULL), 0);
    tenon_free(t);
    tnr_module *m = NULL;
    assert_int_equal(tnr_module_open("e2e_threads.tar", NULL, &m, &err), 0);
    for (int i = 0; i < 4; i++) {
        w[i] = (runner){.m = m, .c = &c};
        assert_int_equal(pthread_create(&thread[i], NULL, run_often, &w[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        assert_false(w[i].bad);
        judge(&c, "four threads", &w[i].r);
        assert_true(same_bits(&w[0].r, &w[i].r));
    }
    for (int i = 0; i < 4; i++)
        result_free(&w[i].r);
    tnr_module_release(m);
    unlink("e2e_threads.tar");
    model_deinit(&c.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_for_three_batches), cmocka_unit_test(mnist),    cmocka_unit_test(super_resolution),
        cmocka_unit_test(face_rfb),                cmocka_unit_test(one_module_in_four_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
