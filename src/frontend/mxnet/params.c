/* A file of parameters: MXNet's, NumPy's (npz.c) or, for a graph of NNVM, TVM's. MXNet's is a list of tensors, then
 * their names, in all versions that MXNet has written: bare shapes of 32-bit extents (before 0.12 or so), those of
 * 64-bit extents behind a magic number, and with storage types (from 1.0 on; sparse tensors are refused). Tensors stay
 * where they are, in the mapped file. Linear in the number of tensors. */
#include "frontend/mxnet/mxnet.h"

#include "base/size.h"

#include <string.h>

enum { LIST_MAGIC = 0x112 };
static const uint32_t v1 = 0xf993fac8u, v2 = 0xf993fac9u, v3 = 0xf993facau;

typedef struct cursor {
    const uint8_t *at;
    size_t n, pos;
    bool bad; /* it ended */
} cursor;

static const uint8_t *take(cursor *r, uint64_t n)
{
    static const uint8_t zeros[8];
    if (r->bad || n > r->n - r->pos) {
        r->bad = true;
        return zeros;
    }
    r->pos += n;
    return r->at + r->pos - n;
}

static uint64_t number(cursor *r, uint32_t bytes)
{
    const uint8_t *at = take(r, bytes);
    uint64_t v = 0;
    for (uint32_t i = 0; i < bytes; i++)
        v |= (uint64_t)at[i] << (8 * i);
    return v;
}

/* NULL: read; else why not. */
static const char *read_tensor(mx_import *m, cursor *r, mx_tensor *t)
{
    uint32_t magic = (uint32_t)number(r, 4), each = 8;
    size_t count = 1, bytes = 0;
    if ((magic == v2 || magic == v3) && number(r, 4) != 0)
        return "it is sparse; convert it to a dense one: tensor.tostype('default')";
    t->n = magic;
    if (magic == v1 || magic == v2 || magic == v3)
        t->n = (uint32_t)number(r, 4);
    else
        each = 4;
    if (r->bad || (magic == v3 ? t->n == UINT32_MAX : t->n == 0))
        return r->bad ? "the file ends in it" : "it has no shape";
    if (t->n > IMP_MAX_RANK)
        return "it has too many dimensions, or the file is damaged";
    int64_t *dim = TN_NEW_N(&m->im.scratch, int64_t, t->n);
    for (uint32_t i = 0; i < t->n; i++)
        dim[i] = (int64_t)number(r, each);
    t->dim = dim;
    (void)number(r, 8); /* the device it was on */
    if (!mx_dtype_by_number((int64_t)(int32_t)number(r, 4), false, &t->dtype))
        return "its type is not known";
    bool fits = true;
    for (uint32_t i = 0; i < t->n && fits; i++)
        fits = dim[i] >= 0 && tn_size_mul(count, (size_t)dim[i], &count);
    if (!fits || !tn_size_mul(count, tn_dtype_bytes(t->dtype), &bytes))
        return "its dimensions are negative or too large";
    t->data = (tn_bytes){take(r, bytes), bytes};
    return r->bad ? "the file ends in it" : NULL;
}

tn_bytes mx_without_prefix(tn_bytes s)
{
    bool prefix = s.n > 4 && (memcmp(s.at, "arg:", 4) == 0 || memcmp(s.at, "aux:", 4) == 0);
    return prefix ? (tn_bytes){s.at + 4, s.n - 4} : s;
}

static const char *read_names(mx_import *m, cursor *r, uint64_t n)
{
    if (number(r, 8) != n)
        return "it has another number of names than of tensors";
    for (uint64_t i = 0; i < n; i++) {
        uint64_t length = number(r, 8), other;
        tn_bytes name = mx_without_prefix((tn_bytes){take(r, length), r->bad ? 0 : length});
        if (r->bad)
            return "it ends within the names of tensors";
        if (tn_strmap_get(&m->params, (const char *)name.at, name.n, &other))
            return "a name stands for two tensors";
        m->tensor[i].name = name;
        tn_strmap_put(&m->params, (const char *)name.at, name.n, i);
    }
    return NULL;
}

/* ---- TVM's list: names, then tensors ---- */

static const uint64_t tvm_list = 0xF7E58D4F05049CB7u, tvm_tensor = 0xDD5E40F096B4A13Fu;

static const char *read_tvm_tensor(mx_import *m, cursor *r, mx_tensor *t)
{
    size_t count = 1, bytes = 0;
    if (number(r, 8) != tvm_tensor)
        return "it does not begin as a tensor does";
    (void)number(r, 8);
    (void)number(r, 8); /* the device it was on */
    t->n = (uint32_t)number(r, 4);
    uint64_t type = number(r, 4); /* code, bits, lanes */
    t->dtype = (tn_dtype){(uint8_t)(type & 255), (uint8_t)(type >> 8 & 255), 1};
    if (type >> 16 != 1 || t->n > IMP_MAX_RANK || t->dtype.code > TN_FLOAT || t->dtype.bits % 8 ||
        !t->dtype.bits)
        return r->bad ? "the file ends in it" : "it has too many dimensions, or a type that is not known";
    int64_t *dim = TN_NEW_N(&m->im.scratch, int64_t, t->n);
    bool fits = true;
    for (uint32_t i = 0; i < t->n; i++) {
        dim[i] = (int64_t)number(r, 8);
        fits = fits && dim[i] >= 0 && tn_size_mul(count, (size_t)dim[i], &count);
    }
    t->dim = dim;
    if (!fits || !tn_size_mul(count, tn_dtype_bytes(t->dtype), &bytes) || number(r, 8) != bytes)
        return "its dimensions do not fit its data";
    t->data = (tn_bytes){take(r, bytes), bytes};
    return r->bad ? "the file ends in it" : NULL;
}

static const char *read_tvm_list(mx_import *m, cursor *r, size_t room)
{
    (void)number(r, 8);
    uint64_t n = number(r, 8), other;
    if (n > room / 8) /* a name has its length at least */
        return "it claims more names than it has bytes";
    m->tensor = TN_NEW_N(&m->im.scratch, mx_tensor, n);
    for (uint64_t i = 0; i < n && !r->bad; i++) {
        uint64_t length = number(r, 8);
        tn_bytes name = {take(r, length), r->bad ? 0 : length};
        if (!r->bad && tn_strmap_get(&m->params, (const char *)name.at, name.n, &other))
            return "a name stands for two tensors";
        m->tensor[i].name = name;
        tn_strmap_put(&m->params, (const char *)name.at, name.n, i);
    }
    if (r->bad || number(r, 8) != n)
        return "it has another number of names than of tensors";
    for (uint64_t i = 0; i < n; i++) {
        const char *why = read_tvm_tensor(m, r, &m->tensor[i]);
        if (why)
            return tn_arena_printf(&m->im.scratch, "tensor %s: %s", imp_text(&m->im, m->tensor[i].name), why);
    }
    return NULL;
}

static bool read_tvm(mx_import *m, tn_bytes file, const tn_loc *loc)
{
    cursor r = {file.at, file.n, 8, false};
    const char *why = read_tvm_list(m, &r, file.n);
    if (why)
        (void)tn_error(m->im.g->ctx, "mxnet-E001", loc,
                       "the file is damaged: %s; save it again (nnvm.compiler.save_param_dict)", why);
    return !why;
}

bool mx_read_params(mx_import *m, tn_bytes file, const char *name)
{
    const tn_loc loc = {.file = tn_intern(m->im.g->ctx, name)};
    tn_ctx *ctx = m->im.g->ctx;
    cursor r = {file.at, file.n, 0, false}, first = r;
    if (number(&first, 8) == tvm_list && !first.bad)
        return read_tvm(m, file, &loc);
    if (mx_is_npz(file.at, file.n))
        return mx_read_npz(m, file, &loc);
    enum { LEAST_BYTES = 20 }; /* of a tensor: no tensor is shorter */
    bool list = number(&r, 8) == LIST_MAGIC && number(&r, 8) == 0;
    uint64_t n = number(&r, 8);
    const char *why = NULL;
    if (!list || r.bad || n > file.n / LEAST_BYTES) {
        (void)tn_error(
            ctx, "mxnet-E001", &loc,
            "this is not a file of MXNet's parameters, or it is damaged; download or export it again");
        return false;
    }
    m->tensor = TN_NEW_N(&m->im.scratch, mx_tensor, n);
    m->n_tensor = n;
    for (uint64_t i = 0; i < n; i++) {
        why = read_tensor(m, &r, &m->tensor[i]);
        if (why) {
            (void)tn_error(ctx, "mxnet-E001", &loc, "tensor %llu cannot be read: %s%s", (unsigned long long)i,
                           why, imp_again(why));
            return false;
        }
    }
    why = read_names(m, &r, n);
    if (why)
        (void)tn_error(ctx, "mxnet-E001", &loc, "the file is damaged: %s%s", why, imp_again(why));
    return !why;
}
