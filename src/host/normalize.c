/* string.normalize (texts [C] or [1,C], stop words [n]): the texts without the stop words, in another case;
 * one empty text where nothing is left. Attributes: case_change_action (LOWER, UPPER, NONE),
 * is_case_sensitive (whether stop words are compared as they are, and not in the case that the result has, or
 * lower case), locale (of languages, Turkish and Azerbaijani have cases of their own). The stop words are prepared when
 * they are another value than in the run before. */
#include "host/find.h"
#include "host/unicode.h"

#include <string.h>

enum letters { AS_THEY_ARE, LOWER, UPPER };

typedef struct normalizer {
    tnh_call *h;
    enum letters to, compared;
    bool turkic;
} normalizer;

typedef struct stop_words {
    const tnr_value *of;
    enum letters compared;
    bool turkic;
    tnh_texts list;
    tnh_maker m;
    tnh_index index;
} stop_words;

/* All texts in a case: a copy in memory of tnh_new. */
static tnr_status in_case(const normalizer *z, const tnh_texts *from, enum letters to, tnh_texts *out,
                          tnh_maker *m)
{
    *out = *from;
    if (to == AS_THEY_ARE)
        return TNR_OK;
    tnr_status status = tnh_maker_begin(z->h, m, from->ndim, from->shape);
    for (int64_t i = 0; i < from->n && !status; i++) {
        status = tnh_text_case(z->h, m, tnh_text_at(from, i), to == UPPER, z->turkic);
        status = status ? status : tnh_maker_next(z->h, m);
    }
    out->offset = m->offset;
    out->bytes = m->bytes ? m->bytes : "";
    return status;
}

static bool has_language(tnh_text locale, const char *language)
{
    return locale.n >= 2 && memcmp(locale.at, language, 2) == 0 &&
           (locale.n == 2 || locale.at[2] == '_' || locale.at[2] == '-' || locale.at[2] == '.');
}

/* The elements of `shown` whose `compared` is no stop word. */
static tnr_status keep(tnh_call *h, const tnh_texts *shown, const tnh_texts *compared, const tnh_index *stop)
{
    tnh_maker m;
    int64_t n = 0, shape[2] = {1, 1};
    bool *kept = tnh_new(h, (uint64_t)shown->n, sizeof *kept);
    if (!kept)
        return TNR_E_MEMORY;
    for (int64_t i = 0; i < shown->n; i++)
        n += kept[i] = tnh_index_find(stop, tnh_text_at(compared, i)) < 0;
    shape[shown->ndim - 1] = n ? n : 1;
    tnr_status status = tnh_maker_begin(h, &m, shown->ndim, shape);
    for (int64_t i = 0; i < shown->n && !status; i++)
        if (kept[i])
            status = tnh_maker_add(h, &m, tnh_text_at(shown, i));
    if (!n && !status)
        status = tnh_maker_next(h, &m);
    return status ? status : tnh_maker_out(h, &m, 0);
}

/* Of operand 1, as they were prepared in an earlier run or are now. */
static tnr_status stop_words_of(const normalizer *z, const stop_words **out)
{
    tnh_call *h = z->h;
    tnr_value *words = h->c->value[1];
    tnh_texts list;
    stop_words *s = tnh_kept(h);
    *out = s;
    if (s && s->of == words && s->compared == z->compared && s->turkic == z->turkic)
        return TNR_OK;
    *out = s = tnh_keep_begin(h, sizeof *s, words);
    if (!s)
        return TNR_E_MEMORY;
    s->of = words;
    s->compared = z->compared;
    s->turkic = z->turkic;
    tnr_status status = tnh_texts_in(h, 1, &list);
    status = status ? status : in_case(z, &list, z->compared, &s->list, &s->m);
    return tnh_keep_end(h, status ? status : tnh_index_make(h, &s->index, &s->list));
}

tnr_status tnh_string_normalize(tnh_call *h)
{
    tnh_texts x, shown, compared;
    tnh_maker m[2];
    const stop_words *stop = NULL;
    tnh_text locale = tnh_attr_text(h, "locale");
    bool upper = tnh_attr_is(h, "case_change_action", "UPPER");
    normalizer z = {.h = h, .turkic = has_language(locale, "tr") || has_language(locale, "az")};
    z.to = upper ? UPPER : tnh_attr_is(h, "case_change_action", "LOWER") ? LOWER : AS_THEY_ARE;
    z.compared = tnh_attr_int(h, "is_case_sensitive", 0) ? AS_THEY_ARE : upper ? UPPER : LOWER;
    tnr_status status = tnh_texts_in(h, 0, &x);
    status = status ? status : stop_words_of(&z, &stop);
    if (!status && !(x.ndim == 1 || (x.ndim == 2 && x.shape[0] == 1)))
        status = tnh_fail(h, TNR_E_SHAPE, "%s takes a list of strings, or one row of a matrix", h->c->name);
    status = status ? status : in_case(&z, &x, z.to, &shown, &m[0]);
    status = status ? status : in_case(&z, &x, stop->list.n ? z.compared : AS_THEY_ARE, &compared, &m[1]);
    return status ? status : keep(h, &shown, &compared, &stop->index);
}
