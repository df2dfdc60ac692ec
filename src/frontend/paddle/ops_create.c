/* Values that come from attributes: fills, constants, ranges. */
#include "frontend/paddle/paddle.h"

#include "ir/eval.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- fills ---- */

static void fill_constant(imp_node *c)
{
    tn_dtype t = pd_dtype(c, "dtype", TN_F32);
    const char *text = imp_attr_string(c, "str_value", "");
    double value = imp_attr_float(c, "value", 0);
    tn_dims shape = pd_extents(c, "ShapeTensor", "ShapeTensorList", "shape");
    tn_value v;
    if (pd_count(c, "ValueTensor")) {
        v = pd_scalar_in(c, "ValueTensor", NULL, 0, t);
    } else if (*text && tn_dtype_is_int(t)) { /* which floats cannot tell */
        int64_t whole = strtoll(text, NULL, 10);
        v = imp_const_ints(c, t, 0, 1, &whole);
    } else {
        v = imp_const(c, t, *text ? strtod(text, NULL) : value);
    }
    pd_out(c, "Out", pd_full(c, v, shape));
}

static void fill_like(imp_node *c)
{
    bool zeros = strcmp(c->row->op, "fill_zeros_like") == 0;
    tn_value x = pd_in(c, "X");
    const tn_type *t = imp_type(x);
    tn_dtype to = pd_dtype(c, "dtype", t->dtype);
    tn_value v = zeros ? imp_const(c, to, 0) : pd_scalar_in(c, "ValueTensor", "value", 0, to);
    pd_out(c, "Out", pd_full(c, v, tn_dims_make(c->arena, (uint32_t)t->n, t->dim)));
}

/* One extent is that of the operand. */
static void fill_batch(imp_node *c)
{
    tn_value x = pd_in(c, "Input");
    tn_dtype t = pd_dtype(c, "dtype", TN_F32);
    tn_dims d = pd_extents(c, NULL, NULL, "shape");
    double value = imp_attr_float(c, "value", 0);
    const char *text = imp_attr_string(c, "str_value", "");
    int64_t from = imp_attr_int(c, "input_dim_idx", 0), to = imp_attr_int(c, "output_dim_idx", 0);
    const tn_expr *dim[IMP_MAX_RANK];
    if (!c->bad && (d.n > IMP_MAX_RANK || from < 0 || from >= imp_rank(x) || to < 0 || to >= d.n))
        imp_refuse(c, IMP_BAD_VALUE, "dimension %lld of the result cannot be that of the operand",
                   (long long)to);
    for (uint32_t i = 0; i < d.n && !c->bad; i++)
        dim[i] = i == to ? imp_type(x)->dim[from] : d.at[i];
    tn_value v = imp_const(c, t, *text ? strtod(text, NULL) : value);
    pd_out(c, "Out", pd_full(c, v, tn_dims_make(c->arena, c->bad ? 0 : d.n, dim)));
}

/* ---- constants ---- */

static const struct {
    const char *name;
    tn_dtype dtype;
} lists[] = {{"bool_values", {TN_BOOL, 8, 1}},
             {"int32_values", {TN_INT, 32, 1}},
             {"int64_values", {TN_INT, 64, 1}},
             {"fp32_values", {TN_FLOAT, 32, 1}}};

/* The attribute that holds the elements: one for each type in older programs. */
static const pd_attr *elements(imp_node *c)
{
    const pd_attr *found = pd_find_attr(pd_op_of(c), "values");
    imp_attr_ignore(c, "values");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const pd_attr *a = pd_find_attr(pd_op_of(c), lists[i].name);
        imp_attr_ignore(c, lists[i].name);
        if (a && a->bools.n + a->ints.n + a->longs.n + a->floats.n)
            found = a;
    }
    return found;
}

static size_t n_elements(const pd_attr *a)
{
    return a->scalars.n + a->ints.n + a->longs.n + a->floats.n + a->bools.n + a->float64s.n;
}

static tn_scalar element(const pd_attr *a, size_t i, bool real)
{
    if (a->scalars.n) {
        const pd_scalar *s = (const pd_scalar *)a->scalars.at + i;
        if (real)
            return (tn_scalar){.f = s->type == 3 ? s->r : s->type == 1 ? (double)s->b : (double)s->i};
        return (tn_scalar){.i = s->type == 3   ? (int64_t)(fabs(s->r) < 9e18 ? s->r : 0)
                                : s->type == 1 ? s->b
                                               : s->i};
    }
    if (a->floats.n || a->float64s.n) {
        double f =
            a->floats.n ? (double)((const float *)a->floats.at)[i] : ((const double *)a->float64s.at)[i];
        return real ? (tn_scalar){.f = f} : (tn_scalar){.i = (int64_t)(fabs(f) < 9e18 ? f : 0)};
    }
    const tn_pb_array *list = a->ints.n ? &a->ints : a->longs.n ? &a->longs : &a->bools;
    int64_t v = ((const int64_t *)list->at)[i];
    return real ? (tn_scalar){.f = (double)v} : (tn_scalar){.i = v};
}

static tn_value constant(imp_node *c, tn_ints shape)
{
    const pd_attr *a = elements(c);
    tn_dtype t = pd_dtype(c, "dtype", TN_F32);
    size_t count, bytes;
    if (!c->bad && !imp_measure(c->im, c->loc->node, shape.n, shape.at, t, c->loc, &count, &bytes))
        c->bad = true;
    if (!c->bad && (!a || n_elements(a) != count))
        imp_refuse(c, IMP_BAD_VALUE, "it has %zu values, but its shape needs %zu; the model is damaged",
                   a ? n_elements(a) : 0, count);
    if (c->bad)
        return (tn_value){0};
    void *at;
    const tn_blob *b = tn_graph_blob(c->g, bytes, &at);
    for (size_t i = 0; i < count; i++)
        tn_scalar_write(t, (char *)at + i * tn_dtype_bytes(t), element(a, i, tn_dtype_is_float(t)));
    return tn_val(imp_constant(c->im, t, shape.n, shape.at, b, c->loc->node));
}

static void assign_value(imp_node *c) { pd_out(c, "Out", constant(c, pd_ints(c, NULL, NULL, "shape"))); }

/* A list in JSON. */
static void full_int_array(imp_node *c)
{
    tn_ints v = pd_ints(c, NULL, NULL, "value");
    tn_dtype t = pd_dtype(c, "dtype", TN_I64);
    pd_out(c, "Out", imp_const_ints(c, t, 1, v.n, v.at));
}

/* ---- ranges and patterns ---- */

static void range(imp_node *c)
{
    static const char *const names[] = {"Start", "End", "Step"};
    tn_value in[3];
    tn_dtype t = pd_dtype(c, "dtype", imp_type(pd_in(c, "Start"))->dtype);
    for (int i = 0; i < 3; i++) {
        (void)pd_in(c, names[i]);
        in[i] = pd_scalar_in(c, names[i], NULL, 0, t);
    }
    pd_out(c, "Out", imp_range(c, in));
}

static void linspace(imp_node *c)
{
    tn_dtype t = pd_dtype(c, "dtype", TN_F32), wide = t.bits == 64 ? TN_F64 : TN_F32;
    int64_t n = pd_int(c, "Num", NULL, 0);
    (void)pd_in(c, "Start");
    tn_value from = pd_scalar_in(c, "Start", NULL, 0, wide), to = pd_scalar_in(c, "Stop", NULL, 0, wide);
    const tn_expr *count = tn_idx(c->pool, n > 0 ? n : 0);
    tn_arange_attr a = {tn_dims_make(c->arena, 1, &count)};
    tn_value step =
        imp_with(c, &tn_op_divide, imp_binary(c, &tn_op_subtract, to, from), n > 1 ? (double)n - 1 : 1);
    pd_out(c, "Out", imp_cast(c, imp_call2(c, &tn_op_arange, &a, from, step), t));
}

static void eye(imp_node *c)
{
    int64_t n[2] = {pd_int(c, "Rows", "num_rows", 0), pd_int(c, "Columns", "num_columns", -1)};
    n[1] = n[1] < 0 ? n[0] : n[1];
    if (!c->bad && (n[0] < 0 || n[0] > INT32_MAX || n[1] > INT32_MAX))
        imp_refuse(c, IMP_BAD_VALUE, "a matrix of %lld rows and %lld columns", (long long)n[0],
                   (long long)n[1]);
    tn_eye_attr a = {tn_make_dims(c->g, 2, n), 0, pd_dtype(c, "dtype", TN_F32)};
    pd_out(c, "Out", imp_call(c, &tn_op_eye, &a, 0, NULL));
}

// clang-format off
const imp_row pd_rows_create[] = {
    {"assign_value",                  1, 0, -1, -1, assign_value,   NULL},
    {"eye",                           1, 0, -1, -1, eye,            NULL},
    {"fill_any_like",                 1, 0, -1, -1, fill_like,      NULL},
    {"fill_constant",                 1, 0, -1, -1, fill_constant,  NULL},
    {"fill_constant_batch_size_like", 1, 0, -1, -1, fill_batch,     NULL},
    {"fill_zeros_like",               1, 0, -1, -1, fill_like,      NULL},
    {"full_int_array",                1, 0, -1, -1, full_int_array, NULL},
    {"linspace",                      1, 0, -1, -1, linspace,       NULL},
    {"range",                         1, 0, -1, -1, range,          NULL},
    {"range_v2",                      1, 0, -1, -1, range,          NULL},
    {0},
};
// clang-format on
