/* Schedule traces: any text over one function. What is accepted prints, and what is printed replays to the
 * same function; a refused step leaves a function that still verifies. Most mutations come to a trace and a function
 * that stood here before: these are not judged again. */
#include "base/map.h"
#include "schedule/schedule.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char text[] = "func @f(A: f32[n, 12], W: f32[20, 12]) -> (out: f32[n, 20]) {\n"
                           "  buffer acc: f32[n, 20]\n"
                           "  for i < n, j < 20, k < 12:\n"
                           "    block acc(i: spatial, j: spatial, k: reduce):\n"
                           "      init acc[i, j] = 0f\n"
                           "      acc[i, j] = acc[i, j] + A[i, k] * W[j, k]\n"
                           "  for i < n, j < 20:\n"
                           "    block out(i: spatial, j: spatial):\n"
                           "      out[i, j] = max(acc[i, j], 0f)\n"
                           "}\n";

typedef struct {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_func *f;
} world;

static void open_empty(world *w, tn_pool *parent)
{
    tn_ctx_init(&w->ctx);
    tn_arena_init(&w->arena);
    tn_pool_init(&w->pool, &w->ctx, &w->arena, parent);
}

/* The text is read once. */
static world *parsed(void)
{
    static world w;
    size_t n = 0;
    if (!w.f) {
        open_empty(&w, NULL);
        if (tn_func_parse(&w.ctx, &w.arena, &w.pool, "f", text, sizeof text - 1, &w.f, 1, &n) != TN_OK)
            abort();
    }
    return &w;
}

static void open_world(world *w)
{
    open_empty(w, &parsed()->pool);
    w->f = tn_func_clone(parsed()->f, &w->arena, &w->pool);
    w->f->ctx = &w->ctx;
}

static void close_world(world *w)
{
    tn_arena_deinit(&w->arena);
    tn_ctx_deinit(&w->ctx);
}

static void print_both(const tn_sched *s, tn_buf *trace, tn_buf *func)
{
    tn_trace_print(s, trace);
    tn_func_print(s->func, func);
}

/* Whether the two texts stood here before; hashes of 64 bits, the newest of each place. */
static bool judged_before(const tn_buf *trace, const tn_buf *func)
{
    static uint64_t seen[1 << 20];
    uint64_t h = tn_hash_bytes(func->at, func->n, tn_hash_bytes(trace->at, trace->n, 1));
    uint64_t *place = &seen[h % (1 << 20)];
    bool known = *place == h;
    *place = h;
    return known;
}

/* What was printed replays to the same. */
static void replay_again(const tn_buf *trace, const tn_buf *func)
{
    world w;
    tn_sched s;
    uint32_t line = 0;
    tn_buf trace2 = {0}, func2 = {0};
    open_world(&w);
    tn_sched_init(&s, w.f, &w.arena, &w.pool);
    if (tn_trace_replay(&s, trace->n ? trace->at : "", trace->n, &line) != TN_DONE)
        abort();
    print_both(&s, &trace2, &func2);
    if (strcmp(tn_buf_cstr(trace), tn_buf_cstr(&trace2)) != 0 ||
        strcmp(tn_buf_cstr(func), tn_buf_cstr(&func2)) != 0)
        abort();
    tn_buf_deinit(&trace2);
    tn_buf_deinit(&func2);
    close_world(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    world w;
    tn_sched s;
    uint32_t line = 0;
    tn_buf trace = {0}, func = {0};
    if (n > 4096)
        return 0;
    open_world(&w);
    tn_sched_init(&s, w.f, &w.arena, &w.pool);
    (void)tn_trace_replay(&s, (const char *)data, n, &line); /* refused or not, what was done stands */
    print_both(&s, &trace, &func);
    if (!judged_before(&trace, &func)) {
        if (tn_func_verify(s.func) != TN_OK)
            abort();
        replay_again(&trace, &func);
    }
    tn_buf_deinit(&trace);
    tn_buf_deinit(&func);
    close_world(&w);
    return 0;
}
