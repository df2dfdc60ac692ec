/* Tokens of the language of code/. */
#include "frontend/pytorch/lex.h"

#include <string.h>

void pt_lex_open(pt_lexer *l, tn_arena *a, tn_bytes text)
{
    *l = (pt_lexer){.arena = a,
                    .at = (const char *)text.at,
                    .end = (const char *)text.at + text.n,
                    .line = 1,
                    .fresh = true};
    pt_lex_next(l);
}

static void bad(pt_lexer *l, const char *why)
{
    l->kind = PT_T_BAD;
    l->why = why;
    l->at = l->end;
}

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

static bool digit(char c) { return c >= '0' && c <= '9'; }

static char peek(const pt_lexer *l, size_t i) { return (size_t)(l->end - l->at) > i ? l->at[i] : '\0'; }

/* Blanks, comments, and the ends of lines that say nothing. */
static void skip(pt_lexer *l)
{
    while (l->at < l->end) {
        char c = *l->at;
        if (c == '#')
            while (l->at < l->end && *l->at != '\n')
                l->at++;
        else if (c == '\n' && (l->brackets || l->fresh))
            l->line++, l->at++;
        else if (c == '\\' && peek(l, 1) == '\n')
            l->line++, l->at += 2;
        else if (c == ' ' || c == '\t' || c == '\r')
            l->at++;
        else
            break;
    }
}

/* Columns before the first token of the line; empty lines do not count. */
static int indentation(pt_lexer *l)
{
    const char *from = l->at;
    skip(l);
    const char *p = l->at;
    while (p > from && p[-1] != '\n')
        p--;
    return (int)(l->at - p);
}

/* false: there is no token of indentation. */
static bool indent(pt_lexer *l)
{
    int n = indentation(l);
    l->fresh = false;
    if (l->at == l->end)
        n = 0;
    if (n > l->indent[l->depth]) {
        if (l->depth + 1 >= PT_MAX_INDENT)
            bad(l, "blocks are nested too deep");
        else
            l->indent[++l->depth] = n;
        l->kind = l->kind == PT_T_BAD ? PT_T_BAD : PT_T_INDENT;
        return true;
    }
    while (n < l->indent[l->depth]) {
        l->depth--;
        l->owed++;
    }
    if (n != l->indent[l->depth])
        bad(l, "the indentation is wrong");
    return l->kind == PT_T_BAD;
}

/* Moves behind the digits; true: they are those of a float. */
static bool digits(pt_lexer *l)
{
    const char *from = l->at;
    bool real = false;
    while (l->at < l->end) {
        char c = *l->at;
        if (digit(c))
            ;
        else if (c == '.')
            real = true;
        else if ((c == 'e' || c == 'E') && l->at > from)
            real = true;
        else if (!((c == '-' || c == '+') && (l->at[-1] == 'e' || l->at[-1] == 'E')))
            break;
        l->at++;
    }
    return real;
}

static void number(pt_lexer *l)
{
    const char *from = l->at, *end;
    bool real = digits(l), complex = peek(l, 0) == 'j';
    if (!complex && (peek(l, 0) == '+' || peek(l, 0) == '-') && digit(peek(l, 1))) { /* the imaginary part? */
        end = l->at++;
        (void)digits(l);
        complex = peek(l, 0) == 'j';
        l->at = complex ? l->at : end;
    }
    l->at += complex;
    l->kind = complex ? PT_T_COMPLEX : real ? PT_T_FLOAT : PT_T_INT;
    l->text = (tn_bytes){(const uint8_t *)from, (size_t)(l->at - from)};
}

static int hex(char c)
{
    return digit(c)               ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The character of an escape, whose backslash has been read. */
static char escape(pt_lexer *l)
{
    static const char from[] = "ntrabfv0", to[] = "\n\t\r\a\b\f\v";
    char c = l->at < l->end ? *l->at++ : '\\';
    if (c == 'x' && hex(peek(l, 0)) >= 0 && hex(peek(l, 1)) >= 0) {
        c = (char)(hex(l->at[0]) * 16 + hex(l->at[1]));
        l->at += 2;
        return c;
    }
    if (c >= '0' && c <= '3' && peek(l, 0) >= '0' && peek(l, 0) <= '7' && peek(l, 1) >= '0' &&
        peek(l, 1) <= '7') {
        c = (char)((c - '0') * 64 + (l->at[0] - '0') * 8 + (l->at[1] - '0'));
        l->at += 2;
        return c;
    }
    const char *p = c ? strchr(from, c) : NULL;
    return p ? to[p - from] : c;
}

static void text(pt_lexer *l)
{
    char quote = *l->at++;
    const char *close = l->at;
    while (close < l->end && *close != quote && *close != '\n')
        close += *close == '\\' && close + 1 < l->end ? 2 : 1;
    if (close >= l->end || *close != quote) {
        bad(l, "a text does not end");
        return;
    }
    char *to = tn_arena_alloc(l->arena, (size_t)(close - l->at), 1);
    size_t n = 0;
    while (l->at < close) {
        char c = *l->at++;
        to[n++] = c == '\\' ? escape(l) : c;
    }
    l->at = close + 1;
    l->kind = PT_T_TEXT;
    l->text = (tn_bytes){(const uint8_t *)to, n};
}

static void mark(pt_lexer *l)
{
    static const char *const two[] = {"==", "!=", "<=", ">=", "->", "**", "//",
                                      "<<", ">>", "+=", "-=", "*=", "/="};
    size_t n = 1;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (peek(l, 0) == two[i][0] && peek(l, 1) == two[i][1])
            n = 2;
    char c = *l->at;
    if (strchr("([{", c))
        l->brackets++;
    if (strchr(")]}", c) && l->brackets)
        l->brackets--;
    if (!strchr("()[]{}:,.=+-*/%<>!|&^~@", c)) {
        bad(l, "it has a character that is not expected");
        return;
    }
    l->kind = PT_T_MARK;
    l->text = (tn_bytes){(const uint8_t *)l->at, n};
    l->at += n;
}

void pt_lex_next(pt_lexer *l)
{
    if (l->kind == PT_T_BAD)
        return;
    if (l->fresh && indent(l))
        return;
    if (l->owed) {
        l->owed--;
        l->kind = PT_T_DEDENT;
        return;
    }
    skip(l);
    if (l->at == l->end) {
        l->kind =
            l->kind == PT_T_LINE || l->kind == PT_T_DEDENT || l->kind == PT_T_END ? PT_T_END : PT_T_LINE;
        l->fresh = l->kind == PT_T_LINE;
        return;
    }
    char c = *l->at;
    if (c == '\n') {
        l->kind = PT_T_LINE;
        l->at++;
        l->line++;
        l->fresh = true;
    } else if (letter(c)) {
        const char *from = l->at;
        while (l->at < l->end && (letter(*l->at) || digit(*l->at)))
            l->at++;
        l->kind = PT_T_NAME;
        l->text = (tn_bytes){(const uint8_t *)from, (size_t)(l->at - from)};
    } else if (digit(c) || (c == '.' && digit(peek(l, 1)))) {
        number(l);
    } else if (c == '"' || c == '\'') {
        text(l);
    } else {
        mark(l);
    }
}
