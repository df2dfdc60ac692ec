/* string.rank: texts in the order of their bytes, which in UTF-8 is that of code points. Merge sort of their numbers:
 * n log n comparisons. */
#include "host/host.h"

#include <string.h>

static int compare(const tnh_texts *t, int64_t i, int64_t j)
{
    tnh_text a = tnh_text_at(t, i), b = tnh_text_at(t, j);
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.at, b.at, n) : 0;
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

/* Runs of `run` numbers, each in order, to runs of twice as many. */
static void merge(const tnh_texts *t, int64_t run, const int64_t *from, int64_t *to)
{
    for (int64_t at = 0; at < t->n; at += 2 * run) {
        int64_t i = at, middle = at + run < t->n ? at + run : t->n, j = middle,
                end = middle + run < t->n ? middle + run : t->n;
        for (int64_t k = at; k < end; k++) {
            bool first = i < middle && (j == end || compare(t, from[i], from[j]) <= 0);
            to[k] = first ? from[i++] : from[j++];
        }
    }
}

tnr_status tnh_string_rank(tnh_call *h)
{
    tnh_texts t;
    void *out;
    tnr_status status = tnh_texts_in(h, 0, &t);
    status = status ? status : tnh_tensor_out(h, 0, TNH_INT64, t.ndim, t.shape, &out);
    if (status || t.n == 0)
        return status;
    int64_t *rank = out, *order = tnh_new(h, (uint64_t)t.n, sizeof *order),
            *other = tnh_new(h, (uint64_t)t.n, sizeof *other), *swap;
    if (!order || !other)
        return TNR_E_MEMORY;
    for (int64_t i = 0; i < t.n; i++)
        order[i] = i;
    for (int64_t run = 1; run < t.n; run *= 2) {
        merge(&t, run, order, other);
        swap = order;
        order = other;
        other = swap;
    }
    rank[order[0]] = 0;
    for (int64_t i = 1; i < t.n; i++)
        rank[order[i]] = rank[order[i - 1]] + (compare(&t, order[i - 1], order[i]) != 0);
    return TNR_OK;
}
