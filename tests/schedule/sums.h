#ifndef TENON_TESTS_SCHEDULE_SUMS_H
#define TENON_TESTS_SCHEDULE_SUMS_H
/* Random reductions as TIR text: contractions of two to four operands over up to six axes, with windows, strides,
 * groups, padding masks, symbolic extents, integer operands less a zero point, epilogues. With `any` also
 * maxima and sums of one operand, producers without a reduction, and reductions of the result. Include
 * cmocka.h first. */
#include "schedule/run.h"

enum { MAX_AXES = 8 };

typedef struct {
    tn_rng r;
    int n_spatial, n;
    int64_t extent[MAX_AXES];
    bool symbolic[MAX_AXES];
    const char *mask; /* text */
    tn_buf params, sum;
    int n_operand;
    bool any;
    const char *before; /* nests of producers */
} gen;

static inline int below(gen *g, int n) { return (int)(tn_rng_next(&g->r) >> 33) % n; }
static inline bool chance(gen *g, int of) { return below(g, of) == 0; }
static inline int64_t at_most(gen *g, int axis) { return g->symbolic[axis] ? -1 : g->extent[axis]; }

static inline const char *extent_text(bench *x, const gen *g, int axis)
{
    return g->symbolic[axis] ? "n" : tn_arena_printf(&x->arena, "%lld", (long long)g->extent[axis]);
}

static inline void make_axes(gen *g)
{
    static const int64_t some[] = {1, 2, 3, 5, 7, 8, 12, 16, 17, 20, 33};
    g->n_spatial = 1 + below(g, 4);
    g->n = g->n_spatial + 1 + below(g, 3);
    int64_t all = 1;
    bool symbolic = false;
    for (int a = 0; a < g->n; a++) {
        g->extent[a] = some[below(g, all > 2000 ? 3 : all > 300 ? 7 : 11)];
        g->symbolic[a] = !symbolic && chance(g, 8);
        symbolic |= g->symbolic[a];
        g->extent[a] = g->symbolic[a] ? 13 : g->extent[a];
        all *= g->extent[a];
    }
}

/* One dimension of an operand: an axis, a window of two, strides, a group; the extent it needs in *out_dim. */
static inline const char *index_text(bench *x, gen *g, int axis, const char **out_dim)
{
    tn_arena *m = &x->arena;
    int tap = g->n_spatial + below(g, g->n - g->n_spatial);
    int64_t e = at_most(g, axis), t = at_most(g, tap), stride = 1 + below(g, 3), by = 2 + below(g, 7);
    if (axis < g->n_spatial && tap != axis && e > 0 && t > 0 && chance(g, 3)) {
        int64_t size = (e - 1) * stride + t;
        if (!g->mask && chance(g, 2)) {
            g->mask =
                tn_arena_printf(m, " mask 1 <= i%d*%lld + i%d and i%d*%lld + i%d < %lld", axis,
                                (long long)stride, tap, axis, (long long)stride, tap, (long long)size - 1);
            *out_dim = tn_arena_printf(m, "%lld", (long long)(size > 2 ? size - 2 : 1));
            return tn_arena_printf(m, "i%d*%lld + i%d - 1", axis, (long long)stride, tap);
        }
        *out_dim = tn_arena_printf(m, "%lld", (long long)size);
        return tn_arena_printf(m, "i%d*%lld + i%d", axis, (long long)stride, tap);
    }
    if (e > 0 && chance(g, 8)) {
        *out_dim = tn_arena_printf(m, "%lld", (long long)((e + by - 1) / by));
        return tn_arena_printf(m, "i%d/%lld", axis, (long long)by);
    }
    *out_dim = extent_text(x, g, axis);
    return tn_arena_printf(m, "i%d", axis);
}

/* x0 is computed from y, by a nest of its own. */
static inline void make_producer(bench *x, gen *g, const char *dims)
{
    const char *loops = "", *iters = "", *at = "";
    int n = 0;
    for (const char *c = dims; *c; n++) {
        size_t len = strcspn(c, ",");
        loops = tn_arena_printf(&x->arena, "%s%sp%d < %.*s", loops, n ? ", " : "", n, (int)len, c);
        iters = tn_arena_printf(&x->arena, "%s%sp%d: spatial", iters, n ? ", " : "", n);
        at = tn_arena_printf(&x->arena, "%s%sp%d", at, n ? ", " : "", n);
        c += len;
        c += strspn(c, ", ");
    }
    g->before = tn_arena_printf(
        &x->arena, "  buffer x0: f32[%s]\n  for %s:\n    block x0(%s):\n      x0[%s] = max(y[%s], 1) - 1\n",
        dims, loops, iters, at, at);
}

static inline void make_operand(bench *x, gen *g)
{
    int order[MAX_AXES], n = 0;
    for (int a = 0; a < g->n; a++)
        if (below(g, 3) < 2)
            order[n++] = a;
    for (int i = n - 1; i > 0 && chance(g, 2); i--) {
        int j = below(g, i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    bool bytes = chance(g, 6);
    const char *dims = "", *index = "", *dim;
    for (int i = 0; i < n; i++) {
        const char *at = index_text(x, g, order[i], &dim);
        dims = tn_arena_printf(&x->arena, "%s%s%s", dims, i ? ", " : "", dim);
        index = tn_arena_printf(&x->arena, "%s%s%s", index, i ? ", " : "", at);
    }
    int k = g->n_operand++;
    if (n == 0)
        dims = "1", index = "0";
    if (k == 0 && g->any && !bytes && chance(g, 4)) {
        make_producer(x, g, dims);
        tn_buf_printf(&g->params, "y: f32[%s]", dims);
        tn_buf_printf(&g->sum, "x0[%s]", index);
        return;
    }
    tn_buf_printf(&g->params, "%sx%d: %s[%s]", k ? ", " : "", k, bytes ? "i8" : "f32", dims);
    tn_buf_printf(&g->sum, bytes ? "%s(f32(x%d[%s]) - 1)" : "%sx%d[%s]", k ? " * " : "", k, index);
}

static inline const char *make_text(bench *x, gen *g)
{
    tn_buf t = {0};
    const char *loops = "", *iters = "", *out = "", *dims = "";
    bool epilogue = chance(g, 2), turned = chance(g, 3);
    for (int a = 0; a < g->n; a++) {
        bool s = a < g->n_spatial;
        loops = tn_arena_printf(&x->arena, "%s%si%d < %s", loops, a ? ", " : "", a, extent_text(x, g, a));
        iters = tn_arena_printf(&x->arena, "%s%si%d: %s", iters, a ? ", " : "", a, s ? "spatial" : "reduce");
        int d = turned ? g->n_spatial - 1 - a : a; /* order of the result's dimensions */
        if (s)
            out = tn_arena_printf(&x->arena, "%s%si%d", out, a ? ", " : "", d);
        if (s)
            dims = tn_arena_printf(&x->arena, "%s%s%s", dims, a ? ", " : "", extent_text(x, g, d));
    }
    int operands = 2 + below(g, 3);
    bool best = g->any && chance(g, 4);
    if (g->any && chance(g, 3))
        operands = 1;
    for (int i = 0; i < operands; i++)
        make_operand(x, g);
    for (int a = 0; a < g->n; a++)
        if (g->symbolic[a])
            tn_buf_printf(&g->params, ", z: f32[n]"); /* declares it, whoever reads it */
    tn_buf_printf(&t, "func @f(%s) -> (out: f32[%s]) {\n", tn_buf_cstr(&g->params), dims);
    const char *to = epilogue ? "acc" : "out";
    if (epilogue)
        tn_buf_printf(&t, "  buffer acc: f32[%s]\n", dims);
    tn_buf_printf(&t, "%s  for %s:\n    block b(%s)%s:\n      init %s[%s] = %s\n      %s[%s] = ",
                  g->before ? g->before : "", loops, iters, g->mask ? g->mask : "", to, out,
                  best ? "f32(-inf)" : "0", to, out);
    tn_buf_printf(&t, best ? "max(%s[%s], %s)\n" : "%s[%s] + %s\n", to, out, tn_buf_cstr(&g->sum));
    if (epilogue) {
        const char *el = "", *ei = "";
        for (int a = 0; a < g->n_spatial; a++) {
            el = tn_arena_printf(&x->arena, "%s%si%d < %s", el, a ? ", " : "", a, extent_text(x, g, a));
            ei = tn_arena_printf(&x->arena, "%s%si%d: spatial", ei, a ? ", " : "", a);
        }
        tn_buf_printf(&t, "  for %s:\n    block e(%s):\n      out[%s] = max(acc[%s], 0)\n", el, ei, out, out);
    }
    tn_buf_printf(&t, "}\n");
    const char *text = tn_arena_strdup(&x->arena, tn_buf_cstr(&t));
    tn_buf_deinit(&t);
    return text;
}

#endif
