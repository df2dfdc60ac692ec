/* Products of float32 by products of bfloat16, for machines that multiply tiles of these many times faster (Henry, Tang
 * and Heinecke: Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations, 2019).
 *
 * A float32 of ordinary size is exactly x0 + x1 + x2: each part is a bfloat16, the nearest to what is left by those
 * before it. Of the nine products of two such numbers, six are added in float32:
 *
 *   x*w  ~  x2*w0 + x1*w0 + x1*w1 + x0*w1 + x0*w2 + x0*w0
 *
 * which is 2^-23 |x*w| off at most. For each 32 terms, a row of x has the parts x2, x1, x0 and x0 again, 32
 * of each, and a row of w has w0, w1 and w2. One sum of 6 K terms goes over both, so that what six products
 * read stays in L1:
 *
 *   product    0        1        2        3        4        5
 *   part of x  x2       x1       x1       x0       x0       x0'
 *   of w       w0       w0       w1       w1       w2       w0
 *
 * Where x is an infinity or NaN it is so in x0' alone and 0 in the other parts, or an infinity times the 0 of
 * a low part of w would be NaN.
 *
 * Units that multiply such tiles take denormals as 0, so none may occur. Each row of x is multiplied by a
 * power of two that takes its largest finite element to [2^93, 2^94), or by 2^126 if that is less; what is
 * then less than 2^-46 of a part is 0. Weights must be 0 or in [2^-50, 2^16]. So all parts of x are multiples
 * of 2^-53, those of w of 2^-73, all sums of products multiples of 2^-126, and since K is at most 2^16, none
 * is above 2^127.
 *
 * What that drops of a row is at most 2^-46 in each term, 2^-139 of its largest element. It could be all of a sum where
 * weights are 0, so a row of weights must have none (or nothing but them): then the sum of all |x*w| is at least
 * 2^93 * 2^-50, and what is dropped is below 2^-70 of it. So for all operands the result is off as that of a loop over
 * float32, by (K + 3) * 2^-24 * sum of |x*w| at most (docs/numbers.md), and usually by less.
 *
 * Cost: six times the products, 8 bytes an element of x and 6 bytes a weight. */
#include "op/nn/bfloat.h"

#include "base/size.h"
#include "machine/machine.h"
#include "op/nn/nn.h"
#include "op/qnn/build.h"
#include "op/tensor/tensor.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BF16 TN_DT(TN_BFLOAT, 16)
#define U32 TN_DT(TN_UINT, 32)

enum { PARTS_X = 4, PARTS_W = 3, PRODUCTS = 6 };
enum { WHOLE = 32 }; /* terms of a part are a multiple of this */
enum { LONGEST = 1 << 16, LARGEST_W = 16, LEAST_W = -50, LEAST_PART = -46 };
enum { TOP = 93, MOST_POWER = 126 }; /* powers of two */
enum {
    BIAS = 127,
    FRACTION = 23,
    HALF = 0x8000
}; /* of float32: its fields; half of the last bit of a bfloat16 */

static int64_t whole(int64_t k) { return (k + WHOLE - 1) / WHOLE * WHOLE; }

static const char *const data_in[] = {"data", "scale"};

/* ---- nn.bfloat_scale: data [..., K] -> [..., 1] ---- */

static tn_status scale_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (!tn_dtype_eq(t->dtype, TN_F32))
        return tn_rule_fail(g, n, "op-E011", "data must be float32, but is %s",
                            tn_rule_dtype_text(g, t->dtype));
    if (t->n < 1)
        return tn_rule_fail(g, n, "op-E003", "data must have at least 1 dimension, but is %s",
                            tn_rule_type_text(g, t));
    memcpy(dim, t->dim, (size_t)t->n * sizeof *dim);
    dim[t->n - 1] = tn_idx(g->pool, 1);
    return tn_rule_result(g, n, 0, TN_F32, t->n, dim);
}

static const tn_expr *size_of(tn_pool *p, const tn_expr *x) { return tn_intrinsic1(p, TN_F_abs, x); }

static const tn_expr *is_finite(tn_pool *p, const tn_expr *x)
{
    return tn_le(p, size_of(p, x), tn_flt(p, TN_F32, FLT_MAX));
}

/* 2^-e for the power 2^e that rows are multiplied with, from the exponent of the largest element. */
static const tn_expr *inverse_power(tn_pool *p, const tn_expr *largest)
{
    const tn_expr *step = tn_int(p, TN_I32, 1 << FRACTION), *zero = tn_flt(p, TN_F32, 0);
    const tn_expr *exponent = tn_fdiv(p, tn_bitcast(p, TN_I32, tn_max(p, largest, zero)), step);
    const tn_expr *power = tn_sub(p, tn_int(p, TN_I32, TOP + BIAS), exponent);
    power = tn_min(p, power, tn_int(p, TN_I32, MOST_POWER));
    const tn_expr *field = tn_sub(p, tn_int(p, TN_I32, BIAS), power);
    return tn_bitcast(p, TN_F32, tn_mul(p, field, step));
}

static void scale_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *largest = tn_rule_out(te, n, 0, "largest", "reduce", NULL);
    const tn_expr *index[TN_RULE_MAX_RANK];
    int last = largest->ndim - 1;
    for (int i = 0; i < last; i++)
        index[i] = largest->axis[i];
    index[last] = tn_te_reduce_axis(te, largest, "k", in[0]->dim[last]);
    const tn_expr *x = tn_at(te, in[0], last + 1, index), *zero = tn_flt(p, TN_F32, 0);
    tn_te_reduce(te, largest, TN_RED_MAX, tn_select(p, is_finite(p, x), size_of(p, x), zero), NULL, NULL);
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "scale", "elementwise", NULL);
    tn_te_define(te, t, inverse_power(p, tn_at(te, largest, last + 1, t->axis)));
}

/* ---- nn.bfloat_parts: data [..., K], scale [..., 1] -> [..., 4 K' + 32], K' being K or the next multiple ---- */

/* The last 32 elements are nothing: rows a multiple of 4,096 bytes apart, as those of 4 * 512 elements are, take
 * tiles of some machines more than twice as long to read (measured: 5.9 ns, of 2,048 bytes 3.5 ns, others 2.4 ns). */
static int64_t row_of(int64_t k) { return PARTS_X * whole(k) + WHOLE; }

static tn_status parts_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t, *scale;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    int64_t k;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_tensor(g, n, 1, t->n, &scale));
    TN_TRY(tn_rule_same_dtype(g, n, 1));
    if (!tn_dtype_eq(t->dtype, TN_F32))
        return tn_rule_fail(g, n, "op-E011", "data must be float32, but is %s",
                            tn_rule_dtype_text(g, t->dtype));
    if (t->n < 1 || !tn_is_int(t->dim[t->n - 1], &k) || k > LONGEST)
        return tn_rule_fail(g, n, "op-E008", "the last dimension of data %s must be a number, at most %d",
                            tn_rule_type_text(g, t), LONGEST);
    for (int i = 0; i < t->n; i++) {
        dim[i] = t->dim[i];
        if (!tn_rule_agree(g, n, scale->dim[i], i == t->n - 1 ? tn_idx(g->pool, 1) : dim[i]))
            return tn_rule_fail(g, n, "op-E008", "scale %s must have a number for each row of data %s",
                                tn_rule_type_text(g, scale), tn_rule_type_text(g, t));
    }
    dim[t->n - 1] = tn_idx(g->pool, row_of(k));
    return tn_rule_result(g, n, 0, BF16, t->n, dim);
}

/* The bfloat16 next to x, as float32. x is far from the largest numbers. */
static const tn_expr *nearest(tn_pool *p, const tn_expr *x)
{
    const tn_expr *bits = tn_add(p, tn_bitcast(p, U32, x), tn_int(p, U32, HALF));
    return tn_bitcast(p, TN_F32, tn_bin(p, TN_E_BITAND, bits, tn_int(p, U32, 0xffff0000)));
}

/* A float32 whose low half is 0, or that is NaN, as a bfloat16. */
static const tn_expr *upper_half(tn_pool *p, const tn_expr *x)
{
    const tn_expr *bits = tn_bin(p, TN_E_SHR, tn_bitcast(p, U32, x), tn_int(p, U32, 16));
    return tn_bitcast(p, BF16, tn_cast(p, TN_DT(TN_UINT, 16), bits));
}

/* Part `number` (0: the smallest) of x. */
static const tn_expr *part_of(tn_pool *p, const tn_expr *x, const tn_expr *number)
{
    const tn_expr *zero = tn_flt(p, TN_F32, 0), *finite = is_finite(p, x), *part[PARTS_W], *left;
    left = tn_select(p, finite, x, zero);
    for (int i = 0; i < PARTS_W; i++) {
        const tn_expr *part_i = nearest(p, left), *small;
        small = tn_lt(p, size_of(p, part_i), tn_flt(p, TN_F32, ldexp(1, LEAST_PART)));
        part[i] = tn_select(p, small, zero, part_i);
        left = tn_sub(p, left, part_i);
    }
    const tn_expr *all = tn_select(p, finite, part[0], x), *at;
    for (int i = 0; i < PARTS_W; i++) {
        at = tn_eq(p, number, tn_idx(p, PARTS_W - 1 - i));
        all = tn_select(p, at, part[i], all);
    }
    return upper_half(p, all);
}

static void parts_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "parts", "injective", NULL);
    const tn_expr *index[TN_RULE_MAX_RANK], *row[TN_RULE_MAX_RANK], *block, *number, *each = tn_idx(p, WHOLE);
    int last = t->ndim - 1;
    int64_t k = 0;
    (void)tn_is_int(in[0]->dim[last], &k);
    for (int i = 0; i < last; i++)
        index[i] = row[i] = t->axis[i];
    block = tn_fdiv(p, t->axis[last], tn_idx(p, PARTS_X * WHOLE));
    number = tn_fmod(p, tn_fdiv(p, t->axis[last], each), tn_idx(p, PARTS_X));
    index[last] = tn_add(p, tn_mul(p, block, each), tn_fmod(p, t->axis[last], each));
    row[last] = tn_idx(p, 0);
    const tn_expr *power = tn_bin(p, TN_E_DIV, tn_flt(p, TN_F32, 1), tn_at(te, in[1], last + 1, row));
    const tn_expr *inside = tn_lt(p, index[last], tn_idx(p, k));
    const tn_expr *x = tn_at_if(te, in[0], last + 1, index, inside, tn_flt(p, TN_F32, 0));
    tn_te_define(te, t, part_of(p, tn_mul(p, x, power), number));
}

/* ---- nn.bfloat_dense: data [..., 4 K' + 32] x weight [N, 3 K'] -> [..., N] ---- */

static tn_status product_infer(tn_graph *g, tn_node *n)
{
    const tn_type *data, *weight;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    int64_t of_x, of_w;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &data));
    TN_TRY(tn_rule_tensor(g, n, 1, 2, &weight));
    TN_TRY(tn_rule_same_dtype(g, n, 1));
    if (!tn_dtype_eq(data->dtype, BF16))
        return tn_rule_fail(g, n, "op-E011", "data must be bfloat16, but is %s",
                            tn_rule_dtype_text(g, data->dtype));
    if (data->n < 1 || !tn_is_int(data->dim[data->n - 1], &of_x) || !tn_is_int(weight->dim[1], &of_w) ||
        of_w % (PARTS_W * WHOLE) || of_x != row_of(of_w / PARTS_W))
        return tn_rule_fail(
            g, n, "op-E008",
            "the last dimensions of data %s and weight %s must be 4 K + %d and 3 K, K a multiple of %d",
            tn_rule_type_text(g, data), tn_rule_type_text(g, weight), WHOLE, WHOLE);
    memcpy(dim, data->dim, (size_t)data->n * sizeof *dim);
    dim[data->n - 1] = weight->dim[0];
    return tn_rule_result(g, n, 0, TN_F32, data->n, dim);
}

/* Term r of all products: its place in a row of x or w, whose part is given, of so many. */
static const tn_expr *place_of(tn_pool *p, const tn_expr *r, const tn_expr *part, int parts)
{
    const tn_expr *block = tn_fdiv(p, r, tn_idx(p, PRODUCTS * WHOLE)),
                  *within = tn_fmod(p, r, tn_idx(p, WHOLE));
    const tn_expr *first = tn_add(p, tn_mul(p, block, tn_idx(p, parts)), part);
    return tn_add(p, tn_mul(p, first, tn_idx(p, WHOLE)), within);
}

/* The table above: (q + 1)/2 of x, q/2 of w but 0 at last. */
static const tn_expr *in_x(tn_pool *p, const tn_expr *r, const tn_expr *q)
{
    const tn_expr *next = tn_add(p, q, tn_idx(p, 1));
    return place_of(p, r, tn_fdiv(p, next, tn_idx(p, 2)), PARTS_X);
}

static const tn_expr *in_w(tn_pool *p, const tn_expr *r, const tn_expr *q)
{
    const tn_expr *half = tn_fdiv(p, q, tn_idx(p, 2)), *last = tn_fdiv(p, q, tn_idx(p, PRODUCTS - 1));
    return place_of(p, r, tn_sub(p, half, tn_mul(p, last, tn_idx(p, 2))), PARTS_W);
}

static void product_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "dense", TN_TAG_NORMAL, NULL);
    const tn_expr *index[TN_RULE_MAX_RANK];
    int last = t->ndim - 1;
    int64_t parts = 0;
    (void)tn_is_int(in[1]->dim[1], &parts);
    const tn_expr *r = tn_te_reduce_axis(te, t, "k", tn_idx(p, parts / PARTS_W * PRODUCTS));
    const tn_expr *q = tn_fmod(p, tn_fdiv(p, r, tn_idx(p, WHOLE)), tn_idx(p, PRODUCTS));
    for (int i = 0; i < last; i++)
        index[i] = t->axis[i];
    index[last] = in_x(p, r, q);
    const tn_expr *x = tn_at(te, in[0], t->ndim, index), *w = tn_at2(te, in[1], t->axis[last], in_w(p, r, q));
    tn_te_sum(te, t, tn_rule_times(p, t->dtype, x, w), NULL);
}

/* As nn.dense; groups where tiles multiply them. */
static void product_layout(tn_layout_query *q)
{
    const tn_unit_row *tile = tn_rule_unit(q, TN_UNIT_MATRIX);
    int block = tn_machine_block(q->machine);
    int64_t units;
    q->in[0] = q->in[1] = q->out[0] = NULL;
    if (!tn_op_is(tn_in(q->node, 1).def, &tn_op_constant) || block < 2 ||
        !tn_is_int(tn_in_type(q->node, 1)->dim[0], &units))
        return;
    block = units > block ? 2 * block : block;
    q->in[1] = tile ? tn_rule_weight_layout(q, 1, "NK%dn%dk", block, tile->most[TN_UNIT_TERMS])
                    : tn_rule_weight_layout(q, 1, "NK%dn", block);
}

/* ---- the alternative of nn.dense ---- */

static float weight_at(const tn_blob *b, int64_t i)
{
    float w;
    memcpy(&w, (const char *)b->at + (size_t)i * sizeof w, sizeof w);
    return w;
}

/* Are all weights of ordinary size? */
static bool weights_fit(const tn_blob *b, int64_t n, int64_t k)
{
    const float least = ldexpf(1, LEAST_W), largest = ldexpf(1, LARGEST_W);
    for (int64_t i = 0; i < n; i++) {
        int64_t zeros = 0;
        for (int64_t j = 0; j < k; j++) {
            float w = fabsf(weight_at(b, i * k + j));
            zeros += w == 0;
            if (!(w == 0 || (w >= least && w <= largest)))
                return false;
        }
        if (zeros != 0 && zeros != k)
            return false;
    }
    return true;
}

typedef struct {
    int64_t rows, n, k;
} extents;

static bool extents_of(const tn_node *n, extents *out)
{
    const tn_type *x = tn_in_type(n, 0), *w = tn_in_type(n, 1);
    out->rows = 1;
    for (int i = 0; i < x->n - 1; i++) {
        int64_t d;
        if (!tn_is_int(x->dim[i], &d) || !tn_i64_mul(out->rows, d, &out->rows))
            return false;
    }
    return tn_is_int(w->dim[0], &out->n) && tn_is_int(w->dim[1], &out->k) && out->rows > 0 && out->n > 0 &&
           out->k > 0 && out->k <= LONGEST;
}

bool nn_bfloat_applies(const tn_node *n, const struct tn_machine *m)
{
    const tn_node *w = tn_in(n, 1).def;
    const tn_type *t = tn_in_type(n, 1);
    extents e;
    return tn_dtype_eq(tn_in_type(n, 0)->dtype, TN_F32) && tn_dtype_eq(t->dtype, TN_F32) &&
           tn_unit_here(TN_UNIT_MATRIX, BF16, BF16, TN_F32, 0, m, tn_machine_given) &&
           tn_op_is(w, &tn_op_constant) && w->blob && w->blob->at && !t->layout && extents_of(n, &e) &&
           weights_fit(w->blob, e.n, e.k);
}

/* Six products by tiles, a quarter more to read factors, and making the parts, against float32 by lanes. */
bool nn_bfloat_pays(const tn_node *n, const struct tn_machine *m)
{
    enum { SPLIT = 64 }; /* instructions for a vector of x, two a cycle */
    tn_tiles on = tn_machine_tiles(m, 2);
    const tn_unit_row *tile = tn_unit_here(TN_UNIT_MATRIX, BF16, BF16, TN_F32, 0, m, tn_machine_given);
    extents e;
    if (!tile || on.ops_a_cycle <= 0 || !extents_of(n, &e))
        return false;
    int64_t high = tile->most[TN_UNIT_ROWS], wide = tile->most[TN_UNIT_COLUMNS], block = tn_machine_block(m);
    double down = (double)(e.rows / high + (e.rows % high ? on.ends : 0)),
           across = (double)((e.n + wide - 1) / wide), terms = (double)(PRODUCTS * whole(e.k));
    double tiles = 1.25 * 2 * (down * (double)high) * (across * (double)wide) * terms / on.ops_a_cycle;
    double split = SPLIT / 2.0 / (double)block * (double)e.rows * (double)e.k;
    double columns = (double)((e.n + block - 1) / block * block);
    double direct = 2 * (double)e.rows * columns * (double)e.k / tn_machine_flops_a_cycle(m);
    double weights = (double)e.n * (double)e.k, wide_w = tn_machine_read_cycles(m, 4 * weights, 4 * weights),
           parts = 2.0 * PARTS_W * (double)e.n * (double)whole(e.k),
           parts_w = tn_machine_read_cycles(m, parts, parts);
    return fmax(tiles, parts_w) + split < fmax(direct, wide_w);
}

/* w as bfloat16: the nearest, or 0 where it is 0. */
static uint16_t narrow(float w, float *out_left)
{
    uint32_t bits;
    float nearest_w;
    memcpy(&bits, &w, sizeof bits);
    bits = (bits + HALF) & 0xffff0000;
    memcpy(&nearest_w, &bits, sizeof bits);
    *out_left = w - nearest_w;
    return (uint16_t)(bits >> 16);
}

static tn_value weight_parts(tn_graph *g, tn_node *n, const extents *e)
{
    const tn_node *w = tn_in(n, 1).def;
    int64_t dim[2] = {e->n, PARTS_W * whole(e->k)}, count;
    size_t bytes;
    void *at;
    if (!tn_i64_mul(dim[0], dim[1], &count) || !tn_size_mul((size_t)count, sizeof(uint16_t), &bytes))
        return (tn_value){0};
    tn_blob *b = tn_graph_blob(g, bytes, &at);
    for (int64_t i = 0; i < e->n; i++)
        for (int64_t j = 0; j < e->k; j++) {
            float left = weight_at(w->blob, i * e->k + j);
            uint16_t *first = (uint16_t *)at + i * dim[1] + j / WHOLE * PARTS_W * WHOLE + j % WHOLE;
            for (int part = 0; part < PARTS_W; part++)
                first[part * WHOLE] = narrow(left, &left);
        }
    return tn_val(tn_constant_new(g, n->owner, n, tn_type_tensor_i(g->pool, BF16, 2, dim), b, w->name));
}

tn_status nn_dense_by_bfloat(tn_graph *g, tn_node *n, tn_value out[])
{
    extents e;
    bool known = extents_of(n, &e);
    TN_ASSERT(known);
    tn_value x = tn_in(n, 0), scale = qnn_call_once(g, n, &tn_op_nn_bfloat_scale, NULL, 1, &x);
    if (!scale.def)
        return TN_FAIL;
    tn_value scaled[2] = {x, scale};
    tn_value in[2] = {qnn_call_once(g, n, &tn_op_nn_bfloat_parts, NULL, 2, scaled), weight_parts(g, n, &e)};
    tn_value y = qnn_call(g, n, &tn_op_nn_bfloat_dense, NULL, 2, in);
    out[0] = qnn_call2(g, n, &tn_op_multiply, y, scale);
    return out[0].def ? TN_OK : TN_FAIL;
}

/* clang-format off */
static const char *const product_in[] = {"data", "weight"};

const tn_op tn_op_nn_bfloat_scale = {
    .name = "nn.bfloat_scale", .doc = "For each row, the power of two that nn.bfloat_parts divides it by.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_REDUCE, .in_name = data_in,
    .infer = scale_infer, .compute = scale_compute, .precision = TN_PRECISION_KEEP,
};
const tn_op tn_op_nn_bfloat_parts = {
    .name = "nn.bfloat_parts",
        .doc = "Rows divided by their scale, as three parts of bfloat16 each, least first, and the largest again.",
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .in_name = data_in,
    .infer = parts_infer, .compute = parts_compute, .precision = TN_PRECISION_KEEP,
};
const tn_op tn_op_nn_bfloat_dense = {
    .name = "nn.bfloat_dense",
        .doc = "nn.dense of the sums of parts: data of nn.bfloat_parts, weights in three parts, largest first.",
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = product_in,
    .infer = product_infer, .layout = product_layout, .compute = product_compute, .precision = TN_PRECISION_KEEP,
};
/* clang-format on */
