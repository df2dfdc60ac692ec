/* Real models: they import, verify and (the small ones) give the expected numbers in the interpreter. Models
 * that are not in the tree are looked for in TENON_SHARED_MODELS, then in ../shared/models beside the tree;
 * else the test says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

#include <unistd.h>

static void read_example(model *m, const char *name)
{
    model_init(m);
    if (model_read(m, source_path(m, tn_arena_printf(&m->arena, "examples/models/%s", name)), NULL) != TN_OK)
        fail_msg("%s", model_errors(m));
}

static void run_and_compare(model *m, const tn_tensor_value *in, const tn_tensor_value *want)
{
    tn_tensor_value have;
    if (tn_relay_run(&m->g, 1, in, 1, &have, tn_eval_interp, NULL) != TN_OK)
        fail_msg("%s", model_errors(m));
    const char *wrong = differs(m, &have, want, 1e-4, 1e-4);
    tn_tensor_value_deinit(&have);
    if (wrong)
        fail_msg("%s", wrong);
}

static tn_tensor_value expected(model *m, const char *name)
{
    return read_npy(m, source_path(m, tn_arena_printf(&m->arena, "tests/onnx/expected/%s.npy", name)));
}

static void dense_gives_the_expected_numbers(void **state)
{
    (void)state;
    model m;
    read_example(&m, "dense.onnx");
    assert_non_null(strstr(
        model_text(&m),
        "def @main(%x: Tensor[(n, 64), float32] /* graph input */) -> Tensor[(n, 256), float32] {\n"
        "  %0 = nn.dense(%x, meta[relay.Constant][0] /* fc.weight (256, 64) */, units=256) /* Gemm_0 */;\n"
        "  %1 = nn.bias_add(%0, meta[relay.Constant][1] /* fc.bias (256) */) /* Gemm_0 */;\n"
        "  nn.relu(%1) /* Relu_1 */\n"
        "}\n"));
    for (int i = 0; i < 3; i++) {
        int n = (const int[]){1, 2, 7}[i];
        tn_tensor_value x = expected(&m, tn_arena_printf(&m.arena, "dense.n%d.x", n));
        tn_tensor_value y = expected(&m, tn_arena_printf(&m.arena, "dense.n%d.y", n));
        assert_int_equal(x.dim[0], n);
        run_and_compare(&m, &x, &y);
    }
    model_deinit(&m);
}

static void mnist_gives_the_expected_numbers(void **state)
{
    (void)state;
    model m;
    read_example(&m, "mnist_cntk.onnx");
    tn_tensor_value x = expected(&m, "mnist_cntk.in"), y = expected(&m, "mnist_cntk.out");
    run_and_compare(&m, &x, &y);
    model_deinit(&m);
}

/* The weights stay in the mapped file: the module takes little memory of its own. */
static void super_resolution_has_a_symbolic_batch(void **state)
{
    (void)state;
    model m;
    read_example(&m, "super_resolution.onnx");
    const char *text = model_text(&m);
    assert_non_null(strstr(text,
                           "def @main(%input: Tensor[(batch_size, 1, 224, 224), float32] /* graph input */)"
                           " -> Tensor[(batch_size, 1, 672, 672), float32] {"));
    assert_non_null(strstr(text, "newshape=[batch_size, 1, 3, 3, 224, 224]"));
    assert_int_equal(m.g.blob.n, 0);
    assert_true(m.arena.used_bytes < 64 << 10);
    model_deinit(&m);
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)) != NULL; text++)
        n++;
    return n;
}

static void face_detector_is_read(void **state)
{
    (void)state;
    model m;
    model_init(&m);
    const char *shared = getenv("TENON_SHARED_MODELS");
    const char *path = shared ? tn_arena_printf(&m.arena, "%s/onnx/face_rfb_320.onnx", shared)
                              : source_path(&m, "../shared/models/onnx/face_rfb_320.onnx");
    if (access(path, R_OK) != 0) {
        print_message("skipped: %s is not there; TENON_SHARED_MODELS names the folder of shared models\n",
                      path);
        model_deinit(&m);
        skip();
    }
    if (model_read(&m, path, NULL) != TN_OK)
        fail_msg("%s", model_errors(&m));
    const char *text = model_text(&m);
    assert_non_null(strstr(text, ") -> (Tensor[(1, 4420, 2), float32], Tensor[(1, 4420, 4), float32]) {"));
    assert_int_equal(count(text, "nn.conv2d("), 52);
    assert_int_equal(count(text, "nn.batch_norm("), 35);
    assert_int_equal(count(text, "reshape("), 8);
    assert_int_equal(count(text, "shape_of("), 0); /* shape arithmetic is gone */
    model_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_gives_the_expected_numbers),
        cmocka_unit_test(mnist_gives_the_expected_numbers),
        cmocka_unit_test(super_resolution_has_a_symbolic_batch),
        cmocka_unit_test(face_detector_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
