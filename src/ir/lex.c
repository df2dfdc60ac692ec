/* Tokens of every text form. One pass over the input, no allocation; the first error ends the token stream. */
#include "ir/lex.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 256, MAX_INDENT = sizeof((tn_lexer *)0)->indent / sizeof(uint32_t) };

/* ---- characters ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static int hex_value(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static bool is_name(char c) { return is_name_start(c) || is_digit(c); }

/* The character `ahead` of the read position, '\0' past the end. */
static char peek(const tn_lexer *l, size_t ahead)
{
    return (size_t)(l->end - l->at) > ahead ? l->at[ahead] : '\0';
}

static void step(tn_lexer *l)
{
    if (*l->at++ == '\n') {
        l->line++;
        l->col = 1;
    } else {
        l->col++;
    }
}

static void steps(tn_lexer *l, size_t n)
{
    l->at += n;
    l->col += (uint32_t)n;
}

void tn_lex_widen(tn_lexer *l, size_t n)
{
    l->at = l->text;
    l->col = l->tok_col;
    l->tok = TN_TOK_IDENT;
    l->n = n;
    l->n_suffix = 0;
    l->after_sigil = false;
    steps(l, n);
}

/* ---- errors ---- */

tn_status tn_lex_fail(tn_lexer *l, const char *id, const char *fmt, ...)
{
    va_list ap;
    tn_loc loc = {.file = l->file, .line = l->tok_line, .col = l->tok_col};
    if (!l->failed) {
        va_start(ap, fmt);
        tn_vreport(l->ctx, TN_ERROR, id, &loc, fmt, ap);
        va_end(ap);
    }
    l->failed = true;
    l->tok = TN_TOK_END;
    l->text = l->at = l->end;
    l->n = 0;
    l->pending_dedent = 0;
    return TN_FAIL;
}

/* ---- space ---- */

/* Skips a comment at the read position; false if there is none. An open slash-star comment is an error. */
static bool skip_comment(tn_lexer *l)
{
    char c = peek(l, 0), d = peek(l, 1);
    if ((c == '/' && d == '/') || (c == '#' && d != '[')) {
        while (l->at < l->end && *l->at != '\n')
            step(l);
        return true;
    }
    if (c != '/' || d != '*')
        return false;
    l->tok_line = l->line;
    l->tok_col = l->col;
    steps(l, 2);
    while (l->at < l->end && !(peek(l, 0) == '*' && peek(l, 1) == '/'))
        step(l);
    if (l->at == l->end)
        tn_lex_fail(l, "ir-E002", "this comment is not terminated; close it with */");
    else
        steps(l, 2);
    return true;
}

/* Skips blanks and comments, and line ends too unless `stay` on the line. */
static void skip_space(tn_lexer *l, bool stay)
{
    while (l->at < l->end) {
        char c = *l->at;
        if (c == ' ' || c == '\t' || c == '\r' || (c == '\n' && !stay))
            step(l);
        else if (!skip_comment(l))
            return;
    }
}

static void set_token(tn_lexer *l, enum tn_tok tok)
{
    l->tok = tok;
    l->text = l->at;
    l->n = 0;
    l->tok_line = l->line;
    l->tok_col = l->col;
}

/* At the start of a line that has tokens, `width` columns in: INDENT, DEDENTs or nothing. */
static bool indentation(tn_lexer *l, uint32_t width)
{
    uint32_t top = l->n_indent - 1;
    if (width == l->indent[top])
        return false;
    set_token(l, TN_TOK_INDENT);
    if (width > l->indent[top]) {
        if (l->n_indent == MAX_INDENT)
            tn_lex_fail(l, "ir-E007", "blocks are nested more than %d deep; flatten them", MAX_INDENT - 1);
        else
            l->indent[l->n_indent++] = width;
        return true;
    }
    while (l->indent[l->n_indent - 1] > width) {
        l->n_indent--;
        l->pending_dedent++;
    }
    if (l->indent[l->n_indent - 1] != width) {
        tn_lex_fail(l, "ir-E007",
                    "the indentation of this line matches no enclosing block; indent it like the block it "
                    "belongs to");
        return true;
    }
    l->pending_dedent--;
    l->tok = TN_TOK_DEDENT;
    return true;
}

/* Layout mode, between lines: skips blank lines, then handles the next line's indentation. True: a token was made. */
static bool start_line(tn_lexer *l)
{
    for (;;) {
        const char *start = l->at;
        while (l->at < l->end && *l->at == ' ')
            step(l);
        uint32_t width = (uint32_t)(l->at - start);
        bool tab = peek(l, 0) == '\t';
        set_token(l, TN_TOK_NEWLINE);
        skip_space(l, true);
        if (l->failed)
            return true;
        if (l->at < l->end && *l->at == '\n') {
            step(l);
            continue;
        }
        if (l->at == l->end)
            width = 0;
        else if (tab)
            return tn_lex_fail(l, "ir-E007", "this line is indented with a tab; use spaces") == TN_FAIL;
        l->line_start = false;
        return indentation(l, width);
    }
}

/* Layout mode, inside a line: a NEWLINE token at its end (also at the end of the text). */
static bool end_line(tn_lexer *l)
{
    if (l->at < l->end && *l->at != '\n')
        return false;
    bool done =
        l->at == l->end && (l->tok == TN_TOK_NEWLINE || l->tok == TN_TOK_DEDENT || l->tok == TN_TOK_END);
    if (done)
        return false;
    set_token(l, TN_TOK_NEWLINE);
    if (l->at < l->end)
        step(l);
    l->line_start = true;
    return true;
}

/* ---- tokens ---- */

static void lex_word(tn_lexer *l, bool after_percent)
{
    size_t n = 1;
    while (is_name(peek(l, n)) ||
           (peek(l, n) == '.' && (after_percent ? is_name_start(peek(l, n + 1)) : is_name(peek(l, n + 1)))))
        n++;
    l->tok = TN_TOK_IDENT;
    l->n = n;
    steps(l, n);
}

bool tn_text_real(const char *s, size_t n, bool single, double *out)
{
    char buf[128], *end;
    const struct lconv *lc = localeconv();
    size_t point = strlen(lc->decimal_point), at = 0;
    if (n + point >= sizeof buf)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '.') {
            memcpy(buf + at, lc->decimal_point, point);
            at += point;
        } else {
            buf[at++] = s[i];
        }
    }
    buf[at] = '\0';
    double v = single ? (double)strtof(buf, &end) : strtod(buf, &end);
    if (at == 0 || end != buf + at)
        return false;
    *out = v;
    return true;
}

static void lex_suffix(tn_lexer *l)
{
    size_t n = 0;
    if (is_name_start(peek(l, 0)))
        while (is_name(peek(l, n)))
            n++;
    l->suffix = l->at;
    l->n_suffix = n;
    steps(l, n);
}

static void lex_hex(tn_lexer *l)
{
    uint64_t v = 0;
    size_t n = 2;
    for (; hex_value(peek(l, n)) >= 0; n++) {
        if (v >> 60) {
            tn_lex_fail(l, "ir-E002", "this number does not fit into 64 bits; write a smaller one");
            return;
        }
        v = v << 4 | (uint64_t)hex_value(peek(l, n));
    }
    l->tok = TN_TOK_INT;
    l->i = (int64_t)v;
    l->n = n;
    steps(l, n);
    lex_suffix(l);
}

static size_t count_digits(const tn_lexer *l, size_t from)
{
    while (is_digit(peek(l, from)))
        from++;
    return from;
}

static void lex_decimal(tn_lexer *l, bool fraction)
{
    size_t n = count_digits(l, 0);
    uint64_t v = 0;
    bool large = false;
    l->tok = TN_TOK_INT;
    for (size_t i = 0; i < n && !large; i++) {
        large = v > (INT64_MAX - (uint64_t)(l->at[i] - '0')) / 10;
        v = v * 10 + (uint64_t)(l->at[i] - '0');
    }
    if (fraction && peek(l, n) == '.' && is_digit(peek(l, n + 1))) {
        l->tok = TN_TOK_REAL;
        n = count_digits(l, n + 1);
    }
    size_t sign = peek(l, n + 1) == '+' || peek(l, n + 1) == '-' ? 2 : 1;
    if (fraction && (peek(l, n) == 'e' || peek(l, n) == 'E') && is_digit(peek(l, n + sign))) {
        l->tok = TN_TOK_REAL;
        n = count_digits(l, n + sign);
    }
    l->n = n;
    l->i = large ? INT64_MAX : (int64_t)v;
    steps(l, n);
    lex_suffix(l);
    if (!tn_text_real(l->text, l->n, false, &l->r))
        tn_lex_fail(l, "ir-E002", "this number has too many digits; write at most 100");
    else if (large && l->tok == TN_TOK_INT && l->n_suffix == 0)
        tn_lex_fail(l, "ir-E002", "this integer is larger than 2^63 - 1; write a smaller one");
    else if (large && l->tok == TN_TOK_INT)
        l->tok = TN_TOK_REAL; /* 100000000000000000000f */
}

static void lex_quoted(tn_lexer *l)
{
    size_t n = 1;
    while (l->at + n < l->end && l->at[n] != '"' && l->at[n] != '\n')
        n += l->at[n] == '\\' && l->at + n + 1 < l->end && l->at[n + 1] != '\n' ? 2 : 1;
    if (peek(l, n) != '"') {
        tn_lex_fail(l, "ir-E002", "this string is not terminated on its line; close it with \"");
        return;
    }
    l->tok = TN_TOK_STRING;
    l->text = l->at + 1;
    l->n = n - 1;
    steps(l, n + 1);
}

static void lex_punct(tn_lexer *l)
{
    static const char two[][3] = {"->", "=>", "==", "!=", "<=", ">=", "<<", ">>"};
    char c = *l->at;
    size_t n = 1;
    if (c <= ' ' || c > '~') {
        tn_lex_fail(l, "ir-E002", "byte 0x%02x is not allowed outside strings and comments; remove it",
                    (unsigned char)c);
        return;
    }
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (c == two[i][0] && peek(l, 1) == two[i][1])
            n = 2;
    if (c == '(' || c == '[')
        l->bracket++;
    else if ((c == ')' || c == ']') && l->bracket > 0)
        l->bracket--;
    l->tok = TN_TOK_PUNCT;
    l->n = n;
    steps(l, n);
}

static void lex_token(tn_lexer *l, bool after_percent)
{
    char c = *l->at;
    if (is_name_start(c))
        lex_word(l, after_percent);
    else if (c == '0' && (peek(l, 1) == 'x' || peek(l, 1) == 'X') && hex_value(peek(l, 2)) >= 0)
        lex_hex(l);
    else if (is_digit(c))
        lex_decimal(l, !after_percent);
    else if (c == '"')
        lex_quoted(l);
    else
        lex_punct(l);
}

void tn_lex_next(tn_lexer *l)
{
    bool sigil =
        l->tok == TN_TOK_PUNCT && l->n == 1 && (*l->text == '%' || (*l->text == '.' && l->after_sigil));
    bool adjacent = l->text && l->text + l->n == l->at;
    if (l->failed) {
        l->tok = TN_TOK_END;
        return;
    }
    if (l->pending_dedent > 0) {
        l->pending_dedent--;
        l->tok = TN_TOK_DEDENT;
        return;
    }
    if (l->layout && l->line_start && start_line(l))
        return;
    skip_space(l, l->layout && l->bracket == 0);
    if (l->failed || (l->layout && end_line(l)))
        return;
    if (l->at == l->end && l->layout && l->n_indent > 1 && indentation(l, 0))
        return;
    adjacent = adjacent && l->text + l->n == l->at;
    set_token(l, TN_TOK_END);
    if (l->at == l->end)
        return;
    bool was_number = l->after_sigil;
    lex_token(l, sigil && adjacent);
    /* "%0.1": what follows a %, a number after it, and the dot after that number stay apart */
    l->after_sigil = (sigil && adjacent) || (was_number && adjacent && l->n == 1 && *l->text == '.');
}

void tn_lex_init(tn_lexer *l, tn_ctx *ctx, const char *file, const char *text, size_t n, bool layout)
{
    memset(l, 0, sizeof *l);
    l->ctx = ctx;
    l->file = file;
    l->at = text ? text : "";
    l->end = l->at + n;
    l->line = l->col = l->tok_line = l->tok_col = 1;
    l->layout = l->line_start = layout;
    l->n_indent = 1;
    tn_lex_next(l);
}

/* ---- reading tokens ---- */

bool tn_lex_is(const tn_lexer *l, const char *text)
{
    return (l->tok == TN_TOK_PUNCT || l->tok == TN_TOK_IDENT) && strlen(text) == l->n &&
           memcmp(text, l->text, l->n) == 0;
}

bool tn_lex_accept(tn_lexer *l, const char *text)
{
    if (!tn_lex_is(l, text))
        return false;
    tn_lex_next(l);
    return true;
}

tn_status tn_lex_expected(tn_lexer *l, const char *what)
{
    static const char *const names[] = {
        [TN_TOK_END] = "the end of the text",
        [TN_TOK_NEWLINE] = "the end of the line",
        [TN_TOK_INDENT] = "a deeper indentation",
        [TN_TOK_DEDENT] = "the end of the block",
    };
    if (l->tok < sizeof names / sizeof *names && names[l->tok])
        return tn_lex_fail(l, "ir-E001", "expected %s, found %s", what, names[l->tok]);
    return tn_lex_fail(l, "ir-E001", "expected %s, found `%.*s`", what, (int)(l->n < 60 ? l->n : 60),
                       l->text);
}

tn_status tn_lex_expect(tn_lexer *l, const char *text)
{
    char what[40];
    if (tn_lex_accept(l, text))
        return TN_OK;
    snprintf(what, sizeof what, "`%.30s`", text);
    return tn_lex_expected(l, what);
}

const char *tn_lex_ident(tn_lexer *l)
{
    if (l->tok != TN_TOK_IDENT) {
        tn_lex_expected(l, "a name");
        return NULL;
    }
    const char *s = tn_intern_n(l->ctx, l->text, l->n);
    tn_lex_next(l);
    return s;
}

/* One character of a string after its backslash; returns the characters read, 0 for an unknown escape. */
static size_t unescape(const char *s, size_t n, char *out)
{
    static const char from[] = "\"\\ntr", to[] = "\"\\\n\t\r";
    const char *at = n > 0 && *s ? strchr(from, *s) : NULL;
    if (at) {
        *out = to[at - from];
        return 1;
    }
    if (n < 3 || *s != 'x' || hex_value(s[1]) < 0 || hex_value(s[2]) < 0)
        return 0;
    *out = (char)(unsigned char)(hex_value(s[1]) << 4 | hex_value(s[2]));
    return *out ? 3 : 0;
}

const char *tn_lex_string(tn_lexer *l)
{
    tn_buf b = {0};
    bool ok = l->tok == TN_TOK_STRING;
    if (!ok)
        tn_lex_expected(l, "a string");
    for (size_t i = 0; ok && i < l->n; i++) {
        char c = l->text[i];
        size_t used = c == '\\' ? unescape(l->text + i + 1, l->n - i - 1, &c) : 0;
        if (l->text[i] == '\0' || (l->text[i] == '\\' && used == 0)) {
            tn_lex_fail(l, "ir-E002",
                        "unknown escape in a string; known are \\\" \\\\ \\n \\t \\r and \\x01 to \\xff");
            ok = false;
        }
        i += used;
        tn_buf_char(&b, c);
    }
    const char *s = ok ? tn_intern_n(l->ctx, tn_buf_cstr(&b), b.n) : NULL;
    tn_buf_deinit(&b);
    if (ok)
        tn_lex_next(l);
    return s;
}

tn_status tn_lex_int(tn_lexer *l, int64_t min, int64_t max, int64_t *out)
{
    bool minus = tn_lex_accept(l, "-");
    bool typed = l->n_suffix > 1 && (l->suffix[0] == 'i' || l->suffix[0] == 'u'); /* 3i64 */
    if (l->tok != TN_TOK_INT || (l->n_suffix > 0 && !typed))
        return tn_lex_expected(l, "an integer");
    int64_t v = minus ? (int64_t)(0 - (uint64_t)l->i) : l->i;
    if (v < min || v > max)
        return tn_lex_fail(l, "ir-E002", "%lld is out of range; write an integer from %lld to %lld",
                           (long long)v, (long long)min, (long long)max);
    *out = v;
    tn_lex_next(l);
    return TN_OK;
}

tn_status tn_lex_enter(tn_lexer *l)
{
    if (l->depth == MAX_DEPTH)
        return tn_lex_fail(l, "ir-E004", "nested more than %d levels deep; bind parts to names", MAX_DEPTH);
    l->depth++;
    return TN_OK;
}

void tn_lex_leave(tn_lexer *l) { l->depth--; }

double tn_lex_real(const tn_lexer *l, tn_dtype t)
{
    double d = l->r;
    if (l->tok == TN_TOK_INT && l->n > 1 && (l->text[1] == 'x' || l->text[1] == 'X'))
        return (double)l->i;
    if (tn_dtype_eq(tn_dtype_lanes(t, 1), TN_F32))
        tn_text_real(l->text, l->n, true, &d); /* cannot fail: the lexer has read it */
    return d;
}

void tn_text_quote(const char *s, tn_buf *out)
{
    tn_buf_char(out, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            tn_buf_printf(out, "\\%c", c);
        else if (c == '\n' || c == '\t' || c == '\r')
            tn_buf_printf(out, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
        else if (c < ' ' || c == 0x7f)
            tn_buf_printf(out, "\\x%02x", c);
        else
            tn_buf_char(out, (char)c);
    }
    tn_buf_char(out, '"');
}
