/* Boosted regression trees. */
#include "tune/boost.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BINS = 32, MAX_DEPTH = 8, MAX_NODES = 1 << (MAX_DEPTH + 1) };

/* Node k's children are 2k + 1 (its feature is below the cut) and 2k + 2. */
typedef struct node {
    int32_t feature; /* -1: a leaf */
    float cut;
    double value;
} node;

struct tn_boost {
    tn_boost_options o;
    uint32_t n_node; /* of a tree */
    double base;     /* the mean */
    node *at;        /* rounds * n_node */
};

/* ---- bins ---- */

/* Features as numbers of bins: bin k holds what is at least cut k - 1 and below cut k. */
typedef struct bins {
    uint32_t n, n_feature;
    uint32_t *count; /* of cuts, by feature */
    float *cut;      /* n_feature * MAX_BINS */
    uint8_t *at;     /* feature by feature: n each */
} bins;

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Cuts halfway between neighbours: all of them where they are few, else at quantiles. */
static uint32_t find_cuts(float *sorted, uint32_t n, float *cut)
{
    uint32_t distinct = 0, n_cut = 0;
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[distinct - 1])
            sorted[distinct++] = sorted[i];
    uint32_t most = distinct - 1 < MAX_BINS - 1 ? distinct - 1 : MAX_BINS - 1;
    for (uint32_t k = 1; k <= most; k++) {
        uint32_t i = (uint32_t)((uint64_t)k * distinct / (most + 1));
        float half = sorted[i - 1] + (sorted[i] - sorted[i - 1]) / 2;
        cut[n_cut++] = half > sorted[i - 1] ? half : sorted[i]; /* of neighbours */
    }
    return n_cut;
}

static uint8_t bin_of(const float *cut, uint32_t n, float x)
{
    uint8_t k = 0;
    while (k < n && x >= cut[k])
        k++;
    return k;
}

static void bins_init(bins *b, uint32_t n, uint32_t n_feature, const float *x)
{
    *b = (bins){n, n_feature, tn_alloc_array(n_feature, sizeof *b->count),
                tn_alloc_array((size_t)n_feature * MAX_BINS, sizeof *b->cut),
                tn_alloc_array((size_t)n_feature * n, sizeof *b->at)};
    float *column = tn_alloc_array(n, sizeof *column);
    for (uint32_t f = 0; f < n_feature; f++) {
        float *cut = b->cut + (size_t)f * MAX_BINS;
        for (uint32_t i = 0; i < n; i++)
            column[i] = x[(size_t)i * n_feature + f];
        qsort(column, n, sizeof *column, by_value);
        b->count[f] = find_cuts(column, n, cut);
        for (uint32_t i = 0; i < n; i++)
            b->at[(size_t)f * n + i] = bin_of(cut, b->count[f], x[(size_t)i * n_feature + f]);
    }
    tn_free(column);
}

static void bins_deinit(bins *b)
{
    tn_free(b->count);
    tn_free(b->cut);
    tn_free(b->at);
}

/* ---- a tree ---- */

typedef struct split {
    int32_t feature;
    uint8_t bin; /* rows of a lesser bin go to the first child */
    double gain;
} split;

/* Rows first to last - 1 of `row` belong to one node; `left` is what the trees so far have not said. */
static split best_split(const bins *b, const tn_boost_options *o, const uint32_t *row, uint32_t n,
                        const double *left)
{
    split best = {-1, 0, 1e-12};
    double all = 0;
    for (uint32_t i = 0; i < n; i++)
        all += left[row[i]];
    for (uint32_t f = 0; f < b->n_feature; f++) {
        double sum[MAX_BINS] = {0}, below = 0;
        uint32_t count[MAX_BINS] = {0}, n_below = 0;
        const uint8_t *at = b->at + (size_t)f * b->n;
        for (uint32_t i = 0; i < n; i++) {
            sum[at[row[i]]] += left[row[i]];
            count[at[row[i]]]++;
        }
        for (uint32_t k = 0; k < b->count[f]; k++) {
            below += sum[k];
            n_below += count[k];
            if (n_below < o->least || n - n_below < o->least)
                continue;
            double above = all - below;
            double gain = below * below / (n_below + o->shrink) + above * above / (n - n_below + o->shrink) -
                          all * all / (n + o->shrink);
            if (gain > best.gain)
                best = (split){(int32_t)f, (uint8_t)(k + 1), gain};
        }
    }
    return best;
}

/* Puts rows of a lesser bin first, in the order that they had; returns how many. */
static uint32_t part(const bins *b, split s, uint32_t *row, uint32_t n, uint32_t *spare)
{
    const uint8_t *at = b->at + (size_t)s.feature * b->n;
    uint32_t low = 0, high = 0;
    for (uint32_t i = 0; i < n; i++)
        if (at[row[i]] < s.bin)
            row[low++] = row[i];
        else
            spare[high++] = row[i];
    memcpy(row + low, spare, high * sizeof *row);
    return low;
}

typedef struct grower {
    const bins *b;
    const tn_boost_options *o;
    double *left;
    uint32_t *row, *spare;
    node *tree;
} grower;

/* Recursion as deep as the tree. */
static void grow(grower *g, uint32_t at, uint32_t first, uint32_t n, uint32_t depth)
{
    uint32_t *row = g->row + first;
    split s = depth < g->o->depth ? best_split(g->b, g->o, row, n, g->left) : (split){-1, 0, 0};
    node *k = &g->tree[at];
    k->feature = s.feature;
    if (s.feature >= 0) {
        k->cut = g->b->cut[(size_t)s.feature * MAX_BINS + s.bin - 1];
        uint32_t low = part(g->b, s, row, n, g->spare);
        grow(g, 2 * at + 1, first, low, depth + 1);
        grow(g, 2 * at + 2, first + low, n - low, depth + 1);
        return;
    }
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += g->left[row[i]];
    k->value = g->o->rate * sum / (n + g->o->shrink);
    for (uint32_t i = 0; i < n; i++)
        g->left[row[i]] -= k->value;
}

/* ---- all of them ---- */

tn_boost *tn_boost_fit(const tn_boost_options *o, uint32_t n, uint32_t n_feature, const float *x,
                       const double y[])
{
    tn_boost *t = tn_alloc_array(1, sizeof *t);
    t->o = *o;
    t->o.depth = o->depth < MAX_DEPTH ? o->depth : MAX_DEPTH;
    t->n_node = (2u << t->o.depth) - 1;
    t->at = tn_alloc_array((size_t)o->rounds * t->n_node, sizeof *t->at);
    grower g = {.o = &t->o,
                .left = tn_alloc_array(n, sizeof *g.left),
                .row = tn_alloc_array(n, sizeof *g.row),
                .spare = tn_alloc_array(n, sizeof *g.spare)};
    bins b;
    bins_init(&b, n, n_feature, x);
    g.b = &b;
    for (uint32_t i = 0; i < n; i++)
        t->base += y[i] / n;
    for (uint32_t i = 0; i < n; i++)
        g.left[i] = y[i] - t->base;
    for (uint32_t k = 0; k < o->rounds; k++) {
        for (uint32_t i = 0; i < n; i++)
            g.row[i] = i;
        g.tree = t->at + (size_t)k * t->n_node;
        grow(&g, 0, 0, n, 0);
    }
    bins_deinit(&b);
    tn_free(g.left);
    tn_free(g.row);
    tn_free(g.spare);
    return t;
}

double tn_boost_predict(const tn_boost *b, const float x[])
{
    double sum = b->base;
    for (uint32_t k = 0; k < b->o.rounds; k++) {
        const node *tree = b->at + (size_t)k * b->n_node, *at = tree;
        while (at->feature >= 0)
            at = &tree[2 * (at - tree) + (x[at->feature] < at->cut ? 1 : 2)];
        sum += at->value;
    }
    return sum;
}

void tn_boost_free(tn_boost *b)
{
    if (!b)
        return;
    tn_free(b->at);
    tn_free(b);
}
