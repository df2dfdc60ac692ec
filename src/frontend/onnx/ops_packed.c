/* Weights of a few bits in com.microsoft: MatMulNBits, as qnn.packed_dense whose panels are made here, or of numbers
 * that the run unpacks; MatMulBnb4, whose weights become numbers; GatherBlockQuantized, which reads rows of them. */
#include "frontend/onnx/attention.h"
#include "frontend/onnx/onnx.h"

#include "ir/eval.h"
#include "op/nn/nn.h"
#include "op/qnn/qnn.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* Bytes that hold several numbers each along the last dimension, the first in the lowest or the highest bits: the
 * numbers, int32. */
static tn_value split_bytes_from(imp_node *c, tn_value v, int64_t bits, bool highest)
{
    int64_t shift[4], each = 8 / bits;
    const tn_type *t = imp_type(v);
    const tn_expr *dim[IMP_MAX_RANK];
    if (c->bad || each == 1)
        return imp_cast(c, v, TN_I32);
    if (t->n < 1) {
        imp_fail(c, "onnx-E022", "packed numbers %s have no dimension; the model is damaged",
                 imp_type_text(c, t));
        return v;
    }
    for (int i = 0; i < t->n; i++)
        dim[i] = i < t->n - 1 ? t->dim[i] : tn_mul(c->pool, t->dim[i], tn_idx(c->pool, each));
    dim[t->n - 1] = imp_simplify(c, dim[t->n - 1]);
    for (int64_t i = 0; i < each; i++)
        shift[i] = (highest ? each - 1 - i : i) * bits;
    tn_value parts = imp_unsqueeze(c, imp_cast(c, v, TN_I32), t->n);
    parts = imp_binary(c, &tn_op_right_shift, parts, imp_const_ints(c, TN_I32, 1, (uint32_t)each, shift));
    return imp_reshape(c, imp_with(c, &tn_op_bitwise_and, parts, (double)((1 << bits) - 1)), t->n, dim);
}

tn_value onnx_split_bytes(imp_node *c, tn_value v, int64_t bits)
{
    return split_bytes_from(c, v, bits, false);
}

/* ---- MatMulNBits: x, weights, scales, zero points, groups, bias ---- */

enum { X = 0, WEIGHT, SCALE, ZERO, GROUPS, BIAS };

typedef struct packed {
    imp_node *c;
    int64_t k, n, bits, block, blocks;
    const uint8_t *q; /* [n, blocks, block * bits / 8] */
    double *scale;    /* [n, blocks] */
    double *zero;     /* [n, blocks], or NULL: 2^(bits - 1) */
} packed;

static double *numbers(imp_node *c, uint32_t i, int64_t n, const char *what)
{
    tn_value v = imp_in(c, i);
    if (c->bad)
        return NULL;
    const tn_type *t = imp_type(v);
    size_t each = tn_dtype_bytes(t->dtype);
    if (v.def->blob->n != (size_t)n * each) {
        imp_fail(c, "onnx-E022", "%s %s must have %lld elements", what, imp_type_text(c, t), (long long)n);
        return NULL;
    }
    double *out = TN_NEW_N(&c->im->scratch, double, (size_t)n + 1);
    for (int64_t k = 0; k < n; k++) {
        tn_scalar s = tn_scalar_read(t->dtype, (const char *)v.def->blob->at + (size_t)k * each);
        out[k] = tn_dtype_is_float(t->dtype) ? s.f : (double)s.i;
    }
    return out;
}

/* Number i of a row of packed numbers. */
static int64_t unpacked(const uint8_t *row, int64_t i, int64_t bits)
{
    return row[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
}

static void read_zeros(packed *b)
{
    imp_node *c = b->c;
    if (!imp_has(c, ZERO) || c->bad)
        return;
    if (!tn_dtype_eq(imp_type(imp_in(c, ZERO))->dtype, TN_U8)) {
        b->zero = numbers(c, ZERO, b->n * b->blocks, "zero_points");
        return;
    }
    int64_t row = (b->blocks * b->bits + 7) / 8;
    if (!numbers(c, ZERO, b->n * row, "zero_points"))
        return;
    const uint8_t *at = imp_in(c, ZERO).def->blob->at;
    b->zero = TN_NEW_N(&c->im->scratch, double, (size_t)(b->n * b->blocks));
    for (int64_t n = 0; n < b->n; n++)
        for (int64_t i = 0; i < b->blocks; i++)
            b->zero[n * b->blocks + i] = (double)unpacked(at + n * row, i, b->bits);
}

static bool is_constant(imp_node *c, uint32_t i)
{
    tn_value v = imp_opt(c, i);
    return !v.def || (tn_op_is(v.def, &tn_op_constant) && v.def->blob);
}

/* Attributes; the operands are left aside. */
static bool read_form(imp_node *c, packed *b)
{
    *b = (packed){c,
                  imp_attr_int(c, "K", 0),
                  imp_attr_int(c, "N", 0),
                  imp_attr_int(c, "bits", 4),
                  imp_attr_int(c, "block_size", 0),
                  0,
                  NULL,
                  NULL,
                  NULL};
    imp_attr_ignore(c, "accuracy_level"); /* the least: products are of float32 here */
    if (imp_attr_int(c, "weight_prepacked", 0) != 0 && !c->bad)
        imp_fail(c, "onnx-E095", "weights packed for a device (weight_prepacked) are not supported");
    enum { MOST = 1 << 28 };
    if (!c->bad && (b->k < 1 || b->k > MOST || b->n < 1 || b->n > MOST || b->block < 8 || b->block > MOST ||
                    b->block % 8 != 0 || (b->bits != 2 && b->bits != 4 && b->bits != 8)))
        imp_fail(c, "onnx-E009", "K %lld, N %lld, block_size %lld and bits %lld are not possible together",
                 (long long)b->k, (long long)b->n, (long long)b->block, (long long)b->bits);
    if (c->bad)
        return false;
    b->blocks = (b->k + b->block - 1) / b->block;
    return true;
}

static bool read_bits(packed *b)
{
    imp_node *c = b->c;
    tn_value w = imp_in(c, WEIGHT);
    size_t bytes = (size_t)(b->n * b->blocks) * (size_t)(b->block * b->bits / 8);
    if (!c->bad && w.def->blob->n != bytes)
        imp_fail(c, "onnx-E022", "weights %s must have %zu bytes", imp_type_text(c, imp_type(w)), bytes);
    if (c->bad)
        return false;
    b->q = w.def->blob->at;
    b->scale = numbers(c, SCALE, b->n * b->blocks, "scales");
    read_zeros(b);
    return !c->bad;
}

static int64_t weight_at(const packed *b, int64_t n, int64_t k)
{
    int64_t block = b->block * b->bits / 8;
    return unpacked(b->q + (n * b->blocks + k / b->block) * block, k % b->block, b->bits);
}

static tn_value constant(imp_node *c, tn_dtype t, int n, const int64_t dim[], const void *data)
{
    return tn_val(tn_make_constant(c->g, c->im->r, NULL, t, n, dim, data, NULL));
}

/* [panel, k, byte] of signed weights, as qnn.packed_dense has them. */
static tn_value panels(const packed *b)
{
    enum { PANEL = TN_PACKED_PANEL };
    int64_t bytes = PANEL * b->bits / 8, dim[3] = {(b->n + PANEL - 1) / PANEL, b->k, bytes},
            half = 1 << (b->bits - 1);
    uint8_t *data = TN_NEW_N(&b->c->im->scratch, uint8_t, (size_t)(dim[0] * dim[1] * dim[2]));
    for (int64_t n = 0; n < b->n; n++) {
        int64_t column = n % PANEL, shift = column / bytes * b->bits;
        uint8_t *to = data + n / PANEL * b->k * bytes + column % bytes;
        for (int64_t k = 0; k < b->k; k++, to += bytes)
            *to |= (uint8_t)(((weight_at(b, n, k) - half) & ((1 << b->bits) - 1)) << shift);
    }
    return constant(b->c, TN_I8, 3, dim, data);
}

/* [panel, block, 64]: scales, or what makes up for zero points. */
static tn_value by_block(const packed *b, bool shift)
{
    enum { PANEL = TN_PACKED_PANEL };
    int64_t dim[3] = {(b->n + PANEL - 1) / PANEL, b->blocks, PANEL};
    double half = (double)(1 << (b->bits - 1));
    float *data = TN_NEW_N(&b->c->im->scratch, float, (size_t)(dim[0] * dim[1] * dim[2]));
    for (int64_t n = 0; n < b->n; n++)
        for (int64_t i = 0; i < b->blocks; i++) {
            double s = b->scale[n * b->blocks + i];
            data[(n / PANEL * b->blocks + i) * PANEL + n % PANEL] =
                (float)(shift ? (half - b->zero[n * b->blocks + i]) * s : s);
        }
    return constant(b->c, TN_F32, 3, dim, data);
}

/* Weights whose scales groups say are numbers in the package. */
static tn_value grouped(const packed *b)
{
    imp_node *c = b->c;
    const double *group = numbers(c, GROUPS, imp_length(imp_in(c, GROUPS)), "g_idx");
    int64_t n_groups = imp_length(imp_in(c, GROUPS)), dim[2] = {b->n, b->k};
    if (!c->bad && n_groups < b->k)
        imp_fail(c, "onnx-E022", "g_idx has %lld entries for %lld weights", (long long)n_groups,
                 (long long)b->k);
    for (int64_t k = 0; k < b->k && !c->bad; k++)
        if (!(group[k] >= 0 && group[k] < (double)b->blocks))
            imp_fail(c, "onnx-E009", "g_idx has %g, but there are %lld blocks", group[k],
                     (long long)b->blocks);
    if (c->bad)
        return (tn_value){0};
    double half = (double)(1 << (b->bits - 1));
    float *data = TN_NEW_N(&c->im->scratch, float, (size_t)(b->n * b->k));
    for (int64_t n = 0; n < b->n; n++)
        for (int64_t k = 0; k < b->k; k++) {
            int64_t at = n * b->blocks + (int64_t)group[k];
            data[n * b->k + k] =
                (float)(((double)weight_at(b, n, k) - (b->zero ? b->zero[at] : half)) * b->scale[at]);
        }
    return constant(c, TN_F32, 2, dim, data);
}

/* v in these dimensions, float32. */
static tn_value in_blocks(imp_node *c, tn_value v, int64_t rows, int64_t columns)
{
    const tn_expr *dim[2] = {tn_idx(c->pool, rows), tn_idx(c->pool, columns)};
    return imp_cast(c, imp_reshape(c, v, 2, dim), TN_F32);
}

/* float32 [n, blocks]: the zero points, or what they are where none are given. */
static tn_value late_zeros(const packed *b)
{
    imp_node *c = b->c;
    tn_value v = imp_opt(c, ZERO);
    if (!v.def)
        return imp_const(c, TN_F32, (double)(1 << (b->bits - 1)));
    if (!tn_dtype_eq(imp_type(v)->dtype, TN_U8))
        return in_blocks(c, v, b->n, b->blocks);
    int64_t row = (b->blocks * b->bits + 7) / 8;
    const tn_expr *dim[2] = {tn_idx(c->pool, b->n), tn_idx(c->pool, row)};
    v = onnx_split_bytes(c, imp_reshape(c, v, 2, dim), b->bits);
    return imp_cast(c, imp_slice(c, v, 1, 0, b->blocks), TN_F32);
}

/* v [n, blocks] or a number, for the number k of each row: [n, k], or what broadcasts to [n, blocks, block]. */
static tn_value spread(imp_node *c, tn_value v, tn_value groups)
{
    return !imp_rank(v) ? v : groups.def ? imp_take(c, v, groups, 1) : imp_unsqueeze(c, v, 2);
}

/* Weights [n, k] that are not all known before the run, which works them out: float32. */
static tn_value late_weights(const packed *b)
{
    imp_node *c = b->c;
    int64_t whole = b->blocks * b->block;
    const tn_expr *bytes[2] = {tn_idx(c->pool, b->n), tn_idx(c->pool, whole * b->bits / 8)},
                  *blocks[3] = {bytes[0], tn_idx(c->pool, b->blocks), tn_idx(c->pool, b->block)},
                  *flat[2] = {bytes[0], tn_idx(c->pool, whole)};
    tn_value q = onnx_split_bytes(c, imp_reshape(c, imp_in(c, WEIGHT), 2, bytes), b->bits),
             scale = in_blocks(c, imp_in(c, SCALE), b->n, b->blocks), zero = late_zeros(b),
             groups = imp_opt(c, GROUPS);
    q = imp_cast(c, groups.def ? imp_slice(c, q, 1, 0, b->k) : imp_reshape(c, q, 3, blocks), TN_F32);
    if (groups.def)
        groups = imp_slice(c, onnx_checked(c, imp_cast(c, groups, TN_I64), blocks[1]), 0, 0, b->k);
    q = imp_binary(c, &tn_op_subtract, q, spread(c, zero, groups));
    q = imp_binary(c, &tn_op_multiply, q, spread(c, scale, groups));
    return groups.def ? q : imp_slice(c, imp_reshape(c, q, 2, flat), 1, 0, b->k);
}

static void matmul_nbits(imp_node *c)
{
    packed b;
    bool known =
        is_constant(c, WEIGHT) && is_constant(c, SCALE) && is_constant(c, ZERO) && is_constant(c, GROUPS);
    tn_value x = imp_in(c, X), bias = imp_opt(c, BIAS), y;
    if (!read_form(c, &b) || (known && !read_bits(&b)))
        return;
    const tn_type *t = imp_type(x);
    if (t->n < 1 || !tn_is_value(t->dim[t->n - 1], b.k) || t->n > IMP_MAX_RANK) {
        imp_fail(c, "onnx-E022", "the last dimension of %s must be K, %lld", imp_type_text(c, t),
                 (long long)b.k);
        return;
    }
    const tn_expr *rows[2] = {imp_product(c, t, 0, t->n - 1), t->dim[t->n - 1]}, *dim[IMP_MAX_RANK];
    x = imp_reshape(c, imp_cast(c, x, TN_F32), 2, rows);
    if (!known || imp_has(c, GROUPS)) {
        tn_dense_attr a = {.units = b.n};
        y = imp_call2(c, &tn_op_nn_dense, &a, x, known ? grouped(&b) : late_weights(&b));
    } else {
        tn_packed_attr a = {b.bits, b.block, b.n};
        tn_value in[4] = {x, panels(&b), by_block(&b, false), b.zero ? by_block(&b, true) : (tn_value){0}};
        y = imp_call(c, &tn_op_qnn_packed_dense, &a, b.zero ? 4 : 3, in);
    }
    y = bias.def ? imp_binary(c, &tn_op_add, y, imp_cast(c, bias, TN_F32)) : y;
    for (int i = 0; i < t->n; i++)
        dim[i] = i == t->n - 1 ? tn_idx(c->pool, b.n) : t->dim[i];
    imp_out(c, 0, c->bad ? y : imp_reshape(c, imp_cast(c, y, t->dtype), t->n, dim));
}

/* ---- GatherBlockQuantized: data, indices, scales, zero points ---- */

typedef struct rows { /* of a table that is read */
    int64_t gather, quantize, block, bits;
    bool bytes; /* several numbers each */
} rows;

/* One number for each element along the axis, which has n: those of blocks, repeated. */
static tn_value repeated(imp_node *c, const rows *r, tn_value v, int64_t axis, int64_t n)
{
    int64_t *at = TN_NEW_N(&c->im->scratch, int64_t, (size_t)n + 1);
    for (int64_t i = 0; i < n; i++)
        at[i] = i / r->block;
    return imp_take(c, v, imp_const_ints(c, TN_I64, 1, (uint32_t)n, at), (int)axis);
}

/* (data - zero) * scale in float32; all have been read already, and `axis` is that of the blocks. */
static tn_value real_rows(imp_node *c, const rows *r, tn_value data, tn_value scale, tn_value zero,
                          int64_t axis)
{
    int64_t n;
    data = r->bytes ? onnx_split_bytes(c, data, r->bits) : data;
    data = imp_cast(c, data, TN_F32);
    zero = zero.def && r->bytes ? onnx_split_bytes(c, zero, r->bits) : zero;
    n = onnx_known(imp_type(data)->dim[axis]);
    int64_t blocks = onnx_known(imp_type(scale)->dim[axis]), most = 1 << 24;
    if (!c->bad && (n < 0 || n > most || blocks != (n + r->block - 1) / r->block))
        imp_fail(c, "onnx-E022", "scales %s do not fit blocks of %lld of %s",
                 imp_type_text(c, imp_type(scale)), (long long)r->block, imp_type_text(c, imp_type(data)));
    if (c->bad)
        return (tn_value){0};
    if (zero.def)
        data = imp_binary(c, &tn_op_subtract, data, repeated(c, r, imp_cast(c, zero, TN_F32), axis, n));
    else if (r->bytes)
        data = imp_with(c, &tn_op_subtract, data, 1 << (r->bits - 1));
    return imp_binary(c, &tn_op_multiply, data, repeated(c, r, imp_cast(c, scale, TN_F32), axis, n));
}

static void gather_block_quantized(imp_node *c)
{
    tn_value v[3] = {imp_in(c, 0), imp_in(c, 2), imp_opt(c, 3)}, at = imp_in(c, 1), y;
    int rank = imp_rank(v[0]), more = imp_rank(at) - 1;
    bool bytes = tn_dtype_eq(imp_type(v[0])->dtype, TN_U8);
    rows r = {imp_axis(c, imp_attr_int(c, "gather_axis", 0), rank),
              imp_axis(c, imp_attr_int(c, "quantize_axis", 1), rank), imp_attr_int(c, "block_size", 128),
              imp_attr_int(c, "bits", bytes ? 4 : 0), bytes};
    if (!c->bad && (r.block < 1 || (bytes && r.bits != 2 && r.bits != 4 && r.bits != 8)))
        imp_fail(c, "onnx-E009", "bits is %lld and block_size %lld; 2, 4 and 8, and 1 or more are supported",
                 (long long)r.bits, (long long)r.block);
    if (!c->bad &&
        (imp_rank(v[1]) != rank || (v[2].def && imp_rank(v[2]) != rank) || rank < 1 ||
         rank + more > IMP_MAX_RANK || (bytes && (r.quantize != rank - 1 || r.gather == r.quantize))))
        imp_fail(c, "onnx-E022", "axes %lld and %lld do not fit data %s and scales %s", (long long)r.gather,
                 (long long)r.quantize, imp_type_text(c, imp_type(v[0])), imp_type_text(c, imp_type(v[1])));
    if (c->bad)
        return;
    at = onnx_checked(c, at, imp_type(v[0])->dim[r.gather]);
    for (int i = 0; i < 3 && r.gather != r.quantize; i++) /* what is not asked for stays packed */
        v[i] = v[i].def ? imp_take(c, v[i], at, (int)r.gather) : v[i];
    y = real_rows(c, &r, v[0], v[1], v[2], r.quantize + (r.quantize > r.gather ? more : 0));
    y = r.gather == r.quantize ? imp_take(c, y, at, (int)r.gather) : y;
    imp_out(c, 0, imp_cast(c, y, imp_type(imp_in(c, 2))->dtype));
}

/* ---- MatMulBnb4: x, weights as codes, the largest weight of each block ---- */

static const float fp4[16] = {0.0f,         0.0052083333f, 0.66666667f,  1.0f,           0.33333333f,  0.5f,
                              0.16666667f,  0.25f,         -0.0f,        -0.0052083333f, -0.66666667f, -1.0f,
                              -0.33333333f, -0.5f,         -0.16666667f, -0.25f};
static const float nf4[16] = {
    -1.0f,       -0.69619280f, -0.52507305f, -0.39491749f, -0.28444138f, -0.18477343f, -0.09105004f, 0.0f,
    0.07958030f, 0.16093020f,  0.24611230f,  0.33791524f,  0.44070983f,  0.56261700f,  0.72295684f,  1.0f};

/* float32 [n, k]: entries of the table times what is largest in their block, of the flat weights. */
static tn_value coded_weights(imp_node *c, int64_t n, int64_t k, int64_t block, const float table[16])
{
    tn_value codes = imp_flat(c, imp_in(c, 1)), most = imp_flat(c, imp_cast(c, imp_in(c, 2), TN_F32));
    int64_t blocks = (n * k + block - 1) / block, sixteen = 16, width[2] = {0};
    if (!c->bad && (imp_length(codes) != (n * k + 1) / 2 || imp_length(most) != blocks))
        imp_fail(c, "onnx-E022", "B %s and absmax %s do not hold %lld weights in blocks of %lld",
                 imp_type_text(c, imp_type(codes)), imp_type_text(c, imp_type(most)), (long long)(n * k),
                 (long long)block);
    if (c->bad)
        return codes;
    codes = split_bytes_from(c, codes, 4, true);
    width[1] = blocks * block - imp_length(codes);
    tn_pad_attr zeros = {.pad_width = tn_make_dims(c->g, 2, width), .pad_mode = "constant"};
    codes = width[1] ? imp_call1(c, &tn_op_nn_pad, &zeros, codes) : codes;
    const tn_expr *in_blocks[2] = {tn_idx(c->pool, blocks), tn_idx(c->pool, block)},
                  *flat = tn_idx(c->pool, blocks * block), *dim[2] = {tn_idx(c->pool, n), tn_idx(c->pool, k)};
    tn_value w = imp_take(c, constant(c, TN_F32, 1, &sixteen, table), codes, 0);
    w = imp_reshape(c, w, 2, in_blocks);
    w = imp_binary(c, &tn_op_multiply, w, imp_unsqueeze(c, most, 1));
    return imp_reshape(c, imp_slice(c, imp_reshape(c, w, 1, &flat), 0, 0, n * k), 2, dim);
}

static void matmul_bnb4(imp_node *c)
{
    enum { MOST = 1 << 28 };
    tn_value x = imp_in(c, X);
    tn_dtype t = imp_type(x)->dtype;
    int64_t k = imp_attr_int(c, "K", 0), n = imp_attr_int(c, "N", 0),
            block = imp_attr_int(c, "block_size", 0), kind = imp_attr_int(c, "quant_type", -1);
    bool turned = imp_attr_int(c, "transB", 1) != 0;
    imp_attr_ignore(c, "training_mode");
    if (!c->bad && (k < 1 || k > MOST || n < 1 || n > MOST || block < 16 || block > MOST ||
                    (block & (block - 1)) != 0 || (kind != 0 && kind != 1)))
        imp_fail(c, "onnx-E009",
                 "K %lld, N %lld, block_size %lld and quant_type %lld are not possible together",
                 (long long)k, (long long)n, (long long)block, (long long)kind);
    if (c->bad)
        return;
    tn_value w = coded_weights(c, n, k, block, kind ? nf4 : fp4);
    x = imp_cast(c, x, TN_F32);
    imp_out(c, 0, imp_cast(c, turned ? imp_dense(c, x, w, NULL) : imp_matmul(c, x, w, NULL), t));
}

// clang-format off
const imp_row onnx_rows_packed[] = {
    {"GatherBlockQuantized", 1, 0, 4, 1, gather_block_quantized, NULL},
    {"MatMulBnb4",           1, 0, 3, 1, matmul_bnb4,            NULL},
    {"MatMulNBits",          1, 0, 6, 1, matmul_nbits,           NULL},
    {0},
};
// clang-format on
