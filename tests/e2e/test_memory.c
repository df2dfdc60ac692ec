/* Memory and threads of whole models: results computed in place have the bits of those that are not, every
 * executor gives the same bits with 1 to 8 threads, and the plan is within 1.05 of what is alive at once (or
 * proved the smallest). Random networks too, and of their dumped plans each slot: no two that are alive at
 * once share a byte, but where a result is over an operand that dies there.
 *
 * Models: those of examples/, those of the shared folder with stored inputs (skipped where it is not there).
 * Argument: the beginning of a test's name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/npz.h"
#include "e2e/run.h"
#include "e2e/random_model.h"
#include "onnx/model.h"

enum { THREADS = 8, SEEDS = RUN_SANITIZED ? 8 : 100, INPUTS = 8, SLOTS = 512 };

/* ---- one model ---- */

typedef struct {
    const char *path;
    const tenon_options *o;
    int n_in;
    const tenon_tensor *in;
} job;

static void fail_job(const job *j, const char *what, const char *why)
{
    fail_msg("%s: %s: %s", j->path, what, why);
}

/* Compiled as the options say; the plan is looked at. */
static tnr_module *compile(const job *j, bool in_place)
{
    char path[64], why[RUN_TEXT];
    tnr_module *m = NULL;
    tnr_error err;
    tenon_report r = {.size = sizeof r};
    tenon *t;
    tenon_options o = *j->o;
    o.no_in_place = !in_place;
    snprintf(path, sizeof path, "memory-%d.tar", (int)getpid());
    tenon_module *read = run_read(&t, j->path, &o, why);
    if (tenon_build(read, &o, path, &r)) {
        run_fail(why, "%.900s", tenon_messages(t));
        fail_job(j, "compile", why);
    }
    if (!r.plan_smallest && (double)r.plan_bytes > 1.05 * (double)r.alive_bytes)
        fail_msg("%s: the plan takes %llu bytes, %llu are alive at once", j->path,
                 (unsigned long long)r.plan_bytes, (unsigned long long)r.alive_bytes);
    tenon_free(t);
    if (tnr_module_open(path, NULL, &m, &err))
        fail_job(j, "open", err.message);
    unlink(path);
    return m;
}

static void same_with(const job *j, tnr_module *m, int executor, int threads, const values *want,
                      const char *what)
{
    char why[RUN_TEXT], text[64];
    values have;
    tnr_error err;
    snprintf(text, sizeof text, "%s, %d threads", what, threads);
    if (tnr_threads_set(threads, &err))
        fail_job(j, text, err.message);
    if (!run_module(m, executor, 0, j->n_in, j->in, &have, why) || !same_bits(&have, want, why))
        fail_job(j, text, why);
    values_free(&have);
}

/* The bytes that a run takes, as the executor says. */
static uint64_t peak_of(const job *j, tnr_module *m, int executor)
{
    tnr_instance *inst;
    tnr_error err = {0};
    uint64_t bytes = 0;
    tnr_status status = tnr_instance_new(m, &(tnr_instance_options){.executor = executor}, &inst, &err);
    if (!status)
        status = tnr_peak_bytes(inst, &bytes, &err);
    if (status)
        fail_job(j, "peak", err.message);
    tnr_instance_free(inst);
    return bytes;
}

static void check(const job *j)
{
    char why[RUN_TEXT];
    values want;
    tnr_module *m = compile(j, true), *apart = compile(j, false);
    if (!run_module(m, TNR_EXECUTOR_AOT, 1, j->n_in, j->in, &want, why))
        fail_job(j, "run", why);
    for (int n = 1; n <= THREADS; n++) {
        same_with(j, m, TNR_EXECUTOR_AOT, n, &want, "aot");
        if (tnr_module_has_executor(m, TNR_EXECUTOR_GRAPH))
            same_with(j, m, TNR_EXECUTOR_GRAPH, n, &want, "graph");
    }
    if (tnr_module_has_executor(m, TNR_EXECUTOR_GRAPH) &&
        peak_of(j, m, TNR_EXECUTOR_GRAPH) != peak_of(j, m, TNR_EXECUTOR_AOT))
        fail_job(j, "peak", "the graph executor's is not that of the program");
    same_with(j, apart, TNR_EXECUTOR_AOT, 2, &want, "not in place");
    values_free(&want);
    tnr_module_release(m);
    tnr_module_release(apart);
}

/* ---- models in files ---- */

static void fill(tenon_tensor *t, tn_arena *a, uint64_t seed)
{
    tn_rng r = {seed};
    t->bytes = 4;
    for (int d = 0; d < t->ndim; d++)
        t->bytes *= (size_t)t->shape[d];
    float *x = tn_arena_alloc(a, t->bytes, 64);
    for (size_t i = 0; i < t->bytes / 4; i++)
        x[i] = (float)(2 * tn_rng_unit(&r) - 1);
    t->data = x;
    t->code = 2;
    t->bits = 32;
}

static void example(const char *file, tenon_tensor in)
{
    model m;
    tenon_options o = {.size = sizeof(tenon_options), .opt_level = 3};
    model_init(&m);
    fill(&in, &m.arena, 7);
    check(&(job){source_path(&m, tn_arena_printf(&m.arena, "examples/models/%s.onnx", file)), &o, 1, &in});
    model_deinit(&m);
}

static void examples(void **state)
{
    (void)state;
    example("dense", (tenon_tensor){.name = "x", .ndim = 2, .shape = {3, 64}});
    example("mnist_cntk", (tenon_tensor){.name = "Input3", .ndim = 4, .shape = {1, 1, 28, 28}});
    example("super_resolution", (tenon_tensor){.name = "input", .ndim = 4, .shape = {1, 1, 224, 224}});
}

/* A model with its inputs in name.in.npz; shapes: for the import, or NULL. */
static void shared(const char *name, const char *shapes)
{
    model m;
    tenon_options o = {.size = sizeof(tenon_options), .opt_level = 3, .input_shapes = shapes};
    tenon_tensor in[INPUTS];
    int n = 0;
    tn_npz *z;
    model_init(&m);
    const char *folder = getenv("TENON_SHARED_MODELS");
    const char *stem = folder ? tn_arena_printf(&m.arena, "%s/onnx/%s", folder, name)
                              : source_path(&m, tn_arena_printf(&m.arena, "../shared/models/onnx/%s", name));
    const char *path = tn_arena_printf(&m.arena, "%s.onnx", stem);
    if (access(path, R_OK) != 0 || tn_npz_open(tn_arena_printf(&m.arena, "%s.in.npz", stem), &z)) {
        print_message("skipped: %s is not there\n", path);
        model_deinit(&m);
        skip();
    }
    for (; n < tn_npz_count(z) && n < INPUTS; n++) {
        const tn_array *e = tn_npz_at(z, n);
        in[n] = (tenon_tensor){.name = tn_arena_strdup(&m.arena, e->name),
                               .code = e->type.code,
                               .bits = e->type.bits,
                               .ndim = e->type.ndim,
                               .bytes = e->type.data_bytes};
        for (int d = 0; d < in[n].ndim; d++)
            in[n].shape[d] = e->type.shape[d];
        assert_int_equal(tn_npz_read(z, n, &in[n].data), 0);
    }
    tn_npz_free(z);
    check(&(job){path, &o, n, in});
    while (n-- > 0)
        free(in[n].data);
    model_deinit(&m);
}

#define SHARED(name, shapes) \
    static void name(void **state) \
    { \
        (void)state; \
        shared(#name, shapes); \
    }
SHARED(face_rfb_320, NULL)
SHARED(gtcrn_simple, NULL)
SHARED(dtln_1, NULL)
SHARED(dtln_2, NULL)
SHARED(magika, NULL)
SHARED(silero_vad, "input:[1,576] state:[2,1,128]")
SHARED(squeezenet_fp16, NULL)
SHARED(yunet_n_320, NULL)
SHARED(yolox_nano, NULL)
SHARED(basic_pitch, NULL)
SHARED(style_candy, NULL)

/* ---- dumped plans ---- */

typedef struct {
    long long bytes, at, over, first, last;
    bool temporary;
} slot;

static bool read_slot(const char *line, slot s[SLOTS])
{
    unsigned i;
    long long at, over, bytes;
    char kind[16];
    if (sscanf(line, "slot %u %15s %lld at %lld over slot %lld", &i, kind, &bytes, &at, &over) == 5 &&
        i < SLOTS)
        s[i] = (slot){bytes, at, over, -1, -1, true};
    else if (sscanf(line, "slot %u %15s %lld at %lld", &i, kind, &bytes, &at) == 4 && i < SLOTS)
        s[i] = (slot){bytes, at, -1, -1, -1, true};
    return true;
}

static void read_inst(const char *line, slot s[SLOTS])
{
    char rest[1024];
    long long at;
    int k, used = 0;
    if (sscanf(line, "inst %lld call %*s %1023[^\n]", &at, rest) != 2)
        return;
    for (const char *p = rest; sscanf(p, "%d%n", &k, &used) == 1; p += used) {
        if (k < 0 || k >= SLOTS)
            continue;
        s[k].first = s[k].first < 0 ? at : s[k].first;
        s[k].last = at;
    }
}

static void check_dump(const char *text, uint64_t seed)
{
    static slot s[SLOTS];
    memset(s, 0, sizeof s);
    for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
        read_slot(p, s);
        read_inst(p, s);
    }
    for (int a = 0; a < SLOTS; a++)
        for (int b = 0; b < SLOTS; b++) {
            if (a == b || !s[a].temporary || !s[b].temporary || s[a].first < 0 || s[b].first < 0)
                continue;
            bool together = s[a].first <= s[b].last && s[b].first <= s[a].last;
            bool share = s[a].at < s[b].at + s[b].bytes && s[b].at < s[a].at + s[a].bytes;
            bool over = (s[a].over == b && s[a].first == s[b].last && s[a].bytes == s[b].bytes) ||
                        (s[b].over == a && s[b].first == s[a].last && s[a].bytes == s[b].bytes);
            if (together && share && !over)
                fail_msg("seed %d: slots %d and %d share memory:\n%s", (int)seed, a, b, text);
            if (s[a].over == b && (!over || s[a].at != s[b].at))
                fail_msg("seed %d: slot %d is not where %d was:\n%s", (int)seed, a, b, text);
        }
}

static void random_networks(void **state)
{
    int n_over = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        model m;
        random_model g;
        char path[64], why[RUN_TEXT];
        tn_rng r = {seed};
        /* each operator a kernel: more in place */
        static const char *const alone[] = {"relay.FuseOps.max_depth=1", NULL};
        tenon_options o = {
            .size = sizeof(tenon_options), .opt_level = 3, .pass_config = seed % 4 ? alone : NULL};
        const char *text;
        tenon *t;
        model_init(&m);
        snprintf(path, sizeof path, "memory-%d.onnx", (int)getpid());
        random_model_make(&g, seed, "3");
        tn_buf bytes = write_model(tn_buf_cstr(&g.text));
        assert_int_equal(tn_file_write(&m.ctx, path, bytes.at, bytes.n), TN_OK);
        tenon_module *module = run_read(&t, path, &o, why);
        assert_int_equal(tenon_module_dump(module, &o, "memory", &text, NULL, NULL), 0);
        check_dump(text, seed);
        for (const char *p = strstr(text, " over slot"); p; p = strstr(p + 1, " over slot"))
            n_over++;
        tenon_free(t);
        if (seed % 4 < 2) {
            tenon_tensor in = {.name = "v0", .ndim = g.value[0].ndim, .shape = {3}};
            for (int d = 1; d < in.ndim; d++)
                in.shape[d] = g.value[0].dim[d];
            fill(&in, &m.arena, tn_rng_next(&r));
            check(&(job){path, &o, 1, &in});
        }
        unlink(path);
        tn_buf_deinit(&bytes);
        tn_buf_deinit(&g.text);
        model_deinit(&m);
    }
    print_message("%d results over operands\n", n_over);
    assert_true(n_over > SEEDS / 8);
}

int main(int argc, char **argv)
{
    // clang-format off
    const struct CMUnitTest tests[] = {
        {"examples", examples, NULL, NULL, NULL},
        {"random", random_networks, NULL, NULL, NULL},
        {"shared.face_rfb_320", face_rfb_320, NULL, NULL, NULL},
        {"shared.gtcrn_simple", gtcrn_simple, NULL, NULL, NULL},
        {"shared.dtln_1", dtln_1, NULL, NULL, NULL},
        {"shared.dtln_2", dtln_2, NULL, NULL, NULL},
        {"shared.magika", magika, NULL, NULL, NULL},
        {"shared.silero_vad", silero_vad, NULL, NULL, NULL},
        {"shared.squeezenet_fp16", squeezenet_fp16, NULL, NULL, NULL},
        {"shared.yunet_n_320", yunet_n_320, NULL, NULL, NULL},
        {"shared.yolox_nano", yolox_nano, NULL, NULL, NULL},
        {"shared.basic_pitch", basic_pitch, NULL, NULL, NULL},
        {"shared.style_candy", style_candy, NULL, NULL, NULL},
    };
    // clang-format on
    char pattern[128];
    snprintf(pattern, sizeof pattern, "%s*", argc > 1 ? argv[1] : "");
    cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
