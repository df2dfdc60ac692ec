#ifndef TN_IR_LEX_H
#define TN_IR_LEX_H
/* The text reader every IR builds on: tokens with positions, one-token look-ahead, errors with line and column,
 * and a scalar expression parser (Pratt) with pluggable names. Nesting is bounded (256). */
#include "ir/expr.h"

enum tn_tok {
    TN_TOK_END,
    TN_TOK_IDENT,
    TN_TOK_INT,
    TN_TOK_REAL,
    TN_TOK_STRING,
    TN_TOK_PUNCT,
    TN_TOK_NEWLINE,
    TN_TOK_INDENT,
    TN_TOK_DEDENT
};

typedef struct tn_lexer {
    tn_ctx *ctx;
    const char *file, *at, *end;
    uint32_t line, col;
    /* current token */
    enum tn_tok tok;
    const char *text;
    size_t n; /* slice of the input; STRING: without quotes */
    uint32_t tok_line, tok_col;
    int64_t i;
    double r; /* INT, REAL (i saturates with an error) */
    const char *suffix;
    size_t n_suffix; /* letters right after a number: "f", "i64", "f16" */
    bool layout;     /* emit NEWLINE, INDENT, DEDENT (TIR); else white space only */
    uint32_t indent[64], n_indent, pending_dedent;
    uint32_t bracket;             /* open ( and [: no NEWLINE inside them */
    uint32_t depth;               /* nesting of expressions, types ... */
    bool line_start, after_sigil; /* layout: between lines; inside `%0.1` */
    bool failed;                  /* an error was reported; the token is END from then on */
} tn_lexer;

/* Punctuation is the longest of: -> => == != <= >= << >> and single characters. Comments: // to the end of line,
 * slash-star comments, and # to the end of line unless `#[`. Identifiers may contain single dots between their parts:
 * "nn.conv2d", "acc.init", "relu.0". Right after a % token a dot never joins digits: `%0.1` is % 0 . 1,
 * `%x.1` is % x . 1. Numbers: decimal to INT64_MAX; hexadecimal to 64 bits, taken as they are; reals with .
 * or e. Strings: "...", one line, escapes \" \\ \n \t \r \xNN. In layout mode blank lines give no tokens and
 * indentation is spaces only; the text ends with NEWLINE and the DEDENTs that are due. Errors: ir-E002 (not a
 * token), ir-E007 (indentation). */
void tn_lex_init(tn_lexer *l, tn_ctx *ctx, const char *file, const char *text, size_t n, bool layout);
void tn_lex_next(tn_lexer *l);
bool tn_lex_is(const tn_lexer *l, const char *text);    /* current token is this punctuation or identifier */
bool tn_lex_accept(tn_lexer *l, const char *text);      /* ... and moves on */
tn_status tn_lex_expect(tn_lexer *l, const char *text); /* ir-E001 otherwise */
tn_status tn_lex_expected(tn_lexer *l,
                          const char *what); /* ir-E001: expected `what`, found the current token */
/* The current token becomes a name of n characters, which are in its line: names that only a grammar knows. */
void tn_lex_widen(tn_lexer *l, size_t n);
tn_status tn_lex_fail(tn_lexer *l, const char *id, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
const char *tn_lex_ident(tn_lexer *l); /* interned; NULL and error if not an identifier */

/* interned value of a STRING, escapes resolved; NULL and error */
const char *tn_lex_string(tn_lexer *l);
tn_status tn_lex_int(tn_lexer *l, int64_t min, int64_t max,
                     int64_t *out); /* plain integer with optional -; ir-E001 */
/* tn_lex_enter counts a level of nesting; ir-E004 beyond 256. Call tn_lex_leave after success. */
tn_status tn_lex_enter(tn_lexer *l);
void tn_lex_leave(tn_lexer *l);
void tn_text_quote(const char *s, tn_buf *out); /* as a STRING token */
/* Value of the current INT or REAL token, read as float for float32, else as double. */
double tn_lex_real(const tn_lexer *l, tn_dtype t);

/* Decimal text of n < 100 bytes to float or double whatever the locale; false if it is not wholly a number. */
bool tn_text_real(const char *s, size_t n, bool single, double *out);

/* Words with a meaning of their own in expressions and in loops: variables, symbols and buffers cannot be called so. */
bool tn_lex_reserved(const char *word);

/* Resolves what an identifier (or `%name`) means. NULL: unknown (the parser reports ir-E003). */
typedef struct tn_scope_fns {
    const tn_expr *(*name)(void *user, const char *name);
    /* name[...]: buffer number and element dtype; false: not a buffer */
    bool (*buffer)(void *user, const char *name, uint32_t *out_number, tn_dtype *out_dtype);
    void *user;
} tn_scope_fns;
/* Parses one expression, without folding or rewriting: what tn_expr_print gives reads back to the same
 * pointer. Bare integer constants take dtype `want` (index by default) or that of the other operand. Float
 * literals carry f / f64 / f16 suffixes or take `want`. Scalars are splat to the other operands' lanes.
 * Grammar, loosest first: or; and; == != < <= > >=; + -; * / %; - not; then literals, true, false, inf, nan,
 * names, %names, (e), A[i, j], A[i : lanes], (A[i] mask c else v), f32(e) and other dtype names as casts,
 * bitcast(f32, e), ramp(e, stride, lanes), splat(e, lanes), ceildiv(a, b), mnemonics of expr.def and
 * functions of intrin.def. `/` and `%` are floordiv and floormod, on floats `/` is div. Errors: ir-E001 to
 * ir-E006. */
tn_status tn_expr_parse(tn_lexer *l, tn_pool *p, const tn_scope_fns *scope, tn_dtype want,
                        const tn_expr **out);

#endif
