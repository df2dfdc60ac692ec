/* Signals: frames of a signal, the discrete Fourier transform, counts of n-grams. */
#include "op/code.h"

#include "op/signal/signal.h"

#include <string.h>

/* ---- frame ---- */

static tn_status frame_infer(tn_graph *g, tn_node *n)
{
    const tn_frame_attr *a = n->attr;
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, 3, &t));
    const tn_expr *length, *step;
    TN_TRY(tn_rule_extent(g, n, "length", a->length, &length));
    TN_TRY(tn_rule_extent(g, n, "step", a->step, &step));
    if (tn_is_value(length, 0) || tn_is_value(step, 0))
        return tn_rule_fail(g, n, "op-E007", "length %s and step %s must be at least 1",
                            tn_rule_dim_text(g, length), tn_rule_dim_text(g, step));
    tn_pool *p = g->pool;
    const tn_expr *room = tn_sub(p, t->dim[1], length);
    const tn_expr *dim[] = {t->dim[0], tn_add(p, tn_fdiv(p, room, step), tn_idx(p, 1)), length, t->dim[2]};
    return tn_rule_result(g, n, 0, t->dtype, 4, dim);
}

static void frame_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_frame_attr *a = n->attr;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "frame", "injective", "b f i c");
    const tn_expr *at = tn_add(te->pool, tn_mul(te->pool, t->axis[1], a->step.at[0]), t->axis[2]);
    tn_te_define(te, t, tn_at3(te, in[0], t->axis[0], at, t->axis[3]));
}

/* clang-format off */
static const tn_attr_field frame_fields[] = TN_ATTR_TABLE(tn_frame_attr, TN_FRAME_ATTRS);
static const char *const data_in[] = {"data"};

const tn_op tn_op_frame = {
    .name = "frame",
        .doc = "Frames of a signal [batch, length, c], which may overlap: [batch, frames, length of a frame, c].",
    .attr_size = sizeof(tn_frame_attr), .attr = frame_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_INJECTIVE, .in_name = data_in,
    .infer = frame_infer, .compute = frame_compute,
};
/* clang-format on */

/* ---- dft ----
 * Stockham's transform, decimation in frequency: n = r_1 r_2 ..., and the stage of radix r takes, with l the product
 * of the radices before it and m = n / (l r),
 *
 *     y[q + l (r p + a)] = w^(l p a) * sum over b of x[q + l (p + m b)] * w^(n/r a b),   w = e^(-2 pi i / n)
 *
 * for p < m, q < l, a < r. All rows take the same steps, so schedules may make lanes of them. A backward transform is
 * the forward one between two conjugations. Cost: rows * n * (sum of the radices) multiply-adds of complex numbers. */

enum { DATA = 0, TABLE };

static tn_status dft_infer(tn_graph *g, tn_node *n)
{
    const tn_dft_attr *a = n->attr;
    const tn_type *x, *w;
    int64_t size, parts;
    TN_TRY(tn_rule_tensor(g, n, DATA, 3, &x));
    TN_TRY(tn_rule_tensor(g, n, TABLE, 2, &w));
    TN_TRY(tn_rule_float(g, n, DATA));
    TN_TRY(tn_rule_same_dtype(g, n, TABLE));
    if (!tn_is_int(x->dim[2], &parts) || parts < 1 || parts > 2)
        return tn_rule_fail(g, n, "op-E008", "the last dimension of data %s must be 1 (real) or 2 (complex)",
                            tn_rule_type_text(g, x));
    if (!tn_is_int(w->dim[0], &size) || size < 1 || size > 1 << 24 || !tn_is_value(w->dim[1], 2))
        return tn_rule_fail(g, n, "op-E008", "the table %s must be [n, 2] with n in [1, 2^24]",
                            tn_rule_type_text(g, w));
    bool real = a->inverse && a->onesided;
    const tn_expr *dim[] = {x->dim[0], tn_idx(g->pool, a->onesided && !a->inverse ? size / 2 + 1 : size),
                            tn_idx(g->pool, real ? 1 : 2)};
    return tn_rule_result(g, n, 0, x->dtype, 3, dim);
}

typedef struct dft {
    tn_code c;
    const tn_dft_attr *a;
    const tn_tensor *in, *table;
    tn_tensor *out;
    tn_dtype t;
    int64_t n;
    const tn_expr *row;
    uint32_t buffer[2]; /* [n, 2] */
} dft;

typedef struct complex_expr {
    const tn_expr *re, *im;
} complex_expr;

static complex_expr c_add(tn_pool *p, complex_expr a, complex_expr b)
{
    return (complex_expr){tn_add(p, a.re, b.re), tn_add(p, a.im, b.im)};
}

static complex_expr c_sub(tn_pool *p, complex_expr a, complex_expr b)
{
    return (complex_expr){tn_sub(p, a.re, b.re), tn_sub(p, a.im, b.im)};
}

static complex_expr c_mul(tn_pool *p, complex_expr a, complex_expr b)
{
    return (complex_expr){tn_sub(p, tn_mul(p, a.re, b.re), tn_mul(p, a.im, b.im)),
                          tn_add(p, tn_mul(p, a.re, b.im), tn_mul(p, a.im, b.re))};
}

static complex_expr c_let(dft *d, const char *name, complex_expr v)
{
    return (complex_expr){tn_code_let(&d->c, name, v.re), tn_code_let(&d->c, name, v.im)};
}

static complex_expr get(dft *d, uint32_t buffer, const tn_expr *i)
{
    const tn_expr *re[] = {i, tn_idx(d->c.p, 0)}, *im[] = {i, tn_idx(d->c.p, 1)};
    return (complex_expr){tn_code_load(&d->c, buffer, 2, re), tn_code_load(&d->c, buffer, 2, im)};
}

static void set(dft *d, uint32_t buffer, const tn_expr *i, complex_expr v)
{
    const tn_expr *re[] = {i, tn_idx(d->c.p, 0)}, *im[] = {i, tn_idx(d->c.p, 1)};
    tn_code_store(&d->c, buffer, 2, re, v.re);
    tn_code_store(&d->c, buffer, 2, im, v.im);
}

/* w^i = cos - i sin, from the table of (cos, sin). */
static complex_expr root(dft *d, const tn_expr *i)
{
    tn_pool *p = d->c.p;
    const tn_expr *c = tn_at2(d->c.te, d->table, i, tn_idx(p, 0)),
                  *s = tn_at2(d->c.te, d->table, i, tn_idx(p, 1));
    return (complex_expr){tn_cast(p, d->t, c), tn_sub(p, tn_const(p, d->t, 0), tn_cast(p, d->t, s))};
}

/* ---- input and output ---- */

/* Part of element k of the row, 0 behind its end. */
static const tn_expr *part_at(dft *d, const tn_expr *k, int64_t part)
{
    tn_pool *p = d->c.p;
    const tn_expr *index[] = {d->row, k, tn_idx(p, part)}, *zero = tn_const(p, d->in->dtype, 0);
    if (part == 1 && tn_is_value(d->in->dim[2], 1))
        return tn_const(p, d->t, 0);
    return tn_cast(p, d->t, tn_at_if(d->c.te, d->in, 3, index, tn_lt(p, k, d->in->dim[1]), zero));
}

/* Element k, conjugated for a backward transform; upper: it is the conjugate of element n - k. */
static void load(dft *d, const tn_expr *k, bool upper)
{
    tn_pool *p = d->c.p;
    const tn_expr *from = upper ? tn_sub(p, tn_idx(p, d->n), k) : k;
    complex_expr v = {part_at(d, from, 0), part_at(d, from, 1)};
    if (d->a->inverse && !upper)
        v.im = tn_sub(p, tn_const(p, d->t, 0), v.im);
    set(d, d->buffer[0], k, v);
}

static void load_row(dft *d)
{
    tn_pool *p = d->c.p;
    tn_body *back = d->c.at;
    bool mirrored = d->a->inverse && d->a->onesided;
    int64_t low = mirrored ? d->n / 2 + 1 : d->n;
    load(d, tn_code_for(&d->c, "k", tn_idx(p, low)), false);
    d->c.at = back;
    if (d->n > low)
        load(d, tn_add(p, tn_code_for(&d->c, "k", tn_idx(p, d->n - low)), tn_idx(p, low)), true);
    d->c.at = back;
}

static void emit(dft *d, const tn_expr *k, int64_t part, const tn_expr *v)
{
    const tn_expr *index[] = {d->row, k, tn_idx(d->c.p, part)};
    tn_code_store(&d->c, d->out->buffer, 3, index, tn_cast(d->c.p, d->out->dtype, v));
}

static void store_row(dft *d, uint32_t from)
{
    tn_pool *p = d->c.p;
    tn_body *back = d->c.at;
    const tn_expr *k = tn_code_for(&d->c, "k", d->out->dim[1]);
    const tn_expr *scale = tn_const(p, d->t, 1 / (double)d->n);
    complex_expr v = get(d, from, k);
    emit(d, k, 0, d->a->inverse ? tn_mul(p, v.re, scale) : v.re);
    if (tn_is_value(d->out->dim[2], 2))
        emit(d, k, 1, d->a->inverse ? tn_mul(p, v.im, tn_const(p, d->t, -1 / (double)d->n)) : v.im);
    d->c.at = back;
}

/* ---- stages ---- */

typedef struct stage {
    int64_t r, l, m;
    uint32_t from, to;
    const tn_expr *p, *q; /* loop variables */
} stage;

static const tn_expr *from_at(dft *d, const stage *s, const tn_expr *b)
{
    tn_pool *p = d->c.p;
    const tn_expr *at = tn_add(p, s->p, tn_mul(p, b, tn_idx(p, s->m)));
    return tn_add(p, s->q, tn_mul(p, at, tn_idx(p, s->l)));
}

/* The sum of output a, turned by w^(l p a), to its place. */
static void finish(dft *d, const stage *s, const tn_expr *a, complex_expr sum)
{
    tn_pool *p = d->c.p;
    const tn_expr *to = tn_add(p, tn_mul(p, s->p, tn_idx(p, s->r)), a);
    if (!tn_is_value(a, 0) && s->m > 1)
        sum = c_mul(p, sum, root(d, tn_mul(p, tn_mul(p, s->p, a), tn_idx(p, s->l))));
    set(d, s->to, tn_add(p, s->q, tn_mul(p, to, tn_idx(p, s->l))), sum);
}

static void radix_2(dft *d, const stage *s)
{
    tn_pool *p = d->c.p;
    complex_expr x[2];
    for (int64_t b = 0; b < 2; b++)
        x[b] = c_let(d, "x", get(d, s->from, from_at(d, s, tn_idx(p, b))));
    finish(d, s, tn_idx(p, 0), c_add(p, x[0], x[1]));
    finish(d, s, tn_idx(p, 1), c_sub(p, x[0], x[1]));
}

static void radix_4(dft *d, const stage *s)
{
    tn_pool *p = d->c.p;
    complex_expr x[4];
    for (int64_t b = 0; b < 4; b++)
        x[b] = c_let(d, "x", get(d, s->from, from_at(d, s, tn_idx(p, b))));
    complex_expr e = c_let(d, "e", c_add(p, x[0], x[2])), f = c_let(d, "f", c_sub(p, x[0], x[2]));
    complex_expr g = c_let(d, "g", c_add(p, x[1], x[3])), h = c_let(d, "h", c_sub(p, x[1], x[3]));
    complex_expr turned = {h.im, tn_sub(p, tn_const(p, d->t, 0), h.re)}; /* -i h */
    finish(d, s, tn_idx(p, 0), c_add(p, e, g));
    finish(d, s, tn_idx(p, 1), c_add(p, f, turned));
    finish(d, s, tn_idx(p, 2), c_sub(p, e, g));
    finish(d, s, tn_idx(p, 3), c_sub(p, f, turned));
}

/* Any radix: each output summed in registers. */
static void radix_any(dft *d, const stage *s)
{
    tn_pool *p = d->c.p;
    const tn_expr *a = tn_code_for(&d->c, "a", tn_idx(p, s->r)), *zero = tn_idx(p, 0);
    const tn_expr *dim[] = {tn_idx(p, 1), tn_idx(p, 2)};
    uint32_t sum = tn_code_buffer(&d->c, "sum", d->t, 2, dim, TN_SCOPE_REGISTER);
    tn_body *back = d->c.at;
    set(d, sum, zero, (complex_expr){tn_const(p, d->t, 0), tn_const(p, d->t, 0)});
    const tn_expr *b = tn_code_for(&d->c, "b", tn_idx(p, s->r));
    const tn_expr *turn = tn_mul(p, tn_fmod(p, tn_mul(p, a, b), tn_idx(p, s->r)), tn_idx(p, d->n / s->r));
    set(d, sum, zero,
        c_add(p, get(d, sum, zero), c_mul(p, get(d, s->from, from_at(d, s, b)), root(d, turn))));
    d->c.at = back;
    finish(d, s, a, get(d, sum, zero));
}

/* Odd radices first: of real data the frequency n / 2 is a difference of sums then, real to the last bit. */
static int64_t next_radix(int64_t rest)
{
    int64_t odd = rest, r = 3;
    while (odd % 2 == 0)
        odd /= 2;
    if (odd == 1)
        return rest % 4 == 0 ? 4 : 2;
    while (odd % r != 0)
        r = r * r > odd ? odd : r + 2;
    return r;
}

static uint32_t all_stages(dft *d)
{
    int64_t done = 1, rest = d->n;
    int turn = 0;
    while (rest > 1) {
        int64_t r = next_radix(rest);
        tn_body *back = d->c.at;
        stage s = {.r = r, .l = done, .m = rest / r, .from = d->buffer[turn], .to = d->buffer[!turn]};
        s.p = tn_code_for(&d->c, "p", tn_idx(d->c.p, s.m));
        s.q = tn_code_for(&d->c, "q", tn_idx(d->c.p, s.l));
        (r == 2 ? radix_2 : r == 4 ? radix_4 : radix_any)(d, &s);
        d->c.at = back;
        done *= r;
        rest /= r;
        turn = !turn;
    }
    return d->buffer[turn];
}

static void dft_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    dft d = {.a = n->attr, .in = in[DATA], .table = in[TABLE], .n = in[TABLE]->dim[0]->u.i};
    tn_pool *p = te->pool;
    d.c = tn_code_open(te, n, 0, "dft", &d.out);
    out[0] = d.out;
    d.t = d.out->dtype.bits < 32 ? TN_F32 : d.out->dtype;
    tn_code_each(&d.c, 1, d.in->dim, &d.row);
    const tn_expr *dim[] = {tn_idx(p, d.n), tn_idx(p, 2)};
    for (int i = 0; i < 2; i++)
        d.buffer[i] = tn_code_buffer(&d.c, i ? "odd" : "even", d.t, 2, dim, TN_SCOPE_LOCAL);
    load_row(&d);
    store_row(&d, all_stages(&d));
}

/* clang-format off */
static const tn_attr_field dft_fields[] = TN_ATTR_TABLE(tn_dft_attr, TN_DFT_ATTRS);
static const char *const dft_in[] = {"data", "the table"};

const tn_op tn_op_dft = {
    .name = "dft",
        .doc = "Discrete Fourier transform of rows [rows, elements, 1 or 2], cut or filled with zeros to n elements; "
               "the table holds (cos, sin) of 2 pi k / n for k < n.",
    .attr_size = sizeof(tn_dft_attr), .attr = dft_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = dft_in,
    .infer = dft_infer, .body = dft_body,
};
/* clang-format on */

/* ---- ngram_count ---- */

enum { TOKENS = 0, POOL, SLOTS, WEIGHTS };

static tn_status ngram_infer(tn_graph *g, tn_node *n)
{
    const tn_ngram_attr *a = n->attr;
    const tn_type *x, *pool, *slots, *t;
    int64_t items, grams = 0, known;
    TN_TRY(tn_rule_tensor(g, n, TOKENS, -1, &x));
    TN_TRY(tn_rule_tensor(g, n, POOL, 1, &pool));
    TN_TRY(tn_rule_tensor(g, n, SLOTS, 1, &slots));
    if (x->n > 2 || !tn_dtype_is_int(x->dtype) || !tn_dtype_eq(pool->dtype, TN_I64) ||
        !tn_dtype_eq(slots->dtype, TN_I64))
        return tn_rule_fail(g, n, "op-E011", "tokens must be integers [n] or [batch, n], but are %s",
                            tn_rule_type_text(g, x));
    if (!tn_is_int(pool->dim[0], &items) || !tn_is_int(slots->dim[0], &known) || a->units < 1 || a->min < 1 ||
        a->min > a->max || a->skip < 0 || a->skip > INT32_MAX || !a->counts.n)
        return tn_rule_fail(g, n, "op-E007", "units, min, max, skip or counts are out of range");
    for (uint32_t i = 0; i < a->counts.n; i++) {
        int64_t end = i + 1 < a->counts.n ? a->counts.at[i + 1] : items;
        if (a->counts.at[i] < 0 || end < a->counts.at[i] || end > items ||
            (end - a->counts.at[i]) % (i + 1) != 0)
            return tn_rule_fail(g, n, "op-E007", "counts[%u] is %lld, which does not match a pool of %lld",
                                (unsigned)i, (long long)a->counts.at[i], (long long)items);
        grams += (end - a->counts.at[i]) / (i + 1);
    }
    if (grams > known)
        return tn_rule_fail(g, n, "op-E008", "the pool has %lld n-grams, but slots is %s", (long long)grams,
                            tn_rule_type_text(g, slots));
    if (n->nin > WEIGHTS && tn_in(n, WEIGHTS).def) {
        TN_TRY(tn_rule_tensor(g, n, WEIGHTS, 1, &t));
        if (!tn_is_value(t->dim[0], known) || !tn_dtype_eq(t->dtype, TN_F32))
            return tn_rule_fail(g, n, "op-E008", "weights are %s, but must be %lld float32",
                                tn_rule_type_text(g, t), (long long)known);
    }
    const tn_expr *dim[] = {x->n == 2 ? x->dim[0] : tn_idx(g->pool, a->units), tn_idx(g->pool, a->units)};
    return tn_rule_result(g, n, 0, TN_F32, x->n == 2 ? 2 : 1, dim);
}

typedef struct ngrams {
    tn_code c;
    const tn_ngram_attr *a;
    tn_tensor *in[4], *out;
    const tn_expr *row, *length;
} ngrams;

static const tn_expr *token(ngrams *w, const tn_expr *i)
{
    const tn_tensor *x = w->in[TOKENS];
    const tn_expr *v = x->ndim == 2   ? tn_at2(w->c.te, x, w->row, i)
                       : x->ndim == 1 ? tn_at1(w->c.te, x, i)
                                      : tn_at(w->c.te, x, 0, NULL);
    return tn_cast(w->c.p, TN_I64, v);
}

static const tn_expr *sum_at(ngrams *w, const tn_expr *slot)
{
    const tn_expr *index[] = {w->row, slot};
    return tn_code_load(&w->c, w->out->buffer, w->out->ndim, index + (2 - w->out->ndim));
}

static void set_sum(ngrams *w, const tn_expr *slot, const tn_expr *value)
{
    const tn_expr *index[] = {w->row, slot};
    tn_code_store(&w->c, w->out->buffer, w->out->ndim, index + (2 - w->out->ndim), value);
}

/* What n-gram `id` of the pool, which matches, makes of the sum of its slot: once more, its weight more, or
 * its weight. */
static const tn_expr *counted(ngrams *w, const tn_expr *sum, const tn_expr *id)
{
    tn_pool *p = w->c.p;
    const tn_expr *one = tn_flt(p, TN_F32, 1);
    if (strcmp(w->a->mode, "TF") == 0)
        return tn_add(p, sum, one);
    const tn_expr *weight = w->in[WEIGHTS] ? tn_at1(w->c.te, w->in[WEIGHTS], id) : one;
    return strcmp(w->a->mode, "IDF") == 0 ? weight : tn_add(p, sum, weight);
}

/* All n-grams of `size` tokens: their number is `count`, their tokens begin at `at` in the pool, their slots at
 * `id`. One that stands further apart than its neighbours by up to `skip` counts each time. */
static void count_size(ngrams *w, int64_t size, int64_t at, int64_t count, int64_t id)
{
    tn_pool *p = w->c.p;
    tn_body *back = w->c.at;
    const tn_expr *g = tn_code_for(&w->c, "g", tn_idx(p, count)), *match = NULL;
    const tn_expr *number = tn_add(p, g, tn_idx(p, id));
    const tn_expr *slot = tn_cast(p, TN_IDX, tn_at1(w->c.te, w->in[SLOTS], number));
    slot = tn_max(p, tn_min(p, slot, tn_idx(p, w->a->units - 1)), tn_idx(p, 0));
    const tn_expr *d = tn_code_for(&w->c, "skip", tn_idx(p, size == 1 ? 1 : w->a->skip + 1));
    const tn_expr *apart = tn_add(p, d, tn_idx(p, 1));
    const tn_expr *i = tn_code_for(
        &w->c, "i", tn_max(p, tn_idx(p, 0), tn_sub(p, w->length, tn_mul(p, apart, tn_idx(p, size - 1)))));
    for (int64_t k = 0; k < size; k++) {
        const tn_expr *of_pool = tn_add(p, tn_mul(p, g, tn_idx(p, size)), tn_idx(p, at + k));
        const tn_expr *same = tn_eq(p, token(w, tn_add(p, i, tn_mul(p, apart, tn_idx(p, k)))),
                                    tn_at1(w->c.te, w->in[POOL], of_pool));
        match = tn_rule_both(p, match, same);
    }
    const tn_expr *sum = sum_at(w, slot);
    set_sum(w, slot, tn_select(p, match, counted(w, sum, number), sum));
    w->c.at = back;
}

static void ngram_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    ngrams w = {.a = n->attr, .in = {in[TOKENS], in[POOL], in[SLOTS], n->nin > WEIGHTS ? in[WEIGHTS] : NULL}};
    tn_pool *p = te->pool;
    int rank = in[TOKENS]->ndim;
    int64_t id = 0;
    const tn_expr *units = tn_idx(p, w.a->units), *zero = tn_flt(p, TN_F32, 0);
    w.c = tn_code_open(te, n, 0, "ngram_count", &w.out);
    out[0] = w.out;
    w.length = rank ? in[TOKENS]->dim[rank - 1] : tn_idx(p, 1);
    const tn_expr *rows = rank == 2 ? in[TOKENS]->dim[0] : tn_idx(p, 1);
    tn_code_each(&w.c, 1, &rows, &w.row);
    tn_body *back = w.c.at;
    set_sum(&w, tn_code_for(&w.c, "u", units), zero);
    w.c.at = back;
    for (uint32_t i = 0; i < w.a->counts.n; i++) {
        int64_t size = i + 1, end = i + 1 < w.a->counts.n ? w.a->counts.at[i + 1] : in[POOL]->dim[0]->u.i;
        int64_t count = (end - w.a->counts.at[i]) / size;
        if (count > 0 && size >= w.a->min && size <= w.a->max)
            count_size(&w, size, w.a->counts.at[i], count, id);
        id += count;
    }
}

/* clang-format off */
static const tn_attr_field ngram_fields[] = TN_ATTR_TABLE(tn_ngram_attr, TN_NGRAM_ATTRS);
static const char *const ngram_in[] = {"tokens", "the pool", "slots", "weights"};

const tn_op tn_op_ngram_count = {
    .name = "ngram_count",
        .doc = "How often the n-grams of a pool occur in rows of tokens; slots[g] is where n-gram g is counted, and "
               "weights[g] what it counts.",
    .attr_size = sizeof(tn_ngram_attr), .attr = ngram_fields,
    .nin = 4, .min_in = 3, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = ngram_in,
    .infer = ngram_infer, .body = ngram_body,
};
/* clang-format on */
