/* nn.conv2d of windows of 3 x 3 by minimal filtering (Winograd 1980; Lavin and Gray 2016, "Fast algorithms for
 * convolutional neural networks").
 *
 * A tile of m x m results reads a tile of r x r data, r being m + 2, and takes r * r products a channel instead of
 * 9 * m * m: 16 instead of 36 for m = 2, 36 instead of 144 for m = 4. With the window w and the data x,
 *
 *   result = A^T ((G w G^T) * (B^T x B)) A         * element by element, summed over channels
 *
 * A row of results is a product of polynomials, taken by its values at r - 1 points and its highest coefficient
 * (Toom and Cook): row i of A^T has the powers i of the points, G the values of w at the points, divided by those of
 * M'(p), and B^T the coefficients of M(p) / (p - point), M being the polynomial that is 0 at the points. These are 0, 1
 * and -1; for m = 4 also 1/2 and -2, which are less than half as far off as the usual 2 and -2 (docs/numbers.md).
 * The factors in A and B are sums of few powers of two, so only their sums round.
 *
 * Three operators, since the sums over channels are a batch of r * r products of matrices:
 *
 *   nn.winograd_data     x [n, c, h, w] -> [r * r, tiles, c]
 *   nn.batch_matmul      with the constant weights [r * r, c, o], computed here in float64
 *   nn.winograd_result   [r * r, tiles, o] -> [n, o, m * rows, m * columns], of which a slice is the result */
#include "op/nn/winograd.h"

#include "base/size.h"
#include "machine/machine.h"
#include "op/code.h"
#include "op/nn/nn.h"
#include "op/qnn/build.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

enum { TAPS = 3, MOST_SIDE = 6 /* of a tile of data */, MOST_PRODUCTS = MOST_SIDE * MOST_SIDE };
enum { POLL = 1 << 20 };                      /* bytes between two questions whether the call is to end */
enum { MOST_EXTENT = INT32_MAX / MOST_SIDE }; /* of a result */

/* ---- transforms ---- */

typedef struct transforms {
    int tile, side;                                     /* m, r */
    double a[MOST_SIDE][MOST_SIDE];                     /* A^T: tile rows */
    double b[MOST_SIDE][MOST_SIDE], g[MOST_SIDE][TAPS]; /* B^T, G: side rows */
} transforms;

/* Coefficients of the product of (p - point[k]) over all k but `but`, the constant one first. */
static void expand_product(const double *point, int n, int but, double out[MOST_SIDE])
{
    memset(out, 0, MOST_SIDE * sizeof *out);
    out[0] = 1;
    for (int k = 0, degree = 0; k < n; k++) {
        if (k == but)
            continue;
        degree++;
        for (int i = degree; i > 0; i--)
            out[i] = out[i - 1] - point[k] * out[i];
        out[0] *= -point[k];
    }
}

static transforms transforms_of(int tile)
{
    static const double point[MOST_SIDE - 1] = {0, 1, -1, 0.5, -2};
    transforms t = {.tile = tile, .side = tile + TAPS - 1};
    int last = t.side - 1;
    for (int k = 0; k < last; k++) {
        double slope = 1, power = 1;
        expand_product(point, last, k, t.b[k]);
        for (int i = 0; i < last; i++)
            slope *= i == k ? 1 : point[k] - point[i];
        for (int i = 0; i < tile || i < TAPS; i++, power *= point[k]) {
            if (i < tile)
                t.a[i][k] = power;
            if (i < TAPS)
                t.g[k][i] = power / slope;
        }
    }
    expand_product(point, last, -1, t.b[last]);
    t.a[tile - 1][last] = t.g[last][TAPS - 1] = 1;
    return t;
}

/* The sum of factor[i] * v[i * step], of which a factor is 1. */
static const tn_expr *weigh(tn_pool *p, const double *factor, int n, const tn_expr *const v[], int step)
{
    int first = 0;
    while (factor[first] != 1)
        first++;
    const tn_expr *sum = v[first * step];
    for (int i = 0; i < n; i++) {
        const tn_expr *x = v[i * step];
        if (i == first || factor[i] == 0)
            continue;
        sum = factor[i] == 1    ? tn_add(p, sum, x)
              : factor[i] == -1 ? tn_sub(p, sum, x)
                                : tn_add(p, sum, tn_mul(p, x, tn_flt(p, x->dtype, factor[i])));
    }
    return sum;
}

/* factor v factor^T, v being [side, side] and factor [rows, side]. */
static void transform(tn_code *c, double (*factor)[MOST_SIDE], int rows, int side, const tn_expr *v[],
                      const tn_expr *out[])
{
    const tn_expr *half[MOST_PRODUCTS];
    for (int i = 0; i < rows * side; i++)
        half[i] = tn_code_let(c, "t", weigh(c->p, factor[i / side], side, v + i % side, side));
    for (int i = 0; i < rows * rows; i++)
        out[i] = weigh(c->p, factor[i % rows], side, half + i / rows * side, 1);
}

/* ---- tiles ---- */

typedef struct place { /* of a body: in a tile */
    tn_code c;
    tn_pool *p;
    transforms t;
    const tn_expr *at[3], *number; /* batch, row, column; of the tile */
} place;

static void open_tiles(place *x, const tn_winograd_attr *a, const tn_expr *batch)
{
    const tn_expr *extent[3] = {batch, tn_idx(x->p, a->tiles.at[0]), tn_idx(x->p, a->tiles.at[1])};
    x->t = transforms_of((int)a->tile);
    tn_code_each(&x->c, 3, extent, x->at);
    const tn_expr *row = tn_add(x->p, tn_mul(x->p, x->at[0], extent[1]), x->at[1]);
    x->number = tn_add(x->p, tn_mul(x->p, row, extent[2]), x->at[2]);
}

static bool is_known_tile(int64_t tile) { return tile == 2 || tile == 4; }

static tn_status check_attr(tn_graph *g, const tn_node *n, uint32_t n_padding)
{
    const tn_winograd_attr *a = n->attr;
    bool sound = is_known_tile(a->tile) && a->tiles.n == 2 && a->padding.n == n_padding;
    for (int i = 0; i < 2 && sound; i++)
        sound = a->tiles.at[i] >= 1 && a->tiles.at[i] <= MOST_EXTENT &&
                (!n_padding || (a->padding.at[i] >= 0 && a->padding.at[i] < INT32_MAX));
    return sound ? TN_OK
                 : tn_rule_fail(g, n, "op-E007",
                                "tile must be 2 or 4, with tiles along two dimensions and %u paddings",
                                (unsigned)n_padding);
}

static tn_status check_dtype(tn_graph *g, const tn_node *n, const tn_type *t)
{
    return tn_dtype_eq(t->dtype, TN_F32) ? TN_OK
                                         : tn_rule_fail(g, n, "op-E011", "data must be float32, but is %s",
                                                        tn_rule_dtype_text(g, t->dtype));
}

static const tn_expr *tiles_of_image(tn_pool *p, const tn_winograd_attr *a)
{
    return tn_idx(p, a->tiles.at[0] * a->tiles.at[1]);
}

/* ---- nn.winograd_data ---- */

static tn_status data_infer(tn_graph *g, tn_node *n)
{
    const tn_winograd_attr *a = n->attr;
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, 4, &t));
    TN_TRY(check_dtype(g, n, t));
    TN_TRY(check_attr(g, n, 2));
    int64_t side = a->tile + TAPS - 1;
    const tn_expr *dim[3] = {tn_idx(g->pool, side * side),
                             tn_mul(g->pool, t->dim[0], tiles_of_image(g->pool, a)), t->dim[1]};
    return tn_rule_result(g, n, 0, t->dtype, 3, dim);
}

/* 0 <= first and first + side <= extent; NULL: always. */
static const tn_expr *is_inner(const place *x, const tn_expr *first, const tn_expr *extent, int64_t before,
                               int64_t n)
{
    tn_pool *p = x->p;
    int64_t known, reach = (n - 1) * x->t.tile + x->t.side - before;
    const tn_expr *low = before ? tn_le(p, tn_idx(p, 0), first) : NULL;
    bool fits = tn_is_int(extent, &known) && reach <= known;
    const tn_expr *high = fits ? NULL : tn_le(p, tn_add(p, first, tn_idx(p, x->t.side)), extent);
    return high ? tn_rule_both(p, low, high) : low;
}

/* Transforms the channels of a tile. inner: no element is outside the data, where it is 0. */
static void transform_data(place *x, const tn_tensor *in, const tn_expr *const first[2], bool inner,
                           uint32_t out)
{
    tn_pool *p = x->p;
    const tn_expr *v[MOST_PRODUCTS] = {NULL}, *y[MOST_PRODUCTS], *zero = tn_flt(p, in->dtype, 0),
                  *none = tn_idx(p, 0);
    const tn_expr *c = tn_code_spread(&x->c, "c", in->dim[1]);
    int side = x->t.side;
    for (int i = 0; i < side * side; i++) {
        const tn_expr *at[4] = {x->at[0], c}, *inside = NULL;
        for (int d = 0; d < 2; d++) {
            const tn_expr *k = at[2 + d] = tn_add(p, first[d], tn_idx(p, d ? i % side : i / side));
            const tn_expr *in_row = tn_and(p, tn_le(p, none, k), tn_lt(p, k, in->dim[2 + d]));
            inside = tn_rule_both(p, inside, in_row);
        }
        v[i] = tn_code_let(&x->c, "x",
                           inner ? tn_at(x->c.te, in, 4, at) : tn_at_if(x->c.te, in, 4, at, inside, zero));
    }
    transform(&x->c, x->t.b, side, side, v, y);
    for (int i = 0; i < side * side; i++)
        tn_code_store(&x->c, out, 3, (const tn_expr *[]){tn_idx(p, i), x->number, c}, y[i]);
}

static void data_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_winograd_attr *a = n->attr;
    place x = {.c = tn_code_open(te, n, 0, "winograd_data", &out[0]), .p = te->pool};
    const tn_expr *first[2], *inner = NULL;
    open_tiles(&x, a, in[0]->dim[0]);
    for (int d = 0; d < 2; d++) {
        const tn_expr *begin = tn_mul(x.p, x.at[1 + d], tn_idx(x.p, a->tile));
        first[d] = tn_sub(x.p, begin, tn_idx(x.p, a->padding.at[d]));
        const tn_expr *whole = is_inner(&x, first[d], in[0]->dim[2 + d], a->padding.at[d], a->tiles.at[d]);
        inner = whole ? tn_rule_both(x.p, inner, whole) : inner;
    }
    tn_body *tile = x.c.at;
    if (inner)
        tn_code_if(&x.c, inner);
    transform_data(&x, in[0], first, true, out[0]->buffer);
    if (!inner)
        return;
    x.c.at = tile;
    tn_code_if(&x.c, tn_not(x.p, inner));
    transform_data(&x, in[0], first, false, out[0]->buffer);
}

/* Channels beside each other: in blocks, as convolutions have them, or all of a pixel where the user asks for it, or
 * the data come so. */
static const tn_layout *channels(const tn_layout_query *q, const tn_layout *given, const tn_expr *extent)
{
    int block = tn_machine_block(q->machine);
    int64_t n;
    if (q->desired ? strcmp(q->desired, "NHWC") == 0 : given && tn_rule_permutes(given))
        return tn_rule_layout(q->g, "NCHW:NHWC");
    return tn_is_int(extent, &n) && block > 1 && n >= block ? tn_rule_layout(q->g, "NCHW%dc", block) : NULL;
}

static void data_layout(tn_layout_query *q)
{
    q->in[0] = channels(q, q->in[0], tn_in_type(q->node, 0)->dim[1]);
    q->out[0] = NULL;
}

/* ---- nn.winograd_result ---- */

static tn_status result_infer(tn_graph *g, tn_node *n)
{
    const tn_winograd_attr *a = n->attr;
    const tn_type *t;
    tn_pool *p = g->pool;
    TN_TRY(tn_rule_tensor(g, n, 0, 3, &t));
    TN_TRY(check_dtype(g, n, t));
    TN_TRY(check_attr(g, n, 0));
    int64_t side = a->tile + TAPS - 1, tiles_known, each = a->tiles.at[0] * a->tiles.at[1];
    if (!tn_is_value(t->dim[0], side * side) ||
        (tn_is_int(t->dim[1], &tiles_known) && tiles_known % each != 0))
        return tn_rule_fail(g, n, "op-E008",
                            "data %s are not the products of %lld x %lld tiles of %lld x %lld",
                            tn_rule_type_text(g, t), (long long)a->tiles.at[0], (long long)a->tiles.at[1],
                            (long long)a->tile, (long long)a->tile);
    const tn_expr *dim[4] = {tn_fdiv(p, t->dim[1], tn_idx(p, each)), t->dim[2],
                             tn_idx(p, a->tiles.at[0] * a->tile), tn_idx(p, a->tiles.at[1] * a->tile)};
    return tn_rule_result(g, n, 0, t->dtype, 4, dim);
}

static void result_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_winograd_attr *a = n->attr;
    place x = {.c = tn_code_open(te, n, 0, "winograd_result", &out[0]), .p = te->pool};
    const tn_expr *v[MOST_PRODUCTS] = {NULL}, *y[MOST_PRODUCTS], *at[2];
    tn_pool *p = x.p;
    open_tiles(&x, a, out[0]->dim[0]);
    int tile = x.t.tile, side = x.t.side;
    const tn_expr *o = tn_code_spread(&x.c, "o", in[0]->dim[2]);
    for (int i = 0; i < side * side; i++)
        v[i] = tn_code_let(&x.c, "x", tn_at3(te, in[0], tn_idx(p, i), x.number, o));
    transform(&x.c, x.t.a, tile, side, v, y);
    for (int i = 0; i < tile * tile; i++) {
        for (int d = 0; d < 2; d++)
            at[d] = tn_add(p, tn_mul(p, x.at[1 + d], tn_idx(p, tile)), tn_idx(p, d ? i % tile : i / tile));
        tn_code_store(&x.c, out[0]->buffer, 4, (const tn_expr *[]){x.at[0], o, at[0], at[1]}, y[i]);
    }
}

static void result_layout(tn_layout_query *q)
{
    q->in[0] = NULL;
    q->out[0] = channels(q, NULL, q->node->type[0]->dim[1]);
}

/* ---- the alternatives ---- */

typedef struct shape {
    double images;
    int64_t c, o, rows, columns; /* channels of data and result; of the result */
    int64_t above, left;         /* padding */
} shape;

static bool is_plain(const tn_conv2d_attr *a)
{
    return a->groups == 1 && a->strides.at[0] == 1 && a->strides.at[1] == 1 && a->dilation.at[0] == 1 &&
           a->dilation.at[1] == 1;
}

/* False: it is not such a convolution, or an extent is not known. */
static bool shape_of(const tn_node *n, shape *out)
{
    const tn_conv2d_attr *a = n->attr;
    const tn_type *w = tn_in_type(n, 1), *y = n->type[0];
    int64_t images = 1;
    (void)tn_is_int(y->dim[0], &images);
    out->images = (double)images;
    return is_plain(a) && tn_is_value(w->dim[2], TAPS) && tn_is_value(w->dim[3], TAPS) &&
           tn_is_int(w->dim[0], &out->o) && tn_is_int(w->dim[1], &out->c) &&
           tn_is_int(y->dim[2], &out->rows) && tn_is_int(y->dim[3], &out->columns) &&
           tn_is_int(a->padding.at[0], &out->above) && tn_is_int(a->padding.at[1], &out->left) &&
           out->o > 0 && out->c > 0 && out->rows > 0 && out->columns > 0 && out->rows <= MOST_EXTENT &&
           out->columns <= MOST_EXTENT;
}

/* Are they so small that no transform of them overflows? */
static bool weights_fit(const tn_blob *b)
{
    for (size_t i = 0; i + sizeof(float) <= b->n; i += sizeof(float)) {
        float w;
        if (i % POLL == 0)
            tn_poll();
        memcpy(&w, (const char *)b->at + i, sizeof w);
        if (!(fabsf(w) <= 0x1p64f))
            return false;
    }
    return true;
}

bool nn_winograd_2x2_applies(const tn_node *n, const struct tn_machine *m)
{
    const tn_node *w = tn_in(n, 1).def;
    const tn_type *t = tn_in_type(n, 1);
    shape s;
    (void)m;
    return tn_dtype_eq(tn_in_type(n, 0)->dtype, TN_F32) && tn_dtype_eq(t->dtype, TN_F32) &&
           tn_dtype_eq(n->type[0]->dtype, TN_F32) && tn_op_is(w, &tn_op_constant) && w->blob && w->blob->at &&
           !t->layout && shape_of(n, &s) && weights_fit(w->blob);
}

/* Only where 16-bit floats are made of the result. In such networks the data are rounded to 11 bits or fewer, which
 * moves every result by much more than this does: by 2^-12 of the sizes that it is summed of. */
bool nn_winograd_4x4_applies(const tn_node *n, const struct tn_machine *m)
{
    for (const tn_use *u = n->users[0]; u; u = u->next)
        if (!u->user || u->user->op != &tn_op_cast || !tn_dtype_is_float(u->user->type[0]->dtype) ||
            u->user->type[0]->dtype.bits > 16)
            return false;
    return n->users[0] && nn_winograd_2x2_applies(n, m);
}

static int64_t tiles_along(int64_t extent, int tile) { return (extent + tile - 1) / tile; }

/* Products and transforms against a loop over the taps; what the transforms write is read again. Never
 * where that is more than the last cache holds for one image: little is gained there, and it is four times the data. */
static bool pays(const tn_node *n, const tn_machine *m, int tile)
{
    enum { SHARE = 85, DIRECT_SHARE = 95 }; /* of the peak, in percent */
    shape s;
    if (!shape_of(n, &s))
        return false;
    int64_t block = tn_machine_block(m), side = tile + TAPS - 1, products = side * side;
    double peak = tn_machine_flops_a_cycle(m);
    double in = (double)((s.c + block - 1) / block), out = (double)((s.o + block - 1) / block);
    double of_tile = s.images * (double)(tiles_along(s.rows, tile) * tiles_along(s.columns, tile));
    double pixels = s.images * (double)(s.rows * s.columns), c = (double)s.c, wide = out * (double)block;
    double weights = 4.0 * (double)products * c * wide, taps = 4.0 * TAPS * TAPS * c * wide;
    double sums = 2 * (double)products * of_tile * c * wide * 100 / (SHARE * peak);
    double direct = 2.0 * TAPS * TAPS * pixels * c * wide * 100 / (DIRECT_SHARE * peak);
    /* instructions: a load, a store and two rows of factors for each element */
    double steps = of_tile * (double)products * (2 + (double)side) * (in + out);
    double moved = 4.0 * (double)products * of_tile * (double)block, result = 4 * pixels * wide;
    if (!tn_machine_holds(m, moved * (in + out) / s.images))
        return false;
    double moves = 2 * (tn_machine_read_cycles(m, moved * in, moved * in) +
                        tn_machine_read_cycles(m, moved * out, moved * out)) +
                   2 * tn_machine_read_cycles(m, result, result);
    /* weights of other layers have passed since the last run */
    sums = fmax(sums, tn_machine_fetch_cycles(m, weights));
    direct = fmax(direct, tn_machine_fetch_cycles(m, taps));
    return sums + steps + moves < direct;
}

bool nn_winograd_2x2_pays(const tn_node *n, const struct tn_machine *m) { return pays(n, m, 2); }
bool nn_winograd_4x4_pays(const tn_node *n, const struct tn_machine *m) { return pays(n, m, 4); }

/* G w G^T of one window, its elements so many apart. */
static void transform_window(const char *w, const transforms *t, float *out, int64_t apart)
{
    float tap[TAPS * TAPS];
    double half[MOST_SIDE][TAPS] = {{0}};
    memcpy(tap, w, sizeof tap);
    for (int k = 0; k < t->side * TAPS * TAPS; k++) {
        int row = k / (TAPS * TAPS), y = k / TAPS % TAPS, x = k % TAPS;
        half[row][x] += t->g[row][y] * (double)tap[y * TAPS + x];
    }
    for (int k = 0; k < t->side * t->side; k++) {
        const double *row = half[k / t->side], *f = t->g[k % t->side];
        out[k * apart] = (float)(row[0] * f[0] + row[1] * f[1] + row[2] * f[2]);
    }
}

/* Those of all windows, as [products, c, o]. */
static tn_value weights_of(tn_graph *g, tn_node *n, const shape *s, const transforms *t)
{
    const tn_node *w = tn_in(n, 1).def;
    int64_t dim[3] = {t->side * t->side, s->c, s->o}, count;
    size_t bytes;
    void *at;
    if (!tn_i64_mul(s->c, s->o, &count) || !tn_i64_mul(count, dim[0], &dim[0]) ||
        !tn_size_mul((size_t)dim[0], sizeof(float), &bytes))
        return (tn_value){0};
    dim[0] = t->side * t->side;
    tn_blob *b = tn_graph_blob(g, bytes, &at);
    for (int64_t c = 0; c < s->c; c++) {
        tn_poll();
        for (int64_t o = 0; o < s->o; o++)
            transform_window((const char *)w->blob->at + (size_t)(o * s->c + c) * TAPS * TAPS * sizeof(float),
                             t, (float *)at + c * s->o + o, count);
    }
    return tn_val(tn_constant_new(g, n->owner, n, tn_type_tensor_i(g->pool, TN_F32, 3, dim), b, w->name));
}

/* Of whole tiles, what belongs to the result. */
static tn_value slice(tn_graph *g, tn_node *n, tn_value whole, const shape *s)
{
    static const int64_t axes[2] = {2, 3};
    const tn_expr *begin[2] = {tn_idx(g->pool, 0), tn_idx(g->pool, 0)},
                  *end[2] = {tn_idx(g->pool, s->rows), tn_idx(g->pool, s->columns)};
    const tn_slice_attr a = {.begin = tn_dims_make(g->arena, 2, begin),
                             .end = tn_dims_make(g->arena, 2, end),
                             .strides = tn_ints_make(g->arena, 2, (const int64_t[]){1, 1}),
                             .axes = tn_ints_make(g->arena, 2, axes)};
    return qnn_call1(g, n, &tn_op_strided_slice, &a, whole);
}

static tn_status by_tiles(tn_graph *g, tn_node *n, int tile, tn_value out[])
{
    const transforms t = transforms_of(tile);
    shape s;
    bool known = shape_of(n, &s);
    TN_ASSERT(known);
    int64_t tiles[2] = {tiles_along(s.rows, tile), tiles_along(s.columns, tile)};
    tn_winograd_attr a = {.tile = tile,
                          .tiles = tn_ints_make(g->arena, 2, tiles),
                          .padding = tn_ints_make(g->arena, 2, (const int64_t[]){s.above, s.left})};
    tn_matmul_attr product = {.out_dtype = TN_F32};
    tn_value x = tn_in(n, 0),
             in[2] = {qnn_call_once(g, n, &tn_op_nn_winograd_data, &a, 1, &x), weights_of(g, n, &s, &t)};
    tn_value y = qnn_call(g, n, &tn_op_nn_batch_matmul, &product, 2, in);
    a.padding = (tn_ints){0};
    y = qnn_call1(g, n, &tn_op_nn_winograd_result, &a, y);
    out[0] = tiles[0] * tile == s.rows && tiles[1] * tile == s.columns ? y : slice(g, n, y, &s);
    return out[0].def ? TN_OK : TN_FAIL;
}

tn_status nn_conv2d_by_2x2(tn_graph *g, tn_node *n, tn_value out[]) { return by_tiles(g, n, 2, out); }
tn_status nn_conv2d_by_4x4(tn_graph *g, tn_node *n, tn_value out[]) { return by_tiles(g, n, 4, out); }

/* clang-format off */
static const tn_attr_field winograd_fields[] = TN_ATTR_TABLE(tn_winograd_attr, TN_WINOGRAD_ATTRS);
static const char *const data_in[] = {"data"};

const tn_op tn_op_nn_winograd_data = {
    .name = "nn.winograd_data", .doc = "Tiles of images, transformed for products with windows of 3 x 3.",
    .attr_size = sizeof(tn_winograd_attr), .attr = winograd_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = data_in,
    .infer = data_infer, .layout = data_layout, .body = data_body, .precision = TN_PRECISION_KEEP,
    .layouts = "NCHW NHWC",
};
const tn_op tn_op_nn_winograd_result = {
    .name = "nn.winograd_result", .doc = "Images from the products of transformed tiles and windows.",
    .attr_size = sizeof(tn_winograd_attr), .attr = winograd_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = data_in,
    .infer = result_infer, .layout = result_layout, .body = result_body, .precision = TN_PRECISION_KEEP,
    .layouts = "NCHW NHWC",
};
/* clang-format on */
