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
    if (!v->borrowed) {
        free(v->at);
    }
    *v = (tn_tensor_value){ 0 };
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
        if (l->axis[b].dim == l->axis[a].dim && l->axis[b].factor && !tn_i64_mul(inner, l->axis[b].factor, &inner)) {
            return false;
        }
    }
    int64_t n = dim[l->axis[a].dim];
    *out = n / inner + (n % inner != 0);
    return true;
}

/* Distance in elements between neighbours along each axis; the whole is *out_count elements. */
static bool axis_strides(const tn_layout *l, int ndim, const int64_t dim[], int64_t stride[], int64_t *out_count)
{
    int64_t count = 1;
    for (int a = tn_layout_naxis(l, ndim) - 1; a >= 0; a--) {
        int64_t n = 0;
        if (l ? !axis_extent(l, a, dim, &n) : (n = dim[a], false)) {
            return false;
        }
        if (stride) {
            stride[a] = count;
        }
        if (n < 0 || !tn_i64_mul(count, n, &count)) {
            return false;
        }
    }
    *out_count = count;
    return true;
}

bool tn_relay_bytes(tn_dtype t, int ndim, const int64_t dim[], const tn_layout *l, size_t *out_bytes)
{
    int64_t n, bytes;
    if ((l && l->ndim != ndim) || !axis_strides(l, ndim, dim, NULL, &n) || !tn_i64_mul(n, tn_dtype_bytes(t), &bytes)) {
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
        for (int64_t i = 0; i < n; i++) {
            table[i] = i * stride[d];
        }
        return;
    }
    int64_t inner = 1; /* product of the factors of axes further in */
    for (int a = l->naxis - 1; a >= 0; a--) {
        if (l->axis[a].dim != d) {
            continue;
        }
        int64_t factor = l->axis[a].factor;
        for (int64_t i = 0; i < n; i++) {
            table[i] += (factor ? i / inner % factor : i / inner) * stride[a];
        }
        inner *= factor ? factor : 1;
    }
}

static bool make_tables(const tn_layout *l, int ndim, const int64_t dim[], int64_t *table[])
{
    int64_t stride[256], count;
    bool ok = axis_strides(l, ndim, dim, stride, &count);
    for (int d = 0; d < ndim; d++) {
        table[d] = ok ? malloc(((size_t)dim[d] + 1) * sizeof **table) : NULL;
        ok = table[d] != NULL;
        if (ok) {
            dim_table(l, d, dim[d], stride, table[d]);
        }
    }
    return ok;
}

void tn_relay_fill(tn_dtype t, const tn_layout *l, void *at, size_t bytes)
{
    char *dst = at;
    unsigned char one[8] = { 0 };
    uint32_t size = tn_dtype_bytes(t);
    memset(dst, 0, bytes);
    if (!l || l->fill != TN_FILL_VALUE || l->fill_value == 0.0 || size > sizeof one) {
        return;
    }
    tn_scalar_write(t, one, tn_eval_cast(TN_F64, t, (tn_scalar){ .f = l->fill_value }));
    for (size_t i = 0; i + size <= bytes; i += size) {
        memcpy(dst + i, one, size);
    }
}

/* Every logical index once, the last dimension in the inner loop. */
static void move(uint32_t size, int ndim, const int64_t dim[], int64_t *const from[], const char *src, int64_t *const to[], char *dst)
{
    int64_t index[MAX_RANK] = { 0 }, n = dim[ndim - 1];
    int last = ndim - 1;
    for (;;) {
        int64_t a = 0, b = 0;
        for (int d = 0; d < last; d++) {
            a += from[d][index[d]];
            b += to[d][index[d]];
        }
        for (int64_t i = 0; i < n; i++) {
            memcpy(dst + (b + to[last][i]) * size, src + (a + from[last][i]) * size, size);
        }
        int d = last - 1;
        while (d >= 0 && ++index[d] == dim[d]) {
            index[d--] = 0;
        }
        if (d < 0) {
            return;
        }
    }
}

tn_status tn_relay_relayout(tn_ctx *ctx, tn_dtype t, int ndim, const int64_t dim[], const tn_layout *from, const void *src,
                            const tn_layout *to, void *dst)
{
    size_t bytes_from, bytes_to;
    int64_t *table[2][MAX_RANK] = { 0 };
    if (ndim > MAX_RANK || !tn_relay_bytes(t, ndim, dim, from, &bytes_from) || !tn_relay_bytes(t, ndim, dim, to, &bytes_to)) {
        return tn_error(ctx, "relay-E208", NULL, "a tensor of %d dimensions cannot be laid out: too many dimensions or too large", ndim);
    }
    if (from == to || ndim == 0) {
        memcpy(dst, bytes_to ? src : dst, bytes_to);
        return TN_OK;
    }
    bool empty = false;
    for (int d = 0; d < ndim; d++) {
        empty = empty || dim[d] == 0;
    }
    tn_relay_fill(t, to, dst, bytes_to);
    bool ok = make_tables(from, ndim, dim, table[0]) && make_tables(to, ndim, dim, table[1]);
    if (ok && !empty) {
        move(tn_dtype_bytes(t), ndim, dim, table[0], src, table[1], dst);
    }
    for (int i = 0; i < 2 * MAX_RANK; i++) {
        free(table[i / MAX_RANK][i % MAX_RANK]);
    }
    return ok ? TN_OK : tn_error(ctx, "relay-E208", NULL, "there is not enough memory to lay out a tensor");
}
