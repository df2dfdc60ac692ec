/* Shapes and movement of data: reshapes, joins, parts, slices, padding. */
#include "frontend/paddle/paddle.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <string.h>

static void give(imp_node *c, tn_value v) { pd_out(c, "Out", v); }

static void identity(imp_node *c)
{
    imp_attr_ignore(c, "dtype");
    give(c, pd_in(c, "X"));
}

/* ---- shapes ---- */

static void shape(imp_node *c)
{
    tn_value x = pd_in(c, "Input");
    tn_cast_attr a = {strcmp(c->row->op, "shape64") == 0 ? TN_I64 : TN_I32};
    give(c, imp_rank(x) == 0 ? imp_const_ints(c, a.dtype, 1, 0, NULL) : imp_call1(c, &tn_op_shape_of, &a, x));
}

static void size(imp_node *c)
{
    tn_value x = pd_in(c, "Input");
    give(c, imp_rank(x) == 0 ? imp_i64(c, 1) : imp_reduce(c, &tn_op_prod, imp_shape_of(c, x), 0));
}

static void reshape(imp_node *c)
{
    tn_value x = pd_in(c, "X"), to = pd_list_value(c, "Shape", "ShapeTensor");
    imp_attr_ignore(c, "shape");
    if (to.def && imp_dynamic_reshape(c, x, to, false)) {
        tn_value y = c->out[0];
        imp_out(c, 0, (tn_value){0});
        give(c, y);
        return;
    }
    tn_reshape_attr a = {pd_extents(c, "Shape", "ShapeTensor", "shape"), false};
    give(c, imp_reshape_to(c, x, &a));
}

static void flatten(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    int rank = imp_rank(x);
    const tn_expr *dim[IMP_MAX_RANK];
    int n = 0;
    if (strcmp(c->row->op, "flatten_contiguous_range") != 0) { /* rows before the axis, columns from it on */
        int64_t at = imp_attr_int(c, "axis", 1);
        if (at < 0 || at > rank)
            imp_refuse(c, IMP_BAD_VALUE, "axis %lld is outside of [0, %d]", (long long)at, rank);
        dim[0] = c->bad ? NULL : imp_product(c, imp_type(x), 0, (int)at);
        dim[1] = c->bad ? NULL : imp_product(c, imp_type(x), (int)at, rank);
        give(c, c->bad ? x : imp_reshape(c, x, 2, dim));
        return;
    }
    int from = imp_axis(c, imp_attr_int(c, "start_axis", 1), rank ? rank : 1),
        to = imp_axis(c, imp_attr_int(c, "stop_axis", 1), rank ? rank : 1);
    for (int i = 0; i < rank && !c->bad; i++) {
        if (i > from && i <= to)
            continue;
        dim[n++] = i == from ? imp_product(c, imp_type(x), from, to + 1 > from ? to + 1 : from + 1)
                             : imp_type(x)->dim[i];
    }
    if (rank == 0)
        dim[n++] = tn_idx(c->pool, 1);
    give(c, c->bad ? x : imp_reshape(c, x, n, dim));
}

/* Dimensions of other extents than 1 stay, even where they are named. */
static void squeeze(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    tn_ints axes = pd_ints(c, "AxesTensor", NULL, "axes");
    int64_t at[IMP_MAX_RANK];
    uint32_t n = 0;
    int rank = imp_rank(x);
    for (int d = 0; d < rank && !c->bad; d++) {
        int64_t extent = -1;
        bool named = axes.n == 0, known = tn_is_int(imp_type(x)->dim[d], &extent);
        for (uint32_t i = 0; i < axes.n; i++)
            named = named || imp_axis(c, axes.at[i], rank) == d;
        if (named && (extent == 1 || (!known && axes.n)))
            at[n++] = d;
    }
    tn_squeeze_attr a = {tn_ints_make(c->arena, n, at)};
    give(c, n ? imp_call1(c, &tn_op_squeeze, &a, x) : x);
}

static void unsqueeze(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    tn_ints axes = pd_ints(c, "AxesTensor", "AxesTensorList", "axes");
    for (uint32_t i = 0; i < axes.n && !c->bad; i++)
        x = imp_unsqueeze(c, x, imp_axis(c, axes.at[i], imp_rank(x) + 1));
    give(c, x);
}

static void transpose(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    tn_ints perm = pd_ints(c, NULL, NULL, "axis");
    int64_t at[IMP_MAX_RANK];
    if (!c->bad && perm.n != (uint32_t)imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "axis has %u entries, but the operand is %s; the model is damaged",
                   (unsigned)perm.n, imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < perm.n && !c->bad; i++)
        at[i] = imp_axis(c, perm.at[i], imp_rank(x));
    give(c, perm.n ? imp_transpose(c, x, (int)perm.n, at) : x);
}

/* ---- repeating ---- */

static void expand(imp_node *c)
{
    tn_value x = pd_in(c, "X"), to = pd_list_value(c, "Shape", "expand_shapes_tensor");
    tn_dims known;
    imp_attr_ignore(c, "shape");
    if (to.def && !imp_host(c, to, &known) && !c->bad) {
        tn_value one = imp_i64(c, 1), rest = imp_binary(c, &tn_op_less, to, imp_i64(c, 0));
        to = imp_choose(c, rest, one, to); /* 1 keeps an extent, as -1 does here */
        if (imp_dynamic_expand(c, x, to)) {
            tn_value y = c->out[0];
            imp_out(c, 0, (tn_value){0});
            give(c, y);
            return;
        }
    }
    tn_dims d = pd_extents(c, "Shape", "expand_shapes_tensor", "shape");
    const tn_expr *dim[IMP_MAX_RANK];
    int more = (int)d.n - imp_rank(x);
    if (!c->bad && (more < 0 || d.n > IMP_MAX_RANK))
        imp_refuse(c, IMP_BAD_VALUE, "the shape has %u entries for %s", (unsigned)d.n,
                   imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < d.n && !c->bad; i++)
        dim[i] = tn_is_value(d.at[i], -1) && (int)i >= more ? imp_type(x)->dim[(int)i - more] : d.at[i];
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, c->bad ? 0 : d.n, dim)};
    give(c, d.n ? imp_call1(c, &tn_op_broadcast_to, &a, x) : x);
}

static void expand_as(imp_node *c)
{
    tn_value x = pd_in(c, "X"), y = pd_opt(c, "Y");
    tn_ints target = pd_ints(c, NULL, NULL, "target_shape");
    const tn_type *t = imp_type(y);
    tn_dims d =
        y.def ? tn_dims_make(c->arena, (uint32_t)t->n, t->dim) : tn_make_dims(c->g, target.n, target.at);
    tn_broadcast_to_attr a = {d};
    give(c, imp_call1(c, &tn_op_broadcast_to, &a, x));
}

static void tile(imp_node *c)
{
    bool first = strcmp(c->row->op, "expand") == 0;
    tn_value x = pd_in(c, "X");
    tn_dims d = first ? pd_extents(c, "ExpandTimes", "expand_times_tensor", "expand_times")
                      : pd_extents(c, "RepeatTimes", "repeat_times_tensor", "repeat_times");
    const tn_expr *reps[IMP_MAX_RANK];
    int rank = imp_rank(x), n = (int)d.n > rank ? (int)d.n : rank;
    if (!c->bad && n > IMP_MAX_RANK)
        imp_refuse(c, IMP_TOO_LARGE, "the result has %d dimensions", n);
    for (int i = 0; i < n && !c->bad; i++)
        reps[i] = i < n - (int)d.n ? tn_idx(c->pool, 1) : d.at[i - (n - (int)d.n)];
    for (int i = rank; i < n && !c->bad; i++)
        x = imp_unsqueeze(c, x, 0);
    tn_tile_attr a = {tn_dims_make(c->arena, c->bad ? 0 : (uint32_t)n, reps)};
    give(c, n ? imp_call1(c, &tn_op_tile, &a, x) : x);
}

/* ---- joins and parts ---- */

static void concat(imp_node *c)
{
    uint32_t n = pd_count(c, "X");
    int64_t axis = pd_int(c, "AxisTensor", "axis", 0);
    tn_value *in = TN_NEW_N(c->arena, tn_value, n);
    for (uint32_t i = 0; i < n; i++) {
        in[i] = pd_at(c, "X", i);
        if (tn_dtype_is_float(imp_type(in[i])->dtype) &&
            imp_type(in[i])->dtype.bits > imp_type(in[0])->dtype.bits)
            in[0] = imp_cast(c, in[0], imp_type(in[i])->dtype);
    }
    for (uint32_t i = 0; i < n && !c->bad; i++)
        in[i] = imp_cast(c, in[i], imp_type(in[0])->dtype);
    give(c, n && !c->bad ? imp_concat(c, n, in, imp_axis(c, axis, imp_rank(in[0]))) : pd_at(c, "X", 0));
}

static void stack(imp_node *c)
{
    uint32_t n = pd_count(c, "X");
    tn_value *in = TN_NEW_N(c->arena, tn_value, n);
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(pd_at(c, "X", 0)) + 1);
    for (uint32_t i = 0; i < n && !c->bad; i++)
        in[i] = imp_unsqueeze(c, pd_at(c, "X", i), axis);
    pd_out(c, "Y", n && !c->bad ? imp_concat(c, n, in, axis) : pd_at(c, "X", 0));
}

static void unstack(imp_node *c)
{
    bool bound = strcmp(c->row->op, "unbind") == 0;
    const char *to = bound ? "Out" : "Y";
    tn_value x = pd_in(c, "X");
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    imp_attr_ignore(c, "num");
    for (uint32_t i = 0; i < pd_out_count(c, to) && !c->bad; i++)
        pd_out_at(c, to, i, imp_squeeze(c, imp_slice(c, x, axis, i, (int64_t)i + 1), axis));
}

/* Extents of the parts; a negative one takes the rest. */
static bool part_sizes(imp_node *c, const tn_expr *extent, uint32_t n, int64_t each[])
{
    tn_ints given = pd_ints(c, "SectionsTensor", "SectionsTensorList", "sections");
    int64_t all = -1, left = 0, open = -1;
    bool known = tn_is_int(extent, &all);
    imp_attr_ignore(c, "num");
    if (!c->bad && given.n == 0 && known && n && all % n == 0) {
        for (uint32_t i = 0; i < n; i++)
            each[i] = all / n;
        return true;
    }
    if (!c->bad && given.n != n)
        imp_refuse(c, IMP_BAD_VALUE, "an extent that is %s is not split into %u parts",
                   known ? tn_arena_printf(c->arena, "%lld", (long long)all) : "not known", (unsigned)n);
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        each[i] = given.at[i];
        open = each[i] < 0 ? i : open;
        left += each[i] < 0 ? 0 : each[i];
    }
    if (open >= 0 && known)
        each[open] = all - left;
    else if (open >= 0)
        imp_refuse(c, IMP_NOT_CONSTANT, "a part takes the rest of a dimension of unknown extent");
    return !c->bad;
}

static void split(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    uint32_t n = pd_out_count(c, "Out");
    int axis = imp_axis(c, pd_int(c, "AxisTensor", "axis", 0), imp_rank(x));
    int64_t *each = TN_NEW_N(c->arena, int64_t, n), at = 0;
    if (c->bad || !part_sizes(c, imp_type(x)->dim[axis], n, each))
        return;
    for (uint32_t i = 0; i < n && !c->bad; at += each[i++])
        pd_out_at(c, "Out", i, imp_slice(c, x, axis, at, at + each[i]));
}

/* ---- slices ---- */

typedef struct slices {
    tn_value x;
    tn_ints axes, steps, decrease;
    tn_value start, end, step; /* lists that operands give; absent: attributes */
    tn_dims from, to;
} slices;

/* The extent itself means "to the end". */
static const tn_expr *until(imp_node *c, const tn_expr *at, const tn_expr *extent)
{
    bool same = at->kind != TN_E_INT && imp_simplify(c, tn_sub(c->pool, at, extent)) == tn_idx(c->pool, 0);
    return same ? tn_idx(c->pool, INT64_MAX) : at;
}

static bool is_late(imp_node *c, tn_value v)
{
    tn_dims d;
    return v.def && !imp_host(c, v, &d);
}

static tn_value as_value(imp_node *c, tn_value v, tn_ints numbers)
{
    return v.def ? v : imp_const_ints(c, TN_I64, 1, numbers.n, numbers.at);
}

static tn_value late_slice(imp_node *c, const slices *s)
{
    tn_value start = as_value(c, s->start, pd_ints(c, NULL, NULL, "starts")),
             end = as_value(c, s->end, pd_ints(c, NULL, NULL, "ends")),
             axes = imp_const_ints(c, TN_I64, 1, s->axes.n, s->axes.at),
             steps = s->step.def || s->steps.n ? as_value(c, s->step, s->steps) : (tn_value){0};
    tn_value most = imp_const_ints(c, TN_I64, 0, 1, &(int64_t){INT32_MAX});
    if (imp_dynamic_slice(c, s->x, start, imp_binary(c, &tn_op_minimum, end, most), axes, steps)) {
        tn_value y = c->out[0];
        imp_out(c, 0, (tn_value){0});
        return y;
    }
    return s->x;
}

static tn_value known_slice(imp_node *c, slices *s)
{
    uint32_t n = s->axes.n;
    int rank = imp_rank(s->x);
    const tn_expr **to = TN_NEW_N(c->arena, const tn_expr *, n);
    int64_t *axis = TN_NEW_N(c->arena, int64_t, n), *step = TN_NEW_N(c->arena, int64_t, n);
    tn_ints steps = s->step.def ? imp_ints_in(c, s->step, "the steps") : s->steps;
    if (!c->bad && (s->from.n != n || s->to.n != n || (steps.n && steps.n != n)))
        imp_refuse(c, IMP_BAD_VALUE,
                   "%u axes are sliced, but there are %u begins and %u ends; the model is damaged",
                   (unsigned)n, (unsigned)s->from.n, (unsigned)s->to.n);
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        axis[i] = imp_axis(c, s->axes.at[i], rank);
        step[i] = steps.n ? steps.at[i] : 1;
        to[i] = c->bad ? NULL : until(c, s->to.at[i], imp_type(s->x)->dim[axis[i]]);
    }
    if (c->bad)
        return s->x;
    tn_slice_attr a = {tn_dims_make(c->arena, n, s->from.at), tn_dims_make(c->arena, n, to),
                       tn_ints_make(c->arena, n, step), tn_ints_make(c->arena, n, axis)};
    return n ? imp_call1(c, &tn_op_strided_slice, &a, s->x) : s->x;
}

static void slice(imp_node *c)
{
    slices s = {.x = pd_in(c, "Input"),
                .axes = pd_ints(c, NULL, NULL, "axes"),
                .steps = pd_ints(c, NULL, NULL, "strides"),
                .decrease = pd_ints(c, NULL, NULL, "decrease_axis"),
                .start = pd_list_value(c, "StartsTensor", "StartsTensorList"),
                .end = pd_list_value(c, "EndsTensor", "EndsTensorList"),
                .step = pd_list_value(c, "StridesTensor", "StridesTensorList")};
    imp_attr_ignore(c, "starts");
    imp_attr_ignore(c, "ends");
    tn_value y;
    if (is_late(c, s.start) || is_late(c, s.end)) {
        y = late_slice(c, &s);
    } else {
        s.from = pd_extents(c, "StartsTensor", "StartsTensorList", "starts");
        s.to = pd_extents(c, "EndsTensor", "EndsTensorList", "ends");
        y = known_slice(c, &s);
    }
    tn_squeeze_attr a = {s.decrease};
    give(c, s.decrease.n ? imp_call1(c, &tn_op_squeeze, &a, y) : y);
}

static void crop(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    tn_dims shape = pd_extents(c, "Shape", "ShapeTensor", "shape"),
            from = pd_extents(c, "Offsets", "OffsetsTensor", "offsets");
    const tn_expr *begin[IMP_MAX_RANK], *end[IMP_MAX_RANK];
    int rank = imp_rank(x);
    if (!c->bad && ((int)shape.n != rank || (from.n && (int)from.n != rank)))
        imp_refuse(c, IMP_BAD_VALUE, "shape and offsets have not one entry for each dimension of %s",
                   imp_type_text(c, imp_type(x)));
    for (int i = 0; i < rank && !c->bad; i++) {
        begin[i] = from.n ? from.at[i] : tn_idx(c->pool, 0);
        end[i] = tn_is_value(shape.at[i], -1) ? tn_idx(c->pool, INT64_MAX)
                                              : imp_simplify(c, tn_add(c->pool, begin[i], shape.at[i]));
    }
    tn_slice_attr a = {.begin = tn_dims_make(c->arena, c->bad ? 0 : (uint32_t)rank, begin),
                       .end = tn_dims_make(c->arena, c->bad ? 0 : (uint32_t)rank, end)};
    give(c, imp_call1(c, &tn_op_strided_slice, &a, x));
}

/* ---- order ---- */

static tn_value reversed(imp_node *c, tn_value x, int64_t axis)
{
    int64_t step = -1, from = INT64_MAX, to = INT64_MIN;
    tn_slice_attr a = {tn_make_dims(c->g, 1, &from), tn_make_dims(c->g, 1, &to),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &axis)};
    return imp_call1(c, &tn_op_strided_slice, &a, x);
}

static void flip(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    tn_ints axes = pd_ints(c, NULL, NULL, "axis");
    for (uint32_t i = 0; i < axes.n && !c->bad; i++)
        x = reversed(c, x, imp_axis(c, axes.at[i], imp_rank(x)));
    give(c, x);
}

static void roll(imp_node *c)
{
    tn_value x = pd_in(c, "X"), whole = x;
    tn_ints by = pd_ints(c, "ShiftsTensor", NULL, "shifts"), axes = pd_ints(c, NULL, NULL, "axis");
    int64_t zero = 0;
    if (!axes.n && !c->bad) { /* as one list */
        x = imp_flat(c, x);
        axes = tn_ints_make(c->arena, 1, &zero);
    }
    for (uint32_t i = 0; i < axes.n && i < by.n && !c->bad; i++)
        x = imp_roll(c, x, imp_axis(c, axes.at[i], imp_rank(x)), by.at[i]);
    give(c, imp_rank(x) == imp_rank(whole) ? x : imp_reshape(c, x, imp_rank(whole), imp_type(whole)->dim));
}

static void tril_triu(imp_node *c)
{
    int64_t k = imp_attr_int(c, "diagonal", 0);
    tn_trilu_attr a = {strcmp(c->row->op, "pir_triu") == 0 || !pd_bool(c, "lower", true)};
    tn_value x = pd_in(c, "X");
    give(c, imp_call2(c, &tn_op_trilu, &a, x, imp_i64(c, k)));
}

static void meshgrid(imp_node *c)
{
    uint32_t n = pd_count(c, "X");
    const tn_expr *dim[IMP_MAX_RANK];
    if (!c->bad && n > IMP_MAX_RANK)
        imp_refuse(c, IMP_TOO_LARGE, "a grid of %u dimensions", (unsigned)n);
    for (uint32_t i = 0; i < n && !c->bad; i++)
        dim[i] = imp_product(c, imp_type(pd_at(c, "X", i)), 0, imp_rank(pd_at(c, "X", i)));
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        tn_broadcast_to_attr a = {tn_dims_make(c->arena, n, dim)};
        tn_value row = imp_along(c, pd_at(c, "X", i), (int)i, (int)n);
        pd_out_at(c, "Out", i, imp_call1(c, &tn_op_broadcast_to, &a, row));
    }
}

/* ---- padding ---- */

static void pad_with(imp_node *c, const char *mode, uint32_t n, const tn_expr *const width[], double value)
{
    static const struct {
        const char *name, *mode;
    } modes[] = {{"constant", "constant"},
                 {"reflect", "reflect"},
                 {"replicate", "edge"},
                 {"edge", "edge"},
                 {"circular", "wrap"}};
    tn_pad_attr a = {.pad_width = tn_dims_make(c->arena, n, width), .pad_value = value};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        a.pad_mode = strcmp(mode, modes[i].name) == 0 ? modes[i].mode : a.pad_mode;
    if (!a.pad_mode)
        imp_refuse(c, IMP_BAD_VALUE, "mode is \"%s\"; constant, reflect, replicate and circular are known",
                   mode);
    give(c, imp_call1(c, &tn_op_nn_pad, &a, pd_in(c, "X")));
}

/* Before and after each dimension. */
static void pad(imp_node *c)
{
    tn_dims d = pd_extents(c, NULL, NULL, "paddings");
    if (!c->bad && d.n != 2 * (uint32_t)imp_rank(pd_in(c, "X")))
        imp_refuse(c, IMP_BAD_VALUE, "paddings has %u entries for %s", (unsigned)d.n,
                   imp_type_text(c, imp_type(pd_in(c, "X"))));
    double value = 0;
    tn_value late = pd_scalar_in(c, "PadValue", "pad_value", 0, TN_F64);
    if (!imp_scalar(c, late, &value))
        imp_refuse(c, IMP_NOT_CONSTANT, "the value of the padding must be known at compile time");
    if (!c->bad)
        pad_with(c, "constant", d.n, d.at, value);
}

/* Spatial dimensions: the last one first, or as pad2d has them, in order. */
static void pad_spatial(imp_node *c)
{
    bool in_order = strcmp(c->row->op, "pad2d") == 0;
    tn_value x = pd_in(c, "X");
    int rank = imp_rank(x), dims = rank - 2;
    bool last = pd_is_last(c, "data_format");
    const char *mode = imp_attr_string(c, "mode", "constant");
    double value = imp_attr_float(c, in_order ? "pad_value" : "value", 0);
    tn_dims d = pd_extents(c, "Paddings", NULL, "paddings");
    const tn_expr *width[2 * IMP_MAX_RANK];
    if (!c->bad && (dims < 1 || d.n != 2 * (uint32_t)dims))
        imp_refuse(c, IMP_BAD_VALUE, "paddings has %u entries for %s", (unsigned)d.n,
                   imp_type_text(c, imp_type(x)));
    for (int i = 0; i < 2 * rank && !c->bad; i++)
        width[i] = tn_idx(c->pool, 0);
    for (int i = 0; i < dims && !c->bad; i++) {
        int at = (last ? 1 : 2) + (in_order ? i : dims - 1 - i);
        width[2 * at] = d.at[2 * i];
        width[2 * at + 1] = d.at[2 * i + 1];
    }
    if (!c->bad)
        pad_with(c, mode, 2 * (uint32_t)rank, width, value);
}

// clang-format off
const imp_row pd_rows_shape[] = {
    {"assign",                    1, 0, -1, -1, identity,    NULL},
    {"concat",                    1, 0, -1, -1, concat,      NULL},
    {"crop_tensor",               1, 0, -1, -1, crop,        NULL},
    {"expand",                    1, 0, -1, -1, tile,        NULL},
    {"expand_as_v2",              1, 0, -1, -1, expand_as,   NULL},
    {"expand_v2",                 1, 0, -1, -1, expand,      NULL},
    {"flatten",                   1, 0, -1, -1, flatten,     NULL},
    {"flatten2",                  1, 0, -1, -1, flatten,     NULL},
    {"flatten_contiguous_range",  1, 0, -1, -1, flatten,     NULL},
    {"flip",                      1, 0, -1, -1, flip,        NULL},
    {"meshgrid",                  1, 0, -1, -1, meshgrid,    NULL},
    {"memcpy",                    1, 0, -1, -1, identity,    NULL},
    {"pad",                       1, 0, -1, -1, pad,         NULL},
    {"pad1d",                     1, 0, -1, -1, pad_spatial, NULL},
    {"pad2d",                     1, 0, -1, -1, pad_spatial, NULL},
    {"pad3d",                     1, 0, -1, -1, pad_spatial, NULL},
    {"pir_triu",                  1, 0, -1, -1, tril_triu,   NULL},
    {"reshape",                   1, 0, -1, -1, reshape,     NULL},
    {"reshape2",                  1, 0, -1, -1, reshape,     NULL},
    {"roll",                      1, 0, -1, -1, roll,        NULL},
    {"shape",                     1, 0, -1, -1, shape,       NULL},
    {"shape64",                   1, 0, -1, -1, shape,       NULL},
    {"share_data",                1, 0, -1, -1, identity,    NULL},
    {"size",                      1, 0, -1, -1, size,        NULL},
    {"slice",                     1, 0, -1, -1, slice,       NULL},
    {"split",                     1, 0, -1, -1, split,       NULL},
    {"squeeze",                   1, 0, -1, -1, squeeze,     NULL},
    {"squeeze2",                  1, 0, -1, -1, squeeze,     NULL},
    {"stack",                     1, 0, -1, -1, stack,       NULL},
    {"strided_slice",             1, 0, -1, -1, slice,       NULL},
    {"tile",                      1, 0, -1, -1, tile,        NULL},
    {"transpose",                 1, 0, -1, -1, transpose,   NULL},
    {"transpose2",                1, 0, -1, -1, transpose,   NULL},
    {"tril_triu",                 1, 0, -1, -1, tril_triu,   NULL},
    {"unbind",                    1, 0, -1, -1, unstack,     NULL},
    {"unsqueeze",                 1, 0, -1, -1, unsqueeze,   NULL},
    {"unsqueeze2",                1, 0, -1, -1, unsqueeze,   NULL},
    {"unstack",                   1, 0, -1, -1, unstack,     NULL},
    {0},
};
// clang-format on
