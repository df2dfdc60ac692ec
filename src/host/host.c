/* The table of host functions, and what surrounds a call of one: operands counted, attributes read, results made. */
#include "host/host.h"

#include "base/size.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tnh_function functions[] = {
#define HOST_FUNCTION(id, name, n_in, n_out, attributes) {name, n_in, n_out, attributes, tnh_##id},
#include "host/functions.def"
#undef HOST_FUNCTION
};

struct tnh_block {
    struct tnh_block *next;
    max_align_t at[];
};

struct tnh_result { /* a tensor that is to become a value */
    void *data;
    DLDataType type;
    int32_t ndim;
    int64_t shape[TNH_MAX_NDIM];
};

typedef struct kept {
    tnr_host_kept head;
    struct tnh_block *block;
    tnr_value *value;
    max_align_t at[];
} kept;

/* ---- what functions call ---- */

tnr_status tnh_fail(tnh_call *h, enum tnr_code code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(h->err->message, sizeof h->err->message, format, list);
    va_end(list);
    return (tnr_status)code;
}

void *tnh_new(tnh_call *h, uint64_t count, size_t size)
{
    size_t bytes;
    struct tnh_block *b = NULL;
    if (count <= SIZE_MAX && tn_size_mul((size_t)count, size, &bytes) &&
        tn_size_add(bytes, sizeof *b, &bytes))
        b = calloc(1, bytes);
    if (!b) {
        (void)tnh_fail(h, TNR_E_MEMORY, "out of memory");
        return NULL;
    }
    b->next = *h->into;
    *h->into = b;
    return b->at;
}

static void free_blocks(struct tnh_block *b)
{
    for (struct tnh_block *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

static void free_kept(tnr_host_kept *head)
{
    kept *k = (kept *)(void *)head;
    free_blocks(k->block);
    tnr_value_release(k->value);
    free(k);
}

void *tnh_kept(const tnh_call *h) { return *h->c->kept ? ((kept *)(void *)*h->c->kept)->at : NULL; }

static void drop_kept(tnh_call *h)
{
    tnr_host_kept *was = *h->c->kept;
    *h->c->kept = NULL;
    if (was)
        was->free(was);
}

void *tnh_keep_begin(tnh_call *h, size_t size, tnr_value *v)
{
    kept *k = calloc(1, sizeof *k + size);
    drop_kept(h);
    if (!k) {
        (void)tnh_fail(h, TNR_E_MEMORY, "out of memory");
        return NULL;
    }
    k->head.free = free_kept;
    k->value = v;
    if (v)
        tnr_value_retain(v);
    *h->c->kept = &k->head;
    h->into = &k->block;
    return k->at;
}

tnr_status tnh_keep_end(tnh_call *h, tnr_status status)
{
    h->into = &h->block;
    if (status)
        drop_kept(h);
    return status;
}

int64_t tnh_count(int32_t ndim, const int64_t *shape)
{
    int64_t n = 1;
    bool empty = false;
    for (int32_t d = 0; d < ndim; d++) {
        if (shape[d] < 0 || __builtin_mul_overflow(n, shape[d] ? shape[d] : 1, &n))
            return -1;
        empty = empty || shape[d] == 0;
    }
    return empty ? 0 : n;
}

static bool same_type(DLDataType a, DLDataType b)
{
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

tnr_status tnh_tensor_in(tnh_call *h, uint32_t i, DLTensor *out)
{
    tnr_value_info info = {.kind = TNR_VALUE_TENSOR, .tensor = h->c->tensor[i]};
    if (h->c->value[i])
        tnr_value_get(h->c->value[i], &info);
    if (info.kind != TNR_VALUE_TENSOR || info.tensor.ndim > TNH_MAX_NDIM)
        return tnh_fail(h, TNR_E_ARG, "operand %u of %s is not a tensor", i, h->c->name);
    *out = info.tensor;
    return TNR_OK;
}

tnr_status tnh_data_in(tnh_call *h, uint32_t i, DLDataType type, const void **out, int64_t *out_n)
{
    DLTensor t;
    char name[32];
    tnr_status status = tnh_tensor_in(h, i, &t);
    if (status)
        return status;
    if (!same_type(t.dtype, type))
        return tnh_fail(h, TNR_E_DTYPE, "operand %u of %s has another type than %s", i, h->c->name,
                        tnr_dtype_print(type, name, sizeof name));
    *out = (const char *)t.data + t.byte_offset;
    *out_n = tnh_count(t.ndim, t.shape);
    return *out_n < 0 ? tnh_fail(h, TNR_E_SHAPE, "operand %u of %s is too large", i, h->c->name) : TNR_OK;
}

/* The program's own memory, if type and shape are as it says. */
static tnr_status own_memory(tnh_call *h, uint32_t o, const struct tnh_result *r, void **out)
{
    const DLTensor *t = &h->c->tensor[h->c->n_in + o];
    if (!same_type(t->dtype, r->type))
        return tnh_fail(h, TNR_E_DTYPE, "result %u of %s has another type than the program says", o,
                        h->c->name);
    bool same = t->ndim == r->ndim;
    for (int32_t d = 0; same && d < r->ndim; d++)
        same = t->shape[d] == r->shape[d];
    if (!same)
        return tnh_fail(h, TNR_E_SHAPE, "result %u of %s has another shape than the program says", o,
                        h->c->name);
    *out = (char *)t->data + t->byte_offset;
    return TNR_OK;
}

tnr_status tnh_tensor_out(tnh_call *h, uint32_t o, DLDataType type, int32_t ndim, const int64_t *shape,
                          void **out)
{
    struct tnh_result *r = &h->result[o];
    int64_t n = tnh_count(ndim, shape);
    if (n < 0 || ndim > TNH_MAX_NDIM)
        return tnh_fail(h, TNR_E_SHAPE, "the result of %s is too large", h->c->name);
    r->type = type;
    r->ndim = ndim;
    if (ndim > 0)
        memcpy(r->shape, shape, (size_t)ndim * sizeof *shape);
    if (h->c->tensor[h->c->n_in + o].dtype.code != kDLOpaqueHandle)
        return own_memory(h, o, r, out);
    *out = r->data = tnh_new(h, (uint64_t)n, (type.bits + 7u) / 8);
    return *out ? TNR_OK : TNR_E_MEMORY;
}

tnr_status tnh_value_out(tnh_call *h, uint32_t o, tnr_value *v)
{
    tnr_value **to = &h->c->value[h->c->n_in + o];
    if (h->c->tensor[h->c->n_in + o].dtype.code != kDLOpaqueHandle || *to) {
        tnr_value_release(v);
        return tnh_fail(h, TNR_E_DTYPE, "result %u of %s is a value, where the program has a tensor", o,
                        h->c->name);
    }
    *to = v;
    return TNR_OK;
}

/* ---- a call ---- */

/* Operands without the attributes, which are the last one. */
static tnr_status count_operands(tnh_call *h, const tnh_function *f)
{
    uint32_t least = f->attributes;
    if (h->c->n_in < least || (f->n_in >= 0 && h->c->n_in - least != (uint32_t)f->n_in) ||
        (f->n_out >= 0 && h->c->n_out != (uint32_t)f->n_out))
        return tnh_fail(h, TNR_E_FORMAT, "%s is called with %u operands and %u results", f->name, h->c->n_in,
                        h->c->n_out);
    h->n_in = h->c->n_in - least;
    h->n_out = h->c->n_out;
    return TNR_OK;
}

static tnr_status read_attributes(tnh_call *h, tn_json_doc *doc)
{
    const void *text;
    int64_t n;
    tnr_status status = tnh_data_in(h, h->n_in, TNH_BYTE, &text, &n);
    if (status)
        return status;
    *doc = tn_json_read(text, (size_t)n);
    if (!tn_json_is(doc->root, TN_JSON_OBJECT))
        return tnh_fail(h, TNR_E_FORMAT, "the attributes of %s are not a JSON object: %s", h->c->name,
                        doc->error ? doc->error : "another kind of value");
    h->attr = doc->root;
    return TNR_OK;
}

static tnr_status make_results(tnh_call *h)
{
    tnr_status status = TNR_OK;
    for (uint32_t o = 0; o < h->n_out && !status; o++) {
        const struct tnh_result *r = &h->result[o];
        tnr_value *v;
        if (r->data) {
            status = tnh_value_tensor(h, r->type, r->ndim, r->shape, r->data, &v);
            status = status ? status : tnh_value_out(h, o, v);
        }
    }
    return status;
}

static tnr_status call(void *user, const tnr_host_call *c, tnr_error *err)
{
    const tnh_function *f = user;
    tnh_call h = {.c = c, .err = err, .into = &h.block};
    tn_json_doc doc = {0};
    tnr_status status = count_operands(&h, f);
    if (!status && !(h.result = tnh_new(&h, h.n_out, sizeof *h.result)))
        status = TNR_E_MEMORY;
    if (!status && f->attributes)
        status = read_attributes(&h, &doc);
    status = status ? status : f->fn(&h);
    status = status ? status : make_results(&h);
    tn_json_free(&doc);
    free_blocks(h.block);
    return status;
}

/* ---- registering ---- */

tnr_status tnr_host_register_all(tnr_module *module, tnr_error *err)
{
    tnr_status status = TNR_OK;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && !status; i++)
        status = tnr_host_register(module, functions[i].name, call, (void *)(uintptr_t)&functions[i], err);
    return status;
}

tnr_status tnr_instance_host_register_all(tnr_instance *instance, tnr_error *err)
{
    tnr_status status = TNR_OK;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && !status; i++)
        status = tnr_instance_host_register(instance, functions[i].name, call,
                                            (void *)(uintptr_t)&functions[i], err);
    return status;
}
