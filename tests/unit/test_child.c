/* Child contexts: what is found in the parent, what stays in the child, what comes back; and that nothing can
 * be added to a frozen parent. */
#include "ir/layout.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

typedef struct world {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
} world;

static void open_parent(world *w)
{
    tn_ctx_init(&w->ctx);
    tn_arena_init(&w->arena);
    tn_pool_init(&w->pool, &w->ctx, &w->arena, NULL);
}

static void open_child(world *w, const world *parent)
{
    tn_ctx_child_init(&w->ctx, &parent->ctx);
    tn_arena_init(&w->arena);
    tn_pool_init(&w->pool, &w->ctx, &w->arena, &parent->pool);
}

static void drop(world *w)
{
    tn_arena_deinit(&w->arena);
    tn_ctx_deinit(&w->ctx);
}

static const tn_layout *layout(world *w, const char *text)
{
    const tn_layout *l = NULL;
    assert_int_equal(tn_layout_parse(&w->ctx, text, NULL, &l), TN_OK);
    return l;
}

/* n * 8 + k */
static const tn_expr *sum(world *w, int k)
{
    tn_pool *p = &w->pool;
    return tn_add(p, tn_mul(p, tn_sym(p, "n"), tn_idx(p, 8)), tn_idx(p, k));
}

static void what_the_parent_has_is_found(void **state)
{
    (void)state;
    world p, a;
    open_parent(&p);
    const char *name = tn_intern(&p.ctx, "conv");
    const tn_layout *l = layout(&p, "NCHW16c");
    const tn_expr *e = sum(&p, 1);
    tn_ctx_freeze(&p.ctx);
    open_child(&a, &p);
    assert_ptr_equal(tn_intern(&a.ctx, "conv"), name);
    assert_ptr_equal(layout(&a, "NCHW16c"), l);
    assert_ptr_equal(sum(&a, 1), e);
    assert_int_equal(a.pool.n, 0);
    const char *fresh = tn_intern(&a.ctx, "pool");
    assert_ptr_equal(tn_intern(&a.ctx, "pool"), fresh);
    assert_ptr_equal(sum(&a, 2), sum(&a, 2));
    assert_true(sum(&a, 2)->id >= p.pool.n);
    assert_ptr_equal(layout(&a, "NCHW4c"), layout(&a, "NCHW4c"));
    drop(&a);
    drop(&p);
}

static void a_kept_child_stays_what_it_is(void **state)
{
    (void)state;
    world p, a;
    open_parent(&p);
    (void)sum(&p, 1);
    tn_ctx_freeze(&p.ctx);
    open_child(&a, &p);
    const char *name = tn_intern(&a.ctx, "late");
    const tn_layout *l = layout(&a, "NCHW4c");
    const tn_expr *e = sum(&a, 3);
    tn_ctx_thaw(&p.ctx);
    assert_ptr_not_equal(tn_intern(&p.ctx, "late"), name);
    assert_ptr_not_equal(layout(&p, "NCHW4c"), l);
    const tn_expr *mine = sum(&p, 3), *other = sum(&p, 4);
    assert_ptr_not_equal(mine, e);
    assert_ptr_equal(tn_intern(&a.ctx, "late"), name);
    assert_ptr_equal(layout(&a, "NCHW4c"), l);
    assert_ptr_equal(sum(&a, 3), e);
    assert_ptr_not_equal(sum(&a, 4), other); /* its id may be that of one of the child's */
    assert_ptr_equal(tn_expr_import(&p.pool, e), mine);
    assert_ptr_equal(tn_expr_import(&p.pool, sum(&a, 4)), other);
    const tn_expr *fresh = tn_expr_import(&p.pool, sum(&a, 5));
    assert_ptr_equal(fresh, sum(&p, 5));
    drop(&a);
    drop(&p);
}

/* A candidate of a search: a child of a kernel's child, thrown away. */
static void children_have_children(void **state)
{
    (void)state;
    world p, a, b;
    open_parent(&p);
    const tn_expr *first = sum(&p, 1);
    tn_ctx_freeze(&p.ctx);
    open_child(&a, &p);
    tn_ctx_thaw(&p.ctx);
    const char *name = tn_intern(&a.ctx, "block");
    const tn_expr *e = sum(&a, 2), *late = sum(&p, 3); /* late has an id that is one of a's, too */
    for (int round = 0; round < 2; round++) {
        tn_ctx_freeze(&a.ctx);
        open_child(&b, &a);
        assert_ptr_equal(tn_intern(&b.ctx, "block"), name);
        assert_ptr_equal(sum(&b, 1), first);
        assert_ptr_equal(sum(&b, 2), e);
        assert_int_equal(b.pool.n, 0);
        assert_ptr_not_equal(sum(&b, 3), late);
        assert_true(sum(&b, 3)->id >= a.pool.first_id + a.pool.n);
        assert_int_equal(tn_error(&b.ctx, "t-E001", NULL, "refused"), TN_FAIL);
        tn_ctx_thaw(&a.ctx);
        drop(&b);
    }
    assert_int_equal(a.ctx.n_diag, 0);
    drop(&a);
    drop(&p);
}

static void shuffles_and_symbols_are_imported(void **state)
{
    (void)state;
    static const uint8_t lane[4] = {3, 2, 1, 0};
    world p, a;
    open_parent(&p);
    tn_ctx_freeze(&p.ctx);
    open_child(&a, &p);
    const tn_expr *v = tn_var(&a.pool, tn_dtype_lanes(TN_F32, 4), 1),
                  *e = tn_shuffle(&a.pool, v, NULL, 4, lane);
    const tn_expr *s = tn_add(&a.pool, tn_sym(&a.pool, "m"), tn_sym(&a.pool, "k"));
    tn_ctx_thaw(&p.ctx);
    const tn_expr *of_p = tn_var(&p.pool, tn_dtype_lanes(TN_F32, 4), 1);
    assert_ptr_equal(tn_expr_import(&p.pool, e), tn_shuffle(&p.pool, of_p, NULL, 4, lane));
    assert_ptr_equal(tn_expr_import(&p.pool, s), tn_add(&p.pool, tn_sym(&p.pool, "m"), tn_sym(&p.pool, "k")));
    drop(&a); /* nothing of p's may point into it */
    tn_buf text = {0};
    tn_expr_print(tn_sym(&p.pool, "m"), NULL, &text);
    assert_string_equal(tn_buf_cstr(&text), "m");
    tn_buf_deinit(&text);
    drop(&p);
}

static void reports_come_back_in_order(void **state)
{
    (void)state;
    world p, a, b;
    char node[] = "Gemm_0";
    open_parent(&p);
    tn_ctx_freeze(&p.ctx);
    open_child(&a, &p);
    open_child(&b, &p);
    assert_int_equal(tn_error(&b.ctx, "t-E001", &(tn_loc){.node = node}, "b %d", 1), TN_FAIL);
    assert_int_equal(tn_report(&a.ctx, TN_WARNING, "t-W001", NULL, "a"), TN_OK);
    assert_int_equal(tn_error(&b.ctx, "t-E002", NULL, "100 %%"), TN_FAIL);
    assert_int_equal(a.ctx.n_error, 0);
    tn_ctx_thaw(&p.ctx);
    tn_ctx_join(&p.ctx, &a.ctx);
    tn_ctx_join(&p.ctx, &b.ctx);
    tn_ctx_join(&p.ctx, &b.ctx); /* is empty now */
    drop(&a);
    drop(&b);
    tn_buf text = {0};
    tn_diag_print_all(&p.ctx, &text);
    assert_string_equal(tn_buf_cstr(&text), "warning: a [t-W001]\n"
                                            "node Gemm_0: error: b 1 [t-E001]\n"
                                            "error: 100 % [t-E002]\n");
    assert_int_equal(p.ctx.n_error, 2);
    tn_buf_deinit(&text);
    drop(&p);
}

/* ---- frozen ---- */

static void add_string(world *p) { (void)tn_intern(&p->ctx, "new"); }
static void add_expr(world *p) { (void)tn_idx(&p->pool, 77); }
static void add_layout(world *p) { (void)layout(p, "NCHW32c"); }
static void add_report(world *p) { (void)tn_report(&p->ctx, TN_NOTE, "t-N001", NULL, "old"); }
static void freeze_again(world *p) { tn_ctx_freeze(&p->ctx); }
static void open_unfrozen(world *p)
{
    world c;
    tn_ctx_thaw(&p->ctx);
    open_child(&c, p);
}

static void nothing_is_added_to_what_is_frozen(void **state)
{
    (void)state;
    static void (*const row[])(world *) = {add_string, add_expr,     add_layout,
                                           add_report, freeze_again, open_unfrozen};
    world p;
    open_parent(&p);
    (void)tn_intern(&p.ctx, "old");
    tn_ctx_freeze(&p.ctx);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) {
            if (!freopen("/dev/null", "w", stderr))
                _exit(0);
            row[i](&p);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_string_equal(tn_intern(&p.ctx, "old"), "old"); /* to look up is allowed */
    drop(&p);
}

/* ---- threads ---- */

enum { THREADS = 8, WORK = 2000 };

static void *work(void *at)
{
    world *c = at;
    for (int i = 0; i < WORK; i++) {
        char text[16];
        snprintf(text, sizeof text, "n%d", i);
        (void)tn_intern(&c->ctx, text);
        (void)sum(c, i);
    }
    (void)tn_report(&c->ctx, TN_NOTE, "t-N001", NULL, "%s", tn_intern(&c->ctx, "done"));
    return NULL;
}

static void children_work_at_once(void **state)
{
    (void)state;
    world p, c[THREADS];
    pthread_t t[THREADS];
    open_parent(&p);
    for (int i = 0; i < WORK / 2; i++)
        (void)sum(&p, 2 * i);
    tn_ctx_freeze(&p.ctx);
    for (int i = 0; i < THREADS; i++) {
        open_child(&c[i], &p);
        assert_int_equal(pthread_create(&t[i], NULL, work, &c[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(t[i], NULL), 0);
    tn_ctx_thaw(&p.ctx);
    for (int i = 0; i < THREADS; i++) {
        tn_ctx_join(&p.ctx, &c[i].ctx);
        assert_int_equal(c[i].pool.n, c[0].pool.n);
        drop(&c[i]);
    }
    assert_int_equal(p.ctx.n_diag, 1); /* the same eight times */
    drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_parent_has_is_found), cmocka_unit_test(a_kept_child_stays_what_it_is),
        cmocka_unit_test(children_have_children),       cmocka_unit_test(shuffles_and_symbols_are_imported),
        cmocka_unit_test(reports_come_back_in_order),   cmocka_unit_test(nothing_is_added_to_what_is_frozen),
        cmocka_unit_test(children_work_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
