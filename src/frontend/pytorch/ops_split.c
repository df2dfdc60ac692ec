/* Parts of a tensor along a dimension as a list. Where only the run knows an extent, the variables that the code
 * unpacks the list into say how many parts there are, and the run checks it; without them it is a list of the run. */
#include "frontend/pytorch/ops.h"

#include "op/host/host.h"

enum { MAX_PIECES = 4096 };

static void refuse_pieces(imp_node *c)
{
    imp_refuse(
        c, IMP_NOT_CONSTANT,
        "the dimension that is split must have a known extent, or the code must unpack the result into "
        "variables, of at most %d pieces",
        MAX_PIECES);
}

/* The parts are as many as the run finds. sizes: no value: each is one element, with the axis if it is kept. */
static void late_list(imp_node *c, tn_value x, int axis, tn_value sizes, bool keep)
{
    const tn_seq_split_attr a = {axis, keep};
    const pt_value of = pt_arg(c, 0);
    if (pt_of(c)->part || (of.kind == PT_TENSOR && of.tensor->quantised)) {
        refuse_pieces(c);
        return;
    }
    const tn_value in[2] = {x, sizes};
    pt_out(c, imp_call(c, &tn_op_seq_split, &a, sizes.def ? 2 : 1, in));
    if (c->bad)
        return;
    pt_of(c)->out.kind = PT_LATE_LIST;
    pt_of(c)->out.tensor->elements = PT_TENSOR;
}

static void unbind(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int axis = pt_axis(c, 1, imp_rank(x));
    int64_t n = 0, wanted = pt_of(c)->wanted;
    if (!c->bad && imp_rank(x) && wanted && !tn_is_int(imp_type(x)->dim[axis], &n))
        (void)imp_with_extent(c, &x, axis, tn_idx(c->pool, wanted));
    if (c->bad || !imp_rank(x)) {
        refuse_pieces(c);
        return;
    }
    if (!tn_is_int(imp_type(x)->dim[axis], &n) || n > MAX_PIECES) {
        late_list(c, x, axis, (tn_value){0}, false);
        return;
    }
    tn_value *v = TN_NEW_N(c->arena, tn_value, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        v[i] = pt_select(c, x, axis, i);
    pt_out_many(c, PT_LIST, (uint32_t)n, v);
}

static tn_value piece(imp_node *c, tn_value x, int axis, const tn_expr *from, const tn_expr *to)
{
    const int64_t along = axis, step = 1;
    tn_slice_attr a = {tn_dims_make(c->arena, 1, &from), tn_dims_make(c->arena, 1, &to),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &along)};
    return imp_call1(c, &tn_op_strided_slice, &a, x);
}

static void pieces(imp_node *c, tn_value x, int axis, tn_dims size)
{
    tn_value *v = TN_NEW_N(c->arena, tn_value, size.n);
    const tn_expr *from = tn_idx(c->pool, 0);
    for (uint32_t i = 0; i < size.n; i++) {
        const tn_expr *to = tn_add(c->pool, from, size.at[i]);
        v[i] = size.n == 1 ? x : piece(c, x, axis, from, to);
        from = to;
    }
    pt_out_many(c, PT_LIST, size.n, v);
}

/* n pieces of a dimension whose extent only the run knows, of `each` elements but for the last one. The run fails where
 * they are another number; where there is nothing to split, they are `chunks`. */
static void late_pieces(imp_node *c, tn_value x, int axis, const tn_expr *each, int64_t chunks, int64_t n)
{
    tn_value *v = TN_NEW_N(c->arena, tn_value, (size_t)n), all = imp_extent_of(c, x, axis),
             zero = imp_i64(c, 0);
    int64_t size = 0;
    tn_value pace =
        tn_is_int(each, &size) ? imp_i64(c, size) : imp_with(c, &tn_op_add, all, (double)(chunks - 1));
    pace = size ? pace : pt_div(c, pace, imp_i64(c, chunks));
    tn_value count = imp_with(c, &tn_op_subtract, pt_add(c, all, pace), 1);
    count = pt_div(c, count, imp_with(c, &tn_op_maximum, pace, 1));
    tn_value none = imp_binary(c, &tn_op_equal, all, zero), then = imp_i64(c, chunks);
    imp_demand(c, imp_choose(c, none, then, count), n,
               "a dimension is split into another number of pieces than the code unpacks");
    for (int64_t i = 0; i < n && !c->bad; i++) {
        const tn_expr *from = tn_mul(c->pool, each, tn_idx(c->pool, i)),
                      *to = i < n - 1 ? tn_add(c->pool, from, each) : imp_type(x)->dim[axis];
        v[i] = piece(c, x, axis, from, to);
        if (i < n - 1)
            (void)imp_with_extent(c, &v[i], axis, each);
    }
    pt_out_many(c, PT_LIST, (uint32_t)n, v);
}

/* The extents of pieces of `each` elements; of nothing there is one piece. */
static tn_value sizes_of_pieces(imp_node *c, tn_value x, int axis, int64_t each)
{
    const tn_expr *count = tn_ceildiv(c->pool, imp_type(x)->dim[axis], each);
    count = imp_simplify(c, tn_max(c->pool, count, tn_idx(c->pool, 1)));
    tn_value begin = imp_with(c, &tn_op_multiply, imp_count_up(c, count), (double)each),
             left = imp_binary(c, &tn_op_subtract, imp_extent_of(c, x, axis), begin);
    return imp_with(c, &tn_op_minimum, left, (double)each);
}

/* Every piece has `each` elements, the last what is left. */
static void evenly(imp_node *c, tn_value x, int axis, int64_t each)
{
    int64_t all = 0, n = 1, wanted = pt_of(c)->wanted;
    if (c->bad || !imp_rank(x) || each < 1) {
        refuse_pieces(c);
        return;
    }
    bool known = tn_is_int(imp_type(x)->dim[axis], &all);
    if (!known && wanted) {
        late_pieces(c, x, axis, tn_idx(c->pool, each), 1, wanted);
        return;
    }
    if (!known || (n = (all + each - 1) / each) > MAX_PIECES) {
        const tn_expr *some = tn_lt(c->pool, tn_idx(c->pool, 0), imp_type(x)->dim[axis]);
        bool ones = each == 1 && tn_is_value(imp_simplify(c, some), 1);
        late_list(c, x, axis, ones ? (tn_value){0} : sizes_of_pieces(c, x, axis, each), true);
        return;
    }
    n = n ? n : 1;
    int64_t *size = TN_NEW_N(c->arena, int64_t, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        size[i] = i < n - 1 ? each : all - each * (n - 1);
    pieces(c, x, axis, tn_make_dims(c->g, (uint32_t)n, size));
}

static void split(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int axis = pt_axis(c, 2, imp_rank(x));
    if (!pt_is_sequence(pt_arg(c, 1))) {
        evenly(c, x, axis, pt_integer(c, 1));
        return;
    }
    tn_dims size = pt_dims(c, 1);
    if (!c->bad && !imp_rank(x))
        imp_refuse(c, IMP_OPERANDS, "%s has no dimension to split", imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    const tn_expr *end = tn_idx(c->pool, 0);
    for (uint32_t i = 0; i < size.n; i++)
        end = tn_add(c->pool, end, size.at[i]);
    if (!imp_with_extent(c, &x, axis, imp_simplify(c, end)))
        imp_refuse(c, IMP_BAD_VALUE, "the sizes are together not dimension %d of %s", axis,
                   imp_type_text(c, imp_type(x)));
    if (!c->bad)
        pieces(c, x, axis, size);
}

/* As many pieces as are asked for, or less: all have the same number of elements but for the last one. */
static void chunk(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int axis = pt_axis(c, 2, imp_rank(x));
    int64_t n = pt_integer(c, 1), all = 0, wanted = pt_of(c)->wanted;
    if (c->bad || n < 1 || n > MAX_PIECES || !imp_rank(x)) {
        refuse_pieces(c);
    } else if (tn_is_int(imp_type(x)->dim[axis], &all)) {
        evenly(c, x, axis, all ? (all + n - 1) / n : 1);
    } else {
        const tn_expr *each = imp_simplify(c, tn_ceildiv(c->pool, imp_type(x)->dim[axis], n));
        late_pieces(c, x, axis, each, n, wanted ? wanted : n);
    }
}

/* tensor_split: n pieces that differ by at most 1, the larger ones first; or at given positions */
static void tensor_split(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_pool *p = c->pool;
    const char *s = pt_of(c)->row->schema;
    int rank = imp_rank(x), axis = *s == 't' ? pt_axis(c, 2, rank) : *s == 'h' ? rank > 1 : *s == 'v' ? 0 : 2;
    tn_ints at = pt_ints(c, 1);
    bool listed = pt_is_sequence(pt_arg(c, 1));
    int64_t n = listed ? (int64_t)at.n + 1 : at.n ? at.at[0] : 0;
    if (c->bad || axis >= rank || n < 1 || n > MAX_PIECES) {
        imp_refuse(c, IMP_BAD_VALUE, "%s cannot be split into %lld pieces along dimension %d",
                   imp_type_text(c, imp_type(x)), (long long)n, axis);
        return;
    }
    tn_value *v = TN_NEW_N(c->arena, tn_value, (size_t)n);
    const tn_expr *all = imp_type(x)->dim[axis], *pieces_of = tn_idx(p, n),
                  *each = tn_fdiv(p, all, pieces_of), *larger = tn_fmod(p, all, pieces_of),
                  *from = tn_idx(p, 0), *end = tn_idx(p, INT32_MAX);
    for (int64_t i = 0; i < n && !c->bad; i++) {
        const tn_expr *k = tn_idx(p, i + 1), *to = tn_add(p, tn_mul(p, each, k), tn_min(p, larger, k));
        to = !listed ? imp_simplify(c, to) : i < n - 1 ? tn_idx(p, at.at[i]) : end;
        v[i] = piece(c, x, axis, from, i < n - 1 ? to : end);
        from = to;
    }
    pt_out_many(c, PT_LIST, (uint32_t)n, v);
}

/* Positions below 0 count from the end, and stop at 0. */
static tn_value from_front(imp_node *c, tn_value at, tn_value all)
{
    tn_value zero = imp_i64(c, 0);
    at = imp_cast(c, at, TN_I64);
    tn_value back = imp_binary(c, &tn_op_maximum, imp_binary(c, &tn_op_add, at, all), zero);
    return imp_choose(c, imp_binary(c, &tn_op_less, at, zero), back, at);
}

/* tensor_split at positions of a tensor, whose elements only the run may know. */
static void tensor_split_at(imp_node *c)
{
    tn_value x = pt_in(c, 0), at = pt_in(c, 1);
    const tn_type *t = imp_type(at);
    int rank = imp_rank(x), axis = pt_axis(c, 2, rank);
    int64_t n = 0;
    double pieces;
    if (!c->bad && t->n == 0 && imp_scalar(c, at, &pieces)) {
        pt_of(c)->arg[1] = pt_int((int64_t)pieces);
        tensor_split(c);
        return;
    }
    if (!c->bad && (t->n != 1 || !tn_is_int(t->dim[0], &n) || n >= MAX_PIECES))
        imp_refuse(
            c, IMP_BAD_VALUE,
            "the positions are %s, so only the run knows how many pieces there are; give a vector of known "
            "length, or a list",
            imp_type_text(c, t));
    tn_dims to = c->bad ? (tn_dims){0}
                        : imp_extents_in(c, from_front(c, at, imp_extent_of(c, x, axis)), "the positions");
    tn_value *v = TN_NEW_N(c->arena, tn_value, (size_t)n + 1);
    const tn_expr *from = tn_idx(c->pool, 0), *end = tn_idx(c->pool, INT32_MAX);
    for (uint32_t i = 0; i <= n && !c->bad; i++) {
        v[i] = piece(c, x, axis, from, i < n ? to.at[i] : end);
        from = i < n ? to.at[i] : end;
    }
    if (!c->bad)
        pt_out_many(c, PT_LIST, (uint32_t)n + 1, v);
}

// clang-format off
const pt_row pt_rows_split[] = {
    {"unbind(Tensor self, int dim=0)", unbind, NULL, PT_VIEW | PT_PARTS},
    {"unbind_copy(Tensor self, int dim=0)", unbind, NULL, PT_PARTS},
    {"split(Tensor self, int[] split_size, int dim=0)", split, NULL, PT_VIEW | PT_PARTS},
    {"split_with_sizes(Tensor self, int[] split_sizes, int dim=0)", split, NULL, PT_VIEW | PT_PARTS},
    {"split_copy(Tensor self, int[] split_size, int dim=0)", split, NULL, PT_PARTS},
    {"split_with_sizes_copy(Tensor self, int[] split_sizes, int dim=0)", split, NULL, PT_PARTS},
    {"chunk(Tensor self, int chunks, int dim=0)", chunk, NULL, PT_VIEW | PT_PARTS},
    {"unsafe_chunk(Tensor self, int chunks, int dim=0)", chunk, NULL, PT_PARTS},
    {"unsafe_split(Tensor self, int[] split_size, int dim=0)", split, NULL, PT_PARTS},
    {"unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0)", split, NULL, PT_PARTS},
    {"tensor_split(Tensor self, int[] sections, int dim=0)", tensor_split, NULL, PT_VIEW | PT_PARTS},
    {"tensor_split(Tensor self, Tensor tensor_indices_or_sections, int dim=0)", tensor_split_at, NULL,
     PT_VIEW | PT_PARTS},
    {"hsplit(Tensor self, int[] sections)", tensor_split, NULL, PT_VIEW | PT_PARTS},
    {"vsplit(Tensor self, int[] sections)", tensor_split, NULL, PT_VIEW | PT_PARTS},
    {"dsplit(Tensor self, int[] sections)", tensor_split, NULL, PT_VIEW | PT_PARTS},
    {0},
};
// clang-format on
