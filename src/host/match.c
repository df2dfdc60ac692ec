/* string.regex_full_match (texts, attribute pattern): which of them the pattern matches from beginning to end.
 * string.regex_replace (texts; attributes pattern, rewrite, all): texts with `rewrite` in the place of what the pattern
 * matches, as it prefers: everywhere, or once. The pattern is compiled when it is another one than in the run
 * before. */
#include "host/regex.h"
#include "host/unicode.h"

#include <string.h>

typedef struct compiled {
    tnh_text pattern;
    tnh_regex *regex;
} compiled;

static tnr_status compile(tnh_call *h, tnh_text pattern, compiled *out)
{
    char *text = tnh_new(h, pattern.n, 1);
    if (!text)
        return TNR_E_MEMORY;
    if (pattern.n)
        memcpy(text, pattern.at, pattern.n);
    *out = (compiled){{text, pattern.n}, tnh_regex_new(h, pattern)};
    return out->regex ? TNR_OK : TNR_E_ARG;
}

static tnr_status regex_of(tnh_call *h, tnh_regex **out)
{
    tnh_text pattern = tnh_attr_text(h, "pattern");
    compiled *c = tnh_kept(h);
    tnr_status status = TNR_OK;
    if (!c || !tnh_text_same(c->pattern, pattern)) {
        c = tnh_keep_begin(h, sizeof *c, NULL);
        status = c ? tnh_keep_end(h, compile(h, pattern, c)) : TNR_E_MEMORY;
    }
    *out = status ? NULL : c->regex;
    return status;
}

tnr_status tnh_string_regex_full_match(tnh_call *h)
{
    tnh_texts x;
    void *out;
    tnh_regex *r = NULL;
    tnr_status status = tnh_texts_in(h, 0, &x);
    status = status ? status : regex_of(h, &r);
    status = status ? status : tnh_tensor_out(h, 0, TNH_BOOL, x.ndim, x.shape, &out);
    for (int64_t i = 0; i < x.n && !status; i++)
        ((uint8_t *)out)[i] = tnh_regex_matches(r, tnh_text_at(&x, i));
    return status;
}

/* Puts the character at s and gives what follows it. */
static tnr_status put_code(tnh_call *h, tnh_maker *m, tnh_text t, size_t *at)
{
    const char *next = t.at + *at;
    (void)tnh_code_next(&next, t.at + t.n);
    size_t n = (size_t)(next - (t.at + *at));
    tnr_status status = tnh_maker_put(h, m, (tnh_text){t.at + *at, n});
    *at += n;
    return status;
}

/* An empty match right behind the last one does not count. */
static tnr_status replace(tnh_call *h, tnh_maker *m, tnh_regex *r, tnh_text t, bool all)
{
    tnh_text rewrite = tnh_attr_text(h, "rewrite"), found;
    size_t at = 0, last = SIZE_MAX;
    tnr_status status = TNR_OK;
    while (!status && tnh_regex_search(r, t, at, false, &found)) {
        size_t from = (size_t)(found.at - t.at);
        if (found.n == 0 && from == last && at == t.n)
            break;
        if (found.n == 0 && from == last) {
            status = put_code(h, m, t, &at);
            continue;
        }
        status = tnh_maker_put(h, m, (tnh_text){t.at + at, from - at});
        status = status ? status : tnh_maker_put(h, m, rewrite);
        at = last = from + found.n;
        if (!all)
            break;
    }
    return status ? status : tnh_maker_add(h, m, (tnh_text){t.at + at, t.n - at});
}

tnr_status tnh_string_regex_replace(tnh_call *h)
{
    tnh_texts x;
    tnh_maker m;
    tnh_regex *r = NULL;
    bool all = tnh_attr_int(h, "all", 1) != 0;
    tnr_status status = tnh_texts_in(h, 0, &x);
    status = status ? status : regex_of(h, &r);
    status = status ? status : tnh_maker_begin(h, &m, x.ndim, x.shape);
    for (int64_t i = 0; i < x.n && !status; i++)
        status = replace(h, &m, r, tnh_text_at(&x, i), all);
    return status ? status : tnh_maker_out(h, &m, 0);
}
