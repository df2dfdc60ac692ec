/* Values as functions see them: texts read and made, constructors. What is read is checked once: a caller can give any
 * value. */
#include "host/host.h"

#include <string.h>

/* ---- texts, read ---- */

/* Field i of a value as a dense vector of int64; NULL: it is something else. */
static const int64_t *numbers(const tnr_value_info *texts, uint32_t i, int64_t *out_n)
{
    tnr_value_info info;
    tnr_value_get(texts->field[i], &info);
    const DLTensor *t = &info.tensor;
    if (info.kind != TNR_VALUE_TENSOR || t->ndim != 1 || t->dtype.code != kDLInt || t->dtype.bits != 64)
        return NULL;
    *out_n = t->shape[0];
    return t->data;
}

static bool offsets_are_right(const tnh_texts *t, int64_t bytes)
{
    bool ok = t->offset[0] == 0 && t->offset[t->n] == bytes;
    for (int64_t i = 0; ok && i < t->n; i++)
        ok = t->offset[i] <= t->offset[i + 1];
    return ok;
}

tnr_status tnh_texts_of(tnh_call *h, const tnr_value *v, tnh_texts *out)
{
    tnr_value_info info = {0}, bytes = {0};
    int64_t rank = 0, n = 0;
    if (v)
        tnr_value_get(v, &info);
    *out = (tnh_texts){0};
    if (info.kind == TNR_VALUE_CONSTRUCTOR && info.tag == 0 && info.n_field == 3) {
        out->shape = numbers(&info, 0, &rank);
        out->offset = numbers(&info, 1, &n);
        tnr_value_get(info.field[2], &bytes);
    }
    if (!out->shape || !out->offset || bytes.kind != TNR_VALUE_TEXT || rank > TNH_MAX_NDIM)
        return tnh_fail(h, TNR_E_DTYPE, "%s gets a value that is not a tensor of strings", h->c->name);
    out->ndim = (int32_t)rank;
    out->n = tnh_count(out->ndim, out->shape);
    out->bytes = bytes.text;
    if (out->n < 0 || n != out->n + 1 || !offsets_are_right(out, (int64_t)bytes.text_n))
        return tnh_fail(h, TNR_E_SHAPE, "%s gets a tensor of strings whose parts do not fit each other",
                        h->c->name);
    return TNR_OK;
}

tnr_status tnh_texts_in(tnh_call *h, uint32_t i, tnh_texts *out)
{
    return tnh_texts_of(h, h->c->value[i], out);
}

bool tnh_text_same(tnh_text a, tnh_text b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

/* ---- texts, made ---- */

tnr_status tnh_maker_begin(tnh_call *h, tnh_maker *m, int32_t ndim, const int64_t *shape)
{
    *m = (tnh_maker){.ndim = ndim, .n = tnh_count(ndim, shape)};
    if (ndim > TNH_MAX_NDIM || m->n < 0 || m->n == INT64_MAX)
        return tnh_fail(h, TNR_E_SHAPE, "the result of %s is too large", h->c->name);
    for (int32_t d = 0; d < ndim; d++)
        m->shape[d] = shape[d];
    m->offset = tnh_new(h, (uint64_t)m->n + 1, sizeof *m->offset);
    return m->offset ? TNR_OK : TNR_E_MEMORY;
}

/* Room doubles; what it was stays in the scratch memory of the call. */
tnr_status tnh_maker_put(tnh_call *h, tnh_maker *m, tnh_text part)
{
    if (part.n > m->room - m->used) {
        size_t room = m->room > SIZE_MAX / 4 ? SIZE_MAX / 2 : 2 * m->room;
        room = room < m->used + part.n ? m->used + part.n : room;
        char *bytes = tnh_new(h, room < 64 ? 64 : room, 1);
        if (!bytes)
            return TNR_E_MEMORY;
        if (m->used)
            memcpy(bytes, m->bytes, m->used);
        m->bytes = bytes;
        m->room = room < 64 ? 64 : room;
    }
    if (part.n)
        memcpy(m->bytes + m->used, part.at, part.n);
    m->used += part.n;
    return TNR_OK;
}

tnr_status tnh_maker_next(tnh_call *h, tnh_maker *m)
{
    if (m->done == m->n)
        return tnh_fail(h, TNR_E_SHAPE, "%s makes more strings than its result holds", h->c->name);
    m->offset[++m->done] = (int64_t)m->used;
    return TNR_OK;
}

tnr_status tnh_maker_add(tnh_call *h, tnh_maker *m, tnh_text whole)
{
    tnr_status status = tnh_maker_put(h, m, whole);
    return status ? status : tnh_maker_next(h, m);
}

tnr_status tnh_maker_end(tnh_call *h, tnh_maker *m, tnr_value **out)
{
    int64_t rank = m->ndim, n = m->n + 1;
    tnr_value *field[3] = {NULL};
    tnr_value_info bytes = {.kind = TNR_VALUE_TEXT, .text = m->bytes ? m->bytes : "", .text_n = m->used};
    if (m->done != m->n)
        return tnh_fail(h, TNR_E_SHAPE, "%s makes fewer strings than its result holds", h->c->name);
    tnr_status status = tnh_value_tensor(h, TNH_INT64, 1, &rank, m->shape, &field[0]);
    status = status ? status : tnh_value_tensor(h, TNH_INT64, 1, &n, m->offset, &field[1]);
    status = status ? status : tnr_value_new(h->c->instance, &bytes, &field[2], h->err);
    if (!status)
        return tnh_value_fields(h, 0, 3, field, out);
    for (int i = 0; i < 3; i++)
        tnr_value_release(field[i]);
    return status;
}

tnr_status tnh_maker_out(tnh_call *h, tnh_maker *m, uint32_t o)
{
    tnr_value *v;
    tnr_status status = tnh_maker_end(h, m, &v);
    return status ? status : tnh_value_out(h, o, v);
}

/* ---- other values ---- */

tnr_status tnh_value_tensor(tnh_call *h, DLDataType type, int32_t ndim, const int64_t *shape,
                            const void *data, tnr_value **out)
{
    tnr_value_info info = {.kind = TNR_VALUE_TENSOR,
                           .tensor = {.data = (void *)(uintptr_t)data,
                                      .device = {kDLCPU, 0},
                                      .ndim = ndim,
                                      .dtype = type,
                                      .shape = (int64_t *)(uintptr_t)shape}};
    return tnr_value_new(h->c->instance, &info, out, h->err);
}

tnr_status tnh_value_fields(tnh_call *h, uint32_t tag, uint32_t n, tnr_value **field, tnr_value **out)
{
    tnr_value_info info = {.kind = TNR_VALUE_CONSTRUCTOR, .tag = tag, .n_field = n, .field = field};
    tnr_status status = tnr_value_new(h->c->instance, &info, out, h->err);
    for (uint32_t i = 0; i < n; i++)
        tnr_value_release(field[i]);
    return status;
}

/* ---- pairs ---- */

tnr_status tnh_pairs_begin(tnh_call *h, tnh_pairs *p, const tnh_texts *a, const tnh_texts *b)
{
    const tnh_texts *of[2] = {a, b};
    *p = (tnh_pairs){.ndim = a->ndim > b->ndim ? a->ndim : b->ndim};
    int64_t step[2] = {1, 1};
    for (int32_t d = p->ndim - 1; d >= 0; d--) {
        int64_t extent[2];
        for (int i = 0; i < 2; i++) {
            int32_t own = d - (p->ndim - of[i]->ndim);
            extent[i] = own >= 0 ? of[i]->shape[own] : 1;
            p->stride[i][d] = extent[i] == 1 ? 0 : step[i];
            step[i] *= extent[i];
        }
        if (extent[0] != extent[1] && extent[0] != 1 && extent[1] != 1)
            return tnh_fail(h, TNR_E_SHAPE,
                            "%s gets shapes that do not broadcast: %lld and %lld elements along axis %d",
                            h->c->name, (long long)extent[0], (long long)extent[1], (int)d);
        p->shape[d] = extent[0] == 1 ? extent[1] : extent[0];
    }
    p->n = tnh_count(p->ndim, p->shape);
    return p->n < 0 ? tnh_fail(h, TNR_E_SHAPE, "the result of %s is too large", h->c->name) : TNR_OK;
}

void tnh_pairs_next(tnh_pairs *p)
{
    for (int32_t d = p->ndim - 1; d >= 0; d--) {
        p->at[0] += p->stride[0][d];
        p->at[1] += p->stride[1][d];
        if (++p->index[d] < p->shape[d])
            return;
        p->at[0] -= p->stride[0][d] * p->shape[d];
        p->at[1] -= p->stride[1][d] * p->shape[d];
        p->index[d] = 0;
    }
}
