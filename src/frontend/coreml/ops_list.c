/* Lists of programs: a list is a tensor whose first dimension counts its elements, all of one shape. A list of a
 * dynamic length grows to the positions that are written to; once a program has made one, all of its lists may. An
 * extent of the elements that is not known is 1, until an element is written to a list that has just been made. */
#include "frontend/coreml/coreml.h"

static bool is_list(imp_node *c, tn_value list)
{
    if (!c->bad && (imp_rank(list) < 1 || imp_rank(list) >= IMP_MAX_RANK))
        imp_refuse(c, IMP_OPERANDS, "%s is no list; the model is damaged", imp_type_text(c, imp_type(list)));
    return !c->bad;
}

/* The shape of an element, each extent of which is an operand of its own. */
static tn_dims element_shape(imp_node *c)
{
    const cm_operation *o = c->origin;
    const tn_expr *dim[IMP_MAX_RANK];
    uint32_t n = 0;
    imp_attr_ignore(c, "elem_shape");
    for (uint32_t i = 0; i < c->n_in && !c->bad; i++) {
        if (!imp_is(o->key[i].name, "elem_shape"))
            continue;
        o->key[i].asked = true;
        int64_t extent =
            imp_has(c, i) ? imp_int_in(c, imp_in(c, i), "elem_shape") : 1; /* a text: not known */
        if (extent < 0 || n + 1 == IMP_MAX_RANK)
            imp_refuse(c, IMP_BAD_VALUE, "elements of a list have an extent of %lld, or more than %d extents",
                       (long long)extent, IMP_MAX_RANK - 1);
        else if (!c->bad)
            dim[n++] = tn_idx(c->pool, extent);
    }
    return tn_dims_make(c->arena, n, dim);
}

static tn_value zeros(imp_node *c, tn_dtype t, const tn_expr *n, uint32_t rank,
                      const tn_expr *const element[])
{
    const tn_expr *dim[IMP_MAX_RANK + 1] = {n};
    for (uint32_t i = 0; i < rank; i++)
        dim[i + 1] = element[i];
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, rank + 1, dim)};
    return imp_call1(c, &tn_op_broadcast_to, &a, imp_const(c, t, 0));
}

static void make_list(imp_node *c)
{
    const char *name = imp_attr_string(c, "dtype", "fp32");
    tn_dims element = element_shape(c);
    tn_value length = cm_has(c, 9, "init_length") ? cm_in(c, 9, "init_length") : imp_i64(c, 1);
    bool grows = cm_has(c, 9, "dynamic_length") ? cm_flag(c, "dynamic_length") : true;
    (void)cm_opt(c, 9, "dynamic_length");
    (void)cm_opt(c, 9, "dtype");
    cm_of(c)->lists_grow = cm_of(c)->lists_grow || grows;
    tn_dtype t = TN_F32;
    if (!cm_dtype_of(name, &t))
        imp_refuse(c, IMP_BAD_VALUE, "dtype \"%s\" is not supported", name);
    tn_dims n = imp_extents_in(c, length, "init_length");
    if (!c->bad && n.n != 1)
        imp_refuse(c, IMP_BAD_VALUE, "init_length must be one number");
    if (!c->bad)
        imp_out(c, 0, zeros(c, t, n.at[0], element.n, element.at));
}

/* A list that has just been made, for elements like those of `value`. */
static tn_value fitted(imp_node *c, tn_value list, tn_value value)
{
    const tn_type *t = imp_type(list), *v = imp_type(value);
    bool fresh = imp_is_constant(list) || /* small ones are folded */
                 (tn_op_is(list.def, &tn_op_broadcast_to) && imp_is_constant(tn_in(list.def, 0)));
    fresh = fresh && t->n == v->n;
    bool other = false;
    for (int d = 1; d < t->n && fresh; d++) {
        bool same = t->dim[d] == v->dim[d];
        other = other || !same;
        fresh = same || tn_is_value(t->dim[d], 1);
    }
    return fresh && other ? zeros(c, t->dtype, t->dim[0], (uint32_t)t->n - 1, v->dim + 1) : list;
}

/* The list with slices `value` [k, ..] at positions [k], int64. */
static tn_value written(imp_node *c, tn_value list, tn_value at, tn_value value)
{
    if (!is_list(c, list))
        return list;
    list = fitted(c, list, value);
    const tn_type *t = imp_type(list);
    const tn_expr *n = t->dim[0], *one = tn_idx(c->pool, 1);
    tn_scatter_attr set = {0, "update"};
    if (cm_of(c)->lists_grow) {
        tn_value last = imp_reduce(c, &tn_op_max, at, 0), have = imp_extent_of(c, list, 0);
        last = imp_with(c, &tn_op_add, last, 1);
        tn_dims d = imp_bind(c, imp_binary(c, &tn_op_maximum, have, last), NULL);
        if (c->bad || d.n != 1)
            return list;
        if (d.at[0] != n) {
            tn_value part[2] = {list, zeros(c, t->dtype, one, (uint32_t)t->n - 1, t->dim + 1)};
            tn_value from = imp_binary(c, &tn_op_minimum, imp_count_up(c, d.at[0]), have);
            list = imp_take(c, imp_concat(c, 2, part, 0), from, 0);
        }
        n = d.at[0];
    }
    tn_extent_attr inside = {tn_dims_make(c->arena, 1, &n)};
    at = imp_unsqueeze(c, imp_call1(c, &tn_op_checked_index, &inside, at), 1);
    const tn_value in[3] = {list, at, imp_cast(c, value, t->dtype)};
    return imp_call(c, &tn_op_scatter_nd, &set, 3, in);
}

/* Positions, int64: one, of any rank, as [1]. */
static tn_value position(imp_node *c, const char *name, bool one)
{
    const tn_expr *dim[1] = {tn_idx(c->pool, 1)};
    tn_value at = imp_cast(c, cm_in(c, 1, name), TN_I64);
    if (!c->bad && !one && imp_rank(at) != 1)
        imp_refuse(c, IMP_OPERANDS, "%s %s must be a list of positions", name,
                   imp_type_text(c, imp_type(at)));
    return c->bad || !one ? at : imp_reshape(c, at, 1, dim);
}

static void list_write(imp_node *c)
{
    tn_value list = cm_in(c, 0, "ls"), at = position(c, "index", true);
    imp_out(c, 0, written(c, list, at, imp_unsqueeze(c, cm_in(c, 2, "value"), 0)));
}

static void list_scatter(imp_node *c)
{
    tn_value list = cm_in(c, 0, "ls"), at = position(c, "indices", false);
    imp_out(c, 0, written(c, list, at, cm_in(c, 2, "value")));
}

static tn_value elements(imp_node *c, tn_value list, tn_value at)
{
    if (!is_list(c, list))
        return list;
    tn_extent_attr inside = {tn_dims_make(c->arena, 1, imp_type(list)->dim)};
    return imp_take(c, list, imp_call1(c, &tn_op_checked_index, &inside, at), 0);
}

static void list_gather(imp_node *c)
{
    tn_value list = cm_in(c, 0, "ls"), at = position(c, "indices", false);
    imp_out(c, 0, elements(c, list, at));
}

static void list_read(imp_node *c)
{
    tn_value list = cm_in(c, 0, "ls"), at = position(c, "index", true);
    imp_out(c, 0, imp_squeeze(c, elements(c, list, at), 0));
}

static void list_length(imp_node *c)
{
    tn_value list = cm_in(c, 0, "ls");
    if (is_list(c, list))
        imp_out(c, 0, imp_cast(c, imp_extent_of(c, list, 0), TN_I32));
}

// clang-format off
const imp_row cm_rows_list[] = {
    {"make_list",    2, 0, -1, 1, make_list,    NULL},
    {"list_write",   2, 0, -1, 1, list_write,   NULL},
    {"list_scatter", 2, 0, -1, 1, list_scatter, NULL},
    {"list_gather",  2, 0, -1, 1, list_gather,  NULL},
    {"list_read",    2, 0, -1, 1, list_read,    NULL},
    {"list_length",  2, 0, -1, 1, list_length,  NULL},
    {0},
};
// clang-format on
