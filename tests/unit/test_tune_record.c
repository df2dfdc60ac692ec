/* tune/record: lines of records, and the best of each workload. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "tune/record.h"

#include <string.h>

static const tn_record one = {.workload = 0x0123456789abcdef,
                              .machine = "x86_64 l1=32768 l2=1048576 avx2",
                              .threads = 1,
                              .trials = 64,
                              .seconds = 1.25e-5,
                              .built_in = 2e-5,
                              .operations = 4194304,
                              .name = "a \"name\"",
                              .generator = "rules",
                              .version = 1,
                              .picks = "rule = gemm\ndense.rows = 14\n",
                              .trace = "i j = loops \"dense\"\n"};

static void lines_read_back(void **state)
{
    (void)state;
    tn_records r;
    tn_buf text = {0}, again = {0};
    uint32_t line;
    tn_records_init(&r);
    tn_record_print(&one, &text);
    tn_record_print(&one, &text);
    assert_null(tn_records_parse(&r, text.at, text.n, NULL, &line));
    assert_int_equal(r.all.n, 2);
    tn_record_print(&r.all.at[0], &again);
    tn_record_print(&r.all.at[1], &again);
    assert_string_equal(again.at, text.at);
    tn_buf_deinit(&text);
    tn_buf_deinit(&again);
    tn_records_deinit(&r);
}

static void the_fastest_of_a_machine_counts(void **state)
{
    (void)state;
    tn_records r;
    tn_record x = one;
    tn_records_init(&r);
    tn_records_add(&r, &x);
    x.seconds = 1e-5;
    x.trace = "faster";
    tn_records_add(&r, &x);
    x.seconds = 1.1e-5;
    x.trace = "between";
    tn_records_add(&r, &x);
    x.machine = "another";
    x.seconds = 1e-6;
    x.trace = "elsewhere";
    tn_records_add(&r, &x);
    x = one;
    x.threads = 2;
    x.seconds = 8e-6;
    x.trace = "two threads";
    tn_records_add(&r, &x);
    assert_string_equal(tn_records_find(&r, one.workload, one.machine, 1)->trace, "faster");
    assert_string_equal(tn_records_find(&r, one.workload, one.machine, 2)->trace, "two threads");
    assert_string_equal(tn_records_find(&r, one.workload, one.machine, 0)->trace, "two threads");
    assert_string_equal(tn_records_find(&r, one.workload, "another", 1)->trace, "elsewhere");
    assert_null(tn_records_find(&r, one.workload, "a third", 0));
    assert_null(tn_records_find(&r, 1, one.machine, 0));
    tn_records_deinit(&r);
}

static void what_is_wrong_with_a_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
        uint32_t line;
    } wrong[] = {
        {"{}\n", "\"tenon\" is missing", 1},
        {"\n1\n", "\"tenon\" is missing", 2},
        {"{\"input\": [], \"record\": {}}\n", "\"tenon\" is missing", 1},
        {"{\"input\": [], \"record\": {\"tenon\": 1}}\n", "16 hexadecimal digits", 1},
        {"{\"model\": 1", "", 1}, /* of somebody else, without an end */
        {"[1, 2", "", 1},
        {"{\"tenon\": 1, \"workload\": \"12\"}\n", "16 hexadecimal digits", 1},
        {"{\"tenon\": 1, \"workload\": \"000000000000000g\"}\n", "16 hexadecimal digits", 1},
        {"{\"tenon\": 1, \"workload\": \"0000000000000001\"}\n", "one of the texts", 1},
        {"{\"tenon\": 1, \"workload\": \"0000000000000001\", \"machine\": \"m\", \"name\": \"n\", "
         "\"generator\": \"g\", "
         "\"picks\": \"\", \"trace\": \"\", \"seconds\": 0, \"default\": 1, \"operations\": 1}\n",
         "one of the numbers", 1},
        {"{\"tenon\": 1, \"workload\": \"0000000000000001\", \"machine\": \"m\", \"name\": \"n\", "
         "\"generator\": \"g\", "
         "\"picks\": \"\", \"trace\": \"\", \"seconds\": 1, \"default\": 1, \"operations\": 1, \"threads\": "
         "1.5, "
         "\"trials\": 1, \"version\": 1}\n",
         "one of the whole numbers", 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_records r;
        uint32_t line;
        tn_records_init(&r);
        const char *why = tn_records_parse(&r, wrong[i].text, strlen(wrong[i].text), NULL, &line);
        assert_non_null(why);
        assert_non_null(strstr(why, wrong[i].why));
        assert_int_equal(line, wrong[i].line);
        assert_int_equal(r.all.n, 0);
        tn_records_deinit(&r);
    }
}

/* A file whose writer was killed has every line but the last; one of a later version has lines of both. */
static void cut_lines_and_later_ones_are_passed_over(void **state)
{
    (void)state;
    tn_buf text = {0};
    uint32_t line;
    tn_buf_str(&text, "{\"tenon\": 2, \"anything\": []}\n{\"ten\n{\"tenon\": 1, \"workl\n{\"input\": "
                      "[\"llvm\", \"con\n{\"in\n");
    tn_record_print(&one, &text);
    size_t whole = text.n;
    tn_record_print(&one, &text);
    for (size_t n = whole; n < text.n; n++) {
        tn_records r;
        tn_records_init(&r);
        assert_null(tn_records_parse(&r, text.at, n, NULL, &line));
        assert_int_equal(r.all.n, 1 + (n + 1 == text.n)); /* the end alone is missing */
        assert_int_equal(r.later.n, 1);
        tn_records_deinit(&r);
    }
    tn_buf_deinit(&text);
}

/* A log of AutoTVM: of Tenon's lines those with a record count, those of TVM are counted. */
static void lines_of_logs(void **state)
{
    (void)state;
    tn_records r;
    tn_buf text = {0};
    uint32_t line;
    tn_records_init(&r);
    tn_buf_str(&text, "{\"input\": [], \"result\": [], \"tvm_version\": \"tenon 0.1.0\"}\n"
                      "{\"input\": [], \"result\": [], \"version\": 0.2, \"record\": ");
    tn_record_print(&one, &text);
    text.n--; /* its end */
    tn_buf_str(&text, "}\n{\"input\": [], \"tvm_version\": \"0.8\"}\n{\"i\": []}\n[1]\n"
                      "{\"input\": [], \"record\": {\"tenon\": 2}}\n");
    assert_null(tn_records_parse(&r, text.at, text.n, one.machine, &line));
    assert_int_equal(r.all.n, 1);
    assert_string_equal(r.all.at[0].trace, one.trace);
    assert_memory_equal(r.all.at[0].line, "{\"input\"", 8); /* as it stands in the file */
    assert_int_equal(r.later.n, 5);
    assert_int_equal(r.n_foreign, 3);
    assert_int_equal(r.foreign, 3);
    tn_buf_deinit(&text);
    tn_records_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_read_back),
        cmocka_unit_test(lines_of_logs),
        cmocka_unit_test(the_fastest_of_a_machine_counts),
        cmocka_unit_test(what_is_wrong_with_a_line),
        cmocka_unit_test(cut_lines_and_later_ones_are_passed_over),
    };
    return cmocka_run_group_tests_name("tune_record", tests, NULL, NULL);
}
