/* PaddlePaddle: the length of a program (two bytes, the low one first), the program, and its parameters. Any bytes are
 * imported, or refused with a diagnostic; what is imported verifies. */
#include "frontend/paddle/paddle.h"
#include "relay/relay.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    enum { ONE_NODE = 16 << 20 };
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_graph g;
    tn_file f = {data, n, 0};
    size_t k = n < 2 ? 0 : (size_t)data[0] | (size_t)data[1] << 8, most = n < 2 ? 0 : n - 2;
    k = k < most ? k : most;
    tn_bytes program = {n < 2 ? data : data + 2, k};
    tn_bytes params = k < most ? (tn_bytes){data + 2 + k, most - k} : (tn_bytes){0};
    tn_ctx_init(&ctx);
    tn_arena_init(&arena);
    tn_pool_init(&pool, &ctx, &arena, NULL);
    tn_graph_init(&g, &ctx, &arena, &pool);
    tn_status s = pd_import_pair(&g, "fuzz.pdmodel", &f, program, params);
    require((s == TN_OK) == (ctx.n_error == 0));
    require(arena.used_bytes <= 2 * n + (64u << 20) + ONE_NODE);
    if (s == TN_OK)
        require(tn_relay_verify(&g) == TN_OK);
    tn_graph_deinit(&g);
    tn_arena_deinit(&arena);
    tn_ctx_deinit(&ctx);
    return 0;
}
