/* Parameters as .npz, which MXNet 2 writes: a zip archive of NumPy's arrays by name, with "arg:" and "aux:" before
 * names of HybridBlock.export, without in save_parameters. Arrays that are stored row by row stay where they are, in
 * the mapped file. Linear in the size of the archive's directory. */
#include "frontend/mxnet/mxnet.h"

#include "base/wire/npy.h"
#include "base/wire/zip.h"
#include "frontend/import/zip.h"

#include <string.h>

static bool ends(tn_bytes s, const char *with)
{
    size_t n = strlen(with);
    return s.n >= n && memcmp(s.at + s.n - n, with, n) == 0;
}

bool mx_is_npz(const uint8_t *at, size_t n) { return imp_zip_holds(at, n, ".npy"); }

bool mx_is_export(const uint8_t *at, size_t n)
{
    tn_zip_entry e;
    if (!mx_is_npz(at, n))
        return false;
    for (tn_zip z = tn_zip_open(at, n); !z.error && tn_zip_next(&z, &e);)
        if (mx_without_prefix(e.name).n < e.name.n)
            return true;
    return false;
}

static bool read_dtype(const tn_npy *h, tn_dtype *out)
{
    static const uint8_t code[] = {
        [TN_NPY_INT] = TN_INT, [TN_NPY_UINT] = TN_UINT, [TN_NPY_FLOAT] = TN_FLOAT, [TN_NPY_BOOL] = TN_BOOL};
    *out = (tn_dtype){h->code < sizeof code ? code[h->code] : 0, h->bits, 1};
    return h->code == TN_NPY_INT || h->code == TN_NPY_UINT || h->code == TN_NPY_FLOAT ||
           h->code == TN_NPY_BOOL;
}

/* NULL: read; else why not. */
static const char *read_array(mx_import *m, tn_bytes in, mx_tensor *t)
{
    tn_arena *a = &m->im.scratch;
    tn_npy h;
    char text[128];
    const char *why;
    if (tn_npy_parse(in.at, in.n, &h, text, &why) != 0)
        return tn_arena_strdup(a, why);
    if (h.data_bytes > in.n - h.header_bytes)
        return "the file ends in it";
    if (h.ndim > IMP_MAX_RANK || !read_dtype(&h, &t->dtype))
        return "it has too many dimensions, or a type that is not known";
    int64_t *dim = TN_NEW_N(a, int64_t, (size_t)h.ndim);
    if (h.ndim)
        memcpy(dim, h.shape, (size_t)h.ndim * sizeof *dim);
    t->n = (uint32_t)h.ndim;
    t->dim = dim;
    t->data = (tn_bytes){in.at + h.header_bytes, h.data_bytes};
    if (h.column_major && h.ndim > 1) {
        uint8_t *rows = tn_arena_alloc(a, h.data_bytes, 8);
        tn_npy_row_major(&h, t->data.at, rows);
        t->data.at = rows;
    }
    return NULL;
}

static const char *read_entry(mx_import *m, imp_zip *z, const imp_zip_entry *e, uint64_t i)
{
    uint64_t other;
    tn_bytes in, name = e->name;
    if (!ends(name, ".npy"))
        return "it is no array";
    if (ends(name, "/format.npy") || ends(name, "/data.npy"))
        return "it is sparse; convert it to a dense one: tensor.tostype('default')";
    name = mx_without_prefix((tn_bytes){name.at, name.n - strlen(".npy")});
    if (tn_strmap_get(&m->params, (const char *)name.at, name.n, &other))
        return "its name stands for two tensors";
    const char *why = imp_zip_read(&m->im.scratch, z, e, &in);
    if (why)
        return why;
    m->tensor[i].name = name;
    tn_strmap_put(&m->params, (const char *)name.at, name.n, i);
    return read_array(m, in, &m->tensor[i]);
}

bool mx_read_npz(mx_import *m, tn_bytes file, const tn_loc *loc)
{
    imp_zip z;
    const char *why = imp_zip_open(&m->im.scratch, file, &z);
    tn_ctx *ctx = m->im.g->ctx;
    if (why)
        (void)tn_error(ctx, "mxnet-E001", loc, "the file is damaged: %s%s", why, imp_again(why));
    m->tensor = TN_NEW_N(&m->im.scratch, mx_tensor, z.n);
    for (size_t i = 0; i < z.n && !why; i++) {
        why = read_entry(m, &z, &z.entry[i], i);
        if (why)
            (void)tn_error(ctx, "mxnet-E001", loc, "array \"%s\" cannot be read: %s%s",
                           imp_text(&m->im, z.entry[i].name), why, imp_again(why));
    }
    m->n_tensor = z.n;
    imp_zip_close(&z);
    return !why;
}
