/* Tensors of numbers or texts, for functions that only move elements. */
#include "host/host.h"

#include <string.h>

tnr_status tnh_any_of(tnh_call *h, const tnr_value *v, const DLTensor *own, tnh_any *out)
{
    tnr_value_info info = {.kind = TNR_VALUE_TENSOR};
    *out = (tnh_any){0};
    if (v)
        tnr_value_get(v, &info);
    else
        info.tensor = *own;
    out->is_text = info.kind != TNR_VALUE_TENSOR;
    if (out->is_text) {
        tnr_status status = tnh_texts_of(h, v, &out->texts);
        out->ndim = out->texts.ndim;
        out->shape = out->texts.shape;
        out->n = out->texts.n;
        return status;
    }
    out->t = info.tensor;
    out->ndim = out->t.ndim;
    out->shape = out->t.shape;
    out->n = tnh_count(out->ndim, out->shape);
    return out->n >= 0 && out->ndim <= TNH_MAX_NDIM
               ? TNR_OK
               : tnh_fail(h, TNR_E_SHAPE, "%s gets a tensor that is too large", h->c->name);
}

tnr_status tnh_any_in(tnh_call *h, uint32_t i, tnh_any *out)
{
    return tnh_any_of(h, h->c->value[i], &h->c->tensor[i], out);
}

tnr_status tnh_fill_begin(tnh_call *h, tnh_fill *m, const tnh_any *like, int32_t ndim, const int64_t *shape)
{
    *m = (tnh_fill){.is_text = like->is_text, .type = like->t.dtype, .ndim = ndim};
    if (m->is_text)
        return tnh_maker_begin(h, &m->texts, ndim, shape);
    int64_t n = tnh_count(ndim, shape);
    if (n < 0)
        return tnh_fail(h, TNR_E_SHAPE, "the result of %s is too large", h->c->name);
    for (int32_t d = 0; d < ndim; d++)
        m->shape[d] = shape[d];
    m->size = (m->type.bits + 7u) / 8;
    m->data = tnh_new(h, (uint64_t)n, m->size);
    return m->data ? TNR_OK : TNR_E_MEMORY;
}

tnr_status tnh_fill_copy(tnh_call *h, tnh_fill *m, const tnh_any *x, int64_t from, int64_t n)
{
    tnr_status status = TNR_OK;
    if (!m->is_text && n)
        memcpy(m->data + (size_t)m->done * m->size,
               (const char *)x->t.data + x->t.byte_offset + (size_t)from * m->size, (size_t)n * m->size);
    for (int64_t i = 0; m->is_text && i < n && !status; i++)
        status = tnh_maker_add(h, &m->texts, tnh_text_at(&x->texts, from + i));
    m->done += n;
    return status;
}

tnr_status tnh_fill_end(tnh_call *h, tnh_fill *m, tnr_value **out)
{
    return m->is_text ? tnh_maker_end(h, &m->texts, out)
                      : tnh_value_tensor(h, m->type, m->ndim, m->shape, m->data, out);
}

tnr_status tnh_fill_out(tnh_call *h, tnh_fill *m, uint32_t o)
{
    void *to;
    if (m->is_text)
        return tnh_maker_out(h, &m->texts, o);
    tnr_status status = tnh_tensor_out(h, o, m->type, m->ndim, m->shape, &to);
    if (!status && m->done)
        memcpy(to, m->data, (size_t)m->done * m->size);
    return status;
}
