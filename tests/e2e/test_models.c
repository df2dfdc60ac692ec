/* Real models from file to numbers, by every way there is: the Relay interpreter, the TIR interpreter at each
 * stage, LLVM and C packages under both executors. All are compared with stored results of another system
 * (tests/onnx/README.md) within RUN_TOLERANCE; packages and the interpreter on flat TIR with each other, bit
 * for bit.
 *
 * Arguments: beginnings of test names ("super_resolution.packages"); none: all tests. Left out, because they take too
 * long: super_resolution by the interpreter on "tir" (127 s for n = 1) and "tir-scheduled" (66 s), its flat form for
 * n > 1 (21 s an image) and Relay form for n = 7 (8 s an image; n = 2 where TENON_SLOW is set); under
 * sanitizers all but dense and mnist_cntk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/npz.h"
#include "e2e/run.h"
#include "onnx/model.h"

#include <pthread.h>

typedef struct row { /* one model with one batch */
    const char *name, *file, *input;
    int n;              /* batch; 0: the model is static */
    const char *shapes; /* the same, with a static batch */
} row;

static const row rows[] = {
    {"dense.n1", "dense", "x", 1, "x:[1,64]"},
    {"dense.n2", "dense", "x", 2, "x:[2,64]"},
    {"dense.n7", "dense", "x", 7, "x:[7,64]"},
    {"mnist_cntk", "mnist_cntk", "Input3", 0, NULL},
    {"super_resolution.n1", "super_resolution", "input", 1, "input:[1,1,224,224]"},
    {"super_resolution.n2", "super_resolution", "input", 2, "input:[2,1,224,224]"},
    {"super_resolution.n7", "super_resolution", "input", 7, "input:[7,1,224,224]"},
    {"face_rfb_320", "face_rfb_320", "input", 0, NULL},
};

typedef struct loaded { /* a row with its data */
    const row *row;
    model home; /* memory */
    const char *path;
    tenon_tensor in;
    values want;
    size_t step; /* `want` has every step'th element */
} loaded;

/* ---- data ---- */

static tenon_tensor from_npy(model *m, const char *name)
{
    tn_tensor_value v =
        read_npy(m, source_path(m, tn_arena_printf(&m->arena, "tests/onnx/expected/%s.npy", name)));
    tenon_tensor t = {.code = v.dtype.code, .bits = v.dtype.bits, .ndim = v.ndim, .data = v.at, .bytes = v.n};
    for (int d = 0; d < v.ndim; d++)
        t.shape[d] = v.dim[d];
    return t;
}

static void read_npz(const char *path, values *out)
{
    tn_npz *z;
    assert_int_equal(tn_npz_open(path, &z), 0);
    for (int i = 0; i < tn_npz_count(z); i++) {
        const tn_npy *type = &tn_npz_at(z, i)->type;
        tenon_tensor *t = &out->at[out->n++];
        *t = (tenon_tensor){
            .code = type->code, .bits = type->bits, .ndim = type->ndim, .bytes = type->data_bytes};
        for (int d = 0; d < type->ndim; d++)
            t->shape[d] = type->shape[d];
        assert_int_equal(tn_npz_read(z, i, &t->data), 0);
    }
    tn_npz_free(z);
}

/* x[i] = ((i * 7919) % 1009) / 1009 */
static tenon_tensor make_picture(model *m, int n)
{
    tenon_tensor t = {
        .code = 2, .bits = 32, .ndim = 4, .shape = {n, 1, 224, 224}, .bytes = (size_t)n * 224 * 224 * 4};
    float *x = tn_arena_alloc(&m->arena, t.bytes, 64);
    for (int64_t i = 0; i < (int64_t)n * 224 * 224; i++)
        x[i] = (float)((i * 7919) % 1009) / 1009.0f;
    t.data = x;
    return t;
}

static void load_shared(loaded *l)
{
    model *m = &l->home;
    const char *shared = getenv("TENON_SHARED_MODELS");
    const char *stem =
        shared ? tn_arena_printf(&m->arena, "%s/onnx/%s", shared, l->row->file)
               : source_path(m, tn_arena_printf(&m->arena, "../shared/models/onnx/%s", l->row->file));
    values in = {0};
    l->path = tn_arena_printf(&m->arena, "%s.onnx", stem);
    if (access(l->path, R_OK) != 0) {
        print_message("skipped: %s is not there; TENON_SHARED_MODELS names the folder of shared models\n",
                      l->path);
        model_deinit(m);
        skip();
    }
    read_npz(tn_arena_printf(&m->arena, "%s.in.npz", stem), &in);
    read_npz(tn_arena_printf(&m->arena, "%s.out.npz", stem), &l->want);
    l->in = in.at[0];
    l->in.data = tn_arena_copy(&m->arena, l->in.data, l->in.bytes, 64);
    values_free(&in);
}

static void load(loaded *l, const row *r)
{
    model *m = &l->home;
    bool super = strcmp(r->file, "super_resolution") == 0, mnist = strcmp(r->file, "mnist_cntk") == 0;
    *l = (loaded){.row = r, .step = super ? 397 : 1};
    model_init(m);
    if (strcmp(r->file, "face_rfb_320") == 0) {
        load_shared(l);
    } else {
        l->path = source_path(m, tn_arena_printf(&m->arena, "examples/models/%s.onnx", r->file));
        l->in = super ? make_picture(m, r->n)
                      : from_npy(m, tn_arena_printf(&m->arena, mnist ? "%s.in" : "%s.x", r->name));
        tenon_tensor y = from_npy(m, tn_arena_printf(&m->arena,
                                                     super   ? "%s.sample"
                                                     : mnist ? "%s.out"
                                                             : "%s.y",
                                                     r->name));
        values_add(&l->want, &y);
    }
    l->in.name = r->input;
}

static void unload(loaded *l)
{
    values_free(&l->want);
    model_deinit(&l->home);
}

/* Fails the test: the row, the way it was run, what is wrong. */
static void expect(bool ok, const loaded *l, const char *way, const char *why)
{
    if (!ok)
        fail_msg("%s by %s: %s", l->row->name, way, why);
}

static void expect_near(const loaded *l, const values *have, const char *way)
{
    char why[RUN_TEXT];
    expect(all_near(have, &l->want, l->step, why), l, way, why);
}

static void expect_bits(const loaded *l, const values *a, const values *b, const char *way)
{
    char why[RUN_TEXT];
    expect(same_bits(a, b, why), l, way, why);
}

/* ---- the ways ---- */

static void interpreted(const loaded *l, const char *stage, values *out)
{
    char why[RUN_TEXT];
    tenon_options o = {.size = sizeof(tenon_options), .opt_level = 3};
    expect(run_interpreter(l->path, &o, stage, 1, &l->in, out, why), l, stage, why);
    expect_near(l, out, stage);
}

static tnr_module *compiled(const loaded *l, const char *target, const char *shapes)
{
    char why[RUN_TEXT];
    tnr_module *m = NULL;
    tenon_options o = {
        .size = sizeof(tenon_options), .target = target, .input_shapes = shapes, .opt_level = 3};
    expect(run_compile(l->path, &o, &m, why), l, target, why);
    return m;
}

static void executed(const loaded *l, tnr_module *m, int executor, int threads, values *out)
{
    char why[RUN_TEXT];
    const char *way = tnr_module_target(m);
    expect(run_module(m, executor, threads, 1, &l->in, out, why), l, way, why);
    expect_near(l, out, way);
}

/* One module by all its executors, with one thread and two: the same bits. The result is left in `out`. */
static void by_executors(const loaded *l, tnr_module *m, values *out)
{
    executed(l, m, TNR_EXECUTOR_AOT, 1, out);
    for (int executor = TNR_EXECUTOR_AOT; executor <= TNR_EXECUTOR_GRAPH; executor++)
        for (int threads = 1; threads <= 2; threads++) {
            values again;
            if (!tnr_module_has_executor(m, executor))
                continue;
            executed(l, m, executor, threads, &again);
            expect_bits(l, &again, out, executor == TNR_EXECUTOR_AOT ? "aot again" : "graph against aot");
            values_free(&again);
        }
}

/* LLVM and C packages, symbolic or static, give the same bits. */
static void by_targets(const row *const r[], int n, bool is_static)
{
    tnr_module *llvm = NULL, *c = NULL;
    for (int i = 0; i < n; i++) {
        loaded l;
        values a, b;
        load(&l, r[i]);
        if (i == 0) {
            llvm = compiled(&l, "llvm", is_static ? r[i]->shapes : NULL);
            c = compiled(&l, "c", is_static ? r[i]->shapes : NULL);
            bool graph = is_static || r[i]->n == 0;
            assert_int_equal(tnr_module_has_executor(llvm, TNR_EXECUTOR_GRAPH), graph);
            assert_int_equal(tnr_module_has_executor(c, TNR_EXECUTOR_GRAPH), graph);
        }
        by_executors(&l, llvm, &a);
        by_executors(&l, c, &b);
        expect_bits(&l, &b, &a, "c against llvm");
        values_free(&a);
        values_free(&b);
        unload(&l);
    }
    tnr_module_release(llvm);
    tnr_module_release(c);
}

static const row *row_of(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void relay_and_tir(const char *name, bool relay, bool blocks)
{
    loaded l;
    values out;
    load(&l, row_of(name));
    static const char *const stages[] = {"relay", "tir", "tir-scheduled"};
    for (int i = relay ? 0 : 1; i < (blocks ? 3 : 1); i++) {
        interpreted(&l, stages[i], &out);
        values_free(&out);
    }
    unload(&l);
}

/* The interpreter on flat TIR against the LLVM package of the same program: the same bits. */
static void flat_equals_llvm(const char *name)
{
    loaded l;
    values a, b;
    load(&l, row_of(name));
    tnr_module *m = compiled(&l, "llvm", NULL);
    interpreted(&l, "flat", &a);
    executed(&l, m, TNR_EXECUTOR_AOT, 1, &b);
    expect_bits(&l, &b, &a, "llvm against flat");
    tnr_module_release(m);
    values_free(&a);
    values_free(&b);
    unload(&l);
}

/* ---- the tests ---- */

static void all_stages(const char *name)
{
    relay_and_tir(name, true, true);
    flat_equals_llvm(name);
}

static void dense_stages(void **state)
{
    (void)state;
    all_stages("dense.n1");
    all_stages("dense.n2");
    all_stages("dense.n7");
}

static void dense_packages(void **state)
{
    (void)state;
    const row *const r[] = {row_of("dense.n1"), row_of("dense.n2"), row_of("dense.n7")};
    by_targets(r, 3, false);
    for (int i = 0; i < 3; i++)
        by_targets(&r[i], 1, true);
}

static void mnist_stages(void **state)
{
    (void)state;
    all_stages("mnist_cntk");
}

static void one_static(const char *name)
{
    const row *const r[] = {row_of(name)};
    by_targets(r, 1, true);
}

static void mnist_packages(void **state)
{
    (void)state;
    one_static("mnist_cntk");
}

static void super_relay(void **state)
{
    (void)state;
    relay_and_tir("super_resolution.n1", true, false);
    if (getenv("TENON_SLOW"))
        relay_and_tir("super_resolution.n2", true, false);
}

static void super_flat(void **state)
{
    (void)state;
    flat_equals_llvm("super_resolution.n1");
}

static void super_packages(void **state)
{
    (void)state;
    const row *const r[] = {row_of("super_resolution.n1"), row_of("super_resolution.n2"),
                            row_of("super_resolution.n7")};
    by_targets(r, 3, false);
}

static void super_static1(void **state)
{
    (void)state;
    one_static("super_resolution.n1");
}

static void super_static2(void **state)
{
    (void)state;
    one_static("super_resolution.n2");
}

static void super_static7(void **state)
{
    (void)state;
    one_static("super_resolution.n7");
}

static void face_stages(void **state)
{
    (void)state;
    all_stages("face_rfb_320");
}

static void face_packages(void **state)
{
    (void)state;
    one_static("face_rfb_320");
}

/* Four threads, each with instances of its own over one module: the bits of a run alone. */
enum { WORKERS = 4, RUNS = 8 };
typedef struct worker {
    pthread_t thread;
    const loaded *l;
    tnr_module *module;
    const values *want;
    int executor;
    bool ok;
    char why[RUN_TEXT];
} worker;

static void *work(void *user)
{
    worker *w = user;
    w->ok = true;
    for (int i = 0; i < RUNS && w->ok; i++) {
        values out;
        w->ok = run_module(w->module, w->executor, i % 3, 1, &w->l->in, &out, w->why) &&
                same_bits(&out, w->want, w->why);
        values_free(&out);
    }
    return NULL;
}

static void in_four_threads(const char *name)
{
    loaded l;
    values want;
    worker w[WORKERS];
    load(&l, row_of(name));
    tnr_module *m = compiled(&l, "llvm", l.row->shapes);
    executed(&l, m, TNR_EXECUTOR_AOT, 1, &want);
    for (int i = 0; i < WORKERS; i++) {
        w[i] = (worker){.l = &l, .module = m, .want = &want, .executor = i % 2};
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(w[i].thread, NULL);
    for (int i = 0; i < WORKERS; i++)
        expect(w[i].ok, &l, "one of four threads", w[i].why);
    tnr_module_release(m);
    values_free(&want);
    unload(&l);
}

static void dense_threads(void **state)
{
    (void)state;
    in_four_threads("dense.n7");
}

static void mnist_threads(void **state)
{
    (void)state;
    in_four_threads("mnist_cntk");
}

/* The stored results lie well apart from what a wrong run gives: noise of ten tolerances is seen. */
static void comparing_sees_noise(void **state)
{
    (void)state;
    loaded l;
    char why[RUN_TEXT];
    load(&l, row_of("mnist_cntk"));
    values off = {0};
    values_add(&off, &l.want.at[0]);
    assert_true(all_near(&off, &l.want, 1, why) && same_bits(&off, &l.want, why));
    double largest = 0;
    for (size_t i = 0; i < off.at[0].bytes / 4; i++)
        largest = fmax(largest, fabs(value_at(&off.at[0], i)));
    ((float *)off.at[0].data)[3] += (float)(10 * RUN_TOLERANCE * largest);
    assert_false(all_near(&off, &l.want, 1, why));
    ((float *)off.at[0].data)[3] = NAN;
    assert_false(all_near(&off, &l.want, 1, why));
    assert_false(same_bits(&off, &l.want, why));
    values_free(&off);
    unload(&l);
}

int main(int argc, char **argv)
{
    // clang-format off
    const struct CMUnitTest tests[] = {
        {"dense.stages", dense_stages, NULL, NULL, NULL},
        {"dense.packages", dense_packages, NULL, NULL, NULL},
        {"dense.threads", dense_threads, NULL, NULL, NULL},
        {"mnist.stages", mnist_stages, NULL, NULL, NULL},
        {"mnist.packages", mnist_packages, NULL, NULL, NULL},
        {"mnist.threads", mnist_threads, NULL, NULL, NULL},
        {"mnist.comparing", comparing_sees_noise, NULL, NULL, NULL},
        {"super_resolution.relay", super_relay, NULL, NULL, NULL},
        {"super_resolution.flat", super_flat, NULL, NULL, NULL},
        {"super_resolution.packages", super_packages, NULL, NULL, NULL},
        {"super_resolution.static1", super_static1, NULL, NULL, NULL},
        {"super_resolution.static2", super_static2, NULL, NULL, NULL},
        {"super_resolution.static7", super_static7, NULL, NULL, NULL},
        {"face.stages", face_stages, NULL, NULL, NULL},
        {"face.packages", face_packages, NULL, NULL, NULL},
    };
    // clang-format on
    char pattern[128];
    size_t n = argc > 1 ? strlen(argv[1]) : 0, chosen = 0;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        chosen += !n || strncmp(tests[i].name, argv[1], n) == 0;
    if (!chosen)
        return 1;
    snprintf(pattern, sizeof pattern, "%s*", argc > 1 ? argv[1] : "");
    cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
