/* Boosted regression trees. */
#include "tune/boost.h"

#include "base/alloc.h"
#include "base/guard.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BINS = 32, MAX_DEPTH = 8, PAIRS = 256 };

/* Node k's children are 2k + 1 (its feature is below the cut) and 2k + 2. */
typedef struct node {
    int32_t feature; /* -1: a leaf */
    float cut;
    double value;
} node;

struct tn_boost {
    tn_boost_options o;
    uint32_t n_node; /* of a tree */
    double base;     /* the mean; of pairs 0 */
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

/* What the trees so far leave over of each row: the loss falls by `left` where more is said of it, and that
 * falls by `bend`. */
typedef struct loss {
    double *left, *bend;
} loss;

static double gain_of(double left, double bend, double shrink) { return left * left / (bend + shrink); }

/* A row of bins for feature f: sums over the n rows of a node. */
typedef struct sums {
    double left[MAX_BINS], bend[MAX_BINS];
    uint32_t count[MAX_BINS];
} sums;

static void sum_up(const bins *b, uint32_t f, const uint32_t *row, uint32_t n, const loss *l, sums *out)
{
    const uint8_t *at = b->at + (size_t)f * b->n;
    *out = (sums){{0}, {0}, {0}};
    for (uint32_t i = 0; i < n; i++) {
        out->left[at[row[i]]] += l->left[row[i]];
        out->bend[at[row[i]]] += l->bend[row[i]];
        out->count[at[row[i]]]++;
    }
}

static split best_split(const bins *b, const tn_boost_options *o, const uint32_t *row, uint32_t n,
                        const loss *l)
{
    split best = {-1, 0, 1e-12};
    double all = 0, all_bend = 0;
    sums s;
    for (uint32_t i = 0; i < n; i++) {
        all += l->left[row[i]];
        all_bend += l->bend[row[i]];
    }
    for (uint32_t f = 0; f < b->n_feature; f++) {
        double below = 0, bend = 0;
        uint32_t n_below = 0;
        if (b->count[f] == 0)
            continue;
        sum_up(b, f, row, n, l, &s);
        for (uint32_t k = 0; k < b->count[f]; k++) {
            below += s.left[k];
            bend += s.bend[k];
            n_below += s.count[k];
            if (n_below < o->least || n - n_below < o->least)
                continue;
            double gain = gain_of(below, bend, o->shrink) + gain_of(all - below, all_bend - bend, o->shrink) -
                          gain_of(all, all_bend, o->shrink);
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
    loss loss;
    double *said; /* by this tree */
    uint32_t *row, *spare;
    node *tree;
} grower;

/* Recursion as deep as the tree. */
static void grow(grower *g, uint32_t at, uint32_t first, uint32_t n, uint32_t depth)
{
    uint32_t *row = g->row + first;
    split s = depth < g->o->depth ? best_split(g->b, g->o, row, n, &g->loss) : (split){-1, 0, 0};
    node *k = &g->tree[at];
    k->feature = s.feature;
    if (s.feature >= 0) {
        k->cut = g->b->cut[(size_t)s.feature * MAX_BINS + s.bin - 1];
        uint32_t low = part(g->b, s, row, n, g->spare);
        grow(g, 2 * at + 1, first, low, depth + 1);
        grow(g, 2 * at + 2, first + low, n - low, depth + 1);
        return;
    }
    double sum = 0, bend = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += g->loss.left[row[i]];
        bend += g->loss.bend[row[i]];
    }
    k->value = g->o->rate * sum / (bend + g->o->shrink);
    for (uint32_t i = 0; i < n; i++)
        g->said[row[i]] = k->value;
}

/* ---- losses ---- */

/* Of pairs: all that the trees said so far. */
typedef struct fit {
    const tn_rows *r;
    loss loss;
    double *said;
} fit;

static void squares_begin(fit *f, double base)
{
    for (uint32_t i = 0; i < f->r->n; i++) {
        f->loss.left[i] = f->r->y[i] - base;
        f->loss.bend[i] = 1;
    }
}

/* Rows first to first + n - 1; two that are equally good are no pair. */
static void pair_group(fit *f, uint32_t first, uint32_t n)
{
    uint32_t stride = 1 + (n - 1) / PAIRS;
    double share = n > 1 ? (double)stride / (n - 1) : 0;
    for (uint32_t i = first; i < first + n; i++)
        for (uint32_t k = i + 1; k < first + n; k += stride) {
            if (f->r->y[i] == f->r->y[k])
                continue;
            uint32_t good = f->r->y[i] > f->r->y[k] ? i : k, bad = good == i ? k : i;
            double p = 1 / (1 + exp(f->said[good] - f->said[bad])), bend = share * p * (1 - p);
            f->loss.left[good] += share * p;
            f->loss.left[bad] -= share * p;
            f->loss.bend[good] += bend;
            f->loss.bend[bad] += bend;
        }
}

static void pairs_begin(fit *f)
{
    uint32_t first = 0;
    memset(f->loss.left, 0, f->r->n * sizeof *f->loss.left);
    memset(f->loss.bend, 0, f->r->n * sizeof *f->loss.bend);
    for (uint32_t g = 0; g < f->r->n_group; first += f->r->group[g++])
        pair_group(f, first, f->r->group[g]);
    if (f->r->n_group == 0)
        pair_group(f, 0, f->r->n);
}

/* After a tree. */
static void advance(fit *f, bool pairs, const double said[])
{
    for (uint32_t i = 0; i < f->r->n; i++) {
        f->loss.left[i] -= said[i];
        f->said[i] += said[i];
    }
    if (pairs)
        pairs_begin(f);
}

/* ---- all of them ---- */

static void grow_all(tn_boost *t, fit *f, const bins *b)
{
    uint32_t n = f->r->n;
    grower g = {.b = b,
                .o = &t->o,
                .loss = f->loss,
                .said = tn_alloc_array(n, sizeof *g.said),
                .row = tn_alloc_array(n, sizeof *g.row),
                .spare = tn_alloc_array(n, sizeof *g.spare)};
    for (uint32_t k = 0; k < t->o.rounds; k++) {
        tn_poll();
        for (uint32_t i = 0; i < n; i++)
            g.row[i] = i;
        g.tree = t->at + (size_t)k * t->n_node;
        grow(&g, 0, 0, n, 0);
        advance(f, t->o.loss == TN_LOSS_PAIRS, g.said);
    }
    tn_free(g.said);
    tn_free(g.row);
    tn_free(g.spare);
}

tn_boost *tn_boost_fit(const tn_boost_options *o, const tn_rows *r)
{
    tn_boost *t = tn_alloc_array(1, sizeof *t);
    t->o = *o;
    t->o.depth = o->depth < MAX_DEPTH ? o->depth : MAX_DEPTH;
    t->n_node = (2u << t->o.depth) - 1;
    t->at = tn_alloc_array((size_t)o->rounds * t->n_node, sizeof *t->at);
    fit f = {r,
             {tn_alloc_array(r->n, sizeof *f.loss.left), tn_alloc_array(r->n, sizeof *f.loss.bend)},
             tn_alloc_array(r->n, sizeof *f.said)};
    bins b;
    bins_init(&b, r->n, r->n_feature, r->x);
    for (uint32_t i = 0; i < r->n && o->loss == TN_LOSS_SQUARES; i++)
        t->base += r->y[i] / r->n;
    if (o->loss == TN_LOSS_SQUARES)
        squares_begin(&f, t->base);
    else
        pairs_begin(&f);
    grow_all(t, &f, &b);
    bins_deinit(&b);
    tn_free(f.loss.left);
    tn_free(f.loss.bend);
    tn_free(f.said);
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
