/* Maps: a vector of keys, int64 or texts, and as many values. Of equal keys the last one counts. */
#include "host/host.h"

#include <stdlib.h>
#include <string.h>

typedef struct map {
    tnh_any key, value;
    int64_t n;
    int64_t *entry; /* where the n keys stand, ascending and each once */
} map;

/* Below 0, 0 or above 0: key i of a against key k of b. */
static int compare(const tnh_any *a, int64_t i, const tnh_any *b, int64_t k)
{
    if (!a->is_text) {
        int64_t x = ((const int64_t *)((const char *)a->t.data + a->t.byte_offset))[i],
                y = ((const int64_t *)((const char *)b->t.data + b->t.byte_offset))[k];
        return (x > y) - (x < y);
    }
    tnh_text x = tnh_text_at(&a->texts, i), y = tnh_text_at(&b->texts, k);
    size_t n = x.n < y.n ? x.n : y.n;
    int order = n ? memcmp(x.at, y.at, n) : 0;
    return order ? order : (x.n > y.n) - (x.n < y.n);
}

static int by_key(const void *a, const void *b, void *user)
{
    const map *m = user;
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    int order = compare(&m->key, i, &m->key, k);
    return order ? order : (i > k) - (i < k);
}

static tnr_status check_keys(tnh_call *h, const tnh_any *key)
{
    bool ok = key->ndim == 1 && (key->is_text || (key->t.dtype.code == kDLInt && key->t.dtype.bits == 64));
    return ok ? TNR_OK
              : tnh_fail(h, TNR_E_DTYPE, "the keys of a map for %s are not a list of int64 or strings",
                         h->c->name);
}

static tnr_status sort(tnh_call *h, map *m)
{
    int64_t n = 0;
    m->entry = tnh_new(h, (uint64_t)m->n, sizeof *m->entry);
    if (!m->entry)
        return TNR_E_MEMORY;
    for (int64_t i = 0; i < m->n; i++)
        m->entry[i] = i;
    if (m->n)
        qsort_r(m->entry, (size_t)m->n, sizeof *m->entry, by_key, m);
    for (int64_t i = 0; i < m->n; i++)
        if (i + 1 == m->n || compare(&m->key, m->entry[i], &m->key, m->entry[i + 1]) != 0)
            m->entry[n++] = m->entry[i];
    m->n = n;
    return TNR_OK;
}

static tnr_status map_in(tnh_call *h, map *m)
{
    tnr_value_info info = {0};
    *m = (map){0};
    if (h->c->value[0])
        tnr_value_get(h->c->value[0], &info);
    if (info.kind != TNR_VALUE_CONSTRUCTOR || info.tag != 0 || info.n_field != 2)
        return tnh_fail(h, TNR_E_DTYPE, "%s gets a value that is not a map", h->c->name);
    tnr_status status = tnh_any_of(h, info.field[0], NULL, &m->key);
    status = status ? status : tnh_any_of(h, info.field[1], NULL, &m->value);
    status = status ? status : check_keys(h, &m->key);
    m->n = m->key.n;
    if (!status && (m->value.ndim != 1 || m->value.n != m->n))
        return tnh_fail(h, TNR_E_SHAPE, "a map for %s has %lld keys and other values", h->c->name,
                        (long long)m->n);
    return status ? status : sort(h, m);
}

/* Those elements of a list that belong to the keys in their order. */
static tnr_status in_order(tnh_call *h, const map *m, const tnh_any *list)
{
    tnh_fill made;
    tnr_status status = tnh_fill_begin(h, &made, list, 1, &m->n);
    for (int64_t i = 0; i < m->n && !status; i++)
        status = tnh_fill_copy(h, &made, list, m->entry[i], 1);
    return status ? status : tnh_fill_out(h, &made, 0);
}

tnr_status tnh_map_keys(tnh_call *h)
{
    map m;
    tnr_status status = map_in(h, &m);
    return status ? status : in_order(h, &m, &m.key);
}

tnr_status tnh_map_values(tnh_call *h)
{
    map m;
    tnr_status status = map_in(h, &m);
    return status ? status : in_order(h, &m, &m.value);
}

/* The position of the value at key i of `wanted`; -1: there is none. */
static int64_t find(const map *m, const tnh_any *wanted, int64_t i)
{
    int64_t low = 0, high = m->n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = compare(&m->key, m->entry[middle], wanted, i);
        if (order == 0)
            return m->entry[middle];
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return -1;
}

static bool same_kind(const tnh_any *a, const tnh_any *b)
{
    return a->is_text == b->is_text &&
           (a->is_text || (a->t.dtype.code == b->t.dtype.code && a->t.dtype.bits == b->t.dtype.bits));
}

/* Map, keys, what stands for absent ones. */
tnr_status tnh_map_get(tnh_call *h)
{
    map m;
    tnh_any wanted, absent;
    tnh_fill made;
    tnr_status status = map_in(h, &m);
    status = status ? status : tnh_any_in(h, 1, &wanted);
    status = status ? status : tnh_any_in(h, 2, &absent);
    status = status ? status : check_keys(h, &wanted);
    if (!status && (wanted.is_text != m.key.is_text || !same_kind(&absent, &m.value) || absent.n != 1))
        return tnh_fail(h, TNR_E_DTYPE, "%s gets keys or a value of another type than the map has",
                        h->c->name);
    status = status ? status : tnh_fill_begin(h, &made, &m.value, 1, wanted.shape);
    for (int64_t i = 0; i < wanted.n && !status; i++) {
        int64_t at = find(&m, &wanted, i);
        status = tnh_fill_copy(h, &made, at < 0 ? &absent : &m.value, at < 0 ? 0 : at, 1);
    }
    return status ? status : tnh_fill_out(h, &made, 0);
}

/* A map of all keys to elements [from, from + the number of keys) of x. */
static tnr_status row(tnh_call *h, tnr_value *keys, const tnh_any *x, int64_t n, int64_t from,
                      tnr_value **out)
{
    tnh_fill made;
    tnr_value *field[2] = {keys};
    tnr_status status = tnh_fill_begin(h, &made, x, 1, &n);
    status = status ? status : tnh_fill_copy(h, &made, x, from, n);
    status = status ? status : tnh_fill_end(h, &made, &field[1]);
    if (status)
        return status;
    tnr_value_retain(keys);
    return tnh_value_fields(h, 0, 2, field, out);
}

/* Keys, a row of values or several: a sequence of maps, one for each row. */
tnr_status tnh_map_zip(tnh_call *h)
{
    tnh_any key, x;
    tnh_fill all;
    tnr_value *keys = NULL, *made, **field = NULL;
    tnr_status status = tnh_any_in(h, 0, &key);
    status = status ? status : tnh_any_in(h, 1, &x);
    status = status ? status : check_keys(h, &key);
    if (!status && (x.ndim < 1 || x.ndim > 2 || x.shape[x.ndim - 1] != key.n))
        return tnh_fail(h, TNR_E_SHAPE, "there are %lld keys, but rows of %lld values", (long long)key.n,
                        x.ndim ? (long long)x.shape[x.ndim - 1] : 1);
    int64_t n = status ? 0 : x.ndim == 1 ? 1 : x.shape[0], done = 0;
    if (n > UINT32_MAX)
        return tnh_fail(h, TNR_E_SHAPE, "the result of %s is too large", h->c->name);
    status = status ? status : tnh_fill_begin(h, &all, &key, 1, &key.n);
    status = status ? status : tnh_fill_copy(h, &all, &key, 0, key.n);
    status = status ? status : tnh_fill_end(h, &all, &keys);
    if (!status && !(field = tnh_new(h, (uint64_t)n + 1, sizeof *field)))
        status = TNR_E_MEMORY;
    while (!status && done < n && !(status = row(h, keys, &x, key.n, done * key.n, &field[done])))
        done++;
    tnr_value_release(keys);
    if (!status) {
        status = tnh_value_fields(h, 0, (uint32_t)n, field, &made);
        return status ? status : tnh_value_out(h, 0, made);
    }
    for (int64_t i = 0; i < done; i++)
        tnr_value_release(field[i]);
    return status;
}
