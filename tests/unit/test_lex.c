/* ir/lex: token streams with and without layout, positions, errors, strings. */
#include "base/rng.h"
#include "ir/lex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static int enter(void **state)
{
    static tn_ctx ctx;
    tn_ctx_init(&ctx);
    *state = &ctx;
    return 0;
}

static int leave(void **state)
{
    tn_ctx_deinit(*state);
    return 0;
}

/* The tokens of text as text: i:x ident, n:5 int, r:5 real, s:x string, p:x punctuation, NL > < for layout;
 * "!id" ends it after an error. */
static void stream(tn_ctx *ctx, const char *text, size_t n, bool layout, tn_buf *out)
{
    static const char letters[] = " inrsp";
    tn_lexer l;
    tn_diag_clear(ctx);
    tn_lex_init(&l, ctx, "t", text, n, layout);
    for (; l.tok != TN_TOK_END; tn_lex_next(&l)) {
        if (out->n)
            tn_buf_char(out, ' ');
        if (l.tok >= TN_TOK_NEWLINE) {
            tn_buf_str(out, l.tok == TN_TOK_NEWLINE ? "NL" : l.tok == TN_TOK_INDENT ? ">" : "<");
            continue;
        }
        tn_buf_printf(out, "%c:%.*s", letters[l.tok], (int)l.n, l.text);
        if (l.tok == TN_TOK_INT && l.n_suffix)
            tn_buf_printf(out, "+%.*s", (int)l.n_suffix, l.suffix);
    }
    if (l.failed)
        tn_buf_printf(out, "%s!%s", out->n ? " " : "", ctx->diag[0].id);
}

static void check(tn_ctx *ctx, const char *text, bool layout, const char *want)
{
    tn_buf b = {0};
    stream(ctx, text, strlen(text), layout, &b);
    assert_string_equal(tn_buf_cstr(&b), want);
    tn_buf_deinit(&b);
}

static void tokens(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"", ""},
        {"a b_1 _c", "i:a i:b_1 i:_c"},
        {"nn.conv2d(%x)", "i:nn.conv2d p:( p:% i:x p:)"},
        {"a. b a.", "i:a p:. i:b i:a p:."},
        {"block.0", "i:block.0"},
        {"%x.0 %fc.weight", "p:% i:x p:. n:0 p:% i:fc.weight"},
        {"%0.1, %10.12", "p:% n:0 p:. n:1 p:, p:% n:10 p:. n:12"},
        {"x % 0.5", "i:x p:% r:0.5"},
        {"1 23f 0x1F 0xffu64 5i32", "n:1 n:23+f n:0x1F n:0xff+u64 n:5+i32"},
        {"1.5 2e3 2.5e-3f 1e+9", "r:1.5 r:2e3 r:2.5e-3 r:1e+9"},
        {"1. 1.a 1e 1ex", "n:1 p:. n:1 p:. i:a n:1+e n:1+ex"},
        {"0x", "n:0+x"},
        {"-> => == != <= >= << >> < = -", "p:-> p:=> p:== p:!= p:<= p:>= p:<< p:>> p:< p:= p:-"},
        {"<<=->>", "p:<< p:= p:-> p:>"},
        {"\"a b\" \"\" \"\\\"\\\\\"", "s:a b s: s:\\\"\\\\"},
        {"a // b\nc # d\ne /* f\n g */ h", "i:a i:c i:e i:h"},
        {"#[version]", "p:# p:[ i:version p:]"},
        {"a/b /**/c", "i:a p:/ i:b i:c"},
        {"\"a", "!ir-E002"},
        {"\"a\nb\"", "!ir-E002"},
        {"a /* b", "i:a !ir-E002"},
        {"a \x01", "i:a !ir-E002"},
        {"\xc3\xa9", "!ir-E002"},
        {"99999999999999999999", "!ir-E002"},
        {"99999999999999999999f", "r:99999999999999999999"},
        {"9223372036854775807", "n:9223372036854775807"},
        {"9223372036854775808", "!ir-E002"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(*state, rows[i].text, false, rows[i].want);
}

static void layout(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"", ""},
        {"\n\n  \n# c\n", ""},
        {"a", "i:a NL"},
        {"a\nb\n", "i:a NL i:b NL"},
        {"a:\n  b\n  c\nd", "i:a p:: NL > i:b NL i:c NL < i:d NL"},
        {"a\n  b\n    c", "i:a NL > i:b NL > i:c NL < <"},
        {"a\n  b\n    c\nd\n", "i:a NL > i:b NL > i:c NL < < i:d NL"},
        {"a\n  b\n\n  # note\n  c\n", "i:a NL > i:b NL i:c NL <"},
        {"f(a,\n      b)\nc", "i:f p:( i:a p:, i:b p:) NL i:c NL"},
        {"f {\n  a\n}\n", "i:f p:{ NL > i:a NL < p:} NL"},
        {"a // x\n  b /* y */\n", "i:a NL > i:b NL <"},
        {"a\r\n  b\r\n", "i:a NL > i:b NL <"},
        {"a\n    b\n  c\n", "i:a NL > i:b NL !ir-E007"},
        {"a\n\tb\n", "i:a NL !ir-E007"},
        {"  a\n", "> i:a NL <"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(*state, rows[i].text, true, rows[i].want);
}

static void errors_say_where(void **state)
{
    tn_ctx *ctx = *state;
    static const char text[] = "a b\n  c ,";
    tn_lexer l;
    tn_lex_init(&l, ctx, "f.relay", text, strlen(text), false);
    assert_true(tn_lex_accept(&l, "a"));
    assert_false(tn_lex_accept(&l, "c"));
    assert_string_equal(tn_lex_ident(&l), "b");
    assert_string_equal(tn_lex_ident(&l), "c");
    assert_null(tn_lex_ident(&l));
    assert_int_equal(tn_lex_expect(&l, ";"), TN_FAIL); /* silent: one error is enough */
    assert_int_equal(ctx->n_diag, 1);
    tn_buf b = {0};
    tn_diag_print(&ctx->diag[0], &b);
    assert_string_equal(b.at, "f.relay:2:5: error: expected a name, found `,` [ir-E001]\n");
    tn_buf_deinit(&b);
}

static void strings_go_both_ways(void **state)
{
    static const char *const values[] = {
        "", "plain", "quote \" and \\ back", "lines\n\tand\r", "\x01\x1f\x7f", "gr\xc3\xbcn"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        tn_buf b = {0};
        tn_lexer l;
        tn_text_quote(values[i], &b);
        tn_lex_init(&l, *state, "t", b.at, b.n, false);
        assert_string_equal(tn_lex_string(&l), values[i]);
        assert_int_equal(l.tok, TN_TOK_END);
        tn_buf_deinit(&b);
    }
    static const char *const bad[] = {"\"\\q\"", "\"\\x0\"", "\"\\x00\"", "\"\\xzz\"", "a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tn_lexer l;
        tn_lex_init(&l, *state, "t", bad[i], strlen(bad[i]), false);
        assert_null(tn_lex_string(&l));
        assert_true(l.failed);
    }
}

static void integers_have_a_range(void **state)
{
    static const struct {
        const char *text;
        int64_t v;
        bool ok;
    } rows[] = {
        {"5", 5, true},   {"-7", -7, true}, {"8", 0, false},   {"-8", 0, false},
        {"1f", 0, false}, {"x", 0, false},  {"1.0", 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_lexer l;
        int64_t v = 0;
        tn_lex_init(&l, *state, "t", rows[i].text, strlen(rows[i].text), false);
        assert_int_equal(tn_lex_int(&l, -7, 7, &v) == TN_OK, rows[i].ok);
        assert_int_equal(v, rows[i].v);
    }
}

/* Any bytes: the stream ends, and gives at most one error. */
static void any_bytes_end(void **state)
{
    static const char alphabet[] = "ab0 1.ex\n\n  \t(){}[]\"\\%#/*-><=_f";
    tn_ctx *ctx = *state;
    tn_rng r = {7};
    for (int i = 0; i < 20000; i++) {
        char text[64];
        size_t n = tn_rng_below(&r, sizeof text);
        for (size_t k = 0; k < n; k++)
            text[k] = i % 10 ? alphabet[tn_rng_below(&r, sizeof alphabet - 1)] : (char)tn_rng_next(&r);
        tn_buf b = {0};
        stream(ctx, text, n, i % 2, &b);
        assert_true(ctx->n_error <= 1);
        tn_buf_deinit(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tokens, enter, leave),
        cmocka_unit_test_setup_teardown(layout, enter, leave),
        cmocka_unit_test_setup_teardown(errors_say_where, enter, leave),
        cmocka_unit_test_setup_teardown(strings_go_both_ways, enter, leave),
        cmocka_unit_test_setup_teardown(integers_have_a_range, enter, leave),
        cmocka_unit_test_setup_teardown(any_bytes_end, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
