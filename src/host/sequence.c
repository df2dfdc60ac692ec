/* Sequences and optional values. An element is any value; splitting and joining takes tensors, of numbers or of texts,
 * and moves runs of their elements. */
#include "host/host.h"

#include <string.h>

/* ---- operands ---- */

static bool is_given(const tnh_call *h, uint32_t i)
{
    tnr_value_info info;
    if (!h->c->value[i])
        return true;
    tnr_value_get(h->c->value[i], &info);
    return info.kind != TNR_VALUE_CONSTRUCTOR || info.n_field > 0;
}

static tnr_status sequence_in(tnh_call *h, uint32_t i, tnr_value_info *out)
{
    *out = (tnr_value_info){0};
    if (h->c->value[i])
        tnr_value_get(h->c->value[i], out);
    return out->kind == TNR_VALUE_CONSTRUCTOR && out->tag == 0
               ? TNR_OK
               : tnh_fail(h, TNR_E_DTYPE, "%s gets a value that is not a sequence", h->c->name);
}

/* Integer k of a tensor of them. */
static int64_t integer(const DLTensor *t, int64_t k)
{
    const void *at = (const char *)t->data + t->byte_offset + k * (t->dtype.bits / 8);
    bool sign = t->dtype.code == kDLInt;
    switch (t->dtype.bits) {
    case 8: return sign ? *(const int8_t *)at : *(const uint8_t *)at;
    case 16: return sign ? *(const int16_t *)at : *(const uint16_t *)at;
    case 32: return sign ? *(const int32_t *)at : (int64_t)*(const uint32_t *)at;
    default: return *(const int64_t *)at;
    }
}

static tnr_status integers_in(tnh_call *h, uint32_t i, DLTensor *out)
{
    tnr_status status = tnh_tensor_in(h, i, out);
    bool ok = status || ((out->dtype.code == kDLInt || out->dtype.code == kDLUInt) && out->dtype.bits >= 8);
    return ok ? status : tnh_fail(h, TNR_E_DTYPE, "operand %u of %s must be integers", i, h->c->name);
}

/* A position in [0, last] from operand i, counted from the end where negative; `last` where it is not given. `n`: how
 * many elements there are. */
static tnr_status position_in(tnh_call *h, uint32_t i, int64_t n, int64_t last, int64_t *out)
{
    DLTensor t;
    *out = last;
    if (is_given(h, i)) {
        tnr_status status = integers_in(h, i, &t);
        if (status || tnh_count(t.ndim, t.shape) != 1)
            return status ? status : tnh_fail(h, TNR_E_SHAPE, "the position must be one integer");
        *out = integer(&t, 0);
    }
    int64_t given = *out;
    *out += given < 0 && is_given(h, i) ? n : 0;
    return *out >= 0 && *out <= last ? TNR_OK
                                     : tnh_fail(h, TNR_E_ARG,
                                                "position %lld is outside of the sequence, which has %lld "
                                                "elements",
                                                (long long)given, (long long)n);
}

/* One more reference to operand i as a value, which is made of a tensor in the program's memory. */
static tnr_status value_in(tnh_call *h, uint32_t i, tnr_value **out)
{
    const DLTensor *t = &h->c->tensor[i];
    *out = h->c->value[i];
    if (!*out)
        return tnh_value_tensor(h, t->dtype, t->ndim, t->shape, (const char *)t->data + t->byte_offset, out);
    tnr_value_retain(*out);
    return TNR_OK;
}

/* ---- sequences ---- */

/* The result: fields [0, at) of s, then v unless it is NULL, whose reference is taken, then fields [from, n). */
static tnr_status replace(tnh_call *h, const tnr_value_info *s, int64_t at, tnr_value *v, int64_t from)
{
    uint32_t n = 0;
    tnr_value *made, **field = tnh_new(h, (uint64_t)s->n_field + 1, sizeof *field);
    if (!field) {
        tnr_value_release(v);
        return TNR_E_MEMORY;
    }
    for (uint32_t i = 0; i < s->n_field; i++) {
        if (i == at && v)
            field[n++] = v;
        if (i < at || i >= from) {
            tnr_value_retain(s->field[i]);
            field[n++] = s->field[i];
        }
    }
    if (at == s->n_field && v)
        field[n++] = v;
    tnr_status status = tnh_value_fields(h, 0, n, field, &made);
    return status ? status : tnh_value_out(h, 0, made);
}

/* As replace() of operand 0, where what comes behind the last field does not copy those before it. Takes v. */
static tnr_status put(tnh_call *h, const tnr_value_info *s, int64_t at, tnr_value *v, int64_t from)
{
    tnr_value *made;
    if (at < (int64_t)s->n_field)
        return replace(h, s, at, v, from);
    tnr_status status = tnr_value_append(h->c->instance, h->c->value[0], v, &made, h->err);
    tnr_value_release(v);
    return status ? status : tnh_value_out(h, 0, made);
}

tnr_status tnh_seq_at(tnh_call *h)
{
    tnr_value_info s;
    int64_t at;
    tnr_status status = sequence_in(h, 0, &s);
    status = status ? status : position_in(h, 1, s.n_field, (int64_t)s.n_field - 1, &at);
    if (status)
        return status;
    tnr_value_retain(s.field[at]);
    return tnh_value_out(h, 0, s.field[at]);
}

tnr_status tnh_seq_insert(tnh_call *h)
{
    tnr_value_info s;
    tnr_value *v;
    int64_t at;
    tnr_status status = sequence_in(h, 0, &s);
    status = status ? status : position_in(h, 2, s.n_field, s.n_field, &at);
    status = status ? status : value_in(h, 1, &v);
    return status ? status : put(h, &s, at, v, at);
}

tnr_status tnh_seq_set(tnh_call *h)
{
    tnr_value_info s;
    tnr_value *v;
    int64_t at;
    tnr_status status = sequence_in(h, 0, &s);
    status = status ? status : position_in(h, 2, s.n_field, s.n_field, &at);
    status = status ? status : value_in(h, 1, &v);
    return status ? status : put(h, &s, at, v, at + 1);
}

tnr_status tnh_seq_erase(tnh_call *h)
{
    tnr_value_info s;
    int64_t at;
    tnr_status status = sequence_in(h, 0, &s);
    status = status ? status : position_in(h, 1, s.n_field, (int64_t)s.n_field - 1, &at);
    return status ? status : replace(h, &s, at, NULL, at + 1);
}

tnr_status tnh_seq_length(tnh_call *h)
{
    tnr_value_info s;
    void *out;
    tnr_status status = sequence_in(h, 0, &s);
    status = status ? status : tnh_tensor_out(h, 0, TNH_INT64, 0, NULL, &out);
    if (!status)
        *(int64_t *)out = s.n_field;
    return status;
}

tnr_status tnh_opt_has(tnh_call *h)
{
    void *out;
    tnr_status status = tnh_tensor_out(h, 0, (DLDataType){kDLBool, 8, 1}, 0, NULL, &out);
    if (!status)
        *(uint8_t *)out = is_given(h, 0);
    return status;
}

/* ---- tensors, cut and joined ---- */

tnr_status tnh_tensor_rank(tnh_call *h)
{
    DLTensor x;
    void *out;
    tnr_status status = tnh_tensor_in(h, 0, &x);
    status = status ? status : tnh_tensor_out(h, 0, TNH_INT64, 0, NULL, &out);
    if (!status)
        *(int64_t *)out = x.ndim;
    return status;
}

/* Attribute axis, of `rank` dimensions. */
static tnr_status axis_of(tnh_call *h, int32_t rank, int32_t *out)
{
    int64_t axis = tnh_attr_int(h, "axis", 0);
    if (axis < -rank || axis >= rank)
        return tnh_fail(h, TNR_E_ARG, "axis %lld is outside of a tensor of %d dimensions", (long long)axis,
                        (int)rank);
    *out = (int32_t)(axis < 0 ? axis + rank : axis);
    return TNR_OK;
}

/* One part of x, `size` from `begin` on along the axis. */
static tnr_status part(tnh_call *h, const tnh_any *x, int32_t axis, const int64_t from_size[2], bool squeeze,
                       tnr_value **out)
{
    int64_t shape[TNH_MAX_NDIM];
    int64_t outer = tnh_count(axis, x->shape), inner = tnh_count(x->ndim - axis - 1, x->shape + axis + 1);
    int32_t rank = 0;
    tnh_fill m;
    for (int32_t d = 0; d < x->ndim; d++)
        if (d != axis || !squeeze)
            shape[rank++] = d == axis ? from_size[1] : x->shape[d];
    tnr_status status = tnh_fill_begin(h, &m, x, rank, shape);
    for (int64_t o = 0; o < outer && inner && from_size[1] && !status; o++)
        status = tnh_fill_copy(h, &m, x, (o * x->shape[axis] + from_size[0]) * inner, from_size[1] * inner);
    return status ? status : tnh_fill_end(h, &m, out);
}

/* How many parts, and of what size each is: listed, or `each` as long as there is enough. */
typedef struct parts {
    DLTensor size;
    int64_t n, each;
    bool given;
} parts;

static tnr_status parts_in(tnh_call *h, int64_t extent, parts *p)
{
    *p = (parts){.n = extent, .each = 1, .given = is_given(h, 1)};
    tnr_status status = p->given ? integers_in(h, 1, &p->size) : TNR_OK;
    if (status || !p->given)
        return status;
    p->n = tnh_count(p->size.ndim, p->size.shape);
    if (p->size.ndim == 1) {
        p->each = 0;
        return p->n < UINT32_MAX ? TNR_OK : tnh_fail(h, TNR_E_SHAPE, "a sequence has too many parts");
    }
    p->each = integer(&p->size, 0);
    if (p->each < 1)
        return tnh_fail(h, TNR_E_ARG, "the size of a part is %lld, but must be at least 1",
                        (long long)p->each);
    p->n = extent / p->each + (extent % p->each != 0);
    return TNR_OK;
}

static tnr_status split(tnh_call *h, const tnh_any *x, int32_t axis, const parts *p, tnr_value **field)
{
    int64_t extent = x->shape[axis], at[2] = {0, 0};
    tnr_status status = TNR_OK;
    bool squeeze = !p->given && !tnh_attr_int(h, "keepdims", 1);
    for (int64_t i = 0; i < p->n && !status; i++) {
        int64_t left = extent - at[0];
        at[1] = !p->each ? integer(&p->size, i) : p->each < left ? p->each : left;
        if (at[1] < 0 || at[1] > left)
            status = tnh_fail(h, TNR_E_ARG,
                              "part %lld has %lld elements, which is negative or more than the %lld left",
                              (long long)i, (long long)at[1], (long long)left);
        status = status ? status : part(h, x, axis, at, squeeze, &field[i]);
        at[0] += at[1];
    }
    if (!status && at[0] != extent)
        status = tnh_fail(h, TNR_E_ARG, "the parts have %lld elements, but the axis has %lld",
                          (long long)at[0], (long long)extent);
    return status;
}

tnr_status tnh_seq_split(tnh_call *h)
{
    tnh_any x;
    parts p;
    int32_t axis;
    tnr_value **field = NULL, *made;
    tnr_status status = tnh_any_of(h, h->c->value[0], &h->c->tensor[0], &x);
    status = status ? status : axis_of(h, x.ndim, &axis);
    status = status ? status : parts_in(h, x.shape[axis], &p);
    if (!status && !(field = tnh_new(h, (uint64_t)p.n + 1, sizeof *field)))
        status = TNR_E_MEMORY;
    status = status ? status : split(h, &x, axis, &p, field);
    if (!status) {
        status = tnh_value_fields(h, 0, (uint32_t)p.n, field, &made);
        return status ? status : tnh_value_out(h, 0, made);
    }
    for (int64_t i = 0; field && i < p.n; i++)
        tnr_value_release(field[i]);
    return status;
}

/* The elements as tensors of one type that differ along the axis alone; *extent: of all together. */
static tnr_status elements(tnh_call *h, const tnr_value_info *s, bool stack, tnh_any *x, int32_t *axis,
                           int64_t *extent)
{
    tnr_status status = TNR_OK;
    if (!s->n_field)
        return tnh_fail(h, TNR_E_ARG, "the sequence is empty, so its elements have no common shape");
    *extent = 0;
    for (uint32_t i = 0; i < s->n_field; i++) {
        status = tnh_any_of(h, s->field[i], NULL, &x[i]);
        if (!status && i == 0)
            status = axis_of(h, x->ndim + stack, axis);
        if (status)
            return status;
        bool same = x[i].is_text == x->is_text && x[i].ndim == x->ndim &&
                    x[i].t.dtype.code == x->t.dtype.code && x[i].t.dtype.bits == x->t.dtype.bits;
        for (int32_t d = 0; same && d < x->ndim; d++)
            same = (d == *axis && !stack) || x[i].shape[d] == x->shape[d];
        if (!same)
            return tnh_fail(h, TNR_E_SHAPE,
                            "element %u of the sequence has another type or shape than the first one", i);
        if (__builtin_add_overflow(*extent, stack ? 1 : x[i].shape[*axis], extent))
            return tnh_fail(h, TNR_E_SHAPE, "the result of %s is too large", h->c->name);
    }
    return status;
}

tnr_status tnh_seq_concat(tnh_call *h)
{
    tnr_value_info s;
    tnh_any *x = NULL;
    tnh_fill m;
    tnr_value *made;
    int32_t axis = 0;
    int64_t extent = 0, shape[TNH_MAX_NDIM];
    bool stack = tnh_attr_int(h, "new_axis", 0), backward = tnh_attr_int(h, "backward", 0);
    tnr_status status = sequence_in(h, 0, &s);
    if (!status && !s.n_field && is_given(h, 1)) {
        status = value_in(h, 1, &made);
        return status ? status : tnh_value_out(h, 0, made);
    }
    if (!status && !(x = tnh_new(h, s.n_field, sizeof *x)))
        status = TNR_E_MEMORY;
    status = status ? status : elements(h, &s, stack, x, &axis, &extent);
    if (status)
        return status;
    if (x->ndim + stack > TNH_MAX_NDIM)
        return tnh_fail(h, TNR_E_SHAPE, "the result has more than %d dimensions", TNH_MAX_NDIM);
    for (int32_t d = 0, from = 0; d < x->ndim + stack; d++) {
        shape[d] = d == axis ? extent : x->shape[from];
        from += d != axis || !stack;
    }
    status = tnh_fill_begin(h, &m, x, x->ndim + stack, shape);
    for (int64_t o = 0, outer = tnh_count(x->ndim + stack, shape) ? tnh_count(axis, x->shape) : 0;
         o < outer && !status; o++)
        for (uint32_t i = 0; i < s.n_field && !status; i++) {
            const tnh_any *at = &x[backward ? s.n_field - 1 - i : i];
            int64_t run = at->n / outer;
            status = tnh_fill_copy(h, &m, at, o * run, run);
        }
    status = status ? status : tnh_fill_end(h, &m, &made);
    return status ? status : tnh_value_out(h, 0, made);
}
