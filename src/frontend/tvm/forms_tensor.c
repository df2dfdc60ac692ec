/* Forms of tensors (forms.h): elements that are found, parts that are put in, windows, sums into a smaller shape. */
#include "frontend/tvm/forms.h"

#include "frontend/import/band.h"

#include <string.h>

/* ---- elements that are found ---- */

/* Bools: which elements are not 0? A NaN is as good as 0, as in TVM. */
static tn_value not_zero(imp_node *c, tn_value x)
{
    const bool real = tn_dtype_is_float(imp_type(x)->dtype);
    return real ? imp_with(c, &tn_op_greater, imp_unary(c, &tn_op_abs, x), 0) : imp_cast(c, x, TN_BOOL1);
}

/* [n, rank], int32 */
static void argwhere(imp_node *c, form_call *f)
{
    const tn_value x = imp_in(c, 0);
    const int rank = imp_rank(x);
    tn_value part[IMP_MAX_RANK];
    if (!c->bad && rank < 1)
        imp_refuse(c, IMP_OPERANDS, "%s needs a dimension", f->name);
    tn_value at = imp_positions(c, imp_flat(c, not_zero(c, x)));
    for (int d = rank - 1; d >= 0 && !c->bad; d--) { /* the last index runs fastest */
        tn_value n = imp_extent_of(c, x, d), inside = d ? imp_binary(c, &tn_op_floor_mod, at, n) : at;
        part[d] = imp_unsqueeze(c, inside, 1);
        at = imp_binary(c, &tn_op_floor_divide, at, n);
    }
    imp_out(c, 0, imp_cast(c, c->bad ? x : imp_concat(c, (uint32_t)rank, part, 1), TN_I32));
}

/* v at the first places of a list, `rest` at the others. */
static tn_value filled_up(imp_node *c, tn_value v, tn_value place, tn_value inside, tn_value rest)
{
    tn_value first = imp_i64(c, 0), at = imp_choose(c, inside, place, first);
    return imp_choose(c, inside, imp_take(c, v, at, 0), rest);
}

/* The values that differ, where each is first, which one each element is, how many there are, and how often each is
 * there. Lists are as long as the data: behind what there is, places are the data's length, and all else is 0. */
static void unique(imp_node *c, form_call *f)
{
    const tn_value x = imp_in(c, 0);
    if (!c->bad && imp_rank(x) != 1)
        imp_refuse(c, IMP_OPERANDS, "%s needs a list", f->name);
    const imp_unique u =
        imp_unique_of(c, x, 0, IMP_UNIQUE_NAN_APART | (f->a.x ? (unsigned)IMP_UNIQUE_SORTED : 0));
    if (c->bad)
        return;
    const tn_expr *one = tn_idx(c->pool, 1);
    tn_value place = imp_count_up(c, imp_type(x)->dim[0]), all = imp_extent_of(c, x, 0),
             n = imp_extent_of(c, u.index, 0);
    tn_value inside = imp_binary(c, &tn_op_less, place, n), zero = imp_const(c, imp_type(x)->dtype, 0);
    imp_out(c, 0, filled_up(c, u.x, place, inside, zero));
    imp_out(c, 1, imp_cast(c, filled_up(c, u.index, place, inside, all), TN_I32));
    imp_out(c, 2, imp_cast(c, u.inverse, TN_I32));
    imp_out(c, 3, imp_cast(c, imp_reshape(c, n, 1, &one), TN_I32));
    zero = imp_i64(c, 0);
    imp_out_any(c, 4, imp_cast(c, filled_up(c, u.count, place, inside, zero), TN_I32));
}

static tn_value read_unique(form_call *f) { return tvm_make(f, f->a.y ? 5 : 4, unique, NULL); }

/* ---- parts that are put in ---- */

/* Diagonals i (the lowest) to j (the highest); of shorter ones x (those above the main one and it) and y say
 * where in their rows they lie. Do the operands fit each other? One diagonal becomes a band. false: reported.
 * */
static bool read_band(imp_node *c, const form_call *f, imp_band *b, tn_value x, tn_value *d)
{
    const tn_type *t = imp_type(x);
    int64_t rows, columns, n;
    *b = (imp_band){.low = f->a.i, .high = f->a.j};
    const bool one = b->low == b->high;
    const int r = t->n;
    if (one && imp_rank(*d) > 0)
        *d = imp_unsqueeze(c, *d, imp_rank(*d) - 1);
    else if (!one)
        b->right[0] = f->a.y != 0, b->right[1] = f->a.x != 0;
    bool fits = r >= 2 && imp_rank(*d) == r && b->low <= b->high && b->low > INT32_MIN && b->high < INT32_MAX;
    for (int i = 0; i < r - 2 && fits && !c->bad; i++)
        fits = imp_with_extent(c, d, i, t->dim[i]);
    if (fits && !c->bad)
        fits = imp_with_extent(c, d, r - 2, tn_idx(c->pool, b->high - b->low + 1));
    if (fits && !c->bad && tn_is_int(t->dim[r - 2], &rows) && tn_is_int(t->dim[r - 1], &columns) &&
        tn_is_int(imp_type(*d)->dim[r - 1], &n)) {
        const int64_t down = rows + (b->high < 0 ? b->high : 0), across = columns - (b->low > 0 ? b->low : 0);
        fits = n >= (down < across ? down : across) && b->low > -rows && b->high < columns;
    }
    if (!fits && !c->bad)
        imp_refuse(c, IMP_OPERANDS, "%s has diagonals that do not fit its data: %s into %s", f->name,
                   imp_type_text(c, imp_type(imp_in(c, 1))), imp_type_text(c, t));
    return !c->bad;
}

/* The run fails where a diagonal has fewer numbers than it takes. */
static void enough(imp_node *c, const imp_band *b)
{
    const tn_value down = imp_with(c, &tn_op_add, b->height, (double)(b->high < 0 ? b->high : 0)),
                   across = imp_with(c, &tn_op_subtract, b->width, (double)(b->low > 0 ? b->low : 0));
    const tn_value most = imp_binary(c, &tn_op_minimum, down, across);
    const tn_value short_by = imp_with(c, &tn_op_maximum, imp_binary(c, &tn_op_subtract, most, b->length), 0);
    imp_demand(c, short_by, 0, "matrix_set_diag: a diagonal is too short");
}

static void matrix_set_diag(imp_node *c, form_call *f)
{
    imp_band b;
    tn_value x = imp_in(c, 0), d = imp_in(c, 1);
    if (c->bad || !read_band(c, f, &b, x, &d))
        return;
    const tn_type *t = imp_type(x);
    b.rows = t->dim[t->n - 2];
    b.columns = t->dim[t->n - 1];
    b.longest = imp_type(d)->dim[t->n - 1]; /* or more */
    imp_band_in_run(c, &b);
    enough(c, &b);
    imp_out(c, 0, c->bad ? x : imp_with_band(c, d, &b, x));
}

/* strided_set(data, v, begin, end, strides): lists of the first dimensions' places, which may end early. */
typedef struct places {
    uint32_t n[3];
    int64_t at[3][TVM_MOST_SIZES];
} places;

static tn_value set_known(imp_node *c, const places *p, tn_value x, tn_value v)
{
    const uint32_t most = p->n[0] > p->n[1] ? p->n[0] : p->n[1], n = most > p->n[2] ? most : p->n[2];
    int64_t begin[TVM_MOST_SIZES], end[TVM_MOST_SIZES], step[TVM_MOST_SIZES];
    for (uint32_t i = 0; i < n; i++) {
        step[i] = i < p->n[2] ? p->at[2][i] : 1;
        begin[i] = i < p->n[0] ? p->at[0][i] : step[i] < 0 ? INT64_MAX : 0;
        end[i] = i < p->n[1] ? p->at[1][i] : step[i] < 0 ? INT64_MIN : INT64_MAX;
    }
    const tn_slice_attr a = {
        tn_make_dims(c->g, n, begin), tn_make_dims(c->g, n, end), tn_ints_make(c->arena, n, step), {0}};
    return imp_call2(c, &tn_op_strided_set, &a, x, v);
}

static tn_value element(imp_node *c, tn_value list, int64_t d, int64_t n, tn_value rest)
{
    return d < n ? imp_cast(c, imp_squeeze(c, imp_slice(c, list, 0, d, d + 1), 0), TN_I64) : rest;
}

/* Positions below 0 count from the end. */
static tn_value from_end(imp_node *c, tn_value at, tn_value n)
{
    tn_value turn = imp_with(c, &tn_op_less, at, 0);
    return imp_choose(c, turn, imp_binary(c, &tn_op_add, at, n), at);
}

/* Dimension d of the run: which of its places are set (as many dimensions as x has), and v read there. */
static tn_value set_along(imp_node *c, tn_value x, int d, tn_value *v)
{
    const int rank = imp_rank(x);
    const tn_expr *dim[IMP_MAX_RANK];
    int64_t given[3];
    for (uint32_t k = 0; k < 3; k++)
        given[k] = imp_length(imp_in(c, 2 + k));
    tn_value n = imp_extent_of(c, x, d), zero = imp_i64(c, 0), one = imp_i64(c, 1);
    tn_value step = element(c, imp_in(c, 4), d, given[2], one), back = imp_binary(c, &tn_op_less, step, zero);
    tn_value last = imp_binary(c, &tn_op_subtract, n, one), before = imp_i64(c, -1);
    tn_value from = imp_choose(c, back, last, zero), to = imp_choose(c, back, before, n);
    if (d < given[0]) {
        from = from_end(c, element(c, imp_in(c, 2), d, given[0], zero), n);
        tn_value low = imp_binary(c, &tn_op_maximum, from, zero),
                 high = imp_binary(c, &tn_op_minimum, from, last);
        from = imp_choose(c, back, high, low);
    }
    if (d < given[1])
        to = from_end(c, element(c, imp_in(c, 3), d, given[1], zero), n);
    tn_value place = imp_count_up(c, imp_type(x)->dim[d]), way = imp_binary(c, &tn_op_subtract, place, from);
    tn_value number = imp_binary(c, &tn_op_floor_divide, way, step);
    tn_value there = imp_binary(c, &tn_op_multiply, number, step),
             meets = imp_binary(c, &tn_op_equal, there, way);
    tn_value below = imp_binary(c, &tn_op_less, place, to), above = imp_binary(c, &tn_op_greater, place, to);
    tn_value begun = imp_binary(c, &tn_op_greater_equal, number, zero),
             open = imp_choose(c, back, above, below);
    tn_value set = imp_binary(c, &tn_op_logical_and, imp_binary(c, &tn_op_logical_and, meets, begun), open);
    tn_value many = imp_reduce(c, &tn_op_sum, imp_cast(c, set, TN_I64), 0),
             given_of_v = imp_extent_of(c, *v, d);
    imp_demand(c, imp_binary(c, &tn_op_subtract, many, given_of_v), 0,
               "strided_set: there must be as many places as values");
    *v = imp_take(c, *v, imp_choose(c, set, number, zero), d);
    for (int i = 0; i < rank; i++)
        dim[i] = i == d ? imp_type(x)->dim[d] : tn_idx(c->pool, 1);
    return imp_reshape(c, set, rank, dim);
}

static void strided_set(imp_node *c, form_call *f)
{
    places p;
    tn_value x = imp_in(c, 0), v = imp_in(c, 1), all = {0};
    bool fixed = true;
    int64_t most = 0;
    for (uint32_t k = 0; k < 3 && !c->bad; k++) {
        const int64_t n = imp_length(imp_in(c, 2 + k));
        if (imp_rank(imp_in(c, 2 + k)) != 1 || n < 0 || n > imp_rank(x) || imp_rank(v) != imp_rank(x))
            imp_refuse(c, IMP_OPERANDS, "%s needs lists of places, at most one for each dimension", f->name);
        most = n > most ? n : most;
        fixed = !c->bad && fixed && tvm_known(f, imp_in(c, 2 + k), &p.n[k], p.at[k]);
        for (uint32_t i = 0; k == 2 && fixed && i < p.n[k]; i++)
            fixed = p.at[k][i] > 0; /* what tn_op_strided_set has */
    }
    c->bad = c->bad || f->bad;
    if (c->bad)
        return;
    if (fixed || !most) {
        imp_out(c, 0, fixed ? set_known(c, &p, x, v) : v);
        return;
    }
    for (int d = 0; d < imp_rank(x) && !c->bad; d++) {
        tn_value set = {0};
        if (d < most)
            set = set_along(c, x, d, &v);
        else if (!imp_with_extent(c, &v, d, imp_type(x)->dim[d]) && !c->bad)
            imp_refuse(c, IMP_OPERANDS, "%s sets elements of %s, but %s does not fit them", f->name,
                       imp_type_text(c, imp_type(x)), imp_type_text(c, imp_type(v)));
        all = all.def && set.def ? imp_binary(c, &tn_op_logical_and, all, set) : set.def ? set : all;
    }
    imp_out(c, 0, c->bad ? x : imp_choose(c, all, v, x));
}

/* ---- windows ---- */

bool tvm_windows(imp_node *c, const form_call *f, const tn_expr *n, const tvm_window *w, tn_value *out)
{
    tn_pool *p = c->pool;
    const bool good = w->size > 0 && w->step > 0 && w->apart > 0 && w->size < 1 << 20 && w->step < 1 << 20 &&
                      w->apart < 1 << 20;
    const int64_t span = good ? (w->size - 1) * w->apart : 0;
    const tn_expr *count =
        tn_add(p, tn_fdiv(p, tn_sub(p, n, tn_idx(p, span + 1)), tn_idx(p, good ? w->step : 1)), tn_idx(p, 1));
    int64_t known = 1;
    count = imp_simplify(c, count);
    if (!c->bad && (!good || (tn_is_int(count, &known) && known < 1)))
        imp_refuse(c, IMP_BAD_VALUE, "%s has windows that do not fit its data", f->name);
    if (c->bad)
        return false;
    tn_value first = imp_with(c, &tn_op_multiply, imp_count_up(c, count), (double)w->step);
    tn_value tap = imp_with(c, &tn_op_multiply, imp_count_up(c, tn_idx(p, w->size)), (double)w->apart);
    *out = imp_binary(c, &tn_op_add, imp_unsqueeze(c, first, 1), tap);
    return !c->bad;
}

/* [before axis.., windows.., window_shape..] */
static void sliding_window(imp_node *c, form_call *f)
{
    tn_value x = imp_in(c, 0);
    const tn_ints size = f->a.ints, step = f->a.ints2;
    const int rank = imp_rank(x), axis = (int)f->a.axis, n = rank - axis;
    int64_t order[2 * IMP_MAX_RANK];
    if (!c->bad && (f->a.axis < 0 || f->a.axis >= rank || (int)size.n != n || (int)step.n != n ||
                    rank + n > IMP_MAX_RANK))
        imp_refuse(
            c, IMP_BAD_VALUE,
            "%s needs a size and a step for each dimension from the axis on, and at most %d dimensions",
            f->name, IMP_MAX_RANK);
    for (int i = n - 1; i >= 0 && !c->bad; i--) {
        tn_value at;
        const tvm_window w = {size.at[i], step.at[i], 1};
        if (tvm_windows(c, f, imp_type(x)->dim[axis + i], &w, &at))
            x = imp_take(c, x, at, axis + i);
    }
    for (int d = 0; d < rank + n && !c->bad; d++)
        order[d] = d < axis ? d : d < rank ? axis + 2 * (d - axis) : axis + 2 * (d - rank) + 1;
    imp_out(c, 0, c->bad ? x : imp_transpose(c, x, rank + n, order));
}

/* ---- sums into a smaller shape ---- */

static tn_value collapsed(form_call *f, const tn_type *x, uint32_t n, const tn_expr *const dim[])
{
    int64_t axis[FORM_MAX_RANK] = {0}, extent = 0, wanted = 0;
    uint32_t n_axis = 0;
    const int lead = x->n - (int)n;
    for (int d = 0; d < x->n && lead >= 0; d++) {
        const tn_expr *to = d < lead ? NULL : dim[d - lead];
        const bool known = to && tn_is_int(x->dim[d], &extent) && tn_is_int(to, &wanted);
        if (!to || (tn_is_value(to, 1) && x->dim[d] != to))
            axis[n_axis++] = d;
        else if (x->dim[d] != to && !(known && extent == wanted))
            return form_refuse(f, "needs a shape that can be broadcast to that of its data");
    }
    if (lead < 0)
        return form_refuse(f, "needs a shape that can be broadcast to that of its data");
    const tn_axes_attr a = {.axis = tn_ints_make(f->p->g->arena, n_axis, axis), .keepdims = true};
    return form_reshaped(f, n_axis ? form_make1(f, &tn_op_sum, &a, f->in[0]) : f->in[0], n, dim);
}

static tn_value collapse_sum_like(form_call *f)
{
    const tn_type *x = form_type(f, f->in[0]), *to = form_type(f, f->in[1]);
    return x && to ? collapsed(f, x, (uint32_t)to->n, to->dim) : (tn_value){0};
}

/* The shape is an operand, too, which is a constant then. */
static tn_value collapse_sum_to(form_call *f)
{
    const tn_type *x = form_type(f, f->in[0]);
    int64_t at[TVM_MOST_SIZES];
    uint32_t n;
    tn_dims to = f->a.dims;
    if (x && !to.at && tvm_known(f, f->in[1], &n, at))
        to = tn_make_dims(f->p->g, n, at);
    else if (!f->bad && !to.at)
        return form_refuse(f, "needs a shape that is known when the text is read");
    return x && !f->bad ? collapsed(f, x, to.n, to.at) : (tn_value){0};
}

TVM_READ(argwhere, 1)
TVM_READ(matrix_set_diag, 1)
TVM_READ(strided_set, 1)
TVM_READ(sliding_window, 1)

/* clang-format off */
static const tn_attr_field
    no_attrs[] = {FORM_END},
    telling[] = {FORM_ATTR(BOOL, "sorted", x, "True"), FORM_ATTR(BOOL, "return_counts", y, "False"), FORM_END},
    diagonals[] = {FORM_ATTR(I64, "k1", i, "0"), FORM_ATTR(I64, "k2", j, "0"),
                   FORM_ATTR(BOOL, "super_diag_right_align", x, "True"),
                   FORM_ATTR(BOOL, "sub_diag_right_align", y, "False"), FORM_END},
    sliding[] = {FORM_ATTR(I64, "axis", axis, NULL), FORM_ATTR(INTS, "window_shape", ints, NULL),
                 FORM_ATTR(INTS, "strides", ints2, NULL), FORM_END},
    shaping[] = {FORM_ATTR(DIMS, "shape", dims, "None"), FORM_ATTR(DTYPE, "dtype", dtype, "\"\""), FORM_END};

const form tvm_forms_tensor[] = {
    {"argwhere", 1, 1, read_argwhere, no_attrs, "The indices of the elements that are not 0, a row for each."},
    {"unique", 1, 1, read_unique, telling,
     "The values of a list that differ, where each is first, which one each element is, how many, and how often."},
    {"matrix_set_diag", 2, 2, read_matrix_set_diag, diagonals, "Matrices with other diagonals k1 to k2."},
    {"strided_set", 5, 5, read_strided_set, no_attrs, "data with a part replaced whose places are operands."},
    {"sliding_window", 1, 1, read_sliding_window, sliding, "All windows over the last dimensions."},
    {"collapse_sum_like", 2, 2, collapse_sum_like, no_attrs, "Sums in the shape of another tensor."},
    {"collapse_sum_to", 2, 2, collapse_sum_to, shaping, "Sums in a shape that can be broadcast to that of the data."},
    {0},
};
/* clang-format on */
