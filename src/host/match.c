/* string.regex_full_match (texts, attribute pattern): which of them the pattern matches from beginning to end. The
 * pattern is compiled when it is another one than in the run before. */
#include "host/regex.h"

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
