/* Elements by positions: index, gather, scatter, masks, triangles. */
#include "frontend/pytorch/ops.h"

#include <string.h>

static const char *schema(imp_node *c) { return pt_of(c)->row->schema; }

/* Positions are integers. An input that nothing says the type of is meant to be of integers then. */
tn_value pt_positions(imp_node *c, tn_value at)
{
    enum { MAX_STEPS = 64 };
    pt_import *p = pt_of(c)->p;
    const tn_node *n = at.def;
    if (c->bad || !n || !tn_dtype_is_float(imp_type(at)->dtype))
        return at;
    for (int i = 0; i < MAX_STEPS && n->nin && !tn_op_is(n, &tn_op_var); i++)
        n = tn_in(n, 0).def;
    if (tn_op_is(n, &tn_op_var) && !n->owner->holder && n->name && !pt_meant_dtype(p, n->name).bits) {
        tn_vec_push(&p->meant, ((pt_meant){n->name, TN_I64}));
        p->mistaken = true;
    }
    imp_refuse(c, IMP_OPERANDS,
               "positions are floats; the input that they come from must be of an integer type "
               "(--input-shapes \"NAME:[1,16]:int64\")");
    return (tn_value){0};
}

tn_value pt_from_end(imp_node *c, tn_value at, const tn_expr *extent)
{
    tn_extent_attr a = {tn_dims_make(c->arena, 1, &extent)};
    at = imp_cast(c, pt_positions(c, at), TN_I64);
    return imp_call1(c, &tn_op_checked_index, &a, at);
}

tn_value pt_gather(imp_node *c, tn_value x, tn_value at, int axis)
{
    tn_axis_attr a = {axis};
    return imp_call2(c, &tn_op_gather, &a, x, pt_from_end(c, at, imp_type(x)->dim[axis]));
}

static void index_select(imp_node *c)
{
    tn_value x = pt_in(c, 0), at = pt_in(c, 2);
    int axis = pt_axis(c, 1, imp_rank(x));
    if (!imp_rank(x)) {
        pt_out(c, x);
        return;
    }
    at = imp_rank(at) ? at : imp_unsqueeze(c, at, 0);
    pt_out(c, imp_take(c, x, pt_from_end(c, at, imp_type(x)->dim[axis]), axis));
}

static bool same_rank(imp_node *c, tn_value x, tn_value at)
{
    if (!c->bad && imp_rank(at) != imp_rank(x))
        imp_refuse(c, IMP_OPERANDS, "the positions %s must have as many dimensions as %s",
                   imp_type_text(c, imp_type(at)), imp_type_text(c, imp_type(x)));
    return !c->bad;
}

static void gather(imp_node *c)
{
    tn_value x = pt_in(c, 0), at = pt_in(c, 2);
    int rank = imp_rank(x), axis = pt_axis(c, 1, rank);
    if (!rank || !imp_rank(at)) {
        pt_out(c, rank ? imp_reshape(c, x, 0, NULL) : imp_rank(at) ? imp_unsqueeze(c, x, 0) : x);
        return;
    }
    if (!same_rank(c, x, at))
        return;
    /* positions may be fewer in the other dimensions */
    for (int d = 0; d < rank; d++) {
        int64_t n, k;
        if (d != axis && tn_is_int(imp_type(x)->dim[d], &n) && tn_is_int(imp_type(at)->dim[d], &k) && k < n)
            x = imp_slice(c, x, d, 0, k);
    }
    pt_out(c, pt_gather(c, x, at, axis));
}

static void take_along(imp_node *c)
{
    tn_value x = pt_in(c, 0), at = pt_in(c, 1);
    if (!pt_given(c, 2)) {
        tn_value first = imp_flat(c, x);
        pt_out(c, pt_gather(c, first, imp_flat(c, at), 0));
        return;
    }
    int rank = imp_rank(x), axis = pt_axis(c, 2, rank);
    if (!same_rank(c, x, at) || !rank) {
        pt_out(c, x);
        return;
    }
    const tn_expr *dx[IMP_MAX_RANK], *da[IMP_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        const tn_expr *a = imp_type(x)->dim[d], *b = imp_type(at)->dim[d];
        dx[d] = d == axis ? a : tn_is_value(a, 1) ? b : a;
        da[d] = d == axis ? b : dx[d];
    }
    tn_value second = pt_expand(c, x, tn_dims_make(c->arena, (uint32_t)rank, dx));
    pt_out(c, pt_gather(c, second, pt_expand(c, at, tn_dims_make(c->arena, (uint32_t)rank, da)), axis));
}

static void take(imp_node *c)
{
    tn_value x = imp_flat(c, pt_in(c, 0)), at = pt_in(c, 1);
    pt_out(c, imp_take(c, x, pt_from_end(c, at, imp_type(x)->dim[0]), 0));
}

/* ---- index(x, [tensors or None]) ---- */

typedef struct indexing {
    tn_value x, at[IMP_MAX_RANK]; /* absent: the whole dimension */
    int rank, first, last, n;     /* dimensions that are indexed, and how many */
    bool together;                /* one after the other */
} indexing;

/* Masks become positions. */
static bool read_indices(imp_node *c, int arg, indexing *k)
{
    pt_value list = pt_arg(c, arg);
    *k = (indexing){.x = pt_in(c, 0), .first = -1, .together = true};
    k->rank = imp_rank(k->x);
    int d = 0;
    for (size_t i = 0; pt_is_sequence(list) && i < list.list->n && !c->bad; i++) {
        tn_value v = pt_at(list, i).kind == PT_NONE ? (tn_value){0} : pt_as_tensor(c, pt_at(list, i));
        bool mask = v.def && (tn_dtype_is_bool(imp_type(v)->dtype) || tn_dtype_eq(imp_type(v)->dtype, TN_U8));
        if (d >= k->rank || (mask && d + imp_rank(v) > k->rank)) {
            imp_refuse(c, IMP_BAD_VALUE, "more dimensions are indexed than the %d that there are", k->rank);
            return false;
        }
        if (!mask) {
            k->at[d++] = v;
            continue;
        }
        tn_value at = imp_positions(c, imp_cast(c, imp_flat(c, v), TN_BOOL1));
        for (int m = imp_rank(v) - 1; m >= 0 && !c->bad; m--) {
            tn_value n = imp_extent_of(c, v, m);
            k->at[d + m] = m ? imp_binary(c, &tn_op_floor_mod, at, n) : at;
            at = m ? imp_binary(c, &tn_op_divide, at, n) : at;
        }
        d += imp_rank(v);
    }
    for (int i = 0; i < k->rank; i++)
        if (k->at[i].def) {
            k->together = k->together && (k->first < 0 || k->last == i - 1);
            k->first = k->first < 0 ? i : k->first;
            k->last = i;
            k->n++;
        }
    return !c->bad;
}

/* All positions in one tensor with a last dimension of n. */
static tn_value joined_positions(imp_node *c, const indexing *k, int *rank)
{
    tn_value v[IMP_MAX_RANK], sum = {0};
    uint32_t n = 0;
    for (int d = 0; d < k->rank; d++)
        if (k->at[d].def) {
            v[n] = pt_from_end(c, k->at[d], imp_type(k->x)->dim[d]);
            sum = n ? pt_add(c, sum, v[n]) : v[n]; /* of the common shape */
            n++;
        }
    *rank = imp_rank(sum);
    if (c->bad)
        return (tn_value){0};
    for (uint32_t i = 0; i < n; i++) {
        v[i] = *rank ? pt_expand(c, v[i], pt_shape(c, sum)) : v[i];
        v[i] = imp_unsqueeze(c, v[i], *rank);
    }
    return imp_concat(c, n, v, *rank);
}

/* Indexed dimensions first. */
static void indexed_first(const indexing *k, int64_t order[])
{
    int n = 0;
    for (int d = 0; d < k->rank; d++)
        if (k->at[d].def)
            order[n++] = d;
    for (int d = 0; d < k->rank; d++)
        if (!k->at[d].def)
            order[n++] = d;
}

static void at_indices(imp_node *c)
{
    indexing k;
    int64_t order[2 * IMP_MAX_RANK];
    int rank;
    if (!read_indices(c, 1, &k) || !k.n) {
        pt_out(c, k.x);
        return;
    }
    if (k.n == 1) {
        pt_out(c, imp_take(c, k.x, pt_from_end(c, k.at[k.first], imp_type(k.x)->dim[k.first]), k.first));
        return;
    }
    tn_value at = joined_positions(c, &k, &rank);
    indexed_first(&k, order);
    tn_gather_nd_attr a = {0};
    tn_value y = imp_call2(c, &tn_op_gather_nd, &a, pt_permute(c, k.x, k.rank, order), at);
    if (k.together && k.first > 0 && !c->bad) { /* the new dimensions stand where the indexed ones did */
        int n = 0, rest = imp_rank(y) - rank;
        for (int d = 0; d < k.first; d++)
            order[n++] = rank + d;
        for (int d = 0; d < rank; d++)
            order[n++] = d;
        for (int d = k.first; d < rest; d++)
            order[n++] = rank + d;
        y = pt_permute(c, y, n, order);
    }
    pt_out(c, y);
}

/* index_put(x, [tensors], values, accumulate) */
static void index_put(imp_node *c)
{
    indexing k;
    int64_t order[2 * IMP_MAX_RANK], back[IMP_MAX_RANK];
    int rank;
    if (!pt_is_sequence(pt_arg(c, 1)))
        imp_refuse(c, IMP_OPERANDS, "the indices are %s, but must be a list of tensors",
                   pt_kind_name(pt_arg(c, 1).kind));
    else if (read_indices(c, 1, &k) && !k.n)
        imp_refuse(c, IMP_OPERANDS, "the list of indices has no tensors");
    if (c->bad)
        return;
    tn_value values = imp_cast(c, pt_in(c, 2), imp_type(k.x)->dtype);
    tn_value at = joined_positions(c, &k, &rank);
    indexed_first(&k, order);
    for (int d = 0; d < k.rank; d++)
        back[order[d]] = d;
    tn_value x = pt_permute(c, k.x, k.rank, order);
    const tn_expr *dim[2 * IMP_MAX_RANK];
    if (rank + k.rank - k.n > IMP_MAX_RANK)
        imp_refuse(c, IMP_BAD_VALUE, "what is indexed has %d dimensions, but may have %d",
                   rank + k.rank - k.n, IMP_MAX_RANK);
    if (c->bad)
        return;
    int n = 0, rest = k.rank - k.n;
    bool inside = k.together && k.first > 0;
    /* the shape that x[indices] has, in which the values are given */
    for (int d = 0; inside && d < k.first; d++)
        dim[n++] = imp_type(x)->dim[k.n + d];
    for (int d = 0; d < rank; d++)
        dim[n++] = imp_type(at)->dim[d];
    for (int d = inside ? k.first : 0; d < rest; d++)
        dim[n++] = imp_type(x)->dim[k.n + d];
    values = n ? pt_expand(c, values, tn_dims_make(c->arena, (uint32_t)n, dim)) : values;
    if (inside) {
        int m = 0;
        for (int d = 0; d < rank; d++)
            order[m++] = k.first + d;
        for (int d = 0; d < k.first; d++)
            order[m++] = d;
        for (int d = k.first; d < rest; d++)
            order[m++] = rank + d;
        values = pt_permute(c, values, m, order);
    }
    tn_scatter_attr a = {0, pt_truth(c, 3) ? "add" : "update"};
    tn_value y = imp_call(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){x, at, values});
    pt_out(c, pt_permute(c, y, k.rank, back));
}

/* ---- scatter ---- */

static void scattered(imp_node *c, tn_value src, const char *how)
{
    tn_value x = pt_in(c, 0), at = pt_in(c, 2);
    int rank = imp_rank(x), axis = pt_axis(c, 1, rank);
    bool scalar = !rank;
    if (scalar)
        x = imp_unsqueeze(c, x, 0);
    at = imp_rank(at) ? at : imp_unsqueeze(c, at, 0);
    src = imp_cast(c, src, imp_type(x)->dtype);
    if (!imp_rank(src) && !c->bad)
        src = pt_expand(c, src, pt_shape(c, at));
    for (int d = 0; d < imp_rank(at) && imp_rank(src) == imp_rank(at); d++) { /* src may be larger */
        int64_t n, k;
        if (tn_is_int(imp_type(src)->dim[d], &n) && tn_is_int(imp_type(at)->dim[d], &k) && k < n)
            src = imp_slice(c, src, d, 0, k);
    }
    tn_scatter_attr a = {axis, how};
    at = pt_from_end(c, at, imp_type(x)->dim[axis]);
    tn_value y = imp_call(c, &tn_op_scatter_elements, &a, 3, (const tn_value[]){x, at, src});
    pt_out(c, scalar ? imp_squeeze(c, y, 0) : y);
}

static const char *how(imp_node *c, const char *name)
{
    static const char *const from[] = {"sum", "add", "multiply", "prod", "amax", "amin", ""};
    static const char *const to[] = {"add", "add", "mul", "mul", "max", "min", "update"};
    for (size_t i = 0; i < 7; i++)
        if (strcmp(name, from[i]) == 0)
            return to[i];
    imp_refuse(c, IMP_BAD_VALUE, "the reduction \"%s\" is not supported", name);
    return "update";
}

static void scatter(imp_node *c)
{
    if (pt_of(c)->part && pt_given(c, 4))
        imp_refuse(c, IMP_OPERANDS, "complex numbers are not combined with what they replace");
    scattered(c, pt_in(c, 3), how(c, pt_string(c, 4)));
}

static void scatter_add(imp_node *c) { scattered(c, pt_in(c, 3), "add"); }

static void scatter_reduce(imp_node *c)
{
    const char *reduce = pt_string(c, 4);
    if (!pt_truth(c, 5) || strcmp(reduce, "mean") == 0)
        pt_out_value(c, pt_call_named(pt_of(c)->p, "scatter_reduce_apart", 6, pt_of(c)->arg));
    else
        scattered(c, pt_in(c, 3), how(c, reduce));
}

/* The scalar's place may be named several times. */
static tn_value added_to_scalar(imp_node *c, tn_value x, tn_value at, tn_value src)
{
    int64_t first = 0;
    tn_ints axis = tn_ints_make(c->arena, 1, &first);
    src = pt_mul(c, src, pt_as(c, pt_arg(c, 4), imp_type(x)->dtype));
    src = imp_rank(at) ? pt_expand(c, imp_flat(c, src), pt_shape(c, at)) : imp_reshape(c, src, 0, NULL);
    return pt_add(c, x, imp_rank(at) ? pt_sum(c, &tn_op_sum, src, axis, false) : src);
}

/* index_add(x, dim, index, source, alpha), index_copy, index_fill */
static void index_write(imp_node *c)
{
    const char *s = schema(c);
    tn_value x = pt_in(c, 0), at = pt_in(c, 2), src = pt_as(c, pt_arg(c, 3), imp_type(x)->dtype);
    int rank = imp_rank(x), axis = pt_axis(c, 1, rank);
    bool add = strncmp(s, "index_add", 9) == 0;
    const tn_expr *dim[IMP_MAX_RANK], *one[IMP_MAX_RANK];
    if (!rank || c->bad) {
        if (!add && !c->bad && imp_rank(src))
            src = imp_reshape(c, imp_slice(c, imp_flat(c, src), 0, -1, INT64_MAX), 0, NULL);
        pt_out(c, add ? added_to_scalar(c, x, at, src) : src);
        return;
    }
    at = imp_rank(at) ? at : imp_unsqueeze(c, at, 0);
    for (int d = 0; d < rank; d++) {
        dim[d] = d == axis ? imp_type(at)->dim[0] : imp_type(x)->dim[d];
        one[d] = d == axis ? imp_type(at)->dim[0] : tn_idx(c->pool, 1);
    }
    tn_dims shape = tn_dims_make(c->arena, (uint32_t)rank, dim);
    at = pt_expand(c, imp_reshape(c, pt_from_end(c, at, imp_type(x)->dim[axis]), rank, one), shape);
    src = pt_expand(c, pt_broadcast_rank(c, src, rank), shape);
    if (add && pt_given(c, 4))
        src = pt_mul(c, src, pt_as(c, pt_arg(c, 4), imp_type(x)->dtype));
    tn_scatter_attr a = {axis, add ? "add" : "update"};
    pt_out(c, imp_call(c, &tn_op_scatter_elements, &a, 3, (const tn_value[]){x, at, src}));
}

/* x with src where a view of it is: select_scatter, slice_scatter, diagonal_scatter by their views */
static void view_scatter(imp_node *c)
{
    pt_import *p = pt_of(c)->p;
    const char *s = schema(c), *end = strstr(s, "_scatter");
    tn_value x = pt_in(c, 0), src = imp_cast(c, pt_in(c, 1), imp_type(x)->dtype);
    const tn_expr *n = imp_product(c, imp_type(x), 0, imp_rank(x));
    tn_value at = imp_reshape(c, imp_count_up(c, n), imp_rank(x), imp_type(x)->dim);
    pt_value v[8];
    tn_bytes none[8] = {{0}};
    if (c->bad)
        return;
    v[0] = pt_tensor_new(p, at);
    for (size_t i = 2; i < c->n_in && i < 8; i++)
        v[i - 1] = pt_arg(c, (int)i);
    pt_value shown =
        pt_apply(p, (tn_bytes){(const uint8_t *)s, (size_t)(end - s)}, &(pt_args){c->n_in - 1, v, none});
    if (shown.kind != PT_TENSOR) {
        c->bad = true;
        return;
    }
    tn_value where = pt_tensor_value(p, shown.tensor);
    src = pt_expand(c, src, pt_shape(c, where));
    tn_scatter_attr a = {0, "update"};
    const tn_value in[3] = {imp_flat(c, x), imp_flat(c, where), imp_flat(c, src)};
    pt_out(c, imp_reshape(c, imp_call(c, &tn_op_scatter_elements, &a, 3, in), imp_rank(x), imp_type(x)->dim));
}

/* ---- masks ---- */

static void masked_select(imp_node *c)
{
    tn_value x = pt_in(c, 0), mask = imp_cast(c, pt_in(c, 1), TN_BOOL1);
    tn_value both = imp_choose(c, mask, x, x),
             wide = imp_choose(c, mask, mask, imp_cast(c, imp_cast(c, x, TN_BOOL1), TN_BOOL1));
    wide = pt_expand(c, mask, pt_shape(c, both));
    tn_value first = imp_flat(c, both);
    pt_out(c, imp_take(c, first, imp_positions(c, imp_flat(c, wide)), 0));
}

static void masked_scatter(imp_node *c)
{
    tn_value x = pt_in(c, 0), mask = pt_expand(c, imp_cast(c, pt_in(c, 1), TN_BOOL1), pt_shape(c, x));
    tn_scan_attr a = {0, true, false};
    tn_value rank = imp_call1(c, &tn_op_cumsum, &a, imp_cast(c, imp_flat(c, mask), TN_I64));
    tn_value v = imp_take(c, imp_flat(c, pt_in(c, 2)), rank, 0);
    pt_out(c, imp_choose(c, mask, imp_reshape(c, v, imp_rank(x), imp_type(x)->dim), x));
}

void pt_nonzero(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int rank = imp_rank(x);
    tn_value is = imp_binary(c, &tn_op_not_equal, x, pt_num(c, x, 0));
    tn_value at = imp_positions(c, imp_flat(c, is)), part[IMP_MAX_RANK];
    bool list = pt_starts(c, "nonzero_numpy") || pt_starts(c, "where");
    for (int d = rank - 1; d >= 0; d--) {
        tn_value n = imp_extent_of(c, x, d);
        part[d] = d ? imp_binary(c, &tn_op_floor_mod, at, n) : at;
        at = d ? imp_binary(c, &tn_op_divide, at, n) : at;
    }
    if (list) {
        pt_out_many(c, PT_LIST, (uint32_t)rank, part);
        return;
    }
    for (int d = 0; d < rank; d++)
        part[d] = imp_unsqueeze(c, part[d], 1);
    pt_out(c, rank ? imp_concat(c, (uint32_t)rank, part, 1)
                   : imp_slice(c, imp_unsqueeze(c, at, 1), 1, 0, 0)); /* of a scalar: no coordinates */
}

/* _unique2, unique_dim, unique_consecutive. What was not asked for is a list of nothing. */
static void unique(imp_node *c)
{
    bool runs = pt_starts(c, "unique_consecutive"),
         along = pt_starts(c, "unique_dim") || (runs && pt_given(c, 3));
    int first = runs ? 1 : along ? 3 : 2; /* of the flags */
    tn_value x = pt_in(c, 0), none = imp_count_up(c, tn_idx(c->pool, 0));
    int axis = along ? pt_axis(c, runs ? 3 : 1, imp_rank(x)) : 0;
    imp_unique u = imp_unique_of(c, along ? x : imp_flat(c, x), axis,
                                 IMP_UNIQUE_NAN_APART | (runs ? IMP_UNIQUE_RUNS : IMP_UNIQUE_SORTED));
    if (c->bad)
        return;
    tn_value inverse = along ? u.inverse : imp_reshape(c, u.inverse, imp_rank(x), imp_type(x)->dim);
    pt_out_many(c, PT_TUPLE, 3,
                (const tn_value[]){u.x, pt_truth(c, first) ? inverse : none,
                                   pt_truth(c, first + 1) ? u.count : none});
}

/* ---- triangles, diagonals ---- */

static void triangle(imp_node *c)
{
    tn_trilu_attr a = {schema(c)[3] == 'u'};
    tn_value x = pt_in(c, 0);
    bool is = tn_dtype_is_bool(imp_type(x)->dtype);
    tn_value first = is ? imp_cast(c, x, TN_U8) : x;
    tn_value y = imp_call2(c, &tn_op_trilu, &a, first, imp_i64(c, pt_integer(c, 1)));
    pt_out(c, is ? imp_cast(c, y, TN_BOOL1) : y);
}

static void triangle_indices(imp_node *c)
{
    enum { MOST = 1 << 20 };
    int64_t h = pt_integer(c, 0), w = pt_integer(c, 1), k = pt_integer(c, 2), n = 0;
    bool up = schema(c)[3] == 'u';
    if (h < 0 || w < 0 || h > MOST || w > MOST || h * w > MOST)
        imp_refuse(c, IMP_BAD_VALUE, "positions in a matrix of %lld rows and %lld columns are not supported",
                   (long long)h, (long long)w);
    if (c->bad)
        return;
    int64_t *at = TN_NEW_N(c->arena, int64_t, (size_t)(2 * h * w) + 2);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < h; i++)
            for (int64_t j = 0; j < w; j++)
                if (up ? j - i >= k : j - i <= k)
                    at[n++] = pass ? j : i;
    int64_t dim[2] = {2, n / 2};
    pt_out(c, tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_I64, 2, dim, at, NULL)));
}

/* A matrix with x on its diagonal, or the diagonal of a matrix. */
static tn_value on_diagonal(imp_node *c, tn_value x, int64_t k)
{
    int rank = imp_rank(x);
    int64_t n = 0;
    if (!rank || !tn_is_int(imp_type(x)->dim[rank - 1], &n)) {
        imp_refuse(c, IMP_NOT_CONSTANT, "a diagonal must have a known extent");
        return x;
    }
    if (k < -INT32_MAX || k > INT32_MAX) {
        imp_refuse(c, IMP_BAD_VALUE, "a diagonal that is %lld beside the main one is not supported",
                   (long long)k);
        return x;
    }
    int64_t size = n + (k < 0 ? -k : k), down = k < 0 ? -k : 0;
    int64_t width[2 * IMP_MAX_RANK] = {0};
    width[2 * (rank - 1)] = down;
    width[2 * (rank - 1) + 1] = size - n - down;
    tn_pad_attr pad = {tn_make_dims(c->g, 2 * (uint32_t)rank, width), 0, "constant"};
    bool is = tn_dtype_is_bool(imp_type(x)->dtype);
    tn_value col = imp_unsqueeze(c, imp_call1(c, &tn_op_nn_pad, &pad, is ? imp_cast(c, x, TN_U8) : x), rank);
    const tn_expr *dim[2] = {tn_idx(c->pool, size), tn_idx(c->pool, size)};
    tn_eye_attr e = {tn_dims_make(c->arena, 2, dim), k, imp_type(col)->dtype};
    tn_value first = imp_cast(c, imp_call(c, &tn_op_eye, &e, 0, NULL), TN_BOOL1);
    tn_value y = imp_choose(c, first, col, pt_num(c, col, 0));
    return is ? imp_cast(c, y, TN_BOOL1) : y;
}

static void diag_embed(imp_node *c)
{
    tn_value first = pt_in(c, 0);
    tn_value y = on_diagonal(c, first, pt_integer(c, 1));
    int rank = imp_rank(y), a = pt_axis(c, 2, rank), b = pt_axis(c, 3, rank), n = 0;
    int64_t order[IMP_MAX_RANK];
    for (int d = 0; d < rank; d++)
        order[d] = d == a ? rank - 2 : d == b ? rank - 1 : n++;
    pt_out(c, c->bad ? y : pt_permute(c, y, rank, order));
}

static void diag(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    pt_import *p = pt_of(c)->p;
    if (imp_rank(x) < 2) {
        pt_out(c, on_diagonal(c, x, pt_integer(c, 1)));
        return;
    }
    const pt_value v[2] = {pt_arg(c, 0), pt_arg(c, 1)};
    const tn_bytes none[2] = {{0}};
    pt_out_value(c, pt_apply(p, pt_words("diagonal").text, &(pt_args){2, v, none}));
}

static void trace(imp_node *c)
{
    tn_einsum_attr a = {"ii->"};
    tn_value x = pt_in(c, 0);
    const pt_value v[1] = {pt_arg(c, 0)};
    const tn_bytes none[1] = {{0}};
    pt_value d = pt_apply(pt_of(c)->p, pt_words("diagonal").text, &(pt_args){1, v, none});
    int64_t axis = 0;
    (void)a;
    if (d.kind != PT_TENSOR) {
        c->bad = true;
        return;
    }
    tn_dtype t = imp_type(x)->dtype;
    pt_out(c, pt_sum(c, &tn_op_sum, imp_cast(c, pt_as_tensor(c, d), tn_dtype_is_float(t) ? t : TN_I64),
                     tn_ints_make(c->arena, 1, &axis), false));
}

static void one_hot(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    const tn_expr *n = pt_extent(c, pt_arg(c, 1));
    tn_value first = imp_unsqueeze(c, imp_cast(c, x, TN_I64), imp_rank(x));
    tn_value on = imp_binary(c, &tn_op_equal, first, imp_count_up(c, n));
    pt_out(c, imp_cast(c, on, TN_I64));
}

static void meshgrid(imp_node *c)
{
    uint32_t n;
    tn_value *v = pt_list_in(c, 0, &n);
    const tn_expr *dim[IMP_MAX_RANK], *one[IMP_MAX_RANK];
    bool xy = c->n_in > 1 && strcmp(pt_string(c, 1), "xy") == 0 && n > 1;
    if (n > IMP_MAX_RANK) {
        imp_refuse(c, IMP_BAD_VALUE, "a grid of %u dimensions is not supported, but at most %d", (unsigned)n,
                   IMP_MAX_RANK);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = xy && i < 2 ? 1 - i : i;
        v[i] = imp_rank(v[i]) ? v[i] : imp_unsqueeze(c, v[i], 0);
        dim[at] = imp_type(v[i])->dim[0];
    }
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        uint32_t at = xy && i < 2 ? 1 - i : i;
        for (uint32_t d = 0; d < n; d++)
            one[d] = d == at ? imp_type(v[i])->dim[0] : tn_idx(c->pool, 1);
        v[i] = pt_expand(c, imp_reshape(c, v[i], (int)n, one), tn_dims_make(c->arena, n, dim));
    }
    pt_out_many(c, PT_LIST, n, v);
}

static void broadcast_tensors(imp_node *c)
{
    uint32_t n;
    tn_value *v = pt_list_in(c, 0, &n), sum = {0};
    for (uint32_t i = 0; i < n; i++) { /* compared, for the common shape */
        tn_value next = imp_cast(c, v[i], TN_F32);
        sum = i ? imp_binary(c, &tn_op_equal, imp_cast(c, sum, TN_F32), next) : next;
    }
    for (uint32_t i = 0; i < n && !c->bad && imp_rank(sum); i++)
        v[i] = pt_expand(c, v[i], pt_shape(c, sum));
    pt_out_many(c, PT_LIST, n, v);
}

/* The rows of x by positions in them. */
static tn_value sorted_by(imp_node *c, tn_value x, tn_value sorter)
{
    if (!c->bad && imp_rank(sorter) != imp_rank(x))
        imp_refuse(c, IMP_OPERANDS, "the sorter %s has not the shape of %s",
                   imp_type_text(c, imp_type(sorter)), imp_type_text(c, imp_type(x)));
    return c->bad ? x : pt_gather(c, x, sorter, imp_rank(x) - 1);
}

static void bucketize(imp_node *c)
{
    bool search = strncmp(schema(c), "searchsorted", 12) == 0;
    tn_value v = pt_in(c, search ? 1 : 0), edges = pt_in(c, search ? 0 : 1);
    bool right = pt_truth(c, 3);
    if (search && pt_given(c, 4))
        right = strcmp(pt_string(c, 4), "right") == 0;
    int n = imp_rank(edges);
    if (n < 1 || (n > 1 && (!search || n != imp_rank(v))))
        imp_refuse(c, IMP_OPERANDS, "borders %s are not those of values %s",
                   imp_type_text(c, imp_type(edges)), imp_type_text(c, imp_type(v)));
    if (c->bad)
        return;
    if (search && pt_given(c, 5))
        edges = sorted_by(c, edges, pt_in(c, 5));
    tn_dtype t = pt_promote(imp_type(v)->dtype, imp_type(edges)->dtype);
    tn_value first = imp_cast(c, edges, t), of = imp_unsqueeze(c, imp_cast(c, v, t), imp_rank(v));
    if (imp_rank(first) > 1) /* values of each row */
        first = imp_unsqueeze(c, first, imp_rank(first) - 1);
    tn_value above = imp_binary(c, right ? &tn_op_greater : &tn_op_greater_equal, first, of);
    tn_value below = imp_unary(c, &tn_op_logical_not, above); /* a NaN comes last */
    int64_t last = imp_rank(v);
    tn_value second =
        pt_sum(c, &tn_op_sum, imp_cast(c, below, TN_I64), tn_ints_make(c->arena, 1, &last), false);
    pt_out(c, imp_cast(c, second, pt_truth(c, 2) ? TN_I32 : TN_I64));
}

const pt_row pt_rows_index[] = {
    {"index_select(Tensor self, int dim, Tensor index)", index_select, NULL, PT_PARTS},
    {"gather(Tensor self, int dim, Tensor index, *, any sparse_grad=None)", gather, NULL, PT_PARTS},
    {"take_along_dim(Tensor self, Tensor indices, int? dim=None)", take_along, NULL, PT_PARTS},
    {"take(Tensor self, Tensor index)", take, NULL, PT_PARTS},
    {"index(Tensor self, any indices)", at_indices, NULL, PT_PARTS},
    {"_unsafe_index(Tensor self, any indices)", at_indices, NULL, PT_PARTS},
    {"index_put(Tensor self, any indices, Tensor values, bool accumulate=False)", index_put, NULL, PT_SUM},
    {"_unsafe_index_put(Tensor self, any indices, Tensor values, bool accumulate=False)", index_put, NULL,
     PT_SUM},
    {"scatter(Tensor self, int dim, Tensor index, Tensor src, *, str? reduce=None)", scatter, NULL, PT_SUM},
    {"scatter(Tensor self, int dim, Tensor index, Tensor value, *, str? reduce=None)", scatter, NULL, PT_SUM},
    {"scatter_add(Tensor self, int dim, Tensor index, Tensor src)", scatter_add, NULL, PT_SUM},
    {"scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)",
     scatter_reduce, NULL, 0},
    {"index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1)", index_write, NULL,
     PT_SUM},
    {"index_copy(Tensor self, int dim, Tensor index, Tensor source)", index_write, NULL, PT_SUM},
    {"index_fill(Tensor self, int dim, Tensor index, Tensor value)", index_write, NULL, PT_SUM},
    {"select_scatter(Tensor self, Tensor src, int dim, any index)", view_scatter, NULL, PT_SUM},
    {"slice_scatter(Tensor self, Tensor src, int dim=0, any start=None, any end=None, any step=1)",
     view_scatter, NULL, PT_SUM},
    {"diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1)", view_scatter, NULL,
     PT_SUM},
    {"masked_select(Tensor self, Tensor mask)", masked_select, NULL, PT_PARTS},
    {"masked_scatter(Tensor self, Tensor mask, Tensor source)", masked_scatter, NULL, PT_SUM},
    {"nonzero(Tensor self)", pt_nonzero, NULL, 0},
    {"_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False)", unique,
     NULL, 0},
    {"unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool "
     "return_counts=False)",
     unique, NULL, 0},
    {"unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None)",
     unique, NULL, 0},
    {"argwhere(Tensor self)", pt_nonzero, NULL, 0},
    {"nonzero_numpy(Tensor self)", pt_nonzero, NULL, 0},
    {"tril(Tensor self, int diagonal=0)", triangle, NULL, PT_PARTS},
    {"triu(Tensor self, int diagonal=0)", triangle, NULL, PT_PARTS},
    {"tril_indices(int row, int col, int offset=0, *, any dtype=None)", triangle_indices, NULL, 0},
    {"triu_indices(int row, int col, int offset=0, *, any dtype=None)", triangle_indices, NULL, 0},
    {"diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1)", diag_embed, NULL, PT_PARTS},
    {"diag(Tensor self, int diagonal=0)", diag, NULL, PT_PARTS},
    {"trace(Tensor self)", trace, NULL, PT_PARTS},
    {"one_hot(Tensor self, any num_classes)", one_hot, NULL, 0},
    {"meshgrid(Tensor[] tensors, *, str indexing=ij)", meshgrid, NULL, PT_SUM},
    {"broadcast_tensors(Tensor[] tensors)", broadcast_tensors, NULL, 0},
    {"bucketize(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False)", bucketize, NULL,
     0},
    {"searchsorted(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, any "
     "side=None, any sorter=None)",
     bucketize, NULL, 0},
    {0},
};
