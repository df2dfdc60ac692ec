/* Signals: DFT, STFT, windows, MelWeightMatrix, TfIdfVectorizer. */
#include "frontend/import/fourier.h"
#include "frontend/onnx/onnx.h"

#include "ir/eval.h"
#include "op/host/host.h"
#include "op/signal/signal.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

enum { MAX_SIGNAL = 1 << 24 }; /* elements of a table, a window or a transform */
static const double pi = 3.14159265358979323846;

/* ---- tables ---- */

typedef struct table {
    tn_dtype t;
    char *at;
} table;

static table table_new(imp_node *c, tn_dtype t, size_t n)
{
    return (table){t, tn_arena_alloc(c->arena, (n ? n : 1) * tn_dtype_bytes(t), 8)};
}

static void table_set(table *w, size_t i, double v)
{
    tn_scalar_write(w->t, w->at + i * tn_dtype_bytes(w->t), tn_eval_cast(TN_F64, w->t, (tn_scalar){.f = v}));
}

static tn_value table_done(imp_node *c, const table *w, int ndim, const int64_t dim[])
{
    return c->bad ? (tn_value){0}
                  : tn_val(tn_make_constant(c->g, c->im->r, NULL, w->t, ndim, dim, w->at, NULL));
}

static int64_t size_in(imp_node *c, uint32_t i, const char *what, int64_t least)
{
    int64_t n = imp_int_in(c, imp_in(c, i), what);
    if (!c->bad && (n < least || n > MAX_SIGNAL))
        imp_fail(c, "onnx-E009", "%s is %lld, which is not in [%lld, 2^24]", what, (long long)n,
                 (long long)least);
    return c->bad ? least : n;
}

/* ---- DFT ---- */

/* The middle of rows [rows, elements, parts] cut, or filled with zeros, to n elements. */
static tn_value fitted(imp_node *c, tn_value rows, const tn_expr *n)
{
    static const int64_t none[3] = {0};
    const tn_type *t = imp_type(rows);
    const tn_expr *const dim[3] = {t->dim[0], n, t->dim[2]};
    tn_dyn_pad_attr a = {tn_dims_make(c->arena, 3, dim), 0, "constant"};
    return c->bad || t->dim[1] == n
               ? rows
               : imp_call2(c, &tn_op_dyn_pad, &a, rows, imp_const_ints(c, TN_I64, 1, 3, none));
}

static int dft_axis(imp_node *c, int rank)
{
    int64_t axis = c->version < 20 ? imp_attr_int(c, "axis", 1)
                   : imp_has(c, 2) ? imp_int_in(c, imp_in(c, 2), "the axis")
                                   : -2;
    int at = imp_axis(c, axis, rank);
    if (!c->bad && at == rank - 1)
        imp_fail(c, "onnx-E009", "axis %lld holds the real and imaginary parts; choose another one",
                 (long long)axis);
    return at;
}

/* The axis of a DFT as a list of one position. */
static tn_value late_axis(imp_node *c, int rank)
{
    int64_t axis = imp_is_late(c, 2) ? -1 : dft_axis(c, rank);
    if (axis >= 0)
        return imp_const_ints(c, TN_I64, 1, 1, &axis);
    tn_value at = imp_positions_of(c, imp_in(c, 2), rank),
             last = imp_binary(c, &tn_op_equal, at, imp_i64(c, rank - 1));
    imp_demand(c, imp_cast(c, last, TN_I64), 0,
               "the axis holds the real and imaginary parts; choose another one");
    return at;
}

/* An axis or a length computed during the run. */
static void late_dft(imp_node *c, tn_value x, bool inverse, bool onesided)
{
    static const int64_t swap[] = {0, 2, 1, 3};
    int rank = imp_rank(x);
    tn_value at = late_axis(c, rank), shape = imp_slice(c, imp_shape_of(c, x), 0, 0, rank - 1);
    tn_dims side = imp_sides(c, shape, at);
    if (c->bad)
        return;
    const tn_expr *dim[4] = {side.at[0], side.at[1], side.at[2], imp_type(x)->dim[rank - 1]};
    tn_value y = imp_transpose(c, imp_checked_reshape(c, x, tn_dims_make(c->arena, 4, dim)), 4, swap), n,
             rows;
    const tn_expr *flat[3] = {imp_simplify(c, tn_mul(c->pool, dim[0], dim[2])), dim[1], dim[3]};
    rows = imp_reshape(c, y, 3, flat);
    if (imp_has(c, 1)) {
        n = imp_cast(c, imp_in(c, 1), TN_I64);
        n = imp_rank(n) ? imp_reshape(c, n, 0, NULL) : n;
    } else {
        n = imp_extent_of(c, rows, 1);
        if (inverse && onesided)
            n = imp_with(c, &tn_op_multiply, imp_with(c, &tn_op_subtract, n, 1), 2);
    }
    const tn_expr *all = imp_size_in(c, n, "dft_length"),
                  *half = imp_simplify(
                      c, tn_add(c->pool, tn_fdiv(c->pool, all, tn_idx(c->pool, 2)), tn_idx(c->pool, 1)));
    y = imp_fourier_any(c, fitted(c, rows, inverse && onesided ? half : all), all, n, inverse, onesided);
    if (c->bad)
        return;
    const tn_expr *apart[4] = {dim[0], dim[2], imp_type(y)->dim[1], imp_type(y)->dim[2]};
    tn_value here = imp_binary(c, &tn_op_equal, imp_iota(c, rank - 1), at), parts = imp_shape_of(c, y);
    const tn_value to[2] = {imp_choose(c, here, imp_slice(c, parts, 0, 1, 2), shape),
                            imp_slice(c, parts, 0, 2, 3)};
    y = imp_transpose(c, imp_reshape(c, y, 4, apart), 4, swap);
    imp_out(c, 0, imp_in_shape(c, y, imp_concat(c, 2, to, 0), NULL));
}

/* The axis moved to the place before the last, or (back) from there. */
static tn_value move_axis(imp_node *c, tn_value x, int axis, bool back)
{
    int64_t order[IMP_MAX_RANK];
    int rank = imp_rank(x), n = 0;
    if (c->bad || axis == rank - 2)
        return x;
    for (int i = 0; i < rank - 1; i++)
        if (back ? i != rank - 2 : i != axis)
            order[n++] = i;
    order[n++] = axis;
    order[n] = rank - 1;
    if (back) {
        for (int i = rank - 2; i > axis; i--)
            order[i] = order[i - 1];
        for (int i = 0; i < rank - 1; i++)
            order[i] = i < axis ? i : i == axis ? rank - 2 : i - 1;
    }
    return imp_transpose(c, x, rank, order);
}

static void dft(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    bool inverse = imp_attr_int(c, "inverse", 0) != 0, onesided = imp_attr_int(c, "onesided", 0) != 0;
    int rank = imp_rank(x);
    if (!c->bad && (rank < 2 || rank > IMP_MAX_RANK))
        imp_fail(c, "onnx-E022", "%s has too few or too many dimensions", imp_type_text(c, imp_type(x)));
    int axis = imp_is_late(c, 2) || c->bad ? -1 : dft_axis(c, rank);
    if (c->bad)
        return;
    if (axis < 0 || imp_is_late(c, 1) ||
        (inverse && onesided && !imp_has(c, 1) && imp_type(x)->dim[axis]->kind != TN_E_INT)) {
        late_dft(c, x, inverse, onesided);
        return;
    }
    int64_t n = 0;
    if (imp_has(c, 1))
        n = size_in(c, 1, "dft_length", 1);
    else if (tn_is_int(imp_type(x)->dim[axis], &n))
        n = inverse && onesided ? 2 * (n - 1) : n;
    bool fixed = imp_has(c, 1) || imp_type(x)->dim[axis]->kind == TN_E_INT;
    if (!c->bad && fixed && (n < 1 || n > MAX_SIGNAL))
        imp_fail(c, "onnx-E009", "a transform of length %lld is not in [1, 2^24]", (long long)n);
    tn_value moved = move_axis(c, x, axis, false);
    if (c->bad)
        return;
    const tn_type *t = imp_type(moved);
    const tn_expr *rows[] = {imp_product(c, t, 0, rank - 2), t->dim[rank - 2], t->dim[rank - 1]},
                  *dim[IMP_MAX_RANK];
    tn_value flat = imp_reshape(c, moved, 3, rows);
    tn_value y = fixed ? imp_fourier(c, flat, n, inverse, onesided)
                       : imp_fourier_any(c, flat, rows[1], imp_extent_of(c, flat, 1), inverse, onesided);
    if (c->bad)
        return;
    for (int i = 0; i < rank; i++)
        dim[i] = i < rank - 2 ? t->dim[i] : imp_type(y)->dim[i - (rank - 3)];
    imp_out(c, 0, move_axis(c, imp_reshape(c, y, rank, dim), axis, true));
}

/* ---- STFT ---- */

static void stft(imp_node *c)
{
    tn_value x = imp_in(c, 0), window = imp_opt(c, 2);
    bool onesided = imp_attr_int(c, "onesided", 1) != 0;
    tn_frame_attr a = {{0}, imp_sizes_in(c, imp_in(c, 1), "frame_step")};
    int64_t length = 0;
    if (!c->bad && imp_rank(x) == 2)
        x = imp_unsqueeze(c, x, 2);
    if (!c->bad && imp_rank(x) != 3)
        imp_fail(c, "onnx-E022", "the signal must be [batch, length, 1 or 2], but is %s",
                 imp_type_text(c, imp_type(x)));
    if (window.def && imp_rank(window) != 1 && !c->bad)
        imp_fail(c, "onnx-E022", "a window must have one dimension, but is %s",
                 imp_type_text(c, imp_type(window)));
    if (c->bad)
        return;
    const tn_expr *frame = imp_has(c, 3) ? imp_size_in(c, imp_in(c, 3), "frame_length")
                                         : imp_type(window.def ? window : x)->dim[window.def ? 0 : 1];
    a.length = tn_dims_make(c->arena, 1, &frame);
    if (!c->bad && tn_is_int(a.length.at[0], &length) && length > MAX_SIGNAL)
        imp_fail(c, "onnx-E009", "frames of %lld are longer than 2^24", (long long)length);
    tn_value y = imp_call1(c, &tn_op_frame, &a, x);
    if (window.def && !c->bad) {
        if (length && imp_type(window)->dim[0]->kind == TN_E_INT &&
            imp_type(window)->dim[0] != a.length.at[0])
            imp_fail(c, "onnx-E022", "a window of %s does not match frames of %lld",
                     imp_type_text(c, imp_type(window)), (long long)length);
        y = imp_binary(c, &tn_op_multiply, y, imp_unsqueeze(c, window, 1));
    }
    if (c->bad)
        return;
    const tn_type *t = imp_type(y);
    const tn_expr *rows[] = {imp_product(c, t, 0, 2), t->dim[2], t->dim[3]};
    y = imp_reshape(c, y, 3, rows);
    y = length ? imp_fourier(c, y, length, false, onesided)
               : imp_fourier_any(c, y, rows[1], imp_extent_of(c, y, 1), false, onesided);
    if (c->bad)
        return;
    const tn_expr *dim[] = {t->dim[0], t->dim[1], imp_type(y)->dim[1], imp_type(y)->dim[2]};
    imp_out(c, 0, imp_reshape(c, y, 4, dim));
}

/* ---- windows ---- */

/* v[0] + v[1] * cos(x) + v[2] * cos(2 x), x being 2 pi k / turn, for k = 0, 1, ... as many as the size says. */
static tn_value late_window(imp_node *c, const double v[3], bool periodic)
{
    const tn_expr *n = imp_extent_in(c, imp_in(c, 0), "the size");
    if (c->bad)
        return (tn_value){0};
    tn_value k = imp_count_up(c, n), one = imp_const(c, TN_F64, 1);
    tn_value turn = imp_cast(c, imp_extent_of(c, k, 0), TN_F64);
    turn = periodic ? turn : imp_binary(c, &tn_op_subtract, turn, one);
    tn_value x = imp_with(c, &tn_op_multiply, imp_cast(c, k, TN_F64), 2 * pi);
    x = imp_binary(c, &tn_op_divide, x, turn);
    tn_value sum = imp_const(c, TN_F64, v[0]);
    for (int i = 1; i < 3; i++) {
        tn_value wave = imp_unary(c, &tn_op_cos, imp_binary(c, &tn_op_multiply, x, imp_const(c, TN_F64, i)));
        sum =
            imp_binary(c, &tn_op_add, sum, imp_binary(c, &tn_op_multiply, wave, imp_const(c, TN_F64, v[i])));
    }
    return imp_choose(c, imp_binary(c, &tn_op_greater, turn, imp_const(c, TN_F64, 0)), sum, one);
}

/* Sums of cosines: a[0] - a[1] cos(2 pi k / n) + a[2] cos(4 pi k / n). */
static void cosine_window(imp_node *c, const double a[3])
{
    tn_dtype t = TN_F32;
    int64_t type = imp_attr_int(c, "output_datatype", 1);
    bool periodic = imp_attr_int(c, "periodic", 1) != 0;
    if (c->bad || !onnx_dtype(c->im, type, "output_datatype", c->loc, &t)) {
        c->bad = true;
        return;
    }
    if (imp_is_late(c, 0)) {
        imp_out(c, 0, imp_cast(c, late_window(c, (const double[]){a[0], -a[1], a[2]}, periodic), t));
        return;
    }
    int64_t n = size_in(c, 0, "the size", 0);
    table w = table_new(c, t, (size_t)n);
    double turn = (double)(periodic ? n : n - 1);
    for (int64_t k = 0; k < n; k++) {
        double x = turn > 0 ? 2 * pi * (double)k / turn : 0;
        table_set(&w, (size_t)k, turn > 0 ? a[0] - a[1] * cos(x) + a[2] * cos(2 * x) : 1);
    }
    imp_out(c, 0, table_done(c, &w, 1, &n));
}

static void hann(imp_node *c) { cosine_window(c, (const double[]){0.5, 0.5, 0}); }

static void hamming(imp_node *c) { cosine_window(c, (const double[]){25.0 / 46, 21.0 / 46, 0}); }

static void blackman(imp_node *c) { cosine_window(c, (const double[]){0.42, 0.5, 0.08}); }

/* ---- MelWeightMatrix ---- */

static double hertz_in(imp_node *c, uint32_t i, const char *what)
{
    double v = 0;
    if (!imp_scalar(c, imp_in(c, i), &v))
        imp_fail(c, "onnx-E016", "%s is computed at run time, but must be known at compile time", what);
    else if (!(v >= 0 && v < 1e12))
        imp_fail(c, "onnx-E009", "%s is %g, which is not a frequency", what, v);
    return v;
}

/* Column i rises from 0 at edge[0] to 1 at edge[1] and falls to 0 at edge[2]. */
static void mel_column(table *w, int64_t i, int64_t bands, int64_t rows, const int64_t edge[3])
{
    for (int64_t k = edge[0]; k <= edge[1] && k < rows; k++)
        if (edge[1] > edge[0])
            table_set(w, (size_t)(k * bands + i), (double)(k - edge[0]) / (double)(edge[1] - edge[0]));
    if (edge[1] == edge[0] && edge[1] < rows)
        table_set(w, (size_t)(edge[1] * bands + i), 1);
    for (int64_t k = edge[1]; k < edge[2] && k < rows; k++)
        table_set(w, (size_t)(k * bands + i), (double)(edge[2] - k) / (double)(edge[2] - edge[1]));
}

/* 2595 log10(1 + hertz / 700) */
static tn_value mel_of(imp_node *c, uint32_t i)
{
    tn_value v = imp_cast(c, imp_in(c, i), TN_F64);
    v = imp_rank(v) ? imp_reshape(c, v, 0, NULL) : v;
    v = imp_binary(c, &tn_op_divide, v, imp_const(c, TN_F64, 700));
    v = imp_unary(c, &tn_op_log, imp_binary(c, &tn_op_add, v, imp_const(c, TN_F64, 1)));
    return imp_binary(c, &tn_op_multiply, v, imp_const(c, TN_F64, 2595 / log(10)));
}

/* The bins where bands begin, peak and end: int64 [bands + 2]. */
static tn_value late_edges(imp_node *c, const tn_expr *bands)
{
    const tn_op *add = &tn_op_add, *mul = &tn_op_multiply, *div = &tn_op_divide, *sub = &tn_op_subtract;
    tn_value low = mel_of(c, 3), high = mel_of(c, 4), one = imp_const(c, TN_F64, 1);
    tn_value i = imp_cast(c, imp_count_up(c, tn_add(c->pool, bands, tn_idx(c->pool, 2))), TN_F64);
    tn_value n = imp_cast(c, imp_extent_of(c, i, 0), TN_F64), rate = imp_cast(c, imp_in(c, 2), TN_F64),
             size = imp_cast(c, imp_in(c, 1), TN_F64);
    rate = imp_rank(rate) ? imp_reshape(c, rate, 0, NULL) : rate;
    size = imp_rank(size) ? imp_reshape(c, size, 0, NULL) : size;
    tn_value mel = imp_binary(c, mul, i, imp_binary(c, div, imp_binary(c, sub, high, low), n));
    mel = imp_binary(c, add, mel, low);
    tn_value power = imp_unary(c, &tn_op_exp, imp_binary(c, mul, mel, imp_const(c, TN_F64, log(10) / 2595)));
    tn_value hertz = imp_with(c, mul, imp_binary(c, sub, power, one), 700);
    tn_value bin = imp_binary(c, div, imp_binary(c, mul, imp_binary(c, add, size, one), hertz), rate);
    bin = imp_cast(c, imp_unary(c, &tn_op_floor, bin), TN_I64);
    return imp_binary(c, &tn_op_maximum, bin, imp_i64(c, 0));
}

/* (a - b) / (d - e) */
static tn_value fraction(imp_node *c, tn_value a, tn_value b, tn_value d, tn_value e)
{
    a = imp_cast(c, imp_binary(c, &tn_op_subtract, a, b), TN_F64);
    d = imp_cast(c, imp_binary(c, &tn_op_subtract, d, e), TN_F64);
    return imp_binary(c, &tn_op_divide, a, d);
}

/* low <= v < high */
static tn_value is_between(imp_node *c, tn_value low, tn_value v, tn_value high)
{
    tn_value reached = imp_binary(c, &tn_op_less_equal, low, v);
    return imp_binary(c, &tn_op_logical_and, reached, imp_binary(c, &tn_op_less, v, high));
}

/* As mel_column has it, for all columns. */
static void late_mel(imp_node *c, tn_dtype t)
{
    const tn_expr *bands = imp_size_in(c, imp_in(c, 0), "num_mel_bins"),
                  *n = imp_size_in(c, imp_in(c, 1), "dft_length");
    if (c->bad)
        return;
    const tn_expr *rows =
        imp_simplify(c, tn_add(c->pool, tn_fdiv(c->pool, n, tn_idx(c->pool, 2)), tn_idx(c->pool, 1)));
    tn_value edges = late_edges(c, bands), k = imp_unsqueeze(c, imp_count_up(c, rows), 1), e[3];
    tn_value first = imp_count_up(c, bands);
    for (int i = 0; i < 3; i++)
        e[i] = imp_take(c, edges, imp_binary(c, &tn_op_add, first, imp_i64(c, i)), 0);
    tn_value up = fraction(c, k, e[0], e[1], e[0]), down = fraction(c, e[2], k, e[2], e[1]);
    tn_value zero = imp_const(c, TN_F64, 0), peak = imp_binary(c, &tn_op_equal, k, e[1]);
    tn_value rises = is_between(c, e[0], k, e[1]), falls = is_between(c, e[1], k, e[2]);
    tn_value v = imp_choose(c, rises, up, imp_choose(c, falls, down, zero));
    imp_out(c, 0, imp_cast(c, imp_choose(c, peak, imp_const(c, TN_F64, 1), v), t));
}

static void mel_weight_matrix(imp_node *c)
{
    tn_dtype t = TN_F32;
    int64_t type = imp_attr_int(c, "output_datatype", 1);
    double v;
    bool late = false;
    if (!c->bad && !onnx_dtype(c->im, type, "output_datatype", c->loc, &t))
        c->bad = true;
    for (uint32_t i = 0; i < 5 && !c->bad; i++)
        late = late || (imp_has(c, i) && !imp_scalar(c, imp_in(c, i), &v));
    if (late) {
        late_mel(c, t);
        return;
    }
    int64_t bands = size_in(c, 0, "num_mel_bins", 1), n = size_in(c, 1, "dft_length", 1),
            rate = imp_int_in(c, imp_in(c, 2), "sample_rate");
    double low = hertz_in(c, 3, "lower_edge_hertz"), high = hertz_in(c, 4, "upper_edge_hertz");
    int64_t rows = n / 2 + 1;
    if (!c->bad && (rate < 1 || rows > MAX_SIGNAL / bands))
        imp_fail(c, "onnx-E009", "sample_rate %lld, or a matrix of %lld x %lld, is out of range",
                 (long long)rate, (long long)rows, (long long)bands);
    if (c->bad)
        return;
    table w = table_new(c, t, (size_t)(rows * bands));
    int64_t *edge = TN_NEW_N(c->arena, int64_t, (size_t)bands + 2);
    for (int64_t i = 0; i < rows * bands; i++)
        table_set(&w, (size_t)i, 0);
    low = 2595 * log10(1 + low / 700);
    high = 2595 * log10(1 + high / 700);
    for (int64_t i = 0; i < bands + 2; i++) {
        double mel = (double)i * ((high - low) / (double)(bands + 2)) + low;
        double bin = floor((double)(n + 1) * (700 * (pow(10, mel / 2595) - 1)) / (double)rate);
        edge[i] = (int64_t)fmin(fmax(bin, 0), MAX_SIGNAL);
    }
    for (int64_t i = 0; i < bands; i++)
        mel_column(&w, i, bands, rows, edge + i);
    imp_out(c, 0, table_done(c, &w, 2, (const int64_t[]){rows, bands}));
}

/* ---- TfIdfVectorizer ---- */

static tn_value ints_constant(imp_node *c, tn_ints v) { return imp_const_ints(c, TN_I64, 1, v.n, v.at); }

/* One for each n-gram. */
static tn_value weights_of(imp_node *c, int64_t n)
{
    const imp_attr *a = imp_attr_find(c, "weights", IMP_A_FLOATS);
    if (!a || c->bad)
        return (tn_value){0};
    if (a->floats.n != (size_t)n) {
        imp_fail(c, "onnx-E009", "attribute weights has %zu entries, but %lld are needed", a->floats.n,
                 (long long)n);
        return (tn_value){0};
    }
    return tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &n, a->floats.at, NULL));
}

/* Items that are texts, as the numbers that string.find gives them; those of the pool with them. */
static tn_value text_items(imp_node *c, tn_value x, tn_ints *pool)
{
    const imp_attr *a = imp_attr_find(c, "pool_strings", IMP_A_TEXTS);
    size_t n = a ? a->texts.n : 0;
    int64_t *item = TN_NEW_N(c->arena, int64_t, n), n_list;
    tn_strmap last = {0};
    uint64_t at;
    for (size_t i = 0; i < n; i++)
        tn_strmap_put(&last, (const char *)a->texts.at[i].at, a->texts.at[i].n, i);
    for (size_t i = 0; i < n; i++)
        item[i] =
            tn_strmap_get(&last, (const char *)a->texts.at[i].at, a->texts.at[i].n, &at) ? (int64_t)at : 0;
    tn_strmap_deinit(&last);
    *pool = (tn_ints){(uint32_t)n, item};
    if (!c->bad && !imp_is_text(x))
        imp_fail(c, "onnx-E086", "operand 0 is %s, but pool_strings are strings",
                 imp_type_text(c, imp_type(x)));
    return imp_binary(c, &tn_op_string_find, x, onnx_texts_attr(c, "pool_strings", &n_list));
}

static void tfidf_vectorizer(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ngram_attr a = {.min = imp_attr_int(c, "min_gram_length", 1),
                       .max = imp_attr_int(c, "max_gram_length", 1),
                       .skip = imp_attr_int(c, "max_skip_count", 0)};
    tn_ints pool = {0}, slots;
    a.mode = imp_attr_string(c, "mode", "TF");
    if (strcmp(a.mode, "TF") != 0 && strcmp(a.mode, "IDF") != 0 && strcmp(a.mode, "TFIDF") != 0)
        imp_fail(c, "onnx-E009", "mode is \"%s\"; TF, IDF and TFIDF are known", a.mode);
    bool texts = imp_has_attr(c, "pool_strings");
    if (!texts)
        imp_attr_need(c, "pool_int64s");
    imp_attr_need(c, "ngram_counts");
    imp_attr_need(c, "ngram_indexes");
    if (texts)
        x = text_items(c, x, &pool);
    else
        (void)imp_attr_ints(c, "pool_int64s", &pool);
    (void)imp_attr_ints(c, "ngram_counts", &a.counts);
    (void)imp_attr_ints(c, "ngram_indexes", &slots);
    for (uint32_t i = 0; i < slots.n && !c->bad; i++) {
        if (slots.at[i] < 0 || slots.at[i] >= MAX_SIGNAL)
            imp_fail(c, "onnx-E009", "ngram_indexes[%u] is %lld; the model is damaged", (unsigned)i,
                     (long long)slots.at[i]);
        a.units = slots.at[i] >= a.units ? slots.at[i] + 1 : a.units;
    }
    if (c->bad)
        return;
    tn_value in[] = {x, ints_constant(c, pool), ints_constant(c, slots), weights_of(c, slots.n)};
    imp_out(c, 0, imp_call(c, &tn_op_ngram_count, &a, 4, in));
}

// clang-format off
const imp_row onnx_rows_signal[] = {
    {"DFT",             17,  0, 3, 1, dft,               NULL},
    {"STFT",            17,  0, 4, 1, stft,              NULL},
    {"HannWindow",      17,  0, 1, 1, hann,              NULL},
    {"HammingWindow",   17,  0, 1, 1, hamming,           NULL},
    {"BlackmanWindow",  17,  0, 1, 1, blackman,          NULL},
    {"MelWeightMatrix", 17,  0, 5, 1, mel_weight_matrix, NULL},
    {"TfIdfVectorizer", 9,  28, 1, 1, tfidf_vectorizer,  NULL},
    {0},
};
// clang-format on
