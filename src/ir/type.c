/* Types of graph values. Nesting is walked with explicit stacks: tuples may be deep. */
#include "ir/type.h"

#include "base/size.h"
#include "base/vec.h"

#include <string.h>

static tn_type *new_type(tn_pool *p, enum tn_type_kind kind, int n)
{
    TN_ASSERT(n >= 0 && n <= UINT16_MAX);
    tn_type *t = TN_NEW(p->arena, tn_type);
    t->kind = (uint8_t)kind;
    t->n = (uint16_t)n;
    return t;
}

const tn_type *tn_type_tensor(tn_pool *p, tn_dtype t, int ndim, const tn_expr *const dim[],
                              const tn_layout *layout)
{
    tn_type *r = new_type(p, TN_T_TENSOR, ndim);
    TN_ASSERT(!layout || layout->ndim == ndim);
    for (int i = 0; i < ndim; i++)
        TN_ASSERT(tn_dtype_eq(dim[i]->dtype, TN_IDX));
    r->dtype = t;
    r->layout = layout;
    r->dim = tn_arena_copy(p->arena, dim, (size_t)ndim * sizeof *dim, _Alignof(tn_expr *));
    return r;
}

const tn_type *tn_type_tensor_i(tn_pool *p, tn_dtype t, int ndim, const int64_t dim[])
{
    tn_type *r = new_type(p, TN_T_TENSOR, ndim);
    const tn_expr **e = TN_NEW_N(p->arena, const tn_expr *, (size_t)ndim);
    for (int i = 0; i < ndim; i++)
        e[i] = tn_idx(p, dim[i]);
    r->dtype = t;
    r->dim = e;
    return r;
}

static const tn_type *of_fields(tn_pool *p, enum tn_type_kind kind, int n, const tn_type *const field[])
{
    tn_type *r = new_type(p, kind, n);
    r->field =
        tn_arena_copy(p->arena, n ? (const void *)field : "", (size_t)n * sizeof *field, _Alignof(tn_type *));
    return r;
}

const tn_type *tn_type_tuple(tn_pool *p, int n, const tn_type *const field[])
{
    return of_fields(p, TN_T_TUPLE, n, field);
}

const tn_type *tn_type_func(tn_pool *p, int n_param, const tn_type *const param[], const tn_type *result)
{
    tn_type *r = new_type(p, TN_T_FUNC, n_param + 1);
    const tn_type **field = TN_NEW_N(p->arena, const tn_type *, (size_t)n_param + 1);
    for (int i = 0; i < n_param; i++)
        field[i] = param[i];
    field[n_param] = result;
    r->field = field;
    return r;
}

const tn_type *tn_type_ref(tn_pool *p, const tn_type *to) { return of_fields(p, TN_T_REF, 1, &to); }

const tn_type *tn_type_any(tn_pool *p, tn_dtype t)
{
    tn_type *r = new_type(p, TN_T_ANY, 0);
    r->dtype = t;
    return r;
}

const tn_type *tn_type_seq(tn_pool *p, const tn_type *of) { return of_fields(p, TN_T_SEQ, of != NULL, &of); }

const tn_type *tn_type_optional(tn_pool *p, const tn_type *of)
{
    return of_fields(p, TN_T_OPTIONAL, of != NULL, &of);
}

const tn_type *tn_type_map(tn_pool *p, const tn_type *key, const tn_type *value)
{
    return of_fields(p, TN_T_MAP, 2, (const tn_type *[]){key, value});
}

const tn_type *tn_type_with(tn_pool *p, const tn_type *t, const tn_type *const field[])
{
    TN_ASSERT(t->kind != TN_T_TENSOR && t->kind != TN_T_ANY);
    tn_type *r = TN_NEW(p->arena, tn_type);
    *r = *t;
    r->field =
        tn_arena_copy(p->arena, t->n ? (const void *)field : "", t->n * sizeof *field, _Alignof(tn_type *));
    return r;
}

const tn_type *tn_type_data(tn_pool *p, const tn_data *data, const tn_type *const param[])
{
    tn_type *r = new_type(p, TN_T_DATA, (int)data->n_param);
    r->data = data;
    return tn_type_with(p, r, param);
}

const tn_type *tn_type_param(tn_pool *p, int index)
{
    tn_type *r = new_type(p, TN_T_PARAM, 0);
    r->index = (uint16_t)index;
    return r;
}

const tn_type *tn_type_none(tn_pool *p) { return new_type(p, TN_T_NONE, 0); }

/* Depth: that of types, bounded by the readers. */
const tn_type *tn_type_filled(tn_pool *p, const tn_type *t, const tn_type *const param[])
{
    if (t->kind == TN_T_PARAM)
        return param[t->index];
    if (t->kind == TN_T_TENSOR || !t->n)
        return t;
    const tn_type **field = TN_NEW_N(p->arena, const tn_type *, t->n);
    for (int i = 0; i < t->n; i++)
        field[i] = tn_type_filled(p, t->field[i], param);
    return tn_type_with(p, t, field);
}

/* Depth: that of types, bounded by the readers. */
bool tn_type_widen(tn_pool *p, const tn_type *open, const tn_type *t, const tn_type *param[])
{
    if (open->kind == TN_T_PARAM) {
        const tn_type *both = tn_type_join(p, param[open->index], tn_type_unbound(p, t));
        param[open->index] = both ? both : param[open->index];
        return both;
    }
    if (open->kind != t->kind || open->kind == TN_T_TENSOR || open->n != t->n || open->data != t->data)
        return true; /* whether it fits is seen later */
    bool fits = true;
    for (int i = 0; i < t->n && fits; i++)
        fits = tn_type_widen(p, open->field[i], t->field[i], param);
    return fits;
}

/* Depth: that of types, bounded by the readers. */
const tn_type *tn_type_unbound(tn_pool *p, const tn_type *t)
{
    if (t->kind == TN_T_TENSOR) {
        const tn_expr **dim = TN_NEW_N(p->arena, const tn_expr *, t->n);
        for (int d = 0; d < t->n; d++)
            dim[d] = t->dim[d]->kind == TN_E_INT ? t->dim[d] : tn_any_dim(p);
        return tn_type_tensor(p, t->dtype, t->n, dim, NULL);
    }
    if (!t->n)
        return t;
    const tn_type **field = TN_NEW_N(p->arena, const tn_type *, t->n);
    for (int i = 0; i < t->n; i++)
        field[i] = tn_type_unbound(p, t->field[i]);
    return tn_type_with(p, t, field);
}

const tn_type *tn_type_relayout(tn_pool *p, const tn_type *t, const tn_layout *layout)
{
    TN_ASSERT(t->kind == TN_T_TENSOR);
    return t->layout == layout ? t : tn_type_tensor(p, t->dtype, t->n, t->dim, layout);
}

/* ---- comparing ---- */

const tn_expr *tn_any_dim(tn_pool *p) { return tn_sym(p, tn_intern(p->ctx, "?")); }

bool tn_type_is_handle(const tn_type *t)
{
    bool any = t->kind != TN_T_TENSOR || tn_dtype_is_string(t->dtype);
    for (int d = 0; d < t->n && !any; d++)
        any = tn_dim_is_any(t->dim[d]);
    return any;
}

/* Of a parameter: may it be given what `arg` is? Symbols take any extent. Depth: that of types. */
static bool takes(const tn_type *param, const tn_type *arg)
{
    if (param->kind == TN_T_TUPLE && arg->kind == TN_T_TUPLE && param->n == arg->n) {
        bool all = true;
        for (int i = 0; i < param->n && all; i++)
            all = takes(param->field[i], arg->field[i]);
        return all;
    }
    bool fits = param->kind == TN_T_TENSOR && arg->kind == TN_T_TENSOR && param->n == arg->n &&
                tn_dtype_eq(param->dtype, arg->dtype);
    for (int d = 0; d < param->n && fits; d++)
        fits = param->dim[d]->kind != TN_E_INT || param->dim[d] == arg->dim[d];
    return fits || tn_type_fits(param, arg);
}

/* Depth: that of types, bounded by the readers. */
bool tn_type_fits(const tn_type *want, const tn_type *t)
{
    if (want == t || t->kind == TN_T_NONE)
        return true;
    if (want->kind == TN_T_ANY)
        return (t->kind == TN_T_ANY || t->kind == TN_T_TENSOR) && tn_dtype_eq(want->dtype, t->dtype);
    if ((t->kind == TN_T_SEQ || t->kind == TN_T_OPTIONAL) && t->kind == want->kind && !t->n)
        return true;
    bool fits = want->kind == t->kind && want->n == t->n && want->data == t->data && want->index == t->index;
    if (want->kind == TN_T_TENSOR) {
        fits = fits && tn_dtype_eq(want->dtype, t->dtype);
        for (int d = 0; d < want->n && fits; d++)
            fits = want->dim[d] == t->dim[d] || tn_dim_is_any(want->dim[d]);
        return fits;
    }
    if (want->kind == TN_T_REF) /* who reads one type may write another */
        return fits && tn_type_eq_logical(want, t);
    bool func = want->kind == TN_T_FUNC;
    for (int i = 0; i < want->n && fits; i++)
        fits = func && i + 1 < want->n ? takes(t->field[i], want->field[i])
                                       : tn_type_fits(want->field[i], t->field[i]);
    return fits;
}

static const tn_type *join_tensors(tn_pool *p, const tn_type *a, const tn_type *b)
{
    if (!tn_dtype_eq(a->dtype, b->dtype))
        return NULL;
    if (a->kind != b->kind || a->kind == TN_T_ANY || a->n != b->n)
        return tn_type_any(p, a->dtype);
    const tn_expr **dim = TN_NEW_N(p->arena, const tn_expr *, a->n);
    for (int d = 0; d < a->n; d++)
        dim[d] = a->dim[d] == b->dim[d] ? a->dim[d] : tn_any_dim(p);
    return tn_type_tensor(p, a->dtype, a->n, dim, NULL);
}

/* The widest type whose values may be where one of a and where one of b may be: of parameters, whose symbols take any
 * extent. NULL: there is none. */
static const tn_type *meet(tn_pool *p, const tn_type *a, const tn_type *b);

static const tn_type *meet_tensors(tn_pool *p, const tn_type *a, const tn_type *b)
{
    if (a->n != b->n || !tn_dtype_eq(a->dtype, b->dtype))
        return NULL;
    const tn_expr **dim = TN_NEW_N(p->arena, const tn_expr *, a->n);
    for (int d = 0; d < a->n; d++) {
        bool known = a->dim[d]->kind == TN_E_INT;
        if (known && b->dim[d]->kind == TN_E_INT && a->dim[d] != b->dim[d])
            return NULL;
        const tn_expr *e = known ? a->dim[d] : b->dim[d];
        dim[d] = e->kind == TN_E_INT ? e : tn_any_dim(p);
    }
    return tn_type_tensor(p, a->dtype, a->n, dim, NULL);
}

/* What functions of both types have in common: they take what both take and give what one of them gives. Or, where
 * `narrow`, what is a function of both types. Depth: that of types, as in all of these. */
static const tn_type *both_functions(tn_pool *p, const tn_type *a, const tn_type *b, bool narrow)
{
    const tn_type **field = TN_NEW_N(p->arena, const tn_type *, a->n);
    for (int i = 0; i < a->n; i++) {
        const tn_type *x = tn_type_unbound(p, a->field[i]), *y = tn_type_unbound(p, b->field[i]);
        field[i] = (i + 1 < a->n) == narrow ? tn_type_join(p, x, y) : meet(p, x, y);
        if (!field[i])
            return NULL;
    }
    return tn_type_with(p, a, field);
}

static const tn_type *meet(tn_pool *p, const tn_type *a, const tn_type *b)
{
    if (tn_type_fits(a, b) || tn_type_fits(b, a))
        return tn_type_fits(a, b) ? b : a;
    if (a->kind != b->kind || a->n != b->n || a->data != b->data || a->kind == TN_T_REF ||
        a->kind == TN_T_ANY)
        return NULL;
    if (a->kind == TN_T_TENSOR)
        return meet_tensors(p, a, b);
    if (a->kind == TN_T_FUNC)
        return both_functions(p, a, b, true);
    const tn_type **field = TN_NEW_N(p->arena, const tn_type *, a->n);
    for (int i = 0; i < a->n; i++)
        if (!(field[i] = meet(p, a->field[i], b->field[i])))
            return NULL;
    return tn_type_with(p, a, field);
}

/* Depth: that of types, bounded by the readers. */
const tn_type *tn_type_join(tn_pool *p, const tn_type *a, const tn_type *b)
{
    bool tensors =
        (a->kind == TN_T_TENSOR || a->kind == TN_T_ANY) && (b->kind == TN_T_TENSOR || b->kind == TN_T_ANY);
    if (tn_type_fits(a, b) || tn_type_fits(b, a))
        return tn_type_fits(a, b) ? a : b;
    if (tensors)
        return join_tensors(p, a, b);
    if (a->kind != b->kind || a->n != b->n || a->data != b->data || a->kind == TN_T_REF)
        return NULL;
    if (a->kind == TN_T_FUNC)
        return both_functions(p, a, b, false);
    const tn_type **field = TN_NEW_N(p->arena, const tn_type *, a->n);
    for (int i = 0; i < a->n; i++)
        if (!(field[i] = tn_type_join(p, a->field[i], b->field[i])))
            return NULL;
    return tn_type_with(p, a, field);
}

/* The types themselves, fields left aside. */
static bool eq_shallow(const tn_type *a, const tn_type *b, bool layouts)
{
    if (a->kind != b->kind || a->n != b->n || a->data != b->data || a->index != b->index)
        return false;
    if (a->kind == TN_T_ANY)
        return tn_dtype_eq(a->dtype, b->dtype);
    if (a->kind != TN_T_TENSOR)
        return true;
    return tn_dtype_eq(a->dtype, b->dtype) && (!layouts || a->layout == b->layout) &&
           (a->n == 0 || memcmp(a->dim, b->dim, a->n * sizeof *a->dim) == 0);
}

static bool eq(const tn_type *a, const tn_type *b, bool layouts)
{
    typedef struct pair {
        const tn_type *a, *b;
    } pair;
    tn_vec(pair) todo = {0};
    bool same = true;
    tn_vec_push(&todo, ((pair){a, b}));
    while (same && todo.n > 0) {
        pair it = tn_vec_pop(&todo);
        if (it.a == it.b)
            continue;
        same = it.a && it.b && eq_shallow(it.a, it.b, layouts);
        for (int i = 0; same && it.a->kind != TN_T_TENSOR && i < it.a->n; i++) /* ANY has none */
            tn_vec_push(&todo, ((pair){it.a->field[i], it.b->field[i]}));
    }
    tn_vec_deinit(&todo);
    return same;
}

bool tn_type_eq(const tn_type *a, const tn_type *b) { return eq(a, b, true); }

bool tn_type_eq_logical(const tn_type *a, const tn_type *b) { return eq(a, b, false); }

bool tn_type_same_shape(const tn_type *a, const tn_type *b)
{
    if (a->kind != TN_T_TENSOR || b->kind != TN_T_TENSOR || a->n != b->n)
        return false;
    for (int d = 0; d < a->n; d++)
        if (a->dim[d] != b->dim[d])
            return false;
    return true;
}

/* ---- sizes ---- */

bool tn_type_dims_const(const tn_type *t, int64_t *out_dim)
{
    int64_t v;
    bool all = t->kind == TN_T_TENSOR;
    for (int i = 0; all && i < t->n; i++) {
        all = tn_is_int(t->dim[i], &v);
        if (all && out_dim)
            out_dim[i] = v;
    }
    return all;
}

/* unit * product of n extents; constants are multiplied first, and checked. */
static const tn_expr *product(tn_pool *p, int64_t unit, int n, const tn_expr *const dim[])
{
    const tn_expr *symbolic = NULL;
    int64_t v;
    bool fits = true;
    for (int i = 0; i < n; i++) {
        if (tn_is_value(dim[i], 0))
            return tn_idx(p, 0);
        if (tn_is_int(dim[i], &v))
            fits = fits && tn_i64_mul(unit, v, &unit);
        else
            symbolic = symbolic ? tn_mul(p, symbolic, dim[i]) : dim[i];
    }
    if (!fits)
        return NULL;
    return symbolic ? tn_mul(p, symbolic, tn_idx(p, unit)) : tn_idx(p, unit);
}

const tn_expr *tn_type_count(tn_pool *p, const tn_type *t)
{
    TN_ASSERT(t->kind == TN_T_TENSOR);
    return product(p, 1, t->n, t->dim);
}

const tn_expr *tn_type_bytes(tn_pool *p, const tn_type *t)
{
    TN_ASSERT(t->kind == TN_T_TENSOR);
    int naxis = tn_layout_naxis(t->layout, t->n);
    tn_vec(const tn_expr *) dim = {0};
    tn_vec_reserve(&dim, (size_t)naxis + 1);
    tn_layout_dims(p, t->layout, t->n, t->dim, dim.at);
    const tn_expr *r = product(p, tn_dtype_bytes(t->dtype), naxis, dim.at);
    tn_vec_deinit(&dim);
    return r;
}

/* ---- text ---- */

typedef struct piece {
    const tn_type *t;
    const char *text;
} piece;
typedef tn_vec(piece) pieces;

static void print_tensor(const tn_type *t, tn_buf *out)
{
    if (t->n == 0) {
        tn_dtype_print(t->dtype, false, out);
        return;
    }
    tn_buf_str(out, "Tensor[(");
    for (int i = 0; i < t->n; i++) {
        if (i > 0)
            tn_buf_str(out, ", ");
        tn_expr_print(t->dim[i], NULL, out);
    }
    tn_buf_str(out, "), ");
    tn_dtype_print(t->dtype, false, out);
    if (t->layout)
        tn_buf_printf(out, ", %s", t->layout->text);
    tn_buf_char(out, ']');
}

static void print_any(const tn_type *t, tn_buf *out)
{
    tn_buf_str(out, "Tensor[?, ");
    tn_dtype_print(t->dtype, false, out);
    tn_buf_char(out, ']');
}

/* "(A, B)", "fn (A) -> B", "ref(A)", "Seq[A]" or "List[A]": the head now, the rest as pieces, last first. */
static void push_fields(pieces *todo, const tn_type *t, tn_buf *out)
{
    static const struct {
        const char *head, *tail;
    } form[] = {
        [TN_T_TUPLE] = {"(", ")"},  [TN_T_FUNC] = {"fn (", ") -> "},      [TN_T_REF] = {"ref(", ")"},
        [TN_T_SEQ] = {"Seq[", "]"}, [TN_T_OPTIONAL] = {"Optional[", "]"}, [TN_T_MAP] = {"Map[", "]"},
    };
    int n = t->kind == TN_T_FUNC ? t->n - 1 : t->n;
    const char *tail = t->kind == TN_T_DATA              ? (n ? "]" : "")
                       : t->kind == TN_T_TUPLE && n == 1 ? ",)"
                                                         : form[t->kind].tail;
    if (t->kind == TN_T_DATA)
        tn_buf_printf(out, "%s%s", t->data->name, n ? "[" : "");
    else
        tn_buf_str(out, form[t->kind].head);
    if (t->kind == TN_T_FUNC)
        tn_vec_push(todo, ((piece){t->field[n], NULL}));
    tn_vec_push(todo, ((piece){NULL, tail}));
    for (int i = n - 1; i >= 0; i--) {
        tn_vec_push(todo, ((piece){t->field[i], NULL}));
        if (i > 0)
            tn_vec_push(todo, ((piece){NULL, ", "}));
    }
}

void tn_type_print(const tn_type *t, tn_buf *out)
{
    pieces todo = {0};
    tn_vec_push(&todo, ((piece){t, NULL}));
    while (todo.n > 0) {
        piece it = tn_vec_pop(&todo);
        if (it.text || !it.t)
            tn_buf_str(out, it.text ? it.text : "?"); /* ?: not inferred */
        else if (it.t->kind == TN_T_TENSOR)
            print_tensor(it.t, out);
        else if (it.t->kind == TN_T_ANY)
            print_any(it.t, out);
        else if (it.t->kind == TN_T_NONE)
            tn_buf_char(out, '_');
        else if (it.t->kind == TN_T_PARAM)
            tn_buf_char(out, (char)('A' + it.t->index % 26));
        else
            push_fields(&todo, it.t, out);
    }
    tn_vec_deinit(&todo);
}
