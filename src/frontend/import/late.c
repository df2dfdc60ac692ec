/* Parameters that are computed during the run: axes, widths, sizes. A position among the dimensions becomes a list with
 * an entry for each dimension, or a view of three dimensions around it; so what reads them is one kernel for all of
 * their values. */
#include "frontend/import/convert.h"

#include "op/control/control.h"

bool imp_is_known(imp_node *c, tn_value v)
{
    tn_dims d;
    int64_t n;
    if (!imp_host(c, v, &d))
        return false;
    for (uint32_t i = 0; i < d.n; i++)
        if (!tn_is_int(d.at[i], &n))
            return false;
    return true;
}

bool imp_is_late(imp_node *c, uint32_t i)
{
    return !c->bad && imp_has(c, i) && imp_in(c, i).def && !imp_is_known(c, imp_in(c, i));
}

int64_t imp_length(tn_value v)
{
    int64_t n = -1;
    return imp_rank(v) == 0 ? 1 : imp_rank(v) == 1 && tn_is_int(imp_type(v)->dim[0], &n) ? n : -1;
}

tn_value imp_iota(imp_node *c, int n)
{
    int64_t v[IMP_MAX_RANK + 1];
    for (int i = 0; i < n; i++)
        v[i] = i;
    return imp_const_ints(c, TN_I64, 1, (uint32_t)n, v);
}

void imp_demand(imp_node *c, tn_value v, int64_t n, const char *says)
{
    const tn_expr *same = tn_idx(c->pool, n);
    tn_bind_extent_attr a = {tn_dims_make(c->arena, 1, &same), says};
    (void)imp_call1(c, &tn_op_bind_extent, &a, v);
}

tn_value imp_positions_of(imp_node *c, tn_value axes, int rank)
{
    const tn_expr *extent = tn_idx(c->pool, rank);
    tn_extent_attr a = {tn_dims_make(c->arena, 1, &extent)};
    axes = imp_cast(c, axes, TN_I64);
    axes = imp_rank(axes) ? axes : imp_unsqueeze(c, axes, 0);
    if (!c->bad && imp_rank(axes) == 1 && imp_type(axes)->dim[0]->kind == TN_E_SYM)
        tn_graph_symbol(c->g, imp_type(axes)->dim[0]->u.s)->is_length = true;
    return imp_call1(c, &tn_op_checked_index, &a, axes);
}

/* bool [entries of at, rank]: does an entry name this dimension? */
static tn_value names(imp_node *c, tn_value at, int rank)
{
    tn_value column = imp_unsqueeze(c, at, 1);
    return imp_binary(c, &tn_op_equal, column, imp_iota(c, rank));
}

tn_value imp_hits(imp_node *c, tn_value at, int rank)
{
    return imp_reduce(c, &tn_op_sum, imp_cast(c, names(c, at, rank), TN_I64), 0);
}

tn_value imp_mask(imp_node *c, tn_value at, int rank)
{
    tn_value hits = imp_hits(c, at, rank);
    imp_demand(c, imp_reduce(c, &tn_op_max, imp_binary(c, &tn_op_maximum, hits, imp_i64(c, 1)), 0), 1,
               "axes must name a dimension once");
    return imp_cast(c, hits, TN_BOOL1);
}

tn_value imp_placed(imp_node *c, tn_value at, tn_value values, int rank, tn_value rest)
{
    tn_value here = names(c, at, rank), column = imp_unsqueeze(c, values, 1);
    tn_value each = imp_choose(c, here, column, imp_i64(c, 0)), named = imp_mask(c, at, rank);
    return imp_choose(c, named, imp_reduce(c, &tn_op_sum, each, 0), rest);
}

/* The product of those elements of a list for which `condition` holds: [1]. */
static tn_value product_where(imp_node *c, tn_value condition, tn_value list)
{
    tn_value p = imp_reduce(c, &tn_op_prod, imp_choose(c, condition, list, imp_i64(c, 1)), 0);
    return imp_unsqueeze(c, p, 0);
}

tn_dims imp_sides(imp_node *c, tn_value shape, tn_value at)
{
    if (c->bad)
        return (tn_dims){0};
    tn_value number = imp_iota(c, (int)imp_length(shape));
    const tn_value part[3] = {
        product_where(c, imp_binary(c, &tn_op_less, number, at), shape),
        product_where(c, imp_binary(c, &tn_op_equal, number, at), shape),
        product_where(c, imp_binary(c, &tn_op_greater, number, at), shape),
    };
    return imp_bind(c, imp_concat(c, 3, part, 0), NULL);
}

tn_value imp_around(imp_node *c, tn_value x, tn_value shape, tn_value at)
{
    tn_dims d = imp_sides(c, shape, at);
    return c->bad ? x : imp_checked_reshape(c, x, d);
}

tn_value imp_broadcast_like(imp_node *c, tn_value v, tn_value x)
{
    tn_extent_attr a = {{imp_type(x)->n, imp_type(x)->dim}};
    return imp_call1(c, &tn_op_dyn_broadcast_to, &a, v);
}

tn_value imp_in_shape(imp_node *c, tn_value x, tn_value shape, const tn_expr *const most[])
{
    int64_t n, rank = imp_length(shape);
    tn_dims d = rank ? imp_bind(c, shape, NULL) : (tn_dims){0};
    const tn_expr *dim[IMP_MAX_RANK];
    for (uint32_t i = 0; i < d.n && !c->bad; i++) {
        dim[i] = most && tn_is_value(most[i], 1) ? most[i] : d.at[i];
        if (most && tn_is_int(most[i], &n) && dim[i]->kind == TN_E_SYM)
            tn_graph_symbol(c->g, dim[i]->u.s)->max = n < 1 ? 1 : n;
    }
    return c->bad ? x : imp_checked_reshape(c, x, tn_dims_make(c->arena, d.n, dim));
}
