/* Packages: the same input gives the same bytes, SOURCE_DATE_EPOCH is all that dates them, the parameters read
 * back as they were; and the text of targets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/wire/json.h"
#include "base/wire/tar.h"
#include "driver/driver.h"
#include "tenon/runtime.h"
#include "tenon/tenon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char model[] =
    "#[version = \"0.0.5\"]\n#[outputs = [\"p\\nq\"]]\n"
    "#[model = [\"producer_name\", \"a maker\"]]\n#[model = [\"metadata_props.k\", \"v\\n\\\"w\"]]\n"
    "def @main(%x: Tensor[(3, 4), float32]) -> Tensor[(3, 2), float32] {\n"
    "  %0 = nn.dense(%x, meta[relay.Constant][0] /* w (2, 4) */, units=2);\n"
    "  nn.relu(add(%0, 0.5f))\n}\n";

static char path_text[64], path_params[80], path_out[64];

/* A mod.params blob of one float32 tensor, (2, 4). */
static void write_inputs(tn_ctx *ctx)
{
    tn_buf b = {0};
    float w[8];
    for (int i = 0; i < 8; i++)
        w[i] = (float)i * 0.25f - 1;
    tn_buf_u64le(&b, 0xF7E58D4F05049CB7u);
    tn_buf_u64le(&b, 0);
    tn_buf_u64le(&b, 1);
    tn_buf_u64le(&b, 16);
    tn_buf_str(&b, "relay.Constant.0");
    tn_buf_u64le(&b, 1);
    tn_buf_u64le(&b, 0xDD5E40F096B4A13Fu);
    tn_buf_u64le(&b, 0);
    tn_buf_u32le(&b, 1);
    tn_buf_u32le(&b, 0);
    tn_buf_u32le(&b, 2);
    tn_buf_add(&b, "\2\40\1\0", 4);
    tn_buf_u64le(&b, 2);
    tn_buf_u64le(&b, 4);
    tn_buf_u64le(&b, sizeof w);
    tn_buf_add(&b, w, sizeof w);
    assert_int_equal(tn_file_write(ctx, path_params, b.at, b.n), TN_OK);
    assert_int_equal(tn_file_write(ctx, path_text, model, sizeof model - 1), TN_OK);
    tn_buf_deinit(&b);
}

static tn_buf compiled_at(const char *target, int level)
{
    tenon *t = tenon_new();
    tenon_options o = {.size = sizeof(tenon_options), .target = target, .opt_level = level};
    tn_ctx ctx;
    tn_file f;
    tn_buf out = {0};
    if (tenon_build(tenon_module_read(t, path_text, NULL), &o, path_out, NULL) != 0)
        fail_msg("%s", tenon_messages(t));
    tn_ctx_init(&ctx);
    assert_int_equal(tn_file_map(&ctx, path_out, &f), TN_OK);
    tn_buf_add(&out, f.at, f.n);
    tn_file_unmap(&f);
    unlink(path_out);
    tn_ctx_deinit(&ctx);
    tenon_free(t);
    return out;
}

static int enter(void **state)
{
    tn_ctx ctx;
    (void)state;
    snprintf(path_text, sizeof path_text, "./driver-%d.relay", (int)getpid());
    snprintf(path_params, sizeof path_params, "%s.params", path_text);
    snprintf(path_out, sizeof path_out, "./driver-%d.tar", (int)getpid());
    tn_ctx_init(&ctx);
    write_inputs(&ctx);
    tn_ctx_deinit(&ctx);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    unsetenv("SOURCE_DATE_EPOCH");
    unlink(path_text);
    unlink(path_params);
    return 0;
}

static tn_buf compiled(const char *target) { return compiled_at(target, 3); }

static bool equal(const tn_buf *a, const tn_buf *b)
{
    return a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
}

static void zeros_are_the_defaults(void **state)
{
    (void)state;
    tn_buf zero = compiled_at(NULL, 0), three = compiled_at("llvm", 3), none = compiled_at("llvm", TENON_O0);
    assert_true(equal(&zero, &three));
    assert_false(equal(&zero, &none));
    tn_buf_deinit(&zero);
    tn_buf_deinit(&three);
    tn_buf_deinit(&none);
}

static void bytes_are_reproducible(void **state)
{
    static const char *const target[] = {"llvm", "c"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        unsetenv("SOURCE_DATE_EPOCH");
        tn_buf a = compiled(target[i]), b = compiled(target[i]);
        setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
        tn_buf c = compiled(target[i]), d = compiled(target[i]);
        assert_true(equal(&a, &b));
        assert_true(equal(&c, &d));
        assert_int_equal(a.n, c.n);
        assert_false(equal(&a, &c));
        assert_non_null(memmem(c.at, 512, "14524770400", 11)); /* the time in octal, in the first header */
        tn_buf_deinit(&a);
        tn_buf_deinit(&b);
        tn_buf_deinit(&c);
        tn_buf_deinit(&d);
    }
}

/* Parameters are found by the names that mod.json gives their nodes; one holds the weights, in some layout. */
/* The model's names, and what it says of itself. */
static void check_description(const tnr_module *m)
{
    tnr_tensor_info info;
    tnr_error err;
    const char *key, *value;
    assert_int_equal(tnr_output_info(m, 0, &info, &err), 0);
    assert_string_equal(info.name, "p\nq");
    assert_int_equal(tnr_output_find(m, "p\nq"), 0);
    assert_int_equal(tnr_output_find(m, "output_0"), 0);
    static const char *const none[] = {
        "output_1", "output_", "output_00", "output_0x", "output_4294967296", "output_99999999999999999999",
        "p",        ""};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(tnr_output_find(m, none[i]), -1);
    assert_int_equal(tnr_metadata_count(m), 2);
    assert_int_equal(tnr_metadata_at(m, 1, &key, &value, &err), 0);
    assert_string_equal(key, "metadata_props.k");
    assert_string_equal(value, "v\n\"w");
    assert_string_equal(tnr_metadata(m, "producer_name"), "a maker");
    assert_null(tnr_metadata(m, "domain"));
    assert_int_equal(tnr_metadata_at(m, 2, &key, &value, &err), TNR_E_ARG);
}

static void a_package_reads_back(void **state)
{
    tnr_module *m = NULL;
    tnr_error err = {0};
    tn_ctx ctx;
    (void)state;
    unsetenv("SOURCE_DATE_EPOCH");
    tn_buf a = compiled("llvm");
    tn_ctx_init(&ctx);
    assert_int_equal(tn_file_write(&ctx, path_out, a.at, a.n), TN_OK);
    if (tnr_module_open(path_out, NULL, &m, &err) != 0)
        fail_msg("%s", err.message);
    unlink(path_out);
    const tnr_params *p = tnr_module_params(m);
    double sum = 0;
    size_t weights = 0;
    for (uint32_t i = 0; i < tnr_params_count(p); i++) {
        const char *name;
        DLTensor v, same;
        assert_int_equal(tnr_params_at(p, i, &name, &v, &err), 0);
        assert_int_equal(tnr_params_find(p, name, &same, &err), 0);
        assert_ptr_equal(v.data, same.data);
        assert_int_equal((uintptr_t)v.data % 64, 0);
        assert_non_null(memmem(a.at, a.n, name, strlen(name)));
        size_t n = 1;
        for (int d = 0; d < v.ndim; d++)
            n *= (size_t)v.shape[d];
        for (size_t k = 0; k < n && v.dtype.code == 2 && v.dtype.bits == 32; k++)
            sum += (double)((const float *)v.data)[k];
        weights += n;
    }
    assert_true(weights >= 8);                                   /* a layout may pad, with zeros */
    assert_true(sum == -1);                                      /* of i/4 - 1 for i < 8 */
    assert_true(tnr_module_has_executor(m, TNR_EXECUTOR_GRAPH)); /* mod.json was read */
    check_description(m);
    tnr_module_release(m);
    tn_buf_deinit(&a);
    tn_ctx_deinit(&ctx);
}

/* Options that are 0 are the defaults: level 3. Level 0, with which each operator is a kernel, has a name. */
static void zero_is_the_default(void **state)
{
    (void)state;
    uint32_t kernels[3];
    static const int level[3] = {0, 3, TENON_O0};
    for (int i = 0; i < 3; i++) {
        tenon_report r = {.size = sizeof r};
        tenon *t = tenon_new();
        tenon_options o = {.size = sizeof(tenon_options), .opt_level = level[i]};
        if (tenon_build(tenon_module_read(t, path_text, NULL), i ? &o : NULL, "./zero.tar", &r))
            fail_msg("%s", tenon_messages(t));
        kernels[i] = r.kernels;
        tenon_free(t);
    }
    unlink("./zero.tar");
    assert_int_equal(kernels[0], kernels[1]);
    assert_true(kernels[2] > kernels[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_are_the_defaults),
        cmocka_unit_test(bytes_are_reproducible),
        cmocka_unit_test(a_package_reads_back),
        cmocka_unit_test(zero_is_the_default),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
