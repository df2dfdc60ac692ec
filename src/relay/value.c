/* Tensors in memory: their size in a layout, and moving them from one layout to another. */
#include "base/size.h"
#include "ir/eval.h"
#include "relay/limits.h"
#include "relay/relay.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = TN_RELAY_MAX_RANK };

void tn_tensor_value_deinit(tn_tensor_value *v)
{
    if (!v->borrowed)
        tn_free(v->at);
    *v = (tn_tensor_value){0};
}

void *tn_tensor_value_memory(size_t bytes)
{
    size_t whole;
    return tn_size_align(bytes ? bytes : 1, 64, &whole) ? tn_alloc_aligned_try(whole) : NULL;
}

static void release(tn_blob *b) { tn_free((void *)b->at); }

tn_node *tn_relay_constant(tn_graph *g, tn_region *r, tn_node *before, const tn_type *t, tn_tensor_value *v,
                           const char *name)
{
    tn_blob *b;
    if (v->borrowed) {
        void *at;
        b = tn_graph_blob(g, v->n, &at);
        memcpy(at, v->at, v->n);
    } else {
        b = tn_graph_blob_ref(g, v->at, v->n);
        b->release = release;
        tn_vec_push(&g->blob, b);
    }
    *v = (tn_tensor_value){0};
    return tn_constant_new(g, r, before, t, b, name);
}

/* Cells along axis a: its factor, or what is left of the dimension for the outermost. */
static bool axis_extent(const tn_layout *l, int a, const int64_t dim[], int64_t *out)
{
    int64_t inner = 1;
    if (l->axis[a].factor) {
        *out = l->axis[a].factor;
        return true;
    }
    for (int b = 0; b < l->naxis; b++) {
        if (l->axis[b].dim == l->axis[a].dim && l->axis[b].factor &&
            !tn_i64_mul(inner, l->axis[b].factor, &inner)) {
            return false;
        }
    }
    int64_t n = dim[l->axis[a].dim];
    *out = n / inner + (n % inner != 0);
    return true;
}

/* Distance in elements between neighbours along each axis; the whole is *out_count elements. */
static bool axis_strides(const tn_layout *l, int ndim, const int64_t dim[], int64_t stride[],
                         int64_t *out_count)
{
    int64_t count = 1;
    for (int a = tn_layout_naxis(l, ndim) - 1; a >= 0; a--) {
        int64_t n = 0;
        if (l ? !axis_extent(l, a, dim, &n) : (n = dim[a], false))
            return false;
        if (stride)
            stride[a] = count;
        if (n < 0 || !tn_i64_mul(count, n, &count))
            return false;
    }
    *out_count = count;
    return true;
}

bool tn_relay_bytes(tn_dtype t, int ndim, const int64_t dim[], const tn_layout *l, size_t *out_bytes)
{
    int64_t n, bytes;
    if ((l && l->ndim != ndim) || !axis_strides(l, ndim, dim, NULL, &n) ||
        !tn_i64_mul(n, tn_dtype_bytes(t), &bytes)) {
        return false;
    }
    *out_bytes = (size_t)bytes;
    return true;
}

/* table[i]: where, in elements, index i of dimension d contributes. */
static void dim_table(const tn_layout *l, int d, int64_t n, const int64_t stride[], int64_t *table)
{
    memset(table, 0, (size_t)n * sizeof *table);
    if (!l) {
        for (int64_t i = 0; i < n; i++)
            table[i] = i * stride[d];
        return;
    }
    int64_t inner = 1; /* product of the factors of axes further in */
    for (int a = l->naxis - 1; a >= 0; a--) {
        if (l->axis[a].dim != d)
            continue;
        int64_t factor = l->axis[a].factor;
        for (int64_t i = 0; i < n; i++)
            table[i] += (factor ? i / inner % factor : i / inner) * stride[a];
        inner *= factor ? factor : 1;
    }
}

static bool make_tables(const tn_layout *l, int ndim, const int64_t dim[], int64_t *table[])
{
    int64_t stride[256], count;
    bool ok = axis_strides(l, ndim, dim, stride, &count);
    for (int d = 0; d < ndim; d++) {
        table[d] = ok ? tn_alloc_array_try((size_t)dim[d] + 1, sizeof **table) : NULL;
        ok = table[d] != NULL;
        if (ok)
            dim_table(l, d, dim[d], stride, table[d]);
    }
    return ok;
}

void tn_relay_fill(tn_dtype t, const tn_layout *l, void *at, size_t bytes)
{
    char *dst = at;
    unsigned char one[8] = {0};
    uint32_t size = tn_dtype_bytes(t);
    memset(dst, 0, bytes);
    if (!l || l->fill != TN_FILL_VALUE || l->fill_value == 0.0 || size > sizeof one)
        return;
    tn_scalar_write(t, one, tn_eval_cast(TN_F64, t, (tn_scalar){.f = l->fill_value}));
    for (size_t i = 0; i + size <= bytes; i += size)
        memcpy(dst + i, one, size);
}

/* A tensor being moved: where its elements are, by dimension and index. */
typedef struct place {
    int64_t *table[MAX_RANK];
    char *at;
} place;

enum { TILE = 16 };

static inline void move_one(char *to, const char *from, uint32_t size)
{
    switch (size) {
    case 1: *to = *from; break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, size); break;
    }
}

/* Every logical index once; the last two dimensions in tiles, so that either side may run along either of them. No
 * extent is 0. */
static void move(uint32_t size, int ndim, const int64_t dim[], const place *from, const place *to)
{
    static const int64_t zero = 0;
    int64_t index[MAX_RANK] = {0};
    int last = ndim - 1, outer = ndim > 1 ? ndim - 2 : 0;
    int64_t rows = ndim > 1 ? dim[outer] : 1, n = dim[last];
    const int64_t *row_from = ndim > 1 ? from->table[outer] : &zero,
                  *row_to = ndim > 1 ? to->table[outer] : &zero;
    for (;;) {
        int64_t a = 0, b = 0;
        for (int d = 0; d < outer; d++) {
            a += from->table[d][index[d]];
            b += to->table[d][index[d]];
        }
        for (int64_t r0 = 0; r0 < rows; r0 += TILE)
            for (int64_t i0 = 0; i0 < n; i0 += TILE)
                for (int64_t r = r0; r < rows && r < r0 + TILE; r++) {
                    const char *src = from->at + (a + row_from[r]) * size;
                    char *dst = to->at + (b + row_to[r]) * size;
                    for (int64_t i = i0; i < n && i < i0 + TILE; i++)
                        move_one(dst + to->table[last][i] * size, src + from->table[last][i] * size, size);
                }
        int d = outer - 1;
        while (d >= 0 && ++index[d] == dim[d])
            index[d--] = 0;
        if (d < 0)
            return;
    }
}

static bool is_empty(const tn_tensor_value *v)
{
    for (int d = 0; d < v->ndim; d++)
        if (v->dim[d] == 0)
            return true;
    return false;
}

tn_status tn_relay_relayout(tn_ctx *ctx, const tn_tensor_value *v, const tn_layout *from, const tn_layout *to,
                            tn_tensor_value *out)
{
    size_t bytes_from, bytes;
    place src = {.at = v->at}, dst = {0};
    *out = (tn_tensor_value){0};
    if (v->ndim > MAX_RANK || !tn_relay_bytes(v->dtype, v->ndim, v->dim, from, &bytes_from) ||
        bytes_from != v->n || !tn_relay_bytes(v->dtype, v->ndim, v->dim, to, &bytes)) {
        return tn_error(ctx, "relay-E208", NULL,
                        "a tensor cannot be laid out: too many dimensions, or too large");
    }
    dst.at = tn_tensor_value_memory(bytes);
    bool ok = dst.at != NULL;
    if (ok && (from == to || v->ndim == 0)) {
        memcpy(dst.at, bytes ? src.at : dst.at, bytes);
    } else if (ok) {
        tn_relay_fill(v->dtype, to, dst.at, bytes);
        ok = make_tables(from, v->ndim, v->dim, src.table) && make_tables(to, v->ndim, v->dim, dst.table);
        if (ok && !is_empty(v))
            move(tn_dtype_bytes(v->dtype), v->ndim, v->dim, &src, &dst);
    }
    for (int d = 0; d < MAX_RANK; d++) {
        tn_free(src.table[d]);
        tn_free(dst.table[d]);
    }
    if (!ok) {
        tn_free(dst.at);
        return tn_error(ctx, "relay-E208", NULL, "there is not enough memory to lay out a tensor");
    }
    *out = *v;
    out->at = dst.at;
    out->n = bytes;
    out->borrowed = false;
    return TN_OK;
}
