/* Tensors made from nothing; conversions of types. */
#include "frontend/pytorch/ops.h"

#include <string.h>

static const char *schema(imp_node *c) { return pt_of(c)->row->schema; }

static double value_of(const char *name)
{
    return strncmp(name, "ones", 4) == 0 || strncmp(name, "new_ones", 8) == 0 ? 1 : 0;
}

/* zeros, ones, empty: (size, dtype) */
static void filled(imp_node *c)
{
    tn_dtype t = TN_F32;
    (void)pt_dtype(c, 1, &t);
    tn_dims first = pt_dims(c, 0);
    pt_out(c, pt_full(c, first, imp_const(c, t, value_of(schema(c)))));
}

static tn_dtype of_number(pt_value v)
{
    enum pt_kind k = v.kind == PT_NUMBER ? v.number->kind : v.kind;
    return k == PT_FLOAT ? TN_F32 : k == PT_BOOL ? TN_BOOL1 : TN_I64;
}

static void full(imp_node *c)
{
    pt_value v = pt_arg(c, 1);
    tn_dtype t = v.kind == PT_TENSOR ? imp_type(pt_in(c, 1))->dtype : of_number(v);
    (void)pt_dtype(c, 2, &t);
    tn_dims first = pt_dims(c, 0);
    pt_out(c, pt_full(c, first, pt_as(c, v, t)));
}

/* new_zeros(self, size, dtype), new_full(self, size, value, dtype) */
static void filled_new(imp_node *c)
{
    bool given = strncmp(schema(c), "new_full", 8) == 0;
    tn_dtype t = imp_type(pt_in(c, 0))->dtype;
    (void)pt_dtype(c, given ? 3 : 2, &t);
    tn_dims first = pt_dims(c, 1);
    pt_out(c, pt_full(c, first, given ? pt_as(c, pt_arg(c, 2), t) : imp_const(c, t, value_of(schema(c)))));
}

/* zeros_like(self, dtype), full_like(self, value, dtype) */
static void filled_like(imp_node *c)
{
    bool given = strncmp(schema(c), "full_like", 9) == 0;
    tn_value x = pt_in(c, 0);
    tn_dtype t = imp_type(x)->dtype;
    (void)pt_dtype(c, given ? 2 : 1, &t);
    pt_out(c, pt_full(c, pt_shape(c, x),
                      given ? pt_as(c, pt_arg(c, 1), t) : imp_const(c, t, value_of(schema(c)))));
}

static void fill(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    pt_out(c, pt_full(c, pt_shape(c, x), pt_as(c, pt_arg(c, 1), imp_type(x)->dtype)));
}

static void zero(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    pt_out(c, pt_full(c, pt_shape(c, x), pt_num(c, x, 0)));
}

static void copy(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    pt_out(c, pt_expand(c, imp_cast(c, pt_in(c, 1), imp_type(x)->dtype), pt_shape(c, x)));
}

/* ceil((to - from) / step) */
static pt_value steps_between(pt_import *p, pt_value from, pt_value to, pt_value step)
{
    pt_value way = pt_binary(p, "sub", to, from), back;
    bool known = way.kind != PT_NUMBER && step.kind != PT_NUMBER;
    if (known && (way.kind == PT_FLOAT || step.kind == PT_FLOAT)) {
        double a = way.kind == PT_FLOAT ? way.f : (double)way.i,
               b = step.kind == PT_FLOAT ? step.f : (double)step.i;
        double k = b != 0 ? a / b : 0;
        return pt_int((int64_t)k + ((double)(int64_t)k < k));
    }
    if (tn_dtype_is_float(of_number(way)) || tn_dtype_is_float(of_number(step))) {
        pt_value k = pt_binary(p, "div", way, step);
        return pt_call_named(p, "ceil", 1, &k);
    }
    back = pt_binary(p, "sub", from, to);
    if (step.kind == PT_NUMBER) /* of either sign */
        return pt_binary(p, "sub", pt_int(0), pt_binary(p, "floordiv", back, step));
    if (step.kind == PT_INT && step.i < 0)
        return pt_binary(p, "floordiv", pt_binary(p, "add", back, pt_int(-step.i - 1)), pt_int(-step.i));
    return pt_binary(p, "floordiv", pt_binary(p, "add", way, pt_binary(p, "sub", step, pt_int(1))), step);
}

/* arange(start, end, step, dtype) */
static void arange(imp_node *c)
{
    const char *s = schema(c);
    bool has_start = strstr(s, "start") != NULL, has_step = strstr(s, "step") != NULL;
    pt_value from = has_start ? pt_arg(c, 0) : pt_int(0), to = pt_arg(c, has_start ? 1 : 0);
    pt_value step = has_step ? pt_arg(c, 2) : pt_int(1);
    pt_value three[3] = {from, to, step};
    tn_dtype t = TN_I64;
    for (int i = 0; i < 3; i++)
        if (tn_dtype_is_float(of_number(three[i])))
            t = TN_F32;
    (void)pt_dtype(c, 1 + has_start + has_step, &t);
    pt_import *p = pt_of(c)->p;
    pt_value n = steps_between(p, from, to, step);
    n = p->stop ? pt_bad() : pt_binary(p, "prim::max", n, pt_int(0));
    if (p->stop || pt_is_bad(n)) {
        c->bad = true;
        return;
    }
    const tn_expr *count = pt_extent(c, n);
    tn_arange_attr a = {tn_dims_make(c->arena, 1, &count)};
    tn_dtype in = tn_dtype_is_float(t) ? TN_F64 : TN_I64; /* integers are stepped by integers */
    tn_value first = pt_as(c, from, in);
    pt_out(c, imp_cast(c, imp_call2(c, &tn_op_arange, &a, first, pt_as(c, step, in)), t));
}

static void linspace(imp_node *c)
{
    double from = pt_real(c, 0), to = pt_real(c, 1);
    int64_t n = pt_integer(c, 2);
    bool log = strncmp(schema(c), "logspace", 8) == 0;
    tn_dtype t = TN_F32;
    (void)pt_dtype(c, log ? 4 : 3, &t);
    if (n < 0 || n > 1 << 24)
        imp_refuse(c, IMP_BAD_VALUE, "%lld steps are not supported, but 0 to %d", (long long)n, 1 << 24);
    if (c->bad)
        return;
    const tn_expr *count = tn_idx(c->pool, n);
    tn_arange_attr a = {tn_dims_make(c->arena, 1, &count)};
    double step = n > 1 ? (to - from) / (double)(n - 1) : 0;
    tn_value first = imp_const(c, TN_F64, from);
    tn_value v = imp_call2(c, &tn_op_arange, &a, first, imp_const(c, TN_F64, step));
    if (log)
        v = imp_binary(c, &tn_op_power, imp_const(c, TN_F64, pt_real(c, 3)), v);
    pt_out(c, imp_cast(c, v, t));
}

static void eye(imp_node *c)
{
    bool two = strstr(schema(c), "int m") != NULL;
    const tn_expr *dim[2] = {pt_extent(c, pt_arg(c, 0)), pt_extent(c, pt_arg(c, two ? 1 : 0))};
    tn_dtype t = TN_F32;
    (void)pt_dtype(c, two ? 2 : 1, &t);
    tn_eye_attr a = {tn_dims_make(c->arena, 2, dim), 0, t};
    pt_out(c, imp_call(c, &tn_op_eye, &a, 0, NULL));
}

/* ---- types ---- */

static tn_value to_type(imp_node *c, tn_value x, tn_dtype t)
{
    if (tn_dtype_is_bool(t) && !tn_dtype_is_bool(imp_type(x)->dtype))
        return imp_binary(c, &tn_op_not_equal, x, pt_num(c, x, 0));
    return imp_cast(c, x, t);
}

/* The tensor itself where it is of that type already. */
static void give_type(imp_node *c, tn_value x, tn_dtype t)
{
    pt_value v = pt_arg(c, 0);
    bool stays = v.kind == PT_TENSOR && tn_dtype_eq(imp_type(x)->dtype, t);
    if (stays && v.tensor->constant) /* which another tensor is not */
        pt_out_value(c, pt_call_named(pt_of(c)->p, "detach", 1, &v));
    else if (stays)
        pt_out_value(c, v);
    else
        pt_out(c, to_type(c, x, t));
}

static bool is_true(pt_value v) { return v.kind == PT_BOOL && v.b; }

/* The dtype among arguments that may also be a device. */
static void to(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_dtype t = imp_type(x)->dtype;
    for (int i = 1; i < 3; i++)
        if (pt_arg(c, i).kind == PT_TENSOR) {
            t = imp_type(pt_in(c, i))->dtype;
            break;
        } else if (pt_arg(c, i).kind == PT_INT) {
            (void)pt_dtype(c, i, &t);
            break;
        }
    enum pt_kind first = pt_arg(c, 1).kind; /* a device has a dtype behind it */
    if (is_true(pt_arg(c, 4)) || ((first == PT_INT || first == PT_TENSOR) && is_true(pt_arg(c, 3))))
        pt_out(c, to_type(c, x, t));
    else
        give_type(c, x, t);
}

static void type_as(imp_node *c)
{
    tn_value first = pt_in(c, 0);
    give_type(c, first, imp_type(pt_in(c, 1))->dtype);
}

static void to_copy(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_dtype t = imp_type(x)->dtype;
    (void)pt_dtype(c, 1, &t);
    pt_out(c, to_type(c, x, t));
}

static void named_type(imp_node *c)
{
    static const struct {
        const char *name;
        tn_dtype t;
    } rows[] = {{"float(", {TN_FLOAT, 32, 1}},       {"double(", {TN_FLOAT, 64, 1}},
                {"half(", {TN_FLOAT, 16, 1}},        {"bfloat16(", {TN_BFLOAT, 16, 1}},
                {"int(", {TN_INT, 32, 1}},           {"long(", {TN_INT, 64, 1}},
                {"short(", {TN_INT, 16, 1}},         {"char(", {TN_INT, 8, 1}},
                {"byte(", {TN_UINT, 8, 1}},          {"bool(", {TN_BOOL, 8, 1}},
                {"_cast_Float(", {TN_FLOAT, 32, 1}}, {"_cast_Long(", {TN_INT, 64, 1}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strncmp(schema(c), rows[i].name, strlen(rows[i].name)) == 0)
            pt_out(c, to_type(c, pt_in(c, 0), rows[i].t));
}

/* tensor(data, dtype): numbers in lists */
static bool gather(imp_node *c, pt_value v, int depth, int64_t dim[], int *rank, tn_value **at, size_t *n)
{
    if (!pt_is_sequence(v)) {
        if (depth > *rank)
            *rank = depth;
        (*at)[(*n)++] = pt_as_tensor(c, v);
        return depth == *rank;
    }
    if (depth >= IMP_MAX_RANK || (dim[depth] >= 0 && dim[depth] != (int64_t)v.list->n))
        return false;
    dim[depth] = (int64_t)v.list->n;
    if (!v.list->n && depth + 1 > *rank)
        *rank = depth + 1;
    for (size_t i = 0; i < v.list->n && *n < 4096; i++)
        if (!gather(c, pt_at(v, i), depth + 1, dim, rank, at, n))
            return false;
    return true;
}

static pt_value leaf(pt_value v)
{
    while (pt_is_sequence(v) && v.list->n)
        v = pt_at(v, 0);
    return v;
}

static void of_late_list(imp_node *c)
{
    pt_value v = pt_late_tensor(pt_of(c)->p, pt_arg(c, 0));
    tn_dtype t;
    c->bad = c->bad || pt_is_bad(v);
    tn_value x = pt_as_tensor(c, v);
    pt_out(c, pt_dtype(c, 1, &t) ? imp_cast(c, x, t) : x);
}

static void shape_as_tensor(imp_node *c) { pt_out(c, imp_shape_of(c, pt_in(c, 0))); }

static void tensor(imp_node *c)
{
    if (pt_arg(c, 0).kind == PT_LATE_LIST) {
        of_late_list(c);
        return;
    }
    int64_t dim[IMP_MAX_RANK];
    int rank = 0;
    size_t n = 0;
    tn_value *at = TN_NEW_N(c->arena, tn_value, 4097);
    pt_value first = leaf(pt_arg(c, 0));
    for (int i = 0; i < IMP_MAX_RANK; i++)
        dim[i] = -1;
    if (first.kind == PT_TENSOR) {
        pt_value keep = pt_arg(c, 0);
        if (!pt_is_sequence(keep)) {
            to_copy(c);
            return;
        }
    }
    if (!gather(c, pt_arg(c, 0), 0, dim, &rank, &at, &n) || n >= 4096) {
        imp_refuse(c, IMP_BAD_VALUE, "a list of numbers is not a tensor, or has more than 4096 elements");
        return;
    }
    tn_dtype t = n && first.kind == PT_TENSOR ? imp_type(at[0])->dtype
                 : pt_is_sequence(first)      ? TN_F32
                                              : of_number(first);
    (void)pt_dtype(c, 1, &t);
    const tn_expr *to[IMP_MAX_RANK];
    for (int d = 0; d < rank; d++)
        to[d] = tn_idx(c->pool, dim[d] < 0 ? 0 : dim[d]);
    if (!rank) {
        pt_out(c, pt_as(c, first, t));
        return;
    }
    if (!n) {
        pt_out(c, pt_expand(c, imp_const(c, t, 0), tn_dims_make(c->arena, (uint32_t)rank, to)));
        return;
    }
    for (size_t i = 0; i < n; i++)
        at[i] = imp_unsqueeze(c, imp_cast(c, imp_rank(at[i]) ? imp_reshape(c, at[i], 0, NULL) : at[i], t), 0);
    pt_out(c, imp_reshape(c, imp_concat(c, (uint32_t)n, at, 0), rank, to));
}

static void result_type(imp_node *c)
{
    pt_value v[2] = {pt_arg(c, 0), pt_arg(c, 1)};
    pt_out_value(c, pt_int(pt_code_of(pt_result_type(c, 2, v))));
}

#define LIKE(name, flags) {name "_like(Tensor self, *, ScalarType? dtype=None)", filled_like, NULL, flags}
#define NEW(name, flags) \
    {"new_" name "(Tensor self, int[] size, *, ScalarType? dtype=None)", filled_new, NULL, flags}
#define TYPE(name) {name "(Tensor self, any non_blocking=None)", named_type, NULL, 0}
const pt_row pt_rows_make[] = {
    {"zeros(int[] size, *, ScalarType? dtype=None)", filled, NULL, 0},
    {"ones(int[] size, *, ScalarType? dtype=None)", filled, NULL, 0},
    {"empty(int[] size, *, ScalarType? dtype=None)", filled, NULL, 0},
    {"empty_permuted(int[] size, any physical_layout, *, any dtype=None)", filled, NULL, 0},
    {"full(int[] size, Tensor fill_value, *, ScalarType? dtype=None)", full, NULL, 0},
    LIKE("zeros", PT_PARTS),
    LIKE("ones", 0),
    LIKE("empty", PT_PARTS),
    {"full_like(Tensor self, Tensor fill_value, *, ScalarType? dtype=None)", filled_like, NULL, PT_SUM},
    NEW("zeros", PT_PARTS),
    NEW("ones", 0),
    NEW("empty", PT_PARTS),
    {"new_full(Tensor self, int[] size, Tensor fill_value, *, ScalarType? dtype=None)", filled_new, NULL,
     PT_SUM},
    {"fill(Tensor self, Tensor value)", fill, NULL, PT_SUM},
    {"zero(Tensor self)", zero, NULL, PT_PARTS},
    {"copy(Tensor self, Tensor src, any non_blocking=None)", copy, NULL, PT_SUM},
    {"arange(Scalar end, *, ScalarType? dtype=None)", arange, NULL, 0},
    {"arange(Scalar start, Scalar end, *, ScalarType? dtype=None)", arange, NULL, 0},
    {"arange(Scalar start, Scalar end, Scalar step, *, ScalarType? dtype=None)", arange, NULL, 0},
    {"linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None)", linspace, NULL, 0},
    {"logspace(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None)", linspace,
     NULL, 0},
    {"eye(int n, *, ScalarType? dtype=None)", eye, NULL, 0},
    {"eye(int n, int m, *, ScalarType? dtype=None)", eye, NULL, 0},
    {"to(Tensor self, any other, any dtype=None, any non_blocking=None, any copy=None, any "
     "memory_format=None)",
     to, NULL, PT_PARTS},
    {"to(Tensor self, *, any dtype=None, any non_blocking=None, any copy=None, any memory_format=None)", to,
     NULL, PT_PARTS},
    {"_to_copy(Tensor self, *, ScalarType? dtype=None)", to_copy, NULL, PT_PARTS},
    {"type_as(Tensor self, Tensor other)", type_as, NULL, 0},
    {"prim::convert_element_type(Tensor self, ScalarType? dtype)", to_copy, NULL, PT_PARTS},
    TYPE("float"),
    TYPE("double"),
    TYPE("half"),
    TYPE("bfloat16"),
    TYPE("int"),
    TYPE("long"),
    TYPE("short"),
    TYPE("char"),
    TYPE("byte"),
    TYPE("bool"),
    TYPE("_cast_Float"),
    TYPE("_cast_Long"),
    {"tensor(any data, *, ScalarType? dtype=None, any requires_grad=None)", tensor, NULL, 0},
    {"as_tensor(any data, ScalarType? dtype=None)", tensor, NULL, 0},
    {"_shape_as_tensor(Tensor self)", shape_as_tensor, NULL, 0},
    {"scalar_tensor(any s, *, ScalarType? dtype=None)", tensor, NULL, 0},
    {"result_type(Tensor tensor, Tensor other)", result_type, NULL, 0},
    {0},
};
