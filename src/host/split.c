/* string.split: the parts of texts, by a delimiter or by white space, with empty texts behind them where
 * others have more. Attributes: delimiter (absent or empty: white space), maxsplit (absent or negative: no
 * limit), ascii (white space is what isspace of C takes). */
#include "host/unicode.h"

#include <string.h>

typedef struct splitter {
    const char *at, *end;
    tnh_text delimiter; /* n 0: white space */
    bool ascii;         /* ... of C, without that of Unicode */
    int64_t left;       /* splits that are allowed; -1: all */
    bool done;
} splitter;

static bool is_space(int32_t c, bool ascii)
{
    if (c < 0x80 || ascii)
        return (c >= '\t' && c <= '\r') || c == ' ' || (c >= 0x1c && c < ' ' && !ascii);
    return c == 0x85 || tnh_code_category(c)[0] == 'Z';
}

/* Moves over characters that are white space or, else, over those that are not. */
static const char *skip(const splitter *s, const char *at, bool spaces)
{
    while (at < s->end) {
        const char *next = at;
        if (is_space(tnh_code_next(&next, s->end), s->ascii) != spaces)
            break;
        at = next;
    }
    return at;
}

static bool next_word(splitter *s, tnh_text *out)
{
    s->at = skip(s, s->at, true);
    if (s->at == s->end)
        return false;
    const char *end = s->left == 0 ? s->end : skip(s, s->at, false);
    *out = (tnh_text){s->at, (size_t)(end - s->at)};
    s->at = end;
    s->left -= s->left > 0;
    return true;
}

static bool next_part(splitter *s, tnh_text *out)
{
    if (!s->delimiter.n)
        return next_word(s, out);
    if (s->done)
        return false;
    size_t rest = (size_t)(s->end - s->at);
    const char *found = s->left == 0 ? NULL : memmem(s->at, rest, s->delimiter.at, s->delimiter.n);
    *out = (tnh_text){s->at, found ? (size_t)(found - s->at) : rest};
    s->at = found ? found + s->delimiter.n : s->end;
    s->left -= s->left > 0;
    s->done = !found;
    return true;
}

static splitter begin(tnh_call *h, tnh_text t)
{
    int64_t most = tnh_attr_int(h, "maxsplit", -1);
    return (splitter){.at = t.at,
                      .end = t.at + t.n,
                      .delimiter = tnh_attr_text(h, "delimiter"),
                      .ascii = tnh_attr_int(h, "ascii", 0) != 0,
                      .left = most < 0 ? -1 : most};
}

/* How many parts each text has; *most: of any. */
static tnr_status count(tnh_call *h, const tnh_texts *x, int64_t *most)
{
    void *out;
    tnr_status status = tnh_tensor_out(h, 1, TNH_INT64, x->ndim, x->shape, &out);
    for (int64_t i = 0; i < x->n && !status; i++) {
        splitter s = begin(h, tnh_text_at(x, i));
        int64_t n = 0;
        for (tnh_text part; next_part(&s, &part);)
            n++;
        ((int64_t *)out)[i] = n;
        *most = n > *most ? n : *most;
    }
    return status;
}

tnr_status tnh_string_split(tnh_call *h)
{
    tnh_texts x;
    tnh_maker m;
    int64_t most = 0, shape[TNH_MAX_NDIM] = {0};
    tnr_status status = tnh_texts_in(h, 0, &x);
    if (!status && x.ndim == TNH_MAX_NDIM)
        status = tnh_fail(h, TNR_E_SHAPE, "the result of %s has more than %d dimensions", h->c->name,
                          TNH_MAX_NDIM);
    status = status ? status : count(h, &x, &most);
    if (status)
        return status;
    for (int32_t d = 0; d < x.ndim; d++)
        shape[d] = x.shape[d];
    shape[x.ndim] = most;
    status = tnh_maker_begin(h, &m, x.ndim + 1, shape);
    for (int64_t i = 0; i < x.n && !status; i++) {
        splitter s = begin(h, tnh_text_at(&x, i));
        int64_t n = 0;
        for (tnh_text part; !status && next_part(&s, &part); n++)
            status = tnh_maker_add(h, &m, part);
        for (; n < most && !status; n++)
            status = tnh_maker_next(h, &m);
    }
    return status ? status : tnh_maker_out(h, &m, 0);
}
