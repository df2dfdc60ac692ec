/* tune/record: lines of records, and the best of each workload. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "tune/database.h"
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
                              .trace = "i j = loops \"dense\"\n",
                              .form = 0xfedcba9876543210,
                              .sizes = "64 64 0 1"};

static void lines_read_back(void **state)
{
    (void)state;
    tn_records r;
    tn_buf text = {0}, again = {0};
    uint32_t line;
    tn_records_init(&r);
    tn_record x = one;
    x.function = "func @f() {\n\t\"a\"\n}\n";
    tn_record_print(&one, &text);
    tn_record_print(&x, &text);
    assert_null(tn_records_parse(&r, text.at, text.n, NULL, &line));
    assert_int_equal(r.all.n, 2);
    assert_null(r.all.at[0].function);
    assert_string_equal(r.all.at[1].function, x.function);
    tn_record_print(&r.all.at[0], &again);
    tn_record_print(&r.all.at[1], &again);
    assert_string_equal(again.at, text.at);
    tn_buf_deinit(&text);
    tn_buf_deinit(&again);
    tn_records_deinit(&r);
}

/* A plain line stays as it was, with what a later version has written in it; the record of a log's line is printed. */
static void lines_are_kept(void **state)
{
    (void)state;
    static const struct {
        const char *begin, *end;
        bool kept;
    } all[] = {{"", ", \"unknown\": [1]}\n", true},
               {"", ", \"unknown\":\r[1]}\n", false},
               {"{\"input\": [], \"record\": ", "}}\n", false}};
    tn_buf plain = {0};
    tn_record_print(&one, &plain);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tn_records r;
        tn_buf text = {0}, again = {0};
        uint32_t line;
        tn_records_init(&r);
        tn_buf_str(&text, all[i].begin);
        tn_buf_add(&text, plain.at, plain.n - 2);
        tn_buf_str(&text, all[i].end);
        assert_null(tn_records_parse(&r, text.at, text.n, NULL, &line));
        tn_record_print_line(&r.all.at[0], &again);
        assert_string_equal(again.at, all[i].kept ? text.at : plain.at);
        tn_buf_deinit(&text);
        tn_buf_deinit(&again);
        tn_records_deinit(&r);
    }
    tn_buf_deinit(&plain);
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
    static const char *const order[] = {"faster", "between", NULL, "twice", "twice again", "two threads"};
    x = one;
    x.seconds = 1.5e-5;
    x.trace = "twice";
    tn_records_add(&r, &x);
    x.trace = "twice again";
    tn_records_add(&r, &x);
    const tn_record *at = tn_records_find(&r, one.workload, one.machine, 1);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++, at = tn_records_next(&r, at))
        assert_string_equal(at->trace, order[i] ? order[i] : one.trace);
    assert_null(at);
    assert_null(tn_records_next(&r, tn_records_find(&r, one.workload, "another", 0)));
    tn_records_deinit(&r);
}

/* Of a workload of sizes 64 x 64: what stands in `picks` says which record it is. */
static void records_of_other_sizes_and_machines(void **state)
{
    (void)state;
    static const struct {
        uint64_t workload, form;
        const char *machine, *sizes, *picks, *generator;
        double seconds;
    } all[] = {
        {1, 7, "here", "64 64", "own", "rules", 1},        {1, 7, "there", "64 64", "there", "rules", 1},
        {2, 7, "here", "64 128", "double", "rules", 1},    {2, 7, "here", "64 128", "slower", "rules", 2},
        {3, 7, "here", "32 64", "own double", "rules", 1}, {4, 7, "there", "64 80", "both", "rules", 1},
        {5, 8, "here", "64 64", "form", "rules", 1},       {6, 7, "here", "64 64 1", "count", "rules", 1},
        {7, 7, "here", NULL, "old line", "rules", 1},      {8, 7, "here", "64 65", "sketch", "sketch", 1},
        {9, 7, "here", "64 1", "far", "rules", 1},         {10, 7, "here", "60 64", "double", "rules", 1},
    };
    static const char *const want[] = {"double", "own double", "there", "both", "far"};
    const tn_record *found[8];
    tn_records r;
    tn_records_init(&r);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tn_record x = one;
        x.workload = all[i].workload;
        x.form = all[i].form;
        x.machine = all[i].machine;
        x.sizes = all[i].sizes;
        x.picks = all[i].picks;
        x.generator = all[i].generator;
        x.seconds = all[i].seconds;
        tn_records_add(&r, &x);
    }
    tn_record like = one;
    like.workload = 1;
    like.form = 7;
    like.machine = "here";
    like.sizes = "64 64";
    assert_int_equal(tn_records_near(&r, &like, 8, found), 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(found[i]->picks, want[i]);
    assert_int_equal(found[0]->workload, 10); /* of two with these picks the nearer one */
    assert_int_equal(tn_records_near(&r, &like, 2, found), 2);
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
    tn_buf_str(&text,
               "{\"tenon\": 2, \"anything\": []}\n{\"ten\n{\"tenon\": 1, \"workl\n{\"input\": "
               "[\"llvm\", \"con\n{\"in\n{\"i\": [[\"a\n[\n[1\n[12, [[[\"lo\n[12,[[[\"lo\n[12,\n[12, \n");
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

/* AutoScheduler's: the same by other keys. */
static void lines_of_auto_scheduler(void **state)
{
    (void)state;
    tn_records r;
    tn_buf text = {0};
    uint32_t line;
    tn_records_init(&r);
    tn_buf_str(&text, "{\"i\": [[\"[]\", \"llvm\"], [[], []]], \"r\": [[1e-05], 0, 1, 1], \"v\": \"v0.6\"}\n"
                      "{\"i\": [], \"r\": [], \"v\": \"v0.6\", \"tvm_version\": \"tenon 0.1.0\"}\n"
                      "{\"i\": [], \"r\": [], \"v\": \"v0.6\", \"record\": ");
    tn_record_print(&one, &text);
    text.n--;
    tn_buf_str(&text, "}\n");
    assert_null(tn_records_parse(&r, text.at, text.n, one.machine, &line));
    assert_int_equal(r.all.n, 1);
    assert_int_equal(r.later.n, 2);
    assert_int_equal(r.n_foreign, 1);
    assert_int_equal(r.foreign, 1);
    tn_buf_deinit(&text);
    tn_records_deinit(&r);
}

static const char module[] = "func @f {\n  \"x\"\n}\n";

static tn_record of_pair(void)
{
    tn_record x = one;
    x.trace = "# a comment\ni j = loops \"den se\"  # \"a\"\n\nio _ = split i -8 tail=mask\nsqueeze\n";
    x.function = module;
    x.parameters = "[[\"TENSOR\", \"float32\", [1, 64]]]";
    return x;
}

/* The form of TVM's JSONDatabase: steps as instructions, seconds, target, parameters. */
static void lines_of_the_pair(void **state)
{
    (void)state;
    static const char begin[] = "[3, [[[[\"loops\", [\"\\\"den se\\\"\"], [], [\"i\", \"j\"]], [\"split\", "
                                "[\"i\", -8, \"tail=mask\"], [], [\"io\", "
                                "\"_\"]], [\"squeeze\", [], [], []]], []], [1.25e-05], {\"kind\": \"llvm\", "
                                "\"keys\": [\"cpu\"], \"tag\": "
                                "\"\", \"record\": {\"tenon\": 1, ";
    static const char end[] = "}}, [[\"TENSOR\", \"float32\", [1, 64]]]]]\n";
    tn_buf text = {0};
    tn_record x = of_pair();
    tn_database_print_record(&x, 3, &text);
    assert_memory_equal(text.at, begin, sizeof begin - 1);
    assert_string_equal(text.at + text.n - (sizeof end - 1), end);
    assert_null(strstr(text.at, "func @f")); /* it stands in the other file */
    tn_buf_clear(&text);
    tn_database_print_workload(&x, &text);
    assert_string_equal(text.at, "[\"81985529216486895\", \"func @f {\\u000a  \\\"x\\\"\\u000a}\\u000a\"]\n");
    x.function = NULL;
    tn_buf_clear(&text);
    tn_database_print_workload(&x, &text);
    assert_string_equal(text.at, "[\"81985529216486895\", null]\n");
    tn_buf_deinit(&text);
}

/* What is written reads back, with what the other file has of the workload; lines of TVM are told. */
static void the_pair_reads_back(void **state)
{
    (void)state;
    tn_records r;
    tn_buf workloads = {0}, lines = {0}, again = {0};
    tn_record x = of_pair();
    uint32_t line;
    bool known;
    tn_buf_str(&workloads, "[\"123\", \"eyJyb290IjogMX0=\"]\n[\"12\n");
    assert_int_equal(tn_database_find_workload(workloads.at, workloads.n, &x, &known), 2);
    assert_false(known);
    tn_database_print_workload(&x, &workloads);
    assert_int_equal(tn_database_find_workload(workloads.at, workloads.n, &x, &known), 2);
    assert_true(known);
    tn_buf_str(&lines, "[0, [[[[\"GetBlock\", [], [\"C\", \"main\"], [\"b0\"]]], []], [1e-05], {\"kind\": "
                       "\"llvm\"}, [[\"TENSOR\", \"float32\", [8]]]]]\n[0, [[[], []], null, null, null]]\n");
    tn_database_print_record(&x, 2, &lines);
    tn_records_init(&r);
    tn_database_parse_workloads(&r, workloads.at, workloads.n);
    assert_null(tn_records_parse(&r, lines.at, lines.n, one.machine, &line));
    assert_int_equal(r.n_foreign, 2);
    assert_int_equal(r.foreign, 1);
    assert_int_equal(r.all.n, 1);
    assert_string_equal(r.all.at[0].function, module);
    assert_string_equal(r.all.at[0].parameters, x.parameters);
    tn_records_add(&r, &r.all.at[0]); /* copies them, too */
    tn_database_print_record(&r.all.at[1], 2, &again);
    assert_non_null(strstr(lines.at, again.at));
    tn_records_deinit(&r);
    tn_buf_deinit(&workloads);
    tn_buf_deinit(&lines);
    tn_buf_deinit(&again);
}

/* A line that was cut in its middle begins as the workload does, but is none: a whole one is added behind it. */
static void a_cut_workload_is_not_known(void **state)
{
    (void)state;
    tn_buf whole = {0}, text = {0};
    tn_record x = of_pair();
    bool known;
    tn_database_print_workload(&x, &whole);
    for (size_t n = 1; n + 1 < whole.n; n++) {
        tn_buf_clear(&text);
        tn_buf_add(&text, whole.at, n);
        tn_buf_char(&text, '\n');
        assert_int_equal(tn_database_find_workload(text.at, text.n, &x, &known), 1);
        assert_false(known);
    }
    tn_buf_deinit(&whole);
    tn_buf_deinit(&text);
}

/* A record whose workload is another one, or is not there. */
static void the_pair_must_agree(void **state)
{
    (void)state;
    tn_record x = of_pair();
    static const struct {
        const char *workloads;
        uint32_t number;
        bool sound;
    } all[] = {{"[\"81985529216486895\", null]\n", 0, true},  {"[\"81985529216486895\", null]\n", 1, false},
               {"[\"81985529216486894\", \"\"]\n", 0, false}, {"[\"819855\n", 0, false},
               {"[81985529216486895, \"\"]\n", 0, false},     {"", 0, false}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tn_records r;
        tn_buf lines = {0};
        uint32_t line;
        tn_records_init(&r);
        tn_database_print_record(&x, all[i].number, &lines);
        tn_database_parse_workloads(&r, all[i].workloads, strlen(all[i].workloads));
        const char *why = tn_records_parse(&r, lines.at, lines.n, NULL, &line);
        if (all[i].sound)
            assert_null(why);
        else
            assert_non_null(strstr(why, "is another workload, or is not there"));
        assert_int_equal(r.all.n, all[i].sound);
        tn_buf_deinit(&lines);
        tn_records_deinit(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_read_back),
        cmocka_unit_test(lines_are_kept),
        cmocka_unit_test(lines_of_logs),
        cmocka_unit_test(lines_of_auto_scheduler),
        cmocka_unit_test(lines_of_the_pair),
        cmocka_unit_test(the_pair_reads_back),
        cmocka_unit_test(a_cut_workload_is_not_known),
        cmocka_unit_test(the_pair_must_agree),
        cmocka_unit_test(the_fastest_of_a_machine_counts),
        cmocka_unit_test(records_of_other_sizes_and_machines),
        cmocka_unit_test(what_is_wrong_with_a_line),
        cmocka_unit_test(cut_lines_and_later_ones_are_passed_over),
    };
    return cmocka_run_group_tests_name("tune_record", tests, NULL, NULL);
}
