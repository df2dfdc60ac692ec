/* ir/attr: what is printed reads back to an equal struct with the same hash, for every kind of field. */
#include "ir/attr.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

typedef struct world {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
} world;

static int enter(void **state)
{
    static world w;
    memset(&w, 0, sizeof w);
    tn_ctx_init(&w.ctx);
    tn_arena_init(&w.arena);
    tn_pool_init(&w.pool, &w.ctx, &w.arena, NULL);
    *state = &w;
    return 0;
}

static int leave(void **state)
{
    world *w = *state;
    tn_arena_deinit(&w->arena);
    tn_ctx_deinit(&w->ctx);
    return 0;
}

typedef struct sample {
    int64_t units;
    double alpha;
    bool keepdims;
    const char *mode;
    tn_dtype dtype;
    tn_ints axes;
    tn_dims shape;
    tn_strs names;
} sample;

static const tn_attr_field fields[] = {
    {"units", TN_A_I64, offsetof(sample, units), NULL, "required"},
    {"alpha", TN_A_F64, offsetof(sample, alpha), "0.01", "slope"},
    {"keepdims", TN_A_BOOL, offsetof(sample, keepdims), "False", "keep"},
    {"mode", TN_A_STR, offsetof(sample, mode), "\"constant\"", "mode"},
    {"dtype", TN_A_DTYPE, offsetof(sample, dtype), "None", "result"},
    {"axes", TN_A_INTS, offsetof(sample, axes), "[1, 1]", "axes"},
    {"shape", TN_A_DIMS, offsetof(sample, shape), "None", "shape"},
    {"names", TN_A_STRS, offsetof(sample, names), "[]", "names"},
    {0},
};

static const tn_expr *symbol(void *user, const char *name)
{
    return name[0] == 'n' || name[0] == 'm' ? tn_sym(user, name) : NULL;
}

/* Reads ", a=1, b=2" into s. */
static tn_status read_all(world *w, const char *text, sample *s)
{
    tn_scope_fns scope = {.name = symbol, .user = &w->pool};
    tn_lexer l;
    tn_lex_init(&l, &w->ctx, "t", text, strlen(text), false);
    while (tn_lex_accept(&l, ",")) {
        const char *name = tn_lex_ident(&l);
        if (!name)
            return TN_FAIL;
        TN_TRY(tn_lex_expect(&l, "="));
        TN_TRY(tn_attr_parse(&l, &w->pool, &scope, fields, name, s));
    }
    return l.tok == TN_TOK_END ? TN_OK : tn_lex_expected(&l, "the end");
}

static void assert_text(world *w, const sample *s, const char *text)
{
    tn_buf b = {0};
    tn_attr_print(&w->pool, fields, s, &b);
    assert_string_equal(tn_buf_cstr(&b), text);
    tn_buf_deinit(&b);
}

static void defaults_are_not_printed(void **state)
{
    world *w = *state;
    sample s;
    assert_int_equal(tn_attr_init(&w->pool, fields, sizeof s, &s), TN_OK);
    assert_true(s.units == 0 && s.alpha == 0.01 && !s.keepdims && s.dtype.bits == 0);
    assert_string_equal(s.mode, "constant");
    assert_true(s.axes.n == 2 && s.axes.at[0] == 1 && s.axes.at[1] == 1);
    assert_true(s.shape.n == 0 && !s.shape.at && s.names.n == 0 && s.names.at);
    assert_text(w, &s, ", units=0");
    s.units = 5;
    s.names.at = NULL;
    s.axes = tn_ints_make(&w->arena, 0, NULL);
    assert_text(w, &s, ", units=5, axes=[], names=None");
}

static void text_reads_and_prints(void **state)
{
    static const struct {
        const char *text, *printed;
    } rows[] = {
        {", units=3", ", units=3"},
        {", units=-9223372036854775807, alpha=1", ", units=-9223372036854775807, alpha=1"},
        {", alpha=-1.5e-3, keepdims=True", ", units=0, alpha=-0.0015, keepdims=True"},
        {", keepdims=1, alpha=-inf", ", units=0, alpha=-inf, keepdims=True"},
        {", alpha=0.01, keepdims=False", ", units=0"},
        {", mode=\"a \\\"b\\\"\\n\"", ", units=0, mode=\"a \\\"b\\\"\\n\""},
        {", mode=None", ", units=0, mode=None"},
        {", mode=\"None\"", ", units=0, mode=\"None\""},
        {", dtype=\"float32\"", ", units=0, dtype=\"float32\""},
        {", dtype=f16x8", ", units=0, dtype=\"float16x8\""},
        {", dtype=\"\"", ", units=0"},
        {", axes=2", ", units=0, axes=[2]"},
        {", axes=[1, 1]", ", units=0"},
        {", axes=(1, -2, 3,)", ", units=0, axes=[1, -2, 3]"},
        {", axes=None", ", units=0, axes=None"},
        {", shape=[n, 64, m*2]", ", units=0, shape=[n, 64, m*2]"},
        {", shape=[]", ", units=0, shape=[]"},
        {", names=[\"a\", \"b\"]", ", units=0, names=[\"a\", \"b\"]"},
        {", names=\"a\"", ", units=0, names=[\"a\"]"},
    };
    world *w = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sample s;
        tn_attr_init(&w->pool, fields, sizeof s, &s);
        if (read_all(w, rows[i].text, &s) != TN_OK)
            fail_msg("%s: %s", rows[i].text, w->ctx.diag[0].message);
        assert_text(w, &s, rows[i].printed);
    }
}

static void bad_text_is_refused(void **state)
{
    static const struct {
        const char *text, *id;
    } rows[] = {
        {", unit=3", "ir-E020"},
        {", units=x", "ir-E001"},
        {", units=1.5", "ir-E001"},
        {", alpha=\"x\"", "ir-E001"},
        {", keepdims=2", "ir-E002"},
        {", keepdims=Yes", "ir-E001"},
        {", mode=constant", "ir-E001"},
        {", dtype=\"float31\"", "ir-E021"},
        {", dtype=3", "ir-E001"},
        {", axes=[1, x]", "ir-E001"},
        {", axes=[1", "ir-E001"},
        {", shape=[k]", "ir-E003"},
        {", shape=[n < 3]", "ir-E021"},
        {", names=[1]", "ir-E001"},
        {", names=[\"\\q\"]", "ir-E002"},
        {", units=1f", "ir-E001"},
        {", axes=[9223372036854775808]", "ir-E002"},
    };
    world *w = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sample s;
        tn_attr_init(&w->pool, fields, sizeof s, &s);
        tn_diag_clear(&w->ctx);
        if (read_all(w, rows[i].text, &s) == TN_OK)
            fail_msg("%s was read", rows[i].text);
        assert_int_equal(w->ctx.n_diag, 1);
        assert_string_equal(w->ctx.diag[0].id, rows[i].id);
    }
    tn_diag_clear(&w->ctx);
    sample s;
    assert_int_equal(read_all(w, ", unit=3", &s), TN_FAIL);
    assert_string_equal(
        w->ctx.diag[0].message,
        "unknown attribute `unit`; known are: units, alpha, keepdims, mode, dtype, axes, shape, names");
}

static void random_sample(world *w, tn_rng *r, sample *s)
{
    static const char *const words[] = {"", "a", "constant", "None", "\"", "\\x\n", "NCHW"};
    int64_t ints[4];
    const tn_expr *dims[4];
    const char **strs = TN_NEW_N(&w->arena, const char *, 4);
    memset(s, 0, sizeof *s);
    uint32_t n = (uint32_t)tn_rng_below(r, 5);
    for (uint32_t i = 0; i < n; i++) {
        ints[i] = (int64_t)tn_rng_below(r, 7) - 3;
        dims[i] = tn_rng_below(r, 2) ? tn_sym(&w->pool, "n")
                                     : tn_mul(&w->pool, tn_sym(&w->pool, "m"), tn_idx(&w->pool, ints[i]));
        strs[i] = words[tn_rng_below(r, 7)];
    }
    s->units = (int64_t)(tn_rng_next(r) >> tn_rng_below(r, 63) >> 1);
    s->alpha = tn_rng_below(r, 5) ? tn_rng_unit(r) * 1e10 : tn_rng_below(r, 2) ? 0.01 : -0.0;
    s->keepdims = tn_rng_below(r, 2);
    s->mode = tn_rng_below(r, 5) ? words[tn_rng_below(r, 7)] : NULL;
    s->dtype = tn_rng_below(r, 3) ? TN_F16 : (tn_dtype){0};
    if (tn_rng_below(r, 4))
        s->axes = tn_ints_make(&w->arena, n, ints);
    if (tn_rng_below(r, 4))
        s->shape = tn_dims_make(&w->arena, n, dims);
    if (tn_rng_below(r, 4))
        s->names = (tn_strs){n, strs};
}

static void printed_attributes_read_back(void **state)
{
    world *w = *state;
    tn_rng r = {4};
    int differ = 0;
    for (int i = 0; i < 5000; i++) {
        sample a, b, c;
        tn_buf text = {0};
        random_sample(w, &r, &a);
        random_sample(w, &r, &c);
        tn_attr_init(&w->pool, fields, sizeof b, &b);
        tn_attr_print(&w->pool, fields, &a, &text);
        assert_int_equal(read_all(w, text.at, &b), TN_OK);
        assert_true(tn_attr_eq(fields, &a, &b));
        assert_true(tn_attr_hash(fields, &a) == tn_attr_hash(fields, &b));
        if (!tn_attr_eq(fields, &a, &c)) {
            differ++;
            assert_true(tn_attr_hash(fields, &a) != tn_attr_hash(fields, &c));
        }
        tn_buf_deinit(&text);
    }
    assert_true(differ > 4000);
}

static void each_field_counts(void **state)
{
    world *w = *state;
    sample base, s;
    tn_attr_init(&w->pool, fields, sizeof base, &base);
    for (int k = 0; k < 8; k++) {
        static const char *const change[] = {", units=1",    ", alpha=0",     ", keepdims=True",
                                             ", mode=\"x\"", ", dtype=int8",  ", axes=[1, 2]",
                                             ", shape=[n]",  ", names=[\"\"]"};
        s = base;
        assert_int_equal(read_all(w, change[k], &s), TN_OK);
        assert_false(tn_attr_eq(fields, &base, &s));
        assert_true(tn_attr_hash(fields, &base) != tn_attr_hash(fields, &s));
    }
    assert_true(tn_attr_eq(NULL, NULL, NULL)); /* an operator without attributes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(defaults_are_not_printed, enter, leave),
        cmocka_unit_test_setup_teardown(text_reads_and_prints, enter, leave),
        cmocka_unit_test_setup_teardown(bad_text_is_refused, enter, leave),
        cmocka_unit_test_setup_teardown(printed_attributes_read_back, enter, leave),
        cmocka_unit_test_setup_teardown(each_field_counts, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
