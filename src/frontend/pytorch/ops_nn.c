/* Convolutions, pooling, padding, linear layers, embeddings. */
#include "frontend/pytorch/ops.h"

#include <string.h>

enum { MAX_SPACE = 3 };

/* ---- convolution ---- */

static void need_space(imp_node *c, int n)
{
    if (!c->bad && (n < 1 || n > MAX_SPACE))
        imp_refuse(c, IMP_BAD_VALUE, "convolutions and pools over %d dimensions are not supported", n);
}

static tn_dims both_sides(imp_node *c, int n, const int64_t before[], const int64_t after[])
{
    int64_t at[2 * MAX_SPACE];
    for (int i = 0; i < n; i++) {
        at[i] = before[i];
        at[n + i] = after[i];
    }
    return tn_make_dims(c->g, 2 * (uint32_t)n, at);
}

static tn_value biased(imp_node *c, tn_value y, tn_value bias)
{
    tn_axis_attr a = {1};
    return bias.def ? imp_call2(c, &tn_op_nn_bias_add, &a, y, bias) : y;
}

typedef struct conv {
    tn_value x, w, b;
    int n; /* spatial dimensions */
    const int64_t *stride, *before, *after, *dilation, *more;
    int64_t groups;
    bool transposed;
} conv;

static tn_value forward(imp_node *c, const conv *k)
{
    static const tn_op *const op[] = {&tn_op_nn_conv1d, &tn_op_nn_conv2d, &tn_op_nn_conv3d};
    tn_conv2d_attr a;

    (void)tn_attr_init(c->pool, op[k->n - 1]->attr, sizeof a, &a);
    a.strides = tn_ints_make(c->arena, (uint32_t)k->n, k->stride);
    a.dilation = tn_ints_make(c->arena, (uint32_t)k->n, k->dilation);
    a.padding = both_sides(c, k->n, k->before, k->after);
    a.groups = k->groups;
    return biased(c, imp_call2(c, op[k->n - 1], &a, k->x, k->w), k->b);
}

static tn_value backward(imp_node *c, const conv *k)
{
    static const tn_op *const op[] = {&tn_op_nn_conv1d_transpose, &tn_op_nn_conv2d_transpose,
                                      &tn_op_nn_conv3d_transpose};
    tn_conv_transpose_attr a;

    (void)tn_attr_init(c->pool, op[k->n - 1]->attr, sizeof a, &a);
    a.strides = tn_ints_make(c->arena, (uint32_t)k->n, k->stride);
    a.dilation = tn_ints_make(c->arena, (uint32_t)k->n, k->dilation);
    a.padding = both_sides(c, k->n, k->before, k->after);
    a.output_padding = tn_ints_make(c->arena, (uint32_t)k->n, k->more);
    a.groups = k->groups;
    return biased(c, imp_call2(c, op[k->n - 1], &a, k->x, k->w), k->b);
}

/* A sample without a batch becomes a batch of one. */
static void convolve(imp_node *c, conv *k)
{
    bool alone = imp_rank(k->x) == k->n + 1;
    need_space(c, k->n);
    if (!c->bad && imp_rank(k->x) != k->n + 2 && !alone)
        imp_refuse(c, IMP_OPERANDS, "the operand has %d dimensions, but the weight %d", imp_rank(k->x),
                   k->n + 2);
    if (c->bad)
        return;
    k->x = alone ? imp_unsqueeze(c, k->x, 0) : k->x;
    tn_value y = k->transposed ? backward(c, k) : forward(c, k);
    pt_out(c, alone ? imp_squeeze(c, y, 0) : y);
}

static const int64_t zeros[MAX_SPACE + 1];

/* padding: integers, "valid" or "same" */
static void paddings(imp_node *c, conv *k, int i)
{
    k->before = k->after = zeros;
    pt_value v = pt_arg(c, i);
    if (v.kind != PT_TEXT) {
        k->before = k->after = pt_repeated(c, i, k->n);
        return;
    }
    int64_t *before = TN_NEW_N(c->arena, int64_t, (size_t)k->n),
            *after = TN_NEW_N(c->arena, int64_t, (size_t)k->n);
    for (int d = 0; d < k->n && pt_is_text(v, "same") && !c->bad; d++) {
        int64_t taps, whole;
        if (!tn_is_int(imp_type(k->w)->dim[d + 2], &taps))
            taps = 1;
        whole = k->dilation[d] * (taps - 1);
        before[d] = whole / 2;
        after[d] = whole - whole / 2;
    }
    k->before = before;
    k->after = after;
}

static conv begin(imp_node *c)
{
    conv k = {.x = pt_in(c, 0), .w = pt_in(c, 1), .b = pt_in(c, 2), .more = zeros};
    k.n = imp_rank(k.w) - 2;
    need_space(c, k.n);
    k.n = c->bad ? 1 : k.n;
    return k;
}

/* convNd(input, weight, bias, stride, padding, dilation, groups) */
static void conv_nd(imp_node *c)
{
    conv k = begin(c);
    k.stride = pt_repeated(c, 3, k.n);
    k.dilation = pt_repeated(c, 5, k.n);
    paddings(c, &k, 4);
    k.groups = pt_integer(c, 6);
    convolve(c, &k);
}

/* ... stride, padding, output_padding, groups, dilation */
static void conv_transpose_nd(imp_node *c)
{
    conv k = begin(c);
    k.transposed = true;
    k.stride = pt_repeated(c, 3, k.n);
    k.before = k.after = pt_repeated(c, 4, k.n);
    k.more = pt_repeated(c, 5, k.n);
    k.groups = pt_integer(c, 6);
    k.dilation = pt_repeated(c, 7, k.n);
    convolve(c, &k);
}

/* ... stride, padding, dilation, transposed, output_padding, groups */
static void convolution(imp_node *c)
{
    conv k = begin(c);
    k.stride = pt_repeated(c, 3, k.n);
    k.dilation = pt_repeated(c, 5, k.n);
    paddings(c, &k, 4);
    k.transposed = pt_truth(c, 6);
    k.more = k.transposed ? pt_repeated(c, 7, k.n) : zeros;
    k.groups = pt_integer(c, 8);
    convolve(c, &k);
}

/* ---- pooling ---- */

static int space_of(imp_node *c)
{
    const char *s = strstr(pt_of(c)->row->schema, "d(");
    const char *w = strstr(pt_of(c)->row->schema, "d_with_indices(");
    s = w ? w : s;
    return s ? s[-1] - '0' : 2;
}

/* Of a pool's data, where it has a batch. */
static void need_images(imp_node *c, tn_value x, int n)
{
    if (!c->bad && imp_rank(x) != n + 2)
        imp_refuse(c, IMP_OPERANDS, "data %s does not have the dimensions of a pool over %d",
                   imp_type_text(c, imp_type(x)), n);
}

typedef struct pool {
    tn_value x;
    int n;
    bool alone; /* without a batch */
    tn_pool2d_attr a;
} pool;

static pool begin_pool(imp_node *c, const tn_op *op, int ceil)
{
    pool p = {.x = pt_in(c, 0), .n = space_of(c)};
    int stride = pt_given(c, 2) && !(pt_is_sequence(pt_arg(c, 2)) && pt_arg(c, 2).list->n == 0) ? 2 : 1;
    const int64_t *size = pt_repeated(c, 1, p.n), *step = pt_repeated(c, stride, p.n),
                  *pad = pt_repeated(c, 3, p.n);
    static const int64_t ones[] = {1, 1, 1};
    (void)tn_attr_init(c->pool, op->attr, sizeof p.a, &p.a);
    p.alone = imp_rank(p.x) == p.n + 1;
    p.x = p.alone ? imp_unsqueeze(c, p.x, 0) : p.x;
    need_images(c, p.x, p.n);
    p.a.pool_size = tn_ints_make(c->arena, (uint32_t)p.n, size);
    p.a.strides = tn_ints_make(c->arena, (uint32_t)p.n, step);
    p.a.dilation = tn_ints_make(c->arena, (uint32_t)p.n, ones);
    p.a.padding = c->bad ? (tn_dims){0} : both_sides(c, p.n, pad, pad);
    p.a.ceil_mode = pt_truth(c, ceil);
    return p;
}

/* Padding behind an axis that makes its last window a whole one. */
static const tn_expr *room_behind(imp_node *c, const pool *p, int d, int64_t pad)
{
    tn_pool *e = c->pool;
    const tn_expr *in = imp_type(p->x)->dim[d + 2];
    int64_t s = p->a.strides.at[d], reach = p->a.dilation.at[d] * (p->a.pool_size.at[d] - 1) + 1;
    const tn_expr *begins = tn_add(e, in, tn_idx(e, 2 * pad - reach + s - 1)), *inside;
    begins = tn_fdiv(e, begins, tn_idx(e, s)); /* steps to the last window */
    if (reach < s + pad) {
        inside = tn_fdiv(e, tn_add(e, in, tn_idx(e, pad - 1)), tn_idx(e, s));
        begins = tn_min(e, begins, inside);
    }
    const tn_expr *end = tn_add(e, tn_mul(e, begins, tn_idx(e, s)), tn_idx(e, reach - pad));
    return imp_simplify(c, tn_max(e, tn_sub(e, end, in), tn_idx(e, 0)));
}

/* The last window of ceil_mode must begin inside of the data or its first padding: else it does not count. The
 * padding after the data says how many windows there are. */
static void whole_windows(imp_node *c, pool *p)
{
    const tn_expr *pad[2 * MAX_SPACE];
    if (!p->a.ceil_mode || c->bad)
        return;
    for (int d = 0; d < p->n; d++) {
        int64_t before = 0;
        if (!tn_is_int(p->a.padding.at[d], &before) || p->a.strides.at[d] < 1)
            return;
        pad[d] = tn_idx(c->pool, before);
        pad[p->n + d] = room_behind(c, p, d, before);
    }
    p->a.padding = tn_dims_make(c->arena, 2 * (uint32_t)p->n, pad);
    p->a.ceil_mode = false;
}

static const tn_op *const max_pools[] = {&tn_op_nn_max_pool1d, &tn_op_nn_max_pool2d, &tn_op_nn_max_pool3d};
static const tn_op *const avg_pools[] = {&tn_op_nn_avg_pool1d, &tn_op_nn_avg_pool2d, &tn_op_nn_avg_pool3d};

static void max_pool(imp_node *c)
{
    const tn_op *op = max_pools[space_of(c) - 1];
    pool p = begin_pool(c, op, 5);
    p.a.dilation = tn_ints_make(c->arena, (uint32_t)p.n, pt_repeated(c, 4, p.n));
    whole_windows(c, &p);
    bool both = strstr(pt_of(c)->row->schema, "_with_indices") != NULL;
    tn_value y = imp_call1(c, op, &p.a, p.x);
    if (!both) {
        pt_out(c, p.alone ? imp_squeeze(c, y, 0) : y);
        return;
    }
    tn_pool2d_attr a = p.a;
    a.layout = NULL;
    a.storage_order = 0;
    /* positions count over the whole tensor, PyTorch's within a channel */
    tn_value at = imp_call1(c, &tn_op_nn_max_pool_indices, &a, p.x);
    if (!c->bad && at.def->nout > 1)
        at.out = 1;
    const tn_expr *plane = imp_product(c, imp_type(p.x), 2, imp_rank(p.x));
    tn_value extent = imp_i64(c, 1);
    for (int d = 2; d < imp_rank(p.x); d++)
        extent = pt_mul(c, extent, imp_extent_of(c, p.x, d));
    (void)plane;
    at = imp_binary(c, &tn_op_floor_mod, imp_cast(c, at, TN_I64), extent);
    tn_value v[2] = {p.alone ? imp_squeeze(c, y, 0) : y, p.alone ? imp_squeeze(c, at, 0) : at};
    pt_out_many(c, PT_TUPLE, 2, v);
}

/* An average over whole windows as one over what of them lies inside of the data and its padding. */
static tn_value inside_padding(imp_node *c, const pool *p, const int64_t pad[], tn_value y)
{
    for (int d = 0; d < p->n && !c->bad; d++) {
        pt_value in[] = {pt_tensor_new(pt_of(c)->p, p->x), pt_tensor_new(pt_of(c)->p, y), pt_int(d + 2),
                         pt_int(p->a.pool_size.at[d]),     pt_int(p->a.strides.at[d]),    pt_int(pad[d])};
        pt_value share = pt_library_call(c, "share_inside", 6, in);
        y = pt_mul(c, y, imp_cast(c, pt_as_tensor(c, share), imp_type(y)->dtype));
    }
    return y;
}

/* avg_poolNd(x, size, stride, padding, ceil, count_include_pad, divisor) */
static void avg_pool(imp_node *c)
{
    const tn_op *op = avg_pools[space_of(c) - 1];
    pool p = begin_pool(c, op, 4);
    if (!c->bad && !tn_dtype_is_float(imp_type(p.x)->dtype))
        imp_refuse(c, IMP_OPERANDS, "an average pool of integers is not supported");
    const int64_t *pad = pt_repeated(c, 3, p.n);
    bool divisor = c->n_in > 6 && pt_given(c, 6), counts = divisor || pt_truth(c, 5), pads = false;
    for (int d = 0; d < p.n; d++)
        pads = pads || pad[d] != 0;
    bool beyond = p.a.ceil_mode && counts && !divisor; /* what is behind the padding does not count */
    p.a.count_include_pad = counts && (pads || !beyond);
    whole_windows(c, &p);
    tn_value y = imp_call1(c, op, &p.a, p.x);
    if (beyond && pads)
        y = inside_padding(c, &p, pad, y);
    if (divisor) {
        double all = 1;
        for (int d = 0; d < p.n; d++)
            all *= (double)p.a.pool_size.at[d];
        y = pt_mul(c, y, pt_num(c, y, all / pt_real(c, 6)));
    }
    pt_out(c, p.alone ? imp_squeeze(c, y, 0) : y);
}

/* Windows of an adaptive pool: from floor(i * in / out) to ceil((i + 1) * in / out). Where they are not all alike, each
 * is reduced by itself. */
static tn_value pooled_axis(imp_node *c, const tn_op *reduce, tn_value x, int axis, int64_t in, int64_t out)
{
    tn_value *part = TN_NEW_N(c->arena, tn_value, (size_t)out);
    for (int64_t i = 0; i < out && !c->bad; i++) {
        tn_value piece = imp_slice(c, x, axis, i * in / out, ((i + 1) * in + out - 1) / out);
        part[i] = pt_sum(c, reduce, piece, tn_ints_make(c->arena, 1, (int64_t[]){axis}), true);
    }
    return imp_concat(c, (uint32_t)out, part, axis);
}

static tn_value evenly(imp_node *c, const tn_op *op, tn_value x, int n, const int64_t in[],
                       const int64_t out[])
{
    tn_pool2d_attr a;
    int64_t size[MAX_SPACE];

    (void)tn_attr_init(c->pool, op->attr, sizeof a, &a);
    for (int d = 0; d < n; d++)
        size[d] = in[d] / out[d];
    static const int64_t ones[] = {1, 1, 1};
    a.pool_size = a.strides = tn_ints_make(c->arena, (uint32_t)n, size);
    a.dilation = tn_ints_make(c->arena, (uint32_t)n, ones);
    a.padding = both_sides(c, n, zeros, zeros);
    return imp_call1(c, op, &a, x);
}

typedef struct adaptive_axis {
    pt_value size;   /* how many windows, as the model says; None: it stays as it is */
    int64_t in, out; /* -1: the run knows */
} adaptive_axis;

static adaptive_axis read_axis(imp_node *c, tn_value x, int d)
{
    adaptive_axis a = {.size = pt_arg(c, 1), .in = -1, .out = -1};
    if (pt_is_sequence(a.size))
        a.size = pt_at(a.size, (size_t)(a.size.list->n == 1 ? 0 : d));
    if (!tn_is_int(imp_type(x)->dim[d + 2], &a.in))
        a.in = -1;
    a.out = a.size.kind == PT_NONE ? a.in : a.size.kind == PT_INT ? a.size.i : -1;
    if (a.size.kind == PT_INT && (a.out < 1 || a.out > 1024))
        imp_refuse(c, IMP_BAD_VALUE, "an adaptive pool has no windows, or more than 1024");
    return a;
}

static tn_value adapted(imp_node *c, bool max, tn_value x, int axis, const adaptive_axis *a)
{
    const tn_op *reduce = max ? &tn_op_max : &tn_op_mean;
    if (a->size.kind == PT_NONE || c->bad)
        return x;
    if (a->out == 1)
        return pt_sum(c, reduce, x, tn_ints_make(c->arena, 1, (int64_t[]){axis}), true);
    if (a->in >= 0 && a->out >= 0)
        return pooled_axis(c, reduce, x, axis, a->in, a->out);
    pt_value in[] = {pt_tensor_new(pt_of(c)->p, x), pt_int(axis), a->size};
    return pt_as_tensor(c, pt_library_call(c, max ? "adaptive_max_axis" : "adaptive_avg_axis", 3, in));
}

static void adaptive(imp_node *c)
{
    int n = space_of(c);
    bool max = strncmp(pt_of(c)->row->schema, "adaptive_max", 12) == 0;
    tn_value x = pt_in(c, 0);
    bool alone = imp_rank(x) == n + 1, even = true, ones = true;
    x = alone ? imp_unsqueeze(c, x, 0) : x;
    need_images(c, x, n);
    adaptive_axis axis[MAX_SPACE];
    int64_t axes[MAX_SPACE], in[MAX_SPACE], out[MAX_SPACE];
    for (int d = 0; d < n && !c->bad; d++) {
        axis[d] = read_axis(c, x, d);
        in[d] = axis[d].in;
        out[d] = axis[d].out;
        axes[d] = d + 2;
        ones = ones && out[d] == 1;
        even = even && in[d] >= 0 && out[d] > 0 && in[d] % out[d] == 0;
    }
    if (c->bad)
        return;
    tn_value y = x;
    bool global = ones && n == 2 && !max && tn_dtype_is_float(imp_type(x)->dtype);
    if (global) /* unlike a mean, it takes blocked layouts as they are */
        y = imp_unary(c, &tn_op_nn_global_avg_pool2d, x);
    else if (ones)
        y = pt_sum(c, max ? &tn_op_max : &tn_op_mean, x, tn_ints_make(c->arena, (uint32_t)n, axes), true);
    else if (even)
        y = evenly(c, (max ? max_pools : avg_pools)[n - 1], x, n, in, out);
    else
        for (int d = 0; d < n; d++)
            y = adapted(c, max, y, d + 2, &axis[d]);
    pt_out(c, alone ? imp_squeeze(c, y, 0) : y);
}

static void lp_pool(imp_node *c)
{
    int n = space_of(c);
    pt_value size = pt_arg(c, 2), step = pt_given(c, 3) ? pt_arg(c, 3) : size;
    tn_value x = pt_float_in(c, 0);
    double p = pt_real(c, 1), all = 1;
    pt_of(c)->arg[1] = size;
    pt_of(c)->arg[2] = step;
    pt_of(c)->arg[3] = pt_int(0);
    pool k = begin_pool(c, avg_pools[n - 1], 4);
    for (int d = 0; d < n && !c->bad; d++)
        all *= (double)k.a.pool_size.at[d];
    k.a.count_include_pad = true;
    tn_value first = k.alone ? imp_unsqueeze(c, x, 0) : x;
    k.x = imp_binary(c, &tn_op_power, first, pt_num(c, x, p));
    tn_value second = imp_call1(c, avg_pools[n - 1], &k.a, k.x);
    tn_value y = pt_mul(c, second, pt_num(c, x, all));
    tn_value third = imp_unary(c, &tn_op_nn_relu, y);
    y = imp_binary(c, &tn_op_power, third, pt_num(c, x, 1 / p));
    pt_out(c, k.alone ? imp_squeeze(c, y, 0) : y);
}

/* ---- padding ---- */

static void padded(imp_node *c, tn_value x, tn_dims pad, const char *mode, double value)
{
    int rank = imp_rank(x);
    const tn_expr *width[2 * IMP_MAX_RANK];
    for (int i = 0; i < 2 * rank; i++)
        width[i] = tn_idx(c->pool, 0);
    if (!c->bad && (pad.n % 2 || (int)pad.n > 2 * rank))
        imp_refuse(c, IMP_BAD_VALUE, "%u paddings are given for %d dimensions", (unsigned)pad.n, rank);
    for (uint32_t i = 0; i < pad.n / 2 && !c->bad; i++) { /* the last dimension first */
        width[2 * (rank - 1 - (int)i)] = pad.at[2 * i];
        width[2 * (rank - 1 - (int)i) + 1] = pad.at[2 * i + 1];
    }
    const char *as = strcmp(mode, "replicate") == 0 ? "edge" : strcmp(mode, "circular") == 0 ? "wrap" : mode;
    tn_pad_attr a = {tn_dims_make(c->arena, 2 * (uint32_t)rank, width), value, as};
    pt_out(c, c->bad ? (tn_value){0} : imp_call1(c, &tn_op_nn_pad, &a, x));
}

static void pad(imp_node *c)
{
    tn_value first = pt_in(c, 0);
    tn_dims second = pt_dims(c, 1);
    padded(c, first, second, *pt_string(c, 2) ? pt_string(c, 2) : "constant",
           pt_given(c, 3) ? pt_real(c, 3) : 0);
}

static void constant_pad(imp_node *c)
{
    tn_value first = pt_in(c, 0);
    tn_dims second = pt_dims(c, 1);
    padded(c, first, second, "constant", pt_real(c, 2));
}

static void pad_mode(imp_node *c)
{
    bool edge = strncmp(pt_of(c)->row->schema, "replication", 11) == 0;
    tn_value first = pt_in(c, 0);
    padded(c, first, pt_dims(c, 1), edge ? "edge" : "reflect", 0);
}

/* ---- layers ---- */

tn_value pt_linear(imp_node *c, tn_value x, tn_value w, tn_value b)
{
    int rank = imp_rank(x);
    if (imp_rank(w) == 1) {
        tn_value y =
            pt_sum(c, &tn_op_sum, pt_mul(c, x, w), tn_ints_make(c->arena, 1, (int64_t[]){rank - 1}), false);
        return b.def ? pt_add(c, y, b) : y;
    }
    const tn_expr *dim[IMP_MAX_RANK];
    const tn_expr *flat[2] = {imp_product(c, imp_type(x), 0, rank - 1),
                              rank ? imp_type(x)->dim[rank - 1] : NULL};
    if (!rank)
        imp_refuse(c, IMP_BAD_VALUE, "the data must have dimensions, but is a number");
    if (c->bad)
        return (tn_value){0};
    tn_value y = imp_binary(c, &tn_op_nn_dense, rank == 2 ? x : imp_reshape(c, x, 2, flat), w);
    tn_axis_attr last = {1};
    y = b.def ? imp_rank(b) == 1 ? imp_call2(c, &tn_op_nn_bias_add, &last, y, b) : y : y;
    for (int d = 0; d < rank - 1; d++)
        dim[d] = imp_type(x)->dim[d];
    dim[rank - 1] = c->bad ? NULL : imp_type(y)->dim[1];
    y = rank == 2 || c->bad ? y : imp_reshape(c, y, rank, dim);
    return b.def && imp_rank(b) != 1 ? pt_add(c, y, b) : y;
}

static void linear(imp_node *c)
{
    tn_value first = pt_in(c, 0);
    tn_value second = pt_in(c, 1);
    pt_out(c, pt_linear(c, first, second, pt_in(c, 2)));
}

static void bilinear(imp_node *c)
{
    tn_value x = pt_in(c, 0), y = pt_in(c, 1), w = pt_in(c, 2), b = pt_in(c, 3);
    tn_einsum_attr a = {"bi,oij,bj->bo"};
    if (imp_rank(x) != 2)
        imp_refuse(c, IMP_BAD_VALUE, "bilinear over %d dimensions is not supported", imp_rank(x));
    tn_value r = imp_call(c, &tn_op_einsum, &a, 3, (const tn_value[]){x, w, y});
    pt_out(c, b.def ? pt_add(c, r, b) : r);
}

static void embedding(imp_node *c)
{
    tn_value w = pt_in(c, 0), at = pt_positions(c, pt_in(c, 1));
    const tn_expr *rows = imp_rank(w) ? imp_type(w)->dim[0] : NULL;
    tn_extent_attr a = {rows ? tn_dims_make(c->arena, 1, &rows) : (tn_dims){0}};
    pt_out(c, imp_take(c, w, imp_call1(c, &tn_op_checked_index, &a, at), 0));
}

static void same(imp_node *c) { pt_out(c, pt_in(c, 0)); }

/* Random in training, nothing else otherwise. */
static void dropout(imp_node *c)
{
    if (pt_truth(c, 2) && pt_real(c, 1) != 0)
        imp_refuse(c, IMP_BAD_VALUE,
                   "dropout in training mode is not supported; call model.eval() before saving it");
    pt_out(c, pt_in(c, 0));
}

static void pixel_shuffle(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int64_t r = pt_integer(c, 1);
    int rank = imp_rank(x);
    bool up = strncmp(pt_of(c)->row->schema, "pixel_shuffle", 13) == 0;
    if (c->bad || rank < 3 || r < 1 || rank > 5) {
        imp_refuse(c, IMP_BAD_VALUE, "the operand has %d dimensions", rank);
        return;
    }
    const tn_expr *const *d = imp_type(x)->dim, *split[9], *to[6], *f = tn_idx(c->pool, r);
    const tn_expr *ff = tn_idx(c->pool, r * r);
    int lead = rank - 3;
    int64_t perm[9];
    for (int i = 0; i < lead; i++)
        split[i] = to[i] = d[i], perm[i] = i;
    const tn_expr *ch = d[lead], *h = d[lead + 1], *w = d[lead + 2];
    if (up) {
        const tn_expr *in[5] = {imp_simplify(c, tn_fdiv(c->pool, ch, ff)), f, f, h, w};
        static const int64_t order[5] = {0, 3, 1, 4, 2};
        for (int i = 0; i < 5; i++)
            split[lead + i] = in[i], perm[lead + i] = lead + order[i];
        to[lead] = in[0];
        to[lead + 1] = imp_simplify(c, tn_mul(c->pool, h, f));
        to[lead + 2] = imp_simplify(c, tn_mul(c->pool, w, f));
    } else {
        const tn_expr *in[5] = {ch, imp_simplify(c, tn_fdiv(c->pool, h, f)), f,
                                imp_simplify(c, tn_fdiv(c->pool, w, f)), f};
        static const int64_t order[5] = {0, 2, 4, 1, 3};
        for (int i = 0; i < 5; i++)
            split[lead + i] = in[i], perm[lead + i] = lead + order[i];
        to[lead] = imp_simplify(c, tn_mul(c->pool, ch, ff));
        to[lead + 1] = in[1];
        to[lead + 2] = in[3];
    }
    x = imp_reshape(c, x, lead + 5, split);
    pt_out(c, imp_reshape(c, imp_transpose(c, x, lead + 5, perm), rank, to));
}

static void channel_shuffle(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int rank = imp_rank(x);
    int64_t groups = pt_integer(c, 1);
    const tn_expr *g = tn_idx(c->pool, groups), *split[IMP_MAX_RANK + 1];
    if (groups < 1)
        imp_refuse(c, IMP_BAD_VALUE, "there are %lld groups of channels, but must be at least 1",
                   (long long)groups);
    if (rank < 2 || rank >= IMP_MAX_RANK)
        imp_refuse(c, IMP_BAD_VALUE, "the data has %d dimensions, but must have 2 to %d", rank,
                   IMP_MAX_RANK - 1);
    if (c->bad)
        return;
    for (int i = 0; i < rank + 1; i++)
        split[i] = imp_type(x)->dim[i == 0 ? 0 : i - 1];
    split[2] = imp_simplify(c, tn_fdiv(c->pool, imp_type(x)->dim[1], g));
    split[1] = g;
    tn_value v = pt_swap(c, imp_reshape(c, x, rank + 1, split), 1, 2);
    pt_out(c, imp_reshape(c, v, rank, imp_type(x)->dim));
}

#define CONV \
    "(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, any padding=0, int[] dilation=1, int " \
    "groups=1)"
#define TRANSPOSED \
    "(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] " \
    "output_padding=0, int groups=1, int[] dilation=1)"
#define MAX_POOL \
    "(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool " \
    "ceil_mode=False)"
#define AVG_POOL \
    "(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, bool ceil_mode=False, bool " \
    "count_include_pad=True, int? divisor_override=None)"
const pt_row pt_rows_nn[] = {
    {"_convolution_mode(Tensor input, Tensor weight, Tensor? bias, int[] stride, str padding, int[] "
     "dilation, int "
     "groups)",
     conv_nd, NULL, 0},
    {"conv1d" CONV, conv_nd, NULL, 0},
    {"conv2d" CONV, conv_nd, NULL, 0},
    {"conv3d" CONV, conv_nd, NULL, 0},
    {"conv_transpose1d" TRANSPOSED, conv_transpose_nd, NULL, 0},
    {"conv_transpose2d" TRANSPOSED, conv_transpose_nd, NULL, 0},
    {"conv_transpose3d" TRANSPOSED, conv_transpose_nd, NULL, 0},
    {"_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, any padding, int[] dilation, "
     "bool transposed, int[] output_padding, int groups, any benchmark=None, any deterministic=None, any "
     "cudnn_enabled=None, any allow_tf32=None)",
     convolution, NULL, 0},
    {"convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, any padding, int[] dilation, bool "
     "transposed, int[] output_padding, int groups)",
     convolution, NULL, 0},
    {"max_pool1d" MAX_POOL, max_pool, NULL, 0},
    {"max_pool2d" MAX_POOL, max_pool, NULL, 0},
    {"max_pool3d" MAX_POOL, max_pool, NULL, 0},
    {"max_pool1d_with_indices" MAX_POOL, max_pool, NULL, 0},
    {"max_pool2d_with_indices" MAX_POOL, max_pool, NULL, 0},
    {"max_pool3d_with_indices" MAX_POOL, max_pool, NULL, 0},
    {"avg_pool1d" AVG_POOL, avg_pool, NULL, 0},
    {"avg_pool2d" AVG_POOL, avg_pool, NULL, 0},
    {"avg_pool3d" AVG_POOL, avg_pool, NULL, 0},
    {"adaptive_avg_pool1d(Tensor self, any output_size)", adaptive, NULL, 0},
    {"adaptive_avg_pool2d(Tensor self, any output_size)", adaptive, NULL, 0},
    {"adaptive_avg_pool3d(Tensor self, any output_size)", adaptive, NULL, 0},
    {"_adaptive_avg_pool2d(Tensor self, any output_size)", adaptive, NULL, 0},
    {"_adaptive_avg_pool3d(Tensor self, any output_size)", adaptive, NULL, 0},
    {"lp_pool1d(Tensor self, Scalar norm_type, int[] kernel_size, any stride=None, bool ceil_mode=False)",
     lp_pool, NULL, 0},
    {"lp_pool2d(Tensor self, Scalar norm_type, int[] kernel_size, any stride=None, bool ceil_mode=False)",
     lp_pool, NULL, 0},
    {"pad(Tensor self, int[] pad, str mode=constant, Tensor? value=None)", pad, NULL, PT_SUM},
    {"constant_pad_nd(Tensor self, int[] pad, Tensor value=0)", constant_pad, NULL, PT_SUM},
    {"reflection_pad1d(Tensor self, int[] padding)", pad_mode, NULL, PT_PARTS},
    {"reflection_pad2d(Tensor self, int[] padding)", pad_mode, NULL, PT_PARTS},
    {"reflection_pad3d(Tensor self, int[] padding)", pad_mode, NULL, PT_PARTS},
    {"replication_pad1d(Tensor self, int[] padding)", pad_mode, NULL, PT_PARTS},
    {"replication_pad2d(Tensor self, int[] padding)", pad_mode, NULL, PT_PARTS},
    {"replication_pad3d(Tensor self, int[] padding)", pad_mode, NULL, PT_PARTS},
    {"linear(Tensor input, Tensor weight, Tensor? bias=None)", linear, NULL, 0},
    {"bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None)", bilinear, NULL, 0},
    {"embedding(Tensor weight, Tensor indices, any padding_idx=None, any scale_grad_by_freq=None, any "
     "sparse=None)",
     embedding, NULL, 0},
    {"dropout(Tensor input, float p, bool train)", dropout, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"feature_dropout(Tensor input, float p, bool train)", dropout, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"alpha_dropout(Tensor input, float p, bool train)", dropout, NULL, PT_VIEW},
    {"feature_alpha_dropout(Tensor input, float p, bool train)", dropout, NULL, PT_VIEW},
    {"native_dropout(Tensor input, float p, bool train)", dropout, NULL, PT_PARTS},
    {"pixel_shuffle(Tensor self, int upscale_factor)", pixel_shuffle, NULL, PT_PARTS},
    {"pixel_unshuffle(Tensor self, int downscale_factor)", pixel_shuffle, NULL, PT_PARTS},
    {"channel_shuffle(Tensor self, int groups)", channel_shuffle, NULL, PT_PARTS},
    {"native_channel_shuffle(Tensor self, int groups)", channel_shuffle, NULL, PT_PARTS},
    {"detach(Tensor self)", same, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"alias(Tensor self)", same, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"detach_(Tensor self)", same, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"lift_fresh_copy(Tensor self)", same, NULL, PT_PARTS},
    {"lift_fresh(Tensor self)", same, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"contiguous(Tensor self, any memory_format=None)", same, NULL,
     PT_PARTS | PT_VIEW | PT_ORDERED | PT_IF_ORDERED},
    {"clone(Tensor self, any memory_format=None)", same, NULL, PT_PARTS},
    {"cpu(Tensor self)", same, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"cuda(Tensor self, any device=None)", same, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"to_dense(Tensor self, any dtype=None)", same, NULL, 0},
    {"pin_memory(Tensor self, any device=None)", same, NULL, 0},
    {0},
};
