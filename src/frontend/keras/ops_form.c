/* Functions of keras.ops and TensorFlow that give elements another shape or order, or pick some of them. Parameters are
 * read by parameters.c. */
#include "frontend/import/matrix.h"
#include "frontend/import/scan.h"
#include "frontend/keras/rows.h"

#include <string.h>

/* ---- shapes ---- */

static void reshape(imp_node *c)
{
    int64_t to[IMP_MAX_RANK];
    const tn_expr *dim[IMP_MAX_RANK];
    int n = keras_param_list(c, 1, "newshape shape", to);
    tn_value x = keras_in(c, 0);
    if (n < 0)
        imp_refuse(c, IMP_NOT_CONSTANT, "the shape to reshape to must be known");
    for (int i = 0; i < n && !c->bad; i++)
        dim[i] = tn_idx(c->pool, to[i]);
    tn_reshape_attr a = {tn_dims_make(c->arena, c->bad ? 0 : (uint32_t)n, dim), true};
    if (!c->bad)
        keras_out(c, imp_reshape_to(c, x, &a));
}

static void transpose(imp_node *c)
{
    int64_t perm[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = keras_param_list(c, 1, "axes perm", perm);
    for (int i = 0; n < 0 && i < imp_rank(x); i++)
        perm[i] = imp_rank(x) - 1 - i;
    keras_out(c, imp_transpose(c, x, n < 0 ? imp_rank(x) : n, perm));
}

static void expand_dims(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, imp_unsqueeze(c, x, imp_axis(c, keras_param_whole(c, 1, "axis", -1), imp_rank(x) + 1)));
}

static void squeeze(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = keras_param_list(c, 1, "axis", axis), count = 0;
    for (int i = 0; n < 0 && i < imp_rank(x); i++)
        if (tn_is_value(imp_type(x)->dim[i], 1))
            axis[count++] = i;
    for (int i = 0; i < n && !c->bad; i++)
        axis[i] = imp_axis(c, axis[i], imp_rank(x));
    tn_squeeze_attr a = {tn_ints_make(c->arena, (uint32_t)(n < 0 ? count : n), axis)};
    keras_out(c, n < 0 && !count ? x : imp_call1(c, &tn_op_squeeze, &a, x));
}

/* Operands in a list, of one type. */
static uint32_t operands(imp_node *c, tn_value **out)
{
    size_t n = keras_n_in(c);
    *out = TN_NEW_N(c->arena, tn_value, n + 1);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = keras_in(c, i);
    keras_promote(c, n, *out);
    if (!n)
        imp_refuse(c, IMP_OPERANDS, "the list of operands is empty; the model is damaged");
    return (uint32_t)n;
}

static void concatenate(imp_node *c)
{
    tn_value *v;
    uint32_t n = operands(c, &v);
    int axis = c->bad ? 0
                      : imp_axis(c, keras_param_whole(c, 1, "axis", strcmp(c->row->op, "concat") ? -1 : 0),
                                 imp_rank(v[0]));
    if (!c->bad)
        keras_out(c, imp_concat(c, n, v, axis));
}

static void stack(imp_node *c)
{
    tn_value *v;
    uint32_t n = operands(c, &v);
    int axis = c->bad ? 0 : imp_axis(c, keras_param_whole(c, 1, "axis", 0), imp_rank(v[0]) + 1);
    for (uint32_t i = 0; i < n; i++)
        v[i] = imp_unsqueeze(c, v[i], axis);
    if (!c->bad)
        keras_out(c, imp_concat(c, n, v, axis));
}

/* Into equal parts; or, of keras.ops, before given positions; of TensorFlow, into parts of given sizes. */
static void split(imp_node *c)
{
    int64_t at[IMP_MAX_RANK] = {0}, extent = 0, from = 0;
    tn_value x = keras_in(c, 0);
    bool sizes = strcmp(c->row->op, "split") == 0;
    const tn_json *v = keras_param(c, 1, "indices_or_sections num_or_size_splits");
    int n = keras_param_list(c, 1, "indices_or_sections num_or_size_splits", at);
    int axis = c->bad ? 0 : imp_axis(c, keras_param_whole(c, 2, "axis", 0), imp_rank(x));
    bool equal = v && v->kind == TN_JSON_INT, far = false;
    for (int i = 0; i < n; i++)
        far = far || at[i] > INT32_MAX || at[i] < INT32_MIN;
    if (c->bad || n < 1 || far || !tn_is_int(imp_type(x)->dim[axis], &extent) ||
        (equal && (at[0] < 1 || extent % at[0] || at[0] > KERAS_MAX_RESULTS))) {
        imp_refuse(c, IMP_BAD_VALUE, "%s cannot be split in this way", imp_type_text(c, imp_type(x)));
        return;
    }
    int parts = equal ? (int)at[0] : sizes ? n : n + 1;
    for (int i = 0; i < parts && !c->bad; i++) {
        int64_t to = equal ? from + extent / parts : sizes ? from + at[i] : i < n ? at[i] : extent;
        keras_out(c, imp_slice(c, x, axis, from, to));
        from = to;
    }
}

/* ---- x[...]: slices, numbers, new dimensions and an ellipsis ---- */

static const tn_json *part_of(const tn_json *spec, const char *key)
{
    const tn_json *inside = tn_json_find(spec, "config");
    const tn_json *v = tn_json_find(tn_json_is(inside, TN_JSON_OBJECT) ? inside : spec, key);
    return v && v->kind != TN_JSON_NULL ? v : NULL;
}

static tn_value sliced(imp_node *c, tn_value x, int axis, const tn_json *spec)
{
    int64_t begin = 0, end = INT64_MAX, step = 1, at = axis;
    const tn_json *from = part_of(spec, "start"), *to = part_of(spec, "stop"), *by = part_of(spec, "step");
    if ((by && !keras_whole(by, &step)) || step == 0)
        imp_refuse(c, IMP_BAD_VALUE, "the step of a slice must be an integer that is known");
    begin = step < 0 ? INT64_MAX : 0;
    end = step < 0 ? INT64_MIN : INT64_MAX;
    if ((from && !keras_whole(from, &begin)) || (to && !keras_whole(to, &end)))
        imp_refuse(c, IMP_NOT_CONSTANT, "the ends of a slice must be integers that are known");
    if (c->bad || (!from && !to && step == 1))
        return x;
    tn_slice_attr a = {tn_make_dims(c->g, 1, &begin), tn_make_dims(c->g, 1, &end),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &at)};
    return imp_call1(c, &tn_op_strided_slice, &a, x);
}

static bool is_ellipsis(const tn_json *v)
{
    return tn_json_is_text(tn_json_find(v, "class_name"), "__ellipsis__");
}

static void get_item(imp_node *c)
{
    const tn_json *key = keras_param(c, 1, "key slice_spec"), *one = key;
    tn_value x = keras_in(c, 0);
    uint32_t n = tn_json_is(key, TN_JSON_ARRAY) ? key->n : 1;
    const tn_json *spec = tn_json_is(key, TN_JSON_ARRAY) ? key->u.at : one;
    int axis = 0, used = 0;
    if (!key || n > 2 * IMP_MAX_RANK)
        imp_refuse(c, IMP_NOT_CONSTANT, "what is taken of %s must be known", imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < n && !c->bad; i++)
        used += !is_ellipsis(&spec[i]) && spec[i].kind != TN_JSON_NULL;
    int left = imp_rank(x) - used;
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        int64_t at;
        if (is_ellipsis(&spec[i])) {
            axis += left;
        } else if (spec[i].kind == TN_JSON_NULL) {
            x = imp_unsqueeze(c, x, axis++);
        } else if (axis >= imp_rank(x)) {
            imp_refuse(c, IMP_BAD_VALUE, "more is taken of %s than it has dimensions",
                       imp_type_text(c, imp_type(x)));
        } else if (spec[i].kind == TN_JSON_INT) {
            at = spec[i].u.i;
            x = imp_squeeze(c, imp_slice(c, x, axis, at, at == -1 || at == INT64_MAX ? INT64_MAX : at + 1),
                            axis);
        } else if (spec[i].kind == TN_JSON_OBJECT) {
            x = sliced(c, x, axis++, &spec[i]);
        } else {
            imp_refuse(c, IMP_BAD_VALUE, "an index of a kind that is not supported");
        }
    }
    keras_out(c, x);
}

/* Numbers before and after each dimension: a pair each, a pair for all, or one number. */
static bool read_widths(const tn_json *v, int rank, int64_t width[])
{
    bool many = tn_json_is(keras_at(v, 0), TN_JSON_ARRAY);
    bool ok = v && (v->kind != TN_JSON_ARRAY || (many ? v->n == (uint32_t)rank || v->n == 1 : v->n <= 2));
    for (int i = 0; ok && i < rank; i++) {
        const tn_json *two = many ? &v->u.at[v->n == 1 ? 0 : i] : v;
        bool list = tn_json_is(two, TN_JSON_ARRAY);
        const tn_json *first = list ? keras_at(two, 0) : two,
                      *last = list && two->n > 1 ? keras_at(two, 1) : first;
        ok = first && keras_whole(first, &width[2 * i]) && keras_whole(last, &width[2 * i + 1]) &&
             width[2 * i] >= 0 && width[2 * i + 1] >= 0;
    }
    return ok;
}

static void pad(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    int64_t width[2 * IMP_MAX_RANK];
    const tn_json *v = keras_param(c, 1, "pad_width paddings"), *mode = keras_param(c, 2, "mode");
    bool constant = !mode || tn_json_is_text(mode, "constant") || tn_json_is_text(mode, "CONSTANT"),
         edge = tn_json_is_text(mode, "symmetric") || tn_json_is_text(mode, "SYMMETRIC"),
         mirror = edge || tn_json_is_text(mode, "reflect") || tn_json_is_text(mode, "REFLECT");
    if (c->bad || (!constant && !mirror) || !read_widths(v, imp_rank(x), width)) {
        imp_refuse(c, IMP_BAD_VALUE,
                   "padding must be constant, reflect or symmetric, with integers for each dimension");
        return;
    }
    uint32_t n = 2 * (uint32_t)imp_rank(x);
    tn_pad_attr a = {.pad_width = tn_make_dims(c->g, n, width),
                     .pad_mode = tn_intern(c->g->ctx, "constant"),
                     .pad_value = keras_param_real(c, 3, "constant_values", 0)};
    keras_out(c, mirror ? imp_mirror(c, x, tn_ints_make(c->arena, n, width), edge)
                        : imp_call1(c, &tn_op_nn_pad, &a, x));
}

static void tile(imp_node *c)
{
    int64_t reps[IMP_MAX_RANK];
    int n = keras_param_list(c, 1, "repeats multiples", reps);
    tn_value x = keras_in(c, 0);
    if (n < 0)
        imp_refuse(c, IMP_NOT_CONSTANT, "how often to repeat must be known");
    tn_tile_attr a = {tn_make_dims(c->g, c->bad ? 0 : (uint32_t)n, reps)};
    keras_out(c, imp_call1(c, &tn_op_tile, &a, x));
}

/* Each element as often as a list says. */
static tn_value repeated(imp_node *c, tn_value x, int axis, const tn_json *times)
{
    tn_buf at = {0};
    int64_t n = 0;
    bool ok = tn_is_int(imp_type(x)->dim[axis], &n) && (times->n == 1 || (int64_t)times->n == n);
    for (int64_t i = 0; i < n && ok; i++) {
        int64_t many = -1;
        ok = keras_whole(&times->u.at[times->n == 1 ? 0 : i], &many) && many >= 0 && many < 1 << 20;
        for (int64_t k = 0; k < many && ok; k++)
            tn_buf_add(&at, &i, sizeof i);
        ok = ok && at.n < 1 << 26;
    }
    int64_t count = (int64_t)(at.n / sizeof count);
    if (!ok)
        imp_refuse(c, IMP_BAD_VALUE, "the elements of %s cannot be repeated along axis %d in this way",
                   imp_type_text(c, imp_type(x)), axis);
    void *list = ok ? tn_arena_copy(c->arena, at.n ? at.at : "", at.n, 16) : NULL;
    tn_buf_deinit(&at);
    if (!ok)
        return x;
    tn_value places = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_I64, 1, &count, list, NULL));
    return imp_take(c, x, places, axis);
}

/* Each element several times, one after the other. */
static void repeat(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    x = keras_without_axis(c, x, 2);
    const tn_json *v = keras_param(c, 1, "repeats"),
                  *inside = tn_json_find(tn_json_find(v, "config"), "value");
    v = inside ? inside : v;
    int axis = c->bad ? 0 : imp_axis(c, keras_param_whole(c, 2, "axis", 0), imp_rank(x)), n = imp_rank(x);
    if (tn_json_is(v, TN_JSON_ARRAY) && !c->bad) {
        keras_out(c, repeated(c, x, axis, v));
        return;
    }
    int64_t times = keras_param_whole(c, 1, "repeats", 1);
    if (times < 0 || n >= IMP_MAX_RANK)
        imp_refuse(c, IMP_BAD_VALUE, "the elements of %s cannot be repeated %lld times",
                   imp_type_text(c, imp_type(x)), (long long)times);
    if (c->bad)
        return;
    const tn_expr *dim[IMP_MAX_RANK + 1], *to[IMP_MAX_RANK];
    for (int i = 0, k = 0; i < n; i++) {
        dim[k++] = to[i] = imp_type(x)->dim[i];
        if (i == axis) {
            dim[k++] = tn_idx(c->pool, times);
            to[i] = imp_simplify(c, tn_mul(c->pool, to[i], tn_idx(c->pool, times)));
        }
    }
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)n + 1, dim)};
    keras_out(c, imp_reshape(c, imp_call1(c, &tn_op_broadcast_to, &a, imp_unsqueeze(c, x, axis + 1)), n, to));
}

/* Along all axes where keras.ops is given none. */
static void flip(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = keras_param_list(c, 1, "axis", axis), all = imp_rank(x);
    for (int i = 0; i < (n < 0 ? all : n) && !c->bad; i++)
        x = imp_flip(c, x, n < 0 ? i : imp_axis(c, axis[i], all));
    keras_out(c, x);
}

/* ---- parts and joints of keras.ops ---- */

static void append(imp_node *c)
{
    tn_value v[2] = {keras_any_operand(c, 0, "x1"), (tn_value){0}};
    v[1] = keras_any_operand(c, 1, "x2");
    bool flat = !keras_param(c, 2, "axis");
    keras_promote(c, 2, v);
    for (int i = 0; i < 2 && flat && !c->bad; i++)
        v[i] = imp_flat(c, v[i]);
    int axis = flat ? 0 : keras_param_axis(c, 2, "axis", 0, imp_rank(v[0]));
    if (!c->bad)
        keras_out(c, imp_concat(c, 2, v, axis));
}

/* So many elements of each dimension, from constant positions on; -1: all that follow. */
static void slice_part(imp_node *c)
{
    int64_t from[IMP_MAX_RANK], size[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = keras_param_list(c, 1, "start_indices", from), m = keras_param_list(c, 2, "shape", size);
    if (n != imp_rank(x) || m != n)
        imp_refuse(c, IMP_NOT_CONSTANT, "the start and the shape of a slice of %s must be known",
                   imp_type_text(c, imp_type(x)));
    for (int i = 0; i < n && !c->bad; i++)
        if (from[i] < INT32_MIN || from[i] > INT32_MAX || size[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "a slice begins at %lld and has %lld elements", (long long)from[i],
                       (long long)size[i]);
        else
            x = imp_slice(c, x, i, from[i], size[i] < 0 ? INT64_MAX : from[i] + size[i]);
    keras_out(c, x);
}

/* The differences of neighbours, n times. */
static void differences(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    int64_t n = keras_param_whole(c, 1, "n", 1);
    int axis = keras_param_axis(c, 2, "axis", -1, imp_rank(x));
    bool truths = !c->bad && tn_dtype_is_bool(imp_type(x)->dtype);
    if (n < 0 || n > 64 || truths)
        imp_refuse(c, IMP_BAD_VALUE, "%lld differences of %s are not supported", (long long)n,
                   imp_type_text(c, imp_type(x)));
    for (int64_t i = 0; i < n && !c->bad; i++) {
        tn_value next = imp_slice(c, x, axis, 1, INT64_MAX), own = imp_slice(c, x, axis, 0, -1);
        x = imp_binary(c, &tn_op_subtract, next, own);
    }
    keras_out(c, x);
}

/* The k-th diagonal of two dimensions as the last one; the sum of it. */
static void diagonal(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    int n = imp_rank(x), a = keras_param_axis(c, 2, "axis1", 0, n), b = keras_param_axis(c, 3, "axis2", 1, n);
    int64_t k = keras_param_whole(c, 1, "offset", 0), perm[IMP_MAX_RANK], last = n - 2;
    bool trace = strcmp(c->row->op, "Trace") == 0;
    for (int i = 0, at = 0; i < n; i++)
        if (i != a && i != b)
            perm[at++] = i;
    if (n < 2 || a == b)
        imp_refuse(c, IMP_BAD_VALUE, "a diagonal needs two dimensions");
    if (c->bad)
        return;
    perm[n - 2] = a;
    perm[n - 1] = b;
    tn_value y = imp_diagonal(c, imp_transpose(c, trace ? keras_as_number(c, x) : x, n, perm), k);
    keras_out(c, trace ? keras_reduce(c, &tn_op_sum, y, 1, &last, false) : y);
}

#define F(name, convert, relay) LAYER(name, convert, relay, NULL, KERAS_OPERATION, NULL)
// clang-format off
const keras_row keras_rows_form[] = {
    F("Reshape",                    reshape,            NULL),
    F("reshape",                    reshape,            NULL),
    F("Transpose",                  transpose,          NULL),
    F("transpose",                  transpose,          NULL),
    F("ExpandDims",                 expand_dims,        NULL),
    F("expand_dims",                expand_dims,        NULL),
    F("Squeeze",                    squeeze,            NULL),
    F("squeeze",                    squeeze,            NULL),
    F("Concatenate",                concatenate,        NULL),
    F("concat",                     concatenate,        NULL),
    F("Stack",                      stack,              NULL),
    F("stack",                      stack,              NULL),
    F("Split",                      split,              NULL),
    F("split",                      split,              NULL),
    F("GetItem",                    get_item,           NULL),
    F("__operators__.getitem",      get_item,           NULL),
    F("Pad",                        pad,                NULL),
    F("pad",                        pad,                NULL),
    F("Tile",                       tile,               NULL),
    F("tile",                       tile,               NULL),
    F("Repeat",                     repeat,             NULL),
    F("repeat",                     repeat,             NULL),
    F("Flip",                       flip,               NULL),
    F("reverse",                    flip,               NULL),
    F("Append",                     append,             NULL),
    F("Slice",                      slice_part,         NULL),
    F("Diff",                       differences,        NULL),
    F("Diagonal",                   diagonal,           NULL),
    F("Trace",                      diagonal,           NULL),
    END_OF_ROWS,
};
// clang-format on
