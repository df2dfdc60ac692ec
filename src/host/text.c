/* Texts: constants, joined, compared, moved. */
#include "host/host.h"

#include "base/take.h"

#include <string.h>

static tnr_status make(tnh_call *h)
{
    const void *at[3];
    int64_t n[3];
    tnh_maker m;
    tnr_status status = tnh_data_in(h, 0, TNH_INT64, &at[0], &n[0]);
    status = status ? status : tnh_data_in(h, 1, TNH_INT64, &at[1], &n[1]);
    status = status ? status : tnh_data_in(h, 2, TNH_BYTE, &at[2], &n[2]);
    if (status)
        return status;
    if (n[0] > TNH_MAX_NDIM)
        return tnh_fail(h, TNR_E_SHAPE, "a tensor of strings has more than %d dimensions", TNH_MAX_NDIM);
    status = tnh_maker_begin(h, &m, (int32_t)n[0], at[0]);
    const int64_t *offset = at[1];
    if (!status && (n[1] != m.n + 1 || offset[0] != 0 || offset[m.n] != n[2]))
        return tnh_fail(h, TNR_E_FORMAT, "the parts of a constant tensor of strings do not fit each other");
    for (int64_t i = 0; i < m.n && !status; i++) {
        if (offset[i] > offset[i + 1] || offset[i + 1] > n[2])
            return tnh_fail(h, TNR_E_FORMAT, "the offsets of a constant tensor of strings do not ascend");
        status = tnh_maker_add(
            h, &m, (tnh_text){(const char *)at[2] + offset[i], (size_t)(offset[i + 1] - offset[i])});
    }
    return status ? status : tnh_maker_out(h, &m, 0);
}

/* Constants are three tensors in the package: shape, offsets, bytes. The value is made in the first run, and the others
 * give it again. */
tnr_status tnh_string_make(tnh_call *h)
{
    bool same = tnh_is_constant(h, 0) && tnh_is_constant(h, 1) && tnh_is_constant(h, 2);
    tnr_value **had = same ? tnh_kept(h) : NULL;
    if (had) {
        tnr_value_retain(*had);
        return tnh_value_out(h, 0, *had);
    }
    tnr_status status = make(h);
    tnr_value *made = h->c->value[h->c->n_in];
    if (status || !same)
        return status;
    tnr_value **kept = tnh_keep_begin(h, sizeof *kept, made);
    if (kept)
        *kept = made;
    return tnh_keep_end(h, kept ? TNR_OK : TNR_E_MEMORY);
}

static tnr_status read_pair(tnh_call *h, tnh_texts t[2], tnh_pairs *p)
{
    tnr_status status = tnh_texts_in(h, 0, &t[0]);
    status = status ? status : tnh_texts_in(h, 1, &t[1]);
    return status ? status : tnh_pairs_begin(h, p, &t[0], &t[1]);
}

tnr_status tnh_string_concat(tnh_call *h)
{
    tnh_texts t[2];
    tnh_pairs p;
    tnh_maker m;
    tnr_status status = read_pair(h, t, &p);
    status = status ? status : tnh_maker_begin(h, &m, p.ndim, p.shape);
    for (int64_t i = 0; !status && i < p.n; i++, tnh_pairs_next(&p)) {
        status = tnh_maker_put(h, &m, tnh_text_at(&t[0], p.at[0]));
        status = status ? status : tnh_maker_add(h, &m, tnh_text_at(&t[1], p.at[1]));
    }
    return status ? status : tnh_maker_out(h, &m, 0);
}

tnr_status tnh_string_equal(tnh_call *h)
{
    tnh_texts t[2];
    tnh_pairs p;
    void *out;
    tnr_status status = read_pair(h, t, &p);
    status = status ? status : tnh_tensor_out(h, 0, TNH_BOOL, p.ndim, p.shape, &out);
    for (int64_t i = 0; !status && i < p.n; i++, tnh_pairs_next(&p))
        ((uint8_t *)out)[i] = tnh_text_same(tnh_text_at(&t[0], p.at[0]), tnh_text_at(&t[1], p.at[1]));
    return status;
}

tnr_status tnh_string_number(tnh_call *h)
{
    tnh_texts t;
    void *out;
    tnr_status status = tnh_texts_in(h, 0, &t);
    status = status ? status : tnh_tensor_out(h, 0, TNH_INT64, t.ndim, t.shape, &out);
    for (int64_t i = 0; !status && i < t.n; i++)
        ((int64_t *)out)[i] = i;
    return status;
}

static tnr_status take(tnh_call *h, uint32_t n_text, const tnh_texts *t, const DLTensor *shape,
                       const int64_t *number)
{
    tnh_maker m;
    tnr_status status = tnh_maker_begin(h, &m, shape->ndim, shape->shape);
    for (int64_t i = 0; !status && i < m.n; i++) {
        int64_t k = number[i] >> TN_TAKE_BITS, at = number[i] & ((INT64_C(1) << TN_TAKE_BITS) - 1);
        if (k < 0 || k >= n_text || at >= t[k].n)
            return tnh_fail(h, TNR_E_ARG, "%s is asked for an element that does not exist", h->c->name);
        status = tnh_maker_add(h, &m, tnh_text_at(&t[k], at));
    }
    return status ? status : tnh_maker_out(h, &m, 0);
}

/* Operators that only move elements work on numbers of elements, and this takes the elements. */
tnr_status tnh_string_take(tnh_call *h)
{
    const void *number;
    int64_t n;
    DLTensor shape;
    uint32_t n_text = h->n_in ? h->n_in - 1 : 0;
    tnh_texts *t = tnh_new(h, n_text, sizeof *t);
    if (!t)
        return TNR_E_MEMORY;
    if (!n_text)
        return tnh_fail(h, TNR_E_FORMAT, "%s is called without operands", h->c->name);
    tnr_status status = tnh_data_in(h, n_text, TNH_INT64, &number, &n);
    status = status ? status : tnh_tensor_in(h, n_text, &shape);
    for (uint32_t k = 0; k < n_text && !status; k++)
        status = tnh_texts_in(h, k, &t[k]);
    return status ? status : take(h, n_text, t, &shape, number);
}
