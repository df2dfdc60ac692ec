/* Annotations of Relay text (annot.h). Escaping is chosen so that escape(unescape(escape(s))) == escape(s): the text is
 * a fixpoint after one printing. All functions are linear in the text they are given. */
#include "relay/annot.h"

#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void tn_annot_escape(tn_buf *out, const char *s, const char *also)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        bool end = i == 0 || i + 1 == n;
        bool comment = (c == '*' && s[i + 1] == '/') || (c == '/' && s[i + 1] == '*');
        if (c < 0x20 || c == 0x7f || c == '\\' || comment || (end && c == ' ') || strchr(also, c))
            tn_buf_printf(out, "\\x%02x", c);
        else
            tn_buf_char(out, (char)c);
    }
}

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

const char *tn_annot_unescape(tn_ctx *ctx, const char *s, size_t n)
{
    tn_buf b = {0};
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\' && n - i >= 4 && s[i + 1] == 'x' && hex(s[i + 2]) >= 0 && hex(s[i + 3]) >= 0 &&
            hex(s[i + 2]) + hex(s[i + 3]) > 0) {
            tn_buf_char(&b, (char)(hex(s[i + 2]) * 16 + hex(s[i + 3])));
            i += 3;
        } else if (s[i] != '\0') {
            tn_buf_char(&b, s[i]);
        }
    }
    const char *r = b.n ? tn_intern_n(ctx, b.at, b.n) : NULL;
    tn_buf_deinit(&b);
    return r;
}

/* Position of the text `what` in s[0..n), or n. */
static size_t position_of(const char *s, size_t n, const char *what)
{
    size_t m = strlen(what);
    for (size_t i = 0; i + m <= n; i++)
        if (!memcmp(s + i, what, m))
            return i;
    return n;
}

static bool starts(const char *s, size_t n, const char *with)
{
    return n >= strlen(with) && !memcmp(s, with, strlen(with));
}

static void trim(const char **s, size_t *n)
{
    while (*n && is_blank(**s))
        (*s)++, (*n)--;
    while (*n && is_blank((*s)[*n - 1]))
        (*n)--;
}

bool tn_annot_find(const char *from, const char *to, const char **out_text, size_t *out_n)
{
    for (const char *c = from; c + 1 < to; c++) {
        if (c[0] == '/' && c[1] == '*') {
            *out_text = c + 2;
            *out_n = position_of(c + 2, (size_t)(to - c - 2), "*/");
            trim(out_text, out_n);
            return true;
        }
        if (*c == '#' || (c[0] == '/' && c[1] == '/'))
            while (c < to && *c != '\n')
                c++;
    }
    return false;
}

/* TVM's span text is name:line:column; the name is what we want. */
static size_t span_name(const char *s, size_t n)
{
    size_t end = n;
    for (int part = 0; part < 2; part++) {
        size_t i = end;
        while (i && s[i - 1] >= '0' && s[i - 1] <= '9')
            i--;
        if (i == end || i < 2 || s[i - 1] != ':')
            return n;
        end = i - 1;
    }
    return end;
}

const char *tn_annot_source(tn_ctx *ctx, const char *s, size_t n)
{
    if (starts(s, n, "ty=") || starts(s, n, "span=")) {
        size_t at = position_of(s, n, "span=");
        if (at == n)
            return NULL;
        s += at + 5, n -= at + 5;
        n = span_name(s, n);
    }
    return tn_annot_unescape(ctx, s, n);
}

void tn_annot_param(tn_ctx *ctx, const char *s, size_t n, const char **out_name, const char **out_source)
{
    *out_name = *out_source = NULL;
    if (!starts(s, n, "name=")) {
        *out_source = tn_annot_source(ctx, s, n);
        return;
    }
    size_t end = position_of(s, n, ", span=");
    *out_name = tn_annot_unescape(ctx, s + 5, end - 5);
    if (end < n)
        *out_source = tn_annot_unescape(ctx, s + end + 7, n - end - 7);
}

bool tn_annot_constant(tn_ctx *ctx, const char *s, size_t n, tn_annot_const *out)
{
    *out = (tn_annot_const){0};
    if (starts(s, n, "ty=")) {
        out->type = s + 3;
        out->n_type = position_of(s, n, " span=") - 3;
        return true;
    }
    size_t open = n;
    while (open && s[open - 1] != '(')
        open--;
    size_t close = open ? open + position_of(s + open, n - open, ")") : n;
    if (!open || close == n)
        return false;
    out->dims = s + open - 1;
    out->n_dims = close + 2 - open;
    size_t n_name = open - 1;
    trim(&s, &n_name); /* s only moves over blanks that the caller has trimmed already */
    out->name = tn_annot_unescape(ctx, s, n_name);
    const char *rest = s + close + 1;
    size_t n_rest = n - close - 1;
    trim(&rest, &n_rest);
    size_t in = starts(rest, n_rest, "in ") ? 0 : position_of(rest, n_rest, " in ");
    out->dtype = rest;
    out->n_dtype = in;
    if (in < n_rest) {
        size_t skip = in + (in == 0 && rest[0] != ' ' ? 3 : 4);
        out->layout = rest + skip;
        out->n_layout = n_rest - skip;
        trim(&out->layout, &out->n_layout);
    }
    return true;
}
