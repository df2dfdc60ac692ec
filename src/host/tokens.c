/* string.tokenize (texts, patterns): the tokens of texts, with padding behind them where others have more. A
 * token is what the first pattern matches, or, with `separates`, what lies between matches of the patterns,
 * of which each cuts what the one before has left; without a pattern, each character. Matches are the longest
 * of those that begin first. */
#include "host/regex.h"

#include "host/unicode.h"

#include <string.h>

typedef struct compiled {
    int64_t n;
    tnh_text *pattern;
    tnh_regex **regex;
} compiled;

/* The tokens of all texts: where they lie in the operand. */
typedef struct tokens {
    tnh_call *h;
    const compiled *c;
    bool separates;
    int64_t least; /* characters of a token */
    tnh_text *at;
    int64_t n, room;
} tokens;

/* ---- patterns ---- */

static tnr_status compile(tnh_call *h, const tnh_texts *patterns, compiled *out)
{
    out->pattern = tnh_new(h, (uint64_t)patterns->n + 1, sizeof *out->pattern);
    out->regex = tnh_new(h, (uint64_t)patterns->n + 1, sizeof *out->regex);
    for (int64_t i = 0; out->pattern && out->regex && i < patterns->n; i++) {
        tnh_text given = tnh_text_at(patterns, i);
        char *text = tnh_new(h, given.n + 1, 1);
        if (!text)
            return TNR_E_MEMORY;
        memcpy(text, given.at, given.n);
        out->pattern[i] = (tnh_text){text, given.n};
        out->regex[i] = tnh_regex_new(h, given);
        if (!out->regex[i])
            return TNR_E_ARG;
        out->n++;
    }
    return out->n == patterns->n ? TNR_OK : TNR_E_MEMORY;
}

static bool is_same(const compiled *c, const tnh_texts *patterns)
{
    bool same = c && c->n == patterns->n;
    for (int64_t i = 0; same && i < c->n; i++)
        same = tnh_text_same(c->pattern[i], tnh_text_at(patterns, i));
    return same;
}

static tnr_status compiled_of(tnh_call *h, const tnh_texts *patterns, const compiled **out)
{
    compiled *c = tnh_kept(h);
    tnr_status status = TNR_OK;
    if (!is_same(c, patterns)) {
        c = tnh_keep_begin(h, sizeof *c, NULL);
        status = c ? tnh_keep_end(h, compile(h, patterns, c)) : TNR_E_MEMORY;
    }
    *out = status ? NULL : c;
    return status;
}

/* ---- tokens ---- */

/* How many characters a part has; none, if it is shorter than the least. */
static bool is_long(const tokens *t, tnh_text part)
{
    int64_t n = 0;
    const char *at = part.at;
    while (n < t->least && at < part.at + part.n) {
        (void)tnh_code_next(&at, part.at + part.n);
        n++;
    }
    return n >= t->least;
}

static tnr_status add(tokens *t, tnh_text part)
{
    if (!part.n || !is_long(t, part))
        return TNR_OK;
    if (t->n == t->room) {
        int64_t room = 2 * t->room + 64;
        tnh_text *at = tnh_new(t->h, (uint64_t)room, sizeof *at);
        if (!at)
            return TNR_E_MEMORY;
        if (t->n)
            memcpy(at, t->at, (size_t)t->n * sizeof *at);
        t->at = at;
        t->room = room;
    }
    t->at[t->n++] = part;
    return TNR_OK;
}

static tnr_status characters(tokens *t, tnh_text text)
{
    tnr_status status = TNR_OK;
    for (const char *at = text.at, *end = at + text.n; !status && at < end;) {
        const char *first = at;
        (void)tnh_code_next(&at, end);
        status = add(t, (tnh_text){first, (size_t)(at - first)});
    }
    return status;
}

/* Behind a match, which goes on from the next character where it has given nothing. */
static size_t behind(tnh_text text, tnh_text match, bool used)
{
    const char *at = match.at + match.n, *end = text.at + text.n;
    if (!used || !match.n) {
        at = match.at;
        if (at < end)
            (void)tnh_code_next(&at, end);
        else
            at++;
    }
    return (size_t)(at - text.at);
}

static tnr_status matches(tokens *t, tnh_text text)
{
    tnr_status status = TNR_OK;
    tnh_text match;
    for (size_t from = 0;
         !status && from <= text.n && tnh_regex_search(t->c->regex[0], text, from, true, &match);) {
        status = add(t, match);
        from = behind(text, match, is_long(t, match));
    }
    return status;
}

/* What lies between the matches of a pattern, of a part that an earlier one has left. */
static tnr_status cut(tokens *t, tnh_regex *r, tnh_text text)
{
    tnr_status status = TNR_OK;
    tnh_text match;
    size_t from = 0;
    while (!status && from <= text.n && tnh_regex_search(r, text, from, true, &match)) {
        status = add(t, (tnh_text){text.at + from, (size_t)(match.at - text.at) - from});
        from = behind(text, match, true);
    }
    return status || from >= text.n ? status : add(t, (tnh_text){text.at + from, text.n - from});
}

static tnr_status between(tokens *t, tnh_text text)
{
    int64_t first = t->n;
    tnr_status status = add(t, text);
    for (int64_t k = 0; k < t->c->n && !status; k++) {
        int64_t n = t->n;
        for (int64_t i = first; i < n && !status; i++)
            status = cut(t, t->c->regex[k], t->at[i]);
        if (!status) {
            memmove(t->at + first, t->at + n, (size_t)(t->n - n) * sizeof *t->at);
            t->n -= n - first;
        }
    }
    return status;
}

/* The tokens of each text: those of text i are begin[i] to begin[i + 1]. Gives the most that one has; below
 * 0: failed. */
static int64_t find(tokens *t, const tnh_texts *x, int64_t *begin)
{
    int64_t most = 0;
    for (int64_t i = 0; i < x->n; i++) {
        tnh_text text = tnh_text_at(x, i);
        tnr_status status = t->c->n == 0   ? characters(t, text)
                            : t->separates ? between(t, text)
                                           : matches(t, text);
        if (status)
            return -1;
        begin[i + 1] = t->n;
        most = t->n - begin[i] > most ? t->n - begin[i] : most;
    }
    return most;
}

static tnr_status write_row(tnh_call *h, tnh_maker *m, const tokens *t, int64_t from, int64_t to,
                            int64_t most)
{
    bool mark = tnh_attr_int(h, "mark", 0) != 0;
    tnh_text pad = tnh_attr_text(h, "pad");
    tnr_status status = mark ? tnh_maker_add(h, m, (tnh_text){"\x02", 1}) : TNR_OK;
    for (int64_t i = from; i < to && !status; i++)
        status = tnh_maker_add(h, m, t->at[i]);
    if (mark && !status)
        status = tnh_maker_add(h, m, (tnh_text){"\x03", 1});
    for (int64_t i = to - from; i < most && !status; i++)
        status = tnh_maker_add(h, m, pad);
    return status;
}

tnr_status tnh_string_tokenize(tnh_call *h)
{
    tnh_texts x, patterns;
    tnh_maker m;
    int64_t shape[TNH_MAX_NDIM] = {0};
    tokens t = {
        .h = h, .separates = tnh_attr_int(h, "separates", 0) != 0, .least = tnh_attr_int(h, "least", 1)};
    tnr_status status = tnh_texts_in(h, 0, &x);
    status = status ? status : tnh_texts_in(h, 1, &patterns);
    status = status ? status : compiled_of(h, &patterns, &t.c);
    if (!status && x.ndim == TNH_MAX_NDIM)
        status = tnh_fail(h, TNR_E_SHAPE, "the result of %s has more than %d dimensions", h->c->name,
                          TNH_MAX_NDIM);
    int64_t *begin = status ? NULL : tnh_new(h, (uint64_t)x.n + 1, sizeof *begin);
    int64_t most = begin ? find(&t, &x, begin) : -1;
    if (most < 0)
        return status ? status : TNR_E_MEMORY;
    for (int32_t d = 0; d < x.ndim; d++)
        shape[d] = x.shape[d];
    shape[x.ndim] = most && tnh_attr_int(h, "mark", 0) ? most + 2 : most;
    status = tnh_maker_begin(h, &m, x.ndim + 1, shape);
    for (int64_t i = 0; i < x.n && most && !status; i++)
        status = write_row(h, &m, &t, begin[i], begin[i + 1], most);
    return status ? status : tnh_maker_out(h, &m, 0);
}
