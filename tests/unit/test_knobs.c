/* Knobs (tenon/tune.h, "templates"): which candidates splits, orders and annotations have, how they are written, what
 * is refused; and a search over all of them. */
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

typedef struct seen { /* what keep was asked about */
    char text[1000];
    size_t n;
    int count, most; /* candidates with a larger last number are left out; 0: none is */
} seen;

static int note(void *user, uint32_t n, const int64_t v[])
{
    seen *s = user;
    s->count++;
    for (uint32_t i = 0; i < n && s->n + 30 < sizeof s->text; i++)
        s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, "%s%" PRId64,
                                 i ? "," : (s->count > 1 ? " " : ""), v[i]);
    return s->most == 0 || v[n - 1] <= s->most;
}

typedef struct row {
    char kind; /* s, o, a */
    uint32_t n;
    int64_t extent;
    tenon_knob how;
    const char *candidates, *picks; /* all of them; the picks that take another than the first */
    const char *chosen;
} row;

static const int64_t own_splits[] = {-1, 4, 2, 6, 3, 5}, own_orders[] = {1, 0, 2, 2, 1, 0},
                     own_annotations[] = {1, 2, 0, 0};

#define OWN(n, list) {.policy = "candidate", .n_candidate = (n), .candidate = (list)}

/* clang-format off */
static const row rows[] = {
    {'s', 2, 12, {0}, "-1,1 -1,2 -1,3 -1,4 -1,6 -1,12", "x = 6\n", "2,6"},
    {'s', 1, 12, {0}, "-1", "", "12"},
    {'s', 3, 4,  {0}, "-1,1,1 -1,2,1 -1,4,1 -1,1,2 -1,2,2 -1,1,4", "x = 2x2\n", "1,2,2"},
    {'s', 3, 12, {.max_factor = 2}, "-1,1,1 -1,2,1 -1,1,2 -1,2,2", "x = 2x2\n", "3,2,2"},
    {'s', 2, 12, {.policy = "power2"}, "-1,1 -1,2 -1,4 -1,8", "x = 8\n", "2,8"},
    {'s', 2, 12, {.policy = "power2", .no_tail = 1}, "-1,1 -1,2 -1,4", "x = 4\n", "3,4"},
    {'s', 2, 12, {.policy = "verbose"}, "-1,1 -1,2 -1,3 -1,4 -1,6 -1,8 -1,12", "x = 8\n", "2,8"},
    {'s', 2, 12, {.policy = "verbose", .max_factor = 4}, "-1,1 -1,2 -1,3 -1,4", "x = 3\n", "4,3"},
    {'s', 3, 6,  {.policy = "verbose"},
     "-1,1,1 -1,2,1 -1,3,1 -1,4,1 -1,6,1 -1,1,2 -1,2,2 -1,3,2 -1,1,3 -1,2,3 -1,1,4 -1,1,6",
     "x = 2x2\n", "2,2,2"},
    {'s', 2, 7,  OWN(3, own_splits), "-1,4 2,6 3,5", "x = 2x6\n", "2,6"},
    {'s', 2, 1,  {.policy = "verbose"}, "-1,1", "", "1,1"},
    {'o', 3, 0,  {0}, "0,1,2 0,2,1 1,0,2 1,2,0 2,0,1 2,1,0", "x = 2,0,1\n", "2,0,1"},
    {'o', 3, 0,  {.policy = "identity"}, "0,1,2", "", "0,1,2"},
    {'o', 3, 0,  {.policy = "interval_all"}, "0,1,2 1,0,2 1,2,0 2,0,1 0,2,1", "x = 0,2,1\n", "0,2,1"},
    {'o', 4, 0,  {.policy = "interval_all", .begin = 1, .end = 3}, "0,1,2,3 0,2,1,3", "x = 0,2,1,3\n", "0,2,1,3"},
    {'o', 3, 0,  OWN(2, own_orders), "1,0,2 2,1,0", "x = 2,1,0\n", "2,1,0"},
    {'o', 1, 0,  {0}, "0", "", "0"},
    {'a', 2, 0,  {0}, "0,0 0,1 1,0 1,1 0,2 1,2", "x = unroll,vec\n", "1,2"},
    {'a', 2, 0,  {.policy = "try_unroll"}, "0,0 0,1 1,0 1,1", "x = unroll,none\n", "1,0"},
    {'a', 3, 0,  {.policy = "try_vec"}, "0,0,0 0,0,2", "x = none,none,vec\n", "0,0,2"},
    {'a', 2, 0,  {.policy = "unroll_vec"}, "1,1 1,2", "x = unroll,vec\n", "1,2"},
    {'a', 2, 0,  {.policy = "none"}, "0,0", "", "0,0"},
    {'a', 2, 0,  {.policy = "unroll"}, "1,1", "", "1,1"},
    {'a', 2, 0,  {.policy = "vec"}, "2,2", "", "2,2"},
    {'a', 1, 0,  {.policy = "try_vec"}, "0 2", "x = vec\n", "2"},
    {'a', 2, 0,  OWN(2, own_annotations), "1,2 0,0", "x = none,none\n", "0,0"},
};
/* clang-format on */

/* The result as text; the call's own result is returned. */
static int ask(tenon_config *c, const row *r, const tenon_knob *how, char *out, size_t room)
{
    int64_t part[16];
    uint32_t number[16];
    const tenon_knob *given = how->size ? how : NULL;
    int failed = r->kind == 's'   ? tenon_config_split_by(c, "x", r->extent, r->n, given, part)
                 : r->kind == 'o' ? tenon_config_reorder(c, "x", r->n, given, number)
                                  : tenon_config_annotate(c, "x", r->n, given, number);
    size_t at = 0;
    *out = 0;
    for (uint32_t i = 0; i < r->n; i++)
        at += (size_t)snprintf(out + at, room - at, "%s%" PRId64, i ? "," : "",
                               r->kind == 's' ? part[i] : (int64_t)number[i]);
    return failed;
}

static void candidates_come_in_order(void **state)
{
    tenon *t = tenon_new();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        seen s = {0};
        char out[200];
        tenon_knob how = rows[i].how;
        how.size = sizeof how;
        how.keep = note;
        how.user = &s;
        tenon_config *c = tenon_config_new(t, NULL);
        assert_int_equal(ask(c, &rows[i], &how, out, sizeof out), 0);
        assert_string_equal(s.text, rows[i].candidates);
        tenon_config_free(c);
        how.keep = NULL;
        c = tenon_config_new(t, rows[i].picks);
        assert_int_equal(ask(c, &rows[i], &how, out, sizeof out), 0);
        assert_string_equal(out, rows[i].chosen);
        assert_string_equal(tenon_config_picks(c), rows[i].picks); /* as it was read */
        tenon_config_free(c);
    }
    tenon_free(t);
}

/* Against a count of all lists of divisors. */
static int count_splits(int64_t extent, uint32_t inner, int64_t most)
{
    int n = 0;
    for (int64_t d = 1; inner > 0 && d <= extent; d++)
        if (extent % d == 0 && (most == 0 || d <= most))
            n += count_splits(extent / d, inner - 1, 0);
    return inner == 0 ? 1 : n;
}

static void no_split_is_left_out(void **state)
{
    tenon *t = tenon_new();
    (void)state;
    for (int64_t extent = 1; extent <= 48; extent++)
        for (uint32_t n = 1; n <= 4; n++) {
            seen s = {0};
            int64_t part[4], by_most[4];
            char name[4] = "";
            tenon_knob how = {.size = sizeof how, .keep = note, .user = &s};
            tenon_config *c = tenon_config_new(t, NULL);
            assert_int_equal(tenon_config_split_by(c, "x", extent, n, &how, part), 0);
            assert_int_equal(s.count, count_splits(extent, n - 1, 0));
            snprintf(name, sizeof name, "y%d", (int)n);
            assert_int_equal(tenon_config_split(c, name, extent, n, 5, by_most), 0);
            assert_int_equal(by_most[0], extent);
            tenon_config_free(c);
        }
    tenon_free(t);
}

static void a_filter_leaves_candidates_out(void **state)
{
    seen s = {.most = 8};
    int64_t part[2];
    tenon *t = tenon_new();
    (void)state;
    tenon_knob how = {.size = sizeof how, .keep = note, .user = &s};
    tenon_config *c = tenon_config_new(t, "x = 8\n");
    assert_int_equal(tenon_config_split_by(c, "x", 64, 2, &how, part), 0);
    assert_int_equal(part[0], 8);
    tenon_config_free(c);
    c = tenon_config_new(t, "x = 16\n");
    assert_int_equal(tenon_config_split_by(c, "x", 64, 2, &how, part), 1);
    assert_non_null(
        strstr(tenon_messages(t), "x cannot be \"16\": that is none of its 4 candidates [driver-E167]"));
    assert_int_equal(part[0], 64);
    assert_int_equal(part[1], 1);
    tenon_free(t);
}

static void refusals_say_what_to_do(void **state)
{
    static const int64_t zero[] = {0, 4}, vast[] = {65536, 65536}, twice[] = {1, 1}, beyond[] = {0, 3},
                         same[] = {0, 1, 0, 1};
    static const struct {
        row r;
        const char *says;
    } refused[] = {
        {{'s', 2, 12, {.policy = "best"}, 0, 0, 0},
         "knob x has no policy \"best\"; there are factors, power2, verbose, candidate [driver-E208]"},
        {{'o', 2, 0, {.policy = "interleave"}, 0, 0, 0}, "name that as the candidate [driver-E208]"},
        {{'o', 2, 0, {.policy = "interleave_cuda"}, 0, 0, 0}, "name that as the candidate [driver-E208]"},
        {{'a', 2, 0, {.policy = "bind_gpu"}, 0, 0, 0}, "make them tasks by parallel [driver-E208]"},
        {{'a', 3, 0, {.policy = "bind_gpu_virtual"}, 0, 0, 0}, "make them tasks by parallel [driver-E208]"},
        {{'a', 2, 0, {.policy = "locate_cache"}, 0, 0, 0}, "[driver-E208]"},
        {{'a', 2, 0, {.policy = "factors"}, 0, 0, 0},
         "there are try_unroll_vec, try_unroll, try_vec, unroll_vec, none, unroll, vec, candidate"},
        {{'s', 2, 12, {.max_factor = -1}, 0, 0, 0},
         "knob x has no candidate; let max_factor and the filter leave one"},
        {{'s', 2, 12, {.policy = "candidate"}, 0, 0, 0}, "[driver-E209]"},
        {{'s', 2, 0, {0}, 0, 0, 0}, "split an extent of 1 to 2^31 - 1 into 1 to 16 loops [driver-E168]"},
        {{'s', 8, 1 << 30, {0}, 0, 0, 0}, "there are more than 65536; leave some out by max_factor"},
        {{'s', 4, INT32_MAX, {.policy = "power2"}, 0, 0, 0}, NULL}, /* 31^3 at most */
        {{'s', 2, 12, {.policy = "candidate", .n_candidate = 1, .candidate = zero}, 0, 0, 0},
         "name the extents of all loops, outermost first, whose product is below 2^31"},
        {{'s', 2, 12, {.policy = "candidate", .n_candidate = 1, .candidate = vast}, 0, 0, 0},
         "[driver-E168]"},
        {{'o', 2, 0, {.policy = "candidate", .n_candidate = 1, .candidate = twice}, 0, 0, 0},
         "name each loop once, by its number from 0 on"},
        {{'o', 2, 0, {.policy = "candidate", .n_candidate = 2, .candidate = same}, 0, 0, 0},
         "give up to 65536 different words"},
        {{'o', 2, 0, {.policy = "candidate", .n_candidate = 1, .candidate = NULL}, 0, 0, 0}, "[driver-E168]"},
        {{'o', 3, 0, {.policy = "interval_all", .begin = 1, .end = 4}, 0, 0, 0},
         "give an interval of loops that there are"},
        {{'o', 8, 0, {0}, 0, 0, 0}, NULL}, /* 40,320 */
        {{'o', 9, 0, {0}, 0, 0, 0}, "there are more than 65536"},
        {{'o', 16, 0, {.policy = "interval_all"}, 0, 0, 0}, NULL},
        {{'a', 16, 0, {.policy = "try_unroll"}, 0, 0, 0}, NULL}, /* 65,536 */
        {{'a', 16, 0, {0}, 0, 0, 0}, "there are more than 65536"},
        {{'a', 2, 0, {.policy = "candidate", .n_candidate = 1, .candidate = beyond}, 0, 0, 0},
         "name an annotation of enum tenon_annotation for each loop"},
    };
    tenon *t = tenon_new();
    char out[200];
    uint32_t many[17];
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tenon_config *c = tenon_config_new(t, NULL);
        tenon_knob how = refused[i].r.how;
        how.size = sizeof how;
        assert_int_equal(ask(c, &refused[i].r, &how, out, sizeof out), refused[i].says != NULL);
        if (refused[i].says && !strstr(tenon_messages(t), refused[i].says))
            fail_msg("%zu: %s", i, tenon_messages(t));
        tenon_config_free(c);
    }
    tenon_config *c = tenon_config_new(t, NULL);
    assert_int_equal(tenon_config_reorder(c, "x", 17, NULL, many), 1);
    assert_non_null(strstr(tenon_messages(t), "give up to 16 loops [driver-E168]"));
    assert_int_equal(tenon_config_annotate(c, "x", 17, NULL, many), 1);
    assert_int_equal(tenon_config_annotate(c, "x", 2, &(tenon_knob){0}, many), 1);
    assert_non_null(strstr(tenon_messages(t), "[driver-E100]"));
    assert_int_equal(tenon_config_annotate(c, "x y", 2, NULL, many), 1);
    assert_int_equal(tenon_config_reorder(NULL, "x", 2, NULL, many), 1);
    assert_int_equal(tenon_config_reorder(c, "none", 0, NULL, many), 0);
    tenon_free(t);
}

static int never(void *user, uint32_t n, const int64_t v[])
{
    (void)n;
    (void)v;
    ++*(int *)user;
    return 0;
}

/* Sixteen loops have 2 * 10^13 orders. */
static void a_filter_is_not_asked_for_ever(void **state)
{
    tenon *t = tenon_new();
    uint32_t order[16];
    int asked = 0;
    (void)state;
    const tenon_knob how = {.size = sizeof how, .keep = never, .user = &asked};
    tenon_config *c = tenon_config_new(t, NULL);
    assert_int_equal(tenon_config_reorder(c, "x", 16, &how, order), 1);
    assert_non_null(strstr(tenon_messages(t), "there are millions to choose from"));
    assert_int_equal(asked, 1 << 22);
    tenon_free(t);
}

/* ---- a search ---- */

typedef struct product {
    char steps[600]; /* of the last call */
    int wrong;       /* trials with wrong results */
    int timed;
} product;

static tenon_kernel *kernel(tenon *t)
{
    static const char type[] = "Tensor[(60, 60), float32]";
    tenon_kernel *k = tenon_kernel_new(t, "product");
    tenon_te_input(k, "a", type);
    tenon_te_input(k, "b", type);
    tenon_te *c = tenon_te_new(k, "c", type, "i j");
    tenon_te_over(c, "r", "60");
    tenon_te_reduce(c, "sum", tenon_te_expr(c, "a[i, r] * b[r, j]", 0, NULL));
    if (tenon_kernel_end(k, 1, &c) == 0)
        return k;
    tenon_kernel_free(k);
    return NULL;
}

static int make(void *user, tenon *t, tenon_config *c)
{
    static const char *const loop[] = {"io", "jo", "r", "ii", "ji"}, *const inner[] = {"ii", "ji"},
                             *const step[] = {NULL, "unroll", "vectorize"};
    const tenon_knob rests = {.size = sizeof rests, .policy = "power2", .max_factor = 8},
                     outer = {.size = sizeof outer, .policy = "interval_all", .begin = 0, .end = 3};
    product *p = user;
    int64_t row_part[2], column[2];
    uint32_t order[5], mark[2];
    if (tenon_config_split_by(c, "rows", 60, 2, &rests, row_part) ||
        tenon_config_split_by(c, "columns", 60, 2, &rests, column) ||
        tenon_config_reorder(c, "order", 5, &outer, order) ||
        tenon_config_annotate(c, "inner", 2, NULL, mark))
        return 1;
    int at = snprintf(p->steps, sizeof p->steps,
                      "i j r = loops \"out\"\nio ii = split i %d\njo ji = split j %d\nreorder",
                      (int)row_part[1], (int)column[1]);
    for (int i = 0; i < 5; i++)
        at += snprintf(p->steps + at, sizeof p->steps - (size_t)at, " %s", loop[order[i]]);
    at += snprintf(p->steps + at, sizeof p->steps - (size_t)at, "\ndecompose_reduction \"out\" r\n");
    for (int i = 0; i < 2; i++)
        if (step[mark[i]])
            at += snprintf(p->steps + at, sizeof p->steps - (size_t)at, "%s %s\n", step[mark[i]], inner[i]);
    tenon_kernel *k = kernel(t);
    int failed = !k || tenon_step(k, p->steps) || tenon_config_end(c, k);
    if (!failed)
        snprintf(p->steps, sizeof p->steps, "%s", tenon_kernel_trace(k));
    tenon_kernel_free(k);
    return failed;
}

static void on_trial(void *user, const tenon_tune_progress *at)
{
    product *p = user;
    p->wrong += at->fate == TENON_TRIAL_WRONG;
    p->timed += at->picks && at->fate == TENON_TRIAL_TIMED;
}

static void all_of_them_are_searched(void **state)
{
    char path[] = "knobs.XXXXXX";
    product p = {0};
    tenon *t = tenon_new();
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    const tenon_tune_task *task;
    const tenon_tune_options o = {.size = sizeof o,
                                  .records = path,
                                  .tuner = "random",
                                  .trials = 60,
                                  .repeat_seconds = 0.001,
                                  .progress = on_trial,
                                  .progress_user = &p};
    if (tenon_tune_template(t, "product", make, &p, NULL, &o, &task) != 0)
        fail_msg("%s", tenon_messages(t));
    assert_int_equal(p.wrong, 0);
    assert_true(p.timed > 5);
    assert_non_null(task->picks);
    assert_non_null(strstr(task->picks, "inner = "));
    uint32_t n = 0;
    const tenon_record *r;
    char picks[400];
    snprintf(picks, sizeof picks, "%s", task->picks);
    assert_int_equal(tenon_records_list(t, path, &n, &r), 0);
    assert_true(n >= 1);
    assert_string_equal(r[n - 1].picks, picks);
    char *trace = strdup(r[n - 1].trace);
    tenon_config *c = tenon_config_new(t, picks); /* the record's words make the record's steps */
    assert_int_equal(make(&p, t, c), 0);
    assert_string_equal(tenon_config_picks(c), picks);
    assert_string_equal(p.steps, trace);
    free(trace);
    assert_int_equal(unlink(path), 0);
    tenon_free(t);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_come_in_order),       cmocka_unit_test(no_split_is_left_out),
        cmocka_unit_test(a_filter_leaves_candidates_out), cmocka_unit_test(refusals_say_what_to_do),
        cmocka_unit_test(a_filter_is_not_asked_for_ever), cmocka_unit_test(all_of_them_are_searched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
