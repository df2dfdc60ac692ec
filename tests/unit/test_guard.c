/* base/alloc and base/guard: heaps, what raises, resources, threads. */
#include "base/ctx.h"
#include "base/guard.h"
#include "base/thread.h"
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void use_memory(void *user)
{
    (void)user;
    tn_arena arena;
    tn_arena_init(&arena);
    tn_vec(int) v = {0};
    tn_buf text = {0};
    for (int i = 0; i < 1000; i++)
        tn_vec_push(&v, i);
    tn_buf_fill(&text, 'x', 100000);
    memset(tn_arena_alloc(&arena, 1 << 20, 64), 1, 1 << 20);
    void *page = tn_alloc_aligned(100);
    assert_int_equal((uintptr_t)page % 64, 0);
    tn_free(tn_realloc(tn_alloc(0), 5000));
    tn_free(NULL);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v.at[i], i);
} /* the heap frees what is left */

static void a_heap_frees_what_is_left(void **state)
{
    (void)state;
    tn_heap h;
    tn_heap_init(&h);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tn_protect(&h, use_memory, NULL).kind, TN_RAISED_NOTHING);
        assert_true(h.bytes > 1 << 20);
        tn_heap_free(&h);
        assert_int_equal(h.bytes, 0);
    }
}

static tn_raised limited(tn_limits limits, void (*fn)(void *user), void *user)
{
    tn_heap h;
    tn_heap_init(&h);
    tn_heap_limit(&h, &limits);
    tn_raised r = tn_protect(&h, fn, user);
    tn_heap_free(&h);
    return r;
}

/* Zeroed lines that begin at different places of a page; what is freed by hand and what the heap frees. */
static void use_huge(void *user)
{
    enum { N = 7, BYTES = (2 << 20) + 100 };
    char *at[N], *small = tn_alloc_huge_try(64); /* a small one is like others */
    size_t alive = 0;
    assert_int_equal((uintptr_t)small % 64, 0);
    for (int i = 0; i < N; i++) {
        at[i] = tn_alloc_huge_try(BYTES);
        assert_non_null(at[i]);
        assert_int_equal((uintptr_t)at[i] % 64, 0);
        for (int j = 0; j < i; j++)
            assert_int_not_equal((uintptr_t)at[i] % 4096, (uintptr_t)at[j] % 4096);
        for (int k = 0; k < BYTES; k += 1024)
            assert_int_equal(at[i][k], 0);
        memset(at[i], i + 1, BYTES);
    }
    for (int i = 0; i < N; i += 2)
        tn_free(at[i]);
    for (int i = 1; i < N; i += 2)
        for (int k = 0; k < BYTES; k += 1024, alive++)
            assert_int_equal(at[i][k], i + 1);
    *(size_t *)user = alive;
}

static void huge_blocks_belong_to_a_heap(void **state)
{
    (void)state;
    tn_heap h;
    size_t alive = 0;
    tn_heap_init(&h);
    assert_int_equal(tn_protect(&h, use_huge, &alive).kind, TN_RAISED_NOTHING);
    assert_int_not_equal(alive, 0);
    assert_in_range(h.bytes, 3 * (2 << 20), 3 * (2 << 20) + (1 << 17));
    tn_heap_free(&h);
    assert_int_equal(h.bytes, 0);
    assert_int_equal(limited((tn_limits){.memory_bytes = 10 << 20}, use_huge, &alive).kind, TN_RAISED_MEMORY);
}

static bool run_out(void *user) { return --*(int *)user == 0; }

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tn_heap h;
    tn_heap_init(&h);
    int left = 1000;
    h.fail = run_out;
    h.fail_user = &left;
    (void)tn_protect(&h, use_memory, NULL);
    int n = 1000 - left;
    assert_in_range(n, 5, 100);
    for (int i = 1; i <= n; i++) {
        tn_heap_free(&h);
        left = i;
        h.fail = run_out;
        h.fail_user = &left;
        assert_int_equal(tn_protect(&h, use_memory, NULL).kind, TN_RAISED_OUT_OF_MEMORY);
    }
    tn_heap_free(&h);
}

static void poll_for_ever(void *user)
{
    (void)user;
    for (;;)
        tn_poll();
}
static void many_nodes(void *user) { tn_check_nodes(*(uint64_t *)user); }
static void broken(void *user) { TN_ASSERT(user == NULL); }

static void limits_raise(void **state)
{
    (void)state;
    uint64_t nodes = 11;
    int cancelled = 1;
    tn_raised r = limited((tn_limits){.memory_bytes = 1 << 19}, use_memory, NULL);
    assert_int_equal(r.kind, TN_RAISED_MEMORY);
    assert_int_equal(r.amount, 1 << 19);
    assert_int_equal(limited((tn_limits){.memory_bytes = 1 << 22}, use_memory, NULL).kind, TN_RAISED_NOTHING);
    r = limited((tn_limits){.seconds = 0.02}, poll_for_ever, NULL);
    assert_int_equal(r.kind, TN_RAISED_SECONDS);
    assert_int_equal(r.amount, 20);
    assert_int_equal(limited((tn_limits){.cancel = &cancelled}, poll_for_ever, NULL).kind, TN_RAISED_CANCEL);
    assert_int_equal(limited((tn_limits){.nodes = 10}, many_nodes, &nodes).kind, TN_RAISED_NODES);
    assert_int_equal(limited((tn_limits){.nodes = 11}, many_nodes, &nodes).kind, TN_RAISED_NOTHING);
    r = limited((tn_limits){0}, broken, &nodes);
    assert_int_equal(r.kind, TN_RAISED_BROKEN);
    assert_string_equal(r.text, "user == NULL");
}

static void what_was_raised_is_an_error(void **state)
{
    (void)state;
    static const struct {
        tn_raised raised;
        const char *line;
    } row[] = {
        {{.kind = TN_RAISED_OUT_OF_MEMORY, .amount = 7},
         "not enough memory: 7 more bytes were needed [base-E004]"},
        {{.kind = TN_RAISED_MEMORY, .amount = 9 << 20}, "the limit of memory, 9 MiB, is reached"},
        {{.kind = TN_RAISED_MEMORY}, "[base-E005]"},
        {{.kind = TN_RAISED_SECONDS, .amount = 1500}, "1.5 seconds, is reached; allow more [base-E006]"},
        {{.kind = TN_RAISED_NODES, .amount = 3},
         "more than 3 nodes, which is the limit; allow more [base-E007]"},
        {{.kind = TN_RAISED_CANCEL}, "error: cancelled [base-E008]"},
        {{.kind = TN_RAISED_BROKEN, .text = "a < b", .file = "f.c", .line = 5},
         "internal error: f.c:5: a < b does not hold; please report it [base-E009]"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_ctx c;
        tn_buf text = {0};
        tn_ctx_init(&c);
        assert_int_equal(tn_report_raised(&c, &row[i].raised), TN_FAIL);
        tn_diag_print_all(&c, &text);
        if (!strstr(tn_buf_cstr(&text), row[i].line))
            fail_msg("%s lacks: %s", tn_buf_cstr(&text), row[i].line);
        tn_buf_deinit(&text);
        tn_ctx_deinit(&c);
    }
}

/* ---- resources ---- */

static int released[4], n_released;
static void release(tn_resource *r) { released[n_released++] = (int)r->n; }

static void hold_and_raise(void *user)
{
    tn_resource *r[4];
    for (size_t i = 0; i < 4; i++) {
        r[i] = tn_resource_new(release);
        r[i]->at = i == 1 ? NULL : &released; /* number 1 is not there yet */
        r[i]->n = i;
    }
    tn_resource_end(r[2]);
    tn_resource_drop(NULL);
    TN_ASSERT(!user);
}

static void keep_one(void *user)
{
    tn_resource **kept = user;
    *kept = tn_resource_new(release);
    (*kept)->at = kept;
    (*kept)->n = 7;
    tn_resource_keep(*kept);
}

static void a_kept_resource_outlives_its_heap(void **state)
{
    (void)state;
    tn_resource *kept;
    tn_heap h;
    tn_heap_init(&h);
    n_released = 0;
    assert_int_equal(tn_protect(&h, keep_one, &kept).kind, TN_RAISED_NOTHING);
    tn_heap_free(&h);
    assert_int_equal(n_released, 0);
    tn_resource_end(kept);
    assert_int_equal(n_released, 1);
    assert_int_equal(released[0], 7);
}

static void resources_are_released_newest_first(void **state)
{
    (void)state;
    tn_heap h;
    tn_heap_init(&h);
    n_released = 0;
    assert_int_equal(tn_protect(&h, hold_and_raise, &h).kind, TN_RAISED_BROKEN);
    assert_int_equal(n_released, 1);
    tn_heap_free(&h);
    assert_int_equal(n_released, 3);
    assert_int_equal(released[0], 2);
    assert_int_equal(released[1], 3);
    assert_int_equal(released[2], 0);
}

/* ---- guards within guards, and threads ---- */

static void catch_inside(void *user)
{
    tn_raised *r = user;
    *r = tn_protect(NULL, broken, user);
    tn_free(tn_alloc(10));
}

static void guards_nest(void **state)
{
    (void)state;
    tn_raised inside;
    assert_int_equal(limited((tn_limits){0}, catch_inside, &inside).kind, TN_RAISED_NOTHING);
    assert_int_equal(inside.kind, TN_RAISED_BROKEN);
    assert_null(tn_guard_get());
}

typedef struct {
    tn_vec(size_t) list[8]; /* the first eight tasks go on with what others began */
    size_t bad;             /* this one raises, and all after it */
} tasks;

static void task(void *user, size_t i, unsigned worker)
{
    tasks *t = user;
    (void)worker;
    for (size_t k = 0; i < 8 && k < 500; k++) {
        tn_vec_push(&t->list[i], k);
        tn_free(tn_alloc(k));
    }
    if (i >= t->bad)
        tn_raise((tn_raised){.kind = TN_RAISED_BROKEN, .line = (int)i});
}

static void in_threads(void *user)
{
    tasks *t = user;
    size_t bad = t->bad;
    t->bad = SIZE_MAX;
    for (int round = 0; round < 3; round++) /* other threads resize what these made */
        tn_parallel_for(200, 8, task, t);
    t->bad = bad;
    tn_parallel_for(200, 8, task, t);
}

static void the_first_failure_is_raised_after_the_join(void **state)
{
    (void)state;
    static const size_t bad[] = {0, 1, 5, 63, 199, 1000};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tasks t = {.bad = bad[i]};
        tn_raised r = limited((tn_limits){0}, in_threads, &t);
        assert_int_equal(r.kind, bad[i] < 200 ? TN_RAISED_BROKEN : TN_RAISED_NOTHING);
        if (bad[i] < 200)
            assert_int_equal(r.line, bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heap_frees_what_is_left),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(huge_blocks_belong_to_a_heap),
        cmocka_unit_test(limits_raise),
        cmocka_unit_test(what_was_raised_is_an_error),
        cmocka_unit_test(resources_are_released_newest_first),
        cmocka_unit_test(a_kept_resource_outlives_its_heap),
        cmocka_unit_test(guards_nest),
        cmocka_unit_test(the_first_failure_is_raised_after_the_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
