/* te: blocks made from tensor expressions, inlining, readers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "numeric/run.h"

static const char *text_of(env *e, const tn_func *f)
{
    tn_buf b = {0};
    tn_func_print(f, &b);
    const char *s = tn_arena_strdup(&e->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

static void expect_text(env *e, const tn_func *f, const char *want)
{
    REQUIRE(e, tn_func_verify(f) == TN_OK);
    const char *got = text_of(e, f);
    if (strcmp(got, want) != 0)
        fail_msg("got\n%s\nexpected\n%s", got, want);
}

static tn_te start(env *e)
{
    tn_te te;
    env_init(e);
    tn_te_init(&te, &e->ctx, &e->arena, &e->pool, "f");
    return te;
}

static tn_tensor *dense(tn_te *te, tn_tensor *a, tn_tensor *w)
{
    const tn_expr *dim[] = {a->dim[0], w->dim[0]};
    te->tag = "dense";
    tn_tensor *t = tn_te_new(te, "acc", TN_F32, 2, dim, "i j");
    const tn_expr *k = tn_te_reduce_axis(te, t, "k", a->dim[1]);
    tn_te_sum(te, t, tn_mul(te->pool, tn_at2(te, a, t->axis[0], k), tn_at2(te, w, t->axis[1], k)), NULL);
    te->tag = "";
    return t;
}

/* The example of the design: dense, bias, relu; the last two in one block. */
static void dense_bias_relu_is_two_blocks(void **state)
{
    (void)state;
    env e;
    tn_te te = start(&e);
    tn_tensor *a = tn_te_input(&te, "A", type_of(&e, "float32 n 64"));
    const tn_layout *nk32n = NULL;
    REQUIRE(&e, tn_layout_parse(&e.ctx, "NK32n", NULL, &nk32n) == TN_OK);
    tn_tensor *w = tn_te_input(&te, "W", tn_type_relayout(&e.pool, type_of(&e, "float32 256 64"), nk32n));
    tn_tensor *b = tn_te_input(&te, "b", type_of(&e, "float32 256"));
    tn_tensor *acc = dense(&te, a, w);
    tn_tensor *bias = tn_te_new(&te, "bias", TN_F32, 2, acc->dim, "i j");
    tn_te_define(
        &te, bias,
        tn_add(&e.pool, tn_at2(&te, acc, bias->axis[0], bias->axis[1]), tn_at1(&te, b, bias->axis[1])));
    tn_tensor *relu = tn_te_new(&te, "relu", TN_F32, 2, acc->dim, "i j");
    tn_te_define(
        &te, relu,
        tn_max(&e.pool, tn_at2(&te, bias, relu->axis[0], relu->axis[1]), tn_flt(&e.pool, TN_F32, 0)));
    bool once = false;
    assert_int_equal(tn_te_readers(&te, bias, &once), 1);
    assert_true(once);
    tn_te_inline(&te, bias);
    tn_func *f = tn_te_finish(&te, 1, &relu, NULL);
    expect_text(&e, f,
                "func @f(A: f32[n, 64], W: f32[256, 64, NK32n], b: f32[256]) -> (out: f32[n, 256]) {\n"
                "  buffer acc: f32[n, 256]\n"
                "  for i < n, j < 256, k < 64:\n"
                "    block acc(i: spatial, j: spatial, k: reduce) tag \"dense\":\n"
                "      init acc[i, j] = 0f\n"
                "      acc[i, j] = W[j, k] * A[i, k] + acc[i, j]\n"
                "  for i < n, j < 256:\n"
                "    block out(i: spatial, j: spatial):\n"
                "      out[i, j] = max(acc[i, j] + b[j], 0f)\n"
                "}\n");
    assert_int_equal(f->n_symbol, 1);
    assert_string_equal(f->symbol[0].name, "n");
    env_deinit(&e);
}

static void rank_0_has_no_loops(void **state)
{
    (void)state;
    env e;
    tn_te te = start(&e);
    tn_tensor *x = tn_te_input(&te, "x", type_of(&e, "float32"));
    tn_tensor *t = tn_te_new(&te, "t", TN_F32, 0, NULL, NULL);
    tn_te_define(&te, t, tn_intrinsic1(&e.pool, TN_F_exp, tn_at(&te, x, 0, NULL)));
    tn_func *f = tn_te_finish(&te, 1, &t, NULL);
    REQUIRE(&e, tn_func_verify(f) == TN_OK);
    assert_int_equal(f->body.first->kind, TN_S_BLOCK);
    assert_ptr_equal(f->body.first, f->body.last);
    env_deinit(&e);
}

/* A reduction without elements is its initial value; one whose terms are all masked, too. */
static void init_and_where(void **state)
{
    (void)state;
    env e;
    tn_te te = start(&e);
    tn_tensor *x = tn_te_input(&te, "x", type_of(&e, "float32 4 5"));
    const tn_expr *dim[] = {tn_idx(&e.pool, 4)};
    tn_tensor *t = tn_te_new(&te, "t", TN_F32, 1, dim, "i");
    const tn_expr *k = tn_te_reduce_axis(&te, t, "k", tn_idx(&e.pool, 5));
    const tn_expr *init = tn_cast(&e.pool, TN_F32, tn_add(&e.pool, t->axis[0], tn_idx(&e.pool, 100)));
    tn_te_reduce(&te, t, TN_RED_SUM, tn_at2(&te, x, t->axis[0], k), tn_lt(&e.pool, k, t->axis[0]), init);
    tn_func *f = tn_te_finish(&te, 1, &t, NULL);
    REQUIRE(&e, tn_func_verify(f) == TN_OK);
    float in[20], out[4];
    for (int i = 0; i < 20; i++)
        in[i] = 1;
    REQUIRE(&e, tn_func_run(f, (void *[]){in, out}, NULL) == TN_OK);
    for (int i = 0; i < 4; i++)
        assert_true(out[i] == (float)(100 + 2 * i));
    env_deinit(&e);
}

static void reducers_have_their_neutral_elements(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct { enum tn_reducer r; const char *type; double want_i; } row[] = {
        {TN_RED_SUM, "int32 3", 0}, {TN_RED_PROD, "int32 3", 1}, {TN_RED_MAX, "int8 3", -128}, {TN_RED_MIN,
            "int8 3", 127},
        {TN_RED_MAX, "uint8 3", 0}, {TN_RED_MIN, "uint8 3", 255}, {TN_RED_MAX, "float32 3", -INFINITY},
        {TN_RED_MIN, "float32 3", INFINITY}, {TN_RED_ANY, "bool 3", 0}, {TN_RED_ALL, "bool 3", 1},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        env e;
        tn_te te = start(&e);
        tn_tensor *x = tn_te_input(&te, "x", type_of(&e, row[i].type));
        tn_tensor *t = tn_te_new(&te, "t", x->dtype, 0, NULL, NULL);
        const tn_expr *k = tn_te_reduce_axis(&te, t, "k", x->dim[0]);
        tn_te_reduce(&te, t, row[i].r, tn_at1(&te, x, k), NULL, NULL);
        assert_true((t->init->kind == TN_E_FLOAT ? t->init->u.f : (double)t->init->u.i) == row[i].want_i);
        REQUIRE(&e, tn_func_verify(tn_te_finish(&te, 1, &t, NULL)) == TN_OK);
        env_deinit(&e);
    }
}

/* Nothing to do for an empty tensor; a reduction over nothing is its initial value. */
static void empty_extents(void **state)
{
    (void)state;
    env e;
    tn_te te = start(&e);
    tn_tensor *x = tn_te_input(&te, "x", type_of(&e, "float32 0 3"));
    tn_tensor *copy = tn_te_new(&te, "copy", TN_F32, 2, x->dim, "i j");
    tn_te_define(&te, copy, tn_at2(&te, x, copy->axis[0], copy->axis[1]));
    tn_tensor *sum = tn_te_new(&te, "sum", TN_F32, 1, x->dim + 1, "j");
    const tn_expr *k = tn_te_reduce_axis(&te, sum, "k", x->dim[0]);
    tn_te_reduce(&te, sum, TN_RED_PROD, tn_at2(&te, x, k, sum->axis[0]), NULL, NULL);
    tn_func *f = tn_te_finish(&te, 2, (tn_tensor *[]){copy, sum}, NULL);
    REQUIRE(&e, tn_func_verify(f) == TN_OK);
    float in[1], none[1] = {7}, out[3];
    REQUIRE(&e, tn_func_run(f, (void *[]){in, none, out}, NULL) == TN_OK);
    assert_true(none[0] == 7 && out[0] == 1 && out[1] == 1 && out[2] == 1);
    env_deinit(&e);
}

/* What nobody reads makes no block; an input as output is copied; helpers keep the order of definition. */
static void finish_leaves_out_and_copies(void **state)
{
    (void)state;
    env e;
    tn_te te = start(&e);
    tn_tensor *x = tn_te_input(&te, "x", type_of(&e, "float32 3"));
    tn_tensor *late = tn_te_new(&te, "late", TN_F32, 1, x->dim, "i"),
              *unused = tn_te_new(&te, "unused", TN_F32, 1, x->dim, "i");
    tn_tensor *early = tn_te_new(&te, "early", TN_F32, 1, x->dim, "i");
    const tn_expr *k = tn_te_reduce_axis(&te, early, "k", x->dim[0]);
    tn_te_sum(&te, early, tn_mul(&e.pool, tn_at1(&te, x, k), tn_at1(&te, x, early->axis[0])), NULL);
    tn_te_define(&te, late, tn_at1(&te, early, late->axis[0]));
    tn_te_define(&te, unused, tn_at1(&te, early, unused->axis[0]));
    tn_tensor *out[] = {late, x, late};
    tn_func *f = tn_te_finish(&te, 3, out, NULL);
    REQUIRE(&e, tn_func_verify(f) == TN_OK);
    assert_null(tn_func_block(f, "unused"));
    assert_non_null(tn_func_block(f, "early"));
    assert_int_equal(f->n_param, 4);
    assert_string_equal(f->buffer[f->param[1]].name, "out");
    assert_string_equal(f->buffer[f->param[2]].name, "out1");
    assert_string_equal(f->buffer[f->param[3]].name, "out2");
    float in[3] = {1, 2, 3}, a[3], b[3], c[3];
    REQUIRE(&e, tn_func_run(f, (void *[]){in, a, b, c}, NULL) == TN_OK);
    for (int i = 0; i < 3; i++)
        assert_true(a[i] == 6 * in[i] && b[i] == in[i] && c[i] == a[i]);
    env_deinit(&e);
}

/* y = x / d read under a mask: where it fails neither x nor d is touched, and nothing divides by what is
 * there. */
static void inlining_under_a_mask_guards_loads_and_divisors(void **state)
{
    (void)state;
    env e;
    tn_te te = start(&e);
    tn_tensor *x = tn_te_input(&te, "x", type_of(&e, "int32 2")),
              *d = tn_te_input(&te, "d", type_of(&e, "int32 2"));
    tn_tensor *q = tn_te_new(&te, "q", TN_I32, 1, x->dim, "i");
    tn_te_define(&te, q, tn_fdiv(&e.pool, tn_at1(&te, x, q->axis[0]), tn_at1(&te, d, q->axis[0])));
    const tn_expr *four = tn_idx(&e.pool, 4);
    tn_tensor *t = tn_te_new(&te, "t", TN_I32, 1, &four, "i");
    const tn_expr *at = tn_sub(&e.pool, t->axis[0], tn_idx(&e.pool, 1));
    const tn_expr *inside =
        tn_and(&e.pool, tn_le(&e.pool, tn_idx(&e.pool, 0), at), tn_lt(&e.pool, at, tn_idx(&e.pool, 2)));
    tn_te_define(&te, t, tn_at_if(&te, q, 1, &at, inside, tn_int(&e.pool, TN_I32, -7)));
    tn_te_inline(&te, q);
    tn_func *f = tn_te_finish(&te, 1, &t, NULL);
    REQUIRE(&e, tn_func_verify(f) == TN_OK);
    assert_int_equal(f->n_param, 3);
    assert_null(tn_func_block(f, "q"));
    int32_t a[2] = {9, -9}, b[2] = {2, 2}, out[4];
    REQUIRE(&e, tn_func_run(f, (void *[]){a, b, out}, NULL) == TN_OK);
    assert_int_equal(out[0], -7);
    assert_int_equal(out[1], 4);
    assert_int_equal(out[2], -5);
    assert_int_equal(out[3], -7);
    env_deinit(&e);
}

/* A plain read under a mask stays one masked load. */
static void inlining_a_copy_keeps_one_load(void **state)
{
    (void)state;
    env e;
    tn_te te = start(&e);
    tn_tensor *x = tn_te_input(&te, "x", type_of(&e, "float32 8"));
    tn_tensor *r = tn_te_new(&te, "r", TN_F32, 1, x->dim, "i");
    tn_te_define(&te, r, tn_at1(&te, x, tn_sub(&e.pool, tn_idx(&e.pool, 7), r->axis[0])));
    const tn_expr *n = tn_idx(&e.pool, 10);
    tn_tensor *t = tn_te_new(&te, "t", TN_F32, 1, &n, "i");
    tn_te_define(&te, t,
                 tn_at_if(&te, r, 1, (const tn_expr *const *)t->axis,
                          tn_lt(&e.pool, t->axis[0], tn_idx(&e.pool, 8)), tn_flt(&e.pool, TN_F32, 5)));
    tn_te_inline(&te, r);
    REQUIRE(&e, tn_func_verify(tn_te_finish(&te, 1, &t, NULL)) == TN_OK);
    assert_int_equal(t->value->kind, TN_E_LOAD);
    assert_int_equal(t->value->u.load.buffer, x->buffer);
    env_deinit(&e);
}

/* i and j of a tensor. */
static const tn_expr *axis_named(void *user, const char *name)
{
    const tn_tensor *t = user;
    return t->axis[name[0] == 'j'];
}

/* readers: how index maps are judged. `index` reads x at one expression of axes i, j (and 1 more dimension
 * for two). */
static void readers_knows_injective_maps(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct { const char *type, *from, *index[2]; bool once; } row[] = {
        {"float32 4 6", "float32 4 6", {"i", "j"}, true},
        {"float32 6 4", "float32 4 6", {"j", "i"}, true},
        {"float32 4", "float32 4 6", {"i", NULL}, false},
        {"float32 24", "float32 4 6", {"i * 6 + j", NULL}, true},
        {"float32 30", "float32 4 6", {"i * 7 + j", NULL}, true},
        {"float32 24", "float32 4 6", {"i * 5 + j", NULL}, false},
        {"float32 24", "float32 4 6", {"23 - i * 6 - j", NULL}, true},
        {"float32 8 3", "float32 4 6", {"(i * 6 + j) / 3", "(i * 6 + j) % 3"}, true},
        {"float32 8 3", "float32 4 6", {"(i * 6 + j) / 3", "j % 2"}, false},
        {"float32 9 9", "float32 4 6", {"i + j", "i"}, true},
        {"float32 9 9", "float32 4 6", {"i + j", "i + j"}, false},
        {"float32 n 6", "float32 n 6", {"i", "j"}, true},
    };
    /* clang-format on */
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        env e;
        tn_te te = start(&e);
        tn_tensor *x = tn_te_input(&te, "x", type_of(&e, row[r].type));
        const tn_type *from = type_of(&e, row[r].from);
        tn_tensor *t = tn_te_new(&te, "t", TN_F32, 2, from->dim, "i j");
        const tn_expr *index[2];
        int n = 0;
        for (; n < 2 && row[r].index[n]; n++) { /* text over i and j */
            tn_lexer l;
            tn_lex_init(&l, &e.ctx, "index", row[r].index[n], strlen(row[r].index[n]), false);
            REQUIRE(&e, tn_expr_parse(&l, &e.pool, &(tn_scope_fns){.name = axis_named, .user = t}, TN_IDX,
                                      &index[n]) == TN_OK);
        }
        tn_te_define(&te, t, tn_at(&te, x, n, index));
        bool once = !row[r].once;
        assert_int_equal(tn_te_readers(&te, x, &once), 1);
        if (once != row[r].once)
            fail_msg("row %zu: %s %s", r, row[r].index[0], row[r].index[1] ? row[r].index[1] : "");
        env_deinit(&e);
    }
}

static void readers_counts_reductions_and_repeats(void **state)
{
    (void)state;
    env e;
    tn_te te = start(&e);
    tn_tensor *a = tn_te_input(&te, "a", type_of(&e, "float32 4 8")),
              *w = tn_te_input(&te, "w", type_of(&e, "float32 5 8"));
    tn_tensor *acc = dense(&te, a, w);
    bool once = true;
    assert_int_equal(tn_te_readers(&te, a, &once), 1);
    assert_false(once); /* read again for each output column */
    tn_tensor *sq = tn_te_new(&te, "sq", TN_F32, 2, acc->dim, "i j");
    const tn_expr *v = tn_at2(&te, acc, sq->axis[0], sq->axis[1]);
    tn_te_define(&te, sq, tn_mul(&e.pool, v, tn_intrinsic1(&e.pool, TN_F_sigmoid, v)));
    assert_int_equal(tn_te_readers(&te, acc, &once), 1);
    assert_true(once); /* one element, named twice */
    tn_tensor *again = tn_te_new(&te, "again", TN_F32, 2, acc->dim, "i j");
    tn_te_define(&te, again, tn_at2(&te, acc, again->axis[0], again->axis[1]));
    assert_int_equal(tn_te_readers(&te, acc, &once), 2);
    tn_te_inline(&te, again);
    assert_int_equal(tn_te_readers(&te, acc, &once), 1);
    env_deinit(&e);
}

/* Statements instead of an expression: the last loop writes squares. */
static void extern_tensors_bring_their_statements(void **state)
{
    (void)state;
    env e;
    tn_te te = start(&e);
    tn_tensor *x = tn_te_input(&te, "x", type_of(&e, "float32 4"));
    tn_tensor *shifted = tn_te_new(&te, "shifted", TN_F32, 1, x->dim, "i");
    tn_te_define(&te, shifted, tn_add(&e.pool, tn_at1(&te, x, shifted->axis[0]), tn_flt(&e.pool, TN_F32, 1)));
    tn_tensor *t = tn_te_new(&te, "squares", TN_F32, 1, x->dim, "i");
    tn_te_extern(&te, t);
    const tn_expr *i = tn_func_add_var(te.func, "i", TN_IDX), *v = tn_at1(&te, shifted, i);
    tn_stmt *loop = tn_stmt_for(te.func, i, x->dim[0], TN_LOOP_SERIAL);
    tn_body_append(&loop->u.loop.body, tn_stmt_store(te.func, t->buffer, 1, &i, tn_mul(&e.pool, v, v), NULL));
    tn_body_append(&t->body, loop);
    bool once = true;
    assert_int_equal(tn_te_readers(&te, shifted, &once), 1);
    tn_te_inline(&te, shifted);
    tn_func *f = tn_te_finish(&te, 1, &t, NULL);
    REQUIRE(&e, tn_func_verify(f) == TN_OK);
    float in[4] = {0, 1, 2, 3}, out[4];
    REQUIRE(&e, tn_func_run(f, (void *[]){in, out}, NULL) == TN_OK);
    for (int k = 0; k < 4; k++)
        assert_true(out[k] == (in[k] + 1) * (in[k] + 1));
    env_deinit(&e);
}

/* One loop writes x + 1 and the square of that. Of what nobody reads there is no trace; what the loop reads itself, and
 * nobody else, is memory of the call. */
static void bodies_define_several_tensors(void **state)
{
    (void)state;
    for (int wanted = 1; wanted < 4; wanted++) {
        env e;
        tn_te te = start(&e);
        tn_tensor *x = tn_te_input(&te, "x", type_of(&e, "float32 4"));
        tn_tensor *more = tn_te_new(&te, "more", TN_F32, 1, x->dim, "i"),
                  *square = tn_te_new(&te, "square", TN_F32, 1, x->dim, "i"), *out[2];
        tn_te_extern(&te, more);
        tn_te_extern_part(&te, square, more);
        const tn_expr *i = tn_func_add_var(te.func, "i", TN_IDX);
        const tn_expr *v = tn_add(&e.pool, tn_at1(&te, x, i), tn_flt(&e.pool, TN_F32, 1)),
                      *w = tn_at1(&te, more, i);
        tn_stmt *loop = tn_stmt_for(te.func, i, x->dim[0], TN_LOOP_SERIAL);
        tn_body_append(&more->body, loop);
        tn_body_append(&loop->u.loop.body, tn_stmt_store(te.func, more->buffer, 1, &i, v, NULL));
        loop = tn_stmt_for(te.func, i, x->dim[0], TN_LOOP_SERIAL);
        tn_body_append(&more->body, loop);
        tn_body_append(&loop->u.loop.body,
                       tn_stmt_store(te.func, square->buffer, 1, &i, tn_mul(&e.pool, w, w), NULL));
        int n = 0;
        if (wanted & 2)
            out[n++] = square;
        if (wanted & 1)
            out[n++] = more;
        tn_func *f = tn_te_finish(&te, n, out, NULL);
        REQUIRE(&e, tn_func_verify(f) == TN_OK);
        const tn_stmt *first = f->body.first;
        assert_int_equal(first->kind, wanted == 2 ? TN_S_BUFFER : TN_S_FOR);
        assert_true(wanted == 1 ? !first->next : first->next->kind == TN_S_FOR);
        float in[4] = {0, 1, 2, 3}, got[2][4];
        REQUIRE(&e, tn_func_run(f, (void *[]){in, got[0], got[1]}, NULL) == TN_OK);
        for (int k = 0; k < 4; k++) {
            assert_true(!(wanted & 2) || got[0][k] == (in[k] + 1) * (in[k] + 1));
            assert_true(!(wanted & 1) || got[n - 1][k] == in[k] + 1);
        }
        env_deinit(&e);
    }
}

/* 4,096 ones in float16: an accumulator of that type would stop at 2,048. */
static void narrow_floats_add_up_in_float32(void **state)
{
    (void)state;
    env e;
    tn_te te = start(&e);
    tn_tensor *x = tn_te_input(&te, "x", type_of(&e, "float16 4096"));
    tn_tensor *t = tn_te_new(&te, "sum", TN_F16, 0, NULL, NULL);
    const tn_expr *k = tn_te_reduce_axis(&te, t, "k", x->dim[0]);
    tn_te_sum(&te, t, tn_at1(&te, x, k), NULL);
    tn_func *f = tn_te_finish(&te, 1, &t, NULL);
    REQUIRE(&e, tn_func_verify(f) == TN_OK);
    uint16_t in[4096], out = 0;
    for (int i = 0; i < 4096; i++)
        in[i] = 0x3C00; /* 1 */
    REQUIRE(&e, tn_func_run(f, (void *[]){in, &out}, NULL) == TN_OK);
    assert_int_equal(out, 0x6C00); /* 4096 */
    env_deinit(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_bias_relu_is_two_blocks),
        cmocka_unit_test(rank_0_has_no_loops),
        cmocka_unit_test(init_and_where),
        cmocka_unit_test(reducers_have_their_neutral_elements),
        cmocka_unit_test(empty_extents),
        cmocka_unit_test(finish_leaves_out_and_copies),
        cmocka_unit_test(inlining_under_a_mask_guards_loads_and_divisors),
        cmocka_unit_test(inlining_a_copy_keeps_one_load),
        cmocka_unit_test(readers_knows_injective_maps),
        cmocka_unit_test(readers_counts_reductions_and_repeats),
        cmocka_unit_test(extern_tensors_bring_their_statements),
        cmocka_unit_test(bodies_define_several_tensors),
        cmocka_unit_test(narrow_floats_add_up_in_float32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
