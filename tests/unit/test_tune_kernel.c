/* Searches over a kernel by itself (tenon/tune.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "tenon/te.h"
#include "tenon/tune.h"
#include "tune/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char by_hand[] = "i j r = loops \"out\"\nreorder i r j\n";

/* c[i, j] = sum of a[i, r] * b[r, j] */
static tenon_kernel *product_kernel(tenon *t)
{
    tenon_kernel *k = tenon_kernel_new(t, "product");
    tenon_te_input(k, "a", "Tensor[(24, 48), float32]");
    tenon_te_input(k, "b", "Tensor[(48, 64), float32]");
    tenon_te *x = tenon_te_new(k, "c", "Tensor[(24, 64), float32]", "i j");
    tenon_te_over(x, "r", "48");
    tenon_te_reduce(x, "sum", tenon_te_expr(x, "a[i, r] * b[r, j]", 0, NULL));
    assert_int_equal(tenon_kernel_end(k, 1, &x), 0);
    return k;
}

static void a_kernel_is_searched(void **state)
{
    (void)state;
    char path[] = "kernel.XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    for (int i = 0; i < 2; i++) {
        tenon *t = tenon_new();
        tenon_kernel *k = product_kernel(t);
        const tenon_tune_task *task;
        const tenon_tune_options o = {.size = sizeof o,
                                      .records = path,
                                      .generator = i ? "sketch" : NULL,
                                      .trials = 12,
                                      .repeat_seconds = 0.001};
        assert_int_equal(tenon_step(k, by_hand), 0);
        assert_int_equal(tenon_tune_kernel(k, NULL, &o, &task), 0);
        assert_string_equal(task->name, "product");
        assert_int_equal(task->trials, 12);
        assert_int_equal(task->calls, 1);
        assert_true(task->operations >= 2.0 * 24 * 64 * 48);
        assert_true(task->seconds > 0 && task->seconds <= task->built_in_seconds);
        assert_non_null(strstr(task->built_in, "rule gemm"));
        assert_string_equal(tenon_kernel_trace(k), by_hand); /* its steps stay */
        tenon_free(t);
    }
    unlink(path);
}

/* A record of a workload, for this machine, with steps that nothing makes by itself. */
static void write_record(const char *path, uint64_t workload)
{
    tn_ctx ctx;
    tn_machine m;
    tn_buf line = {0};
    tn_ctx_init(&ctx);
    assert_int_equal(tn_machine_detect(&ctx, &m), TN_OK);
    const tn_record r = {.workload = workload,
                         .machine = tn_record_machine(&m, &ctx.arena),
                         .threads = 1,
                         .seconds = 1e-6,
                         .built_in = 2e-6,
                         .name = "by_hand",
                         .generator = "rules",
                         .picks = "",
                         .trace = by_hand};
    tn_record_print(&r, &line);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(tn_buf_cstr(&line), f);
    fclose(f);
    tn_buf_deinit(&line);
    tn_ctx_deinit(&ctx);
}

/* A record of the kernel's workload schedules it, as it does a model's kernel. */
static void records_schedule_kernels(void **state)
{
    (void)state;
    char path[] = "kernel.XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    tenon *t = tenon_new();
    tenon_kernel *k = product_kernel(t);
    const tenon_tune_task *task;
    const tenon_tune_options o = {.size = sizeof o, .trials = 1, .repeat_seconds = 0.001};
    const tenon_options with = {.size = sizeof with, .tuning_records = path};
    assert_int_equal(tenon_tune_kernel(k, NULL, &o, &task), 0);
    uint64_t workload = task->workload;
    assert_int_equal(tenon_kernel_rule(k, &with), 0); /* there are none */
    assert_non_null(strstr(tenon_kernel_trace(k), "# rule gemm"));
    write_record(path, workload + 1);
    assert_int_equal(tenon_kernel_rule(k, &with), 0); /* of another one */
    assert_non_null(strstr(tenon_kernel_trace(k), "# rule gemm"));
    write_record(path, workload);
    assert_int_equal(tenon_kernel_rule(k, &with), 0);
    assert_non_null(strstr(tenon_kernel_trace(k), "# record by_hand: 1 us, the built-in schedule 2 us"));
    assert_non_null(strstr(tenon_kernel_trace(k), by_hand));
    assert_int_equal(tenon_kernel_rule(k, NULL), 0);
    assert_non_null(strstr(tenon_kernel_trace(k), "# rule gemm"));
    FILE *f = fopen(path, "a");
    fputs("words\n", f);
    fclose(f);
    assert_int_equal(tenon_kernel_rule(k, &with), 1);
    assert_non_null(strstr(tenon_messages(t), "[driver-E160]"));
    assert_non_null(strstr(tenon_kernel_trace(k), "# rule gemm")); /* it is as it was */
    tenon_free(t);
    unlink(path);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_is_searched),
        cmocka_unit_test(records_schedule_kernels),
    };
    return cmocka_run_group_tests_name("tune_kernel", tests, NULL, NULL);
}
