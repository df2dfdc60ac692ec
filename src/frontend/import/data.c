/* Constants of a model. Data stays where it is, in the mapped file (and may be unaligned). Every length is
 * checked against the dimensions before it is used. */
#include "frontend/import/import.h"

#include "base/size.h"

#include <string.h>

tn_node *imp_refuse_tensor(imp_model *im, const tn_loc *loc, const char *name, const char *why)
{
    (void)imp_error(im, IMP_BAD_TENSOR, loc, "tensor \"%s\": %s", name ? name : "", why);
    return NULL;
}

bool imp_measure(imp_model *im, const char *name, size_t n, const int64_t dim[], tn_dtype t,
                 const tn_loc *loc, size_t *out_count, size_t *out_bytes)
{
    bool fits = true;
    if (n > IMP_MAX_RANK)
        return imp_refuse_tensor(im, loc, name,
                                 tn_arena_printf(&im->scratch,
                                                 "it has %zu dimensions; at most %d are supported", n,
                                                 IMP_MAX_RANK)) != NULL;
    *out_count = 1;
    for (size_t i = 0; i < n && fits; i++)
        fits = dim[i] >= 0 && tn_size_mul(*out_count, (size_t)dim[i], out_count);
    fits = fits && tn_size_mul(*out_count, tn_dtype_bytes(t), out_bytes) && *out_bytes <= (size_t)INT64_MAX;
    return fits ||
           imp_refuse_tensor(im, loc, name, "its dimensions are negative or too large; the model is damaged");
}

/* Memory that outlives the module: the model's file, and files beside it that are open. A message that a file holds in
 * several pieces has been put together in memory that ends with the import. */
static bool is_mapped(const imp_model *im, tn_bytes data)
{
    uintptr_t at = (uintptr_t)data.at;
    for (size_t i = 0; i <= im->data.n; i++) {
        const tn_file *f = i < im->data.n ? im->data.at[i].file : NULL;
        tn_bytes whole = i == im->data.n ? im->whole : f ? (tn_bytes){f->at, f->n} : (tn_bytes){0};
        uintptr_t from = (uintptr_t)whole.at;
        if (whole.at && at >= from && at - from <= whole.n && data.n <= whole.n - (at - from))
            return true;
    }
    return false;
}

bool imp_may_own(imp_model *im, size_t bytes)
{
    enum { TIMES = 8, AT_LEAST = 32 << 20 };
    size_t most = im->whole.n;
    for (size_t i = 0; i < im->data.n; i++)
        most += im->data.at[i].file ? im->data.at[i].file->n : 0;
    if (!tn_size_mul(most, TIMES, &most) || !tn_size_add(most, AT_LEAST, &most))
        most = SIZE_MAX;
    if (bytes <= most - im->own_bytes) {
        im->own_bytes += bytes;
        return true;
    }
    if (!im->stopped)
        (void)imp_error(
            im, IMP_MEMORY, imp_make_loc(im, NULL, NULL),
            "its constants would unpack to more than %zu bytes, too much for files of this size; the "
            "model is damaged",
            most);
    im->stopped = true;
    return false;
}

const tn_blob *imp_blob(imp_model *im, tn_bytes data, tn_dtype t)
{
    size_t i = 0;
    while (tn_dtype_is_bool(t) && i < data.n && data.at[i] <= 1)
        i++;
    bool as_it_is = !tn_dtype_is_bool(t) || i == data.n;
    if (as_it_is && is_mapped(im, data))
        return tn_graph_blob_ref(im->g, data.at, data.n);
    void *at;
    (void)imp_may_own(im, data.n); /* its size is known to be sound; all of them together need not be */
    const tn_blob *b = tn_graph_blob(im->g, data.n, &at);
    if (as_it_is && data.n)
        memcpy(at, data.at, data.n);
    for (i = 0; !as_it_is && i < data.n; i++)
        ((unsigned char *)at)[i] = data.at[i] != 0;
    return b;
}

tn_node *imp_constant(imp_model *im, tn_dtype t, size_t n, const int64_t dim[], const tn_blob *data,
                      const char *name)
{
    return tn_constant_new(im->g, im->r, NULL, tn_type_tensor_i(im->g->pool, t, (int)n, dim), data, name);
}
