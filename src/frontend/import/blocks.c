/* Blocks of an image as elements of the batch, and back, as TensorFlow, TFLite and Core ML have them. Extents may be
 * symbols, and so may the edges. */
#include "frontend/import/blocks.h"

#include "op/nn/nn.h"

static bool fits(imp_node *c, tn_value x, const imp_blocks *b)
{
    int n = (int)b->size.n, rank = imp_rank(x);
    int64_t edge;
    bool good = n >= 1 && n <= 3 && b->axis >= 1 && b->axis + n <= rank && rank + n <= IMP_MAX_RANK &&
                b->edges.n == 2 * b->size.n;
    for (int i = 0; i < n && good; i++)
        good = b->size.at[i] >= 1 && b->size.at[i] <= UINT16_MAX;
    for (uint32_t i = 0; i < b->edges.n && good; i++)
        good = !tn_is_int(b->edges.at[i], &edge) || (edge >= 0 && edge <= INT32_MAX);
    if (!good)
        imp_refuse(c, IMP_BAD_VALUE, "blocks of %u dimensions with %u edges do not fit %s",
                   (unsigned)b->size.n, (unsigned)b->edges.n, imp_type_text(c, imp_type(x)));
    return !c->bad;
}

static const tn_expr *times(imp_node *c, const tn_expr *e, int64_t by)
{
    return imp_simplify(c, tn_mul(c->pool, e, tn_idx(c->pool, by)));
}

static const tn_expr *over(imp_node *c, const tn_expr *e, int64_t by)
{
    return imp_simplify(c, tn_fdiv(c->pool, e, tn_idx(c->pool, by)));
}

static int64_t elements(const imp_blocks *b)
{
    int64_t all = 1;
    for (uint32_t i = 0; i < b->size.n; i++)
        all *= b->size.at[i];
    return all;
}

static tn_value padded(imp_node *c, tn_value x, const imp_blocks *b)
{
    const tn_expr *width[2 * IMP_MAX_RANK];
    int rank = imp_rank(x), first = 2 * b->axis, last = first + (int)b->edges.n;
    for (int i = 0; i < 2 * rank; i++)
        width[i] = i >= first && i < last ? b->edges.at[i - first] : tn_idx(c->pool, 0);
    tn_pad_attr a = {tn_dims_make(c->arena, 2 * (uint32_t)rank, width), b->outside, "constant"};
    return imp_call1(c, &tn_op_nn_pad, &a, x);
}

tn_value imp_space_to_batch(imp_node *c, tn_value x, const imp_blocks *b)
{
    const tn_expr *apart[2 * IMP_MAX_RANK], *joined[IMP_MAX_RANK];
    int64_t perm[2 * IMP_MAX_RANK];
    int rank = imp_rank(x), n = (int)b->size.n, k = 0, at = n + 1;
    if (c->bad || !fits(c, x, b))
        return x;
    x = padded(c, x, b);
    const tn_expr *const *d = imp_type(x)->dim;
    for (int i = 0; i < rank && !c->bad; i++) {
        int of = i - b->axis;
        bool cut = of >= 0 && of < n;
        perm[i ? at++ : n] = k;
        joined[i] = cut ? over(c, d[i], b->size.at[of]) : i ? d[i] : times(c, d[0], elements(b));
        apart[k++] = i ? joined[i] : d[0];
        if (cut) {
            perm[of] = k;
            apart[k++] = tn_idx(c->pool, b->size.at[of]);
        }
    }
    return c->bad ? x : imp_reshape(c, imp_transpose(c, imp_reshape(c, x, k, apart), k, perm), rank, joined);
}

tn_value imp_batch_to_space(imp_node *c, tn_value x, const imp_blocks *b)
{
    const tn_expr *apart[2 * IMP_MAX_RANK], *joined[IMP_MAX_RANK];
    int64_t perm[2 * IMP_MAX_RANK];
    int rank = imp_rank(x), n = (int)b->size.n, k = 0;
    if (c->bad || !fits(c, x, b))
        return x;
    const tn_expr *const *d = imp_type(x)->dim;
    for (int i = 0; i < n; i++)
        apart[i] = tn_idx(c->pool, b->size.at[i]);
    for (int i = 0; i < rank; i++) {
        int of = i - b->axis;
        bool cut = of >= 0 && of < n;
        joined[i] = cut ? times(c, d[i], b->size.at[of]) : i ? d[i] : over(c, d[0], elements(b));
        apart[n + i] = i ? d[i] : joined[0];
        perm[k++] = n + i;
        if (cut)
            perm[k++] = of;
    }
    x = imp_transpose(c, imp_reshape(c, x, k, apart), k, perm);
    x = imp_reshape(c, x, rank, joined);
    for (int i = 0; i < n; i++) {
        const tn_expr *const *edge = &b->edges.at[2 * i];
        const tn_expr *end = imp_simplify(c, tn_sub(c->pool, joined[b->axis + i], edge[1]));
        if (!tn_is_value(edge[0], 0) || !tn_is_value(edge[1], 0))
            x = imp_slice_to(c, x, b->axis + i, edge[0], end);
    }
    return x;
}
