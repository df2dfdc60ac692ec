/* Layered drawing (Sugiyama, Tagawa, Toda 1981; the steps of Gansner et al. 1993 in their simplest forms): rows
 * by longest path, order in a row by the mean of neighbours, columns by least squares under the order, found
 * exactly for one row at a time (isotonic regression, pool adjacent violators).
 *
 * A line that spans several rows passes through points of those rows; all lines of one box share them. Frames
 * are placed first from the inside, and then are boxes like others. */
#include "driver/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POINTS = 60000, FAR_ROWS = 24, ORDER_SWEEPS = 12 };
static const double gap_x = 26, gap_y = 44, margin = 18, thread = 12, frame_head = 14, stem = 17;

typedef struct {
    double width, x, key;            /* x: of its middle */
    uint32_t box;                    /* NONE: a point of a line */
    uint32_t rank, at;               /* row, place in it */
    uint32_t up, n_up, down, n_down; /* neighbours, in `near` */
} vertex;
typedef struct {
    uint32_t from, to;
} arc; /* vertices of neighbouring rows */

#define NONE UINT32_MAX
typedef struct {
    tn_chart *c;
    tn_vec(vertex) v; /* the boxes, then the points */
    tn_vec(arc) arc;
    uint32_t *near;
    uint32_t *chain, *chain_n;         /* by box: its first point and how many it has */
    uint32_t *longest;                 /* by box: the line that goes through all of them */
    uint32_t n_rank, *row, *row_start; /* vertices by row, in order */
    double *top, *row_height;
} layout;

/* ---- text ---- */

double tn_chart_text_width(const char *text, double size)
{
    double n = 0;
    for (; *text; text++) {
        unsigned char ch = (unsigned char)*text;
        if ((ch & 0xc0) == 0x80)
            continue;
        if (strchr("iljtfr.,:;'|!()[]{} /", ch))
            n += 0.34;
        else if (strchr("mwMW@%", ch) || ch >= 0xe0)
            n += 0.92;
        else
            n += ch >= 'A' && ch <= 'Z' ? 0.69 : 0.575;
    }
    return n * size;
}

/* ---- rows ---- */

static void measure(tn_chart_box *b)
{
    double text = tn_chart_text_width(b->title, TN_CHART_TITLE) * 1.05;
    int lines = 0;
    for (int i = 0; i < 2; i++)
        if (b->line[i])
            text = fmax(text, tn_chart_text_width(b->line[i], TN_CHART_LINE)), lines++;
    if (b->inner) {
        double head = tn_chart_text_width(b->title, TN_CHART_LINE) + 20 +
                      (b->line[0] ? tn_chart_text_width(b->line[0], TN_CHART_LABEL) : 0);
        b->width = fmax(b->inner->width, head + margin);
        b->height = b->inner->height + frame_head;
    } else {
        b->width = fmax(ceil(text) + 24, 64);
        b->height = 28 + 14 * lines;
    }
}

/* Rows by longest path; what nothing leads to stands just above its first reader. */
static void rank_boxes(layout *l)
{
    tn_chart *c = l->c;
    uint32_t *lowest = tn_alloc((c->box.n + 1) * sizeof *lowest);
    bool *led = tn_alloc_array(c->box.n + 1, sizeof *led);
    for (size_t i = 0; i < c->box.n; i++)
        c->box.at[i].rank = 0;
    for (int round = 0; round < 2 && lowest && led; round++) {
        for (size_t i = 0; i < c->edge.n; i++) { /* edges stand in the order of their ends */
            const tn_chart_edge *e = &c->edge.at[i];
            uint32_t *to = &c->box.at[e->to].rank, from = c->box.at[e->from].rank;
            *to = from + 1 > *to ? from + 1 : *to;
            led[e->to] = true;
        }
        if (round)
            break;
        memset(lowest, 0xff, (c->box.n + 1) * sizeof *lowest);
        for (size_t i = 0; i < c->edge.n; i++) {
            uint32_t to = c->box.at[c->edge.at[i].to].rank, *low = &lowest[c->edge.at[i].from];
            *low = to < *low ? to : *low;
        }
        for (size_t i = 0; i < c->box.n; i++)
            if (!led[i] && lowest[i] != NONE)
                c->box.at[i].rank = lowest[i] - 1;
    }
    for (size_t i = 0; i < c->box.n; i++)
        l->n_rank = c->box.at[i].rank >= l->n_rank ? c->box.at[i].rank + 1 : l->n_rank;
    tn_free(lowest);
    tn_free(led);
}

/* ---- points of long lines ---- */

static uint32_t span(const tn_chart *c, const tn_chart_edge *e)
{
    return c->box.at[e->to].rank - c->box.at[e->from].rank;
}

static void count_points(layout *l)
{
    tn_chart *c = l->c;
    for (int round = 0; round < 2; round++) {
        uint64_t sum = 0;
        memset(l->chain_n, 0, c->box.n * sizeof *l->chain_n);
        for (size_t i = 0; i < c->edge.n; i++) {
            tn_chart_edge *e = &c->edge.at[i];
            uint32_t *n = &l->chain_n[e->from], need = span(c, e) - 1;
            e->far = round && need > FAR_ROWS;
            if (!e->far && need > *n)
                sum += need - *n, *n = need;
        }
        if (sum <= MAX_POINTS)
            return;
    }
}

/* The vertex that the edge comes to its end from: a box, or the last point of it that the edge needs. */
static uint32_t last_vertex(const layout *l, const tn_chart_edge *e)
{
    uint32_t n = span(l->c, e) - 1;
    return n ? l->chain[e->from] + n - 1 : e->from;
}

static void add_vertices(layout *l)
{
    tn_chart *c = l->c;
    for (size_t i = 0; i < c->box.n; i++) {
        vertex v = {.width = c->box.at[i].width, .box = (uint32_t)i, .rank = c->box.at[i].rank};
        tn_vec_push(&l->v, v);
    }
    for (size_t i = 0; i < c->edge.n; i++) { /* room for the value's shape to the right of the line */
        const tn_chart_edge *e = &c->edge.at[i];
        double need = 2 * tn_chart_text_width(e->label, TN_CHART_LABEL) + 16;
        if (e->labelled && l->v.at[e->from].width < need)
            l->v.at[e->from].width = need;
    }
    for (size_t i = 0; i < c->edge.n; i++) {
        const tn_chart_edge *e = &c->edge.at[i];
        if (!e->far && span(c, e) - 1 == l->chain_n[e->from])
            l->longest[e->from] = (uint32_t)i;
    }
    for (uint32_t i = 0; i < c->box.n; i++) {
        l->chain[i] = (uint32_t)l->v.n;
        for (uint32_t k = 0; k < l->chain_n[i]; k++) {
            uint32_t here = (uint32_t)l->v.n;
            vertex v = {.width = thread, .box = NONE, .rank = c->box.at[i].rank + 1 + k};
            tn_vec_push(&l->v, v);
            tn_vec_push(&l->arc, ((arc){k ? here - 1 : i, here}));
        }
    }
    for (size_t i = 0; i < c->edge.n; i++)
        if (!c->edge.at[i].far)
            tn_vec_push(&l->arc, ((arc){last_vertex(l, &c->edge.at[i]), c->edge.at[i].to}));
}

static void find_neighbours(layout *l)
{
    uint32_t n = 0;
    l->near = tn_alloc((2 * l->arc.n + 1) * sizeof *l->near);
    for (size_t i = 0; i < l->arc.n; i++)
        l->v.at[l->arc.at[i].to].n_up++, l->v.at[l->arc.at[i].from].n_down++;
    for (size_t i = 0; i < l->v.n; i++) {
        vertex *v = &l->v.at[i];
        v->up = n, v->down = n + v->n_up;
        n += v->n_up + v->n_down;
        v->n_up = v->n_down = 0;
    }
    for (size_t i = 0; i < l->arc.n; i++) {
        vertex *a = &l->v.at[l->arc.at[i].from], *b = &l->v.at[l->arc.at[i].to];
        l->near[a->down + a->n_down++] = l->arc.at[i].to;
        l->near[b->up + b->n_up++] = l->arc.at[i].from;
    }
}

/* ---- order in rows ---- */

static void fill_rows(layout *l)
{
    l->row = tn_alloc((l->v.n + 1) * sizeof *l->row);
    l->row_start = tn_alloc_array(l->n_rank + 2, sizeof *l->row_start);
    for (size_t i = 0; i < l->v.n; i++)
        l->row_start[l->v.at[i].rank + 2]++;
    for (uint32_t r = 2; r < l->n_rank + 2; r++)
        l->row_start[r] += l->row_start[r - 1];
    for (uint32_t i = 0; i < l->v.n; i++) {
        uint32_t *next = &l->row_start[l->v.at[i].rank + 1];
        l->v.at[i].at = *next - l->row_start[l->v.at[i].rank];
        l->row[(*next)++] = i;
    }
}

static double mean_at(const layout *l, const vertex *v, bool up, bool column)
{
    uint32_t n = up ? v->n_up : v->n_down, first = up ? v->up : v->down;
    double sum = 0, all = 0;
    for (uint32_t k = 0; k < n; k++) {
        const vertex *w = &l->v.at[l->near[first + k]];
        double weight = column && !w->n_up ? 0.02 : 1; /* what only feeds in leaves the main line straight */
        sum += weight * (column ? w->x : w->at);
        all += weight;
    }
    return n ? sum / all : column ? v->x : v->at;
}

typedef struct {
    double key;
    uint32_t at, vertex;
} sorted;

static int by_key(const void *a, const void *b)
{
    const sorted *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static void order_row(layout *l, uint32_t r, bool up, sorted *scratch)
{
    uint32_t start = l->row_start[r], n = l->row_start[r + 1] - start;
    for (uint32_t k = 0; k < n; k++) {
        const vertex *v = &l->v.at[l->row[start + k]];
        scratch[k] = (sorted){mean_at(l, v, up, false), k, l->row[start + k]};
    }
    qsort(scratch, n, sizeof *scratch, by_key);
    for (uint32_t k = 0; k < n; k++) {
        l->row[start + k] = scratch[k].vertex;
        l->v.at[scratch[k].vertex].at = k;
    }
}

static void order_rows(layout *l)
{
    sorted *scratch = tn_alloc((l->v.n + 1) * sizeof *scratch);
    for (int i = 0; i < ORDER_SWEEPS; i++)
        for (uint32_t k = 1; k < l->n_rank; k++)
            order_row(l, i % 2 ? l->n_rank - 1 - k : k, i % 2 == 0, scratch);
    tn_free(scratch);
}

/* ---- columns ---- */

typedef struct {
    double sum, weight;
    uint32_t n;
} pool;

/* Moves a row's vertices as near to where they want to be as their order and widths allow. */
static void place_row(layout *l, uint32_t r, bool up, pool *p)
{
    uint32_t start = l->row_start[r], n = l->row_start[r + 1] - start, k = 0;
    double offset = 0, before = 0;
    for (uint32_t i = 0; i < n; i++) {
        vertex *v = &l->v.at[l->row[start + i]];
        offset += i ? (before + v->width) / 2 + gap_x * (v->box == NONE ? 0.5 : 1) : 0;
        before = v->width;
        v->key = offset;
        uint32_t degree = up ? v->n_up : v->n_down;
        double weight = v->box == NONE ? 6 : degree ? 1 + degree : 0.1;
        p[k++] = (pool){weight * (mean_at(l, v, up, true) - offset), weight, 1};
        while (k > 1 && p[k - 2].sum / p[k - 2].weight > p[k - 1].sum / p[k - 1].weight) {
            p[k - 2].sum += p[k - 1].sum;
            p[k - 2].weight += p[k - 1].weight;
            p[k - 2].n += p[k - 1].n;
            k--;
        }
    }
    for (uint32_t i = 0, at = 0; i < k; i++)
        for (uint32_t j = 0; j < p[i].n; j++, at++)
            l->v.at[l->row[start + at]].x = l->v.at[l->row[start + at]].key + p[i].sum / p[i].weight;
}

static void place_rows(layout *l)
{
    pool *p = tn_alloc((l->v.n + 1) * sizeof *p);
    const int sweeps = l->v.n < 4000 ? 80 : 14;
    for (uint32_t r = 0; r < l->n_rank; r++)
        place_row(l, r, true, p);
    for (int i = 0; i < sweeps; i++)
        for (uint32_t k = 0; k < l->n_rank; k++)
            place_row(l, i % 2 ? k : l->n_rank - 1 - k, i % 2, p);
    tn_free(p);
}

static void place_boxes(layout *l)
{
    tn_chart *c = l->c;
    double left = 0, right = 0, y = margin;
    for (size_t i = 0; i < l->v.n; i++) {
        const vertex *v = &l->v.at[i];
        double half = v->box == NONE ? thread / 2 : fmax(c->box.at[v->box].width, v->width) / 2;
        left = i == 0 || v->x - half < left ? v->x - half : left;
        right = i == 0 || v->x + half > right ? v->x + half : right;
        if (v->box != NONE && c->box.at[v->box].height > l->row_height[v->rank])
            l->row_height[v->rank] = c->box.at[v->box].height;
    }
    for (uint32_t r = 0; r < l->n_rank; r++) {
        l->top[r] = y;
        y += l->row_height[r] + gap_y;
    }
    for (size_t i = 0; i < l->v.n; i++) {
        vertex *v = &l->v.at[i];
        v->x += margin - left;
        if (v->box == NONE)
            continue;
        tn_chart_box *b = &c->box.at[v->box];
        b->x = v->x - b->width / 2;
        b->y = l->top[v->rank];
    }
    c->width = right - left + 2 * margin;
    c->height = y - (l->n_rank ? gap_y : 0) + margin;
}

/* ---- lines ---- */

/* Where the edge meets its end: its place among all that lead there, from left to right. */
static double end_x(const layout *l, const tn_chart_edge *e)
{
    const vertex *to = &l->v.at[e->to];
    uint32_t self = last_vertex(l, e), before = 0;
    for (uint32_t k = 0; k < to->n_up; k++) {
        uint32_t other = l->near[to->up + k];
        before += l->v.at[other].at < l->v.at[self].at;
    }
    double step = fmin(16, 0.7 * l->c->box.at[e->to].width / fmax(1, to->n_up));
    return to->x + (before - (to->n_up - 1) / 2.0) * step;
}

/* The points of a box belong to its longest line; others branch off where they leave it. */
static void route(layout *l, tn_chart_edge *e, tn_arena *a)
{
    const tn_chart_box *from = &l->c->box.at[e->from], *to = &l->c->box.at[e->to];
    uint32_t n = e->far ? 0 : span(l->c, e) - 1, first = 0;
    if (n && e != &l->c->edge.at[l->longest[e->from]])
        first = n - 1;
    tn_chart_point *p = e->point = TN_NEW_N(a, tn_chart_point, 2 * (size_t)(n - first) + 4);
    double x = l->v.at[e->from].x, x_end = e->far ? l->v.at[e->to].x - to->width / 2 + 10 : end_x(l, e);
    e->label_at = (tn_chart_point){x + 7, from->y + from->height + 14};
    if (e->far) {
        *p++ = (tn_chart_point){x_end, to->y - 26};
    } else {
        if (first == 0) {
            *p++ = (tn_chart_point){x, from->y + from->height};
            *p++ = (tn_chart_point){x, l->top[from->rank] + l->row_height[from->rank] + stem};
        }
        for (uint32_t k = first; k < n; k++) {
            const vertex *v = &l->v.at[l->chain[e->from] + k];
            *p++ = (tn_chart_point){v->x, l->top[v->rank]};
            *p++ = (tn_chart_point){v->x, l->top[v->rank] + l->row_height[v->rank]};
        }
    }
    if (!e->far)
        *p++ = (tn_chart_point){x_end, to->y - 7};
    *p++ = (tn_chart_point){x_end, to->y};
    e->n_point = (uint32_t)(p - e->point);
}

void tn_chart_layout(tn_chart *c, tn_arena *a)
{
    layout l = {.c = c};
    for (size_t i = 0; i < c->box.n; i++) {
        if (c->box.at[i].inner)
            tn_chart_layout(c->box.at[i].inner, a);
        measure(&c->box.at[i]);
    }
    rank_boxes(&l);
    l.chain = tn_alloc_array(c->box.n + 1, sizeof *l.chain);
    l.chain_n = tn_alloc_array(c->box.n + 1, sizeof *l.chain_n);
    l.longest = tn_alloc_array(c->box.n + 1, sizeof *l.longest);
    l.top = tn_alloc_array(l.n_rank + 1, sizeof *l.top);
    l.row_height = tn_alloc_array(l.n_rank + 1, sizeof *l.row_height);
    count_points(&l);
    add_vertices(&l);
    find_neighbours(&l);
    fill_rows(&l);
    order_rows(&l);
    place_rows(&l);
    place_boxes(&l);
    for (size_t i = 0; i < c->edge.n; i++)
        route(&l, &c->edge.at[i], a);
    tn_vec_deinit(&l.v);
    tn_vec_deinit(&l.arc);
    tn_free(l.near);
    tn_free(l.chain), tn_free(l.chain_n), tn_free(l.longest), tn_free(l.row), tn_free(l.row_start),
        tn_free(l.top), tn_free(l.row_height);
}
