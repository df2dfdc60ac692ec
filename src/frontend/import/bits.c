/* The bits of elements as elements of another size: a wide one is several narrow ones, the lowest bits first, along a
 * last dimension of their own. */
#include "frontend/import/complex.h"

static tn_value reinterpreted(imp_node *c, tn_value x, tn_dtype t)
{
    tn_cast_attr a = {t};
    return c->bad || tn_dtype_eq(imp_type(x)->dtype, t) ? x : imp_call1(c, &tn_op_reinterpret, &a, x);
}

/* 0, narrow, 2 * narrow ... below the bits of `wide` */
static tn_value shifts(imp_node *c, tn_dtype wide, uint32_t narrow)
{
    int64_t by[8];
    uint32_t n = wide.bits / narrow;
    for (uint32_t i = 0; i < n; i++)
        by[i] = i * narrow;
    return imp_const_ints(c, wide, 1, n, by);
}

/* By way of the parts, which are elements of their own. */
static tn_value complex_bitcast(imp_node *c, tn_value x, tn_dtype t)
{
    tn_dtype from = imp_type(x)->dtype;
    if (c->bad || tn_dtype_eq(from, t))
        return x;
    if (tn_dtype_is_complex(from) && t.bits >= from.bits / 2 && t.bits <= 64)
        return imp_bitcast(c, imp_parts(c, x), t);
    if (tn_dtype_is_complex(t) && (from.bits == t.bits || from.bits == t.bits / 2) && from.bits <= 64)
        return imp_unary(c, &tn_op_complex_of, imp_bitcast(c, x, tn_dtype_part(t)));
    imp_refuse(c, IMP_OPERANDS, "the bits of %s are no whole elements of %u bits",
               imp_type_text(c, imp_type(x)), (unsigned)t.bits);
    return x;
}

tn_value imp_bitcast(imp_node *c, tn_value x, tn_dtype t)
{
    tn_dtype from = imp_type(x)->dtype;
    int rank = imp_rank(x);
    if (tn_dtype_is_complex(from) || tn_dtype_is_complex(t))
        return complex_bitcast(c, x, t);
    if (c->bad || from.bits == t.bits)
        return reinterpreted(c, x, t);
    tn_dtype own = {TN_UINT, from.bits, 1}, other = {TN_UINT, t.bits, 1};
    bool small = from.bits < 8 || t.bits < 8, joins = from.bits < t.bits;
    if (small || (joins && (rank < 1 || !tn_is_value(imp_type(x)->dim[rank - 1], t.bits / from.bits)))) {
        imp_refuse(c, IMP_OPERANDS, "the bits of %s are no whole elements of %u bits",
                   imp_type_text(c, imp_type(x)), (unsigned)t.bits);
        return x;
    }
    x = reinterpreted(c, x, own);
    tn_value by = shifts(c, joins ? other : own, joins ? from.bits : t.bits);
    if (joins) {
        x = imp_binary(c, &tn_op_left_shift, imp_cast(c, x, other), by);
        return reinterpreted(c, imp_reduce(c, &tn_op_sum, x, rank - 1), t);
    }
    x = imp_unsqueeze(c, x, rank);
    return reinterpreted(c, imp_cast(c, imp_binary(c, &tn_op_right_shift, x, by), other), t);
}

tn_value imp_view(imp_node *c, tn_value x, tn_dtype t)
{
    const tn_expr *dim[IMP_MAX_RANK + 1];
    int rank = imp_rank(x), from = imp_type(x)->dtype.bits, to = t.bits;
    if (c->bad || from == to)
        return imp_bitcast(c, x, t);
    if (rank < 1) {
        imp_refuse(c, IMP_BAD_VALUE, "a number has no view of elements of another size");
        return x;
    }
    for (int i = 0; i < rank; i++)
        dim[i] = imp_type(x)->dim[i];
    if (from < to) { /* the last dimension in parts */
        const tn_expr *each = tn_idx(c->pool, to / from), *last = dim[rank - 1];
        dim[rank - 1] = imp_simplify(c, tn_fdiv(c->pool, last, each));
        dim[rank] = each;
        x = imp_reshape(c, x, rank + 1, dim);
        return imp_bitcast(c, x, t);
    }
    dim[rank - 1] = imp_simplify(c, tn_mul(c->pool, dim[rank - 1], tn_idx(c->pool, from / to)));
    return imp_reshape(c, imp_bitcast(c, x, t), rank, dim);
}
