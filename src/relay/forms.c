/* Operators of TVM's texts that are other operators here: each is read as a few calls of ours. A form has a table of
 * attributes as TVM names them and a function that makes the calls. What has no such calls is refused as an unknown
 * operator is. */
#include "relay/parse.h"

#include "base/words.h"
#include "ir/eval.h"
#include "op/image/image.h"
#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

enum { MAX_RANK = 16 };

typedef struct values { /* attributes, whatever a form calls them */
    int64_t axis, number;
    double a, b;
    bool x, y, z;
    const char *s, *t;
    tn_dtype dtype;
    tn_ints ints;
    tn_dims dims;
} values;

typedef struct call {
    parser *p;
    uint32_t line, col, n;
    const tn_value *in;
    const pval *arg;
    const char *name;
    values a;
    uint64_t given; /* attributes, by their places in the table */
    bool bad;
    pval many; /* kind LIST: several results */
} call;

/* ---- making calls ---- */

static tn_value refuse(call *c, const char *what)
{
    if (!c->bad)
        (void)parse_error(c->p, c->line, c->col, "relay-E088", "%s %s", c->name, what);
    c->bad = true;
    return (tn_value){0};
}

static tn_value make(call *c, const tn_op *op, const void *attr, int n, const tn_value in[])
{
    for (int i = 0; i < n; i++)
        c->bad = c->bad || !in[i].def;
    pval v = c->bad ? pval_bad(c->line, c->col) : parse_node(c->p, op, n, in, attr, c->line, c->col);
    c->bad = c->bad || v.kind == PVAL_BAD;
    return c->bad ? (tn_value){0} : v.v;
}

static tn_value make1(call *c, const tn_op *op, const void *attr, tn_value x)
{
    return make(c, op, attr, 1, &x);
}

static tn_value make2(call *c, const tn_op *op, tn_value a, tn_value b)
{
    return make(c, op, NULL, 2, (const tn_value[]){a, b});
}

static const tn_type *type_of(call *c, tn_value v)
{
    const tn_type *t = v.def && !c->bad ? tn_value_type(v) : NULL;
    if (!t || t->kind != TN_T_TENSOR || t->n > MAX_RANK) {
        (void)refuse(c, "needs tensors");
        return NULL;
    }
    return t;
}

static tn_value number(call *c, tn_dtype t, double v)
{
    unsigned char data[16] = {0};
    tn_scalar_write(t, data, tn_dtype_is_float(t) ? (tn_scalar){.f = v} : (tn_scalar){.i = (int64_t)v});
    return tn_val(tn_make_constant(c->p->g, c->p->scope->region, NULL, t, 0, NULL, data, NULL));
}

static tn_value filled(call *c, tn_value x, uint32_t n, const tn_expr *const dim[])
{
    tn_broadcast_to_attr a = {tn_dims_make(c->p->g->arena, n, dim)};
    return n ? make1(c, &tn_op_broadcast_to, &a, x) : x;
}

static tn_value reshaped(call *c, tn_value x, uint32_t n, const tn_expr *const dim[])
{
    tn_reshape_attr a = {.newshape = tn_dims_make(c->p->g->arena, n, dim), .allowzero = true};
    return make1(c, &tn_op_reshape, &a, x);
}

static tn_value transposed(call *c, tn_value x, uint32_t n, const int64_t axes[])
{
    tn_transpose_attr a = {tn_ints_make(c->p->g->arena, n, axes)};
    return make1(c, &tn_op_transpose, &a, x);
}

static tn_value cast_to(call *c, tn_value x, tn_dtype t)
{
    const tn_type *have = type_of(c, x);
    tn_cast_attr a = {t};
    return !have || tn_dtype_eq(have->dtype, t) ? x : make1(c, &tn_op_cast, &a, x);
}

static tn_value expanded(call *c, tn_value x, int64_t axis)
{
    tn_expand_dims_attr a = {axis, 1};
    return make1(c, &tn_op_expand_dims, &a, x);
}

static const tn_expr *idx(call *c, int64_t v) { return tn_idx(c->p->g->pool, v); }

static const tn_expr *times(call *c, const tn_expr *e, int64_t k)
{
    return tn_simplify(c->p->g->pool, NULL, tn_mul(c->p->g->pool, e, idx(c, k)));
}

/* [-rank, rank) to [0, rank) */
static int64_t axis_of(call *c, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank)
        (void)refuse(c, "has an axis that its operand does not have");
    return c->bad ? 0 : axis < 0 ? axis + rank : axis;
}

static tn_value sliced(call *c, tn_value x, int64_t axis, int64_t begin, int64_t end, int64_t step)
{
    tn_slice_attr a = {tn_make_dims(c->p->g, 1, &begin), tn_make_dims(c->p->g, 1, &end),
                       tn_ints_make(c->p->g->arena, 1, &step), tn_ints_make(c->p->g->arena, 1, &axis)};
    return make1(c, &tn_op_strided_slice, &a, x);
}

static tn_value several(call *c, uint32_t n, const tn_value v[])
{
    pval *item = TN_NEW_N(&c->p->scratch, pval, n);
    for (uint32_t i = 0; i < n; i++)
        item[i] = (pval){.kind = PVAL_ONE, .v = v[i], .line = c->line, .col = c->col};
    c->many = (pval){.kind = PVAL_LIST, .n = n, .item = item, .line = c->line, .col = c->col};
    return v[0];
}

/* ---- the same by another name, or nothing ---- */

static tn_value same(call *c) { return c->in[0]; }

static tn_value fast(call *c)
{
    const tn_op *op = strcmp(c->name, "fast_exp") == 0    ? &tn_op_exp
                      : strcmp(c->name, "fast_tanh") == 0 ? &tn_op_tanh
                      : strcmp(c->name, "fast_erf") == 0  ? &tn_op_erf
                                                          : NULL;
    tn_axis_attr a = {c->a.axis};
    return op ? make1(c, op, NULL, c->in[0]) : make1(c, &tn_op_nn_softmax, &a, c->in[0]);
}

static tn_value trunc_mod(call *c) { return make2(c, &tn_op_mod, c->in[0], c->in[1]); }

/* log2, log10 */
static tn_value log_of(call *c)
{
    const tn_type *t = type_of(c, c->in[0]);
    double base = strcmp(c->name, "log2") == 0 ? 2 : 10;
    if (!t)
        return (tn_value){0};
    tn_value y = make1(c, &tn_op_log, NULL, c->in[0]);
    return make2(c, &tn_op_multiply, y, number(c, t->dtype, 1 / log(base)));
}

/* Inference drops nothing: the mask is all ones. */
static tn_value dropout(call *c)
{
    const tn_type *t = type_of(c, c->in[0]);
    if (!t)
        return (tn_value){0};
    return several(c, 2,
                   (const tn_value[]){c->in[0], filled(c, number(c, t->dtype, 1), (uint32_t)t->n, t->dim)});
}

/* ---- made of nothing ---- */

static tn_value fill(call *c)
{
    bool ones = strncmp(c->name, "ones", 4) == 0, like = strstr(c->name, "_like") != NULL;
    bool given = strncmp(c->name, "full", 4) == 0;
    const tn_type *t = like ? type_of(c, c->in[0]) : NULL;
    tn_dtype type = t ? t->dtype : c->a.dtype;
    if (like && !t)
        return (tn_value){0};
    if (given && !type.bits)
        type = tn_value_type(c->in[0])->dtype;
    tn_value v = given ? cast_to(c, c->in[like], type) : number(c, type.bits ? type : TN_F32, ones);
    return t ? filled(c, v, (uint32_t)t->n, t->dim) : filled(c, v, c->a.dims.n, c->a.dims.at);
}

static bool constant(call *c, tn_value v, double *out)
{
    const tn_type *t = type_of(c, v);
    bool is = t && t->n == 0 && tn_op_is(v.def, &tn_op_constant) && v.def->blob;
    if (is) {
        tn_scalar s = tn_scalar_read(t->dtype, v.def->blob->at);
        *out = tn_dtype_is_float(t->dtype) ? s.f : (double)s.i;
    }
    return is;
}

/* arange(start, stop, step): how many is a number here. */
static tn_value arange(call *c)
{
    double at[3];
    for (int i = 0; i < 3; i++)
        if (!constant(c, c->in[i], &at[i]))
            return refuse(
                c, "needs a start, a stop and a step that are numbers; write arange(start, step, count=N)");
    double n = ceil((at[1] - at[0]) / at[2]);
    if (!(n >= 0 && n < 1 << 30))
        return refuse(c, "has too many elements, or a step of 0");
    const tn_expr *count = idx(c, (int64_t)n);
    tn_arange_attr a = {tn_dims_make(c->p->g->arena, 1, &count)};
    tn_dtype t = c->a.dtype.bits ? c->a.dtype : type_of(c, c->in[0])->dtype;
    return make(c, &tn_op_arange, &a, 2,
                (const tn_value[]){cast_to(c, c->in[0], t), cast_to(c, c->in[2], t)});
}

/* ---- shapes ---- */

static tn_value like(call *c)
{
    const tn_type *x = type_of(c, c->in[0]), *to = type_of(c, c->in[1]);
    if (!x || !to)
        return (tn_value){0};
    if (strcmp(c->name, "cast_like") == 0)
        return cast_to(c, c->in[0], to->dtype);
    if (strcmp(c->name, "broadcast_to_like") == 0)
        return filled(c, c->in[0], (uint32_t)to->n, to->dim);
    if (strcmp(c->name, "reshape_like") == 0)
        return reshaped(c, c->in[0], (uint32_t)to->n, to->dim);
    tn_value v = c->in[0]; /* slice_like */
    int n = c->a.ints.n ? (int)c->a.ints.n : to->n;
    for (int i = 0; i < n && !c->bad; i++) {
        int64_t axis = axis_of(c, c->a.ints.n ? c->a.ints.at[i] : i, x->n < to->n ? x->n : to->n), step = 1;
        const tn_expr *zero = idx(c, 0);
        tn_slice_attr a = {tn_dims_make(c->p->g->arena, 1, &zero),
                           tn_dims_make(c->p->g->arena, 1, &to->dim[axis]),
                           tn_ints_make(c->p->g->arena, 1, &step), tn_ints_make(c->p->g->arena, 1, &axis)};
        v = make1(c, &tn_op_strided_slice, &a, v);
    }
    return v;
}

/* A number of equal parts, or in brackets where all but the first begin. */
static tn_value split(call *c)
{
    const tn_type *t = type_of(c, c->in[0]);
    int64_t axis = t ? axis_of(c, c->a.axis, t->n) : 0, extent = 0, n = c->a.x ? (int64_t)c->a.ints.n + 1 : 0;
    if (c->bad)
        return (tn_value){0};
    if (!c->a.x) {
        n = c->a.ints.n ? c->a.ints.at[0] : 0;
        if (!tn_is_int(t->dim[axis], &extent) || n < 1 || extent % n)
            return refuse(c, "cannot cut this axis into equal parts");
    }
    if (n > 1 << 16)
        return refuse(c, "has too many parts");
    tn_value *part = TN_NEW_N(&c->p->scratch, tn_value, (size_t)n);
    for (int64_t i = 0, begin = 0; i < n; i++) {
        int64_t end = i + 1 == n ? INT64_MAX : c->a.x ? c->a.ints.at[i] : (i + 1) * (extent / n);
        part[i] = sliced(c, c->in[0], axis, begin, end, 1);
        begin = end;
    }
    return several(c, (uint32_t)n, part);
}

static tn_value stack(call *c)
{
    tn_value *part = TN_NEW_N(&c->p->scratch, tn_value, c->n);
    const tn_type *t = type_of(c, c->in[0]);
    int64_t axis = t ? axis_of(c, c->a.axis, t->n + 1) : 0;
    tn_axis_attr a = {axis};
    for (uint32_t i = 0; i < c->n; i++)
        part[i] = expanded(c, c->in[i], axis);
    return make(c, &tn_op_concatenate, &a, (int)c->n, part);
}

static tn_value reverse(call *c)
{
    const tn_type *t = type_of(c, c->in[0]);
    return t ? sliced(c, c->in[0], axis_of(c, c->a.axis, t->n), -1, INT64_MIN, -1) : (tn_value){0};
}

static tn_value repeat(call *c)
{
    const tn_type *t = type_of(c, c->in[0]);
    const tn_expr *dim[MAX_RANK + 1];
    int64_t axis = t ? axis_of(c, c->a.axis, t->n) : 0;
    if (!t || c->bad || c->a.number < 1)
        return c->bad ? (tn_value){0} : refuse(c, "must repeat at least once");
    for (int i = 0; i <= t->n; i++)
        dim[i] = i == axis + 1 ? idx(c, c->a.number) : t->dim[i > axis ? i - 1 : i];
    tn_value v = filled(c, expanded(c, c->in[0], axis + 1), (uint32_t)t->n + 1, dim);
    for (int i = 0; i < t->n; i++)
        dim[i] = i == axis ? times(c, t->dim[i], c->a.number) : t->dim[i];
    return reshaped(c, v, (uint32_t)t->n, dim);
}

/* ---- layouts: "NCHW4c" ---- */

typedef struct letter { /* a letter; factor 0: the whole dimension, or what blocks leave of it */
    char name;
    int64_t factor;
} letter;

static int read_layout(const char *s, letter out[])
{
    int n = 0;
    while (*s && n < MAX_RANK) {
        int64_t factor = 0;
        for (; *s >= '0' && *s <= '9' && factor < 1 << 20; s++)
            factor = factor * 10 + (*s - '0');
        if (!((*s >= 'A' && *s <= 'Z' && !factor) || (*s >= 'a' && *s <= 'z' && factor)))
            return -1;
        out[n++] = (letter){*s++, factor};
    }
    return *s ? -1 : n;
}

static int find_axis(int n, const letter at[], char name)
{
    for (int i = 0; i < n; i++)
        if (at[i].name == name)
            return i;
    return -1;
}

static char lower(char ch) { return (char)(ch | 32); }

/* The source's dimensions, cut where the destination has blocks: false: the two do not fit. */
static int cut(call *c, const tn_type *t, int n, const letter src[], int n_dst, const letter dst[],
               letter part[], const tn_expr *dim[])
{
    int k = 0;
    for (int i = 0; i < n && k + 1 < MAX_RANK; i++) {
        char block = lower(src[i].name);
        int at = find_axis(n_dst, dst, block);
        bool whole = src[i].name != block, blocked = find_axis(n, src, block) >= 0;
        int64_t extent;
        part[k] = src[i];
        dim[k++] = t->dim[i];
        if (!whole && at >= 0 && dst[at].factor != src[i].factor)
            return -1;
        if (!whole || blocked || at < 0)
            continue;
        if (!tn_is_int(t->dim[i], &extent) || extent % dst[at].factor)
            return -1;
        dim[k - 1] = idx(c, extent / dst[at].factor);
        part[k] = dst[at];
        dim[k++] = idx(c, dst[at].factor);
    }
    return k;
}

static tn_value layout_transform(call *c)
{
    letter src[MAX_RANK], dst[MAX_RANK], part[MAX_RANK];
    const tn_expr *dim[MAX_RANK], *to[MAX_RANK];
    const tn_type *t = type_of(c, c->in[0]);
    int n = read_layout(c->a.s, src), m = read_layout(c->a.t, dst), used = 0, out = 0;
    int64_t order[MAX_RANK];
    if (!t)
        return (tn_value){0};
    int k = n == t->n && m > 0 ? cut(c, t, n, src, m, dst, part, dim) : -1;
    for (int i = 0; i < m && k > 0; i++, out++) {
        int at = find_axis(k, part, dst[i].name);
        int block = lower(dst[i].name) != dst[i].name && find_axis(m, dst, lower(dst[i].name)) < 0
                        ? find_axis(k, part, lower(dst[i].name))
                        : -1;
        if (at < 0 || used + (block >= 0) >= MAX_RANK)
            return refuse(c, "has layouts of other dimensions");
        to[out] = dim[at];
        order[used++] = at;
        if (block >= 0) { /* of the source, joined again */
            order[used++] = block;
            to[out] = times(c, dim[at], part[block].factor);
        }
    }
    if (k < 0 || used != k)
        return refuse(c, "has layouts that do not fit each other or the data");
    return reshaped(c, transposed(c, reshaped(c, c->in[0], (uint32_t)k, dim), (uint32_t)k, order),
                    (uint32_t)out, to);
}

/* ---- layers ---- */

static tn_value matmul(call *c)
{
    static const int64_t swap[] = {1, 0};
    const tn_type *a = type_of(c, c->in[0]), *b = type_of(c, c->in[1]);
    tn_dense_attr d = {0};
    if (!a || !b || a->n != 2 || b->n != 2)
        return refuse(c, "needs matrices");
    tn_value x = c->a.x ? transposed(c, c->in[0], 2, swap) : c->in[0];
    tn_value w = c->a.y ? c->in[1] : transposed(c, c->in[1], 2, swap);
    return make(c, &tn_op_nn_dense, &d, 2, (const tn_value[]){x, w});
}

static tn_value upsampling(call *c)
{
    const tn_type *t = type_of(c, c->in[0]);
    bool last = strcmp(c->a.s, "NHWC") == 0, nearest = strcmp(c->a.t, "nearest_neighbor") == 0;
    int64_t extent[2];
    int first = last ? 1 : 2;
    if (!t || t->n != 4 || (!last && strcmp(c->a.s, "NCHW") != 0))
        return refuse(c, "needs images in the layout NCHW or NHWC");
    for (int i = 0; i < 2; i++)
        if (!tn_is_int(t->dim[first + i], &extent[i]))
            return refuse(c, "needs images of known size");
    const tn_expr *size[2] = {idx(c, (int64_t)round((double)extent[0] * c->a.a)),
                              idx(c, (int64_t)round((double)extent[1] * c->a.b))};
    tn_resize_attr a = {.size = tn_dims_make(c->p->g->arena, 2, size),
                        .layout = c->a.s,
                        .method = nearest                           ? c->a.t
                                  : strcmp(c->a.t, "bilinear") == 0 ? "linear"
                                                                    : "cubic",
                        .coordinate_transformation_mode = c->a.x && !nearest ? "align_corners" : "asymmetric",
                        .rounding_method = nearest ? "floor" : "",
                        .cubic_alpha = -0.5};
    return make1(c, &tn_op_image_resize2d, &a, c->in[0]);
}

/* nn.adaptive_avg_pool2d, nn.adaptive_max_pool2d: windows of one size. */
static tn_value adaptive(call *c)
{
    const tn_type *t = type_of(c, c->in[0]);
    bool last = strcmp(c->a.s, "NHWC") == 0, avg = strstr(c->name, "avg") != NULL;
    int64_t extent, size[2];
    if (!t || t->n != 4 || (!last && strcmp(c->a.s, "NCHW") != 0) || c->a.dims.n > 2)
        return refuse(c, "needs images in the layout NCHW or NHWC");
    for (uint32_t i = 0; i < 2; i++) {
        int64_t cells = 0;
        bool known = tn_is_int(t->dim[(last ? 1 : 2) + i], &extent), all = c->a.dims.n == 0;
        if (!known || (!all && !tn_is_int(c->a.dims.at[c->a.dims.n > i ? i : 0], &cells)) ||
            (!all && (cells < 1 || extent % cells)))
            return refuse(c, "needs cells of equal size");
        size[i] = all ? 1 : extent / cells;
    }
    const tn_pool2d_attr a = {.pool_size = tn_ints_make(c->p->g->arena, 2, size),
                              .strides = tn_ints_make(c->p->g->arena, 2, size),
                              .layout = c->a.s};
    return make1(c, avg ? &tn_op_nn_avg_pool2d : &tn_op_nn_max_pool2d, &a, c->in[0]);
}

static tn_value l2_normalize(call *c)
{
    const tn_type *t = type_of(c, c->in[0]);
    tn_axes_attr a = {.axis = c->a.ints, .keepdims = true};
    if (!t)
        return (tn_value){0};
    tn_value sum = make1(c, &tn_op_sum, &a, make2(c, &tn_op_multiply, c->in[0], c->in[0]));
    sum = make2(c, &tn_op_maximum, sum, number(c, t->dtype, c->a.a));
    return make2(c, &tn_op_divide, c->in[0], make1(c, &tn_op_sqrt, NULL, sum));
}

/* ---- reductions, order ---- */

static tn_value all_any(call *c)
{
    tn_axes_attr a = {c->a.ints, c->a.x, c->a.y};
    tn_value x = cast_to(c, c->in[0], TN_DT(TN_INT, 8));
    return cast_to(c, make1(c, strcmp(c->name, "all") == 0 ? &tn_op_min : &tn_op_max, &a, x),
                   TN_DT(TN_BOOL, 8));
}

/* variance(data, mean) */
static tn_value variance(call *c)
{
    tn_axes_attr a = {c->a.ints, c->a.x, c->a.y};
    if (c->a.z)
        return refuse(c, "is read without unbiased=True only");
    if (!c->a.x) /* the mean was made with keepdims */
        return refuse(c, "is read with keepdims=True only");
    tn_value d = make2(c, &tn_op_subtract, c->in[0], c->in[1]);
    return make1(c, &tn_op_mean, &a, make2(c, &tn_op_multiply, d, d));
}

/* argsort, sort */
static tn_value sort(call *c)
{
    const tn_type *t = type_of(c, c->in[0]);
    int64_t axis = t ? axis_of(c, c->a.axis, t->n) : 0;
    bool positions = strcmp(c->name, "argsort") == 0;
    if (c->bad)
        return (tn_value){0};
    tn_topk_attr a = {tn_dims_make(c->p->g->arena, 1, &t->dim[axis]), axis, c->a.x,
                      positions ? c->a.dtype : TN_I64};
    tn_value v = make1(c, &tn_op_topk, &a, c->in[0]);
    return c->bad ? v : (tn_value){v.def, positions};
}

/* ---- tables ---- */

/* clang-format off */
#define AT(field) offsetof(values, field)
#define END {NULL, 0, 0, NULL, NULL}
static const tn_attr_field
    no_attrs[] = {END},
    axis_last[] = {{"axis", TN_A_I64, AT(axis), "-1", ""}, END},
    axis_first[] = {{"axis", TN_A_I64, AT(axis), "0", ""}, END},
    rate[] = {{"rate", TN_A_F64, AT(a), "0.5", ""}, END},
    filling[] = {{"shape", TN_A_DIMS, AT(dims), "None", ""}, {"dtype", TN_A_DTYPE, AT(dtype), "\"\"", ""}, END},
    typing[] = {{"dtype", TN_A_DTYPE, AT(dtype), "\"\"", ""}, END},
    axes_only[] = {{"axes", TN_A_INTS, AT(ints), "None", ""}, END},
    splitting[] = {{"indices_or_sections", TN_A_INTS, AT(ints), NULL, ""}, {"axis", TN_A_I64, AT(axis), "0", ""}, END},
    repeating[] = {{"repeats", TN_A_I64, AT(number), NULL, ""}, {"axis", TN_A_I64, AT(axis), "0", ""}, END},
    layouts[] = {{"src_layout", TN_A_STR, AT(s), NULL, ""}, {"dst_layout", TN_A_STR, AT(t), NULL, ""}, END},
    products[] = {{"units", TN_A_I64, AT(number), "None", ""}, {"out_dtype", TN_A_DTYPE, AT(dtype), "\"\"", ""},
                  {"transpose_a", TN_A_BOOL, AT(x), "False", ""}, {"transpose_b", TN_A_BOOL, AT(y), "False", ""}, END},
    larger[] = {{"scale_h", TN_A_F64, AT(a), "1", ""}, {"scale_w", TN_A_F64, AT(b), "1", ""},
                {"layout", TN_A_STR, AT(s), "\"NCHW\"", ""}, {"method", TN_A_STR, AT(t), "\"nearest_neighbor\"", ""},
                {"align_corners", TN_A_BOOL, AT(x), "False", ""}, END},
    cells[] = {{"output_size", TN_A_DIMS, AT(dims), "None", ""}, {"layout", TN_A_STR, AT(s), "\"NCHW\"", ""}, END},
    norm[] = {{"eps", TN_A_F64, AT(a), NULL, ""}, {"axis", TN_A_INTS, AT(ints), "None", ""}, END},
    reducing[] = {{"axis", TN_A_INTS, AT(ints), "None", ""}, {"keepdims", TN_A_BOOL, AT(x), "False", ""},
                  {"exclude", TN_A_BOOL, AT(y), "False", ""}, {"unbiased", TN_A_BOOL, AT(z), "False", ""}, END},
    sorting[] = {{"axis", TN_A_I64, AT(axis), "-1", ""}, {"is_ascend", TN_A_BOOL, AT(x), "True", ""},
                 {"dtype", TN_A_DTYPE, AT(dtype), "\"int32\"", ""}, END};

static const struct {
    const char *name;
    uint32_t least, most; /* operands */
    tn_value (*read)(call *c);
    const tn_attr_field *attr;
} forms[] = {
    {"copy",                     1, 1,  same,             no_attrs},
    {"device_copy",              1, 1,  same,             no_attrs},
    {"on_device",                1, 1,  same,             no_attrs},
    {"annotation.stop_fusion",   1, 1,  same,             no_attrs},
    {"annotation.compiler_begin", 1, 1, same,             no_attrs},
    {"annotation.compiler_end",  1, 1,  same,             no_attrs},
    {"fast_exp",                 1, 1,  fast,             no_attrs},
    {"fast_tanh",                1, 1,  fast,             no_attrs},
    {"fast_erf",                 1, 1,  fast,             no_attrs},
    {"nn.fast_softmax",          1, 1,  fast,             axis_last},
    {"log2",                     1, 1,  log_of,           no_attrs},
    {"log10",                    1, 1,  log_of,           no_attrs},
    {"trunc_mod",                2, 2,  trunc_mod,        no_attrs},
    {"nn.dropout",               1, 1,  dropout,          rate},
    {"zeros",                    0, 0,  fill,             filling},
    {"ones",                     0, 0,  fill,             filling},
    {"full",                     1, 1,  fill,             filling},
    {"zeros_like",               1, 1,  fill,             no_attrs},
    {"ones_like",                1, 1,  fill,             no_attrs},
    {"full_like",                2, 2,  fill,             no_attrs},
    {"arange",                   3, 3,  arange,           typing},
    {"cast_like",                2, 2,  like,             no_attrs},
    {"broadcast_to_like",        2, 2,  like,             no_attrs},
    {"reshape_like",             2, 2,  like,             no_attrs},
    {"slice_like",               2, 2,  like,             axes_only},
    {"split",                    1, 1,  split,            splitting},
    {"stack",                    1, 0,  stack,            axis_first},
    {"reverse",                  1, 1,  reverse,          axis_first},
    {"repeat",                   1, 1,  repeat,           repeating},
    {"layout_transform",         1, 1,  layout_transform, layouts},
    {"nn.matmul",                2, 2,  matmul,           products},
    {"nn.upsampling",            1, 1,  upsampling,       larger},
    {"nn.adaptive_avg_pool2d",   1, 1,  adaptive,         cells},
    {"nn.adaptive_max_pool2d",   1, 1,  adaptive,         cells},
    {"nn.l2_normalize",          1, 1,  l2_normalize,     norm},
    {"all",                      1, 1,  all_any,          reducing},
    {"any",                      1, 1,  all_any,          reducing},
    {"variance",                 2, 2,  variance,         reducing},
    {"argsort",                  1, 1,  sort,             sorting},
    {"sort",                     1, 1,  sort,             sorting},
};
/* clang-format on */

int parse_form_find(const char *name)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* None, "", False, 0, [] */
static bool is_nothing(const parser *p)
{
    const tn_lexer *l = &p->l;
    if (l->tok == TN_TOK_STRING)
        return l->n == 0;
    if (l->tok == TN_TOK_INT)
        return l->i == 0;
    if (tn_lex_is(l, "[")) {
        tn_lexer ahead = *l;
        tn_lex_next(&ahead);
        return tn_lex_is(&ahead, "]");
    }
    return tn_lex_is(l, "None") || tn_lex_is(l, "False") || tn_lex_is(l, "nullptr");
}

/* Arguments and attributes up to and with the closing bracket. */
static tn_status read_call(call *c, const tn_attr_field *table, pvals *args)
{
    parser *p = c->p;
    TN_TRY(parse_expect(p, "("));
    while (!tn_lex_is(&p->l, ")")) {
        pval v;
        if (args->n == PARSE_MAX_ARGS)
            return tn_lex_fail(&p->l, "relay-E042", "a call has at most %d arguments", PARSE_MAX_ARGS);
        if (parse_at_attribute(p)) {
            const char *name = tn_intern_n(p->g->ctx, p->l.text, p->l.n);
            bool known = false;
            for (const tn_attr_field *f = table; f->name; f++)
                if (strcmp(f->name, name) == 0) {
                    c->given |= (uint64_t)1 << (f - table);
                    known = true;
                }
            parse_next(p);
            TN_TRY(parse_expect(p, "="));
            tn_scope_fns scope = parse_dims_scope(p);
            if (strcmp(name, "indices_or_sections") == 0)
                c->a.x = tn_lex_is(&p->l, "[") || tn_lex_is(&p->l, "(");
            TN_TRY(known || !is_nothing(p) ? tn_attr_parse(&p->l, p->g->pool, &scope, table, name, &c->a)
                                           : parse_skip_value(p));
        } else {
            TN_TRY(parse_expr(p, &v));
            tn_vec_push(args, v);
        }
        if (!parse_accept(p, ","))
            break;
    }
    return parse_expect(p, ")");
}

static bool required(call *c, const tn_attr_field *table)
{
    for (const tn_attr_field *f = table; f->name; f++)
        if (!f->def && !(c->given >> (f - table) & 1)) {
            (void)parse_error(c->p, c->line, c->col, "relay-E044", "%s needs the attribute %s", c->name,
                              f->name);
            return false;
        }
    return true;
}

static void read_form(call *c, int form, pval *out)
{
    bool many = forms[form].most == 0;
    if (c->n < forms[form].least || (!many && c->n > forms[form].most)) {
        (void)refuse(c, "has another number of operands");
        return;
    }
    tn_value v = forms[form].read(c);
    if (!c->bad)
        *out = c->many.kind == PVAL_LIST ? c->many
                                         : (pval){.kind = PVAL_ONE, .v = v, .line = c->line, .col = c->col};
}

tn_status parse_form(parser *p, int form, pval *out)
{
    const tn_attr_field *table = forms[form].attr;
    call c = {.p = p, .line = p->l.tok_line, .col = p->l.tok_col, .name = forms[form].name};
    pvals args = {0};
    *out = pval_bad(c.line, c.col);
    TN_TRY(tn_attr_init(p->g->pool, table, sizeof c.a, &c.a));
    parse_next(p);
    tn_status s = read_call(&c, table, &args);
    if (s == TN_OK && required(&c, table)) {
        size_t n = 0;
        c.in = parse_arg_values(p, &args, forms[form].most == 0, &n);
        c.n = (uint32_t)n;
        const tn_value *never = c.in ? parse_never(NULL, (int)n, c.in) : NULL;
        if (never)
            *out = (pval){.kind = PVAL_ONE, .v = *never, .line = c.line, .col = c.col};
        else if (c.in)
            read_form(&c, form, out);
    }
    tn_vec_deinit(&args);
    return s;
}

pval parse_form_values(parser *p, const tn_op *op, size_t n, const tn_value in[], tn_dtype dtype,
                       uint32_t line, uint32_t col)
{
    int form = parse_form_find(op->name);
    pval out = pval_bad(line, col);
    call c = {.p = p,
              .line = line,
              .col = col,
              .name = op->name,
              .in = in,
              .n = (uint32_t)n,
              .a = {.dtype = dtype}};
    read_form(&c, form, &out);
    return out;
}

/* ---- attributes that only TVM's operators have ---- */

/* Attributes that say nothing of the result, or repeat operands; ops: prefix of the operators' names. */
static const struct {
    const char *op, *name, *only; /* only: the one value that is left out; NULL: any */
} without_bearing[] = {
    {"", "auto_scheduler_rewritten_layout", NULL},
    {"", "meta_schedule_original_shape", NULL},
    {"arange", "start", NULL},
    {"arange", "stop", NULL},
    {"arange", "step", NULL},
    {"image.resize", "roi", NULL},                 /* of one mode, which is refused */
    {"image.resize", "extrapolation_value", NULL}, /* the same */
    {"strided_slice", "slice_mode", "end"},
};

/* TVM's operator has the attribute, and ours does not: the value that comes next can be read over or kept. */

static bool has_no_bearing(const parser *p, const char *op, const char *name)
{
    for (size_t i = 0; i < sizeof without_bearing / sizeof *without_bearing; i++) {
        const char *only = without_bearing[i].only;
        if (strcmp(without_bearing[i].name, name) == 0 &&
            strncmp(op, without_bearing[i].op, strlen(without_bearing[i].op)) == 0)
            return !only || (p->l.tok == TN_TOK_STRING && p->l.n == strlen(only) &&
                             memcmp(p->l.text, only, p->l.n) == 0);
    }
    return false;
}

static bool is_kept(const char *op, const char *name)
{
    static const char *const typed[] = {"arange", "one_hot", "cumsum", "cumprod"};
    return strcmp(name, "dtype") == 0 ? tn_words_hold(typed, sizeof typed / sizeof *typed, op)
                                      : strcmp(name, "ret_type") == 0 && strcmp(op, "topk") == 0;
}

bool parse_is_foreign(const parser *p, const tn_op *op, const char *name)
{
    for (const tn_attr_field *f = op ? op->attr : NULL; f && f->name; f++)
        if (strcmp(f->name, name) == 0)
            return false;
    if (strcmp(name, "index_rank") == 0)
        return false; /* of TVM's gather_nd, whose indices lie otherwise (docs/relay.md) */
    return op && (is_nothing(p) || has_no_bearing(p, op->name, name) || is_kept(op->name, name));
}

tn_status parse_foreign(parser *p, const char *name, const char *op, pforeign *out)
{
    static const tn_attr_field kept[] = {{"dtype", TN_A_DTYPE, offsetof(pforeign, dtype), "\"\"", ""},
                                         {"ret_type", TN_A_STR, offsetof(pforeign, ret_type), "\"\"", ""},
                                         END};
    if (is_nothing(p) || has_no_bearing(p, op, name))
        return parse_skip_value(p);
    return tn_attr_parse(&p->l, p->g->pool, NULL, kept, name, out);
}
