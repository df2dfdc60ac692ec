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

static int64_t entry(tn_ints list, uint32_t i, int64_t def) { return i < list.n ? list.at[i] : def; }

static void slice_by(imp_node *c, tn_value x, const cut *s)
{
    int rank = imp_rank(x);
    int64_t begin[IMP_MAX_RANK], end[IMP_MAX_RANK], step[IMP_MAX_RANK], axis[IMP_MAX_RANK],
        drop[IMP_MAX_RANK];
    uint32_t n_drop = 0;
    if (!c->bad && (s->begin.n > (uint32_t)rank || rank > IMP_MAX_RANK))
        imp_refuse(c, IMP_BAD_VALUE, "%u positions do not fit %s", (unsigned)s->begin.n,
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    for (int i = 0; i < rank; i++) {
        uint32_t k = (uint32_t)i;
        bool one = entry(s->squeeze, k, 0) != 0, given = k < s->begin.n;
        step[i] = one ? 1 : entry(s->stride, k, 1);
        begin[i] = !given || (entry(s->begin_mask, k, 0) && !one) ? (step[i] < 0 ? -1 : 0) : s->begin.at[i];
        end[i] = one                                  ? (begin[i] == -1 ? INT64_MAX : begin[i] + 1)
                 : !given || entry(s->end_mask, k, 0) ? (step[i] < 0 ? INT64_MIN : INT64_MAX)
                                                      : entry(s->end, k, INT64_MAX);
        axis[i] = i;
        if (one)
            drop[n_drop++] = i;
        if (step[i] == 0)
            imp_refuse(c, IMP_BAD_VALUE, "a stride is 0");
    }
    uint32_t n = (uint32_t)rank;
    tn_slice_attr a = {tn_make_dims(c->g, n, begin), tn_make_dims(c->g, n, end),
                       tn_ints_make(c->arena, n, step), tn_ints_make(c->arena, n, axis)};
    tn_squeeze_attr d = {tn_ints_make(c->arena, n_drop, drop)};
    tn_value y = imp_call1(c, &tn_op_strided_slice, &a, x);
    y = n_drop ? imp_call1(c, &tn_op_squeeze, &d, y) : y;
    imp_out(c, 0, cm_is_layer(c) && !c->bad && !imp_rank(y) ? imp_unsqueeze(c, y, 0) : y);
}

static void slice_static(imp_node *c)
{
    cut s = {cm_ints(c, "beginIds"),   cm_ints(c, "endIds"),   cm_ints(c, "strides"),
             cm_ints(c, "beginMasks"), cm_ints(c, "endMasks"), cm_ints(c, "squeezeMasks")};
    slice_by(c, imp_in(c, 0), &s);
}

static void slice_by_index(imp_node *c)
{
    cut s = {cm_ints(c, "begin"),      cm_ints(c, "end"),      cm_ints(c, "stride"),
             cm_ints(c, "begin_mask"), cm_ints(c, "end_mask"), cm_ints(c, "squeeze_mask")};
    tn_value x = cm_in(c, 0, "x");
    if (imp_has_attr(c, "begin") && imp_has_attr(c, "end")) {
        slice_by(c, x, &s);
        return;
    }
    tn_value begin = imp_cast(c, cm_in(c, 1, "begin"), TN_I64), end = imp_cast(c, cm_in(c, 2, "end"), TN_I64),
             axes = imp_iota(c, imp_rank(x));
    if (s.stride.n || s.begin_mask.n || s.end_mask.n || s.squeeze.n ||
        !imp_dynamic_slice(c, x, begin, end, axes, (tn_value){0}))
        imp_refuse(c, IMP_NOT_CONSTANT, "positions of a slice must be known at compile time");
}

/* From positions on, or of sizes, that the run computes. */
static void slice_late(imp_node *c, tn_value x)
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
        slice_late(c, x);
        return;
    }
    if (begin.n != size.n)
        imp_refuse(c, IMP_BAD_VALUE, "a slice has %u positions and %u sizes", (unsigned)begin.n,
                   (unsigned)size.n);
    for (uint32_t i = 0; i < begin.n && !c->bad; i++) {
        end[i] = begin.at[i] + size.at[i];
        bool rest = size.at[i] == -1 || (begin.at[i] < 0 && end[i] == 0); /* up to the last element */
        end[i] = rest ? INT64_MAX : end[i];
    }
    cut s = {begin, {begin.n, end}, {0}, {0}, {0}, {0}};
    if (!c->bad)
        slice_by(c, x, &s);
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
    {"slice_by_index",  0, 0, -1, 1, slice_by_index,  NULL},
    {"slice_by_size",   0, 0, -1, 1, slice_by_size,   NULL},
    {"slidingWindows",  0, 0,  1, 1, sliding_windows, NULL},
    {"sliding_windows", 0, 0, -1, 1, sliding_windows, NULL},
    {0},
};
// clang-format on
