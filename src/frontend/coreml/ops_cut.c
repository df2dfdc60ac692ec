/* Parts of data by positions: slices, windows. */
#include "frontend/coreml/coreml.h"

/* ---- old networks: channels, rows, columns ---- */

static void slice(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t axis = imp_attr_int(c, "axis", 0), begin = imp_attr_int(c, "startIndex", 0),
            end = imp_attr_int(c, "endIndex", 0), step = imp_attr_int(c, "stride", 1),
            at = imp_rank(x) - 3 + axis;
    step += step == 0;
    if (axis < 0 || axis > 2 || at < 0 || step < 1)
        imp_refuse(c, IMP_BAD_VALUE, "axis %lld and stride %lld do not fit %s", (long long)axis,
                   (long long)step, imp_type_text(c, imp_type(x)));
    tn_slice_attr a = {tn_make_dims(c->g, 1, &begin), tn_make_dims(c->g, 1, &end),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &at)};
    imp_out(c, 0, imp_call1(c, &tn_op_strided_slice, &a, x));
}

/* ---- any number of dimensions ---- */

typedef struct cut {
    tn_ints begin, end, stride, begin_mask, end_mask, squeeze;
} cut;

typedef struct edges { /* of a slice, [rank] int64, where the run computes them */
    tn_value begin, end;
} edges;

static int64_t entry(tn_ints list, uint32_t i, int64_t def) { return i < list.n ? list.at[i] : def; }

/* A slice of all dimensions of x; out_drop: those of one element that its result does not have. false: refused. */
static bool parts(imp_node *c, tn_value x, const cut *s, tn_slice_attr *out, tn_ints *out_drop)
{
    int rank = imp_rank(x);
    int64_t begin[IMP_MAX_RANK], end[IMP_MAX_RANK], step[IMP_MAX_RANK], axis[IMP_MAX_RANK],
        drop[IMP_MAX_RANK];
    uint32_t n_drop = 0;
    if (!c->bad && (s->begin.n > (uint32_t)rank || rank > IMP_MAX_RANK))
        imp_refuse(c, IMP_BAD_VALUE, "%u positions do not fit %s", (unsigned)s->begin.n,
                   imp_type_text(c, imp_type(x)));
    for (int i = 0; i < rank && !c->bad; i++) {
        uint32_t k = (uint32_t)i;
        bool one = entry(s->squeeze, k, 0) != 0, given = k < s->begin.n;
        step[i] = one ? 1 : entry(s->stride, k, 1);
        begin[i] = !given || (entry(s->begin_mask, k, 0) && !one) ? (step[i] < 0 ? -1 : 0) : s->begin.at[i];
        end[i] = one ? (begin[i] == -1 || begin[i] == INT64_MAX ? INT64_MAX : begin[i] + 1)
                 : !given || entry(s->end_mask, k, 0) ? (step[i] < 0 ? INT64_MIN : INT64_MAX)
                                                      : entry(s->end, k, INT64_MAX);
        axis[i] = i;
        if (one)
            drop[n_drop++] = i;
        if (step[i] == 0)
            imp_refuse(c, IMP_BAD_VALUE, "a stride is 0");
    }
    if (c->bad)
        return false;
    uint32_t n = (uint32_t)rank;
    *out = (tn_slice_attr){tn_make_dims(c->g, n, begin), tn_make_dims(c->g, n, end),
                           tn_ints_make(c->arena, n, step), tn_ints_make(c->arena, n, axis)};
    *out_drop = tn_ints_make(c->arena, n_drop, drop);
    return true;
}

static tn_value slice_by(imp_node *c, tn_value x, const cut *s)
{
    tn_slice_attr a;
    tn_squeeze_attr d;
    if (!parts(c, x, s, &a, &d.axis))
        return (tn_value){0};
    tn_value y = imp_call1(c, &tn_op_strided_slice, &a, x);
    return d.axis.n ? imp_call1(c, &tn_op_squeeze, &d, y) : y;
}

/* Entry i of a list, [1]; where a mask is set, `edge`. */
static tn_value edge_of(imp_node *c, tn_value list, tn_ints mask, uint32_t i, int64_t edge)
{
    const tn_expr *known;
    bool free = entry(mask, i, 0) != 0 || i >= imp_length(list);
    if (!free && (known = imp_element(c, list, i), known && tn_is_int(known, &edge)))
        free = true;
    return free ? imp_const_ints(c, TN_I64, 1, 1, &edge) : imp_slice(c, list, 0, i, i + 1);
}

/* Dimension i of a slice, along an axis of x; one that does not stay is taken out. */
static tn_value cut_one(imp_node *c, tn_value x, int axis, const cut *s, uint32_t i, const edges *e)
{
    int64_t step = entry(s->stride, i, 1), far = step < 0 ? -INT32_MAX : INT32_MAX, along = axis;
    tn_ints none = {0};
    if (entry(s->squeeze, i, 0)) {
        tn_value at = imp_squeeze(c, edge_of(c, e->begin, none, i, 0), 0);
        return imp_take(c, x, cm_positions(c, at, x, axis), axis);
    }
    tn_value from = edge_of(c, e->begin, s->begin_mask, i, step < 0 ? -1 : 0),
             to = edge_of(c, e->end, s->end_mask, i, far),
             pace = step == 1 ? (tn_value){0} : imp_const_ints(c, TN_I64, 1, 1, &step);
    if (step == 0)
        imp_refuse(c, IMP_BAD_VALUE, "a stride is 0");
    if (c->bad || imp_dynamic_slice(c, x, from, to, imp_const_ints(c, TN_I64, 1, 1, &along), pace))
        return c->out[0];
    tn_slice_attr a = {imp_host_in(c, from, "begin"), imp_host_in(c, to, "end"),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &along)};
    return imp_call1(c, &tn_op_strided_slice, &a, x);
}

static bool fit_late(imp_node *c, tn_value x, const edges *e)
{
    int64_t n[2] = {imp_length(e->begin), imp_length(e->end)};
    if (!c->bad && (n[0] < 1 || n[1] < 1 || n[0] > imp_rank(x) || n[1] > imp_rank(x)))
        imp_refuse(c, IMP_OPERANDS, "positions %s and %s do not fit %s", imp_type_text(c, imp_type(e->begin)),
                   imp_type_text(c, imp_type(e->end)), imp_type_text(c, imp_type(x)));
    return !c->bad;
}

/* The last dimension first, so that one that goes moves no other. */
static tn_value slice_late(imp_node *c, tn_value x, const cut *s, const edges *e)
{
    if (!fit_late(c, x, e))
        return x;
    for (int i = imp_rank(x) - 1; i >= 0 && !c->bad; i--)
        x = cut_one(c, x, i, s, (uint32_t)i, e);
    return x;
}

/* A result of a layer has at least one dimension. */
static void layer_out(imp_node *c, tn_value y)
{
    imp_out(c, 0, !c->bad && !imp_rank(y) ? imp_unsqueeze(c, y, 0) : y);
}

static void slice_static(imp_node *c)
{
    cut s = {cm_ints(c, "beginIds"),   cm_ints(c, "endIds"),   cm_ints(c, "strides"),
             cm_ints(c, "beginMasks"), cm_ints(c, "endMasks"), cm_ints(c, "squeezeMasks")};
    layer_out(c, slice_by(c, imp_in(c, 0), &s));
}

/* What a layer has as its operand i, or else as a parameter. */
static tn_ints known_list(imp_node *c, uint32_t i, const char *name)
{
    tn_ints given = cm_ints(c, name);
    return imp_has(c, i) ? imp_whole_in(c, imp_in(c, i), name) : given;
}

static void slice_dynamic(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints ends = cm_ints(c, "endIds"); /* for five dimensions, as coremltools writes it */
    cut s = {.stride = known_list(c, 3, "strides"),
             .begin_mask = known_list(c, 4, "beginMasks"),
             .end_mask = known_list(c, 5, "endMasks"),
             .squeeze = known_list(c, 6, "squeezeMasks")};
    ends.n = ends.n > (uint32_t)imp_rank(x) ? (uint32_t)imp_rank(x) : ends.n;
    edges e = {imp_cast(c, imp_in(c, 1), TN_I64), imp_has(c, 2)
                                                      ? imp_cast(c, imp_in(c, 2), TN_I64)
                                                      : imp_const_ints(c, TN_I64, 1, ends.n, ends.at)};
    layer_out(c, slice_late(c, x, &s, &e));
}

/* Size elements from a position on. */
static void slice_size(imp_node *c)
{
    tn_value x = imp_in(c, 0), from = imp_flat(c, imp_in(c, 1));
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    int64_t size = imp_attr_int(c, "size", 0);
    if (size < 1 || size > INT32_MAX)
        imp_refuse(c, IMP_BAD_VALUE, "size is %lld", (long long)size);
    if (c->bad)
        return;
    from = cm_positions(c, from, x, axis);
    edges e = {from, imp_with(c, &tn_op_add, from, (double)size)};
    imp_out(c, 0, cut_one(c, x, axis, &(cut){0}, 0, &e));
}

/* The parameters of an operation that slices; false: the run computes some of the positions, which are in out_late. */
static bool read_cut(imp_node *c, cut *out, edges *out_late)
{
    *out = (cut){cm_ints(c, "begin"),      cm_ints(c, "end"),      cm_ints(c, "stride"),
                 cm_ints(c, "begin_mask"), cm_ints(c, "end_mask"), cm_ints(c, "squeeze_mask")};
    if (imp_has_attr(c, "begin") && imp_has_attr(c, "end"))
        return true;
    *out_late = (edges){imp_cast(c, cm_in(c, 1, "begin"), TN_I64), imp_cast(c, cm_in(c, 2, "end"), TN_I64)};
    return false;
}

static void slice_by_index(imp_node *c)
{
    cut s;
    edges e;
    tn_value x = cm_in(c, 0, "x");
    bool known = read_cut(c, &s, &e);
    imp_out(c, 0, known ? slice_by(c, x, &s) : slice_late(c, x, &s, &e));
}

/* Numbers of the elements of x, row by row, that a slice has. */
static tn_value elements_of(imp_node *c, tn_value x, const cut *s, const edges *e)
{
    tn_value at = {0};
    if (!fit_late(c, x, e))
        return at;
    for (int i = 0; i < imp_rank(x) && !c->bad; i++) {
        tn_value row = cut_one(c, imp_count_up(c, imp_type(x)->dim[i]), 0, s, (uint32_t)i, e);
        if (at.def)
            at = imp_binary(c, &tn_op_multiply, at, imp_extent_of(c, x, i));
        if (at.def && imp_rank(row))
            at = imp_unsqueeze(c, at, imp_rank(at));
        at = at.def ? imp_binary(c, &tn_op_add, at, row) : row;
    }
    return at;
}

/* v in the place of a slice whose steps lead forwards; false: they do not. */
static bool set_slice(imp_node *c, tn_value x, tn_value v, const cut *s)
{
    tn_slice_attr a;
    tn_ints drop;
    const tn_expr *dim[IMP_MAX_RANK];
    if (!parts(c, x, s, &a, &drop))
        return true;
    for (uint32_t i = 0; i < a.strides.n; i++)
        if (a.strides.at[i] < 0)
            return false;
    int rank = imp_rank(v);
    if (rank + (int)drop.n != imp_rank(x))
        return false;
    for (uint32_t i = 0, k = 0, n = 0; i < a.strides.n; i++) {
        bool gone = n < drop.n && drop.at[n] == i;
        dim[i] = gone ? tn_idx(c->pool, 1) : imp_type(v)->dim[k];
        n += gone;
        k += !gone;
    }
    imp_out(c, 0, imp_call2(c, &tn_op_strided_set, &a, x, imp_reshape(c, v, imp_rank(x), dim)));
    return true;
}

static void slice_update(imp_node *c)
{
    cut s;
    edges e;
    tn_value x = cm_in(c, 0, "x"), v = cm_in(c, 1, "update");
    bool known = read_cut(c, &s, &e);
    if (c->bad || (known && set_slice(c, x, v, &s)))
        return;
    if (known)
        e = (edges){imp_const_ints(c, TN_I64, 1, s.begin.n, s.begin.at),
                    imp_const_ints(c, TN_I64, 1, s.end.n, s.end.at)};
    tn_value at = elements_of(c, x, &s, &e);
    if (c->bad)
        return;
    const tn_expr *n = imp_product(c, imp_type(v), 0, imp_rank(v));
    tn_scatter_attr a = {0, "update"};
    const tn_value in[] = {imp_flat(c, x), imp_reshape(c, at, 1, &n), imp_flat(c, v)};
    tn_value y = imp_call(c, &tn_op_scatter_elements, &a, 3, in);
    imp_out(c, 0, c->bad ? y : imp_reshape(c, y, imp_rank(x), imp_type(x)->dim));
}

/* From positions on, or of sizes, that the run computes. */
static void slice_late_size(imp_node *c, tn_value x)
{
    tn_dims begin = imp_extents_in(c, imp_cast(c, cm_in(c, 1, "begin"), TN_I64), "begin"),
            size = imp_extents_in(c, imp_cast(c, cm_in(c, 2, "size"), TN_I64), "size");
    const tn_expr *end[IMP_MAX_RANK];
    int64_t step[IMP_MAX_RANK];
    if (!c->bad && (begin.n != (uint32_t)imp_rank(x) || size.n != begin.n || begin.n > IMP_MAX_RANK))
        imp_refuse(c, IMP_BAD_VALUE, "%u positions and %u sizes do not fit %s", (unsigned)begin.n,
                   (unsigned)size.n, imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < begin.n && !c->bad; i++) {
        bool rest = tn_is_value(size.at[i], -1);
        end[i] = rest ? imp_type(x)->dim[i] : imp_simplify(c, tn_add(c->pool, begin.at[i], size.at[i]));
        step[i] = 1;
    }
    if (c->bad)
        return;
    tn_slice_attr a = {
        begin, tn_dims_make(c->arena, begin.n, end), tn_ints_make(c->arena, begin.n, step), {0}};
    imp_out(c, 0, imp_call1(c, &tn_op_strided_slice, &a, x));
}

static void slice_by_size(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    tn_ints begin = cm_ints(c, "begin"), size = cm_ints(c, "size");
    int64_t *end = TN_NEW_N(c->arena, int64_t, begin.n);
    if (!imp_has_attr(c, "begin") || !imp_has_attr(c, "size")) {
        slice_late_size(c, x);
        return;
    }
    if (begin.n != size.n)
        imp_refuse(c, IMP_BAD_VALUE, "a slice has %u positions and %u sizes", (unsigned)begin.n,
                   (unsigned)size.n);
    for (uint32_t i = 0; i < begin.n && !c->bad; i++) {
        bool far = __builtin_add_overflow(begin.at[i], size.at[i], &end[i]),
             rest = far || size.at[i] == -1 || (begin.at[i] < 0 && end[i] == 0); /* up to the last element */
        end[i] = rest ? INT64_MAX : end[i];
    }
    cut s = {begin, {begin.n, end}, {0}, {0}, {0}, {0}};
    imp_out(c, 0, c->bad ? x : slice_by(c, x, &s));
}

static void sliding_windows(imp_node *c)
{
    bool layer = cm_is_layer(c);
    tn_value x = cm_in(c, 0, "x");
    int64_t size = imp_attr_int(c, layer ? "windowSize" : "size", 0),
            step = imp_attr_int(c, layer ? "step" : "stride", 1), extent;
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    if (c->bad || !tn_is_int(imp_type(x)->dim[axis], &extent) || size < 1 || step < 1 || size > extent ||
        (extent - size) / step + 1 > 65536 / size) {
        imp_refuse(c, IMP_BAD_VALUE, "windows of %lld by steps of %lld do not fit %s", (long long)size,
                   (long long)step, imp_type_text(c, imp_type(x)));
        return;
    }
    uint32_t n = (uint32_t)((extent - size) / step + 1), k = 0;
    int64_t *at = TN_NEW_N(c->arena, int64_t, n *(uint32_t)size);
    for (uint32_t w = 0; w < n; w++)
        for (int64_t i = 0; i < size; i++)
            at[k++] = w * step + i;
    tn_value rows = imp_take(c, x, imp_const_ints(c, TN_I64, 1, k, at), axis);
    const tn_expr *dim[IMP_MAX_RANK + 1];
    int rank = imp_rank(x);
    for (int i = 0; i < rank && !c->bad; i++)
        dim[i + (i > axis)] = imp_type(x)->dim[i];
    dim[axis] = tn_idx(c->pool, n);
    dim[axis + 1] = tn_idx(c->pool, size);
    imp_out(c, 0, imp_reshape(c, rows, rank + 1, dim));
}

// clang-format off
const imp_row cm_rows_cut[] = {
    {"slice",           0, 0,  1, 1, slice,           NULL},
    {"sliceStatic",     0, 0,  1, 1, slice_static,    NULL},
    {"sliceDynamic",    0, 0,  7, 1, slice_dynamic,   NULL},
    {"sliceBySize",     0, 0,  2, 1, slice_size,      NULL},
    {"slice_by_index",  0, 0, -1, 1, slice_by_index,  NULL},
    {"slice_by_size",   0, 0, -1, 1, slice_by_size,   NULL},
    {"slice_update",    0, 0, -1, 1, slice_update,    NULL},
    {"slidingWindows",  0, 0,  1, 1, sliding_windows, NULL},
    {"sliding_windows", 0, 0, -1, 1, sliding_windows, NULL},
    {0},
};
// clang-format on
