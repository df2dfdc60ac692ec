/* Building and editing functions: tables, lists, clones, walks, substitution, facts. */
#include "tir_fixture.h"

static tn_func *gemm(fixture *x)
{
    return read_func(x, "func @gemm(A: f32[n, 64], B: f32[64, 8]) -> (C: f32[n, 8]) {\n"
                        "  for i < n, j < 8, k < 64:\n"
                        "    block c(i: spatial, j: spatial, k: reduce):\n"
                        "      init C[i, j] = 0\n"
                        "      C[i, j] = C[i, j] + A[i, k]*B[k, j]\n"
                        "  for i < n:\n"
                        "    if i < 3:\n"
                        "      C[i, 0] = 1\n"
                        "    else:\n"
                        "      let t: index = i + 1\n"
                        "      check t < 100 \"small\"\n"
                        "      C[i, 1] = 2\n"
                        "}\n");
}

static void names_are_made_unique_and_readable(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    static const struct {
        const char *given, *got;
    } row[] = {
        {"acc", "acc"},  {"acc", "acc_1"}, {"acc", "acc_2"}, {"acc_1", "acc_1_1"},
        {"for", "for_"}, {"3d", "_3d"},    {"a/b", "a_b"},   {"", "v"},
        {"x.y", "x.y"},  {"x..y", "x._y"}, {"x.", "x_"},
    };
    tn_func *f = tn_func_new(&x.ctx, &x.arena, &x.pool, "f");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint32_t b = tn_func_add_buffer(f, &(tn_buffer){.name = row[i].given, .dtype = TN_F32, .param = -1});
        assert_int_equal(b, i);
        assert_string_equal(f->buffer[b].name, row[i].got);
        assert_string_equal(tn_stmt_block(f, row[i].given, "", 0)->u.block.name, f->buffer[b].name);
    }
    fixture_deinit(&x);
}

static void parameters_keep_their_positions(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    tn_func *f = tn_func_new(&x.ctx, &x.arena, &x.pool, "f");
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t b = tn_func_add_buffer(f, &(tn_buffer){.name = "p", .dtype = TN_F32, .param = -1});
        tn_func_add_param(f, b, i >= 60);
    }
    tn_func *c = tn_func_clone(f, &x.arena, &x.pool);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(f->param[i], i);
        assert_int_equal(c->param[i], i);
        assert_int_equal(c->buffer[i].param, i);
        assert_int_equal(c->buffer[i].written, i >= 60);
    }
    fixture_deinit(&x);
}

typedef struct trace {
    char text[256];
    size_t n;
} trace;

static bool enter(tn_stmt *s, void *user)
{
    trace *t = user;
    t->text[t->n++] = "FBSILDC"[s->kind];
    return true;
}

static void leave(tn_stmt *s, void *user)
{
    trace *t = user;
    t->text[t->n++] = "fbsildc"[s->kind];
}

static void a_walk_enters_and_leaves_in_program_order(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    trace t = {{0}, 0};
    tn_stmt_walk(&gemm(&x)->body, enter, leave, &t);
    assert_string_equal(t.text, "FFFBSsSsbfffFISsLlCcSsif");
    fixture_deinit(&x);
}

static void drop_stores(tn_stmt *s, void *user)
{
    (void)user;
    if (s->kind == TN_S_STORE)
        tn_stmt_remove(s);
}

static void leave_may_unlink(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    tn_func *f = gemm(&x);
    trace t = {{0}, 0};
    tn_stmt_walk(&f->body, NULL, drop_stores, NULL);
    tn_stmt_walk(&f->body, enter, NULL, &t);
    assert_string_equal(t.text, "FFFBFILC");
    fixture_deinit(&x);
}

static void a_clone_prints_the_same_and_is_independent(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    tn_func *f = gemm(&x);
    tn_arena arena;
    tn_pool pool;
    tn_arena_init(&arena);
    tn_pool_init(&pool, &x.ctx, &arena, &x.pool);
    tn_func *c = tn_func_clone(f, &arena, &pool);
    tn_buf before = {0};
    tn_func_print(f, &before);
    assert_string_equal(printed(&x, c), before.at);
    tn_stmt_subst(c, c->body.first, 1, &c->body.first->u.loop.body.first->u.loop.var,
                  (const tn_expr *[]){tn_idx(&pool, 0)});
    tn_stmt_remove(c->body.last);
    assert_string_not_equal(printed(&x, c), before.at);
    assert_string_equal(printed(&x, f), before.at);
    tn_stmt *copy = tn_stmt_clone(f, f->body.last);
    assert_null(copy->list);
    tn_stmt_replace(f->body.last, copy);
    assert_string_equal(printed(&x, f), before.at);
    tn_buf_deinit(&before);
    tn_arena_deinit(&arena);
    fixture_deinit(&x);
}

static void lists_are_edited_in_place(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    tn_func *f = tn_func_new(&x.ctx, &x.arena, &x.pool, "f");
    tn_stmt *s[5];
    for (int i = 0; i < 5; i++)
        s[i] = tn_stmt_new(f, TN_S_IF);
    tn_body_append(&f->body, s[0]);
    tn_body_append(&f->body, s[2]);
    tn_body_insert(&f->body, s[2], s[1]);
    tn_body_append(&s[1]->u.cond.other, s[3]);
    tn_body_append(&s[3]->u.cond.then, s[4]);
    assert_ptr_equal(s[0]->next, s[1]);
    assert_ptr_equal(s[2]->prev, s[1]);
    assert_true(tn_stmt_inside(s[4], s[1]));
    assert_false(tn_stmt_inside(s[4], s[0]));
    assert_false(tn_stmt_inside(s[1], s[1]));
    assert_ptr_equal(tn_stmt_parent(s[4]), s[3]);
    assert_null(tn_stmt_parent(s[0]));
    tn_body_move(&f->body, s[1], &s[1]->u.cond.other);
    assert_null(s[1]->u.cond.other.first);
    assert_ptr_equal(s[0]->next, s[3]);
    assert_ptr_equal(s[3]->next, s[1]);
    tn_stmt_remove(s[0]);
    assert_ptr_equal(f->body.first, s[3]);
    assert_null(s[3]->prev);
    tn_stmt_remove(s[2]);
    assert_ptr_equal(f->body.last, s[1]);
    assert_null(s[2]->list);
    fixture_deinit(&x);
}

static void loops_and_blocks_are_found(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    tn_func *f = gemm(&x);
    tn_stmt *b = tn_func_block(f, "c"), *loop[4];
    assert_non_null(b);
    assert_null(tn_func_block(f, "d"));
    assert_int_equal(tn_stmt_loops(b, 4, loop), 3);
    assert_ptr_equal(loop[0], f->body.first);
    assert_ptr_equal(loop[2], tn_stmt_parent(b));
    assert_int_equal(tn_stmt_loops(b, 2, loop), 2);
    assert_ptr_equal(loop[0], f->body.first);
    fixture_deinit(&x);
}

/* At the last store of gemm: 3 <= i < n, t = i + 1, t < 100. */
static void facts_know_loops_branches_lets_and_checks(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    tn_func *f = gemm(&x);
    tn_stmt *branch = f->body.last->u.loop.body.first, *s = branch->u.cond.other.last;
    const tn_expr *i = f->body.last->u.loop.var, *t = branch->u.cond.other.first->u.let.var,
                  *n = tn_sym(&x.pool, "n");
    tn_facts facts;
    tn_stmt_facts(f, s, &facts);
    assert_int_equal(tn_prove(&x.pool, &facts, tn_lt(&x.pool, i, n)), 1);
    assert_int_equal(tn_prove(&x.pool, &facts, tn_le(&x.pool, tn_idx(&x.pool, 3), i)), 1);
    assert_int_equal(tn_prove(&x.pool, &facts, tn_lt(&x.pool, t, tn_idx(&x.pool, 100))), 1);
    assert_int_equal(tn_prove(&x.pool, &facts, tn_lt(&x.pool, i, tn_idx(&x.pool, 50))), -1);
    tn_facts_deinit(&facts);
    tn_stmt_facts(f, branch->u.cond.then.first, &facts);
    assert_int_equal(tn_prove(&x.pool, &facts, tn_lt(&x.pool, i, tn_idx(&x.pool, 3))), 1);
    tn_facts_deinit(&facts);
    fixture_deinit(&x);
}

/* In init the mask need not hold, and a reduce variable is 0. */
static void facts_of_init_and_body_differ(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    tn_func *f = read_func(&x, "func @f() -> (C: f32[20]) {\n"
                               "  for io < 5, ii < 8, k < 3:\n"
                               "    block c(i < 20: spatial = io*8 + ii, k: reduce) mask io*8 + ii < 15:\n"
                               "      init C[i] = 0\n"
                               "      C[i] = 1\n"
                               "}\n");
    tn_stmt *b = tn_func_block(f, "c");
    const tn_expr *i = b->u.block.iter[0].var, *k = b->u.block.iter[1].var;
    for (int body = 0; body < 2; body++) {
        tn_facts facts;
        tn_stmt_facts(f, body ? b->u.block.body.first : b->u.block.init.first, &facts);
        assert_int_equal(facts.n_cond, body);
        assert_int_equal(tn_prove(&x.pool, &facts, tn_lt(&x.pool, i, tn_idx(&x.pool, 20))), 1);
        assert_int_equal(tn_prove(&x.pool, &facts, tn_eq(&x.pool, k, tn_idx(&x.pool, 0))), body ? -1 : 1);
        tn_facts_deinit(&facts);
    }
    fixture_deinit(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_made_unique_and_readable),
        cmocka_unit_test(parameters_keep_their_positions),
        cmocka_unit_test(a_walk_enters_and_leaves_in_program_order),
        cmocka_unit_test(leave_may_unlink),
        cmocka_unit_test(a_clone_prints_the_same_and_is_independent),
        cmocka_unit_test(lists_are_edited_in_place),
        cmocka_unit_test(loops_and_blocks_are_found),
        cmocka_unit_test(facts_know_loops_branches_lets_and_checks),
        cmocka_unit_test(facts_of_init_and_body_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
