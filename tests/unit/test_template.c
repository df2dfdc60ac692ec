/* Templates (tenon/tune.h): choices that a user's function declares, called by hand and searched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "tenon/te.h"
#include "tenon/tune.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 24, COLUMNS = 64, DEPTH = 48 };

typedef struct product {
    int calls;
    const char *order_of[3]; /* candidates; NULL: none is asked for */
    int bad_extent, depth;   /* depth: 0: DEPTH */
    int others, refuses;     /* calls with that depth; refuses: from this call on */
    char *steps;             /* of the last one, malloc'd */
    char trial[400];         /* the choices of the last trial */
    int64_t rows[3];
    tenon *kept; /* a session that the template makes; it outlives the search */
} product;

static tenon_kernel *product_kernel(tenon *t, int depth)
{
    char a[60], b[60], r[12];
    snprintf(a, sizeof a, "Tensor[(%d, %d), float32]", ROWS, depth);
    snprintf(b, sizeof b, "Tensor[(%d, %d), float32]", depth, COLUMNS);
    snprintf(r, sizeof r, "%d", depth);
    tenon_kernel *k = tenon_kernel_new(t, "product");
    tenon_te_input(k, "a", a);
    tenon_te_input(k, "b", b);
    char c[60];
    snprintf(c, sizeof c, "Tensor[(%d, %d), float32]", ROWS, COLUMNS);
    tenon_te *x = tenon_te_new(k, "c", c, "i j");
    tenon_te_over(x, "r", r);
    tenon_te_reduce(x, "sum", tenon_te_expr(x, "a[i, r] * b[r, j]", 0, NULL));
    if (tenon_kernel_end(k, 1, &x) == 0)
        return k;
    tenon_kernel_free(k);
    return NULL;
}

static int make(void *user, tenon *t, tenon_config *c)
{
    static const char *const order[] = {"rows", "columns"};
    product *p = user;
    char steps[400];
    int64_t column[2];
    uint32_t outer = 0;
    if (p->calls++ == 0)
        p->kept = tenon_new();
    if (tenon_config_split(c, "tile_i", p->bad_extent ? 0 : ROWS, 3, 8, p->rows) ||
        tenon_config_split(c, "tile_j", COLUMNS, 2, 16, column) ||
        tenon_config_choose(c, "outer", 2, order, &outer))
        return 1;
    int depth = p->depth && p->rows[2] == 8 ? p->depth : DEPTH;
    p->others += depth != DEPTH;
    if (p->refuses && p->calls >= p->refuses)
        return 1;
    tenon_kernel *k = product_kernel(t, depth);
    snprintf(steps, sizeof steps,
             "i j r = loops \"out\"\nio im ii = split i %" PRId64 " %" PRId64 "\njo ji = split j %" PRId64
             "\nreorder %s im r ii ji\n%s",
             p->rows[1], p->rows[2], column[1], outer ? "jo io" : "io jo",
             column[1] > 1 ? "vectorize ji\n" : "");
    int failed = !k || tenon_step(k, steps) || tenon_config_end(c, k);
    free(p->steps);
    p->steps = failed ? NULL : strdup(tenon_kernel_trace(k));
    tenon_kernel_free(k);
    return failed;
}

static void choices_are_made_by_hand(void **state)
{
    product p = {0};
    tenon *t = tenon_new();
    (void)state;
    tenon_config *c = tenon_config_new(t, NULL);
    assert_non_null(c);
    assert_int_equal(make(&p, t, c), 0);
    assert_string_equal(tenon_config_picks(c), "tile_i = 1x1\ntile_j = 1\nouter = rows\n");
    tenon_config_free(c);
    c = tenon_config_new(t, "tile_i = 2x4\ntile_j = 16 # lanes\nouter = columns\n");
    assert_int_equal(make(&p, t, c), 0);
    assert_int_equal(p.rows[0], 3);
    assert_int_equal(p.rows[1], 2);
    assert_int_equal(p.rows[2], 4);
    assert_string_equal(tenon_config_picks(c), "tile_i = 2x4\ntile_j = 16\nouter = columns\n");
    assert_non_null(strstr(p.steps, "reorder jo io im r ii ji"));
    free(p.steps);
    tenon_free(p.kept);
    tenon_free(t);
}

static void refusals_say_why(void **state)
{
    static const struct {
        const char *picks, *name, *word[2], *says;
    } rows[] = {
        {"x = c", "x", {"a", "b"}, "x cannot be \"c\": that is none of its 2 candidates [driver-E167]"},
        {NULL,
         "x y",
         {"a", "b"},
         "the candidates of \"x y\" cannot be chosen from; give up to 65536 different words"},
        {NULL, "x", {"a", "a"}, "[driver-E168]"},
        {NULL, "x", {"a", ""}, "[driver-E168]"},
        {NULL, "x", {"a b", "c"}, "[driver-E168]"},
        {NULL, "x", {NULL, "c"}, "[driver-E168]"},
    };
    tenon *t = tenon_new();
    uint32_t at = 7;
    int64_t part[8];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tenon_config *c = tenon_config_new(t, rows[i].picks);
        assert_int_equal(tenon_config_choose(c, rows[i].name, 2, rows[i].word, &at), 1);
        assert_non_null(strstr(tenon_messages(t), rows[i].says));
        assert_int_equal(at, 0);
        tenon_config_free(c);
    }
    tenon_config *c = tenon_config_new(t, NULL);
    assert_int_equal(tenon_config_split(c, "s", 0, 2, 0, part), 1);
    assert_int_equal(tenon_config_split(c, "s", 8, 0, 0, part), 1);
    assert_int_equal(tenon_config_split(c, "s", 7, 2, 0, part), 0);
    assert_int_equal(part[0], 7);
    assert_int_equal(tenon_config_split(c, "large", INT32_MAX, 2, 0, part), 0); /* a prime */
    assert_int_equal(tenon_config_split(c, "beyond", (int64_t)INT32_MAX + 1, 2, 0, part), 1);
    assert_int_equal(tenon_config_end(c, NULL), 1);
    assert_non_null(strstr(tenon_messages(t), "[driver-E171]"));
    assert_int_equal(tenon_config_split(c, "many", 1 << 30, 8, 0, part), 1);
    assert_non_null(strstr(tenon_messages(t), "[driver-E168]"));
    assert_null(tenon_config_new(t, "x"));
    assert_non_null(strstr(tenon_messages(t), "[driver-E150]"));
    tenon_free(t);
}

static void on_trial(void *user, const tenon_tune_progress *at)
{
    product *p = user;
    if (at->picks)
        snprintf(p->trial, sizeof p->trial, "%s", at->picks);
}

static const tenon_tune_task *search(tenon *t, product *p, const char *records, const char *tuner)
{
    const tenon_tune_task *task = NULL;
    const tenon_tune_options o = {.size = sizeof o,
                                  .records = records,
                                  .tuner = tuner,
                                  .trials = 24,
                                  .repeat_seconds = 0.001,
                                  .progress = on_trial,
                                  .progress_user = p};
    if (tenon_tune_template(t, "product", make, p, NULL, &o, &task) != 0)
        assert_null(task);
    return task;
}

static void the_fastest_is_found(void **state)
{
    char path[] = "template.XXXXXX";
    product p = {0};
    tenon *t = tenon_new();
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    const tenon_tune_task *task = search(t, &p, path, NULL);
    assert_non_null(task);
    assert_int_equal(task->trials, 24);
    assert_int_equal(task->failed, 0);
    assert_true(task->picks && task->seconds < task->built_in_seconds);
    assert_true(task->operations >= 2.0 * ROWS * COLUMNS * DEPTH);
    assert_non_null(strstr(p.trial, "tile_i = "));
    uint32_t n = 0;
    const tenon_record *r;
    char picks[400];
    snprintf(picks, sizeof picks, "%s", task->picks);
    assert_int_equal(tenon_records_list(t, path, &n, &r), 0);
    assert_true(n >= 1);
    assert_string_equal(r[n - 1].generator, "product");
    assert_string_equal(r[n - 1].picks, picks);
    char *trace = strdup(r[n - 1].trace);
    tenon_config *c = tenon_config_new(t, picks); /* the record's steps are those that the choices make */
    assert_int_equal(make(&p, t, c), 0);
    assert_string_equal(trace, p.steps);
    tenon_kernel *k = product_kernel(p.kept, DEPTH);
    assert_non_null(k);
    tenon_free(p.kept);
    free(trace);
    free(p.steps);
    assert_int_equal(unlink(path), 0);
    tenon_free(t);
}

static void all_points_come_by_in_order(void **state)
{
    product p = {0};
    tenon *t = tenon_new();
    (void)state;
    const tenon_tune_task *task = search(t, &p, NULL, "gridsearch");
    assert_non_null(task);
    assert_int_equal(task->trials, 24);
    free(p.steps);
    tenon_free(p.kept);
    tenon_free(t);
}

static void another_kernel_is_no_point(void **state)
{
    product p = {.depth = DEPTH / 2}; /* where the innermost rows are eight */
    tenon *t = tenon_new();
    (void)state;
    const tenon_tune_task *task = search(t, &p, NULL, "random");
    assert_non_null(task);
    assert_true(p.others > 0);
    assert_non_null(task->picks);
    assert_null(strstr(task->picks, "x8"));
    free(p.steps);
    tenon_free(p.kept);
    tenon_free(t);
}

/* Whenever it begins to refuse, the search ends in order. */
static void a_template_may_refuse_at_any_time(void **state)
{
    (void)state;
    for (int from = 2; from < 40; from += 6) {
        product p = {.refuses = from};
        tenon *t = tenon_new();
        const tenon_tune_task *task = search(t, &p, NULL, "ga");
        assert_true(task || strstr(tenon_messages(t), "[driver-E169]"));
        free(p.steps);
        tenon_free(p.kept);
        tenon_free(t);
    }
}

static void a_template_without_a_kernel_is_an_error(void **state)
{
    product p = {.bad_extent = 1};
    tenon *t = tenon_new();
    (void)state;
    assert_null(search(t, &p, NULL, NULL));
    assert_non_null(strstr(tenon_messages(t), "template product makes no kernel by its first candidates: the "
                                              "candidates of \"tile_i\" cannot be chosen from"));
    assert_non_null(strstr(tenon_messages(t), "[driver-E169]"));
    tenon_free(p.kept);
    tenon_free(t);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_are_made_by_hand),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(the_fastest_is_found),
        cmocka_unit_test(all_points_come_by_in_order),
        cmocka_unit_test(another_kernel_is_no_point),
        cmocka_unit_test(a_template_may_refuse_at_any_time),
        cmocka_unit_test(a_template_without_a_kernel_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
