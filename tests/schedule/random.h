#ifndef TENON_TESTS_SCHEDULE_RANDOM_H
#define TENON_TESTS_SCHEDULE_RANDOM_H
/* Random schedules: functions, and random steps on them, legal and illegal. Include cmocka.h first. */
#include "schedule/run.h"
#include "tir/unit.h"

enum { STEPS = 14, MAX_LIVE = 64 };

/* clang-format off */
static const struct random_base { const char *name, *text; int64_t sym[2]; } funcs[] = {
    {"matmul, bias, relu",
     "func @mm(A: f32[n, 5], W: f32[6, 5, NK4n], b: f32[6]) -> (out: f32[n, 6]) {\n"
     "  buffer acc: f32[n, 6]\n"
     "  for i < n, j < 6, k < 5:\n"
     "    block acc(i: spatial, j: spatial, k: reduce):\n"
     "      init acc[i, j] = 0\n"
     "      acc[i, j] = acc[i, j] + A[i, k] * W[j, k]\n"
     "  for i < n, j < 6:\n"
     "    block out(i: spatial, j: spatial):\n"
     "      out[i, j] = max(acc[i, j] + b[j], 0)\n"
     "}\n", {7}},
    {"padded convolution",
     "func @conv(x: f32[1, 4, 4, 6, NCHW2c], w: f32[4, 4, 3, 3], b: f32[4]) -> (out: f32[1, 4, 4, 6, NCHW2c]) {\n"
     "  buffer acc: f32[1, 4, 4, 6]\n"
     "  for n < 1, oc < 4, oh < 4, ow < 6, ic < 4, kh < 3, kw < 3:\n"
     "    block acc(n: spatial, oc: spatial, oh: spatial, ow: spatial, ic: reduce, kh: reduce, kw: "
     "reduce) mask 0 < oh + kh and oh + kh < 5 and 0 < ow + kw and ow + kw < 7:\n"
     "      init acc[n, oc, oh, ow] = 0\n"
     "      acc[n, oc, oh, ow] = acc[n, oc, oh, ow] + x[n, ic, oh + kh - 1, ow + kw - 1] * w[oc, ic, kh, kw]\n"
     "  for n < 1, oc < 4, oh < 4, ow < 6:\n"
     "    block out(n: spatial, oc: spatial, oh: spatial, ow: spatial):\n"
     "      out[n, oc, oh, ow] = max(acc[n, oc, oh, ow] + b[oc], 0)\n"
     "}\n", {0}},
    {"depthwise",
     "func @dw(x: f32[1, 3, 5, 5], w: f32[3, 1, 3, 3]) -> (out: f32[1, 3, 3, 3]) {\n"
     "  for n < 1, c < 3, oh < 3, ow < 3, kh < 3, kw < 3:\n"
     "    block out(n: spatial, c: spatial, oh: spatial, ow: spatial, kh: reduce, kw: reduce):\n"
     "      init out[n, c, oh, ow] = 0\n"
     "      out[n, c, oh, ow] = out[n, c, oh, ow] + x[n, c, oh + kh, ow + kw] * w[c, 0, kh, kw]\n"
     "}\n", {0}},
    {"pooling",
     "func @pool(x: f32[2, 3, 6, 7]) -> (out: f32[2, 3, 3, 4]) {\n"
     "  for n < 2, c < 3, oh < 3, ow < 4, kh < 3, kw < 3:\n"
     "    block out(n: spatial, c: spatial, oh: spatial, ow: spatial, kh: reduce, kw: reduce) mask "
     "0 < oh*2 + kh and oh*2 + kh < 7 and 0 < ow*2 + kw and ow*2 + kw < 8:\n"
     "      init out[n, c, oh, ow] = -100\n"
     "      out[n, c, oh, ow] = max(x[n, c, oh*2 + kh - 1, ow*2 + kw - 1], out[n, c, oh, ow])\n"
     "}\n", {0}},
    {"row sums taken off",
     "func @norm(x: f32[m, 9]) -> (out: f32[m, 9]) {\n"
     "  buffer top: f32[m]\n"
     "  buffer e: f32[m, 9]\n"
     "  buffer sum: f32[m]\n"
     "  for i < m, r < 9:\n"
     "    block top(i: spatial, r: reduce):\n"
     "      init top[i] = -1000\n"
     "      top[i] = max(x[i, r], top[i])\n"
     "  for i < m, j < 9:\n"
     "    block e(i: spatial, j: spatial):\n"
     "      e[i, j] = x[i, j] - top[i]\n"
     "  for i < m, r < 9:\n"
     "    block sum(i: spatial, r: reduce):\n"
     "      init sum[i] = 0\n"
     "      sum[i] = sum[i] + e[i, r]\n"
     "  for i < m, j < 9:\n"
     "    block out(i: spatial, j: spatial):\n"
     "      out[i, j] = e[i, j] - sum[i]\n"
     "}\n", {5}},
    {"transpose of a scaled matrix",
     "func @tr(x: f32[6, n], s: f32[n]) -> (out: f32[n, 6]) {\n"
     "  buffer t: f32[6, n]\n"
     "  for i < 6, j < n:\n"
     "    block t(i: spatial, j: spatial):\n"
     "      t[i, j] = x[i, j] * s[j]\n"
     "  for i < n, j < 6:\n"
     "    block out(i: spatial, j: spatial):\n"
     "      out[i, j] = max(t[j, i], 0)\n"
     "}\n", {7}},
    {"products of three",
     "func @three(x: f32[3, n, 4], y: f32[3, 4, 6], z: f32[6]) -> (out: f32[3, n]) {\n"
     "  for b < 3, i < n, j < 4, k < 6:\n"
     "    block out(b: spatial, i: spatial, j: reduce, k: reduce):\n"
     "      init out[b, i] = 0\n"
     "      out[b, i] = out[b, i] + x[b, i, j] * y[b, j, k] * z[k]\n"
     "}\n", {5}},
    {"axes of one",
     "func @ones(x: f32[n, 4, 6, 1, NCHW2c], w: f32[5, 1]) -> (out: f32[n, 1, 6, 1, NHWC:NWHC]) {\n"
     "  buffer t: f32[n, 1, 6, 1]\n"
     "  for i < n, j < 1, k < 6, l < 1, c < 4, r < 5, s < 1:\n"
     "    block t(i: spatial, j: spatial, k: spatial, l: spatial, c: reduce, r: reduce, s: reduce) mask "
     "2 <= k + r and k + r < 8 and 0 <= l + s and l + s < 1:\n"
     "      init t[i, j, k, l] = 0\n"
     "      t[i, j, k, l] = t[i, j, k, l] + x[i, c, k + r - 2, l + s] * w[r, s]\n"
     "  for i < n, j < 1, k < 6, l < 1, s < 1:\n"
     "    block out(i: spatial, j: spatial, k: spatial, l: spatial, s: reduce):\n"
     "      init out[i, j, k, l] = 1\n"
     "      out[i, j, k, l] = out[i, j, k, l] + t[i, j, k, l + s]\n"
     "}\n", {3}},
    {"sums of bytes in groups",
     "func @bytes(x: u8[3, 8], w: i8[8, 8, NK4n4k]) -> (out: i32[3, 8]) {\n"
     "  for i < 3, j < 8:\n"
     "    block zero(i: spatial, j: spatial):\n"
     "      out[i, j] = 0\n"
     "  for i < 3, jo < 2, ko < 2, ji < 4, ki < 4:\n"
     "    block out(i: spatial, j < 8: spatial = jo*4 + ji, k < 8: reduce = ko*4 + ki):\n"
     "      out[i, j] = out[i, j] + i32(x[i, k]) * i32(w[j, k])\n"
     "}\n", {0}},
    {"sums of bfloat16 in pairs",
     "func @pairs(x: bf16[3, 8], w: bf16[8, 8, NK4n2k]) -> (out: f32[3, 8]) {\n"
     "  for i < 3, j < 8:\n"
     "    block zero(i: spatial, j: spatial):\n"
     "      out[i, j] = 0\n"
     "  for i < 3, jo < 2, ko < 4, ji < 4, ki < 2:\n"
     "    block out(i: spatial, j < 8: spatial = jo*4 + ji, k < 8: reduce = ko*2 + ki) tag \"normal\":\n"
     "      out[i, j] = out[i, j] + f32(x[i, k]) * f32(w[j, k])\n"
     "}\n", {0}},
    {"running sums from the end",
     "func @scan(x: f32[n, 6, 5]) -> (out: f32[n, 6, 5]) {\n"
     "  buffer t: f32[n, 6, 5]\n"
     "  buffer a: f32[n, 6, 5]\n"
     "  for i < n, j < 6, k < 5:\n"
     "    block t(i: spatial, j: spatial, k: spatial):\n"
     "      t[i, j, k] = x[i, j, k] * 2\n"
     "  for i < n, j < 6, k < 5:\n"
     "    block a(i: spatial, j: scan, k: spatial):\n"
     "      a[i, 5 - j, k] = (a[i, 6 - j, k] mask 1 <= j else 0) + t[i, 5 - j, k]\n"
     "  for i < n, j < 6, k < 5:\n"
     "    block out(i: spatial, j: spatial, k: spatial):\n"
     "      out[i, j, k] = max(a[i, j, k], 0)\n"
     "}\n", {3}},
    {"walks, of which each makes its own steps",
     "func @walks(x: f32[n, 4], kid: i32[8], steps: i32[3]) -> (out: f32[n, 2]) {\n"
     "  buffer leaf: i32[n, 3]\n"
     "  buffer sum: f32[n, 2]\n"
     "  for i < n, t < 3:\n"
     "    block leaf(i: spatial, t: spatial):\n"
     "      buffer at: i32[2] in register\n"
     "      let far: i32 = i32(bitand(steps[t], 7i32)) + i32(i)\n"
     "      let end: i32 = bitand(steps[t], 3i32) - 1i32\n"
     "      at[0] = bitand(far, 7i32)\n"
     "      at[1] = 0i32\n"
     "      for k < index(end):\n"
     "        let node: i32 = kid[index(bitand(at[0], 7i32))]\n"
     "        if x[i, k] <= 0f:\n"
     "          at[0] = bitand(node + 3i32, 7i32)\n"
     "        else:\n"
     "          at[0] = bitand(node, 7i32)\n"
     "        for m < 2:\n"
     "          at[1] = bitand(at[1] + node + i32(m), 15i32)\n"
     "      leaf[i, t] = at[1] + far\n"
     "  for i < n, j < 2, t < 3:\n"
     "    block sum(i: spatial, j: spatial, t: reduce):\n"
     "      init sum[i, j] = 0\n"
     "      sum[i, j] = sum[i, j] + f32(leaf[i, t] + i32(j))\n"
     "  for i < n, j < 2:\n"
     "    block out(i: spatial, j: spatial):\n"
     "      out[i, j] = max(sum[i, j], 0)\n"
     "}\n", {7}},
    {"running largest of a row, in place",
     "func @top(x: f32[7, 9]) -> (out: f32[7, 9]) {\n"
     "  for i < 7, j < 9:\n"
     "    block out(i: spatial, j: scan):\n"
     "      out[i, j] = max((out[i, j - 1] mask 1 <= j else -100), x[i, j])\n"
     "}\n", {0}},
    {"steps that multiply what the step before left",
     "func @steps(x: f32[3, n, 4], w: f32[4, 4], h: f32[n, 4]) -> (out: f32[3, n, 4], last: f32[n, 4]) {\n"
     "  buffer state: f32[n, 4]\n"
     "  buffer sums: f32[n, 4]\n"
     "  buffer next: f32[n, 4]\n"
     "  for b < n, u < 4:\n"
     "    block start(b: spatial, u: spatial):\n"
     "      state[b, u] = h[b, u]\n"
     "  for t < 3:\n"
     "    for b < n, u < 4, k < 4:\n"
     "      block sums(b: spatial, u: spatial, k: reduce):\n"
     "        init sums[b, u] = x[t, b, u]\n"
     "        sums[b, u] = sums[b, u] + state[b, k] * w[u, k]\n"
     "    for b < n, u < 4:\n"
     "      block next(b: spatial, u: spatial):\n"
     "        next[b, u] = max(min(sums[b, u], 7), -7)\n"
     "    for b < n, u < 4:\n"
     "      block out(b: spatial, u: spatial):\n"
     "        out[t, b, u] = next[b, u] + state[b, u]\n"
     "    for b < n, u < 4:\n"
     "      block state(b: spatial, u: spatial):\n"
     "        state[b, u] = next[b, u]\n"
     "  for b < n, u < 4:\n"
     "    block last(b: spatial, u: spatial):\n"
     "      last[b, u] = state[b, u]\n"
     "}\n", {5}},
};
/* clang-format on */

typedef struct {
    tn_sched *s;
    tn_rng r;
    const char *block[32];
    int n_block, n_mutated;
} gen;

static inline int below(gen *g, int n) { return n > 0 ? (int)(tn_rng_next(&g->r) >> 33) % n : 0; }

static inline bool note_block(tn_stmt *x, void *user)
{
    gen *g = user;
    if (x->kind == TN_S_BLOCK && g->n_block < 32)
        g->block[g->n_block++] = x->u.block.name;
    return true;
}

static const char *some_block(gen *g)
{
    g->n_block = 0;
    tn_stmt_walk(&g->s->func->body, note_block, NULL, g);
    return g->n_block ? g->block[below(g, g->n_block)] : "none";
}

/* A value that still names a loop. */
static inline tn_ref some_loop(gen *g)
{
    tn_ref live[MAX_LIVE];
    int n = 0;
    for (uint32_t v = g->s->n_value; v-- > 0 && n < MAX_LIVE;)
        if (g->s->loop[v])
            live[n++] = (tn_ref)v;
    return n ? live[below(g, n)] : 0;
}

/* Loops of a block get names first, now and then again. */
static inline tn_verdict name_loops(gen *g)
{
    const char *b = some_block(g);
    tn_ref out[64];
    int n = tn_sched_n_loops(g->s, b);
    return n > 0 && n < 64 ? tn_sched_loops(g->s, b, (uint16_t)n, out) : TN_REJECT_NAME;
}

static inline tn_verdict random_split(gen *g)
{
    int64_t factor[3];
    tn_ref out[4];
    int n = 1 + (below(g, 4) == 0) + (below(g, 8) == 0);
    for (int i = 0; i < n; i++)
        factor[i] = 1 + below(g, 5);
    return tn_sched_split(g->s, some_loop(g), n, factor, below(g, 3), out);
}

/* A chain of nested loops below a random one, in program order. */
static inline int some_chain(gen *g, tn_ref out[8])
{
    tn_ref v = some_loop(g);
    int n = 0;
    if (!g->s->n_value || !g->s->loop[v])
        return 0;
    for (tn_stmt *l = g->s->loop[v]; l && l->kind == TN_S_FOR && n < 8; l = l->u.loop.body.first)
        for (uint32_t k = g->s->n_value; k-- > 0;)
            if (g->s->loop[k] == l) {
                out[n++] = (tn_ref)k;
                break;
            }
    return n;
}

static inline tn_verdict random_reorder(gen *g, bool fuse)
{
    tn_ref chain[8], out;
    int n = some_chain(g, chain);
    if (n < 2)
        return TN_REJECT_NEST;
    if (fuse)
        return tn_sched_fuse(g->s, 2 + below(g, n - 1), chain, &out);
    for (int i = n - 1; i > 0; i--) {
        int j = below(g, i + 1);
        tn_ref t = chain[i];
        chain[i] = chain[j];
        chain[j] = t;
    }
    return tn_sched_reorder(g->s, n, chain);
}

static inline tn_verdict random_rfactor(gen *g)
{
    tn_ref in[2] = {some_loop(g), some_loop(g)}, out;
    tn_arg arg = {.s = some_block(g)};
    tn_step t = {.kind = TN_STEP_rfactor,
                 .nin = (uint16_t)(1 + below(g, 2)),
                 .in = in,
                 .narg = 1,
                 .arg = &arg,
                 .nout = 1,
                 .out = &out};
    return tn_sched_do(g->s, &t);
}

/* Of nested loops, sometimes: any two would be refused nearly always. */
static inline tn_verdict random_prefetch(gen *g)
{
    tn_ref chain[8];
    int n = some_chain(g, chain);
    const tn_func *f = g->s->func;
    if (n < 2)
        return TN_REJECT_NEST;
    int over = below(g, n - 1), at = over + 1 + below(g, n - over - 1);
    tn_arg arg = {.s = f->buffer[f->param[below(g, (int)f->n_param)]].name};
    tn_step t = {
        .kind = TN_STEP_prefetch, .nin = 2, .in = (tn_ref[]){chain[over], chain[at]}, .narg = 1, .arg = &arg};
    return tn_sched_do(g->s, &t);
}

static const char *some_buffer(gen *g)
{
    const tn_func *f = g->s->func;
    return f->buffer[below(g, (int)f->n_buffer)].name;
}

/* Of all of it, or of what a loop reads. */
static inline tn_verdict random_cache_read(gen *g)
{
    tn_ref l = some_loop(g);
    bool whole = below(g, 3) == 0;
    tn_arg arg[2] = {{.s = some_buffer(g)}, {.s = whole ? "global" : "local"}};
    tn_step t = {.kind = TN_STEP_cache_read, .nin = !whole, .in = &l, .narg = 2, .arg = arg};
    return tn_sched_do(g->s, &t);
}

/* Blocks that copy for a loop are rare among all; their loop is the one that their buffer is declared in. */
static inline tn_verdict random_double_buffer(gen *g)
{
    const char *name = some_block(g);
    tn_stmt *b = tn_func_block(g->s->func, name);
    tn_ref l = some_loop(g);
    for (int i = 0; i < g->n_block && b && !strstr(name, ".cache"); i++)
        b = tn_func_block(g->s->func, name = g->block[i]);
    for (uint32_t v = 0; v < g->s->n_value && below(g, 8); v++)
        for (tn_stmt *x = b ? tn_stmt_parent(b) : NULL; x && below(g, 4); x = tn_stmt_parent(x))
            if (g->s->loop[v] == x)
                l = (tn_ref)v;
    return tn_sched_at(g->s, TN_STEP_double_buffer, name, l);
}

static inline tn_verdict random_tile(gen *g)
{
    tn_ref chain[8], out[4];
    tn_arg arg[2] = {{.i = 1 + below(g, 5)}, {.i = 1 + below(g, 5)}};
    if (some_chain(g, chain) < 2)
        return TN_REJECT_NEST;
    tn_step t = {.kind = TN_STEP_tile, .nin = 2, .in = chain, .narg = 2, .arg = arg, .nout = 4, .out = out};
    return tn_sched_do(g->s, &t);
}

static inline tn_verdict random_layout(gen *g)
{
    static const char *const map[] = {"AB:BA",   "AB2b",      "AB4a",   "A",  "A3a",
                                      "ABC:CAB", "ABCD:ADBC", "ABCD2c", "ABC"};
    tn_arg arg[4] = {{.s = some_block(g)}, {.key = "layout", .s = map[below(g, 9)]}};
    tn_step t = {.kind = TN_STEP_transform_layout, .narg = 2, .arg = arg};
    if (below(g, 2)) {
        t = (tn_step){.kind = TN_STEP_storage_align, .narg = 4, .arg = arg};
        arg[1] = (tn_arg){.i = below(g, 3)};
        arg[2] = (tn_arg){.i = 1 + below(g, 8)};
        arg[3] = (tn_arg){.i = below(g, 3)};
    }
    return tn_sched_do(g->s, &t);
}

static inline tn_verdict random_pad(gen *g)
{
    const char *name = some_block(g);
    const tn_stmt *b = tn_func_block(g->s->func, name);
    tn_arg arg[16] = {{.s = name}};
    uint16_t n = b ? (uint16_t)b->u.block.n_iter : 0;
    if (n > 15)
        return TN_REJECT_ARITY;
    for (int i = 1; i <= n; i++)
        arg[i].i = below(g, 2) ? 1 : 1 + below(g, 5);
    tn_step t = {.kind = TN_STEP_pad, .narg = n + 1u, .arg = arg};
    return tn_sched_do(g->s, &t);
}

/* Numbers that are drawn, used by a split; or a place that is drawn. */
static inline tn_verdict random_sample(gen *g)
{
    tn_ref l = some_loop(g), out[3], inner[3];
    tn_arg arg[3] = {{.key = "seed", .i = below(g, 1000)}, {.key = "max", .i = 1 + below(g, 4)}};
    tn_step t = {.nin = 1, .in = &l, .narg = 2, .arg = arg, .nout = 2, .out = out};
    switch (below(g, 4)) {
    case 0:
        arg[1] = (tn_arg){.s = some_block(g)};
        t = (tn_step){
            .kind = TN_STEP_sample_compute_location, .narg = 1, .arg = arg + 1, .nout = 1, .out = out};
        return tn_sched_do(g->s, &t);
    case 1:
        arg[1] = (tn_arg){.i = 1 + below(g, 4)};
        arg[2] = (tn_arg){.i = 1 + below(g, 4)};
        t = (tn_step){.kind = TN_STEP_sample_categorical, .narg = 3, .arg = arg, .nout = 1, .out = out};
        break;
    default: t.kind = TN_STEP_sample_perfect_tile; break;
    }
    tn_verdict v = tn_sched_do(g->s, &t);
    if (v != TN_DONE || below(g, 3) == 0)
        return v;
    tn_ref last = out[t.nout - 1];
    tn_arg factor = {.i = g->s->number[last], .value = (tn_ref)(last + 1)};
    tn_step split = {
        .kind = TN_STEP_split, .nin = 1, .in = &l, .narg = 1, .arg = &factor, .nout = 2, .out = inner};
    (void)tn_sched_do(g->s, &split);
    return TN_DONE;
}

static inline tn_verdict random_loop_step(gen *g)
{
    tn_ref l = some_loop(g);
    tn_arg arg = {.key = "auto_unroll_max_step", .i = below(g, 40)}, inner = {.key = "copies", .s = "inner"};
    tn_step t = {.kind = TN_STEP_pragma, .nin = 1, .in = &l, .narg = 1, .arg = &arg};
    switch (below(g, 3)) {
    case 0: t = (tn_step){.kind = TN_STEP_blockize, .nin = 1, .in = &l}; break;
    case 1:
        t = (tn_step){.kind = TN_STEP_jam, .nin = 1, .in = &l, .narg = (uint16_t)below(g, 2), .arg = &inner};
        break;
    default: break;
    }
    return tn_sched_do(g->s, &t);
}

static inline bool has_type(const tn_func *f, tn_dtype t)
{
    bool has = false;
    for (uint32_t i = 0; i < f->n_param; i++)
        has = has || tn_dtype_eq(f->buffer[f->param[i]].dtype, t);
    return has;
}

/* One that multiplies types of the function, if there is one. */
static inline const tn_unit_row *some_unit(gen *g)
{
    int first = below(g, TN_N_UNITS);
    for (int i = 0; i < TN_N_UNITS; i++) {
        const tn_unit_row *u = &tn_units[(first + i) % TN_N_UNITS];
        if (has_type(g->s->func, u->x) && has_type(g->s->func, u->w))
            return u;
    }
    return &tn_units[first];
}

/* The innermost loops below a random one. */
static inline tn_verdict random_tensorize(gen *g)
{
    tn_ref chain[8];
    int n = some_chain(g, chain), of = 1 + below(g, 3);
    tn_arg arg = {.s = some_unit(g)->name};
    if (n < of)
        return TN_REJECT_NEST;
    tn_step t = {
        .kind = TN_STEP_tensorize, .nin = (uint16_t)of, .in = chain + n - of, .narg = 1, .arg = &arg};
    return tn_sched_do(g->s, &t);
}

/* Loops beside a random one, or in what stands beside it. */
static inline tn_verdict random_join(gen *g)
{
    const tn_stmt *at = g->s->n_value ? g->s->loop[some_loop(g)] : NULL;
    tn_ref in[32], out;
    uint16_t n = 0;
    for (uint32_t v = 0; at && v < g->s->n_value && n < 32; v++) {
        const tn_stmt *l = g->s->loop[v], *up = l ? tn_stmt_parent(l) : NULL;
        bool beside = l && (l->list == at->list || (up && up->list == at->list)), again = false;
        for (uint16_t i = 0; i < n; i++)
            again |= g->s->loop[in[i]] == l;
        if (beside && !again && l->u.loop.extent == at->u.loop.extent && below(g, 16))
            in[n++] = (tn_ref)v;
    }
    tn_step t = {.kind = TN_STEP_join, .nin = n, .in = in, .nout = 1, .out = &out};
    return tn_sched_do(g->s, &t);
}

static inline tn_verdict random_rotate(gen *g)
{
    tn_arg arg = {.s = some_block(g)};
    return tn_sched_do(g->s, &(tn_step){.kind = TN_STEP_rotate, .narg = 1, .arg = &arg});
}

static inline tn_verdict random_step(gen *g)
{
    tn_ref v = some_loop(g), out[3];
    switch (below(g, 34)) {
    case 0:
    case 1: return name_loops(g);
    case 2:
    case 3:
    case 4: return random_split(g);
    case 5: return random_reorder(g, true);
    case 6:
    case 7: return random_reorder(g, false);
    case 8: return tn_sched_mark(g->s, below(g, 2) ? TN_STEP_vectorize : TN_STEP_parallel, 1, &v);
    case 9: return tn_sched_mark(g->s, TN_STEP_unroll, 1, &v);
    case 10: return tn_sched_peel(g->s, v, below(g, 3), below(g, 3), out);
    case 11: return tn_sched_block(g->s, TN_STEP_compute_inline, some_block(g), NULL);
    case 12: return tn_sched_at(g->s, TN_STEP_decompose_reduction, some_block(g), v);
    case 13:
        return below(g, 2) ? tn_sched_cache_write(g->s, some_block(g), "global")
                           : tn_sched_block(g->s, TN_STEP_set_scope, some_block(g), "local");
    case 14: return random_rfactor(g);
    case 15: return random_prefetch(g);
    case 16: return tn_sched_do(g->s, &(tn_step){.kind = TN_STEP_squeeze});
    case 17: return tn_sched_do(g->s, &(tn_step){.kind = TN_STEP_merge});
    case 18: return tn_sched_at(g->s, TN_STEP_regroup, some_block(g), v);
    case 19: return random_tensorize(g);
    case 20:
    case 21: return random_cache_read(g);
    case 22: return random_double_buffer(g);
    case 23: return random_tile(g);
    case 24: return random_layout(g);
    case 25: return random_pad(g);
    case 26: return random_sample(g);
    case 27: return random_loop_step(g);
    case 28: return random_tensorize(g);
    case 29: return tn_sched_at(g->s, TN_STEP_compute_at, some_block(g), v);
    case 30:
    case 31: return random_join(g);
    case 32: return random_rotate(g);
    default: return tn_sched_at(g->s, TN_STEP_reverse_compute_at, some_block(g), v);
    }
}

/* What is printed reads back: same steps on a fresh clone, same text of both. */
static inline void check_replay(bench *x, const tn_func *f, const tn_sched *s)
{
    const char *trace = trace_text(x, s);
    tn_sched again;
    uint32_t line = 0;
    tn_sched_init(&again, f, &x->arena, &x->pool);
    tn_verdict v = tn_trace_replay(&again, trace, strlen(trace), &line);
    if (v != TN_DONE)
        fail_msg("line %u is refused (%s)\n%s", (unsigned)line, tn_verdict_texts[v], trace);
    assert_string_equal(trace_text(x, &again), trace);
    assert_string_equal(func_text(x, again.func), func_text(x, s->func));
}

/* cmocka cuts long messages. */
static inline void say(bench *x, const tn_sched *s, const char *what, uint64_t seed)
{
    fprintf(stderr, "%s, seed %llu\n%s%s%s", what, (unsigned long long)seed, trace_text(x, s),
            func_text(x, s->func), diags(x));
}

/* ---- random functions ---- */

typedef struct {
    tn_rng *r;
    tn_buf *out;
    int n, n_spatial;
    char name[8];
    char extent[8][8];
    const char *type, *sum; /* of operands, and of what is computed */
} random_text;

static inline int of(random_text *t, int n) { return (int)tn_rng_below(t->r, (uint64_t)n); }

/* Axes of a parameter, in a random order: each with a chance of three of four, but one at least. */
static inline int some_axes(random_text *t, int n, int axis[8])
{
    int k = 0;
    for (int i = 0; i < n; i++)
        if (of(t, 4))
            axis[k++] = i;
    if (k == 0)
        axis[k++] = of(t, n);
    for (int i = k - 1; i > 0; i--) {
        int j = of(t, i + 1), a = axis[i];
        axis[i] = axis[j];
        axis[j] = a;
    }
    return k;
}

static inline void put_axes(random_text *t, int n, const int axis[], bool extents)
{
    for (int i = 0; i < n; i++)
        if (extents)
            tn_buf_printf(t->out, "%s%s", i ? ", " : "", t->extent[axis[i]]);
        else
            tn_buf_printf(t->out, "%s%c", i ? ", " : "", t->name[axis[i]]);
}

static inline void put_nest(random_text *t, int n, const char *block)
{
    tn_buf_str(t->out, "  for ");
    for (int i = 0; i < n; i++)
        tn_buf_printf(t->out, "%s%c < %s", i ? ", " : "", t->name[i], t->extent[i]);
    tn_buf_printf(t->out, ":\n    block %s(", block);
    for (int i = 0; i < n; i++)
        tn_buf_printf(t->out, "%s%c: %s", i ? ", " : "", t->name[i], i < t->n_spatial ? "spatial" : "reduce");
    tn_buf_char(t->out, ')');
}

/* A product, sum or largest of one to three operands over some of up to five axes, masked or not, and what is done with
 * it. *out_sym: the value of its symbol. */
static inline void random_function_text(uint64_t seed, tn_buf *out, int64_t out_sym[2])
{
    static const char *const types[][2] = {
        {"f32", "f32"}, {"i32", "i32"}, {"i8", "i32"}, {"u8", "i32"}, {"f64", "f64"}};
    static const char *const ops[] = {" * ", " + ", " - "};
    tn_rng r = {seed};
    random_text t = {.r = &r, .out = out};
    int type = of(&t, 5), n_read = 1 + of(&t, 3), axis[4][8], n_axis[4], all[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    t.type = types[type][0];
    t.sum = types[type][1];
    t.n_spatial = 1 + of(&t, 3);
    t.n = t.n_spatial + of(&t, 3);
    bool sums = t.n > t.n_spatial, ends = of(&t, 4) > 0, largest = sums && of(&t, 4) == 0;
    for (int i = 0; i < t.n; i++) {
        t.name[i] = "ijlkqp"[i < t.n_spatial ? i : 3 + i - t.n_spatial];
        snprintf(t.extent[i], sizeof t.extent[i], of(&t, 6) ? "%d" : "n", 1 + of(&t, 9));
    }
    out_sym[0] = 1 + of(&t, 9);
    tn_buf_str(out, "func @r(");
    for (int k = 0; k < n_read; k++) {
        n_axis[k] = some_axes(&t, t.n, axis[k]);
        tn_buf_printf(out, "%sx%d: %s[", k ? ", " : "", k, t.type);
        put_axes(&t, n_axis[k], axis[k], true);
        tn_buf_printf(out, "%s]", n_axis[k] == 2 && of(&t, 3) == 0 ? ", AB4b" : "");
    }
    n_axis[3] = some_axes(&t, t.n_spatial, axis[3]);
    tn_buf_printf(out, ", b: %s[", t.sum);
    put_axes(&t, n_axis[3], axis[3], true);
    tn_buf_printf(out, "]) -> (out: %s[", t.sum);
    put_axes(&t, t.n_spatial, all, true);
    tn_buf_str(out, "]) {\n  symbols n in [1, 9]\n");
    if (ends) {
        tn_buf_printf(out, "  buffer acc: %s[", t.sum);
        put_axes(&t, t.n_spatial, all, true);
        tn_buf_str(out, "]\n");
    }
    put_nest(&t, t.n, ends ? "acc" : "out");
    if (sums && of(&t, 3) == 0)
        tn_buf_printf(out, " mask %c + %c < %d", t.name[of(&t, t.n)], t.name[of(&t, t.n)], 1 + of(&t, 12));
    tn_buf_str(out, ":\n");
    for (int k = 0; k < 1 + sums; k++) {
        const char *to = ends ? "acc" : "out";
        tn_buf_printf(out, "      %s%s[", sums && k == 0 ? "init " : "", to);
        put_axes(&t, t.n_spatial, all, false);
        tn_buf_str(out, "] = ");
        if (sums && k == 0) {
            tn_buf_str(out, largest ? "-1000\n" : "0\n");
            continue;
        }
        if (sums) {
            tn_buf_printf(out, "%s%s[", largest ? "max(" : "", to);
            put_axes(&t, t.n_spatial, all, false);
            tn_buf_str(out, largest ? "], " : "] + ");
        }
        int op = of(&t, 4);
        for (int i = 0; i < n_read; i++) {
            tn_buf_printf(out, "%s%s(x%d[", i ? ops[op < 2 ? 0 : op - 1] : "", t.sum, i);
            put_axes(&t, n_axis[i], axis[i], false);
            tn_buf_str(out, "])");
        }
        tn_buf_str(out, sums && largest ? ")\n" : "\n");
    }
    if (ends) {
        put_nest(&t, t.n_spatial, "out");
        tn_buf_str(out, ":\n      out[");
        put_axes(&t, t.n_spatial, all, false);
        tn_buf_str(out, "] = max(acc[");
        put_axes(&t, t.n_spatial, all, false);
        tn_buf_str(out, "] + b[");
        put_axes(&t, n_axis[3], axis[3], false);
        tn_buf_str(out, "], 0)\n");
    }
    tn_buf_str(out, "}\n");
}

#endif
