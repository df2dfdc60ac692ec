#ifndef TENON_TESTS_E2E_RANDOM_MODEL_H
#define TENON_TESTS_E2E_RANDOM_MODEL_H
/* Random small networks as lines of text (onnx/write.h): convolutions of all kinds, matrices, pooling, normalisation,
 * elementwise chains, residuals, and data movement between them. The same seed gives the same network. Values are
 * [n, c, h, w] or [n, f]; n is symbolic ("N") or a number. */
#include "base/rng.h"
#include "onnx/write.h"

#include <math.h>
#include <stdio.h>

enum {
    MODEL_VALUES = 40,
    MODEL_ELEMENTS = 6000,
    MODEL_WORK = 400000
}; /* limits of one value, one operator, a row */

typedef struct shape {
    int ndim;
    int64_t dim[4];
} shape; /* dim[0] is the batch: not looked at */

typedef struct random_model {
    tn_rng r;
    tn_buf text;
    shape value[MODEL_VALUES]; /* v0 is the input */
    int n, n_weight;
    const char *batch; /* "N", "3" */
} random_model;

static inline int below(random_model *g, int n) { return (int)tn_rng_below(&g->r, (uint64_t)n); }

static inline int between(random_model *g, int low, int high) { return low + below(g, high - low + 1); }

static inline int one_of(random_model *g, int n, const int of[]) { return of[below(g, n)]; }

static inline int channels(random_model *g)
{
    return one_of(g, 12, (const int[]){1, 2, 3, 4, 5, 8, 13, 16, 17, 24, 32, 40});
}

static inline int64_t elements(const shape *s)
{
    int64_t n = 1;
    for (int d = 1; d < s->ndim; d++)
        n *= s->dim[d];
    return n;
}

/* An initializer of random data; dims as text. Returns its number. */
static inline int weight(random_model *g, const char *dims, double scale)
{
    tn_buf_printf(&g->text, "initr w%d float %s = %d %.3f\n", g->n_weight, dims, between(g, 1, 1 << 30),
                  scale);
    return g->n_weight++;
}

static inline int vector(random_model *g, int64_t n)
{
    char dims[24];
    snprintf(dims, sizeof dims, "%lld", (long long)n);
    return weight(g, dims, 0.5);
}

/* Begins the next value's node: `node Op ` is followed by operands and attributes that the caller prints. */
static inline bool give(random_model *g, shape s)
{
    if (elements(&s) < 1 || elements(&s) > MODEL_ELEMENTS || g->n == MODEL_VALUES)
        return false;
    g->value[g->n++] = s;
    return true;
}

/* ---- operators: each returns false where it cannot take value x ---- */

static inline bool conv(random_model *g, int x)
{
    shape s = g->value[x], out = s;
    int64_t c = s.dim[1], groups = 1, k = channels(g);
    int kind = below(g, 6), stride = between(g, 1, 2), dilation = below(g, 4) ? 1 : 2, pad[4], kernel[2];
    char dims[64];
    if (kind == 0) {
        groups = c;
        k = c * between(g, 1, 2);
    } else if (kind == 1 && c % 2 == 0) {
        groups = 2;
        k = 2 * between(g, 1, 10);
    }
    for (int d = 0; d < 2; d++) {
        kernel[d] = kind == 2 ? 1 : one_of(g, 5, (const int[]){1, 2, 3, 3, 5});
        int64_t reach = (kernel[d] - 1) * dilation + 1;
        pad[d] = below(g, 2) ? kernel[d] / 2 : below(g, 2);
        pad[d + 2] = below(g, 4) ? pad[d] : below(g, 3);
        if (s.dim[d + 2] + pad[d] + pad[d + 2] < reach)
            return false;
        out.dim[d + 2] = (s.dim[d + 2] + pad[d] + pad[d + 2] - reach) / stride + 1;
    }
    out.dim[1] = k;
    int64_t fan = c / groups * kernel[0] * kernel[1];
    if (fan * elements(&out) > MODEL_WORK || !give(g, out))
        return false;
    snprintf(dims, sizeof dims, "%lld %lld %d %d", (long long)k, (long long)(c / groups), kernel[0],
             kernel[1]);
    int w = weight(g, dims, 1.5 / sqrt((double)fan)), bias = below(g, 3) ? vector(g, k) : -1;
    tn_buf_printf(&g->text, "node Conv v%d,w%d", x, w);
    if (bias >= 0)
        tn_buf_printf(&g->text, ",w%d", bias);
    tn_buf_printf(&g->text, " -> v%d strides=[%d,%d] dilations=[%d,%d] pads=[%d,%d,%d,%d] group=%lld\n",
                  g->n - 1, stride, stride, dilation, dilation, pad[0], pad[1], pad[2], pad[3],
                  (long long)groups);
    return true;
}

static inline bool pool(random_model *g, int x)
{
    shape s = g->value[x], out = s;
    int kernel = between(g, 2, 3), stride = between(g, 1, 3), pad = below(g, 2);
    for (int d = 2; d < 4; d++) {
        if (s.dim[d] + 2 * pad < kernel)
            return false;
        out.dim[d] = (s.dim[d] + 2 * pad - kernel) / stride + 1;
    }
    if (!give(g, out))
        return false;
    bool average = below(g, 2);
    tn_buf_printf(&g->text, "node %s v%d -> v%d kernel_shape=[%d,%d] strides=[%d,%d] pads=[%d,%d,%d,%d]",
                  average ? "AveragePool" : "MaxPool", x, g->n - 1, kernel, kernel, stride, stride, pad, pad,
                  pad, pad);
    tn_buf_str(&g->text, average && below(g, 2) ? " count_include_pad=1\n" : "\n");
    return true;
}

static inline bool normalise(random_model *g, int x)
{
    int64_t c = g->value[x].dim[1];
    if (!give(g, g->value[x]))
        return false;
    int scale = vector(g, c), bias = vector(g, c), mean = vector(g, c), variance = g->n_weight++;
    tn_buf_printf(&g->text, "init w%d float %lld =", variance, (long long)c);
    for (int64_t i = 0; i < c; i++)
        tn_buf_printf(&g->text, " %.2f", 0.5 + tn_rng_unit(&g->r));
    tn_buf_printf(&g->text, "\nnode BatchNormalization v%d,w%d,w%d,w%d,w%d -> v%d epsilon=0.001\n", x, scale,
                  bias, mean, variance, g->n - 1);
    return true;
}

static inline bool elementwise(random_model *g, int x)
{
    static const char *const ops[] = {"Relu",        "Relu",     "Sigmoid",   "Tanh", "Abs",
                                      "Neg",         "Erf",      "LeakyRelu", "Elu",  "Clip",
                                      "HardSigmoid", "Identity", "Dropout"};
    static const char *const attrs[] = {
        "", "", "", "", "", "", "", " alpha=0.2", " alpha=0.7", " min=-0.5 max=0.8", "", "", ""};
    int i = below(g, (int)(sizeof ops / sizeof *ops));
    if (!give(g, g->value[x]))
        return false;
    tn_buf_printf(&g->text, "node %s v%d -> v%d%s\n", ops[i], x, g->n - 1, attrs[i]);
    return true;
}

static inline bool same_shape(const shape *a, const shape *b, int but)
{
    bool same = a->ndim == b->ndim;
    for (int d = 1; same && d < a->ndim; d++)
        same = d == but || a->dim[d] == b->dim[d];
    return same;
}

/* A value of the same shape as x, axis `but` aside; x itself if there is no other. */
static inline int partner(random_model *g, int x, int but)
{
    int first = below(g, g->n);
    for (int i = 0; i < g->n; i++) {
        int y = (first + i) % g->n;
        if (y != x && same_shape(&g->value[x], &g->value[y], but))
            return y;
    }
    return x;
}

static inline bool residual(random_model *g, int x)
{
    static const char *const ops[] = {"Add", "Add", "Add", "Sub", "Mul", "Max", "Min"};
    int y = partner(g, x, -1);
    if (!give(g, g->value[x]))
        return false;
    tn_buf_printf(&g->text, "node %s v%d,v%d -> v%d\n", ops[below(g, 7)], x, y, g->n - 1);
    return true;
}

/* With a constant of one element, of one per channel, or of one per element of a row. */
static inline bool broadcast(random_model *g, int x)
{
    static const char *const ops[] = {"Add", "Mul", "Sub", "Max"};
    shape s = g->value[x];
    char dims[64];
    int kind = below(g, 3);
    if (!give(g, s))
        return false;
    if (kind == 0)
        snprintf(dims, sizeof dims, "1");
    else if (s.ndim == 2)
        snprintf(dims, sizeof dims, "%s%lld", kind == 1 ? "1 " : "", (long long)s.dim[1]);
    else if (kind == 1)
        snprintf(dims, sizeof dims, "%lld 1 1", (long long)s.dim[1]);
    else
        snprintf(dims, sizeof dims, "1 %lld %lld %lld", (long long)s.dim[1], (long long)s.dim[2],
                 (long long)s.dim[3]);
    int w = weight(g, dims, 0.8);
    tn_buf_printf(&g->text, "node %s v%d,w%d -> v%d\n", ops[below(g, 4)], x, w, g->n - 1);
    return true;
}

static inline bool concatenate(random_model *g, int x)
{
    int axis = between(g, 1, g->value[x].ndim - 1), y = partner(g, x, axis), three = below(g, 3) == 0;
    shape out = g->value[x];
    out.dim[axis] = g->value[x].dim[axis] * (1 + three) + g->value[y].dim[axis];
    if (!give(g, out))
        return false;
    tn_buf_printf(&g->text, "node Concat v%d,v%d", x, y);
    if (three)
        tn_buf_printf(&g->text, ",v%d", x);
    tn_buf_printf(&g->text, " -> v%d axis=%d\n", g->n - 1, axis);
    return true;
}

static inline bool slice(random_model *g, int x)
{
    shape out = g->value[x];
    int axis = between(g, 1, out.ndim - 1), start = below(g, (int)out.dim[axis]);
    int end = between(g, start + 1, (int)out.dim[axis]);
    bool back = below(g, 3) == 0; /* counted from the end */
    int64_t whole = out.dim[axis];
    out.dim[axis] = end - start;
    if (!give(g, out))
        return false;
    tn_buf_printf(&g->text, "node Slice v%d -> v%d axes=[%d] starts=[%lld] ends=[%lld]\n", x, g->n - 1, axis,
                  (long long)(back && start ? start - whole : start),
                  (long long)(end == whole && below(g, 2) ? INT32_MAX : end));
    return true;
}

static inline bool transpose(random_model *g, int x)
{
    static const int perms[][3] = {{1, 3, 2}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}, {2, 1, 3}};
    const int *p = perms[below(g, 5)];
    shape s = g->value[x], out = {4, {0, s.dim[p[0]], s.dim[p[1]], s.dim[p[2]]}};
    if (!give(g, out))
        return false;
    tn_buf_printf(&g->text, "node Transpose v%d -> v%d perm=[0,%d,%d,%d]\n", x, g->n - 1, p[0], p[1], p[2]);
    return true;
}

static inline bool pad(random_model *g, int x)
{
    shape out = g->value[x];
    int p[4];
    for (int i = 0; i < 4; i++)
        out.dim[2 + i % 2] += p[i] = below(g, 3);
    if (!give(g, out))
        return false;
    tn_buf_printf(&g->text, "node Pad v%d -> v%d pads=[0,0,%d,%d,0,0,%d,%d] mode='constant' value=%.1f\n", x,
                  g->n - 1, p[0], p[1], p[2], p[3], below(g, 2) ? 0.0 : 0.5);
    return true;
}

static inline bool reduce(random_model *g, int x)
{
    static const char *const ops[] = {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"};
    shape out = g->value[x];
    int kind = below(g, 3), op = below(g, 4);
    if (kind == 0)
        out.dim[2] = out.dim[3] = 1;
    else
        out.dim[kind] = 1;
    if (!give(g, out))
        return false;
    if (kind == 0 && op == 0)
        tn_buf_printf(&g->text, "node GlobalAveragePool v%d -> v%d\n", x, g->n - 1);
    else
        tn_buf_printf(&g->text, "node %s v%d -> v%d axes=[%s] keepdims=1\n", ops[op], x, g->n - 1,
                      kind == 0   ? "2,3"
                      : kind == 1 ? "1"
                                  : "2");
    return true;
}

static inline bool flatten(random_model *g, int x)
{
    shape out = {2, {0, elements(&g->value[x])}};
    if (!give(g, out))
        return false;
    tn_buf_printf(&g->text, "node Flatten v%d -> v%d axis=1\n", x, g->n - 1);
    return true;
}

/* Channels to space: [n, 4 c, h, w] -> [n, c, 2 h, 2 w] by reshapes and a transposition, as exporters write it. */
static inline bool shuffle(random_model *g, int x)
{
    shape s = g->value[x], out = {4, {0, s.dim[1] / 4, s.dim[2] * 2, s.dim[3] * 2}};
    long long c = out.dim[1], h = s.dim[2], w = s.dim[3];
    if (s.dim[1] % 4 || !give(g, out))
        return false;
    int k = g->n_weight++, y = g->n - 1;
    tn_buf_printf(&g->text,
                  "init w%da int64 6 = 0 %lld 2 2 %lld %lld\ninit w%db int64 4 = 0 %lld %lld %lld\n", k, c, h,
                  w, k, c, 2 * h, 2 * w);
    tn_buf_printf(&g->text, "node Reshape v%d,w%da -> v%da\nnode Transpose v%da -> v%db perm=[0,1,4,2,5,3]\n",
                  x, k, y, y, y);
    tn_buf_printf(&g->text, "node Reshape v%db,w%db -> v%d\n", y, k, y);
    return true;
}

static inline bool dense(random_model *g, int x)
{
    int64_t f = g->value[x].dim[g->value[x].ndim - 1], k = channels(g) + below(g, 30);
    shape out = g->value[x];
    char dims[64];
    bool gemm = out.ndim == 2 && below(g, 3), turned = below(g, 2);
    out.dim[out.ndim - 1] = k;
    if (f * elements(&out) > MODEL_WORK || !give(g, out))
        return false;
    snprintf(dims, sizeof dims, "%lld %lld", (long long)(gemm && turned ? k : f),
             (long long)(gemm && turned ? f : k));
    int w = weight(g, dims, 1.5 / sqrt((double)f)), bias = vector(g, k);
    if (!gemm)
        tn_buf_printf(&g->text, "node MatMul v%d,w%d -> v%d\n", x, w, g->n - 1);
    else
        tn_buf_printf(&g->text, "node Gemm v%d,w%d,w%d -> v%d transB=%d\n", x, w, bias, g->n - 1, turned);
    return true;
}

static inline bool softmax(random_model *g, int x)
{
    if (!give(g, g->value[x]))
        return false;
    tn_buf_printf(&g->text, "node Softmax v%d -> v%d axis=1\n", x, g->n - 1);
    return true;
}

typedef struct random_op {
    bool (*add)(random_model *g, int x);
    int weight;
    bool planes, rows;
} random_op; /* for 4-D, 2-D */
static const random_op random_ops[] = {
    {conv, 6, true, false},       {pool, 2, true, false},    {normalise, 2, true, false},
    {elementwise, 5, true, true}, {residual, 3, true, true}, {broadcast, 3, true, true},
    {concatenate, 2, true, true}, {slice, 2, true, true},    {transpose, 1, true, false},
    {pad, 1, true, false},        {reduce, 1, true, false},  {flatten, 1, true, false},
    {shuffle, 1, true, false},    {dense, 3, true, true},    {softmax, 1, true, true},
};

/* Fills in g->text; the input is v0, outputs are the last value and sometimes one before it. */
static inline void random_model_make(random_model *g, uint64_t seed, const char *batch)
{
    *g = (random_model){.r = {seed}, .batch = batch, .n = 1};
    shape in = {4, {0, channels(g), between(g, 1, 14), between(g, 1, 14)}};
    if (below(g, 4) == 0)
        in = (shape){2, {0, between(g, 1, 70)}};
    g->value[0] = in;
    tn_buf_printf(&g->text, "opset 9\ninput v0 float %s", batch);
    for (int d = 1; d < in.ndim; d++)
        tn_buf_printf(&g->text, " %lld", (long long)in.dim[d]);
    tn_buf_char(&g->text, '\n');
    int total = 0, count = between(g, 1, 9);
    for (size_t i = 0; i < sizeof random_ops / sizeof *random_ops; i++)
        total += random_ops[i].weight;
    for (int tries = 0; g->n <= count && tries < 200; tries++) {
        int x = below(g, 3) ? g->n - 1 : below(g, g->n), pick = below(g, total), i = 0;
        while (pick >= random_ops[i].weight)
            pick -= random_ops[i++].weight;
        if (g->value[x].ndim == 4 ? random_ops[i].planes : random_ops[i].rows)
            random_ops[i].add(g, x);
    }
    tn_buf_printf(&g->text, "output v%d\n", g->n - 1);
    if (g->n > 2 && below(g, 3) == 0)
        tn_buf_printf(&g->text, "output v%d\n", between(g, 1, g->n - 2));
}

#endif
