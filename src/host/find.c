/* string.find: where texts stand in a list. The list is hashed when it is another value than in the run before: a
 * bucket holds the last of its elements, each of which leads to the one before it. Of equal elements of the list, the
 * last one is found. The table takes 24 to 40 bytes an element. */
#include "host/find.h"

static uint64_t hash(tnh_text t)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < t.n; i++)
        h = (h ^ (uint8_t)t.at[i]) * 0x100000001b3u;
    return h ^ h >> 32;
}

tnr_status tnh_index_make(tnh_call *h, tnh_index *x, const tnh_texts *list)
{
    uint64_t n = 16;
    while (n < 2 * (uint64_t)list->n)
        n *= 2;
    *x = (tnh_index){.list = list, .mask = n - 1};
    x->last = tnh_new(h, n, sizeof *x->last);
    x->before = tnh_new(h, (uint64_t)list->n, sizeof *x->before);
    if (!x->last || !x->before)
        return TNR_E_MEMORY;
    for (int64_t i = 0; i < list->n; i++) {
        int64_t *last = &x->last[hash(tnh_text_at(list, i)) & x->mask];
        x->before[i] = *last;
        *last = i + 1;
    }
    return TNR_OK;
}

int64_t tnh_index_find(const tnh_index *x, tnh_text t)
{
    int64_t i = x->last[hash(t) & x->mask];
    while (i && !tnh_text_same(tnh_text_at(x->list, i - 1), t))
        i = x->before[i - 1];
    return i - 1;
}

typedef struct table {
    const tnr_value *of;
    tnh_texts list;
    tnh_index index;
} table;

/* Of operand 1, as it was prepared in an earlier run or is now. */
static tnr_status table_of(tnh_call *h, const table **out)
{
    tnr_value *list = h->c->value[1];
    table *t = tnh_kept(h);
    *out = t;
    if (t && t->of == list)
        return TNR_OK;
    *out = t = tnh_keep_begin(h, sizeof *t, list);
    if (!t)
        return TNR_E_MEMORY;
    t->of = list;
    tnr_status status = tnh_texts_in(h, 1, &t->list);
    return tnh_keep_end(h, status ? status : tnh_index_make(h, &t->index, &t->list));
}

/* Texts, list: the number of each text in the list; of those that are not there, the length of the list. */
tnr_status tnh_string_find(tnh_call *h)
{
    tnh_texts x;
    const table *t;
    void *out;
    tnr_status status = tnh_texts_in(h, 0, &x);
    status = status ? status : table_of(h, &t);
    status = status ? status : tnh_tensor_out(h, 0, TNH_INT64, x.ndim, x.shape, &out);
    for (int64_t i = 0; i < x.n && !status; i++) {
        int64_t at = tnh_index_find(&t->index, tnh_text_at(&x, i));
        ((int64_t *)out)[i] = at < 0 ? t->list.n : at;
    }
    return status;
}
